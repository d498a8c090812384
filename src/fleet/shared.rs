//! Arrays of which the whole fleet has one, in parts that replicas own. See [`Scheme`] for where parts lie.
//!
//! Making one is a meeting: all replicas call it in the same order, with the same label and length, from
//! their programs. Whoever fails, all get the error, before anybody has used the memory.

use super::{Backend, Replica};
use crate::collective::{Cells, Element};
use crate::collective::{Label, MAX_REPLICAS, Owner, SLICE_ALIGN, Split, Ticket};
use crate::device::ArrayAddress;
use crate::device::{
    Claimed, CudaDevice, Descriptor, DeviceBuffer, GRANULE, Hold, Managed, Mapped,
    Memory as DeviceMemory, Part, Reservation, granules, reaches_all,
};
use crate::error::{Error, Result};
use crate::processes::{Members, hand_over};
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

/// More elements than any fleet holds.
const MOST_ELEMENTS: u64 = 1 << 48;

words!(
    /// Where an array lies.
    Scheme, "--scheme" {
        /// A copy a replica, made equal by merges: [`crate::collective::Replicated`].
        #[default]
        Replicated = "replicated",
        /// A slice a replica, in blocks of their own that all replicas read and write directly.
        Peer = "peer",
        /// One range of managed memory, a slice on each owner's GPU, where the driver is told to leave it;
        /// never more than there is room for.
        Managed = "managed",
        /// One range of addresses, a slice in each owner's memory.
        Vmm = "vmm",
    }
);

/// Where kernels find a [`Shared`] array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// Element 0; the others follow.
    Flat(u64),
    /// Element `i` is element `i % part_len` of part `i / part_len`.
    Parts {
        /// The address of element 0 of each replica's part, by rank.
        bases: [u64; MAX_REPLICAS],
        /// Elements of a part; the last ones may have fewer. Never 0.
        part_len: u64,
    },
}

/// An array `[len] T` that exists once in the fleet, each element in its owner's memory. Zeros at first.
///
/// Every replica reads and writes any element; between a write and another replica's read comes a
/// [`Replica::barrier`]. The memory goes when all replicas have dropped theirs.
pub struct Shared<T: Element> {
    label: &'static str,
    scheme: Scheme,
    split: Split,
    owner: Owner,
    memory: Memory,
    kind: PhantomData<T>,
    /// Keeps the label from other arrays.
    _name: Label,
}

enum Memory {
    /// One allocation, whatever the scheme.
    Host(Arc<Cells>),
    Cuda(Spread),
}

/// A hold on parts that lie one after another, as bytes.
struct Spread {
    hold: Hold,
    /// Bounds of the parts, `[world + 1]`.
    bounds: Vec<u64>,
    /// The parts' addresses, where kernels that know only parts find them.
    table: Option<DeviceBuffer<u64>>,
}

impl Spread {
    /// The pieces of bytes `range`: part, where in it, and where in the range.
    fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = (usize, u64, Range<usize>)> {
        let Range { start, end } = range;
        self.bounds.windows(2).enumerate().filter_map(move |(part, bounds)| {
            let (from, to) = (bounds[0].max(start), bounds[1].min(end));
            let piece = (from < to).then(|| (from - start) as usize..(to - start) as usize)?;
            Some((part, from - bounds[0], piece))
        })
    }

    fn write(&self, at: u64, bytes: &[u8], beat: &dyn Fn()) -> Result<()> {
        let mut pieces = self.pieces(at..at + bytes.len() as u64);
        pieces
            .try_for_each(|(part, start, piece)| self.hold.write(part, start, &bytes[piece], beat))
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let mut pieces = self.pieces(at..at + into.len() as u64);
        pieces.try_for_each(|(part, start, piece)| self.hold.read(part, start, &mut into[piece]))
    }
}

