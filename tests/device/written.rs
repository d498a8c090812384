//! Merges of what lambdas have written, and sets of which few lines hold nodes, against a serial model of all replicas.
//! On GPUs they look at what is marked alone.

use crate::common::{cuda_fleets, open};
use hivegraph::collective::Split;
use hivegraph::fleet::{CollectiveKind, FleetConfig};
use hivegraph::prelude::*;

const NODES: usize = 10_007;
/// Writes of a replica in a step, of each kind.
const FEW: usize = 40;
/// Between the elements that plain writes go to.
const APART: usize = 211;

/// Where writer `i` of a step writes, and what: the same on the host.
#[device]
fn place(step: u64, rank: u64, i: u64, n: u64) -> u64 {
    let mut random = Random::new(step * 100 + rank, i);
    random.below(n)
}

#[device]
fn value(step: u64, rank: u64, i: u64) -> u32 {
    let mut random = Random::new(step * 100 + rank + 50, i);
    (random.bits() >> 40) as u32
}

#[lambda]
fn scatter(
    i: u64,
    least: Writes<f32>,
    most: Writes<i32>,
    bits: Writes<u64>,
    plain: Writes<u32>,
    seen: Writes<NodeSet>,
    step: u64,
    rank: u64,
) {
    let k = place(step, rank, i, least.len());
    let x = value(step, rank, i);
    least.min(k, x as f32);
    most.max(k, x as i32);
    bits.or(k, (x as u64) << (i % 40));
    plain[i * 211] = x;
    plain[i * 211 + 1] += rank as u32;
    seen.insert(k);
}

/// The same of other types; one replica alone writes zeros, of either sign.
#[lambda]
fn scatter_more(
    i: u64,
    wide: Writes<f64>,
    bytes: Writes<u8>,
    zeros: Writes<f32>,
    step: u64,
    rank: u64,
    writer: u64,
) {
    let x = value(step, rank, i);
    wide.min(place(step, rank, i, wide.len()), x as f64);
    bytes[i * 211 + rank] = x as u8;
    if rank == writer {
        zeros[i * 7] = if (i + step) % 2 == 0 { -0.0 } else { 0.0 };
    }
}

/// Undone by a merge: replica 0's element alone grows.
#[lambda]
fn raise(i: u64, least: Writes<f32>, rank: u64) {
    if rank == 0 {
        least[i * 7] = 1.0e30;
    }
}

#[lambda]
fn count_of(v: u32, visits: Writes<u32>) {
    visits.add(v, 1);
}

/// A bit for each of 64 kinds of neighbours.
#[lambda]
fn kind(u: u32, v: u32) -> u64 {
    1_u64 << (v % 64)
}

/// Leaves no marks.
fn unmarked() -> Lambda<()> {
    let lambda = Lambda::<()>::new("unmarked").writes::<f32>("least").scalar::<u64>("rank");
    lambda.cuda("least[3 * i + rank] = -1.0f - (float)rank;").host(|a| {
        let (least, rank) = (a.writes::<f32>("least"), a.scalar::<u64>("rank"));
        Box::new(move |i| least.set(3 * i + rank as usize, -1.0 - rank as f32))
    })
}

/// All copies of the arrays.
struct Model {
    least: Vec<Vec<f32>>,
    most: Vec<Vec<i32>>,
    bits: Vec<Vec<u64>>,
    plain: Vec<Vec<u32>>,
    seen: Vec<Vec<bool>>,
    wide: Vec<Vec<f64>>,
    bytes: Vec<Vec<u8>>,
    zeros: Vec<Vec<f32>>,
}

impl Model {
    fn scatter(&mut self, step: u64) {
        for rank in 0..self.least.len() {
            let r = rank as u64;
            for i in 0..FEW {
                let k = place(step, r, i as u64, NODES as u64) as usize;
                let x = value(step, r, i as u64);
                self.least[rank][k] = self.least[rank][k].min(x as f32);
                self.most[rank][k] = self.most[rank][k].max(x as i32);
                self.bits[rank][k] |= u64::from(x) << (i % 40);
                self.plain[rank][i * APART] = x;
                self.plain[rank][i * APART + 1] += rank as u32;
                self.seen[rank][k] = true;
                self.wide[rank][k] = self.wide[rank][k].min(f64::from(x));
                self.bytes[rank][i * APART + rank] = x as u8;
                if r == step % self.least.len() as u64 {
                    self.zeros[rank][i * 7] =
                        if (i as u64 + step).is_multiple_of(2) { -0.0 } else { 0.0 };
                }
            }
        }
    }

