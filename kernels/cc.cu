// Connected components: every node ends with the smallest label that it is connected with.
//
// Idea. `comp` is a forest whose pointers only ever fall: comp[v] <= v, roots point to themselves, so the root of a
// tree is its smallest node. Joining two trees hooks the larger root under the smaller (Afforest's link). Most of
// the work is done without looking at arcs: `first` holds min(v, smallest neighbour), a forest that everybody
// has; with labels by falling degree its chains lead to the hubs in a few hops, and nearly all nodes end in one
// tree, the giant. Only the arcs of nodes outside of it are looked at then: whatever it misses has an arc there.
// On flat graphs such chains are as long as the graph is wide: there each node points to its nearest smaller
// neighbour, blocks join tiles of neighbouring labels in shared memory, and only the tiles' roots are chased.
//
// The forest's end is unique, whatever the order of hooks: replicas that finish redundantly end with equal bits.
//
// Tasks: WHOLE is everything. ROOTS follows the chains of the own chunk and says in `settled` which nodes end in
// the giant's tree; once the bitmap is gathered, FINISH makes `comp` from it and looks at what is left, on
// every replica alike. HOOK joins over the own chunk's arcs only; after a MIN merge REHOOK joins each node with
// its own old parent, which MIN forgot (DESIGN 7.1 rule 5).
//
// Jointly (cc_joint), replicas on several GPUs follow the chains of groups of words in turn, and store what they say in
// `settled` into everybody's; they meet once (joint.cuh), and each does the rest by itself.
//
// Source: Sutton, Ben-Nun, Barak, IPDPS 2018 (Afforest: link, skip the giant); Shiloach, Vishkin, 1982 (hooking).
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "joint.cuh"

enum Task { WHOLE = 0, ROOTS = 1, FINISH = 2, HOOK = 3, REHOOK = 4, JOINT = 5 };

struct CcStatus {
    u64 arcs;     // looked at by this launch
    u64 changed;  // REHOOK: nodes whose component is not what the merge said
    u32 deep;     // ROOTS: a chain was longer than `hops`
    u32 giant;    // root of the giant's tree
    u32 rounds;   // times that the grid met
    u32 stopped;
};

struct CcControl {
    Meeting barrier;
    u32 moved[3];  // a chain is not at its end yet; rounds alternate
    u32 longs;     // entries of the list of long rows
    u32 roots;     // entries of the list of tiles' roots
    u32 left;      // nodes that are not settled
    u64 arcs;
    u64 changed;
};

struct CcArgs {
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
    u32 unused;
    Joint joint;               // JOINT alone reads what follows
    u32* bitmaps[REPLICAS];  // everybody's `settled`
};

#define THREADS 512u
#define GROUP 8u  // words that replicas have in turn
#define AHEAD 4u  // words that a warp has under way
#define TILE 8192u  // nodes that a block joins in shared memory
#define LONG_ROW 64u  // arcs from which a block takes a row

__device__ __forceinline__ u32 root_of(const u32* comp, u32 v) {
    u32 p = fresh(comp + v);
    for (u32 q; (q = fresh(comp + p)) != p;) p = q;
    return p;
}

// Joins the trees of u and v: hooks the larger root under the smaller.
__device__ void link(u32* comp, u32 u, u32 v) {
    u32 p = fresh(comp + u), q = fresh(comp + v);
    while (p != q) {
        u32 high = max(p, q), low = min(p, q);
        u32 above = fresh(comp + high);
        if (above == low) return;
        if (above == high) {
            if (atomicCAS(comp + high, high, low) == high) return;
            above = fresh(comp + high);
        }
        p = fresh(comp + above);
        q = fresh(comp + low);
    }
}

// The ends of chains in `first`, several at a time, or where `hops` lead.
template <u32 COUNT>
__device__ __forceinline__ void chains(const CcArgs& a, u32 (&v)[COUNT], bool& deep) {
    bool done = false;
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) v[k] = __ldg(a.first + v[k]);
    for (u32 hop = 0; hop < a.hops && !done; hop++) {
        u32 above[COUNT];
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) above[k] = __ldg(a.first + v[k]);
        done = true;
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) {
            done = done && above[k] == v[k];
            v[k] = above[k];
        }
    }
    deep = deep || !done;
}

