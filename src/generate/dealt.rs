//! R-MAT graphs of which every GPU makes the rows of some nodes. Each draws all edges and keeps what it needs; the parts are then
//! exchanged.

use super::rmat::Rmat;
use super::rmat_cuda::{RmatKernels, Work};
use super::{DeviceReport, PassLimits};
use crate::collective::{Element, Split};
use crate::device::{DeviceBuffer, DeviceCsr};
use crate::error::Result;
use crate::fleet::Replica;
use crate::graph::milliseconds;
use std::ops::Range;
use std::time::Instant;

/// The graph that `rmat` draws, on every GPU: with arcs, or offsets alone. A meeting of replicas whose kernels are loaded.
pub(super) fn rows(
    r: &mut Replica,
    kernels: &RmatKernels,
    (rmat, arcs): (&Rmat, bool),
    limits: &PassLimits,
) -> Result<(DeviceCsr, DeviceReport)> {
    let (rank, world, nodes) = (r.rank(), r.world(), 1u64 << rmat.scale);
    let start = Instant::now();
    let work = Work::new(r.device()?, kernels, rmat, limits);
    let (share, own, report) = work.build([rank, world], arcs)?;
    if world == 1 {
        return Ok((own, report));
    }
    let told = [own.arcs, report.drawn_arcs, report.max_degree, 0];
    let told = r.agree("arcs of all rows", told)?;
    let counts: Vec<u64> = told.iter().map(|payload| payload[0]).collect();
    let before: u64 = counts[..rank].iter().sum();
    let total: u64 = counts.iter().sum();
    // The end of the last row is the last replica's.
    let end = |end: u64| if end == nodes { end + 1 } else { end };
    let work = Work::new(r.device()?, kernels, rmat, limits);
    work.shift(&own.offsets, share.start..end(share.end), before)?;
    let ends = (0..world).map(|rank| end(work.share(rank, world).end));
    let mut last = 0;
    let lengths: Vec<u64> = ends.map(|end| end - std::mem::replace(&mut last, end)).collect();
    r.gather_on_devices("row offsets", &own.offsets, &Split::of_lengths(lengths))?;
    let split = Split::of_lengths(counts);
    let columns = match arcs {
        true => exchanged(r, "columns", own.columns, &split)?,
        false => own.columns,
    };
    r.barrier("arcs of all rows")?;
    let mut report = DeviceReport {
        drawn_arcs: told.iter().map(|payload| payload[1]).sum(),
        max_degree: told.iter().map(|payload| payload[2]).max().unwrap_or(0),
        ..report
    };
    report.times.total_ms = milliseconds(start);
    Ok((DeviceCsr { offsets: own.offsets, columns, arcs: total, ..own }, report))
}

/// The parts of all replicas, one after another; `own` has the own part in front.
fn exchanged<T: Element>(
    r: &mut Replica,
    label: &'static str,
    own: DeviceBuffer<T>,
    split: &Split,
) -> Result<DeviceBuffer<T>> {
    let total = split.bounds().last().copied().unwrap_or(0) as usize;
    let Range { start, end } = split.range(r.rank());
    let all = r.device()?.alloc::<T>(label, total)?;
    let to = all.pointer() + start * size_of::<T>() as u64;
    own.copy_to(to, 0..(end - start) as usize)?;
    r.gather_on_devices(label, &all, split)?;
    Ok(all)
}
