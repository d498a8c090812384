//! The time of a process from its start to its answer, stage after stage.

use crate::units::ms;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::sync::OnceLock;
use std::time::Instant;

/// What a process is doing. Where two things are done at once, the one that is waited for counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Arguments are read and checked.
    Start,
    /// Devices are opened.
    Devices,
    /// The graph is read and parsed, or generated.
    Read,
    /// Its rows are built.
    Build,
    /// The nodes to start from are found.
    Choose,
    /// Rows are laid out for the workload.
    LayOut,
    /// The graph is copied to the devices.
    Copy,
    /// Kernels are compiled and loaded.
    Compile,
    /// The workload's own arrays are made.
    SetUp,
    /// Runs, warm-up runs and resets included.
    Run,
    /// Results are copied back.
    Download,
    /// The answer is verified.
    Verify,
    /// Results are written.
    Write,
    /// The summary and the record are made.
    Report,
}

impl Stage {
    /// Its name in records and summaries.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Start => "start",
            Stage::Devices => "devices",
            Stage::Read => "read",
            Stage::Build => "build",
            Stage::Choose => "choose",
            Stage::LayOut => "lay-out",
            Stage::Copy => "copy",
            Stage::Compile => "compile",
            Stage::SetUp => "set-up",
            Stage::Run => "run",
            Stage::Download => "download",
            Stage::Verify => "verify",
            Stage::Write => "write",
            Stage::Report => "report",
        }
    }
}

/// A clock without gaps: every moment since its start belongs to one stage.
#[derive(Debug, Clone)]
pub struct Clock {
    begin: Instant,
    last: Instant,
    /// Milliseconds by stage, in the order of the first laps.
    spent: Vec<(Stage, f64)>,
}

impl Clock {
    /// One that started at `begin`.
    pub fn since(begin: Instant) -> Clock {
        Clock { begin, last: begin, spent: Vec::new() }
    }

    /// One that started when this was first called: the process does so first of all.
    pub fn of_process() -> Clock {
        static BEGIN: OnceLock<Instant> = OnceLock::new();
        Clock::since(*BEGIN.get_or_init(Instant::now))
    }

    /// Books the time since the last lap on `stage`.
    pub fn lap(&mut self, stage: Stage) {
        self.lap_of([], stage);
    }

    /// Books the time since the last lap: each of `parts` as long as it took, in this order and as far as the time goes, and
    /// the rest on `rest`.
    pub fn lap_of<const N: usize>(&mut self, parts: [(Stage, f64); N], rest: Stage) {
        let now = Instant::now();
        let mut left = (now - self.last).as_secs_f64() * 1e3;
        self.last = now;
        for (stage, ms) in parts {
            let ms = ms.clamp(0.0, left);
            left -= ms;
            self.book(stage, ms);
        }
        self.book(rest, left);
    }

    /// This with a lap of `stage` that ends now.
    pub(crate) fn now(&self, stage: Stage) -> Clock {
        let mut clock = self.clone();
        clock.lap(stage);
        clock
    }

    fn book(&mut self, stage: Stage, ms: f64) {
        match self.spent.iter_mut().find(|(of, _)| *of == stage) {
            Some((_, sum)) => *sum += ms,
            None if ms > 0.0 => self.spent.push((stage, ms)),
            None => {}
        }
    }

    /// Milliseconds from the start to the last lap: the sum of all stages.
    pub fn total_ms(&self) -> f64 {
        (self.last - self.begin).as_secs_f64() * 1e3
    }

    /// `1034 ms = start 2.1 ms + read 412.0 ms + ...`, without stages below a thousandth of the total.
    pub(crate) fn words(&self) -> String {
        let total = self.total_ms();
        let told = self.spent.iter().filter(|(_, spent)| *spent * 1e3 >= total);
        let told: Vec<String> =
            told.map(|(stage, spent)| format!("{} {}", stage.word(), ms(*spent))).collect();
        format!("{} = {}", ms(total), told.join(" + "))
    }
}

/// Milliseconds by stage, then `total`.
impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.spent.len() + 1))?;
        for (stage, spent) in &self.spent {
            map.serialize_entry(stage.word(), spent)?;
        }
        map.serialize_entry("total", &self.total_ms())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn stages_add_up_to_the_total_and_parts_take_no_more_than_there_is() {
        let mut clock = Clock::since(Instant::now() - Duration::from_millis(100));
        clock.lap_of([(Stage::Build, 30.0), (Stage::Read, 1e6)], Stage::Devices);
        clock.lap(Stage::Run);
        clock.lap(Stage::Run);
        let told = serde_json::to_value(&clock).unwrap();
        let stages = told.as_object().unwrap();
        let sum: f64 =
            stages.iter().filter(|(of, _)| *of != "total").map(|s| s.1.as_f64().unwrap()).sum();
        assert!((sum - clock.total_ms()).abs() < 1e-6, "{told}");
        assert_eq!(told["build"], 30.0);
        assert!(told["read"].as_f64().unwrap() >= 69.9 && told["devices"].is_null(), "{told}");
    }
}
