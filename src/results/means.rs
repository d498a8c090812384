//! Geometric means over datasets.

use super::{Case, Family, Kind, Scaling};

/// The geometric mean of positive numbers; `None` of none.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let positive =
        !values.is_empty() && values.iter().all(|value| *value > 0.0 && value.is_finite());
    positive.then(|| (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// A workload on `n` replicas, over all datasets that were measured there and on fewer.
#[derive(Debug, Clone)]
pub struct Mean<'a> {
    /// One of the cells.
    pub case: &'a Case,
    /// What is counted by `n`.
    pub kind: Kind,
    /// GPUs or replicas.
    pub n: u64,
    /// How many datasets.
    pub datasets: usize,
    /// Geometric mean of the times, ms.
    pub median: f64,
    /// Geometric mean of the speed-ups.
    pub speed_up: f64,
    /// Geometric mean of the efficiencies.
    pub efficiency: f64,
}

/// Whether two families are the same but for the dataset.
fn alike(a: &Family<'_>, b: &Family<'_>) -> bool {
    let how = |family: &Family<'_>| {
        let case = family.case();
        let told = case.settings.known == super::Known::All;
        let variant = case.variant.clone().filter(|_| !told);
        let first = family.members[0].n;
        let settings = case.settings.clone();
        let study = (case.workload.clone(), case.series.clone());
        (study, family.kind, case.machine.clone(), settings, variant, first)
    };
    how(a) == how(b)
}

/// The means of strong scaling over datasets, by workload, settings and number of replicas. Families of one member
/// count nothing, nor does a workload on one dataset.
pub fn means<'a>(families: &[Family<'a>]) -> Vec<Mean<'a>> {
    let strong = |family: &&Family<'_>| family.scales() && family.case().scaling == Scaling::Strong;
    let mut groups: Vec<Vec<&Family<'a>>> = Vec::new();
    for family in families.iter().filter(strong) {
        match groups.iter_mut().find(|group| alike(group[0], family)) {
            Some(group) => group.push(family),
            None => groups.push(vec![family]),
        }
    }
    groups.iter().filter(|group| group.len() > 1).flat_map(|group| of_group(group)).collect()
}

fn of_group<'a>(group: &[&Family<'a>]) -> Vec<Mean<'a>> {
    let mut counts: Vec<u64> = group.iter().flat_map(|f| f.members.iter().map(|m| m.n)).collect();
    counts.sort_unstable();
    counts.dedup();
    let mean = |n: u64| {
        let members: Vec<_> =
            group.iter().flat_map(|f| f.members.iter().filter(|m| m.n == n)).collect();
        let of = |value: fn(&super::Member<'a>) -> Option<f64>| {
            let values: Vec<f64> = members.iter().filter_map(|member| value(member)).collect();
            geometric_mean(&values)
        };
        Some(Mean {
            case: group[0].case(),
            kind: group[0].kind,
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
