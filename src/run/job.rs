//! From a configuration to an answer: load, open, prepare, solve, verify. Each stage is a function, so
//! that a sweep can share a graph or a fleet between many runs.

use super::config::no_graph;
use super::{Choice, Clock, RunConfig, Stage, Verdict, Verification, Verify};
use crate::algorithm::{
    AnyAnswer, AnyQuery, Checked, Measured, Paths, RunOptions, Workload, one_search,
};
use crate::fleet::{Company, Devices, Fleet, FleetInfo, ProcessTime};
use crate::generate::{Kept, PassLimits};
use crate::graph::{Graph, Origin};
use crate::io::{Begun, ResultFormat, Uplink};
use crate::layout::memory::{CONTEXT_BYTES, GraphShape, beside_rows};
use crate::layout::{Form, Placement, PrepareReport, Prepared};
use crate::verify::Checker;
use crate::{Error, Result, device, generate, io, threads};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// Timed runs when the program chooses, and when one takes over [`SLOW_MS`].
const RUNS: u32 = 10;
const SLOW_RUNS: u32 = 5;
const SLOW_MS: f64 = 1000.0;

/// A workload, how to run it, and the graph and start to run it on.
#[derive(Clone)]
pub struct Job {
    /// What runs.
    pub workload: &'static Workload,
    /// How, resolved.
    pub config: RunConfig,
    /// On what.
    pub graph: Arc<Graph>,
    /// Options and start, as the workload knows them.
    pub query: Arc<dyn AnyQuery>,
    /// Elements of the array that takes the place of a graph.
    pub elements: Option<u64>,
}

/// Everything about one finished run.
pub struct Outcome {
    /// What ran.
    pub job: Job,
    /// On which replicas.
    pub fleet: FleetInfo,
    /// What laying the graph out cost.
    pub prepare: PrepareReport,
    /// The answer and its timings.
    pub answer: Box<dyn AnyAnswer>,
    /// The paths that were asked for.
    pub paths: Option<Paths>,
    /// The check, when it was asked for.
    pub verification: Option<Verification>,
    /// The time of the process so far, where it answers this question alone.
    pub clock: Option<Clock>,
    /// What each process took, where there are several.
    pub processes: Vec<ProcessTime>,
}

impl Outcome {
    /// Writes the rows of the answer, or of the paths where some were asked for, where and how the configuration says.
    pub fn write(&self, path: &Path) -> Result<()> {
        let format = match self.job.config.output_format {
            Some(format) => format,
            None => ResultFormat::of(path)?,
        };
        let graph = &self.job.graph;
        let table = match &self.paths {
            Some(paths) => paths.table(),
            None => self.answer.table(),
        };
        io::write_table_as(path, format, graph, &table)
    }

