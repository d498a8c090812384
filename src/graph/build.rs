//! From arcs in any order to a sorted CSR, in parallel and without sharing a mutable array.
//!
//! Idea: rows are cut into *buckets* of equal, power-of-two width. Each *part* of the input is turned into
//! packed arcs by one task, which groups them by bucket (a counting sort in cache) and hands each group to
//! its bucket; the part is freed. Then each bucket is sorted and emits finished rows, and is freed too.
//! Since every row ends up in the order of the packed arcs, the result is the same for any thread count.
//!
//! Memory at the peak: the packed arcs (8 bytes an arc, 16 with weights), which is twice the final columns
//! and weights; these take the place that the buckets give back. Groups live in anonymous maps rather than
//! on the heap, so that what is freed is the system's again.

use crate::threads::BodyWith;
use memmap2::MmapMut;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Arcs that a bucket should hold: a megabyte of packed arcs sorts inside a core's own cache.
const ARCS_PER_BUCKET: u64 = 1 << 17;
/// Rows that a bucket may have even if they are empty.
const NODES_PER_BUCKET: u64 = 1 << 20;
/// Above this a part's groups become too short to copy well.
const MOST_BUCKETS: u64 = 4096;
/// A row longer than this (a hub) is sorted by all threads together.
const PARALLEL_SORT: usize = 1 << 20;
/// Arcs in a part, where the caller can choose.
pub(crate) const ARCS_PER_BLOCK: usize = 1 << 18;
/// Bytes of a slab: at least this, and so many that the whole takes no more than `MOST_SLABS` maps (the
/// system allows 65,530).
const SLAB: u64 = 1 << 18;
const MOST_SLABS: u64 = 1 << 14;

/// An arc on its way into a CSR: row, column, weight (>= 0 and not -0), and its place in the input where that decides
/// which of several arcs stays, else 0.
pub(crate) type Entry = (u32, u32, f32, u32);

/// An [`Entry`] in one integer whose order is that of a row's arcs.
trait Packed: bytemuck::Pod + Ord + Send + Sync {
    /// Whether a weight is inside.
    const WEIGHTED: bool;
    fn pack(entry: Entry) -> Self;
    fn row(self) -> u32;
    fn column(self) -> u32;
    fn weight(self) -> f32;
}

/// (row, column).
impl Packed for u64 {
    const WEIGHTED: bool = false;
    #[inline]
    fn pack((row, column, ..): Entry) -> u64 {
        (row as u64) << 32 | column as u64
    }
    #[inline]
    fn row(self) -> u32 {
        (self >> 32) as u32
    }
    #[inline]
    fn column(self) -> u32 {
        self as u32
    }
    #[inline]
    fn weight(self) -> f32 {
        1.0
    }
}

/// (row, column, place, weight): the bits of weights sort as weights do.
impl Packed for u128 {
    const WEIGHTED: bool = true;
    #[inline]
    fn pack((row, column, weight, place): Entry) -> u128 {
        let pair = (row as u128) << 96 | (column as u128) << 64;
        pair | (place as u128) << 32 | weight.to_bits() as u128
    }
    #[inline]
    fn row(self) -> u32 {
        (self >> 96) as u32
    }
    #[inline]
    fn column(self) -> u32 {
        (self >> 64) as u32
    }
    #[inline]
    fn weight(self) -> f32 {
        f32::from_bits(self as u32)
    }
}

/// What becomes of arcs of the same pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repeated {
    /// All stay.
    Kept,
    /// The first in the input stays.
    First,
    /// The lightest stays.
    Least,
    /// One stays with the sum of the weights, added in f64, lightest first.
    Summed,
}

/// What becomes of self loops and repeated pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Keep {
    pub self_loops: bool,
    /// Sums of weights are rounded to f32, also those that are whole numbers; else these become NaN.
    pub rounded: bool,
    pub repeated: Repeated,
}

