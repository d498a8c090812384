//! What all operators have in common: labels, loading, the parameters of kernels, loops on the host.

use super::args::{Args, Given};
use super::code::{Bytes, Form, On, Operator, THREADS, unit};
use super::host::{Bound, HostFaults, HostValue};
use super::lambda::{
    ArcLambda, Body, FoldLambda, Lambda, NO_GRAPH, NO_GRAPH_TYPE, OnArc, OnElement, OnFolded, Value,
};
use super::over::{Over, What};
use super::set::Sets;
use crate::collective::Payload;
use crate::collective::{DIFFERS, Frontier, Marks, MergeOp, Replicated, name_hash};
use crate::device::ArrayAddress;
use crate::device::kernels::lambda::{Graph, Rows};
use crate::device::kernels::operators;
pub(super) use crate::device::kernels::operators::Shape;
use crate::device::{CudaDevice, DeviceBuffer, LANES, Launch, Loaded, nvtx};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Placed, Replica};
use crate::hash::hash;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{DeviceRows, Placement, Resident, most_slices};
use bytemuck::Zeroable;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::ptr;
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Instant;

/// One launch, as [`Replica::launches`] lists it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct LaunchRecord {
    /// The caller's label.
    pub label: &'static str,
    /// The operator, as in `for_all`.
    pub operator: &'static str,
    /// The lambda's name; none of what is done with sets.
    pub lambda: String,
    /// Elements of this replica's range, whether or not they are in the set.
    pub elements: u64,
    /// Milliseconds until it had ended.
    pub ms: f64,
}

/// What operators keep between calls.
#[derive(Default)]
pub(crate) struct Operators {
    scratch: HashMap<usize, Scratch>,
    /// `[tiles] u64, replicated, GATHER`: results of a reduction's tiles.
    partials: Option<Replicated<u64>>,
    /// `[bins] u64, replicated, SUM`.
    pub(super) counts: Option<Replicated<u64>>,
    pub(super) sets: Option<Sets>,
    trace: Option<Vec<LaunchRecord>>,
    /// The set that rounds had last, as far as that is known.
    pub(super) last: Option<Extent>,
    /// Rounds begin on several replicas, and were not over a set yet.
    pub(super) begins: bool,
    /// The rows that a launch over a set went along last.
    pub(super) rows: Option<Along>,
    /// Lambdas, and operators on them, that were launched before, on the host.
    met: HashSet<(u64, u64, u64)>,
}

/// The rows of a graph, forward or backward.
pub(super) struct Along {
    pub graph: Weak<Resident>,
    pub backward: bool,
    /// Some are long.
    pub uneven: bool,
}

/// How large a set of nodes is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub nodes: u64,
    /// Arcs out of them, where these were counted.
    pub arcs: Option<u64>,
    /// Counted, and not foretold.
    pub exact: bool,
}

/// Device memory of a lane's launches.
pub(super) struct Scratch {
    pub queue: DeviceBuffer<u32>,
    pub control: DeviceBuffer<u64>,
    pub partial: DeviceBuffer<u64>,
    pub marks: DeviceBuffer<u32>,
}

/// Elements that are reduced together.
pub(super) const TILE: u64 = operators::TILE as u64;

/// The device arrays that operators keep beside a graph of this shape and a program's own.
pub(crate) fn arrays(shape: &GraphShape) -> Vec<DeviceArray> {
    let most = |length: usize| length.next_power_of_two().max(64);
    let tiles = shape.nodes.div_ceil(TILE) as usize;
    let rows = if shape.symmetric { 1 } else { 2 };
    vec![
        DeviceArray::new::<u32>("slices of long rows", 2 * rows * most_slices(shape.all_arcs())),
        DeviceArray::new::<u32>("an operator's queue", most(0)),
        DeviceArray::new::<u64>("an operator's counters", 8),
        DeviceArray::new::<u64>("partial results", most(most_slices(shape.all_arcs()))),
        DeviceArray::new::<u32>("an operator's marks", most(0)),
        DeviceArray::new::<u64>("partial results", tiles.next_power_of_two().max(1024)),
    ]
}

/// What a launch asks of [`Scratch`], in elements.
#[derive(Clone, Copy, Default)]
pub(super) struct Needs {
    pub queue: usize,
    pub partial: usize,
    pub marks: usize,
}

impl Shape {
    pub(super) fn of(range: &Range<u64>, over: &Over) -> Shape {
        let words = over.set().map(Frontier::words);
        let bits = words.map_or(0, Replicated::address);
        let lines = Marks::of_lines(words.and_then(Replicated::marks));
        Shape { first: range.start, last: range.end, bits, lines, ..Shape::zeroed() }
    }

