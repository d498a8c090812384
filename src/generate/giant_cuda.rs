//! The largest component of a graph in a GPU's memory: the arguments of `kernels/giant.cu`.

use crate::device::kernels::giant::{GiantArgs, THREADS};
use crate::device::{CudaDevice, DeviceCsr, Function, Launch, source};
use crate::error::Result;
use crate::hash::hash;
use std::collections::HashMap;

/// Nodes that are asked for their root, to guess the largest component.
const ASKED: u64 = 256;

/// The lowest node of the largest component of `csr`, which is symmetric, if most nodes that have arcs are in that.
pub(super) fn lowest_of_most(device: &mut CudaDevice, csr: &DeviceCsr) -> Result<Option<u32>> {
    if csr.nodes == 0 {
        return Ok(None);
    }
    let mut load = |name| device.function(source("giant.cu"), &[], name);
    let [begin, sample, compress] =
        [load("giant_begin")?, load("giant_sample")?, load("giant_compress")?];
    let [rest, count] = [load("giant_rest")?, load("giant_count")?];
    let device = &*device;
    let parent = device.alloc::<u32>("roots", csr.nodes as usize)?;
    let counts = device.alloc::<u64>("nodes inside and outside", 2)?;
    let args = GiantArgs {
        offsets: csr.offsets.pointer(),
        columns: csr.columns.pointer(),
        parent: parent.pointer(),
        counts: counts.pointer(),
        nodes: csr.nodes as u32,
        giant: 0,
    };
    let blocks = csr.nodes.div_ceil(THREADS.into()).min(device.filling().into()) as u32;
    let launch = |kernel: Function, args: &GiantArgs| {
        device.launch(kernel, Launch::of(blocks, THREADS), args)
    };
    launch(begin, &args)?;
    launch(sample, &args)?;
    launch(compress, &args)?;
    device.wait()?;
    let mut votes: HashMap<u32, u32> = HashMap::new();
    for i in 0..ASKED {
        *votes.entry(parent.element((hash(0, i) % csr.nodes) as usize)?).or_default() += 1;
    }
    let giant = votes.into_iter().max_by_key(|(root, votes)| (*votes, *root)).map_or(0, |v| v.0);
    launch(rest, &GiantArgs { giant, ..args })?;
    launch(compress, &args)?;
    device.wait()?;
    let giant = parent.element(giant as usize)?;
    launch(count, &GiantArgs { giant, ..args })?;
    device.wait()?;
    let counts = counts.to_vec()?;
    Ok((counts[0] > counts[1].max(1)).then_some(giant))
}