impl<T: Element> Shared<T> {
    /// The name it shows in tickets and errors.
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// The replica that this part is of.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Number of elements in the fleet.
    pub fn len(&self) -> usize {
        self.split.bounds().last().map_or(0, |end| *end as usize)
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where it lies.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Who owns what: equal slices, of multiples of 64 elements (`peer`) or 2 MiB (`managed`, `vmm`).
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The elements that this replica owns.
    pub fn own(&self) -> Range<usize> {
        let own = self.split.range(self.owner.rank);
        own.start as usize..own.end as usize
    }

    /// Where kernels find it, `None` on the host.
    pub fn address(&self) -> Option<Address> {
        let Memory::Cuda(spread) = &self.memory else { return None };
        let mut addresses = spread.hold.addresses();
        if self.scheme != Scheme::Peer {
            return addresses.next().map(Address::Flat);
        }
        let mut bases = [0; MAX_REPLICAS];
        bases.iter_mut().zip(addresses).for_each(|(base, address)| *base = address);
        Some(Address::Parts {
            bases,
            part_len: part_length(self.len(), self.split.bounds().len() - 1),
        })
    }

    /// How lambdas find it, `None` on the host and where a part has 2^32 elements.
    pub(crate) fn device_array(&self) -> Option<ArrayAddress> {
        let Memory::Cuda(spread) = &self.memory else { return None };
        match (self.address()?, &spread.table) {
            (Address::Parts { part_len, .. }, Some(table)) => {
                let part_length = u32::try_from(part_len).ok()?;
                Some(ArrayAddress::Parts { table: table.pointer(), part_length })
            }
            (Address::Flat(pointer), _) => Some(ArrayAddress::Flat(pointer)),
            _ => None,
        }
    }

    /// The elements in host memory, `None` on a device.
    pub fn cells(&self) -> Option<&Cells> {
        match &self.memory {
            Memory::Host(cells) => Some(cells),
            Memory::Cuda(_) => None,
        }
    }

    /// Overwrites this replica's slice, which `values` must be as long as.
    pub fn assign_own(&mut self, values: &[T]) -> Result<()> {
        let own = self.own();
        if values.len() != own.len() {
            let (given, owned) = (values.len(), own.len());
            let what =
                format!("{given} values for a slice of {owned} elements; give as many as it owns");
            return Err(self.owner.refuses(self.label, what));
        }
        match &self.memory {
            Memory::Host(cells) => {
                own.zip(values).for_each(|(i, value)| cells.set(i, *value));
                Ok(())
            }
            Memory::Cuda(spread) => {
                let at = (own.start * size_of::<T>()) as u64;
                spread.write(at, bytemuck::cast_slice(values), &|| ())
            }
        }
    }

    /// A copy of the whole array in host memory.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        match &self.memory {
            Memory::Host(cells) => {
                let mut values = crate::memory::reserved(self.label, cells.len())?;
                values.extend((0..cells.len()).map(|i| cells.get::<T>(i)));
                Ok(values)
            }
            Memory::Cuda(spread) => {
                let mut values = crate::memory::zeros(self.label, self.len())?;
                spread.read(0, bytemuck::cast_slice_mut(&mut values))?;
                Ok(values)
            }
        }
    }
}

/// Elements of a part of an array whose parts are equal.
fn part_length(length: usize, world: usize) -> u64 {
    length.div_ceil(world).next_multiple_of(SLICE_ALIGN as usize).max(SLICE_ALIGN as usize) as u64
}

/// Who owns what of `length` elements of `size` bytes.
fn equal_slices(length: usize, size: usize, world: usize, scheme: Scheme) -> Split {
    match scheme {
        Scheme::Peer | Scheme::Replicated => {
            let (part, length) = (part_length(length, world), length as u64);
            let end = |rank: u64| (part * rank).min(length);
            Split::of_lengths((0..world as u64).map(|rank| end(rank + 1) - end(rank)))
        }
        Scheme::Managed | Scheme::Vmm => {
            Split::nodes(length as u64, world, (GRANULE / size as u64) as u32)
        }
    }
}

