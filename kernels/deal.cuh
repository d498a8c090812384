// Rounds over lists of nodes, their arcs dealt to all lanes: what kernels of few launches and many rounds share.
//
// A warp takes 32 nodes of a list and deals their arcs to its lanes; rows from LONG arcs on are cut into tiles, which any
// warp takes in the next round. What is found is appended to the next round's lists. One grid-wide barrier a round,
// whose counters take turns by three: one is read, one is written, one is cleared.
//
// Found nodes wait in shared memory until there are enough of them: one address counts all of a list's, and adds about one
// a nanosecond.
//
// What is done is a visitor's: `value(v, listed)` is what a node brings to its arcs (`listed` where it stands in a list
// rather than in a tile), `visit(v, u, value, dir)` is for each arc, out of v when `dir` is 0 and into v when it is 1, and
// says whether u is to be listed. LISTS is false where it never is; SPLITS is true where several warps may ask for the
// value of one node of a list, and get the same.
//
// Source: Merrill, Garland, Grimshaw, "Scalable GPU graph traversal", PPoPP 2012 (gathering by prefix sums).
#pragma once

#include "hive.cuh"

#define TILE 1024u  // @host arcs
#define LONG 1024u  // arcs from which a row is cut into tiles
#define STAGE 128u  // nodes of a list that wait for others, a warp

// Entries of the lists and of the tiles, of this round, the next and the last.
struct ListCounts {  // @host
    u32 front[3][2];
    u32 tiles[3];
    u32 unused;
};

// A graph, and where tiles are listed.
struct Lists {  // @host
    const offset_t* out_offsets;
    const u32* out_columns;
    const offset_t* in_offsets;
    const u32* in_columns;
    ListCounts* counts;
    u64* tiles;  // [2 tile_room]
    u64 tile_room;

    __device__ const offset_t* offsets(u32 dir) const { return dir ? in_offsets : out_offsets; }
    __device__ const u32* columns(u32 dir) const { return dir ? in_columns : out_columns; }
};

// Where all threads are. Uniform over the grid, but for `stage`.
struct Work {
    u32 round;
    u32 items[2];  // entries of this round, of the two lists
    u32 begin[2];  // where they begin
    u32 tiles;
    u32* stage;  // shared: [2 STAGE] of the own warp's

    __device__ u32 now() const { return round % 3; }
    __device__ u32 next() const { return (round + 1) % 3; }
    // Lists begin anew; those of this round have been worked off.
    __device__ void anew() { items[0] = items[1] = begin[0] = begin[1] = 0; }
    __device__ bool any() const { return items[0] | items[1] | tiles; }
};

// What a node brings to its arcs: two numbers of the visitor's, and whether they are to be followed.
struct Value {
    u32 key, part;
    bool follow;
};

__device__ __forceinline__ bool has(const u32* bits, u32 v) { return fresh(bits + (v >> 5)) >> (v & 31u) & 1u; }

// The same, perhaps as it was when the round began: through L1, which the barrier has emptied. For bits that change
// one way only; of a hub's word there are millions of reads, and L2 serves them one by one.
__device__ __forceinline__ bool had(const u32* bits, u32 v) { return bits[v >> 5] >> (v & 31u) & 1u; }

// True for the one who set the bit.
__device__ __forceinline__ bool put(u32* bits, u32 v) {
    u32 bit = 1u << (v & 31u);
    return !(atomicOr(bits + (v >> 5), bit) & bit);
}

// True for the one who took it away.
__device__ __forceinline__ bool take(u32* bits, u32 v) {
    u32 bit = 1u << (v & 31u);
    return (atomicAnd(bits + (v >> 5), ~bit) & bit) != 0;
}

// Ends a round: everybody sees the lists that it made.
__device__ bool advance(const Lists& lists, Grid& grid, Work& w) {
    if (!grid.sync()) return false;
    w.round++;
    for (u32 q = 0; q < 2; q++) {
        w.begin[q] += w.items[q];
        w.items[q] = fresh(&lists.counts->front[w.now()][q]);
    }
    w.tiles = fresh(&lists.counts->tiles[w.now()]);
    // The counters of the round before: everybody has read them.
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        u32 old = (w.round + 2) % 3;
        __stcg(&lists.counts->front[old][0], 0u);
        __stcg(&lists.counts->front[old][1], 0u);
        __stcg(&lists.counts->tiles[old], 0u);
    }
    return true;
}

// What a warp appends to list q of the next round, which begins at `into`. All lanes call it with the same.
struct Append {
    const Lists& lists;
    const Work& w;
    u32 q;
    u32* into;
    u32* slots;
    u32 held;

    __device__ Append(const Lists& lists, const Work& w, u32 q, u32* into)
        : lists(lists), w(w), q(q), into(into), slots(w.stage + q * STAGE), held(0) {}

    __device__ __forceinline__ void add(bool mine, u32 v) {
        u32 votes = __ballot_sync(FULL, mine);
        if (votes == 0) return;
        if (mine) slots[held + __popc(votes & ((1u << lane_id()) - 1u))] = v;
        held += __popc(votes);
        if (held > STAGE - 32) flush();
    }

    // What still waits. Before the round ends.
    __device__ void flush() {
        if (held == 0) return;
        __syncwarp();
        u32 first = 0;
        if (lane_id() == 0) first = atomicAdd(&lists.counts->front[w.next()][q], held);
        first = __shfl_sync(FULL, first, 0);
        for (u32 i = lane_id(); i < held; i += 32) __stcg(into + first + i, slots[i]);
        __syncwarp();
        held = 0;
    }

