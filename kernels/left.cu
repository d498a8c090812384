// What answers leave on a GPU: values by label in the order of the graph's nodes, and what is counted of distances there.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "hive.cuh"

#define THREADS 256u  // @host

struct OrderArgs {  // @host
    const u32* label_of;  // [nodes]; NULL: labels are nodes
    const u32* values;    // [known] by label, words of 4 or 8 bytes
    const u32* rest;      // [nodes - known] of labels behind these; NULL: all have `other`
    u32* to;              // [nodes] by node
    u64 nodes;
    u64 known;
    u32 other;
    u32 unused;
};

struct ReachArgs {  // @host
    const u32* distances;  // [nodes] f32 or f64 by label, not negative; infinite where no path leads
    const offset_t* offsets;  // [active + 1]
    u64* found;  // [4] zeros; then nodes reached, arcs out of them, the bits of the largest distance, nodes at `whole` or further
    u64 nodes;
    u64 active;  // labels that have rows
    double whole;
};

template <typename T> __device__ __forceinline__ void order(const OrderArgs& a) {
    const T* values = (const T*)a.values;
    T* to = (T*)a.to;
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < a.nodes; v += stride) {
        u64 label = a.label_of ? __ldg(a.label_of + v) : v;
        if (label < a.known) to[v] = __ldg(values + label);
        else to[v] = a.rest ? (T)__ldg(a.rest + (label - a.known)) : (T)a.other;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) left_order_4(const OrderArgs a) { order<u32>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) left_order_8(const OrderArgs a) { order<u64>(a); }

// Distances in the order of their bits. `infinite` has the bits of infinity.
template <typename T> __device__ __forceinline__ void reach(const ReachArgs& a, T infinite, T whole) {
    __shared__ u64 room[THREADS / 32u];
    const T* distances = (const T*)a.distances;
    u64 nodes = 0, arcs = 0, beyond = 0, furthest = 0;
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < a.nodes; v += stride) {
        T distance = __ldg(distances + v);
        if (distance >= infinite) continue;
        nodes++;
        if (v < a.active) arcs += degree_of(a.offsets, (u32)v);
        if (distance >= whole) beyond++;
        if (distance > furthest) furthest = distance;
    }
    nodes = block_sum(nodes, room);
    arcs = block_sum(arcs, room);
    beyond = block_sum(beyond, room);
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) {
        u64 other = __shfl_xor_sync(FULL, furthest, step);
        if (other > furthest) furthest = other;
    }
    if (lane_id() == 0) atomicMax(a.found + 2, furthest);
    if (threadIdx.x == 0) {
        atomicAdd(a.found, nodes);
        atomicAdd(a.found + 1, arcs);
        atomicAdd(a.found + 3, beyond);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) left_reach_4(const ReachArgs a) {
    reach<u32>(a, 0x7f800000u, __float_as_uint((float)a.whole));
}

extern "C" __global__ void __launch_bounds__(THREADS) left_reach_8(const ReachArgs a) {
    reach<u64>(a, 0x7ff0000000000000ull, (u64)__double_as_longlong(a.whole));
}
