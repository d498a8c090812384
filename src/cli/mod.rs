//! The `hive` program: one file a subcommand. `src/main.rs` only turns the code that [`main`] returns
//! into the process's own.

mod allocator;
mod arguments;
mod console;
mod convert;
mod doctor;
mod estimate;
mod generate;
mod help;
mod info;
#[cfg(unix)]
mod launch;
mod report;
mod run;
#[cfg(unix)]
mod signals;
mod sweep;

use crate::io::LoadOptions;
use crate::processes::{another_speaks, leave};
use crate::run::Clock;
use crate::sweep::{CHILD, child};
use crate::{Error, Result};
pub use allocator::Allocator;
use arguments::one_line;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches};
pub use console::end;
pub use doctor::doctor_report;
use std::ffi::OsString;

const EXIT_CODES: &str = "Exit codes: 0 done; 1 an answer failed its check, or a cell is too slow; 2 the input, an option or \
the machine will not do; 3 a replica failed while it ran; 130 and 143 ended by SIGINT and SIGTERM.";

/// What a subcommand does with its arguments.
type Run = Box<dyn Fn(&ArgMatches) -> Result<()>>;

/// Every subcommand, with two examples below its options.
fn parts() -> Vec<(Command, Run)> {
    vec![
        (
            help::after(
                run::command(),
                [
                    "hive run sssp --graph web.mtx --source 1 --target 9",
                    "hive run pagerank --graph web.mtx --output ranks.csv",
                ],
            ),
            Box::new(run::run),
        ),
        part(run::list, ["hive list", "hive list --about"]),
        part(
            sweep::sweep,
            [
                "hive sweep sweep.toml --output results",
                "hive sweep sweep.toml --dry-run --only workload=bfs --set runs=3",
            ],
        ),
        part(
            generate::generate,
            ["hive generate rmat:16", "hive generate rmat:12 --devices host --repeat 3 --json -"],
        ),
        loading(info::info, ["hive info web.mtx", "hive info rmat:10 --degrees degrees.csv"]),
        part(report::report, ["hive report results", "hive report results --html report.html"]),
        loading(
            convert::convert,
            ["hive convert web.mtx web.hive", "hive convert web.mtx web.txt --symmetrize"],
        ),
        part(
            estimate::estimate,
            [
                "hive estimate rmat:26 --devices cuda:0-3",
                "hive estimate --nodes 1000000 --arcs 64000000",
            ],
        ),
        part(doctor::doctor, ["hive doctor", "hive doctor --json -"]),
        #[cfg(unix)]
        part(
            |args| launch::launch(args, goes_on),
            [
                "hive launch --procs 4 -- run bfs --graph web.mtx --devices host:4",
                "hive launch --procs 2 -- sweep configs/smoke.toml --output results",
            ],
        ),
        part(help::completions, ["hive completions bash", "hive completions zsh"]),
        part(help::man, ["hive man pages", "hive man man1"]),
        (Command::new(CHILD).hide(true), Box::new(|_| child())),
    ]
}

/// A subcommand whose arguments are read into a struct.
fn part<P: CommandFactory + FromArgMatches + 'static>(
    run: fn(P) -> Result<()>,
    examples: [&str; 2],
) -> (Command, Run) {
    (help::after(P::command(), examples), Box::new(move |matches| run(read(matches)?)))
}

/// The same with the options of loading a graph.
fn loading<P: CommandFactory + FromArgMatches + 'static>(
    run: fn(P, LoadOptions) -> Result<()>,
    examples: [&str; 2],
) -> (Command, Run) {
    let own = P::command();
    let about = own.get_about().cloned().unwrap_or_default();
    // The options bring their own description.
    let command = LoadOptions::augment_args_for_update(own).about(about).long_about(None);
    let run = move |matches: &ArgMatches| {
        let mut options = LoadOptions::default();
        options.update_from_arg_matches(matches).map_err(|e| Error::input(one_line(&e)))?;
        run(read(matches)?, options)
    };
    (help::after(command, examples), Box::new(run))
}

/// Whether a command that is launched, from `run` or `sweep` on, goes on without processes that fail.
#[cfg(unix)]
fn goes_on(words: &[OsString]) -> Result<bool> {
    let words = std::iter::once("hive".into()).chain(words.iter().cloned());
    let matches = command().try_get_matches_from(words).map_err(|e| Error::input(one_line(&e)))?;
    match matches.subcommand() {
        Some(("run", matches)) => run::goes_on(matches),
        Some(("sweep", matches)) => sweep::goes_on(read(matches)?),
        _ => Err(Error::input(
            "hive launch starts hive run and hive sweep: write hive launch --procs N -- run ...",
        )),
    }
}

fn read<P: FromArgMatches>(matches: &ArgMatches) -> Result<P> {
    P::from_arg_matches(matches).map_err(|e| Error::input(one_line(&e)))
}

/// The command tree, from which help is derived.
pub fn command() -> Command {
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
        .subcommands(parts().into_iter().map(|(command, _)| command));
    let examples = ["hive run vn --graph web.mtx --seeds 1,5 --top 10", "hive info web.mtx"];
    help::after(command, examples)
}

/// Runs the program on these arguments (the first is its own name) and returns its exit code. An error
/// is one line on standard error.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    Clock::of_process();
    crate::memory::ends_by(allocator::end_without);
    let args: Vec<OsString> = args.into_iter().collect();
    // A launcher passes signals on to those that it has started.
    #[cfg(unix)]
    if args.get(1).is_none_or(|command| command != "launch") {
        signals::install();
    }
    let result = match command().try_get_matches_from(&args) {
        Ok(matches) => {
            console::set_quiet(matches.get_flag("quiet"));
            dispatch(&matches)
        }
        Err(error) => return usage(&error, &args),
    };
    // Asked before others are told: they may go at once.
    let silent = another_speaks(result.as_ref().err());
    leave(result.as_ref().err());
    match result {
        Ok(()) => 0,
        Err(error) => {
            if !silent {
                console::error(&error.to_string());
            }
            error.exit_code()
        }
    }
}

fn dispatch(matches: &ArgMatches) -> Result<()> {
    crate::threads::start_pool()?;
    let (name, matches) = matches.subcommand().unwrap_or(("", matches));
    match parts().iter().find(|(command, _)| command.get_name() == name) {
        Some((_, run)) => run(matches),
        None => Err(Error::input("no such command: see hive --help")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Form;
    use crate::run::WORKLOADS;

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
}
