//! Bipartite projection: which nodes of one side have neighbours in common on the other, and how many.
//!
//! **Definition.** The nodes are of two sides, and every arc leads from one side to the other. For every two nodes u and v of the kept
//! side with c(u, v) > 0, the projection has an edge of weight c(u, v): the number of nodes w with arcs u -> w and v -> w. On undirected
//! graphs these are the common neighbours. Parallel arcs are one.
//!
//! **Idea, replicas, arrays.** Those of `common`. What has an arc into a neighbour of a kept node is a kept node.
//!
//! **Source.** Newman, "Scientific collaboration networks II", Phys. Rev. E 64, 2001; Borgatti, Halgin, "Analyzing affiliation
//! networks", The SAGE Handbook of Social Network Analysis, 2011. NetworkX: `bipartite.weighted_projected_graph`.

mod answer;

use super::common::{self, Found, Keep, Measure};
use super::start::{files_of, from_nodes, most_of};
use super::workload::{Algorithm, Request, config, run};
use super::{Measured, RunOptions, Seeds};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The workload.
pub struct BipartiteProjection;

/// What a projection is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProjectConfig {
    /// The nodes that are kept, all of one side: first:N | file:PATH | 0,5,17 | random:N:SEED | connected:N:SEED (of those with out-arcs
    /// to others) [default: the nodes that arcs lead from].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SOURCES", allow_hyphen_values = true))]
    pub side: Option<Seeds>,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

config!(ProjectConfig);

/// The answer of [`project`]: edges, by rising input ids of their first and then of their second node, which is the higher one.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// `[edges]` nodes.
    pub node: Vec<u32>,
    /// `[edges]` the other node.
    pub other: Vec<u32>,
    /// `[edges]` neighbours that they have in common.
    pub common: Vec<u32>,
    /// Timings and counts.
    pub measured: Measured,
}

/// The projection of a bipartite graph on one of its sides.
///
/// # Errors
/// [`Error::Input`] for nodes that the graph does not have, and for a graph of which an arc joins two nodes of one side;
/// [`Error::Machine`] where edges take more memory than there is; [`Error::Fault`] when a replica fails; [`Error::Verify`] when
/// `compare` finds answers that differ.
pub fn project(fleet: &Fleet, graph: &Prepared, config: &ProjectConfig) -> Result<Projection> {
    run::<BipartiteProjection>(fleet, graph, config)
}

/// The nodes that are kept, by rising input id.
pub struct Kept(pub(super) Vec<u32>);

impl Algorithm for BipartiteProjection {
    type Config = ProjectConfig;
    type Start = Kept;
    type Answer = Projection;
    const NAME: &'static str = "project";
    const ABOUT: &'static str =
        "Bipartite projection: how many neighbours any two nodes of one side have in common";
    const EXAMPLES: [&'static str; 2] = [
        "hive run project --graph chain:9 --side 0,2,4,6,8 --verify",
        "hive run project --graph grid:1x4 --side 1,3 --top 3 --output edges.csv",
    ];
    const FORM: Form = Form::Simple;
    const RANKS: Option<&'static str> = Some("the edges of the largest weight");
    const KERNELS: &'static [&'static str] = &["common.cu"];

    fn start(config: &ProjectConfig, graph: &Graph) -> Result<Kept> {
        graph.load()?;
        let nodes = graph.nodes();
        let mut inside = vec![false; nodes];
        match &config.side {
            Some(side) => {
                let kept = side.resolve_of("--side", graph)?;
                kept.iter().for_each(|node| inside[*node as usize] = true);
            }
            None => inside
                .par_iter_mut()
                .enumerate()
                .for_each(|(v, inside)| *inside = graph.degree(v) > 0),
        }
        let within = |u: usize| {
            let v = graph.neighbors(u).find(|(v, _)| inside[u] == inside[*v as usize])?.0;
            Some([u as u32, v].map(|node| graph.id(node)))
        };
        if let Some([u, v]) = (0..nodes).into_par_iter().find_map_first(within) {
            return Err(Error::input(match &config.side {
                Some(_) => format!(
                    "--side: the arc from {u} to {v} does not join the two sides; name all nodes of one side of a bipartite graph"
                ),
                None => format!(
                    "the arc from {u} to {v} leads to a node with arcs of its own; name the nodes of one side by --side"
                ),
            }));
        }
        let ranks = (0..nodes as u32).into_par_iter().map(|rank| graph.ranked(rank));
        Ok(Kept(ranks.filter(|node| inside[*node as usize]).collect()))
    }

    fn started(Kept(nodes): &Kept, graph: &Graph) -> String {
        from_nodes(nodes, "node", graph)
    }

    fn array_columns(_: &ProjectConfig) -> usize {
        3
    }

    fn files(config: &ProjectConfig) -> Vec<(&'static str, &Path)> {
        files_of([("--side", &config.side)])
    }

    fn folder(config: &ProjectConfig) -> Option<String> {
        config.side.as_ref().map(|side| format!("side-{}", side.many()))
    }

    fn arrays(shape: &GraphShape, config: &ProjectConfig, _: usize) -> Vec<DeviceArray> {
        let rows = most_of(&config.side, shape.nodes as usize).min(shape.active as usize);
        common::arrays(shape, Measure::Common, Some((Keep::Least(1.0), rows)))
    }

    fn solve(request: Request<Self>) -> Result<Projection> {
        let Request { fleet, graph, query, run, .. } = request;
        let Kept(nodes) = &query.start;
        let asked = (&nodes[..], Measure::Common, Keep::Least(1.0));
        let (found, mut measured) = common::rows((fleet, graph), asked, run)?;
        let Found { counts, others, values, wedges } = found;
        measured.reached = values.len() as u64;
        measured.reached_arcs = wedges;
        let each = nodes.iter().zip(counts);
        let node = each.flat_map(|(node, count)| std::iter::repeat_n(*node, count as usize));
        let common = values.into_par_iter().map(|count| count as u32).collect();
        Ok(Projection { node: node.collect(), other: others, common, measured })
    }
}