impl Keep {
    /// Every arc.
    pub(crate) const ALL: Keep =
        Keep { self_loops: true, rounded: false, repeated: Repeated::Kept };
    /// No self loop, and of each pair the lightest arc.
    pub(crate) const SIMPLE: Keep =
        Keep { self_loops: false, rounded: false, repeated: Repeated::Least };
}

/// A finished CSR, and what was found on the way, kept or not.
#[derive(Default)]
pub(crate) struct Csr {
    pub offsets: Vec<u64>,
    pub columns: Vec<u32>,
    pub weights: Option<Vec<f32>>,
    pub self_loops: u64,
    pub duplicates: u64,
}

/// Builds the CSR of `nodes` rows from `parts`, about `arcs` arcs in all. `entries(i, part)` are the arcs of part `i`,
/// in any order; every row must be below `nodes`.
pub(crate) fn build<S: Send, I: Iterator<Item = Entry>>(
    nodes: usize,
    arcs: u64,
    keep: Keep,
    weighted: bool,
    parts: Vec<S>,
    entries: impl Fn(usize, S) -> I + Sync,
) -> Csr {
    match weighted {
        true => build_packed::<u128, S, I>(nodes, arcs, keep, parts, entries),
        false => build_packed::<u64, S, I>(nodes, arcs, keep, parts, entries),
    }
}

fn build_packed<P: Packed, S: Send, I: Iterator<Item = Entry>>(
    nodes: usize,
    arcs: u64,
    keep: Keep,
    parts: Vec<S>,
    entries: impl Fn(usize, S) -> I + Sync,
) -> Csr {
    let buckets = Buckets::<P>::new(nodes, arcs);
    let take: BodyWith<Scratch<P>, (usize, S)> = &|scratch, (i, part)| {
        scratch.arcs.clear();
        entries(i, part).for_each(|entry| scratch.arcs.push(P::pack(entry)));
        buckets.take(i, scratch);
    };
    parts.into_par_iter().enumerate().for_each_init(Scratch::default, take);
    buckets.settle(nodes, keep)
}

/// Appends the arcs of a row: (neighbour, weight).
type Row<'a> = &'a (dyn Fn(usize, &mut Vec<(u32, f32)>) + Sync);

/// The CSR whose row v is what `row(v, out)` appends, (neighbour, weight) in rising order; called twice a row, so that
/// nothing but the CSR takes memory. `blocks` are all rows, cut into tasks.
pub(crate) fn by_rows(blocks: &[Range<usize>], weighted: bool, row: Row<'_>) -> Csr {
    let mut offsets = vec![0u64; blocks.last().map_or(0, |rows| rows.end) + 1];
    let degrees = split_lengths(&mut offsets[1..], blocks.iter().map(Range::len));
    degrees.into_par_iter().zip(blocks).for_each_init(Vec::new, |arcs, (degrees, rows)| {
        for (degree, v) in degrees.iter_mut().zip(rows.clone()) {
            arcs.clear();
            row(v, arcs);
            *degree = arcs.len() as u64;
        }
    });
    let mut total = 0;
    for end in &mut offsets[1..] {
        total += *end;
        *end = total;
    }
    with_offsets(offsets, blocks, weighted, row)
}

/// The same where the rows have these offsets; called once a row.
pub(crate) fn with_offsets(
    offsets: Vec<u64>,
    blocks: &[Range<usize>],
    weighted: bool,
    row: Row<'_>,
) -> Csr {
    let total = offsets.last().map_or(0, |total| *total as usize);
    let (mut columns, mut weights) = (vec![0u32; total], vec![0f32; usize::from(weighted) * total]);
    let lengths = lengths(&offsets, blocks);
    let weight_lengths = lengths.clone().map(|length| usize::from(weighted) * length);
    let places = split_lengths(&mut columns, lengths);
    let places = places.into_par_iter().zip(split_lengths(&mut weights, weight_lengths));
    places.zip(blocks).for_each_init(Vec::new, |arcs, ((columns, weights), rows)| {
        let mut at = 0;
        for v in rows.clone() {
            arcs.clear();
            row(v, arcs);
            for (column, weight) in arcs.iter() {
                columns[at] = *column;
                if weighted {
                    weights[at] = *weight;
                }
                at += 1;
            }
        }
    });
    let weights = weighted.then_some(weights);
    Csr { offsets, columns, weights, self_loops: 0, duplicates: 0 }
}

