//! Checks sums over seeds: a search from each.

use super::distances::{Length, by_weight};
use super::first_by_id;
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// Nodes and arcs that are looked at, at most: half a minute on two cores.
const MOST: u64 = 1 << 30;
/// Distances that are held at once, at most.
const TOGETHER: u64 = 1 << 28;
/// How far a sum may be off, relative to it.
const TOLERANCE: f64 = 1e-9;

/// What nodes have added up, of the seeds that reach them other than themselves: `[n]` each.
#[derive(Debug, Clone, Copy)]
pub struct SeedSumsFound<'a> {
    /// Distances.
    pub sum: &'a [f64],
    /// 1 / distance, where that is not 0.
    pub harmonic: &'a [f64],
    /// How many seeds these are.
    pub reached: &'a [u32],
}

/// Certifies sums of distances of this width. Returns how many seeds were searched from: all, if that takes at most half a minute;
/// else it is only certain that no sum is below what these give.
///
/// # Errors
/// [`Error::Verify`] names the wrong node of the lowest input id, what was found and what is right.
pub fn seed_sums<F: Length + Into<f64>>(
    graph: &Graph,
    seeds: &[u32],
    found: SeedSumsFound,
) -> Result<usize> {
    let n = graph.nodes();
    for (name, length) in [
        ("sum", found.sum.len()),
        ("harmonic", found.harmonic.len()),
        ("seeds", found.reached.len()),
    ] {
        super::one_a_node(graph, "seed sums", name, length)?;
    }
    let each = (n as u64 + graph.arcs()).max(1);
    let some = seeds.len().min((MOST / each).max(1) as usize);
    let together = (TOGETHER / (n as u64).max(1)).clamp(1, 64) as usize;
    let mut right = vec![(0.0, 0.0, 0u32); n];
    for batch in seeds[..some].chunks(together) {
        let searches: Vec<Vec<F>> = batch.par_iter().map(|s| by_weight(graph, *s)).collect();
        right.par_iter_mut().enumerate().for_each(|(v, (sum, harmonic, reached))| {
            for (seed, lengths) in batch.iter().zip(&searches) {
                let length: f64 = lengths[v].into();
                if *seed as usize != v && length.is_finite() {
                    *sum += length;
                    *harmonic += if length > 0.0 { 1.0 / length } else { 0.0 };
                    *reached += 1;
                }
            }
        });
    }
    let all = some == seeds.len();
    let near = |found: f64, right: f64| {
        let slack = TOLERANCE * right.max(found);
        found >= right - slack && (found <= right + slack || !all)
    };
    let fine = |v: usize| {
        let (sum, harmonic, reached) = right[v];
        near(found.sum[v], sum)
            && near(found.harmonic[v], harmonic)
            && (found.reached[v] == reached || !all && found.reached[v] > reached)
    };
    let Some(v) = first_by_id(graph, |v| !fine(v)) else { return Ok(some) };
    let (sum, harmonic, reached) = right[v];
    let least = if all { "" } else { "at least " };
    Err(Error::Verify(format!(
        "seed sums, node {}: {} seeds with sums {} and {}, but it is {least}{reached} with {sum} and {harmonic}",
        graph.id(v as u32),
        found.reached[v],
        found.sum[v],
        found.harmonic[v]
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    #[test]
    fn wrong_sums_are_named() {
        // 0 -2-> 1 -1-> 2, and 3 alone.
        let graph =
            Graph::from_arcs(4, &[0, 1], &[1, 2], Some(&[2.0, 1.0]), Origin::default()).unwrap();
        let right = ([0.0, 2.0, 4.0, 0.0], [0.0, 0.5, 1.0 + 1.0 / 3.0, 0.0], [0, 1, 2, 0]);
        let check = |(sum, harmonic, reached): &([f64; 4], [f64; 4], [u32; 4])| {
            seed_sums::<f64>(&graph, &[0, 1], SeedSumsFound { sum, harmonic, reached })
        };
        assert_eq!(check(&right).unwrap(), 2);
        for v in 0..4 {
            let mut wrong = [right; 3];
            wrong[0].0[v] += 0.1;
            wrong[1].1[v] += 0.1;
            wrong[2].2[v] += 1;
            for wrong in &wrong {
                let told = check(wrong).unwrap_err().to_string();
                assert!(told.contains(&format!("node {v}")), "{told}");
            }
        }
        assert!(check(&(right.0, [f64::NAN; 4], right.2)).is_err());
    }
}
