//! Cells that differ in the number of replicas only, and what more replicas bring.

use super::{Case, Known, Scaling, grouped};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// One on each GPU.
    Gpu,
    Host,
    /// Several on each of this many GPUs.
    Shared(u64),
}

impl Kind {
    pub(crate) fn of(case: &Case) -> Kind {
        match case.gpus {
            0 => Kind::Host,
            gpus if gpus == case.replicas => Kind::Gpu,
            gpus => Kind::Shared(gpus),
        }
    }

    pub(crate) fn noun(self) -> &'static str {
        if self == Kind::Gpu { "GPUs" } else { "replicas" }
    }

    /// `1 GPU`, `4 replicas`.
    pub(crate) fn count(self, n: u64) -> String {
        let noun = if n == 1 { self.noun().trim_end_matches('s') } else { self.noun() };
        format!("{n} {noun}")
    }
}

/// Cells that differ in the number of replicas only; in a weak study, in the graph as well.
#[derive(Debug, Clone)]
pub(crate) struct Family<'a> {
    pub kind: Kind,
    /// By replicas, fewest first; never empty.
    pub members: Vec<Member<'a>>,
}

/// A measured cell, compared with the fewest replicas of its family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a> {
    pub case: &'a Case,
    /// GPUs or replicas.
    pub n: u64,
    pub median: f64,
    /// `None` in a family of one. Strong: the fewest replicas' time over this. Weak: this rate over the fewest replicas', where both tell it.
    pub speed_up: Option<f64>,
    /// Speed-up over what perfect scaling would give; weak: the fewest replicas' time over this.
    pub efficiency: Option<f64>,
}

impl<'a> Family<'a> {
    /// The first member's cell: all have its workload, settings and machine.
    pub(crate) fn case(&self) -> &'a Case {
        self.members[0].case
    }

    pub(crate) fn scales(&self) -> bool {
        self.members.len() > 1
    }

    /// Perfect speed-up on `n`.
    pub(crate) fn ideal(&self, n: u64) -> f64 {
        n as f64 / self.members[0].n as f64
    }
}

/// All families of these cells, in the order that their first members come.
pub(crate) fn families(cases: &[Case]) -> Vec<Family<'_>> {
    let measured = cases.iter().filter(|case| case.done().is_some());
    grouped(measured, |case| key(case)).into_iter().map(family).collect()
}

/// What all members share.
fn key(case: &Case) -> impl Ord + use<> {
    let (told, weak) = (case.settings.known == Known::All, case.scaling == Scaling::Weak);
    let study = (case.workload.clone(), case.scaling, case.series.clone());
    // Of a weak study the form of its graphs; else the graph. HIVE's records count some graphs' arcs now one way, now
    // another.
    let graph = match weak {
        true => (case.graph.clone(), None),
        false => (Some(case.dataset.clone()), case.nodes.zip(case.arcs).filter(|_| told)),
    };
    let how = (case.settings.clone(), case.variant.clone().filter(|_| !told));
    (study, graph, Kind::of(case), case.machine.clone(), how)
}

fn family(mut cases: Vec<&Case>) -> Family<'_> {
    cases.sort_by_key(|case| case.replicas);
    let base = cases[0];
    let mut members: Vec<Member<'_>> = cases.iter().map(|case| member(case, base)).collect();
    if let [alone] = members.as_mut_slice() {
        (alone.speed_up, alone.efficiency) = (None, None);
    }
    Family { kind: Kind::of(base), members }
}

fn member<'a>(case: &'a Case, base: &Case) -> Member<'a> {
    let median = case.median().unwrap_or_default();
    let over = |a: f64, b: f64| (a > 0.0 && b > 0.0).then(|| a / b);
    let faster = over(base.median().unwrap_or_default(), median);
    let ideal = case.replicas as f64 / base.replicas as f64;
    let rate = |case: &Case| case.done().and_then(|done| done.rate).unwrap_or_default();
    let (speed_up, efficiency) = match case.scaling {
        Scaling::Strong => (faster, faster.map(|times| times / ideal)),
        Scaling::Weak => (over(rate(case), rate(base)), faster),
    };
    Member { case, n: case.replicas, median, speed_up, efficiency }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Done, Outcome, Settings, Times};
    use super::*;

    pub(in super::super) fn case(workload: &str, dataset: &str, gpus: u64, median: f64) -> Case {
        let time = Times { median, mean: median, ..Times::default() };
        Case {
            workload: workload.into(),
            dataset: dataset.into(),
            gpus,
            replicas: gpus,
            machine: "H200".into(),
            settings: Settings { known: Known::All, ..Settings::default() },
            outcome: Outcome::Done(Box::new(Done {
                time,
                rate: Some(100.0 / median),
                ..Done::default()
            })),
            ..Case::default()
        }
    }

    /// The same with these options.
    pub(in super::super) fn with_options(mut case: Case, options: &[(&str, &str)]) -> Case {
        let owned = options.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        case.settings.options = owned.collect();
        case
    }

    #[test]
    fn speed_up_is_against_the_fewest_replicas_and_efficiency_against_perfect_scaling() {
        let cases = [case("vn", "a", 8, 2.0), case("vn", "a", 2, 6.0), case("vn", "b", 4, 1.0)];
        let families = families(&cases);
        assert_eq!(families.len(), 2);
        let last = families[0].members[1];
        assert_eq!((last.n, last.speed_up, last.efficiency), (8, Some(3.0), Some(0.75)));
        assert!(!families[1].scales());
    }

    #[test]
    fn replicas_that_share_a_gpu_are_a_family_of_their_own() {
        let mut shared = case("bfs", "a", 1, 4.0);
        shared.replicas = 4;
        assert_eq!(Kind::of(&shared), Kind::Shared(1));
        assert_eq!(families(&[case("bfs", "a", 1, 4.0), shared]).len(), 2);
    }

    #[test]
    fn a_time_of_zero_has_no_speed_up() {
        let cases = [case("vn", "a", 1, 1.0), case("vn", "a", 2, 0.0)];
        assert_eq!(families(&cases)[0].members[1].speed_up, None);
    }
}
