//! The tables of a report.

use super::labels::{Labels, machine};
use super::sheet::{Entry, Sheet};
use crate::results::{
    Ablation, Case, Comparison, Done, Family, Mean, Member, ResultSet, Scaling, Split,
    geometric_mean, grouped,
};
use crate::run::Verdict;
use crate::units::{bare_ms, count};

/// `2.31`, `0.042`: three digits or so, for ratios.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

/// Of 1, as a percentage: two digits or so.
pub(crate) fn percent(value: f64) -> String {
    match 100.0 * value {
        0.0 => "0".into(),
        v if v >= 9.95 => format!("{v:.0}"),
        v if v >= 0.095 => format!("{v:.1}"),
        v if v >= 0.01 => format!("{v:.2}"),
        v => format!("{v:.0e}"),
    }
}

fn giga(value: f64) -> String {
    ratio(value / 1e9)
}

/// Workload, dataset and devices of a cell.
fn place(case: &Case) -> Vec<Entry> {
    let devices = Entry::Number(case.devices(), case.replicas as f64);
    vec![Entry::text(&case.workload), Entry::text(&case.dataset), devices]
}

/// The variant and the options of a cell.
fn settings(case: &Case) -> Entry {
    let variant = case.variant.as_deref().unwrap_or_default();
    Entry::text(format!("{variant} {}", case.settings).trim())
}

fn verified(done: &Done) -> Entry {
    done.verified.map_or(Entry::Blank, |verdict| Entry::text(verdict.shown()))
}

