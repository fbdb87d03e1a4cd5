//! Gates of responses that a proxy passes on.

use wasm_bindgen::prelude::wasm_bindgen;

use super::failure;
use super::handles::GATES;
use turnlock::error::Error;
use turnlock::json::write_string;
use turnlock::proxy::{Call, Fact, Failure, Gate, GateOptions, Progress, Reason, Wire};

/// A gate, what it has for the client, and the state that the host knows.
#[derive(Debug)]
pub(super) struct Watching {
    gate: Gate,
    out: Vec<u8>,
    state: Option<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    is_holding: bool,
    asks: bool,
    is_closed: bool,
    is_unanswered: bool,
    has_ended: bool,
    reason: Reason,
}

impl State {
    fn of(gate: &Gate) -> Self {
        Self {
            is_holding: gate.is_holding(),
            asks: gate.asks(),
            is_closed: gate.is_closed(),
            is_unanswered: gate.is_unanswered(),
            has_ended: gate.has_ended(),
            reason: gate.reason(),
        }
    }
}

/// A gate for the responses to a request, as its number.
#[wasm_bindgen]
#[must_use]
pub fn gate_new(wire: &str, holds: bool, forced: bool, held_bytes: u32, choices: u32) -> String {
    let options = GateOptions {
        wire: Wire::parse(wire).unwrap_or(Wire::Chat),
        holds,
        forced,
        held_bytes: held_bytes as usize,
        choices: choices as usize,
    };
    let gate = Gate::new(options);
    let state = Some(State::of(&gate));
    GATES.with(|all| all.insert(Watching { gate, out: Vec::new(), state }))
}

/// Takes whole frames; what came of them, as JSON. Empty if they pass, and nothing else is to be said.
#[wasm_bindgen]
#[must_use]
pub fn gate_push(handle: u32, bytes: &[u8]) -> String {
    watch(handle, |gate| gate.push(bytes))
}

/// Takes bytes that pass unread.
#[wasm_bindgen]
#[must_use]
pub fn gate_pass(handle: u32, bytes: &[u8], are_frames: bool) -> String {
    watch(handle, |gate| {
        gate.pass(bytes, are_frames);
        Progress { passes: true, ..Progress::default() }
    })
}

/// Takes the verdicts on calls: the reasons of refusals, with commas between; nothing for a call that
/// may run. `has_results`: the history that they were judged by has results.
#[wasm_bindgen]
#[must_use]
pub fn gate_verdicts(handle: u32, verdicts: &str, has_results: bool) -> String {
    let verdicts: Vec<_> = verdicts
        .as_bytes()
        .split(|byte| *byte == b',')
        .map(|reason| match reason {
            [] => None,
            // What is no reason is no leave to run.
            reason => {
                let reason = std::str::from_utf8(reason).ok().and_then(Reason::parse);
                Some(reason.unwrap_or(Reason::Unjudged))
            }
        })
        .collect();
    watch(handle, |gate| gate.verdicts(&verdicts, has_results))
}

/// The provider's stream is over.
#[wasm_bindgen]
#[must_use]
pub fn gate_end(handle: u32) -> String {
    watch(handle, Gate::end)
}

/// A frame is too long to be judged.
#[wasm_bindgen]
#[must_use]
pub fn gate_give_up(handle: u32) -> String {
    watch(handle, Gate::give_up)
}

/// From here on, frames are those of the second response.
#[wasm_bindgen]
#[must_use]
pub fn gate_again(handle: u32) -> String {
    watch(handle, |gate| {
        gate.again();
        Progress::default()
    })
}

/// Ends the stream, as there is no second response.
#[wasm_bindgen]
#[must_use]
pub fn gate_without_answer(handle: u32) -> String {
    watch(handle, Gate::without_answer)
}

/// The bytes for the client.
#[wasm_bindgen]
#[must_use]
pub fn gate_take(handle: u32) -> Vec<u8> {
    let take = |watching: &mut Watching| std::mem::take(&mut watching.out);
    GATES.with(|all| all.with(handle, take)).unwrap_or_default()
}

