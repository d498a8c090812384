//! The largest component of a graph in a GPU's memory, or of one that is drawn there: the arguments of `kernels/giant.cu`.

use super::PassLimits;
use super::rmat::Rmat;
use super::rmat_cuda::{RmatKernels, Work};
use crate::device::kernels::giant::GiantArgs;
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{CudaDevice, DeviceBuffer, DeviceCsr, Function, Launch, source};
use crate::error::Result;
use crate::hash::hash;
use std::collections::HashMap;

/// Nodes that are asked for their root, to guess the largest component.
const ASKED: u64 = 256;
/// Drawn edges a node that are joined before that.
const SAMPLED: u64 = 2;

/// What is known of the components of a graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Giant {
    /// The lowest node of the largest component; of equally large ones, of that which has the lowest node.
    pub lowest: u32,
    /// Nodes without any arc, in or out.
    pub isolated: u64,
}

/// Bytes of device memory that [`giant`] needs for a graph of so many nodes.
pub(crate) fn giant_bytes(nodes: u64) -> u64 {
    8 * nodes
}

/// Loads the kernels of [`giant`]: a compiler shows no signs of life, so it comes before others wait.
pub(crate) fn load_giant(device: &mut CudaDevice) -> Result<()> {
    let file = source("giant.cu");
    file.kernels.iter().try_for_each(|name| device.function(file, &[], name).map(drop))
}

/// The largest weakly connected component of `csr`. `symmetric` says that every arc has its reverse.
pub(crate) fn giant(device: &mut CudaDevice, csr: &DeviceCsr, symmetric: bool) -> Result<Giant> {
    let search = Search::new(device, csr)?;
    search.over_nodes("giant_sample", 0)?;
    let giant = search.guess()?;
    match symmetric {
        true => search.over_nodes("giant_rest", giant)?,
        false => search.launch("giant_all", csr.arcs, TILE, giant)?,
    }
    search.found(giant)
}

/// The same of the graph that `rmat` draws, of which `csr` has the offsets.
pub(super) fn giant_of_edges(
    device: &mut CudaDevice,
    csr: &DeviceCsr,
    rmat: &Rmat,
) -> Result<Giant> {
    let kernels = RmatKernels::load(device)?;
    let search = Search::new(device, csr)?;
    let limits = PassLimits::default();
    let work = Work::new(search.device, &kernels, rmat, &limits);
    let (edges, nowhere) = (rmat.edges(), u32::MAX);
    let sampled = edges.min(SAMPLED * csr.nodes);
    work.join(&search.parent, nowhere, 0..sampled)?;
    let giant = search.guess()?;
    work.join(&search.parent, giant, sampled..edges)?;
    search.found(giant)
}

/// Trees of nodes, of which the largest is looked for.
struct Search<'a> {
    device: &'a CudaDevice,
    csr: &'a DeviceCsr,
    kernels: HashMap<&'static str, Function>,
    /// `[nodes]`
    parent: DeviceBuffer<u32>,
    sizes: DeviceBuffer<u32>,
    found: DeviceBuffer<u64>,
}

impl<'a> Search<'a> {
    /// Every node alone.
    fn new(device: &'a mut CudaDevice, csr: &'a DeviceCsr) -> Result<Search<'a>> {
        let file = source("giant.cu");
        let mut kernels = HashMap::new();
        for name in file.kernels {
            kernels.insert(*name, device.function(file, &[], name)?);
        }
        let device = &*device;
        let parent = device.alloc("roots", csr.nodes as usize)?;
        let sizes = device.alloc("sizes of components", csr.nodes as usize)?;
        let found = device.alloc("the largest component", 2)?;
        let search = Search { device, csr, kernels, parent, sizes, found };
        search.over_nodes("giant_begin", 0)?;
        Ok(search)
    }

    fn over_nodes(&self, kernel: &str, giant: u32) -> Result<()> {
        self.launch(kernel, self.csr.nodes, THREADS, giant)
    }

    fn launch(&self, kernel: &str, items: u64, each: u32, giant: u32) -> Result<()> {
        let args = GiantArgs {
            offsets: self.csr.offsets.pointer(),
            columns: self.csr.columns.pointer(),
            parent: self.parent.pointer(),
            sizes: self.sizes.pointer(),
            found: self.found.pointer(),
            arcs: self.csr.arcs,
            nodes: self.csr.nodes as u32,
            giant,
        };
        let filling = u64::from(self.device.filling());
        let blocks = items.div_ceil(each.into()).clamp(1, filling) as u32;
        self.device.launch(self.kernels[kernel], Launch::of(blocks, THREADS), &args)
    }

    /// The root of the tree that most of some nodes are in.
    fn guess(&self) -> Result<u32> {
        self.over_nodes("giant_compress", 0)?;
        self.device.wait()?;
        let mut votes: HashMap<u32, u32> = HashMap::new();
        for i in 0..ASKED {
            let node = (hash(0, i) % self.csr.nodes) as usize;
            *votes.entry(self.parent.element(node)?).or_default() += 1;
        }
        let most = votes.into_iter().max_by_key(|(root, votes)| (*votes, *root));
        Ok(most.map_or(0, |(root, _)| root))
    }

    /// What all joins have come to; `giant` was the guess.
    fn found(&self, giant: u32) -> Result<Giant> {
        self.over_nodes("giant_compress", giant)?;
        self.device.wait()?;
        let giant = self.parent.element(giant as usize)?;
        self.over_nodes("giant_sizes", giant)?;
        self.over_nodes("giant_largest", giant)?;
        self.device.wait()?;
        let found = self.found.to_vec()?;
        Ok(Giant { lowest: u32::MAX - found[0] as u32, isolated: found[1] })
    }
}
