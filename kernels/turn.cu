// Rows backward, made from rows forward in device memory: the same arrays, to the byte, as a graph's transpose on the host.
//
// Every arc becomes a 64-bit key, its target in the upper bits, its number in the lower, which sort.cu sorts. Rows forward are
// in the order of arcs, so that the arcs of a row backward end up by rising source. Where the host would order parallel arcs by
// their weights, and they are not in that order forward, the kernel says so.

#include "keys.cuh"
#include "rows.cuh"

struct TurnArgs {  // @host
    const u64* offsets;    // [nodes + 1] forward
    const u32* columns;    // [arcs]
    const float* weights;  // [arcs], or 0
    u64* counts;           // [nodes] arcs into each node, added to
    u64* keys;             // [capacity] (target - first) << arc_bits | arc
    u64* cursor;           // keys so far; past `capacity` they are counted only
    u32* sources;          // [arcs] of all rows backward
    float* new_weights;    // [arcs] the same, where there are weights
    u64* disorder;         // [1] not 0: parallel arcs are not in the order of their weights
    u64 capacity;
    u64 arcs;
    u64 begin;        // place of the first key's arc
    u64 count;        // keys
    u32 first, end;   // targets
    u32 nodes;
    u32 arc_bits;
};

extern "C" __global__ void __launch_bounds__(THREADS) turn_counts(TurnArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 arc = (u64)blockIdx.x * THREADS + threadIdx.x; arc < a.arcs; arc += stride) {
        atomicAdd(a.counts + __ldg(a.columns + arc), 1ull);
    }
}

// The keys of all arcs, in their order.
extern "C" __global__ void __launch_bounds__(THREADS) turn_keys(TurnArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 arc = (u64)blockIdx.x * THREADS + threadIdx.x; arc < a.arcs; arc += stride) {
        a.keys[arc] = (u64)__ldcs(a.columns + arc) << a.arc_bits | arc;
    }
}

// The keys of the arcs to some nodes, in any order.
extern "C" __global__ void __launch_bounds__(THREADS) turn_select(TurnArgs a) {
    __shared__ u64 room[THREADS / 32u];
    const u32 rows = a.end - a.first;
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs; begin += step) {
        u64 key[ITEMS];
        u32 kept = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 arc = begin + i * THREADS + threadIdx.x;
            key[i] = 0;
            if (arc < a.arcs) {
                u32 row = __ldg(a.columns + arc) - a.first;  // huge when below
                key[i] = (u64)row << a.arc_bits | arc;
                if (row < rows) kept |= 1u << i;
            }
        }
        append(key, kept, a.keys, a.cursor, a.capacity, room);
        __syncthreads();
    }
}

// Sorted keys become arcs.
extern "C" __global__ void __launch_bounds__(THREADS) turn_store(TurnArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    const u64 arcs = (1ull << a.arc_bits) - 1;
    bool disorder = false;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        u64 key = a.keys[i], arc = key & arcs;
        u32 source = row_at(a.offsets, 0, a.nodes, arc);
        a.sources[a.begin + i] = source;
        if (!a.weights) continue;
        float weight = __ldg(a.weights + arc);
        a.new_weights[a.begin + i] = weight;
        if (i == 0) continue;
        u64 before = a.keys[i - 1];
        // Of the same target and the same source.
        if (before >> a.arc_bits == key >> a.arc_bits && (before & arcs) >= __ldg(a.offsets + source)) {
            u32 lighter = __float_as_uint(__ldg(a.weights + (before & arcs)));
            disorder = disorder || lighter > __float_as_uint(weight);
        }
    }
    if (__any_sync(FULL, disorder) && lane_id() == 0) *a.disorder = 1;
}
