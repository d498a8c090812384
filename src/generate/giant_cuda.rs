//! The largest component of a graph in a GPU's memory: the arguments of `kernels/giant.cu`.

use crate::device::kernels::giant::GiantArgs;
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{CudaDevice, DeviceCsr, Function, Launch, source};
use crate::error::Result;
use crate::hash::hash;
use std::collections::HashMap;

/// Nodes that are asked for their root, to guess the largest component.
const ASKED: u64 = 256;

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

/// The largest weakly connected component of `csr`. `symmetric` says that every arc has its reverse.
pub(crate) fn giant(device: &mut CudaDevice, csr: &DeviceCsr, symmetric: bool) -> Result<Giant> {
    let mut load = |name| device.function(source("giant.cu"), &[], name);
    let [begin, sample, compress] =
        [load("giant_begin")?, load("giant_sample")?, load("giant_compress")?];
    let rest = load(if symmetric { "giant_rest" } else { "giant_all" })?;
    let [sizes, largest] = [load("giant_sizes")?, load("giant_largest")?];
    let device = &*device;
    let parent = device.alloc::<u32>("roots", csr.nodes as usize)?;
    let size = device.alloc::<u32>("sizes of components", csr.nodes as usize)?;
    let found = device.alloc::<u64>("the largest component", 2)?;
    let args = GiantArgs {
        offsets: csr.offsets.pointer(),
        columns: csr.columns.pointer(),
        parent: parent.pointer(),
        sizes: size.pointer(),
        found: found.pointer(),
        arcs: csr.arcs,
        nodes: csr.nodes as u32,
        giant: 0,
    };
    let launch = |kernel: Function, items: u64, each: u32, args: &GiantArgs| {
        let blocks = items.div_ceil(each.into()).clamp(1, device.filling().into()) as u32;
        device.launch(kernel, Launch::of(blocks, THREADS), args)
    };
    let over_nodes = |kernel, args: &GiantArgs| launch(kernel, csr.nodes, THREADS, args);
    over_nodes(begin, &args)?;
    over_nodes(sample, &args)?;
    over_nodes(compress, &args)?;
    device.wait()?;
    let mut votes: HashMap<u32, u32> = HashMap::new();
    for i in 0..ASKED {
        *votes.entry(parent.element((hash(0, i) % csr.nodes) as usize)?).or_default() += 1;
    }
    let giant = votes.into_iter().max_by_key(|(root, votes)| (*votes, *root)).map_or(0, |v| v.0);
    let args = GiantArgs { giant, ..args };
    match symmetric {
        true => over_nodes(rest, &args)?,
        false => launch(rest, csr.arcs, TILE, &args)?,
    }
    over_nodes(compress, &args)?;
    device.wait()?;
    let args = GiantArgs { giant: parent.element(giant as usize)?, ..args };
    over_nodes(sizes, &args)?;
    over_nodes(largest, &args)?;
    device.wait()?;
    let found = found.to_vec()?;
    Ok(Giant { lowest: u32::MAX - found[0] as u32, isolated: found[1] })
}
