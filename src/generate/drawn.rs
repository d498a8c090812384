//! R-MAT graphs whose arcs are nowhere: every GPU draws those that it needs, when it needs them. A graph that is laid out over
//! several GPUs is so never whole anywhere.

use super::dealt;
use super::giant_cuda::{giant_of_edges, load_giant};
use super::kept::{DeviceArcs, Kept};
use super::on_device::MadeGraph;
use super::passes::Pass;
use super::rmat::Rmat;
use super::rmat_cuda::{RmatKernels, Work};
use super::{DeviceTimes, PassLimits};
use crate::device::{CudaDevice, DeviceBuffer, DeviceCsr, Sorter};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet, Replica};
use crate::graph::{Graph, milliseconds};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A graph that is drawn.
pub(crate) struct Drawn {
    pub(super) rmat: Rmat,
    arcs: u64,
    /// By rank: offsets by node, and no arcs.
    rows: Vec<Mutex<Option<Arc<DeviceCsr>>>>,
}

/// The kernels that draw.
pub(crate) struct DrawKernels(RmatKernels);

impl DrawKernels {
    pub fn load(device: &mut CudaDevice) -> Result<DrawKernels> {
        RmatKernels::load(device).map(DrawKernels)
    }
}

/// The graph that `spec` describes: an R-MAT graph whose rows are drawn by the GPUs of `fleet` when they lay them out. Each
/// counts the arcs of its share of the nodes first. The graph has no weights.
///
/// # Errors
/// [`Error::Input`] for a bad `spec`, another generator or a fleet of the host; [`Error::Machine`] when device memory does not
/// suffice, after which the fleet cannot be used.
pub(crate) fn drawn(fleet: &Fleet, spec: &str, limits: PassLimits) -> Result<(Graph, Arc<Kept>)> {
    let rmat = super::on_device::parsed(fleet, spec)?;
    let start = Instant::now();
    // At least half of the arcs are distinct at the edge factors that need several GPUs.
    refuse_more(fleet, spec, 1u64 << rmat.scale, rmat.edges())?;
    let counted = fleet.run(move |r| {
        // A compiler shows no signs of life, so it comes before the first of them is due.
        let kernels = RmatKernels::load(r.device_mut()?)?;
        load_giant(r.device_mut()?)?;
        r.begin(0, "generate")?;
        let (rows, _) = dealt::rows(r, &kernels, (&rmat, false, false), &limits)?;
        let giant = match (r.rank(), &mut r.backend) {
            (0, Backend::Cuda(device)) => Some(giant_of_edges(device, &rows, &rmat)?),
            _ => None,
        };
        Ok((rows, giant))
    })?;
    let giant = counted.first().and_then(|(_, giant)| *giant);
    let rows: Vec<Arc<DeviceCsr>> = counted.into_iter().map(|(rows, _)| Arc::new(rows)).collect();
    let nothing = || Error::machine("a fleet of no replica; this is a bug");
    let first = rows.first().cloned().ok_or_else(nothing)?;
    refuse_more(fleet, spec, first.nodes, first.arcs)?;
    let rows = rows.into_iter().map(|rows| Mutex::new(Some(rows))).collect();
    let kept = Kept::again(DeviceArcs::Drawn(Arc::new(Drawn { rmat, arcs: first.arcs, rows })));
    MadeGraph { rows: &first, spec, rmat: &rmat, weighted: false, giant, ms: milliseconds(start) }
        .with(kept)
}

/// Refuses a graph whose columns and labels do not fit the GPUs of `fleet`, each of which has a share of the former.
fn refuse_more(fleet: &Fleet, spec: &str, nodes: u64, arcs: u64) -> Result<()> {
    let needs = 4 * (arcs / fleet.world() as u64 + 2 * nodes);
    for gpu in &fleet.info().devices {
        let has = gpu.memory_bytes.min(fleet.info().memory_limit.unwrap_or(u64::MAX));
        if needs > has {
            return Err(Error::machine(format!(
                "generator `{spec}`: each of {} GPUs needs {needs} bytes for its share of the arcs, and {} has {has}; use more \
                 GPUs, or a smaller graph",
                fleet.world(),
                gpu.device
            )));
        }
    }
    Ok(())
}

impl Drawn {
    /// Bits of the number of a node, or of a label, in a key.
    pub fn id_bits(&self) -> u32 {
        self.rmat.scale
    }

    /// Whether `device` has the offsets of a replica.
    pub fn has_rows(&self, device: &CudaDevice) -> bool {
        let here = |rows: &DeviceCsr| rows.offsets.is_on(&device.context);
        self.rows.iter().any(|rows| locked(rows).as_deref().is_some_and(here))
    }

