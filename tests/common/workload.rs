//! Workloads of the registry on small graphs, whatever they are.

use hivegraph::Result;
use hivegraph::fleet::Fleet;
use hivegraph::graph::Graph;
use hivegraph::run::{Answer, Job, Outcome, RunConfig, prepare, workload};
use std::any::Any;
use std::sync::Arc;

/// Runs the workload called `name` once and checks its answer independently.
pub fn outcome(
    name: &str,
    fleet: &Fleet,
    graph: &Arc<Graph>,
    config: &RunConfig,
) -> Result<Outcome> {
    let workload = workload(name).unwrap_or_else(|| panic!("no workload {name}"));
    let config = RunConfig {
        graph: Some("a test's graph".into()),
        runs: hivegraph::run::Choice::Is(config.runs.or(1)),
        ..config.clone()
    };
    let job = Job::new(workload, config, graph.clone())?;
    let ready = prepare(&job, fleet)?;
    let answer = job.solve(fleet, &ready)?;
    let check = job.config.verify.then(|| job.verify(&*answer)).transpose()?;
    Ok(job.outcome(fleet, &ready, answer, check))
}

/// What the answer would write to a CSV.
pub fn csv_of(outcome: &Outcome) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answer.csv");
    outcome.answer.write(&path, &outcome.job.graph).unwrap();
    std::fs::read_to_string(&path).unwrap()
}

/// The answer as the type that this workload's answers have.
pub fn answer_of<A: Answer>(outcome: &Outcome) -> &A {
    let any: &dyn Any = &*outcome.answer;
    any.downcast_ref().expect("an answer of this type")
}
