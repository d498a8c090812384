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