    fn merge(&mut self) {
        fn all<T: Copy>(copies: &mut [Vec<T>], of: impl Fn(T, T) -> T) {
            let merged = |k: usize| copies.iter().map(|copy| copy[k]).reduce(&of).unwrap();
            let merged: Vec<T> = (0..copies[0].len()).map(merged).collect();
            copies.iter_mut().for_each(|copy| copy.copy_from_slice(&merged));
        }
        all(&mut self.least, f32::min);
        all(&mut self.most, i32::max);
        all(&mut self.bits, |a, b| a | b);
        all(&mut self.plain, u32::max);
        all(&mut self.seen, |a, b| a || b);
        all(&mut self.wide, f64::min);
        all(&mut self.bytes, u8::max);
        // Of equal values that of the first replica.
        all(&mut self.zeros, |a, b| if a <= b { a } else { b });
    }
}

fn program(r: &mut Replica, g: &Resident) -> Result<()> {
    let (rank, world) = (r.rank(), r.world());
    let of = |x: &str| Error::Verify(format!("rank {rank} of {world}: {x}"));
    let mut least = r.replicated::<f32>("least", NODES, MergeOp::Min)?;
    let mut most = r.replicated::<i32>("most", NODES, MergeOp::Max)?;
    let mut bits = r.replicated::<u64>("bits", NODES, MergeOp::Or)?;
    let mut plain = r.replicated::<u32>("plain", NODES, MergeOp::Max)?;
    let mut seen = r.frontier("seen", NODES, MergeOp::Or)?;
    let mut wide = r.replicated::<f64>("wide", NODES, MergeOp::Min)?;
    let mut bytes = r.replicated::<u8>("bytes", NODES, MergeOp::Max)?;
    let mut zeros = r.replicated::<f32>("zeros", NODES, MergeOp::Min)?;
    let mut visits = r.replicated::<u32>("visits", NODES, MergeOp::Gather)?;
    let (scatter, raise, unmarked, count_of) = (scatter(), raise(), unmarked(), count_of());
    let scatter_more = scatter_more();
    let mut model = Model {
        least: vec![vec![1.0e9; NODES]; world],
        most: vec![vec![0; NODES]; world],
        bits: vec![vec![0; NODES]; world],
        plain: vec![vec![0; NODES]; world],
        seen: vec![vec![false; NODES]; world],
        wide: vec![vec![0.0; NODES]; world],
        bytes: vec![vec![0; NODES]; world],
        zeros: vec![vec![0.0; NODES]; world],
    };
    model.wide.iter_mut().for_each(|copy| copy.fill(1.0e9));
    // On one replica alone, before anything else is done with the set.
    if rank == 0 {
        seen.words_mut().assign(&vec![0; NODES.div_ceil(64)])?;
    }
    let args = Args::new().writes("visits", &mut visits);
    r.for_all("visit none", Over::frontier(g, &seen).whole(), &count_of, args)?;
    // A word of bits a node, which a fold writes.
    let mut kinds = r.frontier("kinds", 64 * NODES, MergeOp::Or)?;
    let fold = Fold::to(kinds.words_mut(), MergeOp::Or);
    r.neighbor_reduce("kinds", Over::nodes(g), &kind(), Args::new(), fold)?;
    r.merge(&mut kinds)?;
    let of_node = |v: usize| g.graph().neighbors(v).fold(0u64, |all, (u, _)| all | 1 << (u % 64));
    let expected: Vec<u64> = (0..NODES).map(of_node).collect();
    let all = expected.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    if r.count("kinds", &kinds)? != all || r.read(kinds.words())? != expected {
        return Err(of("a fold into the words of a set is not merged"));
    }
    r.clear("kinds", &mut kinds)?;
    if r.read(kinds.words())?.iter().any(|word| *word != 0) {
        return Err(of("a set that a fold has written is not cleared"));
    }
    r.fill("least", &mut least, 1.0e9)?;
    r.fill("wide", &mut wide, 1.0e9)?;
    for step in 0..12u64 {
        if step != 4 {
            let args = Args::new().writes("least", &mut least).writes("most", &mut most);
            let args = args.writes("bits", &mut bits).writes("plain", &mut plain);
            let args = args.writes_set("seen", &mut seen);
            let args = args.scalar("step", step).scalar("rank", rank as u64);
            r.for_all("scatter", Over::elements(FEW).whole(), &scatter, args)?;
            let args = Args::new().writes("wide", &mut wide).writes("bytes", &mut bytes);
            let args = args.writes("zeros", &mut zeros).scalar("step", step);
            let args = args.scalar("rank", rank as u64).scalar("writer", step % world as u64);
            r.for_all("scatter more", Over::elements(FEW).whole(), &scatter_more, args)?;
            model.scatter(step);
        }
        match step {
            // Larger values are merged as well.
            5 => {
                let args = Args::new().writes("least", &mut least).scalar("rank", rank as u64);
                r.for_all("raise", Over::elements(900).whole(), &raise, args)?;
                (0..900).for_each(|i| model.least[0][7 * i] = 1.0e30);
            }
            6 => {
                let args = Args::new().writes("least", &mut least).scalar("rank", rank as u64);
                r.for_all("unmarked", Over::elements(500).whole(), &unmarked, args)?;
                for (rank, copy) in model.least.iter_mut().enumerate() {
                    (0..500).for_each(|i| copy[3 * i + rank] = -1.0 - rank as f32);
                }
            }
            // On the last replica alone.
            7 => {
                if rank == world - 1 {
                    most.assign(&vec![1 << 30; NODES])?;
                }
                model.most[world - 1] = vec![1 << 30; NODES];
            }
            // The first half alone is equal then, as replica 0 has it.
            8 => {
                let half = Split::of_lengths(
                    (0..world).map(|owner| if owner == 0 { NODES as u64 / 2 } else { 0 }),
                );
                r.gather(&mut plain, &half)?;
                let own = model.plain[0][..NODES / 2].to_vec();
                model.plain.iter_mut().for_each(|copy| copy[..NODES / 2].copy_from_slice(&own));
            }
            9 => {
                r.clear("seen", &mut seen)?;
                model.seen = vec![vec![false; NODES]; world];
            }
            // Words that are written as an array.
            10 => {
                let mut words = vec![0u64; NODES.div_ceil(64)];
                words[3] = 1 << rank;
                seen.words_mut().assign(&words)?;
                for (rank, copy) in model.seen.iter_mut().enumerate() {
                    copy.fill(false);
                    copy[192 + rank] = true;
                }
            }
            _ => {}
        }
        // The own copy, before the merge: only here is it known where it holds nodes.
        let own = model.seen[rank].iter().filter(|seen| **seen).count() as u64;
        if r.count("seen", &seen)? != own {
            return Err(of(&format!("step {step}: {own} nodes in the own set")));
        }
        match step % 3 {
            0 => {
                r.merge_all(&mut [
                    &mut least, &mut most, &mut bits, &mut plain, &mut seen, &mut wide, &mut bytes,
                    &mut zeros,
                ])?;
            }
            1 => {
                r.merge_all(&mut [&mut seen, &mut least])?;
                r.merge_all(&mut [&mut plain, &mut bits, &mut most])?;
                r.merge_all(&mut [&mut zeros, &mut bytes, &mut wide])?;
            }
            _ => {
                r.merge(&mut least)?;
                r.merge(&mut most)?;
                r.merge(&mut bits)?;
                r.merge(&mut plain)?;
                r.merge(&mut seen)?;
                r.merge(&mut zeros)?;
                r.merge(&mut bytes)?;
                r.merge(&mut wide)?;
            }
        }
        model.merge();
        let same = r.read(&least)? == model.least[rank]
            && r.read(&most)? == model.most[rank]
            && r.read(&bits)? == model.bits[rank]
            && r.read(&plain)? == model.plain[rank]
            && r.read(&wide)? == model.wide[rank]
            && r.read(&bytes)? == model.bytes[rank]
            && r.read(&zeros)?.iter().zip(&model.zeros[rank]).all(|(a, b)| {
                // NCCL takes either of two zeros.
                a == b && (r.collective() == "nccl" || a.to_bits() == b.to_bits())
            });
        if !same {
            return Err(of(&format!("step {step}: an array is not merged")));
        }
        r.fill("visits", &mut visits, 0)?;
        let args = Args::new().writes("visits", &mut visits);
        r.for_all("visit", Over::frontier(g, &seen).whole(), &count_of, args)?;
        let found: Vec<bool> = r.read(&visits)?.into_iter().map(|visits| visits == 1).collect();
        let all = found.iter().filter(|found| **found).count() as u64;
        if found != model.seen[rank] || r.count("seen", &seen)? != all {
            return Err(of(&format!("step {step}: the set is not merged")));
        }
    }
    Ok(())
}

