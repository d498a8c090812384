//! `advance`: along arcs, from a set of nodes to the set of nodes that a lambda says yes to.

use super::args::{Args, written_by};
use super::code::{Bytes, On, Operator, THREADS};
use super::for_all::{along_nodes, node_grid};
use super::host::edge_at;
use super::lambda::{ArcLambda, Lambda, OnArc};
use super::launch::{Call, Needs, Other, PART, Shape, blocks, in_block, launch_shape};
use super::over::{Over, What};
use crate::collective::{DIFFERS, Frontier, Marks, MergeOp, atomic_words};
use crate::device::ArrayAddress;
use crate::device::kernels::lambda::Set;
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::hash::hash;
use crate::layout::{Placement, Resident};
use bytemuck::Zeroable;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Which end of its arcs an advance goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Out of the nodes of the replica's part of the range or set: every arc is looked at.
    #[default]
    Push,
    /// Into the nodes of the replica's chunk (others, if it writes nothing: docs/operators.md), over arcs out of the set, until the
    /// lambda says yes once. It may be called for some arcs beyond: those of a hub are dealt in slices of 512, which stop one by
    /// one. Needs the rows backward ([`super::ResidentOptions::backward`]).
    Pull,
    /// The one that costs less, by the arcs out of the set. Only for a lambda that is its own reverse: what it does along an
    /// arc is right along any one, it does not look at the place of the arc, and where it has said yes once for a node, it
    /// need not be asked again. The set must be merged, so that all replicas go in one direction. Needs the rows backward.
    Either,
}

/// How an advance goes, beside its lambda: `Advance::default().output(&mut next).only(&unseen, args).pull()`, say.
#[derive(Default)]
pub struct Advance<'a> {
    /// Push or pull.
    pub direction: Direction,
    /// A filter that is fused with it: only arcs into nodes that it wants are looked at.
    pub only: Option<(&'a Lambda<bool>, Args<'a>)>,
    /// Where nodes that the lambda said yes to are put (beside those that are there); to be merged by OR.
    pub output: Option<&'a mut Frontier>,
    /// Along arcs against their direction: what arcs come into is called source, and the place of an arc is that in the rows backward,
    /// which have to be there.
    pub backward: bool,
}

impl<'a> Advance<'a> {
    /// The same with an output.
    pub fn output(self, set: &'a mut Frontier) -> Advance<'a> {
        Advance { output: Some(set), ..self }
    }

    /// The same with a filter.
    pub fn only(self, wanted: &'a Lambda<bool>, args: Args<'a>) -> Advance<'a> {
        Advance { only: Some((wanted, args)), ..self }
    }

    /// The same, pulled.
    pub fn pull(self) -> Advance<'a> {
        Advance { direction: Direction::Pull, ..self }
    }

    /// The same, pushed or pulled, whichever costs less ([`Direction::Either`]).
    pub fn either(self) -> Advance<'a> {
        Advance { direction: Direction::Either, ..self }
    }

    /// The same along arcs against their direction.
    pub fn backward(self) -> Advance<'a> {
        Advance { backward: true, ..self }
    }
}

