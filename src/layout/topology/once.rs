//! Rows without parallel arcs, made on a GPU from those that have them: the arguments of `kernels/once.cu`.

use super::{Columns, TopologyRows, nothing, placed};
use crate::device::kernels::once::{DifferArgs, OnceArgs};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{CudaDevice, DeviceBuffer, Function, room, source};
use crate::error::Result;
use crate::fleet::{Fleet, Placed, Replica};
use crate::graph::milliseconds;
use crate::layout::on_device::{MadeRows, RESERVE, Sums, all, launch};
use crate::layout::rows::{Copies, DeviceGraph, DeviceRows, is_wide};
use crate::layout::{Placement, PrepareOptions};
use bytemuck::Zeroable;
use std::sync::Arc;
use std::time::Instant;

/// What a GPU made.
struct Made {
    out: MadeRows,
    into: Option<MadeRows>,
    ms: f64,
    compile_ms: f64,
}

/// `rows` without parallel arcs, which there are, on the GPU of every replica; `None` where `rows` were not made there, or a GPU
/// has no room.
pub(super) fn made(
    fleet: &Fleet,
    rows: &Arc<TopologyRows>,
    options: PrepareOptions,
) -> Result<Option<TopologyRows>> {
    if !rows.report.on_devices || options.placement == Placement::Sharded {
        return Ok(None);
    }
    let shared = rows.clone();
    let made = fleet.run(move |r| make(r, &shared))?;
    let Some(made) = made.into_iter().collect::<Option<Vec<Made>>>() else { return Ok(None) };
    let slowest = |ms: fn(&Made) -> f64| made.iter().map(ms).fold(0.0, f64::max);
    let (ms, compile_ms) = (slowest(|made| made.ms), slowest(|made| made.compile_ms));
    let all = &*rows.columns;
    let (mut columns, mut devices) = (None, Vec::new());
    for Made { out, into, .. } in made {
        let wide = is_wide(out.offsets.last().copied().unwrap_or(0));
        let (out, device_out) = placed(out);
        let (into, device_into) = into.map(placed).unzip();
        columns.get_or_insert_with(|| Columns {
            out,
            into,
            labels: all.labels.clone(),
            has_repeats: Some(false),
            ms: all.ms + ms,
            ..*all
        });
        devices.push(Some(DeviceGraph { out: device_out, into: device_into, wide }));
    }
    let columns = Arc::new(columns.ok_or_else(nothing)?);
    let mut once =
        TopologyRows::of(fleet, rows.graph.clone(), columns, options, Copies::new(fleet, devices));
    once.report.upload_ms = rows.report.upload_ms;
    once.report.compile_ms = rows.report.compile_ms + compile_ms;
    once.report.on_devices = true;
    Ok(Some(once))
}

/// A meeting.
fn make(r: &mut Replica, rows: &TopologyRows) -> Result<Option<Made>> {
    r.meet_as(0);
    let graph = rows.on_device(r.rank())?;
    let kernels = Kernels::load(r.device_mut()?, &graph.options())?;
    let compile_ms = std::mem::take(&mut r.device_mut()?.compile_ms);
    r.barrier("memory for rows without parallel arcs")?;
    let device = r.device()?;
    let (arcs, active) = (rows.columns.out.arcs(), rows.columns.active as u64);
    // Columns, offsets as they are made and as kernels read them; bits and counts of one direction.
    let directions = 1 + u64::from(graph.into.is_some());
    let needed = directions * (4 * arcs + 16 * (active + 1)) + arcs / 8 + arcs / 64 + RESERVE;
    let fits = needed <= room(&device.context)? / u64::from(device.sharers);
    if !all(r, fits)? {
        return Ok(None);
    }
    let (device, begin) = (r.device()?, Instant::now());
    let work = Work { device, kernels, active, arcs };
    let (out, out_offsets) = work.rows(&graph.out)?;
    let into = graph.into.as_ref().map(|rows| work.rows(rows)).transpose()?;
    let into = match into {
        Some((into, offsets)) => {
            let same = work.same(&out_offsets, &offsets)? && work.same_arcs(&out, &into)?;
            (!same).then_some(into)
        }
        None => None,
    };
    device.wait()?;
    device.release_kept();
    Ok(Some(Made { out, into, ms: milliseconds(begin), compile_ms }))
}

