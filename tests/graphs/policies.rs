//! What load options do to the arcs, against a plain model; and that labels inside change no answer.

use hivegraph::algorithm::{PagerankConfig, Seeds, VnConfig, pagerank, vn};
use hivegraph::fleet::{Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::io::{
    Cache, Duplicates, LoadOptions, Relabel, SelfLoops, Symmetrize, Weights, load_with,
};
use hivegraph::layout::{PrepareOptions, Prepared};
use hivegraph::run::RunConfig;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

type Arcs = Vec<(u64, u64, f32)>;

/// Arcs by the input's ids, sorted.
fn arcs(graph: &Graph) -> Arcs {
    let id = |v: u32| graph.input_id(v);
    let row = |u: usize| graph.neighbors(u).map(move |(v, w)| (id(u as u32), id(v), w));
    let mut arcs: Arcs = (0..graph.nodes()).flat_map(row).collect();
    arcs.sort_by(|a, b| a.partial_cmp(b).unwrap());
    arcs
}

fn load(text: &str, options: &LoadOptions) -> Result<Graph, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.txt");
    std::fs::write(&path, text).unwrap();
    let options = LoadOptions { cache: Cache::Off, ..options.clone() };
    load_with(path.to_str().unwrap(), &options).map_err(|error| {
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    })
}

fn with(change: impl FnOnce(&mut LoadOptions)) -> LoadOptions {
    let mut options = LoadOptions::default();
    change(&mut options);
    options
}

const ODD: &str = "0 1 5\n1 0 2\n0 1 3\n2 2 1\n0 1 5\n2 3 4\n3 2 4\n";

#[test]
fn duplicates_are_kept_or_one_is_the_first_the_lightest_or_the_sum() {
    let of = |duplicates| {
        let graph = load(ODD, &with(|o| o.duplicates = duplicates)).unwrap();
        assert_eq!((graph.origin.duplicates, graph.origin.self_loops), (2, 1), "as found");
        arcs(&graph)
    };
    let rest = [(1, 0, 2.0), (2, 2, 1.0), (2, 3, 4.0), (3, 2, 4.0)];
    let expected = |own: &[f32]| own.iter().map(|w| (0, 1, *w)).chain(rest).collect::<Arcs>();
    assert_eq!(of(Duplicates::Keep), expected(&[3.0, 5.0, 5.0]));
    assert_eq!(of(Duplicates::First), expected(&[5.0]));
    assert_eq!(of(Duplicates::Min), expected(&[3.0]));
    assert_eq!(of(Duplicates::Sum), expected(&[13.0]));
}

/// 2^127, which f32 holds, and not twice.
const HUGE: &str = "170141183460469231731687303715884105728";
/// 3 x 2^126.
const LARGER: &str = "255211775190703847597530955573826158592";

#[test]
fn a_sum_beyond_f32_is_refused_and_unit_weights_count_arcs() {
    let sum = with(|o| o.duplicates = Duplicates::Sum);
    let message = load(&format!("0 1 {HUGE}\n0 1 {HUGE}\n"), &sum).unwrap_err();
    assert!(message.contains("--duplicates sum") && message.contains("g.txt"), "{message}");
    let both = with(|o| (o.duplicates, o.symmetrize) = (Duplicates::Sum, Symmetrize::Keep));
    let message = load(&format!("0 1 {HUGE}\n1 0 {LARGER}\n"), &both).unwrap_err();
    assert!(message.contains("--duplicates sum"), "{message}");
    let both = with(|o| o.symmetrize = Symmetrize::Sum);
    let message = load(&format!("0 1 {HUGE}\n1 0 {LARGER}\n"), &both).unwrap_err();
    assert!(message.contains("--symmetrize=sum: the weights"), "{message}");
    let counted = with(|o| (o.duplicates, o.weights) = (Duplicates::Sum, Weights::Unit));
    assert_eq!(
        arcs(&load(&format!("0 1 {HUGE}\n0 1 {HUGE}\n1 0 9\n"), &counted).unwrap()),
        [(0, 1, 2.0), (1, 0, 1.0)]
    );
}

