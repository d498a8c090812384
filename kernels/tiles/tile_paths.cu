// Betweenness on graphs of small degrees and long paths, tile by tile: the numbers of shortest paths from a source, and what
// follows from them backward, once tile_search.cu has found the level of every slot.
//
// Idea. The number of paths to a node is the sum over its neighbours of the level before, and is known once theirs are.
// Backward its coefficient is known once those of its neighbours of the next level are. So there are no levels to go by: a
// block takes a tile, a thread a node, and each thread looks again and again whether what it waits for is there, until nothing
// more can be known. Then tiles that wait for what has become known enter the queue (tile_queue.cuh).
//
// Invariant. A value that is not 0 is final, and the same whoever computes it: neighbours are summed in the order of the row.
// Whoever makes a value known queues the tiles of the neighbours outside that wait for it, unless they are queued. Whoever
// takes a tile marks it as not queued, and then reads values. Two blocks may work on one tile at once, and write the same.
//
// Source: Brandes, J. Math. Sociology 25(2), 2001; src/algorithm/bc/mod.rs has the definitions.
//
// Compiled with: -DHIVE_DOUBLE=0 | -DHIVE_DOUBLE=1

#ifndef HIVE_DOUBLE
#define HIVE_DOUBLE 0
#endif

#include "bc_number.cuh"
#include "tile_queue.cuh"

#define PASSES 4u      // looks at what is awaited between two looks whether anything became known
#define TOLD 1024u     // tiles that are gathered before they are queued; further ones are queued one by one

struct PathsTotals {  // @host
    u64 reached;       // nodes, over the sources of a batch
    u64 reached_arcs;  // arcs out of them
    u64 looked;
    u64 ends;          // of paths from the source at hand, itself counted
    u32 levels;        // the largest
    u32 overflow;      // 1 + place in the batch of a source with too many paths to a node
    u32 stopped;
    u32 ended;         // blocks
};

struct TilePathsArgs {  // @host
    const Tile* tiles;
    const uint4* heads;
    const u32* rests;
    const u32* rest;
    const u32* slot_of;
    const u32* tile_of;
    const u32* offsets;  // of the graph's rows, by node
    const u32* levels;   // [nodes] by slot; INFINITE where the source does not lead
    void* paths;         // [nodes] by slot: numbers of paths, 0 where not known yet
    void* coefs;         // [nodes] by slot: (1 + dependency) / paths, 0 where not known yet
    void* gains;         // [nodes] by slot: dependencies
    u32* queued;         // [tiles] not 0 while in the queue
    double* scores;      // [2][nodes] by node: parts of sums on the coarse grid, and on the fine one
    PathsTotals* totals;
    PathsTotals* status;  // pinned
    TileQueue queue;
    const u32* sources;  // nodes
    double coarse;       // the grids of scores
    double fine;
    u32 place;           // of the source
    u32 count;           // tiles
    u32 nodes;
    u32 endpoints;
};

struct PathsShared {
    real value[TILE_NODES];
    u32 level[TILE_NODES];
    u32 told[TOLD];
    Tile tile;
    u64 entry;
    u32 gathered, last;
};

__device__ __forceinline__ void tell(const TilePathsArgs& a, u32 tile) {
    if (atomicExch(a.queued + tile, 1u) == 0) a.queue.enter_tile(tile, 0);
}

// What a slot waits for: neighbours of the level before, or of the next.
template <bool BACK> __device__ __forceinline__ bool awaits(u32 own, u32 other) {
    return BACK ? other == own + 1 : other + 1 == own;
}

