//! One range of addresses over all GPUs of a fleet: each part is in its owner's memory and mapped to the same address for
//! all of a process (CUDA's virtual memory management), so that kernels see a plain array. Processes have ranges of their own, into
//! which they map each other's memory.

use super::buffer::SPARE;
use super::check;
use super::context::Context;
use super::cuda_device::CudaDevice;
use super::pool::{self, Claim};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::sync::Arc;

/// An open file, by which processes hand each other memory.
#[cfg(unix)]
pub(crate) type Descriptor = std::os::fd::OwnedFd;
/// None on other systems.
#[cfg(not(unix))]
pub(crate) type Descriptor = std::convert::Infallible;

/// Memory is mapped in multiples of so many bytes.
pub(crate) const GRANULE: u64 = 2 << 20;

/// Bounds of the owners' parts, in whole granules, of an array of `bytes` whose owners' elements end at
/// `bounds` (`[owners + 1]`, bytes). A granule that straddles belongs to the owner of its first byte.
pub(crate) fn granules(bounds: &[u64], bytes: u64) -> Vec<u64> {
    let total = (bytes + SPARE as u64).next_multiple_of(GRANULE);
    let last = bounds.len() - 1;
    let bound = |(i, bound): (usize, &u64)| match i {
        0 => 0,
        _ if i == last => total,
        _ => bound.next_multiple_of(GRANULE),
    };
    bounds.iter().enumerate().map(bound).collect()
}

/// A range of addresses that parts are mapped to.
pub(crate) struct Reservation {
    base: u64,
    bytes: u64,
}

