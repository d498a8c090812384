//! Edge lists as users have them: columns by name, separators, quotes, names as ids, a first line that may hold
//! counts. What cannot be read without a guess is refused.

use crate::common;

use crate::common::{csv_of, ends_within, hive, outcome, own};
use hivegraph::algorithm::{MergeMode, Seeds};
use hivegraph::fleet::{Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::io::{self, Cache, CountsLine, Ids, LoadOptions};
use hivegraph::run::{RunConfig, Verify};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn off() -> LoadOptions {
    LoadOptions { cache: Cache::Off, ..LoadOptions::default() }
}

fn columns(text: &str) -> LoadOptions {
    LoadOptions { columns: Some(text.parse().unwrap()), ..off() }
}

fn ids(ids: Ids) -> LoadOptions {
    LoadOptions { ids, ..off() }
}

fn counts_line(counts_line: CountsLine) -> LoadOptions {
    LoadOptions { counts_line, ..off() }
}

/// Loads `content` from a file called `name`; errors come back without the directory.
fn load_as(name: &str, content: &[u8], options: &LoadOptions) -> Result<Graph, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let prefix = format!("{}/", folder.path().display());
    io::load_with(path.to_str().unwrap(), options).map_err(|error| {
        assert_eq!(error.exit_code(), 2);
        let message = error.to_string();
        assert!(!message.contains('\n') && message.contains(';'), "{message}");
        message.strip_prefix(&prefix).expect("the message starts with the path").to_string()
    })
}

fn load(content: &str, options: &LoadOptions) -> Graph {
    load_as("g.csv", content.as_bytes(), options).unwrap_or_else(|e| panic!("{content}: {e}"))
}

/// The arcs as the input calls them.
fn arcs(graph: &Graph) -> Vec<String> {
    let rows = (0..graph.nodes()).flat_map(|u| {
        graph.neighbors(u).map(move |(v, w)| format!("{} {} {w}", graph.id(u as u32), graph.id(v)))
    });
    rows.collect()
}

#[track_caller]
fn refused(content: &str, options: &LoadOptions, parts: &[&str]) {
    match load_as("g.csv", content.as_bytes(), options) {
        Ok(graph) => panic!("{content}: loads as {:?}", arcs(&graph)),
        Err(message) => {
            parts.iter().for_each(|part| assert!(message.contains(part), "`{part}`: {message}"))
        }
    }
}

#[test]
fn column_names_decide_in_any_order_and_the_rest_is_passed_over() {
    let plain = ["1 7 5", "2 9 7", "3 9 9"];
    for text in [
        "src,dst,weight\n1,7,5\n2,9,7\n3,9,9\n",
        "weight,src,dst\n5,1,7\n7,2,9\n9,3,9\n",
        ",src,dst,weight\n0,1,7,5\n1,2,9,7\n2,3,9,9\n",
        "dst,src,weight\n7,1,5\n9,2,7\n9,3,9\n",
        "\"Target\";\"Source\";\"Note\";\"Cost\"\n7;1;a;5\n\n9;2;\"b;c\";7\n9;3;;9\n",
        "timestamp|W|V|U\n1600000000|5|7|1\n1600000000|7|9|2\n1600000000|9|9|3\n",
        "to\tfrom\tdistance\r\n7\t1\t5\r\n9\t2\t7\r\n9\t3\t9\r\n",
        "\u{feff}FROM , TO , Length\n1, 7, 5\n2, 9, 7\n3, 9, 9\n",
        "# c\nu v w\n1 7 5\n# c\n2 9 7\n3 9 9\n",
        "\"src\",\"dst\",\"weight\"\n\"1\",\"7\",\"5\"\n\"2\",\"9\",\"7\"\n\"3\",\"9\",\"9\"\n",
    ] {
        assert_eq!(arcs(&load(text, &off())), plain, "{text}");
    }
    for text in ["src,dst,timestamp\n1,7,1600000000\n2,9,1600000001\n", "dst,src\n7,1\n9,2\n"] {
        let graph = load(text, &off());
        assert_eq!(arcs(&graph), ["1 7 1", "2 9 1"], "{text}");
        assert!(graph.weights().is_none());
    }
    let unit = LoadOptions { weights: io::Weights::Unit, ..off() };
    assert_eq!(arcs(&load("src,dst,cost,length\n1,7,-5,x\n", &unit)), ["1 7 1"]);
}

#[test]
fn a_header_without_source_or_target_is_refused_naming_columns() {
    let asked = &["g.csv:1:", "--columns src=NAME|N,dst=NAME|N[,weight=NAME|N]"];
    for text in [
        "a,b\n1,2\n",
        "id,score,flag\n1,2,3\n",
        "src,neighbour\n1,2\n",
        "person,weight,friend\n1,2,3\n",
        "a,b,c,d\n1,2,3,4\n",
        "1,2,3,4\n",
        "1 2 3 4 5\n2 3 4 5 6\n",
        "source,from,target\n1,2,3\n",
        "src,dst,cost,length\n1,2,3,4\n",
        "x,y,z\nalice,bob,3\n",
    ] {
        refused(text, &off(), asked);
    }
    refused("# c\na b\n1 2\n", &off(), &["g.csv:2:", "--columns"]);
}

