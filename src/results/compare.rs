//! Two result sets, cell by cell.

use super::{Case, Known, Outcome, ResultSet, geometric_mean, grouped};
use crate::run::Verdict;

/// A cell that both sets have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub case: &'a Case,
    pub baseline: &'a Case,
    /// Median milliseconds now over those before: above 1 is slower.
    pub ratio: f64,
}

/// All of them, and what one set alone has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comparison<'a> {
    pub pairs: Vec<Pair<'a>>,
    pub only_now: Vec<&'a Case>,
    pub only_before: Vec<&'a Case>,
    /// Measured before; failed now, or answered wrong.
    pub broken: Vec<&'a Case>,
}

/// A workload's ratios on some devices.
#[derive(Debug, Clone)]
pub(crate) struct RatioMean<'a> {
    /// One of its cells; `None`: all workloads.
    pub case: Option<&'a Case>,
    pub cells: usize,
    pub ratio: f64,
    /// The smallest and the largest.
    pub range: (f64, f64),
}

/// Pairs the measured cells of two sets: the same workload, dataset, study and devices, and settings that agree.
/// Where a side does not tell all settings, its likeliest cell counts. Machines may differ; the same is preferred.
pub(crate) fn compare<'a>(now_set: &'a ResultSet, baseline: &'a ResultSet) -> Comparison<'a> {
    let measured = |set: &'a ResultSet| {
        let positive = |case: &&Case| case.median().is_some_and(|median| median > 0.0);
        set.cases.iter().filter(positive).collect::<Vec<&'a Case>>()
    };
    let (now, before) = (measured(now_set), measured(baseline));
    let mut pairs = Vec::new();
    for &case in &now {
        let best = best(case, &before);
        for &old in before.iter().filter(|old| likeness(case, old).is_some_and(|l| Some(l) == best))
        {
            // Another cell of now may be more like the old one.
            if self::best(old, &now) == best {
                let ratio = case.median().unwrap_or(0.0) / old.median().unwrap_or(1.0);
                pairs.push(Pair { case, baseline: old, ratio });
            }
        }
    }
    let alone = |cases: Vec<&'a Case>, paired: &dyn Fn(&Pair<'a>) -> &'a Case| {
        let unpaired = |case: &&Case| !pairs.iter().any(|pair| std::ptr::eq(paired(pair), *case));
        cases.into_iter().filter(unpaired).collect()
    };
    let only_now: Vec<&Case> = alone(now, &|pair| pair.case);
    let only_before: Vec<&Case> = alone(before, &|pair| pair.baseline);
    let wrong = |case: &Case| case.done().is_some_and(|done| done.verified == Some(Verdict::No));
    let failed = |case: &Case| {
        let lost = || only_before.iter().any(|old| likeness(case, old).is_some());
        matches!(case.outcome, Outcome::Failed(_)) && lost()
    };
    let paired = |case: &Case| pairs.iter().any(|pair| std::ptr::eq(pair.case, case));
    let broken = now_set.cases.iter().filter(|case| failed(case) || wrong(case) && paired(case));
    let broken = broken.collect();
    pairs.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    Comparison { pairs, only_now, only_before, broken }
}

fn best(case: &Case, among: &[&Case]) -> Option<i64> {
    among.iter().filter_map(|other| likeness(case, other)).max()
}

/// How much alike two measurements are; `None` where they are of different cells.
fn likeness(a: &Case, b: &Case) -> Option<i64> {
    let place = |case: &Case| (case.gpus, case.replicas, case.scaling);
    let known = |a: Option<u64>, b: Option<u64>| a.is_none() || b.is_none() || a == b;
    let hive = [a, b].iter().any(|case| case.settings.known == Known::Nothing);
    // A failed cell tells no variant.
    let told = |case: &Case| case.done().is_some();
    let variants = !hive || a.variant == b.variant || !told(a) || !told(b);
    let same = a.workload == b.workload
        && a.dataset == b.dataset
        && a.series == b.series
        && place(a) == place(b)
        // HIVE's records count some graphs' arcs otherwise.
        && (hive || known(a.nodes, b.nodes) && known(a.arcs, b.arcs))
        && variants
        && a.settings.agrees(&b.settings);
    let machine = if a.machine == b.machine { 1000 } else { 0 };
    same.then(|| machine + a.settings.likeness(&b.settings))
}

