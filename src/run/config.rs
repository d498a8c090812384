//! What is asked of a run, whichever way it was said: flags, a TOML file, or this struct.

use super::{ByteCount, Choice, OWN_OPTIONS, Workload};
use crate::algorithm::bc::BcOptions;
use crate::algorithm::bfs::BfsOptions;
use crate::algorithm::filter::FilterOptions;
use crate::algorithm::geo::GeoOptions;
use crate::algorithm::pagerank::PagerankOptions;
use crate::algorithm::{InputId, MergeMode, Precision, Seeds};
use crate::collective::ChunkPolicy;
use crate::fleet::{CollectiveKind, Devices, Fault, FleetConfig};
use crate::io::{LoadOptions, ResultFormat};
use crate::layout::{Form, Layout, Placement, PrepareOptions};
use crate::{Error, Result};
use clap::ArgAction::Set;
use clap::{Args, ValueHint};
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

/// The tables of options that belong to one workload each.
const TABLES: [&str; 5] = ["geo", "bfs", "pagerank", "bc", "filter"];

/// The options of a run, resolved. This struct is the API, the configuration file (TOML, the same
/// kebab-case names) and the echo in a JSON record; the flags of `hive run` are derived from it.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunConfig {
    /// A file (Matrix Market, edge list or HIVE binary CSR, each also .gz) or a generator: rmat:SCALE,
    /// uniform:NODES, grid:ROWSxCOLS, torus:ROWSxCOLS, star:LEAVES, chain:NODES, road:SCALE, geo:NODES,
    /// with ,seed=1 and more after it. - is standard input, for formats that are recognised by their content (not
    /// METIS, LDBC, GAP edge lists, which are recognised by their names).
    #[arg(long, value_name = "FILE|SPEC|-", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
    /// Where to start, in the input's own ids: 0,5,17 | first:N | random:N:SEED | file:PATH.
    #[arg(long, value_name = "SEEDS", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
    /// Where to start, in the input's own ids [default: the lowest id in the largest component].
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<InputId>,
    /// Where to start, one run of the search after another, or all paths from these counted: all |
    /// random:N:SEED | connected:N:SEED (of those with out-arcs to others, as bfs draws at random too) | 0,5,17 |
    /// first:N | file:PATH [default: one, the lowest id in the largest component].
    #[arg(long, value_name = "SOURCES", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Seeds>,
    /// Say the paths to these nodes, from the source or the nearest seed: ID,.. | file:PATH. With --output its rows are
    /// the nodes of the paths: target,position,node,distance.
    #[arg(long, value_name = "TARGETS", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Seeds>,
    /// How the graph is loaded; a table of this name in a configuration file.
    #[command(flatten)]
    pub load: LoadOptions,
    /// auto (all GPUs, else host) | cuda | cuda:0-3 | cuda:0,2 | cuda:0x4 | host | host:N
    /// [default: auto].
    #[arg(long, value_name = "DEVICES")]
    pub devices: Devices,
    /// What makes replicas equal: auto | nccl | peer | host [default: auto].
    #[arg(long, value_name = "NAME")]
    pub collective: CollectiveKind,
    /// auto (redundant or only what changed, where cheaper) | dense (OR frontiers, MIN distances) |
    /// split (always cut pulls by chunk) | redundant (never communicate) [default: auto].
    #[arg(long, value_name = "MODE", value_parser = keyword::<MergeMode>)]
    pub merge: MergeMode,
    /// What a chunk's size counts in --merge dense: arcs | nodes; pulls have a split of their own, of
    /// about equal nodes, since they stop early [default: arcs].
    #[arg(long, value_name = "WHAT")]
    pub chunks: ChunkPolicy,
    /// Chunks end on multiples of this many nodes, a power of two from 64 on [default: 64].
    #[arg(long, value_name = "NODES", allow_hyphen_values = true)]
    pub chunk_align: u32,
    /// How nodes are laid out on a device: auto | raw | degree [default: auto].
    #[arg(long, value_name = "NAME")]
    pub layout: Layout,
    /// Where arcs lie: replicated (all on every GPU) | sharded (once over all GPUs, each chunk's on its
    /// owner's, for graphs larger than one GPU) [default: replicated].
    #[arg(long, value_name = "NAME")]
    pub placement: Placement,
    /// What replicas may take on each GPU, all on one together: bytes, or as in 512M, 80G, 80GiB (powers
    /// of 1024). Arrays count, the CUDA context and kernels do not [default: all there is].
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<ByteCount>,
    /// Width of a near-far bucket: auto | inf (one bucket) | a number above 0 [default: auto].
    #[arg(long, value_name = "WIDTH", allow_hyphen_values = true)]
    pub delta: Choice<f32>,
    /// Also compute the predecessor of each node.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub predecessors: bool,
    /// Also compute the nominee of each node: the seed it is nearest to.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub nominee: bool,
    /// Width of the numbers: auto | f32 | f64 [default: auto]. vn, sssp: auto is f32, and the run is repeated in
    /// f64 where weights are whole numbers and a distance reaches 2^24. bc on GPUs: auto is f64, and f32 on large
    /// graphs while it holds the numbers of paths; bc on the host is f64.
    #[arg(long, value_name = "TYPE")]
    pub precision: Precision,
    /// Print the K first of the ranking: the nearest to the seeds (vn, sssp), the farthest from the source (bfs), the
    /// highest (pagerank, bc, kcore, triangles), the largest components (cc, scc) [default: 0].
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub top: usize,
    /// When it is done: auto | a number. geo: a descent ends when a step would save less than this share of the
    /// summed distance (1e-12); pagerank: when ranks change by no more in all, 0 is never (1e-6).
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub tolerance: Choice<f64>,
    /// What only geolocation is asked; a table of this name in a configuration file.
    #[command(flatten)]
    #[serde(skip_serializing_if = "GeoOptions::is_default")]
    pub geo: GeoOptions,
    /// What only breadth-first search is asked; a table of this name.
    #[command(flatten)]
    #[serde(skip_serializing_if = "BfsOptions::is_default")]
    pub bfs: BfsOptions,
    /// What only PageRank is asked; a table of this name.
    #[command(flatten)]
    #[serde(skip_serializing_if = "PagerankOptions::is_default")]
    pub pagerank: PagerankOptions,
    /// What only betweenness is asked; a table of this name.
    #[command(flatten)]
    #[serde(skip_serializing_if = "BcOptions::is_default")]
    pub bc: BcOptions,
    /// What only filtering is asked; a table of this name.
    #[command(flatten)]
    #[serde(skip_serializing_if = "FilterOptions::is_default")]
    pub filter: FilterOptions,
    /// Measure: a warm-up run, then timed runs. Without this, --runs and --warmup the answer is computed once.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub benchmark: bool,
    /// Timed runs, which implies --benchmark: auto (10, or 5 when one takes over a second; one from each of several
    /// --sources) | N (from each) [default: auto with --benchmark].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Choice<u32>>,
    /// Runs before the timed ones, which implies --benchmark [default: 1 with --benchmark].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u32>,
    /// Check the answer independently: yes, partly (it says what it did not look at) or no (exit code 1).
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub verify: bool,
    /// Record an entry an iteration.
    #[arg(long, action = Set, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true, value_name = "BOOL")]
    pub trace: bool,
    /// Write the record of this run; - is standard output (the summary then goes to standard error).
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<PathBuf>,
    /// Write results, a row a node, in the input's own ids; the ending says the format: .csv .tsv .jsonl .npz, .npy or
    /// .txt for one column, .parquet. - is standard output, which then holds the rows alone, as csv.
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// How --output is written, whatever its ending: csv | tsv | jsonl | npz | npy | txt | parquet.
    #[arg(long, value_name = "FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_format: Option<ResultFormat>,
    /// How long a replica waits for its peers before the run is given up.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub deadline: f64,
    /// Test hook: RANK:ITERATION:fail|panic|stall.
    #[arg(long, value_name = "RANK:ITERATION:KIND", hide = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Test hook: random delays and block sizes, which must not change any answer.
    #[arg(long, value_name = "SEED", hide = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perturb: Option<u64>,
}

