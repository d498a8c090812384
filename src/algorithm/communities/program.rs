//! Levels of many arcs as operators: one program for GPUs and host.

use super::Level;
use super::alike::Alike;
use super::cuda;
use super::finish::{Measure, Search, Small};
use super::lambdas::{BLOCK, Lambdas, heavy, keep, kept_heaviest, odd};
use super::moves::{Movers, Turn, What};
use super::pieces::Pieces;
use super::refine_lambdas::RefineLambdas;
use super::state::{Sizes, State, slots};
use crate::algorithm::RunOptions;
use crate::algorithm::frame::{Log, ReplicaAnswer, Run, operators, timed, values};
use crate::algorithm::same::Words;
use crate::collective::MergeOp;
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use crate::layout::memory::{DeviceArray, GraphShape};
use crate::operator::{Args, Fold, Order, Over, Queue};

/// Levels up to so many arcs are one thread's.
pub(super) const FEW: usize = 1 << 17;
/// Cycles of levels where the first has more: nodes move again by themselves from the communities of the last cycle.
const CYCLES: u32 = 2;
/// Such cycles at most where communities are refined, and the gain of one after which there is no other.
const REFINED_CYCLES: u32 = 8;
const LEAST_REFINED: f64 = 1e-4;
/// Nodes move in so many turns: those of one turn do not see each other's moves.
pub(super) const TURNS: u32 = 4;
/// Where moving at once loses, there are four times as many, up to so many.
const MOST_TURNS: u32 = 256;
/// Sweeps over all nodes in a level, at most.
pub(super) const SWEEPS: u32 = 32;
/// A sweep that gains less is the level's last.
const LEAST_SWEEP: f64 = 1e-4;
/// Levels of fewer arcs list the pieces of nodes that may join parts once, not those that did in each turn. A GPU passes over what rests
/// in a turn sooner than the host learns the length of a list.
const MANY: usize = 1 << 22;
/// Weights of all arcs are below 2^42 units: sums of squares in parts of 21 bits are below 2^64.
const TOTAL_BITS: i32 = 42;

/// Device arrays of one of `world` replicas.
pub(super) fn arrays(shape: &GraphShape, refines: bool, world: usize) -> Vec<DeviceArray> {
    let (nodes, arcs) = (shape.nodes as usize, shape.all_arcs() as usize);
    let sizes = Sizes::of(nodes, arcs, FEW, refines);
    let mut all = State::list(sizes, world);
    all.push(DeviceArray::new::<u32>("list of pairs", sizes.arcs));
    all.push(DeviceArray::new::<u32>("list of communities", sizes.nodes));
    all.extend(Pieces::arrays(sizes.nodes, sizes.arcs));
    all.extend(cuda::arrays(sizes.arcs));
    all
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub resolution: f64,
    /// Whether the nodes of a next level are parts of communities.
    pub refines: bool,
    /// The moves of levels of so many arcs and more are dealt.
    pub worth: usize,
    /// Levels of up to so many arcs are one thread's.
    pub few: usize,
}

/// What a replica has found.
#[derive(Default)]
pub(super) struct Found {
    /// `[n]` by rank: a number of each community.
    pub labels: Vec<u32>,
    pub levels: Vec<Level>,
    /// Sweeps of all levels that many moved in at once.
    pub sweeps: u32,
}

/// The levels of few arcs, of the replicas of a process: by how many there were before, arcs, nodes and squares of their weights.
pub(super) type SmallLevels = Alike<(u64, usize, usize, u128), Ended>;

/// What these end with.
pub(super) struct Ended {
    /// Nodes, and the community of each.
    ids: Vec<u32>,
    to: Vec<u32>,
    levels: Vec<Level>,
}

