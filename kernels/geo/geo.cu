// Geolocation: a wave counts the located neighbours of every node without a place, makes an ordered queue of
// the nodes that have some, computes their spatial medians and writes them to where the next wave looks for them.
//
// The queue has a class for every form of the solver, the most neighbours first: a block computes the median of a hub,
// a warp that of a middle node, a thread that of a small one, and nodes with one or two neighbours have closed forms. Nodes
// of a class are in order. Each class is dealt to the replicas in units of `unit` places, so that who has which
// follows from sizes alone; a replica's results lie together in `found`, class by class.
//
// Rows longer than LONG leave the ids of their located neighbours in `kept`, in arc order. Medians of more
// than WARP_ROOM points are computed from these; other solvers gather their points into shared memory.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "geo_median.cuh"

#define NEVER 0xffffffffu  // @host the wave of a node that has no place
#define LONG 512u          // @host rows of more arcs are long ones
#define CLASSES 10u        // @host
#define TALLIED 4096u      // @host nodes of a block that tallies
#define WARPS 4u           // @host of a block that solves by warps
#define LONE 128u          // @host threads of a block that solves by single threads

// Most points of a node in the classes whose solvers have them in shared memory.
enum Room {  // @host
    WARP_ROOM = 512,
    SMALL_WARP_ROOM = 128,
    THREAD_ROOM = 16,
    MIDDLE_THREAD_ROOM = 8,
    SMALL_THREAD_ROOM = 4
};

// The class of a node with k located neighbours: the most first, the last holds one and two.
__device__ __forceinline__ u32 class_of(u32 k) {
    if (k > WARP_ROOM) return k > 16384 ? 0 : k > 4096 ? 1 : k > 1024 ? 2 : 3;
    if (k > THREAD_ROOM) return k > SMALL_WARP_ROOM ? 4 : 5;
    return k > MIDDLE_THREAD_ROOM ? 6 : k > SMALL_THREAD_ROOM ? 7 : k > 2 ? 8 : 9;
}

struct GraphArgs {  // @host
    const offset_t* offsets;  // [nodes + 1]
    const u32* columns;
    u32* located;         // bits
    u32* wave;            // [nodes]
    u32* count;           // [nodes]: located neighbours of nodes of the queue, else 0
    double* position;     // [nodes, 4]
    const u32* longs;     // [long_rows] rows longer than LONG that are not given, rising
    const u64* kept_at;   // [long_rows]: where their part of `kept` begins
    u32* kept;
    u32* queue;
    double* found;        // [queue, 3]
    u64* control;         // [4]: passes, arcs solved, arcs counted
    u32 nodes, long_rows;
};

__device__ __forceinline__ bool is_located(const GraphArgs& g, u32 v) {
    return g.located[v >> 5] >> (v & 31u) & 1u;
}

struct ResetArgs {  // @host
    GraphArgs g;
    const u32* given;  // bits
};

extern "C" __global__ void geo_reset(const ResetArgs a) {
    u32 stride = gridDim.x * blockDim.x;
    for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.g.nodes; i += stride) {
        u32 v = (u32)i, bits = a.given[v >> 5];
        a.g.wave[v] = bits >> (v & 31u) & 1u ? 0u : NEVER;
        a.g.count[v] = 0;
        if ((v & 31u) == 0) a.g.located[v >> 5] = bits;
    }
}

