use super::*;

fn arcs(graph: &Graph) -> Vec<(u32, u32, f32)> {
    (0..graph.nodes())
        .flat_map(|u| graph.neighbors(u).map(move |(v, w)| (u as u32, v, w)))
        .collect()
}

pub(super) fn directed(nodes: usize, pairs: &[(u32, u32)]) -> Graph {
    let (sources, targets): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    Graph::from_arcs(nodes, &sources, &targets, None, Origin::default()).unwrap()
}

fn refusal(offsets: &[u64], columns: &[u32], weights: Option<&[f32]>) -> String {
    let weights = weights.map(<[f32]>::to_vec);
    Graph::from_csr(offsets.to_vec(), columns.to_vec(), weights, Origin::default())
        .unwrap_err()
        .to_string()
}

#[test]
fn a_csr_from_outside_is_checked_before_it_is_used() {
    assert!(refusal(&[], &[], None).contains("empty"));
    assert!(refusal(&[0], &[], None).contains("empty"));
    assert!(refusal(&[1, 1], &[0], None).contains("start at 1"));
    assert!(refusal(&[0, 2, 1], &[0], None).contains("never fall"));
    assert!(refusal(&[0, 2], &[0], None).contains("end at 2"));
    assert!(refusal(&[0, 1], &[1], None).contains("ids run from 0 to 0"));
    assert!(refusal(&[0, 1], &[0], Some(&[])).contains("one for each arc"));
    for weight in [-1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(refusal(&[0, 1], &[0], Some(&[weight])).contains("finite and >= 0"));
    }
}

#[test]
fn a_csr_from_outside_gets_its_rows_sorted_and_its_oddities_counted() {
    let graph = Graph::from_csr(
        vec![0, 4, 5],
        vec![1, 0, 1, 0],
        Some(vec![2.0, 1.0, 1.0, -0.0]),
        Origin::default(),
    );
    assert!(graph.is_err(), "5 is not the arc count");
    let graph = Graph::from_csr(
        vec![0, 4, 4],
        vec![1, 0, 1, 0],
        Some(vec![2.0, 1.0, 1.0, -0.0]),
        Origin::default(),
    )
    .unwrap();
    assert_eq!(arcs(&graph), [(0, 0, 0.0), (0, 0, 1.0), (0, 1, 1.0), (0, 1, 2.0)]);
    assert!(graph.weights().unwrap().iter().all(|w| w.is_sign_positive()));
    assert_eq!((graph.origin.self_loops, graph.origin.duplicates), (2, 2));
}

#[test]
fn too_many_nodes_are_refused_by_name() {
    let message = check::node_count(u64::from(u32::MAX)).unwrap_err().to_string();
    assert!(message.contains("4294967295") && message.contains("4294967294"), "{message}");
}

#[test]
fn bad_arcs_are_refused() {
    let refusal = |s: &[u32], t: &[u32], w: Option<&[f32]>| {
        Graph::from_arcs(2, s, t, w, Origin::default()).unwrap_err().to_string()
    };
    assert!(refusal(&[2], &[0], None).contains("source 2"));
    assert!(refusal(&[0], &[7], None).contains("target 7"));
    assert!(refusal(&[0], &[], None).contains("one for each arc"));
    assert!(refusal(&[0], &[0], Some(&[f32::NAN])).contains("NaN"));
}

#[test]
fn symmetry_minds_weights_and_multiplicity() {
    assert!(directed(3, &[(0, 1), (1, 0), (2, 2)]).is_symmetric());
    assert!(!directed(3, &[(0, 1), (1, 0), (0, 1)]).is_symmetric());
    assert!(!directed(3, &[(0, 1), (1, 2), (2, 0)]).is_symmetric());
    let weighted =
        |w: &[f32]| Graph::from_arcs(2, &[0, 1], &[1, 0], Some(w), Origin::default()).unwrap();
    assert!(weighted(&[2.0, 2.0]).is_symmetric());
    assert!(!weighted(&[2.0, 3.0]).is_symmetric());
}

#[test]
fn a_node_without_arcs_in_or_out_is_isolated() {
    assert_eq!(directed(5, &[(0, 1), (3, 3)]).isolated(), 2);
    assert_eq!(directed(130, &[(129, 64)]).isolated(), 128);
    let rmat = crate::generate::generate("rmat:10").unwrap();
    let copy =
        Graph::from_csr(rmat.offsets().to_vec(), rmat.columns().to_vec(), None, Origin::default())
            .unwrap();
    assert_eq!(rmat.isolated(), copy.isolated());
}

