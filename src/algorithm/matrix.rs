//! Distances from several sources to several targets, as a matrix: which rows and columns it has, and what is said of it.

use super::lanes::MOST;
use super::measure::Measured;
use super::nearest::{NONE, Nearest};
use super::workload::{Algorithm, Answer, Checked, Query, fields};
use super::{RunOptions, Seeds};
use crate::collective::{Element, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use crate::graph::Graph;
use crate::graph::array::Array;
use crate::io::{Column, Grid, RowFile, RowShape, Sum, Table};
use crate::units::plural;
use crate::verify::{self, Checker};
use bytemuck::Pod;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// Strategies.
pub(super) const LEVELS: &str = "levels";
pub(super) const COPIES: &str = "copies";
pub(super) const SEARCHES: &str = "searches";

/// A strategy as a summary tells it.
pub(super) fn strategy_told(strategy: &str) -> String {
    match strategy {
        SEARCHES => "a search from each source".into(),
        COPIES => "many sources at a time, each in a copy of the graph".into(),
        other => format!("{other}, up to {MOST} sources at a time"),
    }
}

/// Rows and columns.
#[derive(Clone)]
pub struct Ends {
    /// Nodes, by rising input id.
    pub(super) sources: Vec<u32>,
    /// The same.
    pub(super) targets: Vec<u32>,
    /// How many targets of each source are wanted: the nearest. All of them, where it does not say.
    pub(super) nearest: Option<usize>,
}

impl Ends {
    /// All nodes, where none are chosen. A value takes so many `bytes` of memory. `nearest`: so many targets of each source.
    pub(super) fn new(
        [sources, targets]: [&Option<Seeds>; 2],
        nearest: Option<u32>,
        graph: &Graph,
        bytes: usize,
    ) -> Result<Ends> {
        let nodes = |option, chosen: &Option<Seeds>| -> Result<Vec<u32>> {
            let mut nodes = chosen.as_ref().unwrap_or(&Seeds::All).resolve_of(option, graph)?;
            nodes.sort_unstable_by_key(|node| graph.rank(*node));
            Ok(nodes)
        };
        let (sources, targets) = (nodes("--sources", sources)?, nodes("--targets", targets)?);
        // Twice: replicas bring parts, which become one.
        let nearest = nearest.map(|most| (most as usize).min(targets.len()));
        let columns = nearest.unwrap_or(targets.len()) as u64;
        let bytes = bytes + if nearest.is_some() { size_of::<u32>() } else { 0 };
        let values = sources.len() as u64 * columns;
        crate::memory::room("a matrix of distances", values.saturating_mul(2 * bytes as u64))?;
        Ok(Ends { sources, targets, nearest })
    }

    /// As it follows the graph's name in a summary.
    pub(super) fn told(&self, graph: &Graph) -> String {
        let to = match self.targets.len() == graph.nodes() {
            true => String::new(),
            false => format!(" to {}", plural(self.targets.len() as u64, "target")),
        };
        match self.sources.len() == graph.nodes() {
            true => to,
            false => super::from_nodes(&self.sources, "source", graph) + &to,
        }
    }
}

/// What all replicas are told.
#[derive(Clone)]
pub(super) struct Asked {
    pub ends: Ends,
    /// Where rows go, if not into memory.
    pub file: Option<Arc<RowFile>>,
    /// Replicas have a slice of the rows each, else all.
    pub dealt: bool,
}

/// Whether replicas have parts of their own.
pub(super) fn is_dealt(fleet: &Fleet, run: &RunOptions) -> bool {
    run.merge.deals(fleet.world(), false)
}

/// Among how many replicas of so many sources are dealt.
pub(super) fn parts(world: usize, run: &RunOptions) -> usize {
    if run.merge.deals(world, false) { world } else { 1 }
}

/// What replica `rank` does of so many equal parts.
pub(super) fn part(parts: usize, dealt: bool, (rank, world): (usize, usize)) -> Range<usize> {
    match dealt {
        true => parts * rank / world..parts * (rank + 1) / world,
        false => 0..parts,
    }
}

/// The same for the same bytes.
fn hash(bytes: &[u8]) -> u64 {
    let block = |(at, block): (usize, &[u8])| {
        let words = block.chunks(8).map(|word| {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            u64::from_le_bytes(padded)
        });
        words.fold(at as u64, crate::hash::hash)
    };
    bytes.par_chunks(1 << 16).enumerate().map(block).reduce(|| 0, u64::wrapping_add)
}

/// Of all rows of all replicas, of which each has these; the same on all. `[compared, dealt]`: it is wanted at all; a meeting, of replicas
/// that may have made different numbers of steps and share this `number`.
pub(super) fn hash_of_all(
    r: &mut Replica,
    rows: &[u8],
    number: usize,
    [compared, dealt]: [bool; 2],
) -> Result<[u32; 2]> {
    if !compared {
        return Ok([0; 2]);
    }
    let mut all = hash(rows);
    if dealt {
        r.meet_as(number as u64);
        let each = r.agree("rows", [all, 0, 0, 0])?;
        all = each.iter().fold(0, |sum, own| sum.wrapping_add(own[0]));
    }
    Ok([all as u32, (all >> 32) as u32])
}

/// Values that are in memory, or in a file that is mapped.
#[derive(Debug, Clone)]
pub struct MatrixRows<T: Pod>(Array<T>);

impl<T: Pod> Deref for MatrixRows<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Pod> From<Vec<T>> for MatrixRows<T> {
    fn from(values: Vec<T>) -> Self {
        MatrixRows(values.into())
    }
}

impl<T: Pod + PartialEq> PartialEq for MatrixRows<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

/// Values of a matrix, row after row.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixValues {
    /// Numbers of arcs; `u8::MAX` where there is no path.
    U8(MatrixRows<u8>),
    /// The same of 16 bits.
    U16(MatrixRows<u16>),
    /// The same of 32 bits.
    U32(MatrixRows<u32>),
    /// Lengths; infinite where there is no path.
    F32(MatrixRows<f32>),
    /// The same of 64 bits.
    F64(MatrixRows<f64>),
}