#[lambda]
fn add(
    i: u64,
    ints: Writes<i32>,
    words: Writes<u32>,
    longs: Writes<u64>,
    floats: Writes<f32>,
    doubles: Writes<f64>,
    bytes: Writes<u8>,
    step: u64,
    rank: u64,
) {
    let k = place(step, rank, i, 10007u64);
    let x = value(step, rank, i) % 8u32;
    ints.add(k, x as i32 - 3);
    words.add(k, x);
    longs.add(k, (x as u64) << 33);
    floats.add(k, x as f32 + 0.5);
    doubles.add(k, x as f64 + 0.25);
    bytes[i * 19] = bytes[i * 19] + x as u8;
}

/// The copies of arrays that are summed.
#[derive(Clone)]
struct Sums {
    ints: Vec<i32>,
    words: Vec<u32>,
    longs: Vec<u64>,
    floats: Vec<f32>,
    doubles: Vec<f64>,
    bytes: Vec<u8>,
}

impl Sums {
    fn new() -> Sums {
        let (ints, words, longs) = (vec![0; NODES], vec![0; NODES], vec![0; NODES]);
        let (floats, doubles, bytes) = (vec![0.0; NODES], vec![0.0; NODES], vec![0; NODES]);
        Sums { ints, words, longs, floats, doubles, bytes }
    }

