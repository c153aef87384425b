//! How much memory is in use: an allocator that counts, and what the kernel says.
//!
//! A binary that wants to know says `#[global_allocator] static ALLOCATOR: Counting = Counting;`.
//! The memory itself comes from the same allocator the scheduler has.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};

use mimalloc::MiMalloc;

/// Bytes in use.
static LIVE: AtomicIsize = AtomicIsize::new(0);
/// Times memory was asked for.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Counts what it hands out.
#[derive(Debug)]
pub struct Counting;

impl Counting {
    /// Bytes in use now.
    pub fn live() -> isize {
        LIVE.load(Ordering::Relaxed)
    }

    /// Times memory was asked for since the start, larger pieces for smaller ones included.
    pub fn calls() -> u64 {
        CALLS.load(Ordering::Relaxed)
    }
}

fn count(bytes: isize, calls: u64) {
    LIVE.fetch_add(bytes, Ordering::Relaxed);
    CALLS.fetch_add(calls, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator cannot be written without; it only counts")]
// SAFETY: every call goes to mimalloc unchanged, so its guarantees hold.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize, 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize, 1);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize, 1);
        // SAFETY: the caller keeps the contract of `realloc`; the memory came from mimalloc.
        unsafe { MiMalloc.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize), 0);
        // SAFETY: the caller keeps the contract of `dealloc`; the memory came from mimalloc.
        unsafe { MiMalloc.dealloc(at, layout) }
    }
}

/// Memory of the process that is in the machine's, in MiB; `None` where the kernel does not say.
pub fn resident_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}
