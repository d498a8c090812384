//! Graphs that are generated where they are needed: on a GPU.

use super::dealt;
use super::drawn::Drawn;
use super::giant_cuda::{Giant, giant, giant_of_edges, load_giant};
use super::kept::{DeviceArcs, Kept, down, down_offsets};
use super::recipe::Recipe;
use super::rmat::{self, Rmat};
use super::rmat_cuda::{RmatKernels, Work};
use super::{DeviceReport, PassLimits, Size};
use crate::collective::apart;
use crate::device::DeviceCsr;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::graph::array::Array;
use crate::graph::{Facts, Graph, Origin, Rows, milliseconds};
use crate::hash::pair_weight;
use std::sync::Arc;
use std::time::Instant;

/// A generated graph in the memory of a fleet's GPUs.
pub struct DeviceGenerated {
    /// On the first GPU, or on each, by rank.
    rows: Vec<Arc<DeviceCsr>>,
    rmat: Rmat,
    spec: String,
    report: DeviceReport,
}

/// Generates the graph that `spec` describes on the GPUs of `fleet`, if each replica has one of its own, else on the first: the
/// same arrays, to the bit, as [`super::generate`] makes. R-MAT only.
///
/// # Errors
/// [`Error::Input`] for a bad `spec`, another generator or a fleet of the host, [`Error::Machine`] when device memory
/// does not suffice, after which the fleet cannot be used.
pub fn on_device(fleet: &Fleet, spec: &str) -> Result<DeviceGenerated> {
    on_device_in(fleet, spec, PassLimits::default())
}

/// Arcs drawn from which on a GPU is worth its start: an R-MAT 22 of edge factor 16.
const WORTH_A_DEVICE: u64 = 1 << 27;
/// Device bytes for sorting beside the graph: less means many passes.
const SORTING_BYTES: u64 = 4 << 30;

fn worth_a_device(spec: &str) -> Option<Size> {
    super::size(spec).ok().filter(|size| spec.starts_with("rmat:") && size.arcs >= WORTH_A_DEVICE)
}

/// Whether [`on_device`] would make this graph sooner than the host on some GPU.
pub fn may_pay_on_device(spec: &str) -> bool {
    worth_a_device(spec).is_some()
}

/// Whether [`on_device`] would make this graph sooner than the host: a large R-MAT that a GPU of `fleet`
/// has room for.
pub fn pays_on(fleet: &Fleet, spec: &str) -> bool {
    let Some(size) = worth_a_device(spec) else { return false };
    fleet.info().backend == "cuda"
        && memories(fleet).all(|memory| fits_in(size.nodes, size.arcs, memory))
}

/// Whether a graph of so many nodes and arcs is made in so much memory, where rows without weights fit beside its own.
pub(crate) fn fits_in(nodes: u64, arcs: u64, memory: u64) -> bool {
    8 * (nodes + arcs) + SORTING_BYTES < memory / 10 * 9
}

/// The bytes that each replica's GPU may have.
fn memories(fleet: &Fleet) -> impl Iterator<Item = u64> {
    let most = fleet.info().memory_limit.unwrap_or(u64::MAX);
    fleet.info().devices.iter().map(move |device| device.memory_bytes.min(most))
}

/// Whether GPUs of `fleet` are to draw this graph's arcs as they need them: an R-MAT that a GPU has no room for.
pub fn draws_on(fleet: &Fleet, spec: &str) -> bool {
    fleet.info().backend == "cuda" && worth_a_device(spec).is_some() && !pays_on(fleet, spec)
}

/// [`on_device`], in passes no larger than `limits`.
pub fn on_device_in(fleet: &Fleet, spec: &str, limits: PassLimits) -> Result<DeviceGenerated> {
    let wanted = parsed(fleet, spec)?;
    let info = fleet.info();
    // Parts are exchanged: for a while a GPU has its own beside all of them.
    let size = wanted.size();
    let bytes = 8 * size.nodes + 4 * (size.arcs + size.arcs / fleet.world() as u64);
    let fits = memories(fleet).all(|memory| bytes + SORTING_BYTES < memory / 10 * 9);
    let together = apart(&info.gpus()) && info.collective != "host" && fits;
    let made = fleet.run(move |replica| {
        if !replica.leads() && !together {
            // In what follows all count alike.
            replica.meet_as(0);
            return Ok(None);
        }
        // A compiler shows no signs of life, so it comes before the first of them is due.
        let kernels = RmatKernels::load(replica.device_mut()?)?;
        replica.begin(0, "generate")?;
        if together {
            return dealt::rows(replica, &kernels, (&wanted, true), &limits).map(Some);
        }
        let work = Work::new(replica.device()?, &kernels, &wanted, &limits);
        work.build([0, 1], true).map(|(_, rows, report)| Some((rows, report)))
    })?;
    let (rows, reports): (Vec<_>, Vec<_>) = made.into_iter().flatten().unzip();
    let slowest = reports.into_iter().max_by(|a, b| a.times.total_ms.total_cmp(&b.times.total_ms));
    let report = slowest.ok_or_else(|| Error::machine("replica 0 made no graph; a bug"))?;
    let rows = rows.into_iter().map(Arc::new).collect();
    Ok(DeviceGenerated { rows, rmat: wanted, spec: spec.to_string(), report })
}

