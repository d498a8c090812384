//! Cells that differ in one option: what it costs or brings.

use super::settings::default_of;
use super::{Case, Known, Settings, grouped};
use std::collections::{BTreeMap, BTreeSet};

/// Options that say how to compute, not what.
const HOW: &str = "merge collective chunks placement layout strategy direction delta chunk-align do-a do-b warp-width \
                   warp-chunk segments segment-width segment-teams deterministic batch precision";

/// One option, over all cells that were measured with two or more of its values.
#[derive(Debug, Clone)]
pub(crate) struct Ablation<'a> {
    pub option: &'static str,
    /// Its values: the default first, where it was measured.
    pub values: Vec<String>,
    pub rows: Vec<AblationRow<'a>>,
}

/// One cell under an option's values.
#[derive(Debug, Clone)]
pub(crate) struct AblationRow<'a> {
    pub case: &'a Case,
    /// What else was set.
    pub settings: Settings,
    /// Milliseconds by value, in the order of [`Ablation::values`].
    pub times: Vec<Option<f64>>,
}

impl AblationRow<'_> {
    /// The time under value `i` over that under the first; `None` where one was not measured.
    pub(crate) fn ratio(&self, i: usize) -> Option<f64> {
        let (first, time) = ((*self.times.first()?)?, (*self.times.get(i)?)?);
        (first > 0.0 && time > 0.0).then(|| time / first)
    }
}

/// Every option that two cells differ in and nothing else.
pub(crate) fn ablations(cases: &[Case]) -> Vec<Ablation<'_>> {
    HOW.split(' ').filter_map(|option| ablation(cases, option)).collect()
}

fn ablation<'a>(cases: &'a [Case], option: &'static str) -> Option<Ablation<'a>> {
    let told = |case: &&Case| case.done().is_some() && case.settings.known != Known::Nothing;
    let place = |case: &&Case| {
        let study = (case.workload.clone(), case.scaling, case.series.clone());
        let graph = (case.dataset.clone(), case.nodes, case.arcs);
        let devices = (case.machine.clone(), case.gpus, case.replicas);
        (study, graph, devices, case.settings.without(option))
    };
    let mut places: Vec<BTreeMap<&str, &Case>> = Vec::new();
    for place in grouped(cases.iter().filter(told), place) {
        // Of two cells of one value, the first.
        let by_value = place.iter().rev().map(|case| (case.settings.get(option), *case));
        places.push(by_value.collect());
    }
    places.retain(|by_value| by_value.len() > 1);
    let all: BTreeSet<&str> = places.iter().flat_map(|map| map.keys().copied()).collect();
    let mut values: Vec<&str> = all.into_iter().collect();
    values.sort_by_key(|value| *value != default_of(option));
    let row = |by_value: BTreeMap<&str, &'a Case>| {
        let time = |value: &&str| by_value.get(value).and_then(|case| case.median());
        let case = *by_value.values().next()?;
        let settings = case.settings.without(option);
        Some(AblationRow { case, settings, times: values.iter().map(time).collect() })
    };
    let rows: Vec<_> = places.into_iter().filter_map(row).collect();
    let values = values.iter().map(|value| value.to_string()).collect();
    (!rows.is_empty()).then_some(Ablation { option, values, rows })
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::{case, with_options as set};
    use super::*;

    #[test]
    fn cells_that_differ_in_one_option_stand_in_one_row_with_the_default_first() {
        let cases = [
            set(case("vn", "a", 4, 3.0), &[("merge", "dense")]),
            case("vn", "a", 4, 2.0),
            set(case("vn", "a", 4, 9.0), &[("merge", "dense"), ("collective", "nccl")]),
            case("vn", "b", 4, 7.0),
        ];
        let found = ablations(&cases);
        let options: Vec<&str> = found.iter().map(|ablation| ablation.option).collect();
        assert_eq!(options, ["merge", "collective"]);
        assert_eq!(found[0].values, ["auto", "dense"]);
        assert_eq!(found[0].rows.len(), 1, "nothing to compare b with");
        assert_eq!(found[0].rows[0].ratio(1), Some(1.5));
        assert_eq!(found[1].rows[0].settings.to_string(), "merge=dense");
    }

    #[test]
    fn what_is_asked_is_no_ablation() {
        let cases =
            [set(case("vn", "a", 4, 3.0), &[("seeds", "first:10")]), case("vn", "a", 4, 2.0)];
        assert!(ablations(&cases).is_empty());
    }
}