// Counts and keeps the located neighbours of long rows, a block each.
extern "C" __global__ void __launch_bounds__(256) geo_count_long(const GraphArgs g) {
    const u32 ITEMS = 4;
    __shared__ u32 sums[ITEMS * 8];
    __shared__ u32 total;
    for (u32 row = blockIdx.x; row < g.long_rows; row += gridDim.x) {
        u32 v = g.longs[row];
        if (is_located(g, v)) {
            if (threadIdx.x == 0) g.count[v] = 0;
            continue;
        }
        u64 first = g.offsets[v], last = g.offsets[v + 1];
        u32* kept = g.kept + g.kept_at[row];
        u32 before = 0;
        for (u64 base = first; base < last; base += ITEMS * 256) {
            u32 id[ITEMS], votes[ITEMS];
#pragma unroll
            for (u32 i = 0; i < ITEMS; i++) {
                u64 e = base + i * 256 + threadIdx.x;
                id[i] = e < last ? g.columns[e] : NEVER;
            }
#pragma unroll
            for (u32 i = 0; i < ITEMS; i++) {
                u32 word = id[i] != NEVER ? g.located[id[i] >> 5] : 0u;
                votes[i] = __ballot_sync(FULL, word >> (id[i] & 31u) & 1u);
                if (lane_id() == 0) sums[i * 8 + warp_id()] = __popc(votes[i]);
            }
            __syncthreads();
            if (warp_id() == 0) {
                u32 own = sums[lane_id()], inclusive = warp_scan(own);
                sums[lane_id()] = inclusive - own;
                if (lane_id() == 31) total = inclusive;
            }
            __syncthreads();
#pragma unroll
            for (u32 i = 0; i < ITEMS; i++) {
                u32 below = __popc(votes[i] & ((1u << lane_id()) - 1u));
                if (votes[i] >> lane_id() & 1u) kept[before + sums[i * 8 + warp_id()] + below] = id[i];
            }
            before += total;
            __syncthreads();
        }
        if (threadIdx.x == 0) g.count[v] = before;
    }
}

// Counts the located neighbours of all other rows: a thread a row, a warp where it is not short.
extern "C" __global__ void __launch_bounds__(256) geo_count(const GraphArgs g) {
    const u32 SHORT = 32;
    u32 words = (g.nodes + 31) / 32, warps = gridDim.x * (blockDim.x / 32);
    for (u32 word = blockIdx.x * (blockDim.x / 32) + warp_id(); word < words; word += warps) {
        u32 v = word * 32 + lane_id();
        bool open = v < g.nodes && !(g.located[word] >> lane_id() & 1u);
        u64 first = open ? g.offsets[v] : 0, last = open ? g.offsets[v + 1] : 0;
        u32 degree = (u32)min(last - first, (u64)FULL), k = 0;
        for (u64 e = first; e < last && degree <= SHORT; e++) k += is_located(g, g.columns[e]);
        u32 middle = __ballot_sync(FULL, degree > SHORT && degree <= LONG);
        for (; middle; middle &= middle - 1) {
            u32 lane = __ffs(middle) - 1;
            u64 from = __shfl_sync(FULL, first, lane), to = __shfl_sync(FULL, last, lane);
            u32 part = 0;
            for (u64 e = from + lane_id(); e < to; e += 32) part += is_located(g, g.columns[e]);
            part = warp_add(part);
            k = lane_id() == lane ? part : k;
        }
        if (v < g.nodes && degree <= LONG) g.count[v] = k;
    }
}

struct Totals {  // @host
    u32 start[CLASSES + 1];  // of each class in the queue
    u32 unused;
    u64 arcs;
};

struct QueueArgs {  // @host
    GraphArgs g;
    u32* tally;  // [CLASSES, blocks]
    Totals* totals;
    u32 blocks, unused;
};

// tally[c][b] = nodes of class c among those of block b.
extern "C" __global__ void __launch_bounds__(256) geo_tally(const QueueArgs a) {
    __shared__ u32 counts[CLASSES];
    __shared__ u64 room[8];
    for (u32 block = blockIdx.x; block < a.blocks; block += gridDim.x) {
        if (threadIdx.x < CLASSES) counts[threadIdx.x] = 0;
        __syncthreads();
        u64 arcs = 0, first = (u64)block * TALLIED;
        for (u32 i = threadIdx.x; i < TALLIED; i += blockDim.x) {
            u32 k = first + i < a.g.nodes ? a.g.count[first + i] : 0;
            if (k > 0) atomicAdd(&counts[class_of(k)], 1u);
            arcs += k;
        }
        arcs = block_sum(arcs, room);
        __syncthreads();
        if (threadIdx.x < CLASSES) a.tally[threadIdx.x * a.blocks + block] = counts[threadIdx.x];
        if (threadIdx.x == 0 && arcs > 0) atomicAdd(&a.g.control[2], arcs);
        __syncthreads();
    }
}

