// The pushes before the first pull on graphs without hubs: sssp.cu tells the idea.
//
// Together, replicas have groups of GROUP nodes in turn, and each pushes its own. Whoever improves a node of another's, as far as
// it knows, appends the node and the distance to the owner's list. The owner takes over what its lists say in the next pass. If a
// list had no room, it reads all that the other knows of its nodes. At the end owners tell everybody their distances.
#pragma once

#include "sssp_round.cuh"

#define LISTED (QUEUE / (STEP_THREADS / 32u))  // nodes that a warp lists before it pushes them, or keeps for others
#define LANE_PUSH 64u                          // arcs that a lane pushes alone; those of longer rows are dealt over the grid
#define FEW 8u                                 // nodes that a warp pushes one after another
#define ITEM 256u                              // in so many at a time
#if HIVE_PACKED
#define BATCH 8u  // arcs that a lane has under way
#else
#define BATCH 4u
#endif
#define NARROW 64u         // windows of the width that is told, before it doubles
#define WIDENED 8u         // every so many
#define SWEPT 1024u        // distances are swept from when one node in so many is settled
#define SAMPLE 2048u       // the cap is set when one node in so many is
#define EARLIER 4u         // growth is measured since there were so many times fewer
#define SETTLED 0.5f       // of the nodes, before the first pull
#define CAP_FACTOR 1.25f   // of the distance in which as many are expected to be settled
#define GROUP 1024u        // neighbouring nodes that one replica owns
#define WITHIN (1ull << 40)  // more than there are nodes

// A window: nodes from `begin` to `end` are pushed, along arcs that lead below `cap`; these are bits of distances. While few
// nodes are reached, all that have to be pushed are marked, and the marks are swept. Later the distances are, and marks are
// for nodes that improve within the window.
struct Window {
    u32 begin, end;
    u32 cap;
    u32 marked;  // a node is marked when it gets less
    u32* marks;
    u32 inverse;  // together: 2^32 over the number of replicas, rounded up
    u32 turn;     // together: counts passes, which have lists, and counters of their entries, in turn
};

// The replica that owns v. The division is exact, as there are fewer than 2^22 groups and at most 16 replicas.
__device__ __forceinline__ u32 owner_of(const StepArgs& a, const Window& w, u32 v) {
    u32 group = v / GROUP;
    return group - __umulhi(group, w.inverse) * a.joint.world;
}

// Word i of those that this replica pushes.
template <bool SHARED> __device__ __forceinline__ u32 window_word(const StepArgs& a, u32 i) {
    const u32 each = GROUP / 32;
    return SHARED ? (i / each * a.joint.world + a.joint.rank) * each + i % each : i;
}

// Marks v to be pushed.
__device__ __forceinline__ void pend(const Window& w, u32 v) {
    u32 bit = 1u << (v & 31u);
    u32* word = w.marks + (v >> 5);
    if (!(fresh(word) & bit)) atomicOr(word, bit);
}

// Books that an own node v has improved.
__device__ __forceinline__ void improved(const Window& w, Tally& t, u32 v, u32 candidate) {
    if (candidate < w.end) t.within = true;
    else t.lowest_inverted = max(t.lowest_inverted, ~candidate);
    if (candidate < w.marked) pend(w, v);
}

// Whether v has improved as far as this replica knows, and is another's, who has to be told.
template <bool SHARED>
__device__ __forceinline__ bool improve(const StepArgs& a, const Window& w, Tally& t, u32 v, u32 candidate) {
    if (candidate >= atomicMin(a.dist + v, candidate)) return false;
    if (SHARED && owner_of(a, w, v) != a.joint.rank) return true;
    improved(w, t, v, candidate);
    return false;
}

// What a warp has found for the nodes of others.
struct Finds {
    u32 *node, *dist;  // [LISTED]
    u32 count;

    __device__ Finds(Shared& s) : node(s.stage + warp_id() * LISTED), dist(s.prefix + warp_id() * LISTED), count(0) {}
};

