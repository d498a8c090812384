// What the kernels of PageRank share: the scalars of an iteration, and what becomes of a node's sum.
//
// Iteration t makes ranks r' from r: r'[v] = c p[v] + d sum, where the sum goes over the in-arcs of v, c = (1 - d) + d D,
// and D is the rank of all nodes without out-weight. A node without arcs has no row, and its rank is c p[v]. So the part
// of these nodes in D is `idle` (their p together) times the c of the iteration before.
//
// Sums over all nodes (D, and the change in L1) are 64-bit integers in units of 2^-60, which no order of additions changes:
// any grid and any number of replicas give the same bits. A rank above 2^-36 loses nothing, a smaller one at most half a
// unit.
//
// Scalars are kept for SLOTS iterations. The kernel that finishes iteration t reads slot t, writes c of
// slot t + 1 and clears the sums of slot t + 2.
#pragma once
#include "hive.cuh"

#define SLOTS 4u  // @host
#define UNITS 1152921504606846976.0  // @host 2^60

struct Scalars {  // @host
    u64 dangling[SLOTS];  // rank of nodes with a row and no out-weight, before the iteration
    u64 change[SLOTS];    // L1 distance that nodes with a row went in the iteration
    double scale[SLOTS];  // c that made the ranks before the iteration; 1 at the start
};

// What a row's sum turns into.
struct Turn {  // @host
    const float* rank;      // [active] ranks before; NULL: nobody asks for the change
    float* new_rank;        // [active] NULL: nobody asks
    float* next;            // [active] what arcs carry in the next iteration
    const float* divisor;   // [active] out-degree, or 1; NULL: arcs carry ranks
    const float* personal;  // [active] p; NULL: even for all
    Scalars* scalars;
    double damping;
    double even;  // p where it is the same for all
    double idle;  // p of all nodes without a row
    u32 iteration;
    u32 by_length;  // the divisor is the length of the row at hand
};

__device__ __forceinline__ double new_scale(const Turn& turn) {
    u32 t = turn.iteration % SLOTS;
    double dangling = (double)turn.scalars->dangling[t] / UNITS + turn.idle * turn.scalars->scale[t];
    return (1.0 - turn.damping) + turn.damping * dangling;
}

// Finishes node v. Returns how far its rank went, in units, where somebody asks.
__device__ __forceinline__ u64 finish(const Turn& turn, double scale, u32 v, u32 length, double sum) {
    double p = turn.personal ? (double)turn.personal[v] : turn.even;
    float rank = (float)(scale * p + turn.damping * sum);
    if (turn.new_rank) turn.new_rank[v] = rank;
    float carried = rank;
    if (turn.by_length) {
        carried = rank / (float)(length > 0 ? length : 1u);
    } else if (turn.divisor) {
        carried = rank / turn.divisor[v];
    }
    turn.next[v] = carried;
    if (!turn.rank) return 0;
    return __double2ull_rn(fabs((double)rank - (double)turn.rank[v]) * UNITS);
}

// Starts copying 16 bytes to shared memory; `fetched` waits for the copies of this thread. Before compute capability 8.0 they go
// through registers.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void fetch(float4* to, const float4* from) {
    u32 at = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}
__device__ __forceinline__ void fetched() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
__device__ __forceinline__ void fetch(float4* to, const float4* from) { *to = __ldcg(from); }
__device__ __forceinline__ void fetched() {}
#endif

// The end of a kernel that finishes; every thread of every block comes here.
__device__ __forceinline__ void finished(const Turn& turn, double scale, u64 moved) {
    u32 t = turn.iteration;
    if (turn.rank) {
        moved = warp_sum(moved);
        if (lane_id() == 0 && moved != 0) atomicAdd(&turn.scalars->change[t % SLOTS], moved);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        turn.scalars->scale[(t + 1u) % SLOTS] = scale;
        turn.scalars->dangling[(t + 2u) % SLOTS] = 0;
        turn.scalars->change[(t + 2u) % SLOTS] = 0;
    }
}
