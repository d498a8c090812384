// Checks core numbers c of an undirected graph.
//
// They are not too high: every node has c arcs to others of at least its own number, so nodes of k and more are a subgraph in
// which every node has degree at least k.
//
// They are not too low: nodes are removed in the order of their numbers, and among equal numbers when at most c arcs are left
// to nodes that come later. If all go, take the first node x to go of a subgraph in which every node has degree at least k.
// All its neighbours there come later, so c(x) >= k, and numbers never fall along the order. A node's number is in the way of
// nodes of its own number alone: those of lower numbers are gone before, those of higher ones stay.

#include "arcs.cuh"

struct KcoreArgs {  // @host
    Rows rows;
    const u32* cores;  // [nodes]
    u32* left;         // [nodes] arcs to nodes that come later, or are not sorted yet
    u32* queue;        // [nodes] nodes that go, in the order in which they do
    u32* tail;         // how many have been queued
    Findings* findings;
    u32 first, end;  // of the queue, this round
};

extern "C" __global__ void __launch_bounds__(THREADS) check_kcore_arcs(KcoreArgs a) {
    each_row_sum<u32>(
        a.rows, [&](u32 v, u64) { return a.cores[v]; },
        [&](u32 u, u32 v, u32 core) { return (u32)(core >= a.cores[u] && u != v); },
        [&](u32 u, u32 sum) { if (sum > 0) atomicAdd(a.left + u, sum); });
}

extern "C" __global__ void __launch_bounds__(THREADS) check_kcore_nodes(KcoreArgs a) {
    u64 most = 0;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 core = a.cores[v], left = a.left[v];
        if (left < core) a.findings->wrong = 1;
        if (left <= core) a.queue[atomicAdd(a.tail, 1u)] = (u32)v;
        if (core > most) most = core;
    }
    most_of_all(&a.findings->most, most);
}

// A warp a node that goes.
extern "C" __global__ void __launch_bounds__(THREADS) check_kcore_peel(KcoreArgs a) {
    const u32 lane = threadIdx.x % 32;
    for (u64 i = a.first + this_thread() / 32; i < a.end; i += all_threads() / 32) {
        u32 u = a.queue[i], core = a.cores[u];
        u64 end = a.rows.offsets[u + 1];
        for (u64 arc = a.rows.offsets[u] + lane; arc < end; arc += 32) {
            u32 v = a.rows.columns[arc];
            if (v != u && a.cores[v] == core && atomicSub(a.left + v, 1u) == core + 1) {
                a.queue[atomicAdd(a.tail, 1u)] = v;
            }
        }
    }
}
