//! Merges between GPUs of one host by direct loads, also with several replicas on one GPU, and
//! the same through host memory where GPUs cannot read each other.
//!
//! Replicas with a GPU each meet in the kernels that merge; their hosts meet once a merge, to tell addresses and to find out that they
//! came for the same. Replicas that share a GPU need not run at once: there hosts and events do it all, and hosts alone where there are
//! several processes.

use super::abroad::{Reach, no_addresses};
use super::two_shot::{Mover, two_shot};
use super::{Collective, Dtype, Marked, Marks, MergeOp, Seat, Span};
use super::{Payload, Split, Ticket, apart};
use crate::device::kernels::hive::{Meeting, OP_MAX, OP_MIN, OP_OR, OP_SUM};
use crate::device::kernels::joint::{Exchange, Joint, Mail};
use crate::device::kernels::merge::{FetchArgs, MARKED, MarkedArgs, MergeArgs, SETS};
use crate::device::{CudaDevice, DeviceBuffer, EVENT_RING, KERNELS, Launch, Pinned, Stream};
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
    pub fn of(device: &CudaDevice) -> Neighbour {
        Neighbour {
            ordinal: device.ordinal,
            context: device.context.clone(),
            ring: device.ring().iter().map(|e| EventHandle(*e)).collect(),
        }
    }
}

/// Peer loads over NVLink, PCIe, or inside one GPU.
pub(crate) struct PeerCollective {
    name: String,
    stream: Stream,
    ring: Vec<EventHandle>,
    neighbours: Vec<Neighbour>,
    rank: usize,
    published: u64,
    joins: bool,
    kernels: MergeKernels,
    together: Option<Exchanges>,
    /// How memory of other processes is seen, where there are several.
    reach: Option<Reach>,
}

/// What launches need to meet those of other GPUs.
pub(super) struct Exchanges {
    joint: Joint,
    /// Where kernels of all GPUs meet here. Others write into it until their last joint launch has ended: a fleet lets go of it
    /// after all programs.
    _mail: DeviceBuffer<Mail>,
    at: DeviceBuffer<Meeting>,
    abort: Arc<Pinned<u32>>,
    left: Arc<Pinned<u32>>,
    deadline_ns: u64,
    /// Blocks that have come to meetings, of all launches so far.
    arrived: u64,
}

/// Where a launch meets those of other GPUs.
#[derive(Clone, Copy)]
pub(super) struct Meets {
    before: bool,
    after: bool,
}

/// A launch's part in an exchange; none where hosts and events order launches.
pub(super) type Part<'a> = Option<(&'a mut Exchanges, Meets)>;

/// What a launch of so many blocks is told of it.
fn exchange(part: Part<'_>, blocks: u32) -> Exchange {
    let Some((all, Meets { before, after })) = part else {
        return Exchange { joint: Joint::alone(), ..Exchange::zeroed() };
    };
    let exchange = Exchange {
        joint: all.joint,
        at: all.at.pointer(),
        abort: all.abort.pointer(),
        left: all.left.pointer(),
        deadline_ns: all.deadline_ns,
        arrived: all.arrived,
        before: before.into(),
        after: after.into(),
    };
    all.arrived += u64::from(blocks) * (u64::from(before) + u64::from(after));
    exchange
}

/// The loaded merge kernels and how to launch them.
pub(super) struct MergeKernels {
    /// In the order of [`Dtype`].
    reduce: [crate::device::Function; 6],
    marked: crate::device::Function,
    fetch: crate::device::Function,
    /// Most blocks that are resident at once, where nobody shares the GPU.
    resident: u32,
}

/// The addresses of a replica's arrays and of their marks.
type Addresses = Vec<[u64; 2]>;

/// Threads of a block that merges.
const THREADS: u32 = 512;

