//! Edge lists in Apache Parquet files (<https://parquet.apache.org/docs/file-format/>), with the cargo
//! feature `parquet`: a row an arc, nodes up to the largest id, ids from 0.
//!
//! Source and target are the columns named `src` or `source`, and `dst`, `target` or `destination`, else
//! the first two of integers. The weight is the column `weight`, else the third column if it holds
//! numbers and source and target are the first two. Row groups are read in parallel. The library makes
//! room for a page as its header asks, up to 2 GiB, before it unpacks it.

use super::parsed::Parsed;
use crate::graph::options::FileWeights;

/// Whether the content starts as a Parquet file does.
pub(super) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1")
}

/// Says how to get a program that reads the file.
#[cfg(not(feature = "parquet"))]
pub(super) fn parse(_: &[u8], _: FileWeights) -> Result<Parsed, String> {
    Err("this program was built without Parquet; build it with `--features parquet`".into())
}

/// Reads the whole content of a file. Refusals come without the path.
#[cfg(feature = "parquet")]
pub(super) fn parse(bytes: &[u8], weights: FileWeights) -> Result<Parsed, String> {
    // The library panics at some damaged pages, and leaves nothing behind that is used again.
    let read = std::panic::catch_unwind(|| reader::read(bytes, weights)).unwrap_or_else(|_| {
        Err("the Parquet file is damaged (its reader gave up); fetch it again".into())
    });
    // The library's own words may have several lines.
    read.map_err(|what| what.replace('\n', " "))
}

#[cfg(feature = "parquet")]
mod reader {
    use super::super::binary::Number;
    use super::super::parsed::{Arcs, Nodes, Parsed};
    use super::super::text;
    use crate::graph::options::FileWeights;
    use crate::graph::{ArcList, MAX_NODES};
    use ::parquet::basic::{ConvertedType, Type};
    use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
    use ::parquet::data_type::DataType;
    use ::parquet::errors::ParquetError;
    use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
    use ::parquet::schema::types::SchemaDescriptor;
    use bytes::Bytes;
    use rayon::prelude::*;

    /// Values that are asked for at a time: room is made for them before they are found to be there.
    const BLOCK: usize = 1 << 16;

    /// The columns to read, by number.
    struct Columns {
        source: usize,
        target: usize,
        weight: Option<usize>,
    }

    /// Refusals come without the path.
    pub(super) fn read(bytes: &[u8], wanted: FileWeights) -> Result<Parsed, String> {
        let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(damaged)?;
        let columns = columns(reader.metadata().file_metadata().schema_descr())?;
        let groups: Vec<Result<ArcList, String>> = (0..reader.num_row_groups())
            .into_par_iter()
            .map(|group| arcs(&*reader.get_row_group(group).map_err(damaged)?, &columns, wanted))
            .collect();
        let lists: Vec<ArcList> = groups.into_iter().collect::<Result<_, _>>()?;
        let weighted = columns.weight.is_some();
        Ok(Parsed::new("parquet", Arcs::Lists(lists, Nodes::UpToLargest), weighted))
    }

    fn damaged(error: ParquetError) -> String {
        format!("the Parquet file is truncated or damaged ({error}); fetch it again")
    }

    fn columns(schema: &SchemaDescriptor) -> Result<Columns, String> {
        let columns = schema.columns();
        let flat = |column: usize| columns[column].max_rep_level() == 0;
        let whole = |column: usize| {
            flat(column) && matches!(columns[column].physical_type(), Type::INT32 | Type::INT64)
        };
        let number = |column: usize| {
            let float = matches!(columns[column].physical_type(), Type::FLOAT | Type::DOUBLE);
            whole(column) || (flat(column) && float)
        };
        let named = |names: &[&str]| {
            let name = |column: usize| columns[column].name().to_ascii_lowercase();
            (0..columns.len()).find(|&column| names.contains(&name(column).as_str()))
        };
        let mut integers = (0..columns.len()).filter(|&column| whole(column));
        let ends = match (named(&["src", "source"]), named(&["dst", "target", "destination"])) {
            (Some(source), Some(target)) => Some((source, target)),
            // One alone belongs to another kind of table.
            (Some(_), None) | (None, Some(_)) => None,
            (None, None) => integers.next().zip(integers.next()),
        };
        let Some((source, target)) = ends.filter(|&(u, v)| whole(u) && whole(v)) else {
            return Err("no two columns of integers; name them src and dst".into());
        };
        let third = ((source, target) == (0, 1) && columns.len() > 2).then_some(2);
        let weight = named(&["weight"]).or(third.filter(|&column| number(column)));
        if let Some(column) = weight.filter(|&column| !number(column)) {
            let kind = columns[column].physical_type();
            return Err(format!("column weight is no number ({kind}); store it as float"));
        }
        Ok(Columns { source, target, weight })
    }

