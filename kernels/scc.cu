// Strongly connected components: every node ends with a member of its component, the same for all of them.
//
// Idea (Multistep). Nodes without in-arcs or without out-arcs among those that are left are components of their
// own and are removed, until there are none. What is reached from the pivot, the node of the most in-arcs times
// out-arcs, and reaches it, is the giant. Then, until nothing is left: remove as before; spread the smallest rank
// forward (`colour`), so that every node knows the first of all nodes that lead to it; the root of a colour has
// its own rank, and its component is what reaches it within the colour. Ranks are scattered, so that a chain of
// components falls apart in logarithmically many stages; colours that met once need not look at each other
// again (`part`).
//
// Every phase ends in a fixpoint that does not depend on the order of work: what is removed, reached or
// coloured in the end is unique. So is `comp`, and replicas that do everything redundantly end with equal bits.
//
// A phase is rounds over lists of nodes, one grid-wide barrier a round (deal.cuh).
//
// Tasks: WHOLE is everything. The others are single phases over the own chunk, for merges between them: a phase
// then ends when the own chunk has nothing left to do.
//
// Source: Slota, Rajamanickam, Madduri, IPDPS 2014 (Multistep: trim, pivot, colouring); Fleischer, Hendrickson, Pinar,
// 2000 (forward-backward); Orzan, 2004 (colouring).
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "deal.cuh"

enum Task {  // @host
    WHOLE = 0,
    START = 1,
    TRIM = 2,
    REACH = 3,
    GIANT = 4,
    PAINT = 5,
    COLOUR = 6,
    ROOTS = 7,
    BACK = 8,
    SETTLE = 9
};

// What is done to an arc (v, u).
enum Kind { COUNT, REMOVE, VISIT, SPREAD, RETURN };

struct SccStatus {  // @host
    u64 arcs;     // looked at by this launch
    u64 changed;  // bits or colours that it set
    u64 left;     // PAINT: nodes that are left
    u64 pivot;    // TRIM: the key of the best pivot among the own nodes, 0 is none
    u32 rounds;
    u32 stopped;
};

struct SccControl {  // @host
    Meeting barrier;
    ListCounts counts;
    u64 pivot;
    u64 arcs, changed, left;
};

struct SccArgs {  // @host
    Lists lists;
    const u32* loops;  // [active] self loops
    u32* comp;         // [active] FULL while it is not known
    u32* colour;       // [active] smallest rank that leads here
    u32* part;         // [active] components lie within nodes of the same
    u32* degrees;      // [2 active] out- and in-arcs that are left; while colours spread: the colour last passed on
    u32* left;         // [words] nodes whose component is not known
    u32* fore;         // [words] reached from the pivot; while colours spread: nodes in the list
    u32* back;         // [words] reach the pivot, or the root of their colour
    u32* done;         // [2 words] own nodes whose arcs have been followed, forward and back
    u32* rest;         // [active] nodes that are left
    u32* queue;        // [2 active]
    SccControl* control;
    SccStatus* status;  // pinned
    const u32* abort;   // pinned
    u64 deadline_ns;
    u32 active;
    u32 lo, hi;  // the chunk
    u32 pivot;   // REACH: where it starts; GIANT: the component
    u32 task;
    u32 unused;
};

#define THREADS 512u  // @host
struct Tally {
    u64 arcs, changed, left;
};

// A bijection that scatters labels.
__device__ __forceinline__ u32 rank_of(u32 v) {
    v *= 0x9e3779b1u;
    v ^= v >> 16;
    return v * 0x85ebca6bu;
}

__device__ __forceinline__ u32 label_of(u32 rank) {
    rank *= 0xa5cb9243u;
    rank ^= rank >> 16;
    return rank * 0x0e8b2f51u;
}

__device__ __forceinline__ bool own(const SccArgs& a, u32 v) { return v - a.lo < a.hi - a.lo; }

// What is done to arcs, by kind.
template <u32 KIND>
struct Arcs {
    static const bool LISTS = KIND != COUNT, SPLITS = false;
    const SccArgs& a;
    Tally& t;

