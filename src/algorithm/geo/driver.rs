//! Waves on one replica, until no node is left that can be located or no further wave is allowed. The idea is in the parent
//! module.

use super::cuda::Workspace;
use super::host::{self, Effort};
use super::plan::{Given, KnownPlaces, Plan, Queue, Sizes, State};
use super::{Geo, GeoConfig, Geolocation};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, begin, timed, values};
use crate::algorithm::same::Words;
use crate::algorithm::workload::{Algorithm, Request};
use crate::algorithm::{MergeMode, RunOptions};
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::graph::Graph;
use crate::io::PlacesFile;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Resident};
use crate::units::plural;
use std::path::Path;
use std::time::Instant;

impl Algorithm for Geo {
    type Config = GeoConfig;
    type Start = KnownPlaces;
    type Answer = Geolocation;
    const NAME: &'static str = "geo";
    const PRIMITIVE: &'static str = "geolocation";
    const ABOUT: &'static str =
        "Geolocation: place nodes at the spatial median of their located neighbours";
    const EXAMPLES: [&'static str; 2] = [
        "hive run geo --graph geo:5000 --hide 5 --verify",
        "hive run geo --graph rmat:10 --locate 0.5:1 --output places.csv",
    ];
    const FORM: Form = Form::Plain;

    fn array_columns(_: &GeoConfig) -> usize {
        2
    }

    fn check(config: &GeoConfig) -> Result<()> {
        let tolerance = config.tolerance();
        if !(0.0..1.0).contains(&tolerance) {
            return Err(Error::input(format!("--tolerance {tolerance}: use 0 up to below 1")));
        }
        if config.run.merge == MergeMode::Dense {
            return Err(Error::input(
                "--merge dense: geolocation has no frontier to OR; use auto, split or redundant",
            ));
        }
        let both = [
            ("--labels", config.labels.is_some(), "--locate", config.locate.is_some()),
            ("--hide", config.hide.is_some(), "--truth", config.truth.is_some()),
        ];
        if let Some((one, _, other, _)) = both.iter().find(|(_, a, _, b)| *a && *b) {
            return Err(Error::input(format!("{one} with {other}: leave one of them out")));
        }
        let first = config.labels_first_id;
        if let Some(first) = first.filter(|_| config.labels.is_none() && config.truth.is_none()) {
            return Err(Error::input(format!(
                "--labels-first-id {first}: there is no file of places; give --labels FILE, or leave it out"
            )));
        }
        if let Some(every @ 0..=1) = config.hide {
            return Err(Error::input(format!(
                "--hide {every}: use 2 (every second place is withheld) or more"
            )));
        }
        Ok(())
    }

    fn start(config: &GeoConfig, graph: &Graph) -> Result<KnownPlaces> {
        KnownPlaces::new(config, graph)
    }

    fn started(start: &KnownPlaces, _: &Graph) -> String {
        format!(", from {}", plural(start.count(), "located node"))
    }

    fn files(config: &GeoConfig) -> Vec<(&'static str, &Path)> {
        let files = [("--labels", &config.labels), ("--truth", &config.truth)];
        files.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect()
    }

    fn places(config: &GeoConfig) -> Option<PlacesFile> {
        let (path, first_id) = (config.labels.clone()?, config.labels_first_id);
        Some(PlacesFile { path, first_id })
    }

    fn folder(config: &GeoConfig) -> Option<String> {
        Some(format!("geo-{}_spatial-{}", config.geo_iter, config.spatial_iter))
    }

