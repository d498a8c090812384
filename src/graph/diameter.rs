//! A lower bound of the diameter, by double sweeps (Magnien, Latapy, Habib, "Fast computation of
//! empirically tight bounds for the diameter of massive graphs", JEA 2009): search from a node, then
//! from a node farthest from it; the depth of the second search is a distance that exists. Exact on
//! trees, seldom far off elsewhere.
//!
//! Arcs are taken both ways and count 1 each, in the largest weak component. A sweep starts at the
//! component's lowest id, another at its node of largest degree; each goes on from the farthest node as
//! long as that raises the bound, at most [`SEARCHES`] times. Ties go to the lowest id, so that the
//! bound does not depend on the threads.
//!
//! A search is level by level (Beamer, Asanovic, Patterson, "Direction-optimizing breadth-first
//! search", SC 2012): small frontiers push from a list, on one thread where they are tiny; large ones
//! are pulled by the nodes not yet seen.

use super::Graph;
use super::bits::Bits;
use super::components::WeakComponents;
use rayon::prelude::*;
use serde::Serialize;
use std::cmp::Reverse;

/// Most searches of a sweep, the first included.
const SEARCHES: usize = 4;
/// Frontiers below this many nodes stay on one thread.
const TINY: usize = 2048;
/// Frontiers with more than one arc in this many of the graph's are pulled.
const PULL_SHARE: u64 = 16;

/// What is known of a diameter, in arcs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Diameter {
    /// Two nodes are this far apart, so the diameter is at least this.
    pub at_least: u64,
    /// The two, in the input's own ids.
    pub between: (u64, u64),
    /// Breadth-first searches that were made.
    pub searches: u64,
}

/// Bounds the diameter of the largest component.
pub(super) fn estimate(graph: &Graph, components: &WeakComponents) -> Diameter {
    let reverse = (!graph.is_symmetric()).then(|| graph.transpose());
    let both = BothWays { graph, reverse: reverse.as_ref() };
    let inside = |v: &usize| components.holds(*v as u32);
    let hub = (0..graph.nodes())
        .into_par_iter()
        .filter(inside)
        .max_by_key(|v| (both.degree(*v), Reverse(*v)))
        .map_or(components.lowest, |v| v as u32);
    let start = components.lowest;
    let id = |v| graph.input_id(v);
    let mut best = Diameter { at_least: 0, between: (id(start), id(start)), searches: 0 };
    for start in [start, hub] {
        let mut from = start;
        for _ in 0..SEARCHES {
            let (depth, farthest) = both.search(from);
            best.searches += 1;
            let raised = depth > best.at_least;
            if raised {
                (best.at_least, best.between) = (depth, (id(from), id(farthest)));
            }
            // The first search of a sweep only looks for an end.
            if !raised && from != start {
                break;
            }
            from = farthest;
        }
    }
    best
}

/// A graph with every arc taken both ways.
struct BothWays<'a> {
    graph: &'a Graph,
    /// `None` when the graph is symmetric.
    reverse: Option<&'a Graph>,
}

