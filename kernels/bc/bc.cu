// Betweenness: Brandes' two phases for a batch of sources that lie side by side.
//
// Idea. `paths` and `coef` are [active][LANES], a lane a source: a warp gathers 32 / LANES neighbours at once, a sector
// each for eight lanes of f32, so that one reading of an arc serves all lanes. Neither phase asks for a neighbour's
// level (src/algorithm/bc/mod.rs says why): forward, a row is the sum of `paths` over in-neighbours in the lanes that
// have not reached it; backward, the sum of `coef` over out-neighbours in the lanes that reached it at this level. Sums
// go to `sums` (long rows: `parts`) and are put into the arrays after a barrier, so that nothing that is gathered
// changes meanwhile.
//
// A level's nodes are found in one of three ways, by its frontier's arcs:
//   add    the frontier's arcs add onto `sums` with atomics. Only while all sums are integers that `real` holds
//          exactly, so that no order of addition can show;
//   mark   the arcs mark nodes, which then pull: few arcs, any numbers;
//   sweep  every node that lacks a lane pulls.
// Backward the list of the level is pulled.
//
// Rows. Up to SHORT arcs: LANES threads a row, in the order of columns. Up to SEGMENT: a warp, 32 / LANES partial sums,
// then a tree. Longer ones are cut into segments of a warp each, whose sums a warp adds the same way: the one that has
// the row's last segment, or, where there are many segments, any after one more barrier. So the order of addition
// depends on nothing but the row's length and LANES. Large jobs are fetched by warps, 32 rows at a time, and fewer
// towards the end; small ones are dealt so that every warp has few.
//
// Asking. Most of what a sweep gathers is 0: forward while little is reached, backward while little has been settled. Where
// the arrays lie far beyond the caches (HIVE_ASKS; src/algorithm/bc/cuda.rs says when), a gather first reads the neighbour's
// mask in `seen`, which says in which lanes it has anything but 0. It does so while less than FULL_SHARE percent of what
// could be gathered is not 0, as the counts that levels keep say; with HIVE_ASKS=2, for tests, always.
//
// Small levels are a chain of barriers and of trips to L2 behind each other, and nothing else: where a level has no
// more than one node a warp, what belongs to a node is asked for at once (commit_few, settle_few) and its arcs are
// followed by all threads of the warp (push). Functions that are called have the arguments in shared memory (held), and
// what all threads have to know is read by one of a block (found_of, find).
//
// Memory. What is gathered is read through L1: it changes only between barriers of the grid, whose acquire drops L1's
// lines. Never through the read-only cache. Everything else that a launch writes is read at L2.
//
// Task WHOLE runs a batch to its end in one cooperative launch; the others are its steps one by one, for replicas that
// cut levels by chunk: FIND, BACK in [lo, hi) only; PACK, PACK_BACK put the own part where it is gathered from; COMMIT,
// SETTLE take the whole level from there.
//
// To tune: the shares of arcs at which ways change (`find`); blocks an SM (registers against gathers in flight);
// SHORT and SEGMENT; FULL_SHARE; reading columns past L1. A batch takes about two sweeps forward and two to three backward.
//
// bc_batch.cuh has what a batch keeps, dealing and sums; bc_arcs.cuh follows arcs; here are levels and the launch.
//
// Source: Brandes, J. Math. Sociology 25(2), 2001; push and pull: Beamer, Asanovic, Patterson, SC 2012.
//
// Compiled with: -DHIVE_WIDE=0 -DHIVE_LANES=1 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=2 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=4 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=8 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=16 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=32 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=1 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=2 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=4 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=8 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=16 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=32 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=0 -DHIVE_LANES=1 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=0 -DHIVE_LANES=2 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=0 -DHIVE_LANES=4 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=0 -DHIVE_LANES=8 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=0 -DHIVE_LANES=16 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=0 -DHIVE_LANES=32 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=1 -DHIVE_LANES=1 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=2 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=4 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=8 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=16 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=32 -DHIVE_DOUBLE=0 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=1 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=2 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=4 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=8 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=16 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=32 -DHIVE_DOUBLE=1 -DHIVE_ASKS=0 | -DHIVE_WIDE=1 -DHIVE_LANES=1 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=1 -DHIVE_LANES=2 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=1 -DHIVE_LANES=4 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=1 -DHIVE_LANES=8 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=1 -DHIVE_LANES=16 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=1 -DHIVE_LANES=32 -DHIVE_DOUBLE=0 -DHIVE_ASKS=1 | -DHIVE_WIDE=0 -DHIVE_LANES=1 -DHIVE_DOUBLE=0 -DHIVE_ASKS=2 | -DHIVE_WIDE=0 -DHIVE_LANES=2 -DHIVE_DOUBLE=0 -DHIVE_ASKS=2 | -DHIVE_WIDE=0 -DHIVE_LANES=4 -DHIVE_DOUBLE=0 -DHIVE_ASKS=2 | -DHIVE_WIDE=0 -DHIVE_LANES=8 -DHIVE_DOUBLE=0 -DHIVE_ASKS=2 | -DHIVE_WIDE=0 -DHIVE_LANES=16 -DHIVE_DOUBLE=0 -DHIVE_ASKS=2 | -DHIVE_WIDE=0 -DHIVE_LANES=32 -DHIVE_DOUBLE=0 -DHIVE_ASKS=2

