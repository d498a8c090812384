//! Brandes' algorithm on a GPU, from several sources at a time.

use super::{BetweennessCheck, BetweennessQuestion, Check, Scale};
use crate::device::kernels::arcs::Rows;
use crate::device::kernels::check_bc::{BcArgs, FAR, PIECE, Piece};
use crate::device::{DeviceBuffer, Function};
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Checker, Gpu, Seen};
use crate::verify::one_a_node;
use bytemuck::Zeroable;

/// Sources that are searched from side by side, where memory allows, and the option that kernels are compiled with.
const LANES: [(usize, &str); 2] = [(16, "-DLANES=16"), (8, "-DLANES=8")];
/// A lane without a source.
const NONE: u32 = u32::MAX;

/// Device bytes of so many nodes and arcs: of a node and lane the level, paths and what comes after; the score; and pieces of
/// rows.
fn scratch(nodes: usize, arcs: u64, lanes: usize) -> u64 {
    nodes as u64 * (17 * lanes as u64 + 8) + 8 * pieces(nodes, arcs)
}

/// Pieces of rows, at most.
fn pieces(nodes: usize, arcs: u64) -> u64 {
    nodes as u64 + arcs / u64::from(PIECE)
}

impl Checker<'_> {
    /// What [`super::bc`] certifies; a GPU runs Brandes' algorithm from all sources, however many. By weight the host checks.
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
        if question.weighted {
            return self.by_host(|| super::bc(graph, scores, question));
        }
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
    let (nodes, arcs, sources) = (graph.nodes(), graph.arcs(), question.sources);
    // Half as many lanes where those hold all sources.
    let enough = |lanes: usize| lanes == LANES[1].0 || sources.len() > lanes / 2;
    for (lanes, option) in LANES.into_iter().filter(|(lanes, _)| enough(*lanes)) {
        let input = gpu.arcs(graph, false, scratch(nodes, arcs, lanes))?;
        if let Some(rows) = input.as_ref().and_then(|input| input.all()) {
            return Search::new(gpu, rows, (lanes, option))?.all(question);
        }
    }
    Ok(None)
}

/// What searches work with.
struct Search<'a, 'f> {
    gpu: &'a Gpu<'f>,
    lanes: usize,
    begin: Function,
    list: Function,
    forward: Function,
    backward: Function,
    level: Function,
    args: BcArgs,
    levels: DeviceBuffer<u8>,
    paths: DeviceBuffer<f64>,
    after: DeviceBuffer<f64>,
    scores: DeviceBuffer<f64>,
    pieces: DeviceBuffer<Piece>,
    listed: DeviceBuffer<u64>,
    /// Hops, and nodes that each lane has reached.
    totals: DeviceBuffer<u64>,
    /// Whether a node was reached, and whether f64 is too small.
    flags: DeviceBuffer<u32>,
}

impl<'a, 'f> Search<'a, 'f> {
    fn new(
        gpu: &'a Gpu<'f>,
        rows: Rows,
        (lanes, option): (usize, &'static str),
    ) -> Result<Search<'a, 'f>> {
        let kernel = |name| gpu.function_with("check_bc.cu", option, name);
        let nodes = rows.nodes as usize;
        let cells = nodes * lanes;
        let most = pieces(nodes, rows.stop) as usize;
        let mut search = Search {
            gpu,
            lanes,
            begin: kernel("check_bc_begin")?,
            list: kernel("check_bc_list")?,
            forward: kernel("check_bc_forward")?,
            backward: kernel("check_bc_backward")?,
            level: kernel("check_bc_level")?,
            args: BcArgs { rows, ..BcArgs::zeroed() },
            levels: gpu.alloc("levels", cells)?,
            paths: gpu.alloc("paths", cells)?,
            after: gpu.alloc("after", cells)?,
            scores: gpu.alloc("scores", nodes)?,
            pieces: gpu.alloc("pieces of rows", most)?,
            listed: gpu.alloc("pieces that are listed", 1)?,
            totals: gpu.alloc("hops and nodes reached", 1 + lanes)?,
            flags: gpu.alloc("flags", 2)?,
        };
        search.args = BcArgs {
            levels: search.levels.pointer(),
            paths: search.paths.pointer(),
            after: search.after.pointer(),
            scores: search.scores.pointer(),
            pieces: search.pieces.pointer(),
            listed: search.listed.pointer(),
            hops: search.totals.pointer(),
            reached: search.totals.pointer() + 8,
            changed: search.flags.pointer(),
            overflow: search.flags.pointer() + 4,
            ..search.args
        };
        Ok(search)
    }

    /// What searches from all sources find.
    fn all(&mut self, question: &BetweennessQuestion) -> Result<Option<Right>> {
        self.args.endpoints = u32::from(question.endpoints);
        let targets = match question.targets {
            None => None,
            Some(targets) => {
                let mut all = vec![0u8; self.args.rows.nodes as usize];
                targets.iter().for_each(|target| all[*target as usize] = 1);
                Some(self.gpu.copy("targets", &all)?)
            }
        };
        self.args.targets = targets.as_ref().map_or(0, DeviceBuffer::pointer);
        let (mut ends, mut pairs, mut hops) = (Vec::new(), 0, 0);
        for some in question.sources.chunks(self.lanes) {
            let mut lanes = vec![NONE; self.lanes];
            lanes[..some.len()].copy_from_slice(some);
            let sources = self.gpu.copy("sources", &lanes)?;
            self.args.sources = sources.pointer();
            self.totals.clear()?;
            if !self.batch()? {
                return Ok(None);
            }
            let found = self.totals.to_vec()?;
            hops += found[0];
            pairs += found[1..].iter().sum::<u64>();
            ends.extend(some.iter().copied().zip(found[1..].iter().copied()));
        }
        let mut raw = self.scores.to_vec()?;
        if question.endpoints {
            // A source is an end of the path to every node that it reaches.
            ends.into_iter().for_each(|(source, reached)| raw[source as usize] += reached as f64);
        }
        Ok(Some(Right { raw, pairs, hops }))
    }

    /// Searches from the sources of all lanes; whether levels and paths could be counted.
    fn batch(&self) -> Result<bool> {
        self.over_cells(self.begin, 0)?;
        let mut depth = 0;
        loop {
            self.flags.clear()?;
            self.over_rows(self.forward, depth)?;
            if self.flags.element(0)? == 0 {
                break;
            }
            depth += 1;
            if depth + 1 >= FAR {
                return Ok(false);
            }
        }
        self.over_cells(self.level, depth)?;
        for level in (0..depth).rev() {
            self.over_rows(self.backward, level)?;
            self.over_cells(self.level, level)?;
        }
        Ok(self.flags.element(1)? == 0)
    }

    fn over_cells(&self, kernel: Function, level: u32) -> Result<()> {
        let cells = u64::from(self.args.rows.nodes) * self.lanes as u64;
        self.gpu.over_nodes(kernel, cells, &BcArgs { level, ..self.args })
    }

    /// Queues `kernel` for the rows of nodes of `level`.
    fn over_rows(&self, kernel: Function, level: u32) -> Result<()> {
        let args = BcArgs { level, ..self.args };
        self.listed.clear()?;
        self.gpu.over_nodes(self.list, args.rows.nodes.into(), &args)?;
        // A group of lanes a piece.
        let threads = self.listed.element(0)? * self.lanes as u64;
        self.gpu.over_nodes(kernel, threads, &args)
    }
}
