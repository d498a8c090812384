// Trees of nodes, joined by many threads at once. `parent[v]` is v, or an ancestor of v, which is below it.
#pragma once

#include "hive.cuh"

// Others write meanwhile: nothing may be kept from an earlier look.
__device__ __forceinline__ u32 root_of(volatile u32* parent, u32 v) {
    for (;;) {
        u32 above = parent[v], top = parent[above];
        if (above == top) return above;
        parent[v] = top;
        v = top;
    }
}

// Joins the trees of u and v, the higher root under the lower.
__device__ __forceinline__ void join(u32* parent, u32 u, u32 v) {
    for (;;) {
        u32 a = root_of(parent, u), b = root_of(parent, v);
        if (a == b) return;
        u32 high = max(a, b), low = min(a, b);
        if (atomicCAS(parent + high, high, low) == high) return;
    }
}
