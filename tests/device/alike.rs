//! Launches that leave the same on all replicas: their merges find nothing to exchange, and small rounds are made of them.

use crate::common::{self, grid, open};
use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::graph::{Graph, Origin};
use hivegraph::prelude::*;
use levels::Levels;
use std::sync::Arc;

#[path = "../common/levels.rs"]
mod levels;

fn fleets() -> Vec<(String, CollectiveKind)> {
    let host = ["host:1", "host:3"].map(|name| (name.into(), CollectiveKind::Auto));
    host.into_iter().chain(common::cuda_fleets()).collect()
}

/// Levels of a breadth-first search from node 0, and how many elements each advance had.
fn search(r: &mut Replica, g: &Resident) -> Result<(Vec<u32>, Vec<u64>)> {
    let mut state = Levels::new(r, g)?;
    state.begin(r, g, 0)?;
    r.trace_launches(true);
    state.search(r, g)?;
    let advances = r.launches().iter().filter(|launch| launch.label == "reach");
    let elements = advances.map(|launch| launch.elements).collect();
    Ok((r.read(&state.level)?, elements))
}

#[test]
fn small_rounds_are_done_whole_by_every_replica() {
    let (rows, columns) = (40u32, 60u32);
    let graph = Arc::new(grid(rows, columns, false, 1));
    let expected: Vec<u32> = (0..rows * columns).map(|v| v / columns + v % columns).collect();
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        for (level, elements) in fleet.run(move |r| search(r, &g)).unwrap() {
            assert_eq!(level, expected, "{devices} with {kind}");
            let n = u64::from(rows * columns);
            assert!(elements.iter().all(|all| *all == n), "{devices}: {elements:?}");
            assert!(elements.len() > 90, "{devices}: {elements:?}");
        }
    }
}

/// 100 paths of 30 nodes out of node 0; beyond the first one's end, a node that has 70,000 more.
fn paths_and_a_hub() -> Graph {
    let (paths, length, leaves) = (100u32, 30u32, 70_000u32);
    let node = |path: u32, at: u32| 1 + path * length + at;
    let hub = 1 + paths * length;
    let steps = (0..paths).flat_map(|path| {
        (0..length).map(move |at| (if at == 0 { 0 } else { node(path, at - 1) }, node(path, at)))
    });
    let leaves = (1..=leaves).map(|leaf| (hub, hub + leaf));
    let edges = steps.chain([(node(0, length - 1), hub)]).chain(leaves);
    let (from, to): (Vec<u32>, Vec<u32>) = edges.flat_map(|(u, v)| [(u, v), (v, u)]).unzip();
    Graph::from_arcs(hub as usize + 70_001, &from, &to, None, Origin::default()).unwrap()
}

#[test]
fn few_arcs_are_followed_by_every_replica_beside_a_node_of_many() {
    let graph = Arc::new(paths_and_a_hub());
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let (n, hub) = (graph.nodes() as u64, 3_001);
        for (level, elements) in fleet.run(move |r| search(r, &g)).unwrap() {
            let last = level.len() - 1;
            assert_eq!((level[1], level[hub], level[last]), (1, 31, 32), "{devices} with {kind}");
            // Until then no set has more than 200 arcs, and no node is followed by more than 100 in a round.
            assert!(elements[..30].iter().all(|all| *all == n), "{devices}: {elements:?}");
        }
    }
}

#[lambda]
fn reach(u: u32, v: u32) -> bool {
    true
}

#[lambda]
fn unseen(v: u32, level: Reads<u32>) -> bool {
    level[v] == u32::MAX
}

#[lambda]
fn settle(v: u32, level: Writes<u32>, depth: u32) {
    level[v] = depth;
}

