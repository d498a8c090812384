//! Matrices of distances, by arcs and by weight: those of one search a row, on any number of replicas.

use crate::common::{self, graph_of, own, solved};
use hivegraph::algorithm::{
    DistanceMatrix, DistancesConfig, HopsConfig, MatrixValues, Precision, distances, hops,
};
use hivegraph::fleet::{CollectiveKind, Fault, FaultKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::operator::Random;
use hivegraph::run::{Choice, Own, RunConfig};
use hivegraph::verify;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// The least number of arcs from `source` to each node.
fn levels(graph: &Graph, source: u32) -> Vec<f64> {
    let mut found = vec![f64::INFINITY; graph.nodes()];
    let (mut now, mut level) = (vec![source], 0.0);
    while !now.is_empty() {
        now.iter().for_each(|v| found[*v as usize] = level);
        let all = now.iter().flat_map(|u| graph.neighbors(*u as usize)).map(|arc| arc.0);
        let mut next: Vec<u32> = all.filter(|v| found[*v as usize].is_infinite()).collect();
        next.sort_unstable();
        next.dedup();
        (now, level) = (next, level + 1.0);
    }
    found
}

/// What is asked, and the matrix that is the answer.
struct Case {
    name: &'static str,
    graph: Arc<Graph>,
    options: Own,
    sources: Vec<u32>,
    targets: Vec<u32>,
    right: [Vec<f64>; 2],
}

impl Case {
    fn new(name: &'static str, graph: &Arc<Graph>, [rows, columns]: [Option<u32>; 2]) -> Case {
        let n = graph.nodes() as u32;
        let nodes = |step: Option<u32>| (0..n).step_by(step.unwrap_or(1) as usize).collect();
        let (sources, targets): (Vec<u32>, Vec<u32>) = (nodes(rows), nodes(columns));
        let list = |nodes: &[u32]| nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let chosen = |step: Option<u32>, nodes| step.map_or("all".into(), |_| list(nodes));
        let (from, to) = (chosen(rows, &sources), chosen(columns, &targets));
        let options = own(json!({ "sources": from, "targets": to }));
        let of = |row: Vec<f64>| targets.iter().map(move |v| row[*v as usize]).collect::<Vec<_>>();
        let arcs = sources.iter().flat_map(|s| of(levels(graph, *s))).collect();
        let weights = sources.iter().flat_map(|s| {
            of(common::dijkstra_f32(graph, &[*s]).into_iter().map(f64::from).collect())
        });
        let right = [arcs, weights.collect()];
        Case { name, graph: graph.clone(), options, sources, targets, right }
    }
}

fn cases() -> Vec<Case> {
    let n = 300u32;
    let path = (1..n).flat_map(|v| [(v - 1, v, 1.5), (v, v - 1, 2.0)]).collect::<Vec<_>>();
    let one_way =
        (0..400).flat_map(|v| [(v, (v * 7 + 1) % 300, 1.0), (v / 3, v, 0.5), (v, v, 3.0)]);
    let graphs = [
        ("skewed", common::skewed(8, 6, 1)),
        ("grid", common::grid(17, 20, true, 2)),
        ("path", graph_of(n as usize, &path)),
        ("directed", graph_of(400, &one_way.collect::<Vec<_>>())),
        ("no arcs", graph_of(70, &[])),
        ("one node", graph_of(1, &[(0, 0, 1.0)])),
        ("flat", common::grid(23, 31, true, 5)),
        ("zeros", common::zeros_and_parallels(90)),
        // Nearly all nodes are near at once.
        ("expander", {
            let next = |v: u64, k: u64| Random::mix(v * 3 + k) % 500;
            let arcs = (0..500u64).flat_map(|v| (0..3).map(move |k| (v, k)));
            let both = arcs.flat_map(|(v, k)| {
                let (u, v, w) = (v as u32, next(v, k) as u32, (1 + (v + k) % 3) as f32);
                [(u, v, w), (v, u, w)]
            });
            graph_of(500, &both.collect::<Vec<_>>())
        }),
    ];
    let graphs = graphs.map(|(name, graph)| (name, Arc::new(graph)));
    let steps = [[None, None], [Some(3), Some(7)], [Some(1 << 20), None]];
    let all = graphs.iter().flat_map(|(name, graph)| {
        steps.into_iter().map(move |steps| Case::new(name, graph, steps))
    });
    all.collect()
}

fn values(answer: &DistanceMatrix) -> Vec<f64> {
    (0..answer.values.len()).map(|place| answer.values.get(place)).collect()
}

#[test]
fn any_number_of_replicas_and_any_merge_find_the_rows_of_single_searches() {
    let cases = cases();
    common::everywhere(|fleet, config, how| {
        for case in &cases {
            let Case { name, graph, options, sources, targets, right } = case;
            for (workload, right) in ["hops", "distances"].into_iter().zip(right) {
                let config =
                    RunConfig { own: options.clone(), merge: config.merge, ..RunConfig::default() };
                let answer: DistanceMatrix = solved(workload, fleet, graph, &config);
                let told = format!("{workload}, {name} on {how}, {options:?}");
                assert!((&answer.sources, &answer.targets) == (sources, targets), "{told}");
                assert!(values(&answer) == *right, "{told}");
                let many = *name == "flat" && sources.len() >= 8 * fleet.world();
                if many && fleet.info().backend == "cuda" {
                    assert!(["levels", "copies"].contains(&answer.strategy), "{told}");
                }
                let unreached = right.iter().filter(|value| value.is_infinite()).count();
                assert_eq!(answer.unreached, unreached as u64, "{told}");
            }
        }
    });
}

/// On GPUs a few searches go side by side; more of them than are queued at a time.
#[test]
fn as_many_searches_side_by_side_as_asked_find_the_same_rows() {
    let graph = Arc::new(common::skewed(9, 8, 5));
    let sources: Vec<u32> = (0..graph.nodes() as u32).collect();
    let mut right: Option<MatrixValues> = None;
    for (devices, perturb) in common::all_fleets().iter().zip([None, Some(5)].iter().cycle()) {
        let fleet = common::open_perturbed(devices, *perturb);
        let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
        for batch in [Choice::Is(1), Choice::Is(3), Choice::Auto] {
            let config = DistancesConfig { batch, ..DistancesConfig::default() };
            let answer = distances(&fleet, &prepared, &config).unwrap();
            let how = format!("{batch:?} on {devices:?}");
            assert_eq!((&answer.sources, answer.strategy), (&sources, "searches"), "{how}");
            let right = right.get_or_insert_with(|| answer.values.clone());
            assert!(answer.values == *right, "{how}");
        }
    }
}

/// More than one batch of copies, of 2^29 places.
#[test]
fn many_searches_of_a_large_road_network_find_what_single_ones_do() {
    let fleets = common::cuda_fleets();
    if fleets.is_empty() {
        return;
    }
    let graph = Arc::new(hivegraph::generate::generate("road:19").unwrap());
    let config = DistancesConfig {
        sources: Some("connected:1030:1".parse().unwrap()),
        targets: Some("random:50:2".parse().unwrap()),
        precision: Precision::F32,
        ..DistancesConfig::default()
    };
    let mut rows = Vec::new();
    for devices in fleets {
        let fleet = common::open(&devices.0, devices.1, FleetConfig::default());
        let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
        let answer = distances(&fleet, &prepared, &config).unwrap();
        if rows.is_empty() {
            rows = values(&answer);
            let row = rows.chunks(answer.targets.len());
            for (source, row) in answer.sources.iter().zip(row).step_by(400) {
                let all = common::dijkstra_f32(&graph, &[*source]);
                let right: Vec<f64> =
                    answer.targets.iter().map(|v| all[*v as usize].into()).collect();
                assert!(*row == right, "{devices:?}: from {source}");
            }
        }
        assert!(values(&answer) == rows, "{devices:?}");
    }
}

#[test]
fn random_graphs_have_the_rows_of_single_searches() {
    let fleet = common::open_perturbed(&("host:3".into(), CollectiveKind::Host), None);
    for seed in 0..150u64 {
        let draw = |i: u64| Random::new(seed, i);
        let n = 1 + draw(0).below(40);
        let end = |i| draw(2 + i).below(n) as u32;
        let weight = |i| draw(2 + i).below(9) as f32 / 4.0;
        let arcs = (0..draw(1).below(120)).map(|i| (end(3 * i), end(3 * i + 1), weight(3 * i + 2)));
        let graph = Arc::new(graph_of(n as usize, &arcs.collect::<Vec<_>>()));
        let case = Case::new("random", &graph, [Some(1 + (seed % 3) as u32), Some(2)]);
        for (workload, right) in ["hops", "distances"].into_iter().zip(&case.right) {
            let config = RunConfig { own: case.options.clone(), ..RunConfig::default() };
            let answer: DistanceMatrix = solved(workload, &fleet, &graph, &config);
            assert!(values(&answer) == *right, "{workload}, seed {seed}");
        }
    }
}

#[test]
fn types_hold_what_they_have_room_for_and_refuse_the_rest() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let of = |graph: &Arc<Graph>, options| {
        let config = RunConfig { own: own(options), ..RunConfig::default() };
        let answer: DistanceMatrix = solved("hops", &fleet, graph, &config);
        answer
    };
    let chain = Arc::new(common::chain(255));
    let small = of(&chain, json!({ "sources": "0" }));
    assert!(matches!(&small.values, MatrixValues::U8(all) if all[254] == 254), "{small:?}");
    let longer = Arc::new(common::chain(256));
    let auto = of(&longer, json!({ "sources": "0" }));
    assert!(matches!(&auto.values, MatrixValues::U16(all) if all[255] == 255), "{auto:?}");
    let wide = of(&longer, json!({ "sources": "0,1", "dtype": "u32" }));
    assert!(matches!(&wide.values, MatrixValues::U32(all) if all[255] == 255), "{wide:?}");
    // What is no target may be farther away.
    let near = of(&longer, json!({ "sources": "0", "targets": "0,254", "dtype": "u8" }));
    assert_eq!(near.values, MatrixValues::U8(vec![0, 254].into()));
    for (nodes, dtype, most) in [("256", "u8", "255"), ("65537", "u16", "65536")] {
        let graph = format!("chain:{nodes}");
        let args = ["--graph", &graph, "--sources", "first:1", "--dtype", dtype];
        let ended = common::runs("hops", &args);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let told = format!("--dtype {dtype}: a distance is ");
        assert!(ended.err.contains(&told) && ended.err.contains(most), "{}", ended.err);
    }
}

