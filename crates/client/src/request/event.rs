//! What a pass records of itself, for an audit.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::result::RejectedView;
use crate::guard::guarded;
use crate::platform::Dyn;
use crate::result::TokenUsage;
use turnlock::request::Reason;
use turnlock::stream::FinishReason;
use turnlock::tool::Status;

/// A trace event of a pass. No result is in it, only a summary of its shape.
///
/// As JSON it is what `onTrace` of the npm package gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassEvent {
    /// The run's id.
    #[serde(rename = "requestId")]
    pub request_id: String,
    /// None: a pass has no project.
    #[serde(rename = "projectId")]
    pub project_id: Option<String>,
    /// Milliseconds since the pass began. When replaying, only recorded durations count.
    #[serde(rename = "atMs")]
    pub at_ms: u64,
    /// Milliseconds since 1970: `started_at` and `at_ms`.
    pub at: u64,
    /// The plan.
    pub plan_id: String,
    /// The run that the plan belongs to.
    pub run_id: String,
    /// What asked for the plan.
    pub source: String,
    /// What happened.
    #[serde(flatten)]
    pub kind: PassEventKind,
    /// Where it happened.
    pub details: PassPlace,
}

/// Where in a pass something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PassPlace {
    /// The pass.
    pub phase: PassPhase,
    /// The request, from 1; 0 before the first.
    pub tool_batch_id: u32,
}

/// The two passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassPhase {
    /// The model may ask for data.
    RequestPass,
    /// The model plans.
    PlanPass,
}

/// What happened in a pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PassEventKind {
    /// The model asked for tools, or for none.
    StrategistToolRequest {
        /// Every call that was requested, in order.
        tool_calls: Vec<AskedCall>,
        /// Whether it was a request by the schema.
        valid: bool,
        /// What spoiled it.
        rejected: Vec<RejectedView>,
        /// The prompt of the request pass.
        prompt_template_id: String,
        /// Lower-case hex SHA-256 of its text.
        prompt_template_hash: String,
    },
    /// A call has its outcome.
    StrategistToolResult {
        /// The tool.
        tool_name: String,
        /// The signature of the call.
        signature: String,
        /// Milliseconds from start to settlement.
        duration_ms: u64,
        /// How it ended.
        status: Status,
        /// The result is a recorded one.
        replayed: bool,
        /// Shape, size and member names of the result, or the code of the failure.
        result_summary: String,
    },
    /// A request to the model has ended.
    LlmCall {
        /// Its number, from 1.
        inference: u32,
        /// The prompt.
        prompt_template_id: String,
        /// Lower-case hex SHA-256 of its text.
        prompt_template_hash: String,
        /// Members of `global_context` that are there, and `tool_results` if results were added.
        context_flags: Vec<String>,
        /// Request pass: calls asked for. Plan pass: calls that ran before it.
        tool_call_count: u64,
        /// Why the model stopped, where it said so.
        finish_reason: Option<FinishReason>,
        /// Its tokens, where it said so.
        usage: Option<TokenUsage>,
        /// The code of the failure, if it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// A call that the model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The tool.
    pub tool_name: String,
    /// The arguments; long ones are cut to a text.
    pub params: Value,
    /// Why, in the model's words.
    pub reason: String,
    /// The signature of the call.
    pub signature: String,
    /// Whether it runs.
    pub allowed: bool,
    /// Why it does not.
    pub refusal: Option<Reason>,
}

/// Takes out of a text what must not be kept.
pub(super) type Redact = Arc<Dyn![Fn(&str) -> String]>;

impl PassEvent {
    /// The event with every text of a model or of a tool redacted: `params`, `reason`, `detail` and
    /// `result_summary`. Where `redact` panics, the text is dropped, not shown.
    pub(super) fn redacted(mut self, redact: &Redact) -> Self {
        match &mut self.kind {
            PassEventKind::StrategistToolRequest { tool_calls, rejected, .. } => {
                for call in tool_calls {
                    redact_deep(&mut call.params, redact);
                    redact_text(&mut call.reason, redact);
                }
                for detail in rejected.iter_mut().filter_map(|one| one.detail.as_mut()) {
                    redact_text(detail, redact);
                }
            }
            PassEventKind::StrategistToolResult { result_summary, .. } => {
                redact_text(result_summary, redact);
            }
            PassEventKind::LlmCall { .. } => {}
        }
        self
    }
}

fn redact_text(text: &mut String, redact: &Redact) {
    let kept = guarded(|| redact(text));
    *text = kept.unwrap_or_else(|_| "[redaction failed]".to_owned());
}

/// Names of members are texts as well.
fn redact_deep(value: &mut Value, redact: &Redact) {
    match value {
        Value::String(text) => redact_text(text, redact),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_deep(item, redact)),
        Value::Object(members) => {
            let redacted = std::mem::take(members).into_iter().map(|(mut key, mut own)| {
                redact_text(&mut key, redact);
                redact_deep(&mut own, redact);
                (key, own)
            });
            *members = redacted.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnlock::Next;
    use turnlock::json::Json;
    use turnlock::request::Pass;
    use turnlock::stream::{Delta, Usage};
    use turnlock::turn::{Effect, Input, Settled};

    /// What a pass traces whose model says `texts`, and then fails.
    fn traced(texts: &[&str]) -> Vec<Value> {
        let options = Json::parse_str(
            r#"{"dialect":"openai-chat","input":{"global_context":{"a":1}},"trace":true,
                "planId":"p","runId":"r","secret":"00112233445566778899aabbccddeeff",
                "startedAt":7,"maxRetries":0,"policy":{"maxIterations":2},
                "tools":[{"name":"quote","readOnly":true},{"name":"order"}]}"#,
        );
        let mut pass = turnlock::request::PassOptions::from_json(options.unwrap().into_owned())
            .and_then(Pass::new)
            .unwrap();
        let (mut events, mut texts) = (Vec::new(), texts.iter());
        pass.handle(10, Input::Start);
        while let Next::Effect(effect) = pass.poll() {
            match effect {
                Effect::Trace(event) => events.push(event.to().unwrap()),
                Effect::Fetch { inference, attempt, .. } => {
                    let failed =
                        || Input::ResponseFailed { inference, attempt, message: "no".into() };
                    let input = texts.next().map_or_else(failed, |text| {
                        let usage = Usage { input_tokens: Some(3), ..Usage::default() };
                        let deltas = vec![Delta::Text((*text).to_owned()), Delta::Usage(usage)];
                        Input::Deltas { inference, attempt, deltas }
                    });
                    pass.handle(12, input);
                    pass.handle(13, Input::ResponseEnded { inference, attempt });
                }
                Effect::RunTool { call, .. } => {
                    let settled = Settled::Ok { text: "[1]".to_owned(), bytes: 3 };
                    pass.handle(15, Input::ToolSettled { call, settled });
                }
                _ => {}
            }
        }
        events
    }

    #[test]
    fn events_are_the_json_of_the_core() {
        let quote = r#"{"tool_calls":[
            {"tool_name":"quote","params":{"n":[1,{"z":null}]},"reason":"why"},
            {"tool_name":"order","params":{},"reason":""}]}"#;
        let spoiled = r#"{"tool_calls":[{"tool_name":"quote"}],"more":1}"#;
        let events = traced(&[quote, spoiled]);
        let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
        let counts = ["llm_call", "strategist_tool_request", "strategist_tool_result"].map(of);
        assert_eq!(counts, [3, 2, 1]);
        for json in events {
            let event: PassEvent = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(event).unwrap(), json);
        }
    }
}
