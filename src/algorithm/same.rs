//! Whether all runs of a workload end with the same answer: a hash of it after each run, made where it lies.

use super::frame::Run;
use crate::collective::{Element, Payload, Replicated};
use crate::device::kernels::hash::HashArgs;
use crate::device::{DeviceBuffer, Function, Launch, source};
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::hash::hash;
use rayon::prelude::*;
use std::collections::HashMap;

/// Words that one task hashes on the host.
const BLOCK: usize = 1 << 16;
/// Threads of a block on a device.
const THREADS: u32 = 256;
/// Words for a thread, at least.
const EACH: u64 = 16;
/// Most blocks.
const MOST_BLOCKS: u64 = 1 << 12;

/// An array that a run leaves behind, as words of 32 bits.
pub(crate) enum Words<'a> {
    /// In host memory.
    Host(&'a [u32]),
    /// On the replica's device: address and number of words.
    Device(u64, u64),
}

impl<'a> Words<'a> {
    /// All of a replicated array, whose elements have 4 or 8 bytes.
    pub fn of<T: Element>(array: &'a Replicated<T>) -> Words<'a> {
        match array.host() {
            Some(values) => Words::Host(bytemuck::cast_slice(values)),
            None => Words::Device(array.address(), (array.len() * size_of::<T>() / 4) as u64),
        }
    }
}

/// An answer whose bits are not promised.
pub(crate) struct Rounded {
    /// The values on the host.
    pub values: Vec<f64>,
    /// How far apart those of two runs may be: a share of the larger one, or `absolute`.
    pub relative: f64,
    pub absolute: f64,
    /// Iterations that were made. Where the numbers of two runs differ, values may be apart by `step` more.
    pub iterations: u64,
    pub step: f64,
}

impl Rounded {
    /// The first place where `other` is further away than it may be.
    fn differs(&self, other: &Rounded) -> Option<usize> {
        if self.values.len() != other.values.len() {
            return Some(self.values.len().min(other.values.len()));
        }
        let relative = self.relative.max(other.relative);
        let absolute = self.absolute.max(other.absolute);
        let step =
            if self.iterations == other.iterations { 0.0 } else { self.step.max(other.step) };
        let far = |(a, b): (&f64, &f64)| {
            let near = (a - b).abs() <= (relative * a.abs().max(b.abs())).max(absolute) + step;
            !(near || a.to_bits() == b.to_bits())
        };
        self.values.par_iter().zip(&other.values).position_first(far)
    }
}

/// Where hashes are made on a device.
struct OnDevice {
    kernel: Function,
    sum: DeviceBuffer<u64>,
}

/// What the first run of a question ended with.
struct First {
    run: u64,
    hash: u64,
    rounded: Option<Rounded>,
}

/// What runs ended with, on one replica.
pub(crate) struct Ends {
    device: Option<OnDevice>,
    first: HashMap<u64, First>,
}

impl Ends {
    /// For a quiet moment: compiles and allocates on a device.
    pub fn new(r: &mut Replica) -> Result<Ends> {
        let device = match &mut r.backend {
            Backend::Host(_) => None,
            Backend::Cuda(device) => Some(OnDevice {
                kernel: device.function(source("hash.cu"), &[], "hash_words")?,
                sum: device.alloc("hash of an answer", 1)?,
            }),
        };
        Ok(Ends { device, first: HashMap::new() })
    }

    /// What is wrong where `run`, which has ended, left another answer behind than the first run of its question, on
    /// any replica. The same on all.
    pub fn compare(
        &mut self,
        r: &mut Replica,
        body: &impl Run,
        run: u64,
    ) -> Result<Option<String>> {
        let (hash, differs) = self.differs(r, body, run)?;
        let differs = differs.map_or([0, 0, hash, 0], |first| [1, first, hash, 0]);
        let all = r.agree("same answer", differs)?;
        if let Some((replica, payload)) = all.iter().enumerate().find(|(_, own)| own[0] != 0) {
            let (run, first) = (run + 1, payload[1] + 1);
            return Ok(Some(format!(
                "run {run} ended with another answer than run {first}, on replica {replica} (warm-up runs count)"
            )));
        }
        let alike = |own: &Payload| own[2] == all[0][2];
        let other = all.iter().position(|own| body.everybody() && !alike(own));
        Ok(other.map(|other| {
            let run = run + 1;
            format!("replica {other} ended run {run} with another answer than replica 0 (warm-up runs count)")
        }))
    }

    /// The hash of the answer, and the run whose answer it differs from.
    fn differs(&mut self, r: &Replica, body: &impl Run, run: u64) -> Result<(u64, Option<u64>)> {
        let hash = self.hash(r, &body.answer())?;
        let Some(first) = self.first.get(&body.question()) else {
            let rounded = body.rounded(r)?;
            self.first.insert(body.question(), First { run, hash, rounded });
            return Ok((hash, None));
        };
        if first.hash == hash {
            return Ok((hash, None));
        }
        let near = match &first.rounded {
            None => false,
            Some(before) => body.rounded(r)?.is_some_and(|now| before.differs(&now).is_none()),
        };
        Ok((hash, (!near).then_some(first.run)))
    }

