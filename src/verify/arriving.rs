//! What arrives at each node along arcs, added up on a GPU: the arguments of `kernels/verify/check_arriving.cu`.

use super::gpu::{Arcs, Gpu};
use crate::device::DeviceBuffer;
use crate::device::kernels::check_arriving::ArrivingArgs;
use crate::error::Result;
use bytemuck::Zeroable;

/// How sums over arcs are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Along {
    /// Over in-arcs, of a graph in which each arc has its reverse, of the same weight.
    Back,
    /// Over in-arcs of any graph.
    In,
    /// Over out-arcs.
    Out,
}

/// Queues adding to `sums` (`[nodes]`) the `values` (`[nodes]`; 1 where they are not there) that arrive along arcs, by their
/// weights or not.
pub(super) fn arriving(
    gpu: &Gpu,
    arcs: &Arcs<'_>,
    along: Along,
    weighted: bool,
    values: Option<&DeviceBuffer<f64>>,
    sums: &DeviceBuffer<f64>,
) -> Result<()> {
    let name = if along == Along::In { "check_arriving_push" } else { "check_arriving_pull" };
    let kernel = gpu.function("check_arriving.cu", name)?;
    let args = ArrivingArgs {
        values: values.map_or(0, DeviceBuffer::pointer),
        sums: sums.pointer(),
        weighted: u32::from(weighted),
        ..ArrivingArgs::zeroed()
    };
    arcs.each(|rows| gpu.over_arcs(kernel, rows, &ArrivingArgs { rows: *rows, ..args }))
}

/// The same of values times [`SCALE`](crate::device::kernels::check_arriving::SCALE), rounded to f32, along arcs that all weigh 1.
pub(super) fn arriving_rounded(
    gpu: &Gpu,
    arcs: &Arcs<'_>,
    along: Along,
    rounded: &DeviceBuffer<f32>,
    sums: &DeviceBuffer<f64>,
) -> Result<()> {
    let pulls = along != Along::In;
    let name = if pulls { "check_arriving_pull_rounded" } else { "check_arriving_push_rounded" };
    let kernel = gpu.function("check_arriving.cu", name)?;
    let args =
        ArrivingArgs { rounded: rounded.pointer(), sums: sums.pointer(), ..ArrivingArgs::zeroed() };
    arcs.each(|rows| gpu.over_arcs(kernel, rows, &ArrivingArgs { rows: *rows, ..args }))
}
