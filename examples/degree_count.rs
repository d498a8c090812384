//! How many nodes have how many neighbours: a reduction finds the largest degree, a histogram counts them all.
//!
//!     cargo run --release --example degree_count -- --graph rmat:12 --devices host:3

use hivegraph::prelude::*;
mod common;

/// What the program finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Degrees {
    /// `[largest + 1]`: how many nodes have so many arcs.
    pub counts: Vec<u64>,
    /// The largest degree.
    pub largest: u32,
    /// The first node that has it, in the input's order; `u32::MAX` in a graph without nodes.
    pub hub: u32,
}

/// The degree of node v.
#[lambda]
pub fn degree(g: GraphView, v: u32) -> u32 {
    g.degree(v) as u32
}

/// The place of v in the input's order where it has so many arcs, else a number that no node has.
#[lambda]
pub fn who_has(g: GraphView, v: u32, arcs: u32) -> u32 {
    if g.degree(v) == arcs as u64 { g.id(v) } else { u32::MAX }
}

/// The program of one replica. Reductions and histograms give every replica the whole answer.
pub fn degree_count(r: &mut Replica, g: &Resident) -> Result<Degrees> {
    let nodes = Over::nodes(g);
    let largest = r.reduce("largest", nodes, &degree(), Args::new(), MergeOp::Max)?;
    let args = Args::new().scalar("arcs", largest);
    let hub = r.reduce("hub", nodes, &who_has(), args, MergeOp::Min)?;
    let counts = r.histogram("degrees", nodes, &degree(), Args::new(), largest as usize + 1)?;
    Ok(Degrees { counts, largest, hub })
}

fn main() -> Result<()> {
    let (fleet, g) = common::open("rmat:12", NodeOrder::Auto)?;
    let graph = g.graph().clone();
    let found = fleet.run(move |r| degree_count(r, &g))?.swap_remove(0);
    if graph.nodes() > 0 {
        println!(
            "largest degree: {}, of node {}",
            found.largest,
            graph.input_id(graph.ranked(found.hub))
        );
    }
    println!("degree 0: {} nodes", found.counts[0]);
    let mut low = 1;
    while low < found.counts.len() {
        let high = (2 * low).min(found.counts.len());
        let nodes: u64 = found.counts[low..high].iter().sum();
        println!("degree {low} to {}: {nodes} nodes", high - 1);
        low *= 2;
    }
    let arcs: u64 = found.counts.iter().zip(0u64..).map(|(nodes, degree)| nodes * degree).sum();
    println!("checksum (arcs): {arcs}");
    Ok(())
}
