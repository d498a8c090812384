//! The record of a cell: that of its run, or of why there is none, and where in the sweep it belongs.

use super::cell::Refusal;
use super::planned::{AXES, Planned};
use crate::report::{COMMIT, VERSION, command_line, utc};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// What `records.jsonl` and the file of the cell say; a wrong answer is a failure, with its message.
pub(super) fn of(cell: &Planned, result: Result<Value, Refusal>, took: Duration) -> Value {
    let mut record = match result {
        Ok(mut record) => {
            let wrong = record["verified"] == "no";
            record["status"] = if wrong { "failed" } else { "done" }.into();
            if wrong {
                record["error"] = record["verification"]["message"].clone();
            }
            record
        }
        Err(Refusal::Skipped(why)) => without_run(cell, "skipped", &why),
        Err(Refusal::Failed(why)) => without_run(cell, "failed", &why),
    };
    // A child's command is its own.
    record["command-line"] = command_line().into();
    let devices = &cell.config.devices;
    // Several hosts have as many each.
    let world = record["fleet"]["world"].as_u64().map(|world| world as usize);
    record["coordinates"] = json!({
        "workload": cell.workload.name,
        "graph": cell.graph,
        "devices": devices,
        "replicas": world.unwrap_or_else(|| cell.replicas()),
        "variant": cell.variant,
    });
    for (axis, _) in AXES {
        record["coordinates"][axis] = cell.coordinate(axis).into();
    }
    if let Some((name, scaling)) = &cell.series {
        record["series"] = name.as_str().into();
        record["scaling"] = scaling.word().into();
    }
    record["cell-ms"] = (took.as_secs_f64() * 1e3).into();
    record
}

fn without_run(cell: &Planned, status: &str, why: &str) -> Value {
    json!({
        "primitive": cell.workload.primitive,
        "dataset": cell.dataset,
        "status": status,
        "error": why,
        "config": cell.config,
        "time": utc(SystemTime::now()),
        "version": VERSION,
        "commit": COMMIT,
        "tag": [
            format!("num-gpus:{}", cell.gpus()),
            format!("num-replicas:{}", cell.replicas()),
        ],
    })
}
