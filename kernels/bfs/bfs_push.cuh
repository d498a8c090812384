// The push rounds of bfs.cu: from a queue, or from the bitmap.
#pragma once

#include "bfs_round.cuh"

// A node that a push leads to: marked in `next`, if the push is blind, else claimed.
__device__ __forceinline__ void reach(const BfsArgs& a, BfsShared& s, u32* next, bool blind, u32 v, u32 level,
                                      u64& arcs) {
    if (blind) atomicOr(next + (v >> 5), 1u << (v & 31u));
    else claim(a, s, next, v, level, arcs);
}

// Follows the arcs of s.node, which begin at s.prefix, a part of them in each block.
__device__ void follow(const BfsArgs& a, BfsShared& s, u32* next, bool blind, u32 count, u64 total, u32 level, u64& arcs,
                       u32& looked) {
    u64 slice = (total + gridDim.x - 1) / gridDim.x;
    u64 start = min(slice * blockIdx.x, total), end = min(start + slice, total);
    for (u64 i = start + threadIdx.x; i < end; i += blockDim.x) {
        u32 e = find(s.prefix, count, (u32)i);
        u64 arc = (u64)__ldg(a.out_offsets + s.node[e]) + (i - s.prefix[e]);
        looked++;
        reach(a, s, next, blind, __ldg(a.out_columns + arc), level, arcs);
    }
}

// A queue of up to QUEUE nodes, its arcs dealt evenly over the grid. False when they are too many for that.
__device__ bool push_queue(const BfsArgs& a, BfsShared& s, u32* front, u32* next, u32 count,
                           u32 round, u32 level, u64& arcs, u32& looked) {
    const u32* queue = a.queue + (round & 1u) * 2 * QUEUE;
    u64 total;
    bool fits = lay_out(queue, s, count, FULL, total, [=](u32, u32 v) {
        if (blockIdx.x == 0) __stcg(front + (v >> 5), 0u);
    });
    if (!fits) return false;
    follow(a, s, next, false, count, total, level, arcs, looked);
    return true;
}

// Levels of a tiny frontier by one block, without the grid's barrier, from the queue of this round, as long as pushes pay.
// `front` loses the bits of the queue, `next` gets those of what is left, which is the next round's queue, too; its totals
// are left for the others. No level, and nothing of this, where there are too many arcs to begin with. Returns the arcs that
// this thread looked at.
__device__ __forceinline__ u32 solo(const BfsArgs& a, BfsShared& s, u32* front, u32* next, u32 round) {
    u32 looked = 0, count = s.known.queued, level = s.known.depth + 1;
    const u32* queue = a.queue + (round & 1u) * 2 * QUEUE;
    const offset_t* offsets = a.out_offsets;
    const u32* columns = a.out_columns;
    u32 *visited = a.visited, *marks = a.level;
    u64 found = 0, levels = 0, arcs = 0;
    u32 v = threadIdx.x < count ? fresh(queue + threadIdx.x) : 0, first = v, begun = count;
    while (count > 0 && count <= SOLO && levels < SOLO_LEVELS) {
        bool mine = threadIdx.x < count;
        u64 total, before = block_scan(mine ? degree_of(offsets, v) : 0, s.room, &total);
        if (levels == 0 && total > SOLO_ARCS) found = total;
        if (total > SOLO_ARCS || (levels > 0 && pulls(a, false, count, total, s.known.reached + found))) break;
        if (mine) {
            s.node[threadIdx.x] = v;
            s.prefix[threadIdx.x] = (u32)before;
        }
        if (threadIdx.x == 0) {
            s.prefix[count] = (u32)total;
            s.staged = 0;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < (u32)total; i += blockDim.x) {
            u32 e = find(s.prefix, count, i);
            u32 u = __ldg(columns + __ldg(offsets + s.node[e]) + (i - s.prefix[e])), bit = 1u << (u & 31u);
            looked++;
            if (fresh(visited + (u >> 5)) & bit || atomicOr(visited + (u >> 5), bit) & bit) continue;
            __stcg(marks + u, level);
            s.stage[atomicAdd(&s.staged, 1u)] = u;
        }
        __syncthreads();
        count = s.staged;
        if (threadIdx.x < count) v = s.stage[threadIdx.x];
        found += count;
        level++;
        levels++;
        __syncthreads();
    }
    if (levels > 0) {
        if (threadIdx.x < begun) __stcg(front + (first >> 5), 0u);
        u32* left = a.queue + ((round + 1) & 1u) * 2 * QUEUE;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 u = s.stage[i];
            u64 degree = degree_of(offsets, u);
            __stcg(left + i, u);
            __stcg(left + QUEUE + i, (u32)min(degree, (u64)FULL));
            atomicOr(next + (u >> 5), 1u << (u & 31u));
            arcs += degree;
        }
    }
    arcs = block_sum(arcs, s.room);
    if (threadIdx.x == 0) {
        BfsRound* r = &a.control->round[round % 3];
        __stcg(&r->nodes, levels > 0 ? (u64)count : 0ull);
        __stcg(&r->arcs, arcs);
        __stcg(&r->found, found);
        __stcg(&r->levels, levels);
        s.staged = 0;
    }
    __syncthreads();
    return looked;
}

