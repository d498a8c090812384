//! What a lambda is called with.

use super::host::{HostValue, Memory, SetWords};
use super::lambda::{Body, Kind};
use crate::collective::{Dtype, Element, Frontier, Replicated, atomic_words, cells};
use crate::error::Result;

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

    /// An array to read.
    pub fn reads<T: Element>(mut self, name: &'a str, array: &'a Replicated<T>) -> Self {
        let host = array
            .host()
            .map(|values| HostValue::Array(Memory::Plain(bytemuck::cast_slice(values))));
        let device = array.device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let (kind, length) = (Kind::Reads(T::DTYPE), array.len() as u64);
        self.given.push((name, Given::Array { kind, length, host, device }));
        self
    }

    /// An array to write.
    pub fn writes<T: Element>(mut self, name: &'a str, array: &'a mut Replicated<T>) -> Self {
        let device = array.device().map(|buffer| DeviceArray::Flat(buffer.pointer()));
        let (kind, length) = (Kind::Writes(T::DTYPE), array.len() as u64);
        let shared = |values: &'a mut [T]| T::to_cells(cells(values));
        let host = array.host_mut().map(|values| HostValue::Array(Memory::Cells(shared(values))));
        self.given.push((name, Given::Array { kind, length, host, device }));
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