#[test]
fn weights_that_are_not_looked_at_may_be_anything_in_every_text_format() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.txt", "1 2 -5\n2 1 -5\n"),
        ("a.wel", "1 2 -5\n2 1 -5\n"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 -5\n2 1 -5\n"),
        ("a.gr", "p sp 2 2\na 1 2 -5\na 2 1 -5\n"),
        ("a.graph", "2 1 1\n2 -5\n1 -5\n"),
        ("b.v", "1\n2\n"),
        ("b.e", "1 2 -5\n2 1 -5\n"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        if name == "b.v" {
            continue;
        }
        let unit = with(|o| (o.weights, o.cache) = (Weights::Unit, Cache::Off));
        let graph = load_with(path.to_str().unwrap(), &unit).unwrap();
        assert_eq!((graph.arcs(), graph.weights()), (2, None), "{name}");
    }
}

#[test]
fn self_loops_are_dropped_and_a_reverse_is_added_where_there_is_none_of_the_weight() {
    let graph = load(ODD, &with(|o| o.self_loops = SelfLoops::Drop)).unwrap();
    assert!(arcs(&graph).iter().all(|(u, v, _)| u != v));
    let graph = load(ODD, &with(|o| o.symmetrize = Symmetrize::Keep)).unwrap();
    let between = [(0, 1, 2.0), (0, 1, 3.0), (0, 1, 5.0), (0, 1, 5.0)];
    let back = between.map(|(u, v, w)| (v, u, w));
    let rest = [(2, 2, 1.0), (2, 3, 4.0), (3, 2, 4.0)];
    let expected: Arcs = between.into_iter().chain(back).chain(rest).collect();
    assert_eq!(arcs(&graph), expected);
    assert!(graph.is_symmetric());
    assert_eq!(graph.origin.duplicates, 6, "three each way beyond the first");
}

const UNEQUAL: &str = "0 1 5\n1 0 2\n1 2 1\n2 3 4\n3 2 6\n2 3 4\n3 3 7\n";

#[test]
fn a_symmetrized_pair_has_one_arc_each_way_with_the_least_greatest_or_summed_weight() {
    let of = |symmetrize, duplicates| {
        let options = with(|o| (o.symmetrize, o.duplicates) = (symmetrize, duplicates));
        let graph = load(UNEQUAL, &options).unwrap();
        assert!(graph.is_symmetric());
        arcs(&graph)
    };
    let expected = |a, b, c| {
        let upper = [(0, 1, a), (1, 2, b), (2, 3, c)];
        let mut all: Arcs =
            upper.iter().flat_map(|(u, v, w)| [(*u, *v, *w), (*v, *u, *w)]).collect();
        all.push((3, 3, 7.0));
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all
    };
    let min = expected(2.0, 1.0, 4.0);
    for duplicates in [Duplicates::Keep, Duplicates::First, Duplicates::Min] {
        assert_eq!(of(Symmetrize::Min, duplicates), min);
        assert_eq!(of(Symmetrize::Max, duplicates), expected(5.0, 1.0, 6.0));
    }
    assert_eq!(of(Symmetrize::Sum, Duplicates::Keep), expected(7.0, 1.0, 14.0));
    assert_eq!(of(Symmetrize::Sum, Duplicates::Min), expected(7.0, 1.0, 10.0));
    // Parallel arcs are summed in each direction first: 8 and 6 between nodes 2 and 3.
    assert_eq!(of(Symmetrize::Min, Duplicates::Sum), expected(2.0, 1.0, 6.0));
    assert_eq!(of(Symmetrize::Max, Duplicates::Sum), expected(5.0, 1.0, 8.0));
    // A graph that is symmetric but for parallel arcs is left with one arc each way too.
    let options = with(|o| o.symmetrize = Symmetrize::Min);
    let graph = load("0 1 3\n1 0 3\n0 1 4\n1 0 4\n", &options).unwrap();
    assert_eq!(arcs(&graph), [(0, 1, 3.0), (1, 0, 3.0)]);
}

