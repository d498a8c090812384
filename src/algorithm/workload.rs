//! What a workload is: its config, its answer, and what the command line, sweeps and records ask of both.
//!
//! A workload implements [`Algorithm`] and [`Answer`] with types of its own. [`Workload`] is the same without types, as
//! the registry holds it: configs are maps of JSON values there, by the names that flags and files use.

use super::left::LeftColumn;
use super::measure::Measured;
use super::options::RunOptions;
use super::paths::Paths;
use crate::device::kernels::joint::Mail;
use crate::device::kernels::lambda::FaultSink;
use crate::error::{Error, Result};
use crate::fleet::{Fleet, FleetInfo};
use crate::graph::Graph;
use crate::io::{PlacesFile, Table};
use crate::layout::memory::{self, DeviceArray, GraphShape, placed, total};
use crate::layout::{Form, PrepareOptions, Prepared};
use crate::operator;
use crate::verify::Checker;
#[cfg(feature = "cli")]
use clap::{Args as Flags, FromArgMatches as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A map of JSON from names and values.
pub(crate) fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// Without a command line, nothing is asked for flags.
#[cfg(not(feature = "cli"))]
pub trait Flags {}

#[cfg(not(feature = "cli"))]
impl<T> Flags for T {}

/// What only one workload is asked: its flags, the keys of its table in a configuration file, and its part of the API.
pub trait Config:
    Clone + Default + PartialEq + Send + Sync + Serialize + DeserializeOwned + Flags + 'static
{
    /// How the workload runs.
    fn run(&self) -> &RunOptions;
    /// The same, to be set.
    fn run_mut(&mut self) -> &mut RunOptions;
}

/// Implements [`Config`] for types that have a field `run`.
macro_rules! config {
    ($($name:ty),+) => {
        $(impl $crate::algorithm::workload::Config for $name {
            fn run(&self) -> &$crate::algorithm::RunOptions {
                &self.run
            }

            fn run_mut(&mut self) -> &mut $crate::algorithm::RunOptions {
                &mut self.run
            }
        })+
    };
}
pub(crate) use config;

/// The config of a workload that has no options of its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct NoOptions {
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(NoOptions);

/// A workload.
pub trait Algorithm: Sized + Send + Sync + 'static {
    /// What it is asked.
    type Config: Config;
    /// What a run starts from beside the graph: nodes, places, ...
    type Start: Send + Sync + 'static;
    /// What it finds.
    type Answer: Answer<Self>;

    /// The word after `hive run`; also the name of its table in a configuration file.
    const NAME: &'static str;
    /// Other words for it.
    const ALIASES: &'static [&'static str] = &[];
    /// The record's `primitive`, as HIVE's records call it.
    const PRIMITIVE: &'static str = Self::NAME;
    /// One line for the help.
    const ABOUT: &'static str;
    /// Two commands for the help.
    const EXAMPLES: [&'static str; 2];
    /// How it wants the graph.
    const FORM: Form;
    /// What `--top K` lists, as in `the nodes of the highest rank`; `None` where there is no ranking.
    const RANKS: Option<&'static str> = None;
    /// Whether its answer can be left on a GPU ([`RunOptions::leave`]).
    const LEAVES: bool = false;
    /// Files of kernels that nearly every run on a GPU needs in the first of their variants, which are compiled ahead.
    const KERNELS: &'static [&'static str] = &[];

    /// Checks what no single option's syntax can.
    fn check(_config: &Self::Config) -> Result<()> {
        Ok(())
    }

    /// What a run starts from.
    fn start(config: &Self::Config, graph: &Graph) -> Result<Self::Start>;

    /// The start as it follows the graph's name in a summary: `, from node 1`.
    fn started(_start: &Self::Start, _graph: &Graph) -> String {
        String::new()
    }

    /// Questions that runs are asked in turn: sources of a search, say.
    fn questions(_start: &Self::Start) -> u32 {
        1
    }

    /// Columns that an array (.npy) of the results has.
    fn array_columns(_config: &Self::Config) -> usize {
        1
    }

    /// The option that makes results more than one column, where one is set.
    fn several(_config: &Self::Config) -> Option<&'static str> {
        None
    }

    /// Files that a run reads beside the graph, and the option of each.
    fn files(_config: &Self::Config) -> Vec<(&'static str, &Path)> {
        Vec::new()
    }

    /// A file that the run itself writes, and its option.
    fn writes(_config: &Self::Config) -> Option<(&'static str, &Path)> {
        None
    }

    /// A file that says where the graph's nodes are, to be read with the graph.
    fn places(_config: &Self::Config) -> Option<PlacesFile> {
        None
    }

    /// The elements of the array that it works on, for workloads without a graph.
    fn elements(_config: &Self::Config) -> Option<u64> {
        None
    }

    /// The folder of the options that HIVE's scripts vary.
    fn folder(_config: &Self::Config) -> Option<String> {
        None
    }

    /// The arrays of a run on one GPU of `world` replicas, with those of the graph; [`Form::General`] has these, and the
    /// operators', from elsewhere.
    fn arrays(shape: &GraphShape, config: &Self::Config, world: usize) -> Vec<DeviceArray>;

    /// Runs it. What ran is told by the answer's [`Measured`]: `reached` nodes, `reached_arcs` that rates are of, and
    /// `arcs_relaxed` of all replicas together.
    fn solve(request: Request<Self>) -> Result<Self::Answer>;
}