impl Default for RunConfig {
    fn default() -> Self {
        let (fleet, prepare) = (FleetConfig::default(), PrepareOptions::default());
        RunConfig {
            graph: None,
            load: LoadOptions::default(),
            seeds: None,
            source: None,
            sources: None,
            target: None,
            devices: fleet.devices,
            collective: fleet.collective,
            merge: MergeMode::default(),
            chunks: prepare.chunks,
            chunk_align: prepare.chunk_align,
            layout: prepare.layout,
            placement: prepare.placement,
            memory_limit: None,
            delta: Choice::Auto,
            predecessors: false,
            nominee: false,
            precision: Precision::Auto,
            top: 0,
            tolerance: Choice::Auto,
            geo: GeoOptions::default(),
            bfs: BfsOptions::default(),
            pagerank: PagerankOptions::default(),
            bc: BcOptions::default(),
            filter: FilterOptions::default(),
            benchmark: false,
            runs: None,
            warmup: None,
            verify: false,
            trace: false,
            json: None,
            output: None,
            output_format: None,
            deadline: fleet.deadline_s,
            fault: None,
            perturb: None,
        }
    }
}

impl RunConfig {
    /// Whether runs are repeated and timed. Otherwise the answer is computed once.
    pub fn benchmarks(&self) -> bool {
        self.benchmark || self.runs.is_some() || self.warmup.is_some()
    }