#[test]
fn degrees_and_ranks_of_a_symmetrized_graph_count_each_pair_once() {
    let options = with(|o| o.symmetrize = Symmetrize::Min);
    let graph = load("0 1 5\n1 0 2\n1 2 1\n2 1 9\n2 0 3\n2 3 1\n", &options).unwrap();
    let degrees: Vec<u64> = (0..4).map(|v| graph.degree(v)).collect();
    assert_eq!(degrees, [2, 2, 3, 1]);
    let simple = "0 1 2\n1 0 2\n1 2 1\n2 1 1\n2 0 3\n0 2 3\n2 3 1\n3 2 1\n";
    let simple = load(simple, &LoadOptions::default()).unwrap();
    let fleet = FleetConfig { devices: "host:2".parse().unwrap(), ..FleetConfig::default() };
    let fleet = Fleet::open(fleet).unwrap();
    let ranks = |graph: Graph| {
        let prepared = Prepared::new(&fleet, Arc::new(graph), PrepareOptions::default()).unwrap();
        pagerank(&fleet, &prepared, &PagerankConfig::default()).unwrap().ranks
    };
    assert_eq!(ranks(graph), ranks(simple));
}

#[test]
fn symmetrize_reads_as_a_word_and_as_true_or_false() {
    let of = |text: &str| {
        serde_json::from_str::<LoadOptions>(&format!("{{\"symmetrize\": {text}}}"))
            .map(|options| options.symmetrize)
            .map_err(|error| error.to_string())
    };
    for (text, expected) in [
        ("true", Symmetrize::Min),
        ("false", Symmetrize::Off),
        ("\"min\"", Symmetrize::Min),
        ("\"max\"", Symmetrize::Max),
        ("\"sum\"", Symmetrize::Sum),
        ("\"keep\"", Symmetrize::Keep),
        ("\"off\"", Symmetrize::Off),
    ] {
        assert_eq!(of(text), Ok(expected), "{text}");
    }
    assert!(of("\"both\"").unwrap_err().contains("use min, max, sum, keep or off"));
    assert!(of("3").is_err());
    // A record of a run that kept both weights repeats that run.
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("old.json");
    let text = r#"{"config": {"graph": "g.txt", "load": {"symmetrize": true}}}"#;
    std::fs::write(&record, text).unwrap();
    assert_eq!(RunConfig::read(&record).unwrap().load.symmetrize, Symmetrize::Keep);
}

#[test]
fn random_weights_depend_on_seed_and_pair_and_are_the_same_both_ways() {
    let random = |text, seed| {
        load(text, &with(|o| o.weights = Weights::Random { low: 3, high: 9, seed })).unwrap()
    };
    let both = "0 1\n1 0\n1 2\n2 1\n0 2\n2 0\n";
    let graph = random(both, 1);
    assert!(graph.is_symmetric());
    assert!(arcs(&graph).iter().all(|a| (3.0..=9.0).contains(&a.2) && a.2.fract() == 0.0));
    let many: String = (0..200).map(|i| format!("{i} {}\n", (i * 7 + 3) % 200)).collect();
    let (one, again, other) = (random(&many, 1), random(&many, 1), random(&many, 2));
    assert_eq!(arcs(&one), arcs(&again));
    assert_ne!(arcs(&one), arcs(&other));
    let mut seen: Vec<f32> = arcs(&one).iter().map(|a| a.2).collect();
    seen.sort_by(f32::total_cmp);
    seen.dedup();
    assert_eq!(seen.len(), 7, "every weight of 3..=9 occurs");
}

