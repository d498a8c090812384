//! Personalised PageRank by push, from many sources, as its workloads share it: vectors of a source each.
//!
//! **Definition.** Numbers are integers in units of 2^-62, so that 1 is 2^62. alpha is a multiple of 2^-32 and epsilon one of 2^-62: the
//! nearest to what is asked. d(v) is the number of arcs out of v; self loops and parallel arcs are arcs, and weights do not count. A
//! source s begins with the residual r\[s\] = 1; all else is 0. In a round, all nodes v with d(v) > 0 and r\[v\] >= epsilon d(v) push at
//! once. With x = r\[v\] before the round,
//!
//! ~~~text
//! k = floor(alpha x)              goes to p[v]
//! a = floor((x - k) / d(v))       goes to r[w] along each arc v -> w
//! x - k - d(v) a                  stays in r[v]
//! ~~~
//!
//! What comes to a node without arcs out is added to its p, not to its r: such a node keeps all, as if it had a self loop alone. The
//! rounds end when no node pushes.
//!
//! **Invariant.** The sum of p and r is 1 at all times, so that no sum is above 2^62 and nothing overflows. Of integers no order of
//! additions matters. Without rounding, p + sum over v of r\[v\] ppr(v) would be ppr(s), the exact vector. A push rounds by less than a
//! unit, and pushes from v leave v with at least alpha epsilon d(v) each: there are at most 1 / (alpha epsilon) pushes, along as many
//! arcs. So p is below ppr(s) but for 2^-62 / (alpha epsilon), and on symmetric graphs ppr(s)\[v\] - p\[v\] < epsilon d(v) but for as much.
//! With alpha from 0.001 and epsilon from 1e-10 on that is below 3e-6 of 1 in the sum over all nodes, and 2e-12 where they are 0.15 and
//! 1e-6. A share a is at least (1 - alpha) epsilon - 2^-62 > 0, a kept k too: p\[v\] > 0 says that v has pushed, or keeps all.
//!
//! **Idea.** A batch of sources goes through rounds together. Each has values of its own: a pair is `lane n + node`, a lane a source of
//! the batch. Two launches make a round. Every pair of the queue settles; then arcs are dealt in parts of 8, so that no thread has a long
//! row. The one addition that lifts a residual to its bound queues its pair, with one atomic operation that counts pairs and parts
//! together: so the first parts of the queue's pairs rise, and the pair of a part is found by bisection. The host reads the counts once
//! a round. A list of pairs that were touched gives the vectors at the end, and what is put back to 0: a source takes time for what it
//! touches, not for the graph.
//!
//! **Replicas.** Sources are dealt in slices, and each replica pushes by itself. Nothing is exchanged. With `--merge redundant` each pushes
//! from all sources.
//!
//! **Arrays.** `value, residual: [lanes, n] u64`; `queue, starts: [lanes, most pairs] u32`, twice, and `share` u64 of the same length;
//! `touched: [lanes, most pairs touched] u32`; `work: [515] u64`; `sources: [sources] u32`; each replica's own.
//!
//! **Source.** Andersen, Chung, Lang, "Local graph partitioning using PageRank vectors", FOCS 2006, sections 2 and 3 (with their lazy
//! walk: their alpha' is our alpha = 2 alpha' / (1 + alpha')); Shun, Roosta-Khorasani, Fountoulakis, Mahoney, "Parallel local graph
//! clustering", VLDB 2016, 3.3 (rounds in which all nodes push at once).

mod lanes;
mod program;
mod rule;

pub(super) use program::{Asked, Found, Taken, checked, program, value};
pub use rule::PushStart;
pub(super) use rule::{ONE, Rule, arrays, most_sources};