#[test]
fn sums_that_f32_would_round_are_searched_for_in_f64() {
    let fleet = common::open_perturbed(&("host:2".into(), CollectiveKind::Host), None);
    let graph = Arc::new(graph_of(3, &[(0, 1, 16_777_216.0), (1, 2, 1.0)]));
    let of = |options| {
        let config = RunConfig { own: own(options), ..RunConfig::default() };
        let answer: DistanceMatrix = solved("distances", &fleet, &graph, &config);
        answer.values
    };
    let all = vec![0.0, 16_777_216.0, 16_777_217.0];
    assert_eq!(of(json!({ "sources": "0" })), MatrixValues::F64(all.into()));
    let rounded = vec![0.0, 16_777_216.0, 16_777_216.0];
    assert_eq!(
        of(json!({ "sources": "0", "precision": "f32" })),
        MatrixValues::F32(rounded.into())
    );
    let near = of(json!({ "sources": "1" }));
    assert_eq!(near, MatrixValues::F32(vec![f32::INFINITY, 0.0, 1.0].into()));
}

#[test]
fn the_checkers_name_the_pair_that_is_off() {
    let graph = graph_of(4, &[(0, 1, 2.0), (1, 2, 0.5), (0, 2, 4.0)]);
    let (sources, targets) = ([0, 1], [0, 2, 3]);
    let right = [0.0, 2.5, f32::INFINITY, f32::INFINITY, 0.5, f32::INFINITY];
    assert_eq!(verify::distances(&graph, &sources, &targets, &right).unwrap(), 2);
    let arcs = [Some(0), Some(1), None, None, Some(1), None];
    assert_eq!(verify::hops(&graph, &sources, &targets, 6, |at| arcs[at]).unwrap(), 2);
    for at in 0..6 {
        let mut wrong = right;
        wrong[at] = 1.25;
        let told = verify::distances(&graph, &sources, &targets, &wrong).unwrap_err().to_string();
        let (from, to) = (sources[at / 3], targets[at % 3]);
        let what = format!("distance from node {from} to node {to} is 1.25, and is {}", right[at]);
        assert!(told.contains(&what), "{told}");
        let seen = |place| if place == at { Some(7) } else { arcs[place] };
        let told = verify::hops(&graph, &sources, &targets, 6, seen).unwrap_err().to_string();
        assert!(told.contains(&format!("from node {from} to node {to} is 7, and is ")), "{told}");
    }
    let told = verify::distances(&graph, &sources, &targets, &right[1..]).unwrap_err().to_string();
    assert!(told.contains("5 distances of 2 sources to 3 targets"), "{told}");
}