#[test]
fn bounds_with_a_point_give_real_weights() {
    let drawn = |weights: &str| {
        let weights = weights.parse().unwrap();
        load_with("uniform:2000", &with(|o| o.weights = weights)).unwrap()
    };
    let graph = drawn("random:0.0-1.0:7");
    assert!(graph.is_symmetric());
    let found: Vec<f32> = arcs(&graph).iter().map(|arc| arc.2).collect();
    assert!(found.iter().all(|w| (0.0..1.0).contains(w)));
    let mean = found.iter().map(|w| f64::from(*w)).sum::<f64>() / found.len() as f64;
    assert!((mean - 0.5).abs() < 0.01, "{mean}");
    let mut different = found.clone();
    different.sort_by(f32::total_cmp);
    different.dedup();
    // Both arcs of an edge weigh the same, and edges hardly ever do.
    assert!(different.len() * 21 > found.len() * 10, "{} of {}", different.len(), found.len());
    assert_ne!(arcs(&graph), arcs(&drawn("random:0.0-1.0:8")));
    let scaled = drawn("random:0.0-2.0:7");
    assert!(arcs(&scaled).iter().zip(&found).all(|(arc, w)| arc.2 == 2.0 * w));
    for text in ["random:0.0-1.0:7", "random:0.5-2.5:1", "random:1.25-100000.0:3", "random:3-9:1"] {
        assert_eq!(text.parse::<Weights>().unwrap().to_string(), text);
    }
    for text in [
        "random:1.0-1.0:7",
        "random:2.0-1.0:7",
        "random:-1.0-1.0:7",
        "random:0.0-x.:7",
        "random:0.0-1.0",
    ] {
        let refused = text.parse::<Weights>().unwrap_err().to_string();
        assert!(refused.contains("random:0.0-1.0:7 (real ones)"), "{refused}");
    }
}

#[test]
fn the_number_of_nodes_can_be_said_and_must_do() {
    let nodes = |text, n| load(text, &with(|o| o.nodes = Some(n)));
    let graph = nodes("0 5\n", 9).unwrap();
    assert_eq!((graph.nodes(), graph.names(), graph.isolated()), (9, None, 7));
    assert!(nodes("0 5\n", 5).unwrap_err().contains("--nodes 5: the file has id 5; ask for 6"));
    assert!(nodes("4 1\n0 1 1\n", 3).unwrap_err().contains("declares 4 nodes"));
    assert_eq!(nodes("4 1\n0 1 1\n", 7).unwrap().nodes(), 7);
    assert!(nodes(&format!("0 {}\n", u64::MAX), 7).unwrap_err().contains("--nodes 7"));
    assert!(
        load_with("rmat:4", &with(|o| o.nodes = Some(7)))
            .unwrap_err()
            .to_string()
            .contains("--nodes 7")
    );
}

#[test]
fn the_largest_component_keeps_its_ids() {
    let text = "10 20 1\n30 40 2\n40 50 3\n50 30 4\n60 60 1\n";
    let graph = load(text, &with(|o| o.largest_component = true)).unwrap();
    assert_eq!(graph.names(), Some(&[30, 40, 50][..]));
    assert_eq!(arcs(&graph), [(30, 40, 2.0), (40, 50, 3.0), (50, 30, 4.0)]);
    assert_eq!((graph.origin.self_loops, graph.origin.duplicates), (0, 0));
    let odd = "1 1\n2 3\n2 3\n3 4\n3 3\n7 8\n7 8\n9 9\n";
    let graph = load(odd, &with(|o| o.largest_component = true)).unwrap();
    assert_eq!((graph.origin.self_loops, graph.origin.duplicates), (1, 1));
    let whole = load_with("chain:9", &with(|o| o.largest_component = true)).unwrap();
    assert_eq!((whole.nodes(), whole.names()), (9, None));
}

#[test]
fn relabelling_by_degree_puts_hubs_first() {
    let graph =
        load("5 1\n5 2\n5 3\n2 5\n2 1\n9 5\n", &with(|o| o.relabel = Relabel::Degree)).unwrap();
    let ids: Vec<u64> = (0..graph.nodes() as u32).map(|v| graph.input_id(v)).collect();
    assert_eq!(ids, [5, 2, 9, 1, 3]);
    assert_eq!(graph.id_range(), (1, 9));
}

/// (id, distance, predecessor's id, nominee's id) of every node, by id.
type Rows = Vec<(u64, u32, Option<u64>, Option<u64>)>;

