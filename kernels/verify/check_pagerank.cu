// One iteration of PageRank in f64, as src/verify/pagerank.rs defines it; check_arriving.cu adds up what arrives.

#include "arcs.cuh"

struct PagerankArgs {  // @host
    double* ranks;           // [nodes]
    double* arriving;        // [nodes], 0 at first and when it has been used
    double* leaving;         // [nodes] rank by share
    const double* share;     // [nodes] 1 / out-weight, 0 where nothing leaves
    const double* personal;  // [nodes], or null: `uniform`
    double* dangling;        // [2] ranks of nodes that nothing leaves: of the ranks before, and after
    double damping;
    double uniform;
    u64 nodes;
};

__device__ __forceinline__ double depart(const PagerankArgs& a, u64 v, double rank) {
    double share = a.share[v];
    a.leaving[v] = rank * share;
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
