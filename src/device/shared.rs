//! Arrays that a whole fleet has once, in parts that replicas own, and a replica's hold on them.

use super::DeviceBuffer;
use super::context::{Context, Stream};
use super::cuda_device::CudaDevice;
use super::driver::older;
use super::pool::{self, Claim};
use super::vmm::{Mapped, reaches_all};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::ops::Range;
use std::sync::Arc;

/// Device memory that managed arrays leave free, so that the driver never has to move a page.
const RESERVE: u64 = 256 << 20;

/// Bytes that are copied between two signs of life.
const PIECE: usize = 64 << 20;

/// An owner's part.
pub(crate) enum Part {
    /// A block of the owner's own, which peers read and write directly.
    Block(DeviceBuffer<u8>),
    /// A piece of a range of addresses over all GPUs.
    Mapped(Mapped),
    /// A piece of managed memory.
    Managed(ManagedPart),
}

impl Part {
    /// A cleared block of `bytes` on `device`, for a fleet whose GPUs reach each other.
    pub fn block(device: &CudaDevice, label: &str, bytes: u64) -> Result<Part> {
        reaches_all(device, label)?;
        let block = device.alloc(label, bytes as usize)?;
        device.queued();
        device.wait()?;
        Ok(Part::Block(block))
    }

    /// A newly mapped part of the own memory, cleared.
    pub fn mapped(device: &CudaDevice, part: Mapped) -> Result<Part> {
        device.zero(part.at(), part.bytes())?;
        device.wait()?;
        Ok(Part::Mapped(part))
    }

    /// The address of its first byte.
    pub fn address(&self) -> u64 {
        match self {
            Part::Block(buffer) => buffer.pointer(),
            Part::Mapped(part) => part.at(),
            Part::Managed(part) => part.at,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Part::Block(buffer) => buffer.len() as u64,
            Part::Mapped(part) => part.bytes(),
            Part::Managed(part) => part.bytes,
        }
    }

    /// Lets kernels of `device` use the part.
    pub fn open_to(&self, device: &CudaDevice) -> Result<()> {
        match self {
            Part::Block(buffer) if buffer.context().handle != device.context.handle => {
                device.enable_peer(buffer.context())
            }
            _ => Ok(()),
        }
    }
}

/// Room on a GPU for its part of managed memory, booked before that is made.
pub(crate) struct Claimed {
    _claim: Claim,
}

impl Claimed {
    /// `own` bytes for this replica, `gpu` bytes for all replicas on its GPU.
    pub fn new(device: &CudaDevice, label: &str, own: u64, gpu: u64) -> Result<Claimed> {
        use sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS as MANAGED;
        if !device.can(MANAGED)? {
            return Err(Error::machine(format!(
                "{}: {label} cannot be managed memory: several GPUs cannot use it at once here; use the \
                 scheme peer or vmm",
                device.info.device
            )));
        }
        let claim = Claim::new(&device.context, label, own, true)?;
        let free = || -> Result<u64> { Ok(pool::driver_memory(&device.context)?.0) };
        if free()? < gpu + RESERVE {
            device.release_kept();
        }
        match free()? {
            free if free >= gpu + RESERVE => Ok(Claimed { _claim: claim }),
            free => Err(Error::machine(format!(
                "{}: managed memory is never oversubscribed: {label} needs {gpu} bytes here, {free} are \
                 free and {RESERVE} of them stay so; use more GPUs, or fewer elements",
                device.info.device
            ))),
        }
    }
}

/// Memory that the driver could move between GPUs and the host; it is advised to leave it where it is.
pub(crate) struct Managed {
    context: Arc<Context>,
    base: u64,
}

impl Managed {
    pub fn new(device: &CudaDevice, label: &str, bytes: u64) -> Result<Managed> {
        let (mut base, flags) = (0, sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32);
        // SAFETY: out-pointer to a local; the context is current. Every GPU has room for its part.
        let status = unsafe { sys::cuMemAllocManaged(&mut base, bytes as usize, flags) };
        device.check(&format!("cuMemAllocManaged of {bytes} bytes for {label}"), status)?;
        Ok(Managed { context: device.context.clone(), base })
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        let Some(_current) = self.context.enter_to_free() else { return };
        // SAFETY: allocated by `new`, freed once; each replica waited for its own work before it let go.
        unsafe { sys::cuMemFree_v2(self.base) };
    }
}

/// A part of managed memory that lies on its owner's GPU.
pub(crate) struct ManagedPart {
    _memory: Arc<Managed>,
    at: u64,
    bytes: u64,
    _claimed: Claimed,
}

