// Layouts made from a CSR in device memory: labels by falling degree, and rows of labels in sorted order. The same arrays,
// to the byte, as src/layout/ makes on the host.
//
// Labels: nodes are sorted by (largest degree - degree, node). Rows: every arc becomes a 64-bit key, row in the upper bits,
// then weight, then column, which sort.cu sorts. Rows are laid out in ranges of labels, so that the keys of a range fit the
// scratch memory. Forward rows are gathered: the arcs of a row lie together in the input. Backward rows, and rows that lose
// their self loops, are selected from all arcs.

#include "keys.cuh"
#include "mix.cuh"
#include "rows.cuh"

// The input: rows by node.
struct Input {  // @host
    const u64* offsets;    // [nodes + 1]
    const u32* columns;    // [m]
    const float* weights;  // [m], or 0: where weights are wanted, they are those of pairs
    const u32* labels;     // [nodes] node -> label, or 0 where labels are nodes
    const u32* node_of;    // [nodes] label -> node, or 0
    u64 nodes;
    u64 pair_key;  // of the weights of pairs
};

struct CountArgs {  // @host
    Input input;
    u64* counts;  // [nodes]
    u64 arcs;
    u32 drop_loops;
    u32 unused;
};

struct DegreeArgs {  // @host
    const u64* offsets;  // [nodes + 1]
    const u64* counts;   // [nodes] in-degrees, or 0 where they are not added
    u64* most;           // the largest degree, taken as a maximum
    u64* connected;      // nodes of a degree above 0, added to
    u64* keys;           // [nodes] (limit - degree) << node_bits | node; 0: not wanted
    u64 nodes;
    u64 limit;
    u32 node_bits;
    u32 unused;
};

struct LabelArgs {  // @host
    const u64* keys;  // [nodes] sorted
    u32* node_of;     // [nodes] label -> node
    u32* label_of;    // [nodes] node -> label
    u64 nodes;
    u32 node_bits;
    u32 unused;
};

// Row offsets by label: an exclusive prefix sum in three launches.
struct OffsetArgs {  // @host
    const u64* from;      // [nodes + 1] offsets by node, or 0
    const u64* counts;    // [nodes] lengths by node, which take the place of `from`, or 0
    const u32* node_of;   // [rows] label -> node, or 0 where they are the same
    u64* sums;            // [tiles + 1]
    u64* offsets;         // [rows + 1]
    u64* shift;           // [rows] place of a row's arcs in the input less that in the rows, modulo 2^64; or 0
    u64 rows;
    u32 tiles;
    u32 unused;
};

// What stands for a weight in a key: nothing, the whole number that it is, or its bits, which for weights >= 0 are in the
// order of the weights.
enum KeyWeight { WEIGHT_NONE, WEIGHT_WHOLE, WEIGHT_BITS };  // @host

// How an arc is a key: row - first row, weight - bias, column, from the upper bits to the lower.
struct KeyForm {  // @host
    u32 column_bits;
    u32 weight_bits;
    u32 bias;
    u32 weight;  // a KeyWeight
};

struct GatherArgs {  // @host
    Input input;
    KeyForm form;
    const u64* offsets;  // [rows + 1] of the rows, by label
    const u64* shift;    // [rows]
    u64* keys;           // [offsets[end] - offsets[first]]
    u64 begin;           // offsets[first]
    u64 count;
    u32 first, end;  // labels
};

struct SelectArgs {  // @host
    Input input;
    KeyForm form;
    u64* keys;    // [capacity], in any order
    u64* cursor;  // keys so far; past `capacity` they are counted only
    u64 capacity;
    u64 arcs;
    u32 first, end;  // labels of rows
    u32 turned;      // rows are of targets, columns sources
    u32 drop_loops;
};

struct StoreArgs {  // @host
    KeyForm form;
    const u64* keys;  // [count] sorted
    u32* out;         // of all rows: a word an arc, column << weight_bits | weight, or column and bits of the weight
    u64 begin;        // place of the first
    u64 count;
    u32 pairs;
    u32 unused;
};

struct RepeatArgs {  // @host
    const u64* offsets;  // [rows + 1]
    const u32* columns;  // [m] rising in each row
    u64* repeats;        // arcs from `begin` to `stop` beyond the first of the same row and column, added to
    u64 begin, stop;
    u32 rows;
    u32 unused;
};

