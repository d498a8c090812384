//! Breadth-first searches from many sources at a time. Pushes are operators; pulls have code of their own for GPUs and for hosts.
//!
//! **Idea.** Up to 1,024 sources are searched from together. A node has a bit for each, which says whether the source has reached it.
//! In a level a node takes over the bits of its neighbours: those that are new say how many sources are at that distance. A level
//! with few arcs is pushed, from nodes with new bits; another one is pulled, by each word that lacks some bit, until it lacks none. Bits
//! of sources that reached nobody in the last level are not waited for.
//!
//! On GPUs a word of a node is pulled by a thread of its own (`kernels/lanes.cu`). The words of a node lie beside each other, as its
//! threads do, so that a GPU reads them together. Long rows are cut into pieces, each pulled by itself. On hosts a thread pulls all words
//! of a node.
//!
//! **Invariant.** After level k bit i of `seen[v]` is set if and only if v is within k arcs of source i, and bit i of `visit[v]` if it is
//! at exactly k. What a node adds up in a level depends on these alone, so nothing depends on the order of work.
//!
//! **Source.** Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann, Vo, "The more the merrier: efficient multi-source graph
//! traversal", PVLDB 8(4), 2014 (bits for sources).

mod cuda;
mod host;
mod lambdas;
mod shape;

use super::arrays::{OnReplicas, replicated_arrays};
use super::frame::{Log, operators};
use crate::collective::{Frontier, Marked, Marks, MergeOp, Replicated};
use crate::device::kernels::lanes::{APART, COUNTERS, MET, NODES, PIECE, SPREAD};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Resident, is_flat_graph};
use crate::operator::{Advance, Args, Over};
use cuda::Pulls;
use lambdas::Lambdas;
pub(super) use shape::{LaneShape, MOST};
use std::ops::Range;

/// Where the frontier has more than one in so many nodes, the bits of all nodes are cleared in less time than those of its own.
const FORGOTTEN: u64 = 16;

/// Levels that are queued before it is looked at what they found, where paths are long.
const LEVELS: u64 = 16;

/// A push looks at the arcs of the frontier, each with an atomic; a pull looks at no more than all arcs. It is pulled where
/// the frontier has more than one in so many of them, on GPUs and on hosts.
const PULLED: [u64; 2] = [4, 32];

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    nodes: usize,
    sources: usize,
    /// Of a node.
    words: usize,
    /// Most pieces of rows behind the first ones.
    pieces: usize,
}

impl Sizes {
    fn new((nodes, arcs): (u64, u64), sources: usize, shape: LaneShape) -> Sizes {
        let (nodes, pieces) = (nodes as usize, (arcs / u64::from(PIECE)) as usize);
        Sizes { nodes, sources, words: shape.words(), pieces }
    }
}

replicated_arrays! {
    /// The replicated state.
    pub(super) struct State of Sizes {
        /// `[sources]` nodes.
        sources: Replicated<u32> = "sources", Gather, |s| s.sources;
        /// `[n, words]` sources that have reached a node, one bit each; so have those that the batch lacks.
        seen: Replicated<u64> = "seen", Gather, |s| s.nodes * s.words;
        /// `[n, words]` those that have in the last level.
        visit: Replicated<u64> = "visit", Gather, |s| s.nodes * s.words;
        /// `[n, words]` those that do in this level.
        next: Replicated<u64> = "next visit", Gather, |s| s.nodes * s.words;
        /// `[words]` the sources that reached anybody in the last level: nobody will hear of others.
        past: Replicated<u64> = "past sources", Gather, |s| s.words;
        /// `[SPREAD, words]` those that do in this level.
        found: Replicated<u64> = "found sources", Gather, |s| SPREAD as usize * s.words;
        /// Counters that nodes with new bits add to.
        work: Replicated<u64> = "work", Gather, |_| (COUNTERS * APART) as usize;
        /// `[pieces, 2]` the node, and the number of the piece of its row.
        pieces: Replicated<u32> = "pieces of rows", Gather, |s| 2 * s.pieces;
        /// `[pieces]` nodes whose rows have more than one piece.
        longs: Replicated<u32> = "long rows", Gather, |s| s.pieces;
        /// `[n]` the sum of distances.
        far: Replicated<u64> = "far", Sum, |s| s.nodes;
        /// `[n]` the sum of 1 / distance, in units.
        harmonic: Replicated<u64> = "harmonic", Sum, |s| s.nodes;
        /// `[n]` sources at a finite distance above 0.
        reached: Replicated<u32> = "reached", Sum, |s| s.nodes;
        /// `[n]` the largest distance.
        farthest: Replicated<u32> = "farthest", Max, |s| s.nodes;
    }
}

