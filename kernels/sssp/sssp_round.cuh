// What the rounds of sssp.cu share: arguments, counters, marking and relaxing.
#pragma once

#include "joint.cuh"
#include "queue.cuh"

#ifndef HIVE_CAPPED
#define HIVE_CAPPED 0
#endif

#define STEP_THREADS 512u  // @host
#define STEP_SHARED 41472u  // @host bytes of Shared, rounded up
#define SOLO 128u        // frontier nodes, and their arcs, that one block works off alone
#define SOLO_ARCS 2048u
#define SOLO_ROUNDS 4096u  // before it looks up: the others wait with a deadline
#define TILE 512u        // frontier entries in shared memory in a scan round
#define LANE_ARCS 12u    // arcs that a lane scans alone, after the record, before its warp helps
#define PULL_BATCH 4u    // HIVE_CAPPED: of these, under way at once
#define INNER (!HIVE_PACKED && !HIVE_CAPPED)  // whether the longest rows may be pulled alone first
#define INNER_PART 8u    // one in so many, or all hubs
#define INNER_LEFT 4u    // again and again until fewer than one in so many of them improve
#define WIDE 4u          // arcs that each lane of a giant's warps has under way
#define CAP_MORE 5.0f    // @host HIVE_CAPPED: windows that the cap lies ahead at least

enum Task { FINISH = 0, GROW = 1, PULL = 2, PUSH = 3, JOINT = 5 };  // @host

// Written for the host when the launch ends.
struct Status {  // @host
    u64 nodes;    // frontier left
    u64 arcs;     // out of it, where known
    u64 relaxed;  // arcs relaxed by this launch
    u32 lowest;   // smallest distance in it
    u32 rounds;
    u32 parity;   // 1 when front and next have changed places
    u32 stopped;  // 1 after a deadline or abort
    u32 want_pull;
    u32 meetings;  // entries in the log
};

// Shared by all blocks; zeroed before each launch. Three sets of round counters are used in turn:
// one is filled, one is read, one is cleared.
struct Round {  // @host
    u64 nodes, arcs;
    u32 lowest_inverted;  // ~min, so that zero means nothing
    u32 rounds;           // that one block did alone; else 0
};
struct Control {  // @host
    Meeting barrier;
    u32 found, unused;
    Round round[3];
    u64 relaxed;
};

struct StepArgs {  // @host
    const offset_t* out_offsets;
    const arc_t* out_arcs;
    const offset_t* in_offsets;
    const arc_t* in_arcs;
    const Record* in_records;
    u32* dist;       // [active] f32 bits
    u32* front;      // [words] bitmap
    u32* next;       // [words] bitmap
    u32* queue;      // [2][2 * QUEUE] nodes, then degrees; rounds alternate
    u64* parts;      // [2 * blocks] nodes and arcs of each block's words
    u32* scan_node;  // [active] compacted frontier
    u32* scan_dist;  // [active] its distances: the snapshot
    u64* scan_prefix;  // [active + 1] degrees before
    u32* slice_first;  // [blocks] first entry of each block's slice of arcs
    Control* control;
    Status* status;  // pinned
    const u32* abort;  // pinned
    RoundLog* log;     // pinned, or NULL
    u64 deadline_ns;
    u64 pull_above;  // push -> pull when the frontier has more arcs
    u64 push_below;  // pull -> push when it has fewer
    u32 active;      // nodes with arcs; ids below
    u32 giants;      // nodes that a whole block pulls; ids below
    u32 hubs;        // nodes that a whole warp pulls; ids below, a multiple of 32
    u32 lo, hi;      // the chunk (PUSH: nodes, PULL: nodes), multiples of 32 or the end
    u32 lowest;      // PULL: smallest distance in the frontier
    u32 task;
    u32 inner;       // the longest rows are pulled alone first
    u32 queued;      // FINISH, GROW: entries already in `queue`, FULL when the bitmap must be swept
    float lightest;  // smallest weight of the graph
    ArcForm form;
    float delta;  // HIVE_CAPPED: width of a window
    u32 unused;
    Joint joint;               // JOINT alone reads what follows
    u32* dists[REPLICAS];      // everybody's `dist`
    u32* bitmaps[2][REPLICAS];  // and `front` and `next`
    u32* lists[2][REPLICAS];    // and `scan_node` and `scan_dist`
};

// Which arcs into a node can still improve it.
struct Bound {
    float lowest;  // smallest distance of a node that has not been pushed
    u32 cap;       // HIVE_CAPPED: of the others, arcs that lead to this much or more have not been relaxed

    __device__ __forceinline__ bool helps(float weight, u32 best) const {
#if HIVE_CAPPED
        float from = best <= cap ? lowest : 0.0f;
#else
        float from = lowest;
#endif
        return __float_as_uint(weight + from) < best;
    }
};

