//! Batches of sources, searched from and summed.

use super::{ClosenessConfig, ClosenessMode, Sums};
use crate::algorithm::RunOptions;
use crate::algorithm::batches::Batches;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, timed, values};
use crate::algorithm::lanes::{LaneShape, Lanes, State, unit};
use crate::algorithm::same::Words;
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::Resident;

/// The program of one replica, which works on its `batches` of sources.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    config: &ClosenessConfig,
    (sources, shape, batches): (&[u32], LaneShape, &Batches),
    run: &RunOptions,
) -> Result<ReplicaAnswer<Sums>> {
    let backward = config.mode == ClosenessMode::Out;
    // No path has as many arcs as 32 bits count.
    let limit = config.within.map_or(u32::MAX, |within| within as u32);
    let mut driver =
        Driver { lanes: Lanes::new(r, g, (sources, shape), backward)?, batches, limit };
    let measured = timed(r, run, &mut driver)?;
    let State { far, harmonic, reached, farthest, .. } = driver.lanes.state;
    ReplicaAnswer::new(measured, || {
        let unit = unit(g.graph().nodes()) as f64;
        let harmonic = values(r, &harmonic)?;
        Ok(Sums {
            far: values(r, &far)?.into_iter().map(|far| far as f64).collect(),
            harmonic: harmonic.into_iter().map(|sum| sum as f64 / unit).collect(),
            reached: values(r, &reached)?,
            farthest: values(r, &farthest)?.into_iter().map(f64::from).collect(),
            nearest: Vec::new(),
        })
    })
}

/// One run, to be repeated.
struct Driver<'a> {
    lanes: Lanes<'a>,
    batches: &'a Batches,
    /// The last level that counts.
    limit: u32,
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.lanes.meet(r, |_, _| Ok(()))
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.batches.reset();
        self.lanes.reset(r)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for batch in self.batches.of(r) {
            let (all, lanes) = (self.lanes.sources.len(), self.lanes.shape.lanes);
            let sources = batch * lanes..all.min((batch + 1) * lanes);
            self.lanes.search(r, log, (sources, self.limit), |_, _| Ok(()))?;
        }
        if !self.batches.are_dealt() {
            return Ok(());
        }
        let State { far, harmonic, reached, farthest, .. } = &mut self.lanes.state;
        // Replicas have made different numbers of steps, and meet under a number that is the same for all.
        r.meet_as(self.lanes.sources.len() as u64);
        r.merge_all(&mut [far, harmonic, reached, farthest])?;
        log.book("step sums", (0, 0), (0, 0), "sum");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let State { far, harmonic, reached, farthest, .. } = &self.lanes.state;
        vec![Words::of(far), Words::of(harmonic), Words::of(reached), Words::of(farthest)]
    }
}
