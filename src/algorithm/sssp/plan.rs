//! What a search does: its tasks, what is known between them, and which plan a fleet follows.

use super::SsspConfig;
use crate::algorithm::MergeMode;
use crate::algorithm::arrays::replicated_arrays;
use crate::algorithm::frame::tasks;
use crate::algorithm::long_paths::Widths;
use crate::choice::Choice;
use crate::collective::{Frontier, Replicated, Together};
use crate::device::kernels::sssp_round as kernel;
use crate::fleet::Fleet;
use crate::layout::{EVEN, WeightedGraph, WeightedLayout};
use std::ops::Range;
use std::sync::Arc;

/// What the programs of all replicas are given.
pub(super) struct Question {
    pub graph: Arc<WeightedGraph>,
    /// Labels.
    pub seeds: Vec<u32>,
    pub config: SsspConfig,
}

tasks! {
    /// What a step does.
    pub(super) enum Task {
        /// Everything to the end, redundantly and in place.
        Finish(kernel::FINISH) = "step push-pull",
        /// Whole frontiers from snapshots, until none is left or a pull pays.
        Grow(kernel::GROW) = "step push",
        /// One pull, into the own chunk or into all nodes.
        Pull(kernel::PULL) = "step pull",
        /// One push of the own chunk's frontier.
        Push(kernel::PUSH) = "step dense push",
        /// Everything by tiles or near-far, redundantly.
        LongPaths = "step long paths",
        /// Everything to the end, in one launch with the other GPUs.
        Joint(kernel::JOINT) = "step joint push-pull",
    }
}

/// What is known of the frontier: the same on all replicas.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrontierInfo {
    pub nodes: u64,
    /// Arcs out of it; 0 where they were not counted.
    pub arcs: u64,
    /// Smallest distance in it.
    pub lowest: f32,
}

impl Default for FrontierInfo {
    fn default() -> Self {
        FrontierInfo { nodes: 0, arcs: 0, lowest: f32::INFINITY }
    }
}

impl FrontierInfo {
    /// That of so many seeds.
    pub fn of(seeds: usize) -> FrontierInfo {
        FrontierInfo { nodes: seeds as u64, arcs: 0, lowest: 0.0 }
    }

    /// Both together.
    pub fn and(self, other: FrontierInfo) -> FrontierInfo {
        FrontierInfo {
            nodes: self.nodes + other.nodes,
            arcs: self.arcs + other.arcs,
            lowest: self.lowest.min(other.lowest),
        }
    }
}

/// What a step found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepResult {
    /// The frontier that it left.
    pub left: FrontierInfo,
    pub relaxed: u64,
    pub rounds: u64,
    /// Entries that a device step left in its log.
    pub logged: u64,
}

/// Everything that a step is told beside the state.
pub(super) struct StepTask {
    pub task: Task,
    pub known: FrontierInfo,
    /// Nodes that the step is for.
    pub chunk: Range<u64>,
    pub thresholds: Thresholds,
    /// Width of a window.
    pub delta: f32,
    pub together: Together<5>,
    /// Where a GPU says what it found.
    pub place: usize,
}

/// When push-pull turns, in arcs out of the frontier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thresholds {
    /// Push turns to pull above.
    pub pull_above: u64,
    /// Pull turns to push at this many or fewer.
    pub push_below: u64,
}

replicated_arrays! {
    /// The replicated state, for so many nodes.
    pub(super) struct State of usize {
        /// `[n]`, by label.
        dist: Replicated<f32> = "dist", Min, |nodes| *nodes;
        front: Frontier = "frontier", Or, |nodes| *nodes;
        next: Frontier = "frontier", Or, |nodes| *nodes;
    }
}

replicated_arrays! {
    /// In what a pull changed travels, for so many nodes with arcs.
    pub(super) struct Changes of usize {
        /// distance << 32 | node, the replicas' lists one after another.
        list: Replicated<u64> = "changed", Gather, |active| active / SPARSE + 1;
    }
}

/// A pull's changes travel as a list when they are fewer than one node in this many: eight bytes each are then at most
/// half of what the chunks' distances take.
pub(super) const SPARSE: usize = 4;

/// One replica's part of an exchange of [`Changes`].
pub(super) struct Exchange {
    /// The own list.
    pub own: Range<u64>,
    /// Entries of all lists.
    pub total: u64,
    /// The nodes that the own pull was for.
    pub chunk: Range<u64>,
    /// Writes the own list; else takes the others' over.
    pub pack: bool,
}