    // Goes on with another list.
    __device__ void turn(u32 other, u32* to) {
        flush();
        q = other;
        into = to;
    }
};

// The arcs, in one direction, of `count` nodes: those of a list, or, where it is NULL, from `base` on. What is found is
// appended to list q at `into`.
template <class Visitor>
__device__ void expand(const Lists& lists, const Work& w, Visitor& visitor, u32 dir, const u32* list, u32 base,
                       u32 count, u32 q, u32* into, u64& arcs) {
    const offset_t* offsets = lists.offsets(dir);
    const u32* columns = lists.columns(dir);
    Append append(lists, w, q, into);
    u64* tiles = lists.tiles + (u64)((w.round + 1) & 1u) * lists.tile_room;
    u32 lane = lane_id(), per_block = blockDim.x >> 5;
    // A short list is dealt to all warps, fewer nodes each, and then parts of rows: a round takes as long as its
    // longest warp.
    u64 warps = (u64)gridDim.x * per_block, width = min((count + warps - 1) / warps, (u64)32);
    u32 parts = Visitor::SPLITS && width == 1 ? (u32)(warps / count) : 1;
    u64 jobs = width ? (count + width - 1) / width * parts : 0;
    for (u64 job = blockIdx.x * per_block + warp_id(); job < jobs; job += warps) {
        u64 first = job / parts * width;
        u32 part = (u32)(job % parts);
        u32 v = 0;
        u64 from = 0, row = 0;
        Value value = {0, 0, false};
        if (lane < width && first + lane < count) {
            v = list ? fresh(list + first + lane) : base + (u32)first + lane;
            value = visitor.value(v, true);
            if (value.follow) {
                from = __ldg(offsets + v);
                row = (u64)__ldg(offsets + v + 1) - from;
            }
        }
        bool cut = row >= (u64)LONG * parts;
        u32 cuts = cut && part == 0 ? (u32)((row + TILE - 1) / TILE) : 0;
        u32 cuts_end = warp_scan(cuts), all_cuts = __shfl_sync(FULL, cuts_end, 31);
        if (all_cuts != 0) {
            u32 place = 0;
            if (lane == 0) place = atomicAdd(&lists.counts->tiles[w.next()], all_cuts);
            place = __shfl_sync(FULL, place, 0) + cuts_end - cuts;
            for (u32 k = 0; k < cuts; k++) __stcg(tiles + place + k, (u64)dir << 63 | (u64)k << 32 | v);
        }
        u32 length = cut ? 0 : (u32)row;
        u32 end = warp_scan(length), total = __shfl_sync(FULL, end, 31);
        u64 shift = from - (end - length);  // plus an arc's number in the warp: its place in `columns`
        if (lane == 0 && part == 0) arcs += total;
        for (u32 at = part * 32; at < total; at += parts * 32) {
            u32 i = at + lane, owner = 0;
#pragma unroll
            for (u32 step = 16; step > 0; step >>= 1) {
                u32 probe = __shfl_sync(FULL, end, owner + step - 1);
                if (probe <= i) owner += step;
            }
            u32 tail = __shfl_sync(FULL, v, owner);
            u64 offset = __shfl_sync(FULL, shift, owner);
            Value brought;
            brought.key = __shfl_sync(FULL, value.key, owner);
            brought.part = __shfl_sync(FULL, value.part, owner);
            brought.follow = true;
            bool found = false;
            u32 u = 0;
            if (i < total) {
                u = __ldg(columns + offset + i);
                found = visitor.visit(tail, u, brought, dir);
            }
            if (Visitor::LISTS) append.add(found, u);
        }
    }
    append.flush();
}

// The tiles of this round. What is found is appended to list 0, or to that of the direction where `apart`.
template <class Visitor>
__device__ void expand_tiles(const Lists& lists, const Work& w, Visitor& visitor, bool apart, u32* into,
                             u32* into_back, u64& arcs) {
    const u64* tiles = lists.tiles + (u64)(w.round & 1u) * lists.tile_room;
    u32 lane = lane_id(), per_block = blockDim.x >> 5;
    u64 warps = (u64)gridDim.x * per_block;
    Append append(lists, w, 0, into);
    for (u64 i = blockIdx.x * per_block + warp_id(); i < w.tiles; i += warps) {
        u64 tile = fresh(tiles + i);
        u32 v = (u32)tile, dir = (u32)(tile >> 63), k = (u32)(tile >> 32) & 0x7fffffffu;
        const offset_t* offsets = lists.offsets(dir);
        const u32* columns = lists.columns(dir);
        // One lane's, since it may change under the warp.
        Value value = {0, 0, true};
        if (lane == 0) value = visitor.value(v, false);
        value.key = __shfl_sync(FULL, value.key, 0);
        value.part = __shfl_sync(FULL, value.part, 0);
        u64 from = (u64)__ldg(offsets + v) + (u64)k * TILE, to = __ldg(offsets + v + 1);
        if (to > from + TILE) to = from + TILE;
        if (lane == 0) arcs += to - from;
        if (apart && append.q != dir) append.turn(dir, dir ? into_back : into);
        for (u64 at = from; at < to; at += 32) {
            bool found = false;
            u32 u = 0;
            if (at + lane < to) {
                u = __ldg(columns + at + lane);
                found = visitor.visit(v, u, value, dir);
            }
            if (Visitor::LISTS) append.add(found, u);
        }
    }
    append.flush();
}