    fn arcs(
        group: &dyn RowGroupReader,
        columns: &Columns,
        wanted: FileWeights,
    ) -> Result<ArcList, String> {
        let sources = nodes(group, columns.source)?;
        let targets = nodes(group, columns.target)?;
        let weights = match columns.weight {
            Some(column) => weights(group, column, wanted)?,
            None => Vec::new(),
        };
        let weighed = columns.weight.is_none() || weights.len() == sources.len();
        if sources.len() != targets.len() || !weighed {
            return Err("the columns differ in length; write the Parquet file again".into());
        }
        Ok(ArcList { pairs: sources.into_iter().zip(targets).collect(), weights, copy: None })
    }

    /// A column of ids, checked.
    fn nodes(group: &dyn RowGroupReader, column: usize) -> Result<Vec<u32>, String> {
        let descr = group.metadata().column(column).column_descr_ptr();
        let unsigned = descr.converted_type() == ConvertedType::UINT_32;
        let node = |id: i64| match u32::try_from(id) {
            Ok(node) if u64::from(node) < MAX_NODES => Ok(node),
            _ => Err(format!(
                "id out of range ({id} in column {}); ids run from 0 to {}",
                descr.name(),
                MAX_NODES - 1
            )),
        };
        match group.get_column_reader(column).map_err(damaged)? {
            ColumnReader::Int32ColumnReader(reader) => values(reader, descr.name(), |id| {
                node(if unsigned { i64::from(id as u32) } else { i64::from(id) })
            }),
            ColumnReader::Int64ColumnReader(reader) => values(reader, descr.name(), node),
            _ => Err(format!("column {} holds no integers; store it as int64", descr.name())),
        }
    }

    /// A column of weights, checked.
    fn weights(
        group: &dyn RowGroupReader,
        column: usize,
        wanted: FileWeights,
    ) -> Result<Vec<f32>, String> {
        let descr = group.metadata().column(column).column_descr_ptr();
        let name = descr.name();
        let weight = |weight: f32| {
            if weight.is_finite() && weight >= 0.0 {
                return Ok(if weight == 0.0 { 0.0 } else { weight });
            }
            Err(format!("weight {weight} in column {name}; weights must be finite and >= 0"))
        };
        match group.get_column_reader(column).map_err(damaged)? {
            ColumnReader::Int32ColumnReader(reader) => {
                values(reader, name, |w| weight(held(w, name, wanted)?))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                values(reader, name, |w| weight(held(w, name, wanted)?))
            }
            ColumnReader::FloatColumnReader(reader) => values(reader, name, weight),
            ColumnReader::DoubleColumnReader(reader) => {
                values(reader, name, |w| weight(held(w, name, wanted)?))
            }
            _ => Err(format!("column {name} holds no numbers; store it as float")),
        }
    }

    /// A number of column `name` in 32 bits.
    fn held<N: Number>(number: N, name: &str, wanted: FileWeights) -> Result<f32, String> {
        if wanted == FileWeights::Exact && number.rounds() {
            return Err(format!("column {name}: {}", text::rounds(&number.to_string())));
        }
        Ok(number.narrowed())
    }

    /// Every value of a column, converted; one that is missing is refused.
    fn values<D: DataType, T>(
        mut reader: ColumnReaderImpl<D>,
        name: &str,
        convert: impl Fn(D::T) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let mut out = Vec::new();
        let (mut block, mut levels) = (Vec::new(), Vec::new());
        loop {
            block.clear();
            levels.clear();
            let (records, found, _) =
                reader.read_records(BLOCK, Some(&mut levels), None, &mut block).map_err(damaged)?;
            if records == 0 {
                return Ok(out);
            }
            if found != records {
                return Err(format!("column {name} has missing values; drop those rows"));
            }
            for value in block.drain(..) {
                out.push(convert(value)?);
            }
        }
    }
}
