//! `repeat`: rounds until one leaves nothing, queued ahead of the counts of what they leave.

use crate::collective::Frontier;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use std::collections::VecDeque;

/// What a round leaves to do, once it has ended: made by [`Replica::left`], for [`Replica::repeat`].
pub struct Left(Count);

enum Count {
    Known(u64),
    /// By number.
    Queued(u64),
}

/// Most rounds that are queued before the count of an earlier one is looked at.
const AHEAD: usize = 8;

/// Rounds that are then queued together.
const BATCH: usize = 4;

impl Replica {
    /// The number of nodes in the replica's copy of a set, when what was queued so far has ended. It does not wait.
    pub fn left(&mut self, label: &'static str, set: &Frontier) -> Result<Left> {
        if let Backend::Host(_) = &self.backend {
            return Ok(Left(Count::Known(self.count(label, set)?)));
        }
        if self.device()?.lambdas.lane() != 0 {
            let what =
                "is counted on another stream than the main one; call r.left outside of r.on";
            return Err(self.owner().refuses(label, what));
        }
        let (turn, to) = self.device()?.lambdas.next_count();
        self.owner().check(set.words().label(), set.words().owner())?;
        self.count_to(label, set, to)?;
        Ok(Left(Count::Queued(turn)))
    }

    /// Calls `round` until it leaves nothing, and returns how often it had to be called. What it leaves must be the same on all
    /// replicas: the count of a merged set ([`Replica::left`]).
    ///
    /// On a GPU rounds are queued before it is known what earlier ones left, so that none waits for the host. Up to eleven
    /// rounds may then run after the last: a round that finds nothing to do must change nothing that is read later. Together
    /// they may take as long as one step ([`crate::fleet::FleetConfig::step_limit_s`]). After 32 rounds four are queued in one call.
    ///
    /// While the sets that are left are small, operators over sets may run over all of them on every replica (docs/operators.md,
    /// "Rounds").
    ///
    /// # Errors
    /// Those of `round`, and of its launches.
    pub fn repeat(&mut self, round: impl FnMut(&mut Replica) -> Result<Left>) -> Result<u64> {
        let ended = self.rounds(round);
        self.operators().last = None;
        let Backend::Cuda(device) = &self.backend else { return ended };
        let queued = device.let_go();
        ended.and_then(|rounds| queued.map(|()| rounds))
    }

    fn rounds(&mut self, mut round: impl FnMut(&mut Replica) -> Result<Left>) -> Result<u64> {
        let (mut queued, mut ended, mut before) = (VecDeque::new(), 0, u64::MAX);
        loop {
            queued.push_back(round(self)?);
            // Few rounds are not worth more: those that run in vain take time, too. It depends on nothing but the number of
            // rounds, since rounds may meet: all replicas must begin as many.
            let begun = ended as usize + queued.len();
            let ahead = (begun / 4).min(AHEAD);
            if ahead == AHEAD && !self.batched(begun)? {
                continue;
            }
            while queued.len() > ahead {
                let Some(left) = queued.pop_front() else { break };
                ended += 1;
                let left = self.known(left)?;
                // As many more in each round that is queued since as in this one.
                let more = |now: u64| now.saturating_mul(left) / before.max(1);
                let soon = (0..queued.len()).fold(left, |now, _| now.max(more(now)));
                (self.operators().last, before) = (Some(soon), left);
                if left == 0 {
                    return Ok(ended);
                }
            }
        }
    }

    /// Holds rounds back until there are as many as are queued together: whether they are.
    fn batched(&self, begun: usize) -> Result<bool> {
        let together = begun.is_multiple_of(BATCH);
        if let Backend::Cuda(device) = &self.backend {
            device.hold();
            if together {
                device.flush()?;
            }
        }
        Ok(together)
    }

    /// Waits for a count.
    fn known(&mut self, left: Left) -> Result<u64> {
        let turn = match left.0 {
            Count::Known(left) => return Ok(left),
            Count::Queued(turn) => turn,
        };
        let device = self.device()?;
        let lambdas = &device.lambdas;
        lambdas.count(turn)?;
        device.wait_for(|| matches!(lambdas.count(turn), Ok(Some(_))))?;
        device.bad_index()?;
        lambdas
            .count(turn)?
            .ok_or_else(|| Error::machine("a count that did not come; this is a bug"))
    }
}