/// The program of one replica.
pub(super) fn program(
    r: &mut Replica,
    (g, alike): (&Resident, &SmallLevels),
    asked: Asked,
    run: &RunOptions,
) -> Result<ReplicaAnswer<Found>> {
    let (nodes, arcs) = (g.graph().nodes(), g.graph().arcs() as usize);
    let Asked { resolution, refines, worth, few } = asked;
    let sizes = Sizes::of(nodes, arcs, few, refines);
    let mut state = State::allocate(r, sizes)?;
    let pairs = r.queue("list of pairs", arcs)?;
    let names = r.queue("list of communities", nodes)?;
    let pieces = Pieces::new(r, nodes, arcs)?;
    let movers = Movers::new(r, arcs, refines)?;
    state.rank.assign(&(0..nodes as u32).map(|v| g.graph().rank(v)).collect::<Vec<_>>())?;
    let lambdas = Lambdas::new();
    let scale = scale(r, g, &lambdas, &mut state)?;
    let dealt = (r.rank() as u32, r.world() as u32);
    let measure = Measure { total: 0, resolution };
    let found = Found::default();
    let mut driver = Driver {
        g,
        alike,
        finished: 0,
        scale,
        dealt,
        worth,
        few,
        refines,
        measure,
        state,
        pairs,
        names,
        pieces,
        movers,
        lambdas,
        refining: RefineLambdas::new(),
        nodes: 0,
        arcs: 0,
        found,
    };
    let measured = timed(r, run, &mut driver)?;
    let Driver { state, found, .. } = driver;
    ReplicaAnswer::new(measured, || Ok(Found { labels: values(r, &state.label)?, ..found }))
}

/// Units of a weight of 1: one where all weights are whole and few enough, else a power of two.
fn scale(r: &mut Replica, g: &Resident, lambdas: &Lambdas, state: &mut State) -> Result<f64> {
    let (nodes, arcs) = (g.graph().nodes(), g.graph().arcs());
    if !g.graph().is_weighted() || arcs == 0 {
        return Ok(1.0);
    }
    let (heavy, odd, keep, kept) = (heavy(), odd(), keep(), kept_heaviest());
    let mut most = [0.0; 2];
    for (most, of) in most.iter_mut().zip([&heavy, &odd]) {
        let to = Args::new().writes("heaviest", &mut state.heaviest);
        let fold = Fold::then(&keep, to, MergeOp::Max);
        r.neighbor_reduce("heaviest", Over::nodes(g).whole(), of, Args::new(), fold)?;
        let args = Args::new().reads("heaviest", &state.heaviest);
        let all = Over::elements(nodes).whole();
        *most = r.reduce("heaviest", all, &kept, args, MergeOp::Max)?;
    }
    let [heaviest, odd] = most.map(f64::from);
    if heaviest <= 0.0 {
        return Ok(1.0);
    }
    // Powers of two: weights keep their bits.
    let above = |x: f64| x.log2().floor() as i32 + 1;
    let trial = 2.0_f64.powi(60 - above(arcs as f64) - above(heaviest));
    weights(r, g, lambdas, state, trial)?;
    let args = Args::new().reads("own", &state.own);
    let all = Over::elements(nodes).whole();
    let total = r.reduce("weight of all", all, &lambdas.value, args, MergeOp::Sum)?;
    let total = total as f64 / trial;
    let room = 2.0_f64.powi(TOTAL_BITS - 1);
    match odd == 0.0 && total < room {
        true => Ok(1.0),
        false => Ok(2.0_f64.powi(TOTAL_BITS - 1 - above(total))),
    }
}

/// The weights of all nodes, in units.
fn weights(
    r: &mut Replica,
    g: &Resident,
    lambdas: &Lambdas,
    state: &mut State,
    scale: f64,
) -> Result<()> {
    let to = Args::new().reads("rank", &state.rank).writes("own", &mut state.own);
    let fold = Fold::then(&lambdas.weigh, to, MergeOp::Sum);
    let args = Args::new().scalar("scale", scale);
    r.neighbor_reduce("weights", Over::nodes(g).whole(), &lambdas.arc_units, args, fold)
}

/// The rows of so many nodes of the next level begin where the rooms before them end.
fn starts(r: &mut Replica, lambdas: &Lambdas, state: &mut State, nodes: usize) -> Result<()> {
    let State { rooms, at, sums, tops, zero, .. } = state;
    r.copy(rooms, at)?;
    let blocks = nodes.div_ceil(BLOCK);
    let up = |from: usize| Args::new().scalar("length", from as u64);
    let args = up(nodes).reads("values", &*at).writes("sums", &mut *sums);
    r.for_all("sums", Over::elements(blocks).whole(), &lambdas.add_up, args)?;
    let args = up(blocks).reads("values", &*sums).writes("sums", &mut *tops);
    r.for_all("tops", Over::elements(blocks.div_ceil(BLOCK)).whole(), &lambdas.add_up, args)?;
    let (many, few) = (BLOCK as u64, blocks.div_ceil(BLOCK));
    let args = up(few).scalar("block", few as u64).reads("starts", &*zero);
    let args = args.writes("values", &mut *tops);
    r.for_all("starts of tops", Over::elements(1).whole(), &lambdas.run_up, args)?;
    let args = up(blocks).scalar("block", many).reads("starts", &*tops);
    let args = args.writes("values", &mut *sums);
    r.for_all("starts of sums", Over::elements(few).whole(), &lambdas.run_up, args)?;
    let args = up(nodes).scalar("block", many).reads("starts", &*sums).writes("values", at);
    r.for_all("starts of rows", Over::elements(blocks).whole(), &lambdas.run_up, args)
}

