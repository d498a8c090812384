//! The graph's arcs on every GPU: each GPU brings a slice over its own link, from the host or from the GPU that has them, and
//! GPUs complete each other. Or the arcs are nowhere, and GPUs draw the rows that they lay out.

use super::all;
use crate::collective::{Element, SLICE_ALIGN, Split};
use crate::device::{CudaDevice, DeviceBuffer, DeviceCsr};
use crate::error::Result;
use crate::fleet::Replica;
use crate::generate::{DeviceArcs, DrawKernels, Drawn};
use crate::graph::Graph;
use std::sync::Arc;

/// Elements from which an array is brought in slices: to complete a shorter one takes longer than to bring it whole.
const WORTH_SLICING: usize = if cfg!(test) { 1 } else { 1 << 20 };

/// What rows are made from.
pub(super) struct InputArcs {
    /// The graph's rows; of a graph that is drawn, offsets alone.
    pub csr: Arc<DeviceCsr>,
    pub drawn: Option<(Arc<Drawn>, DrawKernels)>,
}

impl InputArcs {
    /// The arcs of `graph`, with weights or without; `kept` says where they are, if not on the host. A meeting.
    pub fn new(
        r: &mut Replica,
        graph: &Graph,
        kept: Option<&DeviceArcs>,
        weights: bool,
    ) -> Result<InputArcs> {
        let rows = match kept {
            Some(DeviceArcs::Drawn(drawn)) => {
                let kernels = DrawKernels::load(r.device_mut()?)?;
                let csr = drawn.rows(r, graph)?;
                return Ok(InputArcs { csr, drawn: Some((drawn.clone(), kernels)) });
            }
            Some(DeviceArcs::Rows(rows)) => rows.as_slice(),
            None => &[],
        };
        let here = on(r.device()?, rows).cloned();
        let everywhere = all(r, here.is_some())?;
        let csr = match here.as_ref().filter(|_| everywhere) {
            Some(here) => here.clone(),
            None => brought(r, graph, rows.first(), here, weights)?,
        };
        Ok(InputArcs { csr, drawn: None })
    }

    /// Bytes that the arcs of `graph` take on `device`, and of these those that are taken already.
    pub fn bytes(
        device: &CudaDevice,
        graph: &Graph,
        kept: Option<&DeviceArcs>,
        weights: bool,
    ) -> [u64; 2] {
        let offsets = 8 * (graph.nodes() as u64 + 1);
        let pairs = kept.is_some_and(DeviceArcs::has_pairs);
        let arcs = graph.arcs() * if weights && !pairs { 8 } else { 4 };
        match kept {
            Some(DeviceArcs::Drawn(drawn)) => {
                [offsets, if drawn.has_rows(device) { offsets } else { 0 }]
            }
            Some(DeviceArcs::Rows(rows)) if on(device, rows).is_some() => {
                [offsets + arcs, offsets + arcs]
            }
            _ => [offsets + arcs, 0],
        }
    }
}

/// Those rows that are on `device`.
fn on<'a>(device: &CudaDevice, rows: &'a [Arc<DeviceCsr>]) -> Option<&'a Arc<DeviceCsr>> {
    rows.iter().find(|rows| rows.columns.is_on(&device.context))
}

/// The graph's rows on this GPU: `here` if it has them, else a copy. `rows` are those of the GPU that has them, if one does.
fn brought(
    r: &mut Replica,
    graph: &Graph,
    rows: Option<&Arc<DeviceCsr>>,
    here: Option<Arc<DeviceCsr>>,
    weights: bool,
) -> Result<Arc<DeviceCsr>> {
    let (nodes, arcs) = (graph.nodes(), graph.arcs() as usize);
    let own = here.as_deref();
    let (from, host) = (rows.map(|rows| &rows.offsets), || graph.offsets());
    let offsets = array(r, "row offsets", nodes + 1, from, own.map(|own| &own.offsets), host)?;
    let (from, host) = (rows.map(|rows| &rows.columns), || graph.columns());
    let columns = array(r, "columns", arcs, from, own.map(|own| &own.columns), host)?;
    let pair_key = rows.and_then(|rows| rows.pair_key).filter(|_| weights);
    let weights = match weights && pair_key.is_none() {
        true => {
            let from = rows.and_then(|rows| rows.weights.as_ref());
            let own = own.and_then(|own| own.weights.as_ref());
            array(r, "weights", arcs, from, own, || graph.weights().unwrap_or_default())?
        }
        false => None,
    };
    if let Some(here) = here {
        return Ok(here);
    }
    let nothing = || crate::Error::machine("rows that nobody brought; this is a bug");
    Ok(Arc::new(DeviceCsr {
        offsets: offsets.ok_or_else(nothing)?,
        columns: columns.ok_or_else(nothing)?,
        weights,
        pair_key,
        nodes: nodes as u64,
        arcs: arcs as u64,
    }))
}

/// A copy of `length` elements, which are in `from` on some GPU or else on the host; `None` where they are in `own` already.
fn array<'a, T: Element>(
    r: &mut Replica,
    label: &'static str,
    length: usize,
    from: Option<&DeviceBuffer<T>>,
    own: Option<&DeviceBuffer<T>>,
    host: impl FnOnce() -> &'a [T],
) -> Result<Option<DeviceBuffer<T>>> {
    let slices = Split::nodes(length as u64, r.world(), SLICE_ALIGN);
    let whole = r.world() == 1 || r.collective() == "host" || length < WORTH_SLICING;
    let slice = match whole {
        true => 0..length,
        false => {
            let slice = slices.range(r.rank());
            slice.start as usize..slice.end as usize
        }
    };
    let copy = match own {
        Some(_) => None,
        None => {
            let copy = r.device()?.alloc(label, length)?;
            match from {
                Some(from) => copy.copy_range(from, slice)?,
                None => copy.upload_at(slice.start, &host()[slice])?,
            }
            Some(copy)
        }
    };
    if let Some(buffer) = copy.as_ref().or(own).filter(|_| !whole) {
        r.gather_on_devices(label, buffer, &slices)?;
    }
    Ok(copy)
}
