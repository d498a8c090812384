// Betweenness: Brandes' two phases for a batch of sources that lie side by side.
//
// Idea. `paths` and `coef` are [active][LANES], a lane a source: a warp gathers 32 / LANES neighbours at once, a sector
// each for eight lanes of f32, so that one reading of an arc serves all lanes. Neither phase asks for a neighbour's
// level (src/algorithm/bc.rs says why): forward, a row is the sum of `paths` over in-neighbours in the lanes that
// have not reached it; backward, the sum of `coef` over out-neighbours in the lanes that reached it at this level. Sums
// go to `sums` (long rows: `parts`) and are put into the arrays after a barrier, so that nothing that is gathered
// changes meanwhile.
//
// A level's nodes are found in one of three ways, by its frontier's arcs:
//   add    the frontier's arcs add onto `sums` with atomics. Only while all numbers of paths are integers that `real`
//          holds exactly, so that no order of addition can show;
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
// SHORT and SEGMENT; reading columns past L1. By the machine's constants (130 G gathers/s from L2, 4.3 TB/s) a sweep of
// 521 M arcs in eight lanes takes 5 to 8 ms, and a source set takes about two sweeps forward and two to three backward.
//
// Source: Brandes, J. Math. Sociology 25(2), 2001; push and pull: Beamer, Asanovic, Patterson, SC 2012.
//
// Compiled with: -DHIVE_WIDE=0 -DHIVE_LANES=1 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=0 -DHIVE_LANES=2 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=0 -DHIVE_LANES=4 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=0 -DHIVE_LANES=8 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=0 -DHIVE_LANES=16 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=0 -DHIVE_LANES=32 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=0 -DHIVE_LANES=1 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=0 -DHIVE_LANES=2 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=0 -DHIVE_LANES=4 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=0 -DHIVE_LANES=8 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=0 -DHIVE_LANES=16 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=0 -DHIVE_LANES=32 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=1 -DHIVE_LANES=1 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=1 -DHIVE_LANES=2 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=1 -DHIVE_LANES=4 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=1 -DHIVE_LANES=8 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=1 -DHIVE_LANES=16 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=1 -DHIVE_LANES=32 -DHIVE_DOUBLE=0 | -DHIVE_WIDE=1 -DHIVE_LANES=1 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=1 -DHIVE_LANES=2 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=1 -DHIVE_LANES=4 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=1 -DHIVE_LANES=8 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=1 -DHIVE_LANES=16 -DHIVE_DOUBLE=1 | -DHIVE_WIDE=1 -DHIVE_LANES=32 -DHIVE_DOUBLE=1

#include "hive.cuh"

#ifndef HIVE_LANES
#define HIVE_LANES 8
#endif
#ifndef HIVE_DOUBLE
#define HIVE_DOUBLE 0
#endif

#define LANES ((u32)HIVE_LANES)
#define GROUPS (32u / LANES)  // rows, or arcs, that a warp works on at once
#define SHORT 16u
// A sweep of so many arcs costs what one that is followed and added, or marked and pulled, does (R-MAT 22 and 24).
#define ADD_SHARE 64u
#define MARK_SHARE 64u
#define SEGMENT 512u
#define AHEAD (HIVE_LANES >= 4 ? 1 : 4 / HIVE_LANES)  // blocks of 32 columns that a warp reads at once
#if HIVE_LANES > 8
#define UNROLL 8
#else
#define UNROLL HIVE_LANES
#endif
#define PARTS 4u     // sums of segments that a thread has under way
#define MODEST 64u   // items a warp, up to which they are fetched, by no less than an eighth of its share, or four
#define WAITED 8u    // segments a warp, up to which their sums are added by who comes last rather than after a barrier
#define STAGED (UNROLL > 4 ? 4u : UNROLL)  // sums of a level that a thread has under way

#if HIVE_DOUBLE
typedef double real;
static const double MOST_PATHS = 0x1p1000;
static const double EXACT = 0x1p53;  // integers up to this add up exactly
__device__ __forceinline__ real times(real x, real y) { return __dmul_rn(x, y); }
__device__ __forceinline__ real plus(real x, real y) { return __dadd_rn(x, y); }
__device__ __forceinline__ real over(real x, real y) { return __ddiv_rn(x, y); }
#else
typedef float real;
static const double MOST_PATHS = 0x1p100;
static const double EXACT = 0x1p24;
__device__ __forceinline__ real times(real x, real y) { return __fmul_rn(x, y); }
__device__ __forceinline__ real plus(real x, real y) { return __fadd_rn(x, y); }
__device__ __forceinline__ real over(real x, real y) { return __fdiv_rn(x, y); }
#endif