#[test]
fn what_the_programs_write_and_refuse() {
    let edges = "5 7\n7 9\n9 11\n";
    let rows = [
        "source,target,distance",
        "5,5,0",
        "5,7,1",
        "5,9,2",
        "5,11,3",
        "7,5,1",
        "7,7,0",
        "7,9,1",
        "7,11,2",
        "9,5,2",
        "9,7,1",
        "9,9,0",
        "9,11,1",
        "11,5,3",
        "11,7,2",
        "11,9,1",
        "11,11,0",
    ];
    for workload in ["hops", "distances"] {
        let record = common::answered(workload, edges, &rows);
        assert_eq!((&record["sources-searched"], &record["targets-found"]), (&4.into(), &4.into()));
        assert_eq!((&record["farthest"], &record["verified"]), (&3.0.into(), &"yes".into()));
        let cases: [(&[&str], &str); 4] = [
            (&["--sources", "5,5"], "--sources: node 5 is listed twice"),
            (&["--targets", "first:0"], "--targets"),
            (&["--targets", "999999"], "--targets: the graph has no node 999999"),
            (&["--output", "x.txt"], "a .txt file has one column"),
        ];
        for (args, what) in cases {
            let ended = common::runs(workload, &[&["--graph", "rmat:8"], args].concat());
            assert_eq!(ended.code, Some(2), "{}", ended.err);
            assert!(ended.err.contains(what), "{}", ended.err);
        }
        let ended = common::runs(workload, &["--graph", "star:2000000"]);
        assert!(
            ended.code == Some(2) && ended.err.contains("a matrix of distances"),
            "{}",
            ended.err
        );
        assert_eq!(ended.err.trim_end().lines().count(), 1, "{}", ended.err);
    }
}

