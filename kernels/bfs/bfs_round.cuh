// What the rounds of bfs.cu share: arguments, counters, claiming and listing nodes.
#pragma once

#include "joint.cuh"
#include "queue.cuh"

// Whether levels of many arcs may be pushed blindly. Searches of other graphs are faster without the code for it.
#ifndef HIVE_BLIND
#define HIVE_BLIND 0
#endif

#define THREADS 512u  // @host
#define MANY 8388608.0f  // @host arcs from which a push is a large one
#define MANY_SHARE 0.005f  // @host of do_a, for large pushes
#define HUGE 4096u   // arcs that a warp follows alone in a bitmap push; those of more are dealt over the grid
#define LANE_ARCS 32u  // arcs that a lane looks at alone, after the record, before its warp helps
#define LANE_BATCH 4u  // at a time
#define PATIENCE 2048u  // arcs of a row that a warp looks at before it leaves the rest to a block
#define HUBS 4.0f      // a frontier has hubs if its nodes have so many times the mean degree
#define PUSHED_G 75.0f   // G/s: arcs of a blind push
#define PULLED_G 145.0f  // arcs that a pull looks at
#define OPENED_G 40.0f   // nodes for which a pull begins to look
#define BLIND (1u << 22)  // arcs from which a push marks what it leads to, and looks later what is new
#define HUB_WORDS 1024u  // of the bitmaps; there a few nodes may have most of the arcs
#define GROUP 8u      // words that a warp pulls at a time
#define WIDE 4u       // arcs that each lane has under way in a long row
#define SOLO 128u     // frontier nodes, and their arcs, that one block works off alone
#define SOLO_ARCS 2048u
#define SOLO_LEVELS 1024u  // before it looks up: the others wait with a deadline

enum Task { FINISH = 0, GROW = 1, PULL = 2, PUSH = 3, JOINT = 5 };  // @host
enum Way { AUTO = 0, ONLY_PUSH = 1, ONLY_PULL = 2 };  // @host

struct BfsStatus {  // @host
    u64 nodes;    // frontier left
    u64 arcs;     // out of it; ~0 where not counted
    u64 looked;   // arcs looked at
    u64 found;    // nodes reached, in all levels
    u32 rounds;
    u32 parity;   // 1 when front and next have changed places
    u32 stopped;  // 1 after a deadline or abort
    u32 want_pull;  // GROW stopped where a pull pays
    u32 meetings;   // entries in the log
    u32 unused;
};

// Three sets of round counters are used in turn: one is filled, one is read, one is cleared.
struct BfsRound {  // @host
    u64 nodes, arcs;
    u64 found;   // in all levels that one block did alone; their arcs where it could not begin
    u64 levels;  // and how many these are
};
struct BfsControl {  // @host
    Meeting barrier;
    u32 huge[3];  // entries of the list below
    u32 unused;
    BfsRound round[3];
    u64 looked;
};

struct BfsArgs {  // @host
    const offset_t* out_offsets;
    const u32* out_columns;
    const offset_t* in_offsets;
    const u32* in_columns;
    const uint2* pairs;  // [active] the first two in-neighbours, padded with the node itself
    u32* level;    // [active]
    u32* front;    // [words] bitmap
    u32* next;     // [words]
    u32* visited;  // [words]
    u32* queue;    // [2][2 * QUEUE] nodes, then degrees; rounds alternate
    u32* huge;     // [active] rows of a bitmap push that are dealt over the grid; of a pull, those left to blocks
    BfsControl* control;
    BfsStatus* status;  // pinned
    const u32* abort;   // pinned
    RoundLog* log;      // pinned, or NULL
    u64 deadline_ns;
    u64 arcs;       // of the graph
    u64 nodes_in;   // of the frontier
    u64 arcs_in;    // out of it; ~0 where not counted
    u64 reached;    // nodes reached so far, the frontier's included
    u64 reachable;  // nodes with an in-arc
    float do_a, do_b;
    u32 active;
    u32 lo, hi;  // the chunk
    u32 depth;   // level of the frontier
    u32 task, way;
    u32 queued;  // entries in `queue`, FULL when the frontier is in the bitmap
    u32 absorb;  // bits of `front` that others found are to be taken over
    u32 dirty;   // `next` is not all zero
    u32 pulled;  // the frontier was found by a pull
    Joint joint;                  // JOINT alone reads what follows
    u32* bitmaps[2][REPLICAS];  // everybody's `front` and `next`
};

// What is known of the frontier, in every block.
struct BfsKnown {
    u64 nodes;
    u64 arcs;     // out of it; ~0 where not counted
    u64 reached;  // so far, these included
    u32 queued;   // entries in the queue, FULL when it is in the bitmap
    u32 depth;
    u32 levels;   // that the last meeting stands for; 0: one block could not begin
};

