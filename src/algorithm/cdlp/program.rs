//! Label propagation as operators. Hosts sort labels instead (`host`).

use super::{CdlpConfig, host};
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::{OnReplicas, replicated_arrays};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::same::Words;
use crate::collective::{Frontier, Marked, Marks, MergeOp, Replicated};
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::graph::Graph;
use crate::layout::Resident;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::operator::{Advance, ArcLambda, Args, GraphView, Lambda, Over, Reads, device, lambda};
use std::ops::Range;

/// Rows up to so many arcs are counted by comparing all with all.
const FEW: u64 = 16;
/// A word of a table has a label and 1 above so many bits, and a count below.
const LABEL: u32 = 32;
/// No label.
const NONE: u32 = u32::MAX;

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    nodes: usize,
    /// The same, where there are tables.
    tabled: usize,
    /// Words of the own tables.
    slots: usize,
}

replicated_arrays! {
    /// The replicated state.
    pub(super) struct State of Sizes {
        /// `[n]` how many nodes have a lower id.
        rank: Replicated<u32> = "rank", Gather, |s| s.nodes;
        /// `[n]` the label before and after an iteration: the rank of the node with that id.
        label: Replicated<u32> = "label", Gather, |s| s.nodes;
        next: Replicated<u32> = "next label", Gather, |s| s.nodes;
        /// `[n]` of nodes with many arcs the highest count << 32 and the lowest label, upside down.
        best: Replicated<u64> = "best label", Gather, |s| s.tabled;
        /// `[n + 1]` where their tables begin.
        at: Replicated<u64> = "starts of tables", Gather, |s| s.tabled + 1;
        table: Replicated<u64> = "tables of labels", Gather, |s| s.slots;
    }
}

/// Device arrays of one of `world` replicas, of which so many share the tables.
pub(super) fn arrays(shape: &GraphShape, sharers: usize, world: usize) -> Vec<DeviceArray> {
    let (nodes, arcs) = (shape.nodes as usize, shape.all_arcs() as usize);
    // A chunk has its share of the arcs out of nodes, or some rows more; of those into nodes it may have all.
    let row = nodes + (shape.repeats + shape.self_loops) as usize;
    let out = if sharers == 1 { arcs } else { arcs.min(arcs / sharers + 2 * row) };
    let counted = out + if shape.symmetric { 0 } else { arcs };
    let slots = counted + counted / 2;
    let mut all = State::list(Sizes { nodes, tabled: nodes, slots }, world);
    all.extend(Frontier::specs("long rows", nodes, MergeOp::Or, world));
    let marks = Marks::words_of(Marked::Lines, nodes.div_ceil(64));
    all.push(DeviceArray::new::<u32>("marks of a set", marks));
    all
}

/// Words of the table of a row with so many arcs.
fn table_words(arcs: u64) -> u64 {
    if arcs <= FEW { 0 } else { arcs + arcs / 2 }
}

/// Nodes have their own labels.
#[lambda]
fn begin(v: u32, rank: Reads<u32>, label: Writes<u32>) {
    label[v] = rank[v];
}

/// The arcs that count for v.
#[device]
fn arcs_of(g: GraphView, v: u32, both: u32) -> u64 {
    let out = g.degree(v);
    if both != 0_u32 {
        return out + g.in_degree(v);
    }
    out
}

/// Lists the nodes with many arcs.
#[lambda]
fn many(v: u32, g: GraphView, both: u32, long: Writes<NodeSet>) {
    if arcs_of(g, v, both) > FEW {
        long.insert(v);
    }
}

/// How many neighbours of v have a label.
#[device]
fn times(g: GraphView, v: u32, both: u32, label: Reads<u32>, wanted: u32) -> u32 {
    let mut count = 0_u32;
    for e in g.edges(v) {
        count += (label[e.node] == wanted) as u32;
    }
    if both != 0_u32 {
        for e in g.in_edges(v) {
            count += (label[e.node] == wanted) as u32;
        }
    }
    count
}

