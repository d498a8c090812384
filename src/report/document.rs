//! A report: everything that follows from one result set, and from two.

use super::labels::Labels;
use super::sheet::Sheet;
use super::units::plural;
use super::{csv, page, plots, tables};
use crate::results::{
    Ablation, Comparison, Family, Mean, ResultSet, ablations, compare, families, means,
};

/// Tables and plots that belong together.
pub(crate) enum Chapter<'d> {
    /// What failed and what was skipped.
    Missing,
    /// Runs that computed their answer once.
    Singles,
    /// Geometric means over datasets.
    Means,
    /// Against the baseline.
    Baseline,
    /// One workload, or one weak study of it.
    Times(Vec<&'d Family<'d>>),
    /// One option.
    Ablation(&'d Ablation<'d>),
}

/// A result set with what was reckoned from it.
pub struct Document<'a> {
    /// What it is a report of.
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
    pub fn new(
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
    pub fn comparison(&self) -> Option<&Comparison<'a>> {
        self.comparison.as_ref().map(|(_, comparison)| comparison)
    }

    /// How many cells there are, and what was left out.
    pub fn overview(&self) -> String {
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

    /// The chapters in the order of reading.
    pub(crate) fn chapters(&self) -> Vec<Chapter<'_>> {
        let mut chapters = vec![Chapter::Means];
        chapters.extend(self.comparison.as_ref().map(|_| Chapter::Baseline));
        let of = |family: &Family<'_>| {
            let case = family.case();
            (case.workload.clone(), case.scaling, case.series.clone())
        };
        let mut groups: Vec<Vec<&Family<'_>>> = Vec::new();
        for family in &self.families {
            match groups.iter_mut().find(|group| of(group[0]) == of(family)) {
                Some(group) => group.push(family),
                None => groups.push(vec![family]),
            }
        }
        chapters.extend(groups.into_iter().map(Chapter::Times));
        chapters.extend(self.ablations.iter().map(Chapter::Ablation));
        chapters.extend([Chapter::Singles, Chapter::Missing]);
        chapters.retain(|chapter| !self.tables(chapter).is_empty());
        chapters
    }

    /// A chapter's tables.
    pub(crate) fn tables(&self, chapter: &Chapter<'_>) -> Vec<Sheet> {
        match chapter {
            Chapter::Missing => tables::missing_table(self.set).into_iter().collect(),
            Chapter::Singles => tables::single_table(self.set).into_iter().collect(),
            Chapter::Means => tables::mean_table(&self.means, &self.labels).into_iter().collect(),
            Chapter::Baseline => {
                let both = self.comparison.as_ref();
                both.map_or(Vec::new(), |(name, c)| tables::comparison_tables(c, name).into())
            }
            Chapter::Times(group) => vec![tables::times(group, &self.labels)],
            Chapter::Ablation(ablation) => tables::ablation_tables(ablation).into(),
        }
    }

    /// All tables as Markdown.
    pub fn markdown(&self) -> String {
        let title = Sheet::new(&self.title, "", &[]);
        let chapters = self.chapters();
        let sheets = chapters.iter().flat_map(|chapter| self.tables(chapter));
        let sheets: String = sheets.map(|sheet| sheet.markdown()).collect();
        format!("{}\n{}\n\n{sheets}", title.heading(), self.overview())
    }

    /// All cells as comma-separated values.
    pub fn csv(&self) -> String {
        csv::csv(self.set, &self.families)
    }
}

impl Document<'_> {
    /// The page, complete in itself.
    pub fn html(&self) -> String {
        page::html(self)
    }

    /// All plots as files: (name, content), an SVG and a PNG each.
    ///
    /// # Errors
    ///
    /// [`Error::Machine`](crate::Error::Machine) when a picture cannot be made.
    pub fn plot_files(&self) -> crate::Result<Vec<(String, Vec<u8>)>> {
        plots::files(self)
    }
}
