//! What every reader hands over: the arcs as the file has them. Ids, policies and the CSR come after, the
//! same for all formats.

use super::compact::{self, Called, Renumbering};
use super::on_device::{self, Input, Wanted};
use super::uplink::Copies;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::generate::Kept;
use crate::graph::array::Array;
use crate::graph::build::{Keep, Repeated};
use crate::graph::options::{Duplicates, LoadOptions, Relabel, SelfLoops, Symmetrize, Weights};
use crate::graph::{ArcList, Graph, Origin, Rows, check, milliseconds};
use std::sync::Arc;
use std::time::Instant;

/// What a file's header promises; nothing behind it has been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headline {
    /// The format, as in `matrix-market`.
    pub format: &'static str,
    /// Nodes.
    pub nodes: u64,
    /// Arcs at most: in a symmetric file entries count twice.
    pub arcs: u64,
    /// Whether arcs carry weights.
    pub weighted: bool,
    /// Whether the header says that every arc has its reverse.
    pub symmetric: bool,
}

/// A file's content, read and checked, before any policy.
pub(super) struct Parsed {
    /// The format's name in results, as in `matrix-market`.
    pub format: &'static str,
    pub arcs: Arcs,
    /// Whether arcs carry weights.
    pub weighted: bool,
    /// Whether each pair (u, v) with u != v means the arc (v, u) as well.
    pub mirror: bool,
    /// Whether the first line was taken for the numbers of nodes and arcs.
    pub counts_line: bool,
}

impl Parsed {
    pub(super) fn new(format: &'static str, arcs: Arcs, weighted: bool) -> Parsed {
        Parsed { format, arcs, weighted, mirror: false, counts_line: false }
    }

    /// A finished CSR: offsets `[n + 1]`, columns `[m]`, weights `[m]`. Not trusted: checked before use.
    pub(super) fn rows(
        format: &'static str,
        offsets: Vec<u64>,
        columns: Array<u32>,
        weights: Option<Array<f32>>,
    ) -> Parsed {
        let weighted = weights.is_some();
        Parsed::new(format, Arcs::Rows { offsets, columns, weights }, weighted)
    }
}

/// The arcs of a file.
pub(super) enum Arcs {
    /// (source, target) pairs in file order, in as many parts as suited the reader.
    Lists(Vec<ArcList>, Nodes),
    /// The same with ids of 64 bits; the nodes are those that occur.
    Wide(Vec<ArcList<u64>>),
    /// A CSR whose nodes count from 0.
    Rows { offsets: Vec<u64>, columns: Array<u32>, weights: Option<Array<f32>> },
}

/// Which nodes a file speaks of. In lists, ids count from 0, but for `Counted`.
pub(super) enum Nodes {
    /// As many as it declares, ids in the file from `first` on; the reader has checked the arcs' ids.
    Declared { count: u64, first: u32 },
    /// As many as its first line says, ids from 1 on, in lists too.
    Counted { count: u64 },
    /// Those up to the largest id that occurs, ids from 0.
    UpToLargest,
    /// Those whose ids occur, whatever gaps there are.
    Occurring,
    /// Those that the file names, in the order of their names.
    Listed(Called),
}

/// The graph of a file, or its arcs, from which the CSR is still to be built.
pub(super) enum Assembled {
    Graph(Box<Graph>),
    Arcs(Box<Numbered>),
}

impl Assembled {
    /// The graph, built on the host.
    pub(super) fn on_host(self) -> Result<Graph> {
        match self {
            Assembled::Graph(graph) => Ok(*graph),
            Assembled::Arcs(arcs) => arcs.on_host(),
        }
    }
}

/// Arcs between nodes whose numbers are known.
pub(super) struct Numbered {
    path: String,
    options: LoadOptions,
    nodes: usize,
    lists: Vec<ArcList>,
    /// Of the ids in lists.
    renumbering: Renumbering,
    called: Called,
    mirror: bool,
    weighted: bool,
    origin: Origin,
}