// Entries of a list. There is one for each sender and either of two passes.
__device__ __forceinline__ u32 list_room(const StepArgs& a) { return a.active / (2 * a.joint.world); }

__device__ __forceinline__ u32 list_start(const StepArgs& a, u32 sender, u32 turn) {
    return (2 * sender + (turn & 1u)) * list_room(a);
}

// How many entries a sender had in a pass for each receiver, room or not.
__device__ __forceinline__ u64* posted_by(const StepArgs& a, u32 sender, u32 turn) {
    return a.joint.mail[sender]->posted[turn % 3];
}

// Appends what the warp has kept to the lists of the owners, who need another pass for it.
__device__ void post(const StepArgs& a, const Window& w, Tally& t, Finds& kept) {
    u32 lane = lane_id(), room = list_room(a), start = list_start(a, a.joint.rank, w.turn);
    __syncwarp();
    t.within |= kept.count > 0;
    for (u32 to = 0; to < a.joint.world && kept.count > 0; to++) {
        if (to == a.joint.rank) continue;
        u32 all = 0;
        for (u32 i = lane; i - lane < kept.count; i += 32)
            all += __popc(__ballot_sync(FULL, i < kept.count && owner_of(a, w, kept.node[i]) == to));
        u64 at = 0;
        if (lane == 0 && all) at = atomicAdd(posted_by(a, a.joint.rank, w.turn) + to, (u64)all);
        at = __shfl_sync(FULL, at, 0);
        for (u32 i = lane; i - lane < kept.count; i += 32) {
            bool mine = i < kept.count && owner_of(a, w, kept.node[i]) == to;
            u32 lanes = __ballot_sync(FULL, mine);
            u64 place = at + __popc(lanes & ((1u << lane) - 1u));
            if (mine && place < room) {
                __stcg(a.lists[0][to] + start + place, kept.node[i]);
                __stcg(a.lists[1][to] + start + place, kept.dist[i]);
            }
            at += __popc(lanes);
        }
    }
    kept.count = 0;
    __syncwarp();
}

// Keeps what lanes have found for others.
__device__ __forceinline__ void keep(const StepArgs& a, const Window& w, Tally& t, Finds& kept, bool found, u32 v,
                                     u32 candidate) {
    u32 lanes = __ballot_sync(FULL, found);
    if (!lanes) return;
    if (found) {
        u32 place = kept.count + __popc(lanes & ((1u << lane_id()) - 1u));
        kept.node[place] = v;
        kept.dist[place] = candidate;
    }
    kept.count += __popc(lanes);
    if (kept.count > LISTED - 32) post(a, w, t, kept);
}

// Pushes arcs of a row from `start` to `end` with a whole warp, up to the cap.
template <bool SHARED>
__device__ void push_part(const StepArgs& a, const Window& w, Tally& t, Finds& kept, u32 from, offset_t start, offset_t end) {
    for (offset_t base = start; base < end; base += 32 * WIDE) {
        u32 to[WIDE], candidate[WIDE], known[WIDE];
        bool heavy = false;
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            offset_t i = base + k * 32 + lane_id();
            candidate[k] = INFINITE;
            if (i >= end) continue;
            arc_t arc = __ldg(a.out_arcs + i);
            to[k] = arc_node(arc, a.form);
            candidate[k] = relaxed_distance(from, arc_weight(arc, a.form));
        }
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            heavy |= candidate[k] >= w.cap;
            bool below = candidate[k] < w.cap;
            t.relaxed += below;
            known[k] = below ? fresh(a.dist + to[k]) : 0;
        }
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            bool others = candidate[k] < known[k] && improve<SHARED>(a, w, t, to[k], candidate[k]);
            if (SHARED) keep(a, w, t, kept, others, to[k], candidate[k]);
        }
        if (__any_sync(FULL, heavy)) return;
    }
}

