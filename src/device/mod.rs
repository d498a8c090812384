//! CUDA devices: contexts, memory, NVRTC, launches. All `unsafe` of the device side is here and in
//! `collective/`.

mod buffer;
mod cache;
mod cuda_device;
mod driver;
pub(crate) mod kernels;
mod lambda;
mod nvrtc;
mod pool;
mod probe;
mod recording;
mod shared;
mod sort;
mod vmm;

pub(crate) use buffer::footprint;
pub use buffer::{DeviceBuffer, Pinned};
pub use cuda_device::DeviceInfo;
pub(crate) use cuda_device::{
    Context, CudaDevice, EVENT_RING, Function, Launch, MEETING_WORDS, Watch, launch_on,
};
pub(crate) use driver::{check, ready};
pub(crate) use lambda::{ArrayAddress, LANES, Loaded, bad_index, nvtx};
pub use nvrtc::{KERNELS, KernelSource, compile};
pub(crate) use nvrtc::{Unit, compile_unit, source};
pub(crate) use pool::{Account, room};
pub use probe::{CudaProbe, Finding, probe};
pub(crate) use probe::{can_access, device_count, nccl_finding, nvrtc_finding};
pub(crate) use recording::Recording;
pub(crate) use shared::{Claimed, Hold, Managed, Part};
pub(crate) use sort::{MAX_KEYS, SortKernels, Sorter};
pub(crate) use vmm::{GRANULE, Mapped, Memory, Reservation, granules};
