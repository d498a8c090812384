//! Searches whose levels become rows of a matrix: one program of operators for GPUs and host.

use super::{HopType, host};
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed};
use crate::algorithm::lanes::{LaneShape, Lanes, Level};
use crate::algorithm::matrix::{Asked, BroughtRows, Ends, Kept, Placed, part};
use crate::algorithm::same::Words;
use crate::collective::{Element, Replicated};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use crate::layout::memory::DeviceArray;
use crate::operator::{Args, Lambda, Over, lambda};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

replicated_arrays! {
    /// What a batch leaves, for so many nodes and values.
    struct State<T> of (usize, usize) {
        /// `[sources of a batch, targets]` numbers of arcs.
        rows: Replicated<T> = "rows", Gather, |s| s.1;
        /// `[n]` the column of a target; `u32::MAX` of others.
        column: Replicated<u32> = "columns of targets", Gather, |s| s.0;
        /// `[1]` the largest number of arcs that `rows` has no room for.
        beyond: Replicated<u32> = "beyond", Gather, |_| 1;
    }
}

/// Device arrays beside the searches of so many lanes.
pub(super) fn matrix_arrays<T: Hops>(ends: &Ends, lanes: usize, nodes: usize) -> Vec<DeviceArray> {
    State::<T::Found>::list((nodes, lanes * ends.targets.len()), 1)
}

/// Device arrays of one of `world` replicas; `small`: values have 8 bits.
pub(super) fn arrays(nodes: usize, values: usize, small: bool, world: usize) -> Vec<DeviceArray> {
    match small {
        true => State::<u8>::list((nodes, values), world),
        false => State::<u32>::list((nodes, values), world),
    }
}

/// A target writes `level` where it has new bits. Rows come one after another, so that the threads of a warp, whose nodes have columns
/// beside each other, write side by side.
#[lambda]
fn note(
    v: u32,
    shift: u32,
    bits: Reads<u64>,
    column: Reads<u32>,
    targets: u64,
    level: u32,
    rows: Writes<u32>,
) {
    let at = column[v] as u64;
    if at < targets {
        for k in 0_u64..1_u64 << shift {
            let word = bits[((v as u64) << shift) + k];
            if word != 0_u64 {
                for bit in 0_u64..64_u64 {
                    if word >> bit & 1_u64 != 0_u64 {
                        rows[(k * 64_u64 + bit) * targets + at] = level;
                    }
                }
            }
        }
    }
}

/// The same in 8 bits.
#[lambda]
fn note_small(
    v: u32,
    shift: u32,
    bits: Reads<u64>,
    column: Reads<u32>,
    targets: u64,
    level: u32,
    rows: Writes<u8>,
    beyond: Writes<u32>,
) {
    let at = column[v] as u64;
    if at < targets {
        if level >= 255_u32 {
            beyond.max(0_u64, level);
        }
        for k in 0_u64..1_u64 << shift {
            let word = bits[((v as u64) << shift) + k];
            if word != 0_u64 {
                for bit in 0_u64..64_u64 {
                    if word >> bit & 1_u64 != 0_u64 {
                        rows[(k * 64_u64 + bit) * targets + at] = level as u8;
                    }
                }
            }
        }
    }
}

/// Source number i of a batch is at no distance from itself.
#[lambda]
fn own(
    i: u64,
    sources: Reads<u32>,
    first: u64,
    column: Reads<u32>,
    targets: u64,
    rows: Writes<u32>,
) {
    let at = column[sources[first + i]] as u64;
    if at < targets {
        rows[i * targets + at] = 0_u32;
    }
}

/// The same in 8 bits.
#[lambda]
fn own_small(
    i: u64,
    sources: Reads<u32>,
    first: u64,
    column: Reads<u32>,
    targets: u64,
    rows: Writes<u8>,
) {
    let at = column[sources[first + i]] as u64;
    if at < targets {
        rows[i * targets + at] = 0_u8;
    }
}

/// A type of the matrix, and that in which its values are found.
pub(super) trait Hops: Placed {
    const NONE: Self::Found;

    /// [`note`] and [`own`].
    fn lambdas() -> [Lambda<()>; 2];

    /// So many arcs, or [`Hops::NONE`] for `u32::MAX`; nothing of what there is no room for.
    fn of(hops: u32) -> Option<Self::Found>;
}

impl Hops for u8 {
    const NONE: u8 = u8::MAX;

    fn lambdas() -> [Lambda<()>; 2] {
        [note_small(), own_small()]
    }

