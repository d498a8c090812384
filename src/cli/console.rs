//! Standard output, standard error, and a progress line between.

use crate::io::progress;
use crate::{Error, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Whether summaries, notes and progress are left out.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out summaries, notes and progress from now on, or not.
pub(super) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Relaxed);
}

/// Whether summaries, notes and progress are left out.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Relaxed)
}

/// Writes what is for people to standard output, unless `--quiet` was given.
pub(super) fn say(text: &str) -> Result<()> {
    if is_quiet() { Ok(()) } else { out(text) }
}

/// Writes what is for people to standard error, unless `--quiet` was given.
pub(super) fn note(text: &str) {
    if !is_quiet() {
        err(text);
    }
}

/// Writes to standard output. A reader that went away (`hive ... | head -1`) is no failure.
pub(super) fn out(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::machine(format!("standard output cannot be written: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error, as far as that goes.
pub(super) fn err(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The one line of an error.
pub(super) fn error(message: &str) {
    err(&format!("error: {}\n", message.trim_end()));
}

/// Does the work; shows what it is on standard error once it has taken a second, if that is a terminal.
pub(super) fn phase<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let _spinner = Spinner::start(name);
    work()
}

/// Lives as long as the phase that it shows.
struct Spinner(Option<(Sender<()>, JoinHandle<()>)>);

impl Spinner {
    fn start(name: &str) -> Spinner {
        if is_quiet() || !std::io::stderr().is_terminal() {
            return Spinner(None);
        }
        let (done, finished) = channel::<()>();
        let name = name.to_string();
        let spin = move || {
            if finished
                .recv_timeout(Duration::from_secs(1))
                .is_err_and(|e| e == RecvTimeoutError::Timeout)
            {
                show(name, &finished);
            }
        };
        let thread = std::thread::Builder::new().name("progress".into()).spawn(spin);
        Spinner(thread.ok().map(|thread| (done, thread)))
    }
}

/// Draws until the phase has finished: a bar with bytes per second as long as a load says how far it is,
/// else a spinner.
fn show(name: String, finished: &Receiver<()>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_message(name);
    let mut shown = None;
    let style = |template| ProgressStyle::with_template(template).ok();
    loop {
        let (now, piped) = (progress::current(), progress::piped());
        let template = match (now, piped) {
            (_, Some(_)) => "{spinner} {msg} {bytes} read, {bytes_per_sec}, {elapsed}",
            (Some(_), None) => {
                "{msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            }
            (None, None) => "{spinner} {msg} {elapsed}",
        };
        if shown != Some(template) {
            shown = Some(template);
            style(template).into_iter().for_each(|style| bar.set_style(style));
        }
        match (now, piped) {
            (_, Some(read)) => bar.set_position(read),
            (Some((done, total)), None) => {
                bar.set_length(total);
                bar.set_position(done);
            }
            (None, None) => bar.tick(),
        }
        let wait = finished.recv_timeout(Duration::from_millis(100));
        if !wait.is_err_and(|e| e == RecvTimeoutError::Timeout) {
            break;
        }
    }
    bar.finish_and_clear();
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}
