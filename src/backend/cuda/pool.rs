//! Large device blocks, kept for the next array of the same size.
//!
//! A fleet that opens after another was closed would get other pages than the first, and kernels that read
//! at random are up to 6 % slower there (docs/measurements/README.md). It also spares the driver's work.
//! What is kept goes back to the driver as soon as an allocation fails.

use super::check;
use super::device::Context;
use crate::error::Result;
use cudarc::driver::sys;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Smaller arrays are the driver's business.
const LEAST: usize = 1 << 20;
/// The driver's own grain for large blocks.
const GRAIN: usize = 2 << 20;

/// Free blocks by context handle and size in bytes.
type Blocks = HashMap<(usize, usize), Vec<u64>>;
static KEPT: LazyLock<Mutex<Blocks>> = LazyLock::new(Mutex::default);

fn kept() -> MutexGuard<'static, Blocks> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a block of `bytes` takes.
pub(super) fn rounded(bytes: usize) -> usize {
    if bytes < LEAST { bytes } else { bytes.next_multiple_of(GRAIN) }
}

/// A block of at least `bytes` on the current context, which is `context`; `None` when there is no room.
pub(super) fn take(context: &Context, bytes: usize) -> Result<Option<u64>> {
    let bytes = rounded(bytes);
    if let Some(block) = kept().get_mut(&(context.handle as usize, bytes)).and_then(Vec::pop) {
        return Ok(Some(block));
    }
    let mut block = 0;
    for attempt in 0..2 {
        // SAFETY: out-pointer to a local; the context is current.
        let status = unsafe { sys::cuMemAlloc_v2(&mut block, bytes) };
        if status != sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            check(&context.name, "cuMemAlloc", status)?;
            return Ok(Some(block));
        }
        if attempt == 0 && !release(context) {
            break;
        }
    }
    Ok(None)
}

/// Takes back a block of `bytes` that [`take`] gave, on the current context, which is `context`.
pub(super) fn give(context: &Context, block: u64, bytes: usize) {
    let bytes = rounded(bytes);
    // SAFETY: the context is current. What still uses the block ends before it is used again.
    let quiet = unsafe { sys::cuCtxSynchronize() } == sys::CUresult::CUDA_SUCCESS;
    if bytes < LEAST {
        // SAFETY: given by `cuMemAlloc` and freed once.
        unsafe { sys::cuMemFree_v2(block) };
    } else if quiet {
        kept().entry((context.handle as usize, bytes)).or_default().push(block);
    }
}

/// Frees what is kept of `context`, which is current; says whether there was anything.
fn release(context: &Context) -> bool {
    let mut all = kept();
    let own: Vec<_> =
        all.keys().filter(|(handle, _)| *handle == context.handle as usize).copied().collect();
    let blocks: Vec<u64> = own.iter().filter_map(|key| all.remove(key)).flatten().collect();
    for block in &blocks {
        // SAFETY: given by `cuMemAlloc`, in nobody's hands, freed once.
        unsafe { sys::cuMemFree_v2(*block) };
    }
    !blocks.is_empty()
}
