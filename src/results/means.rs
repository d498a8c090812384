//! Geometric means over datasets.

use super::{Case, Family, Kind, Scaling, grouped};

/// The geometric mean of positive numbers; `None` of none.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive =
        !values.is_empty() && values.iter().all(|value| *value > 0.0 && value.is_finite());
    positive.then(|| (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// A workload on `n` replicas, over the datasets that were measured on all numbers of replicas that are compared.
#[derive(Debug, Clone)]
pub(crate) struct Mean<'a> {
    pub case: &'a Case,
    pub kind: Kind,
    /// GPUs or replicas.
    pub n: u64,
    pub datasets: usize,
    /// Geometric mean of the times, ms.
    pub median: f64,
    pub speed_up: f64,
    pub efficiency: f64,
}

/// What families share that are the same but for the dataset.
fn key(family: &Family<'_>) -> impl Ord + use<> {
    let case = family.case();
    let told = case.settings.known == super::Known::All;
    let study = (case.workload.clone(), case.series.clone());
    let how = (case.settings.clone(), case.variant.clone().filter(|_| !told));
    (study, family.kind, case.machine.clone(), how, family.members[0].n)
}

/// The means of strong scaling over datasets, by workload, settings and number of replicas. Families of one member
/// count nothing, nor does a workload on one dataset.
pub(crate) fn means<'a>(families: &[Family<'a>]) -> Vec<Mean<'a>> {
    let strong = |family: &&Family<'_>| family.scales() && family.case().scaling == Scaling::Strong;
    let groups = grouped(families.iter().filter(strong), |family| key(family));
    groups.iter().filter(|group| group.len() > 1).flat_map(|group| of_group(group)).collect()
}

/// The numbers of replicas that are compared, and the families that have all of them. A number that too few datasets
/// were measured on is left out, so that all columns are over the same datasets.
fn complete<'g, 'a>(group: &[&'g Family<'a>]) -> (Vec<&'g Family<'a>>, Vec<u64>) {
    let mut counts: Vec<u64> = group.iter().flat_map(|f| f.members.iter().map(|m| m.n)).collect();
    counts.sort_unstable();
    counts.dedup();
    let has = |family: &Family<'_>, n: u64| family.members.iter().any(|member| member.n == n);
    loop {
        let all: Vec<&Family<'a>> =
            group.iter().copied().filter(|f| counts.iter().all(|n| has(f, *n))).collect();
        if all.len() > 1 || counts.len() < 2 {
            return (all, counts);
        }
        let datasets = |n: u64| group.iter().filter(|family| has(family, n)).count();
        // Of two numbers that equally few have, the larger goes.
        let rarest = counts.iter().copied().min_by_key(|n| (datasets(*n), std::cmp::Reverse(*n)));
        counts.retain(|n| Some(*n) != rarest);
    }
}

fn of_group<'a>(group: &[&Family<'a>]) -> Vec<Mean<'a>> {
    let (families, counts) = complete(group);
    if families.len() < 2 || counts.len() < 2 {
        return Vec::new();
    }
    let mean = |n: u64| {
        let members: Vec<_> =
            families.iter().flat_map(|f| f.members.iter().filter(|m| m.n == n)).collect();
        let of = |value: fn(&super::Member<'a>) -> Option<f64>| {
            let values: Vec<f64> = members.iter().filter_map(|member| value(member)).collect();
            geometric_mean(&values)
        };
        Some(Mean {
            case: families[0].case(),
            kind: families[0].kind,
            n,
            datasets: members.len(),
            median: of(|member| Some(member.median))?,
            speed_up: of(|member| member.speed_up)?,
            efficiency: of(|member| member.efficiency)?,
        })
    };
    counts.into_iter().filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::super::families;
    use super::super::family::tests::case;
    use super::*;

    #[test]
    fn all_columns_are_over_the_same_datasets() {
        let mut cases = Vec::new();
        for (dataset, gpus) in [("a", [1, 2, 3]), ("b", [1, 2, 3]), ("c", [1, 2, 8])] {
            cases.extend(gpus.map(|n| case("vn", dataset, n, 12.0 / n as f64)));
        }
        cases.extend([case("vn", "d", 1, 4.0), case("vn", "d", 2, 3.0)]);
        let families = families(&cases);
        // One dataset alone was measured on 8 GPUs, and two lack 3.
        let means = means(&families);
        let columns: Vec<(u64, usize)> = means.iter().map(|mean| (mean.n, mean.datasets)).collect();
        assert_eq!(columns, [(1, 2), (2, 2), (3, 2)]);
        assert!((means[2].speed_up - 3.0).abs() < 1e-12);
    }

    #[test]
    fn means_are_geometric_and_say_over_how_many_datasets() {
        let cases = [
            case("vn", "a", 1, 4.0),
            case("vn", "a", 2, 2.0),
            case("vn", "b", 1, 8.0),
            case("vn", "b", 2, 1.0),
            case("vn", "alone", 1, 100.0),
        ];
        let families = families(&cases);
        let means = means(&families);
        assert_eq!(means.len(), 2);
        assert_eq!((means[1].n, means[1].datasets), (2, 2));
        assert!(
            (means[1].speed_up - 4.0).abs() < 1e-12 && (means[1].efficiency - 2.0).abs() < 1e-12
        );
        assert!((means[1].median - 2f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn nothing_and_zero_have_no_mean() {
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }
}
