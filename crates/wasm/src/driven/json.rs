//! The JSON of inputs and effects between the shell and `pkg/src/driver.ts`.

use super::super::wire::bad;
use turnlock::error::Error;
use turnlock::json::{Json, write_string};
use turnlock::provider::Request;
use turnlock::store::Answer;
use turnlock::stream::{Delta, ErrorClass, FinishReason, StreamError, Usage};
use turnlock::turn::{Effect, Event, EventKind, Input, Settled, Verdict};

/// One of the inputs that `driver.ts` sends.
pub(super) fn input(json: &Json<'_>) -> Result<Input, Error> {
    let text = |key: &'static str| {
        let text = json.get(key).and_then(Json::as_str).map(str::to_owned);
        text.ok_or_else(|| bad(key, "a string"))
    };
    let number = |key: &'static str| {
        let found = json.get(key).and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok());
        found.ok_or_else(|| bad(key, "a whole number"))
    };
    Ok(match &*text("type")? {
        "start" => Input::Start,
        "timer" => Input::Timer,
        "pause" => Input::Pause,
        "verify" => Input::Verify,
        "cancel" => Input::Cancel { reason: text("reason")? },
        "response_head" => Input::ResponseHead {
            inference: number("inference")?,
            attempt: number("attempt")?,
            status: u16::try_from(number("status")?).map_err(|_| bad("status", "a status"))?,
            retry_after_ms: json.get("retryAfterMs").and_then(Json::as_u64),
            body: text("body")?,
        },
        "response_end" => {
            Input::ResponseEnded { inference: number("inference")?, attempt: number("attempt")? }
        }
        "held_back" => {
            Input::HeldBack { inference: number("inference")?, attempt: number("attempt")? }
        }
        "response_failed" => Input::ResponseFailed {
            inference: number("inference")?,
            attempt: number("attempt")?,
            message: text("message")?,
        },
        "deltas" => Input::Deltas {
            inference: number("inference")?,
            attempt: number("attempt")?,
            deltas: json
                .get("deltas")
                .and_then(Json::as_array)
                .ok_or_else(|| bad("deltas", "an array"))?
                .iter()
                .map(delta)
                .collect(),
        },
        "checked" => {
            let action = json.get("action").and_then(Json::as_str).map(str::to_owned);
            let valid = json.get("valid").and_then(Json::as_bool);
            let verdict = match valid.ok_or_else(|| bad("valid", "true or false"))? {
                true => Verdict::Valid {
                    action,
                    approval: json.get("approval").and_then(Json::as_bool).unwrap_or(false),
                },
                false => Verdict::Invalid { errors: text("errors")? },
            };
            Input::Checked { call: number("call")?, verdict }
        }
        "recalled" => {
            let age = json.get("ageMs").and_then(Json::as_u64);
            let text = json.get("text").and_then(Json::as_str).map(str::to_owned);
            let found = text.zip(age);
            Input::Recalled { call: number("call")?, found }
        }
        "stored" => Input::Stored {
            revision: json.get("revision").and_then(Json::as_u64).unwrap_or(0),
            attempt: number("attempt")?,
            answer: answer(json)?,
        },
        "tool_settled" => {
            let settled = match &*text("status")? {
                "ok" => Settled::Ok {
                    text: text("text")?,
                    bytes: json.get("bytes").and_then(Json::as_u64).unwrap_or(0),
                },
                _ => Settled::Error { code: text("code")?, message: text("message")? },
            };
            Input::ToolSettled { call: number("call")?, settled }
        }
        "tool_progress" => Input::ToolProgress {
            call: number("call")?,
            data: json.get("data").cloned().unwrap_or_default().into_owned(),
        },
        _ => return Err(bad("type", "an input that exists")),
    })
}

fn answer(json: &Json<'_>) -> Result<Answer, Error> {
    let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
    if let Some(code) = text("code") {
        return Ok(Answer::Failed { code, message: text("message").unwrap_or_default() });
    }
    match json.get("ok").and_then(Json::as_bool) {
        Some(true) => Ok(Answer::Kept),
        Some(false) => Ok(Answer::Refused { state: text("state") }),
        None => Err(bad("ok", "true or false")),
    }
}

