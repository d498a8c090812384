//! Merges of host replicas of several processes: two shots, as within one, of which others' copies come over links.
//!
//! In the first shot every replica sends each owner that owner's slice of its copy, and folds its own slice from everybody's, in
//! rank order: the same additions as in one process. In the second it sends its slice to every process.

use super::host::fold;
use super::{Collective, Dtype, Element, MergeOp, Seat, Span, Split};
use crate::error::Result;
use crate::processes::Members;
use std::ops::Range;

/// Merges arrays that lie in the host memory of several processes.
pub(crate) struct AcrossCollective(pub Members);

impl Collective for AcrossCollective {
    fn name(&self) -> &'static str {
        "host"
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        span.check()?;
        match span.dtype {
            Dtype::U8 => self.merge_as::<u8>(seat, span, split),
            Dtype::U32 => self.merge_as::<u32>(seat, span, split),
            Dtype::U64 => self.merge_as::<u64>(seat, span, split),
            Dtype::I32 => self.merge_as::<i32>(seat, span, split),
            Dtype::F32 => self.merge_as::<f32>(seat, span, split),
            Dtype::F64 => self.merge_as::<f64>(seat, span, split),
        }
    }
}

impl AcrossCollective {
    fn merge_as<T: Element>(&self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        let (rank, AcrossCollective(members)) = (seat.rank, self);
        let (links, here) = (&members.links, members.own());
        let meet = || {
            let ticket = span.ticket(seat, split.fingerprint());
            seat.rendezvous.meet(rank, ticket, [span.address, 0, 0, span.alike])
        };
        let alive = || seat.rendezvous.beat(rank);
        let seen = meet()?;
        if span.is_same(&seen) {
            return Ok(());
        }
        let places: Vec<u64> = seen.iter().map(|payload| payload[0]).collect();
        let range = |of: usize| {
            let range = split.range(of);
            range.start as usize..range.end as usize
        };
        let local = |rank: usize, range: Range<usize>| -> &[T] {
            // SAFETY: a live array of `span.length` elements of a replica of this process, between meetings in which nobody
            // writes this part of it: in the first shot all but the owner's own copy, in the second the owner's.
            unsafe {
                std::slice::from_raw_parts((places[rank] as *const T).add(range.start), range.len())
            }
        };
        if span.op != MergeOp::Gather {
            for process in members.others() {
                for to in members.of(process) {
                    let slice = local(rank, range(to));
                    links.send_data(process, rank, to, bytemuck::cast_slice(slice));
                }
            }
            let mine = range(rank);
            let mut sum: Vec<T> = crate::memory::zeros(span.label, mine.len())?;
            let mut theirs: Vec<T> = crate::memory::zeros(span.label, mine.len())?;
            for from in 0..places.len() {
                let values = match members.process_of(from).filter(|_| !here.contains(&from)) {
                    None => local(from, mine.clone()),
                    Some(process) => {
                        let into = bytemuck::cast_slice_mut(&mut theirs);
                        links.take_data(process, (from, rank), into, &alive)?;
                        &theirs
                    }
                };
                fold(&mut sum, values, span.op, from == 0);
            }
            // Nobody of this process reads its own slice of this copy any more.
            write(span.address, mine.start, &sum);
            meet()?;
        }
        for process in members.others() {
            let slice = local(rank, range(rank));
            // Once a process: the first of its replicas takes it, for all.
            let to = members.of(process).start;
            links.send_data(process, rank, to, bytemuck::cast_slice(slice));
        }
        if rank == here.start {
            for process in members.others() {
                for from in members.of(process) {
                    let theirs = range(from);
                    let mut values: Vec<T> = crate::memory::zeros(span.label, theirs.len())?;
                    let into = bytemuck::cast_slice_mut(&mut values);
                    links.take_data(process, (from, rank), into, &alive)?;
                    write(span.address, theirs.start, &values);
                }
            }
        }
        meet()?;
        for from in 0..places.len() {
            let holder = if here.contains(&from) { from } else { here.start };
            if holder != rank {
                write(span.address, range(from).start, local(holder, range(from)));
            }
        }
        meet().map(drop)
    }
}

/// Writes into the own array.
fn write<T: Element>(address: u64, at: usize, values: &[T]) {
    // SAFETY: the own copy, which is merged under an exclusive borrow; between meetings nobody else reads this part of it.
    unsafe {
        let to = (address as *mut T).add(at);
        std::ptr::copy_nonoverlapping(values.as_ptr(), to, values.len());
    }
}