/// The next label of a node with few arcs.
#[lambda]
fn compare(v: u32, g: GraphView, both: u32, label: Reads<u32>, next: Writes<u32>) {
    let arcs = arcs_of(g, v, both);
    if arcs > FEW {
        return;
    }
    let mut most = 0_u32;
    let mut chosen = label[v];
    for e in g.edges(v) {
        let one = label[e.node];
        if most == 0_u32 || one != chosen {
            let count = times(g, v, both, label, one);
            if count > most || (count == most && one < chosen) {
                most = count;
                chosen = one;
            }
        }
    }
    if both != 0_u32 {
        for e in g.in_edges(v) {
            let one = label[e.node];
            if most == 0_u32 || one != chosen {
                let count = times(g, v, both, label, one);
                if count > most || (count == most && one < chosen) {
                    most = count;
                    chosen = one;
                }
            }
        }
    }
    next[v] = chosen;
}

/// Where the search for a label begins in a table of so many words, fewer than 2^32.
#[device]
fn slot(label: u32, words: u64) -> u64 {
    ((Random::mix(label as u64) >> 32_u32) * words) >> 32_u32
}

/// v counts in the table of u. A count that is not the last of its label is lower than that, so that the best of all is right.
#[lambda]
fn tally(
    u: u32,
    v: u32,
    label: Reads<u32>,
    at: Reads<u64>,
    table: Writes<u64>,
    best: Writes<u64>,
) -> bool {
    let first = at[u];
    let words = at[u as u64 + 1_u64] - first;
    let one = label[v];
    let name = (one as u64 + 1_u64) << LABEL;
    let mut place = slot(one, words);
    let mut before = 0_u64;
    loop {
        let mut there = table[first + place];
        if there == 0_u64 {
            there = table.cas(first + place, 0_u64, name + 1_u64);
            if there == 0_u64 {
                break;
            }
        }
        if (there >> LABEL) << LABEL == name {
            before = table.add(first + place, 1_u64) - name;
            break;
        }
        place += 1_u64;
        if place == words {
            place = 0_u64;
        }
    }
    let found = (before + 1_u64) << LABEL | (NONE - one) as u64;
    if best[u] < found {
        best.max(u, found);
    }
    false
}

/// The next label of a node with many arcs.
#[lambda]
fn settle(v: u32, best: Reads<u64>, next: Writes<u32>) {
    next[v] = NONE - best[v] as u32;
}

/// Whether a node has another label than before.
#[lambda]
fn changed(v: u32, label: Reads<u32>, next: Reads<u32>) -> u32 {
    (label[v] != next[v]) as u32
}

/// Whether arcs into nodes lie apart from those out of them.
fn both_ways(graph: &Graph) -> bool {
    !graph.is_symmetric()
}

/// `[n + 1]` where the tables of these nodes begin; others have none.
fn starts_of_tables(g: &Resident, own: &Range<usize>) -> Vec<u64> {
    let graph = g.graph();
    let into = both_ways(graph).then(|| graph.in_degrees()).flatten();
    let arcs = |v: usize| graph.degree(v) + into.as_ref().map_or(0, |into| into[v]);
    let mut end = 0;
    let mut starts = vec![0; graph.nodes() + 1];
    for v in 0..graph.nodes() {
        if own.contains(&v) {
            end += table_words(arcs(v));
        }
        starts[v + 1] = end;
    }
    starts
}

