use super::*;
use crate::graph::Origin;
use std::collections::BTreeSet;
use std::io::Write;

fn nodes(n: usize, id_base: u32) -> Graph {
    let origin = Origin { id_base, ..Origin::default() };
    Graph::from_csr(vec![0; n + 1], vec![], None, origin).expect("isolated nodes")
}

fn resolve(text: &str, graph: &Graph) -> Result<Vec<u32>> {
    text.parse::<Seeds>()?.resolve(graph)
}

fn complaint(text: &str, graph: &Graph) -> String {
    let error = resolve(text, graph).expect_err("a complaint");
    assert_eq!(error.exit_code(), 2);
    assert!(!error.to_string().contains('\n'), "{error}");
    error.to_string()
}

fn seed_file(text: &[u8]) -> (tempfile::NamedTempFile, String) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("written");
    let spec = format!("file:{}", file.path().display());
    (file, spec)
}

#[test]
fn lists_name_the_ids_of_the_input_and_come_out_sorted() {
    assert_eq!(resolve("17, 0,5", &nodes(18, 0)).expect("seeds"), [0, 5, 17]);
    assert_eq!(resolve("18,1,6", &nodes(18, 1)).expect("seeds"), [0, 5, 17]);
}

#[test]
fn first_takes_the_lowest_nodes_whatever_their_ids() {
    assert_eq!(resolve("first:3", &nodes(9, 1)).expect("seeds"), [0, 1, 2]);
    assert_eq!(resolve("first:9", &nodes(9, 0)).expect("seeds").len(), 9);
}

#[test]
fn random_seeds_are_distinct_reproducible_and_nested() {
    let graph = nodes(5000, 0);
    let small = resolve("random:100:7", &graph).expect("seeds");
    assert_eq!(small, resolve("random:100:7", &graph).expect("seeds"));
    assert_ne!(small, resolve("random:100:8", &graph).expect("seeds"));
    assert!(small.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(small.len(), 100);
    let large: BTreeSet<u32> =
        resolve("random:2500:7", &graph).expect("seeds").into_iter().collect();
    assert!(small.iter().all(|v| large.contains(v)));
    let low = large.iter().filter(|&&v| v < 2500).count();
    assert!((1150..1350).contains(&low), "half of them in each half: {low}");
    let all = resolve("random:5000:7", &graph).expect("seeds");
    assert_eq!(all, (0..5000).collect::<Vec<u32>>());
}

/// The four numbers come from a plain shuffle of a whole array, written in Python.
#[test]
fn random_seeds_stay_what_they_were_when_this_test_was_written() {
    assert_eq!(resolve("random:4:1", &nodes(1000, 0)).expect("seeds"), [33, 361, 862, 870]);
}

#[test]
fn files_may_hold_blank_lines_comments_and_carriage_returns() {
    let (_file, spec) = seed_file(b"# seeds\r\n\r\n 7\r\n3\n\n#9\n1");
    assert_eq!(resolve(&spec, &nodes(8, 1)).expect("seeds"), [0, 2, 6]);
}

#[test]
fn complaints_about_lists_name_the_value_and_the_remedy() {
    let (zero, one) = (nodes(10, 0), nodes(10, 1));
    assert_eq!(complaint("1,x", &zero), "seeds: the graph has no node x; its nodes are 0 to 9");
    assert_eq!(complaint("", &zero), format!("seeds ``: no node is given; {FORMS}"));
    assert!(complaint("1,,2", &zero).contains("an id is missing between commas"));
    for id in ["-1", "+1", "1.5", "99999999999999999999"] {
        assert!(complaint(id, &zero).contains(&format!("no node {id}; its nodes are 0 to 9")));
    }
    assert_eq!(complaint("3,10", &zero), "seeds: the graph has no node 10; its nodes are 0 to 9");
    assert!(complaint("0", &one).contains("no node 0; its nodes are 1 to 10"));
    assert!(complaint("4294967296", &zero).contains("no node 4294967296"));
    assert_eq!(
        complaint("3,4,3", &zero),
        "seeds: node 3 is listed twice, first at position 1; list it once"
    );
    let empty = Seeds::List(vec![]).resolve(&zero).expect_err("no seed");
    assert!(empty.to_string().contains("no node is given"));
}

#[test]
fn complaints_about_counts_and_kinds_say_what_to_write() {
    let graph = nodes(10, 0);
    assert_eq!(
        complaint("first:11", &graph),
        "seeds `first:11`: the graph has only 10 nodes; ask for 1 to 10"
    );
    assert_eq!(
        complaint("random:0:1", &graph),
        "seeds `random:0:1`: no node is asked for; ask for 1 to 10"
    );
    assert!(complaint("first:x", &graph).contains("`x` is not a number"));
    assert!(complaint("random:5", &graph).contains("write random:N:SEED"));
    assert!(complaint("file:", &graph).contains("write file:PATH"));
    assert!(complaint("last:5", &graph).contains("`last` is unknown"));
}

#[test]
fn complaints_about_files_name_file_and_line() {
    let graph = nodes(10, 1);
    let (file, spec) = seed_file(b"1\n# two\ntwo\n");
    let expected = format!(
        "{}:3: `two` is not a node id; write one whole number a line",
        file.path().display()
    );
    assert_eq!(complaint(&spec, &graph), expected);
    let (_file, spec) = seed_file(b"1\n11\n");
    assert!(
        complaint(&spec, &graph).ends_with(":2: the graph has no node 11; its nodes are 1 to 10")
    );
    let (_file, spec) = seed_file(b"1\n2\n\n1\n");
    assert!(
        complaint(&spec, &graph)
            .ends_with(":4: node 1 is listed twice, first on line 1; list it once")
    );
    let (_file, spec) = seed_file(b"# none\n");
    assert!(complaint(&spec, &graph).contains("it names no node"));
    let (_file, spec) = seed_file(b"\xff\xfe\x00 binary");
    assert!(complaint(&spec, &graph).contains(":1: `"));
    assert!(complaint("file:/no/such/file", &graph).contains("/no/such/file"));
}

#[test]
fn seeds_print_and_serialise_as_the_text_they_were_parsed_from() {
    for text in ["0,5,17", "3", "first:100", "random:5:42", "file:/tmp/a:b.txt"] {
        let seeds: Seeds = text.parse().expect(text);
        assert_eq!(seeds.to_string(), text);
        let json = serde_json::to_string(&seeds).expect("json");
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Seeds>(&json).expect("json"), seeds);
    }
    let error = serde_json::from_str::<Seeds>("\"last:5\"").expect_err("unknown");
    assert!(error.to_string().contains("`last` is unknown"));
}