__device__ __forceinline__ u32 chain(const CcArgs& a, u32 v, bool& deep) {
    u32 end[1] = {v};
    chains<1>(a, end, deep);
    return end[0];
}

// The root that most of THREADS nodes, spread evenly, have: the same in every block.
__device__ u32 vote(const CcArgs& a, bool chained) {
    __shared__ u32 roots[THREADS];
    __shared__ u32 best;
    u32 v = (u32)((u64)threadIdx.x * a.active / THREADS);
    bool deep = false;
    u32 root = chained ? chain(a, v, deep) : fresh(a.comp + fresh(a.comp + v));
    roots[threadIdx.x] = root;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    u32 votes = 0;
    for (u32 i = 0; i < THREADS; i++) votes += roots[i] == root;
    atomicMax(&best, votes);
    __syncthreads();
    u32 most = best;
    __syncthreads();
    if (threadIdx.x == 0) best = FULL;
    __syncthreads();
    if (votes == most) atomicMin(&best, root);
    __syncthreads();
    return best;
}

// Shortens chains until all nodes, or all of a list, point to roots.
__device__ bool compress(const CcArgs& a, Grid& grid, const u32* list, u32 count, u32& rounds) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 round = 0;; round++) {
        bool moved = false;
        for (u64 i = thread; i < count; i += threads) {
            u32 v = list ? fresh(list + i) : (u32)i, p = fresh(a.comp + v), from = p;
            for (u32 hop = 0;; hop++) {
                u32 q = fresh(a.comp + p);
                if (q == p) break;
                p = q;
                if (hop == a.hops) {
                    moved = true;
                    break;
                }
            }
            if (p != from) __stcg(a.comp + v, p);
        }
        if (moved) atomicOr(&a.control->moved[round % 3], 1u);
        rounds++;
        if (!grid.sync()) return false;
        bool again = fresh(&a.control->moved[round % 3]) != 0;
        if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(&a.control->moved[(round + 2) % 3], 0u);
        if (!again) return true;
    }
}

// comp[v], and which of them end in the giant's tree, for COUNT words from `first` on.
template <u32 COUNT>
__device__ __forceinline__ void follow_words(const CcArgs& a, u32 first, u32 giant, u32 (&bits)[COUNT], bool& deep) {
    u32 root[COUNT];
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) root[k] = min((first + k) * 32 + lane_id(), a.active - 1u);
    chains<COUNT>(a, root, deep);
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) {
        u32 v = (first + k) * 32 + lane_id();
        if (v < a.active) __stcg(a.comp + v, root[k]);
        bits[k] = __ballot_sync(FULL, v < a.active && root[k] == giant);
    }
}

// comp[v] and `settled` for the words [from, to) of 32 nodes, from the chains. A warp has several words under way where
// there are enough of them.
__device__ bool follow(const CcArgs& a, u32 from, u32 to, u32 giant) {
    u32 warps = gridDim.x * (blockDim.x >> 5), warp = blockIdx.x * (blockDim.x >> 5) + warp_id();
    bool deep = false;
    u64 i = from;
    for (; i + warps * AHEAD <= to; i += warps * AHEAD) {
        u32 at = (u32)i + warp * AHEAD, bits[AHEAD];
        follow_words<AHEAD>(a, at, giant, bits, deep);
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++)
            if (lane_id() == 0) __stcg(a.settled + at + k, bits[k]);
    }
    for (i += warp; i < to; i += warps) {
        u32 bits[1];
        follow_words<1>(a, (u32)i, giant, bits, deep);
        if (lane_id() == 0) __stcg(a.settled + i, bits[0]);
    }
    return deep;
}

