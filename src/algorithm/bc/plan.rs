//! How a run goes, decided once from the graph, the fleet and the options; and what a step is told, works on and finds.

use super::grids::Grids;
use super::{BcConfig, MOST_LANES, cuda};
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::tasks;
use crate::algorithm::{MergeMode, Precision};
use crate::choice::Choice;
use crate::collective::{Element, Replicated, Shares, Split};
use crate::device::kernels::bc_batch as kernel;
use crate::error::Result;
use crate::fleet::{FleetInfo, Replica};
use crate::layout::memory::{self, DeviceArray, total};
use crate::layout::{Columns, TopologyRows};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;

/// Lanes when nobody asks for another number: eight 32-bit numbers are a sector.
const LANES: usize = 8;
/// Graphs with fewer arcs are held in f64: it costs little there.
pub(super) const SINGLE_FROM: u64 = 1 << 24;
/// With fewer arcs nothing is gained by cutting levels, on a device and on the host.
const CUT_FROM: [u64; 2] = [1 << 31, 1 << 12];

/// What lengths of arrays follow from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Nodes with rows.
    pub active: usize,
    /// A power of two.
    pub lanes: usize,
    /// Numbers of paths are f64, not f32.
    pub double: bool,
    /// Levels are cut by chunk, and all replicas work on all sources.
    pub cut: bool,
}

/// Which sources a replica works on, how many at once, in what numbers.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub sizes: Sizes,
    /// Tiles are wanted, where the graph has such as pay.
    pub tiles: bool,
    /// Every replica works on all sources by itself, and nothing is merged: there is but one source, or what dealing saves is less
    /// than what a merge of scores takes.
    pub alone: bool,
    /// What scores are rounded to.
    pub grids: Grids,
    /// `[world, rounds]` positions of sources; a replica with fewer batches has empty ones.
    batches: Vec<Vec<Range<usize>>>,
}

impl Plan {
    pub fn new(rows: &TopologyRows, sources: usize, config: &BcConfig, fleet: &FleetInfo) -> Plan {
        let (cuda, world) = (fleet.backend == "cuda", fleet.world);
        let columns = &rows.columns;
        let double = match config.precision {
            _ if !cuda => true,
            Precision::Auto => columns.out.arcs() < SINGLE_FROM,
            Precision::F32 => false,
            Precision::F64 => true,
        };
        let asked = config.batch.given().map_or(LANES, |batch| batch as usize).min(MOST_LANES);
        let cut = world > 1
            && match config.run.merge {
                MergeMode::Split => true,
                MergeMode::Auto => cutting_pays(columns, sources, world, cuda),
                MergeMode::Redundant | MergeMode::Dense => false,
            };
        let dealt = match config.run.merge {
            MergeMode::Auto if fleet.has_slow_links() => {
                dealing_pays(columns.out.arcs(), columns.active, sources, fleet)
            }
            _ => true,
        };
        let alone = cuda && world > 1 && !cut && (sources == 1 || !dealt);
        let shares = if cut || alone { Shares::equal(1) } else { fleet.shares.clone() };
        let most = asked.min(sources.div_ceil(shares.world())).max(1);
        // Who asks for a number of lanes gets the same bits on any number of GPUs.
        let lanes = config.batch.given().map_or(most, |_| asked.min(sources).max(1));
        let lanes = lanes.next_power_of_two();
        let mut sizes = Sizes { active: columns.active, lanes, double, cut };
        if config.batch.given().is_none() && cuda {
            sizes.lanes = fitting(columns, sizes, fleet);
        }
        let most = most.min(sizes.lanes);
        // Whoever asks for so many sources side by side gets them. Tiles take a coefficient of 0 for one that is not known yet, and with
        // targets some are 0.
        let fits = config.batch == Choice::Auto && config.targets.is_none();
        let tiles = columns.flat && !cut && fits;
        let grids = Grids::new(columns.nodes, sources);
        Plan { sizes, tiles, alone, grids, batches: deal(sources, most, &shares) }
    }

    /// Batches of every replica.
    pub fn rounds(&self) -> usize {
        self.batches[0].len()
    }

    /// The positions of the sources of replica `rank` in this round.
    pub fn batch(&self, rank: usize, round: usize) -> Range<usize> {
        self.batches[if self.sizes.cut || self.alone { 0 } else { rank }][round].clone()
    }
}

