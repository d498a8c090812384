//! Triangles: the same counts on any number of replicas, by any merge, those of a naive count and of the literature.

use crate::common;

use crate::common::{data, graph_of, open_perturbed, skipped, solved};
use hivegraph::algorithm::MergeMode;
use hivegraph::algorithm::triangles::Triangles;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{Cache, LoadOptions, Symmetrize, load_with};
use hivegraph::run::{Job, RunConfig, workload};
use hivegraph::verify;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A graph of these edges, both ways.
fn of_edges(n: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Graph {
    let both =
        |(u, v): (u32, u32)| [(u, v, 1.0), (v, u, 1.0)].into_iter().take(1 + usize::from(u != v));
    graph_of(n as usize, &edges.into_iter().flat_map(both).collect::<Vec<_>>())
}

fn cases() -> Vec<(&'static str, Graph)> {
    let n = 5000;
    // Every third node of a clique, edges twice and self loops among them, and a circle over all.
    let clique = (0..100u32).flat_map(|i| (0..=i).map(move |j| (i * 3, j * 3)));
    let twice = (0..100u32).map(|i| (i * 3, i * 6 % 300));
    let circle = (0..n).map(|v| (v, (v + 1) % n));
    // Hubs that know everybody and each other, over a circle: lists of thousands in common.
    let hubs = (0..n).flat_map(|v| [(v, 0), (v, 1), (v, n - 1), (v, (v + 1) % n)]);
    vec![
        ("skewed", common::skewed(12, 8, 1)),
        ("grid", common::grid(70, 64, false, 2)),
        ("star", common::star(4300)),
        ("two components", common::two_components(4200)),
        ("clique", of_edges(n, clique.chain(twice).chain(circle))),
        ("hubs", of_edges(n, hubs)),
        ("no arcs", of_edges(4100, [])),
        ("one node", of_edges(1, [(0, 0)])),
        ("a triangle", of_edges(3, [(0, 1), (1, 2), (2, 0), (0, 1), (1, 1)])),
    ]
}

/// Edges whose ends know each other's neighbours.
fn oracle(graph: &Graph) -> Vec<u64> {
    let others = |v: usize| graph.neighbors(v).map(|(u, _)| u as usize).filter(move |u| *u != v);
    let rows: Vec<BTreeSet<usize>> = (0..graph.nodes()).map(|v| others(v).collect()).collect();
    let pairs = |v: usize| {
        let both = |u: &usize| match rows[*u].len() < rows[v].len() {
            true => rows[*u].iter().filter(|w| rows[v].contains(w)).count() as u64,
            false => rows[v].iter().filter(|w| rows[*u].contains(w)).count() as u64,
        };
        rows[v].iter().map(both).sum::<u64>()
    };
    (0..graph.nodes()).map(|v| pairs(v) / 2).collect()
}

#[test]
fn any_number_of_replicas_and_any_merge_count_as_a_naive_count() {
    let cases: Vec<_> =
        cases().into_iter().map(|(name, graph)| (name, oracle(&graph), Arc::new(graph))).collect();
    common::everywhere(|fleet, config, how| {
        for (name, right, graph) in &cases {
            let answer: Triangles = solved("triangles", fleet, graph, config);
            assert!(answer.counts == *right, "{name} on {how}");
            assert_eq!(answer.total * 3, right.iter().sum::<u64>(), "{name}");
            let summed = answer.measured.merge_modes.contains_key("sum");
            let cut = config.merge != MergeMode::Redundant && fleet.world() > 1;
            // On GPUs `auto` divides only what takes longer than the sum (`dividing_pays`).
            let free = config.merge == MergeMode::Auto && fleet.info().backend == "cuda";
            assert!(if free { summed <= cut } else { summed == cut }, "{name} on {how}");
        }
    });
}

#[test]
fn real_graphs_have_the_triangles_that_are_known() {
    let Some(data) = data() else { return };
    for (file, known) in [
        ("social/email-Enron.txt.gz", 727_044),
        ("social/facebook_combined.txt.gz", 1_612_010),
        ("social/loc-brightkite.mtx.gz", 494_728),
        ("social/wiki-Vote.txt.gz", 608_389),
        ("social/soc-Slashdot0902.mtx.gz", 602_592),
    ] {
        let path = data.join(file);
        if !path.is_file() {
            skipped(&format!("{} is not here", path.display()));
            continue;
        }
        let options = LoadOptions {
            symmetrize: Symmetrize::Min,
            cache: Cache::Off,
            ..LoadOptions::default()
        };
        let graph = Arc::new(load_with(path.to_str().unwrap(), &options).unwrap());
        let host = ("host:2".to_string(), CollectiveKind::Host);
        for fleet in [host].into_iter().chain(common::cuda_fleets()) {
            let opened = open_perturbed(&fleet, None);
            let answer: Triangles = solved("triangles", &opened, &graph, &RunConfig::default());
            assert_eq!(answer.total, known, "{file} on {fleet:?}");
        }
    }
}

#[test]
fn a_wrong_count_is_named_with_the_right_one() {
    let graph = of_edges(5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 1), (4, 4)]);
    let right = oracle(&graph);
    assert_eq!(right, [1, 2, 2, 1, 0]);
    assert_eq!(verify::triangles(&graph, &right).unwrap().triangles, 2);
    for (v, wrong, part) in [
        (1, 1, "node 1: 1 are too few, it is in 2"),
        (4, 1, "node 4: 1 are too many, it is in 0"),
        (0, u64::MAX, "node 0: 18446744073709551615 are too many, it is in 1"),
    ] {
        let mut counts = right.clone();
        counts[v] = wrong;
        let refusal = verify::triangles(&graph, &counts).unwrap_err().to_string();
        assert!(refusal.contains(part), "{refusal}");
    }
    let refusal = verify::triangles(&graph, &right[1..]).unwrap_err().to_string();
    assert!(refusal.contains("4 counts, but the graph has 5 nodes"), "{refusal}");
    let refusal = verify::triangles(&common::chain(3), &[0; 3]).unwrap_err().to_string();
    assert!(refusal.contains("--symmetrize"), "{refusal}");
}

#[test]
fn the_program_writes_counts_and_refuses_in_one_line() {
    let rows = ["node,triangles", "5,1", "7,2", "9,2", "11,1"];
    let record = common::answered("triangles", "5 7\n7 9\n9 5\n9 11\n11 7\n", &rows);
    assert_eq!((&record["triangles"], &record["max-triangles"]), (&2.into(), &2.into()));
    assert_eq!(record["verified"], "yes");
    common::refuses("triangles");
    let config = RunConfig { graph: Some("test".into()), ..RunConfig::default() };
    let job = Job::new(workload("triangles").unwrap(), config, Arc::new(common::chain(3)));
    assert!(job.err().unwrap().to_string().contains("--symmetrize"));
}
