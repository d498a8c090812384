//! A graph without weights, laid out for a device: relabelled by falling degree where degrees are skewed, columns
//! rising in each row, so that the first neighbour of a row has the highest degree.

mod once;

use super::on_device::{self, Made, MadeRows, Wanted};
use super::rows::{Copies, DeviceGraph, DeviceRows, HostRows, LabelsOnDevice, ToNodes, is_wide};
use super::weighted_rows::{self as layout, Labels};
use super::{Layout, Placement, PrepareOptions, PrepareReport};
use crate::collective::Split;
use crate::device::DeviceBuffer;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet, Placed, VmmArray};
use crate::generate::DeviceArcs;
use crate::graph::{Graph, milliseconds};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock, Weak};
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
    labels: LabelsOnDevice,
    reachable: OnceLock<u64>,
    devices: Copies<DeviceGraph>,
}

/// Rows in one direction.
#[derive(Clone)]
pub(crate) struct ColumnRows {
    /// `[active + 1]`
    pub offsets: Arc<Vec<u64>>,
    /// `[m]`, rising in each row; self loops and parallel arcs as the graph has them. Columns that devices made are copied
    /// from there when the host first looks at them.
    columns: OnceLock<Vec<u32>>,
    devices: OnDevices,
}

/// The rows of a [`ColumnRows`] whose columns are on the host.
#[derive(Clone, Copy)]
pub(crate) struct RowView<'a> {
    /// `[active + 1]`
    pub offsets: &'a [u64],
    /// `[m]`
    pub columns: &'a [u32],
}

impl<'a> RowView<'a> {
    pub fn row(self, v: usize) -> &'a [u32] {
        &self.columns[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Puts the rows of `list`, which have so many arcs together, one after another into `rows`. Where most of them are short
    /// there are no branches that cannot be foretold, so that many rows are fetched at once.
    pub fn gather(self, list: &[u32], arcs: usize, rows: &mut Vec<u32>) {
        rows.resize(arcs + SHORT_ROW, 0);
        let mut at = 0;
        for v in list {
            let (begin, row) = (self.offsets[*v as usize] as usize, self.row(*v as usize));
            let rows = &mut rows[at..];
            match (self.columns[begin..].first_chunk(), rows.first_chunk_mut::<SHORT_ROW>()) {
                // Those behind the row are overwritten by the next.
                (Some(most), Some(rows)) if row.len() <= SHORT_ROW => *rows = *most,
                _ => rows[..row.len()].copy_from_slice(row),
            }
            at += row.len();
        }
        rows.truncate(arcs);
    }

    /// Adds up what `each` says of the arcs of a row, by number and column, from the first on. `None` where the row is longer
    /// than [`SHORT_ROW`], or so near to the end that there are fewer columns. `each` is asked of the arcs behind the row too.
    #[inline(always)]
    pub fn add_short(self, v: usize, each: impl Fn(usize, usize) -> f64) -> Option<f64> {
        // Read, not computed: a compiler would make branches of comparisons.
        static COUNTS: [[u64; SHORT_ROW]; SHORT_ROW + 1] = {
            let all = u64::MAX;
            [[0; SHORT_ROW], [all, 0, 0, 0], [all, all, 0, 0], [all, all, all, 0], [all; SHORT_ROW]]
        };
        let (begin, end) = (self.offsets[v] as usize, self.offsets[v + 1] as usize);
        let (most, counts) =
            (self.columns.get(begin..begin + SHORT_ROW)?, COUNTS.get(end - begin)?);
        let arcs = most.iter().zip(counts).enumerate();
        Some(arcs.fold(0.0, |sum, (k, (u, counts))| {
            sum + f64::from_bits(each(begin + k, *u as usize).to_bits() & counts)
        }))
    }
}

/// Columns that are taken from every row alike where most rows are short: their lengths cannot be foretold, so that a branch
/// would cost more.
pub(crate) const SHORT_ROW: usize = 4;

/// Columns that devices hold: each of them all, or all of them together.
#[derive(Clone)]
enum OnDevices {
    Own(Weak<DeviceBuffer<u32>>),
    Sharded(Weak<VmmArray>),
}

impl PartialEq for ColumnRows {
    fn eq(&self, other: &ColumnRows) -> bool {
        self.offsets == other.offsets && self.columns() == other.columns()
    }
}

impl ColumnRows {
    fn new(offsets: Vec<u64>, columns: Vec<u32>) -> ColumnRows {
        let (offsets, devices) = (Arc::new(offsets), OnDevices::Own(Weak::new()));
        ColumnRows { offsets, columns: columns.into(), devices }
    }

