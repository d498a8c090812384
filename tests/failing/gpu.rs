//! Calls of CUDA's libraries, which the program finds by `dlsym`: it is given a stub in place of each function, which counts its
//! calls, and hands them on or fails. `FAIL_NAME` says which function's count. Without `FAIL_AT` none fails, and a line `NAME CALLS`
//! is appended to the file of `FAIL_LOG` each time that a function's calls are a power of two.

use super::{GPU, NEXT, kind, log, strikes, variable};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering::Relaxed};

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    /// `STUBS` stubs of 16 bytes.
    fn failing_stubs();
}

const STUBS: usize = 2048;
/// Addresses are larger than every code.
const OUT_OF_MEMORY: usize = 2;
const SYSTEM_ERROR: usize = 2;
const NOT_COMPILED: usize = 6;

/// The C library's own, which this library hides.
///
/// # Safety
/// As of the C library's.
pub unsafe fn find(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut real = REAL.load(Relaxed);
    if real.is_null() {
        // SAFETY: names that end.
        real = unsafe { dlvsym(NEXT, c"dlsym".as_ptr(), c"GLIBC_2.2.5".as_ptr()) };
        REAL.store(real, Relaxed);
    }
    // SAFETY: it is of this type.
    let real: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
        unsafe { std::mem::transmute(real) };
    // SAFETY: what the caller promises.
    unsafe { real(handle, name) }
}

struct Stub {
    /// Ends with 0.
    name: [u8; 64],
    function: AtomicPtr<c_void>,
    /// Its calls.
    calls: AtomicI64,
    /// Whether these are what is counted.
    chosen: bool,
    /// What it returns where it fails.
    code: usize,
}

static TABLE: Mutex<Vec<&'static Stub>> = Mutex::new(Vec::new());
static STUB: [AtomicPtr<Stub>; STUBS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; STUBS];

/// What a function that counts returns where it fails; none for those that tell what an error means.
fn code(name: &[u8]) -> Option<usize> {
    if name.windows(8).any(|part| part == b"GetError" || part == b"GetLastE") {
        return None;
    }
    let of = |start: &[u8]| name.starts_with(start) && name.get(start.len()).is_some_and(u8::is_ascii_uppercase);
    match name {
        _ if of(b"cu") => Some(OUT_OF_MEMORY),
        _ if of(b"nccl") => Some(SYSTEM_ERROR),
        _ if of(b"nvrtc") => Some(NOT_COMPILED),
        _ => None,
    }
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: what the caller promises.
    let found = unsafe { find(handle, name) };
    if found.is_null() || kind() != GPU {
        return found;
    }
    // SAFETY: a name ends.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    let Some(code) = code(text).filter(|_| text.len() < 64) else { return found };
    let mut table = TABLE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let known = table.iter().position(|stub| stub.function.load(Relaxed) == found);
    let at = known.unwrap_or(table.len());
    if at == STUBS {
        return found;
    }
    if known.is_none() {
        let mut name = [0; 64];
        name[..text.len()].copy_from_slice(text);
        let chosen = variable(c"FAIL_NAME").is_none_or(|one| one.to_bytes() == text);
        let function = AtomicPtr::new(found);
        let stub = Box::leak(Box::new(Stub { name, function, calls: AtomicI64::new(0), chosen, code }));
        STUB[at].store(stub, Relaxed);
        table.push(stub);
    }
    (failing_stubs as *const () as usize + 16 * at) as *mut c_void
}

/// Where a call of stub `at` goes on, or the code that it returns.
#[unsafe(no_mangle)]
extern "C" fn failing_decide(at: usize) -> usize {
    // SAFETY: the stub was made before anybody had its address, and is never freed.
    let stub = unsafe { &*STUB[at].load(Relaxed) };
    let calls = stub.calls.fetch_add(1, Relaxed) + 1;
    let name = CStr::from_bytes_until_nul(&stub.name).unwrap_or_default();
    if calls & (calls - 1) == 0 && variable(c"FAIL_AT").is_none() {
        log(format!("{} {calls}\n", name.to_string_lossy()).as_bytes());
    }
    if stub.chosen && strikes(GPU, name, 0 as c_int) {
        return stub.code;
    }
    stub.function.load(Relaxed) as usize
}

// A stub's own return address says which it is. Arguments are kept where they are.
std::arch::global_asm!(
    ".p2align 4",
    ".globl failing_stubs",
    "failing_stubs:",
    ".rept 2048",
    ".p2align 4",
    "call 2f",
    ".endr",
    ".p2align 4",
    "2:",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "push rax",
    "sub rsp, 136",
    "movups [rsp], xmm0",
    "movups [rsp + 16], xmm1",
    "movups [rsp + 32], xmm2",
    "movups [rsp + 48], xmm3",
    "movups [rsp + 64], xmm4",
    "movups [rsp + 80], xmm5",
    "movups [rsp + 96], xmm6",
    "movups [rsp + 112], xmm7",
    "mov rdi, [rsp + 192]",
    "lea rsi, [rip + failing_stubs]",
    "sub rdi, rsi",
    "shr rdi, 4",
    "call failing_decide",
    "mov r11, rax",
    "movups xmm0, [rsp]",
    "movups xmm1, [rsp + 16]",
    "movups xmm2, [rsp + 32]",
    "movups xmm3, [rsp + 48]",
    "movups xmm4, [rsp + 64]",
    "movups xmm5, [rsp + 80]",
    "movups xmm6, [rsp + 96]",
    "movups xmm7, [rsp + 112]",
    "add rsp, 136",
    "pop rax",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "add rsp, 8",
    "cmp r11, 4096",
    "jb 3f",
    "jmp r11",
    "3:",
    "mov eax, r11d",
    "ret",
);
