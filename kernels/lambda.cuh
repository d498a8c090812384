// What a user's lambda sees: spans that know their length, sets, the graph, atomics, random numbers.
//
// src/operator/code.rs fills in the structs. HIVE_UNCHECKED=1 leaves out the checks
// of indices.
#pragma once
#include "mix.cuh"

typedef int i32;
typedef float f32;
typedef double f64;

#ifndef HIVE_UNCHECKED
#define HIVE_UNCHECKED 0
#endif

// The first bad index of a replica, in memory that the host reads.
struct FaultRecord {  // @host
    u32 set, argument;
    u64 index;
};

struct FaultSink {  // @host
    u32 taken, unused;
    u64 scratch;  // where writes to elements that are not there go
    volatile FaultRecord* record;
};

// What a thread has seen of bad indices. It lives in registers and is told at the end of the kernel, so that checks
// neither branch nor hold back the loads that follow them.
const u32 NONE = 0xffffffffu;
struct Bad {
    FaultSink* sink;
    u64 index;
    u32 argument;
    u32 lambda;  // the number of its graph's argument, with which those of its others begin

    __device__ __forceinline__ void report() const {
        if (argument == NONE || *(volatile u32*)&sink->taken != 0u || atomicExch(&sink->taken, 1u) != 0u) return;
        sink->record->argument = argument;
        sink->record->index = index;
        __threadfence_system();
        sink->record->set = 1u;
    }
};

// Whether `i` is below `size`; a bad index is noted.
__device__ __forceinline__ bool inside(u64 i, u64 size, Bad* bad, u32 argument) {
#if HIVE_UNCHECKED
    return true;
#else
    bool ok = i < size;
    bad->argument = ok ? bad->argument : argument;
    bad->index = ok ? bad->index : i;
    return ok;
#endif
}

// What nobody writes during the launch. NVRTC's __ldg is volatile: a plain load is done once for many, and not at all where nobody
// uses it, as the weights of a lambda without `w`, or the ends of a row in a loop. Gathers are no faster by it.
template <typename T> __device__ __forceinline__ T unchanged(const T* at) { return *at; }

const u32 BLOCK = 32;  // @host elements of an array for which there is one mark
const u32 LINE = 256;  // @host nodes of a set for which there is one mark

// Sets bit k of marks: block k of an array may have changed since the last merge, or line k of a set may hold a node. Lanes often
// want the same mark, and their atomics would wait for each other: one lane sets it for all that want its mark.
__device__ __forceinline__ void set_mark(u32* marks, u64 k) {
    u32 active = __activemask(), leader = __ffs(active) - 1;
    if (__shfl_sync(active, k, leader) != k || lane_id() == leader) atomicOr(marks + (k >> 5), 1u << (k & 31u));
}

// last(sum[0]), to which all blocks have added, by the last of them; sum[0] and sum[1] are zeros then.
template <typename F> __device__ __forceinline__ void sum_up_then(u64* sum, const F& last) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(sum + 1, 1ull) + 1 != gridDim.x) return;
    __threadfence();
    u64 all = atomicExch(sum, 0ull);
    sum[1] = 0;
    last(all);
}

// The same to a word.
__device__ __forceinline__ void sum_up(u64* sum, volatile u64* to) {
    sum_up_then(sum, [&](u64 all) { *to = all; });
}

// An array to write (and read). A bad index writes where nobody reads.
template <typename T> struct Span {  // @host
    T* data;
    u64 length;
    Bad* bad;
    u32* marks;  // or nothing
    u32 argument, unused;

    __device__ __forceinline__ u64 size() const { return length; }
    __device__ __forceinline__ T& operator[](u64 i) const {
        T* at = inside(i, length, bad, argument) ? data + i : (T*)&bad->sink->scratch;
        return *at;
    }
    __device__ __forceinline__ void mark(u64 i) const {
        if (!marks || i >= length) return;
        u64 block = i / BLOCK;
        if ((__ldcg(marks + (block >> 5)) >> (block & 31u) & 1u) == 0) set_mark(marks, block);
    }
};

// An array to read: nobody writes it during the launch. A bad index reads 0. Element 0 of an empty array is memory
// that can be read (src/operator/launch.rs sees to it).
template <typename T> struct Span<const T> {
    const T* data;
    u64 length;
    Bad* bad;
    u32* marks;
    u32 argument, unused;

    __device__ __forceinline__ u64 size() const { return length; }
    __device__ __forceinline__ T operator[](u64 i) const {
        bool ok = inside(i, length, bad, argument);
        T value = __ldg(data + (ok ? i : 0));
        return ok ? value : T(0);
    }
};

