//! Device memory that processes of one host share: its owner names a block, others map it.

use super::context::Context;
use super::pool;
use crate::error::Result;
use cudarc::driver::sys;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

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
    key: Key,
    context: Arc<Context>,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        match self.context.enter_to_free() {
            // SAFETY: mapped once, unmapped once; nothing of this context that uses it is under way.
            Some(_entered) => _ = unsafe { sys::cuIpcCloseMemHandle(self.at) },
            None => _ = mapped().insert(self.key.clone(), Known::Stays(self.at)),
        }
    }
}

/// A context, and what the driver names a block by.
type Key = (usize, Vec<u8>);

/// What is mapped.
enum Known {
    /// While somebody has it.
    Had(Weak<Borrowed>),
    /// For good, at this address: kernels may still use it.
    Stays(u64),
}

static MAPPED: LazyLock<Mutex<HashMap<Key, Known>>> = LazyLock::new(Mutex::default);

fn mapped() -> MutexGuard<'static, HashMap<Key, Known>> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        // Seen: two threads that map one block at once are refused (CUDA_ERROR_ALREADY_MAPPED).
        let mut all = mapped();
        let key = (self.handle as usize, block.handle.clone());
        let at = match all.get(&key) {
            Some(Known::Stays(at)) => *at,
            Some(Known::Had(had)) => match had.upgrade() {
                Some(mapped) => return Ok(mapped),
                None => self.map(block)?,
            },
            None => self.map(block)?,
        };
        let mapped = Arc::new(Borrowed { at, key: key.clone(), context: self.clone() });
        all.insert(key, Known::Had(Arc::downgrade(&mapped)));
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
}
