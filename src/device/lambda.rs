//! Users' lambdas on a device: loaded kernels, streams beside the main one, bad indices.

use super::buffer::{DeviceBuffer, Pinned};
use super::context::{Stream, event, stream};
use super::cuda_device::CudaDevice;
use super::kernels::lambda::{FaultRecord, FaultSink};
use super::kernels::text::DIVISION;
use super::launch::{Function, Launch};
use super::{check, nvrtc};
use crate::error::{Error, Result};
use bytemuck::Zeroable;
use cudarc::driver::sys;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, fence};

/// An array as a kernel finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrayAddress {
    /// One address.
    Flat(u64),
    /// The address of a table of addresses, one a replica, and how many elements each has.
    Parts { table: u64, part_length: u32 },
}

/// A lambda in the form that an operator calls.
#[derive(Clone, Copy)]
pub(crate) struct Loaded {
    pub number: u32,
    pub kernels: [Function; 4],
}

/// The argument of which [`bad_index`] tells that a whole number was divided by zero.
pub(crate) const DIVIDES: &str = "/ 0";

/// The error of a lambda whose index lies outside an array, or that divides by zero.
pub(crate) fn bad_index(lambda: &str, argument: &str, index: u64, length: Option<u64>) -> Error {
    if argument == DIVIDES {
        return Error::input(format!(
            "lambda {lambda}: a whole number is divided by zero, so that what was computed is not to be used; \
             compare the divisor with 0 before"
        ));
    }
    let shown = if index > u64::MAX / 2 { (index as i64).to_string() } else { index.to_string() };
    let range = length.map_or(String::new(), |length| format!(" of {length} elements"));
    Error::input(format!(
        "lambda {lambda}: argument {argument}: index {shown} is outside the array{range}, so that what was \
         computed is not to be used; compare the index with the array's length before, or make the array longer"
    ))
}

/// A stream beside the main one, on which independent lambdas run.
struct Lane {
    stream: sys::CUstream,
    /// Recorded when the main stream waits for the lane.
    event: sys::CUevent,
    /// It has work that the main stream has not waited for.
    forked: Cell<bool>,
}

/// What a lambda's loaded form is found by: the lambda, a second one, operator and form.
pub(crate) type LambdaKey = (u64, u64, u64, [u64; 2]);

/// Most loaded forms that are found by their keys; others are found by their text.
const KEPT_KEYS: usize = 4096;

/// A device's lambdas.
pub(crate) struct Lambdas {
    sink: DeviceBuffer<FaultSink>,
    record: Pinned<FaultRecord>,
    /// Names of lambdas and their arguments, by number, for messages.
    names: Vec<(String, Vec<String>)>,
    keys: HashMap<LambdaKey, Loaded>,
    /// By content, for lambdas that are made anew with every call.
    texts: HashMap<String, Loaded>,
    lanes: RefCell<Vec<Lane>>,
    current: Cell<usize>,
    start: sys::CUevent,
    /// Results of reductions, a word a lane.
    pub result: Pinned<u64>,
    /// Counts that nobody waits for at once, in turn: `[slots, 2]`, nodes and arcs.
    counts: Pinned<u64>,
    /// Counts so far.
    turns: Cell<u64>,
}

/// Counts that may be under way.
const SLOTS: usize = 128;
/// No count.
const NOT_THERE: u64 = u64::MAX;

/// Most streams of a replica, the main one included.
pub(crate) const LANES: usize = 16;

impl Lambdas {
    pub fn new(stream: &Stream) -> Result<Lambdas> {
        let context = stream.context();
        let record = Pinned::new(context, 1)?;
        let sink = DeviceBuffer::new(stream, "bad indices", 1)?;
        sink.upload(&[FaultSink { record: record.pointer(), ..FaultSink::zeroed() }])?;
        let (result, counts) = (Pinned::new(context, LANES)?, Pinned::new(context, 2 * SLOTS)?);
        let turns = Cell::new(0);
        let (keys, texts) = (HashMap::new(), HashMap::new());
        let (names, lanes, current) = (Vec::new(), RefCell::default(), Cell::new(0));
        let start = event(&context.name, false)?;
        Ok(Lambdas {
            sink,
            record,
            names,
            keys,
            texts,
            lanes,
            current,
            start,
            result,
            counts,
            turns,
        })
    }

    /// The address of the record of bad indices, for spans.
    pub fn sink(&self) -> u64 {
        self.sink.pointer()
    }

