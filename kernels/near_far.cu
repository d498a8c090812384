// Shortest paths on graphs of high diameter: near-far with many local rounds a grid barrier.
//
// Idea. Such graphs have thousands of small frontiers, so time goes by latency. Nodes with
// dist < threshold are near and worked off now; the others are bits of `pending` until the threshold
// passes them (threshold = smallest pending distance + delta). A block takes its share of the near
// queue into shared memory and relaxes it for up to `local_rounds` rounds on its own, feeding on what
// it improves, before all blocks meet and share out what is left.
//
// Searches from several sources at once go over as many copies of the graph: an entry, and a bit of `pending`, is then a node of a
// copy, `copy << shift | node`, and so is the place of its distance. Copies are at the same threshold, so that together they fill a GPU.
//
// Invariant when blocks meet: every node whose arcs are not relaxed at its current distance is in the
// near queue at that distance, or has its bit in `pending`. A queue entry whose distance is no longer
// the node's is stale and skipped: whoever improved the node has queued it anew.
//
// Source: near-far of Davidson, Baxter, Garland, Owens, IPDPS 2014, section 4.
//
// Compiled with: -DHIVE_PACKED=1 -DHIVE_WIDE=0 | -DHIVE_PACKED=0 -DHIVE_WIDE=0 | -DHIVE_PACKED=1 -DHIVE_WIDE=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=1 | -DHIVE_PACKED=1 -DHIVE_WIDE=0 -DHIVE_LEVELS=1 | -DHIVE_PACKED=1 -DHIVE_WIDE=1 -DHIVE_LEVELS=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=0 -DHIVE_LEVELS=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=1 -DHIVE_LEVELS=1

#include "hive.cuh"

#define THREADS 256u  // @host
#define LOCAL 1024u  // entries of a block's queue in shared memory

struct NearFarStatus {  // @host
    u64 relaxed;
    u64 meetings;
    u32 windows;
    u32 stopped;
};

struct NearFarControl {  // @host
    Meeting barrier;
    u32 lowest_inverted[3];  // ~(smallest pending distance); windows alternate
    u32 overflow[2];         // entries went to `pending` for lack of room; windows alternate
    u32 unused;
    u64 count[3];            // near entries; meetings alternate
    u64 relaxed;
};

struct NearFarArgs {  // @host
    const offset_t* offsets;
    const arc_t* arcs;
    const Record* records;
    u32* dist;     // [places] f32 bits
    u32* pending;  // [words] bitmap of places: the far pile, and the seeds at first
    u64* queue;    // [2][capacity] dist << 32 | node of a copy
    NearFarControl* control;
    NearFarStatus* status;  // pinned
    const u32* abort;       // pinned
    RoundLog* log;          // pinned, or NULL
    u64 deadline_ns;
    u64 capacity;
    u32 places;  // nodes of all copies
    u32 local_rounds;
    float delta;
    ArcForm form;
    u32 mask;  // the part of a place that is the node
};

struct NearFarShared {
    u64 queue[2][LOCAL];
    u64 spill_at;
    u32 count[2];
    u32 lowest_inverted;
    u32* overflow;  // of this window
};

__device__ __forceinline__ void defer(const NearFarArgs& a, u32 v) {
    u32 bit = 1u << (v & 31u);
    u32* word = a.pending + (v >> 5);
    if (!(fresh(word) & bit)) atomicOr(word, bit);
}

// Queues an entry for the next meeting; where there is no room, the node becomes pending.
__device__ __forceinline__ void enqueue(const NearFarArgs& a, const NearFarShared& s, u64* queue, u64* count, u64 entry) {
    u64 at = atomicAdd(count, 1ull);
    if (at < a.capacity) {
        __stcg(queue + at, entry);
    } else {
        atomicOr(s.overflow, 1u);
        defer(a, (u32)entry);
    }
}

