//! The values of a turn that its batches do not contain.

use super::event::PhaseName;
use super::phase::Phase;
use crate::stream::Usage;

/// The counters, the text and the phase of a turn, as they are stored with it.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    /// The number of the last event.
    pub(super) seq: u64,
    /// `toolBatchId` of the last batch.
    pub(super) batch: u32,
    /// Number of judged batches, including those without an accepted call.
    pub(super) judged: u32,
    /// The number of the current cycle, from 1.
    pub(super) cycle: u32,
    pub(super) inferences: u32,
    /// Calls received.
    pub(super) calls: u32,
    /// Milliseconds that all batches of tools took together.
    pub(super) tools_ms: u64,
    /// All text shown, in order.
    pub(super) shown: String,
    pub(super) usage: Usage,
    pub(super) phase: Phase,
}

impl Progress {
    pub(super) fn new(phase: PhaseName) -> Self {
        Self {
            seq: 0,
            batch: 0,
            judged: 0,
            cycle: 1,
            inferences: 0,
            calls: 0,
            tools_ms: 0,
            shown: String::new(),
            usage: Usage::default(),
            phase: Phase::new(phase),
        }
    }
}
