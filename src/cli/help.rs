//! What the shell and `man` know of the program: completions, manual pages, and the examples of `--help`.

use super::console::{out, say};
use crate::units::plural;
use crate::{Error, Result};
use clap::{Command, Parser, ValueHint};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// The command with these examples below its options, before what was there.
pub(super) fn after(command: Command, examples: [&str; 2]) -> Command {
    let before = command.get_after_help().map_or(String::new(), |text| format!("\n\n{text}"));
    let lines = examples.map(|line| format!("  {line}")).join("\n");
    command.after_help(format!("Examples:\n{lines}{before}"))
}

/// Print the completions of a shell
#[derive(Parser)]
#[command(name = "completions")]
pub(super) struct Completions {
    /// The shell, as in hive completions bash >~/.local/share/bash-completion/completions/hive
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn completions(args: Completions) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "hive", &mut text);
    out(&String::from_utf8_lossy(&text))
}

/// Write the manual pages, one for each subcommand and workload
#[derive(Parser)]
#[command(name = "man")]
pub(super) struct Man {
    /// Folder for hive.1, hive-run.1, hive-run-vn.1, ...; it is created
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: PathBuf,
}

pub(super) fn man(args: Man) -> Result<()> {
    let folder = args.dir.as_path();
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