#[test]
fn npy_and_npz_hold_the_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let graph = path("graph.txt");
    std::fs::write(&graph, "0 1 1.5\n1 2 0.25\n").unwrap();
    for (workload, descr, first) in [("hops", "|u1", vec![0u8, 1, 2]), ("distances", "<f4", vec![])]
    {
        for name in ["matrix.npy", "matrix.npz"] {
            let (input, output) = (graph.to_str().unwrap(), path(name));
            let args = ["--graph", input, "--sources", "0", "--output", output.to_str().unwrap()];
            let ended = common::runs(workload, &args);
            assert_eq!(ended.code, Some(0), "{}", ended.err);
            let bytes = std::fs::read(&output).unwrap();
            if name.ends_with(".npz") {
                assert!(bytes.starts_with(b"PK"), "{bytes:?}");
                continue;
            }
            let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
            assert!(header.contains(descr) && header.contains("(1, 3)"), "{header}");
            let own: Vec<u8> = match workload {
                "hops" => first.clone(),
                _ => [0.0f32, 1.5, 1.75].iter().flat_map(|value| value.to_le_bytes()).collect(),
            };
            assert_eq!(bytes[128..], own[..]);
        }
    }
}

/// A fleet of which a replica fails in an iteration, if it is to.
fn failing(fault: Option<(usize, u64)>) -> Fleet {
    let fault = fault.map(|(rank, iteration)| Fault { rank, iteration, kind: FaultKind::Fail });
    Fleet::open(FleetConfig { devices: "host:2".parse().unwrap(), fault, ..FleetConfig::default() })
        .unwrap()
}

