//! Memory: arrays that the fleet has once, sharded graphs, and limits, on the host and on GPUs.

use crate::common;

use hivegraph::algorithm::vn::Vn;
use hivegraph::algorithm::{Algorithm, MergeMode, ShortestPaths, VnConfig};
use hivegraph::collective::{Element, MergeOp};
use hivegraph::fleet::{Address, CollectiveKind, Fleet, FleetConfig, Replica, Scheme};
use hivegraph::graph::Graph;
use hivegraph::layout::memory::{GraphShape, placed, total};
use hivegraph::layout::{Form, Layout, Placement, PrepareOptions, Prepared};
use hivegraph::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

const SCHEMES: [Scheme; 3] = [Scheme::Peer, Scheme::Managed, Scheme::Vmm];

/// Shorter than a fleet, not of whole words, and of several granules of 2 MiB.
const LENGTHS: [usize; 9] = [0, 1, 2, 63, 64, 65, 1000, 100_003, 1_300_001];

/// Bytes of memory that are not there.
const TOO_MANY: usize = 1 << 42;

const MIB: u64 = 1 << 20;

/// Fleets of GPUs that this machine can drive; empty, and said so, without one.
fn gpu_fleets() -> Vec<(String, CollectiveKind)> {
    use CollectiveKind::{Auto, Nccl, Peer};
    if !common::has_gpu() {
        return Vec::new();
    }
    let mut fleets = vec![("cuda:0".into(), Auto), ("cuda:0x4".into(), Peer)];
    fleets.extend(common::spans(&[2, 3, 4], &[Peer]));
    fleets.extend(common::spans(&[2, 4], &[Nccl]));
    fleets
}

/// Those, and the host's.
fn fleets() -> Vec<(String, CollectiveKind)> {
    let mut fleets = vec![("host:1".into(), CollectiveKind::Host)];
    fleets.push(("host:3".into(), CollectiveKind::Host));
    fleets.extend(gpu_fleets());
    fleets
}

fn open(fleet: &(String, CollectiveKind), memory_limit: Option<u64>) -> Fleet {
    let more = FleetConfig { deadline_s: 30.0, memory_limit, ..FleetConfig::default() };
    common::open(&fleet.0, fleet.1, more)
}

/// A type to share: a value that tells its place.
trait Sample: Element {
    fn at(place: usize, salt: u64) -> Self;
}

macro_rules! sample {
    ($($type:ty),*) => {
        $(impl Sample for $type {
            fn at(place: usize, salt: u64) -> Self {
                (common::hash(salt, place as u64) >> 41) as $type
            }
        })*
    };
}
sample!(u8, u32, u64, f64);

/// An error that says where `found` is not as `expected`.
fn same<T: Element>(what: &str, rank: usize, found: &[T], expected: &[T]) -> Result<()> {
    let wrong = found.iter().zip(expected).position(|(a, b)| a != b);
    match wrong {
        None if found.len() == expected.len() => Ok(()),
        None => Err(Error::Verify(format!(
            "{what}: rank {rank} reads {} elements of {}",
            found.len(),
            expected.len()
        ))),
        Some(at) => Err(Error::Verify(format!(
            "{what}: rank {rank} reads {:?} at {at} of {}, not {:?}",
            found[at],
            expected.len(),
            expected[at]
        ))),
    }
}

/// Owners write, everybody reads, in one array.
fn written_and_read<T: Sample>(r: &mut Replica, length: usize, scheme: Scheme) -> Result<()> {
    let what = format!("{scheme}, {length} x {:?}", T::DTYPE);
    let mut array = r.shared::<T>("values", length, scheme)?;
    assert_eq!((array.len(), array.label(), array.scheme()), (length, "values", scheme));
    let zeros = vec![T::zeroed(); length];
    same(&format!("{what}, new"), r.rank(), &array.to_vec()?, &zeros)?;
    r.barrier("zeros are read")?;
    for salt in [1, 2] {
        let own: Vec<T> = array.own().map(|place| T::at(place, salt)).collect();
        array.assign_own(&own)?;
        r.barrier("slices are written")?;
        let expected: Vec<T> = (0..length).map(|place| T::at(place, salt)).collect();
        same(&what, r.rank(), &array.to_vec()?, &expected)?;
        r.barrier("slices are read")?;
    }
    Ok(())
}

