//! PageRank: how often a walk that never ends is at each node.
//!
//! **Definition.** r0 = p, the places where walks begin: alike for all n nodes, or as asked. Then
//!
//! ~~~text
//! r'[v] = (1 - d) p[v] + d (sum over arcs u -> v of r[u] w / W[u] + D p[v])
//! ~~~
//!
//! W[u] is the out-weight of u and D the rank of all nodes without any. Weights are 1 unless asked for; self loops
//! and parallel arcs are arcs. It stops when the L1 distance from r to r' is at most `tolerance`, or after so
//! many iterations.
//!
//! **Idea.** What an arc carries, r[u] / W[u], is divided once a node, and a node's new rank, the contribution it
//! makes next and its part of the change come out of the kernel that sums its row. Nodes without any arc have
//! no row: their ranks are p times one number (`kernels/pagerank.cuh`). The strategies differ in how they go over
//! the arcs; `docs/pagerank.md` tells them apart.
//!
//! **Replicas.** Each makes the rows of its chunk, then chunks are gathered; what arcs carry is all that moves. Small
//! or flat graphs are computed whole by everybody. Pushes, and anything with `--merge dense`, leave sums that
//! an all-reduce adds. D and the change are sums of 64-bit integers in units of 2^-60, so that they are the
//! same whatever the order; D is counted by everybody over what was gathered. On devices the change is read one
//! iteration late, while the next is under way: the answer is that of the iteration that met the tolerance, and the
//! one too many is dropped.
//!
//! **Arrays.** `value` [active] f32, twice, what arcs carry: replicated, GATHER; `rank` [active] f32, twice, own rows until
//! the end: replicated, GATHER; `sum` [active] f64, where there are sums: replicated, SUM. All by label.
//!
//! **Source.** Page, Brin, Motwani, Winograd, "The PageRank citation ranking: bringing order to the web", Stanford
//! InfoLab 1999-66; Hong, Kim, Oguntebi, Olukotun, "Accelerating CUDA graph algorithms at maximum warp", PPoPP 2011.

mod answer;
mod cuda;
mod host;
mod hubs;
mod options;
mod plan;
mod segments;

pub(crate) use answer::{check_options, solve, start};
pub use options::PagerankOptions;

use super::MergeMode;
use super::measure::Measured;
use super::program::{Log, Repeat, Run, timed};
use crate::collective::{MergeOp, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet, Replica};
use crate::prepare::{Topology, TopologyRows};
use crate::words::words;
use cuda::Workspace;
use host::HostScalars;
use hubs::WIDEST;
use plan::{Merging, Plan};
use rayon::prelude::*;
use segments::MOST;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

words!(
    /// How an iteration goes over the arcs. All but `hubs` are those of the PageRank strategies paper.
    Strategy, "--strategy" {
        /// The one that promises to be fastest on this graph.
        #[default]
        Auto = "auto",
        /// Blocks of sources whose contributions lie in shared memory, hubs first; ours.
        Hubs = "hubs",
        /// A thread a node adds its share to each out-neighbour.
        Push = "push",
        /// A thread a node sums rank over out-degree of its in-neighbours.
        Pull = "pull",
        /// The same over contributions that were divided once a node.
        PullNodiv = "pull-nodiv",
        /// A thread an arc; sources and targets in two arrays.
        EdgeSoa = "edge-soa",
        /// A thread an arc; pairs of source and target.
        EdgeAos = "edge-aos",
        /// Push with lanes of a warp on a row.
        WarpPush = "warp-push",
        /// Pull with lanes of a warp on a row.
        WarpPull = "warp-pull",
        /// The same over contributions that were divided once a node.
        WarpPullNodiv = "warp-pull-nodiv",
    }
);

impl Strategy {
    /// Adds to its neighbours, in no order.
    pub(crate) fn pushes(self) -> bool {
        use Strategy::{EdgeAos, EdgeSoa, Push, WarpPush};
        matches!(self, Push | EdgeSoa | EdgeAos | WarpPush)
    }

    /// Divides at each arc.
    fn divides(self) -> bool {
        matches!(self, Strategy::Pull | Strategy::WarpPull)
    }

    fn by_warps(self) -> bool {
        matches!(self, Strategy::WarpPush | Strategy::WarpPull | Strategy::WarpPullNodiv)
    }
}

