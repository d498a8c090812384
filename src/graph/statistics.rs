//! What a graph is like: degrees, components, weights, and a lower bound of its diameter. Every pass is
//! parallel, and the answer is the same for any number of threads.

use super::Graph;
use super::diameter::{self, Diameter};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Everything that [`Graph::statistics`] finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Statistics {
    /// Whether every arc has its reverse, of the same weight.
    pub symmetric: bool,
    /// Degrees by arcs out.
    pub out_degree: Degrees,
    /// Degrees by arcs in; `None` when the graph is symmetric: they are the same.
    pub in_degree: Option<Degrees>,
    /// Nodes without arcs in or out.
    pub isolated: u64,
    /// Arcs (v, v).
    pub self_loops: u64,
    /// Arcs beyond the first of the same (source, neighbour).
    pub duplicates: u64,
    /// Weakly connected components.
    pub components: Components,
    /// Of the largest component.
    pub diameter: Diameter,
    /// `None` when every arc counts 1 for want of weights.
    pub weights: Option<Weights>,
}

/// How many arcs nodes have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Degrees {
    /// The smallest.
    pub min: u64,
    /// The lower median.
    pub median: u64,
    /// Arcs over nodes.
    pub mean: f64,
    /// The largest.
    pub max: u64,
    /// Degree 0, 1, 2 to 3, 4 to 7 and so on, up to the largest.
    pub histogram: Vec<Bin>,
}

/// Nodes with a degree of `from` to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// Smallest degree of the bin.
    pub from: u64,
    /// Largest degree of the bin.
    pub to: u64,
    /// Nodes in it.
    pub nodes: u64,
}

/// Weakly connected components: those of the graph with every arc taken both ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Components {
    /// How many; an isolated node is one.
    pub count: u64,
    /// Nodes in the largest.
    pub largest: u64,
    /// The lowest id in the largest, as the input has it: where runs start by default.
    pub lowest: u64,
}

/// Weights of arcs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Weights {
    /// The smallest.
    pub min: f32,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f32,
    /// Whether all are whole numbers.
    pub integers: bool,
}

impl Graph {
    /// Looks at everything. Takes a few passes over the arcs and, for the diameter, some searches.
    pub fn statistics(&self) -> Statistics {
        let symmetric = self.is_symmetric();
        let components = self.weak_components();
        let in_degrees = self.in_degrees();
        let out_degrees: Vec<u64> =
            (0..self.nodes()).into_par_iter().map(|v| self.degree(v)).collect();
        Statistics {
            symmetric,
            out_degree: Degrees::of(out_degrees),
            in_degree: in_degrees.map(Degrees::of),
            isolated: self.isolated(),
            self_loops: self.origin.self_loops,
            duplicates: self.origin.duplicates,
            diameter: diameter::estimate(self, &components),
            components: Components {
                count: components.count,
                largest: components.nodes,
                lowest: self.input_id(components.lowest),
            },
            weights: self.weights().map(|weights| {
                let ((min, max), mean) = (self.weight_range(), self.mean_weight());
                Weights { min, mean, max, integers: weights.par_iter().all(|w| w.fract() == 0.0) }
            }),
        }
    }

    /// `[n]` arcs into each node; `None` when the graph is symmetric: as many as out.
    pub fn in_degrees(&self) -> Option<Vec<u64>> {
        if self.is_symmetric() {
            return None;
        }
        let counts: Vec<AtomicU64> = (0..self.nodes()).map(|_| AtomicU64::new(0)).collect();
        self.columns().par_iter().for_each(|&v| {
            counts[v as usize].fetch_add(1, Relaxed);
        });
        Some(counts.into_par_iter().map(AtomicU64::into_inner).collect())
    }
}

impl Degrees {
    /// Of the degrees of all nodes, at least one.
    fn of(mut degrees: Vec<u64>) -> Degrees {
        let (n, arcs) = (degrees.len(), degrees.par_iter().sum::<u64>());
        let (min, max) = degrees
            .par_iter()
            .map(|&d| (d, d))
            .reduce(|| (u64::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let counts = degrees
            .par_chunks(1 << 16)
            .map(|block| {
                let mut counts = [0u64; 65];
                block.iter().for_each(|d| counts[bin(*d)] += 1);
                counts
            })
            .reduce(|| [0; 65], |a, b| std::array::from_fn(|k| a[k] + b[k]));
        let histogram = (0..=bin(max)).map(|k| Bin {
            from: if k == 0 { 0 } else { 1 << (k - 1) },
            to: ((1u128 << k) - 1) as u64,
            nodes: counts[k],
        });
        let histogram = histogram.collect();
        let median = *degrees.select_nth_unstable((n - 1) / 2).1;
        Degrees { min, median, mean: arcs as f64 / n as f64, max, histogram }
    }
}

/// 0, 1, 2 to 3, 4 to 7, ...
fn bin(degree: u64) -> usize {
    degree.checked_ilog2().map_or(0, |log| log as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::graph::Origin;
    use crate::graph::tests::directed;

    #[test]
    fn a_star_is_counted_exactly() {
        let found = generate("star:1000").unwrap().statistics();
        assert!(found.symmetric && found.in_degree.is_none());
        let Degrees { min, median, mean, max, ref histogram } = found.out_degree;
        assert_eq!((min, median, max), (1, 1, 1000));
        assert!((mean - 2000.0 / 1001.0).abs() < 1e-12);
        assert_eq!(histogram.len(), 11);
        assert_eq!(histogram[1], Bin { from: 1, to: 1, nodes: 1000 });
        assert_eq!(histogram[10], Bin { from: 512, to: 1023, nodes: 1 });
        assert_eq!((found.components.count, found.components.largest), (1, 1001));
        assert_eq!((found.isolated, found.diameter.at_least), (0, 2));
    }

    #[test]
    fn a_directed_graph_shows_both_degrees_its_loops_and_its_pieces() {
        let graph = directed(9, &[(0, 1), (0, 1), (0, 2), (3, 1), (4, 4), (7, 6)]);
        let found = graph.statistics();
        assert!(!found.symmetric && found.weights.is_none());
        assert_eq!((found.out_degree.max, found.in_degree.unwrap().max), (3, 3));
        assert_eq!((found.self_loops, found.duplicates, found.isolated), (1, 1, 2));
        // {0, 1, 2, 3}, {4}, {5}, {6, 7}, {8}
        assert_eq!((found.components.count, found.components.largest), (5, 4));
        assert_eq!(found.diameter.at_least, 3, "3 -> 1 <- 0 -> 2, against arcs too");
    }

    #[test]
    fn any_number_of_threads_finds_the_same() {
        for spec in ["rmat:13", "road:12", "geo:5000"] {
            let graph = generate(spec).unwrap();
            let expected = graph.statistics();
            for threads in [1, 2, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                assert_eq!(pool.install(|| graph.statistics()), expected, "{spec}");
            }
        }
    }

    #[test]
    fn weights_are_summed_up() {
        let graph = Graph::from_arcs(3, &[0, 1], &[1, 2], Some(&[0.5, 4.0]), Origin::default());
        let weights = graph.unwrap().statistics().weights.unwrap();
        assert_eq!((weights.min, weights.mean, weights.max), (0.5, 2.25, 4.0));
        assert!(!weights.integers);
    }
}
