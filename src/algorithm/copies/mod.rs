//! Searches from many sources at once on a GPU, in graphs of small degrees and long paths: near-far over a copy of the graph a source.
//!
//! **Idea.** One search leaves a GPU idle most of the time. Copies share the rows, and each has distances of its own. A place is a node of
//! a copy. One launch searches all copies to the end, and in each of its rounds all of them go on (`kernels/near_far.cu`).
//!
//! **Source.** Near-far: Davidson, Baxter, Garland, Owens, "Work-efficient parallel GPU methods for single-source shortest paths", IPDPS
//! 2014, section 4.

mod matrix;

use super::arrays::{device_arrays, replicated_arrays};
use super::batches::most_of_batch;
use super::frame::{Log, operators};
use super::long_paths::{NearFar, Places, Rows, Search, Searched};
use super::sssp::rows_of;
use crate::choice::Choice;
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::{Backend, Fleet, Replica};
use crate::layout::memory::{self, CONTROL, DeviceArray, GraphShape, total};
use crate::layout::{Prepared, WeightedGraph, is_flat_graph};
use crate::operator::{Args, Lambda, Over, lambda};
pub(super) use matrix::{matrix, matrix_arrays};
use std::ops::Range;
use std::sync::Arc;

/// Most copies: more of them take as long for each source.
const MOST: usize = 1024;
/// Least copies: fewer searches take less time one after another.
const LEAST: usize = 8;
/// One place in so many is taken to be near at once.
const NEAR: usize = 8;
/// Rounds of a block by itself: where all blocks have work they need not run ahead far.
const LOCAL_ROUNDS: u32 = 8;
/// Most places, which have 32 bits.
const PLACES: usize = 1 << 31;

/// What counts as the distance between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    /// The least sum of weights.
    Weight,
    /// The least number of arcs.
    Arcs,
}

/// Width of a window in mean weights, and in arcs.
const WEIGHTS: f64 = 24.0;
const ARCS: f32 = 32.0;

/// What searches are made in.
#[derive(Clone)]
pub(super) struct Copied {
    pub graph: Arc<WeightedGraph>,
    pub shape: CopyShape,
    pub distance: Distance,
    /// Against the arcs.
    pub backward: bool,
}

impl Copied {
    /// If `parts` replicas search from so many sources sooner in copies than elsewhere: on GPUs, where degrees are small and alike.
    /// At most `asked` at a time. `beside` are other arrays with so many copies.
    pub fn new(
        (fleet, graph): (&Fleet, &Prepared),
        (sources, parts, asked): (usize, usize, Choice<u32>),
        beside: impl Fn(usize) -> Vec<DeviceArray>,
        (distance, backward): (Distance, bool),
    ) -> Result<Option<Copied>> {
        let (all, own) = (graph.graph(), sources.div_ceil(parts));
        if fleet.info().backend != "cuda" || own < LEAST || !is_flat_graph(all) {
            return Ok(None);
        }
        // Both forms of the graph are there.
        let (nodes, arcs) = (all.nodes() as u64, all.arcs());
        let most = GraphShape::at_most(nodes, arcs, all.is_symmetric(), None);
        let forms = total(&memory::weighted(&most)) + total(&memory::general(&most));
        let room = memory::half_left(fleet.info(), forms);
        let Some(shape) = CopyShape::new((all.nodes(), own, asked), beside, room) else {
            return Ok(None);
        };
        let rows = graph.weighted(fleet)?;
        let flat = rows.layout.flat;
        Ok(flat.then_some(Copied { graph: rows, shape, distance, backward }))
    }

    fn rows(&self, rank: usize) -> Result<Rows> {
        let mut rows = rows_of(self.graph.on_device(rank)?, self.backward);
        rows.of.weighted = self.distance == Distance::Weight;
        Ok(rows)
    }

    fn width(&self) -> f32 {
        match self.distance {
            Distance::Weight => (WEIGHTS * self.graph.layout.mean_weight) as f32,
            Distance::Arcs => ARCS,
        }
    }

    /// Where these nodes lie.
    pub fn labels(&self, nodes: &[u32]) -> Vec<u32> {
        nodes.iter().map(|node| self.graph.layout.label(*node)).collect()
    }
}

/// How many copies there are, and how far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CopyShape {
    /// A place is `copy << shift | node`.
    pub shift: u32,
    pub copies: usize,
}

impl CopyShape {
    /// For at most so many sources in a graph of so many nodes, in so much `room`, `beside` other arrays. Nothing where fewer than
    /// [`LEAST`] fit.
    fn new(
        (nodes, sources, asked): (usize, usize, Choice<u32>),
        beside: impl Fn(usize) -> Vec<DeviceArray>,
        room: u64,
    ) -> Option<CopyShape> {
        let shift = nodes.next_power_of_two().max(32).trailing_zeros();
        let fits = |copies: &usize| {
            let shape = CopyShape { shift, copies: *copies };
            let bytes = total(&shape.arrays()) + total(&beside(*copies));
            shape.places() <= PLACES && bytes <= room
        };
        // The same number for batches of the same length.
        let batches = sources.div_ceil(most_of_batch(asked, MOST)).max(1);
        let copies =
            std::iter::successors(Some(sources.div_ceil(batches)), |n| Some(n.div_ceil(2)));
        let copies = copies.take_while(|copies| *copies >= LEAST).find(fits)?;
        Some(CopyShape { shift, copies })
    }

    fn places(self) -> usize {
        self.copies << self.shift
    }

