// The pull round of bfs.cu: records, then rows by lanes, warps and blocks.
#pragma once

#include "bfs_round.cuh"

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
        u32 word = fresh(a.huge + n) >> 5;
        tell(a.joint, copies, word, fresh(next + word));
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
                stage(s, lanes, lanes >> lane_id() & 1u, v[k]);
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
            stage(s, lanes, lanes >> lane_id() & 1u, v);
        }
        __syncwarp();
        if (lane < GROUP && word < to) {
            mine |= hits[lane];
            found_word<TOGETHER>(a, next, copies, word, mine);
            if (mine) __stcg(a.visited + word, seen | mine);
        }
    }
}
