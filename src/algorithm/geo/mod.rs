//! Geolocation: where nodes are, from where their neighbours are.
//!
//! **Idea.** Waves. In each, every unlocated node that has neighbours located in an earlier wave goes to
//! their spatial median: the point of least summed great-circle distance, each arc counted. All read the
//! state before the wave, and a location never changes again, so a node's wave is its level in a search
//! from the given nodes. Nothing depends on an order: equal bits for any number of replicas.
//!
//! **Median.** One neighbour: its place. Two: half-way. More: a descent on unit vectors, in f64. One pass
//! at x gives the sum f, the sum R of unit tangents towards the points (minus the gradient), W, the sum
//! of 1 / distance, and the Hessian H. Steps are Newton's along the two axes of H, curvatures by their size (so that
//! they go downhill where the sum bends the other way), no longer than a reach that shrinks when a step does not lower
//! f and grows when one does; then the nearest point is looked at too, since the sum has a kink there that Newton does
//! not see, and at last Weiszfeld's step, R / W, which never raises f. At a point of multiplicity m the step is
//! (1 - m / |R|) R / W, and the point is the median where |R| <= m. It ends when the next step would save less than
//! `tolerance` of f.
//!
//! On a globe the sum has local minima. So up to 32 of the points, their antipodes (whose sums are known
//! with theirs) and the mean direction are ranked by their sums, and the best ones that lie 0.2 radians apart, eight at
//! most, start a descent each, which ends early where it cannot win or comes to where a better one ended; neighbours
//! that live together make one start. Beyond 4096 points the mean direction and the best of the others start. About one
//! in some thousand medians of places all over the globe is another local minimum (`verify` counts them).
//!
//! **Replicas.** A replica knows everything, so each counts, redundantly, the located neighbours of all
//! unlocated nodes and makes the same queue; the queue is cut by cost, each computes its part, and only
//! results move, gathered by their places in the queue. Small waves are computed whole by all.
//!
//! Counting, listing and solving are kernels of their own rather than [`crate::operator`]s: long rows leave a list of
//! their located neighbours behind while they are counted, the list of nodes is by class and ordered, and a median is
//! made by a thread, a warp or a block together, which a lambda of one element cannot say.
//!
//! **Arrays.** `position: [n, 4] f64`, unit vectors, `wave: [n] u32`: replicated, and equal without a merge,
//! since all write the same; `found: [queue, 3] f64, replicated, GATHER`. Nodes are the input's.
//!
//! **Source.** Vardi, Zhang, "The multivariate L1-median and associated data depth", PNAS 97(4), 2000;
//! Fletcher, Venkatasubramanian, Joshi, "The geometric median on Riemannian manifolds with application to
//! robust atlas estimation", NeuroImage 45(1), 2009; Jurgens, "That's what friends are for: inferring
//! location in online social media platforms based on social relationships", ICWSM 2013; the HIVE phase-2
//! report (Gunrock's geolocation).

mod answer;
mod cuda;
mod driver;
mod host;
mod known;

pub(crate) use driver::{Done, Wave};
pub(crate) use known::to_vector;
pub use known::{Known, Locate};

use super::frame::{Log, Run, timed};
use super::same::Words;
use super::workload::{Algorithm, Query, config, run};
use super::{Measured, MergeMode, RunOptions};
use crate::choice::Choice;
use crate::collective::{MergeOp, Replicated, Split};
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use crate::generate;
use crate::graph::Graph;
use crate::io::{PlacesFile, Relabel, places_of};
use crate::layout::memory::{self, DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, Resident};
use crate::units::plural;
use driver::{Driver, Engine, Tally};
use known::Degrees;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The wave of a node that is never located.
pub(crate) const NEVER: u32 = u32::MAX;
/// Numbers that a position takes: a sector of memory.
pub(crate) const STRIDE: usize = 4;

/// The workload.
pub struct Geo;