impl Default for MatrixValues {
    fn default() -> Self {
        MatrixValues::U32(Vec::new().into())
    }
}

/// Does the same with the values of any type.
macro_rules! any {
    ($values:expr, $all:ident => $body:expr) => {
        match $values {
            MatrixValues::U8($all) => $body,
            MatrixValues::U16($all) => $body,
            MatrixValues::U32($all) => $body,
            MatrixValues::F32($all) => $body,
            MatrixValues::F64($all) => $body,
        }
    };
}

impl MatrixValues {
    /// How many there are.
    pub fn len(&self) -> usize {
        any!(self, all => all.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type, as NumPy calls it.
    pub fn dtype(&self) -> &'static str {
        match self {
            MatrixValues::U8(_) => "uint8",
            MatrixValues::U16(_) => "uint16",
            MatrixValues::U32(_) => "uint32",
            MatrixValues::F32(_) => "float32",
            MatrixValues::F64(_) => "float64",
        }
    }

    /// The value at a place; infinite where there is no path.
    pub fn get(&self, place: usize) -> f64 {
        any!(self, all => all[place].length())
    }

    /// The number of arcs at a place.
    fn hops(&self, place: usize) -> Option<u32> {
        let value = self.get(place);
        value.is_finite().then_some(value as u32)
    }

    fn sum(&self) -> Sum {
        any!(self, all => sum(all))
    }

    /// Those that have a node.
    fn kept(&self, nodes: &[u32]) -> MatrixValues {
        any!(self, all => {
            let there = all.iter().zip(nodes).filter(|(_, node)| **node != NONE);
            Cell::matrix(there.map(|(value, _)| *value).collect::<Vec<_>>().into())
        })
    }
}

/// A type of values.
pub(super) trait Cell: Pod + Send + Sync {
    /// As NumPy writes it.
    const DESCR: &'static str;

    /// Infinite where there is no path.
    fn length(self) -> f64;

