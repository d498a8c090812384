//! What geolocation starts from, and how replicas share a wave.

use super::{GeoConfig, STRIDE};
use crate::algorithm::MergeMode;
use crate::algorithm::arrays::replicated_arrays;
use crate::collective::{MAX_REPLICAS, Replicated, Shares, Split};
use crate::device::kernels::geo::{self, LONG, Own, Turns};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::graph::Graph;
use crate::hash::{hash, mix};
use crate::io::{Relabel, places_of};
use crate::{generate, words};
use bytemuck::Zeroable;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

/// Latitudes and longitudes in degrees, `[n]` each; NaN where unknown.
pub(super) type Degrees = [Vec<f64>; 2];

/// What geolocation starts from and is measured by.
#[derive(Debug, Clone, Default)]
pub struct KnownPlaces {
    /// The places that a run may use.
    pub given: Degrees,
    /// Where nodes really are, as far as that is known.
    pub truth: Option<Degrees>,
}

impl KnownPlaces {
    pub(super) fn new(config: &GeoConfig, graph: &Graph) -> Result<KnownPlaces> {
        let policies = &graph.origin.policies;
        let renamed = policies.largest_component || policies.relabel != Relabel::None;
        if config.truth.is_some() && renamed {
            // The ids of its file could not be told from those of the nodes that are left.
            let option =
                if policies.largest_component { "--largest-component" } else { "--relabel" };
            return Err(Error::input(format!("--truth with {option}: leave one of them out")));
        }
        let places = config.given.as_ref().map(|[north, east]| (&north[..], &east[..]));
        let given = match (config.locate, places.or_else(|| graph.places())) {
            (Some(locate), None) => locate.places(graph),
            (None, Some((latitude, longitude))) => [latitude.to_vec(), longitude.to_vec()],
            (Some(_), Some(_)) => {
                return Err(Error::input(
                    "--locate: the graph knows where its nodes are; leave it out",
                ));
            }
            (None, None) => {
                return Err(Error::input(
                    "geo: it is not known where any node is; give --labels FILE, or --locate 0.5 to make \
                     places up",
                ));
            }
        };
        let mut known = KnownPlaces { given, truth: truth(config, graph)? };
        if let Some(every) = config.hide {
            known.hide(graph, every);
        }
        known.check(graph)?;
        Ok(known)
    }

    /// Nodes whose place is given.
    pub(super) fn count(&self) -> u64 {
        self.given[0].par_iter().filter(|degrees| !degrees.is_nan()).count() as u64
    }

    /// Withholds every `every`-th of the given places, by rising input id; these are the truth of their nodes.
    fn hide(&mut self, graph: &Graph, every: u32) {
        let n = graph.nodes();
        let truth = self.truth.get_or_insert_with(|| [vec![f64::NAN; n], vec![f64::NAN; n]]);
        let mut located = 0;
        for v in (0..n as u32).map(|rank| graph.ranked(rank) as usize) {
            if self.given[0][v].is_nan() {
                continue;
            }
            located += 1;
            if located % every == 0 {
                for (given, truth) in self.given.iter_mut().zip(truth.iter_mut()) {
                    truth[v] = std::mem::replace(&mut given[v], f64::NAN);
                }
            }
        }
    }

    /// Refuses places that are not one a node, or not on Earth.
    fn check(&self, graph: &Graph) -> Result<()> {
        let (n, given) = (graph.nodes(), &self.given);
        if let Some(degrees) = given.iter().find(|degrees| degrees.len() != n) {
            let found = degrees.len();
            return Err(Error::input(format!("places of {found} nodes for a graph of {n}")));
        }
        let on_earth = |v: usize| {
            let (north, east) = (given[0][v], given[1][v]);
            (north.is_nan() && east.is_nan()) || (north.abs() <= 90.0 && east.abs() <= 180.0)
        };
        if let Some(v) = (0..n).find(|v| !on_earth(*v)) {
            let (north, east) = (given[0][v], given[1][v]);
            return Err(Error::input(format!(
                "node {} at ({north}, {east}) is nowhere on Earth; give -90 to 90 and -180 to 180 degrees",
                graph.id(v as u32)
            )));
        }
        Ok(())
    }
}

/// Where nodes really are: in the file that says so, or in what the graph was generated from.
fn truth(config: &GeoConfig, graph: &Graph) -> Result<Option<Degrees>> {
    let spec = graph.origin.graph_file.as_str();
    if let Some(path) = &config.truth {
        let found = places_of(graph, &path.to_string_lossy(), config.labels_first_id)?;
        return Ok(Some([found.latitude, found.longitude]));
    }
    if config.labels.is_some() || !spec.starts_with("geo:") {
        return Ok(None);
    }
    let truth = generate::geo_locations(spec)?;
    // The ids of a generated graph are places in the generator's arrays.
    let of =
        |all: &[f64]| (0..graph.nodes() as u32).map(|v| all[graph.input_id(v) as usize]).collect();
    Ok(Some([of(&truth.latitude), of(&truth.longitude)]))
}

