//! Merges between GPUs of one process by direct loads, also with several replicas on one GPU, and
//! the same through host memory where GPUs cannot read each other.
//!
//! Host and event synchronisation only: replicas that share a GPU need not run at once.

use super::two_shot::{Mover, two_shot};
use super::{Collective, Marked, Marks, MergeOp, Seat, Span};
use super::{Payload, Split, Ticket, apart};
use crate::collective::host::HostCollective;
use crate::device::kernels::hive::{OP_MAX, OP_MIN, OP_OR, OP_SUM};
use crate::device::kernels::joint::{Joint, Mail};
use crate::device::kernels::merge::{FetchArgs, MarkedArgs, MergeArgs};
use crate::device::{CudaDevice, DeviceBuffer, EVENT_RING, KERNELS, Launch};
use crate::error::{Error, Result};
use bytemuck::Zeroable;
use cudarc::driver::sys;
use std::ops::Range;
use std::sync::Arc;

/// What a replica must know of another to read its memory in time.
#[derive(Clone)]
pub(crate) struct Neighbour {
    ordinal: u32,
    context: Arc<dyn PeerContext>,
    ring: Vec<EventHandle>,
    /// Where kernels of all GPUs can meet. Others write into it until their last joint launch
    /// has ended.
    mail: Option<Arc<DeviceBuffer<Mail>>>,
}

/// The part of a device's context that peers use.
trait PeerContext: Send + Sync {
    fn enable_from(&self, device: &CudaDevice) -> Result<()>;
}

impl PeerContext for crate::device::Context {
    fn enable_from(&self, device: &CudaDevice) -> Result<()> {
        device.enable_peer(self)
    }
}

#[derive(Clone, Copy)]
struct EventHandle(sys::CUevent);
// SAFETY: events may be waited for from any thread; they live as long as the process.
unsafe impl Send for EventHandle {}
// SAFETY: as above.
unsafe impl Sync for EventHandle {}

impl Neighbour {
    pub fn of(device: &CudaDevice) -> Result<Neighbour> {
        let mail = match apart(&device.fleet) {
            true => Some(Arc::new(device.alloc("mail", 1)?)),
            false => None,
        };
        // Nobody writes into it before it is cleared.
        device.queued();
        device.wait()?;
        Ok(Neighbour {
            ordinal: device.ordinal,
            context: device.context.clone(),
            ring: device.ring().iter().map(|e| EventHandle(*e)).collect(),
            mail,
        })
    }
}

/// A stream that one replica thread drives.
struct Stream(sys::CUstream);
// SAFETY: a stream handle may be used from any thread; one replica owns it.
unsafe impl Send for Stream {}

/// Peer loads over NVLink, PCIe, or inside one GPU.
pub(crate) struct PeerCollective {
    name: String,
    stream: Stream,
    ring: Vec<EventHandle>,
    neighbours: Vec<Neighbour>,
    rank: usize,
    published: u64,
    kernels: MergeKernels,
    joint: Option<Joint>,
}

/// The loaded merge kernels and how to launch them.
pub(super) struct MergeKernels {
    /// In the order of [`Dtype`].
    reduce: [crate::device::Function; 6],
    marked: [crate::device::Function; 6],
    sets: crate::device::Function,
    fetch: crate::device::Function,
    blocks: u32,
}

/// The addresses of a replica's arrays and of their marks.
type Addresses = Vec<[u64; 2]>;

/// Threads of a block that merges.
const THREADS: u32 = 512;

impl MergeKernels {
    pub fn load(device: &mut CudaDevice) -> Result<MergeKernels> {
        let source = KERNELS.iter().find(|k| k.name == "merge.cu");
        let source =
            source.ok_or_else(|| Error::machine("merge.cu is not embedded; this is a bug"))?;
        let mut load = |name| device.function(source, &[], name);
        let reduce = [
            load("merge_reduce_u8")?,
            load("merge_reduce_u32")?,
            load("merge_reduce_u64")?,
            load("merge_reduce_i32")?,
            load("merge_reduce_f32")?,
            load("merge_reduce_f64")?,
        ];
        let marked = [
            load("merge_marked_u8")?,
            load("merge_marked_u32")?,
            load("merge_marked_u64")?,
            load("merge_marked_i32")?,
            load("merge_marked_f32")?,
            load("merge_marked_f64")?,
        ];
        Ok(MergeKernels {
            reduce,
            marked,
            sets: load("merge_sets")?,
            fetch: load("merge_fetch")?,
            blocks: device.info.multiprocessors * 4 / device.sharers,
        })
    }