static const u32 LANE_BITS = FULL >> (32u - LANES);
static const u32 GROUP_BITS = FULL >> (32u - GROUPS);

enum Task { WHOLE, SEED, FIND, PACK, COMMIT, BACK, PACK_BACK, SETTLE, ENDS };
enum Way { ADD, MARK, SWEEP };
enum Pull { FROM_MARKS, FROM_ALL, FROM_LIST };

// A level while it is found, and as the frontier of the next one.
struct BcLevel {
    u64 found;     // candidates
    u64 arcs;      // out of its nodes
    double paths;  // the sum over its nodes and lanes of paths times out-arcs
};

// Cleared before a batch.
struct BcControl {
    BcLevel level[3];  // by level modulo 3
    u64 reached;       // nodes, over the lanes
    u64 reached_arcs;
    u64 looked;
    u64 closed;  // arcs into nodes that all lanes have reached
    u64 ends[32];
    u32 overflow;  // 1 + a lane with too many paths
    u32 unused;
};

// Cleared before a launch.
struct BcMeeting {
    Meeting barrier;
    u64 cursor[3];  // by phase modulo 3
};

struct BcStatus {
    u64 found;
    u64 levels;
    u64 reached;
    u64 reached_arcs;
    u64 looked;
    u32 overflow;
    u32 stopped;
};

struct BcArgs {
    const offset_t* out_offsets;
    const u32* out_columns;
    const offset_t* in_offsets;
    const u32* in_columns;
    const uint2* out_long;  // [out_segments] (row, segment of the row), by row
    const uint2* in_long;   // [in_segments]
    const u32* sources;     // [count] labels, distinct
    real* paths;            // [active][LANES] 0: not reached
    real* sums;             // [active][LANES] 0 where nothing came yet; forward a level's, then backward
    real* coef;             // [active][LANES] 0: the backward phase has not come by
    real* parts;            // [segments][LANES]
    u32* seen;              // [active] lanes that have reached the node
    u32* mark;              // [active] lanes that this level reaches it in; 0 between levels
    u32* candidate;         // [active] nodes of this level
    u64* stamp;             // [active] level << 32 | lanes, of the list that it was in last
    u64* lists;             // [active * LANES] lanes << 32 | node, level after level
    u64* first;             // [active + 2] where the list of a level begins
    double* scores;         // [active]
    u64* entries;           // [active] a level's list, and
    real* values;           // [active][LANES] its values, exchanged where levels are cut
    BcControl* control;
    BcMeeting* meeting;
    BcStatus* status;  // pinned
    const u32* abort;  // pinned
    u64 deadline_ns;
    u64 in_arcs;
    u64 begin;      // FIND: the last level's list; COMMIT: where the level's goes; BACK, PACK_BACK: the own part of
    u64 end;        // a level's list; SETTLE: all of it
    u64 place;      // PACK, PACK_BACK: where the own part lies in the exchange
    u64 nodes;      // COMMIT: the level's
    u64 announced;  // SETTLE: the own part of the list of the level above
    u64 announced_end;
    u32 active;
    u32 count;  // sources
    u32 out_segments;
    u32 in_segments;
    u32 lo;  // the own chunk
    u32 hi;
    u32 task;
    u32 level;
    u32 deepest;
    u32 endpoints;
};

// The arguments for functions that are called: a reference to the kernel's own would be read through L1, which each
// barrier empties, field by field anew after each store.
static __shared__ BcArgs held;

__device__ __forceinline__ void hold(const BcArgs& a) {
    for (u32 i = threadIdx.x; i < sizeof(BcArgs) / 4; i += blockDim.x) ((u32*)&held)[i] = ((const u32*)&a)[i];
    __syncthreads();
}

__device__ __forceinline__ double fresh(const double* at) { return __ldcg(at); }
__device__ __forceinline__ float fresh(const float* at) { return __ldcg(at); }

__device__ __forceinline__ u32 full_mask(const BcArgs& a) { return FULL >> (32u - a.count); }

__device__ __forceinline__ u64 index_of(u32 v, u32 lane) { return (u64)v * LANES + lane; }

