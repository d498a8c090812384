//! What a run has answered, as columns that NumPy looks at where they are.

use crate::dlpack::Shown;
use crate::error::bug;
use crate::wait::at_once;
use hivegraph::algorithm::{HostWords, LeftArray, LeftColumn, LeftMeaning};
use hivegraph::collective::Dtype;
use hivegraph::io::{Column as Values, Table};
use hivegraph::report::Record;
use hivegraph::run::{Outcome, Verdict};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use std::any::Any;
use std::sync::Arc;

/// What a run has answered.
#[pyclass(frozen, module = "hivegraph._core")]
pub struct Answer(pub Arc<Outcome>);

/// A column of an answer: on the host `numpy.asarray` sees it without a copy, and keeps the answer alive.
#[pyclass(frozen, module = "hivegraph._core")]
pub struct Column {
    /// Held for the values.
    owner: Arc<dyn Any + Send + Sync>,
    at: usize,
    length: usize,
    /// Columns of a matrix.
    columns: Option<usize>,
    kind: &'static str,
    writable: bool,
    /// The values, where they are on a GPU.
    on_gpu: Option<LeftArray>,
}

impl Column {
    /// Of `length` values that `owner` keeps at `at`.
    pub fn new(
        owner: Arc<dyn Any + Send + Sync>,
        at: usize,
        length: usize,
        kind: &'static str,
    ) -> Column {
        Column { owner, at, length, columns: None, kind, writable: false, on_gpu: None }
    }

    /// Of values that were left on a GPU.
    fn left(left: LeftArray, columns: Option<usize>) -> Column {
        let (at, length, kind) = (left.address() as usize, left.len(), kind_of(left.dtype()));
        let column = Column::new(Arc::new(left.clone()), at, length, kind).of_grid(columns);
        Column { on_gpu: Some(left), ..column }
    }

    fn shape(&self) -> Vec<usize> {
        match self.columns {
            Some(columns) => vec![self.length / columns.max(1), columns],
            None => vec![self.length],
        }
    }

    /// The same as a matrix.
    fn of_grid(self, columns: Option<usize>) -> Column {
        Column { columns, ..self }
    }

    /// The same, to be written to as well.
    pub fn writable(self) -> Column {
        Column { writable: true, ..self }
    }
}

/// A type, as NumPy names it.
pub fn kind_of(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U8 => "|u1",
        Dtype::U32 => "<u4",
        Dtype::U64 => "<u8",
        Dtype::I32 => "<i4",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
    }
}

impl Answer {
    fn table_of(&self, paths: bool) -> Option<Table<'_>> {
        match paths {
            true => self.0.paths.as_ref().map(|paths| paths.table()),
            false => Some(self.0.answer.table()),
        }
    }

    fn listed(&self, paths: bool) -> Vec<(String, &'static str, Column)> {
        let left = if paths { Vec::new() } else { self.0.answer.left() };
        if !left.is_empty() {
            let column = |column: LeftColumn| {
                let means = match column.means {
                    LeftMeaning::Number => "number",
                    LeftMeaning::Count => "count",
                    LeftMeaning::Node => "node",
                };
                (column.name, means, Column::left(column.array, column.width))
            };
            return left.into_iter().map(column).collect();
        }
        let Some(table) = self.table_of(paths) else { return Vec::new() };
        let column = |(name, values): &(String, Values<'_>)| {
            let (means, kind, at, length) = match values {
                Values::F32(all) => ("number", "<f4", all.as_ptr() as usize, all.len()),
                Values::F64(all) | Values::Distance(all) => {
                    ("number", "<f8", all.as_ptr() as usize, all.len())
                }
                Values::Total(all) => ("number", "<u8", all.as_ptr() as usize, all.len()),
                Values::Value(all) => ("number", "<u4", all.as_ptr() as usize, all.len()),
                Values::Count(all) | Values::Maybe(all) => {
                    ("count", "<u4", all.as_ptr() as usize, all.len())
                }
                Values::Count8(all) => ("number", "|u1", all.as_ptr() as usize, all.len()),
                Values::Count16(all) => ("number", "<u2", all.as_ptr() as usize, all.len()),
                Values::Node(all)
                | Values::Part(all, _, _)
                | Values::Each(all, _)
                | Values::Again(all, _) => ("node", "<u4", all.as_ptr() as usize, all.len()),
            };
            let column = Column::new(self.0.clone(), at, length, kind);
            let columns = table.grid().filter(|_| means != "node").map(|grid| grid.columns.len());
            let means = if columns.is_some() { "number" } else { means };
            // Columns that lie together are one.
            let (name, columns) = match values {
                Values::Part(_, width, _) => (name.split('.').next().unwrap_or(name), Some(*width)),
                _ => (name.as_str(), columns),
            };
            (name.to_string(), means, column.of_grid(columns))
        };
        let whole = |values: &Values<'_>| !matches!(values, Values::Part(_, _, 1..));
        table.columns().iter().filter(|(_, values)| whole(values)).map(column).collect()
    }
}

