//! Answers that were changed in one node never pass as verified: by the smallest step outside the stated tolerance, by
//! 1 %, by a swap of two nodes that differ by more than it. Answers that were not changed do. A GPU checks them where there
//! is one, else the host.
//!
//! `HIVE_MUTANTS_SCALE=20` makes the graph an R-MAT of that scale (12), `HIVE_MUTANTS=50` so many mutants a workload
//! (200), `HIVE_MUTANTS_SECONDS=60` stops a workload after that time and says how many mutants were tried.

use crate::common;

use hivegraph::algorithm::bc::scale;
use hivegraph::algorithm::{
    AnyAnswer, Betweenness, Components, Cores, Filtered, Geolocation, Pagerank, Searches,
    ShortestPaths, StrongComponents, Triangles,
};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::run::{Job, RunConfig, Verdict, Verification, Verify, prepare, workload};
use hivegraph::verify::{Checker, great_circle_km, spatial_median};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().expect("a number"))
}

static SCALE: LazyLock<u64> = LazyLock::new(|| asked("HIVE_MUTANTS_SCALE", 12));

static GRAPH: LazyLock<Arc<Graph>> =
    LazyLock::new(|| Arc::new(hivegraph::generate::generate(&format!("rmat:{}", *SCALE)).unwrap()));

/// The next number of a sequence (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// A solved job, whose answer may be changed, and who checks it.
struct Solved {
    by: Checker<'static>,
    job: Job,
    answer: Box<dyn AnyAnswer>,
}

fn checker(graph: &Arc<Graph>, options: PrepareOptions) -> Checker<'static> {
    if !common::has_gpu() {
        return Checker::host();
    }
    let fleet = common::open("cuda:0", CollectiveKind::Auto, FleetConfig::default());
    // It checks as long as the process lives.
    let fleet: &'static Fleet = Box::leak(Box::new(fleet));
    let prepared = Prepared::new(fleet, graph.clone(), options).unwrap();
    prepared.checker(fleet).unwrap()
}

impl Solved {
    fn new(name: &str, options: Value) -> Solved {
        let (graph, own) = (Some(format!("rmat:{}", *SCALE)), common::own(options));
        let config = RunConfig { graph, own, verify: Verify::Yes, ..RunConfig::default() };
        let more = FleetConfig { deadline_s: 60.0, ..FleetConfig::default() };
        let fleet: Fleet = common::open("host:1", CollectiveKind::Auto, more);
        let workload = workload(name).unwrap();
        let job = match name {
            "filter" => Job::on_array(workload, RunConfig { graph: None, ..config }),
            _ => Job::new(workload, config, GRAPH.clone()),
        };
        let job = job.unwrap();
        let ready = prepare(&job, None, &fleet).unwrap();
        let answer = job.solve(&fleet, &ready).unwrap();
        Solved { by: checker(&job.graph, job.config.prepare()), job, answer }
    }

    fn verified(&self) -> Verification {
        self.job.verify(&*self.answer, &self.by).unwrap()
    }

    fn as_a<A: 'static>(&mut self) -> &mut A {
        self.answer.own_mut().downcast_mut().expect("an answer of this type")
    }
}

/// How an answer's values are read and changed.
struct Values<'a, T> {
    /// As they came.
    all: Vec<T>,
    set: fn(&mut Solved, usize, T),
    /// What sorts them, so that the extreme ones are tried too.
    key: fn(T) -> f64,
    /// The value of a node after the smallest step out of the tolerance, up or down; `None` where it has none.
    step: &'a dyn Fn(usize, T, bool) -> Option<T>,
    /// After a change of 1 %.
    percent: &'a dyn Fn(usize, T, bool) -> Option<T>,
    /// Whether a value is out of the tolerance at a node.
    wrong: &'a dyn Fn(usize, T) -> bool,
}

