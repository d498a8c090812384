// Tiles: a graph of small degrees and long paths cut into parts of up to TILE_NODES nodes that lie together, and the rows of
// the parts as `tile_search.cu` wants them.
//
// Idea. Cells grow breadth-first, all at once, each until it has so many nodes. First balls of half a tile and more: a few are
// sown, grow until they are full or shut in, and more are sown among the nodes that are left. Balls that became full lie side
// by side, like discs. From their seeds cells grow once more, up to a whole tile, and share the gaps between them. What is
// left, as in small components, becomes cells of its own. The host packs cells into tiles.
//
// Which node a cell gets may depend on the schedule. What is found with tiles does not.
//
// A node of tile t has a *slot*: its place among all nodes by (tile, node). Rows of a slot are its first four neighbours, as
// slots, and the rest. Rows are the same both ways.
//
// Source: growing parts from seeds is greedy graph growing, Karypis, Kumar, SIAM J. Sci. Comput. 20, 1998, section 3.2; balls
// that keep each other at a distance are dart throwing, Cook, ACM TOG 5, 1986.
//
// Compiled with: -DHIVE_PACKED=1 | -DHIVE_PACKED=0

#include "mix.cuh"
#include "tile.cuh"

#define THREADS 256u   // @host
#define STAGED 2048u   // new nodes of a block that it lists at once
#define ROUNDS 12u     // of sowing balls
#define LEFT 64u       // balls are enough when one node in so many is left
#define SOWN 4u        // of the nodes that are left, one in so many balls is sown at a time

struct GrowControl {  // @host
    Meeting barrier;
    u32 listed[3];  // nodes listed; steps use them in turn
    u32 cells[2];   // balls, then cells
    u32 unused;
};

struct GrowStatus {  // @host
    u32 cells;
    u32 stopped;
};

struct GrowArgs {  // @host
    const u32* offsets;
    const arc_t* arcs;
    u32* cell;      // [nodes]
    u32* sizes[2];  // [nodes] of balls, of cells
    u32* seeds;     // [nodes] where balls grew from
    u32* lists[2];  // [nodes] frontier
    GrowControl* control;
    GrowStatus* status;  // pinned
    const u32* abort;    // pinned
    u64 deadline_ns;
    u32 nodes;
    u32 ball;  // nodes of a full ball
    ArcForm form;
};

struct GrowShared {
    u32 staged[STAGED];
    u32 count;
    u32 at;
};

// Grows cells of one kind. `step` counts lists: a step reads one and fills the other.
struct Growing {
    const GrowArgs& a;
    GrowShared& s;
    Grid grid;
    u32 step, kind;

    __device__ u32* into() { return a.lists[(step + 1) & 1u]; }

    __device__ void list(u32 v) {
        u32 at = atomicAdd(&s.count, 1u);
        if (at < STAGED) s.staged[at] = v;
        else __stcg(into() + atomicAdd(&a.control->listed[(step + 1) % 3], 1u), v);
    }

