//! How geolocation is asked for, and what is said of its answer.

use super::known::Degrees;
use super::{GeoConfig, Geolocation, Known, geolocate};
use crate::algorithm::Measured;
use crate::graph::Graph;
use crate::io::{Column, Relabel, ResultFormat, Table, places_of};
use crate::run::{Answer, Checked, Context, Job, RunConfig, Start, fields};
use crate::units::{count, plural};
use crate::verify::{self, ErrorKm, error_km};
use crate::{Error, Result, generate};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How far above the least sum of distances a location, and all together, may be, as a share, to pass their check.
const ACCURACY: f64 = 1e-6;

/// Checks what no single option's syntax can.
pub(crate) fn check_options(config: &RunConfig) -> Result<()> {
    let (geo, load) = (&config.geo, &config.load);
    driver_options(config).check()?;
    let both = [
        ("--labels", geo.labels.is_some(), "--locate", geo.locate.is_some()),
        ("--hide", geo.hide.is_some(), "--truth", geo.truth.is_some()),
        // Its ids could not be told from those of the nodes that are left.
        ("--truth", geo.truth.is_some(), "--largest-component", load.largest_component),
        ("--truth", geo.truth.is_some(), "--relabel", load.relabel != Relabel::None),
    ];
    if let Some((one, _, other, _)) = both.iter().find(|(_, a, _, b)| *a && *b) {
        return Err(Error::input(format!("{one} with {other}: leave one of them out")));
    }
    if let Some(first) = geo.labels_first_id.filter(|_| geo.labels.is_none() && geo.truth.is_none())
    {
        return Err(Error::input(format!(
            "--labels-first-id {first}: there is no file of places; give --labels FILE, or leave it out"
        )));
    }
    if let Some(every @ 0..=1) = geo.hide {
        return Err(Error::input(format!(
            "--hide {every}: use 2 (every second place is withheld) or more"
        )));
    }
    config.check_format(None)?;
    match (&config.output, config.format_of_output()?) {
        (Some(path), Some(ResultFormat::Txt)) => Err(Error::input(format!(
            "--output {}: has room for one column only, not for places; name a .csv or .npy",
            path.display()
        ))),
        _ => Ok(()),
    }
}

fn tolerance(config: &RunConfig) -> f64 {
    config.tolerance.or(GeoConfig::default().tolerance)
}

fn driver_options(config: &RunConfig) -> GeoConfig {
    let geo = &config.geo;
    GeoConfig {
        merge: config.merge,
        geo_iter: geo.geo_iter,
        geo_complete: geo.geo_complete,
        spatial_iter: geo.spatial_iter,
        tolerance: tolerance(config),
        trace: config.trace,
        compare: config.verify,
        ..GeoConfig::default()
    }
}

