// Breadth-first search: a bitmap a level, pushed or pulled, whole searches in one launch.
//
// Idea. Push: each node of the frontier claims its out-neighbours that nobody has. Pull: each node that is not
// reached looks for an in-neighbour in the frontier and stops at the first; in-neighbours of high degree come
// first in a row (labels fall by degree), and the first two lie in a record of their own, so that most nodes
// look at eight bytes. Small frontiers are queues whose arcs are dealt evenly over the whole grid; tiny ones one block
// works off alone, level after level, while the others wait.
//
// Invariant between rounds: level[v] and the bit of v in `visited` are set for every node reached; `front` holds
// the nodes of level `depth`. Before a push `next` is all zero; a pull writes all of it. The set of a level is the
// same in whatever order it is found, so redundant replicas stay equal.
//
// Which way: with F the arcs out of the frontier (counted where nodes are found by pushes, else nodes x mean
// degree) and P the arcs a pull is expected to look at, unreached nodes x min(mean degree, m / F): push
// turns to pull when F > do_a P, pull to push when F < do_b P. No pass is made for it. Large pushes, of more than MANY
// arcs, are slow for an arc, since they find most of what is left, and pulls fast: they turn at MANY_SHARE of that.
//
// Jointly (bfs_joint), replicas on several GPUs push redundantly, without a word, and pull together: groups of words are
// dealt out, an owner stores what it found into everybody's bitmap, and all meet (joint.cuh). Whoever gets a frontier
// notes its level while it works on the next. Before pulls that follow pushes all meet too, since a bitmap that is
// written from outside must be one that nobody reads any more.
//
// Source: Beamer, Asanovic, Patterson, SC 2012 (direction); Merrill, Garland, Grimshaw, PPoPP 2012 (dealing arcs);
// the thresholds' names are Gunrock's.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1 | -DHIVE_WIDE=0 -DHIVE_BLIND=1 | -DHIVE_WIDE=1 -DHIVE_BLIND=1

#include "bfs_search.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2) bfs_run(const BfsArgs a) { run<false>(a); }

struct BfsStartArgs {  // @host
    u32* level;
    u32* front;
    u32* visited;
    u32* queue;
    const offset_t* out_offsets;
    u32 source;
    u32 active;
};

// The source at level 0, in the frontier and in the first queue.
extern "C" __global__ void bfs_start(const BfsStartArgs a) {
    u32 v = a.source;
    a.level[v] = 0;
    if (v >= a.active) return;
    a.front[v >> 5] |= 1u << (v & 31u);
    a.visited[v >> 5] |= 1u << (v & 31u);
    a.queue[0] = v;
    a.queue[QUEUE] = (u32)min(degree_of(a.out_offsets, v), (u64)FULL);
}

struct BfsRecordArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    u32* records;
    u32 active;
    u32 unused;
};

// records[2 v], [2 v + 1]: the first two neighbours that are not v itself, padded with v.
extern "C" __global__ void bfs_pairs(const BfsRecordArgs a) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.active;
         i += (u64)gridDim.x * blockDim.x) {
        u32 v = (u32)i, taken = 0, pair[2] = {v, v};
        u64 first = a.offsets[v], last = a.offsets[v + 1];
        // The record stands for the first two arcs: a self loop among them leaves its place empty, but the
        // second place says whether there is more.
        for (u64 k = first; k < last && taken < 2; k++, taken++) pair[taken] = a.columns[k];
        if (last - first > 2 && pair[1] == v) {
            u64 k = first;
            while (k < last && a.columns[k] == v) k++;
            if (k < last) pair[1] = a.columns[k];
        }
        a.records[2 * i] = pair[0];
        a.records[2 * i + 1] = pair[1];
    }
}

// records[4 v ...]: the first four neighbours, padded with v; the last is v only where no arc follows.
extern "C" __global__ void bfs_fours(const BfsRecordArgs a) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.active;
         i += (u64)gridDim.x * blockDim.x) {
        u32 v = (u32)i;
        u64 first = a.offsets[v], last = a.offsets[v + 1];
        u32 four[4] = {v, v, v, v};
        for (u32 k = 0; k < 4 && first + k < last; k++) four[k] = a.columns[first + k];
        if (last - first > 4 && four[3] == v) {
            u64 k = first;
            while (k < last && a.columns[k] == v) k++;
            if (k < last) four[3] = a.columns[k];
        }
        ((uint4*)a.records)[i] = make_uint4(four[0], four[1], four[2], four[3]);
    }
}

struct BfsCountArgs {  // @host
    const u32* level;
    const offset_t* offsets;
    u64* totals;  // zeroed: nodes reached, arcs out of them, largest level
    u32 active;
    u32 unused;
};

// What a search reached.
extern "C" __global__ void bfs_count(const BfsCountArgs a) {
    __shared__ u64 room[8];
    u64 nodes = 0, arcs = 0;
    u32 depth = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.active;
         i += (u64)gridDim.x * blockDim.x) {
        u32 level = a.level[i];
        if (level == FULL) continue;
        nodes++;
        arcs += degree_of(a.offsets, (u32)i);
        depth = max(depth, level);
    }
    nodes = block_sum(nodes, room);
    arcs = block_sum(arcs, room);
    depth = warp_max(depth);
    if (lane_id() == 0 && depth) atomicMax(a.totals + 2, (u64)depth);
    if (threadIdx.x == 0) {
        atomicAdd(a.totals, nodes);
        atomicAdd(a.totals + 1, arcs);
    }
}
