// Checks geolocation, as src/verify/geo.rs does: waves, places that have a closed form, and whether others are local minima of
// their sums. Where slope and curvature do not tell, a warp descends from the place by the simplex method (Nelder and Mead, Computer
// Journal 1965). Where that gains more than the tolerance, or there are many neighbours, the host descends. Nodes that the host
// compares with the least sum on the globe are listed.

#include "arcs.cuh"

#define LONG 2048u  // @host arcs of a row up to which a warp goes over it, and not a block
#define FEWEST_OF_A_MEDIAN 3u
#define MOST_OF_A_DESCENT 4096u  // earlier neighbours from which a warp descends
#define KEPT 128u                // earlier neighbours whose directions are kept in shared memory

struct GeoArgs {  // @host
    Rows rows;
    const double* given_north;  // [nodes] degrees, NaN where not given
    const double* given_east;   // [nodes]
    const double* north;        // [nodes] of the answer, NaN where not located
    const double* east;         // [nodes]
    const u32* wave;            // [nodes] 0 of given nodes, NONE of those not located
    double2* at;                // [nodes * 2] directions of the answer: x and y, z and nothing
    u32* earlier;               // [nodes] arcs to nodes of earlier waves, of located nodes
    u32* longs;                 // long rows
    u64* doubtful;              // [most_doubtful] nodes that may not be at a local minimum, << 32, and their earlier neighbours
    u64* asked;                 // [most_asked] the same of nodes whose hash is at most `share`
    u64* left;                  // [most_left] the same of doubtful nodes from which the host descends
    u64* lengths;               // [4] of the lists; past their ends nodes are counted only
    Findings* findings;         // given nodes, located ones, the last wave, located ones with closed forms
    u64 share;
    double tolerance;  // share of a sum
    u32 limit;         // the last wave that may locate a node
    u32 most_doubtful;
    u32 most_asked;
    u32 most_left;
};

struct EarlierArgs {  // @host
    Rows rows;
    const u32* wave;    // [nodes]
    const u32* nodes;   // [count]
    const u64* begins;  // [count] where the earlier neighbours of each begin
    u32* to;
    u64 count;
};

// What the oracle finds at a node.
struct Oracle {  // @host
    double sum;      // summed distance at the answer's place, radians
    double least;    // the least summed distance
    double x, y, z;  // where it is
    u64 work;        // distances that were computed
    u64 neighbors;   // 0: too many for a warp
};

struct OracleArgs {  // @host
    GeoArgs g;
    const u64* nodes;  // [count] nodes << 32, and their earlier neighbours
    Oracle* found;     // [count]
    u64 count;
};

#define PI 3.14159265358979323846
#define RADIUS_KM 6371.0088
#define OFF_KM 1e-6                   // how far a place with a closed form may be off
#define ROUNDING (1e-9 / RADIUS_KM)   // of a distance, in radians
#define HERE 1e-11                    // a neighbour as near as this has the same place
#define REACH 0.05                    // a minimum farther away is not looked for

struct Vector {
    double x, y, z;
};

__device__ __forceinline__ double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