__device__ __forceinline__ void relax(const NearFarArgs& a, NearFarShared& s, u32 into, u64* queue,
                                      u64* count, u32 threshold, u32 from, arc_t packed, u32 at) {
    u32 v = arc_node(packed, a.form), u = at & a.mask;
    if (v == u) return;  // padding
    v |= at ^ u;
    u32 candidate = relaxed_distance(from, arc_weight(packed, a.form));
    if (candidate >= fresh(a.dist + v)) return;
    if (candidate >= atomicMin(a.dist + v, candidate)) return;
    if (candidate >= threshold) {
        defer(a, v);
        return;
    }
    u64 entry = (u64)candidate << 32 | v;
    u32 free = atomicAdd(&s.count[into], 1u);
    if (free < LOCAL) s.queue[into][free] = entry;
    else enqueue(a, s, queue, count, entry);
}

// Works a block's queue off for up to `local_rounds` rounds; four lanes a node, one an arc.
__device__ void local_rounds(const NearFarArgs& a, NearFarShared& s, u64* queue, u64* count,
                             u32 threshold, u64& relaxed) {
    u32 from = 0;
    for (u32 round = 0; round < a.local_rounds; round++) {
        u32 entries = min(s.count[from], LOCAL);
        if (entries == 0) break;
        u32 into = from ^ 1u;
        for (u32 i = threadIdx.x; i < entries * 4; i += blockDim.x) {
            u64 entry = s.queue[from][i >> 2];
            u32 at = (u32)entry, u = at & a.mask, d = (u32)(entry >> 32), slot = i & 3u;
            // Both loads at once: the record is needed unless the entry is stale, which is rare.
            arc_t packed = __ldg(&a.records[u].arc[slot]);
            if (fresh(a.dist + at) < d) continue;
            relaxed++;
            relax(a, s, into, queue, count, threshold, d, packed, at);
            if (slot != 3 || arc_node(packed, a.form) == u) continue;
            u64 end = __ldg(a.offsets + u + 1);
            for (u64 arc = (u64)__ldg(a.offsets + u) + 4; arc < end; arc++) {
                relaxed++;
                relax(a, s, into, queue, count, threshold, d, __ldg(a.arcs + arc), at);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) s.count[from] = 0;
        from = into;
        __syncthreads();
    }
    // What is left goes to everybody.
    u32 left = min(s.count[from], LOCAL);
    if (threadIdx.x == 0 && left) s.spill_at = atomicAdd(count, (u64)left);
    __syncthreads();
    for (u32 i = threadIdx.x; i < left; i += blockDim.x) {
        u64 entry = s.queue[from][i];
        if (s.spill_at + i < a.capacity) {
            __stcg(queue + s.spill_at + i, entry);
        } else {
            atomicOr(s.overflow, 1u);
            defer(a, (u32)entry);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) s.count[from] = 0;
    __syncthreads();
}

// Smallest distance of a pending node; bits below `settled` are done with and cleared.
__device__ void sweep_lowest(const NearFarArgs& a, NearFarShared& s, u32 settled, u32* lowest) {
    u32 best = 0;
    u32 words = (a.places + 31) / 32;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        u32 bits = fresh(a.pending + i), keep = bits;
        for (u32 b = bits; b; b &= b - 1) {
            u32 k = __ffs(b) - 1, d = fresh(a.dist + i * 32 + k);
            if (d < settled) keep &= ~(1u << k);
            else best = max(best, ~d);
        }
        if (keep != bits) a.pending[i] = keep;
    }
    best = warp_max(best);
    if (lane_id() == 0 && best) atomicMax(&s.lowest_inverted, best);
    __syncthreads();
    if (threadIdx.x == 0) {
        if (s.lowest_inverted) atomicMax(lowest, s.lowest_inverted);
        s.lowest_inverted = 0;
    }
    __syncthreads();
}

// Moves the pending nodes below `threshold` to the near queue.
__device__ void sweep_near(const NearFarArgs& a, const NearFarShared& s, u64* queue, u64* count, u32 threshold) {
    u32 words = (a.places + 31) / 32;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        u32 bits = fresh(a.pending + i), keep = bits;
        u32 near = 0;
        for (u32 b = bits; b; b &= b - 1) {
            u32 k = __ffs(b) - 1;
            if (fresh(a.dist + i * 32 + k) < threshold) near |= 1u << k;
        }
        if (!near) continue;
        u64 at = atomicAdd(count, (u64)__popc(near));
        for (u32 b = near; b && at < a.capacity; b &= b - 1, at++) {
            u32 k = __ffs(b) - 1;
            __stcg(queue + at, (u64)fresh(a.dist + i * 32 + k) << 32 | (i * 32 + k));
            keep &= ~(1u << k);
        }
        if (at >= a.capacity && (keep & near)) atomicOr(s.overflow, 1u);
        a.pending[i] = keep;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) near_far(const NearFarArgs a) {
    __shared__ NearFarShared s;
    NearFarControl* c = a.control;
    Grid grid = {&c->barrier, a.abort, a.deadline_ns, 0, 0};
    if (threadIdx.x == 0) s.count[0] = s.count[1] = s.lowest_inverted = 0;
    __syncthreads();

    u32 settled = 0, windows = 0;
    u64 meetings = 0, relaxed = 0, entries_in = 0;
    note(a.log, 0, 0, 0, 0);
    while (true) {
        sweep_lowest(a, s, settled, &c->lowest_inverted[windows % 3]);
        if (!grid.sync()) break;
        u32 lowest_inverted = fresh(&c->lowest_inverted[windows % 3]);
        if (lowest_inverted == 0) break;
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            __stcg(&c->lowest_inverted[(windows + 2) % 3], 0u);
            // All have looked at that of the last window.
            __stcg(&c->overflow[windows + 1 & 1], 0u);
        }
        if (threadIdx.x == 0) s.overflow = &c->overflow[windows & 1];
        __syncthreads();
        // At least one node must get in, also where delta is lost in rounding.
        u32 threshold = max(advanced(~lowest_inverted, a.delta), ~lowest_inverted + 1);
        windows++;

        u64* count = &c->count[meetings % 3];
        sweep_near(a, s, a.queue + (meetings & 1) * a.capacity, count, threshold);
        if (!grid.sync()) break;
        while (true) {
            u64 entries = min(fresh(&c->count[meetings % 3]), a.capacity);
            if (entries == 0) break;
            entries_in += entries;
            const u64* queue = a.queue + (meetings & 1) * a.capacity;
            u64 first = entries * blockIdx.x / gridDim.x;
            u64 last = entries * (blockIdx.x + 1) / gridDim.x;
            meetings++;
            for (u64 base = first; base < last; base += LOCAL) {
                u32 take = (u32)min((u64)LOCAL, last - base);
                for (u32 i = threadIdx.x; i < take; i += blockDim.x)
                    s.queue[0][i] = fresh(queue + base + i);
                if (threadIdx.x == 0) s.count[0] = take;
                __syncthreads();
                local_rounds(a, s, a.queue + (meetings & 1) * a.capacity, &c->count[meetings % 3],
                             threshold, relaxed);
            }
            if (!grid.sync()) break;
            // The counter read before this meeting is filled again at the next but one.
            if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(&c->count[(meetings + 2) % 3], 0ull);
        }
        if (grid.stopped) break;
        note(a.log, windows, ROUND_WINDOW, entries_in, 0);
        entries_in = 0;
        // With an overflow some pending nodes below the threshold are still to be worked off.
        settled = fresh(s.overflow) ? 0 : threshold;
        // The counter of the empty meeting is used by the next window: keep its turn.
    }
    relaxed = warp_sum(relaxed);
    if (lane_id() == 0 && relaxed) atomicAdd(&c->relaxed, relaxed);
    grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        NearFarStatus* out = a.status;
        out->relaxed = fresh(&c->relaxed);
        out->meetings = meetings;
        out->windows = windows;
        out->stopped = grid.stopped;
    }
}
