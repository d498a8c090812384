// Core numbers: the largest k for which a node is among nodes that each have k arcs to others of them.
//
// PEEL removes the nodes with k arcs left, and what that leaves with k, for rising k; what is left of a node's arcs when
// it is removed is its core number (Matula, Beck, 1983; ParK: Dasari, Desh, Zubair, 2014). A node whose count would
// fall below k gets it back: `core` ends as the core numbers. Unique, so replicas that peel redundantly agree.
//
// SWEEP goes over the own chunk: `core` is never too small, and falls to the largest h for which h neighbours have at
// least h (Montresor, De Pellegrini, Miorandi, 2011), until nothing in the chunk falls; owners' values are gathered.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "deal.cuh"

enum Task { PEEL = 0, DEGREES = 1, SWEEP = 2 };  // @host

struct KcoreStatus {  // @host
    u64 arcs;     // looked at by this launch
    u64 changed;  // SWEEP: times that a value fell
    u32 rounds;
    u32 stopped;
};

struct KcoreControl {  // @host
    Meeting barrier;
    ListCounts counts;
    u32 least[3];  // the fewest arcs of a node that is left, by turns
    u32 moved[3];  // SWEEP: something fell, by turns
    u64 arcs, changed;
};

struct KcoreArgs {  // @host
    Lists lists;
    u32* core;   // [active] arcs that are left
    u32* rest;   // [2 active] nodes that are left, by turns
    u32* queue;  // [active] nodes to be removed; SWEEP: long rows
    KcoreControl* control;
    KcoreStatus* status;  // pinned
    const u32* abort;     // pinned
    u64 deadline_ns;
    u32 active;
    u32 lo, hi;  // the chunk
    u32 task;
};

#define THREADS 512u  // @host

struct Tally {
    u64 arcs, changed;
};

// Arcs of removed nodes.
struct Removal {
    static const bool LISTS = true, SPLITS = true;
    const KcoreArgs& a;
    u32 k;

    __device__ __forceinline__ Value value(u32, bool) const { return {0, 0, true}; }

    __device__ __forceinline__ bool visit(u32 v, u32 u, const Value&, u32) const {
        if (u == v || fresh(a.core + u) <= k) return false;
        u32 before = atomicSub(a.core + u, 1u);
        if (before <= k) atomicAdd(a.core + u, 1u);
        return before == k + 1;
    }
};

// Arcs to others. Rows rise: self loops stand together.
__device__ u32 arcs_of(const KcoreArgs& a, u32 v) {
    u64 from = __ldg(a.lists.out_offsets + v), end = __ldg(a.lists.out_offsets + v + 1), low = from, high = end;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (__ldg(a.lists.out_columns + middle) < v) low = middle + 1;
        else high = middle;
    }
    u64 loops = 0;
    while (low + loops < end && __ldg(a.lists.out_columns + low + loops) == v) loops++;
    return (u32)(end - from - loops);
}

__device__ void degrees(const KcoreArgs& a) {
    u32 threads = gridDim.x * blockDim.x;
    for (u64 v = blockIdx.x * blockDim.x + threadIdx.x; v < a.active; v += threads) {
        __stcg(a.core + v, arcs_of(a, (u32)v));
        __stcg(a.rest + v, (u32)v);
    }
}

// Lists the nodes of `now` that have k arcs left, keeps those that have more in `kept`, and takes their least.
__device__ void sift(const KcoreArgs& a, const Work& w, u32 k, const u32* now, u32 count, u32* kept, u32* queue,
                     u32* least) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    u32 fewest = FULL;
    Append removed(a.lists, w, 0, queue), others(a.lists, w, 1, kept);
    for (u64 first = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 32; first < count; first += stride) {
        u32 v = 0, left = 0;
        bool mine = first + lane_id() < count;
        if (mine) {
            v = fresh(now + first + lane_id());
            left = fresh(a.core + v);
        }
        // Fewer than k: it was removed before.
        removed.add(mine && left == k, v);
        others.add(mine && left > k, v);
        if (mine && left > k) fewest = min(fewest, left);
    }
    removed.flush();
    others.flush();
    fewest = warp_min(fewest);
    if (lane_id() == 0 && fewest != FULL) atomicMin(least, fewest);
}