// One block: tallies become places in the queue, and the host learns the sizes of the classes.
extern "C" __global__ void __launch_bounds__(1024) geo_scan(const QueueArgs a) {
    __shared__ u64 room[32];
    u32 length = CLASSES * a.blocks;
    u64 before = 0;
    for (u32 base = 0; base < length; base += blockDim.x) {
        u32 i = base + threadIdx.x;
        u32 own = i < length ? a.tally[i] : 0;
        u64 total, place = block_scan(own, room, &total);
        if (i < length) {
            a.tally[i] = (u32)(before + place);
            if (i % a.blocks == 0) a.totals->start[i / a.blocks] = (u32)(before + place);
        }
        before += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        a.totals->start[CLASSES] = (u32)before;
        a.totals->arcs = a.g.control[2];
        a.g.control[0] = a.g.control[1] = a.g.control[2] = 0;
    }
}

// Writes the queue, in node order within a class.
extern "C" __global__ void __launch_bounds__(256) geo_queue(const QueueArgs a) {
    __shared__ u32 next[CLASSES];
    __shared__ u32 votes[8][CLASSES];
    for (u32 block = blockIdx.x; block < a.blocks; block += gridDim.x) {
        if (threadIdx.x < CLASSES) next[threadIdx.x] = a.tally[threadIdx.x * a.blocks + block];
        u64 first = (u64)block * TALLIED;
        for (u32 base = 0; base < TALLIED; base += 256) {
            u64 v = first + base + threadIdx.x;
            u32 k = v < a.g.nodes ? a.g.count[v] : 0;
            u32 own = k > 0 ? class_of(k) : CLASSES, mine = 0;
            for (u32 c = 0; c < CLASSES; c++) {
                u32 vote = __ballot_sync(FULL, own == c);
                mine = own == c ? vote : mine;
                if (lane_id() == 0) votes[warp_id()][c] = __popc(vote);
            }
            __syncthreads();
            if (own < CLASSES) {
                u32 place = next[own] + __popc(mine & ((1u << lane_id()) - 1u));
                for (u32 w = 0; w < warp_id(); w++) place += votes[w][own];
                a.g.queue[place] = (u32)v;
            }
            __syncthreads();
            if (threadIdx.x < CLASSES)
                for (u32 w = 0; w < 8; w++) next[threadIdx.x] += votes[w][threadIdx.x];
            __syncthreads();
        }
        __syncthreads();
    }
}

// Units of a class are dealt by turns, `cycle` of them over and over. Those of one replica:
struct Own {  // @host
    u32 cycle, turns;
    u8 turn[SHARES];  // their numbers
};

// Those of all:
#define TURNS (SHARES * REPLICAS)
struct Turns {  // @host
    u32 cycle;
    u32 of[REPLICAS];   // turns of each rank
    u8 rank[TURNS];     // whose turn it is
    u8 earlier[TURNS];  // turns of the same rank before
};

// A replica's share of a class.
struct SolveArgs {  // @host
    GraphArgs g;
    double tolerance;
    u32 passes;
    u32 start;  // of the class in the queue
    u32 items;  // own ones
    u32 unit;
    Own own;
    u32 found;  // where the own results begin
    u32 room;   // points that a warp or a thread has room for
};

__device__ __forceinline__ u32 node_of(const SolveArgs& a, u32 i) {
    u32 nth = i / a.unit, turn = a.own.turn[nth % a.own.turns];
    u32 place = (nth / a.own.turns * a.own.cycle + turn) * a.unit + i % a.unit;
    return a.g.queue[a.start + place];
}

__device__ __forceinline__ void answer(const SolveArgs& a, u32 i, Point x) {
    double* to = a.g.found + 3ull * (a.found + i);
    to[0] = x.x;
    to[1] = x.y;
    to[2] = x.z;
}

