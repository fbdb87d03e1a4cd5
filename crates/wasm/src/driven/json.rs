//! The JSON of inputs and effects between the shell and `pkg/src/driver/driver.ts`.

use std::cell::Cell;

use super::super::wire::bad;
use turnlock::Secret;
use turnlock::error::Error;
use turnlock::json::{Json, write_string};
use turnlock::provider::Request;
#[cfg(feature = "durable")]
use turnlock::store::Answer;
use turnlock::stream::{
    Delta, ErrorClass, FinishReason, ProviderTool, ProviderToolStatus, StreamError, Usage,
};
use turnlock::turn::{Effect, Event, EventKind, Input, PhaseName, Settled, Verdict};

/// The members of an input. The first one that is missing or wrong is kept, and a blank value is
/// returned for it: that needs less code than to stop at once.
struct Given<'a> {
    json: &'a Json<'a>,
    wrong: Cell<Option<(&'static str, &'static str)>>,
}

impl<'a> Given<'a> {
    fn new(json: &'a Json<'a>) -> Self {
        Self { json, wrong: Cell::new(None) }
    }

    fn wrong(&self, key: &'static str, expected: &'static str) {
        self.wrong.set(self.wrong.take().or(Some((key, expected))));
    }

    fn bool(&self, key: &'static str) -> Option<bool> {
        self.json.get(key)?.as_bool()
    }

    fn count(&self, key: &'static str) -> Option<u64> {
        self.json.get(key)?.as_u64()
    }