    /// `own[range] = op over copies, in the order given`.
    pub fn reduce(
        &self,
        name: &str,
        stream: sys::CUstream,
        span: &Span,
        copies: &[u64],
        range: Range<u64>,
    ) -> Result<()> {
        let mut args = MergeArgs {
            own: span.address,
            start: range.start,
            end: range.end,
            ..MergeArgs::zeroed()
        };
        args.copies[..copies.len()].copy_from_slice(copies);
        args.world = copies.len() as u32;
        args.op = op_code(span.op);
        let bytes = (range.end - range.start) * span.dtype.size() as u64;
        let wanted = bytes.div_ceil(16 * u64::from(THREADS)).max(1);
        let shape = Launch::of(wanted.min(u64::from(self.blocks.max(1))) as u32, THREADS);
        crate::device::launch_on(name, stream, self.reduce[span.dtype as usize], shape, &args)
    }

    /// What anybody has marked, in the words of marks that are this replica's; `copies` are addresses of arrays and of marks.
    fn marked(
        &self,
        name: &str,
        stream: sys::CUstream,
        (span, marks): (&Span, &Marks),
        copies: impl Iterator<Item = [u64; 2]>,
        rank: usize,
    ) -> Result<()> {
        let (length, words) = (span.length, marks.words());
        let mut args = MarkedArgs { length, words, ..MarkedArgs::zeroed() };
        for (at, [copy, marks]) in copies.enumerate() {
            (args.copies[at], args.marks[at]) = (copy, marks);
            args.world = at as u32 + 1;
        }
        (args.rank, args.op) = (rank as u32, op_code(span.op));
        let kernel = match marks.of() {
            Marked::Blocks => self.marked[span.dtype as usize],
            Marked::Lines => self.sets,
        };
        // A warp a word.
        let wanted = words.div_ceil(u64::from(args.world * THREADS / 32)).max(1);
        let shape = Launch::of(wanted.min(u64::from(self.blocks.max(1))) as u32, THREADS);
        crate::device::launch_on(name, stream, kernel, shape, &args)
    }

    /// Every other owner's slice, in one launch.
    fn fetch(
        &self,
        name: &str,
        stream: sys::CUstream,
        span: &Span,
        copies: &[u64],
        split: &Split,
        rank: usize,
    ) -> Result<()> {
        let size = span.dtype.size() as u64;
        let mut args = FetchArgs { own: span.address, rank: rank as u32, ..FetchArgs::zeroed() };
        args.copies[..copies.len()].copy_from_slice(copies);
        args.world = copies.len() as u32;
        args.bounds.iter_mut().zip(split.bounds()).for_each(|(to, from)| *to = from * size);
        let owners = args.world - 1;
        let total = split.bounds().last().map_or(0, |end| end * size);
        let own = split.range(rank);
        let wanted = (total - (own.end - own.start) * size).div_ceil(64 * u64::from(THREADS));
        let blocks = wanted.clamp(1, u64::from(self.blocks.max(1))) as u32;
        let shape = Launch::of(blocks.next_multiple_of(owners), THREADS);
        crate::device::launch_on(name, stream, self.fetch, shape, &args)
    }
}

/// Differs where replicas come for other arrays.
fn shapes(arrays: &[(Span, &Marks)]) -> u64 {
    arrays.iter().fold(0, |all, (span, _)| {
        let of = [span.length, span.dtype as u64, op_code(span.op).into()];
        let label = span.label.bytes().map(u64::from);
        label.chain(of).fold(all, crate::hash::hash)
    })
}

/// The operation in kernels. A gather has none: it comes to a sum of one copy.
pub(crate) fn op_code(op: MergeOp) -> u32 {
    match op {
        MergeOp::Or => OP_OR,
        MergeOp::Min => OP_MIN,
        MergeOp::Max => OP_MAX,
        MergeOp::Sum | MergeOp::Gather => OP_SUM,
    }
}

impl PeerCollective {
    pub fn new(
        device: &mut CudaDevice,
        neighbours: &[Neighbour],
        rank: usize,
    ) -> Result<PeerCollective> {
        for other in neighbours.iter().filter(|n| n.ordinal != device.ordinal) {
            other.context.enable_from(device)?;
        }
        let mail = neighbours.iter().map(|n| Some(n.mail.as_ref()?.pointer()));
        let mail: Option<Vec<u64>> = mail.collect();
        Ok(PeerCollective {
            name: device.info.device.clone(),
            stream: Stream(device.stream()),
            ring: device.ring().iter().map(|e| EventHandle(*e)).collect(),
            neighbours: neighbours.to_vec(),
            rank,
            published: 0,
            kernels: MergeKernels::load(device)?,
            joint: mail.map(|mail| Joint::new(&mail, rank)),
        })
    }
}

