//! Breadth-first search as a program of operators: for tests, and for benches/textbook.rs.

use hivegraph::prelude::*;

/// The source begins.
#[lambda]
fn seed(v: u32, now: Writes<NodeSet>, level: Writes<u32>, source: u32) {
    level[v] = if v == source { 0 } else { u32::MAX };
    if v == source {
        now.insert(v);
    }
}

#[lambda]
fn unseen(v: u32, level: Reads<u32>) -> bool {
    level[v] == u32::MAX
}

#[lambda]
fn reach(u: u32, v: u32) -> bool {
    true
}

#[lambda]
fn settle(v: u32, level: Writes<u32>, depth: u32) {
    level[v] = depth;
}

/// What a search holds: levels, `u32::MAX` where none is known, and the nodes of this one and of the next.
pub struct Levels {
    pub level: Replicated<u32>,
    now: Frontier,
    next: Frontier,
}

impl Levels {
    pub fn new(r: &mut Replica, g: &Resident) -> Result<Levels> {
        let n = g.graph().nodes();
        let level = r.replicated::<u32>("level", n, MergeOp::Min)?;
        let now = r.frontier("now", n, MergeOp::Or)?;
        Ok(Levels { level, now, next: r.frontier("next", n, MergeOp::Or)? })
    }

    /// Puts node `source` at level 0.
    pub fn begin(&mut self, r: &mut Replica, g: &Resident, source: u32) -> Result<()> {
        r.clear("now", &mut self.now)?;
        let args = Args::new().writes("level", &mut self.level).writes_set("now", &mut self.now);
        r.for_all("seed", Over::nodes(g).whole(), &seed(), args.scalar("source", source))
    }

    /// Level by level, until one has no node.
    pub fn search(&mut self, r: &mut Replica, g: &Resident) -> Result<u64> {
        let Levels { level, now, next } = self;
        let (unseen, reach, settle, mut depth) = (unseen(), reach(), settle(), 0u32);
        r.repeat(|r| {
            depth += 1;
            r.clear("next", next)?;
            let how = Advance::default().only(&unseen, Args::new().reads("level", level));
            let how = how.output(next);
            let how = if g.has_backward() { how.either() } else { how };
            r.advance("reach", Over::frontier(g, now), &reach, Args::new(), how)?;
            r.merge(next)?;
            let args = Args::new().writes("level", level).scalar("depth", depth);
            r.for_all("settle", Over::frontier(g, next).whole(), &settle, args)?;
            std::mem::swap(now, next);
            r.left("now", now)
        })
    }
}