    __device__ __forceinline__ Value value(u32 v, bool listed) const {
        Value value = {0, 0, true};
        if (KIND == COUNT) value.follow = has(a.left, v);
        if (KIND == SPREAD && listed) {
            // First out of the list, then the colour: one that is set later lists v again.
            take(a.fore, v);
            __threadfence();
        }
        if (KIND == COUNT || KIND == REMOVE || KIND == SPREAD) value.part = fresh(a.part + v);
        if (KIND == SPREAD || KIND == RETURN) value.key = fresh(a.colour + v);
        return value;
    }

    __device__ __forceinline__ bool visit(u32 v, u32 u, const Value& value, u32 dir) const {
        // Of the many arcs of the giant most lead to what has been reached.
        if (KIND == VISIT && had(dir ? a.back : a.fore, u)) return false;
        if (!had(a.left, u)) return false;
        if (KIND == COUNT) {
            if (u != v && fresh(a.part + u) == value.part) atomicAdd(a.degrees + (u64)dir * a.active + v, 1u);
            return false;
        } else if (KIND == REMOVE) {
            if (u == v || !own(a, u) || fresh(a.part + u) != value.part) return false;
            // An arc out of v is one into u.
            u32* degree = a.degrees + (u64)(1 - dir) * a.active + u;
            if (atomicSub(degree, 1u) != 1u || !take(a.left, u)) return false;
            __stcg(a.comp + u, u);
            t.changed++;
            return true;
        } else if (KIND == VISIT) {
            u32* reached = dir ? a.back : a.fore;
            if (has(reached, u) || !put(reached, u)) return false;
            t.changed++;
            return own(a, u);
        } else if (KIND == SPREAD) {
            if (fresh(a.part + u) != value.part || fresh(a.colour + u) <= value.key) return false;
            if (atomicMin(a.colour + u, value.key) <= value.key) return false;
            t.changed++;
            if (!own(a, u)) return false;
            __threadfence();
            return put(a.fore, u);
        } else {
            if (fresh(a.colour + u) != value.key || has(a.back, u) || !put(a.back, u)) return false;
            t.changed++;
            return own(a, u);
        }
    }
};

// The arcs of a round, found nodes appended as deal.cuh says.
template <u32 KIND>
__device__ void expand(const SccArgs& a, const Work& w, u32 dir, const u32* list, u32 base, u32 count, u32 q,
                       u32* into, Tally& t) {
    Arcs<KIND> arcs = {a, t};
    expand(a.lists, w, arcs, dir, list, base, count, q, into, t.arcs);
}

template <u32 KIND>
__device__ void expand_tiles(const SccArgs& a, const Work& w, bool apart, u32* into, u32* into_back, Tally& t) {
    Arcs<KIND> arcs = {a, t};
    expand_tiles(a.lists, w, arcs, apart, into, into_back, t.arcs);
}

// Where list q of this round begins, and where the next one will.
__device__ __forceinline__ u32* list_now(const SccArgs& a, const Work& w, u32 q) {
    return a.queue + (u64)q * a.active + w.begin[q];
}
__device__ __forceinline__ u32* list_next(const SccArgs& a, const Work& w, u32 q) {
    return list_now(a, w, q) + w.items[q];
}

// All nodes are left. Where `trim`, those without in- or out-arcs are removed at once, and listed.
__device__ void start(const SccArgs& a, Work& w, bool trim, Tally& t) {
    u32 words = (a.active + 31) / 32, warps = gridDim.x * (blockDim.x >> 5);
    Append ends(a.lists, w, 0, list_next(a, w, 0));
    for (u64 i = blockIdx.x * (blockDim.x >> 5) + warp_id(); i < words; i += warps) {
        u32 v = (u32)i * 32 + lane_id();
        bool alone = false;
        if (v < a.active) {
            u32 loops = __ldg(a.loops + v);
            u32 out = (u32)(__ldg(a.lists.out_offsets + v + 1) - __ldg(a.lists.out_offsets + v)) - loops;
            u32 into = (u32)(__ldg(a.lists.in_offsets + v + 1) - __ldg(a.lists.in_offsets + v)) - loops;
            alone = trim && (out == 0 || into == 0);
            __stcg(a.degrees + v, out);
            __stcg(a.degrees + (u64)a.active + v, into);
            __stcg(a.comp + v, alone ? v : FULL);
            __stcg(a.part + v, 0u);
        }
        u32 left = __ballot_sync(FULL, v < a.active && !alone);
        if (lane_id() == 0) {
            __stcg(a.left + i, left);
            __stcg(a.fore + i, 0u);
            __stcg(a.back + i, 0u);
            __stcg(a.done + i, 0u);
            __stcg(a.done + words + i, 0u);
        }
        ends.add(alone, v);
    }
    ends.flush();
}