impl<'a> Comparison<'a> {
    /// The pairs that are slower now by more than `ratio`, the slowest first.
    pub(crate) fn slower(&self, ratio: f64) -> impl Iterator<Item = &Pair<'a>> {
        self.pairs.iter().filter(move |pair| pair.ratio > ratio)
    }

    /// The means of each workload, and of all together at the end.
    pub(crate) fn means(&self) -> Vec<RatioMean<'a>> {
        let of = |pair: &Pair<'a>| (&pair.case.workload, pair.case.gpus, pair.case.replicas);
        let mut groups = grouped(&self.pairs, |pair| of(pair));
        groups.sort_by_key(|group| of(group[0]));
        let each = groups.iter().filter_map(|group| mean(group, Some(group[0].case)));
        let all: Vec<&Pair<'a>> = self.pairs.iter().collect();
        each.chain(mean(&all, None)).collect()
    }
}

fn mean<'a>(pairs: &[&Pair<'a>], case: Option<&'a Case>) -> Option<RatioMean<'a>> {
    let ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let ratio = geometric_mean(&ratios)?;
    Some(RatioMean { case, cells: pairs.len(), ratio, range: (least, most) })
}

#[cfg(test)]
mod tests {
    use super::super::family::tests::{case, with_options};
    use super::*;

    fn set(cases: Vec<Case>) -> ResultSet {
        ResultSet { cases, ..ResultSet::default() }
    }

    fn with(case: Case, known: Known, options: &[(&str, &str)]) -> Case {
        let mut case = with_options(case, options);
        case.settings.known = known;
        case
    }

    #[test]
    fn cells_pair_up_by_what_they_are_and_the_slowest_comes_first() {
        let dense = |median| with(case("vn", "a", 2, median), Known::All, &[("merge", "dense")]);
        let now = set(vec![case("vn", "a", 1, 2.0), dense(9.0), case("vn", "new", 1, 1.0)]);
        let before = set(vec![dense(3.0), case("vn", "a", 1, 4.0), case("vn", "old", 1, 1.0)]);
        let comparison = compare(&now, &before);
        let ratios: Vec<f64> = comparison.pairs.iter().map(|pair| pair.ratio).collect();
        assert_eq!(ratios, [3.0, 0.5]);
        assert_eq!((comparison.only_now.len(), comparison.only_before.len()), (1, 1));
        assert_eq!(comparison.slower(1.1).count(), 1);
        assert_eq!(comparison.slower(3.0).count(), 0, "just as slow as allowed");
        let all = comparison.means().pop().unwrap();
        assert!(all.case.is_none() && (all.ratio - 1.5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_was_measured_before_and_fails_or_is_wrong_now_is_broken() {
        let mut cases =
            vec![case("vn", "a", 1, 2.0), case("vn", "b", 1, 2.0), case("vn", "new", 1, 2.0)];
        cases[0].outcome = Outcome::Failed("no".into());
        if let Outcome::Done(done) = &mut cases[1].outcome {
            done.verified = Some(Verdict::No);
        }
        cases[2].outcome = Outcome::Failed("no".into());
        let now = set(cases);
        let before = set(vec![case("vn", "a", 1, 4.0), case("vn", "b", 1, 4.0)]);
        let broken: Vec<&str> =
            compare(&now, &before).broken.iter().map(|c| c.dataset.as_str()).collect();
        assert_eq!(broken, ["a", "b"]);
    }

    #[test]
    fn an_older_tables_cell_pairs_with_the_record_that_varies_as_it_does() {
        let sources = ("sources", "connected:8:1");
        let common = ("tolerance", "0");
        let one = with(case("bfs", "a", 1, 2.0), Known::All, &[common]);
        let many = with(case("bfs", "a", 1, 8.0), Known::All, &[common, sources]);
        let nccl = with(case("bfs", "a", 1, 5.0), Known::All, &[common, ("collective", "nccl")]);
        let now = set(vec![many, nccl, one]);
        let old = |median, options: &[_]| with(case("bfs", "a", 1, median), Known::Some, options);
        let before = set(vec![old(1.0, &[]), old(4.0, &[sources])]);
        let mut ratios: Vec<_> =
            compare(&now, &before).pairs.iter().map(|p| (p.case.median(), p.ratio)).collect();
        ratios.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap());
        assert_eq!(ratios, [(Some(2.0), 2.0), (Some(8.0), 2.0)]);
    }

    #[test]
    fn a_record_of_hives_pairs_by_its_variant_on_any_machine() {
        let mut hive = with(case("vn", "a", 4, 4.0), Known::Nothing, &[]);
        (hive.variant, hive.machine, hive.nodes) =
            (Some("num_seeds-10".into()), "V100".into(), Some(7));
        let mut ours = with(case("vn", "a", 4, 1.0), Known::All, &[("seeds", "first:10")]);
        ours.variant = hive.variant.clone();
        let mut other = ours.clone();
        other.variant = Some("num_seeds-1000".into());
        let (now, before) = (set(vec![ours, other]), set(vec![hive]));
        let comparison = compare(&now, &before);
        assert_eq!(comparison.pairs.len(), 1);
        assert_eq!(comparison.pairs[0].ratio, 0.25);
    }
}
