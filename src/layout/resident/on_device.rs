//! Plain rows on a GPU: copied from the GPU that has them, and turned around there. The arguments of `kernels/turn.cu`.

use crate::device::kernels::layout::{Input, WeightArgs};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::kernels::turn::TurnArgs;
use crate::device::{
    CudaDevice, DeviceBuffer, DeviceCsr, Function, MAX_KEYS, SortKernels, Sorter, room, source,
};
use crate::error::Result;
use crate::fleet::{Placed, Replica};
use crate::graph::{Graph, milliseconds};
use crate::layout::on_device::{MOST_SELECTS, RESERVE, Sums, all, bits, launch, ranges};
use crate::layout::rows::DeviceRows;
use bytemuck::{Pod, Zeroable};
use std::time::Instant;

/// Of all arcs, the part whose keys are sorted at once, the larger one first.
const PARTS: [u64; 3] = [1, 4, 16];

/// The rows of `graph`, which are on the GPU of some replica, with weights if these are wanted and there.
pub(super) fn copied(
    r: &mut Replica,
    graph: &Graph,
    input: &DeviceCsr,
    weights: bool,
) -> Result<DeviceRows> {
    let sums = Sums::load(r.device_mut()?)?;
    let weights = weights && graph.is_weighted();
    let pairs = match input.pair_key.filter(|_| weights) {
        Some(key) => {
            let kernel =
                r.device_mut()?.function(source("layout.cu"), &[], "layout_pair_weights")?;
            Some((kernel, key))
        }
        None => None,
    };
    let device = r.device()?;
    let scratch;
    let wide_offsets = match input.offsets.is_on(&device.context) {
        true => &input.offsets,
        false => {
            scratch = copy(device, "row offsets", &input.offsets, input.nodes + 1)?;
            &scratch
        }
    };
    let offsets = sums.words(device, wide_offsets, input.arcs)?;
    let columns = copy(device, "columns", &input.columns, input.arcs)?;
    let weights = match (&input.weights, pairs) {
        (Some(there), _) if weights => Some(copy(device, "weights", there, input.arcs)?),
        (_, Some((kernel, pair_key))) => {
            let made = device.alloc::<f32>("weights", input.arcs as usize)?;
            let arcs = Input {
                offsets: wide_offsets.pointer(),
                columns: columns.pointer(),
                nodes: input.nodes,
                pair_key,
                ..Input::zeroed()
            };
            let args = WeightArgs { input: arcs, arcs: input.arcs, facts: 0, to: made.pointer() };
            launch(device, kernel, input.arcs, TILE, &args)?;
            Some(made)
        }
        _ => None,
    };
    device.queued();
    device.wait()?;
    Ok(DeviceRows { offsets, columns: columns.into(), weights: weights.map(Placed::from) })
}

fn copy<T: Pod>(
    device: &CudaDevice,
    label: &str,
    from: &DeviceBuffer<T>,
    length: u64,
) -> Result<DeviceBuffer<T>> {
    let buffer = device.alloc(label, length as usize)?;
    buffer.copy_from(from)?;
    Ok(buffer)
}

/// Rows backward that a GPU made.
pub(super) struct Turned {
    pub rows: DeviceRows,
    /// Their offsets, on the host.
    pub offsets: Vec<u64>,
    pub ms: f64,
    pub compile_ms: f64,
}

/// The rows backward of `graph`, whose rows forward are `out`; `None` on all replicas where one has no room for them, or where
/// parallel arcs have an order of their own. A meeting.
pub(super) fn turned(r: &mut Replica, graph: &Graph, out: &DeviceRows) -> Result<Option<Turned>> {
    r.meet_as(0);
    let kernels = Kernels::load(r.device_mut()?)?;
    let compile_ms = std::mem::take(&mut r.device_mut()?.compile_ms);
    r.barrier("memory for rows backward")?;
    let device = r.device()?;
    let (nodes, arcs) = (graph.nodes() as u64, graph.arcs());
    let each = if out.weights.is_some() { 8 } else { 4 };
    // Offsets forward and backward, what kernels read of these, and numbers of arcs.
    let own = 32 * (nodes + 1) + each * arcs + RESERVE;
    let free = (room(&device.context)? / u64::from(device.sharers)).saturating_sub(own);
    let capacity = |longest: u64| {
        let parts = PARTS.map(|part| arcs.div_ceil(part).max(longest));
        parts.into_iter().find(|keys| *keys <= MAX_KEYS && Sorter::bytes(*keys) <= free)
    };
    if !all(r, capacity(0).is_some())? {
        return Ok(None);
    }
    let (device, begin) = (r.device()?, Instant::now());
    let work = Work { device, kernels, nodes, arcs };
    let made = work.turned(graph, out, capacity)?;
    device.wait()?;
    device.release_kept();
    if !all(r, made.is_some())? {
        return Ok(None);
    }
    let ms = milliseconds(begin);
    Ok(made.map(|(rows, offsets)| Turned { rows, offsets, ms, compile_ms }))
}