/// The program of one replica: labels by rank, iterations made, and nodes that the last changed. `whole`: it finds all labels.
/// `sorts`: it sorts the labels of neighbours, which hosts can, and needs no tables.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    config: &CdlpConfig,
    (whole, sorts): (bool, bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<(Vec<u32>, u32, u64)>> {
    let nodes = g.graph().nodes();
    let chunk = g.chunks().range(r.rank());
    let own = if whole { 0..nodes } else { chunk.start as usize..chunk.end as usize };
    let starts = if sorts { vec![0] } else { starts_of_tables(g, &own) };
    let slots = starts.last().copied().unwrap_or(0);
    // Arrays are of one length on all replicas.
    let all = r.agree("tables", [slots, 0, 0, 0])?;
    let slots = all.iter().map(|one| one[0]).max().unwrap_or(0) as usize;
    let mut state =
        State::allocate(r, Sizes { nodes, tabled: if sorts { 0 } else { nodes }, slots })?;
    state.rank.assign(&(0..nodes as u32).map(|v| g.graph().rank(v)).collect::<Vec<_>>())?;
    state.at.assign(&starts)?;
    let mut long = r.frontier("long rows", nodes, MergeOp::Or)?;
    let both = u32::from(both_ways(g.graph()));
    let args = Args::new().scalar("both", both).writes_set("long", &mut long);
    r.for_all("long rows", Over::nodes(g).whole(), &many(), args)?;
    let any_long = r.count("long rows", &long)? > 0;
    let engine = Engine::new(r, |_| Ok(()), || Ok(()))?;
    let lambdas = Lambdas {
        begin: begin(),
        compare: compare(),
        tally: tally(),
        settle: settle(),
        changed: changed(),
    };
    let made = (0, 0);
    let mut driver =
        Driver { g, config, whole, both, sorts, engine, state, long, any_long, lambdas, made };
    let measured = timed(r, run, &mut driver)?;
    let Driver { state, made: (iterations, changed), .. } = driver;
    ReplicaAnswer::new(measured, || Ok((values(r, &state.label)?, iterations, changed)))
}

struct Lambdas {
    begin: Lambda<()>,
    compare: Lambda<()>,
    tally: ArcLambda<bool>,
    settle: Lambda<()>,
    changed: Lambda<u32>,
}

/// One run, to be repeated.
struct Driver<'a> {
    g: &'a Resident,
    config: &'a CdlpConfig,
    /// Every replica finds all labels.
    whole: bool,
    /// 1 where arcs into nodes lie apart from those out of them.
    both: u32,
    /// A host that sorts the labels of neighbours.
    sorts: bool,
    engine: Engine<(), ()>,
    state: State,
    /// Nodes with many arcs, and whether there are any.
    long: Frontier,
    any_long: bool,
    lambdas: Lambdas,
    /// Iterations made, and nodes that the last changed.
    made: (u32, u64),
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if matches!(r.backend, Backend::Cuda(_)) {
            self.reset(r, 0)?;
            self.find(r)?;
            self.changed(r)?;
        }
        Ok(())
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let State { rank, label, .. } = &mut self.state;
        let args = Args::new().reads("rank", rank).writes("label", label);
        r.for_all("begin", Over::nodes(self.g).whole(), &self.lambdas.begin, args)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        self.made = (0, 0);
        let (g, own) = (self.g, self.own(r));
        let offsets = g.graph().offsets();
        let arcs = offsets[own.end] - offsets[own.start];
        loop {
            operators((r, log, "step labels"), |r| self.find(r))?;
            if !self.whole {
                r.gather(&mut self.state.next, g.chunks())?;
            }
            let changed = self.changed(r)?;
            let merge = if self.whole { "none" } else { "gather" };
            log.book("step labels", (1, arcs), (own.len() as u64, arcs), merge);
            std::mem::swap(&mut self.state.label, &mut self.state.next);
            self.made = (self.made.0 + 1, changed);
            if changed == 0 || self.made.0 == self.config.iterations {
                return Ok(());
            }
        }
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.label)]
    }
}