// Works the tile in `s` off. Returns the arcs that it has looked at.
template <bool BACK> __device__ u64 visit(const TilePathsArgs& a, PathsShared& s) {
    const Tile tile = s.tile;
    const u32 i = threadIdx.x, slot = tile.first + i;
    real* values = (real*)(BACK ? a.coefs : a.paths);
    u32 own = INFINITE, from = 0, to = 0, head[HEAD] = {slot, slot, slot, slot};
    real known = 0, paths = 0, outside[HEAD] = {0, 0, 0, 0};
    if (i < tile.size) {
        own = __ldg(a.levels + slot);
        known = __ldcg(values + slot);
        if (BACK) paths = __ldcg((const real*)a.paths + slot);
        uint4 four = __ldg(a.heads + slot);
        head[0] = four.x, head[1] = four.y, head[2] = four.z, head[3] = four.w;
        if (tile.more > 0) {
            from = __ldg(a.rests + slot);
            to = __ldg(a.rests + slot + 1);
        }
    }
    const bool open = own != INFINITE && known == 0;
    s.level[i] = own;
    s.value[i] = known;
    __syncthreads();
    // Neighbours that are awaited, as bits, of the first four and of those the ones outside.
    u32 awaited = 0, leaves = 0;
#pragma unroll
    for (u32 k = 0; k < HEAD; k++) {
        bool inside = head[k] - tile.first < tile.size;
        u32 level = inside ? s.level[head[k] - tile.first] : open ? __ldg(a.levels + head[k]) : INFINITE;
        if (open && awaits<BACK>(own, level)) {
            awaited |= 1u << k;
            if (!inside) outside[k] = __ldcg(values + head[k]);
        }
        // It waits for this slot.
        if (open && !inside && awaits<!BACK>(own, level)) leaves |= 1u << k;
    }
    volatile real* value = s.value;
    bool became = false, changed;
    u32 rounds = 0;
    do {
        changed = false;
        rounds++;
        for (u32 pass = 0; pass < PASSES && open && !became; pass++) {
            real sum = 0;
            bool ready = true;
#pragma unroll
            for (u32 k = 0; k < HEAD; k++) {
                if (!(awaited >> k & 1u)) continue;
                u32 at = head[k] - tile.first;
                real x = at < tile.size ? value[at] : outside[k];
                ready &= x != 0;
                sum = plus(sum, x);
            }
            for (u32 k = from; k < to && ready; k++) {
                u32 other = __ldg(a.rest + k), at = other - tile.first;
                bool inside = at < tile.size;
                if (!awaits<BACK>(own, inside ? s.level[at] : __ldg(a.levels + other))) continue;
                real x = inside ? value[at] : __ldcg(values + other);
                ready &= x != 0;
                sum = plus(sum, x);
            }
            if (!ready) continue;
            if (BACK) {
                real gained = times(paths, sum);
                __stcg((real*)a.gains + slot, gained);
                known = over(plus((real)1, gained), paths);
            } else {
                known = own == 0 ? (real)1 : sum;
                if (!(known <= MOST_PATHS)) atomicMax(&a.totals->overflow, 1u + a.place);
            }
            value[i] = known;
            became = changed = true;
        }
    } while (__syncthreads_or(changed));
    if (became) {
        __stcg(values + slot, known);
        __threadfence();
        auto gather = [&](u32 other) {
            u32 next = __ldg(a.tile_of + other), at = atomicAdd(&s.gathered, 1u);
            if (at < TOLD) s.told[at] = next;
            else tell(a, next);
        };
#pragma unroll
        for (u32 k = 0; k < HEAD; k++) {
            if (leaves >> k & 1u) gather(head[k]);
        }
        for (u32 k = from; k < to; k++) {
            u32 other = __ldg(a.rest + k);
            if (other - tile.first >= tile.size && awaits<!BACK>(own, __ldg(a.levels + other))) gather(other);
        }
    }
    __syncthreads();
    for (u32 k = i, many = min(s.gathered, TOLD); k < many; k += TILE_NODES) tell(a, s.told[k]);
    return (u64)rounds * PASSES * (HEAD * tile.size + tile.more);
}

