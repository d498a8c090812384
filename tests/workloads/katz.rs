//! Katz centrality: the same bits on any number of replicas, the values of NetworkX, and those of a walk count.

use crate::common;
use crate::common::{data, graph_of, networkx, open_perturbed, own, solved};
use hivegraph::algorithm::katz::Centralities;
use hivegraph::fleet::CollectiveKind;
use hivegraph::graph::Graph;
use hivegraph::io::{LoadOptions, Symmetrize};
use hivegraph::run::RunConfig;
use hivegraph::verify;
use serde_json::json;
use std::sync::Arc;

/// Sums alpha^k times the number of walks of k arcs that end at each node.
fn walks(graph: &Graph, alpha: f64) -> Vec<f64> {
    let mut ending = vec![1.0; graph.nodes()];
    let mut sums = ending.clone();
    for _ in 0..400 {
        let mut longer = vec![0.0; graph.nodes()];
        for (u, walks) in ending.iter().enumerate() {
            graph.neighbors(u).for_each(|(v, _)| longer[v as usize] += alpha * walks);
        }
        ending = longer;
        sums.iter_mut().zip(&ending).for_each(|(sum, more)| *sum += more);
    }
    sums
}

fn cases() -> Vec<(&'static str, Graph, f64)> {
    let n = 9000u32;
    // A hub with rows of several slices, self loops, parallel arcs, arcs one way.
    let hub = (1..n).flat_map(|v| [(v, 0, 1.0), (v, v / 2, 2.0), (v / 3, v, 0.5)]);
    let odd = [(7, 7, 1.0), (7, 7, 3.0), (8, 9, 1.0), (8, 9, 1.0)];
    let directed: Vec<_> = hub.chain(odd).collect();
    vec![
        ("skewed", common::skewed(11, 8, 1), 1e-3),
        ("grid", common::grid(70, 64, false, 2), 0.2),
        ("directed", graph_of(n as usize, &directed), 1e-3),
        ("no arcs", graph_of(300, &[]), 0.5),
        ("one node", graph_of(1, &[(0, 0, 1.0)]), 0.5),
    ]
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_same_bits_and_count_walks() {
    let cases: Vec<_> = cases()
        .into_iter()
        .map(|(name, graph, alpha)| (name, walks(&graph, alpha), Arc::new(graph), alpha))
        .collect();
    let mut first: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    common::everywhere(|fleet, config, how| {
        let mut values = Vec::new();
        for (name, right, graph, alpha) in &cases {
            let options = own(json!({ "alpha": alpha, "tolerance": 1e-13 }));
            let merge = config.merge;
            let config = RunConfig { own: options, merge, ..RunConfig::default() };
            let answer: Centralities = solved("katz", fleet, graph, &config);
            for (v, (value, right)) in answer.values.iter().zip(right).enumerate() {
                let close = (value - right).abs() <= 1e-11 * right;
                assert!(close, "{name} on {how}: node {v} has {value}, not {right}");
            }
            values.push(answer.values);
        }
        let backend = fleet.info().backend.clone();
        match first.iter().find(|(known, _)| *known == backend) {
            Some((_, known)) => assert!(*known == values, "other bits on {how}"),
            None => first.push((backend, values)),
        }
    });
}

#[test]
fn networkx_has_the_same_values() {
    let fleet = open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    for (name, known) in networkx() {
        let symmetrize = if known.directed { Symmetrize::Off } else { Symmetrize::Min };
        let options = LoadOptions { symmetrize, ..LoadOptions::default() };
        let Some(graph) = known.graph(&options).map(Arc::new) else { continue };
        let right = known.by_node(&graph, &known.katz.values);
        let options = own(json!({ "alpha": known.katz.alpha, "tolerance": 1e-13 }));
        let config = RunConfig { own: options, ..RunConfig::default() };
        let answer: Centralities = solved("katz", &fleet, &graph, &config);
        for (v, (value, right)) in answer.values.iter().zip(&right).enumerate() {
            assert!(
                (value - right).abs() <= 1e-11 * right,
                "{name}, node {v}: {value}, not {right}"
            );
        }
    }
}

#[test]
fn cugraph_lists_the_same_first_nodes() {
    let Some(data) = data() else { return };
    for name in ["karate", "dolphins", "polbooks", "netscience"] {
        let list = data.join(format!("reference/cugraph/katz-{name}.csv"));
        let graph = data.join(format!("small/{name}.csv"));
        if !list.is_file() || !graph.is_file() {
            common::skipped(&format!("{} or its graph is not here", list.display()));
            continue;
        }
        let options = LoadOptions { symmetrize: Symmetrize::Min, ..LoadOptions::default() };
        let graph = Arc::new(hivegraph::io::load_with(graph.to_str().unwrap(), &options).unwrap());
        let fleet = open_perturbed(&("host:3".into(), CollectiveKind::Host), None);
        let answer: Centralities = solved("katz", &fleet, &graph, &RunConfig::default());
        let listed: Vec<f64> = std::fs::read_to_string(list)
            .unwrap()
            .lines()
            .map(|id| graph.node_of_input_id(id.trim().parse().unwrap()).unwrap())
            .map(|v| answer.values[v as usize])
            .collect();
        let mut highest = answer.values.clone();
        highest.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(listed, highest[..listed.len()], "{name}");
    }
}

#[test]
fn the_checker_accepts_the_solution_and_names_the_node_that_is_off() {
    let graph = graph_of(4, &[(0, 1, 1.0), (1, 2, 1.0), (2, 1, 1.0), (3, 1, 5.0), (3, 1, 1.0)]);
    // x0 = x3 = 1, x1 = 1 + (x0 + x2 + 2 x3) / 2, x2 = 1 + x1 / 2.
    let right = [1.0, 4.0, 3.0, 1.0];
    assert_eq!(verify::katz(&graph, &right, 0.5, 0.0).unwrap(), 0.0);
    for (v, wrong) in [(0, 1.1), (1, 3.9), (2, f64::NAN), (3, f64::INFINITY)] {
        let mut values = right;
        values[v] = wrong;
        let said = verify::katz(&graph, &values, 0.5, 1e-9).unwrap_err().to_string();
        assert!(said.contains("katz, node "), "{said}");
    }
    let mut values = right;
    values[2] = 3.001;
    let said = verify::katz(&graph, &values, 0.5, 1e-9).unwrap_err().to_string();
    assert!(said.contains("node 1: 4 stands for 4.0005"), "{said}");
    let said = verify::katz(&graph, &right[..3], 0.5, 0.0).unwrap_err().to_string();
    assert!(said.contains("3 values, but the graph has 4 nodes"), "{said}");
}

#[test]
fn the_program_ranks_nodes_and_refuses_in_one_line() {
    let record = common::answered("katz", "5 7\n7 9\n9 5\n9 11\n", &["node,katz"]);
    assert_eq!((&record["verified"], &record["alpha"]), (&"yes".into(), &0.25.into()));
    for (args, said) in [
        (&["--alpha", "0"][..], "--alpha 0: use auto or a number above 0"),
        (&["--alpha", "1"], "--alpha 1: values grow beyond f64 after"),
        (&["--alpha", "x"], "--alpha"),
        (&["--tolerance", "-1"], "--tolerance -1: use a number from 0 on"),
        (&["--tolerance", "nan"], "--tolerance NaN: use a number from 0 on"),
        (&["--iterations", "0"], "at least one is needed"),
        (&["--source", "1"], "katz does not take --source"),
    ] {
        let ended = common::runs("katz", &[&["--graph", "rmat:8"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.err.contains(said), "{args:?}: {}", ended.err);
    }
    let ended = common::runs("katz", &["--graph", "rmat:8", "--iterations", "3", "--verify"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("tolerance not met") && ended.out.contains("partly"), "{ended:?}");
}