/// Sources in the order in which they are put together: those whose levels are large at the same time share most rows.
/// On graphs of high diameter neighbours are near each other in the layout; elsewhere it is the arcs out of a source's
/// neighbours that decide.
pub(super) fn side_by_side(columns: &Columns, mut labels: Vec<u32>) -> Vec<u32> {
    labels.sort_unstable();
    if !columns.flat && labels.len() > 1 {
        let degree = |label: &u32| columns.out.degree(*label as usize);
        let second = |label: &u32| columns.out.row(*label as usize).iter().map(degree).sum();
        let mut keyed: Vec<(Reverse<u64>, u32)> =
            labels.par_iter().map(|label| (Reverse(second(label)), *label)).collect();
        keyed.sort_unstable();
        labels = keyed.into_iter().map(|(_, label)| label).collect();
    }
    labels
}

/// `[replicas, rounds]` batches of about equal length, at most `most`, dealt in turn: neighbours take about as long, and
/// the first and the last take longest, so that dealing there and back would give both to one replica. Where shares are equal all
/// have as many.
fn deal(sources: usize, most: usize, shares: &Shares) -> Vec<Vec<Range<usize>>> {
    let (turns, replicas) = (shares.turns(), shares.world());
    let even = if shares.are_equal() { replicas } else { 1 };
    let batches = sources.div_ceil(most).next_multiple_of(even);
    let at = |i: usize| i * (sources / batches) + i.min(sources % batches);
    let mut dealt = vec![Vec::new(); replicas];
    for batch in 0..batches {
        dealt[turns[batch % turns.len()]].push(at(batch)..at(batch + 1));
    }
    let rounds = dealt.iter().map(Vec::len).max().unwrap_or(0);
    dealt.iter_mut().for_each(|own| own.resize(rounds, sources..sources));
    dealt
}

/// Whether all replicas are sooner done with all sources together, level by level, than each with its own: where some
/// would have no source. On GPUs the graph must be large, and the replicas four or more, to make up for the exchange of
/// a level's values and its meetings. On the host replicas share the cores.
fn cutting_pays(columns: &Columns, sources: usize, world: usize, cuda: bool) -> bool {
    sources < world
        && !columns.flat
        && (world >= 4 || !cuda)
        && columns.out.arcs() >= CUT_FROM[usize::from(!cuda)]
}

/// Microseconds that an arc takes for each source, as on an H200.
const ARC_SOURCE_US: f64 = 5e-6;
/// Microseconds that a merge of scores takes over slow links beside its bytes, and bytes in one: by NCCL, and by way of the host.
const NCCL_SUM: [f64; 2] = [450.0, 18e3];
const HOST_SUM: [f64; 2] = [400.0, 1.9e3];

/// Whether GPUs with slow links are sooner done when each has a part of the sources and scores are added up than when each has all.
fn dealing_pays(arcs: u64, active: usize, sources: usize, fleet: &FleetInfo) -> bool {
    let [merge_us, bytes_a_us] = if fleet.nccl.is_some() { NCCL_SUM } else { HOST_SUM };
    let own = (sources * fleet.shares.most() as usize).div_ceil(fleet.shares.total() as usize);
    let saved = arcs as f64 * (sources - own) as f64 * ARC_SOURCE_US;
    saved > merge_us + 8.0 * active as f64 / bytes_a_us
}

/// The most lanes, up to those of `sizes`, that the memory of every GPU has room for.
fn fitting(columns: &Columns, mut sizes: Sizes, fleet: &FleetInfo) -> usize {
    let room = memory::room(fleet);
    let each = columns.out.arcs();
    let arcs = each + columns.into.as_ref().map_or(0, |rows| rows.arcs());
    let rows = 4 * arcs + 8 * cuda::most_segments(arcs) as u64 + 16 * columns.active as u64;
    while sizes.lanes > 1 && rows + total(&cuda::batch_arrays(sizes, each, fleet.world)) > room {
        sizes.lanes /= 2;
    }
    sizes.lanes
}

tasks! {
    /// What a step does.
    pub(super) enum Task {
        /// All levels of both phases, and the scores.
        Whole(kernel::WHOLE) = "step batch",
        /// The sources, as level 0.
        Seed(kernel::SEED) = "step seed",
        /// What the next level holds of the own chunk.
        Find(kernel::FIND) = "step find",
        /// The own part of the level just found, into the exchange.
        Pack(kernel::PACK) = "step pack",
        /// The list of a level, gathered, into the arrays.
        Commit(kernel::COMMIT) = "step commit",
        /// Sums of coefficients for the own part of a level.
        Back(kernel::BACK) = "step back",
        /// These sums, into the exchange.
        PackBack(kernel::PACK_BACK) = "step pack back",
        /// The sums of a level, gathered, into the arrays and, on GPUs, the scores.
        Settle(kernel::SETTLE) = "step settle",
        /// The rest of what the batch adds to the scores: on GPUs the ends of paths.
        Score(kernel::ENDS) = "step score",
    }
}