impl Replica {
    /// Calls `lambda(source, neighbor, arc, weight)` along the arcs out of `over`, evenly over the threads
    /// whatever the degrees; where it says yes, the neighbour joins the output. What a replica finds is in its own
    /// copy of the output until that is merged.
    ///
    /// # Errors
    /// As [`Replica::for_all`]; a pull, or an advance backward, without rows backward.
    pub fn advance(
        &mut self,
        label: &'static str,
        over: Over,
        lambda: &ArcLambda<bool>,
        args: Args,
        how: Advance,
    ) -> Result<()> {
        let (body, on) = (&lambda.body, On::arc("bool"));
        let over = along_nodes(over, body).map_err(|error| self.told(label, error))?;
        let Advance { direction, only, mut output, backward } = how;
        let operator = match (direction, &only) {
            (Direction::Push, None) => Operator::Push,
            (Direction::Push, Some(_)) => Operator::PushOnly,
            (Direction::Pull, None) => Operator::Pull,
            (Direction::Pull, Some(_)) => Operator::PullOnly,
            (Direction::Either, None) => Operator::Either,
            (Direction::Either, Some(_)) => Operator::EitherOnly,
        };
        // All nodes have more arcs than a pull looks at.
        let operator = match (operator, over.set()) {
            (Operator::Either, None) => Operator::Pull,
            (Operator::EitherOnly, None) => Operator::PullOnly,
            _ => operator,
        };
        let both = direction != Direction::Push || backward;
        if both && !over.graph.is_some_and(Resident::has_backward) {
            let error = body.error(
                "a pull, or an advance against the arcs, needs the rows backward: place the graph with \
                 ResidentOptions { backward: true, .. }",
            );
            return Err(self.told(label, error));
        }
        if let (Some(set), Some(graph)) = (&output, over.graph) {
            self.owner().check(set.words().label(), set.words().owner())?;
            self.check_set(label, set, graph)?;
            self.check_marks(label, set)?;
        }
        let other = only.as_ref().map(|(only, args)| {
            let on = On::element("bool");
            Other { body: &only.body, on, args }
        });
        let call = Call::of(label, operator, over, (body, on), &args);
        let call = self.widened(Call { other, backward, ..call }, output.as_deref())?;
        let call = Call { even: self.may_be_even(&call, output.as_deref())?, ..call };
        if let Some(set) = output.as_deref().filter(|_| call.even) {
            set.words().written_anywhere();
        }
        let launch = call.alike.flatten();
        let alike = output.as_ref().map(|set| set.words().alike());
        self.labelled(&call, |r, range| match &r.backend {
            Backend::Cuda(_) => on_device(r, &call, range, output.as_deref()),
            Backend::Host(_) => lambda.on_host(&args, over.graph, |f| match &only {
                None => on_host(r, &call, (&|_| true, f), range, output.as_deref_mut()),
                Some((only, args)) => only.on_host(args, over.graph, |wants| {
                    on_host(r, &call, (wants, f), range, output.as_deref_mut())
                }),
            }),
        })?;
        if let Some(set) = output {
            let before = alike.filter(|alike| *alike != DIFFERS);
            let from = launch.zip(before).map(|(launch, before)| hash(launch, before));
            let label = set.words().label();
            set.words().comes_from(from.map_or(DIFFERS, |from| written_by(from, label)));
        }
        Ok(())
    }

    /// Whether a call goes into nodes, leaves nothing but a set that is merged by OR, and is given the same on all replicas: then those
    /// nodes are dealt that take as long, in place of those of the chunks, whose rows have as many arcs. A pull looks at few arcs of
    /// most. It is a meeting, since all replicas have to deal alike.
    fn may_be_even(&mut self, call: &Call, output: Option<&Frontier>) -> Result<bool> {
        let pulls = match call.operator {
            Operator::Pull | Operator::PullOnly => true,
            Operator::Either | Operator::EitherOnly => self.pushes(call) == Some(false),
            _ => false,
        };
        let writes =
            call.body.writes_any() || call.other.as_ref().is_some_and(|o| o.body.writes_any());
        let joins = output.is_some_and(|set| set.words().span().op == MergeOp::Or);
        let here = call.over.graph.is_some_and(|g| g.report().placement == Placement::Replicated);
        if !pulls || writes || !joins || !here || call.over.whole || self.world() == 1 {
            return Ok(false);
        }
        let other = |all| call.other.as_ref().map_or(Some(all), |other| other.args.alike(all));
        let set = |all| match call.over.set().map(|set| set.words().alike()) {
            Some(DIFFERS) => None,
            of => Some(hash(all, of.unwrap_or(0))),
        };
        let own = call.args.alike(0).and_then(other).and_then(set);
        let own = own.map_or([0; 4], |all| [1, all, 0, 0]);
        let all = self.agree(call.label, own)?;
        Ok(own[0] != 0 && all.iter().all(|other| *other == own))
    }
}

/// Pulls walk the chunk; the set says which arcs count.
fn pulled<'a>(over: &Over<'a>) -> Over<'a> {
    Over { what: What::Nodes, ..*over }
}

