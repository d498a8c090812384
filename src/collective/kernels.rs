//! The kernels that merge, and how they are launched: each by itself, or where it meets those of other GPUs.

use super::{Marked, Marks, MergeOp, Span, Split};
use crate::device::kernels::hive::{Meeting, OP_MAX, OP_MIN, OP_OR, OP_SUM};
use crate::device::kernels::joint::{Exchange, Joint, Mail};
use crate::device::kernels::merge::{FetchArgs, MARKED, MarkedArgs, MergeArgs, SETS};
use crate::device::{CudaDevice, DeviceBuffer, Function, KERNELS, Launch, Pinned, Stream};
use crate::error::{Error, Result};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;
use std::sync::Arc;

/// What launches need to meet those of other GPUs.
pub(super) struct Exchanges {
    pub joint: Joint,
    /// Where kernels of all GPUs meet here. Others write into it until their last joint launch has ended: a fleet lets go of it
    /// after all programs.
    _mail: DeviceBuffer<Mail>,
    at: DeviceBuffer<Meeting>,
    abort: Arc<Pinned<u32>>,
    left: Arc<Pinned<u32>>,
    deadline_ns: u64,
    /// Blocks that have come to meetings, of all launches so far.
    arrived: u64,
}

impl Exchanges {
    /// Of one GPU, where `joint` says whom it meets and its own mail is this.
    pub fn new(device: &CudaDevice, joint: Joint, mail: DeviceBuffer<Mail>) -> Result<Exchanges> {
        Ok(Exchanges {
            joint,
            _mail: mail,
            at: device.alloc("meetings of merges", 1)?,
            abort: device.abort.clone(),
            left: device.left.clone(),
            deadline_ns: device.merge_deadline_ns(),
            arrived: 0,
        })
    }
}

/// Where a launch meets those of other GPUs.
#[derive(Clone, Copy)]
pub(super) struct Meets {
    pub before: bool,
    pub after: bool,
}

/// A launch's part in an exchange; none where hosts and events order launches.
pub(super) type Part<'a> = Option<(&'a mut Exchanges, Meets)>;

/// What a launch of so many blocks is told of it.
fn exchange(part: Part<'_>, blocks: u32) -> Exchange {
    let Some((all, Meets { before, after })) = part else {
        return Exchange { joint: Joint::alone(), ..Exchange::zeroed() };
    };
    let exchange = Exchange {
        joint: all.joint,
        at: all.at.pointer(),
        abort: all.abort.pointer(),
        left: all.left.pointer(),
        deadline_ns: all.deadline_ns,
        arrived: all.arrived,
        before: before.into(),
        after: after.into(),
    };
    all.arrived += u64::from(blocks) * (u64::from(before) + u64::from(after));
    exchange
}

/// The loaded merge kernels of a GPU, which run on its stream.
pub(super) struct MergeKernels {
    name: String,
    stream: Stream,
    /// In the order of [`super::Dtype`].
    reduce: [Function; 6],
    marked: Function,
    fetch: Function,
    /// Most blocks that are resident at once, where nobody shares the GPU.
    resident: u32,
}

/// The addresses of a replica's arrays and of their marks.
pub(super) type Addresses = Vec<[u64; 2]>;

/// A part of an array that another copy has: where element 0 of that copy is, and which bytes of it.
pub(super) type Piece = (u64, Range<u64>);

/// Threads of a block that merges.
const THREADS: u32 = 512;

/// Blocks of which a multiprocessor holds as many at least: the kernels' launch bounds.
const RESIDENT: u32 = 2;

impl MergeKernels {
    pub fn load(device: &mut CudaDevice) -> Result<MergeKernels> {
        let source = KERNELS.iter().find(|k| k.name == "merge.cu");
        let source =
            source.ok_or_else(|| Error::machine("merge.cu is not embedded; this is a bug"))?;
        let mut load = |name| device.function(source, &[], name);
        let reduce = [
            load("merge_reduce_u8")?,
            load("merge_reduce_u32")?,
            load("merge_reduce_u64")?,
            load("merge_reduce_i32")?,
            load("merge_reduce_f32")?,
            load("merge_reduce_f64")?,
        ];
        let (marked, fetch) = (load("merge_marked")?, load("merge_fetch")?);
        Ok(MergeKernels {
            name: device.info.device.clone(),
            stream: device.stream().clone(),
            reduce,
            marked,
            fetch,
            resident: (device.info.multiprocessors * RESIDENT / device.sharers).max(1),
        })
    }

    /// As many blocks as there is work for, of those that may be there at once.
    fn blocks(&self, part: &Part, wanted: u64) -> u32 {
        let most = if part.is_some() { self.resident } else { 2 * self.resident };
        wanted.clamp(1, most.into()) as u32
    }

    /// Launches so many blocks; they are all resident where they meet those of other GPUs.
    fn launch<A: Pod>(
        &self,
        f: Function,
        exchange: &Exchange,
        blocks: u32,
        args: &A,
    ) -> Result<()> {
        let shape = Launch { cooperative: exchange.joint.world > 1, ..Launch::of(blocks, THREADS) };
        crate::device::launch_on(&self.name, self.stream.handle()?, f, shape, args)
    }

