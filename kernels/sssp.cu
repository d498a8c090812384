// Shortest paths on skewed graphs: push the first and last levels, pull the heavy ones.
//
// Idea. Rows are sorted by weight. Let L be the smallest distance in the frontier (the nodes whose
// arcs have not been relaxed since they last improved). A node v can still improve only over an arc
// of weight w with fl(w + L) < dist[v], so a pull scans the first few arcs of a row and stops,
// whatever the degree. Rounding is monotone, so the test is exact.
//
// Invariant between rounds: every arc out of a node outside the frontier is relaxed. `front` holds
// the frontier, `next` is all zero. A round consumes `front`, fills `next`, and swaps them.
//
// Rounds: "queue" (a small frontier; its arcs are dealt evenly over the whole grid), "scan" (a larger
// one, compacted in node order with the prefix sum of its degrees, dealt evenly too), "pull".
//
// Source of the pull's early stop: the lightest-arc-first rule of Thorup's and Dial's bounds; of the
// push/pull switch: Beamer, Asanovic, Patterson, SC 2012, section 4.

#include "hive.cuh"

#define QUEUE 2048u      // frontier nodes that a queue round takes
#define SOLO 128u        // frontier nodes, and their arcs, that one block works off alone
#define SOLO_ARCS 2048u
#define SOLO_ROUNDS 4096u  // before it looks up: the others wait with a deadline
#define TILE 512u        // frontier entries in shared memory in a scan round
#define LANE_ARCS 12u    // arcs that a lane scans alone, after the record, before its warp helps
#define WIDE 4u          // arcs that each lane of a giant's warps has under way

enum Task { FINISH = 0, GROW = 1, PULL = 2, PUSH = 3 };

