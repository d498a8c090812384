//! The registry: one entry a workload. Subcommands, help, dispatch, checks, the sweep, records and
//! summaries are derived from it.

use super::{Answer, Job, RunConfig, Start};
use crate::algorithm::{bc, bfs, cc, filter, geo, kcore, pagerank, scc, sssp, triangles};
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{self, DeviceArray, GraphShape};
use crate::layout::{Form, Ready};
use crate::{Error, Result};

/// Options that only some workloads take; [`Workload::takes`] picks from these.
pub const OWN_OPTIONS: &[&str] = &[
    "seeds",
    "source",
    "target",
    "nominee",
    "predecessors",
    "delta",
    "top",
    "layout",
    "chunks",
    "chunk-align",
    "labels",
    "labels-first-id",
    "locate",
    "hide",
    "truth",
    "geo-iter",
    "geo-complete",
    "spatial-iter",
    "tolerance",
    "sources",
    "direction",
    "do-a",
    "do-b",
    "damping",
    "iterations",
    "personalize",
    "weighted",
    "strategy",
    "warp-width",
    "warp-chunk",
    "segments",
    "segment-width",
    "segment-teams",
    "deterministic",
    "normalized",
    "endpoints",
    "batch",
    "precision",
    "elements",
    "share",
    "seed",
];

/// A workload as the command line, the sweep and the records know it.
pub struct Workload {
    /// The word after `hive run`.
    pub name: &'static str,
    /// Other words for it.
    pub alias: &'static [&'static str],
    /// The record's `primitive`, as HIVE's records call it.
    pub primitive: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// Two commands for the help.
    pub examples: [&'static str; 2],
    /// Those of [`OWN_OPTIONS`] that it takes.
    pub takes: &'static [&'static str],
    /// How it wants the graph.
    pub form: Form,
    /// Whether [`Answer::verify`] can check its answers.
    pub verified: bool,
    /// The arrays of a run on one GPU of so many replicas; `None` where nobody has reckoned them.
    pub memory: Option<fn(&GraphShape, usize) -> Vec<DeviceArray>>,
    /// Checks its own options, before any work is done.
    pub check: fn(&RunConfig) -> Result<()>,
    /// What a run starts from. The options have been checked.
    pub start: fn(&RunConfig, &Graph) -> Result<Start>,
    /// The driver.
    pub solve: fn(&Context<'_>) -> Result<Box<dyn Answer>>,
}

/// What a driver is given.
pub struct Context<'a> {
    /// Options, graph and start.
    pub job: &'a Job,
    /// Who computes.
    pub fleet: &'a Fleet,
    /// The graph in the workload's form.
    pub ready: &'a Ready,
    /// Timed runs.
    pub runs: u32,
    /// Runs before them.
    pub warmup: u32,
    /// Only the time of a run is wanted: no extras.
    pub gauge: bool,
}

impl Workload {
    /// Whether it takes this one of [`OWN_OPTIONS`].
    pub fn takes(&self, option: &str) -> bool {
        self.takes.contains(&option)
    }
}

