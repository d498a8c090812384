//! Merges through NCCL, by its `sys` bindings: communicators are ours, so that they can be aborted.
//!
//! NCCL has no OR: owners receive everybody's copy of their slice, OR them, and gather. Gather of
//! unequal chunks is a group of broadcasts.

use super::kernels::MergeKernels;
use super::{Collective, Dtype, MergeOp, SLICE_ALIGN, Seat, Span, Split};
use crate::device::{CudaDevice, DeviceBuffer, Nccl, Stream, nccl};
use crate::error::{Error, Result};
use cudarc::nccl::sys;
use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::time::Instant;

/// A communicator's id, made once and handed to all its ranks.
#[derive(Clone, Copy)]
pub(crate) struct UniqueId(sys::ncclUniqueId);

impl UniqueId {
    pub fn new() -> Result<UniqueId> {
        let mut id = UniqueId(sys::ncclUniqueId { internal: [0; 128] });
        // SAFETY: it fills the id.
        let status = unsafe { (nccl()?.ncclGetUniqueId)(&mut id.0) };
        if status == sys::ncclResult_t::ncclSuccess {
            return Ok(id);
        }
        Err(Error::machine(format!("ncclGetUniqueId failed: {status:?}; run hive doctor")))
    }

    /// For another process.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.internal.iter().map(|byte| *byte as u8).collect()
    }

    /// As another process has told it.
    pub fn of(bytes: &[u8]) -> Option<UniqueId> {
        let mut id = UniqueId(sys::ncclUniqueId { internal: [0; 128] });
        id.0.internal.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from as _);
        (bytes.len() == id.0.internal.len()).then_some(id)
    }
}

/// The first fields of `ncclConfig_t`, as every NCCL since 2.17 reads them.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: i32,
    cga_cluster_size: i32,
    min_ctas: i32,
    max_ctas: i32,
    net_name: *const std::ffi::c_char,
    split_share: i32,
}

/// One rank of an NCCL communicator, which has some or all replicas.
pub(super) struct Communicator {
    nccl: &'static Nccl,
    device: String,
    handle: sys::ncclComm_t,
    rank: usize,
    world: usize,
    stream: Stream,
    kernels: MergeKernels,
    /// What a call is waited for at least: while channels are connected it takes longer.
    at_least_s: f64,
    /// Everybody's copies of the own slice, for OR.
    slices: Option<DeviceBuffer<u64>>,
}

// SAFETY: a communicator may move between threads; it is used by the one that owns it.
unsafe impl Send for Communicator {}

/// What the first calls are waited for at least, in seconds.
const START_S: f64 = 30.0;

impl Communicator {
    /// Joins the communicator as its member of this number, of so many; an error when not all have after the deadline.
    pub fn join(
        device: &mut CudaDevice,
        seat: &Seat,
        id: UniqueId,
        (rank, world): (usize, usize),
    ) -> Result<Communicator> {
        let joined = Communicator::joined(device, seat, id, (rank, world));
        joined.map_err(|error| seat.rendezvous.blamed(error))
    }

    fn joined(
        device: &mut CudaDevice,
        seat: &Seat,
        id: UniqueId,
        (rank, world): (usize, usize),
    ) -> Result<Communicator> {
        let (nccl, unset) = (nccl()?, i32::MIN);
        let mut config = Config {
            size: size_of::<Config>(),
            magic: 0xcafe_beef,
            version: 21_700,
            blocking: 0,
            cga_cluster_size: unset,
            min_ctas: unset,
            max_ctas: unset,
            net_name: std::ptr::null(),
            split_share: unset,
        };
        let mut made = Communicator {
            nccl,
            device: device.info.device.clone(),
            handle: std::ptr::null_mut(),
            rank,
            world,
            stream: device.stream().clone(),
            kernels: MergeKernels::load(device)?,
            at_least_s: START_S,
            slices: None,
        };
        // SAFETY: `config` starts with the fields that its `size` covers; out-pointer to a field.
        let status = unsafe {
            (nccl.ncclCommInitRankConfig)(
                &mut made.handle,
                world as i32,
                id.0,
                rank as i32,
                (&raw mut config).cast(),
            )
        };
        made.accept("ncclCommInitRankConfig", status)?;
        made.complete(seat, "ncclCommInitRankConfig")?;
        made.warm_up(seat, device)?;
        made.at_least_s = 0.0;
        Ok(made)
    }

    /// The first collectives connect channels and allocate: do it before anything is timed.
    fn warm_up(&mut self, seat: &Seat, device: &CudaDevice) -> Result<()> {
        let array = device.alloc::<u32>("nccl warm-up", 4096)?;
        let (address, length, dtype) = (array.pointer(), array.len() as u64, Dtype::U32);
        for op in [MergeOp::Or, MergeOp::Min] {
            self.reduce(seat, Span { label: "warm-up", address, length, dtype, op, alike: 0 })?;
        }
        device.wait()
    }

