//! Workloads of the registry, run as `hive run` runs them.

use super::{cuda_fleets, open};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig};
use hivegraph::graph::Graph;
use hivegraph::run::{Answer, Choice, Job, RunConfig, prepare, workload};
use std::any::Any;
use std::sync::Arc;

/// What replicas of workloads are tested on: the host, and the GPUs of this machine.
pub fn all_fleets() -> Vec<(String, CollectiveKind)> {
    let host = ["host:1", "host:3", "host:5"].map(|fleet| (fleet.into(), CollectiveKind::Host));
    host.into_iter().chain(cuda_fleets()).collect()
}

/// Opens one of them, with random delays and numbers of blocks.
pub fn open_perturbed(fleet: &(String, CollectiveKind), perturb: Option<u64>) -> Fleet {
    let more = FleetConfig { perturb, deadline_s: 60.0, ..FleetConfig::default() };
    open(&fleet.0, fleet.1, more)
}

/// The answer of the second of two runs on `graph`, with equal bits on all replicas, and accepted by the workload's
/// own check.
pub fn solved<A: Answer>(
    name: &str,
    fleet: &Fleet,
    graph: &Arc<Graph>,
    config: &RunConfig,
) -> Box<A> {
    let config = RunConfig {
        graph: Some("test".into()),
        runs: Choice::Is(2),
        warmup: 0,
        verify: true,
        ..config.clone()
    };
    let job = Job::new(workload(name).unwrap(), config, graph.clone()).unwrap();
    let ready = prepare(&job, fleet).unwrap();
    let answer = job.solve(fleet, &ready).unwrap_or_else(|e| panic!("{name}: {e}"));
    let check = job.verify(&*answer).unwrap();
    assert_eq!(check.message, None, "{name}");
    let answer: Box<dyn Any> = answer;
    answer.downcast::<A>().unwrap_or_else(|_| panic!("{name} answers something else"))
}
