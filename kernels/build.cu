// The CSR of a list of arcs: the same arrays, to the byte, as src/graph/build.rs makes on the host.
//
// Every arc becomes a 64-bit key with its row in the upper half; sort.cu sorts the keys. Rows are built in ranges, so that the
// keys of a range fit the scratch memory. Where arcs have no weights, the lower half of a key is the column, and the sorted keys
// are the rows. Where they have, it is the arc's item, which leads to column and weight, and the upper half is in turn what
// decides last (weight, or place in the list), the column, and the row: a stable sort by each leaves the arcs of a row in the
// order of all three. Then arcs that do not stay are left out.

#include "keys.cuh"
#include "mix.cuh"
#include "rows.cuh"

#define LONGEST_RUN (1u << 22)  // repeated arcs whose weights one thread adds

// The list. An item is an arc of it: its place, and whether it is turned around.
struct Arcs {  // @host
    const u32* pairs;      // [2 * count] source and target
    const float* weights;  // [count], or 0 where every arc weighs 1
    u64 count;
    u32 mirror;  // 1: an arc between two nodes stands for its reverse as well
    u32 unused;
};

// How the ids of a list become nodes.
struct RenumberArgs {  // @host
    u32* ids;          // [count] in place
    const u64* used;   // bitmap of the ids that occur, or 0 where nodes are the ids less a number
    const u32* below;  // by word of `used`: ids that occur in the words before
    u64 count;
    u32 less;
    u32 unused;
};

struct RangeArgs {  // @host
    const float* weights;  // [count]
    u32* ends;             // [2] complement of the least bits of a weight, and the largest, each taken as a maximum
    u64 count;
};

struct CountArgs {  // @host
    Arcs arcs;
    u64* buckets;  // [bucket_count] arcs, added to
    u32 shift;     // bucket = row >> shift
    u32 bucket_count;
};

// What a key holds beside its row, or in the place of it.
enum KeyHalf { HALF_COLUMN, HALF_PLACE, HALF_WEIGHT };  // @host

struct SelectArgs {  // @host
    Arcs arcs;
    u64* keys;    // [capacity], in any order
    u64* cursor;  // keys so far; past `capacity` they are counted only
    u64 capacity;
    u32 first;  // rows from here on
    u32 rows;
    u32 half;  // a KeyHalf: row and column, the item alone, or weight and item
    u32 bias;  // bits of the lightest weight
};

struct TurnArgs {  // @host
    Arcs arcs;
    u64* keys;  // [count] the lower half is an item; the upper half becomes another
    u64 count;
    u32 first;
    u32 to_row;  // 1: row - first; 0: column
};

// Which of several arcs of one row and column stay.
enum Repeats { REPEATS_ALL, REPEATS_FIRST, REPEATS_LAST, REPEATS_SUM };  // @host

// What was found on the way, added up over all ranges.
struct BuildCounts {  // @host
    u64 self_loops;
    u64 duplicates;
    u64 loops_kept;
    u32 long_runs;  // not 0: some weights are too many for a thread to add
    u32 not_finite; // not 0: some sum is not finite, or a whole number that f32 does not hold
};

struct KeepArgs {  // @host
    Arcs arcs;
    const u64* keys;  // [count] sorted: row - first, and column or item
    u64* kept;        // [count] those that stay
    u64* sums;        // [tiles + 1] arcs that stay, by tile; then those before each tile
    BuildCounts* counts;
    u32* columns;    // of all rows
    float* weights;  // the same, or 0
    u64 count;
    u64 base;  // arcs of the rows before
    u32 tiles;
    u32 items;  // keys hold items
    u32 drop_loops;
    u32 repeats;  // a Repeats
    u32 rounded;  // sums may lose digits of whole numbers
    u32 first;
};

struct RowArgs {  // @host
    const u64* keys;  // [count] that stay
    u64* offsets;     // [nodes + 1]
    u64 count;
    u64 base;
    u64 nodes;
    u32 first;
    u32 rows;
};