/// The loaded kernels.
struct Kernels {
    heads: Function,
    keep: Function,
    offsets: Function,
    columns: Function,
    differ: Function,
    sums: Sums,
}

impl Kernels {
    fn load(device: &mut CudaDevice, options: &[String]) -> Result<Kernels> {
        let sums = Sums::load(device)?;
        let mut load = |name| device.function(source("once.cu"), options, name);
        Ok(Kernels {
            heads: load("once_heads")?,
            keep: load("once_keep")?,
            offsets: load("once_offsets")?,
            columns: load("once_columns")?,
            differ: load("once_differ")?,
            sums,
        })
    }
}

struct Work<'a> {
    device: &'a CudaDevice,
    kernels: Kernels,
    active: u64,
    /// Of one direction.
    arcs: u64,
}

impl Work<'_> {
    /// Rows without parallel arcs, and their offsets on the device.
    fn rows(&self, rows: &DeviceRows) -> Result<(MadeRows, DeviceBuffer<u64>)> {
        let (device, kernels, arcs) = (self.device, &self.kernels, self.arcs);
        let bits = device.alloc::<u32>("arcs that are kept", arcs.div_ceil(32) as usize)?;
        let tiles = arcs.div_ceil(TILE.into());
        let counts = device.alloc::<u64>("kept arcs of tiles", tiles as usize)?;
        let new_offsets = device.alloc::<u64>("row offsets", self.active as usize + 1)?;
        let args = OnceArgs {
            offsets: rows.offsets.pointer(),
            columns: rows.columns.pointer(),
            bits: bits.pointer(),
            counts: counts.pointer(),
            new_offsets: new_offsets.pointer(),
            arcs,
            rows: self.active as u32,
            ..OnceArgs::zeroed()
        };
        launch(device, kernels.heads, self.active, THREADS, &args)?;
        launch(device, kernels.keep, arcs, TILE, &args)?;
        let before = kernels.sums.prefix(device, &counts)?;
        let args = OnceArgs { before: before.pointer(), ..args };
        launch(device, kernels.offsets, self.active + 1, THREADS, &args)?;
        let offsets = Arc::new(new_offsets.to_vec()?);
        let kept = offsets[self.active as usize];
        let new_columns = device.alloc::<u32>("columns", kept as usize)?;
        let args = OnceArgs { new_columns: new_columns.pointer(), ..args };
        launch(device, kernels.columns, arcs, TILE, &args)?;
        let device_offsets = kernels.sums.words(device, &new_offsets, kept)?;
        // The kernels that read scratch arrays.
        device.wait()?;
        let made = MadeRows { offsets, device_offsets, arcs: new_columns.into(), repeats: 0 };
        Ok((made, new_offsets))
    }

    /// Whether rows of the same lengths are equal.
    fn same_arcs(&self, one: &MadeRows, other: &MadeRows) -> Result<bool> {
        match (&one.arcs, &other.arcs) {
            (Placed::Own(one), Placed::Own(other)) => self.same(one, other),
            _ => Ok(false),
        }
    }

    /// Whether two arrays are equal.
    fn same<T: bytemuck::Pod>(
        &self,
        one: &DeviceBuffer<T>,
        other: &DeviceBuffer<T>,
    ) -> Result<bool> {
        if one.len() != other.len() {
            return Ok(false);
        }
        let differ = self.device.alloc::<u64>("whether rows differ", 1)?;
        let (one, other, words) =
            (one.pointer(), other.pointer(), (one.len() * size_of::<T>() / 4) as u64);
        let args = DifferArgs { one, other, differ: differ.pointer(), words };
        launch(self.device, self.kernels.differ, words, THREADS, &args)?;
        Ok(differ.element(0)? == 0)
    }
}