// Lists the arcs from `at` to `end` of each lane that has `some`, for push_items. The warp pushes what there is no room to list.
template <bool SHARED>
__device__ void list_rest(const StepArgs& a, const Window& w, Tally& t, Finds& kept, bool some, u32 v, u32 from, offset_t at,
                          offset_t end, u32 round) {
    u32 items = some && at < end ? (u32)((end - at + ITEM - 1) / ITEM) : 0;
    if (!__any_sync(FULL, items > 0)) return;
    u32 until = warp_scan(items);
    u64 place = 0;
    if (lane_id() == 31) place = atomicAdd(&a.control->round[round % 3].arcs, (u64)until);
    place = __shfl_sync(FULL, place, 31) + until - items;
    u32 fit = (u32)min((u64)items, place < a.active ? a.active - place : 0);
    for (u32 k = 0; k < fit; k++) __stcg(a.scan_prefix + place + k, (u64)v << 32 | k);
    for (u32 waiting = __ballot_sync(FULL, fit < items); waiting; waiting &= waiting - 1) {
        u32 lane = __ffs(waiting) - 1;
        offset_t start = __shfl_sync(FULL, at + fit * ITEM, lane), stop = __shfl_sync(FULL, end, lane);
        push_part<SHARED>(a, w, t, kept, __shfl_sync(FULL, from, lane), start, stop);
    }
}

// Pushes a warp's list, a lane a node; rows are sorted, so that a lane stops at the cap. What is left of long rows is listed.
template <bool SHARED>
__device__ void push_list(const StepArgs& a, const Window& w, Tally& t, Finds& kept, const u32* node, const u32* dist,
                          u32 count, u32 round) {
    for (u32 first = 0; first < count; first += 32) {
        u32 v = 0, from = 0;
        bool more = false;
        offset_t at = 0, end = 0, alone = 0;
        if (first + lane_id() < count) {
            v = node[first + lane_id()];
            from = dist[first + lane_id()];
            at = __ldg(a.out_offsets + v);
            end = __ldg(a.out_offsets + v + 1);
            alone = min(end, (offset_t)(at + LANE_PUSH));
            more = at < end;
        }
        // What is kept for others takes all lanes.
        for (bool on; SHARED ? __any_sync(FULL, more && at < alone) : more && at < alone; at += BATCH) {
            on = !SHARED || more;
            offset_t stop = on ? alone : at;
            arc_t arc[BATCH];
            u32 candidate[BATCH], known[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++)
                if (at + k < stop) arc[k] = __ldg(a.out_arcs + at + k);
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                candidate[k] = at + k < stop ? relaxed_distance(from, arc_weight(arc[k], a.form)) : INFINITE;
                if (at + k < stop && candidate[k] >= w.cap) more = false;
                bool below = candidate[k] < w.cap;
                t.relaxed += below;
                known[k] = below ? fresh(a.dist + arc_node(arc[k], a.form)) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                u32 to = arc_node(arc[k], a.form);
                bool others = candidate[k] < known[k] && improve<SHARED>(a, w, t, to, candidate[k]);
                if (SHARED) keep(a, w, t, kept, others, to, candidate[k]);
            }
        }
        list_rest<SHARED>(a, w, t, kept, more, v, from, alone, end, round);
    }
}

// Adds the node of each of `lanes` to the warp's list, which is pushed when there may be no room for the next ones.
template <bool SHARED>
__device__ __forceinline__ void list_nodes(const StepArgs& a, const Window& w, Tally& t, Finds& kept, u32* node, u32* dist,
                                           u32& count, u32 lanes, u32 v, u32 from, u32 round) {
    u32 place = count + __popc(lanes & ((1u << lane_id()) - 1u));
    if (lanes >> lane_id() & 1u) {
        node[place] = v;
        dist[place] = from;
    }
    count += __popc(lanes);
    if (count <= LISTED - 32) return;
    __syncwarp();
    push_list<SHARED>(a, w, t, kept, node, dist, count, round);
    __syncwarp();
    count = 0;
}

