//! Checks label propagation: propagates labels again, by sorting.

use super::{first_by_id, one_a_node};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// Certifies that `labels` (`[n]`, nodes) are those of so many iterations of LDBC's CDLP, or of fewer, of which the last changed
/// nothing. Returns how many there were, and how many labels the last changed.
///
/// Takes 8 bytes a node, and the reverse of a directed graph.
///
/// # Errors
/// [`Error::Verify`] names the wrong node of the lowest input id.
pub fn cdlp(graph: &Graph, labels: &[u32], iterations: u32) -> Result<(u32, u64)> {
    one_a_node(graph, "cdlp", "labels", labels.len())?;
    let reverse = (!graph.is_symmetric()).then(|| graph.transpose());
    let mut now: Vec<u32> = (0..graph.nodes() as u32).map(|v| graph.rank(v)).collect();
    let (mut made, mut changed) = (0, 0);
    for _ in 0..iterations {
        let next: Vec<u32> = (0..graph.nodes())
            .into_par_iter()
            .map_init(Vec::new, |seen, v| {
                seen.clear();
                let into = reverse.iter().flat_map(|reverse| reverse.neighbors(v));
                seen.extend(graph.neighbors(v).chain(into).map(|(u, _)| now[u as usize]));
                seen.sort_unstable();
                let groups = seen.chunk_by(|a, b| a == b);
                // Of several that are as long the first: labels rise.
                let longest = groups
                    .reduce(|best, group| if group.len() > best.len() { group } else { best });
                longest.map_or(now[v], |group| group[0])
            })
            .collect();
        made += 1;
        changed = now.iter().zip(&next).filter(|(old, new)| old != new).count() as u64;
        now = next;
        if changed == 0 {
            break;
        }
    }
    let right = |v: usize| graph.ranked(now[v]);
    match first_by_id(graph, |v| labels[v] != right(v)) {
        None => Ok((made, changed)),
        Some(v) => {
            let told = labels[v];
            let told = match (told as usize) < graph.nodes() {
                true => graph.id(told).to_string(),
                false => "no node".into(),
            };
            Err(Error::Verify(format!(
                "cdlp, node {}: its label is {}, not {told}",
                graph.id(v as u32),
                graph.id(right(v))
            )))
        }
    }
}
