// Betweenness: following the arcs of a level, either way: pushes that add or mark, and pulls of short, middle and long rows.
#pragma once

#include "bc_batch.cuh"

// An arc out of the frontier, from u in `lanes`, by each thread that has one; all lanes of the warp come here.
template <bool ADDING>
__device__ __forceinline__ void touch(const BcArgs& a, BcLevel* level, bool has, u32 u, u32 lanes,
                                      const u32* column) {
    u32 v = has ? __ldg(column) : 0u;
    if (!has || v < a.lo || v >= a.hi) lanes = 0;
    bool first = false;
    if (lanes != 0) {
        u32 seen = fresh(a.seen + v), mark = fresh(a.mark + v);  // both on their way
        lanes &= ~seen;
        if ((mark & lanes) != lanes) first = atomicOr(a.mark + v, lanes) == 0;
    }
    for (u32 left = ADDING ? lanes : 0u; left != 0; left &= left - 1) {
        u32 lane = __ffs(left) - 1;
        atomicAdd(a.sums + index_of(v, lane), a.paths[index_of(u, lane)]);
    }
    __syncwarp();
    // One addition a warp: all of a level's candidates are counted at one address.
    u32 who = __ballot_sync(FULL, first);
    if (who == 0) return;
    u64 place = 0;
    if (lane_id() == 0) place = atomicAdd(&level->found, (u64)__popc(who));
    place = __shfl_sync(FULL, place, 0);
    if (first) __stcg(a.candidate + place + __popc(who & ((1u << lane_id()) - 1u)), v);
    __syncwarp();
}

// Follows all arcs out of the list [begin, end), which is level - 1. Gives the arcs that were looked at, as pulls do.
template <bool ADDING>
__device__ FOLLOWS u64 push(const BcArgs& given, u32 number, u64 begin, u64 end, u64* cursor) {
    const BcArgs& a = ARGUMENTS(given);
    u64 looked = 0;
    BcLevel* level = a.control->level + number % 3u;
    for (u64 segment = last_warp(); segment < a.out_segments; segment += warps()) {
        uint2 part = __ldg(a.out_long + segment);
        u64 stamp = fresh(a.stamp + part.x);
        if ((u32)(stamp >> 32) != number - 1u || (u32)stamp == 0) continue;
        u64 from = (u64)__ldg(a.out_offsets + part.x) + (u64)part.y * SEGMENT;
        u64 to = min((u64)__ldg(a.out_offsets + part.x + 1), from + SEGMENT);
        if (lane_id() == 0) looked += to - from;
        for (u64 base = from; base < to; base += 32) {
            u64 i = base + lane_id();
            touch<ADDING>(a, level, i < to, part.x, (u32)stamp, a.out_columns + i);
        }
    }
    deal(end - begin, cursor, 1, [&](u64 at, u32 n) {
        u32 u = 0, lanes = 0, length = 0;
        u64 from = 0;
        if (lane_id() < n) {
            u64 entry = fresh(a.lists + begin + at + lane_id());
            u = (u32)entry;
            lanes = (u32)(entry >> 32);
            from = __ldg(a.out_offsets + u);
            u64 degree = (u64)__ldg(a.out_offsets + u + 1) - from;
            length = degree > SEGMENT ? 0u : (u32)degree;
        }
        looked += length;
        // Short rows by as many threads each as there are for one, a power of two.
        u32 bits = n > 1 ? 32u - __clz(n - 1u) : 0u, threads = 32u >> bits;
        {
            u32 slot = lane_id() >> (5u - bits);
            u32 row = __shfl_sync(FULL, u, slot), mask = __shfl_sync(FULL, lanes, slot);
            u32 many = __shfl_sync(FULL, length <= SHORT ? length : 0u, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            for (u32 i = lane_id() & (threads - 1u); __ballot_sync(FULL, i < many) != 0; i += threads) {
                touch<ADDING>(a, level, i < many, row, mask, a.out_columns + start + i);
            }
        }
        for (u32 left = __ballot_sync(FULL, length > SHORT); left != 0; left &= left - 1) {
            u32 slot = __ffs(left) - 1;
            u32 row = __shfl_sync(FULL, u, slot), mask = __shfl_sync(FULL, lanes, slot);
            u32 many = __shfl_sync(FULL, length, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            for (u32 base = 0; base < many; base += 32) {
                u32 i = base + lane_id();
                touch<ADDING>(a, level, i < many, row, mask, a.out_columns + start + i);
            }
        }
    });
    return looked;
}

template <int KIND>
__device__ __forceinline__ Addends addends_of(const BcArgs& a) {
    const bool back = KIND == FROM_LIST;
    return {back ? a.coef : a.paths, a.seen, back ? FULL : 0u};
}

// Lanes in which a node's row is to be summed.
template <int KIND>
__device__ __forceinline__ u32 need_of(const BcArgs& a, u32 v, u32 number) {
    if (v < a.lo || v >= a.hi) return 0;
    if (KIND == FROM_ALL) return full_mask(a) & ~fresh(a.seen + v);
    if (KIND == FROM_MARKS) return fresh(a.mark + v);
    u64 stamp = fresh(a.stamp + v);
    return (u32)(stamp >> 32) == number ? (u32)stamp : 0u;
}

// Whether the sums of segments are added by the warp that has the last of a row. Where there are many it would hold up
// the gathers more than a barrier does.
__device__ __forceinline__ bool last_adds(u32 segments) { return segments <= WAITED * warps(); }

// The sum over the segments of a row, `from` being where the thread's lane of the first is.
__device__ __forceinline__ real sum_of_parts(const real* from, u32 count) {
    u32 group = lane_id() / LANES;
    real sum = 0;
    for (u32 i = group; i < count; i += GROUPS * PARTS) {
        real x[PARTS];
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) {
            u32 own = i + k * GROUPS;
            x[k] = own < count ? fresh(from + (u64)own * LANES) : (real)0;
        }
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) sum = plus(sum, x[k]);
    }
    __syncwarp();
    return over_groups(sum);
}

