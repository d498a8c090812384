//! Where Brandes' algorithm would be too much: distances and bounds alone.

use super::search::Paths;
use super::*;
use crate::graph::Origin;
use crate::hash::hash;

/// 300 nodes and 900 random arcs, both ways or not; some nodes without any.
fn random(both: bool) -> Graph {
    let pick = |i: u64| (hash(7, i) % 300) as u32;
    let mut arcs: Vec<(u32, u32)> = (0..900).map(|i| (pick(2 * i), pick(2 * i + 1))).collect();
    if both {
        arcs.extend(arcs.clone().into_iter().filter(|(u, v)| u != v).map(|(u, v)| (v, u)));
    }
    let (sources, targets): (Vec<u32>, Vec<u32>) = arcs.into_iter().unzip();
    Graph::from_arcs(300, &sources, &targets, None, Origin::default()).unwrap()
}

#[test]
fn many_sources_at_once_count_what_one_after_the_other_does() {
    for both in [false, true] {
        let graph = random(both);
        for count in [1, 63, 64, 65, 300] {
            let sources: Vec<u32> = (0..count).map(|i| (i * 7) % 300).collect();
            let seen = hops::count(&graph, &sources);
            let (mut reachers, mut reached) = (vec![0; 300], Vec::new());
            let (mut pairs, mut hops) = (0, 0);
            for &source in &sources {
                let mut search = Search::new(&graph);
                search.count_paths(source as usize);
                reached.push(search.order.len() as u32 - 1);
                for &v in &search.order[1..] {
                    reachers[v as usize] += 1;
                    pairs += 1;
                    hops += u128::from(search.at(v as usize));
                }
            }
            assert_eq!((seen.pairs, seen.hops), (pairs, hops));
            assert_eq!((seen.reachers, seen.reached), (reachers, reached));
            assert!(pairs > 100);
        }
    }
}

#[test]
fn without_brandes_right_scores_pass_and_sums_ends_and_impossible_scores_do_not() {
    let asked = [
        (false, false, false, 300),
        (true, true, true, 300),
        (true, false, true, 70),
        (false, true, false, 70),
    ];
    for (both, endpoints, normalized, count) in asked {
        let graph = random(both);
        let sources: Vec<u32> = (0..count).collect();
        let question = BetweennessQuestion {
            sources: &sources,
            targets: None,
            weighted: false,
            normalized,
            endpoints,
            tolerance: 1e-9,
        };
        let (raw, ..) = brandes(&graph, &sources, &question);
        let scale = Scale::of(&graph, &question).unwrap();
        let scores: Vec<f64> = (0..300).map(|v| raw[v] * scale.at(v)).collect();
        let seen = check(&graph, &scores, &question, 0).unwrap();
        assert_eq!((seen.checked_sources, seen.worst_error), (0, 0.0));
        assert_eq!(bc(&graph, &scores, &question).unwrap().checked_sources, u64::from(count));

        let refused = |broken: &[f64], what: &str| {
            let error = check(&graph, broken, &question, 0).unwrap_err().to_string();
            assert!(error.contains(what), "{what:?} expected: {error}");
        };
        let with = |v: usize, score: f64| {
            let mut broken = scores.clone();
            broken[v] = score;
            broken
        };
        let busiest = (0..300).max_by(|&a, &b| raw[a].total_cmp(&raw[b])).unwrap();
        let off = (raw[busiest] - 1.0) * scale.at(busiest);
        refused(&with(busiest, off), "the scores sum, without their scale,");
        refused(&with(busiest, -1.0), "is negative");
        refused(&with(busiest, f64::NAN), "is not a finite number");
        let dead = (0..300).find(|&v| graph.degree(v) == 0).unwrap();
        let more = (raw[dead] + 1.0) * scale.at(dead);
        refused(&with(dead, more), &format!("node {dead}: score {more} is too high"));
        if endpoints {
            let fewer = (0..300).find(|&v| raw[v] > 0.0).unwrap();
            refused(&with(fewer, 0.0), &format!("node {fewer}: score 0 is too low"));
        }
    }
}

#[test]
fn scores_below_what_some_of_the_sources_give_are_too_low() {
    // A star: every pair of leaves meets in the hub.
    let leaves: Vec<u32> = (1..100).collect();
    let (sources, targets) =
        ([vec![0; 99], leaves.clone()].concat(), [leaves, vec![0; 99]].concat());
    let graph = Graph::from_arcs(100, &sources, &targets, None, Origin::default()).unwrap();
    let all: Vec<u32> = (0..100).collect();
    let question = BetweennessQuestion {
        sources: &all,
        targets: None,
        weighted: false,
        normalized: false,
        endpoints: false,
        tolerance: 1e-9,
    };
    let (raw, ..) = brandes(&graph, &all, &question);
    let scores: Vec<f64> = raw.iter().map(|raw| raw / 2.0).collect();
    let work = 7 * graph.arcs();
    let seen = check(&graph, &scores, &question, work).unwrap();
    assert_eq!((seen.checked_sources, seen.sum_error), (7, Some(0.0)));
    let mut swapped = scores.clone();
    swapped.swap(0, 50);
    let error = check(&graph, &swapped, &question, work).unwrap_err().to_string();
    assert!(error.contains("node 0: score 0 is too low: 7 of 100 sources give"), "{error}");
}

#[test]
fn numbers_of_paths_keep_their_shares_beyond_the_range_of_f64() {
    let mut doubled = vec![Paths::ONE];
    for step in 0..3000 {
        let mut paths = doubled[step];
        paths.add(paths);
        doubled.push(paths);
    }
    let share = |a: usize, b: usize| doubled[a].share(doubled[b]);
    for (a, b) in [(0, 1), (510, 513), (1023, 1024), (2000, 2100), (2560, 2560)] {
        assert_eq!(share(a, b), 0.5f64.powi((b - a) as i32));
    }
    assert_eq!(share(0, 3000), 0.0);
    // 2^512 + 2^511 is three halves of 2^512, on both sides of the carry.
    for (a, b) in [(512, 511), (511, 512)] {
        let mut paths = doubled[a];
        paths.add(doubled[b]);
        assert_eq!(doubled[512].share(paths), 1.0 / 1.5);
    }
}