    fn of(hops: u32) -> Option<u8> {
        match u8::try_from(hops) {
            Ok(u8::MAX) => None,
            Err(_) if hops == u32::MAX => Some(u8::MAX),
            small => small.ok(),
        }
    }
}

impl Hops for u16 {
    const NONE: u32 = u32::MAX;

    fn lambdas() -> [Lambda<()>; 2] {
        [note(), own()]
    }

    fn of(hops: u32) -> Option<u32> {
        Some(hops)
    }
}

impl Hops for u32 {
    const NONE: u32 = u32::MAX;

    fn lambdas() -> [Lambda<()>; 2] {
        [note(), own()]
    }

    fn of(hops: u32) -> Option<u32> {
        Some(hops)
    }
}

impl Placed for u8 {
    type Found = u8;

    fn copied(rows: &Replicated<u8>, to: &mut [u8]) -> Result<()> {
        rows.copy_out(to)
    }

    fn no_room(arcs: u32) -> Error {
        no_room(arcs, HopType::U8)
    }
}

impl Placed for u16 {
    type Found = u32;

    fn copied(rows: &Replicated<u32>, to: &mut [u16]) -> Result<()> {
        let mut found = crate::memory::zeros("rows", to.len())?;
        rows.copy_out(&mut found)?;
        let short = |hops: u32| hops.min(u16::MAX.into()) as u16;
        let fits = |hops: &u32| *hops == u32::MAX || short(*hops) != u16::MAX;
        if let Some(hops) = found.par_iter().copied().filter(|hops| !fits(hops)).max() {
            return Err(Self::no_room(hops));
        }
        to.par_iter_mut().zip(&found).for_each(|(to, hops)| *to = short(*hops));
        Ok(())
    }

    fn no_room(arcs: u32) -> Error {
        no_room(arcs, HopType::U16)
    }
}

impl Placed for u32 {
    type Found = u32;

    fn copied(rows: &Replicated<u32>, to: &mut [u32]) -> Result<()> {
        rows.copy_out(to)
    }

    fn no_room(arcs: u32) -> Error {
        no_room(arcs, HopType::U32)
    }
}

fn no_room(hops: u32, dtype: HopType) -> Error {
    Error::input(format!(
        "--dtype {dtype}: a distance is {hops} arcs, which it has no room for; use --dtype u32 or auto"
    ))
}

/// The program of one replica: its rows. `by_threads`: hosts search from a source a thread.
pub(super) fn program<T: Hops>(
    r: &mut Replica,
    g: &Resident,
    (asked, by_threads, shape): (&Asked, bool, LaneShape),
    run: &RunOptions,
) -> Result<ReplicaAnswer<BroughtRows>> {
    let Asked { ends: Ends { sources, targets, .. }, dealt, .. } = asked;
    let nodes = g.graph().nodes();
    let own = part(sources.len(), *dealt, (r.rank(), r.world()));
    let kept = Kept::new(own, asked, shape.lanes)?;
    let values = shape.lanes * targets.len();
    let mut state = State::<T::Found>::allocate(r, (nodes, values))?;
    let mut column = crate::memory::zeros("columns", nodes)?;
    column.fill(u32::MAX);
    (0..).zip(targets).for_each(|(at, target)| column[*target as usize] = at);
    state.column.assign(&column)?;
    let lanes = Lanes::new(r, g, (sources, shape), false)?;
    let [note, start] = T::lambdas();
    let (compared, hash) = ([run.compare, *dealt], [0; 2]);
    let mut driver =
        Driver::<T> { lanes, state, asked, by_threads, note, start, kept, compared, hash };
    let measured = timed(r, run, &mut driver)?;
    let found = driver.kept.brought(r, *dealt);
    ReplicaAnswer::new(measured, || Ok(found))
}

/// One run, to be repeated.
struct Driver<'a, T: Hops> {
    lanes: Lanes<'a>,
    state: State<T::Found>,
    asked: &'a Asked,
    by_threads: bool,
    note: Lambda<()>,
    start: Lambda<()>,
    /// The rows of this replica.
    kept: Kept<T>,
    /// Whether answers are compared; whether replicas have slices.
    compared: [bool; 2],
    /// Of all rows of all replicas.
    hash: [u32; 2],
}