/// The R-MAT graph that `spec` describes, to be made on GPUs of `fleet`.
pub(super) fn parsed(fleet: &Fleet, spec: &str) -> Result<Rmat> {
    let Some(rest) = spec.strip_prefix("rmat:") else {
        super::check_form(spec)?;
        return Err(Error::input(format!(
            "generator `{spec}`: only rmat is made on a device; use --devices host"
        )));
    };
    let wanted = rmat::parse(spec, rest)?;
    if fleet.info().backend != "cuda" {
        return Err(Error::input(format!(
            "generator `{spec}`: a fleet of the host has no device memory; use --devices cuda:0"
        )));
    }
    Ok(wanted)
}

impl DeviceGenerated {
    /// The specification that it was made from.
    pub fn spec(&self) -> &str {
        &self.spec
    }

    /// Number of nodes n.
    pub fn nodes(&self) -> u64 {
        self.rows[0].nodes
    }

    /// Number of arcs m.
    pub fn arcs(&self) -> u64 {
        self.rows[0].arcs
    }

    /// What it took.
    pub fn report(&self) -> &DeviceReport {
        &self.report
    }

    /// The graph, whose arcs stay where they are until the host looks at them, and what lets go of them.
    ///
    /// # Errors
    /// [`Error::Machine`] when the fleet has failed.
    pub fn kept(self, fleet: &Fleet) -> Result<(Graph, Arc<Kept>)> {
        let rows = self.rows[0].clone();
        let shared = rows.clone();
        let found = fleet.run(move |replica| match (replica.leads(), &mut replica.backend) {
            (true, Backend::Cuda(device)) => giant(device, &shared, true).map(Some),
            _ => Ok(None),
        })?;
        let giant = found.into_iter().flatten().next();
        let kept = Kept::again(DeviceArcs::Rows(self.rows));
        let (spec, rmat) = (&*self.spec, &self.rmat);
        let ms = self.report.times.total_ms;
        MadeGraph { rows: &rows, spec, rmat, giant, ms }.with(kept)
    }

    /// Copies the graph to the host. `origin.load_ms` is the time on the device, `origin.build_ms` that
    /// of the copy.
    pub fn download(self, fleet: &Fleet) -> Result<Graph> {
        let (mut graph, kept) = self.kept(fleet)?;
        let start = Instant::now();
        graph.load()?;
        graph.origin.build_ms += milliseconds(start);
        kept.release(fleet)?;
        Ok(graph)
    }
}

/// The graph that `spec` describes: an R-MAT graph whose rows are drawn by the GPUs of `fleet` when they lay them out. Each
/// counts the arcs of its share of the nodes first. The graph has no weights.
///
/// # Errors
/// [`Error::Input`] for a bad `spec`, another generator or a fleet of the host; [`Error::Machine`] when device memory does not
/// suffice, after which the fleet cannot be used.
pub(crate) fn drawn(fleet: &Fleet, spec: &str, limits: PassLimits) -> Result<(Graph, Arc<Kept>)> {
    let rmat = parsed(fleet, spec)?;
    let start = Instant::now();
    // At least half of the arcs are distinct at the edge factors that need several GPUs.
    refuse_more(fleet, spec, 1u64 << rmat.scale, rmat.edges())?;
    let counted = fleet.run(move |r| {
        // A compiler shows no signs of life, so it comes before the first of them is due.
        let kernels = RmatKernels::load(r.device_mut()?)?;
        load_giant(r.device_mut()?)?;
        r.begin(0, "generate")?;
        let (rows, _) = dealt::rows(r, &kernels, (&rmat, false), &limits)?;
        let giant = match (r.leads(), &mut r.backend) {
            (true, Backend::Cuda(device)) => Some(giant_of_edges(device, &rows, &rmat)?),
            _ => None,
        };
        Ok((rows, giant))
    })?;
    let giant = counted.first().and_then(|(_, giant)| *giant);
    let rows: Vec<Arc<DeviceCsr>> = counted.into_iter().map(|(rows, _)| Arc::new(rows)).collect();
    let nothing = || Error::machine("a fleet of no replica; this is a bug");
    let first = rows.first().cloned().ok_or_else(nothing)?;
    refuse_more(fleet, spec, first.nodes, first.arcs)?;
    let drawn = Arc::new(Drawn::new(rmat, first.arcs, rows));
    let kept = Kept::again(DeviceArcs::Drawn(drawn));
    MadeGraph { rows: &first, spec, rmat: &rmat, giant, ms: milliseconds(start) }.with(kept)
}