/// A weight for every arc of a CSR, by its ends.
pub(crate) fn weigh(
    offsets: &[u64],
    columns: &[u32],
    blocks: &[Range<usize>],
    weight: impl Fn(u32, u32) -> f32 + Sync,
) -> Vec<f32> {
    let mut weights = vec![0f32; columns.len()];
    let places = split_lengths(&mut weights, lengths(offsets, blocks));
    places.into_par_iter().zip(blocks).for_each(|(mut place, rows)| {
        for u in rows.clone() {
            let row = &columns[offsets[u] as usize..offsets[u + 1] as usize];
            let own = place.split_off_mut(..row.len()).unwrap_or_default();
            own.iter_mut().zip(row).for_each(|(to, v)| *to = weight(u as u32, *v));
        }
    });
    weights
}

/// `0..length` in blocks of `size`.
pub(crate) fn blocks(length: usize, size: usize) -> Vec<Range<usize>> {
    (0..length).step_by(size).map(|first| first..(first + size).min(length)).collect()
}

/// Arcs of each block of rows.
fn lengths(offsets: &[u64], blocks: &[Range<usize>]) -> impl Iterator<Item = usize> + Clone {
    blocks.iter().map(|rows| (offsets[rows.end] - offsets[rows.start]) as usize)
}

/// A task's own arcs, as they came and grouped.
struct Scratch<P> {
    arcs: Vec<P>,
    grouped: Vec<P>,
    starts: Vec<usize>,
}

impl<P> Default for Scratch<P> {
    fn default() -> Self {
        Scratch { arcs: Vec::new(), grouped: Vec::new(), starts: Vec::new() }
    }
}

/// The arcs of one bucket, in anonymous maps.
struct Bucket<P> {
    slabs: Vec<MmapMut>,
    /// Arcs in the last slab; the others are full.
    last: usize,
    arcs: usize,
    kind: std::marker::PhantomData<P>,
}

impl<P: Packed> Bucket<P> {
    fn new() -> Bucket<P> {
        Bucket { slabs: Vec::new(), last: 0, arcs: 0, kind: std::marker::PhantomData }
    }

    fn append(&mut self, mut group: &[P], room: usize) {
        self.arcs += group.len();
        while !group.is_empty() {
            if self.slabs.is_empty() || self.last == room {
                self.slabs.push(slab(room * size_of::<P>()));
                self.last = 0;
            }
            let taken = group.len().min(room - self.last);
            if let Some(slab) = self.slabs.last_mut() {
                let place = &mut bytemuck::cast_slice_mut::<u8, P>(slab)[self.last..];
                place[..taken].copy_from_slice(&group[..taken]);
            }
            self.last += taken;
            group = &group[taken..];
        }
    }

    fn pieces(&self) -> impl Iterator<Item = &P> + Clone {
        let count = self.slabs.len();
        self.slabs.iter().enumerate().flat_map(move |(i, slab)| {
            let arcs = bytemuck::cast_slice::<u8, P>(slab);
            if i + 1 == count { &arcs[..self.last] } else { arcs }
        })
    }
}

/// Memory that goes back to the system when it is dropped.
fn slab(bytes: usize) -> MmapMut {
    match MmapMut::map_anon(bytes) {
        Ok(map) => map,
        Err(_) => crate::memory::none_left(bytes),
    }
}

/// The rows, cut into buckets: bucket = row >> shift.
struct Buckets<P> {
    shift: u32,
    /// Arcs that a slab has room for.
    room: usize,
    buckets: Vec<Mutex<Bucket<P>>>,
}

