// Shortest paths on graphs of small degrees and long paths, tile by tile.
//
// Idea. Such a graph has thousands of small frontiers, so that time goes by latency. A block takes a tile (tiles.cu) into
// shared memory and registers, a thread a node. Each thread pulls from its neighbours in the tile, again and again, until
// nothing changes: a step along a path costs a tenth of a microsecond, not a meeting of all blocks. Then the block lowers the
// distances of neighbours in other tiles, and these tiles enter a queue. There is no barrier. A block that is free claims the
// next entry of the queue and waits until somebody fills it.
//
// Distances go by windows: nodes below `threshold` are worked off, others wait, so that few nodes are worked off at distances
// that fall later. The block after which no tile is queued or in work finds the smallest waiting distance, moves the threshold
// `delta` beyond it, and queues the tiles that now have work.
//
// Invariant. `keys[t]` is at most the smallest distance in tile t at which a node waits: below the threshold exactly if the
// tile is in the queue, as whoever lowers it under the threshold queues the tile. Whoever takes the tile first sets the key to
// infinity and then reads distances. A block is responsible for all it lowers: it relaxes the arcs out of these nodes, or
// leaves them waiting with a key that says so. So two blocks may work on one tile at once, where it was queued again meanwhile.
// `done[i]` is a distance at which the arcs of slot i to other tiles have been relaxed, or are by a block at work.
//
// Distances are the bits of f32 or f64, or levels. Thresholds and keys are *marks*: a distance itself, of f64 its upper word.
// That rounds a key down and a threshold to a part in 2^20, and moves work between windows; distances keep all their bits.
//
// Source: near-far of Davidson, Baxter, Garland, Owens, IPDPS 2014, section 4, by parts of a graph as in Galois's and Groute's
// asynchronous schedules (Ben-Nun, Sutton, Pai, Pingali, PPoPP 2017).
//
// Compiled with: -DHIVE_LEVELS=0 | -DHIVE_LEVELS=1 | -DHIVE_DOUBLE=1

#include "tile_queue.cuh"

#ifndef HIVE_DOUBLE
#define HIVE_DOUBLE 0
#endif

#define PASSES 4u       // pulls between two looks whether anything changed
#define CROSSING 1024u  // arcs to other tiles that are gathered; further ones are relaxed one by one
#define TILE_SHARED 10496u         // @host bytes of TileShared, rounded up
#define TILE_SHARED_DOUBLE 16640u  // @host the same in f64

#if HIVE_DOUBLE
#define TILE_BLOCKS 2u
typedef u64 dist_t;
// Both words of INFINITE: more than weights of f32 can sum up to.
static const dist_t NO_DISTANCE = 0x7f8000007f800000ull;

__device__ __forceinline__ u32 mark(dist_t distance) { return (u32)(distance >> 32); }

__device__ __forceinline__ dist_t further(dist_t from, double weight) {
    return (u64)__double_as_longlong(__longlong_as_double((long long)from) + weight);
}

__device__ __forceinline__ u32 end_of_window(u32 lowest, float delta) {
    return min(max(mark(further((u64)lowest << 32, delta)), lowest + 1), INFINITE);
}
#else
#define TILE_BLOCKS 3u
typedef u32 dist_t;
static const dist_t NO_DISTANCE = INFINITE;

__device__ __forceinline__ u32 mark(dist_t distance) { return distance; }

__device__ __forceinline__ dist_t further(dist_t from, float weight) { return relaxed_distance(from, weight); }

__device__ __forceinline__ u32 end_of_window(u32 lowest, float delta) {
    return max(advanced(lowest, delta), lowest + 1);
}
#endif

struct TileStatus {  // @host
    u64 looked;
    u64 visits;
    u32 windows;
    u32 stopped;
};

struct TileArgs {  // @host
    const Tile* tiles;
    const uint4* heads;
    const float4* weights;
    const u32* rests;  // [nodes + 1]
    const u32* rest;
    const float* rest_weights;
    const u32* slot_of;
    const u32* tile_of;
    dist_t* near;  // [nodes] distances, by slot
    dist_t* done;  // [nodes] by slot
    u32* keys;     // [tiles, rounded up to four]
    dist_t* dist;  // [nodes] by node, or NULL where it is not wanted
    TileStatus* status;  // pinned
    RoundLog* log;       // pinned, or NULL
    TileQueue queue;     // entries say the threshold
    const u32* seeds;  // nodes; or NULL, and `source` is the one
    u32 seed_count, source;
    u32 count;  // tiles
    u32 nodes;
    u32 unreached;  // what `dist` says of nodes that are not reached, or its upper word
    float delta;
};

struct TileShared {
    dist_t near[TILE_NODES + 1];  // distances below the threshold; the last is for neighbours in other tiles
    dist_t offered[CROSSING];     // what slots in other tiles are offered
    u32 outside[CROSSING];        // and these
    Tile tile;
    u64 entry;
    u32 lowest, gathered, last;
};

static_assert(sizeof(TileShared) <= (HIVE_DOUBLE ? TILE_SHARED_DOUBLE : TILE_SHARED),
              "the host asks for this much, and for the arcs beyond four");

