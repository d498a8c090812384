//! Geolocation: equal bits on any number of replicas, the places where the globe is awkward, real graphs.

use crate::common;

use crate::common::{graph_of, unweighted_graph_of};
use hivegraph::algorithm::geo::Locate;
use hivegraph::algorithm::{GeoConfig, Geolocation, MergeMode, RunOptions, geo};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::run::Choice;
use hivegraph::{generate, io};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

const NEVER: u32 = u32::MAX;
const NAN: f64 = f64::NAN;

/// A graph and where its nodes are known to be.
struct Case {
    name: &'static str,
    graph: Arc<Graph>,
    given: [Vec<f64>; 2],
}

impl Case {
    fn new(name: &'static str, graph: Graph, places: &[(f64, f64)]) -> Case {
        let given = [places.iter().map(|p| p.0).collect(), places.iter().map(|p| p.1).collect()];
        Case { name, graph: Arc::new(graph), given }
    }

    /// Half of the nodes anywhere on the globe.
    fn scattered(name: &'static str, graph: Graph, seed: u64) -> Case {
        let unit = |v: u64, which| f64::from(common::uniform(seed + which, v));
        let place = |v: u64| match unit(v, 0) < 0.5 {
            true => ((2.0 * unit(v, 1) - 1.0).asin().to_degrees(), 360.0 * unit(v, 2) - 180.0),
            false => (NAN, NAN),
        };
        let places: Vec<_> = (0..graph.nodes() as u64).map(place).collect();
        Case::new(name, graph, &places)
    }

