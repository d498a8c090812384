// Breadth-first search: a bitmap a level, pushed or pulled, whole searches in one launch.
//
// Idea. Push: each node of the frontier claims its out-neighbours that nobody has. Pull: each node that is not
// reached looks for an in-neighbour in the frontier and stops at the first; in-neighbours of high degree come
// first in a row (labels fall by degree), and the first two lie in a record of their own, so that most nodes
// look at eight bytes. Small frontiers are queues whose arcs are dealt evenly over the whole grid.
//
// Invariant between rounds: level[v] and the bit of v in `visited` are set for every node reached; `front` holds
// the nodes of level `depth`. Before a push `next` is all zero; a pull writes all of it. The set of a level is the
// same in whatever order it is found, so redundant replicas stay equal.
//
// Which way: with F the arcs out of the frontier (counted where nodes are found by pushes, else nodes x mean
// degree) and P the arcs a pull is expected to look at, unreached nodes x min(mean degree, m / F): push
// turns to pull when F > do_a P, pull to push when F < do_b P. No pass is made for it. Large pushes, of more than MANY
// arcs, are slow for an arc, since they find most of what is left, and pulls fast: they turn at a twentieth of that.
//
// Jointly (bfs_joint), replicas on several GPUs push redundantly, without a word, and pull together: groups of words are
// dealt out, an owner stores what it found into everybody's bitmap, and all meet (joint.cuh). Whoever gets a frontier
// notes its level while it works on the next. Before pulls that follow pushes all meet too, since a bitmap that is
// written from outside must be one that nobody reads any more.
//
// Source: Beamer, Asanovic, Patterson, SC 2012 (direction); Merrill, Garland, Grimshaw, PPoPP 2012 (dealing arcs);
// the thresholds' names are Gunrock's.
//
// Compiled with: -DHIVE_WIDE=0 | -DHIVE_WIDE=1

#include "joint.cuh"

#define QUEUE 2048u  // frontier nodes that a queue round takes
#define THREADS 512u
#define MANY 8388608.0f  // as in src/algorithm/bfs/driver.rs
#define HUGE 4096u   // arcs from which a row of a bitmap push is dealt over the grid
#define LANE_ARCS 32u  // arcs that a lane looks at alone, after the record, before its warp helps
#define LANE_BATCH 4u  // at a time
#define PATIENCE 2048u  // arcs of a row that a warp looks at before it leaves the rest to a block
#define GROUP 8u      // words that a warp pulls at a time
#define WIDE 4u       // arcs that each lane has under way in a long row

enum Task { FINISH = 0, GROW = 1, PULL = 2, PUSH = 3, JOINT = 5 };
enum Way { AUTO = 0, ONLY_PUSH = 1, ONLY_PULL = 2 };

struct BfsStatus {
    u64 nodes;    // frontier left
    u64 arcs;     // out of it; ~0 where not counted
    u64 looked;   // arcs looked at
    u64 found;    // nodes reached, in all levels
    u32 rounds;
    u32 parity;   // 1 when front and next have changed places
    u32 stopped;  // 1 after a deadline or abort
    u32 want_pull;  // GROW stopped where a pull pays
};

// Three sets of round counters are used in turn: one is filled, one is read, one is cleared.
struct BfsRound {
    u64 nodes, arcs;
};
struct BfsControl {
    Meeting barrier;
    u32 huge[3];  // entries of the list of huge rows
    u32 unused;
    BfsRound round[3];
    u64 looked;
};

