// The pull round of kernels/sssp.cu: rows by length, a lane, a warp or a block each.
#pragma once

#include "sssp_round.cuh"

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
