// Checks shortest paths: the rules of src/verify/sssp.rs. An arc u -> v is tight when fl(dist[u] + w) == dist[v].
//
// A node is supported when a tight arc from a smaller distance leads to it, or one from the same distance out of a node that
// was supported before. If all reached nodes are supported, a chain of tight arcs leads from a seed to each: the distances
// along it never rise, and where they stay the order of support falls. Nominees are supported likewise, by tight arcs between
// nodes of the same nominee.
//
// Predecessors claim a tight level: the number of steps to a seed along them. These levels are those of a breadth-first search
// over tight arcs when no tight arc leads down by more than one, and every predecessor is one level up. The predecessor itself
// is the smallest such node.

#include "arcs.cuh"

#define SUPPORTED 1u  // a chain leads to the node
#define NAMED 2u      // one of its nominee
#define SEED 4u

struct SsspArgs {  // @host
    Rows rows;
    const u64* distances;     // [nodes] float or double
    const u32* nominees;      // [nodes], or null
    const u32* predecessors;  // [nodes], or null
    const u32* ranks;         // [nodes], or null where ids rise
    const u32* seeds;         // [count]
    u32* marks;               // [nodes]
    u32* levels;              // [nodes] steps along predecessors
    u32* ancestors;           // [nodes] where these lead
    u32* support;             // [nodes] least rank of a node one tight level up; NONE at first
    u32* next_levels;         // [nodes] levels and ancestors after a jump
    u32* next_ancestors;
    Findings* findings;
    u32 count;
    u32 unused;
};

struct Single {
    typedef float Value;
    static __device__ __forceinline__ Value at(const SsspArgs& a, u32 v) { return ((const float*)a.distances)[v]; }
    static __device__ __forceinline__ Value sum(Value d, float w) { return __fadd_rn(d, w); }
    static __device__ __forceinline__ u64 bits(Value d) { return __float_as_uint(d); }
    static const u64 INFINITE = 0x7f800000ull;
};

struct Double {
    typedef double Value;
    static __device__ __forceinline__ Value at(const SsspArgs& a, u32 v) { return ((const double*)a.distances)[v]; }
    static __device__ __forceinline__ Value sum(Value d, float w) { return __dadd_rn(d, (double)w); }
    static __device__ __forceinline__ u64 bits(Value d) { return (u64)__double_as_longlong(d); }
    static const u64 INFINITE = 0x7ff0000000000000ull;
};

// Reached: a number from +0 on.
template <class D>
__device__ __forceinline__ bool proper(typename D::Value d) { return D::bits(d) < D::INFINITE; }

// The rank of a claimed node, which may be none.
__device__ __forceinline__ u32 claimed_rank(const SsspArgs& a, u32 v) {
    return v < a.rows.nodes ? rank_of(a.ranks, v) : NONE;
}

template <class D>
__device__ void seeds_of(const SsspArgs& a) {
    for (u64 i = this_thread(); i < a.count; i += all_threads()) {
        u32 s = a.seeds[i], marks = SEED | SUPPORTED;
        bool right = D::bits(D::at(a, s)) == 0;
        if (a.nominees) {
            u32 nominee = a.nominees[s];
            right = right && claimed_rank(a, nominee) <= rank_of(a.ranks, s);
            if (nominee == s) marks |= NAMED;
        }
        a.marks[s] = marks;
        if (!right) a.findings->wrong = 1;
    }
}

template <class D>
__device__ void arcs_of(const SsspArgs& a) {
    bool wrong = false;
    u64 overflowed = 0;
    each_arc(a.rows, [&](u32 u, u32 v, u64 place) {
        auto from = D::at(a, u), to = D::at(a, v);
        if (!proper<D>(from)) return;
        auto sum = D::sum(from, weight_at(a.rows, u, v, place));
        if (sum < to) wrong = true;
        if (!proper<D>(sum)) {
            overflowed += 1;
            return;
        }
        if (sum != to) return;
        u32 marks = from < to ? SUPPORTED : 0;
        if (a.nominees) {
            u32 tail = a.nominees[u], head = a.nominees[v];
            if (tail == head) {
                if (from < to) marks |= NAMED;
            } else if (claimed_rank(a, head) > claimed_rank(a, tail)) {
                wrong = true;
            }
        }
        if (marks & ~a.marks[v]) atomicOr(a.marks + v, marks);
    });
    if (wrong) a.findings->wrong = 1;
    add_all(&a.findings->others, overflowed);
}