#[test]
fn the_default_source_is_the_lowest_id_of_the_largest_component() {
    // Arcs against the order of ids, so that only weak connection can find 1.
    assert_eq!(directed(7, &[(0, 4), (6, 5), (5, 3), (3, 1)]).default_source(), 1);
    assert_eq!(directed(6, &[(5, 4), (2, 1)]).default_source(), 1, "a tie goes to the lowest id");
    assert_eq!(directed(3, &[]).default_source(), 0);
}

/// Weak components the slow way: lower labels until nothing changes.
fn naive_default_source(graph: &Graph) -> u32 {
    let mut label: Vec<u32> = (0..graph.nodes() as u32).collect();
    loop {
        let before = label.clone();
        for (u, v, _) in arcs(graph) {
            let low = label[u as usize].min(label[v as usize]);
            label[u as usize] = low;
            label[v as usize] = low;
        }
        if label == before {
            break;
        }
    }
    let size = |root: u32| label.iter().filter(|&&l| l == root).count();
    (0..graph.nodes() as u32).max_by_key(|&v| (size(v), std::cmp::Reverse(v))).unwrap()
}

#[test]
fn the_default_source_agrees_with_a_naive_search() {
    for seed in 1..=20 {
        for spec in [format!("rmat:7,ef=1,seed={seed}"), format!("rmat:9,ef=1,seed={seed}")] {
            let graph = crate::generate::generate(&spec).unwrap();
            let expected = naive_default_source(&graph);
            assert_eq!(graph.default_source(), expected, "{spec}");
            // The same arcs one way only, and not known to be symmetric.
            let pairs: Vec<_> =
                arcs(&graph).into_iter().filter(|a| a.0 > a.1).map(|a| (a.0, a.1)).collect();
            assert_eq!(directed(graph.nodes(), &pairs).default_source(), expected, "{spec}");
        }
    }
}

#[test]
fn weights_are_summed_up_for_the_choice_of_delta() {
    let graph =
        Graph::from_arcs(2, &[0, 1], &[1, 0], Some(&[1.0, 4.0]), Origin::default()).unwrap();
    assert_eq!((graph.weight_range(), graph.mean_weight()), ((1.0, 4.0), 2.5));
    let unit = directed(2, &[(0, 1)]);
    assert_eq!((unit.weight_range(), unit.mean_weight()), ((1.0, 1.0), 1.0));
}

#[test]
fn ids_of_the_input_are_shifted_by_its_base() {
    let mut graph = directed(3, &[(0, 1)]);
    graph.origin.id_base = 1;
    assert_eq!(graph.input_id(2), 3);
    assert_eq!(graph.node_of_input_id(3), Some(2));
    assert_eq!((graph.node_of_input_id(0), graph.node_of_input_id(4)), (None, None));
}

#[test]
fn arcs_in_any_order_over_many_blocks_and_buckets_give_the_same_csr() {
    let graph = crate::generate::generate("rmat:15").unwrap();
    let mut list = arcs(&graph);
    list.sort_by_key(|&(u, v, _)| crate::hash::hash(u64::from(u), u64::from(v)));
    let sources: Vec<u32> = list.iter().map(|arc| arc.0).collect();
    let targets: Vec<u32> = list.iter().map(|arc| arc.1).collect();
    let weights: Vec<f32> = list.iter().map(|arc| arc.2).collect();
    let built =
        Graph::from_arcs(1 << 15, &sources, &targets, Some(&weights), Origin::default()).unwrap();
    assert_eq!(built.offsets(), graph.offsets());
    assert_eq!(built.columns(), graph.columns());
    assert_eq!(built.weights(), graph.weights());
    let turned = built.transpose();
    assert_eq!(turned.offsets(), graph.offsets());
    assert_eq!(turned.columns(), graph.columns());
    assert_eq!(turned.weights(), graph.weights());
    assert!(built.is_symmetric());
}

