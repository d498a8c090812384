// What arrives at each node: the sum over its in-arcs of a value of the source, by the weight of the arc or not.

#include "arcs.cuh"

struct ArrivingArgs {  // @host
    Rows rows;
    const double* values;  // [nodes], or null: 1 each
    double* sums;          // [nodes], added to
    u32 weighted;
    u32 unused;
};

__device__ __forceinline__ double carried(const ArrivingArgs& a, u32 from, u64 place) {
    double value = a.values ? a.values[from] : 1.0;
    return a.weighted ? value * (double)weight_at(a.rows, place) : value;
}

// Sums over the rows as they are: the in-arcs of a symmetric graph.
extern "C" __global__ void __launch_bounds__(THREADS) check_arriving_pull(ArrivingArgs a) {
    each_row_sum<double>(
        a.rows, [&](u32 v, u64 place) { return carried(a, v, place); },
        [](u32, u32, double value) { return value; },
        [&](u32 u, double sum) { atomicAdd(a.sums + u, sum); });
}

extern "C" __global__ void __launch_bounds__(THREADS) check_arriving_push(ArrivingArgs a) {
    each_arc(a.rows, [&](u32 u, u32 v, u64 place) { atomicAdd(a.sums + v, carried(a, u, place)); });
}
