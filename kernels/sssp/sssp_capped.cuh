// The pushes before the first pull on graphs without hubs: sssp.cu tells the idea.
//
// Together, replicas have groups of GROUP nodes in turn. Before each pass an owner tells all others which of its nodes are to be
// pushed, and their distances. Then everybody pushes all of these, but only along arcs to its own nodes.
#pragma once

#include "sssp_round.cuh"

#define LISTED (QUEUE / (STEP_THREADS / 32u))  // nodes that a warp lists before it pushes them
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
#define SAMPLE 512u        // the cap is set when one node in so many is
#define EARLIER 4u         // growth is measured since there were so many times fewer
#define SETTLED 0.5f       // of the nodes, before the first pull
#define CAP_FACTOR 1.25f   // of the distance in which as many are expected to be settled
#define GROUP 1024u        // neighbouring nodes that one replica owns

// A window: nodes from `begin` to `end` are pushed, along arcs that lead below `cap`; these are bits of distances. While few
// nodes are reached, all that have to be pushed are marked, and the marks are swept. Later the distances are, and marks are
// for nodes that improve within the window.
struct Window {
    u32 begin, end;
    u32 cap;
    u32 marked;  // a node is marked when it gets less
    u32* marks;
    u32* pushed;  // marks of the nodes that a pass pushes: `marks`, or, together, those that were told
    u32 inverse;  // together: 2^32 over the number of replicas, rounded up
};

// Whether this replica pushes arcs to v. The division is exact, as there are fewer than 2^22 groups and at most 16 replicas.
template <bool TOGETHER> __device__ __forceinline__ bool owned(const StepArgs& a, const Window& w, u32 v) {
    if (!TOGETHER) return true;
    u32 group = v / GROUP;
    return group - __umulhi(group, w.inverse) * a.joint.world == a.joint.rank;
}

// Marks v, whose distance was `before`, to be pushed. `settled` loses it where that has been done already.
__device__ __forceinline__ void pend(const StepArgs& a, const Window& w, u32 v, u32 before, u32& settled) {
    u32 bit = 1u << (v & 31u);
    u32* word = w.marks + (v >> 5);
    if (fresh(word) & bit || atomicOr(word, bit) & bit) return;
    if (w.marked == INFINITE && before < w.end) settled--;
}

__device__ __forceinline__ void improve(const StepArgs& a, const Window& w, Tally& t, u32 v, u32 candidate,
                                        u32& settled) {
    u32 before = atomicMin(a.dist + v, candidate);
    if (candidate >= before) return;
    if (candidate < w.end) t.within = true;
    else t.lowest_inverted = max(t.lowest_inverted, ~candidate);
    if (candidate < w.marked) pend(a, w, v, before, settled);
}

// Pushes arcs of a row from `start` to `end` with a whole warp, up to the cap.
template <bool TOGETHER>
__device__ void push_part(const StepArgs& a, const Window& w, Tally& t, u32 from, offset_t start, offset_t end,
                          u32& settled) {
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
            bool mine = candidate[k] < w.cap && owned<TOGETHER>(a, w, to[k]);
            t.relaxed += mine;
            known[k] = mine ? fresh(a.dist + to[k]) : 0;
        }
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            if (candidate[k] < known[k]) improve(a, w, t, to[k], candidate[k], settled);
        }
        if (__any_sync(FULL, heavy)) return;
    }
}

// Lists the arcs from `at` to `end` of each lane that has `some`, for push_items. The warp pushes what there is no room to list.
template <bool TOGETHER>
__device__ void list_rest(const StepArgs& a, const Window& w, Tally& t, bool some, u32 v, u32 from, offset_t at,
                          offset_t end, u32 round, u32& settled) {
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
        push_part<TOGETHER>(a, w, t, __shfl_sync(FULL, from, lane), start, stop, settled);
    }
}

