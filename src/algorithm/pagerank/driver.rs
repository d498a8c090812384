//! The program of one replica: iterations queued, merged and seen, until the change is small enough.

use super::cuda::{Workspace, pointer};
use super::host::{self, HostScalars};
use super::plan::{Merging, Plan};
use super::{PagerankConfig, UNITS};
use crate::algorithm::frame::{Log, Run, begin, timed};
use crate::algorithm::measure::Measured;
use crate::algorithm::same::{Rounded, Words};
use crate::collective::Payload;
use crate::collective::{MergeOp, Replicated};
use crate::device::Recording;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::TopologyRows;
use crate::layout::segments::Segments;
use std::time::Instant;

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct End {
    pub iterations: u32,
    /// L1 change of the last iteration.
    pub change: f64,
    /// What ranks of nodes without arcs are in parts of p.
    pub scale: f64,
}

/// What one replica brings back.
pub(super) struct Brought {
    /// By label; rank 0's alone.
    pub rank: Vec<f32>,
    pub end: End,
    pub measured: Measured,
}

/// The replicated state. Iteration t reads `[t % 2]` and writes the other.
pub(super) struct State {
    pub value: [Replicated<f32>; 2],
    pub rank: [Replicated<f32>; 2],
    /// Where there are sums.
    pub sum: Option<Replicated<f64>>,
}

impl State {
    fn new(r: &mut Replica, active: usize, sums: bool) -> Result<State> {
        // Room behind the end, always 0: what pads blocks of arcs points there.
        let room = active.next_multiple_of(64) + 64;
        Ok(State {
            value: [
                r.array("value", room, MergeOp::Gather)?,
                r.array("value", room, MergeOp::Gather)?,
            ],
            rank: [
                r.array("rank", active, MergeOp::Gather)?,
                r.array("rank", active, MergeOp::Gather)?,
            ],
            sum: sums.then(|| r.array("sum", active, MergeOp::Sum)).transpose()?,
        })
    }
}

/// The program of one replica.
pub(super) fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    plan: &Plan,
    config: &PagerankConfig,
) -> Result<Brought> {
    let begin = Instant::now();
    let state = State::new(r, rows.columns.active, plan.merging == Merging::Sum)?;
    let (rank, rendezvous) = (r.rank(), r.rendezvous().clone());
    let beat = || rendezvous.beat(rank);
    let engine = match &mut r.backend {
        Backend::Host(_) => Engine::Host(host::HostArcs::new(rows, plan, rank)),
        Backend::Cuda(device) => {
            Engine::Cuda(Box::new(Workspace::new(device, rows, plan, rank, &beat)?))
        }
    };
    r.settle()?;
    let setup_ms = begin.elapsed().as_secs_f64() * 1e3;
    // Where everybody's arrays are: `value` twice, `rank` twice.
    let everybody = match plan.merging {
        Merging::Tell => {
            let [old, new] = [pointer(&state.value[0])?, pointer(&state.value[1])?];
            r.agree("ranks", [old, new, pointer(&state.rank[0])?, pointer(&state.rank[1])?])?
        }
        _ => Vec::new(),
    };
    let (scalars, end) = (HostScalars::default(), End::default());
    let arcs = plan.own_arcs(r.rank(), &rows.columns);
    let dealt = plan.segments.as_ref().map_or(0, Segments::fingerprint);
    let mut walk = Walk {
        rows,
        plan,
        config,
        recordings: Vec::new(),
        state,
        everybody,
        dealt,
        arcs,
        engine,
        scalars,
        open: None,
        end,
    };
    let mut measured = timed(r, &config.run, &mut walk)?;
    measured.setup_ms = setup_ms;
    let begin = Instant::now();
    let last = &walk.state.rank[walk.end.iterations as usize % 2];
    let rank = if r.rank() == 0 { last.to_vec()? } else { Vec::new() };
    measured.download_ms = begin.elapsed().as_secs_f64() * 1e3;
    Ok(Brought { rank, end: walk.end, measured })
}

