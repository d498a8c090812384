// Shortest paths on skewed graphs: push the first and last levels, pull the heavy ones.
//
// Idea. Rows are sorted by weight. Let L be the smallest distance in the frontier (the nodes whose
// arcs have not been relaxed since they last improved). A node v can still improve only over an arc
// of weight w with fl(w + L) < dist[v], so a pull scans the first few arcs of a row and stops,
// whatever the degree. Rounding is monotone, so the test is exact.
//
// Invariant between rounds: every arc out of a node outside the frontier is relaxed. `front` holds
// the frontier, `next` is all zero. A round consumes `front`, fills `next`, and swaps them.
//
// Where weights are wide, there are hubs (neither HIVE_PACKED nor HIVE_CAPPED), and distances are fine (`inner`), most distances
// improve many times, and mostly over nodes of high degree. There whole searches pull these until few of them improve, and then
// all nodes, with the lowest distance that has changed since the last pull of all. Only after such a pull is the frontier what
// improved last.
//
// Where degrees are alike (HIVE_CAPPED), no node is near to all others, and frontiers that are pushed as they come relax most
// arcs many times. There pushes go by windows of distances, each settled before the next, and from early on only along arcs
// that lead below a cap, which is guessed to be beyond where half of the nodes are settled. Then the first pull follows: a node
// whose distance is above the cap looks at all arcs that are lighter than its distance, others stop as in any pull.
//
// Jointly (sssp_joint), replicas on several GPUs pull together: each into its own nodes, whose distances and marks it stores into
// everybody's arrays; then all meet (joint.cuh). A distance that comes early does no harm: its node is marked. Windows are shared,
// too, once many nodes are reached (sssp_capped.cuh). Other pushes are redundant, from snapshots.
//
// Rounds: "queue" (a small frontier; its arcs are dealt evenly over the whole grid), "scan" (a larger
// one, compacted in node order with the prefix sum of its degrees, dealt evenly too), "pull".
//
// Source of the pull's early stop: the lightest-arc-first rule of Thorup's and Dial's bounds; of the
// push/pull switch: Beamer, Asanovic, Patterson, SC 2012, section 4.
//
// Compiled with: -DHIVE_PACKED=1 -DHIVE_WIDE=0 | -DHIVE_PACKED=0 -DHIVE_WIDE=0 | -DHIVE_PACKED=1 -DHIVE_WIDE=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=1 | -DHIVE_PACKED=1 -DHIVE_WIDE=0 -DHIVE_CAPPED=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=0 -DHIVE_CAPPED=1 | -DHIVE_PACKED=1 -DHIVE_WIDE=1 -DHIVE_CAPPED=1 | -DHIVE_PACKED=0 -DHIVE_WIDE=1 -DHIVE_CAPPED=1

#include "sssp_search.cuh"

extern "C" __global__ void __launch_bounds__(STEP_THREADS, 2) sssp_step(const StepArgs a) { step<false>(a); }

struct RecordArgs {  // @host
    const offset_t* offsets;
    const arc_t* arcs;
    Record* records;  // [active]
    u32 lo, hi;       // the rows to record
    ArcForm form;
};

// records[v] = the first four arcs of row v, padded with v itself.
extern "C" __global__ void sssp_records(const RecordArgs a) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = a.lo + (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.hi; i += stride) {
        u32 v = (u32)i;
        offset_t first = a.offsets[v], last = a.offsets[v + 1];
        Record r;
        for (u32 k = 0; k < 4; k++) {
#if HIVE_PACKED
            r.arc[k] = first + k < last ? a.arcs[first + k] : v << a.form.bits;
#else
            r.arc[k] = first + k < last ? a.arcs[first + k] : make_uint2(v, 0);
#endif
        }
        a.records[v] = r;
    }
}

struct SeedArgs {  // @host
    const u32* seeds;
    u32* dist;
    u32* front;
    const offset_t* out_offsets;
    u32* queue;
    u32 count;
    u32 active;
};

// dist = 0 and a frontier bit at each seed; the seeds also make the first queue where they fit.
extern "C" __global__ void sssp_scatter(const SeedArgs a) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += gridDim.x * blockDim.x) {
        u32 v = a.seeds[i];
        a.dist[v] = 0;
        if (v >= a.active) continue;
        atomicOr(a.front + (v >> 5), 1u << (v & 31u));
        if (a.count <= QUEUE && a.queue) {
            a.queue[i] = v;
            a.queue[QUEUE + i] = (u32)min(degree_of(a.out_offsets, v), (u64)FULL);
        }
    }
}

struct BeginArgs {  // @host
    u32* dist;   // [nodes]
    u64* front;  // [words] bitmap
    u64* next;   // [words] bitmap
    u64* control;  // [controls]
    const offset_t* out_offsets;
    u32* queue;
    u64 nodes, words;
    u32 controls;
    u32 seed;
    u32 active;
    u32 unused;
};

// What a search from one seed begins with, in one launch.
extern "C" __global__ void sssp_begin(const BeginArgs a) {
    u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
    bool active = a.seed < a.active;
    for (u64 v = first; v < a.nodes; v += stride) a.dist[v] = v == a.seed ? 0u : INFINITE;
    for (u64 i = first; i < a.words; i += stride) {
        a.front[i] = active && i == a.seed >> 6 ? 1ull << (a.seed & 63u) : 0;
        a.next[i] = 0;
    }
    for (u64 i = first; i < a.controls; i += stride) a.control[i] = 0;
    if (first || !active) return;
    a.queue[0] = a.seed;
    a.queue[QUEUE] = (u32)min(degree_of(a.out_offsets, a.seed), (u64)FULL);
}

struct ExchangeArgs {  // @host
    u32* dist;
    u32* front;
    u64* pairs;    // dist << 32 | node, the ranks' lists one after another
    u32* counter;  // zeroed
    u64 first, last;  // own list
    u64 total;
    u32 lo, hi;  // own words of `front`
};

// Lists the chunk's improved nodes with their distances; any order.
extern "C" __global__ void sssp_pack(const ExchangeArgs a) {
    for (u32 i = a.lo + blockIdx.x * blockDim.x + threadIdx.x; i < a.hi; i += gridDim.x * blockDim.x) {
        u32 bits = a.front[i];
        if (!bits) continue;
        u64 at = a.first + atomicAdd(a.counter, (u32)__popc(bits));
        for (; bits && at < a.last; bits &= bits - 1, at++) {
            u32 v = i * 32 + __ffs(bits) - 1;
            a.pairs[at] = (u64)a.dist[v] << 32 | v;
        }
    }
}

// Takes over what the other ranks listed. Owners are the only writers of their nodes.
extern "C" __global__ void sssp_apply(const ExchangeArgs a) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.total;
         i += (u64)gridDim.x * blockDim.x) {
        if (i >= a.first && i < a.last) continue;
        u64 pair = a.pairs[i];
        u32 v = (u32)pair;
        a.dist[v] = (u32)(pair >> 32);
        atomicOr(a.front + (v >> 5), 1u << (v & 31u));
    }
}
