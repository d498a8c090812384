//! `neighbor_reduce`, `reduce` and `histogram`: folds over a node's arcs, over a range, into bins.

use super::args::{Args, written_by};
use super::code::{Bytes, On, Operator};
use super::for_all::{along_nodes, node_grid};
use super::host::{HostFaults, edge_at};
use super::lambda::{ArcLambda, Body, FoldLambda, Lambda, OnArc, Value};
use super::launch::{Call, Needs, Other, Shape, TILE, blocks, in_block, launch_shape};
use super::over::{Over, What};
use crate::collective::Split;
use crate::collective::op_code;
use crate::collective::{DIFFERS, Element, Marked, Marks, MergeOp, Replicated, cells};
use crate::device::ArrayAddress;
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::hash::hash;
use crate::layout::Resident;
use bytemuck::Zeroable;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// A type that can be folded: the extremes that a fold begins with.
pub trait Folded: Element + Value {
    /// Nothing is smaller.
    const LOWEST: Self;
    /// Nothing is larger.
    const HIGHEST: Self;
}

macro_rules! folded {
    ($($type:ty: $low:expr, $high:expr;)+) => {
        $(impl Folded for $type {
            const LOWEST: Self = $low;
            const HIGHEST: Self = $high;
        })+
    };
}
folded! {
    u32: 0, u32::MAX;
    u64: 0, u64::MAX;
    i32: i32::MIN, i32::MAX;
    f32: f32::NEG_INFINITY, f32::INFINITY;
    f64: f64::NEG_INFINITY, f64::INFINITY;
}

/// How the values of a node's arcs are folded, and where that goes: `Fold::to(&mut sums, MergeOp::Sum)`, say, or
/// `Fold::then(&settle, args, MergeOp::Min).backward()`.
pub struct Fold<'a, T: Folded> {
    op: MergeOp,
    backward: bool,
    goes: Goes<'a, T>,
}

/// Where folds go.
enum Goes<'a, T: Folded> {
    To(&'a mut Replicated<T>),
    Then(&'a FoldLambda<T>, Args<'a>),
}

impl<'a, T: Folded> Fold<'a, T> {
    /// Each to its node's element of `out`, `[n]`; other nodes' elements stay.
    pub fn to(out: &'a mut Replicated<T>, op: MergeOp) -> Fold<'a, T> {
        Fold { op, backward: false, goes: Goes::To(out) }
    }

    /// Each to `lambda`, in the same launch.
    pub fn then(lambda: &'a FoldLambda<T>, args: Args<'a>, op: MergeOp) -> Fold<'a, T> {
        Fold { op, backward: false, goes: Goes::Then(lambda, args) }
    }

    /// The same over the arcs into each node; needs the rows backward ([`super::ResidentOptions::backward`]).
    pub fn backward(self) -> Fold<'a, T> {
        Fold { backward: true, ..self }
    }
}

/// What a fold of nothing gives.
fn identity<T: Folded>(op: MergeOp) -> T {
    match op {
        MergeOp::Min => T::HIGHEST,
        MergeOp::Max => T::LOWEST,
        MergeOp::Or | MergeOp::Sum | MergeOp::Gather => T::zeroed(),
    }
}

/// The operation in kernels.
fn code<T: Folded>(op: MergeOp, body: &Body) -> Result<u32> {
    match op {
        MergeOp::Or if T::DTYPE.supports(op) => Ok(op_code(op)),
        MergeOp::Min | MergeOp::Max | MergeOp::Sum => Ok(op_code(op)),
        MergeOp::Or | MergeOp::Gather => {
            let (op, dtype) = (op.name(), T::DTYPE.c());
            Err(body.error(&format!(
                "{dtype} has no fold '{op}'; use min, max or sum, or u32 or u64 for or"
            )))
        }
    }
}

/// A value in a word of eight bytes, as kernels keep it.
fn slot<T: Element>(value: T) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    u64::from_le_bytes(bytes)
}

fn unslot<T: Element>(word: u64) -> T {
    bytemuck::pod_read_unaligned(&word.to_le_bytes()[..size_of::<T>()])
}