#ifndef HIVE_LANES
#define HIVE_LANES 8
#endif
#ifndef HIVE_DOUBLE
#define HIVE_DOUBLE 0
#endif
#ifndef HIVE_ASKS
#define HIVE_ASKS 0
#endif

#include "bc_arcs.cuh"

// Notes the level and lanes of a node that may have a long row: segments look these up, rather than being listed.
__device__ __forceinline__ void stamp(const BcArgs& a, u32 v, u32 number, u32 lanes) {
    if (v < a.stamped) __stcg(a.stamp + v, (u64)number << 32 | lanes);
}

// Level 0: the sources, each in its lane.
__device__ __noinline__ void seed() {
    const BcArgs& a = held;
    if (blockIdx.x != 0 || threadIdx.x >= 32) return;
    u32 lane = threadIdx.x, bit = 1u << lane;
    u64 arcs = 0, closed = 0;
    if (lane < a.count) {
        u32 s = __ldg(a.sources + lane);
        a.paths[index_of(s, lane)] = 1;
        __stcg(a.seen + s, (mask_t)bit);
        stamp(a, s, 0, bit);
        __stcg(a.lists + lane, (u64)bit << 32 | s);
        arcs = degree_of(a.out_offsets, s);
        if (a.count == 1) closed = degree_of(a.in_offsets, s);
    }
    arcs = warp_sum(arcs);
    closed = warp_sum(closed);
    if (lane == 0) {
        BcLevel* level = a.control->level;
        __stcg(&level->found, (u64)a.count);
        __stcg(&level->arcs, arcs);
        __stcg(&level->paths, (double)a.count);
        __stcg(&a.control->reached, (u64)a.count);
        __stcg(&a.control->reached_arcs, arcs);
        __stcg(&a.control->closed, closed);
        __stcg(a.first, 0ull);
        __stcg(a.first + 1, (u64)a.count);
    }
}

// After a barrier. What all threads have to know is read by one of each block: thousands of warps that ask for one word
// at once wait for each other longer than for a barrier of the block.
__device__ __forceinline__ u64 found_of(const BcControl* c, u32 number) {
    __shared__ u64 told;
    if (threadIdx.x == 0) told = fresh(&c->level[number % 3u].found);
    __syncthreads();
    return told;
}

// Whether `part` of `all` is so little that gathers ask first. An estimate, and a rough one on directed graphs: `part` are
// arcs out of, or into, the nodes that have something, and what is gathered are arcs of the other direction.
__device__ __forceinline__ bool mostly_zero(u64 part, u64 all) {
    return HIVE_ASKS == 2 || part * 100u < all * FULL_SHARE;
}

