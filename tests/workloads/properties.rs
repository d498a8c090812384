//! Random small graphs: shortest paths equal a serial Dijkstra to the bit, whatever the weights, the
//! merge, the layout and the bucket width.

use crate::common;

use crate::common::Arc as GraphArc;
use hivegraph::algorithm::sssp::Turns;
use hivegraph::algorithm::{MergeMode, Precision, ShortestPaths, VnConfig};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{Layout, PrepareOptions, Prepared};
use hivegraph::run::Choice;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestCaseError, TestCaseResult, TestRunner};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A directed graph with loops and parallel arcs, and where to start.
#[derive(Debug, Clone)]
struct Instance {
    nodes: u32,
    arcs: Vec<GraphArc>,
    /// Whether the arcs' weights are dropped: every arc counts 1.
    unit: bool,
    seeds: Vec<u32>,
    /// Shares of all arcs above which a push turns to pulls and below which they turn back.
    turns: (f64, f64),
}

impl Instance {
    fn graph(&self) -> Arc<Graph> {
        let build = if self.unit { common::unweighted_graph_of } else { common::graph_of };
        Arc::new(build(self.nodes as usize, &self.arcs))
    }
}

/// Whether weights are dropped, and what they are drawn from.
type Weights = (bool, BoxedStrategy<f32>);

/// Weights of one kind: few distinct ones with zeros, integers, any finite float that is not negative,
/// fractions, ones.
fn weights() -> impl Strategy<Value = Weights> {
    let finite = (0u32..0x7f80_0000).prop_map(f32::from_bits);
    prop_oneof![
        Just((false, prop::sample::select(vec![0.0f32, 0.0, 0.25, 1.0, 3.5e-8, 1e7]).boxed())),
        Just((false, (0u32..64).prop_map(|w| w as f32).boxed())),
        Just((false, finite.boxed())),
        Just((false, (0.0f32..1.0).boxed())),
        Just((false, Just(1.0f32).boxed())),
        Just((true, Just(1.0f32).boxed())),
    ]
}

/// Nodes for three chunks of whole words as often as not; from no arcs to 8 a node; half of the graphs
/// have a chain through all nodes, so that they are deep.
fn instances(weights: impl Strategy<Value = Weights>) -> impl Strategy<Value = Instance> {
    (prop_oneof![1u32..64, 64u32..400], weights, any::<bool>()).prop_flat_map(
        |(nodes, (unit, weight), deep)| {
            let arc = (0..nodes, 0..nodes, weight.clone());
            let chain = if deep { nodes as usize - 1 } else { 0 };
            (
                prop::collection::vec(arc, 0..nodes as usize * 8),
                prop::collection::vec(weight, chain),
                prop::collection::btree_set(0..nodes, 1..=(nodes as usize).min(6)),
                prop::sample::select(vec![(1.0 / 32.0, 1.0 / 128.0), (0.0, 0.0), (1.0, 1.0)]),
            )
                .prop_map(move |(mut arcs, chain, seeds, turns)| {
                    arcs.extend((0..).zip(chain).map(|(v, w)| (v, v + 1, w)));
                    let seeds = seeds.into_iter().collect();
                    Instance { nodes, arcs, unit, seeds, turns }
                })
        },
    )
}

fn fleet() -> Fleet {
    let more = FleetConfig { deadline_s: 30.0, ..FleetConfig::default() };
    common::open("host:3", CollectiveKind::Host, more)
}

/// Runs `property` on random instances, and on one fleet.
fn for_all_instances(
    cases: u32,
    instances: impl Strategy<Value = Instance>,
    property: impl Fn(&Fleet, Instance) -> TestCaseResult,
) {
    let fleet = fleet();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let ended = TestRunner::new(config).run(&instances, |instance| property(&fleet, instance));
    ended.unwrap_or_else(|e| panic!("{e}"));
}

/// The answer in one form of running.
fn solve(
    fleet: &Fleet,
    instance: &Instance,
    graph: &Arc<Graph>,
    (layout, merge, delta): (Layout, MergeMode, Choice<f32>),
) -> Result<ShortestPaths, TestCaseError> {
    let options = PrepareOptions { layout, ..PrepareOptions::default() };
    let (pull_above, push_below) = instance.turns;
    let config = VnConfig {
        delta,
        precision: Precision::F32,
        turns: Turns { pull_above, push_below },
        predecessors: true,
        nominee: true,
        run: common::compared(merge),
        ..VnConfig::default()
    };
    let failed =
        |e: hivegraph::Error| TestCaseError::fail(format!("{layout} {merge} {delta:?}: {e}"));
    let prepared = Prepared::new(fleet, graph.clone(), options).map_err(failed)?;
    common::paths_from(fleet, &prepared, &instance.seeds, &config).map_err(failed)
}

fn bits(distances: &[f32]) -> Vec<u32> {
    distances.iter().map(|d| d.to_bits()).collect()
}

/// Bucket widths: chosen, one bucket, and narrower than most weights.
const DELTAS: [Choice<f32>; 3] = [Choice::Auto, Choice::Is(f32::INFINITY), Choice::Is(0.3)];
const MERGES: [MergeMode; 3] = [MergeMode::Auto, MergeMode::Dense, MergeMode::Split];
const LAYOUTS: [Layout; 2] = [Layout::Raw, Layout::Degree];

