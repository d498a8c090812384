//! Merges between GPUs of one host by direct loads, also with several replicas on one GPU, and
//! the same through host memory where GPUs cannot read each other.
//!
//! Replicas with a GPU each meet in the kernels that merge; their hosts meet once a merge, to tell addresses and to find out that they
//! came for the same. Replicas that share a GPU need not run at once: there hosts and events do it all, and hosts alone where there are
//! several processes.

use super::abroad::{Reach, no_addresses};
use super::kernels::{Addresses, Exchanges, MOST_MARKED, Meets, MergeKernels, Part, Piece};
use super::kernels::{op_code, slices};
use super::two_shot::{Mover, two_shot};
use super::{Collective, Marked, Marks, MergeOp, Seat, Span};
use super::{Payload, Split, Ticket, apart};
use crate::device::kernels::joint::{Joint, Mail};
use crate::device::{CudaDevice, DeviceBuffer, EVENT_RING, Stream};
use crate::error::Result;
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
    /// The ranks of the replicas that merge, which are all of this host.
    here: Range<usize>,
    published: u64,
    joins: bool,
    kernels: MergeKernels,
    together: Option<Exchanges>,
    /// How memory of other processes is seen, where there are several.
    reach: Option<Reach>,
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

impl PeerCollective {
    /// Of replica `seat` and the others of `here`, whose process has these `neighbours`, itself among them. A meeting of all replicas.
    /// `joins`: kernels of others than merges may meet those of other GPUs, too.
    pub fn new(
        device: &mut CudaDevice,
        seat: &Seat,
        here: Range<usize>,
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
            here: here.clone(),
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
            let joint = Joint::new(&all, seat.rank - here.start);
            made.together = Some(Exchanges::new(device, joint, mail)?);
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
        if self.together.is_none() {
            return two_shot(self, seat, span, split);
        }
        // The same steps and meetings as there.
        let ticket = span.ticket(seat, split.fingerprint());
        let (seen, copies) = self.found(seat, ticket, [span.address, 0, 0, span.alike])?;
        if span.is_same(&seen) {
            return Ok(());
        }
        if span.op != MergeOp::Gather {
            let meets = Meets { before: true, after: false };
            self.shot(seat, ticket, meets, |kernels, part| {
                kernels.reduce(&span, &copies, split.range(seat.rank), part)
            })?;
        }
        let (pieces, meets) =
            (self.others(&span, &copies, split), Meets { before: true, after: true });
        self.shot(seat, ticket, meets, |kernels, part| kernels.fetch(span.address, &pieces, part))
    }

    fn addresses(&mut self, seat: &Seat, ticket: Ticket, own: u64) -> Result<Vec<u64>> {
        Ok(self.found(seat, ticket, [own, 0, 0, 0])?.1)
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
            for (at, some) in arrays.chunks(MOST_MARKED).enumerate() {
                let own = at * MOST_MARKED..at * MOST_MARKED + some.len();
                let meets = Meets { before: true, after: true };
                let addresses: Vec<&[[u64; 2]]> =
                    posted.iter().map(|all| &all[own.clone()]).collect();
                let part = self.together.as_mut().map(|together| (together, meets));
                self.kernels.marked(some, &addresses, seat.rank, part)?;
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
            // Events do not reach other processes.
            seat.rendezvous.meet(seat.rank, what, [0; 4])?;
            return self.kernels.meet(together);
        }
        self.all_come(seat, what)
    }
}

impl PeerCollective {
    /// Tells everybody of an array, where `told` begins with its address. Returns what all told, and where this replica finds those
    /// of this host.
    pub(super) fn found(
        &mut self,
        seat: &Seat,
        ticket: Ticket,
        told: Payload,
    ) -> Result<(Vec<Payload>, Vec<u64>)> {
        self.reach.iter().try_for_each(|reach| reach.tell(told[0]))?;
        let seen = seat.rendezvous.meet(seat.rank, ticket, told)?;
        let place_of = |rank: usize| match &mut self.reach {
            Some(reach) => reach.place_of(rank, seen[rank][0]),
            None => Ok(seen[rank][0]),
        };
        let found = self.here.clone().map(place_of).collect::<Result<_>>()?;
        Ok((seen, found))
    }

    /// Queues what `launch` does where all of this host have come, and if it `meets` after, before they go on. Where no kernels meet
    /// hosts do, those of all replicas.
    pub(super) fn shot(
        &mut self,
        seat: &Seat,
        ticket: Ticket,
        meets: Meets,
        launch: impl FnOnce(&MergeKernels, Part) -> Result<()>,
    ) -> Result<()> {
        if let Some(together) = &mut self.together {
            return launch(&self.kernels, Some((together, meets)));
        }
        if meets.before {
            self.all_come(seat, ticket)?;
        }
        launch(&self.kernels, None)?;
        if meets.after { self.all_come(seat, ticket) } else { Ok(()) }
    }

    /// What others of this host own by `split`.
    pub(super) fn others(&self, span: &Span, copies: &[u64], split: &Split) -> Vec<Piece> {
        slices(span, copies, split, (self.rank, self.here.start))
    }

    /// What is queued from now on comes after what all have queued before.
    fn all_come(&mut self, seat: &Seat, ticket: Ticket) -> Result<()> {
        let published = self.publish()?;
        let seen = seat.rendezvous.meet(seat.rank, ticket, [0, published, 0, 0])?;
        self.acquire(&seen)
    }
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
        self.found(seat, ticket, told)
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
        self.kernels.reduce(span, copies, range, None)
    }

    fn fetch(&mut self, span: &Span, copies: &[u64], split: &Split, _rank: usize) -> Result<()> {
        self.kernels.fetch(span.address, &self.others(span, copies, split), None)
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
