//! A replica's GPU: its context, stream and events, loaded kernels, launches, and how the host waits.

use super::buffer::{DeviceBuffer, Pinned};
use super::chain::Chain;
use super::check;
use super::context::{Context, Stream, event};
use super::driver::older;
use super::held::Held;
use super::kernels::hive;
use super::lambda::Lambdas;
use super::launch::{Function, Launch, launch_on, load_module};
use super::models::Pretend;
use super::nvrtc::{self, KernelSource, Unit};
use super::pool::Account;
use super::probe::{DeviceInfo, attribute, describe};
use super::side::Side;
use crate::error::{Error, Result};
use crate::threads;
use bytemuck::Pod;
use cudarc::driver::sys;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a device reports signs of life to, and asks whether to go on.
pub(crate) trait Watch: Send + Sync {
    /// A sign of life of replica `rank`.
    fn beat(&self, rank: usize);

    /// The time after which a step counts as hung.
    fn step_limit(&self) -> Duration;

    /// How long a replica waits for its peers.
    fn deadline(&self) -> Duration;

    /// The error of replica `rank`, for this reason.
    fn fault(&self, rank: usize, cause: String) -> Error;

    /// Ends the program of all replicas: the step of replica `rank` hangs, for this reason.
    fn hung(&self, rank: usize, cause: String);

    /// Why the program of all replicas has to end, if it has to.
    fn failure(&self) -> Option<Error>;
}

/// u64 words with which the blocks of a cooperative launch meet.
pub(crate) const MEETING_WORDS: usize = size_of::<hive::Meeting>() / 8;

/// Events that a replica publishes at meetings, in turn. Replicas are never more than one meeting
/// apart, so an event is not recorded again before everybody has waited for it.
pub(crate) const EVENT_RING: usize = 8;

/// Intervals of a kind that can be marked before their times are asked for; a further one extends the last.
const INTERVALS: usize = 64;

/// Intervals on a stream, of one kind.
struct Marks {
    pairs: Vec<(sys::CUevent, sys::CUevent)>,
    /// Marked since their times were asked for.
    count: Cell<usize>,
}

/// What is wrong with a step that takes so long.
pub(crate) fn endless(limit: Duration) -> String {
    format!(
        "has not ended after {limit:?}: does it loop for ever? (FleetConfig::step_limit_s sets the time)"
    )
}

