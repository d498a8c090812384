use super::super::planned::{Planned, replicas};
use super::*;
use crate::run::{RunConfig, workload};
use serde_json::json;

/// A cell of `sssp`; its record has these keys, too.
fn cell(dataset: &str, devices: &str, more: Value) -> Cell {
    let devices: crate::fleet::Devices = devices.parse().unwrap();
    let mut record = json!({
        "dataset": dataset,
        "status": "done",
        "coordinates": {
            "workload": "sssp", "graph": dataset, "devices": devices, "replicas": replicas(&devices),
            "collective": "auto", "merge": "auto",
        },
        "measured": { "reached": 7 },
        "verified": "yes",
    });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let config = RunConfig { graph: Some(dataset.into()), devices, ..RunConfig::default() };
    Cell::of(&Planned::alone(workload("sssp").unwrap(), config, false), &record)
}

fn timed(dataset: &str, devices: &str, median: f64) -> Cell {
    cell(dataset, devices, json!({ "process-time": { "median": median } }))
}

fn skipped(dataset: &str, devices: &str) -> Cell {
    cell(
        dataset,
        devices,
        json!({ "status": "skipped", "error": "no such device", "verified": null }),
    )
}

#[test]
fn speed_ups_are_against_the_fewest_replicas_of_the_same_graph() {
    let cells = [
        timed("a", "host:2", 4.0),
        timed("b", "host:1", 3.0),
        timed("a", "host:1", 8.0),
        skipped("b", "host:2"),
    ];
    let text = table(&cells).to_string();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert!(rows[0].contains(" a ") && rows[0].contains("2.00"), "{text}");
    assert!(rows[1].contains(" a ") && rows[1].contains("1.00"), "graphs together: {text}");
    assert!(rows[3].contains("skipped") && rows[3].ends_with("no such device"), "{text}");
    assert!(scaling_table(&cells).is_none());
}

#[test]
fn a_wrong_answer_is_bad_and_a_skipped_cell_is_neither_good_nor_bad() {
    let fine = timed("a", "host", 1.0);
    assert!(fine.is_good() && !fine.is_bad());
    let time = json!({ "median": 1.0 });
    let wrong = json!({ "status": "failed", "verified": "no", "process-time": time });
    let wrong = cell("a", "host", wrong);
    assert!(wrong.is_bad() && !wrong.is_good());
    assert!(table(&[wrong]).to_string().contains("NO"));
    let partly = cell("a", "host", json!({ "verified": "partly", "process-time": time }));
    assert!(!partly.is_bad(), "what was not looked at is not wrong");
    let text = table(&[partly]).to_string();
    assert!(text.contains("partly") && !text.contains("yes"), "{text}");
    let skipped = skipped("a", "host");
    assert!(!skipped.is_bad() && !skipped.is_good());
}

#[test]
fn efficiency_is_over_the_devices_when_scaling_is_strong_and_of_time_alone_when_it_is_weak() {
    for (scaling, efficiency) in [("strong", "0.25"), ("weak", "1.00")] {
        let in_series = |devices, arcs: u32| {
            let runs =
                json!([{ "total_ms": 8.0, "step_ms": 5.0, "merge_ms": 2.0, "other_ms": 1.0 }]);
            let more = json!({
                "series": "s", "scaling": scaling, "graph-edges": arcs, "process-time": { "median": 8.0 },
                "arcs-per-second": f64::from(arcs) * 125.0, "measured": { "runs": runs },
            });
            cell("a", devices, more)
        };
        let cells = [in_series("host:2", 1000), in_series("host:8", 3900)];
        let text = scaling_table(&cells).unwrap().to_string();
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        let figures =
            ["3,900", "8.000", "1.00", efficiency, "0.5", "3.90", "5.000", "2.000", "1.000"];
        assert!(last.ends_with(&figures), "{text}");
    }
}

#[test]
fn studies_of_a_series_stand_together() {
    let cells = [("a", "host:1"), ("b", "host:1"), ("a", "host:2"), ("b", "host:2")].map(
        |(graph, devices)| {
            let time = json!({ "median": 1.0 });
            cell(
                graph,
                devices,
                json!({ "series": "s", "scaling": "strong", "process-time": time }),
            )
        },
    );
    let text = scaling_table(&cells).unwrap().to_string();
    let graphs: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert_eq!(graphs, ["a", "a", "b", "b"], "{text}");
}