    pub(super) fn with(self, scratch: &Scratch) -> Shape {
        Shape {
            queue: scratch.queue.pointer(),
            control: scratch.control.pointer(),
            partial: scratch.partial.pointer(),
            marks: scratch.marks.pointer(),
            ..self
        }
    }

    /// The same of a set whose nodes lie far from each other.
    pub(super) fn of_scattered(self, scattered: bool) -> Shape {
        Shape { scattered: scattered.into(), ..self }
    }

    /// The same with the long rows of the range, forward or backward.
    pub(super) fn with_hubs(self, r: &Replica, over: &Over, backward: bool) -> Shape {
        let Some(hubs) = over.graph.map(|graph| graph.hubs(backward)) else { return self };
        let Range { start, end } = hubs.slices_of(&(self.first..self.last));
        Shape { slices: hubs.list(r.rank()), slice_first: start, slice_last: end, ..self }
    }

    /// The blocks of a launch over the slices of long rows, if there are any: each warp looks at as many.
    pub(super) fn slice_grid(&self, device: &CudaDevice, chance: Option<u64>) -> Option<Launch> {
        let slices = self.slice_last - self.slice_first;
        let most = device.info.multiprocessors * 16;
        (slices > 0)
            .then(|| launch_shape(blocks(slices, u64::from(THREADS / 32), chance).min(most)))
    }

    /// As a kernel's parameter.
    pub(super) fn as_words(&self) -> [u64; size_of::<Shape>() / 8] {
        bytemuck::cast(*self)
    }
}

/// Arcs that a GPU looks at in less time than a merge takes.
const FEW: u64 = 1 << 22;

/// Arcs and nodes up to which operators over all of a graph run whole on every replica. Where the nodes of a set may lie far from each
/// other, it is followed whole up to as many arcs.
const SMALL: u64 = 1 << 20;

/// On hosts both limits are divided by this.
const HOST: u64 = 64;

/// A push costs less than a pull where it goes along at most this part of all arcs: it looks at each of them, in random places,
/// a pull at few arcs of each node (Beamer et al., SC 2012, section 4).
pub(super) const PART: u64 = 15;

/// One node in so many is in a set whose nodes lie far from each other.
const SCATTERED: u64 = 32;

/// First uses that are remembered on the host.
const MOST_MET: usize = 4096;

/// A block a `per_block` elements, up to what kernels then stride over.
pub(super) fn blocks(elements: u64, per_block: u64, chance: Option<u64>) -> u32 {
    let wanted = elements.div_ceil(per_block).clamp(1, 1 << 20);
    chance.map_or(wanted, |chance| 1 + chance % wanted) as u32
}

pub(super) fn launch_shape(blocks: u32) -> Launch {
    Launch::of(blocks, THREADS)
}

/// A call, before it is known what it runs on.
pub(super) struct Call<'c> {
    pub label: &'static str,
    pub operator: Operator,
    pub over: Over<'c>,
    /// What it was asked to run over: by this it is noted who owns what it writes.
    pub asked: Over<'c>,
    pub body: &'c Body,
    pub on: On,
    /// Says which nodes are wanted, or takes a fold.
    pub other: Option<Other<'c>>,
    pub args: &'c Args<'c>,
    /// The operation of a fold, as in kernels; 0 elsewhere.
    pub fold: u32,
    /// It goes along arcs against their direction.
    pub backward: bool,
    /// It goes into nodes, and any replica may take any of them (`may_be_even`).
    pub even: bool,
    /// [`Replica::alike_after`], once it is known.
    pub alike: Option<Option<u64>>,
}

/// The second lambda of a call.
pub(super) struct Other<'c> {
    pub body: &'c Body,
    pub on: On,
    pub args: &'c Args<'c>,
}

impl<'c> Call<'c> {
    /// Of one lambda, along the arcs, without a fold.
    pub fn of(
        label: &'static str,
        operator: Operator,
        over: Over<'c>,
        (body, on): (&'c Body, On),
        args: &'c Args<'c>,
    ) -> Call<'c> {
        let (other, fold, backward, even, alike) = (None, 0, false, false, None);
        let asked = over;
        Call { label, operator, over, asked, body, on, other, args, fold, backward, even, alike }
    }

