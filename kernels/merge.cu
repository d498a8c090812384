// Merges over peer memory. One launch reduces the own slice over all copies, or fetches all
// other slices.

#include "hive.cuh"

struct MergeArgs {  // @host
    u64 copies[REPLICAS];  // address of element 0 of every replica's array, in rank order
    u64 own;
    u64 start, end;  // elements
    u32 world;
    u32 op;  // Op
};

struct FetchArgs {  // @host
    u64 copies[REPLICAS];  // address of element 0 of every replica's array, in rank order
    u64 bounds[REPLICAS + 1];  // bytes; owner r's slice is bounds[r] to bounds[r + 1]
    u64 own;
    u32 world, rank;
};

struct ChangesArgs {  // @host
    u64 copies[REPLICAS];  // address of element 0 of every replica's array, in rank order
    u64 sets[REPLICAS];    // of every replica's set of nodes
    u64 start, end;        // words of sets that are this replica's
    u64 length;            // elements; bits beyond mean nothing
    u32 world;
    u32 op;  // Op
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

// Gives everybody the union of the sets in words start..end, and the elements in it, reduced over the copies whose sets hold
// them: others have what was there before. This replica alone reads and writes there. A warp takes 32 words, and then the 32
// elements of each that has any.
template <typename T, template <typename> class Op> __device__ void changes(const ChangesArgs& a) {
    u32 lane = threadIdx.x & 31u;
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((u64)gridDim.x * blockDim.x) >> 5;
    for (u64 base = a.start + warp * 32; base < a.end; base += warps * 32) {
        u64 word = base + lane;
        u32 own[REPLICAS], all = 0;
#pragma unroll
        for (u32 r = 0; r < REPLICAS; r++) {
            own[r] = r < a.world && word < a.end ? ((const u32*)a.sets[r])[word] : 0u;
            all |= own[r];
        }
        u32 rest = __ballot_sync(FULL, all != 0);
        while (rest) {
            u32 owner = __ffs(rest) - 1, count = 0, last = 0;
            rest &= rest - 1;
            u64 at = (base + owner) * 32 + lane;
            bool there = at < a.length;
            T sum = T(0);
#pragma unroll
            for (u32 r = 0; r < REPLICAS; r++) {
                if (r >= a.world) break;
                if ((__shfl_sync(FULL, own[r], owner) >> lane & 1u) == 0 || !there) continue;
                T value = ((const T*)a.copies[r])[at];
                sum = count == 0 ? value : Op<T>::apply(sum, value);
                last = r;
                count++;
            }
            if (count == 0) continue;
            for (u32 r = 0; r < a.world; r++)
                if (count > 1 || r != last) ((T*)a.copies[r])[at] = sum;
        }
#pragma unroll
        for (u32 r = 0; r < REPLICAS; r++)
            if (own[r] != all) {
                if (r < a.world) ((u32*)a.sets[r])[word] = all;
            }
    }
}

template <typename T> __device__ void changes_ordered(const ChangesArgs& a) {
    if (a.op == OP_MIN) changes<T, Min>(a);
    else changes<T, Max>(a);
}

template <typename T> __device__ void changes_any(const ChangesArgs& a) {
    if (a.op == OP_OR) changes<T, Or>(a);
    else changes_ordered<T>(a);
}

// A kernel a type, since compilers work on several kernels at once.
extern "C" __global__ void merge_reduce_u8(const MergeArgs a) { reduce_any<u8>(a); }
extern "C" __global__ void merge_reduce_u32(const MergeArgs a) { reduce_any<u32>(a); }
extern "C" __global__ void merge_reduce_u64(const MergeArgs a) { reduce_any<u64>(a); }
extern "C" __global__ void merge_reduce_i32(const MergeArgs a) { reduce_ordered<int>(a); }
extern "C" __global__ void merge_reduce_f32(const MergeArgs a) { reduce_ordered<float>(a); }
extern "C" __global__ void merge_reduce_f64(const MergeArgs a) { reduce_ordered<double>(a); }

extern "C" __global__ void merge_changes_u8(const ChangesArgs a) { changes_any<u8>(a); }
extern "C" __global__ void merge_changes_u32(const ChangesArgs a) { changes_any<u32>(a); }
extern "C" __global__ void merge_changes_u64(const ChangesArgs a) { changes_any<u64>(a); }
extern "C" __global__ void merge_changes_i32(const ChangesArgs a) { changes_ordered<int>(a); }
extern "C" __global__ void merge_changes_f32(const ChangesArgs a) { changes_ordered<float>(a); }
extern "C" __global__ void merge_changes_f64(const ChangesArgs a) { changes_ordered<double>(a); }

// Copies every other owner's slice from that owner; blocks are dealt over the owners, so that all links
// are busy at once.
extern "C" __global__ void merge_fetch(const FetchArgs a) {
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
