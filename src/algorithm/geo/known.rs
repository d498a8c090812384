//! What is known of where nodes are: given places, what was withheld of them, and how far off answers are.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::hash::{hash, mix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

/// Latitudes and longitudes in degrees, `[n]` each; NaN where unknown.
pub(crate) type Degrees = [Vec<f64>; 2];

/// What a run of geolocation starts from and is measured by.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The places that a run may use.
    pub given: Degrees,
    /// Where nodes really are, as far as that is known.
    pub truth: Option<Degrees>,
}

impl Known {
    /// Nodes whose place is given.
    pub fn count(&self) -> u64 {
        self.given[0].par_iter().filter(|degrees| !degrees.is_nan()).count() as u64
    }

    /// Withholds every `every`-th of the given places, by rising input id, and knows them for the truth.
    pub(crate) fn hide(&mut self, graph: &Graph, every: u32) {
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
    pub(crate) fn places(self, graph: &Graph) -> Degrees {
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

crate::words::as_text!(Locate);

/// The unit vector of a place in degrees.
pub(crate) fn to_vector(latitude: f64, longitude: f64) -> [f64; 3] {
    let ((north, across), (east, along)) =
        (latitude.to_radians().sin_cos(), longitude.to_radians().sin_cos());
    // At the poles every longitude is the same place.
    let across = if latitude.abs() == 90.0 { 0.0 } else { across };
    [across * along, across * east, north]
}

/// Latitude and longitude of a vector, in degrees; the longitude is above -180 and at most 180.
pub(crate) fn to_degrees([x, y, z]: [f64; 3]) -> (f64, f64) {
    let longitude = y.atan2(x).to_degrees();
    let longitude = if longitude <= -180.0 { 180.0 } else { longitude };
    (z.atan2(x.hypot(y)).to_degrees(), longitude)
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
}
