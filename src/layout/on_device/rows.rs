//! Rows of labels, in ranges whose keys fit the scratch memory. Replicas deal the rows among them: each makes those of its
//! chunk, and takes the others' from them.

use super::kernels::launch;
use super::{Making, all, bits};
use crate::collective::Split;
use crate::device::kernels::layout::{
    GatherArgs, KeyForm, OffsetArgs, RepeatArgs, SelectArgs, StoreArgs,
};
use crate::device::kernels::rows::{THREADS, TILE};
use crate::device::{DeviceBuffer, Sorter};
use crate::error::Result;
use crate::fleet::{Placed, VmmArray};
use crate::layout::{Placement, PrepareOptions};
use bytemuck::Zeroable;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of rows that are gathered, and selected, at most. Beyond them the host is faster.
const MOST_GATHERS: usize = 4096;
pub(in crate::layout) const MOST_SELECTS: usize = 64;
/// Arcs from which replicas deal rows: to exchange fewer takes longer than to make them.
const WORTH_DEALING: u64 = if cfg!(test) { 1 } else { 1 << 20 };
/// Ranges of labels in which drawn arcs are counted.
const DRAWN_RANGES: usize = 512;

/// Rows in one direction.
pub(in crate::layout) struct MadeRows {
    /// `[active + 1]`, the same array for all replicas.
    pub offsets: Arc<Vec<u64>>,
    /// The same on the device: u32 or u64 words.
    pub device_offsets: DeviceBuffer<u32>,
    /// `[m]` arcs: columns, columns and weights packed, or columns and weights in two words.
    pub arcs: Placed<u32>,
    /// Arcs beyond the first of the same column in a row; not counted where they have weights.
    pub repeats: u64,
}

/// What rows are made of.
pub(super) struct Work {
    pub form: KeyForm,
    /// Arcs have two words.
    pub pairs: bool,
    pub active: u64,
    pub drop_loops: bool,
}

impl Work {
    fn words(&self) -> u64 {
        if self.pairs { 2 } else { 1 }
    }
}

/// Rows that are made at once.
struct Piece {
    rows: Range<usize>,
    /// Arcs that are drawn for them, repeated ones counted; 0 where rows are not drawn.
    drawn: u64,
}

/// Where the arcs of rows are in the input.
struct Lookup<'a> {
    /// `[rows + 1]` of the rows.
    offsets: &'a DeviceBuffer<u64>,
    /// `[rows]` places in the input less those in the rows, where the arcs of a row lie together there.
    shift: &'a DeviceBuffer<u64>,
    cursor: &'a DeviceBuffer<u64>,
    /// Rows are backward.
    turned: bool,
    /// The arcs of a row lie together; else all arcs are looked at.
    gathers: bool,
}

/// Whose rows are whose, and where they end.
struct Deal {
    /// `[rows + 1]`
    ends: Arc<Vec<u64>>,
    /// Chunks of rows, one a replica; `None` where each makes all.
    chunks: Option<Split>,
    /// The rows that this replica makes.
    own: Range<usize>,
}

impl Deal {
    /// The place of the first arc of each replica's rows, and of the end, in words.
    fn bounds(&self, split: &Split, words: u64) -> Vec<u64> {
        split.bounds().iter().map(|row| self.ends[*row as usize] * words).collect()
    }
}

