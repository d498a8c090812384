//! Kernels: embedded CUDA C++, compiled to cubin by NVRTC, cached on disk by content.

use super::cache;
use super::probe::{describe, device_count, nvrtc_finding};
use crate::error::{Error, Result};
use cudarc::nvrtc::sys;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// One translation unit of `kernels/`.
pub struct KernelSource {
    /// File name.
    pub name: &'static str,
    /// Where it is in `kernels/`.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The `extern "C"` kernels in it.
    pub kernels: &'static [&'static str],
    /// Every set of options that the engine compiles it with.
    pub variants: &'static [&'static [&'static str]],
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The source called `name`.
pub(crate) fn source(name: &str) -> &'static KernelSource {
    KERNELS.iter().find(|k| k.name == name).unwrap_or(&KERNELS[0])
}

/// A translation unit that is made at run time.
pub(crate) struct Unit {
    /// What its lines are of, for the compiler.
    pub name: String,
    /// What messages call it.
    pub shown: String,
    pub text: String,
    /// The `extern "C"` kernels in it.
    pub kernels: Vec<String>,
    pub options: Vec<String>,
}

/// The result of a compilation, which a process makes once: replicas that need the same code wait for the first.
type Made = Arc<OnceLock<Result<Arc<Vec<u8>>>>>;
static MADE: LazyLock<Mutex<HashMap<String, Made>>> = LazyLock::new(Mutex::default);

/// A file of `kernels/`: the embedded text, or, for those who work on kernels, what a folder that HIVE_KERNELS names
/// has at that path.
fn current<'a>(path: &str, embedded: &'a str) -> Cow<'a, str> {
    let folder = std::env::var_os("HIVE_KERNELS");
    let other = folder.and_then(|f| std::fs::read_to_string(Path::new(&f).join(path)).ok());
    other.map_or(Cow::Borrowed(embedded), Cow::Owned)
}

/// `text`, and behind it assertions that what `file` of `kernels/` shares with Rust is what Rust was built with.
fn checked(text: &str, file: &str) -> String {
    let layouts = LAYOUTS.iter().find(|(name, _)| *name == file).map_or("", |(_, layouts)| layouts);
    format!("{text}\n#line 1 \"layouts of {file}\"\n{layouts}")
}

/// The text of a source.
fn source_text(source: &KernelSource) -> String {
    checked(&current(source.path, source.text), source.name)
}

/// The text of a unit, which runs one of the operators.
fn unit_text(unit: &Unit) -> String {
    checked(&unit.text, "operators.cuh")
}

/// The cubin of `source` for `arch`: made before in this process, from the cache, or compiled.
pub(super) fn cubin(source: &KernelSource, options: &[String], arch: &str) -> Result<Arc<Vec<u8>>> {
    made(&source_text(source), options, arch, || compile(source, options, arch))
}

/// Compiles the first variants of these sources for the first of `gpus`, or of all GPUs, each on a thread of its own, so that who
/// needs them finds them sooner; for several GPUs also what they launch together. `wide`: the variants for so many arcs that offsets have 64 bits.
pub(crate) fn compile_ahead(names: Vec<&'static str>, wide: bool, gpus: Option<Vec<u32>>) {
    // Who needs the kernels waits for what is under way, and reports what is wrong.
    let ahead = move || {
        let gpus = gpus.unwrap_or_else(|| (0..device_count()).collect());
        let Some(first) = gpus.first().and_then(|gpu| describe(*gpu, 0).ok()) else { return };
        let joint = |name: &&'static str| {
            let joint = name.replace(".cu", "_joint.cu");
            KERNELS.iter().find(|source| source.name == joint).map(|source| source.name)
        };
        let mut all = names.clone();
        if gpus.len() > 1 {
            all.extend(names.iter().filter_map(joint).chain(["merge.cu"]));
        }
        compile_all(all, wide, &first.compute_capability);
    };
    let _ = std::thread::Builder::new().name("compile ahead".into()).spawn(ahead);
}

fn compile_all(names: Vec<&'static str>, wide: bool, capability: &str) {
    let arch = arch(capability);
    for name in names {
        let (source, arch) = (source(name), arch.clone());
        let compile = move || {
            let options = source.variants.first().copied().unwrap_or_default();
            let widened = |option: &&str| match (wide, *option) {
                (true, "-DHIVE_WIDE=0") => "-DHIVE_WIDE=1".into(),
                // So many nodes leave no bits for weights.
                (true, "-DHIVE_PACKED=1") => "-DHIVE_PACKED=0".into(),
                (_, other) => other.into(),
            };
            let options: Vec<String> = options.iter().map(widened).collect();
            // Who needs it reports what is wrong with it.
            let _ = cubin(source, &options, &arch);
        };
        let _ = std::thread::Builder::new().name(format!("compile {name}")).spawn(compile);
    }
}

/// As NVRTC calls GPUs of this compute capability.
pub(super) fn arch(capability: &str) -> String {
    format!("sm_{}", capability.replace('.', ""))
}

/// The same of a unit made at run time.
pub(super) fn unit_cubin(unit: &Unit, arch: &str) -> Result<Arc<Vec<u8>>> {
    made(&unit_text(unit), &unit.options, arch, || compile_unit(unit, arch))
}

