//! Writes tables of results: the one place that turns columns into rows of a file, whatever the format.

use super::npy;
use super::output::{ResultFormat, write_atomically};
use super::rows::{push_id, push_value};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::threads::Body;
use rayon::prelude::*;
use std::fmt::{Display, LowerExp};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Rows that one task formats.
pub(super) const ROWS: usize = 1 << 14;
/// Tasks whose text is held in memory at a time.
pub(super) const TASKS: usize = 64;

/// Values of a column, a value a row.
#[derive(Debug, Clone, Copy)]
pub enum Column<'a> {
    /// Numbers, printed so that they parse back to the same bits; `inf` for infinity.
    F32(&'a [f32]),
    /// The same of 64 bits; NaN is empty.
    F64(&'a [f64]),
    /// Numbers of 64 bits, printed as those of 32 are.
    Distance(&'a [f64]),
    /// Counts or levels; `u32::MAX` is `inf`.
    Count(&'a [u32]),
    /// Numbers that some rows lack; `u32::MAX` is empty.
    Maybe(&'a [u32]),
    /// Numbers of 32 bits.
    Value(&'a [u32]),
    /// Numbers that may take more than 32 bits.
    Total(&'a [u64]),
    /// Nodes, written as ids of the input; `u32::MAX` is empty.
    Node(&'a [u32]),
    /// Counts of 8 bits; `u8::MAX` is `inf`.
    Count8(&'a [u8]),
    /// Counts of 16 bits; `u16::MAX` is `inf`.
    Count16(&'a [u16]),
    /// Nodes of a matrix that lies row after row: all of it, how many columns it has, and which of them this is.
    Part(&'a [u32], usize, usize),
    /// Nodes, each in so many rows.
    Each(&'a [u32], usize),
    /// Nodes, all of them one after another, so many times.
    Again(&'a [u32], usize),
}

/// What stands in one row of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Empty,
    Infinite,
    F32(f32),
    F64(f64),
    Distance(f64),
    Whole(u64),
    Node(u32),
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Column::F32(values) => values.len(),
            Column::F64(values) | Column::Distance(values) => values.len(),
            Column::Total(values) => values.len(),
            Column::Count(values)
            | Column::Maybe(values)
            | Column::Value(values)
            | Column::Node(values) => values.len(),
            Column::Count8(values) => values.len(),
            Column::Count16(values) => values.len(),
            Column::Part(nodes, width, _) => nodes.len() / width,
            Column::Each(nodes, times) | Column::Again(nodes, times) => nodes.len() * times,
        }
    }

    /// Whether the values are nodes.
    fn is_nodes(&self) -> bool {
        use Column::{Again, Each, Node, Part};
        matches!(self, Node(_) | Part(..) | Each(..) | Again(..))
    }

    /// The values as they lie in memory; `None` of nodes.
    fn bytes(&self) -> Option<&[u8]> {
        Some(match self {
            Column::F32(values) => bytemuck::cast_slice(values),
            Column::F64(values) | Column::Distance(values) => bytemuck::cast_slice(values),
            Column::Total(values) => bytemuck::cast_slice(values),
            Column::Count(values) | Column::Maybe(values) | Column::Value(values) => {
                bytemuck::cast_slice(values)
            }
            Column::Count8(values) => values,
            Column::Count16(values) => bytemuck::cast_slice(values),
            Column::Node(_) | Column::Part(..) | Column::Each(..) | Column::Again(..) => {
                return None;
            }
        })
    }

    fn cell(&self, row: usize) -> Cell {
        match self {
            Column::F32(values) => Cell::F32(values[row]),
            Column::Distance(values) => Cell::Distance(values[row]),
            Column::F64(values) if values[row].is_nan() => Cell::Empty,
            Column::F64(values) => Cell::F64(values[row]),
            Column::Total(values) => Cell::Whole(values[row]),
            Column::Value(values) => Cell::Whole(values[row].into()),
            Column::Count8(values) if values[row] == u8::MAX => Cell::Infinite,
            Column::Count8(values) => Cell::Whole(values[row].into()),
            Column::Count16(values) if values[row] == u16::MAX => Cell::Infinite,
            Column::Count16(values) => Cell::Whole(values[row].into()),
            Column::Part(nodes, width, k) => Column::Node(&nodes[row * width + k..]).cell(0),
            Column::Each(nodes, times) => Cell::Node(nodes[row / times]),
            Column::Again(nodes, _) => Cell::Node(nodes[row % nodes.len()]),
            Column::Count(values) | Column::Maybe(values) | Column::Node(values) => {
                match (self, values[row]) {
                    (Column::Count(_), u32::MAX) => Cell::Infinite,
                    (_, u32::MAX) => Cell::Empty,
                    (Column::Node(_), node) => Cell::Node(node),
                    (_, value) => Cell::Whole(value.into()),
                }
            }
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Column::F32(_) => "<f4",
            Column::F64(_) | Column::Distance(_) => "<f8",
            Column::Total(_) => "<u8",
            Column::Count(_) | Column::Maybe(_) | Column::Value(_) => "<u4",
            Column::Count8(_) => "|u1",
            Column::Count16(_) => "<u2",
            Column::Node(_) | Column::Part(..) | Column::Each(..) | Column::Again(..) => "<i8",
        }
    }

    /// The value as bytes of that type.
    fn push_bytes(&self, graph: &Graph, row: usize, bytes: &mut Vec<u8>) {
        match self {
            Column::F32(values) => bytes.extend(values[row].to_le_bytes()),
            Column::F64(values) | Column::Distance(values) => {
                bytes.extend(values[row].to_le_bytes())
            }
            Column::Total(values) => bytes.extend(values[row].to_le_bytes()),
            Column::Count(values) | Column::Maybe(values) | Column::Value(values) => {
                bytes.extend(values[row].to_le_bytes());
            }
            Column::Count8(values) => bytes.push(values[row]),
            Column::Count16(values) => bytes.extend(values[row].to_le_bytes()),
            Column::Node(values) => push_node(graph, values[row], bytes),
            Column::Part(nodes, width, k) => push_node(graph, nodes[row * width + k], bytes),
            Column::Each(nodes, times) => push_node(graph, nodes[row / times], bytes),
            Column::Again(nodes, _) => push_node(graph, nodes[row % nodes.len()], bytes),
        }
    }
}

/// As int64; -1 is no node. A name is its place in byte order, which is its row.
fn push_node(graph: &Graph, node: u32, bytes: &mut Vec<u8>) {
    bytes.extend(match node {
        u32::MAX => (-1i64).to_le_bytes(),
        node => graph.input_id(node).to_le_bytes(),
    });
}

/// A matrix of values, row after row.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    /// The node of each row.
    pub rows: &'a [u32],
    /// The node of each column.
    pub columns: &'a [u32],
    /// `[rows, columns]`.
    pub values: Column<'a>,
}

/// Rows and named columns.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    columns: Vec<(String, Column<'a>)>,
    /// Rows are nodes, by rising input id, and a first column says which.
    of_nodes: bool,
    /// Leading columns that `.npy` and `.txt` hold.
    array: usize,
    grid: Option<Grid<'a>>,
}

impl<'a> Table<'a> {
    /// Names and values.
    pub fn columns(&self) -> &[(String, Column<'a>)] {
        &self.columns
    }

    /// Whether there is a row a node.
    pub fn is_of_nodes(&self) -> bool {
        self.of_nodes
    }

    /// A row a node, by rising input id; a column `node` comes first.
    pub fn of_nodes(
        columns: impl IntoIterator<Item = (impl Into<String>, Column<'a>)>,
    ) -> Table<'a> {
        let columns = columns.into_iter().map(|(name, column)| (name.into(), column)).collect();
        Table { columns, of_nodes: true, array: 1, grid: None }
    }

    /// Rows as they stand.
    pub fn listed(columns: impl IntoIterator<Item = (impl Into<String>, Column<'a>)>) -> Table<'a> {
        Table { of_nodes: false, ..Table::of_nodes(columns) }
    }

    /// The same; `.npy` holds the first so many columns, of 64-bit floats, as an array `[n, columns]`.
    pub fn with_array(self, columns: usize) -> Table<'a> {
        Table { array: columns, ..self }
    }

    /// A row a value of `grid`: the nodes of its row and column, `ends`, and the value. `.npy` holds the matrix, `.npz` the matrix and
    /// the nodes.
    pub fn of_grid(ends: [&str; 2], name: &str, grid: Grid<'a>) -> Table<'a> {
        let Grid { rows, columns, values } = grid;
        let [outer, inner] = ends;
        let each = Column::Each(rows, columns.len());
        let again = Column::Again(columns, rows.len());
        let all = Table::listed([(outer, each), (inner, again), (name, values)]);
        Table { grid: Some(grid), ..all }
    }

    /// The matrix, if it is one.
    pub fn grid(&self) -> Option<Grid<'a>> {
        self.grid
    }

    fn rows(&self, graph: &Graph) -> usize {
        match (self.of_nodes, self.columns.first()) {
            (true, _) => graph.nodes(),
            (false, first) => first.map_or(0, |(_, column)| column.len()),
        }
    }

    fn check(&self, graph: &Graph, format: ResultFormat, path: &Path) -> Result<()> {
        let n = self.rows(graph);
        if let Some((_, column)) = self.columns.iter().find(|(_, column)| column.len() != n) {
            return Err(Error::input(match self.of_nodes {
                true => format!(
                    "the answer is for {} nodes but the graph has {n}; write it with its own graph",
                    column.len()
                ),
                false => format!("columns of {} and {n} rows; give all the same", column.len()),
            }));
        }
        let ids = self.of_nodes && format == ResultFormat::Npz
            || self.columns.iter().any(|(_, column)| column.is_nodes());
        let ids = match format {
            ResultFormat::Npy => ids && self.grid.is_none(),
            ResultFormat::Npz => ids,
            _ => false,
        };
        let largest = if ids { graph.id_range().1 } else { 0 };
        if largest > i64::MAX as u64 {
            return Err(Error::input(format!(
                "{}: the id {largest} does not fit an int64 array; write a .csv",
                path.display()
            )));
        }
        let array = format == ResultFormat::Npy && (self.array > 1 || self.grid.is_some());
        if self.columns.len() > 1 && !array && !format.holds_columns() {
            return Err(Error::input(format!(
                "{}: holds one column, and there are {}; name a .csv or .npz",
                path.display(),
                self.columns.len()
            )));
        }
        Ok(())
    }
}

/// Writes a table to `path`, `-` for standard output, in the format of the path's ending, where there is one.
///
/// | format | |
/// |---|---|
/// | `.csv`, `.tsv` | a header; `inf` for infinity, empty for what is not there |
/// | `.jsonl` | an object a row; null for infinity and for what is not there |
/// | `.txt` | the only column, a value a line |
/// | `.npy` | the only column as an array `[n]`; nodes as int64, -1 for none; the largest number for an infinite count; a matrix as `[rows, columns]` |
/// | `.npz` | every column as such an array; of a matrix the nodes of rows and columns, and the matrix |
/// | `.parquet` | every column, with the cargo feature `parquet`; null for what is not there |
///
/// # Errors
/// [`Error::Input`] for another ending, columns for which the format has no room, an answer of another length than
/// the graph, and as [`write_atomically`].
pub fn write_table(path: &Path, graph: &Graph, table: &Table<'_>) -> Result<()> {
    write_table_as(path, ResultFormat::of(path)?, graph, table)
}

/// As [`write_table`], in this format.
pub(crate) fn write_table_as(
    path: &Path,
    format: ResultFormat,
    graph: &Graph,
    table: &Table<'_>,
) -> Result<()> {
    table.check(graph, format, path)?;
    let n = table.rows(graph);
    let nodes: Vec<u32> = if table.of_nodes { (0..n as u32).collect() } else { Vec::new() };
    let node = table.of_nodes.then(|| ("node".to_string(), Column::Node(&nodes)));
    let columns = node.iter().chain(&table.columns).collect();
    let rows = Rows { graph, of_nodes: table.of_nodes, columns, n };
    let write = |out: &mut dyn Write| match format {
        ResultFormat::Csv => rows.separated(out, b','),
        ResultFormat::Tsv => rows.separated(out, b'\t'),
        ResultFormat::Jsonl => rows.json(out),
        ResultFormat::Txt => rows.text(out, |row, text| {
            table
                .columns
                .first()
                .map_or(Ok(()), |(_, column)| rows.push(column.cell(row), text))?;
            writeln!(text)
        }),
        ResultFormat::Npy => match &table.grid {
            Some(grid) => matrix(out, grid),
            None => rows.array(out, &table.columns[..table.array.min(table.columns.len())]),
        },
        ResultFormat::Npz => rows.archive(out, table.grid.as_ref()),
        ResultFormat::Parquet => parquet::write(out, &rows),
    };
    if path == Path::new("-") { to_standard_output(write) } else { write_atomically(path, write) }
}

/// Writes which node of a file that counts from `first` the input of `graph` calls how: a CSV `node,id`.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_ids(graph: &Graph, first: u64, path: &Path) -> Result<()> {
    write_atomically(path, |out| {
        writeln!(out, "node,id")?;
        let mut text = Vec::new();
        for node in 0..graph.nodes() as u32 {
            text.clear();
            write!(text, "{},", u64::from(node) + first)?;
            push_id(&mut text, graph.id(node));
            text.push(b'\n');
            out.write_all(&text)?;
        }
        Ok(())
    })
}

/// A reader that goes away (`hive ... | head -1`) is no failure.
fn to_standard_output(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::machine(format!("standard output cannot be written: {e}")))
        }
        _ => Ok(()),
    }
}

/// A table on its way out.
struct Rows<'a> {
    graph: &'a Graph,
    of_nodes: bool,
    /// All columns, that of the rows' nodes first.
    columns: Vec<&'a (String, Column<'a>)>,
    n: usize,
}

impl Rows<'_> {
    /// What the row at a place is of.
    fn row(&self, place: usize) -> usize {
        if self.of_nodes { self.graph.ranked(place as u32) as usize } else { place }
    }

    /// Formats rows in parallel and writes them in order, a bounded number at a time.
    fn text(
        &self,
        out: &mut dyn Write,
        row: impl Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync,
    ) -> io::Result<()> {
        for begin in (0..self.n).step_by(ROWS * TASKS) {
            let tasks = (self.n - begin).div_ceil(ROWS).min(TASKS);
            let task: Body<usize, io::Result<Vec<u8>>> = &|task| {
                let first = begin + task * ROWS;
                let mut text = Vec::with_capacity(ROWS * 24);
                let mut places = first..self.n.min(first + ROWS);
                places.try_for_each(|place| row(self.row(place), &mut text))?;
                Ok(text)
            };
            let texts: Vec<Vec<u8>> =
                (0..tasks).into_par_iter().map(task).collect::<io::Result<_>>()?;
            texts.iter().try_for_each(|text| out.write_all(text))?;
        }
        Ok(())
    }

    fn push(&self, cell: Cell, text: &mut Vec<u8>) -> io::Result<()> {
        match cell {
            Cell::Empty => Ok(()),
            Cell::Infinite => write!(text, "inf"),
            Cell::F32(value) => push_distance(text, value),
            Cell::Distance(value) => push_distance(text, value),
            Cell::F64(value) => write!(text, "{value:?}"),
            Cell::Whole(value) => write!(text, "{value}"),
            Cell::Node(node) => {
                push_id(text, self.graph.id(node));
                Ok(())
            }
        }
    }

    fn cells(&self, row: usize) -> impl Iterator<Item = Cell> + '_ {
        self.columns.iter().map(move |(_, column)| column.cell(row))
    }

    fn separated(&self, out: &mut dyn Write, separator: u8) -> io::Result<()> {
        let mut head = Vec::new();
        for (at, (name, _)) in self.columns.iter().enumerate() {
            if at > 0 {
                head.push(separator);
            }
            push_value(&mut head, name);
        }
        head.push(b'\n');
        out.write_all(&head)?;
        self.text(out, |row, text| {
            for (at, cell) in self.cells(row).enumerate() {
                if at > 0 {
                    text.push(separator);
                }
                self.push(cell, text)?;
            }
            writeln!(text)
        })
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let json = |(name, _): &&(String, _)| format!("{}:", serde_json::Value::from(&name[..]));
        let names: Vec<String> = self.columns.iter().map(json).collect();
        self.text(out, |row, text| {
            for (at, (name, cell)) in names.iter().zip(self.cells(row)).enumerate() {
                text.push(if at == 0 { b'{' } else { b',' });
                text.extend_from_slice(name.as_bytes());
                match cell {
                    Cell::Empty | Cell::Infinite => write!(text, "null")?,
                    Cell::F32(value) if !value.is_finite() => write!(text, "null")?,
                    Cell::F64(value) | Cell::Distance(value) if !value.is_finite() => {
                        write!(text, "null")?
                    }
                    Cell::Node(node) => serde_json::to_writer(&mut *text, &self.graph.id(node))?,
                    cell => self.push(cell, text)?,
                }
            }
            writeln!(text, "}}")
        })
    }

    /// `[n]`, or `[n, k]` of several columns of one type, as NumPy stores it.
    fn array(&self, out: &mut dyn Write, columns: &[(String, Column<'_>)]) -> io::Result<()> {
        let Some((_, first)) = columns.first() else { return Ok(()) };
        let shape = match columns.len() {
            1 => format!("({},)", self.n),
            k => format!("({}, {k})", self.n),
        };
        out.write_all(&npy::header(first.kind(), &shape))?;
        self.text(out, |row, bytes| {
            columns.iter().for_each(|(_, column)| column.push_bytes(self.graph, row, bytes));
            Ok(())
        })
    }

    /// An array a column, or the nodes and the matrix, each a member of a zip archive, as `numpy.savez_compressed` writes it.
    fn archive(&self, out: &mut dyn Write, grid: Option<&Grid<'_>>) -> io::Result<()> {
        let mut zip = ZipWriter::new_stream(out);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(1))
            .large_file(self.n >= 1 << 28);
        for column in &self.columns {
            zip.start_file(format!("{}.npy", column.0), options)?;
            let (name, values) = column;
            match (grid, values) {
                (None, _) => self.array(&mut zip, std::slice::from_ref(*column))?,
                (_, Column::Each(nodes, _) | Column::Again(nodes, _)) => {
                    let ends = Rows { n: nodes.len(), columns: Vec::new(), ..*self };
                    ends.array(&mut zip, &[(name.clone(), Column::Node(nodes))])?;
                }
                (Some(grid), _) => matrix(&mut zip, grid)?,
            }
        }
        zip.finish()?.into_inner().flush()
    }
}

/// Bytes that are written at a time.
const PIECE: usize = 1 << 24;

/// `[rows, columns]`, as NumPy stores it.
fn matrix(out: &mut dyn Write, grid: &Grid<'_>) -> io::Result<()> {
    let Grid { rows, columns, values } = grid;
    let shape = format!("({}, {})", rows.len(), columns.len());
    out.write_all(&npy::header(values.kind(), &shape))?;
    let values =
        values.bytes().ok_or_else(|| io::Error::other("a matrix of nodes; this is a bug"))?;
    values.chunks(PIECE).try_for_each(|piece| out.write_all(piece))
}

/// The shortest text that parses back to the same number; with an exponent where it would be long.
fn push_distance<D>(text: &mut Vec<u8>, distance: D) -> io::Result<()>
where
    D: Copy + Into<f64> + Display + LowerExp,
{
    let value: f64 = distance.into();
    let plain = value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs());
    if plain { write!(text, "{distance}") } else { write!(text, "{distance:e}") }
}

#[cfg(not(feature = "parquet"))]
mod parquet {
    /// Such a program refuses the format before there is anything to write.
    pub(super) fn write(_: &mut dyn std::io::Write, _: &super::Rows<'_>) -> std::io::Result<()> {
        Err(std::io::Error::other("this program was built without Parquet"))
    }
}

#[cfg(feature = "parquet")]
mod parquet {
    use super::{Cell, Column, Rows};
    use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
    use ::parquet::data_type::{ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
    use ::parquet::errors::ParquetError;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
    use ::parquet::schema::types::Type;
    use std::io::{self, Write};
    use std::sync::Arc;

    /// Rows of a group.
    const GROUP: usize = 1 << 20;

    pub(super) fn write(out: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        // The library's writer wants to be sent to another thread; the bytes of a group are not.
        let mut bytes = Vec::new();
        to(&mut bytes, rows).map_err(io::Error::other)?;
        out.write_all(&bytes)
    }

    /// Ids may be names.
    fn physical(column: &Column<'_>, names: bool) -> Physical {
        match column {
            _ if names && column.is_nodes() => Physical::BYTE_ARRAY,
            Column::F32(_) => Physical::FLOAT,
            Column::F64(_) | Column::Distance(_) => Physical::DOUBLE,
            _ => Physical::INT64,
        }
    }

    fn to(bytes: &mut Vec<u8>, rows: &Rows<'_>) -> Result<(), ParquetError> {
        let named = rows.graph.has_text_ids();
        let fields = rows.columns.iter().map(|(name, column)| {
            let kind = physical(column, named);
            let field =
                Type::primitive_type_builder(name, kind).with_repetition(Repetition::OPTIONAL);
            // Ids and totals may take all 64 bits.
            let field = match kind {
                Physical::BYTE_ARRAY => field.with_logical_type(Some(LogicalType::String)),
                Physical::INT64 => field.with_logical_type(Some(LogicalType::integer(64, false))),
                _ => field,
            };
            field.build().map(Arc::new)
        });
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut file = SerializedFileWriter::new(bytes, schema, Arc::new(properties))?;
        for begin in (0..rows.n).step_by(GROUP) {
            let places: Vec<usize> =
                (begin..rows.n.min(begin + GROUP)).map(|place| rows.row(place)).collect();
            let mut group = file.next_row_group()?;
            for (_, column) in &rows.columns {
                let cells = places.iter().map(|row| column.cell(*row));
                let Some(mut writer) = group.next_column()? else { break };
                match physical(column, named) {
                    Physical::BYTE_ARRAY => {
                        put::<ByteArrayType>(&mut writer, cells, |cell| match cell {
                            Cell::Node(node) => {
                                Some(rows.graph.id(node).to_string().into_bytes().into())
                            }
                            _ => None,
                        })
                    }
                    Physical::FLOAT => put::<FloatType>(&mut writer, cells, |cell| match cell {
                        Cell::F32(value) => Some(value),
                        _ => None,
                    }),
                    Physical::DOUBLE => put::<DoubleType>(&mut writer, cells, |cell| match cell {
                        Cell::F64(value) | Cell::Distance(value) => Some(value),
                        _ => None,
                    }),
                    _ => put::<Int64Type>(&mut writer, cells, |cell| match cell {
                        Cell::Whole(value) => Some(value as i64),
                        Cell::Node(node) => Some(rows.graph.input_id(node) as i64),
                        _ => None,
                    }),
                }?;
                writer.close()?;
            }
            group.close()?;
        }
        file.close().map(drop)
    }

    /// A column of a group: its values, and where there is none.
    fn put<T: DataType>(
        writer: &mut SerializedColumnWriter<'_>,
        cells: impl Iterator<Item = Cell>,
        value: impl Fn(Cell) -> Option<T::T>,
    ) -> Result<(), ParquetError> {
        let cells: Vec<Option<T::T>> = cells.map(value).collect();
        let there: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let values: Vec<T::T> = cells.into_iter().flatten().collect();
        writer.typed::<T>().write_batch(&values, Some(&there), None).map(drop)
    }
}

#[cfg(test)]
#[path = "columns_tests.rs"]
mod tests;
