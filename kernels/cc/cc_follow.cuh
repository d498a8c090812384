// Most of the work of cc.cu: trees without looking at arcs, by chains or by tiles, and which nodes end in the giant's.
#pragma once

#include "cc_forest.cuh"

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
        u32 until = warp_scan(__popc(open));
        u32 place = 0;
        if (lane == 31 && until != 0) place = atomicAdd(&a.control->left, until);
        place = __shfl_sync(FULL, place, 31) + until - __popc(open);
        for (u32 words_left = __ballot_sync(FULL, open != 0); words_left; words_left &= words_left - 1) {
            u32 k = __ffs(words_left) - 1, bits = __shfl_sync(FULL, open, k), at = __shfl_sync(FULL, place, k);
            if (bits >> lane & 1u) __stcg(a.old + at + __popc(bits & ((1u << lane) - 1u)), ((u32)base + k) * 32 + lane);
        }
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

// What a neighbour of root v points to, if that is smaller, else v; a few neighbours are looked at.
__device__ u32 smaller_root(const CcArgs& a, const offset_t* offsets, const u32* columns, u32 v) {
    u64 from = __ldg(offsets + v), to = min((u64)__ldg(offsets + v + 1), from + LOOKS);
    for (u64 i = from; i < to; i++) {
        u32 above = cached(a.comp + __ldg(columns + i));
        if (above < v) return above;
    }
    return v;
}

// Lists the roots of all trees in `longs`.
__device__ void list_roots(const CcArgs& a) {
    __shared__ u32 count, at;
    const u32 each = TILE / THREADS;
    for (u64 base = (u64)blockIdx.x * TILE; base < a.active; base += (u64)gridDim.x * TILE) {
        u32 mine = 0;
        if (threadIdx.x == 0) count = 0;
#pragma unroll
        for (u32 k = 0; k < each; k++) {
            u64 v = base + k * THREADS + threadIdx.x;
            if (v < a.active && fresh(a.comp + v) == v) mine |= 1u << k;
        }
        __syncthreads();
        u32 place = mine ? atomicAdd(&count, __popc(mine)) : 0;
        __syncthreads();
        if (threadIdx.x == 0) at = count ? atomicAdd(&a.control->roots, count) : 0;
        __syncthreads();
        for (; mine; mine &= mine - 1) __stcg(a.longs + at + place++, (u32)base + (__ffs(mine) - 1) * THREADS + threadIdx.x);
        __syncthreads();
    }
}

// Joins trees by the second arc of ever more nodes, few at first, until nearly all nodes are in one tree. Before and after, two
// pointers lead from every node to its root.
__device__ bool join_samples(const CcArgs& a, Grid& grid, u32& rounds) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    u32 roots = fresh(&a.control->roots), votes;
    for (u32 stride = MOST_STRIDE; stride >= LEAST_STRIDE; stride /= 4) {
        vote(a, false, votes);
        if (votes + 2 >= VOTERS) return true;
        for (u64 v = (u64)thread * stride + stride / 2; v < a.active; v += (u64)threads * stride) {
            u64 second = (u64)__ldg(a.out_offsets + v) + 1;
            if (second < __ldg(a.out_offsets + v + 1)) link(a.comp, (u32)v, __ldg(a.out_columns + second));
        }
        rounds++;
        if (!grid.sync()) return false;
        if (!compress(a, grid, a.longs, roots, rounds)) return false;
    }
    return true;
}

// Trees by the chains of `first`, whose roots then hook themselves under a neighbour's: on return nodes point to these roots,
// which are listed in `longs`.
__device__ bool join_roots(const CcArgs& a, Grid& grid, u32& rounds) {
    u32 threads = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (u64 v = thread; v < a.active; v += threads) __stcg(a.comp + v, __ldg(a.first + v));
    if (!grid.sync()) return false;
    if (!compress(a, grid, NULL, a.active, rounds)) return false;
    list_roots(a);
    rounds += 2;
    if (!grid.sync()) return false;
    u32 count = fresh(&a.control->roots);
    for (u64 i = thread; i < count; i += threads) {
        u32 v = fresh(a.longs + i), above = smaller_root(a, a.out_offsets, a.out_columns, v);
        if (above == v && a.in_offsets != a.out_offsets) above = smaller_root(a, a.in_offsets, a.in_columns, v);
        if (above != v) __stcg(a.comp + v, above);
    }
    return true;
}

// `settled`, and roots in `comp`, whose pointers are at most two from them, for COUNT words from `first` on.
template <u32 COUNT> __device__ __forceinline__ void settle_words(const CcArgs& a, u32 first, u32 giant) {
    u32 parent[COUNT], root[COUNT];
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) parent[k] = fresh(a.comp + min((first + k) * 32 + lane_id(), a.active - 1u));
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) root[k] = fresh(a.comp + parent[k]);
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) {
        u32 v = (first + k) * 32 + lane_id();
        if (v < a.active && root[k] != parent[k]) __stcg(a.comp + v, root[k]);
        u32 bits = __ballot_sync(FULL, v < a.active && root[k] == giant);
        if (lane_id() == 0) __stcg(a.settled + first + k, bits);
    }
}

// The same for all words. A warp has several under way where there are enough of them.
__device__ void settle(const CcArgs& a, u32 words, u32 giant) {
    u32 warps = gridDim.x * (blockDim.x >> 5), warp = blockIdx.x * (blockDim.x >> 5) + warp_id();
    u64 i = 0;
    for (; i + warps * AHEAD <= words; i += warps * AHEAD) settle_words<AHEAD>(a, (u32)i + warp * AHEAD, giant);
    for (i += warp; i < words; i += warps) settle_words<1>(a, (u32)i, giant);
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
