//! From arcs in any order to a sorted CSR, in parallel and without sharing a mutable array.
//!
//! Idea: rows are cut into *buckets* of equal, power-of-two width. Each *block* of arcs is made by one
//! task, which groups its own arcs by bucket (a counting sort in cache). Then each bucket collects its
//! piece of every block, sorts it and emits finished rows. Nothing is written by two tasks, and since
//! every row ends up sorted by (column, weight), the result is the same for any thread count.
//!
//! Memory at the peak: two copies of the packed arcs' columns plus one of the packed arcs
//! (8 bytes an arc, 16 with weights).

use rayon::prelude::*;

/// Arcs that a bucket should hold: a megabyte of packed arcs sorts inside a core's own cache.
const ARCS_PER_BUCKET: u64 = 1 << 17;
/// Rows that a bucket may have even if they are empty.
const NODES_PER_BUCKET: u64 = 1 << 20;
/// Above this a block's groups become too short to copy well.
const MOST_BUCKETS: u64 = 4096;
/// A row longer than this (a hub) is sorted by all threads together.
const PARALLEL_SORT: usize = 1 << 20;
/// Arcs in a block, where the caller can choose.
pub(crate) const ARCS_PER_BLOCK: usize = 1 << 18;

/// An arc in one integer whose order is (row, column, weight).
pub(crate) trait Packed: Copy + Ord + Send + Sync {
    /// Fills arrays before they are written.
    const ZERO: Self;
    /// Whether a weight is inside.
    const WEIGHTED: bool;
    /// Packs an arc; `weight` must be >= 0 and not -0, for its bits to sort as it does.
    fn pack(row: u32, column: u32, weight: f32) -> Self;
    fn row(self) -> u32;
    fn column(self) -> u32;
    fn weight(self) -> f32;
}

impl Packed for u64 {
    const ZERO: u64 = 0;
    const WEIGHTED: bool = false;
    #[inline]
    fn pack(row: u32, column: u32, _: f32) -> u64 {
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

impl Packed for u128 {
    const ZERO: u128 = 0;
    const WEIGHTED: bool = true;
    #[inline]
    fn pack(row: u32, column: u32, weight: f32) -> u128 {
        (<u64 as Packed>::pack(row, column, 1.0) as u128) << 32 | weight.to_bits() as u128
    }
    #[inline]
    fn row(self) -> u32 {
        (self >> 64) as u32
    }
    #[inline]
    fn column(self) -> u32 {
        (self >> 32) as u32
    }
    #[inline]
    fn weight(self) -> f32 {
        f32::from_bits(self as u32)
    }
}

/// What to do with self loops and repeated pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Keep every arc and count the odd ones.
    All,
    /// Drop self loops, and all but the lightest arc of a pair.
    Simple,
}

/// A finished CSR and what was counted on the way.
pub(crate) struct Csr {
    pub offsets: Vec<u64>,
    pub columns: Vec<u32>,
    pub weights: Option<Vec<f32>>,
    pub self_loops: u64,
    pub duplicates: u64,
}

/// Builds the CSR of `nodes` rows from `blocks` blocks of arcs, about `arcs` in all.
///
/// `fill(b, out)` appends the arcs of block `b`, in any order; every row must be below `nodes`.
pub(crate) fn build<P: Packed>(
    nodes: usize,
    arcs: u64,
    keep: Keep,
    blocks: usize,
    fill: impl Fn(usize, &mut Vec<P>) + Sync,
) -> Csr {
    let buckets = Buckets::cut(nodes, arcs);
    let grouped: Vec<Block<P>> = (0..blocks)
        .into_par_iter()
        .map_init(Vec::new, |scratch, block| {
            scratch.clear();
            fill(block, scratch);
            buckets.group(scratch)
        })
        .collect();
    let mut offsets = vec![0u64; nodes + 1];
    let settled: Vec<Rows> = offsets[1..]
        .par_chunks_mut(buckets.width())
        .enumerate()
        .map_init(Vec::new, |scratch, (bucket, ends)| {
            let pieces: Vec<&[P]> = grouped.iter().map(|block| block.bucket(bucket)).collect();
            settle(&pieces, bucket * buckets.width(), keep, ends, scratch)
        })
        .collect();
    drop(grouped);

    let mut bases = Vec::with_capacity(settled.len());
    let mut total = 0u64;
    for rows in &settled {
        bases.push(total);
        total += rows.columns.len() as u64;
    }
    offsets[1..]
        .par_chunks_mut(buckets.width())
        .zip(&bases)
        .for_each(|(ends, base)| ends.iter_mut().for_each(|end| *end += base));
    let self_loops = settled.iter().map(|rows| rows.self_loops).sum();
    let duplicates = settled.iter().map(|rows| rows.duplicates).sum();
    let (columns, weights): (Vec<_>, Vec<_>) =
        settled.into_iter().map(|rows| (rows.columns, rows.weights)).unzip();
    let columns = concatenate(columns);
    let weights = P::WEIGHTED.then(|| concatenate(weights));
    Csr { offsets, columns, weights, self_loops, duplicates }
}

/// How rows are cut into buckets: bucket = row >> shift.
struct Buckets {
    shift: u32,
    count: usize,
}

/// One task's arcs, grouped by bucket: bucket k is `arcs[starts[k]..starts[k + 1]]`.
struct Block<P> {
    starts: Vec<u32>,
    arcs: Vec<P>,
}

impl<P> Block<P> {
    fn bucket(&self, k: usize) -> &[P] {
        &self.arcs[self.starts[k] as usize..self.starts[k + 1] as usize]
    }
}

impl Buckets {
    fn cut(nodes: usize, arcs: u64) -> Buckets {
        let wanted = (arcs / ARCS_PER_BUCKET).max(nodes as u64 / NODES_PER_BUCKET);
        let wanted = wanted.clamp(1, MOST_BUCKETS) as usize;
        let width = nodes.div_ceil(wanted).next_power_of_two();
        Buckets { shift: width.trailing_zeros(), count: nodes.div_ceil(width) }
    }