// Finished rows.
struct Csr {  // @host
    const u64* offsets;  // [nodes + 1]
    const u32* columns;  // [arcs]
    float* weights;      // [arcs], or 0
    u64 arcs;
    u64 nodes;
};

struct ListArgs {  // @host
    Csr csr;
    u32* pairs;  // [2 * arcs]
};

struct WeighArgs {  // @host
    Csr csr;
    u64 key;
    u64 span;
    float low, step;
    u32 unordered;  // 1: a pair weighs the same both ways
    u32 unused;
};

__device__ __forceinline__ uint2 arc_at(const Arcs& arcs, u64 place) {
    return __ldg((const uint2*)arcs.pairs + place);
}

// Row and column of an item.
__device__ __forceinline__ uint2 arc_of(const Arcs& arcs, u32 item) {
    uint2 arc = arc_at(arcs, item >> arcs.mirror);
    return (item & arcs.mirror) ? make_uint2(arc.y, arc.x) : arc;
}

__device__ __forceinline__ float weight_of(const Arcs& arcs, u32 item) {
    return arcs.weights ? __ldg(arcs.weights + (item >> arcs.mirror)) : 1.0f;
}

extern "C" __global__ void __launch_bounds__(THREADS) build_renumber(RenumberArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        u32 id = a.ids[i];
        if (a.used) {
            u64 before = __ldg(a.used + id / 64u) & ((1ull << (id & 63u)) - 1ull);
            a.ids[i] = __ldg(a.below + id / 64u) + (u32)__popcll(before);
        } else {
            a.ids[i] = id - a.less;
        }
    }
}

// Bits of weights >= 0 are in the order of the weights.
extern "C" __global__ void __launch_bounds__(THREADS) build_range(RangeArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    u32 low = 0, high = 0;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        u32 bits = __float_as_uint(__ldg(a.weights + i));
        low = max(low, ~bits);
        high = max(high, bits);
    }
    low = warp_max(low);
    high = warp_max(high);
    if (lane_id() == 0) {
        atomicMax(a.ends, low);
        atomicMax(a.ends + 1, high);
    }
}

// Arcs by bucket of rows.
extern "C" __global__ void __launch_bounds__(THREADS) build_count(CountArgs a) {
    __shared__ u32 local[4096];  // a list has fewer than 2^32 arcs
    for (u32 b = threadIdx.x; b < a.bucket_count; b += THREADS) local[b] = 0;
    __syncthreads();
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.arcs.count; i += stride) {
        uint2 arc = arc_at(a.arcs, i);
        atomicAdd(&local[arc.x >> a.shift], 1u);
        if (a.arcs.mirror && arc.x != arc.y) atomicAdd(&local[arc.y >> a.shift], 1u);
    }
    __syncthreads();
    for (u32 b = threadIdx.x; b < a.bucket_count; b += THREADS) {
        if (local[b] > 0) atomicAdd(a.buckets + b, (u64)local[b]);
    }
}