impl<P: Packed> Buckets<P> {
    fn new(nodes: usize, arcs: u64) -> Buckets<P> {
        let wanted = (arcs / ARCS_PER_BUCKET).max(nodes as u64 / NODES_PER_BUCKET);
        let wanted = wanted.clamp(1, MOST_BUCKETS) as usize;
        let width = nodes.div_ceil(wanted).next_power_of_two();
        let bytes = (arcs * size_of::<P>() as u64 / MOST_SLABS).next_power_of_two().max(SLAB);
        Buckets {
            shift: width.trailing_zeros(),
            room: bytes as usize / size_of::<P>(),
            buckets: (0..nodes.div_ceil(width)).map(|_| Mutex::new(Bucket::new())).collect(),
        }
    }

    /// Hands the arcs of part `i` to their buckets.
    fn take(&self, i: usize, Scratch { arcs, grouped, starts }: &mut Scratch<P>) {
        let append = |bucket: usize, group: &[P]| {
            if !group.is_empty() {
                let mut bucket =
                    self.buckets[bucket].lock().unwrap_or_else(PoisonError::into_inner);
                bucket.append(group, self.room);
            }
        };
        if self.buckets.len() == 1 {
            return append(0, arcs);
        }
        let bucket = |arc: &P| (arc.row() as u64 >> self.shift) as usize;
        starts.clear();
        starts.resize(self.buckets.len() + 1, 0);
        arcs.iter().for_each(|arc| starts[bucket(arc) + 1] += 1);
        for k in 0..self.buckets.len() {
            starts[k + 1] += starts[k];
        }
        grouped.clear();
        grouped.resize(arcs.len(), P::zeroed());
        for arc in arcs.iter() {
            let slot = &mut starts[bucket(arc)];
            grouped[*slot] = *arc;
            *slot += 1;
        }
        // Every start has moved on to its group's end. Parts begin at different buckets, so that tasks do not
        // queue up for the same one.
        let count = self.buckets.len();
        let first = i * 61 % count;
        for k in (first..count).chain(0..first) {
            let begin = if k == 0 { 0 } else { starts[k - 1] };
            append(k, &grouped[begin..starts[k]]);
        }
    }

    /// Sorts every bucket into its rows.
    fn settle(self, nodes: usize, keep: Keep) -> Csr {
        let buckets: Vec<Bucket<P>> = self
            .buckets
            .into_iter()
            .map(|bucket| bucket.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let width = 1usize << self.shift;
        let rooms: Vec<usize> = buckets.iter().map(|bucket| bucket.arcs).collect();
        let total: usize = rooms.iter().sum();
        // Pages of zeros until they are written: these arrays grow while the buckets go.
        let mut offsets = vec![0u64; nodes + 1];
        let mut columns = vec![0u32; total];
        let mut weights = vec![0f32; if P::WEIGHTED { total } else { 0 }];
        let weighted = rooms.iter().map(|room| if P::WEIGHTED { *room } else { 0 });
        let places = split_lengths(&mut columns, rooms.iter().copied())
            .into_iter()
            .zip(split_lengths(&mut weights, weighted));
        let work: Vec<_> = offsets[1..].chunks_mut(width).zip(buckets).zip(places).collect();
        let found: Vec<Found> = work
            .into_par_iter()
            .enumerate()
            .map_init(Vec::new, |scratch, (i, ((ends, bucket), (columns, weights)))| {
                settle(bucket, i * width, keep, ends, Rows { columns, weights }, scratch)
            })
            .collect();

        let mut bases = Vec::with_capacity(found.len());
        let (mut from, mut to) = (0usize, 0usize);
        for (room, found) in rooms.iter().zip(&found) {
            bases.push(to as u64);
            if from != to {
                columns.copy_within(from..from + found.arcs, to);
                if P::WEIGHTED {
                    weights.copy_within(from..from + found.arcs, to);
                }
            }
            from += room;
            to += found.arcs;
        }
        columns.truncate(to);
        columns.shrink_to_fit();
        weights.truncate(to);
        weights.shrink_to_fit();
        offsets[1..]
            .par_chunks_mut(width)
            .zip(&bases)
            .for_each(|(ends, base)| ends.iter_mut().for_each(|end| *end += base));
        let self_loops = found.iter().map(|found| found.self_loops).sum();
        let duplicates = found.iter().map(|found| found.duplicates).sum();
        let weights = P::WEIGHTED.then_some(weights);
        Csr { offsets, columns, weights, self_loops, duplicates }
    }
}

/// Where a bucket's rows go; weights are empty where arcs have none.
struct Rows<'a> {
    columns: &'a mut [u32],
    weights: &'a mut [f32],
}