/// Ranks go by these in sums that no order changes: a rank of 1 is 2^60.
const UNITS: f64 = (1u64 << 60) as f64;

/// Options of [`pagerank`].
#[derive(Debug, Clone, PartialEq)]
pub struct PagerankConfig {
    /// How replicas are made equal: `auto`, `split` (own rows, gathered), `redundant`, or `dense` (sums are added).
    pub merge: MergeMode,
    /// The share of a rank that follows arcs, 0 to 1.
    pub damping: f64,
    /// Most iterations, at least 1.
    pub iterations: u32,
    /// The L1 change at which it stops; 0 never.
    pub tolerance: f64,
    /// Whether weights count.
    pub weighted: bool,
    /// `[n]` weights of the nodes where walks begin, finite and >= 0, not all 0; `None`: all alike.
    pub personal: Option<Vec<f64>>,
    /// How an iteration goes over the arcs.
    pub strategy: Strategy,
    /// Lanes of a row in the warp-centric strategies, a power of two up to 64.
    pub warp_width: u32,
    /// Rows that such lanes take at a time, 1 to 10.
    pub warp_chunk: u32,
    /// Segments of sources that `hubs` has on GPUs; `None`: as many as pay.
    pub segments: Option<u32>,
    /// Sources of a segment; `None`: what shared memory has room for.
    pub segment_width: Option<u32>,
    /// Refuse what does not give the same bits on any number of replicas.
    pub deterministic: bool,
    /// Timed runs.
    pub runs: u32,
    /// Runs before the timed ones.
    pub warmup: u32,
    /// Record an entry an iteration.
    pub trace: bool,
    /// Check that all replicas end with the same bits.
    pub compare: bool,
}

impl Default for PagerankConfig {
    fn default() -> Self {
        let options = PagerankOptions::default();
        PagerankConfig {
            merge: MergeMode::Auto,
            damping: options.damping,
            iterations: options.iterations,
            tolerance: 1e-6,
            weighted: options.weighted,
            personal: None,
            strategy: options.strategy,
            warp_width: options.warp_width,
            warp_chunk: options.warp_chunk,
            segments: None,
            segment_width: None,
            deterministic: options.deterministic,
            runs: 1,
            warmup: 0,
            trace: false,
            compare: false,
        }
    }
}

impl PagerankConfig {
    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |what: String| Err(Error::input(what));
        let (damping, tolerance, strategy) = (self.damping, self.tolerance, self.strategy);
        if !(0.0..=1.0).contains(&damping) {
            return refuse(format!("--damping {damping}: use 0 to 1, as in 0.85"));
        }
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            return refuse(format!("--tolerance {tolerance}: use 0 (never) or a number above"));
        }
        if self.iterations == 0 {
            return refuse("--iterations 0: at least one is needed".into());
        }
        let width = self.warp_width;
        if !(width.is_power_of_two() && width <= 64) {
            return refuse(format!("--warp-width {width}: use 1, 2, 4, 8, 16, 32 or 64"));
        }
        if !(1..=10).contains(&self.warp_chunk) {
            return refuse(format!("--warp-chunk {}: use 1 to 10", self.warp_chunk));
        }
        if let Some(segments) = self.segments.filter(|segments| *segments > MOST as u32) {
            return refuse(format!("--segments {segments}: use auto or 0 to {MOST}"));
        }
        if let Some(width) = self.segment_width
            && !(width.is_multiple_of(4) && (4..=WIDEST).contains(&width))
        {
            return refuse(format!(
                "--segment-width {width}: use auto or a multiple of 4 up to {WIDEST}"
            ));
        }
        if strategy == Strategy::Hubs && self.weighted {
            return refuse(
                "--strategy hubs has no room for weights; use auto with --weighted".into(),
            );
        }
        if strategy.pushes() && self.deterministic {
            return refuse(format!(
                "--deterministic: {strategy} adds in no fixed order; use --strategy auto, hubs or a pull"
            ));
        }
        if strategy.pushes() && matches!(self.merge, MergeMode::Split | MergeMode::Redundant) {
            return refuse(format!(
                "--merge {}: {strategy} leaves sums for a SUM all-reduce; use auto or dense",
                self.merge
            ));
        }
        Ok(())
    }
}