#[test]
fn columns_are_chosen_by_name_or_by_number_and_a_line_without_them_is_named() {
    let text = "when;who;whom;much\n1;5;6;0.5\n2;6;7;1.5\n";
    for choice in
        ["src=who,dst=whom,weight=much", "src=2,dst=3,weight=4", "weight=MUCH,dst=3,src=Who"]
    {
        assert_eq!(arcs(&load(text, &columns(choice))), ["5 6 0.5", "6 7 1.5"], "{choice}");
    }
    assert_eq!(arcs(&load(text, &columns("src=whom,dst=who"))), ["6 5 1", "7 6 1"]);
    assert_eq!(arcs(&load("5 6 7 8\n6 7 8 9\n", &columns("src=4,dst=1"))), ["8 5 1", "9 6 1"]);
    refused(
        text,
        &columns("src=who,dst=friend"),
        &["g.csv:1:", "no column is called friend", "when;who"],
    );
    refused("1,2\n3,4\n", &columns("src=a,dst=b"), &["g.csv:1:", "no column is called a"]);
    refused("a,A,b,a\n1,2,3,4\n", &columns("src=a,dst=b"), &["g.csv:1:", "several columns"]);
    refused("1,2,3\n3,4,5\n6,7\n", &columns("src=1,dst=3"), &["g.csv:3:", "no column 3 (6,7)"]);
    refused("src,dst,weight\n1,2,3\n3,4\n", &off(), &["g.csv:3:", "(3,4)"]);
    refused("src,x,dst\n1,2,3\n3,4\n", &off(), &["g.csv:3:", "no column 3 (3,4)"]);
    refused("src,dst\n1,2,3\n", &off(), &["g.csv:2:", "3 columns where the first line names 2"]);
    for (bad, part) in [
        ("src=1", "both needed"),
        ("src=1,dst=1", "the same column"),
        ("src=0,dst=1", "no column 0"),
        ("src=1,dst=2,time=3", "only src, dst and weight"),
        ("1,2", "not understood"),
        ("src=,dst=2", "no name"),
    ] {
        let message = bad.parse::<io::Columns>().unwrap_err().to_string();
        assert!(message.starts_with("--columns ") && message.contains(part), "{message}");
    }
}

#[test]
fn quotes_and_missing_values_are_read_or_refused_at_their_line() {
    let text = "src,dst\n\"a, b\",\"c \"\"d\"\"\"\n\"c \"\"d\"\"\",\" e\"\n e ,\"a, b\"\n";
    let graph = load(text, &off());
    assert_eq!(arcs(&graph), ["a, b c \"d\" 1", "c \"d\"  e 1", "e a, b 1"]);
    assert_eq!((graph.nodes(), graph.id(0).to_string().as_str()), (4, " e"));
    refused("src,dst\n\"a,b\nc,d\n", &off(), &["g.csv:2:", "does not end on its line"]);
    refused("src,dst\na,\"b\"c\n", &off(), &["g.csv:2:", "behind a closing quote"]);
    refused("src,dst\na,b\nc,\n", &off(), &["g.csv:3:", "no target (c,)"]);
    refused("src,dst\na,b\n,c\n", &off(), &["g.csv:3:", "no source"]);
    refused("src,dst\n1,2\n3,\"\"\n", &off(), &["g.csv:3:", "no target"]);
    refused("1,,2\n3,,4\n", &off(), &["g.csv:2:", "no target"]);
    refused("1,2\n3,,4\n", &off(), &["g.csv:2:", "no target"]);
    refused(",1,2\n,3,4\n", &off(), &["g.csv:2:", "no source"]);
    refused("src,dst,weight\n1,2,\n", &off(), &["g.csv:2:", "not a weight ()"]);
    refused("a;b;0,5\nb;c;1,5\n", &off(), &["g.csv:1:", "not a weight (0,5)"]);
    refused("src,dst\na,b\tc\n", &off(), &["g.csv:2:", "control character"]);
    refused("src,dst\na,b\n#c,d\n", &off(), &["g.csv:3:", "put the name in quotes"]);
    let marked = load("src,dst\na,b\n# c,d\n\"#c\",d\n", &off());
    assert_eq!(arcs(&marked), ["#c d 1", "a b 1"]);
    let message = load_as("g.csv", b"src,dst\na,b\na,\xff\n", &off()).unwrap_err();
    assert!(message.starts_with("g.csv:3: a name that is not UTF-8 (\\xff)"), "{message}");
}

#[test]
fn separators_are_found_or_given() {
    for text in ["1;2\n2;3\n", "1|2\n2|3\n", "1\t2\n2\t3\n", "1, 2\n2 ,3\n", " 1  2\n2 3\n"] {
        assert_eq!(arcs(&load(text, &off())), ["1 2 1", "2 3 1"], "{text}");
    }
    let with = |delimiter: &str| LoadOptions { delimiter: delimiter.parse().unwrap(), ..off() };
    for (delimiter, text) in [
        ("semicolon", "a;b\n"),
        (";", "a;b\n"),
        (":", "a:b\n"),
        ("space", "a \t b\n"),
        ("tab", "a\tb\n"),
    ] {
        assert_eq!(arcs(&load(text, &with(delimiter))), ["a b 1"], "{delimiter}");
    }
    assert_eq!(arcs(&load("a b,c\nc,d e\n", &with("comma"))), ["a b c 1", "c d e 1"]);
    assert_eq!(arcs(&load("1,2;3,4\n", &with(";"))), ["1,2 3,4 1"]);
    refused("1,2\n", &with("tab"), &["g.csv:1:", "garbage line (1,2)"]);
    assert!("ab".parse::<io::Delimiter>().is_err() && "\"".parse::<io::Delimiter>().is_err());
}

