//! The verifier of geolocation accepts what its oracle makes, and no wrong answer gets past it.

use crate::common::*;
use hivegraph::Error;
use hivegraph::graph::Graph;
use hivegraph::verify::{error_km, geo, spatial_median};
use std::time::Instant;

/// Given places and an answer.
#[derive(Clone)]
struct Run {
    given: [Vec<f64>; 2],
    answer: [Vec<f64>; 2],
    wave: Vec<u32>,
}

impl Run {
    /// By definition, with the oracle: nodes that `hidden` names have no place.
    fn new(graph: &Graph, hidden: impl Fn(usize) -> bool, waves: u32) -> Run {
        let n = graph.nodes();
        let at = |v: usize| if hidden(v) { [f64::NAN; 2] } else { anywhere(99, v as u64) };
        let given = [0, 1].map(|i| (0..n).map(|v| at(v)[i]).collect::<Vec<_>>());
        let wave = (0..n).map(|v| if hidden(v) { NONE } else { 0 }).collect();
        let mut run = Run { answer: given.clone(), given, wave };
        for now in 1..=waves {
            let mut found = Vec::new();
            for v in (0..n).filter(|&v| run.wave[v] == NONE) {
                let near: Vec<Place> = graph
                    .neighbors(v)
                    .filter(|(u, _)| run.wave[*u as usize] != NONE)
                    .map(|(u, _)| run.at(u as usize))
                    .collect();
                match near[..] {
                    [] => {}
                    [a, b] => found.push((v, midpoint(a, b))),
                    _ => found.push((v, spatial_median(&near).0)),
                }
            }
            for &(v, at) in &found {
                run.put(v, at, now);
            }
            if found.is_empty() {
                break;
            }
        }
        run
    }

    fn at(&self, v: usize) -> Place {
        [self.answer[0][v], self.answer[1][v]]
    }

    fn put(&mut self, v: usize, at: Place, wave: u32) {
        (self.answer[0][v], self.answer[1][v], self.wave[v]) = (at[0], at[1], wave);
    }

    fn check(
        &self,
        graph: &Graph,
        waves: Option<u32>,
    ) -> hivegraph::Result<hivegraph::verify::GeoCheck> {
        let [given, answer] = [&self.given, &self.answer].map(|a| [&a[0][..], &a[1][..]]);
        geo(graph, given, answer, &self.wave, waves, 1e-6)
    }

    /// Refused, with a message that names node `v` and says `words`.
    fn refused(&self, graph: &Graph, waves: Option<u32>, v: usize, words: &str) {
        match self.check(graph, waves) {
            Err(Error::Verify(message)) => {
                let node = format!("node {}: ", graph.input_id(v as u32));
                assert!(
                    message.contains(&node) && message.contains(words),
                    "{node}{words}: {message}"
                );
            }
            other => panic!("node {v}, {words}: {other:?}"),
        }
    }
}

fn chesapeake() -> Graph {
    hivegraph::io::load("tests/data/chesapeake.mtx").expect("chesapeake")
}

/// 400 nodes with parallel arcs and self loops; ids from 1.
fn random() -> Graph {
    let arc = |e: u64| ((hash(5, 2 * e) % 400) as u32, (hash(5, 2 * e + 1) % 400) as u32, 1.0);
    graph_from_base(400, &(0..900).map(arc).collect::<Vec<_>>(), 1)
}

fn hide_most(v: usize) -> bool {
    !hash(3, v as u64).is_multiple_of(4)
}

#[test]
fn what_the_oracle_itself_locates_passes_and_is_counted() {
    for (graph, waves) in [(chesapeake(), None), (random(), None), (random(), Some(2))] {
        let run = Run::new(&graph, hide_most, waves.unwrap_or(NONE));
        let seen = run.check(&graph, waves).expect("a right answer");
        let count = |is: &dyn Fn(u32) -> bool| run.wave.iter().filter(|w| is(**w)).count() as u64;
        assert_eq!(seen.given, count(&|w| w == 0));
        assert_eq!(seen.located, count(&|w| w != 0 && w != NONE));
        assert_eq!(seen.checked, seen.located);
        assert_eq!(Some(seen.waves), run.wave.iter().copied().filter(|w| *w != NONE).max());
        assert!(seen.medians > 10 && seen.medians < seen.checked, "{seen:?}");
        assert!(seen.worst_excess.abs() < 1e-12 && seen.mean_km > 100.0, "{seen:?}");
    }
    assert!(Run::new(&random(), hide_most, NONE).wave.contains(&3));
}

