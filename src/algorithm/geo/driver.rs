//! One run on one replica: waves, until nobody is left or the last one was. The idea is in the parent
//! module.

use super::cuda::Workspace;
use super::host;
use super::host::Effort;
use super::{GeoConfig, Given, Queue, State};
use crate::algorithm::frame::Log;
use crate::algorithm::{MergeMode, TraceEntry};
use crate::collective::Split;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use std::time::Instant;

/// On GPUs a wave with fewer located arcs is computed whole by all: an estimate by hand, of what a meeting
/// and a gather cost. On the host replicas share the cores, so that nothing redundant is free.
const SMALL_WAVE: u64 = 1 << 14;

/// What a run counts beside the log.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// Located arcs of all waves.
    pub arcs: u64,
    pub passes: u64,
}

/// A wave before it is computed: the same on all replicas.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wave {
    /// Nodes to locate.
    pub nodes: u64,
    /// Arcs to their located neighbours.
    pub arcs: u64,
}

/// What a replica did for a wave.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    pub arcs: u64,
    pub passes: u64,
}

/// The steps of one replica, on whatever it runs on.
pub(super) struct Engine {
    workspace: Option<Workspace>,
    queue: Queue,
}

impl Engine {
    pub fn new(r: &mut Replica, p: &Resident, from: &Given) -> Result<Engine> {
        let (rank, world) = (r.rank(), r.world());
        let workspace = match &mut r.backend {
            Backend::Host(_) => None,
            Backend::Cuda(device) => Some(Workspace::new(device, p, &from.known, (rank, world))?),
        };
        Ok(Engine { workspace, queue: Queue::default() })
    }

    pub fn reset(
        &mut self,
        r: &mut Replica,
        _p: &Resident,
        s: &mut State,
        from: &Given,
    ) -> Result<()> {
        match (&r.backend, &mut self.workspace) {
            (Backend::Cuda(device), Some(w)) => w.reset(device, s),
            _ => {
                host::reset(s, &from.known);
                Ok(())
            }
        }
    }

    /// Makes the queue of the wave; the host knows its size on return.
    fn count(&mut self, r: &mut Replica, p: &Resident, s: &mut State) -> Result<Wave> {
        let rank = r.rank();
        let rendezvous = r.rendezvous().clone();
        match (&r.backend, &mut self.workspace) {
            (Backend::Cuda(device), Some(w)) => w.count(device, s),
            (Backend::Host(worker), _) => {
                let beat = || rendezvous.beat(rank);
                self.queue = worker.pool.install(|| host::count(p.graph(), s, &beat));
                let arcs = self.queue.entries.iter().map(|entry| entry.1).sum();
                Ok(Wave { nodes: self.queue.entries.len() as u64, arcs })
            }
            _ => Err(no_workspace()),
        }
    }

    /// Who computes which places of the queue; `whole`: everybody all of them.
    fn split(&self, world: usize, whole: bool) -> Split {
        match &self.workspace {
            Some(w) => w.split(whole),
            None => self.queue.split(if whole { 1 } else { world }),
        }
    }

    /// Computes the own part of the queue.
    fn solve(
        &mut self,
        r: &mut Replica,
        p: &Resident,
        s: &mut State,
        (split, whole): (&Split, bool),
        effort: Effort,
    ) -> Result<Done> {
        let (rank, chance) = (r.rank(), r.chance());
        let rendezvous = r.rendezvous().clone();
        match (&mut r.backend, &mut self.workspace) {
            (Backend::Cuda(device), Some(w)) => {
                w.solve(device, s, whole, effort, chance)?;
                Ok(Done::default())
            }
            (Backend::Host(worker), _) => {
                let beat = || rendezvous.beat(rank);
                let part = split.range(if whole { 0 } else { rank });
                let own = &self.queue.entries[part.start as usize..part.end as usize];
                let arcs = own.iter().map(|entry| entry.1).sum();
                let queue = &self.queue;
                let solve = || host::solve(p.graph(), s, queue, part, effort, &beat);
                Ok(Done { arcs, passes: worker.pool.install(solve) })
            }
            _ => Err(no_workspace()),
        }
    }