#[test]
fn ids_that_are_no_whole_numbers_are_names_in_byte_order() {
    let graph = load("carol bob\nalice 10\n10 9\nbob alice\n", &off());
    let names: Vec<String> = (0..5).map(|v| graph.id(v).to_string()).collect();
    assert_eq!(names, ["10", "9", "alice", "bob", "carol"]);
    assert!(graph.has_text_ids());
    assert_eq!(arcs(&graph), ["10 9 1", "alice 10 1", "bob alice 1", "carol bob 1"]);
    assert_eq!((graph.node_of_text("bob"), graph.node_of_text("dave")), (Some(3), None));
    assert_eq!(arcs(&load("1.0 2\n2 3.0\n", &off())), ["1.0 2 1", "2 3.0 1"]);
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let text = format!("{uuid},2.5e3\n2.5e3,z\u{fc}\n");
    assert_eq!(load(&text, &off()).node_of_text(uuid), Some(1));
    assert_eq!(arcs(&load("1 2\n2 10\n", &ids(Ids::Text))), ["1 2 1", "2 10 1"]);
    assert_eq!(load("1 2\n2 10\n", &ids(Ids::Text)).id(1).to_string(), "10");
    // A name far down makes names of all that come before it.
    let late =
        format!("{}x 5\n", (0..50_000).map(|i| format!("{} {i}\n", i + 1)).collect::<String>());
    let graph = load(&late, &off());
    assert_eq!((graph.nodes(), graph.arcs(), graph.has_text_ids()), (50_002, 50_001, true));
    refused("a b\nb c\n", &ids(Ids::Integer), &["g.csv:1:", "not a node id (a)"]);
    refused("src,dst\n1,2\n2,x\n", &ids(Ids::Integer), &["g.csv:3:", "not a node id (x)"]);
    refused("a b\n-1 b\n", &off(), &["g.csv:2:", "(-1)"]);
    assert_eq!(arcs(&load("a b\n-1 b\n", &ids(Ids::Text))), ["-1 b 1", "a b 1"]);
}

#[test]
fn names_do_not_depend_on_the_order_of_lines() {
    let lines = |order: &[usize]| {
        let lines = ["b\ta\t1", "c\tb\t2", "a\tc\t3", "\u{e9}\ta\t4", "Z\tb\t5"];
        load(&order.iter().map(|i| format!("{}\n", lines[*i])).collect::<String>(), &off())
    };
    let (one, other) = (lines(&[0, 1, 2, 3, 4]), lines(&[4, 2, 0, 3, 1]));
    assert_eq!((one.columns(), one.weights()), (other.columns(), other.weights()));
    assert_eq!(arcs(&one), arcs(&other));
}

#[test]
fn a_first_line_that_may_be_names_of_columns_or_of_nodes_is_refused() {
    let text = "person,friend\nalice,bob\nbob,carol\n";
    refused(
        text,
        &off(),
        &["g.csv:1:", "--columns src=person,dst=friend", "--columns src=1,dst=2"],
    );
    assert_eq!(
        arcs(&load(text, &columns("src=person,dst=friend"))),
        ["alice bob 1", "bob carol 1"]
    );
    assert_eq!(load(text, &columns("src=1,dst=2")).arcs(), 3);
    refused("u,v\nv,w\n", &off(), &["g.csv:1:", "--columns"]);
    assert_eq!(load("u,v\nv,w\n", &columns("src=1,dst=2")).arcs(), 2);
    assert_eq!(load("u,v\nx,y\n", &off()).arcs(), 1);
    assert_eq!(load("alice,bob\nbob,carol\n", &off()).arcs(), 2);
    assert_eq!(load("alice,bob\n", &off()).arcs(), 1);
}