/// All workloads.
pub static WORKLOADS: &[Workload] = &[
    Workload {
        name: "vn",
        alias: &[],
        primitive: "vn",
        about: "Vertex nomination: rank all nodes by their distance from the nearest of some seeds",
        examples: [
            "hive run vn --graph web.mtx --seeds 1,5 --top 10",
            "hive run vn --graph rmat:12 --seeds first:10 --nominee --verify --output nominees.csv",
        ],
        takes: &[
            "seeds",
            "target",
            "nominee",
            "predecessors",
            "delta",
            "precision",
            "top",
            "layout",
            "chunks",
            "chunk-align",
        ],
        form: Form::ShortestPaths,
        verified: true,
        memory: Some(memory::shortest_paths),
        check: sssp::check_options,
        start: sssp::start,
        solve: sssp::solve,
    },
    Workload {
        name: "sssp",
        alias: &[],
        primitive: "sssp",
        about: "Shortest paths from one source to all nodes",
        examples: [
            "hive run sssp --graph web.mtx --source 1 --target 9",
            "hive run sssp --graph road:10 --benchmark --json record.json",
        ],
        takes: &[
            "source",
            "target",
            "predecessors",
            "delta",
            "precision",
            "top",
            "layout",
            "chunks",
            "chunk-align",
        ],
        form: Form::ShortestPaths,
        verified: true,
        memory: Some(memory::shortest_paths),
        check: sssp::check_options,
        start: sssp::start,
        solve: sssp::solve,
    },
    Workload {
        name: "geo",
        alias: &[],
        primitive: "geolocation",
        about: "Geolocation: place nodes at the spatial median of their located neighbours",
        examples: [
            "hive run geo --graph geo:5000 --hide 5 --verify",
            "hive run geo --graph rmat:10 --locate 0.5:1 --output places.csv",
        ],
        takes: &[
            "labels",
            "labels-first-id",
            "locate",
            "hide",
            "truth",
            "geo-iter",
            "geo-complete",
            "spatial-iter",
            "tolerance",
        ],
        form: Form::Plain,
        verified: true,
        memory: Some(memory::geolocation),
        check: geo::check_options,
        start: geo::start,
        solve: geo::solve,
    },
    Workload {
        name: "bfs",
        alias: &[],
        primitive: "bfs",
        about: "Breadth-first search: how many arcs each node is from a source",
        examples: [
            "hive run bfs --graph web.mtx --source 1 --top 5",
            "hive run bfs --graph rmat:12 --sources random:16:1 --runs 1",
        ],
        takes: &[
            "source",
            "sources",
            "target",
            "predecessors",
            "direction",
            "do-a",
            "do-b",
            "top",
            "layout",
            "chunks",
            "chunk-align",
        ],
        form: Form::Topology,
        verified: true,
        memory: Some(memory::search),
        check: bfs::check_options,
        start: bfs::start,
        solve: bfs::solve,
    },
    Workload {
        name: "cc",
        alias: &[],
        primitive: "cc",
        about: "Connected components: the smallest node that each is connected with",
        examples: [
            "hive run cc --graph web.mtx --top 5",
            "hive run cc --graph rmat:12 --output parts.csv",
        ],
        takes: &["top", "layout", "chunks", "chunk-align"],
        form: Form::Topology,
        verified: true,
        memory: Some(memory::components),
        check: one_column,
        start: whole_graph,
        solve: cc::solve,
    },
    Workload {
        name: "scc",
        alias: &[],
        primitive: "scc",
        about: "Strongly connected components: the smallest node that each leads to and back from",
        examples: ["hive run scc --graph web.mtx --top 5", "hive run scc --graph rmat:12 --verify"],
        takes: &["top", "layout", "chunks", "chunk-align"],
        form: Form::Topology,
        verified: true,
        memory: Some(memory::strong_components),
        check: one_column,
        start: whole_graph,
        solve: scc::solve,
    },
    Workload {
        name: "kcore",
        alias: &[],
        primitive: "kcore",
        about: "Core numbers: the largest k for which a node is among nodes of k arcs to each other",
        examples: [
            "hive run kcore --graph web.mtx --top 5",
            "hive run kcore --graph rmat:12 --output cores.tsv",
        ],
        takes: &["top", "layout", "chunks", "chunk-align"],
        form: Form::Topology,
        verified: true,
        memory: Some(kcore::memory),
        check: one_column,
        start: symmetric_graph,
        solve: kcore::solve,
    },
    Workload {
        name: "triangles",
        alias: &[],
        primitive: "triangles",
        about: "Triangles: how many each node is in, and how many there are",
        examples: [
            "hive run triangles --graph web.mtx --top 5",
            "hive run triangles --graph rmat:10 --verify",
        ],
        takes: &["top", "layout", "chunks", "chunk-align"],
        form: Form::Topology,
        verified: true,
        memory: Some(triangles::memory),
        check: one_column,
        start: symmetric_graph,
        solve: triangles::solve,
    },
    Workload {
        name: "filter",
        alias: &[],
        primitive: "filter",
        about: "Filter: the values of an array below a share of all, in order",
        examples: [
            "hive run filter --share 0.1 --verify",
            "hive run filter --elements 1000000 --output kept.npy",
        ],
        takes: &["elements", "share", "seed"],
        form: Form::Array,
        verified: true,
        memory: None,
        check: filter::check_options,
        start: filter::start,
        solve: filter::solve,
    },
    Workload {
        name: "bc",
        alias: &[],
        primitive: "bc",
        about: "Betweenness: how often nodes lie on the shortest paths of others",
        examples: [
            "hive run bc --graph web.mtx --sources all --normalized --top 10",
            "hive run bc --graph rmat:10 --sources random:8:1 --output scores.csv",
        ],
        takes: &[
            "sources",
            "normalized",
            "endpoints",
            "batch",
            "precision",
            "top",
            "layout",
            "chunks",
            "chunk-align",
        ],
        form: Form::Simple,
        verified: true,
        memory: Some(memory::betweenness),
        check: bc::check_options,
        start: bc::start,
        solve: bc::solve,
    },
    Workload {
        name: "pagerank",
        alias: &["pr"],
        primitive: "pr",
        about: "PageRank: how often a random walk is at each node",
        examples: [
            "hive run pagerank --graph web.mtx --top 10",
            "hive run pagerank --graph rmat:12 --tolerance 1e-7 --output ranks.npz",
        ],
        takes: &[
            "tolerance",
            "damping",
            "iterations",
            "personalize",
            "weighted",
            "strategy",
            "warp-width",
            "warp-chunk",
            "segments",
            "segment-width",
            "segment-teams",
            "deterministic",
            "top",
            "layout",
            "chunks",
            "chunk-align",
        ],
        form: Form::Topology,
        verified: true,
        memory: Some(memory::pagerank),
        check: pagerank::check_options,
        start: pagerank::start,
        solve: pagerank::solve,
    },
];

/// The workloads as a table in Markdown; the README's is this one.
pub fn table() -> String {
    let mut table = String::from("| `hive run` | | its own options |\n|---|---|---|\n");
    for workload in WORKLOADS {
        let shared = ["layout", "chunks", "chunk-align"];
        let own = workload.takes.iter().filter(|option| !shared.contains(option));
        let own: Vec<String> = own.map(|option| format!("`--{option}`")).collect();
        let names: Vec<String> = std::iter::once(&workload.name)
            .chain(workload.alias)
            .map(|name| format!("`{name}`"))
            .collect();
        table += &format!("| {} | {} | {} |\n", names.join(", "), workload.about, own.join(" "));
    }
    table
}

/// Checks the options of a workload whose answer is one column.
fn one_column(config: &RunConfig) -> Result<()> {
    config.check_format(None)
}

/// Starts from the graph alone.
fn whole_graph(_: &RunConfig, _: &Graph) -> Result<Start> {
    Ok(Start::Graph)
}

fn symmetric_graph(_: &RunConfig, graph: &Graph) -> Result<Start> {
    match graph.is_undirected() {
        true => Ok(Start::Graph),
        false => Err(Error::input(
            "this needs a symmetric graph, and in this one some arc lacks its reverse, or has it less often: load it with --symmetrize",
        )),
    }
}

/// The workload of that name or alias.
pub fn workload(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name || w.alias.contains(&name))
}