impl Making<'_> {
    /// Rows of labels, forward or backward; `None` where they take too many ranges. `lengths` are those of nodes where they are
    /// not the input's. A meeting.
    pub fn rows(
        &mut self,
        work: &Work,
        turned: bool,
        lengths: Option<DeviceBuffer<u64>>,
        sorter: &mut Sorter,
    ) -> Result<Option<MadeRows>> {
        let (device, active) = (self.r.device()?, work.active);
        let offsets = device.alloc::<u64>("row offsets", active as usize + 1)?;
        let gathers = lengths.is_none() && self.input.drawn.is_none();
        let shift =
            device.alloc::<u64>("shifts of rows", if gathers { active as usize } else { 0 })?;
        let args = OffsetArgs {
            from: self.input.csr.offsets.pointer(),
            counts: lengths.as_ref().map_or(0, DeviceBuffer::pointer),
            node_of: self.labels.as_ref().map_or(0, |[node_of, _]| node_of.pointer()),
            offsets: offsets.pointer(),
            shift: if gathers { shift.pointer() } else { 0 },
            rows: active,
            ..OffsetArgs::zeroed()
        };
        self.kernels.sums.queue(device, args)?;
        drop(lengths);
        let deal = self.deal(&offsets)?;
        let pieces = match self.input.drawn {
            Some(_) => self.drawn_pieces(&deal, sorter)?,
            None => {
                let spare = 64 - work.form.weight_bits - work.form.column_bits;
                let most_rows = 1usize << spare.min(32);
                let keys = sorter.keys.len() as u64;
                let ranges = ranges(&deal.ends, deal.own.clone(), keys, most_rows);
                Some(ranges.into_iter().map(|rows| Piece { rows, drawn: 0 }).collect())
            }
        };
        // To select a range, all arcs are looked at.
        let most = if gathers { MOST_GATHERS } else { MOST_SELECTS };
        let pieces = pieces.filter(|pieces: &Vec<Piece>| pieces.len() <= most);
        let fits = all(self.r, pieces.is_some())?;
        let Some(pieces) = pieces.filter(|_| fits) else { return Ok(None) };
        let arcs = self.place(&deal, work.words())?;
        let cursor = self.r.device()?.alloc::<u64>("cursor", 1)?;
        let lookup = Lookup { offsets: &offsets, shift: &shift, cursor: &cursor, turned, gathers };
        for piece in pieces {
            let ends = [piece.rows.start, piece.rows.end].map(|row| deal.ends[row]);
            let (begin, count) = (ends[0], ends[1] - ends[0]);
            self.keys(work, &lookup, &piece, (begin, count), sorter)?;
            let (keys, out) = (sorter.keys.pointer(), arcs.pointer());
            let (form, pairs) = (work.form, u32::from(work.pairs));
            let args = StoreArgs { form, keys, out, begin, count, pairs, unused: 0 };
            self.launch(self.kernels.store, count, THREADS, &args)?;
        }
        drop(shift);
        self.complete(deal, offsets, arcs, work.words()).map(Some)
    }

    /// Queues making the sorted keys of a piece, whose arcs are `count` from place `begin` on.
    fn keys(
        &self,
        work: &Work,
        lookup: &Lookup,
        piece: &Piece,
        (begin, count): (u64, u64),
        sorter: &mut Sorter,
    ) -> Result<()> {
        let (device, rows) = (self.r.device()?, &piece.rows);
        let [first, end] = [rows.start, rows.end].map(|row| row as u32);
        if let Some((graph, kernels)) = &self.input.drawn {
            let labels = self.labels.as_ref().map(|[_, label_of]| label_of);
            return graph.draw(device, kernels, labels, first..end, (piece.drawn, count), sorter);
        }
        let (input, form, keys) = (self.input(), work.form, sorter.keys.pointer());
        if lookup.gathers {
            let (offsets, shift) = (lookup.offsets.pointer(), lookup.shift.pointer());
            let args = GatherArgs { input, form, offsets, shift, keys, begin, count, first, end };
            self.launch(self.kernels.gather, count, TILE, &args)?;
        } else {
            lookup.cursor.clear()?;
            let args = SelectArgs {
                input,
                form,
                keys,
                cursor: lookup.cursor.pointer(),
                capacity: sorter.keys.len() as u64,
                arcs: self.input.csr.arcs,
                first,
                end,
                turned: u32::from(lookup.turned),
                drop_loops: u32::from(work.drop_loops),
            };
            self.launch(self.kernels.select, args.arcs, TILE, &args)?;
        }
        let row_bits = bits(rows.len() as u64);
        sorter.sort(device, count, 0..row_bits + form.weight_bits + form.column_bits)
    }

    /// The input's rows. A meeting.
    pub fn as_they_are(&mut self) -> Result<MadeRows> {
        let csr = &self.input.csr;
        let (nodes, arcs) = (csr.nodes as usize, csr.arcs as usize);
        let offsets = self.r.device()?.alloc::<u64>("row offsets", nodes + 1)?;
        offsets.copy_from(&csr.offsets)?;
        let deal = self.deal(&offsets)?;
        if self.wanted.options.placement == Placement::Sharded {
            let arcs = self.place(&deal, 1)?;
            let own = deal.ends[deal.own.start]..deal.ends[deal.own.end];
            let columns = &self.input.csr.columns;
            columns
                .copy_to(arcs.pointer() + 4 * own.start, own.start as usize..own.end as usize)?;
            return self.complete(deal, offsets, arcs, 1);
        }
        // Everybody has all of them.
        let device = self.r.device()?;
        let columns = match Arc::get_mut(&mut self.input.csr) {
            Some(own) => std::mem::replace(&mut own.columns, device.alloc("columns", 0)?),
            None => {
                let copy = device.alloc("columns", arcs)?;
                copy.copy_from(&self.input.csr.columns)?;
                copy
            }
        };
        let deal = Deal { chunks: None, own: 0..nodes, ..deal };
        self.complete(deal, offsets, columns.into(), 1)
    }

    /// Who makes which of the rows that end at `offsets`. A meeting.
    fn deal(&mut self, offsets: &DeviceBuffer<u64>) -> Result<Deal> {
        let ends = match self.r.leads() {
            true => offsets.to_vec().map(|ends| Some(Arc::new(ends))),
            false => Ok(None),
        };
        let ends = self.r.first("row offsets", ends)?;
        let rows = ends.len() - 1;
        let PrepareOptions { chunks, chunk_align, placement, .. } = self.wanted.options;
        let sharded = placement == Placement::Sharded;
        let worth = self.r.collective() != "host" && ends[rows] >= WORTH_DEALING;
        let deals = sharded || (self.r.world() > 1 && worth);
        let chunks = deals.then(|| match sharded {
            true => Split::of(&ends, self.r.shares(), chunk_align, chunks),
            false => {
                Split::by_weight(rows as u64, self.r.shares(), 1, ends[rows], |v| ends[v as usize])
            }
        });
        let own = chunks.as_ref().map_or(0..rows, |chunks| {
            let own = chunks.range(self.r.rank());
            own.start as usize..own.end as usize
        });
        Ok(Deal { ends, chunks, own })
    }

    /// Room for the arcs of all rows, so many words each. A meeting.
    fn place(&mut self, deal: &Deal, words: u64) -> Result<Placed<u32>> {
        let total = deal.ends[deal.ends.len() - 1] * words;
        match (&deal.chunks, self.wanted.options.placement) {
            (Some(chunks), Placement::Sharded) => {
                let label = if self.wanted.weights { "arcs" } else { "columns" };
                let ends = deal.bounds(chunks, 4 * words);
                let arcs = VmmArray::new(self.r, label, &ends)?;
                // A granule that two replicas write may be the other's.
                self.r.barrier(label)?;
                Ok(Placed::Sharded(Arc::new(arcs)))
            }
            _ => Ok(self.r.device()?.alloc::<u32>("arcs", total as usize)?.into()),
        }
    }

    /// Rows of which this replica has made its own. A meeting.
    fn complete(
        &mut self,
        deal: Deal,
        offsets: DeviceBuffer<u64>,
        arcs: Placed<u32>,
        words: u64,
    ) -> Result<MadeRows> {
        let own = deal.ends[deal.own.start]..deal.ends[deal.own.end];
        let mut repeats = match self.wanted.weights {
            true => 0,
            false => self.repeats(&offsets, &arcs, own)?,
        };
        if let Some(chunks) = &deal.chunks {
            let all = self.r.agree("repeated arcs", [repeats, 0, 0, 0])?;
            repeats = all.iter().map(|payload| payload[0]).sum();
            match &arcs {
                Placed::Sharded(_) => self.r.barrier("arcs of all owners")?,
                Placed::Own(arcs) => {
                    let bounds = deal.bounds(chunks, words);
                    let lengths = bounds.windows(2).map(|pair| pair[1] - pair[0]);
                    self.r.gather_on_devices("arcs", arcs, &Split::of_lengths(lengths))?;
                }
            }
        }
        let total = deal.ends[deal.ends.len() - 1];
        let device_offsets = self.kernels.sums.words(self.r.device()?, &offsets, total)?;
        Ok(MadeRows { offsets: deal.ends, device_offsets, arcs, repeats })
    }

    /// Repeated arcs among `own` ones.
    fn repeats(
        &self,
        offsets: &DeviceBuffer<u64>,
        columns: &Placed<u32>,
        own: Range<u64>,
    ) -> Result<u64> {
        let device = self.r.device()?;
        let repeats = device.alloc::<u64>("repeated arcs", 1)?;
        let args = RepeatArgs {
            offsets: offsets.pointer(),
            columns: columns.pointer(),
            repeats: repeats.pointer(),
            begin: own.start,
            stop: own.end,
            rows: offsets.len() as u32 - 1,
            unused: 0,
        };
        launch(device, self.kernels.repeats, own.end - own.start, TILE, &args)?;
        repeats.element(0)
    }

    /// The own rows in pieces; `None` where one has more drawn arcs than there are keys.
    fn drawn_pieces(&self, deal: &Deal, sorter: &Sorter) -> Result<Option<Vec<Piece>>> {
        let Some((graph, kernels)) = &self.input.drawn else { return Ok(None) };
        let keys = sorter.keys.len() as u64;
        let arcs = deal.ends[deal.own.end] - deal.ends[deal.own.start];
        let each = arcs.div_ceil(DRAWN_RANGES as u64 / 2).max(1);
        let fine = ranges(&deal.ends, deal.own.clone(), each, usize::MAX);
        let labels = self.labels.as_ref().map(|[_, label_of]| label_of);
        let drawn = graph.count(self.r.device()?, kernels, labels, &fine)?;
        if drawn.iter().any(|drawn| *drawn > keys) {
            return Ok(None);
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for (rows, drawn) in fine.into_iter().zip(drawn) {
            match pieces.last_mut() {
                Some(piece) if piece.drawn + drawn <= keys => {
                    piece.rows.end = rows.end;
                    piece.drawn += drawn;
                }
                _ => pieces.push(Piece { rows, drawn }),
            }
        }
        Ok(Some(pieces))
    }
}

/// Ranges of the rows `own`, at most so many each and with at most `most` arcs; a row with more is alone.
pub(in crate::layout) fn ranges(
    offsets: &[u64],
    own: Range<usize>,
    most: u64,
    rows: usize,
) -> Vec<Range<usize>> {
    let (mut ranges, mut first) = (Vec::new(), own.start);
    let offsets = &offsets[..=own.end];
    while first < own.end {
        let last = offsets.partition_point(|end| *end <= offsets[first] + most) - 1;
        let last = last.max(first + 1).min(first.saturating_add(rows));
        ranges.push(first..last);
        first = last;
    }
    ranges
}