/// One run, to be repeated.
pub(super) struct Driver<'a> {
    g: &'a Resident,
    /// What finishes levels of few arcs, and how often it did.
    alike: &'a SmallLevels,
    finished: u64,
    /// Units of a weight of 1.
    scale: f64,
    /// The part of the nodes whose moves this replica finds, and how many parts there are, where a level has so many arcs.
    dealt: (u32, u32),
    worth: usize,
    few: usize,
    refines: bool,
    pub measure: Measure,
    pub state: State,
    pairs: Queue,
    names: Queue,
    pub pieces: Pieces,
    pub movers: Movers,
    pub lambdas: Lambdas,
    pub refining: RefineLambdas,
    /// Nodes and arcs of the level.
    pub nodes: usize,
    pub arcs: usize,
    pub found: Found,
}

impl Run for Driver<'_> {
    fn meet(&mut self, r: &mut Replica) -> Result<()> {
        if matches!(r.backend, Backend::Cuda(_)) && self.g.graph().arcs() > 0 {
            self.begin(r, false)?;
            self.sweep(r, (0, 1))?;
            self.modularity(r)?;
            self.cut_more(r)?;
            self.wake(r)?;
            if self.refines {
                self.parts(r)?;
                self.pieces(r)?;
            }
            self.shrink(r)?;
            // Of what is left, as much as there is room for; what becomes of it does not count.
            self.arcs = self.arcs.min(self.few);
            self.take_few(r)?;
            self.place(r, 1)?;
        }
        Ok(())
    }

    fn reset(&mut self, _: &mut Replica, _: u64) -> Result<()> {
        self.found = Found::default();
        Ok(())
    }

    fn go(&mut self, r: &mut Replica, log: &mut Log) -> Result<()> {
        let cycles = if self.refines { REFINED_CYCLES } else { CYCLES };
        let mut last = f64::NEG_INFINITY;
        for cycle in 0..cycles {
            operators((r, log, "step arcs"), |r| self.begin(r, cycle > 0))?;
            if self.measure.total == 0 {
                break;
            }
            let many = self.arcs > self.few;
            while self.arcs > self.few && self.level(r, log)? {}
            let (nodes, arcs) = (self.nodes as u64, self.arcs as u64);
            operators((r, log, "step finish"), |r| self.finish(r))?;
            log.book("step finish", (1, arcs), (nodes, arcs), "none");
            let now = self.found.levels.last().map_or(0.0, |level| level.modularity);
            if !many || self.refines && now - last < LEAST_REFINED {
                break;
            }
            last = now;
        }
        Ok(())
    }

    fn answer(&self) -> Vec<Words<'_>> {
        vec![Words::of(&self.state.label)]
    }
}