#[test]
fn what_owners_write_everybody_reads_in_every_scheme_at_every_length() {
    for fleet in fleets() {
        let opened = open(&fleet, None);
        for scheme in SCHEMES {
            let checked = opened.run(move |r| {
                for length in LENGTHS {
                    written_and_read::<u32>(r, length, scheme)?;
                }
                written_and_read::<u8>(r, 5_000_001, scheme)?;
                written_and_read::<u64>(r, 700_001, scheme)?;
                written_and_read::<f64>(r, 77, scheme)
            });
            checked.unwrap_or_else(|e| panic!("{fleet:?}, {scheme}: {e}"));
        }
    }
}

#[test]
fn slices_cover_an_array_once_and_addresses_fit_the_scheme() {
    for fleet in fleets() {
        let opened = open(&fleet, None);
        let cuda = opened.info().backend == "cuda";
        let checked = opened.run(move |r| {
            for (scheme, length) in SCHEMES.into_iter().flat_map(|s| LENGTHS.map(|l| (s, l))) {
                let array = r.shared::<u32>("values", length, scheme)?;
                let bounds = array.split().bounds();
                assert_eq!((bounds[0], bounds[r.world()]), (0, length as u64));
                assert!(bounds.windows(2).all(|w| w[0] <= w[1]), "{bounds:?}");
                let grain = if scheme == Scheme::Peer { 64 } else { 2 * MIB / 4 };
                let whole = |end: &u64| end.is_multiple_of(grain) || *end == length as u64;
                assert!(bounds.iter().all(whole), "{scheme} {bounds:?}");
                match array.address() {
                    None => assert!(!cuda),
                    Some(Address::Flat(at)) => {
                        assert!(cuda && scheme != Scheme::Peer && at % 256 == 0, "{scheme} {at:x}");
                        // The same address for all.
                        let all = r.agree("addresses", [at, 0, 0, 0])?;
                        assert!(all.iter().all(|other| other[0] == at), "{all:x?}");
                    }
                    Some(Address::Parts { bases, part_len }) => {
                        assert!(cuda && scheme == Scheme::Peer && part_len % 64 == 0);
                        let starts =
                            (0..r.world() as u64).map(|k| (k * part_len).min(length as u64));
                        assert_eq!(starts.collect::<Vec<_>>(), bounds[..r.world()]);
                        assert!(bases[..r.world()].iter().all(|base| *base != 0));
                    }
                }
                r.barrier("looked at")?;
            }
            Ok(())
        });
        checked.unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
    }
}

#[test]
fn arrays_of_different_schemes_live_side_by_side_and_end_in_any_order() {
    for fleet in fleets() {
        let checked = open(&fleet, None).run(|r| {
            let rank = r.rank();
            for round in 0..6usize {
                let (first, second) = (SCHEMES[round % 3], SCHEMES[(round + 1) % 3]);
                let mut a = r.shared::<u32>("a", 600_001, first)?;
                let mut b = r.shared::<u64>("b", 300_007 + round, second)?;
                let values: Vec<u32> = a.own().map(|i| u32::at(i, 1)).collect();
                a.assign_own(&values)?;
                let values: Vec<u64> = b.own().map(|i| u64::at(i, 2)).collect();
                b.assign_own(&values)?;
                r.barrier("both are written")?;
                if round % 2 == 0 {
                    let expected: Vec<u32> = (0..600_001).map(|i| u32::at(i, 1)).collect();
                    same(&format!("a by {first}, round {round}"), rank, &a.to_vec()?, &expected)?;
                    drop(a);
                } else if rank == 0 {
                    drop(a); // the others' go at the end of the round
                }
                let expected: Vec<u64> = (0..300_007 + round).map(|i| u64::at(i, 2)).collect();
                same(&format!("b by {second}, round {round}"), rank, &b.to_vec()?, &expected)?;
            }
            Ok(())
        });
        checked.unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
    }
}

#[test]
fn arrays_come_and_go_many_times_within_a_limit() {
    for fleet in fleets() {
        let cuda = fleet.0.starts_with("cuda");
        let opened = open(&fleet, cuda.then_some(64 * MIB));
        for scheme in SCHEMES {
            let checked = opened.run(move |r| {
                for round in 0..25 {
                    // Some 36 MiB in the fleet: twice that would exceed the limit of a shared GPU.
                    let array = r.shared::<u32>("values", (9 << 20) + round, scheme)?;
                    assert_eq!(array.len(), (9 << 20) + round);
                }
                Ok(())
            });
            checked.unwrap_or_else(|e| panic!("{fleet:?}, {scheme}: {e}"));
        }
    }
}

