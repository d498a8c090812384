//! Merges: every operation on every element type, any length, any split, any number of replicas.

use crate::common;

use hivegraph::collective::{Element, MergeOp};
use hivegraph::fleet::{CollectiveKind, Fleet, FleetConfig, Payload, Replica, Split};
use hivegraph::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LENGTHS: [usize; 7] = [0, 1, 63, 64, 65, 1000, 100_003];
const OPS: [MergeOp; 5] = [MergeOp::Or, MergeOp::Min, MergeOp::Max, MergeOp::Sum, MergeOp::Gather];

/// A type to merge: a value from random bits, and what equal means after additions in another order.
trait Sample: Element {
    fn sample(bits: u64) -> Self;
    fn same(self, other: Self, exact: bool) -> bool;
    /// The operation, spelled out again.
    fn apply(self, other: Self, op: MergeOp) -> Self;
}

macro_rules! integer {
    ($type:ty, $or:expr) => {
        impl Sample for $type {
            fn sample(bits: u64) -> Self {
                bits as $type
            }
            fn same(self, other: Self, _: bool) -> bool {
                self == other
            }
            fn apply(self, other: Self, op: MergeOp) -> Self {
                let or: fn($type, $type) -> $type = $or;
                match op {
                    MergeOp::Or => or(self, other),
                    MergeOp::Min => self.min(other),
                    MergeOp::Max => self.max(other),
                    MergeOp::Sum => self.wrapping_add(other),
                    MergeOp::Gather => unreachable!("gather combines nothing"),
                }
            }
        }
    };
}
integer!(u8, |a, b| a | b);
integer!(u32, |a, b| a | b);
integer!(u64, |a, b| a | b);
integer!(i32, |_, _| unreachable!("refused"));

macro_rules! float {
    ($type:ty, $tolerance:expr) => {
        impl Sample for $type {
            fn sample(bits: u64) -> Self {
                // Signed, of three magnitudes, so that the order of addition shows.
                let magnitude =
                    (1 + bits % 1000) as $type / 7.0 * [1e-6, 1.0, 1e6][bits as usize % 3];
                match bits >> 32 & 31 {
                    0..8 => -magnitude,
                    _ => magnitude,
                }
            }
            fn same(self, other: Self, exact: bool) -> bool {
                if exact {
                    return self.to_bits() == other.to_bits();
                }
                // Sixteen terms below 1.5e8, added in another order.
                (self - other).abs() <= $tolerance * 16.0 * 1.5e8
            }
            fn apply(self, other: Self, op: MergeOp) -> Self {
                match op {
                    MergeOp::Min => self.min(other),
                    MergeOp::Max => self.max(other),
                    MergeOp::Sum => self + other,
                    MergeOp::Or | MergeOp::Gather => unreachable!("refused, or nothing to combine"),
                }
            }
        }
    };
}
float!(f32, 16.0 * f32::EPSILON);
float!(f64, 16.0 * f64::EPSILON);

/// What rank `rank` has at `index` before the merge.
fn before<T: Sample>(rank: usize, index: usize) -> T {
    T::sample(common::hash(rank as u64 + 1, index as u64))
}

fn copy<T: Sample>(rank: usize, length: usize) -> Vec<T> {
    (0..length).map(|index| before(rank, index)).collect()
}

/// Chunks as every replica has them: equal; growing and on no round number; almost all empty.
fn splits(length: usize, world: usize) -> [Split; 3] {
    let n = length as u64;
    let equal = Split::nodes(n, world, 64);
    let growing = Split::by_weight(n, world, 1, n * n, |v| v * v);
    let half = n / 2;
    let ends = Split::by_weight(n, world, 1, 1000, |v| if v < half { 0 } else { 1000 });
    [equal, growing, ends]
}

/// What everybody has after a merge.
fn after<T: Sample>(op: MergeOp, split: &Split, length: usize, world: usize) -> Vec<T> {
    let mut merged = copy::<T>(0, length);
    for rank in 1..world {
        let owned = split.range(rank);
        for (index, slot) in merged.iter_mut().enumerate() {
            let own = before::<T>(rank, index);
            match op {
                MergeOp::Gather if owned.contains(&(index as u64)) => *slot = own,
                MergeOp::Gather => {}
                _ => *slot = slot.apply(own, op),
            }
        }
    }
    merged
}