// What the warp wrote before is seen by whoever sees this; unlike a fence it leaves L1 its lines.
__device__ __forceinline__ u32 add_release(u32* at, u32 value) {
    u32 before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(at), "r"(value) : "memory");
    return before;
}

// After the sum of a segment, one of `count` of row v from `first` on: the last of them to come adds them all.
template <int KIND>
__device__ __noinline__ void arrive(u32 v, u32 need, u64 first, u32 count) {
    const BcArgs& a = held;
    u32 lane = lane_id() % LANES;
    // Words that are 0 in this phase: backward marks, forward coefficients.
    u32* arrived = KIND == FROM_LIST ? a.mark + v : (u32*)(a.coef + index_of(v, 0));
    __syncwarp();
    u32 before = 0;
    if (lane_id() == 0) before = add_release(arrived, 1u);
    before = __shfl_sync(FULL, before, 0);
    if (before + 1u != count) return;
    __threadfence();
    __syncwarp();
    real sum = sum_of_parts(a.parts + first * LANES + lane, count);
    bool wanted = lane_id() < LANES && (need >> lane & 1u);
    if (wanted && (KIND != FROM_ALL || sum > 0)) __stcg(a.sums + index_of(v, lane), sum);
    if (lane_id() == 0) __stcg(arrived, 0u);
}