__device__ __forceinline__ u64 degree_of(const offset_t* offsets, u32 v) {
    return (u64)__ldg(offsets + v + 1) - (u64)__ldg(offsets + v);
}

__device__ __forceinline__ u64 warps() { return (u64)gridDim.x * (blockDim.x >> 5); }
__device__ __forceinline__ u64 own_warp() { return (u64)blockIdx.x * (blockDim.x >> 5) + warp_id(); }
// Counted from the end: few rows are dealt from the first warp on, and few segments from the last.
__device__ __forceinline__ u64 last_warp() { return warps() - 1u - own_warp(); }
__device__ __forceinline__ bool leader() { return blockIdx.x == 0 && threadIdx.x == 0; }

__device__ __forceinline__ double warp_total(double value) {
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(FULL, value, step);
    return value;
}

// Barriers, and a cursor for each phase between two of them.
struct Phases {
    Grid grid;
    BcMeeting* meeting;
    u32 number;

    __device__ u64* cursor() { return meeting->cursor + number % 3u; }

    __device__ bool sync() {
        if (!grid.sync()) return false;
        number++;
        // Used two phases ago, and next in the one to come.
        if (leader()) __stcg(meeting->cursor + (number + 1u) % 3u, 0ull);
        return true;
    }
};

// Hands `items` to warps, up to 32 at a time: body(first, how many), by all lanes of a warp together. Where rows may
// be of any length, which `cursor` says, they come fewer at a time: lists end with what took longest to find, and a warp
// with 30 rows of 500 arcs would be at them when all others wait. All but a warp's first are then fetched, fewer towards
// the end, but not fewer than `least`, nor than an eighth of what a warp has in all while that is little. Of more items, if
// `least` is 1, everybody has a fair share without fetching: warps that fetch few at a time queue at the cursor, which has
// cost thirty times the work itself (R-MAT 20).
template <class Body>
__device__ __forceinline__ void deal(u64 items, u64* cursor, u64 least, Body body) {
    u64 all = warps();
    bool fetched = cursor != 0 && items > all && (least > 1 || items <= all * MODEST);
    u64 share = fetched ? all * 8u : all;
    u64 width = min((items + share - 1u) / share, cursor != 0 && !fetched ? 8ull : 32ull);
    if (fetched && items <= all * MODEST) least = max(least, min(width, 4ull));
    u64 dealt = all * width;  // to all warps, as their first
    for (u64 at = own_warp() * width; at < items;) {
        body(at, (u32)min(width, items - at));
        __syncwarp();
        if (!fetched) {
            at += dealt;
            continue;
        }
        width = max(min((items - at) / (all * 4u), 32ull), least);
        if (lane_id() == 0) at = dealt + atomicAdd(cursor, width);
        at = __shfl_sync(FULL, at, 0);
    }
}

// The sum of array[column][lane] over a row, by LANES threads, a lane each.
__device__ __forceinline__ real short_sum(const u32* columns, u32 length, const real* array,
                                          u32 lane) {
    real sum = 0;
    for (u32 i = 0; i < length; i += 4) {
        // Behind the row's end nothing is read, and 0 is added: a row of three costs one trip, not three.
        u32 u[4];
        real x[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) u[k] = i + k < length ? __ldg(columns + i + k) : 0u;
#pragma unroll
        for (u32 k = 0; k < 4; k++) x[k] = i + k < length ? array[index_of(u[k], lane)] : (real)0;
#pragma unroll
        for (u32 k = 0; k < 4; k++) sum = plus(sum, x[k]);
    }
    return sum;
}

// The sum over the threads of the same lane.
__device__ __forceinline__ real over_groups(real sum) {
#pragma unroll
    for (u32 step = 16; step >= LANES; step >>= 1) {
        sum = plus(sum, __shfl_xor_sync(FULL, sum, step));
    }
    return sum;
}

// The same by a warp: thread t has the sum of lane t % LANES.
__device__ __forceinline__ real warp_row_sum(const u32* columns, u32 length, const real* array) {
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    real sum = 0;
    for (u32 base = 0; base < length; base += 32u * AHEAD) {
        u32 mine[AHEAD];
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            u32 i = base + 32u * k + lane_id();
            mine[k] = i < length ? __ldcs(columns + i) : 0u;
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
#pragma unroll 1
            for (u32 j = 0; j < LANES; j += UNROLL) {
                // All of them under way before the first is added; behind the row's end it is node 0, and no addend.
                real x[UNROLL];
#pragma unroll
                for (u32 i = 0; i < UNROLL; i++) {
                    u32 u = __shfl_sync(FULL, mine[k], (j + i) * GROUPS + group);
                    x[i] = array[index_of(u, lane)];
                }
#pragma unroll
                for (u32 i = 0; i < UNROLL; i++) {
                    u32 slot = base + 32u * k + (j + i) * GROUPS + group;
                    sum = plus(sum, slot < length ? x[i] : (real)0);
                }
            }
        }
    }
    return over_groups(sum);
}

