//! A graph without weights, laid out for a device: relabelled by falling degree where degrees are skewed, columns
//! rising in each row, so that the first neighbour of a row has the highest degree.

use super::rows::{Copies, DeviceGraph, HostRows};
use super::weighted_rows::{self as layout, Labels};
use super::{Layout, Placement, PrepareOptions, PrepareReport};
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// A graph in this form, with the copies that replicas hold.
pub(crate) struct TopologyRows {
    pub graph: Arc<Graph>,
    pub columns: Arc<Columns>,
    /// Chunks of about equal out-arcs, over the active nodes.
    pub chunks: Split,
    /// Chunks of about equal in-arcs, over the active nodes.
    pub in_chunks: Split,
    pub report: PrepareReport,
    devices: Copies,
}

/// Rows in one direction.
#[derive(Clone, PartialEq)]
pub(crate) struct ColumnRows {
    /// `[active + 1]`
    pub offsets: Vec<u64>,
    /// `[m]`, rising in each row; self loops and parallel arcs as the graph has them.
    pub columns: Vec<u32>,
}

impl ColumnRows {
    pub fn degree(&self, v: usize) -> u64 {
        self.offsets[v + 1] - self.offsets[v]
    }

    pub fn row(&self, v: usize) -> &[u32] {
        &self.columns[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    pub fn arcs(&self) -> u64 {
        self.columns.len() as u64
    }

    fn as_rows(&self) -> HostRows<'_> {
        HostRows { offsets: &self.offsets, columns: &self.columns, weights: None }
    }

    /// The rows without parallel arcs; `None` where there are none.
    pub fn without_repeats(&self) -> Option<ColumnRows> {
        let repeats =
            |v: usize| self.row(v).windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        let repeats: Vec<u64> = (0..self.offsets.len() - 1).into_par_iter().map(repeats).collect();
        if repeats.iter().all(|count| *count == 0) {
            return None;
        }
        let (mut offsets, mut dropped) = (vec![0], 0);
        for (end, repeats) in self.offsets[1..].iter().zip(repeats) {
            dropped += repeats;
            offsets.push(end - dropped);
        }
        let mut columns = vec![0; (self.arcs() - dropped) as usize];
        let once = |v: usize, row: &mut Vec<u32>| {
            row.clear();
            row.extend(self.row(v));
            row.dedup();
        };
        layout::fill(&mut columns, &offsets, &once, |column| column);
        Some(ColumnRows { offsets, columns })
    }
}

/// The layout itself, made once on the host.
pub struct Columns {
    /// Nodes of the input.
    pub(crate) nodes: usize,
    /// Nodes with an arc, where they come first; else all. Labels below have rows.
    pub(crate) active: usize,
    pub(crate) out: ColumnRows,
    /// `None` when the rows are the same both ways, since the graph is symmetric but for weights.
    pub(crate) into: Option<ColumnRows>,
    labels: Labels,
    /// Degrees are flat and small: expect a high diameter.
    pub(crate) flat: bool,
    ms: f64,
}

impl Columns {
    /// Lays `graph` out.
    pub fn new(graph: &Graph, choice: Layout) -> Result<Columns> {
        let start = Instant::now();
        let (offsets, arcs) = (8 * graph.nodes() as u64, graph.arcs());
        let directed = !graph.is_undirected();
        // The columns of each direction; a directed graph is transposed first.
        let least = offsets + 4 * arcs + if directed { 2 * offsets + 8 * arcs } else { 0 };
        crate::memory::room("the layout without weights", least)?;
        let transpose = directed.then(|| graph.transpose());
        let degree = |v: usize| graph.degree(v) + transpose.as_ref().map_or(0, |t| t.degree(v));
        let (sketch, labels) = layout::labels(graph, &degree, choice);
        let out = rows(graph, &labels, sketch.active)?;
        let into = transpose.map(|t| rows(&t, &labels, sketch.active)).transpose()?;
        Ok(Columns {
            nodes: graph.nodes(),
            active: sketch.active,
            out,
            into,
            labels,
            flat: sketch.flat,
            ms: start.elapsed().as_secs_f64() * 1e3,
        })
    }

    /// The same without parallel arcs; `None` where there are none. The result has rows the same both ways where every arc
    /// has its reverse, even if not as often.
    pub(crate) fn without_repeats(&self) -> Option<Columns> {
        let start = Instant::now();
        let out = self.out.without_repeats()?;
        let once = |rows: &ColumnRows| rows.without_repeats().unwrap_or_else(|| rows.clone());
        let into = self.into.as_ref().map(once).filter(|into| *into != out);
        let labels = self.labels.clone();
        let ms = self.ms + start.elapsed().as_secs_f64() * 1e3;
        Some(Columns { out, into, labels, ms, ..*self })
    }

    /// In-rows.
    pub(crate) fn in_rows(&self) -> &ColumnRows {
        self.into.as_ref().unwrap_or(&self.out)
    }

    /// The label of a node of the graph.
    pub(crate) fn label(&self, node: u32) -> u32 {
        self.labels.1.as_ref().map_or(node, |map| map[node as usize])
    }

