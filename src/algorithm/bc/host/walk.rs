//! Levels of few nodes of one source, on host threads. One thread begins; where many levels follow each other, as on roads, a team
//! of threads walks on. Rows are read once in each phase: forward, a row tells the node's number of paths and which nodes are next.

use super::{ALONE, Lanes, MOST_PATHS, UNSEEN, entry, node};
use crate::collective::{Element, atomics, cells};
use crate::layout::{ColumnRows, Columns, RowView};
use crate::team::{self, Lists, Member, Stretch};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Nodes of a level that are worth a member of the team.
const WORTH: usize = 64;

/// Whether a level is one thread's, or a team's.
fn is_narrow(nodes: usize, arcs: [u64; 2]) -> bool {
    nodes <= ALONE[0] && arcs.iter().all(|arcs| *arcs <= ALONE[1] as u64)
}

impl Lanes {
    /// Whether the last level, with so many nodes, is one to walk from.
    pub(super) fn walks(&self, nodes: usize) -> bool {
        self.lanes == 1 && is_narrow(nodes, [self.arcs, self.closed])
    }

    /// Finds level after level from the last one, whose list is the last of `first`, while they are narrow. Returns arcs looked
    /// at, and whether the last level leads nowhere.
    pub(super) fn walk(
        &mut self,
        p: &Columns,
        first: &mut Vec<usize>,
        beat: &(dyn Fn() + Sync),
    ) -> (u64, bool) {
        let begin = first.len() as u32 - 2;
        let last = &self.entries[first[begin as usize]..];
        let mut list: Vec<u32> = last.iter().map(|e| node(*e) as u32).collect();
        let walk = Walk {
            out: p.out.view(),
            into: p.into.as_ref().map(ColumnRows::view),
            level: atomics(&mut self.level),
            seen: atomics(&mut self.seen),
            sigma: cells(&mut self.sigma),
            begin,
            found: Mutex::new((&mut self.entries, first)),
            beyond: AtomicBool::new(false),
        };
        let mut known =
            Known { level: begin, nodes: list.len(), arcs: [self.arcs, self.closed], all: [0; 3] };
        while known.goes_on() {
            let levels = |now: &Known, since: u32| (now.level - since) as usize;
            let first = known;
            let stretch = Stretch::new(levels(&first, begin), first.nodes, WORTH);
            let stays =
                |now: &Known| now.goes_on() && stretch.lasts(levels(now, first.level), now.nodes);
            let lists = Lists::new(stretch.members, p.active.min(ALONE[1]), &list);
            known = team::run(stretch.members, |member| {
                walk.levels(member, &lists, first, stays, beat)
            });
            list.clear();
            lists.at(levels(&known, first.level))[0].read(0..known.nodes, &mut list);
        }
        let beyond = walk.beyond.into_inner();
        let (looked, [nodes, out, into]) = (self.arcs + known.all[1] - known.arcs[0], known.all);
        self.reached[0] += nodes;
        self.done.reached += nodes;
        self.done.reached_arcs += out;
        self.open -= into;
        [self.arcs, self.closed] = known.arcs;
        if beyond {
            self.done.overflow.get_or_insert(0);
        }
        if known.nodes > 0 {
            // What the next step takes from here has its numbers of paths.
            let wanted = &self.entries[first[first.len() - 2]..];
            let (into, arcs) = (p.in_rows().view(), self.closed);
            let (wanted, sums) = self.pull(into, &self.sigma, (wanted, arcs), false, beat);
            for (e, sum) in wanted.into_iter().zip(sums) {
                self.sigma[node(e)] = sum;
                if sum > MOST_PATHS {
                    self.done.overflow.get_or_insert(0);
                }
            }
        }
        (looked, known.nodes == 0)
    }

    /// Coefficients and dependencies of `levels`, of one lane, from the highest to the lowest; those of the level after them are
    /// there. List k is from `first[k]` to `first[k + 1]`. Returns arcs looked at.
    pub(super) fn walk_back(
        &mut self,
        p: &Columns,
        first: &[usize],
        levels: RangeInclusive<usize>,
        beat: &(dyn Fn() + Sync),
    ) -> u64 {
        let out = p.out.view();
        let (level, sigma, entries) = (&self.level, &self.sigma, &self.entries);
        let targets = &self.targets;
        let (delta, coef) = (cells(&mut self.delta), cells(&mut self.coef));
        let looked = AtomicU64::new(0);
        let count = levels.end() + 1 - levels.start();
        let nodes = first[levels.end() + 1] - first[*levels.start()];
        let stretch = Stretch::new(count, nodes / count, WORTH);
        team::run(stretch.members, |member| {
            let mut own = 0;
            for at in levels.clone().rev() {
                if member.is_first() {
                    beat();
                }
                let list = &entries[first[at]..first[at + 1]];
                for v in list[member.part(list.len(), WORTH)].iter().map(|e| node(*e)) {
                    let row = out.row(v);
                    own += row.len() as u64;
                    let after = row.iter().filter(|w| level[**w as usize] == at as u32 + 1);
                    let sum: f64 = after.map(|w| f64::load(&coef[*w as usize])).sum();
                    let dependency = sigma[v] * sum;
                    delta[v].store(dependency.to_bits(), Relaxed);
                    let end = targets.count(v);
                    coef[v].store(((end + dependency) / sigma[v]).to_bits(), Relaxed);
                }
                member.meet();
            }
            looked.fetch_add(own, Relaxed);
        });
        looked.into_inner()
    }
}

