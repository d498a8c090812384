//! A library that is loaded before the C library (`LD_PRELOAD`) and makes the k-th call that can fail do so. `FAIL_AT` says k,
//! from 1 on; `FAIL_KIND` which calls count: `memory` (allocations of at least `LARGE` bytes, maps of files), `file` (opening,
//! reading, writing, syncing, renaming), `system` (the same of what the system tells, /proc and /sys), `thread`, `message` or
//! `gpu` (calls of CUDA's libraries, see `gpu.rs`); `FAIL_RANK` which `HIVE_RANK` strikes, if one alone. What was struck is
//! appended to the file of `FAIL_LOG`.
//!
//! `tests/program/failing.rs` compiles it with rustc.

#[cfg(target_arch = "x86_64")]
mod gpu;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, Ordering::Relaxed};

type Size = usize;
type Signed = isize;

unsafe extern "C" {
    #[cfg(not(target_arch = "x86_64"))]
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn close(file: c_int) -> c_int;
    fn atoll(text: *const c_char) -> i64;
    fn __errno_location() -> *mut c_int;
    fn __libc_malloc(bytes: Size) -> *mut c_void;
    fn __libc_calloc(count: Size, bytes: Size) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, bytes: Size) -> *mut c_void;
    fn __libc_memalign(align: Size, bytes: Size) -> *mut c_void;
}

/// What depends on the input is larger, even of a small one.
const LARGE: Size = 16 << 10;
const NEXT: *mut c_void = -1isize as *mut c_void;
const EIO: c_int = 5;
const EAGAIN: c_int = 11;
const ENOMEM: c_int = 12;
const EPIPE: c_int = 32;

/// Calls until the one that fails; 0 where none does.
static LEFT: AtomicI64 = AtomicI64::new(0);
/// What counts: 0 not known yet, else the kind and 1.
static KIND: AtomicU8 = AtomicU8::new(0);

const NONE: u8 = 1;
const MEMORY: u8 = 2;
const FILE: u8 = 3;
const THREAD: u8 = 4;
const MESSAGE: u8 = 5;
const SYSTEM: u8 = 6;
const GPU: u8 = 7;

#[cfg(target_arch = "x86_64")]
use gpu::find as dlsym;

/// Open files that the system tells something by.
static TELLS: [AtomicBool; 1024] = [const { AtomicBool::new(false) }; 1024];

fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: a name that ends; what is returned lives as long as nobody changes the environment.
    let text = unsafe { getenv(name.as_ptr()) };
    // SAFETY: not null, and it ends.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// The kind of a path.
///
/// # Safety
/// It is text that ends.
unsafe fn of_path(path: *const c_char) -> u8 {
    // SAFETY: what the caller promises.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if path.starts_with(b"/proc/") || path.starts_with(b"/sys/") { SYSTEM } else { FILE }
}

/// The kind of an open file.
fn of_file(file: c_int) -> u8 {
    let tells = usize::try_from(file).ok().and_then(|file| TELLS.get(file));
    if tells.is_some_and(|tells| tells.load(Relaxed)) { SYSTEM } else { FILE }
}

/// An open file, of which the kind is kept.
fn opened(file: c_int, kind: u8) -> c_int {
    if let Some(tells) = usize::try_from(file).ok().and_then(|file| TELLS.get(file)) {
        tells.store(kind == SYSTEM, Relaxed);
    }
    file
}

fn kind() -> u8 {
    let known = KIND.load(Relaxed);
    if known != 0 {
        return known;
    }
    let is = |text: &CStr, other: &CStr| text == other;
    let strikes = match (variable(c"FAIL_RANK"), variable(c"HIVE_RANK")) {
        (None, _) => true,
        (Some(one), Some(own)) => is(one, own),
        (Some(_), None) => false,
    };
    let kind = match variable(c"FAIL_KIND") {
        Some(kind) if strikes && is(kind, c"memory") => MEMORY,
        Some(kind) if strikes && is(kind, c"file") => FILE,
        Some(kind) if strikes && is(kind, c"system") => SYSTEM,
        Some(kind) if strikes && is(kind, c"thread") => THREAD,
        Some(kind) if strikes && is(kind, c"message") => MESSAGE,
        Some(kind) if strikes && is(kind, c"gpu") => GPU,
        _ => NONE,
    };
    // SAFETY: text that ends.
    let at = variable(c"FAIL_AT").map_or(0, |text| unsafe { atoll(text.as_ptr()) });
    LEFT.store(at, Relaxed);
    KIND.store(kind, Relaxed);
    kind
}

/// The function of this name that would be called without this library.
fn next(known: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let mut found = known.load(Relaxed);
    if found.is_null() {
        // SAFETY: a name that ends.
        found = unsafe { dlsym(NEXT, name.as_ptr()) };
        known.store(found, Relaxed);
    }
    found
}

/// Whether this call fails.
fn strikes(own: u8, name: &CStr, code: c_int) -> bool {
    if kind() != own || LEFT.fetch_sub(1, Relaxed) != 1 {
        return false;
    }
    log(name.to_bytes());
    log(b"\n");
    // SAFETY: the thread's own.
    unsafe { *__errno_location() = code };
    true
}

/// Appends to the file of `FAIL_LOG`.
fn log(text: &[u8]) {
    const APPEND: c_int = 0o2001;
    const CREATE: c_int = 0o100;
    let Some(log) = variable(c"FAIL_LOG") else { return };
    // SAFETY: a name that ends, and bytes that are there.
    unsafe {
        let file = real_open64(log.as_ptr(), APPEND | CREATE, 0o644);
        real_write(file, text.as_ptr().cast(), text.len());
        close(file);
    }
}

