// What the tasks of cc.cu share: arguments, joining trees, following chains, the giant's root.
#pragma once

#include "joint.cuh"

enum Task { WHOLE = 0, ROOTS = 1, FINISH = 2, HOOK = 3, REHOOK = 4, JOINT = 5 };  // @host

struct CcStatus {  // @host
    u64 arcs;     // looked at by this launch
    u64 changed;  // REHOOK: nodes whose component is not what the merge said
    u32 deep;     // ROOTS: a chain was longer than `hops`, or chains lead to many roots
    u32 giant;    // root of the giant's tree
    u32 rounds;   // times that the grid met
    u32 stopped;
};

struct CcControl {  // @host
    Meeting barrier;
    u32 moved[3];  // a chain is not at its end yet; rounds alternate
    u32 longs;     // entries of the list of long rows
    u32 roots;     // entries of the list of trees' roots
    u32 left;      // nodes that are not settled
    u64 arcs;
    u64 changed;
};

struct CcArgs {  // @host
    const offset_t* out_offsets;
    const u32* out_columns;
    const offset_t* in_offsets;  // the same where rows are the same both ways
    const u32* in_columns;
    const u32* first;  // [active] min(v, smallest neighbour); `flat`: the nearest smaller one
    u32* comp;         // [active]
    u32* old;          // [active] own parents before the merge; where nothing is merged, nodes that are not settled
    u32* settled;      // [words] nodes in the giant's tree
    u32* longs;        // [active] long rows that are left
    CcControl* control;
    CcStatus* status;  // pinned
    const u32* abort;  // pinned
    u64 deadline_ns;
    u32 active;
    u32 lo, hi;  // the chunk
    u32 hops;    // of a chain before it is left to the next round
    u32 sampled;  // link the first two neighbours, instead of trusting `first`
    u32 flat;     // chains are long: join tiles first
    u32 task;
    u32 votes;  // of VOTERS for a tree that is to be the giant's without a look at arcs
    Joint joint;               // JOINT alone reads what follows
    u32* bitmaps[REPLICAS];  // everybody's `settled`
};

#define THREADS 512u  // @host
#define VOTERS 256u  // @host nodes that are asked for their roots
#define GROUP 8u  // words that replicas have in turn
#define AHEAD 4u  // words that a warp has under way, or nodes that a thread has
#define TILE 8192u  // nodes that a block joins in shared memory
#define LONG_ROW 32u  // arcs from which a row is listed, and more threads take it
#define MOST_STRIDE 1024u  // one node in so many joins trees, at first
#define LEAST_STRIDE 16u   // and at last
#define LOOKS 32u  // arcs of a root, at most, among which it looks for a smaller one
#define MANY_ARCS 6u  // left for each thread: trees are joined by a few of them first

__device__ __forceinline__ u32 root_of(const u32* comp, u32 v) {
    u32 p = fresh(comp + v);
    for (u32 q; (q = fresh(comp + p)) != p;) p = q;
    return p;
}

// A parent, through L1, which may have one of earlier: an ancestor in any case, since pointers only fall. What was written before
// the grid last met is seen.
__device__ __forceinline__ u32 cached(const u32* at) { return __ldca(at); }

// Joins the trees of u and v: hooks the larger root under the smaller. Only what an atomic returns says that a node is a root.
__device__ void link(u32* comp, u32 u, u32 v) {
    u32 p = cached(comp + u), q = cached(comp + v);
    while (p != q) {
        u32 high = max(p, q), low = min(p, q);
        u32 above = cached(comp + high);
        if (above == low) return;
        if (above == high) {
            above = atomicCAS(comp + high, high, low);
            if (above == high) return;
        }
        p = cached(comp + above);
        q = cached(comp + low);
    }
}