    /// The operator, its fold and its direction: what differs between the kernels of the same lambdas.
    fn kind(&self) -> u64 {
        (u64::from(self.fold) << 1 | u64::from(self.backward)) << 8 | self.operator as u64
    }

    /// Differs where replicas launch other lambdas.
    fn fingerprint(&self) -> u64 {
        let other = self.other.as_ref().map_or(0, |other| other.body.fingerprint());
        self.body.fingerprint() ^ self.kind() ^ other.rotate_left(32)
    }

    /// The parameters of the lambda and of the other one, as kernels take them.
    pub fn parameters(&self, r: &Replica, number: u32) -> Result<(Vec<u64>, Option<Vec<u64>>)> {
        let given = self.args.fitted(self.body)?;
        let own = struct_bytes(r, self.over.graph, &given, number << 8)?;
        let other = self.other.as_ref().map(|other| {
            let first = number << 8 | (1 + self.body.params.len() as u32);
            struct_bytes(r, self.over.graph, &other.args.fitted(other.body)?, first)
        });
        let other = other.transpose()?;
        // 4 KiB is what a kernel takes; a few hundred bytes are for the rest.
        if own.len() + other.as_ref().map_or(0, Vec::len) > 440 {
            return Err(Error::input(
                "lambda arguments: they take more than 3520 bytes; use fewer",
            ));
        }
        Ok((own, other))
    }
}

fn pointers(rows: Option<&DeviceRows>) -> Rows {
    rows.map_or(Rows::zeroed(), |rows| Rows {
        offsets: rows.offsets.pointer(),
        columns: rows.columns.pointer(),
        weights: rows.weights.as_ref().map_or(0, Placed::pointer),
    })
}

/// The struct of src/operator/code.rs; `first` numbers its graph for messages, arguments follow.
fn struct_bytes(
    r: &Replica,
    graph: Option<&Resident>,
    given: &[&Given],
    first: u32,
) -> Result<Vec<u64>> {
    let Backend::Cuda(device) = &r.backend else { return Err(mixed()) };
    let sink = device.lambdas.sink();
    let mut bytes = Bytes::default();
    let [out, into] = graph.map_or([None; 2], |g| g.device_rows(r.rank()));
    let (nodes, arcs) = graph.map_or((0, 0), |g| (g.graph().nodes() as u64, g.graph().arcs()));
    let ids = graph.map_or(0, |g| g.ids(r.rank()));
    bytes.put(&Graph {
        out: pointers(out),
        r#in: pointers(into),
        nodes,
        arcs,
        ids,
        sink,
        bad: 0, // each thread's own
        argument: first,
        unused: 0,
    });
    for (at, given) in given.iter().enumerate() {
        match given {
            Given::Array { kind, length, device, made, .. } => {
                let array = device.ok_or_else(mixed)?;
                bytes.span(array, (*length, made.marks(*kind)), sink, first + 1 + at as u32);
            }
            Given::Scalar { dtype, bytes: value } => bytes.push(&value[..dtype.size()]),
        }
    }
    Ok(bytes.words())
}

fn mixed() -> Error {
    Error::input("lambda arguments: an array is of another backend; make it with this replica")
}

impl Replica {
    /// What operators keep on this replica.
    pub(super) fn operators(&mut self) -> &mut Operators {
        self.attach()
    }

    /// Begins (or ends) a record of every launch, for [`Replica::launches`]. Each then waits until it has ended, so
    /// that a traced program is slower.
    pub fn trace_launches(&mut self, on: bool) {
        self.operators().trace = on.then(Vec::new);
    }

    /// What was launched since [`Replica::trace_launches`].
    pub fn launches(&self) -> &[LaunchRecord] {
        let operators = self.attached::<Operators>();
        operators.and_then(|o| o.trace.as_deref()).unwrap_or_default()
    }

    /// Runs `body` under the call's label: in messages, profilers and the trace.
    pub(super) fn labelled<T>(
        &mut self,
        call: &Call,
        body: impl FnOnce(&mut Replica, Range<u64>) -> Result<T>,
    ) -> Result<T> {
        if let Backend::Cuda(device) = &self.backend {
            // Of an earlier launch, so not under this one's label.
            device.bad_index()?;
        }
        self.check_call(call)?;
        let out = self.launched(call, body).map_err(|error| self.told(call.label, error))?;
        self.leave();
        Ok(out)
    }

    /// `error` with the label of a call and this replica, where it is one about a lambda.
    pub(super) fn told(&self, label: &'static str, error: Error) -> Error {
        match error {
            // What another replica failed with says whose it is.
            Error::Input(text)
                if text.starts_with("lambda ") && self.rendezvous().failure().is_none() =>
            {
                self.owner().refuses(label, text)
            }
            other => other,
        }
    }

