//! Work on a thread of its own, so that Python goes on meanwhile: other threads run, and Ctrl-C ends the wait.

use crate::error::{bug, raised};
use crate::stage::Stage;
use hivegraph::Result;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How often it is looked whether somebody pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// The process that has used the engine first. A fork of it has none of its threads.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Arcs up to which a graph is made sooner than Ctrl-C is pressed.
const SMALL: usize = 1 << 20;

/// Does `work` of so many arcs: as [`wait`], or at once where they are few.
pub fn wait_for_arcs<T: Send + 'static>(
    py: Python<'_>,
    arcs: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    if arcs > SMALL { wait(py, work) } else { at_once(py, work) }
}

/// Does `work` while others run. Ctrl-C is heard after it, so that nothing goes on after the call: a step that writes arrays, say.
pub fn at_once<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    check_process()?;
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(done) => done.map_err(|error| raised(py, &error)),
        Err(panic) => Err(panicked(&*panic)),
    }
}

/// What a panic is told as.
fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    bug(text.unwrap_or("it panicked"))
}

/// Refuses a fork of a process that has used the engine.
fn check_process() -> PyResult<()> {
    let own = std::process::id();
    if *PROCESS.get_or_init(|| own) == own {
        return Ok(());
    }
    Err(pyo3::exceptions::PyRuntimeError::new_err(
        "this process was forked from one that had used hivegraph, whose threads it lacks; start processes with \
         multiprocessing's method 'spawn' or 'forkserver'",
    ))
}

/// Does `work` while others run. Where Ctrl-C ends the wait, the work goes on until it is done; what it answers is dropped.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    wait_telling(py, work, |_| {})
}

/// The same, with a line about what `name` is at, where it takes its time (`hivegraph/_progress.py`).
pub fn wait_at<T: Send + 'static>(
    py: Python<'_>,
    name: &str,
    stage: &Stage,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let begin = Instant::now();
    let mut told = 0;
    let done = wait_telling(py, work, |py| {
        let seconds = begin.elapsed().as_secs();
        if seconds > told {
            told = seconds;
            tell(py, name, stage.name(), seconds);
        }
    });
    if told > 0 {
        tell(py, name, stage.name(), 0);
    }
    done
}

/// That nobody can be told ends no work.
fn tell(py: Python<'_>, name: &str, stage: &str, seconds: u64) {
    let module = py.import("hivegraph._progress");
    let _ = module.and_then(|module| module.getattr("tell")?.call1((name, stage, seconds)));
}

fn wait_telling<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
    mut look: impl FnMut(Python<'_>),
) -> PyResult<T> {
    check_process()?;
    let (to, mut answers) = sync_channel(1);
    let job = move || {
        let _ = to.send(catch_unwind(AssertUnwindSafe(work)));
    };
    std::thread::Builder::new().name("hive-python".into()).spawn(job)?;
    loop {
        let (back, answer) = py.detach(move || {
            let answer = answers.recv_timeout(LOOK);
            (answers, answer)
        });
        answers = back;
        match answer {
            Ok(Ok(done)) => return done.map_err(|error| raised(py, &error)),
            Ok(Err(panic)) => return Err(panicked(&*panic)),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                look(py);
            }
            Err(RecvTimeoutError::Disconnected) => return Err(bug("a thread has gone")),
        }
    }
}