// The sums of a warp's rows, each by LANES threads: row `slot` of the warp is node v of lane `slot`, in its `lanes`.
// done(wanted, slot, node, sum, paths) is called by all lanes together, for rows behind the last too, after STAGED sums
// were on their way, and, if asked, the numbers of paths. Exchanged sums are in `values`, by the row's number from
// `first`.
template <bool PATHS, class Done>
__device__ __forceinline__ void for_sums(const BcArgs& a, bool exchanged, u64 first, u32 n, u32 v, u32 lanes,
                                         Done done) {
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    for (u32 base = 0; base < n; base += STAGED * GROUPS) {
        real x[STAGED], paths[STAGED];
        u32 row[STAGED];
        bool wanted[STAGED];
#pragma unroll
        for (u32 k = 0; k < STAGED; k++) {
            u32 slot = base + k * GROUPS + group;
            row[k] = __shfl_sync(FULL, v, slot);
            wanted[k] = __shfl_sync(FULL, lanes, slot) >> lane & 1u;
            const real* at = exchanged ? a.values + (first + slot) * LANES + lane
                                       : a.sums + index_of(row[k], lane);
            x[k] = wanted[k] ? fresh(at) : (real)0;
            paths[k] = PATHS && wanted[k] ? fresh(a.paths + index_of(row[k], lane)) : (real)0;
        }
#pragma unroll
        for (u32 k = 0; k < STAGED; k++) {
            done(wanted[k], base + k * GROUPS + group, row[k], x[k], paths[k]);
        }
        __syncwarp();
    }
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
        __stcg(a.seen + s, bit);
        __stcg(a.stamp + s, (u64)bit);
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
        __stcg(&level->paths, (double)arcs);
        __stcg(&a.control->reached, (u64)a.count);
        __stcg(&a.control->reached_arcs, arcs);
        __stcg(&a.control->closed, closed);
        __stcg(a.first, 0ull);
        __stcg(a.first + 1, (u64)a.count);
    }
}

// An arc out of the frontier, from u in `lanes`, by each thread that has one; all lanes of the warp come here.
template <bool ADDING>
__device__ __forceinline__ void touch(const BcArgs& a, BcLevel* level, bool has, u32 u, u32 lanes,
                                      const u32* column) {
    u32 v = has ? __ldg(column) : 0u;
    if (!has || v < a.lo || v >= a.hi) lanes = 0;
    bool first = false;
    if (lanes != 0) {
        u32 seen = fresh(a.seen + v), mark = fresh(a.mark + v);  // both on their way
        lanes &= ~seen;
        if ((mark & lanes) != lanes) first = atomicOr(a.mark + v, lanes) == 0;
    }
    for (u32 left = ADDING ? lanes : 0u; left != 0; left &= left - 1) {
        u32 lane = __ffs(left) - 1;
        atomicAdd(a.sums + index_of(v, lane), a.paths[index_of(u, lane)]);
    }
    __syncwarp();
    // One addition a warp: all of a level's candidates are counted at one address.
    u32 who = __ballot_sync(FULL, first);
    if (who == 0) return;
    u64 place = 0;
    if (lane_id() == 0) place = atomicAdd(&level->found, (u64)__popc(who));
    place = __shfl_sync(FULL, place, 0);
    if (first) __stcg(a.candidate + place + __popc(who & ((1u << lane_id()) - 1u)), v);
    __syncwarp();
}