// Written for the host when the launch ends.
struct Status {
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
struct Round {
    u64 nodes, arcs;
    u32 lowest_inverted;  // ~min, so that zero means nothing
    u32 rounds;           // that one block did alone; else 0
};
struct Control {
    u32 barrier[2];
    u32 found, unused;
    Round round[3];
    u64 relaxed;
};

struct StepArgs {
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
    u32 queued;      // FINISH, GROW: entries already in `queue`, FULL when the bitmap must be swept
    float lightest;  // smallest weight of the graph
    ArcForm form;
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

static_assert(sizeof(Shared) <= 41472, "the host asks for this much");

// What a thread has done in a round, summed at its end.
struct Tally {
    u32 lowest_inverted;
    u32 relaxed;
};

__device__ __forceinline__ void mark(const StepArgs& a, Shared& s, u32* next, u32 v) {
    u32 bit = 1u << (v & 31u);
    u32* word = next + (v >> 5);
    if (fresh(word) & bit) return;
    if (atomicOr(word, bit) & bit) return;
    u32 at = atomicAdd(&s.staged, 1u);
    if (at < QUEUE) s.stage[at] = v;
}

// Stages a warp's improved nodes; all lanes call it.
__device__ __forceinline__ void stage(Shared& s, bool improved, u32 v) {
    u32 lanes = __ballot_sync(FULL, improved);
    if (!lanes) return;
    u32 at = 0;
    if (lane_id() == 0) at = atomicAdd(&s.staged, (u32)__popc(lanes));
    at = __shfl_sync(FULL, at, 0) + __popc(lanes & ((1u << lane_id()) - 1u));
    if (improved && at < QUEUE) s.stage[at] = v;
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

__device__ __forceinline__ u64 degree_of(const offset_t* offsets, u32 v) {
    return (u64)__ldg(offsets + v + 1) - (u64)__ldg(offsets + v);
}

// Largest i with prefix[i] <= x, for prefix[0] <= x.
template <typename T> __device__ __forceinline__ u32 find(const T* prefix, u32 count, T x) {
    u32 low = 0, high = count;
    while (high - low > 1) {
        u32 middle = (low + high) >> 1;
        if (prefix[middle] <= x) low = middle;
        else high = middle;
    }
    return low;
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
        at = FULL;
        if (s.staged) {
            atomicMax(&r->lowest_inverted, s.lowest_inverted);
            at = (u32)min(atomicAdd(&r->nodes, (u64)s.staged), (u64)FULL);
        }
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

// A queue round. Returns the frontier's arcs; does nothing when they exceed `limit`.
__device__ u64 push_queue(const StepArgs& a, Shared& s, Grid& grid, u32* front, u32* next, Tally& t,
                          u32 count, u32 round, bool snapshot, u64 limit) {
    const u32* queue = a.queue + (round & 1u) * 2 * QUEUE;
    u32 per = (count + blockDim.x - 1) / blockDim.x;
    u32 first = min(threadIdx.x * per, count), last = min(first + per, count);
    u64 mine = 0, total;
    for (u32 i = first; i < last; i++) mine += fresh(queue + QUEUE + i);
    u64 before = block_scan(mine, s.room, &total);
    if (total > limit || total >= FULL) return total;
    for (u32 i = first; i < last; i++) {
        u32 v = fresh(queue + i);
        s.prefix[i] = (u32)before;
        s.node[i] = v;
        before += fresh(queue + QUEUE + i);
        if (snapshot) s.dist[i] = fresh(a.dist + v);
        if (blockIdx.x == 0) front[v >> 5] = 0;
    }
    if (threadIdx.x == 0) s.prefix[count] = (u32)total;
    __syncthreads();
    // Nobody may relax before everybody has taken the snapshot.
    if (snapshot && !grid.sync()) return total;
    u64 slice = (total + gridDim.x - 1) / gridDim.x;
    u64 start = min(slice * blockIdx.x, total), end = min(start + slice, total);
    for (u64 i = start + threadIdx.x; i < end; i += blockDim.x) {
        u32 e = find(s.prefix, count, (u32)i);
        u32 from = snapshot ? s.dist[e] : fresh(a.dist + s.node[e]);
        relax(a, s, next, t, (u64)__ldg(a.out_offsets + s.node[e]) + (i - s.prefix[e]), from);
    }
    return total;
}

// Rounds of a tiny frontier by one block, without the grid's barrier. Leaves totals, and what is left
// as the next round's queue.
__device__ void solo(const StepArgs& a, Shared& s, u32* front, u32* next, Tally& t, u32 count,
                     u32 round, u32 lowest, bool snapshot) {
    const u32* queue = a.queue + (round & 1u) * 2 * QUEUE;
    u32 rounds = 0;
    if (threadIdx.x < count) s.stage[threadIdx.x] = fresh(queue + threadIdx.x);
    __syncthreads();
    while (count > 0 && count <= SOLO && rounds < SOLO_ROUNDS) {
        bool mine = threadIdx.x < count;
        u32 v = mine ? s.stage[threadIdx.x] : 0;
        u64 total, degree = mine ? degree_of(a.out_offsets, v) : 0;
        u64 before = block_scan(degree, s.room, &total);
        if (total > SOLO_ARCS) break;
        if (mine) {
            s.node[threadIdx.x] = v;
            s.prefix[threadIdx.x] = (u32)before;
            s.base[threadIdx.x] = (u64)__ldg(a.out_offsets + v) - before;
            s.dist[threadIdx.x] = fresh(a.dist + v);
            front[v >> 5] = 0;
        }
        if (threadIdx.x == 0) {
            s.prefix[count] = (u32)total;
            s.staged = s.lowest_inverted = 0;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < (u32)total; i += blockDim.x) {
            u32 e = find(s.prefix, count, i);
            u32 from = snapshot ? s.dist[e] : fresh(a.dist + s.node[e]);
            relax(a, s, next, t, s.base[e] + i, from);
        }
        u32 best = ~warp_min(~t.lowest_inverted);
        if (lane_id() == 0 && best) atomicMax(&s.lowest_inverted, best);
        t.lowest_inverted = 0;
        __syncthreads();
        count = s.staged;
        lowest = ~s.lowest_inverted;
        u32* swap = front;
        front = next;
        next = swap;
        rounds++;
        __syncthreads();
    }
    u32* left = a.queue + ((round + 1) & 1u) * 2 * QUEUE;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        left[i] = s.stage[i];
        left[QUEUE + i] = (u32)min(degree_of(a.out_offsets, s.stage[i]), (u64)FULL);
    }
    u64 relaxed = block_sum(t.relaxed, s.room);
    t.relaxed = 0;
    if (threadIdx.x == 0) {
        Round* r = &a.control->round[round % 3];
        __stcg(&r->nodes, (u64)count);
        __stcg(&r->lowest_inverted, ~lowest);
        __stcg(&r->rounds, rounds);
        if (relaxed) atomicAdd(&a.control->relaxed, relaxed);
        s.staged = s.lowest_inverted = 0;
    }
    __syncthreads();
}

struct Sweep {
    u64 nodes, arcs;              // of the whole frontier
    u64 nodes_before, arcs_before;  // of the blocks before this one
    u32 first, last;              // this block's words
};

// Counts the frontier's nodes and arcs in words [lo, hi); one barrier.
__device__ bool sweep(const StepArgs& a, Shared& s, Grid& grid, const u32* front, u32 lo, u32 hi,
                      Sweep& w) {
    u64 words = hi - lo;
    w.first = lo + (u32)(words * blockIdx.x / gridDim.x);
    w.last = lo + (u32)(words * (blockIdx.x + 1) / gridDim.x);
    u64 nodes = 0, arcs = 0;
    for (u32 i = w.first + threadIdx.x; i < w.last; i += blockDim.x) {
        u32 bits = fresh(front + i);
        nodes += __popc(bits);
        for (; bits; bits &= bits - 1) arcs += degree_of(a.out_offsets, i * 32 + __ffs(bits) - 1);
    }
    nodes = block_sum(nodes, s.room);
    arcs = block_sum(arcs, s.room);
    if (threadIdx.x == 0) {
        __stcg(a.parts + 2 * blockIdx.x, nodes);
        __stcg(a.parts + 2 * blockIdx.x + 1, arcs);
    }
    if (!grid.sync()) return false;
    u64 sums[4] = {0, 0, 0, 0};
    for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
        u64 n = fresh(a.parts + 2 * b), m = fresh(a.parts + 2 * b + 1);
        sums[0] += n;
        sums[1] += m;
        if (b < blockIdx.x) sums[2] += n, sums[3] += m;
    }
    w.nodes = block_sum(sums[0], s.room);
    w.arcs = block_sum(sums[1], s.room);
    w.nodes_before = block_sum(sums[2], s.room);
    w.arcs_before = block_sum(sums[3], s.room);
    return true;
}

// Writes the swept frontier as a list in node order with its degree prefix and snapshot, clears its
// words, notes where each block's slice of arcs begins, and relaxes the slices; one barrier.
__device__ bool push_scan(const StepArgs& a, Shared& s, Grid& grid, u32* front, u32* next, Tally& t,
                          const Sweep& w) {
    u64 slice = max((w.arcs + gridDim.x - 1) / gridDim.x, 1ull);
    u64 node_at = w.nodes_before, arc_at = w.arcs_before;
    for (u32 base = w.first; base < w.last; base += blockDim.x) {
        u32 i = base + threadIdx.x;
        u32 bits = i < w.last ? fresh(front + i) : 0;
        u64 arcs = 0, tile_nodes, tile_arcs;
        for (u32 b = bits; b; b &= b - 1) arcs += degree_of(a.out_offsets, i * 32 + __ffs(b) - 1);
        u64 n = node_at + block_scan(__popc(bits), s.room, &tile_nodes);
        u64 m = arc_at + block_scan(arcs, s.room, &tile_arcs);
        for (u32 b = bits; b; b &= b - 1) {
            u32 v = i * 32 + __ffs(b) - 1;
            u64 degree = degree_of(a.out_offsets, v);
            __stcg(a.scan_node + n, v);
            __stcg(a.scan_dist + n, fresh(a.dist + v));
            __stcg(a.scan_prefix + n, m);
            for (u64 k = (m + slice - 1) / slice; k * slice < m + degree; k++)
                __stcg(a.slice_first + k, (u32)n);
            n++;
            m += degree;
        }
        if (bits) front[i] = 0;
        node_at += tile_nodes;
        arc_at += tile_arcs;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(a.scan_prefix + w.nodes, w.arcs);
    if (!grid.sync()) return false;
    u64 start = slice * blockIdx.x, end = min(start + slice, w.arcs);
    if (start >= w.arcs) return true;
    u64 entry = fresh(a.slice_first + blockIdx.x);
    while (start < end) {
        u32 count = (u32)min((u64)TILE, w.nodes - entry);
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 v = fresh(a.scan_node + entry + i);
            u64 prefix = fresh(a.scan_prefix + entry + i);
            s.tile_prefix[i] = prefix;
            s.base[i] = (u64)__ldg(a.out_offsets + v) - prefix;
            s.dist[i] = fresh(a.scan_dist + entry + i);
        }
        if (threadIdx.x == 0) s.tile_prefix[count] = fresh(a.scan_prefix + entry + count);
        __syncthreads();
        u64 stop = min(end, s.tile_prefix[count]);
        for (u64 i = start + threadIdx.x; i < stop; i += blockDim.x) {
            u32 e = find(s.tile_prefix, count, i);
            relax(a, s, next, t, s.base[e] + i, s.dist[e]);
        }
        start = stop;
        entry += count;
    }
    return true;
}

// Relaxes WIDE * 32 in-arcs of one node from `base` on with a whole warp, all loads at once. Returns
// the best distance, warp-uniform; `stop` tells that no later arc of the row can help.
__device__ u32 pull_wide(const StepArgs& a, Tally& t, offset_t base, offset_t to, float lowest,
                         u32 best, bool& stop) {
    arc_t arc[WIDE];
    bool light[WIDE];
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) {
        offset_t i = base + k * 32 + lane_id();
        light[k] = i < to;
        if (light[k]) arc[k] = __ldg(a.in_arcs + i);
    }
    u32 found = best;
    bool heavy = false;
#pragma unroll
    for (u32 k = 0; k < WIDE; k++) {
        float w = light[k] ? arc_weight(arc[k], a.form) : 0.0f;
        light[k] = light[k] && __float_as_uint(w + lowest) < best;
        heavy = heavy || !light[k];
        if (light[k]) {
            t.relaxed++;
            found = min(found, relaxed_distance(fresh(a.dist + arc_node(arc[k], a.form)), w));
        }
    }
    stop = __any_sync(FULL, heavy);
    return warp_min(found);
}

// Scans in-arcs [from, to) of one node with a whole warp; returns the best distance, warp-uniform.
__device__ u32 pull_row(const StepArgs& a, Tally& t, offset_t from, offset_t to, float lowest,
                        u32 best) {
    for (offset_t base = from; base < to; base += 32) {
        offset_t i = base + lane_id();
        u32 candidate = INFINITE;
        bool stop = i >= to;
        if (!stop) {
            arc_t packed = __ldg(a.in_arcs + i);
            float w = arc_weight(packed, a.form);
            stop = __float_as_uint(w + lowest) >= best;
            if (!stop) {
                t.relaxed++;
                candidate = relaxed_distance(fresh(a.dist + arc_node(packed, a.form)), w);
            }
        }
        best = min(best, warp_min(candidate));
        // One arc that is too heavy, or the row's end, tells that no later one can help.
        if (__any_sync(FULL, stop)) break;
    }
    return best;
}

// Books an improved node: `best` is its new distance.
__device__ __forceinline__ void book(const StepArgs& a, Tally& t, u64& arcs, u32 v, u32 best) {
    __stcg(a.dist + v, best);
    arcs += degree_of(a.out_offsets, v);
    t.lowest_inverted = max(t.lowest_inverted, ~best);
}

// A warp a node.
__device__ void pull_hub(const StepArgs& a, Shared& s, Tally& t, u32* next, u32 v, float lowest,
                         u64& arcs) {
    u32 before = fresh(a.dist + v), best = before;
    if (__float_as_uint(a.lightest + lowest) < before)
        best = pull_row(a, t, __ldg(a.in_offsets + v), __ldg(a.in_offsets + v + 1), lowest, before);
    bool improved = best < before && lane_id() == 0;
    if (improved) {
        book(a, t, arcs, v, best);
        atomicOr(next + (v >> 5), 1u << (v & 31u));
    }
    stage(s, improved, v);
}

// A block a node: rows so long that one warp would be what all others wait for.
__device__ void pull_giant(const StepArgs& a, Shared& s, Tally& t, u32* next, u32 v, float lowest,
                           u64& arcs) {
    u32 before = fresh(a.dist + v);  // written only by this block
    if (__float_as_uint(a.lightest + lowest) >= before) return;
    __syncthreads();
    if (threadIdx.x == 0) s.best = before;
    __syncthreads();
    offset_t from = __ldg(a.in_offsets + v), to = __ldg(a.in_offsets + v + 1);
    for (offset_t base = from + warp_id() * WIDE * 32; base < to; base += blockDim.x * WIDE) {
        u32 known = *(volatile u32*)&s.best;
        bool stop;
        u32 found = pull_wide(a, t, base, to, lowest, known, stop);
        if (found < known && lane_id() == 0) atomicMin(&s.best, found);
        if (stop) break;
    }
    __syncthreads();
    if (threadIdx.x == 0 && s.best < before) {
        book(a, t, arcs, v, s.best);
        atomicOr(next + (v >> 5), 1u << (v & 31u));
        u32 at = atomicAdd(&s.staged, 1u);
        if (at < QUEUE) s.stage[at] = v;
    }
}

// One lane a node: the record's four arcs, a few more, then the warp helps those that go on.
// `before` is this lane's distance.
__device__ void pull_word(const StepArgs& a, Shared& s, Tally& t, u32* next, u32 word, u32 before,
                          float lowest, u64& arcs) {
    u32 v = word * 32 + lane_id();
    u32 best = before;
    bool more = __float_as_uint(a.lightest + lowest) < before;
    if (more) {
        Record r = load_record(a.in_records, v);
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            u32 u = arc_node(r.arc[k], a.form);
            float w = arc_weight(r.arc[k], a.form);
            more = more && u != v && __float_as_uint(w + lowest) < best;
            if (more) {
                t.relaxed++;
                best = min(best, relaxed_distance(fresh(a.dist + u), w));
            }
        }
    }
    offset_t at = 0, end = 0;
    if (more) {
        at = __ldg(a.in_offsets + v) + 4;
        end = __ldg(a.in_offsets + v + 1);
        offset_t alone = min(end, (offset_t)(at + LANE_ARCS));
        for (; more && at < alone; at++) {
            arc_t packed = __ldg(a.in_arcs + at);
            float w = arc_weight(packed, a.form);
            more = __float_as_uint(w + lowest) < best;
            if (more) {
                t.relaxed++;
                best = min(best, relaxed_distance(fresh(a.dist + arc_node(packed, a.form)), w));
            }
        }
        more = more && at < end;
    }
    for (u32 waiting = __ballot_sync(FULL, more); waiting; waiting &= waiting - 1) {
        u32 lane = __ffs(waiting) - 1;
        offset_t from = __shfl_sync(FULL, at, lane), to = __shfl_sync(FULL, end, lane);
        u32 found = pull_row(a, t, from, to, lowest, __shfl_sync(FULL, best, lane));
        if (lane_id() == lane) best = found;
    }
    bool improved = best < before;
    if (improved) book(a, t, arcs, v, best);
    u32 bits = __ballot_sync(FULL, improved);
    if (lane_id() == 0 && bits) next[word] = bits;
    stage(s, improved, v);
}

