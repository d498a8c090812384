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
    let mut wrong: Vec<String> = Vec::new();
    for spec in ["rmat:16", "road:16", "geo:60000"] {
        let graph = Arc::new(generate(spec).unwrap());
        for workload in WORKLOADS {
            let seeds = if workload.has_own_option("seeds") { "seeds = 'first:3'" } else { "" };
            let config: RunConfig = toml::from_str(&format!("graph = '{spec}'\n{seeds}")).unwrap();
            // None of the graphs is bipartite.
            let lacks_places = spec != "geo:60000" && workload.has_own_option("labels");
            if lacks_places || workload.has_own_option("side") {
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
                let verified = prepare(&job, None, &enough).and_then(|prepared| {
                    let answer = job.solve(&enough, &prepared)?;
                    answer.verify(&prepared.checker(&enough)?)
                });
                if let Err(error) = verified {
                    wrong.push(format!("{what}: {error}"));
                }

                let short = open(devices, Some(needs / 10 * 9));
                let refusal = prepare(&job, None, &short).err().map(|e| e.to_string());
                let refusal = refusal.unwrap_or_default();
                if !(refusal.contains("--memory-limit") && refusal.contains(workload.name)) {
                    wrong.push(format!("{what}, nine tenths: '{refusal}'"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
