//! Ranks.

use super::*;
use crate::common::{graph_of, skewed, star};
use hivegraph::verify::{PagerankCheck, PagerankQuestion, pagerank};

const FIXED: PagerankQuestion = PagerankQuestion {
    damping: 0.85,
    iterations: 12,
    tolerance: None,
    weighted: false,
    personal: None,
};

/// Ranks by pushing along a list of arcs.
fn brute_ranks(graph: &Graph, question: &PagerankQuestion) -> Vec<f64> {
    let n = graph.nodes();
    let weight = |w: f32| if question.weighted { f64::from(w) } else { 1.0 };
    let teleport: Vec<f64> = question.personal.map_or(vec![1.0 / n as f64; n], <[f64]>::to_vec);
    let mut ranks = teleport.clone();
    for _ in 0..question.iterations {
        let mut arrived = vec![0.0; n];
        let mut dangling = 0.0;
        for (u, rank) in ranks.iter().enumerate() {
            let out: f64 = graph.neighbors(u).map(|(_, w)| weight(w)).sum();
            if out == 0.0 {
                dangling += rank;
            } else {
                graph.neighbors(u).for_each(|(v, w)| {
                    arrived[v as usize] += rank * weight(w) / out;
                });
            }
        }
        let d = question.damping;
        let next = |v: usize| (1.0 - d) * teleport[v] + d * (arrived[v] + dangling * teleport[v]);
        ranks = (0..n).map(next).collect();
    }
    ranks
}

fn rounded(ranks: &[f64]) -> Vec<f32> {
    ranks.iter().map(|&rank| rank as f32).collect()
}

/// Where 0 -> {1, 2}, 1 -> 2, 2 -> 0, and 3 only points at 2, nothing leaves 4.
fn small() -> Graph {
    graph_of_pairs(5, &[(0, 1), (0, 2), (1, 2), (2, 0), (3, 2), (2, 4)])
}

#[test]
fn right_ranks_are_accepted_and_measured() {
    for graph in [small(), skewed(11, 6, 4), star(3000), graph_of_pairs(1, &[])] {
        let ranks = rounded(&brute_ranks(&graph, &FIXED));
        let PagerankCheck { l1_error, residual, sum, .. } =
            pagerank(&graph, &ranks, &FIXED).unwrap();
        assert!(l1_error.is_some_and(|error| error < 1e-7));
        assert!((sum - 1.0).abs() < 1e-6 && (0.0..0.3).contains(&residual));
    }
}

#[test]
fn each_wrong_rank_is_refused_for_its_reason() {
    let graph = small();
    let right = rounded(&brute_ranks(&graph, &FIXED));
    let with = |v: usize, rank: f32| {
        let mut broken = right.clone();
        broken[v] = rank;
        pagerank(&graph, &broken, &FIXED)
    };
    refused(with(3, f32::NAN), 3, "is not a finite number");
    refused(with(1, f32::INFINITY), 1, "is not a finite number");
    refused(with(2, -0.1), 2, "rank -0.1 is negative");
    refused_saying(with(2, right[2] + 1e-4), "the ranks sum to 1.000");
    // One gives another what keeps the sum.
    let mut broken = right.clone();
    (broken[1], broken[2]) = (right[1] + 1e-4, right[2] - 1e-4);
    refused(pagerank(&graph, &broken, &FIXED), 1, "from 12 iterations in f64");
    let doubled: Vec<f32> = right.iter().map(|rank| rank * 5.0).collect();
    refused_saying(pagerank(&graph, &doubled, &FIXED), "the ranks sum to 5");
    refused_saying(pagerank(&graph, &right[1..], &FIXED), "4 ranks, but the graph has 5 nodes");
    for other in [
        PagerankQuestion { iterations: 11, ..FIXED },
        PagerankQuestion { damping: 0.849, ..FIXED },
        PagerankQuestion { personal: Some(&[0.0, 0.0, 0.0, 0.0, 1.0]), ..FIXED },
    ] {
        refused_saying(pagerank(&graph, &right, &other), "iterations in f64");
    }
}

