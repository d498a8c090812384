//! Searches on one replica: steps and merges until nothing is left. The idea is in the parent module.

use super::cuda::{Sizes, Workspace};
use super::plan::{FrontierInfo, Plan, State, StepResult, StepTask, Task, pulls};
use super::{Bfs, BfsConfig, SearchDirection, Searches, Sources, UNREACHED, host};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, step, timed};
use crate::algorithm::left::{LeftArray, Rest};
use crate::algorithm::long_paths::LongPaths;
use crate::algorithm::same::Words;
use crate::algorithm::workload::{Algorithm, Request};
use crate::algorithm::{RunOptions, files_of, from_nodes, one_search, targets};
use crate::collective::Together;
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::graph::Graph;
use crate::layout::TileFacts;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, TopologyRows};
use rayon::prelude::*;
use std::path::Path;
use std::time::Instant;

/// What the programs of all replicas are given.
#[derive(Clone)]
struct Question {
    /// Labels.
    sources: Vec<u32>,
    config: BfsConfig,
    run: RunOptions,
}

/// What one replica ends with.
struct Found {
    /// By label, of each source; on rank 0 alone.
    levels: Vec<Vec<u32>>,
    /// By node, of each source, in place of these.
    left: Vec<Option<LeftArray>>,
    /// Of each source: nodes reached, arcs out of them, largest level.
    counts: Vec<[u64; 3]>,
    /// Of each source: self loops among the arcs, where an edge is two arcs.
    loops: Vec<u64>,
    near_far: bool,
    tiles: Option<TileFacts>,
}

impl Algorithm for Bfs {
    type Config = BfsConfig;
    type Start = Sources;
    type Answer = Searches;
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str =
        "Breadth-first search: the least number of arcs from a source to each node";
    const EXAMPLES: [&'static str; 2] = [
        "hive run bfs --graph web.mtx --source 1 --top 5",
        "hive run bfs --graph rmat:12 --sources random:16:1 --runs 1",
    ];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["bfs.cu"];
    const RANKS: Option<&'static str> = Some("the nodes farthest from the source");
    const LEAVES: bool = true;

    fn check(config: &BfsConfig) -> Result<()> {
        for (flag, value) in [("--do-a", config.do_a), ("--do-b", config.do_b)] {
            if value.is_nan() || value < 0.0 {
                return Err(Error::input(format!(
                    "{flag} {value}: use a number from 0 on, or inf"
                )));
            }
        }
        if config.source.is_some() && config.sources.is_some() {
            return Err(Error::input("--source with --sources: leave one of them out"));
        }
        let more = Self::several(config);
        config.run.refuse_left(more)?;
        let BfsConfig { do_a, do_b, .. } = BfsConfig::default();
        let way = config.direction;
        if way != SearchDirection::Auto && (config.do_a, config.do_b) != (do_a, do_b) {
            return Err(Error::input(format!(
                "--direction {way} with --do-a or --do-b: nothing is chosen; leave one of them out"
            )));
        }
        Ok(())
    }

    fn start(config: &BfsConfig, graph: &Graph) -> Result<Sources> {
        let nodes = match (&config.sources, &config.source) {
            (Some(sources), _) => sources.sources_of("--sources", graph)?,
            (None, Some(source)) => vec![source.resolve(graph, "--source")?],
            (None, None) => vec![graph.default_source()],
        };
        if nodes.len() > 1 && config.target.is_some() {
            return Err(one_search("--target", nodes.len()));
        }
        let targets = targets(config.target.as_ref(), graph)?;
        Ok(Sources { nodes, targets })
    }

    fn started(start: &Sources, graph: &Graph) -> String {
        from_nodes(&start.nodes, "source", graph)
    }

    fn questions(start: &Sources) -> u32 {
        start.nodes.len() as u32
    }

