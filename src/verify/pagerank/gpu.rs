//! Iterations on a GPU, and comparisons there.
//!
//! What a node hands to its neighbours is rounded to f32 at first: it is read at random, once an arc, and takes half of the bytes.
//! Sums are in f64. Each rounding is off by at most 2^-24 of the value. F has no negative terms, so what k
//! iterations are off adds up to at most 2^-24 (d + d^2 + ... + d^k) in L1, and to k 2^-24 of each rank. The answer passes if
//! it does with these added to its errors. Else iterations are made again in f64 throughout, and if it does not pass then, all is
//! compared as on the host, which names what is wrong.

use super::{
    AGREE, LEAST, Map, NODE, PagerankCheck, PagerankQuestion, ROUNDING, SUM, are_ranks,
    check_pagerank, makes_sense,
};
use crate::device::DeviceBuffer;
use crate::device::kernels::check_arriving::SCALE;
use crate::device::kernels::check_pagerank::{
    CompareArgs, Compared, PagerankArgs, ShareArgs, StartArgs,
};
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::arriving::{Along, arriving, arriving_rounded};
use crate::verify::gpu::{Arcs, Checker, Gpu, Seen};
use crate::verify::one_a_node;
use bytemuck::Zeroable;

/// What rounding to f32 may be off, relative to the value, and a little for the f64 around it.
const ROUNDED: f64 = 1.001 / (1u32 << 24) as f64;

impl Checker<'_> {
    /// What [`super::pagerank`] certifies; a GPU makes all iterations again, however many.
    ///
    /// # Errors
    /// As there.
    pub fn pagerank(
        &self,
        graph: &Graph,
        ranks: &[f32],
        question: &PagerankQuestion,
    ) -> Result<PagerankCheck> {
        makes_sense(graph, question)?;
        one_a_node(graph, "PageRank", "ranks", ranks.len())?;
        let on_gpu = |gpu: &Gpu| {
            let Some(mut map) = Iterations::new(gpu, graph, question)? else {
                return Ok(Seen::NoRoom);
            };
            if let Some(check) = map.passes(ranks, question)? {
                return Ok(Seen::Right(check));
            }
            // What is wrong is named.
            are_ranks(graph, ranks)?;
            map.share = map.device_share.to_vec()?;
            check_pagerank(graph, ranks, question, &map, u64::MAX).map(Seen::Right)
        };
        self.certify(Some(graph), on_gpu, || super::pagerank(graph, ranks, question))
    }
}

/// The map on a GPU.
struct Iterations<'a> {
    gpu: &'a Gpu<'a>,
    arcs: Arcs<'a>,
    nodes: usize,
    along: Along,
    weighted: bool,
    damping: f64,
    /// Empty until the host asks.
    share: Vec<f64>,
    device_share: DeviceBuffer<f64>,
    personal: Option<&'a [f64]>,
    device_personal: Option<DeviceBuffer<f64>>,
}