// Pushes the listed parts of long rows, a warp each.
template <bool SHARED>
__device__ void push_items(const StepArgs& a, const Window& w, Tally& t, Finds& kept, u32 items) {
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    for (u32 n = warp; n < items; n += warps) {
        u64 item = fresh(a.scan_prefix + n);
        u32 v = (u32)(item >> 32);
        offset_t start = __ldg(a.out_offsets + v) + LANE_PUSH + (u32)item * ITEM;
        offset_t end = min(__ldg(a.out_offsets + v + 1), (offset_t)(start + ITEM));
        push_part<SHARED>(a, w, t, kept, fresh(a.dist + v), start, end);
    }
}

// As push_list, for few nodes, which the whole warp pushes one after another.
template <bool SHARED>
__device__ void push_few(const StepArgs& a, const Window& w, Tally& t, Finds& kept, const u32* node, const u32* dist, u32 count,
                         u32 round) {
    for (u32 n = 0; n < count; n++) {
        u32 v = node[n];
        offset_t start = __ldg(a.out_offsets + v), end = __ldg(a.out_offsets + v + 1);
        push_part<SHARED>(a, w, t, kept, dist[n], start, min(end, (offset_t)(start + LANE_PUSH)));
        list_rest<SHARED>(a, w, t, kept, lane_id() == n, v, dist[n], (offset_t)(start + LANE_PUSH), end, round);
    }
}

// Pushes the own marked nodes below the window's end, which lose their marks. Before distances are swept, `settled` counts them,
// each once: `next` holds those that have been counted, so that all replicas count alike.
template <bool SHARED>
__device__ void push_marked(const StepArgs& a, Shared& s, const Window& w, Tally& t, Finds& kept, u32 round, u32& settled) {
    u32 *node = s.node + warp_id() * LISTED, *dist = s.dist + warp_id() * LISTED;
    u32 words = (a.active + 31) / 32, warps = gridDim.x * (blockDim.x >> 5), lane = lane_id(), count = 0;
    // Neighbouring words, whose rows may be long alike, go to different warps.
    for (u32 base = blockIdx.x * (blockDim.x >> 5) + warp_id(); window_word<SHARED>(a, base) < words; base += warps * 32) {
        u32 mine = window_word<SHARED>(a, base + lane * warps);
        u32 own = mine < words ? fresh(w.marks + mine) : 0;
        for (u32 some = __ballot_sync(FULL, own != 0); some;) {
            u32 word[WIDE], before[WIDE];
            bool pending[WIDE];
#pragma unroll
            for (u32 k = 0; k < WIDE; k++) {
                u32 at = some ? __ffs(some) - 1 : 0, bits = __shfl_sync(FULL, own, at);
                pending[k] = some && (bits >> lane & 1u);
                word[k] = window_word<SHARED>(a, base + at * warps);
                some &= some - 1;
                before[k] = pending[k] ? fresh(a.dist + word[k] * 32 + lane) : INFINITE;
            }
#pragma unroll
            for (u32 k = 0; k < WIDE; k++) {
                bool inside = pending[k] && before[k] < w.end;
                if (pending[k] && !inside) t.lowest_inverted = max(t.lowest_inverted, ~before[k]);
                u32 lanes = __ballot_sync(FULL, inside);
                if (!lanes) continue;
                // The bit goes before the distance is read: who improves the node later sets it again.
                u32 old = lane == 0 ? atomicAnd(w.marks + word[k], ~lanes) : 0;
                old = __shfl_sync(FULL, old, 0);
                u32 v = word[k] * 32 + lane, from = inside && old >> lane & 1u ? fresh(a.dist + v) : INFINITE;
                if (!SHARED && w.marks != a.next) {
                    u32 counted = lane == 0 ? atomicOr(a.next + word[k], lanes) : 0;
                    counted = __shfl_sync(FULL, counted, 0);
                    settled += inside && !(counted >> lane & 1u);
                }
                list_nodes<SHARED>(a, w, t, kept, node, dist, count, lanes, v, from, round);
            }
        }
    }
    __syncwarp();
    if (count <= FEW) push_few<SHARED>(a, w, t, kept, node, dist, count, round);
    else push_list<SHARED>(a, w, t, kept, node, dist, count, round);
    __syncwarp();
}