// The same for the groups that are this replica's turn; what is settled is told to all.
__device__ bool follow_own(const CcArgs& a, u32 words, u32 giant) {
    u32 warps = gridDim.x * (blockDim.x >> 5), groups = (words + GROUP - 1) / GROUP;
    u64 turn = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * a.joint.world + a.joint.rank;
    bool deep = false;
    for (u64 g = turn; g < groups; g += (u64)warps * a.joint.world) {
        u32 first = (u32)g * GROUP, mine = 0;
        for (u32 k = 0; k < GROUP; k += AHEAD) {
            u32 bits[AHEAD];
            follow_words<AHEAD>(a, first + k, giant, bits, deep);
#pragma unroll
            for (u32 n = 0; n < AHEAD; n++)
                if (lane_id() == k + n) mine = bits[n];
        }
        if (lane_id() < GROUP && first + lane_id() < words) {
            __stcg(a.settled + first + lane_id(), mine);
            tell(a.joint, a.bitmaps, first + lane_id(), mine);
        }
    }
    return deep;
}

// Lists the nodes whose bits in `settled` are not set; a warp looks at 32 words at a time.
__device__ void list_left(const CcArgs& a, u32 words) {
    u32 stride = gridDim.x * blockDim.x, lane = lane_id();
    for (u64 base = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 32; base < words; base += stride) {
        u32 i = (u32)base + lane, open = 0;
        if (i < words) {
            u32 nodes = a.active - i * 32;
            open = ~fresh(a.settled + i) & (nodes >= 32 ? FULL : (1u << nodes) - 1u);
        }
        u32 until = __popc(open);
#pragma unroll
        for (u32 step = 1; step < 32; step <<= 1) {
            u32 other = __shfl_up_sync(FULL, until, step);
            if (lane >= step) until += other;
        }
        u32 place = 0;
        if (lane == 31 && until != 0) place = atomicAdd(&a.control->left, until);
        place = __shfl_sync(FULL, place, 31) + until - __popc(open);
        for (; open; open &= open - 1) __stcg(a.old + place++, i * 32 + __ffs(open) - 1);
    }
}

// Trees within tiles of neighbouring labels: on return nodes point to roots, and the root of each tile's tree to
// its parent outside, listed in `longs`, or to itself. `first` holds the nearest smaller neighbour here, which
// keeps chains inside of tiles.
__device__ void join_tiles(const CcArgs& a) {
    __shared__ u32 parent[TILE];
    __shared__ u32 count, at;
    for (u64 base = (u64)blockIdx.x * TILE; base < a.active; base += (u64)gridDim.x * TILE) {
        u32 nodes = (u32)min((u64)TILE, a.active - base);
        if (threadIdx.x == 0) count = 0;
        for (u32 i = threadIdx.x; i < nodes; i += THREADS) {
            u32 p = __ldg(a.first + base + i);
            parent[i] = p >= base ? p - (u32)base : i;
        }
        __syncthreads();
        bool moved = true;
        while (__syncthreads_or(moved)) {
            moved = false;
            u32 above[TILE / THREADS];
#pragma unroll
            for (u32 k = 0; k < TILE / THREADS; k++) {
                u32 i = threadIdx.x + k * THREADS;
                u32 p = i < nodes ? parent[i] : 0;
                above[k] = parent[p];
                moved |= i < nodes && above[k] != p;
            }
            __syncthreads();
#pragma unroll
            for (u32 k = 0; k < TILE / THREADS; k++) {
                u32 i = threadIdx.x + k * THREADS;
                if (i < nodes) parent[i] = above[k];
            }
        }
        u32 mine = 0;
        for (u32 i = threadIdx.x; i < nodes; i += THREADS) {
            u32 p = parent[i], outside = p == i ? __ldg(a.first + base + i) : (u32)base + p;
            __stcg(a.comp + base + i, outside);
            mine += p == i && outside != base + i;
        }
        u32 place = mine ? atomicAdd(&count, mine) : 0;
        __syncthreads();
        if (threadIdx.x == 0) at = count ? atomicAdd(&a.control->roots, count) : 0;
        __syncthreads();
        if (mine) {
            for (u32 i = threadIdx.x; i < nodes; i += THREADS)
                if (parent[i] == i && __ldg(a.first + base + i) != base + i)
                    __stcg(a.longs + at + place++, (u32)base + i);
        }
        __syncthreads();
    }
}

