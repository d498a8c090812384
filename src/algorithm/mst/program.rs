//! Boruvka's rounds as operators: one program for GPUs and host.

use crate::algorithm::RunOptions;
use crate::algorithm::arrays::{OnReplicas, replicated_arrays};
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::same::Words;
use crate::collective::{Frontier, Marked, Marks, MergeOp, Replicated};
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::operator::{ArcLambda, Args, Fold, FoldLambda, Lambda, Over, Reads, device, lambda};

/// No edge. Weights are finite, so that no edge has this key.
const NONE: u64 = u64::MAX;
/// Pointers that a launch follows, at most. After k launches, a pointer leads over at least HOPS^k roots, or to the last one.
const HOPS: u64 = 64;

/// What lengths of arrays follow from.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    nodes: usize,
    /// Nodes whose ids do not rise with them; else none.
    named: usize,
}

replicated_arrays! {
    /// The replicated state.
    pub(super) struct State of Sizes {
        /// `[n]` how many nodes have a lower id, and the node that as many do.
        rank: Replicated<u32> = "rank", Gather, |s| s.named;
        node: Replicated<u32> = "node of a rank", Gather, |s| s.named;
        /// `[n]` the root of the tree that a node is in.
        tree: Replicated<u32> = "tree", Gather, |s| s.nodes;
        /// `[n]` the root of the tree that a root is in after a round.
        next: Replicated<u32> = "next tree", Gather, |s| s.nodes;
        /// `[n]` the least arc of a node out of its tree: the bits of the weight, the rank of the other end.
        lightest: Replicated<u64> = "lightest arc", Gather, |s| s.nodes;
        /// `[n]` the least edge out of a root's tree: the bits of the weight, the lower rank of its ends,
        first: Replicated<u64> = "weight and lower end", Min, |s| s.nodes;
        /// and the higher one. Those of roots that have become part of other trees are the edges of the forest.
        second: Replicated<u32> = "higher end", Min, |s| s.nodes;
    }
}

/// Labels of the sets.
const SETS: [&str; 3] = ["stale nodes", "live trees", "trees left"];

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let nodes = shape.nodes as usize;
    let mut all = State::list(Sizes { nodes, named: nodes }, world);
    for set in SETS {
        all.extend(Frontier::specs(set, nodes, MergeOp::Or, world));
        let marks = Marks::words_of(Marked::Lines, nodes.div_ceil(64));
        all.push(DeviceArray::new::<u32>("marks of a set", marks));
    }
    all
}

/// The rank of v; where ids rise with nodes, `rank` is empty.
#[device]
fn rank_of(v: u32, rank: Reads<u32>, named: u32) -> u32 {
    if named != 0_u32 { rank[v] } else { v }
}

/// The node of that rank.
#[device]
fn node_of(rank: u32, node: Reads<u32>, named: u32) -> u32 {
    if named != 0_u32 { node[rank] } else { rank }
}

/// Every node is a tree, of which nothing is known.
#[lambda]
fn begin(
    v: u32,
    tree: Writes<u32>,
    next: Writes<u32>,
    lightest: Writes<u64>,
    first: Writes<u64>,
    second: Writes<u32>,
    stale: Writes<NodeSet>,
    live: Writes<NodeSet>,
) {
    tree[v] = v;
    next[v] = v;
    lightest[v] = NONE;
    first[v] = NONE;
    second[v] = u32::MAX;
    stale.insert(v);
    live.insert(v);
}

/// Where an arc out of the tree of u stands among those of u.
#[lambda]
fn outward(u: u32, v: u32, w: f32, tree: Reads<u32>, rank: Reads<u32>, named: u32) -> u64 {
    if tree[u] == tree[v] {
        return NONE;
    }
    (w.to_bits() as u64) << 32_u32 | rank_of(v, rank, named) as u64
}

/// The least arc of a node.
#[lambda]
fn keep(v: u32, folded: u64, lightest: Writes<u64>) {
    lightest[v] = folded;
}