impl Replica {
    /// Folds `lambda(v, neighbor, arc, weight)` over the arcs out of every node v of the replica's part of `over` (into it,
    /// if `fold` is backward), and hands that to where `fold` says; 0, or the extreme, where there is no arc. A thread
    /// a leaf, a warp a longer row or a slice of a hub; what is added in which order depends on the degree alone, so
    /// bits do not depend on the replicas. Gather what was written by [`Resident::chunks`] where all are needed.
    ///
    /// # Errors
    /// As [`Replica::for_all`]; an operation that the type does not have.
    pub fn neighbor_reduce<T: Folded>(
        &mut self,
        label: &'static str,
        over: Over,
        lambda: &ArcLambda<T>,
        args: Args,
        fold: Fold<T>,
    ) -> Result<()> {
        let (body, on) = (&lambda.body, On::arc(T::C));
        let Fold { op, backward, goes } = fold;
        let over = along_nodes(over, body).map_err(|error| self.told(label, error))?;
        let fold = code::<T>(op, body).map_err(|error| self.told(label, error))?;
        if backward && !over.graph.is_some_and(Resident::has_backward) {
            let error = body.error(
                "folding over arcs into nodes needs the rows backward: place the graph with \
                 ResidentOptions { backward: true, .. }",
            );
            return Err(self.told(label, error));
        }
        let (mut out, then) = match goes {
            Goes::To(out) => (Some(out), None),
            Goes::Then(then, args) => (None, Some((then, args))),
        };
        let mut before = None;
        if let Some(out) = &out {
            self.check_output(label, &over, body, out)?;
            before = Some(out.alike()).filter(|alike| *alike != DIFFERS);
            out.comes_from(DIFFERS);
        }
        let operator = if then.is_some() { Operator::FoldThen } else { Operator::Fold };
        let other = then.as_ref().map(|(then, args)| {
            let on = On::folded(T::C);
            Other { body: &then.body, on, args }
        });
        let args = &args;
        let call = Call::of(label, operator, over, (body, on), args);
        let call = Call { other, fold, backward, ..call };
        // Elsewhere the old values of others' chunks count, too.
        let gathered = out.as_ref().is_none_or(|out| out.span().op == MergeOp::Gather);
        let call = if gathered { self.widened(call, None)? } else { call };
        let over = call.over;
        self.labelled(&call, |r, range| match &r.backend {
            Backend::Cuda(_) => neighbors_on_device::<T>(r, &call, range, op, out.as_deref()),
            Backend::Host(_) => lambda.on_host(args, over.graph, |f| match (&mut out, &then) {
                (Some(out), _) => {
                    let cells = cells(out.host_mut().unwrap_or_default());
                    let store = |v: usize, sum: T| sum.store(&cells[v]);
                    neighbors_on_host(r, (&over, backward), range, (f, op), &store)
                }
                (None, Some((then, args))) => then.on_host(args, over.graph, |then| {
                    neighbors_on_host(r, (&over, backward), range, (f, op), then)
                }),
                (None, None) => Ok(()),
            }),
        })?;
        if let Some(out) = out {
            let from = call.alike.flatten().zip(before);
            let made = |(launch, before)| written_by(hash(launch, before), out.label());
            out.comes_from(from.map_or(DIFFERS, made));
        }
        Ok(())
    }

    /// Refuses an output that is another replica's or too short; notes who writes it.
    fn check_output<T: Folded>(
        &self,
        label: &'static str,
        over: &Over,
        body: &Body,
        out: &Replicated<T>,
    ) -> Result<()> {
        self.owner().check(out.label(), out.owner())?;
        let nodes = over.graph.map_or(0, |g| g.graph().nodes());
        if out.len() < nodes {
            let (output, held) = (out.label(), out.len());
            let error = body.error(&format!(
                "its output {output} holds {held} elements, the graph has {nodes} nodes; make it with r.node_array"
            ));
            return Err(self.told(label, error));
        }
        if let Some(split) = over.split(self.shares()).filter(|_| out.len() == nodes) {
            out.written().store(split.fingerprint(), Ordering::Relaxed);
        }
        // The words of a set are no set here.
        if out.marks().is_some_and(|marks| marks.of() == Marked::Lines) {
            out.unmarked();
        }
        Ok(())
    }

