// Checks labels of weakly connected components: the rules of src/verify/cc.rs, with trees of its own. A tree hangs from its
// lowest node. After a few arcs of each node most trees are one, and the rest of the arcs finds both ends there.

#include "arcs.cuh"

#define SAMPLED 2u

struct CcArgs {  // @host
    Rows rows;
    const u32* labels;  // [nodes]
    const u32* ranks;   // [nodes], or null where ids rise
    u32* parent;        // [nodes]
    u32* sizes;         // [nodes] nodes of each label
    Findings* findings;
};

// Others write meanwhile: nothing may be kept from an earlier look.
__device__ __forceinline__ u32 top_of(volatile u32* parent, u32 v) {
    for (;;) {
        u32 above = parent[v], higher = parent[above];
        if (above == higher) return above;
        parent[v] = higher;
        v = higher;
    }
}

__device__ __forceinline__ void join_trees(u32* parent, u32 u, u32 v) {
    for (;;) {
        u32 a = top_of(parent, u), b = top_of(parent, v);
        if (a == b) return;
        u32 low = a < b ? a : b, high = a < b ? b : a;
        if (atomicCAS(parent + high, high, low) == high) return;
    }
}

// Labels name themselves and no higher id. `others` counts those that are their own.
extern "C" __global__ void __launch_bounds__(THREADS) check_cc_nodes(CcArgs a) {
    u64 own = 0;
    const u64 rounds = (a.rows.nodes + all_threads() - 1) / all_threads();
    for (u64 round = 0, v = this_thread(); round < rounds; round++, v += all_threads()) {
        u32 label = NONE;
        if (v < a.rows.nodes) {
            a.parent[v] = (u32)v;
            label = a.labels[v];
            bool right = label < a.rows.nodes && a.labels[label] == label &&
                         rank_of(a.ranks, label) <= rank_of(a.ranks, (u32)v);
            if (!right) a.findings->wrong = 1;
            if (!right) label = NONE;
            own += label == v;
        }
        // Nodes of the giant component would queue up for its counter.
        u32 same = __match_any_sync(0xffffffffu, label);
        if (label != NONE && threadIdx.x % 32 == (u32)__ffs((int)same) - 1) atomicAdd(a.sizes + label, (u32)__popc(same));
    }
    add_all(&a.findings->others, own);
}

extern "C" __global__ void __launch_bounds__(THREADS) check_cc_sample(CcArgs a) {
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u64 arc = a.rows.offsets[v], end = a.rows.offsets[v + 1];
        if (arc < a.rows.begin) continue;
        if (end > a.rows.stop) end = a.rows.stop;
        if (end > arc + SAMPLED) end = arc + SAMPLED;
        for (; arc < end; arc++) join_trees(a.parent, (u32)v, a.rows.columns[arc - a.rows.begin]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) check_cc_flatten(CcArgs a) {
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) a.parent[v] = top_of(a.parent, (u32)v);
}

// Both ends of an arc have the same label, and come into the same tree.
extern "C" __global__ void __launch_bounds__(THREADS) check_cc_arcs(CcArgs a) {
    bool wrong = false;
    each_arc(a.rows, [&](u32 u, u32 v, u64) {
        if (a.labels[u] != a.labels[v]) wrong = true;
        if (a.parent[u] != a.parent[v]) join_trees(a.parent, u, v);
    });
    if (wrong) a.findings->wrong = 1;
}

// `reached` counts trees, `most` is the largest size.
extern "C" __global__ void __launch_bounds__(THREADS) check_cc_trees(CcArgs a) {
    u64 trees = 0, most = 0;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        trees += a.parent[v] == v;
        if (a.sizes[v] > most) most = a.sizes[v];
    }
    add_all(&a.findings->reached, trees);
    most_of_all(&a.findings->most, most);
}