/// The weight and the lower rank of the least arc of v.
#[device]
fn upper(arc: u64, own: u32) -> u64 {
    arc >> 32_u32 << 32_u32 | own.min(arc as u32) as u64
}

/// A node offers its least arc to its tree.
#[lambda]
fn offer(
    v: u32,
    lightest: Reads<u64>,
    tree: Reads<u32>,
    rank: Reads<u32>,
    named: u32,
    first: Writes<u64>,
) {
    let arc = lightest[v];
    if arc != NONE {
        let own = rank_of(v, rank, named);
        first.min(tree[v], upper(arc, own));
    }
}

/// Of those that are alike so far, the one of the lowest other end.
#[lambda]
fn settle_offer(
    v: u32,
    lightest: Reads<u64>,
    tree: Reads<u32>,
    rank: Reads<u32>,
    named: u32,
    first: Reads<u64>,
    second: Writes<u32>,
) {
    let arc = lightest[v];
    if arc != NONE {
        let own = rank_of(v, rank, named);
        if first[tree[v]] == upper(arc, own) {
            second.min(tree[v], own.max(arc as u32));
        }
    }
}

/// A tree becomes part of the one that its edge leads to. Of two that have the same edge, the lower root stays one.
#[lambda]
fn hook(
    v: u32,
    first: Reads<u64>,
    second: Reads<u32>,
    tree: Reads<u32>,
    node: Reads<u32>,
    named: u32,
    next: Writes<u32>,
) {
    let edge = first[v];
    if edge != NONE {
        let last = second[v];
        let mut other = tree[node_of(edge as u32, node, named)];
        if other == v {
            other = tree[node_of(last, node, named)];
        }
        let mutual = first[other] == edge && second[other] == last;
        if !mutual || other < v {
            next[v] = other;
        }
    }
}

/// Follows pointers towards the root. Others shorten them meanwhile, and all lead to the same root.
#[lambda]
fn jump(v: u32, next: Writes<u32>) {
    let from = next[v];
    let mut to = from;
    for _hop in 0_u64..HOPS {
        let further = next[to];
        if further == to {
            break;
        }
        to = further;
    }
    if to != from {
        next[v] = to;
    }
}

/// The tree of a node after the round.
#[lambda]
fn follow(v: u32, next: Reads<u32>, tree: Writes<u32>) {
    let from = tree[v];
    let to = next[from];
    if to != from {
        tree[v] = to;
    }
}

/// Roots that are still roots go on, unless no edge leads out of their trees.
#[lambda]
fn prune(v: u32, next: Reads<u32>, first: Writes<u64>, second: Writes<u32>, left: Writes<NodeSet>) {
    if next[v] == v && first[v] != NONE {
        first[v] = NONE;
        second[v] = u32::MAX;
        left.insert(v);
    }
}

/// A node whose least arc leads out no more has to look for another.
#[lambda]
fn wake(
    v: u32,
    lightest: Reads<u64>,
    tree: Reads<u32>,
    node: Reads<u32>,
    named: u32,
    stale: Writes<NodeSet>,
) {
    let arc = lightest[v];
    if arc != NONE {
        let other = node_of(arc as u32, node, named);
        if tree[other] == tree[v] {
            stale.insert(v);
        }
    }
}