struct BfsArgs {
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
    u32* huge;     // [active] huge rows of a bitmap push; of a pull, rows that are left to blocks
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

struct BfsShared {
    u32 prefix[QUEUE + 1];
    u32 node[QUEUE];
    u32 stage[QUEUE];
    u32 rest[THREADS / 32][GROUP * 32];  // of a warp's group, nodes that go on beyond their record
    u32 hits[THREADS / 32][GROUP];       // and which of them found something
    u64 room[THREADS / 32];
    u32 staged;
    u32 at;
};

__device__ __forceinline__ u64 degree_of(const offset_t* offsets, u32 v) {
    return (u64)__ldg(offsets + v + 1) - (u64)__ldg(offsets + v);
}

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

// Stages a warp's new nodes; all lanes call it.
__device__ __forceinline__ void stage(BfsShared& s, u32 lanes, u32 v) {
    if (!lanes) return;
    u32 at = 0;
    if (lane_id() == 0) at = atomicAdd(&s.staged, (u32)__popc(lanes));
    at = __shfl_sync(FULL, at, 0) + __popc(lanes & ((1u << lane_id()) - 1u));
    if ((lanes >> lane_id() & 1u) && at < QUEUE) s.stage[at] = v;
}

// Largest i with prefix[i] <= x, for prefix[0] <= x.
__device__ __forceinline__ u32 find(const u32* prefix, u32 count, u32 x) {
    u32 low = 0, high = count;
    while (high - low > 1) {
        u32 middle = (low + high) >> 1;
        if (prefix[middle] <= x) low = middle;
        else high = middle;
    }
    return low;
}

// Follows the arcs of s.node, which begin at s.prefix, a part of them in each block.
__device__ void follow(const BfsArgs& a, BfsShared& s, u32* next, u32 count, u64 total, u32 level, u64& arcs,
                       u32& looked) {
    u64 slice = (total + gridDim.x - 1) / gridDim.x;
    u64 start = min(slice * blockIdx.x, total), end = min(start + slice, total);
    for (u64 i = start + threadIdx.x; i < end; i += blockDim.x) {
        u32 e = find(s.prefix, count, (u32)i);
        u64 arc = (u64)__ldg(a.out_offsets + s.node[e]) + (i - s.prefix[e]);
        looked++;
        claim(a, s, next, __ldg(a.out_columns + arc), level, arcs);
    }
}

// A queue of up to QUEUE nodes, its arcs dealt evenly over the grid. False when they are too many for that.
__device__ bool push_queue(const BfsArgs& a, BfsShared& s, u32* front, u32* next, u32 count,
                           u32 round, u32 level, u64& arcs, u32& looked) {
    const u32* queue = a.queue + (round & 1u) * 2 * QUEUE;
    u32 per = (count + blockDim.x - 1) / blockDim.x;
    u32 first = min(threadIdx.x * per, count), last = min(first + per, count);
    u64 mine = 0, total;
    for (u32 i = first; i < last; i++) mine += fresh(queue + QUEUE + i);
    u64 before = block_scan(mine, s.room, &total);
    if (total >= FULL) return false;
    for (u32 i = first; i < last; i++) {
        u32 v = fresh(queue + i);
        s.prefix[i] = (u32)before;
        s.node[i] = v;
        before += fresh(queue + QUEUE + i);
        if (blockIdx.x == 0) __stcg(front + (v >> 5), 0u);
    }
    if (threadIdx.x == 0) s.prefix[count] = (u32)total;
    __syncthreads();
    follow(a, s, next, count, total, level, arcs, looked);
    return true;
}

// The listed huge rows, as many at a time as fit, their arcs dealt evenly over the grid.
__device__ void push_huge(const BfsArgs& a, BfsShared& s, u32* next, u32 listed, u32 level, u64& arcs,
                          u32& looked) {
    for (u32 base = 0, count; base < listed; base += count) {
        count = min(QUEUE, listed - base);
        u64 before, total;
        u32 first, last;
        for (;; count = (count + 1) / 2) {
            u32 per = (count + blockDim.x - 1) / blockDim.x;
            first = min(threadIdx.x * per, count), last = min(first + per, count);
            u64 mine = 0;
            for (u32 i = first; i < last; i++) {
                mine += degree_of(a.out_offsets, fresh(a.huge + base + i));
            }
            before = block_scan(mine, s.room, &total);
            if (total < FULL || count == 1) break;
        }
        if (total >= FULL) {
            // One row of four billion arcs.
            u32 v = fresh(a.huge + base);
            u64 stride = (u64)gridDim.x * blockDim.x;
            for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += stride) {
                looked++;
                claim(a, s, next, __ldg(a.out_columns + __ldg(a.out_offsets + v) + i), level, arcs);
            }
            continue;
        }
        for (u32 i = first; i < last; i++) {
            u32 v = fresh(a.huge + base + i);
            s.prefix[i] = (u32)before;
            s.node[i] = v;
            before += degree_of(a.out_offsets, v);
        }
        __syncthreads();
        follow(a, s, next, count, total, level, arcs, looked);
        __syncthreads();
    }
}

