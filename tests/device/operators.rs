//! Every operator on every fleet against a serial reading of the same graph, and what wrong lambdas are told.

use crate::common;

use crate::common::{graph_of, hash, open};
use crate::turned;
use hivegraph::Result;
use hivegraph::collective::{MergeOp, Replicated};
use hivegraph::fleet::{CollectiveKind, FleetConfig, Replica, Scheme};
use hivegraph::graph::Graph;
use hivegraph::layout::Placement;
use hivegraph::operator::{
    Advance, ArcLambda, Args, Direction, Fold, FoldLambda, Lambda, Order, Over, Random, Resident,
    ResidentOptions, lambda,
};
use std::sync::{Arc, Mutex};

const NODES: usize = 10_007;

/// Directed, weighted, of all degrees: node 0 reaches everybody, everybody reaches node 1, node 2 half of them.
fn graph() -> Graph {
    let n = NODES as u32;
    let weight = |u: u32, v: u32| (1 + hash(3, u64::from(u) << 32 | u64::from(v)) % 64) as f32;
    let mut arcs = Vec::new();
    for v in 3..n {
        arcs.extend([(0, v, weight(0, v)), (v, 1, weight(v, 1))]);
        if v % 2 == 0 {
            arcs.push((2, v, weight(2, v)));
        }
        for k in 0..hash(5, u64::from(v)) % 40 {
            let to = (hash(7, u64::from(v) << 8 | k) % u64::from(n)) as u32;
            if v % 11 != 0 {
                arcs.push((v, to, weight(v, to)));
            }
        }
    }
    graph_of(NODES, &arcs)
}

fn fleets() -> Vec<(String, CollectiveKind)> {
    let host = ["host:1", "host:3", "host:5"].map(|name| (name.into(), CollectiveKind::Auto));
    host.into_iter().chain(common::cuda_fleets()).collect()
}

/// Runs a program on every fleet and returns replica 0's answers, after comparing all replicas'.
fn on_all<T: PartialEq + std::fmt::Debug + Send + 'static>(
    program: fn(&mut Replica, &Resident) -> Result<T>,
) -> Vec<(String, T)> {
    let graph = Arc::new(graph());
    let each = |(devices, kind): (String, CollectiveKind)| {
        let fleet = open(&devices, kind, FleetConfig::default());
        let run = |placement: Placement| {
            let options =
                ResidentOptions { backward: true, placement, ..ResidentOptions::default() };
            let resident = Resident::new(&fleet, graph.clone(), options).unwrap();
            let answers = fleet.run(move |r| program(r, &resident));
            let mut answers = answers.unwrap_or_else(|e| panic!("{devices} with {kind}: {e}"));
            let equal = answers.windows(2).all(|pair| pair[0] == pair[1]);
            assert!(equal, "{devices}: replicas differ");
            answers.swap_remove(0)
        };
        let answer = run(Placement::Replicated);
        if kind != CollectiveKind::Host || devices.starts_with("host") {
            assert!(run(Placement::Sharded) == answer, "{devices}: sharded is another answer");
        }
        (devices.clone(), answer)
    };
    fleets().into_iter().map(each).collect()
}

fn in_set(v: usize) -> bool {
    v.is_multiple_of(3) || v < 3
}

/// Fills a set with the nodes of [`in_set`], as a user would.
fn third(r: &mut Replica, g: &Resident) -> Result<hivegraph::collective::Frontier> {
    let mut set = r.frontier("third", NODES, MergeOp::Or)?;
    let fill = Lambda::<()>::new("fill")
        .writes_set("set")
        .cuda("if (v % 3 == 0 || v < 3) set.insert(v);")
        .host(|a| {
            let set = a.writes_set("set");
            Box::new(move |v| {
                if in_set(v) {
                    set.insert(v);
                }
            })
        });
    r.for_all("fill", Over::nodes(g), &fill, Args::new().writes_set("set", &mut set))?;
    r.merge(&mut set)?;
    Ok(set)
}

#[test]
fn for_all_visits_every_node_of_every_chunk_once() {
    let degree = |r: &mut Replica, g: &Resident| {
        let mut degrees = r.node_array::<u32>("degrees", g, MergeOp::Gather)?;
        let lambda = Lambda::<()>::new("degree")
            .writes::<u32>("degrees")
            .cuda("degrees[v] += 1000000 + g.degree(v) + 1000 * g.in_degree(v);")
            .host(|a| {
                let (g, degrees) = (a.graph(), a.writes::<u32>("degrees"));
                Box::new(move |v| {
                    let sum = 1_000_000 + g.degree(v) + 1000 * g.in_degree(v);
                    degrees.set(v, degrees.at(v) + sum as u32);
                })
            });
        r.for_all("degree", Over::nodes(g), &lambda, Args::new().writes("degrees", &mut degrees))?;
        r.merge(&mut degrees)?;
        r.read(&degrees)
    };
    let (graph, turned) = (graph(), graph().transpose());
    let sum = |v: usize| (1_000_000 + graph.degree(v) + 1000 * turned.degree(v)) as u32;
    let expected: Vec<u32> = (0..NODES).map(sum).collect();
    for (devices, degrees) in on_all(degree) {
        assert_eq!(degrees, expected, "{devices}");
    }
}

#[test]
fn for_all_over_a_set_visits_its_nodes_only() {
    let visit = |r: &mut Replica, g: &Resident| {
        let set = third(r, g)?;
        let mut seen = r.replicated::<u32>("seen", NODES, MergeOp::Gather)?;
        let lambda = Lambda::<()>::new("visit")
            .writes::<u32>("seen")
            .reads_set("set")
            .cuda("atomic_add(seen[v], set.contains(v) ? 1u : 100u);")
            .host(|a| {
                let (seen, set) = (a.writes::<u32>("seen"), a.reads_set("set"));
                Box::new(move |v| _ = seen.add(v, if set.contains(v) { 1 } else { 100 }))
            });
        let args = Args::new().writes("seen", &mut seen).reads_set("set", &set);
        r.for_all("visit", Over::frontier(g, &set), &lambda, args)?;
        r.gather(&mut seen, g.chunks())?;
        r.read(&seen)
    };
    let expected: Vec<u32> = (0..NODES).map(|v| u32::from(in_set(v))).collect();
    for (devices, seen) in on_all(visit) {
        assert_eq!(seen, expected, "{devices}");
    }
}

#[test]
fn for_all_over_indices_transforms_slices_of_any_length() {
    let transform = |r: &mut Replica, _: &Resident| {
        let mut all = Vec::new();
        for n in [0, 1, 63, 1000, 1024, 1025, 70_001] {
            let mut x = r.replicated::<f64>("x", n, MergeOp::Gather)?;
            let mut y = r.replicated::<f64>("y", n, MergeOp::Gather)?;
            let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
            x.assign(&values)?;
            let lambda = Lambda::<()>::new("half")
                .reads::<f64>("x")
                .writes::<f64>("y")
                .scalar::<f64>("by")
                .scalar::<u8>("one")
                .scalar::<i32>("minus")
                .cuda("y[i] = x[i] * by + one + minus;")
                .host(|a| {
                    let (x, y) = (a.reads::<f64>("x"), a.writes::<f64>("y"));
                    let by = a.scalar::<f64>("by");
                    let more =
                        f64::from(a.scalar::<u8>("one")) + f64::from(a.scalar::<i32>("minus"));
                    Box::new(move |i| y.set(i, x.at(i) * by + more))
                });
            let args = Args::new().scalar("one", 3u8).scalar("by", 0.5f64).scalar("minus", -2i32);
            let args = args.reads("x", &x).writes("y", &mut y);
            r.for_all("half", Over::elements(n), &lambda, args)?;
            r.merge(&mut y)?;
            all.push(r.read(&y)?);
        }
        Ok(all)
    };
    for (devices, all) in on_all(transform) {
        for y in all {
            let right = |(i, y): (usize, &f64)| *y == i as f64 * 0.5 + 1.0;
            assert!(y.iter().enumerate().all(right), "{devices}, {} elements", y.len());
        }
    }
}

/// What arcs out of a set are counted as, by the node that they reach: nodes, arcs' places, weights.
fn count_arcs() -> ArcLambda<()> {
    ArcLambda::<()>::new("count_arcs")
        .writes::<u64>("sums")
        .cuda("atomic_add(sums[v], (u64)u + e + (u64)w + 1000000000000ull);")
        .host(|a| {
            let sums = a.writes::<u64>("sums");
            Box::new(move |u, v, e, w| {
                sums.add(v, u as u64 + e as u64 + w as u64 + 1_000_000_000_000);
            })
        })
}

#[test]
fn for_all_over_arcs_visits_every_arc_of_rows_of_any_length_once() {
    let count = |r: &mut Replica, g: &Resident| {
        let set = third(r, g)?;
        let mut all = Vec::new();
        for over in [Over::arcs(g), Over::frontier(g, &set)] {
            let mut sums = r.replicated::<u64>("sums", NODES, MergeOp::Sum)?;
            r.for_all("arcs", over, &count_arcs(), Args::new().writes("sums", &mut sums))?;
            r.merge(&mut sums)?;
            all.push(r.read(&sums)?);
        }
        Ok(all)
    };
    let graph = graph();
    let sums = |wanted: &dyn Fn(usize) -> bool| {
        let mut sums = vec![0u64; NODES];
        for u in (0..NODES).filter(|u| wanted(*u)) {
            for (place, (v, w)) in graph.neighbors(u).enumerate() {
                let arc = graph.offsets()[u] + place as u64;
                sums[v as usize] += u as u64 + arc + w as u64 + 1_000_000_000_000;
            }
        }
        sums
    };
    let expected = vec![sums(&|_| true), sums(&in_set)];
    for (devices, found) in on_all(count) {
        assert_eq!(found, expected, "{devices}");
    }
}