/// The program of one replica: the edges of the forest, (bits of the weight above the lower rank, higher rank), at roots of former
/// trees; [`NONE`] at others. `whole`: it does everything.
pub(super) fn program(
    r: &mut Replica,
    g: &Resident,
    whole: bool,
    run: &RunOptions,
) -> Result<ReplicaAnswer<(Vec<u64>, Vec<u32>)>> {
    let (graph, nodes) = (g.graph(), g.graph().nodes());
    let named = !graph.names_rise();
    let mut state = State::allocate(r, Sizes { nodes, named: if named { nodes } else { 0 } })?;
    if named {
        let all = || 0..nodes as u32;
        state.rank.assign(&all().map(|v| graph.rank(v)).collect::<Vec<_>>())?;
        state.node.assign(&all().map(|rank| graph.ranked(rank)).collect::<Vec<_>>())?;
    }
    let [stale, live, left] = SETS;
    let mut set = |label| r.frontier(label, nodes, MergeOp::Or);
    let sets = Sets { stale: set(stale)?, live: set(live)?, left: set(left)? };
    let lambdas = Lambdas {
        begin: begin(),
        outward: outward(),
        keep: keep(),
        offer: offer(),
        settle_offer: settle_offer(),
        hook: hook(),
        jump: jump(),
        follow: follow(),
        prune: prune(),
        wake: wake(),
    };
    let mut driver = Driver { g, whole, named: named.into(), state, sets, lambdas };
    let measured = timed(r, run, &mut driver)?;
    let State { first, second, .. } = driver.state;
    ReplicaAnswer::new(measured, || Ok((values(r, &first)?, values(r, &second)?)))
}

struct Lambdas {
    begin: Lambda<()>,
    outward: ArcLambda<u64>,
    keep: FoldLambda<u64>,
    offer: Lambda<()>,
    settle_offer: Lambda<()>,
    hook: Lambda<()>,
    jump: Lambda<()>,
    follow: Lambda<()>,
    prune: Lambda<()>,
    wake: Lambda<()>,
}

struct Sets {
    /// Nodes whose least arc is not known; on each replica those of the nodes that it looks after.
    stale: Frontier,
    /// Roots of trees that may have an edge out.
    live: Frontier,
    /// Those of the next round.
    left: Frontier,
}

/// One run, to be repeated.
struct Driver<'a> {
    g: &'a Resident,
    /// Every replica does everything.
    whole: bool,
    /// 1 where ids do not rise with nodes.
    named: u32,
    state: State,
    sets: Sets,
    lambdas: Lambdas,
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if matches!(r.backend, Backend::Cuda(_)) {
            self.reset(r, 0)?;
            self.offer(r)?;
            self.settle(r)?;
            self.join(r, 2)?;
        }
        Ok(())
    }

    fn reset(&mut self, r: &mut Replica, _: u64) -> Result<()> {
        let Driver { g, state, sets, lambdas, .. } = self;
        let State { tree, next, lightest, first, second, .. } = state;
        r.clear("live trees", &mut sets.live)?;
        let args = Args::new()
            .writes("tree", tree)
            .writes("next", next)
            .writes("lightest", lightest)
            .writes("first", first)
            .writes("second", second)
            .writes_set("stale", &mut sets.stale)
            .writes_set("live", &mut sets.live);
        r.for_all("begin", Over::nodes(g).whole(), &lambdas.begin, args)
    }

    /// Where one tree is left, no edge leads out of it.
    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let graph = self.g.graph();
        let chunk = self.g.chunks().range(r.rank());
        let own = if self.whole { 0..graph.nodes() as u64 } else { chunk };
        let mut arcs = graph.offsets()[own.end as usize] - graph.offsets()[own.start as usize];
        let mut live = graph.nodes() as u64;
        while live > 1 {
            let trees = live;
            match self.whole {
                true => operators((r, log, "step round"), |r| {
                    self.offer(r)?;
                    self.settle(r)?;
                    self.join(r, live)
                })?,
                false => {
                    operators((r, log, "step offer"), |r| self.offer(r))?;
                    r.merge(&mut self.state.first)?;
                    operators((r, log, "step settle"), |r| self.settle(r))?;
                    r.merge(&mut self.state.second)?;
                    operators((r, log, "step join"), |r| self.join(r, live))?;
                }
            }
            live = r.count("live trees", &self.sets.live)?;
            let merge = if self.whole { "none" } else { "min" };
            log.book("step round", (1, arcs), (trees, arcs), merge);
            // Later rounds look at the rows of stale nodes, whose arcs nobody counts.
            arcs = 0;
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.first), Words::of(&self.state.second)]
    }
}

