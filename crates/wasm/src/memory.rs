//! The allocator: smaller and faster than the standard library's. An instance has one thread.

#![expect(unsafe_code, reason = "an allocator is told what memory it may use")]

use std::alloc::Layout;
use std::arch::wasm32::{memory_grow, memory_size};
use std::ptr::NonNull;

use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

#[global_allocator]
static ALLOCATOR: TalcSyncCell<Growing, WasmBinning> =
    TalcSyncCell::new_wasm(Growing { end: None });

/// Bytes of a page.
const PAGE: usize = 1 << 16;

/// Lets the memory grow by an eighth, and by what is needed at least. A page at a time takes the square
/// of the time: whenever memory grows, engines may collect garbage (V8 does so above some 64 MiB), and
/// the allocator looks at free pieces that are too small before it asks for more.
#[derive(Debug)]
struct Growing {
    /// The end of the memory that the allocator has.
    end: Option<NonNull<u8>>,
}

// SAFETY: it uses no memory of an allocator, and hands over each page once, as it grows.
unsafe impl Source for Growing {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        // What the allocator notes beside a piece, and what it may leave out to align it.
        let needed = layout.size().saturating_add(layout.align() + 64).div_ceil(PAGE);
        for pages in [needed.max(memory_size::<0>() / 8), needed] {
            let before = memory_grow::<0>(pages);
            if before == usize::MAX {
                continue;
            }
            let base = (before * PAGE) as *mut u8;
            // SAFETY: these pages are new, and nobody else lets the memory grow.
            talc.source.end = unsafe {
                match talc.source.end {
                    Some(end) if end.as_ptr() == base => {
                        Some(talc.extend(end, base.wrapping_add(pages * PAGE)))
                    }
                    _ => talc.claim(base, pages * PAGE),
                }
            };
            return talc.source.end.map(|_| ()).ok_or(());
        }
        Err(())
    }
}
