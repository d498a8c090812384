//! The host collective: replicas on threads of this process, merged in main memory.

use super::two_shot::{Mover, two_shot};
use super::{Collective, Dtype, Element, MergeOp, Seat, Span};
use super::{Payload, Split};
use crate::error::Result;
use std::ops::Range;

/// Merges arrays that live in host memory.
pub(crate) struct HostCollective;

impl Collective for HostCollective {
    fn name(&self) -> &'static str {
        "host"
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        span.check()?;
        two_shot(&mut HostMover, seat, span, split)
    }
}

struct HostMover;

impl Mover for HostMover {
    fn publish(&mut self) -> Result<u64> {
        Ok(0)
    }

    fn acquire(&mut self, _: &[Payload]) -> Result<()> {
        Ok(())
    }

    fn reduce(&mut self, span: &Span, copies: &[u64], range: Range<u64>) -> Result<()> {
        match span.dtype {
            Dtype::U8 => reduce::<u8>(span, copies, range),
            Dtype::U32 => reduce::<u32>(span, copies, range),
            Dtype::U64 => reduce::<u64>(span, copies, range),
            Dtype::I32 => reduce::<i32>(span, copies, range),
            Dtype::F32 => reduce::<f32>(span, copies, range),
            Dtype::F64 => reduce::<f64>(span, copies, range),
        }
        Ok(())
    }

    fn fetch(&mut self, span: &Span, copies: &[u64], split: &Split, rank: usize) -> Result<()> {
        let size = span.dtype.size();
        // Start with the next rank, so that not everybody reads from the same owner at once.
        for step in 1..copies.len() {
            let owner = (rank + step) % copies.len();
            let range = split.range(owner);
            let start = range.start as usize * size;
            let bytes = (range.end - range.start) as usize * size;
            // SAFETY: both are live arrays of `span.length` elements; the caller merges under an
            // exclusive borrow, and the two-shot protocol has nobody write the owner's slice now.
            unsafe {
                let source = (copies[owner] as *const u8).add(start);
                let own = (span.address as *mut u8).add(start);
                std::ptr::copy_nonoverlapping(source, own, bytes);
            }
        }
        Ok(())
    }
}

/// Adds a copy's values to the sum of those before, of which there are none where it is the first.
pub(super) fn fold<T: Element>(sum: &mut [T], values: &[T], op: MergeOp, first: bool) {
    match first {
        true => sum.copy_from_slice(values),
        false => sum.iter_mut().zip(values).for_each(|(s, v)| *s = s.combine(*v, op)),
    }
}

/// Elements reduced at a time: the block stays in cache while the copies stream past.
const BLOCK: usize = 4096;

fn reduce<T: Element>(span: &Span, copies: &[u64], range: Range<u64>) {
    let (start, end) = (range.start as usize, range.end as usize);
    let mut sum = vec![T::zeroed(); BLOCK.min(end - start)];
    for block in (start..end).step_by(BLOCK) {
        let length = BLOCK.min(end - block);
        for (rank, copy) in copies.iter().enumerate() {
            // SAFETY: a live array of `span.length` elements; only the slice's owner, this thread,
            // writes it during the first shot, and it does so after this borrow has ended.
            let values =
                unsafe { std::slice::from_raw_parts((*copy as *const T).add(block), length) };
            fold(&mut sum[..length], values, span.op, rank == 0);
        }
        // SAFETY: the own slice of the own array, which nobody else reads in the first shot.
        unsafe {
            let own = (span.address as *mut T).add(block);
            std::ptr::copy_nonoverlapping(sum.as_ptr(), own, length);
        }
    }
}