struct NarrowArgs {  // @host
    const u64* from;  // [count], all below 2^32
    u32* to;          // [count]
    u64 count;
};

// What decides how weights are packed, taken together over all arcs.
struct WeightFacts {  // @host
    u64 sum;   // of whole weights
    u32 low;   // bits of the least weight
    u32 high;  // bits of the largest
    u32 odd;   // not 0: some weight is no whole number below 2^24
    u32 unused;
};

struct WeightArgs {  // @host
    Input input;
    u64 arcs;
    WeightFacts* facts;
    float* to;  // [arcs] takes the weights
};

__device__ __forceinline__ u32 label(const Input& in, u32 node) {
    return in.labels ? __ldg(in.labels + node) : node;
}

__device__ __forceinline__ u32 node(const Input& in, u32 label) {
    return in.node_of ? __ldg(in.node_of + label) : label;
}

// The weight of `arc`, which is from node u to node v.
__device__ __forceinline__ float arc_weight(const Input& in, u64 arc, u32 u, u32 v) {
    return in.weights ? __ldg(in.weights + arc) : (float)pair_weight(in.pair_key, u, v);
}

__device__ __forceinline__ u64 key_of(const KeyForm& form, u32 row, u32 weight, u32 column) {
    u64 upper = (u64)row << form.weight_bits | (weight - form.bias);
    return upper << form.column_bits | column;
}

__device__ __forceinline__ u32 in_key(const KeyForm& form, float weight) {
    return form.weight == WEIGHT_WHOLE ? (u32)weight : __float_as_uint(weight);
}

// In-degrees, or, where only loops are dropped, out-degrees without them.
extern "C" __global__ void __launch_bounds__(THREADS) layout_in_counts(CountArgs a) {
    __shared__ u32 row_of[TILE];
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs; begin += step) {
        u64 stop = min(begin + TILE, a.arcs);
        u32 first = 0;
        if (a.drop_loops) first = tile_rows(a.input.offsets, 0, (u32)a.input.nodes, begin, stop, row_of);
        for (u64 at = begin + threadIdx.x; at < stop; at += THREADS) {
            u32 column = __ldg(a.input.columns + at);
            if (a.drop_loops && first + row_of[at - begin] == column) continue;
            atomicAdd(a.counts + column, 1ull);
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) layout_out_counts(CountArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < a.input.nodes; v += stride) {
        u64 begin = a.input.offsets[v], end = a.input.offsets[v + 1];
        // Rows rise: self loops lie together.
        u64 range[2];
#pragma unroll
        for (u32 side = 0; side < 2; side++) {
            u64 low = begin, high = end, wanted = v + side;
            while (low < high) {
                u64 middle = low + (high - low) / 2;
                if (__ldg(a.input.columns + middle) < wanted) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            range[side] = low;
        }
        a.counts[v] = end - begin - (range[1] - range[0]);
    }
}

__device__ __forceinline__ u64 degree(const DegreeArgs& a, u64 v) {
    u64 out = a.offsets[v + 1] - a.offsets[v];
    return a.counts ? out + a.counts[v] : out;
}

extern "C" __global__ void __launch_bounds__(THREADS) layout_degrees(DegreeArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 stride = (u64)gridDim.x * THREADS, most = 0, connected = 0;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < a.nodes; v += stride) {
        u64 own = degree(a, v);
        most = max(most, own);
        connected += own > 0;
    }
    u64 all = block_sum(connected, room);
#pragma unroll
    for (u32 step = 16; step > 0; step >>= 1) most = max(most, __shfl_xor_sync(FULL, most, step));
    if (lane_id() == 0) atomicMax(a.most, most);
    if (threadIdx.x == 0) atomicAdd(a.connected, all);
}

extern "C" __global__ void __launch_bounds__(THREADS) layout_order_keys(DegreeArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 v = (u64)blockIdx.x * THREADS + threadIdx.x; v < a.nodes; v += stride) {
        a.keys[v] = (a.limit - degree(a, v)) << a.node_bits | v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) layout_labels(LabelArgs a) {
    u64 stride = (u64)gridDim.x * THREADS, mask = (1ull << a.node_bits) - 1;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.nodes; i += stride) {
        u32 node = (u32)(a.keys[i] & mask);
        a.node_of[i] = node;
        a.label_of[node] = (u32)i;
    }
}