impl Reservation {
    /// For `bytes`, a multiple of [`GRANULE`].
    pub fn new(device: &CudaDevice, label: &str, bytes: u64) -> Result<Reservation> {
        let mut base = 0;
        // SAFETY: out-pointer to a local; the address is free to choose.
        let status = unsafe { sys::cuMemAddressReserve(&mut base, bytes as usize, 0, 0, 0) };
        device.check(&format!("cuMemAddressReserve of {bytes} bytes for {label}"), status)?;
        Ok(Reservation { base, bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: reserved by `new`, freed once; every mapped part holds the reservation, so none is left.
        unsafe { sys::cuMemAddressFree(self.base, self.bytes as usize) };
    }
}

fn location(gpu: u32) -> sys::CUmemLocation {
    let type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    sys::CUmemLocation { type_, id: gpu as i32 }
}

/// What other processes take memory by.
const FILE: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType_enum::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// The properties of plain memory of this GPU, which other processes may map if it is `lent`.
fn memory_of(gpu: u32, lent: bool) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: if lent { FILE } else { sys::CUmemAllocationHandleType_enum(0) },
        location: location(gpu),
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

/// Memory of one GPU that has no address yet.
pub(crate) struct Memory {
    context: Arc<Context>,
    handle: sys::CUmemGenericAllocationHandle,
    bytes: u64,
    /// None where it is another process's.
    _claim: Option<Claim>,
}

impl Memory {
    /// `bytes` of `device`, in whole granules, for a fleet whose GPUs reach each other; not cleared. Other processes may map it if it
    /// is `lent`.
    pub fn new(device: &CudaDevice, label: &str, bytes: u64, lent: bool) -> Result<Memory> {
        supported(device, label)?;
        let claim = Some(Claim::new(&device.context, label, bytes, false)?);
        let (mut handle, properties) = (0, memory_of(device.ordinal, lent));
        if bytes > 0 {
            let made = pool::with_room(&device.context, label, bytes, || {
                // SAFETY: out-pointer to a local, properties that outlive the call.
                unsafe { sys::cuMemCreate(&mut handle, bytes as usize, &properties, 0) }
            })?;
            device.check(&format!("cuMemCreate of {bytes} bytes for {label}"), made)?;
        }
        Ok(Memory { context: device.context.clone(), handle, bytes, _claim: claim })
    }

    /// What other processes map lent memory by; nothing where there is none.
    #[cfg(unix)]
    pub fn descriptor(&self, device: &CudaDevice, label: &str) -> Result<Option<Descriptor>> {
        use std::os::fd::FromRawFd;
        if self.bytes == 0 {
            return Ok(None);
        }
        let mut file: std::os::fd::RawFd = -1;
        let to = (&raw mut file).cast();
        // SAFETY: for a file, the out-pointer is to its number; the memory is alive and was made for this.
        let status = unsafe { sys::cuMemExportToShareableHandle(to, self.handle, FILE, 0) };
        device.check(&format!("cuMemExportToShareableHandle for {label}"), status)?;
        // SAFETY: opened by the call above, for the caller, and owned by nobody else.
        Ok(Some(unsafe { Descriptor::from_raw_fd(file) }))
    }

    /// As on Unix; nothing is shared here.
    #[cfg(not(unix))]
    pub fn descriptor(&self, _: &CudaDevice, _: &str) -> Result<Option<Descriptor>> {
        Ok(None)
    }

    /// So many `bytes` of another process, as `device` sees them.
    #[cfg(unix)]
    pub fn lent(
        device: &CudaDevice,
        label: &str,
        bytes: u64,
        file: Option<&Descriptor>,
    ) -> Result<Memory> {
        use std::os::fd::AsRawFd;
        let mut handle = 0;
        if bytes > 0 {
            let missing = || Error::machine(format!("{label}: a process has not lent its part"));
            let file = file.ok_or_else(missing)?.as_raw_fd();
            let from = std::ptr::without_provenance_mut(file as usize);
            // SAFETY: out-pointer to a local; the file is open, and what is no memory is refused.
            let status = unsafe { sys::cuMemImportFromShareableHandle(&mut handle, from, FILE) };
            device.check(&format!("cuMemImportFromShareableHandle for {label}"), status)?;
        }
        Ok(Memory { context: device.context.clone(), handle, bytes, _claim: None })
    }

    /// As on Unix; nothing is shared here.
    #[cfg(not(unix))]
    pub fn lent(_: &CudaDevice, label: &str, _: u64, _: Option<&Descriptor>) -> Result<Memory> {
        Err(Error::machine(format!("{label}: processes share no memory on this system")))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: made by `new` or `lent`, released once. A mapping keeps the memory until it is undone.
            unsafe { sys::cuMemRelease(self.handle) };
        }
    }
}

/// A part of a reservation with its owner's memory behind it, open to all GPUs of this process.
pub(crate) struct Mapped {
    /// `None` only while it is leaked.
    reservation: Option<Arc<Reservation>>,
    memory: Memory,
    at: u64,
    mapped: bool,
}

impl Mapped {
    /// Maps `memory` to byte `start` of `reservation`, the first of a granule, for these `gpus` of this process.
    pub fn new(
        device: &CudaDevice,
        label: &str,
        memory: Memory,
        (reservation, start): (&Arc<Reservation>, u64),
        gpus: &[u32],
    ) -> Result<Mapped> {
        let bytes = memory.bytes;
        if !start.is_multiple_of(GRANULE) || start + bytes > reservation.bytes {
            let what = format!("{label}: {bytes} bytes do not go at {start}; this is a bug");
            return Err(Error::machine(what));
        }
        let at = reservation.base + start;
        let mut part = Mapped { reservation: Some(reservation.clone()), memory, at, mapped: false };
        if bytes > 0 {
            // SAFETY: inside the reservation, where nobody else maps; whole granules, all of the memory.
            let status = unsafe { sys::cuMemMap(at, bytes as usize, 0, part.memory.handle, 0) };
            device.check(&format!("cuMemMap of {bytes} bytes for {label}"), status)?;
            part.mapped = true;
            part.open_to(device, label, gpus)?;
        }
        Ok(part)
    }

