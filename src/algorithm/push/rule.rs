//! What pushes are asked, and how much room they take.

use super::lanes::{PART, Sizes, State};
use crate::algorithm::Seeds;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::Prepared;
use crate::layout::memory::{self, DeviceArray, GraphShape, total};

/// 1, in units.
pub(in crate::algorithm) const ONE: u64 = 1 << 62;
/// Sources where none are chosen.
const SOURCES: u64 = 64;
/// Most sources of a batch on a GPU, and on a host.
const MOST: usize = 512;
const MOST_ON_HOSTS: usize = 64;
/// Bytes of a host replica's batch, unless one source takes more.
const HOST_BYTES: u64 = 256 << 20;

/// alpha and epsilon as integers.
#[derive(Debug, Clone, Copy)]
pub(in crate::algorithm) struct Rule {
    /// alpha in units of 2^-32.
    pub alpha: u64,
    /// epsilon in units of 2^-62.
    pub least: u64,
}

impl Rule {
    /// Refuses what is out of bounds.
    pub fn new(alpha: f64, epsilon: f64) -> Result<Rule> {
        if !(0.001..=0.999).contains(&alpha) {
            return Err(Error::input(format!(
                "--alpha {alpha}: use a number from 0.001 to 0.999, as in 0.15"
            )));
        }
        if !(1e-10..=1.0).contains(&epsilon) {
            return Err(Error::input(format!(
                "--epsilon {epsilon}: use a number from 1e-10 to 1, as in 1e-6"
            )));
        }
        let least = (epsilon * ONE as f64).round() as u64;
        Ok(Rule { alpha: (alpha * 2f64.powi(32)).round() as u64, least })
    }

    /// Most arcs out of nodes that push in one round: their residuals sum to 1 at most.
    fn arcs_of_a_round(self, arcs: u64) -> u64 {
        arcs.min(ONE / self.least)
    }

    /// Most nodes, of so many, with a value or a residual from one source: pushes take at most 1 / (alpha epsilon) arcs.
    pub fn touched(self, nodes: usize) -> usize {
        let each = self.alpha as f64 / 2f64.powi(32) * self.least as f64;
        // A unit may be lost in rounding, of more than 2^18.
        let arcs = 1.001 * ONE as f64 / each;
        nodes.min(arcs as usize + 2)
    }

    /// Lengths of arrays for so many sources, pushed from `lanes` at a time.
    pub fn sizes(self, (nodes, arcs): (usize, u64), (sources, lanes): (usize, usize)) -> Sizes {
        // One at least, of which vectors are read.
        let queued = (nodes as u64).min(self.arcs_of_a_round(arcs)).max(1) as usize;
        let touched = self.touched(nodes);
        Sizes { nodes, sources, lanes, queued: lanes * queued, touched: lanes * touched }
    }

    /// How many lanes numbers of 32 bits allow: pairs, and parts of a round.
    fn most_lanes(self, (nodes, arcs): (usize, u64)) -> usize {
        let of_round = self.arcs_of_a_round(arcs);
        let parts = (nodes as u64).min(of_round) + of_round / PART;
        (u64::from(u32::MAX) / parts.max(nodes as u64).max(1)) as usize
    }
}

/// Device arrays of a replica that pushes from one source at a time. Where there is more room it pushes from more.
pub(in crate::algorithm) fn arrays(
    shape: &GraphShape,
    rule: Option<Rule>,
    sources: usize,
    world: usize,
) -> Vec<DeviceArray> {
    // What is out of bounds is refused before anything is allocated.
    let Some(rule) = rule else { return Vec::new() };
    let sizes = rule.sizes((shape.nodes as usize, shape.all_arcs()), (sources, 1));
    State::list(sizes, world)
}

