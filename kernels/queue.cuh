// Small frontiers as queues: nodes whose arcs are dealt evenly over the grid. Of searches and of shortest paths.
#pragma once

#include "hive.cuh"

#define QUEUE 2048u  // @host frontier nodes that a queue round takes

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

// Stages a warp's new nodes for the next queue; all lanes call it, `lanes` being those that have one.
template <class S> __device__ __forceinline__ void stage(S& s, u32 lanes, bool mine, u32 v) {
    if (!lanes) return;
    u32 at = 0;
    if (lane_id() == 0) at = atomicAdd(&s.staged, (u32)__popc(lanes));
    at = __shfl_sync(FULL, at, 0) + __popc(lanes & ((1u << lane_id()) - 1u));
    if (mine && at < QUEUE) s.stage[at] = v;
}

// Lays a queue out, in every block: its nodes in s.node, in s.prefix where their arcs begin among all of these, whose number
// is `total`. False, and nothing, where that is more than `limit`, or four billion. each(i, v) is called for every node.
template <class S, class Each>
__device__ __forceinline__ bool lay_out(const u32* queue, S& s, u32 count, u64 limit, u64& total, Each each) {
    u32 per = (count + blockDim.x - 1) / blockDim.x;
    u32 first = min(threadIdx.x * per, count), last = min(first + per, count);
    u64 mine = 0;
    for (u32 i = first; i < last; i++) mine += fresh(queue + QUEUE + i);
    u64 before = block_scan(mine, s.room, &total);
    if (total > limit || total >= FULL) return false;
    for (u32 i = first; i < last; i++) {
        u32 v = fresh(queue + i);
        s.prefix[i] = (u32)before;
        s.node[i] = v;
        before += fresh(queue + QUEUE + i);
        each(i, v);
    }
    if (threadIdx.x == 0) s.prefix[count] = (u32)total;
    __syncthreads();
    return true;
}