// The candidates of a level, with the lanes that reach them, and their sums. False, and nothing, after an overflow.
__device__ bool find(const BcArgs& a, Phases& phases, u32 number, u64 begin, u64 end, u64& looked) {
    BcControl* c = a.control;
    BcLevel* last = c->level + (number - 1u) % 3u;
    // Read last when level - 1 was looked for; filled next when level + 1 is.
    if (leader()) {
        BcLevel* next = c->level + (number + 1u) % 3u;
        __stcg(&next->found, 0ull);
        __stcg(&next->arcs, 0ull);
        __stcg(&next->paths, 0.0);
    }
    __shared__ u64 told[5];
    if (threadIdx.x < 4u + (HIVE_ASKS != 0)) {
        u32 k = threadIdx.x;
        const u64* from = k == 0   ? &last->arcs
                          : k == 1 ? &c->closed
                          : k == 2 ? (const u64*)&last->paths
                                   : &c->reached_arcs;
        told[k] = k == 3 ? (u64)fresh(&c->overflow) : fresh(from);
        if (k == 4 && blockIdx.x == 0) __stcg(a.upto + number - 1u, told[4]);
    }
    __syncthreads();
    u64 arcs = told[0], closed = told[1];
    double paths = __longlong_as_double((long long)told[2]);
    if (told[3] != 0) return false;
    u64 rest = a.in_arcs - closed + a.active;
    u32 way = SWEEP;
    if (paths < EXACT && arcs * ADD_SHARE < rest) way = ADD;
    else if (arcs * MARK_SHARE < rest) way = MARK;
    if (way == ADD) {
        looked += push<true>(a, number, begin, end, phases.cursor());
    } else if (way == MARK) {
        looked += push<false>(a, number, begin, end, phases.cursor());
        if (!phases.sync()) return true;
        looked += pull<FROM_MARKS, false>(a, phases, number, found_of(c, number), 0);
    } else if (HIVE_ASKS && mostly_zero(closed, a.in_arcs)) {
        // What all lanes have reached follows the slowest lane, which is the one that most rows still pull for.
        looked += pull<FROM_ALL, true>(a, phases, number, a.hi - a.lo, 0);
    } else {
        looked += pull<FROM_ALL, false>(a, phases, number, a.hi - a.lo, 0);
    }
    return true;
}

// Puts the own part of a level into the exchange.
__device__ __noinline__ void pack(u32 number) {
    const BcArgs& a = held;
    u32 lane = lane_id() % LANES;
    deal(fresh(&a.control->level[number % 3u].found), 0, 1, [&](u64 at, u32 n) {
        u32 v = 0, lanes = 0;
        if (lane_id() < n) {
            v = fresh(a.candidate + at + lane_id());
            lanes = atomicExch(a.mark + v, 0u);
            __stcg(a.entries + a.place + at + lane_id(), (u64)lanes << 32 | v);
        }
        // Values of lanes that do not reach a node are not written, and not read.
        for_sums<false>(a, false, 0, n, v, lanes, [&](bool wanted, u32 slot, u32, real x, real) {
            if (wanted) __stcg(a.values + (a.place + at + slot) * LANES + lane, x);
        });
    });
}

// What the nodes of a level come to.
struct LevelTotals {
    u64 arcs, reached, reached_arcs, closed;
    double paths;

    __device__ __forceinline__ void node(const BcArgs& a, u32 v, u32 lanes, u32 seen, u64 degree, u64 into) {
        arcs += degree;
        reached += __popc(lanes);
        reached_arcs += __popc(lanes) * degree;
        if (seen == full_mask(a)) closed += into;
    }

