// The spatial median on a sphere, by a team of threads that share a node: the solver of
// src/algorithm/geo/host.rs, step for step. src/algorithm/geo/mod.rs tells its idea.
//
// All threads of a team hold the same place, sums and decisions, since a reduction of fixed
// shape gives all of them the same bits. So a team never diverges: no shuffle and no barrier stands behind a
// condition that differs within a team.
#pragma once

#include "hive.cuh"

#define STAGE 512u       // @host points that a ranking has in shared memory at a time
#define CANDIDATES 32u   // @host most points that are candidates
#define SAMPLE 4096u     // @host most points over which candidates are summed
#define STARTS 8u        // @host most starts of descents
// More than MANY points have FEW_STARTS: the mean direction, since a sample of so many points does not rank candidates
// well, and the best of the others.
#define MANY 4096u       // @host
#define FEW_STARTS 2u    // @host
#define APART 0.9800665778412416  // @host starts lie this far apart: the cosine of 0.2 radians
#define WORSE 0.35       // @host a start is at most this much worse than the best one, in radians a point
#define SAME 1e-12       // @host points nearer than this coincide, and so do a point and another's antipode
#define LONGEST 0.3      // @host no step is longer, in radians
// A Newton step that fails is cut to this share; Weiszfeld's step follows where that is less than SHORTEST.
#define CUT 0.125        // @host
#define SHORTEST 1e-7    // @host
#define FLATTEST 1e-9    // @host the least curvature that a step is computed with, a point
#define THERE 0.99875    // @host a descent that comes this near to the end of a better one is given up: cosine of 0.05
#define AHEAD 0.7        // @host a descent goes on while it would be the best if the sum kept its slope over this distance

static const double PI = 3.14159265358979323846;
static const double HUGE = 1e300;

struct Point {  // @host
    double x, y, z;
};

struct Effort {
    double tolerance;
    u32 passes;
};

