//! `hive launch`: several processes of this program on this host, that make up one fleet.

use super::console::{end, err, error};
use crate::processes::PORTS;
use crate::{Error, Result, threads};
use clap::Parser;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::Read;
use std::net::TcpListener;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Start several processes of hive on this host that make up one fleet
#[derive(Parser)]
#[command(name = "launch", override_usage = "hive launch --procs <N> -- <COMMAND OF HIVE>...")]
pub(super) struct Launch {
    /// How many processes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16))]
    procs: u16,
    /// How many of the host's devices each process has, in the order of --devices; default: all of them, shared
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16))]
    devices_per_proc: Option<u16>,
    /// What each of them runs, as in run bfs --graph web.mtx --devices host:4; those of this host share the devices
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How long the others may take to end once one has ended with an error. Those that have not found it yet would wait for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The exit code where the command is at fault: no other process does better.
const BAD_INPUT: i32 = 2;

/// How long process 0 may take to end at a signal before the others are told.
const TELLING: Duration = Duration::from_millis(300);

/// Has the system end a process when this one is gone, however that came about.
#[cfg(target_os = "linux")]
fn end_with_launcher(command: &mut Command) {
    use rustix::process::set_parent_process_death_signal;
    let own = std::process::id();
    // SAFETY: between fork and exec two system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            // It may be gone before the system was told.
            match std::os::unix::process::parent_id() == own {
                true => Ok(()),
                false => Err(std::io::ErrorKind::NotFound.into()),
            }
        });
    }
}

/// The processes that have not ended.
type Running = Arc<Mutex<Vec<Option<Child>>>>;

/// `goes_on` says whether a command goes on without processes that fail.
pub(super) fn launch(args: Launch, goes_on: fn(&[OsString]) -> Result<bool>) -> Result<()> {
    let goes_on = goes_on(&args.command)?;
    let program = std::env::current_exe()
        .map_err(|e| Error::machine(format!("this program's file is not known: {e}")))?;
    let token = new_token()?;
    let address = free_address(&token)?;
    let (running, mut said): (Running, _) = (Arc::default(), Vec::new());
    forward_signals(&running)?;
    for number in 0..args.procs {
        let mut command = Command::new(&program);
        // Signals of a terminal come by way of this process alone.
        command.args(&args.command).process_group(0);
        command.env("HIVE_RANK", number.to_string());
        command.env("HIVE_WORLD_SIZE", args.procs.to_string());
        command.env("HIVE_ADDR", &address).env("HIVE_TOKEN", &token);
        if let Some(each) = args.devices_per_proc {
            command.env("HIVE_DEVICES", (each * args.procs).to_string());
        }
        // The first reads what is piped to this one, and tells what there is to tell.
        if number > 0 {
            command.stdin(Stdio::null()).stderr(Stdio::piped());
        }
        #[cfg(target_os = "linux")]
        end_with_launcher(&mut command);
        match command.spawn() {
            Ok(mut child) => {
                said.extend(child.stderr.take().map(heard).transpose()?);
                lock(&running).push(Some(child));
            }
            Err(e) => {
                each(&running, |child| _ = child.kill());
                return Err(Error::machine(format!("process {number} cannot be started: {e}")));
            }
        }
    }
    let (statuses, first_failed) = wait(&running, usize::from(args.procs), (goes_on, PATIENCE));
    let codes: Vec<u8> = statuses.iter().map(code).collect();
    if codes.contains(&0) {
        // Nobody ends so before the answer was told.
        end(0);
    }
    // Process 0 has told what there is to tell, unless it was killed.
    if statuses[0].code().is_none() {
        let others = said.into_iter().map(|said| said.join().unwrap_or_default());
        let first = others.zip(&codes[1..]).find(|(said, code)| **code != 0 && !said.is_empty());
        match first {
            Some((said, _)) => err(&String::from_utf8_lossy(&said)),
            None => {
                // Others may have been killed because of it.
                let number = first_failed.unwrap_or(0);
                error(&match codes[number].checked_sub(128) {
                    Some(signal) => format!("process {number} was ended by signal {signal}"),
                    None => format!("process {number} ended with exit code {}", codes[number]),
                });
            }
        }
    }
    let own = statuses[0].code().map(|_| codes[0]).filter(|code| *code != 0);
    let failed = own.or(first_failed.map(|number| codes[number]));
    end(failed.or_else(|| codes.into_iter().find(|code| *code != 0)).unwrap_or(0));
}

fn lock(running: &Running) -> std::sync::MutexGuard<'_, Vec<Option<Child>>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn each(running: &Running, mut act: impl FnMut(&mut Child)) {
    lock(running).iter_mut().flatten().for_each(&mut act);
}

/// Bytes that are kept of what a process says.
const MOST_SAID: u64 = 1 << 16;

/// Reads what a process says on standard error.
fn heard(mut from: ChildStderr) -> Result<JoinHandle<Vec<u8>>> {
    let body = move || {
        let mut said = Vec::new();
        let _ = from.by_ref().take(MOST_SAID).read_to_end(&mut said);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        said
    };
    threads::start("listen", body)
}

