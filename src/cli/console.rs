//! Standard output, standard error, and a progress line between.

use crate::io::progress;
use crate::units::bytes;
use crate::{Error, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out summaries, notes and progress from now on, or not.
pub(super) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Relaxed);
}

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

pub(super) fn error(message: &str) {
    err(&format!("error: {}\n", message.trim_end()));
}

/// Ends the process. What libraries would do at its end, CUDA first of all, takes time and serves nobody.
pub fn end(code: u8) -> ! {
    let _ = std::io::stdout().lock().flush();
    // A kernel that was compiled ahead may be on its way to the cache.
    crate::aside::remove_unfinished();
    signal_hook::low_level::exit(code.into())
}

/// A line on standard error that moves, if that is a terminal and may be written to.
pub(super) fn moving_line(
    template: &str,
    with: impl FnOnce(ProgressStyle) -> ProgressStyle,
) -> Option<ProgressBar> {
    if is_quiet() || !std::io::stderr().is_terminal() {
        return None;
    }
    let style = ProgressStyle::with_template(template).ok()?;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(with(style));
    bar.enable_steady_tick(Duration::from_millis(100));
    Some(bar)
}

/// Does the work; shows what it is once it has taken a second, and how far a load is.
pub(super) fn phase<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let name = name.to_string();
    let told = move |state: &ProgressState, to: &mut dyn fmt::Write| {
        let seconds = state.elapsed().as_secs_f64();
        let pace = |done: u64| bytes((done as f64 / seconds) as u64);
        let how_far = match (progress::piped(), progress::current()) {
            _ if seconds < 1.0 => return,
            (Some(read), _) => format!(" {} read, {}/s", bytes(read), pace(read)),
            (None, Some((done, total))) => {
                format!(" {} of {}, {}/s", bytes(done), bytes(total), pace(done))
            }
            (None, None) => String::new(),
        };
        let _ = write!(to, "{name}{how_far}, {seconds:.0} s");
    };
    let line = moving_line("{told}", |style| style.with_key("told", told));
    let done = work();
    line.iter().for_each(ProgressBar::finish_and_clear);
    done
}
