//! What is asked of a run, whichever way it was said: flags, a TOML file, or this struct.

use super::own::is_own;
use super::{ByteCount, Choice, Own, Verify};
use crate::algorithm::{Asks, MergeMode, RunOptions, Workload};
use crate::collective::ChunkPolicy;
use crate::fleet::{CollectiveKind, Devices, Fault, FleetConfig, OnFailure, Pretend, Ranks};
use crate::io::{LoadOptions, ResultFormat};
use crate::layout::{Form, Layout, Placement, PrepareOptions};
use crate::{Error, Result};
use serde::de::{DeserializeOwned, IntoDeserializer, value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of a configuration file or a record.
const LONGEST: u64 = 64 << 20;

/// Most timed runs, and most warm-up runs, of a job.
const MAX_RUNS: u32 = 1_000_000;

// The groups in which options are shown.
const DEVICES: &str = "Devices and merges";
const MEASURING: &str = "Measuring";
const RESULTS: &str = "Results";

/// The options of a run, resolved. This struct is the API, the configuration file (TOML, the same
/// kebab-case names) and the echo in a JSON record; the flags of `hive run` are derived from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, rename_all = "kebab-case")]
pub struct RunConfig {
    /// The graph (required): a file (Matrix Market, edge list, HIVE binary CSR and others, also packed) or a generator:
    /// rmat:SCALE, uniform:NODES, grid:ROWSxCOLS, torus:ROWSxCOLS, star:LEAVES, chain:NODES, road:SCALE, geo:NODES,
    /// with options such as ,seed=1 behind it. - is standard input, for formats that are recognised by their content
    /// (METIS, LDBC and GAP edge lists are recognised by their names).
    #[cfg_attr(feature = "cli", arg(long, help_heading = "Graph", value_name = "FILE|SPEC|-",
        value_hint = clap::ValueHint::FilePath))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
    /// How the graph is loaded; a table of this name in a configuration file.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub load: LoadOptions,
    /// Where replicas run: auto (all GPUs, or else the host) | cuda (all GPUs) | cuda:0-3 | cuda:0,2 | cuda:0x4 (four
    /// replicas on one GPU) | host | host:N (N replicas) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "DEVICES"))]
    pub devices: Devices,
    /// How merges move data: auto | nccl | peer (through peer memory) | host [default: auto].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "NAME"))]
    pub collective: CollectiveKind,
    /// How replicas are made equal: auto (the cheapest) | dense (the textbook loop: merge whole arrays after every
    /// step) | split (always divide the work) | redundant (each replica computes everything; the sources of betweenness
    /// are still divided among replicas, and scores added up) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "MODE",
        value_parser = keyword::<MergeMode>))]
    pub merge: MergeMode,
    /// Balance chunks by the number of: arcs | nodes [default: arcs].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "WHAT"))]
    pub chunks: ChunkPolicy,
    /// Chunks end at multiples of this many nodes: a power of two from 64 to 1048576 [default: 64].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "NODES", allow_hyphen_values = true))]
    pub chunk_align: u32,
    /// Order of nodes in memory: auto | raw (as in the input) | degree (falling) [default: auto].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "NAME"))]
    pub layout: Layout,
    /// Where arcs lie: replicated (all arcs on every GPU) | sharded (each chunk's arcs on one GPU, for graphs larger
    /// than the memory of a GPU) [default: replicated].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "NAME"))]
    pub placement: Placement,
    /// Memory limit per GPU for the arrays of all replicas on it: bytes, or as in 512M, 80G, 80GiB (powers of 1024)
    /// [default: the GPU's memory].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "BYTES", allow_hyphen_values = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<ByteCount>,
    /// Measure: make a warm-up run, then timed runs. Without --benchmark, --runs and --warmup the answer is computed
    /// once.
    #[cfg_attr(feature = "cli", arg(long, help_heading = MEASURING, action = clap::ArgAction::Set, num_args = 0..=1,
        default_missing_value = "true", require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub benchmark: bool,
    /// Number of timed runs; implies --benchmark: auto (10, or 5 if a run takes more than a second; one from each of
    /// several --sources) | N from 1 to 1000000 (from each source) [default: auto with --benchmark].
    #[cfg_attr(feature = "cli", arg(long, help_heading = MEASURING, value_name = "N", allow_hyphen_values = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Choice<u32>>,
    /// Number of runs before the timed ones, 0 to 1000000; implies --benchmark [default: 1 with --benchmark].
    #[cfg_attr(feature = "cli", arg(long, help_heading = MEASURING, value_name = "N", allow_hyphen_values = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u32>,
    /// Check the answer independently, on a GPU of the run where that is possible; --verify=host: on the host. The verdict is
    /// yes, partly (what was not checked is named) or no (exit code 1).
    #[cfg_attr(feature = "cli", arg(long, help_heading = RESULTS, action = clap::ArgAction::Set, num_args = 0..=1,
        default_missing_value = "true", require_equals = true, value_name = "BOOL|host"))]
    pub verify: Verify,
    /// Print the first K of the ranking, K from 0 on; 0 prints none [default: 0].
    #[cfg_attr(feature = "cli", arg(long, help_heading = RESULTS, value_name = "K", allow_hyphen_values = true))]
    pub top: usize,
    /// Print and record one entry for each iteration.
    #[cfg_attr(feature = "cli", arg(long, help_heading = MEASURING, action = clap::ArgAction::Set, num_args = 0..=1,
        default_missing_value = "true", require_equals = true, hide_possible_values = true, value_name = "BOOL"))]
    pub trace: bool,
    /// Write the record of the run as JSON; - is standard output, and the summary then goes to standard error.
    #[cfg_attr(feature = "cli", arg(long, help_heading = RESULTS, value_name = "FILE|-",
        value_hint = clap::ValueHint::FilePath))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<PathBuf>,
    /// Write one row for each node or value, nodes by the ids of the input. The ending gives the format: .csv, .tsv,
    /// .jsonl, .npz, .parquet, or .npy and .txt for one column. - is standard output, which then holds only the rows,
    /// as csv.
    #[cfg_attr(feature = "cli", arg(long, help_heading = RESULTS, value_name = "FILE|-",
        value_hint = clap::ValueHint::FilePath))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Format of --output, whatever its ending: csv | tsv | jsonl | npz | npy | txt | parquet.
    #[cfg_attr(feature = "cli", arg(long, help_heading = RESULTS, value_name = "FORMAT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_format: Option<ResultFormat>,
    /// Seconds that a replica waits for the others before the run is given up: above 0, up to 86400 [default: 6].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "SECONDS", allow_hyphen_values = true))]
    pub deadline: f64,
    /// Whether the run spans the processes that hive launch, torchrun, srun or mpirun has started: auto (if there are several) |
    /// none [default: auto].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "WHETHER"))]
    pub ranks: Ranks,
    /// HOST:PORT where these processes meet: an address of the host of process 0, the same for all [default: what the launcher
    /// says].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "HOST:PORT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendezvous: Option<String>,
    /// What the others do when one of several processes fails: stop | continue (they begin the run again without it)
    /// [default: stop].
    #[cfg_attr(feature = "cli", arg(long, help_heading = DEVICES, value_name = "WHAT"))]
    pub on_failure: OnFailure,
    /// Test hook: RANK:ITERATION:fail|panic|stall.
    #[cfg_attr(feature = "cli", arg(long, value_name = "RANK:ITERATION:KIND", hide = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Test hook: random delays and block sizes, which must not change any answer.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SEED", hide = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perturb: Option<u64>,
    /// Test hook: GPUs pass for no more than v100 | t4 | a100 | l40s | ..., itself, apart (without access to others), or 1/2 to
    /// 1/16 of themselves; one for all, or one for each replica, as in itself,1/3.
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHAT", hide = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pretend: Option<Pretend>,
    /// Leave the arrays of the answer on the GPU of the first replica ([`RunOptions::leave`]); for programs that go on there.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub leave: bool,
    /// What belongs to workloads.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(flatten)]
    pub own: Own,
}

