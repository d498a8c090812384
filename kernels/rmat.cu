// R-MAT on the device: the edges of src/generate/rmat.rs to the bit, and the CSR of their sorted keys.
//
// Drawing is arithmetic on (seed, edge) alone, so edges are never kept: a first launch counts arcs per
// bucket of rows, and every pass over some rows draws all edges again and keeps the arcs of its rows as
// keys, row - first row in the upper bits and column in the lower `scale`. sort.cu sorts them. Rows and
// columns are nodes, or their labels where a layout is drawn.

#include "join.cuh"
#include "keys.cuh"
#include "mix.cuh"

#define THREADS 256u  // @host
#define MAX_BUCKETS 4096u  // @host
#define EDGES 4u           // @host drawn by a thread between two visits of the cursor
#define MAX_RANGES 1024u  // @host of labels, counted together

// `Sampler` of src/generate/rmat.rs.
struct Sampler {  // @host
    u64 key;
    u32 scale;
    u32 mask;
    u32 add[4];
    u32 odd[4];
    u32 upper[3];  // upper ends of the ranges A, B, C of 16 bits
    u32 unused;
};

struct CountArgs {  // @host
    Sampler sampler;
    u64 first, count;  // edges of this launch, at most 2^30
    u64* buckets;      // [bucket_count] arcs, added to
    u32 shift;         // bucket = row >> shift
    u32 bucket_count;
};

struct RangeArgs {  // @host
    Sampler sampler;
    u64 first, count;  // edges of this launch, at most 2^30
    const u32* labels;  // [n] node -> label, or null where they are the same
    const u32* bounds;  // [ranges + 1] rising labels
    u64* arcs;          // [ranges] arcs with a row in it, added to
    u32 ranges;
    u32 unused;
};

struct KeyArgs {  // @host
    Sampler sampler;
    u64 first, count;
    const u32* labels;  // [n] node -> label, or null where they are the same
    u64* keys;      // [capacity], in any order
    u64* cursor;    // keys so far; past `capacity` they are counted only
    u64 capacity;
    u32 first_row;
    u32 rows;
};

struct RowArgs {  // @host
    const u64* keys;  // [count], rising, no two equal
    u64* offsets;     // [n + 1] of the whole graph
    u64 count;
    u64 base;  // arcs of the rows before
    u32 first_row;
    u32 rows;
    u32 scale;
    u32 unused;
};

struct ArcArgs {  // @host
    const u64* keys;  // [count]
    u32* columns;     // of the whole graph
    u64 count;
    u64 base;
    u32 scale;
    u32 unused;
};

// Offsets that were counted from 0 on each of several devices.
struct ShiftArgs {  // @host
    u64* offsets;  // [count]
    u64 count;
    u64 by;
};

struct JoinArgs {  // @host
    Sampler sampler;
    u64 first, count;
    u32* parent;  // [n]
    u32 giant;    // edges within this tree need no look
    u32 unused;
};

struct DegreeArgs {  // @host
    const u64* offsets;  // [nodes + 1]
    u64* most;           // the largest degree, taken as a maximum
    u64 nodes;
};

// One level of the descent from 16 bits: source bit for C or D, target bit for B or D.
__device__ __forceinline__ void descend(const Sampler& s, u64 bits, u32 level, u32& u, u32& v) {
    u32 draw = (u32)(bits >> (16u * level)) & 0xffffu;
    u32 past_a = draw >= s.upper[0], past_b = draw >= s.upper[1], past_c = draw >= s.upper[2];
    u = u << 1 | past_b;
    v = v << 1 | (past_a - past_b + past_c);
}

__device__ __forceinline__ u32 permuted(const Sampler& s, u32 id) {
    u32 shift = (s.scale + 1) / 2;
#pragma unroll
    for (u32 round = 0; round < 4; round++) {
        id = ((id + s.add[round]) * s.odd[round]) & s.mask;
        id ^= id >> shift;
    }
    return id;
}

// Edge `e` as (source, target).
__device__ __forceinline__ uint2 draw_edge(const Sampler& s, u64 e) {
    u64 own = hash(s.key, e);
    u32 u = 0, v = 0, whole = s.scale / 4, rest = s.scale % 4;
    for (u32 group = 0; group < whole; group++) {
        u64 bits = hash(own, group);
#pragma unroll
        for (u32 level = 0; level < 4; level++) descend(s, bits, level, u, v);
    }
    if (rest > 0) {
        u64 bits = hash(own, whole);
        for (u32 level = 0; level < rest; level++) descend(s, bits, level, u, v);
    }
    uint2 edge;
    edge.x = permuted(s, u);
    edge.y = permuted(s, v);
    return edge;
}