impl Driver<'_> {
    /// The first level, of nodes alone or in the communities that were found.
    fn begin(&mut self, r: &mut Replica, again: bool) -> Result<()> {
        let (g, scale) = (self.g, self.scale);
        (self.nodes, self.arcs) = (g.graph().nodes(), g.graph().arcs() as usize);
        weights(r, g, &self.lambdas, &mut self.state, scale)?;
        let Driver { state, lambdas, .. } = self;
        let args = Args::new()
            .reads("rank", &state.rank)
            .scalar("scale", scale)
            .writes("source", &mut state.source)
            .writes("target", &mut state.target)
            .writes("weight", &mut state.weight);
        r.for_all("arcs", Over::arcs(g).whole(), &lambdas.list, args)?;
        self.rows(r)?;
        let Driver { state, lambdas, .. } = self;
        let all = Over::elements(self.nodes).whole();
        let args = Args::new().writes("label", &mut state.label).writes("kept", &mut state.kept);
        r.for_all("labels", all, &lambdas.first, args)?;
        let args = Args::new().reads("own", &state.own);
        self.measure.total = r.reduce("weight of all", all, &lambdas.value, args, MergeOp::Sum)?;
        if again { self.restore(r) } else { self.apart(r) }
    }

    /// The communities that were kept.
    fn restore(&mut self, r: &mut Replica) -> Result<()> {
        self.weigh(r)?;
        let State { kept, community, best, active, .. } = &mut self.state;
        let args = Args::new()
            .reads("kept", kept)
            .writes("community", community)
            .writes("best", best)
            .writes("active", active);
        r.for_all("back", Over::elements(self.nodes).whole(), &self.lambdas.back, args)
    }

    /// The weights and sizes of the communities that were kept.
    pub(super) fn weigh(&mut self, r: &mut Replica) -> Result<()> {
        let State { own, kept, total, size, .. } = &mut self.state;
        r.fill("weights of communities", total, 0)?;
        r.fill("nodes of communities", size, 0)?;
        let args = Args::new()
            .reads("own", own)
            .reads("kept", kept)
            .writes("total", total)
            .writes("size", size);
        r.for_all("gather", Over::elements(self.nodes).whole(), &self.lambdas.gather, args)
    }

    /// Each node is a community.
    fn apart(&mut self, r: &mut Replica) -> Result<()> {
        let args = Args::new().writes("kept", &mut self.state.kept);
        r.for_all("apart", Over::elements(self.nodes).whole(), &self.lambdas.apart, args)?;
        self.restore(r)
    }

    /// The squares of the communities' weights.
    fn squares(&self, r: &mut Replica) -> Result<u128> {
        let mut parts = [0u128; 3];
        for (part, sum) in (0u32..).zip(&mut parts) {
            let args = Args::new().reads("total", &self.state.total).scalar("part", part);
            let all = Over::elements(self.nodes).whole();
            let found = r.reduce("squares", all, &self.lambdas.square, args, MergeOp::Sum)?;
            *sum = u128::from(found);
        }
        let [upper, both, lower] = parts;
        Ok((upper << 42) + (both << 22) + lower)
    }

    pub(super) fn modularity(&self, r: &mut Replica) -> Result<f64> {
        let cut = self.cut(r)?;
        Ok(self.measure.modularity(cut, self.squares(r)?))
    }

    /// The weight of the arcs between communities.
    fn cut(&self, r: &mut Replica) -> Result<u64> {
        let State { source, target, weight, community, .. } = &self.state;
        let args = Args::new()
            .reads("source", source)
            .reads("target", target)
            .reads("weight", weight)
            .reads("community", community);
        let all = Over::elements(self.arcs).whole();
        r.reduce("cut", all, &self.lambdas.between, args, MergeOp::Sum)
    }

    /// What the nodes that left what was kept add to that, modulo 2^64. Their pieces are chosen.
    fn cut_more(&mut self, r: &mut Replica) -> Result<u64> {
        let Driver { state, lambdas, pieces, .. } = self;
        let State { source, target, weight, community, kept, .. } = state;
        let args = Args::new().reads("community", community).reads("kept", kept);
        pieces.choose(r, source, &lambdas.moved, args)?;
        let args = pieces
            .args(source)
            .reads("target", target)
            .reads("weight", weight)
            .reads("community", community)
            .reads("kept", kept);
        r.reduce("cut more", pieces.over(), &lambdas.cut_more, args, MergeOp::Sum)
    }

    /// Moves nodes until a sweep gains little, and makes their communities the nodes of the next level; whether there are fewer.
    fn level(&mut self, r: &mut Replica, log: &mut Log) -> Result<bool> {
        let (nodes, arcs) = (self.nodes, self.arcs);
        let mut cut = self.cut(r)?;
        let mut last = self.measure.modularity(cut, self.squares(r)?);
        let (mut turns, mut sweep) = (TURNS, 0);
        let mut moved = false;
        while sweep < SWEEPS {
            operators((r, log, "step move"), |r| self.sweep(r, (sweep, turns)))?;
            let cut_now = cut.wrapping_add(self.cut_more(r)?);
            let now = self.measure.modularity(cut_now, self.squares(r)?);
            let merge = if self.dealt().1 == 1 { "none" } else { "max" };
            log.book("step move", (turns.into(), arcs as u64), (nodes as u64, arcs as u64), merge);
            (sweep, self.found.sweeps) = (sweep + 1, self.found.sweeps + 1);
            if now <= last {
                // Moves at once were bad for each other. Where there are parts to join, levels go on without.
                let fewer = |level: &Level| level.communities < nodes as u64;
                let joins = self.found.levels.last().is_some_and(fewer);
                let goes_on = self.refines && (joins || now == last);
                if moved || goes_on || turns >= MOST_TURNS {
                    break;
                }
                turns *= 4;
                self.restore(r)?;
                continue;
            }
            moved = true;
            operators((r, log, "step wake"), |r| self.wake(r))?;
            r.copy(&self.state.community, &mut self.state.kept)?;
            let gained = now - last;
            (last, cut) = (now, cut_now);
            if gained < LEAST_SWEEP {
                break;
            }
        }
        if self.refines {
            return self.refine(r, log, last);
        }
        if !moved {
            if self.found.levels.is_empty() {
                // All stay alone.
                self.found.levels.push(Level { communities: nodes as u64, modularity: last });
            }
            return self.arrive(r).map(|()| false);
        }
        operators((r, log, "step shrink"), |r| self.shrink(r))?;
        log.book("step shrink", (1, arcs as u64), (nodes as u64, arcs as u64), "none");
        self.found.levels.push(Level { communities: self.nodes as u64, modularity: last });
        Ok(self.nodes < nodes)
    }

    /// Nodes whose neighbours have gone elsewhere are to be looked at. The pieces of those that went are chosen.
    fn wake(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { state, lambdas, pieces, .. } = self;
        r.fill("active nodes", &mut state.active, 0)?;
        let args = pieces
            .args(&state.source)
            .reads("target", &state.target)
            .reads("community", &state.community)
            .writes("active", &mut state.active);
        r.for_all("wake", pieces.over(), &lambdas.wake, args)
    }

    /// Where the arcs of each node are.
    fn rows(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { state, lambdas, pieces, arcs, .. } = self;
        let State { source, at, count, .. } = state;
        let all = Over::elements(*arcs).whole();
        r.fill("starts of rows", at, 0)?;
        r.fill("lengths of rows", count, 0)?;
        let args = Args::new().reads("source", source).writes("at", &mut *at);
        r.for_all("starts of rows", all, &lambdas.begins, args)?;
        let args = Args::new()
            .reads("source", source)
            .reads("at", at)
            .writes("count", count)
            .scalar("arcs", *arcs as u64);
        r.for_all("ends of rows", all, &lambdas.ends, args)?;
        let args = Args::new().reads("source", source).reads("at", at);
        pieces.cut(r, *arcs, &lambdas.cuts, args)
    }

    /// The own part of the nodes of this level, and how many parts there are.
    pub(super) fn dealt(&self) -> (u32, u32) {
        if self.arcs < self.worth { (0, 1) } else { self.dealt }
    }

    /// Whether pieces are listed once for all turns.
    pub(super) fn lists_once(&self) -> bool {
        self.arcs < MANY && self.dealt().1 == 1
    }

    /// Every node moves once, or stays.
    fn sweep(&mut self, r: &mut Replica, (sweep, turns): (u32, u32)) -> Result<()> {
        let dealt = self.dealt();
        let Driver { state, lambdas, movers, measure, nodes, .. } = self;
        for turn in Turn::all(sweep, turns, dealt) {
            let level = (*nodes, measure.factor());
            movers.find(r, state, (What::Communities, turn), level)?;
            if dealt.1 > 1 {
                r.merge(&mut state.best)?;
            }
            let args = Args::new()
                .reads("own", &state.own)
                .writes("community", &mut state.community)
                .writes("total", &mut state.total)
                .writes("size", &mut state.size)
                .writes("best", &mut state.best);
            r.for_all("make", Over::elements(*nodes).whole(), &lambdas.make, args)?;
        }
        Ok(())
    }

    /// What was kept is weighed and listed; how many there are.
    pub(super) fn named(&mut self, r: &mut Replica) -> Result<usize> {
        self.weigh(r)?;
        let all = Over::elements(self.nodes).whole();
        let args = Args::new().reads("size", &self.state.size);
        let (lambda, names) = (&self.lambdas.is_there, &mut self.names);
        r.filter("communities", all, lambda, args, names, Order::Kept)
    }

    /// What was kept becomes the nodes of the next level.
    pub(super) fn shrink(&mut self, r: &mut Replica) -> Result<()> {
        let all_nodes = Over::elements(self.g.graph().nodes()).whole();
        let count = self.named(r)?;
        let Driver { state, lambdas, pairs, names, nodes, arcs, .. } = self;
        let (all, words) = (Over::elements(*nodes).whole(), slots(*arcs));
        let args = Args::new()
            .reads("names", &*names)
            .reads("total", &state.total)
            .writes("number", &mut state.number)
            .writes("next", &mut state.next);
        r.for_all("name", Over::elements(count).whole(), &lambdas.name, args)?;
        let args = Args::new()
            .reads("number", &state.number)
            .reads("kept", &state.kept)
            .writes("label", &mut state.label);
        r.for_all("rename", all_nodes, &lambdas.rename, args)?;
        r.fill("rooms", &mut state.rooms, 0)?;
        let args = Args::new()
            .reads("kept", &state.kept)
            .reads("number", &state.number)
            .reads("count", &state.count)
            .writes("rooms", &mut state.rooms);
        r.for_all("rooms", all, &lambdas.room, args)?;
        starts(r, lambdas, state, count)?;
        std::mem::swap(&mut state.count, &mut state.rooms);
        let args = Args::new()
            .reads("source", &state.source)
            .reads("target", &state.target)
            .reads("weight", &state.weight)
            .reads("kept", &state.kept)
            .reads("number", &state.number)
            .reads("at", &state.at)
            .reads("count", &state.count)
            .writes("key", &mut state.key)
            .writes("sum", &mut state.sum);
        r.for_all("join", Over::elements(*arcs).whole(), &lambdas.join, args)?;
        let (args, taken) = (Args::new().reads("key", &state.key), Over::elements(words).whole());
        let left = r.filter("pairs", taken, &lambdas.is_taken, args, pairs, Order::Kept)?;
        let args = Args::new()
            .reads("pairs", &*pairs)
            .writes("key", &mut state.key)
            .writes("sum", &mut state.sum)
            .writes("source", &mut state.source)
            .writes("target", &mut state.target)
            .writes("weight", &mut state.weight);
        r.for_all("unpack", Over::elements(left).whole(), &lambdas.unpack, args)?;
        std::mem::swap(&mut state.own, &mut state.next);
        if self.refines {
            self.around(r)?;
        }
        (self.nodes, self.arcs) = (count, left);
        self.rows(r)?;
        if !self.refines {
            return self.apart(r);
        }
        r.copy(&self.state.community, &mut self.state.kept)?;
        self.restore(r)
    }

    /// The levels of few arcs; nothing where there are many.
    fn finish(&mut self, r: &mut Replica) -> Result<()> {
        if self.arcs > self.few {
            return Ok(());
        }
        self.take_few(r)?;
        if self.refines {
            self.apart(r)?;
        }
        // Nodes are communities.
        let squares = self.squares(r)?;
        let (seat, rank) = (r.rendezvous().clone(), r.rank());
        let beat = || seat.beat(rank);
        let key = (self.finished, self.arcs, self.nodes, squares);
        let ended = self.alike.once(key, &beat, || self.search_small(r, squares, &beat))?;
        self.finished += 1;
        let Driver { state, refines, found, .. } = self;
        // The first is known where nothing moved.
        let known = usize::from(*refines && found.levels.last() == ended.levels.first());
        found.levels.extend(ended.levels.iter().skip(known));
        let (mut ids, mut to) = (ended.ids.clone(), ended.to.clone());
        ids.resize(state.few_nodes.len(), 0);
        to.resize(state.few_found.len(), 0);
        state.few_nodes.assign(&ids)?;
        state.few_found.assign(&to)?;
        self.place(r, ended.ids.len())
    }

    /// Searches the level that was taken, and those that follow from it, by one thread.
    fn search_small(
        &self,
        r: &mut Replica,
        squares: u128,
        beat: &(dyn Fn() + Sync),
    ) -> Result<Ended> {
        let Driver { state, measure, refines, nodes, arcs, .. } = self;
        let (sources, targets) = (r.read(&state.few_sources)?, r.read(&state.few_targets)?);
        let (weights, own) = (r.read(&state.few_weights)?, r.read(&state.few_own)?);
        let all = (0..*arcs).map(|i| (sources[i], targets[i], weights[i], own[i]));
        let small = Small::new(all.filter(|arc| arc.0 != arc.1).collect());
        let from = match *refines {
            false => small.alone(),
            true => small.numbered(&sources[..*arcs], &r.read(&state.few_found)?),
        };
        let (here, count) = small.size();
        let others = (squares - here, *nodes as u64 - count);
        let ids = small.ids.clone();
        let of = Search { by: measure, others, refines: *refines, draw: 0, beat };
        let (to, levels) = small.finished(from, &of);
        Ok(Ended { ids, to, levels })
    }

    /// The arcs of a level that has few, where the host can read them.
    fn take_few(&mut self, r: &mut Replica) -> Result<()> {
        let Driver { state, lambdas, arcs, .. } = self;
        let args = Args::new()
            .reads("source", &state.source)
            .reads("target", &state.target)
            .reads("weight", &state.weight)
            .reads("own", &state.own)
            .writes("few_sources", &mut state.few_sources)
            .writes("few_targets", &mut state.few_targets)
            .writes("few_weights", &mut state.few_weights)
            .writes("few_own", &mut state.few_own);
        r.for_all("few", Over::elements(*arcs).whole(), &lambdas.few, args)?;
        if self.refines { self.take_kept(r) } else { Ok(()) }
    }

    /// So many nodes go to the communities that the host has found.
    fn place(&mut self, r: &mut Replica, count: usize) -> Result<()> {
        let State { few_nodes, few_found, kept, .. } = &mut self.state;
        let args = Args::new()
            .reads("few_nodes", few_nodes)
            .reads("few_found", few_found)
            .writes("kept", kept);
        r.for_all("place", Over::elements(count).whole(), &self.lambdas.place, args)?;
        self.arrive(r)
    }

    /// Labels name the communities that were kept.
    fn arrive(&mut self, r: &mut Replica) -> Result<()> {
        let all = Over::elements(self.g.graph().nodes()).whole();
        let State { kept, label, .. } = &mut self.state;
        let args = Args::new().reads("kept", kept).writes("label", label);
        r.for_all("arrive", all, &self.lambdas.arrive, args)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Modules;
    use super::*;
    use crate::algorithm::Measured;
    use crate::fleet::{Fleet, FleetConfig};
    use crate::generate::generate;
    use crate::layout::{PrepareOptions, Prepared};
    use crate::verify::{self, ModulesFound};
    use std::sync::Arc;

    /// Levels of which all nodes move at once, on replicas, and in any order of nodes.
    #[test]
    fn parts_at_once_find_the_same_on_any_replicas() {
        let mut known: Vec<(String, Vec<u32>)> = Vec::new();
        for devices in ["host:1", "host:2", "host:3"] {
            let of = FleetConfig { devices: devices.parse().unwrap(), ..FleetConfig::default() };
            let fleet = Fleet::open(of).unwrap();
            for spec in ["rmat:9", "grid:30x20", "star:900", "road:9"] {
                let graph = Arc::new(generate(spec).unwrap());
                let prepared =
                    Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
                let rows = prepared.general(&fleet).unwrap();
                let levels = [(0, 0), (100, 0), (0, usize::MAX), (0, 3000)];
                for ((few, worth), refines) in
                    levels.into_iter().flat_map(|of| [(of, false), (of, true)])
                {
                    let (rows, run) = (rows.clone(), RunOptions::default());
                    let asked = Asked { resolution: 1.0, refines, worth, few };
                    let alike = SmallLevels::new();
                    let found = fleet.run(move |r| program(r, (&rows, &alike), asked, &run));
                    let found = found.unwrap().swap_remove(0).found;
                    assert!(found.sweeps > 0, "{spec}");
                    let answer = Modules::of(&graph, found, Measured::default());
                    let levels: Vec<f64> =
                        answer.levels.iter().map(|level| level.modularity).collect();
                    let what = format!("{spec}, few {few}, refines {refines}");
                    assert!(answer.count < graph.nodes() as u64, "{what}");
                    let found = ModulesFound { communities: &answer.communities, levels: &levels };
                    // A level that ends with a sweep may leave two communities that are better as one.
                    let checked = match refines {
                        false => verify::louvain(&graph, found, 1.0),
                        true => verify::leiden(&graph, found, 1.0),
                    };
                    match checked {
                        Err(e) if few == 0 && e.to_string().contains("as one") => (),
                        checked => drop(checked.unwrap()),
                    }
                    match known.iter().find(|known| known.0 == what) {
                        Some(known) => {
                            assert!(known.1 == answer.communities, "{what} on {devices}");
                        }
                        None => known.push((what, answer.communities)),
                    }
                }
            }
        }
    }
}