    fn told(&self, key: &'static str) -> Option<&'a str> {
        self.json.get(key)?.as_str()
    }

    fn given(&self, key: &'static str) -> Option<String> {
        self.told(key).map(str::to_owned)
    }

    fn secrets(&self) -> Vec<Secret> {
        let given = self.json.get("secrets").and_then(Json::as_array).unwrap_or_default();
        given.iter().filter_map(Json::as_str).map(Secret::from).collect()
    }

    #[inline(never)]
    fn text(&self, key: &'static str) -> String {
        self.given(key).unwrap_or_else(|| {
            self.wrong(key, "a string");
            String::new()
        })
    }

    #[inline(never)]
    fn number(&self, key: &'static str) -> u32 {
        self.count(key).and_then(|n| u32::try_from(n).ok()).unwrap_or_else(|| {
            self.wrong(key, "a whole number");
            0
        })
    }
}

/// One of the inputs that `driver.ts` sends.
pub(super) fn input(json: &Json<'_>) -> Result<Input, Error> {
    let given = Given::new(json);
    let input = read(&given);
    match given.wrong.into_inner() {
        Some((key, expected)) => Err(bad(key, expected)),
        None => Ok(input),
    }
}

fn read(given: &Given<'_>) -> Input {
    let call = || given.number("call");
    let (inference, attempt) = (|| given.number("inference"), || given.number("attempt"));
    match given.told("type").unwrap_or_default() {
        "start" => Input::Start,
        "timer" => Input::Timer,
        "pause" => Input::Pause,
        "verify" => Input::Verify,
        "cancel" => Input::Cancel { reason: given.text("reason") },
        "response_head" => Input::ResponseHead {
            inference: inference(),
            attempt: attempt(),
            status: u16::try_from(given.number("status")).unwrap_or_else(|_| {
                given.wrong("status", "a status");
                0
            }),
            retry_after_ms: given.count("retryAfterMs"),
            body: given.text("body"),
            hint: given.given("hint"),
            secrets: given.secrets(),
        },
        "response_end" => Input::ResponseEnded { inference: inference(), attempt: attempt() },
        "held_back" => Input::HeldBack { inference: inference(), attempt: attempt() },
        "response_failed" => Input::ResponseFailed {
            inference: inference(),
            attempt: attempt(),
            message: given.text("message"),
            thrown: given.bool("thrown").unwrap_or_default(),
        },
        "deltas" => Input::Deltas {
            inference: inference(),
            attempt: attempt(),
            deltas: match given.json.get("deltas").and_then(Json::as_array) {
                Some(deltas) => deltas.iter().map(delta).collect(),
                None => {
                    given.wrong("deltas", "an array");
                    Vec::new()
                }
            },
        },
        "checked" => {
            let verdict = match given.bool("valid") {
                Some(true) => Verdict::Valid {
                    action: given.given("action"),
                    args: given.json.get("args").cloned().map(Json::into_owned),
                    approval: given.bool("approval").unwrap_or(false),
                },
                Some(false) => Verdict::Invalid { errors: given.text("errors") },
                None => {
                    given.wrong("valid", "true or false");
                    Verdict::Invalid { errors: String::new() }
                }
            };
            Input::Checked { call: call(), verdict }
        }
        #[cfg(feature = "durable")]
        "recalled" => {
            let found = given.given("text").zip(given.count("ageMs"));
            Input::Recalled { call: call(), found }
        }
        #[cfg(feature = "durable")]
        "stored" => Input::Stored {
            revision: given.count("revision").unwrap_or(0),
            attempt: attempt(),
            answer: answer(given),
        },
        "tool_settled" => {
            let settled = match given.text("status").as_str() {
                "ok" => Settled::Ok {
                    text: given.text("text"),
                    bytes: given.count("bytes").unwrap_or(0),
                },
                "unknown" => Settled::Unknown { why: given.text("message") },
                _ => Settled::Error { code: given.text("code"), message: given.text("message") },
            };
            Input::ToolSettled { call: call(), settled }
        }
        "tool_progress" => Input::ToolProgress {
            call: call(),
            data: given.json.get("data").cloned().unwrap_or_default().into_owned(),
        },
        "tool_usage" => Input::ToolUsage {
            call: call(),
            usage: usage(given.json.get("usage").unwrap_or(&Json::Null)),
        },
        _ => {
            given.wrong("type", "an input that exists");
            Input::Timer
        }
    }
}

#[cfg(feature = "durable")]
fn answer(given: &Given<'_>) -> Answer {
    if let Some(code) = given.given("code") {
        return Answer::Failed { code, message: given.given("message").unwrap_or_default() };
    }
    match given.bool("ok") {
        Some(true) => Answer::Kept,
        Some(false) => Answer::Refused { state: given.given("state") },
        None => {
            given.wrong("ok", "true or false");
            Answer::Kept
        }
    }
}

/// A delta that a host's model yields; what is none is a stream that cannot be read.
fn delta(json: &Json<'_>) -> Delta {
    let given = Given::new(json);
    let delta = read_delta(&given);
    if given.wrong.take().is_none() {
        return delta;
    }
    Delta::Error(StreamError {
        class: ErrorClass::Malformed,
        message: "the model yielded something that is no delta".to_owned(),
        raw: json.to_text(),
    })
}

fn read_delta(given: &Given<'_>) -> Delta {
    let index = || given.number("index");
    match given.told("type").unwrap_or_default() {
        "text" => Delta::Text(given.text("text")),
        "reasoning" => {
            Delta::Reasoning { text: given.text("text"), signature: given.given("signature") }
        }
        "tool_call_start" => {
            Delta::ToolCallStart { index: index(), id: given.text("id"), name: given.text("name") }
        }
        "tool_call_arguments" => {
            Delta::ToolCallArguments { index: index(), text: given.text("text") }
        }
        "tool_call_ready" => Delta::ToolCallReady { index: index() },
        "tool_call_end" => Delta::ToolCallEnd { index: index() },
        "usage" => match given.json.get("usage") {
            Some(json) => Delta::Usage(usage(json)),
            None => {
                given.wrong("usage", "an object");
                Delta::Usage(Usage::default())
            }
        },
        "finish" => {
            let reason = given.text("reason");
            Delta::Finish {
                reason: FinishReason::parse(&reason).unwrap_or(FinishReason::Other),
                raw: given.given("raw").unwrap_or(reason),
            }
        }
        "error" => Delta::Error(StreamError {
            class: given.told("class").and_then(ErrorClass::parse).unwrap_or(ErrorClass::Server),
            message: given.given("message").unwrap_or_default(),
            raw: given.json.get("raw").unwrap_or(&Json::Null).to_text(),
        }),
        "provider_tool" => {
            let status = given.told("status").and_then(ProviderToolStatus::parse);
            if status.is_none() {
                given.wrong("status", "a status of a tool of the provider");
            }
            let block = given.json.get("block");
            let raw = block.or_else(|| given.json.get("data")).unwrap_or(&Json::Null);
            Delta::ProviderTool(ProviderTool {
                name: given.text("name"),
                id: given.given("id"),
                status: status.unwrap_or(ProviderToolStatus::Done),
                raw: raw.to_text(),
                kept: block.is_some(),
            })
        }
        "other" => {
            if given.json.get("raw").is_none() {
                given.wrong("raw", "a value");
            }
            Delta::Other { raw: given.json.get("raw").unwrap_or(&Json::Null).to_text() }
        }
        _ => {
            given.wrong("type", "a delta that exists");
            Delta::Other { raw: String::new() }
        }
    }
}

fn usage(json: &Json<'_>) -> Usage {
    let number = |key: &str| json.get(key).and_then(Json::as_u64);
    Usage {
        input_tokens: number("inputTokens"),
        output_tokens: number("outputTokens"),
        cached_input_tokens: number("cachedInputTokens"),
        reasoning_tokens: number("reasoningTokens"),
    }
}

/// An effect with its result and trace event as JSON.
type Written = Effect<Json<'static>, Json<'static>>;

/// A JSON array of effects; empty when there are none. Text comes by the thousand: events of text
/// with successive numbers are one array, `[phase, toolBatchId, first seq, chunk, …]`.
#[derive(Default)]
pub(super) struct Effects {
    out: String,
    /// What the next event is if its chunk belongs into the last array.
    next: Option<(PhaseName, u32, u64)>,
}

impl Effects {
    pub(super) fn bytes(&self) -> usize {
        self.out.len()
    }