/// The answer of [`pagerank`], in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Pagerank {
    /// `[n]`, which sum to 1.
    pub ranks: Vec<f32>,
    /// Iterations made.
    pub iterations: u32,
    /// How far, in L1, the last one went.
    pub change: f64,
    /// What ran.
    pub strategy: Strategy,
    /// What else there is to know of it, for people.
    pub layout: String,
    /// Timings and counts. Its iterations count one that a device had begun when it turned out that it was too
    /// many.
    pub measured: Measured,
}

/// The ranks of all nodes.
///
/// # Errors
/// [`Error::Input`] for options out of range; [`Error::Fault`] when a replica fails; [`Error::Verify`] when
/// `compare` finds replicas that differ.
pub fn pagerank(fleet: &Fleet, topology: &Topology, config: &PagerankConfig) -> Result<Pagerank> {
    ranks(fleet, topology.rows(), config)
}

fn ranks(fleet: &Fleet, rows: &Arc<TopologyRows>, config: &PagerankConfig) -> Result<Pagerank> {
    config.check()?;
    if config.runs == 0 {
        return Err(Error::input("--runs 0: at least one run is needed"));
    }
    let begin = Instant::now();
    let plan = Arc::new(Plan::new(rows, config, fleet.info())?);
    let planned_ms = begin.elapsed().as_secs_f64() * 1e3;
    let (shared, options, made) = (rows.clone(), config.clone(), plan.clone());
    let brought = fleet.run(move |r| program(r, &shared, &made, &options))?;
    if let Some(other) = brought.iter().position(|one| !one.equals(&brought[0])) {
        return Err(Error::Verify(format!(
            "replica {other} ended with other ranks than replica 0"
        )));
    }
    let arcs = brought.iter().map(|one| one.measured.arcs_relaxed).sum();
    let slowest = brought.iter().map(|one| one.measured.setup_ms).fold(0.0, f64::max);
    let first = brought.into_iter().next().ok_or_else(|| Error::machine("a fleet of none"))?;
    let Brought { rank, end, mut measured } = first;
    let begin = Instant::now();
    let ranks = plan.by_node(rows, rank, end.scale);
    measured.download_ms += begin.elapsed().as_secs_f64() * 1e3;
    measured.setup_ms = planned_ms + slowest;
    measured.arcs_relaxed = arcs;
    measured.reached = ranks.len() as u64;
    measured.reached_arcs = rows.graph.arcs() * measured.iterations;
    Ok(Pagerank {
        ranks,
        iterations: end.iterations,
        change: end.change,
        strategy: plan.strategy,
        layout: plan.words(),
        measured,
    })
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct End {
    iterations: u32,
    /// L1 change of the last iteration.
    change: f64,
    /// What ranks of nodes without arcs are in parts of p.
    scale: f64,
}

/// What one replica brings back.
struct Brought {
    /// By label; rank 0's, and everybody's when they are compared.
    rank: Vec<f32>,
    end: End,
    measured: Measured,
}

impl Brought {
    fn equals(&self, other: &Brought) -> bool {
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
        // Only rank 0's are there when nobody compares.
        let ranks = self.rank.is_empty() || self.rank.par_iter().zip(&other.rank).all(same);
        ranks && self.end == other.end
    }
}

/// The replicated state. Iteration t reads `[t % 2]` and writes the other.
struct State {
    value: [Replicated<f32>; 2],
    rank: [Replicated<f32>; 2],
    /// Where there are sums.
    sum: Option<Replicated<f64>>,
}

impl State {
    fn new(r: &mut Replica, active: usize, sums: bool) -> Result<State> {
        // Room behind the end, always 0: what pads blocks of arcs points there.
        let room = active.next_multiple_of(64) + 64;
        Ok(State {
            value: [
                r.replicated("value", room, MergeOp::Gather)?,
                r.replicated("value", room, MergeOp::Gather)?,
            ],
            rank: [
                r.replicated("rank", active, MergeOp::Gather)?,
                r.replicated("rank", active, MergeOp::Gather)?,
            ],
            sum: sums.then(|| r.replicated("sum", active, MergeOp::Sum)).transpose()?,
        })
    }
}

/// The program of one replica.
fn program(
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
    let repeat = Repeat { runs: config.runs, warmup: config.warmup, trace: config.trace };
    let scalars = HostScalars::default();
    let mut walk =
        Walk { rows, plan, config, state, engine, scalars, open: None, end: End::default() };
    let mut measured = timed(r, repeat, &mut walk)?;
    measured.setup_ms = setup_ms;
    let begin = Instant::now();
    let wanted = r.rank() == 0 || config.compare;
    let last = &walk.state.rank[walk.end.iterations as usize % 2];
    let rank = if wanted { last.to_vec()? } else { Vec::new() };
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
struct Seen {
    /// Units.
    change: u64,
    scale: f64,
    scale_before: f64,
}

/// Of an iteration, what is wanted beside contributions.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// The ranks after it.
    ranks: bool,
    /// How far they went.
    change: bool,
}

/// Iterations that are queued at most before a device is waited for.
const QUEUED: u32 = 30;

/// One run, to be repeated.
struct Walk<'a> {
    rows: &'a TopologyRows,
    plan: &'a Plan,
    config: &'a PagerankConfig,
    state: State,
    engine: Engine,
    /// On the host.
    scalars: HostScalars,
    /// Since when a step has been going on that is yet to be booked.
    open: Option<Instant>,
    end: End,
}

