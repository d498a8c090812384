// PageRank with hubs in shared memory. In-rows are cut by segments of sources, and a block holds what the arcs of a segment
// carry in shared memory while it goes over them. src/layout/segments makes the layout.
//
// An arc of a segment takes 16 bits: its source less the segment's first. Arcs lie in chunks of CHUNK, in the order of
// their rows. The arcs of a row from one segment are a run. A lane of a warp has LANE consecutive arcs, and beside them two
// bytes: where runs begin among its arcs, and how many runs begin before it in the chunk. It adds up run by run. A segmented
// scan joins the runs that go over several lanes. Finished runs are put in order in shared memory, and from there
// neighbouring lanes add to neighbouring rows of `gathered`: one addition a row and segment. Several chunks are a group. One
// warp works off a group, and a run goes on from one chunk to the next. If a run goes on beyond its group, the next group
// leaves its part in `carry`, which pagerank_carry adds at last.
//
// Segments are divided among teams of the grid's blocks, and row blocks among the blocks of each team. A block goes through
// the segments of its team with its rows, without waiting for others, and adds to the sums of its team. So no two warps add
// to the same sum between two barriers of a block, and the order of additions is fixed. Sums are the same for any number of
// blocks. They are the same for any number of replicas, since rows and segments are cut where the graph says. Filling
// shared memory takes a block the same time however few rows it has: that is what teams divide.
//
// A slot is the number of a row among the own rows. Tiles say which row a slot is.
//
// Far arcs come from sources beyond the segments. They have the same form with 32-bit sources, gathered from L2.

#include "chunks.cuh"
#include "pagerank.cuh"

#define SUMS (CHUNK + CHUNK / LANE + 8u)  // @host floats that a warp keeps finished runs in
#define ROWS_AHEAD 4u  // rows that a lane has under way
#define NEAR_THREADS 1024u  // @host
#define TEAMS 8u  // @host at most
#define FAR_THREADS 256u  // @host

struct HubArgs {  // @host
    const unsigned short* near;      // [near chunks, CHUNK]
    const u32* far;         // [far chunks, CHUNK]: first halves of all lanes, then second halves
    const unsigned short* marks;     // [chunks, 32] bit i: a run begins at arc i of the lane; from bit 8: runs before it
    const u32* first;       // [chunks] number of the first run that begins in it
    const u32* rows;        // [runs + 32] slots
    const uint2* groups;    // [groups] first chunk, chunks
    const u32* parts;       // [row blocks * count + 1] first group of each segment of each row block
    const float* value;     // what arcs carry; 0 behind the last
    float* gathered;        // [teams, slots]
    float* carry;           // [groups]
    u32 count;   // segments
    u32 width;   // sources of one
    u32 filled;  // floats of `value`, a multiple of 4
    u32 blocks;  // row blocks
    u32 far_begin, far_end;  // groups
    u32 slots;
    u32 teams;
    u32 cut[TEAMS + 1];             // team t has segments cut[t] to cut[t + 1]
    u32 begin[TEAMS], end[TEAMS];   // and these blocks of the grid
    u32 unused;
};

// So that lanes that write every LANE-th slot do not meet in a bank.
__device__ __forceinline__ u32 slot_of(u32 run) { return run + run / LANE; }

template <bool FAR>
struct Arcs {
    uint4 low;
    uint4 high;  // of far ones
    u32 marks;
};

template <bool FAR>
__device__ __forceinline__ Arcs<FAR> load_arcs(const HubArgs& a, u32 chunk) {
    Arcs<FAR> arcs;
    u64 at = (u64)chunk * 32 + lane_id();
    if (FAR) {
        const uint4* from = (const uint4*)a.far + (u64)chunk * 64 + lane_id();
        arcs.low = __ldcs(from);
        arcs.high = __ldcs(from + 32);
    } else {
        arcs.low = __ldcs((const uint4*)a.near + at);
    }
    arcs.marks = __ldcs(a.marks + at);
    return arcs;
}

// The row of the run before run `first` + lane, whether it ends in this chunk or not; there is one.
__device__ __forceinline__ u32 load_row(const HubArgs& a, u32 first) {
    u32 run = first + lane_id();
    return run > 0 ? __ldcs(a.rows + (run - 1u)) : 0u;
}