    fn add(&mut self, step: u64, rank: u64) {
        for i in 0..FEW {
            let k = place(step, rank, i as u64, NODES as u64) as usize;
            let x = value(step, rank, i as u64) % 8;
            self.ints[k] = self.ints[k].wrapping_add(x as i32 - 3);
            self.words[k] = self.words[k].wrapping_add(x);
            self.longs[k] = self.longs[k].wrapping_add(u64::from(x) << 33);
            self.floats[k] += x as f32 + 0.5;
            self.doubles[k] += f64::from(x) + 0.25;
            self.bytes[i * 19] = self.bytes[i * 19].wrapping_add(x as u8);
        }
    }

    fn merge(copies: &mut [Sums]) {
        let mut sum = copies[0].clone();
        for other in &copies[1..] {
            for k in 0..NODES {
                sum.ints[k] = sum.ints[k].wrapping_add(other.ints[k]);
                sum.words[k] = sum.words[k].wrapping_add(other.words[k]);
                sum.longs[k] = sum.longs[k].wrapping_add(other.longs[k]);
                sum.floats[k] += other.floats[k];
                sum.doubles[k] += other.doubles[k];
                sum.bytes[k] = sum.bytes[k].wrapping_add(other.bytes[k]);
            }
        }
        copies.fill(sum);
    }
}