    /// A matrix of them.
    fn matrix(values: MatrixRows<Self>) -> MatrixValues;
}

macro_rules! cells {
    ($($t:ty, $descr:literal, $variant:ident, |$value:ident| $length:expr;)+) => {
        $(impl Cell for $t {
            const DESCR: &'static str = $descr;

            fn length(self) -> f64 {
                let $value = self;
                $length
            }

            fn matrix(values: MatrixRows<$t>) -> MatrixValues {
                MatrixValues::$variant(values)
            }
        })+

        /// Parts of the same type, one after another; of all processes, if `apart`.
        fn joined(parts: Vec<MatrixValues>, fleet: &Fleet, apart: bool) -> Result<MatrixValues> {
            let one = if apart || parts.len() != 1 { None } else { parts.first() };
            match (one, parts.first()) {
                (Some(one), _) => Ok(one.clone()),
                $((_, Some(MatrixValues::$variant(_))) => {
                    let all = parts.iter().flat_map(|part| match part {
                        MatrixValues::$variant(values) => values.chunks(usize::MAX),
                        _ => [].chunks(1),
                    });
                    let all: Vec<$t> = all.collect::<Vec<_>>().concat();
                    let all = if apart { fleet.concat("rows", all)? } else { all };
                    Ok(MatrixValues::$variant(all.into()))
                })+
                (_, None) => Ok(MatrixValues::default()),
            }
        }
    };
}

cells! {
    u8, "|u1", U8, |hops| if hops == u8::MAX { f64::INFINITY } else { hops.into() };
    u16, "<u2", U16, |hops| if hops == u16::MAX { f64::INFINITY } else { hops.into() };
    u32, "<u4", U32, |hops| if hops == u32::MAX { f64::INFINITY } else { hops.into() };
    f32, "<f4", F32, |length| length.into();
    f64, "<f8", F64, |length| length;
}

/// What is to be said of values.
fn sum<T: Cell>(values: &[T]) -> Sum {
    let of = |value: &T| match value.length() {
        length if length.is_finite() => Sum { unreached: 0, farthest: length },
        _ => Sum { unreached: 1, farthest: 0.0 },
    };
    values.par_iter().map(of).reduce(Sum::default, Sum::and)
}

/// Rows that a replica brings.
#[derive(Default)]
pub(super) struct BroughtRows {
    values: MatrixValues,
    /// The node of each value, where the nearest are wanted.
    nodes: Vec<u32>,
}

/// The rows of a replica, in memory or in a file, or the nearest targets of each.
pub(super) struct Kept<T> {
    own: Range<usize>,
    /// Values of a row that stay.
    columns: usize,
    nearest: Option<Nearest<T>>,
    /// All of them, or those that are on their way to the file.
    values: Vec<T>,
    file: Option<Arc<RowFile>>,
}

impl<T: Cell> Kept<T> {
    /// Of rows `own`, of which at most so many come at a time.
    pub fn new(own: Range<usize>, asked: &Asked, most: usize) -> Result<Kept<T>> {
        let Asked { ends, file, .. } = asked;
        let rows = if file.is_some() { most.min(own.len()) } else { own.len() };
        let nearest = Nearest::new(ends, rows, most)?;
        let columns = nearest.as_ref().map_or(ends.targets.len(), |nearest| nearest.most);
        let values = crate::memory::zeros("rows", rows * columns)?;
        Ok(Kept { own, columns, nearest, values, file: file.clone() })
    }

    /// The rows, `most` at a time, but for those that are in the file.
    pub fn lacking(&self, most: usize) -> Vec<Range<usize>> {
        let all = self.own.clone().step_by(most).map(|first| first..self.own.end.min(first + most));
        let there =
            |rows: &Range<usize>| self.file.as_ref().is_some_and(|file| file.has(rows.clone()));
        all.filter(|rows| !there(rows)).collect()
    }

