//! The steps of shortest paths on a GPU: the arguments of `kernels/sssp/sssp.cu` (`sssp_round.cuh`).

use super::double;
use super::plan::{Changes, Exchange, FrontierInfo, State, StepResult, StepTask, Task};
use crate::algorithm::arrays::{device_arrays, shared_once};
use crate::algorithm::long_paths::{LongPaths, Rows, Search, Searched, Seeds, Widths};
use crate::algorithm::rounds::Rounds;
use crate::collective::Replicated;
use crate::device::kernels::sssp::{BeginArgs, ExchangeArgs, SeedArgs};
use crate::device::kernels::sssp_round::{Control, STEP_SHARED, STEP_THREADS, Status, StepArgs};
use crate::device::{CudaDevice, Function, Launch, Pinned, source};
use crate::error::Result;
use crate::layout::DeviceWeighted;
use crate::layout::memory::{CONTROL, DeviceArray, GraphShape, QUEUE, total, weighted};
use crate::layout::tiles::TileRows;

const _: () = assert!(size_of::<Control>() <= CONTROL * size_of::<u64>());
/// "Sweep the bitmap": no queue is ready.
const UNQUEUED: u32 = u32::MAX;
/// Searches of which a workspace can say what they found, once all have ended.
pub(super) const PLACES: usize = 64;
/// Blocks that a step is taken to have resident where memory is estimated: more than today's GPUs do.
const BLOCKS: usize = 1024;

/// What a replica's steps need beside the replicated state.
pub(super) struct Workspace {
    step: Function,
    /// Where GPUs launch together.
    joint: Option<Function>,
    scatter: Function,
    begin: Function,
    pack: Function,
    apply: Function,
    blocks: u32,
    arrays: Arrays,
    pub long_paths: Option<(LongPaths, f32)>,
    /// `[PLACES]`
    status: Pinned<Status>,
    pub rounds: Rounds,
    /// Entries of the seeds' queue, or [`UNQUEUED`] once the frontier lives in the bitmap.
    queued: u32,
    /// The longest rows are pulled alone first.
    inner: bool,
    /// Every seed has arcs: the queue that the seeds make has no hole.
    all_active: bool,
}

impl Workspace {
    /// For searches of which `beside` go on at the same time, each with its part of the GPU.
    pub fn new(
        device: &mut CudaDevice,
        graph: &DeviceWeighted,
        seeds: &[u32],
        (widths, beside): (Option<Widths>, u32),
        [joins, trace, windows, small, inner]: [bool; 5],
    ) -> Result<Workspace> {
        let [packed, wide] = graph.options();
        let capped = windows.then(|| "-DHIVE_CAPPED=1".to_string());
        let options: Vec<String> = [packed, wide].into_iter().chain(capped).collect();
        let joint = device.joint(joins, source("sssp_joint.cu"), &options, "sssp_joint")?;
        let mut kernel = |name| device.function(source("sssp.cu"), &options, name);
        let step = kernel("sssp_step")?;
        let (scatter, begin) = (kernel("sssp_scatter")?, kernel("sssp_begin")?);
        let (pack, apply) = (kernel("sssp_pack")?, kernel("sssp_apply")?);
        let most = device.resident_blocks_of([Some(step), joint], STEP_THREADS, STEP_SHARED)?;
        let blocks = (device.searching(most, small) / beside).max(1);
        let active = graph.active as usize;
        let listed = if widths.is_some() { 1 } else { active };
        let sizes = Sizes { seeds: seeds.len(), blocks: blocks as usize, listed };
        let long_paths = match widths {
            Some(widths) => {
                let long_paths = LongPaths::new(device, &rows(graph, false))?;
                let width = long_paths.width(widths);
                Some((long_paths, width))
            }
            None => None,
        };
        let arrays = Arrays::allocate(device, sizes)?;
        arrays.seeds.upload(seeds)?;
        Ok(Workspace {
            step,
            joint,
            scatter,
            begin,
            pack,
            apply,
            blocks,
            arrays,
            long_paths,
            status: Pinned::new(&device.context, PLACES)?,
            rounds: Rounds::new(device, trace)?,
            queued: UNQUEUED,
            inner,
            all_active: seeds.iter().all(|s| *s < graph.active),
        })
    }

