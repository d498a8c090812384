//! A sweep as it goes: a table with a line that moves below it on a terminal, else a line a cell.

use super::super::console::{is_quiet, note};
use crate::run::Verdict;
use crate::sweep::{Cell, Event, State};
use crate::units::{self, plural};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Widest column of names.
const WIDEST: usize = 64;

/// What has been seen of a sweep.
pub(super) struct Live {
    /// On a terminal the line that moves.
    bar: Option<ProgressBar>,
    names: Vec<String>,
    /// Columns of a name in the table.
    width: usize,
    begin: Instant,
    /// Finished before this sweep began.
    kept: usize,
    ended: usize,
    failed: usize,
}

impl Live {
    pub(super) fn new() -> Live {
        let bar = (!is_quiet() && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        let begin = Instant::now();
        Live { bar, names: Vec::new(), width: 0, begin, kept: 0, ended: 0, failed: 0 }
    }

    pub(super) fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Planned { names, kept, torn } => self.plan(names, kept, torn),
            Event::Begun { at } => self.begin(at),
            Event::Ended { at, cell, cells } => self.end(at, cell, cells),
        }
    }

    /// Takes the line that moves away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => note(&format!("{line}\n")),
        }
    }

    fn plan(&mut self, names: &[String], kept: usize, torn: bool) {
        (self.names, self.kept) = (names.to_vec(), kept);
        self.width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(WIDEST);
        if torn {
            self.say("records.jsonl: the last line was torn, and dropped: its cell runs again");
        }
        if kept > 0 {
            let all = names.len();
            self.say(&format!(
                "{kept} of {} finished before (--rerun runs all)",
                plural(all as u64, "cell")
            ));
        }
        if self.bar.is_some() && kept < names.len() {
            self.say(&row(self.width, ["cell", "state", "median ms", "speed-up", "time left"]));
        }
        if let Some(bar) = &self.bar {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
    }

    fn begin(&self, at: usize) {
        if let Some(bar) = &self.bar {
            let failed =
                if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
            let done = self.kept + self.ended;
            let name = &self.names[at];
            bar.reset_elapsed();
            bar.set_message(format!(
                "[{done}/{}{failed}] {name}, {}",
                self.names.len(),
                self.left().unwrap_or_else(|| "running".into())
            ));
        }
    }

    fn end(&mut self, at: usize, cell: &Cell, cells: &[Cell]) {
        self.ended += 1;
        self.failed += usize::from(cell.is_bad());
        let left = self.left();
        let speed_up = cell.speed_up(cells).map(|times| format!("{times:.2}"));
        if self.bar.is_some() {
            let median = cell.done().map_or("-".into(), |done| units::bare_ms(done.time.median));
            let speed_up = speed_up.unwrap_or_else(|| "-".into());
            let line = row(
                self.width,
                [&self.names[at], state(cell), &median, &speed_up, &left.unwrap_or_default()],
            );
            let why = cell.error().map(|error| format!("  {error}")).unwrap_or_default();
            return self.say(&(line.trim_end().to_string() + &why));
        }
        let mut text = in_short(cell);
        if let (Some(speed_up), State::Done(_)) = (speed_up, &cell.state) {
            text += &format!(", {speed_up} x");
        }
        if let Some(left) = left {
            text += &format!(", {left}");
        }
        let done = self.kept + self.ended;
        self.say(&format!("[{done}/{}] {}: {text}", self.names.len(), self.names[at]));
    }

    /// `about 3 min left`: what is left at the pace so far.
    fn left(&self) -> Option<String> {
        let left = self.names.len() - self.kept - self.ended;
        if self.ended == 0 || left == 0 {
            return None;
        }
        let seconds = self.begin.elapsed().as_secs_f64() / self.ended as f64 * left as f64;
        Some(match seconds {
            ..1.5 => "about 1 s left".into(),
            ..90.0 => format!("about {seconds:.0} s left"),
            ..5400.0 => format!("about {:.0} min left", seconds / 60.0),
            _ => format!("about {:.1} h left", seconds / 3600.0),
        })
    }
}

fn row(width: usize, [name, state, median, speed_up, left]: [&str; 5]) -> String {
    format!("{name:width$}  {state:8}  {median:>10}  {speed_up:>8}  {left}")
}

fn state(cell: &Cell) -> &'static str {
    match &cell.state {
        State::Done(done) => match done.verified {
            Some(Verdict::Yes) => "verified",
            Some(Verdict::Partly) => "partly",
            Some(Verdict::No) => "WRONG",
            None => "done",
        },
        State::Failed { .. } => "FAILED",
        State::Skipped { .. } => "skipped",
    }
}

fn in_short(cell: &Cell) -> String {
    match &cell.state {
        State::Done(done) => {
            let verified = match done.verified {
                Some(Verdict::Yes) => ", verified",
                Some(Verdict::Partly) => ", partly verified",
                Some(Verdict::No) => ", WRONG",
                None => "",
            };
            format!("{}{verified}", units::ms(done.time.median))
        }
        State::Failed { error } => format!("FAILED: {error}"),
        State::Skipped { error } => format!("skipped: {error}"),
    }
}
