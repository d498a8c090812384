//! The two-shot merge: reduce the own slice, then fetch the others.
//!
//! Between the steps replicas meet. No slice is written while somebody may read it: replica r alone
//! writes slice r in the first shot and reads only slices r; in the second shot slice r is read by
//! all and written by none, while r overwrites its other slices, which nobody reads any more.

use super::{MergeOp, Seat, Span};
use super::{Payload, Split, Ticket};
use crate::error::Result;
use std::ops::Range;

/// Memory that replicas of one process can read from each other.
pub(super) trait Mover {
    /// Before a meeting: what this replica has queued so far must be awaited by readers.
    fn publish(&mut self) -> Result<u64>;
    /// After a meeting: wait for what the others published.
    fn acquire(&mut self, published: &[Payload]) -> Result<()>;
    /// Tells of the own copy at a meeting. Returns what all told, and where this replica finds their copies.
    fn copies(
        &mut self,
        seat: &Seat,
        ticket: Ticket,
        told: Payload,
    ) -> Result<(Vec<Payload>, Vec<u64>)> {
        let seen = seat.rendezvous.meet(seat.rank, ticket, told)?;
        let copies = seen.iter().map(|payload| payload[0]).collect();
        Ok((seen, copies))
    }
    /// `own[range] = op over all copies, in rank order`.
    fn reduce(&mut self, span: &Span, copies: &[u64], range: Range<u64>) -> Result<()>;
    /// Every other owner's slice, from that owner's copy.
    fn fetch(&mut self, span: &Span, copies: &[u64], split: &Split, rank: usize) -> Result<()>;
}

/// Runs the merge; `split` must be the same on all replicas.
pub(super) fn two_shot(
    mover: &mut impl Mover,
    seat: &Seat,
    span: Span,
    split: &Split,
) -> Result<()> {
    let ticket = span.ticket(seat, split.fingerprint());
    let meet = |mover: &mut dyn FnMut() -> Result<u64>| -> Result<Vec<Payload>> {
        let published = mover()?;
        seat.rendezvous.meet(seat.rank, ticket, [span.address, published, 0, 0])
    };
    let published = mover.publish()?;
    let (seen, copies) = mover.copies(seat, ticket, [span.address, published, 0, span.alike])?;
    if span.is_same(&seen) {
        return Ok(());
    }
    mover.acquire(&seen)?;
    if span.op != MergeOp::Gather {
        mover.reduce(&span, &copies, split.range(seat.rank))?;
        let seen = meet(&mut || mover.publish())?;
        mover.acquire(&seen)?;
    }
    mover.fetch(&span, &copies, split, seat.rank)?;
    let seen = meet(&mut || mover.publish())?;
    mover.acquire(&seen)
}