__device__ __forceinline__ Point position_of(const GraphArgs& g, u32 v) {
    const double2* from = (const double2*)(g.position + 4ull * v);
    double2 a = __ldg(from), b = __ldg(from + 1);
    return {a.x, a.y, b.x};
}

// Adds up what the threads of a warp did. All of them must call it.
__device__ __forceinline__ void report(const SolveArgs& a, u64 passes, u64 arcs) {
    passes = warp_sum(passes);
    arcs = warp_sum(arcs);
    if (lane_id() == 0) {
        atomicAdd(&a.g.control[0], passes);
        atomicAdd(&a.g.control[1], arcs);
    }
}

__device__ __forceinline__ void put(double* points, u32 i, Point p) {
    points[3 * i] = p.x;
    points[3 * i + 1] = p.y;
    points[3 * i + 2] = p.z;
}

// Points in shared memory.
struct Staged {
    const double* at_;
    u32 step;  // between coordinates of a point

    __device__ Point at(u32 i) const {
        const double* p = at_ + 3 * i * step;
        return {p[0], p[step], p[2 * step]};
    }
    // All points are there already.
    __device__ void fill(u32, u32, u32, u32) const {}
    __device__ Point sample(u32 base, u32 i) const { return at(base + i); }
};

// Points behind ids, some of them in shared memory at a time.
struct Kept {
    const GraphArgs& g;
    const u32* ids;
    double* stage;  // [3 * STAGE]

    __device__ Point at(u32 i) const { return position_of(g, ids[i]); }
    // Stages places base.. of a sample of n of the k points, by a warp.
    __device__ void fill(u32 base, u32 count, u32 k, u32 n) const {
        __syncwarp();
        for (u32 j = lane_id(); j < count; j += 32) put(stage, j, at(spread(base + j, k, n)));
        __syncwarp();
    }
    __device__ Point sample(u32, u32 i) const { return {stage[3 * i], stage[3 * i + 1], stage[3 * i + 2]}; }
};

__device__ const u32* kept_of(const GraphArgs& g, u32 v) {
    u32 low = 0, high = g.long_rows;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (g.longs[middle] < v) low = middle + 1;
        else high = middle;
    }
    return g.kept + g.kept_at[low];
}

// More than 1024 neighbours: a block a node.
extern "C" __global__ void __launch_bounds__(HUB_THREADS, 1) geo_hubs(const SolveArgs a) {
    __shared__ double stage[3 * STAGE];
    __shared__ double room[HUB_WARPS * 8];
    __shared__ u32 indices[HUB_WARPS];
    __shared__ double sums[HUB_WARPS][CANDIDATES];
    Block team = {room, indices};
    u64 passes = 0, arcs = 0;
    for (u32 i = blockIdx.x; i < a.items; i += gridDim.x) {
        u32 v = node_of(a, i), k = a.g.count[v], sample = min(k, SAMPLE);
        Kept points = {a.g, kept_of(a.g, v), stage};
        Ranked ranked;
        ranked.p = points.at(spread(lane_id(), k, CANDIDATES));
        bool any = mean_of(team, points, k, ranked.mean);
        // A warp sums over its part of the staged points; parts are added in order.
        const u32 PART = STAGE / HUB_WARPS;
        double f = 0.0, of_mean[1] = {0.0};
        for (u32 base = 0; base < sample; base += STAGE) {
            u32 count = min(STAGE, sample - base);
            __syncthreads();
            for (u32 j = threadIdx.x; j < count; j += HUB_THREADS)
                put(stage, j, points.at(spread(base + j, k, sample)));
            __syncthreads();
            u32 end = min(count, (warp_id() + 1) * PART);
            for (u32 j = warp_id() * PART; j < end; j++) f += angle(ranked.p, points.sample(base, j));
            for (u32 j = threadIdx.x; j < count; j += HUB_THREADS)
                of_mean[0] += angle(ranked.mean, points.sample(base, j));
        }
        sums[warp_id()][lane_id()] = f;
        team.sum(of_mean);
        f = 0.0;
        for (u32 w = 0; w < HUB_WARPS; w++) f += sums[w][lane_id()];
        ranked.f = f;
        ranked.anti = PI * sample - f;
        ranked.of_mean = any ? of_mean[0] : HUGE;
        u64 took = 0;
        Point x = best_descent(team, points, k, ranked, {a.tolerance, a.passes}, took);
        if (threadIdx.x == 0) {
            answer(a, i, x);
            passes += took;
            arcs += k;
        }
    }
    report(a, passes, arcs);
}