// Sums of the segments of long rows. ASKS: most of what they are of is 0.
template <int KIND, bool ASKS>
__device__ FOLLOWS u64 pull_segments(const BcArgs& given, u32 number) {
    const BcArgs& a = ARGUMENTS(given);
    u64 looked = 0;
    const bool back = KIND == FROM_LIST;
    const uint2* list = back ? a.out_long : a.in_long;
    const offset_t* offsets = back ? a.out_offsets : a.in_offsets;
    const u32* columns = back ? a.out_columns : a.in_columns;
    BcLevel* level = a.control->level + number % 3u;
    u32 segments = back ? a.out_segments : a.in_segments;
    u32 lane = lane_id() % LANES;
    Addends addends = addends_of<KIND>(a);
    for (u64 segment = last_warp(); segment < segments; segment += warps()) {
        uint2 part = __ldg(list + segment);
        u32 v = part.x, need = need_of<KIND>(a, v, number);
        if (need == 0) continue;  // the same for all lanes of the warp
        u64 row = __ldg(offsets + v), behind = __ldg(offsets + v + 1);
        u64 from = row + (u64)part.y * SEGMENT;
        u32 length = (u32)min(behind - from, (u64)SEGMENT);
        if (lane_id() == 0) looked += length;
        real sum = ASKS ? warp_row_sum_asking(columns + from, length, addends, need)
                        : warp_row_sum(columns + from, length, addends);
        if (lane_id() < LANES) __stcg(a.parts + segment * LANES + lane, sum);
        if (KIND == FROM_ALL) {
            u32 hits = __ballot_sync(FULL, sum > 0 && (need >> lane & 1u)) & LANE_BITS;
            if (hits != 0 && lane_id() == 0) {
                u32 before = atomicOr(a.mark + v, hits);
                if (before == 0) __stcg(a.candidate + atomicAdd(&level->found, 1ull), v);
            }
            __syncwarp();
        }
        if (last_adds(segments)) {
            u32 count = (u32)((behind - row + SEGMENT - 1u) / SEGMENT);
            arrive<KIND>(v, need, segment - part.y, count);
        }
    }
    return looked;
}

// After a barrier, where last_adds() does not hold, the sums of long rows from those of their segments, a warp a row.
template <int KIND>
__device__ __noinline__ void join_segments(u32 number) {
    const BcArgs& a = held;
    const bool back = KIND == FROM_LIST;
    const uint2* list = back ? a.out_long : a.in_long;
    const offset_t* offsets = back ? a.out_offsets : a.in_offsets;
    u32 segments = back ? a.out_segments : a.in_segments;
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    // So few at a time that all warps have some.
    u64 width = min((segments + warps() - 1u) / warps(), 32ull);
    for (u64 base = own_warp() * width; base < segments; base += warps() * width) {
        uint2 part = make_uint2(0u, 1u);
        if (lane_id() < width && base + lane_id() < segments) part = __ldg(list + base + lane_id());
        u32 need = part.y == 0 ? need_of<KIND>(a, part.x, number) : 0u;
        for (u32 left = __ballot_sync(FULL, need != 0); left != 0; left &= left - 1) {
            u32 slot = __ffs(left) - 1;
            u32 row = __shfl_sync(FULL, part.x, slot), mask = __shfl_sync(FULL, need, slot);
            u32 count = (u32)((degree_of(offsets, row) + SEGMENT - 1u) / SEGMENT);
            real sum = sum_of_parts(a.parts + (base + slot) * LANES + lane, count);
            bool wanted = group == 0 && (mask >> lane & 1u);
            if (wanted && (KIND != FROM_ALL || sum > 0)) __stcg(a.sums + index_of(row, lane), sum);
        }
    }
}