/// What a replica keeps to itself, and the outcome that it tells.
fn apart<V>(outcome: Result<V>) -> (Option<V>, Result<()>) {
    match outcome {
        Ok(value) => (Some(value), Ok(())),
        Err(error) => (None, Err(error)),
    }
}

fn nothing(label: &str) -> Error {
    Error::machine(format!("{label}: there is nothing to share; this is a bug"))
}

impl Replica {
    /// A new array `[length] T` of zeros that exists once in the fleet, in equal slices.
    ///
    /// # Errors
    /// [`Error::Input`] for [`Scheme::Replicated`], which is [`Replica::replicated`]; [`Error::Machine`] when
    /// memory does not suffice or GPUs cannot reach each other. All replicas get the same error.
    pub fn shared<T: Element>(
        &mut self,
        label: &'static str,
        length: usize,
        scheme: Scheme,
    ) -> Result<Shared<T>> {
        let owner = self.owner();
        if scheme == Scheme::Replicated {
            return Err(owner.refuses(
                label,
                "a replicated array has a copy a replica; make it with Replica::replicated, or share it by peer, \
                 managed or vmm",
            ));
        }
        if length as u64 > MOST_ELEMENTS {
            let what = format!("{length} elements fit no machine; give at most {MOST_ELEMENTS}");
            return Err(owner.refuses(label, what));
        }
        let name = self.label(label)?;
        let split = equal_slices(length, size_of::<T>(), self.world(), scheme);
        self.come(Ticket {
            label,
            iteration: self.iteration(),
            operation: match scheme {
                Scheme::Peer => "share by peer",
                Scheme::Managed => "share by managed",
                _ => "share by vmm",
            },
            length: length as u64,
            dtype: Some(T::DTYPE),
            split: split.fingerprint(),
        })?;
        let memory = match &self.backend {
            Backend::Host(_) => {
                self.refuse_several(label)?;
                Memory::Host(self.share_cells::<T>(label, length)?)
            }
            Backend::Cuda(_) => {
                let ends = split.bounds().iter().map(|bound| bound * size_of::<T>() as u64);
                let ends: Vec<u64> = ends.collect();
                let bytes = ends[ends.len() - 1];
                Memory::Cuda(match scheme {
                    Scheme::Peer | Scheme::Replicated => self.share_blocks(label, ends)?,
                    Scheme::Managed => self.share_managed(label, granules(&ends, bytes))?,
                    Scheme::Vmm => self.share_mapped(label, granules(&ends, bytes))?,
                })
            }
        };
        Ok(Shared { label, scheme, split, owner, memory, kind: PhantomData, _name: name })
    }

    fn share_cells<T: Element>(
        &mut self,
        label: &'static str,
        length: usize,
    ) -> Result<Arc<Cells>> {
        let made = match self.rank() {
            0 => Cells::new::<T>(label, length).map(|cells| Some(Arc::new(cells))),
            _ => Ok(None),
        };
        self.first(label, made)
    }

