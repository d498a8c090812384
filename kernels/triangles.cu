// Triangles through each node of a symmetric graph; self loops and parallel arcs do not count.
//
// A triangle is found at its arc (v, u) from the largest label to the middle one: its third node is in the part of
// either row that lies below u. Labels fall with degrees where these are skewed, so that those parts are short: a
// hub's has few nodes above it, and nobody has many of higher degree. The shorter part is gone through, the longer one
// searched; by one lane where it is very short, else by a warp. Warps take 32 arcs at a time until none are left.
//
// Source: Schank, Wagner, 2005 (forward, oriented by degree); Hu, Liu, Huang, TriCore, SC 2018 (binary search by warps).
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "hive.cuh"

struct TriangleArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    u32* below;  // [active] arcs of a row that lead to smaller labels
    u64* count;  // [active]
    u64* next;   // the 32 arcs that are taken next
    u64 first, last;  // arcs of the chunk
    u32 active;
    u32 unused;
};

struct CostArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    const u32* below;  // [active] arcs of a row that lead to smaller labels
    u64* cost;         // [active] arcs of a row, and for each to a smaller label the shorter of the two parts
    u32 active;
    u32 unused;
};

#define THREADS 512u  // @host
#define HUBS 2048u  // first nodes, which most triangles have, counted by each block
#define ALONE 4u    // nodes that a lane goes through by itself

// How many entries of a rising list are below `v`.
__device__ __forceinline__ u64 entries_below(const u32* list, u64 length, u32 v) {
    u64 low = 0;
    while (low < length) {
        u64 middle = (low + length) / 2;
        if (__ldg(list + middle) < v) low = middle + 1;
        else length = middle;
    }
    return low;
}

extern "C" __global__ void triangles_below(const TriangleArgs a) {
    u32 threads = gridDim.x * blockDim.x;
    for (u64 v = blockIdx.x * blockDim.x + threadIdx.x; v < a.active; v += threads) {
        u64 from = a.offsets[v];
        a.below[v] = (u32)entries_below(a.columns + from, a.offsets[v + 1] - from, (u32)v);
    }
}

// A warp a row.
extern "C" __global__ void triangles_costs(const CostArgs a) {
    u64 warps = (u64)gridDim.x * blockDim.x / 32;
    for (u64 v = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32; v < a.active; v += warps) {
        u64 from = __ldg(a.offsets + v), own = 0;
        u32 below = __ldg(a.below + v);
        for (u32 i = lane_id(); i < below; i += 32) own += min(__ldg(a.below + __ldg(a.columns + from + i)), i);
        own = warp_sum(own);
        if (lane_id() == 0) a.cost[v] = (u64)__ldg(a.offsets + v + 1) - from + own;
    }
}

// The row that an arc is in.
__device__ __forceinline__ u32 row_of(const TriangleArgs& a, u64 arc) {
    u32 low = 0, high = a.active;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (__ldg(a.offsets + middle) <= arc) low = middle;
        else high = middle;
    }
    return low;
}

// A part of a row.
struct Part {
    const u32* list;
    u32 length;
};

// Nodes of both parts, of those at `lane`, `lane + lanes`, ... of the shorter one. Each gets its triangle.
__device__ u32 common(const TriangleArgs& a, Part one, Part other, u32 lane, u32 lanes, u64* hubs) {
    Part shorter = one.length < other.length ? one : other, longer = one.length < other.length ? other : one;
    u32 found = 0;
    for (u32 i = lane; i < shorter.length; i += lanes) {
        u32 w = __ldg(shorter.list + i);
        if (i > 0 && __ldg(shorter.list + i - 1) == w) continue;
        u64 at = entries_below(longer.list, longer.length, w);
        if (at == longer.length || __ldg(longer.list + at) != w) continue;
        atomicAdd(w < HUBS ? hubs + w : a.count + w, 1ull);
        found++;
    }
    return found;
}

__device__ void credit(const TriangleArgs& a, u32 v, u64 found, u64* hubs) {
    if (found) atomicAdd(v < HUBS ? hubs + v : a.count + v, found);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) triangles_count(const TriangleArgs a) {
    __shared__ u64 hubs[HUBS];
    for (u32 v = threadIdx.x; v < HUBS; v += blockDim.x) hubs[v] = 0;
    __syncthreads();
    for (;;) {
        u64 turn = 0;
        if (lane_id() == 0) turn = atomicAdd(a.next, 1ull);
        turn = __shfl_sync(FULL, turn, 0);
        u64 arc = a.first + turn * 32 + lane_id();
        if (arc - lane_id() >= a.last) break;
        u32 v = 0, u = 0;
        Part own = {a.columns, 0}, its = {a.columns, 0};
        if (arc < a.last) {
            v = row_of(a, arc);
            u = __ldg(a.columns + arc);
            u64 from = __ldg(a.offsets + v);
            if (u < v && (arc == from || __ldg(a.columns + arc - 1) != u)) {
                own.list = a.columns + from;
                own.length = (u32)(arc - from);
                its.list = a.columns + __ldg(a.offsets + u);
                its.length = __ldg(a.below + u);
            }
        }
        u32 shorter = min(own.length, its.length);
        if (shorter > 0 && shorter <= ALONE) {
            u32 found = common(a, own, its, 0, 1, hubs);
            credit(a, v, found, hubs);
            credit(a, u, found, hubs);
        }
        u32 longs = __ballot_sync(FULL, shorter > ALONE);
        while (longs) {
            u32 lane = (u32)__ffs((int)longs) - 1;
            longs &= longs - 1;
            Part mine, other;
            mine.list = a.columns + __shfl_sync(FULL, (u64)(own.list - a.columns), lane);
            mine.length = __shfl_sync(FULL, own.length, lane);
            other.list = a.columns + __shfl_sync(FULL, (u64)(its.list - a.columns), lane);
            other.length = __shfl_sync(FULL, its.length, lane);
            u32 larger = __shfl_sync(FULL, v, lane), middle = __shfl_sync(FULL, u, lane);
            u64 found = warp_sum(common(a, mine, other, lane_id(), 32, hubs));
            if (lane_id() == 0) {
                credit(a, larger, found, hubs);
                credit(a, middle, found, hubs);
            }
        }
    }
    __syncthreads();
    for (u32 v = threadIdx.x; v < HUBS; v += blockDim.x)
        if (hubs[v]) atomicAdd(a.count + v, hubs[v]);
}
