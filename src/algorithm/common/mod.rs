//! Common neighbours of nodes, as the workloads that count them share it: a sparse product of rows.
//!
//! **Definition.** N(u) is the set of the nodes that arcs from u lead to, without u itself; d(u) is how many they are. For two nodes u
//! and v, c(u, v) is the number of nodes in both N(u) and N(v), or the sum of a weight of each. A measure makes a value of c, d(u) and
//! d(v) (`measure.rs`). Of a row, all pairs (u, v) with c > 0, either the best are kept, or those of at least some value whose v comes
//! after u by input id.
//!
//! **Idea.** A wedge is a node w in N(u) with an arc from v into w: it adds one to c(u, v), or the weight of w. Rows are counted one by
//! one (Gustavson). On a GPU a warp counts a row of few wedges in a table in shared memory; any other row is counted by a block, tile
//! after tile of the nodes, with a counter a node in shared memory, or, where there are few rows, by several blocks, each a part of the
//! tiles. Where labels fall by degree, hubs fill the first tiles. Values of pairs with hubs are small if a measure divides by d: tiles
//! then come in the other order, so that the best are found early and what comes after is below their bound. A host counts a row a
//! thread, with a counter a node and a list of those that are not 0.
//!
//! **Numbers.** Counts are whole numbers. Weights are whole multiples of a power of two, the finest with which no sum overflows 64
//! bits. So no order of additions matters, and bits are the same on any number of replicas, on hosts and GPUs.
//!
//! **Memory.** Rows are counted in batches whose kept pairs fit an array. Where all pairs of a least value are wanted, a GPU counts
//! twice: first how many each row has, then the pairs themselves, so that it is known before whether they fit memory.
//!
//! **Replicas.** Rows are dealt in slices of about as many wedges each, and nothing is exchanged. With `--merge redundant` each replica
//! counts all.
//!
//! **Arrays.** `degree, name: [active] u32`; `weight: [active] u64` where there are weights; `rows, lengths: [own rows] u32`;
//! `others: u32, values: f64, starts: u64` for a batch; each replica's own.
//!
//! **Source.** Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted transposition", ACM TOMS 4(3), 1978;
//! Nagasaka, Nukada, Matsuoka, "High-performance and memory-saving sparse general matrix-matrix multiplication for NVIDIA Pascal GPU",
//! ICPP 2017 (tables in shared memory, by the sizes of rows).

mod cuda;
mod host;
mod measure;
mod plan;
mod program;

pub(super) use cuda::arrays;
pub use measure::Measure;
pub(super) use plan::{BYTES, Keep};
pub(super) use program::{Found, pairs, rows};