// Arcs by bucket of rows, both directions, self loops left out.
extern "C" __global__ void __launch_bounds__(THREADS) rmat_count(CountArgs a) {
    __shared__ u32 local[MAX_BUCKETS];  // a launch has at most 2^31 arcs
    for (u32 b = threadIdx.x; b < a.bucket_count; b += blockDim.x) local[b] = 0;
    __syncthreads();
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += stride) {
        uint2 edge = draw_edge(a.sampler, a.first + i);
        if (edge.x != edge.y) {
            atomicAdd(&local[edge.x >> a.shift], 1u);
            atomicAdd(&local[edge.y >> a.shift], 1u);
        }
    }
    __syncthreads();
    for (u32 b = threadIdx.x; b < a.bucket_count; b += blockDim.x) {
        u32 arcs = local[b];
        if (arcs > 0) atomicAdd(&a.buckets[b], (u64)arcs);
    }
}

__device__ __forceinline__ u32 labelled(const u32* labels, u32 node) {
    return labels ? __ldg(labels + node) : node;
}

// Arcs by range of labels, both directions, self loops left out.
extern "C" __global__ void __launch_bounds__(THREADS) rmat_ranges(RangeArgs a) {
    __shared__ u32 bounds[MAX_RANGES + 1];
    __shared__ u32 local[MAX_RANGES];  // a launch has at most 2^31 arcs
    for (u32 r = threadIdx.x; r <= a.ranges; r += THREADS) bounds[r] = a.bounds[r];
    for (u32 r = threadIdx.x; r < a.ranges; r += THREADS) local[r] = 0;
    __syncthreads();
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        uint2 edge = draw_edge(a.sampler, a.first + i);
        if (edge.x == edge.y) continue;
#pragma unroll
        for (u32 side = 0; side < 2; side++) {
            u32 label = labelled(a.labels, side ? edge.y : edge.x);
            if (label < bounds[0] || label >= bounds[a.ranges]) continue;
            u32 low = 0, high = a.ranges - 1;  // the last range that begins at the label or before
            while (low < high) {
                u32 middle = low + (high - low + 1) / 2;
                if (bounds[middle] <= label) {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            atomicAdd(&local[low], 1u);
        }
    }
    __syncthreads();
    for (u32 r = threadIdx.x; r < a.ranges; r += THREADS) {
        if (local[r] > 0) atomicAdd(&a.arcs[r], (u64)local[r]);
    }
}

// The keys of the arcs whose row is one of the pass's.
extern "C" __global__ void __launch_bounds__(THREADS) rmat_keys(KeyArgs a) {
    __shared__ u64 room[THREADS / 32];
    const u64 tile = (u64)THREADS * EDGES;
    // `start` is the same for all threads of a block, so they meet at every barrier.
    for (u64 start = blockIdx.x * tile; start < a.count; start += gridDim.x * tile) {
        u64 key[2 * EDGES];
        u32 kept = 0;
#pragma unroll
        for (u32 k = 0; k < EDGES; k++) {
            u64 i = start + k * THREADS + threadIdx.x;
            if (i < a.count) {
                uint2 edge = draw_edge(a.sampler, a.first + i);
                edge.x = labelled(a.labels, edge.x);
                edge.y = labelled(a.labels, edge.y);
                u32 out = edge.x - a.first_row, back = edge.y - a.first_row;  // huge when below
                key[2 * k] = (u64)out << a.sampler.scale | edge.y;
                key[2 * k + 1] = (u64)back << a.sampler.scale | edge.x;
                if (edge.x != edge.y) {
                    if (out < a.rows) kept |= 1u << (2 * k);
                    if (back < a.rows) kept |= 2u << (2 * k);
                }
            }
        }
        append(key, kept, a.keys, a.cursor, a.capacity, room);
    }
}

// offsets[first_row + r] for r in 0..=rows: the keys below row r's first possible one.
extern "C" __global__ void __launch_bounds__(THREADS) rmat_rows(RowArgs a) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 r = (u64)blockIdx.x * blockDim.x + threadIdx.x; r <= a.rows; r += stride) {
        a.offsets[a.first_row + r] = a.base + keys_below(a.keys, a.count, r << a.scale);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) rmat_arcs(ArcArgs a) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += stride) {
        a.columns[a.base + i] = (u32)(__ldg(a.keys + i) & ((1ull << a.scale) - 1));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) rmat_degree(DegreeArgs a) {
    u64 stride = (u64)gridDim.x * blockDim.x, most = 0;
    for (u64 v = (u64)blockIdx.x * blockDim.x + threadIdx.x; v < a.nodes; v += stride) {
        u64 degree = a.offsets[v + 1] - a.offsets[v];
        if (degree > most) most = degree;
    }
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) {
        u64 other = __shfl_xor_sync(FULL, most, step);
        if (other > most) most = other;
    }
    if (lane_id() == 0) atomicMax(a.most, most);
}

extern "C" __global__ void __launch_bounds__(THREADS) rmat_shift(ShiftArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) a.offsets[i] += a.by;
}

// Joins the trees of the ends of edges.
extern "C" __global__ void __launch_bounds__(THREADS) rmat_join(JoinArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        uint2 edge = draw_edge(a.sampler, a.first + i);
        if (a.parent[edge.x] != a.giant || a.parent[edge.y] != a.giant) join(a.parent, edge.x, edge.y);
    }
}
