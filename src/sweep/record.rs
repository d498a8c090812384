//! The record of a cell: that of its run, or of why there is none, and where in the sweep it belongs.

use super::cell::Refusal;
use super::planned::{Planned, replicas};
use crate::Result;
use crate::fleet::Devices;
use crate::report::{self, Failure, command_line, utc};
use crate::{Error, run::RunConfig};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// A run's record; a wrong answer is a failure, with its message.
pub(super) fn of_run(mut record: Value) -> Value {
    // A child's is its own.
    record["command-line"] = command_line().into();
    let wrong = record["verified"] == "no";
    record["status"] = if wrong { "failed" } else { "done" }.into();
    if wrong {
        record["error"] = record["verification"]["message"].clone();
    }
    record
}

/// The record of a cell that did not run.
pub(super) fn of_refusal(cell: &Planned, refusal: &Refusal) -> Result<Value> {
    let (status, error) = match refusal {
        Refusal::Skipped(error) => ("skipped", error),
        Refusal::Failed(error) => ("failed", error),
    };
    let failure = Failure {
        primitive: cell.workload.primitive,
        dataset: &cell.dataset,
        status,
        error,
        config: &cell.config,
        command_line: command_line(),
        time: utc(SystemTime::now()),
        version: report::VERSION,
        commit: report::COMMIT,
    };
    let mut record = serde_json::to_value(failure)
        .map_err(|e| Error::input(format!("this record cannot be written as JSON: {e}")))?;
    record["tag"] = tags(&cell.config.devices).into();
    Ok(record)
}

/// As those of a run, as far as they are known without one.
fn tags(devices: &Devices) -> Vec<String> {
    let count = replicas(devices);
    let gpus = match devices {
        Devices::Host(_) => 0,
        Devices::Auto | Devices::AllCuda => count,
        Devices::Cuda(list) => {
            (0..list.len()).filter(|at| !list[..*at].contains(&list[*at])).count()
        }
    };
    vec![format!("num-gpus:{gpus}"), format!("num-replicas:{count}")]
}

/// Where the cell belongs, and how long it took, all in all.
pub(super) fn complete(record: &mut Value, cell: &Planned, took: Duration) {
    let RunConfig { devices, collective, merge, chunks, placement, layout, .. } = &cell.config;
    record["coordinates"] = json!({
        "workload": cell.workload.name,
        "graph": cell.graph,
        "devices": devices,
        "replicas": replicas(devices),
        "collective": collective,
        "merge": merge.word(),
        "chunks": chunks,
        "placement": placement,
        "layout": layout,
        "variant": cell.variant,
    });
    if let Some((name, scaling)) = &cell.series {
        record["series"] = name.as_str().into();
        record["scaling"] = scaling.word().into();
    }
    record["cell-ms"] = (took.as_secs_f64() * 1e3).into();
}