// A word of the frontier, which is cleared, by a warp: the arcs of its nodes are dealt to the lanes; huge rows are listed.
__device__ void push_word(const BfsArgs& a, BfsShared& s, u32* front, u32* next, u32 i, u32 bits, u32 round, u32 level,
                          u64& arcs, u32& looked) {
    u32 v = i * 32 + lane_id();
    u64 base = 0, row = 0;
    if (bits >> lane_id() & 1u) {
        base = __ldg(a.out_offsets + v);
        row = (u64)__ldg(a.out_offsets + v + 1) - base;
        if (row >= HUGE) {
            __stcg(a.huge + atomicAdd(&a.control->huge[round % 3], 1u), v);
            row = 0;
        }
    }
    u32 inclusive = (u32)row;
#pragma unroll
    for (u32 step = 1; step < 32; step <<= 1) {
        u32 other = __shfl_up_sync(FULL, inclusive, step);
        if (lane_id() >= step) inclusive += other;
    }
    u32 total = __shfl_sync(FULL, inclusive, 31), before = inclusive - (u32)row;
    for (u32 k = 0; k < total; k += 32) {
        // The lane whose node has arc k + lane: the last one that begins at or before it and has any.
        u32 wanted = k + lane_id(), owner = 0;
#pragma unroll
        for (u32 step = 16; step > 0; step >>= 1) {
            u32 ends = __shfl_sync(FULL, inclusive, owner + step - 1);
            if (ends <= wanted) owner += step;
        }
        owner = min(owner, 31u);
        u64 start = __shfl_sync(FULL, base, owner);
        u32 begin = __shfl_sync(FULL, before, owner);
        if (wanted < total) {
            looked++;
            claim(a, s, next, __ldg(a.out_columns + start + (wanted - begin)), level, arcs);
        }
    }
    __syncwarp();
    if (lane_id() == 0) __stcg(front + i, 0u);
}

// The frontier in words [from, to) of the bitmap; huge rows are dealt over the grid after a barrier. `step` words are
// looked at by a warp at a time: 32 where next to none has a node.
__device__ bool push_words(const BfsArgs& a, BfsShared& s, Grid& grid, u32* front, u32* next, u32 from, u32 to,
                           u32 step, u32 round, u32 level, u64& arcs, u32& looked) {
    u32 stride = gridDim.x * (blockDim.x >> 5) * step;
    for (u64 base = from + (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * step; base < to; base += stride) {
        u32 own = lane_id() < step && base + lane_id() < to ? fresh(front + base + lane_id()) : 0;
        for (u32 some = __ballot_sync(FULL, own != 0); some; some &= some - 1) {
            u32 k = __ffs(some) - 1;
            push_word(a, s, front, next, (u32)base + k, __shfl_sync(FULL, own, k), round, level, arcs, looked);
        }
    }
    if (!grid.sync()) return false;
    push_huge(a, s, next, fresh(&a.control->huge[round % 3]), level, arcs, looked);
    return true;
}

// Whether a warp finds a frontier node in its row's arcs [from, to); all lanes call it with the same.
__device__ bool warp_finds(const BfsArgs& a, const u32* front, u64 from, u64 to, u32& looked) {
    for (u64 base = from; base < to; base += 32 * WIDE) {
        bool hit = false;
#pragma unroll
        for (u32 k = 0; k < WIDE; k++) {
            u64 i = base + k * 32 + lane_id();
            if (i < to) {
                looked++;
                hit |= has(front, __ldg(a.in_columns + i));
            }
        }
        if (__ballot_sync(FULL, hit)) return true;
    }
    return false;
}

// A word of the next frontier, by its owner.
template <bool TOGETHER>
__device__ __forceinline__ void found_word(const BfsArgs& a, u32* next, u32* const* copies, u32 word, u32 bits) {
    if (TOGETHER) give(a.joint, copies, next, word, bits);
    else __stcg(next + word, bits);
}

// After a barrier: rows that warps left to blocks, one each.
__device__ void pull_listed(const BfsArgs& a, BfsShared& s, const u32* front, u32* next, u32 listed, u32 level,
                            u32& looked) {
    for (u32 n = blockIdx.x; n < listed; n += gridDim.x) {
        u32 v = fresh(a.huge + n), bit = 1u << (v & 31u);
        u64 from = (u64)__ldg(a.in_offsets + v) + PATIENCE, to = __ldg(a.in_offsets + v + 1);
        bool found = false;
        for (u64 base = from; base < to && !found; base += 4 * THREADS) {
            bool hit = false;
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                u64 i = base + k * THREADS + threadIdx.x;
                if (i < to) {
                    looked++;
                    hit |= has(front, __ldg(a.in_columns + i));
                }
            }
            found = __syncthreads_or(hit);
        }
        if (!found || threadIdx.x != 0) continue;
        __stcg(a.level + v, level);
        atomicOr(a.visited + (v >> 5), bit);
        atomicOr(next + (v >> 5), bit);
        u32 at = atomicAdd(&s.staged, 1u);
        if (at < QUEUE) s.stage[at] = v;
    }
}