#[test]
fn a_first_line_is_taken_for_counts_only_where_it_cannot_well_be_an_arc() {
    let sizes = |text: &str, options: &LoadOptions| {
        let graph = load(text, options);
        (graph.nodes(), graph.arcs(), graph.origin.counts_line)
    };
    let four = "4,3\n0,1\n1,2\n2,3\n";
    refused(four, &off(), &["g.csv:1:", "(4,3)", "--counts-line yes or --counts-line no"]);
    assert_eq!(sizes(four, &counts_line(CountsLine::Yes)), (4, 3, true));
    assert_eq!(sizes(four, &counts_line(CountsLine::No)), (5, 4, false));
    assert_eq!(sizes("4 5\n0 1\n1 2\n2 3\n3 0\n0 2\n", &off()), (4, 5, true), "no id is 5");
    assert_eq!(sizes("4 3\n0 1 9\n1 2 9\n2 3 9\n", &off()), (4, 3, true), "fewer columns");
    assert_eq!(sizes("4;3\n0;1;9\n1;2;9\n2;3;9\n", &off()), (4, 3, true));
    assert_eq!(sizes("4 3\n0 1\n1 2\n", &off()), (5, 3, false), "it does not fit");
    assert_eq!(sizes("src,dst\n4,3\n0,1\n1,2\n2,3\n", &off()), (5, 4, false));
    refused("5 0\n", &off(), &["--counts-line"]);
    // Ids from 1 to n fit as well.
    let from_1 = "4 5\n1 2\n2 3\n3 4\n4 1\n1 3\n";
    assert_eq!(sizes(from_1, &off()), (4, 5, true));
    assert_eq!(arcs(&load(from_1, &off()))[0], "1 2 1");
    for text in ["3 3\n1 2\n2 3\n3 1\n", "6 5\n1 2\n2 3\n3 4\n4 5\n5 6\n"] {
        refused(text, &off(), &["g.csv:1:", "--counts-line yes or --counts-line no"]);
        let graph = load(text, &counts_line(CountsLine::Yes));
        assert_eq!(arcs(&graph)[..2], ["1 2 1", "2 3 1"]);
        assert_eq!(graph.nodes(), if text.starts_with('3') { 3 } else { 6 });
    }
    assert_eq!(sizes("3 2\n1 2 9\n2 3 9\n", &off()), (3, 2, true));
    refused("4 5\n0 2\n2 3\n3 4\n4 1\n1 3\n", &off(), &["(4)", "--counts-line no"]);
    // Whole numbers as names are counted alike.
    refused("4 3\n0 1\n1 2\n2 3\n", &ids(Ids::Text), &["g.csv:1:", "--counts-line yes"]);
    refused("3 3\n1 2\n2 3\n3 1\n", &ids(Ids::Text), &["g.csv:1:", "--counts-line yes"]);
    assert_eq!(sizes(from_1, &ids(Ids::Text)), (4, 5, true));
    assert_eq!(sizes("4 3\n0 1\n1 2\n", &ids(Ids::Text)), (5, 3, false));
    refused("1 2 3\n", &counts_line(CountsLine::Yes), &["g.csv:1:", "no pair of counts"]);
    refused(four, &LoadOptions { nodes: Some(3), ..counts_line(CountsLine::Yes) }, &["--nodes 3"]);
    let long: String = (0..20).map(|i| format!("{i} {}\n", i + 1)).collect();
    refused(&format!("40 90\n{long}"), &off(), &["90 arcs promised, 20 found", "--counts-line no"]);
    refused("3 2\na b\nb c\n", &off(), &["g.csv:1:", "--counts-line"]);
    assert_eq!(sizes("3 2\na b\nb c\n", &counts_line(CountsLine::Yes)), (3, 2, true));
    assert_eq!(sizes("3 2\na b\nb c\n", &counts_line(CountsLine::No)), (5, 3, false));
    refused(
        "4 2\na b\nb c\n",
        &counts_line(CountsLine::Yes),
        &["4 nodes are promised, 3 have names"],
    );
}

#[test]
fn one_whole_number_written_in_two_ways_is_refused() {
    refused("1 2\n2 1.0\n", &off(), &["g.csv:2:", "1.0 and 1 ", "--ids text"]);
    refused("src,dst\n1.00,2\nx,1\n", &off(), &["g.csv:2:", "1.00 and 1 ", "--ids text"]);
    assert_eq!(load("1 2\n2 1.0\n", &ids(Ids::Text)).nodes(), 3);
    assert_eq!(load("1 2\n2 1.5\n", &off()).nodes(), 3);
}

#[test]
fn decimal_commas_between_blanks_are_refused() {
    let text = "1 2 0,5\n2 3 1,5\n";
    refused(text, &off(), &["g.csv:1:", "--delimiter space or --delimiter comma"]);
    let comma = LoadOptions { delimiter: "comma".parse().unwrap(), ..off() };
    assert_eq!(arcs(&load(text, &comma)), ["1 2 0 5 1", "2 3 1 5 1"]);
    assert_eq!(load("New York,Boston\nBoston,Rome\n", &off()).nodes(), 3);
    assert_eq!(load("\"1 2\",a\na,b\n", &off()).nodes(), 3);
}

#[test]
fn names_that_look_like_numbers_survive_edge_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.txt");
    let graph = load("01 1\n1 2\n2 -3\n2 2.0\n//x y\n", &ids(Ids::Text));
    io::write_graph(&graph, &path).unwrap();
    same(&io::load_with(path.to_str().unwrap(), &off()).unwrap(), &graph);
    assert_eq!(load("# c\n# ids text\n01 1\n1 2\n", &off()).nodes(), 3);
    assert_eq!(load("# ids text\n01 1\n1 2\n", &ids(Ids::Integer)).nodes(), 2);
}

#[test]
fn lines_that_begin_with_slashes_are_refused() {
    for text in ["// c\n1 2\n", "1 2\n// c\n", "// a long comment\n1 2\n", "a,b\n//,c\n"] {
        refused(text, &off(), &["begins with //", "# or %", "--ids text"]);
    }
    assert_eq!(load("//a b\nb c\n", &ids(Ids::Text)).nodes(), 3);
    assert_eq!(load("\"//a\",b\nb,c\n", &off()).nodes(), 3);
}

