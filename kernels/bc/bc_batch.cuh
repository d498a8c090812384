// Betweenness: what a batch of sources keeps, how work is dealt to warps, and sums over rows. The idea is in bc.cu, whose
// constants HIVE_LANES, HIVE_DOUBLE and HIVE_ASKS these use.
#pragma once

#include "bc_number.cuh"

#define LANES ((u32)HIVE_LANES)
#define GROUPS (32u / LANES)  // rows, or arcs, that a warp works on at once
#define SHORT 16u
// A sweep of so many arcs costs what one that is followed and added, or marked and pulled, does.
#define ADD_SHARE 64u
#define MARK_SHARE 64u
#define FULL_SHARE 20u  // percent of what could be gathered, from which on it is gathered without asking
#define THREADS 256u  // @host
#define SEGMENT 512u  // @host
#define BLOCKS (HIVE_ASKS != 0 ? 5 : 4)  // blocks an SM
#define AHEAD (HIVE_LANES >= 4 ? 1 : 4 / HIVE_LANES)  // blocks of 32 columns that a warp reads at once
#define EARLY (HIVE_DOUBLE == 0)  // whether columns are read a block ahead of what they are read for
#if HIVE_LANES > 8
#define UNROLL 8
#else
#define UNROLL HIVE_LANES
#endif
#define FEW (HIVE_LANES > 4 ? 4 : HIVE_LANES)  // addends that a thread has under way where most are 0
#define PARTS 4u     // sums of segments that a thread has under way
#define MODEST 64u   // items a warp, up to which they are fetched, by no less than an eighth of its share, or four
#define WAITED 8u    // segments a warp, up to which their sums are added by who comes last rather than after a barrier
#define STAGED (UNROLL > 4 ? 4u : UNROLL)  // sums of a level that a thread has under way

// A bit a lane: what gathers ask of a neighbour is held small, so that it stays in the caches.
#if HIVE_LANES > 16
typedef u32 mask_t;
#elif HIVE_LANES > 8
typedef unsigned short mask_t;
#else
typedef u8 mask_t;
#endif

static const u32 LANE_BITS = FULL >> (32u - LANES);
static const u32 GROUP_BITS = FULL >> (32u - GROUPS);

enum Task { WHOLE, SEED, FIND, PACK, COMMIT, BACK, PACK_BACK, SETTLE, ENDS };  // @host
enum Way { ADD, MARK, SWEEP };
enum Pull { FROM_MARKS, FROM_ALL, FROM_LIST };

// A level while it is found, and as the frontier of the next one.
struct BcLevel {  // @host
    u64 found;     // candidates
    u64 arcs;      // out of its nodes
    double paths;  // no less than any sum of its numbers of paths that a neighbour may come to
};

// Cleared before a batch.
struct BcControl {  // @host
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
struct BcMeeting {  // @host
    Meeting barrier;
    u64 cursor[3];  // by phase modulo 3
};

struct BcStatus {  // @host
    u64 found;
    u64 levels;
    u64 reached;
    u64 reached_arcs;
    u64 looked;
    u32 overflow;
    u32 stopped;
};

struct BcArgs {  // @host
    const offset_t* out_offsets;
    const u32* out_columns;
    const offset_t* in_offsets;
    const u32* in_columns;
    const uint2* out_long;  // [out_segments] (row, segment of the row), by row
    const uint2* in_long;   // [in_segments]
    const u32* sources;     // [count] labels, distinct
    const u32* targets;     // [active / 32] a bit a label; NULL where all nodes are
    real* paths;            // [active][LANES] 0: not reached
    real* sums;             // [active][LANES] 0 where nothing came yet; forward a level's, then backward
    real* coef;             // [active][LANES] 0: the backward phase has not come by
    real* parts;            // [segments][LANES]
    mask_t* seen;           // [active] lanes that have reached the node, less, if HIVE_ASKS, those settled on the way back
    u32* mark;              // [active] lanes that this level reaches it in; 0 between levels
    u32* candidate;         // [active] nodes of this level
    u64* stamp;             // [stamped] level << 32 | lanes, of the list that it was in last
    u64* lists;             // [active * LANES] lanes << 32 | node, level after level
    u64* first;             // [active + 2] where the list of a level begins
    u64* upto;              // [active + 2] if HIVE_ASKS: arcs out of what levels up to this one reached, over the lanes
    double* scores;         // [2][active] parts of sums on the coarse grid, and on the fine one
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
    double coarse;  // the grids of scores
    double fine;
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
    u32 stamped;  // labels below may have long rows
    u32 unused;
};

// The arguments for functions that are called: a reference to the kernel's own would be read through L1, which each
// barrier empties, field by field anew after each store.
static __shared__ BcArgs held;

// Kernels that never ask have the functions that follow arcs inlined, with the kernel's own arguments. In those that ask
// there is too much code for their registers, so these functions are called, and read `held`.
#if HIVE_ASKS
#define FOLLOWS __noinline__
#define ARGUMENTS(given) held
#else
#define FOLLOWS __forceinline__
#define ARGUMENTS(given) given
#endif

__device__ __forceinline__ void hold(const BcArgs& a) {
    for (u32 i = threadIdx.x; i < sizeof(BcArgs) / 4; i += blockDim.x) ((u32*)&held)[i] = ((const u32*)&a)[i];
    __syncthreads();
}

__device__ __forceinline__ double fresh(const double* at) { return __ldcg(at); }
__device__ __forceinline__ float fresh(const float* at) { return __ldcg(at); }
__device__ __forceinline__ u32 fresh(const u8* at) { return __ldcg(at); }
__device__ __forceinline__ u32 fresh(const unsigned short* at) { return __ldcg(at); }

__device__ __forceinline__ u32 full_mask(const BcArgs& a) { return FULL >> (32u - a.count); }

__device__ __forceinline__ u64 index_of(u32 v, u32 lane) { return (u64)v * LANES + lane; }

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
// `least` is 1, everybody has a fair share without fetching: warps that fetch few at a time queue at the cursor, which
// can cost many times the work itself.
template <class Body>
__device__ __forceinline__ void deal(u64 many, u64* cursor, u32 least, Body body) {
    u32 items = (u32)many, all = (u32)warps();  // no more than there are nodes
    bool fetched = cursor != 0 && items > all && (least > 1 || items <= all * MODEST);
    u32 share = fetched ? all * 8u : all;
    u32 width = items <= share ? 1u : min((items - 1u) / share + 1u, cursor != 0 && !fetched ? 8u : 32u);
    if (fetched && items <= all * MODEST) least = max(least, min(width, 4u));
    u64 dealt = (u64)all * width;  // to all warps, as their first
    for (u64 at = own_warp() * width; at < items;) {
        body(at, (u32)min((u64)width, items - at));
        __syncwarp();
        if (!fetched) {
            at += dealt;
            continue;
        }
        width = max(min((u32)(items - at) / (all * 4u), 32u), least);
        if (lane_id() == 0) at = dealt + atomicAdd(cursor, (u64)width);
        at = __shfl_sync(FULL, at, 0);
    }
}

// What is gathered for rows. Most of it is 0 in many sweeps, and which of it is not can be asked of `seen`: forward its
// bits, backward (`flip`) their complement, since all neighbours have then been reached in the lanes of a row. An addend
// of 0 changes no sum: asking changes nothing but the time.
struct Addends {
    const real* array;  // [active][LANES] forward the numbers of paths, backward the coefficients
    const mask_t* seen;
    u32 flip;