/// The loaded kernels.
struct Kernels {
    sort: SortKernels,
    sums: Sums,
    counts: Function,
    keys: Function,
    select: Function,
    store: Function,
}

impl Kernels {
    fn load(device: &mut CudaDevice) -> Result<Kernels> {
        let (sort, sums) = (SortKernels::load(device)?, Sums::load(device)?);
        let mut load = |name| device.function(source("turn.cu"), &[], name);
        Ok(Kernels {
            sort,
            sums,
            counts: load("turn_counts")?,
            keys: load("turn_keys")?,
            select: load("turn_select")?,
            store: load("turn_store")?,
        })
    }
}

struct Work<'a> {
    device: &'a CudaDevice,
    kernels: Kernels,
    nodes: u64,
    arcs: u64,
}

impl Work<'_> {
    /// Rows backward and their offsets; `capacity` says how many keys there is room for, given the longest row.
    fn turned(
        &self,
        graph: &Graph,
        out: &DeviceRows,
        capacity: impl Fn(u64) -> Option<u64>,
    ) -> Result<Option<(DeviceRows, Vec<u64>)>> {
        let Work { device, kernels, nodes, arcs } = self;
        let (nodes, arcs) = (*nodes, *arcs);
        let forward = device.alloc::<u64>("row offsets", nodes as usize + 1)?;
        forward.upload(graph.offsets())?;
        let counts = device.alloc::<u64>("in-degrees", nodes as usize)?;
        let disorder = device.alloc::<u64>("order of parallel arcs", 1)?;
        let args = TurnArgs {
            offsets: forward.pointer(),
            columns: out.columns.pointer(),
            weights: out.weights.as_ref().map_or(0, Placed::pointer),
            counts: counts.pointer(),
            disorder: disorder.pointer(),
            arcs,
            nodes: nodes as u32,
            arc_bits: bits(arcs),
            ..TurnArgs::zeroed()
        };
        launch(device, kernels.counts, arcs, THREADS, &args)?;
        let backward = kernels.sums.prefix(device, &counts)?;
        let ends = backward.to_vec()?;
        let longest = ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let Some(most) = capacity(longest) else { return Ok(None) };
        let most_rows = 1u64 << (64 - args.arc_bits).min(32);
        let ranges = ranges(&ends, 0..ends.len() - 1, most, most_rows as usize);
        // To select a range, all arcs are looked at.
        if ranges.len() > MOST_SELECTS {
            return Ok(None);
        }
        let sources = device.alloc::<u32>("columns", arcs as usize)?;
        let weights = out.weights.is_some();
        let weights = weights.then(|| device.alloc::<f32>("weights", arcs as usize)).transpose()?;
        let cursor = device.alloc::<u64>("cursor", 1)?;
        let mut sorter = Sorter::new(device, kernels.sort, most)?;
        let whole = ranges.len() == 1;
        for range in ranges {
            let args = TurnArgs {
                keys: sorter.keys.pointer(),
                cursor: cursor.pointer(),
                sources: sources.pointer(),
                new_weights: weights.as_ref().map_or(0, DeviceBuffer::pointer),
                capacity: most,
                begin: ends[range.start],
                count: ends[range.end] - ends[range.start],
                first: range.start as u32,
                end: range.end as u32,
                ..args
            };
            let upper = args.arc_bits + bits(range.len() as u64);
            if whole {
                // Keys come in the order of arcs, which sorting keeps.
                launch(device, kernels.keys, arcs, THREADS, &args)?;
                sorter.sort(device, args.count, args.arc_bits..upper)?;
            } else {
                cursor.clear()?;
                launch(device, kernels.select, arcs, TILE, &args)?;
                sorter.sort(device, args.count, 0..upper)?;
            }
            // Sorting may leave them in another array.
            let args = TurnArgs { keys: sorter.keys.pointer(), ..args };
            launch(device, kernels.store, args.count, THREADS, &args)?;
        }
        let offsets = kernels.sums.words(device, &backward, arcs)?;
        if disorder.element(0)? != 0 {
            return Ok(None);
        }
        let rows =
            DeviceRows { offsets, columns: sources.into(), weights: weights.map(Placed::from) };
        Ok(Some((rows, ends)))
    }
}
