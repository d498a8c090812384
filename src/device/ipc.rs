//! Device memory that processes of one host share: its owner names a block, others map it.

use super::context::Context;
use super::pool;
use crate::error::Result;
use cudarc::driver::sys;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// A block of device memory that other processes of the host may map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Block {
    /// Its address in its own process.
    pub base: u64,
    pub bytes: u64,
    /// What the driver names it by (`CUipcMemHandle`).
    pub handle: Vec<u8>,
}

/// A block of another process that is mapped here. It is unmapped with this, unless kernels may still use it.
pub(crate) struct Borrowed {
    pub at: u64,
    context: Arc<Context>,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_to_free() {
            // SAFETY: mapped once, unmapped once; nothing of this context that uses it is under way.
            unsafe { sys::cuIpcCloseMemHandle(self.at) };
        }
    }
}

/// What is mapped, by context and by the driver's name of the block.
type Mapped = HashMap<(usize, Vec<u8>), Weak<Borrowed>>;
static MAPPED: LazyLock<Mutex<Mapped>> = LazyLock::new(Mutex::default);

impl Context {
    /// The block that `address`, in an array of this context, lies in, for other processes to map. It does not go back to the
    /// driver until [`pool::take_back`]. The context must be current.
    pub(crate) fn lend(&self, address: u64) -> Result<Block> {
        let (mut base, mut bytes) = (0, 0);
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: out-pointers to locals; the address is that of a live array of this context.
        unsafe {
            self.check(
                "cuMemGetAddressRange",
                sys::cuMemGetAddressRange_v2(&mut base, &mut bytes, address),
            )?;
            self.check("cuIpcGetMemHandle", sys::cuIpcGetMemHandle(&mut handle, base))?;
        }
        pool::lend(base);
        let handle = handle.reserved.iter().map(|byte| *byte as u8).collect();
        Ok(Block { base, bytes: bytes as u64, handle })
    }

    /// Maps a block of another process, unless it is mapped. The context must be current, and wait for nothing that waits for this
    /// call.
    pub(crate) fn borrow(self: &Arc<Context>, block: &Block) -> Result<Arc<Borrowed>> {
        // The driver refuses a second map of a block, and has no time for two calls at once.
        let mut all = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.handle as usize, block.handle.clone());
        if let Some(mapped) = all.get(&key).and_then(Weak::upgrade) {
            return Ok(mapped);
        }
        let mapped = Arc::new(Borrowed { at: self.map(block)?, context: self.clone() });
        all.retain(|_, mapped| mapped.strong_count() > 0);
        all.insert(key, Arc::downgrade(&mapped));
        Ok(mapped)
    }

    fn map(&self, block: &Block) -> Result<u64> {
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        handle.reserved.iter_mut().zip(&block.handle).for_each(|(to, from)| *to = *from as _);
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut at = 0;
        // SAFETY: out-pointer to a local; a handle that makes no sense is refused.
        let status = unsafe { sys::cuIpcOpenMemHandle_v2(&mut at, handle, flags) };
        self.check("cuIpcOpenMemHandle", status)?;
        Ok(at)
    }

    /// Whether a stream of this context has nothing left to do.
    pub(crate) fn is_idle(&self, stream: sys::CUstream) -> Result<bool> {
        // SAFETY: a live stream of this context.
        match unsafe { sys::cuStreamQuery(stream) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            status => self.check("cuStreamQuery", status).map(|()| true),
        }
    }
}
