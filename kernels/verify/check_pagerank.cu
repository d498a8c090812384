// One iteration of PageRank in f64, as src/verify/pagerank.rs defines it; check_arriving.cu adds up what arrives.

#include "arcs.cuh"

// Of the nodes of a warp.
struct Compared {  // @host
    double sum;        // of the ranks
    double right_sum;  // of the right ones
    double distance;   // in L1
    double worst;      // relative error of a rank, the largest
    u64 bad;           // ranks that are no finite numbers from 0 on
};

struct PagerankArgs {  // @host
    double* ranks;           // [nodes]
    double* arriving;        // [nodes], 0 at first and when it has been used
    double* leaving;         // [nodes] rank by share, or null
    float* rounded;          // [nodes] the same times `scale`, rounded to f32, where `leaving` is null
    const double* share;     // [nodes] 1 / out-weight, 0 where nothing leaves
    const double* personal;  // [nodes], or null: `uniform`
    double* dangling;        // [2] ranks of nodes that nothing leaves: of the ranks before, and after
    double damping;
    double uniform;
    double scale;
    u64 nodes;
};

// What is compared of two vectors, and where a warp leaves what it found.
struct CompareArgs {  // @host
    const float* ranks;   // [nodes] the answer
    const double* right;  // [nodes]
    Compared* warps;      // [warps]
    double least;         // how far a rank may be off in any case
    u64 nodes;
};

struct ShareArgs {  // @host
    const u64* offsets;  // [nodes + 1], or null: `share` has out-weights
    double* share;       // [nodes]
    u64 nodes;
};

struct StartArgs {  // @host
    const float* ranks;      // [nodes] the answer, or null: ranks start at the teleport
    const double* personal;  // [nodes], or null: `uniform`
    double* to;              // [nodes]
    double uniform;
    u64 nodes;
};

__device__ __forceinline__ double depart(const PagerankArgs& a, u64 v, double rank) {
    double share = a.share[v];
    if (a.leaving) {
        a.leaving[v] = rank * share;
    } else {
        a.rounded[v] = (float)(rank * share * a.scale);
    }
    return share == 0.0 ? rank : 0.0;
}

extern "C" __global__ void __launch_bounds__(THREADS) check_pagerank_begin(PagerankArgs a) {
    double dangling = 0.0;
    for (u64 v = this_thread(); v < a.nodes; v += all_threads()) dangling += depart(a, v, a.ranks[v]);
    add_all(a.dangling, dangling);
}

extern "C" __global__ void __launch_bounds__(THREADS) check_pagerank_next(PagerankArgs a) {
    double dangling = 0.0;
    const double before = a.dangling[0];
    for (u64 v = this_thread(); v < a.nodes; v += all_threads()) {
        double p = a.personal ? a.personal[v] : a.uniform;
        double rank = (1.0 - a.damping) * p + a.damping * (a.arriving[v] + before * p);
        a.arriving[v] = 0.0;
        a.ranks[v] = rank;
        dangling += depart(a, v, rank);
    }
    add_all(a.dangling + 1, dangling);
}

extern "C" __global__ void __launch_bounds__(THREADS) check_pagerank_share(ShareArgs a) {
    for (u64 v = this_thread(); v < a.nodes; v += all_threads()) {
        double out = a.offsets ? (double)(a.offsets[v + 1] - a.offsets[v]) : a.share[v];
        a.share[v] = out == 0.0 ? 0.0 : 1.0 / out;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) check_pagerank_start(StartArgs a) {
    for (u64 v = this_thread(); v < a.nodes; v += all_threads()) {
        a.to[v] = a.ranks ? (double)a.ranks[v] : a.personal ? a.personal[v] : a.uniform;
    }
}

// Sums are added in an order that depends on the launch alone.
extern "C" __global__ void __launch_bounds__(THREADS) check_pagerank_compare(CompareArgs a) {
    Compared own = {0.0, 0.0, 0.0, 0.0, 0};
    for (u64 v = this_thread(); v < a.nodes; v += all_threads()) {
        double rank = (double)a.ranks[v], right = a.right[v], off = fabs(rank - right);
        // A NaN is neither.
        if (!(rank >= 0.0 && rank <= 3.5e38)) own.bad += 1;
        own.sum += rank;
        own.right_sum += right;
        own.distance += off;
        double beyond = off > a.least ? off - a.least : 0.0;
        own.worst = fmax(own.worst, beyond / (right > a.least ? right : a.least));
    }
    for (u32 step = 16; step > 0; step >>= 1) {
        own.sum += __shfl_xor_sync(0xffffffffu, own.sum, step);
        own.right_sum += __shfl_xor_sync(0xffffffffu, own.right_sum, step);
        own.distance += __shfl_xor_sync(0xffffffffu, own.distance, step);
        own.worst = fmax(own.worst, __shfl_xor_sync(0xffffffffu, own.worst, step));
        own.bad += __shfl_xor_sync(0xffffffffu, own.bad, step);
    }
    if (threadIdx.x % 32 == 0) a.warps[this_thread() / 32] = own;
}
