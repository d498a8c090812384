//! Device arrays, which peers may read, and pinned words of the host.

use super::context::{Context, Entered, Stream};
use super::pool;
use crate::error::{Error, Result};
use bytemuck::Pod;
use cudarc::driver::sys;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes behind every array, since wide loads may read past the end of a short one.
pub(super) const SPARE: usize = 64;

/// What an array of `bytes` takes of a device's memory.
pub(crate) fn footprint(bytes: usize) -> usize {
    pool::rounded(bytes + SPARE)
}

/// A device array `[len] T`. Work on it is ordered on its replica's stream.
pub struct DeviceBuffer<T: Pod> {
    stream: Stream,
    pointer: u64,
    length: usize,
    /// As [`DeviceBuffer::zero_ahead`] left it.
    zeroed_ahead: AtomicBool,
    kind: PhantomData<T>,
}

impl<T: Pod> DeviceBuffer<T> {
    pub(crate) fn new(stream: &Stream, label: &str, length: usize) -> Result<Self> {
        let context = stream.context();
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
        let (stream, zeroed_ahead, kind) = (stream.clone(), AtomicBool::new(false), PhantomData);
        let buffer = DeviceBuffer { stream, pointer, length, zeroed_ahead, kind };
        buffer.zero(0, bytes)?;
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

    /// Queues zeroing `bytes` from byte `first` on.
    fn zero(&self, first: usize, bytes: usize) -> Result<()> {
        let stream = self.stream.handle()?;
        // SAFETY: callers keep inside the allocation.
        self.context().check("cuMemsetD8", unsafe {
            sys::cuMemsetD8Async(self.pointer + first as u64, 0, bytes, stream)
        })
    }

    /// Queues zeroing the elements from `first` on.
    pub(crate) fn clear_from(&self, first: usize) -> Result<()> {
        let first = first.min(self.length);
        self.zero(first * size_of::<T>(), (self.length - first) * size_of::<T>())
    }

    pub(super) fn context(&self) -> &Context {
        self.stream.context()
    }

    /// Makes the array's context current on this thread, which may be another replica's.
    pub(crate) fn bind(&self) -> Result<()> {
        self.context().bind()
    }

    /// The same until the result is dropped; then the one before is current again.
    pub(crate) fn enter(&self) -> Result<Entered> {
        self.context().enter()
    }

    /// Queues zeroing all elements.
    pub fn clear(&self) -> Result<()> {
        self.clear_from(0)
    }

    /// Queues zeroing all elements before a run, so that the run's first [`DeviceBuffer::zeroed`] need not.
    pub(crate) fn zero_ahead(&self) -> Result<()> {
        self.clear()?;
        self.zeroed_ahead.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The address, for a launch that zeroes all elements before a run, as [`DeviceBuffer::zero_ahead`] does.
    pub(crate) fn zeroed_by_launch(&self) -> u64 {
        self.zeroed_ahead.store(true, Ordering::Relaxed);
        self.pointer
    }

    /// The address, for a launch that is to find zeros and may leave others. All launches that write here must ask for it by
    /// this.
    pub(crate) fn zeroed(&self) -> Result<u64> {
        if !self.zeroed_ahead.swap(false, Ordering::Relaxed) {
            self.clear()?;
        }
        Ok(self.pointer)
    }

    /// Queues setting every 4-byte word to `word`.
    pub fn fill_words(&self, word: u32) -> Result<()> {
        let words = self.length * size_of::<T>() / 4;
        let stream = self.stream.handle()?;
        // SAFETY: inside the allocation, which is aligned to 256 bytes.
        self.context().check("cuMemsetD32", unsafe {
            sys::cuMemsetD32Async(self.pointer, word, words, stream)
        })
    }

    /// Copies `values` to the front of the array.
    pub fn upload(&self, values: &[T]) -> Result<()> {
        self.upload_at(0, values)
    }

    /// Copies `values` to the elements from `first` on.
    pub(crate) fn upload_at(&self, first: usize, values: &[T]) -> Result<()> {
        if first + values.len() > self.length {
            let (given, held) = (first + values.len(), self.length);
            return Err(Error::machine(format!("upload of {given} elements into {held}; a bug")));
        }
        let to = self.pointer + (first * size_of::<T>()) as u64;
        self.context().copy_in(self.stream.handle()?, to, bytemuck::cast_slice(values))
    }

    /// Copies all parts, each to the elements from its first one on.
    pub(crate) fn upload_parts<'a>(
        &self,
        parts: impl Iterator<Item = (usize, &'a [T])>,
    ) -> Result<()> {
        let mut placed = Vec::new();
        for (first, part) in parts {
            if first + part.len() > self.length {
                let (given, held) = (first + part.len(), self.length);
                let what = format!("upload of {given} elements into {held}; a bug");
                return Err(Error::machine(what));
            }
            let to = self.pointer + (first * size_of::<T>()) as u64;
            placed.push((to, bytemuck::cast_slice(part)));
        }
        self.context().copy_parts_in(self.stream.handle()?, &placed)
    }

    /// Whether it is in the memory of this context.
    pub(crate) fn is_on(&self, context: &Context) -> bool {
        self.context().handle == context.handle
    }

    /// Queues a copy of the front of `from`, as many bytes as this array has; `from` may be on another device, where it was
    /// finished.
    pub(crate) fn copy_from<U: Pod>(&self, from: &DeviceBuffer<U>) -> Result<()> {
        self.copy_bytes(from, 0..self.length * size_of::<T>())
    }

    /// Queues a copy of these elements of `from`, as [`DeviceBuffer::copy_from`], to the same places.
    pub(crate) fn copy_range(&self, from: &DeviceBuffer<T>, range: Range<usize>) -> Result<()> {
        self.copy_bytes(from, range.start * size_of::<T>()..range.end * size_of::<T>())
    }

    fn copy_bytes<U: Pod>(&self, from: &DeviceBuffer<U>, range: Range<usize>) -> Result<()> {
        if range.end > (from.length * size_of::<U>()).min(self.length * size_of::<T>()) {
            return Err(Error::machine("a copy of more than an array has; a bug"));
        }
        let (own, other, bytes) = (self.context().handle, from.context().handle, range.len());
        let [to, source] = [self.pointer, from.pointer].map(|array| array + range.start as u64);
        let stream = self.stream.handle()?;
        // SAFETY: bytes that both arrays have, in the memory of their contexts.
        self.context().check("cuMemcpyPeer", unsafe {
            match own == other {
                true => sys::cuMemcpyDtoDAsync_v2(to, source, bytes, stream),
                false => sys::cuMemcpyPeerAsync(to, own, source, other, bytes, stream),
            }
        })
    }

    /// Queues a copy of these elements to the device address `to`, which has as many.
    pub(crate) fn copy_to(&self, to: u64, range: Range<usize>) -> Result<()> {
        if range.end > self.length {
            return Err(Error::machine("a copy of more than an array has; a bug"));
        }
        let from = self.pointer + (range.start * size_of::<T>()) as u64;
        let stream = self.stream.handle()?;
        // SAFETY: elements that the array has, to where the caller has room that this GPU reaches.
        self.context().check("cuMemcpyDtoD", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to, from, range.len() * size_of::<T>(), stream)
        })
    }

