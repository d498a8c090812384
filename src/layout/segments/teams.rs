//! Which multiprocessors go through which segments.
//!
//! Filling shared memory with a segment takes a multiprocessor the same time however few rows it has. If all
//! multiprocessors went through all segments, that part of an iteration would not shrink with more GPUs. So segments are
//! divided among teams of multiprocessors. A team has all rows of its GPU and a sum of each, and the sums of all teams are
//! added at last.
//!
//! How many teams there are and where segments are cut follows from the graph alone, since the bits of a row's sum depend on
//! it. How many multiprocessors a team has follows from the GPU and its rows.

use crate::device::kernels::pagerank_hubs;
use std::ops::Range;

/// Teams at most: kernels are told of so many.
pub(crate) const MOST_TEAMS: usize = pagerank_hubs::TEAMS as usize;

/// Teams where there are at least [`TEAMS_FROM`] segments; elsewhere one.
pub(crate) const TEAMS: usize = 4;
const TEAMS_FROM: usize = 16;

/// Picoseconds that a multiprocessor takes to fill a segment, with the wait for the last group before it.
const FILL_PS: u64 = 6_000_000;
/// Femtoseconds that an arc and a run take a GPU whose multiprocessors are all at work.
const ARC_FS: u64 = 800;
const RUN_FS: u64 = 5_500;

/// Picoseconds that near arcs in so many runs take a GPU, filling apart.
pub(super) fn load_ps(arcs: u64, runs: u64) -> u64 {
    (arcs * ARC_FS + runs * RUN_FS) / 1000
}

/// The GPU that segments are cut for, whatever the real ones are: it has a quarter of the row blocks.
const NOMINAL: Gpu = Gpu { multiprocessors: 132, blocks: 264, sharers: 4 };

/// A GPU, and its part of the rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gpu {
    pub multiprocessors: u32,
    /// Row blocks; a multiprocessor has whole ones.
    pub blocks: u64,
    /// How many GPUs share the rows.
    pub sharers: u64,
}

/// Segments in order, divided among teams.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Teams {
    /// `[teams + 1]` first segment of each.
    cut: Vec<usize>,
    /// `[teams + 1]` multiprocessors before each.
    before: Vec<u64>,
}

/// The work of a GPU.
struct Work {
    /// `[segments + 1]` picoseconds that the segments before each take the whole GPU, filling apart.
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

    /// The multiprocessors that a team needs to go through these segments in `limit` ps; `None` if no number is enough.
    fn needed(&self, segments: Range<usize>, limit: u64) -> Option<u64> {
        let left = limit.checked_sub(FILL_PS * segments.len() as u64)?;
        let all = (self.before[segments.end] - self.before[segments.start]) * self.multiprocessors;
        // Row blocks that one multiprocessor can do.
        let each = (left * self.blocks).checked_div(all).unwrap_or(self.blocks).min(self.blocks);
        (each > 0).then(|| self.blocks.div_ceil(each))
    }

    /// The cut for `teams` teams that needs the fewest multiprocessors in `limit` ps, if there are as many.
    fn cut(&self, teams: usize, limit: u64) -> Option<Vec<usize>> {
        let segments = self.before.len() - 1;
        // least[t][s]: the multiprocessors that t teams need for the first s segments, and where the last team begins.
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

    /// The multiprocessors that each team of a cut needs to be through in `limit` ps, if there are as many.
    fn members(&self, cut: &[usize], limit: u64) -> Option<Vec<u64>> {
        let needed = cut.windows(2).map(|pair| self.needed(pair[0]..pair[1], limit));
        let needed: Vec<u64> = needed.collect::<Option<_>>()?;
        (needed.iter().sum::<u64>() <= self.multiprocessors).then_some(needed)
    }
}

/// What `done` gives for the shortest limit for which it gives something, found to a hundredth of [`FILL_PS`].
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
    /// Teams of a GPU; `asked` says how many, else the graph does. `load_ps`: picoseconds that each segment takes a GPU that
    /// has all rows, filling apart.
    pub(super) fn new(load_ps: &[u64], asked: Option<usize>, gpu: Gpu) -> Teams {
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
        // Too few multiprocessors for the teams: in `blocks`, every block is in every team.
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

    /// The blocks of each team in a grid of `grid` blocks. If they are too few, every block is in every team.
    pub fn blocks(&self, grid: u32) -> Vec<Range<u32>> {
        let all = self.before[self.count()].max(1);
        let place = |before: u64| (before * u64::from(grid) / all) as u32;
        let ranges = self.before.windows(2).map(|pair| place(pair[0])..place(pair[1]));
        let ranges: Vec<Range<u32>> = ranges.collect();
        match ranges.iter().any(Range::is_empty) {
            true => vec![0..grid; self.count()],
            false => ranges,
        }
    }
}