__device__ void clear(u32* bitmap, u32 words) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        bitmap[i] = 0;
}

// Pulls the long rows: giants [lo, giant_end) a block each, hubs [giant_end, hub_end) a warp each.
__device__ void pull_long(const StepArgs& a, Shared& s, Tally& t, u32* marks, u32 lo, u32 giant_end,
                          u32 hub_end, float lowest, u64& arcs) {
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    for (u32 v = lo + blockIdx.x; v < giant_end; v += gridDim.x)
        pull_giant(a, s, t, marks, v, lowest, arcs);
    for (u32 v = giant_end + warp; v < hub_end; v += warps)
        pull_hub(a, s, t, marks, v, lowest, arcs);
}

// A pull over nodes [lo, hi): leaves by words, hubs a warp, giants a block each. Clears `front`.
// Returns this thread's share of the new frontier's arcs.
__device__ u64 pull(const StepArgs& a, Shared& s, u32* front, u32* next, Tally& t, u32 lowest_bits,
                    u32 lo, u32 hi) {
    float lowest = __uint_as_float(lowest_bits);
    u32 hub_end = min(max(a.hubs, lo), hi), giant_end = min(max(a.giants, lo), hub_end);
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    u64 arcs = 0;
    pull_long(a, s, t, next, lo, giant_end, hub_end, lowest, arcs);
    // The next word's distances are on their way while this one is worked on.
    u32 last = (hi + 31) / 32, v = hub_end + warp * 32 + lane_id();
    u32 ahead = v < a.active ? fresh(a.dist + v) : 0;
    for (u32 i = hub_end / 32 + warp; i < last; i += warps) {
        u32 before = ahead;
        v += warps * 32;
        ahead = v < a.active ? fresh(a.dist + v) : 0;
        pull_word(a, s, t, next, i, before, lowest, arcs);
    }
    clear(front, (a.active + 31) / 32);
    return arcs;
}

