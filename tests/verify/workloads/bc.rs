//! Betweenness.

use super::*;
use crate::common::{goes_both_ways, grid, skewed};
use hivegraph::verify::{BetweennessQuestion, bc};

/// `[n, n]` distances, and numbers of shortest paths.
fn paths(graph: &Graph) -> (Vec<Vec<u32>>, Vec<Vec<f64>>) {
    let (n, mut arcs) = (graph.nodes(), arcs(graph));
    // Parallel arcs are one.
    arcs.dedup();
    let mut distance = vec![vec![NONE; n]; n];
    let mut count = vec![vec![0.0; n]; n];
    for s in 0..n {
        distance[s][s] = 0;
        count[s][s] = 1.0;
        for level in 0..n as u32 {
            for &(u, v) in &arcs {
                if distance[s][u] == level && distance[s][v] > level {
                    distance[s][v] = level + 1;
                    count[s][v] += count[s][u];
                }
            }
        }
    }
    (distance, count)
}

/// Raw scores by their definition, for each source, target and node between.
fn raw_scores(graph: &Graph, sources: &[u32], endpoints: bool) -> Vec<f64> {
    let (distance, count) = paths(graph);
    let n = graph.nodes();
    let mut raw = vec![0.0; n];
    for &s in sources {
        let s = s as usize;
        for t in (0..n).filter(|&t| t != s && distance[s][t] != NONE) {
            for v in (0..n).filter(|&v| endpoints || (v != s && v != t)) {
                let on = distance[s][v].saturating_add(distance[v][t]) == distance[s][t];
                raw[v] += if on { count[s][v] * count[v][t] / count[s][t] } else { 0.0 };
            }
        }
    }
    raw
}

/// networkx 3.6.1's `_rescale`, line by line.
fn rescaled(graph: &Graph, raw: &[f64], question: &BetweennessQuestion) -> Vec<f64> {
    let BetweennessQuestion { sources, normalized, endpoints, .. } = *question;
    let n = graph.nodes() as f64;
    let directed = !goes_both_ways(graph);
    let k = if sources.len() == graph.nodes() { None } else { Some(sources.len() as f64) };
    let pairs = if endpoints { n } else { n - 1.0 };
    if pairs < 2.0 {
        return raw.to_vec();
    }
    let k_source = k.unwrap_or(pairs);
    let correction = if directed { 1.0 } else { 2.0 };
    if k.is_none() || endpoints {
        let scale = match normalized {
            true => 1.0 / (k_source * (pairs - 1.0)),
            false => pairs / (k_source * correction),
        };
        return raw.iter().map(|score| score * scale).collect();
    }
    let (mut source, other) = match normalized {
        true => (1.0 / ((k_source - 1.0) * (pairs - 1.0)), 1.0 / (k_source * (pairs - 1.0))),
        false => (pairs / ((k_source - 1.0) * correction), pairs / (k_source * correction)),
    };
    if k_source <= 1.0 {
        source = f64::NAN;
    }
    let scale = |v: usize| if sources.contains(&(v as u32)) { source } else { other };
    raw.iter().enumerate().map(|(v, score)| score * scale(v)).collect()
}

fn brute_scores(graph: &Graph, question: &BetweennessQuestion) -> Vec<f64> {
    let raw = raw_scores(graph, question.sources, question.endpoints);
    rescaled(graph, &raw, question)
}

fn ask(sources: &[u32]) -> BetweennessQuestion<'_> {
    BetweennessQuestion {
        sources,
        targets: None,
        weighted: false,
        normalized: false,
        endpoints: false,
        tolerance: 1e-9,
    }
}