    // By all threads of a block: one addition a block to each, since all blocks add to the same words.
    __device__ __forceinline__ void add_to(BcControl* c, BcLevel* level) {
        __shared__ u64 counts[4][32];
        __shared__ double numbers[32];
        u64 sums[4] = {warp_sum(arcs), warp_sum(reached), warp_sum(reached_arcs), warp_sum(closed)};
        double number = warp_total(paths);
        if (lane_id() == 0) {
#pragma unroll
            for (u32 k = 0; k < 4; k++) counts[k][warp_id()] = sums[k];
            numbers[warp_id()] = number;
        }
        __syncthreads();
        u32 k = threadIdx.x, all = blockDim.x >> 5;
        if (k < 4) {
            u64 sum = 0;
            for (u32 w = 0; w < all; w++) sum += counts[k][w];
            u64* to = k == 0 ? &level->arcs : k == 1 ? &c->reached : k == 2 ? &c->reached_arcs : &c->closed;
            if (sum != 0) atomicAdd(to, sum);
        } else if (k == 4) {
            double sum = 0;
            for (u32 w = 0; w < all; w++) sum += numbers[w];
            if (sum != 0) atomicAdd(&level->paths, sum);
        }
    }
};

// Puts a node's number of paths into the arrays, in one lane. A neighbour counts it once.
__device__ __forceinline__ void reach(const BcArgs& a, u32 v, u32 lane, real x, double& paths) {
    __stcg(a.paths + index_of(v, lane), x);
    if (!(x <= MOST_PATHS)) atomicMax(&a.control->overflow, 1u + lane);
    paths += (double)x;
}

// A level of at most one node a warp: all that belongs to the node is on its way at once, and nothing is handed between
// threads. Loads and then stores of the same lines take a tenth of an exchange's throughput, but half its time.
__device__ __forceinline__ void commit_few(const BcArgs& a, bool exchanged, u32 number, u64 items, u64 begin,
                                           LevelTotals& totals) {
    u64 at = own_warp();
    if (at >= items) return;
    u32 lane = lane_id() % LANES, v, lanes;
    real x = 0;
    if (exchanged) {
        u64 entry = fresh(a.entries + at);
        v = (u32)entry;
        lanes = (u32)(entry >> 32);
        if (lanes >> lane & 1u) x = fresh(a.values + at * LANES + lane);
    } else {
        v = fresh(a.candidate + at);
        lanes = fresh(a.mark + v);
        x = fresh(a.sums + index_of(v, lane));
    }
    u32 seen = fresh(a.seen + v);
    // Not __ldg(), which the compiler may put off until something is known of the rest.
    u64 degree = (u64)fresh(a.out_offsets + v + 1) - (u64)fresh(a.out_offsets + v);
    u64 into = (u64)fresh(a.in_offsets + v + 1) - (u64)fresh(a.in_offsets + v);
    __syncwarp();  // all have read before one writes
    if (lane_id() == 0) {
        seen |= lanes;
        if (!exchanged) __stcg(a.mark + v, 0u);
        __stcg(a.seen + v, (mask_t)seen);
        stamp(a, v, number, lanes);
        __stcg(a.lists + begin + at, (u64)lanes << 32 | v);
        totals.node(a, v, lanes, seen, degree, into);
    }
    if (lane_id() < LANES && (lanes >> lane & 1u)) reach(a, v, lane, x, totals.paths);
}

