//! The formats of calls in text: how each begins, and its reader.

use std::borrow::Cow;

use crate::json::Json;
use crate::text::{find, unfenced};

/// How many parameters a call in a text may have.
const PARAMETERS: usize = 256;

/// Markup with a call.
pub(super) struct Found<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Json<'static>,
    /// The text behind it.
    pub(super) rest: &'a str,
}

/// A format of calls in text: how it begins, and its reader, which gets the text behind that.
pub(super) struct Format {
    pub(super) begin: &'static str,
    read: fn(&str) -> Option<Found<'_>>,
}

/// The formats, with a model or template of each and when they were read:
/// - `<tool_call>` with JSON (Hermes 2 Pro, Qwen 2.5 and 3), `<function=…>` (Qwen3-Coder) or
///   `<arg_key>` (GLM-4.5) inside;
/// - `<invoke name="…">` with `<parameter name="…">` (MiniMax-M2), also with DeepSeek's marks
///   (DSML, V3.2 and V4);
/// - special tokens of Kimi K2, DeepSeek V3 and R1, and Harmony (gpt-oss).
///
/// Sources: the chat templates of these models and the tool parsers of vLLM 0.12, 2026-11.
pub(super) const FORMATS: &[Format] = &[
    Format { begin: "<tool_call>", read: in_tags },
    Format { begin: "<function=", read: function },
    Format { begin: "<invoke name=\"", read: |text| invoke(text, "") },
    Format { begin: "<｜DSML｜invoke name=\"", read: |text| invoke(text, "｜DSML｜") },
    Format { begin: "<|tool_call_begin|>", read: kimi },
    Format { begin: "<｜tool▁call▁begin｜>", read: deepseek },
    Format { begin: "<|channel|>commentary to=functions.", read: harmony },
    Format { begin: "<|start|>assistant to=functions.", read: harmony },
];

/// Marks around a list of calls, which are removed with them.
pub(super) const WRAPPERS: &[&str] = &[
    "<tool_calls>",
    "</tool_calls>",
    "<function_calls>",
    "</function_calls>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<｜DSML｜tool_calls>",
    "</｜DSML｜tool_calls>",
    "<｜DSML｜function_calls>",
    "</｜DSML｜function_calls>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "</tool_call>",
];

pub(super) fn read(text: &str) -> Option<Found<'_>> {
    FORMATS.iter().find_map(|format| (format.read)(text.strip_prefix(format.begin)?))
}

/// `{"name": …, "arguments": …}`, `<function=…>` or a name with `<arg_key>`, up to `</tool_call>`.
fn in_tags(text: &str) -> Option<Found<'_>> {
    let (inside, rest) = until(text, "</tool_call>");
    let inside = inside.trim();
    if let Some(function_text) = inside.strip_prefix("<function=") {
        return function(function_text).map(|found| Found { rest, ..found });
    }
    if inside.starts_with('{') {
        let json = Json::parse_str(inside).ok()?;
        let name = json.get("name")?.as_str()?;
        let at = find(inside, name)?;
        let arguments = json.get("arguments").or_else(|| json.get("parameters"));
        let arguments =
            arguments.cloned().map_or_else(|| Json::Object(Vec::new()), Json::into_owned);
        return Some(Found {
            name: inside.get(at..at + name.len())?,
            arguments: as_object(arguments)?,
            rest,
        });
    }
    let (name, mut pairs) = match find(inside, "<arg_key>") {
        Some(at) => inside.split_at_checked(at)?,
        None => (inside, ""),
    };
    let mut arguments = Vec::new();
    while let Some(pair) = pairs.trim_start().strip_prefix("<arg_key>") {
        let (key, behind) = between(pair, "</arg_key>")?;
        let (value, behind) =
            between(behind.trim_start().strip_prefix("<arg_value>")?, "</arg_value>")?;
        add(&mut arguments, key.trim().to_owned(), value_of(value))?;
        pairs = behind;
    }
    named(name.trim(), arguments, rest)
}

/// `name>` with `<parameter=key>value</parameter>`, up to `</function>`.
fn function(text: &str) -> Option<Found<'_>> {
    let (inside, rest) = until(text, "</function>");
    let (name, mut pairs) = between(inside, ">")?;
    let mut arguments = Vec::new();
    while let Some(pair) = pairs.trim_start().strip_prefix("<parameter=") {
        let (key, behind) = between(pair, ">")?;
        let (value, behind) = between(behind, "</parameter>")?;
        let value = value.strip_prefix('\n').unwrap_or(value);
        add(&mut arguments, key.to_owned(), value_of(value.strip_suffix('\n').unwrap_or(value)))?;
        pairs = behind;
    }
    named(name, arguments, rest)
}