fn accepts(u: usize, v: usize, w: f32) -> bool {
    (u * 7 + v + w as usize).is_multiple_of(5)
}

#[test]
fn advance_reaches_the_same_nodes_by_push_and_by_pull_both_ways_with_and_without_a_filter() {
    let advance = |r: &mut Replica, g: &Resident| {
        let set = third(r, g)?;
        let lambda = ArcLambda::<bool>::new("accept")
            .cuda("return (u * 7 + v + (u32)w) % 5 == 0;")
            .host(|_| Box::new(|u, v, _, w| accepts(u, v, w)));
        let odd =
            Lambda::<bool>::new("odd").scalar::<u32>("of").cuda("return v % of == 1;").host(|a| {
                let of = a.scalar::<u32>("of") as usize;
                Box::new(move |v| v % of == 1)
            });
        let mut all = Vec::new();
        let ways = [Direction::Push, Direction::Pull, Direction::Either];
        for (direction, backward) in ways.map(|way| [(way, false), (way, true)]).concat() {
            for fused in [false, true] {
                for over in [Over::frontier(g, &set), Over::nodes(g)] {
                    let mut next = r.frontier("next", NODES, MergeOp::Or)?;
                    let only = fused.then(|| (&odd, Args::new().scalar("of", 2u32)));
                    let how = Advance { direction, only, output: Some(&mut next), backward };
                    r.advance("advance", over, &lambda, Args::new(), how)?;
                    r.merge(&mut next)?;
                    all.push(r.read(next.words())?);
                }
            }
        }
        Ok(all)
    };
    let (graph, turned) = (graph(), graph().transpose());
    let reached = |backward: bool, fused: bool, whole: bool| {
        let mut words = vec![0u64; NODES.div_ceil(64)];
        let graph = if backward { &turned } else { &graph };
        for u in (0..NODES).filter(|u| whole || in_set(*u)) {
            for (v, w) in graph.neighbors(u) {
                let v = v as usize;
                if accepts(u, v, w) && (!fused || v % 2 == 1) {
                    words[v / 64] |= 1 << (v % 64);
                }
            }
        }
        words
    };
    let ways = [false, true].map(|backward| {
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(fused, whole)| reached(backward, fused, whole))
    });
    assert_ne!(ways[0], ways[1], "the graph is directed");
    let once = ways.concat();
    let expected = [once.clone(), once.clone(), once].concat();
    for (devices, found) in on_all(advance) {
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "{devices}, variant {at}");
        }
    }
}

/// One arc counts of each hub, behind thousands of others; node 2, a hub against the arcs, has none.
#[test]
fn a_pull_finds_the_one_arc_of_a_hub_that_counts_and_takes_no_other_hub() {
    const LAST: usize = 10_005;
    let pull = |r: &mut Replica, g: &Resident| {
        let last = ArcLambda::<bool>::new("last")
            .cuda("return u == 10005;")
            .host(|_| Box::new(|u, _, _, _| u == LAST));
        let wanted =
            Lambda::<bool>::new("wanted").cuda("return v < 3;").host(|_| Box::new(|v| v < 3));
        let mut all = Vec::new();
        for backward in [false, true] {
            let mut next = r.frontier("next", NODES, MergeOp::Or)?;
            let how = Advance { backward, ..Advance::default() }.pull();
            let how = how.only(&wanted, Args::new()).output(&mut next);
            r.advance("last", Over::nodes(g), &last, Args::new(), how)?;
            r.merge(&mut next)?;
            let words = r.read(next.words())?;
            all.push((0..NODES).filter(|v| words[v / 64] >> (v % 64) & 1 != 0).collect());
        }
        Ok::<Vec<Vec<usize>>, _>(all)
    };
    let graph = graph();
    let reaches = |u: usize, v: usize| graph.neighbors(u).any(|(to, _)| to as usize == v);
    let expected = vec![
        (0..3).filter(|v| reaches(LAST, *v)).collect::<Vec<_>>(),
        (0..3).filter(|v| reaches(*v, LAST)).collect(),
    ];
    assert!(expected[0].contains(&1) && expected[1].contains(&0) && !expected[1].contains(&2));
    for (devices, found) in on_all(pull) {
        assert_eq!(found, expected, "{devices}");
    }
}

/// How often the lambda is called tells the direction.
#[test]
fn an_advance_either_way_pushes_along_few_arcs_and_pulls_else() {
    let calls = |r: &mut Replica, g: &Resident| {
        let called = ArcLambda::<bool>::new("called").writes::<u64>("calls");
        let called = called.cuda("atomic_add(calls[0], (u64)1); return true;").host(|a| {
            let calls = a.writes::<u64>("calls");
            Box::new(move |_, _, _, _| {
                calls.add(0, 1);
                true
            })
        });
        let mut all = Vec::new();
        let mut few = r.frontier("few", NODES, MergeOp::Or)?;
        let mut words = vec![0u64; NODES.div_ceil(64)];
        [17, 4_000].iter().for_each(|v: &usize| words[v / 64] |= 1 << (v % 64));
        few.words_mut().assign(&words)?;
        for set in [few, third(r, g)?] {
            let mut found = Vec::new();
            for how in [Advance::default(), Advance::default().pull(), Advance::default().either()]
            {
                let mut calls = r.replicated::<u64>("calls", 1, MergeOp::Sum)?;
                let args = Args::new().writes("calls", &mut calls);
                r.advance("called", Over::frontier(g, &set), &called, args, how)?;
                r.merge(&mut calls)?;
                found.push(r.read(&calls)?[0]);
            }
            all.push(found);
        }
        Ok(all)
    };
    let graph = graph();
    for (devices, found) in on_all(calls) {
        let few = graph.degree(17) + graph.degree(4_000);
        assert_eq!((found[0][0], found[0][2]), (few, few), "{devices}");
        let all: u64 = (0..NODES).filter(|v| in_set(*v)).map(|v| graph.degree(v)).sum();
        let [push, pull, either] = found[1][..] else { panic!("{devices}: {found:?}") };
        let same = if devices.starts_with("host") { either == pull } else { either <= pull };
        assert!(push == all && pull < push && same && either > 0, "{devices}: {found:?}");
    }
}

#[test]
fn filter_lists_what_its_predicate_wants_in_order_or_not() {
    let filter = |r: &mut Replica, g: &Resident| {
        let set = third(r, g)?;
        let wanted = Lambda::<bool>::new("wanted")
            .cuda("return (mix(i) & 7) < 3;")
            .host(|_| Box::new(|i| hivegraph::operator::Random::mix(i as u64) & 7 < 3));
        let mut all = Vec::new();
        let mut queue = r.queue("wanted", 100_000)?;
        for order in [Order::Kept, Order::Any] {
            let overs = [Over::nodes(g), Over::frontier(g, &set), Over::elements(77_777)];
            for over in overs.into_iter().flat_map(|over| [over, over.whole()]) {
                let found = r.filter("filter", over, &wanted, Args::new(), &mut queue, order)?;
                let mut list = r.read_queue(&queue)?;
                assert_eq!(list.len(), found);
                if order == Order::Any {
                    list.sort_unstable();
                }
                assert!(list.is_sorted(), "order is not kept");
                let sums = r.agree("parts", [found as u64, 0, 0, 0])?;
                all.push(sums.iter().map(|s| s[0]).sum::<u64>());
            }
        }
        Ok((all, r.world() as u64))
    };
    let wanted = |i: &usize| Random::mix(*i as u64) & 7 < 3;
    let nodes = (0..NODES).filter(wanted).count() as u64;
    let third = (0..NODES).filter(|v| in_set(*v)).filter(wanted).count() as u64;
    let many = (0..77_777).filter(wanted).count() as u64;
    for (devices, (found, world)) in on_all(filter) {
        let expected = [nodes, nodes * world, third, third * world, many, many * world];
        assert_eq!(found, [expected, expected].concat(), "{devices}");
    }
}

#[test]
fn neighbor_reduce_folds_rows_of_any_length_both_ways() {
    let fold = |r: &mut Replica, g: &Resident| {
        let least = ArcLambda::<u32>::new("least")
            .cuda("return v ^ 21u;")
            .host(|_| Box::new(|_, v, _, _| v as u32 ^ 21));
        let sum = ArcLambda::<f32>::new("sum")
            .cuda("return w / 3;")
            .host(|_| Box::new(|_, _, _, w| w / 3.0));
        let mut all = (Vec::new(), Vec::new());
        for backward in [false, true] {
            let mut out = r.replicated::<u32>("least", NODES, MergeOp::Gather)?;
            let none = Args::new();
            let fold = turned(Fold::to(&mut out, MergeOp::Min), backward);
            r.neighbor_reduce("least", Over::nodes(g), &least, none, fold)?;
            r.gather(&mut out, g.chunks())?;
            all.0.push(r.read(&out)?);
            let mut out = r.replicated::<f32>("sum", NODES, MergeOp::Gather)?;
            let none = Args::new();
            let fold = turned(Fold::to(&mut out, MergeOp::Sum), backward);
            r.neighbor_reduce("sum", Over::nodes(g), &sum, none, fold)?;
            r.gather(&mut out, g.chunks())?;
            all.1.push(r.read(&out)?.iter().map(|x| x.to_bits()).collect::<Vec<u32>>());
        }
        Ok(all)
    };
    let rows = [graph(), graph().transpose()];
    let answers = on_all(fold);
    for (devices, (least, sums)) in &answers {
        for (backward, rows) in rows.iter().enumerate() {
            for v in 0..NODES {
                let smallest = rows.neighbors(v).map(|(u, _)| u ^ 21).min().unwrap_or(u32::MAX);
                assert_eq!(least[backward][v], smallest, "{devices}, node {v}");
                let exact: f64 = rows.neighbors(v).map(|(_, w)| f64::from(w / 3.0)).sum();
                let sum = f64::from(f32::from_bits(sums[backward][v]));
                assert!((sum - exact).abs() <= 1e-4 * exact, "{devices}, node {v}: {sum}, {exact}");
            }
        }
    }
    same_bits_within_a_backend(&answers, |(_, sums)| sums.clone());
}

