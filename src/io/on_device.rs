//! The CSR of a list of arcs, built on a GPU: the arguments of `kernels/build.cu`. The same arrays, to the byte, as the host
//! builds ([`Graph::from_lists`](crate::graph::Graph), [`super::parsed::apply`]).

use super::compact::{Ranks, Renumbering};
use super::uplink::Copies;
use crate::device::SymmetryKernel;
use crate::device::kernels::build::{
    Arcs, BuildCounts, CountArgs, Csr, HALF_COLUMN, HALF_PLACE, HALF_WEIGHT, KeepArgs, ListArgs,
    REPEATS_ALL, REPEATS_FIRST, REPEATS_LAST, REPEATS_SUM, RangeArgs, RenumberArgs, RowArgs,
    SelectArgs, TurnArgs, WeighArgs,
};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{
    CudaDevice, DeviceBuffer, DeviceCsr, Function, Launch, MAX_KEYS, SortKernels, Sorter, room,
    source,
};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Fleet};
use crate::generate::giant_cuda::{giant, giant_bytes};
use crate::generate::passes::{Pass, bucket_shift, passes};
use crate::graph::build::{Keep, Repeated};
use crate::graph::options::{Symmetrize, Weights};
use crate::graph::{ArcList, Facts};
use crate::hash::Draw;
use bytemuck::Pod;
use std::sync::{Arc, Mutex, PoisonError};

/// Device memory that is left alone.
const RESERVE: u64 = 256 << 20;
/// Device bytes that a key takes, the sort's tables included.
const BYTES_PER_KEY: u64 = 17;
/// Of all arcs, the part whose keys are sorted at once, at least: for each part the whole list is read again.
const MOST_RANGES: u64 = 16;
/// Row numbers in keys, and rows of a range, stay below 2^32.
const MOST_NODES: u64 = 1 << 31;

/// What is to be built.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub nodes: u64,
    /// Each pair of two nodes is an arc back as well.
    pub mirror: bool,
    /// The list has weights.
    pub weighted: bool,
    pub keep: Keep,
    /// `Keep` only of a list whose arcs have their reverses.
    pub symmetrize: Symmetrize,
    /// Where they are random.
    pub weights: Weights,
    /// Test hook: keys that are sorted at once, where one bucket of rows has no more.
    pub most_keys: Option<u64>,
}

/// What it is built from.
pub(super) struct Input {
    pub lists: Vec<ArcList>,
    /// Of the ids in `lists`.
    pub renumbering: Renumbering,
    /// Of lists that the GPU has, until they are in one.
    pub copies: Mutex<Option<Copies>>,
}

/// What was built.
pub(super) struct Built {
    pub csr: DeviceCsr,
    /// Arcs (v, v) that were found.
    pub self_loops: u64,
    /// Arcs beyond the first of each pair that were found.
    pub duplicates: u64,
    pub symmetric: bool,
    pub facts: Facts,
}

/// Builds a CSR on the first GPU of `fleet`. `None` where it has no room, where arcs are too many for 32 bits, and where the
/// host has an error to report. Gives the input back.
///
/// # Errors
/// [`Error::Machine`] when the fleet has failed.
pub(super) fn build(fleet: &Fleet, input: Input, wanted: Wanted) -> Result<(Option<Built>, Input)> {
    let input = Arc::new(input);
    let shared = input.clone();
    // Other processes may come by the graph otherwise.
    let made = fleet.alone(move |replica| {
        if !replica.leads() {
            return Ok(None);
        }
        // A compiler shows no signs of life, so it comes before the first of them is due.
        let kernels = match &mut replica.backend {
            Backend::Cuda(device) => {
                let kernels = Kernels::load(device)?;
                // It counts as building, and not as part of a layout.
                device.compile_ms = 0.0;
                kernels
            }
            Backend::Host(_) => return Ok(None),
        };
        replica.enter("build the CSR")?;
        match &mut replica.backend {
            Backend::Cuda(device) => built(device, kernels, &shared, &wanted),
            Backend::Host(_) => Ok(None),
        }
    })?;
    let input = Arc::into_inner(input).ok_or_else(|| Error::machine("lists are shared; a bug"))?;
    Ok((made.into_iter().next().flatten(), input))
}