struct BfsShared {
    u32 prefix[QUEUE + 1];
    u32 node[QUEUE];
    u32 stage[QUEUE];
    u32 rest[THREADS / 32][GROUP * 32];  // of a warp's group, nodes that go on beyond their record
    u32 hits[THREADS / 32][GROUP];       // and which of them found something
    u64 room[THREADS / 32];
    BfsKnown known;
    u32 staged;
    u32 at;
};

// A bit of a bitmap that nobody writes in this round: through L1, which the barrier's fence has emptied.
__device__ __forceinline__ bool has(const u32* bits, u32 v) {
    return bits[v >> 5] >> (v & 31u) & 1u;
}

// Claims v for the next level; counts its arcs where it is new.
__device__ __forceinline__ void claim(const BfsArgs& a, BfsShared& s, u32* next, u32 v, u32 level,
                                      u64& arcs) {
    u32 bit = 1u << (v & 31u);
    u32* seen = a.visited + (v >> 5);
    if (fresh(seen) & bit) return;
    if (atomicOr(seen, bit) & bit) return;
    __stcg(a.level + v, level);
    atomicOr(next + (v >> 5), bit);
    arcs += degree_of(a.out_offsets, v);
    u32 at = atomicAdd(&s.staged, 1u);
    if (at < QUEUE) s.stage[at] = v;
}

// Whether to pull, from what is known of the frontier. `pulls` of src/algorithm/bfs/plan.rs is the same arithmetic; here
// pulls may be shared by GPUs beside.
__device__ __forceinline__ bool pulls(const BfsArgs& a, bool pulled, u64 nodes, u64 arcs, u64 reached) {
    if (a.way != AUTO) return a.way == ONLY_PULL;
    float mean = (float)a.arcs / (float)max(a.reachable, 1ull);
    float forward = arcs != ~0ull ? (float)arcs : (float)nodes * mean;
    float open = (float)(a.reachable > reached ? a.reachable - reached : 0);
    float backward = open * fminf(mean, (float)a.arcs / fmaxf(forward, 1.0f));
    bool many = forward > MANY;
    // Shared, as pushes are not; a large one is still better than a pull that hardly finds anybody.
    if (a.task == JOINT && !many) backward /= (float)a.joint.world;
    float pushing = many ? MANY_SHARE * a.do_a : a.do_a, pulling = many ? fminf(a.do_b, pushing) : a.do_b;
    return forward > (pulled ? pulling : pushing) * backward;
}

// Whether nodes of the frontier have much higher degrees than others.
__device__ __forceinline__ bool hubs_in(const BfsArgs& a, const BfsKnown& k) {
    return (float)k.arcs > HUBS * (float)k.nodes * ((float)a.arcs / (float)max(a.reachable, 1ull));
}

// Whether to push although `pulls` says to pull. `pulls` expects that most nodes find a hub of the frontier among their first
// neighbours. If a sample of unreached nodes does not, a pull looks at one arc after another, and the estimated times of both
// are compared. All threads of a block take part, and all blocks find the same.
__device__ bool pushes_blindly(const BfsArgs& a, const u32* front, u64 arcs, u64 reached) {
    u32 v = (u32)((u64)threadIdx.x * a.active / THREADS), hits = 0;
    bool open = !has(a.visited, v);
    if (open) {
        uint2 pair = __ldg(a.pairs + v);
        hits = (pair.x != v && has(front, pair.x)) || (pair.y != v && has(front, pair.y));
    }
    u32 tried = __syncthreads_count(open), found = __syncthreads_count(hits);
    if (2 * found >= tried) return false;
    float mean = (float)a.arcs / (float)max(a.reachable, 1ull), missed = 1.0f - (float)found / (float)tried;
    float looks = missed * fminf(mean, (float)a.arcs / fmaxf((float)arcs, 1.0f));
    float left = (float)(a.reachable > reached ? a.reachable - reached : 0);
    return (float)arcs / PUSHED_G < left * (1.0f / OPENED_G + looks / PULLED_G);
}

// Ends a round: totals, and the queue of the next round where it fits.
__device__ void flush(const BfsArgs& a, BfsShared& s, u64 arcs, u32 round) {
    __syncthreads();
    BfsRound* r = &a.control->round[round % 3];
    arcs = block_sum(arcs, s.room);
    if (threadIdx.x == 0) {
        if (arcs) atomicAdd(&r->arcs, arcs);
        s.at = FULL;
        if (s.staged) s.at = (u32)min(atomicAdd(&r->nodes, (u64)s.staged), (u64)FULL);
    }
    __syncthreads();
    u32 count = s.staged;
    if (count && count <= QUEUE && s.at <= QUEUE - count) {
        u32* queue = a.queue + ((round + 1) & 1u) * 2 * QUEUE;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 v = s.stage[i];
            __stcg(queue + s.at + i, v);
            __stcg(queue + QUEUE + s.at + i, (u32)min(degree_of(a.out_offsets, v), (u64)FULL));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) s.staged = 0;
    __syncthreads();
}
