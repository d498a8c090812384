//! The program of a replica that counts its rows, or its pairs.

use super::cuda::{PAIRS, Sizes, Workspace};
use super::host;
use super::measure::Measure;
use super::plan::{BYTES, Batch, Keep, Plan, Rows, batches};
use crate::algorithm::frame::{Engine, Log, ReplicaAnswer, Run, step, timed};
use crate::algorithm::matrix::{hash_of_all, part};
use crate::algorithm::same::Words;
use crate::algorithm::{Measured, RunOptions};
use crate::error::Result;
use crate::fleet::{Fleet, Replica};
use crate::layout::Prepared;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// What rows keep.
#[derive(Debug, Clone, Default)]
pub(in crate::algorithm) struct Found {
    /// `[rows]` pairs of each.
    pub counts: Vec<u64>,
    /// The nodes of one row after the other: the best first, or by rising input id.
    pub others: Vec<u32>,
    pub values: Vec<f64>,
    /// Wedges of all rows.
    pub wedges: u64,
}

/// What replicas are asked.
enum Question {
    Rows(Rows),
    Pairs(Vec<[u32; 2]>),
}

/// Counts the rows of these nodes.
pub(in crate::algorithm) fn rows(
    (fleet, graph): (&Fleet, &Prepared),
    (nodes, measure, keep): (&[u32], Measure, Keep),
    run: &RunOptions,
) -> Result<(Found, Measured)> {
    let plan = Plan::new(graph.simple(fleet)?, measure)?;
    let dealt = run.merge.deals(fleet.world(), false);
    let labels = nodes.iter().map(|node| plan.rows.columns.label(*node)).collect();
    let rows = Rows::new(&plan, labels, keep, dealt.then_some(&fleet.info().shares));
    let wedges = rows.wedges.iter().sum();
    let (parts, measured) = solved(fleet, plan, Question::Rows(rows), (run, dealt))?;
    let mut found = Found { wedges, ..Found::default() };
    for part in parts {
        found.counts.extend(part.counts.iter().map(|count| u64::from(*count)));
        found.others.extend(part.others);
        found.values.extend(part.values);
    }
    if dealt {
        found.counts = fleet.concat("counts", found.counts)?;
        found.others = fleet.concat("others", found.others)?;
        found.values = fleet.concat("values", found.values)?;
    }
    Ok((found, measured))
}

/// The value of each pair of nodes, 0 where they have no neighbour in common.
pub(in crate::algorithm) fn pairs(
    (fleet, graph): (&Fleet, &Prepared),
    (nodes, measure): (&[[u32; 2]], Measure),
    run: &RunOptions,
) -> Result<(Vec<f64>, Measured)> {
    let plan = Plan::new(graph.simple(fleet)?, measure)?;
    let dealt = run.merge.deals(fleet.world(), false);
    let labels: Vec<[u32; 2]> =
        nodes.iter().map(|pair| pair.map(|node| plan.rows.columns.label(node))).collect();
    // Nodes without arcs have no rows.
    let active = plan.active() as u32;
    let places: Vec<usize> =
        (0..labels.len()).filter(|at| labels[*at].iter().all(|label| *label < active)).collect();
    let asked = places.iter().map(|at| labels[*at]).collect();
    let (parts, measured) = solved(fleet, plan, Question::Pairs(asked), (run, dealt))?;
    let mut found: Vec<f64> = parts.into_iter().flat_map(|part| part.values).collect();
    if dealt {
        found = fleet.concat("values", found)?;
    }
    let mut values = vec![0.0; nodes.len()];
    places.into_iter().zip(found).for_each(|(at, value)| values[at] = value);
    Ok((values, measured))
}

/// What each replica of this process has found: a part of its own if work is dealt, else the first alone.
fn solved(
    fleet: &Fleet,
    plan: Plan,
    question: Question,
    (run, dealt): (&RunOptions, bool),
) -> Result<(Vec<Batch>, Measured)> {
    let (asked, own) = (Arc::new((plan, question)), run.clone());
    let program = move |r: &mut _| program(r, &asked.0, (&asked.1, dealt), &own);
    let (mut parts, measured) = ReplicaAnswer::all(fleet.run(program)?);
    parts.truncate(if dealt { usize::MAX } else { 1 });
    Ok((parts, measured))
}