    /// Offsets by node on the GPU of this replica, and no arcs; those of `graph`, if they were let go.
    pub fn rows(&self, r: &Replica, graph: &Graph) -> Result<Arc<DeviceCsr>> {
        let lost = || Error::machine("a graph that was drawn for another fleet; this is a bug");
        let mut rows = locked(self.rows.get(r.rank()).ok_or_else(lost)?);
        if let Some(rows) = &*rows {
            return Ok(rows.clone());
        }
        let device = r.device()?;
        let offsets = device.alloc("row offsets", graph.nodes() + 1)?;
        offsets.upload(graph.offsets())?;
        let columns = device.alloc("columns", 0)?;
        let (nodes, arcs) = (graph.nodes() as u64, self.arcs);
        Ok(rows
            .insert(Arc::new(DeviceCsr { offsets, columns, weights: None, nodes, arcs }))
            .clone())
    }

    /// The nodes in ranges with at most `keys` drawn arcs each, where rows allow that, and how many are drawn for each range.
    pub fn parts(&self, r: &mut Replica, keys: u64) -> Result<Vec<(Range<u32>, u64)>> {
        let (kernels, limits) = (RmatKernels::load(r.device_mut()?)?, PassLimits::default());
        let work = Work::new(r.device()?, &kernels, (&self.rmat, false), &limits);
        let passes = work.all_passes(keys)?.into_iter();
        Ok(passes.map(|pass| (pass.first_row..pass.first_row + pass.rows, pass.arcs)).collect())
    }

    /// The columns of these rows of nodes, for which so many arcs are `drawn`, to the front of `columns`; how many they are.
    pub fn columns(
        &self,
        r: &mut Replica,
        rows: Range<u32>,
        drawn: u64,
        columns: &DeviceBuffer<u32>,
    ) -> Result<u64> {
        let (kernels, limits) = (RmatKernels::load(r.device_mut()?)?, PassLimits::default());
        let device = r.device()?;
        let work = Work::new(device, &kernels, (&self.rmat, false), &limits);
        let pass = Pass { first_row: rows.start, rows: rows.end - rows.start, arcs: drawn };
        let mut sorter = Sorter::new(device, kernels.sort, drawn)?;
        let cursor = device.alloc::<u64>("cursor", 1)?;
        let found = work.keys(&pass, None, &mut sorter, &cursor, &mut DeviceTimes::default())?;
        if found > columns.len() as u64 {
            let held = columns.len();
            return Err(Error::machine(format!("{found} arcs in room for {held}; this is a bug")));
        }
        work.columns(&pass, &sorter, found, columns)?;
        Ok(found)
    }

    /// Lets go of offsets.
    pub(super) fn release(&self) {
        self.rows.iter().for_each(|rows| drop(locked(rows).take()));
    }

    /// How many arcs are drawn with a row in each of these ranges of labels, which follow one another; repeated arcs count.
    pub fn count(
        &self,
        device: &CudaDevice,
        DrawKernels(kernels): &DrawKernels,
        labels: Option<&DeviceBuffer<u32>>,
        ranges: &[Range<usize>],
    ) -> Result<Vec<u64>> {
        let limits = PassLimits::default();
        Work::new(device, kernels, (&self.rmat, false), &limits).count_ranges(labels, ranges)
    }

    /// Draws the arcs of these rows, labels if there are any, and leaves the distinct ones sorted as the first keys of `sorter`:
    /// (row - first row, column). There are `drawn` of them with repeated ones, and `distinct` ones.
    pub fn draw(
        &self,
        device: &CudaDevice,
        DrawKernels(kernels): &DrawKernels,
        labels: Option<&DeviceBuffer<u32>>,
        rows: Range<u32>,
        (drawn, distinct): (u64, u64),
        sorter: &mut Sorter,
    ) -> Result<()> {
        let limits = PassLimits::default();
        let work = Work::new(device, kernels, (&self.rmat, false), &limits);
        let pass = Pass { first_row: rows.start, rows: rows.end - rows.start, arcs: drawn };
        let cursor = device.alloc::<u64>("cursor", 1)?;
        let found = work.keys(&pass, labels, sorter, &cursor, &mut DeviceTimes::default())?;
        if found == distinct {
            return Ok(());
        }
        Err(Error::machine(format!(
            "{}: {found} distinct arcs were drawn for rows {rows:?}, and {distinct} had been counted; this is a bug",
            device.info.device
        )))
    }
}

fn locked(
    rows: &Mutex<Option<Arc<DeviceCsr>>>,
) -> std::sync::MutexGuard<'_, Option<Arc<DeviceCsr>>> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}
