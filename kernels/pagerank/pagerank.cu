// PageRank by the strategies of the literature: push and pull by a thread or a group of lanes a node, and a
// thread an arc. pagerank.cuh has what follows a row's sum.
//
// `value` has what arcs carry: ranks over out-degrees, or ranks where each arc divides (pull) or has its share of the
// out-weight beside it (weights). Pulls finish their rows at once. With `to_sum` they, and pushes always, leave f64 sums
// in `sum`, which pagerank_finish turns into ranks. Sums are f64: a hub that added a million floats to a float would be
// off by more than all other rounding together.
//
// HIVE_WEIGHTED: arcs have shares. WIDTH lanes (a power of two up to 64, two warps) share a row in the
// warp-centric forms and take CHUNK rows at a time.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1 | -DHIVE_WIDE=0 -DHIVE_WEIGHTED=1 | -DHIVE_WIDE=1 -DHIVE_WEIGHTED=1 -DWIDTH=8 | -DHIVE_WIDE=0 -DWIDTH=1 -DCHUNK=10 | -DHIVE_WIDE=0 -DWIDTH=2 -DCHUNK=3 | -DHIVE_WIDE=0 -DWIDTH=64 -DCHUNK=4

#include "pagerank.cuh"

#ifndef HIVE_WEIGHTED
#define HIVE_WEIGHTED 0
#endif
#ifndef WIDTH
#define WIDTH 32
#endif
#ifndef CHUNK
#define CHUNK 1
#endif

#define THREADS 256u  // @host of every block

struct RankArgs {  // @host
    Turn turn;
    const offset_t* offsets;  // [active + 1] in-rows of a pull, out-rows of a push
    const u32* columns;
    const float* shares;      // [m] of the out-weight of the source, in the order of the columns
    const float* value;       // [active]
    const float* over;        // [active] out-degrees that a pull divides by at each arc
    double* sum;              // [active]
    u32 lo, hi;               // rows of this launch
    u32 to_sum;
    u32 unused;
};

__device__ __forceinline__ u64 thread_number() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

// What arc e brings to its row.
template <bool DIVIDE>
__device__ __forceinline__ float brought(const RankArgs& a, u64 e) {
    u32 u = __ldg(a.columns + e);
    float x = __ldg(a.value + u);
#if HIVE_WEIGHTED
    return x * __ldg(a.shares + e);
#else
    return DIVIDE ? x / __ldg(a.over + u) : x;
#endif
}

// ---- at the start

extern "C" __global__ void pagerank_start(const RankArgs a) {
    for (u64 i = a.lo + thread_number(); i < a.hi; i += thread_count()) {
        u32 v = (u32)i;
        float rank = a.turn.personal ? a.turn.personal[v] : (float)a.turn.even;
        a.turn.new_rank[v] = rank;
        a.turn.next[v] = a.turn.divisor ? rank / a.turn.divisor[v] : rank;
        if (a.sum) a.sum[v] = 0.0;
    }
    if (blockIdx.x == 0 && threadIdx.x < SLOTS) {
        a.turn.scalars->dangling[threadIdx.x] = 0;
        a.turn.scalars->change[threadIdx.x] = 0;
        a.turn.scalars->scale[threadIdx.x] = 1.0;
    }
}

struct DanglingArgs {  // @host
    const u32* nodes;    // [count] those with a row and no out-weight
    const float* value;  // their ranks: nobody divides by 0
    Scalars* scalars;
    u32 count;
    u32 iteration;  // the one to come
};

extern "C" __global__ void pagerank_dangling(const DanglingArgs a) {
    u64 sum = 0;
    for (u64 i = thread_number(); i < a.count; i += thread_count()) {
        sum += __double2ull_rn((double)a.value[a.nodes[i]] * UNITS);
    }
    sum = warp_sum(sum);
    if (lane_id() == 0 && sum != 0) atomicAdd(&a.scalars->dangling[a.iteration % SLOTS], sum);
}

// ---- pull