__device__ __forceinline__ void commit_many(const BcArgs& a, bool exchanged, u32 number, u64 items, u64 begin,
                                            LevelTotals& totals) {
    u32 lane = lane_id() % LANES;
    deal(items, 0, 1, [&](u64 at, u32 n) {
        u32 v = 0, lanes = 0;
        if (lane_id() < n) {
            if (exchanged) {
                u64 entry = fresh(a.entries + at + lane_id());
                v = (u32)entry;
                lanes = (u32)(entry >> 32);
            } else {
                v = fresh(a.candidate + at + lane_id());
                lanes = atomicExch(a.mark + v, 0u);
            }
            u64 degree = degree_of(a.out_offsets, v);
            // Loaded and stored, which large arrays of words would make slow: masks of a warp's nodes share sectors,
            // where atomics on words take longer.
            u32 seen = fresh(a.seen + v) | lanes;
            __stcg(a.seen + v, (mask_t)seen);
            stamp(a, v, number, lanes);
            __stcg(a.lists + begin + at + lane_id(), (u64)lanes << 32 | v);
            u64 into = seen == full_mask(a) ? degree_of(a.in_offsets, v) : 0;
            totals.node(a, v, lanes, seen, degree, into);
        }
        for_sums<false>(a, exchanged, at, n, v, lanes,
                        [&](bool wanted, u32, u32 row, real x, real) {
            if (wanted) reach(a, row, lane, x, totals.paths);
        });
    });
}

// Puts a level, candidates or what was exchanged, into the arrays and its list to `begin`.
__device__ __noinline__ void commit(bool exchanged, u32 number, u64 items, u64 begin) {
    const BcArgs& a = held;
    BcControl* c = a.control;
    LevelTotals totals = {0, 0, 0, 0, 0};
    if (items <= warps()) commit_few(a, exchanged, number, items, begin, totals);
    else commit_many(a, exchanged, number, items, begin, totals);
    totals.add_to(c, c->level + number % 3u);
    if (leader()) __stcg(a.first + number + 1, begin + items);
}

// Puts the sums of the own part of a level, which is the list [begin, end), into the exchange.
__device__ __noinline__ void pack_back() {
    const BcArgs& a = held;
    u32 lane = lane_id() % LANES;
    deal(a.end - a.begin, 0, 1, [&](u64 at, u32 n) {
        u64 entry = lane_id() < n ? fresh(a.lists + a.begin + at + lane_id()) : 0;
        u32 v = (u32)entry, lanes = (u32)(entry >> 32);
        for_sums<false>(a, false, 0, n, v, lanes, [&](bool wanted, u32 slot, u32, real x, real) {
            if (wanted) __stcg(a.values + (a.place + at + slot) * LANES + lane, x);
        });
    });
}

// Onto the score of a node.
__device__ __forceinline__ void add_gain(const BcArgs& a, u32 v, Gain gain) {
    if (gain.coarse != 0) atomicAdd(a.scores + v, gain.coarse);
    if (gain.fine != 0) atomicAdd(a.scores + a.active + v, gain.fine);
}

// 1 where paths to row v count.
__device__ __forceinline__ real ends_at(const BcArgs& a, u32 v) {
    return a.targets == NULL || (__ldg(a.targets + v / 32) >> v % 32 & 1u) != 0 ? (real)1 : (real)0;
}

// From a sum, by all lanes of the warp together: the coefficient of row v in one lane, and its dependencies, over the
// lanes, onto its score.
__device__ __forceinline__ void depend(const BcArgs& a, bool wanted, bool writes, bool deepest, u32 v, u32 lane,
                                       real sum, real paths) {
    Gain gained = {0, 0};
    if (wanted) {
        real delta = times(paths, sum);
        if (writes) __stcg(a.coef + index_of(v, lane), over(plus(ends_at(a, v), delta), paths));
        gained = gain_of((double)delta, a.coarse, a.fine);
    }
    if (deepest) return;
#pragma unroll
    for (u32 step = 1; step < LANES; step <<= 1) {
        gained.coarse = __dadd_rn(gained.coarse, __shfl_xor_sync(FULL, gained.coarse, step));
        gained.fine = __dadd_rn(gained.fine, __shfl_xor_sync(FULL, gained.fine, step));
    }
    if (lane == 0 && writes) add_gain(a, v, gained);
}

// Tells gathers that ask that the backward phase has come by a node. Atomic, since other nodes' masks lie in the same word;
// its result is not used.
__device__ __forceinline__ void forget(const BcArgs& a, u32 v, u32 lanes) {
    if (!HIVE_ASKS) return;
    u64 at = (u64)(a.seen + v);
    atomicAnd((u32*)(at & ~3ull), ~(lanes << (u32)(at & 3u) * 8u));
}

