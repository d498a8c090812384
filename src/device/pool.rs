//! Blocks of device memory, kept for the next array of the same size.
//!
//! The time of random reads depends on which pages an array has. A kept block with the lowest address is used first, so that
//! a fleet that makes the same arrays as one before has the same pages. That also saves calls of the driver. Kept blocks
//! go back to the driver when an allocation fails or would exceed `--memory-limit`.

use super::check;
use super::context::Context;
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// The driver's granularity of blocks below 1 MiB, and of larger ones.
const GRAINS: (usize, usize) = (512, 2 << 20);

/// Addresses of free blocks by context handle and size in bytes.
type Blocks = HashMap<(usize, usize), BTreeSet<u64>>;
static KEPT: LazyLock<Mutex<Blocks>> = LazyLock::new(Mutex::default);

/// Addresses of blocks that other processes may have mapped: they do not go back to the driver.
#[derive(Default)]
struct Lent {
    /// Until the fleet is gone.
    now: BTreeSet<u64>,
    /// As long as this process lives: a fleet has failed, and others may not have let go.
    for_good: BTreeSet<u64>,
}

impl Lent {
    fn has(&self, block: &u64) -> bool {
        self.now.contains(block) || self.for_good.contains(block)
    }
}

static LENT: LazyLock<Mutex<Lent>> = LazyLock::new(Mutex::default);

/// Who has locked kept blocks may lock these, and not the other way round.
fn lent() -> MutexGuard<'static, Lent> {
    LENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a block for as long as other processes may have it mapped.
pub(super) fn lend(block: u64) {
    lent().now.insert(block);
}

/// No other process has anything of the fleets before mapped any more, unless these have failed.
pub(crate) fn take_back() {
    lent().now.clear();
}

/// A fleet of several processes has failed: others may have blocks mapped for as long as they live.
pub(crate) fn stay_lent() {
    let mut lent = lent();
    let mut now = std::mem::take(&mut lent.now);
    lent.for_good.append(&mut now);
}

fn kept() -> MutexGuard<'static, Blocks> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a block of `bytes` takes.
pub(super) fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(if bytes < 1 << 20 { GRAINS.0 } else { GRAINS.1 })
}

/// The bytes that the replicas of a fleet hold on a GPU, and the most that they may hold.
#[derive(Debug, Default)]
pub(crate) struct Account {
    limit: Option<u64>,
    in_use: AtomicU64,
    /// Of these, bytes that the driver could move to the host to make room for another allocation.
    managed: AtomicU64,
}

impl Account {
    pub fn new(limit: Option<u64>) -> Account {
        Account { limit, ..Account::default() }
    }

    /// Books `bytes` unless they would exceed the limit.
    fn book(&self, bytes: u64) -> bool {
        let limit = self.limit.unwrap_or(u64::MAX);
        let more = |in_use: u64| in_use.checked_add(bytes).filter(|sum| *sum <= limit);
        self.in_use.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    fn unbook(&self, bytes: u64) {
        self.in_use.fetch_sub(bytes, Relaxed);
    }

    fn left(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.in_use.load(Relaxed)))
    }
}

/// Bytes booked on a context's account for memory that is not from the pool, until dropped.
pub(super) struct Claim {
    context: Arc<Context>,
    bytes: u64,
    managed: bool,
}

impl Claim {
    /// Books `bytes` on the current context, which is `context`.
    pub fn new(context: &Arc<Context>, label: &str, bytes: u64, managed: bool) -> Result<Claim> {
        book(context, label, bytes)?;
        if managed {
            context.account.managed.fetch_add(bytes, Relaxed);
        }
        Ok(Claim { context: context.clone(), bytes, managed })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.context.account.unbook(self.bytes);
        if self.managed {
            self.context.account.managed.fetch_sub(self.bytes, Relaxed);
        }
    }
}

/// Books `bytes` on the account of `context`, which is current. Kept blocks are freed where they would exceed the limit.
fn book(context: &Context, label: &str, bytes: u64) -> Result<()> {
    let account = &context.account;
    if !account.book(bytes) {
        let (limit, in_use) = (account.limit.unwrap_or(0), account.in_use.load(Relaxed));
        return Err(Error::machine(format!(
            "{}: --memory-limit leaves no room for {label}: needs {bytes} bytes, {in_use} of {limit} \
             are in use; use --placement sharded, more GPUs, or a higher --memory-limit",
            context.name
        )));
    }
    if account.left() < kept_bytes(context) {
        release(context);
        // What other processes may have mapped stays, and counts.
        let stays = kept_of(context, |block| lent().has(block));
        if account.left() < stays {
            account.unbook(bytes);
            return Err(Error::machine(format!(
                "{}: --memory-limit leaves no room for {label}: needs {bytes} bytes, and {stays} are kept that other processes \
                 may have mapped; use one process, or a higher --memory-limit",
                context.name
            )));
        }
    }
    Ok(())
}

