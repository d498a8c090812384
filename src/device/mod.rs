//! CUDA devices: contexts, memory, NVRTC, launches. All `unsafe` calls of the driver are here and in
//! `collective/`.

mod buffer;
mod cache;
mod chain;
mod context;
mod csr;
mod cuda_device;
mod driver;
mod held;
mod ipc;
pub(crate) mod kernels;
mod lambda;
mod launch;
mod library;
mod models;
mod nccl;
mod nvrtc;
mod pool;
mod probe;
mod recording;
mod ring;
mod shared;
mod side;
mod sort;
mod vmm;

pub(crate) use buffer::footprint;
pub use buffer::{DeviceBuffer, Pinned};
pub(crate) use context::{Context, Stream};
pub(crate) use csr::DeviceCsr;
pub(crate) use cuda_device::{CudaDevice, EVENT_RING, MEETING_WORDS, Watch, endless};
pub(crate) use driver::{check, ready};
pub(crate) use ipc::{Block, Borrowed};
pub(crate) use lambda::{ArrayAddress, DIVIDES, LANES, Loaded, bad_index, nvtx};
pub(crate) use launch::{Function, Launch, launch_on};
pub use models::Pretend;
pub(crate) use nccl::{Nccl, nccl, nccl_finding};
pub use nvrtc::{KERNELS, KernelSource, compile};
pub(crate) use nvrtc::{Unit, check_unit, compile_ahead, nvrtc_finding, source};
pub(crate) use pool::{Account, room, stay_lent, take_back};
pub use probe::{CudaProbe, DeviceInfo, Finding, probe};
pub(crate) use probe::{can_access, can_do_atomics, device_count, gpu_uuid};
pub(crate) use recording::Recording;
pub(crate) use shared::{Claimed, Hold, Managed, Part};
pub(crate) use side::Side;
pub(crate) use sort::{MAX_KEYS, SortKernels, Sorter};
pub(crate) use vmm::{Descriptor, GRANULE, Mapped, Memory, Reservation, granules, reaches_all};