/// That the error is the machine's and says what, how much and what to do.
fn refused<T>(outcome: Result<T>, parts: &[&str]) -> Result<()> {
    let Err(error) = outcome else {
        return Err(Error::Verify("memory that is not there was given".into()));
    };
    let text = error.to_string();
    if error.exit_code() != 2 || !parts.iter().all(|part| text.contains(part)) {
        return Err(Error::Verify(format!("{parts:?} and exit code 2 are not in: {error:?}")));
    }
    Ok(())
}

#[test]
fn an_array_that_is_too_large_is_refused_to_all_replicas_alike_and_the_fleet_lives_on() {
    for fleet in fleets() {
        let opened = open(&fleet, None);
        for scheme in SCHEMES {
            let checked = opened.run(move |r| {
                refused(r.shared::<u8>("giant", TOO_MANY, scheme), &["giant", "bytes"])?;
                written_and_read::<u32>(r, 1000, scheme)
            });
            checked.unwrap_or_else(|e| panic!("{fleet:?}, {scheme}: {e}"));
        }
        let error = opened
            .run(|r| r.shared::<u8>("giant", TOO_MANY, Scheme::Vmm).map(drop))
            .expect_err("no such memory");
        refused::<()>(Err(error), &["giant", "bytes"]).unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
    }
}

#[test]
fn a_limit_refuses_what_exceeds_it_and_names_label_and_limit() {
    for fleet in gpu_fleets() {
        let limit = 48 * MIB;
        let said = ["--memory-limit", "big", "50331648", "--placement sharded", "cuda:"];
        let opened = open(&fleet, Some(limit));
        assert_eq!(opened.info().memory_limit, Some(limit));
        let checked = opened.run(move |r| {
            refused(r.replicated::<u8>("big", 50 << 20, MergeOp::Max), &said)?;
            for scheme in SCHEMES {
                // Each GPU's share is above the limit.
                refused(r.shared::<u8>("big", 200 << 20, scheme), &said)?;
                let small = r.shared::<u8>("small", 20 << 20, scheme)?;
                refused(r.shared::<u8>("big", 190 << 20, scheme), &said)?;
                drop(small);
                r.barrier("all is given back")?;
                drop(r.shared::<u8>("small", 30 << 20, scheme)?);
            }
            r.barrier("all is given back")?;
            // Kept blocks do not count, other sizes find room.
            let each = (32 << 20) / r.world();
            for more in 0..4 {
                drop(r.replicated::<u8>("some", each - (more << 20), MergeOp::Max)?);
            }
            Ok(())
        });
        checked.unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
        let outcome = opened.run(|r| r.replicated::<u8>("big", 50 << 20, MergeOp::Max).map(drop));
        refused(outcome, &said).unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
    }
}

#[test]
fn one_replica_s_failure_reaches_all_that_share() {
    let many = |fleet: &(String, CollectiveKind)| {
        !["host:1", "cuda:0"].contains(&fleet.0.as_str()) && fleet.1 != CollectiveKind::Nccl
    };
    for fleet in fleets().into_iter().filter(many) {
        for scheme in SCHEMES {
            let error = open(&fleet, None).run(move |r| match r.rank() {
                1 => Err(Error::input("rank 1 will not")),
                _ => r.shared::<u32>("values", 1000, scheme).map(drop),
            });
            let text = error.expect_err("a replica that failed").to_string();
            assert_eq!(text, "rank 1 will not", "{fleet:?}, {scheme}");
        }
        let error = open(&fleet, None).run(|r| {
            let label = if r.rank() == 1 { "other" } else { "values" };
            r.shared::<u32>(label, 1000, Scheme::Peer).map(drop)
        });
        let text = error.expect_err("replicas that disagree").to_string();
        assert!(text.contains("values") && text.contains("other"), "{fleet:?}: {text}");
    }
}

