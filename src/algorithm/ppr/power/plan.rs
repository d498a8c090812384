//! How many sources are iterated at a time, and what that takes.

use super::lanes::State;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::Prepared;
use crate::layout::memory::{self, DeviceArray, GraphShape, total};
use rayon::prelude::*;

/// Lanes that one call adds up. Batches have a multiple of them.
pub(super) const WIDE: u64 = 4;
/// Bins of values by their size, and copies of each bin, so that threads seldom meet.
pub(super) const BINS: u64 = 256;
pub(super) const COPIES: u64 = 8;

/// Most sources of a batch. A row of 32 lanes is 256 bytes.
const MOST: usize = 32;
/// Bytes of a host replica's batch, unless the least batch takes more.
const HOST_BYTES: u64 = 1 << 30;
/// Arcs of a part of a long row on a GPU, where all wait for the longest, and on a host.
const PART: u64 = 512;
const PART_ON_HOSTS: u64 = 1 << 14;

/// What lengths of arrays follow from.
#[derive(Debug, Clone, Copy)]
pub(in crate::algorithm) struct Sizes {
    pub nodes: usize,
    pub sources: usize,
    pub lanes: usize,
    /// Nodes, where weights count.
    pub weighted_nodes: usize,
    /// Arcs of a part of a long row.
    pub part: u64,
    /// Most parts of long rows.
    pub pieces: usize,
}

impl Sizes {
    fn new(
        (nodes, arcs): (usize, u64),
        (sources, lanes): (usize, usize),
        (weighted, cuda): (bool, bool),
    ) -> Sizes {
        let part = if cuda { PART } else { PART_ON_HOSTS };
        // A row of more than a part has less than two parts for each part of arcs.
        let pieces = (2 * arcs / part) as usize;
        let weighted_nodes = if weighted { nodes } else { 0 };
        Sizes { nodes, sources, lanes, weighted_nodes, part, pieces }
    }

    /// Of a replica with so many `own` sources.
    pub fn of(
        (fleet, graph): (&Fleet, &Prepared),
        (sources, own): (usize, usize),
        weighted: bool,
    ) -> Sizes {
        let all = graph.graph();
        let (shape, cuda) = ((all.nodes(), all.arcs()), fleet.info().backend == "cuda");
        let of = |lanes| Sizes::new(shape, (sources, lanes), (weighted, cuda));
        let bytes = |lanes| total(&State::list(of(lanes), 1));
        let each = (bytes(2) - bytes(1)).max(1);
        let room = match cuda {
            true => {
                let symmetric = all.is_symmetric();
                let most = GraphShape::at_most(shape.0 as u64, shape.1, symmetric, None);
                memory::half_left(fleet.info(), total(&memory::general(&most)))
            }
            false => HOST_BYTES,
        };
        let fits = (room / each).clamp(WIDE, MOST as u64) / WIDE * WIDE;
        // Batches of about one length.
        let batches = own.div_ceil(fits as usize).max(1);
        of(own.div_ceil(batches).max(1).next_multiple_of(WIDE as usize))
    }
}

/// Device arrays of a replica with the least batch. Where there is more room batches are larger.
pub(in crate::algorithm) fn arrays(
    shape: &GraphShape,
    (sources, weighted): (usize, bool),
    world: usize,
) -> Vec<DeviceArray> {
    let of = (shape.nodes as usize, shape.all_arcs());
    State::list(Sizes::new(of, (sources, WIDE as usize), (weighted, true)), world)
}

/// `[n]` what the arcs out of each node weigh together: the same in any order of arcs.
pub(super) fn out_weights(graph: &Graph) -> Vec<f64> {
    let of = |v: usize| {
        let mut row: Vec<f32> = graph.neighbors(v).map(|(_, weight)| weight).collect();
        row.sort_unstable_by(f32::total_cmp);
        row.into_iter().map(f64::from).sum()
    };
    (0..graph.nodes()).into_par_iter().map(of).collect()
}