// Nodes that are left, and their zeroed degrees, in `rest`.
__device__ void collect(const SccArgs& a, const Work& w) {
    u32 words = (a.active + 31) / 32, lane = lane_id();
    u64 stride = (u64)gridDim.x * blockDim.x;
    Append rest(a.lists, w, 0, a.rest);
    for (u64 first = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 32; first < words; first += stride) {
        u32 word = first + lane < words ? fresh(a.left + first + lane) : 0;
        u32 some = __ballot_sync(FULL, word != 0);
        while (some) {
            u32 k = (u32)__ffs((int)some) - 1;
            some &= some - 1;
            u32 bits = __shfl_sync(FULL, word, k);
            u32 v = ((u32)first + k) * 32 + lane;
            bool mine = bits >> lane & 1u;
            if (mine) {
                __stcg(a.degrees + v, 0u);
                __stcg(a.degrees + (u64)a.active + v, 0u);
            }
            rest.add(mine, v);
        }
    }
    rest.flush();
}

// Counts the arcs that are left of such nodes.
__device__ bool count_arcs(const SccArgs& a, Grid& grid, Work& w, const u32* list, u32 base, u32 count, Tally& t) {
    w.anew();
    expand<COUNT>(a, w, 0, list, base, count, 0, a.queue, t);
    expand<COUNT>(a, w, 1, list, base, count, 0, a.queue, t);
    if (!advance(a.lists, grid, w)) return false;
    if (w.tiles == 0) return true;
    expand_tiles<COUNT>(a, w, false, a.queue, a.queue, t);
    return advance(a.lists, grid, w);
}

// Begins list `to` with those of the nodes, of `list` or from `base` on, that pick(node) takes.
template <class Pick>
__device__ __forceinline__ void begin_list(const SccArgs& a, Work& w, const u32* list, u32 base, u32 count,
                                           u32* to, Pick pick) {
    u32 lane = lane_id();
    u64 stride = (u64)gridDim.x * blockDim.x;
    Append picked(a.lists, w, 0, to);
    for (u64 first = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 32; first < count; first += stride) {
        u32 v = 0;
        bool mine = false;
        if (first + lane < count) {
            v = list ? fresh(list + first + lane) : base + (u32)first + lane;
            mine = pick(v);
        }
        __syncwarp();
        picked.add(mine, v);
    }
    picked.flush();
}

// Removes and lists such nodes that have none.
__device__ void trim_ends(const SccArgs& a, Work& w, const u32* list, u32 base, u32 count, Tally& t) {
    w.anew();
    begin_list(a, w, list, base, count, list_next(a, w, 0), [&](u32 v) {
        bool end = fresh(a.degrees + v) == 0 || fresh(a.degrees + (u64)a.active + v) == 0;
        bool mine = end && has(a.left, v) && take(a.left, v);
        if (mine) {
            __stcg(a.comp + v, v);
            t.changed++;
        }
        return mine;
    });
}

// Removes what that leaves without in- or out-arcs, until nothing is removed.
__device__ bool trim_on(const SccArgs& a, Grid& grid, Work& w, Tally& t) {
    for (;;) {
        if (!advance(a.lists, grid, w)) return false;
        if (!w.any()) return true;
        u32 *now = list_now(a, w, 0), *next = list_next(a, w, 0);
        expand<REMOVE>(a, w, 0, now, 0, w.items[0], 0, next, t);
        expand<REMOVE>(a, w, 1, now, 0, w.items[0], 0, next, t);
        expand_tiles<REMOVE>(a, w, false, next, next, t);
    }
}