// `settled`, and roots in `comp`, whose pointers are at most two from them.
__device__ void settle(const CcArgs& a, u32 words, u32 giant) {
    u32 warps = gridDim.x * (blockDim.x >> 5);
    for (u64 i = blockIdx.x * (blockDim.x >> 5) + warp_id(); i < words; i += warps) {
        u32 v = (u32)i * 32 + lane_id(), root = FULL;
        if (v < a.active) {
            u32 p = fresh(a.comp + v);
            root = fresh(a.comp + p);
            if (root != p) __stcg(a.comp + v, root);
        }
        u32 bits = __ballot_sync(FULL, root == giant);
        if (lane_id() == 0) __stcg(a.settled + i, bits);
    }
}

__device__ __forceinline__ bool own_turn(const CcArgs& a, u32 word) {
    return word / GROUP % a.joint.world == a.joint.rank;
}

// Fills the words of other chunks, or turns: settled nodes are the giant's, others follow their chains; together these are
// left to whoever lists them, so that no warp waits for a few.
template <bool TOGETHER>
__device__ void take_over(const CcArgs& a, u32 words, u32 giant) {
    u32 stride = gridDim.x * blockDim.x;
    for (u64 base = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 32; base < words; base += stride) {
        u32 own = base + lane_id() < words ? fresh(a.settled + base + lane_id()) : 0;
        for (u32 k = 0; k < 32; k++) {
            u32 i = (u32)base + k, v = i * 32 + lane_id(), bits = __shfl_sync(FULL, own, k);
            if (v >= a.active) continue;
            if (TOGETHER ? own_turn(a, i) : v >= a.lo && v < a.hi) continue;
            bool deep = false, settled = bits >> lane_id() & 1u;
            if (settled || !TOGETHER) __stcg(a.comp + v, settled ? giant : chain(a, v, deep));
        }
    }
}

__device__ u64 link_row(const CcArgs& a, const offset_t* offsets, const u32* columns, u32 v,
                        u32 thread, u32 threads) {
    u64 from = __ldg(offsets + v), to = __ldg(offsets + v + 1), arcs = 0;
    for (u64 i = from + thread; i < to; i += threads, arcs++) link(a.comp, v, __ldg(columns + i));
    return arcs;
}

__device__ u64 link_rows(const CcArgs& a, u32 v, u32 thread, u32 threads) {
    u64 arcs = link_row(a, a.out_offsets, a.out_columns, v, thread, threads);
    if (a.in_offsets != a.out_offsets)
        arcs += link_row(a, a.in_offsets, a.in_columns, v, thread, threads);
    return arcs;
}

__device__ __forceinline__ u64 length(const offset_t* offsets, u32 v) {
    return (u64)__ldg(offsets + v + 1) - (u64)__ldg(offsets + v);
}

// Links over the rows of the nodes that are not settled, which are listed; long rows are listed apart, and taken by blocks.
// `shared`: others followed the chains of some of them. Two barriers, or three.
__device__ bool link_left(const CcArgs& a, Grid& grid, u32 words, bool shared, u64& arcs) {
    list_left(a, words);
    if (!grid.sync()) return false;
    bool both = a.in_offsets != a.out_offsets;
    u32 left = fresh(&a.control->left);
    if (shared) {
        for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < left; i += gridDim.x * blockDim.x) {
            u32 v = fresh(a.old + i);
            bool deep = false;
            if (!own_turn(a, v >> 5)) __stcg(a.comp + v, chain(a, v, deep));
        }
        if (!grid.sync()) return false;
    }
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < left; i += gridDim.x * blockDim.x) {
        u32 v = fresh(a.old + i);
        u64 row = length(a.out_offsets, v) + (both ? length(a.in_offsets, v) : 0);
        if (row < LONG_ROW) arcs += link_rows(a, v, 0, 1);
        else __stcg(a.longs + atomicAdd(&a.control->longs, 1u), v);
    }
    if (!grid.sync()) return false;
    u32 longs = fresh(&a.control->longs);
    for (u32 i = blockIdx.x; i < longs; i += gridDim.x)
        arcs += link_rows(a, fresh(a.longs + i), threadIdx.x, blockDim.x);
    return true;
}