#[test]
fn a_shared_array_is_not_replicated_and_a_slice_has_a_length() {
    for fleet in fleets() {
        let checked = open(&fleet, None).run(|r| {
            let error = r.shared::<u32>("values", 10, Scheme::Replicated).map(drop).unwrap_err();
            assert!(error.to_string().contains("Replica::replicated"), "{error}");
            let mut array = r.shared::<u32>("values", 1000, Scheme::Peer)?;
            let owned = array.own().len();
            let error = array.assign_own(&vec![7; owned + 1]).unwrap_err();
            let (rank, given) = (r.rank(), owned + 1);
            let said = format!("values on replica {rank}: {given} values for a slice of {owned}");
            assert!(error.to_string().contains(&said), "{error}");
            Ok(())
        });
        checked.unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
    }
}

fn prepared(fleet: &Fleet, graph: &Arc<Graph>, options: PrepareOptions) -> Result<Prepared> {
    Prepared::new(fleet, graph.clone(), options)
}

fn sharded(layout: Layout) -> PrepareOptions {
    PrepareOptions { placement: Placement::Sharded, layout, ..PrepareOptions::default() }
}

fn solve(fleet: &Fleet, on: &Prepared, seeds: &[u32], merge: MergeMode) -> Result<ShortestPaths> {
    let run = common::compared(merge);
    common::paths_from(fleet, on, seeds, &VnConfig { run, ..VnConfig::default() })
}

/// The zoo, and a graph of each generator that the strategies are made for.
fn graphs() -> Vec<(String, Arc<Graph>, Vec<u32>)> {
    let zoo = common::zoo().into_iter();
    let mut graphs: Vec<_> =
        zoo.map(|(name, graph, seeds)| (name.to_string(), Arc::new(graph), seeds)).collect();
    for spec in ["rmat:12", "rmat:16", "grid:64x100", "road:12"] {
        let graph = Arc::new(hivegraph::generate::generate(spec).unwrap());
        let source = graph.default_source();
        graphs.push((spec.into(), graph, vec![source]));
    }
    graphs
}

#[test]
fn shortest_paths_on_a_sharded_graph_are_those_on_a_replicated_one_to_the_bit() {
    let graphs = graphs();
    for fleet in fleets() {
        let opened = open(&fleet, None);
        for (name, graph, seeds) in &graphs {
            let oracle = common::dijkstra_f32(graph, seeds);
            for (merge, layout) in [
                (MergeMode::Auto, Layout::Auto),
                (MergeMode::Split, Layout::Degree),
                (MergeMode::Dense, Layout::Raw),
            ] {
                let case = format!("{name} on {fleet:?}, {merge}, {layout}");
                let answer = prepared(&opened, graph, sharded(layout))
                    .and_then(|on| solve(&opened, &on, seeds, merge))
                    .unwrap_or_else(|e| panic!("{case}: {e}"));
                hivegraph::verify::distances_bits_equal(&answer.distances, &oracle)
                    .unwrap_or_else(|e| panic!("{case}: {e}"));
            }
        }
    }
}

/// What replicas would take on a GPU that `sharers` of `world` are on: replicated, and sharded at most.
fn needs(graph: &Graph, world: u64, sharers: u64) -> (u64, u64) {
    let shape = GraphShape::of_weighted(graph, Layout::Auto);
    let arrays = Vn::arrays(&shape, &VnConfig::default(), world as usize);
    let sharded = total(&placed(arrays.clone(), Placement::Sharded, world as usize));
    let whole = total(&arrays);
    // Chunks are not quite equal.
    (whole * sharers, (sharded + whole / world / 8 + 4 * MIB) * sharers)
}

