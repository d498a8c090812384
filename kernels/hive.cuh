// What every kernel of hivegraph shares: types, arcs, bitmaps, atomics, the grid-wide barrier.
//
// Compiled by NVRTC without any CUDA header, so that no toolkit is needed where hive runs.
// Options: HIVE_PACKED (an arc is one word: id << bits | weight - bias; else id and f32 bits),
// HIVE_WIDE (row offsets are 64-bit; else 32-bit), HIVE_LEVELS (distances are whole numbers, one more an arc).
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifndef HIVE_PACKED
#define HIVE_PACKED 0
#endif
#ifndef HIVE_WIDE
#define HIVE_WIDE 0
#endif

#ifndef HIVE_LEVELS
#define HIVE_LEVELS 0
#endif

#if HIVE_WIDE
typedef u64 offset_t;
#else
typedef u32 offset_t;
#endif

#if HIVE_PACKED
typedef u32 arc_t;
#else
typedef uint2 arc_t;
#endif

// How copies or elements are put together.
enum Op { OP_OR, OP_MIN, OP_MAX, OP_SUM };  // @host

#define REPLICAS 16u  // @host at most
// The share of the fastest replica in divided work, at most.
#define SHARES 16u  // @host

static const u32 INFINITE = 0x7f800000u;  // @host bits of +inf f32: "not reached"
static const u32 FULL = 0xffffffffu;

// How packed arcs are read. Distances are handled as the bits of non-negative f32, whose order is
// that of the unsigned integers.
struct ArcForm {  // @host
    u32 bits;
    u32 bias;
};

__device__ __forceinline__ u32 arc_node(arc_t arc, ArcForm form) {
#if HIVE_PACKED
    return arc >> form.bits;
#else
    return arc.x;
#endif
}

__device__ __forceinline__ float arc_weight(arc_t arc, ArcForm form) {
#if HIVE_PACKED
    return (float)((arc & ((1u << form.bits) - 1u)) + form.bias);
#else
    return __uint_as_float(arc.y);
#endif
}

// The first four arcs of a row in one aligned record; rows with fewer are padded with the node
// itself, which no row holds otherwise (layouts drop self loops).
struct alignas(16) Record {
    arc_t arc[4];
};

__device__ __forceinline__ Record load_record(const Record* records, u32 v) {
    Record r;
    const uint4* from = (const uint4*)(records + v);
    uint4* to = (uint4*)&r;
#pragma unroll
    for (u32 i = 0; i < sizeof(Record) / 16; i++) to[i] = __ldg(from + i);
    return r;
}

// Arcs of a row.
__device__ __forceinline__ u64 degree_of(const offset_t* offsets, u32 v) {
    return (u64)__ldg(offsets + v + 1) - (u64)__ldg(offsets + v);
}

// Values that other threads of the same launch change: read at L2, never from L1.
__device__ __forceinline__ u32 fresh(const u32* at) { return __ldcg(at); }
__device__ __forceinline__ u64 fresh(const u64* at) { return __ldcg(at); }

__device__ __forceinline__ u32 relaxed_distance(u32 from, float weight) {
#if HIVE_LEVELS
    return from + 1;
#else
    return __float_as_uint(__uint_as_float(from) + weight);
#endif
}

// A distance `delta` further on.
__device__ __forceinline__ u32 advanced(u32 from, float delta) {
#if HIVE_LEVELS
    return from + (u32)delta;
#else
    return __float_as_uint(__uint_as_float(from) + delta);
#endif
}

