// The operators, as templates over a user's lambda. src/operator/code.rs writes the kernel that calls one.
#pragma once
#include "lambda.cuh"

// What is run over: elements first..last; where `bits` is given, those of them that are in the set.
struct Shape {  // @host
    u64 first, last;
    const u32* bits;
    const u32* lines;  // its marks
    u32* queue;    // the output of a filter
    u64* control;  // [0] length of the queue, or arcs out of the set
    u64* partial;  // partial results, or counts of tiles
    u32* marks;    // ballots of a filter
    u64 capacity;  // of the queue, bins of a histogram, or most arcs to push along
    const u32* slices;  // (node, number) of each slice of the long rows, in the order of nodes
    u64 slice_first, slice_last;  // those of the range
    u64 scattered;  // 1: the set's nodes lie far from each other
};

// The operation of folds (Op).
#ifndef HIVE_FOLD
#define HIVE_FOLD OP_SUM
#endif

// Whether it is run over a set.
#ifndef HIVE_SET
#define HIVE_SET 0
#endif

// Whether it goes along arcs against their direction.
#ifndef HIVE_BACKWARD
#define HIVE_BACKWARD 0
#endif

// The rows that arcs go out of, and those that they come into.
__device__ __forceinline__ const Rows& rows_out(const Graph& g) { return HIVE_BACKWARD ? g.in : g.out; }
__device__ __forceinline__ const Rows& rows_in(const Graph& g) { return HIVE_BACKWARD ? g.out : g.in; }

const u32 LINE_SHIFT = 3, LINE_WORDS = 1 << LINE_SHIFT;  // of a set
static_assert(LINE_WORDS == LINE / 32, "words of a line");
const u32 SET_WORDS = 16;  // @host most words of a set that a warp takes at a time
const u32 HUB = 512;     // @host arcs from which a row is dealt to many warps in slices of so many
const u32 LEAF = 16;     // arcs up to which one thread folds a row
const u32 TILE = 4096;   // @host elements that are reduced together, whatever the replicas
const u32 FILTER = 1024; // @host elements of a filter's block

__device__ __forceinline__ bool is_in(const u32* bits, u64 v) {
    return bits == nullptr || (__ldg(bits + (v >> 5)) >> (v & 31u) & 1u) != 0;
}

// One thread an element, four at a time, so that the loads of four are under way together.
template <typename F> __device__ void for_elements(const Shape& s, const F& f) {
    const u32 many = 4;
    u64 tile = (u64)blockDim.x * many;
    for (u64 base = s.first + blockIdx.x * tile; base < s.last; base += gridDim.x * tile) {
        if (base + tile <= s.last) {
#pragma unroll
            for (u32 k = 0; k < many; k++) f(base + k * blockDim.x + threadIdx.x);
        } else {
            for (u64 i = base + threadIdx.x; i < s.last; i += blockDim.x) f(i);
        }
    }
}

template <typename F> __device__ void for_nodes(const Shape& s, const F& f) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 v = s.first + (u64)blockIdx.x * blockDim.x + threadIdx.x; v < s.last; v += stride) f(v);
}

// Hands `each(node, live)` groups of 32 nodes of the range, one a lane; all lanes of a warp call it together.
template <typename E> __device__ void for_range(const Shape& s, const E& each) {
    u32 lane = lane_id();
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    for (u64 base = s.first + warp * 32; base < s.last; base += warps * 32)
        each(base + lane, base + lane < s.last);
}