    fn run(&self, fleet: &Fleet, config: &GeoConfig) -> Geolocation {
        let prepared = Prepared::new(fleet, self.graph.clone(), PrepareOptions::default()).unwrap();
        let run = RunOptions { compare: true, ..config.run.clone() };
        let config = GeoConfig { given: Some(self.given.clone()), run, ..config.clone() };
        geo(fleet, &prepared, &config).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    /// On one host replica, as long as it takes.
    fn answer(&self) -> Geolocation {
        self.run(&host(1), &complete())
    }
}

fn complete() -> GeoConfig {
    GeoConfig { geo_complete: true, ..GeoConfig::default() }
}

fn merged(merge: MergeMode) -> GeoConfig {
    GeoConfig { run: RunOptions { merge, ..RunOptions::default() }, ..complete() }
}

fn host(replicas: usize) -> Fleet {
    common::open(&format!("host:{replicas}"), CollectiveKind::Auto, FleetConfig::default())
}

fn bits(answer: &Geolocation) -> (Vec<u64>, Vec<u64>, &[u32], u32, u64) {
    let of = |degrees: &[f64]| degrees.iter().map(|d| d.to_bits()).collect();
    (of(&answer.latitude), of(&answer.longitude), &answer.wave, answer.waves, answer.inferred)
}

fn cases() -> Vec<Case> {
    let hubs = {
        // Five hubs that know everybody, one of them with a located arc tenfold.
        let mut arcs = Vec::new();
        for v in 5..6000u32 {
            (0..5).for_each(|hub| arcs.push((hub, v, 1.0)));
            if v.is_multiple_of(7) {
                arcs.push((v, v - 1, 1.0));
            }
        }
        (0..10).for_each(|_| arcs.push((3, 77, 1.0)));
        graph_of(6000, &arcs)
    };
    let friends = generate::generate("geo:5000").unwrap();
    let (north, east) = friends.places().map(|(a, b)| (a.to_vec(), b.to_vec())).unwrap();
    vec![
        Case::scattered("skewed", common::skewed(12, 8, 1), 11),
        Case::scattered("grid", common::grid(66, 64, false, 2), 12),
        Case::scattered("directed", common::directed(4500, 3, 6), 13),
        Case::scattered("parallels", common::zeros_and_parallels(4200), 14),
        Case::scattered("hubs", hubs, 15),
        Case { name: "friends", graph: Arc::new(friends), given: [north, east] },
    ]
}

/// A step away on the sphere, km.
fn km(a: (f64, f64), b: (f64, f64)) -> f64 {
    let radians = |p: (f64, f64)| (p.0.to_radians(), p.1.to_radians());
    let ((a, x), (b, y)) = (radians(a), radians(b));
    let h = ((b - a) / 2.0).sin().powi(2) + a.cos() * b.cos() * ((y - x) / 2.0).sin().powi(2);
    2.0 * 6371.0088 * h.sqrt().min(1.0).asin()
}

fn at(answer: &Geolocation, v: usize) -> (f64, f64) {
    (answer.latitude[v], answer.longitude[v])
}

/// Node 0 knows all others, which are at `places`.
fn centre(places: &[(f64, f64)]) -> (f64, f64) {
    let arcs: Vec<_> = (1..=places.len() as u32).map(|v| (0, v, 1.0)).collect();
    let all: Vec<_> = [(NAN, NAN)].into_iter().chain(places.iter().copied()).collect();
    let answer = Case::new("star", graph_of(places.len() + 1, &arcs), &all).answer();
    assert_eq!((answer.wave[0], answer.waves, answer.inferred), (1, 1, 1));
    at(&answer, 0)
}

/// Waves by the definition: levels of a search against the arcs from the given nodes.
fn waves(case: &Case, most: u32) -> Vec<u32> {
    let n = case.graph.nodes();
    let given = |v: usize| !case.given[0][v].is_nan();
    let mut wave: Vec<u32> = (0..n).map(|v| if given(v) { 0 } else { NEVER }).collect();
    for number in 1..=most {
        let found: Vec<usize> = (0..n)
            .filter(|v| wave[*v] == NEVER)
            .filter(|v| case.graph.neighbors(*v).any(|(u, _)| wave[u as usize] < number))
            .collect();
        if found.is_empty() {
            break;
        }
        found.iter().for_each(|v| wave[*v] = number);
    }
    wave
}

/// Summed distance of `x` from the neighbours that node `v` was placed by, km.
fn sum(case: &Case, answer: &Geolocation, v: usize, x: (f64, f64)) -> f64 {
    let before = |u: &u32| answer.wave[*u as usize] < answer.wave[v];
    let near = case.graph.neighbors(v).map(|arc| arc.0).filter(before);
    near.map(|u| km(x, at(answer, u as usize))).sum()
}

#[test]
fn any_number_of_replicas_finds_the_same_bits() {
    for case in cases() {
        let alone = case.answer();
        assert!(alone.inferred > 1000 || case.name == "hubs", "{}: nothing to do", case.name);
        for replicas in [2, 3, 5, 8, 16] {
            let fleet = host(replicas);
            for merge in [MergeMode::Auto, MergeMode::Redundant] {
                let answer = case.run(&fleet, &merged(merge));
                assert_eq!(bits(&answer), bits(&alone), "{} on {replicas}, {merge}", case.name);
                let gathers = answer.measured.merge_modes.contains_key("gather");
                assert_eq!(gathers, merge == MergeMode::Auto, "{}", case.name);
            }
        }
    }
}

#[test]
fn waves_are_levels_from_the_given_nodes_and_end_when_asked() {
    for case in cases() {
        assert_eq!(case.answer().wave, waves(&case, NEVER - 1), "{}", case.name);
        for most in [0, 1, 2] {
            let answer = case.run(&host(2), &GeoConfig { geo_iter: most, ..GeoConfig::default() });
            assert_eq!(answer.wave, waves(&case, most), "{} after {most}", case.name);
            assert!(answer.waves <= most);
        }
    }
}

#[test]
fn nobody_is_better_placed_a_little_aside() {
    for case in cases() {
        let answer = case.answer();
        for v in (0..case.graph.nodes()).filter(|v| (1..NEVER).contains(&answer.wave[*v])) {
            let x = at(&answer, v);
            assert!(x.0.abs() <= 90.0 && x.1 > -180.0 && x.1 <= 180.0, "{} {x:?}", case.name);
            let least = sum(&case, &answer, v, x);
            let wide = 1.0 / x.0.to_radians().cos().max(1e-3);
            for (north, east) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (0.7, 0.7)] {
                for step in [1e-4, 0.01, 1.0] {
                    let y = (x.0 + step * north, x.1 + step * east * wide);
                    let other = sum(&case, &answer, v, y);
                    let slack = 1e-9 * least + 1e-4;
                    assert!(least <= other + slack, "{} node {v}: {least} {other}", case.name);
                }
            }
        }
    }
}

