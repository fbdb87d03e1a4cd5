//! The tool-request pass: a planner may ask for read-only data before it plans.
//!
//! ```text
//!   start ─▶ request pass ── calls ─▶ check ─▶ run together ── results ─▶ plan pass ─▶ plan
//!                 │                     └── none may run ─────────────────▶ ▲
//!                 └── no request, or none that is valid ──────────────────▶ ▲
//! ```
//! Whatever goes wrong before the plan pass is recorded, and the plan is made without it.
//! [`Pass`] is the machine, with the grammar of a [turn](crate::turn): [`Pass::handle`] takes a
//! fact, [`Pass::poll`] gives the next effect. What it decides is written down in `DESIGN.md` §10,
//! and pinned by `tests/requests`.

mod calls;
mod inference;
mod inventory;
mod lint;
mod machine;
mod options;
mod parse;
mod prompt;
mod rejected;
mod replay;
mod trace;

pub use inventory::{Access, inventory, inventory_json};
pub use lint::{Lint, lint_prompt};
pub use machine::Pass;
pub use options::{Options, Policy, planned_input};
pub use parse::{ParsePolicy, ParsedRequest, REQUEST_TOOL, RequestedCall, parse_tool_request};
pub use prompt::{Channel, Template, plan as plan_prompt, request as request_prompt};
pub use rejected::{Reason, Rejected};
pub use replay::Recorded;
