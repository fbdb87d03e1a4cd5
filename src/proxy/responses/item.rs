//! An item of a response that is a call.

use crate::json::Json;
use crate::proxy::call::Call;
use crate::proxy::tree::{are_texts, arguments, is_arguments, is_blank, joined_text};
use crate::stream::{part, text};

/// Calls that the provider runs itself.
fn is_hosted(kind: &str) -> bool {
    let Some(name) = kind.strip_suffix("_call") else { return false };
    matches!(
        name.strip_suffix("_preview").unwrap_or(name),
        "web_search"
            | "file_search"
            | "code_interpreter"
            | "image_generation"
            | "mcp"
            | "tool_search"
    )
}

/// Whether the client is asked to run something, or to approve it: whatever is no call of the provider.
pub(in crate::proxy) fn is_call(item: &Json<'_>) -> bool {
    if item.as_object().is_none() {
        return false;
    }
    let kind = joined_text(part(item, "type"));
    if kind == "mcp_approval_request" || text(item, "execution") == "client" {
        return true;
    }
    // A shell in a container of the provider.
    if kind.ends_with("shell_call")
        && text(part(item, "environment"), "type").starts_with("container")
    {
        return false;
    }
    kind.ends_with("_call") && !is_hosted(&kind)
}

/// Whether the arguments of a type of calls come in events.
pub(super) fn is_streamed(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call")
}

/// What a call does, where it is no function: the members of any of the other types.
const DOES: [&str; 5] = ["action", "actions", "operation", "arguments", "server_label"];

/// Members of a function or a custom tool that some clients take for its arguments.
const ARGUMENTS: [&str; 6] =
    ["arguments", "input", "parameters", "parsed_arguments", "function", "custom"];

fn has_other(item: &Json<'_>, given: &Json<'_>) -> bool {
    ARGUMENTS.iter().chain(&DOES).any(|name| {
        let value = part(item, name);
        // Of a list or an object, a client takes what it stands for.
        let is_given = std::ptr::eq(value, given) || (value.as_str().is_some() && value == given);
        !is_blank(value) && !is_given
    })
}

pub(in crate::proxy) fn call_of(item: &Json<'_>) -> Call {
    let member = |name: &str| part(item, name);
    let texts = ["type", "id", "call_id", "name"].map(member);
    let (args, input) = (member("arguments"), member("input"));
    let is_formed = are_texts(&texts) && is_arguments(args) && is_arguments(input);
    let name = text(item, "name");
    let arguments_of = |name: &str| item.get(name).map(arguments).unwrap_or_default();
    let call = match text(item, "type") {
        "function_call" => Call {
            arguments: arguments_of("arguments"),
            is_unclear: has_other(item, args),
            ..Call::default()
        },
        "custom_tool_call" => Call {
            arguments: arguments_of("input"),
            is_text: true,
            is_unclear: has_other(item, input),
            ..Call::default()
        },
        _ => {
            let does = DOES.iter().filter_map(|name| {
                let value = item.get(name).filter(|value| !value.is_null())?;
                Some(((*name).into(), value.clone()))
            });
            // Some clients take whatever has arguments for a function.
            let text = args.as_str().filter(|text| !text.is_empty());
            Call {
                arguments: Json::Object(does.collect()).to_text(),
                readings: text.map(|text| (name.to_owned(), text.to_owned())).into_iter().collect(),
                ..Call::default()
            }
        }
    };
    let is_other = !matches!(text(item, "type"), "function_call" | "custom_tool_call");
    let name = if name.is_empty() && is_other { text(item, "type") } else { name };
    let is_unclear = call.is_unclear || !is_formed;
    Call { id: id_of(item).to_owned(), name: name.to_owned(), is_unclear, ..call }
}

pub(super) fn id_of<'a>(item: &'a Json<'_>) -> &'a str {
    let id = text(item, "call_id");
    if id.is_empty() { text(item, "id") } else { id }
}