    /// Puts what was found where the next wave looks for it.
    fn settle(
        &mut self,
        r: &Replica,
        _p: &Resident,
        s: &mut State,
        whole: bool,
        number: u32,
    ) -> Result<()> {
        match (&r.backend, &mut self.workspace) {
            (Backend::Cuda(device), Some(w)) => w.settle(device, s, whole, number),
            _ => {
                host::settle(s, &self.queue, number);
                Ok(())
            }
        }
    }
}

fn no_workspace() -> Error {
    Error::machine("a device without a workspace; this is a bug")
}

/// One run.
pub(super) struct Driver<'a> {
    pub r: &'a mut Replica,
    pub p: &'a Resident,
    pub engine: &'a mut Engine,
    pub state: &'a mut State,
    pub log: &'a mut Log,
    pub effort: &'a mut Tally,
    pub config: &'a GeoConfig,
}

impl Driver<'_> {
    pub fn go(&mut self) -> Result<()> {
        let most = if self.config.geo_complete { u32::MAX - 1 } else { self.config.geo_iter };
        for number in 1..=most {
            if !self.wave(number)? {
                break;
            }
        }
        Ok(())
    }

    /// One wave: whether it located anybody.
    fn wave(&mut self, number: u32) -> Result<bool> {
        let begin = Instant::now();
        self.r.begin(self.log.iteration(), "wave")?;
        self.mark(false)?;
        let wave = self.engine.count(self.r, self.p, self.state)?;
        let whole = self.whole(wave);
        let mut done = Done::default();
        if wave.nodes > 0 {
            let split = self.engine.split(self.r.world(), whole);
            let config = self.config;
            let effort = Effort { passes: config.spatial_iter, tolerance: config.tolerance() };
            let part = (&split, whole);
            done = self.engine.solve(self.r, self.p, self.state, part, effort)?;
            self.book(begin)?;
            if !whole {
                // Three numbers a place.
                let thirds = split.bounds().windows(2).map(|pair| 3 * (pair[1] - pair[0]));
                let split = Split::of_lengths(thirds);
                self.r.gather(&mut self.state.found, &split)?;
            }
            self.engine.settle(self.r, self.p, self.state, whole, number)?;
        } else {
            self.book(begin)?;
        }
        self.r.settle()?;
        self.booked()?;
        if let Some(w) = &self.engine.workspace {
            done = w.done();
        }
        let merged = if wave.nodes == 0 || whole { "none" } else { "gather" };
        self.note(wave, done, merged, begin);
        Ok(wave.nodes > 0)
    }

    fn whole(&self, wave: Wave) -> bool {
        let on_device = self.engine.workspace.is_some();
        self.r.world() == 1
            || match self.config.run.merge {
                MergeMode::Redundant => true,
                MergeMode::Auto => on_device && wave.arcs <= SMALL_WAVE,
                MergeMode::Split | MergeMode::Dense => false,
            }
    }

    /// On a device the step's time lies between two marks on the stream.
    fn mark(&self, end: bool) -> Result<()> {
        match &self.r.backend {
            Backend::Cuda(device) => device.mark(0, end),
            Backend::Host(_) => Ok(()),
        }
    }

    /// The step ends here, on the host now and on a device when its stream comes to it.
    fn book(&mut self, begin: Instant) -> Result<()> {
        self.mark(true)?;
        if let Backend::Host(_) = &self.r.backend {
            self.r.book_step(begin.elapsed().as_secs_f64() * 1e3);
        }
        Ok(())
    }

    fn booked(&mut self) -> Result<()> {
        if let Backend::Cuda(device) = &self.r.backend {
            let ms = device.interval_ms(0)?;
            self.r.book_step(ms);
        }
        Ok(())
    }

    fn note(&mut self, wave: Wave, done: Done, merged: &str, begin: Instant) {
        let log = &mut *self.log;
        if self.config.run.trace {
            log.entries.push(TraceEntry {
                iteration: log.iterations,
                step: "wave".into(),
                rounds: 1,
                frontier_nodes: wave.nodes,
                frontier_arcs: wave.arcs,
                merge: merged.into(),
                ms: begin.elapsed().as_secs_f64() * 1e3,
            });
        }
        log.book(1, done.arcs, merged);
        self.effort.arcs += wave.arcs;
        self.effort.passes += done.passes;
    }
}