/// The loaded kernels.
#[derive(Clone, Copy)]
struct Kernels {
    sort: SortKernels,
    renumber: Function,
    range: Function,
    count: Function,
    select: Function,
    turn: Function,
    keep_count: Function,
    keep_scan: Function,
    keep: Function,
    rows: Function,
    list: Function,
    weigh: Function,
    symmetry: SymmetryKernel,
}

impl Kernels {
    fn load(device: &mut CudaDevice) -> Result<Kernels> {
        let sort = SortKernels::load(device)?;
        let symmetry = SymmetryKernel::load(device)?;
        device.function(source("giant.cu"), &[], "giant_begin")?;
        let mut load = |name| device.function(source("build.cu"), &[], name);
        Ok(Kernels {
            sort,
            renumber: load("build_renumber")?,
            range: load("build_range")?,
            count: load("build_count")?,
            select: load("build_select")?,
            turn: load("build_turn")?,
            keep_count: load("build_keep_count")?,
            keep_scan: load("build_keep_scan")?,
            keep: load("build_keep")?,
            rows: load("build_rows")?,
            list: load("build_list")?,
            weigh: load("build_weigh")?,
            symmetry,
        })
    }
}

/// A list of arcs on the device.
struct List {
    pairs: DeviceBuffer<[u32; 2]>,
    weights: Option<DeviceBuffer<f32>>,
    count: u64,
    mirror: bool,
}

impl List {
    /// Arcs of the list, at most: a self-loop has no reverse.
    fn arcs(&self) -> u64 {
        self.count << u32::from(self.mirror)
    }

    fn args(&self) -> Arcs {
        Arcs {
            pairs: self.pairs.pointer(),
            weights: self.weights.as_ref().map_or(0, DeviceBuffer::pointer),
            count: self.count,
            mirror: u32::from(self.mirror),
            unused: 0,
        }
    }
}

/// Which arcs stay.
struct Choice {
    drop_loops: bool,
    /// One of `REPEATS_ALL` and so on.
    repeats: u32,
    /// Arcs of one pair are in the order of the list; else in that of weights.
    in_order: bool,
    rounded: bool,
    /// Arcs have weights in the end.
    weights: bool,
}

/// Keys that are sorted at once, and as many as there is room for.
#[derive(Clone, Copy)]
struct Keys {
    wanted: u64,
    most: u64,
}

struct Work<'a> {
    device: &'a CudaDevice,
    kernels: Kernels,
    nodes: u64,
    most_keys: Option<u64>,
}

fn built(
    device: &mut CudaDevice,
    kernels: Kernels,
    input: &Input,
    wanted: &Wanted,
) -> Result<Option<Built>> {
    let work = Work { device, kernels, nodes: wanted.nodes, most_keys: wanted.most_keys };
    let Some((csr, counts, first)) = work.all_rows(input, wanted)? else { return Ok(None) };
    let joined = !matches!(wanted.symmetrize, Symmetrize::Off | Symmetrize::Keep);
    let known = wanted.mirror || joined;
    let [with, without] = if known { [true, true] } else { kernels.symmetry.look(device, &csr)? };
    let (mut symmetric, undirected) = (with, with || without);
    let mut csr = csr;
    if let Some(draw) = wanted.weights.draw() {
        work.weigh(&mut csr, draw, undirected)?;
        symmetric = undirected;
    }
    // The scratch memory is the layouts' to use.
    device.release_kept();
    let found = giant(device, &csr, undirected)?;
    let facts = Facts {
        source: Some(found.lowest),
        isolated: Some(found.isolated),
        self_loops: Some(counts.loops_kept),
        undirected: Some(undirected),
    };
    let BuildCounts { self_loops, duplicates, .. } = first;
    Ok(Some(Built { csr, self_loops, duplicates, symmetric, facts }))
}