/// Both directions, all nodes and a set; one array of the second lambda lies in parts.
#[test]
fn folds_are_handed_to_a_second_lambda() {
    let program = |r: &mut Replica, g: &Resident| {
        let sum = ArcLambda::<f32>::new("sum")
            .cuda("return w / 3;")
            .host(|_| Box::new(|_, _, _, w| w / 3.0));
        let keep = FoldLambda::<f32>::new("keep")
            .reads::<u32>("own")
            .writes::<f32>("out")
            .scalar::<f32>("by")
            .cuda("out[v] = folded * by + own[v];")
            .host(|a| {
                let (own, out) = (a.reads::<u32>("own"), a.writes::<f32>("out"));
                let by = a.scalar::<f32>("by");
                Box::new(move |v, folded: f32| out.set(v, folded * by + own.at(v) as f32))
            });
        let fill = Lambda::<()>::new("fill_own").writes::<u32>("x").cuda("x[i] = i % 7;");
        let fill = fill.host(|a| {
            let x = a.writes::<u32>("x");
            Box::new(move |i| x.set(i, i as u32 % 7))
        });
        let mut own = r.shared::<u32>("own", NODES, Scheme::Peer)?;
        r.for_all("fill", Over::range(own.own()), &fill, Args::new().writes("x", &mut own))?;
        r.barrier("own is written")?;
        let some = third(r, g)?;
        let mut all = Vec::new();
        for backward in [false, true] {
            let mut sums = r.node_array::<f32>("sums", g, MergeOp::Gather)?;
            let fold = turned(Fold::to(&mut sums, MergeOp::Sum), backward);
            r.neighbor_reduce("sum", Over::nodes(g), &sum, Args::new(), fold)?;
            r.merge(&mut sums)?;
            let sums = r.read(&sums)?;
            for over in [Over::nodes(g), Over::frontier(g, &some)] {
                let mut out = r.node_array::<f32>("out", g, MergeOp::Gather)?;
                let args =
                    Args::new().reads("own", &own).writes("out", &mut out).scalar("by", 2.0f32);
                let fold = turned(Fold::then(&keep, args, MergeOp::Sum), backward);
                r.neighbor_reduce("sum", over, &sum, Args::new(), fold)?;
                r.merge(&mut out)?;
                all.push((sums.clone(), r.read(&out)?));
            }
        }
        Ok(all)
    };
    for (devices, all) in on_all(program) {
        for (at, (sums, out)) in all.iter().enumerate() {
            for v in 0..NODES {
                // Twice a number is exact, and so is whether it is contracted with the addition.
                let whole = sums[v] * 2.0 + (v % 7) as f32;
                let expected = if at % 2 == 0 || in_set(v) { whole } else { 0.0 };
                assert_eq!(out[v].to_bits(), expected.to_bits(), "{devices}, {at}, node {v}");
            }
        }
    }
}

/// An array in parts, given to the filter of an advance.
#[test]
fn filters_of_an_advance_read_shared_arrays() {
    let program = |r: &mut Replica, g: &Resident| {
        let fill = Lambda::<()>::new("fill_wanted").writes::<u32>("x").cuda("x[i] = i % 3;");
        let fill = fill.host(|a| {
            let x = a.writes::<u32>("x");
            Box::new(move |i| x.set(i, i as u32 % 3))
        });
        let wanted = Lambda::<bool>::new("wanted").reads::<u32>("x").cuda("return x[v] == 1;");
        let wanted = wanted.host(|a| {
            let x = a.reads::<u32>("x");
            Box::new(move |v| x.at(v) == 1)
        });
        let any = ArcLambda::<bool>::new("any")
            .cuda("return true;")
            .host(|_| Box::new(|_, _, _, _| true));
        let mut x = r.shared::<u32>("x", NODES, Scheme::Peer)?;
        r.for_all("fill", Over::range(x.own()), &fill, Args::new().writes("x", &mut x))?;
        r.barrier("x is written")?;
        let mut out = r.frontier("out", NODES, MergeOp::Or)?;
        let how = Advance::default().only(&wanted, Args::new().reads("x", &x)).output(&mut out);
        r.advance("any", Over::nodes(g), &any, Args::new(), how)?;
        r.merge(&mut out)?;
        r.read(out.words())
    };
    for (devices, words) in on_all(program) {
        // Node 0 reaches all but itself, 1 and 2; node 1 is reached by the others.
        let found = |v: usize| words[v / 64] >> (v % 64) & 1 != 0;
        let wrong = (3..NODES).find(|v| found(*v) != (v % 3 == 1));
        assert_eq!((wrong, found(1)), (None, true), "{devices}");
    }
}

/// Floats that are added in a fixed order are the same for any number of replicas of a backend.
fn same_bits_within_a_backend<T, B: PartialEq>(answers: &[(String, T)], bits: impl Fn(&T) -> B) {
    for backend in ["host", "cuda"] {
        let mut of = answers.iter().filter(|(devices, _)| devices.starts_with(backend));
        let Some((_, first)) = of.next() else { continue };
        for (devices, other) in of {
            assert!(bits(first) == bits(other), "{devices} gives other bits");
        }
    }
}

#[test]
fn reduce_gives_everybody_the_fold_of_all_elements() {
    let reduce = |r: &mut Replica, g: &Resident| {
        let set = third(r, g)?;
        let value = Lambda::<f64>::new("value")
            .cuda("return 1.0 / (double)(i + 1);")
            .host(|_| Box::new(|i| 1.0 / (i + 1) as f64));
        let degree = Lambda::<u32>::new("degree").cuda("return (u32)g.degree(v);").host(|a| {
            let g = a.graph();
            Box::new(move |v| g.degree(v) as u32)
        });
        let low =
            Lambda::<f32>::new("low").cuda("return -(f32)i;").host(|_| Box::new(|i| -(i as f32)));
        let none = Args::new;
        let sum = r.reduce("sum", Over::elements(1_000_003), &value, none(), MergeOp::Sum)?;
        let redundant =
            r.reduce("sum", Over::elements(1_000_003).whole(), &value, none(), MergeOp::Sum)?;
        assert_eq!(sum.to_bits(), redundant.to_bits());
        let numbers = [
            r.reduce("most", Over::nodes(g), &degree, none(), MergeOp::Max)?,
            r.reduce("third", Over::frontier(g, &set), &degree, none(), MergeOp::Sum)?,
            r.reduce("bits", Over::nodes(g), &degree, none(), MergeOp::Or)?,
            r.reduce("none", Over::elements(0).with(g), &degree, none(), MergeOp::Min)?,
        ];
        let least = r.reduce("least", Over::elements(5000), &low, none(), MergeOp::Min)?;
        Ok((sum.to_bits(), numbers, least.to_bits()))
    };
    let graph = graph();
    let degrees = || (0..NODES).map(|v| graph.degree(v) as u32);
    let third: u32 = (0..NODES).filter(|v| in_set(*v)).map(|v| graph.degree(v) as u32).sum();
    let expected = [degrees().max().unwrap(), third, degrees().fold(0, |all, d| all | d), u32::MAX];
    let exact: f64 = (0..1_000_003u64).rev().map(|i| 1.0 / (i + 1) as f64).sum();
    let answers = on_all(reduce);
    for (devices, (sum, numbers, least)) in &answers {
        approx::assert_relative_eq!(f64::from_bits(*sum), exact, max_relative = 1e-12);
        assert_eq!(numbers, &expected, "{devices}");
        assert_eq!(f32::from_bits(*least), -4999.0, "{devices}");
    }
    same_bits_within_a_backend(&answers, |answer| answer.0);
}

#[test]
fn histogram_counts_into_few_and_into_many_bins() {
    let count = |r: &mut Replica, g: &Resident| {
        let degree = Lambda::<u32>::new("degree").cuda("return (u32)g.degree(v);").host(|a| {
            let g = a.graph();
            Box::new(move |v| g.degree(v) as u32)
        });
        let modulo = Lambda::<u32>::new("modulo")
            .cuda("return i % 60;")
            .host(|_| Box::new(|i| i as u32 % 60));
        Ok([
            r.histogram("degrees", Over::nodes(g), &degree, Args::new(), 20_000)?,
            r.histogram("modulo", Over::elements(100_000), &modulo, Args::new(), 60)?,
        ])
    };
    let graph = graph();
    let mut degrees = vec![0u64; 20_000];
    (0..NODES).for_each(|v| degrees[graph.degree(v) as usize] += 1);
    let modulo: Vec<u64> = (0..60).map(|b| if b < 40 { 1667 } else { 1666 }).collect();
    for (devices, found) in on_all(count) {
        assert_eq!(found, [degrees.clone(), modulo.clone()], "{devices}");
    }
}

