// Merges over peer memory. One launch reduces the own slice over all copies, or fetches all
// other slices; or it merges what anybody has marked.

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
    u64 copies[REPLICAS];  // address of element 0 of every replica's array, in rank order
    u64 bounds[REPLICAS + 1];  // bytes; owner r's slice is bounds[r] to bounds[r + 1]
    u64 own;
    u32 world, rank;
    Exchange exchange;
};

const u32 MARKED = 4;  // @host arrays that a launch merges where they are marked, at most
const u32 SETS = 6;    // @host the kind of sets; that of arrays is their Dtype's number

// An array with the marks of blocks that may have changed since the last merge, or a set with those of lines that may hold a node.
struct MarkedArray {  // @host
    u64 copies[REPLICAS];  // address of element 0 of every replica's, in rank order
    u64 marks[REPLICAS];   // of every replica's marks
    u64 length;            // elements
    u64 tasks;             // of this replica, those of the arrays before it included
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

// Word `at` of everybody's marks, together. Lane r gets the word of replica r in `own`.
__device__ __forceinline__ u32 all_marks(const MarkedArray& m, u32 world, u64 at, u32& own) {
    own = lane_id() < world ? ((const u32*)m.marks[lane_id()])[at] : 0u;
    return warp_or(own);
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

// `sum` to the copies that hold something else.
template <typename T, u32 MOST>
__device__ __forceinline__ void spread(const MarkedArray& m, u32 world, u64 i, const T* was, T sum) {
#pragma unroll
    for (u32 r = 0; r < MOST; r++)
        if (r < world && !same_bits(was[r], sum)) ((T*)m.copies[r])[i] = sum;
}

// Reduces the blocks that anybody has marked in a part of a word of marks, into all copies, and takes the marks away. Nobody else
// writes that part, or reads or writes its blocks, meanwhile. MOST is the most replicas there are; TOGETHER blocks are loaded at a
// time.
template <typename T, u32 MOST, u32 TOGETHER>
__device__ void marked(const MarkedArray& m, u32 world, u64 at, u32 part) {
    u32 lane = lane_id(), bits = 32u >> m.shift, mask = (0xffffffffu >> (32u - bits)) << (part * bits);
    u32 own, rest = all_marks(m, world, at, own) & mask;
    if (own & mask) {
        u64 marks = m.marks[lane];
        if (m.shift == 0) ((u32*)marks)[at] = 0;
        else if (m.shift == 1) ((unsigned short*)marks)[at * 2 + part] = 0;
        else ((u8*)marks)[at * 4 + part] = 0;
    }
    while (rest) {
        u64 i[TOGETHER];
        T was[TOGETHER][MOST], sum[TOGETHER];
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            i[k] = rest ? (at * 32 + __ffs(rest) - 1) * BLOCK + lane : m.length;
            rest &= rest - 1;
#pragma unroll
            for (u32 r = 0; r < MOST; r++)
                was[k][r] = r < world && i[k] < m.length ? ((const T*)m.copies[r])[i[k]] : T(0);
        }
#pragma unroll
        for (u32 k = 0; k < TOGETHER; k++) {
            sum[k] = was[k][0];
#pragma unroll
            for (u32 r = 1; r < MOST; r++)
                if (r < world) sum[k] = merged(sum[k], was[k][r], m.op);
            if (i[k] < m.length) spread<T, MOST>(m, world, i[k], was[k], sum[k]);
        }
    }
}

template <typename T> __device__ void marked_of(const MarkedArray& m, u32 world, u64 at, u32 part) {
    if (world == 2) marked<T, 2, 4>(m, world, at, part);
    else marked<T, REPLICAS, 1>(m, world, at, part);
}

// The union of sets, into all copies, in the lines of a word that anybody has marked, a lane a line. These stay marked, on all
// replicas.
__device__ void union_of(const MarkedArray& m, u32 world, u64 at) {
    const u32 words = LINE / 64;
    u32 lane = lane_id(), own, all = all_marks(m, world, at, own);
    if (lane < world && own != all) ((u32*)m.marks[lane])[at] = all;
    if ((all >> lane & 1u) == 0) return;
    u64 first = (at * 32 + lane) * words, sum[words] = {};
    for (u32 r = 0; r < world; r++) {
#pragma unroll
        for (u32 k = 0; k < words; k++)
            if (first + k < m.length) sum[k] |= ((const u64*)m.copies[r])[first + k];
    }
    for (u32 r = 0; r < world; r++) {
#pragma unroll
        for (u32 k = 0; k < words; k++)
            if (first + k < m.length) ((u64*)m.copies[r])[first + k] = sum[k];
    }
}

// Replicas take words of marks in turn, since changes lie side by side.
__device__ __forceinline__ void all_marked(const MarkedArgs& a) {
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    u64 before = 0;
    u32 k = 0;
    for (u64 task = warp; task < a.arrays[a.count - 1].tasks; task += warps) {
        for (; task >= a.arrays[k].tasks; k++) before = a.arrays[k].tasks;
        const MarkedArray& m = a.arrays[k];
        u64 at = a.rank + ((task - before) >> m.shift) * a.world;
        u32 part = (u32)(task - before) & ((1u << m.shift) - 1u);
        if (m.kind == SETS) union_of(m, a.world, at);
        else if (m.kind == 0) marked_of<u8>(m, a.world, at, part);
        else if (m.kind == 1) marked_of<u32>(m, a.world, at, part);
        else if (m.kind == 2) marked_of<u64>(m, a.world, at, part);
        else if (m.kind == 3) marked_of<int>(m, a.world, at, part);
        else if (m.kind == 4) marked_of<float>(m, a.world, at, part);
        else marked_of<double>(m, a.world, at, part);
    }
}

// A kernel a type, since compilers work on several kernels at once. Two blocks are resident on a multiprocessor: as many as an
// exchange has.
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
    exchanged(a.exchange, [&] { all_marked(a); });
}

// Copies every other owner's slice from that owner; blocks are dealt over the owners, so that all links
// are busy at once.
__device__ __forceinline__ void fetch(const FetchArgs& a) {
    u32 owners = a.world - 1, block = blockIdx.x / owners, blocks = gridDim.x / owners;
    if (block >= blocks) return;
    u32 owner = (a.rank + 1 + blockIdx.x % owners) % a.world;
    u64 start = a.bounds[owner], end = a.bounds[owner + 1];
    u64 thread = (u64)block * blockDim.x + threadIdx.x, stride = (u64)blocks * blockDim.x;
    const u8* from = (const u8*)a.copies[owner];
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