// An array that lies in equal parts, one a replica, each with its own address; the table of addresses is in memory.
template <typename T> struct Parts {  // @host
    const u64* parts;
    u64 length;
    Bad* bad;
    u32* marks;  // none: it is not merged
    u32 argument, part_length;

    __device__ __forceinline__ u64 size() const { return length; }
    __device__ __forceinline__ T* at(u64 i) const {
        if ((length >> 32) == 0) {
            u32 part = (u32)i / part_length;
            return (T*)__ldg(parts + part) + ((u32)i - part * part_length);
        }
        u64 part = i / part_length;
        return (T*)__ldg(parts + part) + (i - part * part_length);
    }
    __device__ __forceinline__ T& operator[](u64 i) const {
        return inside(i, length, bad, argument) ? *at(i) : *(T*)&bad->sink->scratch;
    }
    __device__ __forceinline__ void mark(u64) const {}
};

template <typename T> struct Parts<const T> {
    Parts<T> all;

    __device__ __forceinline__ u64 size() const { return all.length; }
    // Not through the read-only cache: parts of other devices change between launches.
    __device__ __forceinline__ T operator[](u64 i) const {
        return inside(i, all.length, all.bad, all.argument) ? *(const T*)all.at(i) : T(0);
    }
};

// A set of nodes, a bit each.
struct Set {  // @host
    u32* words;
    u64 length;
    Bad* bad;
    u32* marks;
    u32 argument, unused;

    __device__ __forceinline__ u64 size() const { return length; }
    __device__ __forceinline__ bool contains(u64 v) const {
        return inside(v, length, bad, argument) && (words[v >> 5] >> (v & 31u) & 1u) != 0;
    }
    // Whether it was new.
    __device__ __forceinline__ bool insert(u64 v) const {
        if (!inside(v, length, bad, argument)) return false;
        u32 at = (u32)(v >> 5), bit = 1u << (v & 31u);
        if (__ldcg(words + at) & bit) return false;
        // Lanes often insert into one word: the first of them does it for all. Of those that insert the same node one finds it new. All
        // lanes that are here take part in each exchange: where some had one among themselves, inside a branch, they did not wait at the
        // last one for the others, which then waited without end (sm_90, NVRTC 13.0). Nobody waits after the mark.
        u32 active = __activemask(), first = __ffs(active) - 1;
        bool shared = at == __shfl_sync(active, at, first);
        u32 all = group_or(active, shared ? bit : 0u), twins = __match_any_sync(active, shared ? bit : 0u);
        u32 leader = shared ? first : lane_id();
        bool leads = leader == lane_id(), mine = !shared || __ffs(twins) - 1 == lane_id();
        u32 own = leads ? atomicOr(words + at, shared ? all : bit) : 0u, was = __shfl_sync(active, own, leader);
        // Where there is a node, whoever put the first one marks the line. A look at the mark would be one more wait.
        if (leads && own == 0) set_mark(marks, v / LINE);
        return mine && (was & bit) == 0;
    }
    __device__ __forceinline__ void erase(u64 v) const {
        if (inside(v, length, bad, argument)) atomicAnd(words + (v >> 5), ~(1u << (v & 31u)));
    }
};

template <typename T> __device__ __forceinline__ void attach(Span<T>& x, Bad* bad) { x.bad = bad; }
template <typename T> __device__ __forceinline__ void attach(Parts<T>& x, Bad* bad) { x.bad = bad; }
template <typename T> __device__ __forceinline__ void attach(Parts<const T>& x, Bad* bad) { x.all.bad = bad; }
__device__ __forceinline__ void attach(Set& x, Bad* bad) { x.bad = bad; }

// One arc of a row.
struct Edge {
    u32 node;      // the other end
    u64 arc;       // its place in the rows
    float weight;  // 1 in a graph without weights
};

struct Rows {  // @host
    const offset_t* offsets;
    const u32* columns;
    const float* weights;
};

struct Row {
    const Rows rows;
    u64 first, last;
    struct Iterator {
        const Rows& rows;
        u64 at;
        __device__ __forceinline__ Edge operator*() const {
            return Edge{__ldg(rows.columns + at), at, rows.weights ? unchanged(rows.weights + at) : 1.0f};
        }
        __device__ __forceinline__ void operator++() { at++; }
        __device__ __forceinline__ bool operator!=(const Iterator& other) const { return at != other.at; }
    };
    __device__ __forceinline__ Iterator begin() const { return Iterator{rows, first}; }
    __device__ __forceinline__ Iterator end() const { return Iterator{rows, last}; }
};

