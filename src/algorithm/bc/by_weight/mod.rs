//! Betweenness by weight.
//!
//! **Idea.** The distances from a source are those of `sssp`. Its shortest paths are made of tight arcs (`tight.rs`), which lead from
//! nearer nodes to farther ones. A node's paths are counted as soon as those of all nodes before it are, and its dependency is known as
//! soon as those of all nodes after it are. So both phases go in rounds, each over the nodes that wait for nothing any more. Sums go over
//! a row in an order that follows from its length, so that scores have the same bits on any number of replicas. Hosts take a source a
//! thread, where there are several or paths are long (`host.rs`).
//!
//! **Equal lengths.** Two paths are equally long if their sums are, added up from the source on. In 32 bits sums are those of whole
//! numbers below 2^24, and exact; all others have 64 bits.

mod host;
mod tight;

use super::grids::Grids;
use super::{BcConfig, Betweenness, Ends};
use crate::algorithm::arrays::{OnReplicas, replicated_arrays};
use crate::algorithm::batches::Batches;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::matrix::is_dealt;
use crate::algorithm::same::Words;
use crate::algorithm::sssp::{self, Alone, Each, Reached, WHOLE, may_overflow, weights_are_whole};
use crate::algorithm::{Precision, RunOptions};
use crate::collective::{Frontier, Marked, Marks, MergeOp, Replicated, atomics, cells};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet, Replica};
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::layout::{Prepared, Resident, is_flat_graph};
use crate::operator::{Advance, Args, Fold, Over};
use std::sync::Arc;
use tight::{Lambdas, MOST_PATHS, TOO_FAR, TOO_MANY};

replicated_arrays! {
    /// What a replica has of so many nodes and sources.
    struct State of usize {
        /// `[n]` where the search has each node.
        place: Replicated<u32> = "places", Gather, |n| *n;
        /// `[n]` distances from the source.
        far: Replicated<f64> = "distances by weight", Gather, |n| *n;
        /// `[n]` how many nodes a node waits for, before it or after it.
        left: Replicated<u32> = "nodes to wait for", Gather, |n| *n;
        /// `[n]` a sum over the row of a node that waits no more.
        sum: Replicated<f64> = "sums of rows", Gather, |n| *n;
        /// `[n]` numbers of shortest paths.
        paths: Replicated<f64> = "paths", Gather, |n| *n;
        /// `[n]` what a path to the node has in those to targets.
        share: Replicated<f64> = "shares", Gather, |n| *n;
        /// `[n]` 1 for a target.
        targets: Replicated<u32> = "targets", Gather, |n| *n;
        /// `[2, n]` scores, on either grid.
        scores: Replicated<f64> = "scores", Sum, |n| 2 * *n;
        /// `[n]` sources that reach the node.
        reached: Replicated<u32> = "reached", Sum, |n| *n;
        /// The lowest position of a source that is refused, for either reason.
        bad: Replicated<u32> = "bad", Min, |_| 2;
    }
}

/// Nodes that wait for nothing, and the next.
const SETS: [&str; 2] = ["nodes that are ready", "nodes that are ready next"];

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let nodes = shape.nodes as usize;
    let mut all = [sssp::arrays(shape, world), State::list(nodes, world)].concat();
    for label in SETS {
        all.extend(Frontier::specs(label, nodes, MergeOp::Or, world));
        all.push(DeviceArray::new::<u32>(
            "marks of a set",
            Marks::words_of(Marked::Lines, nodes.div_ceil(64)),
        ));
    }
    all
}

/// What is asked of all replicas.
struct Question {
    graph: Arc<Resident>,
    each: Each,
    /// Node indices, rising.
    sources: Vec<u32>,
    /// All nodes where there are none.
    targets: Option<Vec<u32>>,
    endpoints: bool,
    /// Distances from here on are refused.
    limit: f64,
    grids: Grids,
    /// Hosts take a source a thread.
    by_threads: bool,
    /// Sources, one each.
    batches: Batches,
    run: RunOptions,
}

/// What one replica ends with.
#[derive(Default)]
struct Found {
    scores: Vec<f64>,
    reached: Vec<u32>,
    bad: Vec<u32>,
    depth: u64,
}