    /// `own[range] = op over copies, in the order given`.
    pub fn reduce(&self, span: &Span, copies: &[u64], range: Range<u64>, part: Part) -> Result<()> {
        let mut args = MergeArgs {
            own: span.address,
            start: range.start,
            end: range.end,
            ..MergeArgs::zeroed()
        };
        args.copies[..copies.len()].copy_from_slice(copies);
        args.world = copies.len() as u32;
        args.op = op_code(span.op);
        let bytes = (range.end - range.start) * span.dtype.size() as u64;
        let blocks = self.blocks(&part, bytes.div_ceil(16 * u64::from(THREADS)));
        args.exchange = exchange(part, blocks);
        self.launch(self.reduce[span.dtype as usize], &args.exchange, blocks, &args)
    }

    /// Takes over what others have marked of some arrays. `posted` are everybody's addresses.
    pub fn marked(
        &self,
        arrays: &[(Span, &Marks)],
        posted: &[&[[u64; 2]]],
        rank: usize,
        part: Part,
    ) -> Result<()> {
        let mut args = MarkedArgs::zeroed();
        let world = posted.len() as u32;
        (args.count, args.world, args.rank) = (arrays.len() as u32, world, rank as u32);
        // A warp a word, or a part of one where there would be few.
        let warps = u64::from(self.resident * THREADS / 32);
        let all: u64 = arrays.iter().map(|(_, marks)| marks.words()).sum();
        let shift = (0..2).take_while(|shift| all << (shift + 1) <= warps).count() as u32;
        let mut tasks = 0;
        for (at, (array, (span, marks))) in args.arrays.iter_mut().zip(arrays).enumerate() {
            for (other, addresses) in posted.iter().enumerate() {
                [array.copies[other], array.marks[other]] = addresses[at];
            }
            (array.kind, array.shift) = match marks.of() {
                Marked::Blocks | Marked::Terms => (span.dtype as u32, shift),
                Marked::Lines => (SETS, 0),
            };
            tasks += marks.words() << array.shift;
            (array.length, array.tasks, array.op) = (span.length, tasks, op_code(span.op));
        }
        let blocks = self.blocks(&part, tasks.div_ceil(u64::from(THREADS / 32)));
        args.exchange = exchange(part, blocks);
        self.launch(self.marked, &args.exchange, blocks, &args)
    }

    /// Copies pieces of other copies to the same places of the own, in one launch.
    pub fn fetch(&self, own: u64, pieces: &[Piece], part: Part) -> Result<()> {
        let mut args = FetchArgs { own, count: pieces.len() as u32, ..FetchArgs::zeroed() };
        for (at, (copy, bytes)) in pieces.iter().enumerate() {
            (args.copies[at], args.starts[at], args.ends[at]) = (*copy, bytes.start, bytes.end);
        }
        let bytes: u64 = pieces.iter().map(|(_, bytes)| bytes.end - bytes.start).sum();
        let wanted = bytes.div_ceil(64 * u64::from(THREADS));
        // As many a piece.
        let each = self.blocks(&part, wanted) / args.count.max(1);
        let blocks = each.max(1) * args.count.max(1);
        args.exchange = exchange(part, blocks);
        self.launch(self.fetch, &args.exchange, blocks, &args)
    }

    /// Nothing but a meeting of kernels, before what is queued next.
    pub fn meet(&self, exchanges: &mut Exchanges) -> Result<()> {
        self.fetch(0, &[], Some((exchanges, Meets { before: true, after: false })))
    }
}

/// The most arrays that a launch merges where they are marked.
pub(super) const MOST_MARKED: usize = MARKED as usize;

/// The operation in kernels. A gather has none: it comes to a sum of one copy.
pub(crate) fn op_code(op: MergeOp) -> u32 {
    match op {
        MergeOp::Or => OP_OR,
        MergeOp::Min => OP_MIN,
        MergeOp::Max => OP_MAX,
        MergeOp::Sum | MergeOp::Gather => OP_SUM,
    }
}

/// The slices of the others that merge, whose ranks go from `first` on and whose copies these are: the next rank's first, so that not
/// everybody reads from the same owner at once.
pub(super) fn slices(
    span: &Span,
    copies: &[u64],
    split: &Split,
    (rank, first): (usize, usize),
) -> Vec<Piece> {
    let size = span.dtype.size() as u64;
    let owners = (1..copies.len()).map(|step| (rank - first + step) % copies.len());
    let slice = |owner: usize| {
        let range = split.range(first + owner);
        (copies[owner], range.start * size..range.end * size)
    };
    owners.map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Dtype;

    #[test]
    fn the_slices_of_others_are_in_their_copies_and_the_next_ranks_first() {
        let (label, op) = ("slices", MergeOp::Gather);
        let span = Span { label, address: 0, length: 100, dtype: Dtype::U32, op, alike: 0 };
        let split = Split::of_lengths([10, 20, 30, 0, 40]);
        let all = slices(&span, &[1, 2, 3, 4, 5], &split, (3, 0));
        assert_eq!(all, [(5, 240..400), (1, 0..40), (2, 40..120), (3, 120..240)]);
        // Of a host that has ranks 2 to 4.
        let here = slices(&span, &[7, 8, 9], &split, (4, 2));
        assert_eq!(here, [(7, 120..240), (8, 240..240)]);
        assert!(slices(&span, &[1], &split, (1, 1)).is_empty());
    }
}