/// Blocks of which a multiprocessor holds as many at least: the kernels' launch bounds.
const RESIDENT: u32 = 2;

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
        Ok(MergeKernels {
            reduce,
            marked: load("merge_marked")?,
            fetch: load("merge_fetch")?,
            resident: (device.info.multiprocessors * RESIDENT / device.sharers).max(1),
        })
    }

    /// As many blocks as there is work for, of those that may be there at once.
    fn blocks(&self, part: &Part, wanted: u64) -> u32 {
        let most = if part.is_some() { self.resident } else { 2 * self.resident };
        wanted.clamp(1, most.into()) as u32
    }

    /// The launch of so many blocks; they are all resident where they meet those of other GPUs.
    fn shape(exchange: &Exchange, blocks: u32) -> Launch {
        Launch { cooperative: exchange.joint.world > 1, ..Launch::of(blocks, THREADS) }
    }

    /// `own[range] = op over copies, in the order given`.
    pub fn reduce(
        &self,
        name: &str,
        stream: sys::CUstream,
        span: &Span,
        copies: &[u64],
        range: Range<u64>,
        part: Part,
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
        let blocks = self.blocks(&part, bytes.div_ceil(16 * u64::from(THREADS)));
        args.exchange = exchange(part, blocks);
        let shape = Self::shape(&args.exchange, blocks);
        crate::device::launch_on(name, stream, self.reduce[span.dtype as usize], shape, &args)
    }

    /// Takes over what others have marked of some arrays. `posted` are everybody's addresses.
    fn marked(
        &self,
        (name, stream): (&str, sys::CUstream),
        arrays: &[(Span, &Marks)],
        posted: &[&[[u64; 2]]],
        rank: usize,
        part: Part,
    ) -> Result<()> {
        let mut args = MarkedArgs::zeroed();
        let world = posted.len() as u32;
        (args.count, args.world, args.rank) = (arrays.len() as u32, world, rank as u32);
        // A warp a word, or a part of one where there would be few.
        let warps = u64::from(self.resident * THREADS / 32);
        let all: u64 = arrays.iter().map(|(_, marks)| marks.words()).sum();
        let shift = (0..2).take_while(|shift| all << (shift + 1) <= warps).count() as u32;
        let mut tasks = 0;
        for (at, (array, (span, marks))) in args.arrays.iter_mut().zip(arrays).enumerate() {
            for (other, addresses) in posted.iter().enumerate() {
                [array.copies[other], array.marks[other]] = addresses[at];
            }
            (array.kind, array.shift) = match marks.of() {
                Marked::Blocks | Marked::Terms => (span.dtype as u32, shift),
                Marked::Lines => (SETS, 0),
            };
            tasks += marks.words() << array.shift;
            (array.length, array.tasks, array.op) = (span.length, tasks, op_code(span.op));
        }
        let blocks = self.blocks(&part, tasks.div_ceil(u64::from(THREADS / 32)));
        args.exchange = exchange(part, blocks);
        let shape = Self::shape(&args.exchange, blocks);
        crate::device::launch_on(name, stream, self.marked, shape, &args)
    }

    /// Every other owner's slice, in one launch.
    fn fetch(
        &self,
        name: &str,
        stream: sys::CUstream,
        span: &Span,
        copies: &[u64],
        (split, rank): (&Split, usize),
        part: Part,
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
        // As many an owner.
        let blocks = (self.blocks(&part, wanted) / owners).max(1) * owners;
        args.exchange = exchange(part, blocks);
        let shape = Self::shape(&args.exchange, blocks);
        crate::device::launch_on(name, stream, self.fetch, shape, &args)
    }
}

/// Differs where replicas come for other arrays.
fn shapes(arrays: &[(Span, &Marks)]) -> u64 {
    arrays.iter().fold(0, |all, (span, marks)| {
        let of = [span.length, span.dtype as u64, op_code(span.op).into(), marks.of() as u64];
        let label = span.label.bytes().map(u64::from);
        label.chain(of).fold(all, crate::hash::hash)
    })
}

