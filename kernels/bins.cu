// Rows cut into bins, and the arcs of each bin ordered by segments of sources: the arrays of src/layout/bins. A block of
// threads goes over the arcs of a bin. In which order the arcs of a piece lie is left to chance: slots say where they are.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "bins.cuh"
#include "rows.cuh"

#define WARPS (THREADS / 32u)

// Own bins, and their rows.
struct BinRows {  // @host
    const offset_t* offsets;
    const u32* columns;
    const u64* bounds;  // [bins + 1] first row of each bin
    u32 bins;
    u32 segments;
    u32 width;  // sources of a segment
    u32 unused;
};

struct CountArgs {  // @host
    BinRows rows;
    u64* groups;   // [segments, bins] groups of each piece
    u32* places;   // [bins, segments] groups before it in the bin
    u32* lengths;  // [bins] groups of the bin
};

struct QuadArgs {  // @host
    const offset_t* offsets;
    u64* quads;  // [count] of the rows from `first` on
    u64 first;
    u64 count;
};

struct FillArgs {  // @host
    BinRows rows;
    const u32* begins;  // [segments, bins] groups before each piece
    const u32* places;  // [bins, segments]
    const u32* starts;  // [own rows + 1] quads before each row
    u16* sources;       // [groups, GROUP] source less the first of its segment
    u32* targets;       // [groups] where a group's values go: the number of a group among those of all bins
    u16* slots;         // [quads, QUAD] where the value of an arc lies in its bin
    u32 room;           // groups that a bin has room for
    u32 unused;
};

extern "C" __global__ void __launch_bounds__(THREADS) bins_count(const CountArgs a) {
    extern __shared__ u32 counts[];  // [segments]
    __shared__ u64 room[WARPS];
    const BinRows& of = a.rows;
    for (u32 bin = blockIdx.x; bin < of.bins; bin += gridDim.x) {
        for (u32 s = threadIdx.x; s < of.segments; s += THREADS) counts[s] = 0;
        __syncthreads();
        const u64 stop = of.offsets[of.bounds[bin + 1]];
        for (u64 e = of.offsets[of.bounds[bin]] + threadIdx.x; e < stop; e += THREADS) {
            atomicAdd(&counts[__ldg(of.columns + e) / of.width], 1u);
        }
        __syncthreads();
        u64 before = 0;
        for (u32 start = 0; start < of.segments; start += THREADS) {
            u32 s = start + threadIdx.x;
            u64 total, own = s < of.segments ? (counts[s] + GROUP - 1u) / GROUP : 0u;
            u64 at = before + block_scan(own, room, &total);
            if (s < of.segments) {
                a.groups[(u64)s * of.bins + bin] = own;
                a.places[(u64)bin * of.segments + s] = (u32)at;
            }
            before += total;
        }
        if (threadIdx.x == 0) a.lengths[bin] = (u32)before;
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) bins_quads(const QuadArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        u64 row = a.first + i;
        a.quads[i] = ((u64)a.offsets[row + 1] - a.offsets[row] + QUAD - 1u) / QUAD;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) bins_fill(const FillArgs a) {
    extern __shared__ u32 placed[];  // [segments] arcs of the piece so far
    __shared__ u32 row_of[TILE];
    const BinRows& of = a.rows;
    const u32 own = (u32)of.bounds[0];
    for (u32 bin = blockIdx.x; bin < of.bins; bin += gridDim.x) {
        for (u32 s = threadIdx.x; s < of.segments; s += THREADS) placed[s] = 0;
        __syncthreads();
        const u32 first = (u32)of.bounds[bin], end = (u32)of.bounds[bin + 1];
        const u32* places = a.places + (u64)bin * of.segments;
        const u64 stop = of.offsets[end];
        for (u64 tile = of.offsets[first]; tile < stop; tile += TILE) {
            u64 tile_end = min(tile + TILE, stop);
            u32 base = tile_rows(of.offsets, first, end, tile, tile_end, row_of);
#pragma unroll
            for (u32 i = 0; i < ITEMS; i++) {
                u32 spot = i * THREADS + threadIdx.x;
                u64 e = tile + spot;
                if (e >= tile_end) continue;
                u32 column = __ldg(of.columns + e), row = base + row_of[spot];
                u32 s = column / of.width;
                u32 rank = atomicAdd(&placed[s], 1u);
                a.sources[(u64)__ldg(a.begins + (u64)s * of.bins + bin) * GROUP + rank] = (u16)(column - s * of.width);
                u64 slot = (u64)__ldg(a.starts + (row - own)) * QUAD + (e - (u64)__ldg(of.offsets + row));
                a.slots[slot] = (u16)(__ldg(places + s) * GROUP + rank);
            }
            __syncthreads();
        }
        __syncthreads();
        for (u32 s = warp_id(); s < of.segments; s += WARPS) {
            u32 groups = (placed[s] + GROUP - 1u) / GROUP, to = bin * a.room + places[s];
            u32* targets = a.targets + a.begins[(u64)s * of.bins + bin];
            for (u32 i = lane_id(); i < groups; i += 32u) targets[i] = to + i;
        }
        __syncthreads();
    }
}