impl<'a> Iterations<'a> {
    /// `None` where there is no room.
    fn new(
        gpu: &'a Gpu,
        graph: &'a Graph,
        question: &PagerankQuestion<'a>,
    ) -> Result<Option<Iterations<'a>>> {
        let (nodes, weighted) = (graph.nodes(), question.weighted && graph.is_weighted());
        // Shares, the teleport, ranks and the answer's, and what arrives and leaves.
        let Some(arcs) = gpu.arcs(graph, weighted, 48 * nodes as u64)? else { return Ok(None) };
        let share = gpu.alloc("shares", nodes)?;
        if weighted {
            arriving(gpu, &arcs, Along::Out, true, None, &share)?;
        }
        let args = ShareArgs {
            offsets: if weighted { 0 } else { arcs.nodes().offsets },
            share: share.pointer(),
            nodes: nodes as u64,
        };
        let kernel = gpu.function("check_pagerank.cu", "check_pagerank_share")?;
        gpu.over_nodes(kernel, nodes as u64, &args)?;
        let personal = question.personal;
        Ok(Some(Iterations {
            gpu,
            along: if graph.is_symmetric() { Along::Back } else { Along::In },
            arcs,
            nodes,
            weighted,
            damping: question.damping,
            share: Vec::new(),
            device_share: share,
            device_personal: personal.map(|p| gpu.copy("teleport", p)).transpose()?,
            personal,
        }))
    }

    /// What the check of an answer sees that passes; `None` where it does not, or may not.
    fn passes(&self, ranks: &[f32], question: &PagerankQuestion) -> Result<Option<PagerankCheck>> {
        let given = self.gpu.copy("the answer's ranks", ranks)?;
        let k = question.iterations;
        let growth = self.growth(k);
        let [agree, node, off] = [AGREE, NODE, SUM].map(|bound| bound * growth);
        let powers = (1..=i32::try_from(k).unwrap_or(i32::MAX)).map(|i| self.damping.powi(i));
        let off_by = [powers.take(1 << 16).sum(), f64::from(k)].map(|by: f64| by * ROUNDED);
        // Of so many iterations that hardly any answer would pass, none is worth a try.
        let rounds = !self.weighted && k < 1 << 16 && off_by[1] < node / 2.0;
        let mut found = None;
        for rounded in if rounds { vec![true, false] } else { vec![false] } {
            let right = self.begun(None)?;
            self.iterate(&right, k, rounded)?;
            let seen = self.compared(&given, &right)?;
            let more = if rounded { off_by } else { [0.0; 2] };
            let error = seen.distance / seen.right_sum.max(f64::MIN_POSITIVE);
            // Comparisons with NaN do not hold.
            let is_one = (seen.sum - 1.0).abs() <= off;
            if seen.bad > 0 || !is_one {
                return Ok(None);
            }
            if error + more[0] <= agree && seen.worst + more[1] <= node {
                found = Some((error, seen.worst, seen.sum));
                break;
            }
        }
        let Some((error, worst, sum)) = found else { return Ok(None) };
        let next = self.begun(Some(&given))?;
        self.iterate(&next, 1, false)?;
        let residual = self.compared(&given, &next)?.distance;
        let bound = question.tolerance.map_or(f64::INFINITY, |most| most + ROUNDING * growth);
        let (l1_error, node_error) = (Some(error), Some(worst));
        Ok((residual <= bound).then_some(PagerankCheck { l1_error, node_error, residual, sum }))
    }

    /// Ranks at the start, or the answer's.
    fn begun(&self, ranks: Option<&DeviceBuffer<f32>>) -> Result<DeviceBuffer<f64>> {
        let to = self.gpu.alloc("ranks", self.nodes)?;
        let args = StartArgs {
            ranks: ranks.map_or(0, DeviceBuffer::pointer),
            personal: self.device_personal.as_ref().map_or(0, DeviceBuffer::pointer),
            to: to.pointer(),
            uniform: 1.0 / self.nodes as f64,
            nodes: self.nodes as u64,
        };
        let kernel = self.gpu.function("check_pagerank.cu", "check_pagerank_start")?;
        self.gpu.over_nodes(kernel, args.nodes, &args)?;
        Ok(to)
    }

    fn compared(&self, ranks: &DeviceBuffer<f32>, right: &DeviceBuffer<f64>) -> Result<Compared> {
        let nodes = self.nodes as u64;
        let warps = self.gpu.alloc::<Compared>("comparisons", self.gpu.warps_over_nodes(nodes))?;
        let args = CompareArgs {
            ranks: ranks.pointer(),
            right: right.pointer(),
            warps: warps.pointer(),
            least: LEAST,
            nodes,
        };
        let kernel = self.gpu.function("check_pagerank.cu", "check_pagerank_compare")?;
        self.gpu.over_nodes(kernel, nodes, &args)?;
        let add = |all: Compared, one: Compared| Compared {
            sum: all.sum + one.sum,
            right_sum: all.right_sum + one.right_sum,
            distance: all.distance + one.distance,
            worst: all.worst.max(one.worst),
            bad: all.bad + one.bad,
        };
        Ok(warps.to_vec()?.into_iter().fold(Compared::zeroed(), add))
    }

    /// Queues so many iterations of `ranks`.
    fn iterate(&self, ranks: &DeviceBuffer<f64>, iterations: u32, rounded: bool) -> Result<()> {
        let (gpu, nodes) = (self.gpu, self.nodes);
        let sums = gpu.alloc::<f64>("what arrives", nodes)?;
        let leaving = gpu.alloc::<f64>("what leaves", if rounded { 0 } else { nodes })?;
        let leaving_rounded = gpu.alloc::<f32>("what leaves", if rounded { nodes } else { 0 })?;
        let dangling = gpu.alloc::<f64>("ranks that nothing leaves", iterations as usize + 1)?;
        let args = |iteration: u32| PagerankArgs {
            ranks: ranks.pointer(),
            arriving: sums.pointer(),
            leaving: if rounded { 0 } else { leaving.pointer() },
            rounded: leaving_rounded.pointer(),
            share: self.device_share.pointer(),
            personal: self.device_personal.as_ref().map_or(0, DeviceBuffer::pointer),
            dangling: dangling.pointer() + 8 * u64::from(iteration),
            damping: self.damping,
            uniform: 1.0 / nodes as f64,
            scale: SCALE,
            nodes: nodes as u64,
        };
        let begin = gpu.function("check_pagerank.cu", "check_pagerank_begin")?;
        let next = gpu.function("check_pagerank.cu", "check_pagerank_next")?;
        gpu.over_nodes(begin, nodes as u64, &args(0))?;
        for iteration in 0..iterations {
            match rounded {
                true => arriving_rounded(gpu, &self.arcs, self.along, &leaving_rounded, &sums)?,
                false => {
                    arriving(gpu, &self.arcs, self.along, self.weighted, Some(&leaving), &sums)?;
                }
            }
            gpu.over_nodes(next, nodes as u64, &args(iteration))?;
        }
        // What the kernels read stays until they have.
        dangling.element(0).map(drop)
    }
}

impl Map for Iterations<'_> {
    fn damping(&self) -> f64 {
        self.damping
    }

    fn share(&self) -> &[f64] {
        &self.share
    }

    fn personal(&self, v: usize) -> f64 {
        self.personal.map_or(1.0 / self.nodes as f64, |p| p[v])
    }

    fn applied(&self, ranks: Vec<f64>, iterations: u32) -> Result<Vec<f64>> {
        let ranks = self.gpu.copy("ranks", &ranks)?;
        self.iterate(&ranks, iterations, false)?;
        ranks.to_vec()
    }
}