// Links over the own chunk's out-arcs; long rows as above. One barrier.
__device__ bool link_chunk(const CcArgs& a, Grid& grid, u64& arcs) {
    u32 threads = gridDim.x * blockDim.x;
    for (u64 i = a.lo + blockIdx.x * blockDim.x + threadIdx.x; i < a.hi; i += threads) {
        u32 v = (u32)i;
        if (length(a.out_offsets, v) < LONG_ROW)
            arcs += link_row(a, a.out_offsets, a.out_columns, v, 0, 1);
        else __stcg(a.longs + atomicAdd(&a.control->longs, 1u), v);
    }
    if (!grid.sync()) return false;
    u32 longs = fresh(&a.control->longs);
    for (u32 i = blockIdx.x; i < longs; i += gridDim.x)
        arcs += link_row(a, a.out_offsets, a.out_columns, fresh(a.longs + i), threadIdx.x, blockDim.x);
    return true;
}

// Each node not settled gets its root; where the giant's root was hooked, so do the others.
__device__ void conclude(const CcArgs& a, u32 giant) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    u32 root = root_of(a.comp, giant), left = fresh(&a.control->left);
    for (u64 i = thread; i < left; i += threads) {
        u32 v = fresh(a.old + i);
        __stcg(a.comp + v, root_of(a.comp, v));
    }
    if (root == giant) return;
    for (u64 v = thread; v < a.active; v += threads)
        if (fresh(a.settled + v / 32) >> (v & 31u) & 1u) __stcg(a.comp + v, root);
}

// The chains of `first`, followed together. False, too, where one is long: then nothing has been done.
__device__ bool follow_together(const CcArgs& a, Grid& grid, u64& epoch, u32 words, u32 giant) {
    if (follow_own(a, words, giant)) atomicOr(&a.control->moved[2], 1u);
    Letter letter;
    if (!meet(grid, a.joint, epoch, NULL, NULL, &a.control->moved[2], letter) || letter.largest != 0) return false;
    take_over<true>(a, words, giant);
    return true;
}

template <bool TOGETHER>
__device__ bool whole(const CcArgs& a, Grid& grid, u64& epoch, u32& giant, u32& rounds, u64& arcs) {
    u32 words = (a.active + 31) / 32, threads = gridDim.x * blockDim.x;
    bool shared = false;
    if (a.task == FINISH) {
        giant = vote(a, true);
        take_over<false>(a, words, giant);
        rounds++;
        if (!grid.sync()) return false;
    } else if (a.sampled) {
        for (u64 v = blockIdx.x * blockDim.x + threadIdx.x; v < a.active; v += threads)
            __stcg(a.comp + v, (u32)v);
        if (!grid.sync()) return false;
        for (u32 k = 0; k < 2; k++) {
            for (u64 v = blockIdx.x * blockDim.x + threadIdx.x; v < a.active; v += threads) {
                u64 at = (u64)__ldg(a.out_offsets + v) + k;
                if (at < __ldg(a.out_offsets + v + 1)) link(a.comp, (u32)v, __ldg(a.out_columns + at));
            }
            if (!grid.sync()) return false;
            if (!compress(a, grid, NULL, a.active, rounds)) return false;
        }
        giant = vote(a, false);
        settle(a, words, giant);
        if (!grid.sync()) return false;
    } else if (a.flat) {
        join_tiles(a);
        if (!grid.sync()) return false;
        if (!compress(a, grid, a.longs, fresh(&a.control->roots), rounds)) return false;
        giant = vote(a, false);
        settle(a, words, giant);
        rounds++;
        if (!grid.sync()) return false;
    } else {
        giant = vote(a, true);
        shared = TOGETHER && follow_together(a, grid, epoch, words, giant);
        if (grid.stopped) return false;
        rounds++;
        // `deep` has a counter of its own, the one that compress comes to last.
        if (!shared && follow(a, 0, words, giant)) atomicOr(&a.control->moved[2], 1u);
        if (!shared && !grid.sync()) return false;
        if (!shared && fresh(&a.control->moved[2])) {
            if (!grid.sync()) return false;
            if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(&a.control->moved[2], 0u);
            if (!compress(a, grid, NULL, a.active, rounds)) return false;
            giant = vote(a, false);
            settle(a, words, giant);
            rounds++;
            if (!grid.sync()) return false;
        }
    }
    if (!link_left(a, grid, words, shared, arcs)) return false;
    rounds += shared ? 4 : 3;
    if (!grid.sync()) return false;
    conclude(a, giant);
    return true;
}

