//! Device memory, array by array: the lengths that the code that allocates uses, so that what a graph
//! needs can be told before anything is uploaded, or even loaded.
//!
//! What is not counted: the CUDA context, kernels and NCCL's own buffers, for which
//! [`CONTEXT_BYTES`] stands in, and 4 bytes a seed.

use super::weighted_rows::{self as layout, WeightedLayout};
use super::{Form, Layout, Placement};
use crate::collective::nccl;
use crate::device::{GRANULE, MEETING_WORDS, footprint};
use crate::graph::Graph;
use serde::Serialize;

/// An allowance for the CUDA context, kernels and NCCL on each GPU: 1 GiB, by hand and not measured.
pub const CONTEXT_BYTES: u64 = 1 << 30;

/// A pull's changes travel as a list when they are fewer than one node in this many: eight bytes each
/// are then at most half of what the chunks' distances take.
pub(crate) const SPARSE: usize = 4;

/// What the sizes of device arrays depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GraphShape {
    /// Nodes of the graph.
    pub nodes: u64,
    /// Nodes that the layout has rows for.
    pub active: u64,
    /// Arcs without self loops, which shortest paths leave out.
    pub arcs: u64,
    /// Arcs from a node to itself.
    pub self_loops: u64,
    /// Arcs beyond the first of each pair of nodes.
    pub repeats: u64,
    /// Rows are the same both ways and held once.
    pub symmetric: bool,
    /// Arcs have weights.
    pub weighted: bool,
    /// Column and weight of an arc share a word.
    pub packed: bool,
    /// Degrees are flat and small: near-far is chosen.
    pub flat: bool,
}

/// An array on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeviceArray {
    /// What it holds.
    pub label: &'static str,
    /// What it takes of the device's memory, padding included.
    pub bytes: u64,
}

impl DeviceArray {
    /// `[length] T`.
    pub(crate) fn new<T>(label: &'static str, length: usize) -> DeviceArray {
        DeviceArray { label, bytes: footprint(length * size_of::<T>()) as u64 }
    }
}

impl GraphShape {
    /// Of `graph`, laid out with weights as `choice` says; equal to that of the layout, which is not made.
    pub fn of_weighted(graph: &Graph, choice: Layout) -> GraphShape {
        Self::of_rows(graph, graph.is_symmetric(), choice)
    }

    /// Of `graph`, laid out without weights as `choice` says.
    pub fn of_topology(graph: &Graph, choice: Layout) -> GraphShape {
        Self::of_rows(graph, graph.is_undirected(), choice)
    }

    /// Of `graph` in `form`.
    pub(crate) fn of_form(graph: &Graph, form: Form, choice: Layout) -> GraphShape {
        match form {
            Form::Topology | Form::Simple => Self::of_topology(graph, choice),
            Form::Weighted | Form::Plain | Form::General | Form::Array => {
                Self::of_weighted(graph, choice)
            }
        }
    }

    /// `symmetric`: rows are held once, and the degrees that say how they are labelled are those out of a node.
    fn of_rows(graph: &Graph, symmetric: bool, choice: Layout) -> GraphShape {
        let into = if symmetric { None } else { graph.in_degrees() };
        let sketch = layout::sketch(graph, into.as_deref(), choice);
        let self_loops = graph.self_loops();
        let kept = graph.origin.policies.keeps_duplicates();
        GraphShape {
            nodes: graph.nodes() as u64,
            active: sketch.active as u64,
            arcs: graph.arcs() - self_loops,
            self_loops,
            repeats: if kept { graph.origin.duplicates } else { 0 },
            symmetric,
            weighted: graph.weights().is_some(),
            packed: sketch.packing.is_some(),
            flat: sketch.flat,
        }
    }

    pub(crate) fn of_weighted_layout(layout: &WeightedLayout) -> GraphShape {
        GraphShape {
            nodes: layout.nodes as u64,
            active: layout.active as u64,
            arcs: layout.out.arc_count(),
            self_loops: 0,
            repeats: 0,
            symmetric: layout.into.is_none(),
            // It has ones where the graph has none.
            weighted: true,
            packed: layout.out.arcs.packed().is_some(),
            flat: layout.flat,
        }
    }

