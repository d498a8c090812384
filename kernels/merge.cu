// Merges over peer memory. One launch reduces the own slice over all copies, or fetches what others have;
// or it merges what anybody has marked.

#include "joint.cuh"
#include "lambda.cuh"

struct MergeArgs {  // @host
    u64 copies[REPLICAS];  // address of element 0 of every replica's array, in rank order
    u64 own;
    u64 start, end;  // elements
    u32 world;
    u32 op;  // Op
    Exchange exchange;
};

struct FetchArgs {  // @host
    // By piece: the address of element 0 of the array that has it, and where it begins and ends there, in bytes.
    u64 copies[REPLICAS], starts[REPLICAS], ends[REPLICAS];
    u64 own;
    u32 count;  // of pieces
    u32 unused;
    Exchange exchange;
};

const u32 MARKED = 4;  // @host arrays that a launch merges where they are marked, at most
const u32 SETS = 6;    // @host the kind of sets; that of arrays is their Dtype's number

// An array with the marks of blocks that may have changed since the last merge, or that may not be all zeros where it is summed; or a
// set with those of lines that may hold a node.
struct MarkedArray {  // @host
    u64 copies[REPLICAS];  // address of element 0 of every replica's, in rank order
    u64 marks[REPLICAS];   // of every replica's marks
    u64 length;            // elements
    u64 tasks;             // those of the arrays before it included
    u32 kind;
    u32 op;                // Op
    u32 shift;             // 1 << shift warps share a word of marks
    u32 unused;
};

struct MarkedArgs {  // @host
    MarkedArray arrays[MARKED];
    u32 count;  // of arrays
    u32 world, rank;
    u32 unused;
    Exchange exchange;
};

template <typename T> struct Or {
    static __device__ T apply(T a, T b) { return a | b; }
};
// A NaN loses to every number.
template <typename T> struct Min {
    static __device__ T apply(T a, T b) { return a <= b || b != b ? a : b; }
};
template <typename T> struct Max {
    static __device__ T apply(T a, T b) { return a >= b || b != b ? a : b; }
};
template <typename T> struct Sum {
    static __device__ T apply(T a, T b) { return a + b; }
};

template <typename T> __device__ __forceinline__ bool same_bits(T a, T b) { return a == b; }
// A NaN, and -0 beside +0.
template <> __device__ __forceinline__ bool same_bits(float a, float b) {
    return __float_as_uint(a) == __float_as_uint(b);
}
template <> __device__ __forceinline__ bool same_bits(double a, double b) {
    return __double_as_longlong(a) == __double_as_longlong(b);
}

template <typename T> struct alignas(16) Wide {
    T value[16 / sizeof(T)];
};

// Copies are added in rank order, so every replica gets the owner's bits.
template <typename T, template <typename> class Op> __device__ void reduce(const MergeArgs& a) {
    const u64 per = 16 / sizeof(T);
    u64 first = (a.start + per - 1) / per * per, last = a.end / per * per;
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 stride = (u64)gridDim.x * blockDim.x;
    T* own = (T*)a.own;
    if (first < last) {
        for (u64 i = first / per + thread; i < last / per; i += stride) {
            Wide<T> sum = ((const Wide<T>*)a.copies[0])[i];
            for (u32 r = 1; r < a.world; r++) {
                Wide<T> other = ((const Wide<T>*)a.copies[r])[i];
#pragma unroll
                for (u32 k = 0; k < 16 / sizeof(T); k++)
                    sum.value[k] = Op<T>::apply(sum.value[k], other.value[k]);
            }
            ((Wide<T>*)a.own)[i] = sum;
        }
    } else {
        first = last = a.end;
    }
    // The ragged ends, at most per - 1 elements each (or all of a tiny slice).
    u64 head = first - a.start, tail = a.end - last;
    for (u64 i = thread; i < head + tail; i += stride) {
        u64 at = i < head ? a.start + i : last + (i - head);
        T sum = ((const T*)a.copies[0])[at];
        for (u32 r = 1; r < a.world; r++) sum = Op<T>::apply(sum, ((const T*)a.copies[r])[at]);
        own[at] = sum;
    }
}

