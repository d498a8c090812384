//! Chains of kernels that are queued in one call: CUDA graphs.
//!
//! A chain is made node by node. A capture of the stream would fail when another thread does certain things to the same
//! GPU meanwhile, such as waiting for its context.
//!
//! **Source.** CUDA Driver API, "Graph Management".

use super::driver::check;
use super::launch::{Function, Launch};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::ffi::c_void;

/// Kernels, each after the one before.
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

/// Where each of the parameters is that lie one behind the other in `words`.
pub(super) fn pointers(sizes: &[usize], words: &[u64]) -> Vec<*mut c_void> {
    let mut rest = words;
    let at = sizes.iter().map(|size| {
        let (own, others) = rest.split_at(*size);
        rest = others;
        own.as_ptr().cast_mut().cast()
    });
    at.collect()
}

fn node(
    f: Function,
    shape: Launch,
    parameters: &mut [*mut c_void],
) -> sys::CUDA_KERNEL_NODE_PARAMS {
    sys::CUDA_KERNEL_NODE_PARAMS {
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
    }
}

impl Chain {
    pub fn new(device: &str) -> Result<Chain> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: out-pointer to a local.
        check(device, "cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) })?;
        Ok(Chain { graph, last: None })
    }

    /// Adds a kernel, whose parameters are there.
    ///
    /// # Safety
    ///
    /// The parameters are what the kernel takes, and the memory that they name lives whenever the chain runs.
    pub unsafe fn add(
        &mut self,
        device: &str,
        f: Function,
        shape: Launch,
        parameters: &mut [*mut c_void],
    ) -> Result<sys::CUgraphNode> {
        if shape.cooperative {
            return Err(Error::machine("a cooperative launch in a recording; this is a bug"));
        }
        let (what, before) = (node(f, shape, parameters), self.last.as_slice());
        let (mut made, count) = (std::ptr::null_mut(), before.len());
        // SAFETY: a live graph and a node of it; the call copies the parameters, which are as the caller promises.
        let status = unsafe {
            sys::cuGraphAddKernelNode_v2(&mut made, self.graph, before.as_ptr(), count, &what)
        };
        check(device, "cuGraphAddKernelNode", status)?;
        self.last = Some(made);
        Ok(made)
    }

    pub fn executable(&self, device: &str) -> Result<Executable> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a live graph; out-pointer to a local.
        let status = unsafe { sys::cuGraphInstantiateWithFlags(&mut handle, self.graph, 0) };
        check(device, "cuGraphInstantiate", status)?;
        Ok(Executable(handle))
    }
}

/// A chain that can be queued.
pub(super) struct Executable(sys::CUgraphExec);

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: live, and not used afterwards; the driver keeps what is still under way.
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

impl Executable {
    /// Gives a kernel of its chain other parameters, from the next time on that it is queued.
    ///
    /// # Safety
    ///
    /// As [`Chain::add`]; `of` is a node of the chain.
    pub unsafe fn set(
        &mut self,
        device: &str,
        of: sys::CUgraphNode,
        f: Function,
        shape: Launch,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let what = node(f, shape, parameters);
        // SAFETY: live; the call copies the parameters, which are as the caller promises.
        let status = unsafe { sys::cuGraphExecKernelNodeSetParams_v2(self.0, of, &what) };
        check(device, "cuGraphExecKernelNodeSetParams", status)
    }

    /// So that it need not be done when it is first queued.
    pub fn upload(&self, device: &str, stream: sys::CUstream) -> Result<()> {
        // SAFETY: live executable graph and stream of one context.
        check(device, "cuGraphUpload", unsafe { sys::cuGraphUpload(self.0, stream) })
    }

    /// Queues all of the chain.
    pub fn launch(&self, device: &str, stream: sys::CUstream) -> Result<()> {
        // SAFETY: live executable graph and stream of one context; its kernels' memory lives, as `Chain::add` asks.
        check(device, "cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.0, stream) })
    }
}