#[test]
fn a_comment_that_names_columns_in_another_order_is_refused() {
    for text in ["#dst,src\n1,2\n", "# c\n#weight,src,dst\n5,1,2\n", "# To\tFrom\n\n1\t2\n"] {
        refused(text, &off(), &["another order", "--columns"]);
    }
    assert_eq!(arcs(&load("#dst,src\n1,2\n", &columns("src=2,dst=1"))), ["2 1 1"]);
    for text in ["# src dst\n1 2\n", "# FromNodeId\tToNodeId\n1 2\n", "#dst,src\nsrc,dst\n1,2\n"] {
        assert_eq!(arcs(&load(text, &off())), ["1 2 1"], "{text}");
    }
    assert_eq!(arcs(&load("# dst src\n# x\n1 2\n", &off())), ["1 2 1"]);
}

#[test]
fn a_header_over_numbers_in_columns_that_are_passed_over_is_no_arc() {
    for text in ["a,b,c,d\nx,y,1,2\n", "a,b,cost\nx,y,z\n"] {
        assert_eq!(arcs(&load(text, &columns("src=1,dst=2"))), ["x y 1"], "{text}");
    }
    let missing = "a,b,,NA\nx,y,1,2\n";
    assert_eq!(load(missing, &columns("src=1,dst=2")).arcs(), 2);
}

#[test]
fn the_comment_with_counts_is_heeded_so_that_isolated_nodes_survive() {
    let graph = load("# nodes 6 arcs 2\n1 0\n4 1\n", &off());
    assert_eq!((graph.nodes(), graph.arcs(), graph.isolated()), (6, 2, 3));
    assert!(!graph.origin.counts_line);
    // With the comment a first line that would fit is an arc.
    assert_eq!(load("# nodes 6 arcs 3\n5 2\n1 0\n4 1\n", &off()).arcs(), 3);
    refused("# nodes 6 arcs 3\n1 0\n4 1\n", &off(), &["g.csv:1:", "3 arcs promised, 2 found"]);
    refused("# nodes 4 arcs 2\n1 0\n4 1\n", &off(), &["g.csv:3:", "id out of range (4)"]);
    assert_eq!(load("# Nodes: 6 Edges: 2\n1 0\n4 1\n", &off()).nodes(), 3, "SNAP's is none");
    assert_eq!(load("# nodes 3 arcs 0\n", &off()).nodes(), 3);
    refused("# nodes 3 arcs 1\n", &off(), &["g.csv:1:", "1 arcs promised, 0 found"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.txt");
    io::write_graph(&graph, &path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "# nodes 6 arcs 2\n1 0\n4 1\n");
    let back = io::load_with(path.to_str().unwrap(), &off()).unwrap();
    assert_eq!((back.nodes(), back.columns()), (6, graph.columns()));
}

#[test]
fn what_only_edge_lists_have_is_refused_for_other_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    for name in ["g.hive", "g.mtx", "g.npz"] {
        io::write_graph(&io::load_with("grid:2x3", &off()).unwrap(), path(name)).unwrap();
    }
    for graph in [path("g.hive"), path("g.mtx"), path("g.npz"), "grid:2x3".into()] {
        for (options, flag) in [
            (columns("src=1,dst=2"), "--columns src=1,dst=2"),
            (ids(Ids::Text), "--ids text"),
            (counts_line(CountsLine::No), "--counts-line no"),
            (
                LoadOptions { delimiter: io::Delimiter::Byte(b';'), ..off() },
                "--delimiter semicolon",
            ),
        ] {
            let message = io::load_with(&graph, &options).unwrap_err().to_string();
            assert!(message.contains(flag) && message.contains("no edge list"), "{message}");
        }
    }
}

fn same(one: &Graph, other: &Graph) {
    assert_eq!((one.offsets(), one.columns()), (other.offsets(), other.columns()));
    assert_eq!((one.weights(), arcs(one)), (other.weights(), arcs(other)));
}

const TOWNS: &str = "src,dst,weight\n\"Paris, TX\",Rome,1.5\nRome,\"the \"\"Hub\"\"\",2\n#1,Rome,3\n\
                     Oslo,Oslo,1\n\"a;b|c\",Rome,4\n";

#[test]
fn names_survive_native_files_the_cache_and_edge_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let towns = TOWNS.replace("#1,", "\"#1\",");
    std::fs::write(path("towns.csv"), &towns).unwrap();
    let relabel = LoadOptions { relabel: io::Relabel::Random(3), ..off() };
    let largest = LoadOptions { largest_component: true, ..off() };
    for (options, nodes) in [(off(), 6), (relabel, 6), (largest, 5)] {
        let graph = io::load_with(&path("towns.csv"), &options).unwrap();
        assert_eq!(graph.nodes(), nodes);
        let hub = graph.node_of_text("the \"Hub\"").unwrap();
        assert_eq!(graph.id(hub).to_string(), "the \"Hub\"");
        assert_eq!(graph.node_of_text("Oslo").is_some(), nodes == 6);
        for name in ["g.hive", "g.txt"] {
            io::write_graph(&graph, path(name)).unwrap();
            let back = io::load_with(&path(name), &off()).unwrap();
            assert!(back.has_text_ids());
            let sorted = |graph: &Graph| {
                let mut all = arcs(graph);
                all.sort();
                all
            };
            assert_eq!(sorted(&back), sorted(&graph), "{name}");
            if name == "g.hive" {
                same(&back, &graph);
                io::check_native(&path(name)).unwrap();
            }
        }
    }
    let native = std::fs::read(path("g.hive")).unwrap();
    assert_eq!(native[8], 2, "a program of before refuses another version");
    io::write_graph(&io::load("grid:2x2").unwrap(), path("plain.hive")).unwrap();
    assert_eq!(std::fs::read(path("plain.hive")).unwrap()[8], 1, "but reads what has no names");
    // Bytes of names that are no UTF-8, or out of order.
    let at = native.windows(4).position(|bytes| bytes == b"Rome").unwrap();
    for byte in [0xff, 0x07, b'~', b'!'] {
        let mut bad = native.clone();
        bad[at] = byte;
        std::fs::write(path("bad.hive"), &bad).unwrap();
        let message = io::load_with(&path("bad.hive"), &off()).unwrap_err().to_string();
        assert!(message.contains("names: "), "{message}");
    }
}