// Pushes the own nodes of the window, by their distances. `settled` counts those below the window, or, where `whole`, those in
// it too.
template <bool SHARED>
__device__ void push_swept(const StepArgs& a, Shared& s, const Window& w, Tally& t, Finds& kept, bool whole, u32 round,
                           u32& settled) {
    u32 *node = s.node + warp_id() * LISTED, *dist = s.dist + warp_id() * LISTED;
    u32 warps = gridDim.x * (blockDim.x >> 5), lane = lane_id(), count = 0, below = whole ? w.end : w.begin;
    u32 mine = blockIdx.x * (blockDim.x >> 5) + warp_id();
    for (u64 base; (base = (u64)window_word<SHARED>(a, mine * 4) * 32) < a.active; mine += warps) {
        u32 v = (u32)base + lane * 4;
        uint4 four = {INFINITE, INFINITE, INFINITE, INFINITE};
        if (v < a.active) four = __ldcg((const uint4*)(a.dist + v));
        u32 own[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (u32 k = 1; k < 4; k++)
            if (v + k >= a.active) own[k] = INFINITE;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            settled += own[k] < below;
            if (own[k] >= w.end && own[k] < INFINITE) t.lowest_inverted = max(t.lowest_inverted, ~own[k]);
            bool inside = own[k] >= w.begin && own[k] < w.end;
            u32 lanes = __ballot_sync(FULL, inside);
            if (!lanes) continue;
            list_nodes<SHARED>(a, w, t, kept, node, dist, count, lanes, v + k, own[k], round);
        }
    }
    __syncwarp();
    push_list<SHARED>(a, w, t, kept, node, dist, count, round);
    __syncwarp();
}

// Takes over what the others found for the own nodes in the last pass.
__device__ void take_posted(const StepArgs& a, const Window& w, Tally& t) {
    __shared__ u32 posted;
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x, room = list_room(a);
    auto take = [&](u32 v, u32 candidate) {
        if (candidate >= fresh(a.dist + v)) return;
        if (candidate < atomicMin(a.dist + v, candidate)) improved(w, t, v, candidate);
    };
    for (u32 from = 0; from < a.joint.world; from++) {
        if (from == a.joint.rank) continue;
        __syncthreads();
        if (threadIdx.x == 0)
            posted = (u32)min(relaxed_everywhere(posted_by(a, from, w.turn - 1) + a.joint.rank), (u64)FULL);
        __syncthreads();
        if (posted <= room) {
            u32 start = list_start(a, from, w.turn - 1);
            const u32 *nodes = a.lists[0][a.joint.rank] + start, *dists = a.lists[1][a.joint.rank] + start;
            for (u32 i = thread; i < posted; i += threads) take(fresh(nodes + i), fresh(dists + i));
        } else {
            u32 words = (a.active + 31) / 32;
            for (u32 i = thread / 32, word; (word = window_word<true>(a, i)) < words; i += threads / 32) {
                u32 v = word * 32 + lane_id();
                if (v < a.active) take(v, fresh(a.dists[from] + v));
            }
        }
    }
}

// Tells everybody the own distances.
__device__ void publish(const StepArgs& a) {
    u32 warps = gridDim.x * (blockDim.x >> 5), mine = blockIdx.x * (blockDim.x >> 5) + warp_id();
    for (u64 base; (base = (u64)window_word<true>(a, mine * 4) * 32) < a.active; mine += warps) {
        u32 v = (u32)base + lane_id() * 4;
        for (u32 r = 0; r < a.joint.world; r++) {
            if (r == a.joint.rank) continue;
            if (v + 3 < a.active) __stcg((uint4*)(a.dists[r] + v), __ldcg((const uint4*)(a.dist + v)));
            else for (u32 u = v; u < a.active; u++) __stcg(a.dists[r] + u, fresh(a.dist + u));
        }
    }
}

