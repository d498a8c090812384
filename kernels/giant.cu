// The largest weakly connected component of a graph. After Afforest (Sutton, Ben-Nun, Barak, IPDPS 2018): two neighbours of each
// node already join most of it, and, where every arc has its reverse, the rows inside it need no further look.

#include "rows.cuh"
#include "join.cuh"

#define SAMPLED 2u  // neighbours of each node that are joined first

struct GiantArgs {  // @host
    const u64* offsets;  // [nodes + 1]
    const u32* columns;
    u32* parent;  // [nodes], at most the node; a root is the lowest node of its tree
    u32* sizes;   // [nodes] nodes under each root, added to
    u64* found;   // [2] size of the largest component << 32 | complement of its root, taken as a maximum; isolated nodes, added to
    u64 arcs;
    u32 nodes;
    u32 giant;  // the guessed root
};

__device__ __forceinline__ u64 first_node() { return (u64)blockIdx.x * THREADS + threadIdx.x; }
__device__ __forceinline__ u64 stride() { return (u64)gridDim.x * THREADS; }

extern "C" __global__ void __launch_bounds__(THREADS) giant_begin(GiantArgs a) {
    for (u64 v = first_node(); v < a.nodes; v += stride()) a.parent[v] = (u32)v;
}

extern "C" __global__ void __launch_bounds__(THREADS) giant_sample(GiantArgs a) {
    for (u64 v = first_node(); v < a.nodes; v += stride()) {
        u64 begin = a.offsets[v], end = min(a.offsets[v + 1], begin + SAMPLED);
        for (u64 arc = begin; arc < end; arc++) join(a.parent, (u32)v, a.columns[arc]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) giant_compress(GiantArgs a) {
    for (u64 v = first_node(); v < a.nodes; v += stride()) a.parent[v] = root_of(a.parent, (u32)v);
}

// All other arcs of nodes outside `giant`: an arc out of it appears again in the row of its other end.
extern "C" __global__ void __launch_bounds__(THREADS) giant_rest(GiantArgs a) {
    for (u64 v = first_node(); v < a.nodes; v += stride()) {
        if (a.parent[v] == a.giant) continue;
        for (u64 arc = a.offsets[v] + SAMPLED; arc < a.offsets[v + 1]; arc++) {
            join(a.parent, (u32)v, a.columns[arc]);
        }
    }
}

// All arcs, of a graph in which not every arc has its reverse.
extern "C" __global__ void __launch_bounds__(THREADS) giant_all(GiantArgs a) {
    __shared__ u32 row_of[TILE];
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs; begin += step) {
        u64 stop = min(begin + TILE, a.arcs);
        u32 first = tile_rows(a.offsets, 0, a.nodes, begin, stop, row_of);
        for (u64 at = begin + threadIdx.x; at < stop; at += THREADS) {
            join(a.parent, first + row_of[at - begin], a.columns[at]);
        }
        __syncthreads();
    }
}

// The nodes under each root. Those of `giant` are counted apart: millions of additions to one counter would queue up.
extern "C" __global__ void __launch_bounds__(THREADS) giant_sizes(GiantArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 inside = 0;
    for (u64 v = first_node(); v < a.nodes; v += stride()) {
        u32 root = a.parent[v];
        if (root == a.giant) {
            inside += 1;
        } else {
            atomicAdd(a.sizes + root, 1u);
        }
    }
    inside = block_sum(inside, room);
    if (threadIdx.x == 0 && inside > 0) atomicAdd(a.sizes + a.giant, (u32)inside);
}

// Of equally large components the one with the lowest root.
extern "C" __global__ void __launch_bounds__(THREADS) giant_largest(GiantArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 most = 0, isolated = 0;
    for (u64 v = first_node(); v < a.nodes; v += stride()) {
        u32 size = a.sizes[v];
        if (size > 0) most = max(most, (u64)size << 32 | (u32)~(u32)v);
        // A component of one node may have a self-loop.
        isolated += size == 1 && a.offsets[v] == a.offsets[v + 1];
    }
    u64 all = block_sum(isolated, room);
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) most = max(most, __shfl_xor_sync(FULL, most, step));
    if (lane_id() == 0) atomicMax(a.found, most);
    if (threadIdx.x == 0 && all > 0) atomicAdd(a.found + 1, all);
}
