//! Rows of columns on a device, a copy a replica or once over all GPUs.

use crate::collective::Split;
use crate::device::{CudaDevice, DeviceBuffer};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Placed, Replica, VmmArray};
use crate::graph::Graph;
use bytemuck::Pod;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// Whether offsets into so many arcs are 64-bit words on a device.
pub(super) fn is_wide(arcs: u64) -> bool {
    arcs >= u64::from(u32::MAX)
}

/// Rows in one direction on the host: `offsets: [rows + 1]`, `columns: [m]`, `weights: [m]`.
#[derive(Clone, Copy)]
pub(super) struct HostRows<'a> {
    pub offsets: &'a [u64],
    pub columns: &'a [u32],
    pub weights: Option<&'a [f32]>,
}

impl HostRows<'_> {
    /// Those of `graph`, with its weights if these are wanted.
    pub fn new(graph: &Graph, weights: bool) -> HostRows<'_> {
        let (offsets, columns) = (graph.offsets(), graph.columns());
        HostRows { offsets, columns, weights: graph.weights().filter(|_| weights) }
    }
}

/// The same on a device.
pub(crate) struct DeviceRows {
    /// u32 or u64 words, see [`DeviceGraph::wide`].
    pub offsets: DeviceBuffer<u32>,
    pub columns: Placed<u32>,
    pub weights: Option<Placed<f32>>,
}

impl DeviceRows {
    fn bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, Placed::bytes);
        self.offsets.len() as u64 * 4 + self.columns.bytes() + weights
    }

    pub(super) fn upload(
        r: &mut Replica,
        rows: HostRows<'_>,
        wide: bool,
        owners: Option<&Split>,
    ) -> Result<DeviceRows> {
        let words = rows.offsets.len() * if wide { 2 } else { 1 };
        let offsets = r.device()?.alloc::<u32>("row offsets", words)?;
        if wide {
            offsets.upload(bytemuck::cast_slice(rows.offsets))?;
        } else {
            let narrow: Vec<u32> = rows.offsets.par_iter().map(|o| *o as u32).collect();
            offsets.upload(&narrow)?;
        }
        let owners = owners.map(|owners| (owners, rows.offsets));
        let columns = place(r, "columns", rows.columns, owners)?;
        let weights = rows.weights.map(|weights| place(r, "weights", weights, owners));
        Ok(DeviceRows { offsets, columns, weights: weights.transpose()? })
    }
}

/// An array of arcs: a copy, or, where rows have owners, the own part of one over all GPUs.
fn place<T: Pod>(
    r: &mut Replica,
    label: &'static str,
    values: &[T],
    owners: Option<(&Split, &[u64])>,
) -> Result<Placed<T>> {
    let Some((owners, offsets)) = owners else {
        let buffer = r.device()?.alloc::<T>(label, values.len())?;
        buffer.upload(values)?;
        return Ok(buffer.into());
    };
    let ends = owners.bounds().iter().map(|row| offsets[*row as usize] * size_of::<T>() as u64);
    let array = VmmArray::new(r, label, &ends.collect::<Vec<_>>())?;
    array.upload_own(r, bytemuck::cast_slice(values))?;
    Ok(Placed::Sharded(Arc::new(array)))
}

/// A graph on a device.
pub(crate) struct DeviceGraph {
    pub out: DeviceRows,
    /// Rows backward, where these are others and are wanted.
    pub into: Option<DeviceRows>,
    /// Offsets are 64-bit words.
    pub wide: bool,
}

impl DeviceGraph {
    /// Uploads the rows of a graph. Where they have `owners`, this is a meeting, and all arcs are there on return.
    pub(super) fn upload(
        r: &mut Replica,
        out: HostRows<'_>,
        into: Option<HostRows<'_>>,
        owners: Option<[&Split; 2]>,
    ) -> Result<DeviceGraph> {
        let wide = is_wide(out.columns.len() as u64);
        let out = DeviceRows::upload(r, out, wide, owners.map(|o| o[0]))?;
        let into = into.map(|rows| DeviceRows::upload(r, rows, wide, owners.map(|o| o[1])));
        let into = into.transpose()?;
        match owners {
            Some(_) => r.barrier("arcs of all owners")?,
            None => r.device()?.wait()?,
        }
        Ok(DeviceGraph { out, into, wide })
    }

    /// Rows backward, of a graph that has them.
    pub fn in_rows(&self) -> &DeviceRows {
        self.into.as_ref().unwrap_or(&self.out)
    }

    /// The options that kernels over it are compiled with.
    pub fn options(&self) -> [String; 1] {
        [format!("-DHIVE_WIDE={}", u32::from(self.wide))]
    }
}

/// `[n]` labels of nodes on the GPU of the first replica of this process, which leaves answers there in the order of nodes. The
/// first of these makes it.
#[derive(Default)]
pub(crate) struct LabelsOnDevice(OnceLock<DeviceBuffer<u32>>);

impl LabelsOnDevice {
    /// Its address on `device`; 0 where labels are nodes.
    pub fn address(&self, device: &CudaDevice, label_of: Option<&[u32]>) -> Result<u64> {
        let Some(label_of) = label_of else { return Ok(0) };
        if let Some(there) = self.0.get() {
            return Ok(there.pointer());
        }
        let made = device.alloc::<u32>("labels of nodes", label_of.len())?;
        made.upload(label_of)?;
        Ok(self.0.get_or_init(|| made).pointer())
    }
}

/// How answers come from the order of labels into that of the graph's `nodes`.
pub(crate) struct ToNodes<'a> {
    pub nodes: usize,
    /// `[nodes]`, where labels are not nodes.
    pub label_of: Option<&'a [u32]>,
    /// The same on the GPU.
    pub on_device: &'a LabelsOnDevice,
}

/// What the replicas of this process hold on their devices; nothing on the host.
pub(crate) struct Copies<T> {
    /// The rank of the first of them.
    first: usize,
    of: Vec<Option<T>>,
}

impl<T> Default for Copies<T> {
    fn default() -> Copies<T> {
        Copies { first: 0, of: Vec::new() }
    }
}

impl<T> Copies<T> {
    /// What the replicas of `fleet` in this process have made.
    pub fn new(fleet: &Fleet, of: Vec<Option<T>>) -> Copies<T> {
        Copies { first: fleet.first_rank(), of }
    }

    /// What replica `rank` holds, if it is on a device.
    pub fn get(&self, rank: usize) -> Option<&T> {
        self.of.get(rank.checked_sub(self.first)?).and_then(Option::as_ref)
    }

    /// What replica `rank`, which is on a device, holds.
    pub fn on_device(&self, rank: usize) -> Result<&T> {
        let missing =
            || Error::machine(format!("replica {rank} has no device copy; this is a bug"));
        self.get(rank).ok_or_else(missing)
    }

    /// What is on devices.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.of.iter().flatten()
    }
}

impl Copies<DeviceGraph> {
    /// The most bytes that a replica holds, where there are devices.
    pub fn most_bytes(&self) -> Option<u64> {
        let bytes = |graph: &DeviceGraph| {
            graph.out.bytes() + graph.into.as_ref().map_or(0, DeviceRows::bytes)
        };
        self.iter().map(bytes).max()
    }
}
