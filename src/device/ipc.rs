//! Device memory that processes of one host share: its owner names a block, others map it.

use super::context::Context;
use super::pool;
use crate::error::Result;
use crate::processes::Block;
use cudarc::driver::sys;

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

    /// Maps a block of another process; returns where. The context must be current, and wait for nothing that waits for this call.
    pub(crate) fn borrow(&self, block: &Block) -> Result<u64> {
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        handle.reserved.iter_mut().zip(&block.handle).for_each(|(to, from)| *to = *from as _);
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut at = 0;
        // SAFETY: out-pointer to a local; a handle that makes no sense is refused.
        let status = unsafe { sys::cuIpcOpenMemHandle_v2(&mut at, handle, flags) };
        self.check("cuIpcOpenMemHandle", status)?;
        Ok(at)
    }

    /// Unmaps what [`Context::borrow`] has mapped, unless kernels may still use it.
    pub(crate) fn return_all(&self, borrowed: impl Iterator<Item = u64>) {
        let Some(_entered) = self.enter_to_free() else { return };
        for at in borrowed {
            // SAFETY: mapped by `borrow`, unmapped once; nothing of this context that uses it is under way.
            unsafe { sys::cuIpcCloseMemHandle(at) };
        }
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
