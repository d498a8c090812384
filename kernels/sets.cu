// Sets of nodes with a mark for each line of LINE nodes that may hold one: emptying, counting, finding the marks. Arrays with a mark
// for each block that may not be all zeros: zeroing.
#include "lambda.cuh"

const u32 QUADS = LINE / 64;  // words of 64 nodes of a line

struct SetArgs {  // @host
    u64* words;
    u32* marks;
    u64 length;    // words, of 64 nodes
    u64* control;  // of a count: nodes, blocks that have added theirs, arcs; zeros between launches
    u64* to;       // where the count goes; of nodes and arcs, two words
    u64 offsets;   // of rows, where arcs are counted
    u64 nodes;     // rows; bits beyond are none
    u64 wide;      // whether these have 64 bits
};

struct ZeroArgs {  // @host
    u64* words;
    u32* marks;
    u64 length;  // words, of eight bytes
    u64 block;   // words of a block
};

// Calls each(line) for the lines that are marked, and each_word(word of marks) after its lines. A warp a word.
template <typename E, typename W> __device__ void for_lines(const SetArgs& a, const E& each, const W& each_word) {
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    for (u64 at = warp; at * 32 * QUADS < a.length; at += warps) {
        u32 bits = a.marks[at];
        if (bits >> lane_id() & 1u) each(at * 32 + lane_id());
        __syncwarp();
        if (bits && lane_id() == 0) each_word(at);
    }
}

// Words of a line, of which the last may be short.
template <typename F> __device__ __forceinline__ void for_words(const SetArgs& a, u64 line, const F& f) {
#pragma unroll
    for (u32 k = 0; k < QUADS; k++)
        if (line * QUADS + k < a.length) f(a.words[line * QUADS + k]);
}

extern "C" __global__ void set_clear(const SetArgs a) {
    for_lines(
        a, [&](u64 line) { for_words(a, line, [](u64& word) { word = 0; }); }, [&](u64 at) { a.marks[at] = 0; });
}

// *to += the block's sum. Most blocks find something: one addition a block.
__device__ void add_block(u64* to, u64 own) {
    __shared__ u64 found[32];
    own = warp_sum(own);
    __syncthreads();
    if (lane_id() == 0) found[warp_id()] = own;
    __syncthreads();
    own = threadIdx.x < blockDim.x >> 5 ? found[threadIdx.x] : 0;
    if (warp_id() == 0) own = warp_sum(own);
    if (threadIdx.x == 0 && own) atomicAdd(to, own);
}

extern "C" __global__ void set_count(const SetArgs a) {
    u64 own = 0;
    for_lines(a, [&](u64 line) { for_words(a, line, [&](u64& word) { own += __popcll(word); }); }, [](u64) {});
    add_block(a.control, own);
    sum_up(a.control, a.to);
}

template <typename T> __device__ u64 arcs_of_lines(const SetArgs& a, const T* offsets, u64& nodes) {
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    u64 lines = (a.length + QUADS - 1) / QUADS, arcs = 0;
    for (u64 line = warp; line < lines; line += warps) {
        if (!(a.marks[line / 32] >> (line & 31) & 1u)) continue;
#pragma unroll
        for (u32 k = 0; k < 2 * QUADS; k++) {
            u64 at = line * 2 * QUADS + k;
            u32 bits = at < 2 * a.length ? ((const u32*)a.words)[at] : 0;
            u64 v = at * 32 + lane_id();
            if (!(bits >> lane_id() & 1u) || v >= a.nodes) continue;
            const T* row = offsets + v;
            arcs += row[1] - row[0];
            nodes++;
        }
    }
    return arcs;
}

// Nodes, and arcs out of them. A warp a line.
extern "C" __global__ void set_arcs(const SetArgs a) {
    u64 nodes = 0;
    u64 arcs = a.wide ? arcs_of_lines(a, (const u64*)a.offsets, nodes) : arcs_of_lines(a, (const u32*)a.offsets, nodes);
    add_block(a.control, nodes);
    add_block(a.control + 2, arcs);
    sum_up_then(a.control, [&](u64 all) {
        volatile u64* to = a.to;
        to[1] = atomicExch(a.control + 2, 0ull);
        // The host waits for the nodes.
        __threadfence_system();
        to[0] = all;
    });
}

// Zeroes marked blocks, of at most 32 words each, and takes their marks away. A warp a word of marks.
extern "C" __global__ void blocks_zero(const ZeroArgs a) {
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    for (u64 at = warp; at * 32 * a.block < a.length; at += warps) {
        u32 bits = a.marks[at];
        for (u32 rest = bits; rest; rest &= rest - 1) {
            u64 i = (at * 32 + __ffs(rest) - 1) * a.block + lane_id();
            if (lane_id() < a.block && i < a.length) a.words[i] = 0;
        }
        __syncwarp();
        if (bits && lane_id() == 0) a.marks[at] = 0;
    }
}

// The marks of words that were written in another way.
extern "C" __global__ void set_marks(const SetArgs a) {
    u64 stride = (u64)gridDim.x * blockDim.x, lines = (a.length + QUADS - 1) / QUADS;
    for (u64 base = (u64)blockIdx.x * blockDim.x; base < lines; base += stride) {
        u64 line = base + threadIdx.x, any = 0;
        if (line < lines) for_words(a, line, [&](u64& word) { any |= word; });
        u32 bits = __ballot_sync(FULL, any != 0);
        if (lane_id() == 0 && line < lines) a.marks[line / 32] = bits;
    }
}
