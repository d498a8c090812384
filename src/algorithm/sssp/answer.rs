//! How shortest paths and vertex nomination are asked for, and what is said of their answer.

use super::{MergeMode, ShortestPaths, SsspConfig, sssp};
use crate::algorithm::Spread;
use crate::algorithm::ranking::first;
use crate::algorithm::{Lengths, Measured, Paths, Precision};
use crate::graph::{Graph, NodeId};
use crate::io::{Column, Table};
use crate::run::{Answer, Checked, Choice, Context, Job, RunConfig, Start, fields};
use crate::table::Table as TextTable;
use crate::units::{count, ms, plural};
use crate::{Error, Result, verify};
use serde_json::{Map, Value, json};

/// Checks what no single option's syntax can.
pub(crate) fn check_options(config: &RunConfig) -> Result<()> {
    if let Choice::Is(delta) = config.delta
        && (delta.is_nan() || delta <= 0.0)
    {
        return Err(Error::input(format!("--delta {delta}: use auto, inf or a number above 0")));
    }
    check_merge(config)?;
    if config.precision == Precision::F64
        && matches!(config.merge, MergeMode::Dense | MergeMode::Split)
    {
        return Err(Error::input(format!(
            "--precision f64 with --merge {}: in f64 every replica computes alone; use --merge auto",
            config.merge
        )));
    }
    // As `Prepared::new` has it, which comes after devices and graph.
    let align = config.chunk_align;
    if !align.is_power_of_two() || !(64..=1 << 20).contains(&align) {
        return Err(Error::input(format!(
            "--chunk-align {align}: use a power of two from 64, a bitmap word, to 1048576"
        )));
    }
    let several = [
        ("--target", config.target.is_some()),
        ("--predecessors", config.predecessors),
        ("--nominee", config.nominee),
    ];
    config.check_format(several.iter().find(|(_, asked)| *asked).map(|(option, _)| *option))
}

/// A bucket width is of no use to a merge mode that has no buckets.
fn check_merge(config: &RunConfig) -> Result<()> {
    let (delta, merge) = (config.delta, config.merge);
    let why = match (delta, merge) {
        (Choice::Is(_), MergeMode::Dense) => "the dense loop has no buckets; leave one of them out",
        (Choice::Is(delta), MergeMode::Split) if delta.is_finite() => {
            "buckets are worked off by every replica alone, nothing is split; use --delta inf"
        }
        _ => return Ok(()),
    };
    Err(Error::input(format!("--delta {delta} with --merge {merge}: {why}")))
}

/// The nodes that a run starts from. [`RunConfig::check`] has seen to it that there are some.
pub(crate) fn start(config: &RunConfig, graph: &Graph) -> Result<Start> {
    let nodes = match (&config.seeds, &config.source) {
        (Some(seeds), _) => seeds.resolve_of("--seeds", graph)?,
        (None, Some(source)) => vec![source.resolve(graph, "--source")?],
        (None, None) => vec![graph.default_source()],
    };
    Ok(Start::Nodes(nodes))
}

/// Runs the driver under the options of the job.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let (config, extras) = (&context.job.config, !context.gauge);
    let options = SsspConfig {
        merge: config.merge,
        delta: match config.delta {
            Choice::Auto => None,
            Choice::Is(delta) => Some(delta),
        },
        precision: config.precision,
        predecessors: (config.predecessors || config.target.is_some()) && extras,
        nominee: config.nominee && extras,
        runs: context.runs,
        warmup: context.warmup,
        trace: config.trace && extras,
        compare: config.verify,
        ..SsspConfig::default()
    };
    let prepared = context.ready.shortest_paths()?;
    Ok(Box::new(sssp(context.fleet, prepared, context.job.start.nodes(), &options)?))
}

impl ShortestPaths {
    /// What distances were found in.
    fn precision(&self) -> Precision {
        if self.distances_f64.is_some() { Precision::F64 } else { Precision::F32 }
    }