#[test]
fn dangling_ranks_that_stay_where_they_are_are_refused() {
    // As if a dangling node kept its rank.
    let graph = graph_of_pairs(4, &[(0, 1), (1, 2), (2, 0), (0, 3)]);
    let looped = graph_of_pairs(4, &[(0, 1), (1, 2), (2, 0), (0, 3), (3, 3)]);
    let stays = rounded(&brute_ranks(&looped, &FIXED));
    pagerank(&looped, &stays, &FIXED).unwrap();
    refused(pagerank(&graph, &stays, &FIXED), 3, "furthest off");
}

#[test]
fn a_claim_to_have_converged_is_held_to_its_tolerance() {
    let graph = skewed(11, 6, 4);
    let ask = |iterations, tolerance| PagerankQuestion {
        iterations,
        tolerance: Some(tolerance),
        ..FIXED
    };
    for (iterations, tolerance) in [(60, 1e-6), (20, 1e-2)] {
        let ranks = rounded(&brute_ranks(&graph, &ask(iterations, tolerance)));
        let seen = pagerank(&graph, &ranks, &ask(iterations, tolerance)).unwrap();
        assert!(seen.residual < tolerance + 1e-6);
    }
    let early = rounded(&brute_ranks(&graph, &ask(3, 1e-6)));
    refused_saying(pagerank(&graph, &early, &ask(3, 1e-6)), "residual");
}

#[test]
fn a_question_that_makes_no_sense_is_bad_input() {
    let graph = small();
    let right = rounded(&brute_ranks(&graph, &FIXED));
    let ask = |question: PagerankQuestion| pagerank(&graph, &right, &question);
    no_question(ask(PagerankQuestion { damping: 1.5, ..FIXED }), "damping 1.5");
    no_question(ask(PagerankQuestion { damping: f64::NAN, ..FIXED }), "damping NaN");
    no_question(ask(PagerankQuestion { tolerance: Some(-1.0), ..FIXED }), "tolerance of -1");
    no_question(ask(PagerankQuestion { personal: Some(&[1.0]), ..FIXED }), "1 values");
    let halves = [0.5, 0.5, 0.5, 0.0, -0.5];
    no_question(ask(PagerankQuestion { personal: Some(&halves), ..FIXED }), "sums to 1");
}

/// Weighted graphs, some with weights of 0, and a teleport.
fn questions() -> impl Strategy<Value = (Graph, Option<Vec<f64>>, bool, u32, f64)> {
    let weights = prop::collection::vec(0u32..4, 64);
    let teleport = prop::option::of(prop::collection::vec(0u32..5, 14));
    let rest = (any::<bool>(), 0u32..15, 0.0..1.0);
    (graphs(), weights, teleport, rest).prop_map(|(graph, weights, teleport, rest)| {
        let (weighted, iterations, damping) = rest;
        let n = graph.nodes();
        let weight = |&(i, (u, v)): &(usize, (usize, usize))| {
            (u as u32, v as u32, weights[i % 64] as f32 * 0.5)
        };
        let arcs: Vec<Arc> = arcs(&graph).into_iter().enumerate().map(|a| weight(&a)).collect();
        let shares = teleport.map(|shares| {
            let sum: u32 = shares[..n].iter().sum();
            let even = |share: u32| match sum {
                0 => 1.0 / n as f64,
                sum => f64::from(share) / f64::from(sum),
            };
            shares[..n].iter().map(|&share| even(share)).collect()
        });
        (graph_of(n, &arcs), shares, weighted, iterations, damping)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..Default::default() })]

    #[test]
    fn ranks_are_accepted_where_they_are_brute_forces_and_refused_where_one_is_off(
        (graph, personal, weighted, iterations, damping) in questions(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        share in 1e-4f32..1.0,
    ) {
        let personal = personal.as_deref();
        let question = PagerankQuestion { damping, iterations, weighted, personal, ..FIXED };
        let mut ranks = rounded(&brute_ranks(&graph, &question));
        let seen = pagerank(&graph, &ranks, &question).unwrap();
        prop_assert!(seen.l1_error.is_some_and(|error| error < 1e-6));
        let (from, to) = (from.index(ranks.len()), to.index(ranks.len()));
        let moved = ranks[from] * share;
        if from != to && moved > 1e-6 {
            ranks[from] -= moved;
            ranks[to] += moved;
            refused_saying(pagerank(&graph, &ranks, &question), "furthest off");
        }
    }
}