/// Levels from node 0, where each replica knows those of its own nodes alone.
fn pulled(r: &mut Replica, g: &Resident) -> Result<Vec<u32>> {
    let n = g.graph().nodes();
    let mut level = r.node_array::<u32>("level", g, MergeOp::Gather)?;
    let mut now = r.frontier("now", n, MergeOp::Or)?;
    let mut next = r.frontier("next", n, MergeOp::Or)?;
    r.fill("level", &mut level, u32::MAX)?;
    // Bits beyond the last node are none.
    let beyond: Vec<u64> = (0..n.div_ceil(64)).map(|at| u64::from(at == 0)).collect();
    let beyond = [&beyond[..n / 64], &[1u64 << 63]].concat();
    now.words_mut().assign(&beyond)?;
    r.merge(&mut now)?;
    let (reach, unseen, settle, mut depth) = (reach(), unseen(), settle(), 0u32);
    let args = Args::new().writes("level", &mut level).scalar("depth", 0u32);
    r.for_all("settle", Over::frontier(g, &now), &settle, args)?;
    r.repeat(|r| {
        depth += 1;
        r.clear("next", &mut next)?;
        let how = Advance::default().only(&unseen, Args::new().reads("level", &level));
        let how = how.output(&mut next).pull();
        r.advance("reach", Over::frontier(g, &now), &reach, Args::new(), how)?;
        r.merge(&mut next)?;
        let args = Args::new().writes("level", &mut level).scalar("depth", depth);
        r.for_all("settle", Over::frontier(g, &next), &settle, args)?;
        std::mem::swap(&mut now, &mut next);
        r.left("now", &now)
    })?;
    r.merge(&mut level)?;
    r.read(&level)
}

#[test]
fn a_pull_asks_replicas_about_nodes_that_they_know() {
    let graph = Arc::new(paths_and_a_hub());
    assert_ne!(graph.nodes() % 64, 0);
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        for level in fleet.run(move |r| pulled(r, &g)).unwrap() {
            let last = level.len() - 1;
            assert_eq!((level[1], level[3_001], level[last]), (1, 31, 32), "{devices} with {kind}");
        }
    }
}

#[lambda]
fn difference(u: u32, v: u32, x: Reads<f32>) -> f32 {
    x[v] - x[u]
}

#[lambda]
fn warm(v: u32, folded: f32, x: Reads<f32>, y: Writes<f32>) {
    y[v] = x[v] + 0.25f32 * folded;
}

/// Ten steps of a flow of heat, half of them by way of an array of what flows; the elements of each fold.
fn warmed(r: &mut Replica, g: &Resident) -> Result<(Vec<u32>, Vec<u64>)> {
    let mut x = r.node_array::<f32>("x", g, MergeOp::Gather)?;
    let mut y = r.node_array::<f32>("y", g, MergeOp::Gather)?;
    let mut flow = r.node_array::<f32>("flow", g, MergeOp::Gather)?;
    let (difference, warm) = (difference(), warm());
    x.assign(&(0..x.len()).map(|v| 1.0 / (v + 1) as f32).collect::<Vec<_>>())?;
    r.trace_launches(true);
    for step in 0..10 {
        let all = Over::nodes(g);
        let args = Args::new().reads("x", &x);
        if step % 2 == 0 {
            let warmer = Args::new().reads("x", &x).writes("y", &mut y);
            let fold = Fold::then(&warm, warmer, MergeOp::Sum);
            r.neighbor_reduce("heat", all, &difference, args, fold)?;
        } else {
            let fold = Fold::to(&mut flow, MergeOp::Sum);
            r.neighbor_reduce("heat", all, &difference, args, fold)?;
            r.merge(&mut flow)?;
            let fold =
                Fold::then(&warm, Args::new().reads("x", &x).writes("y", &mut y), MergeOp::Sum);
            r.neighbor_reduce("heat", all, &difference, Args::new().reads("x", &x), fold)?;
        }
        r.merge(&mut y)?;
        std::mem::swap(&mut x, &mut y);
    }
    let folds = r.launches().iter().filter(|launch| launch.label == "heat");
    let elements = folds.map(|launch| launch.elements).collect();
    let mut found: Vec<u32> = r.read(&x)?.into_iter().map(f32::to_bits).collect();
    found.extend(r.read(&flow)?.into_iter().map(f32::to_bits));
    Ok((found, elements))
}

