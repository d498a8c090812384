//! The plots of a report.

use super::document::{Chapter, Document};
use super::labels::{Labels, machine};
use super::plot::{
    Bar, BarGroup, Curve, Dot, MOST_CURVES, Measure, Plot, Point, Strip, bars, curves, strips,
    trace,
};
use super::tables::{percent, ratio, study};
use crate::results::{Ablation, Case, Comparison, Family, Mean, Member, Pair, Scaling, grouped};
use crate::units::{bare_ms, ms};
use std::collections::BTreeMap;

const MOST_BARS: usize = 36;
const MOST_STRIPS: usize = 16;
const MOST_TRACES: usize = 24;

/// The plots of families of one workload, strong or of one weak study.
pub(crate) fn times_plots(group: &[&Family<'_>], labels: &Labels) -> Vec<Plot> {
    let mut plots = scaling_plots(group, labels);
    plots.extend(split_plots(group, labels));
    plots.extend(trace_plots(group, labels));
    plots
}

/// Every plot as SVG, under a name of its own.
pub(crate) fn files(document: &Document<'_>) -> Vec<(String, String)> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut files = Vec::new();
    for scene in document.chapters().iter().flat_map(Chapter::plots) {
        let mut name = slug(&scene.title);
        let copies = names.entry(name.clone()).or_default();
        *copies += 1;
        if *copies > 1 {
            name = format!("{name}-{copies}");
        }
        files.push((format!("{name}.svg"), scene.svg()));
    }
    files
}

/// `Speed-up: bfs, merge dense` as `speed-up-bfs-merge-dense`.
pub(crate) fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    let out: String = out.trim_end_matches('-').chars().take(100).collect();
    if out.is_empty() { "plot".into() } else { out }
}

/// Lists of at most `most`, about equally long, with their place where there are several.
fn parts<T: Clone>(list: &[T], most: usize) -> Vec<(String, Vec<T>)> {
    let count = list.len().div_ceil(most).max(1);
    let each = list.len().div_ceil(count).max(1);
    let place =
        |i: usize| if count > 1 { format!(" ({} of {count})", i + 1) } else { String::new() };
    list.chunks(each).enumerate().map(|(i, part)| (place(i), part.to_vec())).collect()
}

fn both_measures(subject: &str, noun: &str, lines: &[Curve], kind: &str) -> Vec<Plot> {
    let mut plots = Vec::new();
    for (place, part) in parts(lines, MOST_CURVES) {
        let subject = format!("{subject}{place}");
        plots.extend(curves(&format!("{kind}peed-up: {subject}"), Measure::SpeedUp, noun, &part));
        plots.extend(curves(&format!("Efficiency: {subject}"), Measure::Efficiency, noun, &part));
    }
    plots
}

pub(crate) fn mean_plots(means: &[Mean<'_>], labels: &Labels) -> Vec<Plot> {
    let mut plots = Vec::new();
    for means in grouped(means, |mean| mean.kind) {
        let kind = means[0].kind;
        let curve = |means: Vec<&Mean<'_>>| {
            let label = labels.workload(means[0].case);
            let point = |mean: &&Mean<'_>| Point {
                n: mean.n,
                speed_up: Some(mean.speed_up),
                efficiency: Some(mean.efficiency),
                ideal: mean.speed_up / mean.efficiency,
                tip: format!(
                    "{label}\n{}: {}×, {} %\nover {} datasets",
                    kind.count(mean.n),
                    ratio(mean.speed_up),
                    percent(mean.efficiency),
                    mean.datasets
                ),
            };
            Curve { points: means.iter().map(point).collect(), label }
        };
        let lines = grouped(means, |mean| labels.workload(mean.case)).into_iter().map(curve);
        let lines: Vec<Curve> = lines.collect();
        plots.extend(both_measures("geometric means over datasets", kind.noun(), &lines, "S"));
    }
    plots
}

/// Families that share a plot: the same settings, one line a dataset; of a weak study all.
fn by_settings<'f>(
    group: &[&'f Family<'f>],
    labels: &Labels,
) -> Vec<(String, Vec<&'f Family<'f>>)> {
    let how = |family: &Family<'_>| {
        let how = [study(family.case()), labels.how(family.case())];
        how.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
    };
    let plots = grouped(group.iter().copied(), |family| (how(family), family.kind));
    plots.into_iter().map(|families| (how(families[0]), families)).collect()
}

fn label(family: &Family<'_>) -> String {
    let case = family.case();
    match case.scaling {
        Scaling::Strong => case.dataset.clone(),
        Scaling::Weak => format!("{} and larger", case.dataset),
    }
}

fn tip(member: &Member<'_>) -> String {
    let case = member.case;
    let mut lines = vec![format!("{}, {}", case.dataset, case.devices()), ms(member.median)];
    if let (Some(speed_up), Some(efficiency)) = (member.speed_up, member.efficiency) {
        let what = if case.scaling == Scaling::Weak { "rate speed-up" } else { "speed-up" };
        lines.push(format!("{what} {}×, efficiency {} %", ratio(speed_up), percent(efficiency)));
    }
    if !case.machine.is_empty() {
        lines.push(machine(case));
    }
    lines.join("\n")
}

fn scaling_plots(group: &[&Family<'_>], labels: &Labels) -> Vec<Plot> {
    let mut plots = Vec::new();
    for (name, families) in by_settings(group, labels) {
        let curve = |family: &&Family<'_>| {
            let point = |member: &Member<'_>| Point {
                n: member.n,
                speed_up: member.speed_up,
                efficiency: member.efficiency,
                ideal: family.ideal(member.n),
                tip: tip(member),
            };
            Curve { label: label(family), points: family.members.iter().map(point).collect() }
        };
        let lines: Vec<Curve> = families.iter().filter(|f| f.scales()).map(curve).collect();
        let weak = families[0].case().scaling == Scaling::Weak;
        let kind = if weak { "Rate s" } else { "S" };
        plots.extend(both_measures(&name, families[0].kind.noun(), &lines, kind));
    }
    plots
}

