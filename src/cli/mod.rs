//! The `hive` program: one file a subcommand. `src/main.rs` only turns the code that [`main`] returns
//! into the process's own.

mod console;
mod convert;
mod doctor;
mod estimate;
mod generate;
mod help;
mod info;
mod report;
mod run;
mod signals;
mod sweep;

use crate::io::LoadOptions;
use crate::report::{to_json, write_json};
use crate::{Error, Result};
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use serde::Serialize;
use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::{Path, PathBuf};

const EXIT_CODES: &str = "Exit codes: 0 done; 1 an answer failed its check, or a cell is too slow; 2 the input, an option or \
the machine will not do; 3 a replica failed while it ran; 130 and 143 ended by SIGINT and SIGTERM.";

/// The command tree, from which help is derived.
pub fn command() -> Command {
    let parts = [
        run::command(),
        run::list_command(),
        sweep::command(),
        generate::command(),
        info::command(),
        report::command(),
        convert::command(),
        estimate::command(),
        doctor::command(),
        help::completions_command(),
        help::man_command(),
    ];
    let command = Command::new("hive")
        .about("Graph analytics on replicas: every GPU holds the state of all nodes, computes, and merges")
        .version(concat!(env!("CARGO_PKG_VERSION"), " (", env!("HIVE_COMMIT"), ")"))
        .after_help(EXIT_CODES)
        .arg(
            Arg::new("quiet")
                .long("quiet")
                .short('q')
                .action(ArgAction::SetTrue)
                .global(true)
                .help(
                    "Print no summary and no progress: errors only, and what goes to files or to -",
                ),
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(parts.map(help::with_examples))
        .subcommand(sweep::child_command());
    help::with_examples(command)
}

/// Runs the program on these arguments (the first is its own name) and returns its exit code. An error
/// is one line on standard error.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    signals::install();
    let args: Vec<OsString> = args.into_iter().collect();
    let result = match command().try_get_matches_from(&args) {
        Ok(matches) => {
            console::set_quiet(matches.get_flag("quiet"));
            dispatch(&matches)
        }
        Err(error) => return usage(&error, &args),
    };
    match result {
        Ok(()) => 0,
        Err(error) => {
            console::error(&error.to_string());
            error.exit_code()
        }
    }
}

fn dispatch(matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("run", matches)) => run::run(matches),
        Some(("list", matches)) => run::list(matches),
        Some(("sweep", matches)) => sweep::sweep(matches),
        Some((crate::sweep::CHILD, _)) => crate::sweep::child(),
        Some(("generate", matches)) => generate::generate(matches),
        Some(("info", matches)) => info::info(matches),
        Some(("report", matches)) => report::report(matches),
        Some(("convert", matches)) => convert::convert(matches),
        Some(("estimate", matches)) => estimate::estimate(matches),
        Some(("doctor", matches)) => doctor::doctor(matches),
        Some(("completions", matches)) => help::completions(matches),
        Some(("man", matches)) => help::man(matches),
        _ => Err(Error::input("no such command: see hive --help")),
    }
}

/// `--json FILE|-`.
fn json_argument() -> Arg {
    Arg::new("json")
        .long("json")
        .value_name("FILE|-")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help("Write a record as JSON; - is standard output, and the text then goes to standard error")
}

/// Refuses a `--json` that could not be written, before a graph is loaded for it.
fn check_json(matches: &ArgMatches) -> Result<()> {
    let path = matches.get_one::<PathBuf>("json");
    path.map_or(Ok(()), |path| crate::run::writable("--json", path))
}

/// The text to standard output and the record to where `--json` says. With `--json -` standard output is
/// the record and nothing else.
fn answer(matches: &ArgMatches, text: &str, record: &impl Serialize) -> Result<()> {
    match matches.get_one::<PathBuf>("json").map(PathBuf::as_path) {
        Some(path) if path == Path::new("-") => {
            console::note(text);
            console::out(&to_json(record)?)
        }
        Some(path) => {
            write_json(path, record)?;
            console::say(text)
        }
        None => console::say(text),
    }
}

/// The policies among the arguments.
fn load_options(matches: &ArgMatches) -> Result<LoadOptions> {
    let mut options = LoadOptions::default();
    options.update_from_arg_matches(matches).map_err(|e| Error::input(one_line(&e)))?;
    Ok(options)
}