template <typename T> __device__ void reduce_ordered(const MergeArgs& a) {
    if (a.op == OP_MIN) reduce<T, Min>(a);
    else if (a.op == OP_MAX) reduce<T, Max>(a);
    else reduce<T, Sum>(a);
}

template <typename T> __device__ void reduce_any(const MergeArgs& a) {
    if (a.op == OP_OR) reduce<T, Or>(a);
    else reduce_ordered<T>(a);
}

template <typename T> __device__ __forceinline__ T merged(T a, T b, u32 op) {
    return op == OP_OR ? Or<T>::apply(a, b) : op == OP_MIN ? Min<T>::apply(a, b) : Max<T>::apply(a, b);
}
template <> __device__ __forceinline__ float merged(float a, float b, u32 op) {
    return op == OP_MIN ? Min<float>::apply(a, b) : Max<float>::apply(a, b);
}
template <> __device__ __forceinline__ double merged(double a, double b, u32 op) {
    return op == OP_MIN ? Min<double>::apply(a, b) : Max<double>::apply(a, b);
}
template <typename T> __device__ __forceinline__ T added(T a, T b) { return Sum<T>::apply(a, b); }

// Four values of a byte.
struct Bytes {
    u32 four;
};
template <> __device__ __forceinline__ Bytes merged(Bytes a, Bytes b, u32 op) {
    u32 x = a.four, y = b.four;
    return Bytes{op == OP_OR ? x | y : op == OP_MIN ? __vminu4(x, y) : __vmaxu4(x, y)};
}
template <> __device__ __forceinline__ Bytes added(Bytes a, Bytes b) { return Bytes{__vadd4(a.four, b.four)}; }
template <> __device__ __forceinline__ bool same_bits(Bytes a, Bytes b) { return a.four == b.four; }

// How many T so many elements are.
template <typename T> __device__ __forceinline__ constexpr u64 values_of(u64 elements) { return elements; }
template <> __device__ __forceinline__ constexpr u64 values_of<Bytes>(u64 bytes) { return (bytes + 3) / 4; }

// Values that lie side by side: what a lane has of a block.
template <typename T> __device__ __forceinline__ Wide<T>& lot(const MarkedArray& m, u32 r, u64 i) {
    return *(Wide<T>*)(m.copies[r] + i * sizeof(T));
}

template <typename T> __device__ __forceinline__ bool differ(const Wide<T>& a, const Wide<T>& b) {
    bool any = false;
#pragma unroll
    for (u32 k = 0; k < 16 / sizeof(T); k++) any = any || !same_bits(a.value[k], b.value[k]);
    return any;
}

template <typename T> __device__ __forceinline__ Wide<T> merged(const Wide<T>& a, const Wide<T>& b, u32 op) {
    Wide<T> both;
#pragma unroll
    for (u32 k = 0; k < 16 / sizeof(T); k++) both.value[k] = merged(a.value[k], b.value[k], op);
    return both;
}

