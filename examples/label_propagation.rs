//! Connected components by label propagation: every node starts with itself or its first neighbour as label and takes the
//! smallest that it hears of; nodes whose label fell tell their neighbours in the next round.
//!
//! The smallest, not the most frequent as for communities: a minimum is taken arc by arc, in any order, in one
//! word a node. The most frequent needs a table of labels a node, as large as a hub has neighbours.
//!
//!     cargo run --release --example label_propagation -- --graph rmat:12 --devices host:3

use hivegraph::prelude::*;
mod common;

/// Everybody is its own label, or has heard of its first neighbour, which is the smallest, and tells it. Where nodes lie by degree the
/// smallest is that of a hub, and soon everywhere.
#[lambda]
pub fn start(g: GraphView, v: u32, label: Writes<u32>, telling: Writes<NodeSet>) {
    telling.insert(v);
    label[v] = v;
    for e in g.edges(v) {
        label[v] = v.min(e.node);
        return;
    }
}

/// u tells v its label; v tells it in turn where that was smaller than its own.
#[lambda]
pub fn tell(u: u32, v: u32, label: Writes<u32>) -> bool {
    let told = label[u];
    label.min(v, told) > told
}

/// What a program holds: labels, who tells its own now, and who will in the next round.
pub struct State {
    pub label: Replicated<u32>,
    telling: Frontier,
    told: Frontier,
}

impl State {
    pub fn new(r: &mut Replica, g: &Resident) -> Result<State> {
        let n = g.graph().nodes();
        let label = r.replicated::<u32>("label", n, MergeOp::Min)?;
        let telling = r.frontier("telling", n, MergeOp::Or)?;
        Ok(State { label, telling, told: r.frontier("told", n, MergeOp::Or)? })
    }

    /// From the start until no label falls: the number of rounds.
    pub fn spread(&mut self, r: &mut Replica, g: &Resident) -> Result<u64> {
        let State { label, telling, told } = self;
        // On every replica for all nodes, so that there is nothing to merge.
        let args = Args::new().writes("label", label).writes_set("telling", telling);
        r.for_all("start", Over::nodes(g).whole(), &start(), args)?;
        let tell = tell();
        r.repeat(|r| {
            r.clear("told", told)?;
            let args = Args::new().writes("label", label);
            let how = Advance::default().output(told);
            r.advance("tell", Over::frontier(g, telling), &tell, args, how)?;
            r.merge_all(&mut [label, told])?;
            std::mem::swap(telling, told);
            r.left("telling", telling)
        })
    }
}

/// The program of one replica: the first node of each node's component, by its place in the input, `[n]`, in the input's order,
/// and the number of rounds. First is first in the order in which nodes lie. Arcs are followed forward, so the graph should
/// be symmetric.
pub fn label_propagation(r: &mut Replica, g: &Resident) -> Result<(Vec<u32>, u64)> {
    let mut state = State::new(r, g)?;
    let rounds = state.spread(r, g)?;
    let labels = r.read(&state.label)?.into_iter().map(|v| g.graph().rank(v)).collect();
    Ok((g.in_input_order(labels)?, rounds))
}

fn main() -> Result<()> {
    let (fleet, g) = common::open("rmat:12", NodeOrder::Auto)?;
    let (label, rounds) = fleet.run(move |r| label_propagation(r, &g))?.swap_remove(0);
    let mut sizes = vec![0u64; label.len()];
    label.iter().for_each(|l| sizes[*l as usize] += 1);
    let components = sizes.iter().filter(|size| **size > 0).count();
    let largest = sizes.iter().max().copied().unwrap_or(0);
    println!("{components} components, the largest of {largest} nodes, after {rounds} rounds");
    println!("checksum: {}", label.iter().map(|l| u64::from(*l)).sum::<u64>());
    Ok(())
}
