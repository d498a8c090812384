//! A graph on a fleet, for operators.

use crate::answer::Column;
use crate::copies::{Copies, Held, gather, merge_all, operation, run};
use crate::error::{bug, raised};
use crate::fleets::{Shared, is_open};
use crate::wait::at_once;
use hivegraph::collective::Shares;
use hivegraph::layout::Resident;
use hivegraph::operator::Over;
use hivegraph::prelude::Replica;
use pyo3::prelude::*;
use std::sync::Arc;

/// A graph on a fleet.
#[pyclass(frozen, module = "hivegraph._core")]
pub struct Place {
    pub name: String,
    pub fleet: Shared,
    pub resident: Arc<Resident>,
    pub on_gpus: bool,
    pub shares: Shares,
}

#[pymethods]
impl Place {
    /// How many replicas there are.
    #[getter]
    fn replicas(&self) -> usize {
        self.resident.chunks().bounds().len() - 1
    }

    #[getter]
    fn on_gpus(&self) -> bool {
        self.on_gpus
    }

    /// Whether the fleet is there: it was not closed, and nothing on it has failed.
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| is_open(&self.name, &self.fleet))
    }

    /// Whether rows backward are there.
    #[getter]
    fn backward(&self) -> bool {
        self.resident.has_backward()
    }

    /// Where the nodes of each replica begin, and where the last one's end.
    fn chunks(&self) -> Vec<u64> {
        self.resident.chunks().bounds().to_vec()
    }

    /// The same of the indices below `count`.
    fn slices(&self, count: usize) -> Vec<u64> {
        Over::slices(count, &self.shares).bounds().to_vec()
    }

    /// Where each node's row backward begins, its neighbours, and the weights of these arcs. On the host.
    fn rows_backward(&self) -> PyResult<(Column, Column, Option<Column>)> {
        let resident = self.resident.clone();
        let Some(rows) = self.resident.rows_in() else { return Err(bug("no rows backward")) };
        let column = |at, length, kind| Column::new(resident.clone(), at, length, kind);
        let (offsets, columns) = (rows.offsets(), rows.columns());
        Ok((
            column(offsets.as_ptr() as usize, offsets.len(), "<u8"),
            column(columns.as_ptr() as usize, columns.len(), "<u4"),
            rows.weights().map(|all| column(all.as_ptr() as usize, all.len(), "<f4")),
        ))
    }

    /// An array of zeros with an element a node, an arc, or an index below `length`, or an empty set of nodes.
    fn array(
        &self,
        py: Python<'_>,
        of: String,
        length: usize,
        dtype: String,
        op: &str,
    ) -> PyResult<Copies> {
        let op = operation(op).map_err(|error| raised(py, &error))?;
        at_once(py, || Held::new(self, of, length, dtype, op).map(|held| Copies(Arc::new(held))))
    }

    /// Merges what host replicas have written: arrays and sets by their operations, and what `gathered` holds by owners of nodes.
    fn merge(
        &self,
        py: Python<'_>,
        written: Vec<PyRef<'_, Copies>>,
        gathered: Option<PyRef<'_, Copies>>,
    ) -> PyResult<()> {
        let written: Vec<Arc<Held>> = written.iter().map(|copies| copies.0.clone()).collect();
        let gathered = gathered.map(|copies| copies.0.clone());
        let (name, fleet, resident) =
            (self.name.clone(), self.fleet.clone(), self.resident.clone());
        at_once(py, move || {
            let merge = move |r: &mut Replica| {
                let mut all: Vec<_> = written.iter().map(|held| held.write(r.rank())).collect();
                merge_all(r, &mut all)?;
                gathered.as_ref().map_or(Ok(()), |held| gather(r, held, &resident))
            };
            run((&name, &fleet), merge).map(drop)
        })
    }
}