// After another: the words of such rows to all others. Not every pair of GPUs has atomics between them.
__device__ void share_listed(const BfsArgs& a, const u32* next, u32* const* copies, u32 listed) {
    for (u32 n = blockIdx.x * blockDim.x + threadIdx.x; n < listed; n += gridDim.x * blockDim.x) {
        u32 word = fresh(a.huge + n) >> 5, bits = fresh(next + word);
        for (u32 r = 0; r < a.joint.world; r++) {
            if (r != a.joint.rank) __stcg(copies[r] + word, bits);
        }
    }
}

// A node of each lane's, beyond its record; found says whether a neighbour is in the frontier. All lanes call it.
__device__ __forceinline__ bool pull_row(const BfsArgs& a, const u32* front, bool live, u32 v, u32 round, u32& looked) {
    u64 i = 0, end = 0;
    bool found = false, longer = false;
    if (live) {
        i = __ldg(a.in_offsets + v);
        end = __ldg(a.in_offsets + v + 1);
        longer = end - i > PATIENCE;
        if (longer) end = i + PATIENCE;
        i += 2;
        for (u32 n = 0; n < LANE_ARCS && i < end && !found; n += LANE_BATCH, i += LANE_BATCH) {
            u32 u[LANE_BATCH];
#pragma unroll
            for (u32 k = 0; k < LANE_BATCH; k++) u[k] = i + k < end ? __ldg(a.in_columns + i + k) : v;  // v is not in it
#pragma unroll
            for (u32 k = 0; k < LANE_BATCH; k++) found |= has(front, u[k]);
            looked += (u32)min((u64)LANE_BATCH, end - i);
        }
    }
    // Rows that are longer: the whole warp, one after another.
    for (u32 left = __ballot_sync(FULL, live && !found && i < end); left; left &= left - 1) {
        u32 owner = __ffs(left) - 1;
        bool hit = warp_finds(a, front, __shfl_sync(FULL, i, owner), __shfl_sync(FULL, end, owner), looked);
        if (lane_id() == owner) found = hit;
    }
    if (longer && !found) __stcg(a.huge + atomicAdd(&a.control->huge[round % 3], 1u), v);
    return found;
}

