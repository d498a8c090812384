// Counts triangles again. Arcs are kept from the end of fewer arcs to that of more, ties by node, once each and no self loops; a
// triangle is found at its first node u: a node after u that is also after a node after u.

#include "arcs.cuh"

#define SMALL 32u     // nodes after u that a warp keeps
#define SLOTS 8192u   // of a hash table, a power of two; half of them are used at most

struct TrianglesArgs {  // @host
    Rows rows;
    u64* lengths;          // [nodes] nodes after each
    const u64* begins;     // [nodes + 1]
    u32* after;            // rows of nodes after each, rising
    u64* counts;           // [nodes] triangles
};

__device__ __forceinline__ u64 degree_of(const Rows& r, u32 v) { return r.offsets[v + 1] - r.offsets[v]; }

__device__ __forceinline__ bool comes_after(const Rows& r, u32 v, u32 u) {
    u64 one = degree_of(r, v), other = degree_of(r, u);
    return one > other || (one == other && v > u);
}

// An arc's place, and whether the arc before has another target.
struct Seen {
    u64 place;
    bool fresh;
};

__device__ __forceinline__ bool counts(const TrianglesArgs& a, u32 u, u32 v, u64 place, bool fresh) {
    return comes_after(a.rows, v, u) && (fresh || place == a.rows.offsets[u]);
}

extern "C" __global__ void __launch_bounds__(THREADS) check_triangles_count(TrianglesArgs a) {
    each_row_sum<u64>(
        a.rows,
        [&](u32 v, u64 place) {
            Seen seen = {place, place == 0 || a.rows.columns[place - 1] != v};
            return seen;
        },
        [&](u32 u, u32 v, Seen seen) { return (u64)counts(a, u, v, seen.place, seen.fresh); },
        [&](u32 u, u64 sum) { if (sum > 0) atomicAdd(a.lengths + u, sum); });
}

// A warp a row, which stays rising.
extern "C" __global__ void __launch_bounds__(THREADS) check_triangles_fill(TrianglesArgs a) {
    const u32 lane = threadIdx.x % 32;
    for (u64 u = this_thread() / 32; u < a.rows.nodes; u += all_threads() / 32) {
        u64 to = a.begins[u], end = a.rows.offsets[u + 1];
        if (to == a.begins[u + 1]) continue;
        for (u64 first = a.rows.offsets[u]; first < end; first += 32) {
            u64 at = first + lane;
            u32 v = at < end ? a.rows.columns[at] : 0;
            bool kept = at < end && counts(a, (u32)u, v, at, at == 0 || a.rows.columns[at - 1] != v);
            u32 all = __ballot_sync(0xffffffffu, kept);
            if (kept) a.after[to + __popc(all & ((1u << lane) - 1))] = v;
            to += __popc(all);
        }
    }
}

__device__ __forceinline__ u32 warp_total(u32 value) {
    for (u32 step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(0xffffffffu, value, step);
    return value;
}

// Nodes after u that are also after v, for u with few nodes after it: a warp a node, whose row lies in shared memory.
extern "C" __global__ void __launch_bounds__(THREADS) check_triangles_small(TrianglesArgs a) {
    __shared__ u32 rows[THREADS / 32u][SMALL];
    const u32 lane = threadIdx.x % 32;
    u32* row = rows[threadIdx.x / 32];
    for (u64 u = this_thread() / 32; u < a.rows.nodes; u += all_threads() / 32) {
        u64 begin = a.begins[u], length = a.begins[u + 1] - begin;
        if (length < 2 || length > SMALL) continue;
        __syncwarp();
        row[lane] = lane < length ? a.after[begin + lane] : NONE;
        __syncwarp();
        u32 all = 0;
        for (u32 i = 0; i < length; i++) {
            u32 v = row[i], found = 0;
            u64 end = a.begins[v + 1];
            for (u64 at = a.begins[v] + lane; at < end; at += 32) {
                u32 w = a.after[at], place = 0;
#pragma unroll
                for (u32 step = SMALL / 2; step > 0; step /= 2) {
                    if (row[place + step - 1] < w) place += step;
                }
                if (row[place] == w) {
                    found += 1;
                    atomicAdd(a.counts + w, 1ull);
                }
            }
            found = warp_total(found);
            if (lane == 0 && found > 0) atomicAdd(a.counts + v, (u64)found);
            all += found;
        }
        if (lane == 0 && all > 0) atomicAdd(a.counts + u, (u64)all);
    }
}

__device__ __forceinline__ u32 slot_of(u32 v) { return v * 2654435769u >> 19; }

// The same where there are more: a block a node, whose row is a hash table, or, where it is too long for one, is searched.
extern "C" __global__ void __launch_bounds__(THREADS) check_triangles_large(TrianglesArgs a) {
    __shared__ u32 table[SLOTS];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u64 u = blockIdx.x; u < a.rows.nodes; u += gridDim.x) {
        u64 begin = a.begins[u], length = a.begins[u + 1] - begin;
        if (length <= SMALL) continue;
        const bool hashed = length <= SLOTS / 2;
        __syncthreads();
        if (hashed) {
            for (u32 i = threadIdx.x; i < SLOTS; i += THREADS) table[i] = NONE;
            __syncthreads();
            for (u64 i = threadIdx.x; i < length; i += THREADS) {
                u32 v = a.after[begin + i], slot = slot_of(v);
                while (atomicCAS(table + slot, NONE, v) != NONE) slot = (slot + 1) % SLOTS;
            }
        }
        __syncthreads();
        u64 all = 0;
        for (u64 i = warp; i < length; i += THREADS / 32) {
            u32 v = a.after[begin + i], found = 0;
            u64 end = a.begins[v + 1];
            for (u64 at = a.begins[v] + lane; at < end; at += 32) {
                u32 w = a.after[at];
                bool there = false;
                if (hashed) {
                    u32 slot = slot_of(w), held;
                    while ((held = table[slot]) != NONE && held != w) slot = (slot + 1) % SLOTS;
                    there = held == w;
                } else {
                    u64 low = begin, high = begin + length;
                    while (low < high) {
                        u64 middle = low + (high - low) / 2;
                        if (a.after[middle] < w) low = middle + 1; else high = middle;
                    }
                    there = low < begin + length && a.after[low] == w;
                }
                if (there) {
                    found += 1;
                    atomicAdd(a.counts + w, 1ull);
                }
            }
            found = warp_total(found);
            if (lane == 0 && found > 0) atomicAdd(a.counts + v, (u64)found);
            all += found;
        }
        if (lane == 0 && all > 0) atomicAdd(a.counts + u, all);
    }
}
