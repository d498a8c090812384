//! How a run goes, decided once from the graph, the fleet and the options.

use super::{BcConfig, MOST_LANES, Precision};
use crate::algorithm::MergeMode;
use crate::fleet::FleetInfo;
use crate::layout::{Columns, TopologyRows, memory};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;

/// Lanes when nobody asks for another number: eight 32-bit numbers are a sector.
const LANES: usize = 8;
/// Graphs with fewer arcs are held in f64: it costs little there.
const SINGLE_FROM: u64 = 1 << 24;
/// With fewer arcs nothing is gained by cutting levels, on a device and on the host.
const CUT_FROM: [u64; 2] = [1 << 31, 1 << 12];

/// Which sources a replica works on, how many at once, in what numbers.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Levels are cut by chunk, and all replicas work on all sources.
    pub cut: bool,
    /// Every replica works on all sources by itself, and nothing is merged: there is but one source.
    pub alone: bool,
    /// Lanes of the arrays: a power of two.
    pub lanes: usize,
    /// Paths are held in f64.
    pub double: bool,
    /// `[world, rounds]` positions of sources; a replica with fewer batches has empty ones.
    batches: Vec<Vec<Range<usize>>>,
}

impl Plan {
    pub fn new(p: &TopologyRows, sources: usize, config: &BcConfig, fleet: &FleetInfo) -> Plan {
        let (cuda, world) = (fleet.backend == "cuda", fleet.world);
        let arcs = p.columns.out.arcs();
        let double = match config.precision {
            _ if !cuda => true,
            Precision::Auto => arcs < SINGLE_FROM,
            Precision::F32 => false,
            Precision::F64 => true,
        };
        let asked = config.batch.given().map_or(LANES, |batch| batch as usize).min(MOST_LANES);
        let cut = world > 1
            && match config.run.merge {
                MergeMode::Split => true,
                MergeMode::Auto => cutting_pays(p, sources, world, cuda),
                MergeMode::Redundant | MergeMode::Dense => false,
            };
        let alone = cuda && world > 1 && !cut && sources == 1;
        let shares = if cut || alone { 1 } else { world };
        let most = asked.min(sources.div_ceil(shares)).max(1);
        let lanes = match config.batch.given() {
            None if cuda => fitting(p, most.next_power_of_two(), double, cut, fleet),
            _ => most.next_power_of_two(),
        };
        let most = most.min(lanes);
        Plan { cut, alone, lanes, double, batches: deal(sources, most, shares) }
    }

    /// Batches of every replica.
    pub fn rounds(&self) -> usize {
        self.batches[0].len()
    }

    /// The positions of the sources of replica `rank` in this round.
    pub fn batch(&self, rank: usize, round: usize) -> Range<usize> {
        self.batches[if self.cut || self.alone { 0 } else { rank }][round].clone()
    }
}

/// Sources in the order in which they are put together: those whose levels are large at the same time share most rows.
/// On graphs of high diameter neighbours are near each other in the layout; elsewhere it is the arcs out of a source's
/// neighbours that decide.
pub(super) fn side_by_side(columns: &Columns, mut labels: Vec<u32>) -> Vec<u32> {
    labels.sort_unstable();
    if !columns.flat {
        let degree = |label: &u32| columns.out.degree(*label as usize);
        let second = |label: &u32| columns.out.row(*label as usize).iter().map(degree).sum();
        let mut keyed: Vec<(Reverse<u64>, u32)> =
            labels.par_iter().map(|label| (Reverse(second(label)), *label)).collect();
        keyed.sort_unstable();
        labels = keyed.into_iter().map(|(_, label)| label).collect();
    }
    labels
}

/// `[replicas, rounds]` batches of about equal length, at most `most`, dealt in turn: neighbours take about as long, and the
/// first and the last take longest, so that what is dealt there and back would give both to one replica (R-MAT 24 and 25, 64
/// and 128 sources, four replicas, reckoned from traces of one: 3.6 to 3.8 times as fast, and 3.8 to 3.95 in turn;
/// variants-d79ee80).
fn deal(sources: usize, most: usize, replicas: usize) -> Vec<Vec<Range<usize>>> {
    let rounds = sources.div_ceil(replicas * most);
    let batches = (replicas * rounds).max(1);
    let at = |i: usize| i * (sources / batches) + i.min(sources % batches);
    let batch = |rank: usize, round: usize| {
        let place = round * replicas + rank;
        at(place)..at(place + 1)
    };
    let own = |rank| (0..rounds).map(|round| batch(rank, round)).collect();
    (0..replicas).map(own).collect()
}

/// Whether all replicas are sooner done with all sources together, level by level, than each with its own.
///
/// On GPUs where a replica would have no source of its own, and the graph is so large that the exchange of a level's values
/// and its 0.1 ms of meetings may pay, for four or more: on R-MAT 27 two H200s took 103 ms, 93 of them the steps of the one
/// with the hubs, and one takes 90; what four take is an estimate. On the host replicas share the cores, and cutting pays
/// only where some would have nothing to do.
fn cutting_pays(p: &TopologyRows, sources: usize, world: usize, cuda: bool) -> bool {
    let columns = &p.columns;
    sources < world
        && !columns.flat
        && (world >= 4 || !cuda)
        && columns.out.arcs() >= CUT_FROM[usize::from(!cuda)]
}

/// The most lanes, up to `lanes`, that the memory of every GPU has room for.
fn fitting(p: &TopologyRows, lanes: usize, double: bool, cut: bool, fleet: &FleetInfo) -> usize {
    let sharers = |device: &str| fleet.devices.iter().filter(|d| d.device == device).count();
    let room = |bytes: u64, device: &str| {
        let bytes = bytes.saturating_sub(memory::CONTEXT_BYTES);
        bytes.min(fleet.memory_limit.unwrap_or(u64::MAX)) / sharers(device).max(1) as u64
    };
    let room = fleet.devices.iter().map(|d| room(d.memory_bytes, &d.device)).min().unwrap_or(0);
    let columns = &p.columns;
    let each = columns.out.arcs();
    let arcs = each + columns.into.as_ref().map_or(0, |rows| rows.arcs());
    let rows = 4 * arcs + 8 * memory::segments(arcs) as u64 + 16 * columns.active as u64;
    let mut lanes = lanes;
    while lanes > 1 {
        let state = memory::lanes(columns.active, each, lanes, double, cut);
        if rows + memory::total(&state) <= room {
            break;
        }
        lanes /= 2;
    }
    lanes
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
            for replicas in [1, 2, 3, 8] {
                let dealt = deal(sources, most, replicas);
                assert!(dealt.iter().all(|own| own.len() == dealt[0].len()));
                let mut all: Vec<Range<usize>> = dealt.into_iter().flatten().collect();
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
}
