//! Device memory, array by array, by the lengths with which arrays are allocated, so that the needs of a graph
//! are known before it is uploaded, or even loaded.
//!
//! The CUDA context, kernels and NCCL's own buffers are not counted but allowed for by [`CONTEXT_BYTES`]; nor are 4 bytes a
//! seed.

use super::rows::is_wide;
use super::weighted_rows::{self as layout, WeightedLayout};
use super::{Form, Layout, Placement, PrepareOptions};
use crate::device::kernels::{deal::TILE, queue};
use crate::device::{DeviceInfo, GRANULE, MEETING_WORDS, footprint};
use crate::fleet::FleetInfo;
use crate::graph::Graph;
use serde::Serialize;

/// An allowance for the CUDA context, kernels and NCCL on each GPU: 1 GiB, an estimate.
pub const CONTEXT_BYTES: u64 = 1 << 30;

/// What the sizes of device arrays depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GraphShape {
    /// Nodes of the graph.
    pub nodes: u64,
    /// Nodes that the layout has rows for.
    pub active: u64,
    /// Arcs without self loops.
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
    /// Degrees are flat and small: long paths are expected, and searched by tiles or near-far.
    pub flat: bool,
}

/// An array on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeviceArray {
    /// What it holds.
    pub label: &'static str,
    /// Bytes of the device's memory, with padding.
    pub bytes: u64,
}

impl DeviceArray {
    /// `[length] T`.
    pub(crate) fn new<T>(label: &'static str, length: usize) -> DeviceArray {
        DeviceArray { label, bytes: footprint(length * size_of::<T>()) as u64 }
    }
}

impl GraphShape {
    /// Of `graph`, laid out with weights as `choice` says, but not for the textbook loop. The layout itself is not made.
    pub fn of_weighted(graph: &Graph, choice: Layout) -> GraphShape {
        Self::of_rows(graph, graph.is_symmetric(), choice.into())
    }

    /// Of `graph`, laid out without weights as `choice` says.
    pub fn of_topology(graph: &Graph, choice: Layout) -> GraphShape {
        Self::of_rows(graph, graph.is_undirected(), choice.into())
    }

    /// Of `graph` in `form`.
    pub(crate) fn of_form(graph: &Graph, form: Form, options: PrepareOptions) -> GraphShape {
        match form.is_topology() {
            true => Self::of_topology(graph, options.layout),
            false => Self::of_rows(graph, graph.is_symmetric(), options),
        }
    }

