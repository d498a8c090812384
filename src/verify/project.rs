//! Checks projections: finds by sorting which nodes have neighbours in common.

use super::wedges::{Sets, rows_of};
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;

/// Certifies a projection on the nodes `kept`, by rising input id, from `[node, other, common]` of its edges: that every arc joins the two
/// sides, and that the edges of every row that there is time for are right. Returns how many rows these were.
///
/// Takes 8 bytes for each wedge of a row.
///
/// # Errors
/// [`Error::Verify`] names an arc within a side, or an edge, its weight and the right one.
pub fn project(graph: &Graph, kept: &[u32], found: [&[u32]; 3]) -> Result<usize> {
    let wrong = |what: String| Err(Error::Verify(format!("project: {what}")));
    let [node, other, common] = found;
    if [other.len(), common.len()] != [node.len(); 2] {
        let [nodes, others, weights] = found.map(<[u32]>::len);
        return wrong(format!("{nodes} nodes, {others} others and {weights} weights"));
    }
    let mut inside = vec![false; graph.nodes()];
    kept.iter().for_each(|v| inside[*v as usize] = true);
    let within = |u: usize| {
        let v = graph.neighbors(u).find(|(v, _)| inside[u] == inside[*v as usize])?.0;
        Some(format!("the arc from {} to {} is within a side", graph.id(u as u32), graph.id(v)))
    };
    if let Some(what) = (0..graph.nodes()).into_par_iter().find_map_first(within) {
        return wrong(what);
    }
    let rows = match rows_of(graph, kept, [node, other]) {
        Ok(rows) => rows,
        Err(what) => return wrong(what),
    };
    let sets = Sets::new(graph);
    let places = sets.places(kept);
    let off = places.par_iter().find_map_first(|place| {
        let u = kept[*place];
        let mut right = sets.sharing(u, |_| 1.0);
        right.retain(|shared| graph.rank(shared.node) > graph.rank(u));
        let rows = rows[*place].clone();
        let (rows, id) = (rows.clone().zip(rows.clone().map(|at| other[at])), graph.id(u));
        let mut rows = rows.peekable();
        for shared in right {
            let (v, right) = (graph.id(shared.node), shared.count);
            match rows.next() {
                Some((at, node)) if node == shared.node && u64::from(common[at]) == right => {}
                Some((at, node)) if node == shared.node => {
                    return Some(format!(
                        "edge {id} to {v}: weight {}, and is {right}",
                        common[at]
                    ));
                }
                _ => {
                    return Some(format!("edge {id} to {v} of weight {right} is not in its place"));
                }
            }
        }
        let (at, node) = rows.next()?;
        let v = graph.id(node);
        Some(format!("edge {id} to {v}: weight {}, and there is none", common[at]))
    });
    off.map_or(Ok(places.len()), wrong)
}
