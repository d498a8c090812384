//! What is said of searches.

use super::{Bfs, SearchDirection, UNREACHED};
use crate::algorithm::left::{LeftArray, LeftColumn, LeftMeaning};
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::algorithm::{Lengths, Measured, Paths, chains};
use crate::io::{Column, Table};
use crate::layout::TileFacts;
use crate::units::{count, plural, rate};
use crate::verify::Checker;
use crate::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Instant;

/// Traversed edges per second over all searches, as Graph500 reports them: the edges of a search are the input's
/// edges in the component of its source, here after duplicates were dropped, an undirected one counted once. Searches
/// that have none to traverse are left out: Graph500 begins none there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Teps {
    /// Searches divided by the sum of the inverse rates.
    pub harmonic_mean: f64,
    /// The slowest search.
    pub min: f64,
    /// The fastest.
    pub max: f64,
}

/// What searches found, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Searches {
    /// Where they began; one search each.
    pub sources: Vec<u32>,
    /// `[n]` arcs from the source, `u32::MAX` where none leads. Of every source where results are checked or
    /// written; else of the last search only.
    pub levels: Vec<Vec<u32>>,
    /// `[n]` the levels of each source, in place of these, where they were left on a GPU. Rates are then not told.
    pub left: Vec<LeftArray>,
    /// `[n]` of each source: the node of the previous level with the smallest id of the input; `u32::MAX` for the
    /// source and unreached nodes.
    pub predecessors: Option<Vec<Vec<u32>>>,
    /// Nodes reached from each source, arcs out of these, the largest level.
    pub counts: Vec<[u64; 3]>,
    /// Whether near-far was used.
    pub near_far: bool,
    /// The tiles that were searched, where there were any.
    pub tiles: Option<TileFacts>,
    /// Over all searches that were timed.
    pub teps: Teps,
    /// Timings and counts; reached nodes and arcs are means over the sources.
    pub measured: Measured,
}

impl Searches {
    pub(super) fn new(
        query: &Query<Bfs>,
        (levels, left): (Vec<Vec<u32>>, Vec<LeftArray>),
        (counts, loops): (&[[u64; 3]], &[u64]),
        (near_far, tiles): (bool, Option<TileFacts>),
        predecessors: bool,
        mut measured: Measured,
    ) -> Searches {
        let sources = query.start.nodes.clone();
        let begin = Instant::now();
        let predecessors = predecessors.then(|| {
            let of = |levels: &Vec<u32>| chains::parents(&query.graph, levels);
            levels.iter().map(of).collect()
        });
        measured.chains_ms = begin.elapsed().as_secs_f64() * 1e3;
        let many = sources.len() as u64;
        measured.reached = counts.iter().map(|count| count[0]).sum::<u64>() / many;
        measured.reached_arcs = counts.iter().map(|count| count[1]).sum::<u64>() / many;
        let teps = match query.config.run.leave {
            true => Teps::default(),
            false => teps(query, &measured, counts, loops),
        };
        let counts = counts.to_vec();
        Searches { sources, levels, left, predecessors, counts, near_far, tiles, teps, measured }
    }
}

fn teps(query: &Query<Bfs>, measured: &Measured, counts: &[[u64; 3]], loops: &[u64]) -> Teps {
    // An edge is two arcs, or a self loop.
    let edges = |[_, arcs, _]: [u64; 3], loops: u64| match query.graph.is_undirected() {
        true => (arcs + loops) as f64 / 2.0,
        false => arcs as f64,
    };
    let rates = measured.runs.iter().enumerate().map(|(run, time)| {
        let source = run % counts.len();
        edges(counts[source], loops[source]) / (time.total_ms / 1e3)
    });
    let rates: Vec<f64> = rates.filter(|rate| *rate > 0.0).collect();
    if rates.is_empty() {
        return Teps::default();
    }
    Teps {
        harmonic_mean: rates.len() as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>(),
        min: rates.iter().copied().fold(f64::INFINITY, f64::min),
        max: rates.iter().copied().fold(0.0, f64::max),
    }
}