fn program(
    r: &mut Replica,
    plan: &Plan,
    (question, dealt): (&Question, bool),
    run: &RunOptions,
) -> Result<ReplicaAnswer<Batch>> {
    let (rank, world, active) = (r.rank(), r.world(), plan.active());
    let (mut turns, mut labels, mut own) = (Vec::new(), Vec::new(), 0..0);
    let mut asked: &[[u32; 2]] = &[];
    let sizes = match question {
        Question::Rows(rows) => {
            own = rows.own(rank);
            turns = rows.turns(&own);
            labels = turns.iter().map(|at| rows.labels[own.start + *at as usize]).collect();
            Sizes::of_rows(active, plan.measure, rows.keep, turns.len())
        }
        Question::Pairs(pairs) => {
            asked = &pairs[part(pairs.len(), dealt, (rank, world))];
            Sizes::of_pairs(active, plan.measure, asked.len())
        }
    };
    let engine = Engine::new(
        r,
        |device| Workspace::new(device, (plan.rows.on_device(rank)?, plan), sizes, &labels),
        || Ok(()),
    )?;
    let (found, compared) = (Batch::default(), [run.compare, dealt]);
    let driver = Driver { plan, question, own, turns, labels, asked, engine };
    let mut counting = Counting { driver, found, compared, hash: [0; 2] };
    let measured = timed(r, run, &mut counting)?;
    let brings = dealt || r.leads();
    let found = if brings { counting.found } else { Batch::default() };
    ReplicaAnswer::new(measured, || Ok(found))
}

/// One run, to be repeated.
struct Counting<'a> {
    driver: Driver<'a>,
    /// By row and node.
    found: Batch,
    /// Whether answers are compared; whether replicas have parts.
    compared: [bool; 2],
    /// Of what all replicas have found.
    hash: [u32; 2],
}

impl Run for Counting<'_> {
    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.found = Batch::default();
        Ok(())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        self.found = match self.driver.question {
            Question::Rows(rows) => self.driver.rows(r, log, rows)?,
            Question::Pairs(_) => self.driver.pairs(r, log)?,
        };
        if self.compared[0] {
            let Batch { counts, others, values } = &self.found;
            let all = [bytemuck::cast_slice(counts), bytemuck::cast_slice(others)];
            let all = [all.concat(), bytemuck::cast_slice(values).to_vec()].concat();
            self.hash = hash_of_all(r, &all, 0, self.compared)?;
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::Host(&self.hash)]
    }
}

struct Driver<'a> {
    plan: &'a Plan,
    question: &'a Question,
    /// Rows of this replica.
    own: Range<usize>,
    /// Those of them that have wedges, by number, in the order in which they are counted, and their labels.
    turns: Vec<u32>,
    labels: Vec<u32>,
    /// Pairs of this replica.
    asked: &'a [[u32; 2]],
    engine: Engine<Workspace, ()>,
}