// Offers a distance to a node of another tile.
__device__ __forceinline__ void offer(const TileArgs& a, u32 threshold, u32 slot, dist_t distance) {
    u32 tile = __ldg(a.tile_of + slot);
    if (distance >= atomicMin(a.near + slot, distance)) return;
    __threadfence();
    u32 own = mark(distance), before = atomicMin(a.keys + tile, own);
    if (own < threshold && before >= threshold) a.queue.enter_tile(tile, threshold);
}

// The next window, by a whole block. Returns whether all its tiles have been worked off meanwhile.
__device__ bool advance(const TileArgs& a, TileShared& s) {
    __threadfence();
    if (threadIdx.x == 0) s.lowest = INFINITE;
    __syncthreads();
    const uint4* keys = (const uint4*)a.keys;
    u32 quads = (a.count + 3) / 4, best = INFINITE;
#pragma unroll 8
    for (u32 i = threadIdx.x; i < quads; i += TILE_NODES) {
        uint4 four = __ldcg(keys + i);
        best = min(best, min(min(four.x, four.y), min(four.z, four.w)));
    }
    best = warp_min(best);
    if (lane_id() == 0) atomicMin(&s.lowest, best);
    __syncthreads();
    best = s.lowest;
    __syncthreads();
    if (a.log && threadIdx.x == 0) {
        // The window that has ended.
        u32 window = fresh(&a.queue.control->windows);
        if (window < LOG_ENTRIES) a.log[window] = {clock_ns(), ROUND_WINDOW, 0, 0};
    }
    if (best == INFINITE) {
        a.queue.close();
        return false;
    }
    u32 threshold = end_of_window(best, a.delta);
    if (threadIdx.x == 0) {
        atomicAdd(&a.queue.control->windows, 1u);
        // The window does not end before all its tiles are in the queue.
        atomicAdd(&a.queue.control->busy, 1u);
        __threadfence();
    }
    __syncthreads();
#pragma unroll 8
    for (u32 i = threadIdx.x; i < quads; i += TILE_NODES) {
        uint4 four = __ldcg(keys + i);
        if (min(min(four.x, four.y), min(four.z, four.w)) >= threshold) continue;
        if (four.x < threshold) a.queue.enter_tile(4 * i, threshold);
        if (four.y < threshold) a.queue.enter_tile(4 * i + 1, threshold);
        if (four.z < threshold) a.queue.enter_tile(4 * i + 2, threshold);
        if (four.w < threshold) a.queue.enter_tile(4 * i + 3, threshold);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) s.last = a.queue.leave();
    __syncthreads();
    return s.last;
}

// Works the tile in `s` off. Returns the arcs that it has looked at, by thread 0.
__device__ u64 visit(const TileArgs& a, TileShared& s, u32* rest, float* rest_weights) {
    const Tile tile = s.tile;
    const u32 i = threadIdx.x, slot = tile.first + i, threshold = (u32)(s.entry >> 32);
    const bool mine = i < tile.size;
    dist_t began = NO_DISTANCE, own = NO_DISTANCE, done = NO_DISTANCE;
    u32 from = 0, to = 0;
    // Neighbours as places in s.near, and as slots.
    u32 place[HEAD] = {i, i, i, i}, head[HEAD] = {slot, slot, slot, slot};
    float weight[HEAD] = {0.0f, 0.0f, 0.0f, 0.0f};
    bool crosses = false;
    if (mine) {
        began = own = fresh(a.near + slot);
        done = fresh(a.done + slot);
        uint4 four = __ldg(a.heads + slot);
        head[0] = four.x, head[1] = four.y, head[2] = four.z, head[3] = four.w;
#if !HIVE_LEVELS
        float4 of_four = __ldg(a.weights + slot);
        weight[0] = of_four.x, weight[1] = of_four.y, weight[2] = of_four.z, weight[3] = of_four.w;
#endif
        if (tile.more > 0) {
            from = __ldg(a.rests + slot) - tile.rest;
            to = __ldg(a.rests + slot + 1) - tile.rest;
        }
#pragma unroll
        for (u32 k = 0; k < HEAD; k++) {
            place[k] = min(head[k] - tile.first, tile.size);
            crosses |= place[k] == tile.size;
        }
        s.near[i] = mark(own) < threshold ? own : NO_DISTANCE;
    }
    if (i == 0) s.near[tile.size] = NO_DISTANCE;
    for (u32 k = i; k < tile.more; k += TILE_NODES) {
        rest[k] = min(__ldg(a.rest + tile.rest + k) - tile.first, tile.size);
#if !HIVE_LEVELS
        rest_weights[k] = __ldg(a.rest_weights + tile.rest + k);
#endif
    }
    __syncthreads();
    // Others read a distance while its owner lowers it. Either value is the length of a path, and whoever reads the larger one
    // reads again before the tile is left.
    volatile dist_t* near = s.near;
    u32 rounds = 0;
    bool changed;
    do {
        changed = false;
        rounds++;
#pragma unroll
        for (u32 pass = 0; pass < PASSES; pass++) {
            dist_t best = own;
#pragma unroll
            for (u32 k = 0; k < HEAD; k++) best = min(best, further(near[place[k]], weight[k]));
            for (u32 k = from; k < to; k++) {
                float w = 0.0f;
#if !HIVE_LEVELS
                w = rest_weights[k];
#endif
                best = min(best, further(near[rest[k]], w));
            }
            if (best < own && mine) {
                own = best;
                if (mark(best) < threshold) {
                    near[i] = best;
                    changed = true;
                }
            }
        }
    } while (__syncthreads_or(changed));
    u32 waits = INFINITE;
    if (own < began) atomicMin(a.near + slot, own);
    if (own < done && mark(own) >= threshold) waits = mark(own);
    if (own < done && mark(own) < threshold) {
        __stcg(a.done + slot, own);
        auto gather = [&](u32 to_slot, float w) {
            dist_t offered = further(own, w);
            u32 at = atomicAdd(&s.gathered, 1u);
            if (at < CROSSING) {
                s.outside[at] = to_slot;
                s.offered[at] = offered;
            } else {
                offer(a, threshold, to_slot, offered);
            }
        };
        if (crosses) {
#pragma unroll
            for (u32 k = 0; k < HEAD; k++) {
                if (place[k] == tile.size) gather(head[k], weight[k]);
            }
        }
        for (u32 k = from; k < to; k++) {
            if (rest[k] != tile.size) continue;
            float w = 0.0f;
#if !HIVE_LEVELS
            w = rest_weights[k];
#endif
            gather(__ldg(a.rest + tile.rest + k), w);
        }
    }
    waits = warp_min(waits);
    if (lane_id() == 0 && waits < INFINITE) atomicMin(&s.lowest, waits);
    __syncthreads();
    for (u32 k = i, count = min(s.gathered, CROSSING); k < count; k += TILE_NODES) {
        offer(a, threshold, s.outside[k], s.offered[k]);
    }
    return (u64)rounds * PASSES * (HEAD * tile.size + tile.more);
}