#[test]
fn sets_are_counted_and_cleared_and_arrays_filled() {
    let program = |r: &mut Replica, g: &Resident| {
        let mut set = third(r, g)?;
        let before = r.count("count", &set)?;
        r.clear("clear", &mut set)?;
        let after = r.count("count", &set)?;
        let mut x = r.replicated::<f32>("x", 1000, MergeOp::Min)?;
        let mut y = r.replicated::<f64>("y", 7, MergeOp::Min)?;
        let mut z = r.replicated::<u8>("z", 70, MergeOp::Min)?;
        r.fill("fill", &mut x, -1.5)?;
        r.fill("fill", &mut y, f64::INFINITY)?;
        r.fill("fill", &mut z, 200)?;
        Ok(([before, after], r.read(&x)?, r.read(&y)?, r.read(&z)?))
    };
    let third = (0..NODES).filter(|v| in_set(*v)).count() as u64;
    for (devices, (counts, x, y, z)) in on_all(program) {
        assert_eq!(counts, [third, 0], "{devices}");
        assert_eq!(
            (x, y, z),
            (vec![-1.5; 1000], vec![f64::INFINITY; 7], vec![200; 70]),
            "{devices}"
        );
    }
}

#[test]
fn atomics_and_random_numbers_are_the_same_on_both_backends() {
    let program = |r: &mut Replica, _: &Resident| {
        let n = 5000;
        let mut least = r.replicated::<f32>("least", 4, MergeOp::Min)?;
        let mut most = r.replicated::<f64>("most", 4, MergeOp::Max)?;
        let mut random = r.replicated::<u64>("random", n, MergeOp::Gather)?;
        let lambda = Lambda::<()>::new("atomics")
            .writes::<f32>("least")
            .writes::<f64>("most")
            .writes::<u64>("random")
            .cuda(
                "Random numbers(17, i);
                 atomic_min(least[i & 3], ((i & 3) < 2 ? 1.0f : -1.0f) * (float)(i % 997) - 0.0f);
                 atomic_max(most[i & 3], ((i & 3) < 2 ? 1.0 : -1.0) * (double)(i % 991 + 1));
                 random[i] = numbers.bits() ^ (u64)(numbers.unit() * 1000.0f) ^ numbers.below(77);",
            )
            .host(|a| {
                let (least, most) = (a.writes::<f32>("least"), a.writes::<f64>("most"));
                let random = a.writes::<u64>("random");
                Box::new(move |i| {
                    let mut numbers = Random::new(17, i as u64);
                    let sign = if i & 3 < 2 { 1.0 } else { -1.0 };
                    least.min(i & 3, sign * (i % 997) as f32);
                    most.max(i & 3, f64::from(sign) * (i % 991 + 1) as f64);
                    let bits = numbers.bits() ^ (numbers.unit() * 1000.0) as u64;
                    random.set(i, bits ^ numbers.below(77));
                })
            });
        let args = Args::new().writes("least", &mut least).writes("most", &mut most);
        let args = args.writes("random", &mut random);
        r.for_all("atomics", Over::elements(n), &lambda, args)?;
        r.merge(&mut random)?;
        // 0 was there before.
        r.merge(&mut least)?;
        r.merge(&mut most)?;
        Ok((r.read(&least)?, r.read(&most)?, r.read(&random)?))
    };
    let answers = on_all(program);
    for (devices, answer) in &answers {
        assert_eq!(answer.0, [0.0, 0.0, -996.0, -996.0], "{devices}");
        assert_eq!(answer.1, [991.0, 991.0, 0.0, 0.0], "{devices}");
        assert!(answer.2 == answers[0].1.2, "{devices}: other random numbers");
    }
}

#[test]
fn lambdas_on_several_lanes_are_joined_by_merges_and_reads() {
    let program = |r: &mut Replica, _: &Resident| {
        let n = 200_000;
        let lambda = Lambda::<()>::new("spin")
            .writes::<u32>("x")
            .scalar::<u32>("turns")
            .cuda("u32 value = (u32)i; for (u32 k = 0; k < turns; k++) value = value * 3 + 1; x[i] = value;")
            .host(|a| {
                let (x, turns) = (a.writes::<u32>("x"), a.scalar::<u32>("turns"));
                Box::new(move |i| {
                    let turned = (0..turns).fold(i as u32, |v, _| v.wrapping_mul(3).wrapping_add(1));
                    x.set(i, turned);
                })
            });
        let mut arrays = Vec::new();
        for (lane, label) in ["x0", "x1", "x2", "x3"].into_iter().enumerate() {
            let mut x = r.replicated::<u32>(label, n, MergeOp::Gather)?;
            let args = Args::new().writes("x", &mut x).scalar("turns", 100 + lane as u32);
            r.on(lane, |r| r.for_all("spin", Over::elements(n), &lambda, args))?;
            arrays.push(x);
        }
        // A reduction on a lane goes through the main stream, which merges.
        let one = Lambda::<u64>::new("one").cuda("return i;").host(|_| Box::new(|i| i as u64));
        let sum = |r: &mut Replica| {
            r.reduce("sum", Over::elements(100_000), &one, Args::new(), MergeOp::Sum)
        };
        assert_eq!(r.on(5, sum)?, 4_999_950_000);
        for x in &mut arrays {
            r.merge(x)?;
        }
        arrays.iter().map(|x| r.read(x)).collect::<Result<Vec<_>>>()
    };
    for (devices, arrays) in on_all(program) {
        for (lane, x) in arrays.iter().enumerate() {
            let turned =
                |i: usize| (0..100 + lane).fold(i as u32, |v, _| v.wrapping_mul(3).wrapping_add(1));
            assert!(x.iter().enumerate().all(|(i, x)| *x == turned(i)), "{devices}, lane {lane}");
        }
    }
}

#[test]
fn lambdas_read_and_write_arrays_that_the_fleet_has_once() {
    let program = |r: &mut Replica, _: &Resident| {
        let n = 1_300_001;
        let fill = Lambda::<()>::new("square").writes::<u64>("x").cuda("x[i] = i * i;").host(|a| {
            let x = a.writes::<u64>("x");
            Box::new(move |i| x.set(i, (i * i) as u64))
        });
        let turn = Lambda::<()>::new("turn")
            .reads::<u64>("x")
            .writes::<u64>("y")
            .cuda("y[i] = x[x.size() - 1 - i] + x[mix(i) % x.size()];")
            .host(|a| {
                let (x, y) = (a.reads::<u64>("x"), a.writes::<u64>("y"));
                Box::new(move |i| {
                    let other = Random::mix(i as u64) as usize % x.len();
                    y.set(i, x.at(x.len() - 1 - i) + x.at(other));
                })
            });
        let mut all = Vec::new();
        for scheme in [Scheme::Peer, Scheme::Managed, Scheme::Vmm] {
            let mut x = r.shared::<u64>("x", n, scheme)?;
            let mut y = r.shared::<u64>("y", n, scheme)?;
            let own = Over::range(x.own());
            r.for_all("square", own, &fill, Args::new().writes("x", &mut x))?;
            r.barrier("x is written")?;
            r.for_all("turn", own, &turn, Args::new().reads("x", &x).writes("y", &mut y))?;
            r.barrier("y is written")?;
            all.push(y.to_vec()?);
        }
        Ok(all)
    };
    let n = 1_300_001u64;
    let expected: Vec<u64> =
        (0..n).map(|i| (n - 1 - i).pow(2) + (Random::mix(i) % n).pow(2)).collect();
    for (devices, all) in on_all(program) {
        for (y, scheme) in all.iter().zip(["peer", "managed", "vmm"]) {
            assert!(*y == expected, "{devices}, {scheme}");
        }
    }
}

/// What a program that goes wrong is told, on each fleet of this machine.
fn told(devices: &str, program: fn(&mut Replica) -> Result<()>) -> String {
    let config = FleetConfig { step_limit_s: 3.0, deadline_s: 3.0, ..FleetConfig::default() };
    let fleet = open(devices, CollectiveKind::Auto, config);
    fleet.run(program).unwrap_err().to_string()
}

fn copy() -> Lambda<()> {
    Lambda::<()>::new("copy").reads::<f32>("x").writes::<f32>("y").cuda("y[i] = x[i];").host(|a| {
        let (x, y) = (a.reads::<f32>("x"), a.writes::<f32>("y"));
        Box::new(move |i| y.set(i, x.at(i)))
    })
}