// The best pivot among the own nodes.
__device__ void choose(const SccArgs& a) {
    u64 best = 0;
    for (u64 i = (u64)a.lo + blockIdx.x * blockDim.x + threadIdx.x; i < a.hi; i += gridDim.x * blockDim.x) {
        u32 v = (u32)i;
        if (!has(a.left, v)) continue;
        float product = (float)fresh(a.degrees + v) * (float)fresh(a.degrees + (u64)a.active + v);
        u64 key = (u64)__float_as_uint(product) << 32 | (u32)~v;
        if (key > best) best = key;
    }
    __syncwarp();
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) {
        u64 other = __shfl_xor_sync(FULL, best, step);
        if (other > best) best = other;
    }
    if (lane_id() == 0 && best != 0) atomicMax(&a.control->pivot, best);
}

// Lists own nodes that have been reached since, then goes on from them, both ways at once.
__device__ bool reach(const SccArgs& a, Grid& grid, Work& w, u32 pivot, Tally& t) {
    u32 words = (a.active + 31) / 32, warps = gridDim.x * (blockDim.x >> 5);
    w.anew();
    Append ahead(a.lists, w, 0, list_next(a, w, 0)), behind(a.lists, w, 1, list_next(a, w, 1));
    for (u64 i = a.lo / 32 + blockIdx.x * (blockDim.x >> 5) + warp_id(); i < (a.hi + 31) / 32; i += warps) {
        u32 v = (u32)i * 32 + lane_id();
        u32 fore = fresh(a.fore + i), back = fresh(a.back + i);
        if (pivot / 32 == (u32)i && !(fore >> (pivot & 31u) & 1u)) {
            // The pivot is its owner's to set.
            fore |= 1u << (pivot & 31u);
            back |= 1u << (pivot & 31u);
            __syncwarp();
            if (lane_id() == 0) {
                __stcg(a.fore + i, fore);
                __stcg(a.back + i, back);
                t.changed++;
            }
        }
        ahead.add((fore & ~fresh(a.done + i)) >> lane_id() & 1u, v);
        behind.add((back & ~fresh(a.done + words + i)) >> lane_id() & 1u, v);
    }
    ahead.flush();
    behind.flush();
    for (;;) {
        if (!advance(a.lists, grid, w)) return false;
        if (!w.any()) break;
        u32 *next = list_next(a, w, 0), *next_back = list_next(a, w, 1);
        expand<VISIT>(a, w, 0, list_now(a, w, 0), 0, w.items[0], 0, next, t);
        expand<VISIT>(a, w, 1, list_now(a, w, 1), 0, w.items[1], 1, next_back, t);
        expand_tiles<VISIT>(a, w, true, next, next_back, t);
    }
    for (u64 i = a.lo / 32 + blockIdx.x * blockDim.x + threadIdx.x; i < (a.hi + 31) / 32;
         i += gridDim.x * blockDim.x) {
        __stcg(a.done + i, fresh(a.fore + i));
        __stcg(a.done + words + i, fresh(a.back + i));
    }
    return true;
}

// The pivot's component, and the parts that components of the others lie in.
__device__ void giant(const SccArgs& a, u32 pivot) {
    u32 words = (a.active + 31) / 32, warps = gridDim.x * (blockDim.x >> 5), lane = lane_id();
    for (u64 i = blockIdx.x * (blockDim.x >> 5) + warp_id(); i < words; i += warps) {
        u32 v = (u32)i * 32 + lane;
        u32 left = fresh(a.left + i), fore = fresh(a.fore + i), back = fresh(a.back + i);
        u32 in = left & fore & back;
        if (in >> lane & 1u) __stcg(a.comp + v, pivot);
        else if (left >> lane & 1u) __stcg(a.part + v, (fore >> lane & 1u) | (back >> lane & 1u) << 1);
        __syncwarp();
        if (lane == 0) {
            __stcg(a.left + i, left & ~in);
            __stcg(a.fore + i, 0u);
            __stcg(a.back + i, 0u);
            __stcg(a.done + i, 0u);
            __stcg(a.done + words + i, 0u);
        }
    }
}