/// The scores of `graph`, not scaled.
pub(super) fn solve(
    fleet: &Fleet,
    graph: &Prepared,
    ends: &Ends,
    (config, run): (&BcConfig, &RunOptions),
) -> Result<Betweenness> {
    let simple = graph.graph().simple()?.map(Arc::new);
    let own = simple.map(|simple| Prepared::new(fleet, simple, *graph.options())).transpose()?;
    let graph = own.as_ref().unwrap_or(graph);
    let (all, rows) = (graph.graph(), graph.weighted(fleet)?);
    let least = f64::from(rows.layout.lightest);
    if least == 0.0 {
        return Err(Error::input(
            "bc --weighted: an arc weighs 0, so that paths may go round without end; give weights above 0",
        ));
    }
    let mut sources = ends.sources.clone();
    sources.sort_unstable();
    all.load()?;
    // Whatever the number of replicas: the same bits.
    let many = sources.len() > 1 || is_flat_graph(all);
    let by_threads = fleet.info().backend != "cuda" && many;
    let single = !by_threads && weights_are_whole(all) && !may_overflow(&rows);
    let found = |double| -> Result<(Found, Betweenness)> {
        let question = Question {
            graph: graph.general(fleet)?,
            each: Each::new(fleet, rows.clone(), double),
            sources: sources.clone(),
            targets: ends.targets.clone(),
            endpoints: config.endpoints,
            // A weight of less than half of a distance's last place would be lost.
            limit: if double { least / f64::EPSILON } else { WHOLE.into() },
            grids: Grids::new(all.nodes(), sources.len()),
            by_threads,
            batches: Batches::new(fleet, sources.len(), is_dealt(fleet, run)),
            run: run.clone(),
        };
        let answers = fleet.run(move |r| program(r, &question))?;
        let (found, measured) = ReplicaAnswer::first(answers);
        let precision = Precision::F64;
        let answer = Betweenness {
            by_weight: true,
            precision,
            depth: found.depth,
            lanes: 1,
            measured,
            ..Betweenness::default()
        };
        Ok((found, answer))
    };
    let first = found(!single)?;
    let is_far = |found: &Found| found.bad[TOO_FAR as usize] != u32::MAX;
    let (found, mut answer) = if single && is_far(&first.0) { found(true)? } else { first };
    let refused = |why: u64, what: String| match found.bad[why as usize] {
        u32::MAX => Ok(()),
        position => {
            let source = all.id(sources[position as usize]);
            Err(Error::input(format!("bc --weighted, source {source}: {what}")))
        }
    };
    refused(TOO_MANY, "more than 2^1000 shortest paths to a node; leave this source out".into())?;
    refused(
        TOO_FAR,
        format!(
            "a distance is so long that the least weight, {least}, is lost in it; give weights that lie closer together"
        ),
    )?;
    let (coarse, fine) = found.scores.split_at(all.nodes());
    answer.scores = coarse.iter().zip(fine).map(|(coarse, fine)| coarse + fine).collect();
    answer.directed = !all.is_symmetric();
    answer.measured.reached = found.reached.iter().map(|many| u64::from(*many)).sum();
    let arcs = |(v, many): (usize, &u32)| u64::from(*many) * all.degree(v);
    answer.measured.reached_arcs = found.reached.iter().enumerate().map(arcs).sum();
    Ok(answer)
}

/// The program of one replica.
fn program(r: &mut Replica, question: &Question) -> Result<ReplicaAnswer<Found>> {
    let layout = &question.each.graph().layout;
    let nodes = question.graph.graph().nodes();
    let mut state = State::allocate(r, nodes)?;
    let places: Vec<u32> = (0..nodes as u32).map(|v| layout.label(v)).collect();
    state.place.assign(&places)?;
    if let Some(targets) = &question.targets {
        let mut marks = vec![0; nodes];
        targets.iter().for_each(|target| marks[*target as usize] = 1);
        state.targets.assign(&marks)?;
    }
    let alone = if question.by_threads { None } else { Some(question.each.on(r)?) };
    let lambdas = Lambdas::new(question.each.is_double());
    let [now, next] = SETS;
    let sets = [r.frontier(now, nodes, MergeOp::Or)?, r.frontier(next, nodes, MergeOp::Or)?];
    let mut driver = Driver { question, state, sets, alone, lambdas, nodes, depth: 0 };
    let measured = timed(r, &question.run, &mut driver)?;
    let Driver { state: State { scores, reached, bad, .. }, depth, .. } = driver;
    let deepest = r.agree("depth", [depth, 0, 0, 0])?.iter().map(|own| own[0]).max();
    ReplicaAnswer::new(measured, || {
        Ok(Found {
            scores: values(r, &scores)?,
            reached: values(r, &reached)?,
            bad: values(r, &bad)?,
            depth: deepest.unwrap_or(0),
        })
    })
}