/// What [`Algorithm::solve`] is given.
pub struct Request<'a, A: Algorithm> {
    /// Where it runs.
    pub fleet: &'a Fleet,
    /// The graph, laid out.
    pub graph: &'a Prepared,
    /// What is asked, but for how it runs.
    pub query: &'a Query<A>,
    /// How it runs.
    pub run: &'a RunOptions,
    /// Whether more than the times of runs is wanted.
    pub extras: bool,
}

/// The arrays of a run on one GPU of `world` replicas, with what every replica has there.
fn arrays<A: Algorithm>(shape: &GraphShape, config: &A::Config, world: usize) -> Vec<DeviceArray> {
    let mut arrays = A::arrays(shape, config, world);
    if A::FORM == Form::General {
        arrays.splice(0..0, memory::general(shape));
        arrays.extend(operator::arrays(shape));
    }
    arrays.push(DeviceArray::new::<FaultSink>("bad indices", 1));
    if world > 1 {
        arrays.push(DeviceArray::new::<Mail>("mail", 1));
    }
    arrays
}

/// The library function of a workload.
///
/// # Errors
/// [`crate::Error::Input`] for options out of range and for starts that the graph does not have;
/// [`crate::Error::Fault`] when a replica fails; [`crate::Error::Verify`] when `compare` finds answers that differ.
pub(crate) fn run<A: Algorithm>(
    fleet: &Fleet,
    graph: &Prepared,
    config: &A::Config,
) -> Result<A::Answer> {
    graph.check_fleet(fleet)?;
    let query = Query::<A>::new(config.clone(), graph.graph().clone(), *graph.options())?;
    query.check_memory(fleet.info())?;
    let request = Request { fleet, graph, query: &query, run: config.run(), extras: true };
    let answer = A::solve(request)?;
    match &answer.measured().differing {
        Some(message) => Err(Error::Verify(message.clone())),
        None => Ok(answer),
    }
}

/// What was asked: everything that an answer is told by.
pub struct Query<A: Algorithm> {
    /// The options.
    pub config: A::Config,
    /// The graph; an empty one where there is none.
    pub graph: Arc<Graph>,
    /// How it is laid out.
    pub prepare: PrepareOptions,
    /// What runs start from.
    pub start: A::Start,
}

impl<A: Algorithm> Query<A> {
    /// Checks the options and finds the start.
    pub(crate) fn new(
        config: A::Config,
        graph: Arc<Graph>,
        prepare: PrepareOptions,
    ) -> Result<Query<A>> {
        config.run().check()?;
        if config.run().leave && !A::LEAVES {
            return Err(Error::input(format!("{} leaves no answer on a device", A::NAME)));
        }
        A::check(&config)?;
        let start = A::start(&config, &graph)?;
        Ok(Query { config, graph, prepare, start })
    }