__device__ __forceinline__ Vector cross(Vector a, Vector b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__device__ __forceinline__ Vector scaled(Vector a, double by) { return {a.x * by, a.y * by, a.z * by}; }

__device__ __forceinline__ double angle(Vector a, Vector b) {
    Vector c = cross(a, b);
    return atan2(sqrt(dot(c, c)), dot(a, b));
}

__device__ __forceinline__ Vector place_of(const GeoArgs& a, u32 v) {
    double2 first = a.at[2 * (u64)v], second = a.at[2 * (u64)v + 1];
    return {first.x, first.y, second.x};
}

// The same meridian in (-180, 180].
__device__ __forceinline__ double normalized(double east) {
    double rest = fmod(east, 360.0);
    return rest > 180.0 ? rest - 360.0 : rest <= -180.0 ? rest + 360.0 : rest;
}

__device__ __forceinline__ bool is_given(const GeoArgs& a, u64 v) {
    return !isnan(a.given_north[v]) && !isnan(a.given_east[v]);
}

__device__ __forceinline__ bool is_located(u32 wave) { return wave != 0 && wave != NONE; }

// Places, of nodes by themselves: given ones are as they were given.
extern "C" __global__ void __launch_bounds__(THREADS) check_geo_places(GeoArgs a) {
    bool wrong = false;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        double north = a.north[v], east = a.east[v], given_north = a.given_north[v], given_east = a.given_east[v];
        u32 wave = a.wave[v];
        bool right = !is_given(a, v) || (fabs(given_north) <= 90.0 && isfinite(given_east));
        if (wave == NONE) {
            right = right && isnan(north) && isnan(east);
        } else {
            right = right && fabs(north) <= 90.0 && fabs(east) <= 180.0;
            if (wave == 0) right = right && north == given_north && normalized(east) == normalized(given_east);
        }
        wrong = wrong || !right;
        double sin_north, cos_north, sin_east, cos_east;
        sincos(north * (PI / 180.0), &sin_north, &cos_north);
        sincos(east * (PI / 180.0), &sin_east, &cos_east);
        a.at[2 * v] = make_double2(cos_north * cos_east, cos_north * sin_east);
        a.at[2 * v + 1] = make_double2(sin_north, 0.0);
    }
    if (wrong) a.findings->wrong = 1;
}