    /// What the first replica of each process made, for all of that process. A meeting of all.
    pub(crate) fn first<V: Clone + Send + Sync + 'static>(
        &mut self,
        label: &'static str,
        made: Result<Option<V>>,
    ) -> Result<V> {
        self.first_outcome(label, made)?.ok_or_else(|| nothing(label))
    }

    /// The own device, its queue empty.
    fn quiet_device(&mut self) -> Result<&CudaDevice> {
        self.quiet()?;
        self.device()
    }

    /// Blocks of the owners' own.
    fn share_blocks(&mut self, label: &'static str, bounds: Vec<u64>) -> Result<Spread> {
        self.refuse_several(label)?;
        let own = bounds[self.rank() + 1] - bounds[self.rank()];
        let part = self.quiet_device().and_then(|device| Part::block(device, label, own));
        let parts = self.vote(label, part)?;
        let device = self.quiet_device();
        let opened = device.and_then(|d| parts.iter().try_for_each(|part| part.open_to(d)));
        self.vote(label, opened)?;
        let device = self.quiet_device()?;
        let hold = Hold::new(device, parts);
        let table = device.alloc::<u64>(label, MAX_REPLICAS);
        let (table, made) = apart(table.and_then(|table| {
            let addresses: Vec<u64> = hold.addresses().collect();
            table.upload(&addresses).map(|()| table)
        }));
        self.vote(label, made)?;
        Ok(Spread { hold, bounds, table })
    }

    /// One range of addresses in each process, an owner's memory behind each part.
    fn share_mapped(&mut self, label: &'static str, bounds: Vec<u64>) -> Result<Spread> {
        let (rank, bytes) = (self.rank(), bounds[bounds.len() - 1]);
        let size = |rank: usize| bounds[rank + 1] - bounds[rank];
        let members = self.rendezvous().processes().cloned();
        let lent = members.is_some();
        let gpu = match lent && self.collective() != "peer" {
            true => Err(self.owner().refuses(
                label,
                "GPUs of several processes map each other's memory where all are of one host, with peer access; \
                 use --placement replicated",
            )),
            false => self.quiet_device().and_then(|device| {
                let reached = if lent { Ok(()) } else { reaches_all(device, label) };
                reached.map(|()| device.ordinal)
            }),
        };
        let gpus: Vec<u32> = self.vote(label, gpu)?.iter().map(|gpu| **gpu).collect();
        let device = self.device();
        let memory = device.and_then(|device| DeviceMemory::new(device, label, size(rank), lent));
        let (memory, made) = apart(memory);
        self.vote(label, made)?;
        let reserved = match self.leads() {
            true => {
                self.device().and_then(|device| Reservation::new(device, label, bytes)).map(Some)
            }
            false => Ok(None),
        };
        let range = self.first(label, reserved.map(|made| made.map(Arc::new)))?;
        let memory = memory.ok_or_else(|| nothing(label))?;
        let others = match &members {
            None => Vec::new(),
            Some(members) => self.map_others(label, members, &memory, &bounds, (&range, &gpus))?,
        };
        let part = self.device().and_then(|device| {
            let place = (&range, bounds[rank]);
            Part::mapped(device, Mapped::new(device, label, memory, place, &gpus)?)
        });
        drop(range); // the parts hold it
        let own = self.vote(label, part)?;
        let parts = match &members {
            None => own,
            Some(members) => {
                let mut own = own.into_iter();
                let mine = members.own();
                let one = |(rank, other): (usize, Option<Arc<Part>>)| match mine.contains(&rank) {
                    true => own.next(),
                    false => other,
                };
                let all: Option<Vec<_>> = others.into_iter().enumerate().map(one).collect();
                all.ok_or_else(|| nothing(label))?
            }
        };
        Ok(Spread { hold: Hold::new(self.quiet_device()?, parts), bounds, table: None })
    }

    /// The parts of other processes, by rank, which the first replica of this one maps into `range` for its `gpus`. A meeting.
    fn map_others(
        &mut self,
        label: &'static str,
        members: &Members,
        memory: &DeviceMemory,
        bounds: &[u64],
        (range, gpus): (&Arc<Reservation>, &[u32]),
    ) -> Result<Vec<Option<Arc<Part>>>> {
        let file = self.device().and_then(|device| memory.descriptor(device, label));
        let own = self.vote(label, file)?;
        let mapped = match self.leads() {
            false => Ok(None),
            true => self.device().and_then(|device| {
                let (rank, place) = (self.rank(), self.rendezvous());
                let beat = || {
                    place.beat(rank);
                    place.failure().map_or(Ok(()), Err)
                };
                let own: Vec<Option<&Descriptor>> =
                    own.iter().map(|file| (**file).as_ref()).collect();
                let files = hand_over(members, &own, place.deadline(), &beat)?;
                let part = |(rank, file): (usize, &Option<Descriptor>)| {
                    if members.own().contains(&rank) {
                        return Ok(None);
                    }
                    beat()?;
                    let bytes = bounds[rank + 1] - bounds[rank];
                    let memory = DeviceMemory::lent(device, label, bytes, file.as_ref())?;
                    let mapped = Mapped::new(device, label, memory, (range, bounds[rank]), gpus)?;
                    Ok(Some(Arc::new(Part::Mapped(mapped))))
                };
                files.iter().enumerate().map(part).collect::<Result<Vec<_>>>().map(Some)
            }),
        };
        self.first(label, mapped)
    }

    /// One range of managed memory, each part brought to its owner.
    fn share_managed(&mut self, label: &'static str, bounds: Vec<u64>) -> Result<Spread> {
        self.refuse_several(label)?;
        let (rank, bytes) = (self.rank(), bounds[bounds.len() - 1]);
        let size = |rank: usize| bounds[rank + 1] - bounds[rank];
        let claimed = self.quiet_device().and_then(|device| {
            let gpus = device.fleet.iter().enumerate();
            let here = gpus.filter(|(_, gpu)| **gpu == device.ordinal);
            Claimed::new(device, label, size(rank), here.map(|(other, _)| size(other)).sum())
        });
        // Nothing is allocated before every GPU is known to have room for its part.
        let (claimed, made) = apart(claimed);
        self.vote(label, made)?;
        let allocated = match rank {
            0 => self.device().and_then(|device| Managed::new(device, label, bytes)).map(Some),
            _ => Ok(None),
        };
        let memory = self.first(label, allocated.map(|made| made.map(Arc::new)))?;
        let placed = self.device().and_then(|device| {
            let claimed = claimed.ok_or_else(|| nothing(label))?;
            Part::managed(device, &memory, bounds[rank]..bounds[rank + 1], claimed)
        });
        drop(memory); // the parts hold it
        let parts = self.vote(label, placed)?;
        Ok(Spread { hold: Hold::new(self.quiet_device()?, parts), bounds, table: None })
    }
}

