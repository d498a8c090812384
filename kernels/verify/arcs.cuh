// The input's arcs, for kernels that check answers. They share no code with the kernels that they check, hence a header of
// their own.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

#define THREADS 256u  // @host
#define TILE 2048u    // @host arcs of a block at a time
#define NONE 0xffffffffu

// Arcs in the order of the rows: all, or those from `begin` to `stop`, where not all fit.
struct Rows {  // @host
    const u64* offsets;    // [nodes + 1]
    const u32* columns;    // [stop - begin]
    const float* weights;  // [stop - begin], or null
    u64 pair_key;          // of weights that are a hash of both ends
    u64 begin, stop;
    u32 nodes;
    u32 paired;  // not 0: weights are such; without either every arc counts 1
};

// What a check finds.
struct Findings {  // @host
    u64 reached;  // nodes
    u64 arcs;     // out of them
    u64 most;     // largest level, label count, or bits of a distance
    u64 others;   // what only this check counts
    u32 wrong;    // not 0: a rule is broken
    u32 changed;  // not 0: another pass is needed
};

// The row of `arc`, which is one of `low` to `high`.
__device__ __forceinline__ u32 row_of_arc(const u64* offsets, u32 low, u32 high, u64 arc) {
    while (low < high) {
        u32 middle = low + (high - low + 1) / 2;
        if (offsets[middle] <= arc) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// Calls visit(source, target, place) for every arc; `place` is into columns and weights. All threads of a block of THREADS take
// part.
template <class Visit>
__device__ __forceinline__ void each_arc(const Rows& r, Visit visit) {
    __shared__ u32 ends[2];
    for (u64 tile = r.begin + (u64)blockIdx.x * TILE; tile < r.stop; tile += (u64)gridDim.x * TILE) {
        u64 stop = tile + TILE < r.stop ? tile + TILE : r.stop;
        if (threadIdx.x < 2) {
            u64 arc = threadIdx.x == 0 ? tile : stop - 1;
            ends[threadIdx.x] = row_of_arc(r.offsets, 0, r.nodes - 1, arc);
        }
        __syncthreads();
        u32 row = ends[0];
        const u32 last = ends[1];
        for (u64 arc = tile + threadIdx.x; arc < stop; arc += THREADS) {
            row = row_of_arc(r.offsets, row, last, arc);
            visit(row, r.columns[arc - r.begin], arc - r.begin);
        }
        __syncthreads();
    }
}

// Adds up over rows: for every arc gather(target, place), then value(source, target, gathered), whose sums over stretches of a
// row come to add(source, sum), several times a row. All threads of a block of THREADS take part.
template <class Sum, class Gather, class Value, class Add>
__device__ __forceinline__ void each_row_sum(const Rows& r, Gather gather, Value value, Add add) {
    __shared__ u32 ends[2];
    const u32 each = TILE / THREADS, all = 0xffffffffu;
    for (u64 tile = r.begin + (u64)blockIdx.x * TILE; tile < r.stop; tile += (u64)gridDim.x * TILE) {
        u64 stop = tile + TILE < r.stop ? tile + TILE : r.stop;
        if (threadIdx.x < 2) {
            u64 arc = threadIdx.x == 0 ? tile : stop - 1;
            ends[threadIdx.x] = row_of_arc(r.offsets, 0, r.nodes - 1, arc);
        }
        __syncthreads();
        u64 first = tile + threadIdx.x * each;
        u32 count = first >= stop ? 0 : (u32)(stop - first < each ? stop - first : each);
        u32 columns[each];
        decltype(gather(0u, (u64)0)) gathered[each];
        if (count == each) {
            // Tiles begin on multiples of their length from the first arc on, and arrays on multiples of 256 bytes.
            const uint4* fours = (const uint4*)(r.columns + (first - r.begin));
#pragma unroll
            for (u32 i = 0; i < each / 4; i++) {
                uint4 four = fours[i];
                columns[4 * i] = four.x;
                columns[4 * i + 1] = four.y;
                columns[4 * i + 2] = four.z;
                columns[4 * i + 3] = four.w;
            }
        } else {
#pragma unroll
            for (u32 i = 0; i < each; i++) columns[i] = i < count ? r.columns[first + i - r.begin] : 0;
        }
#pragma unroll
        for (u32 i = 0; i < each; i++) {
            if (i < count) gathered[i] = gather(columns[i], first + i - r.begin);
        }
        u32 row = count > 0 ? row_of_arc(r.offsets, ends[0], ends[1], first) : 0;
        u64 end = r.offsets[row + 1];
        bool one = count > 0;
        Sum sum = 0;
#pragma unroll
        for (u32 i = 0; i < each; i++) {
            if (i < count) {
                if (first + i >= end) {
                    add(row, sum);
                    sum = 0;
                    one = false;
                    row = row_of_arc(r.offsets, row + 1, ends[1], first + i);
                    end = r.offsets[row + 1];
                }
                sum += value(row, columns[i], gathered[i]);
            }
        }
        // Long rows fill whole warps.
        u32 first_row = __shfl_sync(all, row, 0);
        if (__all_sync(all, one && row == first_row)) {
            for (u32 step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(all, sum, step);
            if (threadIdx.x % 32 == 0) add(row, sum);
        } else if (count > 0) {
            add(row, sum);
        }
        __syncthreads();
    }
}

__device__ __forceinline__ u64 scrambled(u64 x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

// The weight of an arc where it is a hash of both ends.
__device__ __forceinline__ float weight_of_pair(const Rows& r, u32 source, u32 target) {
    u64 less = source < target ? source : target, more = source < target ? target : source;
    u64 drawn = scrambled(r.pair_key + ((less << 32 | more) + 1) * 0x9e3779b97f4a7c15ull);
    return (float)(1 + (drawn >> 58));
}

// The weight of the arc at `place`, from `source` to `target`.
__device__ __forceinline__ float weight_at(const Rows& r, u32 source, u32 target, u64 place) {
    if (r.weights) return r.weights[place];
    return r.paired ? weight_of_pair(r, source, target) : 1.0f;
}

// Threads of the grid, and this one's number.
__device__ __forceinline__ u64 all_threads() { return (u64)gridDim.x * blockDim.x; }
__device__ __forceinline__ u64 this_thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// Adds up over the warp, whose threads all take part; into `to`, once.
__device__ __forceinline__ void add_all(u64* to, u64 value) {
    for (u32 step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0 && value > 0) atomicAdd(to, value);
}

__device__ __forceinline__ void add_all(double* to, double value) {
    for (u32 step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0 && value != 0.0) atomicAdd(to, value);
}

__device__ __forceinline__ void most_of_all(u64* to, u64 value) {
    for (u32 step = 16; step > 0; step >>= 1) {
        u64 other = __shfl_xor_sync(0xffffffffu, value, step);
        if (other > value) value = other;
    }
    if (threadIdx.x % 32 == 0 && value > 0) atomicMax(to, value);
}

// The place of node v's id among all ids; `ranks` is null where ids rise with nodes.
__device__ __forceinline__ u32 rank_of(const u32* ranks, u32 v) { return ranks ? ranks[v] : v; }
