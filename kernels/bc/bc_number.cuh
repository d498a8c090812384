// Betweenness: the numbers that paths are counted in, f64 or f32 (HIVE_DOUBLE), and how they are rounded.
#pragma once

#include "hive.cuh"

// What one source adds to a score, as two numbers on grids so coarse that every sum is exact: no order of addition shows.
struct Gain {
    double coarse, fine;
};

// The nearest number on a grid, which src/algorithm/bc/grids.rs says how to name.
__device__ __forceinline__ double on_grid(double x, double grid) { return __dsub_rn(__dadd_rn(x, grid), grid); }

__device__ __forceinline__ Gain gain_of(double x, double coarse, double fine) {
    double most = on_grid(x, coarse);
    return {most, on_grid(__dsub_rn(x, most), fine)};
}

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
