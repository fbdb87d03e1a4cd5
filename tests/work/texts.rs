//! The work on what hosts pass on: declarations of tools, refusals of providers, histories to trim.

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::{TrimOptions, explain, trim};
use turnlock::json::Json;
use turnlock::provider::{ToolDeclaration, diagnose_tools};

use super::{Counted, HISTORIES, bounded, list, work};

type Tools = (&'static str, fn(usize) -> Value);

fn tool(name: String, schema: Value) -> Value {
    json!({ "name": name, "description": "", "inputSchema": schema })
}

fn named(n: usize, name: impl Fn(usize) -> String, value: &Value) -> Value {
    Value::Object((0..n).map(|at| (name(at), value.clone())).collect())
}

/// Declarations in which there is much to find. A finding has its whole path: names that are long, and
/// around many findings, are told with each of them.
const TOOLS: &[Tools] = &[
    ("many tools", |n| list(n, |at| tool(format!("a b{at}"), json!({ "oneOf": [], "x": 1 })))),
    ("tools of one name", |n| list(n, |_| tool("a b".into(), json!({ "type": "object" })))),
    ("many properties", |n| {
        let all = named(n, |at| format!("a b{at}"), &json!({ "type": "string" }));
        json!([tool("f".into(), json!({ "type": "object", "properties": all }))])
    }),
    ("many keywords", |n| json!([tool("f".into(), named(n, |at| format!("x{at}"), &json!(1)))])),
    ("many alternatives", |n| {
        json!([tool(
            "f".into(),
            json!({ "anyOf": list(n, |_| json!({ "type": "object", "properties": { "a b": {} } })) })
        )])
    }),
    ("many values", |n| {
        json!([tool(
            "f".into(),
            json!({ "properties": { "a": { "enum": list(n, |at| json!(at)) } } })
        )])
    }),
    ("nested schemas", |n| {
        let deep = (0..50).fold(json!({}), |inner, _| json!({ "properties": { "a b": inner } }));
        list(n / 50, |at| tool(at.to_string(), deep.clone()))
    }),
    (
        "a long description",
        |n| json!([{ "name": "f", "description": "ab ".repeat(8 * n), "inputSchema": {} }]),
    ),
    ("a long name", |n| json!([tool("a b".repeat(8 * n), json!({}))])),
];

/// Units for each byte of a declaration: what is found has a path, words and a source.
const PER_BYTE_OF_TOOLS: usize = 120;

#[test]
fn the_work_of_declared_tools_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    for (name, make) in TOOLS {
        for (dialect, strict) in
            Dialect::ALL.into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)])
        {
            let measured = |n: usize| {
                let text = make(n).to_string();
                let tools = Json::parse_str(&text).unwrap().into_owned();
                let string = |tool: &Json<'_>, name| {
                    tool.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
                };
                let all: Vec<_> = tools.as_array().unwrap().iter().collect();
                let texts: Vec<_> = all
                    .iter()
                    .map(|tool| (string(tool, "name"), string(tool, "description")))
                    .collect();
                let declared: Vec<_> = all
                    .iter()
                    .zip(&texts)
                    .map(|(tool, (name, description))| ToolDeclaration {
                        name,
                        description,
                        input_schema: tool.get("inputSchema").unwrap(),
                    })
                    .collect();
                let done = work(|| diagnose_tools(&declared, dialect, strict));
                Counted { done, given: text.len(), told: 0 }
            };
            let name =
                format!("{name} for {}{}", dialect.name(), if strict { ", strict" } else { "" });
            bounded(&name, PER_BYTE_OF_TOOLS, &measured, 250, &mut broken);
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Units for each byte of a refusal: it is copied once, in small letters.
const PER_BYTE_OF_REFUSALS: usize = 2;

#[test]
fn the_work_of_explaining_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    for piece in [
        "a",
        "Invalid ",
        "unexpected role 'user' after role 'tool' ",
        "duplicate tool call id in assistant message, duplicate tool call id ",
        "cannot unmarshal string into ",
        "日本",
    ] {
        let measured = |n: usize| {
            let text = piece.repeat(n);
            Counted { done: work(|| explain(&text)), given: text.len(), told: 0 }
        };
        let name = format!("a refusal of many {piece:?}");
        bounded(&name, PER_BYTE_OF_REFUSALS, &measured, 2_000, &mut broken);
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Units for each byte of a history that is trimmed: it is read, measured and measured again.
const PER_BYTE_OF_HISTORIES: usize = 1000;

/// Histories of many turns, beyond those of [`HISTORIES`].
const TURNS: &[Tools] = &[
    ("turns with answers", |n| {
        let role = |at| if at % 2 == 0 { "user" } else { "assistant" };
        list(n, |at| json!({ "role": role(at), "content": "a" }))
    }),
    ("turns without results", |n| {
        list(n, |at| match at % 2 {
            0 => json!({ "role": "user", "content": "a" }),
            _ => {
                let function = json!({ "name": "f", "arguments": "{}" });
                let call = json!({ "id": format!("c{at}"), "function": function });
                json!({ "role": "assistant", "tool_calls": [call] })
            }
        })
    }),
];

#[test]
fn the_work_of_trimming_is_bounded_and_linear() {
    let _alone = super::alone();
    let mut broken = Vec::new();
    for (name, make) in HISTORIES.iter().chain(TURNS) {
        for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini, Dialect::Mistral]
        {
            for most in [1, 100] {
                let measured = |n: usize| {
                    let text = make(n).to_string();
                    let Json::Array(history) = Json::parse_str(&text).unwrap() else {
                        panic!("a history is a list")
                    };
                    let options = TrimOptions::new(dialect).max_bytes(most);
                    Counted { done: work(|| trim(history, options)), given: text.len(), told: 0 }
                };
                let name = format!("{name} for {} in {most} bytes", dialect.name());
                bounded(&name, PER_BYTE_OF_HISTORIES, &measured, 250, &mut broken);
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