/// What settling a bucket left, and what it found.
struct Found {
    arcs: usize,
    self_loops: u64,
    duplicates: u64,
}

/// Turns one bucket into rows: a counting sort by row, then a sort within each row that needs it (arcs
/// that come in order, as from a transpose or a sorted file, do not). `ends[i]` becomes the number of
/// arcs in rows `first..=first + i`; `arcs` is scratch.
fn settle<P: Packed>(
    bucket: Bucket<P>,
    first: usize,
    keep: Keep,
    ends: &mut [u64],
    mut rows: Rows<'_>,
    arcs: &mut Vec<P>,
) -> Found {
    bucket.pieces().for_each(|arc| ends[arc.row() as usize - first] += 1);
    let mut total = 0;
    for end in ends.iter_mut() {
        total += std::mem::replace(end, total);
    }
    arcs.clear();
    arcs.resize(total as usize, P::zeroed());
    for arc in bucket.pieces() {
        let place = &mut ends[arc.row() as usize - first];
        arcs[*place as usize] = *arc;
        *place += 1;
    }
    drop(bucket);

    let mut found = Found { arcs: 0, self_loops: 0, duplicates: 0 };
    let mut begin = 0;
    for end in ends {
        let row = &mut arcs[begin..*end as usize];
        begin = *end as usize;
        sort_row(row);
        rows.emit(row, keep, &mut found);
        *end = found.arcs as u64;
    }
    found
}

impl Rows<'_> {
    /// Appends what is kept of a sorted row.
    fn emit<P: Packed>(&mut self, row: &[P], keep: Keep, found: &mut Found) {
        let (mut previous, mut sum) = (None, 0f64);
        for arc in row {
            let column = arc.column();
            let (self_loop, repeated) = (column == arc.row(), previous == Some(column));
            previous = Some(column);
            found.self_loops += u64::from(self_loop);
            found.duplicates += u64::from(repeated);
            if self_loop && !keep.self_loops {
                continue;
            }
            if repeated && keep.repeated != Repeated::Kept {
                sum += f64::from(arc.weight());
                if P::WEIGHTED && keep.repeated == Repeated::Summed {
                    self.weights[found.arcs - 1] = narrowed(sum, keep.rounded);
                }
                continue;
            }
            self.columns[found.arcs] = column;
            if P::WEIGHTED {
                sum = f64::from(arc.weight());
                self.weights[found.arcs] = arc.weight();
            }
            found.arcs += 1;
        }
    }
}

/// A sum of weights in f32. A whole number that f32 does not hold is NaN, unless it may be `rounded`.
#[inline]
pub(crate) fn narrowed(sum: f64, rounded: bool) -> f32 {
    let narrow = sum as f32;
    let lost = f64::from(narrow) != sum && sum.fract() == 0.0 && narrow.is_finite();
    if lost && !rounded { f32::NAN } else { narrow }
}

fn sort_row<P: Packed>(row: &mut [P]) {
    if row.is_sorted() {
        return;
    }
    if row.len() > PARALLEL_SORT { row.par_sort_unstable() } else { row.sort_unstable() }
}

/// Cuts a slice into consecutive pieces of the given lengths, each for its own writer.
fn split_lengths<T>(mut whole: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    lengths.map(|length| whole.split_off_mut(..length).unwrap_or_default()).collect()
}