// An addition that nobody waits for: no other warp has this row before the next barrier.
__device__ __forceinline__ void add_to(float* to, float x) {
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(to), "f"(x) : "memory");
}

// The sum of a warp's values, the same on all lanes.
__device__ __forceinline__ float warp_tree(float x) {
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(FULL, x, step);
    return x;
}

// One warp, one group: all lanes come and go together.
template <bool FAR>
__device__ __forceinline__ void work_off(const HubArgs& a, u32 g, uint2 group, const float* segment,
                                         float* sums, float* gathered) {
    u32 lane = lane_id(), last = 0;
    float open = 0.0f;   // of the run that goes on
    bool begun = false;  // in this group
    // Of the next chunk arcs and rows are under way, of the one behind it where its rows are.
    u32 next = __ldg(a.first + group.x), after = group.y > 1 ? __ldg(a.first + group.x + 1) : 0u;
    Arcs<FAR> arcs = load_arcs<FAR>(a, group.x);
    u32 rows = load_row(a, next);
    for (u32 i = 0; i < group.y; i++) {
        Arcs<FAR> now = arcs;
        u32 first = next, row = rows;
        if (i + 1 < group.y) {
            arcs = load_arcs<FAR>(a, group.x + i + 1);
            next = after;
            rows = load_row(a, next);
            if (i + 2 < group.y) after = __ldg(a.first + group.x + i + 2);
        }
        u32 marks = now.marks & 255u, before = now.marks >> 8;
        u32 runs = __shfl_sync(FULL, before + __popc(marks), 31);
        // Slot j is for the run before `first` + j: 0 for the one that goes on.
        bool ends = lane < runs && (lane > 0 || begun);
        float x[LANE];
        if (FAR) {
            u32 source[LANE] = {now.low.x, now.low.y, now.low.z, now.low.w,
                                now.high.x, now.high.y, now.high.z, now.high.w};
#pragma unroll
            for (u32 k = 0; k < LANE; k++) x[k] = __ldg(a.value + source[k]);
        } else {
            u32 pair[LANE / 2] = {now.low.x, now.low.y, now.low.z, now.low.w};
#pragma unroll
            for (u32 k = 0; k < LANE; k++) x[k] = segment[k % 2 == 0 ? pair[k / 2] & 0xffffu : pair[k / 2] >> 16];
        }
        u32 begins = __ballot_sync(FULL, marks != 0);
        if (begins == 0) {
            // All of one long run: in a tree, as equal values added one after another are all rounded the same way.
            open += warp_tree(((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])));
            continue;
        }
        float sum = 0.0f, head = 0.0f;
        u32 at = before;
#pragma unroll
        for (u32 k = 0; k < LANE; k++) {
            if (marks >> k & 1u) {
                if (at == before) {
                    head = sum;
                } else {
                    sums[slot_of(at)] = sum;
                }
                at++;
                sum = 0.0f;
            }
            sum += x[k];
        }
        // What each lane leaves open, what came open into it.
        if (lane == 0 && marks == 0) sum += open;
        if (begins != FULL) {
            u32 below = begins & (FULL >> (31u - lane));
            u32 from = below != 0 ? 31u - __clz(below) : 0u;
#pragma unroll
            for (u32 step = 1; step < 32; step <<= 1) {
                float other = __shfl_up_sync(FULL, sum, step);
                if (lane >= from + step) sum += other;
            }
        }
        float into = __shfl_up_sync(FULL, sum, 1);
        if (lane == 0) into = open;
        if (marks != 0) sums[slot_of(before)] = into + head;
        __syncwarp();
        if (ends) add_to(gathered + row, sums[slot_of(lane)]);
        for (u32 j = lane + 32; j < runs; j += 32 * ROWS_AHEAD) {
            u32 other[ROWS_AHEAD];
#pragma unroll
            for (u32 k = 0; k < ROWS_AHEAD; k++) {
                u32 run = j + 32 * k;
                other[k] = run < runs ? __ldcs(a.rows + (first + run - 1u)) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < ROWS_AHEAD; k++) {
                u32 run = j + 32 * k;
                if (run < runs) add_to(gathered + other[k], sums[slot_of(run)]);
            }
        }
        if (lane == 0 && !begun && runs > 0) a.carry[g] = sums[0];
        open = __shfl_sync(FULL, sum, 31);
        if (runs > 0) {
            begun = true;
            last = first + runs - 1u;
        }
        __syncwarp();
    }
    if (lane == 0) {
        if (begun) {
            add_to(gathered + a.rows[last], open);
        } else {
            a.carry[g] = open;
        }
    }
}