// 513 to 1024 neighbours: a warp a node, from ids.
extern "C" __global__ void __launch_bounds__(WARPS * 32, 3) geo_warps_kept(const SolveArgs a) {
    extern __shared__ __align__(16) double memory[];
    double* stage = memory + warp_id() * 3 * STAGE;
    u32 warps = gridDim.x * WARPS;
    u64 passes = 0, arcs = 0;
    for (u32 i = blockIdx.x * WARPS + warp_id(); i < a.items; i += warps) {
        u32 v = node_of(a, i), k = a.g.count[v];
        Kept points = {a.g, kept_of(a.g, v), stage};
        u64 took = 0;
        Point x = warp_median(points, k, {a.tolerance, a.passes}, took);
        if (lane_id() == 0) {
            answer(a, i, x);
            passes += took;
            arcs += k;
        }
    }
    report(a, passes, arcs);
}

// 17 to 512 neighbours: a warp a node, its points in shared memory, in arc order.
extern "C" __global__ void __launch_bounds__(WARPS * 32, 3) geo_warps(const SolveArgs a) {
    extern __shared__ __align__(16) double memory[];
    double* stage = memory + warp_id() * 3 * a.room;
    u32 warps = gridDim.x * WARPS;
    u64 passes = 0, arcs = 0;
    for (u32 i = blockIdx.x * WARPS + warp_id(); i < a.items; i += warps) {
        u32 v = node_of(a, i), k = a.g.count[v], before = 0;
        u64 first = a.g.offsets[v], last = a.g.offsets[v + 1];
        __syncwarp();
        for (u64 base = first; base < last; base += 32) {
            u64 e = base + lane_id();
            u32 u = e < last ? a.g.columns[e] : 0;
            bool own = e < last ? is_located(a.g, u) : false;
            u32 votes = __ballot_sync(FULL, own);
            u32 place = before + __popc(votes & ((1u << lane_id()) - 1u));
            if (own) put(stage, place, position_of(a.g, u));
            before += __popc(votes);
        }
        __syncwarp();
        Staged points = {stage, 1};
        u64 took = 0;
        Point x = warp_median(points, k, {a.tolerance, a.passes}, took);
        if (lane_id() == 0) {
            answer(a, i, x);
            passes += took;
            arcs += k;
        }
    }
    report(a, passes, arcs);
}

// Candidates of a single thread.
struct FewRanked {
    const Staged& points;
    Point mean;
    double f[THREAD_ROOM], of_mean, full;
    u32 k, taken, taken_anti;

    __device__ double next(Point& start) {
        double value = HUGE;
        u32 index = 0;
        for (u32 j = 0; j < k; j++) {
            double own = taken >> j & 1u ? HUGE : f[j];
            double anti = taken_anti >> j & 1u ? HUGE : full - f[j];
            if (own < value) {
                value = own;
                index = 2 * j;
            }
            if (anti < value) {
                value = anti;
                index = 2 * j + 1;
            }
        }
        start = points.at(index >> 1);
        if (index & 1u) start = scaled(start, -1.0);
        if (of_mean < value) {
            value = of_mean;
            start = mean;
        }
        for (u32 j = 0; j < k; j++) {
            double near = dot(start, points.at(j));
            if (near >= APART) taken |= 1u << j;
            if (-near >= APART) taken_anti |= 1u << j;
        }
        if (dot(start, mean) >= APART) of_mean = HUGE;
        return value;
    }