#[test]
fn the_cache_keeps_names() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("towns.csv");
    std::fs::write(&graph, TOWNS.replace("#1,", "\"#1\",")).unwrap();
    let info = || {
        let mut hive = hive();
        hive.env("HIVE_CACHE_DIR", folder.path()).env("HIVE_CACHE_FROM_MS", "0");
        let ended = ends_within(Duration::from_secs(20), hive.args(["info"]).arg(&graph));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended.out
    };
    let (first, second) = (info(), info());
    assert!(!first.contains("from the cache") && second.contains("from the cache"), "{second}");
    for text in [first, second] {
        assert!(text.contains("6 names as ids, #1 to the \"Hub\""), "{text}");
    }
}

/// A folder with the towns in it, to run `hive` in.
struct Towns(tempfile::TempDir);

impl Towns {
    fn new() -> Towns {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("towns.csv"), TOWNS.replace("#1,", "\"#1\",")).unwrap();
        Towns(folder)
    }

    fn with(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn hive(&self, args: &[&str]) -> common::Ended {
        let mut hive = hive();
        ends_within(Duration::from_secs(60), hive.current_dir(self.path()).args(args))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// `hive run` on the towns; what it says and what it records.
    fn run(&self, name: &str, args: &[&str]) -> (String, serde_json::Value) {
        let all =
            ["run", name, "--graph", "towns.csv", "--devices", "host:2", "--runs", "1", "--verify"];
        let ended = self.hive(&[&all[..], &["--json", "r.json"], args].concat());
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.err);
        (ended.out, serde_json::from_str(&self.read("r.json")).unwrap())
    }

    fn refuses(&self, args: &[&str], part: &str) {
        let ended = self.hive(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.out);
        assert!(ended.err.contains(part) && ended.err.lines().count() == 1, "{}", ended.err);
    }
}

