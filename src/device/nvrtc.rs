//! Kernels: embedded CUDA C++, compiled to cubin by NVRTC, cached on disk by content.

use super::cache;
use super::library::{Opened, find, functions};
use super::probe::{Finding, describe, device_count, driver_version, loaded_from};
use crate::error::{Error, Result};
use cudarc::nvrtc::sys;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

functions!(
    /// What is used of NVRTC.
    Functions {
        nvrtcVersion(*mut c_int, *mut c_int) -> sys::nvrtcResult;
        nvrtcGetNumSupportedArchs(*mut c_int) -> sys::nvrtcResult;
        nvrtcGetSupportedArchs(*mut c_int) -> sys::nvrtcResult;
        nvrtcGetErrorString(sys::nvrtcResult) -> *const c_char;
        nvrtcCreateProgram(
            *mut sys::nvrtcProgram,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char
        ) -> sys::nvrtcResult;
        nvrtcCompileProgram(sys::nvrtcProgram, c_int, *const *const c_char) -> sys::nvrtcResult;
        nvrtcGetProgramLogSize(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult;
        nvrtcGetProgramLog(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult;
        nvrtcGetCUBINSize(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult;
        nvrtcGetCUBIN(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult;
        nvrtcGetPTXSize(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult;
        nvrtcGetPTX(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult;
        nvrtcDestroyProgram(*mut sys::nvrtcProgram) -> sys::nvrtcResult;
    }
);

/// A run-time compiler.
struct Nvrtc {
    functions: Functions,
    version: (i32, i32),
    /// Architectures that it compiles for, rising, as in 90.
    architectures: Vec<i32>,
    path: Option<String>,
    /// Keeps the functions there.
    _library: libloading::Library,
}

impl Nvrtc {
    fn of(opened: Opened) -> std::result::Result<Nvrtc, &'static str> {
        let functions = Functions::of(&opened.library)?;
        let (mut major, mut minor, mut count) = (0, 0, 0);
        let told = |function, status| match status {
            sys::nvrtcResult::NVRTC_SUCCESS => Ok(()),
            _ => Err(function),
        };
        // SAFETY: it writes two ints.
        told("nvrtcVersion", unsafe { (functions.nvrtcVersion)(&mut major, &mut minor) })?;
        // SAFETY: it writes an int.
        let status = unsafe { (functions.nvrtcGetNumSupportedArchs)(&mut count) };
        told("nvrtcGetNumSupportedArchs", status)?;
        let mut architectures = vec![0; count.max(0) as usize];
        // SAFETY: it writes as many ints as it said.
        let status = unsafe { (functions.nvrtcGetSupportedArchs)(architectures.as_mut_ptr()) };
        told("nvrtcGetSupportedArchs", status)?;
        architectures.sort_unstable();
        let path = opened.path.map(|path| path.display().to_string());
        let path = path.or_else(|| loaded_from(&format!("libnvrtc.so.{major}")));
        let version = (major, minor);
        Ok(Nvrtc { functions, version, architectures, path, _library: opened.library })
    }

    fn shown(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }
}

/// The first NVRTC whose code the driver runs and that knows all GPUs of this machine, else one that makes PTX for them; or what
/// to do.
fn nvrtc() -> std::result::Result<&'static Nvrtc, &'static str> {
    static CHOSEN: OnceLock<std::result::Result<Nvrtc, String>> = OnceLock::new();
    let choose = || {
        let gpus = (0..device_count()).filter_map(|gpu| describe(gpu, 0).ok());
        let gpus: Vec<i32> =
            gpus.filter_map(|gpu| gpu.compute_capability.replace('.', "").parse().ok()).collect();
        let all = find(&["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"], "cuda_nvrtc");
        chosen(all.filter_map(|opened| Nvrtc::of(opened).ok()), driver_version(), &gpus)
    };
    CHOSEN.get_or_init(choose).as_ref().map_err(String::as_str)
}

/// Whether an NVRTC of this major version, for these architectures, serves a machine.
#[derive(Debug, PartialEq, Eq)]
enum Fit {
    Full,
    /// GPUs that are newer than all that it knows get PTX.
    Ptx,
    /// The driver does not run its code.
    NewerThanDriver,
    /// It has forgotten a GPU.
    WithoutGpu,
}

fn fit(major: i32, known: &[i32], driver: Option<(i32, i32)>, gpus: &[i32]) -> Fit {
    // A driver runs what compilers of its CUDA and of older ones make, and those of its own major version.
    if driver.is_some_and(|driver| major > driver.0) {
        return Fit::NewerThanDriver;
    }
    let newest = known.last().copied().unwrap_or(0);
    if gpus.iter().all(|gpu| known.contains(gpu)) {
        Fit::Full
    } else if gpus.iter().all(|gpu| known.contains(gpu) || *gpu > newest) {
        Fit::Ptx
    } else {
        Fit::WithoutGpu
    }
}

fn chosen(
    all: impl Iterator<Item = Nvrtc>,
    driver: Option<(i32, i32)>,
    gpus: &[i32],
) -> std::result::Result<Nvrtc, String> {
    let (mut near, mut newer) = (None, None);
    for nvrtc in all {
        match fit(nvrtc.version.0, &nvrtc.architectures, driver, gpus) {
            Fit::Full => return Ok(nvrtc),
            Fit::Ptx => near = near.or(Some(nvrtc)),
            Fit::NewerThanDriver => newer = newer.or(Some(nvrtc.shown())),
            Fit::WithoutGpu => {}
        }
    }
    let places = "or CUDA's packages; hive finds it in CUDA's folders, conda, the Python on the path, and LD_LIBRARY_PATH";
    near.ok_or_else(|| match (newer, driver) {
        (Some(found), Some((major, minor))) => format!(
            "NVRTC {found} is newer than the driver, which runs CUDA {major}.{minor}; update the driver, or install \
             NVRTC {major} (`pip install nvidia-cuda-nvrtc-cu{major}` {places})"
        ),
        _ if gpus.iter().any(|gpu| *gpu < 75) => format!(
            "install CUDA's NVRTC 12, the last for GPUs of compute capability 7.0 (`pip install \
             nvidia-cuda-nvrtc-cu12` {places})"
        ),
        _ => format!("install CUDA's NVRTC (`pip install 'nvidia-cuda-nvrtc>=13,<14'` {places})"),
    })
}

/// NVRTC: found or not, version, advice.
pub(crate) fn nvrtc_finding() -> Finding {
    match nvrtc() {
        Ok(nvrtc) => Finding {
            found: true,
            version: Some(nvrtc.shown()),
            path: nvrtc.path.clone(),
            advice: None,
        },
        Err(advice) => Finding { advice: Some(advice.into()), ..Finding::default() },
    }
}

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
    let version = nvrtc().map(Nvrtc::shown).unwrap_or_default();
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
fn compile_unit(unit: &Unit, arch: &str) -> Result<Vec<u8>> {
    compile_with(unit, &unit.options, arch)
}

/// Whether a unit made at run time compiles. It is optimised little: that takes a third of the time, and refuses nothing else.
pub(crate) fn check_unit(unit: &Unit, arch: &str) -> Result<()> {
    let quick = nvrtc().is_ok_and(|nvrtc| nvrtc.version >= (12, 9));
    let mut options = unit.options.clone();
    options.extend(quick.then(|| "--Ofast-compile=max".into()));
    compile_with(unit, &options, arch).map(drop)
}

fn compile_with(unit: &Unit, options: &[String], arch: &str) -> Result<Vec<u8>> {
    build(&unit.name, &unit_text(unit), options, arch)?.map_err(|log| {
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
    let nvrtc =
        nvrtc().map_err(|advice| Error::machine(format!("NVRTC was not found; {advice}")))?;
    let of = &nvrtc.functions;
    // A GPU that is newer than NVRTC translates PTX of the newest that this knows.
    let number: i32 = arch.trim_start_matches("sm_").parse().unwrap_or(0);
    let newest = nvrtc.architectures.last().copied().unwrap_or(0);
    let ptx = number > newest;
    let arch = if ptx { format!("compute_{newest}") } else { arch.into() };
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
            code: CStr::from_ptr((of.nvrtcGetErrorString)(status)).to_string_lossy().into_owned(),
        };
        let ok = sys::nvrtcResult::NVRTC_SUCCESS;
        let status = (of.nvrtcCreateProgram)(
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
        let status = (of.nvrtcCompileProgram)(program, pointers.len() as i32, pointers.as_ptr());
        if status != ok {
            let mut size = 0;
            (of.nvrtcGetProgramLogSize)(program, &mut size);
            let mut log = vec![0u8; size.max(1)];
            (of.nvrtcGetProgramLog)(program, log.as_mut_ptr().cast());
            (of.nvrtcDestroyProgram)(&mut program);
            let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_string();
            return Ok(Err(log));
        }
        let (size_of, get) = match ptx {
            true => (of.nvrtcGetPTXSize, of.nvrtcGetPTX),
            false => (of.nvrtcGetCUBINSize, of.nvrtcGetCUBIN),
        };
        let mut size = 0;
        let mut status = size_of(program, &mut size);
        let mut cubin = vec![0u8; size];
        if status == ok {
            status = get(program, cubin.as_mut_ptr().cast());
        }
        (of.nvrtcDestroyProgram)(&mut program);
        if status == ok { Ok(Ok(cubin)) } else { Err(failed("nvrtcGetCUBIN", status)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_one_whose_code_the_driver_and_the_gpus_run() {
        let (old, twelve, thirteen) =
            ([70, 75, 80, 90], [70, 75, 80, 90, 100, 120], [75, 80, 90, 100, 120]);
        let (recent, older) = (Some((13, 0)), Some((12, 4)));
        assert_eq!(fit(13, &thirteen, recent, &[90, 90]), Fit::Full);
        assert_eq!(fit(13, &thirteen, None, &[]), Fit::Full);
        // A driver of CUDA 12.
        assert_eq!(fit(13, &thirteen, older, &[90]), Fit::NewerThanDriver);
        assert_eq!(fit(12, &twelve, older, &[90]), Fit::Full);
        // V100s, alone and beside an H100.
        assert_eq!(fit(13, &thirteen, recent, &[70]), Fit::WithoutGpu);
        assert_eq!(fit(12, &twelve, recent, &[70, 90]), Fit::Full);
        // GPUs newer than the compiler.
        assert_eq!(fit(12, &old, older, &[120]), Fit::Ptx);
        assert_eq!(fit(12, &old, older, &[60, 120]), Fit::WithoutGpu);
    }
}