// Support that arcs between equal distances pass on.
template <class D>
__device__ void spread_of(const SsspArgs& a) {
    bool changed = false;
    each_arc(a.rows, [&](u32 u, u32 v, u64 place) {
        auto from = D::at(a, u), to = D::at(a, v);
        if (from != to || !proper<D>(from) || D::sum(from, weight_at(a.rows, u, v, place)) != to) return;
        u32 marks = a.marks[u] & SUPPORTED;
        if (a.nominees && a.nominees[u] == a.nominees[v]) marks |= a.marks[u] & NAMED;
        if (marks & ~a.marks[v]) {
            atomicOr(a.marks + v, marks);
            changed = true;
        }
    });
    if (changed) a.findings->changed = 1;
}

// `others` is left alone; nodes that lack support are counted as `changed`.
template <class D>
__device__ void nodes_of(const SsspArgs& a) {
    u64 reached = 0, arcs = 0, most = 0;
    bool wrong = false, lacking = false;
    const u32 wanted = SUPPORTED | (a.nominees ? NAMED : 0);
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        auto own = D::at(a, (u32)v);
        if (proper<D>(own)) {
            reached += 1;
            arcs += a.rows.offsets[v + 1] - a.rows.offsets[v];
            if (D::bits(own) > most) most = D::bits(own);
            if ((a.marks[v] & wanted) != wanted) lacking = true;
        } else if (D::bits(own) != D::INFINITE || (a.nominees && a.nominees[v] != NONE)) {
            wrong = true;
        }
    }
    if (wrong) a.findings->wrong = 1;
    if (lacking) a.findings->changed = 1;
    add_all(&a.findings->reached, reached);
    add_all(&a.findings->arcs, arcs);
    most_of_all(&a.findings->most, most);
}

// First steps along predecessors.
template <class D>
__device__ void chains_of(const SsspArgs& a) {
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 before = a.predecessors[v];
        bool seed = a.marks[v] & SEED, reached = proper<D>(D::at(a, (u32)v));
        bool right = reached ? before < a.rows.nodes && (before == v) == seed : before == NONE;
        if (!right) a.findings->wrong = 1;
        a.ancestors[v] = right ? before : NONE;
        a.levels[v] = seed ? 0 : 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_seeds_f32(SsspArgs a) { seeds_of<Single>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_seeds_f64(SsspArgs a) { seeds_of<Double>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_arcs_f32(SsspArgs a) { arcs_of<Single>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_arcs_f64(SsspArgs a) { arcs_of<Double>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_spread_f32(SsspArgs a) { spread_of<Single>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_spread_f64(SsspArgs a) { spread_of<Double>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_nodes_f32(SsspArgs a) { nodes_of<Single>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_nodes_f64(SsspArgs a) { nodes_of<Double>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_chains_f32(SsspArgs a) { chains_of<Single>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_chains_f64(SsspArgs a) { chains_of<Double>(a); }

// Twice as many steps. `changed`: some chain has not come to its seed.
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_jump(SsspArgs a) {
    bool under_way = false;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 at = a.ancestors[v], level = a.levels[v];
        if (at != NONE && !(a.marks[at] & SEED)) {
            under_way = true;
            level += a.levels[at];
            at = a.ancestors[at];
        }
        a.next_ancestors[v] = at;
        a.next_levels[v] = level;
    }
    if (under_way) a.findings->changed = 1;
}

template <class D>
__device__ void tight_of(const SsspArgs& a) {
    bool wrong = false;
    each_arc(a.rows, [&](u32 u, u32 v, u64 place) {
        auto from = D::at(a, u), to = D::at(a, v);
        if (!proper<D>(from)) return;
        auto sum = D::sum(from, weight_at(a.rows, u, v, place));
        if (sum != to || !proper<D>(sum)) return;
        u32 below = a.levels[u] + 1, level = a.levels[v];
        if (below < level) wrong = true;
        if (below == level) {
            u32 rank = rank_of(a.ranks, u);
            if (a.support[v] > rank) atomicMin(a.support + v, rank);
        }
    });
    if (wrong) a.findings->wrong = 1;
}

extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_tight_f32(SsspArgs a) { tight_of<Single>(a); }
extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_tight_f64(SsspArgs a) { tight_of<Double>(a); }

extern "C" __global__ void __launch_bounds__(THREADS) check_sssp_predecessors(SsspArgs a) {
    u64 most = 0;
    for (u64 v = this_thread(); v < a.rows.nodes; v += all_threads()) {
        u32 before = a.predecessors[v];
        if (before == NONE) continue;
        if (a.levels[v] > most) most = a.levels[v];
        if (!(a.marks[v] & SEED) && rank_of(a.ranks, before) != a.support[v]) a.findings->wrong = 1;
    }
    most_of_all(&a.findings->most, most);
}
