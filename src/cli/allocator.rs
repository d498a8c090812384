//! Memory of the program: where there is none left, it ends with a line.

use crate::memory::asks;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The system's allocator, for a program. Where there is no memory left, and nobody asked whether there is, the program ends
/// with a line on standard error and exit code 2. What it was writing is removed.
#[derive(Debug)]
pub struct Allocator;

/// The program ends already: what its end needs it may lack, too.
static ENDS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// It is this thread that ends it.
    static ENDING: Cell<bool> = const { Cell::new(false) };
}

/// Ends the program, unless this thread can do without `bytes`.
#[cold]
fn ends_without(bytes: usize) {
    if !asks() && !ENDING.get() {
        end_without(bytes);
    }
}

/// Ends the program, which needs `bytes` more.
pub(super) fn end_without(bytes: usize) -> ! {
    if ENDS.swap(true, Relaxed) {
        // Another thread is at it.
        loop {
            std::thread::park();
        }
    }
    ENDING.set(true);
    crate::aside::remove_unfinished_at_once();
    let line = format_args!(
        "error: not enough memory: {bytes} bytes more are needed; ask for less, or use a machine with more memory\n"
    );
    let _ = std::io::stderr().write_fmt(line);
    signal_hook::low_level::exit(2);
}

// SAFETY: what it returns and takes back is the system allocator's own.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller promises.
        let made = unsafe { System.alloc(layout) };
        if made.is_null() {
            ends_without(layout.size());
        }
        made
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: what the caller promises.
        let made = unsafe { System.alloc_zeroed(layout) };
        if made.is_null() {
            ends_without(layout.size());
        }
        made
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: what the caller promises.
        let made = unsafe { System.realloc(old, layout, bytes) };
        if made.is_null() {
            ends_without(bytes);
        }
        made
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: what the caller promises.
        unsafe { System.dealloc(old, layout) }
    }
}