/// What the copies of several arrays have come from, an even number; 0 where others' of one may have come from something else.
fn all_alike(arrays: &[(Span, &Marks)]) -> u64 {
    let known = arrays.iter().all(|(span, _)| span.alike != 0);
    let all = arrays.iter().fold(2, |all, (span, _)| crate::hash::hash(all, span.alike));
    if known { (all | 2) & !1 } else { 0 }
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
    /// Of replica `seat`, whose process has these `neighbours`, itself among them. A meeting. `joins`: kernels of others than merges
    /// may meet those of other GPUs, too.
    pub fn new(
        device: &mut CudaDevice,
        seat: &Seat,
        neighbours: &[Neighbour],
        joins: bool,
    ) -> Result<PeerCollective> {
        for other in neighbours.iter().filter(|n| n.ordinal != device.ordinal) {
            other.context.enable_from(device)?;
        }
        let (place, stream) = (&seat.rendezvous, device.stream().clone());
        let mut made = PeerCollective {
            name: device.info.device.clone(),
            ring: device.ring().iter().map(|e| EventHandle(*e)).collect(),
            neighbours: neighbours.to_vec(),
            rank: seat.rank,
            published: 0,
            joins,
            kernels: MergeKernels::load(device)?,
            together: None,
            reach: Reach::new(place, seat.rank, &stream),
            stream,
        };
        if apart(&device.fleet) {
            let mail: DeviceBuffer<Mail> = device.alloc("mail", 1)?;
            // Nobody writes into it before it is cleared.
            device.queued();
            device.wait()?;
            let ticket = Ticket {
                label: "mail",
                iteration: 0,
                operation: "start",
                length: seat.world as u64,
                dtype: None,
                split: 0,
            };
            let all = made.addresses(seat, ticket, mail.pointer())?;
            made.together = Some(Exchanges {
                joint: Joint::new(&all, seat.rank),
                _mail: mail,
                at: device.alloc("meetings of merges", 1)?,
                abort: device.abort.clone(),
                left: device.left.clone(),
                deadline_ns: device.merge_deadline_ns(),
                arrived: 0,
            });
        }
        Ok(made)
    }

    /// Tells everybody of arrays and their marks, `own`, and of them all `known`. Returns what all said beside it, and where this replica finds theirs.
    fn posted(
        &mut self,
        seat: &Seat,
        ticket: Ticket,
        own: Addresses,
        [published, known]: [u64; 2],
    ) -> Result<(Vec<Payload>, Vec<Arc<Addresses>>)> {
        let place = &seat.rendezvous;
        let Some(reach) = &mut self.reach else {
            place.post(seat.rank, Some(Arc::new(own)));
            let seen = place.meet(seat.rank, ticket, [0, published, known, 0])?;
            let posted = (0..seat.world).map(|rank| place.posted(rank)?.downcast().ok());
            let posted: Option<Vec<Arc<Addresses>>> = posted.collect();
            return Ok((seen, posted.ok_or_else(no_addresses)?));
        };
        // A meeting an array: what processes tell each other has room for one.
        let (mut first, mut all) = (None, vec![Addresses::new(); seat.world]);
        for addresses in own {
            addresses.into_iter().try_for_each(|address| reach.tell(address))?;
            let [array, marks] = addresses;
            let seen = place.meet(seat.rank, ticket, [array, published, known, marks])?;
            for (rank, (told, [array, _, _, marks])) in all.iter_mut().zip(&seen).enumerate() {
                told.push([reach.place_of(rank, *array)?, reach.place_of(rank, *marks)?]);
            }
            first.get_or_insert(seen);
        }
        let all = all.into_iter().map(Arc::new).collect();
        Ok((first.ok_or_else(no_addresses)?, all))
    }
}

impl Collective for PeerCollective {
    fn name(&self) -> &'static str {
        "peer"
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        span.check()?;
        let Some(together) = self.together.as_mut() else {
            return two_shot(self, seat, span, split);
        };
        // The same steps and meetings as there.
        let ticket = span.ticket(seat, split.fingerprint());
        let told = [span.address, 0, 0, span.alike];
        let (seen, copies) = addresses(&mut self.reach, seat, ticket, told)?;
        if span.is_same(&seen) {
            return Ok(());
        }
        let (name, stream, kernels) = (&self.name, self.stream.handle()?, &self.kernels);
        if span.op != MergeOp::Gather {
            let part = Some((&mut *together, Meets { before: true, after: false }));
            kernels.reduce(name, stream, &span, &copies, split.range(seat.rank), part)?;
        }
        let part = Some((together, Meets { before: true, after: true }));
        kernels.fetch(name, stream, &span, &copies, (split, seat.rank), part)
    }

    fn addresses(&mut self, seat: &Seat, ticket: Ticket, own: u64) -> Result<Vec<u64>> {
        Ok(addresses(&mut self.reach, seat, ticket, [own, 0, 0, 0])?.1)
    }

    fn reads_marks(&self) -> bool {
        true
    }

    fn meets_on_devices(&self) -> bool {
        self.together.is_some()
    }

    fn merge_marked(&mut self, seat: &Seat, arrays: &[(Span, &Marks)]) -> Result<bool> {
        let Some((first, _)) = arrays.first() else { return Ok(true) };
        let ticket = first.ticket(seat, shapes(arrays));
        let ticket = match arrays.len() {
            1 => ticket,
            _ => Ticket { operation: "merge all, first", ..ticket },
        };
        let own = arrays.iter().map(|(span, marks)| [span.address, marks.pointer()]);
        let exact = arrays.iter().all(|(_, marks)| marks.are_exact());
        let (own, by_hosts) = (own.collect(), self.together.is_none());
        let published = if by_hosts { self.publish()? } else { 0 };
        let alike = all_alike(arrays);
        let (seen, posted) =
            self.posted(seat, ticket, own, [published, alike | u64::from(exact)])?;
        if alike != 0 && seen.iter().all(|payload| payload[2] & !1 == alike) {
            return Ok(true);
        }
        let known = seen.iter().all(|payload| payload[2] & 1 != 0);
        if known {
            if by_hosts {
                self.acquire(&seen)?;
            }
            let most = MARKED as usize;
            for (at, some) in arrays.chunks(most).enumerate() {
                let own = at * most..at * most + some.len();
                let meets = Meets { before: true, after: true };
                let addresses: Vec<&[[u64; 2]]> =
                    posted.iter().map(|all| &all[own.clone()]).collect();
                let part = self.together.as_mut().map(|together| (together, meets));
                let on = (self.name.as_str(), self.stream.handle()?);
                self.kernels.marked(on, some, &addresses, seat.rank, part)?;
            }
        }
        if !by_hosts {
            return Ok(known);
        }
        let published = self.publish()?;
        let seen = seat.rendezvous.meet(seat.rank, ticket, [0, published, 0, 0])?;
        seat.rendezvous.post(seat.rank, None);
        if known {
            self.acquire(&seen)?;
            for (_, marks) in arrays.iter().filter(|(_, marks)| marks.of() == Marked::Blocks) {
                marks.clear()?;
            }
        }
        Ok(known)
    }

    fn joint(&self) -> Option<Joint> {
        self.together.as_ref().filter(|_| self.joins).map(|together| together.joint)
    }

    fn order(&mut self, seat: &Seat, what: Ticket) -> Result<()> {
        if let (Some(together), Some(_)) = (&mut self.together, &self.reach) {
            // A kernel that does nothing but meet those of the others: events do not reach other processes.
            seat.rendezvous.meet(seat.rank, what, [0; 4])?;
            let part = Some((together, Meets { before: true, after: false }));
            let (label, dtype, op) = ("order", Dtype::U32, MergeOp::Max);
            let nothing = Span { label, address: 0, length: 0, dtype, op, alike: 0 };
            let (name, stream) = (&self.name, self.stream.handle()?);
            return self.kernels.reduce(name, stream, &nothing, &[0], 0..0, part);
        }
        let published = self.publish()?;
        let seen = seat.rendezvous.meet(seat.rank, what, [0, published, 0, 0])?;
        self.acquire(&seen)
    }
}