/// What geolocation is asked. Names are HIVE's where HIVE has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GeoConfig {
    /// Where nodes are, by the ids of the graph's input: HIVE .labels, a CSV with columns node, lat and lon, or
    /// DIMACS .co.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub labels: Option<PathBuf>,
    /// The files of --labels and --truth count nodes from N, whatever the graph's ids count from.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub labels_first_id: Option<u64>,
    /// Make places up, for benchmarks: a share of the nodes, each anywhere on the globe, as in 0.5:1.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "SHARE[:SEED]", allow_hyphen_values = true)
    )]
    pub locate: Option<Locate>,
    /// Withhold every N-th, 2 or more, of the known places, by rising id, and report how far off the answer is there.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub hide: Option<u32>,
    /// Where nodes really are, in the formats of --labels: how far off the answer is; geo: knows it.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath))]
    pub truth: Option<PathBuf>,
    /// Most waves, from 0 on [default: 3].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub geo_iter: u32,
    /// Go on until nobody is left who can be located, whatever --geo-iter says.
    #[cfg_attr(feature = "cli", arg(long, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
        require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub geo_complete: bool,
    /// Most passes over a node's neighbours in one descent to their median, from 0 on [default: 1000].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub spatial_iter: u32,
    /// A descent ends when a step would save less than this share of the summed distance: auto (1e-12) | 0 up to below 1
    /// [default: auto].
    #[cfg_attr(feature = "cli", arg(long, value_name = "X", allow_hyphen_values = true))]
    pub tolerance: Choice<f64>,
    /// `[n]` latitudes and longitudes in degrees, NaN where unknown, in place of those of the graph.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub given: Option<[Vec<f64>; 2]>,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

impl Default for GeoConfig {
    fn default() -> Self {
        GeoConfig {
            labels: None,
            labels_first_id: None,
            locate: None,
            hide: None,
            truth: None,
            geo_iter: 3,
            geo_complete: false,
            spatial_iter: 1000,
            tolerance: Choice::Auto,
            given: None,
            run: RunOptions::default(),
        }
    }
}

config!(GeoConfig);

impl GeoConfig {
    fn tolerance(&self) -> f64 {
        self.tolerance.or(1e-12)
    }
}

/// Where nodes are, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Geolocation {
    /// `[n]` degrees north; NaN where never located; given ones as they were given.
    pub latitude: Vec<f64>,
    /// `[n]` degrees east, above -180 to 180; NaN and given ones as above.
    pub longitude: Vec<f64>,
    /// `[n]` the wave that located a node: 0 given, `u32::MAX` never.
    pub wave: Vec<u32>,
    /// The last wave that located a node.
    pub waves: u32,
    /// Nodes that waves located.
    pub inferred: u64,
    /// Passes of the solver over neighbours of a node, all nodes and replicas together, in the last run.
    pub passes: u64,
    /// Timings and counts. `reached` are the located nodes, given ones included, and `reached_arcs` the
    /// arcs over which they were found.
    pub measured: Measured,
}

/// The replicated state.
pub(crate) struct State {
    /// `[n, STRIDE]`; meaningless where `wave` is [`NEVER`].
    pub position: Replicated<f64>,
    pub wave: Replicated<u32>,
    /// `[room, 3]`: what a wave found, by place in the queue.
    pub found: Replicated<f64>,
}

/// What a wave is to locate, on the host: (node, located neighbours) in node order.
#[derive(Default)]
pub(crate) struct Queue {
    pub entries: Vec<(u32, u64)>,
    /// Cost of the entries before each, `[entries + 1]`.
    before: Vec<u64>,
}

impl Queue {
    pub fn new(entries: Vec<(u32, u64)>) -> Queue {
        let mut before = Vec::with_capacity(entries.len() + 1);
        let mut total = 0;
        before.push(0);
        for (_, k) in &entries {
            total += cost(*k);
            before.push(total);
        }
        Queue { entries, before }
    }

    /// One part of about equal cost a replica.
    pub fn split(&self, world: usize) -> Split {
        let total = self.before.last().copied().unwrap_or(0);
        let before = |i: u64| self.before[i as usize];
        Split::by_weight(self.entries.len() as u64, world, 1, total, before)
    }
}

/// What a median of `k` points costs, in distances: the sums of candidates, and about 25 passes.
fn cost(k: u64) -> u64 {
    if k < 3 { 4 } else { 4 + k.min(32) * k.min(512) + 50 * k }
}