impl Part {
    /// Moves `part` of `memory`, a range of bytes, to `device`, its owner, and clears it.
    pub fn managed(
        device: &CudaDevice,
        memory: &Arc<Managed>,
        part: Range<u64>,
        claimed: Claimed,
    ) -> Result<Part> {
        use sys::CUmem_advise::{
            CU_MEM_ADVISE_SET_ACCESSED_BY as ACCESSED_BY,
            CU_MEM_ADVISE_SET_PREFERRED_LOCATION as PREFERRED,
        };
        let (at, bytes) = (memory.base + part.start, part.end - part.start);
        let older = older()?;
        let handle = |gpu: u32| {
            let mut handle = 0;
            // SAFETY: out-pointer to a local.
            let status = unsafe { sys::cuDeviceGet(&mut handle, gpu as i32) };
            device.check("cuDeviceGet", status).map(|()| handle)
        };
        let advise = |what, gpu| {
            let gpu = handle(gpu)?;
            // SAFETY: a part of live managed memory.
            let status = unsafe { (older.cuMemAdvise)(at, bytes as usize, what, gpu) };
            device.check("cuMemAdvise", status)
        };
        if bytes > 0 {
            advise(PREFERRED, device.ordinal)?;
            // So that others read it there and do not move it.
            device.fleet.iter().try_for_each(|gpu| advise(ACCESSED_BY, *gpu))?;
            let here = handle(device.ordinal)?;
            let stream = device.stream().handle()?;
            // SAFETY: a part of live managed memory, and the device's own stream.
            device.check("cuMemPrefetchAsync", unsafe {
                (older.cuMemPrefetchAsync)(at, bytes as usize, here, stream)
            })?;
            device.zero(at, bytes)?;
        }
        device.wait()?;
        Ok(Part::Managed(ManagedPart { _memory: memory.clone(), at, bytes, _claimed: claimed }))
    }
}

/// One replica's hold on all parts, in the order of their owners. Memory is freed when the last hold ends, and a
/// hold ends only when its GPU has done all that was queued.
pub(crate) struct Hold {
    stream: Stream,
    parts: Vec<Arc<Part>>,
}

impl Hold {
    pub fn new(device: &CudaDevice, parts: Vec<Arc<Part>>) -> Hold {
        Hold { stream: device.stream().clone(), parts }
    }

    /// The address of each part.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        self.parts.iter().map(|part| part.address())
    }

    /// The address of byte `start` of a part that holds `bytes` from there on.
    fn place(&self, part: usize, start: u64, bytes: usize) -> Result<u64> {
        let holds = self.parts.get(part).map_or(0, |part| part.bytes());
        if start.checked_add(bytes as u64).is_none_or(|end| end > holds) {
            let what = format!("bytes {start} and {bytes} more of a part of {holds}; a bug");
            return Err(Error::machine(what));
        }
        Ok(self.parts[part].address() + start)
    }

    /// Copies `bytes` to byte `start` of a part; `beat` is called after each piece. It blocks.
    pub fn write(&self, part: usize, start: u64, bytes: &[u8], beat: &dyn Fn()) -> Result<()> {
        let to = self.place(part, start, bytes.len())?;
        let _current = self.stream.context().enter()?;
        let stream = self.stream.handle()?;
        for (piece, at) in bytes.chunks(PIECE).zip((to..).step_by(PIECE)) {
            let (from, length) = (piece.as_ptr().cast(), piece.len());
            // SAFETY: inside the part (`place`); the source has been consumed when the stream is drained.
            let status = unsafe { sys::cuMemcpyHtoDAsync_v2(at, from, length, stream) };
            self.stream.context().check("cuMemcpyHtoD", status)?;
            self.stream.drain()?;
            beat();
        }
        Ok(())
    }

    /// Copies out what is at byte `start` of a part. It blocks.
    pub fn read(&self, part: usize, start: u64, into: &mut [u8]) -> Result<()> {
        let from = self.place(part, start, into.len())?;
        let _current = self.stream.context().enter()?;
        let stream = self.stream.handle()?;
        for (piece, at) in into.chunks_mut(PIECE).zip((from..).step_by(PIECE)) {
            let to = piece.as_mut_ptr() as u64;
            // SAFETY: inside the part (`place`), as many bytes as the piece holds; addresses of host and
            // devices are one space. The stream is drained before the piece is used.
            let status = unsafe { sys::cuMemcpyAsync(to, at, piece.len(), stream) };
            self.stream.context().check("cuMemcpy", status)?;
            self.stream.drain()?;
        }
        Ok(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let done = self.stream.context().enter_to_free().is_some_and(|_current| {
            // SAFETY: the context is current. What this replica has queued, or held back, may use any part.
            let ended = || unsafe { sys::cuCtxSynchronize() == sys::CUresult::CUDA_SUCCESS };
            self.stream.handle().is_ok() && ended()
        });
        if !done {
            std::mem::forget(std::mem::take(&mut self.parts)); // leak: the GPU may still use them
        }
    }
}