    /// Checks, before any work is done, what no single option's syntax can: that the workload takes
    /// the options that are set, ranges, and that files can be written where asked.
    pub fn check(&self, workload: &Workload) -> Result<()> {
        self.check_applicable(workload)?;
        (workload.check)(self)?;
        self.check_counts()?;
        // As `Fleet::open` has it.
        if !(self.deadline > 0.0 && self.deadline <= 86_400.0) {
            let given = self.deadline;
            return Err(Error::input(format!(
                "--deadline {given}: use seconds above 0, up to 86400"
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
        self.check_apart()
    }

    fn check_counts(&self) -> Result<()> {
        if let Some(Choice::Is(runs)) = self.runs
            && !(1..=MAX_RUNS).contains(&runs)
        {
            return Err(Error::input(format!("--runs {runs}: use auto or 1 to {MAX_RUNS}")));
        }
        if let Some(warmup) = self.warmup.filter(|warmup| *warmup > MAX_RUNS) {
            return Err(Error::input(format!("--warmup {warmup}: use 0 to {MAX_RUNS}")));
        }
        Ok(())
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

    /// A result must replace neither what the run reads nor the other result.
    fn check_apart(&self) -> Result<()> {
        let graph = self.graph.as_ref().map(|graph| ("the graph", Path::new(graph)));
        let seeds = match [&self.seeds, &self.sources] {
            [Some(Seeds::File(path)), _] => Some(("the file of seeds", path.as_path())),
            [_, Some(Seeds::File(path))] => Some(("the file of sources", path.as_path())),
            _ => None,
        };
        let targets = match &self.target {
            Some(Seeds::File(path)) => Some(("the file of targets", path.as_path())),
            _ => None,
        };
        let output = self.output.as_deref().map(|path| ("--output", path));
        let labels = self.geo.labels.as_deref().map(|path| ("the file of --labels", path));
        let truth = self.geo.truth.as_deref().map(|path| ("the file of --truth", path));
        let personal = self.pagerank.personalize.as_deref();
        let personal = personal.map(|path| ("the file of --personalize", path));
        self.check_beside(&[graph, seeds, targets, labels, truth, personal, output])
    }

    /// Refuses to write a result to the file that the options were read from.
    pub(crate) fn check_kept(&self, options: &Path) -> Result<()> {
        self.check_beside(&[Some(("the file of --config", options))])
    }

    /// A result must replace none of these files.
    fn check_beside(&self, files: &[Option<(&str, &Path)>]) -> Result<()> {
        let json = self.json.as_deref().filter(|path| *path != Path::new("-"));
        let output = self.output.as_deref().filter(|_| !self.output_is_standard());
        let output = output.map(|path| ("--output", path));
        for (flag, path) in [json.map(|path| ("--json", path)), output].into_iter().flatten() {
            let clash = files.iter().flatten().find(|(other, file)| {
                *other != flag && place(path).is_some_and(|place_of| place(file) == Some(place_of))
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
        if let Some(option) = self.foreign(workload).next() {
            let own: Vec<String> = workload.takes.iter().map(|o| format!("--{o}")).collect();
            return Err(Error::input(format!(
                "{} does not take --{option}; of its own it takes {}",
                workload.name,
                own.join(", "),
            )));
        }
        if self.verify && !workload.verified {
            return Err(Error::input(format!(
                "--verify: {} has no independent check yet; leave it out",
                workload.name
            )));
        }
        if workload.takes("seeds") && self.seeds.is_none() {
            return Err(Error::input(format!(
                "no seeds for {}: give --seeds (in a sweep `seeds` of [run]) 0,5,17 | first:N | random:N:SEED | file:PATH",
                workload.name
            )));
        }
        match (workload.form, &self.graph) {
            (Form::Array, _) => self.check_no_graph(workload),
            (_, Some(_)) => Ok(()),
            (_, None) => Err(Error::input(
                "no graph: give --graph FILE or a generator, as in --graph rmat:18",
            )),
        }
    }

    /// What says how a graph is found, loaded and laid out is of no use to a workload that has none.
    fn check_no_graph(&self, workload: &Workload) -> Result<()> {
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

    /// The options that are set here and that this workload does not take.
    fn foreign(&self, workload: &Workload) -> impl Iterator<Item = &'static str> {
        let (set, unset) = (self.values(), RunConfig::default().values());
        OWN_OPTIONS
            .iter()
            .copied()
            .filter(|option| !workload.takes(option))
            .filter(move |option| value(&set, option) != value(&unset, option))
    }

    /// Of a table of options, which are set here, those that this workload takes.
    pub(crate) fn taken(
        &self,
        table: &Map<String, Value>,
        workload: &Workload,
    ) -> Map<String, Value> {
        let foreign: Vec<&str> = self.foreign(workload).collect();
        let taken = |(name, value): (&String, &Value)| match value {
            Value::Object(inner) if TABLES.contains(&name.as_str()) => {
                let inner = self.taken(inner, workload);
                (!inner.is_empty()).then(|| (name.clone(), Value::Object(inner)))
            }
            value => (!foreign.contains(&name.as_str())).then(|| (name.clone(), value.clone())),
        };
        table.iter().filter_map(taken).collect()
    }

    /// These options without those that this workload does not take.
    pub fn only_of(&self, workload: &Workload) -> RunConfig {
        let mut values = self.values();
        self.foreign(workload).for_each(|option| {
            values.remove(option);
            for table in TABLES {
                if let Some(table) = values.get_mut(table).and_then(Value::as_object_mut) {
                    table.remove(option);
                }
            }
        });
        // What was written as values reads back; a missing one is the default.
        serde_json::from_value(Value::Object(values)).unwrap_or_else(|_| self.clone())
    }

    /// These options with those of a table, as in a configuration file, in their place; what they are, in words.
    pub fn with(&self, table: &Map<String, Value>) -> Result<(RunConfig, String)> {
        let mut values = Value::Object(self.values());
        let mut words = Vec::new();
        put(&mut values, table, &mut words);
        let config = serde_json::from_value(values).map_err(|e| {
            Error::input(format!("{}: {}", words.join(" "), e.to_string().replace('`', "'")))
        })?;
        Ok((config, words.join(" ")))
    }

    /// The options as a file would hold them, by name.
    fn values(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut values)) => {
                // Also where it is left out for being the default.
                let tables = [
                    serde_json::to_value(&self.geo),
                    serde_json::to_value(&self.bfs),
                    serde_json::to_value(&self.pagerank),
                    serde_json::to_value(&self.bc),
                    serde_json::to_value(&self.filter),
                ];
                for (name, table) in TABLES.into_iter().zip(tables) {
                    values.insert(name.into(), table.unwrap_or_default());
                }
                values
            }
            _ => Map::new(),
        }
    }

    /// The part of this that opens a fleet.
    pub fn fleet(&self) -> FleetConfig {
        FleetConfig {
            devices: self.devices.clone(),
            collective: self.collective,
            deadline_s: self.deadline,
            memory_limit: self.memory_limit.map(|limit| limit.0),
            fault: self.fault,
            perturb: self.perturb,
            ..FleetConfig::default()
        }
    }

    /// The part of this that lays a graph out.
    pub fn prepare(&self) -> PrepareOptions {
        PrepareOptions {
            chunks: self.chunks,
            chunk_align: self.chunk_align,
            layout: self.layout,
            placement: self.placement,
        }
    }
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

/// The value of an option, also of one in a table.
fn value<'a>(values: &'a Map<String, Value>, option: &str) -> Option<&'a Value> {
    let inside = || TABLES.iter().find_map(|table| values.get(*table)?.get(option));
    values.get(option).or_else(inside)
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
                // Betweenness had the precision to itself.
                let own = config.get_mut("bc").and_then(Value::as_object_mut);
                if let Some(precision) = own.and_then(|bc| bc.remove("precision")) {
                    config["precision"] = precision;
                }
                let config: RunConfig = serde_json::from_value(config.take()).map_err(wrong)?;
                Ok(RunConfig { json: None, output: None, output_format: None, ..config })
            }
        }
    }
}

/// Keys that a sweep's file has and a run's has not.
const OF_A_SWEEP: [&str; 12] = [
    "graphs",
    "optional-graphs",
    "series",
    "collectives",
    "merges",
    "placements",
    "layouts",
    "workloads",
    "variants",
    "exclude",
    "include",
    "run",
];

/// The refusal of a sweep's file where a run's is wanted.
fn of_a_sweep(path: &Path, text: &str) -> Option<Error> {
    let table: toml::Table = text.parse().ok()?;
    let key = OF_A_SWEEP.iter().find(|key| table.contains_key(**key))?;
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
        let line = e.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        let message = e.message().replace('\n', " ").replace('`', "'");
        Error::input(format!("{name}:{line}: {message}{}", key_at(text, line, &message)))
    })
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