/// The error of an allocation of `bytes` for which there is no room.
pub(super) fn shortage(context: &Context, label: &str, bytes: u64) -> Error {
    let (free, total) = driver_memory(context).unwrap_or_default();
    Error::machine(format!(
        "{}: not enough device memory for {label}: needs {bytes} bytes, {free} are free of {total}; use \
         --placement sharded on more GPUs, a smaller graph, fewer replicas a GPU, or --devices host:N",
        context.name
    ))
}

/// A block of at least `bytes` on the current context, which is `context`.
pub(super) fn take(context: &Context, label: &str, bytes: usize) -> Result<u64> {
    let bytes = rounded(bytes);
    let key = (context.handle as usize, bytes);
    let reused = kept().get_mut(&key).and_then(BTreeSet::pop_first);
    if let Err(error) = book(context, label, bytes as u64) {
        kept().entry(key).or_default().extend(reused);
        return Err(error);
    }
    if let Some(block) = reused {
        return Ok(block);
    }
    let block = allocate(context, label, bytes);
    if block.is_err() {
        context.account.unbook(bytes as u64);
    }
    block
}

fn allocate(context: &Context, label: &str, bytes: usize) -> Result<u64> {
    let mut block = 0;
    let done = with_room(context, label, bytes as u64, || {
        // SAFETY: out-pointer to a local; the context is current.
        unsafe { sys::cuMemAlloc_v2(&mut block, bytes) }
    })?;
    check(&context.name, "cuMemAlloc", done)?;
    Ok(block)
}

/// Allocates `bytes` on `context`, which is current, by `call`: a second time without kept blocks if there
/// is no room, and not at all where managed memory would have to give way.
pub(super) fn with_room(
    context: &Context,
    label: &str,
    bytes: u64,
    mut call: impl FnMut() -> sys::CUresult,
) -> Result<sys::CUresult> {
    let managed = context.account.managed.load(Relaxed) > 0;
    let fits = || -> Result<bool> { Ok(!managed || bytes <= driver_memory(context)?.0) };
    for _ in 0..2 {
        if fits()? {
            let status = call();
            if status != sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                return Ok(status);
            }
        }
        if !release(context) {
            break;
        }
    }
    Err(shortage(context, label, bytes))
}

/// Bytes that the driver has free, and in all.
pub(super) fn driver_memory(context: &Context) -> Result<(u64, u64)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: out-pointers to locals; the context is current.
    let status = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
    check(&context.name, "cuMemGetInfo", status)?;
    Ok((free as u64, total as u64))
}

fn kept_bytes(context: &Context) -> u64 {
    kept_of(context, |_| true)
}

/// Bytes of the kept blocks that `counts`.
fn kept_of(context: &Context, counts: impl Fn(&u64) -> bool) -> u64 {
    let all = kept();
    let own = all.iter().filter(|((handle, _), _)| *handle == context.handle as usize);
    let count = |blocks: &BTreeSet<u64>| blocks.iter().filter(|block| counts(block)).count();
    own.map(|((_, bytes), blocks)| (bytes * count(blocks)) as u64).sum()
}

/// Bytes that arrays can still have on `context`, which is current: those that the driver has free and those of kept
/// blocks that can go back to it, within the limit.
pub(crate) fn room(context: &Context) -> Result<u64> {
    let stays = kept_of(context, |block| lent().has(block));
    let free = kept_bytes(context).saturating_sub(stays);
    let left = context.account.left();
    Ok((driver_memory(context)?.0 + free).min(left.saturating_sub(stays)))
}

/// Takes back a block of `bytes` from [`take`] on the current context, which is `context`.
pub(super) fn give(context: &Context, block: u64, bytes: usize) {
    // SAFETY: the context is current. Kernels that still use the block end before it is used again; where the
    // device has failed, the block is left alone.
    if unsafe { sys::cuCtxSynchronize() } == sys::CUresult::CUDA_SUCCESS {
        kept().entry((context.handle as usize, rounded(bytes))).or_default().insert(block);
        context.account.unbook(rounded(bytes) as u64);
    }
}

/// Frees the kept blocks of `context`, which is current, that no other process may have mapped; whether there were any.
pub(super) fn release(context: &Context) -> bool {
    let mut all = kept();
    let own: Vec<_> =
        all.keys().filter(|(handle, _)| *handle == context.handle as usize).copied().collect();
    let lent = lent();
    let mut freed = false;
    for key in own {
        let Some(blocks) = all.remove(&key) else { continue };
        let (stay, go): (BTreeSet<u64>, BTreeSet<u64>) =
            blocks.into_iter().partition(|block| lent.has(block));
        for block in &go {
            // SAFETY: from `cuMemAlloc`, not in use, freed once.
            unsafe { sys::cuMemFree_v2(*block) };
        }
        freed |= !go.is_empty();
        if !stay.is_empty() {
            all.insert(key, stay);
        }
    }
    freed
}
