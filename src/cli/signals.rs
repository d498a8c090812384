//! SIGINT and SIGTERM: files that are being written are removed, and the program ends.

use super::console;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The signals, their names and the exit codes, as a shell has them.
const ENDS: [(i32, &str, i32); 2] = [(SIGINT, "SIGINT", 130), (SIGTERM, "SIGTERM", 143)];
/// A program that has not ended by then, for a pipe or a disk keeps it waiting, ends as it is.
const PATIENCE: Duration = Duration::from_millis(700);

/// Has the program end in order at the first signal and at once at the second. A system that has no room for a thread
/// ends it at the first.
pub(super) fn install() {
    let Ok(mut signals) = Signals::new(ENDS.map(|end| end.0)) else { return };
    let handle = signals.handle();
    let watch = move || signals.forever().next().map_or((), end);
    if std::thread::Builder::new().name("signals".into()).spawn(watch).is_err() {
        return handle.close();
    }
    // In this order: the first signal arms what the second meets, in the handler itself.
    let again = Arc::new(AtomicBool::new(false));
    for (signal, _, code) in ENDS {
        let _ = flag::register_conditional_shutdown(signal, code, again.clone());
        let _ = flag::register(signal, again.clone());
    }
}

fn end(signal: i32) {
    let (name, code) = ENDS.iter().find(|end| end.0 == signal).map_or(("", 130), |e| (e.1, e.2));
    let patience = move || {
        std::thread::sleep(PATIENCE);
        low_level::exit(code);
    };
    if std::thread::Builder::new().name("patience".into()).spawn(patience).is_err() {
        low_level::exit(code);
    }
    crate::aside::remove_unfinished();
    console::error(&format!("ended by {name}; files that were being written are removed"));
    // Without what runs at an ordinary end: other threads are in the middle of their work.
    low_level::exit(code);
}
