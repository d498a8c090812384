//! What all replicas of a run share: the strategy, which replica makes which rows, where walks begin. Also what an
//! iteration is asked, works on and finds.

use super::{PagerankConfig, Strategy, bins, hubs};
use crate::algorithm::MergeMode;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::left::Rest;
use crate::collective::{Replicated, Split};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, FleetInfo};
use crate::graph::Graph;
use crate::layout::bins::Bins;
use crate::layout::segments::{Part, RowBlocks, SegmentOptions, Segments, far_ps};
use crate::layout::{Columns, TopologyRows};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// How all replicas get the rows of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merging {
    /// Every replica makes all of them.
    None,
    /// Each makes a chunk, and chunks are gathered.
    Gather,
    /// Each makes row blocks and writes them into the arrays of all.
    HandOut,
    /// Each adds to sums of all rows, which an all-reduce adds up.
    Sum,
}

impl Merging {
    pub fn word(self) -> &'static str {
        match self {
            Merging::None => "none",
            Merging::Gather | Merging::HandOut => "gather",
            Merging::Sum => "dense",
        }
    }
}

/// What lengths of replicated arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct StateSizes {
    /// Nodes with rows.
    pub active: usize,
    /// Sums are added over replicas.
    pub sums: bool,
}

replicated_arrays! {
    /// The replicated state, by label. Iteration t reads array t mod 2 of `value` and `rank` and writes the other one.
    pub(super) struct State of StateSizes {
        /// What arcs carry. Behind the last row zeros: what pads chunks of arcs points there.
        value: [Replicated<f32>; 2] = "value", Gather, |s| s.active.next_multiple_of(64) + 64;
        rank: [Replicated<f32>; 2] = "rank", Gather, |s| s.active;
        sum: Replicated<f64> = "sum", Sum, |s| if s.sums { s.active } else { 0 };
    }
}

/// An iteration, and what it is to leave beside what arcs carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepTask {
    /// Its number, from 0 on.
    pub t: u32,
    /// The ranks after it.
    pub ranks: bool,
    /// The L1 distance that they went.
    pub change: bool,
}

/// What an iteration found: of own rows only, unless all rows are there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepResult {
    /// The L1 distance that ranks of nodes with rows went, in units.
    pub change: u64,
    /// c of the ranks after it: the rank of a node without arcs is c p.
    pub scale: f64,
    /// c of the ranks before it.
    pub scale_before: f64,
}

pub(super) struct Plan {
    /// Never `auto`.
    pub strategy: Strategy,
    pub merging: Merging,
    /// The rows, or for pushes the sources, of each replica.
    pub split: Split,
    pub damping: f64,
    /// p of each node, where it is the same for all.
    pub even: f64,
    /// `[n]` p by label, where it is not.
    pub personal: Option<Vec<f32>>,
    /// p of all nodes without a row together.
    pub idle: f64,
    /// `[active]` out-degrees, 1 for 0; `None` where arcs have shares.
    pub degree: Option<Vec<f32>>,
    /// `[m]` the share that each in-arc has of the out-weight of its source, for pushes each out-arc.
    pub shares: Option<Vec<f32>>,
    /// Labels with a row and no out-weight, rising.
    pub dangling: Vec<u32>,
    /// In-rows and out-rows are the same.
    pub symmetric: bool,
    /// How `hubs` cuts rows on GPUs.
    pub segments: Option<Segments>,
    /// How `bins` does.
    pub bins: Option<Bins>,
    /// Lanes and rows of the warp-centric strategies.
    pub warps: (u32, u32),
}

/// Whether a GPU takes less time for bins than for the segments of `hubs`, as far as models of their cost know.
fn bins_pay(bins: &Bins, hubs: &Segments, active: usize, l2_bytes: u64) -> bool {
    bins.cost_ps(far_ps(active as u64, l2_bytes)) < hubs.cost_ps
}

/// The smallest L2 cache of the GPUs.
fn l2_of(fleet: &FleetInfo) -> u64 {
    fleet.least(|gpu| gpu.l2_bytes).unwrap_or(0)
}

/// The bins of a fleet of GPUs, if the strategy has some or may turn out slower than bins are.
fn cut_bins(
    config: &PagerankConfig,
    strategy: Strategy,
    rows: &TopologyRows,
    fleet: &FleetInfo,
) -> Result<Option<Bins>> {
    let asked = strategy == Strategy::Bins;
    let tried = config.strategy == Strategy::Auto && strategy == Strategy::Hubs;
    if !(asked || tried) || fleet.backend == "host" {
        return Ok(None);
    }
    let (in_rows, capacity) = (rows.columns.in_rows(), Bins::capacity_on(fleet));
    let width = Segments::width_on(fleet, config.segment_width.given())?;
    let bins = Bins::new(in_rows, width, capacity, &fleet.shares);
    if asked && bins.is_none() {
        return Err(Error::input(format!(
            "--strategy bins: {} nodes are too many for segments of {width} sources; use auto",
            rows.columns.active
        )));
    }
    Ok(bins)
}

