// Connected components: every node ends with the smallest label that it is connected with.
//
// Idea. `comp` is a forest whose pointers only ever fall: comp[v] <= v, roots point to themselves, so the root of a
// tree is its smallest node. Joining two trees hooks the larger root under the smaller (Afforest's link). Most of
// the work is done without looking at arcs: `first` holds min(v, smallest neighbour), a forest that everybody
// has; with labels by falling degree its chains lead to the hubs in a few hops, and nearly all nodes end in one
// tree, the giant. Only the arcs of nodes outside of it are looked at then: whatever it misses has an arc there.
// Where these lead to many roots, as they do where degrees are alike, each root hooks itself under what one of its neighbours
// points to, and nearly all trees are one. A few nodes tell which it is: their chains end in one root, or in many.
// On grids such chains are as long as the graph is wide: there each node points to its nearest smaller
// neighbour, blocks join tiles of neighbouring labels in shared memory, and only the tiles' roots are chased.
//
// The forest's end is unique, whatever the order of hooks: replicas that finish redundantly end with equal bits.
//
// Tasks: WHOLE is everything. ROOTS follows the chains of the own chunk and says in `settled` which nodes end in
// the giant's tree; once the bitmap is gathered, FINISH makes `comp` from it and looks at what is left, on
// every replica alike. HOOK joins over the own chunk's arcs only; after a MIN merge REHOOK joins each node with
// its own old parent, which MIN forgot (docs/design.md, "MIN loses links").
//
// Jointly (cc_joint), replicas on several GPUs follow the chains of groups of words in turn, and store what they say in
// `settled` into everybody's; they meet once (joint.cuh), and each does the rest by itself.
//
// Source: Sutton, Ben-Nun, Barak, IPDPS 2018 (Afforest: link, skip the giant); Shiloach, Vishkin, 1982 (hooking).
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "cc_whole.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, 2) cc_run(const CcArgs a) { run<false>(a); }

struct FirstArgs {  // @host
    const offset_t* out_offsets;
    const u32* out_columns;
    const offset_t* in_offsets;
    const u32* in_columns;
    u32* first;
    u32 active;
    u32 nearest;
};

// The largest column of a row below v, or `least`. Rows rise.
__device__ u32 below(const u32* columns, u64 from, u64 to, u32 v, u32 least) {
    while (from < to) {
        u64 middle = (from + to) / 2;
        if (columns[middle] < v) {
            least = columns[middle];
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return least;
}

// first[v] = min(v, smallest neighbour in either direction), or the nearest smaller neighbour, else v.
extern "C" __global__ void cc_first(const FirstArgs a) {
    u32 threads = gridDim.x * blockDim.x;
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.active; i += threads) {
        u32 v = (u32)i, least = v;
        if (a.out_offsets[v] < a.out_offsets[v + 1]) least = min(least, a.out_columns[a.out_offsets[v]]);
        if (a.in_offsets[v] < a.in_offsets[v + 1]) least = min(least, a.in_columns[a.in_offsets[v]]);
        if (a.nearest && least < v) {
            least = below(a.out_columns, a.out_offsets[v], a.out_offsets[v + 1], v, least);
            least = max(least, below(a.in_columns, a.in_offsets[v], a.in_offsets[v + 1], v, least));
        }
        a.first[v] = least;
    }
}