impl State {
    pub fn swap(&mut self) {
        std::mem::swap(&mut self.front, &mut self.next);
    }
}

/// How a search goes, decided once from the graph, the fleet and the options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Plan {
    /// By tiles or near-far, redundantly.
    LongPaths(Widths),
    /// Push-pull by every replica alone, after windows of this width on a graph without hubs.
    Redundant { window: Option<f32> },
    /// Push-pull by GPUs that meet by themselves and cut pulls, and the windows before them where there are any.
    Joint { window: Option<f32> },
    /// Push-pull with pulls cut by chunk, led by the host.
    Cut,
    /// The textbook loop.
    Dense,
}

/// Up to so many replicas on the host search near-far where there are no hubs, each for itself on its share of the cores. More
/// would repeat so much that push-pull, whose pulls they share, is taken to cost less.
const HOST_REPEATS: usize = 2;
/// Windows of so many mean weights: wide enough to fill a GPU, narrow enough to waste little.
const NEAR_FAR_WEIGHTS: f64 = 16.0;
/// The same on the host, a mean degree's part of it: windows that two threads fill. On flat graphs, whose windows are narrow, more
/// threads have wider ones: their width grows with the root of their number.
const HOST_WEIGHTS: f64 = 8.0;
/// The same by tiles: a tile is crossed in a window, as it takes longer to come to the next tile than to search one.
const TILES_WEIGHTS: f64 = 64.0;

impl Widths {
    /// Those that follow from weights, on GPUs or on replicas that have so many threads of the host.
    pub fn of_weights(layout: &WeightedLayout, threads: Option<usize>) -> Widths {
        let mean_degree = layout.out.arc_count() as f64 / layout.active.max(1) as f64;
        let wider =
            |threads: usize| if layout.flat { (threads as f64 / 2.0).max(1.0).sqrt() } else { 1.0 };
        let host = |threads| wider(threads) * HOST_WEIGHTS / mean_degree.max(1.0);
        let width = |weights: f64| (weights * layout.mean_weight) as f32;
        let near_far = width(threads.map_or(NEAR_FAR_WEIGHTS, host));
        Widths { near_far, tiles: width(TILES_WEIGHTS) }
    }
}

impl Plan {
    pub fn new(layout: &WeightedLayout, config: &SsspConfig, fleet: &Fleet) -> Plan {
        let (world, cuda) = (fleet.world(), fleet.info().backend == "cuda");
        let joint = fleet.info().can_join();
        let window = window(layout).filter(|_| config.delta == Choice::Auto);
        let near_far = layout.flat || (window.is_some() && !cuda && world <= HOST_REPEATS);
        let widths = match config.delta {
            Choice::Is(delta) => {
                Some(Widths { near_far: delta, tiles: delta }).filter(|_| delta.is_finite())
            }
            Choice::Auto => near_far.then(|| Widths::of_weights(layout, fleet.info().threads())),
        };
        let window = window.filter(|_| cuda);
        match (config.run.merge, widths) {
            (MergeMode::Dense, _) => Plan::Dense,
            (_, Some(widths)) => Plan::LongPaths(widths),
            (MergeMode::Split, None) if joint => Plan::Joint { window },
            (MergeMode::Auto, None) if joint && joining_pays(layout, window) => {
                Plan::Joint { window }
            }
            // What redundant windows leave depends on the schedule, and cut pulls need states that are equal.
            (MergeMode::Auto, None) if window.is_some() => Plan::Redundant { window },
            (MergeMode::Split, None) if world > 1 => Plan::Cut,
            (MergeMode::Auto, None) if world > 1 && cutting_pays(layout, world, cuda) => Plan::Cut,
            _ => Plan::Redundant { window },
        }
    }

    /// Widths of windows, where there are windows to the end.
    pub fn widths(self) -> Option<Widths> {
        match self {
            Plan::LongPaths(widths) => Some(widths),
            _ => None,
        }
    }

    /// The width of the windows that are pushed, if any are.
    pub fn window(self) -> Option<f32> {
        match self {
            Plan::Redundant { window } | Plan::Joint { window } => window,
            _ => None,
        }
    }
}

/// What [`EVEN`] is if weights are coarse: if a window would be narrower than the lightest arc.
const VERY_EVEN: f64 = 0.25;
/// Arcs from which windows are worth their meetings.
const WORTH_WINDOWS: u64 = if cfg!(test) { 1 } else { 1 << 23 };

