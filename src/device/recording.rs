//! Launches that are recorded once and then queued in one call: a CUDA graph, a chain of kernels. Queueing short kernels
//! one by one takes the host longer than they take the GPU, the more so where several threads share a driver.
//!
//! The chain is made node by node. A capture of the stream would fail when another thread does certain things to the same
//! GPU meanwhile, such as waiting for its context.
//!
//! **Source.** CUDA Driver API, "Graph Management".

use super::check;
use super::context::Context;
use super::cuda_device::CudaDevice;
use super::launch::{Function, Launch};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::sync::Arc;

/// The kernels of a recording under way, each after the one before.
pub(super) struct Chain {
    graph: sys::CUgraph,
    last: Option<sys::CUgraphNode>,
}

impl Drop for Chain {
    fn drop(&mut self) {
        // SAFETY: live; an executable made of it does not need it.
        unsafe { sys::cuGraphDestroy(self.graph) };
    }
}

impl Chain {
    fn new(device: &str) -> Result<Chain> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: out-pointer to a local.
        check(device, "cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) })?;
        Ok(Chain { graph, last: None })
    }

    /// Adds a kernel, whose only parameter is at `args`.
    ///
    /// # Safety
    ///
    /// `args` points to the struct that the kernel takes, and the memory that it names lives whenever the chain runs.
    pub unsafe fn add(
        &mut self,
        device: &str,
        f: Function,
        shape: Launch,
        args: *mut std::ffi::c_void,
    ) -> Result<()> {
        if shape.cooperative {
            return Err(Error::machine("a cooperative launch in a recording; this is a bug"));
        }
        let mut parameters = [args];
        let what = sys::CUDA_KERNEL_NODE_PARAMS {
            func: f.0,
            gridDimX: shape.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: shape.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shape.shared_bytes,
            kernelParams: parameters.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kern: std::ptr::null_mut(),
            ctx: std::ptr::null_mut(),
        };
        let (mut node, before) = (std::ptr::null_mut(), self.last.as_slice());
        // SAFETY: a live graph and a node of it; the call copies the parameters, which are as the caller promises.
        let status = unsafe {
            sys::cuGraphAddKernelNode_v2(
                &mut node,
                self.graph,
                before.as_ptr(),
                before.len(),
                &what,
            )
        };
        check(device, "cuGraphAddKernelNode", status)?;
        self.last = Some(node);
        Ok(())
    }
}

/// Launches recorded by [`CudaDevice::record`], with their arguments. The memory that these name must live when they are
/// replayed.
pub(crate) struct Recording {
    handle: sys::CUgraphExec,
    context: Arc<Context>,
}

// SAFETY: a handle that any thread may use, one at a time; it has one owner.
unsafe impl Send for Recording {}

impl Drop for Recording {
    fn drop(&mut self) {
        let Some(_entered) = self.context.enter_to_free() else { return };
        // SAFETY: live, and not used afterwards; the driver keeps what is still under way.
        unsafe { sys::cuGraphExecDestroy(self.handle) };
    }
}

impl CudaDevice {
    /// Records the launches of `queue` instead of making them. It may launch kernels that are not cooperative, and do
    /// nothing else.
    pub fn record(&self, queue: impl FnOnce() -> Result<()>) -> Result<Recording> {
        let name = &self.info.device;
        self.begin_chain(Chain::new(name)?);
        let queued = queue();
        let chain = self.end_chain();
        queued?;
        let none = || Error::machine("a recording within a recording; this is a bug");
        let (chain, mut handle) = (chain.ok_or_else(none)?, std::ptr::null_mut());
        // SAFETY: a live graph; out-pointer to a local.
        let status = unsafe { sys::cuGraphInstantiateWithFlags(&mut handle, chain.graph, 0) };
        check(name, "cuGraphInstantiate", status)?;
        let recording = Recording { handle, context: self.context.clone() };
        // So that the first replay does not have to.
        let stream = self.stream().handle()?;
        // SAFETY: live executable graph and stream of one context.
        let status = unsafe { sys::cuGraphUpload(recording.handle, stream) };
        check(name, "cuGraphUpload", status)?;
        self.queued();
        Ok(recording)
    }

    /// Queues all that was recorded.
    pub fn replay(&self, recording: &Recording) -> Result<()> {
        self.queued();
        let stream = self.stream().handle()?;
        // SAFETY: a live executable graph and the live stream of one context; its kernels' memory lives, as `Recording` asks.
        let status = unsafe { sys::cuGraphLaunch(recording.handle, stream) };
        check(&self.info.device, "cuGraphLaunch", status)
    }
}