    fn arrays(shape: &GraphShape, _: &GeoConfig, world: usize) -> Vec<DeviceArray> {
        super::cuda::arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Geolocation> {
        let Request { fleet, graph, query, run, .. } = request;
        let (rows, config) = (graph.plain(fleet)?, &query.config);
        let question = Question {
            from: Given::new(&query.start.given),
            last: if config.geo_complete { u32::MAX - 1 } else { config.geo_iter },
            effort: Effort { passes: config.spatial_iter, tolerance: config.tolerance() },
            run: run.clone(),
        };
        let answers = fleet.run(move |r| program(r, &rows, &question))?;
        let (found, measured) = ReplicaAnswer::first(answers);
        Ok(Geolocation::new(query, found, measured))
    }
}

/// What the programs of all replicas are given.
struct Question {
    from: Given,
    /// The last wave.
    last: u32,
    effort: Effort,
    run: RunOptions,
}

/// What one replica ends with.
pub(super) struct Found {
    /// On the first of a process alone, as are waves.
    pub position: Vec<f64>,
    pub wave: Vec<u32>,
    /// Arcs over which nodes were located.
    pub arcs: u64,
    /// Passes of the solver, of all replicas.
    pub passes: u64,
}

/// The program of one replica.
fn program(r: &mut Replica, rows: &Resident, question: &Question) -> Result<ReplicaAnswer<Found>> {
    let (rank, known) = (r.rank(), &question.from.known);
    let sizes = Sizes::new(rows.graph(), known);
    let mut state = State::allocate(r, sizes)?;
    state.position.assign(&question.from.position)?;
    let cuda = |device: &mut _| Workspace::new(device, rows, rank, known, sizes);
    let engine = Engine::new(r, cuda, || Ok(Queue::default()))?;
    let plan = Plan::new(question.run.merge, r);
    let mut driver = Driver { rows, question, plan, state, engine, arcs: 0, passes: 0 };
    let measured = timed(r, &question.run, &mut driver)?;
    let Driver { state, arcs, passes, .. } = driver;
    let all = r.agree("passes of all", [passes, 0, 0, 0])?;
    let passes = all.iter().map(|payload| payload[0]).sum();
    ReplicaAnswer::new(measured, || {
        let (position, wave) = (values(r, &state.position)?, values(r, &state.wave)?);
        Ok(Found { position, wave, arcs, passes })
    })
}

/// All waves of one run, to be repeated.
struct Driver<'a> {
    rows: &'a Resident,
    question: &'a Question,
    plan: Plan,
    state: State,
    engine: Engine<Workspace, Queue>,
    /// Arcs to located neighbours, of all waves of the last run.
    arcs: u64,
    /// Passes of the solver here, in the last run.
    passes: u64,
}

impl Run for Driver<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        (self.arcs, self.passes) = (0, 0);
        let known = &self.question.from.known;
        self.engine.with(
            r,
            &mut self.state,
            |device, workspace, state| workspace.reset(device, state),
            |_, state, _| host::reset(state, known),
        )
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for number in 1..=self.question.last {
            if !self.wave(r, log, number)? {
                break;
            }
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.position), Words::of(&self.state.wave)]
    }
}

impl Driver<'_> {
    /// One wave: whether it located any node. On a GPU all but the queue's size is queued before anything is waited for.
    fn wave(&mut self, r: &mut Replica, log: &mut Log, number: u32) -> Result<bool> {
        begin(r, log, "wave")?;
        let start = Instant::now();
        let (graph, plan, effort) = (self.rows.graph(), self.plan, self.question.effort);
        let shares = r.shares().clone();
        let own = (r.rank(), &shares);
        let (wave, split, on_host) = self.engine.with(
            r,
            &mut self.state,
            |device, workspace, state| {
                device.mark(0, false)?;
                let wave = workspace.count(device, state)?;
                let split = workspace.solve(device, state, plan.part(wave, own), effort)?;
                device.mark(0, true)?;
                Ok((wave, split, None))
            },
            |queue, state, beat| {
                *queue = host::count(graph, state, beat);
                let (wave, (rank, shares)) = (queue.wave(), plan.part(queue.wave(), own));
                let split = queue.split(&shares);
                let part = split.range(rank);
                let found = host::solve(graph, state, queue, part, effort, beat);
                (wave, split, Some((found, start.elapsed().as_secs_f64() * 1e3)))
            },
        )?;
        let gathered = wave.nodes > 0 && !plan.is_whole(wave);
        if gathered {
            // Three numbers a place.
            let thirds = split.bounds().windows(2).map(|pair| 3 * (pair[1] - pair[0]));
            r.gather(&mut self.state.found, &Split::of_lengths(thirds))?;
        }
        if wave.nodes > 0 {
            self.engine.with(
                r,
                &mut self.state,
                |device, workspace, state| workspace.settle(device, state, number),
                |queue, state, _| host::settle(state, queue, number),
            )?;
        }
        r.settle()?;
        let found = match on_host {
            Some((found, ms)) => {
                r.book_step(ms);
                found
            }
            None => {
                r.book_marks()?;
                self.engine.on_device(r, |_, workspace| Ok(workspace.found()))?
            }
        };
        let merge = if gathered { "gather" } else { "none" };
        log.book("wave", (1, found.arcs), (wave.nodes, wave.arcs), merge);
        self.arcs += wave.arcs;
        self.passes += found.passes;
        Ok(wave.nodes > 0)
    }
}
