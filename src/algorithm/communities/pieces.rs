//! The rows of a level, cut into pieces: what nodes that are chosen do with their arcs takes no time of the others'.

use super::lambdas::PIECE;
use crate::collective::Replicated;
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::memory::DeviceArray;
use crate::operator::{Args, Lambda, Order, Over, Queue};

/// The pieces of the rows of a level, and those that are chosen.
pub(super) struct Pieces {
    /// The first arc of each.
    all: Queue,
    /// Numbers of those that are chosen.
    chosen: Queue,
    /// Arcs of the level.
    arcs: usize,
}

const LABELS: [&str; 2] = ["list of pieces", "list of chosen pieces"];

/// How many pieces there are at most: of so many rows one is not full.
fn most(nodes: usize, arcs: usize) -> usize {
    arcs.min(nodes + (arcs >> PIECE))
}

impl Pieces {
    pub fn new(r: &mut Replica, nodes: usize, arcs: usize) -> Result<Pieces> {
        let [all, chosen] = LABELS;
        let most = most(nodes, arcs);
        Ok(Pieces { all: r.queue(all, most)?, chosen: r.queue(chosen, most)?, arcs })
    }

    /// Its arrays on a device.
    pub fn arrays(nodes: usize, arcs: usize) -> impl Iterator<Item = DeviceArray> {
        LABELS.into_iter().map(move |label| DeviceArray::new::<u32>(label, most(nodes, arcs)))
    }

    /// Cuts the rows of a level of so many arcs. `begins` tells which arcs begin a piece.
    pub fn cut(
        &mut self,
        r: &mut Replica,
        arcs: usize,
        begins: &Lambda<bool>,
        args: Args,
    ) -> Result<()> {
        self.arcs = arcs;
        let over = Over::elements(arcs).whole();
        r.filter("pieces", over, begins, args, &mut self.all, Order::Kept).map(drop)
    }

    /// Chooses those that `wants` wants, which reads `pieces` and `source`, and `args`.
    pub fn choose(
        &mut self,
        r: &mut Replica,
        source: &Replicated<u32>,
        wants: &Lambda<bool>,
        args: Args,
    ) -> Result<()> {
        let over = Over::elements(self.all.len()).whole();
        let args = args.reads("pieces", &self.all).reads("source", source);
        r.filter("chosen pieces", over, wants, args, &mut self.chosen, Order::Kept).map(drop)
    }

    /// A place for each arc of those that are chosen; some have none.
    pub fn over(&self) -> Over<'static> {
        Over::elements(self.chosen.len() << PIECE).whole()
    }

    /// What finds their arcs.
    pub fn args<'a>(&'a self, source: &'a Replicated<u32>) -> Args<'a> {
        Args::new()
            .reads("chosen", &self.chosen)
            .reads("pieces", &self.all)
            .reads("source", source)
            .scalar("arcs", self.arcs as u64)
    }
}