/// Functions that fail with a value and an error: their kind, and of what calls they are.
macro_rules! failing {
    ($($kind:expr, $code:ident $real:ident $name:ident($($arg:ident: $type:ty),*) -> $back:ty = $failed:expr, if $when:expr, $after:expr;)*) => {$(
        unsafe fn $real($($arg: $type),*) -> $back {
            static NEXT_ONE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
            let found = next(&NEXT_ONE, name.unwrap_or_default());
            // SAFETY: the C library's function of this name has this type.
            let found: unsafe extern "C" fn($($type),*) -> $back = unsafe { std::mem::transmute(found) };
            // SAFETY: what the caller promises.
            unsafe { found($($arg),*) }
        }

        /// # Safety
        /// As of the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $back {
            let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
            if $when && strikes($kind, name.unwrap_or_default(), $code) {
                return $failed;
            }
            // SAFETY: what the caller promises.
            let back = unsafe { $real($($arg),*) };
            $after(back, $kind)
        }
    )*};
}

failing! {
    unsafe { of_path(path) }, EIO real_open64 open64(path: *const c_char, flags: c_int, mode: c_int) -> c_int = -1, if true, opened;
    unsafe { of_path(path) }, EIO real_open open(path: *const c_char, flags: c_int, mode: c_int) -> c_int = -1, if true, opened;
    of_file(file), EIO real_read read(file: c_int, to: *mut c_void, bytes: Size) -> Signed = -1, if true, |back, _| back;
    of_file(file), EIO real_pread64 pread64(file: c_int, to: *mut c_void, bytes: Size, at: i64) -> Signed = -1, if true, |back, _| back;
    of_file(file), EIO real_write write(file: c_int, from: *const c_void, bytes: Size) -> Signed = -1, if file != 2, |back, _| back;
    of_file(file), EIO real_writev writev(file: c_int, parts: *const c_void, count: c_int) -> Signed = -1, if file != 2, |back, _| back;
    of_file(file), EIO real_fsync fsync(file: c_int) -> c_int = -1, if true, |back, _| back;
    of_file(file), EIO real_fdatasync fdatasync(file: c_int) -> c_int = -1, if true, |back, _| back;
    of_file(file), EIO real_ftruncate64 ftruncate64(file: c_int, bytes: i64) -> c_int = -1, if true, |back, _| back;
    FILE, EIO real_rename rename(from: *const c_char, to: *const c_char) -> c_int = -1, if true, |back, _| back;
    unsafe { of_path(path) }, EIO real_mkdir mkdir(path: *const c_char, mode: c_int) -> c_int = -1, if true, |back, _| back;
    MEMORY, ENOMEM real_mmap64 mmap64(at: *mut c_void, bytes: Size, how: c_int, flags: c_int, file: c_int, from: i64) -> *mut c_void = NEXT, if file >= 0, |back, _| back;
    MESSAGE, EPIPE real_send send(to: c_int, from: *const c_void, bytes: Size, flags: c_int) -> Signed = -1, if true, |back, _| back;
    MESSAGE, EPIPE real_recv recv(from: c_int, to: *mut c_void, bytes: Size, flags: c_int) -> Signed = -1, if true, |back, _| back;
    MESSAGE, EPIPE real_connect connect(own: c_int, to: *const c_void, bytes: c_int) -> c_int = -1, if true, |back, _| back;
    MESSAGE, EPIPE real_accept4 accept4(own: c_int, from: *mut c_void, bytes: *mut c_int, flags: c_int) -> c_int = -1, if true, |back, _| back;
    MESSAGE, EPIPE real_bind bind(own: c_int, to: *const c_void, bytes: c_int) -> c_int = -1, if true, |back, _| back;
    MESSAGE, EPIPE real_listen listen(own: c_int, most: c_int) -> c_int = -1, if true, |back, _| back;
    THREAD, EAGAIN real_pthread_create pthread_create(to: *mut c_void, how: *const c_void, body: *const c_void, with: *mut c_void) -> c_int = EAGAIN, if true, |back, _| back;
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: Size) -> *mut c_void {
    if bytes >= LARGE && strikes(MEMORY, c"malloc", ENOMEM) {
        return std::ptr::null_mut();
    }
    // SAFETY: what the caller promises.
    unsafe { __libc_malloc(bytes) }
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: Size, bytes: Size) -> *mut c_void {
    if count.saturating_mul(bytes) >= LARGE && strikes(MEMORY, c"calloc", ENOMEM) {
        return std::ptr::null_mut();
    }
    // SAFETY: what the caller promises.
    unsafe { __libc_calloc(count, bytes) }
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(old: *mut c_void, bytes: Size) -> *mut c_void {
    if bytes >= LARGE && strikes(MEMORY, c"realloc", ENOMEM) {
        return std::ptr::null_mut();
    }
    // SAFETY: what the caller promises.
    unsafe { __libc_realloc(old, bytes) }
}

/// # Safety
/// As of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, align: Size, bytes: Size) -> c_int {
    if bytes >= LARGE && strikes(MEMORY, c"posix_memalign", ENOMEM) {
        return ENOMEM;
    }
    // SAFETY: what the caller promises.
    let made = unsafe { __libc_memalign(align, bytes) };
    // SAFETY: what the caller promises.
    unsafe { *to = made };
    if made.is_null() { ENOMEM } else { 0 }
}