impl<T: Hops> Run for Driver<'_, T> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { lanes, state, asked, note, start, .. } = self;
        let (graph, targets) = (lanes.graph(), asked.ends.targets.len());
        r.fill("rows", &mut state.rows, T::NONE)?;
        r.for_all("own", Over::range(0..0), start, starting(state, lanes, targets, 0))?;
        let shift = lanes.shape.shift;
        lanes.meet(r, |r, level| found(r, (graph, note, shift), (state, targets), level))
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        r.fill("beyond", &mut self.state.beyond, 0)?;
        self.lanes.reset(r)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for sources in self.kept.lacking(self.lanes.shape.lanes) {
            self.batch(r, log, sources)?;
        }
        self.hash = self.kept.hash(r, self.asked.ends.sources.len(), self.compared)?;
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::Host(&self.hash)]
    }
}

impl<T: Hops> Driver<'_, T> {
    /// Searches from these sources, and keeps their rows.
    fn batch(&mut self, r: &mut Replica, log: &mut Log, sources: Range<usize>) -> Result<()> {
        match self.by_threads {
            true => self.search_by_threads(r, log, sources.clone())?,
            false => self.search_together(r, log, sources.clone())?,
        }
        let Driver { state, kept, .. } = self;
        operators((r, log, "step rows"), |r| kept.bring(r, sources, (&state.rows, &state.beyond)))?;
        log.book("step rows", (0, 0), (0, 0), "none");
        Ok(())
    }

    /// Each source by a thread of the host.
    fn search_by_threads(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        sources: Range<usize>,
    ) -> Result<()> {
        let Driver { lanes, state, asked: Asked { ends, .. }, .. } = self;
        let graph = lanes.graph().graph();
        let (place, rank) = (r.rendezvous().clone(), r.rank());
        let beyond = AtomicU32::new(0);
        operators((r, log, "step search"), |r| {
            let (Backend::Host(worker), Some(rows)) = (&r.backend, state.rows.host_mut()) else {
                return Err(Error::machine("rows of another backend; this is a bug"));
            };
            let rows = &mut rows[..sources.len() * ends.targets.len()];
            let value = |hops| {
                T::of(hops).unwrap_or_else(|| {
                    beyond.fetch_max(hops, Ordering::Relaxed);
                    T::NONE
                })
            };
            let ends = (&ends.sources[sources.clone()], &ends.targets[..]);
            worker.pool.install(|| host::rows(graph, ends, rows, value, &|| place.beat(rank)));
            Ok(())
        })?;
        let many = sources.len() as u64;
        log.book("step search", (many, many * graph.arcs()), (many, 0), "none");
        self.state.beyond.assign(&[beyond.into_inner()])
    }

    /// All of them together.
    fn search_together(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        sources: Range<usize>,
    ) -> Result<()> {
        let Driver { lanes, state, asked, note, start, .. } = self;
        let (targets, graph) = (asked.ends.targets.len(), lanes.graph());
        r.fill("rows", &mut state.rows, T::NONE)?;
        let args = starting(state, lanes, targets, sources.start);
        r.for_all("own", Over::range(0..sources.len()), start, args)?;
        let batch = (sources, u32::MAX);
        let of = (graph, &*note, lanes.shape.shift);
        lanes.search(r, log, batch, |r, level| found(r, of, (state, targets), level))
    }
}

/// What a level has found becomes part of the rows.
fn found<F: Element>(
    r: &mut Replica,
    (graph, note, shift): (&Resident, &Lambda<()>, u32),
    (state, targets): (&mut State<F>, usize),
    Level { number, nodes, bits }: Level,
) -> Result<()> {
    let State { rows, column, beyond } = state;
    let args = Args::new()
        .scalar("shift", shift)
        .reads("bits", bits)
        .reads("column", column)
        .scalar("targets", targets as u64)
        .scalar("level", number)
        .writes("rows", rows);
    let args = if size_of::<F>() == 1 { args.writes("beyond", beyond) } else { args };
    r.for_all("note", Over::frontier(graph, nodes).whole(), note, args)
}

/// What sources read and write at the start of a batch, whose first source has number `first`.
fn starting<'s, F: Element>(
    state: &'s mut State<F>,
    lanes: &'s Lanes<'_>,
    targets: usize,
    first: usize,
) -> Args<'s> {
    Args::new()
        .reads("sources", &lanes.state.sources)
        .scalar("first", first as u64)
        .reads("column", &state.column)
        .scalar("targets", targets as u64)
        .writes("rows", &mut state.rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        for lambda in [note(), note_small(), own(), own_small()] {
            lambda.compile("sm_90").unwrap();
        }
    }
}
