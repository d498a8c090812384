//! What all replicas of a run share, made once on the host: the strategy, who makes which rows, where walks begin.

use super::{PagerankConfig, Strategy};
use crate::algorithm::MergeMode;
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::FleetInfo;
use crate::graph::Graph;
use crate::layout::segments::{SegmentOptions, Segments};
use crate::layout::{Columns, TopologyRows};
use rayon::prelude::*;
use std::ops::Range;

/// What becomes of an iteration's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merging {
    /// Everybody makes all of them.
    None,
    /// Chunks are gathered.
    Gather,
    /// Rows, dealt in turn, are written into everybody's arrays by who makes them.
    Tell,
    /// Sums are added.
    Sum,
}

impl Merging {
    pub fn word(self) -> &'static str {
        match self {
            Merging::None => "none",
            Merging::Gather | Merging::Tell => "gather",
            Merging::Sum => "dense",
        }
    }
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
    /// p of all nodes without a row.
    pub idle: f64,
    /// `[active]` out-degrees, 1 for 0; `None` where arcs have shares.
    pub degree: Option<Vec<f32>>,
    /// `[m]` what share of the out-weight of its source each in-arc has, each out-arc for pushes.
    pub shares: Option<Vec<f32>>,
    /// Labels with a row and no out-weight, rising.
    pub dangling: Vec<u32>,
    /// In-rows and out-rows are the same.
    pub symmetric: bool,
    /// How `hubs` cuts rows on GPUs.
    pub segments: Option<Segments>,
    /// Lanes and rows of the warp-centric strategies.
    pub warps: (u32, u32),
    /// How it was chosen.
    pub automatic: bool,
    on_host: bool,
}