/// What one source at distance 1 adds to a harmonic sum of fixed unit: sums of as many as there are nodes are below 2^63.
pub(super) fn unit(nodes: usize) -> u64 {
    1 << (63 - (nodes as u64 + 1).next_power_of_two().trailing_zeros())
}

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(
    graph: &GraphShape,
    sources: usize,
    shape: LaneShape,
    world: usize,
) -> Vec<DeviceArray> {
    let nodes = graph.nodes as usize;
    let mut all = State::list(Sizes::new((graph.nodes, graph.arcs), sources, shape), world);
    let marks = Marks::words_of(Marked::Lines, nodes.div_ceil(64));
    for label in ["front", "next front"] {
        all.extend(Frontier::specs(label, nodes, MergeOp::Or, world));
        all.push(DeviceArray::new::<u32>("marks of a set", marks));
    }
    all
}

/// The searches of a replica.
pub(super) struct Lanes<'a> {
    g: &'a Resident,
    pub sources: &'a [u32],
    pub shape: LaneShape,
    /// Bits go against the arcs.
    backward: bool,
    pub state: State,
    /// Pieces of rows behind the first ones, and rows that have any.
    pieces: [u64; 2],
    /// Nodes with new bits, of the last level and of this one.
    front: Frontier,
    told: Frontier,
    /// `visit` may hold bits.
    is_visited: bool,
    /// `next` may hold bits of an earlier level.
    is_stale: bool,
    lambdas: Lambdas,
    /// On GPUs.
    pulls: Option<Pulls>,
    /// It runs on a GPU, and paths are long.
    is_long: bool,
    /// How many pairs of a source and a node are so many levels apart, counted since the reset; where that is wanted.
    pub levels: Option<Vec<u64>>,
}

/// What a level has found: its number, the nodes with new bits, and `[n, words]` these bits.
pub(super) struct Level<'s> {
    pub number: u32,
    pub nodes: &'s Frontier,
    pub bits: &'s Replicated<u64>,
}

/// How much a level has found.
#[derive(Default)]
struct Work {
    /// Nodes with new bits.
    nodes: u64,
    /// Arcs out of them.
    arcs: u64,
    /// New bits: pairs of a source and a node.
    met: u64,
}

/// Where a pull says what it has found beside [`State`], and how it counts.
struct Found<'s> {
    /// The nodes with new bits.
    told: &'s mut Frontier,
    level: u32,
    /// What one source adds to a harmonic sum.
    share: u64,
    /// log2 of the words of a node.
    shift: u32,
}

impl<'a> Lanes<'a> {
    /// Searches along the arcs of `g`, or `backward`. A meeting of all replicas, since the first use of a lambda is one, and replicas
    /// will not make the same steps.
    pub fn new(
        r: &mut Replica,
        g: &'a Resident,
        (sources, shape): (&'a [u32], LaneShape),
        backward: bool,
    ) -> Result<Lanes<'a>> {
        let (graph, rank) = (g.graph(), r.rank());
        let sizes = Sizes::new((graph.nodes() as u64, graph.arcs()), sources.len(), shape);
        let mut state = State::allocate(r, sizes)?;
        state.sources.assign(sources)?;
        let front = r.frontier("front", sizes.nodes, MergeOp::Or)?;
        let told = r.frontier("next front", sizes.nodes, MergeOp::Or)?;
        let backward = backward && !graph.is_symmetric();
        let pulls = match &mut r.backend {
            Backend::Cuda(device) => Some(Pulls::new(device, g.on_device(rank)?)?),
            Backend::Host(_) => None,
        };
        let lambdas = Lambdas::new();
        let args = Args::new()
            .scalar("backward", u32::from(backward))
            .writes("pieces", &mut state.pieces)
            .writes("longs", &mut state.longs)
            .writes("count", &mut state.work);
        r.for_all("cut", Over::nodes(g).whole(), &lambdas.cut, args)?;
        let counts = r.read(&state.work)?;
        let pieces = [counts[0], counts[1]];
        let is_long = pulls.is_some() && is_flat_graph(graph);
        let (is_visited, is_stale) = (false, false);
        Ok(Lanes {
            g,
            sources,
            shape,
            backward,
            state,
            pieces,
            front,
            told,
            is_visited,
            is_stale,
            lambdas,
            pulls,
            is_long,
            levels: None,
        })
    }