template <bool DIVIDE>
__device__ __forceinline__ void pull(const RankArgs& a) {
    double scale = new_scale(a.turn);
    u64 moved = 0;
    for (u64 i = a.lo + thread_number(); i < a.hi; i += thread_count()) {
        u32 v = (u32)i;
        u64 e = a.offsets[v], end = a.offsets[v + 1];
        u32 length = (u32)(end - e);
        double sum = 0.0;
        for (; e + 4 <= end; e += 4) {
            float w = brought<DIVIDE>(a, e), x = brought<DIVIDE>(a, e + 1);
            float y = brought<DIVIDE>(a, e + 2), z = brought<DIVIDE>(a, e + 3);
            sum += (double)((w + x) + (y + z));  // conversions are slow
        }
        for (; e < end; e++) sum += (double)brought<DIVIDE>(a, e);
        if (a.to_sum) {
            a.sum[v] = sum;
        } else {
            moved += finish(a.turn, scale, v, length, sum);
        }
    }
    if (!a.to_sum) finished(a.turn, scale, moved);
}

extern "C" __global__ void __launch_bounds__(256) pagerank_pull(const RankArgs a) { pull<true>(a); }
extern "C" __global__ void __launch_bounds__(256) pagerank_pull_nodiv(const RankArgs a) { pull<false>(a); }

// ---- push

extern "C" __global__ void __launch_bounds__(256) pagerank_push(const RankArgs a) {
    for (u64 i = a.lo + thread_number(); i < a.hi; i += thread_count()) {
        u32 u = (u32)i;
        double x = (double)a.value[u];
        u64 end = a.offsets[u + 1];
        for (u64 e = a.offsets[u]; e < end; e++) {
#if HIVE_WEIGHTED
            atomicAdd(a.sum + a.columns[e], x * (double)a.shares[e]);
#else
            atomicAdd(a.sum + a.columns[e], x);
#endif
        }
    }
}

// Sums to ranks, of all rows; sums are 0 again after it.
extern "C" __global__ void __launch_bounds__(256) pagerank_finish(const RankArgs a) {
    double scale = new_scale(a.turn);
    u64 moved = 0;
    for (u64 i = a.lo + thread_number(); i < a.hi; i += thread_count()) {
        u32 v = (u32)i;
        double sum = a.sum[v];
        a.sum[v] = 0.0;
        moved += finish(a.turn, scale, v, 0, sum);
    }
    finished(a.turn, scale, moved);
}

// ---- groups of lanes

#define GROUPS (THREADS / WIDTH)  // of a block

// The sum over the lanes of a group, the same on all of them. Every thread of the block comes here.
__device__ __forceinline__ double group_sum(double value) {
#pragma unroll
    for (u32 step = (WIDTH < 32 ? WIDTH : 32) / 2; step > 0; step >>= 1) {
        value += __shfl_xor_sync(FULL, value, step);
    }
#if WIDTH == 64
    __shared__ double part[THREADS / 32];
    __syncthreads();
    if (lane_id() == 0) part[warp_id()] = value;
    __syncthreads();
    value = part[warp_id() & ~1u] + part[warp_id() | 1u];
#endif
    return value;
}

// Rounds in which all groups together get through the rows; the same for every thread.
__device__ __forceinline__ u64 rounds_of(const RankArgs& a) {
    u64 at_once = (u64)gridDim.x * GROUPS * CHUNK;
    return (a.hi - a.lo + at_once - 1) / at_once;
}

__device__ __forceinline__ u64 first_row(const RankArgs& a, u64 round) {
    u64 group = (u64)blockIdx.x * GROUPS + threadIdx.x / WIDTH;
    return a.lo + (round * gridDim.x * GROUPS + group) * CHUNK;
}

template <bool DIVIDE>
__device__ __forceinline__ void warp_pull(const RankArgs& a) {
    double scale = new_scale(a.turn);
    u32 lane = threadIdx.x % WIDTH;
    u64 moved = 0, rounds = rounds_of(a);
    for (u64 round = 0; round < rounds; round++) {
        u64 first = first_row(a, round);
        for (u32 k = 0; k < CHUNK; k++) {
            bool live = first + k < a.hi;
            u32 v = live ? (u32)(first + k) : a.lo;
            u64 e = live ? (u64)a.offsets[v] : 0, end = live ? (u64)a.offsets[v + 1] : 0;
            double sum = 0.0;
            for (u64 i = e + lane; i < end; i += WIDTH) sum += (double)brought<DIVIDE>(a, i);
            sum = group_sum(sum);
            if (live && lane == 0) {
                if (a.to_sum) {
                    a.sum[v] = sum;
                } else {
                    moved += finish(a.turn, scale, v, (u32)(end - e), sum);
                }
            }
        }
    }
    if (!a.to_sum) finished(a.turn, scale, moved);
}

