//! A graph without weights, laid out for a device: relabelled by falling degree where degrees are skewed, rows
//! of columns that rise. So the first neighbour of a row is the one of highest degree.

use super::weighted_rows::{self as layout, Labels};
use super::{Layout, PrepareOptions, PrepareReport, check_align};
use crate::collective::Split;
use crate::device::{CudaDevice, DeviceBuffer};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet, Placed, Replica, VmmArray};
use crate::graph::Graph;
use crate::layout::Placement;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// A graph in this form, with the copies that replicas hold.
pub(crate) struct Topology {
    rows: Arc<TopologyRows>,
    report: PrepareReport,
}

/// What the replicas of a fleet share of it.
pub(crate) struct TopologyRows {
    pub graph: Arc<Graph>,
    pub columns: Arc<Columns>,
    /// Chunks of about equal out-arcs, over the active nodes.
    pub chunks: Split,
    /// Chunks of about equal in-arcs, over the active nodes.
    pub in_chunks: Split,
    options: PrepareOptions,
    /// By rank; `None` on the host.
    devices: Vec<Option<DeviceTopology>>,
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

    /// Each arc once; `None` where these rows are so.
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
    /// `None` when the graph is symmetric but for weights: rows are the same both ways.
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

    /// The same with each arc once; `None` where it is so. Rows are the same both ways then where every arc has its
    /// reverse, however often the two were there.
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

    /// The node of the graph that a label stands for.
    pub(crate) fn node(&self, label: u32) -> u32 {
        self.labels.0.as_ref().map_or(label, |map| map[label as usize])
    }

    /// Values by label, put in the graph's order.
    pub(crate) fn to_input_order<T: Copy + Send + Sync>(&self, by_label: Vec<T>) -> Vec<T> {
        match &self.labels.1 {
            None => by_label,
            Some(map) => map.par_iter().map(|label| by_label[*label as usize]).collect(),
        }
    }

    /// `[m]` for each in-arc, or out-arc, its share of the out-weight of its source, in the order of the columns; 0
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

/// Rows on one device.
pub(crate) struct DeviceColumns {
    /// u32 or u64 words, see [`DeviceTopology::wide`].
    pub offsets: DeviceBuffer<u32>,
    pub columns: Placed<u32>,
}

/// A graph on one device.
pub(crate) struct DeviceTopology {
    pub out: DeviceColumns,
    into: Option<DeviceColumns>,
    /// Offsets are 64-bit words.
    pub wide: bool,
}

impl DeviceTopology {
    /// In-rows.
    pub fn in_rows(&self) -> &DeviceColumns {
        self.into.as_ref().unwrap_or(&self.out)
    }

    /// The options that kernels over it are compiled with.
    pub fn options(&self) -> [String; 1] {
        [format!("-DHIVE_WIDE={}", u32::from(self.wide))]
    }

    fn bytes(&self) -> u64 {
        let of = |rows: &DeviceColumns| rows.offsets.len() as u64 * 4 + rows.columns.bytes();
        of(&self.out) + self.into.as_ref().map_or(0, of)
    }
}

impl Topology {
    /// Gives every replica of `fleet` its copy of `columns`, which are those of `graph`.
    pub fn new(
        fleet: &Fleet,
        graph: Arc<Graph>,
        columns: Arc<Columns>,
        options: PrepareOptions,
    ) -> Result<Topology> {
        let (world, align) = (fleet.world(), options.chunk_align);
        check_align(align)?;
        let chunks = Split::of(&columns.out.offsets, world, align, options.chunks);
        let in_chunks = Split::of(&columns.in_rows().offsets, world, align, options.chunks);
        let start = Instant::now();
        let sharded = options.placement == Placement::Sharded;
        let owners = sharded.then(|| (chunks.clone(), in_chunks.clone()));
        let shared = columns.clone();
        let devices = fleet.run(move |r| match &r.backend {
            Backend::Host(_) => Ok(None),
            Backend::Cuda(_) => upload(r, &shared, owners.as_ref()).map(Some),
        })?;
        let most = devices.iter().flatten().map(DeviceTopology::bytes).max();
        let both = columns.out.arcs() + columns.into.as_ref().map_or(0, ColumnRows::arcs);
        let report = PrepareReport {
            layout: columns.name().into(),
            placement: options.placement,
            upload_ms: if most.is_some() { start.elapsed().as_secs_f64() * 1e3 } else { 0.0 },
            compile_ms: 0.0,
            prepare_ms: columns.ms,
            bytes_per_replica: most.unwrap_or(both * 4 + columns.out.offsets.len() as u64 * 8),
        };
        let rows = TopologyRows { graph, columns, chunks, in_chunks, options, devices };
        let rows = Arc::new(rows);
        Ok(Topology { rows, report })
    }

    /// What preparing took.
    pub fn report(&self) -> &PrepareReport {
        &self.report
    }

    pub(crate) fn rows(&self) -> &Arc<TopologyRows> {
        &self.rows
    }
}

impl TopologyRows {
    /// Whether arcs lie at their owners only.
    pub fn sharded(&self) -> bool {
        self.options.placement == Placement::Sharded
    }

    /// The copy of replica `rank`, which is on a device.
    pub fn on_device(&self, rank: usize) -> Result<&DeviceTopology> {
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        self.devices[rank].as_ref().ok_or_else(missing)
    }
}

fn upload(
    r: &mut Replica,
    columns: &Columns,
    owners: Option<&(Split, Split)>,
) -> Result<DeviceTopology> {
    let wide = columns.out.arcs() >= u64::from(u32::MAX);
    let out = upload_rows(r, &columns.out, wide, owners.map(|o| &o.0))?;
    let into = columns.into.as_ref();
    let into = into.map(|rows| upload_rows(r, rows, wide, owners.map(|o| &o.1))).transpose()?;
    match owners {
        Some(_) => r.barrier("arcs of all owners")?,
        None => r.device()?.wait()?,
    }
    Ok(DeviceTopology { out, into, wide })
}

fn upload_rows(
    r: &mut Replica,
    rows: &ColumnRows,
    wide: bool,
    owners: Option<&Split>,
) -> Result<DeviceColumns> {
    let offsets = upload_offsets(r.device()?, &rows.offsets, wide)?;
    let columns = match owners {
        None => {
            let columns = r.device()?.alloc::<u32>("columns", rows.columns.len())?;
            columns.upload(&rows.columns)?;
            Placed::Own(columns)
        }
        Some(owners) => {
            let ends = owners.bounds().iter().map(|row| rows.offsets[*row as usize] * 4);
            let array = VmmArray::new(r, "columns", &ends.collect::<Vec<_>>())?;
            array.upload_own(r, bytemuck::cast_slice(&rows.columns))?;
            Placed::Sharded(array)
        }
    };
    Ok(DeviceColumns { offsets, columns })
}

fn upload_offsets(device: &CudaDevice, offsets: &[u64], wide: bool) -> Result<DeviceBuffer<u32>> {
    let buffer = device.alloc::<u32>("row offsets", offsets.len() * if wide { 2 } else { 1 })?;
    if wide {
        buffer.upload(bytemuck::cast_slice(offsets))?;
    } else {
        let narrow: Vec<u32> = offsets.par_iter().map(|o| *o as u32).collect();
        buffer.upload(&narrow)?;
    }
    Ok(buffer)
}
