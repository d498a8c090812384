// Betweenness: the numbers that paths are counted in, f64 or f32 (HIVE_DOUBLE), and how they are rounded.
#pragma once

#include "hive.cuh"

#if HIVE_DOUBLE
typedef double real;
static const double MOST_PATHS = 0x1p1000;
static const double EXACT = 0x1p53;  // integers up to this add up exactly
__device__ __forceinline__ real times(real x, real y) { return __dmul_rn(x, y); }
__device__ __forceinline__ real plus(real x, real y) { return __dadd_rn(x, y); }
__device__ __forceinline__ real over(real x, real y) { return __ddiv_rn(x, y); }
#else
typedef float real;
static const double MOST_PATHS = 0x1p100;
static const double EXACT = 0x1p24;
__device__ __forceinline__ real times(real x, real y) { return __fmul_rn(x, y); }
__device__ __forceinline__ real plus(real x, real y) { return __fadd_rn(x, y); }
__device__ __forceinline__ real over(real x, real y) { return __fdiv_rn(x, y); }
#endif
