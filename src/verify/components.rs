//! What the checks of components share: labels against the right ones.

use super::first_by_id;
use crate::error::{Error, Result};
use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Labels that one task counts.
const BLOCK: usize = 1 << 14;

/// What a check of components that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ComponentsCheck {
    /// Components, single nodes included.
    pub components: u64,
    /// Nodes of the largest one.
    pub largest: u64,
}

/// Counts labels that are known to be right.
pub(super) fn count(labels: &[u32]) -> ComponentsCheck {
    let sizes: Vec<AtomicU32> = labels.par_iter().map(|_| AtomicU32::new(0)).collect();
    // Sorted first, so that the giant component's counter is touched once a block.
    labels.par_chunks(BLOCK).for_each(|block| {
        let mut block = block.to_vec();
        block.sort_unstable();
        for same in block.chunk_by(|a, b| a == b) {
            sizes[same[0] as usize].fetch_add(same.len() as u32, Relaxed);
        }
    });
    let sizes = sizes.into_par_iter().map(|size| u64::from(size.into_inner()));
    let (components, largest) = sizes
        .map(|size| (u64::from(size > 0), size))
        .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1.max(b.1)));
    ComponentsCheck { components, largest }
}

/// Compares labels with the right ones; `kind` is as in `weakly connected`.
pub(super) fn compare(graph: &Graph, kind: &str, labels: &[u32], right: &[u32]) -> Result<()> {
    let Some(v) = first_by_id(graph, |v| labels[v] != right[v]) else {
        return Ok(());
    };
    let id = |v: u32| graph.id(v);
    let smallest = id(right[v]);
    let fault = match labels[v] {
        label if label as usize >= graph.nodes() => {
            format!("label {label} is no node's index: it is {smallest}")
        }
        label if right[label as usize] == right[v] => {
            format!("label {} is not the smallest of its component: that is {smallest}", id(label))
        }
        label => {
            let label = id(label);
            format!("label {label} is in another component: the smallest of its own is {smallest}")
        }
    };
    Err(Error::Verify(format!("{kind} components, node {}: {fault}", id(v as u32))))
}
