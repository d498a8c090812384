//! Who goes through which segments: multiprocessors in teams.
//!
//! Filling shared memory with a segment costs a multiprocessor the same whatever rows it has, so that where all go
//! through all segments that part of an iteration does not shrink with more GPUs (R-MAT 24 on one, two, four H200s: 1.38,
//! 0.92, 0.75 ms). A team has some of the segments and all rows of its GPU, and sums of its own, which are added at
//! last (on four: 0.44 ms).

use std::ops::Range;

/// Teams at most; as in kernels/pagerank_hubs.cu.
pub(super) const MOST_TEAMS: usize = 8;

/// What filling a segment takes a multiprocessor, with the wait for the last group before it, and what one more sum of
/// a row costs, in ps. Both so that R-MAT 24 on one, two and four H200s is as long as seen with 1 to 8 teams.
const FILL_PS: u64 = 10_000_000;
const SUM_PS: u64 = 10;

/// Fewer teams are taken where that costs less than one in so many: the model is no nearer than that.
const NEAR: u64 = 40;

/// Segments in order, divided among teams.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Teams {
    /// `[teams + 1]` first segment of each.
    cut: Vec<usize>,
    /// `[teams + 1]` multiprocessors before each.
    before: Vec<u32>,
}

/// What one team would have to do.
struct Work<'a> {
    /// `[segments + 1]` what the segments before each take a whole GPU, in ps.
    before: &'a [u64],
    multiprocessors: u64,
    /// Row blocks of the GPU, dealt whole.
    blocks: u64,
}

impl Work<'_> {
    /// Multiprocessors that go through these segments in `limit` ps; `None`: no number does.
    fn needed(&self, segments: Range<usize>, limit: u64) -> Option<u64> {
        let left = limit.checked_sub(FILL_PS * segments.len() as u64)?;
        let all = (self.before[segments.end] - self.before[segments.start]) * self.multiprocessors;
        // Blocks that one multiprocessor can do.
        let each = (left * self.blocks).checked_div(all).unwrap_or(self.blocks).min(self.blocks);
        (each > 0).then(|| self.blocks.div_ceil(each))
    }

    /// For `teams` teams, the cuts with which `limit` ps need fewest multiprocessors, and these by team.
    fn divide(&self, teams: usize, limit: u64) -> Option<(Vec<usize>, Vec<u64>)> {
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
        let mut cut = vec![segments];
        let mut needed = Vec::new();
        for t in (1..=teams).rev() {
            let end = cut[cut.len() - 1];
            let (all, from) = least[t][end]?;
            needed.push(all - least[t - 1][from]?.0);
            cut.push(from);
        }
        cut.reverse();
        needed.reverse();
        (needed.iter().sum::<u64>() <= self.multiprocessors).then_some((cut, needed))
    }

    /// The shortest time in which `teams` teams are through, in ps, and how they divide the segments.
    fn fastest(&self, teams: usize) -> Option<(u64, Vec<usize>, Vec<u64>)> {
        let segments = self.before.len() - 1;
        let (mut low, mut high) = (0, 1);
        while self.divide(teams, high).is_none() {
            (low, high) = (high, high * 2);
            if high > 1 << 50 {
                return None;
            }
        }
        // To a hundredth of a segment is near enough.
        while high - low > FILL_PS / 100 && segments > 0 {
            let middle = low + (high - low) / 2;
            match self.divide(teams, middle).is_some() {
                true => high = middle,
                false => low = middle,
            }
        }
        let (cut, needed) = self.divide(teams, high)?;
        Some((high, cut, needed))
    }
}

impl Teams {
    /// Teams of a GPU of so many multiprocessors that has `blocks` row blocks of `rows` rows; `asked` says how many, else
    /// as many as pay. `load_ps`: what each segment takes the whole GPU, in ps, filling apart.
    pub fn new(
        multiprocessors: u32,
        asked: Option<usize>,
        blocks: u64,
        rows: u64,
        load_ps: &[u64],
    ) -> Teams {
        let mut before = vec![0];
        for ps in load_ps {
            before.push(before[before.len() - 1] + ps);
        }
        let work = Work { before: &before, multiprocessors: multiprocessors.into(), blocks };
        let made = |teams: usize| {
            let (ps, cut, needed) = work.fastest(teams)?;
            Some((ps + teams as u64 * rows * SUM_PS, cut, needed))
        };
        let segments = load_ps.len();
        let most = MOST_TEAMS.min(segments).min(multiprocessors as usize);
        let best = match asked {
            Some(asked) if most > 0 => made(asked.clamp(1, most)),
            _ => {
                let all: Vec<_> = (1..=most).filter_map(made).collect();
                let least = all.iter().map(|(ps, ..)| *ps).min().unwrap_or(0);
                all.into_iter().find(|(ps, ..)| *ps <= least + least / NEAR)
            }
        };
        let Some((_, cut, needed)) = best else {
            return Teams { cut: vec![0, segments], before: vec![0, multiprocessors] };
        };
        // Whoever is left goes where most are.
        let mut before = vec![0];
        let (all, total) = (u64::from(multiprocessors), needed.iter().sum::<u64>().max(1));
        let mut sum = 0;
        for blocks in needed {
            sum += blocks;
            before.push((sum * all / total) as u32);
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
        let all = u64::from(self.before[self.count()]).max(1);
        let place = |before: u32| (u64::from(before) * u64::from(grid) / all) as u32;
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

    fn teams(asked: Option<usize>, blocks: u64, load: &[u64]) -> Teams {
        Teams::new(132, asked, blocks, 2_000_000, load)
    }

    #[test]
    fn every_segment_has_one_team_and_every_team_blocks() {
        let load: Vec<u64> = (0..46).map(|s| 170_000_000 / (s + 1)).collect();
        for asked in [None, Some(1), Some(3), Some(8), Some(20)] {
            let teams = teams(asked, 264, &load);
            let cut = teams.cut();
            assert_eq!((cut[0], cut[cut.len() - 1]), (0, 46), "{asked:?}");
            assert!(cut.windows(2).all(|pair| pair[0] < pair[1]), "{cut:?}");
            if let Some(asked) = asked {
                assert_eq!(teams.count(), asked.min(MOST_TEAMS));
            }
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
    fn fewer_rows_want_more_teams() {
        let load =
            |world: u64| -> Vec<u64> { (0..46).map(|s| 400_000_000 / (s + 1) / world).collect() };
        let count = |world: u64| {
            let load = load(world);
            Teams::new(132, None, 1056 / world, 8_900_000 / world, &load).count()
        };
        assert!(count(4) > count(1), "{} and {}", count(4), count(1));
        assert!(count(4) >= 3);
    }

    #[test]
    fn a_team_with_more_to_do_has_more_multiprocessors() {
        // The hubs' segment is as much as all others.
        let load: Vec<u64> =
            (0..11).map(|s| if s == 0 { 100_000_000 } else { 10_000_000 }).collect();
        let teams = teams(Some(2), 1056, &load);
        let blocks = teams.blocks(132);
        // Five segments, among them that one, of 140 ms, and six of 60.
        assert_eq!(teams.cut(), [0, 5, 11]);
        assert_eq!(blocks[0].end, blocks[1].start);
        assert!(blocks[0].len() > 3 * blocks[1].len() / 2, "{blocks:?}");
    }

    #[test]
    fn without_segments_there_is_one_team() {
        assert_eq!(teams(None, 8, &[]).count(), 1);
        assert_eq!(teams(Some(4), 8, &[]).count(), 1);
    }
}
