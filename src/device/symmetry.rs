//! Whether every arc of a graph in a GPU's memory has its reverse: the arguments of `kernels/symmetry.cu`.

use super::buffer::DeviceBuffer;
use super::csr::DeviceCsr;
use super::cuda_device::CudaDevice;
use super::kernels::rows::{THREADS, TILE};
use super::kernels::symmetry::SymmetryArgs;
use super::launch::{Function, Launch};
use super::nvrtc::source;
use crate::error::Result;

/// The loaded kernel.
#[derive(Clone, Copy)]
pub(crate) struct SymmetryKernel(Function);

impl SymmetryKernel {
    pub fn load(device: &mut CudaDevice) -> Result<SymmetryKernel> {
        device.function(source("symmetry.cu"), &[], "symmetry_sums").map(SymmetryKernel)
    }

    /// Whether every arc has its reverse of the same weight, and of any weight. Waits.
    pub fn look(self, device: &CudaDevice, csr: &DeviceCsr) -> Result<[bool; 2]> {
        let sums = device.alloc::<u64>("fingerprints", 2)?;
        let args = SymmetryArgs {
            offsets: csr.offsets.pointer(),
            columns: csr.columns.pointer(),
            // Those of pairs are the same both ways.
            weights: csr.weights.as_ref().map_or(0, DeviceBuffer::pointer),
            sums: sums.pointer(),
            nodes: csr.nodes,
            arcs: csr.arcs,
        };
        let most = u64::from(device.filling());
        let blocks = csr.arcs.div_ceil(TILE.into()).clamp(1, most) as u32;
        device.launch(self.0, Launch::of(device.blocks(blocks), THREADS), &args)?;
        device.wait()?;
        Ok([sums.element(0)? == 0, sums.element(1)? == 0])
    }
}