    /// Refuses what a call must not be given, before anything runs.
    fn check_call(&self, call: &Call) -> Result<()> {
        let own = self.owner();
        if let Some(graph) = call.over.graph {
            if graph.fleet() != own.fleet {
                let what = "its graph is with another fleet; place the graph for this one with Resident::new";
                return Err(own.refuses(call.label, what));
            }
            if let Some(set) = call.over.set() {
                own.check(set.words().label(), set.words().owner())?;
                self.check_set(call.label, set, graph)?;
            }
        }
        call.args.check(own)?;
        call.other.as_ref().map_or(Ok(()), |other| other.args.check(own))
    }

    /// Refuses a set of other nodes than the graph's.
    pub(super) fn check_set(&self, label: &str, set: &Frontier, graph: &Resident) -> Result<()> {
        let (held, nodes) = (set.nodes(), graph.graph().nodes());
        if held == nodes {
            return Ok(());
        }
        let name = set.words().label();
        let what = format!(
            "set {name} is of {held} nodes, the graph has {nodes} nodes; make it with r.frontier({name:?}, \
             g.graph().nodes(), ..)"
        );
        Err(self.owner().refuses(label, what))
    }

    fn launched<T>(
        &mut self,
        call: &Call,
        body: impl FnOnce(&mut Replica, Range<u64>) -> Result<T>,
    ) -> Result<T> {
        self.enter(call.label)?;
        // On a device the first use is a meeting (`load`): here too, so that a program that runs on the host
        // runs on GPUs.
        if let Backend::Host(_) = &self.backend {
            let met = &mut self.operators().met;
            if met.len() > MOST_MET {
                met.clear();
            }
            let other = call.other.as_ref().map_or(0, |other| other.body.id);
            if met.insert((call.body.id, other, call.kind())) {
                self.meet_for(call)?;
            }
        }
        if let (Some(_), Some(graph)) = (call.over.set(), call.over.graph) {
            self.goes_along(graph, call.backward);
        }
        let even = call.even.then(|| call.over.graph?.pull_chunks(self.shares(), !call.backward));
        let split = even.flatten().map(Cow::Borrowed).or_else(|| call.over.split(self.shares()));
        let range = call.over.part(self.rank(), split.as_deref());
        if let Some(split) = &call.asked.split(self.shares()) {
            // A filter is asked about neighbours, and the arcs of a pull come from anywhere.
            let [strange, asked] = call.operator.strangers();
            let other = call.other.as_ref().map(|other| (other.body, other.args, asked));
            // Rows backward are other rows, unless the graph is symmetric: their places are no replica's.
            let rows = call.over.graph.filter(|g| !call.backward || g.graph().is_symmetric());
            for (body, args, strange) in [(call.body, call.args, strange)].into_iter().chain(other)
            {
                let at_arcs = body.elsewhere.iter().any(|(_, arcs)| *arcs);
                let arcs = rows.filter(|_| at_arcs).map(Resident::arc_chunks);
                args.note((body, strange), (call.over.length(), split), arcs.as_ref());
            }
        }
        let launch = call.alike.unwrap_or_else(|| self.alike_after(call));
        let others = call.other.iter().map(|other| (other.body, other.args));
        for (body, args) in [(call.body, call.args)].into_iter().chain(others) {
            args.note_marks(body.place.is_some());
            args.note_alike(launch);
        }
        if let Some(set) = call.over.set() {
            self.find_marks(call.label, set)?;
        }
        let (operator, elements) = (call.operator.name(), range.end - range.start);
        let lambda = &call.body.name;
        self.traced(call.label, (operator, lambda), elements, |r| body(r, range))
    }

    /// Notes the rows that a launch over a set goes along.
    pub(super) fn goes_along(&mut self, graph: &Resident, backward: bool) {
        let rows = &mut self.operators().rows;
        let same = |held: &Along| ptr::eq(held.graph.as_ptr(), graph) && held.backward == backward;
        if !rows.as_ref().is_some_and(same) {
            let uneven = graph.hubs(backward).slices() > 0;
            *rows = Some(Along { graph: graph.me(), backward, uneven });
        }
    }