    fn width(&self) -> usize {
        1 << self.shift
    }

    fn group<P: Packed>(&self, arcs: &[P]) -> Block<P> {
        let bucket = |arc: &P| (arc.row() as u64 >> self.shift) as usize;
        let mut starts = vec![0u32; self.count + 1];
        if self.count == 1 {
            starts[1] = arcs.len() as u32;
            return Block { starts, arcs: arcs.to_vec() };
        }
        for arc in arcs {
            starts[bucket(arc) + 1] += 1;
        }
        for k in 0..self.count {
            starts[k + 1] += starts[k];
        }
        let mut next = starts.clone();
        let mut grouped = vec![P::ZERO; arcs.len()];
        for arc in arcs {
            let slot = &mut next[bucket(arc)];
            grouped[*slot as usize] = *arc;
            *slot += 1;
        }
        Block { starts, arcs: grouped }
    }
}

/// The finished rows of one bucket.
struct Rows {
    columns: Vec<u32>,
    weights: Vec<f32>,
    self_loops: u64,
    duplicates: u64,
}

/// Turns one bucket into rows: a counting sort by row, then a sort within each row that needs it (arcs
/// that come in order, as from a transpose or a sorted file, do not). `ends[i]` becomes the number of
/// arcs in rows `first..=first + i`; `arcs` is scratch.
fn settle<P: Packed>(
    pieces: &[&[P]],
    first: usize,
    keep: Keep,
    ends: &mut [u64],
    arcs: &mut Vec<P>,
) -> Rows {
    let every = || pieces.iter().flat_map(|piece| piece.iter());
    every().for_each(|arc| ends[arc.row() as usize - first] += 1);
    let mut total = 0;
    for end in ends.iter_mut() {
        total += std::mem::replace(end, total);
    }
    arcs.clear();
    arcs.resize(total as usize, P::ZERO);
    for arc in every() {
        let place = &mut ends[arc.row() as usize - first];
        arcs[*place as usize] = *arc;
        *place += 1;
    }

    let mut rows = Rows {
        columns: Vec::with_capacity(total as usize),
        weights: Vec::with_capacity(if P::WEIGHTED { total as usize } else { 0 }),
        self_loops: 0,
        duplicates: 0,
    };
    let mut begin = 0;
    for end in ends {
        let row = &mut arcs[begin..*end as usize];
        begin = *end as usize;
        sort_row(row);
        let mut previous = None;
        for arc in row {
            let column = arc.column();
            let (self_loop, repeated) = (column == arc.row(), previous == Some(column));
            previous = Some(column);
            if keep == Keep::Simple && (self_loop || repeated) {
                continue;
            }
            rows.self_loops += u64::from(self_loop);
            rows.duplicates += u64::from(repeated);
            rows.columns.push(column);
            if P::WEIGHTED {
                rows.weights.push(arc.weight());
            }
        }
        *end = rows.columns.len() as u64;
    }
    rows
}

fn sort_row<P: Packed>(row: &mut [P]) {
    if row.is_sorted() {
        return;
    }
    if row.len() > PARALLEL_SORT { row.par_sort_unstable() } else { row.sort_unstable() }
}

/// Joins parts in order, copying in parallel.
fn concatenate<T: Copy + Default + Send + Sync>(mut parts: Vec<Vec<T>>) -> Vec<T> {
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let mut whole = vec![T::default(); parts.iter().map(Vec::len).sum()];
    let places = split_lengths(&mut whole, parts.iter().map(Vec::len));
    places.into_par_iter().zip(parts).for_each(|(place, part)| place.copy_from_slice(&part));
    whole
}

/// Cuts a slice into consecutive pieces of the given lengths, each for its own writer.
pub(crate) fn split_lengths<T>(
    mut whole: &mut [T],
    lengths: impl Iterator<Item = usize>,
) -> Vec<&mut [T]> {
    lengths
        .map(|length| {
            let (piece, rest) = std::mem::take(&mut whole).split_at_mut(length);
            whole = rest;
            piece
        })
        .collect()
}
