// The best moves of the nodes of a level, row by row (src/algorithm/communities).
//
// A node's arcs are added up by the community that they lead to; of those the best gain wins, then the lowest community. How that is done
// depends on the length of the row:
//
// `moves_few`: a team of 4 to 32 threads takes a row, an arc each, and compares all pairs. Longer rows are listed.
// `moves_rows`: a warp or a block takes a row, with a table in shared memory. Of the longest rows a block takes a piece, whose table it
// adds to one in global memory.
// `moves_choose`: a block takes a piece of such a table, and leaves it empty.
//
// With HIVE_PARTS nodes that are alone join parts of their communities (PARTS below); without, nodes move between communities. The host
// finds the same moves (src/algorithm/communities/moves.rs), so floats are not contracted.
//
// Compiled with: -fmad=false -DHIVE_PARTS=0 | -fmad=false -DHIVE_PARTS=1

#include "mix.cuh"

#define THREADS 256u  // @host
#define EACH 8u       // @host nodes of a thread of `moves_few`, at most
#define FEW 32u       // @host arcs of a row that a team takes, at most
#define SOME 256u     // @host a warp
#define MANY 2048u    // @host a block; arcs of a piece of a longer row

// Places of the tables, twice the arcs.
#define SOME_PLACES (2 * SOME)
#define MANY_PLACES (2 * MANY)
// Rows of a warp, one after another, before it asks for others.
#define ROWS 4u

static const u32 NONE = FULL;

struct MovesCounts {  // @host
    u32 some;    // rows for a warp
    u32 many;    // rows for a block
    u32 pieces;  // of longer ones
    u32 unused;
};

struct MovesArgs {  // @host
    const u32* target;     // [arcs]
    const u64* weight;     // [arcs]
    const u32* at;         // [nodes] where the arcs of a node begin
    const u32* count;      // [nodes] how many they are
    const u32* community;  // [nodes] PARTS: the part
    const u64* own;        // [nodes] what a node weighs
    const u64* total;      // [nodes] what a community or part weighs
    const u32* size;       // [nodes] its nodes
    const u32* active;     // [nodes] 1 where a node may move
    const u32* whole;      // [nodes] PARTS: the community
    const u64* of_whole;   // [nodes] what that weighs
    const u64* rest;       // [nodes] PARTS: the arcs from a part to others of its community
    u64* inner;            // [nodes] the arcs to the own community; PARTS: to others in it, only read
    u64* best;             // [nodes] gain and community; 0 where nothing is found
    u64* key;              // [2 arcs] tables of the longest rows: 1 more than a community; 0 before and after
    u64* sum;              // [2 arcs]
    u32* some;             // lists of rows
    u32* many;
    u64* pieces;           // the node, and the number of the piece below it
    MovesCounts* counts;   // 0 before
    double factor;
    u64 sweep;
    u32 nodes;
    u32 each;  // nodes of a thread of `moves_few`
    u32 turn, turns;
    u32 part, parts;  // this replica's nodes
};

__device__ __forceinline__ bool rests(const MovesArgs& a, u64 drawn) {
    return ((drawn >> 32) * a.turns) >> 32 != a.turn;
}

__device__ __forceinline__ u64 drawn_of(const MovesArgs& a, u32 v) { return mix(v + (a.sweep << 32)); }

__device__ __forceinline__ bool is_loose(const MovesArgs& a, u64 rest, u64 own, u64 all) {
    return (double)rest < a.factor * (double)own * (double)(all - own);
}

// Whether a node moves in this turn, by this replica's doing.
__device__ __forceinline__ bool moves(const MovesArgs& a, u32 v) {
#if HIVE_PARTS
    if (__ldg(a.size + v) != 1) return false;
#else
    if (__ldg(a.active + v) != 1) return false;
#endif
    u64 drawn = drawn_of(a, v);
    if (rests(a, drawn) || ((drawn & FULL) * a.parts) >> 32 != a.part) return false;
#if HIVE_PARTS
    return !is_loose(a, __ldg(a.inner + v), __ldg(a.own + v), __ldg(a.of_whole + v));
#else
    return true;
#endif
}

// A gain of at least a unit / 1024, in 32 bits that are in its order: the place of the highest bit, and 26 bits below that.
__device__ __forceinline__ u64 shortened(double gain) {
    u64 whole = (u64)(gain * 1024.0);
    if (whole == 0) return 0;
    u32 above = __clzll(whole);
    u64 below = (whole << above << 1) >> 38;
    return (u64)(64 - above) << 26 | below;
}

