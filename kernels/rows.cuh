// Arcs dealt to blocks in tiles, whatever the rows: which row each arc of a tile belongs to.
#pragma once

#include "hive.cuh"

#define THREADS 256u  // @host
#define ITEMS 8u
#define TILE (THREADS * ITEMS)  // @host positions of a block at a time

// The last row that begins at or before `at`, which is below the end of the last of `rows`.
template <typename Offset>
__device__ __forceinline__ u32 row_at(const Offset* offsets, u32 first, u32 end, u64 at) {
    u32 low = first, high = end;  // the row is in low .. high - 1
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (__ldg(offsets + middle) <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Writes the row of every position of a tile, less the first's, to `row_of`, and gives the first. Rows are from `first` to
// `end`; the tile is `begin` to `stop`, at most TILE positions. All threads of the block take part.
template <typename Offset>
__device__ u32 tile_rows(const Offset* offsets, u32 first, u32 end, u64 begin, u64 stop, u32* row_of) {
    __shared__ u32 base;
    __shared__ u32 most[THREADS / 32u];
    if (threadIdx.x == 0) base = row_at(offsets, first, end, begin);
    for (u32 i = threadIdx.x; i < TILE; i += THREADS) row_of[i] = 0;
    __syncthreads();
    const u32 start = base;
    for (u64 row = (u64)start + 1 + threadIdx.x; row < end; row += THREADS) {
        u64 at = __ldg(offsets + row);
        if (at >= stop) break;
        // Of rows that begin here all but the last are empty.
        atomicMax(row_of + (at - begin), (u32)row - start);
    }
    __syncthreads();
    u32 own[ITEMS], top = 0;
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        top = max(top, row_of[threadIdx.x * ITEMS + i]);
        own[i] = top;
    }
    u32 before = top;
#pragma unroll
    for (u32 step = 1; step < 32; step <<= 1) {
        u32 other = __shfl_up_sync(FULL, before, step);
        if (lane_id() >= step) before = max(before, other);
    }
    if (lane_id() == 31) most[warp_id()] = before;
    before = __shfl_up_sync(FULL, before, 1);
    if (lane_id() == 0) before = 0;
    __syncthreads();
    for (u32 w = 0; w < warp_id(); w++) before = max(before, most[w]);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) row_of[threadIdx.x * ITEMS + i] = max(own[i], before);
    __syncthreads();
    return start;
}