#[test]
fn seeds_sources_and_results_speak_names() {
    let towns = Towns::new();
    towns.with("seeds.txt", "# towns\n\"Paris, TX\"\nOslo\n");
    let (text, record) = towns
        .run("vn", &["--seeds", "file:seeds.txt", "--nominee", "--top", "9", "--output", "a.csv"]);
    assert!(text.contains("6 names as ids"), "{text}");
    assert!(text.contains("Rome") && text.contains("the \"Hub\""), "{text}");
    assert_eq!(record["seeds"], serde_json::json!(["Oslo", "Paris, TX"]));
    assert_eq!(record["graph"]["text_ids"], true);
    assert_eq!(record["graph"]["id_range"], serde_json::json!(["#1", "the \"Hub\""]));
    let expected = "node,distance,nominee\n\"#1\",inf,\nOslo,0,Oslo\n\"Paris, TX\",0,\"Paris, TX\"\n\
                    Rome,1.5,\"Paris, TX\"\n\"a;b|c\",inf,\n\"the \"\"Hub\"\"\",3.5,\"Paris, TX\"\n";
    assert_eq!(towns.read("a.csv"), expected);
    let (text, record) = towns.run("sssp", &["--source", "Rome"]);
    assert!(text.contains("from node Rome"), "{text}");
    assert_eq!(record["seeds"], serde_json::json!(["Rome"]));
    assert_eq!(record["config"]["sssp"]["source"], "Rome");
    let (_, record) = towns.run("bfs", &["--sources", "Rome,#1", "--output", "b.csv"]);
    assert_eq!(record["sources"], serde_json::json!(["#1", "Rome"]));
    assert!(towns.read("b.csv").starts_with("node,level_#1,level_Rome\n\"#1\",0,inf\n"));
    let (_, record) = towns.run("cc", &["--output", "c.csv"]);
    assert_eq!(record["sizes"], serde_json::json!([["#1", 5], ["Oslo", 1]]));
    assert!(towns.read("c.csv").contains("\nRome,\"#1\"\n"));
    towns.with("weights.csv", "node,weight\n\"Paris, TX\",1\nOslo,0.5\n");
    towns.run("pagerank", &["--personalize", "weights.csv", "--top", "3"]);
    towns.with("run.toml", "graph = 'towns.csv'\nsource = 'Rome'\n[load]\nids = 'text'\n");
    let ended = towns.hive(&["run", "sssp", "--devices", "host", "--config", "run.toml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let run = ["run", "sssp", "--devices", "host", "--graph", "towns.csv", "--source", "Wien"];
    towns.refuses(&run, "--source: the graph has no node Wien; its nodes are names from #1 to");
    let run = ["run", "vn", "--devices", "host", "--graph", "towns.csv", "--seeds", "Rome,Rome"];
    towns.refuses(&run, "node Rome is listed twice");
    towns.with("bad.csv", "node,weight\nWien,1\n");
    let run = [
        "run",
        "pagerank",
        "--devices",
        "host",
        "--graph",
        "towns.csv",
        "--personalize",
        "bad.csv",
    ];
    towns.refuses(&run, "bad.csv:2: the graph has no node Wien");
}

#[test]
fn places_of_named_nodes_are_a_csv_of_names() {
    let towns = Towns::new();
    towns.with("places.csv", "lat,lon,node\n41.9,12.5,Rome\n,,Oslo\n33.7,-95.6,\"Paris, TX\"\n");
    let (text, _) =
        towns.run("geo", &["--symmetrize", "--labels", "places.csv", "--output", "g.csv"]);
    assert!(text.contains("2 located nodes"), "{text}");
    assert!(towns.read("g.csv").contains("\nRome,41.9"), "{}", towns.read("g.csv"));
    let run = |places: &str, part: &str| {
        towns.with("bad.csv", places);
        let args =
            ["run", "geo", "--devices", "host", "--graph", "towns.csv", "--symmetrize", "--labels"];
        towns.refuses(&[&args[..], &["bad.csv"]].concat(), part);
    };
    run("node,lat,lon\nWien,1,2\n", "bad.csv:2: the graph has no node Wien");
    run("node,lat,lon\nRome,1,2\nRome,1,2\n", "bad.csv:3: node Rome is placed twice");
    run("3 2 2\n1 0 0\n", "bad.csv:1: no header that names columns node, lat and lon");
}

#[test]
fn convert_keeps_names_or_says_that_it_renumbers_and_writes_the_map() {
    let towns = Towns::new();
    let convert = |args: &[&str]| {
        let ended = towns.hive(&[&["convert"], args].concat());
        assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.err);
        ended
    };
    assert_eq!(convert(&["towns.csv", "g.hive"]).err, "");
    assert_eq!(convert(&["g.hive", "g.txt"]).err, "");
    assert!(
        towns
            .read("g.txt")
            .starts_with("# ids text\n# nodes 6 arcs 5\nsrc,dst,weight\n\"#1\",Rome,3\n")
    );
    let said = convert(&["towns.csv", "g.mtx"]).err;
    assert!(
        said.contains("names became numbers from 1 on") && said.contains("--ids-out FILE"),
        "{said}"
    );
    assert_eq!(convert(&["g.hive", "g.mtx", "--ids-out", "ids.csv"]).err, "");
    let map =
        "node,id\n1,\"#1\"\n2,Oslo\n3,\"Paris, TX\"\n4,Rome\n5,\"a;b|c\"\n6,\"the \"\"Hub\"\"\"\n";
    assert_eq!(towns.read("ids.csv"), map);
    towns.with("gaps.txt", "7 900\n900 64\n");
    convert(&["gaps.txt", "g.el", "--ids-out", "ids.csv"]);
    assert_eq!(towns.read("ids.csv"), "node,id\n0,7\n1,64\n2,900\n");
    towns.refuses(&["convert", "gaps.txt", "g.el", "--ids-out", "ids.txt"], "end its name in .csv");
    towns.refuses(
        &["convert", "gaps.txt", "g.hive", "--ids-out", "ids.csv"],
        "keeps the input's ids",
    );
    towns.refuses(&["convert", "gaps.txt", "g.el", "--ids-out", "gaps.txt"], "in .csv");
    let said = convert(&["towns.csv", "g.txt", "--self-loops", "drop"]).err;
    assert!(said.contains("1 node without arcs cannot be named in an edge list"), "{said}");
}

#[test]
fn info_and_summary_say_what_the_first_line_was_taken_for() {
    let towns = Towns::new();
    towns.with("counted.txt", "4 5\n0 1\n1 2\n2 3\n3 0\n0 2\n");
    let said = "counted.txt (edge-list, first line taken for counts";
    let info = towns.hive(&["info", "counted.txt"]).out;
    assert!(info.contains(said), "{info}");
    let run =
        towns.hive(&["run", "cc", "--devices", "host", "--graph", "counted.txt", "--symmetrize"]);
    assert!(run.out.contains(said), "{}", run.out);
    assert!(!towns.hive(&["info", "towns.csv"]).out.contains("taken for counts"));
    let asked = towns.hive(&["info", "counted.txt", "--counts-line", "no", "--ids", "text"]).out;
    assert!(
        asked.contains("--ids text --counts-line no") && asked.contains("names as ids"),
        "{asked}"
    );
}

/// A generator of numbers that are all that a test's graph depends on.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        (1..all.len()).rev().for_each(|i| all.swap(i, self.below(i + 1)));
    }
}

/// As a value of a CSV.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\"\""))
}

