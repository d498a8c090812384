//! The best moves of the nodes of a level in a turn: what their arcs weigh by community, and of the communities the one that gains most.

use super::cuda::Workspace;
use super::lambdas::{is_elsewhere, rests};
use super::refine_lambdas::{is_loose, stays};
use super::state::State;
use crate::algorithm::frame::Engine;
use crate::collective::{Element, Replicated};
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::hash::GOLDEN;
use rayon::prelude::*;

/// Who moves when.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub sweep: u32,
    pub turn: u32,
    pub turns: u32,
    /// A replica's part of the nodes, and how many parts there are.
    pub dealt: (u32, u32),
}

impl Turn {
    /// The turns of a sweep.
    pub fn all(sweep: u32, turns: u32, dealt: (u32, u32)) -> impl Iterator<Item = Turn> {
        (0..turns).map(move |turn| Turn { sweep, turn, turns, dealt })
    }

    /// Whether a node does not move in it, or by another replica's doing.
    fn passes(&self, v: u32) -> bool {
        let (sweep, (part, parts)) = (u64::from(self.sweep), self.dealt);
        rests(v, sweep, self.turn, self.turns) || is_elsewhere(v, sweep, part, parts)
    }
}

/// Between what nodes move.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum What {
    /// Nodes that are to be looked at, between communities.
    Communities,
    /// Nodes that are alone and weigh enough to the rest of their community, to parts of it.
    Parts,
}

/// What finds moves: a GPU has kernels and lists.
pub(super) struct Movers(Engine<Workspace, ()>);

impl Movers {
    /// For levels of a graph of so many arcs.
    pub fn new(r: &mut Replica, arcs: usize, refines: bool) -> Result<Movers> {
        Engine::new(r, |device| Workspace::new(device, arcs, refines), || Ok(())).map(Movers)
    }

    /// Writes the best moves of this replica's nodes in a level of so many to `best`, which is 0.
    pub fn find(
        &mut self,
        r: &Replica,
        state: &mut State,
        of: (What, Turn),
        level: (usize, f64),
    ) -> Result<()> {
        self.0.with(
            r,
            state,
            |device, workspace, state| Ok(workspace.find(device, state, of, level)),
            |(), state, beat| find(state, of, level, beat),
        )?
    }
}

/// Nodes of a task on the host.
const TASK: usize = 256;

/// The same on the host: a row a thread.
fn find(
    state: &mut State,
    of: (What, Turn),
    (nodes, factor): (usize, f64),
    beat: &(dyn Fn() + Sync),
) -> Result<()> {
    let community = if of.0 == What::Parts { &state.kept } else { &state.community };
    let rows = Rows {
        target: host(&state.target)?,
        weight: host(&state.weight)?,
        at: host(&state.at)?,
        count: host(&state.count)?,
        community: host(community)?,
        own: host(&state.own)?,
        total: host(&state.total)?,
        size: host(&state.size)?,
        active: host(&state.active)?,
        whole: host(&state.whole)?,
        of_whole: host(&state.of_whole)?,
        rest: host(&state.rest)?,
        inner: host(&state.inner)?,
        of,
        factor,
    };
    let best = state.best.host_mut().ok_or_else(elsewhere)?;
    let tasks = best[..nodes].par_chunks_mut(TASK).enumerate();
    tasks.for_each_init(Table::default, |table, (task, best)| {
        beat();
        for (i, best) in best.iter_mut().enumerate() {
            *best = rows.best((task * TASK + i) as u32, table);
        }
    });
    Ok(())
}

fn host<T: Element>(array: &Replicated<T>) -> Result<&[T]> {
    array.host().ok_or_else(elsewhere)
}

fn elsewhere() -> Error {
    Error::machine("an array of another backend; this is a bug")
}

/// The rows of a level, and what nodes and communities are known by: as `kernels/moves.cu` has them.
struct Rows<'a> {
    target: &'a [u32],
    weight: &'a [u64],
    at: &'a [u32],
    count: &'a [u32],
    /// Parts, where these are what nodes move between.
    community: &'a [u32],
    own: &'a [u64],
    total: &'a [u64],
    size: &'a [u32],
    active: &'a [u32],
    whole: &'a [u32],
    of_whole: &'a [u64],
    rest: &'a [u64],
    inner: &'a [u64],
    of: (What, Turn),
    factor: f64,
}

