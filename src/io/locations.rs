//! Writes where nodes are.

use super::output::{ResultFormat, write_atomically, write_rows};
use crate::algorithm::Geolocation;
use crate::error::{Error, Result};
use crate::graph::Graph;
use npyz::WriterBuilder;
use std::io::{self, Write};
use std::path::Path;

/// Writes locations to `path` in the format of its extension, by rising input id: `.csv` is
/// `node,lat,lon,wave` in ids of the input, empty where a node was never located, numbers so that they
/// parse back to the same bits; `.npy` is a float64 array `[n, 2]` of latitudes and longitudes, NaN there.
///
/// # Errors
///
/// [`Error::Input`] for another extension, an answer of another length than the graph, and as
/// [`write_atomically`].
pub fn write_locations(path: &Path, graph: &Graph, answer: &Geolocation) -> Result<()> {
    let format = ResultFormat::of(path)?;
    let lengths = [answer.latitude.len(), answer.longitude.len(), answer.wave.len()];
    if let Some(length) = lengths.into_iter().find(|length| *length != graph.nodes()) {
        return Err(Error::input(format!(
            "the answer is for {length} nodes but the graph has {}; write it with its own graph",
            graph.nodes()
        )));
    }
    match format {
        ResultFormat::Csv => write_atomically(path, |out| write_csv(out, graph, answer)),
        ResultFormat::Npy => write_atomically(path, |out| write_npy(out, graph, answer)),
        ResultFormat::Txt => Err(Error::input(format!(
            "{}: locations are written as .csv or .npy; name one of these",
            path.display()
        ))),
    }
}

fn write_csv(out: &mut dyn Write, graph: &Graph, answer: &Geolocation) -> io::Result<()> {
    writeln!(out, "node,lat,lon,wave")?;
    write_rows(out, graph, |v, text| {
        let id = graph.input_id(v as u32);
        match answer.wave[v] {
            u32::MAX => writeln!(text, "{id},,,"),
            wave => writeln!(text, "{id},{},{},{wave}", answer.latitude[v], answer.longitude[v]),
        }
    })
}

fn write_npy(out: &mut dyn Write, graph: &Graph, answer: &Geolocation) -> io::Result<()> {
    let n = graph.nodes();
    let options = npyz::WriteOptions::new().default_dtype();
    let mut npy = options.shape(&[n as u64, 2]).writer(out).begin_nd()?;
    npy.extend((0..n as u32).flat_map(|rank| {
        let v = graph.ranked(rank) as usize;
        [answer.latitude[v], answer.longitude[v]]
    }))?;
    npy.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    #[test]
    fn locations_are_written_in_the_inputs_ids_and_empty_where_there_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let origin = Origin { id_base: 1, ..Origin::default() };
        let graph = Graph::from_csr(vec![0; 4], vec![], None, origin).unwrap();
        let graph = graph.relabelled(&[2, 0, 1]);
        let answer = Geolocation {
            latitude: vec![30.5, f64::NAN, -0.1],
            longitude: vec![180.0, f64::NAN, 1e-7],
            wave: vec![0, u32::MAX, 2],
            ..Geolocation::default()
        };
        let path = folder.path().join("x.csv");
        write_locations(&path, &graph, &answer).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "node,lat,lon,wave\n1,,,\n2,-0.1,0.0000001,2\n3,30.5,180,0\n");
        let path = folder.path().join("x.npy");
        write_locations(&path, &graph, &answer).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let npy = npyz::NpyFile::new(&bytes[..]).unwrap();
        assert_eq!(npy.shape(), [3, 2]);
        let numbers = npy.into_vec::<f64>().unwrap();
        assert!(numbers[0].is_nan() && numbers[1].is_nan());
        assert_eq!(numbers[2..], [-0.1, 1e-7, 30.5, 180.0]);
        let refusal = write_locations(&folder.path().join("x.txt"), &graph, &answer).unwrap_err();
        assert!(refusal.to_string().contains(".csv or .npy"), "{refusal}");
    }
}
