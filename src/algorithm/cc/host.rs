//! The steps of connected components on host threads.

use super::StepResult;
use crate::collective::atomics;
use crate::hash::hash;
use crate::layout::TopologyRows;
use crate::team::{self, Member};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Nodes of one task.
const TASK: usize = 1 << 12;
/// Nodes that are asked which tree is the largest.
const VOTERS: u64 = 1 << 10;
/// Arcs of each node that join trees before the largest is looked for.
const SAMPLED: usize = 2;

type Beat<'a> = &'a (dyn Fn() + Sync);

/// Joins the trees of `u` and `v`: hooks the larger root under the smaller.
fn link(comp: &[AtomicU32], u: u32, v: u32) {
    let at = |v: u32| comp[v as usize].load(Relaxed);
    let (mut p, mut q) = (at(u), at(v));
    while p != q {
        let (high, low) = (p.max(q), p.min(q));
        // Most are hooked already: to look first keeps their lines in the caches of all cores.
        let mut above = at(high);
        if above == high {
            match comp[high as usize].compare_exchange(high, low, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => above = now,
            }
        }
        if above == low {
            return;
        }
        // Whoever walks here next is there sooner.
        let further = at(above);
        if further != above {
            comp[high as usize].store(further, Relaxed);
        }
        (p, q) = (further, at(low));
    }
}

/// What a member of a team does for all nodes, a phase after another; every member calls the same.
struct Forest<'a> {
    comp: &'a [AtomicU32],
    member: &'a Member<'a>,
    beat: Beat<'a>,
}

/// Does `work` on a team, whose members' arcs are added up.
fn on_team(comp: &[AtomicU32], beat: Beat<'_>, work: impl Fn(&Forest<'_>) -> u64 + Sync) -> u64 {
    let members = if comp.len() < 2 * TASK { 1 } else { team::size(usize::MAX) };
    let arcs = AtomicU64::new(0);
    team::run_open(members, |member| {
        arcs.fetch_add(work(&Forest { comp, member, beat }), Relaxed);
    });
    arcs.into_inner()
}

impl Forest<'_> {
    /// Does `work` for parts of so many nodes, and meets the others.
    fn deal(&self, nodes: usize, mut work: impl FnMut(Range<usize>)) {
        self.member.deal(nodes, TASK, |part| {
            (self.beat)();
            work(part);
        });
        self.member.meet();
    }

    /// Does `node` for all of `chunk`, which adds up arcs. It is to own the slices that it reads: one that it refers to would be
    /// looked up again for every arc.
    fn over(&self, chunk: Range<usize>, node: impl Fn(usize) -> u64) -> u64 {
        let mut arcs = 0;
        self.deal(chunk.len(), |part| {
            arcs += (chunk.start + part.start..chunk.start + part.end).map(&node).sum::<u64>();
        });
        arcs
    }

    /// Every node a tree of its own.
    fn scatter(&self) {
        let comp = self.comp;
        self.deal(comp.len(), move |part| {
            let slots = part.clone().zip(&comp[part]);
            slots.for_each(|(v, slot)| slot.store(v as u32, Relaxed));
        });
    }

    /// Points every node to its root.
    fn compress(&self) {
        let comp = self.comp;
        self.deal(comp.len(), move |part| {
            for slot in &comp[part] {
                let first = slot.load(Relaxed);
                let mut root = first;
                loop {
                    let above = comp[root as usize].load(Relaxed);
                    if above == root {
                        break;
                    }
                    root = above;
                }
                if root != first {
                    slot.store(root, Relaxed);
                }
            }
        });
    }
}

/// Joins `v` with the nodes of `row`.
fn link_row(comp: &[AtomicU32], v: usize, row: &[u32]) -> u64 {
    row.iter().for_each(|u| link(comp, v as u32, *u));
    row.len() as u64
}

/// Joins over the out-arcs of `chunk`, and keeps a copy, since the merge that follows forgets some.
pub(super) fn hook(
    rows: &TopologyRows,
    comp: &mut [u32],
    old: &mut Vec<u32>,
    chunk: Range<usize>,
    beat: Beat<'_>,
) -> StepResult {
    let arcs = on_team(atomics(comp), beat, |forest| {
        let (comp, out) = (forest.comp, rows.columns.out.view());
        forest.scatter();
        let arcs = forest.over(chunk.clone(), move |v| link_row(comp, v, out.row(v)));
        forest.compress();
        arcs
    });
    old.clear();
    old.extend_from_slice(comp);
    StepResult { arcs, rounds: 1, ..StepResult::default() }
}

/// Everything: joins over the first arcs of each node, and then over all arcs of the nodes that are not in the largest tree.
/// What an arc joins with that tree has the arc in a row of its own.
pub(super) fn whole(rows: &TopologyRows, comp: &mut [u32], beat: Beat<'_>) -> StepResult {
    let chosen = AtomicU32::new(0);
    let arcs = on_team(atomics(comp), beat, |forest| {
        let (comp, out) = (forest.comp, rows.columns.out.view());
        let into = rows.columns.into.as_ref().map(|into| into.view());
        let all = 0..comp.len();
        let mut arcs = 0;
        forest.scatter();
        for k in 0..SAMPLED {
            arcs += forest.over(all.clone(), move |v| {
                let row = out.row(v);
                link_row(comp, v, &row[row.len().min(k)..row.len().min(k + 1)])
            });
            forest.compress();
        }
        if forest.member.is_first() {
            chosen.store(largest(comp), Relaxed);
        }
        forest.member.meet();
        let largest = chosen.load(Relaxed);
        arcs += forest.over(all, move |v| {
            // The root of the largest tree may be hooked meanwhile; its nodes are known by their pointers.
            if comp[v].load(Relaxed) == largest {
                return 0;
            }
            let row = out.row(v);
            let arcs = link_row(comp, v, &row[row.len().min(SAMPLED)..]);
            arcs + into.map_or(0, |into| link_row(comp, v, into.row(v)))
        });
        forest.compress();
        arcs
    });
    StepResult { arcs, rounds: SAMPLED as u64 + 1, ..StepResult::default() }
}

/// The root that most of some nodes have; all point to their roots.
fn largest(comp: &[AtomicU32]) -> u32 {
    let asked = if comp.is_empty() { 0 } else { VOTERS };
    let vote = |i| comp[(hash(0, i) % comp.len() as u64) as usize].load(Relaxed);
    let mut votes: Vec<u32> = (0..asked).map(vote).collect();
    votes.sort_unstable();
    let most = votes.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
    most.map_or(0, |same| same[0])
}

/// Joins every node with its own parent from before the merge, which `old` holds.
pub(super) fn rehook(comp: &mut [u32], old: &mut [u32], beat: Beat<'_>) -> StepResult {
    let merged = comp.to_vec();
    on_team(atomics(comp), beat, |forest| {
        let (comp, old) = (forest.comp, &*old);
        let arcs = forest.over(0..old.len(), move |v| link_row(comp, v, &old[v..v + 1]));
        forest.compress();
        arcs
    });
    old.copy_from_slice(comp);
    let changed = old.iter().zip(&merged).filter(|(now, said)| now != said).count() as u64;
    StepResult { changed, rounds: 1, ..StepResult::default() }
}