impl Driver<'_> {
    /// Stale nodes find their least arcs; all offer theirs to their trees.
    fn offer(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { g, whole, named, state, sets, lambdas } = self;
        let State { rank, tree, lightest, first, .. } = state;
        let (over, stale) = match whole {
            true => (Over::nodes(g).whole(), Over::frontier(g, &sets.stale).whole()),
            false => (Over::nodes(g), Over::frontier(g, &sets.stale)),
        };
        let to = Args::new().writes("lightest", &mut *lightest);
        let fold = Fold::then(&lambdas.keep, to, MergeOp::Min);
        let args = Args::new().reads("tree", tree).reads("rank", rank).scalar("named", *named);
        r.neighbor_reduce("lightest arcs", stale, &lambdas.outward, args, fold)?;
        let args = Args::new()
            .reads("lightest", lightest)
            .reads("tree", tree)
            .reads("rank", rank)
            .scalar("named", *named)
            .writes("first", first);
        r.for_all("offer", over, &lambdas.offer, args)
    }

    /// Nodes whose arcs are alike in weight and lower end offer the higher ones.
    fn settle(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { g, whole, named, state, lambdas, .. } = self;
        let State { rank, tree, lightest, first, second, .. } = state;
        let over = if *whole { Over::nodes(g).whole() } else { Over::nodes(g) };
        let args = Args::new()
            .reads("lightest", lightest)
            .reads("tree", tree)
            .reads("rank", rank)
            .scalar("named", *named)
            .reads("first", first)
            .writes("second", second);
        r.for_all("settle", over, &lambdas.settle_offer, args)
    }

    /// Makes one tree of those that edges join, of `live` that may have an edge out: all replicas alike.
    fn join(&mut self, r: &mut Replica, live: u64) -> Result<()> {
        let Driver { g, whole, named, state, sets, lambdas } = self;
        let State { node, tree, next, lightest, first, second, .. } = state;
        let roots = Over::frontier(g, &sets.live).whole();
        let args = Args::new()
            .reads("first", &*first)
            .reads("second", &*second)
            .reads("tree", &*tree)
            .reads("node", node)
            .scalar("named", *named)
            .writes("next", &mut *next);
        r.for_all("hook", roots, &lambdas.hook, args)?;
        // Pointers lead over fewer roots than there are.
        let mut reach = 1;
        while reach < live {
            let args = Args::new().writes("next", &mut *next);
            r.for_all("jump", roots, &lambdas.jump, args)?;
            reach = reach.saturating_mul(HOPS);
        }
        let args = Args::new().reads("next", &*next).writes("tree", &mut *tree);
        r.for_all("follow", Over::nodes(g).whole(), &lambdas.follow, args)?;
        r.clear("trees left", &mut sets.left)?;
        let args = Args::new()
            .reads("next", next)
            .writes("first", first)
            .writes("second", second)
            .writes_set("left", &mut sets.left);
        r.for_all("prune", roots, &lambdas.prune, args)?;
        std::mem::swap(&mut sets.live, &mut sets.left);
        r.clear("stale nodes", &mut sets.stale)?;
        let over = if *whole { Over::nodes(g).whole() } else { Over::nodes(g) };
        let args = Args::new()
            .reads("lightest", lightest)
            .reads("tree", tree)
            .reads("node", node)
            .scalar("named", *named)
            .writes_set("stale", &mut sets.stale);
        r.for_all("wake", over, &lambdas.wake, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambdas_compile_without_a_gpu() {
        if !crate::operator::has_nvrtc() {
            return;
        }
        for lambda in [begin(), offer(), settle_offer(), hook(), jump(), follow(), prune(), wake()]
        {
            lambda.compile("sm_90").unwrap();
        }
        outward().compile("sm_90").unwrap();
        keep().compile("sm_90").unwrap();
    }
}
