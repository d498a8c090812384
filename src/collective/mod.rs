//! Merges: what makes replicas equal after a step.
//!
//! Four collectives behind one trait. `host` and `peer` are the same two-shot algorithm over different memory: everybody reduces
//! its own slice from everybody's copies, then fetches the other slices from their owners. Between steps hosts meet (`two_shot`),
//! or the GPUs, where each has one replica (`peer`). `nccl` drives its own communicator. `hierarchical` is `peer` within a host and
//! NCCL between hosts. Arrays of which it is known where they were written (`marks`) are merged there alone, in one shot, in which
//! everybody takes over what others wrote. Host replicas of several processes merge over their links (`across`); GPUs of several processes map each other's memory (`abroad`). GPUs that do not
//! reach each other's memory copy arrays to their hosts and back (`staged`), or take NCCL, by what takes less (`tried`).

mod abroad;
mod across;
mod cells;
mod chunk;
mod element;
pub(crate) mod hierarchical;
pub(crate) mod host;
mod joint;
mod kernels;
mod marks;
pub(crate) mod nccl;
mod owner;
pub(crate) mod peer;
mod rendezvous;
mod replicated;
pub(crate) mod staged;
pub(crate) mod tried;
mod two_shot;

pub(crate) use across::AcrossCollective;
pub use cells::Cells;
pub use chunk::{ChunkPolicy, Shares, Split};
pub(crate) use element::cells;
pub use element::{Atomic32, CellSlice, Dtype, Element, MergeOp, atomic_words, atomics};
pub(crate) use joint::{Together, apart};
pub(crate) use kernels::op_code;
pub(crate) use marks::{Marked, Marks};
pub(crate) use owner::{Label, Labels, Owner};
pub(crate) use rendezvous::STEP_LIMIT;
pub use rendezvous::{Payload, Rendezvous, Ticket};
pub(crate) use replicated::{ANYWHERE, DIFFERS, Data, ZEROS, made_of, name_hash};
pub(crate) use replicated::{Copied, Noted};
pub use replicated::{Frontier, Mergeable, Replicated};
pub use tried::ThroughHost;

use crate::device::kernels::hive;
use crate::device::kernels::joint::Joint;
use crate::error::{Error, Result};
use std::sync::Arc;

/// Replicas that a fleet may have: NCCL and the rendezvous are tested up to here.
pub const MAX_REPLICAS: usize = hive::REPLICAS as usize;

/// Merged arrays are cut into slices of multiples of this many elements, so that slices of bytes
/// stay aligned for wide access.
pub(crate) const SLICE_ALIGN: u32 = 64;

/// A replica's place in the fleet, as collectives see it.
#[derive(Clone)]
pub(crate) struct Seat {
    pub rank: usize,
    pub world: usize,
    pub rendezvous: Arc<Rendezvous>,
    pub iteration: u64,
}

impl Seat {
    /// Whose arrays are made here.
    pub fn owner(&self) -> Owner {
        Owner { fleet: self.rendezvous.id(), rank: self.rank }
    }
}

/// An array to merge: untyped, so that a collective is an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub label: &'static str,
    /// Host address or device pointer of element 0 on this replica.
    pub address: u64,
    pub length: u64,
    pub dtype: Dtype,
    pub op: MergeOp,
    /// What this replica's copy has come from ([`Replicated::alike`]); [`DIFFERS`] where all copies count.
    pub alike: u64,
}

impl Span {
    /// Whether all copies have come from the same, so that there is nothing to merge. `told` is what all have told at the first
    /// meeting of the merge: in its last word, what their copies have come from.
    pub fn is_same(&self, told: &[Payload]) -> bool {
        self.alike != DIFFERS && told.iter().all(|[.., alike]| *alike == self.alike)
    }

    /// What this replica shows when it comes to merge; `split` is a fingerprint of who owns what.
    pub fn ticket(&self, seat: &Seat, split: u64) -> Ticket {
        Ticket {
            label: self.label,
            iteration: seat.iteration,
            operation: self.op.name(),
            length: self.length,
            dtype: Some(self.dtype),
            split,
        }
    }

    pub fn check(&self) -> Result<()> {
        if self.dtype.supports(self.op) {
            return Ok(());
        }
        let (label, dtype, op) = (self.label, self.dtype, self.op.name());
        Err(Error::input(format!(
            "array {label}: {dtype:?} has no merge '{op}'; use u8, u32 or u64"
        )))
    }
}

/// Makes replicas equal. Every replica calls it with the same span (but its own address) and split.
pub(crate) trait Collective: Send {
    /// As [`crate::fleet::CollectiveKind`] has it.
    fn name(&self) -> &'static str;

    /// What goes through the host, where that was tried beside NCCL.
    fn through_host(&self) -> Option<ThroughHost> {
        None
    }

    /// Makes room for merges of `span` ahead of time: nothing may be allocated while a collective is
    /// half-launched somewhere.
    fn reserve(&mut self, _seat: &Seat, _span: Span) -> Result<()> {
        Ok(())
    }

    /// Tells all replicas where an array of this one is. Returns where this one finds everybody's, by rank.
    fn addresses(&mut self, seat: &Seat, ticket: Ticket, own: u64) -> Result<Vec<u64>> {
        let told = seat.rendezvous.meet(seat.rank, ticket, [own, 0, 0, 0])?;
        Ok(told.iter().map(|payload| payload[0]).collect())
    }

    /// After a failure: nothing that others do is waited for any more, on the device neither.
    fn abandon(&mut self) {}

    /// What launches over all GPUs of the fleet are told, where they can be made.
    fn joint(&self) -> Option<Joint> {
        None
    }

    /// What anybody queues after it comes after what everybody has queued before it. Only for replicas that write into
    /// each other's arrays.
    /// `what` is what they have written, and how it is dealt, the same on all.
    fn order(&mut self, _seat: &Seat, what: Ticket) -> Result<()> {
        let name = self.name();
        Err(Error::machine(format!("{what}: nobody writes for others over {name}; this is a bug")))
    }

    /// Merges in place. For Gather, `split` says who owns what; else it only divides the work.
    /// On devices the merge is ordered on the replica's stream; it may not have ended on return.
    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()>;

    /// Whether kernels of merges wait for those that other replicas have yet to launch.
    fn meets_on_devices(&self) -> bool {
        false
    }

    /// Whether [`Collective::merge_marked`] is of use: arrays are then marked where they are written.
    fn reads_marks(&self) -> bool {
        false
    }

    /// Merges arrays in place where replicas have marked them, in one exchange. Returns false where a replica does not know what
    /// it has written; then nothing is merged.
    fn merge_marked(&mut self, _seat: &Seat, arrays: &[(Span, &Marks)]) -> Result<bool> {
        Ok(arrays.is_empty())
    }
}
