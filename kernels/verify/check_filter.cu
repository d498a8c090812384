// Checks filtering: makes the array again, in parts, and looks whether what is below the limit was kept, in order.

#include "arcs.cuh"

#define PART 16384u  // @host values of a block at a time
#define EACH (PART / (THREADS / 32u))

struct FilterArgs {  // @host
    const u32* kept;    // the kept values from place `base` on
    u64* counts;        // [parts] values of each that are below the limit
    const u64* before;  // [parts + 1] values below the limit before each
    u32* wrong;         // not 0: another value was kept
    double limit;       // values below it are kept
    u64 key;
    u64 elements;
    u64 first, last;  // parts
    u64 base;
};

// The value at `place`: the upper half of the output of SplitMix64 (Steele, Lea, Flood, 2014) under the key.
__device__ __forceinline__ u32 value_at(u64 key, u64 place) {
    u64 z = key + (place + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (u32)((z ^ (z >> 31)) >> 32);
}

// Calls each(value, bits) for every value of the warp's stretch of a part; `bits` says which lanes have one below the limit.
template <class Each>
__device__ __forceinline__ void each_value(const FilterArgs& a, u64 part, Each each) {
    u64 begin = part * PART + threadIdx.x / 32 * EACH;
    for (u64 at = begin; at < begin + EACH && at < a.elements; at += 32) {
        u64 place = at + threadIdx.x % 32;
        u32 value = value_at(a.key, place);
        each(value, __ballot_sync(0xffffffffu, place < a.elements && (double)value < a.limit));
    }
}

// Writes what each warp's stretch has below the limit to `counts`, which all threads may read then.
__device__ __forceinline__ void count_stretches(const FilterArgs& a, u64 part, u32* counts) {
    u32 own = 0;
    each_value(a, part, [&](u32, u32 bits) { own += __popc(bits); });
    __syncthreads();
    if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = own;
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS) check_filter_count(FilterArgs a) {
    __shared__ u32 counts[THREADS / 32u];
    for (u64 part = a.first + blockIdx.x; part < a.last; part += gridDim.x) {
        count_stretches(a, part, counts);
        if (threadIdx.x == 0) {
            u64 sum = 0;
            for (u32 w = 0; w < THREADS / 32u; w++) sum += counts[w];
            a.counts[part] = sum;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) check_filter_compare(FilterArgs a) {
    __shared__ u32 counts[THREADS / 32u];
    bool wrong = false;
    for (u64 part = a.first + blockIdx.x; part < a.last; part += gridDim.x) {
        count_stretches(a, part, counts);
        u64 next = a.before[part] - a.base;
        for (u32 w = 0; w < threadIdx.x / 32; w++) next += counts[w];
        const u32 lane = threadIdx.x % 32;
        each_value(a, part, [&](u32 value, u32 bits) {
            if (bits >> lane & 1u) wrong = wrong || a.kept[next + __popc(bits & ((1u << lane) - 1))] != value;
            next += __popc(bits);
        });
    }
    if (wrong) *a.wrong = 1;
}