    fn several(config: &BfsConfig) -> Option<&'static str> {
        let several =
            [("--target", config.target.is_some()), ("--predecessors", config.predecessors)];
        several.into_iter().find(|(_, asked)| *asked).map(|(option, _)| option)
    }

    fn files(config: &BfsConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--sources", &config.sources), ("--target", &config.target)])
    }

    fn folder(config: &BfsConfig) -> Option<String> {
        config.sources.as_ref().map(|sources| format!("sources-{}", sources.many()))
    }

    fn arrays(shape: &GraphShape, _: &BfsConfig, world: usize) -> Vec<DeviceArray> {
        super::cuda::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Searches> {
        let Request { fleet, graph, query, run, extras } = request;
        let (rows, config) = (graph.topology(fleet)?, &query.config);
        let sources = &query.start.nodes;
        let question = Question {
            sources: sources.iter().map(|v| rows.columns.label(*v)).collect(),
            config: config.clone(),
            run: run.clone(),
        };
        if looks_for_loops(&rows, run) {
            rows.columns.out.load()?;
        }
        let shared = rows.clone();
        let answers = fleet.run(move |r| program(r, &shared, &question))?;
        let (found, mut measured) = ReplicaAnswer::first(answers);
        let Found { levels, left, counts, loops, near_far, tiles } = found;
        let start = Instant::now();
        // A gauging run does not come to all sources.
        let in_order = |levels: Vec<u32>| match levels.is_empty() {
            true => levels,
            false => rows.columns.to_input_order(levels),
        };
        let levels: Vec<Vec<u32>> = levels.into_iter().map(in_order).collect();
        measured.download_ms += start.elapsed().as_secs_f64() * 1e3;
        let predecessors = (config.predecessors || config.target.is_some()) && extras;
        Ok(Searches::new(
            query,
            (levels, left.into_iter().flatten().collect()),
            (&counts, &loops),
            (near_far, tiles),
            predecessors,
            measured,
        ))
    }
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    question: &Question,
) -> Result<ReplicaAnswer<Found>> {
    let (nodes, active) = (rows.columns.nodes, rows.columns.active);
    let plan = Plan::new(question.run.merge, question.config.direction, r, rows);
    let state = State::allocate(r, Sizes { nodes, active, record: 0 })?;
    let mut search = Driver::new(r, rows, question, plan, state)?;
    let mut measured = timed(r, &question.run, &mut search)?;
    measured.download_ms = search.download_ms;
    Ok(ReplicaAnswer { found: search.finish(), measured })
}

struct Driver<'a> {
    rows: &'a TopologyRows,
    question: &'a Question,
    plan: Plan,
    /// Everybody's `front` and `next`.
    together: Together<2>,
    state: State,
    /// On the host: nodes reached so far.
    engine: Engine<Workspace, Vec<u64>>,
    /// Nodes with an in-arc.
    reachable: u64,
    /// The source of this run.
    source: usize,
    /// Runs before the first that is timed.
    warmup: u64,
    /// Where an edge is two arcs: labels with self loops, and how many, each of which is one.
    loops: Vec<(u32, u64)>,
    levels: Vec<Vec<u32>>,
    left: Vec<Option<LeftArray>>,
    counts: Vec<[u64; 3]>,
    reached_loops: Vec<Option<u64>>,
    download_ms: f64,
}