    /// The most that `nodes` nodes and `arcs` arcs can need. `weights` are the least and the largest
    /// where they are known to be integers; `None` is any weights, (1, 1) none.
    pub fn at_most(
        nodes: u64,
        arcs: u64,
        symmetric: bool,
        weights: Option<(u32, u32)>,
    ) -> GraphShape {
        let packed =
            weights.is_some_and(|(low, high)| layout::word_fits(nodes, low, high).is_some());
        GraphShape {
            nodes,
            active: nodes,
            arcs,
            self_loops: 0,
            repeats: 0,
            symmetric,
            weighted: weights != Some((1, 1)),
            packed,
            flat: false,
        }
    }

    /// Self loops, too: arcs of graphs without weights.
    pub(crate) fn all_arcs(&self) -> u64 {
        self.arcs + self.self_loops
    }

    /// Lengths of one direction's rows.
    pub(crate) fn rows(&self) -> RowsLengths {
        let wide = self.arcs >= u64::from(u32::MAX);
        RowsLengths {
            offsets: (self.active as usize + 1) * if wide { 2 } else { 1 },
            arcs: self.arcs as usize * if self.packed { 1 } else { 2 },
            records: self.active as usize * if self.packed { 4 } else { 8 },
        }
    }

    /// Bytes that each replica's process shares on the host: the graph and its layout.
    pub fn host_bytes(&self, weighted: bool) -> u64 {
        let graph = 8 * (self.nodes + 1) + self.all_arcs() * if weighted { 8 } else { 4 };
        let rows = 8 * (self.active + 1) + self.arcs * if self.packed { 4 } else { 8 };
        let maps = 8 * self.nodes;
        graph + rows * if self.symmetric { 1 } else { 2 } + maps
    }
}

/// Lengths, in u32 words, of one direction's rows on a device.
pub(crate) struct RowsLengths {
    pub offsets: usize,
    pub arcs: usize,
    pub records: usize,
}

/// Lengths of what the steps of shortest paths need beside the replicated state.
pub(crate) struct WorkspaceLengths {
    /// `u64`
    pub parts: usize,
    /// `u32`
    pub slices: usize,
    /// `u32` nodes and distances, each.
    pub frontier: usize,
    /// `u64`
    pub degrees: usize,
    /// `u64`; 0 where none is made.
    pub near_queues: usize,
}

/// Entries of the queue of small frontiers, as in kernels/sssp.cu.
pub(crate) const QUEUE: usize = 2048;
/// Blocks that a step is taken to have resident: more than today's GPUs do.
const BLOCKS: usize = 1024;
/// Words that kernels of many rounds count and meet in; none needs all of them.
pub(crate) const CONTROL: usize = MEETING_WORDS + 32;

impl WorkspaceLengths {
    pub fn new(active: usize, blocks: usize, near_far: bool) -> WorkspaceLengths {
        WorkspaceLengths {
            parts: 2 * blocks,
            slices: blocks + 1,
            frontier: if near_far { 1 } else { active },
            degrees: if near_far { 1 } else { active + 1 },
            near_queues: if near_far { 2 * active.max(1024) } else { 0 },
        }
    }
}

/// The search in f64 gives a row of more arcs a block, and one of more than [`GIANT_ROW`] all blocks together.
pub(crate) const LONG_ROW: u64 = 256;
pub(crate) const GIANT_ROW: u64 = 16_384;

/// Lengths, in u32 words, of what the search in f64 needs beside rows and distances.
pub(crate) struct DoubleLengths {
    pub pending: usize,
    pub stamp: usize,
    pub queues: usize,
    pub giants: usize,
}

impl DoubleLengths {
    pub fn new(active: usize, arcs: u64) -> DoubleLengths {
        DoubleLengths {
            pending: active.div_ceil(32),
            stamp: active,
            queues: 2 * active,
            giants: 2 * ((arcs / GIANT_ROW) as usize).max(1),
        }
    }
}

/// Entries of the lists in which changes travel.
pub(crate) fn changed(active: usize) -> usize {
    active / SPARSE + 1
}