impl Collective for PeerCollective {
    fn name(&self) -> &'static str {
        "peer"
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        span.check()?;
        two_shot(self, seat, span, split)
    }

    fn reads_marks(&self) -> bool {
        true
    }

    fn merge_marked(&mut self, seat: &Seat, arrays: &[(Span, &Marks)]) -> Result<bool> {
        let Some((first, _)) = arrays.first() else { return Ok(true) };
        let ticket = match arrays.len() {
            1 => first.ticket(seat, 0),
            _ => Ticket { operation: "merge all, first", ..first.ticket(seat, shapes(arrays)) },
        };
        let own = arrays.iter().map(|(span, marks)| [span.address, marks.pointer()]);
        let exact = arrays.iter().all(|(_, marks)| marks.are_exact());
        let place = &seat.rendezvous;
        place.post(seat.rank, Some(Arc::new(own.collect::<Addresses>())));
        let published = self.publish()?;
        let seen = place.meet(seat.rank, ticket, [0, published, u64::from(exact), 0])?;
        let known = seen.iter().all(|payload| payload[2] != 0);
        if known {
            self.acquire(&seen)?;
            let posted = (0..seat.world).map(|rank| place.posted(rank)?.downcast().ok());
            let posted: Option<Vec<Arc<Addresses>>> = posted.collect();
            let lost = || Error::machine("addresses that were not told; this is a bug");
            let posted = posted.ok_or_else(lost)?;
            for (at, (span, marks)) in arrays.iter().enumerate() {
                let copies = posted.iter().map(|addresses| addresses[at]);
                let (name, stream) = (&self.name, self.stream.0);
                self.kernels.marked(name, stream, (span, marks), copies, seat.rank)?;
            }
        }
        let published = self.publish()?;
        let seen = place.meet(seat.rank, ticket, [0, published, 0, 0])?;
        place.post(seat.rank, None);
        if known {
            self.acquire(&seen)?;
        }
        Ok(known)
    }

    fn joint(&self) -> Option<Joint> {
        self.joint
    }

    fn order(&mut self, seat: &Seat, what: Ticket) -> Result<()> {
        let published = self.publish()?;
        let seen = seat.rendezvous.meet(seat.rank, what, [0, published, 0, 0])?;
        self.acquire(&seen)
    }
}

impl Mover for PeerCollective {
    fn publish(&mut self) -> Result<u64> {
        self.published += 1;
        let event = self.ring[self.published as usize % EVENT_RING].0;
        // SAFETY: own live event and stream; the device's context is current on this thread.
        crate::device::check(&self.name, "cuEventRecord", unsafe {
            sys::cuEventRecord(event, self.stream.0)
        })?;
        Ok(self.published)
    }

    fn acquire(&mut self, published: &[Payload]) -> Result<()> {
        let others = published.iter().zip(&self.neighbours).enumerate();
        for (_, (payload, neighbour)) in others.filter(|(rank, _)| *rank != self.rank) {
            let event = neighbour.ring[payload[1] as usize % EVENT_RING].0;
            // SAFETY: the event was recorded before its owner came to the meeting that told its
            // number, and is not recorded again before everybody has left the next ones.
            crate::device::check(&self.name, "cuStreamWaitEvent", unsafe {
                sys::cuStreamWaitEvent(self.stream.0, event, 0)
            })?;
        }
        Ok(())
    }

    fn reduce(&mut self, span: &Span, copies: &[u64], range: Range<u64>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.kernels.reduce(&self.name, self.stream.0, span, copies, range)
    }

    fn fetch(&mut self, span: &Span, copies: &[u64], split: &Split, rank: usize) -> Result<()> {
        self.kernels.fetch(&self.name, self.stream.0, span, copies, split, rank)
    }
}

/// GPUs merged through host memory: copy out, merge there, copy back.
pub(crate) struct StagedCollective {
    name: String,
    stream: Stream,
    stage: Vec<u64>,
}

impl StagedCollective {
    pub fn new(device: &CudaDevice) -> StagedCollective {
        let name = device.info.device.clone();
        StagedCollective { name, stream: Stream(device.stream()), stage: Vec::new() }
    }
}

impl Collective for StagedCollective {
    fn name(&self) -> &'static str {
        "host"
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        let bytes = span.length as usize * span.dtype.size();
        self.stage.resize(bytes.div_ceil(8), 0);
        let check = |call, status| crate::device::check(&self.name, call, status);
        // SAFETY: the stage holds `bytes` bytes; the device array has as many. The stream is drained
        // before the host looks, and again before the stage is reused.
        unsafe {
            let stage = self.stage.as_mut_ptr();
            check(
                "cuMemcpyDtoH",
                sys::cuMemcpyDtoHAsync_v2(stage.cast(), span.address, bytes, self.stream.0),
            )?;
            check("cuStreamSynchronize", sys::cuStreamSynchronize(self.stream.0))?;
            HostCollective.merge(seat, Span { address: stage as u64, ..span }, split)?;
            check(
                "cuMemcpyHtoD",
                sys::cuMemcpyHtoDAsync_v2(span.address, stage.cast(), bytes, self.stream.0),
            )?;
            check("cuStreamSynchronize", sys::cuStreamSynchronize(self.stream.0))
        }
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
