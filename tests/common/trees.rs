//! Trees of nodes that point to smaller ones, as lambdas join them: for a test and a bench.

use hivegraph::prelude::*;

/// The root of the tree that v is in.
#[device]
pub fn root(parent: Writes<u32>, v: u32) -> u32 {
    let mut at = v;
    loop {
        let up = parent[at];
        if up == at {
            return at;
        }
        at = up;
    }
}

/// Joins two trees: the larger root under the smaller.
#[device]
pub fn link(parent: Writes<u32>, u: u32, v: u32) {
    let mut a: u32 = u;
    let mut b: u32 = v;
    loop {
        a = root(parent, a);
        b = root(parent, b);
        if a == b {
            return;
        }
        let high = a.max(b);
        let was = parent.cas(high, high, a.min(b));
        if was == high {
            return;
        }
    }
}

/// Every node is a root, or begins under its first neighbour, if that is smaller.
#[lambda]
pub fn own(g: GraphView, v: u32, parent: Writes<u32>) {
    parent[v] = v;
    for e in g.edges(v) {
        parent[v] = v.min(e.node);
        return;
    }
}

/// Joins the trees of both ends of an arc.
#[lambda]
pub fn hook(u: u32, v: u32, parent: Writes<u32>) {
    if u > v {
        link(parent, u, v);
    }
}

/// Every node points to its root.
#[lambda]
pub fn flatten(v: u32, parent: Writes<u32>) {
    let top: u32 = root(parent, v);
    parent[v] = top;
}