// The listed rows, as many at a time as fit, their arcs dealt evenly over the grid.
__device__ void push_huge(const BfsArgs& a, BfsShared& s, u32* next, bool blind, u32 listed, u32 level, u64& arcs,
                          u32& looked) {
    for (u32 base = 0, count; base < listed; base += count) {
        count = min(QUEUE, listed - base);
        u64 before, total;
        u32 first, last;
        for (;; count = (count + 1) / 2) {
            u32 per = (count + blockDim.x - 1) / blockDim.x;
            first = min(threadIdx.x * per, count), last = min(first + per, count);
            u64 mine = 0;
            for (u32 i = first; i < last; i++) {
                mine += degree_of(a.out_offsets, fresh(a.huge + base + i));
            }
            before = block_scan(mine, s.room, &total);
            if (total < FULL || count == 1) break;
        }
        if (total >= FULL) {
            // One row of four billion arcs.
            u32 v = fresh(a.huge + base);
            u64 stride = (u64)gridDim.x * blockDim.x;
            for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
                looked++;
                reach(a, s, next, blind, __ldg(a.out_columns + __ldg(a.out_offsets + v) + i), level, arcs);
            }
            continue;
        }
        for (u32 i = first; i < last; i++) {
            u32 v = fresh(a.huge + base + i);
            s.prefix[i] = (u32)before;
            s.node[i] = v;
            before += degree_of(a.out_offsets, v);
        }
        __syncthreads();
        follow(a, s, next, blind, count, total, level, arcs, looked);
        __syncthreads();
    }
}

