//! What an operator runs over.

use crate::collective::Frontier;
use crate::collective::{SLICE_ALIGN, Shares, Split};
use crate::layout::Resident;
use std::borrow::Cow;
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
    Range(u64, u64),
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

    /// The indices 0..n, of which a replica works on a slice ([`Over::slices`]).
    pub fn elements(n: usize) -> Over<'a> {
        Over { graph: None, what: What::Elements(n as u64), whole: false }
    }

    /// The indices of a range, all by the replica that asks: what it owns of a shared array, say.
    pub fn range(range: Range<usize>) -> Over<'a> {
        let what = What::Range(range.start as u64, range.end.max(range.start) as u64);
        Over { graph: None, what, whole: false }
    }

    /// All of it, on every replica: redundant, and so needs no merge.
    pub fn whole(self) -> Over<'a> {
        Over { whole: true, ..self }
    }

    /// Lets a lambda over [`Over::elements`] or [`Over::range`] see a graph.
    pub fn with(self, graph: &'a Resident) -> Over<'a> {
        Over { graph: Some(graph), ..self }
    }

    /// Who works on which of the indices 0..n, where replicas have these `shares` ([`crate::fleet::Replica::shares`]): as
    /// [`crate::fleet::Replica::merge`] gathers them.
    pub fn slices(n: usize, shares: &Shares) -> Split {
        Split::nodes(n as u64, shares, SLICE_ALIGN)
    }

    /// Who works on which indices below [`Over::length`]; `None` where all replicas work on all of them, or where each
    /// says what it works on.
    pub(crate) fn split(&self, shares: &Shares) -> Option<Cow<'a, Split>> {
        match (self.what, self.graph) {
            (What::Range(..), _) => None,
            _ if self.whole => None,
            (What::Elements(n), _) => Some(Cow::Owned(Over::slices(n as usize, shares))),
            (What::Nodes | What::Set(_), Some(g)) => Some(Cow::Borrowed(g.chunks())),
            (What::Arcs, Some(g)) => Some(Cow::Owned(g.arc_chunks())),
            (_, None) => None,
        }
    }

    /// Whether replicas agree on what there is to do.
    pub(crate) fn is_dealt(&self) -> bool {
        !matches!(self.what, What::Range(..))
    }

    /// The elements of replica `rank`, where `split` is [`Over::split`].
    pub(crate) fn part(&self, rank: usize, split: Option<&Split>) -> Range<u64> {
        match (self.what, split) {
            (What::Range(start, end), _) => start..end,
            (_, Some(split)) => split.range(rank),
            (_, None) => 0..self.length(),
        }
    }

    /// How many elements there are on all replicas.
    pub(crate) fn length(&self) -> u64 {
        match (self.what, self.graph) {
            (What::Elements(n) | What::Range(_, n), _) => n,
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
