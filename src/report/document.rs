//! A report: everything that follows from one result set, and from two.

use super::labels::Labels;
use super::sheet::Sheet;
use super::{csv, tables};
use crate::results::{
    Ablation, Comparison, Family, Mean, ResultSet, ablations, compare, families, means,
};

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
    pub fn new(title: &str, set: &'a ResultSet, baseline: Option<(&str, &'a ResultSet)>) -> Document<'a> {
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
        if set.superseded > 0 {
            parts.push(format!("{} older measurements of the same cells are left out", set.superseded));
        }
        if set.foreign > 0 {
            parts.push(format!("{} JSON files are no records", set.foreign));
        }
        parts.join("; ") + "."
    }

    /// All tables, in the order of reading.
    pub(crate) fn sheets(&self) -> Vec<Sheet> {
        let mut sheets: Vec<Sheet> = Vec::new();
        sheets.extend(tables::missing_table(self.set));
        sheets.extend(tables::mean_table(&self.means, &self.labels));
        if let Some((name, comparison)) = &self.comparison {
            sheets.extend(tables::comparison_tables(comparison, name));
        }
        sheets.extend(tables::times(&self.families, &self.labels));
        sheets.extend(self.ablations.iter().flat_map(tables::ablation_tables));
        sheets
    }

    /// All tables as Markdown.
    pub fn markdown(&self) -> String {
        let title = Sheet::new(&self.title, "", &[]);
        let sheets: String = self.sheets().iter().map(Sheet::markdown).collect();
        format!("{}\n{}\n\n{sheets}", title.heading(), self.overview())
    }

    /// All cells as comma-separated values.
    pub fn csv(&self) -> String {
        csv::csv(self.set, &self.families)
    }
}