// The same of the set, up to 32 at a time; `first` is a multiple of 32. Blocks of at most 256 threads.
template <typename E> __device__ void for_members(const Shape& s, const E& each) {
    __shared__ unsigned short listed[8][SET_WORDS * 32];
    __shared__ u32 words_of[8][SET_WORDS];
    u32 lane = lane_id();
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    unsigned short* mine = listed[warp_id()];
    // What a warp takes are parts far from each other: nodes of a range are often alike, and long rows lie side by side. They
    // are words, and few where there are few, so that all warps have some. In a scattered set they are lines, most of which are
    // empty: words would be of as many lines.
    const u32 shift = s.scattered ? LINE_SHIFT : 0, part = 1u << shift;
    u64 low = s.first / 32, high = (s.last + 31) / 32, begin = low >> shift;
    u64 parts = ((high + part - 1) >> shift) - begin, most = SET_WORDS >> shift;
    u64 groups = max((parts + most - 1) / most, min(parts, warps));
    u64 ahead = (begin + (lane >> shift) * groups << shift) + (lane & part - 1);
    for (u64 group = warp; group < groups; group += warps) {
        u64 own = ahead + (group << shift), line = own / LINE_WORDS;
        u32 bits = 0;
        bool there = lane < SET_WORDS && own >= low && own < high;
        there = there && (s.lines[line >> 5] >> (line & 31u) & 1u) != 0;
        if (!__any_sync(FULL, there)) continue;
        if (there) bits = s.bits[own];
        if (own == s.last >> 5) bits &= (1u << (s.last & 31u)) - 1u;
        u32 count = __popc(bits), before = warp_scan(count);
        u32 total = __shfl_sync(FULL, before, 31);
        before -= count;
        if (lane < SET_WORDS) words_of[warp_id()][lane] = (u32)own;
        while (bits) {
            u32 bit = __ffs(bits) - 1;
            bits &= bits - 1;
            mine[before++] = (unsigned short)(lane * 32 + bit);
        }
        __syncwarp();
        for (u32 at = 0; at < total; at += 32) {
            bool live = at + lane < total;
            u32 place = live ? mine[at + lane] : 0;
            each((u64)words_of[warp_id()][place >> 5] * 32 + (place & 31u), live);
        }
        __syncwarp();
    }
}

// One of these: compiled alone, since code that stands twice is optimized less.
template <typename E> __device__ __forceinline__ void for_groups(const Shape& s, const E& each) {
#if HIVE_SET
    for_members(s, each);
#else
    for_range(s, each);
#endif
}

template <typename F> __device__ void for_set(const Shape& s, const F& f) {
    for_groups(s, [&](u64 v, bool live) { if (live) f(v); });
}

// Calls f(owner lane's node, arc) for every arc of a warp's 32 rows first..first + degree, evenly over the lanes.
template <typename F>
__device__ __forceinline__ void for_arcs_of_warp(u64 node, u64 first, u32 degree, const F& f) {
    u32 lane = lane_id(), end = warp_scan(degree);
    u32 total = __shfl_sync(FULL, end, 31), start = end - degree;
    for (u32 base = 0; base < total; base += 32) {
        u32 k = base + lane, owner = 0;
#pragma unroll
        for (u32 step = 16; step > 0; step >>= 1) {
            // The last lane whose row starts at or before k; rows without arcs are passed over.
            u32 there = __shfl_sync(FULL, start, owner + step);
            if (there <= k) owner += step;
        }
        u64 from = __shfl_sync(FULL, first, owner), source = __shfl_sync(FULL, node, owner);
        u32 begin = __shfl_sync(FULL, start, owner);
        if (k < total) f(source, from + (k - begin));
    }
}

__device__ __forceinline__ float weight_of(const Rows& rows, u64 arc) {
    return rows.weights ? unchanged(rows.weights + arc) : 1.0f;
}

// A column that a warp reads once, in order: it does not take the place in the L1 cache of what lambdas gather.
__device__ __forceinline__ u32 streamed(const u32* at) {
    u32 column;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(column) : "l"(at));
    return column;
}

// Arcs of rows that are not hubs.
template <typename F> __device__ void row_arcs(const Shape& s, const Rows& rows, const F& f) {
    for_groups(s, [&](u64 v, bool live) {
        u64 first = live ? __ldg(rows.offsets + v) : 0;
        u64 degree = live ? __ldg(rows.offsets + v + 1) - first : 0;
        for_arcs_of_warp(v, first, degree > HUB ? 0u : (u32)degree, f);
    });
}

// Hands all lanes of a warp together each(hub, number, place) for the slices of hubs of the range, and of the set `bits` if there is
// one: the number of the slice among those of its hub, and its place in the list.
template <typename E> __device__ void for_slices(const Shape& s, const u32* bits, const E& each) {
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    for (u64 base = s.slice_first + warp; base < s.slice_last; base += warps * 32) {
        u64 place = base + lane_id() * warps;
        bool live = place < s.slice_last;
        uint2 own = live ? __ldg((const uint2*)s.slices + place) : make_uint2(0u, 0u);
        u32 rest = __ballot_sync(FULL, live && is_in(bits, own.x));
        while (rest) {
            u32 owner = __ffs(rest) - 1;
            rest &= rest - 1;
            each(__shfl_sync(FULL, own.x, owner), __shfl_sync(FULL, own.y, owner), base + owner * warps);
        }
    }
}

