//! Writes what a workload found for each node, a column a value.

use super::output::{ResultFormat, push_distance, write_atomically, write_rows};
use crate::error::{Error, Result};
use crate::graph::Graph;
use npyz::WriterBuilder;
use std::io::{self, Write};
use std::path::Path;

/// Values `[n]` by node.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// Numbers, printed so that they parse back to the same bits; `inf` for infinity.
    F32(&'a [f32]),
    /// The same of 64 bits.
    F64(&'a [f64]),
    /// Counts or levels; `u32::MAX` is `inf`.
    Count(&'a [u32]),
    /// Numbers that may take more than 32 bits.
    Total(&'a [u64]),
    /// Nodes, written as ids of the input; `u32::MAX` is empty.
    Node(&'a [u32]),
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Column::F32(values) => values.len(),
            Column::F64(values) => values.len(),
            Column::Total(values) => values.len(),
            Column::Count(values) | Column::Node(values) => values.len(),
        }
    }

    fn push(&self, graph: &Graph, v: usize, text: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Column::F32(values) => push_distance(text, values[v]),
            Column::F64(values) => write!(text, "{:?}", values[v]),
            Column::Total(values) => write!(text, "{}", values[v]),
            Column::Count(values) => match values[v] {
                u32::MAX => write!(text, "inf"),
                count => write!(text, "{count}"),
            },
            Column::Node(nodes) => match nodes[v] {
                u32::MAX => Ok(()),
                node => write!(text, "{}", graph.input_id(node)),
            },
        }
    }
}

/// Writes columns to `path` in the format of its extension, by rising input id: `.csv` has a header
/// `node,NAME,...` and all of them; `.txt` the first, a value a line; `.npy` the first as an array `[n]`, nodes as
/// int64 ids of the input, -1 where there is none.
///
/// # Errors
///
/// [`Error::Input`] for another extension, an answer of another length than the graph, and as
/// [`write_atomically`].
pub fn write_columns(path: &Path, graph: &Graph, columns: &[(&str, Column<'_>)]) -> Result<()> {
    let format = ResultFormat::of(path)?;
    let n = graph.nodes();
    if let Some((_, column)) = columns.iter().find(|(_, column)| column.len() != n) {
        return Err(Error::input(format!(
            "the answer is for {} nodes but the graph has {n}; write it with its own graph",
            column.len()
        )));
    }
    let Some((_, first)) = columns.first() else { return Ok(()) };
    let largest = (n as u32).checked_sub(1).map_or(0, |last| graph.input_id(graph.ranked(last)));
    if format == ResultFormat::Npy && matches!(first, Column::Node(_)) && largest > i64::MAX as u64
    {
        return Err(Error::input(format!(
            "{}: the id {largest} does not fit an int64 array; write a .csv",
            path.display()
        )));
    }
    write_atomically(path, |out| match format {
        ResultFormat::Csv => {
            write!(out, "node")?;
            columns.iter().try_for_each(|(name, _)| write!(out, ",{name}"))?;
            writeln!(out)?;
            write_rows(out, graph, |v, text| {
                write!(text, "{}", graph.input_id(v as u32))?;
                for (_, column) in columns {
                    text.push(b',');
                    column.push(graph, v, text)?;
                }
                writeln!(text)
            })
        }
        ResultFormat::Txt => write_rows(out, graph, |v, text| {
            first.push(graph, v, text)?;
            writeln!(text)
        }),
        ResultFormat::Npy => match first {
            Column::F32(values) => write_npy(out, graph, |v| values[v]),
            Column::F64(values) => write_npy(out, graph, |v| values[v]),
            Column::Total(values) => write_npy(out, graph, |v| values[v]),
            Column::Count(values) => write_npy(out, graph, |v| values[v]),
            Column::Node(nodes) => write_npy(out, graph, |v| match nodes[v] {
                u32::MAX => -1,
                node => graph.input_id(node) as i64,
            }),
        },
    })
}

/// Writes values that are no graph's, as they stand: `.txt` a value a line, `.npy` an array `[n]`.
///
/// # Errors
///
/// [`Error::Input`] for another extension, and as [`write_atomically`].
pub fn write_values(path: &Path, values: &[u32]) -> Result<()> {
    match ResultFormat::of(path)? {
        ResultFormat::Txt => write_atomically(path, |out| {
            values.iter().try_for_each(|value| writeln!(out, "{value}"))
        }),
        ResultFormat::Npy => write_atomically(path, |out| {
            let options = npyz::WriteOptions::new().default_dtype();
            let mut npy = options.shape(&[values.len() as u64]).writer(out).begin_nd()?;
            npy.extend(values.iter().copied())?;
            npy.finish()
        }),
        ResultFormat::Csv => Err(Error::input(format!(
            "{}: a list of values has no columns; end its name in .npy or .txt",
            path.display()
        ))),
    }
}

fn write_npy<T: npyz::Serialize + npyz::AutoSerialize>(
    out: &mut dyn Write,
    graph: &Graph,
    value: impl Fn(usize) -> T,
) -> io::Result<()> {
    let n = graph.nodes();
    let options = npyz::WriteOptions::new().default_dtype();
    let mut npy = options.shape(&[n as u64]).writer(out).begin_nd()?;
    npy.extend((0..n as u32).map(|rank| value(graph.ranked(rank) as usize)))?;
    npy.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Origin;

    #[test]
    fn columns_speak_the_ids_of_the_input_whatever_the_order_of_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let origin = Origin { id_base: 1, ..Origin::default() };
        let graph = Graph::from_csr(vec![0; 4], vec![], None, origin).unwrap();
        let graph = graph.relabelled(&[2, 0, 1]);
        let (levels, parents) = ([3, 1, u32::MAX], [1, u32::MAX, u32::MAX]);
        let totals = [1 << 40, 0, 7];
        let scores = [0.5, 1e-300, 2.0];
        let columns = [
            ("level", Column::Count(&levels)),
            ("parent", Column::Node(&parents)),
            ("score", Column::F64(&scores)),
        ];
        let text = |name: &str, columns: &[(&str, Column<'_>)]| {
            let path = folder.path().join(name);
            write_columns(&path, &graph, columns).unwrap();
            std::fs::read(&path).unwrap()
        };
        assert_eq!(
            text("a.csv", &columns),
            b"node,level,parent,score\n1,1,,1e-300\n2,inf,,2.0\n3,3,1,0.5\n"
        );
        assert_eq!(text("a.txt", &columns), b"1\ninf\n3\n");
        let total = [("total", Column::Total(&totals))];
        assert_eq!(text("b.txt", &total), b"0\n7\n1099511627776\n");
        let bytes = text("b.npy", &total);
        let npy = npyz::NpyFile::new(&bytes[..]).unwrap();
        assert_eq!(npy.into_vec::<u64>().unwrap(), [0, 7, 1 << 40]);
        let bytes = text("a.npy", &columns[1..]);
        let npy = npyz::NpyFile::new(&bytes[..]).unwrap();
        assert_eq!(npy.into_vec::<i64>().unwrap(), [-1, -1, 1]);
        let short = [("x", Column::Count(&levels[..2]))];
        let refusal = write_columns(&folder.path().join("b.csv"), &graph, &short).unwrap_err();
        assert!(refusal.to_string().contains("2 nodes but the graph has 3"), "{refusal}");
    }
}