fn made(
    text: &str,
    options: &[String],
    arch: &str,
    compile: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<Arc<Vec<u8>>> {
    let version = nvrtc_finding().version.unwrap_or_default();
    let options = options.join(" ");
    let headers: Vec<_> = HEADERS.iter().map(|header| current(header.1, header.2)).collect();
    let mut parts = vec![text, arch, &version, &options];
    parts.extend(headers.iter().map(|header| &**header));
    let key = cache::key(&parts);
    let slot = {
        let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        Made::clone(all.entry(key.clone()).or_default())
    };
    let make = || {
        if let Some(found) = cache::read(&key) {
            return Ok(Arc::new(found));
        }
        let compiled = compile()?;
        cache::write(&key, &compiled);
        Ok(Arc::new(compiled))
    };
    slot.get_or_init(make).clone()
}

/// Compiles a unit made at run time. Needs NVRTC, but no GPU.
pub(crate) fn compile_unit(unit: &Unit, arch: &str) -> Result<Vec<u8>> {
    build(&unit.name, &unit_text(unit), &unit.options, arch)?.map_err(|log| {
        let said = in_lambda(&unit.name, &log);
        Error::input(format!("lambda {} does not compile: {said}; correct its text", unit.shown))
    })
}

/// The compiler's errors about the lambda's own lines, as `line 3: ...`; else whatever it said first.
fn in_lambda(name: &str, log: &str) -> String {
    let head = format!("{name}(");
    let own = log.lines().filter_map(|line| {
        let (number, rest) = line.strip_prefix(&head)?.split_once(')')?;
        let what = rest.trim_start_matches(": ").strip_prefix("error")?;
        let what = what.split_once(": ").map_or(what, |(_, what)| what);
        Some(format!("line {number}: {what}"))
    });
    let own: Vec<String> = own.take(3).collect();
    if own.is_empty() {
        let first = log.lines().find(|line| line.contains("error")).unwrap_or(log);
        return format!("{first} (braces that do not match, perhaps)");
    }
    own.join("; ")
}

fn text(s: &str) -> CString {
    CString::new(s).unwrap_or_default()
}

/// Compiles `source` for `arch`, `sm_90` for example, with extra `options`. Needs NVRTC, but no GPU.
pub fn compile(source: &KernelSource, options: &[String], arch: &str) -> Result<Vec<u8>> {
    let said = |log| Error::machine(format!("{} does not compile for {arch}:\n{log}", source.name));
    build(source.name, &source_text(source), options, arch)?.map_err(said)
}

/// The cubin, or the compiler's log.
fn build(
    file: &str,
    body: &str,
    options: &[String],
    arch: &str,
) -> Result<std::result::Result<Vec<u8>, String>> {
    let finding = nvrtc_finding();
    if !finding.found {
        let advice = finding.advice.unwrap_or_default();
        return Err(Error::machine(format!("NVRTC (libnvrtc.so.13) was not found; {advice}")));
    }
    let mut all = vec![format!("--gpu-architecture={arch}"), "--std=c++17".into()];
    // Kernels of a file are optimised on as many threads as there are cores.
    all.extend(["-lineinfo", "-default-device", "--split-compile=0"].map(String::from));
    all.extend(options.iter().cloned());
    let all: Vec<CString> = all.iter().map(|o| text(o)).collect();
    let pointers: Vec<_> = all.iter().map(|o| o.as_ptr()).collect();
    let headers: Vec<_> = HEADERS.iter().map(|h| (text(h.0), text(&current(h.1, h.2)))).collect();
    let names: Vec<_> = headers.iter().map(|h| h.0.as_ptr()).collect();
    let bodies: Vec<_> = headers.iter().map(|h| h.1.as_ptr()).collect();
    let (body, name) = (text(body), text(file));
    let mut program = std::ptr::null_mut();
    // SAFETY: all strings are NUL-terminated and outlive the calls; the buffers for log and cubin
    // have the sizes that NVRTC asked for; the program is destroyed once.
    unsafe {
        let failed = |what: &str, status: sys::nvrtcResult| Error::Device {
            device: "nvrtc".into(),
            call: format!("{what} of {file}"),
            code: CStr::from_ptr(sys::nvrtcGetErrorString(status)).to_string_lossy().into_owned(),
        };
        let ok = sys::nvrtcResult::NVRTC_SUCCESS;
        let status = sys::nvrtcCreateProgram(
            &mut program,
            body.as_ptr(),
            name.as_ptr(),
            headers.len() as i32,
            bodies.as_ptr(),
            names.as_ptr(),
        );
        if status != ok {
            return Err(failed("nvrtcCreateProgram", status));
        }
        let status = sys::nvrtcCompileProgram(program, pointers.len() as i32, pointers.as_ptr());
        if status != ok {
            let mut size = 0;
            sys::nvrtcGetProgramLogSize(program, &mut size);
            let mut log = vec![0u8; size.max(1)];
            sys::nvrtcGetProgramLog(program, log.as_mut_ptr().cast());
            sys::nvrtcDestroyProgram(&mut program);
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_string();
            return Ok(Err(log));
        }
        let mut size = 0;
        let mut status = sys::nvrtcGetCUBINSize(program, &mut size);
        let mut cubin = vec![0u8; size];
        if status == ok {
            status = sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast());
        }
        sys::nvrtcDestroyProgram(&mut program);
        if status == ok { Ok(Ok(cubin)) } else { Err(failed("nvrtcGetCUBIN", status)) }
    }
}