// The arcs of a slice.
__device__ __forceinline__ u64 slice_of(const Rows& rows, u32 v, u32 number, u64& last) {
    u64 first = __ldg(rows.offsets + v) + (u64)number * HUB, end = __ldg(rows.offsets + v + 1);
    last = first + HUB < end ? first + HUB : end;
    return first;
}

// Arcs of hubs, a slice a warp.
template <typename F> __device__ void hub_arcs(const Shape& s, const Rows& rows, const F& f) {
    for_slices(s, s.bits, [&](u32 v, u32 number, u64) {
        u64 last, first = slice_of(rows, v, number, last);
#pragma unroll 4
        for (u64 arc = first + lane_id(); arc < last; arc += 32) f(v, arc);
    });
}

// control[0] = arcs out of the nodes of the set; the two words behind it are zeros between launches.
__device__ void set_arcs(const Shape& s, const Rows& rows) {
    u64 arcs = 0;
    for_set(s, [&](u64 v) { arcs += __ldg(rows.offsets + v + 1) - __ldg(rows.offsets + v); });
    arcs = warp_sum(arcs);
    if (lane_id() == 0 && arcs != 0) atomicAdd(s.control + 1, arcs);
    sum_up(s.control + 1, s.control);
}

// Whether a push costs less than a pull: the arcs out of the set are at most so many; a capacity of 0 means a pull.
__device__ __forceinline__ bool is_few(const Shape& s) { return s.capacity != 0 && *s.control <= s.capacity; }

// Every node is wanted.
struct All {
    __device__ __forceinline__ bool operator()(u64) const { return true; }
};

// f(source, neighbor, arc, weight) for every arc, for what it does.
template <typename F> struct Each {
    const F& f;
    const Graph& g;
    __device__ __forceinline__ void operator()(u64 u, u64 arc) const {
        f((u32)u, streamed(g.out.columns + arc), arc, weight_of(g.out, arc));
    }
};

// Push: f(source, neighbor, arc, weight) for all arcs to wanted nodes; where it says true, the neighbour joins `out`.
template <typename F, typename W> struct Push {
    const F& f;
    const Graph& g;
    const Set& out;
    const W& wanted;
    __device__ __forceinline__ void operator()(u64 u, u64 arc) const {
        const Rows& rows = rows_out(g);
        u32 v = streamed(rows.columns + arc);
        if (wanted(v) && f((u32)u, v, arc, weight_of(rows, arc)) && out.words) out.insert(v);
    }
};

// Pull: for the nodes v of the range that `wanted` wants, f(source, v, arc, weight) for arcs into v out of `from`,
// until one says true: then v joins `out`. A warp takes 32 nodes; long rows are walked by all of its lanes, but for those of
// hubs, if they are dealt in slices.
template <typename F, typename W>
__device__ void pull(const Shape& s, const Graph& g, const F& f, const W& wanted, const u32* from, const Set& out) {
    const Rows& rows = rows_in(g);
    const bool sliced = s.slice_first < s.slice_last;
    u32 lane = lane_id();
    for_range(s, [&](u64 v, bool live) {
        bool open = live && wanted(v);
        u64 at = open ? __ldg(rows.offsets + v) : 0, end = open ? __ldg(rows.offsets + v + 1) : 0;
        if (sliced && end - at > HUB) at = end;
        bool found = false;
        for (u32 k = 0; k < LEAF && at < end && !found; k++, at++) {
            u32 u = __ldg(rows.columns + at);
            found = is_in(from, u) && f(u, (u32)v, at, weight_of(rows, at));
        }
        u32 rest = __ballot_sync(FULL, !found && at < end);
        while (rest) {
            u32 owner = __ffs(rest) - 1;
            rest &= rest - 1;
            u64 w = __shfl_sync(FULL, v, owner), b = __shfl_sync(FULL, at, owner), e = __shfl_sync(FULL, end, owner);
            bool any = false;
            for (; b < e && !any; b += 32) {
                bool here = false;
                if (b + lane < e) {
                    u32 u = __ldg(rows.columns + b + lane);
                    here = is_in(from, u) && f(u, (u32)w, b + lane, weight_of(rows, b + lane));
                }
                any = __any_sync(FULL, here);
            }
            if (lane == owner) found = any;
        }
        if (found && out.words) out.insert(v);
    });
}