    /// The device arrays of one of `world` replicas, the graph's included.
    pub(crate) fn arrays(&self, world: usize) -> Vec<DeviceArray> {
        let shape = GraphShape::of_form(&self.graph, A::FORM, self.prepare);
        placed(arrays::<A>(&shape, &self.config, world), self.prepare.placement, world)
    }

    /// Refuses a fleet whose memory limit the arrays of its replicas would exceed on one of its GPUs.
    pub(crate) fn check_memory(&self, fleet: &FleetInfo) -> Result<()> {
        let FleetInfo { world, devices, memory_limit: Some(limit), .. } = fleet else {
            return Ok(());
        };
        let bytes = total(&self.arrays(*world));
        let replicas = |gpu: &str| devices.iter().filter(|d| d.gpu() == gpu).count() as u64;
        let Some(full) = devices.iter().find(|d| bytes * replicas(d.gpu()) > *limit) else {
            return Ok(());
        };
        let shared = match replicas(full.gpu()) {
            1 => String::new(),
            several => format!(" for each of {several} replicas"),
        };
        Err(Error::machine(format!(
            "{}: {} needs up to {bytes} bytes{shared}, more than --memory-limit {limit}; use --placement \
             sharded, more GPUs, or a higher --memory-limit",
            full.device,
            A::NAME
        )))
    }
}

/// The answer of a workload, as summary, record, sweep and result files need it. What is common to all
/// workloads is in [`Measured`]; the rest is each answer's own to tell.
pub trait Answer<A: Algorithm<Answer = Self>>: Send + Sync + Sized + 'static {
    /// Timings and counts.
    fn measured(&self) -> &Measured;

    /// The same, to be changed.
    fn measured_mut(&mut self) -> &mut Measured;

    /// What ran, in a word: the record's `strategy`.
    fn strategy(&self, query: &Query<A>) -> &'static str;

    /// The same for people.
    fn strategy_line(&self, query: &Query<A>) -> String {
        self.strategy(query).into()
    }

    /// What was cut for the merges that took place, as it follows their counts: `; chunks of ...`.
    fn cuts(&self, query: &Query<A>) -> String;

    /// Lines of the summary, name and text: what came out.
    fn lines(&self, query: &Query<A>) -> Vec<(&'static str, String)>;

    /// What a rate is of.
    fn unit(&self) -> &'static str {
        "arcs"
    }

    /// What a rate counts, as in `2.5 Garcs/s out of reached nodes`.
    fn rated(&self) -> &'static str;

    /// The first tag of the record: `variant:num_seeds-10`.
    fn variant(&self, query: &Query<A>) -> String;

    /// The record's own fields, by name.
    fn facts(&self, query: &Query<A>) -> Map<String, Value>;

    /// The first `k` of the ranking as a table, where the workload ranks nodes or components.
    fn ranking(&self, _query: &Query<A>, _k: usize) -> Option<String> {
        None
    }

    /// The paths to the targets, where some were asked for.
    fn paths(&self, _query: &Query<A>) -> Option<Paths> {
        None
    }

    /// What was found, as rows: one a node, where there are nodes.
    fn table(&self, query: &Query<A>) -> Table<'_>;

    /// The columns that were left on a GPU, by the names that they have in the table, which then is empty.
    fn left(&self, _query: &Query<A>) -> Vec<LeftColumn> {
        Vec::new()
    }

    /// Has it checked independently: [`crate::Error::Verify`] for a wrong answer.
    fn verify(&self, query: &Query<A>, by: &Checker) -> Result<Checked>;
}

/// What a check that found nothing wrong has to say.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// What was not looked at, in one sentence; `None` where everything was.
    pub skipped: Option<String>,
    /// Fields of the record's `verification`.
    pub found: Map<String, Value>,
    /// More for the summary, as in `; sums over 3 arcs overflow`.
    pub note: String,
}

