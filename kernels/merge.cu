// Merges over peer memory. One launch reduces the own slice over all copies, or fetches all
// other slices. Where every replica has a GPU of its own, one launch does all of it (merge_joint): all meet, each reduces
// its slice over all copies and stores it into all of them, and all meet again.

#include "joint.cuh"

struct MergeArgs {
    u64 copies[16];  // address of element 0 of every replica's array, in rank order
    u64 own;
    u64 start, end;  // elements
    u32 world;
    u32 dtype;  // 0 u8, 1 u32, 2 u64, 3 i32, 4 f32, 5 f64
    u32 op;     // 0 or, 1 min, 2 max, 3 sum
    u32 unused;
};

struct FetchArgs {
    u64 copies[16];  // address of element 0 of every replica's array, in rank order
    u64 bounds[17];  // bytes; owner r's slice is bounds[r] to bounds[r + 1]
    u64 own;
    u32 world, rank;
};

template <typename T> struct Or {
    static __device__ T apply(T a, T b) { return a | b; }
};
template <typename T> struct Min {
    static __device__ T apply(T a, T b) { return b < a ? b : a; }
};
template <typename T> struct Max {
    static __device__ T apply(T a, T b) { return b > a ? b : a; }
};
template <typename T> struct Sum {
    static __device__ T apply(T a, T b) { return a + b; }
};

template <typename T> struct alignas(16) Wide {
    T value[16 / sizeof(T)];
};

// The own copy, or all of them.
template <bool ALL, typename T> __device__ __forceinline__ void put(const MergeArgs& a, u64 at, const T& value) {
    if (ALL) {
        for (u32 r = 0; r < a.world; r++) ((T*)a.copies[r])[at] = value;
    } else {
        ((T*)a.own)[at] = value;
    }
}

// Copies are added in rank order, so every replica gets the owner's bits.
template <bool ALL, typename T, template <typename> class Op> __device__ void reduce(const MergeArgs& a) {
    const u64 per = 16 / sizeof(T);
    u64 first = (a.start + per - 1) / per * per, last = a.end / per * per;
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 stride = (u64)gridDim.x * blockDim.x;
    if (first < last) {
        for (u64 i = first / per + thread; i < last / per; i += stride) {
            Wide<T> sum = ((const Wide<T>*)a.copies[0])[i];
            for (u32 r = 1; r < a.world; r++) {
                Wide<T> other = ((const Wide<T>*)a.copies[r])[i];
#pragma unroll
                for (u32 k = 0; k < 16 / sizeof(T); k++)
                    sum.value[k] = Op<T>::apply(sum.value[k], other.value[k]);
            }
            put<ALL>(a, i, sum);
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
        put<ALL>(a, at, sum);
    }
}

template <bool ALL, typename T> __device__ void reduce_ordered(const MergeArgs& a) {
    if (a.op == 1) reduce<ALL, T, Min>(a);
    else if (a.op == 2) reduce<ALL, T, Max>(a);
    else reduce<ALL, T, Sum>(a);
}

template <bool ALL, typename T> __device__ void reduce_any(const MergeArgs& a) {
    if (a.op == 0) reduce<ALL, T, Or>(a);
    else reduce_ordered<ALL, T>(a);
}

template <bool ALL> __device__ void reduce_slice(const MergeArgs& a) {
    switch (a.dtype) {
        case 0: reduce_any<ALL, u8>(a); break;
        case 1: reduce_any<ALL, u32>(a); break;
        case 2: reduce_any<ALL, u64>(a); break;
        case 3: reduce_ordered<ALL, int>(a); break;
        case 4: reduce_ordered<ALL, float>(a); break;
        case 5: reduce_ordered<ALL, double>(a); break;
    }
}

extern "C" __global__ void merge_reduce(const MergeArgs a) { reduce_slice<false>(a); }

struct JointMergeArgs {
    MergeArgs merge;
    Joint joint;
    u64 first, last;  // bytes of the own slice
    u32* stopped;      // pinned: set where blocks left
    const u32* abort;  // pinned
    u64 deadline_ns;
};

// The own slice's bytes, to all other copies, the next rank's first.
__device__ void hand_out(const JointMergeArgs& a) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
    u64 first = (a.first + 15) / 16 * 16, last = a.last / 16 * 16;
    if (first >= last) first = last = a.last;
    const u8* own = (const u8*)a.merge.own;
    for (u64 i = first / 16 + thread; i < last / 16; i += stride) {
        uint4 value = ((const uint4*)own)[i];
        for (u32 k = 1; k < a.joint.world; k++)
            ((uint4*)a.merge.copies[(a.joint.rank + k) % a.joint.world])[i] = value;
    }
    u64 head = first - a.first, tail = a.last - last;
    for (u64 i = thread; i < head + tail; i += stride) {
        u64 at = i < head ? a.first + i : last + (i - head);
        for (u32 k = 1; k < a.joint.world; k++) ((u8*)a.merge.copies[(a.joint.rank + k) % a.joint.world])[at] = own[at];
    }
}

// In the first meeting everybody's copy is what is to be merged; before the second nobody reads a slice that another
// writes: a slice is read, and written into all copies, by its owner alone.
extern "C" __global__ void __launch_bounds__(512) merge_joint(const JointMergeArgs a) {
    Mail* own = a.joint.mail[a.joint.rank];
    Grid grid = {&own->merge, a.abort, a.deadline_ns, 0, 0};
    u64 epoch = fresh(&own->epoch);
    Letter letter;
    bool met = meet(grid, a.joint, epoch, NULL, NULL, NULL, letter);
    if (met) {
        if (a.merge.op == 4) hand_out(a);
        else reduce_slice<true>(a.merge);
        met = meet(grid, a.joint, epoch, NULL, NULL, NULL, letter);
    }
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    if (met) {
        // All blocks have arrived, and do not look any more.
        __stcg(&own->epoch, epoch);
        __stcg(&own->merge.arrived, 0ull);
    } else {
        *a.stopped = 1;
    }
}

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