    /// What the summary says of it, where there is something to say.
    fn precision_line(&self) -> String {
        let mut parts = Vec::new();
        if let Some(first) = &self.measured_f32 {
            parts.push(format!(
                "f64: f32 does not hold the sums (whole numbers from 2^24 on, or any above 3.4e38); the run in f32 \
                 before it took {}",
                ms(Spread::of_runs(first).median)
            ));
        }
        if self.overflowed > 0 {
            let arcs = plural(self.overflowed, "arc");
            parts.push(format!(
                "sums over {arcs} are more than f32 holds and reach nobody; --precision f64 holds them"
            ));
        }
        if self.rounded > 0 {
            let nodes = plural(self.rounded, "node");
            parts.push(format!(
                "f32 rounds distances from 2^24 on, of {nodes}; --precision f64 does not"
            ));
        }
        if self.absorbed > 0 {
            let (nodes, width) = (plural(self.absorbed, "node"), self.precision());
            parts.push(format!(
                "a weight above 0 is lost beside the distance in {width}, on {nodes}"
            ));
        }
        parts.join("; ")
    }
}

impl Answer for ShortestPaths {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, job: &Job) -> &'static str {
        match job.config.merge {
            _ if self.distances_f64.is_some() => "near-far",
            MergeMode::Dense => "dense",
            _ if self.delta.is_finite() => "near-far",
            _ => "push-pull",
        }
    }

    fn strategy_line(&self, job: &Job) -> String {
        match self.strategy(job) {
            "near-far" if self.distances_f64.is_some() => {
                format!("near-far in f64, delta {}", self.delta)
            }
            "near-far" => format!("near-far, delta {}", self.delta),
            "push-pull" => "push-pull".into(),
            _ => {
                "dense: push what the chunk's frontier reaches, OR frontiers, MIN distances".into()
            }
        }
    }

    fn cuts(&self, job: &Job) -> String {
        let (modes, config) = (&self.measured.merge_modes, &job.config);
        let align = config.chunk_align;
        if modes.contains_key("joint") {
            "; pulls shared by words in turn".into()
        } else if modes.contains_key("dense") {
            format!("; chunks of equal {}, aligned to {align}", config.chunks)
        } else if modes.keys().any(|mode| mode != "none") {
            // A pull stops early, so that its cost follows nodes: `--chunks` does not rule it.
            format!("; pulls cut into chunks of about equal nodes, aligned to {align}")
        } else {
            String::new()
        }
    }

    fn lines(&self, job: &Job) -> Vec<(&'static str, String)> {
        let answer = format!(
            "{} of {} reached, in {} of {}",
            count(self.measured.reached),
            plural(job.graph.nodes() as u64, "node"),
            plural(self.measured.iterations, "iteration"),
            plural(self.measured.rounds, "round"),
        );
        let mut lines = vec![("answer", answer)];
        let precision = self.precision_line();
        lines.extend((!precision.is_empty()).then_some(("precision", precision)));
        lines
    }

    fn rated(&self) -> &'static str {
        "out of reached nodes"
    }

    fn variant(&self, job: &Job) -> String {
        format!("variant:num_seeds-{}", job.start.nodes().len())
    }

    /// `seeds`: start nodes, in the input's own ids; `delta`: the bucket width in use, a number or `inf`; `precision`
    /// of distances; `absorbed-nodes`, `rounded-nodes` and `overflowed-arcs` as in [`ShortestPaths`]; `process-times-f32`, in ms, where a
    /// search in f32 came first.
    fn facts(&self, job: &Job) -> Map<String, Value> {
        let seeds: Vec<NodeId> = job.start.nodes().iter().map(|v| job.graph.id(*v)).collect();
        let mut facts = fields([
            ("seeds", json!(seeds)),
            ("delta", json!(Choice::Is(self.delta))),
            ("precision", json!(self.precision())),
            ("absorbed-nodes", json!(self.absorbed)),
            ("rounded-nodes", json!(self.rounded)),
            ("overflowed-arcs", json!(self.overflowed)),
        ]);
        if let Some(first) = &self.measured_f32 {
            let times: Vec<f64> = first.runs.iter().map(|run| run.total_ms).collect();
            facts.insert("process-times-f32".into(), json!(times));
        }
        facts
    }

    fn ranking(&self, job: &Job, k: usize) -> Option<String> {
        let best = best_ranked(&job.graph, job.start.nodes(), self, k);
        Some(ranking(&best).to_string())
    }

    fn paths(&self, job: &Job) -> Option<Paths> {
        let predecessors = self.predecessors.as_ref().filter(|_| job.config.target.is_some())?;
        let distance = |node: &u32| self.distances[*node as usize];
        let reached = |node: u32| self.is_reached(node);
        let lengths = |nodes: &[u32]| match &self.distances_f64 {
            Some(all) => Lengths::F64(nodes.iter().map(|node| all[*node as usize]).collect()),
            None => Lengths::F32(nodes.iter().map(distance).collect()),
        };
        Some(Paths::walk(&job.targets, predecessors, reached, lengths))
    }

    fn table(&self, _: &Graph) -> Table<'_> {
        let nodes = [("predecessor", &self.predecessors), ("nominee", &self.nominees)];
        let nodes =
            nodes.into_iter().filter_map(|(name, of)| Some((name, Column::Node(of.as_ref()?))));
        let distances = match &self.distances_f64 {
            Some(distances) => Column::Distance(distances),
            None => Column::F32(&self.distances),
        };
        let distances = ("distance", distances);
        Table::of_nodes([distances].into_iter().chain(nodes))
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let checked = verify::shortest_paths(&job.graph, job.start.nodes(), self)?;
        let arcs = checked.overflowed_arcs;
        let note = match arcs {
            0 => String::new(),
            _ => format!(
                "; sums over {} overflow 32-bit floats and reach nobody",
                plural(arcs, "arc")
            ),
        };
        Ok(Checked {
            found: fields([("overflowed_arcs", json!(arcs))]),
            note,
            ..Checked::default()
        })
    }
}

