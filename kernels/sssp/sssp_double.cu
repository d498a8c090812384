// Shortest paths in f64, where f32 does not hold the sums: near-far on any graph.
//
// Idea. Nodes with dist < threshold are near: a queue holds those whose arcs are to be relaxed in this round. The
// others wait as bits of `pending` until the threshold passes them (threshold = smallest pending distance + delta).
// Rows of at most `long_row` arcs take eight lanes each, longer ones a block each, and those of more than `giant_row`
// arcs all blocks together.
//
// Invariant at a barrier: every node whose arcs are not relaxed at its current distance is in the queue of the round
// that begins, or has its bit in `pending`. `stamp[v]` is the last round that v was queued for: a node is queued once
// for a round, and again for the next when it improves during that round.
//
// Distances are handled as the bits of non-negative f64, whose order is that of the unsigned integers. Sums of
// integers are exact below 2^53.
//
// Source: near-far of Davidson, Baxter, Garland, Owens, IPDPS 2014, section 4.
//
// Compiled with: -DHIVE_PACKED=1 -DHIVE_WIDE=0 | -DHIVE_PACKED=0 -DHIVE_WIDE=0 | -DHIVE_PACKED=1 -DHIVE_WIDE=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=1

#include "hive.cuh"

#define THREADS 256u  // @host
#define LANES 8u  // threads of a short row

static const u64 UNREACHED = 0x7ff0000000000000ull;  // bits of +inf f64

struct DoubleStatus {  // @host
    u64 relaxed;
    u64 rounds;
    u32 windows;
    u32 stopped;
};

struct DoubleControl {  // @host
    Meeting barrier;
    u64 lowest_inverted[3];  // ~(smallest pending distance); windows alternate
    u64 count[3];            // short rows in the queue; rounds alternate
    u64 longs[3];            // long rows, at its end; rounds alternate
    u64 giants[3];           // giant rows; rounds alternate
    u64 relaxed;
};

struct DoubleArgs {  // @host
    const offset_t* offsets;
    const arc_t* arcs;
    const u32* seeds;        // [count]
    u64* dist;               // [nodes] f64 bits
    u32* pending;            // [words] bitmap: the far pile, and the seeds at first
    u32* stamp;              // [active]
    u32* queue;              // [2][active] short rows from the front, long ones from the back
    u32* giants;             // [2][capacity]
    DoubleControl* control;
    DoubleStatus* status;    // pinned
    const u32* abort;        // pinned
    RoundLog* log;           // pinned, or NULL
    u64 deadline_ns;
    u64 capacity;
    u64 nodes;
    double delta;
    u32 active;
    u32 count;
    u32 long_row;
    u32 giant_row;
    ArcForm form;
};

// All distances infinite and no node queued; the seeds come next.
extern "C" __global__ void sssp_double_reset(const DoubleArgs a) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.nodes; i += stride) {
        a.dist[i] = UNREACHED;
        if (i < a.active) a.stamp[i] = 0;
        if (i < (a.active + 31u) / 32u) a.pending[i] = 0;
    }
}

// Distance 0 and a pending bit at each seed.
extern "C" __global__ void sssp_double_seeds(const DoubleArgs a) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += gridDim.x * blockDim.x) {
        u32 v = a.seeds[i];
        a.dist[v] = 0;
        if (v < a.active) atomicOr(a.pending + (v >> 5), 1u << (v & 31u));
    }
}

__device__ __forceinline__ void put(const DoubleArgs& a, u64 round, u32 v) {
    DoubleControl* c = a.control;
    u64 degree = degree_of(a.offsets, v), side = round & 1, turn = round % 3;
    u32* queue = a.queue + side * a.active;
    // A node is queued once for a round, so that the two ends do not meet.
    if (degree <= a.long_row) __stcg(queue + atomicAdd(&c->count[turn], 1ull), v);
    else if (degree <= a.giant_row) __stcg(queue + a.active - 1 - atomicAdd(&c->longs[turn], 1ull), v);
    else __stcg(a.giants + side * a.capacity + atomicAdd(&c->giants[turn], 1ull), v);
}

__device__ __forceinline__ void relax(const DoubleArgs& a, u64 threshold, u64 round, double from, arc_t arc) {
    u32 v = arc_node(arc, a.form);
    u64 candidate = (u64)__double_as_longlong(from + (double)arc_weight(arc, a.form));
    if (candidate >= fresh(a.dist + v)) return;
    if (candidate >= atomicMin(a.dist + v, candidate)) return;
    if (candidate >= threshold) {
        u32 bit = 1u << (v & 31u);
        if (!(fresh(a.pending + (v >> 5)) & bit)) atomicOr(a.pending + (v >> 5), bit);
    } else if (atomicMax(a.stamp + v, (u32)round + 1u) <= (u32)round) {
        put(a, round + 1, v);
    }
}

