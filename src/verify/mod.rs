//! Independent checkers, one file a workload.
//!
//! A checker shares no code with what it checks. It decides from the structure of the answer (can an
//! arc still be relaxed? does a chain of arcs support this value?), so it works on a graph of any
//! size, and only once an answer is known to be wrong does it compute the right one, to name the
//! lowest wrong node and the value that belongs there.

mod geo;
mod globe;
mod levels;
mod median;
mod sssp;

pub use geo::{GeoCheck, geolocation};
pub use globe::{ErrorKm, error_km, great_circle_km};
pub use median::spatial_median;
pub use sssp::{Checked, distances_bits_equal, shortest_paths};