fn answers(graph: Graph, seeds: &str) -> (Rows, u64) {
    let graph = Arc::new(graph);
    let fleet = FleetConfig { devices: "host:3".parse().unwrap(), ..FleetConfig::default() };
    let fleet = Fleet::open(fleet).unwrap();
    let seeds = seeds.parse::<Seeds>().unwrap().resolve(&graph).unwrap();
    let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
    let from = Some(Seeds::of_nodes(&graph, &seeds));
    let config = VnConfig { seeds: from, predecessors: true, nominee: true, ..VnConfig::default() };
    let found = vn(&fleet, &prepared, &config).unwrap();
    hivegraph::verify::sssp(&graph, &seeds, &found.found()).unwrap();
    let id = |v: u32| (v != u32::MAX).then(|| graph.input_id(v));
    let (parents, nominees) = (found.predecessors.unwrap(), found.nominees.unwrap());
    let row = |v: usize| {
        let distance = found.distances[v].to_bits();
        (graph.input_id(v as u32), distance, id(parents[v]), id(nominees[v]))
    };
    let mut rows: Rows = (0..graph.nodes()).map(row).collect();
    rows.sort_unstable();
    (rows, graph.input_id(graph.default_source()))
}

#[test]
fn labels_inside_change_no_answer_no_tie_and_no_seed() {
    // Weights of few values, for ties; ids with gaps.
    let text: String = (0..6000u64)
        .map(|i| {
            let (u, v) = ((i * i * 31 + 7) % 1501, (i * 17 + i / 7) % 1501);
            format!("{} {} {}\n", 3 * u + 5, 3 * v + 5, i % 3)
        })
        .collect();
    for seeds in ["first:3", "random:4:9", "5,8,4505"] {
        let plain = answers(load(&text, &LoadOptions::default()).unwrap(), seeds);
        for relabel in [Relabel::Random(1), Relabel::Random(2), Relabel::Degree] {
            let options = with(|o| o.relabel = relabel);
            assert_eq!(answers(load(&text, &options).unwrap(), seeds), plain, "{seeds} {relabel}");
        }
    }
}

/// What the options should make of arcs in file order.
fn model(given: &[(u64, u64, f32)], options: &LoadOptions) -> Arcs {
    let unit = options.weights == Weights::Unit;
    let mut pairs: BTreeMap<(u64, u64), Vec<f32>> = BTreeMap::new();
    for (u, v, w) in given {
        if u != v || options.self_loops == SelfLoops::Keep {
            pairs.entry((*u, *v)).or_default().push(if unit { 1.0 } else { *w });
        }
    }
    let one = |weights: &mut Vec<f32>| {
        let first = weights[0];
        weights.sort_by(f32::total_cmp);
        match options.duplicates {
            Duplicates::Keep => {}
            Duplicates::First => *weights = vec![first],
            Duplicates::Min => weights.truncate(1),
            Duplicates::Sum => {
                *weights = vec![weights.iter().map(|w| f64::from(*w)).sum::<f64>() as f32];
            }
        }
    };
    pairs.values_mut().for_each(one);
    let one_of = |weights: Vec<f32>| match options.symmetrize {
        _ if unit && options.duplicates != Duplicates::Sum => 1.0,
        Symmetrize::Min => weights.into_iter().fold(f32::INFINITY, f32::min),
        Symmetrize::Max => weights.into_iter().fold(0.0, f32::max),
        _ => weights.into_iter().map(f64::from).sum::<f64>() as f32,
    };
    if !matches!(options.symmetrize, Symmetrize::Off | Symmetrize::Keep) {
        let mut both = pairs.clone();
        for ((u, v), weights) in pairs.iter().filter(|((u, v), _)| u != v) {
            both.entry((*v, *u)).or_default().extend(weights);
        }
        pairs = both.into_iter().map(|(pair, weights)| (pair, vec![one_of(weights)])).collect();
    }
    if options.symmetrize == Symmetrize::Keep {
        let turned: Vec<_> = pairs.iter().map(|((u, v), w)| ((*v, *u), w.clone())).collect();
        let own = pairs.clone();
        for (pair, theirs) in turned {
            let mine = own.get(&pair).cloned().unwrap_or_default();
            let count = |list: &[f32], w: f32| list.iter().filter(|x| **x == w).count();
            let mut joined = mine.clone();
            let mut distinct = theirs.clone();
            distinct.dedup();
            for w in distinct {
                let more = count(&theirs, w).saturating_sub(count(&mine, w));
                joined.extend(std::iter::repeat_n(w, more));
            }
            joined.sort_by(f32::total_cmp);
            match options.duplicates {
                Duplicates::Keep => {}
                Duplicates::First | Duplicates::Min => joined.truncate(1),
                Duplicates::Sum => joined = vec![joined.iter().sum()],
            }
            pairs.insert(pair, joined);
        }
    }
    pairs.into_iter().flat_map(|((u, v), w)| w.into_iter().map(move |w| (u, v, w))).collect()
}