// The graph. Rows backward (arcs into a node) are there where the graph is symmetric or was placed with them.
struct Graph {  // @host
    Rows out, in;
    u64 nodes, arcs;
    const u32* ids;  // nothing where they are the nodes
    FaultSink* sink;
    Bad* bad;
    u32 argument, unused;

    // There is no branch around the loads. A row that is not there is read at the sink, for nothing.
    __device__ __forceinline__ Row row(const Rows& rows, u64 v) const {
        bool ok = rows.offsets != nullptr && inside(v, nodes, bad, argument);
        const offset_t* at = ok ? rows.offsets + v : (const offset_t*)sink;
        u64 first = unchanged(at), last = unchanged(at + (ok ? 1 : 0));
        return Row{rows, first, ok ? last : first};
    }
    __device__ __forceinline__ u64 degree_in(const Rows& rows, u64 v) const {
        Row all = row(rows, v);
        return all.last - all.first;
    }
    // The place of a node's id among the input's.
    __device__ __forceinline__ u32 id(u64 v) const {
        if (!inside(v, nodes, bad, argument)) return 0;
        return ids ? unchanged(ids + v) : (u32)v;
    }
    __device__ __forceinline__ u64 degree(u64 v) const { return degree_in(out, v); }
    __device__ __forceinline__ u64 in_degree(u64 v) const { return degree_in(in, v); }
    __device__ __forceinline__ Row edges(u64 v) const { return row(out, v); }
    __device__ __forceinline__ Row in_edges(u64 v) const { return row(in, v); }
    // The arc at a place of a row: in a random step of a walk, or in a part of a long row.
    __device__ __forceinline__ Edge edge(u64 v, u64 place) const { return placed(edges(v), v, place); }
    __device__ __forceinline__ Edge in_edge(u64 v, u64 place) const { return placed(in_edges(v), v, place); }
    __device__ __forceinline__ Edge placed(Row all, u64 v, u64 place) const {
        bool ok = inside(place, all.last - all.first, bad, argument);
        u64 arc = ok ? all.first + place : 0;
        u32 node = unchanged(ok ? all.rows.columns + arc : (const u32*)sink);
        return Edge{ok ? node : (u32)v, arc, ok && all.rows.weights ? unchanged(all.rows.weights + arc) : 1.0f};
    }
};

// What `g` is in a launch that has no graph: whatever a lambda does with it does not compile.
struct NoGraph {};

// What another thread of this launch may have written.
template <typename T> __device__ __forceinline__ T fresh_value(const T& at) { return *(const volatile T*)&at; }

// Atomics on an element, each returns what was there: atomic_min(best[v], x).
__device__ __forceinline__ u32 atomic_add(u32& at, u32 x) { return atomicAdd(&at, x); }
__device__ __forceinline__ i32 atomic_add(i32& at, i32 x) { return atomicAdd(&at, x); }
__device__ __forceinline__ u64 atomic_add(u64& at, u64 x) { return atomicAdd(&at, x); }
__device__ __forceinline__ f32 atomic_add(f32& at, f32 x) { return atomicAdd(&at, x); }
__device__ __forceinline__ f64 atomic_add(f64& at, f64 x) { return atomicAdd(&at, x); }
// Where nothing is to change, a look is enough: many threads look at one element at once, and only one after the other changes it.
// The look may be at a value of before, in the L1 cache: an element that only falls in this launch is looked at once too often,
// never passed over.
#define HIVE_EXTREME(T)                                              \
    __device__ __forceinline__ T atomic_min(T& at, T x) {            \
        T was = at;                                                  \
        return was <= x ? was : atomicMin(&at, x);                   \
    }                                                                \
    __device__ __forceinline__ T atomic_max(T& at, T x) {            \
        T was = at;                                                  \
        return was >= x ? was : atomicMax(&at, x);                   \
    }
