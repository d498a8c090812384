// Columns of rows with the nodes to which most arcs lead set apart, for operators that keep their values in shared memory
// (`Neighbor` in lambda.cuh).

#include "lambda.cuh"

struct NearArgs {  // @host
    const u32* ids;      // [count] the nodes
    u32* slots;          // [nodes] all ones; then the place of a node among them
    const u32* columns;  // [arcs]
    u32* to;             // [arcs]
    u64 arcs;
    u32 count;
    u32 unused;
};

extern "C" __global__ void near_slots(NearArgs a) {
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += gridDim.x * blockDim.x) a.slots[a.ids[k]] = k;
}

extern "C" __global__ void near_columns(NearArgs a) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.arcs; i += stride) {
        u32 v = __ldg(a.columns + i), slot = __ldg(a.slots + v);
        a.to[i] = slot == NONE ? v : NEAR | slot;
    }
}