/// Where nodes are, from where their neighbours are.
///
/// # Errors
/// [`Error::Input`] for options out of range, where no node has a place, and for places that are not `[n]` or not on
/// Earth; [`Error::Fault`] when a replica fails; [`Error::Verify`] when `compare` finds answers that differ.
pub fn geo(fleet: &Fleet, graph: &Prepared, config: &GeoConfig) -> Result<Geolocation> {
    run::<Geo>(fleet, graph, config)
}

impl Algorithm for Geo {
    type Config = GeoConfig;
    type Start = Known;
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
    const ARRAY_COLUMNS: usize = 2;

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

    fn start(config: &GeoConfig, graph: &Graph) -> Result<Known> {
        places(config, graph)
    }

    fn started(start: &Known, _: &Graph) -> String {
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
        memory::geolocation(shape, world)
    }

    fn solve(
        fleet: &Fleet,
        graph: &Prepared,
        query: &Query<Geo>,
        run: &RunOptions,
        _: bool,
    ) -> Result<Geolocation> {
        let config = GeoConfig { run: run.clone(), ..query.config.clone() };
        let [latitude, longitude] = &query.start.given;
        geolocate(fleet, graph.plain(fleet)?, [latitude, longitude], &config)
    }
}

/// The places that a run starts from and is measured by.
fn places(config: &GeoConfig, graph: &Graph) -> Result<Known> {
    let policies = &graph.origin.policies;
    if config.truth.is_some() && (policies.largest_component || policies.relabel != Relabel::None) {
        // Its ids could not be told from those of the nodes that are left.
        let option = if policies.largest_component { "--largest-component" } else { "--relabel" };
        return Err(Error::input(format!("--truth with {option}: leave one of them out")));
    }
    let places = config.given.as_ref().map(|[north, east]| (&north[..], &east[..]));
    let given: Degrees = match (config.locate, places.or_else(|| graph.places())) {
        (Some(locate), None) => locate.places(graph),
        (None, Some((latitude, longitude))) => [latitude.to_vec(), longitude.to_vec()],
        (Some(_), Some(_)) => {
            return Err(Error::input(
                "--locate: the graph knows where its nodes are; leave it out",
            ));
        }
        (None, None) => {
            return Err(Error::input(
                "geo: it is not known where any node is; give --labels FILE, or --locate 0.5 to make \
                 places up",
            ));
        }
    };
    let spec = graph.origin.graph_file.as_str();
    let truth = match &config.truth {
        Some(path) => {
            let found = places_of(graph, &path.to_string_lossy(), config.labels_first_id)?;
            Some([found.latitude, found.longitude])
        }
        None if config.labels.is_none() && spec.starts_with("geo:") => {
            let truth = generate::geo_locations(spec)?;
            // Generated ids are places in its arrays.
            let of = |all: &[f64]| {
                (0..graph.nodes() as u32).map(|v| all[graph.input_id(v) as usize]).collect()
            };
            Some([of(&truth.latitude), of(&truth.longitude)])
        }
        None => None,
    };
    let mut known = Known { given, truth };
    if let Some(every) = config.hide {
        known.hide(graph, every);
    }
    check(graph, &known.given)?;
    Ok(known)
}

/// Refuses places that are not one a node, or not on Earth.
fn check(graph: &Graph, given: &Degrees) -> Result<()> {
    let n = graph.nodes();
    if let Some(degrees) = given.iter().find(|degrees| degrees.len() != n) {
        let found = degrees.len();
        return Err(Error::input(format!("places of {found} nodes for a graph of {n}")));
    }
    let on_earth = |v: usize| {
        let (north, east) = (given[0][v], given[1][v]);
        (north.is_nan() && east.is_nan()) || (north.abs() <= 90.0 && east.abs() <= 180.0)
    };
    if let Some(v) = (0..n).find(|v| !on_earth(*v)) {
        let (north, east) = (given[0][v], given[1][v]);
        return Err(Error::input(format!(
            "node {} at ({north}, {east}) is nowhere on Earth; give -90 to 90 and -180 to 180 degrees",
            graph.id(v as u32)
        )));
    }
    Ok(())
}

