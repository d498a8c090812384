//! R-MAT graphs whose arcs are nowhere: every GPU draws those that it needs, when it needs them. A graph that is laid out over
//! several GPUs is so never whole anywhere.

use super::passes::Pass;
use super::rmat::Rmat;
use super::rmat_cuda::{RmatKernels, Work};
use super::{DeviceTimes, PassLimits};
use crate::device::{CudaDevice, DeviceBuffer, DeviceCsr, Sorter};
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::graph::Graph;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

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

impl Drawn {
    /// The graph that `rmat` draws, with these offsets, by rank.
    pub(super) fn new(rmat: Rmat, arcs: u64, rows: Vec<Arc<DeviceCsr>>) -> Drawn {
        let rows = rows.into_iter().map(|rows| Mutex::new(Some(rows))).collect();
        Drawn { rmat, arcs, rows }
    }

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
        let mut rows = locked(self.rows.get(r.local().0).ok_or_else(lost)?);
        if let Some(rows) = &*rows {
            return Ok(rows.clone());
        }
        let device = r.device()?;
        let offsets = device.alloc("row offsets", graph.nodes() + 1)?;
        offsets.upload(graph.offsets())?;
        let columns = device.alloc("columns", 0)?;
        let (nodes, arcs) = (graph.nodes() as u64, self.arcs);
        Ok(rows
            .insert(Arc::new(DeviceCsr {
                offsets,
                columns,
                weights: None,
                pair_key: None,
                nodes,
                arcs,
            }))
            .clone())
    }

    /// The nodes in ranges with at most `keys` drawn arcs each, where rows allow that, and how many are drawn for each range.
    pub fn parts(&self, r: &mut Replica, keys: u64) -> Result<Vec<(Range<u32>, u64)>> {
        let (kernels, limits) = (RmatKernels::load(r.device_mut()?)?, PassLimits::default());
        let work = Work::new(r.device()?, &kernels, &self.rmat, &limits);
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
        let work = Work::new(device, &kernels, &self.rmat, &limits);
        let pass = Pass { first_row: rows.start, rows: rows.end - rows.start, arcs: drawn };
        let mut sorter = Sorter::new(device, kernels.sort, drawn)?;
        let cursor = device.alloc::<u64>("cursor", 1)?;
        let found = work.keys(&pass, None, &mut sorter, &cursor, &mut DeviceTimes::default())?;
        if found > columns.len() as u64 {
            let held = columns.len();
            return Err(Error::machine(format!("{found} arcs in room for {held}; this is a bug")));
        }
        work.columns(&sorter, found, columns)?;
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
        Work::new(device, kernels, &self.rmat, &limits).count_ranges(labels, ranges)
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
        let work = Work::new(device, kernels, &self.rmat, &limits);
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
