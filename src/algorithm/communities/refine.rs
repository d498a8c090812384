//! Communities of levels of many arcs in parts, which are the nodes of the next level.
//!
//! Nodes are parts of their own at first. Each is asked once, in one of several turns that are drawn, if it is still alone then. It joins
//! the part of its community that gains most, of those that have an arc to it, if it does not lose. Node and part must weigh
//! enough to the rest of the community: at least what the definition expects of their weights. All that are asked in a turn
//! decide by what there was before it.
//!
//! **Every part is connected.** It is so at first, when each is a node. Let all be connected before a turn. Only nodes leave a part that
//! are asked, and each of these is all of its part: it leaves nothing behind. A node joins a part P by an arc to a node of P. That node
//! stays, since P is no node that is asked in this turn: either P has several nodes, of which none is asked, or its only one has another
//! turn. So P keeps all its nodes, which are connected, and each new one has an arc to one of them: P is connected after the turn.
//!
//! The answer is the nodes of the last level. They are parts of parts, or pieces of communities, which are connected by definition.

use super::Level;
use super::moves::{Turn, What};
use super::program::{Driver, SWEEPS, TURNS};
use super::state::State;
use crate::algorithm::frame::{Log, operators};
use crate::collective::MergeOp;
use crate::error::Result;
use crate::fleet::Replica;
use crate::operator::{Args, Over};

/// Nodes are asked in so many turns.
const PART_TURNS: u32 = 2 * TURNS;

