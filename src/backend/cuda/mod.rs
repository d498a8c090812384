//! CUDA devices: contexts, memory, NVRTC, launches. All `unsafe` of the device side is here and in
//! `collective/`.

pub(crate) mod bc;
mod buffer;
mod cache;
mod device;
mod driver;
pub(crate) mod generate;
pub(crate) mod geo;
mod lambda;
mod nvrtc;
mod placed;
mod pool;
mod probe;
mod recording;
mod shared;
mod sort;
pub(crate) mod sssp;
mod vmm;

pub(crate) use buffer::footprint;
pub use buffer::{DeviceBuffer, Pinned};
pub(crate) use device::{
    Context, CudaDevice, EVENT_RING, Function, Launch, MEETING_WORDS, fewer, launch_on,
};
pub(crate) use driver::{check, ready};
pub(crate) use lambda::{LANES, nvtx};
pub use nvrtc::{KERNELS, KernelSource, compile};
pub(crate) use nvrtc::{Unit, compile_unit, source};
pub(crate) use placed::Placed;
pub(crate) use pool::Account;
pub use probe::{CudaProbe, Finding, probe};
pub(crate) use probe::{can_access, device_count, nccl_finding, nvrtc_finding};
pub(crate) use recording::Recording;
pub(crate) use shared::{Claimed, Hold, Managed, Part};
pub(crate) use vmm::{GRANULE, Mapped, Memory, Reservation, granules};
