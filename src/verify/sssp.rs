//! Checks shortest paths: distances to the bit, predecessors and nominees exactly.
//!
//! **Distances.** Write x (+) w for fl(x + w), the sum rounded to nearest in f32, or in f64 for distances in f64. It is
//! monotone in x and, for w >= 0, never smaller than x. So the shortest distances are unique (docs/design.md,
//! "Semantics"), and distances `dist` are the shortest if and only if
//!
//! 1. every seed has distance +0;
//! 2. no arc u -> v can be relaxed: `dist[u] (+) w >= dist[v]`, so no distance is too high;
//! 3. a chain of *tight* arcs, `dist[v] == dist[u] (+) w`, leads from a seed to every node with a finite distance, so none
//!    is too low, not even on a cycle of weight 0;
//! 4. every other node has +inf.
//!
//! One breadth-first search over tight arcs checks 2 and 3 together. It visits the nodes that have a chain and looks at
//! all their arcs. If 4 holds, these are all arcs that could be relaxed.
//!
//! **Predecessors.** The same search gives each node a key (level << 32 | tail) and merges keys by MIN. A node's key ends as
//! its level and the smallest node of the previous level with a tight arc to it.
//!
//! **Nominees** take a second search. They are right if and only if no tight arc could lower one (`nominee[v] <= nominee[u]`
//! and `nominee[s] <= s`, so none is too high), and a chain of tight arcs between equal nominees leads to every reached
//! node from the seed that they name, so none is too low.

mod gpu;
mod levels;

use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Key of a node that no tight chain has reached.
const UNSEEN: u64 = u64::MAX;
/// Key of a seed: level 0; it is its own predecessor.
const SEED: u64 = u32::MAX as u64;
/// A predecessor or nominee that is not there.
const NONE: u32 = u32::MAX;

/// A distance in f32 or f64.
trait Distance: Copy + PartialOrd + std::fmt::Debug + Send + Sync {
    const INFINITE: Self;
    const ZERO: Self;

    /// fl(self + weight).
    fn over(self, weight: f32) -> Self;

    /// The bits, which order non-negative distances as the distances are ordered.
    fn bits(self) -> u64;

    fn from_bits(bits: u64) -> Self;

    /// As f64, which holds it.
    fn wide(self) -> f64;

    /// Whether the node is reached: a number from +0 on.
    fn is_proper(self) -> bool {
        self.bits() < Self::INFINITE.bits()
    }
}

impl Distance for f32 {
    const INFINITE: f32 = f32::INFINITY;
    const ZERO: f32 = 0.0;

    fn over(self, weight: f32) -> f32 {
        self + weight
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    fn from_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }

    fn wide(self) -> f64 {
        self.into()
    }
}

impl Distance for f64 {
    const INFINITE: f64 = f64::INFINITY;
    const ZERO: f64 = 0.0;

    fn over(self, weight: f32) -> f64 {
        self + f64::from(weight)
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    fn wide(self) -> f64 {
        self
    }
}

/// What a check that passed has seen.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PathsCheck {
    /// Nodes with a finite distance, seeds included.
    pub reached: u64,
    /// Arcs out of those nodes.
    pub reached_arcs: u64,
    /// Largest finite distance.
    pub max_distance: f64,
    /// Arcs out of reached nodes whose sum, distance plus weight, overflows to +inf.
    pub overflowed_arcs: u64,
    /// Whether predecessors were there and were checked.
    pub predecessors: bool,
    /// Whether nominees were there and were checked.
    pub nominees: bool,
    /// Milliseconds that the check took.
    pub ms: f64,
}

/// What is checked, `[n]` each.
#[derive(Debug, Clone, Copy)]
pub struct PathsFound<'a> {
    /// Distances; +inf where none reaches.
    pub distances: &'a [f32],
    /// The same in f64, where they were found in f64.
    pub distances_f64: Option<&'a [f64]>,
    /// Predecessors, where they are there.
    pub predecessors: Option<&'a [u32]>,
    /// Nominees, where they are there.
    pub nominees: Option<&'a [u32]>,
}