// Nodes not reached, of words [from, to), look for a neighbour in the frontier. A warp takes GROUP words at a time,
// so that words with nobody left cost next to nothing, and has the records of two of them under way; nodes whose record does
// not settle it are gathered from all of them, so that lanes that go on go on together. Together, groups are dealt to
// replicas in turn.
template <bool TOGETHER>
__device__ void pull(const BfsArgs& a, BfsShared& s, const u32* front, u32* next, u32* const* copies, u32 from, u32 to,
                     u32 round, u32 level, u32& looked) {
    u32 warps = gridDim.x * (blockDim.x >> 5), lane = lane_id();
    u32 groups = (to - from + GROUP - 1) / GROUP, turn = blockIdx.x * (blockDim.x >> 5) + warp_id();
    u32 *rest = s.rest[warp_id()], *hits = s.hits[warp_id()];
    if (TOGETHER) {
        turn = turn * a.joint.world + a.joint.rank;
        warps *= a.joint.world;
    }
    for (u64 g = turn; g < groups; g += warps) {
        u32 base = from + (u32)g * GROUP, word = base + lane, seen = FULL, valid = 0, mine = 0, waiting = 0;
        if (lane < GROUP) hits[lane] = 0;
        if (lane < GROUP && word < to) {
            seen = fresh(a.visited + word);
            u32 nodes = a.active - word * 32;
            valid = nodes >= 32 ? FULL : (1u << nodes) - 1u;
        }
        u32 open = ~seen & valid;
        for (u32 left = __ballot_sync(FULL, open != 0); left;) {
            u32 at[2], v[2];
            bool is[2];
            uint2 pair[2];
#pragma unroll
            for (u32 k = 0; k < 2; k++) {
                at[k] = left ? __ffs(left) - 1 : 0;
                u32 bits = __shfl_sync(FULL, open, at[k]);
                is[k] = left && (bits >> lane & 1u);
                left &= left - 1;
                v[k] = (base + at[k]) * 32 + lane;
                if (is[k]) pair[k] = __ldcs(a.pairs + v[k]);
            }
#pragma unroll
            for (u32 k = 0; k < 2; k++) {
                bool found = false, more = false;
                if (is[k]) {
                    looked += 2;
                    bool first = has(front, pair[k].x), second = has(front, pair[k].y);
                    found = (first && pair[k].x != v[k]) || (second && pair[k].y != v[k]);
                    more = !found && pair[k].y != v[k];
                }
                u32 lanes = __ballot_sync(FULL, found);
                if (found) __stcg(a.level + v[k], level);
                stage(s, lanes, v[k]);
                if (lane == at[k]) mine |= lanes;
                u32 others = __ballot_sync(FULL, more);
                if (more) rest[waiting + __popc(others & ((1u << lane) - 1u))] = v[k];
                waiting += __popc(others);
            }
        }
        __syncwarp();
        for (u32 n = 0; n < waiting; n += 32) {
            bool live = n + lane < waiting;
            u32 v = live ? rest[n + lane] : 0;
            bool found = pull_row(a, front, live, v, round, looked);
            u32 lanes = __ballot_sync(FULL, found);
            if (found) {
                __stcg(a.level + v, level);
                atomicOr(hits + ((v >> 5) - base), 1u << (v & 31u));
            }
            stage(s, lanes, v);
        }
        __syncwarp();
        if (lane < GROUP && word < to) {
            mine |= hits[lane];
            found_word<TOGETHER>(a, next, copies, word, mine);
            if (mine) __stcg(a.visited + word, seen | mine);
        }
    }
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

// Notes the nodes that other replicas found: a warp has 32 words at a time.
__device__ void take_over(const BfsArgs& a, const u32* front, u32 words, u32 level) {
    u32 warps = gridDim.x * (blockDim.x >> 5);
    for (u64 base = (u64)(blockIdx.x * (blockDim.x >> 5) + warp_id()) * 32; base < words; base += (u64)warps * 32) {
        u32 i = (u32)base + lane_id(), bits = 0;
        if (i < words) {
            u32 seen = fresh(a.visited + i);
            bits = fresh(front + i) & ~seen;
            if (bits) __stcg(a.visited + i, seen | bits);
        }
        for (u32 some = __ballot_sync(FULL, bits != 0); some; some &= some - 1) {
            u32 at = __ffs(some) - 1, mine = __shfl_sync(FULL, bits, at);
            if (mine >> lane_id() & 1u) __stcg(a.level + ((u32)base + at) * 32 + lane_id(), level);
        }
    }
}

__device__ void clear(u32* words, u32 count) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        __stcg(words + i, 0u);
}

// Takes over the nodes that other replicas found.
__device__ void absorb(const BfsArgs& a, const u32* front, u32 words, u32 level) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        u32 seen = fresh(a.visited + i), bits = fresh(front + i) & ~seen;
        if (!bits) continue;
        __stcg(a.visited + i, seen | bits);
        for (; bits; bits &= bits - 1) __stcg(a.level + i * 32 + __ffs(bits) - 1, level);
    }
}

// Whether to pull, from what is known of the frontier.
__device__ bool pulls(const BfsArgs& a, bool pulled, u64 nodes, u64 arcs, u64 reached) {
    if (a.way != AUTO) return a.way == ONLY_PULL;
    float mean = (float)a.arcs / (float)max(a.reachable, 1ull);
    float forward = arcs != ~0ull ? (float)arcs : (float)nodes * mean;
    float open = (float)(a.reachable > reached ? a.reachable - reached : 0);
    float backward = open * fminf(mean, (float)a.arcs / fmaxf(forward, 1.0f));
    if (a.task == JOINT) backward /= (float)a.joint.world;  // shared, as pushes are not
    bool many = forward > MANY;
    float pushing = many ? 0.05f * a.do_a : a.do_a, pulling = many ? fminf(a.do_b, pushing) : a.do_b;
    return forward > (pulled ? pulling : pushing) * backward;
}

