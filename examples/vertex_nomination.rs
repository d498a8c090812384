//! Vertex nomination in ten lines: load, open a fleet, run, read the result.
//!
//!     cargo run --release --example vertex_nomination -- tests/data/chesapeake.mtx 1,5

use hivegraph::algorithm::{Seeds, SsspConfig, sssp};
use hivegraph::fleet::{Fleet, FleetConfig};
use hivegraph::prepare::{PrepareOptions, Prepared};
use std::sync::Arc;

fn main() -> hivegraph::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or("tests/data/chesapeake.mtx".into());
    let seeds: Seeds = arguments.next().unwrap_or("1,5".into()).parse()?;

    let graph = Arc::new(hivegraph::io::load(&file)?);
    let fleet = Fleet::open(FleetConfig::default())?;
    let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default())?;
    let seeds = seeds.resolve(&graph)?;
    let answer = sssp(&fleet, &prepared, &seeds, &SsspConfig::default())?;

    let mut ranked: Vec<u32> = (0..graph.nodes() as u32).filter(|v| !seeds.contains(v)).collect();
    ranked.sort_by(|a, b| {
        let distance = |v: &u32| answer.distances[*v as usize];
        distance(a).total_cmp(&distance(b)).then(a.cmp(b))
    });
    for node in ranked.into_iter().take(5) {
        println!("{} at {}", graph.input_id(node), answer.distances[node as usize]);
    }
    Ok(())
}