    /// Rows whose columns are on devices.
    pub(super) fn on_devices(offsets: Arc<Vec<u64>>, columns: &Placed<u32>) -> ColumnRows {
        let devices = match columns {
            Placed::Own(buffer) => OnDevices::Own(Arc::downgrade(buffer)),
            Placed::Sharded(array) => OnDevices::Sharded(Arc::downgrade(array)),
        };
        ColumnRows { offsets, columns: OnceLock::new(), devices }
    }

    /// Makes sure that the columns are on the host: for who looks at rows there and may run on a device.
    ///
    /// # Errors
    /// [`Error::Machine`] where there is no room for them.
    pub fn load(&self) -> Result<()> {
        if self.columns.get().is_none() {
            let gone = || Error::machine("columns of a device that was left; this is a bug");
            let mut columns = crate::memory::zeros("columns", self.arcs() as usize)?;
            match &self.devices {
                OnDevices::Own(buffer) => {
                    let buffer = buffer.upgrade().ok_or_else(gone)?;
                    buffer.bind()?;
                    buffer.read(0, &mut columns)?;
                }
                OnDevices::Sharded(array) => {
                    let array = array.upgrade().ok_or_else(gone)?;
                    array.read(0, bytemuck::cast_slice_mut(&mut columns))?;
                }
            }
            let _ = self.columns.set(columns);
        }
        Ok(())
    }

    /// Whether the columns are on the host.
    #[cfg(test)]
    pub fn is_loaded(&self) -> bool {
        self.columns.get().is_some()
    }

    /// The columns, if they are on the host.
    pub fn columns(&self) -> &[u32] {
        self.columns.get().map_or(&[], Vec::as_slice)
    }

    /// Chunks of them for the replicas of `fleet`.
    fn split(&self, fleet: &Fleet, options: PrepareOptions) -> Split {
        Split::of(&self.offsets, &fleet.info().shares, options.chunk_align, options.chunks)
    }

    pub fn degree(&self, v: usize) -> u64 {
        self.offsets[v + 1] - self.offsets[v]
    }

    pub fn row(&self, v: usize) -> &[u32] {
        self.view().row(v)
    }

    /// The rows, for loops over many: what it takes to come to them is done once.
    pub fn view(&self) -> RowView<'_> {
        RowView { offsets: &self.offsets, columns: self.columns() }
    }

    pub fn arcs(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    fn as_rows(&self) -> HostRows<'_> {
        HostRows { offsets: &self.offsets, columns: self.columns(), weights: None }
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
        Some(ColumnRows::new(offsets, columns))
    }
}

/// The layout itself, made once: on the host, or on every GPU.
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
    by_degree: bool,
    /// Whether a row has a column twice, where that is known.
    has_repeats: Option<bool>,
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
        let (sketch, labels) = layout::labels(graph, &degree, choice.into());
        // The transpose is gone before the other rows are made.
        let into = transpose.map(|t| rows(&t, &labels, sketch.active)).transpose()?;
        let out = rows(graph, &labels, sketch.active)?;
        Ok(Columns {
            nodes: graph.nodes(),
            active: sketch.active,
            out,
            into,
            labels,
            flat: sketch.flat,
            by_degree: sketch.by_degree,
            has_repeats: None,
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

    /// Whether a row may have a column twice.
    pub(super) fn may_have_repeats(&self) -> bool {
        self.has_repeats != Some(false)
    }

    /// Makes sure that all columns are on the host, as [`ColumnRows::load`].
    pub(crate) fn load(&self) -> Result<()> {
        self.out.load()?;
        self.into.as_ref().map_or(Ok(()), ColumnRows::load)
    }

    /// In-rows.
    pub(crate) fn in_rows(&self) -> &ColumnRows {
        self.into.as_ref().unwrap_or(&self.out)
    }

    /// As [`WeightedLayout::evenness`](super::WeightedLayout::evenness).
    pub(crate) fn evenness(&self) -> f64 {
        match self.by_degree {
            true => layout::half_of_arcs([&self.out, self.in_rows()].map(|rows| &**rows.offsets)),
            false => 0.0,
        }
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
        let mut shares = vec![0f32; rows.arcs() as usize];
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
        if self.by_degree { "degree" } else { "raw" }
    }
}

/// Rows that a device made.
fn placed(rows: MadeRows) -> (ColumnRows, DeviceRows) {
    let MadeRows { offsets, device_offsets, arcs, .. } = rows;
    let on_host = ColumnRows::on_devices(offsets, &arcs);
    (on_host, DeviceRows { offsets: device_offsets, columns: arcs, weights: None })
}

fn nothing() -> Error {
    Error::machine("a layout of no replica; this is a bug")
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
        return Ok(ColumnRows::new(offsets, graph.columns().to_vec()));
    };
    let mut columns = vec![0u32; length];
    let sorted = |v: usize, row: &mut Vec<u32>| {
        row.clear();
        row.extend(graph.neighbors(input(v)).map(|(u, _)| label_of[u as usize]));
        row.sort_unstable();
    };
    layout::fill(&mut columns, &offsets, &sorted, |column| column);
    Ok(ColumnRows::new(offsets, columns))
}