    /// Addresses of the lists into which others write what they find for this replica's nodes, and how far these are.
    pub fn lists(&self) -> [u64; 2] {
        [self.arrays.scan_node.pointer(), self.arrays.scan_dist.pointer()]
    }

    /// All distances infinite, this seed 0 and in the frontier; a workspace of one seed.
    pub fn begin_at(
        &mut self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        s: &State,
        label: u32,
    ) -> Result<()> {
        if self.long_paths.is_some() {
            self.all_active = label < graph.active;
            self.arrays.seeds.upload(&[label])?;
            return self.reset(device, graph, s);
        }
        let [dist, front, next] = pointers(s)?;
        let args = BeginArgs {
            dist,
            front,
            next,
            control: self.arrays.control.zeroed_by_launch(),
            out_offsets: graph.out.offsets.pointer(),
            queue: self.arrays.queue.pointer(),
            nodes: s.dist.len() as u64,
            words: s.front.words().len() as u64,
            controls: CONTROL as u32,
            seed: label,
            active: graph.active,
            unused: 0,
        };
        let blocks = args.nodes.div_ceil(256).clamp(1, device.filling().into()) as u32;
        device.launch(self.begin, Launch::of(blocks, 256), &args)?;
        self.queued = if label < graph.active { 1 } else { UNQUEUED };
        Ok(())
    }

    /// All distances infinite, the seeds 0 and in the frontier.
    pub fn reset(&mut self, device: &CudaDevice, graph: &DeviceWeighted, s: &State) -> Result<()> {
        let [dist, front, _] = pointers(s)?;
        if let Some(buffer) = s.dist.device() {
            buffer.fill_words(f32::INFINITY.to_bits())?;
        }
        for words in [s.front.words().device(), s.next.words().device()].into_iter().flatten() {
            words.clear()?;
        }
        self.arrays.control.zero_ahead()?;
        let seeds = &self.arrays.seeds;
        let count = seeds.len() as u32;
        let args = SeedArgs {
            seeds: seeds.pointer(),
            dist,
            front,
            out_offsets: graph.out.offsets.pointer(),
            queue: self.arrays.queue.pointer(),
            count,
            active: graph.active,
        };
        device.launch(self.scatter, Launch::of(count.div_ceil(256).max(1), 256), &args)?;
        self.queued = if self.all_active && seeds.len() <= QUEUE { count } else { UNQUEUED };
        if let Some((long_paths, width)) = &self.long_paths {
            long_paths.reset(device, Seeds::Many(seeds.pointer(), count), *width)?;
        }
        Ok(())
    }

    /// Queues a task.
    pub fn launch(
        &mut self,
        device: &CudaDevice,
        graph: &DeviceWeighted,
        s: &State,
        told: &StepTask,
    ) -> Result<()> {
        let [dist, front, next] = pointers(s)?;
        let (arrays, out) = (&self.arrays, &graph.out);
        let into = graph.into.as_ref().unwrap_or(out);
        let (log, control) = (self.rounds.pointer(), arrays.control.zeroed()?);
        if let Some((long_paths, width)) = &self.long_paths {
            let search = Search {
                dist,
                pending: front,
                control,
                unreached: f32::INFINITY.to_bits(),
                log,
                width: *width,
            };
            return long_paths.launch(device, &rows(graph, false), &search);
        }
        let joint = told.task == Task::Joint;
        let args = StepArgs {
            out_offsets: out.offsets.pointer(),
            out_arcs: out.arcs.pointer(),
            in_offsets: into.offsets.pointer(),
            in_arcs: into.arcs.pointer(),
            in_records: into.records.pointer(),
            dist,
            front,
            next,
            queue: arrays.queue.pointer(),
            parts: arrays.parts.pointer(),
            scan_node: arrays.scan_node.pointer(),
            scan_dist: arrays.scan_dist.pointer(),
            scan_prefix: arrays.scan_prefix.pointer(),
            slice_first: arrays.slice_first.pointer(),
            control,
            status: self.status.pointer() + (told.place * size_of::<Status>()) as u64,
            abort: device.abort.pointer(),
            log,
            deadline_ns: device.deadline_of(joint),
            pull_above: told.thresholds.pull_above,
            push_below: told.thresholds.push_below,
            active: graph.active,
            giants: graph.giants,
            hubs: graph.hubs,
            lo: (told.chunk.start as u32).min(graph.active),
            hi: (told.chunk.end as u32).min(graph.active),
            lowest: told.known.lowest.to_bits(),
            task: told.task as u32,
            inner: u32::from(self.inner),
            queued: std::mem::replace(&mut self.queued, UNQUEUED),
            lightest: graph.lightest,
            form: graph.form,
            delta: told.delta,
            unused: 0,
            joint: told.together.joint,
            dists: told.together.arrays[0],
            bitmaps: [told.together.arrays[1], told.together.arrays[2]],
            lists: [told.together.arrays[3], told.together.arrays[4]],
        };
        let shape = device.together(self.blocks, STEP_THREADS);
        let shape = Launch { shared_bytes: STEP_SHARED, ..shape };
        let kernel = self.joint.filter(|_| joint).unwrap_or(self.step);
        device.launch(kernel, shape, &args)
    }

