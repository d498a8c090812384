//! Level-synchronous traversal: the loop of both searches.
//!
//! A level costs its own arcs and nothing else: no pass over all nodes, and no parallel loop where
//! the level is too small to pay for one, so thousands of thin levels are as cheap as their arcs.

use crate::graph::Graph;
use crate::threads::Body;
use rayon::prelude::*;

/// Levels with fewer arcs than this are expanded by the calling thread.
const SERIAL_ARCS: u64 = 8192;

/// One arc, as a visitor sees it.
pub(super) struct Arc {
    /// Level of the tail: 0 for the start nodes.
    pub level: u32,
    /// Where the arc leaves.
    pub tail: u32,
    /// Where it arrives.
    pub head: u32,
    /// Its weight; 1 in a graph without weights.
    pub weight: f32,
}

/// Expands level after level from `start` until a level is empty.
///
/// `visit` sees every arc out of every node of a level and says whether the head joins the next one.
/// It must say so at most once a node, start nodes included, whichever thread asks first; then every
/// arc is visited at most once.
pub(super) fn advance<V>(graph: &Graph, start: Vec<u32>, visit: V)
where
    V: Fn(&Arc) -> bool + Sync,
{
    let mut frontier = start;
    let mut next = Vec::new();
    let mut level = 0;
    while !frontier.is_empty() {
        let arcs: u64 = frontier.iter().map(|&u| graph.degree(u as usize)).sum();
        if arcs < SERIAL_ARCS {
            next.clear();
            expand(graph, level, &frontier, &visit, &mut next);
            std::mem::swap(&mut frontier, &mut next);
        } else {
            frontier = expand_parallel(graph, level, &frontier, &visit);
        }
        level += 1;
    }
}

fn expand_parallel<V>(graph: &Graph, level: u32, frontier: &[u32], visit: &V) -> Vec<u32>
where
    V: Fn(&Arc) -> bool + Sync,
{
    // Small pieces, because a hub's row outweighs a thousand others.
    let piece = (frontier.len() / (rayon::current_num_threads() * 16)).clamp(1, 1024);
    let grow: Body<&[u32], Vec<u32>> = &|nodes| {
        let mut next = Vec::new();
        expand(graph, level, nodes, visit, &mut next);
        next
    };
    frontier.par_chunks(piece).map(grow).collect::<Vec<_>>().concat()
}

fn expand<V>(graph: &Graph, level: u32, nodes: &[u32], visit: &V, next: &mut Vec<u32>)
where
    V: Fn(&Arc) -> bool + Sync,
{
    for &tail in nodes {
        for (head, weight) in graph.neighbors(tail as usize) {
            if visit(&Arc { level, tail, head, weight }) {
                next.push(head);
            }
        }
    }
}
