//! The coreness of every node: the largest k such that it lies in a part where all have k arcs or more. Nodes of at
//! most k arcs are peeled off, which takes an arc from each neighbour; when nobody goes, k rises (Matula and Beck).
//!
//!     cargo run --release --example k_core -- --graph rmat:12 --devices host:3

use hivegraph::prelude::*;
mod common;

/// Books the arcs that v has lost now; with k or fewer left, it goes.
#[lambda]
pub fn peel(
    g: GraphView,
    v: u32,
    all: Writes<u32>,
    lost: Reads<u32>,
    core: Writes<u32>,
    going: Writes<NodeSet>,
    k: u32,
) {
    all[v] += lost[v];
    if core[v] == u32::MAX && g.degree(v) as u32 - all[v] <= k {
        core[v] = k;
        going.insert(v);
    }
}

/// v loses an arc; says whether it is the first.
#[lambda]
pub fn lose(u: u32, v: u32, lost: Writes<u32>) -> bool {
    lost.add(v, 1) == 0
}

/// Whether v has not gone yet.
#[lambda]
pub fn stays(v: u32, core: Reads<u32>) -> bool {
    core[v] == u32::MAX
}

/// The program of one replica: the coreness of every node, `[n]`, in the input's order. The graph should be symmetric.
pub fn k_core(r: &mut Replica, g: &Resident) -> Result<Vec<u32>> {
    let n = g.graph().nodes();
    let mut core = r.replicated::<u32>("core", n, MergeOp::Gather)?;
    let mut all = r.replicated::<u32>("all", n, MergeOp::Gather)?;
    let mut lost = r.replicated::<u32>("lost", n, MergeOp::Sum)?;
    let mut going = r.frontier("going", n, MergeOp::Or)?;
    r.fill("core", &mut core, u32::MAX)?;
    let (peel, lose, stays, mut k, mut gone) = (peel(), lose(), stays(), 0u32, 0);
    while gone < n as u64 {
        // Every replica peels the whole graph: that needs no merge.
        r.clear("going", &mut going)?;
        let args = Args::new().writes("all", &mut all).reads("lost", &lost).scalar("k", k);
        let args = args.writes("core", &mut core).writes_set("going", &mut going);
        r.for_all("peel", Over::nodes(g).whole(), &peel, args)?;
        r.fill("lost", &mut lost, 0)?;
        let now = r.count("going", &going)?;
        gone += now;
        k += u32::from(now == 0);
        let args = Args::new().writes("lost", &mut lost);
        let how = Advance::default().only(&stays, Args::new().reads("core", &core));
        // A few nodes take every replica less time than a merge.
        let over = Over::frontier(g, &going);
        let few = 32 * now < n as u64;
        let over = if few { over.whole() } else { over };
        r.advance("lose", over, &lose, args, how)?;
        if !few {
            r.merge(&mut lost)?;
        }
    }
    g.in_input_order(r.read(&core)?)
}

fn main() -> Result<()> {
    let (fleet, g) = common::open("rmat:12", NodeOrder::Auto)?;
    let core = fleet.run(move |r| k_core(r, &g))?.swap_remove(0);
    let most = core.iter().max().copied().unwrap_or(0);
    println!("innermost core: {} nodes, k = {most}", core.iter().filter(|k| **k == most).count());
    println!("checksum: {}", core.iter().map(|k| u64::from(*k)).sum::<u64>());
    Ok(())
}
