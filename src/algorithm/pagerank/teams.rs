//! Who goes through which segments: multiprocessors in teams.
//!
//! Filling shared memory with a segment costs a multiprocessor the same whatever rows it has, so that where all go
//! through all segments that part of an iteration does not shrink with more GPUs (R-MAT 24 on one, two, four H200s: 1.38,
//! 0.92, 0.75 ms). A team has some of the segments and all rows of its GPU, and sums of its own, which are added at
//! last (on four: 0.44 ms).
//!
//! How many teams there are and where segments are cut follows from the graph alone, since the bits of a sum do; how many
//! multiprocessors each has follows from the GPU and its rows.

use crate::layout::memory::SEGMENT_TEAMS;
use std::ops::Range;

/// Teams at most; as in kernels/pagerank_hubs.cu.
pub(super) const MOST_TEAMS: usize = 8;

/// Teams of graphs of so many segments; others have one. R-MAT 24 (46 segments) on one and two H200s, ms an iteration, with one
/// to five teams: 1.39, 1.36, 1.43, 1.39, 1.46 and 1.01, 0.88, 0.81, 0.83, 0.86 (variants-668174d); each of four has
/// fewer rows, and gains by more teams. R-MAT 22 (6) takes 9 % longer with three on one.
const TEAMS: usize = SEGMENT_TEAMS;
const TEAMS_FROM: usize = 16;

/// What filling a segment takes a multiprocessor, with the wait for the last group before it, in ps, and what an arc and a run
/// take a GPU whose multiprocessors are all at work, in fs: as blocks were clocked by segments (R-MAT 24, one H200;
/// `timeline-*.txt` of variants-668174d).
const FILL_PS: u64 = 6_000_000;
const ARC_FS: u64 = 800;
const RUN_FS: u64 = 5_500;

/// What arcs of a segment in so many runs take a GPU, in ps, filling apart.
pub(super) fn load_ps(arcs: u64, runs: u64) -> u64 {
    (arcs * ARC_FS + runs * RUN_FS) / 1000
}

/// Whom segments are cut for: one of four H200s, which has a quarter of the row blocks.
const NOMINAL: Gpu = Gpu { multiprocessors: 132, blocks: 264, sharers: 4 };

/// A GPU, and its part of the rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gpu {
    pub multiprocessors: u32,
    /// Row blocks, dealt whole.
    pub blocks: u64,
    /// How many GPUs share the rows.
    pub sharers: u64,
}

/// Segments in order, divided among teams.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Teams {
    /// `[teams + 1]` first segment of each.
    cut: Vec<usize>,
    /// `[teams + 1]` multiprocessors before each.
    before: Vec<u64>,
}

/// What a GPU would have to do.
struct Work {
    /// `[segments + 1]` what the segments before each take the whole GPU, in ps, filling apart.
    before: Vec<u64>,
    multiprocessors: u64,
    blocks: u64,
}

impl Work {
    fn new(load_ps: &[u64], gpu: Gpu) -> Work {
        let mut before = vec![0];
        for ps in load_ps {
            before.push(before[before.len() - 1] + ps / gpu.sharers);
        }
        Work { before, multiprocessors: gpu.multiprocessors.into(), blocks: gpu.blocks }
    }

    /// Multiprocessors that go through these segments in `limit` ps; `None`: no number does.
    fn needed(&self, segments: Range<usize>, limit: u64) -> Option<u64> {
        let left = limit.checked_sub(FILL_PS * segments.len() as u64)?;
        let all = (self.before[segments.end] - self.before[segments.start]) * self.multiprocessors;
        // Blocks that one multiprocessor can do.
        let each = (left * self.blocks).checked_div(all).unwrap_or(self.blocks).min(self.blocks);
        (each > 0).then(|| self.blocks.div_ceil(each))
    }

    /// The cut for `teams` teams with which `limit` ps need fewest multiprocessors, where there are enough of them.
    fn cut(&self, teams: usize, limit: u64) -> Option<Vec<usize>> {
        let segments = self.before.len() - 1;
        // least[t][s]: of t teams for the first s segments, and where the last of them begins.
        let mut least = vec![vec![None; segments + 1]; teams + 1];
        least[0][0] = Some((0u64, 0usize));
        for t in 1..=teams {
            for s in t..=segments {
                let one = |from: usize| {
                    let (others, _) = least[t - 1][from]?;
                    Some((others + self.needed(from..s, limit)?, from))
                };
                least[t][s] = (t - 1..s).filter_map(one).min();
            }
        }
        least[teams][segments].filter(|(needed, _)| *needed <= self.multiprocessors)?;
        let mut cut = vec![segments];
        for t in (1..=teams).rev() {
            let (_, from) = least[t][cut[cut.len() - 1]]?;
            cut.push(from);
        }
        cut.reverse();
        Some(cut)
    }

    /// What each team of a cut needs to be through in `limit` ps, where there are enough of them.
    fn members(&self, cut: &[usize], limit: u64) -> Option<Vec<u64>> {
        let needed = cut.windows(2).map(|pair| self.needed(pair[0]..pair[1], limit));
        let needed: Vec<u64> = needed.collect::<Option<_>>()?;
        (needed.iter().sum::<u64>() <= self.multiprocessors).then_some(needed)
    }
}