#[test]
fn arcs_are_counted_past_32_bits() {
    use crate::collective::{ChunkPolicy, Split};
    // Rows without columns: the counters need no more.
    let row = (1u64 << 32) / 5;
    let offsets: Vec<u64> = (0..=100).map(|v| v * row).collect();
    let rows = Rows { offsets: offsets.clone().into(), columns: vec![].into(), weights: None };
    let graph = Graph::of_rows(rows, Some(true), Origin::default());
    assert!(offsets[100] > 19 << 32);
    assert_eq!((graph.degree(99), graph.max_degree()), (row, row));
    let blocks = graph.row_blocks();
    assert_eq!(blocks.iter().map(|b| b.len()).sum::<usize>(), 100);
    assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
    let split = Split::of(&offsets, 5, 1, ChunkPolicy::Arcs);
    let arcs: Vec<u64> = (0..5)
        .map(|rank| {
            let chunk = split.range(rank);
            offsets[chunk.end as usize] - offsets[chunk.start as usize]
        })
        .collect();
    assert_eq!(arcs.iter().sum::<u64>(), 100 * row);
    assert!(arcs.iter().all(|arcs| arcs.abs_diff(20 * row) <= row), "{arcs:?}");
    // What a plan and an estimate reckon with.
    let size = crate::generate::size("rmat:31").unwrap();
    assert_eq!(size.arcs, 1 << 36);
    let shape = crate::layout::memory::GraphShape::at_most(1 << 31, 1 << 36, true, None);
    let bytes: u64 = crate::layout::memory::total(&crate::algorithm::sssp::arrays(&shape, 4));
    assert!(bytes > 1 << 36, "{bytes}");
}

