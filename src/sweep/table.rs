//! Tables of a sweep's cells.

use super::cell::{Cell, Scaling, State};
use crate::report::Table;
use crate::run::Verdict;
use crate::units;

/// All cells, by workload and graph in the order they were first met; speed-up is against the fewest
/// replicas of the same workload, graph and options.
pub(crate) fn table(cells: &[Cell]) -> Table {
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
    let family = |a: &Cell, b: &Cell| (a.workload, &a.graph) == (b.workload, &b.graph);
    let order = together(cells.iter(), family);
    for cell in order {
        let numbers = match &cell.state {
            State::Done(done) => [
                units::count(done.reached),
                units::bare_ms(done.time.median),
                units::bare_ms(done.time.min),
                units::bare_ms(done.time.max),
                cell.speed_up(cells).map_or("-".into(), |times| format!("{times:.2}")),
                done.verified.map_or("-", Verdict::shown).to_string(),
            ],
            State::Failed { .. } => ["-", "-", "-", "-", "-", "FAILED"].map(String::from),
            State::Skipped { .. } => ["-", "-", "-", "-", "-", "skipped"].map(String::from),
        };
        let error = cell.error().unwrap_or_default().to_string();
        table.row(coordinates(cell).into_iter().chain(numbers).chain([error]));
    }
    table
}

/// Cells of a family one after another, families in the order in which they are first met.
fn together<'a>(
    cells: impl Iterator<Item = &'a Cell>,
    family: impl Fn(&Cell, &Cell) -> bool,
) -> Vec<&'a Cell> {
    let mut order: Vec<&Cell> = Vec::new();
    for cell in cells {
        let last = order.iter().rposition(|other| family(other, cell));
        order.insert(last.map_or(order.len(), |last| last + 1), cell);
    }
    order
}

/// The first six columns; the sixth has whatever is not as usual.
fn coordinates(cell: &Cell) -> [String; 6] {
    let name = cell.name();
    let usual = format!(
        "{} {} {} {} {}",
        cell.workload,
        cell.dataset,
        cell.devices,
        cell.collective,
        cell.merge.word()
    );
    [
        cell.workload.to_string(),
        cell.dataset.clone(),
        cell.devices.to_string(),
        cell.collective.to_string(),
        cell.merge.to_string(),
        name.strip_prefix(&usual).unwrap_or_default().trim().to_string(),
    ]
}

/// The cells of series: how well they scale, and where the median run's time goes. `None` without any.
///
/// Speed-up is the time of the fewest replicas over this one. Efficiency is that over the growth of the number
/// of replicas under strong scaling, and that itself under weak scaling; `rate` is how many times their
/// arcs a second.
pub(crate) fn scaling_table(cells: &[Cell]) -> Option<Table> {
    let header = [
        "series",
        "scaling",
        "workload",
        "dataset",
        "devices",
        "options",
        "arcs",
        "median ms",
        "speed-up",
        "efficiency",
        "Marcs/s",
        "rate",
        "step ms",
        "merge ms",
        "other ms",
    ];
    let mut table = Table::new(&header, &[0, 1, 2, 3, 4, 5]);
    let in_series = cells.iter().filter(|cell| cell.series.is_some());
    let in_series = together(in_series, |a, b| a.series == b.series);
    for cell in together(in_series.into_iter(), Cell::same_but_for_devices) {
        let (Some(series), Some(scaling)) = (&cell.series, cell.scaling) else { continue };
        let [workload, dataset, devices, collective, merge, variant] = coordinates(cell);
        let options = format!(
            "{collective} {merge} {}",
            variant.strip_suffix(series.as_str()).unwrap_or(&variant)
        );
        let words = [
            series.clone(),
            scaling.to_string(),
            workload,
            dataset,
            devices,
            options.trim().into(),
        ];
        table.row(words.into_iter().chain(figures(cell, cells, scaling)));
    }
    (!table.is_empty()).then_some(table)
}

fn figures(cell: &Cell, cells: &[Cell], scaling: Scaling) -> Vec<String> {
    let Some(done) = cell.done() else { return vec!["-".into(); 9] };
    let ratio = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let first = cell.base_of(cells);
    let speed_up = cell.speed_up(cells);
    let grown = first.map(|first| cell.replicas as f64 / first.replicas as f64);
    let efficiency = speed_up.zip(grown).map(|(speed_up, grown)| match scaling {
        Scaling::Strong => speed_up / grown,
        Scaling::Weak => speed_up,
    });
    let before = first.and_then(Cell::done).map(|first| first.arcs_per_second);
    let rate = before.filter(|rate| *rate > 0.0).map(|rate| done.arcs_per_second / rate);
    let [step, merge, other] = done.split.map(units::bare_ms);
    vec![
        units::count(done.arcs),
        units::bare_ms(done.time.median),
        ratio(speed_up),
        ratio(efficiency),
        format!("{:.1}", done.arcs_per_second / 1e6),
        ratio(rate),
        step,
        merge,
        other,
    ]
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
