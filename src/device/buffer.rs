//! Device arrays over plain `cuMemAlloc` (peers may read them) and pinned words.

use super::cuda_device::Context;
use super::{check, pool};
use crate::error::{Error, Result};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::sys;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Bytes behind every array: wide loads may touch the end of a short one.
pub(super) const SPARE: usize = 64;

/// What an array of `bytes` takes of a device's memory.
pub(crate) fn footprint(bytes: usize) -> usize {
    pool::rounded(bytes + SPARE)
}

/// A device array `[len] T`. Work on it is ordered on its replica's stream.
pub struct DeviceBuffer<T: Pod> {
    context: Arc<Context>,
    stream: sys::CUstream,
    pointer: u64,
    length: usize,
    kind: PhantomData<T>,
}

// SAFETY: a device pointer is plain data; the context is Send and Sync.
unsafe impl<T: Pod> Send for DeviceBuffer<T> {}
// SAFETY: shared references only read the handle or copy out of the array.
unsafe impl<T: Pod> Sync for DeviceBuffer<T> {}

impl<T: Pod> DeviceBuffer<T> {
    pub(crate) fn new(
        context: &Arc<Context>,
        stream: sys::CUstream,
        label: &str,
        length: usize,
    ) -> Result<Self> {
        // Sizes are added and rounded up later: far below what a u64 holds.
        let most = usize::MAX / 4;
        let Some(bytes) = length.checked_mul(size_of::<T>()).filter(|bytes| *bytes < most) else {
            let name = &context.name;
            return Err(Error::machine(format!(
                "{name}: not enough memory for {label}: {length} elements fit no GPU; use a smaller array"
            )));
        };
        let bytes = bytes + SPARE;
        let pointer = pool::take(context, label, bytes)?;
        let buffer =
            DeviceBuffer { context: context.clone(), stream, pointer, length, kind: PhantomData };
        buffer.fill_bytes(0, bytes)?;
        Ok(buffer)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The device address of element 0.
    pub fn pointer(&self) -> u64 {
        self.pointer
    }

    fn fill_bytes(&self, value: u8, bytes: usize) -> Result<()> {
        // SAFETY: inside the allocation.
        check(&self.context.name, "cuMemsetD8", unsafe {
            sys::cuMemsetD8Async(self.pointer, value, bytes, self.stream)
        })
    }

    /// Queues zeroing the elements from `first` on.
    pub(crate) fn clear_from(&self, first: usize) -> Result<()> {
        let first = first.min(self.length);
        let at = self.pointer + (first * size_of::<T>()) as u64;
        // SAFETY: inside the allocation.
        check(&self.context.name, "cuMemsetD8", unsafe {
            sys::cuMemsetD8Async(at, 0, (self.length - first) * size_of::<T>(), self.stream)
        })
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Makes the array's context current on this thread, which need not be its replica's.
    pub(crate) fn bind(&self) -> Result<()> {
        self.context.bind()
    }

    /// Queues zeroing all elements.
    pub fn clear(&self) -> Result<()> {
        self.fill_bytes(0, self.length * size_of::<T>())
    }

    /// Queues setting every 4-byte word to `word`.
    pub fn fill_words(&self, word: u32) -> Result<()> {
        let words = self.length * size_of::<T>() / 4;
        // SAFETY: inside the allocation, which is aligned to 256 bytes.
        check(&self.context.name, "cuMemsetD32", unsafe {
            sys::cuMemsetD32Async(self.pointer, word, words, self.stream)
        })
    }

    /// Copies `values` to the front of the array.
    pub fn upload(&self, values: &[T]) -> Result<()> {
        if values.len() > self.length {
            let (given, held) = (values.len(), self.length);
            return Err(Error::machine(format!("upload of {given} elements into {held}; a bug")));
        }
        // SAFETY: inside the allocation; a pageable source has been consumed on return.
        unsafe {
            check(
                &self.context.name,
                "cuMemcpyHtoD",
                sys::cuMemcpyHtoDAsync_v2(
                    self.pointer,
                    values.as_ptr().cast(),
                    size_of_val(values),
                    self.stream,
                ),
            )?;
            check(&self.context.name, "cuStreamSynchronize", sys::cuStreamSynchronize(self.stream))
        }
    }

    /// Waits for the stream and copies the array out. For quiet moments: it blocks.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.part(0..self.length)
    }

    /// [`DeviceBuffer::to_vec`] of one element.
    pub(crate) fn element(&self, i: usize) -> Result<T> {
        Ok(self.part(i..i + 1)?[0])
    }

    /// [`DeviceBuffer::to_vec`] of the elements in `range`.
    pub(crate) fn part(&self, range: Range<usize>) -> Result<Vec<T>> {
        if range.start > range.end || range.end > self.length {
            let held = self.length;
            return Err(Error::machine(format!("elements {range:?} of an array of {held}; a bug")));
        }
        let mut values = crate::memory::zeros("a copy of a device array", range.len())?;
        if values.is_empty() {
            return Ok(values);
        }
        // SAFETY: as many bytes as both sides hold; the stream is drained before the vector is used.
        unsafe {
            check(
                &self.context.name,
                "cuMemcpyDtoH",
                sys::cuMemcpyDtoHAsync_v2(
                    values.as_mut_ptr().cast(),
                    self.pointer + (range.start * size_of::<T>()) as u64,
                    size_of_val(values.as_slice()),
                    self.stream,
                ),
            )?;
            check(
                &self.context.name,
                "cuStreamSynchronize",
                sys::cuStreamSynchronize(self.stream),
            )?;
        }
        Ok(values)
    }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        // Kernels of others may write into it, and nobody has told them yet.
        if std::thread::panicking() {
            return;
        }
        // Whoever lets go of it last need not be its replica's thread.
        let Some(_current) = self.context.enter_to_free() else { return };
        pool::give(&self.context, self.pointer, self.length * size_of::<T>() + SPARE);
    }
}

