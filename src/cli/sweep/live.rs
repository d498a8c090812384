//! A sweep as it goes: a line a cell, and on a terminal a line that moves below them.

use super::super::console::{moving_line, note};
use crate::run::Verdict;
use crate::sweep::{Cell, Event};
use crate::units::{self, plural};
use indicatif::ProgressBar;
use std::time::Instant;

pub(super) struct Live {
    /// On a terminal the line that moves.
    bar: Option<ProgressBar>,
    names: Vec<String>,
    begin: Instant,
    /// Finished before this sweep began.
    kept: usize,
    ended: usize,
}

impl Live {
    pub(super) fn new() -> Live {
        let bar = moving_line("{spinner} {elapsed} {wide_msg}", |style| style);
        Live { bar, names: Vec::new(), begin: Instant::now(), kept: 0, ended: 0 }
    }

    pub(super) fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Planned { names, kept, torn } => {
                (self.names, self.kept) = (names.to_vec(), kept);
                if torn {
                    self.say(
                        "records.jsonl: the last line was torn, and dropped: its cell runs again",
                    );
                }
                if kept > 0 {
                    let all = plural(names.len() as u64, "cell");
                    self.say(&format!("{kept} of {all} finished before (--rerun runs all)"));
                }
            }
            Event::Begun { at } => {
                if let Some(bar) = &self.bar {
                    bar.reset_elapsed();
                    bar.set_message(format!("{} {}{}", self.place(), self.names[at], self.left()));
                }
            }
            Event::Ended { cell, cells } => {
                self.ended += 1;
                let fate = in_short(cell, cells);
                self.say(&format!("{} {}: {fate}{}", self.place(), cell.name, self.left()));
            }
        }
    }

    /// Takes the line that moves away.
    pub(super) fn finish(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => note(&format!("{line}\n")),
        }
    }

    fn place(&self) -> String {
        format!("[{}/{}]", self.kept + self.ended, self.names.len())
    }

    /// `, about 3 min left`: what is left at the pace so far.
    fn left(&self) -> String {
        let left = self.names.len() - self.kept - self.ended;
        if self.ended == 0 || left == 0 {
            return String::new();
        }
        let seconds = self.begin.elapsed().as_secs_f64() / self.ended as f64 * left as f64;
        match seconds {
            ..1.5 => ", about 1 s left".into(),
            ..90.0 => format!(", about {seconds:.0} s left"),
            ..5400.0 => format!(", about {:.0} min left", seconds / 60.0),
            _ => format!(", about {:.1} h left", seconds / 3600.0),
        }
    }
}

/// What became of a cell.
fn in_short(cell: &Cell, cells: &[Cell]) -> String {
    let Some(median) = cell.median() else {
        let fate = if cell.is_bad() { "FAILED" } else { "skipped" };
        return format!("{fate}: {}", cell.text("error"));
    };
    let verified = match cell.verified() {
        Some(Verdict::Yes) => ", verified",
        Some(Verdict::Partly) => ", partly verified",
        Some(Verdict::No) => ", WRONG",
        None => "",
    };
    let speed_up = cell.speed_up(cells).map_or(String::new(), |times| format!(", {times:.2} x"));
    format!("{}{verified}{speed_up}", units::ms(median))
}
