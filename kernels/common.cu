// Common neighbours of a node and all others, row by row, and what is kept of them.
//
// A wedge u -> w <- v adds one to the count of v in the row of u, or a weight of w. A row of few wedges is counted by a warp in
// a table of its own in shared memory. Of any other row a block counts one tile of nodes after another: a counter a node, in
// shared memory. The part of the row into w that lies in a tile is found by bisection, since rows rise; such parts are dealt to
// all threads by their lengths. Counters are added up in whole numbers, so that the order of additions does not matter.
//
// Where there are few rows, several blocks count one, each a part of its tiles, and keep the best of these.
//
// The best of a row are kept in a buffer. When it is full it is sorted, and the last of the best is a bound to what comes.
//
// Source: Gustavson, "Two fast algorithms for sparse matrices", ACM TOMS 4(3), 1978 (row by row); Nagasaka, Nukada, Matsuoka,
// "High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA Pascal GPU", ICPP 2017 (tables in
// shared memory for rows by their size).
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "hive.cuh"

#define JACCARD 0u  // @host
#define OVERLAP 1u  // @host
#define COSINE 2u  // @host
#define SUM 3u  // @host

#define THREADS 512u  // @host of a block that counts tiles
#define KEPT 1024u  // @host places of the buffer
#define WARPS 4u  // @host of a block that counts in tables
#define WEDGES 256u  // @host most of a row that is counted in a table
#define SLOTS 512u  // @host of a table
static const u32 NONE = 0xffffffffu;

struct CommonArgs {  // @host
    const offset_t* out_offsets;
    const u32* out_columns;
    const offset_t* in_offsets;
    const u32* in_columns;
    const u32* degree;  // [active] neighbours, without the node itself
    const u32* name;    // [active] what equal ones are ordered by
    const u64* weight;  // [active] what a common neighbour adds; NULL: one
    const u32* rows;    // labels, in the order in which they are counted
    u64* next;          // how many are taken
    u32* lengths;       // [last - first, parts] pairs that are kept, or would be
    const u64* starts;  // [last - first] where pairs are written; NULL: they are counted, or the best of a row are sought
    u32* others;        // labels
    double* values;
    double least;  // the value that pairs need
    double unit;   // what one of the counter is worth
    u32 first, last;  // rows
    u32 active;
    u32 tile;     // nodes
    u32 best;     // so many of each row are kept, behind each other; 0: all that have the least value and a higher name
    u32 measure;
    u32 backward;  // tiles of the last nodes come first
    u32 loops;     // rows may hold their own node
    u32 parts;     // of the tiles of a row
    u32 unused;
};

struct PairArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    const u32* degree;
    const u64* weight;
    const u32* pairs;  // [count][2] labels
    double* values;    // [count]
    u64* next;
    double unit;
    u64 count;
    u32 measure;
    u32 unused;
};

// Operations that are rounded once, as the host rounds them.
__device__ double value_of(u32 measure, double unit, u64 common, u32 one, u32 other) {
    double found = (double)common;
    if (measure == JACCARD) return __ddiv_rn(found, (double)((u64)one + other - common));
    if (measure == OVERLAP) return __ddiv_rn(found, (double)min(one, other));
    if (measure == COSINE) return __ddiv_rn(found, __dsqrt_rn((double)((u64)one * other)));
    return __dmul_rn(found, unit);
}

// False only where the value is below the bound, but for its rounding, which is far smaller than the room that is left.
__device__ __forceinline__ bool may_reach(u32 measure, double unit, u64 common, u32 one, u32 other, double bound) {
    if (bound <= 0.0) return true;
    bound *= 1.0 - 1e-9;
    double found = (double)common;
    if (measure == JACCARD) return found >= bound * (double)((u64)one + other - common);
    if (measure == OVERLAP) return found >= bound * (double)min(one, other);
    if (measure == COSINE) return found * found >= bound * bound * ((double)one * (double)other);
    return found * unit >= bound;
}

// The first place in from..end of rising columns whose label is not below `v`.
__device__ __forceinline__ u64 place_of(const u32* columns, u64 from, u64 end, u32 v) {
    while (from < end) {
        u64 middle = (from + end) / 2;
        if (__ldg(columns + middle) < v) from = middle + 1;
        else end = middle;
    }
    return from;
}

// Whether a pair comes before another; NONE comes last.
__device__ __forceinline__ bool before(const CommonArgs& a, double value, u32 label, double other, u32 its) {
    if (value != other) return value > other;
    if (label == NONE || its == NONE) return label != NONE && its == NONE;
    return __ldg(a.name + label) < __ldg(a.name + its);
}

