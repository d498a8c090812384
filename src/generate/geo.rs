//! The test bed of geolocation: people on the globe, their friends, and who hides where he is.
//!
//! **Places.** About one city for 256 nodes, at most 4096, with centres uniform on the sphere and
//! populations that fall as 1 / rank (Zipf). The inhabitants of a city lie along a Hilbert curve through
//! a square around its centre, half as wide as 8 to 80 km by population, denser towards the middle, with
//! a little scatter. So inhabitants that are near in rank along the curve are near on the globe.
//!
//! **Friends.** `degree / 2 * NODES` edges are drawn; each starts at a uniform node. With 80 % it ends in
//! the same city, at a distance in rank of d with a probability that falls as 1 / d (uniform within 1..=4
//! and within each octave above): rank-based friendship (Liben-Nowell, Novak, Kumar, Raghavan, Tomkins,
//! "Geographic routing in social networks", PNAS 2005). With 20 % it ends anywhere, uniformly. Self loops
//! and duplicates are dropped, so that the mean degree is somewhat lower: 15.4 for 16.
//!
//! **Hidden.** Each node withholds its location with probability `hidden`, by a hash of its own.
//!
//! Labels are permuted: ids tell nothing about places. Edges are integer arithmetic on (seed, e). Places
//! are f64 and use the arcsine and cosine of the machine's library.

use super::permutation::Permutation;
use super::recipe::{Recipe, Size};
use super::{rows, spec};
use crate::error::Result;
use crate::graph::MAX_NODES;
use crate::graph::build::Csr;
use crate::hash::{below, hash, mix};
use rayon::prelude::*;
use std::f64::consts::PI;

pub(super) const FORM: &str = "geo:NODES[,degree=16][,hidden=0.5][,seed=1] with NODES 1..=4294967294 or \
as in 2^20, degree 1..=1024, hidden 0..=1";

/// Nodes for a city, on average, and the most cities.
const NODES_PER_CITY: u64 = 256;
const MOST_CITIES: u64 = 4096;
/// Share of friends in the same city, of 2^16.
const NEAR: u64 = 52_429;
/// log2 of the ranks within which the nearest friends are uniform.
const NEAREST_BITS: u32 = 2;
/// Half the width of the smallest and of the largest city, in km.
const CITY_KM: (f64, f64) = (8.0, 80.0);
/// Kilometres in a degree of latitude.
const DEGREE_KM: f64 = 111.2;

/// Where the nodes of a generated graph are: arrays `[n]` by node.
#[derive(Debug, Clone, PartialEq)]
pub struct GeoTruth {
    /// Degrees north, -90 to 90.
    pub latitude: Vec<f64>,
    /// Degrees east, -180 to 180.
    pub longitude: Vec<f64>,
    /// Whether the location is to be withheld from whoever predicts it.
    pub hidden: Vec<bool>,
}

impl GeoTruth {
    /// Degrees where they are not withheld, NaN where they are.
    pub(super) fn shown(&self, degrees: &[f64]) -> Vec<f64> {
        let pairs = degrees.iter().zip(&self.hidden);
        pairs.map(|(degrees, hidden)| if *hidden { f64::NAN } else { *degrees }).collect()
    }
}

struct Geo {
    nodes: u64,
    /// Mean degree, before clean-up.
    degree: u64,
    hidden: f64,
    seed: u64,
}

/// Reads `rest`, the part of `spec` behind `geo:`.
pub(super) fn read(spec: &str, rest: &str) -> Result<Box<dyn Recipe>> {
    let mut geo = Geo { nodes: 0, degree: 16, hidden: 0.5, seed: 1 };
    let size = spec::options(spec, rest, FORM, |key, value| match key {
        "degree" => spec::set(&mut geo.degree, value, 1..=1024),
        "hidden" => spec::set(&mut geo.hidden, value, 0.0..=1.0),
        "seed" => spec::set(&mut geo.seed, value, ..),
        _ => false,
    })?;
    geo.nodes = spec::count(spec, size, FORM, MAX_NODES)?;
    Ok(Box::new(geo))
}

impl Recipe for Geo {
    fn size(&self) -> Size {
        Size::drawn(self.nodes, self.edges(), false)
    }

    fn dataset(&self) -> String {
        format!("geo{}", self.nodes)
    }

    fn csr(&self) -> Csr {
        let world = World::new(self);
        rows::drawn(self.nodes, self.edges(), |e| world.edge(e))
    }

    fn places(&self) -> Option<GeoTruth> {
        Some(World::new(self).truth())
    }
}

impl Geo {
    /// Edges drawn, before clean-up.
    fn edges(&self) -> u64 {
        (self.nodes * self.degree).div_ceil(2)
    }
}