/// Places made up for benchmarks: a share of the nodes, each at a uniform point of the globe, by a hash of
/// seed and input id. Written `SHARE` or `SHARE:SEED`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Locate {
    /// Of the nodes, above 0 to 1.
    pub share: f64,
    /// Another seed gives other places.
    pub seed: u64,
}

impl Locate {
    fn places(self, graph: &Graph) -> Degrees {
        const DOMAIN: u64 = 0x6c6f_6361_7465_6431;
        let key = mix(self.seed ^ DOMAIN);
        let unit = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        let place = |v: usize| {
            let own = hash(key, graph.input_id(v as u32));
            if unit(hash(own, 0)) >= self.share {
                return (f64::NAN, f64::NAN);
            }
            let sine = 2.0 * unit(hash(own, 1)) - 1.0;
            (sine.asin() * (180.0 / PI), 360.0 * unit(hash(own, 2)) - 180.0)
        };
        (0..graph.nodes()).into_par_iter().map(place).unzip().into()
    }
}

impl FromStr for Locate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Locate> {
        let (share, seed) = text.split_once(':').unwrap_or((text, "1"));
        let parsed = share.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
        match (parsed, seed.parse()) {
            (Some(share), Ok(seed)) => Ok(Locate { share, seed }),
            _ => Err(Error::input(format!(
                "--locate {text}: not understood; use SHARE or SHARE:SEED, as in 0.5:1, with SHARE above \
                 0 up to 1"
            ))),
        }
    }
}

impl fmt::Display for Locate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.share, self.seed)
    }
}

words::as_text!(Locate);

/// The given places, as runs start from them.
pub(super) struct Given {
    /// `[n, STRIDE]`; zeros where unknown.
    pub position: Vec<f64>,
    /// `[n]`
    pub known: Vec<bool>,
}

impl Given {
    pub fn new([latitude, longitude]: &Degrees) -> Given {
        let known: Vec<bool> = latitude.par_iter().map(|degrees| !degrees.is_nan()).collect();
        let mut position = vec![0.0; known.len() * STRIDE];
        position
            .par_chunks_mut(STRIDE)
            .enumerate()
            .filter(|(v, _)| known[*v])
            .for_each(|(v, slot)| slot[..3].copy_from_slice(&to_vector(latitude[v], longitude[v])));
        Given { position, known }
    }
}

/// The unit vector of a place in degrees.
fn to_vector(latitude: f64, longitude: f64) -> [f64; 3] {
    let ((north, across), (east, along)) =
        (latitude.to_radians().sin_cos(), longitude.to_radians().sin_cos());
    // At the poles every longitude is the same place.
    let across = if latitude.abs() == 90.0 { 0.0 } else { across };
    [across * along, across * east, north]
}

/// Latitude and longitude of a vector, in degrees; the longitude is above -180 and at most 180.
pub(super) fn to_degrees([x, y, z]: [f64; 3]) -> (f64, f64) {
    let longitude = y.atan2(x).to_degrees();
    let longitude = if longitude <= -180.0 { 180.0 } else { longitude };
    (z.atan2(x.hypot(y)).to_degrees(), longitude)
}

/// Whether the row of a node that is not given is a long one.
pub(super) fn is_long(graph: &Graph, known: &[bool], v: usize) -> bool {
    !known[v] && graph.degree(v) > u64::from(LONG)
}

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub nodes: usize,
    /// Nodes that may get a place.
    pub room: usize,
    /// Long rows, and their arcs.
    pub long_rows: usize,
    pub long_arcs: usize,
}

impl Sizes {
    pub fn new(graph: &Graph, known: &[bool]) -> Sizes {
        let nodes = || (0..known.len()).into_par_iter();
        let long = || nodes().filter(|v| is_long(graph, known, *v));
        Sizes {
            nodes: known.len(),
            room: nodes().filter(|v| !known[*v] && graph.degree(*v) > 0).count(),
            long_rows: long().count(),
            long_arcs: long().map(|v| graph.degree(v) as usize).sum(),
        }
    }
}

replicated_arrays! {
    /// The replicated state.
    pub(super) struct State of Sizes {
        /// `[n, STRIDE]`; meaningless where `wave` is `NEVER`.
        position: Replicated<f64> = "position", Gather, |s| STRIDE * s.nodes;
        /// `[n]`
        wave: Replicated<u32> = "wave", Gather, |s| s.nodes;
        /// `[room, 3]`: what a wave found, by place in the queue.
        found: Replicated<f64> = "found", Gather, |s| 3 * s.room;
    }
}

