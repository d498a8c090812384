// Filter: the values of an array that are below a threshold, in the order of the array, in one pass.
//
// Blocks take tiles of TILE values in turn. A tile's values are read once, into registers; what is kept is ranked by
// ballots and staged in shared memory, so that it is written in whole lines. Where it belongs is what the tiles before it
// keep: each tile says how many it keeps as soon as it knows, and how many all up to it keep as soon as it knows that; a
// warp looks back over these until it meets one of the latter (decoupled look-back). So an array of N values of which K
// are kept moves 4 N + 4 K bytes. Tiles are taken in order: whoever is waited for runs.
//
// Source: Merrill, Garland, "Single-pass parallel prefix scan with decoupled look-back", NVIDIA technical report
// NVR-2016-002; Ben-Nun, Sutton, Pai, Pingali, Groute, PPoPP 2017 (the workload).

#include "mix.cuh"

struct FilterStatus {  // @host
    u64 kept;
    u32 stopped;
    u32 unused;
};

struct FilterArgs {  // @host
    u32* values;   // [length]
    u32* kept;     // [length], the first of them filled
    u64* tiles;    // [tiles] state << 62 | count; zeros
    u32* control;  // [2] the tile that is taken next; "stopped"; zeros
    FilterStatus* status;  // pinned
    const u32* abort;      // pinned
    u64 deadline_ns;
    u64 length;
    u64 first;      // where the array's slice begins
    u64 key;        // of its values
    u64 threshold;  // at most 2^32
};

#define THREADS 256u  // @host
#define WARPS (THREADS / 32u)
#define GROUPS 4u  // of 4 values a lane
#define WARP_TILE (32u * 4u * GROUPS)
#define TILE (WARPS * WARP_TILE)  // @host

// What a tile has said.
#define OWN (1ull << 62)   // how many it keeps
#define UP_TO (2ull << 62)  // how many it and all before it keep
#define COUNT (OWN - 1ull)

// The array: `array_value` of src/hash.rs.
extern "C" __global__ void filter_make(const FilterArgs a) {
    u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.length; i += threads)
        a.values[i] = (u32)(hash(a.key, a.first + i) >> 32);
}

__device__ __forceinline__ u64 said(const u64* tile) { return *(const volatile u64*)tile; }

// What the tiles before `tile`, which keeps `own`, keep. Called by one warp; `stopped` when it gave up.
__device__ u64 look_back(const FilterArgs& a, u64 tile, u64 own, bool& stopped) {
    u32 lane = lane_id();
    if (lane == 0) __stcg(a.tiles + tile, (tile == 0 ? UP_TO : OWN) | own);
    u64 before = 0, since = 0;
    u32 polls = 0;
    // The lanes look at the 32 tiles below `end`, the nearest first.
    for (u64 end = tile; end > 0;) {
        u64 state = UP_TO;
        if (lane < end) state = said(a.tiles + end - 1 - lane);
        if (__any_sync(FULL, (state >> 62) == 0)) {
            bool give_up = false;
            if ((++polls & 1023u) == 0) {
                u64 now = clock_ns();
                if (since == 0) since = now;
                give_up = now - since > a.deadline_ns || *(const volatile u32*)a.abort != 0 ||
                          acquire(a.control + 1) != 0;
            }
            if (__any_sync(FULL, give_up)) {
                if (lane == 0) atomicExch(a.control + 1, 1u);
                stopped = true;
                return 0;
            }
            continue;
        }
        u32 whole = __ballot_sync(FULL, (state >> 62) == 2);
        u32 last = whole ? (u32)__ffs((int)whole) - 1 : 31;
        before += warp_sum(lane <= last ? state & COUNT : 0);
        if (whole) break;
        end -= 32;
    }
    if (lane == 0 && tile > 0) __stcg(a.tiles + tile, UP_TO | (before + own));
    return before;
}

extern "C" __global__ void __launch_bounds__(THREADS, 5) filter_run(const FilterArgs a) {
    __shared__ u32 staged[TILE];
    __shared__ u32 counts[WARPS];
    __shared__ u64 turn, place;
    __shared__ u32 verdict;
    u64 tiles = (a.length + TILE - 1) / TILE;
    u32 lane = lane_id(), below = (1u << lane) - 1u;
    for (;;) {
        if (threadIdx.x == 0) turn = atomicAdd(a.control, 1u);
        __syncthreads();
        u64 tile = turn;
        if (tile >= tiles) break;
        u64 base = tile * TILE + warp_id() * WARP_TILE + lane * 4;
        u32 values[4 * GROUPS], keep = 0;
#pragma unroll
        for (u32 g = 0; g < GROUPS; g++) {
            u64 at = base + g * 128;
            uint4 four = make_uint4(0, 0, 0, 0);
            if (at + 4 <= a.length) {
                four = __ldcs((const uint4*)(a.values + at));
                keep |= ((u32)(four.x < a.threshold) | (u32)(four.y < a.threshold) << 1 |
                         (u32)(four.z < a.threshold) << 2 | (u32)(four.w < a.threshold) << 3)
                        << (4 * g);
                values[4 * g] = four.x, values[4 * g + 1] = four.y;
                values[4 * g + 2] = four.z, values[4 * g + 3] = four.w;
            } else {
#pragma unroll
                for (u32 j = 0; j < 4; j++) {
                    u32 value = at + j < a.length ? a.values[at + j] : 0;
                    values[4 * g + j] = value;
                    keep |= (u32)(at + j < a.length && value < a.threshold) << (4 * g + j);
                }
            }
        }
        __syncwarp();
        // The rank of each group's first kept value in the warp's part of the tile.
        u32 ranks[GROUPS], count = 0;
#pragma unroll
        for (u32 g = 0; g < GROUPS; g++) {
            u32 lower = 0, all = 0;
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                u32 votes = __ballot_sync(FULL, keep >> (4 * g + j) & 1u);
                lower += __popc(votes & below);
                all += __popc(votes);
            }
            ranks[g] = count + lower;
            count += all;
        }
        if (lane == 0) counts[warp_id()] = count;
        __syncthreads();
        u32 offset = 0, total = 0;
        for (u32 w = 0; w < WARPS; w++) {
            if (w < warp_id()) offset += counts[w];
            total += counts[w];
        }
#pragma unroll
        for (u32 g = 0; g < GROUPS; g++) {
            u32 rank = offset + ranks[g];
#pragma unroll
            for (u32 j = 0; j < 4; j++)
                if (keep >> (4 * g + j) & 1u) staged[rank++] = values[4 * g + j];
        }
        if (warp_id() == 0) {
            bool stopped = false;
            u64 before = look_back(a, tile, total, stopped);
            if (lane == 0) {
                place = before;
                verdict = stopped;
            }
        }
        __syncthreads();
        if (verdict) {
            if (threadIdx.x == 0) a.status->stopped = 1;
            break;
        }
        u32* to = a.kept + place;
        for (u32 i = threadIdx.x; i < total; i += THREADS) __stcs(to + i, staged[i]);
        if (tile == tiles - 1 && threadIdx.x == 0) a.status->kept = place + total;
    }
}