__device__ bool peel(const KcoreArgs& a, Grid& grid, Work& w, Tally& t) {
    degrees(a);
    if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(a.control->least, FULL);
    if (!advance(a.lists, grid, w)) return false;
    u32 left = a.active, k = 0;
    for (u32 level = 0; left > 0; level++) {
        u32* least = a.control->least + level % 3;
        if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(a.control->least + (level + 1) % 3, FULL);
        // Each node is listed once in all.
        u32* next = a.queue + w.begin[0] + w.items[0];
        sift(a, w, k, a.rest + (u64)(level & 1u) * a.active, left, a.rest + (u64)((level + 1) & 1u) * a.active, next,
             least);
        if (!advance(a.lists, grid, w)) return false;
        left = w.items[1];
        bool any = w.items[0] != 0;
        Removal removal = {a, k};
        while (w.items[0] | w.tiles) {
            u32* now = a.queue + w.begin[0];
            next = now + w.items[0];
            expand(a.lists, w, removal, 0, now, 0, w.items[0], 0, next, t.arcs);
            expand_tiles(a.lists, w, removal, false, next, next, t.arcs);
            if (!advance(a.lists, grid, w)) return false;
        }
        // Where nothing was removed, the least is what it was.
        k = any ? k + 1 : fresh(least);
    }
    return true;
}

// Neighbours, in the part of a row that a warp or a block reads together, that have at least h.
template <bool BLOCK>
__device__ u64 at_least(const KcoreArgs& a, u32 v, u32 h, u64* room, Tally& t) {
    u64 from = __ldg(a.lists.out_offsets + v), to = __ldg(a.lists.out_offsets + v + 1), count = 0;
    for (u64 i = from + (BLOCK ? threadIdx.x : lane_id()); i < to; i += BLOCK ? blockDim.x : 32) {
        u32 u = __ldg(a.lists.out_columns + i);
        count += u != v && fresh(a.core + u) >= h;
        t.arcs++;
    }
    return BLOCK ? block_sum(count, room) : warp_sum(count);
}

// The largest h for which h neighbours have at least h; never below the core number, whatever falls meanwhile.
template <bool BLOCK>
__device__ u32 h_index(const KcoreArgs& a, u32 v, u32 now, u64* room, Tally& t) {
    if (now == 0 || at_least<BLOCK>(a, v, now, room, t) >= now) return now;
    u32 low = 0, high = now;
    while (high - low > 1) {
        u32 middle = low + (high - low) / 2;
        if (at_least<BLOCK>(a, v, middle, room, t) >= middle) low = middle;
        else high = middle;
    }
    return low;
}

// Sweeps over the own chunk until nothing falls: a warp a row, a block a long one.
__device__ bool sweep(const KcoreArgs& a, Grid& grid, Work& w, u64* room, Tally& t) {
    u32 warps = gridDim.x * (blockDim.x >> 5);
    for (u32 pass = 0;; pass++) {
        u32* moved = a.control->moved + pass % 3;
        if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(a.control->moved + (pass + 1) % 3, 0u);
        u64 before = t.changed;
        w.anew();
        Append rows(a.lists, w, 0, a.queue);
        for (u64 i = (u64)a.lo + blockIdx.x * (blockDim.x >> 5) + warp_id(); i < a.hi; i += warps) {
            u32 v = (u32)i, now = fresh(a.core + v);
            bool big = __ldg(a.lists.out_offsets + v + 1) - __ldg(a.lists.out_offsets + v) >= LONG;
            rows.add(big && lane_id() == 0, v);
            if (big) continue;
            u32 h = h_index<false>(a, v, now, room, t);
            if (lane_id() == 0 && h < now) {
                __stcg(a.core + v, h);
                t.changed++;
            }
        }
        rows.flush();
        if (!advance(a.lists, grid, w)) return false;
        for (u32 i = blockIdx.x; i < w.items[0]; i += gridDim.x) {
            u32 v = fresh(a.queue + i), now = fresh(a.core + v);
            u32 h = h_index<true>(a, v, now, room, t);
            if (threadIdx.x == 0 && h < now) {
                __stcg(a.core + v, h);
                t.changed++;
            }
        }
        if (t.changed != before) atomicOr(moved, 1u);
        if (!advance(a.lists, grid, w)) return false;
        if (fresh(moved) == 0) return true;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) kcore_run(const KcoreArgs a) {
    __shared__ u64 room[THREADS / 32];
    __shared__ u32 stage[THREADS / 32][2 * STAGE];
    Grid grid = {&a.control->barrier, a.abort, a.deadline_ns, 0, 0};
    Work w = {0, {0, 0}, {0, 0}, 0, stage[warp_id()]};
    Tally t = {0, 0};
    if (a.task == PEEL) peel(a, grid, w, t);
    else if (a.task == SWEEP) sweep(a, grid, w, room, t);
    else degrees(a);
    u64 arcs = block_sum(t.arcs, room);
    u64 changed = block_sum(t.changed, room);
    if (threadIdx.x == 0 && arcs) atomicAdd(&a.control->arcs, arcs);
    if (threadIdx.x == 0 && changed) atomicAdd(&a.control->changed, changed);
    if (!grid.stopped) grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        KcoreStatus* out = a.status;
        out->arcs = fresh(&a.control->arcs);
        out->changed = fresh(&a.control->changed);
        out->rounds = w.round;
        out->stopped = grid.stopped;
    }
}
