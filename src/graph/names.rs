//! What the input calls its nodes, where that is more than a shift. Outputs, ties and "smallest id" speak
//! of these names, whatever the order of the nodes (DESIGN section 6).

use super::array::Array;
use rayon::prelude::*;
use std::sync::OnceLock;

/// The names of nodes 0..n: distinct ids of 64 bits.
#[derive(Debug)]
pub(crate) struct Names {
    names: Array<u64>,
    /// Whether names rise with nodes: they do unless nodes were relabelled.
    rising: bool,
    /// Nodes in the order of their names, and each node's place in it; made when first asked for.
    order: OnceLock<Order>,
}

#[derive(Debug)]
struct Order {
    nodes: Vec<u32>,
    places: Vec<u32>,
}

impl Names {
    pub fn new(names: Array<u64>) -> Names {
        let rising = names.par_windows(2).all(|pair| pair[0] < pair[1]);
        Names { names, rising, order: OnceLock::new() }
    }

    /// All names, `[n]`.
    pub fn all(&self) -> &[u64] {
        &self.names
    }

    /// Whether names rise with nodes.
    pub fn rise(&self) -> bool {
        self.rising
    }

    /// The node called `name`.
    pub fn node(&self, name: u64) -> Option<u32> {
        if self.rising {
            return self.names.binary_search(&name).ok().map(|v| v as u32);
        }
        let nodes = &self.order().nodes;
        let place = nodes.binary_search_by_key(&name, |v| self.names[*v as usize]).ok()?;
        Some(nodes[place])
    }

    /// How many nodes have a lower name than `v`.
    #[inline]
    pub fn rank(&self, v: u32) -> u32 {
        if self.rising { v } else { self.order().places[v as usize] }
    }

    /// The node with `rank` lower names.
    #[inline]
    pub fn ranked(&self, rank: u32) -> u32 {
        if self.rising { rank } else { self.order().nodes[rank as usize] }
    }

    fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            let mut nodes: Vec<u32> = (0..self.names.len() as u32).collect();
            nodes.par_sort_unstable_by_key(|v| self.names[*v as usize]);
            let mut places = vec![0u32; nodes.len()];
            nodes.iter().enumerate().for_each(|(rank, v)| places[*v as usize] = rank as u32);
            Order { nodes, places }
        })
    }
}
