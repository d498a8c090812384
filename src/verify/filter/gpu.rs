//! The same check on a GPU.

use crate::device::kernels::check_filter::{FilterArgs, PART};
use crate::error::Result;
use crate::hash::array_key;
use crate::verify::gpu::{Checker, Gpu, Seen, prefix_sums};
use bytemuck::Zeroable;

/// Kept values that are compared at once, at least, where not all fit.
const FEWEST: u64 = 1 << 20;

impl Checker<'_> {
    /// What [`super::filter`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn filter(&self, seed: u64, elements: u64, share: f64, kept: &[u32]) -> Result<u64> {
        self.certify(
            None,
            |gpu| check(gpu, seed, elements, share, kept),
            || super::filter(seed, elements, share, kept),
        )
    }
}

fn check(gpu: &Gpu, seed: u64, elements: u64, share: f64, kept: &[u32]) -> Result<Seen<u64>> {
    let parts = elements.div_ceil(PART.into());
    // Counts, and their sums.
    let free = gpu.room()?.saturating_sub(16 * (parts + 1)) / 4;
    let most = free.min(kept.len() as u64);
    if most < FEWEST.min(kept.len() as u64) {
        return Ok(Seen::NoRoom);
    }
    let counts = gpu.alloc::<u64>("kept values of parts", parts as usize)?;
    let wrong = gpu.alloc::<u32>("wrong", 1)?;
    let args = FilterArgs {
        counts: counts.pointer(),
        wrong: wrong.pointer(),
        limit: share * 4_294_967_296.0,
        key: array_key(seed),
        elements,
        last: parts,
        ..FilterArgs::zeroed()
    };
    let kernel = gpu.function("check_filter.cu", "check_filter_count")?;
    gpu.over(kernel, elements, PART, &args)?;
    let before = prefix_sums(counts.to_vec()?);
    if before[parts as usize] != kept.len() as u64 {
        return Ok(Seen::Wrong);
    }
    let device_before = gpu.copy("kept values before parts", &before)?;
    // A part is never cut.
    let values = gpu.alloc::<u32>("kept values", (most as usize).max(PART as usize))?;
    let kernel = gpu.function("check_filter.cu", "check_filter_compare")?;
    let mut first = 0;
    while first < parts as usize {
        let base = before[first];
        let last = before.partition_point(|count| *count <= base + values.len() as u64) - 1;
        let last = last.clamp(first + 1, parts as usize);
        values.upload(&kept[base as usize..before[last] as usize])?;
        let args = FilterArgs {
            kept: values.pointer(),
            before: device_before.pointer(),
            first: first as u64,
            last: last as u64,
            base,
            ..args
        };
        gpu.over(kernel, (last - first) as u64 * u64::from(PART), PART, &args)?;
        first = last;
    }
    Ok(if wrong.element(0)? == 0 { Seen::Right(kept.len() as u64) } else { Seen::Wrong })
}