/// The width of the windows in which a graph without hubs is pushed. `None` if it has hubs, or labels that do not fall by degree;
/// and if all weights are the same, as push-pull then finds one distance a round. With a mean degree of d and a mean weight of w,
/// the number of nodes within a distance grows by a factor of e about every 2 w / d; a window is half of that.
fn window(layout: &WeightedLayout) -> Option<f32> {
    let arcs = layout.out.arc_count();
    let width = layout.mean_weight * layout.active as f64 / arcs.max(1) as f64;
    let least = if width < f64::from(layout.lightest) { VERY_EVEN } else { EVEN };
    let no_hubs = layout.evenness() >= least && !all_alike(layout) && arcs >= WORTH_WINDOWS;
    // Windows of whole weights begin and end at whole distances.
    let width = if layout.out.arcs.packing().is_some() { width.floor().max(1.0) } else { width };
    (no_hubs && width > 0.0).then_some(width as f32)
}

/// Nodes from which the longest rows are pulled alone first.
const INNER_NODES: usize = 1 << 18;
/// Mean weights over mean degrees from which they are, in lightest weights: where distances are so fine, most improve many times.
const INNER_FINE: f64 = 3.0;

/// Whether pulling the longest rows alone first saves more arcs than it looks at twice, where arcs are not packed.
pub(super) fn inner_pays(layout: &WeightedLayout) -> bool {
    let mean_degree = layout.out.arc_count() as f64 / layout.active.max(1) as f64;
    let fine = layout.mean_weight / mean_degree > INNER_FINE * f64::from(layout.lightest);
    layout.active >= INNER_NODES && fine
}

/// What a pull costs at most, in arcs, from which sharing it saves more than meetings take.
const JOINT_PULL: u64 = 1 << 27;
/// What a pull of a node costs beside its arcs: its distance and the head of its row are read.
const NODE_ARCS: u64 = 32;
/// The same where all weights are the same: there are few pulls.
const JOINT_PULL_ALIKE: u64 = 3 << 26;
/// Arcs of a graph from which sharing windows saves more than meetings take, where weights are coarse: a window pushes most arcs
/// of its rows.
const JOINT_COARSE: u64 = 1 << 26;
/// The same for other weights.
const JOINT_FINE: u64 = 1 << 28;

/// Whether all weights are the same.
fn all_alike(layout: &WeightedLayout) -> bool {
    layout.mean_weight <= f64::from(layout.lightest)
}

/// Whether GPUs that can launch jointly gain by it, where windows of such a width come before pulls, or none.
fn joining_pays(layout: &WeightedLayout, window: Option<f32>) -> bool {
    let arcs = layout.out.arc_count();
    match window {
        None => {
            let least = if all_alike(layout) { JOINT_PULL_ALIKE } else { JOINT_PULL };
            arcs + NODE_ARCS * layout.active as u64 >= least
        }
        // The cap lies at least `CAP_MORE` windows ahead.
        Some(width) if layout.mean_weight <= f64::from(kernel::CAP_MORE * width) => {
            arcs >= JOINT_COARSE
        }
        Some(_) => arcs >= JOINT_FINE,
    }
}

/// Microseconds, estimated: what cutting pulls saves a node, what the exchange costs a node, and what launches and
/// meetings cost at all.
const CUT_SAVES: f64 = 0.06e-3;
const CUT_EXCHANGE: f64 = 0.03e-3;
const CUT_MEETINGS: f64 = 600.0;

