//! The program of a replica that pushes from its sources and keeps something of each vector.

use super::lanes::{Batch, Pushes};
use super::rule::{ONE, PushStart, lanes};
use crate::algorithm::RunOptions;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, timed};
use crate::algorithm::matrix::{hash_of_all, part};
use crate::algorithm::same::Words;
use crate::algorithm::workload::{Checked, fields};
use crate::error::Result;
use crate::fleet::{Fleet, Replica};
use crate::layout::{Prepared, Resident};
use crate::units::plural;
use rayon::prelude::*;
use serde_json::json;

/// What all replicas are told.
#[derive(Clone)]
pub(in crate::algorithm) struct Asked {
    pub start: PushStart,
    /// Sources of a batch.
    pub lanes: usize,
    /// Replicas have a slice of the sources each, else all.
    pub dealt: bool,
}

impl Asked {
    /// Of sources that are dealt among so many `parts`.
    pub fn new(on: (&Fleet, &Prepared), start: &PushStart, parts: usize) -> Asked {
        let own = start.sources.len().div_ceil(parts);
        Asked { start: start.clone(), lanes: lanes(on, start.rule, own), dealt: parts > 1 }
    }
}

/// A value in units as a number.
pub(in crate::algorithm) fn value(units: u64) -> f64 {
    units as f64 / ONE as f64
}

/// What a check says that has looked at so many sources.
pub(in crate::algorithm) fn checked(looked: usize, sources: usize) -> Checked {
    let all = plural(sources as u64, "source");
    let skipped = (looked < sources).then(|| format!("{looked} of {all} were looked at"));
    Checked { skipped, found: fields([("sources", json!(looked))]), note: String::new() }
}

/// What is kept of a source's vector.
#[derive(Debug, Clone, Default)]
pub(in crate::algorithm) struct Taken {
    pub nodes: Vec<u32>,
    pub words: Vec<u64>,
}

/// What is kept of the vectors of some sources, one after another.
#[derive(Debug, Clone, Default)]
pub(in crate::algorithm) struct Found {
    /// Nodes of each source.
    pub counts: Vec<u64>,
    pub nodes: Vec<u32>,
    pub words: Vec<u64>,
    /// Most rounds of a source; pushes and arcs of all.
    pub rounds: u64,
    pub pushes: u64,
    pub arcs: u64,
}

impl Found {
    /// What is kept of a batch, and its rounds, pushes and arcs.
    pub fn add(&mut self, batch: (u64, u64, u64), taken: Vec<Taken>) {
        let (rounds, pushes, arcs) = batch;
        self.rounds = self.rounds.max(rounds);
        self.pushes += pushes;
        self.arcs += arcs;
        for Taken { nodes, words } in taken {
            self.counts.push(nodes.len() as u64);
            self.nodes.extend(nodes);
            self.words.extend(words);
        }
    }

    /// Of what each replica of this process has found: all of it, if sources were dealt.
    pub fn joined(fleet: &Fleet, parts: Vec<Found>, dealt: bool) -> Result<Found> {
        let mut all = Found::default();
        let first = parts.into_iter().take(if dealt { usize::MAX } else { 1 });
        for Found { counts, nodes, words, rounds, pushes, arcs } in first {
            all.counts.extend(counts);
            all.nodes.extend(nodes);
            all.words.extend(words);
            all.add((rounds, pushes, arcs), Vec::new());
        }
        if !dealt || fleet.is_alone() {
            return Ok(all);
        }
        let made = fleet.concat("pushes", vec![all.rounds, all.pushes, all.arcs])?;
        let sum = |which: usize| made.iter().skip(which).step_by(3).sum();
        Ok(Found {
            counts: fleet.concat("counts", all.counts)?,
            nodes: fleet.concat("nodes", all.nodes)?,
            words: fleet.concat("words", all.words)?,
            rounds: made.iter().step_by(3).copied().max().unwrap_or(0),
            pushes: sum(1),
            arcs: sum(2),
        })
    }

    /// The nodes of each source.
    pub fn lists(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = &self.nodes[..];
        self.counts.iter().map(move |count| {
            let (own, behind) = rest.split_at(*count as usize);
            rest = behind;
            own
        })
    }
}

/// Makes of a source and the nodes with a value, in no order, what is kept; the last is a sign of life, to be given while it works.
pub(in crate::algorithm) type Take<'a> =
    dyn Fn(u32, Vec<(u32, u64)>, &(dyn Fn() + Sync)) -> Taken + Sync + 'a;

/// The program of one replica.
pub(in crate::algorithm) fn program(
    r: &mut Replica,
    g: &Resident,
    asked: &Asked,
    take: &Take<'_>,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Found>> {
    let PushStart { sources, rule } = &asked.start;
    let pushes = Pushes::new(r, g, sources, (*rule, asked.lanes))?;
    let compared = [run.compare, asked.dealt];
    let mut driver =
        Driver { pushes, asked, take, found: Found::default(), compared, hash: [0; 2] };
    let measured = timed(r, run, &mut driver)?;
    let brings = asked.dealt || r.leads();
    let found = if brings { driver.found } else { Found::default() };
    ReplicaAnswer::new(measured, || Ok(found))
}

/// One run, to be repeated.
struct Driver<'a> {
    pushes: Pushes<'a>,
    asked: &'a Asked,
    take: &'a Take<'a>,
    found: Found,
    /// Whether answers are compared; whether replicas have slices.
    compared: [bool; 2],
    /// Of what all replicas have found.
    hash: [u32; 2],
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.pushes.meet(r)
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.found = Found::default();
        self.pushes.reset(r)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Asked { start: PushStart { sources, .. }, lanes, dealt } = self.asked;
        let own = part(sources.len(), *dealt, (r.rank(), r.world()));
        for first in own.clone().step_by(*lanes) {
            let batch = first..own.end.min(first + lanes);
            let Batch { rounds, pushes, arcs, vectors } =
                self.pushes.batch(r, log, batch.clone())?;
            let (place, rank, take) = (r.rendezvous().clone(), r.rank(), self.take);
            let vectors = vectors.into_par_iter().zip(&sources[batch]);
            let beat = || place.beat(rank);
            let taken = vectors.map(|(vector, source)| take(*source, vector, &beat));
            self.found.add((rounds, pushes, arcs), taken.collect());
        }
        if self.compared[0] {
            let Found { counts, nodes, words, rounds, pushes, .. } = &self.found;
            let made = if *dealt { [0; 2] } else { [*rounds, *pushes] };
            let (nodes, made) = (bytemuck::cast_slice(nodes), bytemuck::cast_slice(&made));
            let all = [bytemuck::cast_slice(counts), nodes, bytemuck::cast_slice(words), made];
            self.hash = hash_of_all(r, &all.concat(), sources.len(), self.compared)?;
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::Host(&self.hash)]
    }
}