// Sums over a team of 32 or THREADS threads, all of which get them; `room` holds a value a warp.
template <u32 TEAM>
__device__ __forceinline__ double team_sum(double value, double* room) {
    for (u32 step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(0xffffffffu, value, step);
    if (TEAM == 32) return value;
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0.0;
    for (u32 w = 0; w < TEAM / 32; w++) sum += room[w];
    return sum;
}

// Numbers below 2^32 are exact in f64.
template <u32 TEAM>
__device__ __forceinline__ u32 team_least(u32 value, double* room) {
    for (u32 step = 16; step > 0; step >>= 1) value = min(value, __shfl_xor_sync(0xffffffffu, value, step));
    if (TEAM == 32) return value;
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = (double)value;
    __syncthreads();
    double least = room[0];
    for (u32 w = 1; w < TEAM / 32; w++) least = fmin(least, room[w]);
    return (u32)least;
}

// What a thread has seen.
struct Tally {
    u64 given, located, closed, last;
    bool wrong;
};

// Two directions at right angles to x and to each other.
__device__ __forceinline__ void tangents(Vector x, Vector& east, Vector& north) {
    east = cross(fabs(x.z) < 0.7 ? Vector{0.0, 0.0, 1.0} : Vector{1.0, 0.0, 0.0}, x);
    east = scaled(east, 1.0 / sqrt(dot(east, east)));
    north = cross(x, east);
}

// Whether no sum within reach of x is lower by more than the tolerance, as far as slope and curvature tell.
template <u32 TEAM>
__device__ bool is_minimum(const GeoArgs& a, u32 v, u32 wave, double* room) {
    const u64 begin = a.rows.offsets[v], end = a.rows.offsets[v + 1];
    Vector x = place_of(a, v);
    Vector east, north;
    tangents(x, east, north);
    double sum = 0.0, count = 0.0, here = 0.0, opposite = 0.0, pull_u = 0.0, pull_v = 0.0;
    double bend_uu = 0.0, bend_uv = 0.0, bend_vv = 0.0;
    for (u64 at = begin + threadIdx.x % TEAM; at < end; at += TEAM) {
        u32 other = a.rows.columns[at];
        if (a.wave[other] >= wave) continue;
        Vector p = place_of(a, other);
        double far = angle(x, p);
        sum += far;
        count += 1.0;
        if (far < HERE) {
            here += 1.0;
            continue;
        }
        double u = dot(east, p), w = dot(north, p), across = hypot(u, w);
        if (across < HERE) {
            opposite += 1.0;
            continue;
        }
        double bend = dot(x, p) / across;
        u /= across;
        w /= across;
        pull_u += u;
        pull_v += w;
        bend_uu += bend * w * w;
        bend_uv -= bend * u * w;
        bend_vv += bend * u * u;
    }
    sum = team_sum<TEAM>(sum, room);
    count = team_sum<TEAM>(count, room);
    here = team_sum<TEAM>(here, room);
    opposite = team_sum<TEAM>(opposite, room);
    pull_u = team_sum<TEAM>(pull_u, room);
    pull_v = team_sum<TEAM>(pull_v, room);
    bend_uu = team_sum<TEAM>(bend_uu, room);
    bend_uv = team_sum<TEAM>(bend_uv, room);
    bend_vv = team_sum<TEAM>(bend_vv, room);
    double reach = fmin(REACH, 2.0 * sum / count), slope = fmax(hypot(pull_u, pull_v) - here, 0.0);
    double least = (bend_uu + bend_vv) / 2.0 - hypot((bend_uu - bend_vv) / 2.0, bend_uv);
    double falls = slope * reach + fmax(-least, 0.0) * reach * reach / 2.0;
    return opposite == 0.0 && falls <= a.tolerance * sum + count * ROUNDING;
}

// Whether a node with one earlier neighbour or two is where it belongs.
template <u32 TEAM>
__device__ bool is_half_way(const GeoArgs& a, u32 v, u32 wave, u32 earlier, double* room) {
    const u64 begin = a.rows.offsets[v], end = a.rows.offsets[v + 1];
    Vector sum = {0.0, 0.0, 0.0};
    for (u64 at = begin + threadIdx.x % TEAM; at < end; at += TEAM) {
        u32 other = a.rows.columns[at];
        if (a.wave[other] >= wave) continue;
        Vector p = scaled(place_of(a, other), earlier == 1 ? 2.0 : 1.0);
        sum = {sum.x + p.x, sum.y + p.y, sum.z + p.z};
    }
    sum = {team_sum<TEAM>(sum.x, room), team_sum<TEAM>(sum.y, room), team_sum<TEAM>(sum.z, room)};
    double length = sqrt(dot(sum, sum));
    // Of antipodes every point is one of least sum.
    if (length <= 1e-12) return true;
    double off = angle(place_of(a, v), scaled(sum, 1.0 / length)) * RADIUS_KM;
    return off <= OFF_KM + 4e-15 * RADIUS_KM / length;
}

template <u32 TEAM>
__device__ void check_row(const GeoArgs& a, u32 v, double* room, Tally& tally) {
    const u64 begin = a.rows.offsets[v], end = a.rows.offsets[v + 1];
    const bool first = threadIdx.x % TEAM == 0;
    const u32 wave = a.wave[v];
    u32 least = NONE, own = 0;
    for (u64 at = begin + threadIdx.x % TEAM; at < end; at += TEAM) {
        u32 other = a.rows.columns[at], near = a.wave[other];
        if (other != v && near < least) least = near;
        own += near < wave;
    }
    least = team_least<TEAM>(least, room);
    u32 earlier = (u32)team_sum<TEAM>((double)own, room);
    u32 right = is_given(a, v) ? 0 : least != NONE && least < a.limit ? least + 1 : NONE;
    if (wave != right) tally.wrong = true;
    if (first && wave == 0) tally.given += 1;
    if (first && wave != NONE && wave > tally.last) tally.last = wave;
    if (!is_located(wave)) return;
    if (first) {
        tally.located += 1;
        a.earlier[v] = earlier;
    }
    if (earlier < FEWEST_OF_A_MEDIAN) {
        if (first) tally.closed += 1;
        if (earlier > 0 && !is_half_way<TEAM>(a, v, wave, earlier, room)) tally.wrong = true;
    } else if (!is_minimum<TEAM>(a, v, wave, room) && first) {
        u64 place = atomicAdd(a.lengths + 1, 1ull);
        if (place < a.most_doubtful) a.doubtful[place] = (u64)v << 32 | earlier;
    }
}

__device__ __forceinline__ void report(const GeoArgs& a, const Tally& tally) {
    if (tally.wrong) a.findings->wrong = 1;
    add_all(&a.findings->reached, tally.given);
    add_all(&a.findings->arcs, tally.located);
    add_all(&a.findings->others, tally.closed);
    most_of_all(&a.findings->most, tally.last);
}

// A warp a row; long rows are listed.
extern "C" __global__ void __launch_bounds__(THREADS) check_geo_rows(GeoArgs a) {
    Tally tally = {0, 0, 0, 0, false};
    for (u64 v = this_thread() / 32; v < a.rows.nodes; v += all_threads() / 32) {
        if (a.rows.offsets[v + 1] - a.rows.offsets[v] <= LONG) {
            check_row<32>(a, (u32)v, nullptr, tally);
        } else if (threadIdx.x % 32 == 0) {
            a.longs[atomicAdd(a.lengths, 1ull)] = (u32)v;
        }
    }
    report(a, tally);
}

// A block a long row.
extern "C" __global__ void __launch_bounds__(THREADS) check_geo_long_rows(GeoArgs a) {
    __shared__ double room[THREADS / 32];
    Tally tally = {0, 0, 0, 0, false};
    for (u64 i = blockIdx.x; i < a.lengths[0]; i += gridDim.x) check_row<THREADS>(a, a.longs[i], room, tally);
    report(a, tally);
}

// A place, and the summed distance from the earlier neighbours.
struct Found {
    Vector x;
    double sum;
};

// A place on a tangent plane.
struct Spot {
    double u, w, sum;
};

// The earlier neighbours of a node, of a warp.
struct Cloud {
    const GeoArgs& a;
    Vector* kept;  // or null, where they are more than KEPT
    u32 v, wave, count;
    mutable u64 work;  // distances that were computed

    template <class Each>
    __device__ __forceinline__ void each(Each each) const {
        if (kept) {
            for (u32 i = threadIdx.x % 32; i < count; i += 32) each(kept[i]);
            return;
        }
        const u64 end = a.rows.offsets[v + 1];
        for (u64 at = a.rows.offsets[v] + threadIdx.x % 32; at < end; at += 32) {
            u32 other = a.rows.columns[at];
            if (a.wave[other] < wave) each(place_of(a, other));
        }
    }

    // The same in all lanes.
    __device__ double sum(Vector x) const {
        double sum = 0.0;
        work += count;
        each([&](Vector p) { sum += angle(x, p); });
        return team_sum<32>(sum, nullptr);
    }
};

// The direction to which a tangent leads.
__device__ Vector along(Vector x, Vector east, Vector north, double u, double w) {
    double length = hypot(u, w);
    if (length == 0.0) return x;
    double sine, cosine;
    sincos(length, &sine, &cosine);
    u *= sine / length;
    w *= sine / length;
    Vector to = {cosine * x.x + u * east.x + w * north.x, cosine * x.y + u * east.y + w * north.y,
                 cosine * x.z + u * east.z + w * north.z};
    return scaled(to, 1.0 / sqrt(dot(to, to)));
}

__device__ __forceinline__ void in_order(Spot& one, Spot& other) {
    if (other.sum < one.sum) {
        Spot first = other;
        other = one;
        one = first;
    }
}

// The simplex method on the tangent plane; never worse than the start.
__device__ Found simplex(const Cloud& cloud, Found start, double step, double end) {
    Vector east, north;
    tangents(start.x, east, north);
    auto at = [&](double u, double w) -> Spot { return {u, w, cloud.sum(along(start.x, east, north, u, w))}; };
    Spot best = {0.0, 0.0, start.sum}, good = at(step, 0.0), bad = at(-step / 2.0, step * sqrt(0.75));
    for (u32 round = 0;; round++) {
        in_order(best, good);
        in_order(good, bad);
        in_order(best, good);
        double size = fmax(hypot(best.u - good.u, best.w - good.w), hypot(best.u - bad.u, best.w - bad.w));
        bool flat = bad.sum - best.sum <= end * best.sum && size < 1e-2 * step;
        if (round == 150 || flat || size < 1e-9 * step) break;
        // On the line from the worst through the middle of the others.
        auto on_line = [&](double t) {
            return at(bad.u + t * ((best.u + good.u) / 2.0 - bad.u), bad.w + t * ((best.w + good.w) / 2.0 - bad.w));
        };
        Spot next = on_line(2.0);
        if (next.sum < best.sum) {
            Spot far = on_line(3.0);
            if (far.sum < next.sum) next = far;
        } else if (!(next.sum < good.sum)) {
            next = on_line(next.sum < bad.sum ? 1.5 : 0.5);
        }
        if (next.sum < bad.sum) {
            bad = next;
        } else {
            good = at((good.u + best.u) / 2.0, (good.w + best.w) / 2.0);
            bad = at((bad.u + best.u) / 2.0, (bad.w + best.w) / 2.0);
        }
    }
    if (!(best.sum < start.sum)) return start;
    return {along(start.x, east, north, best.u, best.w), best.sum};
}

// Descends from a place, off a neighbour's own place along the pull of the others.
__device__ Found leave(const Cloud& cloud, Found start, double step, double end) {
    Vector east, north;
    tangents(start.x, east, north);
    double held = 0.0, opposite = 0.0, u = 0.0, w = 0.0;
    cloud.each([&](Vector p) {
        if (angle(start.x, p) < HERE) held += 1.0;
        if (dot(p, start.x) < -1.0 + 1e-9) opposite += 1.0;
        double to_east = dot(east, p), to_north = dot(north, p), length = hypot(to_east, to_north);
        // Neither the point itself nor its antipode pulls.
        if (length < HERE) return;
        u += to_east / length;
        w += to_north / length;
    });
    held = team_sum<32>(held, nullptr);
    if (held == 0.0) return simplex(cloud, start, step, end);
    opposite = team_sum<32>(opposite, nullptr);
    u = team_sum<32>(u, nullptr);
    w = team_sum<32>(w, nullptr);
    double strength = fmax(hypot(u, w), 1e-300), reached = step, t = step;
    if (strength <= held && opposite == 0.0) return start;
    Found best = start;
    for (u32 i = 0; i < 40; i++, t /= 2.0) {
        Vector x = along(start.x, east, north, u / strength * t, w / strength * t);
        double sum = cloud.sum(x);
        if (sum < best.sum) {
            best = {x, sum};
            reached = t;
        } else if (best.sum < start.sum) {
            break;
        }
    }
    return simplex(cloud, best, reached / 2.0, end);
}

// Descends repeatedly, in smaller steps, until that gains nothing.
__device__ Found polish(const Cloud& cloud, Found best) {
    double step = fmin(fmax(best.sum / cloud.count * 0.01, 1e-9), 0.01);
    // A simplex may collapse beside the minimum, so two sizes in a row must gain nothing.
    for (u32 vain = 0; vain < 2; step *= 0.1) {
        Found next = leave(cloud, best, step, 1e-14);
        vain = best.sum - next.sum > 1e-12 * best.sum ? 0 : vain + 1;
        best = next;
    }
    return best;
}

// The earlier neighbours of v, of a warp; up to KEPT are kept in `room`.
__device__ Cloud cloud_of(const GeoArgs& a, u32 v, u32 count, Vector* room) {
    const u32 lane = threadIdx.x % 32, wave = a.wave[v];
    Vector* kept = count <= KEPT ? room : nullptr;
    const u64 end = a.rows.offsets[v + 1];
    u32 to = 0;
    for (u64 at = a.rows.offsets[v]; kept && at < end; at += 32) {
        u32 other = at + lane < end ? a.rows.columns[at + lane] : v;
        u32 bits = __ballot_sync(0xffffffffu, a.wave[other] < wave);
        if (bits >> lane & 1u) kept[to + __popc(bits & ((1u << lane) - 1))] = place_of(a, other);
        to += __popc(bits);
    }
    __syncwarp();
    return {a, kept, v, wave, count, 0};
}

// Descends from doubtful places; a warp a node.
extern "C" __global__ void __launch_bounds__(THREADS) check_geo_descents(GeoArgs a) {
    __shared__ Vector room[THREADS / 32 * KEPT];
    const u64 doubtful = a.lengths[1] < a.most_doubtful ? a.lengths[1] : a.most_doubtful;
    for (u64 i = this_thread() / 32; i < doubtful; i += all_threads() / 32) {
        u32 v = (u32)(a.doubtful[i] >> 32), count = (u32)a.doubtful[i];
        bool gains = count > MOST_OF_A_DESCENT;
        if (!gains) {
            Cloud cloud = cloud_of(a, v, count, room + threadIdx.x / 32 * KEPT);
            Found start = {place_of(a, v), cloud.sum(place_of(a, v))};
            double least = polish(cloud, start).sum;
            gains = !(start.sum <= least * (1.0 + a.tolerance) + count * ROUNDING);
            __syncwarp();
        }
        if (gains && threadIdx.x % 32 == 0) {
            u64 place = atomicAdd(a.lengths + 3, 1ull);
            if (place < a.most_left) a.left[place] = a.doubtful[i];
        }
    }
}

#define NOWHERE 1e300  // the sum of a candidate that does not count
#define LATTICE 80u  // points over the globe, about 0.4 radians apart
#define CANDIDATES (KEPT + 1u + LATTICE)
#define BASIN 0.3    // a candidate as near as this, in radians, is nearby
#define BEST 4u      // best candidates from which descents start, where points lie wide
#define ALONE 6u     // further ones, which have no better one nearby
#define POLISHED 4u  // minima that are polished, at most
#define CLOSE 1e-4   // share within which they are of the least one

// A point of a spiral of the golden angle.
__device__ Vector lattice(u32 i) {
    double z = 1.0 - (2.0 * i + 1.0) / LATTICE, r = sqrt(1.0 - z * z), sine, cosine;
    sincos(PI * (3.0 - sqrt(5.0)) * i, &sine, &cosine);
    return {r * cosine, r * sine, z};
}

__device__ __forceinline__ bool same(Vector a, Vector b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Puts `one` among `count` others by rising sums.
__device__ void put(Found* all, u32 count, Found one) {
    for (; count > 0 && one.sum < all[count - 1].sum; count--) all[count] = all[count - 1];
    all[count] = one;
}

// The least sum on the globe, of points that are kept. Candidates are all points, the mean direction, and for points that do not lie
// in a ball of 45 degrees a lattice. `sums` and `order` have room for CANDIDATES.
__device__ Found least_of_all(const Cloud& cloud, double* sums, u32* order) {
    const u32 lane = threadIdx.x % 32, count = cloud.count;
    Vector total = {0.0, 0.0, 0.0};
    for (u32 i = 0; i < count; i++) {
        Vector p = cloud.kept[i];
        total = {total.x + p.x, total.y + p.y, total.z + p.z};
    }
    double length = sqrt(dot(total, total));
    const u32 means = length > 1e-12 ? 1 : 0;
    const Vector mean = scaled(total, means ? 1.0 / length : 0.0);
    bool wide = !means;
    for (u32 i = 0; i < count; i++) wide = wide || !(dot(mean, cloud.kept[i]) > 0.70710678118654752440);
    const u32 candidates = count + means + (wide ? LATTICE : 0);
    auto candidate = [&](u32 i) -> Vector {
        return i < count ? cloud.kept[i] : i < count + means ? mean : lattice(i - count - means);
    };
    // A candidate a lane. Of equal points one counts.
    for (u32 i = lane; i < candidates; i += 32) {
        Vector x = candidate(i);
        double sum = 0.0;
        for (u32 j = 0; j < count; j++) {
            if (j < i && i < count && same(x, cloud.kept[j])) sum = NOWHERE;
            sum += angle(x, cloud.kept[j]);
        }
        sums[i] = sum;
    }
    cloud.work += (u64)candidates * count;
    __syncwarp();
    // Places by rising sums; the upper bit says that no better one is nearby.
    for (u32 i = lane; i < candidates; i += 32) {
        u32 place = 0;
        bool alone = true;
        Vector x = candidate(i);
        for (u32 j = 0; j < candidates; j++) {
            bool better = sums[j] < sums[i] || (sums[j] == sums[i] && j < i);
            if (!better) continue;
            place++;
            if (dot(x, candidate(j)) > cos(BASIN)) alone = false;
        }
        order[place] = i | (alone ? 1u << 31 : 0);
    }
    __syncwarp();
    Found ends[BEST + 1 + ALONE];
    u32 found = 0, lonely = 0;
    // Small steps, so that no descent leaves the basin of its start.
    auto descend = [&](u32 i) {
        Found start = {candidate(i), sums[i]};
        put(ends, found, leave(cloud, start, fmin(fmax(start.sum / count * 0.1, 1e-9), 0.05), 1e-8));
        found++;
    };
    for (u32 place = 0; place < candidates; place++) {
        u32 i = order[place] & ~(1u << 31);
        if (sums[i] == NOWHERE || (!wide && place > 0)) break;
        bool alone = order[place] >> 31;
        if (place >= BEST && (!alone || lonely == ALONE)) continue;
        if (place >= BEST) lonely++;
        descend(i);
    }
    if (wide && means) descend(count);
    const double least = ends[0].sum;
    Found polished[POLISHED], best = ends[0];
    u32 minima = 0;
    for (u32 i = 0; i < found && minima < POLISHED; i++) {
        bool again = ends[i].sum > least * (1.0 + CLOSE);
        for (u32 j = 0; j < minima; j++) again = again || angle(ends[i].x, polished[j].x) < 1e-3 * least / count;
        if (!again) polished[minima++] = ends[i];
    }
    for (u32 j = 0; j < minima; j++) {
        Found end = polish(cloud, polished[j]);
        if (end.sum < best.sum) best = end;
    }
    return best;
}

// Looks for the least sum on the globe; a warp a node.
extern "C" __global__ void __launch_bounds__(THREADS) check_geo_oracle(OracleArgs a) {
    __shared__ Vector room[THREADS / 32 * KEPT];
    __shared__ double sums[THREADS / 32 * CANDIDATES];
    __shared__ u32 order[THREADS / 32 * CANDIDATES];
    const u32 warp = threadIdx.x / 32;
    for (u64 i = this_thread() / 32; i < a.count; i += all_threads() / 32) {
        u32 v = (u32)(a.nodes[i] >> 32), count = (u32)a.nodes[i];
        if (count > KEPT) continue;
        Cloud cloud = cloud_of(a.g, v, count, room + warp * KEPT);
        double sum = cloud.sum(place_of(a.g, v));
        Found best = least_of_all(cloud, sums + warp * CANDIDATES, order + warp * CANDIDATES);
        if (threadIdx.x % 32 == 0) a.found[i] = {sum, best.sum, best.x.x, best.x.y, best.x.z, cloud.work, count};
        __syncwarp();
    }
}

// Scrambles a node's index (splitmix64).
__device__ __forceinline__ u64 scrambled(u32 v) {
    u64 z = ((u64)v + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// Lists the nodes that may be compared with the least sum on the globe.
extern "C" __global__ void __launch_bounds__(THREADS) check_geo_asked(GeoArgs a) {
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 earlier = a.earlier[v];
        if (earlier < FEWEST_OF_A_MEDIAN || scrambled((u32)v) > a.share) continue;
        u64 place = atomicAdd(a.lengths + 2, 1ull);
        if (place < a.most_asked) a.asked[place] = v << 32 | earlier;
    }
}

// The earlier neighbours of some nodes, one for each arc, in the order of the row; a warp a node.
extern "C" __global__ void __launch_bounds__(THREADS) check_geo_earlier(EarlierArgs a) {
    const u32 lane = threadIdx.x % 32;
    for (u64 i = this_thread() / 32; i < a.count; i += all_threads() / 32) {
        u32 v = a.nodes[i], wave = a.wave[v];
        u64 to = a.begins[i], end = a.rows.offsets[v + 1];
        for (u64 at = a.rows.offsets[v]; at < end; at += 32) {
            u32 other = at + lane < end ? a.rows.columns[at + lane] : v;
            u32 bits = __ballot_sync(0xffffffffu, a.wave[other] < wave);
            if (bits >> lane & 1u) a.to[to + __popc(bits & ((1u << lane) - 1))] = other;
            to += __popc(bits);
        }
    }
}