extern "C" __global__ void __launch_bounds__(256) pagerank_warp_pull(const RankArgs a) { warp_pull<true>(a); }
extern "C" __global__ void __launch_bounds__(256) pagerank_warp_pull_nodiv(const RankArgs a) { warp_pull<false>(a); }

extern "C" __global__ void __launch_bounds__(256) pagerank_warp_push(const RankArgs a) {
    u32 lane = threadIdx.x % WIDTH;
    u64 rounds = rounds_of(a);
    for (u64 round = 0; round < rounds; round++) {
        u64 first = first_row(a, round);
        for (u64 u = first; u < first + CHUNK && u < a.hi; u++) {
            double x = (double)a.value[u];
            u64 end = a.offsets[u + 1];
            for (u64 e = a.offsets[u] + lane; e < end; e += WIDTH) {
#if HIVE_WEIGHTED
                atomicAdd(a.sum + a.columns[e], x * (double)a.shares[e]);
#else
                atomicAdd(a.sum + a.columns[e], x);
#endif
            }
        }
    }
}

// ---- arcs

struct EdgeArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    const float* shares;  // [m]
    const float* value;
    u32* sources;  // [own arcs]
    uint2* pairs;  // [own arcs] source and target
    double* sum;
    u64 first, end;  // own arcs, as numbered in the graph
    u32 lo, hi;      // own rows
};

// Lists the source of every own arc, or source and target, whichever there is room for: once.
extern "C" __global__ void pagerank_expand(const EdgeArgs a) {
    u64 warp = thread_number() / 32, warps = thread_count() / 32;
    for (u64 u = a.lo + warp; u < a.hi; u += warps) {
        u64 end = a.offsets[u + 1];
        for (u64 e = (u64)a.offsets[u] + lane_id(); e < end; e += 32) {
            if (a.sources) a.sources[e - a.first] = (u32)u;
            if (a.pairs) a.pairs[e - a.first] = make_uint2((u32)u, a.columns[e]);
        }
    }
}

__device__ __forceinline__ void carry(const EdgeArgs& a, u64 e, u32 source, u32 target) {
    double x = (double)__ldg(a.value + source);
#if HIVE_WEIGHTED
    x *= (double)a.shares[e];
#endif
    atomicAdd(a.sum + target, x);
}

extern "C" __global__ void __launch_bounds__(256) pagerank_edge_soa(const EdgeArgs a) {
    for (u64 e = a.first + thread_number(); e < a.end; e += thread_count()) {
        carry(a, e, a.sources[e - a.first], a.columns[e]);
    }
}

extern "C" __global__ void __launch_bounds__(256) pagerank_edge_aos(const EdgeArgs a) {
    for (u64 e = a.first + thread_number(); e < a.end; e += thread_count()) {
        uint2 arc = a.pairs[e - a.first];
        carry(a, e, arc.x, arc.y);
    }
}

// ---- for the host

struct RankStatus {  // @host
    u64 change;    // in units
    double scale;  // c of the ranks after the iteration
    double scale_before;
    u64 done;  // iterations made; written last
};

struct ReportArgs {  // @host
    const Scalars* scalars;
    RankStatus* status;  // [SLOTS]
    u32 iteration;
    u32 unused;
};

extern "C" __global__ void pagerank_report(const ReportArgs a) {
    u32 t = a.iteration;
    volatile RankStatus* status = a.status + t % SLOTS;
    status->change = a.scalars->change[t % SLOTS];
    status->scale = a.scalars->scale[(t + 1u) % SLOTS];
    status->scale_before = a.scalars->scale[t % SLOTS];
    __threadfence_system();
    status->done = (u64)t + 1;
}