/// Values that the host gave at first may differ: what comes of them is done whole once it was merged.
#[test]
fn a_small_graph_is_done_whole_by_every_replica() {
    let graph = Arc::new(grid(40, 60, false, 1));
    let mut alone = None;
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let (n, world) = (graph.nodes() as u64, fleet.world());
        for (found, elements) in fleet.run(move |r| warmed(r, &g)).unwrap() {
            let expected = alone.get_or_insert_with(|| found.clone());
            assert_eq!(found, *expected, "{devices} with {kind}");
            assert_eq!(elements[0] == n, world == 1, "{devices}: {elements:?}");
            assert!(elements[5..].iter().all(|all| *all == n), "{devices}: {elements:?}");
        }
    }
}

#[lambda]
fn number(v: u32, x: Writes<u32>, by: u32) {
    x[v] = v * by;
}

#[lambda]
fn number_y(v: u32, y: Writes<u32>, by: u32) {
    y[v] = v * by;
}

/// Each owner's value counts, however many have found one; who the owners are is as on large graphs.
#[test]
fn owners_are_the_same_on_small_graphs() {
    // The chunk of a hub is short.
    let graph = Arc::new(load("star:5000").unwrap());
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let (chunks, world) = (g.chunks().clone(), fleet.world());
        let owned = fleet.run(move |r| {
            let mut x = r.node_array::<u32>("x", &g, MergeOp::Gather)?;
            let args = Args::new().writes("x", &mut x).scalar("by", r.rank() as u32);
            r.for_all("number", Over::nodes(&g), &number(), args)?;
            r.merge(&mut x)?;
            let owned = r.read(&x)?;
            let mut y = r.replicated::<u32>("y", owned.len(), MergeOp::Gather)?;
            let args = Args::new().writes("y", &mut y).scalar("by", 1u32);
            r.for_all("number", Over::nodes(&g), &number_y(), args)?;
            Ok((owned, r.merge(&mut y).map_err(|error| error.to_string())))
        });
        for (owned, merged) in owned.unwrap() {
            let rank = |v: u64| (0..world).find(|rank| chunks.range(*rank).contains(&v)).unwrap();
            let expected = (0..owned.len() as u64).map(|v| v as u32 * rank(v) as u32);
            assert!(expected.eq(owned), "{devices} with {kind}");
            assert_eq!(merged.is_err(), world > 1, "{devices}: {merged:?}");
            assert!(merged.err().is_none_or(|told| told.contains("owners")), "{devices}");
        }
    }
}

/// It looks at what others have written meanwhile.
#[lambda]
fn tell(u: u32, v: u32, label: Writes<u32>) -> bool {
    let told = label[u];
    label.min(v, told) > told
}

#[lambda]
fn own(v: u32, label: Writes<u32>, telling: Writes<NodeSet>) {
    label[v] = v;
    telling.insert(v);
}

/// The elements that each advance of label propagation had.
fn propagate(r: &mut Replica, g: &Resident) -> Result<(Vec<u32>, Vec<u64>)> {
    let n = g.graph().nodes();
    let mut label = r.replicated::<u32>("label", n, MergeOp::Min)?;
    let mut telling = r.frontier("telling", n, MergeOp::Or)?;
    let mut told = r.frontier("told", n, MergeOp::Or)?;
    let args = Args::new().writes("label", &mut label).writes_set("telling", &mut telling);
    r.for_all("own", Over::nodes(g).whole(), &own(), args)?;
    let tell = tell();
    r.trace_launches(true);
    r.repeat(|r| {
        r.clear("told", &mut told)?;
        let args = Args::new().writes("label", &mut label);
        let how = Advance::default().output(&mut told);
        r.advance("tell", Over::frontier(g, &telling), &tell, args, how)?;
        r.merge_all(&mut [&mut label, &mut told])?;
        std::mem::swap(&mut telling, &mut told);
        r.left("telling", &telling)
    })?;
    let advances = r.launches().iter().filter(|launch| launch.label == "tell");
    let elements = advances.map(|launch| launch.elements).collect();
    Ok((r.read(&label)?, elements))
}