    fn accept(&self, call: &str, status: sys::ncclResult_t) -> Result<()> {
        use sys::ncclResult_t::{ncclInProgress, ncclSuccess};
        if status == ncclSuccess || status == ncclInProgress {
            return Ok(());
        }
        // SAFETY: returns a static or communicator-owned NUL-terminated string.
        let words = unsafe { (self.nccl.ncclGetLastError)(self.handle) };
        let words = if words.is_null() {
            String::new()
        } else {
            // SAFETY: checked for NULL; NUL-terminated.
            unsafe { CStr::from_ptr(words) }.to_string_lossy().trim().to_string()
        };
        let code = format!("{status:?}: {words}; set NCCL_DEBUG=WARN for more");
        Err(Error::Device { device: self.device.clone(), call: call.into(), code })
    }

    /// Polls until the communicator has taken the last call in; aborts it when the fleet fails, or after its deadline.
    fn complete(&mut self, seat: &Seat, call: &str) -> Result<()> {
        let start = Instant::now();
        let deadline_s = seat.rendezvous.deadline().as_secs_f64().max(self.at_least_s);
        loop {
            let mut state = sys::ncclResult_t::ncclSuccess;
            // SAFETY: a live communicator; out-pointer to a local.
            let status = unsafe { (self.nccl.ncclCommGetAsyncError)(self.handle, &mut state) };
            self.accept(call, status)?;
            if state == sys::ncclResult_t::ncclSuccess {
                return Ok(());
            }
            self.accept(call, state)?;
            let failure = seat.rendezvous.failure();
            if failure.is_some() || start.elapsed().as_secs_f64() > deadline_s {
                self.abort();
                let late = || {
                    seat.rendezvous
                        .fault(seat.rank, format!("{call}: no answer within {deadline_s} s"))
                };
                return Err(failure.unwrap_or_else(late));
            }
            // Replicas that are not in this communicator may wait for this one elsewhere.
            seat.rendezvous.beat(seat.rank);
            std::hint::spin_loop();
        }
    }

    /// Called only by the owning thread.
    pub fn abort(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the own communicator, not used after this.
            unsafe { (self.nccl.ncclCommAbort)(self.handle) };
            self.handle = std::ptr::null_mut();
        }
    }

    /// Makes room for merges of `span` ahead of time.
    pub fn reserve(&mut self, span: &Span) -> Result<()> {
        if span.op != MergeOp::Or {
            return Ok(());
        }
        let words = slices(span.length, span.dtype.size() as u64, self.world as u64);
        if self.slices.as_ref().is_none_or(|s| s.len() < words) {
            self.slices = None;
            self.slices = Some(DeviceBuffer::new(&self.stream, "or slices", words)?);
        }
        Ok(())
    }

    /// Combines everybody's copies of `span`, in place; a gather combines nothing. All members call it, for as many elements.
    pub fn reduce(&mut self, seat: &Seat, span: Span) -> Result<()> {
        let op = match span.op {
            MergeOp::Or => return self.or(seat, &span),
            MergeOp::Gather => return Ok(()),
            MergeOp::Min => sys::ncclRedOp_t::ncclMin,
            MergeOp::Max => sys::ncclRedOp_t::ncclMax,
            MergeOp::Sum => sys::ncclRedOp_t::ncclSum,
        };
        let (at, length) = (span.address as *mut c_void, span.length as usize);
        let (dtype, stream) = (nccl_type(span.dtype), self.stream.handle()?.cast());
        // SAFETY: an in-place all-reduce over the span, which is as long on all members.
        let status =
            unsafe { (self.nccl.ncclAllReduce)(at, at, length, dtype, op, self.handle, stream) };
        self.accept("ncclAllReduce", status)?;
        self.complete(seat, "ncclAllReduce")
    }

    /// OR: owners collect everybody's copy of their slice and reduce it.
    fn or(&mut self, seat: &Seat, span: &Span) -> Result<()> {
        self.reserve(span)?;
        // Slices stay aligned for wide access.
        let split = Split::nodes(span.length, self.world, SLICE_ALIGN);
        let size = span.dtype.size() as u64;
        let own = split.range(self.rank);
        let slice_bytes = (own.end - own.start) * size;
        let pitch = slice_bytes.next_multiple_of(16);
        let base = self.slices.as_ref().map_or(0, DeviceBuffer::pointer);
        let (stream, bytes_of) = (self.stream.handle()?.cast(), sys::ncclDataType_t::ncclUint8);
        // SAFETY: slices lie inside the span and the scratch; all members send and receive matching sizes, because their spans are
        // as long.
        unsafe {
            self.accept("ncclGroupStart", (self.nccl.ncclGroupStart)())?;
            for peer in 0..self.world {
                let theirs = split.range(peer);
                let bytes = ((theirs.end - theirs.start) * size) as usize;
                let from = (span.address + theirs.start * size) as *const c_void;
                let (to, with) = ((base + pitch * peer as u64) as *mut c_void, peer as i32);
                let sent = (self.nccl.ncclSend)(from, bytes, bytes_of, with, self.handle, stream);
                self.accept("ncclSend", sent)?;
                let bytes = slice_bytes as usize;
                let taken = (self.nccl.ncclRecv)(to, bytes, bytes_of, with, self.handle, stream);
                self.accept("ncclRecv", taken)?;
            }
            self.accept("ncclGroupEnd", (self.nccl.ncclGroupEnd)())?;
        }
        self.complete(seat, "ncclSend and ncclRecv")?;
        if slice_bytes > 0 {
            // The kernel indexes copies like the whole array: shift each base by the slice's start.
            let copies: Vec<u64> = (0..self.world as u64)
                .map(|peer| (base + pitch * peer).wrapping_sub(own.start * size))
                .collect();
            self.kernels.reduce(span, &copies, own, None)?;
        }
        let slices: Vec<Range<u64>> = (0..self.world).map(|peer| split.range(peer)).collect();
        self.gather(seat, span, &slices)
    }

    /// Gives everybody the range of each member, in place. All members call it with the same ranges.
    pub fn gather(&mut self, seat: &Seat, span: &Span, ranges: &[Range<u64>]) -> Result<()> {
        let size = span.dtype.size() as u64;
        let (stream, bytes_of) = (self.stream.handle()?.cast(), sys::ncclDataType_t::ncclUint8);
        // SAFETY: every range lies inside the span, and is as long on all members.
        unsafe {
            self.accept("ncclGroupStart", (self.nccl.ncclGroupStart)())?;
            for (owner, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
                let at = (span.address + range.start * size) as *mut c_void;
                let (bytes, root) = (((range.end - range.start) * size) as usize, owner as i32);
                let given =
                    (self.nccl.ncclBroadcast)(at, at, bytes, bytes_of, root, self.handle, stream);
                self.accept("ncclBroadcast", given)?;
            }
            self.accept("ncclGroupEnd", (self.nccl.ncclGroupEnd)())?;
        }
        self.complete(seat, "ncclBroadcast")
    }
}

