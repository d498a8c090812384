//! Triangles: how many each node is in, and how many there are.
//!
//! **Definition.** triangles(v) = the number of sets {v, u, w} whose three nodes are joined by arcs. Graphs are symmetric;
//! self loops and parallel arcs do not count.
//!
//! **Idea.** A triangle is found once, at the arc from its largest label to its middle one: the third node is in both
//! rows, below the middle label. Labels fall by degree where degrees are skewed, so these parts of rows are short.
//!
//! **Plans.** Each replica counts the triangles whose largest label is in its chunk, for all three nodes, and counts are
//! summed; on hosts, unless the graph is flat, those whose middle label is in its chunk. Counts are whole numbers, so that the
//! order of additions does not matter. Chunks are of equal cost: for each arc to a smaller label the shorter of the two parts,
//! where middle labels count that of the larger label. With `--merge redundant` every replica counts everything. GPUs do so by
//! themselves where that takes less than adding up counts.
//!
//! **Arrays.** `count: [active] u64, replicated, SUM`, by label.
//!
//! **Source.** Schank, Wagner, "Finding, counting and listing all triangles in large graphs", WEA 2005; Hu, Liu, Huang,
//! "TriCore", SC 2018.

mod answer;
mod cuda;
mod host;

pub use answer::Triangles;

use super::arrays::replicated_arrays;
use super::frame::{Engine, Log, ReplicaAnswer, Run, step, timed, values};
use super::same::Words;
use super::workload::{Algorithm, NoOptions, Request, run};
use super::{Measured, MergeMode, RunOptions, symmetric};
use crate::collective::{Replicated, Split, atomic_words};
use crate::error::Result;
use crate::fleet::{Fleet, Replica};
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared, TopologyRows};
use cuda::Workspace;
use rayon::prelude::*;
use std::ops::Range;

/// The workload.
pub struct TriangleCounting;

/// What triangle counting is asked: nothing of its own.
pub type TrianglesConfig = NoOptions;

/// How many triangles each node of a symmetric graph is in.
///
/// # Errors
/// [`crate::Error::Input`] for a graph in which some arc lacks its reverse; [`crate::Error::Fault`] when a replica fails;
/// [`crate::Error::Verify`] when `compare` finds answers that differ.
pub fn triangles(fleet: &Fleet, graph: &Prepared, config: &TrianglesConfig) -> Result<Triangles> {
    run::<TriangleCounting>(fleet, graph, config)
}

impl Algorithm for TriangleCounting {
    type Config = TrianglesConfig;
    type Start = ();
    type Answer = Triangles;
    const NAME: &'static str = "triangles";
    const ABOUT: &'static str = "Triangles: how many each node is in, and how many the graph has";
    const EXAMPLES: [&'static str; 2] = [
        "hive run triangles --graph web.mtx --top 5",
        "hive run triangles --graph rmat:10 --verify",
    ];
    const FORM: Form = Form::Topology;
    const KERNELS: &'static [&'static str] = &["triangles.cu"];
    const RANKS: Option<&'static str> = Some("the nodes in most triangles");

    fn start(_: &TrianglesConfig, graph: &Graph) -> Result<()> {
        symmetric(Self::NAME, graph)
    }

    fn arrays(shape: &GraphShape, _: &TrianglesConfig, world: usize) -> Vec<DeviceArray> {
        arrays(shape, world)
    }

    fn solve(request: Request<Self>) -> Result<Triangles> {
        let Request { fleet, graph, run, .. } = request;
        let (counts, measured) = counted(fleet, graph, run)?;
        let total = counts.par_iter().sum::<u64>() / 3;
        Ok(Triangles { counts, total, measured })
    }
}

/// The device arrays of one of `world` replicas, with those of the graph.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    cuda::arrays(shape, world)
}

