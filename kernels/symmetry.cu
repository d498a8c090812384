// Whether every arc of a graph has its reverse: the fingerprints that src/graph/symmetry.rs makes on the host.

#include "mix.cuh"
#include "rows.cuh"

struct SymmetryArgs {  // @host
    const u64* offsets;    // [nodes + 1]
    const u32* columns;    // [arcs]
    const float* weights;  // [arcs], or 0
    u64* sums;             // [2] fingerprints with weights and without, added to
    u64 nodes;
    u64 arcs;
};

// `edge_hash` of src/graph/symmetry.rs, u < v.
__device__ __forceinline__ u64 edge_hash(u32 u, u32 v, float weight) {
    u64 pair = (u64)u << 32 | v;
    return mix(mix(pair ^ 0x6869776500000001ull) + (u64)__float_as_uint(weight) * 0x9e3779b97f4a7c15ull);
}

// Each edge's hash, added where u < v and subtracted where u > v, modulo 2^64: the sum is 0 where every arc has its reverse.
extern "C" __global__ void __launch_bounds__(THREADS) symmetry_sums(SymmetryArgs a) {
    __shared__ u32 row_of[TILE];
    __shared__ u64 room[THREADS / 32u];
    const u64 step = (u64)gridDim.x * TILE;
    u64 with = 0, without = 0;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs; begin += step) {
        u64 stop = min(begin + TILE, a.arcs);
        u32 first = tile_rows(a.offsets, 0, (u32)a.nodes, begin, stop, row_of);
        for (u64 at = begin + threadIdx.x; at < stop; at += THREADS) {
            u32 u = first + row_of[at - begin], v = __ldg(a.columns + at);
            if (u == v) continue;
            u64 plain = edge_hash(min(u, v), max(u, v), 1.0f);
            u64 weighted = a.weights ? edge_hash(min(u, v), max(u, v), a.weights[at]) : plain;
            with += u < v ? weighted : 0 - weighted;
            without += u < v ? plain : 0 - plain;
        }
        __syncthreads();
    }
    with = block_sum(with, room);
    without = block_sum(without, room);
    if (threadIdx.x == 0) {
        atomicAdd(a.sums, with);
        atomicAdd(a.sums + 1, without);
    }
}
