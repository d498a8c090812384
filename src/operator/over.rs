//! What an operator runs over.

use super::resident::Resident;
use crate::collective::Frontier;
use crate::fleet::{SLICE_ALIGN, Split};
use std::ops::Range;

/// A range of elements. Unless it is [`Over::whole`], a replica works on its own part only.
#[derive(Clone, Copy)]
pub struct Over<'a> {
    pub(crate) graph: Option<&'a Resident>,
    pub(crate) what: What<'a>,
    pub(crate) whole: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum What<'a> {
    Nodes,
    Arcs,
    Set(&'a Frontier),
    Elements(u64),
}

impl<'a> Over<'a> {
    /// The nodes of the replica's chunk.
    pub fn nodes(graph: &'a Resident) -> Over<'a> {
        Over { graph: Some(graph), what: What::Nodes, whole: false }
    }

    /// The arcs out of the nodes of the replica's chunk. An arc lambda sees both ends; an element lambda sees
    /// the arc's place in the rows.
    pub fn arcs(graph: &'a Resident) -> Over<'a> {
        Over { graph: Some(graph), what: What::Arcs, whole: false }
    }

    /// Those nodes of the replica's chunk that are in a set.
    pub fn frontier(graph: &'a Resident, set: &'a Frontier) -> Over<'a> {
        Over { graph: Some(graph), what: What::Set(set), whole: false }
    }

    /// The indices 0..n, of which a replica works on an equal slice ([`Over::slices`]).
    pub fn elements(n: usize) -> Over<'a> {
        Over { graph: None, what: What::Elements(n as u64), whole: false }
    }

    /// All of it, on every replica: redundant, so that there is nothing to merge where the result depends on merged
    /// values alone.
    pub fn whole(self) -> Over<'a> {
        Over { whole: true, ..self }
    }

    /// Lets a lambda over [`Over::elements`] see a graph.
    pub fn with(self, graph: &'a Resident) -> Over<'a> {
        Over { graph: Some(graph), ..self }
    }

    /// Who works on which of the indices 0..n: as [`crate::fleet::Replica::merge`] gathers them.
    pub fn slices(n: usize, world: usize) -> Split {
        Split::nodes(n as u64, world, SLICE_ALIGN)
    }

    /// The elements of replica `rank` of `world`.
    pub(crate) fn range(&self, rank: usize, world: usize) -> Range<u64> {
        let nodes = self.graph.map_or(0, |g| g.graph().nodes() as u64);
        let chunk = |g: &Resident| if self.whole { 0..nodes } else { g.chunks().range(rank) };
        match (self.what, self.graph) {
            (What::Elements(n), _) if self.whole => 0..n,
            (What::Elements(n), _) => Over::slices(n as usize, world).range(rank),
            (What::Nodes | What::Set(_), Some(g)) => chunk(g),
            (What::Arcs, Some(g)) => {
                let (chunk, offsets) = (chunk(g), g.graph().offsets());
                offsets[chunk.start as usize]..offsets[chunk.end as usize]
            }
            (_, None) => 0..0,
        }
    }

    /// How many elements there are on all replicas.
    pub(crate) fn length(&self) -> u64 {
        match (self.what, self.graph) {
            (What::Elements(n), _) => n,
            (What::Nodes | What::Set(_), Some(g)) => g.graph().nodes() as u64,
            (What::Arcs, Some(g)) => g.graph().arcs(),
            (_, None) => 0,
        }
    }

    /// The set, where there is one.
    pub(crate) fn set(&self) -> Option<&'a Frontier> {
        match self.what {
            What::Set(set) => Some(set),
            _ => None,
        }
    }
}