/// Certifies that `answer` holds the shortest distances from `seeds` (node indices, any order), in f64 where it has those and
/// else in f32, and the predecessors and nominees of docs/design.md, "Semantics", where it has them.
///
/// Takes one pass over the arcs of reached nodes, two with nominees, 8 bytes a node, in parallel.
///
/// # Errors
///
/// [`Error::Verify`] names the lowest wrong node by the input's id, the value found and the value
/// that belongs there. To name it, a failed check computes the right answer with one thread.
/// [`Error::Input`] when there is no seed or a seed is not a node.
pub fn sssp(graph: &Graph, seeds: &[u32], answer: &PathsFound<'_>) -> Result<PathsCheck> {
    let begin = Instant::now();
    let seeds = distinct_seeds(graph, seeds)?;
    check_lengths(graph, answer)?;
    let mut checked = match answer.distances_f64 {
        None => certified(graph, &seeds, answer.distances, answer)?,
        Some(distances) => {
            let checked = certified(graph, &seeds, distances, answer)?;
            rounded_right(graph, answer.distances, distances)?;
            checked
        }
    };
    checked.ms = begin.elapsed().as_secs_f64() * 1e3;
    Ok(checked)
}

/// Checks distances of one width, and what follows from them.
fn certified<D: Distance>(
    graph: &Graph,
    seeds: &[u32],
    dist: &[D],
    answer: &PathsFound<'_>,
) -> Result<PathsCheck> {
    let check = Check { graph, seeds, dist };
    let tight = check.tight_levels();
    if !check.distances_hold(&tight) {
        return Err(check.explain_distances());
    }
    if let Some(predecessors) = answer.predecessors {
        check.predecessors(&tight, predecessors)?;
    }
    if let Some(nominees) = answer.nominees
        && !check.nominees_hold(nominees)
    {
        return Err(check.explain_nominees(nominees));
    }
    let (reached, reached_arcs, max_distance) = check.totals();
    Ok(PathsCheck {
        reached,
        reached_arcs,
        max_distance,
        overflowed_arcs: tight.overflowed_arcs,
        predecessors: answer.predecessors.is_some(),
        nominees: answer.nominees.is_some(),
        ms: 0.0,
    })
}

/// Whether `narrow` is `wide` in f32, to nearest.
fn rounded_right(graph: &Graph, narrow: &[f32], wide: &[f64]) -> Result<()> {
    let differs = |v: usize| narrow[v].to_bits() != (wide[v] as f32).to_bits();
    match super::first_by_id(graph, differs) {
        None => Ok(()),
        Some(v) => Err(Error::Verify(format!(
            "shortest paths, node {}: distance {:?} in f32 is not {:?} to nearest",
            graph.id(v as u32),
            narrow[v],
            wide[v]
        ))),
    }
}

/// Compares two distance arrays bit by bit and names the first difference.
///
/// # Errors
///
/// [`Error::Verify`] with the lowest index that differs, both values and both bit patterns.
pub fn distances_bits_equal(a: &[f32], b: &[f32]) -> Result<()> {
    if a.len() != b.len() {
        let lengths = format!("{} against {}", a.len(), b.len());
        return Err(Error::Verify(format!("the distances differ in length: {lengths} nodes")));
    }
    let differs = |(x, y): (&f32, &f32)| x.to_bits() != y.to_bits();
    match a.par_iter().zip(b).position_first(differs) {
        None => Ok(()),
        Some(v) => Err(Error::Verify(format!(
            "the distances differ first at index {v}: {:?} (0x{:08x}) against {:?} (0x{:08x})",
            a[v],
            a[v].to_bits(),
            b[v],
            b[v].to_bits()
        ))),
    }
}

fn distinct_seeds(graph: &Graph, seeds: &[u32]) -> Result<Vec<u32>> {
    let mut distinct = seeds.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    match distinct.last() {
        None => Err(Error::input("cannot check shortest paths without a seed: name at least one")),
        Some(&last) if last as usize >= graph.nodes() => Err(Error::input(format!(
            "cannot check shortest paths from node index {last}: the graph has {} nodes",
            graph.nodes()
        ))),
        Some(_) => Ok(distinct),
    }
}

fn check_lengths(graph: &Graph, answer: &PathsFound<'_>) -> Result<()> {
    let lengths = [
        ("distances in f32", Some(answer.distances.len())),
        ("distances in f64", answer.distances_f64.map(<[f64]>::len)),
        ("predecessors", answer.predecessors.map(<[u32]>::len)),
        ("nominees", answer.nominees.map(<[u32]>::len)),
    ];
    for (what, length) in lengths {
        if let Some(length) = length.filter(|&length| length != graph.nodes()) {
            return Err(Error::Verify(format!(
                "the answer holds {length} {what}, but the graph has {} nodes",
                graph.nodes()
            )));
        }
    }
    Ok(())
}

/// The first search: a key for each node, and what its arcs showed.
struct TightLevels {
    /// `[n]` (level << 32 | rank of the smallest tail of the previous level); [`SEED`]; [`UNSEEN`].
    keys: Vec<AtomicU64>,
    overflowed_arcs: u64,
    relaxable: bool,
}

