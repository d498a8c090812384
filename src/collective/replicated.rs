//! Arrays with one copy a replica and one merge operation, named at creation.

use super::{Atomic32, Element, MergeOp, Span, atomic_words, atomics};
use super::{Label, Marks, Owner, Split};
use crate::device::DeviceBuffer;
use crate::error::{Error, Result};
use crate::hash::hash;
use bitvec::prelude::{BitSlice, Lsb0};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub(crate) enum Data<T: Element> {
    Host(Vec<T>),
    Cuda(DeviceBuffer<T>),
}

/// One replica's copy of an array `[len] T` that `Replica::merge` makes equal.
pub struct Replicated<T: Element> {
    label: &'static str,
    op: MergeOp,
    data: Data<T>,
    /// Who owns what, where that is not slices by shares.
    split: Option<Split>,
    owner: Owner,
    /// Fingerprint of the split by which replicas last wrote it, 0 where that is not known or a merge came after.
    written: AtomicU64,
    /// What it has come from, as far as that may be the same on all replicas: [`DIFFERS`], [`ZEROS`] or a number of the merge or
    /// of what was done since. Copies of which the numbers are equal are. `None` for the library's own, which are written in
    /// ways that nobody notes.
    alike: Option<AtomicU64>,
    /// Marks of where it was written, on devices.
    marks: Option<Marks>,
    /// Keeps the label from other arrays; `None` for those of the library's own.
    _name: Option<Label>,
}

/// What [`Replicated::written`] says of an array that was written at any indices.
pub(crate) const ANYWHERE: u64 = u64::MAX;

/// What [`Replicated::alike`] says of an array whose copies may differ.
pub(crate) const DIFFERS: u64 = 0;
/// Of one that is all zeros.
pub(crate) const ZEROS: u64 = 2;

/// A number of a name.
pub(crate) fn name_hash(name: &str) -> u64 {
    name.as_bytes().chunks(8).fold(name.len() as u64, |all, bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        hash(all, u64::from_le_bytes(word))
    })
}

/// What an array has come from that was made of this: none of the numbers with names.
pub(crate) fn made_of(what: u64) -> u64 {
    what | 1 << 63
}

impl<T: Element> Replicated<T> {
    pub(crate) fn new(label: &'static str, op: MergeOp, data: Data<T>, owner: Owner) -> Self {
        let written = AtomicU64::new(0);
        let (split, alike, marks) = (None, None, None);
        Replicated { label, op, data, split, owner, written, alike, marks, _name: None }
    }

    /// The same, under a label that is its own: a program's, all of whose writes are seen.
    pub(crate) fn named(self, name: Label) -> Self {
        Replicated { _name: Some(name), alike: Some(AtomicU64::new(ZEROS)), ..self }
    }

    /// The same, with marks.
    pub(crate) fn marked(self, marks: Option<Marks>) -> Self {
        Replicated { marks, ..self }
    }

    /// Marks of where it was written, if it has any.
    pub(crate) fn marks(&self) -> Option<&Marks> {
        self.marks.as_ref()
    }

    /// Notes that it is written without marks, and by what others need not do.
    pub(crate) fn unmarked(&self) {
        self.marks.iter().for_each(|marks| marks.set_exact(false));
        self.comes_from(DIFFERS);
    }

    /// Notes what it has come from.
    pub(crate) fn comes_from(&self, what: u64) {
        self.alike.iter().for_each(|alike| alike.store(what, Ordering::Relaxed));
    }

    /// Notes that a lambda writes it wherever it likes.
    pub(crate) fn written_anywhere(&self) {
        self.written.store(ANYWHERE, Ordering::Relaxed);
    }

    /// What it has come from, as far as that may be the same on all replicas.
    pub(crate) fn alike(&self) -> u64 {
        self.alike.as_ref().map_or(DIFFERS, |alike| alike.load(Ordering::Relaxed))
    }

    /// The same, under another label.
    pub(crate) fn called(self, label: &'static str) -> Self {
        Replicated { label, ..self }
    }

    /// The replica that made it.
    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Where it is noted by which split replicas wrote it.
    pub(crate) fn written(&self) -> &AtomicU64 {
        &self.written
    }

    /// The same, owned by the chunks of `split`.
    pub(crate) fn owned_by(self, split: &Split) -> Self {
        Replicated { split: Some(split.clone()), ..self }
    }