/// A workload as the command line, the sweep and the records know it.
pub struct Workload {
    /// The word after `hive run`.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// The record's `primitive`, as HIVE's records call it.
    pub primitive: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// Two commands for the help.
    pub examples: [&'static str; 2],
    /// How it wants the graph.
    pub form: Form,
    /// What `--top K` lists.
    pub ranks: Option<&'static str>,
    /// Whether its answer can be left on a GPU.
    pub leaves: bool,
    /// Files of kernels that are worth compiling ahead.
    pub(crate) kernels: &'static [&'static str],
    /// The rest, with configs as maps.
    pub(crate) of: &'static dyn Untyped,
}

impl Workload {
    pub(super) const fn new<A: Algorithm>() -> Workload {
        Workload {
            name: A::NAME,
            aliases: A::ALIASES,
            primitive: A::PRIMITIVE,
            about: A::ABOUT,
            examples: A::EXAMPLES,
            form: A::FORM,
            ranks: A::RANKS,
            leaves: A::LEAVES,
            kernels: A::KERNELS,
            of: &Entry::<A>(std::marker::PhantomData),
        }
    }

    /// The names of its own options.
    pub fn options(&self) -> Vec<String> {
        self.of.defaults().keys().cloned().collect()
    }

    /// Whether an option that runs have, by the name of its key, has an effect on it.
    pub fn takes_shared_option(&self, option: &str) -> bool {
        match option {
            "top" => self.ranks.is_some(),
            _ => self.form.takes(option),
        }
    }

    /// Whether it has an option of its own of this name.
    pub fn has_own_option(&self, option: &str) -> bool {
        self.of.defaults().contains_key(option)
    }

    /// The refusal of an option that it has no use for.
    pub(crate) fn does_not_take(&self, option: &str) -> String {
        let own: Vec<String> = self.options().iter().map(|o| format!("--{o}")).collect();
        let own = match own.is_empty() {
            true => "it has none of its own".into(),
            false => format!("of its own it takes {}", own.join(", ")),
        };
        format!("{} does not take --{option}; {own}", self.name)
    }
}

/// An [`Algorithm`] whose config is a map of values by option; options that are not in it have their defaults.
pub(crate) trait Untyped: Sync {
    /// Every option with its default, null where there is none.
    fn defaults(&self) -> Map<String, Value>;

    /// All options, those of `own` set; without those that have no value.
    fn whole(&self, own: &Map<String, Value>) -> Result<Map<String, Value>, String>;

    /// Checks the options, and the merge mode with them.
    fn check(&self, own: &Map<String, Value>, run: RunOptions) -> Result<()>;

    /// The options that change what is read and where it is written.
    fn asks(&self, own: &Map<String, Value>) -> Asks;

    /// The arrays of a run on one GPU of `world` replicas.
    fn arrays(
        &self,
        shape: &GraphShape,
        own: &Map<String, Value>,
        world: usize,
    ) -> Vec<DeviceArray>;

    /// A query.
    fn query(
        &self,
        own: &Map<String, Value>,
        run: RunOptions,
        prepare: PrepareOptions,
        graph: Arc<Graph>,
    ) -> Result<Arc<dyn AnyQuery>>;

    /// The command with the workload's own flags.
    #[cfg(feature = "cli")]
    fn flags(&self, command: clap::Command) -> clap::Command;

    /// The options of `own` with those of the flags in their place.
    #[cfg(feature = "cli")]
    fn flagged(
        &self,
        own: &Map<String, Value>,
        matches: &clap::ArgMatches,
    ) -> Result<Map<String, Value>, String>;
}

