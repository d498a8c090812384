//! The verifiers accept what others have published: networkx, LDBC Graphalytics, LAW.
//!
//! Needs the data folder (`HIVE_DATA`); without it what is left out is said.

use crate::common::{
    LDBC_DAMPING, LDBC_ITERATIONS, LdbcExample, Networkx, cnr_2000, ldbc_examples, networkx,
    strong_parts,
};
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, Relabel, Symmetrize};
use hivegraph::verify::{BetweennessQuestion, PagerankQuestion, bc, bfs, cc, kcore, pagerank, scc};
use std::collections::HashMap;

/// Nodes in the order of their ids, and in another.
fn orders() -> [LoadOptions; 2] {
    [Relabel::None, Relabel::Random(5)]
        .map(|relabel| LoadOptions { relabel, ..LoadOptions::default() })
}

/// Calls `check` on every graph of networkx's, in both orders, by its name.
fn each(check: impl Fn(&str, &Networkx, &Graph)) {
    for (name, known) in networkx() {
        for options in orders() {
            let Some(graph) = known.graph(&options) else { continue };
            assert_eq!((graph.arcs(), graph.is_symmetric()), (known.arcs, !known.directed));
            check(&name, &known, &graph);
        }
    }
}

/// Lowest labels of a partition: the member of the lowest input id stands for each part.
fn lowest_labels(graph: &Graph, parts: &[u32]) -> Vec<u32> {
    let mut lowest: HashMap<u32, u32> = HashMap::new();
    for (v, &part) in parts.iter().enumerate() {
        let v = v as u32;
        let label = lowest.entry(part).or_insert(v);
        if graph.input_id(v) < graph.input_id(*label) {
            *label = v;
        }
    }
    parts.iter().map(|part| lowest[part]).collect()
}

fn rounded(ranks: &[f64]) -> Vec<f32> {
    ranks.iter().map(|&rank| rank as f32).collect()
}

#[test]
fn networkx_levels_are_accepted() {
    each(|name, known, graph| {
        let right = known.levels(graph);
        let source = known.node(graph, known.source);
        let seen = bfs(graph, source, &right, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        let reached = known.levels.iter().flatten();
        assert_eq!(seen.reached, reached.clone().count() as u64, "{name}");
        assert_eq!(Some(&seen.depth), reached.max(), "{name}");
    });
}

#[test]
fn networkx_ranks_are_accepted() {
    each(|name, known, graph| {
        for asked in &known.pagerank {
            let personal = asked.personal.as_ref().map(|shares| known.by_node(graph, shares));
            // Enough iterations for 1e-12 at damping 0.85, whatever networkx made.
            let question = PagerankQuestion {
                damping: asked.damping,
                iterations: 200,
                tolerance: Some(1e-9),
                weighted: asked.weighted,
                personal: personal.as_deref(),
            };
            let ranks = rounded(&known.by_node(graph, &asked.ranks));
            let seen = pagerank(graph, &ranks, &question).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(seen.l1_error.is_some_and(|error| error < 1e-7), "{name}: {seen:?}");
            // Ranks of one question are no answer to the other.
            if asked.weighted {
                let other = PagerankQuestion { weighted: false, ..question };
                pagerank(graph, &ranks, &other).unwrap_err();
            }
        }
    });
    let asked = networkx().into_values().flat_map(|known| known.pagerank);
    assert_eq!(asked.filter(|asked| asked.weighted).count(), 1);
}

#[test]
fn networkx_betweenness_is_accepted() {
    each(|name, known, graph| {
        for asked in &known.betweenness {
            let sources = known.sources(graph, asked);
            let question = BetweennessQuestion {
                sources: &sources,
                targets: None,
                weighted: false,
                normalized: asked.normalized,
                endpoints: asked.endpoints,
                tolerance: 1e-10,
            };
            let scores = known.by_node(graph, &asked.scores);
            let seen = bc(graph, &scores, &question).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(seen.checked_sources, sources.len() as u64);
            let other = BetweennessQuestion { normalized: !asked.normalized, ..question };
            bc(graph, &scores, &other).unwrap_err();
            let other = BetweennessQuestion { endpoints: !asked.endpoints, ..question };
            bc(graph, &scores, &other).unwrap_err();
        }
    });
}

#[test]
fn networkx_core_numbers_are_accepted() {
    for (name, known) in networkx() {
        for options in orders() {
            let options = LoadOptions { symmetrize: Symmetrize::Min, ..options };
            let Some(graph) = known.graph(&options) else { continue };
            let right = known.by_node(&graph, &known.cores);
            let seen = kcore(&graph, &right).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(Some(&seen.max_core), known.cores.iter().max(), "{name}");
        }
    }
}

#[test]
fn networkx_counts_the_same_components() {
    each(|name, known, graph| {
        let weak = graph.weak_components().roots;
        let seen = cc(graph, &lowest_labels(graph, &weak)).unwrap();
        let right = (known.components, known.largest_component);
        assert_eq!((seen.components, seen.largest), right, "{name}");
        let strong = lowest_labels(graph, &strong_parts(graph));
        let seen = scc(graph, &strong).unwrap();
        let right = (known.strong_components, known.largest_strong_component);
        assert_eq!((seen.components, seen.largest), right, "{name}");
    });
}

#[test]
fn ldbc_answers_are_accepted() {
    for example in orders().iter().flat_map(ldbc_examples) {
        let LdbcExample { name, graph, source, levels: right, ranks, .. } = &example;
        let seen = bfs(graph, *source, right, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(
            (seen.reached, seen.depth),
            if *name == "example-directed" { (6, 2) } else { (9, 4) }
        );
        let question = PagerankQuestion {
            damping: LDBC_DAMPING,
            iterations: LDBC_ITERATIONS,
            tolerance: None,
            weighted: false,
            personal: None,
        };
        let seen = pagerank(graph, &rounded(ranks), &question).unwrap();
        assert!(seen.l1_error.is_some_and(|error| error < 1e-7), "{name}: {seen:?}");
        let seen = cc(graph, &example.components).unwrap();
        assert_eq!((seen.components, seen.largest), (1, graph.nodes() as u64), "{name}");
    }
}

#[test]
fn the_published_strong_components_of_cnr_2000_are_accepted() {
    for options in orders() {
        let Some((graph, parts)) = cnr_2000(&options) else { return };
        let mut right = lowest_labels(&graph, &parts);
        let seen = scc(&graph, &right).unwrap();
        assert_eq!((seen.components, seen.largest), (100_977, 112_023));
        // A node on its own joins the largest component.
        let mut sizes: HashMap<u32, u64> = HashMap::new();
        right.iter().for_each(|&label| *sizes.entry(label).or_default() += 1);
        let giant = *sizes.iter().max_by_key(|(_, size)| **size).unwrap().0;
        let alone = (0..graph.nodes()).find(|&v| sizes[&right[v]] == 1).unwrap();
        right[alone] = giant;
        let error = scc(&graph, &right).unwrap_err().to_string();
        let id = graph.input_id(alone as u32);
        assert!(error.contains(&format!("node {id}: ")), "{error}");
        // Its weakly connected components are fewer, and its strong ones are not those.
        assert!(cc(&graph, &right).is_err());
    }
}
