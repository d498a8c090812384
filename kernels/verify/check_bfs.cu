// Checks levels and parents of a breadth-first search: the rules of src/verify/bfs.rs.

#include "arcs.cuh"

// Levels as bytes: few nodes are deeper than that, and a byte says of a node all that an arc to it asks.
#define DEEPEST 125u  // @host
#define UNREACHED 127u
#define SUPPORTED 128u

struct BfsArgs {  // @host
    Rows rows;
    const u32* levels;   // [nodes], NONE where unreached
    const u32* parents;  // [nodes], or null
    const u32* ranks;    // [nodes], or null where ids rise
    u32* support;        // [nodes], NONE at first: least rank of an in-neighbour one level above; or null
    unsigned char* near; // [nodes] levels, or UNREACHED, and SUPPORTED once an in-neighbour one level above is found; or null
    Findings* findings;
    u32 source;
    u32 unused;
};

extern "C" __global__ void __launch_bounds__(THREADS) check_bfs_arcs(BfsArgs a) {
    bool wrong = false;
    each_arc(a.rows, [&](u32 u, u32 v, u64) {
        u32 above = a.levels[u];
        if (above == NONE) return;
        u32 below = above + 1, level = a.levels[v];
        if (level == NONE || level > below) wrong = true;
        if (level != below) return;
        u32 support = a.support[v];
        if (!a.parents) {
            // Any support will do.
            if (support == NONE) a.support[v] = 0;
            return;
        }
        u32 rank = rank_of(a.ranks, u);
        if (support > rank) atomicMin(a.support + v, rank);
    });
    if (wrong) a.findings->wrong = 1;
}

// Makes bytes of levels; the deepest level.
extern "C" __global__ void __launch_bounds__(THREADS) check_bfs_near(BfsArgs a) {
    u64 depth = 0;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 level = a.levels[v];
        if (level != NONE && level > depth) depth = level;
        a.near[v] = (unsigned char)(level == NONE ? UNREACHED : level > DEEPEST ? DEEPEST : level);
    }
    most_of_all(&a.findings->most, depth);
}

// The same of levels that are bytes.
extern "C" __global__ void __launch_bounds__(THREADS) check_bfs_near_arcs(BfsArgs a) {
    u32 last = NONE, above = 0;
    bool wrong = false;
    each_row_sum<u32>(
        a.rows, [&](u32 v, u64) { return (u32)a.near[v]; },
        [&](u32 u, u32 v, u32 found) {
            if (u != last) {
                last = u;
                above = a.near[u] & (SUPPORTED - 1);
            }
            u32 level = found & (SUPPORTED - 1);
            if (above == UNREACHED) return 0u;
            if (level > above + 1) wrong = true;
            if (level != above + 1) return 0u;
            if (!a.parents) {
                // All who write this write the same.
                if (found < SUPPORTED) a.near[v] = (unsigned char)(level | SUPPORTED);
                return 0u;
            }
            u32 rank = rank_of(a.ranks, u);
            if (a.support[v] > rank) atomicMin(a.support + v, rank);
            return 0u;
        },
        [](u32, u32) {});
    if (wrong) a.findings->wrong = 1;
}

extern "C" __global__ void __launch_bounds__(THREADS) check_bfs_nodes(BfsArgs a) {
    u64 reached = 0, arcs = 0, depth = 0;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 level = a.levels[v], support = a.support ? a.support[v] : NONE;
        bool supported = a.support ? support != NONE : a.near[v] >= SUPPORTED;
        bool right = level == NONE || (level == 0 ? v == a.source : supported);
        if (v == a.source && level != 0) right = false;
        if (a.parents) {
            u32 parent = a.parents[v];
            if (level == NONE) {
                right = right && parent == NONE;
            } else if (level == 0) {
                right = right && parent == v;
            } else {
                right = right && parent < a.rows.nodes && rank_of(a.ranks, parent) == support;
            }
        }
        if (!right) a.findings->wrong = 1;
        if (level != NONE) {
            reached += 1;
            arcs += a.rows.offsets[v + 1] - a.rows.offsets[v];
            if (level > depth) depth = level;
        }
    }
    add_all(&a.findings->reached, reached);
    add_all(&a.findings->arcs, arcs);
    most_of_all(&a.findings->most, depth);
}