impl Default for RunConfig {
    fn default() -> Self {
        let (fleet, prepare) = (FleetConfig::default(), PrepareOptions::default());
        RunConfig {
            graph: None,
            load: LoadOptions::default(),
            devices: fleet.devices,
            collective: fleet.collective,
            merge: MergeMode::default(),
            chunks: prepare.chunks,
            chunk_align: prepare.chunk_align,
            layout: prepare.layout,
            placement: prepare.placement,
            memory_limit: None,
            top: 0,
            benchmark: false,
            runs: None,
            warmup: None,
            verify: Verify::No,
            trace: false,
            json: None,
            output: None,
            output_format: None,
            deadline: fleet.deadline_s,
            ranks: Ranks::Auto,
            rendezvous: None,
            on_failure: OnFailure::Stop,
            fault: None,
            perturb: None,
            pretend: None,
            leave: false,
            own: Own::default(),
        }
    }
}

impl RunConfig {
    /// Whether runs are repeated and timed. Otherwise the answer is computed once.
    pub fn benchmarks(&self) -> bool {
        self.benchmark || self.runs.is_some() || self.warmup.is_some()
    }

    /// How a workload runs: once, unless a benchmark says otherwise.
    pub(crate) fn run_options(&self) -> RunOptions {
        let (merge, trace, compare) = (self.merge, self.trace, self.verify.is_wanted());
        RunOptions { merge, runs: 1, warmup: 0, trace, compare, leave: self.leave }
    }

