//! The verifier accepts what the oracles compute, and refuses every way to break it by name.

use crate::common::*;
use hivegraph::Error;
use hivegraph::algorithm::ShortestPaths;
use hivegraph::graph::Graph;
use hivegraph::verify::{PathsCheck, distances_bits_equal, sssp};

/// The verifier's message; the answer must be refused.
fn refusal(graph: &Graph, seeds: &[u32], answer: &ShortestPaths) -> String {
    match sssp(graph, seeds, &answer.found()) {
        Err(Error::Verify(message)) => message,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// Asserts that the answer is refused and that the message names `node` and says `what`.
#[track_caller]
fn refused(graph: &Graph, seeds: &[u32], answer: &ShortestPaths, node: usize, what: &str) {
    let message = refusal(graph, seeds, answer);
    assert!(message.contains(&format!("node {node}: ")), "node {node} expected: {message}");
    assert!(message.contains(what), "{what:?} expected: {message}");
}

fn accepted(graph: &Graph, seeds: &[u32], answer: &ShortestPaths) -> PathsCheck {
    sssp(graph, seeds, &answer.found()).expect("a right answer")
}

/// The answer with one distance changed.
fn with_distance(answer: &ShortestPaths, v: usize, distance: f32) -> ShortestPaths {
    let mut broken = answer.clone();
    broken.distances[v] = distance;
    broken
}

/// Some nodes of the graph, a few from everywhere.
fn sample(graph: &Graph) -> impl Iterator<Item = usize> {
    let n = graph.nodes();
    (0..n).step_by(n / 12).chain([n - 1])
}

fn predecessors(answer: &mut ShortestPaths) -> &mut Vec<u32> {
    answer.predecessors.as_mut().expect("predecessors")
}

fn nominees(answer: &mut ShortestPaths) -> &mut Vec<u32> {
    answer.nominees.as_mut().expect("nominees")
}

#[test]
fn every_oracle_answer_is_accepted_and_counted() {
    for (name, graph, seeds) in zoo() {
        assert!(graph.nodes() >= 4096, "{name}");
        let answer = answer(&graph, &seeds);
        let checked = accepted(&graph, &seeds, &answer);
        let reached: Vec<usize> =
            (0..graph.nodes()).filter(|&v| answer.distances[v].is_finite()).collect();
        assert_eq!(checked.reached, reached.len() as u64, "{name}");
        let arcs: u64 = reached.iter().map(|&v| graph.degree(v)).sum();
        assert_eq!(checked.reached_arcs, arcs, "{name}");
        let max = reached.iter().map(|&v| answer.distances[v]).fold(0.0, f32::max);
        assert_eq!(checked.max_distance, f64::from(max), "{name}");
        assert!(checked.predecessors && checked.nominees && checked.overflowed_arcs == 0, "{name}");
        assert!(reached.len() > 1000, "{name}: only {} nodes reached", reached.len());
    }
}

#[test]
fn the_zoo_holds_the_trouble_that_it_is_meant_to_hold() {
    let isolated = |graph: &Graph| (0..graph.nodes()).filter(|&v| graph.degree(v) == 0).count();
    assert!(isolated(&skewed(12, 8, 1)) > 100);
    assert!(isolated(&two_components(4200)) > 200);
    assert!(star(4300).degree(0) == 4299);
    assert!(grid(66, 64, false, 2).weights().is_none());
    let absorbing = absorbing(4100);
    let dist = dijkstra_f32(&absorbing, &[0]);
    let tight = tight_arcs(&absorbing, &dist).len() as u64;
    assert!(tight > absorbing.arcs() / 2, "absorption makes most arcs tight: {tight}");
    let zeros = zeros_and_parallels(4200);
    let loops = (0..4200).flat_map(|u| zeros.neighbors(u).filter(move |a| a.0 as usize == u));
    assert!(loops.count() > 500);
}

#[test]
fn f32_distances_stay_close_to_f64_distances() {
    for (name, graph, seeds) in zoo() {
        let exact = dijkstra_f64(&graph, &seeds);
        for (v, d) in dijkstra_f32(&graph, &seeds).iter().enumerate() {
            assert_eq!(d.is_finite(), exact[v].is_finite(), "{name}, node {v}");
            if d.is_finite() {
                approx::assert_relative_eq!(f64::from(*d), exact[v], max_relative = 1e-4);
            }
        }
    }
}

#[test]
fn distances_alone_are_enough() {
    let (graph, seeds) = (grid(64, 70, true, 2), vec![9]);
    let distances = dijkstra_f32(&graph, &seeds);
    let checked = accepted(&graph, &seeds, &ShortestPaths { distances, ..Default::default() });
    assert!(!checked.predecessors && !checked.nominees);
}

#[test]
fn seeds_may_come_in_any_order_and_twice() {
    let graph = directed(4500, 3, 6);
    let answer = answer(&graph, &[4, 8, 2000]);
    accepted(&graph, &[2000, 4, 8, 4], &answer);
}

#[test]
fn a_distance_one_ulp_higher_or_lower_is_refused_by_name() {
    for (name, graph, seeds) in zoo() {
        let answer = answer(&graph, &seeds);
        let reached = |v: &usize| answer.distances[*v].is_finite() && answer.distances[*v] > 0.0;
        let mut tried = 0;
        for v in sample(&graph).filter(reached) {
            let d = answer.distances[v];
            refused(&graph, &seeds, &with_distance(&answer, v, d.next_up()), v, "is too high");
            refused(&graph, &seeds, &with_distance(&answer, v, d.next_down()), v, "is too low");
            tried += 1;
        }
        assert!(tried > 0, "{name}");
    }
}

#[test]
fn a_reached_node_called_unreached_is_refused_by_name() {
    for (_, graph, seeds) in zoo() {
        let answer = answer(&graph, &seeds);
        for v in sample(&graph).filter(|&v| answer.distances[v].is_finite()) {
            let broken = with_distance(&answer, v, f32::INFINITY);
            refused(&graph, &seeds, &broken, v, "distance inf is too high");
        }
    }
}

#[test]
fn an_unreached_node_given_a_distance_is_refused_by_name() {
    let (graph, seeds) = (two_components(4200), vec![1, 3]);
    let answer = answer(&graph, &seeds);
    for v in sample(&graph).filter(|&v| answer.distances[v].is_infinite()) {
        for claim in [0.0, 1.5, f32::MAX] {
            let broken = with_distance(&answer, v, claim);
            refused(&graph, &seeds, &broken, v, "no seed reaches it");
        }
    }
}

#[test]
fn nan_negative_and_negative_zero_distances_are_refused_by_name() {
    for (_, graph, seeds) in zoo() {
        let answer = answer(&graph, &seeds);
        for v in sample(&graph).chain([seeds[0] as usize]) {
            let broken = |claim| with_distance(&answer, v, claim);
            refused(&graph, &seeds, &broken(f32::NAN), v, "is not a number");
            for negative in [-1.0, -0.0, f32::NEG_INFINITY, -1e-45] {
                refused(&graph, &seeds, &broken(negative), v, "is negative");
            }
        }
    }
}

#[test]
fn a_zero_weight_cycle_floating_free_of_any_seed_is_refused() {
    // 0 -> 1 reaches nothing else; 2, 3, 4 are a cycle of weight 0 that props itself up.
    let arcs = [(0, 1, 1.0), (2, 3, 0.0), (3, 4, 0.0), (4, 2, 0.0)];
    let graph = graph_of(5, &arcs);
    let right = answer(&graph, &[0]);
    accepted(&graph, &[0], &right);
    let floating = |d| ShortestPaths { distances: vec![0.0, 1.0, d, d, d], ..Default::default() };
    refused(&graph, &[0], &floating(7.0), 2, "distance 7.0 is too low: no seed reaches it");
    refused(&graph, &[0], &floating(0.0), 2, "distance 0.0 is too low: no seed reaches it");
}

#[test]
fn a_cycle_held_below_its_distance_by_absorption_is_refused() {
    // The cycle 2 <-> 3 is reached at 2^24 + 2; claimed at 2^24 every arc inside it is tight.
    let far = 16_777_216.0;
    let graph = graph_of(4, &[(0, 1, far), (1, 2, 2.0), (2, 3, 0.5), (3, 2, 0.5)]);
    let right = answer(&graph, &[0]);
    assert_eq!(right.distances, [0.0, far, far + 2.0, far + 2.0]);
    accepted(&graph, &[0], &right);
    let distances = vec![0.0, far, far, far];
    let broken = ShortestPaths { distances, ..Default::default() };
    refused(&graph, &[0], &broken, 2, "is too low: the shortest is 16777218.0, by the arc from 1");
}

#[test]
fn a_seed_away_from_zero_is_refused_by_name() {
    for (_, graph, seeds) in zoo() {
        let answer = answer(&graph, &seeds);
        let v = seeds[0] as usize;
        refused(&graph, &seeds, &with_distance(&answer, v, 1e-45), v, "it is a seed");
        refused(&graph, &seeds, &with_distance(&answer, v, f32::INFINITY), v, "it is a seed");
    }
}

#[test]
fn an_answer_for_other_seeds_is_refused() {
    let graph = chain(5000);
    let answer = answer(&graph, &[0, 2500]);
    refused(&graph, &[0], &answer, 2500, "is too low: the shortest is");
    refused(&graph, &[0, 2500, 4000], &answer, 4000, "it is a seed, at distance 0");
    refused(&graph, &[1, 2500], &answer, 0, "no seed reaches it");
}

#[test]
fn the_lowest_of_several_wrong_nodes_is_named() {
    let (graph, seeds) = (grid(64, 70, true, 2), vec![0]);
    let mut broken = answer(&graph, &seeds);
    for v in [4000, 321, 2222] {
        broken.distances[v] = broken.distances[v].next_down();
    }
    refused(&graph, &seeds, &broken, 321, "is too low");
    broken.distances[55] = f32::NAN;
    refused(&graph, &seeds, &broken, 55, "distance NaN is not a number");
}

#[test]
fn nodes_are_named_by_the_ids_of_the_input() {
    let graph = graph_from_base(3, &[(0, 1, 1.5), (1, 2, 1.0)], 1);
    let right = answer(&graph, &[0]);
    let message = refusal(&graph, &[0], &with_distance(&right, 2, 3.0));
    let expected = "shortest paths, node 3: distance 3.0 is too high: the shortest is 2.5, \
                    by the arc from 2 of weight 1.0";
    assert_eq!(message, expected);
    let mut broken = right.clone();
    predecessors(&mut broken)[2] = 0;
    let expected = "shortest paths, node 3: predecessor 1 is wrong: the smallest node of tight \
                    level 1 with a tight arc to it is 2";
    assert_eq!(refusal(&graph, &[0], &broken), expected);
    let mut broken = right.clone();
    nominees(&mut broken)[1] = 2;
    let expected = "shortest paths, node 2: nominee 3 is wrong: the smallest seed with a tight \
                    chain to it is 1";
    assert_eq!(refusal(&graph, &[0], &broken), expected);
}

#[test]
fn any_change_of_a_predecessor_is_refused_by_name() {
    for (_, graph, seeds) in zoo() {
        let answer = answer(&graph, &seeds);
        for v in sample(&graph).chain([seeds[0] as usize]) {
            let held = predecessors(&mut answer.clone())[v];
            for claim in [0, NONE, NONE - 1, v as u32, held ^ 1, graph.nodes() as u32] {
                let mut broken = answer.clone();
                predecessors(&mut broken)[v] = claim;
                if claim != held {
                    refused(&graph, &seeds, &broken, v, "predecessor");
                }
            }
        }
    }
}

#[test]
fn a_tight_predecessor_that_is_not_the_smallest_is_refused() {
    let graph = graph_of(5, &[(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0), (3, 4, 0.0)]);
    let mut broken = answer(&graph, &[0]);
    predecessors(&mut broken)[3] = 2;
    refused(&graph, &[0], &broken, 3, "tight level 1 with a tight arc to it is 1");
}

#[test]
fn a_smaller_tight_predecessor_of_a_later_level_is_refused() {
    // 1 and 2 are both at distance 1; 1 is on level 2, behind 2. 3 hangs on both by weight 1.
    let graph = graph_of(4, &[(0, 2, 1.0), (2, 1, 0.0), (1, 3, 1.0), (2, 3, 1.0)]);
    let right = answer(&graph, &[0]);
    assert_eq!(right.predecessors, Some(vec![0, 2, 0, 2]));
    accepted(&graph, &[0], &right);
    let mut broken = right;
    predecessors(&mut broken)[3] = 1;
    refused(&graph, &[0], &broken, 3, "predecessor 1 is wrong");
}

#[test]
fn any_change_of_a_nominee_is_refused_by_name() {
    for (_, graph, seeds) in zoo() {
        let answer = answer(&graph, &seeds);
        for v in sample(&graph).chain([seeds[0] as usize]) {
            let held = nominees(&mut answer.clone())[v];
            let others = seeds.iter().copied();
            for claim in others.chain([NONE, NONE - 1, v as u32, graph.nodes() as u32]) {
                let mut broken = answer.clone();
                nominees(&mut broken)[v] = claim;
                if claim != held {
                    refused(&graph, &seeds, &broken, v, "nominee");
                }
            }
        }
    }
}

#[test]
fn a_seed_behind_a_smaller_seed_at_distance_zero_is_nominated_by_it() {
    let graph = graph_of(4, &[(0, 1, 0.0), (1, 2, 0.0), (2, 1, 0.0), (2, 3, 1.0)]);
    let right = answer(&graph, &[1, 2]);
    assert_eq!(right.nominees, Some(vec![NONE, 1, 1, 1]));
    accepted(&graph, &[1, 2], &right);
    let mut broken = right.clone();
    nominees(&mut broken)[2] = 2;
    refused(&graph, &[1, 2], &broken, 2, "nominee 2 is wrong");
    let mut broken = answer(&graph, &[0, 2]);
    assert_eq!(broken.nominees, Some(vec![0, 0, 0, 0]));
    nominees(&mut broken)[1..].fill(2);
    refused(&graph, &[0, 2], &broken, 1, "nominee 2 is wrong: the smallest seed");
}

#[test]
fn a_cycle_that_agrees_on_a_seed_with_no_chain_to_it_is_refused() {
    // Seeds 0 and 1; only 1 reaches the zero-weight cycle 2 <-> 3, at the distance of 0's arc to 4.
    let graph = graph_of(5, &[(0, 4, 1.0), (1, 2, 1.0), (2, 3, 0.0), (3, 2, 0.0)]);
    let right = answer(&graph, &[0, 1]);
    assert_eq!(right.nominees, Some(vec![0, 1, 1, 1, 0]));
    let mut broken = right;
    nominees(&mut broken)[2..4].fill(0);
    refused(&graph, &[0, 1], &broken, 2, "nominee 0 is wrong");
}

#[test]
fn arcs_that_overflow_are_counted_and_reach_nothing() {
    let graph = graph_of(4, &[(0, 1, f32::MAX), (1, 2, f32::MAX), (1, 0, f32::MAX), (2, 3, 1.0)]);
    let right = answer(&graph, &[0]);
    assert_eq!(right.distances, [0.0, f32::MAX, f32::INFINITY, f32::INFINITY]);
    let checked = accepted(&graph, &[0], &right);
    assert_eq!((checked.reached, checked.overflowed_arcs), (2, 2));
    refused(&graph, &[0], &with_distance(&right, 2, f32::MAX), 2, "no seed reaches it");
}

#[test]
fn arrays_of_another_length_are_refused() {
    let graph = chain(4096);
    let right = answer(&graph, &[0]);
    let mut broken = right.clone();
    broken.distances.pop();
    let message = refusal(&graph, &[0], &broken);
    assert_eq!(message, "the answer holds 4095 distances in f32, but the graph has 4096 nodes");
    let mut broken = right.clone();
    predecessors(&mut broken).push(0);
    assert!(refusal(&graph, &[0], &broken).contains("4097 predecessors"));
    let mut broken = right;
    nominees(&mut broken).clear();
    assert!(refusal(&graph, &[0], &broken).contains("0 nominees"));
}

#[test]
fn seeds_that_are_no_nodes_are_an_input_error() {
    let graph = chain(4096);
    let right = answer(&graph, &[0]);
    for seeds in [&[][..], &[4096], &[0, NONE]] {
        let error = sssp(&graph, seeds, &right.found()).expect_err("bad seeds");
        assert!(matches!(error, Error::Input(_)), "{error}");
    }
}

#[test]
fn the_first_difference_of_bits_is_named() {
    distances_bits_equal(&[0.0, f32::INFINITY], &[0.0, f32::INFINITY]).expect("equal");
    distances_bits_equal(&[f32::NAN], &[f32::NAN]).expect("the same bits");
    let error = distances_bits_equal(&[0.0, 0.0, 2.0], &[0.0, -0.0, 1.0]).expect_err("differ");
    let expected = "the distances differ first at index 1: 0.0 (0x00000000) against -0.0 \
                    (0x80000000)";
    assert_eq!(error.to_string(), expected);
    let error = distances_bits_equal(&[0.0], &[]).expect_err("lengths");
    assert_eq!(error.to_string(), "the distances differ in length: 1 against 0 nodes");
}