/// Tells everybody of an array, where `told` begins with its address. Returns what all told, and where this replica finds theirs.
fn addresses(
    reach: &mut Option<Reach>,
    seat: &Seat,
    ticket: Ticket,
    told: Payload,
) -> Result<(Vec<Payload>, Vec<u64>)> {
    reach.iter().try_for_each(|reach| reach.tell(told[0]))?;
    let seen = seat.rendezvous.meet(seat.rank, ticket, told)?;
    let found = seen.iter().enumerate().map(|(rank, payload)| match reach {
        Some(reach) => reach.place_of(rank, payload[0]),
        None => Ok(payload[0]),
    });
    let found = found.collect::<Result<_>>()?;
    Ok((seen, found))
}

impl Mover for PeerCollective {
    fn publish(&mut self) -> Result<u64> {
        if let Some(reach) = &self.reach {
            // Events do not reach other processes: the host waits.
            return reach.drain().map(|()| 0);
        }
        self.published += 1;
        let event = self.ring[self.published as usize % EVENT_RING].0;
        let stream = self.stream.handle()?;
        // SAFETY: own live event and stream; the device's context is current on this thread.
        crate::device::check(&self.name, "cuEventRecord", unsafe {
            sys::cuEventRecord(event, stream)
        })?;
        Ok(self.published)
    }

    fn copies(
        &mut self,
        seat: &Seat,
        ticket: Ticket,
        told: Payload,
    ) -> Result<(Vec<Payload>, Vec<u64>)> {
        addresses(&mut self.reach, seat, ticket, told)
    }

    fn acquire(&mut self, published: &[Payload]) -> Result<()> {
        if self.reach.is_some() {
            return Ok(());
        }
        let stream = self.stream.handle()?;
        let others = published.iter().zip(&self.neighbours).enumerate();
        for (_, (payload, neighbour)) in others.filter(|(rank, _)| *rank != self.rank) {
            let event = neighbour.ring[payload[1] as usize % EVENT_RING].0;
            // SAFETY: the event was recorded before its owner came to the meeting that told its
            // number, and is not recorded again before everybody has left the next ones.
            crate::device::check(&self.name, "cuStreamWaitEvent", unsafe {
                sys::cuStreamWaitEvent(stream, event, 0)
            })?;
        }
        Ok(())
    }

    fn reduce(&mut self, span: &Span, copies: &[u64], range: Range<u64>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.kernels.reduce(&self.name, self.stream.handle()?, span, copies, range, None)
    }

    fn fetch(&mut self, span: &Span, copies: &[u64], split: &Split, rank: usize) -> Result<()> {
        self.kernels.fetch(&self.name, self.stream.handle()?, span, copies, (split, rank), None)
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