    // For more points than a thread has.
    __device__ bool has_mean() const { return false; }
    __device__ double take_mean(Point& start) { return next(start); }
};

// 3 to 16 neighbours: a thread a node, its points in shared memory.
extern "C" __global__ void __launch_bounds__(LONE, 3) geo_threads(const SolveArgs a) {
    extern __shared__ __align__(16) double memory[];
    double* stage = memory + threadIdx.x;
    u32 threads = gridDim.x * LONE;
    u64 passes = 0, arcs = 0;
    for (u32 i = blockIdx.x * LONE + threadIdx.x; i < a.items; i += threads) {
        u32 v = node_of(a, i), k = 0;
        for (u64 e = a.g.offsets[v], last = a.g.offsets[v + 1]; e < last && k < a.room; e++) {
            u32 u = a.g.columns[e];
            if (!is_located(a.g, u)) continue;
            Point p = position_of(a.g, u);
            stage[(3 * k + 0) * LONE] = p.x;
            stage[(3 * k + 1) * LONE] = p.y;
            stage[(3 * k + 2) * LONE] = p.z;
            k++;
        }
        Staged points = {stage, LONE};
        Thread team;
        FewRanked ranked = {points};
        ranked.k = k;
        ranked.taken = ranked.taken_anti = 0;
        ranked.full = PI * k;
        for (u32 j = 0; j < k; j++) ranked.f[j] = sample_sum(team, points, k, points.at(j));
        bool any = mean_of(team, points, k, ranked.mean);
        ranked.of_mean = any ? sample_sum(team, points, k, ranked.mean) : HUGE;
        Point x = best_descent(team, points, k, ranked, {a.tolerance, a.passes}, passes);
        answer(a, i, x);
        arcs += k;
    }
    report(a, passes, arcs);
}

// One neighbour: its place. Two: half-way, or the first where they are antipodal.
extern "C" __global__ void geo_pairs(const SolveArgs a) {
    u64 arcs = 0;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.items; i += gridDim.x * blockDim.x) {
        u32 v = node_of(a, i), k = 0;
        Point one = {0.0, 0.0, 0.0}, two = one;
        for (u64 e = a.g.offsets[v], last = a.g.offsets[v + 1]; e < last; e++) {
            u32 u = a.g.columns[e];
            if (!is_located(a.g, u)) continue;
            if (k++ == 0) one = position_of(a.g, u);
            else two = position_of(a.g, u);
        }
        Point sum = plus(one, two);
        bool middle = k == 2 && sqrt(dot(sum, sum)) > SAME;
        answer(a, i, middle ? normal(sum) : one);
        arcs += k;
    }
    report(a, 0, arcs);
}

struct Status {  // @host
    u64 passes, arcs;
};

struct SettleArgs {  // @host
    GraphArgs g;
    Status* status;
    u32 start[CLASSES + 1];
    u32 unit[CLASSES];
    u32 base[REPLICAS][CLASSES];  // where a rank's results of a class begin
    Turns turns;
    u32 number, unused;
};

// Writes what all ranks found to where the next wave looks for it.
extern "C" __global__ void geo_settle(const SettleArgs a) {
    u32 total = a.start[CLASSES];
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        u32 c = 0;
        while (i >= a.start[c + 1]) c++;
        u32 place = i - a.start[c], unit = a.unit[c], dealt = place / unit;
        u32 turn = dealt % a.turns.cycle, r = a.turns.rank[turn];
        u32 nth = dealt / a.turns.cycle * a.turns.of[r] + a.turns.earlier[turn];
        u32 at = a.base[r][c] + nth * unit + place % unit;
        u32 v = a.g.queue[i];
        const double* from = a.g.found + 3ull * at;
        double* to = a.g.position + 4ull * v;
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
        a.g.wave[v] = a.number;
        a.g.count[v] = 0;
        atomicOr(a.g.located + (v >> 5), 1u << (v & 31u));
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        a.status->passes = a.g.control[0];
        a.status->arcs = a.g.control[1];
    }
}