/// The cities and the keys of what is drawn. Before they are permuted, people are numbered city by city,
/// along each city's curve.
struct World {
    nodes: u64,
    /// `[cities + 1]`: the first inhabitant of each; they fall in size.
    first: Vec<u64>,
    edge_key: u64,
    place_key: u64,
    hidden_key: u64,
    /// A node hides when its 32 bits are below.
    hidden_below: u64,
    labels: Permutation,
}

impl World {
    fn new(geo: &Geo) -> World {
        let cities = (geo.nodes / NODES_PER_CITY).clamp(1, MOST_CITIES);
        // 2^32 / rank: integers, so that city limits are the same everywhere.
        let share = |city: u64| u128::from((1u64 << 32) / (city + 1));
        let total: u128 = (0..cities).map(share).sum();
        let mut before = 0;
        let mut first = vec![0];
        first.extend((0..cities).map(|city| {
            before += share(city);
            (u128::from(geo.nodes) * before / total) as u64
        }));
        let key = |which: u64| hash(mix(geo.seed ^ 0x6765_6f67_7261_7068), which);
        World {
            nodes: geo.nodes,
            first,
            edge_key: key(0),
            place_key: key(1),
            hidden_key: key(2),
            hidden_below: (geo.hidden * (1u64 << 32) as f64) as u64,
            labels: Permutation::new(geo.nodes, geo.seed),
        }
    }

    /// The city of inhabitant `i`.
    fn city(&self, i: u64) -> usize {
        self.first.partition_point(|first| *first <= i) - 1
    }

    /// Edge `e` by label.
    #[inline]
    fn edge(&self, e: u64) -> (u32, u32) {
        let own = hash(self.edge_key, e);
        let i = below(self.nodes, hash(own, 0));
        let bits = hash(own, 1);
        let j = if bits & 0xffff < NEAR {
            let city = self.city(i);
            let (first, people) = (self.first[city], self.first[city + 1] - self.first[city]);
            let away = rank_distance(people, bits >> 32, hash(own, 2)) % people;
            let there = i - first + if bits >> 16 & 1 == 0 { away } else { people - away };
            first + there % people
        } else {
            below(self.nodes, hash(own, 2))
        };
        (self.labels.of(i as u32), self.labels.of(j as u32))
    }

    /// Latitude and longitude of inhabitant `i`, in degrees.
    fn place(&self, i: u64) -> (f64, f64) {
        let city = self.city(i);
        let (first, people) = (self.first[city], self.first[city + 1] - self.first[city]);
        let own = hash(self.place_key, city as u64);
        let sine = 2.0 * unit(hash(own, 0)) - 1.0;
        let (north, east) = (sine.asin() * 180.0 / PI, 360.0 * unit(hash(own, 1)) - 180.0);
        let largest = self.first[1] as f64;
        let half = CITY_KM.0 + (CITY_KM.1 - CITY_KM.0) * (people as f64 / largest).sqrt();
        let along = ((u128::from(i - first) << 32) / u128::from(people)) as u32;
        let (x, y) = hilbert(along);
        let scatter = hash(own, 2 + i);
        // In -1..=1, with squares for density: a quarter of the people in a sixteenth of the area.
        let offset = |curve: u32, bits: u64| {
            let t = (f64::from(curve) + 64.0 * unit(bits << 32)) / 32_800.0 - 1.0;
            half * t * t.abs() / DEGREE_KM
        };
        let latitude = (north + offset(y, scatter)).clamp(-90.0, 90.0);
        let narrow = (latitude * PI / 180.0).cos().max(0.01);
        let longitude = east + offset(x, scatter >> 32) / narrow;
        (latitude, (longitude + 540.0).rem_euclid(360.0) - 180.0)
    }

    fn truth(&self) -> GeoTruth {
        let n = self.nodes as usize;
        let people: Vec<(u32, (f64, f64))> = (0..self.nodes)
            .into_par_iter()
            .map(|i| (self.labels.of(i as u32), self.place(i)))
            .collect();
        let (mut latitude, mut longitude) = (vec![0.0; n], vec![0.0; n]);
        for (v, (north, east)) in people {
            (latitude[v as usize], longitude[v as usize]) = (north, east);
        }
        let hides = |v: u64| hash(self.hidden_key, v) >> 32 < self.hidden_below;
        let hidden = (0..self.nodes).into_par_iter().map(hides).collect();
        GeoTruth { latitude, longitude, hidden }
    }
}

/// A distance in rank from 1 on: an octave below `people` from `octave`'s bits, then uniform within it.
fn rank_distance(people: u64, octave: u64, bits: u64) -> u64 {
    let octaves = people.max(2).ilog2().max(NEAREST_BITS) - NEAREST_BITS + 1;
    match below(octaves.into(), octave << 32) as u32 {
        0 => 1 + below(1 << NEAREST_BITS, bits),
        above => {
            let least = 1 << (NEAREST_BITS + above - 1);
            least + 1 + below(least, bits)
        }
    }
}