// Sums of all other rows: of the candidates, of the own chunk, or of the list from `begin`.
template <int KIND, bool ASKS>
__device__ FOLLOWS u64 pull_rows(const BcArgs& given, u32 number, u64 items, u64 begin, u64* cursor) {
    const BcArgs& a = ARGUMENTS(given);
    u64 looked = 0;
    const bool back = KIND == FROM_LIST;
    const offset_t* offsets = back ? a.out_offsets : a.in_offsets;
    const u32* columns = back ? a.out_columns : a.in_columns;
    BcLevel* level = a.control->level + number % 3u;
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    Addends addends = addends_of<KIND>(a);
    // Where all nodes are looked at, short rows are the last ones: labels are by falling degree, or degrees much alike.
    // A list must be longer before its rows take as long as their fetching.
    u32 least = items >= warps() * (KIND == FROM_ALL ? MODEST : 4u * MODEST) ? 8u : 1u;
    deal(items, cursor, least, [&](u64 at, u32 n) {
        u32 v = 0, need = 0, length = 0, found = 0;
        u64 from = 0;
        if (lane_id() < n) {
            if (KIND == FROM_ALL) {
                v = a.lo + (u32)at + lane_id();
                need = full_mask(a) & ~fresh(a.seen + v);
            } else if (KIND == FROM_MARKS) {
                v = fresh(a.candidate + at + lane_id());
                need = fresh(a.mark + v);
            } else {
                u64 entry = fresh(a.lists + begin + at + lane_id());
                v = (u32)entry;
                need = (u32)(entry >> 32);
            }
        }
        // Candidates and what is listed need their rows in any case: these come along with the lanes.
        if (KIND == FROM_ALL ? need != 0 : lane_id() < n) {
            from = __ldg(offsets + v);
            u64 degree = (u64)__ldg(offsets + v + 1) - from;
            if (degree > SEGMENT) need = 0;
            else length = (u32)degree;
        }
        looked += length;
        u32 shorter = __ballot_sync(FULL, need != 0 && length <= SHORT);
        u32 longer = __ballot_sync(FULL, need != 0 && length > SHORT);
        for (u32 j = 0; j < n; j += GROUPS) {
            if ((shorter >> j & GROUP_BITS) == 0) continue;
            u32 slot = j + group;
            u32 row = __shfl_sync(FULL, v, slot), mask = __shfl_sync(FULL, need, slot);
            u32 many = __shfl_sync(FULL, length, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            bool mine = shorter >> slot & 1u;
            real sum = 0;
            if (mine) sum = short_sum<ASKS>(columns + start, many, addends, mask, lane);
            __syncwarp();
            bool wanted = mine && (mask >> lane & 1u);
            if (KIND == FROM_ALL) {
                wanted = wanted && sum > 0;
                u32 hits = __ballot_sync(FULL, wanted);
                u32 own = lane_id() - j;
                if (own < GROUPS && (shorter >> lane_id() & 1u)) {
                    found = hits >> (own * LANES) & LANE_BITS;
                }
            }
            if (wanted) __stcg(a.sums + index_of(row, lane), sum);
        }
        for (u32 left = longer; left != 0; left &= left - 1) {
            u32 slot = __ffs(left) - 1;
            u32 row = __shfl_sync(FULL, v, slot), mask = __shfl_sync(FULL, need, slot);
            u32 many = __shfl_sync(FULL, length, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            real sum = ASKS ? warp_row_sum_asking(columns + start, many, addends, mask)
                            : warp_row_sum(columns + start, many, addends);
            bool wanted = group == 0 && (mask >> lane & 1u);
            if (KIND == FROM_ALL) {
                wanted = wanted && sum > 0;
                u32 hits = __ballot_sync(FULL, wanted);
                if (lane_id() == slot) found = hits;
            }
            if (wanted) __stcg(a.sums + index_of(row, lane), sum);
        }
        if (KIND == FROM_ALL) {
            u32 who = __ballot_sync(FULL, found != 0);
            u64 place = 0;
            if (who != 0 && lane_id() == 0) place = atomicAdd(&level->found, (u64)__popc(who));
            place = __shfl_sync(FULL, place, 0);
            if (found != 0) {
                __stcg(a.mark + v, found);
                __stcg(a.candidate + place + __popc(who & ((1u << lane_id()) - 1u)), v);
            }
        }
    });
    return looked;
}

// Sums of all rows of a kind, ready after the next barrier.
template <int KIND, bool ASKS>
__device__ __forceinline__ u64 pull(const BcArgs& a, Phases& phases, u32 number, u64 items, u64 begin) {
    u32 segments = KIND == FROM_LIST ? a.out_segments : a.in_segments;
    u64 looked = pull_segments<KIND, ASKS>(a, number);
    looked += pull_rows<KIND, ASKS>(a, number, items, begin, phases.cursor());
    if (!last_adds(segments) && phases.sync()) join_segments<KIND>(number);
    return looked;
}