#[test]
fn a_graph_that_a_limit_refuses_as_replicated_runs_sharded_with_equal_bits() {
    let fleets = gpu_fleets();
    if fleets.is_empty() {
        return;
    }
    let graph = Arc::new(hivegraph::generate::generate("rmat:19").unwrap());
    let seeds = [graph.default_source()];
    let oracle = common::dijkstra_f32(&graph, &seeds);
    for fleet in fleets {
        let free = open(&fleet, None);
        let world = free.world() as u64;
        if world == 1 {
            continue;
        }
        let sharers = if fleet.0 == "cuda:0x4" { world } else { 1 };
        let (replicated, limit) = needs(&graph, world, sharers);
        assert!(limit < replicated / 10 * 9, "{fleet:?}: {limit} against {replicated}");

        let on = prepared(&free, &graph, PrepareOptions::default()).unwrap();
        let unlimited = solve(&free, &on, &seeds, MergeMode::Auto).unwrap();
        let report = on.report(&free, Form::Weighted).unwrap();
        assert_eq!(report.placement, Placement::Replicated);
        let whole = report.bytes_per_replica;
        drop((on, free));

        let refusing = open(&fleet, Some(limit));
        let outcome = prepared(&refusing, &graph, PrepareOptions::default())
            .and_then(|on| solve(&refusing, &on, &seeds, MergeMode::Auto));
        refused(outcome, &["--memory-limit", "--placement sharded", &limit.to_string()])
            .unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
        drop(refusing);

        let limited = open(&fleet, Some(limit));
        let on = prepared(&limited, &graph, sharded(Layout::Auto))
            .unwrap_or_else(|e| panic!("{fleet:?}, limit {limit}: {e}"));
        let report =
            on.report(&limited, Form::Weighted).unwrap_or_else(|e| panic!("{fleet:?}: {e}"));
        assert_eq!(report.placement, Placement::Sharded);
        let held = report.bytes_per_replica;
        assert!(held < whole, "{fleet:?}: {held} a replica, replicated {whole}");
        for merge in [MergeMode::Auto, MergeMode::Split, MergeMode::Dense] {
            let answer = solve(&limited, &on, &seeds, merge)
                .unwrap_or_else(|e| panic!("{fleet:?}, {merge}, limit {limit}: {e}"));
            for (what, other) in [("replicated", &unlimited.distances), ("oracle", &oracle)] {
                hivegraph::verify::distances_bits_equal(&answer.distances, other)
                    .unwrap_or_else(|e| panic!("{fleet:?}, {merge}, against {what}: {e}"));
            }
        }
    }
}

fn program(args: &[&str]) -> common::Ended {
    let mut command = common::hive();
    command.args(["run", "sssp", "--graph", "rmat:10", "--runs", "1", "--warmup", "0"]).args(args);
    common::ends_within(Duration::from_secs(60), &mut command)
}

#[test]
fn the_program_shards_on_the_host_and_says_that_replicas_share_one_layout_there() {
    let ended = program(&["--devices", "host:2", "--placement", "sharded", "--verify"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("sharded: ") && ended.out.contains("host replicas share"));
}

#[test]
fn the_program_refuses_limits_that_make_no_sense_in_one_line() {
    for (args, said) in [
        (&["--devices", "host:2", "--memory-limit", "1G"][..], "leave it out"),
        (&["--devices", "host:2", "--memory-limit", "0"], "use one above 0"),
        (&["--devices", "host:2", "--memory-limit", "12MB"], "512M, 80G or 80GiB"),
        (&["--devices", "host:2", "--placement", "spread"], "replicated or sharded"),
    ] {
        let ended = program(args);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let line = ended.err.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        assert!(line.contains(said), "{args:?}: {ended:?}");
        assert_eq!(ended.err.lines().filter(|line| line.starts_with("error: ")).count(), 1);
    }
}

/// `ulimit -v` stands for any memory that is not there: allocations fail although the machine has more.
#[cfg(target_os = "linux")]
#[test]
fn what_a_limit_of_address_space_does_not_leave_is_refused_and_does_not_abort() {
    for (spec, said) in [("uniform:30000000", "generator"), ("chain:40000000", "generator")] {
        let hive = common::hive().get_program().to_owned();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -v 900000 && exec \"$0\" \"$@\""]).arg(hive);
        command.args(["run", "sssp", "--graph", spec, "--devices", "host"]);
        command.env("RAYON_NUM_THREADS", "2").env("MALLOC_ARENA_MAX", "2");
        let ended = common::ends_within(std::time::Duration::from_secs(60), &mut command);
        assert_eq!(ended.code, Some(2), "{spec}: {ended:?}");
        let line = ended.err.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        assert!(line.contains("memory") && line.contains(said), "{spec}: {ended:?}");
    }
}

#[test]
fn the_program_keeps_a_limit_on_gpus_and_names_the_way_out() {
    if !common::has_gpu() {
        return;
    }
    let small = ["--devices", "cuda:0x4", "--memory-limit", "100K"];
    let ended = program(&small);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("--memory-limit") && ended.err.contains("--placement sharded"));
    let ended = program(&["--devices", "cuda:0x4", "--memory-limit", "1G", "--verify"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let more = ["--devices", "cuda:0x4", "--memory-limit", "1G", "--placement", "sharded"];
    let ended = program(&[&more[..], &["--verify"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("on the GPU replica that holds most"), "{ended:?}");
}