#[test]
fn a_location_moved_by_five_km_is_caught_whatever_it_was_made_from() {
    let graph = random();
    let right = Run::new(&graph, hide_most, NONE);
    let near = |v: usize| {
        graph.neighbors(v).filter(|(u, _)| right.wave[*u as usize] < right.wave[v]).count()
    };
    let mut seen = [0; 3];
    for v in (0..400).filter(|&v| right.wave[v] != 0 && right.wave[v] != NONE) {
        // Nobody is located after it, so that it alone is wrong.
        let used = (0..400).any(|u| {
            right.wave[u] != NONE
                && right.wave[u] > right.wave[v]
                && graph.neighbors(u).any(|(w, _)| w as usize == v)
        });
        if used || right.answer[0][v].abs() > 89.0 {
            continue;
        }
        let mut broken = right.clone();
        broken.answer[0][v] += 5.0 / 111.2;
        let k = near(v);
        // On a flat bottom 5 km may cost less than a millionth.
        let points: Vec<Place> = graph
            .neighbors(v)
            .filter(|(u, _)| right.wave[*u as usize] < right.wave[v])
            .map(|(u, _)| right.at(u as usize))
            .collect();
        let worse = sum(broken.at(v), &points) / sum(right.at(v), &points) - 1.0;
        let words = match k {
            1 => "the location of its one neighbour",
            2 => "the midpoint of its two neighbours",
            _ if worse < 1.01e-6 => continue,
            _ => "km away in all, but",
        };
        seen[k.min(3) - 1] += 1;
        broken.refused(&graph, None, v, words);
        broken.refused(&graph, None, v, &format!("of wave {}:", right.wave[v]));
    }
    assert!(seen.iter().all(|&count| count > 5), "{seen:?}");
}

#[test]
fn a_wrong_wave_is_caught_whichever_way_it_is_wrong() {
    let graph = random();
    let right = Run::new(&graph, hide_most, NONE);
    let of = |wave| right.wave.iter().position(|w| *w == wave).expect("a node of that wave");
    let limited = Run::new(&graph, hide_most, 1);
    let broken = |run: &Run, v: usize, wave: u32| {
        let mut broken = run.clone();
        let at = if wave == NONE { [f64::NAN; 2] } else { [1.0, 2.0] };
        broken.put(v, at, wave);
        broken
    };
    // A last node, so that no other's wave depends on it.
    let last = of(right.wave.iter().copied().filter(|w| *w != NONE).max().expect("waves"));
    let wave = right.wave[last];
    broken(&right, last, NONE).refused(
        &graph,
        None,
        last,
        "it is not located, but belongs of wave",
    );
    broken(&right, last, wave - 1).refused(&graph, None, last, "but belongs of wave");
    broken(&right, last, wave + 1).refused(&graph, None, last, "its neighbour");
    broken(&right, of(NONE), 1).refused(&graph, None, of(NONE), "no neighbour of it is located");
    broken(&right, of(0), 1).refused(&graph, None, of(0), "its location is given");
    // Located after the last wave; and a run that stopped one wave early, or before it began.
    broken(&limited, of(2), 2).refused(&graph, Some(1), of(2), "1 waves were allowed");
    limited.refused(&graph, Some(2), of(2), "it is not located, but belongs of wave 2");
    limited.check(&graph, Some(1)).expect("a right answer for one wave");
    let none = Run::new(&graph, hide_most, 0);
    none.check(&graph, Some(0)).expect("no wave, nobody located");
    none.refused(&graph, None, of(1), "belongs of wave 1");
}

#[test]
fn a_changed_given_node_a_nan_and_a_place_off_the_globe_are_caught() {
    let graph = random();
    let right = Run::new(&graph, hide_most, NONE);
    let of = |wave| right.wave.iter().position(|w| *w == wave).expect("a node of that wave");
    let broken = |v: usize, i: usize, value: f64| {
        let mut broken = right.clone();
        broken.answer[i][v] = value;
        broken
    };
    let v = of(0);
    broken(v, 0, right.answer[0][v].next_up()).refused(&graph, None, v, "was given");
    broken(v, 1, right.answer[1][v].next_down()).refused(&graph, None, v, "was given");
    broken(v, 1, f64::NAN).refused(&graph, None, v, "is not a latitude and a longitude");
    let v = of(1);
    for (i, value) in [(0, f64::NAN), (1, f64::NAN), (0, 90.5), (1, 180.5), (1, f64::INFINITY)] {
        broken(v, i, value).refused(&graph, None, v, "is not a latitude and a longitude");
    }
    broken(of(NONE), 1, 0.0).refused(&graph, None, of(NONE), "not at NaN");
    let mut short = right.clone();
    short.wave.pop();
    assert!(matches!(short.check(&graph, None), Err(Error::Verify(m)) if m.contains("399 waves")));
    let mut wild = right.clone();
    wild.given[0][of(0)] = 91.0;
    assert!(matches!(wild.check(&graph, None), Err(Error::Input(m)) if m.contains("no place")));
}

