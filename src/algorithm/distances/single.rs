//! Searches, whose distances become rows of a matrix.

use super::Asked;
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed};
use crate::algorithm::matrix::{BroughtRows, Cell, Ends, Kept, part};
use crate::algorithm::same::Words;
use crate::algorithm::sssp::{Alone, Each, Reached};
use crate::collective::{Element, Replicated};
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::layout::memory::DeviceArray;
use crate::operator::{Args, Lambda, Over, lambda};
use std::ops::Range;

/// Most values that are copied from a GPU together, unless a row has more.
const AT_ONCE: usize = 1 << 25;
/// Most rows: those that are lost where a run that writes a file is ended.
const ROWS: usize = 256;

replicated_arrays! {
    /// What searches leave, for so many targets and rows.
    struct State<T> of (usize, usize) {
        /// `[targets]` where their distances lie.
        labels: Replicated<u32> = "labels", Gather, |s| s.0;
        /// `[rows, targets]` distances.
        rows: Replicated<T> = "rows", Gather, |s| s.0 * s.1;
    }
}

/// Rows that are copied from a GPU together.
fn together([sources, targets]: [usize; 2]) -> usize {
    (AT_ONCE / targets.max(1)).clamp(1, sources.clamp(1, ROWS))
}

/// Device arrays of one of `world` replicas, for so many sources and targets.
pub(super) fn arrays(ends: [usize; 2], double: bool, world: usize) -> Vec<DeviceArray> {
    let sizes = (ends[1], together(ends));
    if double { State::<f64>::list(sizes, world) } else { State::<f32>::list(sizes, world) }
}

/// The distance of target i in a row that begins at `first`.
#[lambda]
fn put(i: u64, labels: Reads<u32>, reached: Reads<f32>, first: u64, rows: Writes<f32>) {
    rows[first + i] = reached[labels[i]];
}

/// The same in 64 bits.
#[lambda]
fn put_double(i: u64, labels: Reads<u32>, reached: Reads<f64>, first: u64, rows: Writes<f64>) {
    rows[first + i] = reached[labels[i]];
}

/// Distances of a width.
pub(super) trait Width: Cell + Element {
    /// Whether it is 64 bits.
    const DOUBLE: bool;

    fn lambda() -> Lambda<()>;

    /// What a search of this width has found.
    fn reached(found: Reached<'_>) -> Result<&Replicated<Self>>;
}

impl Width for f32 {
    const DOUBLE: bool = false;

    fn lambda() -> Lambda<()> {
        put()
    }

    fn reached(found: Reached<'_>) -> Result<&Replicated<f32>> {
        match found {
            Reached::F32(all) => Ok(all),
            Reached::F64(_) => Err(other_width()),
        }
    }
}

impl Width for f64 {
    const DOUBLE: bool = true;

    fn lambda() -> Lambda<()> {
        put_double()
    }

    fn reached(found: Reached<'_>) -> Result<&Replicated<f64>> {
        match found {
            Reached::F64(all) => Ok(all),
            Reached::F32(_) => Err(other_width()),
        }
    }
}

fn other_width() -> Error {
    Error::machine("distances of another width than was searched for; this is a bug")
}

/// The program of one replica: its rows.
pub(super) fn program<T: Width>(
    r: &mut Replica,
    each: &Each,
    asked: &Asked,
    run: &RunOptions,
) -> Result<ReplicaAnswer<BroughtRows>> {
    let Asked { ends: Ends { sources, targets, .. }, dealt, .. } = asked;
    let label = |node: &u32| each.graph().layout.label(*node);
    let alone = each.on(r)?;
    let at_once = together([sources.len(), targets.len()]);
    let mut state = State::<T>::allocate(r, (targets.len(), at_once))?;
    state.labels.assign(&targets.iter().map(label).collect::<Vec<_>>())?;
    let own = part(sources.len(), *dealt, (r.rank(), r.world()));
    let kept = Kept::new(own, asked, at_once)?;
    let (labels, put) = (sources.iter().map(label).collect(), T::lambda());
    let (compared, hash) = ([run.compare, *dealt], [0; 2]);
    let mut driver = Driver::<T> {
        alone,
        labels,
        state,
        targets: targets.len(),
        at_once,
        put,
        kept,
        compared,
        hash,
    };
    let measured = timed(r, run, &mut driver)?;
    let found = driver.kept.brought(r, *dealt);
    ReplicaAnswer::new(measured, || Ok(found))
}

/// One run, to be repeated.
struct Driver<'a, T: Width> {
    alone: Alone<'a>,
    /// Of the sources.
    labels: Vec<u32>,
    state: State<T>,
    targets: usize,
    at_once: usize,
    put: Lambda<()>,
    /// The rows of this replica.
    kept: Kept<T>,
    /// Whether answers are compared; whether replicas have slices.
    compared: [bool; 2],
    /// Of all rows of all replicas.
    hash: [u32; 2],
}

impl<T: Width> Run for Driver<'_, T> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { alone, state, targets, put, .. } = self;
        let place = Place { row: 0, targets: *targets, some: 0..0 };
        state.put(r, put, T::reached(alone.reached())?, place)
    }

    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        Ok(())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for sources in self.kept.lacking(self.at_once) {
            let Driver { alone, labels, state, targets, put, kept, .. } = self;
            alone.search_all(r, log, &labels[sources.clone()], |r, row, reached| {
                let place = Place { row, targets: *targets, some: 0..*targets };
                state.put(r, put, T::reached(reached)?, place)
            })?;
            operators((r, log, "step rows"), |r| {
                r.settle()?;
                kept.put(sources, |to| state.rows.copy_out(to))
            })?;
            log.book("step rows", (0, 0), (0, 0), "none");
        }
        self.hash = self.kept.hash(r, self.labels.len(), self.compared)?;
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::Host(&self.hash)]
    }
}

/// Where distances go: those of some targets, in a row of all.
struct Place {
    row: usize,
    targets: usize,
    some: Range<usize>,
}

impl<T: Width> State<T> {
    /// Queues taking over what a search has found.
    fn put(
        &mut self,
        r: &mut Replica,
        put: &Lambda<()>,
        reached: &Replicated<T>,
        Place { row, targets, some }: Place,
    ) -> Result<()> {
        let args = Args::new()
            .reads("labels", &self.labels)
            .reads("reached", reached)
            .scalar("first", (row * targets) as u64)
            .writes("rows", &mut self.rows);
        r.for_all("put", Over::range(some), put, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        put().compile("sm_90").unwrap();
        put_double().compile("sm_90").unwrap();
    }
}