#[test]
fn one_neighbour_gives_its_place_and_two_the_middle() {
    assert!(km(centre(&[(48.5, -3.25)]), (48.5, -3.25)) < 1e-9);
    assert!(km(centre(&[(0.0, 10.0), (0.0, 50.0)]), (0.0, 30.0)) < 1e-6);
    assert!(km(centre(&[(80.0, 0.0), (80.0, 180.0)]), (90.0, 0.0)) < 1e-6);
    let (north, east) = centre(&[(10.0, 179.0), (10.0, -179.0)]);
    assert!(north > 10.0 && (east.abs() - 180.0).abs() < 1e-9, "over the antimeridian: {east}");
}

#[test]
fn antipodal_neighbours_give_the_first_in_the_row() {
    assert!(km(centre(&[(0.0, 0.0), (0.0, 180.0)]), (0.0, 0.0)) < 1e-9);
    assert!(km(centre(&[(90.0, 0.0), (-90.0, 55.0)]), (90.0, 0.0)) < 1e-9);
    // Everywhere on the great circle of two pairs it is equally far from each pair.
    let (north, east) = centre(&[(0.0, 0.0), (0.0, 180.0), (0.0, 90.0), (0.0, -90.0)]);
    assert!(north.is_finite() && east.is_finite());
}

#[test]
fn the_poles_and_the_antimeridian_are_places_like_others() {
    let ring: Vec<_> = (0..6).map(|i| (85.0, 60.0 * f64::from(i) - 170.0)).collect();
    assert!(km(centre(&ring), (90.0, 0.0)) < 1e-3);
    let box_ = [(1.0, 179.0), (1.0, -179.0), (-1.0, -179.0), (-1.0, 179.0)];
    let (north, east) = centre(&box_);
    assert!(north.abs() < 1e-6 && (east.abs() - 180.0).abs() < 1e-6 && east > -180.0);
    assert!(km(centre(&[(-90.0, 3.0), (-90.0, 77.0), (-90.0, -10.0)]), (-90.0, 0.0)) < 1e-9);
}

#[test]
fn coincident_neighbours_hold_the_median_when_they_are_half() {
    let home = (52.0, 13.0);
    let places = [home, (0.0, 0.0), home, (-30.0, 140.0), home, (60.0, -100.0)];
    assert!(km(centre(&places), home) < 1e-9);
    assert!(km(centre(&[home; 40]), home) < 1e-9);
    let mut crowd = vec![home; 2000];
    crowd.extend((0..1500).map(|i| (f64::from(i % 80), f64::from(i % 300) - 150.0)));
    assert!(km(centre(&crowd), home) < 1e-9);
}

