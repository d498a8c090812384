//! Kernels and their launches.

use super::driver::check;
use crate::error::Result;
use bytemuck::Pod;
use cudarc::driver::sys;
use std::ffi::{CString, c_void};

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launch {
    pub blocks: u32,
    pub threads: u32,
    pub shared_bytes: u32,
    /// All blocks are resident at once, as barriers of the whole grid need them.
    pub cooperative: bool,
}

/// A loaded kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Function(pub(super) sys::CUfunction);

// SAFETY: a function handle is plain data, valid as long as its module, which is never unloaded.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Launch {
    /// So many blocks of so many threads, which need not meet.
    pub fn of(blocks: u32, threads: u32) -> Launch {
        Launch { blocks, threads, shared_bytes: 0, cooperative: false }
    }
}

impl Function {
    /// Queues the kernel on `stream`, with parameters that are there.
    ///
    /// # Safety
    ///
    /// The parameters are what the kernel takes; what they point to outlives the stream's work.
    pub(super) unsafe fn launch(
        self,
        device: &str,
        stream: sys::CUstream,
        shape: Launch,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let Launch { blocks, threads, shared_bytes, cooperative } = shape;
        let (p, none) = (parameters.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: a loaded kernel and a live stream; the call copies the parameters, which are as the caller promises.
        let status = unsafe {
            let (b, t, bytes) = (blocks, threads, shared_bytes);
            match cooperative {
                true => sys::cuLaunchCooperativeKernel(self.0, b, 1, 1, t, 1, 1, bytes, stream, p),
                false => sys::cuLaunchKernel(self.0, b, 1, 1, t, 1, 1, bytes, stream, p, none),
            }
        };
        check(device, "cuLaunchKernel", status)
    }
}

/// Queues a kernel that takes one struct by value on `stream`.
pub(crate) fn launch_on<A: Pod>(
    device: &str,
    stream: sys::CUstream,
    f: Function,
    shape: Launch,
    args: &A,
) -> Result<()> {
    let mut parameters = [std::ptr::from_ref(args).cast_mut().cast()];
    // SAFETY: the kernel's only parameter is a plain struct of this layout; the pointers in it outlive the stream's work
    // (buffers are freed only when it is quiet).
    unsafe { f.launch(device, stream, shape, &mut parameters) }
}

/// Loads a cubin into the current context, that of `device`; its kernels of these names.
pub(super) fn load_module<'a>(
    device: &str,
    cubin: &[u8],
    kernels: impl Iterator<Item = &'a str>,
) -> Result<Vec<Function>> {
    let mut module = std::ptr::null_mut();
    // SAFETY: a complete cubin image; the driver copies it.
    let status = unsafe { sys::cuModuleLoadData(&mut module, cubin.as_ptr().cast()) };
    check(device, "cuModuleLoadData", status)?;
    let function = |name: &str| -> Result<Function> {
        let mut function = std::ptr::null_mut();
        let symbol = CString::new(name).unwrap_or_default();
        // SAFETY: a loaded module and a NUL-terminated name.
        let status = unsafe { sys::cuModuleGetFunction(&mut function, module, symbol.as_ptr()) };
        check(device, &format!("cuModuleGetFunction {name}"), status)?;
        Ok(Function(function))
    };
    kernels.map(function).collect()
}