/// What is known of a level.
#[derive(Clone, Copy)]
struct Known {
    level: u32,
    nodes: usize,
    /// Arcs out of its nodes, and into them.
    arcs: [u64; 2],
    /// All nodes that the walk has found, arcs out of them, and into them.
    all: [u64; 3],
}

impl Known {
    fn goes_on(&self) -> bool {
        self.nodes > 0 && is_narrow(self.nodes, self.arcs)
    }
}

/// What those who walk share.
struct Walk<'a> {
    out: RowView<'a>,
    /// Where they are others.
    into: Option<RowView<'a>>,
    level: &'a [AtomicU32],
    seen: &'a [AtomicU32],
    sigma: &'a [AtomicU64],
    /// The first level, whose numbers of paths are there.
    begin: u32,
    /// The lists of all levels, and where they end.
    found: Mutex<(&'a mut Vec<u64>, &'a mut Vec<usize>)>,
    /// A node has more paths than can be counted.
    beyond: AtomicBool,
}

impl Walk<'_> {
    /// Walks from the `first` level, whose list is the first, while it `stays`. `lists` sum up arcs out of nodes, and into them.
    fn levels(
        &self,
        member: &Member<'_>,
        lists: &Lists<2>,
        first: Known,
        stays: impl Fn(&Known) -> bool,
        beat: &(dyn Fn() + Sync),
    ) -> Known {
        let (mut known, mut own, mut found) = (first, Vec::new(), Vec::new());
        while stays(&known) {
            let [list, next] = lists.at((known.level - first.level) as usize);
            if member.is_first() {
                beat();
            }
            own.clear();
            list.read(member.part(known.nodes, WORTH), &mut own);
            for u in &own {
                self.look(*u as usize, known.level, member.is_alone(), &mut found);
            }
            let mut arcs = [0, 0];
            for v in found.iter().map(|v| *v as usize) {
                self.seen[v].store(1, Relaxed);
                let own = self.out.row(v).len();
                arcs[0] += own as u64;
                arcs[1] += self.into.map_or(own, |into| into.row(v).len()) as u64;
            }
            next.fill(member, found.drain(..), arcs);
            member.meet();
            let (nodes, arcs) = (next.len(), next.sums());
            let all = [nodes as u64, arcs[0], arcs[1]];
            let all = std::array::from_fn(|i| known.all[i] + all[i]);
            known = Known { level: known.level + 1, nodes, arcs, all };
            if member.is_first() && nodes > 0 {
                own.clear();
                next.read(0..nodes, &mut own);
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.0.extend(own.iter().map(|v| entry(*v as usize, 1)));
                let end = found.0.len();
                found.1.push(end);
            }
        }
        known
    }

    /// The number of paths to node u of this level, and those of the next that are found first here.
    fn look(&self, u: usize, level: u32, alone: bool, found: &mut Vec<u32>) {
        let (mut paths, before) = (0.0f64, level.wrapping_sub(1));
        let mut count = |held: u32, w: usize| {
            if held == before {
                paths += f64::load(&self.sigma[w]);
            }
        };
        for w in self.out.row(u) {
            let slot = &self.level[*w as usize];
            let held = slot.load(Relaxed);
            if held != UNSEEN {
                if self.into.is_none() {
                    count(held, *w as usize);
                }
            } else if alone {
                slot.store(level + 1, Relaxed);
                found.push(*w);
            } else if slot.compare_exchange(UNSEEN, level + 1, Relaxed, Relaxed).is_ok() {
                found.push(*w);
            }
        }
        for w in self.into.iter().flat_map(|into| into.row(u)).map(|w| *w as usize) {
            count(self.level[w].load(Relaxed), w);
        }
        if level == self.begin {
            return;
        }
        self.sigma[u].store(paths.to_bits(), Relaxed);
        if paths > MOST_PATHS {
            self.beyond.store(true, Relaxed);
        }
    }
}
