//! The effects of one answer, as `pkg/src/driver/driver.ts` reads them.

use turnlock::json::table::Append;
use turnlock::json::write_string;
use turnlock::turn::{Effect, Event, EventKind, PhaseName};

/// A JSON array of effects; empty when there are none. Text comes by the thousand: events of text
/// with successive numbers are one array, `[phase, toolBatchId, first seq, chunk, …]`.
#[derive(Default)]
pub(crate) struct Effects {
    out: String,
    count: usize,
    /// What the next event is if its chunk belongs into the last array.
    next: Option<(PhaseName, u32, u64)>,
}

impl Effects {
    pub(super) fn bytes(&self) -> usize {
        self.out.len()
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn add<R: Append, T: Append>(&mut self, effect: &Effect<R, T>) {
        self.count += 1;
        let out = &mut self.out;
        if let Effect::Emit(Event {
            phase,
            tool_batch_id: batch,
            seq,
            kind: EventKind::Text { chunk, .. },
            ..
        }) = effect
        {
            if self.next == Some((*phase, *batch, *seq)) {
                out.pop();
            } else {
                let begin = if out.is_empty() { "[" } else { "," };
                out.push_str(&format!("{begin}[\"{}\",{batch},{seq}", phase.name()));
            }
            out.push(',');
            write_string(chunk, out);
            out.push(']');
            self.next = Some((*phase, *batch, seq + 1));
        } else {
            self.next = None;
            out.push(if out.is_empty() { '[' } else { ',' });
            effect.write_json(out);
        }
    }

    pub(super) fn into_json(mut self) -> String {
        if !self.out.is_empty() {
            self.out.push(']');
        }
        self.out
    }
}
