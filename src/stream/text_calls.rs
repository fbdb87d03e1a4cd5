//! Tool calls that a model writes into its text, in the markup that it was trained on, because the
//! server of the model does not parse it.

use std::borrow::Cow;

use super::delta::{Delta, FinishReason};
use crate::json::Json;
use crate::json::table::names;
use crate::text::{find, unfenced};

names! {
    /// What becomes of tool calls that a model writes into its text.
    pub enum TextToolCalls as "TextToolCalls", "`report` or `run`" {
        /// They stay text. The finish reason of the response is `text_tool_call`, and a trace event
        /// names the tools.
        Report "report",
        /// Calls of declared tools are taken out of the text and are judged as other calls. A call of
        /// a tool that is not read-only needs an approval.
        Run "run",
    }
}

/// With what the id of a call begins that was found in a text.
pub(crate) const TEXT_CALL: &str = "text_call_";

/// How many parameters a call in a text may have.
const PARAMETERS: usize = 256;

/// A call that was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TextCall {
    pub(crate) name: String,
    pub(crate) arguments: Json<'static>,
}

/// Markup with a call.
struct Found<'a> {
    name: &'a str,
    arguments: Json<'static>,
    /// The text behind it.
    rest: &'a str,
}

/// A format of calls in text: how it begins, and its reader, which gets the text behind that.
struct Format {
    begin: &'static str,
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
const FORMATS: &[Format] = &[
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
const WRAPPERS: &[&str] = &[
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

/// How many marks of a text are read: each may be read up to the end of the text.
const MARKS: usize = 256;

/// Finds the calls in the text of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextCalls {
    /// Whether calls are taken out of the text. Then text is held back from the first mark on.
    runs: bool,
    /// A call that is not text has begun.
    has_calls: bool,
    /// The text that was passed on.
    shown: String,
    /// Text from a mark on, or what may be the beginning of one.
    held: String,
}

impl TextCalls {
    pub(crate) fn new(runs: bool) -> Self {
        Self { runs, has_calls: false, shown: String::new(), held: String::new() }
    }

    /// Returns the deltas of a part of a response: without text that may be of a call, and at its
    /// finish with the calls of its text, or with the reason `text_tool_call`.
    pub(crate) fn read(
        &mut self,
        deltas: Vec<Delta>,
        is_tool: &dyn Fn(&str) -> bool,
    ) -> Vec<Delta> {
        let mut out = Vec::with_capacity(deltas.len());
        for delta in deltas {
            match delta {
                Delta::Text(text) if self.runs && !self.has_calls => self.hold(&text, &mut out),
                Delta::Text(text) => {
                    self.shown.push_str(&text);
                    out.push(Delta::Text(text));
                }
                Delta::ToolCallStart { .. } => {
                    self.has_calls = true;
                    push_text(std::mem::take(&mut self.held), &mut out);
                    out.push(delta);
                }
                Delta::Finish { reason, raw } => {
                    let reason = self.finish(reason, is_tool, &mut out);
                    out.push(Delta::Finish { reason, raw });
                }
                _ => out.push(delta),
            }
        }
        out
    }

    fn hold(&mut self, text: &str, out: &mut Vec<Delta>) {
        self.held.push_str(text);
        let rest = self.held.split_off(self.first_mark());
        let text = std::mem::replace(&mut self.held, rest);
        self.shown.push_str(&text);
        push_text(text, out);
    }

    /// Returns where the first mark begins in what is held, or what may be the beginning of one.
    fn first_mark(&self) -> usize {
        let may_begin = |at: usize| {
            let rest = self.held.get(at..).unwrap_or_default();
            marks().any(|mark| rest.starts_with(mark) || mark.starts_with(rest))
        };
        let mut starts = self.held.char_indices().filter(|(_, c)| *c == '<').map(|(at, _)| at);
        starts.find(|at| may_begin(*at)).unwrap_or(self.held.len())
    }

    /// Emits what is held, as text and calls. Returns the reason of the finish.
    fn finish(
        &mut self,
        reason: FinishReason,
        is_tool: &dyn Fn(&str) -> bool,
        out: &mut Vec<Delta>,
    ) -> FinishReason {
        let held = std::mem::take(&mut self.held);
        // A response whose end is not known to be its normal one has no calls.
        let is_normal = matches!(reason, FinishReason::Stop | FinishReason::ToolCalls);
        if self.has_calls || !is_normal {
            push_text(held, out);
            return reason;
        }
        if !self.runs {
            let has_calls = !calls_in(&self.shown, is_tool).is_empty();
            return if has_calls { FinishReason::TextToolCall } else { reason };
        }
        let (text, calls) = split(&self.shown, &held, is_tool);
        if calls.is_empty() {
            push_text(held, out);
            return reason;
        }
        push_text(text, out);
        for (index, TextCall { name, arguments }) in (0..).zip(calls) {
            out.push(Delta::ToolCallStart { index, id: format!("{TEXT_CALL}{index}"), name });
            out.push(Delta::ToolCallArguments { index, text: arguments.to_text() });
            out.push(Delta::ToolCallEnd { index });
        }
        FinishReason::ToolCalls
    }
}

fn push_text(text: String, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(Delta::Text(text));
    }
}

/// Returns the calls in a whole text.
pub(crate) fn calls_in(text: &str, is_tool: &dyn Fn(&str) -> bool) -> Vec<TextCall> {
    if text.as_bytes().contains(&b'<') { split("", text, is_tool).1 } else { Vec::new() }
}

/// Separates a text that follows `before` into its text and its calls. Markup in code and quotations
/// is text, and so is a call of another name.
fn split(before: &str, text: &str, is_tool: &dyn Fn(&str) -> bool) -> (String, Vec<TextCall>) {
    let mut place = Quotation::default();
    before.chars().for_each(|c| place.read(c));
    let (mut said, mut calls) = (String::new(), Vec::new());
    let (mut rest, mut marks) = (text, 0);
    while let Some(first) = rest.chars().next() {
        if first == '<' && marks < MARKS && is_mark(rest) && !place.quotes_mark() {
            marks += 1;
            if let Some(found) = read(rest).filter(|found| is_tool(found.name)) {
                let Found { name, arguments, rest: behind } = found;
                calls.push(TextCall { name: name.to_owned(), arguments });
                rest = behind;
                continue;
            }
            if let Some(behind) = WRAPPERS.iter().find_map(|mark| rest.strip_prefix(mark)) {
                rest = behind;
                continue;
            }
        }
        place.read(first);
        said.push(first);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    (said.trim_end().to_owned(), calls)
}

fn marks() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.begin).chain(WRAPPERS.iter().copied())
}