impl BothWays<'_> {
    fn degree(&self, v: usize) -> u64 {
        self.graph.degree(v) + self.reverse.map_or(0, |reverse| reverse.degree(v))
    }

    fn neighbors(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        let row = |graph: &'_ Graph| {
            let offsets = graph.offsets();
            offsets[v as usize] as usize..offsets[v as usize + 1] as usize
        };
        let back = self.reverse.map_or(&[][..], |reverse| &reverse.columns()[row(reverse)]);
        self.graph.columns()[row(self.graph)].iter().chain(back).copied()
    }

    /// The depth of a search from `source`, and the lowest of the nodes farthest away.
    fn search(&self, source: u32) -> (u64, u32) {
        let seen = Bits::new(self.graph.nodes());
        seen.add(source);
        let arcs = self.graph.arcs() * if self.reverse.is_some() { 2 } else { 1 };
        let mut frontier = vec![source];
        let (mut depth, mut farthest) = (0, source);
        loop {
            let next = if frontier.len() < TINY {
                self.push_tiny(&seen, &frontier)
            } else if frontier.par_iter().map(|v| self.degree(*v as usize)).sum::<u64>()
                > arcs / PULL_SHARE
            {
                self.pull(&seen, &frontier)
            } else {
                self.push(&seen, &frontier)
            };
            let Some(lowest) = next.par_iter().min() else { return (depth, farthest) };
            (depth, farthest) = (depth + 1, *lowest);
            frontier = next;
        }
    }

    fn push_tiny(&self, seen: &Bits, frontier: &[u32]) -> Vec<u32> {
        let mut next = Vec::new();
        for u in frontier {
            next.extend(self.neighbors(*u).filter(|v| seen.add(*v)));
        }
        next
    }

    fn push(&self, seen: &Bits, frontier: &[u32]) -> Vec<u32> {
        let reach = |u: &u32| self.neighbors(*u).filter(|v| seen.add(*v)).collect::<Vec<u32>>();
        frontier.par_chunks(256).flat_map_iter(|block| block.iter().flat_map(reach)).collect()
    }

    /// The nodes not yet seen that have a neighbour in the frontier.
    fn pull(&self, seen: &Bits, frontier: &[u32]) -> Vec<u32> {
        let front = Bits::new(self.graph.nodes());
        frontier.par_iter().for_each(|v| {
            front.add(*v);
        });
        let n = self.graph.nodes() as u32;
        let next: Vec<u32> = (0..n)
            .into_par_iter()
            .with_min_len(4096)
            .filter(|v| !seen.has(*v) && self.neighbors(*v).any(|u| front.has(u)))
            .collect();
        next.par_iter().for_each(|v| {
            seen.add(*v);
        });
        next
    }
}

#[cfg(test)]
mod tests {
    use crate::generate::generate;
    use crate::graph::Graph;
    use crate::graph::tests::directed;
    use std::collections::VecDeque;

    fn bound(spec: &str) -> u64 {
        generate(spec).unwrap().statistics().diameter.at_least
    }

    #[test]
    fn known_diameters_are_found() {
        for (spec, diameter) in [
            ("chain:1", 0),
            ("chain:2", 1),
            ("chain:5000", 4999),
            ("star:1", 1),
            ("star:70000", 2),
            ("grid:30x50", 78),
            ("grid:300x200", 498),
            ("torus:10x20", 15),
            ("torus:301x200", 250),
        ] {
            assert_eq!(bound(spec), diameter, "{spec}");
        }
    }

    /// The largest depth of a serial search from every node of the largest component.
    fn naive(graph: &Graph) -> u64 {
        let components = graph.weak_components();
        let inside = |v: &u32| components.holds(*v);
        let depth = |source: u32| {
            let mut level = vec![u64::MAX; graph.nodes()];
            level[source as usize] = 0;
            let mut queue = VecDeque::from([source]);
            let mut deepest = 0;
            while let Some(u) = queue.pop_front() {
                deepest = level[u as usize];
                for (v, _) in graph.neighbors(u as usize) {
                    if level[v as usize] == u64::MAX {
                        level[v as usize] = deepest + 1;
                        queue.push_back(v);
                    }
                }
            }
            deepest
        };
        (0..graph.nodes() as u32).filter(inside).map(depth).max().unwrap()
    }

    #[test]
    fn the_bound_is_never_above_the_diameter_and_near_it() {
        for spec in ["rmat:9,ef=2", "rmat:10,ef=1,seed=4", "road:10", "uniform:900,ef=1", "geo:999"]
        {
            let (exact, bound) = (naive(&generate(spec).unwrap()), bound(spec));
            assert!(bound <= exact && bound * 10 >= exact * 8, "{spec}: {bound} of {exact}");
        }
    }

    #[test]
    fn large_frontiers_are_pulled_to_the_same_depth() {
        // Big enough for all three kinds of steps; one way only, and both.
        let graph = generate("rmat:15,ef=4").unwrap();
        let arcs =
            (0..graph.nodes()).flat_map(|u| graph.neighbors(u).map(move |a| (u as u32, a.0)));
        let pairs: Vec<(u32, u32)> = arcs.filter(|(u, v)| u < v).collect();
        let one_way = directed(graph.nodes(), &pairs);
        let (both, one) = (graph.statistics(), one_way.statistics());
        assert_eq!(both.diameter, one.diameter);
        assert_eq!(both.components, one.components);
    }
}
