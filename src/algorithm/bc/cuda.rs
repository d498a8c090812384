//! The steps of betweenness on a GPU: a thin hand that fills in the arguments of `kernels/bc.cu`.

mod args;

use super::{Done, Exchange, Values};
use crate::collective::Replicated;
use crate::device::{CudaDevice, DeviceBuffer, Function, Launch, Pinned, source};
use crate::error::{Error, Result};
use crate::layout::memory::{BatchState, SEGMENT};
use crate::layout::{ColumnRows, DeviceTopology, TopologyRows};
use args::{Args, Status, Task};
use bytemuck::Zeroable;
use std::ops::Range;

/// As in kernels/bc.cu.
const THREADS: u32 = 256;

/// In what form batches are held, the same on all replicas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// A power of two.
    pub lanes: usize,
    /// f64, not f32.
    pub double: bool,
    /// Of a perturbed fleet.
    pub perturbed: bool,
}

/// Lanes on one device, and what their steps need.
pub(crate) struct Workspace {
    kernel: Function,
    /// Blocks that can be resident.
    blocks: u32,
    /// `[sources]` labels, by position.
    sources: DeviceBuffer<u32>,
    /// What is zeroed before a batch, as [`BatchState`] lays it out.
    state: DeviceBuffer<u64>,
    /// The word of it from which on it is zeroed before every launch but a batch's first.
    meeting: usize,
    /// `[segments, lanes]` f32 or f64.
    parts: DeviceBuffer<u32>,
    /// `[active]`
    candidate: DeviceBuffer<u32>,
    /// `[active * lanes]`
    lists: DeviceBuffer<u64>,
    /// `[2, active + 2]` where the list of a level begins, and arcs out of what was reached up to it.
    first: DeviceBuffer<u64>,
    /// `[segments, 2]` (row, segment of the row) out and, where they differ, in.
    out_long: DeviceBuffer<u32>,
    in_long: Option<DeviceBuffer<u32>>,
    status: Pinned<Status>,
    /// What depends on nothing but the graph and the arrays.
    fixed: Args,
    /// The own chunk where levels are cut, else everything.
    own: Range<u64>,
    /// Of the batch: its sources, where the list of each level begins and who found which part of it.
    batch: Range<usize>,
    starts: Vec<u64>,
    parts_of: Vec<Range<u64>>,
    looked: u64,
}

/// Whether gathers had better ask which neighbours have anything, f32 in so many lanes: where what they gather
/// is beyond an H200's L2 (48 MiB), and hubs, which most arcs lead to, are too (4 M nodes). R-MAT 25 takes 87 % of the
/// time in eight lanes and 91 in one; R-MAT 22 in eight, 77 MB of 2.4 M nodes, took 105.
fn asking_pays(active: usize, lanes: usize) -> bool {
    active >= 1 << 22 && active * lanes >= 12 << 20
}

/// Which kernels are compiled: those that never ask, that ask where most is 0, or, on perturbed fleets, always.
fn asks(active: usize, form: Form) -> u32 {
    match (form.double, form.perturbed) {
        (true, _) => 0,
        (false, true) => 2,
        (false, false) => u32::from(asking_pays(active, form.lanes)),
    }
}

/// (row, segment) of all rows that are too long for one warp.
fn segments(rows: &ColumnRows, active: usize) -> Vec<u32> {
    let long = (0..active).filter(|v| rows.degree(*v) > SEGMENT);
    let cut =
        |v: usize| (0..rows.degree(v).div_ceil(SEGMENT)).flat_map(move |i| [v as u32, i as u32]);
    long.flat_map(cut).collect()
}

impl Workspace {
    /// Makes room for batches of the sources `labels`. `chunk` is the own one where levels are cut.
    pub fn new(
        device: &mut CudaDevice,
        p: &TopologyRows,
        rows: &DeviceTopology,
        labels: &[u32],
        form: Form,
        chunk: Option<Range<u64>>,
    ) -> Result<Workspace> {
        let Form { lanes, double, .. } = form;
        let lane_option = format!("-DHIVE_LANES={lanes}");
        let number_option = format!("-DHIVE_DOUBLE={}", u32::from(double));
        let (columns, words) = (&p.columns, if double { 2 } else { 1 });
        let active = columns.active;
        let asks = asks(active, form);
        let asks_option = format!("-DHIVE_ASKS={asks}");
        let options = [lane_option, number_option, asks_option];
        let options = [&rows.options()[..], &options[..]].concat();
        let kernel = device.function(source("bc.cu"), &options, "bc_batch")?;
        let out = segments(&columns.out, active);
        let into = columns.into.as_ref().map(|rows| segments(rows, active));
        let most = into.as_ref().map_or(0, Vec::len).max(out.len()) / 2;
        let listed = |words: &[u32]| -> Result<DeviceBuffer<u32>> {
            let buffer = device.alloc("long rows", words.len())?;
            buffer.upload(words)?;
            Ok(buffer)
        };
        // Long rows are listed by label.
        let stamped = out.chunks(2).last().map_or(0, |last| last[0] as usize + 1);
        let state = BatchState::new(active, lanes, double, stamped);
        let sources = device.alloc("sources", labels.len())?;
        sources.upload(labels)?;
        let mut workspace = Workspace {
            kernel,
            blocks: device.resident_blocks(kernel, THREADS, 0)?,
            sources,
            state: device.alloc("state of a batch", state.bytes as usize / 8)?,
            meeting: state.meeting as usize / 8,
            parts: device.alloc("sums of segments", most * lanes * words)?,
            candidate: device.alloc("candidates", active)?,
            lists: device.alloc("lists of levels", active * lanes)?,
            first: device.alloc("first of levels", 2 * (active + 2))?,
            out_long: listed(&out)?,
            in_long: into.as_deref().map(listed).transpose()?,
            status: Pinned::new(&device.context, 1)?,
            fixed: Args::zeroed(),
            own: chunk.unwrap_or(0..active as u64),
            batch: 0..0,
            starts: Vec::new(),
            parts_of: Vec::new(),
            looked: 0,
        };
        workspace.fixed =
            Args { stamped: stamped as u32, ..workspace.arguments(device, p, rows, &state) };
        Ok(workspace)
    }