// Ends a round: everybody sees its totals, and the counters of the next but one are cleared.
__device__ bool close(const StepArgs& a, Grid& grid, u32 round, Round& total) {
    if (!grid.sync()) return false;
    Round* r = &a.control->round[round % 3];
    total.nodes = fresh(&r->nodes);
    total.arcs = fresh(&r->arcs);
    total.lowest_inverted = fresh(&r->lowest_inverted);
    total.rounds = fresh(&r->rounds);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Round* old = &a.control->round[(round + 2) % 3];
        __stcg(&old->nodes, 0ull);
        __stcg(&old->arcs, 0ull);
        __stcg(&old->lowest_inverted, 0u);
        __stcg(&old->rounds, 0u);
    }
    return true;
}

extern "C" __global__ void __launch_bounds__(512, 2) sssp_step(const StepArgs a) {
    extern __shared__ __align__(16) u8 memory[];
    Shared& s = *(Shared*)memory;
    Grid grid = {a.control->barrier, a.abort, a.deadline_ns, 0, 0};
    Tally t = {0, 0};
    if (threadIdx.x == 0) s.staged = s.lowest_inverted = 0;
    __syncthreads();

    u32* front = a.front;
    u32* next = a.next;
    u32 words = (a.active + 31) / 32;
    bool whole = a.task == FINISH || a.task == GROW;
    // What is known of the frontier: its nodes, arcs and lowest distance; arcs FULL.. when unknown.
    u64 nodes = ~0ull, arcs = ~0ull;
    u32 lowest = a.lowest, queued = whole ? a.queued : FULL;
    // `round` counts meetings; a meeting may stand for many rounds that one block did alone.
    u32 round = 0, rounds = 0, want_pull = 0;
    bool pulled = false, alone = true;
    note(a.log, 0, 0, 0, 0);

    while (true) {
        bool pull_now = a.task == PULL || (whole && pulled && arcs > a.push_below);
        bool solo_now = whole && !pull_now && alone && queued <= SOLO;
        u64 nodes_in = queued <= QUEUE ? queued : nodes;
        u32 kind = solo_now ? 4 : 1;  // 1 queue, 2 scan, 3 pull, 4 solo
        Sweep w;
        if (!pull_now && !solo_now && whole && queued <= QUEUE) {
            u64 limit = a.in_records ? a.pull_above : ~0ull;
            arcs = push_queue(a, s, grid, front, next, t, queued, round, a.task == GROW, limit);
            if (grid.stopped) break;
            pull_now = arcs > limit;
            if (!pull_now && arcs >= FULL) queued = FULL;
        }
        if (!pull_now && !solo_now && (queued > QUEUE || !whole)) {
            u32 lo = whole ? 0 : a.lo / 32, hi = whole ? words : (a.hi + 31) / 32;
            if (!sweep(a, s, grid, front, lo, hi, w)) break;
            nodes = nodes_in = w.nodes;
            arcs = w.arcs;
            kind = 2;
            u64 limit = pulled ? a.push_below : a.pull_above;
            pull_now = whole && a.in_records && arcs > limit;
            if (!pull_now && !push_scan(a, s, grid, front, next, t, w)) break;
            if (!whole) clear(front, words);  // also the words of other chunks
        }
        if (pull_now && a.task == GROW) {
            want_pull = 1;
            if (queued <= QUEUE) nodes = queued;
            break;
        }
        if (pull_now) {
            bool all = a.task != PULL;
            u64 mine = pull(a, s, front, next, t, lowest, all ? 0 : a.lo, all ? a.active : a.hi);
            flush(a, s, t, mine, round);
        } else if (!solo_now) {
            flush(a, s, t, 0, round);
        } else if (blockIdx.x == 0) {
            solo(a, s, front, next, t, queued, round, lowest, a.task == GROW);
        }
        Round total;
        if (!close(a, grid, round, total)) break;
        u32 done = solo_now ? total.rounds : 1;
        if (done & 1u) {
            u32* swap = front;
            front = next;
            next = swap;
        }
        round++;
        rounds += done;
        note(a.log, round, pull_now ? 3 : kind, nodes_in, arcs);
        pulled = pull_now;
        // What one block could not go on with is for the whole grid.
        alone = !solo_now || done == SOLO_ROUNDS;
        nodes = total.nodes;
        arcs = pulled ? total.arcs : ~0ull;
        lowest = ~total.lowest_inverted;
        queued = (u32)min(nodes, (u64)FULL);
        if (nodes == 0 || !whole) break;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Status* out = a.status;
        out->nodes = nodes;
        out->arcs = arcs;
        out->relaxed = fresh(&a.control->relaxed);
        out->lowest = lowest;
        out->rounds = rounds;
        out->parity = front != a.front;
        out->stopped = grid.stopped;
        out->want_pull = want_pull;
        out->meetings = round;
    }
}