// Makes the blocks of which a part of a word of marks tells the same as those of all others.
//
// What one replica alone has marked, others have as it was: each of them takes it over. A copy may be read while its owner takes
// over others': that changes nothing, since a value counts once however often it is merged. Where the operation gives something
// else than what was written, the writer gets it back. Of two replicas each takes over what both have marked. Of more, replicas in
// turn merge that into all copies.
template <typename T> __device__ void merge_blocks(const MarkedArgs& a, const MarkedArray& m, u64 at, u32 part) {
    // Lanes of a block, and blocks that a warp takes at a time. What lies behind an array is nobody's.
    const u32 VALUES = 16 / sizeof(T), LANES = values_of<T>(BLOCK) / VALUES, GROUP = 32 / LANES, LOW = (1u << GROUP) - 1u;
    const u32 TOGETHER = 2;
    u32 lane = lane_id(), bits = 32u >> m.shift, mask = (0xffffffffu >> (32u - bits)) << (part * bits);
    u32 word = lane < a.world ? ((const volatile u32*)m.marks[lane])[at] & mask : 0u;
    // Who of the others has marked block `lane`.
    u32 others = 0, once = 0, several = 0, marker = a.rank;
#pragma unroll 1
    for (u32 r = 0; r < a.world; r++) {
        u32 one = __shfl_sync(FULL, word, r);
        several |= once & one;
        once |= one;
        if (r == a.rank) continue;
        others |= one;
        if (one >> lane & 1u) marker = r;
    }
    u32 rest = a.world == 2 ? others : others & ~several;
    u64 length = values_of<T>(m.length), base = at * 32 * values_of<T>(BLOCK) + lane % LANES * VALUES;
    while (rest) {
        u32 block[TOGETHER], from[TOGETHER];
        Wide<T> theirs[TOGETHER], own[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            u32 first = rest ? (__ffs(rest) - 1) / GROUP * GROUP : 0;
            block[k] = first + lane / LANES;
            from[k] = __shfl_sync(FULL, marker, block[k]);
            u64 i = base + block[k] * values_of<T>(BLOCK);
            if ((rest >> block[k] & 1u) == 0 || i >= length) from[k] = a.rank;
            rest &= ~(LOW << first);
            theirs[k] = own[k] = Wide<T>{};
            if (from[k] != a.rank) theirs[k] = lot<T>(m, from[k], i), own[k] = lot<T>(m, a.rank, i);
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            u64 i = base + block[k] * values_of<T>(BLOCK);
            // In rank order: of equal values the first counts. The own copy is that of rank 0, unless that is theirs.
            Wide<T> sum = from[k] == 0 ? merged(theirs[k], own[k], m.op) : merged(own[k], theirs[k], m.op);
            bool back = (several >> block[k] & 1u) == 0 && differ(sum, theirs[k]);
            if (from[k] != a.rank && differ(sum, own[k])) lot<T>(m, a.rank, i) = sum;
            if (from[k] != a.rank && back) lot<T>(m, from[k], i) = sum;
        }
    }
    if (a.world == 2 || at % a.world != a.rank) return;
    for (rest = several; rest;) {
        u32 first = (__ffs(rest) - 1) / GROUP * GROUP, block = first + lane / LANES;
        u64 i = base + block * values_of<T>(BLOCK);
        bool on = (rest >> block & 1u) != 0 && i < length;
        rest &= ~(LOW << first);
        if (!on) continue;
        Wide<T> sum = lot<T>(m, 0, i);
#pragma unroll 1
        for (u32 r = 1; r < a.world; r++) sum = merged(sum, lot<T>(m, r, i), m.op);
#pragma unroll 1
        for (u32 r = 0; r < a.world; r++) lot<T>(m, r, i) = sum;
    }
}

