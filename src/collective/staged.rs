//! GPUs merged through host memory: copy out, merge there, copy back.

use super::abroad::drain;
use super::{Collective, MergeOp, Seat, Span, Split};
use crate::device::{Context, CudaDevice, Pinned, Stream, check};
use crate::error::Result;
use cudarc::driver::sys;
use std::sync::Arc;

/// A GPU whose arrays its host merges.
pub(crate) struct StagedCollective {
    context: Arc<Context>,
    stream: Stream,
    stage: Option<Pinned<u64>>,
    /// What merges there.
    host: Box<dyn Collective>,
}

impl StagedCollective {
    /// Of a replica whose host merges by `host`.
    pub fn new(device: &CudaDevice, host: Box<dyn Collective>) -> StagedCollective {
        let (context, stream) = (device.context.clone(), device.stream().clone());
        StagedCollective { context, stream, stage: None, host }
    }

    /// The address of the stage, which has room for so many bytes.
    fn stage(&mut self, bytes: u64) -> Result<u64> {
        let words = bytes.div_ceil(8).max(1) as usize;
        match &self.stage {
            Some(stage) if stage.len() >= words => Ok(stage.address() as u64),
            _ => {
                self.stage = None;
                let stage = self.stage.insert(Pinned::new(&self.context, words)?);
                Ok(stage.address() as u64)
            }
        }
    }
}

impl Collective for StagedCollective {
    fn name(&self) -> &'static str {
        "host"
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        span.check()?;
        let ticket = span.ticket(seat, split.fingerprint());
        let seen = seat.rendezvous.meet(seat.rank, ticket, [0, 0, 0, span.alike])?;
        if span.is_same(&seen) {
            return Ok(());
        }
        let size = span.dtype.size() as u64;
        let wait = |stream: &Stream| drain(&seat.rendezvous, seat.rank, stream);
        // What the GPU still does may take long; and to make a stage may wait for it.
        wait(&self.stream)?;
        let stage = self.stage(span.length * size)?;
        // What others own is theirs to tell, and what nobody owns stays.
        let all = split.bounds().last().copied().unwrap_or(0);
        let own = if span.op == MergeOp::Gather { split.range(seat.rank) } else { 0..all };
        let (first, length) = (own.start * size, ((own.end - own.start) * size) as usize);
        let check = |call, status| check(&self.context.name, call, status);
        let stream = self.stream.handle()?;
        // SAFETY: the stage has room for the whole array, and ranges lie inside it. The stream is drained before the host looks at the
        // stage, and again before it is used for something else.
        unsafe {
            let (to, from) = (stage + first, span.address + first);
            check("cuMemcpyDtoH", sys::cuMemcpyDtoHAsync_v2(to as _, from, length, stream))?;
            wait(&self.stream)?;
            self.host.merge(seat, Span { address: stage, ..span }, split)?;
            let (to, length) = (span.address, (all * size) as usize);
            check("cuMemcpyHtoD", sys::cuMemcpyHtoDAsync_v2(to, stage as _, length, stream))?;
            wait(&self.stream)
        }
    }
}
