//! A memory limit of what a loaded graph needs lets every workload run; one of nine tenths refuses it before it runs.

use crate::common;

use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::generate::generate;
use hivegraph::layout::{Form, memory::total};
use hivegraph::run::{Job, RunConfig, WORKLOADS, prepare};
use std::sync::Arc;

#[test]
fn a_limit_of_what_a_graph_needs_is_enough_and_nine_tenths_are_refused() {
    if !common::has_gpu() {
        return;
    }
    let open = |devices: &str, memory_limit| {
        let config = FleetConfig { memory_limit, ..FleetConfig::default() };
        common::open(devices, CollectiveKind::Auto, config)
    };
    let mut fleets = vec![("cuda:0".to_string(), 1), ("cuda:0x4".into(), 4)];
    fleets.extend(common::spans(&[2], &[CollectiveKind::Peer]).into_iter().map(|f| (f.0, 1)));
    for spec in ["rmat:16", "road:16", "geo:60000"] {
        let graph = Arc::new(generate(spec).unwrap());
        for workload in WORKLOADS {
            let seeds = if workload.takes("seeds") { "seeds = 'first:3'" } else { "" };
            let config: RunConfig = toml::from_str(&format!("graph = '{spec}'\n{seeds}")).unwrap();
            if spec != "geo:60000" && workload.takes("labels") {
                continue;
            }
            for (devices, sharers) in &fleets {
                let job = match workload.form {
                    Form::Array => Job::on_array(workload, RunConfig::default()),
                    _ => Job::new(workload, config.clone(), graph.clone()),
                };
                let job = job.unwrap();
                let world = open(devices, None).info().world;
                let needs = sharers * total(&job.query.arrays(world));
                let what = format!("{} of {spec} on {devices}, {needs} bytes", workload.name);

                let enough = open(devices, Some(needs));
                let prepared = prepare(&job, &enough).unwrap_or_else(|e| panic!("{what}: {e}"));
                let answer = job.solve(&enough, &prepared);
                let answer = answer.unwrap_or_else(|e| panic!("{what}: {e}"));
                answer.verify().unwrap_or_else(|e| panic!("{what}: {e}"));

                let short = open(devices, Some(needs / 10 * 9));
                let Err(refusal) = prepare(&job, &short) else { panic!("{what}: not refused") };
                let refusal = refusal.to_string();
                assert!(refusal.contains("--memory-limit"), "{what}: {refusal}");
                assert!(refusal.contains(workload.name), "{what}: {refusal}");
            }
        }
    }
}