impl<'a> Driver<'a> {
    fn new(
        r: &mut Replica,
        rows: &'a TopologyRows,
        question: &'a Question,
        plan: Plan,
        state: State,
    ) -> Result<Driver<'a>> {
        let (rank, options) = (r.rank(), [r.can_join(), question.run.trace]);
        let cuda = |device: &mut _| {
            Workspace::new(device, rows, rows.on_device(rank)?, plan == Plan::LongPaths, options)
        };
        let engine = Engine::new(r, cuda, || Ok(Vec::new()))?;
        let bitmaps = [&state.front, &state.next].map(|words| words.words().address());
        let together = match plan {
            Plan::Joint => r.together([("frontier", bitmaps[0]), ("next frontier", bitmaps[1])])?,
            _ => Together::alone(),
        };
        let reachable = rows.reachable();
        let many = question.sources.len();
        Ok(Driver {
            rows,
            question,
            plan,
            together,
            state,
            engine,
            reachable,
            source: 0,
            warmup: question.run.warmup.into(),
            loops: if looks_for_loops(rows, &question.run) { self_loops(rows) } else { Vec::new() },
            reached_loops: vec![None; many],
            levels: vec![Vec::new(); many],
            left: vec![None; many],
            counts: vec![[0; 3]; many],
            download_ms: 0.0,
        })
    }

    fn finish(self) -> Found {
        let loops = self.reached_loops.into_iter().map(Option::unwrap_or_default).collect();
        let long_paths = self.engine.workspace().and_then(|w| w.long_paths.as_ref());
        let tiles = long_paths.and_then(LongPaths::tiles);
        let near_far = long_paths.is_some() && tiles.is_none();
        Found { levels: self.levels, left: self.left, counts: self.counts, loops, near_far, tiles }
    }
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, number: u64) -> Result<()> {
        // The first run that is timed is from the first source.
        let many = self.question.sources.len() as u64;
        self.source = ((number + many - self.warmup % many) % many) as usize;
        let source = self.question.sources[self.source];
        let (rows, rank) = (self.rows, r.rank());
        self.engine.with(
            r,
            &mut self.state,
            |device, workspace, state| {
                workspace.reset(device, rows.on_device(rank)?, state, source)
            },
            |visited, state, _| host::reset(rows, state, visited, source),
        )
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Some(degree) = self.degree(self.question.sources[self.source]) else {
            return Ok(());
        };
        let start = FrontierInfo {
            nodes: 1,
            arcs: Some(degree),
            reached: 1,
            depth: 0,
            pulled: false,
            want_pull: false,
        };
        match self.plan {
            Plan::LongPaths => self.step(r, log, Task::LongPaths, start).map(drop),
            Plan::Redundant => self.step(r, log, Task::Finish, start).map(drop),
            Plan::Joint => self.step(r, log, Task::Joint, start).map(drop),
            Plan::Cut => self.cut(r, log, start),
            Plan::Dense => self.dense(r, log, start),
        }
    }

    fn done(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let (start, rows, rank) = (Instant::now(), self.rows, r.rank());
        let alone = self.degree(self.question.sources[self.source]).is_none();
        let count = |state: &State| host::count(rows, state.level.host().unwrap_or_default());
        self.counts[self.source] = match alone {
            true => [1, 0, 0],
            false => self.engine.with(
                r,
                &mut self.state,
                |device, workspace, state| workspace.count(device, rows.on_device(rank)?, state),
                |_, state, _| count(state),
            )?,
        };
        if r.leads() && !self.loops.is_empty() && self.reached_loops[self.source].is_none() {
            let levels = self.state.level.to_vec()?;
            let reached = self.loops.iter().filter(|(v, _)| levels[*v as usize] != UNREACHED);
            self.reached_loops[self.source] = Some(reached.map(|(_, count)| count).sum());
        }
        // Another run from the same source ends with the same levels.
        if self.question.run.leave && self.state.level.device_address().is_some() {
            if r.leads() && self.left[self.source].is_none() {
                let left = rows.order().leave(r, &self.state.level, Rest::Word(UNREACHED))?;
                self.left[self.source] = Some(left);
            }
        } else if r.leads() && self.levels[self.source].is_empty() {
            self.levels[self.source] = self.state.level.to_vec()?;
        }
        self.download_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.level)]
    }

    fn question(&self) -> u64 {
        self.source as u64
    }
}