    /// The name it shows in tickets and traces.
    pub fn label(&self) -> &'static str {
        self.label
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Host(values) => values.len(),
            Data::Cuda(buffer) => buffer.len(),
        }
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn span(&self) -> Span {
        let address = match &self.data {
            Data::Host(values) => values.as_ptr() as u64,
            Data::Cuda(buffer) => buffer.pointer(),
        };
        let (label, length, op) = (self.label, self.len() as u64, self.op);
        // A sum counts every copy.
        let alike = if op == MergeOp::Sum { DIFFERS } else { self.alike() };
        Span { label, address, length, dtype: T::DTYPE, op, alike }
    }

    /// The copy in host memory, `None` on a device.
    pub fn host(&self) -> Option<&[T]> {
        match &self.data {
            Data::Host(values) => Some(values),
            Data::Cuda(_) => None,
        }
    }

    /// The copy in host memory, to be written; `None` on a device.
    pub fn host_mut(&mut self) -> Option<&mut [T]> {
        self.comes_from(DIFFERS);
        match &mut self.data {
            Data::Host(values) => Some(values),
            Data::Cuda(_) => None,
        }
    }

    /// The copy in host memory, and what is noted of who writes it.
    pub(crate) fn host_and_noted(&mut self) -> (Option<&mut [T]>, Noted<'_>) {
        let host = match &mut self.data {
            Data::Host(values) => Some(values.as_mut_slice()),
            Data::Cuda(_) => None,
        };
        let (alike, marks) = (self.alike.as_ref(), self.marks.as_ref());
        (host, Noted { written: &self.written, alike, marks })
    }

    pub(crate) fn device(&self) -> Option<&DeviceBuffer<T>> {
        match &self.data {
            Data::Host(_) => None,
            Data::Cuda(buffer) => Some(buffer),
        }
    }

    /// The copy on a device, which is then its holder's; `None` on the host.
    pub(crate) fn into_buffer(self) -> Option<DeviceBuffer<T>> {
        match self.data {
            Data::Host(_) => None,
            Data::Cuda(buffer) => Some(buffer),
        }
    }

    /// Where element 0 is in the memory of the replica's GPU, `None` on the host: for other libraries that look at the values
    /// between two steps, as long as the array is there.
    pub fn device_address(&self) -> Option<u64> {
        self.device().map(DeviceBuffer::pointer)
    }

    /// The device address of element 0, for a step on a device.
    pub(crate) fn on_device(&self) -> Result<u64> {
        let elsewhere = || Error::machine(format!("{} is on the host; this is a bug", self.label));
        self.device_address().ok_or_else(elsewhere)
    }

    /// Zeroes it, on a device when what was queued before has ended.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.unmarked();
        self.comes_from(ZEROS);
        match &mut self.data {
            Data::Host(values) => values.fill(T::zeroed()),
            Data::Cuda(buffer) => buffer.clear()?,
        }
        Ok(())
    }

    /// The device address of element 0, 0 on the host.
    pub(crate) fn address(&self) -> u64 {
        self.device_address().unwrap_or(0)
    }

    /// A copy of the values in host memory; on a device this waits for the replica's stream.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        match &self.data {
            Data::Host(values) => crate::memory::copied(self.label, values),
            Data::Cuda(buffer) => buffer.to_vec(),
        }
    }

    /// Copies the first elements out, as many as `to` has.
    pub(crate) fn copy_out(&self, to: &mut [T]) -> Result<()> {
        match &self.data {
            Data::Host(values) => to.copy_from_slice(&values[..to.len()]),
            Data::Cuda(buffer) => buffer.read(0, to)?,
        }
        Ok(())
    }

    /// Overwrites the values from host memory.
    ///
    /// # Errors
    /// [`crate::Error::Input`] unless `values` are as many as the elements.
    pub fn assign(&mut self, values: &[T]) -> Result<()> {
        if values.len() != self.len() {
            let (given, held) = (values.len(), self.len());
            let what =
                format!("{given} values for an array of {held} elements; give {held} values");
            return Err(self.owner.refuses(self.label, what));
        }
        self.unmarked();
        match &mut self.data {
            Data::Host(own) => {
                own.copy_from_slice(values);
                Ok(())
            }
            Data::Cuda(buffer) => buffer.upload(values),
        }
    }
}

