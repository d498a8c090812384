//! What all replicas keep of a level, and of the communities of its nodes.

use super::lambdas::BLOCK;
use crate::algorithm::arrays::replicated_arrays;
use crate::collective::Replicated;

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub nodes: usize,
    pub arcs: usize,
    /// Arcs of levels that are one thread's.
    few: usize,
    /// Nodes of which parts are kept.
    refined: usize,
}

impl Sizes {
    pub fn of(nodes: usize, arcs: usize, few: usize, refines: bool) -> Sizes {
        Sizes { nodes, arcs, few, refined: if refines { nodes } else { 0 } }
    }

    fn few(&self) -> usize {
        self.arcs.min(self.few)
    }

    fn slots(&self) -> usize {
        slots(self.arcs)
    }
}

/// Words of the tables of nodes with so many arcs: a search ends at an empty one.
pub(super) fn slots(arcs: usize) -> usize {
    2 * arcs
}

replicated_arrays! {
    /// The replicated state. Nodes of a level are numbered from 0; those of the first by rank.
    pub(super) struct State of Sizes {
        /// `[n]` how many nodes have a lower id.
        rank: Replicated<u32> = "rank", Gather, |s| s.nodes;
        /// `[n]` the heaviest arc of a node, and whether some arc weighs no whole number.
        heaviest: Replicated<f32> = "heaviest arc", Gather, |s| s.nodes;
        /// `[m]` the arcs of a level, each way; self loops are skipped.
        source: Replicated<u32> = "sources", Gather, |s| s.arcs;
        target: Replicated<u32> = "targets", Gather, |s| s.arcs;
        weight: Replicated<u64> = "units", Gather, |s| s.arcs;
        /// `[2 m]` a table with open addressing a node: (node, community) + 1, and the weight of the arcs between. While a GPU finds moves,
        /// the tables of the longest rows have community + 1. All is 0 between uses.
        key: Replicated<u64> = "pairs", Gather, |s| s.slots();
        sum: Replicated<u64> = "sums of pairs", Gather, |s| s.slots();
        /// `[n]` the node of the level that each node of the graph is in.
        label: Replicated<u32> = "label", Gather, |s| s.nodes;
        /// `[n]` the community of each node of a level, after the last sweep and the one before.
        community: Replicated<u32> = "community", Gather, |s| s.nodes;
        kept: Replicated<u32> = "community before", Gather, |s| s.nodes;
        /// `[n]` the number of each community in the next level.
        number: Replicated<u32> = "number of a community", Gather, |s| s.nodes;
        /// `[n]` the weight of all arcs of a node, here and in the next level, of a community, and nodes of it.
        own: Replicated<u64> = "weight of a node", Gather, |s| s.nodes;
        next: Replicated<u64> = "weight of a next node", Gather, |s| s.nodes;
        total: Replicated<u64> = "weight of a community", Gather, |s| s.nodes;
        size: Replicated<u32> = "nodes of a community", Gather, |s| s.nodes;
        /// `[n]` where the arcs of each node begin and how many they are, and 1 where it is to be looked at.
        at: Replicated<u32> = "starts of rows", Gather, |s| s.nodes;
        count: Replicated<u32> = "lengths of rows", Gather, |s| s.nodes;
        rooms: Replicated<u32> = "rooms of next rows", Gather, |s| s.nodes;
        active: Replicated<u32> = "active nodes", Gather, |s| s.nodes;
        /// Sums of rooms, of blocks of them and of blocks of these; and 0.
        sums: Replicated<u32> = "sums of rooms", Gather, |s| s.nodes.div_ceil(BLOCK);
        tops: Replicated<u32> = "sums of sums", Gather, |s| s.nodes.div_ceil(BLOCK * BLOCK);
        zero: Replicated<u32> = "zero", Gather, |_| 1;
        /// `[n]` the weight of the arcs to the own community.
        inner: Replicated<u64> = "weight inside", Gather, |s| s.nodes;
        /// `[n]` the gain of the best move, above the community upside down.
        best: Replicated<u64> = "best move", Max, |s| s.nodes;
        /// Arcs of a level that has few, and the weights of their sources; nodes and their communities.
        few_sources: Replicated<u32> = "few sources", Gather, |s| s.few();
        few_targets: Replicated<u32> = "few targets", Gather, |s| s.few();
        few_weights: Replicated<u64> = "few units", Gather, |s| s.few();
        few_own: Replicated<u64> = "few weights", Gather, |s| s.few();
        few_nodes: Replicated<u32> = "few nodes", Gather, |s| s.few();
        few_found: Replicated<u32> = "few communities", Gather, |s| s.few();
        /// `[n]` the community that the parts of which `kept` names lie in, and its weight.
        whole: Replicated<u32> = "community of a part", Gather, |s| s.refined;
        of_whole: Replicated<u64> = "weight around a part", Gather, |s| s.refined;
        /// `[n]` the weight of the arcs from a part to others of its community.
        rest: Replicated<u64> = "weight out of a part", Gather, |s| s.refined;
    }
}
