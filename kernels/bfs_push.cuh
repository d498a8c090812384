// The push rounds of kernels/bfs.cu: from a queue, or from the bitmap.
#pragma once

#include "bfs_round.cuh"

// Follows the arcs of s.node, which begin at s.prefix, a part of them in each block.
__device__ void follow(const BfsArgs& a, BfsShared& s, u32* next, u32 count, u64 total, u32 level, u64& arcs,
                       u32& looked) {
    u64 slice = (total + gridDim.x - 1) / gridDim.x;
    u64 start = min(slice * blockIdx.x, total), end = min(start + slice, total);
    for (u64 i = start + threadIdx.x; i < end; i += blockDim.x) {
        u32 e = find(s.prefix, count, (u32)i);
        u64 arc = (u64)__ldg(a.out_offsets + s.node[e]) + (i - s.prefix[e]);
        looked++;
        claim(a, s, next, __ldg(a.out_columns + arc), level, arcs);
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
    follow(a, s, next, count, total, level, arcs, looked);
    return true;
}

// The listed rows, as many at a time as fit, their arcs dealt evenly over the grid.
__device__ void push_huge(const BfsArgs& a, BfsShared& s, u32* next, u32 listed, u32 level, u64& arcs,
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
                claim(a, s, next, __ldg(a.out_columns + __ldg(a.out_offsets + v) + i), level, arcs);
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
        follow(a, s, next, count, total, level, arcs, looked);
        __syncthreads();
    }
}

// A word of the frontier, which is cleared, by a warp: the arcs of its nodes are dealt to the lanes. Of a word with `many`
// arcs all but short rows are listed: hubs have neighbouring labels.
__device__ void push_word(const BfsArgs& a, BfsShared& s, u32* front, u32* next, u32 i, u32 bits, u32 many, u32 round,
                          u32 level, u64& arcs, u32& looked) {
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
    for (u32 k = 0; k < total; k += 32) {
        // The lane whose node has arc k + lane: the last one that begins at or before it and has any.
        u32 wanted = k + lane_id(), owner = 0;
#pragma unroll
        for (u32 step = 16; step > 0; step >>= 1) {
            u32 ends = __shfl_sync(FULL, inclusive, owner + step - 1);
            if (ends <= wanted) owner += step;
        }
        owner = min(owner, 31u);
        u64 start = __shfl_sync(FULL, base, owner);
        u32 begin = __shfl_sync(FULL, before, owner);
        if (wanted < total) {
            looked++;
            claim(a, s, next, __ldg(a.out_columns + start + (wanted - begin)), level, arcs);
        }
    }
    __syncwarp();
    if (lane_id() == 0) __stcg(front + i, 0u);
}

// The frontier in words [from, to) of the bitmap; what is listed is dealt over the grid after a barrier. `step` words are
// looked at by a warp at a time: 32 where next to none has a node, and then those that do lie side by side.
__device__ bool push_words(const BfsArgs& a, BfsShared& s, Grid& grid, u32* front, u32* next, u32 from, u32 to,
                           u32 step, u32 round, u32 level, u64& arcs, u32& looked) {
    u32 stride = gridDim.x * (blockDim.x >> 5) * step;
    for (u64 base = from + (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * step; base < to; base += stride) {
        u32 own = lane_id() < step && base + lane_id() < to ? fresh(front + base + lane_id()) : 0;
        for (u32 some = __ballot_sync(FULL, own != 0); some; some &= some - 1) {
            u32 k = __ffs(some) - 1;
            u32 bits = __shfl_sync(FULL, own, k);
            push_word(a, s, front, next, (u32)base + k, bits, HUGE / step, round, level, arcs, looked);
        }
    }
    if (!grid.sync()) return false;
    push_huge(a, s, next, fresh(&a.control->huge[round % 3]), level, arcs, looked);
    return true;
}
