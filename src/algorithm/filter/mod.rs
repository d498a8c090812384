//! Filter: the values of an array that are below a share of all, in the order of the array.
//!
//! **Definition.** The value at place i is a hash of (seed, i), 32 bits. Values below share x 2^32 are kept.
//!
//! **Idea.** On GPUs one pass with decoupled look-back: each value is read once, and what is kept is written once, in
//! order. The array is made before the runs.
//!
//! **Plans.** Each replica filters its slice and keeps the result; slice after slice is the answer, for any number of
//! replicas. Only counts are exchanged. With `--merge redundant` every replica filters the whole array.
//!
//! **Arrays.** `values, kept: [N / replicas] u32`, the owner's alone.
//!
//! **Source.** Ben-Nun, Sutton, Pai, Pingali, "Groute", PPoPP 2017 (predicate-based filtering); Merrill, Garland,
//! "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002.

mod answer;
mod cuda;
mod host;

pub use answer::Filtered;

use super::frame::{Engine, Log, ReplicaAnswer, Run, step, timed};
use super::same::Words;
use super::workload::{Algorithm, Request, config, run};
use super::{MergeMode, RunOptions};
use crate::choice::number;
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::{Fleet, Replica};
use crate::graph::Graph;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Form, Prepared};
use crate::memory::available_memory;
use cuda::Slice;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Instant;

/// Most values that are asked for: 256 GiB.
const MOST: u64 = 1 << 36;

/// The workload.
pub struct Filter;

/// What filtering is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FilterConfig {
    /// Values of the array: 1 to 68719476736 [default: 16777216].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", allow_hyphen_values = true))]
    pub elements: u64,
    /// The share of all values that is kept, the smallest ones: 0 to 1 [default: 0.5].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", allow_hyphen_values = true))]
    #[serde(with = "number")]
    pub share: f64,
    /// Seed of the values: any number of 64 bits [default: 1].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SEED", allow_hyphen_values = true))]
    pub seed: u64,
    /// How the workload runs.
    #[cfg_attr(feature = "cli", arg(skip))]
    #[serde(skip)]
    pub run: RunOptions,
}

impl Default for FilterConfig {
    fn default() -> Self {
        FilterConfig { elements: 1 << 24, share: 0.5, seed: 1, run: RunOptions::default() }
    }
}

config!(FilterConfig);

impl FilterConfig {
    /// Values below it are kept.
    fn threshold(&self) -> u64 {
        (self.share * 2f64.powi(32)).ceil() as u64
    }
}

/// The values of the array that are below a share of all, in order. It needs no graph: `graph` may be an empty one.
///
/// # Errors
/// [`Error::Input`] for options out of range; [`Error::Fault`] when a replica fails; [`Error::Verify`] when
/// `compare` finds answers that differ.
pub fn filter(fleet: &Fleet, graph: &Prepared, config: &FilterConfig) -> Result<Filtered> {
    run::<Filter>(fleet, graph, config)
}

impl Algorithm for Filter {
    type Config = FilterConfig;
    type Start = ();
    type Answer = Filtered;
    const NAME: &'static str = "filter";
    const ABOUT: &'static str = "Filter: the values of an array below a threshold, in order";
    const EXAMPLES: [&'static str; 2] = [
        "hive run filter --share 0.1 --verify",
        "hive run filter --elements 1000000 --output kept.npy",
    ];
    const FORM: Form = Form::Array;