HIVE_EXTREME(u32)
HIVE_EXTREME(i32)
HIVE_EXTREME(u64)
#undef HIVE_EXTREME
// Writes `x` over a NaN. Returns what was there.
__device__ __forceinline__ f32 over_nan(f32& at, f32 was, f32 x) {
    while (was != was) {
        u32 from = __float_as_uint(was), there = atomicCAS((u32*)&at, from, __float_as_uint(x));
        if (there == from) break;
        was = __uint_as_float(there);
    }
    return was;
}
__device__ __forceinline__ f64 over_nan(f64& at, f64 was, f64 x) {
    while (was != was) {
        u64 from = (u64)__double_as_longlong(was), there = atomicCAS((u64*)&at, from, (u64)__double_as_longlong(x));
        if (there == from) break;
        was = __longlong_as_double((long long)there);
    }
    return was;
}
// Floats order as integers do: forward from +0 on, backward below. x + 0 makes -0 the +0 that it equals. A NaN
// changes nothing.
__device__ __forceinline__ f32 atomic_min(f32& at, f32 x) {
    f32 was = at;
    if (x != x || was <= x) return was;
    x += 0.0f;
    was = over_nan(at, was, x);
    if (was != was) return was;
    return x >= 0.0f ? __int_as_float(atomicMin((i32*)&at, __float_as_int(x)))
                     : __uint_as_float(atomicMax((u32*)&at, __float_as_uint(x)));
}
__device__ __forceinline__ f32 atomic_max(f32& at, f32 x) {
    f32 was = at;
    if (x != x || was >= x) return was;
    x += 0.0f;
    was = over_nan(at, was, x);
    if (was != was) return was;
    return x >= 0.0f ? __int_as_float(atomicMax((i32*)&at, __float_as_int(x)))
                     : __uint_as_float(atomicMin((u32*)&at, __float_as_uint(x)));
}
__device__ __forceinline__ f64 atomic_min(f64& at, f64 x) {
    f64 was = at;
    if (x != x || was <= x) return was;
    x += 0.0;
    was = over_nan(at, was, x);
    if (was != was) return was;
    return x >= 0.0 ? __longlong_as_double(atomicMin((long long*)&at, __double_as_longlong(x)))
                    : __longlong_as_double((long long)atomicMax((u64*)&at, (u64)__double_as_longlong(x)));
}
__device__ __forceinline__ f64 atomic_max(f64& at, f64 x) {
    f64 was = at;
    if (x != x || was >= x) return was;
    x += 0.0;
    was = over_nan(at, was, x);
    if (was != was) return was;
    return x >= 0.0 ? __longlong_as_double(atomicMax((long long*)&at, __double_as_longlong(x)))
                    : __longlong_as_double((long long)atomicMin((u64*)&at, (u64)__double_as_longlong(x)));
}
__device__ __forceinline__ u32 atomic_or(u32& at, u32 x) {
    u32 was = at;
    return (was | x) == was ? was : atomicOr(&at, x);
}
__device__ __forceinline__ u64 atomic_or(u64& at, u64 x) {
    u64 was = at;
    return (was | x) == was ? was : atomicOr(&at, x);
}
// Sets `at` to `to` where it is `from`; returns what was there.
__device__ __forceinline__ u32 atomic_cas(u32& at, u32 from, u32 to) { return atomicCAS(&at, from, to); }
__device__ __forceinline__ u64 atomic_cas(u64& at, u64 from, u64 to) { return atomicCAS(&at, from, to); }

// Writes to element i of an array, which mark its block if they may have changed it.
template <typename A, typename T> __device__ __forceinline__ void put_at(const A& y, u64 i, T x) {
    y[i] = x;
    y.mark(i);
}
template <typename A, typename T> __device__ __forceinline__ T add_at(const A& y, u64 i, T x) {
    y.mark(i);
    return atomic_add(y[i], x);
}
template <typename A, typename T> __device__ __forceinline__ T min_at(const A& y, u64 i, T x) {
    T was = atomic_min(y[i], x);
    if (!(was <= x) && x == x) y.mark(i);
    return was;
}
template <typename A, typename T> __device__ __forceinline__ T max_at(const A& y, u64 i, T x) {
    T was = atomic_max(y[i], x);
    if (!(was >= x) && x == x) y.mark(i);
    return was;
}
template <typename A, typename T> __device__ __forceinline__ T or_at(const A& y, u64 i, T x) {
    T was = atomic_or(y[i], x);
    if ((was | x) != was) y.mark(i);
    return was;
}
template <typename A, typename T> __device__ __forceinline__ T cas_at(const A& y, u64 i, T from, T to) {
    T was = atomic_cas(y[i], from, to);
    if (was == from) y.mark(i);
    return was;
}

// Random numbers that are a function of (seed, stream, how many were drawn): the same for any number of
// threads and replicas, and on the host (`operator::Random`).
struct Random {
    u64 key, drawn;
    __device__ __forceinline__ Random() : key(0), drawn(0) {}
    __device__ __forceinline__ Random(u64 seed, u64 stream) : key(hash(seed, stream)), drawn(0) {}
    __device__ __forceinline__ u64 bits() { return hash(key, drawn++); }
    // In [0, 1), of 24 bits.
    __device__ __forceinline__ float unit() { return (float)(bits() >> 40) * (1.0f / 16777216.0f); }
    // Below n.
    __device__ __forceinline__ u64 below(u64 n) { return __umul64hi(bits(), n); }
};