// Relaxes the arcs lane, lane + step, ... of a row.
__device__ __forceinline__ void relax_row(const DoubleArgs& a, u64 threshold, u64 round, u32 u, u32 lane, u32 step,
                                          u64& relaxed) {
    u64 first = __ldg(a.offsets + u), last = __ldg(a.offsets + u + 1);
    double from = __longlong_as_double((long long)fresh(a.dist + u));
    for (u64 i = first + lane; i < last; i += step) {
        relaxed++;
        relax(a, threshold, round, from, __ldg(a.arcs + i));
    }
}

__device__ __forceinline__ u64 warp_max(u64 value) {
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) value = max(value, __shfl_xor_sync(FULL, value, step));
    return value;
}

// Smallest distance of a pending node; bits of nodes below `settled` are done with and cleared.
__device__ void sweep_lowest(const DoubleArgs& a, u64 settled, u64* lowest) {
    u64 best = 0;
    u32 words = (a.active + 31) / 32;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        u32 bits = fresh(a.pending + i), keep = bits;
        for (u32 b = bits; b; b &= b - 1) {
            u32 k = __ffs(b) - 1;
            u64 d = fresh(a.dist + i * 32 + k);
            if (d < settled) keep &= ~(1u << k);
            else best = max(best, ~d);
        }
        if (keep != bits) __stcg(a.pending + i, keep);
    }
    best = warp_max(best);
    if (lane_id() == 0 && best) atomicMax(lowest, best);
}

// Moves the pending nodes below `threshold` to the queue of `round`.
__device__ void sweep_near(const DoubleArgs& a, u64 round, u64 threshold) {
    u32 words = (a.active + 31) / 32;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        u32 bits = fresh(a.pending + i), keep = bits;
        for (u32 b = bits; b; b &= b - 1) {
            u32 k = __ffs(b) - 1;
            if (fresh(a.dist + i * 32 + k) >= threshold) continue;
            put(a, round, i * 32 + k);
            keep &= ~(1u << k);
        }
        if (keep != bits) __stcg(a.pending + i, keep);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) sssp_double(const DoubleArgs a) {
    DoubleControl* c = a.control;
    Grid grid = {&c->barrier, a.abort, a.deadline_ns, 0, 0};
    u64 settled = 0, round = 0, rounds = 0, relaxed = 0, entries = 0;
    u32 windows = 0;
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    note(a.log, 0, 0, 0, 0);
    while (true) {
        sweep_lowest(a, settled, &c->lowest_inverted[windows % 3]);
        if (!grid.sync()) break;
        u64 lowest = ~fresh(&c->lowest_inverted[windows % 3]);
        if (lowest >= UNREACHED) break;
        if (thread == 0) __stcg(&c->lowest_inverted[(windows + 2) % 3], 0ull);
        // At least one node must get in, also where delta is lost in rounding.
        u64 threshold = (u64)__double_as_longlong(__longlong_as_double((long long)lowest) + a.delta);
        threshold = max(threshold, lowest + 1);
        windows++;
        sweep_near(a, round, threshold);
        if (!grid.sync()) break;
        while (true) {
            u64 rows = fresh(&c->count[round % 3]), longs = fresh(&c->longs[round % 3]);
            u64 giants = fresh(&c->giants[round % 3]);
            if (rows + longs + giants == 0) break;
            entries += rows + longs + giants;
            rounds++;
            const u32* large = a.giants + (round & 1) * a.capacity;
            for (u64 i = 0; i < giants; i++)
                relax_row(a, threshold, round, fresh(large + i), thread, threads, relaxed);
            const u32* queue = a.queue + (round & 1) * a.active;
            for (u64 i = blockIdx.x; i < longs; i += gridDim.x)
                relax_row(a, threshold, round, fresh(queue + a.active - 1 - i), threadIdx.x, blockDim.x, relaxed);
            for (u64 i = thread / LANES; i < rows; i += threads / LANES)
                relax_row(a, threshold, round, fresh(queue + i), thread % LANES, LANES, relaxed);
            if (!grid.sync()) break;
            // Read by all before this meeting, and filled again in the next round but one.
            if (thread == 0) {
                __stcg(&c->count[round % 3], 0ull);
                __stcg(&c->longs[round % 3], 0ull);
                __stcg(&c->giants[round % 3], 0ull);
            }
            round++;
        }
        if (grid.stopped) break;
        note(a.log, windows, ROUND_WINDOW, entries, 0);
        entries = 0;
        settled = threshold;
    }
    relaxed = warp_sum(relaxed);
    if (lane_id() == 0 && relaxed) atomicAdd(&c->relaxed, relaxed);
    grid.sync();
    if (thread == 0) {
        DoubleStatus* out = a.status;
        out->relaxed = fresh(&c->relaxed);
        out->rounds = rounds;
        out->windows = windows;
        out->stopped = grid.stopped;
    }
}
