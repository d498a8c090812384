//! The same check on a GPU.

use super::{Distance, PathsCheck, PathsFound, check_lengths, distinct_seeds, rounded_right};
use crate::device::DeviceBuffer;
use crate::device::kernels::check_sssp::SsspArgs;
use crate::error::Result;
use crate::graph::Graph;
use crate::verify::gpu::{Arcs, Checker, Gpu, Seen};
use bytemuck::{Pod, Zeroable};
use std::time::Instant;

/// Passes over the arcs in which support is handed on between equal distances, at most: chains of arcs without weight that are
/// longer are followed sooner on the host.
const PASSES: usize = 64;
/// Twice as many steps a round: a chain that has not ended then is a circle.
const JUMPS: usize = 33;
/// Bytes a node of distances, marks, nominees, predecessors, ranks, levels and ancestors before and after a jump, and support.
const SCRATCH: u64 = 8 + 8 * 4 + 4;

impl Checker<'_> {
    /// What [`super::sssp`] certifies.
    ///
    /// # Errors
    /// As there.
    pub fn sssp(
        &self,
        graph: &Graph,
        seeds: &[u32],
        answer: &PathsFound<'_>,
    ) -> Result<PathsCheck> {
        let begin = Instant::now();
        let own = distinct_seeds(graph, seeds)?;
        check_lengths(graph, answer)?;
        let on_gpu = |gpu: &Gpu| match answer.distances_f64 {
            None => OnGpu::new(gpu, graph, &own, answer, answer.distances, FLOATS)?.check(),
            Some(distances) => match rounded_right(graph, answer.distances, distances) {
                Ok(()) => OnGpu::new(gpu, graph, &own, answer, distances, DOUBLES)?.check(),
                Err(_) => Ok(Seen::Wrong),
            },
        };
        let mut checked =
            self.certify(Some(graph), on_gpu, || super::sssp(graph, seeds, answer))?;
        checked.ms = begin.elapsed().as_secs_f64() * 1e3;
        Ok(checked)
    }
}

/// The kernels for distances of one width.
struct Names {
    seeds: &'static str,
    arcs: &'static str,
    spread: &'static str,
    nodes: &'static str,
    chains: &'static str,
    tight: &'static str,
    to_f64: fn(u64) -> f64,
}

const FLOATS: Names = Names {
    seeds: "check_sssp_seeds_f32",
    arcs: "check_sssp_arcs_f32",
    spread: "check_sssp_spread_f32",
    nodes: "check_sssp_nodes_f32",
    chains: "check_sssp_chains_f32",
    tight: "check_sssp_tight_f32",
    to_f64: |bits| f64::from(f32::from_bits(bits as u32)),
};

const DOUBLES: Names = Names {
    seeds: "check_sssp_seeds_f64",
    arcs: "check_sssp_arcs_f64",
    spread: "check_sssp_spread_f64",
    nodes: "check_sssp_nodes_f64",
    chains: "check_sssp_chains_f64",
    tight: "check_sssp_tight_f64",
    to_f64: f64::from_bits,
};

/// An answer on a GPU.
struct OnGpu<'a> {
    gpu: &'a Gpu<'a>,
    names: Names,
    /// `None` where there is no room.
    arcs: Option<Arcs<'a>>,
    graph: &'a Graph,
    args: SsspArgs,
    /// What `args` points to.
    words: Vec<DeviceBuffer<u32>>,
    distances: DeviceBuffer<u8>,
    findings: DeviceBuffer<crate::device::kernels::arcs::Findings>,
    claims: [bool; 2],
}