impl TopologyRows {
    /// Lays `graph` out on the GPU of every replica; `None` where one has no room for that, and on the host.
    pub fn made_on_devices(
        fleet: &Fleet,
        graph: &Arc<Graph>,
        (kept, finds_source): (Option<DeviceArcs>, bool),
        options: PrepareOptions,
    ) -> Result<Option<TopologyRows>> {
        if fleet.info().backend != "cuda" {
            return Ok(None);
        }
        let wanted = Wanted {
            options,
            directed: match kept {
                Some(_) => Some(!graph.is_undirected()),
                None => graph.known_undirected().map(|undirected| !undirected),
            },
            weights: false,
            self_loops: graph.origin.self_loops > 0,
            finds_source,
        };
        let shared = graph.clone();
        let made = fleet.run(move |r| on_device::make(r, &shared, kept.as_ref(), wanted))?;
        let Some(mut made) = made.into_iter().collect::<Option<Vec<Made>>>() else {
            return Ok(None);
        };
        let mut labels = on_device::labels(made.iter_mut().map(|made| &mut made.labels));
        let slowest = |ms: fn(&Made) -> f64| made.iter().map(ms).fold(0.0, f64::max);
        let (upload_ms, ms) = (slowest(|made| made.upload_ms), slowest(|made| made.ms));
        let compile_ms = slowest(|made| made.compile_ms);
        let mut columns = None;
        let mut devices = Vec::new();
        for Made { sketch, out, into, .. } in made {
            let has_repeats = out.repeats > 0;
            let wide = is_wide(out.offsets.last().copied().unwrap_or(0));
            let [out, into] = [Some(out), into].map(|rows| rows.map(placed));
            let ((out, device_out), into) = (out.ok_or_else(nothing)?, into);
            let (into, device_into) = into.unzip();
            columns.get_or_insert(Columns {
                nodes: graph.nodes(),
                active: sketch.active,
                out,
                into,
                labels: std::mem::take(&mut labels),
                flat: sketch.flat,
                by_degree: sketch.by_degree,
                has_repeats: Some(has_repeats),
                ms,
            });
            devices.push(Some(DeviceGraph { out: device_out, into: device_into, wide }));
        }
        let columns = Arc::new(columns.ok_or_else(nothing)?);
        let mut rows =
            TopologyRows::of(fleet, graph.clone(), columns, options, Copies::new(fleet, devices));
        (rows.report.upload_ms, rows.report.compile_ms) = (upload_ms, compile_ms);
        rows.report.on_devices = true;
        Ok(Some(rows))
    }

    /// The same without parallel arcs, which there are, made on the GPU of every replica; `None` where these were not made there,
    /// or one has no room for that.
    pub fn once_on_devices(
        self: &Arc<TopologyRows>,
        fleet: &Fleet,
        options: PrepareOptions,
    ) -> Result<Option<TopologyRows>> {
        once::made(fleet, self, options)
    }

