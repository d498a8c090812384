//! `hive run WORKLOAD`: load, open, prepare, run, verify, report.

use super::console::{note, out, phase, say};
use crate::algorithm::Spread;
use crate::fleet::{Company, Fleet, OnFailure};
use crate::graph::Graph;
use crate::io::LoadOptions;
use crate::layout::{Form, Prepared};
use crate::report::{Record, summary, to_json, write_json};
use crate::run::gpus_find_source;
use crate::run::{
    Clock, Comes, Job, Loaded, Loading, Outcome, RunConfig, Stage, WORKLOADS, Workload,
    check_graph, compile_ahead, graph_fingerprint, option_files, prepare, workload,
};
use crate::{Error, Result, threads};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Parser, ValueHint, value_parser};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The subcommand, one level deeper for every workload of the registry.
pub(super) fn command() -> Command {
    Command::new("run")
        .about("Run a workload on a graph, verify and report")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("WORKLOAD")
        .subcommand_help_heading("Workloads")
        .subcommands(WORKLOADS.iter().map(workload_command))
}

/// Print the names of all workloads, one a line
#[derive(Parser)]
#[command(name = "list")]
pub(super) struct List {
    /// Also print what each computes
    #[arg(long)]
    about: bool,
}

pub(super) fn list(args: List) -> Result<()> {
    let line = |workload: &Workload| match args.about {
        true => format!("{:10} {}\n", workload.name, workload.about),
        false => format!("{}\n", workload.name),
    };
    out(&WORKLOADS.iter().map(line).collect::<String>())
}

fn workload_command(workload: &Workload) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help_heading("Configuration")
        .help("A TOML file with these options as keys, or the record of a run, whose options are taken except --json and --output. Flags take precedence");
    let command =
        Command::new(workload.name).visible_aliases(workload.aliases).about(workload.about);
    let own = workload.of.flags(command.next_help_heading("Options of its own"));
    let command = RunConfig::augment_args_for_update(own.next_help_heading("Run")).arg(config);
    let command = command.about(workload.about).long_about(None);
    let command = super::help::after(command, workload.examples);
    // What it takes no part in is not shown, and refused by name.
    let shared = ["top", "graph", "placement", "layout", "chunks", "chunk_align"];
    let foreign = shared.iter().filter(|id| !workload.takes_shared_option(&id.replace('_', "-")));
    let mut foreign: Vec<String> = foreign.map(|id| id.to_string()).collect();
    if workload.form == Form::Array {
        foreign.extend(loading_options());
    }
    let hidden = |command: Command, name: String| command.mut_arg(name, |arg| arg.hide(true));
    let command = foreign.into_iter().fold(command, hidden);
    let command = match workload.form {
        Form::Array => command,
        _ => command
            .override_usage(format!("hive run {} --graph <FILE|SPEC|-> [OPTIONS]", workload.name)),
    };
    match workload.ranks {
        Some(ranks) => command.mut_arg("top", |arg| {
            arg.help(format!(
                "Print the first K of {ranks}, K from 0 on; 0 prints none [default: 0]"
            ))
        }),
        None => command,
    }
}

/// The command that these arguments ask for, and its name from `hive` on.
pub(super) fn asked(args: &[OsString]) -> (String, Command) {
    let mut asked = ("hive".to_string(), super::command());
    for word in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        match asked.1.find_subcommand(word).cloned() {
            Some(part) => asked = (format!("{} {}", asked.0, part.get_name()), part),
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    asked
}

/// What to write instead, where that is known: a workload without `run`, an option that only others take, or the value
/// of an option that needs `=`.
pub(super) fn hint(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let name = text(ContextKind::InvalidSubcommand).filter(|name| workload(name).is_some())?;
        return Some(format!("{name} is a workload: write hive run {name}"));
    }
    let argument = text(ContextKind::InvalidArg)?;
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let Some(option) = argument.strip_prefix("--") else {
        let at = words.iter().position(|word| *word == argument)?.checked_sub(1)?;
        let (_, command) = asked(args);
        let equals = |arg: &&Arg| arg.is_require_equals_set();
        let mut options = command.get_arguments().filter(equals).filter_map(Arg::get_long);
        let option = options.find(|long| words[at].strip_prefix("--") == Some(*long))?;
        return Some(format!("--{option} {argument}: write --{option}={argument}"));
    };
    let taken = WORKLOADS.iter().any(|workload| workload.has_own_option(option));
    let asked = words.into_iter().skip_while(|word| *word != "run").find_map(workload)?;
    taken.then(|| asked.does_not_take(option))
}

/// The flags that say how a graph is read.
fn loading_options() -> Vec<String> {
    let command = LoadOptions::augment_args_for_update(Command::new("load"));
    command.get_arguments().map(|arg| arg.get_id().to_string()).collect()
}

