//! Launches that are recorded once and then queued in one call: a CUDA graph. Where a run is a chain of short kernels, queueing
//! them one by one takes the host longer than they take the GPU, the more so where several threads share a driver.
//!
//! **Source.** CUDA Driver API, "Stream Management" (cuStreamBeginCapture), "Graph Management".

use super::check;
use super::device::{Context, CudaDevice};
use crate::error::Result;
use cudarc::driver::sys;
use std::sync::Arc;

/// What [`CudaDevice::record`] saw being queued, arguments and all: memory that it names must outlive it.
pub(crate) struct Recording {
    handle: sys::CUgraphExec,
    context: Arc<Context>,
}

// SAFETY: a handle that any thread may use, one at a time, which `replay` by reference from the one owner keeps.
unsafe impl Send for Recording {}

impl Drop for Recording {
    fn drop(&mut self) {
        let Some(_entered) = self.context.enter_to_free() else { return };
        // SAFETY: live, and not used hereafter; the driver keeps what is still under way.
        unsafe { sys::cuGraphExecDestroy(self.handle) };
    }
}

impl CudaDevice {
    /// Records the launches of `queue`, none of which happens. It must not allocate, copy, mark or wait.
    pub fn record(&self, queue: impl FnOnce() -> Result<()>) -> Result<Recording> {
        let name = &self.info.device;
        let (mut graph, mut handle) = (std::ptr::null_mut(), std::ptr::null_mut());
        // Other threads may go on with whatever they are at.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the live stream of this thread's device.
        let status = unsafe { sys::cuStreamBeginCapture_v2(self.stream(), mode) };
        check(name, "cuStreamBeginCapture", status)?;
        let queued = queue();
        // SAFETY: ends what was begun above, on the same thread; out-pointer to a local.
        let status = unsafe { sys::cuStreamEndCapture(self.stream(), &mut graph) };
        queued?;
        check(name, "cuStreamEndCapture", status)?;
        // SAFETY: the graph that was just made, which nobody needs once there is an executable of it; out-pointer to a local.
        let status = unsafe {
            let status = sys::cuGraphInstantiateWithFlags(&mut handle, graph, 0);
            sys::cuGraphDestroy(graph);
            status
        };
        check(name, "cuGraphInstantiate", status)?;
        Ok(Recording { handle, context: self.context.clone() })
    }

    /// Queues all that was recorded.
    pub fn replay(&self, recording: &Recording) -> Result<()> {
        self.queued();
        // SAFETY: a live executable graph and the live stream of one context; its kernels' memory lives, as `Recording` asks.
        let status = unsafe { sys::cuGraphLaunch(recording.handle, self.stream()) };
        check(&self.info.device, "cuGraphLaunch", status)
    }
}
