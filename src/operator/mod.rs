//! Operators: what a step is made of. Users write a function of an element; an operator runs it over a range on
//! every replica, each on its own device, launched by its own thread; a merge makes equal what changed.
//!
//! * [`for_all`](crate::fleet::Replica::for_all): any element, for what the lambda does;
//! * [`advance`](crate::fleet::Replica::advance): along arcs, to a set of nodes;
//! * [`filter`](crate::fleet::Replica::filter): the elements that a predicate wants, as a list;
//! * [`neighbor_reduce`](crate::fleet::Replica::neighbor_reduce): a fold over each node's arcs;
//! * [`reduce`](crate::fleet::Replica::reduce) and [`histogram`](crate::fleet::Replica::histogram);
//! * [`repeat`](crate::fleet::Replica::repeat): rounds of them.
//!
//! On a GPU a launch is asynchronous until a merge or a read. `docs/operators.md` is the guide.
//!
//! Source: the HIVE phase-2 report's ForAll; Gunrock's operators (Wang et al., PPoPP 2016); predicate-based
//! filtering as in Groute (Ben-Nun et al., PPoPP 2017).

mod advance;
mod args;
mod code;
mod filter;
mod fold;
mod for_all;
mod host;
mod lambda;
mod launch;
mod over;
mod random;
mod repeat;
mod set;
#[doc(hidden)]
pub mod text;

pub use crate::layout::{NodeOrder, Resident, ResidentOptions, RowOrder};
pub use advance::{Advance, Direction};
pub use args::{Args, Readable, Writable};
pub use filter::{Order, Queue};
pub use fold::{Fold, Folded};
pub use for_all::ForEach;
pub use hivegraph_macros::{device, lambda};
pub use host::{Bound, Edge, Faults, GraphView, NodeSet, Reads, Writes};
#[cfg(test)]
pub(crate) use lambda::has_nvrtc;
pub use lambda::{ArcLambda, FoldLambda, Lambda, OnArc, OnElement, OnFolded, Value};
pub use launch::LaunchRecord;
pub(crate) use launch::arrays;
pub use over::Over;
pub use random::Random;
pub use repeat::Left;
