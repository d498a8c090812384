//! Searches in copies whose distances become rows of a matrix.

use super::{Copied, Copies};
use crate::algorithm::RunOptions;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed};
use crate::algorithm::matrix::{Asked, BroughtRows, Ends, Kept, Placed, part};
use crate::algorithm::same::Words;
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::memory::DeviceArray;
use crate::operator::{Args, Lambda, Over, lambda};
use std::ops::Range;

replicated_arrays! {
    /// What searches leave, for so many sources, targets and sources of a batch.
    struct State<T> of (usize, usize, usize) {
        /// `[sources]` where searches begin, by label.
        sources: Replicated<u32> = "sources", Gather, |s| s.0;
        /// `[targets]` where their distances lie, by label.
        targets: Replicated<u32> = "targets", Gather, |s| s.1;
        /// `[sources of a batch, targets]` values.
        rows: Replicated<T> = "rows", Gather, |s| s.1 * s.2;
        /// `[1]` the largest distance that a value has no room for.
        beyond: Replicated<u32> = "beyond", Gather, |_| 1;
    }
}

/// Device arrays beside the copies, for so many sources, targets and copies.
pub(in crate::algorithm) fn matrix_arrays<T: Placed>(
    ends: &Ends,
    copies: usize,
) -> Vec<DeviceArray> {
    State::<T::Found>::list((ends.sources.len(), ends.targets.len(), copies), 1)
}

/// Value i of the rows.
#[lambda]
fn put(i: u64, targets: Reads<u32>, columns: u64, shift: u64, dist: Reads<u32>, rows: Writes<u32>) {
    rows[i] = dist[(i / columns << shift) + targets[i % columns] as u64];
}

/// The same in 8 bits.
#[lambda]
fn put_small(
    i: u64,
    targets: Reads<u32>,
    columns: u64,
    shift: u64,
    dist: Reads<u32>,
    rows: Writes<u8>,
    beyond: Writes<u32>,
) {
    let found = dist[(i / columns << shift) + targets[i % columns] as u64];
    if found >= 255_u32 && found != u32::MAX {
        beyond.max(0_u64, found);
    }
    rows[i] = found.min(255_u32) as u8;
}

/// The program of one replica: its rows.
pub(in crate::algorithm) fn matrix<T: Placed>(
    r: &mut Replica,
    copied: &Copied,
    asked: &Asked,
    run: &RunOptions,
) -> Result<ReplicaAnswer<BroughtRows>> {
    let Asked { ends: Ends { sources, targets, .. }, dealt, .. } = asked;
    let at_once = copied.shape.copies;
    let mut state = State::<T::Found>::allocate(r, (sources.len(), targets.len(), at_once))?;
    state.sources.assign(&copied.labels(sources))?;
    state.targets.assign(&copied.labels(targets))?;
    let copies = Copies::new(r, copied)?;
    let own = part(sources.len(), *dealt, (r.rank(), r.world()));
    let kept = Kept::new(own, asked, at_once)?;
    let (put, compared) =
        (if is_small::<T>() { put_small() } else { put() }, [run.compare, *dealt]);
    let mut driver = Driver::<T> { copies, state, at_once, put, kept, compared, hash: [0; 2] };
    let measured = timed(r, run, &mut driver)?;
    let found = driver.kept.brought(r, *dealt);
    ReplicaAnswer::new(measured, || Ok(found))
}

fn is_small<T: Placed>() -> bool {
    size_of::<T::Found>() == 1
}

/// One run, to be repeated.
struct Driver<T: Placed> {
    copies: Copies,
    state: State<T::Found>,
    /// Most sources of a batch.
    at_once: usize,
    put: Lambda<()>,
    /// The rows of this replica.
    kept: Kept<T>,
    /// Whether answers are compared; whether replicas have slices.
    compared: [bool; 2],
    /// Of all rows of all replicas.
    hash: [u32; 2],
}

impl<T: Placed> Run for Driver<T> {
    /// The first use of a lambda is a meeting of all replicas, and these will not make the same steps.
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.copies.search(r, &self.state.sources, 0..0)?;
        self.put(r, 0)
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        r.fill("beyond", &mut self.state.beyond, 0)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for sources in self.kept.lacking(self.at_once) {
            self.batch(r, log, sources)?;
        }
        self.hash = self.kept.hash(r, self.state.sources.len(), self.compared)?;
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::Host(&self.hash)]
    }
}

impl<T: Placed> Driver<T> {
    /// Searches from these sources, and keeps their rows.
    fn batch(&mut self, r: &mut Replica, log: &mut Log, sources: Range<usize>) -> Result<()> {
        self.copies.searched((r, log), &self.state.sources, sources.clone())?;
        operators((r, log, "step rows"), |r| {
            self.put(r, sources.len())?;
            let Driver { state, kept, .. } = self;
            kept.bring(r, sources, (&state.rows, &state.beyond))
        })?;
        log.book("step rows", (0, 0), (0, 0), "none");
        Ok(())
    }

    /// What the last searches have found becomes so many rows.
    fn put(&mut self, r: &mut Replica, count: usize) -> Result<()> {
        let State { targets, rows, beyond, .. } = &mut self.state;
        let columns = targets.len();
        let args = Args::new()
            .reads("targets", targets)
            .scalar("columns", columns as u64)
            .scalar("shift", u64::from(self.copies.shift()))
            .reads("dist", self.copies.distances())
            .writes("rows", rows);
        let args = if is_small::<T>() { args.writes("beyond", beyond) } else { args };
        r.for_all("put", Over::range(0..count * columns), &self.put, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if crate::operator::has_nvrtc() {
            put().compile("sm_90").unwrap();
            put_small().compile("sm_90").unwrap();
        }
    }
}