impl Rows<'_> {
    /// The gain of the best move of a node, above the community upside down; 0 where there is none, or the node does not move.
    fn best(&self, v: u32, table: &mut Table) -> u64 {
        let (node, turn) = (v as usize, &self.of.1);
        if self.count[node] == 0 || turn.passes(v) {
            return 0;
        }
        match self.of.0 {
            What::Communities => {
                if self.active[node] != 1 {
                    return 0;
                }
                let here = self.community[node];
                self.tally(node, table, |_| true);
                let inner = table.of(here);
                table.drain(|there, sum| self.gain(node, here, there, (sum, inner)))
            }
            What::Parts => {
                let (own, whole) = (self.own[node], self.whole[node]);
                if self.size[node] != 1
                    || is_loose(self.inner[node], own, self.of_whole[node], self.factor)
                {
                    return 0;
                }
                self.tally(node, table, |to| self.whole[to] == whole);
                table.drain(|there, sum| self.gain_in_part(own, there, sum))
            }
        }
    }

    /// Adds up what the arcs of a node to those that count weigh, by community.
    fn tally(&self, v: usize, table: &mut Table, counts: impl Fn(usize) -> bool) {
        let (first, length) = (self.at[v] as usize, self.count[v] as usize);
        table.make_room(length);
        let row = first..first + length;
        for (to, weight) in self.target[row.clone()].iter().zip(&self.weight[row]) {
            let to = *to as usize;
            if to != v && counts(to) {
                table.add(self.community[to], *weight);
            }
        }
    }

    /// Of two nodes that are alone, the higher goes to the lower.
    fn gain(&self, v: usize, here: u32, there: u32, (sum, inner): (u64, u64)) -> u64 {
        let (from, to) = (here as usize, there as usize);
        let alone = self.size[from] == 1 && self.size[to] == 1;
        if there == here || alone && there > here {
            return 0;
        }
        let own = self.own[v] as f64;
        let others = self.total[to] as f64 - self.total[from] as f64 + own;
        let gain = sum as f64 - inner as f64 - self.factor * own * others;
        if gain > 0.0 { told(gain, there) } else { 0 }
    }

    /// Parts weigh enough to the rest of their community, and no node of them is asked in this turn.
    fn gain_in_part(&self, own: u64, there: u32, sum: u64) -> u64 {
        let (part, Turn { sweep, turn, turns, .. }) = (there as usize, self.of.1);
        let total = self.total[part];
        let gain = sum as f64 - self.factor * own as f64 * total as f64;
        if sum == 0
            || gain < 0.0
            || is_loose(self.rest[part], total, self.of_whole[part], self.factor)
            || !stays(there, self.size[part], u64::from(sweep), turn, turns)
        {
            return 0;
        }
        told(gain, there)
    }
}

/// More where the gain is more, and where the community is lower.
fn told(gain: f64, community: u32) -> u64 {
    shortened(gain) << 32 | u64::from(NONE - community)
}

/// A gain of at least a unit / 1024, in 32 bits that are in its order: the place of the highest bit, and 26 bits below that.
fn shortened(gain: f64) -> u64 {
    let whole = (gain * 1024.0) as u64;
    if whole == 0 {
        return 0;
    }
    let above = whole.leading_zeros();
    u64::from(64 - above) << 26 | (whole << above << 1) >> 38
}

/// What the arcs of a row weigh by community; empty between rows.
#[derive(Default)]
struct Table {
    /// NONE, or a community.
    key: Vec<u32>,
    sum: Vec<u64>,
    /// The places that are taken.
    taken: Vec<u32>,
    /// Places are the upper bits of a product.
    shift: u32,
}

impl Table {
    /// At least half of the places stay empty with a row of so many arcs.
    fn make_room(&mut self, arcs: usize) {
        let places = (2 * arcs).next_power_of_two();
        self.shift = 64 - places.trailing_zeros();
        if self.key.len() < places {
            self.key.resize(places, NONE);
            self.sum.resize(places, 0);
        }
    }

    /// Where a community is, or would be.
    fn place(&self, community: u32) -> usize {
        let last = (1usize << (64 - self.shift)) - 1;
        let mut place = (u64::from(community).wrapping_mul(GOLDEN) >> self.shift) as usize;
        while self.key[place] != NONE && self.key[place] != community {
            place = (place + 1) & last;
        }
        place
    }

    fn add(&mut self, community: u32, weight: u64) {
        let place = self.place(community);
        if self.key[place] == NONE {
            self.key[place] = community;
            self.taken.push(place as u32);
        }
        self.sum[place] += weight;
    }

    /// What a community's arcs weigh; 0 where there are none.
    fn of(&self, community: u32) -> u64 {
        self.sum[self.place(community)]
    }

    /// Empties it; the most that `of` makes of a community and what its arcs weigh.
    fn drain(&mut self, of: impl Fn(u32, u64) -> u64) -> u64 {
        let Table { key, sum, taken, .. } = self;
        let mut most = 0;
        for place in taken.drain(..) {
            let place = place as usize;
            most = most.max(of(key[place], sum[place]));
            (key[place], sum[place]) = (NONE, 0);
        }
        most
    }
}

/// No community.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_gains_are_in_order() {
        let mut last = 0;
        for gain in [0.0005, 0.001, 0.5, 1.0, 1.5, 2.0, 3.0, 1000.0, 1000.5, 1e6, 2.0_f64.powi(42)]
        {
            let short = shortened(gain);
            assert!(short >= last && short < 1 << 32, "{gain}: {short}");
            last = short;
        }
        assert_eq!(shortened(0.0005), 0);
        assert!(shortened(1000.0) < shortened(1000.5));
    }

    #[test]
    fn tables_add_up_rows_of_any_length_one_after_another() {
        let mut table = Table::default();
        for (length, communities) in [(1, 1), (3000, 2999), (2, 2), (70, 3), (5, 5)] {
            table.make_room(length);
            (0..length).for_each(|arc| table.add((arc % communities * 7) as u32, arc as u64));
            assert_eq!(table.of(1), 0, "nothing leads there");
            let all = |community: u32, sum: u64| {
                let own = (0..length as u64)
                    .filter(|arc| arc % communities as u64 == u64::from(community) / 7);
                assert_eq!(sum, own.sum::<u64>(), "{length} arcs, community {community}");
                u64::from(community)
            };
            assert_eq!(table.drain(all), 7 * (communities as u64 - 1));
        }
    }
}
