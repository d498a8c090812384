// The push rounds of sssp.cu: by one block, from a queue, from a scanned frontier.
#pragma once

#include "sssp_round.cuh"

// A queue round. Returns the frontier's arcs; does nothing when they exceed `limit`.
__device__ u64 push_queue(const StepArgs& a, Shared& s, Grid& grid, u32* front, u32* next, Tally& t,
                          u32 count, u32 round, bool snapshot, u64 limit) {
    const u32* queue = a.queue + (round & 1u) * 2 * QUEUE;
    u64 total;
    bool fits = lay_out(queue, s, count, limit, total, [&](u32 i, u32 v) {
        if (snapshot) s.dist[i] = fresh(a.dist + v);
        if (blockIdx.x == 0) front[v >> 5] = 0;
    });
    if (!fits) return total;
    // Nobody may relax before everybody has taken the snapshot.
    if (snapshot && !grid.sync()) return total;
    u64 slice = (total + gridDim.x - 1) / gridDim.x;
    u64 start = min(slice * blockIdx.x, total), end = min(start + slice, total);
    for (u64 i = start + threadIdx.x; i < end; i += blockDim.x) {
        u32 e = find(s.prefix, count, (u32)i);
        u32 from = snapshot ? s.dist[e] : fresh(a.dist + s.node[e]);
        relax(a, s, next, t, (u64)__ldg(a.out_offsets + s.node[e]) + (i - s.prefix[e]), from);
    }
    return total;
}

// Rounds of a tiny frontier by one block, without the grid's barrier. Leaves totals, and what is left
// as the next round's queue.
__device__ void solo(const StepArgs& a, Shared& s, u32* front, u32* next, Tally& t, u32 count,
                     u32 round, u32 lowest, bool snapshot) {
    const u32* queue = a.queue + (round & 1u) * 2 * QUEUE;
    u32 rounds = 0;
    if (threadIdx.x < count) s.stage[threadIdx.x] = fresh(queue + threadIdx.x);
    __syncthreads();
    while (count > 0 && count <= SOLO && rounds < SOLO_ROUNDS) {
        bool mine = threadIdx.x < count;
        u32 v = mine ? s.stage[threadIdx.x] : 0;
        u64 total, degree = mine ? degree_of(a.out_offsets, v) : 0;
        u64 before = block_scan(degree, s.room, &total);
        if (total > SOLO_ARCS) break;
        if (mine) {
            s.node[threadIdx.x] = v;
            s.prefix[threadIdx.x] = (u32)before;
            s.base[threadIdx.x] = (u64)__ldg(a.out_offsets + v) - before;
            s.dist[threadIdx.x] = fresh(a.dist + v);
            front[v >> 5] = 0;
        }
        if (threadIdx.x == 0) {
            s.prefix[count] = (u32)total;
            s.staged = s.lowest_inverted = 0;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < (u32)total; i += blockDim.x) {
            u32 e = find(s.prefix, count, i);
            u32 from = snapshot ? s.dist[e] : fresh(a.dist + s.node[e]);
            relax(a, s, next, t, s.base[e] + i, from);
        }
        u32 best = ~warp_min(~t.lowest_inverted);
        if (lane_id() == 0 && best) atomicMax(&s.lowest_inverted, best);
        t.lowest_inverted = 0;
        __syncthreads();
        count = s.staged;
        lowest = ~s.lowest_inverted;
        u32* swap = front;
        front = next;
        next = swap;
        rounds++;
        __syncthreads();
    }
    u32* left = a.queue + ((round + 1) & 1u) * 2 * QUEUE;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        left[i] = s.stage[i];
        left[QUEUE + i] = (u32)min(degree_of(a.out_offsets, s.stage[i]), (u64)FULL);
    }
    u64 relaxed = block_sum(t.relaxed, s.room);
    t.relaxed = 0;
    if (threadIdx.x == 0) {
        Round* r = &a.control->round[round % 3];
        __stcg(&r->nodes, (u64)count);
        __stcg(&r->lowest_inverted, ~lowest);
        __stcg(&r->rounds, rounds);
        if (relaxed) atomicAdd(&a.control->relaxed, relaxed);
        s.staged = s.lowest_inverted = 0;
    }
    __syncthreads();
}

struct Sweep {
    u64 nodes, arcs;              // of the whole frontier
    u64 nodes_before, arcs_before;  // of the blocks before this one
    u32 first, last;              // this block's words
};