struct RecordArgs {
    const offset_t* offsets;
    const arc_t* arcs;
    Record* records;  // [active]
    u32 active;
    ArcForm form;
};

// records[v] = the first four arcs of row v, padded with v itself.
extern "C" __global__ void sssp_records(const RecordArgs a) {
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < a.active; v += gridDim.x * blockDim.x) {
        offset_t first = a.offsets[v], last = a.offsets[v + 1];
        Record r;
        for (u32 k = 0; k < 4; k++) {
#if HIVE_PACKED
            r.arc[k] = first + k < last ? a.arcs[first + k] : v << a.form.bits;
#else
            r.arc[k] = first + k < last ? a.arcs[first + k] : make_uint2(v, 0);
#endif
        }
        a.records[v] = r;
    }
}

struct SeedArgs {
    const u32* seeds;
    u32* dist;
    u32* front;
    const offset_t* out_offsets;
    u32* queue;
    u32 count;
    u32 active;
};

// dist = 0 and a frontier bit at each seed; the seeds also make the first queue where they fit.
extern "C" __global__ void sssp_scatter(const SeedArgs a) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += gridDim.x * blockDim.x) {
        u32 v = a.seeds[i];
        a.dist[v] = 0;
        if (v >= a.active) continue;
        atomicOr(a.front + (v >> 5), 1u << (v & 31u));
        if (a.count <= QUEUE && a.queue) {
            a.queue[i] = v;
            a.queue[QUEUE + i] = (u32)min(degree_of(a.out_offsets, v), (u64)FULL);
        }
    }
}