// TOGETHER: task JOINT, else any other.
template <bool TOGETHER>
__device__ __forceinline__ void run(const BfsArgs& a) {
    __shared__ BfsShared s;
    Grid grid = {&a.control->barrier, a.abort, a.deadline_ns, 0, 0};
    if (threadIdx.x == 0) s.staged = 0;
    __syncthreads();

    u32* front = a.front;
    u32* next = a.next;
    u32 words = (a.active + 31) / 32;
    bool whole = TOGETHER || a.task == FINISH || a.task == GROW;
    u32 lo = whole ? 0 : a.lo / 32;
    u32 hi = whole ? words : (a.hi + 31) / 32;
    u64 nodes = a.nodes_in, arcs = a.arcs_in, reached = a.reached;
    u32 looked = 0;
    u32 queued = a.queued, depth = a.depth, round = 0, want_pull = 0;
    bool pulled = a.pulled, dirty = a.dirty;
    // Others' words of the frontier have not been noted; `next` may be written from outside.
    bool behind = false, ready = false;
    u64 epoch = TOGETHER ? fresh(&a.joint.mail[a.joint.rank]->epoch) : 0;
    note(a.log, 0, 0, 0, 0);
    if (a.absorb) {
        absorb(a, front, words, depth);
        grid.sync();
    }

    while (!grid.stopped) {
        bool pull_now = a.task == PULL || (whole && pulls(a, pulled, nodes, arcs, reached));
        if (a.task == PUSH) pull_now = false;
        if (pull_now && a.task == GROW) {
            want_pull = 1;
            break;
        }
        u64 nodes_in = nodes, arcs_in = arcs, found_arcs = 0;
        u32 kind;
        u32* const* copies = a.bitmaps[(round + 1) & 1u];
        if (TOGETHER) {
            Letter letter;
            if (pull_now && !ready && !meet(grid, a.joint, epoch, NULL, NULL, NULL, letter)) break;
            if (behind) take_over(a, front, words, depth);
            if (behind && !pull_now && !grid.sync()) break;
            behind = ready = pull_now;
        }
        if (pull_now) {
            kind = 3;
            pull<TOGETHER>(a, s, front, next, copies, lo, hi, round, depth + 1, looked);
        } else {
            if (dirty) {
                clear(next, words);
                if (!grid.sync()) break;
            }
            kind = 1;
            bool done = whole && queued <= QUEUE &&
                        push_queue(a, s, front, next, queued, round, depth + 1, found_arcs, looked);
            if (!done) {
                kind = 2;
                u32 step = nodes * 32 < hi - lo ? 32 : 1;
                if (!push_words(a, s, grid, front, next, lo, hi, step, round, depth + 1, found_arcs, looked)) break;
                if (!whole) clear(front, words);  // also the words of other chunks
            }
        }
        flush(a, s, found_arcs, round);
        BfsRound* r = &a.control->round[round % 3];
        bool all = TOGETHER && pull_now;
        if (!grid.sync()) break;
        u32 listed = pull_now ? fresh(&a.control->huge[round % 3]) : 0;
        if (listed) {
            pull_listed(a, s, front, next, listed, depth + 1, looked);
            flush(a, s, 0, round);
            if (!grid.sync()) break;
            if (all) share_listed(a, next, copies, listed);
        }
        if (all) {
            Letter letter;
            if (!meet(grid, a.joint, epoch, &r->nodes, NULL, NULL, letter)) break;
            nodes = letter.sum[0];
        } else {
            nodes = fresh(&r->nodes);
        }
        arcs = pull_now ? ~0ull : fresh(&r->arcs);
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            BfsRound* old = &a.control->round[(round + 2) % 3];
            __stcg(&old->nodes, 0ull);
            __stcg(&old->arcs, 0ull);
            __stcg(&a.control->huge[(round + 2) % 3], 0u);
        }
        u32* swap = front;
        front = next;
        next = swap;
        round++;
        note(a.log, round, kind, nodes_in, arcs_in == ~0ull ? 0 : arcs_in);
        dirty = pulled = pull_now;
        // A queue would have the own finds alone.
        queued = all ? FULL : (u32)min(nodes, (u64)FULL);
        reached += nodes;
        if (nodes == 0 || !whole) break;
        depth++;
    }
    u64 seen = block_sum(looked, s.room);
    if (threadIdx.x == 0 && seen) atomicAdd(&a.control->looked, seen);
    if (!grid.stopped) grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        BfsStatus* out = a.status;
        out->nodes = nodes;
        out->arcs = arcs;
        out->looked = fresh(&a.control->looked);
        out->rounds = round;
        out->parity = front != a.front;
        out->stopped = grid.stopped;
        out->found = reached - a.reached;
        out->want_pull = want_pull;
        if (TOGETHER) __stcg(&a.joint.mail[a.joint.rank]->epoch, epoch);
    }
}