impl Work<'_> {
    fn launch<A: Pod>(&self, kernel: Function, items: u64, each: u32, args: &A) -> Result<()> {
        let blocks = items.div_ceil(each.into()).clamp(1, self.device.filling().into()) as u32;
        self.device.launch(kernel, Launch::of(self.device.blocks(blocks), THREADS), args)
    }

    /// The keys to sort at once for rows of so many arcs, with weights or without, beside `more` bytes; `None` where
    /// there is no room for as many as are needed.
    fn keys(&self, more: u64, arcs: u64, weights: bool) -> Result<Option<Keys>> {
        let rows = 8 * (self.nodes + 1) + arcs * if weights { 8 } else { 4 };
        let needed = more + rows + giant_bytes(self.nodes) + RESERVE;
        let most = room(&self.device.context)?.saturating_sub(needed) / BYTES_PER_KEY;
        if arcs > MAX_KEYS || self.nodes > MOST_NODES || most < arcs.div_ceil(MOST_RANGES) {
            return Ok(None);
        }
        let most = most.min(arcs);
        Ok(Some(Keys { wanted: self.most_keys.unwrap_or(most).min(most), most }))
    }

    /// The rows that are wanted, what was found of them, and what was found before the arcs got their reverses.
    fn all_rows(
        &self,
        input: &Input,
        wanted: &Wanted,
    ) -> Result<Option<(DeviceCsr, BuildCounts, BuildCounts)>> {
        let Wanted { keep, mirror, weighted, .. } = *wanted;
        let random = wanted.weights.draw().is_some();
        let choice = Choice {
            drop_loops: !keep.self_loops,
            repeats: match keep.repeated {
                Repeated::Kept => REPEATS_ALL,
                Repeated::First | Repeated::Least => REPEATS_FIRST,
                Repeated::Summed => REPEATS_SUM,
            },
            in_order: keep.repeated == Repeated::First,
            rounded: keep.rounded,
            weights: weighted || keep.repeated == Repeated::Summed,
        };
        let count: u64 = input.lists.iter().map(|list| list.pairs.len() as u64).sum();
        let bytes = count * if weighted { 12 } else { 8 };
        let weights = choice.weights || random;
        let copies = input.copies.lock().unwrap_or_else(PoisonError::into_inner).take();
        let more = bytes.saturating_sub(copies.as_ref().map_or(0, Copies::bytes));
        let Some(keys) = self.keys(more, count << u32::from(mirror), weights)? else {
            return Ok(None);
        };
        // What went up already has to be there twice for a moment.
        let fits = room(&self.device.context)? > bytes + RESERVE;
        let list = self.uploaded(&input.lists, copies.filter(|_| fits), [mirror, weighted])?;
        let Some(list) = self.renumbered(list, &input.renumbering)? else { return Ok(None) };
        let Some((csr, first)) = self.rows(list, &choice, keys)? else { return Ok(None) };
        let repeats = match wanted.symmetrize {
            Symmetrize::Off | Symmetrize::Keep => return Ok(Some((csr, first, first))),
            Symmetrize::Min => REPEATS_FIRST,
            Symmetrize::Max => REPEATS_LAST,
            Symmetrize::Sum => REPEATS_SUM,
        };
        let single = first.duplicates == 0 || choice.repeats != REPEATS_ALL;
        if mirror && single && !(repeats == REPEATS_SUM && choice.weights) {
            return Ok(Some((csr, first, first)));
        }
        // The reverses of arcs that stayed, and then one arc of each pair.
        let joined = Choice { drop_loops: false, repeats, in_order: false, ..choice };
        let Some(keys) = self.keys(8 * csr.arcs, 2 * csr.arcs, weights)? else { return Ok(None) };
        let list = self.listed(csr)?;
        let made = self.rows(list, &joined, keys)?;
        Ok(made.map(|(csr, last)| (csr, last, first)))
    }

    /// One list of all, from the host, or from the copies that are on the device.
    fn uploaded(
        &self,
        lists: &[ArcList],
        copies: Option<Copies>,
        [mirror, weighted]: [bool; 2],
    ) -> Result<List> {
        let ends: Vec<usize> = lists
            .iter()
            .scan(0, |end, list| {
                *end += list.pairs.len();
                Some(*end)
            })
            .collect();
        let count = ends.last().copied().unwrap_or(0);
        let pairs = self.device.alloc::<[u32; 2]>("arcs of a file", count)?;
        let weights =
            weighted.then(|| self.device.alloc::<f32>("weights of a file", count)).transpose()?;
        // They are zeroed on this stream, and filled on others.
        self.device.wait()?;
        let (mut pairs_left, mut weights_left) = (Vec::new(), Vec::new());
        for (list, end) in lists.iter().zip(ends) {
            let first = end - list.pairs.len();
            let to = pairs.pointer() + 8 * first as u64;
            if !copies.as_ref().map_or(Ok(false), |copies| copies.pairs_to(to, list))? {
                pairs_left.push((first, list.ends()));
            }
            let Some(weights) = &weights else { continue };
            let to = weights.pointer() + 4 * first as u64;
            if !copies.as_ref().map_or(Ok(false), |copies| copies.weights_to(to, list))? {
                weights_left.push((first, &*list.weights));
            }
        }
        pairs.upload_parts(pairs_left.into_iter())?;
        weights.iter().try_for_each(|weights| weights.upload_parts(weights_left.drain(..)))?;
        copies.iter().try_for_each(Copies::wait)?;
        Ok(List { pairs, weights, count: count as u64, mirror })
    }

    /// The list between nodes; `None` where there is no room to renumber it.
    fn renumbered(&self, list: List, renumbering: &Renumbering) -> Result<Option<List>> {
        let (ids, count) = (list.pairs.pointer(), 2 * list.count);
        let args = RenumberArgs { ids, used: 0, below: 0, count, less: 0, unused: 0 };
        match renumbering {
            Renumbering::Same => return Ok(Some(list)),
            Renumbering::Less(less) => {
                let args = RenumberArgs { less: *less, ..args };
                self.launch(self.kernels.renumber, count, TILE, &args)?;
            }
            Renumbering::Ranks(Ranks { used, below }) => {
                if room(&self.device.context)? < 12 * used.len() as u64 + RESERVE {
                    return Ok(None);
                }
                let words = self.device.alloc("ids that occur", used.len())?;
                let before = self.device.alloc("ranks of ids", below.len())?;
                words.upload(used)?;
                before.upload(below)?;
                let (used, below) = (words.pointer(), before.pointer());
                let args = RenumberArgs { used, below, ..args };
                self.launch(self.kernels.renumber, count, TILE, &args)?;
                self.device.wait()?;
            }
        }
        Ok(Some(list))
    }

    /// Rows as a list, whose arcs get their reverses.
    fn listed(&self, csr: DeviceCsr) -> Result<List> {
        let pairs = self.device.alloc::<[u32; 2]>("arcs of rows", csr.arcs as usize)?;
        let args = ListArgs { csr: csr_args(&csr), pairs: pairs.pointer() };
        self.launch(self.kernels.list, csr.arcs, TILE, &args)?;
        self.device.wait()?;
        Ok(List { pairs, weights: csr.weights, count: csr.arcs, mirror: true })
    }

    /// The rows of a list, and what was found in it.
    fn rows(
        &self,
        list: List,
        choice: &Choice,
        keys: Keys,
    ) -> Result<Option<(DeviceCsr, BuildCounts)>> {
        let (device, nodes, arcs) = (self.device, self.nodes, list.arcs());
        let ranges = match arcs <= keys.wanted {
            true => vec![Pass { first_row: 0, rows: nodes as u32, arcs }],
            false => self.ranges(&list, keys.wanted)?,
        };
        let capacity = ranges.iter().map(|range| range.arcs).max().unwrap_or(0);
        if capacity > keys.most {
            return Ok(None);
        }
        let weight_ends = match &list.weights {
            Some(weights) if !choice.in_order => self.weight_ends(weights, list.count)?,
            _ => [0, 0],
        };
        let mut csr = DeviceCsr {
            offsets: device.alloc("row offsets", nodes as usize + 1)?,
            columns: device.alloc("columns", arcs as usize)?,
            weights: choice.weights.then(|| device.alloc("weights", arcs as usize)).transpose()?,
            pair_key: None,
            nodes,
            arcs: 0,
        };
        let mut scratch = Scratch {
            sorter: Sorter::new(device, self.kernels.sort, capacity)?,
            cursor: device.alloc("cursor", 1)?,
            sums: device.alloc("arcs that stay", capacity.div_ceil(TILE.into()) as usize + 1)?,
            counts: device.alloc("what was found", 1)?,
        };
        for range in &ranges {
            if !self.range(&list, choice, weight_ends, range, &mut scratch, &mut csr)? {
                return Ok(None);
            }
        }
        device.wait()?;
        let counts = scratch.counts.element(0)?;
        Ok((counts.not_finite == 0).then_some((csr, counts)))
    }

    /// Ranges of rows with at most so many arcs each, unless a bucket of rows has more.
    fn ranges(&self, list: &List, most: u64) -> Result<Vec<Pass>> {
        let shift = bucket_shift(bits(self.nodes));
        let buckets = ((self.nodes - 1) >> shift) + 1;
        let counts = self.device.alloc::<u64>("arcs by bucket", buckets as usize)?;
        let args = CountArgs {
            arcs: list.args(),
            buckets: counts.pointer(),
            shift,
            bucket_count: buckets as u32,
        };
        self.launch(self.kernels.count, list.count, THREADS, &args)?;
        self.device.wait()?;
        Ok(passes(&counts.to_vec()?, shift, most))
    }

    /// Bits of the lightest and the heaviest weight.
    fn weight_ends(&self, weights: &DeviceBuffer<f32>, count: u64) -> Result<[u32; 2]> {
        let ends = self.device.alloc::<u32>("ends of weights", 2)?;
        let args = RangeArgs { weights: weights.pointer(), ends: ends.pointer(), count };
        self.launch(self.kernels.range, count, THREADS, &args)?;
        self.device.wait()?;
        let ends = ends.to_vec()?;
        Ok(if count == 0 { [0, 0] } else { [!ends[0], ends[1]] })
    }

    /// Adds the rows of one range to `csr`; whether that could be done.
    fn range(
        &self,
        list: &List,
        choice: &Choice,
        [low, high]: [u32; 2],
        range: &Pass,
        Scratch { sorter, cursor, sums, counts }: &mut Scratch,
        csr: &mut DeviceCsr,
    ) -> Result<bool> {
        let (device, kernels, arcs) = (self.device, &self.kernels, list.args());
        let items = list.weights.is_some();
        cursor.clear()?;
        let args = SelectArgs {
            arcs,
            keys: sorter.keys.pointer(),
            cursor: cursor.pointer(),
            capacity: sorter.keys.len() as u64,
            first: range.first_row,
            rows: range.rows,
            half: match (items, choice.in_order) {
                (false, _) => HALF_COLUMN,
                (true, true) => HALF_PLACE,
                (true, false) => HALF_WEIGHT,
            },
            bias: low,
        };
        self.launch(kernels.select, list.count, TILE, &args)?;
        device.wait()?;
        let count = cursor.element(0)?;
        if count > args.capacity {
            let (held, rows) = (args.capacity, range.rows);
            let what = format!("{count} arcs of {rows} rows in room for {held}; a bug");
            return Err(Error::machine(what));
        }
        let row_bits = bits(u64::from(range.rows).min(self.nodes));
        let (rows, columns) = (32..32 + row_bits, bits(self.nodes));
        if !items {
            sorter.sort(device, count, 0..columns)?;
        } else {
            // A sort leaves equal keys in the order of the one before.
            match choice.in_order {
                true => sorter.sort(device, count, 0..bits(list.arcs()))?,
                false => sorter.sort(device, count, 32..32 + bits(u64::from(high - low) + 1))?,
            }
            self.turn(list, range, 0, sorter, count)?;
            sorter.sort(device, count, 32..32 + columns)?;
            self.turn(list, range, 1, sorter, count)?;
        }
        sorter.sort(device, count, rows)?;
        let tiles = count.div_ceil(TILE.into());
        let args = KeepArgs {
            arcs,
            keys: sorter.keys.pointer(),
            kept: sorter.spare.pointer(),
            sums: sums.pointer(),
            counts: counts.pointer(),
            columns: csr.columns.pointer(),
            weights: csr.weights.as_ref().map_or(0, DeviceBuffer::pointer),
            count,
            base: csr.arcs,
            tiles: tiles as u32,
            items: u32::from(items),
            drop_loops: u32::from(choice.drop_loops),
            repeats: choice.repeats,
            rounded: u32::from(choice.rounded),
            first: range.first_row,
        };
        self.launch(kernels.keep_count, count, TILE, &args)?;
        device.launch(kernels.keep_scan, Launch::of(1, THREADS), &args)?;
        device.wait()?;
        if counts.element(0)?.long_runs != 0 {
            return Ok(false);
        }
        self.launch(kernels.keep, count, TILE, &args)?;
        std::mem::swap(&mut sorter.keys, &mut sorter.spare);
        let kept = sums.element(tiles as usize)?;
        let args = RowArgs {
            keys: sorter.keys.pointer(),
            offsets: csr.offsets.pointer(),
            count: kept,
            base: csr.arcs,
            nodes: self.nodes,
            first: range.first_row,
            rows: range.rows,
        };
        self.launch(kernels.rows, u64::from(range.rows) + 1, THREADS, &args)?;
        csr.arcs += kept;
        Ok(true)
    }

    /// Puts columns, or rows where `to_row` is 1, into the upper halves of keys.
    fn turn(
        &self,
        list: &List,
        range: &Pass,
        to_row: u32,
        sorter: &Sorter,
        count: u64,
    ) -> Result<()> {
        let (arcs, keys, first) = (list.args(), sorter.keys.pointer(), range.first_row);
        let args = TurnArgs { arcs, keys, count, first, to_row };
        self.launch(self.kernels.turn, count, THREADS, &args)
    }

    /// Gives every arc a random weight, a pair the same both ways where `unordered`.
    fn weigh(&self, csr: &mut DeviceCsr, draw: Draw, unordered: bool) -> Result<()> {
        if csr.weights.is_none() {
            csr.weights = Some(self.device.alloc("weights", csr.arcs as usize)?);
        }
        let args = WeighArgs {
            csr: csr_args(csr),
            key: draw.key,
            span: draw.span,
            low: draw.low,
            step: draw.step,
            unordered: u32::from(unordered),
            unused: 0,
        };
        self.launch(self.kernels.weigh, csr.arcs, TILE, &args)?;
        self.device.wait()
    }
}

/// What ranges are built with.
struct Scratch {
    sorter: Sorter,
    cursor: DeviceBuffer<u64>,
    sums: DeviceBuffer<u64>,
    counts: DeviceBuffer<BuildCounts>,
}

fn csr_args(csr: &DeviceCsr) -> Csr {
    Csr {
        offsets: csr.offsets.pointer(),
        columns: csr.columns.pointer(),
        weights: csr.weights.as_ref().map_or(0, DeviceBuffer::pointer),
        arcs: csr.arcs,
        nodes: csr.nodes,
    }
}

/// Bits that tell so many apart.
fn bits(count: u64) -> u32 {
    u64::BITS - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
#[path = "on_device_tests.rs"]
mod tests;
