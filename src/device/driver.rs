//! The driver's error codes, and whether there is a driver at all.

use crate::error::{Error, Result};
use cudarc::driver::sys;
use std::ffi::CStr;
use std::sync::OnceLock;

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
                check("cuda", "cuInit", sys::cuInit(0)).map_err(|e| e.to_string())
            }
        })
        .clone()
        .map_err(Error::machine)
}
