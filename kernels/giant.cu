// The largest component of a symmetric graph, where it holds most nodes that have arcs. After Afforest (Sutton, Ben-Nun, Barak, IPDPS
// 2018): two neighbours of each node already join most of it, and the rows inside it need no further look.

#include "hive.cuh"
#include "join.cuh"

#define THREADS 256u  // @host
#define SAMPLED 2u    // neighbours of each node that are joined first

struct GiantArgs {  // @host
    const u64* offsets;  // [nodes + 1]
    const u32* columns;
    u32* parent;  // [nodes], at most the node; a root is the lowest node of its tree
    u64* counts;  // [2] nodes under `giant`, and all others that have arcs; added to
    u32 nodes;
    u32 giant;
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

extern "C" __global__ void __launch_bounds__(THREADS) giant_count(GiantArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 inside = 0, outside = 0;
    for (u64 v = first_node(); v < a.nodes; v += stride()) {
        if (a.parent[v] == a.giant) {
            inside += 1;
        } else {
            outside += a.offsets[v] < a.offsets[v + 1];
        }
    }
    inside = block_sum(inside, room);
    if (threadIdx.x == 0 && inside > 0) atomicAdd(a.counts, inside);
    __syncthreads();
    outside = block_sum(outside, room);
    if (threadIdx.x == 0 && outside > 0) atomicAdd(a.counts + 1, outside);
}
