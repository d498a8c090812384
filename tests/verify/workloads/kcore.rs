//! Core numbers.

use super::*;
use crate::common::{graph_of, grid, skewed, star};
use hivegraph::verify::kcore;

/// For each k, what is left when nodes with fewer than k arcs to others are taken out until none is.
fn brute_cores(graph: &Graph) -> Vec<u32> {
    let n = graph.nodes();
    let arcs: Vec<(usize, usize)> = arcs(graph).into_iter().filter(|(u, v)| u != v).collect();
    let mut cores = vec![0; n];
    let mut left = vec![true; n];
    for k in 1.. {
        loop {
            let mut degree = vec![0u32; n];
            let both = arcs.iter().filter(|&&(u, v)| left[u] && left[v]);
            both.for_each(|&(u, _)| degree[u] += 1);
            let out: Vec<usize> = (0..n).filter(|&v| left[v] && degree[v] < k).collect();
            out.iter().for_each(|&v| left[v] = false);
            if out.is_empty() {
                break;
            }
        }
        (0..n).filter(|&v| left[v]).for_each(|v| cores[v] = k);
        if !left.contains(&true) {
            break;
        }
    }
    cores
}

#[test]
fn core_numbers_that_can_be_told_by_hand_are_accepted_and_others_refused() {
    // A triangle with a tail, a pair joined twice, a loop, an isolated node.
    let pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5), (4, 5), (6, 6)];
    let graph = graph_of_pairs(8, &mirrored(&pairs));
    let right = [2, 2, 2, 1, 2, 2, 0, 0];
    assert_eq!(kcore(&graph, &right).unwrap().max_core, 2);
    let with = |v: usize, core: u32| {
        let mut broken = right;
        broken[v] = core;
        kcore(&graph, &broken)
    };
    refused(with(2, 3), 2, "3 is too high, it is 2");
    refused(with(3, 0), 3, "0 is too low, it is 1");
    refused(with(6, 1), 6, "1 is too high, it is 0");
    refused(with(5, 1), 5, "1 is too low, it is 2");
    refused_saying(kcore(&graph, &right[..7]), "7 core numbers, but the graph has 8 nodes");
    no_question(kcore(&graph_of_pairs(2, &[(0, 1)]), &[1, 1]), "--symmetrize");
}

#[test]
fn weights_do_not_make_a_graph_directed() {
    let graph = graph_of(3, &[(0, 1, 1.0), (1, 0, 2.0), (1, 2, 3.0), (2, 1, 4.0)]);
    kcore(&graph, &[1, 1, 1]).unwrap();
}

#[test]
fn core_numbers_of_larger_graphs_are_accepted() {
    for (graph, most) in [(skewed(11, 8, 5), 10), (grid(50, 60, true, 1), 2), (star(3000), 1)] {
        let right = brute_cores(&graph);
        assert!(kcore(&graph, &right).unwrap().max_core >= most);
        let top = (0..graph.nodes()).max_by_key(|&v| right[v]).unwrap();
        let mut broken = right.clone();
        broken[top] -= 1;
        refused(kcore(&graph, &broken), top as u64, "is too low");
    }
}

/// Undirected graphs, relabelled or not.
fn undirected_graphs() -> impl Strategy<Value = Graph> {
    (pairs(), prop::option::of(0u64..1000)).prop_map(|((n, pairs), order)| {
        let graph = graph_of_pairs(n, &mirrored(&pairs));
        match order {
            Some(seed) => shuffled(graph, seed),
            None => graph,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn core_numbers_are_accepted_if_and_only_if_they_are_brute_forces(
        graph in undirected_graphs(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..5), 0..3),
    ) {
        let right = brute_cores(&graph);
        let mut claimed = right.clone();
        edits.iter().for_each(|(at, core)| claimed[at.index(right.len())] = *core);
        match first_difference(&graph, &right, &claimed) {
            None => { kcore(&graph, &claimed).unwrap(); }
            Some(id) => refused(kcore(&graph, &claimed), id, "too"),
        }
    }
}