/// In 0..1 from 64 bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// The point of the Hilbert curve of order 16 at `along` (Warren, "Hacker's Delight", 2nd ed., 16-3).
fn hilbert(along: u32) -> (u32, u32) {
    let (mut x, mut y) = (0u32, 0u32);
    for level in 0..16 {
        let quarter = along >> (2 * level) & 3;
        let (right, up) = (quarter >> 1, (quarter ^ quarter >> 1) & 1);
        let side = 1u32 << level;
        if up == 0 {
            if right == 1 {
                (x, y) = (side - 1 - x, side - 1 - y);
            }
            (x, y) = (y, x);
        }
        x += side * right;
        y += side * up;
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::sound;
    use super::*;
    use crate::generate::geo_locations;

    fn kilometres(truth: &GeoTruth, u: usize, v: usize) -> f64 {
        let radians = |degrees: f64| degrees * PI / 180.0;
        let (a, b) = (radians(truth.latitude[u]), radians(truth.latitude[v]));
        let (north, east) = (b - a, radians(truth.longitude[u] - truth.longitude[v]));
        let h = (north / 2.0).sin().powi(2) + a.cos() * b.cos() * (east / 2.0).sin().powi(2);
        2.0 * 6371.0 * h.sqrt().min(1.0).asin()
    }

    #[test]
    fn the_hilbert_curve_visits_neighbours_one_after_the_other() {
        for first in [0u32, 1 << 20, u32::MAX - 5000] {
            for along in first..first + 4999 {
                let ((a, b), (c, d)) = (hilbert(along), hilbert(along + 1));
                assert_eq!(a.abs_diff(c) + b.abs_diff(d), 1, "{along}");
            }
        }
    }

    #[test]
    fn most_friends_are_near_and_some_are_anywhere() {
        let spec = "geo:40000";
        let (graph, truth) = (sound(spec), geo_locations(spec).unwrap());
        let mean = graph.arcs() as f64 / 40_000.0;
        assert!((14.0..16.0).contains(&mean), "{mean}");
        let mut lengths = Vec::new();
        for u in 0..40_000 {
            lengths.extend(graph.neighbors(u).map(|(v, _)| kilometres(&truth, u, v as usize)));
        }
        let share =
            |km: f64| lengths.iter().filter(|l| **l < km).count() as f64 / lengths.len() as f64;
        assert!((0.75..0.85).contains(&share(300.0)), "{}", share(300.0));
        assert!(share(10.0) > 0.25, "{}", share(10.0));
        assert!(share(5000.0) < 0.9);
    }

    #[test]
    fn places_are_on_the_globe_and_the_asked_share_of_them_is_hidden() {
        let truth = geo_locations("geo:30000,hidden=0.3,seed=5").unwrap();
        assert!(truth.latitude.iter().all(|l| (-90.0..=90.0).contains(l)));
        assert!(truth.longitude.iter().all(|l| (-180.0..=180.0).contains(l)));
        let hidden = truth.hidden.iter().filter(|h| **h).count() as f64 / 30_000.0;
        assert!((hidden - 0.3).abs() < 0.015, "{hidden}");
        assert!(geo_locations("geo:99,hidden=0").unwrap().hidden.iter().all(|h| !h));
        assert!(geo_locations("geo:99,hidden=1").unwrap().hidden.iter().all(|h| *h));
    }

    #[test]
    fn the_largest_city_has_many_times_the_people_of_a_small_one() {
        let world = World::new(&Geo { nodes: 1 << 16, degree: 16, hidden: 0.5, seed: 1 });
        assert_eq!((world.first.len(), world.first[256]), (257, 1 << 16));
        assert!(world.first[1] > 100 * (world.first[256] - world.first[255]));
        assert!(world.first.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn small_ones_are_sound_and_any_thread_count_finds_the_same_places() {
        for spec in ["geo:1", "geo:2", "geo:3,degree=1", "geo:300,degree=5", "geo:1000,hidden=0"] {
            assert!(sound(spec).weights().is_none());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let alone = pool.install(|| geo_locations(spec).unwrap());
            assert_eq!(alone, geo_locations(spec).unwrap());
        }
    }

    #[test]
    fn the_first_edges_of_a_seed_never_change() {
        let world = World::new(&Geo { nodes: 1_000_000, degree: 16, hidden: 0.5, seed: 1 });
        let edges: Vec<_> = (0..3).map(|e| world.edge(e)).collect();
        assert_eq!(edges, [(966_014, 593_599), (218_281, 902_637), (458_105, 670_841)]);
    }
}