/// Pinned host words that the device reads and writes in place.
pub struct Pinned<T: Pod> {
    context: Arc<Context>,
    host: *mut T,
    device: u64,
    length: usize,
}

// SAFETY: the pointer is to memory owned by this value; access is volatile and word-sized.
unsafe impl<T: Pod> Send for Pinned<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    pub(crate) fn new(context: &Arc<Context>, length: usize) -> Result<Self> {
        let (mut host, mut device) = (std::ptr::null_mut(), 0);
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: out-pointers to locals; the context is current; the memory is zeroed before use.
        unsafe {
            let bytes = length * size_of::<T>();
            check(&context.name, "cuMemHostAlloc", sys::cuMemHostAlloc(&mut host, bytes, flags))?;
            check(
                &context.name,
                "cuMemHostGetDevicePointer",
                sys::cuMemHostGetDevicePointer_v2(&mut device, host, 0),
            )?;
            std::ptr::write_bytes(host.cast::<u8>(), 0, bytes);
        }
        Ok(Pinned { context: context.clone(), host: host.cast(), device, length })
    }

    /// The address that kernels use.
    pub fn pointer(&self) -> u64 {
        self.device
    }

    /// The address that the host uses.
    pub fn address(&self) -> *mut T {
        self.host
    }

    /// Reads element `i`.
    pub fn get(&self, i: usize) -> T {
        if i >= self.length {
            return T::zeroed();
        }
        // SAFETY: inside the allocation; volatile because the device writes it.
        unsafe { self.host.add(i).read_volatile() }
    }

    /// Writes element `i`.
    pub fn set(&self, i: usize, value: T) {
        if i < self.length {
            // SAFETY: inside the allocation; volatile because the device reads it.
            unsafe { self.host.add(i).write_volatile(value) }
        }
    }
}

impl<T: Pod> Drop for Pinned<T> {
    fn drop(&mut self) {
        let Some(_current) = self.context.enter_to_free() else { return };
        // SAFETY: allocated by `new`, freed once.
        unsafe { sys::cuMemFreeHost(self.host.cast()) };
    }
}

impl<T: Pod + Zeroable> std::fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceBuffer({}, {} elements)", self.context.name, self.length)
    }
}