__device__ __forceinline__ double dot(Point a, Point b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ Point scaled(Point a, double by) { return {a.x * by, a.y * by, a.z * by}; }
__device__ __forceinline__ Point plus(Point a, Point b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ Point normal(Point a) { return scaled(a, 1.0 / sqrt(dot(a, a))); }

// The vector from x to p, or from its antipode where that is nearer.
__device__ __forceinline__ Point offset(Point x, Point p, bool& near) {
    near = dot(x, p) >= 0.0;
    double sign = near ? -1.0 : 1.0;
    return {p.x + sign * x.x, p.y + sign * x.y, p.z + sign * x.z};
}

__device__ __forceinline__ double angle_of(double chord, bool near) {
    double angle = 2.0 * asin(fmin(0.5 * chord, 1.0));
    return near ? angle : PI - angle;
}

__device__ __forceinline__ double angle(Point x, Point p) {
    bool near;
    Point d = offset(x, p, near);
    return angle_of(sqrt(dot(d, d)), near);
}

// What a pass finds: the summed distance, the sum of unit tangents towards the points, the sum of 1 / distance, the
// Hessian, and the points here.
struct Sums {
    double v[8];
};
enum { F, R0, R1, W, H00, H01, H11, HERE };

// A place and two unit vectors across it.
struct Place {
    Point x, e, g;
};

__device__ Place place_at(Point x) {
    double a = fabs(x.x), b = fabs(x.y), c = fabs(x.z);
    Point e;
    if (a <= b && a <= c) e = {0.0, -x.z, x.y};
    else if (b <= c) e = {x.z, 0.0, -x.x};
    else e = {-x.y, x.x, 0.0};
    e = normal(e);
    return {x, e, {x.y * e.z - x.z * e.y, x.z * e.x - x.x * e.z, x.x * e.y - x.y * e.x}};
}

__device__ Place moved(const Place& at, double s, double t) {
    double length = sqrt(s * s + t * t), sine, cosine;
    sincos(length, &sine, &cosine);
    double by = sine / length;
    Point to = plus(scaled(at.e, s), scaled(at.g, t));
    return place_at(normal(plus(scaled(at.x, cosine), scaled(to, by))));
}

__device__ __forceinline__ void include(Sums& s, const Place& at, Point p) {
    bool near;
    Point d = offset(at.x, p, near);
    double square = dot(d, d), chord = sqrt(square);
    double angle = angle_of(chord, near);
    s.v[F] += angle;
    if (chord <= SAME) {
        s.v[HERE] += near ? 1.0 : 0.0;
        return;
    }
    double t = dot(d, at.e), q = dot(d, at.g);
    double inverse = 1.0 / sqrt(t * t + q * q);
    double u = t * inverse, v = q * inverse;
    double cotangent = (near ? 1.0 - 0.5 * square : 0.5 * square - 1.0) * inverse;
    s.v[R0] += u;
    s.v[R1] += v;
    s.v[W] += 1.0 / angle;
    s.v[H00] += cotangent * v * v;
    s.v[H01] -= cotangent * u * v;
    s.v[H11] += cotangent * u * u;
}

// Teams. `sum` and `least` give every thread the same; `least` is of (value, index), the smaller index
// where values are equal.
struct Thread {
    static __device__ u32 size() { return 1; }
    __device__ u32 rank() const { return 0; }
    template <int N> __device__ void sum(double (&)[N]) const {}
    __device__ void least(double&, u32&) const {}
};

__device__ __forceinline__ void warp_least(double& value, u32& index) {
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) {
        double other = __shfl_xor_sync(FULL, value, step);
        u32 at = __shfl_xor_sync(FULL, index, step);
        bool take = other < value || (other == value && at < index);
        value = take ? other : value;
        index = take ? at : index;
    }
}

struct Warp {
    static __device__ u32 size() { return 32; }
    __device__ u32 rank() const { return lane_id(); }
    template <int N> __device__ void sum(double (&v)[N]) const {
#pragma unroll
        for (u32 step = 16; step > 0; step >>= 1)
#pragma unroll
            for (int i = 0; i < N; i++) v[i] += __shfl_xor_sync(FULL, v[i], step);
    }
    __device__ void least(double& value, u32& index) const { warp_least(value, index); }
};

#define HUB_THREADS 256u  // @host
#define HUB_WARPS (HUB_THREADS / 32u)

struct Block {
    double* room;  // [HUB_WARPS][8], shared
    u32* indices;  // [HUB_WARPS], shared

    static __device__ u32 size() { return HUB_THREADS; }
    __device__ u32 rank() const { return threadIdx.x; }
    template <int N> __device__ void sum(double (&v)[N]) const {
        Warp().sum(v);
        __syncthreads();
        if (lane_id() == 0) {
#pragma unroll
            for (int i = 0; i < N; i++) room[warp_id() * 8 + i] = v[i];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i] = room[i];
            for (u32 w = 1; w < HUB_WARPS; w++) v[i] += room[w * 8 + i];
        }
    }
    __device__ void least(double& value, u32& index) const {
        warp_least(value, index);
        __syncthreads();
        if (lane_id() == 0) {
            room[warp_id() * 8] = value;
            indices[warp_id()] = index;
        }
        __syncthreads();
        value = room[0];
        index = indices[0];
        for (u32 w = 1; w < HUB_WARPS; w++) {
            double other = room[w * 8];
            bool take = other < value || (other == value && indices[w] < index);
            value = take ? other : value;
            index = take ? indices[w] : index;
        }
    }
};

template <class Team, class Points>
__device__ Sums pass(const Team& team, const Points& points, u32 k, const Place& at) {
    Sums s;
#pragma unroll
    for (int i = 0; i < 8; i++) s.v[i] = 0.0;
    for (u32 i = team.rank(); i < k; i += Team::size()) include(s, at, points.at(i));
    team.sum(s.v);
    return s;
}

// The nearest point that is not here already; false where there is none.
template <class Team, class Points>
__device__ bool nearest(const Team& team, const Points& points, u32 k, Point x, Point& found) {
    double best = HUGE;
    u32 index = FULL;
    for (u32 i = team.rank(); i < k; i += Team::size()) {
        Point d = plus(points.at(i), scaled(x, -1.0));
        double square = dot(d, d);
        bool take = square < best && square > SAME * SAME;
        best = take ? square : best;
        index = take ? i : index;
    }
    team.least(best, index);
    if (index == FULL) return false;
    found = points.at(index);
    return true;
}

