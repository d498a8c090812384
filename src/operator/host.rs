//! What a Rust closure sees: the same spans, sets and graph as a CUDA lambda.
//!
//! Several threads run a closure at once, so what it writes is read and written in single pieces without any
//! order (relaxed atomics): a race gives one of the values, never a torn one. A bad index reads 0, writes
//! nothing, and is reported after the launch.

use super::lambda::{Body, Kind, NO_GRAPH};
use super::text::Number;
use crate::collective::{CellSlice, Dtype, Element, MergeOp};
use crate::device::kernels::text::DIVISION;
use crate::device::{DIVIDES, bad_index};
use crate::error::Result;
use crate::graph::Graph;
use crate::layout::Resident;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// An array's memory on the host.
#[derive(Clone, Copy)]
pub(crate) enum Memory<'a> {
    /// Nobody writes it meanwhile.
    Plain(&'a [u8]),
    Cells(CellSlice<'a>),
}

/// What a name is bound to on the host.
#[derive(Clone, Copy)]
pub(crate) enum HostValue<'a> {
    Array(Memory<'a>),
    Scalar([u8; 8]),
    Set { words: SetWords<'a>, nodes: usize },
}

#[derive(Clone, Copy)]
pub(crate) enum SetWords<'a> {
    Plain(&'a [u64]),
    Cells(&'a [AtomicU64]),
}

impl SetWords<'_> {
    fn word(&self, at: usize) -> u64 {
        match self {
            SetWords::Plain(words) => words[at],
            SetWords::Cells(words) => words[at].load(Ordering::Relaxed),
        }
    }
}

/// The first bad index of a launch.
#[derive(Default)]
pub(crate) struct HostFaults {
    first: Mutex<Option<(usize, u64, u64)>>,
}

impl HostFaults {
    #[cold]
    pub fn report(&self, argument: usize, index: usize, length: usize) {
        let mut first = self.first.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.get_or_insert((argument, index as u64, length as u64));
    }

    /// The error of the first bad index.
    pub fn check(&self, body: &Body) -> Result<()> {
        let first = self.first.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match *first {
            None => Ok(()),
            Some((argument, index, length)) => {
                Err(bad_index(&body.shown(), argument_name(body, argument), index, Some(length)))
            }
        }
    }
}

/// Where the closure of a lambda that is written once divides.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Faults<'a>(&'a HostFaults);

impl Faults<'static> {
    /// For functions that are called by plain Rust: nobody is told.
    pub fn nobody() -> Faults<'static> {
        static NOBODY: HostFaults = HostFaults { first: Mutex::new(None) };
        Faults(&NOBODY)
    }
}

impl Faults<'_> {
    /// `a / b`.
    #[inline(always)]
    pub fn div<T: Number>(self, a: T, b: T) -> T {
        a.quotient(b).unwrap_or_else(|| self.divides_by_zero())
    }

    /// `a % b`.
    #[inline(always)]
    pub fn rem<T: Number>(self, a: T, b: T) -> T {
        a.remainder(b).unwrap_or_else(|| self.divides_by_zero())
    }

    #[cold]
    fn divides_by_zero<T: Number>(self) -> T {
        self.0.report(DIVISION as usize, 0, 0);
        T::zero()
    }
}

/// Arguments count from 1; 0 is the graph.
pub(crate) fn argument_name(body: &Body, argument: usize) -> &str {
    let param = argument.checked_sub(1).and_then(|at| body.params.get(at));
    match (argument, param) {
        (at, _) if at == DIVISION as usize => DIVIDES,
        (0, _) => "g",
        (_, Some(param)) => &param.name,
        (_, None) => "bins",
    }
}

/// The arguments of one launch.
pub struct Bound<'a> {
    pub(crate) body: &'a Body,
    pub(crate) values: Vec<HostValue<'a>>,
    pub(crate) graph: Option<&'a Resident>,
    pub(crate) faults: &'a HostFaults,
    /// The first thing that the closure asked for and is not there.
    pub(crate) wrong: Mutex<Option<String>>,
}