/// What the row blocks have of each segment, counted on the first GPU.
fn count(
    fleet: &Fleet,
    rows: &Arc<TopologyRows>,
    blocks: &Arc<RowBlocks>,
) -> Result<Vec<Vec<Part>>> {
    let (rows, blocks) = (rows.clone(), blocks.clone());
    let counted = fleet.run(move |r| {
        let graph = rows.on_device(r.rank())?;
        match r.leads() {
            true => blocks.count_on(r.device_mut()?, graph, graph.in_rows()),
            false => Ok(Vec::new()),
        }
    })?;
    Ok(counted.into_iter().next().unwrap_or_default())
}

impl Plan {
    /// `start`: `[n]` p by node, where it is not the same for all.
    pub fn new(
        rows: &Arc<TopologyRows>,
        config: &PagerankConfig,
        start: Option<&[f64]>,
        on: &Fleet,
    ) -> Result<Plan> {
        let (columns, fleet) = (&*rows.columns, on.info());
        let mut strategy = choose(config, columns.flat);
        let totals = config.weighted.then(|| out_weights(&rows.graph));
        let shares =
            totals.as_ref().map(|totals| columns.shares(&rows.graph, totals, !strategy.pushes()));
        let dangles = |v: &u32| match &totals {
            Some(totals) => totals[columns.node(*v) as usize] == 0.0,
            None => columns.out.degree(*v as usize) == 0,
        };
        let degree = |v| columns.out.degree(v).max(1) as f32;
        let labels = (0..columns.active as u32).into_par_iter();
        let share = start.map(|start| |label: usize| start[columns.node(label as u32) as usize]);
        let mut merging = merge_plan(config.run.merge, strategy, rows, fleet);
        let mut segments = match strategy == Strategy::Hubs && fleet.backend != "host" {
            true => {
                let options = SegmentOptions {
                    width: Segments::width_on(fleet, config.segment_width.given())?,
                    segments: config.segments.given().map(|segments| segments as usize),
                    teams: config.segment_teams.given().map(|teams| teams as usize),
                    multiprocessors: fleet.least(|gpu| gpu.multiprocessors).unwrap_or(1),
                    l2_bytes: l2_of(fleet),
                    redundant: merging == Merging::None,
                    in_turn: merging == Merging::HandOut,
                };
                let blocks = Arc::new(RowBlocks::new(columns.in_rows(), options.width));
                let parts = count(on, rows, &blocks)?;
                Some(Segments::new(columns.in_rows(), &blocks, parts, &fleet.shares, options))
            }
            false => None,
        };
        let mut bins = cut_bins(config, strategy, rows, fleet)?;
        if config.strategy == Strategy::Auto
            && let (Some(cut), Some(bins)) = (&segments, &bins)
            && bins_pay(bins, cut, columns.active, l2_of(fleet))
            && bins::fits(on, bins, columns.in_rows().arcs() as usize, columns.active)?
        {
            (strategy, segments) = (Strategy::Bins, None);
            merging = merge_plan(config.run.merge, strategy, rows, fleet);
        }
        bins = bins.filter(|_| strategy == Strategy::Bins);
        if config.strategy == Strategy::Auto
            && let Some(cut) = &segments
            && !hubs::fits(on, cut, columns.active, merging != Merging::None)?
        {
            (strategy, segments) = (Strategy::WarpPullNodiv, None);
            merging = merge_plan(config.run.merge, strategy, rows, fleet);
        }
        let even = 1.0 / columns.nodes.max(1) as f64;
        Ok(Plan {
            strategy,
            merging,
            split: match (&segments, &bins) {
                (Some(segments), _) => segments.split.clone(),
                (_, Some(bins)) => bins.split.clone(),
                _ if strategy.pushes() => rows.chunks.clone(),
                _ => rows.in_chunks.clone(),
            },
            damping: config.damping,
            even: if share.is_some() { 0.0 } else { even },
            personal: share
                .map(|p| (0..columns.nodes).into_par_iter().map(|label| p(label) as f32).collect()),
            idle: match share {
                Some(share) => (columns.active..columns.nodes).map(share).sum(),
                None => even * (columns.nodes - columns.active) as f64,
            },
            degree: totals
                .is_none()
                .then(|| (0..columns.active).into_par_iter().map(degree).collect()),
            shares,
            dangling: labels.filter(dangles).collect(),
            symmetric: columns.into.is_none(),
            segments,
            bins,
            warps: (config.warp_width, config.warp_chunk),
        })
    }

