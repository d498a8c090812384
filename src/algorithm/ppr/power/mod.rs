//! Personalised PageRank by power iteration, many sources at a time.
//!
//! **Definition.** x begins as 1 at the source s and 0 elsewhere. An iteration is
//!
//! ~~~text
//! x'[v] = (1 - d) [v = s] + d (sum over arcs u -> v of x[u] w(u, v) / W(u)  +  D [v = s])
//! ~~~
//!
//! with W(u) the weight of the arcs out of u, and D the sum of x\[u\] over nodes without out-weight: what walks do at a dangling node is
//! to begin again at the source. Weights are 1 unless `weighted`. Self loops and parallel arcs are arcs. A source ends when the L1
//! distance from x to x' is at most `tolerance`, or after `iterations`.
//!
//! Numbers are integers in units of 2^-62, so that 1 is 2^62. Along an arc of a node with d(u) arcs goes floor(x f), where f is the
//! nearest f64 of d / d(u), and x and the product are rounded to f64; along a weighted arc floor(y w i), y = floor(x d) and i the nearest
//! f64 of 1 / W(u). All that goes along no arc comes to the source: the restarts, what dangling nodes have, and what was rounded off.
//!
//! **Invariant.** The sum of x is 1 at all times, and what goes along arcs is at most 0.999 of it, so that nothing overflows. Of integers
//! no order of additions matters, and lanes do not know of each other: a source has the same bits in any batch.
//!
//! **Idea.** Sources of a batch are lanes. Values lie by node and then by lane, so that a row is read once for four lanes, and
//! what its arcs bring lies side by side. In an iteration every node adds up what its row brings; long rows do so in parts. Then values
//! are renewed, tile by tile, and last those of the sources. The host reads how far each lane went. A lane that ends is
//! read at once, and is iterated for nothing until all of its batch have ended. Values are counted by size first, so that little more
//! than the highest is read, each rounded to 53 bits.
//!
//! **Replicas.** Sources are dealt in slices. Nothing is exchanged. With `--merge redundant` each iterates from all sources.
//!
//! **Arrays.** `value, share, arrived: [n, lanes] u64`; `scale: [n] f64`, and `inverse` where weights count; nodes and numbers of parts of
//! long rows, u32; `kept: [n] u32`, `kept_value: [n] u64`; each replica's own.
//!
//! **Source.** Page, Brin, Motwani, Winograd, "The PageRank citation ranking: bringing order to the web", Stanford InfoLab 1999-66, 6
//! (personalised); Haveliwala, "Topic-sensitive PageRank", WWW 2002 (dangling nodes lead to where walks restart); Gleich, "PageRank beyond
//! the web", SIAM Review 57(3), 2015, 2.1 (the same, strongly preferential).

mod lanes;
mod plan;

use super::highest;
use crate::algorithm::RunOptions;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, timed};
use crate::algorithm::matrix::{hash_of_all, part};
use crate::algorithm::push::{Found, ONE, Taken};
use crate::algorithm::same::Words;
use crate::error::Result;
use crate::fleet::{Fleet, Replica};
use crate::graph::Graph;
use crate::layout::{Prepared, Resident};
use lanes::{Ended, Iterations, Rule};
pub(super) use plan::arrays;
use plan::{Sizes, out_weights};
use rayon::prelude::*;
use std::sync::Arc;

/// What all replicas are told.
#[derive(Clone)]
pub(super) struct Asked {
    graph: Arc<Graph>,
    sources: Vec<u32>,
    rule: Rule,
    sizes: Sizes,
    /// What arcs out of nodes weigh, where that counts.
    weights: Option<Arc<Vec<f64>>>,
    /// Replicas have a slice of the sources each, else all.
    dealt: bool,
}

impl Asked {
    /// Of sources that are dealt among so many `parts`.
    pub fn new(
        (fleet, graph): (&Fleet, &Prepared),
        (sources, parts): (&[u32], usize),
        config: &super::PprConfig,
    ) -> Result<Asked> {
        let all = graph.graph();
        let weighted = config.weighted && all.is_weighted();
        if weighted {
            all.load()?;
        }
        let own = sources.len().div_ceil(parts);
        let tolerance = config.tolerance.or(super::TOLERANCE);
        let rule = Rule {
            damping: config.damping,
            iterations: config.iterations,
            tolerance: (tolerance > 0.0).then_some((tolerance * ONE as f64) as u64),
            most: config.top_nodes as usize,
        };
        Ok(Asked {
            graph: all.clone(),
            sources: sources.to_vec(),
            rule,
            sizes: Sizes::of((fleet, graph), (sources.len(), own), weighted),
            weights: weighted.then(|| Arc::new(out_weights(all))),
            dealt: parts > 1,
        })
    }
}