// The keys of the arcs whose row is in the range.
extern "C" __global__ void __launch_bounds__(THREADS) build_select(SelectArgs a) {
    __shared__ u64 room[THREADS / 32u];
    const u64 step = (u64)gridDim.x * TILE;
    // `begin` is the same for all threads of a block, so that they meet at every barrier.
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs.count; begin += step) {
        u64 key[2 * ITEMS];
        u32 wanted = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 place = begin + i * THREADS + threadIdx.x;
            key[2 * i] = key[2 * i + 1] = 0;
            if (place < a.arcs.count) {
                uint2 arc = arc_at(a.arcs, place);
                u32 out = arc.x - a.first, back = arc.y - a.first;  // huge when below
                u32 item = (u32)place << a.arcs.mirror;
                if (a.half == HALF_COLUMN) {
                    key[2 * i] = (u64)out << 32 | arc.y;
                    key[2 * i + 1] = (u64)back << 32 | arc.x;
                } else {
                    u32 upper = a.half == HALF_WEIGHT ? __float_as_uint(weight_of(a.arcs, item)) - a.bias : 0;
                    key[2 * i] = (u64)upper << 32 | item;
                    key[2 * i + 1] = key[2 * i] | 1u;
                }
                if (out < a.rows) wanted |= 1u << (2 * i);
                if (a.arcs.mirror && back < a.rows && arc.x != arc.y) wanted |= 2u << (2 * i);
            }
        }
        append(key, wanted, a.keys, a.cursor, a.capacity, room);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) build_turn(TurnArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        u32 item = (u32)a.keys[i];
        uint2 arc = arc_of(a.arcs, item);
        u32 upper = a.to_row ? arc.x - a.first : arc.y;
        a.keys[i] = (u64)upper << 32 | item;
    }
}

__device__ __forceinline__ u32 column_of(const KeepArgs& a, u64 key) {
    return a.items ? arc_of(a.arcs, (u32)key).y : (u32)key;
}

// Whether the keys at two places are of the same row and column.
__device__ __forceinline__ bool same_pair(const KeepArgs& a, u64 at, u64 other) {
    u64 key = __ldg(a.keys + at), second = __ldg(a.keys + other);
    return key >> 32 == second >> 32 && column_of(a, key) == column_of(a, second);
}

struct Standing {
    bool loop, repeated, stays;
};

__device__ __forceinline__ Standing standing(const KeepArgs& a, u64 at) {
    u64 key = __ldg(a.keys + at);
    Standing found;
    found.loop = a.first + (u32)(key >> 32) == column_of(a, key);
    found.repeated = at > 0 && same_pair(a, at - 1, at);
    bool chosen = a.repeats == REPEATS_ALL || !found.repeated;
    if (a.repeats == REPEATS_LAST) chosen = at + 1 == a.count || !same_pair(a, at, at + 1);
    found.stays = chosen && !(found.loop && a.drop_loops);
    return found;
}

// Arcs that stay, 1 of 3: how many of each tile, and what all of them are.
extern "C" __global__ void __launch_bounds__(THREADS) build_keep_count(KeepArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 loops = 0, repeated = 0, loops_kept = 0;
    u32 long_run = 0;
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + threadIdx.x, stays = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 at = start + i * THREADS;
            if (at < a.count) {
                Standing found = standing(a, at);
                stays += found.stays;
                loops += found.loop;
                repeated += found.repeated;
                loops_kept += found.loop && found.stays;
                if (a.items && a.repeats == REPEATS_SUM && at + LONGEST_RUN < a.count) {
                    long_run |= same_pair(a, at, at + LONGEST_RUN);
                }
            }
        }
        u64 total = block_sum(stays, room);
        if (threadIdx.x == 0) a.sums[tile] = total;
    }
    loops = block_sum(loops, room);
    repeated = block_sum(repeated, room);
    loops_kept = block_sum(loops_kept, room);
    long_run = warp_or(long_run);
    if (threadIdx.x == 0) {
        if (loops > 0) atomicAdd(&a.counts->self_loops, loops);
        if (repeated > 0) atomicAdd(&a.counts->duplicates, repeated);
        if (loops_kept > 0) atomicAdd(&a.counts->loops_kept, loops_kept);
    }
    if (lane_id() == 0 && long_run) atomicOr(&a.counts->long_runs, 1u);
}

// Arcs that stay, 2 of 3: one block turns the sums into what comes before each tile.
extern "C" __global__ void __launch_bounds__(THREADS) build_keep_scan(KeepArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 total = scan_tiles<THREADS>(a.sums, a.tiles, room);
    if (threadIdx.x == 0) a.sums[a.tiles] = total;
}

