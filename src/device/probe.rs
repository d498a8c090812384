//! What this machine has: driver, devices, NVRTC, NCCL. Without a GPU, too.

use super::nccl::nccl_finding;
use super::nvrtc::nvrtc_finding;
use super::{check, ready};
use crate::error::Result;
use cudarc::driver::sys;
use serde::Serialize;

/// Whether a library is there, which version, and what to do when it is not.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Finding {
    /// It is there and works.
    pub found: bool,
    /// Its own version number.
    pub version: Option<String>,
    /// The file that was loaded.
    pub path: Option<String>,
    /// What to do when it is missing.
    pub advice: Option<String>,
}

/// One device, as results describe it.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct DeviceInfo {
    /// Rank of the replica on it.
    pub rank: usize,
    /// `cuda:0` or `host`.
    pub device: String,
    /// What tells a GPU, or a slice of one, from all others, as in `GPU-d9b7cc76-...`; empty on the host.
    #[serde(default)]
    pub uuid: String,
    /// Product name.
    pub name: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Multiprocessors of a GPU, threads of a host replica.
    pub multiprocessors: u32,
    /// As in `9.0`; empty on the host.
    pub compute_capability: String,
    /// Clock in kHz; 0 where unknown.
    pub clock_khz: u32,
    /// Shared memory that a block can have, in bytes; 0 on the host, as what follows.
    pub shared_bytes: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub multiprocessor_shared_bytes: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// What the memory moves in a second, in bytes; 0 where unknown.
    pub memory_bytes_per_s: u64,
}

impl DeviceInfo {
    /// What tells its GPU from all others of the fleet; one name for all hosts.
    pub(crate) fn gpu(&self) -> &str {
        if self.uuid.is_empty() { &self.device } else { &self.uuid }
    }

    /// What a GPU gets done of work that is bound by memory, in bytes a second; 0 where unknown: what its memory moves, and no
    /// more than its multiprocessors ask for (32 bytes a cycle each), of which a part of a GPU has few.
    pub(crate) fn speed(&self) -> u64 {
        let asked = u64::from(self.multiprocessors) * u64::from(self.clock_khz) * 32_000;
        self.memory_bytes_per_s.min(asked)
    }
}

/// What `hive doctor` prints.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CudaProbe {
    /// The driver.
    pub driver: Finding,
    /// The GPUs.
    pub devices: Vec<DeviceInfo>,
    /// `[gpu][peer]`: whether kernels on one can read the other's memory.
    pub peer_access: Vec<Vec<bool>>,
    /// The run-time compiler.
    pub nvrtc: Finding,
    /// The collective library.
    pub nccl: Finding,
}

fn missing(advice: &str) -> Finding {
    Finding { advice: Some(advice.into()), ..Finding::default() }
}

/// The file that a library was loaded from, by the process's memory map.
pub(super) fn loaded_from(stem: &str) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let path = |line: &str| line.split_whitespace().nth(5).map(String::from);
    maps.lines()
        .filter_map(path)
        .find(|p| p.rsplit('/').next().is_some_and(|f| f.starts_with(stem)))
}

/// The CUDA that the driver runs, where there is one.
pub(super) fn driver_version() -> Option<(i32, i32)> {
    ready().ok()?;
    let mut version = 0;
    // SAFETY: writes one int.
    unsafe { sys::cuDriverGetVersion(&mut version) };
    Some((version / 1000, version % 1000 / 10))
}

fn driver_finding() -> Finding {
    if let Err(error) = ready() {
        return missing(&error.to_string());
    }
    let (major, minor) = driver_version().unwrap_or_default();
    let kernel = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let number =
        |word: &&str| word.contains('.') && word.chars().all(|c| c == '.' || c.is_ascii_digit());
    let cuda = format!("CUDA {major}.{minor}");
    let version = match kernel.split_whitespace().find(number) {
        Some(kernel) => format!("{kernel} ({cuda})"),
        None => cuda,
    };
    Finding { found: true, version: Some(version), path: loaded_from("libcuda.so"), advice: None }
}

