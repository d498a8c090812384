//! Filter: the values of an array that a predicate wants, in the order of the array.
//!
//! **Idea.** The array's value at place i is a hash of (seed, i), made where it is needed before any run; values below
//! a share of 2^32 are kept. On GPUs one pass with decoupled look-back reads each value once and writes what is kept
//! once, in order.
//!
//! **Replicas.** Each filters its slice and keeps the result; that slice after slice is the answer, for any number of
//! replicas. Only counts are agreed upon. `--merge redundant` is the whole array by everybody.
//!
//! **Arrays.** `values, kept: [N / replicas] u32`, the owner's alone.
//!
//! **Source.** Ben-Nun, Sutton, Pai, Pingali, "Groute", PPoPP 2017 (predicate-based filtering); Merrill, Garland,
//! "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002.

mod answer;
mod cuda;
mod host;
mod options;

pub use answer::Filtered;
pub(crate) use answer::{check_options, start};
pub use options::FilterOptions;

use super::MergeMode;
use super::frame::{Log, Repeat, Run, Step, timed};
use super::measure::Measured;
use super::same::Words;
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::memory::available_memory;
use crate::run::{Answer, Context};
use cuda::Slice;
use std::ops::Range;
use std::time::Instant;

/// What one replica brings back: its part of the answer; everybody's, where they are compared.
struct Brought {
    kept: Vec<u32>,
    measured: Measured,
}

/// The driver of `hive run filter`.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let (config, world) = (context.job.config.clone(), context.fleet.world());
    let options = config.filter.clone();
    let alone = config.merge == MergeMode::Redundant || world == 1;
    let copies = if alone { world as u64 } else { 1 };
    room(&options, copies, context.fleet.info().backend == "host")?;
    let repeat = Repeat::of(context);
    let split = Split::nodes(options.elements, world, 64);
    let elements = options.elements;
    let brought = context.fleet.run(move |r| {
        let slice = if alone { 0..options.elements } else { split.range(r.rank()) };
        program(r, &options, slice, if alone { "none" } else { "slices" }, repeat)
    })?;
    let mut measured = brought[0].measured.clone();
    measured.arcs_relaxed = brought.iter().map(|one| one.measured.arcs_relaxed).sum();
    let begin = Instant::now();
    let mut parts = brought.into_iter().map(|one| one.kept);
    let kept = match alone {
        false => parts.collect::<Vec<_>>().concat(),
        true => {
            let first = parts.next().unwrap_or_default();
            if parts.any(|other| other != first) {
                return Err(Error::Verify("replicas kept different values".into()));
            }
            first
        }
    };
    measured.download_ms += begin.elapsed().as_secs_f64() * 1e3;
    measured.reached = kept.len() as u64;
    measured.reached_arcs = elements;
    Ok(Box::new(Filtered::new(kept, measured)))
}

/// Refuses an array that would take more of the host's memory than there is: on the host its values, on a GPU not, and
/// what may be kept of them, in parts and put together.
fn room(options: &FilterOptions, copies: u64, host: bool) -> Result<()> {
    let a_value = 8 * copies + 4 + if host { 4 * copies } else { 0 };
    let (needed, elements) = (options.elements.saturating_mul(a_value), options.elements);
    match available_memory() {
        Some(free) if free < needed => Err(Error::input(format!(
            "--elements {elements}: that takes {needed} bytes of memory, and {free} are there; ask for fewer"
        ))),
        _ => Ok(()),
    }
}

/// The program of one replica.
fn program(
    r: &mut Replica,
    options: &FilterOptions,
    slice: Range<u64>,
    merge: &'static str,
    repeat: Repeat,
) -> Result<Brought> {
    let (seed, threshold) = (options.seed, options.threshold());
    let length = (slice.end - slice.start) as usize;
    let place = match &mut r.backend {
        Backend::Host(worker) => {
            let values = worker.pool.install(|| host::make(seed, slice.start, length));
            Place::Host { values, kept: vec![0; length] }
        }
        Backend::Cuda(device) => Place::Cuda(Slice::new(device, slice, seed, threshold)?),
    };
    let mut filtering = Filtering { place, length: length as u64, threshold, merge, count: 0 };
    let mut measured = timed(r, repeat, &mut filtering)?;
    let begin = Instant::now();
    let kept = match filtering.place {
        Place::Cuda(slice) => slice.kept(filtering.count)?,
        Place::Host { mut kept, .. } => {
            kept.truncate(filtering.count as usize);
            kept
        }
    };
    measured.download_ms = begin.elapsed().as_secs_f64() * 1e3;
    Ok(Brought { kept, measured })
}

/// Where a slice is.
enum Place {
    Host { values: Vec<u32>, kept: Vec<u32> },
    Cuda(Slice),
}

/// One run, to be repeated.
struct Filtering {
    place: Place,
    length: u64,
    threshold: u64,
    merge: &'static str,
    /// Values that the last run kept.
    count: u64,
}

impl Run for Filtering {
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        match &mut self.place {
            Place::Cuda(slice) => slice.reset(),
            Place::Host { kept, .. } => {
                kept.fill(0);
                Ok(())
            }
        }
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let begin = Instant::now();
        r.begin(log.iteration(), "step filter")?;
        let (chance, rank) = (r.chance(), r.rank());
        let step = Step::begin(r)?;
        let rendezvous = r.rendezvous().clone();
        match (&r.backend, &mut self.place) {
            (Backend::Cuda(device), Place::Cuda(slice)) => slice.launch(device, chance)?,
            (Backend::Host(worker), Place::Host { values, kept }) => {
                let (beat, threshold) = (|| rendezvous.beat(rank), self.threshold);
                self.count = worker.pool.install(|| host::filter(values, kept, threshold, &beat));
            }
            _ => return Err(Error::machine("a slice of another backend; this is a bug")),
        }
        step.end(r)?;
        if let (Backend::Cuda(device), Place::Cuda(slice)) = (&r.backend, &self.place) {
            self.count = slice.count(device)?;
        }
        // From here on everybody knows where its values are in the whole.
        r.agree("kept", [self.count, 0, 0, 0])?;
        log.book(1, self.length, self.merge);
        log.note("step filter", (self.length, self.count), self.merge, begin);
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![match &self.place {
            Place::Host { kept, .. } => Words::Host(&kept[..self.count as usize]),
            Place::Cuda(slice) => Words::Device(slice.address(), self.count),
        }]
    }
}