// The weights of the run that begins at `at`, added in its order.
__device__ double summed(const KeepArgs& a, u64 at) {
    u64 key = __ldg(a.keys + at);
    if (!a.items) {
        // All weigh 1, and keys of the run are equal.
        u64 low = at, high = a.count;
        while (low < high) {
            u64 middle = low + (high - low) / 2;
            if (__ldg(a.keys + middle) <= key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return (double)(low - at);
    }
    double sum = (double)weight_of(a.arcs, (u32)key);
    for (u64 next = at + 1; next < a.count && same_pair(a, at, next); next++) {
        sum += (double)weight_of(a.arcs, (u32)__ldg(a.keys + next));
    }
    return sum;
}

// Arcs that stay, 3 of 3: their columns, weights and keys, in order.
extern "C" __global__ void __launch_bounds__(THREADS) build_keep(KeepArgs a) {
    __shared__ u64 room[THREADS / 32u];
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + threadIdx.x * ITEMS;
        u32 stays = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            if (start + i < a.count && standing(a, start + i).stays) stays |= 1u << i;
        }
        u64 total;
        u64 to = block_scan((u64)__popc(stays), room, &total) + a.sums[tile];
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            if (!(stays >> i & 1u)) continue;
            u64 key = __ldg(a.keys + start + i);
            a.kept[to] = key;
            a.columns[a.base + to] = column_of(a, key);
            if (a.weights) {
                float weight = a.items ? weight_of(a.arcs, (u32)key) : 1.0f;
                if (a.repeats == REPEATS_SUM) {
                    double sum = summed(a, start + i);
                    weight = (float)sum;
                    bool finite = __float_as_uint(weight) < INFINITE;
                    bool lost = finite && (double)weight != sum && trunc(sum) == sum;
                    if (!finite || (lost && !a.rounded)) atomicOr(&a.counts->not_finite, 1u);
                }
                a.weights[a.base + to] = weight;
            }
            to++;
        }
    }
}

// offsets[first + r] for r in 0..=rows: the keys below row r's first possible one.
extern "C" __global__ void __launch_bounds__(THREADS) build_rows(RowArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 r = (u64)blockIdx.x * THREADS + threadIdx.x; r <= a.rows; r += stride) {
        if (a.first + r > a.nodes) break;
        a.offsets[a.first + r] = a.base + keys_below(a.keys, a.count, r << 32);
    }
}

// Rows become a list again.
extern "C" __global__ void __launch_bounds__(THREADS) build_list(ListArgs a) {
    __shared__ u32 row_of[TILE];
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.csr.arcs; begin += step) {
        u64 stop = min(begin + TILE, a.csr.arcs);
        u32 first = tile_rows(a.csr.offsets, 0, (u32)a.csr.nodes, begin, stop, row_of);
        for (u64 at = begin + threadIdx.x; at < stop; at += THREADS) {
            ((uint2*)a.pairs)[at] = make_uint2(first + row_of[at - begin], __ldg(a.csr.columns + at));
        }
        __syncthreads();
    }
}

// Random weights: `Graph::with_random_weights`.
extern "C" __global__ void __launch_bounds__(THREADS) build_weigh(WeighArgs a) {
    __shared__ u32 row_of[TILE];
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.csr.arcs; begin += step) {
        u64 stop = min(begin + TILE, a.csr.arcs);
        u32 first = tile_rows(a.csr.offsets, 0, (u32)a.csr.nodes, begin, stop, row_of);
        for (u64 at = begin + threadIdx.x; at < stop; at += THREADS) {
            u32 u = first + row_of[at - begin], v = __ldg(a.csr.columns + at);
            if (a.unordered && u > v) {
                u32 other = u;
                u = v;
                v = other;
            }
            u64 draw = hash(a.key, (u64)u << 32 | v);
            // Rounded after each step, as on the host.
            a.csr.weights[at] = __fadd_rn(a.low, __fmul_rn((float)__umul64hi(draw, a.span), a.step));
        }
        __syncthreads();
    }
}
