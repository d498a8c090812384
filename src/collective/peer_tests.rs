//! Kernels of every GPU read and write every part of shared arrays. Here, where kernels are at hand.

use super::*;
use crate::collective::Dtype;
use crate::device::probe;
use crate::error::Error;
use crate::fleet::{Address, Backend, Fleet, FleetConfig, Replica, Scheme, VmmArray};

const LENGTH: usize = 1_500_003;

fn value(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761) ^ 5
}

/// Runs a kernel that copies `to.len()` words between addresses, and does not wait for it.
fn copy_words(r: &Replica, kernels: &MergeKernels, from: u64, to: u64, words: u64) -> Result<()> {
    let device = r.device()?;
    let (length, dtype, op) = (words, Dtype::U32, MergeOp::Max);
    let span = Span { label: "copy", address: to, length, dtype, op, alike: 0 };
    device.queued();
    if words > 0 {
        kernels.reduce(&span, &[from], 0..words, None)?;
    }
    Ok(())
}

/// Address and elements of each stretch of an array that lies in one piece.
fn stretches(address: Option<Address>, bounds: &[u64]) -> Vec<(u64, Range<u64>)> {
    let ranges = bounds.windows(2).map(|w| w[0]..w[1]);
    match address {
        Some(Address::Flat(at)) => ranges.map(|own| (at + 4 * own.start, own)).collect(),
        Some(Address::Parts { bases, .. }) => bases.into_iter().zip(ranges).collect(),
        None => Vec::new(),
    }
}

fn same(what: &str, r: &Replica, found: &[u32]) -> Result<()> {
    let wrong = (0..LENGTH).find(|i| found.get(*i) != Some(&value(*i)));
    wrong.map_or(Ok(()), |i| {
        let (rank, found, expected) = (r.rank(), found.get(i), value(i));
        let text = format!("{what}: rank {rank}, element {i}: {found:?}, not {expected}");
        Err(Error::Verify(text))
    })
}

fn kernels(r: &mut Replica) -> Result<MergeKernels> {
    match &mut r.backend {
        Backend::Cuda(device) => MergeKernels::load(device),
        Backend::Host(_) => Err(Error::machine("no GPU")),
    }
}

fn check(r: &mut Replica, scheme: Scheme) -> Result<()> {
    let kernels = kernels(r)?;
    let (rank, world) = (r.rank(), r.world());
    let mine = r.device()?.alloc::<u32>("all of it", LENGTH)?;

    // Everybody reads all parts with a kernel.
    let mut array = r.shared::<u32>("shared", LENGTH, scheme)?;
    let own: Vec<u32> = array.own().map(value).collect();
    array.assign_own(&own)?;
    r.barrier("written by owners")?;
    let places = stretches(array.address(), array.split().bounds());
    for (at, range) in &places {
        copy_words(r, &kernels, *at, mine.pointer() + 4 * range.start, range.end - range.start)?;
    }
    r.barrier("read by kernels")?;
    same(&format!("{scheme} read by a kernel"), r, &mine.to_vec()?)?;

    // Everybody writes the next one's slice with a kernel.
    let written = r.shared::<u32>("written", LENGTH, scheme)?;
    let (at, range) =
        stretches(written.address(), written.split().bounds())[(rank + 1) % world].clone();
    copy_words(r, &kernels, mine.pointer() + 4 * range.start, at, range.end - range.start)?;
    r.barrier("written by kernels")?;
    same(&format!("{scheme} written by a neighbour's kernel"), r, &written.to_vec()?)?;

    // An array that is dropped while kernels read it outlives them.
    for _ in 0..20 {
        for (at, range) in &places {
            copy_words(
                r,
                &kernels,
                *at,
                mine.pointer() + 4 * range.start,
                range.end - range.start,
            )?;
        }
    }
    drop(array);
    r.barrier("gone")?;
    same(&format!("{scheme} dropped under kernels"), r, &mine.to_vec()?)
}

/// Cuts that are not on granules: each replica uploads whole granules, kernels see one array.
fn check_placed(r: &mut Replica) -> Result<()> {
    let kernels = kernels(r)?;
    let values: Vec<u32> = (0..LENGTH).map(value).collect();
    let end = |rank: usize| 4 * (LENGTH * rank / r.world()) as u64;
    let ends: Vec<u64> = (0..=r.world()).map(end).collect();
    let placed = VmmArray::new(r, "placed", &ends)?;
    placed.upload_own(r, bytemuck::cast_slice(&values))?;
    r.barrier("uploaded")?;
    let mine = r.device()?.alloc::<u32>("all of it", LENGTH)?;
    copy_words(r, &kernels, placed.pointer(), mine.pointer(), LENGTH as u64)?;
    r.barrier("read")?;
    same("placed by rows", r, &mine.to_vec()?)?;
    let held: u64 = r.agree("held", [placed.own_bytes(), 0, 0, 0])?.iter().map(|p| p[0]).sum();
    let bytes = 4 * LENGTH as u64;
    if held < bytes || held > bytes + (2 << 20) + 64 {
        return Err(Error::Verify(format!("{held} bytes are held for {bytes}")));
    }
    Ok(())
}

#[test]
fn kernels_of_every_gpu_read_and_write_all_parts_of_shared_arrays() {
    let gpus = probe().devices.len();
    if gpus == 0 {
        crate::skips::skipped("no CUDA device, nothing was tested on GPUs");
    }
    let mut fleets: Vec<String> = Vec::new();
    if gpus > 0 {
        fleets.extend(["cuda:0".to_string(), "cuda:0x4".to_string()]);
    }
    fleets.extend((2..=gpus.min(4)).map(|k| format!("cuda:0-{}", k - 1)));
    for devices in fleets {
        let config = FleetConfig {
            devices: devices.parse().unwrap(),
            deadline_s: 30.0,
            ..FleetConfig::default()
        };
        let fleet = Fleet::open(config).unwrap_or_else(|e| panic!("{devices}: {e}"));
        for scheme in [Scheme::Peer, Scheme::Vmm, Scheme::Managed] {
            let checked = fleet.run(move |r| check(r, scheme));
            checked.unwrap_or_else(|e| panic!("{devices}, {scheme}: {e}"));
        }
        fleet.run(check_placed).unwrap_or_else(|e| panic!("{devices}, placed: {e}"));
    }
}
