//! What a lambda is called with.

use super::filter::Queue;
use super::host::{HostValue, Memory, SetWords};
use super::lambda::{Body, Kind};
use crate::collective::{Dtype, Element, Frontier, Replicated, atomic_words, cells};
use crate::error::Result;
use crate::fleet::Shared;

/// An array as a kernel finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceArray {
    /// One address.
    Flat(u64),
    /// The address of a table of addresses, one a replica, and how many elements each has.
    Parts { table: u64, part_length: u32 },
}

/// One argument, with the borrow that it takes.
pub(crate) enum Given<'a> {
    Array { kind: Kind, length: u64, host: Option<HostValue<'a>>, device: Option<DeviceArray> },
    Scalar { dtype: Dtype, bytes: [u8; 8] },
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
        let device = self.device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let (kind, length) = (Kind::Reads(T::DTYPE), self.len() as u64);
        Given::Array { kind, length, host: self.host().map(plain), device }
    }
}

#[allow(private_interfaces)]
impl<T: Element> Writable for Replicated<T> {
    fn given_mut(&mut self) -> Given<'_> {
        let device = self.device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let (kind, length) = (Kind::Writes(T::DTYPE), self.len() as u64);
        let shared = |values| HostValue::Array(Memory::Cells(T::to_cells(cells(values))));
        Given::Array { kind, length, host: self.host_mut().map(shared), device }
    }
}

fn shared<T: Element>(array: &Shared<T>, kind: Kind) -> Given<'_> {
    let host = array.cells().map(|cells| HostValue::Array(Memory::Cells(cells.slice())));
    Given::Array { kind, length: array.len() as u64, host, device: array.device_array() }
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
impl Readable for Queue {
    fn given(&self) -> Given<'_> {
        let (items, length) = (self.items(), self.len());
        let bytes = items.host().map(|all| bytemuck::cast_slice::<u32, u8>(&all[..length]));
        let host = bytes.map(|bytes| HostValue::Array(Memory::Plain(bytes)));
        let device = items.device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let kind = Kind::Reads(u32::DTYPE);
        Given::Array { kind, length: length as u64, host, device }
    }
}

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
        let device = array.device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let (kind, length) = (Kind::Writes(dtype), array.len() as u64);
        self.given.push((name, Given::Array { kind, length, host: None, device }));
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
        let device = set.words().device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let words = |words| HostValue::Set { words: SetWords::Plain(words), nodes };
        let host = set.words().host().map(words);
        let (kind, length) = (Kind::ReadsSet, nodes as u64);
        self.given.push((name, Given::Array { kind, length, host, device }));
        self
    }

    /// A set to write.
    pub fn writes_set(mut self, name: &'a str, set: &'a mut Frontier) -> Self {
        let nodes = set.nodes();
        let device = set.words().device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let cells = |words| HostValue::Set { words: SetWords::Cells(atomic_words(words)), nodes };
        let host = set.words_mut().host_mut().map(cells);
        let (kind, length) = (Kind::WritesSet, nodes as u64);
        self.given.push((name, Given::Array { kind, length, host, device }));
        self
    }

    /// The arguments in the order of the declaration, or what does not fit it.
    pub(crate) fn fitted(&self, body: &Body) -> Result<Vec<&Given<'a>>> {
        body.check()?;
        for (at, (name, given)) in self.given.iter().enumerate() {
            let Some(param) = body.params.iter().find(|param| param.name == *name) else {
                let names: Vec<&str> = body.params.iter().map(|p| p.name.as_str()).collect();
                let known = if names.is_empty() { "nothing".into() } else { names.join(", ") };
                return Err(body.error(&format!("has no argument '{name}'; it declares {known}")));
            };
            if param.kind != given.kind() {
                let (wants, gets) = (param.kind.words(), given.kind().words());
                let what = format!("argument {name} is declared as: {wants}; given is: {gets}");
                return Err(body.error(&what));
            }
            if self.given[..at].iter().any(|(other, _)| other == name) {
                return Err(body.error(&format!("argument {name} is given twice")));
            }
        }
        let find = |name: &str| self.given.iter().find(|(given, _)| *given == name);
        let missing = |name: &str| body.error(&format!("argument {name} is missing"));
        let params = body.params.iter();
        params
            .map(|p| find(&p.name).map(|found| &found.1).ok_or_else(|| missing(&p.name)))
            .collect()
    }
}