/// One merge, everywhere, in one of its three forms; names the first element that is not as it should.
fn merged<T: Sample>(
    r: &mut Replica,
    op: MergeOp,
    split: Option<&Split>,
    expected: &[T],
    exact: bool,
) -> Result<()> {
    let mut array = r.replicated::<T>("values", expected.len(), op)?;
    array.assign(&copy(r.rank(), expected.len()))?;
    match split {
        None => r.merge(&mut array)?,
        Some(split) if op == MergeOp::Gather => r.gather(&mut array, split)?,
        Some(split) => r.merge_by(&mut array, split)?,
    }
    let found = array.to_vec()?;
    let wrong = found.iter().zip(expected).position(|(a, b)| !a.same(*b, exact));
    match wrong {
        None if found.len() == expected.len() => Ok(()),
        _ => {
            let at = wrong.unwrap_or_default();
            let (rank, length) = (r.rank(), expected.len());
            Err(Error::Verify(format!(
                "{op:?} of {length} x {:?}, {split:?}: rank {rank}, element {at}: {:?} is not {:?}",
                T::DTYPE,
                found.get(at),
                expected.get(at)
            )))
        }
    }
}

/// Whether rank `rank` changes `index`: in one of `of` blocks of 40 nodes a part of them; 1 is all of them.
fn changes(rank: usize, index: usize, of: u64) -> bool {
    let draw = |x: usize| common::hash(91 + rank as u64, x as u64);
    of == 1 || draw(index / 40).is_multiple_of(of) && draw(index + 1_000_000).is_multiple_of(3)
}

/// A merge of what has changed, everywhere, twice: the second time nothing has.
fn merged_changes<T: Sample>(r: &mut Replica, op: MergeOp, length: usize, of: u64) -> Result<()> {
    let (rank, world) = (r.rank(), r.world());
    let mut array = r.replicated::<T>("values", length, op)?;
    let mut set = r.frontier("changed", length, MergeOp::Or)?;
    let common = |index: usize| before::<T>(world, index);
    let own = |rank: usize, index: usize| match changes(rank, index, of) {
        true => before::<T>(rank, index).apply(common(index), op),
        false => common(index),
    };
    let mut words = vec![0u64; length.div_ceil(64)];
    (0..length)
        .filter(|index| changes(rank, *index, of))
        .for_each(|index| words[index / 64] |= 1 << (index % 64));
    array.assign(&(0..length).map(|index| own(rank, index)).collect::<Vec<T>>())?;
    let mut all = vec![0u64; words.len()];
    // Bits beyond the nodes mean nothing.
    for words in [&mut words, &mut all] {
        if let (Some(last), false) = (words.last_mut(), length.is_multiple_of(64)) {
            *last |= u64::MAX << (length % 64);
        }
    }
    set.words_mut().assign(&words)?;
    let mut expected = Vec::new();
    for index in 0..length {
        let copies = (0..world).map(|rank| own(rank, index));
        let changed = (0..world).any(|rank| changes(rank, index, of));
        all[index / 64] |= u64::from(changed) << (index % 64);
        let merged = copies.reduce(|a, b| a.apply(b, op));
        expected.push(if changed { merged.unwrap_or(common(index)) } else { common(index) });
    }
    for time in ["first", "second"] {
        r.merge_all(&mut [&mut array, &mut set])?;
        let (found, set) = (array.to_vec()?, set.words().to_vec()?);
        let wrong = found.iter().zip(&expected).position(|(a, b)| !a.same(*b, true));
        if wrong.is_some() || found.len() != length || set != all {
            let text =
                format!("{op:?} of {length}, 1 of {of}, {time}: rank {rank}, element {wrong:?}");
            return Err(Error::Verify(text));
        }
    }
    Ok(())
}