// Pushes a warp's list, a lane a node; rows are sorted, so that a lane stops at the cap. What is left of long rows is listed.
template <bool TOGETHER>
__device__ void push_list(const StepArgs& a, const Window& w, Tally& t, const u32* node, const u32* dist, u32 count,
                          u32 round, u32& settled) {
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
        for (; more && at < alone; at += BATCH) {
            arc_t arc[BATCH];
            u32 candidate[BATCH], known[BATCH];
#pragma unroll
            for (u32 k = 0; k < BATCH; k++)
                if (at + k < alone) arc[k] = __ldg(a.out_arcs + at + k);
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                candidate[k] = at + k < alone ? relaxed_distance(from, arc_weight(arc[k], a.form)) : INFINITE;
                if (at + k < alone && candidate[k] >= w.cap) more = false;
                bool mine = candidate[k] < w.cap && owned<TOGETHER>(a, w, arc_node(arc[k], a.form));
                t.relaxed += mine;
                known[k] = mine ? fresh(a.dist + arc_node(arc[k], a.form)) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < BATCH; k++) {
                if (candidate[k] < known[k]) improve(a, w, t, arc_node(arc[k], a.form), candidate[k], settled);
            }
        }
        list_rest<TOGETHER>(a, w, t, more, v, from, alone, end, round, settled);
    }
}

// Adds the node of each of `lanes` to the warp's list, which is pushed when there may be no room for the next ones.
template <bool TOGETHER>
__device__ __forceinline__ void list_nodes(const StepArgs& a, const Window& w, Tally& t, u32* node, u32* dist, u32& count,
                                           u32 lanes, u32 v, u32 from, u32 round, u32& settled) {
    u32 place = count + __popc(lanes & ((1u << lane_id()) - 1u));
    if (lanes >> lane_id() & 1u) {
        node[place] = v;
        dist[place] = from;
    }
    count += __popc(lanes);
    if (count <= LISTED - 32) return;
    __syncwarp();
    push_list<TOGETHER>(a, w, t, node, dist, count, round, settled);
    __syncwarp();
    count = 0;
}

// Pushes the listed parts of long rows, a warp each.
template <bool TOGETHER>
__device__ void push_items(const StepArgs& a, const Window& w, Tally& t, u32 items, u32& settled) {
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    for (u32 n = warp; n < items; n += warps) {
        u64 item = fresh(a.scan_prefix + n);
        u32 v = (u32)(item >> 32);
        offset_t start = __ldg(a.out_offsets + v) + LANE_PUSH + (u32)item * ITEM;
        offset_t end = min(__ldg(a.out_offsets + v + 1), (offset_t)(start + ITEM));
        push_part<TOGETHER>(a, w, t, fresh(a.dist + v), start, end, settled);
    }
}

// As push_list, for few nodes, which the whole warp pushes one after another.
template <bool TOGETHER>
__device__ void push_few(const StepArgs& a, const Window& w, Tally& t, const u32* node, const u32* dist, u32 count,
                         u32 round, u32& settled) {
    for (u32 n = 0; n < count; n++) {
        u32 v = node[n];
        offset_t start = __ldg(a.out_offsets + v), end = __ldg(a.out_offsets + v + 1);
        push_part<TOGETHER>(a, w, t, dist[n], start, min(end, (offset_t)(start + LANE_PUSH)), settled);
        list_rest<TOGETHER>(a, w, t, lane_id() == n, v, dist[n], (offset_t)(start + LANE_PUSH), end, round, settled);
    }
}

// Pushes the marked nodes below the window's end, which lose their marks. `settled` counts them; together, publish has.
template <bool TOGETHER>
__device__ void push_marked(const StepArgs& a, Shared& s, const Window& w, Tally& t, u32 round, u32& settled) {
    u32 *node = s.node + warp_id() * LISTED, *dist = s.dist + warp_id() * LISTED;
    u32 words = (a.active + 31) / 32, warps = gridDim.x * (blockDim.x >> 5), lane = lane_id(), count = 0;
    // Neighbouring words, whose rows may be long alike, go to different warps.
    for (u64 base = blockIdx.x * (blockDim.x >> 5) + warp_id(); base < words; base += (u64)warps * 32) {
        u64 mine = base + (u64)lane * warps;
        u32 own = mine < words ? fresh(w.pushed + mine) : 0;
        for (u32 some = __ballot_sync(FULL, own != 0); some;) {
            u32 word[WIDE], before[WIDE];
            bool pending[WIDE];
#pragma unroll
            for (u32 k = 0; k < WIDE; k++) {
                u32 at = some ? __ffs(some) - 1 : 0, bits = __shfl_sync(FULL, own, at);
                pending[k] = some && (bits >> lane & 1u);
                word[k] = (u32)base + at * warps;
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
                u32 old = lane == 0 ? atomicAnd(w.pushed + word[k], ~lanes) : 0;
                old = __shfl_sync(FULL, old, 0);
                u32 v = word[k] * 32 + lane, from = inside && old >> lane & 1u ? fresh(a.dist + v) : INFINITE;
                if (!TOGETHER) settled += inside;
                list_nodes<TOGETHER>(a, w, t, node, dist, count, lanes, v, from, round, settled);
            }
        }
    }
    __syncwarp();
    if (count <= FEW) push_few<TOGETHER>(a, w, t, node, dist, count, round, settled);
    else push_list<TOGETHER>(a, w, t, node, dist, count, round, settled);
    __syncwarp();
}