// The sums of the blocks of which a part of a word of marks tells: what nobody has marked is zero everywhere. Replicas in turn sum up
// a word's blocks, in rank order, and write them into all copies; what anybody has marked is marked everywhere then.
template <typename T> __device__ void sum_blocks(const MarkedArgs& a, const MarkedArray& m, u64 at, u32 part) {
    const u32 VALUES = 16 / sizeof(T), LANES = values_of<T>(BLOCK) / VALUES, GROUP = 32 / LANES, LOW = (1u << GROUP) - 1u;
    u32 lane = lane_id(), bits = 32u >> m.shift, mask = (0xffffffffu >> (32u - bits)) << (part * bits);
    u32 word = lane < a.world ? ((const volatile u32*)m.marks[lane])[at] & mask : 0u;
    u32 own = __shfl_sync(FULL, word, a.rank), all = warp_or(word);
    if (lane == 0 && own != all) atomicOr((u32*)m.marks[a.rank] + at, all);
    if (at % a.world != a.rank) return;
    u64 length = values_of<T>(m.length), base = at * 32 * values_of<T>(BLOCK) + lane % LANES * VALUES;
    for (u32 rest = all; rest;) {
        u32 first = (__ffs(rest) - 1) / GROUP * GROUP, block = first + lane / LANES;
        u64 i = base + block * values_of<T>(BLOCK);
        bool on = (rest >> block & 1u) != 0 && i < length;
        rest &= ~(LOW << first);
        if (!on) continue;
        Wide<T> sum = lot<T>(m, 0, i);
#pragma unroll 1
        for (u32 r = 1; r < a.world; r++) {
            Wide<T> other = lot<T>(m, r, i);
#pragma unroll
            for (u32 k = 0; k < VALUES; k++) sum.value[k] = added(sum.value[k], other.value[k]);
        }
#pragma unroll 1
        for (u32 r = 0; r < a.world; r++) lot<T>(m, r, i) = sum;
    }
}

// What others have in the lines of a set that they have marked in a word of marks, a lane a line; they are marked here, too.
__device__ void merge_lines(const MarkedArgs& a, const MarkedArray& m, u64 at) {
    const u32 words = LINE / 64;
    u32 lane = lane_id(), word = lane < a.world ? ((const volatile u32*)m.marks[lane])[at] : 0u;
    u32 own = __shfl_sync(FULL, word, a.rank), all = warp_or(word);
    if (lane == 0 && own != all) ((volatile u32*)m.marks[a.rank])[at] = all;
    u64 first = (at * 32 + lane) * words, sum[words] = {};
    for (u32 r = 0; r < a.world; r++) {
        if (r == a.rank || (__shfl_sync(FULL, word, r) >> lane & 1u) == 0) continue;
#pragma unroll
        for (u32 k = 0; k < words; k++)
            if (first + k < m.length) sum[k] |= __ldcg((const u64*)m.copies[r] + first + k);
    }
#pragma unroll
    for (u32 k = 0; k < words; k++)
        if (sum[k]) ((u64*)m.copies[a.rank])[first + k] |= sum[k];
}

// A part of a word of marks of an array.
struct MergeTask {
    const MarkedArray* array;
    u64 at;
    u32 part;
};

__device__ __forceinline__ MergeTask task_of(const MarkedArgs& a, u64 task) {
    u64 before = 0;
    u32 k = 0;
    for (; task >= a.arrays[k].tasks; k++) before = a.arrays[k].tasks;
    const MarkedArray* m = a.arrays + k;
    return MergeTask{m, (task - before) >> m->shift, (u32)(task - before) & ((1u << m->shift) - 1u)};
}

template <typename T> __device__ __forceinline__ void merge_or_sum(const MarkedArgs& a, const MergeTask& task) {
    const MarkedArray& m = *task.array;
    if (m.op == OP_SUM) sum_blocks<T>(a, m, task.at, task.part);
    else merge_blocks<T>(a, m, task.at, task.part);
}

__device__ __forceinline__ void merge_task(const MarkedArgs& a, const MergeTask& task) {
    const MarkedArray& m = *task.array;
    if (m.kind == SETS) merge_lines(a, m, task.at);
    else if (m.kind == 0) merge_or_sum<Bytes>(a, task);
    else if (m.kind == 1) merge_or_sum<u32>(a, task);
    else if (m.kind == 2) merge_or_sum<u64>(a, task);
    else if (m.kind == 3) merge_or_sum<int>(a, task);
    else if (m.kind == 4) merge_or_sum<float>(a, task);
    else merge_or_sum<double>(a, task);
}