/// The arrays of shortest paths and vertex nomination on one GPU of `world` replicas: rows, replicated
/// state, workspace. Near-far, push-pull and the search in f64 differ by little; the largest is told.
pub fn shortest_paths(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let alone = |near_far| {
        let mut arrays = rows(shape);
        arrays.extend(state(shape, world));
        arrays.extend(workspace(shape, near_far));
        arrays
    };
    let double = {
        let lengths = DoubleLengths::new(shape.active as usize, shape.arcs);
        let mut arrays = rows(shape);
        arrays.extend([
            DeviceArray::new::<f64>("dist in f64", shape.nodes as usize),
            DeviceArray::new::<u32>("seeds", 1),
            DeviceArray::new::<u32>("far pile", lengths.pending),
            DeviceArray::new::<u32>("rounds of nodes", lengths.stamp),
            DeviceArray::new::<u32>("queues", lengths.queues),
            DeviceArray::new::<u32>("giant rows", lengths.giants),
            DeviceArray::new::<u64>("control", CONTROL),
        ]);
        arrays
    };
    [alone(false), alone(true), double].into_iter().max_by_key(|all| total(all)).unwrap_or_default()
}

/// The arrays that lie once over all GPUs where a graph is sharded.
const SHARDED: [&str; 4] = ["arcs", "first-neighbour records", "columns", "weights"];

/// `arrays` as one of `world` replicas holds them under `placement`; of a sharded one its part, were chunks
/// equal, and a granule of 2 MiB that may straddle.
pub fn placed(arrays: Vec<DeviceArray>, placement: Placement, world: usize) -> Vec<DeviceArray> {
    let part = |array: DeviceArray| match placement {
        Placement::Sharded if SHARDED.contains(&array.label) => {
            let bytes = array.bytes.div_ceil(world as u64).next_multiple_of(GRANULE) + GRANULE;
            DeviceArray { bytes, ..array }
        }
        _ => array,
    };
    arrays.into_iter().map(part).collect()
}

/// The arrays of geolocation on one GPU: rows as they are, state, queue. Most nodes unlocated and most arcs
/// out of long rows are reckoned with.
pub fn geolocation(shape: &GraphShape, _: usize) -> Vec<DeviceArray> {
    let (nodes, arcs) = (shape.nodes as usize, shape.all_arcs() as usize);
    let wide = if shape.all_arcs() >= u64::from(u32::MAX) { 2 } else { 1 };
    let words = nodes.div_ceil(32);
    vec![
        DeviceArray::new::<u32>("row offsets", (nodes + 1) * wide),
        DeviceArray::new::<u32>("columns", arcs),
        DeviceArray::new::<u32>("neighbours of long rows", arcs),
        DeviceArray::new::<f64>("position", 4 * nodes),
        DeviceArray::new::<f64>("found", 3 * nodes),
        DeviceArray::new::<u32>("wave", nodes),
        DeviceArray::new::<u32>("located neighbours", nodes),
        DeviceArray::new::<u32>("queue", nodes),
        DeviceArray::new::<u32>("given", words),
        DeviceArray::new::<u32>("located", words),
    ]
}

/// Rows without weights, both ways where they differ.
pub(crate) fn topology(shape: &GraphShape) -> Vec<DeviceArray> {
    let wide = if shape.all_arcs() >= u64::from(u32::MAX) { 2 } else { 1 };
    let one = [
        DeviceArray::new::<u32>("row offsets", (shape.active as usize + 1) * wide),
        DeviceArray::new::<u32>("columns", shape.all_arcs() as usize),
    ];
    one.repeat(if shape.symmetric { 1 } else { 2 })
}

/// Teams of multiprocessors that divide segments of PageRank, where a graph has enough of these and nobody asks for others.
pub(crate) const SEGMENT_TEAMS: usize = 4;

/// The arrays of PageRank on one GPU, by its default strategies; skewed graphs as if no arc found room in a segment and
/// runs were of two arcs.
pub fn pagerank(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let (active, arcs) = (shape.active as usize, shape.all_arcs() as usize);
    let mut arrays = topology(shape);
    arrays.extend([
        DeviceArray::new::<f32>("value", active + 128),
        DeviceArray::new::<f32>("value", active + 128),
        DeviceArray::new::<f32>("rank", active),
        DeviceArray::new::<f32>("rank", active),
        DeviceArray::new::<f32>("degrees", active),
    ]);
    if !shape.flat {
        arrays.extend([
            DeviceArray::new::<f32>("segment sums", SEGMENT_TEAMS * active),
            DeviceArray::new::<u32>("segment arcs", arcs.div_ceil(world)),
            DeviceArray::new::<u16>("segment marks", arcs.div_ceil(8 * world)),
            DeviceArray::new::<u32>("segment rows", arcs.div_ceil(2 * world)),
        ]);
    }
    arrays
}

