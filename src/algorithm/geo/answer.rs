//! What is said of geolocation.

use super::driver::Found;
use super::plan::to_degrees;
use super::{Geo, KnownPlaces, NEVER, STRIDE};
use crate::algorithm::Measured;
use crate::algorithm::workload::{Answer, Checked, Query, fields};
use crate::error::Result;
use crate::io::{Column, Table};
use crate::units::{count, plural};
use crate::verify::{Checker, ErrorKm, error_km};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// How far above the least sum of distances a location, and all together, may be, as a share, to pass their check.
const ACCURACY: f64 = 1e-6;

fn passes(many: u64) -> String {
    if many == 1 { "1 pass".into() } else { format!("{} passes", count(many)) }
}

/// Where nodes are, in the graph's node order.
#[derive(Debug, Clone, Default)]
pub struct Geolocation {
    /// `[n]` degrees north; NaN where never located; given ones as they were given.
    pub latitude: Vec<f64>,
    /// `[n]` degrees east, above -180 to 180; NaN and given ones as above.
    pub longitude: Vec<f64>,
    /// `[n]` the wave that located a node: 0 given, `u32::MAX` never.
    pub wave: Vec<u32>,
    /// The last wave that located a node.
    pub waves: u32,
    /// Nodes that waves located.
    pub inferred: u64,
    /// Passes of the solver over neighbours of a node, all nodes and replicas together, in the last run.
    pub passes: u64,
    /// Timings and counts. `reached` are the located nodes, given ones included, and `reached_arcs` the
    /// arcs over which they were found.
    pub measured: Measured,
}

impl Geolocation {
    /// From what a replica found.
    pub(super) fn new(query: &Query<Geo>, found: Found, mut measured: Measured) -> Geolocation {
        let Found { position, wave, arcs, passes } = found;
        let [north, east] = &query.start.given;
        let degrees = |v: usize| match wave[v] {
            0 => (north[v], east[v]),
            NEVER => (f64::NAN, f64::NAN),
            _ => to_degrees([0, 1, 2].map(|i| position[v * STRIDE + i])),
        };
        let (latitude, longitude) = (0..wave.len()).into_par_iter().map(degrees).unzip();
        let located = wave.par_iter().filter(|wave| **wave != NEVER);
        measured.reached = located.clone().count() as u64;
        measured.reached_arcs = arcs;
        let (waves, inferred) =
            (located.max().copied().unwrap_or(0), measured.reached - query.start.count());
        Geolocation { latitude, longitude, wave, waves, inferred, passes, measured }
    }

    /// How far inferred nodes are from where they really are, where that is known.
    pub fn error_km(&self, known: &KnownPlaces) -> Option<ErrorKm> {
        let inferred = |v: usize| (1..NEVER).contains(&self.wave[v]);
        let [north, east] = known.truth.as_ref()?;
        error_km([north, east], [&self.latitude, &self.longitude], inferred)
    }
}

impl Answer<Geo> for Geolocation {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn measured_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }

    fn strategy(&self, _: &Query<Geo>) -> &'static str {
        "waves"
    }

    fn strategy_line(&self, query: &Query<Geo>) -> String {
        let geo = &query.config;
        let most = match geo.geo_complete {
            true => "until nobody is left who can be".into(),
            false => format!("at most {}", geo.geo_iter),
        };
        format!(
            "waves, {most}; spatial medians to {:e} of the sum, {} a descent at most",
            geo.tolerance(),
            passes(geo.spatial_iter.into()),
        )
    }

    fn cuts(&self, _: &Query<Geo>) -> String {
        match self.measured.merge_modes.contains_key("gather") {
            true => "; queues cut by cost".into(),
            false => String::new(),
        }
    }

    fn lines(&self, query: &Query<Geo>) -> Vec<(&'static str, String)> {
        let left = self.wave.len() as u64 - self.measured.reached;
        let answer = format!(
            "{} located in {}, {} left without a place; {} over neighbours",
            plural(self.inferred, "node"),
            plural(self.waves.into(), "wave"),
            count(left),
            passes(self.passes),
        );
        let mut lines = vec![("answer", answer)];
        if let Some(error) = self.error_km(&query.start) {
            lines.push((
                "error",
                format!(
                    "median {:.1} km, 90th percentile {:.1} km, over {} with a truth",
                    error.median,
                    error.p90,
                    plural(error.count, "inferred node"),
                ),
            ));
        }
        lines
    }

    fn rated(&self) -> &'static str {
        "to located neighbours"
    }

    fn variant(&self, query: &Query<Geo>) -> String {
        let geo = &query.config;
        let waves = if geo.geo_complete { "complete".into() } else { geo.geo_iter.to_string() };
        format!("variant:geo-{waves}_spatial-{}", geo.spatial_iter)
    }

    /// `geo-iter`, `geo-complete`, `spatial-iter`, `labels-file` as HIVE's records have them; `given` and
    /// `inferred` nodes, `waves`, `passes` of the solver, and `error-km` (median, p90, mean, max, count, missing) or null.
    fn facts(&self, query: &Query<Geo>) -> Map<String, Value> {
        let geo = &query.config;
        fields([
            ("geo-iter", json!(geo.geo_iter)),
            ("geo-complete", json!(geo.geo_complete)),
            ("spatial-iter", json!(geo.spatial_iter)),
            ("tolerance", json!(geo.tolerance())),
            ("labels-file", json!(geo.labels)),
            ("given", json!(query.start.count())),
            ("inferred", json!(self.inferred)),
            ("waves", json!(self.waves)),
            ("passes", json!(self.passes)),
            ("error-km", json!(self.error_km(&query.start))),
        ])
    }

    /// An array holds latitudes and longitudes alone.
    fn table(&self, _: &Query<Geo>) -> Table<'_> {
        Table::of_nodes([
            ("lat", Column::F64(&self.latitude)),
            ("lon", Column::F64(&self.longitude)),
            ("wave", Column::Maybe(&self.wave)),
        ])
        .with_array(2)
    }

    fn verify(&self, query: &Query<Geo>, by: &Checker) -> Result<Checked> {
        let [north, east] = &query.start.given;
        let geo = &query.config;
        let waves = (!geo.geo_complete).then_some(geo.geo_iter);
        let answer = [&self.latitude[..], &self.longitude[..]];
        let graph = &query.graph;
        let seen = by.geo(graph, [north, east], answer, &self.wave, waves, ACCURACY)?;
        let total = seen.total_excess;
        let other = match seen.elsewhere {
            0 => format!("none more than {ACCURACY:e} above the least sum"),
            some => format!(
                "sums {:.1e} {} the least in all, {} at another local minimum (at most {:.1e} above)",
                total.abs(),
                if total < 0.0 { "below" } else { "above" },
                count(some),
                seen.worst_excess,
            ),
        };
        let looked = plural(seen.checked, "location");
        let all =
            format!("{looked} of {} compared with the least sum on the globe", count(seen.located));
        let (skipped, note) = match seen.checked < seen.located {
            true => {
                (Some(format!("{all}, the others are at a local minimum")), format!("; {other}"))
            }
            false => (None, format!("; {all}, {other}")),
        };
        let found = [
            ("located", json!(seen.located)),
            ("checked", json!(seen.checked)),
            ("medians", json!(seen.medians)),
            ("elsewhere", json!(seen.elsewhere)),
            ("total_excess", json!(seen.total_excess)),
            ("worst_excess", json!(seen.worst_excess)),
            ("mean_km", json!(seen.mean_km)),
        ];
        Ok(Checked { skipped, found: fields(found), note })
    }
}