struct Shared {
    u32 prefix[QUEUE + 1];
    u32 node[QUEUE];
    u32 dist[QUEUE];
    u32 stage[QUEUE];
    u64 base[TILE];
    u64 tile_prefix[TILE + 1];
    u64 room[32];
    u32 staged;
    u32 lowest_inverted;
    u32 best;
};

static_assert(sizeof(Shared) <= STEP_SHARED, "the host asks for this much");

// What a thread has done in a round, summed at its end.
struct Tally {
    u32 lowest_inverted;
    u32 relaxed;
    bool within;  // HIVE_CAPPED: a node has improved within the window
};

__device__ __forceinline__ void mark(const StepArgs& a, Shared& s, u32* next, u32 v) {
    u32 bit = 1u << (v & 31u);
    u32* word = next + (v >> 5);
    if (fresh(word) & bit) return;
    if (atomicOr(word, bit) & bit) return;
    u32 at = atomicAdd(&s.staged, 1u);
    if (at < QUEUE) s.stage[at] = v;
}

__device__ __forceinline__ void relax(const StepArgs& a, Shared& s, u32* next, Tally& t, u64 arc,
                                      u32 from) {
    arc_t packed = __ldg(a.out_arcs + arc);
    u32 v = arc_node(packed, a.form);
    u32 candidate = relaxed_distance(from, arc_weight(packed, a.form));
    t.relaxed++;
    if (candidate >= fresh(a.dist + v)) return;
    if (candidate < atomicMin(a.dist + v, candidate)) {
        t.lowest_inverted = max(t.lowest_inverted, ~candidate);
        mark(a, s, next, v);
    }
}

// Ends a round: totals, and the queue of the next round where it fits. `arcs` is this thread's share
// of the new frontier's arcs, where the round knows them.
__device__ void flush(const StepArgs& a, Shared& s, Tally& t, u64 arcs, u32 round) {
    __syncthreads();
    Round* r = &a.control->round[round % 3];
    u64 relaxed = block_sum(t.relaxed, s.room);
    arcs = block_sum(arcs, s.room);
    u32 lowest = ~warp_min(~t.lowest_inverted);
    if (lane_id() == 0 && lowest) atomicMax(&s.lowest_inverted, lowest);
    __syncthreads();
    __shared__ u32 at;
    if (threadIdx.x == 0) {
        if (relaxed) atomicAdd(&a.control->relaxed, relaxed);
        if (arcs) atomicAdd(&r->arcs, arcs);
        // A block may have improved a node that another had staged before.
        if (s.lowest_inverted) atomicMax(&r->lowest_inverted, s.lowest_inverted);
        at = FULL;
        if (s.staged) at = (u32)min(atomicAdd(&r->nodes, (u64)s.staged), (u64)FULL);
    }
    __syncthreads();
    u32 count = s.staged;
    if (count && count <= QUEUE && at <= QUEUE - count) {
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 v = s.stage[i];
            u32* queue = a.queue + ((round + 1) & 1u) * 2 * QUEUE;
            queue[at + i] = v;
            queue[QUEUE + at + i] = (u32)min(degree_of(a.out_offsets, v), (u64)FULL);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) s.staged = s.lowest_inverted = 0;
    t.relaxed = 0;
    t.lowest_inverted = 0;
    __syncthreads();
}

// Ends a round: everybody sees its totals, those of all replicas where they did it together, and the counters of the
// next but one are cleared.
__device__ bool close(const StepArgs& a, Grid& grid, u64* epoch, u32 round, Round& total) {
    Round* r = &a.control->round[round % 3];
    if (epoch) {
        Letter letter;
        if (!meet(grid, a.joint, *epoch, &r->nodes, &r->arcs, &r->lowest_inverted, letter)) return false;
        total.nodes = letter.sum[0];
        total.arcs = letter.sum[1];
        total.lowest_inverted = (u32)letter.largest;
        total.rounds = 1;
    } else {
        if (!grid.sync()) return false;
        total.nodes = fresh(&r->nodes);
        total.arcs = fresh(&r->arcs);
        total.lowest_inverted = fresh(&r->lowest_inverted);
        total.rounds = fresh(&r->rounds);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Round* old = &a.control->round[(round + 2) % 3];
        __stcg(&old->nodes, 0ull);
        __stcg(&old->arcs, 0ull);
        __stcg(&old->lowest_inverted, 0u);
        __stcg(&old->rounds, 0u);
    }
    return true;
}

// Makes a bitmap empty.
__device__ void clear(u32* bitmap, u32 words) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        bitmap[i] = 0;
}
