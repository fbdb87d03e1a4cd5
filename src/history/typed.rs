//! Calls that OpenAI Responses has as items of a type of their own, and that the client runs: each needs
//! an output item of its type. Read 2026-11-30:
//! <https://platform.openai.com/docs/api-reference/responses/create#responses-create-input>.
//!
//! For that provider they stay items. For others they become calls of a tool: `custom_tool_call` of the
//! tool that it names, with its text as the argument `input`, the others of `local_shell`, `shell`,
//! `apply_patch`, `computer` and `tool_search`, with what is to be done as arguments.

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
    /// A screenshot, or tools: there are none.
    Impossible,
}

const TYPES: [CallType; 6] = [
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
    // The client runs it if `execution` says so: [`is_hosted`].
    CallType { kind: SEARCH, name: "tool_search", action: "arguments", answer: Answer::Impossible },
];

/// The type of a search for tools, which the provider may run itself.
const SEARCH: &str = "tool_search_call";
/// The type of its output.
const FOUND: &str = "tool_search_output";

/// Whether the provider runs a search for tools itself: its call and its output have no `call_id`.
pub(super) fn is_hosted(item: &Fields<'_>) -> bool {
    item.is("execution", "server") || !item.has("call_id") && !item.is("execution", "client")
}

/// The type of a call item.
pub(super) fn of_call(kind: &str) -> Option<&'static CallType> {
    TYPES.iter().find(|one| one.kind == kind)
}

/// The type of an output item.
pub(super) fn of_output(kind: &str) -> Option<&'static CallType> {
    if kind == FOUND { of_call(SEARCH) } else { of_call(kind.strip_suffix("_output")?) }
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
            Some(text) if self.kind == SEARCH && text.is_text() => return (name, Args::Text(text)),
            Some(action) => action,
            None => match item.take("actions") {
                Some(actions) => object! { "actions": actions },
                None => Json::Null,
            },
        };
        (name, Args::Value(args))
    }

    /// Whether it is a search for tools.
    pub(super) fn is_search(&self) -> bool {
        self.kind == SEARCH
    }

    /// The member of its output that has the result.
    pub(super) fn result(&self) -> &'static str {
        if self.kind == SEARCH { "tools" } else { "output" }
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

/// The item with this id of its call. That of the output of a local shell is its `id`.
pub(super) fn with_call_id<'a>(item: &Json<'a>, id: &str) -> Json<'a> {
    let mut item = item.clone();
    let is_named = item.kind() == Some("local_shell_call_output") && item.get("id").is_some();
    if let Json::Object(members) = &mut item {
        let given = members.iter_mut().find(|(key, _)| key == "call_id");
        match given {
            Some((_, given)) if given.as_str() == Some(id) => {}
            Some((_, given)) => *given = Json::from(id.to_owned()),
            None if is_named => {}
            None => members.add("call_id", Json::from(id.to_owned())),
        }
    }
    item
}