    /// `symmetric`: rows are held once, and labels follow from out-degrees.
    fn of_rows(graph: &Graph, symmetric: bool, options: PrepareOptions) -> GraphShape {
        let into = if symmetric { None } else { graph.in_degrees() };
        let sketch = layout::sketch(graph, into.as_deref(), options);
        let self_loops = graph.self_loops();
        let kept = graph.origin.policies.keeps_duplicates();
        GraphShape {
            nodes: graph.nodes() as u64,
            active: sketch.active as u64,
            arcs: graph.arcs() - self_loops,
            self_loops,
            repeats: if kept { graph.origin.duplicates } else { 0 },
            symmetric,
            weighted: graph.is_weighted(),
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
            // Arcs of a graph without weights weigh 1.
            weighted: true,
            packed: layout.out.arcs.packing().is_some(),
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

    /// Whether degrees may be flat and small, by their mean.
    pub(crate) fn may_be_flat(&self) -> bool {
        self.all_arcs() as f64 <= layout::FLAT_MEAN * self.nodes as f64
    }

    /// Arcs, with self loops.
    pub(crate) fn all_arcs(&self) -> u64 {
        self.arcs + self.self_loops
    }

    /// Lengths of one direction's rows.
    pub(crate) fn rows(&self) -> RowsLengths {
        RowsLengths {
            offsets: (self.active as usize + 1) * if is_wide(self.arcs) { 2 } else { 1 },
            arcs: self.arcs as usize * if self.packed { 1 } else { 2 },
            records: self.active as usize * if self.packed { 4 } else { 8 },
        }
    }

    /// Bytes of the graph and its layout on the host, which replicas share.
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

/// Entries of the queue of small frontiers.
pub(crate) const QUEUE: usize = queue::QUEUE as usize;
/// Words in which kernels of many rounds count and meet; no kernel needs all of them.
pub(crate) const CONTROL: usize = MEETING_WORDS + 32;

/// The arrays that all GPUs hold once together where a graph is sharded.
const SHARDED: [&str; 4] = ["arcs", "first-neighbour records", "columns", "weights"];

/// The offsets of rows, which all GPUs have.
const OFFSETS: &str = "row offsets";

/// `arrays` as one of `world` replicas holds them under `placement`. Of a sharded array it has a part, as if chunks were
/// equal, and a granule that it may share.
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

/// Bytes of what a workload needs beside the rows of its layout.
pub(crate) fn beside_rows(arrays: &[DeviceArray]) -> u64 {
    let rows = |array: &&DeviceArray| array.label == OFFSETS || SHARDED.contains(&array.label);
    total(arrays) - arrays.iter().filter(rows).map(|array| array.bytes).sum::<u64>()
}

/// Rows without weights, both ways where they differ.
pub(crate) fn topology(shape: &GraphShape) -> Vec<DeviceArray> {
    unweighted(shape, shape.active).repeat(if shape.symmetric { 1 } else { 2 })
}

/// Rows as they were loaded, without weights.
pub(crate) fn plain(shape: &GraphShape) -> Vec<DeviceArray> {
    unweighted(shape, shape.nodes)
}

/// Rows as they were loaded, with the weights that there are, both ways where they differ.
pub(crate) fn general(shape: &GraphShape) -> Vec<DeviceArray> {
    let mut rows = plain(shape);
    if shape.weighted {
        rows.push(DeviceArray::new::<f32>("weights", shape.all_arcs() as usize));
    }
    rows.repeat(if shape.symmetric { 1 } else { 2 })
}

/// So many rows without weights.
fn unweighted(shape: &GraphShape, rows: u64) -> Vec<DeviceArray> {
    let wide = if is_wide(shape.all_arcs()) { 2 } else { 1 };
    vec![
        DeviceArray::new::<u32>(OFFSETS, (rows as usize + 1) * wide),
        DeviceArray::new::<u32>("columns", shape.all_arcs() as usize),
    ]
}

/// Most tiles of long rows that a round of `kernels/deal.cuh` lists, in both directions of a graph of `arcs` arcs: a row of
/// more than a tile takes at most twice its share.
pub(crate) fn tiles(arcs: u64) -> usize {
    (4 * arcs / u64::from(TILE)) as usize + 2
}

/// Bytes of memory that every replica has for its arrays.
pub(crate) fn room(fleet: &FleetInfo) -> u64 {
    let gpus = fleet.gpus();
    let of = |device: &DeviceInfo| {
        let sharers = gpus.iter().filter(|other| **other == device.gpu()).count() as u64;
        let bytes = device.memory_bytes.saturating_sub(CONTEXT_BYTES);
        bytes.min(fleet.memory_limit.unwrap_or(u64::MAX)) / sharers.max(1)
    };
    fleet.devices.iter().map(of).min().unwrap_or(0)
}

/// Half of the memory that arrays of `used` bytes leave a replica: a generator's arcs and operators' arrays are there, too.
pub(crate) fn half_left(fleet: &FleetInfo, used: u64) -> u64 {
    room(fleet).saturating_sub(used) / 2
}

/// Bytes of all arrays together.
pub fn total(arrays: &[DeviceArray]) -> u64 {
    arrays.iter().map(|array| array.bytes).sum()
}

/// Rows with weights, both ways where they differ.
pub(crate) fn weighted(shape: &GraphShape) -> Vec<DeviceArray> {
    let RowsLengths { offsets, arcs, records } = shape.rows();
    let one = [
        DeviceArray::new::<u32>(OFFSETS, offsets),
        DeviceArray::new::<u32>("arcs", arcs),
        DeviceArray::new::<u32>("first-neighbour records", records),
    ];
    one.repeat(if shape.symmetric { 1 } else { 2 })
}

/// What a layout is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArcsFrom {
    /// Arrays of the host.
    Host,
    /// Columns that GPUs have made; weights are hashes of both ends.
    Gpus,
    /// Arcs without weights are drawn where they are laid out; others are the host's.
    Draws,
}

/// Bytes that a GPU of one of `world` replicas holds at the peak while it lays out a graph of this shape, without weights and
/// with them. Where a GPU has less, the host lays out.
pub fn laying_out(
    shape: &GraphShape,
    placement: Placement,
    world: usize,
    from: ArcsFrom,
) -> [u64; 2] {
    let peak = |weights, from| super::on_device::least_peak(shape, weights, placement, world, from);
    let weighted = if from == ArcsFrom::Draws { ArcsFrom::Host } else { from };
    [peak(false, from), peak(true, weighted)]
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
        for spec in
            ["rmat:11", "rmat:14", "grid:40x50", "star:3000", "chain:2000", "road:11", "geo:3000"]
        {
            graphs.push(crate::generate::generate(spec).unwrap());
        }
        for graph in &graphs {
            for (choice, textbook) in [
                (Layout::Auto, false),
                (Layout::Auto, true),
                (Layout::Raw, false),
                (Layout::Degree, true),
            ] {
                let options = PrepareOptions { textbook, ..choice.into() };
                let layout = WeightedLayout::new(graph, options).unwrap();
                let shape = GraphShape::of_form(graph, Form::Weighted, options);
                let name = &graph.origin.dataset;
                let counted = GraphShape { self_loops: 0, repeats: 0, weighted: true, ..shape };
                assert_eq!(counted, GraphShape::of_weighted_layout(&layout), "{name} {choice}");
                let rows = shape.rows();
                assert_eq!(rows.arcs * 4, layout.out.arcs.bytes() as usize, "{name} {choice}");
                assert_eq!(rows.offsets, layout.out.offsets.len(), "{name} {choice}");
                let all = Columns::new(graph, choice).unwrap();
                let shape = GraphShape::of_form(graph, Form::Topology, options);
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
    fn what_a_run_needs_beside_rows_leaves_rows_out() {
        for shape in [
            GraphShape::at_most(1000, 5000, true, None),
            GraphShape::at_most(1000, 5000, false, Some((1, 64))),
        ] {
            for mut arrays in [weighted(&shape), topology(&shape), plain(&shape), general(&shape)] {
                assert_eq!(beside_rows(&arrays), 0);
                arrays.push(DeviceArray::new::<u32>("dist", 1000));
                assert_eq!(beside_rows(&arrays), footprint(4000) as u64);
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
        let graph = graph.kept(Keep::SIMPLE).unwrap();
        assert_eq!((graph.origin.self_loops, arcs(&graph)), (5000, (10, 0)));
    }

    #[test]
    fn more_than_32_bits_of_arcs_take_wide_offsets() {
        let shape = |arcs| GraphShape::at_most(1000, arcs, true, None).rows().offsets;
        assert_eq!((shape((1 << 32) - 2), shape((1 << 32) - 1)), (1001, 2002));
    }
}
