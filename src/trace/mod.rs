//! What a turn shows and records: events for the user, trace events for who audits.

mod event;

pub use event::{CallView, Event, EventKind, Failure, PhaseName, ResultView};