// What a block keeps of a row: the best so far, and a bound.
struct Best {
    double* values;  // [KEPT]
    u32* labels;     // [KEPT]
    u32* fill;       // of the buffer; more where some found no place
    double* bound;   // the value of the last of the best, below 0 while there are fewer
    u32* last;       // its label
};

// Sorts the buffer, and keeps the best.
__device__ void keep_best(const CommonArgs& a, const Best& b) {
    __syncthreads();
    u32 fill = min(*b.fill, KEPT);
    for (u32 i = fill + threadIdx.x; i < KEPT; i += blockDim.x) {
        b.values[i] = -1.0;
        b.labels[i] = NONE;
    }
    u32 size = 2;
    while (size < fill) size *= 2;
    for (u32 length = 2; length <= size; length *= 2) {
        for (u32 step = length / 2; step > 0; step /= 2) {
            __syncthreads();
            for (u32 i = threadIdx.x; i < size / 2; i += blockDim.x) {
                u32 low = 2 * i - (i & (step - 1)), high = low + step;
                bool falls = (low & length) == 0;
                double x = b.values[low], y = b.values[high];
                u32 one = b.labels[low], other = b.labels[high];
                if (before(a, y, other, x, one) == falls && (x != y || one != other)) {
                    b.values[low] = y;
                    b.values[high] = x;
                    b.labels[low] = other;
                    b.labels[high] = one;
                }
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        *b.fill = min(fill, a.best);
        if (fill >= a.best) {
            *b.bound = b.values[a.best - 1];
            *b.last = b.labels[a.best - 1];
        }
    }
    __syncthreads();
}

__device__ __forceinline__ void add(u32* counter, u32 what) { atomicAdd(counter, what); }
__device__ __forceinline__ void add(u64* counter, u64 what) { atomicAdd(counter, what); }

// What a wedge over w adds.
template <typename T> __device__ __forceinline__ T part_of(const CommonArgs& a, u32 w) {
    return sizeof(T) == 4 ? (T)1 : (T)__ldg(a.weight + w);
}

// How many segments end at position p or before, of which the first `low` do.
__device__ __forceinline__ u32 segment_of(const u32* ends, u32 low, u32 p) {
    u32 high = THREADS;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (ends[middle] <= p) low = middle + 1;
        else high = middle;
    }
    return low;
}

// A block a part of a row.
template <typename T> __device__ void count_tiles(const CommonArgs& a) {
    extern __shared__ u64 memory[];
    u64* begins = memory;                     // [THREADS] where a segment lies, but for the positions before it
    double* values = (double*)(begins + THREADS);  // [KEPT]
    T* counters = (T*)(values + KEPT);        // [tile]
    u32* ends = (u32*)(counters + a.tile);    // [THREADS] positions up to the end of a segment
    u32* middles = ends + THREADS;            // [THREADS] whose row it is of
    u32* labels = middles + THREADS;          // [KEPT]
    __shared__ u64 room[THREADS / 32];
    __shared__ u64 taken;
    __shared__ u32 fill, last;
    __shared__ double bound;
    Best best = {values, labels, &fill, &bound, &last};
    u64 all = (u64)(a.last - a.first) * a.parts;
    for (u32 i = threadIdx.x; i < a.tile; i += THREADS) counters[i] = 0;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            taken = atomicAdd(a.next, 1ull);
            fill = 0;
            bound = a.best ? -1.0 : a.least;
            last = NONE;
        }
        __syncthreads();
        if (taken >= all) return;
        u32 part = (u32)(taken % a.parts), u = __ldg(a.rows + (a.first + taken / a.parts)), name = __ldg(a.name + u);
        u32 own = __ldg(a.degree + u);
        u64 from = __ldg(a.out_offsets + u), row = degree_of(a.out_offsets, u);
        u64 start = a.starts ? __ldg(a.starts + taken) : taken * a.best;
        u32 tiles = (u32)(((u64)a.active + a.tile - 1) / a.tile);
        u32 begun = (u32)((u64)tiles * part / a.parts), ended = (u32)((u64)tiles * (part + 1) / a.parts);
        u64 edge = 0;
        for (u32 k = begun; k < ended; k++) {
            u32 low = (a.backward ? tiles - 1 - k : k) * a.tile;
            u32 high = (u32)min((u64)low + a.tile, (u64)a.active);
            u64 wedges = 0;
            for (u64 base = 0; base < row; base += THREADS) {
                u64 at = base + threadIdx.x, begin = 0, length = 0;
                u32 w = NONE;
                if (at < row) w = __ldg(a.out_columns + from + at);
                if (w != NONE && w != u) {
                    u64 lower = __ldg(a.in_offsets + w), upper = __ldg(a.in_offsets + w + 1);
                    // Tiles are beside each other: one bound of a short row is that of the tile before.
                    bool known = k > begun && row <= THREADS;
                    u64 end;
                    if (known && a.backward) {
                        end = edge;
                        begin = edge = place_of(a.in_columns, lower, end, low);
                    } else {
                        begin = known ? edge : place_of(a.in_columns, lower, upper, low);
                        end = place_of(a.in_columns, begin, upper, high);
                        edge = a.backward ? begin : end;
                    }
                    length = end - begin;
                }
                u64 total, place = block_scan(length, room, &total);
                begins[threadIdx.x] = begin - place;
                ends[threadIdx.x] = (u32)(place + length);
                middles[threadIdx.x] = w;
                __syncthreads();
                wedges += total;
                // A warp goes through positions beside each other.
                u32 slice = ((u32)total + THREADS - 1) / THREADS * 32;
                u32 stop = min((u32)total, (warp_id() + 1) * slice), segment = 0;
                for (u32 p = warp_id() * slice + lane_id(); p < stop; p += 32) {
                    if (ends[segment] <= p) segment = segment_of(ends, segment, p);
                    u32 v = __ldg(a.in_columns + begins[segment] + p), over = middles[segment];
                    if (!a.loops || v != over) add(counters + (v - low), part_of<T>(a, over));
                }
                __syncthreads();
            }
            if (wedges == 0) continue;
            for (bool again = true; again;) {
                for (u32 i = threadIdx.x; i < high - low; i += THREADS) {
                    T common = counters[i];
                    if (common == 0) continue;
                    u32 v = low + i, other = __ldg(a.degree + v);
                    bool wanted = v != u && may_reach(a.measure, a.unit, common, own, other, bound);
                    double value = 0.0;
                    if (wanted) {
                        value = value_of(a.measure, a.unit, common, own, other);
                        wanted = a.best ? before(a, value, v, bound, last) : value >= bound && __ldg(a.name + v) > name;
                    }
                    if (wanted) {
                        u32 place = atomicAdd(&fill, 1u);
                        if (a.best) {
                            // It stays where it is until there is a place.
                            if (place >= KEPT) continue;
                            values[place] = value;
                            labels[place] = v;
                        } else if (a.starts) {
                            a.others[start + place] = v;
                            a.values[start + place] = value;
                        }
                    }
                    counters[i] = 0;
                }
                __syncthreads();
                again = a.best && fill > KEPT;
                if (a.best && fill >= KEPT) keep_best(a, best);
                __syncthreads();
            }
        }
        if (a.best) {
            keep_best(a, best);
            for (u32 i = threadIdx.x; i < fill; i += THREADS) {
                a.others[start + i] = labels[i];
                a.values[start + i] = values[i];
            }
        }
        if (threadIdx.x == 0) a.lengths[taken] = fill;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) common_tiles(const CommonArgs a) { count_tiles<u32>(a); }