// As commit_few().
__device__ __forceinline__ void settle_few(const BcArgs& a, bool exchanged, bool deepest, u64 begin, u64 items) {
    u64 at = own_warp();
    if (at >= items) return;
    u32 lane = lane_id() % LANES;
    u64 entry = fresh(a.lists + begin + at);
    u32 v = (u32)entry;
    bool wanted = entry >> 32 >> lane & 1u;
    real sum = 0, paths = 0;
    if (wanted) {
        const real* from = exchanged ? a.values + at * LANES + lane : a.sums + index_of(v, lane);
        paths = fresh(a.paths + index_of(v, lane));
        if (!deepest) sum = fresh(from);
    }
    __syncwarp();
    if (lane_id() == 0) forget(a, v, (u32)(entry >> 32));
    depend(a, wanted, lane_id() < LANES, deepest, v, lane, sum, paths);
}

#if HIVE_ASKS
// Whether the nodes deeper than a level have few of all arcs. A short list is not worth finding out.
__device__ __forceinline__ bool deeper_are_few(const BcArgs& a, u32 number, u64 nodes) {
    if (HIVE_ASKS != 2 && nodes <= warps() * MODEST) return false;
    __shared__ u64 told[2];
    if (threadIdx.x < 2) told[threadIdx.x] = fresh(threadIdx.x == 0 ? &a.control->reached_arcs : a.upto + number);
    __syncthreads();
    return mostly_zero(told[0] - told[1], told[0]);
}
#endif

// Makes coefficients and dependencies of a level's sums, adds the latter to the scores, and stamps the list of the
// level above.
__device__ __noinline__ void settle(bool exchanged, bool deepest, u32 number, u64 begin, u64 end, u64 above,
                                    u64 above_end) {
    const BcArgs& a = held;
    u32 lane = lane_id() % LANES;
    if (end - begin <= warps()) {
        settle_few(a, exchanged, deepest, begin, end - begin);
    } else {
        deal(end - begin, 0, 1, [&](u64 at, u32 n) {
            u64 entry = lane_id() < n ? fresh(a.lists + begin + at + lane_id()) : 0;
            u32 v = (u32)entry, lanes = (u32)(entry >> 32);
            if (lane_id() < n) forget(a, v, lanes);
            for_sums<true>(a, !deepest && exchanged, at, n, v, lanes,
                           [&](bool wanted, u32, u32 row, real x, real paths) {
                depend(a, wanted, true, deepest, row, lane, deepest ? (real)0 : x, paths);
            });
        });
    }
    if (a.out_segments == 0 || number <= 1) return;
    deal(above_end - above, 0, 1, [&](u64 at, u32 n) {
        if (lane_id() < n) {
            u64 entry = fresh(a.lists + above + at + lane_id());
            stamp(a, (u32)entry, number - 1u, (u32)(entry >> 32));
        }
    });
}

// Counts paths for their ends: a node is the end of one from each source that reaches it, a source of one to each node.
__device__ __noinline__ void count_ends(u64* cursor) {
    const BcArgs& a = held;
    u64 ends = 0;
    deal(a.active, cursor, 1, [&](u64 at, u32 n) {
        u32 v = (u32)at + lane_id();
        bool inside = lane_id() < n;
        u32 ended = 0;
#pragma unroll 4
        for (u32 lane = 0; lane < LANES; lane++) {
            bool reached = false;
            if (inside && lane < a.count) reached = fresh(a.paths + index_of(v, lane)) > 0;
            u32 hits = __ballot_sync(FULL, reached);
            if (lane_id() == lane) ends += __popc(hits);
            ended += reached && __ldg(a.sources + lane) != v;
        }
        if (ended != 0) add_gain(a, v, gain_of((double)ended, a.coarse, a.fine));
    });
    if (lane_id() < a.count && ends != 0) atomicAdd(a.control->ends + lane_id(), ends);
}