#[test]
fn what_does_not_fit_the_declaration_is_refused_by_name() {
    type Case = (fn(&mut Replica) -> Result<()>, &'static [&'static str]);
    let cases: [Case; 6] = [
        (
            |r| {
                let mut y = r.replicated::<f32>("y", 10, MergeOp::Gather)?;
                r.for_all("copy", Over::elements(10), &copy(), Args::new().writes("y", &mut y))
            },
            &["lambda copy", "argument x is missing"],
        ),
        (
            |r| {
                let x = r.replicated::<u32>("x", 10, MergeOp::Gather)?;
                let mut y = r.replicated::<f32>("y", 10, MergeOp::Gather)?;
                let args = Args::new().reads("x", &x).writes("y", &mut y);
                r.for_all("copy", Over::elements(10), &copy(), args)
            },
            &["lambda copy", "argument x is declared as: reads an array of f32", "an array of u32"],
        ),
        (
            |r| {
                let x = r.replicated::<f32>("x", 10, MergeOp::Gather)?;
                let mut y = r.replicated::<f32>("y", 10, MergeOp::Gather)?;
                let args = Args::new().reads("x", &x).writes("y", &mut y).scalar("z", 1u32);
                r.for_all("copy", Over::elements(10), &copy(), args)
            },
            &["lambda copy", "has no argument 'z'; it declares x, y"],
        ),
        (
            |r| {
                let lambda = Lambda::<()>::new("twice").reads::<f32>("x").reads::<f32>("x");
                r.for_all(
                    "twice",
                    Over::elements(10),
                    &lambda.cuda("").host(|_| Box::new(|_| ())),
                    Args::new(),
                )
            },
            &["lambda twice", "'x' is declared twice"],
        ),
        (
            |r| {
                let lambda = Lambda::<()>::new("neither");
                r.for_all("neither", Over::elements(10), &lambda, Args::new())
            },
            &["lambda neither", "has no"],
        ),
        (
            |r| {
                let x = r.replicated::<f32>("x", 10, MergeOp::Gather)?;
                let mut y = r.replicated::<f32>("y", 5, MergeOp::Gather)?;
                let args = Args::new().reads("x", &x).writes("y", &mut y);
                r.for_all("copy", Over::elements(6).whole(), &copy(), args)?;
                r.read(&y).map(|_| ())
            },
            &["lambda copy", "argument y", "index 5 is outside"],
        ),
    ];
    let mut fleets = vec!["host:1", "host:3"];
    if common::has_gpu() {
        fleets.extend(["cuda:0", "cuda:0x2"]);
    }
    for devices in fleets {
        for (program, parts) in &cases {
            let told = told(devices, *program);
            assert!(parts.iter().all(|part| told.contains(part)), "{devices}: {told}");
            assert!(!told.contains('\n'), "{told}");
        }
    }
}

#[test]
fn a_lambda_that_only_some_replicas_launch_is_told_at_its_first_use_on_any_backend() {
    let mut fleets = vec!["host:2"];
    if common::has_gpu() {
        fleets.push("cuda:0x2");
    }
    for devices in fleets {
        let told = told(devices, |r| {
            let mut y = r.replicated::<f32>("y", 10, MergeOp::Gather)?;
            let x = r.replicated::<f32>("x", 10, MergeOp::Gather)?;
            if r.rank() == 0 {
                let args = Args::new().reads("x", &x).writes("y", &mut y);
                r.for_all("alone", Over::elements(10).whole(), &copy(), args)?;
            }
            r.merge(&mut y)
        });
        assert!(told.contains("alone") && told.contains("gather y"), "{devices}: {told}");
    }
}

#[test]
fn a_closure_that_asks_for_what_is_not_declared_is_told_so() {
    let told = told("host:2", |r| {
        let lambda = Lambda::<()>::new("asks").host(|a| {
            let x = a.reads::<f32>("x");
            Box::new(move |i| _ = x.at(i))
        });
        r.for_all("asks", Over::elements(10), &lambda, Args::new())
    });
    assert!(told.contains("lambda asks") && told.contains("'x'"), "{told}");
}

#[test]
fn a_lambda_that_never_ends_is_ended_by_the_watchdog() {
    // Ends when the test does, so that no core is kept busy.
    static OVER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
    let told = told("host:2", |r| {
        let lambda = Lambda::<()>::new("endless").host(|_| {
            Box::new(|_| {
                while !OVER.load(std::sync::atomic::Ordering::Relaxed) {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
            })
        });
        r.for_all("for ever", Over::elements(10), &lambda, Args::new())
    });
    OVER.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(told.contains("for ever") && told.contains("no sign of life"), "{told}");
}

/// Without a GPU too: the compiler's words, at the lambda's own lines.
#[test]
fn text_that_does_not_compile_is_told_with_its_line() {
    if !hivegraph::device::probe().nvrtc.found {
        common::skipped("NVRTC is not here, lambdas were NOT compiled");
        return;
    }
    let wrong = |text: &str| {
        Lambda::<()>::new("wrong")
            .writes::<f32>("y")
            .cuda(text)
            .compile("sm_90")
            .unwrap_err()
            .to_string()
    };
    let told = wrong("y[i] = 1;\ny[i] = oops;\n");
    assert!(
        told.contains("lambda wrong") && told.contains("line 2") && told.contains("oops"),
        "{told}"
    );
    let told = wrong("y[i] = 1");
    assert!(told.contains("lambda wrong does not compile"), "{told}");
    let told = Lambda::<u32>::new("silent").cuda("g.degree(v);").compile("sm_90").unwrap_err();
    assert!(told.to_string().contains("missing return"), "{told}");
    for arch in ["sm_80", "sm_90", "sm_100"] {
        copy().compile(arch).unwrap();
        copy().unchecked().compile(arch).unwrap();
        count_arcs().compile(arch).unwrap();
        ArcLambda::<bool>::new("yes").cuda("return w > 0;").compile(arch).unwrap();
        ArcLambda::<f64>::new("sum").cuda("return w;").compile(arch).unwrap();
        Lambda::<u32>::new("bin").cuda("return i & 3;").compile(arch).unwrap();
        Lambda::<bool>::new("even").cuda("return i % 2 == 0;").compile(arch).unwrap();
    }
}

/// What the test below runs in a process of its own, since a kernel that never ends goes on until that ends.
#[test]
#[ignore = "never ends by itself"]
fn endless_on_a_gpu() {
    let told = told("cuda:0", |r| {
        let mut x = r.replicated::<u32>("x", 10, MergeOp::Gather)?;
        let lambda = Lambda::<()>::new("endless")
            .writes::<u32>("x")
            .cuda("while (fresh_value(x[i]) < 5u) atomic_add(x[i], 0u);");
        r.for_all("for ever", Over::elements(10), &lambda, Args::new().writes("x", &mut x))?;
        r.read(&x).map(|_| ())
    });
    println!("told: {told}");
    std::process::exit(7);
}

#[test]
fn a_kernel_that_never_ends_is_named_and_the_process_can_end() {
    if !common::has_gpu() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(own);
    command.args(["operators::endless_on_a_gpu", "--exact", "--ignored", "--nocapture"]);
    let ended = common::ends_within(std::time::Duration::from_secs(40), &mut command);
    let told = format!("{} {}", ended.out, ended.err);
    assert_eq!(ended.code, Some(7), "{told}");
    assert!(told.contains("for ever") && told.contains("has not ended after 3s"), "{told}");
}

/// The fleets on which misuse is tried: of the host, and of GPUs where there are any.
fn misused() -> Vec<&'static str> {
    let mut fleets = vec!["host:1", "host:3"];
    if common::has_gpu() {
        fleets.extend(["cuda:0", "cuda:0x2"]);
    }
    fleets
}

/// Whether a fleet of [`misused`] has several replicas.
fn several(devices: &str) -> bool {
    devices != "host:1" && devices != "cuda:0"
}

/// A program that is to be refused.
type Wrong = Box<dyn Fn(&mut Replica, &Resident) -> Result<()> + Send + Sync>;

fn wrong(program: impl Fn(&mut Replica, &Resident) -> Result<()> + Send + Sync + 'static) -> Wrong {
    Box::new(program)
}

/// Runs all `programs`, one after another, with a graph, and checks that each replica is told one line with all
/// `parts`, where `@` stands for `on replica` and its rank, and that the fleet goes on.
fn refused(devices: &str, parts: &[&str], programs: Vec<Wrong>) {
    let config = FleetConfig { step_limit_s: 10.0, deadline_s: 10.0, ..FleetConfig::default() };
    let fleet = open(devices, CollectiveKind::Auto, config);
    let resident = Resident::new(&fleet, Arc::new(graph()), ResidentOptions::default()).unwrap();
    let all = fleet.run(move |r| {
        Ok(programs.iter().map(|program| program(r, &resident).err()).collect::<Vec<_>>())
    });
    for (rank, replica) in all.unwrap_or_else(|e| panic!("{devices}: {e}")).into_iter().enumerate()
    {
        for (at, told) in replica.into_iter().enumerate() {
            let told = told.unwrap_or_else(|| panic!("{devices}: {at} is not refused: {parts:?}"));
            assert_eq!(told.exit_code(), 2, "{devices}, {at}: {told:?}");
            let told = told.to_string();
            for part in parts {
                let part = part.replace('@', &format!("on replica {rank}"));
                assert!(told.contains(&part), "{devices}, {at}: no {part:?} in: {told}");
            }
            assert!(!told.contains('\n'), "{told}");
        }
    }
}

/// What keeps an array of label x alive.
type MakeX = fn(&mut Replica, &Resident) -> Result<Box<dyn std::any::Any>>;

/// Arrays of label x, of every kind.
const MAKE_X: [MakeX; 5] = [
    |r, _| Ok(Box::new(r.replicated::<f32>("x", 100, MergeOp::Sum)?)),
    |r, g| Ok(Box::new(r.node_array::<u64>("x", g, MergeOp::Gather)?)),
    |r, _| Ok(Box::new(r.frontier("x", 100, MergeOp::Or)?)),
    |r, _| Ok(Box::new(r.queue("x", 100)?)),
    |r, _| Ok(Box::new(r.shared::<u32>("x", 100, Scheme::Peer)?)),
];