#[test]
fn scores_that_can_be_told_by_hand_are_accepted() {
    // A path of four, both ways; then one way.
    let path = [(0, 1), (1, 2), (2, 3)];
    let (both, one) = (graph_of_pairs(4, &mirrored(&path)), graph_of_pairs(4, &path));
    let all = [0, 1, 2, 3];
    for graph in [&both, &one] {
        let seen = bc(graph, &[0.0, 2.0, 2.0, 0.0], &ask(&all)).unwrap();
        assert_eq!((seen.checked_sources, seen.worst_error, seen.sum_error), (4, 0.0, Some(0.0)));
    }
    let ends = BetweennessQuestion { endpoints: true, ..ask(&all) };
    bc(&both, &[3.0, 5.0, 5.0, 3.0], &ends).unwrap();
    let share = BetweennessQuestion { normalized: true, ..ask(&all) };
    bc(&both, &[0.0, 2.0 / 3.0, 2.0 / 3.0, 0.0], &share).unwrap();
    // Parallel arcs are one, self loops none.
    let parallel = graph_of_pairs(4, &[(0, 1), (0, 1), (0, 2), (1, 3), (2, 3), (2, 2)]);
    bc(&parallel, &[0.0, 0.5, 0.5, 0.0], &ask(&all)).unwrap();
    // A chain whose first arc is there once more than its reverse.
    let chain = graph_of_pairs(4, &[(0, 1), (0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]);
    bc(&chain, &[0.0, 2.0, 2.0, 0.0], &ask(&all)).unwrap();
    bc(&chain, &[0.0, 4.0, 4.0, 0.0], &ask(&all)).unwrap_err();
}

#[test]
fn each_wrong_score_is_refused_for_its_reason() {
    let graph = graph_of_pairs(5, &mirrored(&[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]));
    let all = [0, 1, 2, 3, 4];
    let question = ask(&all);
    let right = brute_scores(&graph, &question);
    bc(&graph, &right, &question).unwrap();
    let with = |v: usize, score: f64| {
        let mut broken = right.clone();
        broken[v] = score;
        bc(&graph, &broken, &question)
    };
    // One path of the two that count counted once more: 2/3 of a pair instead of 1/2.
    refused(with(1, right[1] + 1.0 / 6.0), 1, "is too high, it is 1");
    refused(with(3, right[3] - 1e-6), 3, "is too low, it is 3.5");
    refused(with(4, 1e-6), 4, "is too high, it is 0");
    refused(with(2, f64::NAN), 2, "is not a finite number");
    refused(with(0, -1.0), 0, "is negative");
    let doubled: Vec<f64> = right.iter().map(|score| score * 2.0).collect();
    refused(bc(&graph, &doubled, &question), 0, "is too high");
    refused_saying(bc(&graph, &right[1..], &question), "4 scores, but the graph has 5");
    let shares = BetweennessQuestion { normalized: true, ..question };
    refused(bc(&graph, &right, &shares), 0, "is too high");
    refused(bc(&graph, &right, &ask(&all[..4])), 0, "it is");
}

#[test]
fn a_question_that_makes_no_sense_is_bad_input() {
    let graph = graph_of_pairs(3, &[(0, 1)]);
    no_question(bc(&graph, &[0.0; 3], &ask(&[])), "no source");
    no_question(bc(&graph, &[0.0; 3], &ask(&[3])), "index 3 is no node");
    no_question(bc(&graph, &[0.0; 3], &ask(&[1, 1])), "source 1 is there twice");
    let to = |targets| BetweennessQuestion { targets: Some(targets), ..ask(&[1]) };
    no_question(bc(&graph, &[0.0; 3], &to(&[0, 3])), "target index 3 is no node");
    no_question(bc(&graph, &[0.0; 3], &to(&[2, 2])), "target 2 is there twice");
    no_question(bc(&graph, &[0.0; 3], &to(&[])), "there is no target");
    let ends = BetweennessQuestion { endpoints: true, ..to(&[0]) };
    no_question(bc(&graph, &[0.0; 3], &ends), "endpoints count for paths to all nodes alone");
    let question = BetweennessQuestion { tolerance: f64::NAN, ..ask(&[1]) };
    no_question(bc(&graph, &[0.0; 3], &question), "tolerance of NaN");
}

#[test]
fn the_only_source_has_no_score_of_its_own() {
    let graph = graph_of_pairs(4, &[(0, 1), (1, 2), (2, 3)]);
    bc(&graph, &[f64::NAN, 6.0, 3.0, 0.0], &ask(&[0])).unwrap();
    bc(&graph, &[0.0, 6.0, 3.0, 0.0], &ask(&[0])).unwrap();
    refused(bc(&graph, &[1.0, 6.0, 3.0, 0.0], &ask(&[0])), 0, "is not NaN or 0");
    refused(bc(&graph, &[0.0, f64::NAN, 3.0, 0.0], &ask(&[0])), 1, "finite");
}

#[test]
fn paths_may_be_more_than_f64_can_count() {
    // From a corner C(r + c, r) paths lead to (r, c), up to some 2^1190: shares have a closed form.
    const SIDE: usize = 600;
    let graph = grid(SIDE as u32, SIDE as u32, false, 0);
    let mut raw = vec![0.0; SIDE * SIDE];
    for r in (0..SIDE).rev() {
        for c in (0..SIDE).rev() {
            let below = if r + 1 < SIDE { 1.0 + raw[(r + 1) * SIDE + c] } else { 0.0 };
            let right = if c + 1 < SIDE { 1.0 + raw[r * SIDE + c + 1] } else { 0.0 };
            let (down, across) = ((r + 1) as f64, (c + 1) as f64);
            raw[r * SIDE + c] = (down * below + across * right) / (r + c + 1) as f64;
        }
    }
    raw[0] = 0.0;
    let scale = (SIDE * SIDE - 1) as f64 / 2.0;
    let mut scores: Vec<f64> = raw.iter().map(|score| score * scale).collect();
    let seen = bc(&graph, &scores, &ask(&[0])).unwrap();
    assert!(
        seen.worst_error < 1e-11 && seen.sum_error.is_some_and(|error| error < 1e-11),
        "{seen:?}"
    );
    let middle = 300 * SIDE + 300;
    scores[middle] *= 1.0 + 1e-8;
    refused(bc(&graph, &scores, &ask(&[0])), middle as u64, "is too high");
}

#[test]
fn many_sources_are_searched_from_in_parallel() {
    let graph = skewed(8, 4, 9);
    for count in [1, 7, 200, 256] {
        let sources: Vec<u32> = (0..256).rev().take(count).collect();
        let question = ask(&sources);
        let seen = bc(&graph, &brute_scores(&graph, &question), &question).unwrap();
        assert!(seen.checked_sources == count as u64 && seen.worst_error < 1e-12, "{seen:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn scores_are_accepted_if_and_only_if_they_are_brute_forces(
        graph in graphs(),
        sources in prop::collection::btree_set(0usize..1000, 1..9),
        (all, normalized, endpoints) in any::<(bool, bool, bool)>(),
        at in any::<prop::sample::Index>(),
        off in prop_oneof![1e-6..2.0f64, -2.0..-1e-6f64],
    ) {
        let n = graph.nodes();
        let mut sources: Vec<u32> = sources.into_iter().map(|s| (s % n) as u32).collect();
        if all {
            sources = (0..n as u32).collect();
        }
        sources.sort_unstable();
        sources.dedup();
        let question = BetweennessQuestion { normalized, endpoints, ..ask(&sources) };
        let mut scores = brute_scores(&graph, &question);
        let seen = bc(&graph, &scores, &question).unwrap();
        prop_assert!(seen.worst_error < 1e-12 && seen.sum_error.is_some_and(|error| error < 1e-12));
        let v = at.index(n);
        // Off by a share of one pair.
        let pair = rescaled(&graph, &vec![1.0; n], &question)[v];
        scores[v] += off * pair * raw_scores(&graph, &sources, endpoints)[v].max(1.0);
        if pair.is_finite() {
            let id = graph.input_id(v as u32);
            refused(bc(&graph, &scores, &question), id, "score");
        }
    }
}