    /// A number of a launch that leaves the same on all replicas, if they all come to it with the same number; `None` where
    /// they may leave something else.
    pub(super) fn alike_after(&self, call: &Call) -> Option<u64> {
        let Call { over, body, other, args, .. } = call;
        let (pulls, whole) = (call.operator.pulls(), over.whole && over.is_dealt());
        // A pull stops early. A filter is asked about a node more than once at a time.
        let filters = other.as_ref().filter(|_| call.operator != Operator::FoldThen);
        if self.world() == 1
            || !whole
            || pulls && body.writes_any()
            || filters.is_some_and(|other| other.body.writes_any())
        {
            return None;
        }
        let of = |all: u64, body: &Body, args: &Args| args.alike(hash(all, body.ways?.1));
        let graph = over.graph.map_or(0, Resident::number);
        let all = [call.kind(), over.length(), graph].into_iter().fold(0, hash);
        let all = match over.set().map(Frontier::words) {
            Some(words) if words.alike() == DIFFERS => return None,
            Some(words) => hash(hash(all, name_hash(words.label())), words.alike()),
            None => all,
        };
        let all = of(all, body, args)?;
        other.as_ref().map_or(Some(all), |other| of(all, other.body, other.args))
    }

    /// Whether a launch along the arcs out of the nodes of a set, or of all nodes, takes less time than what is done to spread it, as
    /// far as is known.
    fn is_few(&self, Call { operator, over, backward, .. }: &Call) -> bool {
        let Some(graph) = over.graph else { return false };
        let of = |most: u64| match &self.backend {
            Backend::Cuda(_) => most,
            Backend::Host(_) => most / HOST,
        };
        let (all, nodes) = (graph.graph().arcs(), graph.graph().nodes() as u64);
        match over.what {
            What::Set(_) => {
                let turns = matches!(operator, Operator::Either | Operator::EitherOnly);
                let most = |ahead: u64| if turns { ahead.min(all / PART + nodes) } else { ahead };
                self.ahead(over, *backward).is_some_and(|ahead| most(ahead) <= of(FEW))
            }
            What::Nodes | What::Arcs => all + nodes <= of(SMALL),
            What::Elements(_) | What::Range(..) => false,
        }
    }

    /// The set that rounds had last, as far as that is known.
    fn last(&self) -> Option<Extent> {
        self.attached::<Operators>().and_then(|operators| operators.last)
    }

    /// Arcs out of a set, or more than there are, as far as that is known.
    fn ahead(&self, over: &Over, backward: bool) -> Option<u64> {
        let (graph, last) = (over.graph?, self.last()?);
        let most = || last.nodes.saturating_mul(graph.hubs(backward).longest);
        over.set().map(|_| last.arcs.unwrap_or_else(most))
    }

    /// Whether an advance over a set that may go either way pushes, where that is known here: all replicas know the same.
    pub(super) fn pushes(&self, Call { over, backward, .. }: &Call) -> Option<bool> {
        let (graph, last) = (over.graph?, self.last()?);
        let few = self.ahead(over, *backward)? <= graph.graph().arcs() / PART;
        match last.arcs {
            Some(_) => last.exact.then_some(few),
            None => few.then_some(true),
        }
    }

    /// Whether a small set's nodes lie so far from each other that a warp finds no more than it has lanes in the lines it looks at.
    pub(super) fn is_scattered(&self, call: &Call) -> bool {
        let far = |last: Extent| last.nodes.saturating_mul(SCATTERED) <= call.over.length();
        let few = self.ahead(&call.over, call.backward).is_some_and(|ahead| ahead <= SMALL);
        few && self.last().is_some_and(far)
    }

