//! What the shell and `man` know of the program: completions, manual pages, and the examples of `--help`.

use super::console::{out, say};
use crate::units::plural;
use crate::{Error, Result};
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Two lines for the help of each subcommand; those of workloads are in the registry.
const EXAMPLES: [(&str, [&str; 2]); 12] = [
    ("", ["hive run vn --graph web.mtx --seeds 1,5 --top 10", "hive info web.mtx"]),
    (
        "run",
        [
            "hive run sssp --graph web.mtx --source 1 --target 9",
            "hive run pagerank --graph web.mtx --output ranks.csv",
        ],
    ),
    ("list", ["hive list", "hive list --about"]),
    (
        "sweep",
        [
            "hive sweep sweep.toml --output results",
            "hive sweep sweep.toml --dry-run --only workload=bfs --set runs=3",
        ],
    ),
    (
        "generate",
        ["hive generate rmat:16", "hive generate rmat:12 --devices host --repeat 3 --json -"],
    ),
    ("info", ["hive info web.mtx", "hive info rmat:10 --degrees degrees.csv"]),
    ("report", ["hive report results", "hive report results --html report.html"]),
    ("convert", ["hive convert web.mtx web.hive", "hive convert web.mtx web.txt --symmetrize"]),
    (
        "estimate",
        [
            "hive estimate rmat:26 --devices cuda:0-3",
            "hive estimate --nodes 1000000 --arcs 64000000",
        ],
    ),
    ("doctor", ["hive doctor", "hive doctor --json -"]),
    ("completions", ["hive completions bash", "hive completions zsh"]),
    ("man", ["hive man pages", "hive man man1"]),
];

/// The command with its two examples below its options.
pub(super) fn with_examples(command: Command) -> Command {
    let name = if command.get_name() == "hive" { "" } else { command.get_name() };
    match EXAMPLES.iter().find(|(of, _)| *of == name) {
        Some((_, examples)) => after(command, *examples),
        None => command,
    }
}

/// The command with these examples below its options, before what was there.
pub(super) fn after(command: Command, examples: [&str; 2]) -> Command {
    let before = command.get_after_help().map_or(String::new(), |text| format!("\n\n{text}"));
    let lines = examples.map(|line| format!("  {line}")).join("\n");
    command.after_help(format!("Examples:\n{lines}{before}"))
}

pub(super) fn completions_command() -> Command {
    Command::new("completions").about("Print the completions of a shell").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(Shell))
            .help("The shell, as in hive completions bash >~/.local/share/bash-completion/completions/hive"),
    )
}

pub(super) fn completions(matches: &ArgMatches) -> Result<()> {
    let shell = matches.get_one::<Shell>("shell").copied().unwrap_or(Shell::Bash);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "hive", &mut text);
    out(&String::from_utf8_lossy(&text))
}

pub(super) fn man_command() -> Command {
    Command::new("man").about("Write the manual pages, one for each subcommand and workload").arg(
        Arg::new("dir")
            .value_name("DIR")
            .value_hint(ValueHint::DirPath)
            .value_parser(value_parser!(PathBuf))
            .required(true)
            .help("Folder for hive.1, hive-run.1, hive-run-vn.1, ...; it is created"),
    )
}

pub(super) fn man(matches: &ArgMatches) -> Result<()> {
    let folder = matches.get_one::<PathBuf>("dir").map_or(Path::new("."), PathBuf::as_path);
    let unusable = |e| Error::input(format!("{}: {e}; name a folder", folder.display()));
    std::fs::create_dir_all(folder).map_err(unusable)?;
    let mut command = super::command().disable_help_subcommand(true);
    command.build();
    let pages = pages(command, folder)?;
    say(&format!("{}: {} written\n", folder.display(), plural(pages, "manual page")))
}

/// The page of a command and those of its subcommands.
fn pages(command: Command, folder: &Path) -> Result<u64> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    let parts = command.get_subcommands().filter(|part| !part.is_hide_set()).cloned();
    let parts: Vec<Command> = parts.collect();
    let page = clap_mangen::Man::new(command);
    crate::io::write_atomically(&folder.join(format!("{name}.1")), |mut to| page.render(&mut to))?;
    parts.into_iter().try_fold(1, |count, part| Ok(count + pages(part, folder)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_two_examples_that_parse() {
        fn check(command: &Command) {
            let help = command.clone().render_long_help().to_string();
            let examples = help.split_once("Examples:\n").map(|(_, text)| text);
            let examples = examples.unwrap_or_else(|| panic!("no examples: {help}"));
            let lines: Vec<&str> =
                examples.lines().take_while(|line| line.starts_with("  hive ")).collect();
            assert_eq!(lines.len(), 2, "{help}");
            for line in lines {
                let parsed = super::super::command().try_get_matches_from(line.split_whitespace());
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
            let parts = command.get_subcommands();
            parts.filter(|part| !part.is_hide_set() && part.get_name() != "help").for_each(check);
        }
        check(&super::super::command());
    }
}