/// Defaults, then the file, then the flags.
fn resolve(workload: &Workload, matches: &ArgMatches) -> Result<RunConfig> {
    let mut config = match matches.get_one::<PathBuf>("config") {
        Some(path) => RunConfig::read(path)?,
        None => RunConfig::default(),
    };
    config
        .update_from_arg_matches(matches)
        .map_err(|e| Error::input(super::arguments::one_line(&e)))?;
    config.set_own(workload, |own| workload.of.flagged(&own, matches))?;
    if let Some(path) = matches.get_one::<PathBuf>("config") {
        config.check_kept(path)?;
    }
    Ok(config)
}

pub(super) fn run(matches: &ArgMatches) -> Result<()> {
    let (workload, matches) = match matches.subcommand() {
        Some((name, matches)) => (workload(name), matches),
        None => (None, matches),
    };
    let workload = workload.ok_or_else(|| Error::input("no such workload: see hive run --help"))?;
    let config = resolve(workload, matches)?;
    config.check(workload)?;
    let Some(mut outcome) = answer(workload, config)? else { return Ok(()) };
    report(&mut outcome)?;
    if let Some(fault) = outcome.job.config.fault {
        // One that strikes ends the run.
        note(&format!(
            "warning: --fault {fault} never struck: no replica came to that iteration\n"
        ));
    }
    let verified = outcome.verified();
    // The process ends, and with it what it holds: taking that apart would take time.
    std::mem::forget(outcome);
    verified
}

/// What is known at once comes first: that a file is not there, then that a device is not, then the
/// graph, which may take minutes and is read while devices are opened. Of several processes the first has the outcome.
fn answer(workload: &'static Workload, config: RunConfig) -> Result<Option<Outcome>> {
    let mut clock = Clock::of_process();
    // What one of several processes fails with from here on the others are told.
    let mut company = Company::find(&config.fleet())?;
    let comes = Comes::of(&config, &company);
    if comes == Comes::ByItself {
        check_graph(&config, workload)?;
    }
    let wants_graph = workload.form != Form::Array;
    let loads = wants_graph && comes == Comes::ByItself;
    let loading = loads.then(|| Loading::begin(&config, workload)).transpose()?;
    compile_ahead(&config, workload);
    clock.lap(Stage::Start);
    let (mut loading, mut graph) = (loading, None);
    loop {
        let fleet = match phase("opening devices", || company.open(config.fleet())) {
            Ok(fleet) => fleet,
            Err(error) => {
                goes_on_without(&mut company, None, error, config.on_failure)?;
                continue;
            }
        };
        // Its links tell the others how this process ends.
        let fleet = std::mem::ManuallyDrop::new(fleet);
        clock.lap(Stage::Devices);
        let mut attempt = || {
            let loaded = match wants_graph {
                true => Some(whole_graph(
                    (workload, &config),
                    (&company, &fleet),
                    (&mut loading, &mut graph),
                    &mut clock,
                )?),
                false => None,
            };
            attempt_on(workload, config.clone(), loaded, (&company, &fleet), &mut clock)
        };
        match attempt() {
            Ok(outcome) => return Ok(outcome),
            Err(error) => goes_on_without(&mut company, Some(&fleet), error, config.on_failure)?,
        }
    }
}

/// After an error: finds those of several processes that are left, if these are to go on.
fn goes_on_without(
    company: &mut Company,
    fleet: Option<&Fleet>,
    error: Error,
    on_failure: OnFailure,
) -> Result<()> {
    match on_failure {
        OnFailure::Stop => Err(error),
        OnFailure::Continue => company.without_failed(fleet, error),
    }
}

