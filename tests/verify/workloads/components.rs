//! Weakly and strongly connected components.

use super::*;
use crate::common::{chain, directed, skewed, two_components};
use hivegraph::verify::{ComponentsCheck, cc, scc};

/// A check of labels.
type Check = fn(&Graph, &[u32]) -> hivegraph::Result<ComponentsCheck>;

/// `[n, n]` whether a path leads from one node to the other, by Warshall's algorithm.
fn reach(graph: &Graph, both_ways: bool) -> Vec<Vec<bool>> {
    let n = graph.nodes();
    let mut reach = vec![vec![false; n]; n];
    (0..n).for_each(|v| reach[v][v] = true);
    for (u, v) in arcs(graph) {
        reach[u][v] = true;
        reach[v][u] |= both_ways;
    }
    for via in 0..n {
        for from in 0..n {
            for to in 0..n {
                reach[from][to] |= reach[from][via] && reach[via][to];
            }
        }
    }
    reach
}

/// The member of the lowest input id of each node's component: nodes that reach each other.
fn brute_labels(graph: &Graph, weak: bool) -> Vec<u32> {
    let reach = reach(graph, weak);
    let n = graph.nodes();
    let label = |v: usize| {
        let members = (0..n).filter(|&u| reach[u][v] && reach[v][u]).map(|u| u as u32);
        members.min_by_key(|&u| graph.input_id(u)).unwrap()
    };
    (0..n).map(label).collect()
}

fn counted(labels: &[u32]) -> ComponentsCheck {
    let size = |label: u32| labels.iter().filter(|&&l| l == label).count() as u64;
    let sizes: Vec<u64> = (0..labels.len() as u32).map(size).filter(|&size| size > 0).collect();
    ComponentsCheck {
        components: sizes.len() as u64,
        largest: sizes.into_iter().max().unwrap_or(0),
    }
}

/// Edits that make labels of other nodes, of other components, of no node.
fn edited(labels: &[u32], edits: &[(prop::sample::Index, u32)]) -> Vec<u32> {
    let mut claimed = labels.to_vec();
    for (at, label) in edits {
        let v = at.index(claimed.len());
        claimed[v] = match label {
            14 => NONE,
            15 => v as u32,
            label => *label,
        };
    }
    claimed
}

/// The whole component of one node gets the label of another's, or one of its own that is not the lowest.
fn moved(labels: &[u32], from: u32, to: u32) -> Vec<u32> {
    labels.iter().map(|&label| if label == from { to } else { label }).collect()
}

fn judged(check: Check, graph: &Graph, right: &[u32], claimed: &[u32]) {
    match first_difference(graph, right, claimed) {
        None => assert_eq!(check(graph, claimed).unwrap(), counted(right)),
        Some(id) => refused(check(graph, claimed), id, "label"),
    }
}

#[test]
fn each_wrong_label_of_a_weak_component_is_named_with_the_right_one() {
    // {0, 2, 4} by arcs in odd directions, {1, 3}, {5}.
    let graph = graph_of_pairs(6, &[(4, 0), (4, 2), (3, 1), (1, 3), (5, 5), (4, 2)]);
    let right = [0, 1, 0, 1, 0, 5];
    let seen = cc(&graph, &right).unwrap();
    assert_eq!(seen, ComponentsCheck { components: 3, largest: 3 });
    let split = [0, 1, 2, 1, 0, 5];
    let not_smallest = "label 2 is not the smallest of its component: that is 0";
    refused(cc(&graph, &split), 2, not_smallest);
    let merged = [0, 0, 0, 0, 0, 5];
    let elsewhere = "label 0 is in another component: the smallest of its own is 1";
    refused(cc(&graph, &merged), 1, elsewhere);
    refused(cc(&graph, &[2, 1, 2, 1, 2, 5]), 0, not_smallest);
    refused(cc(&graph, &[0, 1, 0, 1, 0, 6]), 5, "label 6 is no node's index: it is 5");
    refused(cc(&graph, &[0, 1, 0, 1, 2, 5]), 4, not_smallest);
    refused_saying(cc(&graph, &right[1..]), "5 labels, but the graph has 6 nodes");
}

