//! A process a run: what ends it ends one cell.

use super::bench::Bench;
use super::cell::Refusal;
use super::config::known;
use super::planned::Planned;
use crate::fleet::Company;
use crate::run::RunConfig;
use crate::system::signal_of;
use crate::{Error, Result, threads};
use serde_json::Value;
use std::io::{BufRead, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The hidden subcommand that a child is started with.
pub(crate) const CHILD: &str = "sweep-cell";
/// How often a child is looked at.
const GLANCE: Duration = Duration::from_millis(10);

/// What a child is to run, the first line of its standard input: the workload, how, and whether its graph is optional.
type Request = (String, RunConfig, bool);

/// What it answers: the last line of its standard output.
type Reply = Result<Value, Refusal>;

/// Runs a cell in a process of its own; one that takes longer than `limit` is killed.
pub(super) fn run(cell: &Planned, limit: Option<Duration>) -> Reply {
    if let Some(trouble) = &cell.trouble {
        return Err(Refusal::Skipped(trouble.clone()));
    }
    let failed = |why: String| Refusal::Failed(format!("its process: {why}"));
    let mut child = start(cell).map_err(|cause| failed(format!("cannot be started: {cause}")))?;
    let readers =
        reader(child.stdout.take()).and_then(|out| Ok((out, reader(child.stderr.take())?)));
    let (output, errors) = readers.inspect_err(|_| _ = child.kill())?;
    let ended = wait(&mut child, limit);
    // From now on the child is gone: what it said is all there is.
    let said = output.join().unwrap_or_default();
    let errors = errors.join().unwrap_or_default();
    let status = ended.map_err(failed)?;
    let reply = said.trim_end().lines().last().and_then(|line| serde_json::from_str(line).ok());
    match reply {
        Some(Ok(record)) if status.success() => Ok(record),
        Some(Err(refusal)) => Err(refusal),
        _ => {
            let last = errors.trim_end().lines().last().unwrap_or_default();
            let last = last.strip_prefix("error: ").unwrap_or(last);
            let said = if last.is_empty() { String::new() } else { format!(": {last}") };
            Err(failed(format!("{}{said}", how(status))))
        }
    }
}

/// A child that has its request. Its standard input stays open as long as this process lives.
fn start(cell: &Planned) -> std::io::Result<Child> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg(CHILD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let request: Request = (cell.workload.name.into(), cell.config.clone(), cell.optional);
    if let Some(input) = &mut child.stdin {
        // One that is gone already tells by its status.
        let _ = writeln!(input, "{}", serde_json::to_string(&request)?);
    }
    Ok(child)
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> crate::Result<JoinHandle<String>> {
    threads::start("listen", move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, limit: Option<Duration>) -> Result<ExitStatus, String> {
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(cause) => return Err(format!("cannot be waited for: {cause}")),
        }
        if limit.is_some_and(|limit| begin.elapsed() > limit) {
            let _ = child.kill();
            let _ = child.wait();
            let seconds = limit.unwrap_or_default().as_secs_f64();
            return Err(format!("took longer than --cell-limit {seconds} s and was killed"));
        }
        std::thread::sleep(GLANCE);
    }
}

fn how(status: ExitStatus) -> String {
    let Some(signal) = signal_of(status) else {
        return format!("ended with exit code {} and no record", status.code().unwrap_or_default());
    };
    let name = match signal {
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        9 => " (SIGKILL: by hand, or the system's, out of memory)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    };
    format!("was killed by signal {signal}{name}")
}

/// The child: reads its request, runs it and replies.
pub(crate) fn child() -> Result<()> {
    let mut line = String::new();
    let broken = |cause: &dyn std::fmt::Display| {
        Error::input(format!("{CHILD} is for hive sweep --isolate alone: {cause}"))
    };
    std::io::stdin().lock().read_line(&mut line).map_err(|cause| broken(&cause))?;
    let request = serde_json::from_str(&line).map_err(|cause| broken(&cause))?;
    let (workload, config, optional): Request = request;
    end_with_parent()?;
    let cell = Planned::alone(known(&workload)?, config, optional);
    let reply: Reply = Bench::of_one_cell().run(&cell, &Company::default());
    let text = serde_json::to_string(&reply).map_err(|cause| broken(&cause))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{text}").and_then(|()| out.flush()).map_err(|cause| broken(&cause))
}

/// Standard input ends when the parent does, however it ends: nobody waits for this cell then.
fn end_with_parent() -> Result<()> {
    let watch = || {
        let mut rest = [0; 64];
        while std::io::stdin().lock().read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
        crate::aside::remove_unfinished();
        std::process::exit(3);
    };
    threads::start("parent", watch).map(drop)
}