extern "C" __global__ void __launch_bounds__(512, 2) bfs_run(const BfsArgs a) { run<false>(a); }

extern "C" __global__ void __launch_bounds__(512, 2) bfs_joint(const BfsArgs a) { run<true>(a); }


struct BfsStartArgs {
    u32* level;
    u32* front;
    u32* visited;
    u32* queue;
    const offset_t* out_offsets;
    u32 source;
    u32 active;
};

// The source at level 0, in the frontier and in the first queue.
extern "C" __global__ void bfs_start(const BfsStartArgs a) {
    u32 v = a.source;
    a.level[v] = 0;
    if (v >= a.active) return;
    a.front[v >> 5] |= 1u << (v & 31u);
    a.visited[v >> 5] |= 1u << (v & 31u);
    a.queue[0] = v;
    a.queue[QUEUE] = (u32)min(degree_of(a.out_offsets, v), (u64)FULL);
}

struct BfsRecordArgs {
    const offset_t* offsets;
    const u32* columns;
    u32* records;
    u32 active;
    u32 unused;
};

// records[2 v], [2 v + 1]: the first two neighbours that are not v itself, padded with v.
extern "C" __global__ void bfs_pairs(const BfsRecordArgs a) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.active;
         i += (u64)gridDim.x * blockDim.x) {
        u32 v = (u32)i, taken = 0, pair[2] = {v, v};
        u64 first = a.offsets[v], last = a.offsets[v + 1];
        // The record stands for the first two arcs: a self loop among them leaves its place empty, but the
        // second place says whether there is more.
        for (u64 k = first; k < last && taken < 2; k++, taken++) pair[taken] = a.columns[k];
        if (last - first > 2 && pair[1] == v) {
            u64 k = first;
            while (k < last && a.columns[k] == v) k++;
            if (k < last) pair[1] = a.columns[k];
        }
        a.records[2 * i] = pair[0];
        a.records[2 * i + 1] = pair[1];
    }
}

// records[4 v ...]: the first four neighbours, padded with v; the last is v only where no arc follows.
extern "C" __global__ void bfs_fours(const BfsRecordArgs a) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.active;
         i += (u64)gridDim.x * blockDim.x) {
        u32 v = (u32)i;
        u64 first = a.offsets[v], last = a.offsets[v + 1];
        u32 four[4] = {v, v, v, v};
        for (u32 k = 0; k < 4 && first + k < last; k++) four[k] = a.columns[first + k];
        if (last - first > 4 && four[3] == v) {
            u64 k = first;
            while (k < last && a.columns[k] == v) k++;
            if (k < last) four[3] = a.columns[k];
        }
        ((uint4*)a.records)[i] = make_uint4(four[0], four[1], four[2], four[3]);
    }
}

struct BfsCountArgs {
    const u32* level;
    const offset_t* offsets;
    u64* totals;  // zeroed: nodes reached, arcs out of them, largest level
    u32 active;
    u32 unused;
};

// What a search reached.
extern "C" __global__ void bfs_count(const BfsCountArgs a) {
    __shared__ u64 room[8];
    u64 nodes = 0, arcs = 0;
    u32 depth = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.active;
         i += (u64)gridDim.x * blockDim.x) {
        u32 level = a.level[i];
        if (level == FULL) continue;
        nodes++;
        arcs += degree_of(a.offsets, (u32)i);
        depth = max(depth, level);
    }
    nodes = block_sum(nodes, room);
    arcs = block_sum(arcs, room);
    depth = __reduce_max_sync(FULL, depth);
    if (lane_id() == 0 && depth) atomicMax(a.totals + 2, (u64)depth);
    if (threadIdx.x == 0) {
        atomicAdd(a.totals, nodes);
        atomicAdd(a.totals + 1, arcs);
    }
}
