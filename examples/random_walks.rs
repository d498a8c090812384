//! Random walks with restarts: `walks` walkers a node start there, go along random arcs for `steps` steps, and
//! begin anew with probability 0.15 (and where there is no way on). How often each node is visited estimates its
//! PageRank. Walker i draws from random stream i, so that where it goes depends on nothing but seed and graph, and the
//! order of its rows.
//!
//!     cargo run --release --example random_walks -- --graph rmat:12 --devices host:3

use hivegraph::prelude::*;
mod common;

/// A walker's whole walk. Counts are whole numbers: their sum is the same in any order.
#[lambda]
pub fn walk(g: GraphView, i: u64, visits: Writes<u64>, seed: u64, steps: u32) {
    let mut random = Random::new(seed, i);
    let home = i % g.nodes();
    let mut at = home;
    for _ in 0..steps {
        visits.add(at, 1);
        let arcs = g.degree(at);
        let anew = random.unit() < 0.15;
        at = if anew || arcs == 0 { home } else { g.edge(at, random.below(arcs)).node as u64 };
    }
}

/// The program of one replica: how often every node was visited, `[n]`. Each replica walks for its part of the
/// walkers, over the whole graph.
pub fn random_walks(
    r: &mut Replica,
    g: &Resident,
    walks: usize,
    steps: u32,
    seed: u64,
) -> Result<Vec<u64>> {
    let n = g.graph().nodes();
    let mut visits = r.replicated::<u64>("visits", n, MergeOp::Sum)?;
    let args = Args::new().writes("visits", &mut visits);
    let args = args.scalar("seed", seed).scalar("steps", steps);
    r.for_all("walk", Over::elements(n * walks).with(g), &walk(), args)?;
    r.merge(&mut visits)?;
    r.read(&visits)
}

fn main() -> Result<()> {
    let (fleet, g) = common::open("rmat:12", NodeOrder::Loaded)?;
    let graph = g.graph().clone();
    let visits = fleet.run(move |r| random_walks(r, &g, 4, 100, 1))?.swap_remove(0);
    let (all, mut order) = (visits.iter().sum::<u64>(), (0..graph.nodes()).collect::<Vec<_>>());
    order.sort_by_key(|v| std::cmp::Reverse(visits[*v]));
    for v in order.iter().take(5) {
        let share = 100.0 * visits[*v] as f64 / all as f64;
        println!("node {}: {share:.3} % of all visits", graph.input_id(*v as u32));
    }
    let sum = visits.iter().fold(0u64, |sum, visits| sum.wrapping_mul(31).wrapping_add(*visits));
    println!("checksum: {sum:016x}");
    Ok(())
}