/// A wave before it is computed: the same on all replicas.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wave {
    /// Nodes to locate.
    pub nodes: u64,
    /// Arcs to their located neighbours.
    pub arcs: u64,
}

/// What a replica did for a wave.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepResult {
    pub arcs: u64,
    /// Passes over the neighbours of a node.
    pub passes: u64,
}

/// How replicas share waves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// Every replica computes all of a wave.
    Whole,
    /// Each computes its part.
    Cut,
    /// Each computes its part, but all of a small wave.
    CutLarge,
}

/// Located arcs up to which a wave is a small one: below, a meeting and a gather cost more than they save.
const SMALL_WAVE: u64 = 1 << 14;

impl Plan {
    pub fn new(merge: MergeMode, r: &Replica) -> Plan {
        match (merge, &r.backend) {
            _ if r.world() == 1 => Plan::Whole,
            (MergeMode::Redundant, _) => Plan::Whole,
            // Host replicas share the cores, so that nothing redundant is free.
            (MergeMode::Auto, Backend::Cuda(_)) => Plan::CutLarge,
            _ => Plan::Cut,
        }
    }

    /// Whether every replica computes all of `wave`.
    pub fn is_whole(self, wave: Wave) -> bool {
        self == Plan::Whole || self == Plan::CutLarge && wave.arcs <= SMALL_WAVE
    }

    /// Rank and shares of those who share `wave`, for replica `rank` of `shares`.
    pub fn part(self, wave: Wave, (rank, shares): (usize, &Shares)) -> (usize, Shares) {
        if self.is_whole(wave) { (0, Shares::equal(1)) } else { (rank, shares.clone()) }
    }
}

/// The queue of a wave on the host.
#[derive(Default)]
pub(super) struct Queue {
    /// Nodes and their located neighbours, in node order.
    pub entries: Vec<(u32, u64)>,
    /// `[entries + 1]`: the cost of the entries before each.
    before: Vec<u64>,
}

impl Queue {
    pub fn new(entries: Vec<(u32, u64)>) -> Queue {
        let mut before = vec![0];
        let mut total = 0;
        before.extend(entries.iter().map(|(_, k)| {
            total += cost(*k);
            total
        }));
        Queue { entries, before }
    }

    pub fn wave(&self) -> Wave {
        let arcs = self.entries.iter().map(|(_, k)| k).sum();
        Wave { nodes: self.entries.len() as u64, arcs }
    }

    /// One part a replica, of cost by its share.
    pub fn split(&self, shares: &Shares) -> Split {
        let before = |i: u64| self.before[i as usize];
        let nodes = self.entries.len() as u64;
        Split::by_weight(nodes, shares, 1, before(nodes), before)
    }
}

/// What a median of `k` points costs, in distances: the sums of candidates, and about 25 passes.
fn cost(k: u64) -> u64 {
    if k < 3 { 4 } else { 4 + k.min(32) * k.min(512) + 50 * k }
}

/// Classes of a GPU's queue.
pub(super) const CLASSES: usize = geo::CLASSES as usize;

/// Places of a unit, by class: a hub alone, then as many nodes as a block works on at once, or some.
pub(super) const UNITS: [u32; CLASSES] = [1, 1, 1, 8, 8, 8, 128, 128, 128, 256];

/// The queue of a wave on GPUs, dealt to replicas: each class in units of places, one unit after the other, by turns that come
/// again and again, so that who has which follows from the sizes of the classes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Deal {
    /// Own places of each class, by rank.
    pub items: [[u32; CLASSES]; MAX_REPLICAS],
    /// Where a rank's results of a class begin; results lie rank by rank, class by class.
    pub base: [[u32; CLASSES]; MAX_REPLICAS],
    /// Whose turn it is, over and over.
    turns: Vec<usize>,
}

impl Deal {
    /// `start` is where each class begins in the queue, and its end.
    pub fn new(start: &[u32; CLASSES + 1], shares: &Shares) -> Deal {
        let empty = [[0; CLASSES]; MAX_REPLICAS];
        let mut deal = Deal { items: empty, base: empty, turns: shares.turns() };
        let mut next = 0;
        for rank in 0..shares.world() {
            for (class, unit) in UNITS.into_iter().enumerate() {
                let items = deal.places(start[class + 1] - start[class], unit, rank);
                (deal.items[rank][class], deal.base[rank][class]) = (items, next);
                next += items;
            }
        }
        deal
    }