#[test]
fn arrays_of_one_label_are_refused_until_the_first_is_dropped() {
    for devices in misused() {
        let twice = MAKE_X.into_iter().enumerate().map(|(at, first)| {
            let second = MAKE_X[(at + 1) % MAKE_X.len()];
            wrong(move |r, g| {
                let kept = first(r, g)?;
                second(r, g)?;
                drop(kept);
                Ok(())
            })
        });
        refused(devices, &["x @", "label", "drop"], twice.collect());
    }
    // One after another there may be many.
    on_all(|r, g| MAKE_X.iter().try_for_each(|make| make(r, g).map(drop)));
}

fn degree() -> Lambda<()> {
    Lambda::<()>::new("degree").writes::<u32>("x").cuda("x[v] = g.degree(v);").host(|a| {
        let (g, x) = (a.graph(), a.writes::<u32>("x"));
        Box::new(move |v| x.set(v, g.degree(v) as u32))
    })
}

#[test]
fn a_graph_of_another_fleet_is_refused_by_label_and_rank() {
    type Use = fn(&mut Replica, &Resident) -> Result<()>;
    let uses: [Use; 6] = [
        |r, g| {
            let mut x = r.replicated::<u32>("x", NODES, MergeOp::Gather)?;
            r.for_all("try", Over::nodes(g), &degree(), Args::new().writes("x", &mut x))
        },
        |r, g| {
            let mut x = r.replicated::<u32>("x", NODES, MergeOp::Gather)?;
            let over = Over::elements(NODES).with(g);
            r.for_all("try", over, &degree(), Args::new().writes("x", &mut x))
        },
        |r, g| {
            let yes = ArcLambda::<bool>::new("yes")
                .cuda("return true;")
                .host(|_| Box::new(|_, _, _, _| true));
            r.advance("try", Over::arcs(g), &yes, Args::new(), Advance::default())
        },
        |r, g| {
            let one = ArcLambda::<u32>::new("one").cuda("return 1;");
            let one = one.host(|_| Box::new(|_, _, _, _| 1));
            let mut x = r.replicated::<u32>("x", NODES, MergeOp::Gather)?;
            let fold = Fold::to(&mut x, MergeOp::Sum);
            r.neighbor_reduce("try", Over::nodes(g), &one, Args::new(), fold)
        },
        |r, g| {
            let one = Lambda::<u32>::new("one").cuda("return 1;").host(|_| Box::new(|_| 1));
            r.reduce("try", Over::nodes(g), &one, Args::new(), MergeOp::Sum).map(drop)
        },
        |r, g| {
            let one = Lambda::<u32>::new("one").cuda("return 1;").host(|_| Box::new(|_| 1));
            r.histogram("try", Over::nodes(g), &one, Args::new(), 4).map(drop)
        },
    ];
    for devices in misused() {
        for made_for in ["host:2", devices] {
            let other = open(made_for, CollectiveKind::Auto, FleetConfig::default());
            let options = ResidentOptions::default();
            let foreign = Resident::new(&other, Arc::new(graph()), options).unwrap();
            let tries = uses.map(|misuse| {
                let foreign = foreign.clone();
                wrong(move |r, _| misuse(r, &foreign))
            });
            refused(devices, &["try @", "another fleet", "Resident::new"], tries.into());
        }
    }
}

#[test]
fn an_array_of_another_fleet_or_replica_is_refused_by_label_and_rank() {
    type Use = fn(&mut Replica, &Resident, &mut Replicated<u32>) -> Result<()>;
    let uses: [Use; 6] = [
        |r, _, x| r.merge(x),
        |r, _, x| r.fill("fill", x, 7),
        |r, _, x| r.read(x).map(drop),
        |r, g, x| r.gather(x, g.chunks()),
        |r, _, x| {
            let mut y = r.replicated::<u32>("y", NODES, MergeOp::Gather)?;
            r.copy(x, &mut y)
        },
        |r, g, x| r.for_all("degrees", Over::nodes(g), &degree(), Args::new().writes("x", x)),
    ];
    for devices in misused() {
        let other = open(devices, CollectiveKind::Auto, FleetConfig::default());
        let labels = ["foreign a", "foreign b", "foreign c", "foreign d", "foreign e", "foreign f"];
        let tries = std::array::from_fn::<Wrong, 6, _>(|at| {
            let (misuse, label) = (uses[at], labels[at]);
            let made = other.run(move |r| r.replicated::<u32>(label, NODES, MergeOp::Gather));
            let made = Mutex::new(made.unwrap());
            wrong(move |r, g| {
                let mut x = made.lock().unwrap().pop().unwrap();
                misuse(r, g, &mut x)
            })
        });
        refused(devices, &["foreign", "@", "another fleet"], tries.into());
    }
    // Each replica gets the array of the next one.
    let fleet = open("host:3", CollectiveKind::Auto, FleetConfig::default());
    let made = fleet.run(|r| r.replicated::<u32>("turned", 10, MergeOp::Sum)).unwrap();
    let made = Mutex::new(made.into_iter().map(Some).collect::<Vec<_>>());
    let told = fleet.run(move |r| {
        let mut x = made.lock().unwrap()[(r.rank() + 1) % 3].take().unwrap();
        r.merge(&mut x)
    });
    let told = told.unwrap_err().to_string();
    assert!(told.contains("turned on replica") && told.contains("another replica"), "{told}");
}

#[test]
fn a_lambda_that_asks_for_a_graph_where_none_was_given_is_refused() {
    for devices in misused() {
        let parts = ["degrees @", "lambda degree", "graph", ".with("];
        let written = wrong(|r, _| {
            let mut x = r.replicated::<u32>("x", NODES, MergeOp::Gather)?;
            r.for_all("degrees", Over::elements(NODES), &degree(), Args::new().writes("x", &mut x))
        });
        refused(devices, &parts, vec![written]);
        let reduced = wrong(|r, _| {
            let degree = Lambda::<u32>::new("degree").cuda("return (u32)g.degree(v);").host(|a| {
                let g = a.graph();
                Box::new(move |v| g.degree(v) as u32)
            });
            r.reduce("most", Over::elements(10), &degree, Args::new(), MergeOp::Max).map(drop)
        });
        refused(devices, &["most @", "lambda degree", "graph", ".with("], vec![reduced]);
    }
}

#[test]
fn a_set_that_is_not_as_long_as_the_graph_is_refused_before_the_launch() {
    for devices in misused() {
        let lengths = [100, NODES - 1, NODES + 1, 2 * NODES].map(|nodes| {
            wrong(move |r, g| {
                let set = r.frontier("some", nodes, MergeOp::Or)?;
                let mut x = r.replicated::<u32>("x", NODES, MergeOp::Gather)?;
                let args = Args::new().writes("x", &mut x);
                let told = r.for_all("visit", Over::frontier(g, &set), &degree(), args);
                let length = format!("set some is of {nodes} nodes");
                assert!(told.as_ref().is_err_and(|e| e.to_string().contains(&length)));
                told
            })
        });
        refused(devices, &["visit @", "set some", "10007 nodes"], lengths.into());
        let output = wrong(|r, g| {
            let yes = ArcLambda::<bool>::new("yes")
                .cuda("return true;")
                .host(|_| Box::new(|_, _, _, _| true));
            let mut next = r.frontier("next", 100, MergeOp::Or)?;
            let how = Advance::default().output(&mut next);
            r.advance("next", Over::nodes(g), &yes, Args::new(), how)
        });
        refused(devices, &["next @", "set next", "100"], vec![output]);
    }
}

/// More rounds than are queued ahead. Those after the last find nothing.
#[test]
fn rounds_are_repeated_until_one_leaves_nothing() {
    let program = |r: &mut Replica, g: &Resident| {
        let leave = Lambda::<()>::new("leave").writes_set("s").scalar::<u32>("k");
        let leave = leave.cuda("if (v == k) s.erase(v);").host(|a| {
            let (s, k) = (a.writes_set("s"), a.scalar::<u32>("k"));
            Box::new(move |v| {
                if v as u32 == k {
                    s.erase(v);
                }
            })
        });
        let mut all = Vec::new();
        for nodes in [1u32, 2, 5, 37, 64] {
            let mut set = r.frontier("set", NODES, MergeOp::Or)?;
            let mut words = vec![0u64; NODES.div_ceil(64)];
            words[0] = u64::MAX >> (64 - nodes);
            set.words_mut().assign(&words)?;
            let mut k = 0u32;
            all.push(r.repeat(|r| {
                let args = Args::new().writes_set("s", &mut set).scalar("k", k);
                r.for_all("leave", Over::nodes(g), &leave, args)?;
                r.gather(set.words_mut(), &g.chunks().in_units_of(64))?;
                // Replicas that are late begin as many rounds.
                if k % 16 == 9 && r.rank() == 1 {
                    std::thread::sleep(std::time::Duration::from_millis(30));
                }
                k += 1;
                r.left("set", &set)
            })?);
            all.push(r.count("set", &set)?);
        }
        // An error in a round ends them, with counts under way.
        let mut set = r.frontier("set", NODES, MergeOp::Or)?;
        set.words_mut().assign(&vec![1; NODES.div_ceil(64)])?;
        let mut rounds = 0;
        let told = r.repeat(|r| {
            rounds += 1;
            let left = r.left("set", &set)?;
            if rounds == 50 { Err(hivegraph::Error::input("enough")) } else { Ok(left) }
        });
        all.extend([u64::from(told.is_err()), rounds]);
        Ok(all)
    };
    for (devices, found) in on_all(program) {
        assert_eq!(found, [1, 0, 2, 0, 5, 0, 37, 0, 64, 0, 1, 50], "{devices}");
    }
}

