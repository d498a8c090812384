//! All cases of one place, each cell once.

use super::{Case, Outcome, Scaling, Settings};
use std::collections::HashMap;

/// What was read from a folder, an archive or a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResultSet {
    /// Every cell that was measured, or was to be, once, in the order of workload, series, dataset, settings and
    /// replicas.
    pub cases: Vec<Case>,
    /// Runs that computed their answer once, in the same order. They are compared with nothing.
    pub singles: Vec<Case>,
    /// JSON files that are not records.
    pub foreign: usize,
    /// Measurements left out because a newer one of the same cell is here.
    pub superseded: usize,
}

/// What two measurements of one cell have in common, besides graph size and machine, which a failed one
/// does not tell.
#[derive(PartialEq, Eq, Hash)]
struct Identity {
    workload: String,
    dataset: String,
    series: Option<String>,
    scaling: Scaling,
    gpus: u64,
    replicas: u64,
    settings: Settings,
    variant: Option<String>,
}

impl Identity {
    fn of(case: &Case) -> Identity {
        let told = case.settings.known == super::Known::All;
        Identity {
            workload: case.workload.clone(),
            dataset: case.dataset.clone(),
            series: case.series.clone(),
            scaling: case.scaling,
            gpus: case.gpus,
            replicas: case.replicas,
            settings: case.settings.clone(),
            variant: case.variant.clone().filter(|_| !told),
        }
    }
}

impl ResultSet {
    /// Of cases in the order that they were read.
    pub(super) fn of(cases: Vec<Case>, foreign: usize) -> ResultSet {
        let cases = by_cell(cases);
        let read = cases.len();
        let (singles, measured) = cases.into_iter().partition(|case| case.single);
        let [mut cases, mut singles] = [measured, singles].map(newest);
        let superseded = read - cases.len() - singles.len();
        cases.sort_by(|a, b| order(a).cmp(&order(b)));
        singles.sort_by(|a, b| order(a).cmp(&order(b)));
        ResultSet { cases, singles, foreign, superseded }
    }

    /// The same of several places.
    pub(super) fn together(sets: Vec<ResultSet>) -> ResultSet {
        let foreign = sets.iter().map(|set| set.foreign).sum();
        let superseded: usize = sets.iter().map(|set| set.superseded).sum();
        let cases =
            sets.into_iter().flat_map(|set| set.cases.into_iter().chain(set.singles)).collect();
        let mut set = ResultSet::of(cases, foreign);
        set.superseded += superseded;
        set
    }

    /// The cells without a measurement, the failed ones first, and why: (case, `failed` or `skipped`, reason).
    pub(crate) fn missing(&self) -> impl Iterator<Item = (&Case, &'static str, &str)> {
        let of = |case: &'_ Case| match &case.outcome {
            Outcome::Done(_) => None,
            Outcome::Failed(_) => Some("failed"),
            Outcome::Skipped(_) => Some("skipped"),
        };
        ["failed", "skipped"].into_iter().flat_map(move |fate| {
            let cases = self.cases.iter().filter(move |case| of(case) == Some(fate));
            cases.map(move |case| (case, fate, reason(case)))
        })
    }
}

fn reason(case: &Case) -> &str {
    match &case.outcome {
        Outcome::Done(_) => "",
        Outcome::Failed(why) | Outcome::Skipped(why) => why,
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

/// A record stands in the sweep's list and in a file of its own.
fn by_cell(cases: Vec<Case>) -> Vec<Case> {
    let mut kept: Vec<Case> = Vec::with_capacity(cases.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for case in cases {
        match case.cell.as_ref().and_then(|cell| places.get(cell)) {
            Some(&place) if supersedes(&case, &kept[place]) => kept[place] = case,
            Some(_) => {}
            None => {
                places.extend(case.cell.clone().map(|cell| (cell, kept.len())));
                kept.push(case);
            }
        }
    }
    kept
}

fn newest(cases: Vec<Case>) -> Vec<Case> {
    let mut kept: Vec<Case> = Vec::with_capacity(cases.len());
    let mut places: HashMap<Identity, Vec<usize>> = HashMap::new();
    for case in cases {
        let alike = places.entry(Identity::of(&case)).or_default();
        match alike.iter().find(|&&place| same_ground(&case, &kept[place])) {
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
    fn a_run_that_computed_once_is_kept_apart_from_the_measurements_of_its_cell() {
        let (measured, mut single) = (case("vn", "a", 2, 3.0), case("vn", "a", 2, 9.0));
        single.single = true;
        let set = ResultSet::together(vec![ResultSet::of(vec![single, measured], 0)]);
        assert_eq!((set.cases.len(), set.singles.len(), set.superseded), (1, 1, 0));
        assert_eq!((set.cases[0].median(), set.singles[0].median()), (Some(3.0), Some(9.0)));
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
