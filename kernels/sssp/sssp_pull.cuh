// The pull round of sssp.cu: rows by length, a lane, a warp or a block each.
//
// Together, replicas have words of 32 nodes in turn among the long rows, and groups of 32 words among the others. An owner's
// distances go to the others as they are found, and the marks after the round: a hub's distance
// that came after it would make nodes improve twice, which can cost a pull.
#pragma once

#include "sssp_round.cuh"

// Relaxes WIDE * 32 in-arcs of one node from `base` on with a whole warp, all loads at once. Returns
// the best distance, warp-uniform; `stop` tells that no later arc of the row can help.
__device__ u32 pull_wide(const StepArgs& a, Tally& t, offset_t base, offset_t to, const Bound& bound,
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
        light[k] = light[k] && bound.helps(w, best);
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
__device__ u32 pull_row(const StepArgs& a, Tally& t, offset_t from, offset_t to, const Bound& bound,
                        u32 best) {
    for (offset_t base = from; base < to; base += 32) {
        offset_t i = base + lane_id();
        u32 candidate = INFINITE;
        bool stop = i >= to;
        if (!stop) {
            arc_t packed = __ldg(a.in_arcs + i);
            float w = arc_weight(packed, a.form);
            stop = !bound.helps(w, best);
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

// Node i of those of this replica's among the long rows.
template <bool TOGETHER> __device__ __forceinline__ u32 own_long(const StepArgs& a, u32 i) {
    return TOGETHER ? ((i >> 5) * a.joint.world + a.joint.rank) << 5 | (i & 31u) : i;
}

// Word i of those of this replica's from `from` on.
template <bool TOGETHER> __device__ __forceinline__ u32 own_word(const StepArgs& a, u32 from, u32 i) {
    return from + (TOGETHER ? ((i >> 5) * a.joint.world + a.joint.rank) << 5 | (i & 31u) : i);
}

// Books an improved node: `best` is its new distance.
__device__ __forceinline__ void book(const StepArgs& a, Tally& t, u64& arcs, u32 v, u32 best) {
    __stcg(a.dist + v, best);
    arcs += degree_of(a.out_offsets, v);
    t.lowest_inverted = max(t.lowest_inverted, ~best);
}

// A warp a node.
template <bool TOGETHER>
__device__ void pull_hub(const StepArgs& a, Shared& s, Tally& t, u32* next, u32 v, const Bound& bound,
                         u64& arcs) {
    u32 before = fresh(a.dist + v), best = before;
    if (bound.helps(a.lightest, before))
        best = pull_row(a, t, __ldg(a.in_offsets + v), __ldg(a.in_offsets + v + 1), bound, before);
    bool improved = best < before && lane_id() == 0;
    if (improved) {
        book(a, t, arcs, v, best);
        if (TOGETHER) tell(a.joint, a.dists, v, best);
        atomicOr(next + (v >> 5), 1u << (v & 31u));
    }
    stage(s, __ballot_sync(FULL, improved), improved, v);
}

// A block a node: rows so long that one warp would be what all others wait for.
template <bool TOGETHER>
__device__ void pull_giant(const StepArgs& a, Shared& s, Tally& t, u32* next, u32 v, const Bound& bound,
                           u64& arcs) {
    u32 before = fresh(a.dist + v);  // written only by this block
    if (!bound.helps(a.lightest, before)) return;
    __syncthreads();
    if (threadIdx.x == 0) s.best = before;
    __syncthreads();
    offset_t from = __ldg(a.in_offsets + v), to = __ldg(a.in_offsets + v + 1);
    for (offset_t base = from + warp_id() * WIDE * 32; base < to; base += blockDim.x * WIDE) {
        u32 known = *(volatile u32*)&s.best;
        bool stop;
        u32 found = pull_wide(a, t, base, to, bound, known, stop);
        if (found < known && lane_id() == 0) atomicMin(&s.best, found);
        if (stop) break;
    }
    __syncthreads();
    if (threadIdx.x == 0 && s.best < before) {
        book(a, t, arcs, v, s.best);
        if (TOGETHER) tell(a.joint, a.dists, v, s.best);
        atomicOr(next + (v >> 5), 1u << (v & 31u));
        u32 at = atomicAdd(&s.staged, 1u);
        if (at < QUEUE) s.stage[at] = v;
    }
}

// One lane a node: the record's four arcs, a few more, then the warp helps those that go on.
// `before` is this lane's distance.
template <bool TOGETHER>
__device__ void pull_word(const StepArgs& a, Shared& s, Tally& t, u32* next, u32 word, u32 before,
                          const Bound& bound, u64& arcs) {
    u32 v = word * 32 + lane_id();
    u32 best = before;
    bool more = bound.helps(a.lightest, before);
    if (more) {
        Record r = load_record(a.in_records, v);
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            u32 u = arc_node(r.arc[k], a.form);
            float w = arc_weight(r.arc[k], a.form);
            more = more && u != v && bound.helps(w, best);
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
#if HIVE_CAPPED
        for (; more && at < alone; at += PULL_BATCH) {
            u32 found[PULL_BATCH];
            bool helps[PULL_BATCH];
#pragma unroll
            for (u32 k = 0; k < PULL_BATCH; k++) {
                helps[k] = at + k < alone;
                found[k] = INFINITE;
                if (!helps[k]) continue;
                arc_t packed = __ldg(a.in_arcs + at + k);
                float w = arc_weight(packed, a.form);
                helps[k] = bound.helps(w, best);
                t.relaxed += helps[k];
                if (helps[k]) found[k] = relaxed_distance(fresh(a.dist + arc_node(packed, a.form)), w);
            }
#pragma unroll
            for (u32 k = 0; k < PULL_BATCH; k++) {
                more = more && (helps[k] || at + k >= alone);
                best = min(best, found[k]);
            }
        }
        at = min(at, alone);
#else
        for (; more && at < alone; at++) {
            arc_t packed = __ldg(a.in_arcs + at);
            float w = arc_weight(packed, a.form);
            more = bound.helps(w, best);
            if (more) {
                t.relaxed++;
                best = min(best, relaxed_distance(fresh(a.dist + arc_node(packed, a.form)), w));
            }
        }
#endif
        more = more && at < end;
    }
    for (u32 waiting = __ballot_sync(FULL, more); waiting; waiting &= waiting - 1) {
        u32 lane = __ffs(waiting) - 1;
        offset_t from = __shfl_sync(FULL, at, lane), to = __shfl_sync(FULL, end, lane);
        u32 found = pull_row(a, t, from, to, bound, __shfl_sync(FULL, best, lane));
        if (lane_id() == lane) best = found;
    }
    bool improved = best < before;
    if (improved) {
        book(a, t, arcs, v, best);
        if (TOGETHER) tell(a.joint, a.dists, v, best);
    }
    u32 bits = __ballot_sync(FULL, improved);
    if (lane_id() == 0 && bits) next[word] = bits;
    stage(s, __ballot_sync(FULL, improved), improved, v);
}

// Pulls the long rows: giants [lo, giant_end) a block each, hubs [giant_end, hub_end) a warp each.
template <bool TOGETHER>
__device__ void pull_long(const StepArgs& a, Shared& s, Tally& t, u32* marks, u32 lo, u32 giant_end,
                          u32 hub_end, const Bound& bound, u64& arcs) {
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    for (u32 i = lo + blockIdx.x, v; (v = own_long<TOGETHER>(a, i)) < giant_end; i += gridDim.x)
        pull_giant<TOGETHER>(a, s, t, marks, v, bound, arcs);
    for (u32 i = (TOGETHER ? 0 : giant_end) + warp, v; (v = own_long<TOGETHER>(a, i)) < hub_end; i += warps)
        if (!TOGETHER || v >= giant_end) pull_hub<TOGETHER>(a, s, t, marks, v, bound, arcs);
}

// A pull over nodes [lo, hi): leaves by words, hubs a warp, giants a block each. Clears `front`.
// Returns this thread's share of the new frontier's arcs.
template <bool TOGETHER>
__device__ u64 pull(const StepArgs& a, Shared& s, u32* front, u32* next, Tally& t, const Bound& bound,
                    u32 lo, u32 hi) {
    u32 hub_end = min(max(a.hubs, lo), hi), giant_end = min(max(a.giants, lo), hub_end);
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    u64 arcs = 0;
    pull_long<TOGETHER>(a, s, t, next, lo, giant_end, hub_end, bound, arcs);
    // The next word's distances are on their way while this one is worked on.
    u32 last = (hi + 31) / 32, from = hub_end / 32;
    u32 i = own_word<TOGETHER>(a, from, warp), v = i * 32 + lane_id();
    u32 ahead = v < a.active ? fresh(a.dist + v) : 0;
    for (u32 mine = warp; i < last;) {
        u32 before = ahead, word = i;
        mine += warps;
        i = own_word<TOGETHER>(a, from, mine);
        v = i * 32 + lane_id();
        ahead = v < a.active ? fresh(a.dist + v) : 0;
        pull_word<TOGETHER>(a, s, t, next, word, before, bound, arcs);
    }
    clear(front, (a.active + 31) / 32);
    return arcs;
}

// After a barrier: the marks of what this replica improved, to all others.
__device__ void send_marks(const StepArgs& a, const u32* next, u32* const* copies) {
    u32 warp = blockIdx.x * (blockDim.x >> 5) + warp_id(), warps = gridDim.x * (blockDim.x >> 5);
    u32 words = (a.active + 31) / 32, from = min(a.hubs, a.active) / 32;
    for (u32 i = warp * 32 + lane_id(), word; (word = i * a.joint.world + a.joint.rank) < from; i += warps * 32) {
        u32 bits = fresh(next + word);
        if (bits) tell(a.joint, copies, word, bits);
    }
    for (u32 i = warp * 32 + lane_id(), word; (word = own_word<true>(a, from, i)) < words; i += warps * 32) {
        u32 bits = fresh(next + word);
        if (bits) tell(a.joint, copies, word, bits);
    }
}