__device__ __forceinline__ u64 row_length(const OffsetArgs& a, u64 row) {
    u32 node = a.node_of ? __ldg(a.node_of + row) : (u32)row;
    return a.counts ? __ldg(a.counts + node) : __ldg(a.from + node + 1) - __ldg(a.from + node);
}

// Offsets, 1 of 3: the arcs of each tile of rows.
extern "C" __global__ void __launch_bounds__(THREADS) layout_offset_sums(OffsetArgs a) {
    __shared__ u64 room[THREADS / 32u];
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + threadIdx.x, sum = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 row = start + i * THREADS;
            if (row < a.rows) sum += row_length(a, row);
        }
        u64 total = block_sum(sum, room);
        if (threadIdx.x == 0) a.sums[tile] = total;
    }
}

// Offsets, 2 of 3: one block turns the sums into what comes before each tile.
extern "C" __global__ void __launch_bounds__(THREADS) layout_offset_scan(OffsetArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 total = scan_tiles<THREADS>(a.sums, a.tiles, room);
    if (threadIdx.x == 0) a.offsets[a.rows] = total;
}

// Offsets, 3 of 3.
extern "C" __global__ void __launch_bounds__(THREADS) layout_offsets(OffsetArgs a) {
    __shared__ u64 room[THREADS / 32u];
    for (u32 tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
        u64 start = (u64)tile * TILE + threadIdx.x * ITEMS, sum = 0;
        u64 length[ITEMS];
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            length[i] = start + i < a.rows ? row_length(a, start + i) : 0;
            sum += length[i];
        }
        u64 total;
        u64 before = block_scan(sum, room, &total) + a.sums[tile];
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u64 row = start + i;
            if (row < a.rows) {
                a.offsets[row] = before;
                if (a.shift) {
                    u32 node = a.node_of ? __ldg(a.node_of + row) : (u32)row;
                    a.shift[row] = __ldg(a.from + node) - before;
                }
            }
            before += length[i];
        }
        __syncthreads();
    }
}

// The keys of the rows of some labels, in the order of the rows.
extern "C" __global__ void __launch_bounds__(THREADS) layout_gather(GatherArgs a) {
    __shared__ u32 row_of[TILE];
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 tile = (u64)blockIdx.x * TILE; tile < a.count; tile += step) {
        u64 begin = a.begin + tile, stop = a.begin + min(tile + TILE, a.count);
        u32 base = tile_rows(a.offsets, a.first, a.end, begin, stop, row_of);
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 place = i * THREADS + threadIdx.x;
            u64 at = begin + place;
            if (at < stop) {
                u32 row = base + row_of[place];
                u64 arc = at + __ldg(a.shift + row);
                u32 target = __ldcs(a.input.columns + arc), weight = a.form.bias;
                if (a.form.weight_bits != 0) {
                    u32 source = a.input.weights ? 0 : node(a.input, row);
                    weight = in_key(a.form, arc_weight(a.input, arc, source, target));
                }
                u32 column = label(a.input, target);
                __stcs(a.keys + tile + place, key_of(a.form, row - a.first, weight, column));
            }
        }
        __syncthreads();
    }
}

// The keys of the arcs that belong to the rows of some labels, in any order.
extern "C" __global__ void __launch_bounds__(THREADS) layout_select(SelectArgs a) {
    __shared__ u32 row_of[TILE];
    __shared__ u64 room[THREADS / 32u];
    const u32 rows = a.end - a.first;
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < a.arcs; begin += step) {
        u64 stop = min(begin + TILE, a.arcs);
        u32 first = tile_rows(a.input.offsets, 0, (u32)a.input.nodes, begin, stop, row_of);
        u64 key[ITEMS];
        u32 kept = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 place = i * THREADS + threadIdx.x;
            u64 arc = begin + place;
            key[i] = 0;
            if (arc < stop) {
                u32 source = first + row_of[place], target = __ldg(a.input.columns + arc);
                u32 node = a.turned ? target : source, other = a.turned ? source : target;
                u32 row = label(a.input, node) - a.first;  // huge when below
                if (row < rows && !(a.drop_loops && source == target)) {
                    u32 weight = a.form.bias;
                    if (a.form.weight_bits != 0) {
                        weight = in_key(a.form, arc_weight(a.input, arc, source, target));
                    }
                    key[i] = key_of(a.form, row, weight, label(a.input, other));
                    kept |= 1u << i;
                }
            }
        }
        append(key, kept, a.keys, a.cursor, a.capacity, room);
        __syncthreads();
    }
}