impl Driver<'_> {
    /// The nodes whose labels a replica finds.
    fn own(&self, r: &Replica) -> Range<usize> {
        let chunk = self.g.chunks().range(r.rank());
        let all = 0..self.g.graph().nodes();
        if self.whole { all } else { chunk.start as usize..chunk.end as usize }
    }

    /// The next labels of a replica's nodes.
    fn find(&mut self, r: &mut Replica) -> Result<()> {
        let own = self.own(r);
        if self.sorts {
            let g = self.g;
            let host = |(): &mut (), state: &mut State, beat: &(dyn Fn() + Sync)| {
                let label = state.label.host().unwrap_or_default();
                let next = state.next.host_mut().unwrap_or_default();
                host::labels(g, label, &mut next[own.clone()], own.start, beat);
            };
            return self.engine.with(r, &mut self.state, |_, _, _| Ok(()), host);
        }
        let Driver { g, both, state, long, any_long, lambdas, .. } = self;
        let State { label, next, best, at, table, .. } = state;
        let (over, set) = match self.whole {
            true => (Over::nodes(g).whole(), Over::frontier(g, long).whole()),
            false => (Over::nodes(g), Over::frontier(g, long)),
        };
        let args =
            Args::new().scalar("both", *both).reads("label", label).writes("next", &mut *next);
        r.for_all("compare", over, &lambdas.compare, args)?;
        if !*any_long {
            return Ok(());
        }
        r.fill("best label", best, 0)?;
        r.fill("tables of labels", table, 0)?;
        let ways = if *both != 0 { &[false, true][..] } else { &[false] };
        for backward in ways.iter().copied() {
            let how = Advance { backward, ..Advance::default() };
            let args = Args::new()
                .reads("label", label)
                .reads("at", at)
                .writes("table", &mut *table)
                .writes("best", &mut *best);
            r.advance("tally", set, &lambdas.tally, args, how)?;
        }
        let args = Args::new().reads("best", best).writes("next", next);
        r.for_all("settle", set, &lambdas.settle, args)
    }

    /// How many nodes have another label than before.
    fn changed(&self, r: &mut Replica) -> Result<u64> {
        let State { label, next, .. } = &self.state;
        let args = Args::new().reads("label", label).reads("next", next);
        let over = if self.whole { Over::nodes(self.g).whole() } else { Over::nodes(self.g) };
        r.reduce("changed", over, &self.lambdas.changed, args, MergeOp::Sum).map(u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{Fleet, FleetConfig};
    use crate::generate::generate;
    use crate::layout::{PrepareOptions, Prepared};
    use std::sync::Arc;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        for lambda in [begin(), many(), compare(), settle()] {
            lambda.compile("sm_90").unwrap();
        }
        tally().compile("sm_90").unwrap();
        changed().compile("sm_90").unwrap();
    }

    /// Hosts sort: here their tables, which are those of GPUs, find the same.
    #[test]
    fn tables_find_what_sorting_finds() {
        for (devices, spec) in [("host:1", "rmat:9"), ("host:3", "rmat:9"), ("host:2", "star:900")]
        {
            let of = FleetConfig { devices: devices.parse().unwrap(), ..FleetConfig::default() };
            let fleet = Fleet::open(of).unwrap();
            for symmetric in [true, false] {
                let both = generate(spec).unwrap();
                let arcs =
                    (0..both.nodes()).flat_map(|u| both.neighbors(u).map(move |a| (u as u32, a.0)));
                let (sources, targets): (Vec<u32>, Vec<u32>) =
                    arcs.filter(|(u, v)| symmetric || (u * 7 + v) % 3 > 0).unzip();
                let origin = both.origin.clone();
                let graph = Graph::from_arcs(both.nodes(), &sources, &targets, None, origin);
                let graph = Arc::new(graph.unwrap());
                let prepared = Prepared::new(&fleet, graph, PrepareOptions::default()).unwrap();
                let rows = prepared.general(&fleet).unwrap();
                let [tables, sorted] = [false, true].map(|sorts| {
                    let (rows, whole) = (rows.clone(), fleet.world() == 1);
                    let config = CdlpConfig { iterations: 6, ..CdlpConfig::default() };
                    let found = fleet.run(move |r| {
                        program(r, &rows, &config, (whole, sorts), &RunOptions::default())
                    });
                    found.unwrap().swap_remove(0).found
                });
                assert!(tables == sorted, "{spec} on {devices}, symmetric {symmetric}");
                assert!(tables.0.iter().any(|label| *label != tables.0[0]), "{spec}");
            }
        }
    }

    #[test]
    fn tables_have_room() {
        for arcs in [FEW + 1, 100, 171, 1 << 20] {
            let words = table_words(arcs);
            assert!(words > arcs && 2 * words <= 3 * arcs, "{words} words for {arcs}");
        }
        assert_eq!(table_words(FEW), 0);
    }
}