    // Writes what is staged, if there are `least` or more. All threads take part.
    __device__ void flush(u32 least) {
        __syncthreads();
        u32 count = min(s.count, STAGED);
        __syncthreads();
        if (count < least) return;
        if (threadIdx.x == 0) s.at = atomicAdd(&a.control->listed[(step + 1) % 3], count);
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += THREADS) __stcg(into() + s.at + i, s.staged[i]);
        __syncthreads();
        if (threadIdx.x == 0) s.count = 0;
        __syncthreads();
    }

    // Ends a step: how many were listed.
    __device__ u32 meet() {
        flush(1);
        if (!grid.sync()) return 0;
        step++;
        // The one that the step before read is filled again by the next but one.
        if (blockIdx.x == 0 && threadIdx.x == 0) __stcg(&a.control->listed[(step + 2) % 3], 0u);
        return fresh(&a.control->listed[step % 3]);
    }

    __device__ void sow(u32 v) {
        u32 c = atomicAdd(&a.control->cells[kind], 1u);
        __stcg(a.cell + v, c);
        __stcg(a.sizes[kind] + c, 1u);
        if (kind == 0) __stcg(a.seeds + c, v);
        list(v);
    }

    // Sows among the nodes that are left, each with a chance of `share` / 2^32.
    __device__ u32 sow_some(u64 key, u64 share) {
        for (u32 base = blockIdx.x * THREADS; base < a.nodes; base += gridDim.x * THREADS) {
            u32 v = base + threadIdx.x;
            if (v < a.nodes && fresh(a.cell + v) == FULL && (hash(key, v) >> 32) < share) sow(v);
            flush(STAGED / 2);
        }
        return meet();
    }

    // Grows the cells whose frontier has `count` nodes until they have `most` nodes or cannot. Returns how many they took.
    __device__ u32 grow(u32 count, u32 most) {
        u32 taken = 0;
        while (count > 0 && !grid.stopped) {
            taken += count;
            const u32* list = a.lists[step & 1u];
            for (u32 base = blockIdx.x * THREADS; base < count; base += gridDim.x * THREADS) {
                if (base + threadIdx.x < count) spread(fresh(list + base + threadIdx.x), most);
                flush(STAGED / 2);
            }
            count = meet();
        }
        return taken;
    }

    __device__ void spread(u32 u, u32 most) {
        u32 c = fresh(a.cell + u);
        u32* size = a.sizes[kind] + c;
        if (fresh(size) >= most) return;
        for (u32 at = __ldg(a.offsets + u), end = __ldg(a.offsets + u + 1); at < end; at++) {
            u32 v = arc_node(__ldg(a.arcs + at), a.form);
            if (fresh(a.cell + v) != FULL || atomicCAS(a.cell + v, FULL, c) != FULL) continue;
            if (atomicAdd(size, 1u) < most) {
                list(v);
            } else {
                atomicSub(size, 1u);
                __stcg(a.cell + v, FULL);
                return;
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 4) tiles_grow(const GrowArgs a) {
    __shared__ GrowShared s;
    Growing g = {a, s, {&a.control->barrier, a.abort, a.deadline_ns, 0, 0}, 0, 0};
    if (threadIdx.x == 0) s.count = 0;
    __syncthreads();
    u32 left = a.nodes;
    u64 one_a_node = 1ull << 32;
    for (u32 i = 0; i < ROUNDS && left > a.nodes / LEFT && !g.grid.stopped; i++) {
        left -= g.grow(g.sow_some(i, one_a_node / ((u64)a.ball * SOWN)), a.ball);
    }
    u32 balls = fresh(&a.control->cells[0]);
    for (u32 v = blockIdx.x * THREADS + threadIdx.x; v < a.nodes; v += gridDim.x * THREADS) __stcg(a.cell + v, FULL);
    g.meet();
    g.kind = 1;
    for (u32 base = blockIdx.x * THREADS; base < balls; base += gridDim.x * THREADS) {
        u32 c = base + threadIdx.x;
        if (c < balls && fresh(a.sizes[0] + c) >= a.ball) g.sow(fresh(a.seeds + c));
        g.flush(STAGED / 2);
    }
    left = a.nodes - g.grow(g.meet(), TILE_NODES);
    // In the end all that are left are sown.
    for (u64 i = 0; left > 0 && !g.grid.stopped; i++) {
        u64 share = min(one_a_node, one_a_node * 2 * (i + 1) * (i + 1) / TILE_NODES);
        left -= g.grow(g.sow_some(ROUNDS + i, share), TILE_NODES);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        a.status->cells = fresh(&a.control->cells[1]);
        a.status->stopped = g.grid.stopped;
    }
}

struct PlaceArgs {  // @host
    const u32* cell;     // [nodes]
    const u32* tiles;    // [cells] the tile of each
    const u32* bounds;   // [tiles + 1] first slots
    u32* filled;         // [tiles] zeros
    u32* node_of;        // [nodes] by slot
    u32* slot_of;        // [nodes] by node
    u32* tile_of;        // [nodes] by slot
    u32 nodes;
    u32 count;  // tiles
};

// Nodes into their tiles, in any order.
extern "C" __global__ void __launch_bounds__(THREADS) tiles_place(const PlaceArgs a) {
    for (u32 v = blockIdx.x * THREADS + threadIdx.x; v < a.nodes; v += gridDim.x * THREADS) {
        u32 tile = __ldg(a.tiles + __ldg(a.cell + v));
        a.node_of[__ldg(a.bounds + tile) + atomicAdd(a.filled + tile, 1u)] = v;
    }
}

// The nodes of each tile in rising order: a bitonic sort by a block.
extern "C" __global__ void __launch_bounds__(THREADS) tiles_order(const PlaceArgs a) {
    __shared__ u32 nodes[TILE_NODES];
    for (u32 tile = blockIdx.x; tile < a.count; tile += gridDim.x) {
        u32 first = __ldg(a.bounds + tile), size = __ldg(a.bounds + tile + 1) - first;
        for (u32 i = threadIdx.x; i < TILE_NODES; i += THREADS) nodes[i] = i < size ? a.node_of[first + i] : FULL;
        __syncthreads();
        for (u32 length = 2; length <= TILE_NODES; length *= 2) {
            for (u32 stride = length / 2; stride > 0; stride /= 2) {
                for (u32 k = threadIdx.x; k < TILE_NODES / 2; k += THREADS) {
                    u32 i = 2 * k - (k & (stride - 1)), j = i + stride;
                    bool rising = (i & length) == 0;
                    u32 x = nodes[i], y = nodes[j];
                    if ((x > y) == rising) {
                        nodes[i] = y;
                        nodes[j] = x;
                    }
                }
                __syncthreads();
            }
        }
        for (u32 i = threadIdx.x; i < size; i += THREADS) {
            a.node_of[first + i] = nodes[i];
            a.slot_of[nodes[i]] = first + i;
            a.tile_of[first + i] = tile;
        }
        __syncthreads();
    }
}

struct TileRowArgs {  // @host
    const u32* offsets;  // the rows, by node
    const arc_t* arcs;
    const u32* node_of;
    const u32* slot_of;
    const u32* tile_of;
    u64* more;          // [nodes] arcs of a slot beyond four; counted first
    const u32* rests;   // [nodes + 1] where they begin
    uint4* heads;       // [nodes] the first four neighbours of a slot, as slots; the slot itself where there are fewer
    float4* weights;    // [nodes] their weights, or 0
    u32* rest;          // [rests[nodes]] the other neighbours
    float* rest_weights;
    const u32* bounds;  // [tiles + 1]
    Tile* tiles;        // [tiles]
    u64* crossing;      // arcs from tile to tile, added to
    u32* longest;       // the most arcs beyond four that a tile has, taken as a maximum
    u32 nodes;
    u32 count;  // tiles
    ArcForm form;
};

extern "C" __global__ void __launch_bounds__(THREADS) tiles_count(const TileRowArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 crossing = 0;
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < a.nodes; i += gridDim.x * THREADS) {
        u32 v = __ldg(a.node_of + i), own = __ldg(a.tile_of + i);
        u32 begin = __ldg(a.offsets + v), end = __ldg(a.offsets + v + 1);
        a.more[i] = end - begin > HEAD ? end - begin - HEAD : 0;
        for (u32 at = begin; at < end; at++) {
            crossing += __ldg(a.tile_of + __ldg(a.slot_of + arc_node(__ldg(a.arcs + at), a.form))) != own;
        }
    }
    crossing = block_sum(crossing, room);
    if (threadIdx.x == 0 && crossing) atomicAdd(a.crossing, crossing);
}

extern "C" __global__ void __launch_bounds__(THREADS) tiles_fill(const TileRowArgs a) {
    for (u32 t = blockIdx.x * THREADS + threadIdx.x; t < a.count; t += gridDim.x * THREADS) {
        u32 first = __ldg(a.bounds + t), end = __ldg(a.bounds + t + 1), rest = __ldg(a.rests + first);
        u32 more = __ldg(a.rests + end) - rest;
        a.tiles[t] = {first, end - first, rest, more};
        atomicMax(a.longest, more);
    }
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < a.nodes; i += gridDim.x * THREADS) {
        u32 v = __ldg(a.node_of + i), begin = __ldg(a.offsets + v), end = __ldg(a.offsets + v + 1);
        u32 head[HEAD];
        float weight[HEAD];
#pragma unroll
        for (u32 k = 0; k < HEAD; k++) {
            bool there = begin + k < end;
            arc_t arc;
            if (there) arc = __ldg(a.arcs + begin + k);
            head[k] = there ? __ldg(a.slot_of + arc_node(arc, a.form)) : i;
            weight[k] = there ? arc_weight(arc, a.form) : 0.0f;
        }
        a.heads[i] = {head[0], head[1], head[2], head[3]};
        if (a.weights) a.weights[i] = {weight[0], weight[1], weight[2], weight[3]};
        u32 to = __ldg(a.rests + i);
        for (u32 at = begin + HEAD; at < end; at++, to++) {
            arc_t arc = __ldg(a.arcs + at);
            a.rest[to] = __ldg(a.slot_of + arc_node(arc, a.form));
            if (a.rest_weights) a.rest_weights[to] = arc_weight(arc, a.form);
        }
    }
}