impl Driver<'_> {
    /// Parts of the communities that were kept, of such a modularity, become the nodes of the next level; whether there are fewer.
    pub(super) fn refine(&mut self, r: &mut Replica, log: &mut Log, was: f64) -> Result<bool> {
        let (nodes, arcs) = (self.nodes, self.arcs);
        let communities = self.named(r)?;
        self.note(communities, was);
        if communities == nodes {
            return Ok(false);
        }
        operators((r, log, "step refine"), |r| self.parts(r))?;
        let merge = if self.dealt().1 == 1 { "none" } else { "max" };
        let turns = (PART_TURNS.into(), arcs as u64);
        log.book("step refine", turns, (nodes as u64, arcs as u64), merge);
        if self.named(r)? == nodes {
            // None joins another: those that would were asked in one turn, or communities are better in pieces.
            operators((r, log, "step pieces"), |r| self.pieces(r))?;
            log.book("step pieces", (1, arcs as u64), (nodes as u64, arcs as u64), "none");
            let pieces = self.named(r)?;
            r.copy(&self.state.kept, &mut self.state.community)?;
            let modularity = self.modularity(r)?;
            self.note(pieces, modularity);
            r.copy(&self.state.kept, &mut self.state.whole)?;
        }
        operators((r, log, "step shrink"), |r| self.shrink(r))?;
        log.book("step shrink", (1, arcs as u64), (nodes as u64, arcs as u64), "none");
        Ok(self.nodes < nodes)
    }

    /// Levels that change nothing are not told of.
    fn note(&mut self, communities: usize, modularity: f64) {
        let level = Level { communities: communities as u64, modularity };
        if self.found.levels.last() != Some(&level) {
            self.found.levels.push(level);
        }
    }

    /// The parts of the communities that were kept, and weighed.
    pub(super) fn parts(&mut self, r: &mut Replica) -> Result<()> {
        let (dealt, once) = (self.dealt(), self.lists_once());
        r.copy(&self.state.kept, &mut self.state.whole)?;
        let Driver { state, refining, nodes, .. } = self;
        let all = Over::elements(*nodes).whole();
        let args = Args::new()
            .reads("whole", &state.whole)
            .reads("community_total", &state.total)
            .writes("of_whole", &mut state.of_whole)
            .writes("kept", &mut state.kept)
            .writes("best", &mut state.best);
        r.for_all("parts", all, &refining.part, args)?;
        self.weigh(r)?;
        self.rest(r)?;
        r.copy(&self.state.rest, &mut self.state.inner)?;
        // Other draws than those of sweeps.
        let sweep = SWEEPS + self.found.levels.len() as u32;
        let Driver { state, lambdas, refining, pieces, movers, measure, nodes, .. } = self;
        let all = Over::elements(*nodes).whole();
        if once {
            let args = Args::new()
                .reads("own", &state.own)
                .reads("inner", &state.inner)
                .reads("of_whole", &state.of_whole)
                .scalar("factor", measure.factor());
            pieces.choose(r, &state.source, &refining.asked, args)?;
        }
        for turn in Turn::all(sweep, PART_TURNS, dealt) {
            let level = (*nodes, measure.factor());
            movers.find(r, state, (What::Parts, turn), level)?;
            if dealt.1 > 1 {
                r.merge(&mut state.best)?;
            }
            r.copy(&state.kept, &mut state.community)?;
            let args = Args::new()
                .reads("own", &state.own)
                .writes("kept", &mut state.kept)
                .writes("total", &mut state.total)
                .writes("size", &mut state.size)
                .writes("best", &mut state.best);
            r.for_all("join parts", all, &refining.join_parts, args)?;
            if !once {
                let args =
                    Args::new().reads("community", &state.kept).reads("kept", &state.community);
                pieces.choose(r, &state.source, &lambdas.moved, args)?;
            }
            let args = pieces
                .args(&state.source)
                .reads("target", &state.target)
                .reads("weight", &state.weight)
                .reads("whole", &state.whole)
                .reads("before", &state.community)
                .reads("kept", &state.kept)
                .writes("rest", &mut state.rest);
            r.for_all("rests less", pieces.over(), &refining.rest_less, args)?;
        }
        Ok(())
    }

    /// The connected pieces of communities, each named by its lowest node.
    pub(super) fn pieces(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { state, lambdas, refining, nodes, arcs, .. } = self;
        let (all, arcs) = (Over::elements(*nodes).whole(), Over::elements(*arcs).whole());
        let args = Args::new().writes("kept", &mut state.kept);
        r.for_all("apart", all, &lambdas.apart, args)?;
        loop {
            let args = Args::new()
                .reads("source", &state.source)
                .reads("target", &state.target)
                .reads("whole", &state.whole)
                .writes("kept", &mut state.kept);
            r.for_all("reach", arcs, &refining.reach, args)?;
            r.copy(&state.kept, &mut state.community)?;
            let args =
                Args::new().reads("before", &state.community).writes("kept", &mut state.kept);
            r.for_all("jump", all, &refining.jump, args)?;
            let args = Args::new()
                .reads("source", &state.source)
                .reads("target", &state.target)
                .reads("whole", &state.whole)
                .reads("kept", &state.kept);
            if r.reduce("differ", arcs, &refining.differs, args, MergeOp::Sum)? == 0 {
                return Ok(());
            }
        }
    }

    /// The communities that parts lie in, each named by its first part, as nodes of the next level.
    pub(super) fn around(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { state, refining, nodes, .. } = self;
        let all = Over::elements(*nodes).whole();
        // Sizes are counted anew in the next level.
        r.fill("first parts", &mut state.size, u32::MAX)?;
        let args = Args::new()
            .reads("whole", &state.whole)
            .reads("kept", &state.kept)
            .reads("number", &state.number)
            .writes("first", &mut state.size);
        r.for_all("first parts", all, &refining.first_part, args)?;
        let args = Args::new()
            .reads("whole", &state.whole)
            .reads("kept", &state.kept)
            .reads("number", &state.number)
            .reads("first", &state.size)
            .writes("community", &mut state.community);
        r.for_all("around", all, &refining.around, args)
    }

    /// The communities of the sources of arcs, where there are few.
    pub(super) fn take_kept(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { state, refining, arcs, .. } = self;
        let args = Args::new()
            .reads("source", &state.source)
            .reads("kept", &state.kept)
            .writes("few_found", &mut state.few_found);
        r.for_all("few communities", Over::elements(*arcs).whole(), &refining.few_kept, args)
    }

    /// The weight of the arcs from each part to the rest of its community.
    fn rest(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { state, refining, arcs, .. } = self;
        let State { source, target, weight, whole, kept, rest, .. } = state;
        r.fill("weights out of parts", rest, 0)?;
        let args = Args::new()
            .reads("source", source)
            .reads("target", target)
            .reads("weight", weight)
            .reads("whole", whole)
            .reads("kept", kept)
            .writes("rest", rest);
        r.for_all("rests", Over::elements(*arcs).whole(), &refining.rest_of, args)
    }
}