impl Plan {
    pub fn new(
        rows: &TopologyRows,
        config: &PagerankConfig,
        personal: Option<&[f64]>,
        fleet: &FleetInfo,
    ) -> Result<Plan> {
        let (columns, on_host) = (&*rows.columns, fleet.backend == "host");
        let strategy = match config.strategy {
            Strategy::Auto => choose(columns, config.weighted),
            asked => asked,
        };
        let totals = config.weighted.then(|| out_weights(&rows.graph));
        let shares =
            totals.as_ref().map(|totals| columns.shares(&rows.graph, totals, !strategy.pushes()));
        let dangles = |v: &u32| match &totals {
            Some(totals) => totals[columns.node(*v) as usize] == 0.0,
            None => columns.out.degree(*v as usize) == 0,
        };
        let degree = |v| columns.out.degree(v).max(1) as f32;
        let degree =
            totals.is_none().then(|| (0..columns.active).into_par_iter().map(degree).collect());
        let dangling: Vec<u32> =
            (0..columns.active as u32).into_par_iter().filter(dangles).collect();
        let (personal, even, idle) = teleport(columns, personal)?;
        let merging = merging(config.run.merge, strategy, rows, fleet);
        let segments = match strategy == Strategy::Hubs && !on_host {
            true => {
                let gpus = fleet.devices.iter().map(|device| device.multiprocessors);
                let options = SegmentOptions {
                    width: Segments::width_on(fleet, config.segment_width.given())?,
                    segments: config.segments.given().map(|segments| segments as usize),
                    teams: config.segment_teams.given().map(|teams| teams as usize),
                    multiprocessors: gpus.min().unwrap_or(1),
                    redundant: merging == Merging::None,
                    in_turn: merging == Merging::Tell,
                };
                Some(Segments::new(columns.in_rows(), fleet.world, options))
            }
            false => None,
        };
        let split = match &segments {
            Some(segments) => segments.split.clone(),
            None if strategy.pushes() => rows.chunks.clone(),
            None => rows.in_chunks.clone(),
        };
        Ok(Plan {
            strategy,
            merging,
            split,
            damping: config.damping,
            even,
            personal,
            idle,
            degree,
            shares,
            dangling,
            symmetric: columns.into.is_none(),
            segments,
            warps: (config.warp_width, config.warp_chunk),
            automatic: config.strategy == Strategy::Auto,
            on_host,
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
            (Some(segments), Merging::Tell) => segments.own_rows(Some(rank)).iter().map(arcs).sum(),
            _ => arcs(&(self.own(rank).start as u64..self.own(rank).end as u64)),
        }
    }

    /// p of a node, by label.
    pub fn teleport(&self, label: usize) -> f64 {
        self.personal.as_ref().map_or(self.even, |personal| f64::from(personal[label]))
    }

    /// Ranks by node of the graph, from those of the rows; `scale` is for the rest.
    pub fn by_node(&self, rows: &TopologyRows, mut ranks: Vec<f32>, scale: f64) -> Vec<f32> {
        let rest = (ranks.len()..rows.columns.nodes).into_par_iter();
        let rest: Vec<f32> = rest.map(|label| (scale * self.teleport(label)) as f32).collect();
        ranks.extend(rest);
        rows.columns.to_input_order(ranks)
    }

    /// What else there is to know of the strategy: `width 32, chunk 1`.
    pub fn words(&self) -> String {
        let (width, chunk) = self.warps;
        let mut words = match (self.on_host, self.strategy) {
            (true, strategy) if strategy.by_warps() => {
                "on the host a task has as many rows as it likes".into()
            }
            (true, Strategy::Hubs) => "on the host the same as pull-nodiv".into(),
            (false, strategy) if strategy.by_warps() => format!("width {width}, chunk {chunk}"),
            _ => match &self.segments {
                Some(cut) if self.merging == Merging::Tell => {
                    format!("{}; rows dealt in turn", cut.words())
                }
                Some(cut) => cut.words(),
                None => String::new(),
            },
        };
        if self.automatic {
            words = format!("chosen by degrees{}{words}", if words.is_empty() { "" } else { ", " });
        }
        words
    }
}

/// The strategy that a graph's degrees speak for: where they are flat a thread a row wastes nothing; elsewhere hubs
/// belong in shared memory, where there is no room for weights.
fn choose(columns: &Columns, weighted: bool) -> Strategy {
    match (columns.flat, weighted) {
        (true, _) => Strategy::PullNodiv,
        (false, false) => Strategy::Hubs,
        (false, true) => Strategy::WarpPullNodiv,
    }
}

/// What an iteration of one GPU takes, us an arc and a node: flat graphs are bounded by bytes, others by
/// gathers.
const ARC_US: [f64; 2] = [3.2e-6, 2.0e-6];
const NODE_US: f64 = 3e-6;
/// What a gather takes beside its bytes, us, and bytes that come over NVLink in one, on H200s joined by NVSwitch.
const GATHER_US: f64 = 60.0;
const BYTES_A_US: f64 = 300e3;

fn merging(
    merge: MergeMode,
    strategy: Strategy,
    rows: &TopologyRows,
    fleet: &FleetInfo,
) -> Merging {
    let columns = &rows.columns;
    let (world, active) = (fleet.world as f64, columns.active as f64);
    let all =
        columns.in_rows().arcs() as f64 * ARC_US[usize::from(columns.flat)] + active * NODE_US;
    let moved = 4.0 * active * (world - 1.0) / world / BYTES_A_US;
    let pays = all / world + GATHER_US + moved < all;
    match merge {
        _ if strategy.pushes() => Merging::Sum,
        MergeMode::Dense => Merging::Sum,
        _ if fleet.world == 1 => Merging::None,
        MergeMode::Redundant => Merging::None,
        // Host replicas share the cores: nothing redundant is free. Sharded arcs are their owners' to read.
        MergeMode::Auto if fleet.backend != "host" && !pays && !rows.sharded() => Merging::None,
        // GPUs that write into each other's memory.
        _ if strategy == Strategy::Hubs && fleet.collective == "peer" && !rows.sharded() => {
            Merging::Tell
        }
        MergeMode::Auto | MergeMode::Split => Merging::Gather,
    }
}

/// Out-weights by node.
fn out_weights(graph: &Graph) -> Vec<f64> {
    let total = |u| graph.neighbors(u).map(|(_, weight)| f64::from(weight)).sum();
    (0..graph.nodes()).into_par_iter().map(total).collect()
}

/// p by label where it differs, p where it does not, and that of the nodes without a row together.
fn teleport(columns: &Columns, personal: Option<&[f64]>) -> Result<(Option<Vec<f32>>, f64, f64)> {
    let n = columns.nodes;
    let Some(weights) = personal else {
        let even = 1.0 / n.max(1) as f64;
        return Ok((None, even, even * (n - columns.active) as f64));
    };
    if weights.len() != n {
        let given = weights.len();
        return Err(Error::input(format!("--personalize: {given} weights for {n} nodes")));
    }
    if let Some(bad) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
        return Err(Error::input(format!(
            "--personalize: a weight of {bad}; use finite weights >= 0"
        )));
    }
    // Weights near the largest f64 have no sum.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Err(Error::input("--personalize: no node has a weight above 0; give one"));
    }
    let total: f64 = weights.iter().map(|weight| weight / largest).sum();
    let share = |label: usize| weights[columns.node(label as u32) as usize] / largest / total;
    let idle = (columns.active..n).map(share).sum();
    Ok((Some((0..n).into_par_iter().map(|label| share(label) as f32).collect()), 0.0, idle))
}