/// Why the GPU cannot be used, where its compute mode tells; else `error`.
fn taken(name: &str, device: i32, error: Error) -> Error {
    let mode = attribute(name, device, sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    let why = match mode.map(|mode| mode as i32) {
        Ok(m) if m == sys::CUcomputemode::CU_COMPUTEMODE_EXCLUSIVE_PROCESS as i32 => {
            "it is in exclusive compute mode, and another process uses it; wait for that process, or set the mode to DEFAULT"
        }
        Ok(m) if m == sys::CUcomputemode::CU_COMPUTEMODE_PROHIBITED as i32 => {
            "its compute mode prohibits its use; set the mode to DEFAULT"
        }
        _ => return error,
    };
    Error::machine(format!("{name}: {why} (nvidia-smi -i GPU -c DEFAULT), or use --devices"))
}

/// A replica's device.
pub(crate) struct CudaDevice {
    pub context: Arc<Context>,
    pub ordinal: u32,
    pub info: DeviceInfo,
    /// Replicas of this fleet on this GPU, which share its multiprocessors.
    pub sharers: u32,
    /// The GPU of every replica of the fleet, by rank: numbers of this process, or of the fleet where it spans several.
    pub fleet: Vec<u32>,
    rank: usize,
    /// What GPU it is to pass for.
    pretended: Option<Pretend>,
    watch: Arc<dyn Watch>,
    /// A random number for numbers of blocks, where the fleet is perturbed.
    chance: Cell<Option<u64>>,
    stream: Stream,
    /// Nothing has been queued since the last wait.
    idle: Cell<bool>,
    /// A merge was queued since, whose kernels may wait for some that other replicas have yet to launch.
    half_launched: Cell<bool>,
    /// The event that ended a step, and that nothing was queued after.
    ended: Cell<Option<sys::CUevent>>,
    /// The recording under way, to which launches are added instead of being queued.
    chain: RefCell<Option<Chain>>,
    done: sys::CUevent,
    ring: Vec<sys::CUevent>,
    marks: [Marks; 2],
    functions: HashMap<(String, &'static str), Function>,
    pub lambdas: Lambdas,
    /// A word that running kernels watch: not 0 asks them to stop.
    pub abort: Arc<Pinned<u32>>,
    /// A word that a merge sets when it leaves undone: asked to stop, or past its deadline.
    pub left: Arc<Pinned<u32>>,
    /// Milliseconds spent compiling and loading modules.
    pub compile_ms: f64,
}

// SAFETY: the handles may be used from any thread with the context current; a device is owned by one
// replica thread at a time.
unsafe impl Send for CudaDevice {}

impl CudaDevice {
    /// Derives the numbers of blocks of the launches that follow from `chance`; `None` ends that.
    pub fn perturb(&self, chance: Option<u64>) {
        self.chance.set(chance);
    }

    /// Whether the fleet is perturbed; known from the first step on.
    pub fn is_perturbed(&self) -> bool {
        self.chance.get().is_some()
    }

    /// `most` blocks, or any smaller number where the fleet is perturbed.
    pub fn blocks(&self, most: u32) -> u32 {
        self.chance.get().map_or(most, |c| 1 + (c % u64::from(most)) as u32)
    }

    /// A launch of blocks that meet at barriers, at most as many as can be `resident` at once.
    pub fn together(&self, resident: u32, threads: u32) -> Launch {
        Launch { cooperative: true, ..Launch::of(self.blocks(resident), threads) }
    }

    /// Blocks of 256 threads that fill this replica's share of the GPU.
    pub fn filling(&self) -> u32 {
        (self.info.multiprocessors * 8 / self.sharers).max(1)
    }

    /// The error of a cooperative kernel that was `stopped`.
    pub fn met(&self, stopped: u32, kernel: &str) -> Result<()> {
        if stopped == 0 {
            return Ok(());
        }
        // Kernels of other replicas may still write here.
        self.context.abandoned.store(true, Ordering::Release);
        Err(Error::Device {
            device: self.info.device.clone(),
            call: kernel.into(),
            code: "its blocks did not meet within the deadline".into(),
        })
    }

    /// Opens GPU `ordinal` for replica `rank`, on the thread that will use it. `fleet` are the GPUs of all replicas. The memory of
    /// its replicas is booked on `account`. It passes for no more than a GPU that is `pretended`.
    pub fn open(
        (ordinal, fleet): (u32, &[u32]),
        rank: usize,
        account: Arc<Account>,
        watch: Arc<dyn Watch>,
        pretended: Option<Pretend>,
    ) -> Result<CudaDevice> {
        let sharers = fleet.iter().filter(|other| **other == fleet[rank]).count() as u32;
        let real = describe(ordinal, rank)?;
        let info = match &pretended {
            Some(pretended) => pretended.limit(real),
            None => real,
        };
        let name = info.device.clone();
        let (mut device, mut handle) = (0, std::ptr::null_mut());
        // SAFETY: out-pointers to locals. The primary context is retained and never released: other
        // users of this process may share it.
        unsafe {
            check(&name, "cuDeviceGet", sys::cuDeviceGet(&mut device, ordinal as i32))?;
            let status = sys::cuDevicePrimaryCtxRetain(&mut handle, device);
            check(&name, "cuDevicePrimaryCtxRetain", status)
                .map_err(|e| taken(&name, device, e))?;
        }
        let abandoned = AtomicBool::new(false);
        let ring = Mutex::default();
        let (name_of, held) = (name.clone(), Held::default());
        let context = Arc::new(Context { name: name_of, handle, abandoned, account, ring, held });
        context.bind()?;
        let marks = || -> Result<Marks> {
            let pair = |_| Ok((event(&name, true)?, event(&name, true)?));
            let pairs = (0..INTERVALS).map(pair).collect::<Result<_>>()?;
            Ok(Marks { pairs, count: Cell::new(0) })
        };
        let stream = Stream::main(&context)?;
        Ok(CudaDevice {
            abort: Arc::new(Pinned::new(&context, 1)?),
            left: Arc::new(Pinned::new(&context, 1)?),
            done: event(&name, false)?,
            ring: (0..EVENT_RING).map(|_| event(&name, false)).collect::<Result<_>>()?,
            marks: [marks()?, marks()?],
            functions: HashMap::new(),
            lambdas: Lambdas::new(&stream)?,
            compile_ms: 0.0,
            context,
            ordinal,
            info,
            sharers,
            fleet: fleet.to_vec(),
            rank,
            pretended,
            watch,
            chance: Cell::new(None),
            stream,
            idle: Cell::new(false),
            half_launched: Cell::new(false),
            ended: Cell::new(None),
            chain: RefCell::new(None),
        })
    }

    /// The stream that orders all work of this replica.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The events published at meetings.
    pub fn ring(&self) -> &[sys::CUevent] {
        &self.ring
    }

    pub fn check(&self, call: &str, status: sys::CUresult) -> Result<()> {
        check(&self.info.device, call, status)
    }

    /// Lets kernels of this device read and write `peer`'s memory.
    pub fn enable_peer(&self, peer: &Context) -> Result<()> {
        // SAFETY: both contexts are live; the own one is current on this thread.
        let status = unsafe { sys::cuCtxEnablePeerAccess(peer.handle, 0) };
        if status == sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED {
            return Ok(());
        }
        self.check("cuCtxEnablePeerAccess", status)
    }

    /// An array of `length` zeroed elements.
    pub fn alloc<T: Pod>(&self, label: &str, length: usize) -> Result<DeviceBuffer<T>> {
        self.launched()?;
        // Zeroing is queued: who waits and then fills the array from another stream fills it last.
        self.queued();
        DeviceBuffer::new(&self.stream, label, length)
    }

    /// Whether the device has this ability.
    pub fn can(&self, which: sys::CUdevice_attribute) -> Result<bool> {
        Ok(attribute(&self.info.device, self.ordinal as i32, which)? != 0)
    }

    /// A stream of its own on this GPU.
    pub fn side(&self) -> Result<Side> {
        Side::new(&self.context, self.info.clone())
    }

    /// Gives memory kept for later arrays back to the driver.
    pub fn release_kept(&self) {
        super::pool::release(&self.context);
    }

    /// A kernel of `source` compiled for this device with `options`; compiled and loaded once.
    pub fn function(
        &mut self,
        source: &'static nvrtc::KernelSource,
        options: &[String],
        kernel: &'static str,
    ) -> Result<Function> {
        let key = (format!("{} {}", source.name, options.join(" ")), kernel);
        if let Some(found) = self.functions.get(&key) {
            return Ok(*found);
        }
        let start = Instant::now();
        let arch = self.arch();
        let cubin = self.compiled(|| nvrtc::cubin(source, options, &arch))?;
        let loaded = load_module(&self.info.device, &cubin, source.kernels.iter().copied())?;
        for (name, function) in source.kernels.iter().zip(loaded) {
            self.functions.insert((key.0.clone(), name), function);
        }
        self.compile_ms += start.elapsed().as_secs_f64() * 1e3;
        self.functions.get(&key).copied().ok_or_else(|| {
            Error::machine(format!("kernel {kernel} is not in {}; this is a bug", source.name))
        })
    }

    /// The kernels of a unit made at run time, compiled and loaded.
    pub fn load_unit(&mut self, unit: &Unit) -> Result<Vec<Function>> {
        let start = Instant::now();
        let arch = self.arch();
        let cubin = self.compiled(|| nvrtc::unit_cubin(unit, &arch))?;
        let loaded =
            load_module(&self.info.device, &cubin, unit.kernels.iter().map(String::as_str))?;
        self.compile_ms += start.elapsed().as_secs_f64() * 1e3;
        Ok(loaded)
    }

    /// What a compiler makes, which may take longer than other replicas wait for one that is silent, and no longer than a step.
    fn compiled<T: Send>(&self, compile: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let (start, limit) = (Instant::now(), self.watch.step_limit());
        let lives = || {
            if start.elapsed() < limit {
                self.watch.beat(self.rank);
            }
        };
        threads::beside("hive-compiles", self.watch.deadline() / 8, lives, compile)?
    }

    fn arch(&self) -> String {
        nvrtc::arch(&self.info.compute_capability)
    }

    /// This replica's share of the blocks of `threads` that can be resident at once.
    pub fn resident_blocks(&self, f: Function, threads: u32, shared_bytes: u32) -> Result<u32> {
        let most = self.info.shared_bytes;
        if shared_bytes > most {
            let name = &self.info.device;
            return Err(Error::machine(format!(
                "{name}: a kernel asks for {shared_bytes} bytes of shared memory of {most}; this is a bug"
            )));
        }
        let mut blocks = 0;
        // SAFETY: a loaded function; out-pointer to a local.
        unsafe {
            if shared_bytes > 48 * 1024 {
                let which =
                    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                self.check(
                    "cuFuncSetAttribute",
                    sys::cuFuncSetAttribute(f.0, which, shared_bytes as i32),
                )?;
            }
            self.check(
                "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &mut blocks,
                    f.0,
                    threads as i32,
                    shared_bytes as usize,
                ),
            )?;
        }
        let mut blocks = blocks.max(1) as u32;
        if self.pretended.is_some() {
            // A block takes 1 KiB more than it has, and may have more of its own.
            blocks =
                blocks.min(self.info.multiprocessor_shared_bytes / (shared_bytes + 1024)).max(1);
        }
        Ok((blocks * self.info.multiprocessors / self.sharers).max(1))
    }

    /// Whether kernels here can access the memory of GPU `other`.
    pub fn reaches(&self, other: u32) -> bool {
        Pretend::reaches(self.pretended.as_ref(), self.ordinal, other)
    }

    /// The least of these over several kernels.
    pub fn resident_blocks_of(
        &self,
        kernels: impl IntoIterator<Item = Option<Function>>,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<u32> {
        kernels
            .into_iter()
            .flatten()
            .map(|f| self.resident_blocks(f, threads, shared_bytes))
            .try_fold(u32::MAX, |least, blocks| Ok(least.min(blocks?)))
    }

    /// How many of `resident` blocks search a graph: one on each multiprocessor where it is `small`, as they meet sooner.
    pub fn searching(&self, resident: u32, small: bool) -> u32 {
        let one_each = (self.info.multiprocessors / self.sharers).max(1);
        if small { resident.min(one_each) } else { resident }
    }

    /// The kernel of launches over all GPUs, if this fleet's GPUs can be `joined` in one.
    pub fn joint(
        &mut self,
        joined: bool,
        source: &'static KernelSource,
        options: &[String],
        kernel: &'static str,
    ) -> Result<Option<Function>> {
        joined.then(|| self.function(source, options, kernel)).transpose()
    }

    /// Launches are added to this from here on, and not queued.
    pub(super) fn begin_chain(&self, chain: Chain) {
        self.chain.replace(Some(chain));
    }

    pub(super) fn end_chain(&self) -> Option<Chain> {
        self.chain.take()
    }

    /// Queues a kernel that takes one struct by value.
    pub fn launch<A: Pod>(&self, f: Function, shape: Launch, args: &A) -> Result<()> {
        if let Some(chain) = self.chain.borrow_mut().as_mut() {
            let mut parameters = [std::ptr::from_ref(args).cast_mut().cast()];
            // SAFETY: the kernel's only parameter is a plain struct of this layout; who records keeps the memory that it names.
            return unsafe { chain.add(&self.info.device, f, shape, &mut parameters) }.map(drop);
        }
        self.queued();
        launch_on(&self.info.device, self.lane_stream()?, f, shape, args)
    }

    /// Starts (`end == false`) or ends an interval of kind `which` on the stream: 0 steps, 1 merges. Past
    /// [`INTERVALS`] of them the last one grows.
    pub fn mark(&self, which: usize, end: bool) -> Result<()> {
        self.queued();
        let Marks { pairs, count } = &self.marks[which];
        if !end {
            if count.get() == pairs.len() {
                return Ok(());
            }
            count.set(count.get() + 1);
        }
        let Some((first, last)) = count.get().checked_sub(1).map(|i| pairs[i]) else {
            return Ok(());
        };
        let stream = self.stream.handle()?;
        // SAFETY: live event and stream of the current context.
        self.check("cuEventRecord", unsafe {
            sys::cuEventRecord(if end { last } else { first }, stream)
        })
    }

    /// Ends an interval of steps that is waited for before anything else is queued: the wait needs no event of its own.
    pub fn mark_last(&self) -> Result<()> {
        self.mark(0, true)?;
        let Marks { pairs, count } = &self.marks[0];
        self.ended.set(count.get().checked_sub(1).map(|i| pairs[i].1));
        Ok(())
    }

    /// Forgets the intervals whose times were not asked for.
    pub fn forget_marks(&self) {
        self.marks.iter().for_each(|marks| marks.count.set(0));
    }

    /// Whether half of the intervals of a kind that can be marked are.
    pub fn many_marks(&self) -> bool {
        self.marks.iter().any(|marks| marks.count.get() >= INTERVALS / 2)
    }

    /// Milliseconds of the intervals of this kind that were marked since the last call; all must have passed.
    pub fn interval_ms(&self, which: usize) -> Result<f64> {
        let Marks { pairs, count } = &self.marks[which];
        let mut total = 0.0;
        for (first, last) in &pairs[..count.replace(0)] {
            let mut ms = 0.0;
            let elapsed = older()?.cuEventElapsedTime;
            // SAFETY: live events with timing; out-pointer to a local.
            self.check("cuEventElapsedTime", unsafe { elapsed(&mut ms, *first, *last) })?;
            total += f64::from(ms);
        }
        Ok(total)
    }

    /// Queues clearing `bytes` at `address`, memory that this replica alone uses now.
    pub(super) fn zero(&self, address: u64, bytes: u64) -> Result<()> {
        self.queued();
        if bytes == 0 {
            return Ok(());
        }
        let stream = self.stream.handle()?;
        // SAFETY: callers give memory of their own; live stream of the current context.
        self.check("cuMemsetD8", unsafe {
            sys::cuMemsetD8Async(address, 0, bytes as usize, stream)
        })
    }

    /// Tells that something was queued on the stream without this type, so that the next wait looks.
    pub fn queued(&self) {
        self.idle.set(false);
        self.ended.set(None);
    }

    /// Tells that a merge was queued, which on other GPUs may be so only `later`.
    pub fn queued_merge(&self, later: bool) {
        self.queued();
        self.half_launched.set(later || self.half_launched.get());
    }

    /// Whether a merge was queued since the last wait, whose kernels may wait for some that other replicas have yet to launch.
    pub(super) fn is_half_launched(&self) -> bool {
        self.half_launched.get()
    }

    /// Waits until merges that were queued here have been on all GPUs. What makes the driver wait, as an allocation does, may
    /// otherwise hold up the launch that a merge waits for.
    pub fn launched(&self) -> Result<()> {
        if self.half_launched.get() { self.wait() } else { Ok(()) }
    }

    /// Waits until the stream is idle. It does not block in the driver but polls, gives signs of life, and asks the
    /// kernel to stop when the fleet fails.
    pub fn wait(&self) -> Result<()> {
        if self.idle.get() {
            return Ok(());
        }
        let done = match self.ended.take() {
            Some(ended) => ended,
            None => {
                let stream = self.stream.handle()?;
                // SAFETY: live event and stream of the current context.
                let status = unsafe { sys::cuEventRecord(self.done, stream) };
                self.check("cuEventRecord", status)?;
                self.done
            }
        };
        let (mut polls, start) = (0u32, Instant::now());
        let mut asked: Option<Instant> = None;
        loop {
            // SAFETY: a live event.
            let status = unsafe { sys::cuEventQuery(done) };
            if status != sys::CUresult::CUDA_ERROR_NOT_READY {
                self.check("waiting for the stream", status)?;
                self.idle.set(true);
                self.half_launched.set(false);
                return match asked {
                    None if self.left.get(0) == 0 => Ok(()),
                    _ => Err(self.failure()),
                };
            }
            polls = polls.wrapping_add(1);
            if polls % 256 != 0 {
                std::hint::spin_loop();
                continue;
            }
            // Kernels give up at their barriers by themselves. This ends a kernel that hangs between two barriers, and a
            // lambda that does not end.
            self.watch.beat(self.rank);
            let limit = self.watch.step_limit();
            if asked.is_none() && start.elapsed() > limit {
                self.watch.hung(self.rank, endless(limit));
            }
            if asked.is_none() && self.watch.failure().is_some() {
                self.abort.set(0, 1);
                asked = Some(Instant::now());
            }
            if asked.is_some_and(|since| since.elapsed() > Duration::from_secs(2)) {
                self.context.abandoned.store(true, Ordering::Release);
                return Err(self.failure());
            }
        }
    }

    /// Waits until `ready`, which something queued on the stream brings about, or else until the stream is idle.
    pub fn wait_for(&self, ready: impl Fn() -> bool) -> Result<()> {
        self.flush()?;
        let mut polls = 0u32;
        let start = Instant::now();
        while !ready() {
            polls = polls.wrapping_add(1);
            if !polls.is_multiple_of(256) {
                std::hint::spin_loop();
                continue;
            }
            self.watch.beat(self.rank);
            // [`CudaDevice::wait`] handles failures.
            if self.watch.failure().is_some() || start.elapsed() > Duration::from_millis(50) {
                return self.wait();
            }
        }
        Ok(())
    }

    /// How long a kernel's blocks wait for each other.
    pub fn deadline_ns(&self) -> u64 {
        self.watch.deadline().as_nanos().min(u128::from(u64::MAX)) as u64
    }

    /// The same. The blocks of a joint launch wait for those of other GPUs longer than it takes to find a silent replica, so
    /// that the error names that replica.
    pub fn deadline_of(&self, joint: bool) -> u64 {
        match joint {
            true => self.deadline_ns().saturating_mul(2).saturating_add(200_000_000),
            false => self.deadline_ns(),
        }
    }

    /// How long a merge's blocks wait for those of other GPUs: longer than any step that these may be in.
    pub fn merge_deadline_ns(&self) -> u64 {
        let step_ns = self.watch.step_limit().as_nanos().min(u128::from(u64::MAX)) as u64;
        step_ns.saturating_add(self.deadline_of(true))
    }

    fn failure(&self) -> Error {
        let unknown = || self.watch.fault(self.rank, "other GPUs did not come to its merge".into());
        self.watch.failure().unwrap_or_else(unknown)
    }
}