// A block's place in a team.
struct Seat {
    u32 number, blocks;
};

// Groups that own row block base + lane, counted among the block's own, has of segment s: the first, and how many.
__device__ __forceinline__ uint2 part_of(const HubArgs& a, Seat seat, u32 base, u32 s) {
    u64 b = seat.number + (u64)(base + lane_id()) * seat.blocks;
    if (b >= a.blocks) return make_uint2(0u, 0u);
    const u32* part = a.parts + b * a.count + s;
    u32 first = __ldg(part);
    return make_uint2(first, __ldg(part + 1) - first);
}

// The number of the next group, by all lanes of a warp.
__device__ __forceinline__ u32 take(u32* taken) {
    u32 i = 0;
    if (lane_id() == 0) i = atomicAdd(taken, 1u);
    return __shfl_sync(FULL, i, 0);
}

// A team's segments, one after another. `room` has space for one, and behind it for the runs of each warp.
__device__ __forceinline__ void go_through(const HubArgs& a, u32 team, Seat seat, float4* room, u32* taken) {
    float* segment = (float*)room;
    float* sums = segment + a.width + 4u + warp_id() * SUMS;
    float* gathered = a.gathered + (u64)team * a.slots;
    u32 own = seat.number < a.blocks ? (a.blocks - seat.number - 1u) / seat.blocks + 1u : 0u;
    for (u32 s = a.cut[team]; s < a.cut[team + 1]; s++) {
        u32 any = 0;
        for (u32 base = 0; base < own; base += 32) any |= __ballot_sync(FULL, part_of(a, seat, base, s).y);
        if (any == 0) continue;  // the same for all warps
        __syncthreads();
        u32 begin = s * a.width;
        u32 quads = (a.filled - begin < a.width ? a.filled - begin : a.width) / 4u;
        const float4* from = (const float4*)(a.value + begin);
        for (u32 i = threadIdx.x; i < quads; i += NEAR_THREADS) fetch(room + i, from + i);
        if (threadIdx.x == 0) *taken = 0;
        fetched();
        __syncthreads();
        u32 i = take(taken), passed = 0;
        for (u32 base = 0; base < own; base += 32) {
            uint2 part = part_of(a, seat, base, s);
            u32 until = warp_scan(part.y);
            u32 total = __shfl_sync(FULL, until, 31);
            while (i - passed < total) {
                u32 at = i - passed;
                u32 which = __popc(__ballot_sync(FULL, until <= at));
                u32 g = __shfl_sync(FULL, part.x + part.y - until, which) + at;
                i = take(taken);
                work_off<false>(a, g, __ldg(a.groups + g), segment, sums, gathered);
            }
            passed += total;
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1) pagerank_segments(const HubArgs a) {
    extern __shared__ float4 room[];
    __shared__ u32 taken;
    // What pads chunks.
    if (threadIdx.x == 0) ((float*)room)[a.width] = 0.0f;
    for (u32 team = 0; team < a.teams; team++) {
        u32 begin = a.begin[team], end = a.end[team];
        if (blockIdx.x < begin || blockIdx.x >= end) continue;
        go_through(a, team, {blockIdx.x - begin, end - begin}, room, &taken);
    }
}

// The far arcs.
extern "C" __global__ void __launch_bounds__(256, 5) pagerank_far(const HubArgs a) {
    __shared__ float room[FAR_THREADS / 32u][SUMS];
    u32 stride = gridDim.x * (FAR_THREADS / 32u);
    u32 g = a.far_begin + warp_id() * gridDim.x + blockIdx.x;
    for (; g < a.far_end; g += stride) {
        work_off<true>(a, g, __ldg(a.groups + g), (const float*)0, room[warp_id()], a.gathered);
    }
}

struct CarryArgs {  // @host
    const u32* rows;     // [count] slots, rising
    const u32* offsets;  // [count + 1] into `groups`
    const u32* groups;   // whose carry belongs to the row
    const float* carry;
    float* gathered;
    u32 count;
    u32 unused;
};

#define SHORT 16u  // carries that one lane adds
#define CARRIES_AHEAD 8u

extern "C" __global__ void __launch_bounds__(256) pagerank_carry(const CarryArgs a) {
    u32 lane = lane_id();
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32u;
    u64 warps = (u64)gridDim.x * blockDim.x / 32u;
    for (u64 base = warp * 32u; base < a.count; base += warps * 32u) {
        bool live = base + lane < a.count;
        u32 i = live ? (u32)base + lane : 0u;
        u32 from = live ? a.offsets[i] : 0u, to = live ? a.offsets[i + 1] : 0u;
        float sum = 0.0f;
        if (to - from <= SHORT) {
            for (u32 j = from; j < to; j++) sum += a.carry[a.groups[j]];
        }
        u32 longer = __ballot_sync(FULL, to - from > SHORT);
        while (longer != 0) {
            u32 which = __ffs(longer) - 1u;
            longer &= longer - 1u;
            u32 start = __shfl_sync(FULL, from, which), stop = __shfl_sync(FULL, to, which);
            float total = 0.0f;
            for (u32 base = start; base < stop; base += 32 * CARRIES_AHEAD) {
                float x[CARRIES_AHEAD];
#pragma unroll
                for (u32 k = 0; k < CARRIES_AHEAD; k++) {
                    u32 j = base + 32 * k + lane;
                    x[k] = j < stop ? a.carry[a.groups[j]] : 0.0f;
                }
                total += ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
            }
            total = warp_tree(total);
            if (lane == which) sum = total;
        }
        if (live) atomicAdd(a.gathered + a.rows[i], sum);
    }
}

// Own rows, a thread each; cut so that a block's are neighbours.
struct Tile {  // @host
    u32 row, slot;  // the first
    u32 count;      // FAR_THREADS at most
};

struct GatheredArgs {  // @host
    Turn turn;
    const Tile* tiles;
    float* gathered;  // [teams, slots]
    double* sum;      // [active] where sums are added over replicas; else NULL
    u32 count;        // tiles
    u32 slots;
    u32 teams;
    u32 unused;
};

// Gathered sums to ranks; they are 0 again after it. By an exchange, since a load followed by a store to the same line takes
// several times as long.
extern "C" __global__ void __launch_bounds__(256) pagerank_gathered(const GatheredArgs a) {
    double scale = new_scale(a.turn);
    u64 moved = 0;
    for (u32 i = blockIdx.x; i < a.count; i += gridDim.x) {
        Tile tile = a.tiles[i];
        if (threadIdx.x >= tile.count) continue;
        u32 v = tile.row + threadIdx.x;
        float* at = a.gathered + tile.slot + threadIdx.x;
        double sum = 0.0;
        for (u32 team = 0; team < a.teams; team++) sum += (double)atomicExch(at + (u64)team * a.slots, 0.0f);
        if (a.sum) {
            a.sum[v] = sum;
        } else {
            moved += finish(a.turn, scale, v, 0, sum);
        }
    }
    if (!a.sum) finished(a.turn, scale, moved);
}

struct TellArgs {  // @host
    const Tile* tiles;
    u64 copies[REPLICAS];  // address of element 0 of every replica's array, in rank order
    u32 count;       // tiles
    u32 rank, world;
    u32 unused;
};

// Own rows of an array to everybody else's.
extern "C" __global__ void __launch_bounds__(256) pagerank_tell(const TellArgs a) {
    const u32* own = (const u32*)a.copies[a.rank];
    for (u32 i = blockIdx.x; i < a.count; i += gridDim.x) {
        Tile tile = a.tiles[i];
        if (threadIdx.x >= tile.count) continue;
        u32 v = tile.row + threadIdx.x;
        u32 x = own[v];
        for (u32 k = 1; k < a.world; k++) ((u32*)a.copies[(a.rank + k) % a.world])[v] = x;
    }
}