/// What comes of the shortest time in which something can be done, to a hundredth of a filling.
fn fastest<T>(done: impl Fn(u64) -> Option<T>) -> Option<T> {
    let (mut low, mut high) = (0, FILL_PS);
    let mut found = loop {
        match done(high) {
            Some(found) => break found,
            None if high > 1 << 50 => return None,
            None => (low, high) = (high, high * 2),
        }
    };
    while high - low > FILL_PS / 100 {
        let middle = low + (high - low) / 2;
        match done(middle) {
            Some(better) => (high, found) = (middle, better),
            None => low = middle,
        }
    }
    Some(found)
}

impl Teams {
    /// Teams of a GPU; `asked` says how many, else the graph does. `load_ps`: what each segment takes a GPU that has all
    /// rows, in ps, filling apart.
    pub fn new(load_ps: &[u64], asked: Option<usize>, gpu: Gpu) -> Teams {
        let segments = load_ps.len();
        let teams = asked.unwrap_or(if segments < TEAMS_FROM { 1 } else { TEAMS });
        let teams = teams.clamp(1, MOST_TEAMS).min(segments.max(1));
        let nominal = Work::new(load_ps, NOMINAL);
        let cut = match segments {
            0 => None,
            _ => fastest(|limit| nominal.cut(teams, limit)),
        };
        let cut = cut.unwrap_or_else(|| vec![0, segments]);
        let own = Work::new(load_ps, gpu);
        let members = fastest(|limit| own.members(&cut, limit));
        // Too few for the teams: blocks() has all do all.
        let members = members.unwrap_or_else(|| vec![0; cut.len() - 1]);
        let mut before = vec![0];
        for team in members {
            before.push(before[before.len() - 1] + team);
        }
        Teams { cut, before }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.cut.len() - 1
    }

    /// `[teams + 1]` first segment of each.
    pub fn cut(&self) -> &[usize] {
        &self.cut
    }

    /// The blocks of each team, in a grid of so many.
    pub fn blocks(&self, grid: u32) -> Vec<Range<u32>> {
        let all = self.before[self.count()].max(1);
        let place = |before: u64| (before * u64::from(grid) / all) as u32;
        let ranges = self.before.windows(2).map(|pair| place(pair[0])..place(pair[1]));
        let ranges: Vec<Range<u32>> = ranges.collect();
        // On too few blocks all of them do all.
        match ranges.iter().any(Range::is_empty) {
            true => vec![0..grid; self.count()],
            false => ranges,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(sharers: u64) -> Gpu {
        Gpu { multiprocessors: 132, blocks: 1056 / sharers, sharers }
    }

    fn falling() -> Vec<u64> {
        (0..46).map(|s| 680_000_000 / (s + 1)).collect()
    }

    #[test]
    fn every_segment_has_one_team_and_every_team_blocks() {
        for asked in [None, Some(1), Some(3), Some(8), Some(20)] {
            let teams = Teams::new(&falling(), asked, gpu(4));
            let cut = teams.cut();
            assert_eq!((cut[0], cut[cut.len() - 1]), (0, 46), "{asked:?}");
            assert!(cut.windows(2).all(|pair| pair[0] < pair[1]), "{cut:?}");
            assert_eq!(teams.count(), asked.unwrap_or(TEAMS).min(MOST_TEAMS));
            for grid in [1, 2, 7, 33, 132, 264] {
                let blocks = teams.blocks(grid);
                assert_eq!(blocks.len(), teams.count());
                assert!(blocks.iter().all(|range| !range.is_empty() && range.end <= grid));
                let apart = blocks.windows(2).all(|pair| pair[0].end == pair[1].start);
                let alike = blocks.iter().all(|range| *range == (0..grid));
                assert!(if grid >= 132 { apart } else { apart || alike }, "{blocks:?} of {grid}");
            }
        }
    }

    #[test]
    fn the_cut_follows_from_the_graph_alone() {
        for asked in [None, Some(2), Some(8)] {
            let first = Teams::new(&falling(), asked, gpu(1));
            for sharers in [2, 3, 5, 8, 16] {
                assert_eq!(Teams::new(&falling(), asked, gpu(sharers)).cut(), first.cut());
            }
            for multiprocessors in [1, 16, 108, 148] {
                let other = Gpu { multiprocessors, ..gpu(2) };
                assert_eq!(Teams::new(&falling(), asked, other).cut(), first.cut());
            }
        }
    }

    #[test]
    fn a_team_with_more_to_do_has_more_multiprocessors() {
        // The hubs' segment is three times as much as all others.
        let load: Vec<u64> =
            (0..11).map(|s| if s == 0 { 1_200_000_000 } else { 40_000_000 }).collect();
        let teams = Teams::new(&load, Some(2), gpu(4));
        let (cut, blocks) = (teams.cut(), teams.blocks(132));
        let of = |team: usize| load[cut[team]..cut[team + 1]].iter().sum::<u64>();
        assert_eq!(blocks[0].end, blocks[1].start);
        assert!(of(0) > of(1) && blocks[0].len() > blocks[1].len(), "{blocks:?} of {cut:?}");
    }

    #[test]
    fn few_segments_and_none_have_one_team() {
        assert_eq!(Teams::new(&[1_000_000; 6], None, gpu(4)).count(), 1);
        assert_eq!(Teams::new(&[], None, gpu(4)).count(), 1);
        assert_eq!(Teams::new(&[], Some(4), gpu(1)).count(), 1);
    }
}