/// Numbers the nodes of what was found in `path`; reading began at `start`.
pub(super) fn assemble(
    path: &str,
    parsed: Parsed,
    options: &LoadOptions,
    origin: Origin,
    start: Instant,
) -> Result<Assembled> {
    let weighted = parsed.weighted && options.weights.in_file().read();
    let origin = Origin {
        format: parsed.format.into(),
        counts_line: parsed.counts_line,
        weights: match weighted {
            true => options.weights.to_string(),
            false => weights_without(options).into(),
        },
        load_ms: milliseconds(start),
        ..origin
    };
    numbered(path, Parsed { weighted, ..parsed }, options, origin)
        .map_err(|error| name_file(path, error))
}

fn numbered(
    path: &str,
    parsed: Parsed,
    options: &LoadOptions,
    mut origin: Origin,
) -> Result<Assembled> {
    let keep = keep(options);
    let (lists, renumbering, called) = match parsed.arcs {
        Arcs::Rows { offsets, columns, weights } => {
            let offsets = extended(offsets, options.nodes)?;
            let weights = weights.filter(|_| parsed.weighted);
            let rows = Rows { offsets: offsets.into(), columns, weights };
            let graph = match keep.repeated {
                Repeated::First => Graph::unsorted(rows, origin)?.kept(keep)?,
                _ => Graph::sorted(rows, origin)?.kept(keep)?,
            };
            return Ok(Assembled::Graph(Box::new(apply(graph, options)?)));
        }
        Arcs::Wide(lists) => {
            if let Some(asked) = options.nodes {
                let ids = lists.iter().flat_map(|list| &list.pairs).map(|pair| pair.0.max(pair.1));
                return Err(outside(ids.max().unwrap_or(0), asked));
            }
            let (lists, names) = compact::by_sorting(lists);
            (lists, Renumbering::Same, Called::Named(names))
        }
        Arcs::Lists(mut lists, nodes) => {
            let (renumbering, called) = number(&mut lists, nodes, options.nodes)?;
            (lists, renumbering, called)
        }
    };
    let count = called.count();
    justified(count, &lists, options)?;
    if count == 0 {
        return Err(Error::input("the graph is empty (0 nodes); give at least one arc"));
    }
    if let Called::From { first, .. } = called {
        origin.id_base = first;
    }
    let (mirror, weighted) = (parsed.mirror, parsed.weighted);
    let (path, options, nodes) = (path.into(), options.clone(), count as usize);
    let numbered =
        Numbered { path, options, nodes, lists, renumbering, called, mirror, weighted, origin };
    Ok(Assembled::Arcs(Box::new(numbered)))
}

impl Numbered {
    /// Pairs of the file.
    pub(super) fn pairs(&self) -> u64 {
        self.lists.iter().map(|list| list.pairs.len() as u64).sum()
    }

    /// Whether `copies` are of these arcs, up to a line that went another way.
    #[cfg(test)]
    pub(super) fn copied(&self, copies: &Copies) -> bool {
        let (have, lack): (Vec<_>, Vec<_>) = self.lists.iter().partition(|list| copies.has(list));
        have.len() > 1 && lack.iter().all(|list| list.pairs.len() < 2)
    }