/// What is noted of an array when it is written.
#[derive(Clone, Copy)]
pub(crate) struct Noted<'a> {
    pub written: &'a AtomicU64,
    /// `None` for the library's own arrays.
    pub alike: Option<&'a AtomicU64>,
    pub marks: Option<&'a Marks>,
}

/// What [`crate::fleet::Replica::merge`] makes equal on all replicas: an array, or a set.
pub trait Mergeable {
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn copied(&mut self) -> Copied<'_>;
}

/// This replica's copy of an array, whatever its type.
pub(crate) struct Copied<'a> {
    pub span: Span,
    pub owner: Owner,
    pub split: Option<&'a Split>,
    pub noted: Noted<'a>,
}

#[allow(private_interfaces)]
impl<T: Element> Mergeable for Replicated<T> {
    fn copied(&mut self) -> Copied<'_> {
        let (alike, marks) = (self.alike.as_ref(), self.marks.as_ref());
        let noted = Noted { written: &self.written, alike, marks };
        Copied { span: self.span(), owner: self.owner, split: self.split.as_ref(), noted }
    }
}

#[allow(private_interfaces)]
impl Mergeable for Frontier {
    fn copied(&mut self) -> Copied<'_> {
        self.words.copied()
    }
}

impl Copied<'_> {
    /// Notes that it is merged, as far as `split` goes, in merge number `merge` of the fleet's.
    pub(crate) fn merged(&self, split: &Split, merge: u64) {
        self.noted.written.store(0, Ordering::Relaxed);
        let whole = split.bounds().last() == Some(&self.span.length);
        if let Some(alike) = self.noted.alike {
            let from = made_of(hash(name_hash(self.span.label), merge));
            alike.store(if whole { from } else { DIFFERS }, Ordering::Relaxed);
        }
    }

    /// Refuses a gather that would move other elements than replicas wrote.
    /// An array without declared owners that was written at any indices has those that the program `stated`.
    pub(crate) fn check_gather(&self, split: &Split, stated: bool) -> Result<()> {
        let (written, given) = (self.noted.written.load(Ordering::Relaxed), split.fingerprint());
        let stated = stated && self.split.is_none();
        if written == ANYWHERE && !stated {
            let what = "the last launch that wrote it did so at indices that belong to other replicas, or may: x[v] of an arc, \
                        a computed index; merge it by Min, Max or Sum, or write each element where it is owned";
            return Err(self.owner.refuses(self.span.label, what));
        }
        let declared = self.split.is_none_or(|own| own == split);
        if declared && (written == 0 || written == given) {
            return Ok(());
        }
        let what = match declared {
            true => "the last launch that wrote it dealt its elements by another split",
            false => "its owners are the chunks of the graph that it was made for",
        };
        Err(self.owner.refuses(
            self.span.label,
            format!(
                "gather by a split that is not that of its owners ({what}), so that values would be lost; gather what \
                 was written over nodes by r.gather(&mut x, g.chunks()) or in an array of r.node_array(..), what was \
                 written at arcs in an array of r.arc_array(..), and what \
                 was written over elements(n) by r.merge(&mut x) in an array of r.replicated(..)"
            ),
        ))
    }
}

impl<T: Atomic32> Replicated<T> {
    /// The host copy as atomics, for steps that relax in place; empty on a device.
    pub fn atomics(&mut self) -> &[AtomicU32] {
        self.host_mut().map_or(&[], |values| atomics(values))
    }
}

/// A set of nodes, bit-packed: bit `v % 64` of word `v / 64`. Merged by OR, or gathered by chunk.
pub struct Frontier {
    words: Replicated<u64>,
    nodes: usize,
}

impl Frontier {
    pub(crate) fn new(words: Replicated<u64>, nodes: usize) -> Self {
        Frontier { words, nodes }
    }

    /// How many nodes there are to choose from.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The words that hold the bits.
    pub fn words(&self) -> &Replicated<u64> {
        &self.words
    }

    /// The words that hold the bits, to be merged or written.
    pub fn words_mut(&mut self) -> &mut Replicated<u64> {
        &mut self.words
    }

    /// The host words as atomics; empty on a device.
    pub fn atomic_words(&mut self) -> &[AtomicU64] {
        self.words.host_mut().map_or(&[], |words| atomic_words(words))
    }

    /// The set as bits `[n]`, `None` on a device.
    pub fn bits(&self) -> Option<&BitSlice<u64, Lsb0>> {
        self.words.host().map(|words| &BitSlice::from_slice(words)[..self.nodes])
    }
}