fn check_type<T: Sample>(fleet: &Fleet) -> Result<()> {
    let world = fleet.world();
    let idempotent = [MergeOp::Or, MergeOp::Min, MergeOp::Max];
    for op in idempotent.into_iter().filter(|op| T::DTYPE.supports(*op)) {
        for (length, of) in LENGTHS.into_iter().flat_map(|length| [(length, 1), (length, 20)]) {
            fleet.run(move |r| merged_changes::<T>(r, op, length, of))?;
        }
    }
    for op in OPS.into_iter().filter(|op| T::DTYPE.supports(*op)) {
        // NCCL adds in an order of its own.
        let exact = op != MergeOp::Sum || fleet.info().collective != "nccl";
        for length in LENGTHS {
            let splits = splits(length, world);
            let owners = splits[0].clone();
            let plain: Arc<Vec<T>> = Arc::new(after(op, &owners, length, world));
            fleet.run(move |r| merged(r, op, None, &plain, exact))?;
            for split in splits {
                let expected: Arc<Vec<T>> = Arc::new(after(op, &split, length, world));
                fleet.run(move |r| merged(r, op, Some(&split), &expected, exact))?;
            }
        }
    }
    Ok(())
}

/// Every operation, type and length on one fleet.
fn check(devices: &str, collective: CollectiveKind) {
    let fleet = open(devices, collective);
    let results = [
        check_type::<u8>(&fleet),
        check_type::<u32>(&fleet),
        check_type::<u64>(&fleet),
        check_type::<i32>(&fleet),
        check_type::<f32>(&fleet),
        check_type::<f64>(&fleet),
    ];
    for result in results {
        result.unwrap_or_else(|e| panic!("{devices}, {collective}: {e}"));
    }
}

fn open(devices: &str, collective: CollectiveKind) -> Fleet {
    common::open(devices, collective, FleetConfig { deadline_s: 30.0, ..FleetConfig::default() })
}

#[test]
fn every_operation_merges_every_type_on_host_replicas() {
    for world in [1, 2, 3, 5, 16] {
        check(&format!("host:{world}"), CollectiveKind::Host);
    }
}

#[test]
fn every_operation_merges_every_type_on_gpus() {
    for (devices, collective) in common::cuda_fleets() {
        check(&devices, collective);
    }
}

/// Fleets of several replicas: on the host, and for each collective on GPUs.
fn fleets_of_several() -> Vec<(String, CollectiveKind)> {
    use CollectiveKind::{Host, Nccl, Peer};
    let mut fleets = vec![("host:2".into(), Host), ("host:5".into(), Host)];
    if common::has_gpu() {
        fleets.extend([("cuda:0x3".into(), Peer), ("cuda:0x2".into(), Host)]);
        fleets.extend(common::spans(&[2, 4, 8], &[Nccl, Peer, Host]));
    }
    fleets
}

#[test]
fn what_replicas_hand_to_each_other_comes_by_rank_every_time() {
    for (devices, collective) in fleets_of_several() {
        let fleet = open(&devices, collective);
        let world = fleet.world() as u64;
        let words = |rank: u64, round: u64| [rank, round, rank * round, u64::MAX - rank];
        let seen = fleet.run(move |r| {
            let rank = r.rank() as u64;
            (0..50).map(|round| r.agree("words", words(rank, round))).collect::<Result<Vec<_>>>()
        });
        let expected: Vec<Vec<Payload>> =
            (0..50).map(|round| (0..world).map(|rank| words(rank, round)).collect()).collect();
        for (rank, seen) in seen.unwrap().into_iter().enumerate() {
            assert_eq!(seen, expected, "{devices}, {collective}: rank {rank}");
        }
    }
}

#[test]
fn merged_frontiers_are_the_union_as_bits() {
    let nodes = 1000;
    let fleet = open("host:3", CollectiveKind::Host);
    let sets = fleet.run(move |r| {
        let mut frontier = r.frontier("front", nodes, MergeOp::Or)?;
        let (rank, words) = (r.rank(), frontier.words_mut().host_mut().unwrap());
        (0..nodes).filter(|v| v % 7 == rank).for_each(|v| words[v / 64] |= 1 << (v % 64));
        r.merge(&mut frontier)?;
        Ok(frontier.bits().unwrap().iter_ones().collect::<Vec<_>>())
    });
    let union: Vec<usize> = (0..nodes).filter(|v| v % 7 < 3).collect();
    assert!(sets.unwrap().iter().all(|set| *set == union));
}