impl Answer<Bfs> for Searches {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, query: &Query<Bfs>) -> &'static str {
        match (self.near_far, query.config.direction) {
            _ if self.tiles.is_some() => "tiles",
            (true, _) => "near-far",
            (_, SearchDirection::Auto) => "push-pull",
            (_, SearchDirection::Push) => "push",
            (_, SearchDirection::Pull) => "pull",
        }
    }

    fn strategy_line(&self, query: &Query<Bfs>) -> String {
        let bfs = &query.config;
        let name = self.strategy(query);
        match name {
            "tiles" => self.tiles.map(|tiles| tiles.to_string()).unwrap_or_default(),
            "push-pull" => format!("push-pull, do-a {}, do-b {}", bfs.do_a, bfs.do_b),
            name => name.into(),
        }
    }

    fn cuts(&self, query: &Query<Bfs>) -> String {
        let (modes, prepare) = (&self.measured.merge_modes, &query.prepare);
        if modes.contains_key("joint") {
            "; pulls shared by words in turn".into()
        } else if modes.keys().any(|mode| mode != "none") {
            format!("; chunks of equal {}, aligned to {}", prepare.chunks, prepare.chunk_align)
        } else {
            String::new()
        }
    }

    fn lines(&self, query: &Query<Bfs>) -> Vec<(&'static str, String)> {
        let nodes = plural(query.graph.nodes() as u64, "node");
        let depth = self.counts.iter().map(|count| count[2]).max().unwrap_or(0);
        let reached = match self.sources.len() {
            1 => format!("{} of {nodes} reached", count(self.measured.reached)),
            many => format!(
                "{} searches reach {} of {nodes} on average",
                count(many as u64),
                count(self.measured.reached)
            ),
        };
        let edges = if query.graph.is_undirected() { "edges, each once" } else { "arcs" };
        let rates = format!(
            "{}TEPS harmonic mean (min {}, max {}), {edges}",
            rate(self.teps.harmonic_mean),
            rate(self.teps.min),
            rate(self.teps.max),
        );
        let levels = plural(depth, "level");
        let answer = ("answer", format!("{reached}, {levels} deep at most"));
        if query.config.run.leave { vec![answer] } else { vec![answer, ("rate", rates)] }
    }

    fn rated(&self) -> &'static str {
        "out of reached nodes"
    }

    fn variant(&self, query: &Query<Bfs>) -> String {
        format!("variant:{}_sources-{}", query.config.direction, self.sources.len())
    }

    /// `sources` in the input's own ids, `do-a`, `do-b`, `direction`, `teps`, `depth`.
    fn facts(&self, query: &Query<Bfs>) -> Map<String, Value> {
        // As they are spelled: JSON has no infinity.
        let asked = json!(query.config);
        let sources: Vec<_> = self.sources.iter().map(|v| query.graph.id(*v)).collect();
        let depth = self.counts.iter().map(|count| count[2]).max();
        fields([
            ("sources", json!(sources)),
            ("direction", asked["direction"].clone()),
            ("do-a", asked["do-a"].clone()),
            ("do-b", asked["do-b"].clone()),
            ("depth", json!(depth)),
            ("teps", json!((!query.config.run.leave).then_some(self.teps))),
        ])
    }

    fn paths(&self, query: &Query<Bfs>) -> Option<Paths> {
        query.config.target.as_ref()?;
        let (levels, predecessors) = (self.levels.first()?, self.predecessors.as_ref()?.first()?);
        let level = |node: &u32| levels[*node as usize];
        let lengths = |nodes: &[u32]| Lengths::Arcs(nodes.iter().map(level).collect());
        Some(Paths::walk(&query.start.targets, predecessors, |v| level(&v) != UNREACHED, lengths))
    }

    fn ranking(&self, query: &Query<Bfs>, k: usize) -> Option<String> {
        let reached = (0u32..).zip(self.levels.first()?.iter().copied());
        let reached = reached.filter(|(_, level)| *level != UNREACHED);
        let farthest = first(&query.graph, reached, k, |a, b| b.cmp(a));
        Some(ranked(&query.graph, ["node", "level"], farthest))
    }

    /// With several sources a column each, named by the source's id.
    fn table(&self, query: &Query<Bfs>) -> Table<'_> {
        let named = |what: &str, i: usize| match self.sources.len() {
            1 => what.to_string(),
            _ => format!("{what}_{}", query.graph.id(self.sources[i])),
        };
        let mut columns = Vec::new();
        for (i, levels) in self.levels.iter().enumerate() {
            columns.push((named("level", i), Column::Count(levels)));
            if let Some(predecessors) = &self.predecessors {
                columns.push((named("predecessor", i), Column::Node(&predecessors[i])));
            }
        }
        Table::of_nodes(columns)
    }

    fn left(&self, query: &Query<Bfs>) -> Vec<LeftColumn> {
        let named = |i: usize| match self.sources.len() {
            1 => "level".to_string(),
            _ => format!("level_{}", query.graph.id(self.sources[i])),
        };
        let levels = self.left.iter().enumerate();
        let column = |(i, array): (usize, &LeftArray)| {
            LeftColumn::new(named(i), LeftMeaning::Count, array.clone())
        };
        levels.map(column).collect()
    }

    fn verify(&self, query: &Query<Bfs>, by: &Checker) -> Result<Checked> {
        let mut checked = Checked::default();
        for (i, (source, levels)) in self.sources.iter().zip(&self.levels).enumerate() {
            let predecessors = self.predecessors.as_ref().map(|all| all[i].as_slice());
            let check = by.bfs(&query.graph, *source, levels, predecessors)?;
            if [check.reached, check.reached_arcs] != self.counts[i][..2] {
                return Err(Error::Verify(format!(
                    "from node {} the levels reach {} nodes, but {} were counted",
                    query.graph.id(*source),
                    check.reached,
                    self.counts[i][0]
                )));
            }
            checked.found =
                fields([("reached", json!(check.reached)), ("depth", json!(check.depth))]);
        }
        let unreached = self.levels.iter().flatten().filter(|level| **level == UNREACHED).count();
        checked.found.insert("unreached".into(), json!(unreached));
        Ok(checked)
    }
}