/// Tries mutants of a solved job, of which the check said `before`: none may pass.
fn try_all<T: Copy + std::fmt::Debug>(
    name: &str,
    solved: &mut Solved,
    before: Verdict,
    values: &Values<'_, T>,
    share: u64,
) {
    let (count, begin) = (asked("HIVE_MUTANTS", 200).div_ceil(share), Instant::now());
    let seconds = asked("HIVE_MUTANTS_SECONDS", u64::MAX);
    let (all, n) = (&values.all, values.all.len());
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| (values.key)(all[*a]).total_cmp(&(values.key)(all[*b])));
    let (mut random, mut tried, mut draws) = (Random(n as u64), [0u64; 3], 0);
    while tried.iter().sum::<u64>() < count && begin.elapsed().as_secs() < seconds {
        draws += 1;
        assert!(draws < 1000 * count, "{name}: hardly a mutant can be made");
        let kind = (tried.iter().sum::<u64>() % 3) as usize;
        let mut node = || match random.below(6) {
            0 => order[random.below(n.min(3))],
            1 => order[n - 1 - random.below(n.min(3))],
            _ => random.below(n),
        };
        let (v, u) = (node(), node());
        let up = random.below(2) == 0;
        let changed = |value: Option<T>| value.map_or(Vec::new(), |value| vec![(v, value)]);
        let changes = match kind {
            0 => changed((values.step)(v, all[v], up)),
            1 => changed((values.percent)(v, all[v], up)),
            _ => vec![(v, all[u]), (u, all[v])],
        };
        if !changes.iter().any(|(v, value)| (values.wrong)(*v, *value)) {
            continue;
        }
        changes.iter().for_each(|(v, value)| (values.set)(solved, *v, *value));
        let verdict = solved.verified();
        changes.iter().for_each(|(v, _)| (values.set)(solved, *v, all[*v]));
        let ids: Vec<_> = changes.iter().map(|(v, value)| (v, all[*v], value)).collect();
        let message = verdict.message.unwrap_or_default();
        assert_ne!(verdict.verdict, Verdict::Yes, "{name} {ids:?} passed: {message}");
        assert!(
            before != Verdict::Yes || verdict.verdict == Verdict::No,
            "{name} {ids:?}: {message}"
        );
        tried[kind] += 1;
    }
    let took = begin.elapsed().as_secs_f64();
    let verdict = solved.verified().verdict;
    assert_eq!(verdict, before, "{name}: what was changed is as it was");
    println!(
        "{name}: {tried:?} mutants (steps, 1 %, swaps) in {took:.1} s, none passed; {verdict:?} before"
    );
}

/// The check of the answer as it came ends in yes.
fn is_right(name: &str, solved: &Solved) -> Verification {
    let before = solved.verified();
    assert_eq!((before.verdict, &before.message), (Verdict::Yes, &None), "{name}");
    before
}

/// Whole numbers are exact: any other number is wrong.
fn whole(
    name: &str,
    solved: &mut Solved,
    all: Vec<u64>,
    set: fn(&mut Solved, usize, u64),
    share: u64,
) {
    let right = all.clone();
    let step = |_, value: u64, up: bool| Some(if up { value + 1 } else { value.saturating_sub(1) });
    let percent = |_, value: u64, up: bool| {
        let by = (value / 100).max(1);
        Some(if up { value + by } else { value.saturating_sub(by) })
    };
    // Arrays hold 32 bits, or more.
    let wrong = |v: usize, value: u64| value as u32 != right[v] as u32;
    let values = Values {
        all,
        set,
        key: |value| value as f64,
        step: &step,
        percent: &percent,
        wrong: &wrong,
    };
    try_all(name, solved, Verdict::Yes, &values, share);
}

fn widened(values: &[u32]) -> Vec<u64> {
    values.iter().map(|value| u64::from(*value)).collect()
}

