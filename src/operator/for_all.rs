//! `for_all`: a lambda on every element of a range.

use super::args::Args;
use super::code::{On, Operator, THREADS};
use super::host::edge_at;
use super::lambda::{ArcLambda, Lambda};
use super::launch::{Call, Shape, blocks, in_block, launch_shape};
use super::over::{Over, What};
use crate::device::CudaDevice;
use crate::device::kernels::operators::SET_WORDS;
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use std::ops::Range;

/// A lambda that [`Replica::for_all`] takes: of elements, or of arcs.
pub trait ForEach {
    /// Runs it; see [`Replica::for_all`].
    fn launch(&self, r: &mut Replica, label: &'static str, over: Over, args: &Args) -> Result<()>;
}

impl Replica {
    /// Runs `lambda` on every element of the replica's part of `over`.
    ///
    /// A [`Lambda`] over nodes, a set, arcs or indices; an [`ArcLambda`] over the arcs out of nodes or out of a
    /// set. On a GPU it returns at once; merges, [`Replica::read`] and the program's end wait for it.
    ///
    /// # Errors
    /// [`crate::Error::Input`] naming the lambda: an argument that is missing, unknown or of another type; text that
    /// does not compile (with its line); no text or closure for this backend; and, where it is waited for, an
    /// index outside an array.
    pub fn for_all(
        &mut self,
        label: &'static str,
        over: Over,
        lambda: &impl ForEach,
        args: Args,
    ) -> Result<()> {
        lambda.launch(self, label, over, &args)
    }
}

impl ForEach for Lambda<()> {
    fn launch(&self, r: &mut Replica, label: &'static str, over: Over, args: &Args) -> Result<()> {
        let operator = match over.what {
            What::Elements(_) | What::Range(..) | What::Arcs => Operator::Elements,
            What::Nodes => Operator::Nodes,
            What::Set(_) => Operator::Set,
        };
        let (body, on) = (&self.body, On::element("void"));
        let call = r.widened(Call::of(label, operator, over, (body, on), args), None)?;
        r.labelled(&call, |r, range| match &r.backend {
            Backend::Cuda(_) => on_device(r, &call, range),
            Backend::Host(_) => self.on_host(args, over.graph, |each| {
                r.on_host(&range, &|block| in_block(block, &over, &mut |i| each(i))).map(drop)
            }),
        })
    }
}

impl ForEach for ArcLambda<()> {
    fn launch(&self, r: &mut Replica, label: &'static str, over: Over, args: &Args) -> Result<()> {
        let (body, on) = (&self.body, On::arc("void"));
        let over = along_nodes(over, body)?;
        let call = r.widened(Call::of(label, Operator::Arcs, over, (body, on), args), None)?;
        r.labelled(&call, |r, range| match &r.backend {
            Backend::Cuda(_) => on_device(r, &call, range),
            Backend::Host(_) => self.on_host(args, over.graph, |each| {
                let Some(resident) = over.graph else { return Ok(()) };
                let (graph, weighted) = (resident.graph(), resident.weighted());
                let row = |u: usize| {
                    for arc in graph.offsets()[u] as usize..graph.offsets()[u + 1] as usize {
                        let edge = edge_at(graph, arc, weighted);
                        each(u, edge.node, arc, edge.weight);
                    }
                };
                r.on_host(&range, &|block| in_block(block, &over, &mut |u| row(u))).map(drop)
            }),
        })
    }
}

/// Arcs are found by the nodes that they leave.
pub(super) fn along_nodes<'a>(over: Over<'a>, body: &super::lambda::Body) -> Result<Over<'a>> {
    match over.what {
        What::Nodes | What::Set(_) => Ok(over),
        What::Arcs => Ok(Over { what: What::Nodes, ..over }),
        What::Elements(_) | What::Range(..) => Err(body.error(
            "is a function of arcs; run it over nodes, arcs or a frontier, not over an array's indices",
        )),
    }
}

/// The blocks of a launch over nodes of a range, 32 a warp, or of a set: then as many as run at once, or what takes all words a
/// warp can take, since most may find no node. Where nodes lie far from each other, blocks that find none take longer than those that
/// do.
pub(super) fn node_grid(shape: &Shape, device: &CudaDevice, chance: Option<u64>) -> u32 {
    let wanted = blocks(shape.last - shape.first, u64::from(THREADS), chance);
    let at_once = device.info.multiprocessors * 8;
    match (shape.bits, shape.scattered) {
        (0, _) => wanted,
        (_, 0) => wanted.min(at_once).max(wanted / SET_WORDS),
        _ => wanted.min(at_once / 2),
    }
}

fn on_device(r: &mut Replica, call: &Call, range: Range<u64>) -> Result<()> {
    let loaded = r.load(call)?;
    if range.is_empty() {
        return Ok(());
    }
    let (lambda, _) = call.parameters(r, loaded.number)?;
    let chance = r.chance();
    let mut shape = Shape::of(&range, &call.over).of_scattered(r.is_scattered(call));
    if call.operator == Operator::Arcs {
        shape = shape.with_hubs(r, &call.over, false);
    }
    let (device, _) = r.on_cuda()?;
    let words = shape.as_words();
    let grid = launch_shape(match call.operator {
        Operator::Elements => blocks(range.end - range.start, 1024, chance),
        _ => node_grid(&shape, device, chance),
    });
    if let Some(grid) = shape.slice_grid(device, chance) {
        device.launch_lambda(loaded.kernels[1], grid, &[&words, &lambda])?;
    }
    device.launch_lambda(loaded.kernels[0], grid, &[&words, &lambda])
}