    /// Lets these GPUs read and write the part.
    fn open_to(&self, device: &CudaDevice, label: &str, gpus: &[u32]) -> Result<()> {
        let mut gpus = gpus.to_vec();
        gpus.sort_unstable();
        gpus.dedup();
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access = |gpu: &u32| sys::CUmemAccessDesc { location: location(*gpu), flags };
        let access: Vec<_> = gpus.iter().map(access).collect();
        let bytes = self.memory.bytes as usize;
        // SAFETY: exactly the part that was mapped; as many descriptors as said.
        let status = unsafe { sys::cuMemSetAccess(self.at, bytes, access.as_ptr(), access.len()) };
        device.check(&format!("cuMemSetAccess for {label}"), status)
    }

    /// The address of the part.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the context is current; the part is unmapped once, as it was mapped. Each replica waited for
        // its own work before its `Hold` ended, so that no GPU uses it.
        let freed = self.memory.context.enter_to_free().is_some_and(|_current| unsafe {
            let done = sys::CUresult::CUDA_SUCCESS;
            !self.mapped || sys::cuMemUnmap(self.at, self.memory.bytes as usize) == done
        });
        if !freed {
            std::mem::forget(self.reservation.take()); // leak: a GPU may still use it
        }
    }
}

/// Refuses a `device` that cannot map memory this way.
fn supported(device: &CudaDevice, label: &str) -> Result<()> {
    use sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED as VMM;
    let name = &device.info.device;
    if !device.can(VMM)? {
        return Err(Error::machine(format!(
            "{name}: {label} cannot be mapped over GPUs: no virtual memory management here; use the \
             scheme peer, or --placement replicated"
        )));
    }
    let (mut least, memory) = (0, memory_of(device.ordinal, false));
    let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: out-pointer to a local, properties that outlive the call.
    let status = unsafe { sys::cuMemGetAllocationGranularity(&mut least, &memory, minimum) };
    check(name, "cuMemGetAllocationGranularity", status)?;
    if least == 0 || !GRANULE.is_multiple_of(least as u64) {
        return Err(Error::machine(format!(
            "{name}: {label} cannot be mapped over GPUs: memory comes in pieces of {least} bytes, not of \
             {GRANULE}; use the scheme peer, or --placement replicated"
        )));
    }
    Ok(())
}

/// Refuses a `device` whose kernels cannot reach the memory of every GPU of the fleet, which is of one process.
pub(crate) fn reaches_all(device: &CudaDevice, label: &str) -> Result<()> {
    match device.fleet.iter().find(|other| !device.reaches(**other)) {
        None => Ok(()),
        Some(other) => Err(Error::machine(format!(
            "{}: {label} would be spread over GPUs, but there is no peer access to cuda:{other} (see hive \
             doctor); use other GPUs, or replicated arrays",
            device.info.device
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = GRANULE;

    #[test]
    fn a_granule_that_straddles_belongs_to_the_owner_of_its_first_byte() {
        assert_eq!(granules(&[0, 5, G + 1, 3 * G], 3 * G), [0, G, 2 * G, 4 * G]);
        assert_eq!(granules(&[0, 2 * G, 2 * G, 2 * G + 7], 2 * G + 7), [0, 2 * G, 2 * G, 3 * G]);
        assert_eq!(granules(&[0, 0, 10, 10], 10), [0, 0, G, G]);
    }

    #[test]
    fn parts_cover_the_array_and_the_bytes_behind_it_once() {
        for (world, bytes) in [(1, 0), (3, 0), (4, 1), (3, G - 64), (3, G - 63), (5, 7 * G + 3)] {
            let bounds: Vec<u64> = (0..=world).map(|r| bytes * r / world).collect();
            let parts = granules(&bounds, bytes);
            assert_eq!((parts[0], parts.len()), (0, bounds.len()));
            assert!(parts.windows(2).all(|w| w[0] <= w[1]), "{bounds:?} {parts:?}");
            let end = parts[parts.len() - 1];
            assert!(end >= bytes + 64 && end < bytes + 64 + G, "{bytes} {end}");
            assert!(parts.iter().all(|bound| bound % G == 0));
        }
    }
}
