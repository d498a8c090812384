//! The driver's error codes, and whether there is a driver at all.

use super::library::{find, functions};
use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::ffi::CStr;
use std::sync::OnceLock;

functions!(
    /// What drivers of CUDA 12.0 have under other names than the headers of CUDA 13, and newer ones under both.
    Older {
        cuEventElapsedTime(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
        cuMemAdvise(sys::CUdeviceptr, usize, sys::CUmem_advise, sys::CUdevice) -> sys::CUresult;
        cuMemPrefetchAsync(
            sys::CUdeviceptr,
            usize,
            sys::CUdevice,
            sys::CUstream
        ) -> sys::CUresult;
    }
);

/// These functions of the driver, which is loaded.
pub(super) fn older() -> Result<&'static Older> {
    static FOUND: OnceLock<Option<Older>> = OnceLock::new();
    let look = || {
        let opened = find(&["libcuda.so.1", "libcuda.so"], "").next()?;
        let functions = Older::of(&opened.library).ok()?;
        // The driver stays as long as the process.
        std::mem::forget(opened.library);
        Some(functions)
    };
    let lacks = || Error::machine("the CUDA driver lacks functions of CUDA 12.0; update it");
    FOUND.get_or_init(look).as_ref().ok_or_else(lacks)
}

/// The oldest CUDA whose driver has all that is used, as the driver numbers it.
const OLDEST: i32 = 12_000;

/// Turns a driver status into an error that names the device and the call.
pub(crate) fn check(device: &str, call: &str, status: sys::CUresult) -> Result<()> {
    if status == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = std::ptr::null();
    // SAFETY: the driver is loaded (it returned `status`); it stores a pointer to a static string.
    let known = unsafe { sys::cuGetErrorName(status, &mut name) };
    let code = if known == sys::CUresult::CUDA_SUCCESS && !name.is_null() {
        // SAFETY: a NUL-terminated static string of the driver.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    } else {
        format!("status {}", status as u32)
    };
    Err(Error::Device { device: device.into(), call: call.into(), code })
}

/// Loads and initialises the driver once, or tells why there is none. cudarc panics on a missing
/// library, so its presence is probed first.
pub(crate) fn ready() -> Result<()> {
    static STATE: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    STATE
        .get_or_init(|| {
            // SAFETY: probes for and initialises a system library; no other precondition.
            unsafe {
                if !sys::is_culib_present() {
                    return Err("no CUDA driver on this machine (libcuda.so is missing); install \
                                the NVIDIA driver, or use --devices host:N"
                        .into());
                }
                let status = sys::cuInit(0);
                if status == sys::CUresult::CUDA_ERROR_NO_DEVICE
                    && let Ok(visible) = std::env::var("CUDA_VISIBLE_DEVICES")
                {
                    return Err(format!(
                        "CUDA_VISIBLE_DEVICES={visible} leaves none; correct it (nvidia-smi -L lists the UUIDs of GPUs), \
                         or unset it"
                    ));
                }
                check("cuda", "cuInit", status).map_err(|e| e.to_string())?;
                let mut version = 0;
                sys::cuDriverGetVersion(&mut version);
                if version < OLDEST {
                    let (major, minor) = (version / 1000, version % 1000 / 10);
                    return Err(format!(
                        "the driver runs CUDA {major}.{minor}; update it to one of CUDA 12.0 or newer (525), or use \
                         --devices host:N"
                    ));
                }
                Ok(())
            }
        })
        .clone()
        .map_err(Error::machine)
}
