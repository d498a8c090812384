//! A stream on a replica's GPU for work beside that of replicas: checks of answers, say.

use super::buffer::DeviceBuffer;
use super::context::{Context, Stream};
use super::launch::{Function, Launch, launch_on, load_module};
use super::nvrtc;
use super::probe::DeviceInfo;
use crate::error::{Error, Result};
use bytemuck::Pod;
use cudarc::driver::sys;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

/// A source and the option that it was compiled with.
type Compiled = (&'static str, &'static str);

/// A stream of a GPU's context, with kernels of its own. It belongs to no replica, and any thread may use it.
pub(crate) struct Side {
    stream: Stream,
    info: DeviceInfo,
    functions: Mutex<HashMap<Compiled, HashMap<&'static str, Function>>>,
}

impl Side {
    /// Of `context`, which is current.
    pub(super) fn new(context: &Arc<Context>, info: DeviceInfo) -> Result<Side> {
        Ok(Side { stream: Stream::new(context)?, info, functions: Mutex::default() })
    }

    /// The GPU.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Makes the context current on this thread; before all else here.
    pub fn bind(&self) -> Result<()> {
        self.stream.context().bind()
    }

    /// Bytes that arrays can still have.
    pub fn room(&self) -> Result<u64> {
        super::pool::room(self.stream.context())
    }

    /// An array of `length` zeroed elements.
    pub fn alloc<T: Pod>(&self, label: &str, length: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::new(&self.stream, label, length)
    }

    /// Waits for all that was queued.
    pub fn wait(&self) -> Result<()> {
        self.stream.drain()
    }

    /// Copies `values` to elements that start at the device address `to`, on the calling thread, and waits. There is room for
    /// them, and nothing else uses it.
    pub fn copy_to<T: Pod>(&self, to: u64, values: &[T]) -> Result<()> {
        self.stream.context().copy_in_alone(to, bytemuck::cast_slice(values))
    }

    /// A copy of `values`.
    pub fn copy<T: Pod>(&self, label: &str, values: &[T]) -> Result<DeviceBuffer<T>> {
        let buffer = self.alloc(label, values.len())?;
        buffer.upload(values)?;
        Ok(buffer)
    }

    /// A kernel of the file `source` of `kernels/`, compiled with `option`, if it has any, and loaded once.
    pub fn function(
        &self,
        source: &'static str,
        option: &'static str,
        kernel: &'static str,
    ) -> Result<Function> {
        let mut all = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = match all.entry((source, option)) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(entry) => {
                let (file, arch) =
                    (nvrtc::source(source), nvrtc::arch(&self.info.compute_capability));
                let options: Vec<String> = option.split_whitespace().map(String::from).collect();
                let cubin = nvrtc::cubin(file, &options, &arch)?;
                let names = file.kernels.iter().copied();
                let loaded = load_module(&self.stream.context().name, &cubin, names.clone())?;
                entry.insert(names.zip(loaded).collect())
            }
        };
        loaded.get(kernel).copied().ok_or_else(|| {
            Error::machine(format!("{source} has no kernel {kernel}; this is a bug"))
        })
    }

    /// The blocks of `threads` that so many `items` take, `each` a block: no more than fill the device.
    pub fn blocks(&self, items: u64, [each, threads]: [u32; 2]) -> u32 {
        let filling = u64::from(self.info.multiprocessors) * 2048 / u64::from(threads);
        items.div_ceil(each.into()).clamp(1, filling.max(1)) as u32
    }

    /// Queues `kernel` for so many `items`, `each` a block of `threads`, on no more blocks than fill the device.
    pub fn launch<A: Pod>(
        &self,
        kernel: Function,
        items: u64,
        [each, threads]: [u32; 2],
        args: &A,
    ) -> Result<()> {
        let blocks = self.blocks(items, [each, threads]);
        launch_on(
            &self.stream.context().name,
            self.stream.handle()?,
            kernel,
            Launch::of(blocks, threads),
            args,
        )
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        let Some(_current) = self.stream.context().enter_to_free() else { return };
        let Ok(stream) = self.stream.handle() else { return };
        // SAFETY: made by `new`, destroyed once.
        unsafe { sys::cuStreamDestroy_v2(stream) };
    }
}
