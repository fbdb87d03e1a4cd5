//! The tool-request pass: a planner may request read-only data before it plans.
//!
//! ```text
//!   start ─▶ request pass ── calls ─▶ check ─▶ run together ── results ─▶ plan pass ─▶ plan
//!                 │                     └── none may run ─────────────────▶ ▲
//!                 └── no request, or none that is valid ──────────────────▶ ▲
//! ```
//! A failure before the plan pass is recorded, and the plan is made without the missing data.
//! [`Pass`] is a state machine like a [turn](crate::turn): [`Pass::handle`] takes an input,
//! [`Pass::poll`] returns the next effect. Its decisions are specified in `DESIGN.md` §10 and
//! tested by `tests/requests`.
//!
//! The parser and the prompt lint can be used alone:
//!
//! ```
//! use turnlock::planning::{LintCode, Policy, Reason, lint_prompt, parse_tool_request};
//!
//! let said = r#"{"tool_calls":[
//!     {"tool_name":"search","params":{"q":"tides"},"reason":"no tide table"},
//!     {"tool_name":"place_order","params":{},"reason":"the market moves"}]}"#;
//! let policy = Policy::default().allow(Some(vec!["search".to_owned()]));
//! let request = parse_tool_request(said, &policy)?;
//! assert!(request.valid);
//! assert_eq!(request.tool_calls[0].tool_name, "search");
//! assert_eq!(request.rejected[0].reason, Reason::NotAllowed);
//!
//! let lints = lint_prompt("See rules.txt for `global_context.tool_results`, if there are any.");
//! assert_eq!((lints[0].code, lints[0].found.as_str()), (LintCode::FilePath, "rules.txt"));
//! # Ok::<(), turnlock::Error>(())
//! ```

mod cut;
mod find;
mod inventory;
mod lint;
mod machine;
mod options;
mod parse;
mod prompt;
mod rejected;
mod replay;
mod result;
mod trace;

pub use inventory::{Access, AccessReason, Inventory, InventoryTool, inventory};
pub use lint::{Lint, LintCode, lint_prompt};
pub use machine::{Pass, PassEffect};
pub use options::{PassOptions, Policy, planned_input};
pub use parse::{ParsedRequest, REQUEST_TOOL, RequestedCall, parse_tool_request};
pub use prompt::{Channel, Template, plan as plan_prompt, request as request_prompt};
pub use rejected::{Reason, RequestRejection};
pub use replay::Recorded;
pub use result::{FellBack, PassCall, PassOutcome, PassResult, PassToolResult, PlanCandidate};
pub use trace::{AskedCall, PassEvent, PassEventKind, PassPhase, PassPlace};