// A node that moves.
struct Mover {
    u32 v;
    u32 here;
    double own;
    double total;  // what its community weighs
    bool alone;
};

__device__ __forceinline__ Mover mover_of(const MovesArgs& a, u32 v) {
    Mover m = {v, __ldg(a.community + v), (double)__ldg(a.own + v), 0, true};
#if HIVE_PARTS
    m.here = __ldg(a.whole + v);
#else
    m.total = (double)__ldg(a.total + m.here);
    m.alone = __ldg(a.size + m.here) == 1;
#endif
    return m;
}

// Where an arc leads to; NONE where it does not count.
__device__ __forceinline__ u32 led_to(const MovesArgs& a, const Mover& m, u32 to) {
    if (to == m.v) return NONE;
#if HIVE_PARTS
    if (__ldg(a.whole + to) != m.here) return NONE;
#endif
    return __ldg(a.community + to);
}

// What a move gains, above the community upside down; `sum` is what the arcs there weigh, `inner` those to the own community.
__device__ __forceinline__ u64 rated(const MovesArgs& a, const Mover& m, u32 there, u64 sum, u64 inner) {
    u32 size = __ldg(a.size + there);
    u64 total = __ldg(a.total + there);
#if HIVE_PARTS
    double gain = (double)sum - a.factor * m.own * (double)total;
    if (sum == 0 || gain < 0) return 0;
    // A part whose node is asked in this turn may not be there after it.
    if (size == 1 && !rests(a, drawn_of(a, there))) return 0;
    if (is_loose(a, __ldg(a.rest + there), total, __ldg(a.of_whole + there))) return 0;
#else
    // Of two nodes that are alone, the higher goes to the lower.
    if (there == m.here || (m.alone && there > m.here && size == 1)) return 0;
    double between = (double)sum - (double)inner;
    double others = (double)total - m.total + m.own;
    double gain = between - a.factor * m.own * others;
    if (!(gain > 0)) return 0;
#endif
    return shortened(gain) << 32 | (NONE - there);
}

template <u32 TEAM>
__device__ __forceinline__ u64 team_max(u64 value) {
#pragma unroll
    for (u32 step = TEAM / 2; step > 0; step /= 2) {
        u64 other = __shfl_xor_sync(FULL, value, step);
        if (other > value) value = other;
    }
    return value;
}

