// Whole searches, alone or with other GPUs: sssp.cu tells how.
#pragma once

#include "sssp_push.cuh"
#include "sssp_pull.cuh"
#if HIVE_CAPPED
#include "sssp_capped.cuh"
#endif

// TOGETHER: task JOINT, else any other.
template <bool TOGETHER> __device__ __forceinline__ void step(const StepArgs& a) {
    extern __shared__ __align__(16) u8 memory[];
    Shared& s = *(Shared*)memory;
    Grid grid = {&a.control->barrier, a.abort, a.deadline_ns, 0, 0};
    Tally t = {0, 0, false};
    if (threadIdx.x == 0) s.staged = s.lowest_inverted = 0;
    __syncthreads();

    u32* front = a.front;
    u32* next = a.next;
    u32 words = (a.active + 31) / 32;
    bool whole = TOGETHER || a.task == FINISH || a.task == GROW;
    // What replicas do redundantly and go on from together must end the same everywhere.
    bool snapshot = TOGETHER || a.task == GROW;
    // What is known of the frontier: its nodes, arcs and lowest distance; arcs FULL.. when unknown.
    u64 nodes = ~0ull, arcs = ~0ull;
    u32 lowest = a.lowest, queued = whole ? a.queued : FULL;
    // `round` counts meetings; a meeting may stand for many rounds that one block did alone.
    u32 round = 0, rounds = 0, want_pull = 0;
    bool pulled = false, alone = true;
    u64 epoch = TOGETHER ? fresh(&a.joint.mail[a.joint.rank]->epoch) : 0;
    u32 swapped = 0, notes = 0;
    note(a.log, 0, 0, 0, 0);
    Bound bound = {__uint_as_float(lowest), INFINITE};
    // The last pull was of the longest rows alone; the lowest distance that has changed since all were pulled.
    bool inner = false;
    u32 inner_end = max(a.hubs, a.active / INNER_PART / 32 * 32);
    u32 changed = FULL;
    bool going = true;
#if HIVE_CAPPED
    if (whole) {
        bool left;
        going = capped<TOGETHER>(a, s, grid, epoch, t, round, notes, bound, left) && left;
        rounds = notes;
        if (!going) nodes = 0;
        // The first pull follows.
        pulled = true;
    }
#endif

    while (going) {
        bool pull_now = a.task == PULL || inner || (whole && pulled && arcs > a.push_below);
        bool solo_now = whole && !pull_now && alone && queued <= SOLO;
        u64 nodes_in = queued <= QUEUE ? queued : nodes;
        u32 kind = solo_now ? ROUND_SOLO : ROUND_QUEUE;
        Sweep w;
        if (!pull_now && !solo_now && whole && queued <= QUEUE) {
            u64 limit = a.in_records ? a.pull_above : ~0ull;
            arcs = push_queue(a, s, grid, front, next, t, queued, round, snapshot, limit);
            if (grid.stopped) break;
            pull_now = arcs > limit;
            if (!pull_now && arcs >= FULL) queued = FULL;
        }
        if (!pull_now && !solo_now && (queued > QUEUE || !whole)) {
            u32 lo = whole ? 0 : a.lo / 32, hi = whole ? words : (a.hi + 31) / 32;
            if (!sweep(a, s, grid, front, lo, hi, w)) break;
            nodes = nodes_in = w.nodes;
            arcs = w.arcs;
            kind = ROUND_SWEEP;
            u64 limit = pulled ? a.push_below : a.pull_above;
            pull_now = whole && a.in_records && arcs > limit;
            if (!pull_now && !push_scan(a, s, grid, front, next, t, w)) break;
            if (!whole) clear(front, words);  // also the words of other chunks
        }
        if (pull_now && a.task == GROW) {
            want_pull = 1;
            if (queued <= QUEUE) nodes = queued;
            break;
        }
        if (pull_now) {
            bool all = a.task != PULL;
            if (INNER) {
                changed = min(changed, lowest);
                inner = whole && a.inner &&
                        (!pulled || nodes > (inner ? inner_end : a.active) / INNER_LEFT);
                if (!inner) {
                    bound.lowest = __uint_as_float(changed);
                    changed = FULL;
                }
            }
            // The others write here from now on, and must not before pushes have ended.
            Letter letter;
            if (TOGETHER && !pulled && !meet(grid, a.joint, epoch, NULL, NULL, NULL, letter)) break;
            u64 mine = pull<TOGETHER>(a, s, front, next, t, bound, all ? 0 : a.lo,
                                       inner ? inner_end : all ? a.active : a.hi);
            flush(a, s, t, mine, round);
            if (TOGETHER) {
                if (!grid.sync()) break;
                send_marks(a, next, a.bitmaps[(swapped & 1u) ^ 1u]);
            }
        } else if (!solo_now) {
            flush(a, s, t, 0, round);
        } else if (blockIdx.x == 0) {
            solo(a, s, front, next, t, queued, round, lowest, snapshot);
        }
        Round total;
        if (!close(a, grid, TOGETHER && pull_now ? &epoch : NULL, round, total)) break;
        u32 done = solo_now ? total.rounds : 1;
        swapped += done;
        if (done & 1u) {
            u32* swap = front;
            front = next;
            next = swap;
        }
        round++;
        rounds += done;
        note(a.log, ++notes, (u64)done << 8 | (pull_now ? ROUND_PULL : kind), nodes_in, arcs);
        pulled = pull_now;
        // What one block could not go on with is for the whole grid.
        alone = !solo_now || done == SOLO_ROUNDS;
        nodes = total.nodes;
        arcs = pulled ? total.arcs : ~0ull;
        lowest = ~total.lowest_inverted;
        bound = {__uint_as_float(lowest), INFINITE};
        // A queue would have the own nodes alone.
        queued = TOGETHER && pulled ? FULL : (u32)min(nodes, (u64)FULL);
        if ((nodes == 0 && !inner) || !whole) break;
    }
    // The last meeting may have ended a block otherwise than the others.
    if (TOGETHER && !grid.stopped) grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Status* out = a.status;
        out->nodes = nodes;
        out->arcs = arcs;
        out->relaxed = fresh(&a.control->relaxed);
        out->lowest = lowest;
        out->rounds = rounds;
        out->parity = front != a.front;
        out->stopped = grid.stopped;
        out->want_pull = want_pull;
        out->meetings = notes;
        if (TOGETHER) __stcg(&a.joint.mail[a.joint.rank]->epoch, epoch);
    }
}
