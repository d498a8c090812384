// Brandes' algorithm in f64, from LANES sources side by side: array[node][lane], a thread a lane. Parallel arcs are one, self
// loops none; columns rise in each row.
//
// Forward, level by level, numbers of shortest paths are added along arcs to nodes of the next level. Backward, a node adds up
// (1 + dependency) / paths of the nodes after it; that times its own paths is its dependency. Rows of a level's nodes are
// listed first, in pieces.
//
// Compiled with: -DLANES=8 | -DLANES=16

#include "arcs.cuh"

#define PIECE 64u  // @host arcs of a group of lanes at a time
#define BATCH 4u   // arcs whose ends are looked at together
#define FAR 255u   // @host level of a lane that has not come to the node

// Up to PIECE arcs of the row of `node`, the first of which is `begin` of that row.
struct Piece {  // @host
    u32 node;
    u32 begin;
};

struct BcArgs {  // @host
    Rows rows;
    unsigned char* levels;  // [nodes * LANES]
    double* paths;          // [nodes * LANES]
    double* after;          // [nodes * LANES] sums of the nodes after; then (1 + dependency) / paths
    double* scores;         // [nodes] raw, added to
    const u32* sources;     // [LANES], NONE in lanes without one
    const unsigned char* targets;  // [nodes] 1 where paths lead to; NULL where they lead to all
    Piece* pieces;          // [nodes + arcs / PIECE] rows of the nodes of a level
    u64* listed;            // [1] pieces, added to
    u64* hops;              // [1] levels of all nodes together, added to
    u64* reached;           // [LANES] nodes, added to
    u32* changed;           // [1] a lane has come to a node
    u32* overflow;          // [1] numbers of paths leave f64
    u32 level;
    u32 endpoints;
};

__device__ __forceinline__ u64 cells(const BcArgs& a) { return (u64)a.rows.nodes * LANES; }

// Threads of a warp that hold the lanes of one node.
__device__ __forceinline__ u32 group_mask() {
    return ((1u << LANES) - 1u) << (threadIdx.x % 32 / LANES * LANES);
}

extern "C" __global__ void __launch_bounds__(THREADS) check_bc_begin(BcArgs a) {
    for (u64 i = this_thread(); i < cells(a); i += all_threads()) {
        bool source = a.sources[i % LANES] == i / LANES;
        a.levels[i] = source ? 0 : FAR;
        a.paths[i] = source ? 1.0 : 0.0;
        a.after[i] = 0.0;
    }
}

// Lists the rows of nodes that are of `level` in some lane.
extern "C" __global__ void __launch_bounds__(THREADS) check_bc_list(BcArgs a) {
    const u32 wanted = a.level * 0x01010101u, lane = threadIdx.x % 32;
    const u64 stop = ((u64)a.rows.nodes + 31) / 32 * 32;
    for (u64 node = this_thread(); node < stop; node += all_threads()) {
        u32 degree = 0, count = 0;
        if (node < a.rows.nodes) {
            const u32* words = (const u32*)(a.levels + node * LANES);
            u32 equal = 0;
#pragma unroll
            for (u32 i = 0; i < LANES / 4; i++) equal |= __vcmpeq4(words[i], wanted);
            if (equal) degree = (u32)(a.rows.offsets[node + 1] - a.rows.offsets[node]);
            count = degree / PIECE + (degree % PIECE != 0);
        }
        u64 sum = count;
        for (u32 step = 1; step < 32; step <<= 1) {
            u64 other = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step) sum += other;
        }
        u64 at = 0;
        if (lane == 31 && sum > 0) at = atomicAdd(a.listed, sum);
        at = __shfl_sync(0xffffffffu, at, 31) + sum - count;
        for (u32 i = 0; i < count; i++) a.pieces[at + i] = Piece{(u32)node, i * PIECE};
    }
}

// Calls piece(node, begin, end) for all that is listed, with the LANES threads of a group.
template <class Visit>
__device__ __forceinline__ void each_piece(const BcArgs& a, Visit visit) {
    const u64 groups = all_threads() / LANES, stop = *a.listed;
    for (u64 i = this_thread() / LANES; i < stop; i += groups) {
        Piece piece = a.pieces[i];
        u64 begin = a.rows.offsets[piece.node] + piece.begin, end = a.rows.offsets[piece.node + 1];
        visit(piece.node, begin, end - begin < PIECE ? end : begin + PIECE);
    }
}