#[test]
fn each_wrong_label_of_a_strong_component_is_named_with_the_right_one() {
    // {0, 2, 4} is a cycle, which leads to {1, 3}, which leads to {5}; 6 leads to all of them.
    let graph = graph_of_pairs(
        7,
        &[(0, 2), (2, 4), (4, 0), (4, 1), (1, 3), (3, 1), (3, 5), (5, 5), (6, 0), (6, 5), (0, 2)],
    );
    let right = [0, 1, 0, 1, 0, 5, 6];
    let seen = scc(&graph, &right).unwrap();
    assert_eq!(seen, ComponentsCheck { components: 4, largest: 3 });
    let not_smallest = "label 2 is not the smallest of its component: that is 0";
    refused(scc(&graph, &[0, 1, 2, 1, 0, 5, 6]), 2, not_smallest);
    let elsewhere = "label 0 is in another component: the smallest of its own is 1";
    refused(scc(&graph, &[0, 0, 0, 0, 0, 5, 6]), 1, elsewhere);
    refused(scc(&graph, &[2, 1, 2, 1, 2, 5, 6]), 0, not_smallest);
    refused(scc(&graph, &[0, 1, 0, 1, 0, 5, 7]), 6, "label 7 is no node's index");
    refused_saying(scc(&graph, &[]), "0 labels, but the graph has 7 nodes");
}

#[test]
fn deep_paths_and_large_cycles_overflow_no_stack() {
    let n = 300_000;
    let path = chain(n);
    let own: Vec<u32> = (0..n).collect();
    let seen = scc(&path, &own).unwrap();
    assert_eq!(seen, ComponentsCheck { components: n.into(), largest: 1 });
    let turns: Vec<(u32, u32)> = (0..n).map(|v| (v, (v + 1) % n)).collect();
    let ring = graph_of_pairs(n, &turns);
    let seen = scc(&ring, &vec![0; n as usize]).unwrap();
    assert_eq!(seen, ComponentsCheck { components: 1, largest: n.into() });
    refused(scc(&ring, &own), 1, "not the smallest");
    refused(scc(&path, &vec![0; n as usize]), 1, "in another component");
}

/// Lowest labels of weak components by sweeps over the arcs until nothing changes.
fn swept_labels(graph: &Graph) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..graph.nodes() as u32).collect();
    let arcs = arcs(graph);
    loop {
        let mut changed = false;
        for &(u, v) in &arcs {
            let low = labels[u].min(labels[v]);
            changed |= labels[u].max(labels[v]) > low;
            (labels[u], labels[v]) = (low, low);
        }
        if !changed {
            return labels;
        }
    }
}

#[test]
fn components_of_larger_graphs_are_counted_in_parallel() {
    let graphs = [skewed(12, 4, 3), two_components(4200), directed(4500, 2, 6), chain(5000)];
    for (graph, least) in graphs.into_iter().zip([100, 200, 10, 1]) {
        let mut right = swept_labels(&graph);
        let seen = cc(&graph, &right).unwrap();
        assert_eq!(seen, counted(&right));
        assert!(seen.components >= least && seen.largest > 2000, "{seen:?}");
        let last = (0..graph.nodes()).rev().find(|&v| right[v] as usize != v).unwrap();
        right[last] = last as u32;
        refused(cc(&graph, &right), last as u64, "not the smallest");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn labels_of_weak_components_are_accepted_if_and_only_if_they_are_brute_forces(
        graph in graphs(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..16), 0..4),
        (from, to) in (0u32..14, 0u32..14),
    ) {
        let right = brute_labels(&graph, true);
        judged(cc, &graph, &right, &edited(&right, &edits));
        let n = graph.nodes() as u32;
        judged(cc, &graph, &right, &moved(&right, from % n, to % n));
    }

    #[test]
    fn labels_of_strong_components_are_accepted_if_and_only_if_they_are_brute_forces(
        graph in graphs(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..16), 0..4),
        (from, to) in (0u32..14, 0u32..14),
    ) {
        let right = brute_labels(&graph, false);
        judged(scc, &graph, &right, &edited(&right, &edits));
        let n = graph.nodes() as u32;
        judged(scc, &graph, &right, &moved(&right, from % n, to % n));
    }
}