    __device__ __forceinline__ u32 lanes_of(u32 u) const { return seen[u] ^ flip; }
    __device__ __forceinline__ real at(u32 u, u32 lane) const { return array[index_of(u, lane)]; }
};

// The sum of a row's addends in the thread's lane, wanted in `lanes` of it, by LANES threads, a lane each.
template <bool ASKS>
__device__ __forceinline__ real short_sum(const u32* columns, u32 length, const Addends& of, u32 lanes, u32 lane) {
    real sum = 0;
    for (u32 i = 0; i < length; i += 4) {
        // Behind the row's end nothing is read, and 0 is added: a row of three costs one trip, not three.
        u32 u[4];
        bool has[4];
        real x[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) u[k] = i + k < length ? __ldg(columns + i + k) : 0u;
#pragma unroll
        for (u32 k = 0; k < 4; k++) has[k] = i + k < length && (!ASKS || (of.lanes_of(u[k]) & lanes) != 0);
#pragma unroll
        for (u32 k = 0; k < 4; k++) x[k] = has[k] ? of.at(u[k], lane) : (real)0;
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

// The same by a warp: thread t has the sum of lane t % LANES. Columns are read a block ahead of what they are read for, if
// there are registers for it.
__device__ __forceinline__ real warp_row_sum(const u32* columns, u32 length, const Addends& of) {
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    real sum = 0;
    auto column = [&](u32 i) { return i < length ? __ldcs(columns + i) : 0u; };
    u32 next[AHEAD];
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) next[k] = EARLY ? column(32u * k + lane_id()) : 0u;
    for (u32 base = 0; base < length; base += 32u * AHEAD) {
        u32 mine[AHEAD];
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            u32 i = base + 32u * k + lane_id();
            mine[k] = EARLY ? next[k] : column(i);
            if (EARLY) next[k] = column(i + 32u * AHEAD);
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
                    x[i] = of.at(u, lane);
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

// Slots of a warp's 32 columns that group 0 adds up; those of group g lie g further.
static const u32 OWN_SLOTS = FULL / (FULL >> (32u - GROUPS));

// The same where most addends are 0: who has one is asked a block ahead, too. Those of a thread are added in the same
// order.
__device__ __forceinline__ real warp_row_sum_asking(const u32* columns, u32 length, const Addends& of, u32 lanes) {
    u32 lane = lane_id() % LANES, group = lane_id() / LANES;
    real sum = 0;
    u32 mine = lane_id() < length ? __ldcs(columns + lane_id()) : 0u;
    u32 next = 32u + lane_id() < length ? __ldcs(columns + 32u + lane_id()) : 0u;
    u32 own = lane_id() < length ? of.lanes_of(mine) : 0u;
    for (u32 base = 0; base < length; base += 32u) {
        u32 i = base + 64u + lane_id();
        u32 behind = i < length ? __ldcs(columns + i) : 0u;
        u32 own_next = i - 32u < length ? of.lanes_of(next) : 0u;
        u32 left = __ballot_sync(FULL, (own & lanes) != 0) & OWN_SLOTS << group;
        while (__ballot_sync(FULL, left != 0) != 0) {
            real x[FEW];
#pragma unroll
            for (u32 k = 0; k < FEW; k++) {
                u32 u = __shfl_sync(FULL, mine, __ffs(left) - 1);
                x[k] = left != 0 ? of.at(u, lane) : (real)0;
                left &= left - 1;
            }
#pragma unroll
            for (u32 k = 0; k < FEW; k++) sum = plus(sum, x[k]);
        }
        mine = next;
        next = behind;
        own = own_next;
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
