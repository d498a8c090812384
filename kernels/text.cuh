// The operations of lambdas that are written once, in Rust (macros/, src/operator/text.rs): the same numbers on GPUs and on the
// host. Whole numbers wrap, casts saturate, shifts are by an amount modulo the width, and floats are not contracted.
#pragma once
#include "lambda.cuh"

const u32 DIVISION = 254u;  // @host the argument that a division by zero is reported as

namespace text {

__device__ __forceinline__ f32 bits(u32 x) { return __uint_as_float(x); }
__device__ __forceinline__ f64 bits(u64 x) { return __longlong_as_double((long long)x); }

// i32 by way of u32, as it may not overflow in C++; u8 is computed as int.
template <typename T> __device__ __forceinline__ T add(T a, T b) { return (T)(a + b); }
template <typename T> __device__ __forceinline__ T sub(T a, T b) { return (T)(a - b); }
template <typename T> __device__ __forceinline__ T mul(T a, T b) { return (T)(a * b); }
template <> __device__ __forceinline__ i32 add(i32 a, i32 b) { return (i32)((u32)a + (u32)b); }
template <> __device__ __forceinline__ i32 sub(i32 a, i32 b) { return (i32)((u32)a - (u32)b); }
template <> __device__ __forceinline__ i32 mul(i32 a, i32 b) { return (i32)((u32)a * (u32)b); }
__device__ __forceinline__ i32 neg(i32 a) { return (i32)(0u - (u32)a); }
__device__ __forceinline__ f32 neg(f32 a) { return -a; }
__device__ __forceinline__ f64 neg(f64 a) { return -a; }

// Whether whole numbers can be divided; else it is noted.
template <typename T> __device__ __forceinline__ bool divides(Bad* bad, T by) {
    bad->argument = by == 0 ? bad->lambda | DIVISION : bad->argument;
    return by != 0;
}
template <typename T> __device__ __forceinline__ T div(Bad* bad, T a, T b) {
    return text::divides(bad, b) ? (T)(a / b) : (T)0;
}
template <> __device__ __forceinline__ i32 div(Bad* bad, i32 a, i32 b) {
    return b == -1 ? neg(a) : text::divides(bad, b) ? a / b : 0;
}
template <> __device__ __forceinline__ f32 div(Bad*, f32 a, f32 b) { return a / b; }
template <> __device__ __forceinline__ f64 div(Bad*, f64 a, f64 b) { return a / b; }
template <typename T> __device__ __forceinline__ T rem(Bad* bad, T a, T b) {
    return text::divides(bad, b) ? (T)(a % b) : (T)0;
}
template <> __device__ __forceinline__ i32 rem(Bad* bad, i32 a, i32 b) {
    return b == -1 ? 0 : text::divides(bad, b) ? a % b : 0;
}
template <> __device__ __forceinline__ f32 rem(Bad*, f32 a, f32 b) { return fmodf(a, b); }
template <> __device__ __forceinline__ f64 rem(Bad*, f64 a, f64 b) { return fmod(a, b); }

template <typename T> __device__ __forceinline__ T and_of(T a, T b) { return (T)(a & b); }
template <typename T> __device__ __forceinline__ T or_of(T a, T b) { return (T)(a | b); }
template <typename T> __device__ __forceinline__ T xor_of(T a, T b) { return (T)(a ^ b); }
template <typename T> __device__ __forceinline__ T shl(T a, u32 by) { return (T)((u64)a << (by & (8 * sizeof(T) - 1))); }
template <typename T> __device__ __forceinline__ T shr(T a, u32 by) { return (T)(a >> (by & (8 * sizeof(T) - 1))); }

// Rust's `as`: a float that a whole number cannot hold becomes the nearest that it can, a NaN becomes 0.
template <typename To, typename From> struct Cast {
    static __device__ __forceinline__ To of(From x) { return (To)x; }
};
template <typename To, typename Float>
__device__ __forceinline__ To saturated(Float x, Float low, Float beyond, To least, To most) {
    return x >= beyond ? most : x > low ? (To)x : x <= low ? least : (To)0;
}
#define HIVE_CAST_FLOAT(Float)                                                                                       \
    template <> struct Cast<u8, Float> {                                                                             \
        static __device__ __forceinline__ u8 of(Float x) { return saturated<u8>(x, (Float)0, (Float)256, 0, 255); }  \
    };                                                                                                               \
    template <> struct Cast<u32, Float> {                                                                            \
        static __device__ __forceinline__ u32 of(Float x) {                                                          \
            return saturated<u32>(x, (Float)0, (Float)4294967296.0, 0u, ~0u);                                        \
        }                                                                                                            \
    };                                                                                                               \
    template <> struct Cast<u64, Float> {                                                                            \
        static __device__ __forceinline__ u64 of(Float x) {                                                          \
            return saturated<u64>(x, (Float)0, (Float)18446744073709551616.0, 0ull, ~0ull);                          \
        }                                                                                                            \
    };                                                                                                               \
    template <> struct Cast<i32, Float> {                                                                            \
        static __device__ __forceinline__ i32 of(Float x) {                                                          \
            return saturated<i32>(x, (Float)-2147483648.0, (Float)2147483648.0, (i32)0x80000000u, 0x7fffffff);       \
        }                                                                                                            \
    };
HIVE_CAST_FLOAT(f32)
HIVE_CAST_FLOAT(f64)
#undef HIVE_CAST_FLOAT
template <typename To, typename From> __device__ __forceinline__ To cast(From x) { return Cast<To, From>::of(x); }

// A NaN loses to every number; of two that are equal the first is taken.
template <typename T> __device__ __forceinline__ T min_of(T a, T b) { return b < a || a != a ? b : a; }
template <typename T> __device__ __forceinline__ T max_of(T a, T b) { return b > a || a != a ? b : a; }
template <typename T> __device__ __forceinline__ T abs_of(T a) { return a; }
template <> __device__ __forceinline__ i32 abs_of(i32 a) { return a < 0 ? neg(a) : a; }
template <> __device__ __forceinline__ f32 abs_of(f32 a) { return fabsf(a); }
template <> __device__ __forceinline__ f64 abs_of(f64 a) { return fabs(a); }

#define HIVE_OF_FLOATS(name, single, both)                                                \
    __device__ __forceinline__ f32 name(f32 a) { return single(a); }                      \
    __device__ __forceinline__ f64 name(f64 a) { return both(a); }
HIVE_OF_FLOATS(sqrt_of, sqrtf, ::sqrt)
HIVE_OF_FLOATS(floor_of, floorf, ::floor)
HIVE_OF_FLOATS(ceil_of, ceilf, ::ceil)
HIVE_OF_FLOATS(trunc_of, truncf, ::trunc)
HIVE_OF_FLOATS(round_of, roundf, ::round)
HIVE_OF_FLOATS(exp_of, expf, ::exp)
HIVE_OF_FLOATS(ln_of, logf, ::log)
HIVE_OF_FLOATS(log2_of, log2f, ::log2)
HIVE_OF_FLOATS(sin_of, sinf, ::sin)
HIVE_OF_FLOATS(cos_of, cosf, ::cos)
#undef HIVE_OF_FLOATS
__device__ __forceinline__ f32 powf_of(f32 a, f32 b) { return powf(a, b); }
__device__ __forceinline__ f64 powf_of(f64 a, f64 b) { return ::pow(a, b); }
template <typename T> __device__ __forceinline__ bool is_nan_of(T a) { return a != a; }
template <typename T> __device__ __forceinline__ bool is_finite_of(T a) { return a - a == a - a; }
__device__ __forceinline__ u32 to_bits_of(f32 a) { return __float_as_uint(a); }
__device__ __forceinline__ u64 to_bits_of(f64 a) { return (u64)__double_as_longlong(a); }

__device__ __forceinline__ u32 count_ones_of(u8 a) { return (u32)__popc((u32)a); }
__device__ __forceinline__ u32 count_ones_of(u32 a) { return (u32)__popc(a); }
__device__ __forceinline__ u32 count_ones_of(i32 a) { return (u32)__popc((u32)a); }
__device__ __forceinline__ u32 count_ones_of(u64 a) { return (u32)__popcll(a); }
__device__ __forceinline__ u32 leading_zeros_of(u8 a) { return (u32)__clz((i32)a) - 24u; }
__device__ __forceinline__ u32 leading_zeros_of(u32 a) { return (u32)__clz((i32)a); }
__device__ __forceinline__ u32 leading_zeros_of(i32 a) { return (u32)__clz(a); }
__device__ __forceinline__ u32 leading_zeros_of(u64 a) { return (u32)__clzll((long long)a); }
__device__ __forceinline__ u32 trailing_zeros_of(u8 a) { return a ? (u32)__ffs((i32)a) - 1u : 8u; }
__device__ __forceinline__ u32 trailing_zeros_of(u32 a) { return a ? (u32)__ffs((i32)a) - 1u : 32u; }
__device__ __forceinline__ u32 trailing_zeros_of(i32 a) { return a ? (u32)__ffs(a) - 1u : 32u; }
__device__ __forceinline__ u32 trailing_zeros_of(u64 a) { return a ? (u32)__ffsll((long long)a) - 1u : 64u; }

}  // namespace text
