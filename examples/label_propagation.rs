//! Connected components by label propagation: every node starts with its own number as label and takes the
//! smallest that it hears of; nodes whose label fell tell their neighbours in the next round.
//!
//! The smallest, not the most frequent as for communities: a minimum is taken arc by arc, in any order, in one
//! word a node. The most frequent needs a table of labels a node, as large as a hub has neighbours.
//!
//!     cargo run --release --example label_propagation -- --graph rmat:12 --devices host:3

use hivegraph::prelude::*;
mod common;

/// Everybody's own number is its label; everybody tells it.
pub fn start() -> Lambda {
    Lambda::new("start")
        .writes::<u32>("label")
        .writes_set("telling")
        .cuda("label[v] = v; telling.insert(v);")
        .host(|a| {
            let (label, telling) = (a.writes::<u32>("label"), a.writes_set("telling"));
            Box::new(move |v| {
                label.set(v, v as u32);
                telling.insert(v);
            })
        })
}

/// u tells v its label; v tells it in turn where that was smaller than its own.
pub fn tell() -> ArcLambda<bool> {
    ArcLambda::new("tell")
        .writes::<u32>("label")
        .cuda("u32 told = fresh_value(label[u]);\nreturn atomic_min(label[v], told) > told;")
        .host(|a| {
            let label = a.writes::<u32>("label");
            Box::new(move |u, v, _, _| {
                let told = label.at(u);
                label.min(v, told) > told
            })
        })
}

/// The program of one replica: the smallest node of each node's component, `[n]`, and the number of rounds. Arcs
/// are followed forward, so the graph should be symmetric.
pub fn label_propagation(r: &mut Replica, g: &Resident) -> Result<(Vec<u32>, u32)> {
    let n = g.graph().nodes();
    let mut label = r.replicated::<u32>("label", n, MergeOp::Min)?;
    let mut telling = r.frontier("telling", n, MergeOp::Or)?;
    let mut told = r.frontier("told", n, MergeOp::Or)?;
    // On every replica for all nodes, so that there is nothing to merge.
    let args = Args::new().writes("label", &mut label).writes_set("telling", &mut telling);
    r.for_all("start", Over::nodes(g).whole(), &start(), args)?;
    let (tell, mut rounds) = (tell(), 0);
    while r.count("telling", &telling)? > 0 {
        r.clear("told", &mut told)?;
        let args = Args::new().writes("label", &mut label);
        let how = Advance::default().output(&mut told);
        r.advance("tell", Over::frontier(g, &telling), &tell, args, how)?;
        r.merge(&mut label)?;
        r.merge(told.words_mut())?;
        std::mem::swap(&mut telling, &mut told);
        rounds += 1;
    }
    Ok((r.read(&label)?, rounds))
}

fn main() -> Result<()> {
    let (fleet, g) = common::open("rmat:12")?;
    let (label, rounds) = fleet.run(move |r| label_propagation(r, &g))?.swap_remove(0);
    let mut sizes = vec![0u64; label.len()];
    label.iter().for_each(|l| sizes[*l as usize] += 1);
    let components = sizes.iter().filter(|size| **size > 0).count();
    let largest = sizes.iter().max().copied().unwrap_or(0);
    println!("{components} components, the largest of {largest} nodes, after {rounds} rounds");
    println!("checksum: {}", label.iter().map(|l| u64::from(*l)).sum::<u64>());
    Ok(())
}