// Everybody's colour is its own rank, which nobody has been told.
__device__ __forceinline__ void paint(const SccArgs& a, u32 v, Tally& t) {
    bool left = has(a.left, v);
    __stcg(a.colour + v, left ? rank_of(v) : FULL);
    __stcg(a.degrees + v, FULL);
    t.left += left;
    // Others have removed it.
    if (!left && fresh(a.comp + v) == FULL) __stcg(a.comp + v, v);
}

// Lists such nodes whose colour others have not been told, then spreads colours.
__device__ bool colour(const SccArgs& a, Grid& grid, Work& w, const u32* list, u32 base, u32 count, Tally& t) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    w.anew();
    u32* to = a.queue + (u64)((w.round + 1) & 1u) * a.active;
    begin_list(a, w, list, base, count, to, [&](u32 v) {
        if (list) paint(a, v, t);
        return has(a.left, v) && fresh(a.colour + v) != fresh(a.degrees + v) && put(a.fore, v);
    });
    for (;;) {
        if (!advance(a.lists, grid, w)) return false;
        if (!w.any()) break;
        // A node may come again: the lists of even and odd rounds take turns.
        u32* now = a.queue + (u64)(w.round & 1u) * a.active;
        u32* next = a.queue + (u64)((w.round + 1) & 1u) * a.active;
        expand<SPREAD>(a, w, 0, now, 0, w.items[0], 0, next, t);
        expand_tiles<SPREAD>(a, w, false, next, next, t);
    }
    if (list) return true;
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        __stcg(a.degrees + base + i, fresh(a.colour + base + i));
    return true;
}

__device__ __forceinline__ void mark_root(const SccArgs& a, u32 v) {
    if (has(a.left, v) && fresh(a.colour + v) == rank_of(v)) put(a.back, v);
}

// Lists such nodes that are known to reach their root, then finds the others.
__device__ bool come_back(const SccArgs& a, Grid& grid, Work& w, const u32* list, u32 base, u32 count, Tally& t) {
    u32 words = (a.active + 31) / 32;
    u64 stride = (u64)gridDim.x * blockDim.x;
    w.anew();
    begin_list(a, w, list, base, count, list_next(a, w, 0), [&](u32 v) {
        if (list) mark_root(a, v);
        return has(a.left, v) && has(a.back, v) && !has(a.done + words, v);
    });
    for (;;) {
        if (!advance(a.lists, grid, w)) return false;
        if (!w.any()) break;
        u32* next = list_next(a, w, 0);
        expand<RETURN>(a, w, 1, list_now(a, w, 0), 0, w.items[0], 0, next, t);
        expand_tiles<RETURN>(a, w, false, next, next, t);
    }
    if (list) return true;
    for (u64 i = base / 32 + blockIdx.x * blockDim.x + threadIdx.x; i < (base + count + 31) / 32; i += stride)
        __stcg(a.done + words + i, fresh(a.back + i));
    return true;
}

// Those that reach their root are its component; colours are parts of the others.
__device__ __forceinline__ void settle(const SccArgs& a, u32 v) {
    if (!has(a.left, v)) return;
    u32 colour = fresh(a.colour + v);
    if (has(a.back, v)) {
        __stcg(a.comp + v, label_of(colour));
        take(a.left, v);
    } else {
        __stcg(a.part + v, colour);
    }
}

// One stage of colouring over what is left; `more` says whether anything was.
__device__ bool stage(const SccArgs& a, Grid& grid, Work& w, bool& more, Tally& t) {
    w.anew();
    collect(a, w);
    if (!advance(a.lists, grid, w)) return false;
    u32 count = w.items[0];
    more = count != 0;
    if (!more) return true;
    if (!count_arcs(a, grid, w, a.rest, 0, count, t)) return false;
    trim_ends(a, w, a.rest, 0, count, t);
    if (!trim_on(a, grid, w, t)) return false;
    if (!colour(a, grid, w, a.rest, 0, count, t)) return false;
    if (!come_back(a, grid, w, a.rest, 0, count, t)) return false;
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        settle(a, fresh(a.rest + i));
    return advance(a.lists, grid, w);
}