    /// What the launch that was to say so at `place`, and has ended, found; and whether `front` and `next` have changed places.
    pub fn found(&self, device: &CudaDevice, place: usize) -> Result<(StepResult, bool)> {
        if let Some((long_paths, _)) = &self.long_paths {
            let Searched { relaxed, rounds, windows: logged } = long_paths.found(device)?;
            return Ok((StepResult { relaxed, rounds, logged, ..StepResult::default() }, false));
        }
        let status = self.status.get(place);
        device.met(status.stopped, "sssp_step")?;
        let left = FrontierInfo {
            nodes: status.nodes,
            arcs: if status.arcs == u64::MAX { 0 } else { status.arcs },
            lowest: f32::from_bits(status.lowest),
        };
        let found = StepResult {
            left,
            relaxed: status.relaxed,
            rounds: status.rounds.into(),
            logged: status.meetings.into(),
        };
        Ok((found, status.parity == 1))
    }

    /// Queues what [`Exchange`] says.
    pub fn exchange(
        &self,
        device: &CudaDevice,
        s: &State,
        list: &Replicated<u64>,
        told: &Exchange,
    ) -> Result<()> {
        let [dist, front, _] = pointers(s)?;
        let control = &self.arrays.control;
        let counter = if told.pack { control.zeroed()? } else { control.pointer() };
        let args = ExchangeArgs {
            dist,
            front,
            pairs: list.on_device()?,
            counter,
            first: told.own.start,
            last: told.own.end,
            total: told.total,
            lo: (told.chunk.start / 32) as u32,
            hi: told.chunk.end.div_ceil(32) as u32,
        };
        let items = if told.pack { u64::from(args.hi - args.lo) } else { told.total };
        let shape = Launch::of(items.div_ceil(256).clamp(1, 1 << 14) as u32, 256);
        device.launch(if told.pack { self.pack } else { self.apply }, shape, &args)
    }
}

/// Device addresses of distances, frontier and next frontier.
fn pointers(s: &State) -> Result<[u64; 3]> {
    let [front, next] = [&s.front, &s.next].map(|set| set.words().on_device());
    Ok([s.dist.on_device()?, front?, next?])
}

/// The rows of `graph`, for a search of long paths, or those `backward`.
pub(in crate::algorithm) fn rows(graph: &DeviceWeighted, backward: bool) -> Rows {
    let out = graph.into.as_ref().filter(|_| backward).unwrap_or(&graph.out);
    let of = TileRows {
        offsets: out.offsets.pointer(),
        arcs: out.arcs.pointer(),
        form: graph.form,
        packed: graph.packed,
        weighted: true,
        nodes: graph.active,
        count: graph.count,
    };
    let tileable = graph.flat && graph.into.is_none() && graph.out.arcs.is_own();
    let records = out.records.pointer();
    Rows { of, records, wide: graph.wide, tileable, double: false }
}

/// What lengths of arrays follow from.
struct Sizes {
    seeds: usize,
    blocks: usize,
    /// Entries of a frontier in a list.
    listed: usize,
}

device_arrays! {
    /// What a replica's steps need beside rows and state.
    struct Arrays of Sizes {
        seeds: u32 = "seeds", |s| s.seeds;
        queue: u32 = "queue", |_| 4 * QUEUE;
        /// Nodes and arcs of each block's words.
        parts: u64 = "parts", |s| 2 * s.blocks;
        slice_first: u32 = "slices", |s| s.blocks + 1;
        control: u64 = "control", |_| CONTROL;
        scan_node: u32 = "frontier list", |s| s.listed;
        scan_dist: u32 = "frontier distances", |s| s.listed;
        scan_prefix: u64 = "frontier degrees", |s| s.listed + 1;
    }
}