/// Sums are those of all elements of all copies, whatever is known of where they are zeros.
fn sums(r: &mut Replica, _: &Resident) -> Result<()> {
    let (rank, world) = (r.rank(), r.world());
    let mut ints = r.replicated::<i32>("ints", NODES, MergeOp::Sum)?;
    let mut words = r.replicated::<u32>("words", NODES, MergeOp::Sum)?;
    let mut longs = r.replicated::<u64>("longs", NODES, MergeOp::Sum)?;
    let mut floats = r.replicated::<f32>("floats", NODES, MergeOp::Sum)?;
    let mut doubles = r.replicated::<f64>("doubles", NODES, MergeOp::Sum)?;
    let mut bytes = r.replicated::<u8>("bytes", NODES, MergeOp::Sum)?;
    // Kernels that zero what is marked come with the first set.
    let _set = r.frontier("set", NODES, MergeOp::Or)?;
    let (add, mut model) = (add(), vec![Sums::new(); world]);
    for step in 0..12u64 {
        let args = Args::new().writes("ints", &mut ints).writes("words", &mut words);
        let args = args.writes("longs", &mut longs).writes("floats", &mut floats);
        let args = args.writes("doubles", &mut doubles).writes("bytes", &mut bytes);
        let args = args.scalar("step", step).scalar("rank", rank as u64);
        r.for_all("add", Over::elements(FEW).whole(), &add, args)?;
        model.iter_mut().zip(0..).for_each(|(copy, rank)| copy.add(step, rank));
        match step {
            // On the last replica alone, without marks.
            5 => {
                if rank == world - 1 {
                    words.assign(&vec![7; NODES])?;
                }
                model[world - 1].words.fill(7);
            }
            // As the first has them.
            7 => {
                let first = (0..world).map(|owner| if owner == 0 { NODES as u64 } else { 0 });
                r.gather(&mut longs, &Split::of_lengths(first))?;
                let own = model[0].longs.clone();
                model.iter_mut().for_each(|copy| copy.longs.copy_from_slice(&own));
            }
            _ => {}
        }
        if step % 2 == 0 {
            r.merge_all(&mut [
                &mut ints,
                &mut words,
                &mut longs,
                &mut floats,
                &mut doubles,
                &mut bytes,
            ])?;
        } else {
            r.merge(&mut ints)?;
            r.merge(&mut bytes)?;
            r.merge_all(&mut [&mut words, &mut floats])?;
            r.merge_all(&mut [&mut doubles, &mut longs])?;
        }
        Sums::merge(&mut model);
        let own = &model[rank];
        let same = [
            r.read(&ints)? == own.ints,
            r.read(&words)? == own.words,
            r.read(&longs)? == own.longs,
            r.read(&floats)? == own.floats,
            r.read(&doubles)? == own.doubles,
            r.read(&bytes)? == own.bytes,
        ];
        if same.contains(&false) {
            let what = format!("rank {rank} of {world}, step {step}: a sum is wrong: {same:?}");
            return Err(Error::Verify(what));
        }
        // What is exact in floats stays so: old sums count once for each replica.
        if step % 3 != 0 {
            r.fill("floats", &mut floats, 0.0)?;
            r.fill("doubles", &mut doubles, 0.0)?;
            model.iter_mut().for_each(|copy| copy.floats.fill(0.0));
            model.iter_mut().for_each(|copy| copy.doubles.fill(0.0));
        }
        if step % 4 == 2 {
            r.fill("bytes", &mut bytes, 0)?;
            r.fill("longs", &mut longs, 0)?;
            r.fill("words", &mut words, step as u32 / 8)?;
            model.iter_mut().for_each(|copy| copy.bytes.fill(0));
            model.iter_mut().for_each(|copy| copy.longs.fill(0));
            model.iter_mut().for_each(|copy| copy.words.fill(step as u32 / 8));
        }
    }
    Ok(())
}

/// Runs a program on all fleets.
fn on_all(program: fn(&mut Replica, &Resident) -> Result<()>) {
    let graph = Arc::new(load(&format!("uniform:{NODES},ef=4")).unwrap());
    let host = ["host:1", "host:3"].map(|name| (name.to_string(), CollectiveKind::Auto));
    for (devices, kind) in host.into_iter().chain(cuda_fleets()) {
        let fleet = open(&devices, kind, FleetConfig::default());
        let g = Resident::new(&fleet, graph.clone(), ResidentOptions::default()).unwrap();
        let told = fleet.run(move |r| program(r, &g));
        assert!(told.is_ok(), "{devices} with {kind}: {told:?}");
    }
}

#[test]
fn what_lambdas_wrote_is_merged_as_everything_is() {
    on_all(program);
}

#[test]
fn sums_count_what_lambdas_wrote_since_all_was_zeros() {
    on_all(sums);
}
