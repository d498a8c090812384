//! Published answers: networkx's, made by `tests/data/reference/networkx.py`, and those of LDBC Graphalytics.
//!
//! All values stand in the order of a graph's nodes, whatever order it was loaded in.

use super::data;
use hivegraph::graph::Graph;
use hivegraph::io::{Cache, LoadOptions, Symmetrize, load_with};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What networkx says of one graph; `[n]` in the order of ids, `id_base` first.
#[derive(Debug, Clone, Deserialize)]
pub struct Networkx {
    /// In the data folder's `small`.
    pub file: String,
    pub id_base: u64,
    pub directed: bool,
    pub nodes: usize,
    pub arcs: u64,
    pub components: u64,
    pub largest_component: u64,
    pub strong_components: u64,
    pub largest_strong_component: u64,
    /// Where `levels` start, less `id_base`.
    pub source: u64,
    /// `None` where unreached.
    pub levels: Vec<Option<u32>>,
    /// Of the undirected graph without self loops.
    pub cores: Vec<u32>,
    pub pagerank: Vec<NetworkxPagerank>,
    pub katz: NetworkxKatz,
    pub betweenness: Vec<NetworkxBetweenness>,
}

/// Katz centrality, not normalized, to 12 digits.
#[derive(Debug, Clone, Deserialize)]
pub struct NetworkxKatz {
    pub alpha: f64,
    pub values: Vec<f64>,
}

/// Ranks, converged to 1e-12 in L1.
#[derive(Debug, Clone, Deserialize)]
pub struct NetworkxPagerank {
    pub damping: f64,
    pub weighted: bool,
    /// The teleport; `None` is uniform.
    pub personal: Option<Vec<f64>>,
    pub ranks: Vec<f64>,
}

/// Scores, to 12 digits.
#[derive(Debug, Clone, Deserialize)]
pub struct NetworkxBetweenness {
    /// `None`: all nodes. Less `id_base`.
    pub sources: Option<Vec<u64>>,
    pub normalized: bool,
    pub endpoints: bool,
    pub scores: Vec<f64>,
}

/// What networkx says of karate, dolphins, polbooks, lesmis (undirected) and email-Eu-core (directed).
pub fn networkx() -> BTreeMap<String, Networkx> {
    #[derive(Deserialize)]
    struct File {
        graphs: BTreeMap<String, Networkx>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reference/networkx.json");
    let text = std::fs::read_to_string(&path).unwrap();
    serde_json::from_str::<File>(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())).graphs
}

impl Networkx {
    /// The graph; `None`, and said so, where its file is not.
    pub fn graph(&self, options: &LoadOptions) -> Option<Graph> {
        let path = data()?.join("small").join(&self.file);
        // A GPU machine gets only some of the data.
        if !path.is_file() {
            super::skipped(&format!("{} is not here", path.display()));
            return None;
        }
        let graph = loaded(&path, options);
        assert_eq!(graph.nodes(), self.nodes, "{}", self.file);
        Some(graph)
    }

    /// The node that networkx calls `id`.
    pub fn node(&self, graph: &Graph, id: u64) -> u32 {
        graph.node_of_input_id(id + self.id_base).unwrap()
    }

    /// Values in the order of networkx's ids, by nodes.
    pub fn by_node<T: Copy>(&self, graph: &Graph, values: &[T]) -> Vec<T> {
        let value = |v| values[(graph.input_id(v) - self.id_base) as usize];
        assert_eq!(values.len(), graph.nodes());
        (0..graph.nodes() as u32).map(value).collect()
    }

    /// Levels by nodes, `u32::MAX` where unreached.
    pub fn levels(&self, graph: &Graph) -> Vec<u32> {
        let levels = self.by_node(graph, &self.levels);
        levels.into_iter().map(|level| level.unwrap_or(u32::MAX)).collect()
    }

    /// The nodes that betweenness was summed over.
    pub fn sources(&self, graph: &Graph, asked: &NetworkxBetweenness) -> Vec<u32> {
        match &asked.sources {
            None => (0..graph.nodes() as u32).collect(),
            Some(sources) => sources.iter().map(|&id| self.node(graph, id)).collect(),
        }
    }
}