// Newton's step with the absolute values of the Hessian's curvatures, so that it leads downhill where the sum is concave,
// too; along each axis no longer than `reach`.
__device__ void newtons(const Sums& at, u32 k, double reach, double& s, double& t) {
    double a = at.v[H00], b = at.v[H01], c = at.v[H11], r = at.v[R0], q = at.v[R1];
    double middle = 0.5 * (a + c), half = 0.5 * (a - c), radius = sqrt(half * half + b * b);
    double x = half >= 0.0 ? half + radius : b, y = half >= 0.0 ? b : radius - half;
    double length = sqrt(x * x + y * y), least = FLATTEST * k;
    x = length > 0.0 ? x / length : 1.0;
    y = length > 0.0 ? y / length : 0.0;
    double along = (x * r + y * q) / fmax(fabs(middle + radius), least);
    double across = (x * q - y * r) / fmax(fabs(middle - radius), least);
    along = fmin(fmax(along, -reach), reach);
    across = fmin(fmax(across, -reach), reach);
    s = x * along - y * across;
    t = y * along + x * across;
}

// The next step; false where the place is least. Newton's reaches no farther than `reach`; 0 asks for Weiszfeld's.
__device__ bool next_step(const Sums& at, u32 k, double reach, bool& newton, double& s, double& t, double& saves) {
    double r = at.v[R0], q = at.v[R1], length = sqrt(r * r + q * q), here = at.v[HERE];
    if (length <= here || length == 0.0) return false;
    newton = reach > 0.0 && here == 0.0;
    if (newton) {
        newtons(at, k, reach, s, t);
    } else {
        double by = fmin((1.0 - here / length) / at.v[W], LONGEST / length);
        s = by * r;
        t = by * q;
    }
    saves = 0.5 * (s * r + t * q);
    return true;
}

// Where an earlier descent ended.
struct Best {
    Point x;
    double f;  // HUGE: there was none
};

// Whether a descent that has come to `at` is given up for `best`: its sum is too far above at this slope, or it is where
// the other ended.
__device__ bool is_lost(const Place& at, const Sums& here, const Best& best) {
    double slope = sqrt(here.v[R0] * here.v[R0] + here.v[R1] * here.v[R1]), above = here.v[F] - best.f;
    return above > AHEAD * slope + here.v[HERE] || (above >= 0.0 && dot(at.x, best.x) > THERE);
}

// Descends from `x`, which becomes the place where it ends; returns the sum there. One call of `pass` serves the start,
// steps and the nearest point, so that it is inlined once.
template <class Team, class Points>
__device__ double descend(
    const Team& team, const Points& points, u32 k, Point& x, Effort effort, const Best& best, u64& count) {
    enum { START, STEP, NEAREST };
    Place trial = place_at(x), at = trial;
    Sums here = {};
    u32 stage = START, left = effort.passes;
    bool newton = true, looked = false;
    double reach = LONGEST, s = 0.0, t = 0.0, saves = 0.0;
    while (true) {
        Sums got = pass(team, points, k, trial);
        count++;
        double length = sqrt(s * s + t * t);
        bool equal = stage == NEAREST && got.v[F] == here.v[F];
        if (stage == START || got.v[F] < here.v[F] || equal) {
            at = trial;
            here = got;
            looked = false;
            reach = stage != STEP ? LONGEST : fmin(LONGEST, newton ? fmax(reach, 2.0 * length) : 2.0 * length);
            stage = STEP;
        } else if (stage == STEP) {
            if (!newton) break;  // Weiszfeld's step never raises the sum: this is rounding.
            reach = CUT * length;
            if (reach < SHORTEST) reach = 0.0;
            if (!looked) stage = NEAREST;
        } else {
            looked = true;
            stage = STEP;
        }
        if (left == 0) break;
        left--;
        if (stage == NEAREST) {
            // Derivatives do not show the kinks at the points: the sum at the nearest may be lower.
            Point p;
            if (nearest(team, points, k, at.x, p)) {
                trial = place_at(p);
                continue;
            }
            looked = true;
            stage = STEP;
        }
        if (is_lost(at, here, best)) break;
        if (!next_step(here, k, reach, newton, s, t, saves)) break;
        if (saves <= effort.tolerance * here.v[F]) break;
        trial = moved(at, s, t);
    }
    x = at.x;
    return here.v[F];
}

__device__ __forceinline__ u32 spread(u32 i, u32 k, u32 of) { return (u32)((u64)i * k / of); }