/// Runs `program` on fleets of several; it must end long before the deadline with a fault that contains
/// every part.
fn disagrees(parts: &[&str], program: fn(&mut Replica) -> Result<()>) {
    for (devices, collective) in fleets_of_several() {
        let fleet = open(&devices, collective);
        let start = Instant::now();
        let error = fleet.run(program).expect_err("replicas that disagree");
        assert!(start.elapsed() < Duration::from_secs(10), "{devices}: {:?}", start.elapsed());
        assert_eq!(error.exit_code(), 3, "{devices}, {collective}: {error}");
        let text = error.to_string();
        for part in parts {
            assert!(text.contains(part), "{devices}, {collective}: `{part}` is not in: {text}");
        }
    }
}

/// Merges `length` elements under `label`.
fn merge_one<T: Element>(
    r: &mut Replica,
    label: &'static str,
    length: usize,
    op: MergeOp,
) -> Result<()> {
    let mut array = r.replicated::<T>(label, length, op)?;
    r.merge(&mut array)
}

#[test]
fn replicas_that_come_with_other_arrays_are_told_apart_by_label() {
    disagrees(&["disagree", "replica 0 came for min left of 100", "min right of 100"], |r| {
        merge_one::<f32>(r, if r.rank() == 0 { "left" } else { "right" }, 100, MergeOp::Min)
    });
}

#[test]
fn replicas_that_come_with_other_lengths_or_operations_are_told_apart() {
    disagrees(&["disagree", "or bits of 1000", "or bits of 1001"], |r| {
        merge_one::<u64>(r, "bits", 1000 + usize::from(r.rank() == 1), MergeOp::Or)
    });
    disagrees(&["disagree", "sum count of 64", "max count of 64"], |r| {
        let op = if r.rank() == 1 { MergeOp::Max } else { MergeOp::Sum };
        merge_one::<u32>(r, "count", 64, op)
    });
}

#[test]
fn replicas_that_come_with_other_types_are_told_apart() {
    disagrees(&["disagree", "min dist of 64 F32", "min dist of 64 F64"], |r| match r.rank() {
        0 => merge_one::<f32>(r, "dist", 64, MergeOp::Min),
        _ => merge_one::<f64>(r, "dist", 64, MergeOp::Min),
    });
}

#[test]
fn replicas_that_cut_the_same_array_differently_are_told_apart() {
    disagrees(&["disagree", "gather dist of 1000", "(split "], |r| {
        let mut array = r.replicated::<f32>("dist", 1000, MergeOp::Gather)?;
        let align = if r.rank() == 0 { 64 } else { 1 };
        let split = Split::nodes(1000, r.world(), align);
        r.merge_by(&mut array, &split)
    });
}

#[test]
fn a_replica_that_leaves_without_merging_is_named_as_having_ended() {
    let fleet = common::open(
        "host:3",
        CollectiveKind::Host,
        FleetConfig { deadline_s: 0.5, ..FleetConfig::default() },
    );
    let start = Instant::now();
    let error = fleet.run(|r| match r.rank() {
        1 => Ok(()),
        _ => merge_one::<u32>(r, "count", 64, MergeOp::Sum),
    });
    let error = error.expect_err("a replica that left");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let Error::Fault { rank: 1, cause, .. } = &error else { panic!("{error}") };
    assert!(cause.contains("has ended") && cause.contains("sum count"), "{error}");
}