    /// Places among `size` that `rank` is dealt.
    fn places(&self, size: u32, unit: u32, rank: usize) -> u32 {
        let cycle = self.turns.len() as u32;
        let (whole, rest) = (size / unit, size % unit);
        let turns = |first: u32| {
            self.turns[..first as usize].iter().filter(|turn| **turn == rank).count() as u32
        };
        let units = whole / cycle * turns(cycle) + turns(whole % cycle);
        let last = self.turns[(whole % cycle) as usize] == rank;
        units * unit + if last { rest } else { 0 }
    }

    /// How many places each rank has.
    pub fn split(&self) -> Split {
        let of = |rank: usize| self.items[rank].iter().map(|items| u64::from(*items)).sum();
        let world = self.turns.iter().max().map_or(0, |last| last + 1);
        Split::of_lengths((0..world).map(of))
    }

    /// The turns of `rank`, as kernels look them up.
    pub fn own(&self, rank: usize) -> Own {
        let mut own = Own { cycle: self.turns.len() as u32, ..Own::zeroed() };
        for (turn, _) in self.turns.iter().enumerate().filter(|(_, of)| **of == rank) {
            own.turn[own.turns as usize] = turn as u8;
            own.turns += 1;
        }
        own
    }

    /// All turns, as kernels look them up.
    pub fn turns(&self) -> Turns {
        let mut turns = Turns { cycle: self.turns.len() as u32, ..Turns::zeroed() };
        for (turn, rank) in self.turns.iter().enumerate() {
            turns.rank[turn] = *rank as u8;
            turns.earlier[turn] = turns.of[*rank] as u8;
            turns.of[*rank] += 1;
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_from_vectors() {
        for (latitude, longitude) in [(0.0, 180.0), (90.0, 0.0), (-45.0, -179.5), (12.5, 0.0)] {
            let (north, east) = to_degrees(to_vector(latitude, longitude));
            assert!((north - latitude).abs() < 1e-13 && (east - longitude).abs() < 1e-13);
        }
        assert_eq!(to_degrees(to_vector(0.0, -180.0)).1, 180.0);
        assert_eq!(to_vector(90.0, 77.0), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn made_up_places_are_a_share_spread_over_the_globe() {
        let graph = crate::generate::generate("grid:100x100").unwrap();
        let [north, east] = "0.25:3".parse::<Locate>().unwrap().places(&graph);
        let located: Vec<usize> = (0..10_000).filter(|v| !north[*v].is_nan()).collect();
        assert!((2300..2700).contains(&located.len()), "{}", located.len());
        // Half of a sphere lies within 30 degrees of the equator.
        let low = located.iter().filter(|v| north[**v].abs() < 30.0).count() as f64;
        assert!((low / located.len() as f64 - 0.5).abs() < 0.05);
        assert!(located.iter().all(|v| (-180.0..180.0).contains(&east[*v])));
        let other = "0.25:4".parse::<Locate>().unwrap().places(&graph);
        assert!((0..10_000).any(|v| other[0][v].is_nan() != north[v].is_nan()));
    }

    /// As `geo_settle` finds the place of a result, and `node_of` the place of an item.
    #[test]
    fn every_place_is_dealt_once_and_found_where_its_owner_puts_it() {
        let sizes = [0u32, 1, 5, 17, 64, 7, 128, 1000, 129, 4097];
        let mut start = [0; CLASSES + 1];
        (0..CLASSES).for_each(|c| start[c + 1] = start[c] + sizes[c]);
        let unequal = [vec![3, 1], vec![16, 5, 11], vec![1, 16], (1..=16).collect()];
        let unequal = unequal.iter().map(|speeds| Shares::of(speeds));
        for shares in (1..=MAX_REPLICAS).map(Shares::equal).chain(unequal) {
            let deal = Deal::new(&start, &shares);
            let turns = deal.turns();
            let mut seen = vec![false; start[CLASSES] as usize];
            for c in 0..CLASSES {
                let unit = UNITS[c];
                for place in 0..sizes[c] {
                    let dealt = place / unit;
                    let turn = (dealt % turns.cycle) as usize;
                    let rank = usize::from(turns.rank[turn]);
                    let nth = dealt / turns.cycle * turns.of[rank] + u32::from(turns.earlier[turn]);
                    let item = nth * unit + place % unit;
                    assert!(item < deal.items[rank][c], "class {c} of {shares:?}");
                    let own = deal.own(rank);
                    let nth = item / unit;
                    let turn = u32::from(own.turn[(nth % own.turns) as usize]);
                    let back = (nth / own.turns * own.cycle + turn) * unit + item % unit;
                    assert_eq!(back, place);
                    let at = (deal.base[rank][c] + item) as usize;
                    assert!(!std::mem::replace(&mut seen[at], true));
                    assert!(deal.split().range(rank).contains(&(at as u64)));
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