__device__ __forceinline__ u64 clock_ns() {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__device__ __forceinline__ u32 acquire(const u32* at) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ u64 relaxed(const u64* at) {
    u64 value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ u32 relaxed(const u32* at) {
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ u32 lane_id() { return threadIdx.x & 31u; }
__device__ __forceinline__ u32 warp_id() { return threadIdx.x >> 5; }

// What blocks meet at, on a line of its own: counters beside a word that is polled would wait for the polls.
struct Meeting {  // @host
    u64 arrived;  // blocks, at all meetings; LEAVE and more when they are to leave
    u64 line[15];
};
static const u64 LEAVE = 1ull << 63;

// Between two polls of a word, `polls` of which were in vain. Who waits long sleeps, about a microsecond at a time: hundreds
// of blocks that poll one word without a pause hold up whoever still works, by a factor of two to ten where those fetch
// their work from a counter (docs/kernels.md).
__device__ __forceinline__ void back_off(u32 polls) {
    if (polls > 24u) __nanosleep(polls < 64u ? 16u * polls : 1000u);
}

// A barrier over all blocks of a cooperative launch. Never hangs: a wait past the deadline, or the
// host's abort word, makes every block leave.
struct Grid {
    Meeting* at;
    const volatile u32* abort;
    u64 deadline_ns;
    u64 target;
    u32 stopped;

    // True while the launch is to go on.
    __device__ bool sync() {
        __shared__ u32 verdict;
        __syncthreads();
        if (threadIdx.x == 0) {
            target += gridDim.x;
            __threadfence();
            atomicAdd(&at->arrived, 1ull);
            u32 polls = 0;
            u64 since = 0, seen;
            // Relaxed: an acquire would take L1's lines from the blocks that are still at work beside this one.
            while ((seen = relaxed(&at->arrived)) < target) {
                back_off(++polls);
                if ((polls & 1023u) != 0) continue;
                u64 now = clock_ns();
                if (since == 0) since = now;
                // Two blocks read the host's word: hundreds that do slow down who still works (docs/kernels.md).
                bool asks = blockIdx.x == 0 || blockIdx.x + 1 == gridDim.x;
                if (now - since > deadline_ns || (asks && *abort != 0)) atomicOr(&at->arrived, LEAVE);
            }
            __threadfence();
            verdict = seen >= LEAVE;
        }
        __syncthreads();
        stopped = verdict;
        return stopped == 0;
    }
};

// How a round of the log went: from a queue, over a bitmap, by a pull, by one block alone, as a window of near-far, or as one
// that is pushed.
enum RoundKind { ROUND_QUEUE = 1, ROUND_SWEEP, ROUND_PULL, ROUND_SOLO, ROUND_WINDOW, ROUND_PUSHED };  // @host

// A log that the host reads after the launch, for --trace: one entry a round, stamped at its end;
// entry 0 is the start. `at` is NULL when nobody wants it.
struct RoundLog {  // @host
    u64 ns, kind, nodes, arcs;
};
#define LOG_ENTRIES 4096u  // @host

__device__ __forceinline__ void note(RoundLog* at, u32 entry, u64 kind, u64 nodes, u64 arcs) {
    if (at && blockIdx.x == 0 && threadIdx.x == 0 && entry < LOG_ENTRIES) {
        at[entry].ns = clock_ns();
        at[entry].kind = kind;
        at[entry].nodes = nodes;
        at[entry].arcs = arcs;
    }
}

// Over the lanes of a warp; all of them get the result. GPUs before compute capability 8.0 have no instruction for it.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ u32 warp_min(u32 value) { return __reduce_min_sync(FULL, value); }
__device__ __forceinline__ u32 warp_max(u32 value) { return __reduce_max_sync(FULL, value); }
__device__ __forceinline__ u32 group_or(u32 lanes, u32 value) { return __reduce_or_sync(lanes, value); }
__device__ __forceinline__ u32 warp_or(u32 value) { return group_or(FULL, value); }
__device__ __forceinline__ u32 warp_add(u32 value) { return __reduce_add_sync(FULL, value); }
#else
template <typename F> __device__ __forceinline__ u32 warp_all(u32 value, const F& f) {
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) value = f(value, __shfl_xor_sync(FULL, value, step));
    return value;
}
__device__ __forceinline__ u32 warp_min(u32 value) {
    return warp_all(value, [](u32 a, u32 b) { return min(a, b); });
}
__device__ __forceinline__ u32 warp_max(u32 value) {
    return warp_all(value, [](u32 a, u32 b) { return max(a, b); });
}
__device__ __forceinline__ u32 warp_or(u32 value) {
    return warp_all(value, [](u32 a, u32 b) { return a | b; });
}
// Over some lanes, which call it together.
__device__ __forceinline__ u32 group_or(u32 lanes, u32 value) {
    u32 all = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) all |= __shfl_sync(lanes, value, __ffs(rest) - 1);
    return all;
}
__device__ __forceinline__ u32 warp_add(u32 value) {
    return warp_all(value, [](u32 a, u32 b) { return a + b; });
}
#endif

// Sums over the lanes up to this one.
template <typename T> __device__ __forceinline__ T warp_scan(T value) {
#pragma unroll
    for (u32 step = 1; step < 32; step <<= 1) {
        T other = __shfl_up_sync(FULL, value, step);
        if (lane_id() >= step) value += other;
    }
    return value;
}

__device__ __forceinline__ u64 warp_sum(u64 value) {
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(FULL, value, step);
    return value;
}

// Sum over the block; `room` holds one u64 a warp. Every thread gets it.
__device__ __forceinline__ u64 block_sum(u64 value, u64* room) {
    value = warp_sum(value);
    __syncthreads();
    if (lane_id() == 0) room[warp_id()] = value;
    __syncthreads();
    u64 total = 0;
    for (u32 w = 0; w < (blockDim.x >> 5); w++) total += room[w];
    return total;
}

// Exclusive prefix sum over the block in thread order; `total` gets the sum.
__device__ __forceinline__ u64 block_scan(u64 value, u64* room, u64* total) {
    u64 inclusive = warp_scan(value);
    __syncthreads();
    if (lane_id() == 31) room[warp_id()] = inclusive;
    __syncthreads();
    u64 before = 0, sum = 0;
    for (u32 w = 0; w < (blockDim.x >> 5); w++) {
        if (w == warp_id()) before = sum;
        sum += room[w];
    }
    *total = sum;
    return before + inclusive - value;
}
