//! What `hive info` says of a graph: a page for people, a record for programs.

use super::needs::{Need, needs, needs_table};
use super::record::{GraphFacts, Provenance};
use super::summary::{oddities, source};
use crate::graph::{Degrees, Graph, Statistics};
use crate::layout::memory::{CONTEXT_BYTES, GraphShape};
use crate::layout::{Form, Layout, Placement};
use crate::units::{bytes, count, ms, plural};
use serde::Serialize;
use std::time::Instant;

/// Characters of the longest bar.
const BAR: u64 = 48;

/// A graph, described. The names that a run's record has too mean the same there.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct GraphRecord<'a> {
    primitive: &'static str,
    dataset: &'a str,
    graph_file: &'a str,
    graph_nodes: usize,
    graph_edges: u64,
    #[serde(flatten)]
    provenance: Provenance,
    #[serde(skip)]
    source: &'a Graph,
    graph: GraphFacts<'a>,
    statistics: Statistics,
    statistics_ms: f64,
    shape: GraphShape,
    host_bytes: u64,
    /// Device memory of each workload on one GPU.
    needs: Vec<Need>,
    /// To be added on each GPU for the CUDA context: an allowance.
    context_bytes: u64,
}

impl<'a> GraphRecord<'a> {
    pub(crate) fn of(graph: &'a Graph) -> GraphRecord<'a> {
        let start = Instant::now();
        let statistics = graph.statistics();
        let statistics_ms = start.elapsed().as_secs_f64() * 1e3;
        let shape = GraphShape::of_weighted(graph, Layout::Auto);
        // Looking at all rows takes time, and for most graphs there is one shape.
        let topology = match graph.is_symmetric() == graph.is_undirected() {
            true => shape,
            false => GraphShape::of_topology(graph, Layout::Auto),
        };
        let of_form = |form: Form| if form.is_topology() { topology } else { shape };
        GraphRecord {
            primitive: "info",
            dataset: &graph.origin.dataset,
            graph_file: &graph.origin.graph_file,
            graph_nodes: graph.nodes(),
            graph_edges: graph.arcs(),
            provenance: Provenance::now(),
            source: graph,
            graph: GraphFacts::of(graph),
            statistics,
            statistics_ms,
            shape,
            host_bytes: shape.host_bytes(graph.is_weighted()),
            needs: needs(&of_form, 1, Placement::Replicated),
            context_bytes: CONTEXT_BYTES,
        }
    }
}

/// The page for people.
pub(crate) fn graph_summary(record: &GraphRecord) -> String {
    let GraphRecord { statistics, graph, .. } = record;
    let nodes = plural(record.graph_nodes as u64, "node");
    let mut lines =
        vec![format!("{} ({nodes}, {})", record.dataset, plural(record.graph_edges, "arc"))];
    let mut line = |name: &str, text: String| lines.push(format!("  {name:<10} {text}"));
    let origin = graph.origin;
    line("from", source(origin));
    let asked = origin.policies.shown();
    if !asked.is_empty() {
        line("asked", asked);
    }
    line(
        "has",
        format!(
            "weights {}, {}, {}, {}",
            origin.weights,
            graph.ids,
            oddities(origin),
            plural(statistics.isolated, "isolated node"),
        ),
    );
    if graph.places > 0 || graph.transpose {
        let places = format!("places of {}", plural(graph.places, "node"));
        let both = [(graph.places > 0, places), (graph.transpose, "the transpose".into())];
        let held: Vec<String> = both.into_iter().filter(|h| h.0).map(|h| h.1).collect();
        line("beside", held.join(", "));
    }
    let arcs = match statistics.symmetric {
        true => "symmetric: every arc has its reverse",
        false => "directed: some arcs have no reverse of the same weight",
    };
    line("arcs", arcs.into());
    line("out-degree", degree_line(&statistics.out_degree));
    if let Some(degrees) = &statistics.in_degree {
        line("in-degree", degree_line(degrees));
    }
    line(
        "weights",
        statistics.weights.as_ref().map_or("none: every arc counts 1".into(), |w| {
            let kind = if w.integers { ", integers" } else { "" };
            format!("{} to {}, mean {:.4}{kind}", w.min, w.max, w.mean)
        }),
    );
    let (components, diameter) = (&statistics.components, &statistics.diameter);
    line(
        "components",
        format!(
            "{}, the largest of {} ({:.1} %), lowest id {}",
            count(components.count),
            plural(components.largest, "node"),
            100.0 * components.largest as f64 / record.graph_nodes as f64,
            named(record, components.lowest),
        ),
    );
    let searches = match diameter.searches {
        1 => "1 search".into(),
        many => format!("{many} searches"),
    };
    line(
        "diameter",
        format!(
            "at least {}, the distance of nodes {} and {} (arcs both ways, {searches})",
            count(diameter.at_least),
            named(record, diameter.between.0),
            named(record, diameter.between.1),
        ),
    );
    let shape = &record.shape;
    line(
        "layout",
        format!(
            "{}, {} an arc, rows {}; {} on the host",
            if shape.flat { "long paths" } else { "push-pull" },
            if shape.packed { "4 bytes" } else { "8 bytes" },
            if shape.symmetric { "once" } else { "both ways" },
            bytes(record.host_bytes),
        ),
    );
    line(
        "time",
        format!(
            "load {}, build {}, statistics {}",
            ms(origin.load_ms),
            ms(origin.build_ms),
            ms(record.statistics_ms)
        ),
    );
    let mut text = lines.join("\n") + "\n";
    text += &histogram("out-degree", &statistics.out_degree);
    if let Some(degrees) = &statistics.in_degree {
        text += &histogram("in-degree", degrees);
    }
    let context = bytes(record.context_bytes);
    text + &format!(
        "\n{}(one GPU; {context} more, by allowance, for the CUDA context)\n",
        needs_table(&record.needs)
    )
}

fn degree_line(degrees: &Degrees) -> String {
    let Degrees { min, median, mean, max, .. } = degrees;
    format!("{} to {}, mean {mean:.2}, median {}", count(*min), count(*max), count(*median))
}

/// What the input calls a node.
fn named(record: &GraphRecord, id: u64) -> String {
    let node = record.source.node_of_input_id(id);
    node.map_or(id.to_string(), |node| record.source.id(node).to_string())
}

/// Nodes by degree, a bar a power of two. A bin that is not empty shows at least a sliver.
fn histogram(name: &str, degrees: &Degrees) -> String {
    let range = |from, to| match from == to {
        true => count(from),
        false => format!("{}-{}", count(from), count(to)),
    };
    let bins = &degrees.histogram;
    let names: Vec<String> = bins.iter().map(|bin| range(bin.from, bin.to)).collect();
    let wide = names.iter().map(String::len).max().unwrap_or(0).max(name.len());
    let most = bins.iter().map(|bin| bin.nodes).max().unwrap_or(0).max(1);
    let mut text = format!("\n{name:>wide$}  {:>13}\n", "nodes");
    for (bin, name) in bins.iter().zip(names) {
        let length = (u128::from(bin.nodes) * u128::from(BAR)).div_ceil(u128::from(most));
        let bar = "█".repeat(length as usize);
        text += format!("{name:>wide$}  {:>13}  {bar}", count(bin.nodes)).trim_end();
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn the_page_draws_a_bar_for_every_bin_with_nodes() {
        let graph = generate("star:1000").unwrap();
        let text = graph_summary(&GraphRecord::of(&graph));
        assert!(text.starts_with("star1000 (1,001 nodes, 2,000 arcs)\n"), "{text}");
        assert!(text.contains("  diameter   at least 2, the distance of nodes"), "{text}");
        let bars: Vec<usize> = text.lines().map(|line| line.matches('█').count()).collect();
        assert_eq!(bars.iter().filter(|bar| **bar == BAR as usize).count(), 1, "{text}");
        assert_eq!(bars.iter().filter(|bar| **bar == 1).count(), 1, "{text}");
        assert!(text.contains("512-1,023"), "{text}");
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    }
}
