// The queue of tiles that have work. Blocks take entries and make entries, and none waits for another but for its next entry.
#pragma once

#include "tile.cuh"

static const u64 OVER = ~0ull;  // entry: there will be no more

struct TileControl {  // @host
    u64 head;  // entries claimed
    u64 line[15];
    u64 tail;  // entries made
    u64 line_2[15];
    u32 busy;  // tiles that are queued or in work
    u32 stopped;
    u32 ended;  // blocks
    u32 windows;
    u64 visits;
    u64 looked;  // arcs
};

struct TileQueue {  // @host
    u64* places;  // [mask + 1] tile + 1, and in the upper half what else the entry says; 0 where there is none
    TileControl* control;
    const u32* abort;  // pinned
    u64 deadline_ns;
    u64 mask;

    // Makes an entry. Its place is empty, or will be: whoever had the entry a lap before has claimed it.
    __device__ void enter(u64 entry) const {
        u64* place = places + (atomicAdd(&control->tail, 1ull) & mask);
        while (atomicCAS(place, 0ull, entry) != 0ull && relaxed(&control->stopped) == 0) {}
    }

    __device__ __forceinline__ void enter_tile(u32 tile, u32 says) const {
        atomicAdd(&control->busy, 1u);
        enter((u64)says << 32 | (tile + 1));
    }

    // Tells all blocks that there will be no more. By a block.
    __device__ void close() const {
        for (u32 i = threadIdx.x; i < gridDim.x; i += TILE_NODES) enter(OVER);
    }

    // The next entry; OVER when there will be none.
    __device__ u64 claim() const {
        u64* place = places + (atomicAdd(&control->head, 1ull) & mask);
        u64 entry, since = 0, moved = 0;
        u32 polls = 0;
        while ((entry = relaxed(place)) == 0) {
            if ((++polls & 1023u) != 0) continue;
            if (relaxed(&control->stopped)) return OVER;
            // The wait is in vain if nobody takes or makes an entry for so long.
            u64 now = clock_ns(), at = fresh(&control->head) + fresh(&control->tail);
            if (since == 0 || at != moved) {
                since = now;
                moved = at;
            }
            bool asks = blockIdx.x == 0 || blockIdx.x + 1 == gridDim.x;
            bool asked = asks && *(const volatile u32*)abort != 0;
            if (now - since > deadline_ns || asked) atomicExch(&control->stopped, 1u);
        }
        __stcg(place, 0ull);
        return entry;
    }

    // A tile is done with. True for the one after which none is queued or in work.
    __device__ __forceinline__ bool leave() const {
        __threadfence();
        return atomicSub(&control->busy, 1u) == 1;
    }

    // By thread 0 of every block, at its end. True for the last.
    __device__ bool ends(u64 visits, u64 looked) const {
        atomicAdd(&control->visits, visits);
        atomicAdd(&control->looked, looked);
        __threadfence();
        return atomicAdd(&control->ended, 1u) + 1 == gridDim.x;
    }
};