/// Everything that a step is told beside the state. The lists of a batch's levels lie one after another.
#[derive(Debug, Clone)]
pub(super) struct StepTask<'a> {
    pub task: Task,
    /// Positions of the batch's sources.
    pub batch: Range<usize>,
    /// Their labels, distinct.
    pub sources: &'a [u32],
    /// Ends of paths count.
    pub endpoints: bool,
    pub grids: Grids,
    /// The level that the step is about.
    pub level: usize,
    /// The last level that is not empty.
    pub deepest: usize,
    /// Find: the list of the level before. Commit, Settle: that of the level. Back, PackBack: the own part of that.
    pub list: Range<u64>,
    /// Settle: the own part of the list of the level above.
    pub above: Range<u64>,
    /// Pack, PackBack: where the own part lies in the exchange.
    pub place: Range<u64>,
}

/// What a step found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepResult {
    /// The largest distance from a source.
    pub levels: u64,
    /// Nodes that the batch has reached, over its lanes; of Find: nodes that it found in the own chunk.
    pub reached: u64,
    /// Arcs out of them.
    pub reached_arcs: u64,
    /// Arcs that were looked at.
    pub looked: u64,
    /// A lane with too many paths.
    pub overflow: Option<u32>,
}

replicated_arrays! {
    /// What sources have added up to.
    pub(super) struct Scores of Sizes {
        /// `[2, active]` by label: parts on the coarse grid, and on the fine one.
        scores: Replicated<f64> = "scores", Sum, |s| 2 * s.active;
    }
}

replicated_arrays! {
    /// A level, as replicas tell each other of it.
    pub(super) struct Level<T> of Sizes {
        /// `[active]` mask of lanes << 32 | label.
        entries: Replicated<u64> = "entries", Gather, |s| s.active;
        /// `[active, lanes]` by place in the list: numbers of paths forward, sums of coefficients backward.
        values: Replicated<T> = "values", Gather, |s| s.active * s.lanes;
    }
}

impl<T: Element> Level<T> {
    fn gather(
        &mut self,
        r: &mut Replica,
        parts: &Split,
        lanes: usize,
        forward: bool,
    ) -> Result<()> {
        if forward {
            r.gather(&mut self.entries, parts)?;
        }
        let lengths = parts.bounds().windows(2).map(|pair| (pair[1] - pair[0]) * lanes as u64);
        r.gather(&mut self.values, &Split::of_lengths(lengths))
    }
}

/// What replicas tell each other of levels.
pub(super) enum Exchange {
    /// Nothing: levels are not cut.
    None,
    Single(Level<f32>),
    /// Always so on the host.
    Double(Level<f64>),
}

impl Exchange {
    /// Gives everybody the parts of all of a level; on the way back only their values.
    pub fn gather(
        &mut self,
        r: &mut Replica,
        parts: &Split,
        lanes: usize,
        forward: bool,
    ) -> Result<()> {
        match self {
            Exchange::None => Ok(()),
            Exchange::Single(level) => level.gather(r, parts, lanes, forward),
            Exchange::Double(level) => level.gather(r, parts, lanes, forward),
        }
    }

    /// Device addresses of entries and values.
    pub fn addresses(&self) -> [u64; 2] {
        match self {
            Exchange::None => [0, 0],
            Exchange::Single(level) => [level.entries.address(), level.values.address()],
            Exchange::Double(level) => [level.entries.address(), level.values.address()],
        }
    }

    /// Entries and values on the host.
    pub fn on_host(&mut self) -> (&mut [u64], &mut [f64]) {
        match self {
            Exchange::Double(level) => (
                level.entries.host_mut().unwrap_or_default(),
                level.values.host_mut().unwrap_or_default(),
            ),
            _ => Default::default(),
        }
    }
}

/// The replicated state.
pub(super) struct State {
    pub sums: Scores,
    pub exchange: Exchange,
}

impl State {
    pub fn allocate(r: &mut Replica, sizes: Sizes) -> Result<State> {
        let sums = Scores::allocate(r, sizes)?;
        let exchange = match (sizes.cut, sizes.double) {
            (false, _) => Exchange::None,
            (true, false) => Exchange::Single(Level::allocate(r, sizes)?),
            (true, true) => Exchange::Double(Level::allocate(r, sizes)?),
        };
        Ok(State { sums, exchange })
    }

    pub fn list(sizes: Sizes, world: usize) -> Vec<DeviceArray> {
        let exchange = match (sizes.cut, sizes.double) {
            (false, _) => Vec::new(),
            (true, false) => Level::<f32>::list(sizes, world),
            (true, true) => Level::<f64>::list(sizes, world),
        };
        [Scores::list(sizes, world), exchange].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, Origin};
    use crate::layout::Layout;

