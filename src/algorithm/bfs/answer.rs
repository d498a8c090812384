//! How breadth-first search is asked for, and what is said of its answer.

use super::{BfsOptions, SearchDirection, UNREACHED};
use crate::algorithm::ranking::{first, ranked};
use crate::algorithm::{Lengths, Measured, Paths, chains};
use crate::graph::Graph;
use crate::io::{Column, Table};
use crate::run::{Answer, Checked, Job, RunConfig, Start, fields};
use crate::units::{count, plural, rate};
use crate::{Error, Result, verify};
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
    /// `[n]` of each source: the node of the previous level with the smallest id of the input; `u32::MAX` for the
    /// source and unreached nodes.
    pub predecessors: Option<Vec<Vec<u32>>>,
    /// Nodes reached from each source, arcs out of these, the largest level.
    pub counts: Vec<[u64; 3]>,
    /// Whether near-far was used.
    pub near_far: bool,
    /// Over all searches that were timed.
    pub teps: Teps,
    /// Timings and counts; reached nodes and arcs are means over the sources.
    pub measured: Measured,
}

/// Checks what no single option's syntax can.
pub(crate) fn check_options(config: &RunConfig) -> Result<()> {
    let bfs = &config.bfs;
    for (flag, value) in [("--do-a", bfs.do_a), ("--do-b", bfs.do_b)] {
        if value.is_nan() || value < 0.0 {
            return Err(Error::input(format!("{flag} {value}: use a number from 0 on, or inf")));
        }
    }
    if config.source.is_some() && config.sources.is_some() {
        return Err(Error::input("--source with --sources: leave one of them out"));
    }
    let BfsOptions { do_a, do_b, .. } = BfsOptions::default();
    if bfs.direction != SearchDirection::Auto && (bfs.do_a, bfs.do_b) != (do_a, do_b) {
        let way = bfs.direction;
        return Err(Error::input(format!(
            "--direction {way} with --do-a or --do-b: nothing is chosen; leave one of them out"
        )));
    }
    let several = [("--target", config.target.is_some()), ("--predecessors", config.predecessors)];
    config.check_format(several.iter().find(|(_, asked)| *asked).map(|(option, _)| *option))
}

/// Where searches begin.
pub(crate) fn start(config: &RunConfig, graph: &Graph) -> Result<Start> {
    let nodes = match (&config.sources, &config.source) {
        (Some(sources), _) => sources.sources_of("--sources", graph)?,
        (None, Some(source)) => vec![source.resolve(graph, "--source")?],
        (None, None) => vec![graph.default_source()],
    };
    if nodes.len() > 1 {
        let one_search = [("--target", config.target.is_some()), ("--top", config.top > 0)];
        if let Some((option, _)) = one_search.iter().find(|(_, asked)| *asked) {
            return Err(Error::input(format!(
                "{option} with {} sources: it is for one search; give one --source",
                nodes.len()
            )));
        }
        let several = format!("the levels of {} searches", nodes.len());
        config.check_format(Some(&several))?;
    }
    Ok(Start::Nodes(nodes))
}

impl Searches {
    pub(super) fn new(
        job: &Job,
        levels: Vec<Vec<u32>>,
        (counts, loops): (&[[u64; 3]], &[u64]),
        near_far: bool,
        predecessors: bool,
        mut measured: Measured,
    ) -> Searches {
        let sources = job.start.nodes().to_vec();
        let begin = Instant::now();
        let predecessors = predecessors.then(|| {
            let of = |levels: &Vec<u32>| chains::parents(&job.graph, levels);
            levels.iter().map(of).collect()
        });
        measured.chains_ms = begin.elapsed().as_secs_f64() * 1e3;
        let many = sources.len() as u64;
        measured.reached = counts.iter().map(|count| count[0]).sum::<u64>() / many;
        measured.reached_arcs = counts.iter().map(|count| count[1]).sum::<u64>() / many;
        let teps = teps(job, &measured, counts, loops);
        let counts = counts.to_vec();
        Searches { sources, levels, predecessors, counts, near_far, teps, measured }
    }
}

