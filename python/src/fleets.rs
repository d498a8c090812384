//! Fleets that stay open: the second question to the same devices costs the run alone.

use crate::wait::wait;
use hivegraph::Result;
use hivegraph::fleet::{Fleet, FleetConfig};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A fleet. Who computes on it holds the lock.
pub type Shared = Arc<Mutex<Fleet>>;

/// By what was asked for.
static OPEN: Mutex<Option<HashMap<String, Shared>>> = Mutex::new(None);

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The fleet that was asked for, and its name.
pub fn fleet(config: FleetConfig) -> Result<(String, Shared)> {
    let name = format!("{config:?}");
    let mut open = lock(&OPEN);
    let open = open.get_or_insert_default();
    if let Some(fleet) = open.get(&name) {
        return Ok((name, fleet.clone()));
    }
    let fleet = Arc::new(Mutex::new(Fleet::open(config)?));
    open.insert(name.clone(), fleet.clone());
    Ok((name, fleet))
}

/// Whether this is the fleet that who asks for it gets.
pub fn is_open(name: &str, fleet: &Shared) -> bool {
    let open = lock(&OPEN);
    open.as_ref().and_then(|open| open.get(name)).is_some_and(|open| Arc::ptr_eq(open, fleet))
}

/// A fleet on which a run has failed, for whatever reason, is of no use any more.
pub fn forget(name: &str, fleet: &Shared) {
    if let Some(open) = &mut *lock(&OPEN)
        && open.get(name).is_some_and(|open| Arc::ptr_eq(open, fleet))
    {
        open.remove(name);
    }
}

/// Closes all fleets that no graph is on: their GPUs are free afterwards.
#[pyfunction]
pub fn close(py: Python<'_>) -> PyResult<()> {
    let closed = lock(&OPEN).take();
    wait(py, move || {
        drop(closed);
        Ok(())
    })
}