// Follows all arcs out of the list [begin, end), which is level - 1.
template <bool ADDING>
__device__ void push(const BcArgs& a, u32 number, u64 begin, u64 end, u64* cursor, u64& looked) {
    BcLevel* level = a.control->level + number % 3u;
    for (u64 segment = last_warp(); segment < a.out_segments; segment += warps()) {
        uint2 part = __ldg(a.out_long + segment);
        u64 stamp = fresh(a.stamp + part.x);
        if ((u32)(stamp >> 32) != number - 1u || (u32)stamp == 0) continue;
        u64 from = (u64)__ldg(a.out_offsets + part.x) + (u64)part.y * SEGMENT;
        u64 to = min((u64)__ldg(a.out_offsets + part.x + 1), from + SEGMENT);
        if (lane_id() == 0) looked += to - from;
        for (u64 base = from; base < to; base += 32) {
            u64 i = base + lane_id();
            touch<ADDING>(a, level, i < to, part.x, (u32)stamp, a.out_columns + i);
        }
    }
    deal(end - begin, cursor, 1, [&](u64 at, u32 n) {
        u32 u = 0, lanes = 0, length = 0;
        u64 from = 0;
        if (lane_id() < n) {
            u64 entry = fresh(a.lists + begin + at + lane_id());
            u = (u32)entry;
            lanes = (u32)(entry >> 32);
            from = __ldg(a.out_offsets + u);
            u64 degree = (u64)__ldg(a.out_offsets + u + 1) - from;
            length = degree > SEGMENT ? 0u : (u32)degree;
        }
        looked += length;
        // Short rows by as many threads each as there are for one, a power of two.
        u32 bits = n > 1 ? 32u - __clz(n - 1u) : 0u, threads = 32u >> bits;
        {
            u32 slot = lane_id() >> (5u - bits);
            u32 row = __shfl_sync(FULL, u, slot), mask = __shfl_sync(FULL, lanes, slot);
            u32 many = __shfl_sync(FULL, length <= SHORT ? length : 0u, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            for (u32 i = lane_id() & (threads - 1u); __ballot_sync(FULL, i < many) != 0; i += threads) {
                touch<ADDING>(a, level, i < many, row, mask, a.out_columns + start + i);
            }
        }
        for (u32 left = __ballot_sync(FULL, length > SHORT); left != 0; left &= left - 1) {
            u32 slot = __ffs(left) - 1;
            u32 row = __shfl_sync(FULL, u, slot), mask = __shfl_sync(FULL, lanes, slot);
            u32 many = __shfl_sync(FULL, length, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            for (u32 base = 0; base < many; base += 32) {
                u32 i = base + lane_id();
                touch<ADDING>(a, level, i < many, row, mask, a.out_columns + start + i);
            }
        }
    });
}

// Lanes in which a node's row is to be summed.
template <int KIND>
__device__ __forceinline__ u32 need_of(const BcArgs& a, u32 v, u32 number) {
    if (v < a.lo || v >= a.hi) return 0;
    if (KIND == FROM_ALL) return full_mask(a) & ~fresh(a.seen + v);
    if (KIND == FROM_MARKS) return fresh(a.mark + v);
    u64 stamp = fresh(a.stamp + v);
    return (u32)(stamp >> 32) == number ? (u32)stamp : 0u;
}

// Whether the sums of segments are added by the warp that has the last of a row. Where there are many it would hold up
// the gathers more than a barrier does.
__device__ __forceinline__ bool last_adds(u32 segments) { return segments <= WAITED * warps(); }

// The sum over the segments of a row, `from` being where the thread's lane of the first is.
__device__ __forceinline__ real sum_of_parts(const real* from, u32 count) {
    u32 group = lane_id() / LANES;
    real sum = 0;
    for (u32 i = group; i < count; i += GROUPS * PARTS) {
        real x[PARTS];
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) {
            u32 own = i + k * GROUPS;
            x[k] = own < count ? fresh(from + (u64)own * LANES) : (real)0;
        }
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) sum = plus(sum, x[k]);
    }
    __syncwarp();
    return over_groups(sum);
}

// What the warp wrote before is seen by whoever sees this; unlike a fence it leaves L1 its lines.
__device__ __forceinline__ u32 add_release(u32* at, u32 value) {
    u32 before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(at), "r"(value) : "memory");
    return before;
}