// Adds up what this block found in a window. Together, "a node has improved within it" is added to the nodes.
template <bool SHARED>
__device__ void book_window(const StepArgs& a, Shared& s, Tally& t, u32 settled, u32 round) {
    Round* r = &a.control->round[round % 3];
    u64 relaxed = block_sum(t.relaxed, s.room), nodes = block_sum((u64)settled, s.room);
    u32 lowest = ~warp_min(~t.lowest_inverted);
    if (lane_id() == 0 && lowest) atomicMax(&r->lowest_inverted, lowest);
    u32 within = __syncthreads_or(t.within);
    if (SHARED && within) nodes += WITHIN;
    if (threadIdx.x == 0) {
        if (relaxed) atomicAdd(&a.control->relaxed, relaxed);
        if (nodes) atomicAdd(&r->nodes, nodes);
        if (within && !SHARED) __stcg(&r->rounds, 1u);
    }
    t.relaxed = t.lowest_inverted = 0;
    t.within = false;
}

// Ends a pass: what it found, on all replicas together where it was SHARED. `within` tells whether a node improved within the
// window, or another has to be told of one.
template <bool SHARED>
__device__ bool close_pass(const StepArgs& a, Shared& s, Grid& grid, u64& epoch, Tally& t, u32& round, u32 own,
                           Round& total, bool& within) {
    book_window<SHARED>(a, s, t, own, round);
    if (!close(a, grid, SHARED ? &epoch : NULL, round, total)) return false;
    round++;
    within = SHARED ? total.nodes >= WITHIN : total.rounds != 0;
    if (SHARED) total.nodes %= WITHIN;
    return true;
}

// What is known of a pass of pushes.
struct Pass {
    u64 nodes;   // settled; those of before too where `all` were looked at
    u32 lowest;  // smallest distance of the nodes that are to be pushed later; FULL if there are none
    bool within;
};

// One pass: pushes `all` nodes of the window, or those that are marked.
template <bool SHARED>
__device__ bool push_pass(const StepArgs& a, Shared& s, Grid& grid, u64& epoch, Window& w, Tally& t, u32& round, bool all,
                          bool whole, Pass& pass) {
    Round total;
    Finds kept(s);
    u32 own = 0;
    if (SHARED) {
        w.turn++;
        // What was counted two passes ago has been read.
        if (blockIdx.x == 0 && threadIdx.x < a.joint.world)
            __stcg(posted_by(a, a.joint.rank, w.turn + 1) + threadIdx.x, 0ull);
        if (!all) take_posted(a, w, t);
    }
    if (all) push_swept<SHARED>(a, s, w, t, kept, whole, round, own);
    else push_marked<SHARED>(a, s, w, t, kept, round, own);
    if (SHARED) post(a, w, t, kept);
    if (!close_pass<SHARED>(a, s, grid, epoch, t, round, own, total, pass.within)) return false;
    pass.nodes = total.nodes;
    pass.lowest = ~total.lowest_inverted;
    if (total.arcs == 0) return true;
    bool within;
    u32 items = (u32)min(SHARED ? fresh(&a.control->round[(round - 1) % 3].arcs) : total.arcs, (u64)a.active);
    push_items<SHARED>(a, w, t, kept, items);
    if (SHARED) post(a, w, t, kept);
    if (!close_pass<SHARED>(a, s, grid, epoch, t, round, 0, total, within)) return false;
    pass.lowest = min(pass.lowest, ~total.lowest_inverted);
    pass.within |= within;
    return true;
}

