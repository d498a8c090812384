//! Iterations on a GPU.

use super::{Map, PagerankCheck, PagerankQuestion, accepted, check_pagerank};
use crate::device::DeviceBuffer;
use crate::device::kernels::check_pagerank::PagerankArgs;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::arriving::{Along, arriving};
use crate::verify::gpu::{Arcs, Checker, Gpu, Seen};

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
        accepted(graph, ranks, question)?;
        let on_gpu = |gpu: &Gpu| match Iterations::new(gpu, graph, question)? {
            None => Ok(Seen::NoRoom),
            // What it finds wrong it names.
            Some(map) => check_pagerank(graph, ranks, question, &map, u64::MAX).map(Seen::Right),
        };
        self.certify(on_gpu, || super::pagerank(graph, ranks, question))
    }
}

/// The map on a GPU.
struct Iterations<'a> {
    gpu: &'a Gpu<'a>,
    arcs: Arcs<'a>,
    along: Along,
    weighted: bool,
    damping: f64,
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
        // Shares, the teleport, ranks, and what arrives and leaves.
        let Some(arcs) = gpu.arcs(graph, weighted, 40 * nodes as u64)? else { return Ok(None) };
        let out: Vec<f64> = match weighted {
            true => {
                let sums = gpu.alloc("out-weights", nodes)?;
                arriving(gpu, &arcs, Along::Out, true, None, &sums)?;
                sums.to_vec()?
            }
            false => (0..nodes).map(|v| graph.degree(v) as f64).collect(),
        };
        let share = |weight: f64| if weight == 0.0 { 0.0 } else { 1.0 / weight };
        let share: Vec<f64> = out.into_iter().map(share).collect();
        let personal = question.personal;
        Ok(Some(Iterations {
            gpu,
            along: if graph.is_symmetric() { Along::Back } else { Along::In },
            arcs,
            weighted,
            damping: question.damping,
            device_share: gpu.copy("shares", &share)?,
            share,
            device_personal: personal.map(|p| gpu.copy("teleport", p)).transpose()?,
            personal,
        }))
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
        self.personal.map_or(1.0 / self.share.len() as f64, |p| p[v])
    }

    fn applied(&self, ranks: Vec<f64>, iterations: u32) -> Result<Vec<f64>> {
        let (gpu, nodes) = (self.gpu, ranks.len());
        let ranks = gpu.copy("ranks", &ranks)?;
        let arriving_there = gpu.alloc::<f64>("what arrives", nodes)?;
        let leaving = gpu.alloc::<f64>("what leaves", nodes)?;
        let dangling = gpu.alloc::<f64>("ranks that nothing leaves", iterations as usize + 1)?;
        let args = |iteration: u32| PagerankArgs {
            ranks: ranks.pointer(),
            arriving: arriving_there.pointer(),
            leaving: leaving.pointer(),
            share: self.device_share.pointer(),
            personal: self.device_personal.as_ref().map_or(0, DeviceBuffer::pointer),
            dangling: dangling.pointer() + 8 * u64::from(iteration),
            damping: self.damping,
            uniform: 1.0 / nodes as f64,
            nodes: nodes as u64,
        };
        let begin = gpu.function("check_pagerank.cu", "check_pagerank_begin")?;
        let next = gpu.function("check_pagerank.cu", "check_pagerank_next")?;
        gpu.over_nodes(begin, nodes as u64, &args(0))?;
        for iteration in 0..iterations {
            let sums = &arriving_there;
            arriving(gpu, &self.arcs, self.along, self.weighted, Some(&leaving), sums)?;
            gpu.over_nodes(next, nodes as u64, &args(iteration))?;
        }
        ranks.to_vec()
    }
}