    /// `call` over all of a small set, or of a small graph, on every replica, in place of each one's part, where the next merges then
    /// find the same and have nothing to exchange: for a few nodes they take longer than the launch.
    pub(super) fn widened<'c>(
        &mut self,
        call: Call<'c>,
        output: Option<&Frontier>,
    ) -> Result<Call<'c>> {
        self.measure_first(&call.over, call.backward)?;
        let call = self.perhaps_wide(call, output);
        Ok(Call { alike: call.alike.or_else(|| Some(self.alike_after(&call))), ..call })
    }

    fn perhaps_wide<'c>(&self, call: Call<'c>, output: Option<&Frontier>) -> Call<'c> {
        let Call { over, .. } = call;
        let Some(graph) = over.graph else { return call };
        let few = self.is_few(&call);
        let sharded = graph.report().placement == Placement::Sharded;
        // All nodes are done whole where it makes no difference whatever replicas do: what owners write is what counts.
        let owned = over.set().is_none();
        let joins = output.is_none_or(|set| !owned && set.words().span().op == MergeOp::Or);
        // A pull goes through all nodes, however small the set is.
        let pulls = matches!(call.operator, Operator::Pull | Operator::PullOnly);
        let of = |body: &Body, args: &Args| args.may_be_whole(body, owned);
        let other = call.other.as_ref().is_none_or(|other| of(other.body, other.args));
        let lambdas = of(call.body, call.args) && other;
        if over.whole || !few || pulls || sharded || !joins || !lambdas {
            return call;
        }
        let wide = Call { over: over.whole(), ..call };
        match self.alike_after(&wide) {
            Some(alike) => Call { alike: Some(Some(alike)), ..wide },
            None => Call { over, ..wide },
        }
    }

    /// Runs `body` under its label in profilers, and in the trace.
    pub(super) fn traced<T>(
        &mut self,
        label: &'static str,
        (operator, lambda): (&'static str, &str),
        elements: u64,
        body: impl FnOnce(&mut Replica) -> Result<T>,
    ) -> Result<T> {
        let _profiled = nvtx(label);
        let start = Instant::now();
        let out = body(self)?;
        if self.operators().trace.is_some() {
            self.settle()?;
            let (ms, lambda) = (start.elapsed().as_secs_f64() * 1e3, lambda.into());
            let record = LaunchRecord { label, operator, lambda, elements, ms };
            self.operators().trace.get_or_insert_default().push(record);
        }
        Ok(out)
    }

    /// The kernels of a call: loaded before, or compiled and loaded while the whole fleet is quiet (a thread
    /// that loads while a peer waits inside a collective can block it).
    pub(super) fn load(&mut self, call: &Call) -> Result<Loaded> {
        let wide = call.over.graph.is_some_and(Resident::wide);
        let graph = call.over.graph.is_some();
        let other = call.other.as_ref();
        let others = other.map(|other| other.args.fitted(other.body)).transpose()?;
        let parts = [parts(&call.args.fitted(call.body)?), parts(&others.unwrap_or_default())];
        let set = call.over.set().is_some();
        let backward = call.backward;
        let form = Form { parts, wide, graph, set, backward, fold: call.fold };
        let tag = [wide, graph, set].iter().fold(call.kind(), |tag, is| tag << 1 | u64::from(*is));
        let key = (call.body.id, other.map_or(0, |other| other.body.id), tag, parts);
        if let Backend::Cuda(device) = &self.backend
            && let Some(found) = device.loaded(&key)
        {
            return Ok(found);
        }
        self.meet_for(call)?;
        let bodies = (call.body, &call.on);
        let second = other.map(|other| (other.body, &other.on));
        let unit = unit(call.operator, bodies, second, form)?;
        let named = |body: &Body| -> Vec<String> {
            let params = body.params.iter().map(|param| param.name.clone());
            std::iter::once("g".into()).chain(params).collect()
        };
        let mut arguments = named(call.body);
        if let Some(Other { body, .. }) = other {
            let others = named(body).into_iter();
            arguments.extend(others.map(|name| format!("{name} of {}", body.name)));
        }
        let Backend::Cuda(device) = &mut self.backend else { return Err(mixed()) };
        device.load_lambda(key, &unit, arguments).map_err(|error| match error {
            Error::Input(said) if !graph && said.contains(NO_GRAPH_TYPE) => {
                call.body.error(NO_GRAPH)
            }
            other => other,
        })?;
        let loaded = device.loaded(&key);
        self.all_quiet(call.label)?;
        loaded.ok_or_else(|| Error::machine("a lambda that was loaded is not there; this is a bug"))
    }

    /// Everybody has come here to launch the same for the first time, and nothing is under way.
    fn meet_for(&mut self, call: &Call) -> Result<()> {
        self.drain()?;
        let own = [call.body.name_hash(), call.fingerprint(), 0, 0];
        let all = self.agree(call.label, own)?;
        let differs = |other: &Payload| other[0] == all[0][0] && other[1] != all[0][1];
        all.iter().position(differs).map_or(Ok(()), |other| {
            Err(call.body.error(&format!(
                "replica {other} launches another lambda of this name than replica 0: text, arguments or closure \
                 differ; give lambdas that differ names of their own, and launch the same one on all replicas"
            )))
        })
    }

    /// Everybody has come here, and nothing is under way.
    pub(super) fn all_quiet(&mut self, label: &'static str) -> Result<()> {
        self.drain()?;
        self.agree(label, [0; 4]).map(|_| ())
    }

    /// Memory for launches on the current lane; grows while the fleet is quiet.
    pub(super) fn scratch(&mut self, label: &'static str, needs: Needs) -> Result<()> {
        let Backend::Cuda(device) = &self.backend else { return Ok(()) };
        let lane = device.lambdas.lane();
        let held = self.attached::<Operators>().and_then(|o| o.scratch.get(&lane));
        let fits = held.is_some_and(|held| {
            held.queue.len() >= needs.queue
                && held.partial.len() >= needs.partial
                && held.marks.len() >= needs.marks
        });
        if fits {
            return Ok(());
        }
        self.all_quiet(label)?;
        let old = self.operators().scratch.remove(&lane);
        let Backend::Cuda(device) = &self.backend else { return Ok(()) };
        let held = old.map_or(Needs::default(), |old| Needs {
            queue: old.queue.len(),
            partial: old.partial.len(),
            marks: old.marks.len(),
        });
        let most = |a: usize, b: usize| a.max(b).next_power_of_two().max(64);
        let made = Scratch {
            queue: device.alloc("an operator's queue", most(needs.queue, held.queue))?,
            control: device.alloc("an operator's counters", 8)?,
            partial: device.alloc("partial results", most(needs.partial, held.partial))?,
            marks: device.alloc("an operator's marks", most(needs.marks, held.marks))?,
        };
        self.operators().scratch.insert(lane, made);
        self.all_quiet(label)
    }

    /// The device, its scratch of the current lane.
    pub(super) fn on_cuda(&self) -> Result<(&CudaDevice, Option<&Scratch>)> {
        let Backend::Cuda(device) = &self.backend else { return Err(mixed()) };
        let scratch = self.attached::<Operators>().map(|o| &o.scratch);
        Ok((device, scratch.and_then(|scratch| scratch.get(&device.lambdas.lane()))))
    }

    /// The replicated words of a reduction's tiles, at least `tiles`.
    pub(super) fn take_partials(
        &mut self,
        label: &'static str,
        tiles: usize,
    ) -> Result<Replicated<u64>> {
        match self.operators().partials.take() {
            Some(found) if found.len() >= tiles => Ok(found),
            old => {
                self.all_quiet(label)?;
                drop(old);
                let room = tiles.next_power_of_two().max(1024);
                let made = self.array("partial results", room, MergeOp::Gather)?;
                self.all_quiet(label)?;
                Ok(made)
            }
        }
    }

    pub(super) fn keep_partials(&mut self, partials: Replicated<u64>) {
        self.operators().partials = Some(partials);
    }

    /// Runs `body` with its launches on stream `lane` (0 is the main one, 1 to 15 are beside it). Lambdas on
    /// different lanes overlap: none of them may write what another reads or writes. The main stream waits for
    /// all lanes at [`Replica::join`], at merges and when anything is read.
    pub fn on<T>(
        &mut self,
        lane: usize,
        body: impl FnOnce(&mut Replica) -> Result<T>,
    ) -> Result<T> {
        if lane >= LANES {
            return Err(Error::input(format!("lane {lane}: use 0 to {}", LANES - 1)));
        }
        if let Backend::Cuda(device) = &mut self.backend {
            device.switch(lane)?;
        }
        let out = body(self);
        if let Backend::Cuda(device) = &mut self.backend {
            device.switch(0)?;
        }
        out
    }

    /// The master join: what follows waits for what all lanes have so far.
    pub fn join(&mut self) -> Result<()> {
        match &mut self.backend {
            Backend::Cuda(device) => device.join(),
            Backend::Host(_) => Ok(()),
        }
    }

    /// The replica's own copy of an array, in host memory: merge it first where all of it is meant. It waits for
    /// all launches.
    ///
    /// # Errors
    /// An index outside an array that a launch met, naming lambda and argument.
    pub fn read<T: crate::collective::Element>(&mut self, array: &Replicated<T>) -> Result<Vec<T>> {
        self.owner().check(array.label(), array.owner())?;
        self.settle()?;
        array.to_vec()
    }

    /// Runs `body` and says how many milliseconds its launches took on the device, from the first to the last
    /// (on the host: by the clock). It waits, before and after.
    pub fn elapsed<T>(&mut self, body: impl FnOnce(&mut Replica) -> Result<T>) -> Result<(T, f64)> {
        self.settle()?;
        self.clock()?;
        let start = Instant::now();
        if let Backend::Cuda(device) = &self.backend {
            device.mark(0, false)?;
        }
        let out = body(self)?;
        self.join()?;
        if let Backend::Cuda(device) = &self.backend {
            device.mark_last()?;
        }
        self.settle()?;
        let ms = match &self.backend {
            Backend::Cuda(device) => device.interval_ms(0)?,
            Backend::Host(_) => start.elapsed().as_secs_f64() * 1e3,
        };
        Ok((out, ms))
    }

    /// Copies `from` over `to`, which is as long, on the replica's own device; asynchronous as a launch.
    pub fn copy<T: crate::collective::Element>(
        &mut self,
        from: &Replicated<T>,
        to: &mut Replicated<T>,
    ) -> Result<()> {
        let own = self.owner();
        own.check(from.label(), from.owner())?;
        own.check(to.label(), to.owner())?;
        to.unmarked();
        if from.len() != to.len() {
            let (source, given, held) = (from.label(), from.len(), to.len());
            let what = format!(
                "a copy of {source}, of {given} elements, over an array of {held} elements; make them as long"
            );
            return Err(own.refuses(to.label(), what));
        }
        match (&self.backend, from.device(), to.device()) {
            (Backend::Cuda(device), Some(from), Some(to)) => device.copy(from, to)?,
            _ => to.assign(from.host().unwrap_or_default())?,
        }
        to.comes_from(from.alike());
        Ok(())
    }
}