/// What options say of files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Asks {
    /// Files that a run reads beside the graph, and the option of each.
    pub files: Vec<(&'static str, PathBuf)>,
    /// A file that the run itself writes, and its option.
    pub writes: Option<(&'static str, PathBuf)>,
    /// A file that says where nodes are.
    pub places: Option<PlacesFile>,
    /// The option that makes results more than one column.
    pub several: Option<&'static str>,
    /// Columns that an array of the results has.
    pub array_columns: usize,
    /// Elements of the array that takes the place of a graph.
    pub elements: Option<u64>,
    /// The folder of the options that HIVE's scripts vary.
    pub folder: Option<String>,
}

struct Entry<A>(std::marker::PhantomData<fn() -> A>);

fn typed<C: Config>(own: &Map<String, Value>) -> Result<C, String> {
    serde_json::from_value(Value::Object(own.clone())).map_err(|e| e.to_string().replace('`', "'"))
}

fn untyped<C: Config>(config: &C) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn without_nulls(mut map: Map<String, Value>) -> Map<String, Value> {
    map.retain(|_, value| !value.is_null());
    map
}

fn config_of<C: Config>(own: &Map<String, Value>, run: RunOptions) -> Result<C> {
    let mut config: C = typed(own).map_err(Error::input)?;
    *config.run_mut() = run;
    Ok(config)
}

impl<A: Algorithm> Untyped for Entry<A> {
    fn defaults(&self) -> Map<String, Value> {
        untyped(&A::Config::default())
    }

    fn whole(&self, own: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(without_nulls(untyped(&typed::<A::Config>(own)?)))
    }

    fn check(&self, own: &Map<String, Value>, run: RunOptions) -> Result<()> {
        A::check(&config_of(own, run)?)
    }

    fn asks(&self, own: &Map<String, Value>) -> Asks {
        let Ok(config) = typed::<A::Config>(own) else { return Asks::default() };
        let files = A::files(&config).into_iter().map(|(option, path)| (option, path.into()));
        Asks {
            files: files.collect(),
            writes: A::writes(&config).map(|(option, path)| (option, path.into())),
            places: A::places(&config),
            several: A::several(&config),
            array_columns: A::array_columns(&config),
            elements: A::elements(&config),
            folder: A::folder(&config),
        }
    }

    fn arrays(
        &self,
        shape: &GraphShape,
        own: &Map<String, Value>,
        world: usize,
    ) -> Vec<DeviceArray> {
        arrays::<A>(shape, &typed(own).unwrap_or_default(), world)
    }

    fn query(
        &self,
        own: &Map<String, Value>,
        run: RunOptions,
        prepare: PrepareOptions,
        graph: Arc<Graph>,
    ) -> Result<Arc<dyn AnyQuery>> {
        Ok(Arc::new(Shared(Arc::new(Query::<A>::new(config_of(own, run)?, graph, prepare)?))))
    }

    #[cfg(feature = "cli")]
    fn flags(&self, command: clap::Command) -> clap::Command {
        A::Config::augment_args_for_update(command)
    }

    #[cfg(feature = "cli")]
    fn flagged(
        &self,
        own: &Map<String, Value>,
        matches: &clap::ArgMatches,
    ) -> Result<Map<String, Value>, String> {
        let mut config: A::Config = typed(own)?;
        config.update_from_arg_matches(matches).map_err(|e| e.to_string())?;
        Ok(without_nulls(untyped(&config)))
    }
}

/// A [`Query`] of any workload.
pub trait AnyQuery: Send + Sync {
    /// The start as it follows the graph's name in a summary.
    fn started(&self) -> String;

    /// Questions that runs are asked in turn.
    fn questions(&self) -> u32;

    /// The device arrays of one of `world` replicas, the graph's included.
    fn arrays(&self, world: usize) -> Vec<DeviceArray>;

    /// Refuses a fleet whose memory limit a run would exceed.
    fn check_memory(&self, fleet: &FleetInfo) -> Result<()>;

    /// Runs it under these options of a run.
    fn solve(
        &self,
        fleet: &Fleet,
        graph: &Prepared,
        run: RunOptions,
        extras: bool,
    ) -> Result<Box<dyn AnyAnswer>>;
}

struct Shared<A: Algorithm>(Arc<Query<A>>);

impl<A: Algorithm> AnyQuery for Shared<A> {
    fn started(&self) -> String {
        A::started(&self.0.start, &self.0.graph)
    }

    fn questions(&self) -> u32 {
        A::questions(&self.0.start)
    }

    fn arrays(&self, world: usize) -> Vec<DeviceArray> {
        self.0.arrays(world)
    }

    fn check_memory(&self, fleet: &FleetInfo) -> Result<()> {
        self.0.check_memory(fleet)
    }

    fn solve(
        &self,
        fleet: &Fleet,
        graph: &Prepared,
        run: RunOptions,
        extras: bool,
    ) -> Result<Box<dyn AnyAnswer>> {
        // The program of unit tests is a third smaller without all workloads.
        if cfg!(test) {
            unreachable!("tests that run a workload by its name are in tests/workloads");
        }
        let answer = A::solve(Request { fleet, graph, query: &self.0, run: &run, extras })?;
        Ok(Box::new(Answered { query: self.0.clone(), answer }))
    }
}

/// An [`Answer`] of any workload with its query: what [`Answer`] has, without types.
#[expect(missing_docs, reason = "as in Answer")]
pub trait AnyAnswer: Send + Sync {
    fn measured(&self) -> &Measured;
    fn measured_mut(&mut self) -> &mut Measured;
    fn strategy(&self) -> &'static str;
    fn strategy_line(&self) -> String;
    fn cuts(&self) -> String;
    fn lines(&self) -> Vec<(&'static str, String)>;
    fn unit(&self) -> &'static str;
    fn rated(&self) -> &'static str;
    fn variant(&self) -> String;
    fn facts(&self) -> Map<String, Value>;
    fn ranking(&self, k: usize) -> Option<String>;
    fn paths(&self) -> Option<Paths>;
    fn table(&self) -> Table<'_>;
    fn left(&self) -> Vec<LeftColumn>;
    fn verify(&self, by: &Checker) -> Result<Checked>;
    /// The workload's own answer.
    fn own(&self) -> &dyn Any;
    /// The same, to be changed.
    fn own_mut(&mut self) -> &mut dyn Any;
}

struct Answered<A: Algorithm> {
    query: Arc<Query<A>>,
    answer: A::Answer,
}

impl<A: Algorithm> AnyAnswer for Answered<A> {
    fn measured(&self) -> &Measured {
        self.answer.measured()
    }

    fn measured_mut(&mut self) -> &mut Measured {
        self.answer.measured_mut()
    }

    fn strategy(&self) -> &'static str {
        self.answer.strategy(&self.query)
    }

    fn strategy_line(&self) -> String {
        self.answer.strategy_line(&self.query)
    }

    fn cuts(&self) -> String {
        self.answer.cuts(&self.query)
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        self.answer.lines(&self.query)
    }

    fn unit(&self) -> &'static str {
        self.answer.unit()
    }

    fn rated(&self) -> &'static str {
        self.answer.rated()
    }

    fn variant(&self) -> String {
        self.answer.variant(&self.query)
    }

    fn facts(&self) -> Map<String, Value> {
        self.answer.facts(&self.query)
    }

    fn ranking(&self, k: usize) -> Option<String> {
        self.answer.ranking(&self.query, k)
    }

    fn paths(&self) -> Option<Paths> {
        self.answer.paths(&self.query)
    }

    fn table(&self) -> Table<'_> {
        self.answer.table(&self.query)
    }

    fn left(&self) -> Vec<LeftColumn> {
        self.answer.left(&self.query)
    }

    fn verify(&self, by: &Checker) -> Result<Checked> {
        self.answer.verify(&self.query, by)
    }

    fn own(&self) -> &dyn Any {
        &self.answer
    }

    fn own_mut(&mut self) -> &mut dyn Any {
        &mut self.answer
    }
}

/// A query with an answer that nobody computed.
#[cfg(test)]
pub(crate) fn answered<A: Algorithm>(
    query: Query<A>,
    answer: A::Answer,
) -> (Arc<dyn AnyQuery>, Box<dyn AnyAnswer>) {
    let query = Arc::new(query);
    (Arc::new(Shared(query.clone())), Box::new(Answered { query, answer }))
}