#[test]
fn rows_that_are_in_a_file_are_not_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let skewed = Arc::new(common::skewed(10, 5, 3));
    let flat = Arc::new(common::grid(40, 30, true, 3));
    let asked = |name: &str| Some(path(name));
    for (name, graph) in [("skewed", &skewed), ("flat", &flat)] {
        let (part, list) = (path(&format!("{name}.npy.part")), path(&format!("{name}.npy.rows")));
        let of = |fleet: &Fleet, into| {
            let prepared = Prepared::new(fleet, graph.clone(), PrepareOptions::default()).unwrap();
            let batch = Choice::Is(64);
            hops(fleet, &prepared, &HopsConfig { into, batch, ..HopsConfig::default() })
        };
        let right = of(&failing(None), None).unwrap();
        let into = asked(&format!("{name}.npy"));
        let stops = if name == "flat" { [(1, 3), (1, 2)] } else { [(1, 11), (1, 3)] };
        let mut known = 0;
        for (attempt, stop) in stops.into_iter().enumerate() {
            of(&failing(Some(stop)), into.clone()).unwrap_err();
            let rows = std::fs::read_to_string(&list).unwrap().lines().count();
            assert!(rows > known || attempt > 0, "{name}: {rows} lines after {known}");
            known = rows;
            assert!(part.exists() && !path(&format!("{name}.npy")).exists());
        }
        assert!(known > 1, "{name}: nothing was kept");
        // What was being written is not there.
        let mut torn = std::fs::OpenOptions::new().append(true).open(&list).unwrap();
        torn.write_all(b"0 256 1").unwrap();
        let found = of(&failing(None), into.clone()).unwrap();
        assert_eq!(found.values, right.values, "{name}");
        let same = (found.unreached, found.farthest) == (right.unreached, right.farthest);
        assert!(same, "{name}: {found:?}");
        assert!(!part.exists() && !list.exists());
        let held = std::fs::read(path(&format!("{name}.npy"))).unwrap();
        let (shape, values) = common::npy::<u16>(&held, "<u2");
        assert_eq!(shape, [graph.nodes(); 2]);
        assert_eq!(right.values, MatrixValues::U16(values.into()), "{name}");
    }
}

#[test]
fn a_file_of_rows_is_for_one_question_and_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let graph = Arc::new(common::grid(40, 30, true, 3));
    let into = Some(folder.path().join("rows.npy"));
    let of = |fault, sources: &str| {
        let fleet = failing(fault);
        let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
        let sources = Some(sources.parse().unwrap());
        let config = DistancesConfig { into: into.clone(), sources, ..DistancesConfig::default() };
        distances(&fleet, &prepared, &config).map(|found| found.values)
    };
    of(Some((1, 2)), "first:4").unwrap_err();
    let told = of(None, "first:5").unwrap_err().to_string();
    assert!(told.contains("is of another question") && told.contains("remove both"), "{told}");
    let right = of(None, "first:4").unwrap();
    assert!(matches!(&right, MatrixValues::F32(all) if all.len() == 4 * 1200), "{right:?}");
    let (rows, missing) = (path("new.npy"), path("no/new.npy"));
    let graph = path("graph.npy");
    std::fs::write(&graph, "0 1\n").unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["--into", &rows, "--runs", "3"], "a benchmark: rows are written once"),
        (&["--into", &rows, "--benchmark"], "a benchmark: rows are written once"),
        (&["--into", &missing], "there is no directory"),
        (&["--into", "rows.csv"], "end its name in .npy"),
        (&["--into", &graph], "is also the graph"),
    ];
    for (args, what) in cases {
        for workload in ["hops", "distances"] {
            let given = if what.contains("also") { graph.as_str() } else { "rmat:6" };
            let ended = common::ends_within(
                std::time::Duration::from_secs(60),
                common::hive()
                    .args(["run", workload, "--devices", "host:2", "--graph", given])
                    .args(args),
            );
            assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.err);
            assert!(ended.err.contains(what), "{args:?}: {}", ended.err);
            assert!(!folder.path().join("new.npy.part").exists(), "{args:?}");
        }
    }
}