__device__ bool whole(const SccArgs& a, Grid& grid, Work& w, Tally& t) {
    start(a, w, true, t);
    if (!trim_on(a, grid, w, t)) return false;
    choose(a);
    if (!advance(a.lists, grid, w)) return false;
    u64 key = fresh(&a.control->pivot);
    if (key == 0) return true;
    u32 pivot = ~(u32)key;
    if (!reach(a, grid, w, pivot, t)) return false;
    if (!advance(a.lists, grid, w)) return false;
    giant(a, pivot);
    if (!advance(a.lists, grid, w)) return false;
    for (bool more = true; more;)
        if (!stage(a, grid, w, more, t)) return false;
    return true;
}

// TRIM of the own chunk, and the best pivot that it leaves.
__device__ bool trim(const SccArgs& a, Grid& grid, Work& w, Tally& t) {
    for (u64 i = (u64)a.lo + blockIdx.x * blockDim.x + threadIdx.x; i < a.hi; i += gridDim.x * blockDim.x) {
        __stcg(a.degrees + i, 0u);
        __stcg(a.degrees + (u64)a.active + i, 0u);
    }
    if (!advance(a.lists, grid, w)) return false;
    if (!count_arcs(a, grid, w, 0, a.lo, a.hi - a.lo, t)) return false;
    trim_ends(a, w, 0, a.lo, a.hi - a.lo, t);
    if (!trim_on(a, grid, w, t)) return false;
    choose(a);
    return true;
}

__device__ void single(const SccArgs& a, Grid& grid, Work& w, Tally& t) {
    u64 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    u32 own_nodes = a.hi - a.lo;
    if (a.task == START) start(a, w, false, t);
    else if (a.task == TRIM) trim(a, grid, w, t);
    else if (a.task == REACH) reach(a, grid, w, a.pivot, t);
    else if (a.task == GIANT) giant(a, a.pivot);
    else if (a.task == COLOUR) colour(a, grid, w, 0, a.lo, own_nodes, t);
    else if (a.task == BACK) come_back(a, grid, w, 0, a.lo, own_nodes, t);
    else
        for (u64 i = thread; i < a.active; i += threads) {
            if (a.task == PAINT) paint(a, (u32)i, t);
            else if (a.task == ROOTS) mark_root(a, (u32)i);
            else settle(a, (u32)i);
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) scc_run(const SccArgs a) {
    __shared__ u64 room[THREADS / 32];
    __shared__ u32 stage[THREADS / 32][2 * STAGE];
    Grid grid = {&a.control->barrier, a.abort, a.deadline_ns, 0, 0};
    Work w = {0, {0, 0}, {0, 0}, 0, stage[warp_id()]};
    Tally t = {0, 0, 0};
    if (a.task == WHOLE) whole(a, grid, w, t);
    else single(a, grid, w, t);
    u64 arcs = block_sum(t.arcs, room);
    u64 changed = block_sum(t.changed, room);
    u64 left = block_sum(t.left, room);
    if (threadIdx.x == 0 && arcs) atomicAdd(&a.control->arcs, arcs);
    if (threadIdx.x == 0 && changed) atomicAdd(&a.control->changed, changed);
    if (threadIdx.x == 0 && left) atomicAdd(&a.control->left, left);
    if (!grid.stopped) grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        SccStatus* out = a.status;
        out->arcs = fresh(&a.control->arcs);
        out->changed = fresh(&a.control->changed);
        out->left = fresh(&a.control->left);
        out->pivot = fresh(&a.control->pivot);
        out->rounds = w.round;
        out->stopped = grid.stopped;
    }
}

struct LoopArgs {  // @host
    const offset_t* offsets;
    const u32* columns;
    u32* loops;
    u32 active;
    u32 unused;
};

// loops[v] = arcs from v to itself. Rows rise.
extern "C" __global__ void scc_loops(const LoopArgs a) {
    u32 threads = gridDim.x * blockDim.x;
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.active; i += threads) {
        u32 v = (u32)i;
        u64 from = a.offsets[v], end = a.offsets[v + 1], to = end;
        while (from < to) {
            u64 middle = (from + to) / 2;
            if (a.columns[middle] < v) from = middle + 1;
            else to = middle;
        }
        u32 loops = 0;
        while (from + loops < end && a.columns[from + loops] == v) loops++;
        a.loops[v] = loops;
    }
}