    fn columns(n: usize, edges: &[(u32, u32)]) -> Columns {
        let ends = edges.iter().flat_map(|(u, v)| [(*u, *v), (*v, *u)]);
        let (sources, targets): (Vec<u32>, Vec<u32>) = ends.unzip();
        let graph = Graph::from_arcs(n, &sources, &targets, None, Origin::default()).unwrap();
        Columns::new(&graph, Layout::Degree).unwrap()
    }

    #[test]
    fn sources_with_as_many_arcs_behind_them_lie_side_by_side() {
        // A hub with 400 leaves, the last of which leads to a star of four.
        let mut edges: Vec<(u32, u32)> = (1..401).map(|v| (0, v)).collect();
        edges.extend([(400, 401), (401, 402), (401, 403), (401, 404)]);
        let columns = columns(405, &edges);
        assert!(!columns.flat);
        let label = |node| columns.label(node);
        // Arcs out of neighbours: of leaf 400 the hub's 400 and the star's 4; of the hub its leaves' 401; of leaf 1 the
        // hub's alone; of 402 the star's alone.
        let order = side_by_side(&columns, vec![label(402), label(1), label(400), label(0)]);
        assert_eq!(order, [label(400), label(0), label(1), label(402)]);
    }

    /// As it was measured on two H200s that merged through the host.
    #[test]
    fn sources_are_dealt_over_slow_links_where_that_saves_more_than_the_sum_takes() {
        let pays = |nccl: bool, scale: u32, sources| {
            let (nccl, shares) = (nccl.then(|| "2.28".to_string()), Shares::equal(2));
            let fleet = FleetInfo { nccl, shares, world: 2, ..FleetInfo::default() };
            dealing_pays(32 << scale, (1 << scale) / 2, sources, &fleet)
        };
        assert_eq!([18, 22, 24].map(|scale| pays(true, scale, 8)), [false, true, true]);
        assert_eq!([18, 22, 24].map(|scale| pays(false, scale, 8)), [false; 3]);
        assert!(pays(false, 22, 64) && pays(false, 24, 64));
    }

    #[test]
    fn rows_lose_what_is_there_twice() {
        assert!(columns(4, &[(0, 1), (1, 2), (2, 3)]).out.without_repeats().is_none());
        let rows = columns(4, &[(0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]).out;
        let once = rows.without_repeats().unwrap();
        assert_eq!(once.arcs(), 6);
        for v in 0..4 {
            let mut row = rows.row(v).to_vec();
            row.dedup();
            assert_eq!(once.row(v), row);
        }
    }

    #[test]
    fn neighbours_in_the_layout_lie_side_by_side_on_flat_graphs() {
        let chain: Vec<(u32, u32)> = (0..99).map(|v| (v, v + 1)).collect();
        let columns = columns(100, &chain);
        assert!(columns.flat);
        assert_eq!(side_by_side(&columns, vec![70, 0, 99, 50]), [0, 50, 70, 99]);
    }

    #[test]
    fn batches_are_about_equal_and_hold_every_source_once() {
        for (sources, most) in [(33, 8), (8, 8), (1, 32), (64, 5), (7, 1), (0, 8)] {
            let unequal = Shares::of(&[3, 1]);
            for shares in [1, 2, 3, 8].map(Shares::equal).into_iter().chain([unequal]) {
                let dealt = deal(sources, most, &shares);
                assert!(dealt.iter().all(|own| own.len() == dealt[0].len()));
                let all = dealt.into_iter().flatten();
                let kept = |batch: &Range<usize>| shares.are_equal() || !batch.is_empty();
                let mut all: Vec<Range<usize>> = all.filter(kept).collect();
                all.sort_unstable_by_key(|batch| (batch.start, batch.end));
                let covered = all.iter().fold(0, |end, batch| {
                    assert_eq!(batch.start, end);
                    batch.end
                });
                assert_eq!(covered, sources);
                let lengths: Vec<usize> = all.iter().map(Range::len).collect();
                let (low, high) = (lengths.iter().min(), lengths.iter().max());
                let (low, high) = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
                assert!(high <= most && high - low <= 1, "{lengths:?}");
            }
        }
    }

    #[test]
    fn a_slower_replica_has_fewer_batches() {
        let dealt = deal(64, 8, &Shares::of(&[3, 1]));
        let sources = |own: &Vec<Range<usize>>| own.iter().map(Range::len).sum::<usize>();
        assert_eq!(dealt.iter().map(sources).collect::<Vec<_>>(), [48, 16]);
    }
}