/// Bytes over all GPUs in one range of addresses, cut where the caller says: rows of a graph.
pub(crate) struct VmmArray {
    spread: Spread,
    rank: usize,
    bytes: u64,
}

impl VmmArray {
    /// `ends` (`[world + 1]`) are the bytes at which the owners' elements end, the last of them the array's
    /// own length. Replicas hold whole granules of 2 MiB: one that straddles is its first byte's owner's.
    pub fn new(r: &mut Replica, label: &'static str, ends: &[u64]) -> Result<VmmArray> {
        let bytes = ends.last().copied().unwrap_or(0);
        let bounds = granules(ends, bytes);
        r.come(Ticket {
            label,
            iteration: r.iteration(),
            operation: "place",
            length: bytes,
            dtype: None,
            split: Split::of_lengths(bounds.windows(2).map(|w| w[1] - w[0])).fingerprint(),
        })?;
        let spread = r.share_mapped(label, bounds)?;
        Ok(VmmArray { spread, rank: r.rank(), bytes })
    }

    /// The device address of byte 0, the same on all replicas of a process.
    pub fn pointer(&self) -> u64 {
        self.spread.hold.addresses().next().unwrap_or(0)
    }

    /// Bytes of memory that this replica holds.
    pub fn own_bytes(&self) -> u64 {
        self.spread.bounds[self.rank + 1] - self.spread.bounds[self.rank]
    }

    /// The bytes from `at` on, from wherever they are.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.spread.read(at, into)
    }

    /// Copies what this replica holds of `whole`, the array's bytes from the first on. Others see it after
    /// a [`Replica::barrier`].
    pub fn upload_own(&self, r: &Replica, whole: &[u8]) -> Result<()> {
        if whole.len() as u64 > self.bytes {
            let (given, held) = (whole.len(), self.bytes);
            return Err(Error::machine(format!("upload of {given} bytes into {held}; a bug")));
        }
        let end = |rank: usize| self.spread.bounds[rank].min(whole.len() as u64);
        let own = end(self.rank)..end(self.rank + 1);
        let bytes = &whole[own.start as usize..own.end as usize];
        self.spread.write(own.start, bytes, &|| r.rendezvous().beat(r.rank()))
    }
}