#[test]
fn arcs_count_as_often_as_they_occur_and_only_outwards() {
    let places = [(NAN, NAN), (0.0, 0.0), (0.0, 10.0), (10.0, 5.0)];
    let once = unweighted_graph_of(4, &[(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]);
    let thrice =
        unweighted_graph_of(4, &[(0, 1, 1.0), (0, 1, 1.0), (0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]);
    let [once, thrice] = [once, thrice].map(|graph| Case::new("arcs", graph, &places).answer());
    assert!(km(at(&thrice, 0), (0.0, 0.0)) < 1e-9);
    assert!(km(at(&once, 0), (0.0, 0.0)) > 100.0);
    let inwards = unweighted_graph_of(4, &[(1, 0, 1.0), (2, 0, 1.0)]);
    assert_eq!(Case::new("inwards", inwards, &places).answer().wave, [NEVER, 0, 0, 0]);
}

#[test]
fn nobody_located_everybody_located_and_isolated_nodes_are_fine() {
    let graph = || common::grid(64, 65, false, 3);
    let n = graph().nodes();
    for replicas in [1, 3] {
        let nobody = Case::new("nobody", graph(), &vec![(NAN, NAN); n]);
        let answer = nobody.run(&host(replicas), &complete());
        assert!(answer.wave.iter().all(|wave| *wave == NEVER) && answer.waves == 0);
        assert!(answer.latitude.iter().chain(&answer.longitude).all(|d| d.is_nan()));
        let all = Case::new("all", graph(), &vec![(1.0, -180.0); n]);
        let answer = all.run(&host(replicas), &complete());
        assert!(answer.wave.iter().all(|wave| *wave == 0) && answer.inferred == 0);
        assert!(answer.longitude.iter().all(|east| *east == -180.0), "as they were given");
    }
    let lonely =
        Case::new("lonely", graph_of(3, &[(1, 0, 1.0)]), &[(5.0, 6.0), (NAN, NAN), (NAN, NAN)]);
    let answer = lonely.answer();
    assert_eq!(answer.wave, [0, 1, NEVER]);
    assert!(answer.latitude[2].is_nan() && km(at(&answer, 1), (5.0, 6.0)) < 1e-9);
}

#[test]
fn places_that_are_none_are_refused() {
    let graph = Arc::new(graph_of(2, &[(0, 1, 1.0)]));
    let fleet = host(1);
    let prepared = Prepared::new(&fleet, graph, PrepareOptions::default()).unwrap();
    let refusal = |north: &[f64], east: &[f64], config: &GeoConfig| {
        let config = GeoConfig { given: Some([north.to_vec(), east.to_vec()]), ..config.clone() };
        geo(&fleet, &prepared, &config).unwrap_err().to_string()
    };
    let config = GeoConfig::default();
    assert!(refusal(&[0.0], &[0.0, 0.0], &config).contains("1 nodes for a graph of 2"));
    assert!(refusal(&[0.0, 91.0], &[0.0, 0.0], &config).contains("node 1 at (91, 0)"));
    assert!(refusal(&[0.0, NAN], &[0.0, 0.0], &config).contains("nowhere on Earth"));
    let bad = GeoConfig { tolerance: Choice::Is(NAN), ..config.clone() };
    assert!(refusal(&[0.0; 2], &[0.0; 2], &bad).contains("--tolerance NaN"));
    assert!(refusal(&[0.0; 2], &[0.0; 2], &merged(MergeMode::Dense)).contains("--merge dense"));
}

/// Devices of any number find the same bits as one, and the host's answer within rounding.
#[test]
fn gpus_find_the_same_places() {
    let fleets = common::cuda_fleets();
    if fleets.is_empty() {
        return;
    }
    let cases = cases();
    let hosts: Vec<Geolocation> = cases.iter().map(Case::answer).collect();
    let mut first: Vec<Option<Geolocation>> = cases.iter().map(|_| None).collect();
    for (devices, collective) in fleets {
        let fleet = common::open(&devices, collective, FleetConfig::default());
        for ((case, host), first) in cases.iter().zip(&hosts).zip(&mut first) {
            let name = format!("{} on {devices}, {collective}", case.name);
            for merge in [MergeMode::Auto, MergeMode::Split, MergeMode::Redundant] {
                let answer = case.run(&fleet, &merged(merge));
                let first = first.get_or_insert_with(|| answer.clone());
                assert_eq!(bits(&answer), bits(first), "{name}, {merge}");
            }
            let run = RunOptions { runs: 2, ..RunOptions::default() };
            let answer = case.run(&fleet, &GeoConfig { run, ..complete() });
            assert_eq!(answer.wave, host.wave, "{name}");
            for v in (0..case.graph.nodes()).filter(|v| (1..NEVER).contains(&host.wave[*v])) {
                // Equal sums may be had at several places, and later waves build on them.
                let (own, theirs) = (at(&answer, v), at(host, v));
                let least = sum(case, &answer, v, own);
                let there = sum(case, &answer, v, theirs);
                assert!(
                    least <= there * (1.0 + 1e-6) + 1e-3,
                    "{name}: node {v} {own:?} {theirs:?}"
                );
            }
        }
    }
}

#[test]
fn perturbed_gpus_find_the_same_places() {
    if !common::has_gpu() {
        return;
    }
    let case = &cases()[0];
    let open = |perturb| {
        let more = common::perturbed(perturb);
        common::open("cuda:0x4", CollectiveKind::Peer, more)
    };
    let plain = case.run(&open(None), &complete());
    for seed in 1..4 {
        assert_eq!(bits(&case.run(&open(Some(seed)), &complete())), bits(&plain), "seed {seed}");
    }
}

#[test]
fn made_up_places_do_not_depend_on_the_order_of_nodes() {
    let spec: Locate = "0.5:9".parse().unwrap();
    assert_eq!((spec.share, spec.seed, spec.to_string()), (0.5, 9, "0.5:9".to_string()));
    for bad in ["0", "1.5", "x", "0.5:", "0.5:x", "-1", "nan"] {
        let refusal = bad.parse::<Locate>().unwrap_err().to_string();
        assert!(refusal.contains(&format!("--locate {bad}:")), "{refusal}");
    }
}

fn hive(args: &[&str]) -> Output {
    let mut command: Command = common::hive();
    command.stdin(Stdio::null()).args(args).output().expect("hive starts")
}

fn record(args: &[&str]) -> serde_json::Value {
    let output = hive(&[&["run", "geo", "--runs", "1", "--json", "-"], args].concat());
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {err}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(args: &[&str], part: &str) {
    let output = hive(&[&["run", "geo", "--devices", "host:1"], args].concat());
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    assert!(err.contains(part), "{args:?}: no '{part}' in {err}");
}

#[test]
fn bad_input_gets_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let graph = file("g.txt", "0 1\n1 2\n");
    let on = |more: &[&'static str]| {
        let graph: &'static str = Box::leak(graph.clone().into_boxed_str());
        [&["--graph", graph], more].concat()
    };
    refused(&on(&[]), "give --labels FILE, or --locate");
    refused(&on(&["--labels", "no-such.csv"]), "no-such.csv");
    refused(&on(&["--locate", "2"]), "--locate 2");
    refused(&on(&["--locate", "0.5", "--hide", "1"]), "--hide 1");
    refused(&on(&["--locate", "0.5", "--tolerance", "-1"]), "--tolerance -1");
    refused(&on(&["--locate", "0.5", "--geo-iter", "x"]), "--geo-iter");
    refused(&on(&["--locate", "0.5", "--merge", "dense"]), "--merge dense");
    refused(&on(&["--locate", "0.5", "--output", "x.txt"]), ".csv, .npz or .npy");
    refused(&on(&["--locate", "0.5", "--seeds", "1"]), "geo does not take --seeds");
    refused(&on(&["--locate", "0.5", "--layout", "raw"]), "geo does not take --layout");
    refused(&on(&["--locate", "0.5", "--truth", "no-such.csv"]), "no-such.csv");
    refused(&on(&["--hide", "3", "--truth", "x"]), "--hide with --truth");
    refused(&["--graph", "geo:100", "--locate", "0.5"], "leave it out");
    let beyond = file("beyond.csv", "node,lat,lon\n7,1,2\n");
    let output = hive(&["run", "geo", "--graph", &graph, "--labels", &beyond]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && err.contains("places node 7"), "{err}");
    let output = hive(&["run", "sssp", "--graph", &graph, "--geo-iter", "5"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("sssp does not take --geo-iter"), "{err}");
}

#[test]
fn the_record_has_the_names_of_hive_and_the_locations_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("x.csv");
    let args = ["--graph", "geo:3000", "--devices", "host:3", "--output", csv.to_str().unwrap()];
    let record = record(&args);
    assert_eq!(record["primitive"], "geolocation");
    assert_eq!((&record["geo-iter"], &record["spatial-iter"]), (&3.into(), &1000.into()));
    assert_eq!(record["geo-complete"], false);
    assert_eq!(record["tag"][0], "variant:geo-3_spatial-1000");
    assert!(record["seeds"].is_null() && record["delta"].is_null());
    let inferred = record["inferred"].as_u64().unwrap();
    assert!(inferred > 1000 && record["error-km"]["count"] == inferred, "{record}");
    // Friends live near each other, so that the generator's truth is found to some km.
    assert!(record["error-km"]["median"].as_f64().unwrap() < 30.0, "{}", record["error-km"]);
    let found = io::read_locations(csv.to_str().unwrap()).unwrap();
    assert_eq!(found.ids.len() as u64, record["measured"]["reached"].as_u64().unwrap());
    let text = std::fs::read_to_string(&csv).unwrap();
    assert!(text.starts_with("node,lat,lon,wave\n0,") && text.lines().count() == 3001);
}

/// What `hive run geo` says on standard error and wrote to `csv`, by id.
fn places(args: &[&str], csv: &std::path::Path) -> (String, Vec<(String, String, String)>) {
    let ends = ["--devices", "host:2", "--runs", "1", "--warmup", "0", "--json", "-", "--output"];
    let output = hive(&[&["run", "geo"], args, &ends, &[csv.to_str().unwrap()]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let text = std::fs::read_to_string(csv).unwrap();
    let row = |line: &str| {
        let mut cells = line.split(',').map(String::from);
        let id = cells.next().unwrap();
        let mut degrees = || {
            let text = cells.next().unwrap();
            text.parse::<f64>().map_or(text, |degrees| degrees.to_string())
        };
        (id, degrees(), degrees())
    };
    (told, text.lines().skip(1).map(row).collect())
}

#[test]
fn places_go_by_the_ids_of_the_input_and_results_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let csv = dir.path().join("out.csv");
    let row = |id: &str, lat: &str, lon: &str| (id.into(), lat.into(), lon.into());
    let banner = "%%MatrixMarket matrix coordinate pattern symmetric\n";
    let matrix = file("g.mtx", &format!("{banner}5 5 3\n2 1\n3 2\n5 4\n"));
    let named = file("named.txt", "10 20\n20 18446744073709551615\n40 50\n");
    let expected = [
        row("1", "10", "20"),
        row("2", "10", "20"),
        row("3", "10", "20"),
        row("4", "", ""),
        row("5", "", ""),
    ];
    let by_id = file("by-id.csv", "node,lat,lon,wave\n1,10,20,0\n4,,,\n");
    let (told, found) = places(&["--graph", &matrix, "--labels", &by_id], &csv);
    assert_eq!(found, expected);
    assert!(!told.contains("counts from"), "{told}");
    // What was written is read back with the same ids.
    let again = dir.path().join("again.csv");
    let (_, found) = places(&["--graph", &matrix, "--labels", csv.to_str().unwrap()], &again);
    assert_eq!(found, expected);
    // Ids that are names, of 64 bits too.
    let far = file("far.csv", "node,lat,lon\n18446744073709551615,10,20\n");
    let (_, found) = places(&["--graph", &named, "--labels", &far], &csv);
    assert_eq!(found[2], row("40", "", ""));
    assert_eq!(found[4], row("18446744073709551615", "10", "20"));
    let (_, again) = places(&["--graph", &named, "--labels", csv.to_str().unwrap()], &again);
    assert_eq!(found, again);
    // A file that counts otherwise is refused, unless that is said, by the option or by the file.
    let from_0 = file("from-0.csv", "node,lat,lon\n0,10,20\n");
    refused(
        &["--graph", &matrix, "--labels", &from_0],
        "places node 0, which the graph does not have (ids 1 to 5)",
    );
    refused(&["--graph", &matrix, "--labels", &from_0], "--labels-first-id N");
    refused(&["--graph", &matrix, "--labels", &by_id, "--truth", &from_0], "--labels-first-id N");
    for args in [
        vec!["--labels", &from_0, "--labels-first-id", "0"],
        vec!["--labels", &from_0, "--truth", &from_0, "--labels-first-id", "0"],
    ] {
        let (told, found) = places(&[&["--graph", &matrix], &args[..]].concat(), &csv);
        assert_eq!(found, expected);
        assert!(told.contains("the file of places counts from 0"), "{told}");
    }
    for text in ["% (0-based)\n5 2 2\n1 10 20\n", "5 2 2\n0 1 2\n1 10 20\n"] {
        let labels = file("g.labels", text);
        let (told, found) = places(&["--graph", &matrix, "--labels", &labels], &csv);
        assert_eq!(found[1], row("2", "10", "20"));
        assert!(told.contains("the file of places counts from 0"), "{told}");
    }
    let labels = file("g.labels", "5 2 2\n1 10 20\n");
    let (told, found) = places(&["--graph", &matrix, "--labels", &labels], &csv);
    assert_eq!(found, expected);
    assert!(!told.contains("counts from"), "{told}");
    let from_7 = ["--graph", &matrix, "--labels", &from_0, "--labels-first-id", "7"];
    refused(&from_7, "places node 0 counted from 7");
    let named_0 = ["--graph", &named, "--labels", &far, "--labels-first-id", "0"];
    refused(&named_0, "--labels-first-id 0: the ids of the graph have gaps");
    refused(
        &["--graph", &matrix, "--locate", "0.5", "--labels-first-id", "0"],
        "there is no file of places",
    );
    // The same for a file that keeps them.
    let hive_file = dir.path().join("g.hive");
    let hive_file = hive_file.to_str().unwrap();
    let output = hive(&["convert", &matrix, hive_file, "--labels", &from_0]);
    assert_eq!(output.status.code(), Some(2));
    let output =
        hive(&["convert", &matrix, hive_file, "--labels", &from_0, "--labels-first-id", "0"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("the file of places counts from 0"));
    let (_, found) = places(&["--graph", hive_file], &csv);
    assert_eq!(found, expected);
}

#[test]
fn places_of_real_graphs_go_by_their_ids() {
    let Some(data) = common::data() else { return };
    let path = |name: &str| data.join(name).to_str().unwrap().to_string();
    let (airports, routes) =
        (path("geo/openflights-airports.csv"), path("geo/openflights-routes.mtx.gz"));
    refused(&["--graph", &routes, "--labels", &airports], "--labels-first-id N");
    // Gunrock's samples say that they count from 0, and belong to a matrix that counts from 1.
    let load = |graph: &str, labels: &str| {
        io::load_placed(&path(graph), &path(labels), None, &io::LoadOptions::default()).unwrap()
    };
    for labels in
        ["small/gunrock-geolocation-sample.labels", "small/gunrock-geolocation-locations.labels"]
    {
        let graph = load("small/chesapeake.mtx", labels);
        assert_eq!(graph.places().unwrap().0[0], 37.7449063493);
        assert_eq!(graph.origin.places_first_id, Some(0));
    }
    let road = load("road/USA-road-d.NY.gr.gz", "road/USA-road-d.NY.co.gz");
    assert_eq!(road.places().unwrap().0[0], 41.085396);
    assert_eq!(road.origin.places_first_id, None);
}

#[test]
fn hidden_airports_are_found_by_their_routes() {
    let Some(data) = common::data() else { return };
    let path = |name: &str| data.join("geo").join(name).to_str().unwrap().to_string();
    let (graph, labels) = (path("openflights-routes.mtx.gz"), path("openflights-airports.csv"));
    let args = [
        "--graph",
        &graph,
        "--labels",
        &labels,
        "--hide",
        "5",
        "--geo-iter",
        "10",
        "--labels-first-id",
        "0",
    ];
    let one = record(&[&args[..], &["--devices", "host:1"]].concat());
    assert_eq!((&one["given"], &one["error-km"]["count"]), (&2572.into(), &636.into()));
    let median = one["error-km"]["median"].as_f64().unwrap();
    assert!((350.0..450.0).contains(&median), "the median error is {median} km");
    let four = record(&[&args[..], &["--devices", "host:4"]].concat());
    assert_eq!(one["error-km"], four["error-km"]);
}

#[test]
fn the_program_finds_hidden_airports_on_gpus() {
    let (Some(data), true) = (common::data(), common::has_gpu()) else { return };
    let path = |name: &str| data.join("geo").join(name).to_str().unwrap().to_string();
    let (graph, labels) = (path("openflights-routes.mtx.gz"), path("openflights-airports.csv"));
    let args = [
        "--graph",
        &graph,
        "--labels",
        &labels,
        "--hide",
        "5",
        "--geo-iter",
        "10",
        "--labels-first-id",
        "0",
    ];
    let error = |devices: &str| {
        let record = record(&[&args[..], &["--devices", devices, "--merge", "split"]].concat());
        record["error-km"]["median"].as_f64().unwrap()
    };
    let (host, one, four) = (error("host:1"), error("cuda:0"), error("cuda:0x4"));
    assert!((host - one).abs() < 1.0, "{host} km on the host, {one} on a GPU");
    assert_eq!(one.to_bits(), four.to_bits());
}

#[test]
fn hidden_homes_are_found_by_friends() {
    let Some(data) = common::data() else { return };
    let path = |name: &str| data.join("geo").join(name).to_str().unwrap().to_string();
    let graph = path("loc-gowalla-p4515.mtx.gz");
    let labels = path("loc-gowalla-p4515-home.csv.gz");
    let args = [
        "--graph",
        &graph,
        "--labels",
        &labels,
        "--hide",
        "5",
        "--devices",
        "host:2",
        "--labels-first-id",
        "0",
    ];
    let record = record(&[&args[..], &["--geo-complete"]].concat());
    assert_eq!(record["measured"]["reached"], 76_917);
    let median = record["error-km"]["median"].as_f64().unwrap();
    assert!((650.0..850.0).contains(&median), "the median error is {median} km");
}

#[test]
fn airports_are_where_another_solver_puts_them() {
    let Some(data) = common::data() else { return };
    let path = |name: &str| data.join("geo").join(name).to_str().unwrap().to_string();
    let options = hivegraph::io::LoadOptions::default();
    let graph = hivegraph::io::load_placed(
        &path("openflights-routes.mtx.gz"),
        &path("openflights-airports.csv"),
        Some(0),
        &options,
    );
    let graph = Arc::new(graph.unwrap());
    let (latitude, longitude) = graph.places().unwrap();
    let hide = |all: &[f64]| -> Vec<f64> {
        all.iter().enumerate().map(|(v, x)| if v % 5 == 4 { f64::NAN } else { *x }).collect()
    };
    let given = [hide(latitude), hide(longitude)];
    let mut fleets = vec!["host:3"];
    if common::has_gpu() {
        fleets.push("cuda:0");
    }
    for devices in fleets {
        let fleet = common::open(devices, CollectiveKind::Auto, FleetConfig::default());
        let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
        let config = GeoConfig { given: Some(given.clone()), ..GeoConfig::default() };
        let found = geo(&fleet, &prepared, &config).unwrap();
        let (mut unique, mut ties) = (0, 0);
        for v in (0..graph.nodes()).filter(|v| (1..u32::MAX).contains(&found.wave[*v])) {
            let earlier = |u: &u32| found.wave[*u as usize] < found.wave[v];
            let near: Vec<[f64; 2]> = graph
                .neighbors(v)
                .map(|(u, _)| u)
                .filter(earlier)
                .map(|u| [found.latitude[u as usize], found.longitude[u as usize]])
                .collect();
            if near.len() < 3 {
                continue;
            }
            let ([north, east], least) = hivegraph::verify::spatial_median(&near);
            let km = |at: [f64; 2]| -> f64 {
                near.iter()
                    .map(|p| hivegraph::verify::great_circle_km(at[0], at[1], p[0], p[1]))
                    .sum()
            };
            let own = [found.latitude[v], found.longitude[v]];
            assert!(km(own) <= km([north, east]) * (1.0 + 1e-9), "node {v}, {least} radians");
            let apart = hivegraph::verify::great_circle_km(own[0], own[1], north, east);
            // Where the least sum is taken at several places, either will do.
            if apart <= 0.1 {
                unique += 1;
            } else {
                assert!(
                    km([north, east]) - km(own) <= 1e-9 * km(own) + 1e-6,
                    "node {v}: {apart} km"
                );
                ties += 1;
            }
        }
        assert!(unique > 280 && ties * 20 < unique, "{devices}: {unique} alike, {ties} ties");
    }
}