#[test]
fn whole_sums_that_f32_does_not_hold_are_refused_or_rounded_on_demand() {
    let (twice, there_and_back) = ("1 2 16777216\n1 2 1\n2 3 1\n", "1 2 16777215\n2 1 2\n");
    let sums = |o: &mut LoadOptions| o.duplicates = Duplicates::Sum;
    let joins = |o: &mut LoadOptions| o.symmetrize = Symmetrize::Sum;
    for (text, set) in [(twice, &sums as &dyn Fn(&mut LoadOptions)), (there_and_back, &joins)] {
        let refusal = load(text, &with(|o| set(o))).unwrap_err().to_string();
        assert!(refusal.contains("--weights rounded"), "{refusal}");
        let rounded = load(
            text,
            &with(|o| {
                set(o);
                o.weights = Weights::Rounded;
            }),
        );
        assert_eq!(arcs(&rounded.unwrap())[0].2, 16_777_216.0);
    }
    // A sum that f32 holds is no matter.
    assert_eq!(
        arcs(&load("1 2 16777216\n1 2 2\n", &with(|o| sums(o))).unwrap())[0].2,
        16_777_218.0
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_arcs_under_any_policies_are_what_the_model_says(
        given in prop::collection::vec((0u64..12, 0u64..12, 0u8..4), 1..60),
        duplicates in prop::sample::select(vec![
            Duplicates::Keep, Duplicates::First, Duplicates::Min, Duplicates::Sum
        ]),
        drop in any::<bool>(),
        symmetrize in prop::sample::select(vec![
            Symmetrize::Off, Symmetrize::Min, Symmetrize::Max, Symmetrize::Sum, Symmetrize::Keep
        ]),
        unit in any::<bool>(),
    ) {
        let given: Arcs = given.iter().map(|(u, v, w)| (*u, *v, f32::from(*w))).collect();
        let options = with(|o| {
            o.duplicates = duplicates;
            o.self_loops = if drop { SelfLoops::Drop } else { SelfLoops::Keep };
            o.symmetrize = symmetrize;
            o.weights = if unit { Weights::Unit } else { Weights::File };
            o.nodes = Some(12);
        });
        let text: String = given.iter().map(|(u, v, w)| format!("{u} {v} {w}\n")).collect();
        let graph = load(&text, &options).unwrap();
        prop_assert_eq!(arcs(&graph), model(&given, &options));
        prop_assert!(symmetrize == Symmetrize::Off || graph.is_symmetric());
    }
}

/// What policies make of a graph that is there is what they make of its file.
#[test]
fn policies_apply_to_a_graph_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arcs.csv");
    std::fs::write(&path, "0,1,5\n1,2,6\n2,0,7\n2,2,1\n0,1,3\n3,4,2\n").unwrap();
    let path = path.to_str().unwrap();
    let whole = hivegraph::io::load(path).unwrap();
    for (name, value) in [
        ("symmetrize", "max"),
        ("symmetrize", "sum"),
        ("self-loops", "drop"),
        ("duplicates", "min"),
        ("duplicates", "sum"),
        ("largest-component", "true"),
        ("weights", "unit"),
        ("relabel", "degree"),
    ] {
        let value = if value == "true" { value.into() } else { format!("'{value}'") };
        let options: hivegraph::io::LoadOptions =
            toml::from_str(&format!("{name} = {value}")).unwrap();
        let loaded = hivegraph::io::load_with(path, &options).unwrap();
        let applied = hivegraph::io::apply(whole.clone(), &options).unwrap();
        assert_eq!(applied.offsets(), loaded.offsets(), "{name} = {value}");
        assert_eq!(applied.columns(), loaded.columns(), "{name} = {value}");
        assert_eq!(applied.weights(), loaded.weights(), "{name} = {value}");
        assert_eq!(applied.names(), loaded.names(), "{name} = {value}");
    }
}