impl<'a> OnGpu<'a> {
    fn new<D: Distance + Pod>(
        gpu: &'a Gpu,
        graph: &'a Graph,
        seeds: &[u32],
        answer: &PathsFound<'_>,
        distances: &[D],
        names: Names,
    ) -> Result<OnGpu<'a>> {
        let nodes = graph.nodes();
        let arcs = gpu.arcs(graph, true, SCRATCH * nodes as u64)?;
        let mut on = OnGpu {
            gpu,
            names,
            graph,
            args: SsspArgs::zeroed(),
            words: Vec::new(),
            distances: gpu.alloc("distances to check", 0)?,
            findings: gpu.findings()?,
            claims: [answer.predecessors.is_some(), answer.nominees.is_some()],
            arcs,
        };
        let Some(arcs) = &on.arcs else { return Ok(on) };
        let rows = arcs.nodes();
        on.distances = gpu.copy("distances to check", bytemuck::cast_slice(distances))?;
        let mut word = |label: &str, values: Option<&[u32]>| -> Result<u64> {
            let Some(values) = values else { return Ok(0) };
            let buffer = gpu.copy(label, values)?;
            let pointer = buffer.pointer();
            on.words.push(buffer);
            Ok(pointer)
        };
        let (nominees, predecessors) =
            (word("nominees", answer.nominees)?, word("predecessors", answer.predecessors)?);
        let seeds_at = word("seeds", Some(seeds))?;
        let marks = gpu.alloc::<u32>("marks", nodes)?;
        let ranks = gpu.ranks(graph)?;
        on.args = SsspArgs {
            rows,
            distances: on.distances.pointer(),
            nominees,
            predecessors,
            ranks: ranks.as_ref().map_or(0, DeviceBuffer::pointer),
            seeds: seeds_at,
            marks: marks.pointer(),
            findings: on.findings.pointer(),
            count: seeds.len() as u32,
            ..SsspArgs::zeroed()
        };
        on.words.push(marks);
        on.words.extend(ranks);
        Ok(on)
    }

    /// Queues a kernel over all arcs.
    fn arcs(&self, kernel: &'static str) -> Result<()> {
        let kernel = self.gpu.function("check_sssp.cu", kernel)?;
        let Some(arcs) = &self.arcs else { return Ok(()) };
        let args = self.args;
        arcs.each(|rows| self.gpu.over_arcs(kernel, rows, &SsspArgs { rows: *rows, ..args }))
    }

    /// Queues a kernel over so many items.
    fn over(&self, kernel: &'static str, items: u64) -> Result<()> {
        let kernel = self.gpu.function("check_sssp.cu", kernel)?;
        self.gpu.over_nodes(kernel, items, &self.args)
    }

    fn check(mut self) -> Result<Seen<PathsCheck>> {
        if self.arcs.is_none() {
            return Ok(Seen::NoRoom);
        }
        let nodes = self.graph.nodes() as u64;
        self.over(self.names.seeds, self.args.count.into())?;
        self.arcs(self.names.arcs)?;
        let overflowed_arcs = self.findings.element(0)?.others;
        for pass in 0.. {
            self.over(self.names.nodes, nodes)?;
            let found = self.findings.element(0)?;
            if found.wrong != 0 {
                return Ok(Seen::Wrong);
            }
            self.findings.clear()?;
            if found.changed == 0 {
                if !self.predecessors_hold()? {
                    return Ok(Seen::Wrong);
                }
                let [predecessors, nominees] = self.claims;
                return Ok(Seen::Right(PathsCheck {
                    reached: found.reached,
                    reached_arcs: found.arcs,
                    max_distance: (self.names.to_f64)(found.most),
                    overflowed_arcs,
                    predecessors,
                    nominees,
                    ms: 0.0,
                }));
            }
            if pass == PASSES {
                break;
            }
            // Some nodes may have support from nodes at their own distance.
            self.arcs(self.names.spread)?;
            if self.findings.element(0)?.changed == 0 {
                return Ok(Seen::Wrong);
            }
            self.findings.clear()?;
        }
        Ok(Seen::NoRoom)
    }

    /// Whether predecessors are right, if there are any; the distances are known to be.
    fn predecessors_hold(&mut self) -> Result<bool> {
        if self.args.predecessors == 0 {
            return Ok(true);
        }
        let nodes = self.graph.nodes();
        let [levels, ancestors, support, next_levels, next_ancestors] = [
            self.gpu.alloc::<u32>("tight levels", nodes)?,
            self.gpu.alloc::<u32>("ancestors", nodes)?,
            self.gpu.alloc::<u32>("support", nodes)?,
            self.gpu.alloc::<u32>("tight levels", nodes)?,
            self.gpu.alloc::<u32>("ancestors", nodes)?,
        ];
        support.fill_words(super::NONE)?;
        (self.args.levels, self.args.ancestors) = (levels.pointer(), ancestors.pointer());
        (self.args.support, self.args.next_levels) = (support.pointer(), next_levels.pointer());
        self.args.next_ancestors = next_ancestors.pointer();
        self.over(self.names.chains, nodes as u64)?;
        for jump in 0.. {
            let found = self.findings.element(0)?;
            if found.wrong != 0 || jump == JUMPS {
                return Ok(false);
            }
            if jump > 0 && found.changed == 0 {
                break;
            }
            self.findings.clear()?;
            self.over("check_sssp_jump", nodes as u64)?;
            let args = &mut self.args;
            std::mem::swap(&mut args.levels, &mut args.next_levels);
            std::mem::swap(&mut args.ancestors, &mut args.next_ancestors);
        }
        self.arcs(self.names.tight)?;
        self.over("check_sssp_predecessors", nodes as u64)?;
        Ok(self.findings.element(0)?.wrong == 0)
    }
}
