//! All cases of one place, each cell once.

use super::{Case, Outcome};
use std::collections::HashMap;
use std::hash::Hash;

#[derive(Debug, Clone, Default)]
pub(crate) struct ResultSet {
    /// Every cell that was measured, or was to be, once, in the order of workload, series, dataset, settings and
    /// replicas.
    pub cases: Vec<Case>,
    /// Runs that computed their answer once, in the same order. They are compared with nothing.
    pub singles: Vec<Case>,
    pub foreign: usize,
    /// Measurements left out because a newer one of the same cell is here.
    pub superseded: usize,
}

/// What two measurements of one cell have in common, besides graph size and machine, which a failed one
/// does not tell.
fn identity(case: &Case) -> impl Hash + Eq + use<> {
    let told = case.settings.known == super::Known::All;
    let study = (case.workload.clone(), case.dataset.clone(), case.series.clone(), case.scaling);
    let how = (case.settings.clone(), case.variant.clone().filter(|_| !told));
    (study, case.gpus, case.replicas, how)
}

impl ResultSet {
    /// Of cases in the order that they were read.
    pub(super) fn of(cases: Vec<Case>, foreign: usize) -> ResultSet {
        // A record stands in the sweep's list and in a file of its own.
        let cases = distinct(cases, |case| case.cell.clone(), |_, _| true);
        let read = cases.len();
        let (singles, measured) = cases.into_iter().partition(|case| case.single);
        let sorted = |cases: Vec<Case>| {
            let mut cases = distinct(cases, |case| Some(identity(case)), same_ground);
            cases.sort_by(|a, b| order(a).cmp(&order(b)));
            cases
        };
        let [cases, singles] = [measured, singles].map(sorted);
        let superseded = read - cases.len() - singles.len();
        ResultSet { cases, singles, foreign, superseded }
    }

    /// The cells without a measurement, the failed ones first, and why: (case, `failed` or `skipped`, reason).
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&Case, &'static str, &str)> {
        ["failed", "skipped"].into_iter().flat_map(move |fate| {
            self.cases.iter().filter_map(move |case| match (&case.outcome, fate) {
                (Outcome::Failed(why), "failed") => Some((case, fate, why.as_str())),
                (Outcome::Skipped(why), "skipped") => Some((case, fate, why.as_str())),
                _ => None,
            })
        })
    }
}

fn order(case: &Case) -> impl Ord {
    // Datasets by name, so that rmat8 comes before rmat10.
    let digits = case.dataset.trim_start_matches(|c: char| !c.is_ascii_digit());
    let number: String = digits.chars().take_while(char::is_ascii_digit).collect();
    let stem = case.dataset[..case.dataset.len() - digits.len()].to_string();
    let dataset = (stem, number.parse::<u64>().unwrap_or(0), case.dataset.clone());
    let (workload, series) = (case.workload.clone(), case.series.clone());
    let settings = (case.settings.options.len(), case.settings.clone());
    let how = (case.machine.clone(), settings, case.variant.clone());
    (workload, case.scaling, series, dataset, case.gpus == 0, how, case.replicas, case.gpus)
}

/// Of the cases of one key that are the same, the one that supersedes the others; all without a key.
fn distinct<K: Hash + Eq>(
    cases: Vec<Case>,
    key: impl Fn(&Case) -> Option<K>,
    same: impl Fn(&Case, &Case) -> bool,
) -> Vec<Case> {
    let mut kept: Vec<Case> = Vec::with_capacity(cases.len());
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for case in cases {
        let mut nowhere = Vec::new();
        let alike = key(&case).map_or(&mut nowhere, |key| places.entry(key).or_default());
        match alike.iter().find(|&&place| same(&case, &kept[place])) {
            Some(&place) if supersedes(&case, &kept[place]) => kept[place] = case,
            Some(_) => {}
            None => {
                alike.push(kept.len());
                kept.push(case);
            }
        }
    }
    kept
}

/// The same machine and graph, as far as both tell.
fn same_ground(a: &Case, b: &Case) -> bool {
    let machines = a.machine == b.machine || a.machine.is_empty() || b.machine.is_empty();
    let graphs = a.nodes.is_none() || b.nodes.is_none() || (a.nodes, a.arcs) == (b.nodes, b.arcs);
    machines && graphs
}

/// Newer, or a measurement where there was none; what was skipped takes no measurement's place.
fn supersedes(case: &Case, kept: &Case) -> bool {
    let rank = |case: &Case| matches!(case.outcome, Outcome::Skipped(_));
    match (rank(case), rank(kept)) {
        (true, false) => false,
        (false, true) => true,
        _ => match (case.moment, kept.moment) {
            (Some(new), Some(old)) if new != old => new > old,
            _ => case.done().is_some() || kept.done().is_none(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::case;
    use super::*;

    #[test]
    fn a_cell_that_is_listed_twice_counts_once_and_the_measurement_wins() {
        let mut failed = case("vn", "a", 2, 0.0);
        failed.outcome = Outcome::Failed("no".into());
        let (mut done, mut again) = (case("vn", "a", 2, 3.0), case("vn", "a", 2, 3.0));
        for case in [&mut failed, &mut done, &mut again] {
            case.cell = Some("12ab".into());
        }
        let set = ResultSet::of(vec![failed, done, again], 0);
        assert_eq!((set.cases.len(), set.superseded), (1, 0));
        assert_eq!(set.cases[0].median(), Some(3.0));
    }

    #[test]
    fn of_two_measurements_of_a_cell_by_other_builds_the_newer_counts_and_it_is_said() {
        let (mut old, mut new) = (case("vn", "a", 2, 3.0), case("vn", "a", 2, 2.0));
        (old.moment, new.moment) = (Some(5), Some(9));
        (old.cell, new.cell) = (Some("1".into()), Some("2".into()));
        let set = ResultSet::of(vec![new, old], 0);
        assert_eq!((set.cases.len(), set.superseded, set.cases[0].median()), (1, 1, Some(2.0)));
    }

    #[test]
    fn two_machines_are_two_cells() {
        let (v100, mut a100) = (case("vn", "a", 2, 3.0), case("vn", "a", 2, 2.0));
        a100.machine = "A100".into();
        assert_eq!(ResultSet::of(vec![v100, a100], 0).cases.len(), 2);
    }

    #[test]
    fn graphs_are_in_the_order_of_their_scale() {
        let set = ResultSet::of(
            ["rmat20", "rmat8", "rmat18"].map(|name| case("vn", name, 1, 1.0)).into(),
            0,
        );
        let names: Vec<&str> = set.cases.iter().map(|case| case.dataset.as_str()).collect();
        assert_eq!(names, ["rmat8", "rmat18", "rmat20"]);
    }
}