#[test]
fn a_merge_that_means_nothing_for_its_type_is_refused() {
    let refusal = |error: Result<Vec<()>>, part: &str| {
        let error = error.expect_err("no such merge");
        assert_eq!(error.exit_code(), 2, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    for devices in ["host:1", "host:2"] {
        let or = |program: fn(&mut Replica) -> Result<()>| {
            open(devices, CollectiveKind::Host).run(program)
        };
        refusal(
            or(|r| r.replicated::<f32>("a", 10, MergeOp::Or).map(drop)),
            "F32 has no merge 'or'",
        );
        refusal(
            or(|r| r.replicated::<f64>("a", 10, MergeOp::Or).map(drop)),
            "F64 has no merge 'or'",
        );
        refusal(
            or(|r| r.replicated::<i32>("a", 10, MergeOp::Or).map(drop)),
            "I32 has no merge 'or'",
        );
    }
}

/// Merges 1000 marks of the own rank by a split of `nodes` nodes for `replicas` replicas.
fn merge_marks(world: usize, gather: bool, nodes: u64, replicas: usize) -> Result<Vec<Vec<u32>>> {
    open(&format!("host:{world}"), CollectiveKind::Host).run(move |r| {
        let split = Split::nodes(nodes, replicas, 64);
        let mut array = r.replicated::<u32>("marks", 1000, MergeOp::Max)?;
        array.assign(&[r.rank() as u32; 1000])?;
        if gather {
            r.gather(&mut array, &split)?
        } else {
            r.merge_by(&mut array, &split)?
        }
        array.to_vec()
    })
}

#[test]
fn a_split_that_does_not_fit_the_array_is_refused_in_every_form_of_merge() {
    for world in [1, 3] {
        for (gather, nodes, replicas) in [
            (false, 2000, world),
            (true, 2000, world),
            (false, 1000, world + 1),
            (true, 1000, world + 1),
            (false, 900, world),
        ] {
            let error = merge_marks(world, gather, nodes, replicas).expect_err("no fit");
            let text = error.to_string();
            assert!(text.contains("marks on replica "), "{text}");
            assert!(text.contains("the split does not fit 1000"), "{text}");
        }
    }
}

#[test]
fn a_gather_leaves_alone_what_lies_beyond_its_split() {
    for (rank, marks) in merge_marks(3, true, 900, 3).unwrap().into_iter().enumerate() {
        let split = Split::nodes(900, 3, 64);
        for owner in 0..3 {
            let chunk = split.range(owner);
            let chunk = &marks[chunk.start as usize..chunk.end as usize];
            assert!(chunk.iter().all(|mark| *mark == owner as u32), "rank {rank}");
        }
        assert!(marks[900..].iter().all(|mark| *mark == rank as u32), "rank {rank}");
    }
}

#[test]
fn a_nan_loses_to_every_number_in_minima_and_maxima_on_every_backend() {
    let program = |r: &mut Replica| {
        let world = r.world();
        // Element k is NaN on replica k, and on all where k is their count.
        let own = |rank: usize, k: usize| match k == rank || k == world {
            true => f64::NAN,
            false => (10 * rank + k) as f64 - 15.0,
        };
        let values: Vec<f64> = (0..=world).map(|k| own(r.rank(), k)).collect();
        let negated: Vec<f32> = values.iter().map(|x| -*x as f32).collect();
        let mut least = r.replicated::<f64>("least", world + 1, MergeOp::Min)?;
        let mut most = r.replicated::<f32>("most", world + 1, MergeOp::Max)?;
        least.assign(&values)?;
        most.assign(&negated)?;
        r.merge(&mut least)?;
        r.merge(&mut most)?;
        Ok((least.to_vec()?, most.to_vec()?))
    };
    let host = ["host:2", "host:3"].map(|devices| (devices.to_string(), CollectiveKind::Auto));
    for (devices, kind) in host.into_iter().chain(common::cuda_fleets()) {
        let fleet = common::open(&devices, kind, FleetConfig::default());
        let world = fleet.world();
        if world == 1 {
            continue;
        }
        for (least, most) in fleet.run(program).unwrap() {
            for k in 0..world {
                let first = usize::from(k == 0);
                let expected = (10 * first + k) as f64 - 15.0;
                assert_eq!(least[k], expected, "{devices} {kind}, element {k} of {least:?}");
                assert_eq!(most[k], -expected as f32, "{devices} {kind}, element {k} of {most:?}");
            }
            assert!(least[world].is_nan() && most[world].is_nan(), "{devices} {kind}");
        }
    }
}
