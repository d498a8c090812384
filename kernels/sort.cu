// Sorting and thinning out 64-bit keys: a least-significant-digit radix sort, a scan, and "unique".
//
// A sort pass orders by one digit of at most 8 bits and keeps the order of equal digits (stable), so
// passes from the lowest digit up leave the keys sorted. Keys are cut into tiles. sort_count writes how
// often each digit occurs in each tile, digit-major; the exclusive scan of that table is where each
// (digit, tile) goes; sort_scatter ranks the keys inside a tile and moves them there, by way of shared
// memory so that stores are consecutive. No block waits for another one: what must be known is in the
// previous launch's output. Fewer than 2^32 keys at a time.

#include "keys.cuh"

#define THREADS 256u  // @host
#define WARPS (THREADS / 32u)
#define ITEMS 16u               // keys of a thread
#define TILE (THREADS * ITEMS)  // @host
#define DIGITS 256u  // @host
#define SCAN_THREADS 1024u  // @host

struct SortArgs {  // @host
    const u64* from;  // [count]
    u64* to;          // [count]
    u32* table;       // [digits][tiles]
    u64 count;
    u32 tiles;
    u32 shift;  // the digit is (key >> shift) & (digits - 1)
    u32 digits;  // a power of two, at most DIGITS
    u32 unused;
};

struct ScanArgs {  // @host
    u32* values;  // [length], becomes its exclusive prefix sum
    u32* sums;    // [tiles + 1]; the last is the sum of all
    u64 length;
    u32 tiles;
    u32 unused;
};

struct UniqueArgs {  // @host
    const u64* from;  // [count], rising
    u64* to;          // [count] is enough
    u32* counts;      // [tiles]
    u64 count;
    u32 tiles;
    u32 unused;
};

__device__ __forceinline__ u32 digit_of(u64 key, const SortArgs& a) {
    return (u32)(key >> a.shift) & (a.digits - 1u);
}

extern "C" __global__ void __launch_bounds__(THREADS) sort_count(SortArgs a) {
    __shared__ u32 seen[DIGITS];
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        seen[threadIdx.x] = 0;
        __syncthreads();
        u64 start = (u64)tile * TILE + threadIdx.x;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 at = start + i * THREADS;
            if (at < a.count) atomicAdd(&seen[digit_of(a.from[at], a)], 1u);
        }
        __syncthreads();
        if (threadIdx.x < a.digits) a.table[(u64)threadIdx.x * a.tiles + tile] = seen[threadIdx.x];
        // The next tile clears only the own counter, and nobody adds before the barrier after that.
    }
}

// Three blocks a multiprocessor, so that some load while others rank: 80 registers, none spilled.
extern "C" __global__ void __launch_bounds__(THREADS, 3) sort_scatter(SortArgs a) {
    __shared__ u64 staged[TILE];           // the tile, by digit
    __shared__ u32 counts[WARPS][DIGITS];  // keys so far; then those of the warps before
    __shared__ u32 begin[DIGITS];          // the digit's first place in `staged`
    __shared__ u32 target[DIGITS];         // the place in `to` of the digit's first key
    __shared__ u64 room[WARPS];
    const u32 lane = lane_id(), warp = warp_id();
    const u32 below = (1u << lane) - 1u;
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE;
        u64 key[ITEMS];
        u32 rank[ITEMS];  // among the warp's keys of the same digit
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) counts[w][threadIdx.x] = 0;
        // A warp takes 32 * ITEMS consecutive keys. Past the end: the largest key, which, coming
        // last, ends behind all others of the tile.
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 at = start + warp * (32u * ITEMS) + i * 32u + lane;
            key[i] = at < a.count ? a.from[at] : ~0ull;
        }
        __syncthreads();
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 digit = digit_of(key[i], a);
            u32 peers = FULL;  // lanes with the same digit
#pragma unroll
            for (u32 b = 0; b < 8; b++) {
                u32 bit = digit >> b & 1u;
                u32 votes = __ballot_sync(FULL, bit);
                peers &= bit ? votes : ~votes;
            }
            u32 before = __popc(peers & below);
            u32 earlier = counts[warp][digit];
            __syncwarp();
            if (before == 0) counts[warp][digit] = earlier + __popc(peers);
            __syncwarp();
            rank[i] = earlier + before;
        }
        __syncthreads();
        u32 all = 0;  // the tile's keys of digit threadIdx.x