fn distances(name: &str, options: Value) {
    let mut solved = Solved::new(name, options);
    is_right(name, &solved);
    let paths: &mut ShortestPaths = solved.as_a();
    let (all, predecessors) = (paths.distances.clone(), paths.predecessors.clone());
    let nominees = paths.nominees.clone();
    let right = all.clone();
    let parts = 1 + u64::from(predecessors.is_some()) + u64::from(nominees.is_some());
    let values = Values {
        all,
        set: |solved, v, value| solved.as_a::<ShortestPaths>().distances[v] = value,
        key: f64::from,
        step: &|_, value: f32, up| Some(if up { value.next_up() } else { value.next_down() }),
        percent: &|_, value, up| match value {
            f32::INFINITY => Some(if up { 1e30 } else { 1.0 }),
            _ => Some((value + f32::MIN_POSITIVE) * if up { 1.01 } else { 0.99 }),
        },
        wrong: &|v, value| value.to_bits() != right[v].to_bits(),
    };
    try_all(name, &mut solved, Verdict::Yes, &values, parts);
    if let Some(all) = predecessors {
        let set = |solved: &mut Solved, v, value: u64| {
            solved.as_a::<ShortestPaths>().predecessors.as_mut().unwrap()[v] = value as u32;
        };
        whole(&format!("{name}'s predecessors"), &mut solved, widened(&all), set, parts);
    }
    if let Some(all) = nominees {
        let set = |solved: &mut Solved, v, value: u64| {
            solved.as_a::<ShortestPaths>().nominees.as_mut().unwrap()[v] = value as u32;
        };
        whole(&format!("{name}'s nominees"), &mut solved, widened(&all), set, parts);
    }
}

#[test]
fn no_changed_distance_or_predecessor_of_shortest_paths_passes() {
    distances("sssp", json!({ "predecessors": true }));
}

#[test]
fn no_changed_distance_or_nominee_of_vertex_nomination_passes() {
    distances("vn", json!({ "seeds": "first:10", "nominee": true }));
}

#[test]
fn no_changed_level_or_parent_of_a_search_passes() {
    let mut solved = Solved::new("bfs", json!({ "predecessors": true }));
    is_right("bfs", &solved);
    let searches: &mut Searches = solved.as_a();
    let (levels, parents) =
        (widened(&searches.levels[0]), widened(&searches.predecessors.as_ref().unwrap()[0]));
    let set = |solved: &mut Solved, v, value: u64| {
        solved.as_a::<Searches>().levels[0][v] = value as u32;
    };
    whole("bfs", &mut solved, levels, set, 2);
    let set = |solved: &mut Solved, v, value: u64| {
        solved.as_a::<Searches>().predecessors.as_mut().unwrap()[0][v] = value as u32;
    };
    whole("bfs's parents", &mut solved, parents, set, 2);
}

#[test]
fn no_changed_level_of_a_search_without_parents_passes() {
    let mut solved = Solved::new("bfs", json!({ "predecessors": false }));
    is_right("bfs", &solved);
    let levels = widened(&solved.as_a::<Searches>().levels[0]);
    let set = |solved: &mut Solved, v, value: u64| {
        solved.as_a::<Searches>().levels[0][v] = value as u32;
    };
    whole("bfs without parents", &mut solved, levels, set, 2);
}

/// Levels that are more than a byte, and those that just are not.
#[test]
fn no_changed_level_of_a_deep_search_passes() {
    for length in [120, 126, 127, 128, 129, 140, 3000] {
        let graph = Arc::new(hivegraph::generate::generate(&format!("chain:{length}")).unwrap());
        let by = checker(&graph, RunConfig::default().prepare());
        let right: Vec<u32> = (0..length).collect();
        let parents: Vec<u32> = (0..length).map(|v: u32| v.saturating_sub(1)).collect();
        for parents in [None, Some(&parents[..])] {
            assert_eq!(by.bfs(&graph, 0, &right, parents).unwrap().depth, length - 1);
            for v in [0, 1, length / 2, length - 2, length - 1] {
                for level in [0, 125, 126, 127, 128, 254, 255, 256, u32::MAX - 1, u32::MAX] {
                    let mut levels = right.clone();
                    if std::mem::replace(&mut levels[v as usize], level) != level {
                        by.bfs(&graph, 0, &levels, parents).unwrap_err();
                    }
                }
            }
        }
    }
}

/// Of connected or strongly connected components.
fn labels(solved: &mut Solved) -> &mut Vec<u32> {
    match solved.job.workload.name {
        "cc" => &mut solved.as_a::<Components>().labels,
        _ => &mut solved.as_a::<StrongComponents>().components.labels,
    }
}