/// Help and version are answers; anything else is one line and exit code 2.
fn usage(error: &clap::Error, args: &[OsString]) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = console::out(&error.to_string());
            0
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            console::err(&error.to_string());
            2
        }
        _ => {
            console::error(&run::hint(error, args).unwrap_or_else(|| {
                let line = one_line(error);
                match line.strip_suffix("see --help") {
                    Some(what) => format!("{what}see {} --help", run::asked(args).0),
                    None => line,
                }
            }));
            2
        }
    }
}

/// What clap says in a paragraph, in a line, without the usage. A value that an option's own parser
/// refused is reported in that parser's words behind the option's name.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let own = error.source().map(|source| source.to_string());
    if let (ErrorKind::ValueValidation, Some(own)) = (error.kind(), own) {
        if own.starts_with("--") {
            return own;
        }
        if let Some(line) = no_number(error) {
            return line;
        }
        // The parser of node ids knows not which option it reads.
        if let (Some(ContextValue::String(arg)), Some(rest)) =
            (error.get(ContextKind::InvalidArg), own.strip_prefix("seeds "))
        {
            return format!("{} {rest}", arg.split(' ').next().unwrap_or(arg));
        }
    }
    let mut parts = text.lines().map(str::trim).take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    let head = parts.next().unwrap_or("bad arguments").trim_start_matches("error: ").to_string();
    let rest: Vec<&str> = parts.filter(|line| !line.is_empty()).collect();
    let line = if rest.is_empty() { head } else { format!("{head} {}", rest.join(" ")) };
    format!("{line}; see --help")
}

/// `--top x: use a whole number from 0 on`, where that is the error.
fn no_number(error: &clap::Error) -> Option<String> {
    let (Some(ContextValue::String(argument)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return None;
    };
    let source = error.source()?;
    let next = match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow) => "the number is too large",
        Some(_) => "use a whole number from 0 on",
        None if source.is::<ParseFloatError>() => "use a number",
        None => return None,
    };
    let option = argument.split(' ').next().unwrap_or(argument);
    Some(format!("{option} {value}: {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Form;
    use crate::run::WORKLOADS;

    fn refusal(args: &[&str]) -> String {
        one_line(&command().try_get_matches_from(args).unwrap_err())
    }

    #[test]
    fn the_command_tree_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn every_workload_of_the_registry_is_a_subcommand_that_shows_its_own_options_only() {
        for workload in WORKLOADS {
            let args = ["hive", "run", workload.name, "--help"];
            let help = command().try_get_matches_from(args).unwrap_err().to_string();
            let words: Vec<&str> = help.split_whitespace().collect();
            assert!(words.join(" ").contains(workload.about), "{help}");
            // Other options' words may name one, so that its own line counts.
            let shown = |option: &str| {
                let flag = |line: &str| {
                    let line = line.trim_start();
                    line.strip_prefix(&format!("--{option}"))
                        .is_some_and(|rest| rest.starts_with([' ', '[', '=']) || rest.is_empty())
                };
                help.lines().any(flag)
            };
            for option in WORKLOADS.iter().flat_map(|other| other.options()) {
                assert_eq!(shown(&option), workload.has_own_option(&option), "{option}: {help}");
            }
            assert_eq!(shown("top"), workload.ranks.is_some(), "{help}");
            for option in ["layout", "chunks", "placement", "top"] {
                assert_eq!(shown(option), workload.takes_shared_option(option), "{help}");
            }
            assert_eq!(shown("graph"), workload.form != Form::Array, "{help}");
            assert!(!help.contains("--fault"), "test hooks stay out of the help");
        }
    }

    #[test]
    fn a_refused_argument_is_one_line_that_names_it() {
        for (args, part) in [
            (&["hive", "run", "vn", "--devices", "host:0"][..], "--devices host:0: 0 replicas"),
            (&["hive", "run", "vn", "--seeds", "1,,2"], "--seeds `1,,2`: an id is missing"),
            (
                &["hive", "run", "bfs", "--sources", "last:1"],
                "--sources `last:1`: `last` is unknown;",
            ),
            (&["hive", "run", "vn", "--merge", "sparse"], "'--merge <MODE>'"),
            (&["hive", "run", "vn", "--top", "-1"], "--top"),
            (&["hive", "run", "vn", "--grpah", "x"], "'--grpah'"),
            (&["hive", "run", "vn", "--graph"], "'--graph <FILE|SPEC|->'"),
            (&["hive", "run", "walk"], "'walk'"),
            (&["hive", "walk"], "'walk'"),
            (&["hive", "sweep"], "<CONFIG>"),
        ] {
            let line = refusal(args);
            assert!(line.contains(part), "no {part} in: {line}");
            assert!(!line.contains('\n') && !line.contains("Usage"), "{line}");
        }
    }
}