// Counts the frontier's nodes and arcs in words [lo, hi); one barrier.
__device__ bool sweep(const StepArgs& a, Shared& s, Grid& grid, const u32* front, u32 lo, u32 hi,
                      Sweep& w) {
    u64 words = hi - lo;
    w.first = lo + (u32)(words * blockIdx.x / gridDim.x);
    w.last = lo + (u32)(words * (blockIdx.x + 1) / gridDim.x);
    u64 nodes = 0, arcs = 0;
    for (u32 i = w.first + threadIdx.x; i < w.last; i += blockDim.x) {
        u32 bits = fresh(front + i);
        nodes += __popc(bits);
        for (; bits; bits &= bits - 1) arcs += degree_of(a.out_offsets, i * 32 + __ffs(bits) - 1);
    }
    nodes = block_sum(nodes, s.room);
    arcs = block_sum(arcs, s.room);
    if (threadIdx.x == 0) {
        __stcg(a.parts + 2 * blockIdx.x, nodes);
        __stcg(a.parts + 2 * blockIdx.x + 1, arcs);
    }
    if (!grid.sync()) return false;
    u64 sums[4] = {0, 0, 0, 0};
    for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
        u64 n = fresh(a.parts + 2 * b), m = fresh(a.parts + 2 * b + 1);
        sums[0] += n;
        sums[1] += m;
        if (b < blockIdx.x) sums[2] += n, sums[3] += m;
    }
    w.nodes = block_sum(sums[0], s.room);
    w.arcs = block_sum(sums[1], s.room);
    w.nodes_before = block_sum(sums[2], s.room);
    w.arcs_before = block_sum(sums[3], s.room);
    return true;
}

// Writes the swept frontier as a list in node order with its degree prefix and snapshot, clears its
// words, notes where each block's slice of arcs begins, and relaxes the slices; one barrier.
__device__ bool push_scan(const StepArgs& a, Shared& s, Grid& grid, u32* front, u32* next, Tally& t,
                          const Sweep& w) {
    u64 slice = max((w.arcs + gridDim.x - 1) / gridDim.x, 1ull);
    u64 node_at = w.nodes_before, arc_at = w.arcs_before;
    for (u32 base = w.first; base < w.last; base += blockDim.x) {
        u32 i = base + threadIdx.x;
        u32 bits = i < w.last ? fresh(front + i) : 0;
        u64 arcs = 0, tile_nodes, tile_arcs;
        for (u32 b = bits; b; b &= b - 1) arcs += degree_of(a.out_offsets, i * 32 + __ffs(b) - 1);
        u64 n = node_at + block_scan(__popc(bits), s.room, &tile_nodes);
        u64 m = arc_at + block_scan(arcs, s.room, &tile_arcs);
        for (u32 b = bits; b; b &= b - 1) {
            u32 v = i * 32 + __ffs(b) - 1;
            u64 degree = degree_of(a.out_offsets, v);
            __stcg(a.scan_node + n, v);
            __stcg(a.scan_dist + n, fresh(a.dist + v));
            __stcg(a.scan_prefix + n, m);
            for (u64 k = (m + slice - 1) / slice; k * slice < m + degree; k++)
                __stcg(a.slice_first + k, (u32)n);
            n++;
            m += degree;
        }
        if (bits) front[i] = 0;
        node_at += tile_nodes;
        arc_at += tile_arcs;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(a.scan_prefix + w.nodes, w.arcs);
    if (!grid.sync()) return false;
    u64 start = slice * blockIdx.x, end = min(start + slice, w.arcs);
    if (start >= w.arcs) return true;
    u64 entry = fresh(a.slice_first + blockIdx.x);
    while (start < end) {
        u32 count = (u32)min((u64)TILE, w.nodes - entry);
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 v = fresh(a.scan_node + entry + i);
            u64 prefix = fresh(a.scan_prefix + entry + i);
            s.tile_prefix[i] = prefix;
            s.base[i] = (u64)__ldg(a.out_offsets + v) - prefix;
            s.dist[i] = fresh(a.scan_dist + entry + i);
        }
        if (threadIdx.x == 0) s.tile_prefix[count] = fresh(a.scan_prefix + entry + count);
        __syncthreads();
        u64 stop = min(end, s.tile_prefix[count]);
        for (u64 i = start + threadIdx.x; i < stop; i += blockDim.x) {
            u32 e = find(s.tile_prefix, count, i);
            relax(a, s, next, t, s.base[e] + i, s.dist[e]);
        }
        start = stop;
        entry += count;
    }
    return true;
}