#[test]
fn no_changed_label_of_connected_or_strongly_connected_components_passes() {
    for name in ["cc", "scc"] {
        let mut solved = Solved::new(name, json!({}));
        is_right(name, &solved);
        let all = widened(labels(&mut solved));
        let set = |solved: &mut Solved, v, value: u64| labels(solved)[v] = value as u32;
        whole(name, &mut solved, all, set, 1);
    }
}

#[test]
fn no_changed_core_number_passes() {
    let mut solved = Solved::new("kcore", json!({}));
    is_right("kcore", &solved);
    let all = widened(&solved.as_a::<Cores>().cores);
    let set = |solved: &mut Solved, v, value: u64| solved.as_a::<Cores>().cores[v] = value as u32;
    whole("kcore", &mut solved, all, set, 1);
}

#[test]
fn no_changed_count_of_triangles_passes() {
    let mut solved = Solved::new("triangles", json!({}));
    is_right("triangles", &solved);
    let all = solved.as_a::<Triangles>().counts.clone();
    let set = |solved: &mut Solved, v, value| solved.as_a::<Triangles>().counts[v] = value;
    whole("triangles", &mut solved, all, set, 1);
}

#[test]
fn no_changed_value_of_a_filtered_array_passes() {
    let mut solved = Solved::new("filter", json!({ "elements": 1u64 << *SCALE }));
    is_right("filter", &solved);
    let all = widened(&solved.as_a::<Filtered>().kept);
    let set = |solved: &mut Solved, v, value: u64| solved.as_a::<Filtered>().kept[v] = value as u32;
    whole("filter", &mut solved, all, set, 1);
}

#[test]
fn no_changed_betweenness_passes() {
    let mut solved = Solved::new("bc", json!({}));
    is_right("bc", &solved);
    let found: &mut Betweenness = solved.as_a();
    let (all, directed) = (found.scores.clone(), found.directed);
    // The score of one pair.
    let mut pair = vec![1.0; all.len()];
    scale(&mut pair, &[GRAPH.default_source()], directed, false, false);
    let right = all.clone();
    let tolerance = |v: usize| 1e-9 * right[v].max(pair[v]);
    let values = Values {
        all: all.clone(),
        set: |solved, v, value| solved.as_a::<Betweenness>().scores[v] = value,
        key: |value| value,
        step: &|v, value: f64, up| {
            let by = 1.1 * tolerance(v);
            pair[v].is_finite().then_some(if up { value + by } else { value - by })
        },
        percent: &|v, value, up| {
            let by = if value == 0.0 { 0.01 * pair[v] } else { 0.01 * value };
            pair[v].is_finite().then_some(if up { value + by } else { value - by })
        },
        wrong: &|v, value| pair[v].is_finite() && (value - right[v]).abs() > 1.05 * tolerance(v),
    };
    try_all("bc", &mut solved, Verdict::Yes, &values, 1);
}

#[test]
fn no_changed_rank_passes() {
    let mut solved = Solved::new("pagerank", json!({}));
    let before = is_right("pagerank", &solved);
    let off = before.found["node_error"].as_f64().unwrap();
    println!("pagerank: {}", before.note);
    let all = solved.as_a::<Pagerank>().ranks.clone();
    let right = all.clone();
    // What is right is in f64, and what was found is off by this much, and by a rounding.
    let out = 1e-5 + off + 3e-7;
    let values = Values {
        all,
        set: |solved, v, value| solved.as_a::<Pagerank>().ranks[v] = value,
        key: f64::from,
        step: &|_, value: f32, up| {
            let by = if up { out } else { -out };
            Some((f64::from(value) * (1.0 + by)) as f32)
        },
        percent: &|_, value, up| Some(value * if up { 1.01 } else { 0.99 }),
        wrong: &|v, value| {
            let (value, right) = (f64::from(value), f64::from(right[v]));
            (value - right).abs() > (1e-5 + off + 1e-7) * right
        },
    };
    try_all("pagerank", &mut solved, Verdict::Yes, &values, 1);
}