fn split_plots(group: &[&Family<'_>], labels: &Labels) -> Vec<Plot> {
    let mut plots = Vec::new();
    for (name, families) in by_settings(group, labels) {
        let groups = families.iter().map(|family| bar_group(family));
        let groups: Vec<BarGroup> = groups.filter(|group| !group.bars.is_empty()).collect();
        let tallest = groups.iter().map(|group| group.bars.len()).max().unwrap_or(1).max(1);
        for (place, part) in parts(&groups, (MOST_BARS / tallest).max(1)) {
            plots.extend(bars(&format!("Where the time goes: {name}{place}"), &part));
        }
    }
    plots
}

fn bar_group(family: &Family<'_>) -> BarGroup {
    let weak = family.case().scaling == Scaling::Weak;
    let bar = |member: &Member<'_>| {
        let split = member.case.done()?.split?;
        let parts = [("step", split.step), ("merge", split.merge), ("other", split.other)];
        let parts = parts.map(|(part, time)| format!("{part} {} ms", bare_ms(time)));
        let devices = member.case.devices();
        let label =
            if weak { format!("{}, {devices}", member.case.dataset) } else { devices.clone() };
        let tip = format!("{devices}: {}\n{}", ms(member.median), parts.join("\n"));
        Some(Bar { label, split, value: ms(member.median), tip })
    };
    BarGroup { label: label(family), bars: family.members.iter().filter_map(bar).collect() }
}

/// Of every family the run on most replicas that has a trace.
fn trace_plots(group: &[&Family<'_>], labels: &Labels) -> Vec<Plot> {
    let traced = group.iter().filter_map(|family| {
        let has_trace =
            |member: &&Member<'_>| member.case.done().is_some_and(|done| !done.trace.is_empty());
        family.members.iter().rev().find(has_trace).map(|member| member.case)
    });
    let plot = |case: &Case| {
        let name = [study(case), labels.how(case), case.dataset.clone(), case.devices()];
        let name: Vec<String> = name.into_iter().filter(|word| !word.is_empty()).collect();
        trace(&format!("Iterations: {}", name.join(", ")), &case.done()?.trace)
    };
    traced.filter_map(plot).take(MOST_TRACES).collect()
}

pub(crate) fn ablation_plots(ablation: &Ablation<'_>) -> Vec<Plot> {
    let first = &ablation.values[0];
    let mut dots = Vec::new();
    for row in &ablation.rows {
        let case = row.case;
        let place = format!("{}, {}", case.workload, case.devices());
        for (i, value) in ablation.values.iter().enumerate().skip(1) {
            let Some(times) = row.ratio(i) else { continue };
            let [here, there] = [i, 0].map(|i| ms(row.times[i].unwrap_or_default()));
            let tip = format!(
                "{} {}, {}\n{value} {here}, {first} {there}\n{}×",
                case.workload,
                case.dataset,
                case.devices(),
                ratio(times)
            );
            dots.push((place.clone(), Dot { series: i - 1, ratio: times, tip }));
        }
    }
    let name = format!("{}: time over that of {first}", ablation.option);
    strip_plots(&name, &ablation.values[1..], (&format!("faster than {first}"), "slower"), dots)
}

pub(crate) fn comparison_plots(comparison: &Comparison<'_>) -> Vec<Plot> {
    let mut pairs: Vec<_> = comparison.pairs.iter().collect();
    pairs.sort_by_key(|pair| (&pair.case.workload, pair.case.gpus, pair.case.replicas));
    let dot = |pair: &Pair<'_>| {
        let [now, before] =
            [pair.case, pair.baseline].map(|case| ms(case.median().unwrap_or_default()));
        let (name, times) = (pair.case.name(), ratio(pair.ratio));
        let tip = format!("{name}\nnow {now}, before {before}\n{times}×");
        let place = format!("{}, {}", pair.case.workload, pair.case.devices());
        (place, Dot { series: 0, ratio: pair.ratio, tip })
    };
    let dots = pairs.into_iter().map(dot).collect();
    let sides = ("faster now", "slower now");
    strip_plots("Time now over time before", &["a cell".into()], sides, dots)
}

/// Plots of dots, those of one label in one row.
fn strip_plots(
    name: &str,
    series: &[String],
    sides: (&str, &str),
    dots: Vec<(String, Dot)>,
) -> Vec<Plot> {
    let rows = grouped(dots, |(label, _)| label.clone()).into_iter().map(|row| Strip {
        label: row[0].0.clone(),
        dots: row.into_iter().map(|(_, dot)| dot).collect(),
    });
    let rows: Vec<Strip> = rows.collect();
    let parts = parts(&rows, (MOST_STRIPS / series.len().max(1)).max(4)).into_iter();
    parts
        .filter_map(|(place, part)| strips(&format!("{name}{place}"), series, sides, &part))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_whatever_the_title() {
        assert_eq!(slug("Speed-up: bfs, merge dense (1 of 2)"), "speed-up-bfs-merge-dense-1-of-2");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("…"), "plot");
    }

    #[test]
    fn parts_are_about_equally_long() {
        let lengths =
            |n: usize| parts(&vec![0; n], 8).iter().map(|(_, p)| p.len()).collect::<Vec<_>>();
        assert_eq!(lengths(8), [8]);
        assert_eq!(lengths(9), [5, 4]);
        assert!(lengths(0).is_empty());
    }
}
