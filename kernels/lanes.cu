// A level of searches from many sources together that is pulled: nodes ask their neighbours for bits that they lack
// (src/algorithm/lanes).
//
// A node has `1 << shift` words side by side, a bit a source. A team of as many threads of a warp takes a node, a word each. So it reads a
// neighbour's words together: 128 bytes of 1,024 sources.
//
// `lanes_pull`: a team takes the first PIECE arcs of a row. If the row ends there, what is new is counted at once: when all teams of the
// block are done, a thread counts for a node, and its neighbours for the next ones, whose sums lie beside.
// `lanes_rest`: a team takes a further piece of a long row.
// `lanes_long`: a team counts for a node with a long row.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "hive.cuh"

#define THREADS 256u  // @host
#define TURNS 4u      // @host nodes of a team
#define PIECE 128u    // @host arcs of a piece of a row
// Counters that nodes with new bits add to, so far from each other that threads seldom meet.
#define COUNTERS 64u  // @host
#define APART 8u      // @host
// A counter has nodes from this bit on, and the arcs out of them below.
#define NODES 36u  // @host
// The counter of their new bits is so many words behind it.
#define MET 1u  // @host
// Copies of the words that say which sources have reached anybody in a level, for the same reason.
#define SPREAD 16u  // @host

struct LanesArgs {  // @host
    const offset_t* offsets;  // [nodes + 1] the rows that are asked
    const u32* columns;
    const offset_t* onward;  // [nodes + 1] the rows along which bits go on
    const u32* pieces;       // [count, 2] the node, and the number of the piece, from 1 on
    const u32* longs;        // [long_count] nodes with long rows
    const u64* past;         // [words] the sources that reached anybody in the last level
    const u64* visit;        // [nodes, words] bits of the last level
    u64* seen;               // [nodes, words] bits of all levels, and of sources that the batch lacks
    u64* next;               // [nodes, words] those of this level: all are written
    u64* found;              // [SPREAD, words] the sources that reach anybody in it, added to
    u32* told;               // [set_words] the nodes with new bits: all are written
    u64* far;                // [nodes] sums of distances
    u64* harmonic;           // [nodes] sums of 1 / distance, in units
    u32* reached;            // [nodes] sources
    u32* farthest;           // [nodes] the largest distance
    u64* work;               // [COUNTERS, APART]
    u64 share;               // units of a source in this level
    u64 nodes;
    u64 set_words;
    u64 count;
    u64 long_count;
    u32 level;
    u32 shift;
};

// `had`, and beside it the bits of word k that the neighbours in a piece of a row have.
__device__ __forceinline__ u64 asked(const LanesArgs& a, const u32* columns, u32 count, u32 k, u64 had) {
    const u64* visit = a.visit + k;
    const u32 words = 1u << a.shift;
    u64 all = had;
    u32 at = 0;
    // Four at a time, whose loads are under way together.
    for (; at + 4 <= count && all != ~0ull; at += 4) {
        u32 to[4];
#pragma unroll
        for (u32 j = 0; j < 4; j++) to[j] = columns[at + j];
#pragma unroll
        for (u32 j = 0; j < 4; j++) all |= visit[(u64)to[j] * words];
    }
    for (; at < count && all != ~0ull; at++) all |= visit[(u64)columns[at] * words];
    return all;
}

// How many bits the words of a team have; all lanes of a warp call it together.
__device__ __forceinline__ u32 ones_of_team(u64 bits, u32 words) {
    u32 many = __popcll(bits);
    for (u32 step = words / 2; step > 0; step /= 2) many += __shfl_xor_sync(FULL, many, step);
    return many;
}

// Adds to the sums of node v that so many sources are at this level's distance. Returns what to add to a counter.
__device__ __forceinline__ u64 counted(const LanesArgs& a, u64 v, u32 many) {
    a.far[v] += (u64)many * a.level;
    a.harmonic[v] += many * a.share;
    a.reached[v] += many;
    a.farthest[v] = max(a.farthest[v], a.level);
    return (1ull << NODES) + (a.onward[v + 1] - a.onward[v]);
}