/// The times of families of one workload, strong or of one weak study.
pub(crate) fn times(group: &[&Family<'_>], labels: &Labels) -> Sheet {
    let first = group[0].case();
    let weak = first.scaling == Scaling::Weak;
    let speed_up = if weak { "rate speed-up" } else { "speed-up" };
    let columns = format!(
        "dataset, devices, nodes, arcs, median ms, min ms, max ms, reset ms, {speed_up}, efficiency %, G arcs/s, step %, \
         merge %, other %, prepare ms, checked"
    );
    let mut sheet = Sheet::new(study(first), note(group, labels), &columns);
    sheet.columns.splice(1..1, labels.columns(&first.workload));
    for member in group.iter().flat_map(|family| &family.members) {
        sheet.rows.push(times_row(member, labels, weak));
    }
    sheet.without_blank_columns()
}

/// `bfs`, or `bfs, edge-weak`.
pub(crate) fn study(case: &Case) -> String {
    let series = case.series.as_ref().map_or(String::new(), |name| format!(", {name}"));
    format!("{}{series}", case.workload)
}

fn note(group: &[&Family<'_>], labels: &Labels) -> String {
    let case = group[0].case();
    let common = labels.common(&case.workload);
    let common = if common.is_empty() { common } else { format!("All: {common}. ") };
    let against = match case.scaling {
        Scaling::Strong => {
            "Speed-up is against the fewest replicas of the same cell, efficiency \
                            against perfect scaling."
        }
        Scaling::Weak => {
            "Work grows with the replicas: efficiency is the fewest replicas' time \
                          over this one's, rate speed-up compares arcs per second."
        }
    };
    common + against
}

fn times_row(member: &Member<'_>, labels: &Labels, weak: bool) -> Vec<Entry> {
    let case = member.case;
    let fallback = Done::default();
    let done = case.done().unwrap_or(&fallback);
    let share = |part: fn(&Split) -> f64| {
        let split = done.split.filter(|s| s.step + s.merge + s.other > 0.0);
        split.map(|s| part(&s) / (s.step + s.merge + s.other))
    };
    let whole = |value: Option<u64>| value.filter(|_| weak).map(|value| value as f64);
    let counted = |value: f64| count(value as u64);
    let mut row = vec![Entry::text(&case.dataset)];
    row.extend(labels.entries(case).into_iter().map(Entry::Text));
    row.extend([
        Entry::Number(case.devices(), case.replicas as f64),
        Entry::number(whole(case.nodes), counted),
        Entry::number(whole(case.arcs), counted),
        Entry::number(Some(member.median), bare_ms),
        Entry::number(done.time.min, bare_ms),
        Entry::number(done.time.max, bare_ms),
        Entry::number(done.time.reset, bare_ms),
        Entry::number(member.speed_up, ratio),
        Entry::number(member.efficiency, percent),
        Entry::number(done.rate, giga),
        Entry::number(share(|split| split.step), percent),
        Entry::number(share(|split| split.merge), percent),
        Entry::number(share(|split| split.other), percent),
        Entry::number(done.prepare_ms, bare_ms),
        verified(done),
    ]);
    row
}

pub(crate) fn mean_table(means: &[Mean<'_>], labels: &Labels) -> Option<Sheet> {
    let columns = "workload, settings, devices, datasets, time ms, speed-up, efficiency %";
    let note = "Over the datasets that were measured on all of these numbers of replicas.";
    let mut sheet = Sheet::new("Geometric means over datasets", note, columns);
    for mean in means {
        sheet.rows.push(vec![
            Entry::text(study(mean.case)),
            Entry::text(labels.how(mean.case)),
            Entry::Number(mean.kind.count(mean.n), mean.n as f64),
            Entry::number(Some(mean.datasets as f64), |n| format!("{n:.0}")),
            Entry::number(Some(mean.median), bare_ms),
            Entry::number(Some(mean.speed_up), ratio),
            Entry::number(Some(mean.efficiency), percent),
        ]);
    }
    sheet.without_blank_columns().filled()
}

/// An ablation, and the geometric means of its ratios.
pub(crate) fn ablation_tables(ablation: &Ablation<'_>) -> [Sheet; 2] {
    let (option, values) = (ablation.option, &ablation.values);
    let note = format!(
        "The same cells, {option} alone differs. A ratio above 1 is slower than {}.",
        values[0]
    );
    let title = format!("Ablation: {option}");
    let mut rows = Sheet::new(title, note, "workload, dataset, devices, other settings");
    rows.columns.extend(values.iter().map(|value| format!("{value} ms")));
    rows.columns.extend(values[1..].iter().map(|value| format!("{value} / {}", values[0])));
    for row in &ablation.rows {
        let case = row.case;
        let mut entries = place(case);
        entries.push(Entry::text(row.settings.to_string()));
        entries.extend(row.times.iter().map(|time| Entry::number(*time, bare_ms)));
        entries.extend((1..values.len()).map(|i| Entry::number(row.ratio(i), ratio)));
        rows.rows.push(entries);
    }
    [rows.without_blank_columns(), ablation_means(ablation)]
}

fn ablation_means(ablation: &Ablation<'_>) -> Sheet {
    let values = &ablation.values;
    let title = format!("Ablation: {}, geometric means", ablation.option);
    let mut sheet = Sheet::new(title, "", "workload, devices, cells");
    sheet.columns.extend(values[1..].iter().map(|value| format!("{value} / {}", values[0])));
    let of = |case: &Case| (case.workload.clone(), case.gpus, case.replicas);
    let mut groups = grouped(&ablation.rows, |row| of(row.case));
    groups.sort_by_key(|rows| of(rows[0].case));
    for rows in groups {
        let case = rows[0].case;
        let mut entries = vec![
            Entry::text(&case.workload),
            Entry::Number(case.devices(), case.replicas as f64),
            Entry::number(Some(rows.len() as f64), |n| format!("{n:.0}")),
        ];
        entries.extend((1..values.len()).map(|i| {
            let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio(i)).collect();
            Entry::number(geometric_mean(&ratios), ratio)
        }));
        sheet.rows.push(entries);
    }
    sheet
}

/// Cell by cell against a baseline, and the means.
pub(crate) fn comparison_tables(comparison: &Comparison<'_>, baseline: &str) -> [Sheet; 2] {
    let columns = "workload, dataset, devices, settings, now ms, before ms, now / before, now on, before on, now built, \
                   before built";
    let apart = |of: fn(&Case) -> &str| {
        comparison.pairs.iter().filter(|pair| of(pair.case) != of(pair.baseline)).count()
    };
    let (machines, builds) = (apart(|case| &case.machine), apart(|case| &case.build));
    let elsewhere = match machines {
        0 => String::new(),
        machines => format!(", {machines} of them on another machine"),
    };
    let note = format!(
        "{} cells are in both{elsewhere}; {} are new and {} were not measured again. A ratio above 1 is slower now.",
        comparison.pairs.len(),
        comparison.only_now.len(),
        comparison.only_before.len()
    );
    let mut sheet = Sheet::new(format!("Against {baseline}"), note, columns);
    for pair in &comparison.pairs {
        let case = pair.case;
        let on = |case| if machines > 0 { Entry::text(machine(case)) } else { Entry::Blank };
        let build = |case: &Case| if builds > 0 { Entry::text(&case.build) } else { Entry::Blank };
        let mut row = place(case);
        row.extend([
            settings(case),
            Entry::number(case.median(), bare_ms),
            Entry::number(pair.baseline.median(), bare_ms),
            Entry::number(Some(pair.ratio), ratio),
            on(case),
            on(pair.baseline),
            build(case),
            build(pair.baseline),
        ]);
        sheet.rows.push(row);
    }
    [comparison_means(comparison), sheet.without_blank_columns()]
}

fn comparison_means(comparison: &Comparison<'_>) -> Sheet {
    let columns = "workload, devices, cells, now / before, best, worst";
    let mut sheet = Sheet::new("Geometric means of now / before", "", columns);
    for mean in comparison.means() {
        let devices = |case: &Case| Entry::Number(case.devices(), case.replicas as f64);
        sheet.rows.push(vec![
            Entry::text(mean.case.map_or("all", |case| &case.workload)),
            mean.case.map_or(Entry::Blank, devices),
            Entry::number(Some(mean.cells as f64), |n| format!("{n:.0}")),
            Entry::number(Some(mean.ratio), ratio),
            Entry::number(Some(mean.range.0), ratio),
            Entry::number(Some(mean.range.1), ratio),
        ]);
    }
    sheet
}

/// Runs that computed their answer once.
pub(crate) fn single_table(set: &ResultSet) -> Option<Sheet> {
    let columns = "workload, dataset, devices, settings, machine, time ms, checked";
    let note = "Each answer was computed once, without a warm-up. These times include what a first run costs and are \
                compared with nothing; `hive run --benchmark` and `hive sweep` measure.";
    let mut sheet = Sheet::new("Single runs", note, columns);
    for case in &set.singles {
        let Some(done) = case.done() else { continue };
        let mut row = place(case);
        row.extend([
            settings(case),
            Entry::text(machine(case)),
            Entry::number(case.median(), bare_ms),
            verified(done),
        ]);
        sheet.rows.push(row);
    }
    sheet.without_blank_columns().filled()
}

/// Cells that gave no measurement, or a wrong answer.
pub(crate) fn missing_table(set: &ResultSet) -> Option<Sheet> {
    let mut sheet = Sheet::new("Failed and skipped", "", "cell, what, why, record");
    let mut add = |cell: String, what: &str, why: &str, record: &str| {
        let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ");
        sheet.rows.push([cell, what.into(), why, record.into()].map(Entry::Text).into());
    };
    for (case, what, why) in set.missing() {
        add(case.name(), what, why, &case.origin);
    }
    let wrong = |case: &&Case| case.done().is_some_and(|d| d.verified == Some(Verdict::No));
    for case in set.cases.iter().chain(&set.singles).filter(wrong) {
        add(case.name(), "WRONG", "the answer did not pass its check", &case.origin);
    }
    sheet.filled()
}