    fn hash(&self, r: &Replica, arrays: &[Words<'_>]) -> Result<u64> {
        let mut all = 0;
        for array in arrays {
            all = hash(all, self.hash_of(r, array)?);
        }
        Ok(all)
    }

    fn hash_of(&self, r: &Replica, array: &Words<'_>) -> Result<u64> {
        match (&r.backend, &self.device, array) {
            (Backend::Host(worker), _, Words::Host(words)) => {
                Ok(worker.pool.install(|| hash_words(words)))
            }
            (_, _, Words::Host(words)) => Ok(hash_words(words)),
            (Backend::Cuda(device), Some(here), &Words::Device(address, count)) => {
                here.sum.clear()?;
                let blocks = count.div_ceil(EACH * u64::from(THREADS)).clamp(1, MOST_BLOCKS);
                let args = HashArgs { words: address, count, sum: here.sum.pointer() };
                device.launch(here.kernel, Launch::of(blocks as u32, THREADS), &args)?;
                device.wait()?;
                here.sum.element(0)
            }
            _ => r.device().map(|_| 0),
        }
    }
}

/// The hash of an array: `kernels/hash.cu` makes the same on a device.
fn hash_words(words: &[u32]) -> u64 {
    let block = |(place, block): (usize, &[u32])| {
        let first = (place * BLOCK) as u64;
        let one = |(i, word): (usize, &u32)| hash(u64::from(*word), first + i as u64);
        block.iter().enumerate().map(one).fold(0, u64::wrapping_add)
    };
    words.par_chunks(BLOCK).enumerate().map(block).reduce(|| 0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::super::frame::{Log, timed};
    use super::*;
    use crate::algorithm::RunOptions;
    use crate::collective::MergeOp;
    use crate::fleet::{Devices, Fleet, FleetConfig};

    /// A workload that writes its number of the run from which it errs, on one replica, at one place.
    struct Erring {
        values: Replicated<u32>,
        shares: Replicated<f64>,
        from: u64,
        share: f64,
        source: u64,
        sources: u64,
        tolerant: bool,
    }

    impl Run for Erring {
        fn reset(&mut self, r: &mut Replica, run: u64) -> Result<()> {
            self.source = run % self.sources;
            let wrong = run >= self.from && (self.tolerant || r.rank() + 1 == r.world());
            let n = self.values.len();
            let mut values: Vec<u32> = (0..n as u32).map(|v| v + self.source as u32).collect();
            let mut shares = vec![0.25; n];
            if wrong {
                values[n / 2] += u32::from(self.share == 0.0);
                shares[n / 2] *= 1.0 + self.share;
            }
            self.values.assign(&values)?;
            self.shares.assign(&shares)
        }

        fn go(&mut self, _: &mut Replica, log: &mut Log) -> Result<()> {
            log.book("step", (1, 1), (0, 0), "none");
            Ok(())
        }

        fn answer(&self) -> Vec<Words<'_>> {
            vec![Words::of(&self.values), Words::of(&self.shares)]
        }

        fn question(&self) -> u64 {
            self.source
        }

        fn rounded(&self, _: &Replica) -> Result<Option<Rounded>> {
            if !self.tolerant {
                return Ok(None);
            }
            let values = self.shares.to_vec()?;
            Ok(Some(Rounded { values, relative: 1e-6, absolute: 0.0, iterations: 1, step: 0.0 }))
        }
    }

    /// What six runs, the first of them a warm-up, say: `from` is the first run that errs, `share` by how much.
    fn said(devices: &str, from: u64, share: f64, sources: u64, tolerant: bool) -> Option<String> {
        let devices: Devices = devices.parse().unwrap();
        let fleet = Fleet::open(FleetConfig { devices, ..FleetConfig::default() }).unwrap();
        let measured = fleet.run(move |r| {
            let values = r.replicated("values", 100_000, MergeOp::Min)?;
            let shares = r.replicated("shares", 100_000, MergeOp::Sum)?;
            let mut body = Erring { values, shares, from, share, source: 0, sources, tolerant };
            let run = RunOptions { runs: 5, warmup: 1, compare: true, ..RunOptions::default() };
            timed(r, &run, &mut body)
        });
        let all: Vec<Option<String>> =
            measured.unwrap().into_iter().map(|one| one.differing).collect();
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        all[0].clone()
    }

    #[test]
    fn a_run_that_ends_with_another_answer_is_named_by_its_number_and_replica() {
        let mut devices = vec!["host:1", "host:3"];
        if crate::device::device_count() > 0 {
            devices.extend(["cuda:0", "cuda:0x2"]);
        }
        for devices in devices {
            let last = said(devices, 0, 0.0, 1, false);
            match devices.contains(['2', '3']) {
                true => assert!(last.unwrap().contains("than replica 0"), "{devices}"),
                false => assert_eq!(last, None, "{devices}: all runs err alike"),
            }
            let message = said(devices, 3, 0.0, 1, false).unwrap();
            assert!(message.starts_with("run 4 ended with another answer than run 1"), "{message}");
            // The last run of the second of two sources.
            let message = said(devices, 5, 0.0, 2, false).unwrap();
            assert!(message.starts_with("run 6 ended with another answer than run 2"), "{message}");
            assert_eq!(said(devices, 2, 1e-7, 1, true), None, "{devices}: within the tolerance");
            assert!(said(devices, 2, 1e-7, 1, false).is_some(), "{devices}: bits are promised");
            assert!(said(devices, 2, 1e-5, 1, true).is_some(), "{devices}: beyond the tolerance");
        }
    }

    #[test]
    fn a_hash_heeds_places_and_words_and_not_how_words_are_dealt() {
        let words: Vec<u32> = (0..200_000).map(|i| i / 3).collect();
        let of = hash_words(&words);
        let serial = words.iter().enumerate().map(|(i, word)| hash(u64::from(*word), i as u64));
        assert_eq!(of, serial.fold(0, u64::wrapping_add));
        for (a, b) in [(0, 3), (10, 199_999), (65_535, 65_538)] {
            let mut swapped = words.clone();
            swapped.swap(a, b);
            assert_ne!(hash_words(&swapped), of);
        }
        assert_ne!(hash_words(&words[1..]), of);
    }
}
