//! R-MAT graphs made on a GPU: draw, sort, thin out, write rows. The same graph as on the host, to the bit.
//!
//! Edges are a function of (seed, edge), so they are not stored but drawn again for every pass over some
//! of the rows (kernels/rmat.cu); what a pass keeps is sorted as 64-bit keys (kernels/sort.cu). The order
//! in which keys arrive depends on the schedule, what is left after the sort does not.

use crate::device::kernels::rmat::{
    self, ArcArgs, CountArgs, DegreeArgs, EDGES, JoinArgs, KeyArgs, MAX_RANGES, RangeArgs, RowArgs,
    ShiftArgs, THREADS,
};
use crate::device::{
    CudaDevice, DeviceBuffer, DeviceCsr, Function, Launch, MAX_KEYS, SortKernels, Sorter, room,
    source,
};
use crate::error::{Error, Result};
use crate::generate::passes::{Pass, bucket_shift, passes};
use crate::generate::rmat::{Rmat, Sampler};
use crate::generate::{DeviceReport, DeviceTimes, PassLimits};
use crate::graph::milliseconds;
use crate::hash::weight_key;
use std::ops::Range;
use std::time::Instant;

/// Edges of one launch: tens of milliseconds, and few enough for 32-bit counters of a block.
const EDGES_PER_LAUNCH: u64 = 1 << 30;
/// Keys of one pass: 18.5 GB with the spare ones and the sort's tables. A little above a power of two, so
/// that 2^k passes suffice for 2^(30 + k) arcs although buckets do not split.
const KEYS_PER_PASS: u64 = (1 << 30) + (1 << 26);
/// Device memory that is left alone: the context's and the driver's own.
const RESERVE: u64 = 512 << 20;
/// Device bytes a key of a pass takes, the sort's tables included.
const BYTES_PER_KEY: u64 = 17;

/// The loaded kernels and how to launch them.
pub(crate) struct RmatKernels {
    pub sort: SortKernels,
    count: Function,
    keys: Function,
    rows: Function,
    arcs: Function,
    degree: Function,
    ranges: Function,
    shift: Function,
    join: Function,
    blocks: u32,
    compile_ms: f64,
}

impl RmatKernels {
    /// Compiles and loads them: seconds, where the cache does not have them.
    pub(super) fn load(device: &mut CudaDevice) -> Result<RmatKernels> {
        let start = Instant::now();
        let sort = SortKernels::load(device)?;
        let mut load = |name| device.function(source("rmat.cu"), &[], name);
        Ok(RmatKernels {
            sort,
            count: load("rmat_count")?,
            keys: load("rmat_keys")?,
            rows: load("rmat_rows")?,
            arcs: load("rmat_arcs")?,
            degree: load("rmat_degree")?,
            ranges: load("rmat_ranges")?,
            shift: load("rmat_shift")?,
            join: load("rmat_join")?,
            blocks: (device.info.multiprocessors * 16 / device.sharers).max(1),
            compile_ms: milliseconds(start),
        })
    }

    /// A launch for `elements` that strides over what does not fit.
    fn shape(&self, elements: u64) -> Launch {
        let wanted = elements.div_ceil(u64::from(THREADS));
        let blocks = wanted.clamp(1, u64::from(self.blocks)) as u32;
        Launch::of(blocks, THREADS)
    }
}

fn device_sampler(rmat: &Rmat) -> rmat::Sampler {
    let sampler = Sampler::new(rmat);
    rmat::Sampler {
        key: sampler.key,
        scale: sampler.scale,
        mask: sampler.permutation.mask,
        add: sampler.permutation.rounds.map(|round| round.0),
        odd: sampler.permutation.rounds.map(|round| round.1),
        upper: sampler.upper.map(|upper| upper as u32),
        unused: 0,
    }
}

/// Does `work` and adds its time to `ms`.
fn timed<T>(ms: &mut f64, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let done = work()?;
    *ms += milliseconds(start);
    Ok(done)
}

/// What all phases look at.
pub(super) struct Work<'a> {
    device: &'a CudaDevice,
    rmat: &'a Rmat,
    sampler: rmat::Sampler,
    kernels: &'a RmatKernels,
    limits: &'a PassLimits,
}