/// Tiles of long rows that one round of `kernels/deal.cuh` may list, for a graph of `arcs` arcs: a row of more than a
/// tile's 1024 takes at most twice its share; both ways.
pub(crate) fn tiles(arcs: u64) -> usize {
    (arcs / 256) as usize + 2
}

/// Bytes of all arrays together.
pub fn total(arrays: &[DeviceArray]) -> u64 {
    arrays.iter().map(|array| array.bytes).sum()
}

/// Bytes of the replicated state alone: what a replica on the host holds beside the graph.
pub fn state_bytes(shape: &GraphShape, world: usize) -> u64 {
    total(&state(shape, world))
}

fn rows(shape: &GraphShape) -> Vec<DeviceArray> {
    let RowsLengths { offsets, arcs, records } = shape.rows();
    let one = [
        DeviceArray::new::<u32>("row offsets", offsets),
        DeviceArray::new::<u32>("arcs", arcs),
        DeviceArray::new::<u32>("first-neighbour records", records),
    ];
    one.repeat(if shape.symmetric { 1 } else { 2 })
}

fn state(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let words = (shape.nodes as usize).div_ceil(64);
    let mut arrays = vec![
        DeviceArray::new::<f32>("dist", shape.nodes as usize),
        DeviceArray::new::<u64>("frontier", words),
        DeviceArray::new::<u64>("frontier", words),
    ];
    if world > 1 {
        arrays.push(DeviceArray::new::<u64>("changed", changed(shape.active as usize)));
        let slices = nccl::slices(words as u64, size_of::<u64>() as u64, world as u64);
        arrays.push(DeviceArray::new::<u64>("or slices", slices));
    }
    arrays
}