    /// The rows that replica `rank` makes, or the sources that it pushes from, where they are one piece.
    pub fn own(&self, rank: usize) -> Range<usize> {
        match self.merging {
            Merging::None => 0..self.split.bounds().last().map_or(0, |end| *end as usize),
            _ => self.split.range(rank).start as usize..self.split.range(rank).end as usize,
        }
    }

    /// How many arcs it goes over.
    pub fn own_arcs(&self, rank: usize, columns: &Columns) -> u64 {
        let rows = if self.strategy.pushes() { &columns.out } else { columns.in_rows() };
        let arcs =
            |own: &Range<u64>| rows.offsets[own.end as usize] - rows.offsets[own.start as usize];
        match (&self.segments, self.merging) {
            (Some(segments), Merging::HandOut) => {
                segments.own_rows(Some(rank)).iter().map(arcs).sum()
            }
            _ => arcs(&(self.own(rank).start as u64..self.own(rank).end as u64)),
        }
    }

    /// p of a node, by label.
    pub fn teleport(&self, label: usize) -> f64 {
        self.personal.as_ref().map_or(self.even, |personal| f64::from(personal[label]))
    }

    /// Ranks of the labels in `range`, which have no rows, as words; `scale` is c.
    pub fn rest(&self, range: Range<usize>, scale: f64) -> Rest {
        let rank = |label| ((scale * self.teleport(label)) as f32).to_bits();
        match &self.personal {
            None => Rest::Word(rank(range.start)),
            Some(_) => Rest::Words(range.map(rank).collect()),
        }
    }

    /// Ranks by node of the graph, from those of the rows; `scale` is c.
    pub fn by_node(&self, columns: &Columns, mut ranks: Vec<f32>, scale: f64) -> Vec<f32> {
        let rest = (ranks.len()..columns.nodes).into_par_iter();
        let rest: Vec<f32> = rest.map(|label| (scale * self.teleport(label)) as f32).collect();
        ranks.extend(rest);
        columns.to_input_order(ranks)
    }

    /// Whether the strategy is what degrees suggest; else GPUs had no room for that.
    fn is_first_choice(&self, config: &PagerankConfig) -> bool {
        [true, false].map(|flat| choose(config, flat)).contains(&self.strategy)
    }

    /// What else there is to know of the strategy: `width 32, chunk 1`.
    pub fn words(&self, config: &PagerankConfig, fleet: &FleetInfo) -> String {
        let (width, chunk) = self.warps;
        let words = match (fleet.backend == "host", self.strategy) {
            (true, strategy) if strategy.warps() => {
                "on the host a task has as many rows as it likes".into()
            }
            (true, Strategy::Hubs | Strategy::Bins) => "on the host the same as pull-nodiv".into(),
            (false, strategy) if strategy.warps() => format!("width {width}, chunk {chunk}"),
            _ => match (&self.segments, &self.bins) {
                (Some(cut), _) if self.merging == Merging::HandOut => {
                    format!("{}; rows dealt in turn", cut.words())
                }
                (Some(cut), _) => cut.words(),
                (_, Some(bins)) => bins.words(),
                _ => String::new(),
            },
        };
        match (config.strategy, words.as_str()) {
            (Strategy::Auto, words) if self.bins.is_some() => {
                format!("chosen since `hubs` would take longer, {words}")
            }
            (Strategy::Auto, words) if !self.is_first_choice(config) => {
                format!("chosen since `hubs` does not fit, {words}")
            }
            (Strategy::Auto, "") => "chosen by degrees".into(),
            (Strategy::Auto, words) => format!("chosen by degrees, {words}"),
            _ => words,
        }
    }
}

/// The strategy: where degrees are flat a thread a row wastes nothing; elsewhere hubs belong in shared memory, where there
/// is no room for weights.
pub(super) fn choose(config: &PagerankConfig, flat: bool) -> Strategy {
    match (config.strategy, flat, config.weighted) {
        (Strategy::Auto, true, _) => Strategy::PullNodiv,
        (Strategy::Auto, false, false) => Strategy::Hubs,
        (Strategy::Auto, false, true) => Strategy::WarpPullNodiv,
        (asked, ..) => asked,
    }
}