// After the sum of a segment, one of `count` of row v from `first` on: the last of them to come adds them all.
template <int KIND>
__device__ __noinline__ void arrive(u32 v, u32 need, u64 first, u32 count) {
    const BcArgs& a = held;
    u32 lane = lane_id() % LANES;
    // Words that are 0 in this phase: backward marks, forward coefficients.
    u32* arrived = KIND == FROM_LIST ? a.mark + v : (u32*)(a.coef + index_of(v, 0));
    __syncwarp();
    u32 before = 0;
    if (lane_id() == 0) before = add_release(arrived, 1u);
    before = __shfl_sync(FULL, before, 0);
    if (before + 1u != count) return;
    __threadfence();
    __syncwarp();
    real sum = sum_of_parts(a.parts + first * LANES + lane, count);
    bool wanted = lane_id() < LANES && (need >> lane & 1u);
    if (wanted && (KIND != FROM_ALL || sum > 0)) __stcg(a.sums + index_of(v, lane), sum);
    if (lane_id() == 0) __stcg(arrived, 0u);
}

// Sums of the segments of long rows.
template <int KIND>
__device__ void pull_segments(const BcArgs& a, u32 number, u64& looked) {
    const bool back = KIND == FROM_LIST;
    const uint2* list = back ? a.out_long : a.in_long;
    const offset_t* offsets = back ? a.out_offsets : a.in_offsets;
    const u32* columns = back ? a.out_columns : a.in_columns;
    const real* array = back ? a.coef : a.paths;
    BcLevel* level = a.control->level + number % 3u;
    u32 segments = back ? a.out_segments : a.in_segments;
    u32 lane = lane_id() % LANES;
    for (u64 segment = last_warp(); segment < segments; segment += warps()) {
        uint2 part = __ldg(list + segment);
        u32 v = part.x, need = need_of<KIND>(a, v, number);
        if (need == 0) continue;  // the same for all lanes of the warp
        u64 row = __ldg(offsets + v), behind = __ldg(offsets + v + 1);
        u64 from = row + (u64)part.y * SEGMENT;
        u32 length = (u32)min(behind - from, (u64)SEGMENT);
        if (lane_id() == 0) looked += length;
        real sum = warp_row_sum(columns + from, length, array);
        if (lane_id() < LANES) __stcg(a.parts + segment * LANES + lane, sum);
        if (KIND == FROM_ALL) {
            u32 hits = __ballot_sync(FULL, sum > 0 && (need >> lane & 1u)) & LANE_BITS;
            if (hits != 0 && lane_id() == 0) {
                u32 before = atomicOr(a.mark + v, hits);
                if (before == 0) __stcg(a.candidate + atomicAdd(&level->found, 1ull), v);
            }
            __syncwarp();
        }
        if (last_adds(segments)) {
            u32 count = (u32)((behind - row + SEGMENT - 1u) / SEGMENT);
            arrive<KIND>(v, need, segment - part.y, count);
        }
    }
}

// After a barrier, where last_adds() does not hold, the sums of long rows from those of their segments, a warp a row.
template <int KIND>
__device__ __noinline__ void join_segments(u32 number) {
    const BcArgs& a = held;
    const bool back = KIND == FROM_LIST;
    const uint2* list = back ? a.out_long : a.in_long;
    const offset_t* offsets = back ? a.out_offsets : a.in_offsets;
    u32 segments = back ? a.out_segments : a.in_segments;
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    // So few at a time that all warps have some.
    u64 width = min((segments + warps() - 1u) / warps(), 32ull);
    for (u64 base = own_warp() * width; base < segments; base += warps() * width) {
        uint2 part = make_uint2(0u, 1u);
        if (lane_id() < width && base + lane_id() < segments) part = __ldg(list + base + lane_id());
        u32 need = part.y == 0 ? need_of<KIND>(a, part.x, number) : 0u;
        for (u32 left = __ballot_sync(FULL, need != 0); left != 0; left &= left - 1) {
            u32 slot = __ffs(left) - 1;
            u32 row = __shfl_sync(FULL, part.x, slot), mask = __shfl_sync(FULL, need, slot);
            u32 count = (u32)((degree_of(offsets, row) + SEGMENT - 1u) / SEGMENT);
            real sum = sum_of_parts(a.parts + (base + slot) * LANES + lane, count);
            bool wanted = group == 0 && (mask >> lane & 1u);
            if (wanted && (KIND != FROM_ALL || sum > 0)) __stcg(a.sums + index_of(row, lane), sum);
        }
    }
}