    fn arguments(
        &self,
        device: &CudaDevice,
        p: &TopologyRows,
        rows: &DeviceTopology,
        state: &BatchState,
    ) -> Args {
        let at = |offset: u64| self.state.pointer() + offset;
        let in_long = self.in_long.as_ref().unwrap_or(&self.out_long);
        let into = rows.in_rows();
        Args {
            out_offsets: rows.out.offsets.pointer(),
            out_columns: rows.out.columns.pointer(),
            in_offsets: into.offsets.pointer(),
            in_columns: into.columns.pointer(),
            out_long: self.out_long.pointer(),
            in_long: in_long.pointer(),
            paths: at(state.paths),
            sums: at(state.sums),
            coef: at(state.coef),
            parts: self.parts.pointer(),
            seen: at(state.seen),
            mark: at(state.mark),
            candidate: self.candidate.pointer(),
            stamp: at(state.stamp),
            lists: self.lists.pointer(),
            first: self.first.pointer(),
            upto: self.first.pointer() + 8 * (p.columns.active as u64 + 2),
            control: at(state.control),
            meeting: at(state.meeting),
            status: self.status.pointer(),
            abort: device.abort.pointer(),
            deadline_ns: device.deadline_ns(),
            in_arcs: p.columns.in_rows().arcs(),
            active: p.columns.active as u32,
            out_segments: self.out_long.len() as u32 / 2,
            in_segments: in_long.len() as u32 / 2,
            lo: self.own.start as u32,
            hi: self.own.end as u32,
            ..Args::zeroed()
        }
    }

    /// Queues a task; `args` says what is special about it.
    fn launch(
        &self,
        device: &CudaDevice,
        task: Task,
        args: Args,
        chance: Option<u64>,
    ) -> Result<()> {
        let sources = self.sources.pointer() + 4 * self.batch.start as u64;
        let args = Args { sources, count: self.batch.len() as u32, task: task as u32, ..args };
        if !matches!(task, Task::Whole | Task::Seed) {
            self.state.clear_from(self.meeting)?;
        }
        let blocks = chance.map_or(self.blocks, |c| 1 + (c % u64::from(self.blocks)) as u32);
        let shape = Launch { blocks, threads: THREADS, shared_bytes: 0, cooperative: true };
        device.launch(self.kernel, shape, &args)
    }

    /// Waits for what was queued and reads what came of it.
    fn wait(&mut self, device: &CudaDevice) -> Result<Done> {
        device.mark(0, true)?;
        device.wait()?;
        let status = self.status.get(0);
        if status.stopped != 0 {
            return Err(Error::Device {
                device: device.info.device.clone(),
                call: "bc_batch".into(),
                code: "its blocks did not meet within the deadline".into(),
            });
        }
        let looked = status.looked - self.looked;
        self.looked = status.looked;
        let Status { levels, reached, reached_arcs, overflow, .. } = status;
        let overflow = overflow.checked_sub(1);
        Ok(Done { levels, reached, reached_arcs, looked, overflow })
    }

    /// Queues the arrays as they are before a batch of the sources at these positions.
    fn clear(&mut self, batch: &Range<usize>) -> Result<()> {
        self.state.clear()?;
        self.batch = batch.clone();
        self.looked = 0;
        Ok(())
    }

    /// A batch to its end, added to `scores`.
    pub fn whole(
        &mut self,
        device: &CudaDevice,
        batch: &Range<usize>,
        scores: &Replicated<f64>,
        endpoints: bool,
        chance: Option<u64>,
    ) -> Result<Done> {
        self.clear(batch)?;
        let endpoints = u32::from(endpoints);
        let args = Args { scores: pointer(scores)?, endpoints, ..self.fixed };
        self.launch(device, Task::Whole, args, chance)?;
        self.wait(device)
    }