pub(super) fn attribute(name: &str, device: i32, which: sys::CUdevice_attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: writes one int.
    check(name, "cuDeviceGetAttribute", unsafe {
        sys::cuDeviceGetAttribute(&mut value, which, device)
    })?;
    Ok(value as u32)
}

/// What tells GPU `ordinal` from all others.
pub(crate) fn gpu_uuid(ordinal: u32) -> Result<String> {
    ready()?;
    let name = format!("cuda:{ordinal}");
    let (mut device, mut uuid) = (0, sys::CUuuid { bytes: [0; 16] });
    // SAFETY: out-pointers to locals.
    unsafe {
        check(&name, "cuDeviceGet", sys::cuDeviceGet(&mut device, ordinal as i32))?;
        check(&name, "cuDeviceGetUuid", sys::cuDeviceGetUuid_v2(&mut uuid, device))?;
    }
    let hex: Vec<String> = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    let groups = [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]];
    Ok(format!("GPU-{}", groups.map(|group| group.concat()).join("-")))
}

/// Describes GPU `ordinal` without making a context.
pub(super) fn describe(ordinal: u32, rank: usize) -> Result<DeviceInfo> {
    use sys::CUdevice_attribute as A;
    ready()?;
    let name = format!("cuda:{ordinal}");
    let (mut device, mut bytes, mut text) = (0, 0usize, [0 as std::ffi::c_char; 128]);
    // SAFETY: out-pointers to locals of the right types; `text` is as long as said.
    unsafe {
        check(&name, "cuDeviceGet", sys::cuDeviceGet(&mut device, ordinal as i32))?;
        check(&name, "cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&mut bytes, device))?;
        check(&name, "cuDeviceGetName", sys::cuDeviceGetName(text.as_mut_ptr(), 128, device))?;
    }
    let product: String = text.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect();
    let number = |which| attribute(&name, device, which);
    let major = number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = number(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(DeviceInfo {
        rank,
        device: name.clone(),
        uuid: gpu_uuid(ordinal)?,
        name: product,
        memory_bytes: bytes as u64,
        multiprocessors: number(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        compute_capability: format!("{major}.{minor}"),
        clock_khz: number(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        shared_bytes: number(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        multiprocessor_shared_bytes: number(
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?,
        l2_bytes: number(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        // Two transfers a cycle.
        memory_bytes_per_s: 2000
            * u64::from(number(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?)
            * u64::from(number(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?)
            / 8,
    })
}

/// Number of GPUs, 0 when there is no driver.
pub(crate) fn device_count() -> u32 {
    let mut count = 0;
    if ready().is_err() {
        return 0;
    }
    // SAFETY: writes one int.
    let status = unsafe { sys::cuDeviceGetCount(&mut count) };
    if check("cuda", "cuDeviceGetCount", status).is_ok() { count as u32 } else { 0 }
}

/// Whether kernels on `from` can access `to`'s memory.
pub(crate) fn can_access(from: u32, to: u32) -> bool {
    let mut can = 0;
    // SAFETY: writes one int; ordinals are devices in the driver's own numbering.
    let status = unsafe { sys::cuDeviceCanAccessPeer(&mut can, from as i32, to as i32) };
    from == to || (status == sys::CUresult::CUDA_SUCCESS && can != 0)
}

/// Whether kernels on `from` can also do atomics in `to`'s memory: over NVLink, and not over PCIe.
pub(crate) fn can_do_atomics(from: u32, to: u32) -> bool {
    // The driver refuses to answer for a device and itself.
    if from == to {
        return true;
    }
    let which = sys::CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    let mut can = 0;
    // SAFETY: writes one int; ordinals are devices in the driver's own numbering.
    let status = unsafe { sys::cuDeviceGetP2PAttribute(&mut can, which, from as i32, to as i32) };
    status == sys::CUresult::CUDA_SUCCESS && can != 0
}

/// Looks at everything.
pub fn probe() -> CudaProbe {
    let count = device_count();
    CudaProbe {
        driver: driver_finding(),
        devices: (0..count).filter_map(|o| describe(o, o as usize).ok()).collect(),
        peer_access: (0..count).map(|a| (0..count).map(|b| can_access(a, b)).collect()).collect(),
        nvrtc: nvrtc_finding(),
        nccl: nccl_finding(),
    }
}
