// Whole searches, alone or with other GPUs: bfs.cu tells how.
#pragma once

#include "bfs_push.cuh"
#include "bfs_pull.cuh"

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

// Ends a meeting, by one thread of a block: what is known of the frontier now, and the counters of the next but one are
// cleared. `letter` is of those who pulled together.
template <bool TOGETHER>
__device__ __forceinline__ void close(const BfsArgs& a, BfsKnown& k, const Letter* letter, u32 round, u32 kind,
                                      bool blind) {
    BfsRound* r = &a.control->round[round % 3];
    u64 nodes = TOGETHER && letter ? letter->sum[0] : fresh(&r->nodes), arcs = fresh(&r->arcs), found = fresh(&r->found);
    u32 levels = kind == ROUND_SOLO ? (u32)fresh(&r->levels) : 1;
    k.levels = levels;
    if (levels == 0) {
        k.arcs = found;
        return;
    }
    note(a.log, round + 1, (u64)levels << 8 | kind, k.nodes, k.arcs == ~0ull ? 0 : k.arcs);
    k.nodes = nodes;
    k.arcs = kind == ROUND_PULL ? ~0ull : arcs;
    k.reached += kind == ROUND_SOLO ? found : nodes;
    // A queue would have the own finds alone; a blind push makes none.
    k.queued = blind || (TOGETHER && letter) ? FULL : (u32)min(nodes, (u64)FULL);
    k.depth += levels;
    if (blockIdx.x == 0) {
        BfsRound* old = &a.control->round[(round + 2) % 3];
        __stcg(&old->nodes, 0ull);
        __stcg(&old->arcs, 0ull);
        __stcg(&old->found, 0ull);
        __stcg(&old->levels, 0ull);
        __stcg(&a.control->huge[(round + 2) % 3], 0u);
    }
}

// TOGETHER: task JOINT, else any other.
template <bool TOGETHER>
__device__ __forceinline__ void run(const BfsArgs& a) {
    __shared__ BfsShared s;
    Grid grid = {&a.control->barrier, a.abort, a.deadline_ns, 0, 0};
    if (threadIdx.x == 0) s.staged = 0;
    __syncthreads();

    u32 words = (a.active + 31) / 32;
    bool whole = TOGETHER || a.task == FINISH || a.task == GROW;
    u32 lo = whole ? 0 : a.lo / 32;
    u32 hi = whole ? words : (a.hi + 31) / 32;
    if (threadIdx.x == 0) s.known = {a.nodes_in, a.arcs_in, a.reached, a.queued, a.depth};
    u32 looked = 0;
    // Counts meetings; a meeting may stand for many levels that one block did alone.
    u32 round = 0, want_pull = 0;
    bool pulled = a.pulled, dirty = a.dirty;
    // Others' words of the frontier have not been noted; `next` may be written from outside.
    bool behind = false, ready = false;
    u64 epoch = TOGETHER ? fresh(&a.joint.mail[a.joint.rank]->epoch) : 0;
    note(a.log, 0, 0, 0, 0);
    if (a.absorb) {
        take_over(a, a.front, words, a.depth);
        grid.sync();
    }
    __syncthreads();

    while (!grid.stopped) {
        u32 *front = round & 1u ? a.next : a.front, *next = round & 1u ? a.front : a.next;
        bool pull_now = a.task == PULL || (whole && pulls(a, pulled, s.known.nodes, s.known.arcs, s.known.reached));
        if (a.task == PUSH) pull_now = false;
        bool blind = HIVE_BLIND && whole && s.known.arcs != ~0ull && s.known.arcs >= BLIND && s.known.queued > QUEUE;
        if (pull_now && blind && !pulled && a.way == AUTO && !hubs_in(a, s.known)) {
            pull_now = !pushes_blindly(a, front, s.known.arcs, s.known.reached);
            // Nobody may change what the others still look at.
            if (!grid.sync()) break;
        }
        if (pull_now) blind = false;
        if (pull_now && a.task == GROW) {
            want_pull = 1;
            break;
        }
        u32 kind;
        u32* const* copies = a.bitmaps[(round + 1) & 1u];
        if (TOGETHER) {
            Letter letter;
            if (pull_now && !ready && !meet(grid, a.joint, epoch, NULL, NULL, NULL, letter)) break;
            if (behind) take_over(a, front, words, s.known.depth);
            if (behind && !pull_now && !grid.sync()) break;
            behind = ready = pull_now;
        }
        if (pull_now) {
            kind = ROUND_PULL;
            pull<TOGETHER>(a, s, front, next, copies, lo, hi, round, s.known.depth + 1, looked);
            flush(a, s, 0, round);
        } else {
            if (dirty) {
                clear(next, words);
                if (!grid.sync()) break;
                dirty = false;
            }
            u64 arcs = s.known.arcs, found_arcs = 0;
            kind = whole && s.known.queued <= SOLO && (arcs <= SOLO_ARCS || arcs == ~0ull) ? ROUND_SOLO : ROUND_QUEUE;
            if (kind == ROUND_SOLO) {
                if (blockIdx.x == 0) looked += solo(a, s, front, next, round);
            } else {
                if (!(whole && s.known.queued <= QUEUE &&
                      push_queue(a, s, front, next, s.known.queued, round, s.known.depth + 1, found_arcs, looked))) {
                    kind = ROUND_SWEEP;
                    u32 step = s.known.nodes * 4 < hi - lo ? 32 : blind ? 4 : 1;
                    if (!push_words(a, s, grid, front, next, blind, lo, hi, step, round, s.known.depth + 1, found_arcs, looked))
                        break;
                    if (!whole) clear(front, words);  // also the words of other chunks
                    if (blind) {
                        if (!grid.sync()) break;
                        u64 found = block_sum(take_marked(a, next, words, s.known.depth + 1, found_arcs), s.room);
                        if (threadIdx.x == 0 && found) atomicAdd(&a.control->round[round % 3].nodes, found);
                    }
                }
                flush(a, s, found_arcs, round);
            }
        }
        bool all = TOGETHER && pull_now;
        if (!grid.sync()) break;
        u32 listed = pull_now ? fresh(&a.control->huge[round % 3]) : 0;
        if (listed) {
            pull_listed(a, s, front, next, listed, s.known.depth + 1, looked);
            flush(a, s, 0, round);
            if (!grid.sync()) break;
            if (all) share_listed(a, next, copies, listed);
        }
        Letter letter;
        if (all && !meet(grid, a.joint, epoch, &a.control->round[round % 3].nodes, NULL, NULL, letter)) break;
        if (threadIdx.x == 0) close<TOGETHER>(a, s.known, all ? &letter : NULL, round, kind, blind);
        __syncthreads();
        // Too many arcs for one block: now they are known.
        if (s.known.levels == 0) continue;
        round++;
        dirty = pulled = pull_now;
        if (s.known.nodes == 0 || !whole) break;
    }
    u64 seen = block_sum(looked, s.room);
    if (threadIdx.x == 0 && seen) atomicAdd(&a.control->looked, seen);
    if (!grid.stopped) grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        BfsStatus* out = a.status;
        out->nodes = s.known.nodes;
        out->arcs = s.known.arcs;
        out->looked = fresh(&a.control->looked);
        out->rounds = s.known.depth - a.depth;
        out->meetings = round;
        out->parity = round & 1u;
        out->stopped = grid.stopped;
        out->found = s.known.reached - a.reached;
        out->want_pull = want_pull;
        if (TOGETHER) __stcg(&a.joint.mail[a.joint.rank]->epoch, epoch);
    }
}