fn parts(given: &[&Given]) -> u64 {
    given.iter().enumerate().fold(0, |all, (at, given)| match given {
        Given::Array { device: Some(ArrayAddress::Parts { .. }), .. } => all | 1 << at,
        _ => all,
    })
}

macro_rules! on_host {
    ($lambda:ident, $on:ident) => {
        impl<R: Value> $lambda<R> {
            /// Calls `run` with the closure, bound to its arguments. An argument that is not there, or an index outside of
            /// an array, is an error.
            pub(super) fn on_host<T>(
                &self,
                args: &Args,
                graph: Option<&Resident>,
                run: impl FnOnce(&$on<R>) -> Result<T>,
            ) -> Result<T> {
                let body = &self.body;
                let bind = self.bind.as_ref().ok_or_else(|| body.hostless())?;
                let values = args.fitted(body)?.into_iter().map(|given| match given {
                    Given::Array { host, .. } => host.ok_or_else(mixed),
                    Given::Scalar { bytes, .. } => Ok(HostValue::Scalar(*bytes)),
                });
                let (values, faults) = (values.collect::<Result<_>>()?, HostFaults::default());
                let bound = Bound { body, values, graph, faults: &faults, wrong: Mutex::new(None) };
                let closure = bind(&bound);
                if let Some(wrong) = &*bound.wrong.lock().unwrap_or_else(PoisonError::into_inner) {
                    return Err(body.error(wrong));
                }
                let found = run(&closure)?;
                faults.check(body)?;
                Ok(found)
            }
        }
    };
}
on_host!(Lambda, OnElement);
on_host!(ArcLambda, OnArc);
on_host!(FoldLambda, OnFolded);

