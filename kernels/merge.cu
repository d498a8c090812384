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

// Of arrays: the marks of blocks that may have changed since the last merge; of sets, those of lines that may hold a node.
struct MarkedArgs {  // @host
    u64 copies[REPLICAS];  // address of element 0 of every replica's array, in rank order
    u64 marks[REPLICAS];   // of every replica's marks
    u64 length;            // elements
    u64 words;             // of marks
    u32 world, rank;
    u32 op;  // Op
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
__device__ __forceinline__ u32 all_marks(const MarkedArgs& a, u64 at, u32& own) {
    own = lane_id() < a.world ? ((const u32*)a.marks[lane_id()])[at] : 0u;
    return warp_or(own);
}

// `sum` to the copies that hold something else.
template <typename T, u32 MOST>
__device__ __forceinline__ void spread(const MarkedArgs& a, u64 i, const T* was, T sum) {
#pragma unroll
    for (u32 r = 0; r < MOST; r++)
        if (r < a.world && !same_bits(was[r], sum)) ((T*)a.copies[r])[i] = sum;
}

// Reduces the blocks that anybody has marked, into all copies, and takes the marks away. A warp takes a word of marks: nobody else
// reads or writes that word or its blocks meanwhile. Replicas take words in turn, since changes lie side by side. MOST is the most
// replicas there are; TOGETHER blocks are loaded at a time.
template <typename T, template <typename> class Op, u32 MOST, u32 TOGETHER> __device__ void marked(const MarkedArgs& a) {
    u32 lane = lane_id();
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    for (u64 at = a.rank + warp * a.world; at < a.words; at += warps * a.world) {
        u32 own, rest = all_marks(a, at, own);
        if (own) ((u32*)a.marks[lane])[at] = 0;
        while (rest) {
            u64 i[TOGETHER];
            T was[TOGETHER][MOST], sum[TOGETHER];
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) {
                i[k] = rest ? (at * 32 + __ffs(rest) - 1) * BLOCK + lane : a.length;
                rest &= rest - 1;
#pragma unroll
                for (u32 r = 0; r < MOST; r++)
                    was[k][r] = r < a.world && i[k] < a.length ? ((const T*)a.copies[r])[i[k]] : T(0);
            }
#pragma unroll
            for (u32 k = 0; k < TOGETHER; k++) {
                sum[k] = was[k][0];
#pragma unroll
                for (u32 r = 1; r < MOST; r++)
                    if (r < a.world) sum[k] = Op<T>::apply(sum[k], was[k][r]);
                if (i[k] < a.length) spread<T, MOST>(a, i[k], was[k], sum[k]);
            }
        }
    }
}

template <typename T, template <typename> class Op> __device__ void marked_of(const MarkedArgs& a) {
    if (a.world == 2) marked<T, Op, 2, 4>(a);
    else marked<T, Op, REPLICAS, 1>(a);
}

template <typename T> __device__ void marked_ordered(const MarkedArgs& a) {
    if (a.op == OP_MIN) marked_of<T, Min>(a);
    else marked_of<T, Max>(a);
}

template <typename T> __device__ void marked_any(const MarkedArgs& a) {
    if (a.op == OP_OR) marked_of<T, Or>(a);
    else marked_ordered<T>(a);
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

extern "C" __global__ void __launch_bounds__(512, 2) merge_marked_u8(const MarkedArgs a) {
    exchanged(a.exchange, [&] { marked_any<u8>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_marked_u32(const MarkedArgs a) {
    exchanged(a.exchange, [&] { marked_any<u32>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_marked_u64(const MarkedArgs a) {
    exchanged(a.exchange, [&] { marked_any<u64>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_marked_i32(const MarkedArgs a) {
    exchanged(a.exchange, [&] { marked_ordered<int>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_marked_f32(const MarkedArgs a) {
    exchanged(a.exchange, [&] { marked_ordered<float>(a); });
}
extern "C" __global__ void __launch_bounds__(512, 2) merge_marked_f64(const MarkedArgs a) {
    exchanged(a.exchange, [&] { marked_ordered<double>(a); });
}

// The union of sets, into all copies, in the lines that anybody has marked, a lane a line. These stay marked, on all replicas.
__device__ __forceinline__ void sets(const MarkedArgs& a) {
    const u32 words = LINE / 64;
    u32 lane = lane_id();
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    for (u64 at = a.rank + warp * a.world; at < a.words; at += warps * a.world) {
        u32 own, all = all_marks(a, at, own);
        if (lane < a.world && own != all) ((u32*)a.marks[lane])[at] = all;
        if ((all >> lane & 1u) == 0) continue;
        u64 first = (at * 32 + lane) * words, sum[words] = {};
        for (u32 r = 0; r < a.world; r++) {
#pragma unroll
            for (u32 k = 0; k < words; k++)
                if (first + k < a.length) sum[k] |= ((const u64*)a.copies[r])[first + k];
        }
        for (u32 r = 0; r < a.world; r++) {
#pragma unroll
            for (u32 k = 0; k < words; k++)
                if (first + k < a.length) ((u64*)a.copies[r])[first + k] = sum[k];
        }
    }
}

extern "C" __global__ void __launch_bounds__(512, 2) merge_sets(const MarkedArgs a) {
    exchanged(a.exchange, [&] { sets(a); });
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