    /// Gives every replica of `fleet` its copy of `columns`, which are those of `graph`.
    pub fn new(
        fleet: &Fleet,
        graph: Arc<Graph>,
        columns: Arc<Columns>,
        options: PrepareOptions,
    ) -> Result<TopologyRows> {
        let start = Instant::now();
        let owners = (options.placement == Placement::Sharded)
            .then(|| [&columns.out, columns.in_rows()].map(|rows| rows.split(fleet, options)));
        columns.load()?;
        let shared = columns.clone();
        let devices = fleet.run(move |r| match &r.backend {
            Backend::Host(_) => Ok(None),
            Backend::Cuda(_) => {
                let (out, into) = (shared.out.as_rows(), shared.into.as_ref());
                let owners = owners.as_ref().map(|[out, into]| [out, into]);
                DeviceGraph::upload(r, out, into.map(ColumnRows::as_rows), owners).map(Some)
            }
        })?;
        let devices = Copies::new(fleet, devices);
        let uploaded = devices.most_bytes().is_some();
        let mut rows = TopologyRows::of(fleet, graph, columns, options, devices);
        rows.report.upload_ms = if uploaded { milliseconds(start) } else { 0.0 };
        Ok(rows)
    }

    fn of(
        fleet: &Fleet,
        graph: Arc<Graph>,
        columns: Arc<Columns>,
        options: PrepareOptions,
        devices: Copies<DeviceGraph>,
    ) -> TopologyRows {
        let [chunks, in_chunks] =
            [&columns.out, columns.in_rows()].map(|rows| rows.split(fleet, options));
        let both = columns.out.arcs() + columns.into.as_ref().map_or(0, ColumnRows::arcs);
        let host = both * 4 + columns.out.offsets.len() as u64 * 8;
        let report = PrepareReport {
            layout: columns.name().into(),
            placement: options.placement,
            on_devices: false,
            upload_ms: 0.0,
            compile_ms: 0.0,
            prepare_ms: columns.ms,
            bytes_per_replica: devices.most_bytes().unwrap_or(host),
        };
        let (labels, reachable) = (LabelsOnDevice::default(), OnceLock::new());
        TopologyRows { graph, columns, chunks, in_chunks, report, labels, reachable, devices }
    }

    /// Whether arcs are at their owners only.
    pub fn sharded(&self) -> bool {
        self.report.placement == Placement::Sharded
    }

    /// Nodes with an in-arc.
    pub fn reachable(&self) -> u64 {
        let into = &self.columns.in_rows().offsets;
        let count = || into.windows(2).filter(|pair| pair[0] < pair[1]).count() as u64;
        *self.reachable.get_or_init(count)
    }

    /// How answers by label come into the order of nodes.
    pub fn order(&self) -> ToNodes<'_> {
        let (nodes, label_of) = (self.columns.nodes, self.columns.labels.1.as_deref());
        ToNodes { nodes, label_of, on_device: &self.labels }
    }

    /// The copy of replica `rank`, which is on a device.
    pub fn on_device(&self, rank: usize) -> Result<&DeviceGraph> {
        self.devices.on_device(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rows_are_gathered_and_added_up_as_they_are() {
        // Rows of 0 to 6 arcs in any order, and short ones at the end, behind which there is nothing.
        let lengths = [3u64, 0, 6, 4, 1, 5, 0, 2, 1];
        let offsets: Vec<u64> = (0..=lengths.len()).map(|n| lengths[..n].iter().sum()).collect();
        let columns: Vec<u32> = (0..offsets[lengths.len()] as u32).map(|i| i * 7 % 9).collect();
        let rows = RowView { offsets: &offsets, columns: &columns };
        for list in [vec![0, 1, 2, 3, 4, 5, 6, 7, 8], vec![8, 2, 7, 0], vec![6], vec![]] {
            let wanted = list.iter().flat_map(|v| rows.row(*v as usize)).copied();
            let wanted: Vec<u32> = wanted.collect();
            let mut gathered = vec![99; 3];
            rows.gather(&list, wanted.len(), &mut gathered);
            assert_eq!(gathered, wanted, "{list:?}");
        }
        for (v, length) in lengths.iter().enumerate() {
            let (begin, near_end) = (offsets[v] as usize, columns.len() < offsets[v] as usize + 4);
            let each = |arc: usize, u: usize| 0.1 * arc as f64 + 1.7 * u as f64;
            let sum =
                (begin..).zip(rows.row(v)).fold(0.0, |sum, (i, u)| sum + each(i, *u as usize));
            let wanted = (*length <= 4 && !near_end).then_some(sum);
            assert_eq!(rows.add_short(v, each), wanted, "row {v}");
        }
    }
}