    /// Keeps the rows that `fill` writes.
    pub fn put(
        &mut self,
        rows: Range<usize>,
        fill: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<()> {
        let first = if self.file.is_some() { 0 } else { rows.start - self.own.start };
        if let Some(nearest) = &mut self.nearest {
            fill(nearest.block(rows.len()))?;
            nearest.keep(rows, first, &mut self.values);
            return Ok(());
        }
        let place = &mut self.values[first * self.columns..][..rows.len() * self.columns];
        fill(place)?;
        match &self.file {
            Some(file) => file.put(rows.start, bytemuck::cast_slice(place), sum(place)),
            None => Ok(()),
        }
    }

    /// Of what is in memory, of all replicas: [`hash_of_all`].
    pub fn hash(&self, r: &mut Replica, number: usize, compared: [bool; 2]) -> Result<[u32; 2]> {
        let values = bytemuck::cast_slice(&self.values);
        match &self.nearest {
            None => hash_of_all(r, values, number, compared),
            Some(nearest) => {
                let nodes = bytemuck::cast_slice(&nearest.nodes);
                hash_of_all(r, &[values, nodes].concat(), number, compared)
            }
        }
    }

    /// What a replica brings: its own rows where they are `dealt`, all of them on the first of a process elsewhere.
    pub fn brought(self, r: &Replica, dealt: bool) -> BroughtRows {
        let brings = self.file.is_none() && (dealt || r.leads());
        if !brings {
            return BroughtRows { values: T::matrix(Vec::new().into()), nodes: Vec::new() };
        }
        let nodes = self.nearest.map(|nearest| nearest.nodes).unwrap_or_default();
        BroughtRows { values: T::matrix(self.values.into()), nodes }
    }
}

/// A type of values that GPUs find.
pub(super) trait Placed: Cell {
    /// That in which a GPU finds them: as many bits, or 32.
    type Found: Element;

    /// Copies as many values out as `to` has.
    fn copied(rows: &Replicated<Self::Found>, to: &mut [Self]) -> Result<()>;

    /// The error of a distance of so many arcs, for which there is no room.
    fn no_room(arcs: u32) -> Error;
}

impl Placed for f32 {
    type Found = u32;

    fn copied(rows: &Replicated<u32>, to: &mut [f32]) -> Result<()> {
        rows.copy_out(bytemuck::cast_slice_mut(to))
    }