// A warp has every so many tasks. It looks at the marks of 32 of them at once, since most often few are set.
__device__ __forceinline__ void merge_all(const MarkedArgs& a) {
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    u64 tasks = a.arrays[a.count - 1].tasks;
    for (u64 base = warp; base < tasks; base += warps * 32) {
        u64 own = base + lane_id() * warps;
        bool set = own < tasks;
        if (set && tasks > warps) {
            MergeTask task = task_of(a, own);
            u32 word = 0;
            for (u32 r = 0; r < a.world; r++)
                if (r != a.rank) word |= ((const volatile u32*)task.array->marks[r])[task.at];
            if (a.world > 2 || task.array->op == OP_SUM) word |= ((const volatile u32*)task.array->marks[a.rank])[task.at];
            set = word != 0;
        }
        for (u32 rest = __ballot_sync(FULL, set); rest; rest &= rest - 1) merge_task(a, task_of(a, base + (__ffs(rest) - 1) * warps));
    }
}

// Takes the own marks of arrays away, when everybody has read them. Sums stay marked: they are not zero.
__device__ __forceinline__ void unmark(const MarkedArgs& a) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    for (u32 k = 0; k < a.count; k++) {
        const MarkedArray& m = a.arrays[k];
        u64 words = m.kind == SETS || m.op == OP_SUM ? 0 : (m.length + 32 * BLOCK - 1) / (32 * BLOCK);
        for (u64 at = thread; at < words; at += threads) ((u32*)m.marks[a.rank])[at] = 0;
    }
}

// A kernel a type: what reads and writes whole arrays is bounded by bytes. Two blocks are resident on a multiprocessor: as many as
// an exchange has.
extern "C" __global__ void __launch_bounds__(512, 2) merge_reduce_u8(const MergeArgs a) {
    exchanged(a.exchange, [&] { reduce_any<u8>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_reduce_u32(const MergeArgs a) {
    exchanged(a.exchange, [&] { reduce_any<u32>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_reduce_u64(const MergeArgs a) {
    exchanged(a.exchange, [&] { reduce_any<u64>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_reduce_i32(const MergeArgs a) {
    exchanged(a.exchange, [&] { reduce_ordered<int>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_reduce_f32(const MergeArgs a) {
    exchanged(a.exchange, [&] { reduce_ordered<float>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_reduce_f64(const MergeArgs a) {
    exchanged(a.exchange, [&] { reduce_ordered<double>(a); });
}

extern "C" __global__ void __launch_bounds__(512, 2) merge_marked(const __grid_constant__ MarkedArgs a) {
    exchanged(a.exchange, [&] { merge_all(a); }, [&] { unmark(a); });
}

// Copies each piece from the array that has it; blocks are dealt over the pieces, so that all links are busy at once.
__device__ __forceinline__ void fetch(const FetchArgs& a) {
    if (a.count == 0) return;
    u32 block = blockIdx.x / a.count, blocks = gridDim.x / a.count, piece = blockIdx.x % a.count;
    if (block >= blocks) return;
    u64 start = a.starts[piece], end = a.ends[piece];
    u64 thread = (u64)block * blockDim.x + threadIdx.x, stride = (u64)blocks * blockDim.x;
    const u8* from = (const u8*)a.copies[piece];
    u8* to = (u8*)a.own;
    u64 first = (start + 15) / 16 * 16, last = end / 16 * 16;
    if (first >= last) first = last = end;
    for (u64 i = first / 16 + thread; i < last / 16; i += stride)
        ((uint4*)to)[i] = ((const uint4*)from)[i];
    u64 head = first - start, tail = end - last;
    for (u64 i = thread; i < head + tail; i += stride) {
        u64 at = i < head ? start + i : last + (i - head);
        to[at] = from[at];
    }
}

extern "C" __global__ void __launch_bounds__(512, 2) merge_fetch(const FetchArgs a) {
    exchanged(a.exchange, [&] { fetch(a); });
}
