//! Calls that OpenAI Responses has as items of a type of their own, and that the client runs: each needs
//! an output item of its type. Read 2026-11-30:
//! <https://platform.openai.com/docs/api-reference/responses/create#responses-create-input>.
//!
//! For that provider they stay items. For others they become calls of a tool: `custom_tool_call` of the
//! tool that it names, with its text as the argument `input`, the others of `local_shell`, `shell`,
//! `apply_patch` and `computer`, with what is to be done as arguments.

use std::borrow::Cow;

use super::import::Fields;
use super::model::Args;
use crate::json::{Add, Json, object};

/// A type of client-run calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallType {
    kind: &'static str,
    /// The tool's name for other providers; empty if the item names it.
    name: &'static str,
    /// The member that says what is to be done.
    action: &'static str,
    /// How the output of a call without a result is written.
    answer: Answer,
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// A text.
    Text,
    /// A text, and whether it failed.
    Status,
    /// Chunks of output, each with its outcome.
    Chunks,
    /// A screenshot: there is none.
    Impossible,
}

const TYPES: [CallType; 5] = [
    CallType { kind: "custom_tool_call", name: "", action: "input", answer: Answer::Text },
    CallType {
        kind: "local_shell_call",
        name: "local_shell",
        action: "action",
        answer: Answer::Text,
    },
    CallType { kind: "shell_call", name: "shell", action: "action", answer: Answer::Chunks },
    CallType {
        kind: "apply_patch_call",
        name: "apply_patch",
        action: "operation",
        answer: Answer::Status,
    },
    CallType {
        kind: "computer_call",
        name: "computer",
        action: "action",
        answer: Answer::Impossible,
    },
];

/// The type of a call item.
pub(super) fn of_call(kind: &str) -> Option<&'static CallType> {
    TYPES.iter().find(|one| one.kind == kind)
}

/// The type of an output item.
pub(super) fn of_output(kind: &str) -> Option<&'static CallType> {
    of_call(kind.strip_suffix("_output")?)
}

impl CallType {
    /// The name and the arguments of a call for providers that have only functions.
    pub(super) fn function<'a>(&self, item: &mut Fields<'a>) -> (Cow<'a, str>, Args<'a>) {
        let name = match self.name {
            "" => item.take_text("name").unwrap_or_default(),
            name => Cow::Borrowed(name),
        };
        let args = match item.take(self.action) {
            Some(input) if self.answer == Answer::Text && self.name.is_empty() => {
                object! { "input": input }
            }
            Some(action) => action,
            None => match item.take("actions") {
                Some(actions) => object! { "actions": actions },
                None => Json::Null,
            },
        };
        (name, Args::Value(args))
    }

    /// The tool's name, if the type tells it.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether an item is an output of this type.
    pub(super) fn answers(&self, output: &Json<'_>) -> bool {
        output.kind().and_then(of_output) == Some(self)
    }

    /// The output item of a call; `None` if a text cannot be one.
    pub(super) fn output<'a>(
        &self,
        call_id: &str,
        text: Json<'a>,
        failed: bool,
    ) -> Option<Json<'a>> {
        let output = match self.answer {
            Answer::Text | Answer::Status => text,
            Answer::Chunks => {
                let code = if failed { "1" } else { "0" };
                let outcome = object! { "type": "exit", "exit_code": Json::Number(code.into()) };
                let (out, err) = if failed { ("".into(), text) } else { (text, "".into()) };
                Json::Array(vec![object! { "stdout": out, "stderr": err, "outcome": outcome }])
            }
            Answer::Impossible => return None,
        };
        let kind = [self.kind, "_output"].concat();
        let mut members = vec![("type".into(), Json::from(kind))];
        members.add("call_id", Json::from(call_id.to_owned()));
        if self.answer == Answer::Status {
            members.add("status", if failed { "failed" } else { "completed" });
        }
        members.add("output", output);
        Some(Json::Object(members))
    }
}

/// The item with this id of its call.
pub(super) fn with_call_id<'a>(item: &Json<'a>, id: &str) -> Json<'a> {
    let mut item = item.clone();
    if let Json::Object(members) = &mut item {
        let given = members.iter_mut().find(|(key, _)| key == "call_id");
        match given {
            Some((_, given)) if given.as_str() == Some(id) => {}
            Some((_, given)) => *given = Json::from(id.to_owned()),
            None => {}
        }
    }
    item
}