/// The graph on all processes; it is read, or begun to be, at most once.
fn whole_graph(
    (workload, config): (&'static Workload, &RunConfig),
    (company, fleet): (&Company, &Fleet),
    (loading, graph): (&mut Option<Loading>, &mut Option<Arc<Graph>>),
    clock: &mut Clock,
) -> Result<Loaded> {
    let comes = match graph {
        Some(_) => Comes::ByItself,
        None => Comes::of(config, company),
    };
    let mut own = || match (graph.clone(), comes) {
        (Some(graph), _) => Ok(Some(Loaded { graph, kept: None })),
        (None, Comes::ByItself) => {
            let loading = loading.take().map_or_else(|| Loading::begin(config, workload), Ok)?;
            loading.end(config, workload, fleet).map(Some)
        }
        (None, _) => Ok(None),
    };
    let loaded = phase("loading the graph", || {
        let own = own()?;
        Loaded::on_all(own, comes == Comes::Lent, company)
    })?;
    clock.lap_of_load(&loaded.graph);
    *graph = Some(loaded.graph.clone());
    Ok(loaded)
}

/// One attempt at a run, on a graph or an array.
fn attempt_on(
    workload: &'static Workload,
    config: RunConfig,
    loaded: Option<Loaded>,
    (company, fleet): (&Company, &Fleet),
    clock: &mut Clock,
) -> Result<Option<Outcome>> {
    company.same("command", || fingerprint(&config))?;
    company.same("file", || option_files(&config, workload))?;
    let (job, prepared) = match loaded {
        None => {
            let job = Job::on_array(workload, config)?;
            let prepared = prepare(&job, None, fleet)?;
            (job, prepared)
        }
        Some(loaded) => {
            company.same("graph", || graph_fingerprint(&config, &loaded.graph))?;
            phase("preparing the graph", || ready(workload, config, loaded, fleet, clock))?
        }
    };
    let answer = phase("running", || job.solve(fleet, &prepared))?;
    let processes = fleet.each_process(Spread::of_runs(answer.measured()).median)?;
    company.until_told()?;
    if fleet.info().process != 0 {
        std::mem::forget(prepared);
        return Ok(None);
    }
    clock.lap_of_solve(answer.measured());
    let verification = phase("verifying", || job.check(fleet, &prepared, &*answer))?;
    clock.lap(Stage::Verify);
    let made = prepared.report(fleet, workload.form)?;
    let outcome = job.outcome(fleet, &made, answer, verification);
    std::mem::forget(prepared);
    Ok(Some(Outcome { clock: Some(clock.clone()), processes, ..outcome }))
}

/// Differs where options do.
fn fingerprint(config: &RunConfig) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&serde_json::to_vec(config).unwrap_or_default())
}

/// Whether a run goes on without processes that fail.
#[cfg(unix)]
pub(super) fn goes_on(matches: &ArgMatches) -> Result<bool> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(false) };
    let Some(workload) = workload(name) else { return Ok(false) };
    Ok(resolve(workload, matches)?.on_failure == OnFailure::Continue)
}

/// Finds where to start, and brings the graph into the workload's form. GPUs do the latter, so that both are done at once;
/// unless memory is limited: what the form needs follows from the start.
fn ready(
    workload: &'static Workload,
    config: RunConfig,
    Loaded { graph, kept }: Loaded,
    fleet: &Fleet,
    clock: &mut Clock,
) -> Result<(Job, Prepared)> {
    let options = config.prepare();
    let shared = graph.clone();
    let finds_source = gpus_find_source(&config, workload, fleet, &graph);
    let job = move || Job::new(workload, config, shared);
    let on_gpus = fleet.info().backend == "cuda" && fleet.info().memory_limit.is_none();
    if finds_source {
        let prepared = Prepared::new(fleet, graph, options)?.with_input(kept).finding_source(true);
        clock.lap_of_prepare(&prepared.report(fleet, workload.form)?);
        let job = job()?;
        clock.lap(Stage::Choose);
        job.make_room(fleet, &prepared)?;
        return Ok((job, prepared));
    }
    let begun = on_gpus.then(|| threads::start("choose", job.clone())).transpose()?;
    let Some(begun) = begun else {
        let job = job()?;
        clock.lap(Stage::Choose);
        let prepared = prepare(&job, kept, fleet)?;
        clock.lap_of_prepare(&prepared.report(fleet, workload.form)?);
        job.make_room(fleet, &prepared)?;
        return Ok((job, prepared));
    };
    let prepared = Prepared::new(fleet, graph, options)?.with_input(kept);
    let made = prepared.report(fleet, workload.form);
    made.iter().for_each(|made| clock.lap_of_prepare(made));
    // Of two errors that of the start is the user's.
    let job = begun.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    clock.lap(Stage::Choose);
    made?;
    job.make_room(fleet, &prepared)?;
    Ok((job, prepared))
}

/// The rows, then summary and ranking, then the record. With `--json -` standard output is the record and nothing else, with
/// `--output -` the rows.
fn report(outcome: &mut Outcome) -> Result<()> {
    if let Some(path) = &outcome.job.config.output {
        phase("writing results", || outcome.write(path))?;
    }
    outcome.clock.iter_mut().for_each(|clock| clock.lap(Stage::Write));
    let config = &outcome.job.config;
    let mut text = summary(outcome);
    if config.top > 0
        && let Some(ranking) = outcome.answer.ranking(config.top)
    {
        text += &format!("\n{ranking}");
    }
    let told = config.json.as_deref() == Some(Path::new("-"));
    if told || config.output_is_standard() {
        note(&text)
    } else {
        say(&text)?
    }
    match config.json.as_deref() {
        Some(_) if told => out(&to_json(&Record::of(outcome))?),
        Some(path) => write_json(path, &Record::of(outcome)),
        None => Ok(()),
    }
}
