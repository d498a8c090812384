//! CUDA devices: contexts, memory, NVRTC, launches. All `unsafe` of the device side is here and in
//! `collective/`.

mod buffer;
mod cache;
mod device;
mod driver;
pub(crate) mod generate;
pub(crate) mod geo;
mod nvrtc;
mod pool;
mod probe;
mod sort;
pub(crate) mod sssp;

pub(crate) use buffer::footprint;
pub use buffer::{DeviceBuffer, Pinned};
pub(crate) use device::{Context, CudaDevice, EVENT_RING, Function, Launch, launch_on};
pub(crate) use driver::{check, ready};
pub use nvrtc::{KERNELS, KernelSource, compile};
pub use probe::{CudaProbe, Finding, probe};
pub(crate) use probe::{can_access, device_count, nccl_finding, nvrtc_finding};
