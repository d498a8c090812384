// Rows without parallel arcs, made from rows in device memory: the same arrays, to the byte, as src/layout/topology.rs makes on
// the host. Columns rise in each row, so that parallel arcs lie together, and the first of them is kept.
//
// A bit an arc says whether it is kept. Arcs are dealt in tiles; what is kept before a tile is a prefix sum over tiles, and
// what is kept before an arc of it follows from the bits.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "rows.cuh"

#define WORDS (TILE / 32u)

struct OnceArgs {  // @host
    const offset_t* offsets;  // [rows + 1]
    const u32* columns;       // [arcs]
    u32* bits;                // [arcs / 32, rounded up] zeros; then the first arcs of rows; then the arcs that are kept
    u64* counts;              // [tiles] kept arcs of each
    const u64* before;        // [tiles + 1] kept arcs before each
    u64* new_offsets;         // [rows + 1]
    u32* new_columns;         // [kept arcs]
    u64 arcs;
    u32 rows;
    u32 unused;
};

struct DifferArgs {  // @host
    const u32* one;    // [words]
    const u32* other;  // [words]
    u64* differ;       // [1] not 0: some word differs
    u64 words;
};

extern "C" __global__ void __launch_bounds__(THREADS) once_heads(OnceArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < a.rows; v += stride) {
        u64 begin = __ldg(a.offsets + v);
        if (begin < __ldg(a.offsets + v + 1)) atomicOr(a.bits + begin / 32, 1u << (begin % 32));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) once_keep(OnceArgs a) {
    __shared__ u64 room[THREADS / 32u];
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs; begin += step) {
        u64 own = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            // A warp has a word.
            u64 arc = begin + i * THREADS + threadIdx.x;
            bool keep = false;
            if (arc < a.arcs) {
                keep = a.bits[arc / 32] >> (arc % 32) & 1u;
                if (!keep) keep = __ldg(a.columns + arc) != __ldg(a.columns + arc - 1);
            }
            u32 word = __ballot_sync(FULL, keep);
            if (lane_id() == 0 && arc < a.arcs) {
                a.bits[arc / 32] = word;
                own += __popc(word);
            }
        }
        u64 total = block_sum(own, room);
        if (threadIdx.x == 0) a.counts[begin / TILE] = total;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) once_offsets(OnceArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v <= a.rows; v += stride) {
        u64 at = __ldg(a.offsets + v), word = at / TILE * WORDS;
        u64 kept = __ldg(a.before + at / TILE);
        for (; word < at / 32; word++) kept += __popc(__ldg(a.bits + word));
        // Where the last arc fills its word, there is none behind it.
        if (at % 32 > 0) kept += __popc(__ldg(a.bits + word) & ((1u << (at % 32)) - 1));
        a.new_offsets[v] = kept;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) once_columns(OnceArgs a) {
    __shared__ u64 room[THREADS / 32u];
    __shared__ u32 kept_before[WORDS];
    const u64 words = (a.arcs + 31) / 32, step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs; begin += step) {
        u64 word = begin / 32 + threadIdx.x, total;
        bool has_word = threadIdx.x < WORDS && word < words;
        u64 before = block_scan(has_word ? __popc(__ldg(a.bits + word)) : 0, room, &total);
        if (threadIdx.x < WORDS) kept_before[threadIdx.x] = (u32)before;
        __syncthreads();
        u64 base = __ldg(a.before + begin / TILE);
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 place = i * THREADS + threadIdx.x;
            u64 arc = begin + place;
            if (arc < a.arcs) {
                u32 bits = __ldg(a.bits + arc / 32), lane = arc % 32;
                if (bits >> lane & 1u) {
                    u32 at = kept_before[place / 32] + __popc(bits & ((1u << lane) - 1));
                    a.new_columns[base + at] = __ldg(a.columns + arc);
                }
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) once_differ(DifferArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    bool differ = false;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.words; i += stride) {
        differ = differ || __ldg(a.one + i) != __ldg(a.other + i);
    }
    if (__any_sync(FULL, differ) && lane_id() == 0) *a.differ = 1;
}