    fn check(config: &FilterConfig) -> Result<()> {
        let FilterConfig { elements, share, .. } = *config;
        if !(1..=MOST).contains(&elements) {
            return Err(Error::input(format!("--elements {elements}: use 1 to {MOST}")));
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::input(format!("--share {share}: use 0 to 1")));
        }
        if config.run.merge == MergeMode::Dense {
            return Err(Error::input(
                "--merge dense: filter leaves what it keeps with the owners of the slices, nothing is merged; use auto",
            ));
        }
        Ok(())
    }

    fn start(_: &FilterConfig, _: &Graph) -> Result<()> {
        Ok(())
    }

    fn elements(config: &FilterConfig) -> Option<u64> {
        Some(config.elements)
    }

    fn arrays(_: &GraphShape, config: &FilterConfig, world: usize) -> Vec<DeviceArray> {
        cuda::arrays((config.elements as usize).div_ceil(world))
    }

    fn solve(request: Request<Self>) -> Result<Filtered> {
        let Request { fleet, query, run, .. } = request;
        let (config, run, world) = (query.config.clone(), run.clone(), fleet.world());
        let alone = run.merge == MergeMode::Redundant || world == 1;
        let copies = if alone { world as u64 } else { 1 };
        room(&config, copies, fleet.info().backend == "host")?;
        let elements = config.elements;
        let split = Split::nodes(elements, &fleet.info().shares, 64);
        let answers = fleet.run(move |r| {
            let slice = if alone { 0..elements } else { split.range(r.rank()) };
            program(r, &config, slice, alone, &run)
        })?;
        let (kept, mut measured) = ReplicaAnswer::all(answers);
        let begin = Instant::now();
        // Alone, the first replica of a process brings everything.
        let kept = match alone {
            true => kept.concat(),
            false => fleet.concat("kept values", kept.concat())?,
        };
        measured.download_ms += begin.elapsed().as_secs_f64() * 1e3;
        measured.reached = kept.len() as u64;
        measured.reached_arcs = elements;
        Ok(Filtered::new(kept, measured))
    }
}

/// Refuses an array that would take more of the host's memory than there is: on the host its values, on a GPU not, and
/// what may be kept of them, in parts and put together.
fn room(config: &FilterConfig, copies: u64, host: bool) -> Result<()> {
    let a_value = 8 * copies + 4 + if host { 4 * copies } else { 0 };
    let (needed, elements) = (config.elements.saturating_mul(a_value), config.elements);
    match available_memory() {
        Some(free) if free < needed => Err(Error::input(format!(
            "--elements {elements}: that takes {needed} bytes of memory, and {free} are there; ask for fewer"
        ))),
        _ => Ok(()),
    }
}

/// The program of one replica; it ends with its part of the answer.
fn program(
    r: &mut Replica,
    config: &FilterConfig,
    slice: Range<u64>,
    alone: bool,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Vec<u32>>> {
    let (seed, threshold) = (config.seed, config.threshold());
    let length = (slice.end - slice.start) as usize;
    let first = slice.start;
    let cuda = |device: &mut _| Slice::new(device, slice, seed, threshold);
    let mut engine = Engine::new(r, cuda, || Ok(HostSlice::default()))?;
    engine.with(
        r,
        &mut (),
        |_, _, ()| Ok(()),
        |own, (), _| {
            *own = HostSlice { values: host::make(seed, first, length), kept: vec![0; length] };
        },
    )?;
    let mut filtering = Filtering { engine, length: length as u64, threshold, alone, count: 0 };
    let measured = timed(r, run, &mut filtering)?;
    ReplicaAnswer::new(measured, || match filtering.engine {
        // The others bring nothing.
        _ if alone && !r.leads() => Ok(Vec::new()),
        Engine::Cuda(slice) => slice.kept(filtering.count),
        Engine::Host(HostSlice { mut kept, .. }) => {
            kept.truncate(filtering.count as usize);
            Ok(kept)
        }
    })
}

/// A slice of the array on the host, and what is kept of it.
#[derive(Default)]
struct HostSlice {
    values: Vec<u32>,
    kept: Vec<u32>,
}

/// One run, to be repeated.
struct Filtering {
    engine: Engine<Slice, HostSlice>,
    length: u64,
    threshold: u64,
    /// Every replica filters the whole array.
    alone: bool,
    /// Values that the last run kept.
    count: u64,
}

impl Run for Filtering {
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        match &mut self.engine {
            Engine::Cuda(slice) => slice.reset(),
            Engine::Host(own) => {
                own.kept.fill(0);
                Ok(())
            }
        }
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let (name, threshold) = ("step filter", self.threshold);
        self.count = step(
            (r, log, name),
            &mut self.engine,
            &mut (),
            |device, slice, ()| slice.launch(device),
            |device, slice| slice.count(device),
            |own, (), beat| host::filter(&own.values, &mut own.kept, threshold, beat),
        )?;
        // From here on everybody knows where its values are in the whole.
        r.agree("kept", [self.count, 0, 0, 0])?;
        let merge = if self.alone { "none" } else { "slices" };
        log.book(name, (1, self.length), (self.length, self.count), merge);
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![match &self.engine {
            Engine::Host(own) => Words::Host(&own.kept[..self.count as usize]),
            Engine::Cuda(slice) => Words::Device(slice.address(), self.count),
        }]
    }

    fn everybody(&self) -> bool {
        self.alone
    }
}