#[lambda]
fn turn(v: u32, x: Writes<u32>, k: u32) {
    x[v] = x[v] * 3 + k;
}

#[lambda]
fn outlast(v: u32, next: Writes<NodeSet>, k: u32) {
    if v > k {
        next.insert(v);
    }
}

#[lambda]
fn plus(v: u32, x: Writes<u32>, far: Reads<u32>) {
    x[v] = x[v] + far[v];
}

/// Launches of many rounds are queued in one call: in order with what comes between them, whether or not rounds are alike.
#[test]
fn rounds_run_in_order_whatever_comes_between_their_launches() {
    const ROUNDS: u32 = 150;
    let program = |r: &mut Replica, g: &Resident| {
        let (turn, outlast, plus) = (turn(), outlast(), plus());
        let mut far = Vec::new();
        for (label, scheme) in
            [("peer", Scheme::Peer), ("managed", Scheme::Managed), ("vmm", Scheme::Vmm)]
        {
            far.push(Some(r.shared::<u32>(label, NODES, scheme)?));
        }
        let mut x = r.replicated::<u32>("x", NODES, MergeOp::Max)?;
        let mut copy = r.replicated::<u32>("copy", NODES, MergeOp::Max)?;
        let mut now = r.frontier("now", NODES, MergeOp::Or)?;
        let mut next = r.frontier("next", NODES, MergeOp::Or)?;
        let mut words = vec![0u64; NODES.div_ceil(64)];
        (0..ROUNDS as usize).for_each(|v| words[v / 64] |= 1 << (v % 64));
        now.words_mut().assign(&words)?;
        let mut k = 0u32;
        let rounds = r.repeat(|r| {
            let all = Over::frontier(g, &now).whole();
            r.for_all("turn", all, &turn, Args::new().writes("x", &mut x).scalar("k", k))?;
            if k % 7 == 3 {
                r.for_all("turn", all, &turn, Args::new().writes("x", &mut x).scalar("k", 1u32))?;
            }
            // Zeros, which are let go of while what adds them may not be under way.
            for (far, last) in far.iter_mut().zip(45u32..) {
                if let Some(zeros) = far {
                    let args = Args::new().writes("x", &mut x).reads("far", zeros);
                    r.for_all("plus", all, &plus, args)?;
                }
                if k == last {
                    *far = None;
                }
            }
            match k % 60 {
                // On another stream, which waits for what is there.
                41 => r.on(1, |r| r.copy(&x, &mut copy))?,
                // A copy that does not wait, an array that comes and goes, one from the host, a wait.
                45 => r.copy(&x, &mut copy)?,
                50 => drop(r.replicated::<u32>("short", NODES, MergeOp::Max)?),
                52 => copy.assign(&vec![7; NODES])?,
                54 => r.settle()?,
                56 => r.fill("copy", &mut copy, 5)?,
                _ => {}
            }
            r.join()?;
            r.clear("next", &mut next)?;
            let args = Args::new().writes_set("next", &mut next).scalar("k", k);
            r.for_all("outlast", Over::frontier(g, &now), &outlast, args)?;
            r.merge(&mut next)?;
            std::mem::swap(&mut now, &mut next);
            k += 1;
            r.left("now", &now)
        })?;
        r.copy(&x, &mut copy)?;
        assert_eq!(rounds, u64::from(ROUNDS));
        Ok(r.read(&copy)?.into_iter().take(ROUNDS as usize).map(u64::from).collect::<Vec<_>>())
    };
    let turned = |v: u32| {
        let turns = (0..=v).flat_map(|k| std::iter::once(k).chain((k % 7 == 3).then_some(1)));
        turns.fold(0u32, |x, k| x.wrapping_mul(3).wrapping_add(k))
    };
    let expected: Vec<u64> = (0..ROUNDS).map(|v| turned(v).into()).collect();
    for (devices, found) in on_all(program) {
        assert_eq!(found, expected, "{devices}");
    }
}

/// A filter is asked about nodes of others, and the source of a pulled arc is anybody's.
#[test]
fn a_gather_of_what_a_filter_or_a_pull_wrote_is_refused() {
    let seen = || {
        Lambda::<bool>::new("seen").writes::<u32>("x").cuda("x[v] = 1; return true;").host(|a| {
            let x = a.writes::<u32>("x");
            Box::new(move |v| {
                x.set(v, 1);
                true
            })
        })
    };
    let from = || {
        ArcLambda::<bool>::new("from").writes::<u32>("x").cuda("x[u] = 1; return true;").host(|a| {
            let x = a.writes::<u32>("x");
            Box::new(move |u, _, _, _| {
                x.set(u, 1);
                true
            })
        })
    };
    let any =
        || ArcLambda::<bool>::new("any").cuda("return true;").host(|_| Box::new(|_, _, _, _| true));
    for devices in misused() {
        for pull in [false, true] {
            let fleet = open(devices, CollectiveKind::Auto, FleetConfig::default());
            let options = ResidentOptions { backward: true, ..ResidentOptions::default() };
            let g = Resident::new(&fleet, Arc::new(graph()), options).unwrap();
            let told = fleet.run(move |r| {
                let mut x = r.node_array::<u32>("mine", &g, MergeOp::Gather)?;
                let (seen, args) = (seen(), Args::new().writes("x", &mut x));
                match pull {
                    true => {
                        let how = Advance::default().pull();
                        r.advance("from", Over::nodes(&g), &from(), args, how)?;
                    }
                    false => {
                        let how = Advance::default().only(&seen, args);
                        r.advance("any", Over::nodes(&g), &any(), Args::new(), how)?;
                    }
                }
                r.merge(&mut x)
            });
            let told = told.unwrap_err().to_string();
            assert!(told.contains("mine on replica") && told.contains("belong to other"), "{told}");
        }
    }
}

#[test]
fn a_gather_by_others_than_those_who_wrote_is_refused() {
    let index = || {
        Lambda::<()>::new("index").writes::<u32>("x").cuda("x[i] = i;").host(|a| {
            let x = a.writes::<u32>("x");
            Box::new(move |i| x.set(i, i as u32))
        })
    };
    type Misuse = fn(&mut Replica, &Resident, &Lambda<()>) -> Result<()>;
    let cases: [Misuse; 5] = [
        |r, g, index| {
            let mut x = r.replicated::<u32>("mine", NODES, MergeOp::Gather)?;
            r.for_all("index", Over::nodes(g), index, Args::new().writes("x", &mut x))?;
            r.merge(&mut x)
        },
        |r, g, index| {
            let mut x = r.node_array::<u32>("mine", g, MergeOp::Gather)?;
            r.for_all("index", Over::elements(NODES), index, Args::new().writes("x", &mut x))?;
            r.merge(&mut x)
        },
        |r, g, index| {
            let mut x = r.node_array::<u32>("mine", g, MergeOp::Gather)?;
            r.for_all("index", Over::nodes(g), index, Args::new().writes("x", &mut x))?;
            let slices = Over::slices(NODES, r.shares());
            r.gather(&mut x, &slices)
        },
        |r, g, _| {
            let mut x = r.node_array::<u32>("mine", g, MergeOp::Gather)?;
            r.merge_by(&mut x, &Over::slices(NODES, r.shares()))
        },
        |r, g, _| {
            let one = ArcLambda::<u32>::new("one").cuda("return 1;");
            let one = one.host(|_| Box::new(|_, _, _, _| 1));
            let mut x = r.replicated::<u32>("mine", NODES, MergeOp::Gather)?;
            let fold = Fold::to(&mut x, MergeOp::Sum);
            r.neighbor_reduce("ones", Over::nodes(g), &one, Args::new(), fold)?;
            r.merge(&mut x)
        },
    ];
    for devices in misused().into_iter().filter(|devices| several(devices)) {
        let tries = cases.map(|misuse| wrong(move |r, g| misuse(r, g, &index())));
        refused(devices, &["mine @", "gather", "owners"], tries.into());
    }
    // The same by those who wrote.
    let right = on_all(|r, g| {
        let index = Lambda::<()>::new("index").writes::<u32>("x").cuda("x[i] = i;").host(|a| {
            let x = a.writes::<u32>("x");
            Box::new(move |i| x.set(i, i as u32))
        });
        let mut x = r.replicated::<u32>("x", NODES, MergeOp::Gather)?;
        r.for_all("index", Over::nodes(g), &index, Args::new().writes("x", &mut x))?;
        r.gather(&mut x, g.chunks())?;
        let mut y = r.replicated::<u32>("y", NODES, MergeOp::Gather)?;
        r.for_all("index", Over::nodes(g).whole(), &index, Args::new().writes("x", &mut y))?;
        r.for_all("index", Over::elements(NODES), &index, Args::new().writes("x", &mut y))?;
        r.merge(&mut y)?;
        Ok([r.read(&x)?, r.read(&y)?])
    });
    for (devices, both) in right {
        let counted = |x: &Vec<u32>| x.iter().enumerate().all(|(i, x)| *x == i as u32);
        assert!(both.iter().all(counted), "{devices}");
    }
}