#[test]
fn three_hundred_graphs_give_the_same_answers_with_names_in_shuffled_columns_as_with_numbers() {
    let fleet =
        Fleet::open(FleetConfig { devices: "host:2".parse().unwrap(), ..FleetConfig::default() });
    let fleet = fleet.unwrap();
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..300 {
        let mut random = Random(seed);
        let nodes = 2 + random.below(40);
        let name = |v: usize| match seed % 4 {
            0 => format!("n{v:03}"),
            1 => format!("{v:03} \"the\", {}", v % 7),
            2 => format!("{v:03}.0"),
            _ => format!("\u{e9}{v:03};x|y"),
        };
        let arcs: Vec<[usize; 3]> = (0..1 + random.below(150))
            .map(|_| [random.below(nodes), random.below(nodes), 1 + random.below(9)])
            .collect();
        let plain: String = arcs.iter().map(|[u, v, w]| format!("{u} {v} {w}\n")).collect();
        let delimiter = [',', ';', '|', '\t'][random.below(4)];
        let mut columns: Vec<usize> = (0..5).collect();
        random.shuffle(&mut columns);
        let header = ["Source", "target", "WEIGHT", "note", "timestamp"];
        let mut rows: Vec<[String; 5]> = arcs
            .iter()
            .map(|[u, v, w]| {
                [name(*u), name(*v), w.to_string(), "x, y".into(), "1600000000".into()]
            })
            .collect();
        random.shuffle(&mut rows);
        let line = |row: &[String; 5]| {
            let cells: Vec<String> = columns.iter().map(|column| quoted(&row[*column])).collect();
            cells.join(&delimiter.to_string()) + "\n"
        };
        let text = line(&header.map(String::from)) + &rows.iter().map(line).collect::<String>();
        let load = |file: &str, text: &str| {
            let path = folder.path().join(file);
            std::fs::write(&path, text).unwrap();
            let loaded = io::load_with(path.to_str().unwrap(), &counts_line(CountsLine::No));
            Arc::new(loaded.unwrap_or_else(|e| panic!("{seed}: {e}\n{text}")))
        };
        let (number, named) = (load("plain.txt", &plain), load("named.csv", &text));
        assert_eq!(
            (number.offsets(), number.columns()),
            (named.offsets(), named.columns()),
            "{seed}"
        );
        assert_eq!(number.weights(), named.weights(), "{seed}");
        let seeds = |graph: &Graph| {
            let ids: Vec<String> =
                (0..2.min(graph.nodes() as u32)).map(|v| graph.id(v).to_string()).collect();
            let file = folder.path().join("seeds.txt");
            std::fs::write(&file, ids.iter().map(|id| quoted(id) + "\n").collect::<String>())
                .unwrap();
            Seeds::File(file)
        };
        {
            let workload = ["vn", "bfs", "pagerank", "scc"][seed as usize / 4 % 4];
            let answer = |graph: &Arc<Graph>| {
                let mut config = RunConfig {
                    verify: Verify::Yes,
                    merge: MergeMode::Auto,
                    ..RunConfig::default()
                };
                if workload == "vn" {
                    config.own = own(
                        json!({ "seeds": seeds(graph), "nominee": true, "predecessors": true }),
                    );
                }
                let outcome = outcome(workload, &fleet, graph, &config);
                let outcome = outcome.unwrap_or_else(|e| panic!("{seed} {workload}: {e}"));
                assert_eq!(
                    outcome.verification.as_ref().and_then(|check| check.message.clone()),
                    None
                );
                csv_of(&outcome)
            };
            // Numbers in the answer of the one are names in that of the other.
            let renamed: String = {
                let text = answer(&number);
                let ids = ["node", "predecessor", "nominee", "component"];
                let header: Vec<String> =
                    text.lines().next().unwrap().split(',').map(String::from).collect();
                let rows = text.lines().skip(1).map(|line| {
                    let cells = line.split(',').zip(&header).map(|(cell, column)| {
                        let id = ids.contains(&&column[..]) && !cell.is_empty();
                        if id { name(cell.parse().unwrap()) } else { cell.into() }
                    });
                    cells.collect::<Vec<String>>().join("\u{1}") + "\n"
                });
                rows.collect()
            };
            let text = answer(&named);
            let cells = text.lines().skip(1).map(|line| parsed(line).join("\u{1}") + "\n");
            assert_eq!(cells.collect::<String>(), renamed, "{seed} {workload}");
        }
    }
}

/// The values of a line of CSV.
fn parsed(line: &str) -> Vec<String> {
    let (mut cells, mut quoted, mut chars) = (vec![String::new()], false, line.chars().peekable());
    while let Some(char) = chars.next() {
        let last = cells.len() - 1;
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cells[last].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            char => cells[last].push(char),
        }
    }
    cells
}

#[test]
fn real_edge_lists_load_without_an_option() {
    let Some(data) = common::all_data() else { return };
    for (file, nodes, arcs, counted) in [
        ("social/email-Enron.txt.gz", 36_692, 367_662, true),
        ("social/facebook_combined.txt.gz", 4_039, 88_234, true),
        ("social/wiki-Vote.txt.gz", 7_115, 103_689, false),
        ("small/email-Eu-core.csv.gz", 1_005, 25_571, false),
        ("small/karate.csv", 34, 156, false),
        ("small/dolphins.csv", 62, 318, false),
        ("small/netscience.csv", 1_461, 5_484, false),
        ("small/polbooks.csv", 105, 882, false),
        ("reference/gapbs/4.el", 14, 256, false),
        ("reference/gapbs/4.wel", 14, 256, false),
    ] {
        let graph = io::load_with(data.join(file).to_str().unwrap(), &off()).unwrap();
        let found = (graph.nodes(), graph.arcs(), graph.origin.counts_line, graph.has_text_ids());
        assert_eq!(found, (nodes, arcs, counted, false), "{file}");
    }
}