    /// Which count is next, and the address to which it is to come, one word of nodes and one of arcs.
    pub fn next_count(&self) -> (u64, u64) {
        let turn = self.turns.replace(self.turns.get() + 1);
        let slot = turn as usize % SLOTS;
        self.counts.set(2 * slot, NOT_THERE);
        self.counts.set(2 * slot + 1, NOT_THERE);
        (turn, self.counts.pointer() + 16 * slot as u64)
    }

    /// Count number `turn`, if it is there, of nodes, and of arcs where these were counted: an error where a later one has taken its
    /// place.
    pub fn count(&self, turn: u64) -> Result<Option<(u64, Option<u64>)>> {
        if self.turns.get() > turn + SLOTS as u64 {
            let what = format!("{SLOTS} counts were queued before one was asked for; ask sooner");
            return Err(Error::input(what));
        }
        let slot = turn as usize % SLOTS;
        let count = |at: usize| {
            let count = self.counts.get(2 * slot + at);
            (count != NOT_THERE).then_some(count)
        };
        Ok(count(0).map(|nodes| {
            // The arcs were written before.
            fence(Ordering::Acquire);
            (nodes, count(1))
        }))
    }

    /// Whether a lane has work that the main stream has not waited for: it does not wait for what the main stream is given now.
    pub fn forked(&self) -> bool {
        self.lanes.borrow().iter().any(|lane| lane.forked.get())
    }

    /// The lane that launches go to; 0 is the main stream.
    pub fn lane(&self) -> usize {
        self.current.get()
    }
}

impl CudaDevice {
    /// A lambda's kernels, if they were loaded under this key.
    pub fn loaded(&self, key: &LambdaKey) -> Option<Loaded> {
        self.lambdas.keys.get(key).copied()
    }

    /// Compiles and loads a lambda's kernels, for [`CudaDevice::loaded`].
    pub fn load_lambda(
        &mut self,
        key: LambdaKey,
        unit: &nvrtc::Unit,
        arguments: Vec<String>,
    ) -> Result<()> {
        let content = unit.text.clone() + &unit.options.join(" ");
        let found = match self.lambdas.texts.get(&content) {
            Some(found) => *found,
            None => {
                let functions = self.load_unit(unit)?;
                let Some(last) = functions.last() else { return Ok(()) };
                let kernel = |at: usize| *functions.get(at).unwrap_or(last);
                let number = self.lambdas.names.len() as u32;
                self.lambdas.names.push((unit.shown.clone(), arguments));
                let loaded = Loaded { number, kernels: [0, 1, 2, 3].map(kernel) };
                self.lambdas.texts.insert(content, loaded);
                loaded
            }
        };
        if self.lambdas.keys.len() >= KEPT_KEYS {
            self.lambdas.keys.clear();
        }
        self.lambdas.keys.insert(key, found);
        Ok(())
    }

    /// The error of the first bad index, if a launch that has ended met one.
    pub fn bad_index(&self) -> Result<()> {
        let FaultRecord { set, argument, index } = self.lambdas.record.get(0);
        if set == 0 {
            return Ok(());
        }
        let argument = argument as usize;
        let unknown = (String::from("?"), Vec::new());
        let (name, arguments) = self.lambdas.names.get(argument >> 8).unwrap_or(&unknown);
        let at = argument & 255;
        let shown = match at {
            at if at == DIVISION as usize => DIVIDES,
            at => arguments.get(at).map_or("?", String::as_str),
        };
        Err(bad_index(name, shown, index, None))
    }

    /// Sends the launches that follow to lane `lane`.
    pub fn switch(&self, lane: usize) -> Result<()> {
        self.lambdas.current.set(lane);
        if lane == 0 {
            return Ok(());
        }
        let (name, mut lanes) = (&self.info.device, self.lambdas.lanes.borrow_mut());
        while lanes.len() < lane {
            self.launched()?;
            lanes.push(Lane {
                stream: stream(name)?,
                event: event(name, false)?,
                forked: Cell::new(false),
            });
        }
        drop(lanes);
        self.lane_stream().map(drop)
    }

    /// Makes the main stream wait for all lanes.
    pub fn join(&self) -> Result<()> {
        let mut joined = false;
        for lane in self.lambdas.lanes.borrow().iter().filter(|lane| lane.forked.get()) {
            let main = self.stream().handle()?;
            // SAFETY: live events and streams of the current context.
            unsafe {
                check(
                    &self.info.device,
                    "cuEventRecord",
                    sys::cuEventRecord(lane.event, lane.stream),
                )?;
                let waits = sys::cuStreamWaitEvent(main, lane.event, 0);
                check(&self.info.device, "cuStreamWaitEvent", waits)?;
            }
            lane.forked.set(false);
            joined = true;
        }
        if joined {
            self.queued();
        }
        Ok(())
    }