#[test]
fn random_sources_have_out_arcs_and_all_are_all() {
    let graph = crate::generate::generate("rmat:10").unwrap();
    let sources: Seeds = "random:64:3".parse().unwrap();
    let drawn = sources.resolve_sources(&graph).unwrap();
    assert_eq!(drawn.len(), 64);
    assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(drawn.iter().all(|v| graph.degree(*v as usize) > 0));
    let connected: Seeds = "connected:64:3".parse().unwrap();
    assert_eq!(connected.to_string(), "connected:64:3");
    assert_eq!(connected.resolve(&graph).unwrap(), drawn);
    let all: Seeds = "all".parse().unwrap();
    assert_eq!(all.to_string(), "all");
    assert_eq!(all.resolve(&graph).unwrap().len(), graph.nodes());
    let many = Seeds::Random { count: graph.nodes() as u64, seed: 3 };
    let refusal = many.resolve_sources(&graph).unwrap_err().to_string();
    assert!(refusal.contains("have out-arcs to others; ask for 1 to"), "{refusal}");
}

#[test]
fn random_sources_lead_somewhere() {
    let arcs = [(0, 0), (1, 1), (2, 3), (4, 4)];
    let (from, to): (Vec<u32>, Vec<u32>) = arcs.into_iter().unzip();
    let graph = Graph::from_arcs(5, &from, &to, None, Default::default()).unwrap();
    let seeds: Seeds = "random:1:9".parse().unwrap();
    assert_eq!(seeds.resolve_sources(&graph).unwrap(), [2]);
    let loops = Graph::from_arcs(2, &[0], &[0], None, Default::default()).unwrap();
    let refusal = seeds.resolve_sources(&loops).unwrap_err().to_string();
    assert!(refusal.contains("no node has an arc to another"), "{refusal}");
}