/// A delta that a host's model yields; what is none is a stream that cannot be read.
fn delta(json: &Json<'_>) -> Delta {
    let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
    let index = || json.get("index").and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok());
    let read = || {
        Some(match json.get("type")?.as_str()? {
            "text" => Delta::Text(text("text")?),
            "reasoning" => Delta::Reasoning { text: text("text")?, signature: text("signature") },
            "tool_call_start" => {
                Delta::ToolCallStart { index: index()?, id: text("id")?, name: text("name")? }
            }
            "tool_call_arguments" => {
                Delta::ToolCallArguments { index: index()?, text: text("text")? }
            }
            "tool_call_end" => Delta::ToolCallEnd { index: index()? },
            "usage" => Delta::Usage(usage(json.get("usage")?)),
            "finish" => Delta::Finish {
                reason: FinishReason::parse(json.get("reason")?.as_str()?)
                    .unwrap_or(FinishReason::Other),
                raw: text("raw").or_else(|| text("reason")).unwrap_or_default(),
            },
            "error" => Delta::Error(StreamError {
                class: json
                    .get("class")
                    .and_then(|class| ErrorClass::parse(class.as_str()?))
                    .unwrap_or(ErrorClass::Server),
                message: text("message").unwrap_or_default(),
                raw: json.get("raw").map_or_else(|| "null".to_owned(), Json::to_text),
            }),
            "other" => Delta::Other { raw: json.get("raw")?.to_text() },
            _ => return None,
        })
    };
    read().unwrap_or_else(|| {
        Delta::Error(StreamError {
            class: ErrorClass::Malformed,
            message: "the model yielded something that is no delta".to_owned(),
            raw: json.to_text(),
        })
    })
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

/// A JSON array of effects, in which a text event is an array; empty when there are none.
pub(super) fn effects(effects: impl Iterator<Item = Written>) -> String {
    let mut out = String::new();
    for one in effects {
        out.push(if out.is_empty() { '[' } else { ',' });
        effect(one, &mut out);
    }
    if !out.is_empty() {
        out.push(']');
    }
    out
}

fn effect(effect: Written, out: &mut String) {
    let number = |n: u32| Json::integer(u64::from(n));
    let (kind, members) = match effect {
        // Text comes by the thousand: `[phase, toolBatchId, seq, chunk]`, the rest is known.
        Effect::Emit(Event {
            phase,
            tool_batch_id,
            seq,
            kind: EventKind::Text { chunk, .. },
            ..
        }) => {
            let phase = phase.name();
            out.push_str(&format!("[\"{phase}\",{tool_batch_id},{seq},"));
            write_string(&chunk, out);
            out.push(']');
            return;
        }
        Effect::Emit(event) => {
            out.push_str("{\"type\":\"emit\",\"event\":");
            event.write_json(out);
            out.push('}');
            return;
        }
        Effect::Fetch { inference, attempt, request } => {
            let Request { path, headers, body, .. } = request;
            out.push_str(&format!(
                "{{\"type\":\"fetch\",\"inference\":{inference},\"attempt\":{attempt},\
                 \"request\":{{\"path\":\"{path}\",\"headers\":{{"
            ));
            for (index, (name, value)) in headers.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                out.push_str(&format!("{comma}\"{name}\":\"{value}\""));
            }
            out.push_str("},\"body\":");
            body.write(out);
            out.push_str("}}");
            return;
        }
        Effect::Abort { inference } => ("abort", vec![("inference", number(inference))]),
        Effect::Check { call, name, args } => {
            ("check", vec![("call", number(call)), ("name", name.into()), ("args", args)])
        }
        Effect::Commit { attempt, commit } => {
            out.push_str(&format!("{{\"type\":\"commit\",\"attempt\":{attempt},\"commit\":"));
            commit.write_json(out);
            out.push('}');
            return;
        }
        Effect::Recall { call, key } => {
            ("recall", vec![("call", number(call)), ("key", key.into())])
        }
        Effect::RunTool {
            call,
            name,
            tool_call_id,
            tool_batch_id,
            idempotency_key,
            max_result_bytes,
            args,
        } => (
            "run_tool",
            vec![
                ("call", number(call)),
                ("name", name.into()),
                ("toolCallId", tool_call_id.into()),
                ("toolBatchId", number(tool_batch_id)),
                ("idempotencyKey", idempotency_key.into()),
                ("maxResultBytes", Json::integer(max_result_bytes)),
                ("args", args),
            ],
        ),
        Effect::CancelTool { call, reason } => {
            ("cancel_tool", vec![("call", number(call)), ("reason", reason.name().into())])
        }
        Effect::Trace(event) => ("trace", vec![("event", event)]),
        Effect::Done { result } => ("done", vec![("result", result)]),
        // Every effect of this version is above.
        _ => ("unknown", Vec::new()),
    };
    let mut all = vec![("type".into(), kind.into())];
    all.extend(members.into_iter().map(|(key, value)| (key.into(), value)));
    Json::Object(all).write(out);
}