// The same for hubs, a slice a warp. Each slice stops for itself, and begins only if its node is wanted still.
template <typename F, typename W>
__device__ void pull_hubs(const Shape& s, const Graph& g, const F& f, const W& wanted, const u32* from, const Set& out) {
    const Rows& rows = rows_in(g);
    u32 lane = lane_id();
    for_slices(s, nullptr, [&](u32 v, u32 number, u64) {
        // Other warps may change what says so: one lane asks for all.
        if (!__shfl_sync(FULL, (int)(lane == 0 && wanted(v)), 0)) return;
        u64 last, at = slice_of(rows, v, number, last);
        bool any = false;
        for (; at < last && !any; at += 32) {
            bool here = false;
            if (at + lane < last) {
                u32 u = __ldg(rows.columns + at + lane);
                here = is_in(from, u) && f(u, v, at + lane, weight_of(rows, at + lane));
            }
            any = __any_sync(FULL, here);
        }
        if (any && lane == 0 && out.words) out.insert(v);
    });
}

// Push or pull, by the arcs out of the set. Hubs first: most nodes hear from them, and often need nothing else.
template <typename F, typename W>
__device__ void either(const Shape& s, const Graph& g, const F& f, const W& wanted, const Set& out) {
    if (!is_few(s)) {
        // The slices are those of rows that arcs go out of.
        Shape whole = s;
        whole.slice_last = whole.slice_first;
        return pull(whole, g, f, wanted, s.bits, out);
    }
    Push<F, W> push{f, g, out, wanted};
    hub_arcs(s, rows_out(g), push);
    row_arcs(s, rows_out(g), push);
}

template <typename T> __device__ __forceinline__ T fold_of(T a, T b, u32 op) {
    return op == OP_MIN ? (b < a ? b : a) : op == OP_MAX ? (b > a ? b : a) : a + b;
}
template <> __device__ __forceinline__ u32 fold_of(u32 a, u32 b, u32 op) {
    return op == OP_OR ? a | b : op == OP_MIN ? (b < a ? b : a) : op == OP_MAX ? (b > a ? b : a) : a + b;
}
template <> __device__ __forceinline__ u64 fold_of(u64 a, u64 b, u32 op) {
    return op == OP_OR ? a | b : op == OP_MIN ? (b < a ? b : a) : op == OP_MAX ? (b > a ? b : a) : a + b;
}

// Folds the lanes' values in a fixed tree; every lane gets the result.
template <typename T> __device__ __forceinline__ T warp_fold(T value, u32 op) {
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) {
        T other = __shfl_xor_sync(FULL, value, step);
        // The same operands in the same order on both sides.
        value = (lane_id() & step) ? fold_of(other, value, op) : fold_of(value, other, op);
    }
    return value;
}

// Over the block; thread 0 gets the result.
template <typename T> __device__ __forceinline__ T block_fold(T value, u32 op) {
    __shared__ T room[32];
    value = warp_fold(value, op);
    __syncthreads();
    if (lane_id() == 0) room[warp_id()] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (u32 w = 1; w < (blockDim.x >> 5); w++) value = fold_of(value, room[w], op);
    return value;
}

// A fold goes to its node's element.
template <typename T> struct Into {
    const Span<T>& out;
    __device__ __forceinline__ void operator()(u64 v, T value) const { put_at(out, v, value); }
};

// partial[i] = fold of the slice at place i of the list, by a warp.
template <typename T, typename F>
__device__ void neighbor_fold_hubs(const Shape& s, const Rows& rows, const F& f, T identity) {
    for_slices(s, s.bits, [&](u32 v, u32 number, u64 place) {
        u64 last, first = slice_of(rows, v, number, last);
        T part = identity;
#pragma unroll 8
        for (u64 at = first + lane_id(); at < last; at += 32)
            part = fold_of(part, f(v, streamed(rows.columns + at), at, weight_of(rows, at)), HIVE_FOLD);
        part = warp_fold(part, HIVE_FOLD);
        if (lane_id() == 0) *(T*)(s.partial + place) = part;
    });
}

