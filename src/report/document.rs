//! A report: everything that follows from one result set, and from two.

use super::labels::Labels;
use super::plot::Plot;
use super::sheet::{Entry, Sheet};
use super::{csv, page, plots, sheet, tables};
use crate::results::{
    Ablation, Case, Comparison, Family, Kind, Mean, Member, ResultSet, Scaling, ablations, compare,
    families, grouped, means,
};
use crate::time::date;
use crate::units::plural;
use std::collections::BTreeSet;

/// Tables and plots that belong together.
pub(crate) struct Chapter<'d> {
    pub name: String,
    pub tables: Vec<Sheet>,
    draw: Box<dyn Fn() -> Vec<Plot> + 'd>,
}

impl<'d> Chapter<'d> {
    fn new(name: &str, tables: Vec<Sheet>, draw: Box<dyn Fn() -> Vec<Plot> + 'd>) -> Chapter<'d> {
        Chapter { name: name.into(), tables, draw }
    }

    pub(crate) fn plots(&self) -> Vec<Plot> {
        (self.draw)()
    }
}

/// A result set with what was reckoned from it.
pub(crate) struct Document<'a> {
    pub title: String,
    pub(crate) set: &'a ResultSet,
    pub(crate) families: Vec<Family<'a>>,
    pub(crate) means: Vec<Mean<'a>>,
    pub(crate) ablations: Vec<Ablation<'a>>,
    pub(crate) comparison: Option<(String, Comparison<'a>)>,
    pub(crate) labels: Labels,
}

impl<'a> Document<'a> {
    /// Reckons it; `baseline` is another set and what it is called.
    pub(crate) fn new(
        title: &str,
        set: &'a ResultSet,
        baseline: Option<(&str, &'a ResultSet)>,
    ) -> Document<'a> {
        let families = families(&set.cases);
        Document {
            title: title.into(),
            set,
            means: means(&families),
            ablations: ablations(&set.cases),
            comparison: baseline.map(|(name, old)| (name.to_string(), compare(set, old))),
            labels: Labels::of(set.cases.iter().filter(|case| case.done().is_some())),
            families,
        }
    }

    /// The comparison with the baseline, where there is one.
    pub(crate) fn comparison(&self) -> Option<&Comparison<'a>> {
        self.comparison.as_ref().map(|(_, comparison)| comparison)
    }

