//! What a lambda is called with.

use super::host::{HostValue, Memory, SetWords};
use super::lambda::{Body, Kind};
use super::text::Way;
use crate::collective::{ANYWHERE, DIFFERS, Marked, Marks, MergeOp, Noted, Owner, Split};
use crate::collective::{Dtype, Element, Frontier, Replicated, atomic_words, cells};
use crate::collective::{made_of, name_hash};
use crate::device::ArrayAddress;
use crate::error::Result;
use crate::fleet::Shared;
use crate::hash::hash;
use std::sync::atomic::Ordering;

/// What an array has come from that a launch has written under this name.
pub(super) fn written_by(launch: u64, name: &str) -> u64 {
    made_of(hash(launch, name_hash(name)))
}

/// Where an array comes from.
pub(crate) struct Made<'a> {
    label: &'static str,
    owner: Owner,
    /// What it has come from ([`Replicated::alike`]).
    alike: u64,
    /// How it is merged.
    op: Option<MergeOp>,
    /// What is noted of what is written.
    noted: Option<Noted<'a>>,
}

impl Made<'_> {
    pub fn of<T: Element>(array: &Replicated<T>) -> Made<'static> {
        let (label, owner, alike) = (array.label(), array.owner(), array.alike());
        Made { label, owner, alike, op: Some(array.span().op), noted: None }
    }

    /// The same, of which every replica has another.
    pub fn own(self) -> Self {
        Made { alike: DIFFERS, ..self }
    }

    /// The address of marks for a lambda that writes it as this; 0 where it leaves none.
    pub fn marks(&self, kind: Kind) -> u64 {
        let marks = self.noted.and_then(|noted| noted.marks);
        match kind {
            Kind::WritesSet => Marks::of_lines(marks),
            // Where all of it is merged anyway, marks are in vain.
            _ => Marks::of_blocks(marks.filter(|marks| marks.are_exact())),
        }
    }
}

/// One argument, with the borrow that it takes.
pub(crate) enum Given<'a> {
    Array {
        kind: Kind,
        length: u64,
        host: Option<HostValue<'a>>,
        device: Option<ArrayAddress>,
        made: Made<'a>,
    },
    Scalar {
        dtype: Dtype,
        bytes: [u8; 8],
    },
}

impl Given<'_> {
    pub fn kind(&self) -> Kind {
        match self {
            Given::Array { kind, .. } => *kind,
            Given::Scalar { dtype, .. } => Kind::Scalar(*dtype),
        }
    }
}

/// An array that lambdas can read.
pub trait Readable {
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn given(&self) -> Given<'_>;
}

/// An array that lambdas can write.
pub trait Writable {
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn given_mut(&mut self) -> Given<'_>;
}

#[allow(private_interfaces)]
impl<T: Element> Readable for Replicated<T> {
    fn given(&self) -> Given<'_> {
        let plain = |values| HostValue::Array(Memory::Plain(bytemuck::cast_slice(values)));
        let device = self.device().map(|buffer| ArrayAddress::Flat(buffer.pointer()));
        let (kind, length, made) = (Kind::Reads(T::DTYPE), self.len() as u64, Made::of(self));
        Given::Array { kind, length, host: self.host().map(plain), device, made }
    }
}

#[allow(private_interfaces)]
impl<T: Element> Writable for Replicated<T> {
    fn given_mut(&mut self) -> Given<'_> {
        let device = self.device().map(|buffer| ArrayAddress::Flat(buffer.pointer()));
        let (kind, length, made) = (Kind::Writes(T::DTYPE), self.len() as u64, Made::of(self));
        let shared = |values| HostValue::Array(Memory::Cells(T::to_cells(cells(values))));
        let (host, noted) = self.host_and_noted();
        let made = Made { noted: Some(noted), ..made };
        Given::Array { kind, length, host: host.map(shared), device, made }
    }
}

fn shared<T: Element>(array: &Shared<T>, kind: Kind) -> Given<'_> {
    let host = array.cells().map(|cells| HostValue::Array(Memory::Cells(cells.slice())));
    let (label, owner) = (array.label(), array.owner());
    let made = Made { label, owner, alike: DIFFERS, op: None, noted: None };
    Given::Array { kind, length: array.len() as u64, host, device: array.device_array(), made }
}

#[allow(private_interfaces)]
impl<T: Element> Readable for Shared<T> {
    fn given(&self) -> Given<'_> {
        shared(self, Kind::Reads(T::DTYPE))
    }
}

#[allow(private_interfaces)]
impl<T: Element> Writable for Shared<T> {
    fn given_mut(&mut self) -> Given<'_> {
        shared(self, Kind::Writes(T::DTYPE))
    }
}

