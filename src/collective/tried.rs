//! GPUs that do not all reach each other's memory: an array is merged through NCCL or through the host, by what took less time when both
//! were tried. Which that is depends on the links and on the size of the array: through the host a small one takes less, since NCCL
//! launches a kernel on every GPU, which waits for the others.

use super::staged::StagedCollective;
use super::{Collective, DIFFERS, Dtype, MergeOp, Payload, SLICE_ALIGN, Seat, Span, Split, Ticket};
use crate::aside::Unfinished;
use crate::cache_dir;
use crate::device::CudaDevice;
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Arrays of at most so many bytes are merged through the host, larger ones through NCCL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ThroughHost {
    /// Of Gather merges.
    pub gather: u64,
    /// Of Or merges.
    pub or: u64,
    /// Of Sum, Min and Max merges.
    pub reduce: u64,
}

/// Bytes of the arrays that are tried.
const SIZES: [u64; 4] = [1 << 12, 1 << 16, 1 << 20, 1 << 24];

/// The largest array that goes through the host.
const MOST: u64 = 1 << 26;

/// How often each is merged, after once without a watch.
const TIMES: usize = 3;

impl ThroughHost {
    fn of(&self, op: MergeOp) -> u64 {
        match op {
            MergeOp::Gather => self.gather,
            MergeOp::Or => self.or,
            MergeOp::Min | MergeOp::Max | MergeOp::Sum => self.reduce,
        }
    }

    fn told(&self) -> Payload {
        [1, self.gather, self.or, self.reduce]
    }

    /// The file of what was found on the machine that `key` tells from others.
    fn file(key: &str) -> Option<PathBuf> {
        let folder = cache_dir::directory()?.join("links");
        Some(folder.join(format!("{}.json", cache_dir::key(&[key.as_bytes()]))))
    }

    fn read(key: &str) -> Option<ThroughHost> {
        let found = std::fs::read(ThroughHost::file(key)?).ok()?;
        let ThroughHost { gather, or, reduce } = serde_json::from_slice(&found).ok()?;
        let [gather, or, reduce] = [gather, or, reduce].map(|bytes| bytes.min(MOST));
        Some(ThroughHost { gather, or, reduce })
    }

    /// Keeps what was found; where it cannot be kept, it is found again.
    fn write(&self, key: &str) {
        let write = || -> std::io::Result<()> {
            let Some(path) = ThroughHost::file(key) else { return Ok(()) };
            let folder = path.parent().unwrap_or(&path);
            std::fs::create_dir_all(folder)?;
            let aside = Unfinished::new(|| tempfile::NamedTempFile::new_in(folder))?;
            aside.file()?.write_all(&serde_json::to_vec(self)?)?;
            aside.rename(&path)
        };
        let _ = write();
    }
}

/// Bytes up to which the host took no longer, of what both took by `sizes`: `[host, NCCL]`.
fn up_to(sizes: &[u64], took: &[[u64; 2]]) -> u64 {
    let first = took.iter().position(|[host, nccl]| host > nccl);
    match first {
        Some(0) => 0,
        // Half way, as sizes grow.
        Some(at) => (sizes[at - 1] * sizes[at]).isqrt(),
        None => MOST,
    }
}

/// Merges through NCCL or through the host.
pub(crate) struct TriedCollective {
    nccl: Box<dyn Collective>,
    host: StagedCollective,
    through_host: ThroughHost,
}