/// Blocks of a range for the host's threads.
pub(super) fn host_blocks(
    range: &Range<u64>,
    threads: usize,
) -> impl IndexedParallelIterator<Item = Range<usize>> + use<> {
    let (start, end) = (range.start as usize, range.end as usize);
    let size = ((end - start) / (threads * 8).max(1)).clamp(64, 4096);
    let block = move |at: usize| start + at * size..end.min(start + (at + 1) * size);
    (0..(end - start).div_ceil(size)).into_par_iter().map(block)
}

/// Calls `each` for all elements of a block that are in the set.
pub(super) fn in_block(block: Range<usize>, over: &Over, each: &mut dyn FnMut(usize)) {
    let words = over.set().map(|set| set.words().host().unwrap_or_default());
    for i in block {
        if words.is_none_or(|words| words[i / 64] >> (i % 64) & 1 != 0) {
            each(i);
        }
    }
}

impl Replica {
    /// Calls `each` for every block of the range, from all of the replica's threads.
    pub(super) fn on_host<T: Send>(
        &self,
        range: &Range<u64>,
        each: &(dyn Fn(Range<usize>) -> T + Sync),
    ) -> Result<Vec<T>> {
        let Backend::Host(worker) = &self.backend else { return Err(mixed()) };
        let blocks = host_blocks(range, worker.pool.current_num_threads());
        let (rendezvous, rank) = (self.rendezvous(), self.rank());
        Ok(worker.pool.install(|| {
            let beating = |block| {
                rendezvous.beat(rank);
                each(block)
            };
            blocks.map(beating).collect()
        }))
    }
}