template <bool BACK> __device__ __forceinline__ void work(const TilePathsArgs& a) {
    __shared__ PathsShared s;
    u64 looked = 0, visits = 0;
    while (true) {
        if (threadIdx.x == 0) {
            u64 entry = a.queue.claim();
            if (entry != OVER) {
                u32 tile = (u32)entry - 1;
                atomicExch(a.queued + tile, 0u);
                s.tile = a.tiles[tile];
                __threadfence();
            }
            s.entry = entry;
            s.gathered = 0;
        }
        __syncthreads();
        if (s.entry == OVER) break;
        looked += visit<BACK>(a, s);
        visits++;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) s.last = a.queue.leave();
        __syncthreads();
        if (s.last) a.queue.close();
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        a.queue.ends(visits, 0);
        atomicAdd(&a.totals->looked, looked);
        if (relaxed(&a.queue.control->stopped)) a.totals->stopped = 1;
    }
}

extern "C" __global__ void __launch_bounds__(TILE_NODES, 2) tile_paths_forward(const TilePathsArgs a) { work<false>(a); }

extern "C" __global__ void __launch_bounds__(TILE_NODES, 2) tile_paths_backward(const TilePathsArgs a) { work<true>(a); }

// The source's tile, into the queue. One thread.
extern "C" __global__ void tile_paths_start(const TilePathsArgs a) {
    tell(a, __ldg(a.tile_of + __ldg(a.slot_of + __ldg(a.sources + a.place))));
}

// All tiles, into the queue.
extern "C" __global__ void __launch_bounds__(TILE_NODES) tile_paths_turn(const TilePathsArgs a) {
    for (u32 t = blockIdx.x * TILE_NODES + threadIdx.x; t < a.count; t += gridDim.x * TILE_NODES) tell(a, t);
}

// By nobody else at the same time.
__device__ __forceinline__ void add_gain(const TilePathsArgs& a, u32 v, double x) {
    Gain gain = gain_of(x, a.coarse, a.fine);
    double* fine = a.scores + a.nodes + v;
    if (gain.coarse != 0) a.scores[v] = __dadd_rn(a.scores[v], gain.coarse);
    if (gain.fine != 0) *fine = __dadd_rn(*fine, gain.fine);
}

// Adds what the source gives each node to its score, and what is counted of the source to the batch's totals.
extern "C" __global__ void __launch_bounds__(TILE_NODES) tile_paths_score(const TilePathsArgs a) {
    __shared__ u64 room[TILE_NODES / 32];
    const u32 source = __ldg(a.sources + a.place);
    u64 reached = 0, arcs = 0;
    u32 deepest = 0;
    for (u64 k = (u64)blockIdx.x * TILE_NODES + threadIdx.x; k < a.nodes; k += (u64)gridDim.x * TILE_NODES) {
        u32 v = (u32)k, slot = __ldg(a.slot_of + v), level = __ldg(a.levels + slot);
        if (level == INFINITE) continue;
        reached++;
        arcs += __ldg(a.offsets + v + 1) - __ldg(a.offsets + v);
        deepest = max(deepest, level);
        if (v == source) continue;
        add_gain(a, v, (double)__ldg((const real*)a.gains + slot));
        if (a.endpoints) add_gain(a, v, 1);
    }
    deepest = warp_max(deepest);
    if (lane_id() == 0) atomicMax(&a.totals->levels, deepest);
    reached = block_sum(reached, room);
    arcs = block_sum(arcs, room);
    if (threadIdx.x == 0) {
        atomicAdd(&a.totals->reached, reached);
        atomicAdd(&a.totals->ends, reached);
        atomicAdd(&a.totals->reached_arcs, arcs);
        __threadfence();
        if (atomicAdd(&a.totals->ended, 1u) + 1 == gridDim.x) {
            const PathsTotals* t = a.totals;
            // The source is the end of a path to each other node.
            if (a.endpoints) add_gain(a, source, (double)(fresh(&t->ends) - 1u));
            __stcg(&a.totals->ends, 0ull);
            *a.status = {fresh(&t->reached), fresh(&t->reached_arcs), fresh(&t->looked), 0, fresh(&t->levels),
                         fresh(&t->overflow), fresh(&t->stopped), 0};
            __stcg(&a.totals->ended, 0u);
        }
    }
}