    /// The stream of launches. A lane waits for what the main stream has had since it last waited for the lane.
    pub(super) fn lane_stream(&self) -> Result<sys::CUstream> {
        let (at, lanes) = (self.lambdas.current.get().checked_sub(1), self.lambdas.lanes.borrow());
        let main = self.stream().handle()?;
        let Some(lane) = at.and_then(|at| lanes.get(at)) else { return Ok(main) };
        if !lane.forked.get() {
            let (name, start) = (&self.info.device, self.lambdas.start);
            // SAFETY: live events and streams of the current context.
            unsafe {
                check(name, "cuEventRecord", sys::cuEventRecord(start, main))?;
                check(name, "cuStreamWaitEvent", sys::cuStreamWaitEvent(lane.stream, start, 0))?;
            }
            lane.forked.set(true);
        }
        Ok(lane.stream)
    }

    /// Queues a kernel with parameters of these bytes on the current lane.
    pub fn launch_lambda(&self, f: Function, shape: Launch, parameters: &[&[u64]]) -> Result<()> {
        self.queued();
        if self.lambdas.lane() == 0 && self.context.held.takes(f, shape, parameters) {
            return Ok(());
        }
        let mut pointers: Vec<*mut std::ffi::c_void> =
            parameters.iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        let stream = self.lane_stream()?;
        // SAFETY: one pointer a parameter, each to as many bytes as the kernel was compiled for
        // (src/operator/code.rs lays both out); what they point to outlives the work.
        unsafe { f.launch(&self.info.device, stream, shape, &mut pointers) }
    }

    /// Holds launches of lambdas on the main stream back from here on. They are queued together by [`CudaDevice::flush`], or one by
    /// one before anything else is queued on the stream.
    pub fn hold(&self) {
        self.context.held.set(true);
    }

    /// Queues launches at once again, after those that were held back.
    pub fn let_go(&self) -> Result<()> {
        self.context.held.set(false);
        self.stream().handle().map(drop)
    }

    /// Queues what is held back, as a graph where one is made or worth it.
    pub fn flush(&self) -> Result<()> {
        // To make one may wait for merges that are half launched, as an allocation does. The next flush finds none.
        if self.context.held.makes() && self.is_half_launched() {
            return self.wait();
        }
        self.stream().flush()
    }

    /// Queues copying `from` over `to`, which is as long, on the current lane.
    pub fn copy<T: bytemuck::Pod>(
        &self,
        from: &DeviceBuffer<T>,
        to: &DeviceBuffer<T>,
    ) -> Result<()> {
        self.queued();
        let bytes = from.len().min(to.len()) * size_of::<T>();
        // SAFETY: inside both allocations.
        check(&self.info.device, "cuMemcpyDtoD", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to.pointer(), from.pointer(), bytes, self.lane_stream()?)
        })
    }

    /// Queues zeroing the first `bytes` of an array on the current lane.
    pub fn zero_first<T: bytemuck::Pod>(
        &self,
        array: &DeviceBuffer<T>,
        bytes: usize,
    ) -> Result<()> {
        self.queued();
        let bytes = bytes.min(array.len() * size_of::<T>());
        // SAFETY: inside the allocation.
        check(&self.info.device, "cuMemsetD8", unsafe {
            sys::cuMemsetD8Async(array.pointer(), 0, bytes, self.lane_stream()?)
        })
    }
}

/// A range that profilers show while it lives, if their library is there.
pub(crate) struct Profiled(bool);

/// Opens a range of this name.
pub(crate) fn nvtx(label: &str) -> Profiled {
    static HERE: OnceLock<bool> = OnceLock::new();
    // SAFETY: probes for a library before its first use.
    let here = *HERE.get_or_init(|| unsafe { cudarc::nvtx::sys::is_culib_present() });
    if here {
        let text = CString::new(label).unwrap_or_default();
        // SAFETY: the library is there; it copies the NUL-terminated text.
        unsafe { cudarc::nvtx::sys::nvtxRangePushA(text.as_ptr()) };
    }
    Profiled(here)
}

impl Drop for Profiled {
    fn drop(&mut self) {
        if self.0 {
            // SAFETY: the library is there; ranges of a thread are nested.
            unsafe { cudarc::nvtx::sys::nvtxRangePop() };
        }
    }
}
