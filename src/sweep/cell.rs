//! One cell of a sweep and the table of all.

use crate::algorithm::MergeMode;
use crate::fleet::{CollectiveKind, Devices};
use crate::report::{Spread, Table, units};
use serde::Serialize;

/// What became of a cell.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "kebab-case", tag = "status")]
pub enum State {
    /// It ran.
    Done {
        /// Nodes reached.
        reached: u64,
        /// Milliseconds.
        time: Spread,
        /// The check's result, when it was asked for.
        verified: Option<bool>,
        /// The collective in use.
        used: String,
        /// What the check said when it failed.
        error: Option<String>,
    },
    /// It ran into an error.
    Failed {
        /// Which.
        error: String,
    },
    /// The machine or an optional file lacks it.
    Skipped {
        /// Why.
        error: String,
    },
}

/// A cell: a workload on a graph, on devices, with a collective, a merge mode and options of its own.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The workload's name.
    pub workload: &'static str,
    /// The graph's short name.
    pub dataset: String,
    /// As configured.
    pub devices: Devices,
    /// As configured.
    pub collective: CollectiveKind,
    /// As configured.
    pub merge: MergeMode,
    /// The options that its variant sets, as in `strategy=push`; empty where there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The record's file name.
    pub file: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: State,
}

impl Cell {
    /// Whether this must be named at the end: it failed, or its answer did not pass.
    pub fn is_bad(&self) -> bool {
        matches!(self.state, State::Failed { .. } | State::Done { verified: Some(false), .. })
    }

    /// Whether it ran and passed what it was asked to pass.
    pub fn is_good(&self) -> bool {
        matches!(self.state, State::Done { .. }) && !self.is_bad()
    }

    /// Why it is bad or was skipped.
    pub fn error(&self) -> Option<&str> {
        match &self.state {
            State::Done { error, .. } => error.as_deref(),
            State::Failed { error } | State::Skipped { error } => Some(error),
        }
    }

    /// `vn rmat18 host:4 auto dense`.
    pub fn name(&self) -> String {
        self.coordinates().join(" ").trim_end().to_string()
    }

    fn coordinates(&self) -> [String; 6] {
        [
            self.workload.to_string(),
            self.dataset.clone(),
            self.devices.to_string(),
            self.collective.to_string(),
            merge_word(self.merge),
            self.variant.clone(),
        ]
    }

    fn median(&self) -> Option<f64> {
        match &self.state {
            State::Done { time, .. } => Some(time.median),
            _ => None,
        }
    }

    /// The same cell on other devices.
    fn same_but_for_devices(&self, other: &Cell) -> bool {
        let place = |cell: &Cell| (cell.workload, cell.collective, cell.merge);
        (place(self), &self.dataset, &self.variant)
            == (place(other), &other.dataset, &other.variant)
    }
}

pub(super) fn merge_word(merge: MergeMode) -> String {
    format!("{merge:?}").to_lowercase()
}

/// All cells, by workload and graph in the order they were first met; speed-up is against the first
/// device list of the same workload, graph, collective, merge mode and variant.
pub fn table(cells: &[Cell]) -> Table {
    let header = [
        "workload",
        "dataset",
        "devices",
        "collective",
        "merge",
        "variant",
        "reached",
        "median ms",
        "min",
        "max",
        "speed-up",
        "verified",
        "error",
    ];
    let mut table = Table::new(&header, &[0, 1, 2, 3, 4, 5, 11, 12]);
    let mut order: Vec<&Cell> = Vec::new();
    for cell in cells {
        let family =
            |other: &&Cell| (other.workload, &other.dataset) == (cell.workload, &cell.dataset);
        let at = order.iter().rposition(family).map_or(order.len(), |last| last + 1);
        order.insert(at, cell);
    }
    for cell in order {
        let numbers = match &cell.state {
            State::Done { reached, time, verified, .. } => [
                units::count(*reached),
                units::bare_ms(time.median),
                units::bare_ms(time.min),
                units::bare_ms(time.max),
                speed_up(cell, cells).map_or("-".into(), |times| format!("{times:.2}")),
                verified.map_or("-", |passed| if passed { "yes" } else { "NO" }).to_string(),
            ],
            State::Failed { .. } => ["-", "-", "-", "-", "-", "FAILED"].map(String::from),
            State::Skipped { .. } => ["-", "-", "-", "-", "-", "skipped"].map(String::from),
        };
        let error = cell.error().unwrap_or_default().to_string();
        table.row(cell.coordinates().into_iter().chain(numbers).chain([error]));
    }
    table
}

fn speed_up(cell: &Cell, cells: &[Cell]) -> Option<f64> {
    let first = cells.iter().find(|other| cell.same_but_for_devices(other))?.median()?;
    cell.median().filter(|median| *median > 0.0).map(|median| first / median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(dataset: &str, devices: &str, median: Option<f64>) -> Cell {
        let state = match median {
            Some(median) => State::Done {
                reached: 7,
                time: Spread { median, ..Spread::default() },
                verified: Some(true),
                used: "host".into(),
                error: None,
            },
            None => State::Skipped { error: "no such device".into() },
        };
        Cell {
            workload: "sssp",
            dataset: dataset.into(),
            devices: devices.parse().unwrap(),
            collective: CollectiveKind::Auto,
            merge: MergeMode::Auto,
            variant: String::new(),
            file: String::new(),
            state,
        }
    }

    #[test]
    fn speed_ups_are_against_the_first_device_list_of_the_same_graph() {
        let cells = [
            cell("a", "host:1", Some(8.0)),
            cell("b", "host:1", Some(3.0)),
            cell("a", "host:2", Some(4.0)),
            cell("b", "host:2", None),
        ];
        let text = table(&cells).to_string();
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert!(rows[0].contains(" a ") && rows[0].contains("1.00"), "{text}");
        assert!(rows[1].contains(" a ") && rows[1].contains("2.00"), "graphs together: {text}");
        assert!(rows[3].contains("skipped") && rows[3].ends_with("no such device"), "{text}");
    }

    #[test]
    fn a_wrong_answer_is_bad_and_a_skipped_cell_is_neither_good_nor_bad() {
        let mut wrong = cell("a", "host", Some(1.0));
        assert!(wrong.is_good() && !wrong.is_bad());
        if let State::Done { verified, .. } = &mut wrong.state {
            *verified = Some(false);
        }
        assert!(wrong.is_bad() && !wrong.is_good());
        let skipped = cell("a", "host", None);
        assert!(!skipped.is_bad() && !skipped.is_good());
    }
}