/// What a replica has found of its sources.
#[derive(Debug, Clone, Default)]
pub(super) struct Solved {
    pub found: Found,
    /// `[sources]` iterations, and the change in the last, in units.
    pub iterations: Vec<u32>,
    pub changes: Vec<u64>,
}

impl Solved {
    /// Of what each replica of this process has found: all of it, if sources were dealt.
    pub fn joined(fleet: &Fleet, parts: Vec<Solved>, dealt: bool) -> Result<Solved> {
        let (mut iterations, mut changes, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            if dealt || found.is_empty() {
                iterations.extend(part.iterations);
                changes.extend(part.changes);
            }
            found.push(part.found);
        }
        if dealt && !fleet.is_alone() {
            iterations = fleet.concat("iterations", iterations)?;
            changes = fleet.concat("changes", changes)?;
        }
        Ok(Solved { found: Found::joined(fleet, found, dealt)?, iterations, changes })
    }
}

/// The program of one replica.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    asked: &Asked,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Solved>> {
    let Asked { sources, rule, sizes, weights, .. } = asked;
    let weights = weights.as_ref().map(|weights| &weights[..]);
    let iterations = Iterations::new(r, g, sources, (*rule, *sizes, weights))?;
    let compared = [run.compare, asked.dealt];
    let mut driver =
        Driver { iterations, asked, solved: Solved::default(), compared, hash: [0; 2] };
    let measured = timed(r, run, &mut driver)?;
    let brings = asked.dealt || r.leads();
    let solved = if brings { driver.solved } else { Solved::default() };
    ReplicaAnswer::new(measured, || Ok(solved))
}

/// One run, to be repeated.
struct Driver<'a> {
    iterations: Iterations<'a>,
    asked: &'a Asked,
    solved: Solved,
    /// Whether answers are compared; whether replicas have slices.
    compared: [bool; 2],
    /// Of what all replicas have found.
    hash: [u32; 2],
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.iterations.meet(r)
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.solved = Solved::default();
        self.iterations.reset(r)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Asked { graph, sources, rule, sizes, dealt, .. } = self.asked;
        let own = part(sources.len(), *dealt, (r.rank(), r.world()));
        let arcs = graph.arcs();
        for first in own.clone().step_by(sizes.lanes) {
            let batch = first..own.end.min(first + sizes.lanes);
            let mut lanes: Vec<(u32, u64, Taken)> = vec![Default::default(); batch.len()];
            self.iterations.batch(r, log, batch, &mut |ended| {
                let take = |Ended { lane, iterations, change, vector }| {
                    (lane, (iterations, change, highest(graph, vector, rule.most)))
                };
                let taken: Vec<_> = ended.into_par_iter().map(take).collect();
                taken.into_iter().for_each(|(lane, taken)| lanes[lane] = taken);
            })?;
            let most = lanes.iter().map(|lane| u64::from(lane.0)).max().unwrap_or(0);
            let all = lanes.iter().map(|lane| u64::from(lane.0) * arcs).sum();
            self.solved.iterations.extend(lanes.iter().map(|lane| lane.0));
            self.solved.changes.extend(lanes.iter().map(|lane| lane.1));
            let taken = lanes.into_iter().map(|lane| lane.2).collect();
            self.solved.found.add((most, 0, all), taken);
        }
        if self.compared[0] {
            let Solved { found: Found { counts, nodes, words, .. }, iterations, changes } =
                &self.solved;
            let ends = [bytemuck::cast_slice(iterations), bytemuck::cast_slice(changes)].concat();
            let (counts, nodes) = (bytemuck::cast_slice(counts), bytemuck::cast_slice(nodes));
            let all = [counts, nodes, bytemuck::cast_slice(words), &ends].concat();
            self.hash = hash_of_all(r, &all, sources.len(), self.compared)?;
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::Host(&self.hash)]
    }
}