#[test]
fn lambdas_of_one_name_that_differ_between_replicas_are_refused_at_their_first_use() {
    // A lambda for each rank, and whether it takes a number beside the array.
    type Make = fn(usize) -> (Lambda<()>, bool);
    fn ones(lambda: Lambda<()>) -> Lambda<()> {
        lambda.host(|a| {
            let y = a.writes::<u32>("y");
            Box::new(move |i| y.set(i, 1))
        })
    }
    let makes: [Make; 3] = [
        |rank| {
            let text = if rank == 1 { "y[i] = 2;" } else { "y[i] = 1;" };
            (ones(Lambda::new("same").writes::<u32>("y").cuda(text)), false)
        },
        |rank| {
            let lambda = Lambda::new("same").writes::<u32>("y").cuda("y[i] = 1;");
            let twos = |lambda: Lambda<()>| {
                lambda.host(|a| {
                    let y = a.writes::<u32>("y");
                    Box::new(move |i| y.set(i, 2))
                })
            };
            (if rank == 1 { twos(lambda) } else { ones(lambda) }, false)
        },
        |rank| {
            let lambda = Lambda::new("same").writes::<u32>("y").cuda("y[i] = 1;");
            let more = rank == 1;
            (ones(if more { lambda.scalar::<u32>("more") } else { lambda }), more)
        },
    ];
    for devices in misused().into_iter().filter(|devices| several(devices)) {
        let tries = makes.map(|make| {
            wrong(move |r, _| {
                let (lambda, more) = make(r.rank());
                let mut y = r.replicated::<u32>("y", 10, MergeOp::Max)?;
                let args = Args::new().writes("y", &mut y);
                let args = if more { args.scalar("more", 1u32) } else { args };
                r.for_all("try", Over::elements(10).whole(), &lambda, args)
            })
        });
        let parts = ["try @", "lambda same", "replica 1 launches", "name"];
        refused(devices, &parts, tries.into());
    }
}

#[test]
fn sizes_that_no_machine_has_are_refused_in_one_line() {
    type Make = fn(&mut Replica, usize) -> Result<()>;
    let makes: [Make; 6] = [
        |r, n| r.replicated::<f64>("huge", n, MergeOp::Sum).map(drop),
        |r, n| r.replicated::<u8>("huge", n, MergeOp::Sum).map(drop),
        |r, n| r.frontier("huge", n, MergeOp::Or).map(drop),
        |r, n| r.queue("huge", n).map(drop),
        |r, n| r.shared::<u32>("huge", n, Scheme::Peer).map(drop),
        |r, n| {
            let one = Lambda::<u32>::new("one").cuda("return 1;").host(|_| Box::new(|_| 1));
            r.histogram("huge", Over::elements(10), &one, Args::new(), n).map(drop)
        },
    ];
    for devices in misused() {
        let sizes = [1 << 50, 1 << 60, 1 << 61, usize::MAX - 100, usize::MAX];
        let tries = makes.into_iter().flat_map(|make| sizes.map(|n| wrong(move |r, _| make(r, n))));
        refused(devices, &["huge"], tries.collect());
    }
    let told = hivegraph::io::load("uniform:4000000000").map(drop).unwrap_err();
    assert!(told.exit_code() == 2 && told.to_string().contains("memory"), "{told}");
}

#[test]
fn assigning_another_length_names_the_array_and_both_lengths() {
    for devices in misused() {
        for given in [0usize, 9, 11] {
            let assign = wrong(move |r, _| {
                let mut x = r.replicated::<f32>("heat", 10, MergeOp::Sum)?;
                x.assign(&vec![1.0; given])
            });
            let said = format!("{given} values");
            refused(devices, &["heat @", &said, "10 elements"], vec![assign]);
        }
    }
}

#[test]
fn a_nan_loses_to_every_number_in_folds_and_atomics() {
    let program = |r: &mut Replica, _: &Resident| {
        let value = Lambda::<f64>::new("value")
            .cuda("return i % 3 == 0 ? __longlong_as_double(~0ll) : (double)i;")
            .host(|_| Box::new(|i| if i % 3 == 0 { f64::NAN } else { i as f64 }));
        let none = Args::new;
        let least = r.reduce("least", Over::elements(10_000), &value, none(), MergeOp::Min)?;
        let most = r.reduce("most", Over::elements(10_000), &value, none(), MergeOp::Max)?;
        let mut x = r.replicated::<f32>("x", 2, MergeOp::Sum)?;
        r.fill("fill", &mut x, 50.0)?;
        let keep = Lambda::<()>::new("keep")
            .writes::<f32>("x")
            .cuda("float n = i % 3 == 0 ? __int_as_float(~0) : (float)i; atomic_min(x[0], n); atomic_max(x[1], n);")
            .host(|a| {
                let x = a.writes::<f32>("x");
                Box::new(move |i| {
                    let n = if i % 3 == 0 { f32::NAN } else { i as f32 };
                    x.min(0, n);
                    x.max(1, n);
                })
            });
        r.for_all("keep", Over::elements(1000).whole(), &keep, Args::new().writes("x", &mut x))?;
        Ok((least, most, r.read(&x)?))
    };
    for (devices, answer) in on_all(program) {
        assert_eq!(answer, (1.0, 9998.0, vec![1.0, 998.0]), "{devices}");
    }
}

/// Words of a node in the next test, and draws that its bits stand for.
const FOUR: u64 = 4;
const DRAWS: u64 = 1 << 16;

/// Looks at a draw for each bit of v, and takes the bits of those up to a half; where others are left, v waits.
#[lambda]
fn some_wait(
    v: u32,
    draws: Reads<f32>,
    first: Reads<f32>,
    least: Writes<f32>,
    bits: Writes<u64>,
    taken: Writes<u64>,
    waiting: Writes<NodeSet>,
) {
    let mut waits = false;
    for k in 0_u64..FOUR {
        let at = v as u64 * FOUR + k;
        let all = bits[at];
        let mut left = all;
        let mut took = 0_u64;
        while left != 0_u64 {
            let others = left & (left - 1_u64);
            let place = k * 64_u64 + left.trailing_zeros() as u64;
            let draw = draws[(v as u64 * 256_u64 + place) % DRAWS];
            if draw < first[place] + 0.0625_f32 {
                least.min(place, draw);
            }
            if draw <= first[place] + 0.5_f32 {
                took |= left & !others;
            }
            left = others;
        }
        if all != 0_u64 {
            bits[at] = all & !took;
        }
        taken[at] = took;
        waits = waits || took != all;
    }
    if waits {
        waiting.insert(v);
    }
}

/// The threads of a warp, whose nodes are in few words of a set, come apart, and then put nodes into another set. On GPUs some waited
/// without end for others.
#[test]
fn threads_that_come_apart_fill_sets() {
    let n = 1usize << 19;
    let draw = |k: u64| Random::mix(k) % 1024;
    let draws: Vec<f32> = (0..DRAWS).map(|k| draw(k) as f32 / 1024.0).collect();
    // Crowds of nodes far from each other, with a few bits each.
    let crowded = |v: u64| draw(v / 32 + 7) % 12 == 0 && draw(v + (1 << 40)) % 3 != 0;
    let bits = |at: u64| (0..draw(at + (1 << 50)) % 4).map(move |k| 1 << (draw(at * 4 + k) % 64));
    let mut words = vec![0u64; n / 64];
    (0..n).filter(|v| crowded(*v as u64)).for_each(|v| words[v / 64] |= 1 << (v % 64));
    let all: Vec<u64> =
        (0..n as u64 * FOUR).map(|at| bits(at).fold(0, |all, bit: u64| all | bit)).collect();
    let waits = |v: u64| {
        (0..256).any(|place| {
            let bit = all[(v * FOUR + place / 64) as usize] >> (place % 64) & 1;
            bit != 0 && draws[((v * 256 + place) % DRAWS) as usize] > 0.5
        })
    };
    let mut right = vec![0u64; n / 64];
    let waiting = (0..n).filter(|v| crowded(*v as u64) && waits(*v as u64));
    waiting.for_each(|v| right[v / 64] |= 1 << (v % 64));

    let (all, draws) = (Arc::new(all), Arc::new(draws));
    let graph = Arc::new(graph_of(n, &[(0, 1, 1.0)]));
    for (devices, kind) in fleets() {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let (all, words, given) = (all.clone(), words.clone(), draws.clone());
        let found = fleet.run(move |r| {
            let mut draws = r.replicated::<f32>("draws", DRAWS as usize, MergeOp::Gather)?;
            let first = r.replicated::<f32>("first", 256, MergeOp::Gather)?;
            let mut least = r.replicated::<f32>("least", 256, MergeOp::Min)?;
            let mut bits = r.replicated::<u64>("bits", n * FOUR as usize, MergeOp::Gather)?;
            let mut taken = r.replicated::<u64>("taken", n * FOUR as usize, MergeOp::Gather)?;
            let mut now = r.frontier("now", n, MergeOp::Or)?;
            let mut waiting = r.frontier("waiting", n, MergeOp::Or)?;
            draws.assign(&given)?;
            bits.assign(&all)?;
            now.words_mut().assign(&words)?;
            let args = Args::new()
                .reads("draws", &draws)
                .reads("first", &first)
                .writes("least", &mut least)
                .writes("bits", &mut bits)
                .writes("taken", &mut taken)
                .writes_set("waiting", &mut waiting);
            r.for_all("some wait", Over::frontier(&g, &now).whole(), &some_wait(), args)?;
            r.settle()?;
            r.read(waiting.words())
        });
        assert!(found.unwrap().iter().all(|found| *found == right), "{devices}");
    }
}