impl Driver<'_> {
    fn rows(&mut self, r: &mut Replica, log: &mut Log, rows: &Rows) -> Result<Batch> {
        let wedges: Vec<u64> =
            self.turns.iter().map(|at| rows.wedges[self.own.start + *at as usize]).collect();
        let all = 0..self.turns.len();
        let room = self.engine.workspace().map_or(u64::MAX, Workspace::places);
        // How many places each row takes, where that is known.
        let mut sizes: Vec<u32> = Vec::new();
        if let (Keep::Least(_), Engine::Cuda(_)) = (rows.keep, &self.engine) {
            for batch in batches(all.clone(), |at| wedges[at], |_| 0, room) {
                let counted = self.counted(r, log, rows.keep, (batch, &wedges), None)?;
                sizes.extend(counted.counts);
                enough(sizes.iter().map(|size| u64::from(*size)).sum())?;
            }
        }
        let place = |at: usize| match rows.keep {
            Keep::Best(best) => best as u64,
            Keep::Least(_) => sizes.get(at).map_or(0, |size| u64::from(*size)),
        };
        let (mut made, mut pairs) = (Vec::new(), 0);
        for batch in batches(all, |at| wedges[at], place, room) {
            let sizes = sizes.get(batch.clone());
            let found = self.counted(r, log, rows.keep, (batch, &wedges), sizes)?;
            pairs += found.others.len() as u64;
            enough(pairs)?;
            made.push(found);
        }
        Ok(self.in_order(rows.keep, made))
    }

    /// Counts a batch of turns. `sizes`: how many pairs of a least value each row has; a GPU counts them where that is not known.
    fn counted(
        &mut self,
        r: &mut Replica,
        log: &mut Log,
        keep: Keep,
        (batch, wedges): (Range<usize>, &[u64]),
        sizes: Option<&[u32]>,
    ) -> Result<Batch> {
        let Driver { plan, labels, engine, .. } = self;
        let (rank, many) = (r.rank(), batch.len());
        let starts = sizes.filter(|_| matches!(keep, Keep::Least(_))).map(|sizes| {
            let start = |sum: &mut u64, size: &u32| {
                *sum += u64::from(*size);
                Some(*sum - u64::from(*size))
            };
            sizes.iter().scan(0, start).collect::<Vec<u64>>()
        });
        let sum = wedges[batch.clone()].iter().sum();
        let first = wedges[batch.start];
        let found = step(
            (r, log, "step count"),
            engine,
            &mut (),
            |device, workspace, ()| {
                let graph = (plan.rows.on_device(rank)?, *plan);
                let kept = (keep, starts.as_deref());
                workspace.launch(device, graph, (batch.clone(), first), kept)
            },
            |_, workspace| match (keep, &starts) {
                (Keep::Least(_), None) => {
                    Ok(Batch { counts: workspace.counts(many)?, ..Batch::default() })
                }
                _ => workspace.batch(plan, many, keep),
            },
            |(), (), beat| host::rows(plan, &labels[batch.clone()], keep, beat),
        )?;
        log.book("step count", (1, sum), (many as u64, sum), "none");
        Ok(found)
    }

    /// What batches have kept, by row and node.
    fn in_order(&self, keep: Keep, made: Vec<Batch>) -> Batch {
        let Driver { plan, own, turns, .. } = self;
        // Where each row lies: its batch, its first pair, and how many it has.
        let mut places = vec![(0, 0, 0u32); own.len()];
        let mut turn = turns.iter();
        for (number, batch) in made.iter().enumerate() {
            let mut first = 0;
            for (count, at) in batch.counts.iter().zip(&mut turn) {
                places[*at as usize] = (number, first, *count);
                first += *count as usize;
            }
        }
        let columns = &plan.rows.columns;
        let row = |(number, first, count): &(usize, usize, u32)| {
            let own = *first..*first + *count as usize;
            let Some(Batch { others, values, .. }) = made.get(*number) else { return Vec::new() };
            let pairs = others[own.clone()].iter().zip(&values[own]);
            let mut pairs: Vec<(u32, f64)> = pairs.map(|(v, value)| (*v, *value)).collect();
            if let Keep::Least(_) = keep {
                pairs.sort_unstable_by_key(|pair| plan.name[pair.0 as usize]);
            }
            pairs
        };
        let mut found =
            Batch { counts: places.iter().map(|row| row.2).collect(), ..Batch::default() };
        for part in places.chunks(ROWS) {
            let rows: Vec<Vec<(u32, f64)>> = part.par_iter().map(row).collect();
            for (label, value) in rows.into_iter().flatten() {
                found.others.push(columns.node(label));
                found.values.push(value);
            }
        }
        found
    }

    fn pairs(&mut self, r: &mut Replica, log: &mut Log) -> Result<Batch> {
        let Driver { plan, asked, engine, .. } = self;
        let (rank, mut found) = (r.rank(), Batch::default());
        for pairs in asked.chunks(PAIRS) {
            let values = step(
                (r, log, "step pairs"),
                engine,
                &mut (),
                |device, workspace, ()| {
                    workspace.launch_pairs(device, (plan.rows.on_device(rank)?, plan), pairs)
                },
                |_, workspace| workspace.values(pairs.len()),
                |(), (), beat| host::pairs(plan, pairs, beat),
            )?;
            let degree = |label: &u32| plan.rows.columns.out.degree(*label as usize);
            let shorter = |pair: &[u32; 2]| pair.iter().map(degree).min().unwrap_or(0);
            let looked = pairs.iter().map(shorter).sum();
            log.book("step pairs", (1, looked), (pairs.len() as u64, looked), "none");
            found.values.extend(values);
        }
        Ok(found)
    }
}

/// Rows that are put in order at a time.
const ROWS: usize = 1 << 16;

/// Refuses more pairs than there is memory for, twelve bytes of each of which are held already.
fn enough(pairs: u64) -> Result<()> {
    crate::memory::room(&format!("{pairs} pairs and more"), (BYTES - 12) * pairs)
}
