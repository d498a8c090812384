// What arrives at each node: the sum over its in-arcs of a value of the source, by the weight of the arc or not.

#include "arcs.cuh"

// What values are multiplied by before they are rounded, 2^64: far from where f32 has fewer digits.
#define SCALE 18446744073709551616.0  // @host

struct ArrivingArgs {  // @host
    Rows rows;
    const double* values;  // [nodes], or null: 1 each
    const float* rounded;  // [nodes] the values times SCALE, rounded to f32, for check_arriving_*_rounded
    double* sums;          // [nodes], added to
    u32 weighted;
    u32 unused;
};

// The value of `from`, by the weight of the arc at `place` where an array has it.
__device__ __forceinline__ double carried(const ArrivingArgs& a, u32 from, u64 place) {
    double value = a.values ? a.values[from] : 1.0;
    return a.weighted && a.rows.weights ? value * (double)a.rows.weights[place] : value;
}

// The same by a weight that is in no array.
__device__ __forceinline__ double by_pair(const ArrivingArgs& a, u32 u, u32 v, double value) {
    bool wanted = a.weighted && a.rows.paired && !a.rows.weights;
    return wanted ? value * (double)weight_of_pair(a.rows, u, v) : value;
}

// Sums over the rows as they are: the in-arcs of a symmetric graph.
extern "C" __global__ void __launch_bounds__(THREADS) check_arriving_pull(ArrivingArgs a) {
    each_row_sum<double>(
        a.rows, [&](u32 v, u64 place) { return carried(a, v, place); },
        [&](u32 u, u32 v, double value) { return by_pair(a, u, v, value); },
        [&](u32 u, double sum) { atomicAdd(a.sums + u, sum); });
}

extern "C" __global__ void __launch_bounds__(THREADS) check_arriving_push(ArrivingArgs a) {
    each_arc(a.rows, [&](u32 u, u32 v, u64 place) {
        atomicAdd(a.sums + v, by_pair(a, u, v, carried(a, u, place)));
    });
}

// The same of rounded values, which take half of the memory, along arcs that all weigh 1. Sums are in f64.
__device__ __forceinline__ double unscaled(double sum) { return sum * (1.0 / SCALE); }

extern "C" __global__ void __launch_bounds__(THREADS) check_arriving_pull_rounded(ArrivingArgs a) {
    each_row_sum<double>(
        a.rows, [&](u32 v, u64) { return __ldg(a.rounded + v); },
        [](u32, u32, float value) { return (double)value; },
        [&](u32 u, double sum) { atomicAdd(a.sums + u, unscaled(sum)); });
}

extern "C" __global__ void __launch_bounds__(THREADS) check_arriving_push_rounded(ArrivingArgs a) {
    each_arc(a.rows, [&](u32 u, u32 v, u64) { atomicAdd(a.sums + v, unscaled((double)__ldg(a.rounded + u))); });
}