/// A token that nobody can guess.
fn new_token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::machine(format!("the system has no random numbers: {e}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// An address on which nobody listens now. Its port is below those that the system hands out, so nobody is given it before process 0
/// listens there.
fn free_address(token: &str) -> Result<String> {
    let (count, drawn) = (PORTS.len() as u64, token.get(..16).unwrap_or_default());
    let first = u64::from_str_radix(drawn, 16).unwrap_or(0);
    let ports = (0..count).map(|i| PORTS.start + ((first % count + i) % count) as u16);
    let addresses = ports.map(|port| format!("127.0.0.1:{port}"));
    let free = addresses.into_iter().find(|address| TcpListener::bind(address.as_str()).is_ok());
    let (least, most) = (PORTS.start, PORTS.end - 1);
    free.ok_or_else(|| {
        Error::machine(format!("no port from {least} to {most} is free on 127.0.0.1"))
    })
}

/// Passes signals that end this process on to those that it started.
fn forward_signals(running: &Running) -> Result<()> {
    let told = |e: std::io::Error| Error::machine(format!("signals cannot be passed on: {e}"));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).map_err(told)?;
    let running = running.clone();
    let body = move || {
        for signal in signals.forever() {
            let signal = if signal == SIGINT { Signal::INT } else { Signal::TERM };
            // Process 0 tells of it, and not of others that have gone because of it.
            let until = Instant::now() + TELLING;
            pass(&lock(&running), 0..1, signal);
            while lock(&running).first().is_some_and(Option::is_some) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
            pass(&lock(&running), 1..usize::MAX, signal);
        }
    };
    threads::start("forward", body).map(drop)
}

/// Passes a signal on to those of these numbers that have not ended.
fn pass(running: &[Option<Child>], numbers: Range<usize>, signal: Signal) {
    let children = running.iter().enumerate().filter(|(number, _)| numbers.contains(number));
    for child in children.filter_map(|(_, child)| child.as_ref()) {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        pid.into_iter().for_each(|pid| _ = kill_process(pid, signal));
    }
}

/// How all have ended, by number, and which was the first that failed and was not killed. Where one failed the others end by
/// themselves; those that do not are killed. Others who go on take as long as they need, unless the command is at fault.
fn wait(
    running: &Running,
    count: usize,
    (goes_on, patience): (bool, Duration),
) -> (Vec<ExitStatus>, Option<usize>) {
    let mut ended: Vec<Option<ExitStatus>> = vec![None; count];
    let mut failed: Option<(Instant, usize)> = None;
    let mut hopeless = !goes_on;
    loop {
        for (number, child) in lock(running).iter_mut().enumerate() {
            let Some(own) = child else { continue };
            if let Ok(Some(status)) = own.try_wait() {
                // One that was killed may be done without, where the others go on.
                if status.code().map_or(!goes_on, |code| code != 0) {
                    failed.get_or_insert_with(|| (Instant::now(), number));
                }
                hopeless |= status.code() == Some(BAD_INPUT);
                ended[number] = Some(status);
                *child = None;
            }
        }
        if ended.iter().all(Option::is_some) {
            return (ended.into_iter().flatten().collect(), failed.map(|(_, number)| number));
        }
        if hopeless && failed.is_some_and(|(at, _)| at.elapsed() > patience) {
            each(running, |child| _ = child.kill());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// As a shell has it.
fn code(status: &ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let killed = status.signal().map(|signal| 128 + signal);
    status.code().or(killed).unwrap_or(1) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How processes that run these commands of a shell end, and after how long.
    fn ended(goes_on: bool, commands: &[&str]) -> (Vec<u8>, Duration) {
        let begin = Instant::now();
        let start = |command| Command::new("sh").args(["-c", command]).spawn().unwrap();
        let all: Vec<Option<Child>> = commands.iter().map(|command| Some(start(command))).collect();
        let (running, count) = (Running::new(Mutex::new(all)), commands.len());
        let (statuses, _) = wait(&running, count, (goes_on, Duration::from_millis(100)));
        (statuses.iter().map(code).collect(), begin.elapsed())
    }

    #[test]
    fn nobody_waits_for_one_that_has_refused_the_command() {
        for goes_on in [false, true] {
            let (codes, took) = ended(goes_on, &["exec sleep 20", "exit 2"]);
            assert!(codes == [137, 2] && took < Duration::from_secs(10), "{codes:?} {took:?}");
        }
        let (codes, _) = ended(true, &["sleep 0.5", "exit 3"]);
        assert_eq!(codes, [0, 3]);
        let (codes, _) = ended(false, &["exec sleep 20", "exit 3"]);
        assert_eq!(codes, [137, 3]);
    }

    #[test]
    fn processes_meet_at_a_port_that_is_free_and_handed_out_to_nobody() {
        let token = new_token().unwrap();
        let address = free_address(&token).unwrap();
        let port = |address: &str| address.rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
        assert!(PORTS.contains(&port(&address)), "{address}");
        let _taken = TcpListener::bind(address.as_str()).unwrap();
        let other = free_address(&token).unwrap();
        assert!(PORTS.contains(&port(&other)) && other != address, "{other}");
    }
}
