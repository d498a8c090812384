//! Errors of the engine as exceptions of the package, with the same words.

use hivegraph::Error;
use pyo3::prelude::*;

/// The exception of an error: which class, `hivegraph._errors` says.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::Input(_) => "InputError",
        Error::Machine(_) => "MachineError",
        Error::Verify(_) => "VerificationError",
        Error::Fault { .. } | Error::Device { .. } | Error::Lost(_) => "FaultError",
    };
    let words = error.to_string();
    let made = py
        .import("hivegraph._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((words,)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// What a bug of the engine is told as.
pub fn bug(what: &str) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(format!("{what}; this is a bug of hivegraph"))
}