fn is_mark(text: &str) -> bool {
    marks().any(|mark| text.starts_with(mark))
}

fn read(text: &str) -> Option<Found<'_>> {
    FORMATS.iter().find_map(|format| (format.read)(text.strip_prefix(format.begin)?))
}

/// Whether a place in Markdown is inside of code or a quotation.
#[derive(Debug, Default)]
struct Quotation {
    /// In a block between fences.
    fenced: bool,
    /// The first three characters of the line that are not white space.
    head: String,
    /// Whether the number of backticks in the line is odd.
    in_code: bool,
    last: Option<char>,
    /// A mark of this paragraph was quoted, and so is what follows it.
    follows_mark: bool,
}

impl Quotation {
    fn read(&mut self, c: char) {
        if c == '\n' {
            let fenced = self.fenced ^ self.is_fence();
            let follows_mark = self.follows_mark && !self.head.is_empty();
            *self = Self { fenced, follows_mark, ..Self::default() };
            return;
        }
        self.in_code ^= c == '`';
        if !c.is_whitespace() && self.head.chars().count() < 3 {
            self.head.push(c);
        }
        self.last = Some(c);
    }

    fn is_fence(&self) -> bool {
        self.head == "```" || self.head == "~~~"
    }

    /// Whether a mark that begins here is quoted.
    fn quotes_mark(&mut self) -> bool {
        let follows_quote = self.last.is_some_and(|c| matches!(c, '"' | '\'' | '“' | '‘' | '«'));
        self.follows_mark |= follows_quote || self.in_code || self.head.starts_with('>');
        self.fenced || self.is_fence() || self.follows_mark
    }
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

#[cfg(test)]
mod tests;
