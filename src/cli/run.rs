//! `hive run WORKLOAD`: load, open, prepare, run, verify, report.

use super::console::{note, out, phase, say};
use crate::io::LoadOptions;
use crate::layout::Form;
use crate::report::{Record, summary, to_json, write_json};
use crate::run::{
    Job, OWN_OPTIONS, Outcome, RunConfig, WORKLOADS, Workload, check_graph, load_on, open_fleet,
    prepare, workload,
};
use crate::{Error, Result};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueHint, value_parser};
use std::path::{Path, PathBuf};

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

fn workload_command(workload: &Workload) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help("A TOML file with any of these options as keys, or a record of a run, for the options that it had but --json and --output; flags win");
    let command = Command::new(workload.name).visible_aliases(workload.alias).arg(config);
    let command =
        RunConfig::augment_args_for_update(command).about(workload.about).long_about(None);
    let command = super::help::after(command, workload.examples);
    let foreign = OWN_OPTIONS.iter().filter(|option| !workload.takes(option));
    // Arguments are named like fields.
    let hidden = |command: Command, name: String| command.mut_arg(name, |arg| arg.hide(true));
    let command = foreign.map(|option| option.replace('-', "_")).fold(command, hidden);
    if workload.form != Form::Array {
        return command;
    }
    let loading = LoadOptions::augment_args_for_update(Command::new("load"));
    let loading = loading.get_arguments().map(|arg| arg.get_id().to_string());
    let of_a_graph = loading.chain(["graph".into(), "placement".into()]);
    of_a_graph.fold(command, hidden)
}

/// Defaults, then the file, then the flags.
fn resolve(matches: &ArgMatches) -> Result<RunConfig> {
    let mut config = match matches.get_one::<PathBuf>("config") {
        Some(path) => RunConfig::read(path)?,
        None => RunConfig::default(),
    };
    config.update_from_arg_matches(matches).map_err(|e| Error::input(super::one_line(&e)))?;
    if let Some(path) = matches.get_one::<PathBuf>("config") {
        config.check_kept(path)?;
    }
    Ok(config)
}

pub(super) fn run(matches: &ArgMatches) -> Result<()> {
    let (workload, config) = match matches.subcommand() {
        Some((name, matches)) => (workload(name), resolve(matches)?),
        None => (None, RunConfig::default()),
    };
    let workload = workload.ok_or_else(|| Error::input("no such workload: see hive run --help"))?;
    config.check(workload)?;
    let outcome = answer(workload, config)?;
    report(&outcome)?;
    if let Some(fault) = outcome.job.config.fault {
        // One that strikes ends the run.
        note(&format!(
            "warning: --fault {fault} never struck: no replica came to that iteration\n"
        ));
    }
    outcome.verified()
}

/// What is known at once comes first: that a file is not there, then that a device is not, then the
/// graph, which may take minutes.
fn answer(workload: &'static Workload, config: RunConfig) -> Result<Outcome> {
    check_graph(&config)?;
    let fleet = phase("opening devices", || open_fleet(&config))?;
    let job = match workload.form {
        Form::Array => Job::on_array(workload, config)?,
        _ => {
            let graph = phase("loading the graph", || load_on(&config, &fleet))?;
            phase("choosing where to start", || Job::new(workload, config, graph))?
        }
    };
    let prepared = phase("preparing the graph", || prepare(&job, &fleet))?;
    let answer = phase("running", || job.solve(&fleet, &prepared))?;
    let check = || job.config.verify.then(|| job.verify(&*answer)).transpose();
    let verification = phase("verifying", check)?;
    Ok(job.outcome(&fleet, &prepared, answer, verification))
}

/// Summary and ranking, then the files. With `--json -` standard output is the record and nothing else, with
/// `--output -` the rows.
fn report(outcome: &Outcome) -> Result<()> {
    let config = &outcome.job.config;
    let mut text = summary(outcome);
    if config.top > 0
        && let Some(ranking) = outcome.answer.ranking(&outcome.job, config.top)
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
        Some(_) if told => out(&to_json(&Record::of(outcome))?)?,
        Some(path) => write_json(path, &Record::of(outcome))?,
        None => {}
    }
    match &config.output {
        Some(path) => phase("writing results", || outcome.write(path)),
        None => Ok(()),
    }
}
