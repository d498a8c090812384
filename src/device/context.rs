//! A GPU's context, streams and events.

use super::check;
use super::held::Held;
use super::pool::Account;
use super::ring::Ring;
use crate::error::Result;
use cudarc::driver::sys;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A context. Whatever belongs to it holds it, since it takes it to free that.
pub(crate) struct Context {
    pub name: String,
    pub handle: sys::CUcontext,
    /// Set when the fleet failed. Kernels may still use its memory then, which is leaked and not freed.
    pub abandoned: AtomicBool,
    /// What the fleet's replicas on this GPU hold together.
    pub account: Arc<Account>,
    /// What large copies go through; made by the first of them.
    pub(super) ring: Mutex<Option<Arc<Ring>>>,
    /// Launches that its replica's stream has yet to be given.
    pub(super) held: Held,
}

impl Drop for Context {
    fn drop(&mut self) {
        let ring = self.ring.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let ring = ring.and_then(Arc::into_inner);
        let entered = self.enter_to_free();
        self.held.free(entered.is_none());
        if let Some((ring, entered)) = ring.zip(entered) {
            ring.free(&entered);
        }
    }
}

/// While it lives, a context is current on this thread; afterwards the one before is again.
pub(crate) struct Entered(PhantomData<*const ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: ends what `enter` began on this thread (the type is not Send); out-pointer to a local.
        unsafe { sys::cuCtxPopCurrent_v2(&mut popped) };
    }
}

// SAFETY: a context handle may be used from any thread that makes it current first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver's calls on it are thread-safe.
unsafe impl Sync for Context {}

impl Context {
    /// Makes the context current on the calling thread.
    pub fn bind(&self) -> Result<()> {
        // SAFETY: a live primary context; it is retained until process exit.
        self.check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.handle) })
    }

    /// Makes the context current on the calling thread for a while.
    pub fn enter(&self) -> Result<Entered> {
        // SAFETY: a live primary context; it is retained until process exit.
        let status = unsafe { sys::cuCtxPushCurrent_v2(self.handle) };
        self.check("cuCtxPushCurrent", status)?;
        Ok(Entered(PhantomData))
    }

    /// The same, to free something; `None` where it must leak, since the device may still use it.
    pub fn enter_to_free(&self) -> Option<Entered> {
        if self.abandoned.load(Ordering::Acquire) { None } else { self.enter().ok() }
    }

    pub(super) fn check(&self, call: &str, status: sys::CUresult) -> Result<()> {
        check(&self.name, call, status)
    }

    /// Waits until `stream`, a live one of this context, has nothing left to do. It blocks in the driver.
    pub(super) fn drain(&self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: a live stream.
        self.check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(stream) })
    }
}

/// A stream and its context, for whatever queues on it.
#[derive(Clone)]
pub(crate) struct Stream {
    context: Arc<Context>,
    handle: sys::CUstream,
    /// It is that of the context's replica, on which launches are held back.
    is_main: bool,
}

// SAFETY: a stream handle may be used from any thread that makes its context current.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver's calls on it are thread-safe.
unsafe impl Sync for Stream {}

impl Stream {
    /// Of `context`, which is current.
    pub(super) fn new(context: &Arc<Context>) -> Result<Stream> {
        Ok(Stream { handle: stream(&context.name)?, context: context.clone(), is_main: false })
    }

    /// The same, for the context's replica.
    pub(super) fn main(context: &Arc<Context>) -> Result<Stream> {
        Ok(Stream { is_main: true, ..Stream::new(context)? })
    }

    /// Its context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The handle, for one call that queues something: behind what was held back.
    pub fn handle(&self) -> Result<sys::CUstream> {
        if self.is_main {
            self.context.held.queue(&self.context.name, self.handle)?;
        }
        Ok(self.handle)
    }

    /// Differs before and after something is queued on it that was not held back.
    pub fn asked(&self) -> u64 {
        self.context.held.asked()
    }

    /// Queues what was held back in one call.
    pub(super) fn flush(&self) -> Result<()> {
        match self.is_main {
            true => self.context.held.flush(&self.context.name, self.handle),
            false => Ok(()),
        }
    }

    /// Waits until it has nothing left to do. It blocks in the driver.
    pub(super) fn drain(&self) -> Result<()> {
        self.context.drain(self.handle()?)
    }

    /// Whether it has nothing left to do.
    pub fn is_idle(&self) -> Result<bool> {
        let handle = self.handle()?;
        // SAFETY: a live stream.
        match unsafe { sys::cuStreamQuery(handle) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            status => self.context.check("cuStreamQuery", status).map(|()| true),
        }
    }
}

/// A stream of the current context, which is that of `device`.
pub(super) fn stream(device: &str) -> Result<sys::CUstream> {
    let mut stream = std::ptr::null_mut();
    let flag = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: the context is current; out-pointer to a local.
    check(device, "cuStreamCreate", unsafe { sys::cuStreamCreate(&mut stream, flag) })?;
    Ok(stream)
}

/// An event of the current context, which is that of `device`; only `timed` ones tell when they were.
pub(super) fn event(device: &str, timed: bool) -> Result<sys::CUevent> {
    let mut event = std::ptr::null_mut();
    let flags = if timed { 0 } else { sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32 };
    // SAFETY: the context is current; out-pointer to a local.
    check(device, "cuEventCreate", unsafe { sys::cuEventCreate(&mut event, flags) })?;
    Ok(event)
}