    /// The option that needs rows on the host, if one does.
    pub(super) fn needs_host(&self) -> Option<&'static str> {
        let options = &self.options;
        // Of a pair whose directions differ two arcs are left each way.
        let uneven = options.symmetrize == Symmetrize::Keep && !self.mirror;
        [
            (uneven, "--symmetrize=keep"),
            (options.largest_component, "--largest-component"),
            (options.relabel != Relabel::None, "--relabel"),
        ]
        .into_iter()
        .find_map(|(asked, option)| asked.then_some(option))
    }

    /// Where the CSR will have been built, for the summary.
    pub(super) fn say_built_on(&mut self, place: String) {
        self.origin.built_on = place;
    }

    /// The graph under the options of the load, built on the host.
    pub(super) fn on_host(mut self) -> Result<Graph> {
        self.renumbering.apply(&mut self.lists);
        let Numbered { path, options, nodes, lists, called, mirror, weighted, origin, .. } = self;
        Graph::from_lists(nodes, lists, mirror, keep(&options), weighted, origin)
            .and_then(|graph| apply(named(graph, called), &options))
            .map_err(|error| name_file(&path, error))
    }

    /// The same, built on the first GPU of `fleet`, where its arcs stay until the host looks at them. Where that GPU has no
    /// room for it, the host builds it. `copies` are of lists that this GPU has already.
    pub(super) fn on(
        mut self,
        fleet: &Fleet,
        copies: Option<Copies>,
        most_keys: Option<u64>,
    ) -> Result<(Graph, Option<Arc<Kept>>)> {
        check::room(self.nodes as u64).map_err(|error| name_file(&self.path, error))?;
        let start = Instant::now();
        let (options, weighted) = (&self.options, self.weighted);
        if weighted {
            // A list may have left out weights of 1.
            self.lists.iter_mut().for_each(|list| list.weights.resize(list.pairs.len(), 1.0));
        }
        let wanted = Wanted {
            nodes: self.nodes as u64,
            mirror: self.mirror,
            weighted,
            keep: keep(options),
            symmetrize: options.symmetrize,
            weights: options.weights,
            most_keys,
        };
        let renumbering = std::mem::replace(&mut self.renumbering, Renumbering::Same);
        let lists = std::mem::take(&mut self.lists);
        let input = Input { lists, renumbering, copies: copies.into() };
        let (built, Input { lists, renumbering, .. }) = on_device::build(fleet, input, wanted)?;
        let Some(built) = built else {
            (self.lists, self.renumbering) = (lists, renumbering);
            self.origin.built_on = "the host, as the GPU has no room".into();
            return self.on_host().map(|graph| (graph, None));
        };
        // To give gigabytes back takes time.
        let _ = crate::threads::start("give back", move || drop(lists));
        let Numbered { options, called, mut origin, .. } = self;
        let (rows, kept) = Kept::once(built.csr)?;
        (origin.self_loops, origin.duplicates) = (built.self_loops, built.duplicates);
        if options.weights.draw().is_some() {
            origin.weights = options.weights.to_string();
        }
        origin.policies = options;
        origin.built_on = "the GPU".into();
        origin.build_ms += milliseconds(start);
        let graph = Graph::of_rows(rows, Some(built.symmetric), origin);
        // Names rise with nodes, so that the lowest node has the lowest id.
        Ok((named(graph, called).with_facts(built.facts), Some(Arc::new(kept))))
    }
}

/// The graph with what the file calls its nodes.
fn named(graph: Graph, called: Called) -> Graph {
    match called {
        Called::From { .. } => graph,
        Called::Named(names) => graph.with_names(Some(names.into()), None),
        Called::Texts(texts) => graph.with_texts(texts),
    }
}

/// So many nodes may have no arc without anybody's saying so.
const NODES_FOR_NOTHING: u64 = 1 << 26;
/// Beyond them, so many nodes may be declared for every arc that is listed.
const NODES_PER_ARC: u64 = 64;

/// Memory for nodes is for a file to justify, or for the user to ask for.
fn justified(count: u64, lists: &[ArcList], options: &LoadOptions) -> Result<()> {
    let arcs: u64 = lists.iter().map(|list| list.pairs.len() as u64).sum();
    if options.nodes.is_some() || count <= NODES_FOR_NOTHING.max(NODES_PER_ARC * arcs) {
        return Ok(());
    }
    Err(Error::input(format!(
        "{count} nodes for {arcs} arcs; if that is meant, say --nodes {count}"
    )))
}

/// What `--self-loops` and `--duplicates` keep.
fn keep(options: &LoadOptions) -> Keep {
    let repeated = match options.duplicates {
        Duplicates::Keep => Repeated::Kept,
        Duplicates::First => Repeated::First,
        Duplicates::Min => Repeated::Least,
        Duplicates::Sum => Repeated::Summed,
    };
    let self_loops = options.self_loops == SelfLoops::Keep;
    Keep { self_loops, rounded: options.weights == Weights::Rounded, repeated }
}