// The sum of distances from x over the first `sample` points, by the team.
template <class Team, class Points>
__device__ double sample_sum(const Team& team, const Points& points, u32 sample, Point x) {
    double f[1] = {0.0};
    for (u32 i = team.rank(); i < sample; i += Team::size()) f[0] += angle(x, points.at(i));
    team.sum(f);
    return f[0];
}

// The mean direction; false where there is none.
template <class Team, class Points>
__device__ bool mean_of(const Team& team, const Points& points, u32 k, Point& mean) {
    double v[3] = {0.0, 0.0, 0.0};
    for (u32 i = team.rank(); i < k; i += Team::size()) {
        Point p = points.at(i);
        v[0] += p.x;
        v[1] += p.y;
        v[2] += p.z;
    }
    team.sum(v);
    mean = {v[0], v[1], v[2]};
    double length = sqrt(dot(mean, mean));
    if (!(length > 1e-9 * k)) return false;
    mean = scaled(mean, 1.0 / length);
    return true;
}

// Descents from the best candidates that lie apart. `Ranked` has the candidates' sums: next(start) gives
// the best one left and removes those near it.
template <class Team, class Points, class Ranked>
__device__ Point best_descent(
    const Team& team, const Points& points, u32 k, Ranked& ranked, Effort effort, u64& count) {
    u32 sample = min(k, SAMPLE), most = k > MANY ? FEW_STARTS : STARTS;
    double limit = HUGE;
    Best best = {points.at(0), HUGE};
    for (u32 i = 0; i < most; i++) {
        Point start;
        // A sample of so many points does not rank candidates well: the mean direction is first, if there is one.
        bool first = k > MANY && i == 0 && ranked.has_mean();
        double f = first ? ranked.take_mean(start) : ranked.next(start);
        if (!first) {
            if (!(f <= limit) || f >= HUGE) break;
            limit = fmin(limit, f + WORSE * sample);
        }
        double found = descend(team, points, k, start, effort, best, count);
        if (found < best.f) best = {start, found};
    }
    return best.x;
}

// Candidates of a warp, one a lane: a point and its antipode. Every lane also has the mean direction. All warps of a block
// hold the same.
struct Ranked {
    Point p, mean;
    double f, anti, of_mean;

    __device__ double next(Point& start) {
        double value = fmin(f, anti);
        u32 index = 2 * lane_id() + (anti < f ? 1u : 0u);
        warp_least(value, index);
        u32 from = index >> 1;
        start.x = __shfl_sync(FULL, p.x, from);
        start.y = __shfl_sync(FULL, p.y, from);
        start.z = __shfl_sync(FULL, p.z, from);
        if (index & 1u) start = scaled(start, -1.0);
        if (of_mean < value) {
            value = of_mean;
            start = mean;
        }
        take(start);
        return value;
    }

    __device__ void take(Point start) {
        double near = dot(start, p);
        if (near >= APART) f = HUGE;
        if (-near >= APART) anti = HUGE;
        if (dot(start, mean) >= APART) of_mean = HUGE;
    }

    __device__ bool has_mean() const { return of_mean < HUGE; }
    __device__ double take_mean(Point& start) {
        double value = of_mean;
        start = mean;
        take(start);
        return value;
    }
};

// The median of three points and more, by a warp.
template <class Points>
__device__ Point warp_median(const Points& points, u32 k, Effort effort, u64& count) {
    u32 candidates = min(k, CANDIDATES), sample = min(k, SAMPLE);
    Warp team;
    Ranked ranked;
    bool own = lane_id() < candidates;
    ranked.p = points.at(own ? spread(lane_id(), k, candidates) : 0);
    bool any = mean_of(team, points, k, ranked.mean);
    double f = 0.0, of_mean[1] = {0.0};
    for (u32 base = 0; base < sample; base += STAGE) {
        u32 count = min(STAGE, sample - base);
        points.fill(base, count, k, sample);
        for (u32 i = 0; i < count; i++) f += angle(ranked.p, points.sample(base, i));
        for (u32 i = lane_id(); i < count; i += 32) of_mean[0] += angle(ranked.mean, points.sample(base, i));
    }
    team.sum(of_mean);
    ranked.f = own ? f : HUGE;
    ranked.anti = own ? PI * sample - f : HUGE;
    ranked.of_mean = any ? of_mean[0] : HUGE;
    return best_descent(team, points, k, ranked, effort, count);
}
