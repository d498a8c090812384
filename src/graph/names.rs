//! What the input calls its nodes, where that is more than a shift. Outputs, ties and "smallest id" speak
//! of these names, whatever the order of the nodes (docs/design.md, "Semantics").
//!
//! A name is a number or a text. Texts are numbered in their byte order: such a graph has the numbers as names, and
//! [`Texts`] beside them. So the order of names is one of numbers in any case.

use super::array::Array;
use crate::error::{Error, Result};
use rayon::prelude::*;
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// What the input calls a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeId<'a> {
    /// A whole number.
    Number(u64),
    /// A name.
    Text(&'a str),
}

impl fmt::Display for NodeId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeId::Number(id) => fmt::Display::fmt(id, f),
            NodeId::Text(name) => f.pad(name),
        }
    }
}

impl Serialize for NodeId<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NodeId::Number(id) => serializer.serialize_u64(*id),
            NodeId::Text(name) => serializer.serialize_str(name),
        }
    }
}

/// Names that are texts, distinct, in byte order. None has control characters.
#[derive(Debug)]
pub(crate) struct Texts {
    /// Text i is `bytes[ends[i]..ends[i + 1]]`.
    ends: Array<u64>,
    bytes: Array<u8>,
}

impl Texts {
    /// Of texts that are sorted, distinct and UTF-8.
    pub(crate) fn of<T: AsRef<[u8]>>(sorted: &[T]) -> Texts {
        let mut ends = Vec::with_capacity(sorted.len() + 1);
        let mut bytes = Vec::with_capacity(sorted.iter().map(|text| text.as_ref().len()).sum());
        ends.push(0);
        for text in sorted {
            bytes.extend_from_slice(text.as_ref());
            ends.push(bytes.len() as u64);
        }
        Texts { ends: ends.into(), bytes: bytes.into() }
    }

    /// Of arrays from elsewhere.
    pub(crate) fn checked(ends: Array<u64>, bytes: Array<u8>) -> Result<Texts> {
        let wrong = |what: &str| Err(Error::input(format!("names: {what}")));
        let falls = ends.windows(2).any(|pair| pair[0] > pair[1]);
        if ends.first() != Some(&0) || ends.last() != Some(&(bytes.len() as u64)) || falls {
            return wrong("they do not lie one behind the other");
        }
        let texts = Texts { ends, bytes };
        let text = |i: usize| texts.slice(i as u64);
        let fine = |i: usize| {
            std::str::from_utf8(text(i)).is_ok_and(|text| !text.chars().any(char::is_control))
        };
        let count = texts.len();
        if !(0..count).into_par_iter().all(fine) {
            return wrong("one is no plain text");
        }
        if !(1..count).into_par_iter().all(|i| text(i - 1) < text(i)) {
            return wrong("they are not in order");
        }
        Ok(texts)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn slice(&self, i: u64) -> &[u8] {
        let i = i as usize;
        &self.bytes[self.ends[i] as usize..self.ends[i + 1] as usize]
    }

    pub(crate) fn get(&self, i: u64) -> &str {
        std::str::from_utf8(self.slice(i)).unwrap_or_default()
    }

    /// Which text is `name`.
    pub(crate) fn find(&self, name: impl AsRef<[u8]>) -> Option<u64> {
        let (name, mut low, mut high) = (name.as_ref(), 0, self.len() as u64);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.slice(middle) < name { low = middle + 1 } else { high = middle }
        }
        (low < self.len() as u64 && self.slice(low) == name).then_some(low)
    }

    /// Of these texts those with rising numbers `kept`.
    pub(crate) fn only(&self, kept: &[u64]) -> Texts {
        let kept: Vec<&[u8]> = kept.iter().map(|i| self.slice(*i)).collect();
        Texts::of(&kept)
    }

    /// The arrays: `[n + 1]` ends, bytes.
    pub(crate) fn arrays(&self) -> (&[u64], &[u8]) {
        (&self.ends, &self.bytes)
    }
}

/// The names of nodes 0..n: distinct numbers of 64 bits.
#[derive(Debug)]
pub(crate) struct Names {
    pub all: Array<u64>,
    /// What the numbers stand for, if for more than themselves.
    pub texts: Option<Arc<Texts>>,
    /// Nodes in the order of their names, and each node's place in it, unless names rise. Made at once: threads of a pool that
    /// asked for it first would wait for each other.
    order: Option<Order>,
}

#[derive(Debug)]
struct Order {
    nodes: Vec<u32>,
    places: Vec<u32>,
}

impl Names {
    pub(super) fn new(all: Array<u64>, texts: Option<Arc<Texts>>) -> Names {
        let rising = all.par_windows(2).all(|pair| pair[0] < pair[1]);
        let order = (!rising).then(|| {
            let mut nodes: Vec<u32> = (0..all.len() as u32).collect();
            nodes.par_sort_unstable_by_key(|v| all[*v as usize]);
            let mut places = vec![0u32; nodes.len()];
            nodes.iter().enumerate().for_each(|(rank, v)| places[*v as usize] = rank as u32);
            Order { nodes, places }
        });
        Names { all, texts, order }
    }

    /// Whether names rise with nodes: they do unless nodes were relabelled.
    pub(super) fn rise(&self) -> bool {
        self.order.is_none()
    }

    /// The node called `name`.
    pub(super) fn node(&self, name: u64) -> Option<u32> {
        let Some(Order { nodes, .. }) = &self.order else {
            return self.all.binary_search(&name).ok().map(|v| v as u32);
        };
        let place = nodes.binary_search_by_key(&name, |v| self.all[*v as usize]).ok()?;
        Some(nodes[place])
    }

    /// How many nodes have a lower name than `v`.
    #[inline]
    pub(super) fn rank(&self, v: u32) -> u32 {
        self.order.as_ref().map_or(v, |order| order.places[v as usize])
    }

    /// The node with `rank` lower names.
    #[inline]
    pub(super) fn ranked(&self, rank: u32) -> u32 {
        self.order.as_ref().map_or(rank, |order| order.nodes[rank as usize])
    }
}