    /// The node of a label.
    pub(crate) fn node(&self, label: u32) -> u32 {
        self.labels.0.as_ref().map_or(label, |map| map[label as usize])
    }

    /// Values by label, in the graph's order.
    pub(crate) fn to_input_order<T: Copy + Send + Sync>(&self, by_label: Vec<T>) -> Vec<T> {
        match &self.labels.1 {
            None => by_label,
            Some(map) => map.par_iter().map(|label| by_label[*label as usize]).collect(),
        }
    }

    /// `[m]`: the weight of each in-arc, or out-arc, divided by the out-weight of its source, in the order of the columns; 0
    /// where that is 0. `totals` are out-weights by node of `graph`.
    pub(crate) fn shares(&self, graph: &Graph, totals: &[f64], into: bool) -> Vec<f32> {
        let turned = (into && !graph.is_symmetric()).then(|| graph.transpose());
        let (rows, from) = match into {
            true => (self.in_rows(), turned.as_ref().unwrap_or(graph)),
            false => (&self.out, graph),
        };
        let share = |weight: f32, source: usize| match totals[source] {
            0.0 => 0.0,
            total => (f64::from(weight) / total) as f32,
        };
        let mut shares = vec![0f32; rows.columns.len()];
        let sorted = |v: usize, row: &mut Vec<(u32, u32)>| {
            let node = self.node(v as u32) as usize;
            row.clear();
            row.extend(from.neighbors(node).map(|(u, weight)| {
                let source = if into { u as usize } else { node };
                (self.label(u), share(weight, source).to_bits())
            }));
            row.sort_unstable();
        };
        layout::fill(&mut shares, &rows.offsets, &sorted, |(_, bits)| f32::from_bits(bits));
        shares
    }

    /// `degree` or `raw`.
    pub(crate) fn name(&self) -> &'static str {
        if self.labels.0.is_some() { "degree" } else { "raw" }
    }
}

/// The rows of the first `active` labels.
fn rows(graph: &Graph, labels: &Labels, active: usize) -> Result<ColumnRows> {
    let input = |v: usize| labels.0.as_ref().map_or(v, |map| map[v] as usize);
    let mut offsets = Vec::with_capacity(active + 1);
    offsets.push(0);
    let mut total = 0u64;
    for v in 0..active {
        total += graph.degree(input(v));
        offsets.push(total);
    }
    let length = usize::try_from(total)
        .map_err(|_| Error::machine(format!("{total} arcs do not fit this machine's memory")))?;
    let Some(label_of) = &labels.1 else {
        return Ok(ColumnRows { offsets, columns: graph.columns().to_vec() });
    };
    let mut columns = vec![0u32; length];
    let sorted = |v: usize, row: &mut Vec<u32>| {
        row.clear();
        row.extend(graph.neighbors(input(v)).map(|(u, _)| label_of[u as usize]));
        row.sort_unstable();
    };
    layout::fill(&mut columns, &offsets, &sorted, |column| column);
    Ok(ColumnRows { offsets, columns })
}

impl TopologyRows {
    /// Gives every replica of `fleet` its copy of `columns`, which are those of `graph`.
    pub fn new(
        fleet: &Fleet,
        graph: Arc<Graph>,
        columns: Arc<Columns>,
        options: PrepareOptions,
    ) -> Result<TopologyRows> {
        let (world, align) = (fleet.world(), options.chunk_align);
        let chunks = Split::of(&columns.out.offsets, world, align, options.chunks);
        let in_chunks = Split::of(&columns.in_rows().offsets, world, align, options.chunks);
        let start = Instant::now();
        let sharded = options.placement == Placement::Sharded;
        let owners = sharded.then(|| [chunks.clone(), in_chunks.clone()]);
        let shared = columns.clone();
        let devices = Copies::new(fleet.run(move |r| match &r.backend {
            Backend::Host(_) => Ok(None),
            Backend::Cuda(_) => {
                let (out, into) = (shared.out.as_rows(), shared.into.as_ref());
                let owners = owners.as_ref().map(|[out, into]| [out, into]);
                DeviceGraph::upload(r, out, into.map(ColumnRows::as_rows), owners).map(Some)
            }
        })?);
        let most = devices.most_bytes();
        let both = columns.out.arcs() + columns.into.as_ref().map_or(0, ColumnRows::arcs);
        let report = PrepareReport {
            layout: columns.name().into(),
            placement: options.placement,
            upload_ms: if most.is_some() { start.elapsed().as_secs_f64() * 1e3 } else { 0.0 },
            compile_ms: 0.0,
            prepare_ms: columns.ms,
            bytes_per_replica: most.unwrap_or(both * 4 + columns.out.offsets.len() as u64 * 8),
        };
        Ok(TopologyRows { graph, columns, chunks, in_chunks, report, devices })
    }

    /// Whether arcs are at their owners only.
    pub fn sharded(&self) -> bool {
        self.report.placement == Placement::Sharded
    }

    /// The copy of replica `rank`, which is on a device.
    pub fn on_device(&self, rank: usize) -> Result<&DeviceGraph> {
        self.devices.on_device(rank)
    }
}
