//! Searches from one node after another that each replica makes by itself, for workloads that have many sources.

use super::SsspConfig;
use super::driver::Driver;
use super::plan::{Plan, Question};
use super::{Precision, double};
use crate::algorithm::frame::{Log, Run};
use crate::algorithm::long_paths::Widths;
use crate::algorithm::{MergeMode, RunOptions};
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::{Fleet, Replica};
use crate::layout::WeightedGraph;
use std::sync::Arc;

/// What all replicas search in, and how.
#[derive(Clone)]
pub(crate) struct Each {
    question: Arc<Question>,
    plan: Plan,
    /// Of windows, where distances have 64 bits.
    double: Option<Widths>,
}

impl Each {
    /// In `graph`, with distances of 64 bits or of 32.
    pub fn new(fleet: &Fleet, graph: Arc<WeightedGraph>, double: bool) -> Each {
        let run = RunOptions { merge: MergeMode::Redundant, ..RunOptions::default() };
        let precision = if double { Precision::F64 } else { Precision::F32 };
        let config = SsspConfig { precision, run, ..SsspConfig::default() };
        let plan = Plan::new(&graph.layout, &config, fleet);
        let threads = fleet.info().threads();
        let double = double.then(|| double::widths(&graph.layout, config.delta, threads));
        // A workspace is made for as many seeds as it begins with.
        let question = Arc::new(Question { graph, seeds: vec![0], config });
        Each { question, plan, double }
    }

    /// Whether distances have 64 bits.
    pub fn is_double(&self) -> bool {
        self.double.is_some()
    }

    /// Where nodes lie.
    pub fn graph(&self) -> &WeightedGraph {
        &self.question.graph
    }

    /// What replica `r` searches with. A meeting.
    pub fn on(&self, r: &mut Replica) -> Result<Alone<'_>> {
        Ok(match self.double {
            Some(widths) => {
                Alone(Driven::F64(Box::new(double::Driver::new(r, &self.question, widths)?)))
            }
            None => Alone(Driven::F32(Box::new(Driver::new(r, &self.question, self.plan)?))),
        })
    }
}

/// A replica's searches.
pub(crate) struct Alone<'a>(Driven<'a>);

enum Driven<'a> {
    F32(Box<Driver<'a>>),
    F64(Box<double::Driver<'a>>),
}

/// Distances by label, `[n]`; infinite where there is no path.
pub(crate) enum Reached<'a> {
    F32(&'a Replicated<f32>),
    F64(&'a Replicated<f64>),
}

impl Alone<'_> {
    /// Searches from the node of this label.
    pub fn search(&mut self, r: &mut Replica, log: &mut Log, label: u32) -> Result<()> {
        match &mut self.0 {
            Driven::F32(driver) => {
                driver.begin_at(label)?;
                driver.reset(r, 0)?;
                driver.go(r, log)
            }
            Driven::F64(driver) => {
                driver.begin_at(label)?;
                driver.reset(r, 0)?;
                driver.go(r, log)
            }
        }
    }

    /// What the last search has found.
    pub fn reached(&self) -> Reached<'_> {
        match &self.0 {
            Driven::F32(driver) => Reached::F32(&driver.state.dist),
            Driven::F64(driver) => Reached::F64(&driver.state.dist),
        }
    }
}