/// Estimated microseconds that an iteration takes one GPU for an arc of a graph of skewed degrees, which is bounded by
/// gathers, and of flat ones, which is bounded by bytes; and for a node.
const ARC_US: [f64; 2] = [3.2e-6, 2.0e-6];
const NODE_US: f64 = 3e-6;
/// Microseconds that a gather takes beside its bytes, and bytes that arrive at a GPU in one: over NVLink, and elsewhere, where they
/// go through the host.
const FAST: [f64; 2] = [60.0, 300e3];
const SLOW: [f64; 2] = [150.0, 10e3];

/// Whether GPUs are sooner done when each makes a part of the rows and these are gathered than when each makes all.
pub(super) fn sharing_pays(
    active: usize,
    arcs: u64,
    flat: bool,
    (world, slow_links): (usize, bool),
) -> bool {
    let (world, active) = (world as f64, active as f64);
    let all = arcs as f64 * ARC_US[usize::from(flat)] + active * NODE_US;
    let [gather_us, bytes_a_us] = if slow_links { SLOW } else { FAST };
    let moved = 4.0 * active * (world - 1.0) / world / bytes_a_us;
    all / world + gather_us + moved < all
}

fn merge_plan(
    merge: MergeMode,
    strategy: Strategy,
    rows: &TopologyRows,
    fleet: &FleetInfo,
) -> Merging {
    let (columns, world) = (&rows.columns, fleet.world);
    let on = (world, fleet.has_slow_links());
    let pays = sharing_pays(columns.active, columns.in_rows().arcs(), columns.flat, on);
    match merge {
        _ if strategy.pushes() => Merging::Sum,
        MergeMode::Dense => Merging::Sum,
        _ if world == 1 => Merging::None,
        MergeMode::Redundant => Merging::None,
        // Host replicas share the cores, so nothing redundant is free. Sharded arcs lie at their owners.
        MergeMode::Auto if fleet.backend != "host" && !pays && !rows.sharded() => Merging::None,
        // GPUs that write into each other's memory.
        _ if strategy == Strategy::Hubs && fleet.collective == "peer" && !rows.sharded() => {
            Merging::HandOut
        }
        MergeMode::Auto | MergeMode::Split => Merging::Gather,
    }
}

/// Out-weights by node.
fn out_weights(graph: &Graph) -> Vec<f64> {
    let total = |u| graph.neighbors(u).map(|(_, weight)| f64::from(weight)).sum();
    (0..graph.nodes()).into_par_iter().map(total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::layout::Layout;
    use crate::layout::bins::LARGEST_BIN;

    #[test]
    fn rows_are_shared_where_links_are_fast_or_work_is_much() {
        let pays = |mean: u64, slow| sharing_pays(1 << 22, mean << 22, false, (2, slow));
        assert_eq!([pays(16, false), pays(16, true), pays(256, true)], [true, false, true]);
    }

    /// As they were measured on an H200.
    #[test]
    fn bins_are_for_large_graphs_without_hubs() {
        for (spec, wanted) in [
            ("uniform:2^20", true),
            ("uniform:2^16", false),
            ("rmat:18", false),
            ("rmat:18,params=gtgraph", false),
            ("star:2^18", false),
        ] {
            assert_eq!(pay(&generate(spec).unwrap()), wanted, "{spec}");
        }
    }

    /// One warp adds up each row that no bin has room for.
    #[test]
    fn bins_are_not_for_graphs_with_a_node_that_most_others_follow() {
        let flat = generate("uniform:2^20").unwrap();
        let hub = flat.nodes() as u32;
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for v in 0..hub {
            let row = flat.neighbors(v as usize).map(|arc| arc.0).chain([hub]);
            row.for_each(|u| (sources.push(v), targets.push(u)).1);
            (sources.push(hub), targets.push(v)).1
        }
        let graph =
            Graph::from_arcs(flat.nodes() + 1, &sources, &targets, None, flat.origin.clone());
        assert!(!pay(&graph.unwrap()));
    }

    /// Whether bins pay on an H200.
    fn pay(graph: &Graph) -> bool {
        let columns = Columns::new(graph, Layout::Degree).unwrap();
        let rows = columns.in_rows();
        let options = SegmentOptions {
            width: 48_000,
            segments: None,
            teams: None,
            multiprocessors: 132,
            l2_bytes: 50 << 20,
            redundant: true,
            in_turn: false,
        };
        let blocks = RowBlocks::new(rows, options.width);
        let hubs = Segments::new(rows, &blocks, blocks.count(rows), 1, options);
        let bins = Bins::new(rows, options.width, LARGEST_BIN, 1).unwrap();
        bins_pay(&bins, &hubs, columns.active, 50 << 20)
    }
}