    /// Device arrays of a replica. No estimate has them, since with less room there are fewer copies, or none.
    fn arrays(self) -> Vec<DeviceArray> {
        let near = NearFar::list(self.places() / NEAR);
        [State::list(self.places(), 1), Arrays::list(()), near].concat()
    }
}

replicated_arrays! {
    /// What searches leave in so many places.
    struct State of usize {
        /// `[places]` distances, the bits of f32 or levels.
        dist: Replicated<u32> = "distances of copies", Gather, |s| *s;
        /// `[places]` bits: where searches begin, and what they put off.
        pending: Replicated<u32> = "pending", Gather, |s| s.div_ceil(32);
    }
}

device_arrays! {
    /// What searches need beside.
    struct Arrays of () {
        control: u64 = "control", |_| CONTROL;
    }
}

/// Source number i of a batch is at distance 0 in its copy. Others than `active` nodes have no arcs.
#[lambda]
fn start(
    i: u64,
    sources: Reads<u32>,
    first: u64,
    shift: u64,
    active: u32,
    dist: Writes<u32>,
    pending: Writes<u32>,
) {
    let source = sources[first + i];
    let place = (i << shift) + source as u64;
    dist[place] = 0_u32;
    if source < active {
        pending.or(place / 32_u64, 1_u32 << (place % 32_u64) as u32);
    }
}

/// A replica's searches.
pub(super) struct Copies {
    shape: CopyShape,
    rows: Rows,
    /// Of a window.
    width: f32,
    /// What there is where there is no path.
    unreached: u32,
    near_far: NearFar,
    arrays: Arrays,
    state: State,
    start: Lambda<()>,
}

impl Copies {
    /// The copies of a replica.
    pub fn new(r: &mut Replica, copied: &Copied) -> Result<Copies> {
        let (shape, rows, width) = (copied.shape, copied.rows(r.rank())?, copied.width());
        let places = shape.places();
        let device = r.device_mut()?;
        let mask = (1 << shape.shift) - 1;
        let over =
            Places { count: places as u32, mask, near: places / NEAR, local_rounds: LOCAL_ROUNDS };
        let near_far = NearFar::over(device, &rows, over)?;
        let arrays = Arrays::allocate(device, ())?;
        let state = State::allocate(r, places)?;
        let unreached = if rows.of.weighted { f32::INFINITY.to_bits() } else { u32::MAX };
        let start = start();
        Ok(Copies { shape, rows, width, unreached, near_far, arrays, state, start })
    }

    /// Queues searches from a part of `sources`, nodes by label. The first use is a meeting.
    pub fn search(
        &mut self,
        r: &mut Replica,
        sources: &Replicated<u32>,
        batch: Range<usize>,
    ) -> Result<()> {
        let Copies { shape, rows, state: State { dist, pending }, .. } = self;
        r.fill("copies", dist, self.unreached)?;
        r.fill("pending", pending, 0)?;
        let args = Args::new()
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .scalar("shift", u64::from(shape.shift))
            .scalar("active", rows.of.nodes)
            .writes("dist", dist)
            .writes("pending", pending);
        r.for_all("start", Over::range(0..batch.len()), &self.start, args)?;
        if batch.is_empty() {
            return Ok(());
        }
        let Backend::Cuda(device) = &r.backend else { return Ok(()) };
        let search = Search {
            dist: dist.on_device()?,
            pending: pending.on_device()?,
            control: self.arrays.control.zeroed()?,
            unreached: self.unreached,
            log: 0,
            width: self.width,
        };
        self.near_far.launch(device, rows, &search)
    }

    /// The same as a step, to its end.
    pub fn searched(
        &mut self,
        (r, log): (&mut Replica, &mut Log),
        sources: &Replicated<u32>,
        batch: Range<usize>,
    ) -> Result<()> {
        let many = batch.len() as u64;
        operators((r, log, "step searches"), |r| self.search(r, sources, batch))?;
        let Searched { rounds, relaxed, .. } = self.near_far.found(r.device()?)?;
        log.book("step searches", (rounds, relaxed), (many, 0), "none");
        Ok(())
    }

    /// `[copies << shift]` distances, the bits of f32 or levels, by place.
    pub fn distances(&self) -> &Replicated<u32> {
        &self.state.dist
    }

    /// Whether distances are by weight, and f32.
    pub fn is_weighted(&self) -> bool {
        self.rows.of.weighted
    }

    /// Where a place has its node.
    pub fn shift(&self) -> u32 {
        self.shape.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_of_one_length_and_as_many_copies_as_fit() {
        let shape = |nodes, sources, room| {
            let shape = CopyShape::new((nodes, sources, Choice::Auto), |_| Vec::new(), room);
            shape.map(|shape| (shape.shift, shape.copies))
        };
        assert_eq!(shape(1000, 8, u64::MAX), Some((10, 8)));
        assert_eq!(shape(1025, 1024, u64::MAX), Some((11, 1024)));
        assert_eq!(shape(1, 2100, u64::MAX), Some((5, 700)));
        assert_eq!(shape(1000, 7, u64::MAX), None);
        // Places have 32 bits.
        assert_eq!(shape(1 << 25, 1024, u64::MAX), Some((25, 64)));
        assert_eq!(shape(1 << 28, 1024, u64::MAX), Some((28, 8)));
        assert_eq!(shape((1 << 28) + 1, 1024, u64::MAX), None);
        // Six bytes a place, and something.
        assert_eq!(shape(1 << 20, 64, 300 << 20), Some((20, 32)));
        assert_eq!(shape(1 << 20, 64, 32 << 20), None);
    }

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if crate::operator::has_nvrtc() {
            start().compile("sm_90").unwrap();
        }
    }
}
