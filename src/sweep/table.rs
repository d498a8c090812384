//! Tables of a sweep's cells.

use super::cell::Cell;
use crate::report::Table;
use crate::results::{Scaling, grouped};
use crate::run::Verdict;
use crate::units;
use serde_json::Value;

/// All cells, by workload and graph in the order they were first met; speed-up is against the fewest
/// replicas of the same workload, graph and options.
pub(crate) fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new(
        &"workload,dataset,devices,collective,merge,variant,reached,median ms,min,max,speed-up,verified,error"
            .split(',')
            .collect::<Vec<_>>(),
        &[0, 1, 2, 3, 4, 5, 11, 12],
    );
    for cell in grouped(cells, |cell| (cell.text("workload"), cell.text("graph"))).concat() {
        let numbers = match cell.median() {
            Some(_) => [
                units::count(cell.brief["reached"].as_u64().unwrap_or_default()),
                ms(&cell.brief["time"]["median"]),
                ms(&cell.brief["time"]["min"]),
                ms(&cell.brief["time"]["max"]),
                cell.speed_up(cells).map_or("-".into(), |times| format!("{times:.2}")),
                cell.verified().map_or("-", Verdict::shown).to_string(),
            ],
            None => {
                let fate = if cell.is_bad() { "FAILED" } else { "skipped" };
                ["-", "-", "-", "-", "-", fate].map(String::from)
            }
        };
        let error = cell.text("error").to_string();
        table.row(coordinates(cell).into_iter().chain(numbers).chain([error]));
    }
    table
}

fn ms(value: &Value) -> String {
    units::bare_ms(value.as_f64().unwrap_or_default())
}

/// The first six columns; the sixth has whatever is not as usual.
fn coordinates(cell: &Cell) -> [String; 6] {
    let usual = ["workload", "dataset", "devices", "collective", "merge"].map(|key| cell.text(key));
    let rest = cell.name.strip_prefix(&usual.join(" ")).unwrap_or_default().trim();
    let [workload, dataset, devices, collective, merge] = usual.map(String::from);
    [workload, dataset, devices, collective, merge, rest.into()]
}

/// The cells of series: how well they scale, and where the median run's time goes. `None` without any. `docs/sweeps.md`
/// tells the columns.
pub(crate) fn scaling_table(cells: &[Cell]) -> Option<Table> {
    let mut table = Table::new(
        &"series,scaling,workload,dataset,devices,options,arcs,median ms,speed-up,efficiency,Marcs/s,rate,step ms,\
          merge ms,other ms"
            .split(',')
            .collect::<Vec<_>>(),
        &[0, 1, 2, 3, 4, 5],
    );
    let in_series = cells.iter().filter(|cell| !cell.text("series").is_empty());
    let in_series = grouped(in_series, |cell| cell.text("series")).concat();
    for cell in grouped(in_series, |cell| cell.study()).concat() {
        let series = cell.text("series");
        let [workload, dataset, devices, collective, merge, variant] = coordinates(cell);
        let variant = variant.strip_suffix(series).unwrap_or(&variant).trim();
        let options = format!("{collective} {merge} {variant}").trim_end().to_string();
        let words =
            [series.into(), cell.text("scaling").into(), workload, dataset, devices, options];
        table.row(words.into_iter().chain(figures(cell, cells)));
    }
    (!table.is_empty()).then_some(table)
}

fn figures(cell: &Cell, cells: &[Cell]) -> [String; 9] {
    let Some(median) = cell.median() else { return ["-"; 9].map(String::from) };
    let ratio = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let number = |cell: &Cell, key: &str| cell.brief[key].as_f64().unwrap_or_default();
    let first = cell.base_of(cells);
    let speed_up = cell.speed_up(cells);
    let grown = first.map(|first| number(cell, "replicas") / number(first, "replicas"));
    let weak = cell.text("scaling") == Scaling::Weak.word();
    let efficiency =
        speed_up.zip(grown).map(|(times, grown)| if weak { times } else { times / grown });
    let rate = number(cell, "arcs_per_second");
    let before = first.map(|first| number(first, "arcs_per_second")).filter(|rate| *rate > 0.0);
    let split = &cell.brief["split"];
    [
        units::count(cell.brief["arcs"].as_u64().unwrap_or_default()),
        units::bare_ms(median),
        ratio(speed_up),
        ratio(efficiency),
        format!("{:.1}", rate / 1e6),
        ratio(before.map(|before| rate / before)),
        ms(&split[0]),
        ms(&split[1]),
        ms(&split[2]),
    ]
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