// Pushes windows until half of the nodes are settled, or the cap is reached. On return `bound` tells the first pull what may
// still improve a node; `left` is false where nothing can. Together, replicas push the first windows redundantly, after
// each of which they know the same, and share those that are swept.
template <bool TOGETHER>
__device__ bool capped(const StepArgs& a, Shared& s, Grid& grid, u64& epoch, Tally& t, u32& round, u32& notes,
                       Bound& bound, bool& left) {
    u32 begin = __float_as_uint(bound.lowest);
    float width = a.delta;
    u32 inverse = TOGETHER ? FULL / a.joint.world + 1 : 0;
    Window w = {begin, max(advanced(begin, width), begin + 1), INFINITE, INFINITE, a.front, inverse, 0};
    u32 windows = 0;
    u64 settled = 0, earlier = 0;
    float at_earlier = 0.0f;
    u32 before_again = FULL;
    bool swept = false, again = false, whole = width <= a.lightest;
    left = true;
    while (true) {
        Pass pass;
        bool all = swept && !again;
        if (TOGETHER && swept) {
            if (!push_pass<TOGETHER>(a, s, grid, epoch, w, t, round, all, whole, pass)) return false;
        } else if (!push_pass<false>(a, s, grid, epoch, w, t, round, all, whole, pass)) return false;
        u64 before = settled;
        if (!swept) settled += pass.nodes;
        else if (!again) settled = pass.nodes;
        // A later pass over the window sees what it has changed alone.
        u32 lowest = swept && again ? min(pass.lowest, before_again) : pass.lowest;
        before_again = lowest;
        note(a.log, ++notes, 1u << 8 | ROUND_PUSHED, settled - before, 0);
        again = pass.within;
        if (again) continue;
        bound.cap = w.cap;
        bool ends = true;
        if (lowest == FULL) {
            // All that were reached are pushed: only arcs past the cap are left.
            bound.lowest = __uint_as_float(w.cap);
            left = w.cap != INFINITE;
        } else {
            bound.lowest = __uint_as_float(lowest);
            ends = settled >= SETTLED * (float)a.active || lowest >= w.cap;
        }
        Letter letter;
        if (ends) {
            // What comes next finds no marks.
            if (!swept) clear(a.next, (a.active + 31) / 32);
            if (!TOGETHER) return swept || grid.sync();
            if (swept) publish(a);
            return meet(grid, a.joint, epoch, NULL, NULL, NULL, letter);
        }
        if (settled >= EARLIER * earlier) {
            if (earlier > 0 && w.cap == INFINITE && settled >= a.active / SAMPLE) {
                // Settled nodes grow by a factor per distance; at this pace half of all are settled `rest` further on.
                float growth = __logf((float)settled / (float)earlier) / (bound.lowest - at_earlier);
                float rest = __logf(SETTLED * (float)a.active / (float)settled) / growth;
                w.cap = __float_as_uint(bound.lowest + CAP_FACTOR * rest + CAP_MORE * width);
            }
            earlier = settled;
            at_earlier = bound.lowest;
        }
        // On a graph of high diameter there would be no end of windows.
        windows++;
        if (windows >= NARROW && windows % WIDENED == 0) width *= 2.0f;
        whole = width <= a.lightest;
        w.begin = lowest;
        w.end = max(advanced(lowest, width), lowest + 1);
        bool first = !swept;
        swept = swept || settled >= a.active / SWEPT;
        if (!swept) continue;
        w.marks = a.next;
        w.marked = w.end;
        if (!first) continue;
        // Marks and, together, lists are written from now on.
        clear(a.next, (a.active + 31) / 32);
        if (TOGETHER && blockIdx.x == 0 && threadIdx.x < 3 * REPLICAS)
            __stcg(a.joint.mail[a.joint.rank]->posted[0] + threadIdx.x, 0ull);
        if (!(TOGETHER ? meet(grid, a.joint, epoch, NULL, NULL, NULL, letter) : grid.sync())) return false;
    }
}