fn teps(job: &Job, measured: &Measured, counts: &[[u64; 3]], loops: &[u64]) -> Teps {
    // An edge is two arcs, or a self loop.
    let edges = |[_, arcs, _]: [u64; 3], loops: u64| match job.graph.is_undirected() {
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

impl Answer for Searches {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, job: &Job) -> &'static str {
        match (self.near_far, job.config.bfs.direction) {
            (true, _) => "near-far",
            (_, SearchDirection::Auto) => "push-pull",
            (_, SearchDirection::Push) => "push",
            (_, SearchDirection::Pull) => "pull",
        }
    }

    fn strategy_line(&self, job: &Job) -> String {
        let bfs = &job.config.bfs;
        let name = self.strategy(job);
        match name {
            "push-pull" => format!("push-pull, do-a {}, do-b {}", bfs.do_a, bfs.do_b),
            name => name.into(),
        }
    }

    fn cuts(&self, job: &Job) -> String {
        let (modes, config) = (&self.measured.merge_modes, &job.config);
        if modes.contains_key("joint") {
            "; pulls shared by words in turn".into()
        } else if modes.keys().any(|mode| mode != "none") {
            format!("; chunks of equal {}, aligned to {}", config.chunks, config.chunk_align)
        } else {
            String::new()
        }
    }

    fn lines(&self, job: &Job) -> Vec<(&'static str, String)> {
        let nodes = plural(job.graph.nodes() as u64, "node");
        let depth = self.counts.iter().map(|count| count[2]).max().unwrap_or(0);
        let reached = match self.sources.len() {
            1 => format!("{} of {nodes} reached", count(self.measured.reached)),
            many => format!(
                "{} searches reach {} of {nodes} on average",
                count(many as u64),
                count(self.measured.reached)
            ),
        };
        let edges = if job.graph.is_undirected() { "edges, each once" } else { "arcs" };
        let rates = format!(
            "{}TEPS harmonic mean (min {}, max {}), {edges}",
            rate(self.teps.harmonic_mean),
            rate(self.teps.min),
            rate(self.teps.max),
        );
        let levels = plural(depth, "level");
        vec![("answer", format!("{reached}, {levels} deep at most")), ("rate", rates)]
    }

    fn rated(&self) -> &'static str {
        "out of reached nodes"
    }

    fn variant(&self, job: &Job) -> String {
        format!("variant:{}_sources-{}", job.config.bfs.direction, self.sources.len())
    }

    /// `sources` in the input's own ids, `do-a`, `do-b`, `direction`, `teps`, `depth`.
    fn facts(&self, job: &Job) -> Map<String, Value> {
        // As they are spelled: JSON has no infinity.
        let asked = json!(job.config.bfs);
        let sources: Vec<_> = self.sources.iter().map(|v| job.graph.id(*v)).collect();
        let depth = self.counts.iter().map(|count| count[2]).max();
        fields([
            ("sources", json!(sources)),
            ("direction", asked["direction"].clone()),
            ("do-a", asked["do-a"].clone()),
            ("do-b", asked["do-b"].clone()),
            ("depth", json!(depth)),
            ("teps", json!(self.teps)),
        ])
    }

    fn paths(&self, job: &Job) -> Option<Paths> {
        job.config.target.as_ref()?;
        let (levels, predecessors) = (self.levels.first()?, self.predecessors.as_ref()?.first()?);
        let level = |node: &u32| levels[*node as usize];
        let lengths = |nodes: &[u32]| Lengths::Arcs(nodes.iter().map(level).collect());
        Some(Paths::walk(&job.targets, predecessors, |v| level(&v) != UNREACHED, lengths))
    }

    fn ranking(&self, job: &Job, k: usize) -> Option<String> {
        let reached = (0u32..).zip(self.levels.first()?.iter().copied());
        let reached = reached.filter(|(_, level)| *level != UNREACHED);
        let farthest = first(&job.graph, reached, k, |a, b| b.cmp(a));
        Some(ranked(&job.graph, ["node", "level"], farthest))
    }

    /// With several sources a column each, named by the source's id.
    fn table(&self, graph: &Graph) -> Table<'_> {
        let named = |what: &str, i: usize| match self.sources.len() {
            1 => what.to_string(),
            _ => format!("{what}_{}", graph.id(self.sources[i])),
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

    fn verify(&self, job: &Job) -> Result<Checked> {
        let mut checked = Checked::default();
        for (i, (source, levels)) in self.sources.iter().zip(&self.levels).enumerate() {
            let predecessors = self.predecessors.as_ref().map(|all| all[i].as_slice());
            let check = verify::levels(&job.graph, *source, levels, predecessors)?;
            if [check.reached, check.reached_arcs] != self.counts[i][..2] {
                return Err(Error::Verify(format!(
                    "from node {} the levels reach {} nodes, but {} were counted",
                    job.graph.id(*source),
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