    /// The fold by `op` of `lambda` over all elements of `over`, on all replicas: each folds some tiles of 4096
    /// elements, all get all tiles' results and fold those in order. So the bits are the same on any number of
    /// replicas, for floats too. What it reads must be the same on all replicas (merged). It waits.
    ///
    /// # Errors
    /// As [`Replica::for_all`]; an operation that the type does not have.
    pub fn reduce<T: Folded>(
        &mut self,
        label: &'static str,
        over: Over,
        lambda: &Lambda<T>,
        args: Args,
        op: MergeOp,
    ) -> Result<T> {
        let (body, on) = (&lambda.body, On::element(T::C));
        let fold = code::<T>(op, body).map_err(|error| self.told(label, error))?;
        if let What::Range(..) = over.what {
            let error = body.error("reduces what all replicas have; run it over elements or nodes");
            return Err(self.told(label, error));
        }
        let tiles = over.length().div_ceil(TILE);
        let world = if over.whole { 1 } else { self.world() };
        let split = Split::nodes(tiles, self.shares(), 1);
        let mine = if world == 1 { 0..tiles } else { split.range(self.rank()) };
        let mut partials = self.take_partials(label, tiles as usize)?;
        let operator = Operator::Reduce;
        let call = Call { fold, ..Call::of(label, operator, over, (body, on), &args) };
        self.labelled(&call, |r, _| match &r.backend {
            Backend::Cuda(_) => tiles_on_device::<T>(r, &call, mine, op, &mut partials),
            Backend::Host(_) => lambda.on_host(&args, over.graph, |f| {
                let cells = cells(partials.host_mut().unwrap_or_default());
                let tile = |t: usize| {
                    let (first, end) = (t as u64 * TILE, (t as u64 + 1) * TILE);
                    let block = first as usize..end.min(over.length()) as usize;
                    let mut sum = identity::<T>(op);
                    in_block(block, &over, &mut |i| sum = sum.combine(f(i), op));
                    slot(sum).store(&cells[t]);
                };
                r.on_host(&mine, &|tiles| tiles.for_each(&tile)).map(drop)
            }),
        })?;
        if world > 1 {
            self.gather(&mut partials, &split)?;
        }
        let result = match &self.backend {
            Backend::Cuda(_) => self.fold_on_device::<T>(&call, tiles, op, &partials),
            Backend::Host(_) => {
                let words = &partials.host().unwrap_or_default()[..tiles as usize];
                let values = words.iter().map(|word| unslot::<T>(*word));
                Ok(values.fold(identity::<T>(op), |sum, value| sum.combine(value, op)))
            }
        };
        self.keep_partials(partials);
        result
    }

    fn fold_on_device<T: Folded>(
        &mut self,
        call: &Call,
        tiles: u64,
        op: MergeOp,
        partials: &Replicated<u64>,
    ) -> Result<T> {
        let loaded = self.load(call)?;
        let (lambda, _) = call.parameters(self, loaded.number)?;
        let (device, _) = self.on_cuda()?;
        let partial = partials.device().map_or(0, |words| words.pointer());
        let words = Shape { last: tiles, partial, ..Shape::zeroed() }.as_words();
        let lane = device.lambdas.lane();
        let place = [device.lambdas.result.pointer() + 8 * lane as u64];
        let start = [slot(identity::<T>(op))];
        let parameters: [&[u64]; 4] = [&words, &lambda, &start, &place];
        device.launch_lambda(loaded.kernels[1], launch_shape(1), &parameters)?;
        self.settle()?;
        let (device, _) = self.on_cuda()?;
        Ok(unslot(device.lambdas.result.get(lane)))
    }

    /// How often `lambda` gives each bin, 0 to `bins` - 1, over all elements of `over` on all replicas: `[bins]`, the
    /// same on all of them. Each counts its own part, then the counts are summed. It waits.
    ///
    /// # Errors
    /// As [`Replica::for_all`]; a bin that is not there is reported as an index outside argument `bins`.
    pub fn histogram(
        &mut self,
        label: &'static str,
        over: Over,
        lambda: &Lambda<u32>,
        args: Args,
        bins: usize,
    ) -> Result<Vec<u64>> {
        let (body, on) = (&lambda.body, On::element("u32"));
        let mut counts = match self.operators().counts.take() {
            Some(counts) if counts.len() == bins => counts.called(label),
            old => {
                self.all_quiet(label)?;
                drop(old);
                let made = self.array(label, bins, MergeOp::Sum)?;
                self.all_quiet(label)?;
                made
            }
        };
        let operator = Operator::Histogram;
        let call = Call::of(label, operator, over, (body, on), &args);
        self.labelled(&call, |r, range| match &r.backend {
            Backend::Cuda(_) => bins_on_device(r, &call, range, &counts),
            Backend::Host(_) => lambda.on_host(&args, over.graph, |bin| {
                let host = counts.host_mut().unwrap_or_default();
                host.fill(0);
                let cells = cells(host);
                let wrong = HostFaults::default();
                r.on_host(&range, &|block| {
                    in_block(block, &over, &mut |i| {
                        let bin = bin(i) as usize;
                        match cells.get(bin) {
                            Some(cell) => _ = u64::update(cell, |old| Some(old + 1)),
                            None => wrong.report(1 + body.params.len(), bin, bins),
                        }
                    });
                })?;
                wrong.check(body)
            }),
        })?;
        if !over.whole {
            self.merge(&mut counts)?;
        }
        let all = self.read(&counts)?;
        self.operators().counts = Some(counts);
        Ok(all)
    }
}