/// All arrays on the GPU of one of `world` replicas, for a single seed, of the search that takes most.
pub(crate) fn arrays(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let active = shape.active as usize;
    let of = |listed, more| {
        let sizes = Sizes { seeds: 1, blocks: BLOCKS, listed };
        [weighted(shape), state(shape, world), Arrays::list(sizes), more].concat()
    };
    // Whoever gives a finite --delta gets windows on any graph.
    let long_paths = of(1, LongPaths::least(active));
    let double = [weighted(shape), double::arrays(shape)].concat();
    let all = [of(active, Vec::new()), double, long_paths];
    all.into_iter().max_by_key(|arrays| total(arrays)).unwrap_or_default()
}

/// The replicated state of one of `world` replicas.
fn state(shape: &GraphShape, world: usize) -> Vec<DeviceArray> {
    let changes = match world {
        1 => Vec::new(),
        _ => Changes::list(shape.active as usize, world),
    };
    shared_once([State::list(shape.nodes as usize, world), changes].concat())
}

/// Bytes that a search takes beside others in the same graph.
pub(super) fn of_a_search(graph: &GraphShape) -> u64 {
    let sizes = Sizes { seeds: 1, blocks: BLOCKS, listed: graph.active as usize };
    state_bytes(graph, 1) + total(&Arrays::list(sizes))
}

/// Bytes of the replicated state of one of `world` replicas: what a replica on the host is taken to hold beside the graph.
pub(crate) fn state_bytes(shape: &GraphShape, world: usize) -> u64 {
    total(&state(shape, world))
}

#[cfg(test)]
mod tests {
    use super::arrays;
    use crate::layout::memory::{GraphShape, placed, total, weighted};
    use crate::layout::{Layout, Placement};

    #[test]
    fn what_a_specification_promises_is_never_less_than_what_its_graph_needs() {
        for spec in ["rmat:11", "uniform:3000", "torus:20x30", "star:3000", "road:12", "geo:3000"] {
            let size = crate::generate::size(spec).unwrap();
            let weights = Some(size.weights.unwrap_or((1, 1)));
            let most = GraphShape::at_most(size.nodes, size.arcs, true, weights);
            let graph = crate::generate::generate(spec).unwrap();
            let real = GraphShape::of_weighted(&graph, Layout::Auto);
            for world in [1, 4] {
                // Whether degrees are flat is not known before.
                let of = |flat| total(&arrays(&GraphShape { flat, ..most }, world));
                assert!(of(false).max(of(true)) >= total(&arrays(&real, world)), "{spec}");
            }
        }
    }

    #[test]
    fn sharded_arcs_are_held_once_and_the_rest_by_every_replica() {
        let shape = GraphShape::at_most(1 << 20, 1 << 26, true, Some((1, 64)));
        let whole = arrays(&shape, 4);
        let arcs = weighted(&shape)[1].bytes + weighted(&shape)[2].bytes;
        let part = total(&placed(whole.clone(), Placement::Sharded, 4));
        assert_eq!(total(&placed(whole.clone(), Placement::Replicated, 4)), total(&whole));
        let saved = total(&whole) - part;
        assert!((arcs / 4 * 3 - (8 << 20)..arcs / 4 * 3).contains(&saved), "{saved} of {arcs}");
    }

    #[test]
    fn directed_graphs_hold_rows_both_ways_and_more_replicas_hold_lists() {
        let shape = GraphShape::at_most(1 << 20, 1 << 24, true, Some((1, 64)));
        let both = GraphShape { symmetric: false, ..shape };
        let bytes = |shape: &GraphShape, world| total(&arrays(shape, world));
        assert_eq!(bytes(&both, 1) - bytes(&shape, 1), total(&weighted(&shape)));
        assert!(bytes(&shape, 4) - bytes(&shape, 1) >= (2 << 20) + (1 << 17));
        // 64 MiB of arcs, 16 of records, 4 of offsets and distances, 16 of workspace: all in 2 MiB grains.
        assert!((104 << 20..120 << 20).contains(&bytes(&shape, 1)), "{}", bytes(&shape, 1));
    }
}