/// Refuses a graph whose columns and labels do not fit the GPUs of `fleet`, each of which has a share of the former.
fn refuse_more(fleet: &Fleet, spec: &str, nodes: u64, arcs: u64) -> Result<()> {
    let needs = 4 * (arcs / fleet.world() as u64 + 2 * nodes);
    for gpu in &fleet.info().devices {
        let has = gpu.memory_bytes.min(fleet.info().memory_limit.unwrap_or(u64::MAX));
        if needs > has {
            return Err(Error::machine(format!(
                "generator `{spec}`: each of {} GPUs needs {needs} bytes for its share of the arcs, and {} has {has}; use more \
                 GPUs, or a smaller graph",
                fleet.world(),
                gpu.device
            )));
        }
    }
    Ok(())
}

/// What is known of a graph that devices have made.
pub(super) struct MadeGraph<'a> {
    pub rows: &'a DeviceCsr,
    pub spec: &'a str,
    pub rmat: &'a Rmat,
    pub giant: Option<Giant>,
    /// Milliseconds that it took.
    pub ms: f64,
}

impl MadeGraph<'_> {
    /// The graph, whose arcs are where `kept` has them until the host looks.
    pub fn with(self, kept: Kept) -> Result<(Graph, Arc<Kept>)> {
        let MadeGraph { rows, spec, rmat, giant, ms } = self;
        let (start, kept) = (Instant::now(), Arc::new(kept));
        let (offsets, arcs) = (down_offsets(rows)?, rows.arcs as usize);
        let (own, owned) = (kept.clone(), spec.to_string());
        let columns = Array::later(arcs, move || match own.rows() {
            Some(rows) => down("columns", &rows.columns, arcs),
            None => Ok(beside_loops(&owned)?.into_rows().columns),
        });
        let (row_ends, targets, seed) = (offsets.clone(), columns.clone(), rmat.seed);
        let weights = Array::later(arcs, move || pair_weights(&row_ends, &targets, seed));
        let build_ms = milliseconds(start);
        let origin = Origin { load_ms: ms, build_ms, ..super::origin(spec, rmat) };
        let graph =
            Graph::of_rows(Rows { offsets, columns, weights: Some(weights) }, Some(true), origin);
        let facts = Facts {
            source: giant.map(|giant| giant.lowest),
            isolated: giant.map(|giant| giant.isolated),
            ..Facts::default()
        };
        Ok((graph.with_facts(facts), kept))
    }
}

/// Generates a graph for somebody who may be in a parallel loop, whose threads may be waiting for it: on threads of its own.
fn beside_loops(spec: &str) -> Result<Graph> {
    let own = || {
        let failed = |error| Error::machine(format!("cannot start threads: {error}"));
        let pool = rayon::ThreadPoolBuilder::new().build().map_err(failed)?;
        pool.install(|| super::generate(spec))
    };
    // Who waits in a loop's thread for a pool works on the loop meanwhile; one that is in no pool does not.
    std::thread::scope(|scope| {
        scope.spawn(own).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The weights of arcs, which devices do not store.
fn pair_weights(offsets: &[u64], columns: &[u32], seed: u64) -> Result<Array<f32>> {
    Array::filled("weights", columns.len(), |all| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (nodes, arcs) = (offsets.len() - 1, columns.len() as u64);
        // This may be asked for from a parallel loop, so threads are its own.
        std::thread::scope(|scope| {
            let (mut to, mut first) = (all, 0);
            for part in 1..=threads as u64 {
                let wanted = (u128::from(arcs) * u128::from(part) / threads as u128) as u64;
                let end = if part == threads as u64 {
                    nodes
                } else {
                    offsets.partition_point(|offset| *offset < wanted).clamp(first, nodes)
                };
                let count = (offsets[end] - offsets[first]) as usize;
                let (own, rest) = to.split_at_mut(count);
                to = rest;
                let (rows, base) = (first..end, offsets[first]);
                scope.spawn(move || {
                    for u in rows {
                        for arc in offsets[u]..offsets[u + 1] {
                            let v = columns[arc as usize];
                            own[(arc - base) as usize] = pair_weight(seed, u as u32, v);
                        }
                    }
                });
                first = end;
            }
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn arcs_that_many_threads_of_a_loop_ask_for_are_made_once_and_beside_it() {
        let made = crate::generate::generate("rmat:12").unwrap();
        let columns =
            Array::later(made.columns().len(), || Ok(beside_loops("rmat:12")?.into_rows().columns));
        let sums: Vec<u64> = (0..256u64)
            .into_par_iter()
            .map(|_| columns.iter().map(|column| u64::from(*column)).sum())
            .collect();
        let right: u64 = made.columns().iter().map(|column| u64::from(*column)).sum();
        assert!(sums.into_iter().all(|sum| sum == right));
    }
}
