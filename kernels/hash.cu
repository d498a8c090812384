// A hash of an array: the sum over its words of a hash of place and word. Sums mod 2^64 have no order, so it does not
// depend on how the words are dealt. `src/algorithm/same.rs` computes the same on a host.

#include "mix.cuh"

struct HashArgs {  // @host
    u64 words;  // address of the first, 4 bytes each
    u64 count;
    u64 sum;  // address of the result, to which is added
};

extern "C" __global__ void hash_words(const HashArgs a) {
    const u32* words = (const u32*)a.words;
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 stride = (u64)gridDim.x * blockDim.x;
    u64 sum = 0;
    for (u64 i = thread; i < a.count; i += stride) sum += hash(words[i], i);
    for (u32 step = 16; step > 0; step /= 2) sum += __shfl_down_sync(FULL, sum, step);
    if (threadIdx.x % 32 == 0) atomicAdd((u64*)a.sum, sum);
}
