//! Searches from many nodes that each replica makes by itself: one after another, or, on GPUs, some side by side.

use super::SsspConfig;
use super::cuda::{PLACES, of_a_search};
use super::driver::Driver;
use super::plan::{Plan, Question};
use super::{Precision, double};
use crate::algorithm::batches::most_of_batch;
use crate::algorithm::frame::{Log, Run, operators};
use crate::algorithm::long_paths::Widths;
use crate::algorithm::{MergeMode, RunOptions};
use crate::choice::Choice;
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::{Fleet, Replica};
use crate::layout::WeightedGraph;
use crate::layout::memory::{GraphShape, half_left, total, weighted};
use std::sync::Arc;

/// Most searches that a GPU makes side by side. Each has its part of the multiprocessors: it meets sooner, and while some wait for
/// memory or for each other, others work.
const BESIDE: usize = 4;

/// What all replicas search in, and how.
#[derive(Clone)]
pub(crate) struct Each {
    question: Arc<Question>,
    plan: Plan,
    /// Of windows, where distances have 64 bits.
    double: Option<Widths>,
    /// Searches that a replica makes side by side.
    beside: usize,
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
        Each { question, plan, double, beside: 1 }
    }

    /// The same, of which GPUs make several side by side, `asked` at most, where degrees are not small and alike, and memory has room for
    /// them with other arrays of `used` bytes. They are from so many sources, which are dealt in so many `parts`.
    pub fn side_by_side(
        self,
        fleet: &Fleet,
        (sources, parts, asked): (usize, usize, Choice<u32>),
        used: u64,
    ) -> Each {
        let (gpus, shape) =
            (fleet.info().gpus(), GraphShape::of_weighted_layout(&self.graph().layout));
        let sharers =
            gpus.iter().map(|gpu| gpus.iter().filter(|other| *other == gpu).count()).max();
        let most = (BESIDE / sharers.unwrap_or(BESIDE)).min(sources.div_ceil(parts));
        let wanted = most_of_batch(asked, most);
        let room = half_left(fleet.info(), total(&weighted(&shape)) + used);
        let fit = (room / of_a_search(&shape)) as usize;
        let on_gpus = fleet.info().backend == "cuda" && !self.is_double();
        let whole = on_gpus && matches!(self.plan, Plan::Redundant { .. });
        Each { beside: if whole { wanted.min(fit).max(1) } else { 1 }, ..self }
    }

    /// Whether distances have 64 bits.
    pub fn is_double(&self) -> bool {
        self.double.is_some()
    }

    /// How many searches a replica makes side by side.
    pub fn beside(&self) -> usize {
        self.beside
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
            None => {
                let own = (self.plan, self.beside as u32);
                let driver = |_| Driver::new(r, &self.question, own);
                Alone(Driven::F32((0..self.beside).map(driver).collect::<Result<_>>()?))
            }
        })
    }
}

/// A replica's searches.
pub(crate) struct Alone<'a>(Driven<'a>);

enum Driven<'a> {
    /// Those that search side by side.
    F32(Vec<Driver<'a>>),
    F64(Box<double::Driver<'a>>),
}

/// Distances by label, `[n]`; infinite where there is no path.
pub(crate) enum Reached<'a> {
    F32(&'a Replicated<f32>),
    F64(&'a Replicated<f64>),
}

impl Alone<'_> {
    /// Searches from the nodes of these labels. `found` queues what is done with what the search of this number has found; where
    /// searches go side by side, that of each is on a stream of its own.
    pub fn search_all(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        labels: &[u32],
        mut found: impl FnMut(&mut Replica, usize, Reached) -> Result<()>,
    ) -> Result<()> {
        let beside = match &mut self.0 {
            Driven::F32(drivers) if drivers.len() > 1 => drivers,
            _ => {
                for (number, label) in labels.iter().enumerate() {
                    self.search(r, log, *label)?;
                    found(r, number, self.reached())?;
                }
                return Ok(());
            }
        };
        let many = beside.len();
        for (group, labels) in labels.chunks(many * PLACES).enumerate() {
            operators((r, log, "push-pull"), |r| {
                for (i, label) in labels.iter().enumerate() {
                    let driver = &mut beside[i % many];
                    r.on(1 + i % many, |r| {
                        driver.queue(r, *label, i / many)?;
                        found(r, group * many * PLACES + i, Reached::F32(&driver.state.dist))
                    })?;
                }
                r.join()
            })?;
            for i in 0..labels.len() {
                let found = beside[i % many].found(r, i / many)?;
                log.book("push-pull", (found.rounds, found.relaxed), (1, 0), "none");
            }
        }
        Ok(())
    }

    /// Searches from the node of this label.
    pub fn search(&mut self, r: &mut Replica, log: &mut Log, label: u32) -> Result<()> {
        match &mut self.0 {
            Driven::F32(drivers) => {
                let driver = &mut drivers[0];
                driver.begin_at(r, label)?;
                driver.go(r, log)
            }
            Driven::F64(driver) => {
                driver.begin_at(r, label)?;
                driver.go(r, log)
            }
        }
    }

    /// What the last search has found.
    pub fn reached(&self) -> Reached<'_> {
        self.reached_of(0)
    }

    /// What search `number` of the last ones has found, of which there were no more than go side by side.
    pub fn reached_of(&self, number: usize) -> Reached<'_> {
        match &self.0 {
            Driven::F32(drivers) => Reached::F32(&drivers[number].state.dist),
            Driven::F64(driver) => Reached::F64(&driver.state.dist),
        }
    }
}