// Rows of the nodes behind `first` that the block has listed, a team a row.
template <u32 TEAM>
__device__ __forceinline__ void take_few(const MovesArgs& a, const unsigned short* rows, u32 count, u32 first) {
    u32 lane = threadIdx.x % TEAM;
    for (u32 from = 32 / TEAM * warp_id(); from < count; from += THREADS / TEAM) {
        u32 i = from + lane_id() / TEAM, to = NONE;
        bool has = i < count;
        u64 weight = 0;
        Mover m = {0, NONE, 0, 0, false};
        if (has) {
            m = mover_of(a, first + rows[i]);
            if (lane < __ldg(a.count + m.v)) {
                u64 arc = (u64)__ldg(a.at + m.v) + lane;
                to = led_to(a, m, __ldg(a.target + arc));
                weight = __ldg(a.weight + arc);
            }
        }
        u64 sum = 0, inner = 0;
        bool is_first = to != NONE;
#pragma unroll
        for (u32 other = 0; other < TEAM; other++) {
            u32 there = __shfl_sync(FULL, to, other, TEAM);
            u64 more = __shfl_sync(FULL, weight, other, TEAM);
            if (there == to) {
                sum += more;
                if (other < lane) is_first = false;
            }
            if (there == m.here) inner += more;
        }
        u64 told = team_max<TEAM>(is_first ? rated(a, m, to, sum, inner) : 0);
        if (has && lane == 0 && told) a.best[m.v] = told;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) moves_few(const MovesArgs a) {
    // By length: for teams of 4, 8, 16 and 32, for a warp and for a block.
    __shared__ unsigned short rows[6][EACH * THREADS];
    __shared__ u32 counts[6], begins[2];
    if (threadIdx.x < 6) counts[threadIdx.x] = 0;
    __syncthreads();
    u32 first = blockIdx.x * a.each * THREADS;
    for (u32 i = threadIdx.x; i < a.each * THREADS; i += THREADS) {
        u32 v = first + i;
        if (v >= a.nodes || !moves(a, v)) continue;
        u32 count = __ldg(a.count + v);
        if (count == 0) continue;
        if (count > MANY) {
#if !HIVE_PARTS
            a.inner[v] = 0;
#endif
            u32 pieces = (count + MANY - 1) / MANY, at = atomicAdd(&a.counts->pieces, pieces);
            for (u32 piece = 0; piece < pieces; piece++) a.pieces[at + piece] = (u64)v << 32 | piece;
            continue;
        }
        u32 kind = count <= 4 ? 0 : count <= 8 ? 1 : count <= 16 ? 2 : count <= FEW ? 3 : count <= SOME ? 4 : 5;
        rows[kind][atomicAdd(counts + kind, 1)] = (unsigned short)i;
    }
    __syncthreads();
    if (threadIdx.x < 2 && counts[4 + threadIdx.x]) {
        begins[threadIdx.x] = atomicAdd(threadIdx.x ? &a.counts->many : &a.counts->some, counts[4 + threadIdx.x]);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < counts[4]; i += THREADS) a.some[begins[0] + i] = first + rows[4][i];
    for (u32 i = threadIdx.x; i < counts[5]; i += THREADS) a.many[begins[1] + i] = first + rows[5][i];
    take_few<32>(a, rows[3], counts[3], first);
    take_few<16>(a, rows[2], counts[2], first);
    take_few<8>(a, rows[1], counts[1], first);
    take_few<4>(a, rows[0], counts[0], first);
}

// A table in shared memory: communities, and the two halves of what their arcs weigh.
struct Table {
    u32* key;
    u32* low;
    u32* high;
    u32 bits;  // of a place

    __device__ __forceinline__ u32 places() const { return 1u << bits; }

    __device__ __forceinline__ void empty(u32 place) {
        key[place] = NONE;
        low[place] = 0;
        high[place] = 0;
    }

    __device__ __forceinline__ void add(u32 community, u64 weight) {
        u32 place = (community * 0x9e3779b1u) >> (32 - bits);
        while (true) {
            u32 there = ((volatile u32*)key)[place];
            if (there == NONE) there = atomicCAS(key + place, NONE, community);
            if (there == NONE || there == community) break;
            place = (place + 1) & (places() - 1);
        }
        u32 more = (u32)weight, before = atomicAdd(low + place, more);
        u32 upper = (u32)(weight >> 32) + (before + more < before);
        if (upper) atomicAdd(high + place, upper);
    }

    __device__ __forceinline__ u64 at(u32 place) const { return (u64)high[place] << 32 | low[place]; }

    __device__ __forceinline__ u64 of(u32 community) const {
        u32 place = (community * 0x9e3779b1u) >> (32 - bits);
        while (key[place] != community) {
            if (key[place] == NONE) return 0;
            place = (place + 1) & (places() - 1);
        }
        return at(place);
    }
};

// The bits of a place of a table for so many arcs: at least half of the places stay empty.
__device__ __forceinline__ u32 bits_for(u32 arcs) { return 33 - __clz(arcs - 1); }

// The best of this thread's places of the table of a whole row, one in `threads`.
__device__ __forceinline__ u64 best_of(const MovesArgs& a, const Mover& m, const Table& table, u32 thread, u32 threads) {
    u64 inner = HIVE_PARTS ? 0 : table.of(m.here), told = 0;
    for (u32 place = thread; place < table.places(); place += threads) {
        u32 there = table.key[place];
        if (there == NONE) continue;
        u64 one = rated(a, m, there, table.at(place), inner);
        if (one > told) told = one;
    }
    return told;
}

__device__ __forceinline__ void take_some(const MovesArgs& a, Table table, u32 v) {
    Mover m = mover_of(a, v);
    u32 count = __ldg(a.count + v);
    u64 at = __ldg(a.at + v);
    table.bits = bits_for(count);
    for (u32 place = lane_id(); place < table.places(); place += 32) table.empty(place);
    __syncwarp();
    for (u32 i = lane_id(); i < count; i += 32) {
        u32 to = led_to(a, m, __ldg(a.target + at + i));
        if (to != NONE) table.add(to, __ldg(a.weight + at + i));
    }
    __syncwarp();
    u64 told = team_max<32>(best_of(a, m, table, lane_id(), 32));
    if (lane_id() == 0 && told) a.best[v] = told;
    __syncwarp();
}

// The arcs of a row from `at` on, of a block: those of a row, or a piece of one.
__device__ __forceinline__ void tally(const MovesArgs& a, const Mover& m, Table table, u64 at, u32 count) {
    for (u32 place = threadIdx.x; place < table.places(); place += THREADS) table.empty(place);
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += THREADS) {
        u32 to = led_to(a, m, __ldg(a.target + at + i));
        if (to != NONE) table.add(to, __ldg(a.weight + at + i));
    }
    __syncthreads();
}