impl<'a> Work<'a> {
    pub fn new(
        device: &'a CudaDevice,
        kernels: &'a RmatKernels,
        rmat: &'a Rmat,
        limits: &'a PassLimits,
    ) -> Work<'a> {
        Work { device, rmat, sampler: device_sampler(rmat), kernels, limits }
    }

    /// The rows of replica `rank`, offsets counted from 0 on and among room for those of all; with `arcs`, or offsets alone.
    pub fn build(
        &self,
        [rank, world]: [usize; 2],
        arcs: bool,
    ) -> Result<(Range<u64>, DeviceCsr, DeviceReport)> {
        let (device, nodes) = (self.device, 1u64 << self.rmat.scale);
        let (share, shift) = (self.share(rank, world), bucket_shift(self.rmat.scale));
        let start = Instant::now();
        let mut times =
            DeviceTimes { compile_ms: self.kernels.compile_ms, ..DeviceTimes::default() };
        // Replicas that have made their rows exchange them.
        let all = 2 * self.rmat.edges();
        let (held, most) = match (arcs, world) {
            (true, 1) => (self.bytes(all), KEYS_PER_PASS),
            (true, _) => (self.bytes(all + all / world as u64), KEYS_PER_PASS),
            // There is room for longer passes.
            (false, _) => (self.bytes(0), 2 * KEYS_PER_PASS / u64::from(device.sharers)),
        };
        let most_keys = self.most_keys(held, most)?;

        let buckets = timed(&mut times.draw_ms, || self.count())?;
        let buckets = &buckets[(share.start >> shift) as usize..(share.end >> shift) as usize];
        let drawn: u64 = buckets.iter().sum();
        let keys = self.limits.keys.map_or(most_keys, |keys| keys.clamp(1, most_keys));
        let passes = passes(buckets, shift, keys);
        let capacity = passes.iter().map(|pass| pass.arcs).max().unwrap_or(0);
        if capacity > most_keys {
            return Err(self.too_large(held + BYTES_PER_KEY * capacity));
        }

        let allocated = Instant::now();
        let room = if arcs { drawn as usize } else { 0 };
        let mut csr = DeviceCsr {
            offsets: device.alloc("row offsets", nodes as usize + 1)?,
            columns: device.alloc("columns", room)?,
            weights: None,
            pair_key: Some(weight_key(self.rmat.seed)),
            nodes,
            arcs: 0,
        };
        let mut sorter = Sorter::new(device, self.kernels.sort, capacity)?;
        let cursor = device.alloc::<u64>("cursor", 1)?;
        device.mark(0, true)?; // clearing the arrays is work to wait for
        device.wait()?;
        times.alloc_ms = milliseconds(allocated);

        for pass in &passes {
            let pass = Pass { first_row: pass.first_row + share.start as u32, ..*pass };
            self.pass(&pass, &mut sorter, &cursor, &mut csr, &mut times)?;
        }
        let max_degree = timed(&mut times.unique_ms, || self.max_degree(&csr, share.clone()))?;
        times.total_ms = milliseconds(start);
        let held = self.bytes(room as u64);
        let report = DeviceReport {
            times,
            passes: passes.len(),
            drawn_arcs: drawn,
            max_degree,
            graph_bytes: held,
            peak_bytes: held + Sorter::bytes(capacity),
        };
        Ok((share, csr, report))
    }

    /// Device bytes of a graph of so many arcs.
    fn bytes(&self, arcs: u64) -> u64 {
        8 * ((1u64 << self.rmat.scale) + 1) + 4 * arcs
    }

    /// Keys of a pass, at most `most`, that memory has room for beside `graph` bytes of the graph.
    fn most_keys(&self, graph: u64, most: u64) -> Result<u64> {
        let room = room(&self.device.context)?.saturating_sub(RESERVE);
        let keys = room.saturating_sub(graph) / BYTES_PER_KEY;
        if keys == 0 {
            return Err(self.too_large(graph));
        }
        Ok(keys.min(most).min(MAX_KEYS))
    }

    fn too_large(&self, bytes: u64) -> Error {
        let free = room(&self.device.context).unwrap_or(0);
        Error::machine(format!(
            "{}: generating rmat:{},ef={} needs {bytes} bytes of device memory and {free} are free; use \
             a smaller graph, or --devices host",
            self.device.info.device, self.rmat.scale, self.rmat.edge_factor
        ))
    }

    /// First edge and count of every launch that draws.
    fn launches(&self) -> impl Iterator<Item = (u64, u64)> {
        let edges = self.rmat.edges();
        let step = self.limits.edges.unwrap_or(EDGES_PER_LAUNCH).clamp(1, EDGES_PER_LAUNCH);
        (0..edges.div_ceil(step)).map(move |k| (k * step, step.min(edges - k * step)))
    }

    /// Arcs by bucket of rows, self loops left out.
    fn count(&self) -> Result<Vec<u64>> {
        let shift = bucket_shift(self.rmat.scale);
        let buckets = self.device.alloc::<u64>("arcs by bucket", 1 << (self.rmat.scale - shift))?;
        for (first, count) in self.launches() {
            let args = CountArgs {
                sampler: self.sampler,
                first,
                count,
                buckets: buckets.pointer(),
                shift,
                bucket_count: buckets.len() as u32,
            };
            self.device.launch(self.kernels.count, self.kernels.shape(count), &args)?;
        }
        self.device.wait()?;
        buckets.to_vec()
    }

    /// The rows of one pass, from nothing to their place in `csr`.
    fn pass(
        &self,
        pass: &Pass,
        sorter: &mut Sorter,
        cursor: &DeviceBuffer<u64>,
        csr: &mut DeviceCsr,
        times: &mut DeviceTimes,
    ) -> Result<()> {
        let arcs = self.keys(pass, None, sorter, cursor, times)?;
        timed(&mut times.unique_ms, || self.write(pass, sorter, arcs, csr))
    }

    /// The arcs of the rows of `pass`, nodes or their `labels`, as distinct sorted keys; how many.
    pub fn keys(
        &self,
        pass: &Pass,
        labels: Option<&DeviceBuffer<u32>>,
        sorter: &mut Sorter,
        cursor: &DeviceBuffer<u64>,
        times: &mut DeviceTimes,
    ) -> Result<u64> {
        timed(&mut times.draw_ms, || self.draw(pass, labels, sorter, cursor))?;
        timed(&mut times.sort_ms, || {
            let row_bits = u32::BITS - (pass.rows - 1).leading_zeros();
            sorter.sort(self.device, pass.arcs, 0..self.rmat.scale + row_bits)?;
            self.device.wait()
        })?;
        timed(&mut times.unique_ms, || sorter.unique(self.device, pass.arcs))
    }

    /// The nodes whose arcs are counted by replica `rank`.
    pub fn share(&self, rank: usize, world: usize) -> Range<u64> {
        let shift = bucket_shift(self.rmat.scale);
        let buckets = 1u64 << (self.rmat.scale - shift);
        let bound = |rank: u64| (buckets * rank / world as u64) << shift;
        bound(rank as u64)..bound(rank as u64 + 1)
    }

    /// Passes over all rows, of at most so many keys where rows allow that.
    pub fn all_passes(&self, keys: u64) -> Result<Vec<Pass>> {
        Ok(passes(&self.count()?, bucket_shift(self.rmat.scale), keys))
    }

    /// Queues adding `by` to these offsets.
    pub fn shift(&self, offsets: &DeviceBuffer<u64>, range: Range<u64>, by: u64) -> Result<()> {
        let (first, count) = (offsets.pointer() + 8 * range.start, range.end - range.start);
        let args = ShiftArgs { offsets: first, count, by };
        self.device.launch(self.kernels.shift, self.kernels.shape(count), &args)
    }

    /// How many arcs are drawn with a row in each of these ranges of labels, which follow one another.
    pub fn count_ranges(
        &self,
        labels: Option<&DeviceBuffer<u32>>,
        ranges: &[Range<usize>],
    ) -> Result<Vec<u64>> {
        let Some(last) = ranges.last() else { return Ok(Vec::new()) };
        if ranges.len() > MAX_RANGES as usize {
            return Err(Error::machine(format!("{} ranges of rows; this is a bug", ranges.len())));
        }
        let ends = ranges.iter().map(|range| range.start).chain([last.end]);
        let ends: Vec<u32> = ends.map(|end| end as u32).collect();
        let bounds = self.device.alloc::<u32>("ranges of rows", ends.len())?;
        bounds.upload(&ends)?;
        let arcs = self.device.alloc::<u64>("arcs by range", ranges.len())?;
        for (first, count) in self.launches() {
            let args = RangeArgs {
                sampler: self.sampler,
                first,
                count,
                labels: labels.map_or(0, DeviceBuffer::pointer),
                bounds: bounds.pointer(),
                arcs: arcs.pointer(),
                ranges: ranges.len() as u32,
                unused: 0,
            };
            self.device.launch(self.kernels.ranges, self.kernels.shape(count), &args)?;
        }
        self.device.wait()?;
        arcs.to_vec()
    }

    /// Queues joining the trees of the ends of `edges`, in `parent`; those within `giant` need no look.
    pub fn join(&self, parent: &DeviceBuffer<u32>, giant: u32, edges: Range<u64>) -> Result<()> {
        for (first, count) in self.launches() {
            let (first, end) = (first.max(edges.start), (first + count).min(edges.end));
            if first >= end {
                continue;
            }
            let (sampler, parent) = (self.sampler, parent.pointer());
            let args = JoinArgs { sampler, first, count: end - first, parent, giant, unused: 0 };
            self.device.launch(self.kernels.join, self.kernels.shape(args.count), &args)?;
        }
        Ok(())
    }

    /// The keys of `pass`, in any order.
    fn draw(
        &self,
        pass: &Pass,
        labels: Option<&DeviceBuffer<u32>>,
        sorter: &Sorter,
        cursor: &DeviceBuffer<u64>,
    ) -> Result<()> {
        cursor.clear()?;
        for (first, count) in self.launches() {
            let args = KeyArgs {
                sampler: self.sampler,
                first,
                count,
                labels: labels.map_or(0, DeviceBuffer::pointer),
                keys: sorter.keys.pointer(),
                cursor: cursor.pointer(),
                capacity: pass.arcs,
                first_row: pass.first_row,
                rows: pass.rows,
            };
            self.device.launch(
                self.kernels.keys,
                self.kernels.shape(count.div_ceil(EDGES.into())),
                &args,
            )?;
        }
        self.device.wait()?;
        let drawn = cursor.element(0)?;
        if drawn == pass.arcs {
            return Ok(());
        }
        Err(Error::machine(format!(
            "{}: {drawn} arcs were drawn for the {} rows from {}, and {} had been counted; this is a bug",
            self.device.info.device, pass.rows, pass.first_row, pass.arcs
        )))
    }

    /// Offsets and columns of the pass's rows from its sorted, distinct keys.
    fn write(&self, pass: &Pass, sorter: &Sorter, arcs: u64, csr: &mut DeviceCsr) -> Result<()> {
        let (keys, scale) = (sorter.keys.pointer(), self.rmat.scale);
        let rows = RowArgs {
            keys,
            offsets: csr.offsets.pointer(),
            count: arcs,
            base: csr.arcs,
            first_row: pass.first_row,
            rows: pass.rows,
            scale,
            unused: 0,
        };
        let shape = self.kernels.shape(u64::from(pass.rows) + 1);
        self.device.launch(self.kernels.rows, shape, &rows)?;
        csr.arcs += arcs;
        if csr.columns.is_empty() {
            // Only offsets are wanted.
            return self.device.wait();
        }
        let args = ArcArgs {
            columns: csr.columns.pointer(),
            base: rows.base,
            ..self.arc_args(sorter, arcs)
        };
        self.device.launch(self.kernels.arcs, self.kernels.shape(arcs), &args)?;
        self.device.wait()
    }

    /// The columns of the pass's rows from its sorted, distinct keys, to the front of `columns`. Waits.
    pub fn columns(&self, sorter: &Sorter, arcs: u64, columns: &DeviceBuffer<u32>) -> Result<()> {
        let columns = columns.pointer();
        let args = ArcArgs { columns, ..self.arc_args(sorter, arcs) };
        self.device.launch(self.kernels.arcs, self.kernels.shape(arcs), &args)?;
        self.device.wait()
    }

    fn arc_args(&self, sorter: &Sorter, count: u64) -> ArcArgs {
        ArcArgs {
            keys: sorter.keys.pointer(),
            columns: 0,
            count,
            base: 0,
            scale: self.rmat.scale,
            unused: 0,
        }
    }

    /// The largest out-degree of some nodes.
    fn max_degree(&self, csr: &DeviceCsr, nodes: Range<u64>) -> Result<u64> {
        let most = self.device.alloc::<u64>("largest degree", 1)?;
        let offsets = csr.offsets.pointer() + 8 * nodes.start;
        let args = DegreeArgs { offsets, most: most.pointer(), nodes: nodes.end - nodes.start };
        self.device.launch(self.kernels.degree, self.kernels.shape(args.nodes), &args)?;
        self.device.wait()?;
        most.element(0)
    }
}