#[test]
fn a_graph_lies_in_arrays_of_others() {
    let graph = |columns: [u32; 3], weights: &[f32]| {
        let columns = Arc::new(columns.to_vec());
        let at = columns.as_ptr();
        let weights = Arc::new(weights.to_vec());
        let offsets = Arc::new(vec![0u64, 2, 3, 3]);
        (Graph::from_shared_csr(offsets, columns, Some(weights), Origin::default()), at)
    };
    let (whole, at) = graph([1, 2, 0], &[3.0, -0.0, 1.0]);
    let whole = whole.unwrap();
    assert_eq!(whole.columns().as_ptr(), at, "nothing was copied");
    assert_eq!(whole.weights().unwrap(), [3.0, 0.0, 1.0]);
    assert!(whole.weights().unwrap()[1].is_sign_positive());
    let (sorted, _) = graph([2, 1, 0], &[3.0, 5.0, 1.0]);
    let sorted = sorted.unwrap();
    assert_eq!(
        (sorted.columns(), sorted.weights().unwrap()),
        (&[1, 2, 0][..], &[5.0, 3.0, 1.0][..])
    );
    for (columns, weights, told) in [
        ([1, 2, 0], vec![1.0, f32::NAN, 1.0], "arc 1 has weight NaN"),
        ([1, 2, 0], vec![1.0, 1.0, -1.0], "arc 2 has weight -1"),
        ([1, 2, 0], vec![1.0], "3 arcs and 1 weights"),
        ([1, 3, 0], vec![1.0; 3], "arc 1 has column 3"),
    ] {
        let error = graph(columns, &weights).0.unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn weights_may_come_later() {
    let draw = |i: u64| crate::hash::hash(7, i);
    let (nodes, many) = (50u64, 400);
    let mut pairs: Vec<(u64, u64)> =
        (0..many).map(|i| (draw(2 * i) % nodes, draw(2 * i + 1) % nodes)).collect();
    pairs.sort_unstable();
    for parallel in [true, false] {
        if !parallel {
            pairs.dedup();
        }
        let ends: Vec<u32> = pairs.iter().map(|(_, v)| *v as u32).collect();
        let row = |u: u64| pairs.partition_point(|(at, _)| *at < u) as u64;
        let offsets = Arc::new((0..=nodes).map(row).collect::<Vec<u64>>());
        let weigh = |i: u64| {
            Arc::new(
                (0..pairs.len() as u64)
                    .map(|e| draw(i + e) % 9)
                    .map(|w| w as f32)
                    .collect::<Vec<f32>>(),
            )
        };
        let bare = Graph::from_shared_csr(
            offsets.clone(),
            Arc::new(ends.clone()),
            None,
            Origin::default(),
        )
        .unwrap();
        assert_eq!(bare.origin.duplicates > 0, parallel);
        for i in [1000, 2000] {
            let whole = Graph::from_shared_csr(
                offsets.clone(),
                Arc::new(ends.clone()),
                Some(weigh(i)),
                Origin::default(),
            )
            .unwrap();
            let later = bare.with_shared_weights(weigh(i)).unwrap();
            assert_eq!(arcs(&later), arcs(&whole));
            assert_eq!(later.fingerprint(), whole.fingerprint());
            let oddities = |graph: &Graph| (graph.origin.self_loops, graph.origin.duplicates);
            assert_eq!(oddities(&later), oddities(&whole));
            assert_eq!(later.is_symmetric(), whole.is_symmetric());
        }
        let wrong = |weights: Vec<f32>| {
            bare.with_shared_weights(Arc::new(weights)).unwrap_err().to_string()
        };
        assert!(wrong(vec![1.0]).contains("and 1 weights"));
        assert!(wrong(vec![f32::NAN; pairs.len()]).contains("arc 0 has weight NaN"));
    }
}

#[test]
fn what_is_known_of_reverses_is_known_with_weights() {
    let (offsets, columns) = (Arc::new(vec![0u64, 1, 2]), Arc::new(vec![1u32, 0]));
    let bare = Graph::from_shared_csr(offsets, columns, None, Origin::default()).unwrap();
    assert_eq!((bare.known_symmetric(), bare.known_undirected()), (None, None));
    assert!(bare.is_symmetric());
    let uneven = bare.with_shared_weights(Arc::new(vec![1.0f32, 2.0])).unwrap();
    assert_eq!((uneven.known_symmetric(), uneven.known_undirected()), (None, Some(true)));
    assert!(!uneven.is_symmetric() && uneven.is_undirected());
    let even = bare.with_shared_weights(Arc::new(vec![2.0f32, 2.0])).unwrap();
    assert!(even.is_symmetric() && even.known_undirected() == Some(true));
}

#[test]
fn a_column_too_large_is_named_wherever_it_is() {
    // Rows that rise, one that does not, and one whose last column is not its largest.
    for (columns, told) in [([0, 1, 9], "arc 2 has column 9"), ([9, 1, 2], "arc 0 has column 9")] {
        let message = refusal(&[0, 3, 3, 3], &columns, None);
        assert!(message.contains(told), "{message}");
    }
    let message = refusal(&[0, 1, 3, 3], &[7, 0, 1], None);
    assert!(message.contains("arc 0 has column 7"), "{message}");
}

#[test]
fn rows_are_looked_at_as_one_by_one() {
    let draw = |i: u64| crate::hash::hash(11, i);
    for seed in 0..40 {
        let nodes = [1, 3, 300, 2000][seed as usize % 4];
        let mut columns = Vec::new();
        let mut offsets = vec![0u64];
        for u in 0..nodes {
            let at = |k: u64| (draw(seed << 40 | u << 16 | k) % nodes) as u32;
            // One row in a while is longer than a piece.
            let length = if at(1) % 97 == 5 { 40_000 } else { u64::from(at(2)) % 9 };
            let mut row: Vec<u32> = (0..length).map(|k| at(10 + k)).collect();
            match (at(3) % 50, seed % 3) {
                (0, 1 | 2) => {}
                (1, 2) => row.sort_unstable(),
                _ => {
                    row.sort_unstable();
                    row.dedup();
                }
            }
            columns.extend(row);
            offsets.push(columns.len() as u64);
        }
        let weights = (seed % 2 == 0).then(|| {
            let drawn = (0..columns.len() as u64).map(|e| (draw(e) % 3) as f32);
            Array::from(drawn.collect::<Vec<f32>>())
        });
        let rows = Rows { offsets: offsets.into(), columns: columns.into(), weights };
        let graph = Graph::of_rows(rows, None, Origin::default());
        let (mut sorted, mut loops, mut parallel) = (true, 0, 0);
        for u in 0..graph.nodes() {
            let row: Vec<(u32, f32)> = graph.neighbors(u).collect();
            sorted &= row.is_sorted();
            loops += row.iter().filter(|(v, _)| *v as usize == u).count() as u64;
            parallel += row.windows(2).filter(|pair| pair[0].0 == pair[1].0).count() as u64;
        }
        let found = check::rows(&graph);
        assert_eq!((found.sorted, found.self_loops), (sorted, loops), "{seed}");
        assert!(!sorted || found.duplicates == parallel, "{seed}");
        assert!(
            !sorted || Some(&found.last) == graph.columns().iter().max().or(Some(&0)),
            "{seed}"
        );
    }
}