/// Whether cutting pulls by chunk costs less than it saves. Replicas on the host share the cores, so redundant work is
/// never free there.
fn cutting_pays(layout: &WeightedLayout, world: usize, cuda: bool) -> bool {
    let nodes = layout.active as f64;
    let saved = nodes * CUT_SAVES * (1.0 - 1.0 / world as f64);
    !cuda || saved > CUT_MEETINGS + nodes * CUT_EXCHANGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetConfig;
    use crate::generate::generate;
    use crate::io::LoadOptions;
    use crate::layout::PrepareOptions;

    /// A graph with such weights.
    fn weighted(spec: &str, weights: &str) -> WeightedLayout {
        let options = LoadOptions { weights: weights.parse().unwrap(), ..LoadOptions::default() };
        let graph = crate::io::load_with(spec, &options).unwrap();
        WeightedLayout::new(&graph, PrepareOptions::default()).unwrap()
    }

    fn uniform(weights: &str) -> WeightedLayout {
        weighted("uniform:2^12", weights)
    }

    #[test]
    fn few_host_replicas_search_near_far_where_there_are_no_hubs() {
        for (spec, few, several) in [
            ("uniform:2^12", true, false),
            ("rmat:14,params=gtgraph", true, false),
            ("grid:50x60", true, true),
            ("road:10", true, true),
            ("chain:3000", true, true),
            ("rmat:14", false, false),
            ("star:5000", false, false),
        ] {
            let graph = generate(spec).unwrap();
            let layout = WeightedLayout::new(&graph, PrepareOptions::default()).unwrap();
            // A window is eight mean weights over the mean degree.
            let rows = (0..graph.nodes()).filter(|v| graph.degree(*v) > 0);
            let (nodes, arcs) = (rows.clone().count() as f64, graph.arcs() as f64);
            let weights: f64 =
                rows.flat_map(|v| graph.neighbors(v)).map(|arc| f64::from(arc.1)).sum();
            for (devices, wanted) in [("host:1", few), ("host:2", few), ("host:3", several)] {
                let of =
                    FleetConfig { devices: devices.parse().unwrap(), ..FleetConfig::default() };
                let fleet = Fleet::open(of).unwrap();
                let plan = |config: &SsspConfig| Plan::new(&layout, config, &fleet);
                let width = plan(&SsspConfig::default()).widths().map(|widths| widths.near_far);
                let threads = fleet.info().threads().unwrap() as f64;
                let wider = if layout.flat { (threads / 2.0).max(1.0).sqrt() } else { 1.0 };
                let eight = (8.0 * wider * (weights / arcs) / (arcs / nodes)) as f32;
                assert_eq!(width.is_some(), wanted, "{spec} on {devices}");
                assert!(width.is_none_or(|width| (width / eight - 1.0).abs() < 1e-5), "{spec}");
                let asked = SsspConfig { delta: Choice::Is(3.0), ..SsspConfig::default() };
                assert_eq!(plan(&asked).widths().map(|widths| widths.near_far), Some(3.0));
                let asked = SsspConfig { delta: Choice::Is(f32::INFINITY), ..asked };
                assert_eq!(plan(&asked).widths(), None, "{spec}");
            }
        }
    }

    #[test]
    fn gpus_join_for_large_graphs() {
        let layout = |spec: &str| {
            WeightedLayout::new(&generate(spec).unwrap(), PrepareOptions::default()).unwrap()
        };
        for (spec, wanted) in [
            ("rmat:16", false),
            ("rmat:16,ef=64", false),
            ("star:2^20", false),
            ("star:2^22", true),
        ] {
            assert_eq!(joining_pays(&layout(spec), None), wanted, "{spec}");
        }
        for (weights, wanted) in [("unit", false), ("random:0-1000000:1", true)] {
            let layout = weighted("star:2^22", weights);
            assert_eq!(joining_pays(&layout, None), wanted, "{weights}");
        }
        let small = uniform("random:1-8:1");
        assert!(window(&small).is_some() && !joining_pays(&small, window(&small)));
    }

    /// As it was measured on an H200, for R-MAT 20 to 27.
    #[test]
    fn the_longest_rows_are_pulled_alone_first_where_distances_are_fine() {
        for (spec, weights, wanted) in [
            ("rmat:19", "random:1-64:1", false),
            ("rmat:19", "random:1-1000:1", true),
            ("rmat:19", "random:0.0-1.0:1", true),
            ("rmat:14", "random:0.0-1.0:1", false),
        ] {
            assert_eq!(inner_pays(&weighted(spec, weights)), wanted, "{spec}, {weights}");
        }
    }

    #[test]
    fn no_windows_are_pushed_where_all_weights_are_the_same() {
        for weights in ["unit", "random:7-7:1"] {
            assert_eq!(window(&uniform(weights)), None, "{weights}");
        }
    }

    #[test]
    fn windows_are_for_graphs_without_hubs() {
        for (spec, wanted) in [
            ("uniform:2^12", Some(1.0)),
            ("uniform:2^12,ef=4", None),
            ("uniform:2^12,ef=6", Some(2.0)),
            ("rmat:14,params=gtgraph", Some(1.0)),
            ("rmat:14", None),
            ("rmat:12,ef=64", None),
            ("star:5000", None),
            ("chain:3000", None),
            ("grid:50x60", None),
            ("road:10", None),
        ] {
            let layout =
                WeightedLayout::new(&generate(spec).unwrap(), PrepareOptions::default()).unwrap();
            assert_eq!(window(&layout), wanted, "{spec}");
        }
    }
}
