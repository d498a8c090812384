// Lists of 64-bit keys: blocks append to one, and rows are found in a sorted one.
#pragma once

#include "hive.cuh"

// Appends key[k] of each thread where bit k of `kept` is set. `cursor` counts all, also those beyond `capacity`, which are
// not written. For whole blocks; `room` is as in `block_scan`.
template <u32 N>
__device__ __forceinline__ void append(
    const u64 (&key)[N], u32 kept, u64* keys, u64* cursor, u64 capacity, u64* room) {
    __shared__ u64 base;
    u64 total;
    u64 at = block_scan((u64)__popc(kept), room, &total);
    if (threadIdx.x == 0) base = total > 0 ? atomicAdd(cursor, total) : 0;
    __syncthreads();
    at += base;
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        if (kept >> k & 1u) {
            if (at < capacity) keys[at] = key[k];
            at++;
        }
    }
}

// How many of `count` sorted keys are below `wanted`.
__device__ __forceinline__ u64 keys_below(const u64* keys, u64 count, u64 wanted) {
    u64 low = 0, high = count;
    while (low < high) {
        u64 middle = low + (high - low) / 2;
        if (__ldg(keys + middle) < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Turns sums of tiles into what comes before each tile; returns the sum of all. For one block of `T` threads.
template <u32 T, class Sum>
__device__ __forceinline__ u64 scan_tiles(Sum* sums, u64 tiles, u64* room) {
    u64 before = 0;
    for (u64 start = 0; start < tiles; start += T) {
        u64 i = start + threadIdx.x;
        u64 total, own = i < tiles ? sums[i] : 0;
        u64 at = block_scan(own, room, &total);
        if (i < tiles) sums[i] = (Sum)(before + at);
        before += total;
    }
    return before;
}
