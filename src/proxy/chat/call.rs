//! A call, or a piece of one, in Chat Completions.

use super::has_plain_index;
use crate::json::Json;
use crate::proxy::call::Call;
use crate::proxy::foreign::{is_member_of_calls, is_type_of_calls};
use crate::proxy::stray::folded;
use crate::proxy::tree::{are_objects, are_texts, arguments, is_arguments, is_blank, is_full};
use crate::stream::{part, text};

/// Which kind of tool a call is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Kind {
    Function,
    Custom,
}

/// The name and the arguments of a call: of a function, or of a custom tool.
pub(in crate::proxy) fn call_of(value: &Json<'_>) -> (Call, Option<Kind>) {
    call_in(value, part(value, "function"))
}

/// As [`call_of`], of the call of older models.
pub(in crate::proxy) fn function_call(called: &Json<'_>) -> (Call, Option<Kind>) {
    call_in(&Json::Null, called)
}

fn call_in(call: &Json<'_>, called: &Json<'_>) -> (Call, Option<Kind>) {
    let custom = part(call, "custom");
    let or = |value: &'_ Json<'_>| !value.is_null();
    let first =
        Some(part(called, "name")).filter(|name| or(name)).unwrap_or_else(|| part(custom, "name"));
    let name = first.as_str().unwrap_or_default();
    let empty = Json::String("".into());
    let argument =
        [part(called, "arguments"), part(custom, "input")].into_iter().find(|value| or(value));
    let argument = argument.unwrap_or(&empty);
    let kind = if is_full(called) {
        Some(Kind::Function)
    } else {
        is_full(custom).then_some(Kind::Custom)
    };
    // Some clients take what stands beside the function, or in the other kind of call.
    let others = [
        part(call, "arguments"),
        part(call, "input"),
        part(called, "input"),
        part(called, "parameters"),
        part(custom, "arguments"),
    ];
    let is_other =
        |value: &&Json<'_>| !is_blank(value) && (value.as_str().is_none() || *value != argument);
    let beside = part(call, "name");
    let is_named = is_blank(beside) || beside.as_str() == Some(name);
    // Some servers send an object as arguments, or the name elsewhere.
    let is_formed = are_objects(&[call, called, custom])
        && are_texts(&[
            part(call, "id"),
            part(call, "type"),
            part(called, "name"),
            part(custom, "name"),
        ])
        && has_plain_index(call)
        && is_arguments(argument);
    let is_unclear = !is_formed
        || !is_named
        || others.iter().any(is_other)
        || (is_full(called) && is_full(custom));
    let call = Call {
        name: name.to_owned(),
        arguments: arguments(argument),
        is_text: kind == Some(Kind::Custom) && argument.as_str().is_some(),
        is_unclear,
        ..Call::default()
    };
    (call, kind)
}

/// The calls of a member or an item, as clients find them that are more lenient than the API: under
/// names without a separator, and as parts of a text.
pub(in crate::proxy) fn calls_of(name: &str, value: &Json<'_>) -> Vec<Call> {
    let small = folded(name);
    let is_single = matches!(&*small, "function_call" | "functioncall" | "function-call");
    if is_single {
        return match value {
            Json::Array(items) if !items.is_empty() => vec![function_call(value).0],
            value if is_full(value) => vec![function_call(value).0],
            _ => Vec::new(),
        };
    }
    if is_member_of_calls(&small) {
        return match value {
            Json::Array(items) => items.iter().map(|item| call_of(item).0).collect(),
            value if is_full(value) => vec![call_of(value).0],
            _ => Vec::new(),
        };
    }
    if !is_type_of_calls(&folded(text(value, "type"))) {
        return Vec::new();
    }
    let (mut call, _) = call_of(value);
    if call.name.is_empty() {
        text(value, "name").clone_into(&mut call.name);
        let argument =
            [part(value, "input"), part(value, "arguments")].into_iter().find(|v| !v.is_null());
        call.arguments = argument.map(arguments).unwrap_or_default();
    }
    vec![call]
}
