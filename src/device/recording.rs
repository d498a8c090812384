//! Launches that are recorded once and then queued in one call. Queueing short kernels one by one takes the host longer than they
//! take the GPU, the more so where several threads share a driver.

use super::chain::{Chain, Executable};
use super::context::Context;
use super::cuda_device::CudaDevice;
use crate::error::{Error, Result};
use std::sync::Arc;

/// Launches recorded by [`CudaDevice::record`], with their arguments. The memory that these name must live when they are
/// replayed.
pub(crate) struct Recording {
    /// Gone once it is dropped.
    executable: Option<Executable>,
    context: Arc<Context>,
}

// SAFETY: a handle that any thread may use, one at a time; it has one owner.
unsafe impl Send for Recording {}

impl Drop for Recording {
    fn drop(&mut self) {
        match self.context.enter_to_free() {
            Some(_entered) => drop(self.executable.take()),
            None => std::mem::forget(self.executable.take()),
        }
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
        let executable = chain.ok_or_else(none)?.executable(name)?;
        executable.upload(name, self.stream().handle()?)?;
        self.queued();
        Ok(Recording { executable: Some(executable), context: self.context.clone() })
    }

    /// Queues all that was recorded.
    pub fn replay(&self, recording: &Recording) -> Result<()> {
        self.queued();
        let stream = self.stream().handle()?;
        let launch = |executable: &Executable| executable.launch(&self.info.device, stream);
        recording.executable.as_ref().map_or(Ok(()), launch)
    }
}