/// Degrees after going `km` from a place, north or south and east or west.
fn moved([lat, lon]: [f64; 2], km: f64, [north, east]: [f64; 2]) -> [f64; 2] {
    let by = (km / 6371.0088).to_degrees();
    let lon = lon + east * by / lat.to_radians().cos().abs().max(0.02);
    let lat = (lat + north * by).clamp(-89.9, 89.9);
    [
        lat,
        if lon > 180.0 {
            lon - 360.0
        } else if lon < -180.0 {
            lon + 360.0
        } else {
            lon
        },
    ]
}

#[test]
fn no_changed_place_passes() {
    let mut solved = Solved::new("geo", json!({ "locate": "0.3:1" }));
    let before = solved.verified();
    println!("geo: {:?} {:?}{}", before.verdict, before.message, before.note);
    assert_ne!(before.verdict, Verdict::No, "{:?}", before.message);
    assert!(*SCALE > 12 || before.verdict == Verdict::Yes, "small graphs are looked at completely");
    let by_host = solved.job.verify(&*solved.answer, &Checker::host()).unwrap();
    // On larger graphs each stops after so much work.
    let same = ["located", "checked", "medians", "elsewhere"];
    for field in same.into_iter().filter(|_| *SCALE <= 12) {
        assert_eq!(before.found[field], by_host.found[field], "{field} of {} and host", before.on);
    }
    let found: &mut Geolocation = solved.as_a();
    let (wave, graph) = (found.wave.clone(), GRAPH.clone());
    let all: Vec<[f64; 2]> =
        found.latitude.iter().zip(&found.longitude).map(|(lat, lon)| [*lat, *lon]).collect();
    let near = |v: usize| -> Vec<[f64; 2]> {
        let others = graph.neighbors(v).map(|(u, _)| u as usize);
        others.filter(|u| wave[*u] < wave[v]).map(|u| all[u]).collect()
    };
    let sum = |at: [f64; 2], near: &[[f64; 2]]| -> f64 {
        near.iter().map(|[lat, lon]| great_circle_km(at[0], at[1], *lat, *lon)).sum()
    };
    let is_median = |v: usize| !matches!(wave[v], 0 | u32::MAX);
    let wrong = |v: usize, at: [f64; 2]| {
        let (near, found) = (if is_median(v) { near(v) } else { Vec::new() }, all[v]);
        match near.len() {
            // Given, or nowhere.
            0 => at[0].to_bits() != found[0].to_bits() || at[1].to_bits() != found[1].to_bits(),
            1 | 2 => great_circle_km(at[0], at[1], found[0], found[1]) > 5e-6 || at[0].is_nan(),
            _ => {
                // The place found may be another local minimum.
                let least = sum(found, &near).max(spatial_median(&near).1 * 6371.0088);
                at[0].is_nan() || sum(at, &near) > least * (1.0 + 1.5e-6) + 1e-6
            }
        }
    };
    let ways = |v: usize, up: bool| match (v.is_multiple_of(2), up) {
        (true, true) => [1.0, 0.0],
        (true, false) => [-1.0, 0.0],
        (false, true) => [0.0, 1.0],
        (false, false) => [0.0, -1.0],
    };
    // The smallest of these steps that leaves the tolerance.
    let step = |v: usize, at: [f64; 2], up: bool| {
        let steps = (0..40).map(|i| 1e-5 * 2f64.powi(i)).filter(|km| *km < 10_000.0);
        let places = steps.map(|km| match at[0].is_nan() {
            true => [0.0, 0.0],
            false => moved(at, km, ways(v, up)),
        });
        places.into_iter().find(|at| wrong(v, *at))
    };
    // 1 % of the mean distance, or 300 km.
    let percent = |v: usize, at: [f64; 2], up: bool| {
        let near = if is_median(v) { near(v) } else { return None };
        let km =
            if v.is_multiple_of(3) { 300.0 } else { 0.01 * sum(at, &near) / near.len() as f64 };
        Some(moved(at, km, ways(v, up)))
    };
    let values = Values {
        all: all.clone(),
        set: |solved, v, [lat, lon]: [f64; 2]| {
            let found: &mut Geolocation = solved.as_a();
            (found.latitude[v], found.longitude[v]) = (lat, lon);
        },
        key: |at| at[0],
        step: &step,
        percent: &percent,
        wrong: &wrong,
    };
    try_all("geo", &mut solved, before.verdict, &values, 1);
}