// After a barrier.
__device__ __forceinline__ void add_ends(const BcArgs& a) {
    if (blockIdx.x == 0 && threadIdx.x < a.count) {
        double others = (double)(fresh(a.control->ends + threadIdx.x) - 1u);
        add_gain(a, __ldg(a.sources + threadIdx.x), gain_of(others, a.coarse, a.fine));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) bc_batch(const __grid_constant__ BcArgs a) {
    hold(a);
    BcControl* c = a.control;
    Phases phases = {{&a.meeting->barrier, a.abort, a.deadline_ns, 0, 0}, a.meeting, 0};
    bool whole = a.task == WHOLE;
    u32 task = whole ? (u32)SEED : a.task, number = a.level, deepest = a.deepest;
    u64 begin = a.begin, end = a.end, items = a.nodes, looked = 0;
    // By level modulo 2, where the list of the level above it begins, as one thread of each block reads it.
    __shared__ u64 above[2];
    u64 ahead = a.announced;
    for (;;) {
        if (task == SEED) {
            seed();
        } else if (task == FIND) {
            if (!find(a, phases, number, begin, end, looked)) break;
        } else if (task == PACK) {
            pack(number);
        } else if (task == COMMIT) {
            commit(!whole, number, items, whole ? end : begin);
        } else if (task == BACK) {
#if HIVE_ASKS
            bool asks = deeper_are_few(a, number, end - begin);
            looked += asks ? pull<FROM_LIST, true>(a, phases, number, end - begin, begin)
                           : pull<FROM_LIST, false>(a, phases, number, end - begin, begin);
#else
            looked += pull<FROM_LIST, false>(a, phases, number, end - begin, begin);
#endif
        } else if (task == PACK_BACK) {
            pack_back();
        } else if (task == SETTLE) {
            settle(!whole, number == deepest, number, begin, end, whole ? above[number & 1u] : a.announced,
                   whole ? begin : a.announced_end);
        } else if (a.endpoints != 0) {
            count_ends(phases.cursor());
            if (phases.sync()) add_ends(a);
        }
        if (threadIdx.x == 0 && task == BACK) above[number & 1u] = ahead;
        if (phases.grid.stopped || !phases.sync()) break;
        if (!whole || task == ENDS) break;
        // What is read here was written before the barrier and stays until the next one.
        if (task == SEED) {
            begin = 0;
            end = a.count;
            number = 1;
            task = FIND;
        } else if (task == FIND) {
            items = found_of(c, number);
            if (items != 0) {
                task = COMMIT;
            } else {
                deepest = --number;
                task = number != 0 ? SETTLE : ENDS;
                if (threadIdx.x == 0) above[number & 1u] = number != 0 ? fresh(a.first + number - 1) : 0;
                __syncthreads();
            }
        } else if (task == COMMIT) {
            begin = end;
            end += items;
            number++;
            task = FIND;
        } else if (task == BACK) {
            task = SETTLE;
        } else {
            end = begin;
            begin = above[number & 1u];
            number--;
            // Under way while the level is summed.
            if (threadIdx.x == 0 && number > 1) ahead = fresh(a.first + number - 1);
            task = number != 0 ? BACK : ENDS;
        }
    }
    looked = warp_sum(looked);
    if (lane_id() == 0 && looked != 0) atomicAdd(&c->looked, looked);
    // A lane of block 0 may be ahead of others here: `looked` lacks what they have yet to add, so it is met once more.
    if (phases.grid.stopped == 0) phases.sync();
    if (leader()) {
        a.status->found = fresh(&c->level[number % 3u].found);
        a.status->levels = deepest;
        a.status->reached = fresh(&c->reached);
        a.status->reached_arcs = fresh(&c->reached_arcs);
        a.status->looked = fresh(&c->looked);
        a.status->overflow = fresh(&c->overflow);
        a.status->stopped = phases.grid.stopped;
    }
}