// to(v, fold over v's arcs of f(v, neighbor, arc, weight)), `identity` where there is none: a thread a leaf, a
// warp a longer row; hubs are left out. What is added in which order depends on the degree alone.
template <typename T, typename F, typename O>
__device__ void neighbor_fold(const Shape& s, const Rows& rows, const F& f, T identity, const O& to) {
    u32 lane = lane_id();
    for_groups(s, [&](u64 v, bool live) {
        u64 first = live ? __ldg(rows.offsets + v) : 0, end = live ? __ldg(rows.offsets + v + 1) : 0;
        T sum = identity;
        u64 degree = end - first;
        const u32* columns = rows.columns + first;
        u32 count = degree <= LEAF ? (u32)degree : 0u, k = 0;
        auto take = [&](u32 k, u32 to) {
            sum = fold_of(sum, f((u32)v, to, first + k, weight_of(rows, first + k)), HIVE_FOLD);
        };
        // Rows of one length, as those of a mesh: columns are asked for before the first is used. Elsewhere lanes would wait for those
        // whose rows are longer twice.
        if (__all_sync(FULL, count == __shfl_sync(FULL, count, 0))) {
            const u32 AHEAD = 4;
            for (; k + AHEAD <= count; k += AHEAD) {
                u32 to[AHEAD];
#pragma unroll
                for (u32 j = 0; j < AHEAD; j++) to[j] = __ldg(columns + k + j);
#pragma unroll
                for (u32 j = 0; j < AHEAD; j++) take(k + j, to[j]);
            }
        }
        for (; k < count; k++) take(k, __ldg(columns + k));
        u32 rest = __ballot_sync(FULL, degree > LEAF && degree <= HUB);
        while (rest) {
            u32 owner = __ffs(rest) - 1;
            rest &= rest - 1;
            u64 w = __shfl_sync(FULL, v, owner), b = __shfl_sync(FULL, first, owner), e = __shfl_sync(FULL, end, owner);
            T part = identity;
#pragma unroll 8
            for (u64 at = b + lane; at < e; at += 32)
                part = fold_of(part, f((u32)w, streamed(rows.columns + at), at, weight_of(rows, at)), HIVE_FOLD);
            part = warp_fold(part, HIVE_FOLD);
            if (lane == owner) sum = part;
        }
        if (live && degree <= HUB) to(v, sum);
    });
}

// Slices and rows in one launch, for a graph that has hubs.
template <typename T, typename F, typename O>
__device__ void neighbor_fold_all(const Shape& s, const Rows& rows, const F& f, T identity, const O& to) {
    neighbor_fold_hubs(s, rows, f, identity);
    neighbor_fold(s, rows, f, identity, to);
}

// The slices of each hub, which lie side by side, folded by a warp.
template <typename T, typename O>
__device__ void neighbor_fold_join(const Shape& s, const Rows& rows, T identity, const O& to) {
    for_slices(s, s.bits, [&](u32 v, u32 number, u64 place) {
        if (number != 0) return;
        u64 slices = (__ldg(rows.offsets + v + 1) - __ldg(rows.offsets + v) + HUB - 1) / HUB;
        T part = identity;
        for (u64 k = lane_id(); k < slices; k += 32) part = fold_of(part, *(const T*)(s.partial + place + k), HIVE_FOLD);
        part = warp_fold(part, HIVE_FOLD);
        if (lane_id() == 0) to(v, part);
    });
}

// partial[t] = fold of f over tile t, TILE elements from t * TILE on; `first` and `last` count tiles, `capacity`
// elements. The tiles are the same for any number of replicas.
template <typename T, typename F> __device__ void reduce_tiles(const Shape& s, const F& f, T identity) {
    for (u64 t = s.first + blockIdx.x; t < s.last; t += gridDim.x) {
        u64 end = (t + 1) * TILE < s.capacity ? (t + 1) * TILE : s.capacity;
        T part = identity;
#pragma unroll 4
        for (u64 i = t * TILE + threadIdx.x; i < end; i += blockDim.x)
            if (is_in(s.bits, i)) part = fold_of(part, (T)f(i), HIVE_FOLD);
        part = block_fold(part, HIVE_FOLD);
        if (threadIdx.x == 0) *(T*)(s.partial + t) = part;
        __syncthreads();
    }
}

// One block folds the partial results in their order.
template <typename T> __device__ void reduce_partials(const Shape& s, T identity, volatile T* to) {
    T part = identity;
    for (u64 t = threadIdx.x; t < s.last; t += blockDim.x) part = fold_of(part, *(const T*)(s.partial + t), HIVE_FOLD);
    part = block_fold(part, HIVE_FOLD);
    if (threadIdx.x == 0) *to = part;
}

