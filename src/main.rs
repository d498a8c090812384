//! `hive`: parse, dispatch, exit code. Everything else is `hivegraph::cli`.
#![deny(missing_docs)]

use std::io::Write;

#[global_allocator]
static ALLOCATOR: hivegraph::cli::Allocator = hivegraph::cli::Allocator;

/// Exit code of a panic: something failed that is neither the answer nor the input.
const PANICKED: u8 = 3;

/// NCCL's multicast (NVLS) can put GPUs that others share out of service and, from 2.29 on, fails where
/// it cannot be bound; hivegraph never uses it. A value that the user set stays.
fn keep_multicast_off() {
    if std::env::var_os("NCCL_NVLS_ENABLE").is_none() {
        // SAFETY: first thing in main, before any thread exists that could read the environment.
        unsafe { std::env::set_var("NCCL_NVLS_ENABLE", "0") };
    }
}

/// A panic of the main thread is one line; with RUST_BACKTRACE the usual report. Replicas' panics are
/// caught by the fleet and come back as errors.
fn panics_in_one_line() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::env::var_os("RUST_BACKTRACE").is_some()
            || std::thread::current().name() != Some("main")
        {
            return usual(panic);
        }
        let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let why = text.unwrap_or("no message").replace('\n', " ");
        let mut stderr = std::io::stderr();
        let _ =
            writeln!(stderr, "error: hive itself failed{place}: {why}; please report this command");
    }));
}

fn main() {
    keep_multicast_off();
    panics_in_one_line();
    let code = std::panic::catch_unwind(|| hivegraph::cli::main(std::env::args_os()));
    hivegraph::cli::end(code.unwrap_or(PANICKED));
}