    /// Where, when and by which build it was measured, as far as the records tell: (name, text).
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let all = self.set.cases.iter().chain(&self.set.singles);
        let measured: Vec<&Case> = all.filter(|case| case.done().is_some()).collect();
        let named = measured.iter().filter(|case| !case.machine.is_empty());
        let machine = |cases: Vec<&&Case>| {
            let name = &cases[0].machine;
            match cases.iter().map(|case| case.gpus).max().unwrap_or(0) {
                0 => format!("{name} (host)"),
                1 => format!("{name}, 1 GPU"),
                gpus => format!("{name}, up to {gpus} GPUs"),
            }
        };
        let machines = grouped(named, |case| case.machine.clone()).into_iter().map(machine);
        let machines: Vec<String> = machines.collect();
        let moments = || measured.iter().filter_map(|case| case.moment);
        let days = match (moments().min().map(date), moments().max().map(date)) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (first, _) => first.unwrap_or_default(),
        };
        let builds = measured.iter().map(|case| case.build.as_str());
        let builds: BTreeSet<&str> = builds.filter(|build| !build.is_empty()).collect();
        let builds: Vec<&str> = builds.into_iter().collect();
        let facts = [
            ("machine", machines.join("; ")),
            ("date", days),
            ("build", builds.join("; ")),
            ("cells", self.overview()),
        ];
        facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
    }

    /// The cell of each workload that gains most by more replicas, the largest gain first.
    pub(crate) fn best(&self) -> Option<Sheet> {
        let strong = self.families.iter().filter(|f| f.case().scaling == Scaling::Strong);
        let mut best: Vec<(&Member<'_>, u64, f64)> = Vec::new();
        for family in strong {
            let gains = family.members[1..].iter().filter_map(|m| Some((m, m.speed_up?)));
            let first = family.members[0].n;
            best.extend(gains.filter(|(_, gain)| *gain > 1.0).map(|(m, gain)| (m, first, gain)));
        }
        best.sort_by(|a, b| b.2.total_cmp(&a.2));
        let columns = "workload, dataset, devices, speed-up, against";
        let mut sheet = Sheet::new("Best speed-ups", "", columns);
        for of_workload in grouped(best, |(member, ..)| member.case.workload.clone()) {
            let (member, first, speed_up) = of_workload[0];
            let case = member.case;
            sheet.rows.push(vec![
                Entry::text(self.labels.workload(case)),
                Entry::text(&case.dataset),
                Entry::Number(case.devices(), case.replicas as f64),
                Entry::number(Some(speed_up), tables::ratio),
                Entry::text(Kind::of(case).count(first)),
            ]);
        }
        sheet.filled()
    }

    pub(crate) fn overview(&self) -> String {
        let set = self.set;
        let done = set.cases.iter().filter(|case| case.done().is_some()).count();
        let mut parts = vec![format!("{done} of {} cells were measured", set.cases.len())];
        for fate in ["failed", "skipped"] {
            let count = set.missing().filter(|(_, what, _)| *what == fate).count();
            if count > 0 {
                parts.push(format!("{count} {fate}"));
            }
        }
        if !set.singles.is_empty() {
            parts.push(format!(
                "{} without --benchmark, listed apart and compared with nothing",
                plural(set.singles.len() as u64, "single run")
            ));
        }
        if set.superseded > 0 {
            parts.push(format!(
                "{} more measurements of the same cells are left out (the newest counts; where no time is told, the last read)",
                set.superseded
            ));
        }
        if set.foreign > 0 {
            parts.push(format!("{} JSON files are no records", set.foreign));
        }
        parts.join("; ") + "."
    }

    pub(crate) fn chapters<'d>(&'d self) -> Vec<Chapter<'d>> {
        let labels = &self.labels;
        let mut chapters: Vec<Chapter<'d>> = Vec::new();
        let means = tables::mean_table(&self.means, labels).into_iter().collect();
        let draw = move || plots::mean_plots(&self.means, labels);
        chapters.push(Chapter::new("Geometric means over datasets", means, Box::new(draw)));
        if let Some((baseline, comparison)) = &self.comparison {
            let tables = tables::comparison_tables(comparison, baseline).into();
            let draw = move || plots::comparison_plots(comparison);
            chapters.push(Chapter::new("Against the baseline", tables, Box::new(draw)));
        }
        let groups = grouped(&self.families, |family| {
            let case = family.case();
            (case.workload.clone(), case.scaling, case.series.clone())
        });
        for group in groups {
            let (name, tables) = (tables::study(group[0].case()), tables::times(&group, labels));
            chapters.push(Chapter::new(
                &name,
                vec![tables],
                Box::new(move || plots::times_plots(&group, labels)),
            ));
        }
        for ablation in &self.ablations {
            let name = format!("Ablation: {}", ablation.option);
            let draw = move || plots::ablation_plots(ablation);
            chapters.push(Chapter::new(
                &name,
                tables::ablation_tables(ablation).into(),
                Box::new(draw),
            ));
        }
        let singles = tables::single_table(self.set).into_iter().collect();
        chapters.push(Chapter::new("Single runs", singles, Box::new(Vec::new)));
        let missing = tables::missing_table(self.set).into_iter().collect();
        chapters.push(Chapter::new("Failed and skipped", missing, Box::new(Vec::new)));
        chapters.retain(|chapter| !chapter.tables.is_empty());
        chapters
    }

    pub(crate) fn markdown(&self) -> String {
        let chapters = self.chapters();
        let sheets = chapters.iter().flat_map(|chapter| &chapter.tables);
        let sheets: String = sheets.map(|sheet| sheet.markdown()).collect();
        let fact = |(name, text): (&str, String)| format!("* {name}: {}\n", sheet::escape(&text));
        let facts: String = self.facts().into_iter().map(fact).collect();
        let best = self.best().map_or(String::new(), |best| best.markdown());
        format!("# {}\n\n{facts}\n{best}{sheets}", sheet::escape(&self.title))
    }

    pub(crate) fn csv(&self) -> String {
        csv::csv(self.set, &self.families)
    }

    pub(crate) fn html(&self) -> String {
        page::html(self)
    }

    /// All plots as SVG files: (name, content).
    pub(crate) fn plot_files(&self) -> Vec<(String, String)> {
        plots::files(self)
    }
}