struct ExchangeArgs {
    u32* dist;
    u32* front;
    u64* pairs;    // dist << 32 | node, the ranks' lists one after another
    u32* counter;  // zeroed
    u64 first, last;  // own list
    u64 total;
    u32 lo, hi;  // own words of `front`
};

// Lists the chunk's improved nodes with their distances; any order.
extern "C" __global__ void sssp_pack(const ExchangeArgs a) {
    for (u32 i = a.lo + blockIdx.x * blockDim.x + threadIdx.x; i < a.hi; i += gridDim.x * blockDim.x) {
        u32 bits = a.front[i];
        if (!bits) continue;
        u64 at = a.first + atomicAdd(a.counter, (u32)__popc(bits));
        for (; bits && at < a.last; bits &= bits - 1, at++) {
            u32 v = i * 32 + __ffs(bits) - 1;
            a.pairs[at] = (u64)a.dist[v] << 32 | v;
        }
    }
}

// Takes over what the other ranks listed. Owners are the only writers of their nodes.
extern "C" __global__ void sssp_apply(const ExchangeArgs a) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.total;
         i += (u64)gridDim.x * blockDim.x) {
        if (i >= a.first && i < a.last) continue;
        u64 pair = a.pairs[i];
        u32 v = (u32)pair;
        a.dist[v] = (u32)(pair >> 32);
        atomicOr(a.front + (v >> 5), 1u << (v & 31u));
    }
}