// Takes several nodes to the ends of their chains, or as far as so many hops lead; whether all are at ends. parent(v) is what v
// points to.
template <u32 COUNT, class Parent>
__device__ __forceinline__ bool climb(u32 (&v)[COUNT], u32 hops, Parent parent) {
    bool done = false;
    for (u32 hop = 0; hop < hops && !done; hop++) {
        u32 above[COUNT];
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) above[k] = parent(v[k]);
        done = true;
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            done = done && above[k] == v[k];
            v[k] = above[k];
        }
    }
    return done;
}

// The ends of chains in `first`, several at a time, or where `hops` lead.
template <u32 COUNT>
__device__ __forceinline__ void chains(const CcArgs& a, u32 (&v)[COUNT], bool& deep) {
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) v[k] = __ldg(a.first + v[k]);
    bool done = climb(v, a.hops, [&](u32 u) { return __ldg(a.first + u); });
    deep = deep || !done;
}

__device__ __forceinline__ u32 chain(const CcArgs& a, u32 v, bool& deep) {
    u32 end[1] = {v};
    chains<1>(a, end, deep);
    return end[0];
}

// The root that most of VOTERS nodes, spread evenly, have: the same in every block. `votes_for` says how many have it.
__device__ u32 vote(const CcArgs& a, bool chained, u32& votes_for) {
    __shared__ uint4 roots[VOTERS / 4];
    __shared__ u32 most, winner;
    u32 root = 0, votes = 0;
    bool deep = false, voter = threadIdx.x < VOTERS;
    if (voter) {
        u32 v = (u32)((u64)threadIdx.x * a.active / VOTERS);
        root = chained ? chain(a, v, deep) : fresh(a.comp + fresh(a.comp + v));
    }
    // Some may still read what the last vote said.
    __syncthreads();
    if (voter) ((u32*)roots)[threadIdx.x] = root;
    if (threadIdx.x == 0) {
        most = 0;
        winner = FULL;
    }
    __syncthreads();
    if (voter) {
#pragma unroll 4
        for (u32 i = 0; i < VOTERS / 4; i++) {
            uint4 r = roots[i];
            votes += (r.x == root) + (r.y == root) + (r.z == root) + (r.w == root);
        }
        atomicMax(&most, votes);
    }
    __syncthreads();
    if (voter && votes == most) atomicMin(&winner, root);
    __syncthreads();
    votes_for = most;
    return winner;
}

__device__ u32 vote(const CcArgs& a, bool chained) {
    u32 votes;
    return vote(a, chained, votes);
}

// Shortens chains of all nodes, or of all of a list, as far as `hops` lead; a thread has COUNT nodes under way. Whether some
// chains are longer.
template <u32 COUNT>
__device__ __forceinline__ bool shorten(const CcArgs& a, const u32* list, u32 count) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    bool moved = false;
    for (u64 first = thread; first < count; first += (u64)threads * COUNT) {
        u32 v[COUNT], p[COUNT], from[COUNT];
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            // The last ones stand for those that are not there.
            u32 i = (u32)min(first + (u64)k * threads, (u64)count - 1);
            v[k] = list ? fresh(list + i) : i;
        }
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) p[k] = from[k] = fresh(a.comp + v[k]);
        moved |= !climb(p, a.hops + 1, [&](u32 u) { return cached(a.comp + u); });
#pragma unroll
        for (u32 k = 0; k < COUNT; k++)
            if (p[k] != from[k]) __stcg(a.comp + v[k], p[k]);
    }
    return moved;
}

// Shortens chains until all of these nodes point to roots. No root is hooked meanwhile.
__device__ bool compress(const CcArgs& a, Grid& grid, const u32* list, u32 count, u32& rounds) {
    for (u32 round = 0;; round++) {
        // Where each thread has one node, others would only be looked at twice.
        bool moved = count <= gridDim.x * blockDim.x ? shorten<1>(a, list, count) : shorten<AHEAD>(a, list, count);
        if (moved) atomicOr(&a.control->moved[round % 3], 1u);
        rounds++;
        if (!grid.sync()) return false;
        bool again = fresh(&a.control->moved[round % 3]) != 0;
        if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(&a.control->moved[(round + 2) % 3], 0u);
        if (!again) return true;
    }
}
