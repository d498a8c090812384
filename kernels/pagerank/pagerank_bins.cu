// PageRank in two phases, for graphs without hubs, whose sources no cache holds. Both phases gather from shared memory and
// stream all else. src/layout/bins makes the layout.
//
// Phase 1: a block holds what the arcs of a segment of sources carry in shared memory. It goes over the arcs from there,
// which are ordered by bins of rows, and writes what each carries to the bin of its row: whole groups of GROUP values.
// Phase 2: a block holds all values of a bin in shared memory. Some lanes share a row: they add up its values, whose slots
// are in the order of the row's arcs. How many lanes share a row follows from the bin, so that the order of additions is
// the same on any number of replicas.

#include "bins.cuh"
#include "pagerank.cuh"

#define SCATTER_THREADS 1024u  // @host
#define SUM_THREADS 512u       // @host
#define HALVES_AHEAD 4u        // of a thread that are under way
#define QUADS_OF_LANE 2u       // of a row, about
#define QUADS_AHEAD 3u         // of a lane that are under way

struct ScatterArgs {  // @host
    const u16* sources;  // [groups, GROUP] source less the first of its segment
    const u32* targets;  // [groups] group of `staged`
    const u32* begins;   // [segments, bins] groups before each piece
    const float* value;
    float* staged;  // [bins, groups of a bin, GROUP]
    u32* queues;    // items taken of phase 1, bins taken of phase 2
    u32 segments;
    u32 bins;
    u32 width;   // sources of a segment
    u32 filled;  // floats of `value`, a multiple of 4
    u32 groups;
    u32 item;    // groups that a block takes at a time
};

struct SumArgs {  // @host
    Turn turn;
    const u64* bounds;   // [bins + 1] first row of each bin
    const u32* lengths;  // [bins] groups of values
    const u32* starts;   // [own rows + 1] quads before each row
    const u16* slots;    // [quads, QUAD]; `capacity` where a row has no more arcs
    const float* staged;
    u32* queues;
    double* sum;  // [active] where sums are added over replicas; else NULL
    u32 bins;
    u32 capacity;  // values of a bin
};

// Copies so many times 16 bytes to shared memory, by all threads of a block. A barrier is to follow.
__device__ __forceinline__ void fetch_all(float4* to, const float4* from, u32 quads) {
    for (u32 i = threadIdx.x; i < quads; i += blockDim.x) fetch(to + i, from + i);
    fetched();
}

// The values of the sources of half a group: two threads share a group, so that neighbours write whole sectors.
__device__ __forceinline__ float4 values_of(const float* segment, uint2 sources) {
    return make_float4(segment[sources.x & 0xffffu], segment[sources.x >> 16],
                       segment[sources.y & 0xffffu], segment[sources.y >> 16]);
}