// HOOK and REHOOK: ends with `old` equal to `comp`, compressed.
__device__ bool hook(const CcArgs& a, Grid& grid, u32& rounds, u64& arcs, u64& changed) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (a.task == HOOK) {
        for (u64 v = thread; v < a.active; v += threads) __stcg(a.comp + v, (u32)v);
        if (!grid.sync()) return false;
        if (!link_chunk(a, grid, arcs)) return false;
    } else {
        // `longs` keeps what the merge said, to be compared with.
        for (u64 i = thread; i < a.active; i += threads) {
            u32 v = (u32)i, merged = fresh(a.comp + v);
            __stcg(a.longs + v, merged);
        }
        if (!grid.sync()) return false;
        for (u64 i = thread; i < a.active; i += threads) {
            u32 v = (u32)i, own = fresh(a.old + v);
            if (own != fresh(a.longs + v)) link(a.comp, v, own);
        }
    }
    rounds += 2;
    if (!grid.sync()) return false;
    if (!compress(a, grid, NULL, a.active, rounds)) return false;
    for (u64 v = thread; v < a.active; v += threads) {
        u32 root = fresh(a.comp + v);
        if (a.task == REHOOK) changed += root != fresh(a.longs + v);
        __stcg(a.old + v, root);
    }
    return true;
}

// TOGETHER: task JOINT, else any other.
template <bool TOGETHER> __device__ __forceinline__ void run(const CcArgs& a) {
    __shared__ u64 room[THREADS / 32];
    Grid grid = {&a.control->barrier, a.abort, a.deadline_ns, 0, 0};
    u32 giant = 0, rounds = 0;
    u64 arcs = 0, changed = 0;
    u64 epoch = TOGETHER ? fresh(&a.joint.mail[a.joint.rank]->epoch) : 0;
    if (TOGETHER) {
        whole<true>(a, grid, epoch, giant, rounds, arcs);
    } else if (a.task == ROOTS) {
        giant = vote(a, true);
        bool deep = follow(a, a.lo / 32, (a.hi + 31) / 32, giant);
        if (deep) atomicOr(&a.control->moved[2], 1u);
    } else if (a.task == HOOK || a.task == REHOOK) {
        hook(a, grid, rounds, arcs, changed);
    } else {
        whole<false>(a, grid, epoch, giant, rounds, arcs);
    }
    arcs = block_sum(arcs, room);
    changed = block_sum(changed, room);
    if (threadIdx.x == 0 && arcs) atomicAdd(&a.control->arcs, arcs);
    if (threadIdx.x == 0 && changed) atomicAdd(&a.control->changed, changed);
    if (!grid.stopped) grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        CcStatus* out = a.status;
        out->arcs = fresh(&a.control->arcs);
        out->changed = fresh(&a.control->changed);
        out->deep = fresh(&a.control->moved[2]);
        out->giant = giant;
        out->rounds = rounds;
        out->stopped = grid.stopped;
        if (TOGETHER) __stcg(&a.joint.mail[a.joint.rank]->epoch, epoch);
    }
}

extern "C" __global__ void __launch_bounds__(512, 2) cc_run(const CcArgs a) { run<false>(a); }

extern "C" __global__ void __launch_bounds__(512, 2) cc_joint(const CcArgs a) { run<true>(a); }

struct FirstArgs {
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