/// Calls `to` with the fold of `f` over the arcs of each node.
fn neighbors_on_host<T: Folded>(
    r: &Replica,
    (over, backward): (&Over, bool),
    range: Range<u64>,
    (f, op): (&OnArc<T>, MergeOp),
    to: &(dyn Fn(usize, T) + Sync),
) -> Result<()> {
    let rows = over.graph.and_then(|g| if backward { g.rows_in() } else { Some(g.graph()) });
    let Some(graph) = rows else { return Ok(()) };
    let weighted = over.graph.is_some_and(Resident::weighted);
    let fold = |v: usize| {
        let row = graph.offsets()[v] as usize..graph.offsets()[v + 1] as usize;
        let sum = row.fold(identity::<T>(op), |sum, arc| {
            let edge = edge_at(graph, arc, weighted);
            sum.combine(f(v, edge.node, arc, edge.weight), op)
        });
        to(v, sum);
    };
    r.on_host(&range, &|block| in_block(block, over, &mut |v| fold(v))).map(drop)
}

fn neighbors_on_device<T: Folded>(
    r: &mut Replica,
    call: &Call,
    range: Range<u64>,
    op: MergeOp,
    out: Option<&Replicated<T>>,
) -> Result<()> {
    let loaded = r.load(call)?;
    let slices = call.over.graph.map_or(0, |g| g.hubs(call.backward).slices());
    if slices > 0 {
        r.scratch(call.label, Needs { partial: slices, ..Needs::default() })?;
    }
    if range.is_empty() {
        return Ok(());
    }
    let (lambda, then) = call.parameters(r, loaded.number)?;
    let chance = r.chance();
    let scattered = r.is_scattered(call);
    let shape = Shape::of(&range, &call.over).of_scattered(scattered);
    let mut shape = shape.with_hubs(r, &call.over, call.backward);
    let (device, scratch) = r.on_cuda()?;
    if let Some(scratch) = scratch {
        shape = shape.with(scratch);
    }
    let start = [slot(identity::<T>(op))];
    let goes = match (then, out) {
        (Some(then), _) => then,
        (None, out) => {
            let mut span = Bytes::default();
            let pointer = out.map_or(0, Replicated::address);
            let marks = Marks::of_blocks(out.and_then(Replicated::marks));
            let argument = loaded.number << 8 | (1 + call.body.params.len() as u32);
            let length = out.map_or(0, Replicated::len) as u64;
            let sink = device.lambdas.sink();
            span.span(ArrayAddress::Flat(pointer), (length, marks), sink, argument);
            span.words()
        }
    };
    let words = shape.as_words();
    let parameters: [&[u64]; 4] = [&words, &lambda, &start, &goes];
    let slices = shape.slice_grid(device, chance);
    let rows = node_grid(&shape, device, chance);
    let all = slices.as_ref().map_or(rows, |slices| rows.max(slices.blocks));
    let kernel = usize::from(slices.is_some());
    device.launch_lambda(loaded.kernels[kernel], launch_shape(all), &parameters)?;
    slices.map_or(Ok(()), |grid| device.launch_lambda(loaded.kernels[2], grid, &parameters))
}

fn tiles_on_device<T: Folded>(
    r: &mut Replica,
    call: &Call,
    mine: Range<u64>,
    op: MergeOp,
    partials: &mut Replicated<u64>,
) -> Result<()> {
    let loaded = r.load(call)?;
    if mine.is_empty() {
        return Ok(());
    }
    let (lambda, _) = call.parameters(r, loaded.number)?;
    let chance = r.chance();
    let (device, _) = r.on_cuda()?;
    let partial = partials.device().map_or(0, |words| words.pointer());
    let bits = Shape::of(&mine, &call.over).bits;
    let capacity = call.over.length();
    let shape =
        Shape { first: mine.start, last: mine.end, bits, partial, capacity, ..Shape::zeroed() };
    let start = [slot(identity::<T>(op))];
    let grid = launch_shape(blocks(mine.end - mine.start, 1, chance));
    device.launch_lambda(loaded.kernels[0], grid, &[&shape.as_words(), &lambda, &start])
}

fn bins_on_device(
    r: &mut Replica,
    call: &Call,
    range: Range<u64>,
    counts: &Replicated<u64>,
) -> Result<()> {
    let loaded = r.load(call)?;
    let (lambda, _) = call.parameters(r, loaded.number)?;
    let chance = r.chance();
    let (device, _) = r.on_cuda()?;
    let Some(bins) = counts.device() else { return Ok(()) };
    device.zero_first(bins, usize::MAX)?;
    if range.is_empty() {
        return Ok(());
    }
    let shape = Shape { capacity: bins.len() as u64, ..Shape::of(&range, &call.over) };
    let mut span = Bytes::default();
    let argument = loaded.number << 8 | (1 + call.body.params.len() as u32);
    let flat = ArrayAddress::Flat(bins.pointer());
    span.span(flat, (bins.len() as u64, 0), device.lambdas.sink(), argument);
    // Few blocks, since each adds its bins to everybody's.
    let most = device.info.multiprocessors * 8;
    let grid = launch_shape(blocks(range.end - range.start, 256, chance).min(most));
    device.launch_lambda(loaded.kernels[0], grid, &[&shape.as_words(), &lambda, &span.words()])
}
