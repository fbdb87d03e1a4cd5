//! The deltas and tokens that a host reports.

use std::cell::Cell;

use super::delta::{
    Delta, ErrorClass, FinishReason, ProviderTool, ProviderToolStatus, StreamError, Usage,
};
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Item, Read};

impl Read for Delta {
    /// What is no delta is a stream that cannot be read: a model of a host may yield anything.
    fn read(&mut self, json: Json<'static>, _: &At<'_>) -> Result<(), Error> {
        let given = Given { json: &json, lacks: Cell::new(false) };
        *self = given.delta();
        if given.lacks.get() {
            *self = Self::Error(StreamError {
                class: ErrorClass::Malformed,
                message: "the model yielded something that is no delta".to_owned(),
                raw: json.to_text(),
            });
        }
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a delta"
    }
}

impl Item for Delta {
    fn item() -> Self {
        Self::Other { raw: String::new() }
    }
}

/// The members of a delta. A blank value stands for one that is missing or wrong: that needs less
/// code than to stop at once.
struct Given<'a> {
    json: &'a Json<'static>,
    lacks: Cell<bool>,
}

impl Given<'_> {
    fn delta(&self) -> Delta {
        match self.json.get("type").and_then(Json::as_str).unwrap_or_default() {
            "text" => Delta::Text(self.text("text")),
            "reasoning" => {
                Delta::Reasoning { text: self.text("text"), signature: self.optional("signature") }
            }
            "tool_call_start" => Delta::ToolCallStart {
                index: self.index(),
                id: self.text("id"),
                name: self.text("name"),
            },
            "tool_call_arguments" => {
                Delta::ToolCallArguments { index: self.index(), text: self.text("text") }
            }
            "tool_call_ready" => Delta::ToolCallReady { index: self.index() },
            "tool_call_end" => Delta::ToolCallEnd { index: self.index() },
            "usage" => Delta::Usage(usage(self.member("usage"))),
            "finish" => {
                let reason = self.text("reason");
                Delta::Finish {
                    reason: FinishReason::parse(&reason).unwrap_or(FinishReason::Other),
                    raw: self.optional("raw").unwrap_or(reason),
                }
            }
            "error" => {
                let class = self.json.get("class").and_then(Json::as_str);
                Delta::Error(StreamError {
                    class: class.and_then(ErrorClass::parse).unwrap_or(ErrorClass::Server),
                    message: self.optional("message").unwrap_or_default(),
                    raw: self.json.get("raw").unwrap_or(&Json::Null).to_text(),
                })
            }
            "provider_tool" => {
                let block = self.json.get("block");
                let raw = block.or_else(|| self.json.get("data")).unwrap_or(&Json::Null);
                let status = self.member("status").as_str().and_then(ProviderToolStatus::parse);
                self.need(status.is_some());
                Delta::ProviderTool(ProviderTool {
                    name: self.text("name"),
                    id: self.optional("id"),
                    status: status.unwrap_or(ProviderToolStatus::Done),
                    raw: raw.to_text(),
                    kept: block.is_some(),
                })
            }
            "members" => Delta::Members {
                index: self.json.get("index").is_some().then(|| self.index()),
                members: self.member("members").to_text(),
            },
            "other" => Delta::Other { raw: self.member("raw").to_text() },
            _ => {
                self.need(false);
                Delta::item()
            }
        }
    }

    fn need(&self, is_there: bool) {
        self.lacks.set(self.lacks.get() || !is_there);
    }

    #[inline(never)]
    fn member(&self, key: &str) -> &Json<'static> {
        let member = self.json.get(key);
        self.need(member.is_some());
        member.unwrap_or(&Json::Null)
    }

    #[inline(never)]
    fn optional(&self, key: &str) -> Option<String> {
        self.json.get(key)?.as_str().map(str::to_owned)
    }

    #[inline(never)]
    fn text(&self, key: &str) -> String {
        let text = self.optional(key);
        self.need(text.is_some());
        text.unwrap_or_default()
    }

    #[inline(never)]
    fn index(&self) -> u32 {
        let index = self.json.get("index").and_then(Json::as_u64);
        let index = index.and_then(|index| u32::try_from(index).ok());
        self.need(index.is_some());
        index.unwrap_or(0)
    }
}

impl Read for Usage {
    /// What is no whole number is unknown.
    fn read(&mut self, json: Json<'static>, _: &At<'_>) -> Result<(), Error> {
        *self = usage(&json);
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an object"
    }
}

impl Item for Usage {
    fn item() -> Self {
        Self::default()
    }
}

fn usage(json: &Json<'_>) -> Usage {
    let number = |key: &str| json.get(key).and_then(Json::as_u64);
    Usage {
        input_tokens: number("inputTokens"),
        output_tokens: number("outputTokens"),
        cached_input_tokens: number("cachedInputTokens"),
        cache_write_input_tokens: number("cacheWriteInputTokens"),
        reasoning_tokens: number("reasoningTokens"),
    }
}