extern "C" __global__ void __launch_bounds__(THREADS, 2) common_tiles_weighed(const CommonArgs a) { count_tiles<u64>(a); }

// A warp a row of at most WEDGES wedges.
template <typename T> __device__ void count_tables(const CommonArgs& a) {
    extern __shared__ u64 memory[];
    // What a warp has: values and counters of 8 bytes at most, then keys and labels.
    double* values = (double*)memory + warp_id() * WEDGES;
    T* counters = (T*)((double*)memory + WARPS * WEDGES) + warp_id() * SLOTS;
    u32* keys = (u32*)((T*)((double*)memory + WARPS * WEDGES) + WARPS * SLOTS) + warp_id() * (SLOTS + WEDGES);
    u32* labels = keys + SLOTS;
    u32 lane = lane_id();
    for (;;) {
        u64 taken = 0;
        if (lane == 0) taken = atomicAdd(a.next, 1ull);
        taken = __shfl_sync(FULL, taken, 0);
        if (taken >= a.last - a.first) return;
        u32 turn = a.first + (u32)taken;
        u32 u = __ldg(a.rows + turn), name = __ldg(a.name + u);
        u32 own = __ldg(a.degree + u);
        u64 from = __ldg(a.out_offsets + u);
        u32 row = (u32)degree_of(a.out_offsets, u);
        u64 start = a.starts ? __ldg(a.starts + taken) : taken * a.best;
        for (u32 i = lane; i < SLOTS; i += 32) {
            keys[i] = NONE;
            counters[i] = 0;
        }
        __syncwarp();
        for (u32 base = 0; base < row; base += 32) {
            u32 w = base + lane < row ? __ldg(a.out_columns + from + base + lane) : u;
            u64 begin = 0;
            u32 length = 0;
            if (w != u) {
                begin = __ldg(a.in_offsets + w);
                length = (u32)degree_of(a.in_offsets, w);
            }
            u32 end = warp_scan(length), total = __shfl_sync(FULL, end, 31);
            begin -= end - length;
            for (u32 first = 0; first < total; first += 32) {
                // Whose segment a position is in: the lanes whose segments end at it or before are behind it.
                u32 p = first + lane, segment = 0;
#pragma unroll
                for (u32 step = 16; step > 0; step >>= 1)
                    if (__shfl_sync(FULL, end, segment + step - 1) <= p) segment += step;
                u64 at = __shfl_sync(FULL, begin, segment) + p;
                u32 over = __shfl_sync(FULL, w, segment);
                if (p >= total) continue;
                u32 v = __ldg(a.in_columns + at);
                if (v == over || v == u) continue;
                u32 slot = v * 2654435761u >> 23;
                for (;; slot = (slot + 1) & (SLOTS - 1)) {
                    u32 there = atomicCAS(keys + slot, NONE, v);
                    if (there == NONE || there == v) break;
                }
                add(counters + slot, part_of<T>(a, over));
            }
            __syncwarp();
        }
        u32 many = 0;
        for (u32 first = 0; first < SLOTS; first += 32) {
            u32 v = keys[first + lane];
            bool wanted = v != NONE;
            double value = 0.0;
            if (wanted) {
                value = value_of(a.measure, a.unit, counters[first + lane], own, __ldg(a.degree + v));
                wanted = a.best || (value >= a.least && __ldg(a.name + v) > name);
            }
            u32 all = __ballot_sync(FULL, wanted), place = many + __popc(all & ((1u << lane) - 1u));
            if (wanted && a.best) {
                values[place] = value;
                labels[place] = v;
            } else if (wanted && a.starts) {
                a.others[start + place] = v;
                a.values[start + place] = value;
            }
            many += __popc(all);
        }
        __syncwarp();
        u32 length = a.best ? min(many, a.best) : many;
        if (a.best)
            for (u32 k = 0; k < length; k++) {
                double value = -1.0;
                u32 label = NONE, place = 0;
                for (u32 i = lane; i < many; i += 32)
                    if (before(a, values[i], labels[i], value, label)) value = values[i], label = labels[i], place = i;
#pragma unroll
                for (u32 step = 16; step > 0; step >>= 1) {
                    double other = __shfl_xor_sync(FULL, value, step);
                    u32 its = __shfl_xor_sync(FULL, label, step), where = __shfl_xor_sync(FULL, place, step);
                    if (before(a, other, its, value, label)) value = other, label = its, place = where;
                }
                if (lane == 0) {
                    a.others[start + k] = label;
                    a.values[start + k] = value;
                    // It is the best no more.
                    values[place] = -1.0;
                    labels[place] = NONE;
                }
                __syncwarp();
            }
        if (lane == 0) a.lengths[turn - a.first] = length;
        __syncwarp();
    }
}