/// The places that a run starts from and is measured by.
pub(crate) fn start(config: &RunConfig, graph: &Graph) -> Result<Start> {
    let geo = &config.geo;
    let given: Degrees = match (geo.locate, graph.places()) {
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
    let spec = config.graph.as_deref().unwrap_or_default();
    let truth = match &geo.truth {
        Some(path) => {
            let found = places_of(graph, &path.to_string_lossy(), geo.labels_first_id)?;
            Some([found.latitude, found.longitude])
        }
        None if geo.labels.is_none() && spec.starts_with("geo:") => {
            let truth = generate::geo_locations(spec)?;
            // Generated ids are places in its arrays.
            let of = |all: &[f64]| {
                (0..graph.nodes() as u32).map(|v| all[graph.input_id(v) as usize]).collect()
            };
            Some([of(&truth.latitude), of(&truth.longitude)])
        }
        None => None,
    };
    let mut known = Known { given, truth };
    if let Some(every) = geo.hide {
        known.hide(graph, every);
    }
    Ok(Start::Places(Arc::new(known)))
}

/// Runs the driver under the options of the job.
pub(crate) fn solve(context: &Context<'_>) -> Result<Box<dyn Answer>> {
    let job = context.job;
    let options = GeoConfig {
        runs: context.runs,
        warmup: context.warmup,
        trace: job.config.trace && !context.gauge,
        ..driver_options(&job.config)
    };
    let [latitude, longitude] = &known(job)?.given;
    let plain = context.ready.plain()?;
    Ok(Box::new(geolocate(context.fleet, plain, [latitude, longitude], &options)?))
}

fn known(job: &Job) -> Result<&Known> {
    match &job.start {
        Start::Places(known) => Ok(known),
        _ => Err(Error::machine("geo without places to start from; this is a bug")),
    }
}

fn passes(many: u64) -> String {
    if many == 1 { "1 pass".into() } else { format!("{} passes", count(many)) }
}

impl Geolocation {
    /// How far inferred nodes are from where they really are, where that is known.
    pub fn error_km(&self, known: &Known) -> Option<ErrorKm> {
        let inferred = |v: usize| (1..u32::MAX).contains(&self.wave[v]);
        let [north, east] = known.truth.as_ref()?;
        error_km([north, east], [&self.latitude, &self.longitude], inferred)
    }
}

impl Answer for Geolocation {
    fn measured(&self) -> &Measured {
        &self.measured
    }

    fn strategy(&self, _: &Job) -> &'static str {
        "waves"
    }

    fn strategy_line(&self, job: &Job) -> String {
        let geo = &job.config.geo;
        let most = match geo.geo_complete {
            true => "until nobody is left who can be".into(),
            false => format!("at most {}", geo.geo_iter),
        };
        format!(
            "waves, {most}; spatial medians to {:e} of the sum, {} a descent at most",
            tolerance(&job.config),
            passes(geo.spatial_iter.into()),
        )
    }

    fn cuts(&self, _: &Job) -> String {
        match self.measured.merge_modes.contains_key("gather") {
            true => "; queues cut by cost".into(),
            false => String::new(),
        }
    }

    fn lines(&self, job: &Job) -> Vec<(&'static str, String)> {
        let left = self.wave.len() as u64 - self.measured.reached;
        let answer = format!(
            "{} located in {}, {} left without a place; {} over neighbours",
            plural(self.inferred, "node"),
            plural(self.waves.into(), "wave"),
            count(left),
            passes(self.passes),
        );
        let mut lines = vec![("answer", answer)];
        if let Some(error) = known(job).ok().and_then(|known| self.error_km(known)) {
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

    fn variant(&self, job: &Job) -> String {
        let geo = &job.config.geo;
        let waves = if geo.geo_complete { "complete".into() } else { geo.geo_iter.to_string() };
        format!("variant:geo-{waves}_spatial-{}", geo.spatial_iter)
    }

    /// `geo-iter`, `geo-complete`, `spatial-iter`, `labels-file` as HIVE's records have them; `given` and
    /// `inferred` nodes, `waves`, `passes` of the solver, and `error-km` (median, p90, mean, max, count, missing) or null.
    fn facts(&self, job: &Job) -> Map<String, Value> {
        let geo = &job.config.geo;
        let known = known(job).ok();
        fields([
            ("geo-iter", json!(geo.geo_iter)),
            ("geo-complete", json!(geo.geo_complete)),
            ("spatial-iter", json!(geo.spatial_iter)),
            ("tolerance", json!(tolerance(&job.config))),
            ("labels-file", json!(geo.labels)),
            ("given", json!(known.map(Known::count))),
            ("inferred", json!(self.inferred)),
            ("waves", json!(self.waves)),
            ("passes", json!(self.passes)),
            ("error-km", json!(known.and_then(|known| self.error_km(known)))),
        ])
    }

    /// An array holds latitudes and longitudes alone.
    fn table(&self, _: &Graph) -> Table<'_> {
        Table::of_nodes([
            ("lat", Column::F64(&self.latitude)),
            ("lon", Column::F64(&self.longitude)),
            ("wave", Column::Maybe(&self.wave)),
        ])
        .with_array(2)
    }

    fn verify(&self, job: &Job) -> Result<Checked> {
        let [north, east] = &known(job)?.given;
        let geo = &job.config.geo;
        let waves = (!geo.geo_complete).then_some(geo.geo_iter);
        let answer = [&self.latitude[..], &self.longitude[..]];
        let graph = &job.graph;
        let seen = verify::geolocation(graph, [north, east], answer, &self.wave, waves, ACCURACY)?;
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