impl TriedCollective {
    /// Tries both, unless it is known what came of it on this machine, which is told from others by `key`. All replicas do.
    pub fn new(
        device: &CudaDevice,
        seat: &Seat,
        (nccl, host): (Box<dyn Collective>, StagedCollective),
        key: &str,
    ) -> Result<TriedCollective> {
        let through_host = ThroughHost::default();
        let mut made = TriedCollective { nccl, host, through_host };
        let known = ThroughHost::read(key).filter(|_| seat.rank == 0);
        let own = known.map_or([0; 4], |known| known.told());
        let told = meet(seat, "known links", own)?;
        let [known, gather, or, reduce] = told.first().copied().unwrap_or_default();
        if known != 0 {
            made.through_host = ThroughHost { gather, or, reduce };
            return Ok(made);
        }
        let most = SIZES.into_iter().max().unwrap_or(0);
        let array = device.alloc::<u64>("arrays to try links with", (most / 8) as usize)?;
        device.zero_first(&array, usize::MAX)?;
        let mut found = |op| -> Result<u64> {
            let length = |bytes: u64| bytes / Dtype::U32.size() as u64;
            let (label, address, dtype, alike) = ("links", array.pointer(), Dtype::U32, DIFFERS);
            let span = Span { label, address, length: length(most), dtype, op, alike };
            made.nccl.reserve(seat, span)?;
            let mut took = Vec::new();
            for bytes in SIZES {
                let span = Span { length: length(bytes), ..span };
                let (host, nccl) = (&mut made.host, made.nccl.as_mut());
                let own =
                    [time(host, (device, seat), span)?, time(nccl, (device, seat), span)?, 0, 0];
                let all = meet(seat, "times of links", own)?;
                took.push([0, 1].map(|at| all.iter().map(|own| own[at]).max().unwrap_or(0)));
            }
            Ok(up_to(&SIZES, &took))
        };
        let (gather, or, reduce) =
            (found(MergeOp::Gather)?, found(MergeOp::Or)?, found(MergeOp::Min)?);
        made.through_host = ThroughHost { gather, or, reduce };
        if seat.rank == 0 {
            made.through_host.write(key);
        }
        Ok(made)
    }

    fn of(&mut self, span: &Span) -> &mut dyn Collective {
        let bytes = span.length * span.dtype.size() as u64;
        match bytes <= self.through_host.of(span.op) {
            true => &mut self.host,
            false => self.nccl.as_mut(),
        }
    }
}

fn meet(seat: &Seat, operation: &'static str, own: Payload) -> Result<Vec<Payload>> {
    let (label, iteration) = ("links", seat.iteration);
    let ticket = Ticket { label, iteration, operation, length: 0, dtype: None, split: 0 };
    seat.rendezvous.meet(seat.rank, ticket, own)
}

/// Nanoseconds of a merge from a common start: the least of several.
fn time(
    collective: &mut dyn Collective,
    (device, seat): (&CudaDevice, &Seat),
    span: Span,
) -> Result<u64> {
    let split = Split::nodes(span.length, seat.world, SLICE_ALIGN);
    let mut least = u64::MAX;
    for turn in 0..=TIMES {
        meet(seat, "start", [0; 4])?;
        let start = Instant::now();
        collective.merge(seat, span, &split)?;
        device.wait()?;
        if turn > 0 {
            least = least.min(start.elapsed().as_nanos() as u64);
        }
    }
    Ok(least)
}

impl Collective for TriedCollective {
    fn name(&self) -> &'static str {
        self.nccl.name()
    }

    fn through_host(&self) -> Option<ThroughHost> {
        Some(self.through_host)
    }

    fn reserve(&mut self, seat: &Seat, span: Span) -> Result<()> {
        self.nccl.reserve(seat, span)
    }

    fn abandon(&mut self) {
        self.nccl.abandon();
        self.host.abandon();
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        self.of(&span).merge(seat, span, split)
    }

    fn meets_on_devices(&self) -> bool {
        self.nccl.meets_on_devices()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_merges_what_is_small_until_it_takes_longer() {
        let of = |took: [[u64; 2]; 4]| up_to(&SIZES, &took);
        assert_eq!(of([[9, 8], [1, 8], [1, 8], [1, 8]]), 0);
        assert_eq!(of([[8, 8], [9, 8], [1, 8], [1, 8]]), 1 << 14);
        assert_eq!(of([[7, 8], [7, 8], [9, 8], [99, 8]]), 1 << 18);
        assert_eq!(of([[1, 8]; 4]), MOST);
    }
}
