// Random numbers as a function of a key and a counter: src/hash.rs has the same for the host, and says the source.
#pragma once

#include "hive.cuh"

__device__ __forceinline__ u64 mix(u64 x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

__device__ __forceinline__ u64 hash(u64 key, u64 counter) {
    return mix(key + (counter + 1) * 0x9e3779b97f4a7c15ull);
}

// The weight of both arcs between two nodes, 1 to 64, under the key of a generated graph.
__device__ __forceinline__ u32 pair_weight(u64 key, u32 u, u32 v) {
    u64 pair = u < v ? (u64)u << 32 | v : (u64)v << 32 | u;
    return 1u + (u32)(hash(key, pair) >> 58);
}