    fn no_room(_: u32) -> Error {
        Error::machine("a sum of weights without room; this is a bug")
    }
}

impl<T: Placed> Kept<T> {
    /// Keeps the rows that a replica has found, once it has; an error where a value, `beyond`, has no room.
    pub fn bring(
        &mut self,
        r: &mut Replica,
        rows: Range<usize>,
        (found, beyond): (&Replicated<T::Found>, &Replicated<u32>),
    ) -> Result<()> {
        r.settle()?;
        self.put(rows, |to| T::copied(found, to))?;
        match r.read(beyond)?[0] {
            0 => Ok(()),
            arcs => Err(T::no_room(arcs)),
        }
    }
}

/// The file that rows are written to as they are found, if there is to be one.
pub(super) fn file_of<T: Cell>(
    into: Option<&Path>,
    name: &str,
    (ends, graph): (&Ends, &Graph),
) -> Result<Option<Arc<RowFile>>> {
    let Some(path) = into else { return Ok(None) };
    graph.load()?;
    let of =
        |all, nodes: &[u32]| nodes.iter().map(|node| (*node).into()).fold(all, crate::hash::hash);
    let names = [name, T::DESCR].into_iter().flat_map(str::bytes).map(u64::from);
    let question = names.fold(graph.fingerprint(), crate::hash::hash);
    let (rows, columns) = (ends.sources.len(), ends.targets.len());
    let question = of(of(question, &ends.sources), &ends.targets);
    let shape = RowShape { rows, columns, descr: T::DESCR, bytes: size_of::<T>(), question };
    RowFile::open(path, shape).map(|file| Some(Arc::new(file)))
}

/// Refuses what does not go together with the nearest targets alone.
pub(super) fn check_nearest(nearest: Option<u32>, into: Option<&Path>) -> Result<()> {
    match nearest {
        Some(0) => Err(Error::input("--nearest 0: use 1 or more")),
        Some(most) if into.is_some() => Err(Error::input(format!(
            "--into with --nearest {most}: it is for whole rows; use --output"
        ))),
        _ => Ok(()),
    }
}

/// Refuses a file of rows where they are not found once, by one process.
pub(super) fn check_into(
    fleet: &Fleet,
    into: Option<&Path>,
    (run, extras): (&RunOptions, bool),
) -> Result<()> {
    let Some(path) = into else { return Ok(()) };
    let why = if !fleet.is_alone() {
        "several processes: it is for one; leave it out, or start one process"
    } else if run.runs > 1 || run.warmup > 0 || !extras {
        "a benchmark: rows are written once; leave --benchmark, --runs and --warmup out"
    } else {
        return Ok(());
    };
    Err(Error::input(format!("--into {} with {why}", path.display())))
}

/// Sources and the targets that are nearest to them, the source itself not counted; `[pairs]` each. Sources by rising input id, and of each
/// its targets by distance, those of one distance by rising input id.
#[derive(Debug, Clone, Default)]
pub struct NearestPairs {
    /// How many targets of each source were asked for.
    pub most: usize,
    /// Sources.
    pub source: Vec<u32>,
    /// Targets.
    pub target: Vec<u32>,
}

impl NearestPairs {
    /// From the nodes of each row, `[sources, most]`.
    fn new(most: usize, sources: &[u32], nodes: Vec<u32>) -> NearestPairs {
        let each = nodes.chunks(most.max(1)).zip(sources);
        let pairs = each.flat_map(|(row, source)| row.iter().map(move |node| (*source, *node)));
        let (source, target) = pairs.filter(|(_, node)| *node != NONE).unzip();
        NearestPairs { most, source, target }
    }
}

/// Distances from sources to targets.
#[derive(Debug, Clone, Default)]
pub struct DistanceMatrix {
    /// `[sources]` the nodes of the rows, by rising input id.
    pub sources: Vec<u32>,
    /// `[targets]` the nodes of the columns, by rising input id.
    pub targets: Vec<u32>,
    /// `[sources, targets]` distances; of the pairs that `nearest` has, where that was asked for.
    pub values: MatrixValues,
    /// The nearest targets of each source.
    pub nearest: Option<NearestPairs>,
    /// Pairs without a path.
    pub unreached: u64,
    /// The largest distance of the others.
    pub farthest: f64,
    /// How it was found: `levels`, up to 1,024 sources at a time, `copies`, many, or `searches`, one after another.
    pub strategy: &'static str,
    /// Timings and counts.
    pub measured: Measured,
}

impl DistanceMatrix {
    /// From the rows of each replica of this process, or from the file that has them.
    pub(super) fn of<T: Cell>(
        fleet: &Fleet,
        (ends, graph): (&Ends, &Graph),
        (parts, file, dealt): (Vec<BroughtRows>, Option<Arc<RowFile>>, bool),
        (strategy, mut measured): (&'static str, Measured),
    ) -> Result<DistanceMatrix> {
        let Ends { sources, targets, nearest } = ends.clone();
        let (values, sum, nearest) = match file {
            Some(file) => {
                let sum = file.finish()?;
                (T::matrix(MatrixRows(file.values()?)), sum, None)
            }
            None => {
                // Where all have all rows, those of the first are the answer.
                let all = if dealt { parts.len() } else { 1 };
                let parts = parts.into_iter().take(all).map(|part| (part.values, part.nodes));
                let (values, nodes): (Vec<_>, Vec<_>) = parts.unzip();
                let apart = dealt && !fleet.is_alone();
                let mut values = joined(values, fleet, apart)?;
                let pairs = match nearest {
                    None => None,
                    Some(most) => {
                        let nodes = nodes.concat();
                        let nodes =
                            if apart { fleet.concat("nearest nodes", nodes)? } else { nodes };
                        values = values.kept(&nodes);
                        Some(NearestPairs::new(most, &sources, nodes))
                    }
                };
                let sum = values.sum();
                (values, sum, pairs)
            }
        };
        measured.reached = graph.nodes() as u64;
        measured.reached_arcs = graph.arcs() * sources.len() as u64;
        let Sum { unreached, farthest } = sum;
        let rest = DistanceMatrix { sources, targets, values, nearest, ..Default::default() };
        Ok(DistanceMatrix { unreached, farthest, strategy, measured, ..rest })
    }

    /// The distance of a row and a column of a whole matrix, by number; infinite where there is no path.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.values.get(row * self.targets.len() + column)
    }
}

impl<A: Algorithm<Start = Ends, Answer = DistanceMatrix>> Answer<A> for DistanceMatrix {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<A>) -> &'static str {
        self.strategy
    }

    fn strategy_line(&self, _: &Query<A>) -> String {
        strategy_told(self.strategy)
    }