/// One run, to be repeated.
struct Driver<'a> {
    question: &'a Question,
    state: State,
    /// Nodes that wait for nothing, and the next.
    sets: [Frontier; 2],
    /// None where threads search.
    alone: Option<Alone<'a>>,
    lambdas: Lambdas,
    nodes: usize,
    /// The most arcs of a path of tight arcs, so far.
    depth: u64,
}

impl Run for Driver<'_> {
    /// The first use of a lambda is a meeting of all replicas, and these will not make the same steps.
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        self.clear(r)?;
        if self.question.by_threads {
            return Ok(());
        }
        r.fill("distances by weight", &mut self.state.far, f64::INFINITY)?;
        self.bring(r, 0, 0)?;
        self.count(r, None)?;
        self.settle(r, None)
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        self.question.batches.reset();
        self.clear(r)
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Question { sources, batches, by_threads, .. } = self.question;
        match by_threads {
            true => self.threads(r, log)?,
            false => self.rounds(r, log)?,
        }
        if !batches.are_dealt() {
            return Ok(());
        }
        let State { scores, reached, bad, .. } = &mut self.state;
        // Replicas have made different numbers of steps, and meet under a number that is the same for all.
        r.meet_as(sources.len() as u64);
        r.merge_all(&mut [scores, reached, bad])?;
        log.book("step scores", (0, 0), (0, 0), "sum");
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        let State { scores, reached, bad, .. } = &self.state;
        vec![Words::of(scores), Words::of(reached), Words::of(bad)]
    }
}

