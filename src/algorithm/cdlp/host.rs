//! An iteration on host threads: the labels of a node's neighbours are sorted, and the longest run wins.

use crate::layout::Resident;
use rayon::prelude::*;

/// Nodes of one task: neighbouring ones may all have long rows.
const TASK: usize = 1 << 6;
/// Labels whose sorting takes long enough for a sign of life.
const LONG: usize = 1 << 16;

/// The next labels of the nodes from `first` on.
pub(super) fn labels(
    g: &Resident,
    label: &[u32],
    next: &mut [u32],
    first: usize,
    beat: &(dyn Fn() + Sync),
) {
    let graph = &**g.graph();
    let into = if graph.is_symmetric() { None } else { g.rows_in() };
    next.par_chunks_mut(TASK).enumerate().for_each(|(task, next)| {
        beat();
        let mut seen = Vec::new();
        for (v, next) in (first + task * TASK..).zip(next) {
            let rows = [Some(graph), into].into_iter().flatten();
            seen.clear();
            seen.extend(rows.flat_map(|rows| rows.neighbors(v)).map(|(u, _)| label[u as usize]));
            seen.sort_unstable();
            if seen.len() > LONG {
                beat();
            }
            *next = longest_run(&seen).unwrap_or(label[v]);
        }
    });
}

/// The number that comes most often in rising ones; of several the smallest.
fn longest_run(sorted: &[u32]) -> Option<u32> {
    let (mut chosen, mut most, mut begin) = (None, 0, 0);
    for (i, number) in sorted.iter().enumerate() {
        if sorted[begin] != *number {
            begin = i;
        }
        if i + 1 - begin > most {
            (chosen, most) = (Some(*number), i + 1 - begin);
        }
    }
    chosen
}