// The place of a community in the table of a long row.
__device__ __forceinline__ u64 claim(const MovesArgs& a, u32 community, u64 first, u64 words) {
    u64 name = (u64)community + 1, place = ((mix(name) >> 32) * words) >> 32;
    while (true) {
        u64 there = fresh(a.key + first + place);
        if (there == 0) there = atomicCAS(a.key + first + place, 0, name);
        if (there == 0 || there == name) return first + place;
        if (++place == words) place = 0;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) moves_rows(const MovesArgs a) {
    __shared__ u32 words[3 * MANY_PLACES];
    u32 pieces = a.counts->pieces, many = a.counts->many, some = a.counts->some;
    u32 of_some = ROWS * THREADS / 32, items = pieces + many + (some + of_some - 1) / of_some;
    Table table = {words, words + MANY_PLACES, words + 2 * MANY_PLACES, 0};
    for (u32 item = blockIdx.x; item < items; item += gridDim.x) {
        if (item < pieces) {
            u32 v = (u32)(a.pieces[item] >> 32), piece = (u32)a.pieces[item];
            Mover m = mover_of(a, v);
            u64 at = __ldg(a.at + v), all = __ldg(a.count + v), behind = (u64)piece * MANY;
            u32 count = (u32)min(all - behind, (u64)MANY);
            table.bits = bits_for(MANY);
            tally(a, m, table, at + behind, count);
            for (u32 place = threadIdx.x; place < table.places(); place += THREADS) {
                u32 to = table.key[place];
                if (to == NONE) continue;
                u64 weight = table.at(place);
                atomicAdd(a.sum + claim(a, to, 2 * at, 2 * all), weight);
#if !HIVE_PARTS
                if (to == m.here) atomicAdd(a.inner + v, weight);
#endif
            }
        } else if (item < pieces + many) {
            u32 v = a.many[item - pieces], count = __ldg(a.count + v);
            Mover m = mover_of(a, v);
            table.bits = bits_for(count);
            tally(a, m, table, __ldg(a.at + v), count);
            u64 told = team_max<32>(best_of(a, m, table, threadIdx.x, THREADS));
            if (lane_id() == 0 && told) atomicMax(a.best + v, told);
        } else {
            u32* own = words + 3 * SOME_PLACES * warp_id();
            Table small = {own, own + SOME_PLACES, own + 2 * SOME_PLACES, 0};
            u32 first = (item - pieces - many) * of_some + warp_id();
            for (u32 i = first; i < some && i < first + of_some; i += THREADS / 32) take_some(a, small, a.some[i]);
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) moves_choose(const MovesArgs a) {
    for (u32 item = blockIdx.x; item < a.counts->pieces; item += gridDim.x) {
        u32 v = (u32)(a.pieces[item] >> 32), piece = (u32)a.pieces[item];
        Mover m = mover_of(a, v);
        u64 inner = HIVE_PARTS ? 0 : a.inner[v], told = 0;
        u64 first = 2 * (u64)__ldg(a.at + v), words = 2 * (u64)__ldg(a.count + v);
        u64 from = (u64)piece * MANY_PLACES, end = min(from + MANY_PLACES, words);
        for (u64 place = first + from + threadIdx.x; place < first + end; place += THREADS) {
            u64 name = a.key[place];
            if (name == 0) continue;
            u64 one = rated(a, m, (u32)(name - 1), a.sum[place], inner);
            if (one > told) told = one;
            a.key[place] = 0;
            a.sum[place] = 0;
        }
        told = team_max<32>(told);
        if (lane_id() == 0 && told) atomicMax(a.best + v, told);
    }
}