/// One of the example graphs of LDBC Graphalytics with its published answers, by nodes.
pub struct LdbcExample {
    pub name: &'static str,
    pub graph: Graph,
    /// Where levels and distances start.
    pub source: u32,
    /// `u32::MAX` where unreached.
    pub levels: Vec<u32>,
    /// In f64 from the file's weights; infinite where unreached.
    pub distances: Vec<f64>,
    /// Damping 0.85, 2 iterations, dangling ranks spread evenly.
    pub ranks: Vec<f64>,
    /// The node that is named as each node's weakly connected component.
    pub components: Vec<u32>,
    /// The node whose id is each node's label, after 2 iterations.
    pub communities: Vec<u32>,
    /// Local clustering coefficients.
    pub clustering: Vec<f64>,
}

/// Damping of [`LdbcExample::ranks`].
pub const LDBC_DAMPING: f64 = 0.85;
/// Iterations of [`LdbcExample::ranks`] and [`LdbcExample::communities`].
pub const LDBC_ITERATIONS: u32 = 2;

/// Both example graphs; none, and said so, where the data folder is not. `options` say how the graphs are
/// laid out; the undirected one is made symmetric.
pub fn ldbc_examples(options: &LoadOptions) -> Vec<LdbcExample> {
    let folder = data().map(|data| data.join("reference/ldbc-example"));
    // A GPU machine gets only some of the data.
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        super::skipped("no LDBC example graphs");
        return Vec::new();
    };
    [("example-directed", 1), ("example-undirected", 2)]
        .map(|(name, source)| ldbc_example(&folder, name, source, options))
        .into()
}

fn ldbc_example(
    folder: &Path,
    name: &'static str,
    source: u64,
    options: &LoadOptions,
) -> LdbcExample {
    let mut options = options.clone();
    if name == "example-undirected" {
        options.symmetrize = Symmetrize::Min;
    }
    let graph = loaded(&folder.join(format!("{name}.e")), &options);
    let values = |what: &str| ldbc_values(&graph, &folder.join(format!("{name}-{what}")));
    let numbers = |what| values(what).into_iter().map(|value| value.parse().unwrap()).collect();
    let level = |value: String| match value.parse::<u64>().unwrap() {
        // Their mark of an unreached vertex.
        0x7fff_ffff_ffff_ffff => u32::MAX,
        level => level as u32,
    };
    let node = |id: u64| graph.node_of_input_id(id).unwrap();
    let nodes =
        |what| values(what).into_iter().map(|id| node(id.parse().unwrap())).collect::<Vec<_>>();
    LdbcExample {
        name,
        source: node(source),
        levels: values("BFS").into_iter().map(level).collect(),
        distances: numbers("SSSP"),
        ranks: numbers("PR"),
        components: nodes("WCC"),
        communities: nodes("CDLP"),
        clustering: numbers("LCC"),
        graph,
    }
}

/// The second column of a file of (vertex, value), by nodes.
fn ldbc_values(graph: &Graph, path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut values = vec![String::new(); graph.nodes()];
    for line in text.lines() {
        let (id, value) = line.split_once(' ').unwrap();
        let node = graph.node_of_input_id(id.parse().unwrap()).unwrap();
        values[node as usize] = value.trim().into();
    }
    assert!(values.iter().all(|value| !value.is_empty()), "{}", path.display());
    values
}

/// cnr-2000, and the number that LAW gives to each node's strongly connected component, by nodes. `None`, and
/// said so, where they are not.
pub fn cnr_2000(options: &LoadOptions) -> Option<(Graph, Vec<u32>)> {
    let folder = super::all_data()?;
    let graph = loaded(&folder.join("web/cnr-2000.mtx.gz"), options);
    let file = std::fs::File::open(folder.join("reference/cnr-2000.scc.txt.gz")).unwrap();
    let text = std::io::read_to_string(flate2::read::MultiGzDecoder::new(file)).unwrap();
    let numbers: Vec<u32> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(numbers.len(), graph.nodes());
    // Matrix Market counts from 1.
    let number = |v| numbers[graph.input_id(v) as usize - 1];
    let by_node = (0..graph.nodes() as u32).map(number).collect();
    Some((graph, by_node))
}

fn loaded(path: &Path, options: &LoadOptions) -> Graph {
    let options = LoadOptions { cache: Cache::Off, ..options.clone() };
    load_with(path.to_str().unwrap(), &options).unwrap_or_else(|e| panic!("{e}"))
}
