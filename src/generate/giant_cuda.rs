//! The largest component of a graph in a GPU's memory, or of one that is drawn there: the arguments of `kernels/giant.cu`.

use super::PassLimits;
use super::rmat::Rmat;
use super::rmat_cuda::{RmatKernels, Work};
use crate::device::kernels::giant::{GiantArgs, THREADS};
use crate::device::{CudaDevice, DeviceBuffer, DeviceCsr, Function, Launch, source};
use crate::error::Result;
use crate::hash::hash;
use std::collections::HashMap;

/// Nodes that are asked for their root, to guess the largest component.
const ASKED: u64 = 256;
/// Edges a node that are joined before that.
const SAMPLED: u64 = 2;

/// The lowest node of the largest component of `csr`, which is symmetric, if most nodes that have arcs are in that.
pub(super) fn lowest_of_most(device: &mut CudaDevice, csr: &DeviceCsr) -> Result<Option<u32>> {
    let search = match Search::new(device, csr)? {
        Some(search) => search,
        None => return Ok(None),
    };
    search.launch(search.sample, 0)?;
    let giant = search.guess()?;
    search.launch(search.rest, giant)?;
    search.lowest(giant)
}

/// The same of the graph that `rmat` draws, of which `csr` has the offsets.
pub(super) fn lowest_of_edges(
    device: &mut CudaDevice,
    csr: &DeviceCsr,
    rmat: &Rmat,
) -> Result<Option<u32>> {
    let kernels = RmatKernels::load(device)?;
    let search = match Search::new(device, csr)? {
        Some(search) => search,
        None => return Ok(None),
    };
    let limits = PassLimits::default();
    let work = Work::new(search.device, &kernels, (rmat, false), &limits);
    let (edges, nowhere) = (rmat.edges(), u32::MAX);
    let sampled = edges.min(SAMPLED * csr.nodes);
    work.join(&search.parent, nowhere, 0..sampled)?;
    let giant = search.guess()?;
    work.join(&search.parent, giant, sampled..edges)?;
    search.lowest(giant)
}

/// Trees of nodes, of which the largest is looked for.
struct Search<'a> {
    device: &'a CudaDevice,
    csr: &'a DeviceCsr,
    sample: Function,
    compress: Function,
    rest: Function,
    count: Function,
    /// `[nodes]`
    parent: DeviceBuffer<u32>,
    /// Nodes inside and outside.
    counts: DeviceBuffer<u64>,
}

impl<'a> Search<'a> {
    /// Every node alone; `None` where there is no node.
    fn new(device: &'a mut CudaDevice, csr: &'a DeviceCsr) -> Result<Option<Search<'a>>> {
        if csr.nodes == 0 {
            return Ok(None);
        }
        let mut load = |name| device.function(source("giant.cu"), &[], name);
        let [begin, sample, compress] =
            [load("giant_begin")?, load("giant_sample")?, load("giant_compress")?];
        let [rest, count] = [load("giant_rest")?, load("giant_count")?];
        let device = &*device;
        let parent = device.alloc("roots", csr.nodes as usize)?;
        let counts = device.alloc("nodes inside and outside", 2)?;
        let search = Search { device, csr, sample, compress, rest, count, parent, counts };
        search.launch(begin, 0)?;
        Ok(Some(search))
    }

    fn launch(&self, kernel: Function, giant: u32) -> Result<()> {
        let args = GiantArgs {
            offsets: self.csr.offsets.pointer(),
            columns: self.csr.columns.pointer(),
            parent: self.parent.pointer(),
            counts: self.counts.pointer(),
            nodes: self.csr.nodes as u32,
            giant,
        };
        let blocks =
            self.csr.nodes.div_ceil(THREADS.into()).min(self.device.filling().into()) as u32;
        self.device.launch(kernel, Launch::of(blocks, THREADS), &args)
    }

    /// The root of the tree that most of some nodes are in.
    fn guess(&self) -> Result<u32> {
        self.launch(self.compress, 0)?;
        self.device.wait()?;
        let mut votes: HashMap<u32, u32> = HashMap::new();
        for i in 0..ASKED {
            let node = (hash(0, i) % self.csr.nodes) as usize;
            *votes.entry(self.parent.element(node)?).or_default() += 1;
        }
        let most = votes.into_iter().max_by_key(|(root, votes)| (*votes, *root));
        Ok(most.map_or(0, |(root, _)| root))
    }

    /// The lowest node of the component that `giant` is in, if most nodes are.
    fn lowest(&self, giant: u32) -> Result<Option<u32>> {
        self.launch(self.compress, giant)?;
        self.device.wait()?;
        let giant = self.parent.element(giant as usize)?;
        self.launch(self.count, giant)?;
        self.device.wait()?;
        let counts = self.counts.to_vec()?;
        Ok((counts[0] > counts[1].max(1)).then_some(giant))
    }
}