/// How many of [`DELTAS`] a merge mode takes: others are refused.
fn widths(merge: MergeMode) -> usize {
    match merge {
        MergeMode::Dense => 1,
        MergeMode::Split => 2,
        _ => 3,
    }
}

/// Every form of running on one instance.
fn agrees_with_the_oracle(fleet: &Fleet, instance: Instance) -> TestCaseResult {
    let graph = instance.graph();
    let oracle = common::answer(&graph, &instance.seeds);
    for layout in LAYOUTS {
        for merge in MERGES {
            for delta in DELTAS.into_iter().take(widths(merge)) {
                let answer = solve(fleet, &instance, &graph, (layout, merge, delta))?;
                let what = format!("{layout} {merge} {delta:?}");
                prop_assert_eq!(bits(&answer.distances), bits(&oracle.distances), "{}", &what);
                prop_assert_eq!(&answer.predecessors, &oracle.predecessors, "{}", &what);
                prop_assert_eq!(&answer.nominees, &oracle.nominees, "{}", &what);
                hivegraph::verify::sssp(&graph, &instance.seeds, &answer.found())
                    .map_err(|e| TestCaseError::fail(format!("{what}: {e}")))?;
            }
        }
    }
    Ok(())
}

#[test]
fn every_form_of_running_gives_dijkstras_distances_predecessors_and_nominees() {
    for_all_instances(300, instances(weights()), agrees_with_the_oracle);
}

/// Weights whose sums overflow f32: such a sum reaches nobody.
fn huge() -> impl Strategy<Value = Weights> {
    Just((false, prop::sample::select(vec![1.0f32, 1.5e38, 3e38]).boxed()))
}

#[test]
fn sums_that_overflow_reach_nobody_and_give_nobody_a_predecessor_or_nominee() {
    for_all_instances(100, instances(huge()), agrees_with_the_oracle);
}

/// A permutation of 0..n by sorting hashes.
fn permutation(n: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    order.sort_by_key(|v| common::hash(seed, u64::from(*v)));
    order
}

#[test]
fn permuted_ids_permute_the_distances_and_nothing_else() {
    for_all_instances(200, instances(weights()), |fleet, instance| {
        let to = permutation(instance.nodes, instance.arcs.len() as u64);
        let moved = |v: u32| to[v as usize];
        let permuted = Instance {
            arcs: instance.arcs.iter().rev().map(|&(u, v, w)| (moved(u), moved(v), w)).collect(),
            seeds: instance.seeds.iter().map(|s| moved(*s)).collect(),
            ..instance.clone()
        };
        let (graph, other) = (instance.graph(), permuted.graph());
        for form in [
            (Layout::Auto, MergeMode::Auto, Choice::Auto),
            (Layout::Degree, MergeMode::Split, Choice::Is(f32::INFINITY)),
            (Layout::Raw, MergeMode::Dense, Choice::Auto),
            (Layout::Raw, MergeMode::Auto, Choice::Is(0.3)),
        ] {
            let here = solve(fleet, &instance, &graph, form)?;
            let there = solve(fleet, &permuted, &other, form)?;
            let back: Vec<f32> = to.iter().map(|v| there.distances[*v as usize]).collect();
            prop_assert_eq!(bits(&here.distances), bits(&back), "{:?}", form);
            nominees_are_distances(&permuted, &other, &there)?;
        }
        Ok(())
    });
}

/// Ties of nominees go to the smallest id, which a permutation changes; what it must not change is that
/// from the nominee alone a node is as far as from all seeds.
fn nominees_are_distances(
    instance: &Instance,
    graph: &Graph,
    answer: &ShortestPaths,
) -> TestCaseResult {
    let nominees = answer.nominees.as_ref().expect("asked for");
    let named: BTreeSet<u32> = nominees.iter().copied().filter(|s| *s != u32::MAX).collect();
    for seed in named {
        prop_assert!(instance.seeds.contains(&seed), "{} is no seed", seed);
        let alone = common::dijkstra_f32(graph, &[seed]);
        for v in (0..graph.nodes()).filter(|v| nominees[*v] == seed) {
            prop_assert_eq!(alone[v].to_bits(), answer.distances[v].to_bits(), "node {}", v);
        }
    }
    Ok(())
}

#[test]
fn the_random_graphs_have_what_they_are_meant_to_have() {
    let mut runner = TestRunner::deterministic();
    let (mut loops, mut parallels, mut zeros, mut unreached, mut many) = (0, 0, 0, 0, 0);
    for _ in 0..100 {
        let instance = instances(weights()).new_tree(&mut runner).unwrap().current();
        let pairs: BTreeSet<(u32, u32)> = instance.arcs.iter().map(|a| (a.0, a.1)).collect();
        let distances = common::dijkstra_f32(&instance.graph(), &instance.seeds);
        loops += usize::from(instance.arcs.iter().any(|a| a.0 == a.1));
        parallels += usize::from(pairs.len() < instance.arcs.len());
        zeros += usize::from(instance.arcs.iter().any(|a| a.2 == 0.0));
        unreached += usize::from(distances.iter().any(|d| d.is_infinite()));
        many += usize::from(instance.nodes > 192);
    }
    let seen = [loops, parallels, zeros, unreached, many];
    assert!(seen.iter().all(|count| *count >= 3), "{seen:?}");
}