// Pushes the nodes of the window, by their distances. `settled` counts those below the window, or, where `whole`, those in it
// too.
__device__ void push_swept(const StepArgs& a, Shared& s, const Window& w, Tally& t, bool whole, u32 round, u32& settled) {
    u32 *node = s.node + warp_id() * LISTED, *dist = s.dist + warp_id() * LISTED;
    u32 warps = gridDim.x * (blockDim.x >> 5), lane = lane_id(), count = 0, below = whole ? w.end : w.begin;
    for (u64 base = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 128; base < a.active; base += (u64)warps * 128) {
        u32 v = (u32)base + lane * 4, own[4] = {INFINITE, INFINITE, INFINITE, INFINITE};
        if (v < a.active) {
            uint4 four = __ldcg((const uint4*)(a.dist + v));
            own[0] = four.x;
            if (v + 1 < a.active) own[1] = four.y;
            if (v + 2 < a.active) own[2] = four.z;
            if (v + 3 < a.active) own[3] = four.w;
        }
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            settled += own[k] < below;
            if (own[k] >= w.end && own[k] < INFINITE) t.lowest_inverted = max(t.lowest_inverted, ~own[k]);
            bool inside = own[k] >= w.begin && own[k] < w.end;
            u32 lanes = __ballot_sync(FULL, inside);
            if (!lanes) continue;
            list_nodes<false>(a, w, t, node, dist, count, lanes, v + k, own[k], round, settled);
        }
    }
    __syncwarp();
    push_list<false>(a, w, t, node, dist, count, round, settled);
    __syncwarp();
}

// Word i of those of this replica's.
__device__ __forceinline__ u32 window_word(const StepArgs& a, u32 i) {
    u32 each = GROUP / 32;
    return (i / each * a.joint.world + a.joint.rank) * each + i % each;
}

// Tells everybody the own nodes that are to be pushed, and their distances: those of the window where `all`, else those of it
// that are marked. They lose their marks. `settled` is as in push_swept and push_marked.
__device__ void publish(const StepArgs& a, const Window& w, Tally& t, bool all, bool whole, u32& settled) {
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    u32 words = (a.active + 31) / 32, lane = lane_id(), below = whole ? w.end : w.begin;
    for (u32 base = warp * WIDE; window_word(a, base) < words; base += warps * WIDE) {
        u32 own[WIDE], marks[WIDE];
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            u32 word = window_word(a, base + k), v = word * 32 + lane;
            marks[k] = word < words ? fresh(w.marks + word) : 0;
            own[k] = v < a.active && (all || marks[k] >> lane & 1u) ? fresh(a.dist + v) : INFINITE;
        }
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            u32 word = window_word(a, base + k), v = word * 32 + lane;
            bool inside = own[k] < w.end && (!all || own[k] >= w.begin);
            settled += all ? own[k] < below : inside;
            if (own[k] >= w.end && own[k] < INFINITE) t.lowest_inverted = max(t.lowest_inverted, ~own[k]);
            u32 lanes = __ballot_sync(FULL, inside), kept = all ? 0 : marks[k] & ~lanes;
            if (lane == 0 && marks[k] != kept) __stcg(w.marks + word, kept);
            if (!lanes) continue;
            if (inside) tell(a.joint, a.dists, v, own[k]);
            if (lane < a.joint.world) __stcg(a.bitmaps[0][lane] + word, lanes);
        }
    }
}

