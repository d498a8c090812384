//! Brandes' algorithm on a GPU, from several sources at a time.

use super::{BetweennessCheck, BetweennessQuestion, Check, Scale};
use crate::device::DeviceBuffer;
use crate::device::kernels::arcs::THREADS;
use crate::device::kernels::check_bc::{BcArgs, FAR, LANES, PIECE};
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen};
use crate::verify::one_a_node;
use bytemuck::Zeroable;

const SIDE: usize = LANES as usize;
/// A lane without a source.
const NONE: u32 = u32::MAX;
/// Bytes of a node: level, paths and what comes after, a lane; and the score.
const SCRATCH: u64 = 17 * LANES as u64 + 8;

impl Checker<'_> {
    /// What [`super::bc`] certifies; a GPU runs Brandes' algorithm from all sources, however many.
    ///
    /// # Errors
    /// As there.
    pub fn bc(
        &self,
        graph: &Graph,
        scores: &[f64],
        question: &BetweennessQuestion,
    ) -> Result<BetweennessCheck> {
        one_a_node(graph, "betweenness", "scores", scores.len())?;
        let on_gpu = |gpu: &Gpu| {
            let check = Check { graph, scores, question, scale: Scale::of(graph, question)? };
            check.are_scores()?;
            let Some(right) = brandes(gpu, graph, question)? else { return Ok(Seen::NoRoom) };
            // What it finds wrong it names.
            let worst_error = check.compare(&right.raw)?;
            let sum_error = Some(check.sum(right.pairs, right.hops.into())?);
            let checked_sources = question.sources.len() as u64;
            Ok(Seen::Right(BetweennessCheck { checked_sources, worst_error, sum_error }))
        };
        self.certify(Some(graph), on_gpu, || super::bc(graph, scores, question))
    }
}

/// What searches find.
struct Right {
    raw: Vec<f64>,
    pairs: u64,
    hops: u64,
}

/// Raw scores; `None` where there is no room, paths have more levels than the kernels count, or are more than f64 holds.
fn brandes(gpu: &Gpu, graph: &Graph, question: &BetweennessQuestion) -> Result<Option<Right>> {
    let nodes = graph.nodes();
    let arcs = gpu.arcs(graph, false, SCRATCH * nodes as u64)?;
    let Some(rows) = arcs.as_ref().and_then(|arcs| arcs.all()) else { return Ok(None) };
    let cells = nodes * SIDE;
    let levels = gpu.alloc::<u8>("levels", cells)?;
    let (paths, after) = (gpu.alloc::<f64>("paths", cells)?, gpu.alloc::<f64>("after", cells)?);
    let scores = gpu.alloc::<f64>("scores", nodes)?;
    let totals = gpu.alloc::<u64>("hops and nodes reached", 1 + SIDE)?;
    let flags = gpu.alloc::<u32>("flags", 2)?;
    let mut ends = Vec::new();
    let (mut pairs, mut hops) = (0, 0);
    for some in question.sources.chunks(SIDE) {
        let mut lanes = [NONE; SIDE];
        lanes[..some.len()].copy_from_slice(some);
        let sources = gpu.copy("sources", &lanes)?;
        totals.clear()?;
        let args = BcArgs {
            rows,
            levels: levels.pointer(),
            paths: paths.pointer(),
            after: after.pointer(),
            scores: scores.pointer(),
            sources: sources.pointer(),
            hops: totals.pointer(),
            reached: totals.pointer() + 8,
            changed: flags.pointer(),
            overflow: flags.pointer() + 4,
            endpoints: u32::from(question.endpoints),
            ..BcArgs::zeroed()
        };
        if !batch(gpu, &args, &flags)? {
            return Ok(None);
        }
        let found = totals.to_vec()?;
        hops += found[0];
        pairs += found[1..].iter().sum::<u64>();
        ends.extend(some.iter().copied().zip(found[1..].iter().copied()));
    }
    let mut raw = scores.to_vec()?;
    if question.endpoints {
        // A source is an end of the path to every node that it reaches.
        ends.into_iter().for_each(|(source, reached)| raw[source as usize] += reached as f64);
    }
    Ok(Some(Right { raw, pairs, hops }))
}

/// Searches from the sources of all lanes; whether levels and paths could be counted.
fn batch(gpu: &Gpu, args: &BcArgs, flags: &DeviceBuffer<u32>) -> Result<bool> {
    let kernel = |name| gpu.function("check_bc.cu", name);
    let (forward, backward) = (kernel("check_bc_forward")?, kernel("check_bc_backward")?);
    let (begin, finish) = (kernel("check_bc_begin")?, kernel("check_bc_level")?);
    let cells = u64::from(args.rows.nodes) * u64::from(LANES);
    // A group of lanes a piece.
    let threads = args.rows.stop.div_ceil(PIECE.into()) * u64::from(LANES);
    let over =
        |kernel, items: u64, level| gpu.over_nodes(kernel, items, &BcArgs { level, ..*args });
    over(begin, cells, 0)?;
    let mut depth = 0;
    loop {
        flags.clear()?;
        over(forward, threads.max(THREADS.into()), depth)?;
        if flags.element(0)? == 0 {
            break;
        }
        depth += 1;
        if depth + 1 >= FAR {
            return Ok(false);
        }
    }
    over(finish, cells, depth)?;
    for level in (0..depth).rev() {
        over(backward, threads.max(THREADS.into()), level)?;
        over(finish, cells, level)?;
    }
    Ok(flags.element(1)? == 0)
}
