//! Histories against what others have written down about them: nasty ones with what each provider
//! should be sent, requests that providers took, and the words of those they refused.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod accepted;
mod arguments;
mod client;
#[path = "../common/mod.rs"]
mod common;
mod endings;
mod growing;
mod nasty;
mod plain;
mod random;
mod refusals;
mod shapes;
mod trim;
mod unnamed;

use serde_json::Value;
use turnlock::history::{HistoryOptions, Normalized, Repair, diagnose, normalize};
use turnlock::json::Json;
use turnlock::{Dialect, limits};

/// As `serde_json` has it.
fn value(json: &Json<'_>) -> Value {
    serde_json::from_str(&json.to_text()).unwrap()
}

/// The elements of a history, half characters replaced.
fn elements(text: &str) -> Vec<Json<'_>> {
    let json = Json::parse_lossy(text.as_bytes(), limits::HISTORY_BYTES).unwrap();
    let Json::Array(items) = json else { panic!("no list: {text}") };
    items
}

fn made<'a>(text: &'a str, options: &HistoryOptions) -> Normalized<'a> {
    normalize(elements(text), options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn codes(repairs: &[Repair]) -> Vec<&'static str> {
    let mut codes: Vec<_> = repairs.iter().map(|repair| repair.code.name()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// What normalize returns has no violation, and stays as it is; what is wrong otherwise.
fn unsettled(normalized: &Normalized<'_>, dialect: Dialect) -> Option<String> {
    let text = Json::Array(normalized.messages.clone()).to_text();
    let violations = diagnose(elements(&text), dialect).unwrap();
    let again = Json::Array(made(&text, &HistoryOptions::new(dialect)).messages).to_text();
    let name = dialect.name();
    if !violations.is_empty() {
        return Some(format!("{name}: {violations:?} in {text}"));
    }
    (again != text).then(|| format!("{name}: twice\n  once  {text}\n  twice {again}"))
}