// A word of the frontier, which is cleared, by a warp: the arcs of its nodes are dealt to the lanes. Of a word with `many`
// arcs all but short rows are listed: hubs have neighbouring labels.
__device__ void push_word(const BfsArgs& a, BfsShared& s, u32* front, u32* next, bool blind, u32 i, u32 bits, u32 many,
                          u32 round, u32 level, u64& arcs, u32& looked) {
    u32 v = i * 32 + lane_id();
    u64 base = 0, length = 0;
    if (bits >> lane_id() & 1u) {
        base = __ldg(a.out_offsets + v);
        length = (u64)__ldg(a.out_offsets + v + 1) - base;
    }
    u32 row = (u32)min(length, (u64)many), inclusive = warp_scan(row), total = __shfl_sync(FULL, inclusive, 31);
    if (total >= many) {
        if (row >= many / 32) {
            __stcg(a.huge + atomicAdd(&a.control->huge[round % 3], 1u), v);
            row = 0;
        }
        inclusive = warp_scan(row);
        total = __shfl_sync(FULL, inclusive, 31);
    }
    u32 before = inclusive - row;
    // The place of arc `wanted` among the columns: in the row of the last lane that begins at or before it and has any.
    auto place = [&](u32 wanted) {
        u32 owner = 0;
#pragma unroll
        for (u32 step = 16; step > 0; step >>= 1) {
            u32 ends = __shfl_sync(FULL, inclusive, owner + step - 1);
            if (ends <= wanted) owner += step;
        }
        owner = min(owner, 31u);
        return __shfl_sync(FULL, base, owner) + (wanted - __shfl_sync(FULL, before, owner));
    };
    u32 k = 0;
    if (blind) {
        for (; k + 32 < total; k += 64) {
            u32 wanted = k + lane_id();
            u64 one = place(wanted), other = place(wanted + 32);
            u32 v = __ldg(a.out_columns + one), u = wanted + 32 < total ? __ldg(a.out_columns + other) : v;
            looked += 1 + (wanted + 32 < total);
            reach(a, s, next, true, v, level, arcs);
            reach(a, s, next, true, u, level, arcs);
        }
    }
    for (; k < total; k += 32) {
        u32 wanted = k + lane_id();
        u64 at = place(wanted);
        if (wanted >= total) continue;
        looked++;
        reach(a, s, next, blind, __ldg(a.out_columns + at), level, arcs);
    }
    __syncwarp();
    if (lane_id() == 0) __stcg(front + i, 0u);
}

// The frontier in words [from, to) of the bitmap; what is listed is dealt over the grid after a barrier. `step` words are
// looked at by a warp at a time: 32 where next to none has a node, and then those that do lie side by side.
__device__ bool push_words(const BfsArgs& a, BfsShared& s, Grid& grid, u32* front, u32* next, bool blind, u32 from,
                           u32 to, u32 step, u32 round, u32 level, u64& arcs, u32& looked) {
    u32 stride = gridDim.x * (blockDim.x >> 5) * step;
    for (u64 base = from + (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * step; base < to; base += stride) {
        u32 own = lane_id() < step && base + lane_id() < to ? fresh(front + base + lane_id()) : 0;
        for (u32 some = __ballot_sync(FULL, own != 0); some; some &= some - 1) {
            u32 k = __ffs(some) - 1;
            u32 bits = __shfl_sync(FULL, own, k);
            push_word(a, s, front, next, blind, (u32)base + k, bits, HUGE / step, round, level, arcs, looked);
        }
    }
    if (!grid.sync()) return false;
    push_huge(a, s, next, blind, fresh(&a.control->huge[round % 3]), level, arcs, looked);
    return true;
}

// After a blind push and a barrier: which of the marked nodes are new. Returns how many this thread found; `arcs` gets an estimate
// of their arcs: those of hubs, which come first, and of every 32nd word of the others.
__device__ u64 take_marked(const BfsArgs& a, u32* next, u32 words, u32 level, u64& arcs) {
    u32 warps = gridDim.x * (blockDim.x >> 5), lane = lane_id();
    u64 nodes = 0;
    for (u64 base = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 32; base < words; base += (u64)warps * 32) {
        u32 i = (u32)base + lane, bits = 0;
        if (i < words) {
            u32 marked = fresh(next + i), seen = fresh(a.visited + i);
            bits = marked & ~seen;
            if (bits != marked) __stcg(next + i, bits);
            if (bits) __stcg(a.visited + i, seen | bits);
            nodes += __popc(bits);
        }
        for (u32 some = __ballot_sync(FULL, bits != 0); some; some &= some - 1) {
            u32 at = __ffs(some) - 1, v = ((u32)base + at) * 32 + lane;
            u32 own = __shfl_sync(FULL, bits, at);
            if (!(own >> lane & 1u)) continue;
            __stcg(a.level + v, level);
            if (base < HUB_WORDS) arcs += degree_of(a.out_offsets, v);
            else if (at == 16) arcs += 32 * degree_of(a.out_offsets, v);
        }
    }
    return nodes;
}