extern "C" __global__ void __launch_bounds__(TILE_NODES, TILE_BLOCKS) tile_search(const TileArgs a) {
    extern __shared__ __align__(16) u8 memory[];
    TileShared& s = *(TileShared*)memory;
    u32* rest = (u32*)(memory + (HIVE_DOUBLE ? TILE_SHARED_DOUBLE : TILE_SHARED));
    const TileControl* c = a.queue.control;
    u64 looked = 0, visits = 0;
    // Without a seed that has a slot there is nothing to wait for.
    bool any = fresh(&c->tail) != 0;
    float* rest_weights = (float*)rest;
    if (a.log && blockIdx.x == 0 && threadIdx.x == 0) a.log[0] = {clock_ns(), 0, 0, 0};
    while (any) {
        if (threadIdx.x == 0) {
            u64 entry = a.queue.claim();
            if (entry != OVER) {
                u32 tile = (u32)entry - 1;
                atomicExch(a.keys + tile, INFINITE);
                s.tile = a.tiles[tile];
                __threadfence();
            }
            s.entry = entry;
            s.lowest = INFINITE;
            s.gathered = 0;
        }
        __syncthreads();
        if (s.entry == OVER) break;
        rest_weights = (float*)(rest + s.tile.more);
        looked += visit(a, s, rest, rest_weights);
        visits++;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            if (s.lowest < INFINITE) atomicMin(a.keys + ((u32)s.entry - 1), s.lowest);
            s.last = a.queue.leave();
        }
        __syncthreads();
        if (s.last) {
            while (advance(a, s)) {}
        }
        __syncthreads();
    }
    // All distances are in their last state here.
    for (u64 v = (u64)blockIdx.x * TILE_NODES + threadIdx.x; a.dist && v < a.nodes; v += (u64)gridDim.x * TILE_NODES) {
        dist_t distance = fresh(a.near + __ldg(a.slot_of + v));
        a.dist[v] = distance == NO_DISTANCE ? (dist_t)a.unreached << (HIVE_DOUBLE ? 32 : 0) : distance;
    }
    if (threadIdx.x == 0 && a.queue.ends(visits, looked)) {
        *a.status = {fresh(&c->looked), fresh(&c->visits), fresh(&c->windows), fresh(&c->stopped)};
    }
}

// The seeds, into the queue. One block.
extern "C" __global__ void __launch_bounds__(TILE_NODES) tile_start(const TileArgs a) {
    u32 threshold = end_of_window(0, a.delta);
    if (threadIdx.x == 0) a.queue.control->windows = 1;
    for (u32 k = threadIdx.x; k < a.seed_count; k += TILE_NODES) {
        u32 v = a.seeds ? a.seeds[k] : a.source;
        if (v >= a.nodes) continue;
        u32 slot = a.slot_of[v], tile = a.tile_of[slot];
        a.near[slot] = 0;
        if (atomicMin(a.keys + tile, 0u) == INFINITE) a.queue.enter_tile(tile, threshold);
    }
}