// Sums of all other rows: of the candidates, of the own chunk, or of the list from `begin`.
template <int KIND>
__device__ void pull_rows(const BcArgs& a, u32 number, u64 items, u64 begin, u64* cursor,
                          u64& looked) {
    const bool back = KIND == FROM_LIST;
    const offset_t* offsets = back ? a.out_offsets : a.in_offsets;
    const u32* columns = back ? a.out_columns : a.in_columns;
    const real* array = back ? a.coef : a.paths;
    BcLevel* level = a.control->level + number % 3u;
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    // Where all nodes are looked at, short rows are the last ones: labels are by falling degree, or degrees much alike.
    // A list must be longer before its rows take as long as their fetching.
    u64 least = items >= warps() * (KIND == FROM_ALL ? MODEST : 4u * MODEST) ? 8u : 1u;
    deal(items, cursor, least, [&](u64 at, u32 n) {
        u32 v = 0, need = 0, length = 0, found = 0;
        u64 from = 0;
        if (lane_id() < n) {
            if (KIND == FROM_ALL) {
                v = a.lo + (u32)at + lane_id();
                need = full_mask(a) & ~fresh(a.seen + v);
            } else if (KIND == FROM_MARKS) {
                v = fresh(a.candidate + at + lane_id());
                need = fresh(a.mark + v);
            } else {
                u64 entry = fresh(a.lists + begin + at + lane_id());
                v = (u32)entry;
                need = (u32)(entry >> 32);
            }
        }
        // Candidates and what is listed need their rows in any case: these come along with the lanes.
        if (KIND == FROM_ALL ? need != 0 : lane_id() < n) {
            from = __ldg(offsets + v);
            u64 degree = (u64)__ldg(offsets + v + 1) - from;
            if (degree > SEGMENT) need = 0;
            else length = (u32)degree;
        }
        looked += length;
        u32 shorter = __ballot_sync(FULL, need != 0 && length <= SHORT);
        u32 longer = __ballot_sync(FULL, need != 0 && length > SHORT);
        for (u32 j = 0; j < n; j += GROUPS) {
            if ((shorter >> j & GROUP_BITS) == 0) continue;
            u32 slot = j + group;
            u32 row = __shfl_sync(FULL, v, slot), mask = __shfl_sync(FULL, need, slot);
            u32 many = __shfl_sync(FULL, length, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            bool mine = shorter >> slot & 1u;
            real sum = 0;
            if (mine) sum = short_sum(columns + start, many, array, lane);
            __syncwarp();
            bool wanted = mine && (mask >> lane & 1u);
            if (KIND == FROM_ALL) {
                wanted = wanted && sum > 0;
                u32 hits = __ballot_sync(FULL, wanted);
                u32 own = lane_id() - j;
                if (own < GROUPS && (shorter >> lane_id() & 1u)) {
                    found = hits >> (own * LANES) & LANE_BITS;
                }
            }
            if (wanted) __stcg(a.sums + index_of(row, lane), sum);
        }
        for (u32 left = longer; left != 0; left &= left - 1) {
            u32 slot = __ffs(left) - 1;
            u32 row = __shfl_sync(FULL, v, slot), mask = __shfl_sync(FULL, need, slot);
            u32 many = __shfl_sync(FULL, length, slot);
            u64 start = __shfl_sync(FULL, from, slot);
            real sum = warp_row_sum(columns + start, many, array);
            bool wanted = group == 0 && (mask >> lane & 1u);
            if (KIND == FROM_ALL) {
                wanted = wanted && sum > 0;
                u32 hits = __ballot_sync(FULL, wanted);
                if (lane_id() == slot) found = hits;
            }
            if (wanted) __stcg(a.sums + index_of(row, lane), sum);
        }
        if (KIND == FROM_ALL) {
            u32 who = __ballot_sync(FULL, found != 0);
            u64 place = 0;
            if (who != 0 && lane_id() == 0) place = atomicAdd(&level->found, (u64)__popc(who));
            place = __shfl_sync(FULL, place, 0);
            if (found != 0) {
                __stcg(a.mark + v, found);
                __stcg(a.candidate + place + __popc(who & ((1u << lane_id()) - 1u)), v);
            }
        }
    });
}

// After a barrier. What all threads have to know is read by one of each block: thousands of warps that ask for one word
// at once wait for each other longer than for a barrier of the block.
__device__ __forceinline__ u64 found_of(const BcControl* c, u32 number) {
    __shared__ u64 told;
    if (threadIdx.x == 0) told = fresh(&c->level[number % 3u].found);
    __syncthreads();
    return told;
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
    __shared__ u64 told[4];
    if (threadIdx.x < 4) {
        u32 k = threadIdx.x;
        const u64* from = k == 0 ? &last->arcs : k == 1 ? &c->closed : (const u64*)&last->paths;
        told[k] = k == 3 ? (u64)fresh(&c->overflow) : fresh(from);
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
        push<true>(a, number, begin, end, phases.cursor(), looked);
    } else if (way == MARK) {
        push<false>(a, number, begin, end, phases.cursor(), looked);
        if (!phases.sync()) return true;
        u64 marked = found_of(c, number);
        pull_segments<FROM_MARKS>(a, number, looked);
        pull_rows<FROM_MARKS>(a, number, marked, 0, phases.cursor(), looked);
        if (!last_adds(a.in_segments) && phases.sync()) join_segments<FROM_MARKS>(number);
    } else {
        pull_segments<FROM_ALL>(a, number, looked);
        pull_rows<FROM_ALL>(a, number, a.hi - a.lo, 0, phases.cursor(), looked);
        if (!last_adds(a.in_segments) && phases.sync()) join_segments<FROM_ALL>(number);
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

// Puts a node's number of paths into the arrays, in one lane.
__device__ __forceinline__ void reach(const BcArgs& a, u32 v, u32 lane, real x, u64 degree, double& paths) {
    __stcg(a.paths + index_of(v, lane), x);
    if (!(x <= MOST_PATHS)) atomicMax(&a.control->overflow, 1u + lane);
    paths += (double)x * (double)degree;
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
        __stcg(a.seen + v, seen);
        __stcg(a.stamp + v, (u64)number << 32 | lanes);
        __stcg(a.lists + begin + at, (u64)lanes << 32 | v);
        totals.node(a, v, lanes, seen, degree, into);
    }
    if (lane_id() < LANES && (lanes >> lane & 1u)) reach(a, v, lane, x, degree, totals.paths);
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
            u32 seen = atomicOr(a.seen + v, lanes) | lanes;
            __stcg(a.stamp + v, (u64)number << 32 | lanes);
            __stcg(a.lists + begin + at + lane_id(), (u64)lanes << 32 | v);
            u64 into = seen == full_mask(a) ? degree_of(a.in_offsets, v) : 0;
            totals.node(a, v, lanes, seen, degree, into);
        }
        for_sums<false>(a, exchanged, at, n, v, lanes,
                        [&](bool wanted, u32, u32 row, real x, real) {
            if (wanted) reach(a, row, lane, x, degree_of(a.out_offsets, row), totals.paths);
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

// From a sum, by all lanes of the warp together: the coefficient of row v in one lane, and its dependencies, over the
// lanes in their order in a tree, onto its score.
__device__ __forceinline__ void depend(const BcArgs& a, bool wanted, bool writes, bool deepest, u32 v, u32 lane,
                                       real sum, real paths) {
    double gained = 0;
    if (wanted) {
        real delta = times(paths, sum);
        if (writes) __stcg(a.coef + index_of(v, lane), over(plus((real)1, delta), paths));
        gained = (double)delta;
    }
    if (deepest) return;
#pragma unroll
    for (u32 step = 1; step < LANES; step <<= 1) {
        gained = __dadd_rn(gained, __shfl_xor_sync(FULL, gained, step));
    }
    // Nobody else adds to this node before the next barrier.
    if (lane == 0 && writes && gained != 0) atomicAdd(a.scores + v, gained);
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
    depend(a, wanted, lane_id() < LANES, deepest, v, lane, sum, paths);
}

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
            __stcg(a.stamp + (u32)entry, (u64)(number - 1u) << 32 | entry >> 32);
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
        if (ended != 0) atomicAdd(a.scores + v, (double)ended);
    });
    if (lane_id() < a.count && ends != 0) atomicAdd(a.control->ends + lane_id(), ends);
}

// After a barrier.
__device__ __forceinline__ void add_ends(const BcArgs& a) {
    if (blockIdx.x == 0 && threadIdx.x < a.count) {
        double others = (double)(fresh(a.control->ends + threadIdx.x) - 1u);
        atomicAdd(a.scores + __ldg(a.sources + threadIdx.x), others);
    }
}

extern "C" __global__ void __launch_bounds__(256, 4) bc_batch(const __grid_constant__ BcArgs a) {
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
            pull_segments<FROM_LIST>(a, number, looked);
            pull_rows<FROM_LIST>(a, number, end - begin, begin, phases.cursor(), looked);
            if (!last_adds(a.out_segments) && phases.sync()) join_segments<FROM_LIST>(number);
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