    /// The options of `workload`.
    pub(crate) fn options_of(&self, workload: &Workload) -> Map<String, Value> {
        self.own.for_one(workload)
    }

    /// An option that makes the host look at arcs, whatever GPUs do.
    pub(crate) fn wants_arcs_on_host(&self, workload: &Workload) -> Option<&'static str> {
        let own = self.options_of(workload);
        let set = |option: &str| own.get(option).is_some_and(|v| !v.is_null() && v != false);
        let drawn_from_arcs = |option: &str| {
            let text = own.get(option).and_then(|value| value.as_str()).unwrap_or_default();
            ["connected", "random"].iter().any(|head| text.starts_with(head))
        };
        match () {
            _ if set("predecessors") => Some("--predecessors"),
            _ if set("nominee") => Some("--nominee"),
            _ if set("target") => Some("--target"),
            _ if drawn_from_arcs("sources") => Some("--sources"),
            _ if drawn_from_arcs("seeds") => Some("--seeds"),
            _ if self.verify == Verify::Host => Some("--verify=host"),
            _ => None,
        }
    }

    /// Whether the workload starts from one node, and nobody has said from which.
    pub fn starts_by_default(&self, workload: &Workload) -> bool {
        let given = self.options_of(workload);
        let says = |option: &&str| given.get(*option).is_some_and(|value| !value.is_null());
        workload.has_own_option("source") && !["source", "sources"].iter().any(says)
    }

    /// Sets the options of `workload` to what `set` makes of them.
    #[cfg(feature = "cli")]
    pub(crate) fn set_own(
        &mut self,
        workload: &Workload,
        set: impl FnOnce(Map<String, Value>) -> Result<Map<String, Value>, String>,
    ) -> Result<()> {
        // Others' options stay, to be refused.
        let options = set(self.options_of(workload)).map_err(Error::input)?;
        self.own = self.own.replaced(workload, options);
        Ok(())
    }

    /// What these options say of files.
    pub(crate) fn asks(&self, workload: &Workload) -> Asks {
        workload.of.asks(&self.options_of(workload))
    }

    /// As [`RunConfig::asks`], where the options are those of one workload alone ([`RunConfig::only_of`]).
    pub(crate) fn own_asks(&self) -> Asks {
        let first = self.own.tables().next();
        first.map(|(workload, options)| workload.of.asks(&options)).unwrap_or_default()
    }

    /// Checks, before any work is done, what no single option's syntax can: that the workload takes
    /// the options that are set, ranges, and that files can be written where asked.
    pub fn check(&self, workload: &Workload) -> Result<()> {
        self.check_applicable(workload)?;
        workload.of.check(&self.options_of(workload), self.run_options())?;
        crate::layout::check_align(self.chunk_align)?;
        if let Some(Choice::Is(runs)) = self.runs
            && !(1..=MAX_RUNS).contains(&runs)
        {
            return Err(Error::input(format!("--runs {runs}: use auto or 1 to {MAX_RUNS}")));
        }
        if let Some(warmup) = self.warmup.filter(|warmup| *warmup > MAX_RUNS) {
            return Err(Error::input(format!("--warmup {warmup}: use 0 to {MAX_RUNS}")));
        }
        // As `Fleet::open` has it.
        if !(self.deadline > 0.0 && self.deadline <= 86_400.0) {
            let given = self.deadline;
            return Err(Error::input(format!(
                "--deadline {given}: use seconds above 0, up to 86400"
            )));
        }
        let asks = self.asks(workload);
        self.check_format(asks.several)?;
        if let (Some(path), Some(ResultFormat::Txt)) = (&self.output, self.format_of_output()?)
            && asks.array_columns > 1
        {
            return Err(Error::input(format!(
                "--output {}: a .txt file has one column, and {} has {}; name a .csv, .npz or .npy",
                path.display(),
                workload.name,
                asks.array_columns
            )));
        }
        if self.output_is_standard() && self.json.as_deref() == Some(Path::new("-")) {
            return Err(Error::input(
                "--output - with --json -: both are for standard output; write one of them to a file",
            ));
        }
        if let Some(path) = self.output.as_deref().filter(|_| !self.output_is_standard()) {
            writable("--output", path)?;
        }
        if let Some(path) = &self.json {
            writable("--json", path)?;
        }
        if let Some((option, path)) = &asks.writes {
            writable(option, path)?;
            if path.extension().is_none_or(|end| end != "npy") {
                let path = path.display();
                return Err(Error::input(format!(
                    "{option} {path}: it is a NumPy array; end its name in .npy"
                )));
            }
        }
        // A result must replace neither what the run reads nor another result.
        let graph = self.graph.as_ref().map(|graph| ("the graph".to_string(), Path::new(graph)));
        let output = self.output.as_deref().map(|path| ("--output".to_string(), path));
        let files = asks.files.iter();
        let files = files.map(|(option, path)| (format!("the file of {option}"), path.as_path()));
        let own = asks.writes.as_ref().map(|(option, path)| (*option, path.as_path()));
        self.check_beside(&graph.into_iter().chain(files).chain(output).collect::<Vec<_>>(), own)
    }

    /// How `--output` is written, where there is one: as `--output-format` says, else by its ending.
    pub(crate) fn format_of_output(&self) -> Result<Option<ResultFormat>> {
        match (&self.output, self.output_format) {
            (None, Some(format)) => Err(Error::input(format!(
                "--output-format {format}: there is no --output to write; give one"
            ))),
            (None, None) => Ok(None),
            (Some(_), Some(format)) => Ok(Some(format)),
            (Some(path), None) => ResultFormat::of(path).map(Some),
        }
    }

    /// Refuses a format that this program cannot write, and one without room for the columns that `several` names.
    pub(crate) fn check_format(&self, several: Option<&str>) -> Result<()> {
        let Some(format) = self.format_of_output()? else { return Ok(()) };
        format.check("--output", self.output.as_deref().unwrap_or(Path::new("-")), several)
    }

    /// Whether standard output is for rows alone.
    pub(crate) fn output_is_standard(&self) -> bool {
        self.output.as_deref() == Some(Path::new("-"))
    }

    /// Refuses to write a result to the file that the options were read from.
    pub(crate) fn check_kept(&self, options: &Path) -> Result<()> {
        self.check_beside(&[("the file of --config".into(), options)], None)
    }

    /// A result, `own` of the workload among them, must replace none of these files.
    fn check_beside(&self, files: &[(String, &Path)], own: Option<(&str, &Path)>) -> Result<()> {
        let json = self.json.as_deref().filter(|path| *path != Path::new("-"));
        let output = self.output.as_deref().filter(|_| !self.output_is_standard());
        let output = output.map(|path| ("--output", path));
        for (flag, path) in [json.map(|path| ("--json", path)), output, own].into_iter().flatten() {
            let clash = files.iter().find(|(other, file)| {
                other != flag && place(path).is_some_and(|place_of| place(file) == Some(place_of))
            });
            if let Some((other, _)) = clash {
                return Err(Error::input(format!(
                    "{flag} {}: is also {other}; name another file",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Options that this workload has no use for are refused rather than ignored.
    fn check_applicable(&self, workload: &Workload) -> Result<()> {
        let unset = RunConfig::default();
        let set = [
            ("top", self.top != unset.top),
            ("layout", self.layout != unset.layout),
            ("chunks", self.chunks != unset.chunks),
            ("chunk-align", self.chunk_align != unset.chunk_align),
        ];
        let foreign = |(name, set): &(&str, bool)| *set && !workload.takes_shared_option(name);
        let ours = set.into_iter().filter(foreign).map(|(name, _)| name.to_string());
        if let Some(option) = self.own.foreign(workload).into_iter().chain(ours).next() {
            return Err(Error::input(workload.does_not_take(&option)));
        }
        if workload.form != Form::Array {
            return self.graph.as_ref().map(drop).ok_or_else(no_graph);
        }
        let given = [
            ("--graph", self.graph.is_some()),
            ("a load option", self.load != LoadOptions::default()),
            ("--placement", self.placement != Placement::default()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((what, _)) => Err(Error::input(format!(
                "{} works on an array, and has no use for {what}; leave it out",
                workload.name
            ))),
            None => Ok(()),
        }
    }

    /// Of a table of options, those that this workload takes.
    pub(crate) fn taken(table: &Map<String, Value>, workload: &Workload) -> Map<String, Value> {
        let named = |name: &str| name == workload.name || workload.aliases.contains(&name);
        let taken = |(name, _): &(&String, &Value)| match is_own(name) {
            true => named(name) || workload.has_own_option(name),
            false => workload.takes_shared_option(name),
        };
        let taken = table.iter().filter(taken);
        taken.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// These options without those that this workload does not take; its own all in its table.
    pub fn only_of(&self, workload: &Workload) -> RunConfig {
        let unset = RunConfig::default();
        let mut config = self.clone();
        // What no workload could read was refused before.
        let options = self.options_of(workload);
        config.own = Own::of(workload, workload.of.whole(&options).unwrap_or(options));
        let takes = |option| workload.takes_shared_option(option);
        config.top = if takes("top") { config.top } else { unset.top };
        config.layout = if takes("layout") { config.layout } else { unset.layout };
        config.chunks = if takes("chunks") { config.chunks } else { unset.chunks };
        config.chunk_align =
            if takes("chunk-align") { config.chunk_align } else { unset.chunk_align };
        config
    }

    /// These options with those of a table, as in a configuration file, in their place; what they are, in words.
    pub fn with(&self, table: &Map<String, Value>) -> Result<(RunConfig, String)> {
        let mut values = serde_json::to_value(self).unwrap_or_default();
        let mut words = Vec::new();
        // What is said of all workloads after what was said of one takes its place.
        table.keys().for_each(|name| Own::unset_in_tables(&mut values, name));
        put(&mut values, table, &mut words);
        let config = serde_json::from_value(values).map_err(|e| {
            Error::input(format!("{}: {}", words.join(" "), e.to_string().replace('`', "'")))
        })?;
        Ok((config, words.join(" ")))
    }

    /// The part of this that opens a fleet.
    pub fn fleet(&self) -> FleetConfig {
        FleetConfig {
            devices: self.devices.clone(),
            collective: self.collective,
            deadline_s: self.deadline,
            memory_limit: self.memory_limit.map(|limit| limit.0),
            large_copies: self.graph.as_deref().is_some_and(crate::io::is_large),
            fault: self.fault,
            perturb: self.perturb,
            pretend: self.pretend.clone(),
            ranks: self.ranks,
            rendezvous: self.rendezvous.clone(),
            ..FleetConfig::default()
        }
    }

    /// Whether GPUs were asked for, or would be taken if there are any.
    pub fn may_use_gpus(&self) -> bool {
        !matches!(self.devices, Devices::Host(_))
    }

    /// The part of this that lays a graph out.
    pub fn prepare(&self) -> PrepareOptions {
        PrepareOptions {
            chunks: self.chunks,
            chunk_align: self.chunk_align,
            layout: self.layout,
            placement: self.placement,
            textbook: self.merge == MergeMode::Dense,
        }
    }
}

pub(super) fn no_graph() -> Error {
    Error::input("no graph: give --graph FILE or a generator, as in --graph rmat:18")
}

/// Puts a table's values into those of another, table by table.
fn put(values: &mut Value, table: &Map<String, Value>, words: &mut Vec<String>) {
    for (name, value) in table {
        let slot = &mut values[name.as_str()];
        if let Value::Object(inner) = value
            && (slot.is_null() || slot.is_object())
        {
            put(slot, inner, words);
            continue;
        }
        words.push(match value {
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        });
        *slot = value.clone();
    }
}

/// A run of an hour must not end in a path that was never there.
pub(crate) fn writable(flag: &str, path: &Path) -> Result<()> {
    let refuse = |why: &str| Err(Error::input(format!("{flag} {}: {why}", path.display())));
    if path.is_dir() {
        return refuse("is a directory; name a file in it");
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            refuse(&format!("there is no directory {}; make it first", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Where a file is, or would be: the same for two names of one file.
fn place(path: &Path) -> Option<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    path.canonicalize().ok().or_else(|| Some(folder.canonicalize().ok()?.join(path.file_name()?)))
}

/// Reads a word of an enum through its serde names, so that each is spelled in one place.
fn keyword<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let source: value::StrDeserializer<'_, value::Error> = text.into_deserializer();
    T::deserialize(source).map_err(|e| e.to_string().replace('`', "'"))
}

impl RunConfig {
    /// Reads a configuration file: TOML as [`read_toml`] does, or JSON, which is a record of a run, for its `config`, or
    /// that alone. Files that the run of a record wrote are not asked for again: they are that run's.
    ///
    /// # Errors
    /// [`Error::Input`] for a file that is not there, an unknown key, a value that its key cannot take.
    pub fn read(path: &Path) -> Result<RunConfig> {
        let name = path.display();
        if !path.exists() {
            return Err(Error::input(format!("--config {name}: no such file; check the path")));
        }
        let text = text_of(path)?;
        let text = text.trim_start_matches('\u{feff}');
        if !text.trim_start().starts_with('{') {
            return parse_toml(path, text).map_err(|e| of_a_sweep(path, text).unwrap_or(e));
        }
        let wrong = |e: serde_json::Error| Error::input(format!("{name}: {e}"));
        let mut read: serde_json::Value = serde_json::from_str(text).map_err(wrong)?;
        match read.get_mut("config") {
            None => serde_json::from_value(read).map_err(wrong),
            Some(config) => {
                // Records say `true` from when that meant what `keep` means now.
                let both = config.pointer_mut("/load/symmetrize").filter(|both| **both == true);
                both.into_iter().for_each(|both| *both = "keep".into());
                let config: RunConfig = serde_json::from_value(config.take()).map_err(wrong)?;
                Ok(RunConfig { json: None, output: None, output_format: None, ..config })
            }
        }
    }
}

/// Keys that a sweep's file has and a run's has not.
const OF_A_SWEEP: &str = "graphs optional-graphs series collectives merges placements layouts workloads \
                          variants exclude include run";

/// The refusal of a sweep's file where a run's is wanted.
fn of_a_sweep(path: &Path, text: &str) -> Option<Error> {
    let table: toml::Table = text.parse().ok()?;
    let key = OF_A_SWEEP.split(' ').find(|key| table.contains_key(*key))?;
    let name = path.display();
    Some(Error::input(format!(
        "{name}: '{key}' makes this the file of a sweep; run it with hive sweep {name} --output DIR"
    )))
}

/// Reads a TOML file into `T`. A key that `T` lacks, or a value that it cannot take, is an input error
/// that names file, line and key.
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse_toml(path, &text_of(path)?)
}

fn text_of(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Err(e) => Err(Error::input(format!("{}: {e}", path.display()))),
        Ok(_) if text.len() as u64 > LONGEST => Err(Error::input(format!(
            "{}: is longer than {LONGEST} bytes, as no configuration is; check the path",
            path.display()
        ))),
        Ok(_) => Ok(text),
    }
}

/// As [`read_toml`], of what was read from `path`.
fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    let name = path.display();
    toml::from_str(text).map_err(|e| {
        let message = e.message().replace('\n', " ").replace('`', "'");
        let of = |span: std::ops::Range<usize>| 1 + text[..span.start].matches('\n').count();
        let line = line_named(text, &message).or_else(|| e.span().map(of)).unwrap_or(1);
        Error::input(format!("{name}:{line}: {message}{}", key_at(text, line, &message)))
    })
}

/// The line that sets a key which the message names.
fn line_named(text: &str, message: &str) -> Option<usize> {
    let key = message.rsplit_once("key '").or_else(|| message.rsplit_once("field '"))?.1;
    let key = key.split_once('\'')?.0;
    let sets = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == key);
    text.lines().position(sets).map(|line| line + 1)
}

/// `(key 'devices')` when the line sets a key that the message does not name.
fn key_at(text: &str, line: usize, message: &str) -> String {
    let key = text.lines().nth(line - 1).and_then(|l| l.split_once('=')).map(|(key, _)| key.trim());
    match key {
        Some(key) if !message.contains(&format!("'{key}'")) => format!(" (key '{key}')"),
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