impl Driver<'_> {
    /// Out-arcs of a label; none of one that lies behind the rows.
    fn degree(&self, v: u32) -> Option<u64> {
        let columns = &self.rows.columns;
        ((v as usize) < columns.active).then(|| columns.out.degree(v as usize))
    }

    /// Whether to pull.
    fn pulls(&self, known: &FrontierInfo) -> bool {
        pulls(self.rows, self.reachable, &self.question.config, known)
    }

    /// Redundant pushes, pulls cut by chunk.
    fn cut(&mut self, r: &mut Replica, log: &mut Log, start: FrontierInfo) -> Result<()> {
        let mut known = start;
        while known.nodes > 0 {
            // A growing step ends where a pull pays.
            let pull = known.want_pull || (known.pulled && self.pulls(&known));
            known = self.step(r, log, if pull { Task::Pull } else { Task::Grow }, known)?;
        }
        Ok(())
    }

    /// Pushes by chunk and OR, pulls by chunk and gather.
    fn dense(&mut self, r: &mut Replica, log: &mut Log, start: FrontierInfo) -> Result<()> {
        let mut known = start;
        while known.nodes > 0 {
            let task = if self.pulls(&known) { Task::Pull } else { Task::Push };
            known = self.step(r, log, task, known)?;
        }
        Ok(())
    }

    /// One step, agreement on what it found, the merge where something was found; what is known after.
    fn step(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        task: Task,
        known: FrontierInfo,
    ) -> Result<FrontierInfo> {
        let (found, swapped) = self.compute(r, log, task, known)?;
        if swapped {
            self.state.swap();
            self.together.arrays.swap(0, 1);
        }
        let logged = found.logged;
        let (merged, found) = self.merge(r, task, found)?;
        if let Some(workspace) = self.engine.workspace() {
            workspace.rounds.tell(log, logged, "push words", task == Task::Joint);
        }
        let frontier = (known.nodes, known.arcs.unwrap_or(0));
        log.book(task.name(), (found.rounds, found.looked), frontier, merged);
        let (nodes, arcs) = (found.nodes, found.arcs);
        let depth = known.depth + found.rounds as u32;
        let reached = known.reached + found.reached;
        let (pulled, want_pull) = (task == Task::Pull, found.want_pull);
        // A step that did nothing leaves what was known as it was.
        match found.rounds {
            0 => Ok(FrontierInfo { want_pull, ..known }),
            _ => Ok(FrontierInfo { nodes, arcs, reached, depth, pulled, want_pull }),
        }
    }

    /// What the step found, and whether `front` and `next` have changed places.
    fn compute(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        task: Task,
        known: FrontierInfo,
    ) -> Result<(StepResult, bool)> {
        let (rows, rank) = (self.rows, r.rank());
        let chunk = match task {
            Task::Pull => rows.in_chunks.range(rank),
            Task::Push => rows.chunks.range(rank),
            _ => 0..rows.columns.active as u64,
        };
        let (reachable, config) = (self.reachable, &self.question.config);
        let told = StepTask { task, known, chunk, reachable, config, together: self.together };
        step(
            (r, log, task.name()),
            &mut self.engine,
            &mut self.state,
            |device, workspace, state| {
                workspace.launch(device, rows, rows.on_device(rank)?, state, &told)
            },
            |device, workspace| workspace.found(device, task),
            |visited, state, beat| (host::step(rows, state, visited, &told, beat), false),
        )
    }

    /// After a step of the own chunk: what all found, and everybody's frontier.
    fn merge(
        &mut self,
        r: &mut Replica,
        task: Task,
        own: StepResult,
    ) -> Result<(&'static str, StepResult)> {
        match task {
            _ if r.world() == 1 => return Ok(("none", own)),
            Task::Pull | Task::Push => {}
            Task::Joint => return Ok(("joint", own)),
            _ => return Ok(("none", own)),
        }
        let arcs = own.arcs.unwrap_or(0);
        let all = r.agree(task.name(), [own.nodes, arcs, 0, 0])?;
        let sum = |field: usize| all.iter().map(|payload| payload[field]).sum::<u64>();
        // Pushes may have found the same: what they counted together only bounds it.
        let nodes = sum(0).min(self.reachable);
        let found = StepResult { nodes, reached: nodes, arcs: own.arcs.map(|_| sum(1)), ..own };
        if nodes == 0 {
            return Ok(("none", found));
        }
        if task == Task::Pull {
            let words = self.rows.in_chunks.in_units_of(64);
            r.gather(self.state.front.words_mut(), &words)?;
            return Ok(("gather", found));
        }
        r.merge(self.state.front.words_mut())?;
        Ok(("dense", found))
    }
}

/// Whether rows are the same both ways, and may have self loops.
fn has_self_loops(rows: &TopologyRows) -> bool {
    rows.columns.into.is_none() && rows.graph.origin.self_loops > 0
}

/// Whether the host looks for those that a search reaches. What is left on a GPU it does not look at.
fn looks_for_loops(rows: &TopologyRows, run: &RunOptions) -> bool {
    has_self_loops(rows) && !run.leave
}

/// The labels that have self loops, and how many, where rows are the same both ways.
fn self_loops(rows: &TopologyRows) -> Vec<(u32, u64)> {
    let columns = &rows.columns;
    if !has_self_loops(rows) {
        return Vec::new();
    }
    let of = |v: u32| {
        let row = columns.out.row(v as usize);
        let first = row.partition_point(|u| *u < v);
        let count = row[first..].partition_point(|u| *u == v) as u64;
        (count > 0).then_some((v, count))
    };
    (0..columns.active as u32).into_par_iter().filter_map(of).collect()
}