#[test]
fn what_depends_on_the_order_of_threads_is_dealt_however_small() {
    let graph = Arc::new(grid(20, 20, false, 1));
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let chunks = g.chunks().clone();
        let answers = fleet.run(move |r| propagate(r, &g)).unwrap();
        for (rank, (label, elements)) in answers.into_iter().enumerate() {
            assert!(label.iter().all(|label| *label == 0), "{devices} with {kind}");
            let own = chunks.range(rank);
            let part = own.end - own.start;
            assert!(elements.iter().all(|all| *all == part), "{devices}: {elements:?}");
        }
    }
}

/// At least `by` where `i` is a multiple of `step`.
#[lambda]
fn raise(i: u64, most: Writes<u32>, set: Writes<NodeSet>, by: u32, step: u64) {
    if i % step == 0 {
        most.max(i / 2, by);
        set.insert(i / 3);
    }
}

#[lambda]
fn double(i: u64, from: Reads<u32>, to: Writes<u32>) {
    to[i] = 2 * from[i];
}

const N: usize = 3000;

#[lambda]
fn even(i: u64) -> bool {
    i % 2 == 0
}

#[lambda]
fn mark(v: u32, to: Writes<u32>) {
    to[v] = v + 1;
}

/// Sets and lists of which each replica takes its own: the first replica's set holds node 7, the others' node 9.
fn chosen(r: &mut Replica, g: &Resident) -> Result<Vec<u32>> {
    let (n, first) = (g.graph().nodes(), r.rank() == 0);
    let mut sets = [r.frontier("seven", n, MergeOp::Or)?, r.frontier("nine", n, MergeOp::Or)?];
    for (set, v) in sets.iter_mut().zip([7u32, 9]) {
        let args = Args::new().writes_set("set", set).scalar("node", v);
        r.for_all("one", Over::nodes(g).whole(), &one(), args)?;
        r.merge(set)?;
    }
    let mut to = r.replicated::<u32>("to", n, MergeOp::Max)?;
    let over = Over::frontier(g, &sets[usize::from(!first)]).whole();
    r.for_all("mark", over, &mark(), Args::new().writes("to", &mut to))?;
    r.merge(&mut to)?;
    let mut list = r.queue("list", n)?;
    r.filter("even", Over::elements(n), &even(), Args::new(), &mut list, Order::Kept)?;
    let mut all = r.read(&to)?;
    all.truncate(12);
    let args = Args::new().reads("from", list.items()).writes("to", &mut to);
    r.for_all("double", Over::elements(8).whole(), &double(), args)?;
    r.merge(&mut to)?;
    all.extend(&r.read(&to)?[..8]);
    Ok(all)
}

#[lambda]
fn one(v: u32, set: Writes<NodeSet>, node: u32) {
    if v == node {
        set.insert(v);
    }
}

#[test]
fn what_each_replica_chooses_for_itself_is_merged() {
    let graph = Arc::new(grid(40, 40, false, 1));
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let several = fleet.world() > 1;
        let answers = fleet.run(move |r| chosen(r, &g)).unwrap();
        assert!(answers.iter().all(|one| *one == answers[0]), "{devices} with {kind}");
        let marks = [8, 0, if several { 10 } else { 0 }];
        assert_eq!(answers[0][7..10], marks, "{devices} with {kind}");
    }
}

