//! How components are asked for, and what is said of them.

use crate::algorithm::Measured;
use crate::algorithm::frame::Brought;
use crate::algorithm::ranking::ranked;
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::layout::{Columns, TopologyRows};
use crate::run::{Answer, Checked, Job, fields};
use crate::units::{count, plural};
use crate::{Result, verify};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Sizes that a record lists.
const LISTED: usize = 10;

/// Components, connected or strongly connected, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Components {
    /// `[n]` the member of the node's component with the smallest id of the input.
    pub labels: Vec<u32>,
    /// (label, members), largest first, ties by the label's id.
    pub sizes: Vec<(u32, u64)>,
    /// Whether they are the strongly connected ones.
    pub strong: bool,
    /// Whether each arc has its reverse as often, and strongly connected ones were found as connected ones are.
    pub undirected: bool,
    /// Timings and counts.
    pub measured: Measured,
}

impl Components {
    /// From each row's root, by label, as a program brought them back.
    pub(crate) fn of_roots(rows: &TopologyRows, brought: Brought<u32>, strong: bool) -> Components {
        let Brought { values: roots, mut measured } = brought;
        let start = Instant::now();
        let labels = smallest_members(&rows.graph, &rows.columns, &roots);
        measured.download_ms += start.elapsed().as_secs_f64() * 1e3;
        measured.reached = labels.len() as u64;
        measured.reached_arcs = rows.graph.arcs();
        let sizes = sizes(&labels);
        Components { labels, sizes, strong, undirected: false, measured }
    }
}

impl Components {
    /// Whether labels were merged by MIN, arcs of the own chunk between.
    fn hooked(&self) -> bool {
        self.measured.merge_modes.contains_key("dense")
    }
}

/// (label, members), largest first, ties by the label's id.
fn sizes(labels: &[u32]) -> Vec<(u32, u64)> {
    let members: Vec<AtomicU32> = labels.par_iter().map(|_| AtomicU32::new(0)).collect();
    labels.par_chunks(1 << 14).for_each(|part| {
        // Neighbours often share a label: one addition for each stretch of the same.
        part.chunk_by(|a, b| a == b).for_each(|same| {
            members[same[0] as usize].fetch_add(same.len() as u32, Relaxed);
        });
    });
    let size = |(v, members): (usize, AtomicU32)| match members.into_inner() {
        0 => None,
        members => Some((v as u32, u64::from(members))),
    };
    let mut sizes: Vec<(u32, u64)> = members.into_par_iter().enumerate().filter_map(size).collect();
    sizes.par_sort_by_key(|(label, members)| (std::cmp::Reverse(*members), *label));
    sizes
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
fn component_lines(answer: &Components) -> Vec<(&'static str, String)> {
    let kind = if answer.strong { "strongly connected component" } else { "component" };
    let alone = answer.sizes.iter().rev().take_while(|(_, members)| *members == 1).count();
    let largest = answer.sizes.first().map_or(0, |(_, members)| *members);
    let text = format!(
        "{}, the largest of {}, {} of one node",
        plural(answer.sizes.len() as u64, kind),
        plural(largest, "node"),
        count(alone as u64),
    );
    vec![("answer", text)]
}

impl Answer for Components {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, _: &Job) -> &'static str {
        match (self.strong && !self.undirected, self.hooked()) {
            (true, _) => "forward-backward",
            (false, true) => "hook, MIN",
            (false, false) => "skip the giant",
        }
    }

    fn cuts(&self, job: &Job) -> String {
        let modes = &self.measured.merge_modes;
        if modes.contains_key("joint") {
            "; chains shared by words in turn".into()
        } else if modes.keys().any(|mode| mode != "none") {
            format!("; chunks of equal {}", job.config.chunks)
        } else {
            String::new()
        }
    }

    fn lines(&self, _: &Job) -> Vec<(&'static str, String)> {
        component_lines(self)
    }

    fn rated(&self) -> &'static str {
        match self.strong && !self.undirected || self.hooked() {
            true => "of the whole graph",
            false => "of the whole graph, most of them never looked at",
        }
    }

    fn variant(&self, _: &Job) -> String {
        let kind = if self.strong { "strong-components" } else { "components" };
        format!("variant:{kind}")
    }

    /// `components`, and the `sizes` of the largest, by label in the input's own ids.
    fn facts(&self, job: &Job) -> Map<String, Value> {
        let listed = self.sizes.iter().take(LISTED);
        let listed = listed.map(|(label, members)| json!([job.graph.id(*label), members]));
        fields([("components", json!(self.sizes.len())), ("sizes", Value::Array(listed.collect()))])
    }

    fn ranking(&self, job: &Job, k: usize) -> Option<String> {
        Some(ranked(&job.graph, ["component", "nodes"], self.sizes.iter().take(k).copied()))
    }

    fn table(&self, _: &Graph) -> Table<'_> {
        Table::of_nodes([("component", Column::Node(&self.labels))])
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let check = match self.strong {
            true => verify::strong_components(&job.graph, &self.labels)?,
            false => verify::components(&job.graph, &self.labels)?,
        };
        let found = [("components", json!(check.components)), ("largest", json!(check.largest))];
        Ok(Checked { found: fields(found), ..Checked::default() })
    }
}
