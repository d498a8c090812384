//! For any graph, seeds and claim: the verifier accepts exactly what the oracles compute.

use crate::common::*;
use hivegraph::Error;
use hivegraph::algorithm::ShortestPaths;
use hivegraph::graph::Graph;
use hivegraph::verify::sssp;
use proptest::prelude::*;

/// Weights that tie, vanish, are absorbed, overflow, or are ordinary.
fn weight() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => (0u8..4).prop_map(f32::from),
        2 => 0.0f32..10.0,
        1 => Just(0.0f32),
        1 => Just(1e-45f32),
        1 => Just(16_777_216.0f32),
        1 => Just(f32::MAX),
    ]
}

/// A graph of 2 to 23 nodes with parallel arcs and self loops, and one to four seeds.
fn graph_and_seeds() -> impl Strategy<Value = (Graph, Vec<u32>)> {
    (2u32..24).prop_flat_map(|n| {
        let arcs = prop::collection::vec((0..n, 0..n, weight()), 0..80);
        let seeds = prop::collection::btree_set(0..n, 1..5);
        (arcs, seeds, any::<bool>()).prop_map(move |(arcs, seeds, weighted)| {
            let make = if weighted { graph_of } else { unweighted_graph_of };
            (make(n as usize, &arcs), seeds.into_iter().collect())
        })
    })
}

/// A distance that might be mistaken for the right one: another node's, a near one, a wild one.
fn claim(dist: &[f32], v: usize, kind: u8, other: usize) -> f32 {
    match kind {
        0 => dist[other % dist.len()],
        1 => dist[v].next_up(),
        2 => dist[v].next_down(),
        3 => f32::INFINITY,
        4 => 0.0,
        5 => f32::NAN,
        6 => -0.0,
        _ => other as f32,
    }
}

/// The refusal names the lowest node at which `broken` and `right` differ; no difference is accepted.
fn judged_exactly<T: Copy>(
    (graph, seeds, answer): (&Graph, &[u32], &ShortestPaths),
    (broken, right): (&[T], &[T]),
    bits: impl Fn(T) -> u32,
) {
    let first = broken.iter().zip(right).position(|(&a, &b)| bits(a) != bits(b));
    match (first, sssp(graph, seeds, &answer.found())) {
        (None, Ok(_)) => {}
        (Some(v), Err(Error::Verify(message))) => {
            assert!(message.contains(&format!("node {v}: ")), "node {v} expected: {message}");
        }
        (first, result) => panic!("first wrong node {first:?}, but the verifier says {result:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_oracle_is_always_accepted((graph, seeds) in graph_and_seeds()) {
        let answer = answer(&graph, &seeds);
        sssp(&graph, &seeds, &answer.found()).expect("a right answer");
    }

    #[test]
    fn distances_are_accepted_if_and_only_if_their_bits_are_the_oracles(
        (graph, seeds) in graph_and_seeds(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8, 0usize..30), 1..5),
    ) {
        let right = dijkstra_f32(&graph, &seeds);
        let mut distances = right.clone();
        for (at, kind, other) in edits {
            let v = at.index(distances.len());
            distances[v] = claim(&distances, v, kind, other);
        }
        let answer = ShortestPaths { distances, ..Default::default() };
        judged_exactly((&graph, &seeds, &answer), (&answer.distances, &right), f32::to_bits);
    }

    #[test]
    fn distances_lowered_as_a_whole_component_are_refused(
        (graph, seeds) in graph_and_seeds(), d in weight(),
    ) {
        // All unreached nodes agree on a distance: zero-weight and absorbing arcs among them are
        // tight, but hang from no seed.
        let right = dijkstra_f32(&graph, &seeds);
        let distances: Vec<f32> = right.iter().map(|&x| x.min(d)).collect();
        let answer = ShortestPaths { distances, ..Default::default() };
        judged_exactly((&graph, &seeds, &answer), (&answer.distances, &right), f32::to_bits);
    }

    #[test]
    fn predecessors_are_accepted_if_and_only_if_they_are_the_oracles(
        (graph, seeds) in graph_and_seeds(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..25), 1..4),
    ) {
        let mut answer = answer(&graph, &seeds);
        let right = answer.predecessors.clone().expect("predecessors");
        let mut broken = right.clone();
        for (at, claim) in edits {
            let v = at.index(broken.len());
            broken[v] = if claim == 24 { NONE } else { claim };
        }
        answer.predecessors = Some(broken.clone());
        judged_exactly((&graph, &seeds, &answer), (&broken, &right), |v| v);
    }

    #[test]
    fn nominees_are_accepted_if_and_only_if_they_are_the_oracles(
        (graph, seeds) in graph_and_seeds(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6), 1..6),
    ) {
        let mut answer = answer(&graph, &seeds);
        let right = answer.nominees.clone().expect("nominees");
        let mut broken = right.clone();
        for (at, claim) in edits {
            let v = at.index(broken.len());
            broken[v] = seeds.get(claim).copied().unwrap_or(NONE);
        }
        answer.nominees = Some(broken.clone());
        judged_exactly((&graph, &seeds, &answer), (&broken, &right), |v| v);
    }

    #[test]
    fn an_answer_for_other_seeds_is_refused_unless_it_is_the_same(
        (graph, seeds) in graph_and_seeds(), extra in any::<prop::sample::Index>(),
    ) {
        let extra = extra.index(graph.nodes()) as u32;
        let mut more = seeds.clone();
        more.push(extra);
        let answer = ShortestPaths {
            distances: dijkstra_f32(&graph, &more), ..Default::default()
        };
        let right = dijkstra_f32(&graph, &seeds);
        judged_exactly((&graph, &seeds, &answer), (&answer.distances, &right), f32::to_bits);
    }
}