impl Run for Walk<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        match (&r.backend, &mut self.engine) {
            (Backend::Cuda(device), Engine::Cuda(w)) => w.start(device, &self.state)?,
            _ => self.scalars = host::start(self.plan, &mut self.state),
        }
        Ok(())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let (tolerance, most) = (self.config.tolerance, self.config.iterations);
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
        if self.plan.merging == Merging::Gather && self.rows.columns.active > 0 {
            let last = &mut self.state.rank[self.end.iterations as usize % 2];
            r.gather(last, &self.plan.split)?;
        }
        Ok(())
    }
}

impl Walk<'_> {
    fn iteration(&mut self, r: &mut Replica, log: &mut Log, t: u32) -> Result<()> {
        let begin = Instant::now();
        r.begin(log.iteration(), "iterate")?;
        // Nothing comes between iterations.
        let alone = r.world() == 1 || self.plan.merging == Merging::None;
        self.open(r)?;
        let arcs = self.step(r, t)?;
        if !alone && self.rows.columns.active > 0 {
            self.close(r)?;
            match &mut self.state.sum {
                Some(sum) => r.merge(sum)?,
                None => r.gather(&mut self.state.value[(t as usize + 1) % 2], &self.plan.split)?,
            }
            self.open(r)?;
        }
        self.conclude(r, t)?;
        // Marks between iterations cost time: who merges nothing has a pair around all that is queued.
        if !alone {
            self.close(r)?;
        }
        let merge = if alone { "none" } else { self.plan.merging.word() };
        log.book(1, arcs, merge);
        if log.trace || (t + 1).is_multiple_of(QUEUED) {
            self.drain(r)?;
        }
        r.leave();
        log.note("iterate", (self.rows.columns.active as u64, arcs), merge, begin);
        Ok(())
    }

    /// Ranks are wanted where their change is, and at the end.
    fn wanted(&self, t: u32) -> Wanted {
        let always = self.config.tolerance > 0.0;
        let left = self.config.iterations - t;
        Wanted { ranks: always || left <= 2, change: always || left == 1 }
    }

    /// Goes over the own arcs of iteration `t`; how many they are.
    fn step(&mut self, r: &mut Replica, t: u32) -> Result<u64> {
        let (chance, rank, wanted) = (r.chance(), r.rank(), self.wanted(t));
        let own = self.plan.own(rank);
        let rendezvous = r.rendezvous().clone();
        match (&r.backend, &mut self.engine) {
            (Backend::Cuda(device), Engine::Cuda(w)) => {
                w.step(device, self.rows.on_device(rank)?, &self.state, t, wanted, chance)?;
            }
            (Backend::Host(worker), Engine::Host(arcs)) => {
                let beat = || rendezvous.beat(rank);
                let (plan, rows, state) = (self.plan, self.rows, &mut self.state);
                let step =
                    || arcs.step(plan, rows, state, &mut self.scalars, t, own.clone(), &beat);
                worker.pool.install(step);
            }
            _ => return Err(no_workspace()),
        }
        let columns = &self.rows.columns;
        let rows = if self.plan.strategy.pushes() { &columns.out } else { columns.in_rows() };
        Ok(rows.offsets[own.end] - rows.offsets[own.start])
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
        if self.plan.merging == Merging::Gather {
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
