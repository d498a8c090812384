//! Arguments that several subcommands have, and what clap says of wrong ones.

use super::console;
use crate::Result;
use crate::report::{to_json, write_json};
use crate::run::writable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ValueHint};
use serde::Serialize;
use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::{Path, PathBuf};

/// `--json`.
#[derive(Args)]
pub(super) struct Json {
    /// Write a record as JSON; - is standard output, and the text then goes to standard error
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,
}

impl Json {
    /// Refuses a file that could not be written, before a graph is loaded for it.
    pub(super) fn check(&self) -> Result<()> {
        self.json.as_deref().map_or(Ok(()), |path| writable("--json", path))
    }

    pub(super) fn is_standard(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    /// The text to standard output and the record to its file. With `--json -` standard output is the record and
    /// nothing else.
    pub(super) fn answer(&self, text: &str, record: &impl Serialize) -> Result<()> {
        match &self.json {
            Some(_) if self.is_standard() => {
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
}

/// What clap says in a paragraph, in a line, without the usage. A value that an option's own parser
/// refused is reported in that parser's words behind the option's name.
pub(super) fn one_line(error: &clap::Error) -> String {
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
