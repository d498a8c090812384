//! Levels and parents.

use super::*;
use crate::common::{chain, directed, skewed, star, two_components};
use hivegraph::verify::bfs;

/// Levels by relaxing every arc until nothing changes.
fn brute_levels(graph: &Graph, source: u32) -> Vec<u32> {
    let mut level = vec![NONE; graph.nodes()];
    level[source as usize] = 0;
    loop {
        let before = level.clone();
        for (u, v) in arcs(graph) {
            level[v] = level[v].min(level[u].saturating_add(1));
        }
        if level == before {
            return level;
        }
    }
}

fn brute_parents(graph: &Graph, level: &[u32]) -> Vec<u32> {
    let arcs = arcs(graph);
    let parent = |v: usize| {
        let above = arcs.iter().filter(|&&(u, w)| {
            w == v && level[u] != NONE && level[v] != NONE && level[u] + 1 == level[v]
        });
        let own = (level[v] == 0).then_some(v as u32);
        above.map(|a| a.0 as u32).min_by_key(|&u| graph.input_id(u)).or(own).unwrap_or(NONE)
    };
    (0..graph.nodes()).map(parent).collect()
}

#[test]
fn right_levels_are_accepted_and_counted() {
    // 0 -> 1 -> 3, 0 -> 2 -> 3, 3 -> 0, 4 -> 3, 5 alone; a self loop and a parallel arc.
    let graph =
        graph_of_pairs(6, &[(0, 1), (0, 2), (1, 3), (2, 3), (2, 3), (3, 0), (4, 3), (1, 1)]);
    let right = [0, 1, 1, 2, NONE, NONE];
    let parents = [0, 0, 0, 1, NONE, NONE];
    let seen = bfs(&graph, 0, &right, Some(&parents)).unwrap();
    assert_eq!((seen.reached, seen.reached_arcs, seen.depth, seen.parents), (4, 7, 2, true));
    assert!(!bfs(&graph, 0, &right, None).unwrap().parents);
}

#[test]
fn each_wrong_level_is_named_with_the_right_one() {
    let graph = graph_of_pairs(6, &[(0, 1), (1, 2), (2, 3), (0, 4), (4, 2)]);
    let right = [0, 1, 2, 3, 1, NONE];
    bfs(&graph, 0, &right, None).unwrap();
    let with = |v: usize, level| {
        let mut broken = right;
        broken[v] = level;
        bfs(&graph, 0, &broken, None)
    };
    refused(with(3, 4), 3, "level 4 is too high: it is 3, by the arc from 2 of level 2");
    refused(with(3, 2), 3, "level 2 is too low: it is 3");
    refused(with(2, 3), 2, "level 3 is too high: it is 2");
    refused(with(3, NONE), 3, "unreached is wrong: it is 3");
    refused(with(5, 1), 5, "level 1 is too low: no path from the source leads to it");
    refused(with(0, 1), 0, "level 1 is too high: it is the source, of level 0");
    refused(with(4, 0), 4, "level 0 is too low: it is 1");
    refused(with(3, NONE - 1), 3, "is too high");
    // A cycle that holds itself up: 2 and 3 one level apart, reached by nobody.
    let ring = graph_of_pairs(4, &[(0, 1), (2, 3), (3, 2)]);
    bfs(&ring, 0, &[0, 1, NONE, NONE], None).unwrap();
    refused(bfs(&ring, 0, &[0, 1, 5, 6], None), 2, "no path");
    refused_saying(bfs(&graph, 0, &right[..5], None), "5 levels, but the graph has 6 nodes");
}

#[test]
fn each_wrong_parent_is_named_with_the_right_one() {
    let graph = graph_of_pairs(6, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
    let right = [0, 1, 1, 2, 3, NONE];
    let parents = [0, 0, 0, 1, 3, NONE];
    let with = |v: usize, parent| {
        let mut broken = parents;
        broken[v] = parent;
        bfs(&graph, 0, &right, Some(&broken))
    };
    refused(
        with(3, 2),
        3,
        "parent 2 is wrong: the smallest node of level 1 with an arc to it is 1",
    );
    refused(with(3, NONE), 3, "parent none is wrong");
    refused(with(3, 77), 3, "index 77, which is no node");
    refused(with(0, NONE), 0, "it is the source, its own parent");
    refused(with(5, 0), 5, "it is unreached and has none");
    refused_saying(bfs(&graph, 0, &right, Some(&parents[..2])), "2 parents");
    no_question(bfs(&graph, 6, &right, None), "node index 6");
}

#[test]
fn the_smallest_parent_is_by_the_inputs_ids() {
    let graph = graph_of_pairs(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    let orders = (0..32).map(|seed| shuffled(graph.clone(), seed));
    let turned: Vec<Graph> = orders
        .filter(|graph| graph.node_of_input_id(1).unwrap() > graph.node_of_input_id(2).unwrap())
        .collect();
    assert!(!turned.is_empty());
    for graph in turned {
        let node = |id: u64| graph.node_of_input_id(id).unwrap();
        let level = brute_levels(&graph, node(0));
        let mut parents = brute_parents(&graph, &level);
        assert_eq!(parents[node(3) as usize], node(1));
        bfs(&graph, node(0), &level, Some(&parents)).unwrap();
        parents[node(3) as usize] = node(2);
        refused(bfs(&graph, node(0), &level, Some(&parents)), 3, "is 1");
    }
}

#[test]
fn larger_graphs_are_checked_in_parallel() {
    let graphs =
        [skewed(12, 8, 1), star(4300), chain(900), two_components(4200), directed(4500, 3, 6)];
    for (graph, source) in graphs.into_iter().zip([0, 17, 0, 1, 4]) {
        let right = brute_levels(&graph, source);
        let seen = bfs(&graph, source, &right, None).unwrap();
        let reached = right.iter().filter(|&&level| level != NONE).count();
        assert!(reached > 800 && seen.reached == reached as u64);
        let deepest = (0..graph.nodes()).rev().find(|&v| right[v] == seen.depth).unwrap();
        let mut broken = right.clone();
        broken[deepest] += 1;
        refused(bfs(&graph, source, &broken, None), deepest as u64, "is too high");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn levels_are_accepted_if_and_only_if_they_are_brute_forces(
        graph in graphs(),
        source in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..8), 0..4),
    ) {
        let source = source.index(graph.nodes()) as u32;
        let right = brute_levels(&graph, source);
        let mut claimed = right.clone();
        for (at, level) in edits {
            let v = at.index(claimed.len());
            claimed[v] = match level {
                6 => NONE,
                7 => claimed[v].wrapping_add(1),
                level => level,
            };
        }
        match first_difference(&graph, &right, &claimed) {
            None => { bfs(&graph, source, &claimed, None).unwrap(); }
            Some(id) => refused(bfs(&graph, source, &claimed, None), id, "level"),
        }
    }

    #[test]
    fn parents_are_accepted_if_and_only_if_they_are_brute_forces(
        graph in graphs(),
        source in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..15), 0..3),
    ) {
        let source = source.index(graph.nodes()) as u32;
        let right = brute_levels(&graph, source);
        let parents = brute_parents(&graph, &right);
        let mut claimed = parents.clone();
        for (at, parent) in edits {
            let v = at.index(claimed.len());
            claimed[v] = if parent == 14 { NONE } else { parent };
        }
        match first_difference(&graph, &parents, &claimed) {
            None => { bfs(&graph, source, &right, Some(&claimed)).unwrap(); }
            Some(id) => refused(bfs(&graph, source, &right, Some(&claimed)), id, "parent"),
        }
    }
}