// Elements that f wants, into `queue`, in any order: one atomic a warp.
template <typename F> __device__ void filter_any(const Shape& s, const F& f) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 base = s.first + (u64)blockIdx.x * blockDim.x; base < s.last; base += stride) {
        u64 i = base + threadIdx.x;
        bool keep = i < s.last && is_in(s.bits, i) && f(i);
        u32 kept = __ballot_sync(FULL, keep), lane = lane_id();
        u64 at = 0;
        if (lane == 0 && kept) at = atomicAdd((u64*)s.control, (u64)__popc(kept));
        at = __shfl_sync(FULL, at, 0) + __popc(kept & ((1u << lane) - 1u));
        if (keep && at < s.capacity) s.queue[at] = (u32)i;
    }
}

// The same in order, three launches: ballots and counts of blocks of FILTER elements; their prefix sums; the writing.
template <typename F> __device__ void filter_mark(const Shape& s, const F& f) {
    u64 blocks = (s.last - s.first + FILTER - 1) / FILTER;
    for (u64 b = blockIdx.x; b < blocks; b += gridDim.x) {
        u32 count = 0;
        for (u32 k = threadIdx.x; k < FILTER; k += blockDim.x) {
            u64 i = s.first + b * FILTER + k;
            bool keep = i < s.last && is_in(s.bits, i) && f(i);
            u32 kept = __ballot_sync(FULL, keep);
            if (lane_id() == 0) {
                s.marks[(b * FILTER + k) >> 5] = kept;
                count += __popc(kept);
            }
        }
        u64 total = block_fold((u64)count, 3);
        if (threadIdx.x == 0) s.partial[b] = total;
        __syncthreads();
    }
}

__device__ __forceinline__ void filter_scan(const Shape& s) {
    __shared__ u64 room[32];
    u64 blocks = (s.last - s.first + FILTER - 1) / FILTER, before = 0;
    for (u64 base = 0; base < blocks; base += blockDim.x) {
        u64 b = base + threadIdx.x, total = 0;
        u64 at = block_scan(b < blocks ? s.partial[b] : 0, room, &total);
        if (b < blocks) s.partial[b] = before + at;
        before += total;
    }
    if (threadIdx.x == 0) *s.control = before;
}

__device__ __forceinline__ void filter_write(const Shape& s) {
    __shared__ u32 before[FILTER / 32];
    u64 blocks = (s.last - s.first + FILTER - 1) / FILTER;
    for (u64 b = blockIdx.x; b < blocks; b += gridDim.x) {
        const u32* marks = s.marks + b * (FILTER / 32);
        if (threadIdx.x < 32) {
            u32 count = __popc(marks[threadIdx.x]);
            before[threadIdx.x] = warp_scan(count) - count;
        }
        __syncthreads();
        for (u32 k = threadIdx.x; k < FILTER; k += blockDim.x) {
            u32 mark = marks[k >> 5], below = (1u << (k & 31u)) - 1u;
            u64 at = s.partial[b] + before[k >> 5] + __popc(mark & below);
            if ((mark >> (k & 31u) & 1u) && at < s.capacity) s.queue[at] = (u32)(s.first + b * FILTER + k);
        }
        __syncthreads();
    }
}

// Counts f's values; `shared` bins are counted by block first.
const u32 SHARED_BINS = 8192;
template <typename F> __device__ void histogram(const Shape& s, const F& f, const Span<u64>& counts) {
    __shared__ u32 own[SHARED_BINS];
    bool shared = s.capacity <= SHARED_BINS;
    if (shared) {
        for (u32 b = threadIdx.x; b < s.capacity; b += blockDim.x) own[b] = 0;
        __syncthreads();
    }
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = s.first + (u64)blockIdx.x * blockDim.x + threadIdx.x; i < s.last; i += stride) {
        if (!is_in(s.bits, i)) continue;
        u64 bin = f(i);
        if (!shared || bin >= s.capacity) atomic_add(counts[bin], (u64)1);
        else atomicAdd(own + bin, 1u);
    }
    if (shared) {
        __syncthreads();
        for (u32 b = threadIdx.x; b < s.capacity; b += blockDim.x)
            if (own[b]) atomic_add(counts.data[b], (u64)own[b]);
    }
}
