// Checks labels of strongly connected components of a directed graph.
//
// No component is too large: arcs inside each label's nodes lead from the node that it names to all others, and back. None is
// split: the graph of labels has no cycle, so labels can be removed one after another when no arc of the rest leads to them.

#include "arcs.cuh"

struct SccArgs {  // @host
    Rows rows;
    const u32* labels;   // [nodes]
    const u32* ranks;    // [nodes], or null where ids rise
    u32* sizes;          // [nodes] nodes of a label
    u64* inner;          // [nodes] arcs into a node inside its label; then where the next goes
    u64* outer;          // [nodes] arcs into a label from others
    const u64* turned;   // [nodes + 1] rows of the arcs inside labels, turned around
    u32* sources;        // of these
    const u64* begins;   // [nodes + 1] where members of a label begin
    u64* cursors;        // [nodes] where its next one goes
    u32* members;        // [nodes] by label
    u32* seen;           // [nodes] bit 1: reached; bit 2: reached backward
    u32* queue;          // [nodes]
    u32* tail;           // [2] nodes queued, labels queued
    u32* removed;        // [nodes] labels, in the order in which they go
    Findings* findings;
    u32 first, end;      // of a queue, this round
};

__device__ __forceinline__ void queue_node(const SccArgs& a, u32 v) { a.queue[atomicAdd(a.tail, 1u)] = v; }
__device__ __forceinline__ void queue_label(const SccArgs& a, u32 v) { a.removed[atomicAdd(a.tail + 1, 1u)] = v; }

// Labels name themselves and no higher id.
extern "C" __global__ void __launch_bounds__(THREADS) check_scc_nodes(SccArgs a) {
    u64 own = 0;
    const u64 rounds = (a.rows.nodes + all_threads() - 1) / all_threads();
    for (u64 round = 0, v = this_thread(); round < rounds; round++, v += all_threads()) {
        u32 label = v < a.rows.nodes ? a.labels[v] : NONE;
        bool right = label < a.rows.nodes && a.labels[label] == label &&
                     rank_of(a.ranks, label) <= rank_of(a.ranks, (u32)v);
        if (v < a.rows.nodes && !right) a.findings->wrong = 1;
        if (!right) label = NONE;
        own += label == v;
        u32 same = __match_any_sync(0xffffffffu, label);
        if (label != NONE && threadIdx.x % 32 == (u32)__ffs((int)same) - 1) atomicAdd(a.sizes + label, (u32)__popc(same));
    }
    add_all(&a.findings->others, own);
}

extern "C" __global__ void __launch_bounds__(THREADS) check_scc_count(SccArgs a) {
    each_arc(a.rows, [&](u32 u, u32 v, u64) {
        if (a.labels[u] != a.labels[v]) {
            atomicAdd(a.outer + a.labels[v], 1ull);
        } else if (u != v) {
            atomicAdd(a.inner + v, 1ull);
        }
    });
}

extern "C" __global__ void __launch_bounds__(THREADS) check_scc_turn(SccArgs a) {
    each_arc(a.rows, [&](u32 u, u32 v, u64) {
        if (u != v && a.labels[u] == a.labels[v]) a.sources[atomicAdd(a.inner + v, 1ull)] = u;
    });
}

// The nodes that labels name begin both searches; members of each label, side by side; labels that no other leads to.
extern "C" __global__ void __launch_bounds__(THREADS) check_scc_begin(SccArgs a) {
    u64 most = 0;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 label = a.labels[v];
        a.members[atomicAdd(a.cursors + label, 1ull)] = (u32)v;
        if (label != v) continue;
        a.seen[v] = 3;
        queue_node(a, (u32)v);
        if (a.outer[v] == 0) queue_label(a, (u32)v);
        if (a.sizes[v] > most) most = a.sizes[v];
    }
    most_of_all(&a.findings->most, most);
}

// A warp a node; on to nodes of its label.
extern "C" __global__ void __launch_bounds__(THREADS) check_scc_forward(SccArgs a) {
    for (u64 i = a.first + this_thread() / 32; i < a.end; i += all_threads() / 32) {
        u32 u = a.queue[i];
        u64 end = a.rows.offsets[u + 1];
        for (u64 arc = a.rows.offsets[u] + threadIdx.x % 32; arc < end; arc += 32) {
            u32 v = a.rows.columns[arc];
            if (a.labels[v] == a.labels[u] && !(a.seen[v] & 1) && !(atomicOr(a.seen + v, 1u) & 1)) queue_node(a, v);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) check_scc_backward(SccArgs a) {
    for (u64 i = a.first + this_thread() / 32; i < a.end; i += all_threads() / 32) {
        u32 u = a.queue[i];
        u64 end = a.turned[u + 1];
        for (u64 arc = a.turned[u] + threadIdx.x % 32; arc < end; arc += 32) {
            u32 v = a.sources[arc];
            if (!(a.seen[v] & 2) && !(atomicOr(a.seen + v, 2u) & 2)) queue_node(a, v);
        }
    }
}

// The node that each label names, once more, for the second search.
extern "C" __global__ void __launch_bounds__(THREADS) check_scc_again(SccArgs a) {
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        if (a.labels[v] == v) queue_node(a, (u32)v);
    }
}

// The members of labels that go: a warp a label.
extern "C" __global__ void __launch_bounds__(THREADS) check_scc_gather(SccArgs a) {
    for (u64 i = a.first + this_thread() / 32; i < a.end; i += all_threads() / 32) {
        u32 label = a.removed[i], size = a.sizes[label], base = 0;
        if (threadIdx.x % 32 == 0) base = atomicAdd(a.tail, size);
        base = __shfl_sync(0xffffffffu, base, 0);
        for (u32 k = threadIdx.x % 32; k < size; k += 32) a.queue[base + k] = a.members[a.begins[label] + k];
    }
}

// Takes the arcs of nodes that go off the labels that they lead to: a warp a node.
extern "C" __global__ void __launch_bounds__(THREADS) check_scc_remove(SccArgs a) {
    for (u64 i = a.first + this_thread() / 32; i < a.end; i += all_threads() / 32) {
        u32 u = a.queue[i];
        u64 end = a.rows.offsets[u + 1];
        for (u64 arc = a.rows.offsets[u] + threadIdx.x % 32; arc < end; arc += 32) {
            u32 label = a.labels[a.rows.columns[arc]];
            if (label != a.labels[u] && atomicAdd(a.outer + label, ~0ull) == 1) queue_label(a, label);
        }
    }
}