    pub(super) fn add(&mut self, one: Written) {
        let out = &mut self.out;
        if let Effect::Emit(Event {
            phase,
            tool_batch_id: batch,
            seq,
            kind: EventKind::Text { chunk, .. },
            ..
        }) = &one
        {
            if self.next == Some((*phase, *batch, *seq)) {
                out.pop();
            } else {
                out.push_str(if out.is_empty() { "[[\"" } else { ",[\"" });
                out.push_str(phase.name());
                out.push_str("\",");
                whole(u64::from(*batch), out);
                out.push(',');
                whole(*seq, out);
            }
            out.push(',');
            write_string(chunk, out);
            out.push(']');
            self.next = Some((*phase, *batch, seq + 1));
        } else {
            self.next = None;
            out.push(if out.is_empty() { '[' } else { ',' });
            effect(one, out);
        }
    }

    pub(super) fn into_json(mut self) -> String {
        if !self.out.is_empty() {
            self.out.push(']');
        }
        self.out
    }
}

fn effect(effect: Written, out: &mut String) {
    match effect {
        Effect::Emit(event) => {
            begin("emit", out);
            key("event", out);
            event.write_json(out);
        }
        Effect::Fetch { inference, attempt, model, request } => {
            let Request { path, headers, body, .. } = request;
            begin("fetch", out);
            number("inference", inference, out);
            number("attempt", attempt, out);
            if model > 0 {
                number("model", model, out);
            }
            out.push_str(",\"request\":{\"path\":");
            write_string(&path, out);
            out.push_str(",\"headers\":{");
            for (index, (name, value)) in headers.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write_string(value, out);
            }
            out.push('}');
            value("body", &body, out);
            out.push('}');
        }
        Effect::Abort { inference } => {
            begin("abort", out);
            number("inference", inference, out);
        }
        Effect::Check { call, name, args } => {
            begin("check", out);
            number("call", call, out);
            text("name", &name, out);
            value("args", &args, out);
        }
        #[cfg(feature = "durable")]
        Effect::Commit { attempt, commit } => {
            begin("commit", out);
            number("attempt", attempt, out);
            key("commit", out);
            commit.write_json(out);
        }
        #[cfg(feature = "durable")]
        Effect::Recall { call, key } => {
            begin("recall", out);
            number("call", call, out);
            text("key", &key, out);
        }
        Effect::RunTool {
            call,
            name,
            tool_call_id,
            tool_batch_id,
            idempotency_key,
            max_result_bytes,
            args,
            signed,
        } => {
            begin("run_tool", out);
            number("call", call, out);
            text("name", &name, out);
            text("toolCallId", &tool_call_id, out);
            number("toolBatchId", tool_batch_id, out);
            text("idempotencyKey", &idempotency_key, out);
            key("maxResultBytes", out);
            whole(max_result_bytes, out);
            value("args", &args, out);
            if let Some(signed) = signed {
                value("signed", &signed, out);
            }
        }
        #[cfg(feature = "durable")]
        Effect::Reconcile { call, about, idempotency_key, max_result_bytes } => {
            begin("reconcile", out);
            number("call", call, out);
            value("about", &about.to_json(), out);
            text("idempotencyKey", &idempotency_key, out);
            key("maxResultBytes", out);
            whole(max_result_bytes, out);
        }
        Effect::CancelTool { call, reason } => {
            begin("cancel_tool", out);
            number("call", call, out);
            text("reason", reason.name(), out);
        }
        Effect::Trace(event) => {
            begin("trace", out);
            value("event", &event, out);
        }
        Effect::Done { result } => {
            begin("done", out);
            value("result", &result, out);
        }
        // Every effect of this version is above; those of stores are there where stores are.
        _ => begin("unknown", out),
    }
    out.push('}');
}

fn begin(kind: &str, out: &mut String) {
    out.push_str("{\"type\":\"");
    out.push_str(kind);
    out.push('"');
}

fn key(name: &str, out: &mut String) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
}

fn whole(number: u64, out: &mut String) {
    out.push_str(&number.to_string());
}

#[inline(never)]
fn number(name: &str, number: u32, out: &mut String) {
    key(name, out);
    whole(u64::from(number), out);
}

#[inline(never)]
fn text(name: &str, text: &str, out: &mut String) {
    key(name, out);
    write_string(text, out);
}

#[inline(never)]
fn value(name: &str, value: &Json<'_>, out: &mut String) {
    key(name, out);
    value.write(out);
}
