// Rows cut by segments of sources, from rows in device memory: the arrays of src/layout/segments/, to the byte, as the host
// makes them. A block of threads goes over the arcs of a row block in order.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "chunks.cuh"
#include "rows.cuh"

#define SEGMENTS 128u  // @host at most
#define KINDS (SEGMENTS + 2u)
#define WARPS (THREADS / 32u)
#define COUNTS 3u  // @host what a row block has of a segment: arcs, runs, and rows whose last arc is one of them

static const u32 NO_ROW = 0xffffffffu;  // @host

struct PartArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    const u64* bounds;  // [blocks + 1] first row of each row block
    u32* parts;         // [blocks, most + 1, COUNTS]
    u32 blocks;
    u32 width;  // sources of a segment
    u32 most;   // segments; what lies beyond counts as one more
    u32 unused;
};

struct Chunks {  // @host
    u32* columns;  // [chunks, CHUNK] of 32 bits, or of 16, two in a word
    u32* marks;    // [chunks, 32] of 16 bits, two in a word
    u32* first;    // [chunks]
    u32* rows;     // [runs]
};

struct PlaceArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    const u64* bounds;  // [blocks + 1]
    const u32* own;     // [count] row blocks of this replica
    const u32* depth;   // [count] their segments
    const u32* begin;   // [count, most + 1] first chunk of each of their parts; that of far arcs follows the last segment's
    const u32* slots;   // [count] slot of the first row
    Chunks near, far;
    u32 count;
    u32 width;
    u32 most;
    u32 names;  // 0: write columns and marks; 1: write the rows of runs
};

struct ChunkArgs {  // @host
    u16* marks;   // [chunks, 32]
    u64* counts;  // [chunks] runs that begin in each
    u64 chunks;
};

struct OpenArgs {  // @host
    const u32* groups;  // [count, 2] first chunk, chunks
    u32* open;          // [count] slot of the row whose run goes on into the group, or NO_ROW
    Chunks near, far;
    u32 near_groups;
    u32 count;
};

__device__ __forceinline__ u32 segment_of(u32 column, u32 width, u32 most) { return min(column / width, most); }

extern "C" __global__ void __launch_bounds__(THREADS) segments_parts(PartArgs a) {
    __shared__ u32 row_of[TILE];
    __shared__ u32 sums[KINDS][COUNTS];
    for (u32 block = blockIdx.x; block < a.blocks; block += gridDim.x) {
        for (u32 i = threadIdx.x; i < KINDS * COUNTS; i += THREADS) sums[i / COUNTS][i % COUNTS] = 0;
        const u32 first = (u32)a.bounds[block], end = (u32)a.bounds[block + 1];
        const u64 stop = a.offsets[end];
        __syncthreads();
        for (u64 tile = a.offsets[first]; tile < stop; tile += TILE) {
            u64 tile_end = min(tile + TILE, stop);
            u32 base = tile_rows(a.offsets, first, end, tile, tile_end, row_of);
#pragma unroll
            for (u32 i = 0; i < ITEMS; i++) {
                u32 place = i * THREADS + threadIdx.x, segment = SEGMENTS + 1;
                u64 at = tile + place;
                bool begins = false, ends = false;
                if (at < tile_end) {
                    u32 row = base + row_of[place];
                    segment = segment_of(__ldg(a.columns + at), a.width, a.most);
                    begins = at == (u64)__ldg(a.offsets + row) ||
                             segment_of(__ldg(a.columns + at - 1), a.width, a.most) != segment;
                    ends = at + 1 == (u64)__ldg(a.offsets + row + 1);
                }
                u32 peers = __match_any_sync(FULL, segment);
                u32 begun = __ballot_sync(FULL, begins) & peers, ended = __ballot_sync(FULL, ends) & peers;
                if ((peers & ((1u << lane_id()) - 1u)) == 0) {
                    atomicAdd(&sums[segment][0], __popc(peers));
                    if (begun) atomicAdd(&sums[segment][1], __popc(begun));
                    if (ended) atomicAdd(&sums[segment][2], __popc(ended));
                }
            }
            __syncthreads();
        }
        const u32 wanted = (a.most + 1) * COUNTS;
        for (u32 i = threadIdx.x; i < wanted; i += THREADS) {
            a.parts[(u64)block * wanted + i] = sums[i / COUNTS][i % COUNTS];
        }
        __syncthreads();
    }
}

// Columns of 32 bits: the first four arcs of all lanes of a chunk, then their second four.
__device__ __forceinline__ u32 far_place(u32 slot) {
    u32 lane = slot / LANE, k = slot % LANE, half = LANE / 2;
    return k / half * (CHUNK / 2) + lane * half + k % half;
}