    fn cuts(&self, _: &Query<A>) -> String {
        String::new()
    }

    fn lines(&self, _: &Query<A>) -> Vec<(&'static str, String)> {
        let (rows, columns) = (self.sources.len() as u64, self.targets.len() as u64);
        let unreached = match self.unreached {
            0 => String::new(),
            some => format!(", {} without a path", plural(some, "pair")),
        };
        let (rows, columns) = (plural(rows, "source"), plural(columns, "target"));
        let (farthest, dtype) = (self.farthest, self.values.dtype());
        if let Some(NearestPairs { most, source, .. }) = &self.nearest {
            let pairs = plural(source.len() as u64, "pair");
            let of = format!("the nearest {most} of {columns} to each of {rows}");
            return vec![("answer", format!("{of}: {pairs} of {dtype}, the largest {farthest}"))];
        }
        vec![(
            "answer",
            format!("{rows} x {columns} of {dtype}{unreached}, the largest {farthest}"),
        )]
    }

    fn rated(&self) -> &'static str {
        "once for each source"
    }

    fn variant(&self, _: &Query<A>) -> String {
        let nearest = self.nearest.as_ref().map(|nearest| format!("_nearest-{}", nearest.most));
        let (rows, columns) = (self.sources.len(), self.targets.len());
        format!("variant:sources-{rows}_targets-{columns}{}", nearest.unwrap_or_default())
    }

    /// How many `sources-searched` and `targets`; `dtype`; pairs without a path, `unreached-pairs`; the largest distance, `farthest`; how
    /// many targets of each source were asked for, `nearest`, where that is.
    fn facts(&self, _: &Query<A>) -> Map<String, Value> {
        fields([
            ("sources-searched", json!(self.sources.len())),
            ("targets-found", json!(self.targets.len())),
            ("dtype", json!(self.values.dtype())),
            ("unreached-pairs", json!(self.unreached)),
            ("farthest", json!(self.farthest)),
            ("nearest", json!(self.nearest.as_ref().map(|nearest| nearest.most))),
        ])
    }

    fn table(&self, _: &Query<A>) -> Table<'_> {
        let values = match &self.values {
            MatrixValues::U8(all) => Column::Count8(all),
            MatrixValues::U16(all) => Column::Count16(all),
            MatrixValues::U32(all) => Column::Count(all),
            MatrixValues::F32(all) => Column::F32(all),
            MatrixValues::F64(all) => Column::Distance(all),
        };
        if let Some(NearestPairs { source, target, .. }) = &self.nearest {
            let ends = [("source", Column::Node(source)), ("target", Column::Node(target))];
            return Table::listed(ends.into_iter().chain([("distance", values)]));
        }
        let grid = Grid { rows: &self.sources, columns: &self.targets, values };
        Table::of_grid(["source", "target"], "distance", grid)
    }

    fn verify(&self, query: &Query<A>, by: &Checker) -> Result<Checked> {
        let (graph, values) = (&query.graph, &self.values);
        let (sources, targets) = (&self.sources[..], &self.targets[..]);
        let pairs = |NearestPairs { most, source, target }: &NearestPairs| {
            let by = match values {
                MatrixValues::F32(_) => verify::NearestBy::Weight32,
                MatrixValues::F64(_) => verify::NearestBy::Weight64,
                _ => verify::NearestBy::Arcs,
            };
            let found = verify::NearestFound { most: *most, source, target };
            verify::nearest(graph, (sources, targets), by, found, |place| values.get(place))
        };
        let looked = by.by_host(|| match values {
            _ if self.nearest.is_some() => self.nearest.as_ref().map_or(Ok(0), pairs),
            MatrixValues::F32(all) => verify::distances(graph, sources, targets, all),
            MatrixValues::F64(all) => verify::distances(graph, sources, targets, all),
            _ => {
                let hops = |place| values.hops(place);
                verify::hops(graph, sources, targets, values.len(), hops)
            }
        })?;
        let rows = plural(sources.len() as u64, "row");
        let skipped =
            (looked < sources.len()).then(|| format!("{looked} of {rows} were looked at"));
        Ok(Checked { skipped, found: fields([("rows", json!(looked))]), note: String::new() })
    }
}