#[test]
fn given_longitudes_may_come_back_normalised_and_ties_anywhere() {
    // 0 and 1 are antipodes, 2 is 350 east; 3 sees the antipodes, 4 sees 2 twice and itself, 5 sees only itself.
    let graph = unweighted_graph_of(
        6,
        &[(3, 0, 1.0), (3, 1, 1.0), (4, 2, 1.0), (4, 2, 1.0), (4, 4, 1.0), (5, 5, 1.0)],
    );
    let nan = f64::NAN;
    let mut run = Run {
        given: [vec![0.0, 0.0, 8.0, nan, nan, nan], vec![-180.0, 0.0, 350.1, nan, nan, nan]],
        answer: [
            vec![0.0, 0.0, 8.0, 33.0, 8.0, nan],
            vec![180.0, 0.0, 350.1 - 360.0, 7.0, -9.9, nan],
        ],
        wave: vec![0, 0, 0, 1, 1, NONE],
    };
    run.check(&graph, None).expect("a right answer");
    run.put(3, [-80.0, 100.0], 1);
    run.check(&graph, None).expect("any place between antipodes");
    run.answer[1][4] += 1e-4;
    run.refused(&graph, None, 4, "the midpoint of its two neighbours");
}

#[test]
fn errors_of_an_answer_are_summed_up_over_the_nodes_asked_for() {
    let nan = f64::NAN;
    let truth = [vec![0.0; 13], (0..13).map(f64::from).collect::<Vec<_>>()];
    let mut answer = [vec![0.0; 13], vec![0.0; 13]];
    answer[0][12] = nan;
    let [t, a] = [&truth, &answer].map(|x| [&x[0][..], &x[1][..]]);
    let found = error_km(t, a, |v| v > 0).expect("errors");
    let degree = RADIUS_KM.to_radians();
    assert_eq!((found.count, found.missing), (11, 1));
    for (what, degrees) in
        [(found.median, 6.0), (found.p90, 10.0), (found.mean, 6.0), (found.max, 11.0)]
    {
        assert!((what - degrees * degree).abs() < 1e-9, "{found:?}");
    }
    assert_eq!(error_km(t, a, |v| v == 12), None);
    let unknown = [vec![nan; 13], vec![nan; 13]];
    assert_eq!(error_km([&unknown[0], &unknown[1]], a, |_| true), None);
}

/// `cargo test --release --test verify geo:: -- --ignored --nocapture`
#[test]
#[ignore = "large: run by hand"]
fn a_million_nodes_and_thirty_million_arcs_are_checked_in_seconds() {
    for spec in ["geo:2^20,degree=30", "rmat:20"] {
        let begin = Instant::now();
        let graph = hivegraph::io::load(spec).expect("a graph");
        let n = graph.nodes();
        let at = |v: usize| match graph.places() {
            Some((lat, lon)) => [lat[v], lon[v]],
            None if v.is_multiple_of(2) => anywhere(1, v as u64),
            None => [f64::NAN; 2],
        };
        let given = [0, 1].map(|i| (0..n).map(|v| at(v)[i]).collect::<Vec<_>>());
        let wave = given[0].iter().map(|x| if x.is_nan() { NONE } else { 0 }).collect();
        let mut run = Run { answer: given.clone(), given, wave };
        let hidden: Vec<usize> = (0..n).filter(|&v| run.given[0][v].is_nan()).collect();
        for v in hidden {
            let known = |u: &usize| !run.given[0][*u].is_nan();
            let near: Vec<Place> = graph
                .neighbors(v)
                .map(|(u, _)| u as usize)
                .filter(known)
                .map(|u| run.at(u))
                .collect();
            match near[..] {
                [] => {}
                [a, b] => run.put(v, midpoint(a, b), 1),
                [a, ..] => run.put(v, a, 1),
            }
        }
        println!("{spec}: {n} nodes, {} arcs, {:?}", graph.arcs(), begin.elapsed());
        let [given, answer] = [&run.given, &run.answer].map(|a| [&a[0][..], &a[1][..]]);
        // Any sum will do: what is measured is time.
        let seen = geo(&graph, given, answer, &run.wave, Some(1), f64::INFINITY);
        println!("{seen:?}");
        assert!(seen.expect("a well-formed answer").ms < 60_000.0);
    }
}
