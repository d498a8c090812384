//! `repeat`: rounds until one leaves nothing, queued ahead of the counts of what they leave.

use super::launch::{Extent, Operators};
use super::over::Over;
use crate::collective::{DIFFERS, Frontier};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a round leaves to do, once it has ended: made by [`Replica::left`], for [`Replica::repeat`].
pub struct Left(Count);

enum Count {
    Known(Extent),
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
        let rows = self.rows_to_count(set);
        if let Backend::Host(_) = &self.backend {
            let nodes = self.count(label, set)?;
            let arcs = rows.and_then(|(graph, backward)| arcs_out_of(set, &graph, backward));
            return Ok(Left(Count::Known(Extent { nodes, arcs, exact: true })));
        }
        if self.device()?.lambdas.lane() != 0 {
            let what =
                "is counted on another stream than the main one; call r.left outside of r.on";
            return Err(self.owner().refuses(label, what));
        }
        let (turn, to) = self.device()?.lambdas.next_count();
        self.owner().check(set.words().label(), set.words().owner())?;
        let rows = rows.as_ref().map(|(graph, backward)| (&**graph, *backward));
        self.count_to(label, set, to, rows)?;
        Ok(Left(Count::Queued(turn)))
    }

    /// The rows that rounds went along, where the arcs of `set` have to be counted: rows of very different lengths, which are dealt to
    /// several replicas.
    fn rows_to_count(&self, set: &Frontier) -> Option<(Arc<Resident>, bool)> {
        let rows = self.attached::<Operators>()?.rows.as_ref()?;
        if self.world() == 1 || !rows.uneven {
            return None;
        }
        let graph = rows.graph.upgrade()?;
        (graph.graph().nodes() == set.nodes()).then_some((graph, rows.backward))
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
        self.operators().begins = self.world() > 1;
        self.operators().rows = None;
        let ended = self.rounds(round);
        self.operators().begins = false;
        self.operators().last = None;
        let Backend::Cuda(device) = &self.backend else { return ended };
        let queued = device.let_go();
        ended.and_then(|rounds| queued.map(|()| rounds))
    }

    fn rounds(&mut self, mut round: impl FnMut(&mut Replica) -> Result<Left>) -> Result<u64> {
        let (mut queued, mut ended) = (VecDeque::new(), 0);
        let (mut last, mut before): (Option<Extent>, Option<Extent>) = (None, None);
        loop {
            self.operators().last = last.map(|last| last.soon(before, queued.len()));
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
                (before, last) = (last, Some(left));
                if left.nodes == 0 {
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

    /// Counts the set of the first launch of rounds over one, if all replicas have the same: what began the rounds said nothing of it.
    /// It is a meeting.
    pub(super) fn measure_first(&mut self, over: &Over, backward: bool) -> Result<()> {
        let (Some(set), Some(graph)) = (over.set(), over.graph) else { return Ok(()) };
        let begins = self.attached::<Operators>().is_some_and(|operators| operators.begins);
        if !begins
            || over.whole
            || graph.fleet() != self.owner().fleet
            || graph.graph().nodes() != set.nodes()
            || self.device().is_ok_and(|device| device.lambdas.lane() != 0)
        {
            return Ok(());
        }
        self.operators().begins = false;
        let alike = set.words().alike();
        let known = match alike {
            DIFFERS => None,
            _ => {
                self.goes_along(graph, backward);
                let left = self.left("count", set)?;
                Some(self.known(left)?)
            }
        };
        let own = known.map_or([DIFFERS; 4], |Extent { nodes, arcs, .. }| {
            [alike, nodes, arcs.unwrap_or(u64::MAX), 1]
        });
        let all = self.agree("count", own)?;
        if known.is_some() && all.iter().all(|other| *other == own) {
            self.operators().last = known;
        }
        Ok(())
    }

    /// Waits for a count.
    fn known(&mut self, left: Left) -> Result<Extent> {
        let turn = match left.0 {
            Count::Known(left) => return Ok(left),
            Count::Queued(turn) => turn,
        };
        let device = self.device()?;
        let lambdas = &device.lambdas;
        lambdas.count(turn)?;
        device.wait_for(|| matches!(lambdas.count(turn), Ok(Some(_))))?;
        device.bad_index()?;
        let none = || Error::machine("a count that did not come; this is a bug");
        let (nodes, arcs) = lambdas.count(turn)?.ok_or_else(none)?;
        Ok(Extent { nodes, arcs, exact: true })
    }
}

impl Extent {
    /// What is left after `rounds` more, if there is as much more in each as in this one over the one `before`.
    fn soon(self, before: Option<Extent>, rounds: usize) -> Extent {
        let more = |left: u64, before: u64| {
            let next = |now: u64| now.max(now.saturating_mul(left) / before.max(1));
            (0..rounds).fold(left, |now, _| next(now))
        };
        let exact = rounds == 0;
        let nodes = more(self.nodes, before.map_or(u64::MAX, |before| before.nodes));
        let arcs = match before {
            _ if exact => self.arcs,
            Some(before) => self.arcs.zip(before.arcs).map(|(left, before)| more(left, before)),
            None => None,
        };
        Extent { nodes, arcs, exact }
    }
}

/// Arcs out of the nodes of a set on the host.
fn arcs_out_of(set: &Frontier, graph: &Resident, backward: bool) -> Option<u64> {
    let rows = if backward { graph.rows_in()? } else { graph.graph() };
    let words = set.words().host()?.par_iter().enumerate();
    let of = |(at, word): (usize, &u64)| -> u64 {
        let nodes = (0..64).filter(|bit| word >> bit & 1 != 0).map(|bit| 64 * at + bit);
        // Bits beyond the last node are none.
        nodes.filter(|v| *v < rows.nodes()).map(|v| rows.degree(v)).sum()
    };
    Some(words.map(of).sum())
}