#[pymethods]
impl Answer {
    /// Name, what the values mean (number, count, node) and values of each column.
    fn columns(&self) -> Vec<(String, &'static str, Column)> {
        self.listed(false)
    }

    /// Whether the columns have a value a node.
    fn is_of_nodes(&self) -> bool {
        self.0.answer.table().is_of_nodes()
    }

    /// The same of the paths that were asked for.
    fn paths(&self) -> Vec<(String, &'static str, Column)> {
        self.listed(true)
    }

    /// The record of the run, as JSON.
    fn record(&self) -> PyResult<String> {
        serde_json::to_string(&Record::of(&self.0)).map_err(|error| bug(&error.to_string()))
    }

    /// Whether the answer was checked: yes, partly, no, or None where nobody asked; and what is to be said of it.
    fn verified(&self) -> Option<(&'static str, Option<String>)> {
        let checked = self.0.verification.as_ref()?;
        let verdict = match checked.verdict {
            Verdict::Yes => "yes",
            Verdict::Partly => "partly",
            Verdict::No => "no",
        };
        Some((verdict, checked.message.clone()))
    }

    /// Milliseconds of each run.
    fn runs_ms(&self) -> Vec<f64> {
        self.0.answer.measured().runs.iter().map(|run| run.total_ms).collect()
    }

    /// Milliseconds of each stage: loading, building, laying out, the last run, bringing the answer here.
    fn stages_ms(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let (origin, measured) = (&self.0.job.graph.origin, self.0.answer.measured());
        let stages = PyDict::new(py);
        stages.set_item("load", origin.load_ms)?;
        stages.set_item("build", origin.build_ms)?;
        stages.set_item("prepare", self.0.prepare.prepare_ms + self.0.prepare.upload_ms)?;
        stages.set_item("compile", self.0.prepare.compile_ms)?;
        stages.set_item("run", measured.runs.last().map_or(0.0, |run| run.total_ms))?;
        stages.set_item("download", measured.download_ms + measured.chains_ms)?;
        Ok(stages.unbind())
    }

    /// What ran on what, in a line.
    fn summary(&self) -> String {
        let lines = self.0.answer.lines();
        lines.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join("; ")
    }

    /// The name of the workload.
    fn workload(&self) -> &'static str {
        self.0.job.workload.name
    }
}

#[pymethods]
impl Column {
    /// The number of the GPU that has the values; None on the host.
    #[getter]
    fn gpu(&self) -> Option<u32> {
        self.on_gpu.as_ref().map(LeftArray::gpu)
    }

    /// Where the first value is, on the host or on the GPU.
    #[getter]
    fn address(&self) -> usize {
        self.at
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    #[getter(shape)]
    fn shape_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.shape())
    }

    /// The values on the host: the same, or, where they are on a GPU, a copy.
    fn on_host(slf: Bound<'_, Column>) -> PyResult<Bound<'_, Column>> {
        let (py, own) = (slf.py(), slf.get());
        let Some(left) = &own.on_gpu else { return Ok(slf) };
        let words = at_once(py, || left.to_host())?;
        let at = match &words {
            HostWords::Four(all) => all.as_ptr() as usize,
            HostWords::Eight(all) => all.as_ptr() as usize,
        };
        let copy = Column::new(Arc::new(words), at, own.length, own.kind).of_grid(own.columns);
        Bound::new(py, copy)
    }

    /// A copy where the values are.
    fn copied(&self, py: Python<'_>) -> PyResult<Column> {
        if let Some(left) = &self.on_gpu {
            return Ok(Column::left(at_once(py, || left.copied())?, self.columns));
        }
        let bytes: usize = self.kind[2..].parse().map_err(|_| bug("a type without a size"))?;
        // SAFETY: the owner keeps so many values of so many bytes there, which it does not write.
        let values = unsafe {
            std::slice::from_raw_parts(
                self.at as *const u8,
                if self.length > 0 { self.length * bytes } else { 0 },
            )
        };
        // Words of eight bytes, so that values of any type are aligned.
        let mut words = vec![0u64; values.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..values.len()].copy_from_slice(values);
        let at = words.as_ptr() as usize;
        Ok(Column::new(Arc::new(words), at, self.length, self.kind).of_grid(self.columns))
    }

    /// A capsule of DLPack that shows the values as `kind`; with flags of version 1, or of the one before, which has none.
    fn dlpack<'py>(
        &self,
        py: Python<'py>,
        kind: String,
        flags: Option<u64>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let (owner, shape, gpu) = (self.owner.clone(), self.shape(), self.gpu());
        let versioned = flags.is_some();
        let flags = flags.unwrap_or(0);
        Shown { owner, at: self.at, shape, kind, gpu, flags }.capsule(py, versioned)
    }

    #[getter]
    fn __array_interface__(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        if self.on_gpu.is_some() {
            return Err(PyAttributeError::new_err("the values are on a GPU"));
        }
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, self.shape())?)?;
        interface.set_item("typestr", self.kind)?;
        interface.set_item("data", (self.at, !self.writable))?;
        Ok(interface.unbind())
    }
}