// Sorted keys become arcs.
extern "C" __global__ void __launch_bounds__(THREADS) layout_store(StoreArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    const u64 columns = (1ull << a.form.column_bits) - 1, weights = (1ull << a.form.weight_bits) - 1;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        u64 key = __ldcs(a.keys + i);
        u32 column = (u32)(key & columns), weight = (u32)(key >> a.form.column_bits & weights);
        if (a.pairs) {
            u32 whole = weight + a.form.bias;
            u32 bits = a.form.weight == WEIGHT_WHOLE ? __float_as_uint((float)whole) : whole;
            __stcs((uint2*)a.out + a.begin + i, make_uint2(column, bits));
        } else {
            __stcs(a.out + a.begin + i, column << a.form.weight_bits | weight);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) layout_repeats(RepeatArgs a) {
    __shared__ u32 row_of[TILE];
    __shared__ u64 room[THREADS / 32u];
    const u64 step = (u64)gridDim.x * TILE;
    u64 found = 0;
    for (u64 begin = a.begin + (u64)blockIdx.x * TILE; begin < a.stop; begin += step) {
        u64 stop = min(begin + TILE, a.stop);
        u32 first = tile_rows(a.offsets, 0, a.rows, begin, stop, row_of);
        for (u64 at = begin + threadIdx.x; at < stop; at += THREADS) {
            if (at > __ldg(a.offsets + first + row_of[at - begin])) {
                found += __ldg(a.columns + at) == __ldg(a.columns + at - 1);
            }
        }
        __syncthreads();
    }
    u64 total = block_sum(found, room);
    if (threadIdx.x == 0 && total > 0) atomicAdd(a.repeats, total);
}

extern "C" __global__ void __launch_bounds__(THREADS) layout_narrow(NarrowArgs a) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < a.count; i += stride) {
        a.to[i] = (u32)a.from[i];
    }
}

// Calls visit(arc, weight) for every arc. All threads of the block take part.
template <class Visit>
__device__ __forceinline__ void each_weight(const Input& in, u64 arcs, Visit visit) {
    __shared__ u32 row_of[TILE];
    const u64 step = (u64)gridDim.x * TILE;
    for (u64 begin = (u64)blockIdx.x * TILE; begin < arcs; begin += step) {
        u64 stop = min(begin + TILE, arcs);
        u32 first = in.weights ? 0 : tile_rows(in.offsets, 0, (u32)in.nodes, begin, stop, row_of);
        for (u64 arc = begin + threadIdx.x; arc < stop; arc += THREADS) {
            u32 source = first, target = 0;
            if (!in.weights) {
                source += row_of[arc - begin];
                target = __ldg(in.columns + arc);
            }
            visit(arc, arc_weight(in, arc, source, target));
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) layout_weights(WeightArgs a) {
    __shared__ u64 room[THREADS / 32u];
    u64 sum = 0;
    u32 low = FULL, high = 0, odd = 0;
    each_weight(a.input, a.arcs, [&](u64, float weight) {
        u32 bits = __float_as_uint(weight);
        low = min(low, bits);
        high = max(high, bits);
        if (weight < 16777216.0f && weight == (float)(u32)weight) {
            sum += (u32)weight;
        } else {
            odd = 1;
        }
    });
    u64 total = block_sum(sum, room);
    low = warp_min(low);
    high = warp_max(high);
    odd = warp_or(odd);
    if (threadIdx.x == 0) atomicAdd(&a.facts->sum, total);
    if (lane_id() == 0) {
        atomicMin(&a.facts->low, low);
        atomicMax(&a.facts->high, high);
        if (odd) atomicOr(&a.facts->odd, odd);
    }
}

// The weights of pairs, as an array.
extern "C" __global__ void __launch_bounds__(THREADS) layout_pair_weights(WeightArgs a) {
    each_weight(a.input, a.arcs, [&](u64 arc, float weight) { a.to[arc] = weight; });
}