// Calls visit(cell, level) with this lane's cell of every target from `begin` to `end`, in the row of u, and the level there.
template <class Visit>
__device__ __forceinline__ void each_target(const BcArgs& a, u32 u, u64 begin, u64 end, Visit visit) {
    const u32 lane = threadIdx.x % LANES, mask = group_mask();
    u32 before = begin > a.rows.offsets[u] ? a.rows.columns[begin - 1] : u;
    for (u64 first = begin; first < end; first += LANES) {
        u32 own = first + lane < end ? a.rows.columns[first + lane] : u;
        for (u32 at = 0; at < LANES && first + at < end; at += BATCH) {
            u64 cell[BATCH];
            u32 level[BATCH];
            bool counts[BATCH];
#pragma unroll
            for (u32 i = 0; i < BATCH; i++) {
                u32 v = __shfl_sync(mask, own, at + i, LANES);
                // Neither a self loop nor the same again.
                counts[i] = v != u && v != before;
                before = v;
                cell[i] = (u64)v * LANES + lane;
            }
#pragma unroll
            for (u32 i = 0; i < BATCH; i++) level[i] = counts[i] ? a.levels[cell[i]] : 0;
#pragma unroll
            for (u32 i = 0; i < BATCH; i++) {
                if (counts[i]) visit(cell[i], level[i]);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) check_bc_forward(BcArgs a) {
    const u32 lane = threadIdx.x % LANES, below = a.level + 1;
    bool changed = false;
    each_piece(a, [&](u32 u, u64 begin, u64 end) {
        bool here = a.levels[(u64)u * LANES + lane] == a.level;
        double paths = here ? a.paths[(u64)u * LANES + lane] : 0.0;
        each_target(a, u, begin, end, [&](u64 cell, u32 level) {
            if (!here) return;
            if (level == FAR) {
                a.levels[cell] = (unsigned char)below;
                changed = true;
            }
            if (level == FAR || level == below) atomicAdd(a.paths + cell, paths);
        });
    });
    if (changed) *a.changed = 1;
}

// Adds up what comes after the nodes of `level`.
extern "C" __global__ void __launch_bounds__(THREADS) check_bc_backward(BcArgs a) {
    const u32 lane = threadIdx.x % LANES, below = a.level + 1;
    each_piece(a, [&](u32 u, u64 begin, u64 end) {
        u64 own = (u64)u * LANES + lane;
        bool here = a.levels[own] == a.level;
        double sum = 0.0;
        each_target(a, u, begin, end, [&](u64 cell, u32 level) {
            if (here && level == below) sum += a.after[cell];
        });
        if (sum != 0.0) atomicAdd(a.after + own, sum);
    });
}

// The nodes of `level`: dependencies, and what nodes before them take.
extern "C" __global__ void __launch_bounds__(THREADS) check_bc_level(BcArgs a) {
    const u32 lane = threadIdx.x % LANES;
    u64 hops = 0, reached = 0;
    bool overflow = false;
    // `cells` is a multiple of LANES, and so is the number of threads: a lane keeps its source.
    for (u64 i = this_thread(); i < cells(a); i += all_threads()) {
        double score = 0.0;
        if (a.levels[i] == a.level) {
            double paths = a.paths[i], dependency = paths * a.after[i];
            bool target = a.targets == NULL || a.targets[i / LANES] != 0;
            a.after[i] = ((target ? 1.0 : 0.0) + dependency) / paths;
            if (!(paths < 1e300)) overflow = true;
            if (a.level > 0) {
                if (target) hops += a.level, reached += 1;
                score = dependency + (a.endpoints ? 1.0 : 0.0);
            }
        }
        const u32 mask = group_mask();
        // LANES threads have a node.
        for (u32 step = LANES / 2; step > 0; step >>= 1) score += __shfl_xor_sync(mask, score, step);
        if (lane == 0 && score != 0.0) a.scores[i / LANES] += score;
    }
    if (overflow) *a.overflow = 1;
    add_all(a.hops, hops);
    if (reached > 0) atomicAdd(a.reached + lane, reached);
}