__device__ __forceinline__ void place(const PlaceArgs& a, const Chunks& to, u64 chunk, u32 slot, u32 column, bool far) {
    u64 start = chunk * CHUNK;
    if (far) {
        to.columns[start + far_place(slot)] = column;
    } else {
        ((u16*)to.columns)[start + slot] = (u16)column;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) segments_place(PlaceArgs a) {
    __shared__ u32 row_of[TILE];
    __shared__ u32 counts[WARPS][KINDS];
    __shared__ u32 before[KINDS];  // arcs of earlier tiles
    const u32 lane = lane_id(), warp = warp_id(), below = (1u << lane) - 1u;
    for (u32 j = blockIdx.x; j < a.count; j += gridDim.x) {
        const u32 block = a.own[j], depth = a.depth[j];
        const u32 first = (u32)a.bounds[block], end = (u32)a.bounds[block + 1];
        const u64 stop = a.offsets[end];
        if (threadIdx.x < KINDS) before[threadIdx.x] = 0;
        for (u64 tile = a.offsets[first]; tile < stop; tile += TILE) {
            u64 tile_end = min(tile + TILE, stop);
            for (u32 i = threadIdx.x; i < WARPS * KINDS; i += THREADS) counts[i / KINDS][i % KINDS] = 0;
            u32 base = tile_rows(a.offsets, first, end, tile, tile_end, row_of);
            u32 column[ITEMS], kind[ITEMS], rank[ITEMS];
            u32 begins = 0;
            // A warp has consecutive arcs.
#pragma unroll
            for (u32 i = 0; i < ITEMS; i++) {
                u32 spot = (warp * ITEMS + i) * 32u + lane;
                u64 at = tile + spot;
                kind[i] = depth + 1;
                column[i] = 0;
                if (at < tile_end) {
                    column[i] = __ldg(a.columns + at);
                    kind[i] = segment_of(column[i], a.width, depth);
                    u32 row = base + row_of[spot];
                    bool begun = at == (u64)__ldg(a.offsets + row) ||
                                 segment_of(__ldg(a.columns + at - 1), a.width, depth) != kind[i];
                    begins |= (u32)begun << i;
                }
                u32 peers = __match_any_sync(FULL, kind[i]);
                u32 ahead = __popc(peers & below);
                u32 earlier = counts[warp][kind[i]];
                __syncwarp();
                if (ahead == 0) counts[warp][kind[i]] = earlier + __popc(peers);
                __syncwarp();
                rank[i] = earlier + ahead;
            }
            __syncthreads();
            if (threadIdx.x <= depth) {
                u32 all = before[threadIdx.x];
#pragma unroll
                for (u32 w = 0; w < WARPS; w++) {
                    u32 own = counts[w][threadIdx.x];
                    counts[w][threadIdx.x] = all;
                    all += own;
                }
                before[threadIdx.x] = all;
            }
            __syncthreads();
#pragma unroll
            for (u32 i = 0; i < ITEMS; i++) {
                if (kind[i] > depth) continue;
                const bool far = kind[i] == depth;
                const Chunks& to = far ? a.far : a.near;
                u32 at = counts[warp][kind[i]] + rank[i], slot = at % CHUNK;
                u64 chunk = a.begin[(u64)j * (a.most + 1) + kind[i]] + at / CHUNK;
                u32 shift = (slot / LANE & 1u) * 16u + slot % LANE;
                u32* mark = to.marks + chunk * 16u + slot / (2u * LANE);
                if (a.names == 0) {
                    place(a, to, chunk, slot, far ? column[i] : column[i] - kind[i] * a.width, far);
                    if (begins >> i & 1u) atomicOr(mark, 1u << shift);
                } else if (begins >> i & 1u) {
                    u32 own = __ldg(mark) >> (slot / LANE & 1u) * 16u & 0xffffu;
                    u32 earlier = (own >> 8) + __popc(own & ((1u << slot % LANE) - 1u));
                    u32 row = base + row_of[(warp * ITEMS + i) * 32u + lane];
                    to.rows[__ldg(to.first + chunk) + earlier] = a.slots[j] + row - first;
                }
            }
            __syncthreads();
        }
        __syncthreads();
    }
}

// Counts runs before each lane of a chunk and in it; a warp a chunk.
extern "C" __global__ void __launch_bounds__(THREADS) segments_chunks(ChunkArgs a) {
    u64 step = (u64)gridDim.x * WARPS;
    for (u64 chunk = (u64)blockIdx.x * WARPS + warp_id(); chunk < a.chunks; chunk += step) {
        u32 mark = a.marks[chunk * 32u + lane_id()], own = __popc(mark);
        u32 all = warp_scan(own);
        a.marks[chunk * 32u + lane_id()] = (u16)(mark | (all - own) << 8);
        if (lane_id() == 31) a.counts[chunk] = all;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) segments_open(OpenArgs a) {
    u32 group = blockIdx.x * THREADS + threadIdx.x;
    if (group >= a.count) return;
    const Chunks& of = group < a.near_groups ? a.near : a.far;
    u32 chunk = a.groups[2 * group];
    bool begins = of.marks[(u64)chunk * 16u] & 1u;
    a.open[group] = begins ? NO_ROW : of.rows[of.first[chunk] - 1];
}