/// Reads a whole response: `{ calls, strays, isChanged, isUnread, hasSum, id, usage? }`, or
/// `{ failure }`. Empty if it passes unread.
#[wasm_bindgen]
#[must_use]
pub fn gate_whole(handle: u32, bytes: &[u8], is_second: bool) -> String {
    let read = |watching: &mut Watching| watching.gate.whole(bytes, is_second);
    let Some(read) = GATES.with(|all| all.with(handle, read)) else {
        return failure(&Error::Handle);
    };
    let whole = match read {
        Ok(None) => return String::new(),
        Ok(Some(whole)) => whole,
        Err(_) => return "{\"failure\":\"foreign\"}".to_owned(),
    };
    let mut out = String::from("{\"calls\":");
    write_calls(&whole.calls, &mut out);
    out.push_str(",\"strays\":");
    write_calls(&whole.strays, &mut out);
    out.push_str(",\"isChanged\":");
    out.push_str(&whole.is_changed.to_string());
    out.push_str(",\"isUnread\":");
    out.push_str(&whole.is_unread.to_string());
    out.push_str(",\"hasSum\":");
    out.push_str(&whole.has_sum.to_string());
    out.push_str(",\"id\":");
    write_string(&whole.id, &mut out);
    if let Some(usage) = whole.usage {
        out.push_str(",\"usage\":");
        out.push_str(&usage);
    }
    out.push('}');
    out
}

/// The JSON of the whole response with this number, without the calls of these numbers.
#[wasm_bindgen]
#[must_use]
pub fn gate_without(handle: u32, number: u32, refused: &[u32], reason: &str) -> String {
    let refused: Vec<usize> = refused.iter().map(|key| *key as usize).collect();
    let reason = Reason::parse(reason).unwrap_or(Reason::Unjudged);
    let made = |watching: &mut Watching| watching.gate.without(number as usize, &refused, reason);
    GATES.with(|all| all.with(handle, made)).unwrap_or_else(|| failure(&Error::Handle))
}

/// Forgets a gate.
#[wasm_bindgen]
pub fn gate_free(handle: u32) {
    GATES.with(|all| all.remove(handle));
}

fn watch(handle: u32, work: impl FnOnce(&mut Gate) -> Progress) -> String {
    let watched = |watching: &mut Watching| {
        let progress = work(&mut watching.gate);
        let state = State::of(&watching.gate);
        let is_same = watching.state.replace(state) == Some(state);
        let text = text_of(&progress, Some(state).filter(|_| !is_same));
        watching.out = progress.out;
        text
    };
    GATES.with(|all| all.with(handle, watched)).unwrap_or_else(|| failure(&Error::Handle))
}

/// `{ facts, passes?, waits?, failure?, out, state? }`; empty if the bytes pass and nothing is new.
fn text_of(progress: &Progress, state: Option<State>) -> String {
    let Progress { facts, passes, out, waits, failure } = progress;
    if *passes && facts.is_empty() && state.is_none() {
        return String::new();
    }
    let mut text = String::from("{\"facts\":[");
    for (at, fact) in facts.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write_fact(fact, &mut text);
    }
    text.push(']');
    if *passes {
        text.push_str(",\"passes\":true");
    }
    if *waits {
        text.push_str(",\"waits\":true");
    }
    if let Some(failure) = failure {
        text.push_str(match failure {
            Failure::Foreign => ",\"failure\":\"foreign\"",
            Failure::TooLong => ",\"failure\":\"too_long\"",
        });
    }
    if !out.is_empty() {
        text.push_str(",\"hasOut\":true");
    }
    if let Some(state) = state {
        let State { is_holding, asks, is_closed, is_unanswered, has_ended, reason } = state;
        let reason = reason.name();
        text.push_str(&format!(
            ",\"state\":{{\"isHolding\":{is_holding},\"asks\":{asks},\"isClosed\":{is_closed},\
             \"isUnanswered\":{is_unanswered},\"hasEnded\":{has_ended},\"reason\":\"{reason}\"}}"
        ));
    }
    text.push('}');
    text
}

fn write_fact(fact: &Fact, text: &mut String) {
    let (name, call) = match fact {
        Fact::Judge(call) => ("judge", call),
        Fact::Misplaced(call) => ("misplaced", call),
        Fact::Unjudged(name) => {
            text.push_str("{\"type\":\"unjudged\",\"name\":");
            write_string(name, text);
            text.push('}');
            return;
        }
        Fact::Usage { raw, is_first, adds } => {
            text.push_str(&format!(
                "{{\"type\":\"usage\",\"isFirst\":{is_first},\"adds\":{adds},\"usage\":{raw}}}"
            ));
            return;
        }
        Fact::Id(id) => {
            text.push_str("{\"type\":\"id\",\"id\":");
            write_string(id, text);
            text.push('}');
            return;
        }
        Fact::Error(code) => {
            text.push_str(&format!("{{\"type\":\"error\",\"code\":\"{code}\"}}"));
            return;
        }
    };
    text.push_str(&format!("{{\"type\":\"{name}\",\"call\":"));
    call.write_json(text);
    text.push('}');
}

fn write_calls(calls: &[Call], text: &mut String) {
    text.push('[');
    for (at, call) in calls.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        call.write_json(text);
    }
    text.push(']');
}