/// The triangles of each node of a symmetric graph, in its node order.
pub(super) fn counted(
    fleet: &Fleet,
    graph: &Prepared,
    run: &RunOptions,
) -> Result<(Vec<u64>, Measured)> {
    let (rows, run, world) = (graph.topology(fleet)?, run.clone(), fleet.world());
    let (align, shares) = (graph.options().chunk_align, &fleet.info().shares);
    let cut = match run.merge.deals(world, false) {
        true if fleet.info().backend == "host" && rows.columns.flat => {
            Some(host::equal_costs(&rows.columns.out, shares, align).0)
        }
        true if fleet.info().backend == "host" => {
            Some(host::equal_middles(&rows.columns.out, shares, align))
        }
        true => {
            let (cut, cost) = match cuda::equal_costs(fleet, &rows, align)? {
                Some(found) => found,
                None => {
                    rows.columns.out.load()?;
                    host::equal_costs(&rows.columns.out, shares, align)
                }
            };
            let (active, slow) = (rows.columns.active, fleet.info().has_slow_links());
            let pays =
                run.merge != MergeMode::Auto || cuda::dividing_pays(cost, active, world, slow);
            pays.then_some(cut)
        }
        false => None,
    };
    let shared = rows.clone();
    let answers = fleet.run(move |r| program(r, &shared, cut.as_ref(), &run))?;
    let (mut counts, mut measured) = ReplicaAnswer::first(answers);
    // Nodes without arcs come last, and have none.
    counts.resize(rows.columns.nodes, 0);
    measured.reached = counts.len() as u64;
    measured.reached_arcs = rows.graph.arcs();
    Ok((rows.columns.to_input_order(counts), measured))
}

/// `[n]` how many neighbours each node has, but for itself. Looks at arcs where some are repeated, or lead to their own node.
pub(super) fn neighbours(graph: &Graph) -> Result<Vec<u64>> {
    let once = graph.origin.self_loops == 0 && graph.origin.duplicates == 0;
    if !once {
        graph.load()?;
    }
    let count = |v: usize| {
        if once {
            return graph.degree(v);
        }
        let mut last = v as u32;
        let new = |u: &u32| *u != v as u32 && std::mem::replace(&mut last, *u) != *u;
        graph.neighbors(v).map(|arc| arc.0).filter(new).count() as u64
    };
    Ok((0..graph.nodes()).into_par_iter().map(count).collect())
}

replicated_arrays! {
    /// The replicated state, for so many nodes.
    struct State of usize {
        /// `[active]`, by label.
        count: Replicated<u64> = "triangles", Sum, |active| *active;
    }
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    rows: &TopologyRows,
    cut: Option<&Split>,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Vec<u64>>> {
    let state = State::allocate(r, rows.columns.active)?;
    let rank = r.rank();
    let chunk = cut.map_or(0..rows.columns.active as u64, |cut| cut.range(rank));
    let engine = Engine::new(r, |device| Workspace::new(device, rows, rank), || Ok(()))?;
    let mut counting = Counting { rows, chunk, merged: cut.is_some(), state, engine };
    let measured = timed(r, run, &mut counting)?;
    ReplicaAnswer::new(measured, || values(r, &counting.state.count))
}

/// One run, to be repeated.
struct Counting<'a> {
    rows: &'a TopologyRows,
    /// Labels whose triangles are counted.
    chunk: Range<u64>,
    merged: bool,
    state: State,
    engine: Engine<Workspace, ()>,
}

impl Run for Counting<'_> {
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.state.count.clear()
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Counting { rows, chunk, state, engine, .. } = self;
        let offsets = &rows.columns.out.offsets;
        let arcs = offsets[chunk.start as usize]..offsets[chunk.end as usize];
        let (rank, looked) = (r.rank(), arcs.end - arcs.start);
        let own = chunk.start as usize..chunk.end as usize;
        step(
            (r, log, "step count"),
            engine,
            state,
            |device, workspace, state| workspace.launch(device, rows.on_device(rank)?, state, arcs),
            |_, _| Ok(()),
            |(), state, beat| {
                let count = atomic_words(state.count.host_mut().unwrap_or_default());
                match rows.columns.flat {
                    true => host::count_flat(&rows.columns.out, count, own, beat),
                    false => host::count(&rows.columns.out, count, own, beat),
                }
            },
        )?;
        if self.merged {
            r.merge(&mut self.state.count)?;
        }
        let merge = if self.merged { "sum" } else { "none" };
        let frontier = (self.chunk.end - self.chunk.start, looked);
        log.book("step count", (1, looked), frontier, merge);
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.count)]
    }
}
