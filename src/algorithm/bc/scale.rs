//! From sums over sources to scores.

use rayon::prelude::*;

/// Scales sums over `sources` as `_rescale` of NetworkX 3.6.1 does, with k the number of sources.
///
/// With N = n where ends count and n - 1 where they do not, and c = 2 in an undirected graph (every pair of ends is met
/// from both), 1 in a directed one: a sum over all sources is divided by c; one over k sources is multiplied by
/// N / (k c), so that it estimates the whole. Without ends a source is no target of itself and has k - 1 sources to be
/// between: its own factor is N / ((k - 1) c), which for a single source is 0 / 0: NaN. Normalized: 1 / (K (N - 1))
/// instead, where K is N for all sources, else k (k - 1 for a source without ends). Nothing is scaled where N < 2.
///
/// Sources drawn at random are meant: NetworkX draws from all nodes.
pub fn scale(
    scores: &mut [f64],
    sources: &[u32],
    directed: bool,
    normalized: bool,
    endpoints: bool,
) {
    let (n, k) = (scores.len() as f64, sources.len() as f64);
    let others = if endpoints { n } else { n - 1.0 };
    if others < 2.0 {
        return;
    }
    let all = sources.len() == scores.len();
    let both_ways = if directed { 1.0 } else { 2.0 };
    let factor = |k: f64| match normalized {
        true => 1.0 / (k * (others - 1.0)),
        false => others / (k * both_ways),
    };
    let common = factor(if all { others } else { k });
    let own = match all || endpoints {
        true => common,
        false if sources.len() == 1 => f64::NAN,
        false => factor(k - 1.0),
    };
    let at_sources: Vec<f64> = sources.iter().map(|s| scores[*s as usize] * own).collect();
    if common != 1.0 {
        scores.par_iter_mut().for_each(|score| *score *= common);
    }
    sources.iter().zip(at_sources).for_each(|(s, score)| scores[*s as usize] = score);
}