/// `name">` with `<parameter name="key">value</parameter>`, up to `</invoke>`; `mark` stands before
/// each of these words.
fn invoke<'a>(text: &'a str, mark: &str) -> Option<Found<'a>> {
    let (inside, rest) = until(text, &["</", mark, "invoke>"].concat());
    let (name, behind) = between(inside, "\"")?;
    let (open, close) =
        (["<", mark, "parameter name=\""].concat(), ["</", mark, "parameter>"].concat());
    let mut pairs = behind.trim_start().strip_prefix('>')?;
    let mut arguments = Vec::new();
    while let Some(pair) = pairs.trim_start().strip_prefix(open.as_str()) {
        let (key, behind) = between(pair, "\"")?;
        let (attributes, behind) = between(behind, ">")?;
        let (value, behind) = between(behind, &close)?;
        let is_text = attributes.trim() == "string=\"true\"";
        let value = if is_text { Json::string(value.to_owned()) } else { value_of(value) };
        add(&mut arguments, key.to_owned(), value)?;
        pairs = behind;
    }
    named(name, arguments, rest)
}

/// `functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
fn kimi(text: &str) -> Option<Found<'_>> {
    let (inside, rest) = until(text, "<|tool_call_end|>");
    let (id, json) = between(inside, "<|tool_call_argument_begin|>")?;
    let id = id.trim();
    let name = id.strip_prefix("functions.").unwrap_or(id);
    let number = name.bytes().rposition(|byte| byte == b':').unwrap_or(name.len());
    with_json(name.get(..number)?, json, rest)
}

/// `name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, or with a kind before and the JSON in a fence.
fn deepseek(text: &str) -> Option<Found<'_>> {
    let (inside, rest) = until(text, "<｜tool▁call▁end｜>");
    let (first, second) = between(inside, "<｜tool▁sep｜>")?;
    if second.trim_start().starts_with('{') {
        return with_json(first, second, rest);
    }
    let (name, json) = between(second, "\n")?;
    with_json(name, unfenced(json.trim())?, rest)
}

/// `name … <|message|>{…}<|call|>`.
fn harmony(text: &str) -> Option<Found<'_>> {
    let (inside, rest) = until(text, "<|call|>");
    let (head, json) = between(inside, "<|message|>")?;
    let end = head.bytes().position(|byte| matches!(byte, b' ' | b'<')).unwrap_or(head.len());
    with_json(head.get(..end)?, json, rest)
}

/// Splits at a mark, which is missing where the response was cut or the server removed it.
fn until<'a>(text: &'a str, mark: &str) -> (&'a str, &'a str) {
    between(text, mark).unwrap_or((text, ""))
}

fn between<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let at = find(text, mark)?;
    Some((text.get(..at)?, text.get(at + mark.len()..)?))
}

type Parameters = Vec<(Cow<'static, str>, Json<'static>)>;

/// Adds a parameter; `None` if it occurs twice, so that it is not known which value is meant.
fn add(parameters: &mut Parameters, key: String, value: Json<'static>) -> Option<()> {
    if parameters.len() == PARAMETERS || parameters.iter().any(|(known, _)| *known == key) {
        return None;
    }
    parameters.push((key.into(), value));
    Some(())
}

fn named<'a>(name: &'a str, arguments: Parameters, rest: &'a str) -> Option<Found<'a>> {
    let is_name =
        !name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_whitespace() || byte == b'<');
    is_name.then_some(Found { name, arguments: Json::Object(arguments), rest })
}

fn with_json<'a>(name: &'a str, json: &str, rest: &'a str) -> Option<Found<'a>> {
    let arguments = as_object(Json::parse_str(json.trim()).ok()?.into_owned())?;
    Some(Found { name: name.trim(), arguments, rest })
}

/// Arguments are an object, or the text of one.
fn as_object(json: Json<'static>) -> Option<Json<'static>> {
    let json = match json.as_str() {
        Some(text) => Json::parse_str(text).ok()?.into_owned(),
        None => json,
    };
    matches!(json, Json::Object(_)).then_some(json)
}

/// A value without a type is JSON if it is JSON, otherwise a text.
fn value_of(text: &str) -> Json<'static> {
    match Json::parse_str(text.trim()) {
        Ok(json) => json.into_owned(),
        Err(_) => Json::string(text.to_owned()),
    }
}