// Tells everybody the own distances that nobody else knows: those from `lowest` on. Clears the marks.
__device__ void publish_rest(const StepArgs& a, const Window& w, u32 lowest) {
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    u32 words = (a.active + 31) / 32;
    for (u32 i = warp, word; (word = window_word(a, i)) < words; i += warps) {
        u32 v = word * 32 + lane_id(), own = v < a.active ? fresh(a.dist + v) : INFINITE;
        if (own >= lowest && own < INFINITE) tell(a.joint, a.dists, v, own);
        if (lane_id() == 0) __stcg(w.marks + word, 0u);
    }
}

// Adds up what this block found in a window. Together, a node that has improved within it counts as a lowest distance of 0.
template <bool TOGETHER>
__device__ void book_window(const StepArgs& a, Shared& s, Tally& t, u32 settled, u32 round) {
    Round* r = &a.control->round[round % 3];
    u64 relaxed = block_sum(t.relaxed, s.room), nodes = block_sum((u64)(long long)(int)settled, s.room);
    u32 lowest = ~warp_min(~t.lowest_inverted);
    if (lane_id() == 0 && lowest) atomicMax(&r->lowest_inverted, lowest);
    u32 within = __syncthreads_or(t.within);
    if (threadIdx.x == 0) {
        if (relaxed) atomicAdd(&a.control->relaxed, relaxed);
        if (nodes) atomicAdd(&r->nodes, nodes);
        if (within && TOGETHER) atomicMax(&r->lowest_inverted, FULL);
        if (within && !TOGETHER) __stcg(&r->rounds, 1u);
    }
    t.relaxed = t.lowest_inverted = 0;
    t.within = false;
}

// Ends a pass: what it found, on all replicas together where it was SHARED. `within` tells whether a node improved within the
// window.
template <bool SHARED>
__device__ bool close_pass(const StepArgs& a, Shared& s, Grid& grid, u64& epoch, Tally& t, u32& round, u32 own,
                           Round& total, bool& within) {
    book_window<SHARED>(a, s, t, own, round);
    if (!close(a, grid, SHARED ? &epoch : NULL, round, total)) return false;
    round++;
    within = SHARED ? total.lowest_inverted == FULL : total.rounds != 0;
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
__device__ bool push_pass(const StepArgs& a, Shared& s, Grid& grid, u64& epoch, const Window& w, Tally& t, u32& round,
                          bool all, bool whole, Pass& pass) {
    Round total;
    u32 own = 0;
    pass = {0, FULL, false};
    if (SHARED) {
        publish(a, w, t, all, whole, own);
        if (!close_pass<SHARED>(a, s, grid, epoch, t, round, own, total, pass.within)) return false;
        pass.nodes = total.nodes;
        pass.lowest = ~total.lowest_inverted;
        own = 0;
    }
    if (all && !SHARED) push_swept(a, s, w, t, whole, round, own);
    else push_marked<SHARED>(a, s, w, t, round, own);
    if (!close_pass<SHARED>(a, s, grid, epoch, t, round, own, total, pass.within)) return false;
    pass.nodes += total.nodes;
    pass.lowest = min(pass.lowest, ~total.lowest_inverted);
    if (total.arcs == 0) return true;
    bool within;
    u32 items = (u32)min(SHARED ? fresh(&a.control->round[(round - 1) % 3].arcs) : total.arcs, (u64)a.active);
    own = 0;
    push_items<SHARED>(a, w, t, items, own);
    if (!close_pass<SHARED>(a, s, grid, epoch, t, round, own, total, within)) return false;
    if (!all) pass.nodes += total.nodes;
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
    Window w = {begin, max(advanced(begin, width), begin + 1), INFINITE, INFINITE, a.front, a.front, inverse};
    u32 windows = 0;
    u64 settled = 0, earlier = 0;
    float at_earlier = 0.0f;
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
        u32 lowest = pass.lowest;
        note(a.log, ++notes, 1u << 8 | ROUND_PUSHED, settled - before, 0);
        // Passes over marks see what lies ahead only where all is marked.
        if (swept && again) lowest = w.end;
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
            if (!TOGETHER) return true;
            if (swept) publish_rest(a, w, lowest);
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
        if (!TOGETHER) w.pushed = a.next;
        else if (first) {
            // The others tell their nodes here from now on.
            clear(a.front, (a.active + 31) / 32);
            if (!meet(grid, a.joint, epoch, NULL, NULL, NULL, letter)) return false;
        }
    }
}