extern "C" __global__ void common_tables(const CommonArgs a) { count_tables<u32>(a); }
extern "C" __global__ void common_tables_weighed(const CommonArgs a) { count_tables<u64>(a); }

// A warp a pair: the shorter row is gone through, the longer one searched.
extern "C" __global__ void common_pairs(const PairArgs a) {
    for (;;) {
        u64 pair = 0;
        if (lane_id() == 0) pair = atomicAdd(a.next, 1ull);
        pair = __shfl_sync(FULL, pair, 0);
        if (pair >= a.count) return;
        u32 u = __ldg(a.pairs + 2 * pair), v = __ldg(a.pairs + 2 * pair + 1);
        u32 one = __ldg(a.degree + u), other = __ldg(a.degree + v);
        u64 from = __ldg(a.offsets + u), end = __ldg(a.offsets + u + 1);
        u64 its = __ldg(a.offsets + v), its_end = __ldg(a.offsets + v + 1);
        if (end - from > its_end - its) {
            u64 kept = from, kept_end = end;
            from = its, end = its_end, its = kept, its_end = kept_end;
        }
        u64 found = 0;
        for (u64 at = from + lane_id(); at < end; at += 32) {
            u32 w = __ldg(a.columns + at);
            if (w == u || w == v) continue;
            u64 place = place_of(a.columns, its, its_end, w);
            if (place < its_end && __ldg(a.columns + place) == w) found += a.weight ? __ldg(a.weight + w) : 1;
        }
        found = warp_sum(found);
        if (lane_id() == 0) a.values[pair] = found == 0 ? 0.0 : value_of(a.measure, a.unit, found, one, other);
    }
}