    /// Level 0 of a batch.
    pub fn seed(&mut self, device: &CudaDevice, batch: &Range<usize>) -> Result<Done> {
        self.clear(batch)?;
        self.starts = vec![0, batch.len() as u64];
        self.parts_of.clear();
        self.launch(device, Task::Seed, self.fixed, None)?;
        self.wait(device)
    }

    /// The level that is looked for or was found last.
    fn newest(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Finds what the next level holds of the own chunk; `reached` of the result are those nodes.
    pub fn find(&mut self, device: &CudaDevice, chance: Option<u64>) -> Result<Done> {
        let last = self.starts.len() - 2;
        let (begin, end) = (self.starts[last], self.starts[last + 1]);
        let args = Args { begin, end, level: self.newest(), ..self.fixed };
        self.launch(device, Task::Find, args, chance)?;
        let done = self.wait(device)?;
        Ok(Done { reached: self.status.get(0).found, ..done })
    }

    /// Queues handing the own part of the level just found, or of `level` on the way back, to the others.
    pub fn pack(
        &mut self,
        device: &CudaDevice,
        exchange: &Exchange,
        own: Range<u64>,
        back: Option<usize>,
        chance: Option<u64>,
    ) -> Result<()> {
        let (entries, values) = exchanged(exchange)?;
        let args = Args { entries, values, place: own.start, ..self.fixed };
        match back {
            None => {
                self.parts_of.push(own);
                let args = Args { level: self.newest(), ..args };
                self.launch(device, Task::Pack, args, chance)
            }
            Some(level) => {
                let Range { start: begin, end } = self.own_part(level);
                self.launch(device, Task::PackBack, Args { begin, end, ..args }, chance)
            }
        }
    }

    /// The part of a level's list, from 1 on, that this replica found.
    fn own_part(&self, level: usize) -> Range<u64> {
        let (first, own) = (self.starts[level], &self.parts_of[level - 1]);
        first + own.start..first + own.end
    }

    /// Puts a level of so many nodes, exchanged, into the arrays.
    pub fn commit(
        &mut self,
        device: &CudaDevice,
        exchange: &Exchange,
        nodes: u64,
        chance: Option<u64>,
    ) -> Result<Done> {
        let (entries, values) = exchanged(exchange)?;
        let (level, begin) = (self.newest(), self.starts[self.starts.len() - 1]);
        let args = Args { entries, values, begin, nodes, level, ..self.fixed };
        self.starts.push(begin + nodes);
        self.launch(device, Task::Commit, args, chance)?;
        let done = self.wait(device)?;
        Ok(Done { levels: u64::from(level), ..done })
    }

    /// Queues the sums of the own part of a level.
    pub fn back(&mut self, device: &CudaDevice, level: usize, chance: Option<u64>) -> Result<Done> {
        let Range { start: begin, end } = self.own_part(level);
        let args = Args { begin, end, level: level as u32, ..self.fixed };
        self.launch(device, Task::Back, args, chance)?;
        self.wait(device)
    }

    /// Puts the sums of a level, exchanged, into the arrays, and its dependencies into `scores`.
    pub fn settle(
        &mut self,
        device: &CudaDevice,
        exchange: &Exchange,
        level: usize,
        scores: &Replicated<f64>,
        chance: Option<u64>,
    ) -> Result<Done> {
        let (_, values) = exchanged(exchange)?;
        let above = if level > 1 { self.own_part(level - 1) } else { 0..0 };
        let args = Args {
            values,
            scores: pointer(scores)?,
            begin: self.starts[level],
            end: self.starts[level + 1],
            announced: above.start,
            announced_end: above.end,
            level: level as u32,
            deepest: self.starts.len() as u32 - 2,
            ..self.fixed
        };
        self.launch(device, Task::Settle, args, chance)?;
        self.wait(device)
    }

    /// Adds the ends of paths to `scores`, where they count, and reads what came of the batch.
    pub fn score(
        &mut self,
        device: &CudaDevice,
        scores: &Replicated<f64>,
        endpoints: bool,
        chance: Option<u64>,
    ) -> Result<Done> {
        let (scores, endpoints) = (pointer(scores)?, u32::from(endpoints));
        let args = Args { scores, endpoints, ..self.fixed };
        self.launch(device, Task::Ends, args, chance)?;
        let levels = self.starts.len() as u64 - 2;
        Ok(Done { levels, ..self.wait(device)? })
    }
}

fn pointer<T: crate::collective::Element>(array: &Replicated<T>) -> Result<u64> {
    let host = || Error::machine("host arrays in a device step; this is a bug");
    array.device().map(DeviceBuffer::pointer).ok_or_else(host)
}

fn exchanged(exchange: &Exchange) -> Result<(u64, u64)> {
    let values = match &exchange.values {
        Values::Single(values) => pointer(values)?,
        Values::Double(values) => pointer(values)?,
    };
    Ok((pointer(&exchange.entries)?, values))
}