// Tells the others what a warp has found: sources, what to add to a counter, and new bits. Threads of the same word lie `words` apart.
__device__ void add_up(const LanesArgs& a, u64 found, u64 work, u32 met) {
    const u32 words = 1u << a.shift;
    work = warp_sum(work);
    met = warp_add(met);
    for (u32 step = words; step < 32; step *= 2) found |= __shfl_xor_sync(FULL, found, step);
    if (lane_id() < words) {
        u64* to = a.found + (u64)(blockIdx.x % SPREAD) * words + lane_id();
        if (found & ~fresh(to)) atomicOr(to, found);
    }
    if (lane_id() == 0 && work) {
        u64* counter = a.work + (blockIdx.x % COUNTERS) * APART;
        atomicAdd(counter, work);
        atomicAdd(counter + MET, (u64)met);
    }
}

// A block takes a tile of nodes, and writes whole words of the set.
extern "C" __global__ void __launch_bounds__(THREADS) lanes_pull(const LanesArgs a) {
    __shared__ u32 many[THREADS * TURNS];
    const u32 words = 1u << a.shift, k = threadIdx.x & (words - 1), teams = THREADS >> a.shift, tile = teams * TURNS;
    const u64 begin = (u64)blockIdx.x * tile, skipped = ~a.past[k];
    u64 found = 0, work = 0;
    u32 met = 0;
    for (u32 turn = 0; turn < TURNS; turn++) {
        const u32 place = turn * teams + (threadIdx.x >> a.shift);
        const u64 v = begin + place, own = (v << a.shift) + k;
        u64 bits = 0;
        bool whole = true;
        if (v < a.nodes) {
            const u64 seen = a.seen[own], had = seen | skipped;
            if (had != ~0ull) {
                const u64 first = a.offsets[v], degree = a.offsets[v + 1] - first;
                whole = degree <= PIECE;
                bits = asked(a, a.columns + first, (u32)min(degree, (u64)PIECE), k, had) & ~had;
                if (whole && bits) a.seen[own] = seen | bits;
            }
            a.next[own] = bits;
        }
        if (!whole) bits = 0;
        found |= bits;
        const u32 ones = ones_of_team(bits, words);
        if (k == 0) many[place] = ones;
    }
    __syncthreads();
    // Whole warps: a tile is a multiple of 32 nodes, and so is THREADS.
    for (u32 place = threadIdx.x; place < tile; place += THREADS) {
        const u64 v = begin + place;
        const u32 ones = many[place], told = __ballot_sync(FULL, ones != 0);
        if (ones) work += counted(a, v, ones);
        met += ones;
        if (lane_id() == 0 && v / 32 < a.set_words) a.told[v / 32] = told;
    }
    add_up(a, found, work, met);
}

extern "C" __global__ void __launch_bounds__(THREADS) lanes_rest(const LanesArgs a) {
    const u32 k = threadIdx.x & ((1u << a.shift) - 1);
    const u64 piece = ((u64)blockIdx.x * THREADS + threadIdx.x) >> a.shift;
    if (piece >= a.count) return;
    const u32 v = a.pieces[2 * piece];
    const u64 own = ((u64)v << a.shift) + k;
    const u64 had = a.seen[own] | ~a.past[k] | fresh(a.next + own);
    if (had == ~0ull) return;
    const u64 first = a.offsets[v] + (u64)a.pieces[2 * piece + 1] * PIECE, left = a.offsets[v + 1] - first;
    const u64 bits = asked(a, a.columns + first, (u32)min(left, (u64)PIECE), k, had) & ~had;
    if (bits) atomicOr(a.next + own, bits);
}

extern "C" __global__ void __launch_bounds__(THREADS) lanes_long(const LanesArgs a) {
    const u32 words = 1u << a.shift, k = threadIdx.x & (words - 1);
    const u64 place = ((u64)blockIdx.x * THREADS + threadIdx.x) >> a.shift;
    const u32 v = place < a.long_count ? a.longs[place] : 0;
    const u64 own = ((u64)v << a.shift) + k, bits = place < a.long_count ? a.next[own] : 0;
    if (bits) a.seen[own] |= bits;
    const u32 ones = ones_of_team(bits, words);
    u64 work = 0;
    if (k == 0 && ones) {
        work = counted(a, v, ones);
        atomicOr(a.told + v / 32, 1u << (v % 32));
    }
    add_up(a, bits, work, k == 0 ? ones : 0);
}