fn nccl_type(dtype: Dtype) -> sys::ncclDataType_t {
    use sys::ncclDataType_t as N;
    match dtype {
        Dtype::U8 => N::ncclUint8,
        Dtype::U32 => N::ncclUint32,
        Dtype::U64 => N::ncclUint64,
        Dtype::I32 => N::ncclInt32,
        Dtype::F32 => N::ncclFloat32,
        Dtype::F64 => N::ncclFloat64,
    }
}

/// u64 words of the slices in which `world` replicas exchange an array of `length` elements of `size`
/// bytes.
pub(crate) fn slices(length: u64, size: u64, world: u64) -> usize {
    let slice = length.div_ceil(world) + u64::from(SLICE_ALIGN);
    ((slice * size).next_multiple_of(16) * world / 8) as usize
}

/// Merges through one communicator of all replicas.
pub(crate) struct NcclCollective(Communicator);

impl NcclCollective {
    /// Of a replica with a GPU of its own.
    pub fn new(device: &mut CudaDevice, seat: &Seat, id: UniqueId) -> Result<NcclCollective> {
        Communicator::join(device, seat, id, (seat.rank, seat.world)).map(NcclCollective)
    }
}

impl Collective for NcclCollective {
    fn abandon(&mut self) {
        // Its kernels do not look at the fleet's word of abort.
        self.0.abort();
    }

    fn name(&self) -> &'static str {
        "nccl"
    }

    fn reserve(&mut self, _seat: &Seat, span: Span) -> Result<()> {
        self.0.reserve(&span)
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        span.check()?;
        // Nobody enters NCCL before everybody has come for the same merge: a dead peer ends here.
        let ticket = span.ticket(seat, split.fingerprint());
        let seen = seat.rendezvous.meet(seat.rank, ticket, [0, 0, 0, span.alike])?;
        if span.is_same(&seen) {
            return Ok(());
        }
        let merged = match span.op {
            MergeOp::Gather => {
                let chunks: Vec<Range<u64>> =
                    (0..seat.world).map(|rank| split.range(rank)).collect();
                self.0.gather(seat, &span, &chunks)
            }
            MergeOp::Or | MergeOp::Min | MergeOp::Max | MergeOp::Sum => self.0.reduce(seat, span),
        };
        merged.map_err(|error| seat.rendezvous.blamed(error))
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if self.handle.is_null() {
            return;
        }
        let abandoned = self.stream.context().abandoned.load(std::sync::atomic::Ordering::Acquire);
        if abandoned {
            self.abort();
            return;
        }
        // SAFETY: a quiet communicator, destroyed once by its owner.
        unsafe { (self.nccl.ncclCommDestroy)(self.handle) };
    }
}