extern "C" __global__ void __launch_bounds__(1024, 1) pagerank_scatter(const ScatterArgs a) {
    extern __shared__ float4 room[];
    __shared__ u32 taken;
    const float* segment = (const float*)room;
    for (;;) {
        if (threadIdx.x == 0) taken = atomicAdd(a.queues, 1u);
        __syncthreads();
        const u64 first = (u64)taken * a.item;
        if (first >= a.groups) break;
        u32 at = (u32)first, end = min((u32)(a.groups - first), a.item) + at;
        // The last segment that begins at `at` or before.
        u32 s = 0, above = a.segments;
        while (above - s > 1u) {
            u32 middle = (s + above) / 2u;
            if (__ldg(a.begins + (u64)middle * a.bins) <= at) {
                s = middle;
            } else {
                above = middle;
            }
        }
        for (; at < end; s++) {
            u32 stop = s + 1u < a.segments ? min(__ldg(a.begins + (u64)(s + 1u) * a.bins), end) : end;
            if (stop == at) continue;  // the same for all threads
            u32 begin = s * a.width;
            fetch_all(room, (const float4*)(a.value + begin), min(a.filled - begin, a.width) / 4u);
            __syncthreads();
            const u32 half = threadIdx.x % 2u, step = SCATTER_THREADS / 2u;
            float4* staged = (float4*)a.staged + half;
            for (u32 g = at + threadIdx.x / 2u; g < stop; g += HALVES_AHEAD * step) {
                uint2 sources[HALVES_AHEAD];
                u32 target[HALVES_AHEAD];
#pragma unroll
                for (u32 k = 0; k < HALVES_AHEAD; k++) {
                    u32 group = g + k * step;
                    if (group < stop) {
                        sources[k] = __ldcs((const uint2*)a.sources + 2ull * group + half);
                        target[k] = __ldcs(a.targets + group);
                    }
                }
#pragma unroll
                for (u32 k = 0; k < HALVES_AHEAD; k++) {
                    if (g + k * step < stop) __stcs(staged + 2ull * target[k], values_of(segment, sources[k]));
                }
            }
            __syncthreads();
            at = stop;
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) a.queues[1] = 0;
}

// The quads of a row that are left to a lane.
struct Left {
    u32 quad, stop;
};

__device__ __forceinline__ Left row_of(const SumArgs& a, u32 own, u32 v, u32 end, u32 lane) {
    if (v >= end) return {0u, 0u};
    const u32* start = a.starts + (v - own);
    return {__ldg(start) + lane, __ldg(start + 1)};
}

struct Ahead {
    uint2 slots[QUADS_AHEAD];
};

// The first quads of a lane; behind the last one, slots of a 0.
template <u32 LANES>
__device__ __forceinline__ Ahead first_quads(const SumArgs& a, Left row) {
    Ahead ahead;
    u32 none = a.capacity * 0x10001u;
#pragma unroll
    for (u32 k = 0; k < QUADS_AHEAD; k++) {
        u32 quad = row.quad + k * LANES;
        ahead.slots[k] = quad < row.stop ? __ldcs((const uint2*)a.slots + quad) : make_uint2(none, none);
    }
    return ahead;
}

__device__ __forceinline__ double quad_sum(const float* values, uint2 slots) {
    return (double)((values[slots.x & 0xffffu] + values[slots.x >> 16]) +
                    (values[slots.y & 0xffffu] + values[slots.y >> 16]));
}

// A bin: its values are copied to shared memory, and LANES threads add up each of its rows. Of LANES rounds of rows each lane
// keeps one row, which it then finishes. Returns how far ranks went.
template <u32 LANES>
__device__ __forceinline__ u64 sum_bin(const SumArgs& a, double scale, float4* room, u32 bin, u32 own, u32 first, u32 end) {
    const u32 lane = threadIdx.x % LANES, rows = SUM_THREADS / LANES;
    const float* values = (const float*)room;
    u64 moved = 0;
    u32 v = first + threadIdx.x / LANES;
    Left row = row_of(a, own, v, end, lane), next = row_of(a, own, v + rows, end, lane);
    Ahead ahead = first_quads<LANES>(a, row);
    fetch_all(room, (const float4*)(a.staged + (u64)bin * a.capacity), __ldg(a.lengths + bin) * (GROUP / 4u));
    __syncthreads();
    double kept = 0.0;
    u32 round = 0;
    // `base` is the same for all threads, as they add up together.
    for (u32 base = first; base < end; base += rows, v += rows) {
        Ahead now = ahead;
        Left rest = row;
        row = next;
        ahead = first_quads<LANES>(a, row);
        next = row_of(a, own, v + 2u * rows, end, lane);
        double sum = 0.0;
#pragma unroll
        for (u32 k = 0; k < QUADS_AHEAD; k++) sum += quad_sum(values, now.slots[k]);
        for (u32 quad = rest.quad + QUADS_AHEAD * LANES; quad < rest.stop; quad += LANES) {
            sum += quad_sum(values, __ldcs((const uint2*)a.slots + quad));
        }
#pragma unroll
        for (u32 step = LANES / 2u; step > 0; step >>= 1) sum += __shfl_xor_sync(FULL, sum, step);
        if (lane == round) kept = sum;
        round++;
        if (round < LANES && base + rows < end) continue;
        u32 own_row = v - (round - 1u - lane) * rows;
        if (lane < round && own_row < end) {
            if (a.sum) {
                a.sum[own_row] = kept;
            } else {
                moved += finish(a.turn, scale, own_row, 0, kept);
            }
        }
        round = 0;
    }
    __syncthreads();
    return moved;
}

extern "C" __global__ void __launch_bounds__(512, 2) pagerank_sum(const SumArgs a) {
    extern __shared__ float4 room[];
    __shared__ u32 taken;
    const double scale = new_scale(a.turn);
    const u32 own = (u32)__ldg(a.bounds);
    u64 moved = 0;
    if (threadIdx.x == 0) ((float*)room)[a.capacity] = 0.0f;
    for (;;) {
        if (threadIdx.x == 0) taken = atomicAdd(a.queues + 1, 1u);
        __syncthreads();
        const u32 bin = taken;
        if (bin >= a.bins) break;
        u32 first = (u32)__ldg(a.bounds + bin), end = (u32)__ldg(a.bounds + bin + 1u);
        u32 quads = __ldg(a.starts + (end - own)) - __ldg(a.starts + (first - own));
        u32 wanted = quads / ((end - first) * QUADS_OF_LANE);  // lanes for a row of mean length
        if (wanted >= 24u) {
            moved += sum_bin<32>(a, scale, room, bin, own, first, end);
        } else if (wanted >= 12u) {
            moved += sum_bin<16>(a, scale, room, bin, own, first, end);
        } else if (wanted >= 6u) {
            moved += sum_bin<8>(a, scale, room, bin, own, first, end);
        } else if (wanted >= 3u) {
            moved += sum_bin<4>(a, scale, room, bin, own, first, end);
        } else if (wanted >= 1u) {
            moved += sum_bin<2>(a, scale, room, bin, own, first, end);
        } else {
            moved += sum_bin<1>(a, scale, room, bin, own, first, end);
        }
    }
    if (!a.sum) finished(a.turn, scale, moved);
    if (blockIdx.x == 0 && threadIdx.x == 0) a.queues[0] = 0;
}
