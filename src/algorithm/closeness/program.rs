//! Batches of sources, searched from and summed.

use super::histogram::Pairs;
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
    let pairs = config.histogram.map(|width| Pairs::new(r, width)).transpose()?;
    let lanes = Lanes::new(r, g, (sources, shape), backward)?;
    let mut driver = Driver { lanes, batches, limit, pairs };
    driver.lanes.levels = driver.pairs.as_ref().map(|_| Vec::new());
    let measured = timed(r, run, &mut driver)?;
    let Driver { lanes, pairs, .. } = driver;
    let State { far, harmonic, reached, farthest, .. } = lanes.state;
    ReplicaAnswer::new(measured, || {
        let unit = unit(g.graph().nodes()) as f64;
        let harmonic = values(r, &harmonic)?;
        Ok(Sums {
            far: values(r, &far)?.into_iter().map(|far| far as f64).collect(),
            harmonic: harmonic.into_iter().map(|sum| sum as f64 / unit).collect(),
            reached: values(r, &reached)?,
            farthest: values(r, &farthest)?.into_iter().map(f64::from).collect(),
            nearest: Vec::new(),
            pairs: pairs.map_or(Ok(Vec::new()), |pairs| values(r, pairs.array()))?,
        })
    })
}

/// One run, to be repeated.
struct Driver<'a> {
    lanes: Lanes<'a>,
    batches: &'a Batches,
    /// The last level that counts.
    limit: u32,
    /// Where pairs are counted.
    pairs: Option<Pairs>,
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.lanes.meet(r, |_, _| Ok(()))
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.batches.reset();
        self.pairs.iter_mut().for_each(Pairs::reset);
        self.lanes.reset(r)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        for batch in self.batches.of(r) {
            let (all, lanes) = (self.lanes.sources.len(), self.lanes.shape.lanes);
            let sources = batch * lanes..all.min((batch + 1) * lanes);
            self.lanes.search(r, log, (sources, self.limit), |_, _| Ok(()))?;
        }
        if let Some(pairs) = &mut self.pairs {
            let levels = self.lanes.levels.iter().flatten().enumerate();
            levels.for_each(|(arcs, count)| pairs.add(arcs, *count));
            pairs.end()?;
        }
        if !self.batches.are_dealt() {
            return Ok(());
        }
        let State { far, harmonic, reached, farthest, .. } = &mut self.lanes.state;
        // Replicas have made different numbers of steps, and meet under a number that is the same for all.
        r.meet_as(self.lanes.sources.len() as u64);
        r.merge_all(&mut [far, harmonic, reached, farthest])?;
        self.pairs.iter_mut().try_for_each(|pairs| pairs.merge(r))?;
        log.book("step sums", (0, 0), (0, 0), "sum");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let State { far, harmonic, reached, farthest, .. } = &self.lanes.state;
        let sums = [Words::of(far), Words::of(harmonic), Words::of(reached), Words::of(farthest)];
        sums.into_iter().chain(self.pairs.iter().map(|pairs| Words::of(pairs.array()))).collect()
    }
}
