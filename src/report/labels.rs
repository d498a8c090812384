//! Short names for cells: only what differs within a result set.

use crate::results::{Case, Known, grouped};
use std::collections::{BTreeMap, BTreeSet};

/// What tells the cells of each workload apart, besides dataset and devices.
pub(crate) struct Labels(BTreeMap<String, Apart>);

/// What differs within one workload.
#[derive(Default)]
struct Apart {
    options: Vec<String>,
    variant: bool,
    machine: bool,
    /// What all have, for a note.
    common: Vec<String>,
}

impl Labels {
    pub(crate) fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Labels {
        let groups = grouped(cases, |case| case.workload.clone());
        Labels(groups.iter().map(|group| (group[0].workload.clone(), Apart::of(group))).collect())
    }

    /// Names of the columns that tell cells of a workload apart.
    pub(crate) fn columns(&self, workload: &str) -> Vec<String> {
        let Some(apart) = self.0.get(workload) else { return Vec::new() };
        let fixed = [("variant", apart.variant), ("machine", apart.machine)];
        let fixed = fixed.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.into());
        fixed.chain(apart.options.iter().cloned()).collect()
    }

    /// What a cell has in these columns.
    pub(crate) fn entries(&self, case: &Case) -> Vec<String> {
        let value = |column: String| match column.as_str() {
            "variant" => case.variant.clone().unwrap_or_default(),
            "machine" => machine(case),
            option => case.settings.get(option).to_string(),
        };
        self.columns(&case.workload).into_iter().map(value).collect()
    }

    /// Settings, variant and machine of a cell as far as others of its workload have other ones; may be empty.
    pub(crate) fn how(&self, case: &Case) -> String {
        let Some(apart) = self.0.get(&case.workload) else { return String::new() };
        let mut words = Vec::new();
        if apart.variant {
            words.extend(case.variant.as_deref().map(words_of));
        }
        for option in &apart.options {
            // `merge auto` says more than `auto`; what is left alone needs no word.
            if case.settings.options.contains_key(option) {
                words.push(format!("{option} {}", case.settings.get(option)));
            }
        }
        if apart.machine && !case.machine.is_empty() {
            words.push(machine(case));
        }
        words.join(", ")
    }

    /// The same, after the workload's name.
    pub(crate) fn workload(&self, case: &Case) -> String {
        let how = self.how(case);
        if how.is_empty() { case.workload.clone() } else { format!("{}, {how}", case.workload) }
    }

    /// What all cells of a workload have in common, in a line.
    pub(crate) fn common(&self, workload: &str) -> String {
        self.0.get(workload).map_or(String::new(), |apart| apart.common.join(", "))
    }
}

/// The first device's name, without the maker's.
pub(crate) fn machine(case: &Case) -> String {
    case.machine.trim_start_matches("NVIDIA ").to_string()
}

/// A tag as words: `num_seeds-10` as `num seeds 10`.
fn words_of(tag: &str) -> String {
    tag.replace(['_', '-'], " ")
}

impl Apart {
    fn of(cases: &[&Case]) -> Apart {
        let told = cases.iter().filter(|case| case.settings.known != Known::Nothing);
        let of = |name| told.clone().map(|case| case.settings.get(name)).collect();
        let names: BTreeSet<&str> = cases
            .iter()
            .flat_map(|case| case.settings.options.keys())
            .map(String::as_str)
            .collect();
        let values: BTreeMap<&str, BTreeSet<&str>> =
            names.into_iter().map(|name| (name, of(name))).collect();
        let differ = values.iter().filter(|(_, all)| all.len() > 1);
        let mut options: Vec<String> = differ.map(|(name, _)| name.to_string()).collect();
        // The merge mode first: it is what most sweeps vary.
        options.sort_by_key(|name| (name != "merge", name.clone()));
        let distinct = |of: fn(&Case) -> Option<String>| -> BTreeSet<String> {
            cases.iter().filter_map(|case| of(case)).filter(|text| !text.is_empty()).collect()
        };
        let machines = distinct(|case| Some(machine(case)));
        let variants = distinct(|case| case.variant.clone());
        let told = cases.iter().all(|case| case.settings.known == Known::All);
        let same = values.iter().filter(|(_, all)| all.len() == 1);
        let same = same.map(|(name, all)| format!("{name}={}", all.iter().next().unwrap_or(&"")));
        let common = machines.iter().filter(|_| machines.len() == 1).cloned();
        // Of records that tell their options a tag says nothing new.
        let one = variants.iter().filter(|_| !told && variants.len() == 1);
        let common = common.chain(one.map(|tag| words_of(tag)));
        let common: Vec<String> = common.chain(same).collect();
        // A record that tells its options is told apart by them.
        Apart { options, variant: !told && variants.len() > 1, machine: machines.len() > 1, common }
    }
}