fn on_device(
    r: &mut Replica,
    call: &Call,
    range: Range<u64>,
    output: Option<&Frontier>,
) -> Result<()> {
    let loaded = r.load(call)?;
    let pull = matches!(call.operator, Operator::Pull | Operator::PullOnly);
    let either = matches!(call.operator, Operator::Either | Operator::EitherOnly);
    if either {
        r.scratch(call.label, Needs::default())?;
    }
    if range.is_empty() {
        return Ok(());
    }
    let (lambda, only) = call.parameters(r, loaded.number)?;
    let pushes = r.pushes(call);
    let chance = r.chance();
    let scattered = r.is_scattered(call);
    let mut shape = Shape::of(&range, &call.over).of_scattered(scattered);
    let from = [shape.bits];
    // The rows that are walked are those against which it goes, where it pulls.
    shape = match pull {
        true => Shape::of(&range, &pulled(&call.over)).with_hubs(r, &call.over, !call.backward),
        false => shape.with_hubs(r, &call.over, call.backward),
    };
    let (device, scratch) = r.on_cuda()?;
    let mut set = Bytes::default();
    match output {
        Some(out) => {
            let array = ArrayAddress::Flat(out.words().address());
            let marks = Marks::of_lines(out.words().marks());
            let (sink, argument) = (device.lambdas.sink(), loaded.number << 8 | 255);
            set.span(array, (out.nodes() as u64, marks), sink, argument);
        }
        // No words: nothing is put anywhere.
        None => set.put(&Set::zeroed()),
    }
    let set = set.words();
    let launch = |kernel: usize, grid, shape: &Shape| {
        let shape = shape.as_words();
        let mut parameters: Vec<&[u64]> = vec![&shape, &lambda, &set];
        parameters.extend(pull.then_some(from.as_slice()));
        parameters.extend(only.as_deref());
        device.launch_lambda(loaded.kernels[kernel], grid, &parameters)
    };
    let rows = launch_shape(node_grid(&shape, device, chance));
    if let Some(scratch) = scratch.filter(|_| either) {
        shape.control = scratch.control.pointer();
        shape.capacity = match pushes {
            Some(true) => return launch(1, rows, &Shape { capacity: u64::MAX, ..shape }),
            Some(false) => 0,
            None => {
                // Of the whole set, so that all replicas go in one direction.
                let whole = Shape { first: 0, last: call.over.length(), ..shape };
                let grid = launch_shape(node_grid(&whole, device, chance));
                device.launch_lambda(loaded.kernels[0], grid, &[&whole.as_words(), &lambda])?;
                call.over.graph.map_or(0, |g| g.graph().arcs()) / PART
            }
        };
        // A pull has work for more blocks than run at once, but blocks that only begin take time, too.
        let most = device.info.multiprocessors * 32;
        let grid = blocks(range.end - range.start, THREADS.into(), chance).min(most);
        return launch(1, launch_shape(grid), &shape);
    }
    // Hubs first: most nodes hear from them, and often need nothing else.
    if let Some(grid) = shape.slice_grid(device, chance) {
        launch(1, grid, &shape)?;
    }
    launch(0, rows, &shape)
}

/// `wants` is the filter, `f` the lambda, both bound.
fn on_host(
    r: &Replica,
    call @ Call { operator, over, backward, .. }: &Call,
    (wants, f): (&(dyn Fn(usize) -> bool + Sync), &OnArc<bool>),
    range: Range<u64>,
    output: Option<&mut Frontier>,
) -> Result<()> {
    let words = output.and_then(|set| set.words_mut().host_mut()).map(atomic_words);
    let yes = |v: usize| {
        if let Some(words) = words {
            words[v / 64].fetch_or(1 << (v % 64), Ordering::Relaxed);
        }
    };
    let Some(resident) = over.graph else { return Ok(()) };
    let weighted = resident.weighted();
    let (out, into) = match backward {
        false => (Some(&**resident.graph()), resident.rows_in()),
        true => (resident.rows_in(), Some(&**resident.graph())),
    };
    let Some(graph) = out else { return Ok(()) };
    let push = |u: usize| {
        for arc in graph.offsets()[u] as usize..graph.offsets()[u + 1] as usize {
            let edge = edge_at(graph, arc, weighted);
            if wants(edge.node) && f(u, edge.node, arc, edge.weight) {
                yes(edge.node);
            }
        }
    };
    let from = over.set().and_then(|set| set.words().host());
    let in_set = |u: usize| from.is_none_or(|words| words[u / 64] >> (u % 64) & 1 != 0);
    let pull = |v: usize| {
        let Some(into) = into.filter(|_| wants(v)) else { return };
        let mut row = into.offsets()[v] as usize..into.offsets()[v + 1] as usize;
        let found = row.any(|arc| {
            let edge = edge_at(into, arc, weighted);
            in_set(edge.node) && f(edge.node, v, arc, edge.weight)
        });
        if found {
            yes(v);
        }
    };
    let chunk = pulled(over);
    let ahead = || -> u64 {
        let Some(words) = from else { return u64::MAX };
        let nodes = (0..graph.nodes()).filter(|v| words[v / 64] >> (v % 64) & 1 != 0);
        nodes.map(|v| graph.degree(v)).sum()
    };
    let pulls = match operator {
        Operator::Pull | Operator::PullOnly => true,
        Operator::Either | Operator::EitherOnly => {
            !r.pushes(call).unwrap_or_else(|| ahead() <= graph.arcs() / PART)
        }
        _ => false,
    };
    r.on_host(&range, &|block| match pulls {
        false => in_block(block, over, &mut |u| push(u)),
        true => in_block(block, &chunk, &mut |v| pull(v)),
    })
    .map(drop)
}