/// The steps of one replica, on whatever it runs on.
enum Engine {
    Host(host::HostArcs),
    Cuda(Box<Workspace>),
}

/// What the host learns of an iteration; of own rows only where chunks are gathered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Units.
    pub change: u64,
    pub scale: f64,
    pub scale_before: f64,
}

/// Of an iteration, what is wanted beside contributions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The ranks after it.
    pub ranks: bool,
    /// How far they went.
    pub change: bool,
}

/// Iterations that are queued at most before a device is waited for.
const QUEUED: u32 = 30;

/// So many iterations are recorded at most.
const RECORDED: u32 = 4 * QUEUED;

/// How far apart the ranks of two runs may be, relative to them: twice what each may be off.
const APART: f64 = 2e-5;
/// Smaller ranks than this lose digits to the range of f32: 2^-100.
const LEAST: f64 = 7.888_609_052_210_118e-31;

/// One run, to be repeated.
struct Walk<'a> {
    rows: &'a TopologyRows,
    plan: &'a Plan,
    config: &'a PagerankConfig,
    /// Of [`QUEUED`] iterations each, where the host has no part in them. Dropped before the arrays that they name.
    recordings: Vec<Recording>,
    state: State,
    /// By rank, the addresses of these arrays, where replicas write into each other's.
    everybody: Vec<Payload>,
    /// A fingerprint of who makes which rows then.
    dealt: u64,
    /// Arcs that an iteration goes over here.
    arcs: u64,
    engine: Engine,
    /// On the host.
    scalars: HostScalars,
    /// Since when a step has been going on that is yet to be booked.
    open: Option<Instant>,
    end: End,
}

impl Run for Walk<'_> {
    fn reset(&mut self, r: &mut Replica, run: u64) -> Result<()> {
        match (&r.backend, &mut self.engine) {
            (Backend::Cuda(device), Engine::Cuda(w)) => w.start(device, &self.state)?,
            _ => self.scalars = host::start(self.plan, &mut self.state),
        }
        // Who runs but once does not wait for it.
        if run == 1 { self.record(r) } else { Ok(()) }
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let (tolerance, most) = (self.config.tolerance(), self.config.iterations);
        // On a device the next iteration is under way before the change of one is known.
        let late = u32::from(matches!(self.engine, Engine::Cuda(_)));
        let mut met = None;
        for t in 0..most {
            self.iteration(r, log, t)?;
            if tolerance > 0.0 && t >= late {
                let end = self.end_of(r, t - late)?;
                if end.change <= tolerance {
                    met = Some(end);
                    break;
                }
            }
        }
        self.drain(r)?;
        self.end = match met {
            Some(end) => end,
            None => self.end_of(r, most - 1)?,
        };
        let last = self.end.iterations as usize % 2;
        match self.plan.merging {
            _ if self.rows.columns.active == 0 => Ok(()),
            Merging::Gather => r.gather(&mut self.state.rank[last], &self.plan.split),
            Merging::Tell => self.tell(r, 2 + last),
            Merging::None | Merging::Sum => Ok(()),
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let scale = std::slice::from_ref(&self.end.scale);
        let last = &self.state.rank[self.end.iterations as usize % 2];
        vec![Words::of(last), Words::Host(bytemuck::cast_slice(scale))]
    }

    /// Pushes add as they come.
    fn rounded(&self, _: &Replica) -> Result<Option<Rounded>> {
        if !self.plan.strategy.pushes() {
            return Ok(None);
        }
        let last = &self.state.rank[self.end.iterations as usize % 2];
        let ranks = last.to_vec()?.into_iter().map(f64::from);
        let values = ranks.chain([self.end.scale]).collect();
        let (step, iterations) = (self.config.tolerance(), self.end.iterations.into());
        Ok(Some(Rounded { values, relative: APART, absolute: LEAST, iterations, step }))
    }
}

