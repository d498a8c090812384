use super::*;
use crate::graph::Origin;
use crate::npy::npy;
use proptest::prelude::*;
use std::io::Read;

fn nodes(n: usize, id_base: u32) -> Graph {
    let origin = Origin { id_base, ..Origin::default() };
    Graph::from_csr(vec![0; n + 1], vec![], None, origin).unwrap()
}

/// What is written of a table under this name.
fn written(name: &str, graph: &Graph, table: &Table<'_>) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write_table(&path, graph, table).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    std::fs::read(&path).unwrap()
}

#[test]
fn columns_speak_the_ids_of_the_input_whatever_the_order_of_nodes() {
    let graph = nodes(3, 1).relabelled(&[2, 0, 1]);
    let (levels, parents) = ([3, 1, u32::MAX], [1, u32::MAX, u32::MAX]);
    let (totals, scores) = ([1 << 40, 0, 7], [0.5, 1e-300, 2.0]);
    let all = Table::of_nodes([
        ("level", Column::Count(&levels)),
        ("parent", Column::Node(&parents)),
        ("score", Column::F64(&scores)),
    ]);
    let csv = "node,level,parent,score\n1,1,,1e-300\n2,inf,,2.0\n3,3,1,0.5\n";
    assert_eq!(written("a.csv", &graph, &all), csv.as_bytes());
    assert_eq!(written("a.tsv", &graph, &all), csv.replace(',', "\t").as_bytes());
    assert_eq!(
        written("a.jsonl", &graph, &all),
        b"{\"node\":1,\"level\":1,\"parent\":null,\"score\":1e-300}\n\
          {\"node\":2,\"level\":null,\"parent\":null,\"score\":2.0}\n\
          {\"node\":3,\"level\":3,\"parent\":1,\"score\":0.5}\n"
    );
    let total = Table::of_nodes([("total", Column::Total(&totals))]);
    assert_eq!(written("b.txt", &graph, &total), b"0\n7\n1099511627776\n");
    let bytes = written("b.npy", &graph, &total);
    assert_eq!(npy::<u64>(&bytes, "<u8"), (vec![3], vec![0, 7, 1 << 40]));
    let bytes = written("a.npy", &graph, &Table::of_nodes([("parent", Column::Node(&parents))]));
    assert_eq!(npy::<i64>(&bytes, "<i8").1, [-1, -1, 1]);
    let mut zip = zip::ZipArchive::new(io::Cursor::new(written("a.npz", &graph, &all))).unwrap();
    let mut member = |name: &str| {
        let mut bytes = Vec::new();
        zip.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let array = |bytes: &[u8]| npy::<i64>(bytes, "<i8").1;
    assert_eq!(array(&member("node")), [1, 2, 3]);
    assert_eq!(array(&member("parent")), [-1, -1, 1]);
    let bytes = member("level");
    assert_eq!(npy::<u32>(&bytes, "<u4").1, [1, u32::MAX, 3]);
    let bytes = member("score");
    assert_eq!(npy::<f64>(&bytes, "<f8").1, [1e-300, 2.0, 0.5]);
}

#[test]
fn rows_that_are_no_nodes_stand_as_they_are() {
    let graph = nodes(3, 1).relabelled(&[2, 0, 1]);
    let (nodes, positions) = ([2, 0, 1, 1], [0, 1, 2, 3]);
    let table =
        Table::listed([("node", Column::Node(&nodes)), ("position", Column::Value(&positions))]);
    assert_eq!(written("a.csv", &graph, &table), b"node,position\n2,0\n3,1\n1,2\n1,3\n");
    let one = Table::listed([("value", Column::Value(&[u32::MAX, 7]))]);
    assert_eq!(written("a.txt", &graph, &one), b"4294967295\n7\n");
}

#[test]
fn places_are_empty_where_there_are_none_and_npy_holds_both_coordinates() {
    let graph = nodes(3, 1).relabelled(&[2, 0, 1]);
    let (latitude, longitude) = ([30.5, f64::NAN, -0.1], [180.0, f64::NAN, 1e-7]);
    let wave = [0, u32::MAX, 2];
    let places = [("lat", Column::F64(&latitude)), ("lon", Column::F64(&longitude))];
    let table = Table::of_nodes(places.into_iter().chain([("wave", Column::Maybe(&wave))]));
    let csv = b"node,lat,lon,wave\n1,,,\n2,-0.1,1e-7,2\n3,30.5,180.0,0\n";
    assert_eq!(written("x.csv", &graph, &table), csv);
    let bytes = written("x.npy", &graph, &table.with_array(2));
    let (shape, numbers) = npy::<f64>(&bytes, "<f8");
    assert_eq!(shape, [3, 2]);
    assert!(numbers[0].is_nan() && numbers[1].is_nan());
    assert_eq!(numbers[2..], [-0.1, 1e-7, 30.5, 180.0]);
}

#[test]
fn text_is_in_node_order_over_many_chunks() {
    let n = ROWS * TASKS + ROWS + 3;
    let distances: Vec<f32> = (0..n).map(|v| v as f32 * 0.1).collect();
    let table = Table::of_nodes([("distance", Column::F32(&distances))]);
    let text = String::from_utf8(written("a.txt", &nodes(n, 0), &table)).unwrap();
    let read: Vec<f32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(read, distances);
}

#[test]
fn npy_holds_the_bits_as_little_endian_float32() {
    let distances = [0.0, 1e-45, f32::MAX, f32::INFINITY];
    let table = Table::of_nodes([("distance", Column::F32(&distances))]);
    let bytes = written("a.NPY", &nodes(4, 0), &table);
    assert_eq!(npy::<f32>(&bytes, "<f4"), (vec![4], distances.to_vec()));
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let one = [0.0];
    let table = Table::of_nodes([("x", Column::F32(&one))]);
    let refused = |name: &str, graph: &Graph, table: &Table<'_>| {
        let error = write_table(&folder.path().join(name), graph, table).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    };
    for name in ["a.json", "a", ".csv", "a.csv.gz"] {
        let error = refused(name, &nodes(1, 0), &table);
        assert!(error.contains("end its name in .csv, .tsv, .jsonl, .txt, .npy, .npz"), "{error}");
    }
    let error = refused("a.csv", &nodes(2, 0), &table);
    assert!(error.contains("for 1 nodes but the graph has 2"), "{error}");
    let two = Table::of_nodes([("x", Column::F32(&one)), ("y", Column::F32(&one))]);
    for name in ["a.txt", "a.npy"] {
        let error = refused(name, &nodes(1, 0), &two);
        assert!(error.contains("holds one column, and there are 2"), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_a_null_where_there_is_nothing() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    let graph = nodes(3, 1).relabelled(&[2, 0, 1]);
    let (levels, scores) = ([3, 1, u32::MAX], [0.5f32, 1.0, f32::INFINITY]);
    let table =
        Table::of_nodes([("level", Column::Count(&levels)), ("score", Column::F32(&scores))]);
    let bytes = written("a.parquet", &graph, &table);
    let read = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows: Vec<String> =
        read.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(rows[0], "{node: 1, level: 1, score: 1.0}");
    assert_eq!(rows[1], "{node: 2, level: null, score: inf}");
    assert_eq!(rows[2], "{node: 3, level: 3, score: 0.5}");
}

proptest! {
    #[test]
    fn a_printed_distance_parses_back_to_the_same_bits(bits in 0u32..=0x7f80_0000) {
        let mut text = Vec::new();
        push_distance(&mut text, f32::from_bits(bits)).unwrap();
        let text = String::from_utf8(text).unwrap();
        prop_assert!(text.len() <= 18, "{}", text);
        prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits);
    }
}
