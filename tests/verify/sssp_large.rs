//! What the verifier costs on large graphs. Run by hand, as it takes minutes and up to 12 GB:
//! `cargo test --release --test verify sssp_large -- --ignored --nocapture --test-threads 1`

use crate::common::*;
use hivegraph::graph::Graph;
use hivegraph::verify::sssp;
use std::time::Instant;

fn measure(name: &str, graph: &Graph, seeds: &[u32]) {
    let begin = Instant::now();
    let answer = answer(graph, seeds);
    println!("{name}: oracle {:.1} s", begin.elapsed().as_secs_f64());
    let checked = sssp(graph, seeds, &answer.found()).expect("a right answer");
    println!(
        "{name}: {} nodes, {} arcs, {} threads: {checked:?}",
        graph.nodes(),
        graph.arcs(),
        rayon::current_num_threads()
    );
    let mut broken = answer;
    let last = (0..graph.nodes()).rfind(|&v| broken.distances[v].is_finite()).expect("a seed");
    broken.distances[last] = broken.distances[last].next_down();
    let begin = Instant::now();
    let error = sssp(graph, seeds, &broken.found()).expect_err("a wrong answer");
    println!("{name}: refused in {:.1} s: {error}", begin.elapsed().as_secs_f64());
}

#[test]
#[ignore = "large: run by hand"]
fn a_grid_of_thousands_of_levels_is_checked_in_time_that_its_arcs_explain() {
    measure("weighted grid", &grid(4096, 4096, true, 1), &[0]);
    measure("unit grid", &grid(4096, 4096, false, 1), &[0]);
}

#[test]
#[ignore = "large: run by hand"]
fn a_skewed_graph_is_checked_in_time_that_its_arcs_explain() {
    measure("skewed", &skewed(22, 16, 1), &[0, 1, 2, 3]);
}

#[test]
#[ignore = "large: run by hand"]
fn a_chain_of_millions_of_levels_is_checked_in_time_that_its_arcs_explain() {
    measure("chain", &chain(4_000_000), &[0]);
}