/// What is being checked.
struct Check<'a, D> {
    graph: &'a Graph,
    /// Sorted and distinct.
    seeds: &'a [u32],
    dist: &'a [D],
}

impl<D: Distance> Check<'_, D> {
    /// The input's own id of a node.
    fn id(&self, v: usize) -> NodeId<'_> {
        self.graph.id(v as u32)
    }

    /// The place of a node's id among all ids; a claim that is no node comes last.
    fn rank(&self, v: u32) -> u32 {
        if (v as usize) < self.graph.nodes() { self.graph.rank(v) } else { NONE }
    }

    /// The input's own id of a claimed node, which may be none or no node at all.
    fn id_or_none(&self, v: u32) -> String {
        if v == NONE { "none".into() } else { self.id(v as usize).to_string() }
    }

    fn wrong(&self, v: usize, what: String) -> Error {
        Error::Verify(format!("shortest paths, node {}: {what}", self.id(v)))
    }

    /// Whether an arc is tight. The tail must be reached: +inf (+) w == +inf supports nothing.
    fn is_tight(&self, tail: u32, head: u32, weight: f32) -> bool {
        let sum = self.dist[tail as usize].over(weight);
        sum == self.dist[head as usize] && sum < D::INFINITE
    }

    fn tight_levels(&self) -> TightLevels {
        let keys: Vec<AtomicU64> =
            (0..self.graph.nodes()).into_par_iter().map(|_| AtomicU64::new(UNSEEN)).collect();
        for &seed in self.seeds {
            keys[seed as usize].store(SEED, Relaxed);
        }
        let overflowed = AtomicU64::new(0);
        let relaxable = AtomicBool::new(false);
        levels::advance(self.graph, self.seeds.to_vec(), |arc| {
            let sum = self.dist[arc.tail as usize].over(arc.weight);
            let held = self.dist[arc.head as usize];
            if sum < held {
                relaxable.store(true, Relaxed);
            }
            if sum == D::INFINITE {
                overflowed.fetch_add(1, Relaxed);
                return false;
            }
            if sum != held {
                return false;
            }
            let key = u64::from(arc.level + 1) << 32 | u64::from(self.graph.rank(arc.tail));
            let slot = &keys[arc.head as usize];
            slot.load(Relaxed) > key && slot.fetch_min(key, Relaxed) == UNSEEN
        });
        TightLevels {
            keys,
            overflowed_arcs: overflowed.into_inner(),
            relaxable: relaxable.into_inner(),
        }
    }

    fn distances_hold(&self, tight: &TightLevels) -> bool {
        let seeds_at_zero = self.seeds.iter().all(|&s| self.dist[s as usize].bits() == 0);
        let supported = || {
            self.dist.par_iter().zip(&tight.keys).all(|(d, key)| {
                if key.load(Relaxed) == UNSEEN {
                    d.bits() == D::INFINITE.bits()
                } else {
                    d.is_proper()
                }
            })
        };
        seeds_at_zero && !tight.relaxable && supported()
    }

    fn predecessors(&self, tight: &TightLevels, predecessors: &[u32]) -> Result<()> {
        let expected = |v: usize| match tight.keys[v].load(Relaxed) {
            SEED => v as u32,
            UNSEEN => NONE,
            key => self.graph.ranked(key as u32),
        };
        let differs = |(v, &p): (usize, &u32)| p != expected(v);
        let Some(v) = predecessors.par_iter().enumerate().position_first(differs) else {
            return Ok(());
        };
        let why = match tight.keys[v].load(Relaxed) {
            SEED => "it is a seed, its own predecessor".to_string(),
            UNSEEN => "it is unreached and has none".to_string(),
            key => format!(
                "the smallest node of tight level {} with a tight arc to it is {}",
                (key >> 32) - 1,
                self.id_or_none(expected(v))
            ),
        };
        let claimed = self.id_or_none(predecessors[v]);
        Err(self.wrong(v, format!("predecessor {claimed} is wrong: {why}")))
    }

    /// Whether nominees are right; the distances are known to be.
    fn nominees_hold(&self, nominees: &[u32]) -> bool {
        let mut start = self.seeds.to_vec();
        if start.iter().any(|&s| self.rank(nominees[s as usize]) > self.rank(s)) {
            return false;
        }
        start.retain(|&s| nominees[s as usize] == s);
        let seen: Vec<AtomicBool> =
            (0..self.graph.nodes()).into_par_iter().map(|_| AtomicBool::new(false)).collect();
        for &seed in &start {
            seen[seed as usize].store(true, Relaxed);
        }
        let lowerable = AtomicBool::new(false);
        levels::advance(self.graph, start, |arc| {
            if !self.is_tight(arc.tail, arc.head, arc.weight) {
                return false;
            }
            let (from, to) = (nominees[arc.tail as usize], nominees[arc.head as usize]);
            if self.rank(to) > self.rank(from) {
                lowerable.store(true, Relaxed);
            }
            let slot = &seen[arc.head as usize];
            to == from && !slot.load(Relaxed) && !slot.swap(true, Relaxed)
        });
        let supported = |v: usize| {
            if self.dist[v].is_proper() { seen[v].load(Relaxed) } else { nominees[v] == NONE }
        };
        !lowerable.into_inner() && (0..nominees.len()).into_par_iter().all(supported)
    }

    fn totals(&self) -> (u64, u64, f64) {
        self.dist
            .par_iter()
            .enumerate()
            .filter(|(_, d)| d.is_proper())
            .map(|(v, &d)| (1, self.graph.degree(v), d.wide()))
            .reduce(|| (0, 0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1, a.2.max(b.2)))
    }

    /// Names the lowest wrong distance, by Dijkstra's algorithm.
    fn explain_distances(&self) -> Error {
        let (shortest, via) = self.dijkstra();
        let differs = |(d, s): (&D, &D)| d.bits() != s.bits();
        let Some(v) = self.dist.iter().zip(&shortest).position(differs) else {
            return Error::Verify("shortest paths: the check contradicts itself; report it".into());
        };
        let found = self.dist[v];
        let shortest = shortest[v];
        let why = if self.seeds.binary_search(&(v as u32)).is_ok() {
            "it is a seed, at distance 0".to_string()
        } else if let Some((tail, weight)) = via[v] {
            let from = self.id(tail as usize);
            format!("the shortest is {shortest:?}, by the arc from {from} of weight {weight:?}")
        } else {
            "no seed reaches it, so it is inf".to_string()
        };
        let fault = match found {
            d if d.wide().is_nan() => "is not a number",
            d if d.wide().is_sign_negative() => "is negative",
            d if d > shortest => "is too high",
            _ => "is too low",
        };
        self.wrong(v, format!("distance {found:?} {fault}: {why}"))
    }

    /// Shortest distances by one thread, and the arc (tail, weight) that set each.
    fn dijkstra(&self) -> (Vec<D>, Vec<Option<(u32, f32)>>) {
        let n = self.graph.nodes();
        let (mut dist, mut via) = (vec![D::INFINITE; n], vec![None; n]);
        let mut heap = BinaryHeap::new();
        for &seed in self.seeds {
            dist[seed as usize] = D::ZERO;
            heap.push(Reverse((0, seed)));
        }
        // The bits of floats >= 0 are ordered as the floats are.
        while let Some(Reverse((bits, tail))) = heap.pop() {
            let near = D::from_bits(bits);
            if near > dist[tail as usize] {
                continue;
            }
            for (head, weight) in self.graph.neighbors(tail as usize) {
                let sum = near.over(weight);
                if sum < dist[head as usize] {
                    dist[head as usize] = sum;
                    via[head as usize] = Some((tail, weight));
                    heap.push(Reverse((sum.bits(), head)));
                }
            }
        }
        (dist, via)
    }

    /// Names the lowest wrong nominee: seeds in rising order each claim what their chains reach.
    fn explain_nominees(&self, nominees: &[u32]) -> Error {
        let mut expected = vec![NONE; nominees.len()];
        let mut queue = VecDeque::new();
        let mut seeds = self.seeds.to_vec();
        seeds.sort_unstable_by_key(|s| self.graph.rank(*s));
        for seed in seeds {
            if expected[seed as usize] == NONE {
                expected[seed as usize] = seed;
                queue.push_back(seed);
            }
            while let Some(tail) = queue.pop_front() {
                for (head, weight) in self.graph.neighbors(tail as usize) {
                    if expected[head as usize] == NONE && self.is_tight(tail, head, weight) {
                        expected[head as usize] = seed;
                        queue.push_back(head);
                    }
                }
            }
        }
        let Some(v) = nominees.iter().zip(&expected).position(|(a, b)| a != b) else {
            return Error::Verify("nominees: the check contradicts itself; report it".into());
        };
        let claimed = self.id_or_none(nominees[v]);
        let why = match expected[v] {
            NONE => "it is unreached and has none".to_string(),
            seed => {
                let seed = self.id(seed as usize);
                format!("the smallest seed with a tight chain to it is {seed}")
            }
        };
        self.wrong(v, format!("nominee {claimed} is wrong: {why}"))
    }
}
