//! Events of a turn: events for the user, and trace events for audits.
//!
//! ```
//! use turnlock::Next;
//! use turnlock::json::Json;
//! use turnlock::trace::EventKind;
//! use turnlock::turn::{Effect, Input, Turn, TurnOptions};
//!
//! let mut turn = Turn::new(TurnOptions::parse(
//!     br#"{ "dialect": "openai-chat", "requestId": "r1",
//!         "secret": "0123456789abcdef0123456789abcdef",
//!         "messages": [{ "role": "user", "content": "hi" }] }"#,
//! )?)?;
//! turn.handle(0, Input::Start);
//! turn.handle(0, Input::Cancel { reason: "the tab was closed" });
//! let mut last = None;
//! while let Next::Effect(effect) = turn.poll() {
//!     if let Effect::Emit(event) = effect {
//!         last = Some(event);
//!     }
//! }
//! let event = last.unwrap();
//! let EventKind::Cancelled { reason } = &event.kind else { panic!("{event:?}") };
//! assert_eq!(reason, "the tab was closed");
//! // The form that is sent over HTTP:
//! let json = event.to_json();
//! assert_eq!(json.get("type").and_then(Json::as_str), Some("cancelled"));
//! assert_eq!(json.get("requestId").and_then(Json::as_str), Some("r1"));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod event;

pub use crate::tool::CallView;
pub use event::{Event, EventKind, Failure, PhaseName, ResultView};