impl<'a> Bound<'a> {
    fn note(&self, what: String) {
        let mut wrong = self.wrong.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        wrong.get_or_insert(what);
    }

    #[doc(hidden)]
    pub fn faults(&'a self) -> Faults<'a> {
        Faults(self.faults)
    }

    fn find(&'a self, name: &str, kind: Kind) -> Option<(usize, HostValue<'a>)> {
        let at = self.body.params.iter().position(|p| p.name == name && p.kind == kind);
        if at.is_none() {
            let what = format!("its closure asks for '{name}' that {}", kind.words());
            self.note(format!(
                "{what}, which it does not declare; declare it, or ask for what is declared"
            ));
        }
        at.map(|at| (at + 1, self.values[at]))
    }

    /// The array that it reads under this name.
    pub fn reads<T: Element>(&'a self, name: &str) -> Reads<'a, T> {
        let found = self.find(name, Kind::Reads(T::DTYPE));
        let (argument, values) = match found {
            Some((at, HostValue::Array(Memory::Plain(bytes)))) => {
                (at, Values::Plain(bytemuck::try_cast_slice(bytes).unwrap_or_default()))
            }
            Some((at, HostValue::Array(Memory::Cells(cells)))) => {
                (at, Values::Cells(T::of_cells(cells).unwrap_or_default()))
            }
            _ => (0, Values::Plain(&[])),
        };
        Reads { values, argument, faults: self.faults }
    }

    /// The array that it writes under this name.
    pub fn writes<T: Element>(&'a self, name: &str) -> Writes<'a, T> {
        let found = self.find(name, Kind::Writes(T::DTYPE));
        let (argument, cells) = match found {
            Some((at, HostValue::Array(Memory::Cells(cells)))) => {
                (at, T::of_cells(cells).unwrap_or_default())
            }
            _ => (0, Default::default()),
        };
        Writes { cells, argument, faults: self.faults }
    }

    /// The number under this name.
    pub fn scalar<T: Element>(&'a self, name: &str) -> T {
        match self.find(name, Kind::Scalar(T::DTYPE)) {
            Some((_, HostValue::Scalar(bytes))) => {
                bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
            }
            _ => T::zeroed(),
        }
    }

    /// The set that it reads under this name.
    pub fn reads_set(&'a self, name: &str) -> NodeSet<'a> {
        self.set(name, Kind::ReadsSet)
    }

    /// The set that it writes under this name.
    pub fn writes_set(&'a self, name: &str) -> NodeSet<'a> {
        self.set(name, Kind::WritesSet)
    }

    fn set(&'a self, name: &str, kind: Kind) -> NodeSet<'a> {
        let (argument, words, nodes) = match self.find(name, kind) {
            Some((at, HostValue::Set { words, nodes })) => (at, words, nodes),
            _ => (0, SetWords::Plain(&[]), 0),
        };
        NodeSet { words, nodes, argument, faults: self.faults }
    }

    /// The graph that the launch runs over, or that its range was given by [`super::Over::with`]. A launch without one
    /// is refused.
    pub fn graph(&'a self) -> GraphView<'a> {
        if self.graph.is_none() {
            self.note(NO_GRAPH.into());
        }
        GraphView {
            weighted: self.graph.is_some_and(Resident::weighted),
            out: self.graph.map(|resident| &**resident.graph()),
            into: self.graph.and_then(Resident::rows_in),
            faults: self.faults,
        }
    }
}

enum Values<'a, T: Element> {
    Plain(&'a [T]),
    Cells(&'a [T::Atomic]),
}

impl<T: Element> Clone for Values<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Element> Copy for Values<'_, T> {}

/// An array to read.
#[derive(Clone, Copy)]
pub struct Reads<'a, T: Element> {
    values: Values<'a, T>,
    argument: usize,
    faults: &'a HostFaults,
}

impl<T: Element> Reads<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self.values {
            Values::Plain(values) => values.len(),
            Values::Cells(cells) => cells.len(),
        }
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i`.
    #[inline(always)]
    pub fn at(&self, i: usize) -> T {
        let found = match self.values {
            Values::Plain(values) => values.get(i).copied(),
            Values::Cells(cells) => cells.get(i).map(T::load),
        };
        found.unwrap_or_else(|| {
            self.faults.report(self.argument, i, self.len());
            T::zeroed()
        })
    }
}

/// An array to write.
pub struct Writes<'a, T: Element> {
    cells: &'a [T::Atomic],
    argument: usize,
    faults: &'a HostFaults,
}

impl<T: Element> Clone for Writes<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Element> Copy for Writes<'_, T> {}

impl<T: Element> Writes<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    #[inline(always)]
    fn cell(&self, i: usize) -> Option<&T::Atomic> {
        let cell = self.cells.get(i);
        if cell.is_none() {
            self.faults.report(self.argument, i, self.len());
        }
        cell
    }

    /// Element `i`.
    #[inline(always)]
    pub fn at(&self, i: usize) -> T {
        self.cell(i).map_or(T::zeroed(), T::load)
    }

    /// Writes element `i`.
    #[inline(always)]
    pub fn set(&self, i: usize, value: T) {
        if let Some(cell) = self.cell(i) {
            value.store(cell);
        }
    }

    fn combined(&self, i: usize, value: T, op: MergeOp) -> T {
        let Some(cell) = self.cell(i) else { return T::zeroed() };
        T::update(cell, |old| {
            let new = old.combine(value, op);
            (bytemuck::bytes_of(&new) != bytemuck::bytes_of(&old)).then_some(new)
        })
    }

    /// Adds to element `i`, in one piece; returns what was there.
    pub fn add(&self, i: usize, value: T) -> T {
        self.combined(i, value, MergeOp::Sum)
    }

    /// Keeps the smaller, in one piece; returns what was there. -0 is +0.
    pub fn min(&self, i: usize, value: T) -> T {
        self.combined(i, value.combine(T::zeroed(), MergeOp::Sum), MergeOp::Min)
    }

    /// Keeps the larger, in one piece; returns what was there. -0 is +0.
    pub fn max(&self, i: usize, value: T) -> T {
        self.combined(i, value.combine(T::zeroed(), MergeOp::Sum), MergeOp::Max)
    }

    /// Sets bits (unsigned types), in one piece; returns what was there.
    pub fn or(&self, i: usize, value: T) -> T {
        self.combined(i, value, MergeOp::Or)
    }

    /// Writes `to` where `from` is, in one piece; returns what was there.
    pub fn cas(&self, i: usize, from: T, to: T) -> T {
        let Some(cell) = self.cell(i) else { return T::zeroed() };
        T::update(cell, |old| (old == from).then_some(to))
    }
}

/// A set of nodes.
#[derive(Clone, Copy)]
pub struct NodeSet<'a> {
    words: SetWords<'a>,
    nodes: usize,
    argument: usize,
    faults: &'a HostFaults,
}

impl NodeSet<'_> {
    fn inside(&self, v: usize) -> bool {
        if v >= self.nodes {
            self.faults.report(self.argument, v, self.nodes);
        }
        v < self.nodes
    }

    /// Whether node `v` is in it.
    pub fn contains(&self, v: usize) -> bool {
        self.inside(v) && self.words.word(v / 64) >> (v % 64) & 1 != 0
    }

    /// Puts node `v` into it; says whether it was new.
    pub fn insert(&self, v: usize) -> bool {
        let (SetWords::Cells(words), true) = (self.words, self.inside(v)) else { return false };
        let bit = 1 << (v % 64);
        words[v / 64].load(Ordering::Relaxed) & bit == 0
            && words[v / 64].fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Takes node `v` out of it.
    pub fn erase(&self, v: usize) {
        if let (SetWords::Cells(words), true) = (self.words, self.inside(v)) {
            words[v / 64].fetch_and(!(1 << (v % 64)), Ordering::Relaxed);
        }
    }
}

/// One arc of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The other end.
    pub node: usize,
    /// Its place in the rows.
    pub arc: usize,
    /// 1 in a graph without weights.
    pub weight: f32,
}

/// The graph, as lambdas see it.
#[derive(Clone, Copy)]
pub struct GraphView<'a> {
    /// Whether weights are seen; else each is 1.
    weighted: bool,
    out: Option<&'a Graph>,
    into: Option<&'a Graph>,
    faults: &'a HostFaults,
}

impl<'a> GraphView<'a> {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.out.map_or(0, Graph::nodes)
    }

    /// Number of arcs.
    pub fn arcs(&self) -> u64 {
        self.out.map_or(0, Graph::arcs)
    }

    fn rows(
        &self,
        rows: Option<&'a Graph>,
        v: usize,
    ) -> Option<(&'a Graph, std::ops::Range<usize>)> {
        let rows = rows?;
        if v >= rows.nodes() {
            self.faults.report(0, v, rows.nodes());
            return None;
        }
        Some((rows, rows.offsets()[v] as usize..rows.offsets()[v + 1] as usize))
    }

    /// The place of the id of node `v` among the input's: `v`, unless the graph has an order of its own.
    pub fn id(&self, v: usize) -> u32 {
        self.rows(self.out, v).map_or(0, |(graph, _)| graph.rank(v as u32))
    }

    /// Arcs out of node `v`.
    pub fn degree(&self, v: usize) -> usize {
        self.rows(self.out, v).map_or(0, |(_, row)| row.len())
    }

    /// Arcs into node `v`; 0 where the rows backward are not there.
    pub fn in_degree(&self, v: usize) -> usize {
        self.rows(self.into, v).map_or(0, |(_, row)| row.len())
    }

    /// The arcs out of node `v`.
    pub fn edges(&self, v: usize) -> impl Iterator<Item = Edge> + use<'a> {
        edges_of(self.rows(self.out, v), self.weighted)
    }

    /// The arcs into node `v`; none where the rows backward are not there.
    pub fn in_edges(&self, v: usize) -> impl Iterator<Item = Edge> + use<'a> {
        edges_of(self.rows(self.into, v), self.weighted)
    }

    /// Arc number `place`, from 0 to [`GraphView::degree`] - 1, of those out of `v`, as in a step of a random walk.
    /// One that is not there is reported as a bad index, and is an arc from `v` to itself.
    pub fn edge(&self, v: usize, place: usize) -> Edge {
        self.placed(self.rows(self.out, v), v, place)
    }

    /// Arc number `place`, from 0 to [`GraphView::in_degree`] - 1, of those into `v`: a part of a long row, say. One that is not
    /// there is reported as a bad index, and is an arc from `v` to itself.
    pub fn in_edge(&self, v: usize, place: usize) -> Edge {
        self.placed(self.rows(self.into, v), v, place)
    }

    fn placed(
        &self,
        row: Option<(&Graph, std::ops::Range<usize>)>,
        v: usize,
        place: usize,
    ) -> Edge {
        let held = row.as_ref().map_or(0, |(_, row)| row.len());
        match row {
            Some((rows, row)) if place < held => edge_at(rows, row.start + place, self.weighted),
            _ => {
                self.faults.report(0, place, held);
                Edge { node: v, arc: 0, weight: 1.0 }
            }
        }
    }
}

pub(crate) fn edge_at(rows: &Graph, arc: usize, weighted: bool) -> Edge {
    // Nothing here may panic: a weight that nobody looks at is not loaded then.
    let weight = rows.weights().filter(|_| weighted).and_then(|weights| weights.get(arc));
    let weight = weight.copied().unwrap_or(1.0);
    Edge { node: rows.columns()[arc] as usize, arc, weight }
}

fn edges_of<'a>(
    row: Option<(&'a Graph, std::ops::Range<usize>)>,
    weighted: bool,
) -> impl Iterator<Item = Edge> + use<'a> {
    let (rows, row) = row.unzip();
    let arcs = row.unwrap_or(0..0);
    arcs.filter_map(move |arc| rows.map(|rows| edge_at(rows, arc, weighted)))
}

impl Dtype {
    /// The type's name in CUDA C++ and in Rust.
    pub fn c(self) -> &'static str {
        match self {
            Dtype::U8 => "u8",
            Dtype::U32 => "u32",
            Dtype::U64 => "u64",
            Dtype::I32 => "i32",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }
}