/// Numbers the nodes of `lists`.
fn number(
    lists: &mut Vec<ArcList>,
    nodes: Nodes,
    asked: Option<u64>,
) -> Result<(Renumbering, Called)> {
    let declared = |count, first, renumbering| match asked {
        Some(asked) if asked < count => Err(fewer(asked, count)),
        _ => Ok((renumbering, Called::From { first, count: asked.unwrap_or(count) })),
    };
    let same = |called| Ok((Renumbering::Same, called));
    let bound = compact::bound(lists);
    match (nodes, asked) {
        (Nodes::Declared { count, first }, _) => declared(count, first, Renumbering::Same),
        (Nodes::Counted { count }, _) => declared(count, 1, Renumbering::Less(1)),
        (Nodes::Listed(called), None) => same(called),
        (Nodes::Listed(_), Some(asked)) => Err(Error::input(format!(
            "--nodes {asked}: the file names its nodes; leave --nodes out"
        ))),
        (_, Some(asked)) if asked < bound => Err(outside(bound - 1, asked)),
        (_, Some(count)) => same(Called::From { first: 0, count }),
        (Nodes::Occurring, None) if bound > 0 => Ok(compact::narrow(lists, bound)),
        (_, None) => same(Called::From { first: 0, count: bound }),
    }
}

/// Row offsets with empty rows up to the asked number of nodes.
fn extended(mut offsets: Vec<u64>, asked: Option<u64>) -> Result<Vec<u64>> {
    let count = (offsets.len() as u64).saturating_sub(1);
    match (asked, offsets.last().copied()) {
        (Some(asked), _) if asked < count => Err(fewer(asked, count)),
        (Some(asked), Some(end)) => {
            check::room(asked)?;
            offsets.resize(asked as usize + 1, end);
            Ok(offsets)
        }
        _ => Ok(offsets),
    }
}

fn fewer(asked: u64, count: u64) -> Error {
    Error::input(format!(
        "--nodes {asked}: the file declares {count} nodes; ask for as many or more"
    ))
}

fn outside(id: u64, asked: u64) -> Error {
    let more = id.saturating_add(1);
    Error::input(format!("--nodes {asked}: the file has id {id}; ask for {more} or leave it out"))
}

/// The policies that need the CSR.
pub(super) fn apply(mut graph: Graph, options: &LoadOptions) -> Result<Graph> {
    let start = Instant::now();
    let mut kept = keep(options);
    if options.symmetrize != Symmetrize::Off {
        graph = graph.symmetrized(options.symmetrize, kept)?;
    }
    if let Some(draw) = options.weights.draw() {
        graph = graph.with_random_weights(draw);
        graph.origin.weights = options.weights.to_string();
    }
    if options.largest_component {
        if !options.keeps_duplicates() && kept.repeated == Repeated::Kept {
            kept.repeated = Repeated::Least;
        }
        graph = graph.largest_component(kept);
    }
    match options.relabel {
        Relabel::None => {}
        Relabel::Random(seed) => {
            let order = graph.random_order(seed);
            graph = graph.relabelled(&order);
        }
        Relabel::Degree => {
            let order = graph.degree_order();
            graph = graph.relabelled(&order);
        }
    }
    graph.origin.policies = options.clone();
    graph.origin.build_ms += milliseconds(start);
    Ok(graph)
}

/// The same policies for a graph that was generated: it has no self loops, no duplicates and no weights
/// but those that it was made with.
pub(super) fn apply_to_generated(graph: Graph, options: &LoadOptions) -> Result<Graph> {
    options.refuse_columns("generated")?;
    if let Some(asked) = options.nodes {
        return Err(Error::input(format!(
            "--nodes {asked}: a generator makes its own number of nodes; leave it out"
        )));
    }
    // It is symmetric, too: what would look at all rows to find so is left out.
    let summed = options.duplicates == Duplicates::Sum;
    let added = options.symmetrize == Symmetrize::Sum;
    let needed = LoadOptions {
        self_loops: SelfLoops::Keep,
        duplicates: if summed { options.duplicates } else { Duplicates::Keep },
        symmetrize: if added { options.symmetrize } else { Symmetrize::Off },
        ..options.clone()
    };
    let mut graph = finished(graph, &needed)?;
    graph.origin.policies = options.clone();
    Ok(graph)
}