#pragma unroll
        for (u32 w = 0; w < WARPS; w++) {
            u32 own = counts[w][threadIdx.x];
            counts[w][threadIdx.x] = all;
            all += own;
        }
        u64 total;
        begin[threadIdx.x] = (u32)block_scan((u64)all, room, &total);
        target[threadIdx.x] =
            threadIdx.x < a.digits ? a.table[(u64)threadIdx.x * a.tiles + tile] : 0;
        __syncthreads();
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 digit = digit_of(key[i], a);
            staged[begin[digit] + counts[warp][digit] + rank[i]] = key[i];
        }
        __syncthreads();
        u64 left = a.count - start;
        u32 valid = left < TILE ? (u32)left : TILE;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 place = i * THREADS + threadIdx.x;
            if (place < valid) {
                u64 moved = staged[place];
                u32 digit = digit_of(moved, a);
                a.to[(u64)target[digit] + (place - begin[digit])] = moved;
            }
        }
        __syncthreads();  // before the next tile reuses the arrays
    }
}

// Scan, 1 of 3: the sum of each tile.
extern "C" __global__ void __launch_bounds__(THREADS) scan_reduce(ScanArgs a) {
    __shared__ u64 room[WARPS];
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + threadIdx.x, sum = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 at = start + i * THREADS;
            if (at < a.length) sum += a.values[at];
        }
        u64 total = block_sum(sum, room);
        if (threadIdx.x == 0) a.sums[tile] = (u32)total;
    }
}

// Scan, 2 of 3: one block turns the sums into what comes before each tile.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) scan_sums(ScanArgs a) {
    __shared__ u64 room[SCAN_THREADS / 32];
    u64 total = scan_tiles<SCAN_THREADS>(a.sums, a.tiles, room);
    if (threadIdx.x == 0) a.sums[a.tiles] = (u32)total;
}

// Scan, 3 of 3: each value becomes what comes before it.
extern "C" __global__ void __launch_bounds__(THREADS) scan_apply(ScanArgs a) {
    __shared__ u64 room[WARPS];
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + threadIdx.x * ITEMS, sum = 0;
        u32 value[ITEMS];
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            value[i] = start + i < a.length ? a.values[start + i] : 0;
            sum += value[i];
        }
        u64 total;
        u64 before = block_scan(sum, room, &total) + a.sums[tile];
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            if (start + i < a.length) a.values[start + i] = (u32)before;
            before += value[i];
        }
    }
}

// Whether key `at` of a rising list is the first of its value.
__device__ __forceinline__ bool is_first(const UniqueArgs& a, u64 at) {
    return at == 0 || a.from[at - 1] != a.from[at];
}

// How many different keys begin in each tile.
extern "C" __global__ void __launch_bounds__(THREADS) unique_count(UniqueArgs a) {
    __shared__ u64 room[WARPS];
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + threadIdx.x, firsts = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 at = start + i * THREADS;
            if (at < a.count && is_first(a, at)) firsts++;
        }
        u64 total = block_sum(firsts, room);
        if (threadIdx.x == 0) a.counts[tile] = (u32)total;
    }
}

// Keeps the first key of each value, in order; `counts` has been scanned.
extern "C" __global__ void __launch_bounds__(THREADS) unique_keep(UniqueArgs a) {
    __shared__ u32 firsts[WARPS];
    const u32 lane = lane_id(), warp = warp_id();
    const u32 below = (1u << lane) - 1u;
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + warp * (32u * ITEMS) + lane;
        u64 key[ITEMS];
        u32 votes[ITEMS];
        u32 own = 0;  // of the warp
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 at = start + i * 32u;
            bool first = false;
            key[i] = 0;
            if (at < a.count) {
                key[i] = a.from[at];
                first = is_first(a, at);
            }
            votes[i] = __ballot_sync(FULL, first);
            own += __popc(votes[i]);
        }
        __syncthreads();
        if (lane == 0) firsts[warp] = own;
        __syncthreads();
        u64 to = a.counts[tile];
        for (u32 w = 0; w < warp; w++) to += firsts[w];
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            if (votes[i] >> lane & 1u) a.to[to + __popc(votes[i] & below)] = key[i];
            to += __popc(votes[i]);
        }
    }
}