/// From how many of `own` sources a replica pushes at a time.
pub(super) fn lanes((fleet, graph): (&Fleet, &Prepared), rule: Rule, own: usize) -> usize {
    let all = graph.graph();
    let shape = (all.nodes(), all.arcs());
    let of = |lanes| total(&State::list(rule.sizes(shape, (0, lanes)), 1));
    let each = (of(2) - of(1)).max(1);
    let (room, most) = match fleet.info().backend == "cuda" {
        true => {
            let most =
                GraphShape::at_most(all.nodes() as u64, all.arcs(), all.is_symmetric(), None);
            (memory::half_left(fleet.info(), total(&memory::general(&most))), MOST)
        }
        false => (HOST_BYTES, MOST_ON_HOSTS),
    };
    let fits = (room / each).min(rule.most_lanes(shape) as u64).clamp(1, most as u64) as usize;
    // Batches of about one length.
    own.div_ceil(own.div_ceil(fits).max(1)).max(1)
}

/// What a run starts from.
#[derive(Debug, Clone)]
pub struct PushStart {
    /// Nodes, by rising input id.
    pub(in crate::algorithm) sources: Vec<u32>,
    pub(in crate::algorithm) rule: Rule,
}

impl PushStart {
    pub(in crate::algorithm) fn new(
        chosen: &Option<Seeds>,
        (alpha, epsilon): (f64, f64),
        graph: &Graph,
    ) -> Result<PushStart> {
        let rule = Rule::new(alpha, epsilon)?;
        let some = Seeds::Random { count: SOURCES.min(graph.nodes() as u64), seed: 1 };
        let mut sources = chosen.as_ref().unwrap_or(&some).resolve_of("--sources", graph)?;
        sources.sort_unstable_by_key(|node| graph.rank(*node));
        if rule.most_lanes((graph.nodes(), graph.arcs())) == 0 {
            return Err(Error::input(format!(
                "--epsilon {epsilon}: nodes of this graph may push along more arcs in a round than are counted; use 1e-8 or more"
            )));
        }
        Ok(PushStart { sources, rule })
    }

    /// As it follows the graph's name in a summary.
    pub(in crate::algorithm) fn told(&self, graph: &Graph) -> String {
        crate::algorithm::from_nodes(&self.sources, "source", graph)
    }
}

/// Most sources of a choice.
pub(in crate::algorithm) fn most_sources(chosen: &Option<Seeds>, nodes: usize) -> usize {
    match chosen {
        Some(_) => crate::algorithm::start::most_of(chosen, nodes),
        None => nodes.min(SOURCES as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_leave_no_share_without_a_unit() {
        for (alpha, epsilon) in [(0.001, 1e-10), (0.999, 1e-10), (0.15, 1e-6), (0.5, 1.0)] {
            let Rule { alpha, least } = Rule::new(alpha, epsilon).unwrap();
            assert!(alpha > 0 && alpha < 1 << 32 && least <= ONE);
            // Of the least residual that is pushed from a node with one arc.
            let kept = (u128::from(least) * u128::from(alpha)) >> 32;
            assert!(kept > 1 << 18 && u128::from(least) - kept > 1 << 18, "{alpha} {least}");
        }
    }

    #[test]
    fn arrays_have_room_for_what_a_source_may_touch() {
        let rule = Rule::new(0.5, 0.25).unwrap();
        let sizes = rule.sizes((1000, 5000), (10, 3));
        // Residuals of at least a quarter: four nodes with an arc each.
        assert_eq!((sizes.queued, sizes.touched), (3 * 4, 3 * 10));
        let rule = Rule::new(0.15, 1e-10).unwrap();
        let sizes = rule.sizes((1000, 5000), (10, 1));
        assert_eq!((sizes.queued, sizes.touched), (1000, 1000));
        assert_eq!(rule.most_lanes((1 << 31, 1 << 33)), 1);
        assert_eq!(rule.most_lanes((4_000_000_000, 1 << 34)), 0);
        assert_eq!(rule.most_lanes((1 << 20, 1 << 24)), 1365);
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        for (alpha, epsilon) in
            [(0.0, 0.1), (1.0, 0.1), (f64::NAN, 0.1), (0.1, 0.0), (0.1, 1.5), (0.1, f64::NAN)]
        {
            assert!(Rule::new(alpha, epsilon).is_err(), "{alpha} {epsilon}");
        }
    }
}