/// The same policies for a graph that is there, of which nothing is known.
pub(super) fn apply_to_any(graph: Graph, options: &LoadOptions) -> Result<Graph> {
    options.refuse_columns("there already")?;
    if let Some(asked) = options.nodes.filter(|asked| *asked != graph.nodes() as u64) {
        return Err(Error::input(format!(
            "--nodes {asked}: the graph has {} nodes; leave it out",
            graph.nodes()
        )));
    }
    finished(graph, options)
}

/// Whether [`apply_to_generated`] leaves the arcs of a graph as they are, so that it need not look at them.
pub(super) fn leaves_arcs(options: &LoadOptions) -> bool {
    options.relabel == Relabel::None
        && !options.largest_component
        && options.symmetrize != Symmetrize::Sum
        && options.duplicates != Duplicates::Sum
        && options.weights.draw().is_none()
}

/// All policies, for a graph that is there as a CSR.
fn finished(mut graph: Graph, options: &LoadOptions) -> Result<Graph> {
    if !options.weights.in_file().read() {
        graph = graph.without_weights();
    }
    if !graph.is_weighted() {
        graph.origin.weights = weights_without(options).into();
    }
    apply(graph.kept(keep(options))?, options)
}

/// Where weights come from if no file's are looked at: with `--duplicates sum` they count arcs.
fn weights_without(options: &LoadOptions) -> &'static str {
    if options.duplicates == Duplicates::Sum { "multiplicity" } else { "unit" }
}

/// The same policies for a native file: what it holds is as good as a CSR from elsewhere.
pub(super) fn apply_to_native(
    path: &str,
    graph: Result<Graph>,
    options: &LoadOptions,
    start: Instant,
) -> Result<Graph> {
    let policies = |mut graph: Graph| {
        options.refuse_columns("a native file")?;
        graph.origin.graph_file = path.into();
        graph.origin.format = "hive".into();
        (graph.origin.load_ms, graph.origin.build_ms) = (milliseconds(start), 0.0);
        graph.origin.cached = false;
        let count = graph.nodes() as u64;
        if let Some(asked) = options.nodes.filter(|asked| *asked != count) {
            let what = format!("--nodes {asked}: the file has {count} nodes; leave --nodes out");
            return Err(Error::input(what));
        }
        finished(graph, options)
    };
    graph.and_then(policies).map_err(|error| name_file(path, error))
}

/// Puts the file's name before an error of the graph that was made from it.
pub(super) fn name_file(path: &str, error: Error) -> Error {
    match error {
        Error::Input(what) => Error::input(format!("{path}: {what}")),
        Error::Machine(what) => Error::machine(format!("{path}: {what}")),
        other => other,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::text::Fault;
    use super::*;

    /// Nodes, arcs, weights.
    pub type Found = (u64, Vec<(u32, u32)>, Vec<f32>);

    /// The CSR that a reader found.
    pub fn rows(parsed: Parsed) -> (Vec<u64>, Vec<u32>, Option<Vec<f32>>) {
        match parsed.arcs {
            Arcs::Rows { offsets, columns, weights } => {
                (offsets, columns.to_vec(), weights.map(|weights| weights.to_vec()))
            }
            _ => unreachable!(),
        }
    }

    /// What a reader of text found in a file called `name`, whose header declares its nodes.
    pub fn found(name: &str, bytes: &[u8], read: Result<Parsed, Fault>) -> Result<Found, String> {
        let parsed = read.map_err(|fault| fault.into_error(name, bytes).to_string())?;
        let Arcs::Lists(lists, Nodes::Declared { count, .. }) = parsed.arcs else { unreachable!() };
        let pairs = lists.iter().flat_map(|list| list.pairs.clone()).collect();
        Ok((count, pairs, lists.iter().flat_map(|list| list.weights.clone()).collect()))
    }
}