impl Driver<'_> {
    /// The replica's sources, each by a thread of the host.
    fn threads(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Driver { question, state, .. } = self;
        let own: Vec<usize> = question.batches.in_turn(r).collect();
        let (place, rank) = (r.rendezvous().clone(), r.rank());
        self.depth = operators((r, log, "step searches"), |r| {
            let State { scores, reached, bad, targets, .. } = state;
            let slices =
                (scores.host_mut(), reached.host_mut(), bad.host_mut(), targets.host_mut());
            let (Backend::Host(worker), (Some(scores), Some(reached), Some(bad), Some(targets))) =
                (&r.backend, slices)
            else {
                return Err(Error::machine("scores of another backend; this is a bug"));
            };
            let (reached, bad) = (atomics(reached), atomics(bad));
            let sums = host::Sums { scores: cells(scores), reached, bad };
            let all = || host::add_all(question, &own, targets, &sums, &|| place.beat(rank));
            Ok(worker.pool.install(all))
        })?;
        log.book("step searches", (0, 0), (own.len() as u64, 0), "none");
        Ok(())
    }

    /// The replica's sources, one after another in rounds.
    fn rounds(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let Question { each, sources, batches, .. } = self.question;
        for position in batches.of(r) {
            let source = sources[position];
            let Some(alone) = &mut self.alone else { return Ok(()) };
            alone.search(r, log, each.graph().layout.label(source))?;
            let rounds = operators((r, log, "step paths"), |r| {
                self.bring(r, self.nodes, position as u32)?;
                self.count(r, Some((source, position as u32)))
            })?;
            log.book("step paths", (rounds, 0), (0, 0), "none");
            self.depth = self.depth.max(rounds.saturating_sub(1));
            operators((r, log, "step shares"), |r| self.settle(r, Some(source)))?;
            log.book("step shares", (rounds, 0), (0, 0), "none");
        }
        Ok(())
    }

    fn clear(&mut self, r: &mut Replica) -> Result<()> {
        self.depth = 0;
        r.fill("scores", &mut self.state.scores, 0.0)?;
        r.fill("reached", &mut self.state.reached, 0)?;
        r.fill("bad", &mut self.state.bad, u32::MAX)
    }

    /// The first `nodes` nodes take the distances of the last search, which was from the source at `position`.
    fn bring(&mut self, r: &mut Replica, nodes: usize, position: u32) -> Result<()> {
        let State { place, far, share, reached, bad, .. } = &mut self.state;
        let args = Args::new()
            .reads("place", place)
            .scalar("limit", self.question.limit)
            .scalar("position", position)
            .writes("far", far)
            .writes("share", share)
            .writes("reached", reached)
            .writes("bad", bad);
        let args = match self.alone.as_ref().map(Alone::reached) {
            Some(Reached::F32(found)) => args.reads("found", found),
            Some(Reached::F64(found)) => args.reads("found", found),
            None => return Ok(()),
        };
        r.for_all("bring", Over::range(0..nodes), &self.lambdas.bring, args)
    }

    /// Counts the paths from a source, if there is one; the number of rounds.
    fn count(&mut self, r: &mut Replica, source: Option<(u32, u32)>) -> Result<u64> {
        let (lambdas, g) = (&self.lambdas, &*self.question.graph);
        let State { far, left, sum, paths, bad, .. } = &mut self.state;
        let [now, next] = &mut self.sets;
        let fold = Fold::to(left, MergeOp::Sum).backward();
        r.neighbor_reduce(
            "comes",
            Over::nodes(g).whole(),
            &lambdas.comes,
            Args::new().reads("far", far),
            fold,
        )?;
        r.clear("now", now)?;
        let (seeds, (source, position)) =
            (usize::from(source.is_some()), source.unwrap_or_default());
        let args = Args::new().scalar("source", source).writes_set("now", now);
        r.for_all("seed", Over::range(0..seeds), &lambdas.seed, args)?;
        r.repeat(|r| {
            let args = Args::new().reads("far", far).reads("paths", paths);
            let fold = Fold::to(sum, MergeOp::Sum).backward();
            r.neighbor_reduce(
                "through",
                Over::frontier(g, now).whole(),
                &lambdas.through,
                args,
                fold,
            )?;
            let args = Args::new()
                .reads("sum", sum)
                .scalar("source", source)
                .scalar("most", MOST_PATHS)
                .scalar("position", position)
                .writes("paths", paths)
                .writes("bad", bad);
            r.for_all("count", Over::frontier(g, now).whole(), &lambdas.count, args)?;
            r.clear("next", next)?;
            let args = Args::new().reads("far", far).writes("left", left);
            let how = Advance::default().output(next);
            r.advance("onward", Over::frontier(g, now).whole(), &lambdas.onward, args, how)?;
            std::mem::swap(now, next);
            r.left("now", now)
        })
    }

    /// Adds the dependencies of a source, if there is one, to the scores.
    fn settle(&mut self, r: &mut Replica, source: Option<u32>) -> Result<()> {
        let (lambdas, g) = (&self.lambdas, &*self.question.graph);
        let Question { targets: to, endpoints, grids, .. } = self.question;
        let State { far, left, sum, paths, share, targets, scores, .. } = &mut self.state;
        let [now, next] = &mut self.sets;
        let fold = Fold::to(left, MergeOp::Sum);
        r.neighbor_reduce(
            "goes",
            Over::nodes(g).whole(),
            &lambdas.goes,
            Args::new().reads("far", far),
            fold,
        )?;
        r.clear("now", now)?;
        let args = Args::new().reads("far", far).reads("left", left).writes_set("now", now);
        r.for_all("last", Over::nodes(g).whole(), &lambdas.last, args)?;
        r.repeat(|r| {
            let args = Args::new().reads("far", far).reads("share", share);
            let fold = Fold::to(sum, MergeOp::Sum);
            r.neighbor_reduce(
                "beyond",
                Over::frontier(g, now).whole(),
                &lambdas.beyond,
                args,
                fold,
            )?;
            let args = Args::new()
                .scalar("nodes", self.nodes as u64)
                .reads("sum", sum)
                .reads("paths", paths)
                .reads("targets", targets)
                .scalar("all", u32::from(to.is_none()))
                .scalar("source", source.unwrap_or(u32::MAX))
                .scalar("endpoints", u32::from(*endpoints))
                .scalar("coarse", grids.coarse)
                .scalar("fine", grids.fine)
                .writes("share", share)
                .writes("scores", scores);
            r.for_all("settle", Over::frontier(g, now).whole(), &lambdas.settle, args)?;
            r.clear("next", next)?;
            let args = Args::new().reads("far", far).writes("left", left);
            let how = Advance::default().output(next).backward();
            r.advance("back", Over::frontier(g, now).whole(), &lambdas.back, args, how)?;
            std::mem::swap(now, next);
            r.left("now", now)
        })?;
        Ok(())
    }
}