impl Walk<'_> {
    /// Nothing comes between iterations.
    fn alone(&self, r: &Replica) -> bool {
        r.world() == 1 || self.plan.merging == Merging::None
    }

    /// Records all iterations, if nobody looks at them before the last.
    fn record(&mut self, r: &mut Replica) -> Result<()> {
        let (most, perturbed) = (self.config.iterations, r.chance().is_some());
        let unseen = self.config.tolerance() == 0.0 && !self.config.run.trace && !perturbed;
        if !unseen || !self.alone(r) || most > RECORDED {
            return Ok(());
        }
        let (Backend::Cuda(device), Engine::Cuda(w)) = (&r.backend, &self.engine) else {
            return Ok(());
        };
        let rows = self.rows.on_device(r.rank())?;
        let one = |t| {
            w.step(device, rows, &self.state, t, self.wanted(t), None)?;
            w.conclude(device, &self.state, t, self.wanted(t), None)
        };
        let queued = |first: u32| first..most.min(first + QUEUED);
        let record = |first| device.record(|| queued(first).try_for_each(one));
        let recorded: Result<_> = (0..most).step_by(QUEUED as usize).map(record).collect();
        // Where there is no room for it, say, all goes on as before.
        self.recordings = recorded.unwrap_or_default();
        Ok(())
    }

    /// Queues what was recorded of iteration `t` and those behind it, where a recording begins.
    fn replay(&self, r: &Replica, t: u32) -> Result<()> {
        match (&r.backend, t % QUEUED) {
            (Backend::Cuda(device), 0) => device.replay(&self.recordings[(t / QUEUED) as usize]),
            _ => Ok(()),
        }
    }

    fn iteration(&mut self, r: &mut Replica, log: &mut Log, t: u32) -> Result<()> {
        begin(r, log, "iterate")?;
        let alone = self.alone(r);
        self.open(r)?;
        match self.recordings.is_empty() {
            true => self.step(r, t)?,
            false => self.replay(r, t)?,
        }
        if !alone && self.rows.columns.active > 0 {
            self.close(r)?;
            let new = (t as usize + 1) % 2;
            match (&mut self.state.sum, self.plan.merging) {
                (Some(sum), _) => r.merge(sum)?,
                (None, Merging::Tell) => self.tell(r, new)?,
                (None, _) => r.gather(&mut self.state.value[new], &self.plan.split)?,
            }
            self.open(r)?;
        }
        if self.recordings.is_empty() {
            self.conclude(r, t)?;
        }
        // Marks between iterations cost time: who merges nothing has a pair around all that is queued.
        if !alone {
            self.close(r)?;
        }
        let merge = if alone { "none" } else { self.plan.merging.word() };
        log.book(1, self.arcs, merge);
        if log.trace || (t + 1).is_multiple_of(QUEUED) {
            self.drain(r)?;
        }
        r.leave();
        log.note("iterate", (self.rows.columns.active as u64, self.arcs), merge);
        Ok(())
    }

    /// Own rows of the array, as numbered in `everybody`, become everybody's. Nobody reads the others' at that time: they
    /// are what the iteration before last made.
    fn tell(&self, r: &mut Replica, array: usize) -> Result<()> {
        let Engine::Cuda(workspace) = &self.engine else { return Err(no_workspace()) };
        let copies: Vec<u64> = self.everybody.iter().map(|addresses| addresses[array]).collect();
        let (rank, dealt) = (r.rank(), self.dealt);
        let own = if array < 2 { &self.state.value[array] } else { &self.state.rank[array - 2] };
        r.hand_out(own, dealt, |device, chance| {
            workspace.hubs()?.tell(device, &copies, rank, chance)
        })
    }

    /// Ranks are wanted where their change is, and at the end.
    fn wanted(&self, t: u32) -> Wanted {
        let always = self.config.tolerance() > 0.0;
        let left = self.config.iterations - t;
        Wanted { ranks: always || left <= 2, change: always || left == 1 }
    }

    /// Goes over the own arcs of iteration `t`.
    fn step(&mut self, r: &mut Replica, t: u32) -> Result<()> {
        let (chance, rank, wanted) = (r.chance(), r.rank(), self.wanted(t));
        let rendezvous = r.rendezvous().clone();
        match (&r.backend, &mut self.engine) {
            (Backend::Cuda(device), Engine::Cuda(w)) => {
                w.step(device, self.rows.on_device(rank)?, &self.state, t, wanted, chance)?;
            }
            (Backend::Host(worker), Engine::Host(arcs)) => {
                let beat = || rendezvous.beat(rank);
                let (plan, rows, state) = (self.plan, self.rows, &mut self.state);
                let own = plan.own(rank);
                let step = || arcs.step(plan, rows, state, &mut self.scalars, t, own, &beat);
                worker.pool.install(step);
            }
            _ => return Err(no_workspace()),
        }
        Ok(())
    }

    /// What everybody does once all is there: ranks from sums, the rank of nodes without out-weight.
    fn conclude(&mut self, r: &mut Replica, t: u32) -> Result<()> {
        let (chance, wanted, rank) = (r.chance(), self.wanted(t), r.rank());
        let rendezvous = r.rendezvous().clone();
        match (&r.backend, &mut self.engine) {
            (Backend::Cuda(device), Engine::Cuda(w)) => {
                w.conclude(device, &self.state, t, wanted, chance)
            }
            (Backend::Host(worker), Engine::Host(_)) => {
                let beat = || rendezvous.beat(rank);
                let (plan, state, scalars) = (self.plan, &mut self.state, &mut self.scalars);
                worker.pool.install(|| host::conclude(plan, state, scalars, t, &beat));
                Ok(())
            }
            _ => Err(no_workspace()),
        }
    }

    /// How things stood after iteration `t`, the same on all replicas.
    fn end_of(&mut self, r: &mut Replica, t: u32) -> Result<End> {
        let seen = match (&r.backend, &self.engine) {
            (Backend::Cuda(device), Engine::Cuda(w)) => w.seen(device, t)?,
            _ => self.scalars.seen(),
        };
        let mut units = seen.change;
        if matches!(self.plan.merging, Merging::Gather | Merging::Tell) {
            let all = r.agree("change", [units, 0, 0, 0])?;
            units = all.iter().map(|payload| payload[0]).sum();
        }
        let isolated = self.plan.idle * (seen.scale - seen.scale_before).abs();
        let change = units as f64 / UNITS + isolated;
        Ok(End { iterations: t + 1, change, scale: seen.scale })
    }

    /// A step goes on from here.
    fn open(&mut self, r: &Replica) -> Result<()> {
        if self.open.is_none() {
            self.open = Some(Instant::now());
            if let Backend::Cuda(device) = &r.backend {
                device.mark(0, false)?;
            }
        }
        Ok(())
    }

    /// It has ended, or has all been queued.
    fn close(&mut self, r: &mut Replica) -> Result<()> {
        let Some(since) = self.open.take() else { return Ok(()) };
        match &r.backend {
            Backend::Cuda(device) => device.mark(0, true)?,
            Backend::Host(_) => r.book_step(since.elapsed().as_secs_f64() * 1e3),
        }
        Ok(())
    }

    /// Waits for all that is queued, and books its time.
    fn drain(&mut self, r: &mut Replica) -> Result<()> {
        self.close(r)?;
        r.settle()?;
        if let Backend::Cuda(device) = &r.backend {
            let ms = device.interval_ms(0)?;
            r.book_step(ms);
        }
        Ok(())
    }
}

fn no_workspace() -> Error {
    Error::machine("a device without a workspace; this is a bug")
}
