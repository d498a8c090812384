use super::super::cell::Done;
use super::*;
use crate::algorithm::MergeMode;
use crate::report::Spread;

fn cell(dataset: &str, devices: &str, median: Option<f64>) -> Cell {
    let state = match median {
        Some(median) => State::Done(Done {
            reached: 7,
            time: Spread { median, ..Spread::default() },
            verified: Some(Verdict::Yes),
            used: "host".into(),
            ..Done::default()
        }),
        None => State::Skipped { error: "no such device".into() },
    };
    let devices: crate::fleet::Devices = devices.parse().unwrap();
    Cell {
        cell: String::new(),
        workload: "sssp",
        graph: dataset.into(),
        dataset: dataset.into(),
        series: None,
        scaling: None,
        replicas: super::super::planned::replicas(&devices),
        devices,
        collective: Default::default(),
        merge: MergeMode::Auto,
        chunks: Default::default(),
        placement: Default::default(),
        layout: Default::default(),
        variant: String::new(),
        file: String::new(),
        state,
    }
}

#[test]
fn speed_ups_are_against_the_fewest_replicas_of_the_same_graph() {
    let cells = [
        cell("a", "host:2", Some(4.0)),
        cell("b", "host:1", Some(3.0)),
        cell("a", "host:1", Some(8.0)),
        cell("b", "host:2", None),
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
    let mut wrong = cell("a", "host", Some(1.0));
    assert!(wrong.is_good() && !wrong.is_bad());
    if let State::Done(done) = &mut wrong.state {
        done.verified = Some(Verdict::No);
    }
    assert!(wrong.is_bad() && !wrong.is_good());
    if let State::Done(done) = &mut wrong.state {
        done.verified = Some(Verdict::Partly);
    }
    assert!(!wrong.is_bad(), "what was not looked at is not wrong");
    let text = table(&[wrong]).to_string();
    assert!(text.contains("partly") && !text.contains("yes"), "{text}");
    let skipped = cell("a", "host", None);
    assert!(!skipped.is_bad() && !skipped.is_good());
}

#[test]
fn efficiency_is_over_the_devices_when_scaling_is_strong_and_of_time_alone_when_it_is_weak() {
    for (scaling, efficiency) in [(Scaling::Strong, "0.25"), (Scaling::Weak, "1.00")] {
        let in_series = |devices, arcs| {
            let mut cell = cell("a", devices, Some(8.0));
            (cell.series, cell.scaling) = (Some("s".into()), Some(scaling));
            if let State::Done(done) = &mut cell.state {
                (done.arcs, done.arcs_per_second) = (arcs, arcs as f64 * 125.0);
                done.split = [5.0, 2.0, 1.0];
            }
            cell
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
            let mut cell = cell(graph, devices, Some(1.0));
            (cell.series, cell.scaling) = (Some("s".into()), Some(Scaling::Strong));
            cell
        },
    );
    let text = scaling_table(&cells).unwrap().to_string();
    let graphs: Vec<&str> =
        text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert_eq!(graphs, ["a", "a", "b", "b"], "{text}");
}