    /// Uses each lambda once, those of `found` among them. What it leaves is reset.
    pub fn meet(
        &mut self,
        r: &mut Replica,
        mut found: impl FnMut(&mut Replica, Level) -> Result<()>,
    ) -> Result<()> {
        self.start(r, 0..0)?;
        self.push(r, (1, 0), 0)?;
        self.pull(r, 1, 0)?;
        found(r, Level { number: 0, nodes: &self.told, bits: &self.state.next })
    }

    /// Nobody has heard of any source.
    pub fn reset(&mut self, r: &mut Replica) -> Result<()> {
        self.levels.iter_mut().for_each(Vec::clear);
        let State { far, harmonic, reached, farthest, .. } = &mut self.state;
        r.fill("far", far, 0)?;
        r.fill("harmonic", harmonic, 0)?;
        r.fill("reached", reached, 0)?;
        r.fill("farthest", farthest, 0)
    }

    /// What is searched.
    pub fn graph(&self) -> &'a Resident {
        self.g
    }

    /// Searches from these sources, no more than there are lanes, up to a level, and adds up what nodes find. Each level's work ends with
    /// `found`.
    pub fn search(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        (batch, limit): (Range<usize>, u32),
        mut found: impl FnMut(&mut Replica, Level) -> Result<()>,
    ) -> Result<()> {
        let unit = unit(self.g.graph().nodes());
        let Work { mut nodes, mut arcs, .. } = operators((r, log, "step start"), |r| {
            self.start(r, batch.clone())?;
            self.counted(r)
        })?;
        self.is_visited = true;
        // Where paths are long a look at what a level has found takes as long as the level.
        let host = matches!(r.backend, Backend::Host(_));
        let (long, pulled) = (self.is_long, PULLED[usize::from(host)]);
        let levels = if long && self.levels.is_none() { LEVELS } else { 1 };
        let mut level = 0u32;
        while level < limit {
            let levels = levels.min(u64::from(limit - level));
            let pull = !long && arcs * pulled > self.g.graph().arcs();
            let looked = if pull { self.g.graph().arcs() } else { arcs };
            let name = if pull { "step pull" } else { "step push" };
            let counted = operators((r, log, name), |r| {
                for _ in 0..levels {
                    level += 1;
                    let share = (unit + u64::from(level) / 2) / u64::from(level);
                    r.fill("work", &mut self.state.work, 0)?;
                    match pull {
                        true => self.pull(r, level, share)?,
                        false => self.push(r, (level, share), nodes)?,
                    }
                    let (nodes, bits) = (&self.told, &self.state.next);
                    found(r, Level { number: level, nodes, bits })?;
                    std::mem::swap(&mut self.front, &mut self.told);
                    std::mem::swap(&mut self.state.visit, &mut self.state.next);
                }
                self.counted(r)
            })?;
            log.book(name, (levels, looked), (nodes, arcs), "none");
            if let Some(levels) = &mut self.levels {
                levels.resize(levels.len().max(level as usize + 1), 0);
                levels[level as usize] += counted.met;
            }
            Work { nodes, arcs, .. } = counted;
            if nodes == 0 {
                self.is_visited = false;
                break;
            }
        }
        Ok(())
    }

    /// How much the last level has found. It waits.
    fn counted(&self, r: &mut Replica) -> Result<Work> {
        let counters = r.read(&self.state.work)?;
        let each = counters.chunks(APART as usize);
        let add = |sum: Work, counter: &[u64]| Work {
            nodes: sum.nodes + (counter[0] >> NODES),
            arcs: sum.arcs + (counter[0] & ((1 << NODES) - 1)),
            met: sum.met + counter[MET as usize],
        };
        Ok(each.fold(Work::default(), add))
    }

    /// The sources of a batch have reached themselves, and nobody else.
    fn start(&mut self, r: &mut Replica, batch: Range<usize>) -> Result<()> {
        let State { sources, seen, visit, past, found, work, .. } = &mut self.state;
        let shift = self.shape.shift;
        r.fill("seen", seen, 0)?;
        if self.is_visited {
            r.fill("visit", visit, 0)?;
        }
        if batch.len() < 64 * self.shape.words() {
            let args = Args::new()
                .scalar("shift", shift)
                .scalar("count", batch.len() as u64)
                .writes("seen", &mut *seen);
            let all = Over::elements(self.g.graph().nodes() << shift).whole();
            r.for_all("lack", all, &self.lambdas.lack, args)?;
        }
        r.clear("front", &mut self.front)?;
        r.fill("past sources", past, 0)?;
        r.fill("found sources", found, 0)?;
        r.fill("work", work, 0)?;
        let args = Args::new()
            .scalar("shift", shift)
            .scalar("backward", u32::from(self.backward))
            .reads("sources", sources)
            .scalar("first", batch.start as u64)
            .writes("seen", seen)
            .writes("visit", visit)
            .writes("past", past)
            .writes_set("front", &mut self.front)
            .writes("work", work);
        let over = Over::range(0..batch.len()).with(self.g);
        r.for_all("start", over, &self.lambdas.start, args)
    }

    /// Nodes with new bits, about as many as `nodes`, tell their neighbours. It leaves `visit` empty, which becomes the `next` of the
    /// next level.
    fn push(&mut self, r: &mut Replica, (level, share): (u32, u64), nodes: u64) -> Result<()> {
        let Lanes { g, backward, shape, state, front, told, is_stale, lambdas, .. } = self;
        r.clear("next front", told)?;
        let State { seen, visit, next, .. } = &mut *state;
        if std::mem::take(is_stale) {
            r.fill("next visit", next, 0)?;
        }
        let over = Over::frontier(g, front).whole();
        let args = Args::new()
            .scalar("shift", shape.shift)
            .reads("visit", visit)
            .reads("seen", seen)
            .writes("next", next);
        let how = Advance { backward: *backward, ..Advance::default() };
        r.advance("tell", over, &lambdas.tell, args, how.output(told))?;
        if nodes * FORGOTTEN > g.graph().nodes() as u64 {
            r.fill("visit", visit, 0)?;
        } else {
            let args = Args::new().scalar("shift", shape.shift).writes("visit", visit);
            r.for_all("forget", over, &lambdas.forget, args)?;
        }
        let State { next, seen, found, far, harmonic, reached, farthest, work, .. } = state;
        let args = Args::new()
            .scalar("shift", shape.shift)
            .scalar("backward", u32::from(*backward))
            .scalar("level", level)
            .scalar("share", share)
            .reads("next", next)
            .writes("seen", seen)
            .writes("found", found)
            .writes("far", far)
            .writes("harmonic", harmonic)
            .writes("reached", reached)
            .writes("farthest", farthest)
            .writes("work", work);
        r.for_all("take", Over::frontier(g, told).whole(), &lambdas.take, args)?;
        self.gather(r)
    }

    /// Nodes that lack some bit ask their neighbours. It leaves `visit` as it was.
    fn pull(&mut self, r: &mut Replica, level: u32, share: u64) -> Result<()> {
        let Lanes { g, backward, shape, state, pieces, told, pulls, .. } = self;
        let mut found = Found { told, level, share, shift: shape.shift };
        match pulls {
            Some(pulls) => {
                let graph = g.on_device(r.rank())?;
                pulls.pull(r, graph, (*backward, *pieces), state, &mut found)?;
            }
            None => {
                let rows_in = || Error::machine("rows backward are not there; this is a bug");
                let mut rows = [g.rows_in().ok_or_else(rows_in)?, &**g.graph()];
                if *backward {
                    rows.reverse();
                }
                host::pull(r, rows, state, &mut found)?;
            }
        }
        self.is_stale = true;
        self.gather(r)
    }

    /// Which sources have reached anybody in this level.
    fn gather(&mut self, r: &mut Replica) -> Result<()> {
        let Lanes { shape, state: State { found, past, .. }, lambdas, .. } = self;
        let args =
            Args::new().scalar("shift", shape.shift).writes("found", found).writes("past", past);
        r.for_all("gather", Over::range(0..shape.words()), &lambdas.gather, args)
    }
}