    /// Waits for the stream and copies the array out. It blocks, so it is not for a run under way.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.part(0..self.length)
    }

    /// [`DeviceBuffer::to_vec`] of one element.
    pub(crate) fn element(&self, i: usize) -> Result<T> {
        Ok(self.part(i..i + 1)?[0])
    }

    /// [`DeviceBuffer::to_vec`] of the elements in `range`.
    pub(crate) fn part(&self, range: Range<usize>) -> Result<Vec<T>> {
        self.within(&range)?;
        let mut values = crate::memory::zeros("a copy of a device array", range.len())?;
        self.read(range.start, &mut values)?;
        Ok(values)
    }

    /// A copy in host memory of elements that nothing writes any more, made on any thread and whatever has become of the replica.
    pub(crate) fn part_of_finished(&self, range: Range<usize>) -> Result<Vec<T>> {
        let from = self.within(&range)?;
        let mut values: Vec<T> = crate::memory::zeros("a copy of a device array", range.len())?;
        let (_entered, bytes) = (self.enter()?, range.len() * size_of::<T>());
        if bytes > 0 {
            // SAFETY: elements that the array has, to as many of a vector; the call returns when they are there.
            let status = unsafe { sys::cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), from, bytes) };
            self.context().check("cuMemcpyDtoH", status)?;
        }
        Ok(values)
    }

    /// The same in an array of its own on the same GPU.
    pub(crate) fn copy_of_finished(&self, range: Range<usize>) -> Result<DeviceBuffer<T>> {
        let (from, length) = (self.within(&range)?, range.len());
        let (_entered, bytes) = (self.enter()?, length * size_of::<T>());
        let pointer = pool::take(self.context(), "a copy of a device array", bytes + SPARE)?;
        let (stream, zeroed_ahead, kind) =
            (self.stream.clone(), AtomicBool::new(false), PhantomData);
        let copy = DeviceBuffer { stream, pointer, length, zeroed_ahead, kind };
        if bytes > 0 {
            // SAFETY: elements that the array has, to a new one of as many on the same GPU, which is current.
            let status = unsafe { sys::cuMemcpyDtoD_v2(pointer, from, bytes) };
            self.context().check("cuMemcpyDtoD", status)?;
            // SAFETY: the context is current.
            self.context().check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })?;
        }
        Ok(copy)
    }

    /// The device address of the first of these elements, where the array has them.
    fn within(&self, range: &Range<usize>) -> Result<u64> {
        if range.start > range.end || range.end > self.length {
            let held = self.length;
            return Err(Error::machine(format!("elements {range:?} of an array of {held}; a bug")));
        }
        Ok(self.pointer + (range.start * size_of::<T>()) as u64)
    }

    /// The same memory as words of eight bytes, or of four where elements are not of eight.
    pub(crate) fn into_words(self) -> std::result::Result<DeviceBuffer<u64>, DeviceBuffer<u32>> {
        match size_of::<T>() {
            8 => Ok(self.recast()),
            _ => Err(self.recast()),
        }
    }

    /// The same memory as elements of another type.
    fn recast<U: Pod>(self) -> DeviceBuffer<U> {
        let whole = ManuallyDrop::new(self);
        let length = whole.length * size_of::<T>() / size_of::<U>();
        let zeroed_ahead = AtomicBool::new(whole.zeroed_ahead.load(Ordering::Relaxed));
        // SAFETY: the stream is moved out of a value that is not dropped and not used again.
        let stream = unsafe { std::ptr::read(&whole.stream) };
        DeviceBuffer { stream, pointer: whole.pointer, length, zeroed_ahead, kind: PhantomData }
    }

    /// Waits for the stream and copies the elements from `first` on out.
    pub(crate) fn read(&self, first: usize, to: &mut [T]) -> Result<()> {
        if first + to.len() > self.length {
            let (wanted, held) = (first + to.len(), self.length);
            return Err(Error::machine(format!("{wanted} elements of an array of {held}; a bug")));
        }
        if to.is_empty() {
            return Ok(());
        }
        let from = self.pointer + (first * size_of::<T>()) as u64;
        self.context().copy_out(self.stream.handle()?, from, bytemuck::cast_slice_mut(to))
    }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        // Kernels of other replicas, which do not know of the panic yet, may write into it.
        if std::thread::panicking() {
            return;
        }
        // The thread that lets go of it last may be another replica's.
        let Some(_current) = self.context().enter_to_free() else { return };
        // What is held back may use it. Where it cannot be queued, nothing is.
        let _ = self.stream.handle();
        pool::give(self.context(), self.pointer, self.length * size_of::<T>() + SPARE);
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
            context.check("cuMemHostAlloc", sys::cuMemHostAlloc(&mut host, bytes, flags))?;
            let status = sys::cuMemHostGetDevicePointer_v2(&mut device, host, 0);
            context.check("cuMemHostGetDevicePointer", status)?;
            std::ptr::write_bytes(host.cast::<u8>(), 0, bytes);
        }
        Ok(Pinned { context: context.clone(), host: host.cast(), device, length })
    }

    /// The address that kernels use.
    pub fn pointer(&self) -> u64 {
        self.device
    }

    /// Its length in elements.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.length
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

impl<T: Pod> std::fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceBuffer({}, {} elements)", self.context().name, self.length)
    }
}