fn geolocate(
    fleet: &Fleet,
    rows: Arc<Resident>,
    given: [&[f64]; 2],
    config: &GeoConfig,
) -> Result<Geolocation> {
    let from = Arc::new(Given::new(given));
    let (options, begin) = (config.clone(), from.clone());
    let answers = fleet.run(move |r| program(r, &rows, &begin, &options))?;
    let relaxed: u64 = answers.iter().map(|a| a.measured.arcs_relaxed).sum();
    let passes = answers.iter().map(|a| a.passes).sum();
    let first = answers.into_iter().next().ok_or_else(|| Error::machine("a fleet of none"))?;
    let Brought { position, wave, arcs, mut measured, .. } = first;
    let degrees = |v: usize| match wave[v] {
        0 => (given[0][v], given[1][v]),
        NEVER => (f64::NAN, f64::NAN),
        _ => known::to_degrees([0, 1, 2].map(|i| position[v * STRIDE + i])),
    };
    let (latitude, longitude): (Vec<f64>, Vec<f64>) =
        (0..wave.len()).into_par_iter().map(degrees).unzip();
    let located = wave.par_iter().filter(|w| **w != NEVER).count() as u64;
    let inferred = located - from.known.iter().filter(|known| **known).count() as u64;
    let waves = wave.par_iter().filter(|w| **w != NEVER).max().copied().unwrap_or(0);
    (measured.arcs_relaxed, measured.reached, measured.reached_arcs) = (relaxed, located, arcs);
    Ok(Geolocation { latitude, longitude, wave, waves, inferred, passes, measured })
}

/// Where a run starts from.
pub(crate) struct Given {
    /// `[n, STRIDE]`; zeros where unknown.
    pub position: Vec<f64>,
    /// `[n]`
    pub known: Vec<bool>,
}

impl Given {
    fn new(given: [&[f64]; 2]) -> Given {
        let known: Vec<bool> = given[0].par_iter().map(|degrees| !degrees.is_nan()).collect();
        let mut position = vec![0.0; known.len() * STRIDE];
        position
            .par_chunks_mut(STRIDE)
            .enumerate()
            .filter(|(v, _)| known[*v])
            .for_each(|(v, slot)| slot[..3].copy_from_slice(&to_vector(given[0][v], given[1][v])));
        Given { position, known }
    }
}

/// What one replica brings back.
struct Brought {
    /// Only rank 0's are copied back.
    position: Vec<f64>,
    wave: Vec<u32>,
    /// Arcs over which nodes were found.
    arcs: u64,
    passes: u64,
    measured: Measured,
}

/// The program of one replica.
fn program(r: &mut Replica, p: &Resident, from: &Given, config: &GeoConfig) -> Result<Brought> {
    let n = p.graph().nodes();
    let unlocated = |v: &usize| !from.known[*v] && p.graph().degree(*v) > 0;
    let room = (0..n).filter(unlocated).count();
    let mut state = State {
        position: r.array("position", n * STRIDE, MergeOp::Gather)?,
        wave: r.array("wave", n, MergeOp::Gather)?,
        found: r.array("found", 3 * room, MergeOp::Gather)?,
    };
    state.position.assign(&from.position)?;
    let engine = Engine::new(r, p, from)?;
    let mut waves = Waves { p, from, config, state, engine, effort: Tally::default() };
    let mut measured = timed(r, &config.run, &mut waves)?;
    let (state, Tally { arcs, passes }) = (waves.state, waves.effort);
    let start = Instant::now();
    let wanted = r.rank() == 0;
    let position = if wanted { state.position.to_vec()? } else { Vec::new() };
    let wave = if wanted { state.wave.to_vec()? } else { Vec::new() };
    measured.download_ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(Brought { position, wave, arcs, passes, measured })
}

/// All waves of one run, to be repeated.
struct Waves<'a> {
    p: &'a Resident,
    from: &'a Given,
    config: &'a GeoConfig,
    state: State,
    engine: Engine,
    /// Of the last run.
    effort: Tally,
}

impl Run for Waves<'_> {
    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.effort = Tally::default();
        self.engine.reset(r, self.p, &mut self.state, self.from)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Waves { p, config, state, engine, effort, .. } = self;
        Driver { r, p, engine, state, log, effort, config }.go()
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.position), Words::of(&self.state.wave)]
    }
}