/// A node of the ranking, in the input's own ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The node.
    pub node: String,
    /// Its distance from the nearest seed.
    pub distance: f64,
    /// The seed it is nearest to, when nominees were asked for.
    pub nominee: Option<String>,
}

/// The `k` reached nodes nearest to the seeds that are not seeds, by distance, ties by input id.
pub fn best_ranked(graph: &Graph, seeds: &[u32], paths: &ShortestPaths, k: usize) -> Vec<Ranked> {
    let mut seeds = seeds.to_vec();
    seeds.sort_unstable();
    let distance = |node: u32| match &paths.distances_f64 {
        Some(distances) => distances[node as usize],
        None => f64::from(paths.distances[node as usize]),
    };
    let candidates = (0..paths.distances.len() as u32).map(|node| (node, distance(node)));
    let candidates = candidates
        .filter(|(node, distance)| distance.is_finite() && seeds.binary_search(node).is_err());
    let nearest = first(graph, candidates, k, f64::total_cmp);
    let named = |node: u32| graph.id(node).to_string();
    let nominee = |node: u32| paths.nominees.as_ref().map(|all| named(all[node as usize]));
    let rank = |(node, distance)| Ranked { node: named(node), distance, nominee: nominee(node) };
    nearest.into_iter().map(rank).collect()
}

/// The ranking as a table.
pub fn ranking(ranked: &[Ranked]) -> String {
    let nominees = ranked.iter().any(|r| r.nominee.is_some());
    let header = ["rank", "node", "distance", "nominee"];
    let mut table = TextTable::new(&header[..if nominees { 4 } else { 3 }], &[]);
    for (place, r) in ranked.iter().enumerate() {
        let nominee = r.nominee.clone();
        // A distance that f32 holds is printed as one of f32.
        let short = r.distance as f32;
        let distance = match f64::from(short) == r.distance {
            true => short.to_string(),
            false => r.distance.to_string(),
        };
        let cells = [(place + 1).to_string(), r.node.clone(), distance];
        table.row(cells.into_iter().chain(nominee));
    }
    table.to_string()
}
