//! Levels of few nodes on host threads. The frontier is a list, so that a level costs what it holds. One thread begins; where many
//! levels follow each other, as on roads, a team of threads walks on.

use super::UNREACHED;
use super::host::{SERIAL_ARCS, after};
use super::plan::{FrontierInfo, State, StepResult};
use crate::collective::{atomic_words, atomics};
use crate::layout::{RowView, TopologyRows};
use crate::team::{self, Lists, Member, Stretch};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Nodes of a level that are worth a member of the team.
const WORTH: usize = 128;

/// Walks level after level from `known` while these are `narrow`, and adds to what was `found` before.
pub(super) fn walk(
    rows: &TopologyRows,
    s: &mut State,
    visited: &mut [u64],
    (known, mut found): (&mut FrontierInfo, StepResult),
    narrow: impl Fn(&FrontierInfo) -> bool + Sync,
    beat: &(dyn Fn() + Sync),
) -> StepResult {
    let front = s.front.words_mut().host_mut().unwrap_or_default();
    let words = front.iter_mut().enumerate().filter(|(_, word)| **word != 0);
    let mut list: Vec<u32> = words.flat_map(|(i, word)| bits(i, std::mem::take(word))).collect();
    let walk = Walk {
        out: rows.columns.out.view(),
        level: atomics(s.level.host_mut().unwrap_or_default()),
    };
    let room = rows.columns.active.min(SERIAL_ARCS as usize);
    let (begin, mut teamed) = (*known, false);
    while narrow(known) {
        let first = *known;
        let walked = (first.depth - begin.depth) as usize;
        let stretch = Stretch::new(walked, first.nodes as usize, WORTH);
        let stays = |now: &FrontierInfo| {
            let levels = (now.depth - first.depth) as usize;
            narrow(now) && stretch.lasts(levels, now.nodes as usize)
        };
        let seen = if stretch.members > 1 { None } else { Some(atomic_words(visited)) };
        teamed |= seen.is_none();
        let lists = Lists::new(stretch.members, room, &list);
        let last = team::run(stretch.members, |member| {
            walk.levels(member, &lists, first, stays, seen, beat)
        });
        (*known, found.looked) = (last.0, found.looked + last.1);
        list.clear();
        lists.at((known.depth - first.depth) as usize)[0].read(0..known.nodes as usize, &mut list);
    }
    // A team leaves that to the end, as its members would write the same words.
    if teamed {
        let levels = walk.level[..rows.columns.active].par_chunks(64);
        visited.par_iter_mut().zip(levels).for_each(|(word, levels)| {
            let reached = |level: &AtomicU32| u64::from(level.load(Relaxed) != UNREACHED);
            *word = levels.iter().rev().fold(0, |word, level| word << 1 | reached(level));
        });
    }
    for v in list {
        front[v as usize / 64] |= 1 << (v % 64);
    }
    found.rounds += u64::from(known.depth - begin.depth);
    found.reached += known.reached - begin.reached;
    found
}

/// The nodes of word `i` of a bitmap.
fn bits(i: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            (i * 64) as u32 + lowest
        })
    })
}

/// What those who walk share.
struct Walk<'a> {
    out: RowView<'a>,
    level: &'a [AtomicU32],
}

impl Walk<'_> {
    /// Walks from `known`, whose list is the first, while it `stays`. What is known in the end, and arcs looked at. `lists` sum up
    /// arcs out of nodes.
    fn levels(
        &self,
        member: &Member<'_>,
        lists: &Lists<1>,
        first: FrontierInfo,
        stays: impl Fn(&FrontierInfo) -> bool,
        seen: Option<&[AtomicU64]>,
        beat: &(dyn Fn() + Sync),
    ) -> (FrontierInfo, u64) {
        let (mut own, mut heads, mut found) = (Vec::new(), Vec::new(), Vec::new());
        let (mut known, mut looked) = (first, 0);
        while stays(&known) {
            let [list, next] = lists.at((known.depth - first.depth) as usize);
            if member.is_first() {
                beat();
            }
            own.clear();
            list.read(member.part(known.nodes as usize, WORTH), &mut own);
            let arcs = own.iter().map(|u| self.out.row(*u as usize).len()).sum();
            self.out.gather(&own, arcs, &mut heads);
            found.resize(found.len().max(arcs + 1), 0);
            let nodes = self.claim(&heads, known.depth + 1, &mut found, member.is_alone());
            let nodes = &found[..nodes];
            for (word, bit) in nodes.iter().map(|v| (*v as usize / 64, 1u64 << (v % 64))) {
                if let Some(seen) = seen {
                    seen[word].store(seen[word].load(Relaxed) | bit, Relaxed);
                }
            }
            let arcs = nodes.iter().map(|v| self.out.row(*v as usize).len() as u64).sum();
            next.fill(member, nodes.iter().copied(), [arcs]);
            member.meet();
            looked += known.arcs.unwrap_or_default();
            let ([arcs], nodes) = (next.sums(), next.len() as u64);
            known = after(&known, nodes, arcs, false);
        }
        (known, looked)
    }

    /// Puts those of `heads` that have no level into `found`, which has room for one more, and gives them this one; how many they
    /// are. Every head is written down, and overwritten if it is not new: without a branch.
    fn claim(&self, heads: &[u32], depth: u32, found: &mut [u32], alone: bool) -> usize {
        let mut count = 0;
        for v in heads {
            let slot = &self.level[*v as usize];
            let held = slot.load(Relaxed);
            found[count] = *v;
            count += usize::from(held > depth);
            if alone {
                slot.store(held.min(depth), Relaxed);
            }
        }
        if alone {
            return count;
        }
        let mut own = 0;
        for i in 0..count {
            let v = found[i];
            found[own] = v;
            own += usize::from(self.level[v as usize].swap(depth, Relaxed) > depth);
        }
        own
    }
}