    /// The error of a failed check.
    pub fn verified(&self) -> Result<()> {
        match &self.verification {
            Some(Verification { verdict: Verdict::No, message: Some(message), .. }) => {
                Err(Error::Verify(message.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Loads or generates the graph that the configuration names, for this workload.
pub fn load(config: &RunConfig, workload: &Workload) -> Result<Arc<Graph>> {
    load_own(config, workload).map(Arc::new)
}

fn load_own(config: &RunConfig, workload: &Workload) -> Result<Graph> {
    let spec = config.graph.as_deref().ok_or_else(no_graph)?;
    match config.asks(workload).places {
        Some(places) => {
            let path = places.path.to_string_lossy();
            io::load_placed(spec, &path, places.first_id, &config.load)
        }
        None => io::load_with(spec, &config.load),
    }
}

/// A graph that is there.
#[derive(Clone)]
pub struct Loaded {
    /// The graph.
    pub graph: Arc<Graph>,
    /// Its arcs on the GPU that made or built it.
    pub kept: Option<Arc<Kept>>,
}

impl Loaded {
    /// The graph on all processes. Those that do not see its file are sent it by the first; processes of a host share one.
    ///
    /// # Errors
    /// What another process failed with, or that it is gone.
    pub(crate) fn on_all(own: Option<Loaded>, borrows: bool, company: &Company) -> Result<Loaded> {
        let whole = |graph: Graph| Loaded { graph: Arc::new(graph), kept: None };
        let graph =
            |own: &Option<Loaded>| own.as_ref().map(|own| own.graph.clone()).ok_or_else(no_graph);
        let packed = || io::native_bytes(&*graph(&own)?);
        let sent = company.handed("graph", own.is_none() && !borrows, packed)?;
        let own = match sent {
            Some(bytes) => Some(whole(io::of_native_bytes(bytes)?)),
            None => own,
        };
        let file = || io::native_file(&*graph(&own)?);
        let borrowed = company.lent("graph", borrows, file, io::of_native_file)?;
        own.or(borrowed.map(whole)).ok_or_else(no_graph)
    }

    /// The graph with its arcs on the host, for fleets that come later.
    ///
    /// # Errors
    /// [`Error::Machine`] where there is no room for them, or when the fleet has failed.
    pub fn on_host(self, fleet: &Fleet) -> Result<Loaded> {
        self.graph.load()?;
        self.kept.iter().try_for_each(|kept| kept.release(fleet))?;
        Ok(Loaded { kept: None, ..self })
    }
}

/// Whether GPUs may build the CSR of the graph's file and lay it out there.
fn may_build_on_device(config: &RunConfig, workload: &Workload) -> bool {
    let relabels = workload.form == Form::Weighted || workload.form.is_topology();
    let host = matches!(config.devices, Devices::Host(_));
    let whole = config.placement == Placement::Replicated;
    relabels && whole && !host && config.asks(workload).places.is_none()
}

/// A graph that is on its way.
pub struct Loading {
    thread: Option<JoinHandle<Result<Begun>>>,
    /// Where a file's arcs go as they are parsed.
    uplink: Option<Arc<Uplink>>,
}

impl Loading {
    /// Starts to load the graph that the configuration names, unless a GPU may make it sooner. Of a file that a GPU builds sooner
    /// the arcs are read.
    ///
    /// # Errors
    /// [`Error::Machine`] where the system has no thread left.
    pub fn begin(config: &RunConfig, workload: &'static Workload) -> Result<Loading> {
        let generated = config.graph.as_deref().is_some_and(generate::may_pay_on_device);
        let config = config.clone();
        let builds = may_build_on_device(&config, workload);
        let goes_up =
            |spec: &String| builds && !generated && io::may_build_on_device(spec, &config.load);
        let uplink: Option<Arc<Uplink>> =
            config.graph.as_ref().filter(|spec| goes_up(spec)).map(|_| Arc::default());
        let shared = uplink.clone();
        let load = move || {
            let begun = match &config.graph {
                Some(spec) if builds => io::begin(spec, &config.load, shared)?.for_gpus()?,
                _ => Begun::built(load_own(&config, workload)?),
            };
            if let Begun::Graph(graph) = &begun {
                // Layout and summary ask for it, and devices may still be opening.
                graph.is_undirected();
            }
            Ok(begun)
        };
        let thread = (!generated).then(|| threads::start("load", load)).transpose()?;
        Ok(Loading { thread, uplink })
    }

    /// The graph, for `fleet`. A large R-MAT graph is made on its GPUs, which takes a fraction of the time, and stays there
    /// until the host looks at its arcs. It is the same graph, to the bit.
    pub fn end(self, config: &RunConfig, workload: &Workload, fleet: &Fleet) -> Result<Loaded> {
        let info = fleet.info();
        let sharded = config.prepare().placement == Placement::Sharded && info.backend == "cuda";
        if sharded && info.processes > 1 && info.collective != "peer" {
            return Err(Error::input(format!(
                "--placement sharded: several processes share arcs where all GPUs are of one host and merge by peer access, and \
                 these merge by {}; use one process with all GPUs (--ranks none)",
                info.collective
            )));
        }
        self.uplink.iter().try_for_each(|uplink| uplink.open(fleet))?;
        if let Some(thread) = self.thread {
            let begun = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (graph, kept) = match begun? {
                Begun::Graph(graph) => (*graph, None),
                Begun::Arcs(arcs) => arcs.on(fleet)?,
            };
            return Ok(Loaded { graph: Arc::new(graph), kept });
        }
        let (graph, kept) = match (made(config, workload, fleet), config.graph.as_deref()) {
            (Some(Making::Drawn), Some(spec)) => {
                let made = generate::drawn(fleet, spec, PassLimits::default())?;
                if let Some(option) = config.wants_arcs_on_host(workload) {
                    made.0.load().map_err(|error| {
                        Error::machine(format!("{option} looks at arcs on the host: {error}"))
                    })?;
                }
                made
            }
            (Some(Making::Whole), Some(spec)) => {
                generate::on_device_in(fleet, spec, PassLimits::default())?.kept(fleet)?
            }
            _ => return Ok(Loaded { graph: load(config, workload)?, kept: None }),
        };
        if io::leaves_arcs(&config.load) {
            let graph = Arc::new(io::apply_to_generated(graph, &config.load)?);
            return Ok(Loaded { graph, kept: Some(kept) });
        }
        // Options of the load are the host's to apply.
        graph.load()?;
        kept.release(fleet)?;
        Ok(Loaded { graph: Arc::new(io::apply_to_generated(graph, &config.load)?), kept: None })
    }
}

/// How GPUs make a graph.
enum Making {
    /// Whole, on each of them, or on the first where replicas share one.
    Whole,
    /// They draw what they lay out: it is larger than one of them.
    Drawn,
}

/// How the GPUs of `fleet` make the graph that is configured, if that is sooner than on the host.
fn made(config: &RunConfig, workload: &Workload, fleet: &Fleet) -> Option<Making> {
    let spec = config.graph.as_deref().filter(|_| config.asks(workload).places.is_none())?;
    let sharded = config.prepare().placement == Placement::Sharded;
    let relabels = workload.form == Form::Weighted || workload.form.is_topology();
    let draws =
        sharded && relabels && io::leaves_arcs(&config.load) && !wants_weights(config, workload);
    if draws && generate::draws_on(fleet, spec) {
        return Some(Making::Drawn);
    }
    generate::pays_on(fleet, spec).then_some(Making::Whole)
}

/// Whether the workload looks at weights of a generated graph.
fn wants_weights(config: &RunConfig, workload: &Workload) -> bool {
    !workload.form.is_topology() && config.load.weights.in_file().read()
}

/// Whether GPUs that lay `graph` out are to find where the workload starts.
pub fn gpus_find_source(
    config: &RunConfig,
    workload: &Workload,
    fleet: &Fleet,
    graph: &Graph,
) -> bool {
    let relabels = workload.form == Form::Weighted || workload.form.is_topology();
    let on_gpus = fleet.info().backend == "cuda" && fleet.info().memory_limit.is_none();
    on_gpus && relabels && graph.names_rise() && config.starts_by_default(workload)
}

/// Differs where the files do that options name; those that cannot be read are told of later.
pub(crate) fn option_files(config: &RunConfig, workload: &Workload) -> u64 {
    let asks = config.asks(workload);
    let sums = asks.files.iter().map(|(_, path)| xxh3_64(&std::fs::read(path).unwrap_or_default()));
    xxh3_64(&sums.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
}

/// Differs where graphs do. Generated ones are equal if their specifications are, which commands tell.
pub(crate) fn graph_fingerprint(config: &RunConfig, graph: &Graph) -> u64 {
    match config.graph.as_deref() {
        Some(spec) if generate::is_spec(spec) => graph.nodes() as u64 ^ graph.arcs() << 32,
        _ => graph.fingerprint(),
    }
}

/// Bytes of a file that several processes of a host rather read once.
const SHARED_FILE: u64 = 1 << 20;

/// How one of several processes comes by the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comes {
    /// It reads or generates it.
    ByItself,
    /// It does not see the file: the first process sends the graph.
    Sent,
    /// Another process of its host reads it.
    Lent,
}

impl Comes {
    /// How this process comes by the graph that is configured.
    pub(crate) fn of(config: &RunConfig, company: &Company) -> Comes {
        let file = config.graph.as_deref().filter(|spec| !generate::is_spec(spec));
        let Some(path) = file.filter(|_| company.number() > 0) else { return Comes::ByItself };
        let bytes = Path::new(path).metadata().map(|file| file.len());
        match bytes {
            Err(_) if company.may_borrow() => Comes::Lent,
            Err(_) => Comes::Sent,
            // Native files are mapped, by each.
            Ok(bytes)
                if bytes > SHARED_FILE && company.may_borrow() && !io::is_native_file(path) =>
            {
                Comes::Lent
            }
            Ok(_) => Comes::ByItself,
        }
    }
}

/// Notices a graph that is not there, or a generator that makes no sense, without loading anything: a
/// file may take minutes, devices seconds.
pub fn check_graph(config: &RunConfig, workload: &Workload) -> Result<()> {
    match config.graph.as_deref() {
        // GPUs make it, and say if there is no room.
        Some(spec) if generate::may_pay_on_device(spec) && config.may_use_gpus() => {}
        spec => spec.map_or(Ok(()), io::check)?,
    }
    let asks = config.asks(workload);
    // Files of nodes say themselves what is wrong with them.
    let tables = asks.files.iter().filter(|(option, _)| ["--labels", "--truth"].contains(option));
    tables.map(|(_, path)| path).try_for_each(|path| io::check_table(&path.to_string_lossy()))
}

/// Compiles what a workload will need on GPUs, while these open and the graph is read, unless the cache has it.
pub fn compile_ahead(config: &RunConfig, workload: &Workload) {
    let gpus = match &config.devices {
        Devices::Host(_) => return,
        Devices::Cuda(gpus) => Some(gpus.clone()),
        Devices::Auto | Devices::AllCuda => None,
    };
    let relabels = workload.form == Form::Weighted || workload.form.is_topology();
    let layouts: &[&str] = if relabels { &["layout.cu", "sort.cu"] } else { &[] };
    let spec = config.graph.as_deref().unwrap_or_default();
    let made = generate::may_pay_on_device(spec) && config.asks(workload).places.is_none();
    let built =
        may_build_on_device(config, workload) && io::may_build_on_device(spec, &config.load);
    let generators: &[&str] = match (made, built) {
        (true, _) => &["rmat.cu", "giant.cu"],
        (false, true) => &["build.cu", "giant.cu", "symmetry.cu"],
        (false, false) if config.starts_by_default(workload) => &["giant.cu"],
        (false, false) => &[],
    };
    let wide = made && generate::size(spec).is_ok_and(|size| size.arcs > u64::from(u32::MAX));
    let names = generators.iter().chain(layouts).chain(workload.kernels).copied().collect();
    device::compile_ahead(names, wide, gpus);
}

/// Brings a job's graph into the form that its workload wants, on a fleet, unless the fleet's memory limit is too low.
/// `kept` are the graph's arcs on the GPU that made it.
pub fn prepare(job: &Job, kept: Option<Arc<Kept>>, fleet: &Fleet) -> Result<Prepared> {
    job.query.check_memory(fleet.info())?;
    let prepared = Prepared::new(fleet, job.graph.clone(), job.config.prepare())?.with_input(kept);
    prepared.report(fleet, job.workload.form)?;
    Ok(prepared)
}

impl Job {
    /// Checks the configuration against the workload and finds what it starts from.
    pub fn new(workload: &'static Workload, config: RunConfig, graph: Arc<Graph>) -> Result<Job> {
        config.check(workload)?;
        let (own, run) = (config.options_of(workload), config.run_options());
        run.refuse_left(config.verify.is_wanted().then_some("what --verify checks"))?;
        let query = workload.of.query(&own, run, config.prepare(), graph.clone())?;
        let (elements, sources) = (config.asks(workload).elements, query.questions() as usize);
        if sources > 1 {
            if config.top > 0 {
                return Err(one_search("--top", sources));
            }
            config.check_format(Some(&format!("the results of {sources} searches")))?;
        }
        let config = config.only_of(workload);
        Ok(Job { workload, config, graph, query, elements })
    }

    /// A job of a workload on an array, which needs no graph.
    pub fn on_array(workload: &'static Workload, config: RunConfig) -> Result<Job> {
        let job = Job::new(workload, config, Arc::new(Graph::empty(Origin::default())))?;
        let Some(elements) = job.elements else {
            return Err(Error::input(format!("{} needs a graph: load one for it", workload.name)));
        };
        let name = match elements.is_power_of_two() {
            true => format!("array-2^{}", elements.trailing_zeros()),
            false => format!("array-{elements}"),
        };
        let origin = Origin { dataset: name.clone(), graph_file: name, ..Origin::default() };
        Ok(Job { graph: Arc::new(Graph::empty(origin)), ..job })
    }

    /// Lets go of the arcs that a GPU made, if the run needs the room.
    pub fn make_room(&self, fleet: &Fleet, graph: &Prepared) -> Result<()> {
        let (nodes, arcs) = (self.graph.nodes() as u64, self.graph.arcs());
        let shape = GraphShape::at_most(nodes, arcs, true, Some((1, 1)));
        let arrays =
            self.workload.of.arrays(&shape, &self.config.options_of(self.workload), fleet.world());
        let bytes = CONTEXT_BYTES + beside_rows(&arrays);
        graph.make_room(fleet, bytes, self.config.verify.is_wanted())
    }

    /// Nodes of the graph, or elements of the array.
    pub fn size(&self) -> u64 {
        self.elements.unwrap_or(self.graph.nodes() as u64)
    }

    /// Runs the workload: once, or as often as a benchmark asks for.
    ///
    /// A benchmark with `runs = auto` makes one run to see how long it takes. Ten timed runs follow, or five when
    /// that run took over a second; it then counts as one of the warm-up runs. With several sources there is one run from
    /// each.
    pub fn solve(&self, fleet: &Fleet, graph: &Prepared) -> Result<Box<dyn AnyAnswer>> {
        graph.check_fleet(fleet)?;
        let questions = self.query.questions();
        let run = |runs, warmup| RunOptions { runs, warmup, ..self.config.run_options() };
        let solve = |options| self.query.solve(fleet, graph, options, true);
        if !self.config.benchmarks() {
            return solve(run(questions, 0));
        }
        let warmup = self.config.warmup.unwrap_or(1);
        match self.config.runs.unwrap_or_default() {
            Choice::Is(runs) => solve(run(runs.saturating_mul(questions), warmup)),
            Choice::Auto if questions > 1 => solve(run(questions, warmup)),
            Choice::Auto => {
                let gauge = RunOptions { trace: false, compare: false, ..run(1, 0) };
                let gauged = self.query.solve(fleet, graph, gauge, false)?;
                // Processes measure each its own time, and must make as many runs.
                let own = gauged.measured().runs.iter().map(|run| run.total_ms).collect();
                let slow = fleet.concat("times", own)?.into_iter().any(|ms: f64| ms > SLOW_MS);
                let compile_ms = gauged.measured().compile_ms;
                let (runs, warmup) =
                    if slow { (SLOW_RUNS, warmup.saturating_sub(1)) } else { (RUNS, warmup) };
                let mut answer = solve(run(runs, warmup))?;
                answer.measured_mut().compile_ms += compile_ms;
                Ok(answer)
            }
        }
    }

    /// Checks an answer where the configuration says, if it does.
    pub fn check(
        &self,
        fleet: &Fleet,
        graph: &Prepared,
        answer: &dyn AnyAnswer,
    ) -> Result<Option<Verification>> {
        let by = match self.config.verify {
            Verify::No => return Ok(None),
            Verify::Yes => graph.checker(fleet)?,
            Verify::Host => {
                self.graph.load()?;
                Checker::host()
            }
        };
        self.verify(answer, &by).map(Some)
    }

    /// Has an answer checked; a check that fails is a result, one that cannot be made is an error.
    pub fn verify(&self, answer: &dyn AnyAnswer, by: &Checker) -> Result<Verification> {
        let begin = Instant::now();
        let checked = match &answer.measured().differing {
            Some(message) => Err(Error::Verify(message.clone())),
            None => answer.verify(by),
        };
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        let (verdict, message, Checked { found, note, .. }) = match checked {
            Ok(mut checked) => match checked.skipped.take() {
                Some(skipped) => (Verdict::Partly, Some(skipped), checked),
                None => (Verdict::Yes, None, checked),
            },
            Err(Error::Verify(message)) => (Verdict::No, Some(message), Checked::default()),
            Err(other) => return Err(other),
        };
        Ok(Verification {
            verdict,
            message,
            found,
            note,
            on: by.place(),
            ms,
            copy_ms: by.copy_ms(),
        })
    }

    /// Puts an answer together with what it took.
    pub fn outcome(
        self,
        fleet: &Fleet,
        prepared: &PrepareReport,
        answer: Box<dyn AnyAnswer>,
        verification: Option<Verification>,
    ) -> Outcome {
        let paths = answer.paths();
        Outcome {
            paths,
            job: self,
            fleet: fleet.info().clone(),
            prepare: PrepareReport {
                compile_ms: prepared.compile_ms + answer.measured().compile_ms,
                ..prepared.clone()
            },
            answer,
            verification,
            clock: None,
            processes: Vec::new(),
        }
    }
}

impl Clock {
    /// Books the time since the last lap, in which a graph was loaded.
    pub fn lap_of_load(&mut self, graph: &Graph) {
        self.lap_of([(Stage::Build, graph.origin.build_ms)], Stage::Read);
    }

    /// Books the time since the last lap, in which a graph was prepared.
    pub fn lap_of_prepare(&mut self, report: &PrepareReport) {
        let parts = [(Stage::Copy, report.upload_ms), (Stage::Compile, report.compile_ms)];
        self.lap_of(parts, Stage::LayOut);
    }

    /// Books the time since the last lap, in which a workload ran.
    pub fn lap_of_solve(&mut self, measured: &Measured) {
        let parts = [
            (Stage::Compile, measured.compile_ms),
            (Stage::SetUp, measured.setup_ms - measured.compile_ms),
            (Stage::Download, measured.download_ms + measured.chains_ms),
        ];
        self.lap_of(parts, Stage::Run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::memory::total;
    use crate::run::{WORKLOADS, gpu};

    #[test]
    fn a_memory_limit_is_checked_against_the_arrays_of_every_workload() {
        for workload in WORKLOADS {
            let (spec, own) = match workload {
                one if one.has_own_option("seeds") => ("geo:5000", "seeds = 'first:3'"),
                one if one.has_own_option("side") => ("chain:9", "side = '0,2,4,6,8'"),
                _ => ("geo:5000", ""),
            };
            let graph = Arc::new(generate::generate(spec).unwrap());
            let text = format!("graph = '{spec}'\n{own}");
            let job = match workload.form {
                Form::Array => Job::on_array(workload, RunConfig::default()),
                _ => Job::new(workload, toml::from_str(&text).unwrap(), graph.clone()),
            }
            .unwrap();
            for (ordinals, most) in [(&[0][..], 1), (&[0, 1], 1), (&[0, 0, 0, 1], 3)] {
                let devices =
                    ordinals.iter().enumerate().map(|(rank, o)| gpu(rank, *o, 80 << 30)).collect();
                let needs = most * total(&job.query.arrays(ordinals.len()));
                let mut fleet =
                    FleetInfo { world: ordinals.len(), devices, ..FleetInfo::default() };
                let mut refusal = |limit| {
                    fleet.memory_limit = limit;
                    job.query.check_memory(&fleet).err().map(|e| e.to_string())
                };
                assert_eq!(refusal(None), None);
                assert_eq!(refusal(Some(needs)), None, "{} {ordinals:?}", workload.name);
                let said = refusal(Some(needs - 1)).unwrap();
                let what = format!("cuda:0: {} needs up to {} bytes", workload.name, needs / most);
                assert!(said.contains(&what), "{said}");
            }
        }
    }
}
