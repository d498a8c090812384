//! What is counted, and how it is dealt.

use super::measure::Measure;
use crate::collective::{Shares, Split};
use crate::error::Result;
use crate::layout::TopologyRows;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a pair of an answer takes on its way from the replicas, at most: labels and values, thrice.
pub(in crate::algorithm) const BYTES: u64 = 3 * 12;

/// What is kept of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::algorithm) enum Keep {
    /// So many pairs of the highest values; of equal ones those of the lowest input ids.
    Best(usize),
    /// All pairs of at least this value, with nodes of higher input ids.
    Least(f64),
}

/// The graph, and what a common neighbour adds.
pub(super) struct Plan {
    pub rows: Arc<TopologyRows>,
    pub measure: Measure,
    /// `[active]` neighbours.
    pub degree: Vec<u32>,
    /// `[active]` places by input id.
    pub name: Vec<u32>,
    /// `[active]` what each adds, in units; empty: one.
    pub weight: Vec<u64>,
    /// What a count of one is worth.
    pub unit: f64,
    /// Whether rows may hold their own nodes.
    pub loops: bool,
}

impl Plan {
    pub fn new(rows: Arc<TopologyRows>, measure: Measure) -> Result<Plan> {
        rows.columns.load()?;
        let (columns, active) = (&*rows.columns, rows.columns.active);
        crate::memory::room("degrees and weights of nodes", 24 * active as u64)?;
        let loops = rows.graph.origin.self_loops > 0;
        let degrees = |rows: &crate::layout::ColumnRows| -> Vec<u32> {
            let own = |v: usize| loops && rows.row(v).binary_search(&(v as u32)).is_ok();
            let degree = |v: usize| rows.degree(v) as u32 - u32::from(own(v));
            (0..active).into_par_iter().map(degree).collect()
        };
        let degree = degrees(&columns.out);
        let name = |label: u32| rows.graph.rank(columns.node(label));
        let name: Vec<u32> = (0..active as u32).into_par_iter().map(name).collect();
        let (mut weight, mut unit) = (Vec::new(), 1.0);
        if measure.weighs() {
            let into = columns.into.as_ref().map(degrees);
            let into = into.as_ref().unwrap_or(&degree);
            let most = degree.par_iter().copied().max().unwrap_or(0).max(1);
            // 1 / ln 2 is below 2, and no row adds more than its length of them.
            let bits = 62 - (32 - most.leading_zeros()) as i32;
            unit = 2f64.powi(-bits);
            // A node that is a neighbour of one alone is common to no two. It has a weight, so that counts of 0 are of no wedge.
            let part = |of: &u32| match of {
                0 | 1 => 1,
                many => (2f64.powi(bits) / f64::from(*many).ln()).round() as u64,
            };
            weight = into.par_iter().map(part).collect();
        }
        Ok(Plan { rows, measure, degree, name, weight, unit, loops })
    }

    pub fn active(&self) -> usize {
        self.degree.len()
    }

    /// Wedges of a row, those back to its own node among them.
    pub fn wedges(&self, label: u32) -> u64 {
        let columns = &self.rows.columns;
        match self.degree.get(label as usize) {
            Some(1..) => {
                let row = columns.out.row(label as usize).iter().filter(|w| **w != label);
                row.map(|w| columns.in_rows().degree(*w as usize)).sum()
            }
            _ => 0,
        }
    }

    /// The value of a pair, from a count in units.
    pub fn value(&self, common: u64, one: u32, other: u32) -> f64 {
        let degree = |label: u32| self.degree[label as usize];
        self.measure.value(self.unit, common, degree(one), degree(other))
    }
}

/// Wedges from which a row takes a tile for each of the nodes.
pub(super) const FEW: u64 = crate::device::kernels::common::WEDGES as u64;
/// Nodes of a tile that are looked at in the time of a wedge.
const LOOKS: u64 = 8;

/// The rows that are asked for, and what each costs.
pub(super) struct Rows {
    /// Labels.
    pub labels: Vec<u32>,
    /// Wedges of each.
    pub wedges: Vec<u64>,
    pub keep: Keep,
    /// What each replica counts, if they are dealt.
    cut: Option<Split>,
}

impl Rows {
    pub fn new(plan: &Plan, labels: Vec<u32>, keep: Keep, shares: Option<&Shares>) -> Rows {
        let wedges: Vec<u64> = labels.par_iter().map(|label| plan.wedges(*label)).collect();
        let cut = shares.map(|shares| {
            let mut before = Vec::with_capacity(labels.len() + 1);
            let mut total = 0u64;
            before.push(0);
            for wedges in &wedges {
                total += wedges + if *wedges > FEW { plan.active() as u64 / LOOKS } else { 1 };
                before.push(total);
            }
            Split::by_weight(labels.len() as u64, shares, 1, total, |at| before[at as usize])
        });
        Rows { labels, wedges, keep, cut }
    }

    /// What a replica counts.
    pub fn own(&self, rank: usize) -> Range<usize> {
        match &self.cut {
            Some(cut) => cut.range(rank).start as usize..cut.range(rank).end as usize,
            None => 0..self.labels.len(),
        }
    }

    /// The rows of a replica that have wedges, by number from its first one, those of most wedges first.
    pub fn turns(&self, own: &Range<usize>) -> Vec<u32> {
        let wedges = &self.wedges[own.clone()];
        let mut turns: Vec<u32> =
            (0..own.len() as u32).filter(|at| wedges[*at as usize] > 0).collect();
        turns.par_sort_unstable_by_key(|at| (std::cmp::Reverse(wedges[*at as usize]), *at));
        turns
    }
}

/// Wedges of a batch, unless one row has more.
const BATCH: u64 = 1 << 36;

/// Cuts turns into batches of rows: each of rows alone that have few wedges, or alone that have many, and whose `room` together is at most
/// so much, unless one row takes more.
pub(super) fn batches(
    turns: Range<usize>,
    wedges: impl Fn(usize) -> u64,
    room: impl Fn(usize) -> u64,
    most: u64,
) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut first, mut sum, mut taken) = (turns.start, 0u64, 0u64);
    for turn in turns.clone() {
        let (more, place) = (wedges(turn), room(turn));
        let other = turn > first && (more <= FEW) != (wedges(first) <= FEW);
        if turn > first && (other || sum + more > BATCH || taken + place > most) {
            all.push(first..turn);
            (first, sum, taken) = (turn, 0, 0);
        }
        sum += more;
        taken += place;
    }
    if first < turns.end {
        all.push(first..turns.end);
    }
    all
}

/// What is kept of a batch of rows.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Pairs of each row.
    pub counts: Vec<u32>,
    /// The labels of one row after the other.
    pub others: Vec<u32>,
    pub values: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_fit_and_have_rows_of_one_kind() {
        let wedges = [9 * FEW, 2 * FEW, 2 * FEW, FEW, 3, 1];
        let room = [5, 1, 4, 4, 2, 2];
        let cut = |most| batches(0..6, |at| wedges[at], |at| room[at], most);
        assert_eq!(cut(u64::MAX), [0..3, 3..6]);
        assert_eq!(cut(6), [0..2, 2..3, 3..5, 5..6]);
        // A row that is larger than a batch has one of its own.
        assert_eq!(cut(1), [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(batches(4..4, |_| 1, |_| 1, 1), []);
        let long = [BATCH, 1 << 20, 1 << 20];
        assert_eq!(batches(0..3, |at| long[at], |_| 0, 9), [0..1, 1..3]);
    }
}