fn workspace(shape: &GraphShape, near_far: bool) -> Vec<DeviceArray> {
    let lengths = WorkspaceLengths::new(shape.active as usize, BLOCKS, near_far);
    let mut arrays = vec![
        DeviceArray::new::<u32>("seeds", 1),
        DeviceArray::new::<u32>("queue", 4 * QUEUE),
        DeviceArray::new::<u64>("parts", lengths.parts),
        DeviceArray::new::<u32>("slices", lengths.slices),
        DeviceArray::new::<u64>("control", CONTROL),
        DeviceArray::new::<u32>("frontier list", lengths.frontier),
        DeviceArray::new::<u32>("frontier distances", lengths.frontier),
        DeviceArray::new::<u64>("frontier degrees", lengths.degrees),
    ];
    if near_far {
        arrays.push(DeviceArray::new::<u64>("near queues", lengths.near_queues));
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;
    use crate::graph::build::Keep;
    use crate::layout::Columns;

    fn directed() -> Graph {
        // Self loops, duplicates, isolated nodes, weights that do not pack.
        let sources: Vec<u32> = (0..5000).map(|i| i * 7 % 900).collect();
        let targets: Vec<u32> = (0..5000).map(|i| i * i % 901).collect();
        let weights: Vec<f32> = (0..5000).map(|i| i as f32 * 0.3).collect();
        Graph::from_arcs(1000, &sources, &targets, Some(&weights), Origin::default()).unwrap()
    }

    /// There and back weigh otherwise; one node has 40 neighbours, most have none.
    fn uneven() -> Graph {
        let (sources, targets): (Vec<u32>, Vec<u32>) =
            (1..=40).flat_map(|v| [(0, v), (v, 0)]).unzip();
        let weights: Vec<f32> = (0..80).map(|i| if i % 2 == 0 { 1.5 } else { 2.5 }).collect();
        Graph::from_arcs(3000, &sources, &targets, Some(&weights), Origin::default()).unwrap()
    }

    #[test]
    fn a_graph_s_shape_is_its_layout_s() {
        let mut graphs = vec![directed(), uneven()];
        for spec in ["rmat:11", "grid:40x50", "star:3000", "chain:2000", "road:11", "geo:3000"] {
            graphs.push(crate::generate::generate(spec).unwrap());
        }
        for graph in &graphs {
            for choice in [Layout::Auto, Layout::Raw, Layout::Degree] {
                let layout = WeightedLayout::new(graph, choice).unwrap();
                let shape = GraphShape::of_weighted(graph, choice);
                let name = &graph.origin.dataset;
                let counted = GraphShape { self_loops: 0, repeats: 0, weighted: true, ..shape };
                assert_eq!(counted, GraphShape::of_weighted_layout(&layout), "{name} {choice}");
                let rows = shape.rows();
                assert_eq!(rows.arcs * 4, layout.out.arcs.bytes() as usize, "{name} {choice}");
                assert_eq!(rows.offsets, layout.out.offsets.len(), "{name} {choice}");
                let all = Columns::new(graph, choice).unwrap();
                let shape = GraphShape::of_topology(graph, choice);
                let found = (shape.active, shape.flat, shape.symmetric);
                let made = (all.active as u64, all.flat, all.into.is_none());
                assert_eq!(found, made, "{name} {choice}");
                let rows = topology(&shape);
                assert_eq!(rows[1].bytes, footprint(4 * all.out.arcs() as usize) as u64);
                assert_eq!(rows.len(), if made.2 { 2 } else { 4 }, "{name} {choice}");
            }
        }
    }

    #[test]
    fn self_loops_count_where_they_are() {
        let ends: Vec<u32> = (0..5000).chain(0..10).collect();
        let heads: Vec<u32> = (0..5000).chain(1..11).collect();
        let arcs = |graph: &Graph| {
            let shape = GraphShape::of_weighted(graph, Layout::Auto);
            (shape.arcs, shape.self_loops)
        };
        let graph = Graph::from_arcs(5000, &ends, &heads, None, Origin::default()).unwrap();
        assert_eq!(arcs(&graph), (10, 5000));
        assert_eq!(arcs(&graph.clone().largest_component(Keep::ALL)), (10, 11));
        // Counted, and dropped.
        let graph = graph.kept((Keep::SIMPLE, false)).unwrap();
        assert_eq!((graph.origin.self_loops, arcs(&graph)), (5000, (10, 0)));
    }

    #[test]
    fn what_a_specification_promises_is_never_less_than_what_its_graph_needs() {
        for spec in ["rmat:11", "uniform:3000", "torus:20x30", "star:3000", "road:12", "geo:3000"] {
            let size = crate::generate::size(spec).unwrap();
            let weights = Some(size.weights.unwrap_or((1, 1)));
            let most = GraphShape::at_most(size.nodes, size.arcs, true, weights);
            let graph = crate::generate::generate(spec).unwrap();
            let real = GraphShape::of_weighted(&graph, Layout::Auto);
            for world in [1, 4] {
                let (most, real) = (shortest_paths(&most, world), shortest_paths(&real, world));
                assert!(total(&most) >= total(&real), "{spec}");
            }
        }
    }

    #[test]
    fn more_than_32_bits_of_arcs_take_wide_offsets() {
        let shape = |arcs| GraphShape::at_most(1000, arcs, true, None).rows().offsets;
        assert_eq!((shape((1 << 32) - 2), shape((1 << 32) - 1)), (1001, 2002));
    }

    #[test]
    fn sharded_arcs_are_held_once_and_the_rest_by_every_replica() {
        let shape = GraphShape::at_most(1 << 20, 1 << 26, true, Some((1, 64)));
        let whole = shortest_paths(&shape, 4);
        let arcs = rows(&shape)[1].bytes + rows(&shape)[2].bytes;
        let part = total(&placed(whole.clone(), Placement::Sharded, 4));
        assert_eq!(total(&placed(whole.clone(), Placement::Replicated, 4)), total(&whole));
        let saved = total(&whole) - part;
        assert!((arcs / 4 * 3 - (8 << 20)..arcs / 4 * 3).contains(&saved), "{saved} of {arcs}");
    }

    #[test]
    fn directed_graphs_hold_rows_both_ways_and_more_replicas_hold_lists() {
        let shape = GraphShape::at_most(1 << 20, 1 << 24, true, Some((1, 64)));
        let both = GraphShape { symmetric: false, ..shape };
        let bytes = |shape: &GraphShape, world| total(&shortest_paths(shape, world));
        assert_eq!(bytes(&both, 1) - bytes(&shape, 1), total(&rows(&shape)));
        assert!(bytes(&shape, 4) - bytes(&shape, 1) >= (2 << 20) + (1 << 17));
        // 64 MiB of arcs, 16 of records, 4 of offsets and distances, 16 of workspace: all in 2 MiB grains.
        assert!((104 << 20..120 << 20).contains(&bytes(&shape, 1)), "{}", bytes(&shape, 1));
    }
}
