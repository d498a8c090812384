// All tasks, alone or with other GPUs: cc.cu tells how.
#pragma once

#include "cc_follow.cuh"

__device__ u64 link_row(const CcArgs& a, const offset_t* offsets, const u32* columns, u32 v,
                        u32 thread, u32 threads) {
    u64 from = __ldg(offsets + v), to = __ldg(offsets + v + 1), arcs = 0;
    for (u64 i = from + thread; i < to; i += threads, arcs++) link(a.comp, v, __ldg(columns + i));
    return arcs;
}

// `both`: over the arcs that lead here, too, where these are others.
__device__ u64 link_rows(const CcArgs& a, u32 v, bool both, u32 thread, u32 threads) {
    u64 arcs = link_row(a, a.out_offsets, a.out_columns, v, thread, threads);
    if (both) arcs += link_row(a, a.in_offsets, a.in_columns, v, thread, threads);
    return arcs;
}

__device__ __forceinline__ u64 length(const offset_t* offsets, u32 v) {
    return (u64)__ldg(offsets + v + 1) - (u64)__ldg(offsets + v);
}

// The same, by some threads; a long row is listed instead.
__device__ u64 link_or_list(const CcArgs& a, u32 v, bool both, u32 thread, u32 threads) {
    u64 row = length(a.out_offsets, v) + (both ? length(a.in_offsets, v) : 0);
    if (row < LONG_ROW) return link_rows(a, v, both, thread, threads);
    if (thread == 0) __stcg(a.longs + atomicAdd(&a.control->longs, 1u), v);
    return 0;
}

// Threads that each of some rows can have, of `least` to `most`.
__device__ __forceinline__ u32 share(u32 rows, u32 least, u32 most) {
    u32 threads = gridDim.x * blockDim.x, each = least;
    while (each < most && (u64)rows * each * 2 <= threads) each *= 2;
    return each;
}

// Links over the rows that were listed.
__device__ u64 link_longs(const CcArgs& a, bool both) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    u32 longs = fresh(&a.control->longs), each = share(longs, 32, blockDim.x);
    u64 arcs = 0;
    for (u64 i = thread / each; i < longs; i += threads / each)
        arcs += link_rows(a, fresh(a.longs + i), both, thread % each, each);
    return arcs;
}

// Links over two arcs of a row, from the `at`th on.
__device__ __forceinline__ u64 link_two(const CcArgs& a, const offset_t* offsets, const u32* columns, u32 v, u32 at) {
    u64 from = (u64)__ldg(offsets + v) + at, to = min((u64)__ldg(offsets + v + 1), from + 2);
    for (u64 i = from; i < to; i++) link(a.comp, v, __ldg(columns + i));
    return to > from ? to - from : 0;
}

// Joins trees by a few arcs of each node on the list, and finds and lists anew what the giant does not have.
__device__ bool join_more(const CcArgs& a, Grid& grid, u32 words, u32 left, bool both, u32& giant, u32& rounds,
                          u64& arcs) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (u64 i = thread; i < left; i += threads) {
        u32 v = fresh(a.old + i);
        // Where rows are the same both ways, the first arc is in the forest.
        arcs += link_two(a, a.out_offsets, a.out_columns, v, both ? 0 : 1);
        if (both) arcs += link_two(a, a.in_offsets, a.in_columns, v, 0);
    }
    rounds += 3;
    if (!grid.sync()) return false;
    if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(&a.control->left, 0u);
    if (!compress(a, grid, NULL, a.active, rounds)) return false;
    giant = vote(a, false);
    settle(a, words, giant);
    if (!grid.sync()) return false;
    list_left(a, words);
    return grid.sync();
}

// Links over the rows of the nodes that are not settled, which are listed.
// `shared`: others followed the chains of some of them.
__device__ bool link_left(const CcArgs& a, Grid& grid, u32 words, bool shared, u32& giant, u32& rounds, u64& arcs) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    list_left(a, words);
    if (!grid.sync()) return false;
    bool both = a.in_offsets != a.out_offsets;
    u32 left = fresh(&a.control->left);
    if (shared) {
        for (u64 i = thread; i < left; i += threads) {
            u32 v = fresh(a.old + i);
            bool deep = false;
            if (!own_turn(a, v >> 5)) __stcg(a.comp + v, chain(a, v, deep));
        }
        rounds++;
        if (!grid.sync()) return false;
    }
    u64 all = __ldg(a.out_offsets + a.active) + (both ? __ldg(a.in_offsets + a.active) : 0);
    // Joining looks at every node several times, and pays where more arcs are left than there are nodes.
    if (all / a.active * left > max((u64)MANY_ARCS * threads, (u64)a.active)) {
        if (!join_more(a, grid, words, left, both, giant, rounds, arcs)) return false;
        left = fresh(&a.control->left);
    }
    u32 each = share(left, 1, 32);
    for (u64 i = thread / each; i < left; i += threads / each)
        arcs += link_or_list(a, fresh(a.old + i), both, thread % each, each);
    if (!grid.sync()) return false;
    arcs += link_longs(a, both);
    return true;
}

// Links over the own chunk's out-arcs. One barrier.
__device__ bool link_chunk(const CcArgs& a, Grid& grid, u64& arcs) {
    u32 threads = gridDim.x * blockDim.x;
    for (u64 i = a.lo + blockIdx.x * blockDim.x + threadIdx.x; i < a.hi; i += threads)
        arcs += link_or_list(a, (u32)i, false, 0, 1);
    if (!grid.sync()) return false;
    arcs += link_longs(a, false);
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

// Whether chains lead to many roots; which of them has most.
__device__ bool scattered(const CcArgs& a, u32& giant) {
    u32 votes;
    giant = vote(a, true, votes);
    return votes < a.votes;
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
    } else if (a.flat || scattered(a, giant)) {
        if (a.flat) join_tiles(a);
        else if (!join_roots(a, grid, rounds)) return false;
        if (!grid.sync()) return false;
        if (!compress(a, grid, a.longs, fresh(&a.control->roots), rounds)) return false;
        if (!a.flat && !join_samples(a, grid, rounds)) return false;
        giant = vote(a, false);
        settle(a, words, giant);
        rounds++;
        if (!grid.sync()) return false;
    } else {
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
    if (!link_left(a, grid, words, shared, giant, rounds, arcs)) return false;
    rounds += 3;
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
        bool deep = scattered(a, giant) || follow(a, a.lo / 32, (a.hi + 31) / 32, giant);
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