/// Arrays of which copies are the same, or differ in what only the numbers of a launch, an assignment, a read of what differs or
/// another array tell: all are merged right.
fn merged(r: &mut Replica) -> Result<()> {
    let (rank, world) = (r.rank() as u32, r.world() as u32);
    let mut most = r.replicated::<u32>("most", N, MergeOp::Max)?;
    let mut other = r.replicated::<u32>("other", N, MergeOp::Max)?;
    let mut set = r.frontier("set", N, MergeOp::Or)?;
    let (raise, double) = (raise(), double());
    let all = Over::elements(N).whole();
    let expected = |by: u32, step: usize| -> Vec<u32> {
        let hit = |k: usize| (2 * k..N.min(2 * k + 2)).any(|i| i % step == 0);
        (0..N).map(|k| if hit(k) { by } else { 0 }).collect()
    };
    let mut go = |r: &mut Replica, most: &mut Replicated<u32>, by: u32, step: usize| {
        r.fill("most", most, 0)?;
        r.clear("set", &mut set)?;
        let args = Args::new().writes("most", most).writes_set("set", &mut set);
        r.for_all("raise", all, &raise, args.scalar("by", by).scalar("step", step as u64))?;
        r.merge_all(&mut [most, &mut set])?;
        let held = |j: usize| (3 * j..N.min(3 * j + 3)).any(|i| i % step == 0);
        let count = (0..N).filter(|j| held(*j)).count() as u64;
        assert_eq!(r.count("set", &set)?, count);
        r.read(most)
    };
    // The same on all; another number on each.
    assert_eq!(go(r, &mut most, 7, 4)?, expected(7, 4));
    assert_eq!(go(r, &mut most, rank + 1, 4)?, expected(world, 4));
    // Each reads another array, and what each has assigned.
    r.fill("other", &mut other, 1)?;
    let mut to = r.replicated::<u32>("to", N, MergeOp::Max)?;
    let from = if rank == 0 { &most } else { &other };
    let args = Args::new().reads("from", from).writes("to", &mut to);
    r.for_all("double", all, &double, args)?;
    r.merge(&mut to)?;
    let both = expected(world, 4).into_iter().map(|most| 2 * most.max(u32::from(world > 1)));
    assert_eq!(r.read(&to)?, both.collect::<Vec<u32>>());
    other.assign(&vec![10 + rank; N])?;
    let args = Args::new().reads("from", &other).writes("to", &mut to);
    r.for_all("double", all, &double, args)?;
    r.merge(&mut to)?;
    assert_eq!(r.read(&to)?, vec![2 * (9 + world); N]);
    // One replica alone copies what was merged.
    r.merge(&mut other)?;
    if rank == 0 {
        r.copy(&other, &mut most)?;
    }
    r.merge(&mut most)?;
    assert_eq!(r.read(&most)?, vec![9 + world; N]);
    r.fill("most", &mut most, 0)?;
    other.assign(&vec![10 + rank; N])?;
    // A copy of what differs; a fill that does.
    r.copy(&other, &mut most)?;
    r.merge(&mut most)?;
    assert_eq!(r.read(&most)?, vec![9 + world; N]);
    r.fill("most", &mut most, 20 + rank)?;
    r.merge(&mut most)?;
    assert_eq!(r.read(&most)?, vec![19 + world; N]);
    // One replica alone runs it.
    let (one, most) = (rank + 1 == world, &mut most);
    r.for_all("double", all, &double, Args::new().reads("from", &other).writes("to", &mut to))?;
    if one {
        let args = Args::new().reads("from", &to).writes("to", most);
        r.for_all("double", all, &double, args)?;
    }
    r.merge(most)?;
    assert_eq!(r.read(most)?, vec![4 * (9 + world); N]);
    // A sum counts every copy, though they are the same.
    let mut sum = r.replicated::<u32>("sum", N, MergeOp::Sum)?;
    let args = Args::new().reads("from", most).writes("to", &mut sum);
    r.for_all("double", all, &double, args)?;
    r.merge(&mut sum)?;
    assert_eq!(r.read(&sum)?, vec![8 * (9 + world) * world; N]);
    Ok(())
}

#[test]
fn copies_that_may_differ_are_merged_whatever_made_them() {
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        fleet.run(merged).unwrap_or_else(|error| panic!("{devices} with {kind}: {error}"));
    }
}
