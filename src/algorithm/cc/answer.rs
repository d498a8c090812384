//! How components are asked for, and what is said of them.

use super::Cc;
use crate::Result;
use crate::algorithm::Measured;
use crate::algorithm::ranking::ranked;
use crate::algorithm::workload::{Algorithm, Answer, Checked, Query, fields};
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::layout::{Columns, TopologyRows};
use crate::units::{count, plural};
use crate::verify::Checker;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Sizes that a record lists.
const LISTED: usize = 10;

/// Connected components, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Components {
    /// `[n]` the member of the node's component with the smallest id of the input.
    pub labels: Vec<u32>,
    /// How many there are.
    pub count: u64,
    /// (label, members) of those of several members, largest first, ties by the label.
    pub sizes: Vec<(u32, u64)>,
    /// Timings and counts.
    pub measured: Measured,
}

impl Components {
    /// From each row's root, by label.
    pub(crate) fn of_roots(
        rows: &TopologyRows,
        (roots, mut measured): (Vec<u32>, Measured),
    ) -> Components {
        let start = Instant::now();
        let labels = smallest_members(&rows.graph, &rows.columns, &roots);
        measured.download_ms += start.elapsed().as_secs_f64() * 1e3;
        measured.reached = labels.len() as u64;
        measured.reached_arcs = rows.graph.arcs();
        let (count, sizes) = sizes(&labels);
        Components { labels, count, sizes, measured }
    }
}

impl Components {
    /// Whether labels were merged by MIN, arcs of the own chunk between.
    pub(crate) fn hooked(&self) -> bool {
        self.measured.merge_modes.contains_key("dense")
    }
}

impl Components {
    /// (label, members) of the `k` largest components, ties by the label.
    pub fn largest(&self, k: usize) -> Vec<(u32, u64)> {
        let mut listed: Vec<(u32, u64)> = self.sizes.iter().take(k).copied().collect();
        if listed.len() < k {
            let several: HashSet<u32> = listed.iter().map(|(label, _)| *label).collect();
            let alone = |(v, label): &(u32, &u32)| v == *label && !several.contains(v);
            let alone = (0..).zip(&self.labels).filter(alone).take(k - listed.len());
            listed.extend(alone.map(|(label, _)| (label, 1)));
        }
        listed
    }
}

/// How many components there are, and (label, members) of those of several members, largest first, ties by the label.
fn sizes(labels: &[u32]) -> (u64, Vec<(u32, u64)>) {
    let members: Vec<AtomicU32> = labels.par_iter().map(|_| AtomicU32::new(0)).collect();
    labels.par_chunks(1 << 14).for_each(|part| {
        // Most nodes may share a label, and millions of additions to one counter would queue up: the label that was last
        // found to have members already is added up here.
        let (mut common, mut sum) = (part[0], 0);
        for label in part {
            if *label == common {
                sum += 1;
            } else if members[*label as usize].fetch_add(1, Relaxed) >= 1 {
                members[common as usize].fetch_add(sum, Relaxed);
                (common, sum) = (*label, 0);
            }
        }
        members[common as usize].fetch_add(sum, Relaxed);
    });
    let of = |v: usize| u64::from(members[v].load(Relaxed));
    let all = || (0..members.len()).into_par_iter();
    let count = all().filter(|v| of(*v) > 0).count() as u64;
    let several = all().filter(|v| of(*v) > 1).map(|v| (v as u32, of(v)));
    let mut several: Vec<(u32, u64)> = several.collect();
    several.par_sort_by_key(|(label, members)| (std::cmp::Reverse(*members), *label));
    (count, several)
}

/// From roots by label, `[active]`, to the member with the smallest id of the input, `[n]` by node; nodes without
/// rows are alone.
fn smallest_members(graph: &Graph, columns: &Columns, roots: &[u32]) -> Vec<u32> {
    let least: Vec<AtomicU32> = roots.par_iter().map(|_| AtomicU32::new(u32::MAX)).collect();
    roots.par_iter().enumerate().for_each(|(v, root)| {
        let rank = graph.rank(columns.node(v as u32));
        if least[*root as usize].load(Relaxed) > rank {
            least[*root as usize].fetch_min(rank, Relaxed);
        }
    });
    let label = |node: usize| match roots.get(columns.label(node as u32) as usize) {
        Some(root) => graph.ranked(least[*root as usize].load(Relaxed)),
        None => node as u32,
    };
    (0..graph.nodes()).into_par_iter().map(label).collect()
}

/// `5 components, the largest of 3 nodes`.
pub(crate) fn lines(answer: &Components, kind: &str) -> Vec<(&'static str, String)> {
    let alone = answer.count - answer.sizes.len() as u64;
    let largest = answer.largest(1).first().map_or(0, |(_, members)| *members);
    let text = format!(
        "{}, the largest of {}, {} of one node",
        plural(answer.count, kind),
        plural(largest, "node"),
        count(alone),
    );
    vec![("answer", text)]
}

/// `components`, and the `sizes` of the largest, by label in the input's own ids.
pub(crate) fn facts(answer: &Components, graph: &Graph) -> Map<String, Value> {
    let listed = answer.largest(LISTED);
    let listed = listed.iter().map(|(label, members)| json!([graph.id(*label), members]));
    fields([("components", json!(answer.count)), ("sizes", Value::Array(listed.collect()))])
}

/// The largest components as a table.
pub(crate) fn ranking(answer: &Components, graph: &Graph, k: usize) -> String {
    ranked(graph, ["component", "nodes"], answer.largest(k))
}

/// What was cut for the merges that took place.
pub(crate) fn cuts<A: Algorithm>(measured: &Measured, query: &Query<A>) -> String {
    let modes = &measured.merge_modes;
    if modes.contains_key("joint") {
        "; chains shared by words in turn".into()
    } else if modes.keys().any(|mode| mode != "none") {
        format!("; chunks of equal {}", query.prepare.chunks)
    } else {
        String::new()
    }
}

impl Answer<Cc> for Components {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Cc>) -> &'static str {
        if self.hooked() { "hook, MIN" } else { "skip the giant" }
    }

    fn cuts(&self, query: &Query<Cc>) -> String {
        cuts(&self.measured, query)
    }

    fn lines(&self, _: &Query<Cc>) -> Vec<(&'static str, String)> {
        lines(self, "component")
    }

    fn rated(&self) -> &'static str {
        match self.hooked() {
            true => "of the whole graph",
            false => "of the whole graph, most of them never looked at",
        }
    }

    fn variant(&self, _: &Query<Cc>) -> String {
        "variant:components".into()
    }

    fn facts(&self, query: &Query<Cc>) -> Map<String, Value> {
        facts(self, &query.graph)
    }

    fn ranking(&self, query: &Query<Cc>, k: usize) -> Option<String> {
        Some(ranking(self, &query.graph, k))
    }

    fn table(&self, _: &Query<Cc>) -> Table<'_> {
        Table::of_nodes([("component", Column::Node(&self.labels))])
    }

    fn verify(&self, query: &Query<Cc>, by: &Checker) -> Result<Checked> {
        let check = by.cc(&query.graph, &self.labels)?;
        let found = [("components", json!(check.components)), ("largest", json!(check.largest))];
        Ok(Checked { found: fields(found), ..Checked::default() })
    }
}