#[allow(private_interfaces)]
/// The arguments of one call, by name and in any order. What is written is borrowed for writing.
#[derive(Default)]
pub struct Args<'a> {
    given: Vec<(&'a str, Given<'a>)>,
}

impl<'a> Args<'a> {
    /// None yet.
    pub fn new() -> Args<'a> {
        Args::default()
    }

    /// An array to read: a [`Replicated`], [`Shared`] or [`super::Queue`].
    pub fn reads(mut self, name: &'a str, array: &'a impl Readable) -> Self {
        self.given.push((name, array.given()));
        self
    }

    /// An array to write: a [`Replicated`] or [`Shared`].
    pub fn writes(mut self, name: &'a str, array: &'a mut impl Writable) -> Self {
        self.given.push((name, array.given_mut()));
        self
    }

    /// A number.
    pub fn scalar<T: Element>(mut self, name: &'a str, value: T) -> Self {
        let mut bytes = [0; 8];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        self.given.push((name, Given::Scalar { dtype: T::DTYPE, bytes }));
        self
    }

    /// An array on a device to write, as elements of another type of the same size.
    pub(super) fn bits<T: Element>(
        mut self,
        name: &'a str,
        array: &'a mut Replicated<T>,
        dtype: Dtype,
    ) -> Self {
        let device = array.device().map(|buffer| ArrayAddress::Flat(buffer.pointer()));
        array.unmarked();
        let (kind, length, made) = (Kind::Writes(dtype), array.len() as u64, Made::of(array));
        self.given.push((name, Given::Array { kind, length, host: None, device, made }));
        self
    }

    /// An array on a device to read, as elements of another type of the same size.
    pub(crate) fn reads_bits<T: Element>(
        mut self,
        name: &'a str,
        array: &'a Replicated<T>,
        dtype: Dtype,
    ) -> Self {
        let device = array.device().map(|buffer| ArrayAddress::Flat(buffer.pointer()));
        let (kind, length, made) = (Kind::Reads(dtype), array.len() as u64, Made::of(array));
        self.given.push((name, Given::Array { kind, length, host: None, device, made }));
        self
    }

    /// A number, as one of another type of the same size.
    pub(super) fn scalar_bits<T: Element>(mut self, name: &'a str, value: T, dtype: Dtype) -> Self {
        let mut bytes = [0; 8];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        self.given.push((name, Given::Scalar { dtype, bytes }));
        self
    }

    /// A set to read.
    pub fn reads_set(mut self, name: &'a str, set: &'a Frontier) -> Self {
        let nodes = set.nodes();
        let device = set.words().device().map(|buffer| ArrayAddress::Flat(buffer.pointer()));
        let words = |words| HostValue::Set { words: SetWords::Plain(words), nodes };
        let host = set.words().host().map(words);
        let (kind, length, made) = (Kind::ReadsSet, nodes as u64, Made::of(set.words()));
        self.given.push((name, Given::Array { kind, length, host, device, made }));
        self
    }

    /// A set to write.
    pub fn writes_set(mut self, name: &'a str, set: &'a mut Frontier) -> Self {
        let nodes = set.nodes();
        let device = set.words().device().map(|buffer| ArrayAddress::Flat(buffer.pointer()));
        let cells = |words| HostValue::Set { words: SetWords::Cells(atomic_words(words)), nodes };
        let (kind, length, made) = (Kind::WritesSet, nodes as u64, Made::of(set.words()));
        let (host, noted) = set.words_mut().host_and_noted();
        let (host, made) = (host.map(cells), Made { noted: Some(noted), ..made });
        self.given.push((name, Given::Array { kind, length, host, device, made }));
        self
    }

    /// Refuses arrays that are not this replica's.
    pub(crate) fn check(&self, own: Owner) -> Result<()> {
        self.given.iter().try_for_each(|(_, given)| match given {
            Given::Array { kind: kind @ Kind::WritesSet, device: Some(_), made, .. }
                if made.marks(*kind) == 0 =>
            {
                let what = "its words are another array's; make a set with r.frontier";
                Err(own.refuses(made.label, what))
            }
            Given::Array { made, .. } => own.check(made.label, made.owner),
            Given::Scalar { .. } => Ok(()),
        })
    }

    /// Notes that replicas write arrays of `of` elements each its part of `split`, and what `body` writes elsewhere: at the
    /// places of arcs, its part of `arcs`, or anywhere. With `strange` its element may be anybody's.
    pub(crate) fn note(
        &self,
        (body, strange): (&Body, bool),
        (of, split): (u64, &Split),
        arcs: Option<&Split>,
    ) {
        for (name, given) in &self.given {
            let Given::Array { kind, length, made, .. } = given else { continue };
            let Some(Noted { written, .. }) = made.noted else { continue };
            let elsewhere = body.elsewhere.iter().find(|(array, _)| array == name);
            let by = match kind {
                _ if strange => ANYWHERE,
                Kind::Writes(_) if elsewhere.is_some() => {
                    match arcs.filter(|_| elsewhere.is_some_and(|e| e.1)) {
                        Some(arcs) => arcs.fingerprint(),
                        None => ANYWHERE,
                    }
                }
                _ if *length != of => continue,
                Kind::WritesSet => split.in_units_of(64).fingerprint(),
                _ => split.fingerprint(),
            };
            written.store(by, Ordering::Relaxed);
        }
    }

    /// Notes that a lambda writes the arrays. Its writes to an array leave marks if it `marks`; those to a set do, unless its words
    /// are written as an array.
    pub(crate) fn note_marks(&self, marks: bool) {
        for (_, given) in &self.given {
            let Given::Array { kind, made, .. } = given else { continue };
            let Some(Noted { marks: Some(held), .. }) = made.noted else { continue };
            let leaves = match held.of() {
                Marked::Blocks | Marked::Terms => marks,
                Marked::Lines => *kind == Kind::WritesSet,
            };
            if !leaves {
                held.set_exact(false);
            }
        }
    }

    /// A number of what all arguments have come from, with those before; `None` where that need not be the same on all replicas.
    pub(crate) fn alike(&self, before: u64) -> Option<u64> {
        self.given.iter().try_fold(before, |all, (name, given)| {
            let all = hash(all, name_hash(name));
            match given {
                Given::Array { made, .. } if made.alike == DIFFERS => None,
                Given::Array { made, .. } => {
                    Some(hash(hash(all, name_hash(made.label)), made.alike))
                }
                Given::Scalar { bytes, .. } => Some(hash(all, u64::from_ne_bytes(*bytes))),
            }
        })
    }

    /// Notes that arrays and sets that are written have come from `launch`, or that copies may differ.
    pub(crate) fn note_alike(&self, launch: Option<u64>) {
        for (name, given) in &self.given {
            let Given::Array { made: Made { noted: Some(noted), .. }, .. } = given else {
                continue;
            };
            if let Some(alike) = noted.alike {
                let from = launch.map_or(DIFFERS, |launch| written_by(launch, name));
                alike.store(from, Ordering::Relaxed);
            }
        }
    }

    /// Whether all that `body` writes is the same after the next merge whether each replica runs it on its part or on all. With `owned`
    /// it is so even where replicas give it other numbers.
    pub(crate) fn may_be_whole(&self, body: &Body, owned: bool) -> bool {
        let written = |given: &Given| matches!(given.kind(), Kind::Writes(_) | Kind::WritesSet);
        self.given.iter().filter(|(_, given)| written(given)).all(|(name, given)| {
            let Given::Array { made, .. } = given else { return false };
            let ways = body.ways.map_or(&[][..], |ways| ways.0);
            let way = ways.iter().find(|(array, _)| array == name).map(|(_, way)| *way);
            match (way, made.op) {
                (Some(Way::Own), Some(MergeOp::Gather)) => true,
                (Some(Way::Min), Some(MergeOp::Min))
                | (Some(Way::Max), Some(MergeOp::Max))
                | (Some(Way::Or), Some(MergeOp::Or)) => !owned,
                _ => false,
            }
        })
    }

    /// The arguments in the order of the declaration, or what does not fit it.
    pub(crate) fn fitted(&self, body: &Body) -> Result<Vec<&Given<'a>>> {
        body.check()?;
        for (at, (name, given)) in self.given.iter().enumerate() {
            let Some(param) = body.params.iter().find(|param| param.name == *name) else {
                let names: Vec<&str> = body.params.iter().map(|p| p.name.as_str()).collect();
                let known = if names.is_empty() { "nothing".into() } else { names.join(", ") };
                let what =
                    format!("has no argument '{name}'; it declares {known}; give what it declares");
                return Err(body.error(&what));
            };
            if param.kind != given.kind() {
                let (wants, gets) = (param.kind.words(), given.kind().words());
                let what = format!(
                    "argument {name} is declared as: {wants}; given is: {gets}; declare what is given, or give what is \
                     declared"
                );
                return Err(body.error(&what));
            }
            if self.given[..at].iter().any(|(other, _)| other == name) {
                return Err(body.error(&format!("argument {name} is given twice; give it once")));
            }
        }
        let find = |name: &str| self.given.iter().find(|(given, _)| *given == name);
        let missing =
            |name: &str| body.error(&format!("argument {name} is missing; give it with Args"));
        let params = body.params.iter();
        params
            .map(|p| find(&p.name).map(|found| &found.1).ok_or_else(|| missing(&p.name)))
            .collect()
    }
}
