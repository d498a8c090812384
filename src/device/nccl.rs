//! NCCL's functions, from the library that is found.

use super::library::{find, functions};
use super::probe::{Finding, loaded_from};
use crate::error::{Error, Result};
use cudarc::nccl::sys;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

functions!(
    /// What is used of NCCL.
    Nccl {
        ncclGetVersion(*mut c_int) -> sys::ncclResult_t;
        ncclGetUniqueId(*mut sys::ncclUniqueId) -> sys::ncclResult_t;
        ncclCommInitRankConfig(
            *mut sys::ncclComm_t,
            c_int,
            sys::ncclUniqueId,
            c_int,
            *mut sys::ncclConfig_t
        ) -> sys::ncclResult_t;
        ncclCommGetAsyncError(sys::ncclComm_t, *mut sys::ncclResult_t) -> sys::ncclResult_t;
        ncclCommAbort(sys::ncclComm_t) -> sys::ncclResult_t;
        ncclCommDestroy(sys::ncclComm_t) -> sys::ncclResult_t;
        ncclGetLastError(sys::ncclComm_t) -> *const c_char;
        ncclGroupStart() -> sys::ncclResult_t;
        ncclGroupEnd() -> sys::ncclResult_t;
        ncclSend(
            *const c_void,
            usize,
            sys::ncclDataType_t,
            c_int,
            sys::ncclComm_t,
            sys::cudaStream_t
        ) -> sys::ncclResult_t;
        ncclRecv(
            *mut c_void,
            usize,
            sys::ncclDataType_t,
            c_int,
            sys::ncclComm_t,
            sys::cudaStream_t
        ) -> sys::ncclResult_t;
        ncclBroadcast(
            *const c_void,
            *mut c_void,
            usize,
            sys::ncclDataType_t,
            c_int,
            sys::ncclComm_t,
            sys::cudaStream_t
        ) -> sys::ncclResult_t;
        ncclAllReduce(
            *const c_void,
            *mut c_void,
            usize,
            sys::ncclDataType_t,
            sys::ncclRedOp_t,
            sys::ncclComm_t,
            sys::cudaStream_t
        ) -> sys::ncclResult_t;
    }
);

/// The oldest NCCL that is used, as its version number.
const OLDEST: c_int = 21900;

struct Loaded {
    functions: Nccl,
    version: c_int,
    path: Option<String>,
    /// Keeps the functions there.
    _library: libloading::Library,
}

/// The first NCCL that is found and is not too old; or what to do.
fn loaded() -> std::result::Result<&'static Loaded, &'static str> {
    static FOUND: OnceLock<std::result::Result<Loaded, String>> = OnceLock::new();
    let look = || {
        let mut wrong = None;
        for opened in find(&["libnccl.so.2", "libnccl.so"], "nccl") {
            let path = opened.path.map(|path| path.display().to_string());
            let path = path.or_else(|| loaded_from("libnccl.so"));
            let shown = || path.clone().unwrap_or_else(|| "libnccl.so.2".into());
            let functions = match Nccl::of(&opened.library) {
                Ok(functions) => functions,
                Err(lacks) => {
                    wrong.get_or_insert(format!("{} has no {lacks}", shown()));
                    continue;
                }
            };
            let mut version = 0;
            // SAFETY: writes one int.
            unsafe { (functions.ncclGetVersion)(&mut version) };
            if version < OLDEST {
                wrong.get_or_insert(format!("{} is NCCL {}", shown(), dotted(version)));
                continue;
            }
            return Ok(Loaded { functions, version, path, _library: opened.library });
        }
        let found = wrong.map_or(String::new(), |wrong| format!("{wrong}; "));
        Err(format!(
            "{found}install NCCL 2.19 or newer (`apt install libnccl2` or `pip install nvidia-nccl-cu13`, -cu12 for \
             drivers of CUDA 12); hive finds it where it finds NVRTC"
        ))
    };
    FOUND.get_or_init(look).as_ref().map_err(String::as_str)
}

/// NCCL's functions.
pub(crate) fn nccl() -> Result<&'static Nccl> {
    let found = loaded().map(|loaded| &loaded.functions);
    found.map_err(|advice| Error::machine(format!("NCCL was not found; {advice}")))
}

fn dotted(version: c_int) -> String {
    format!("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100)
}

/// NCCL: found or not, version, advice.
pub(crate) fn nccl_finding() -> Finding {
    match loaded() {
        Ok(Loaded { version, path, .. }) => Finding {
            found: true,
            version: Some(dotted(*version)),
            path: path.clone(),
            advice: None,
        },
        Err(advice) => Finding { advice: Some(advice.into()), ..Finding::default() },
    }
}
