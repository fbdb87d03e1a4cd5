//! What providers refuse in the declarations of tools: each limit at its edge.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::string_slice)]

use turnlock::Dialect;
use turnlock::json::Json;
use turnlock::provider::{ToolDeclaration, diagnose_tools};

/// The findings as `code path`.
fn found(dialect: Dialect, strict: bool, tools: &[(&str, &str, &str)]) -> Vec<String> {
    let schemas: Vec<Json<'static>> =
        tools.iter().map(|tool| Json::parse_str(tool.2).unwrap().into_owned()).collect();
    let declared: Vec<_> = tools
        .iter()
        .zip(&schemas)
        .map(|((name, description, _), input_schema)| ToolDeclaration {
            name,
            description,
            input_schema,
        })
        .collect();
    let found = diagnose_tools(&declared, dialect, strict);
    assert!(found.iter().all(|one| !one.source.is_empty() && !one.message.is_empty()));
    found.iter().map(|one| format!("{} {}", one.code.name(), one.path)).collect()
}

const PLAIN: &str = r#"{"type":"object","properties":{}}"#;

#[test]
fn a_plain_tool_is_taken_everywhere() {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string","description":"Where."},
        "deep":{"type":"boolean"}},"required":["path"]}"#;
    for dialect in Dialect::ALL {
        let none: Vec<String> = Vec::new();
        assert_eq!(found(dialect, false, &[("list_files", "Lists.", schema)]), none, "{dialect:?}");
    }
}

#[test]
fn numbers_of_tools() {
    let names: Vec<String> = (0..129).map(|n| format!("tool_{n}")).collect();
    let tools: Vec<_> = names.iter().map(|name| (name.as_str(), "Does.", PLAIN)).collect();
    for (dialect, most) in
        [(Dialect::OpenAiChat, true), (Dialect::Groq, true), (Dialect::Anthropic, false)]
    {
        assert_eq!(found(dialect, false, &tools[..128]).len(), 0, "{dialect:?}");
        let expected: &[&str] = if most { &["TOOLS_TOO_MANY "] } else { &[] };
        assert_eq!(found(dialect, false, &tools), expected, "{dialect:?}");
    }
}

#[test]
fn names_and_descriptions() {
    let named = |dialect, name: &str| found(dialect, false, &[(name, "Does.", PLAIN)]);
    let refused = ["TOOL_NAME_FORMAT /0/name"];
    for (dialect, longest) in
        [(Dialect::OpenAiChat, 64), (Dialect::OpenAiResponses, 128), (Dialect::Gemini, 64)]
    {
        assert_eq!(named(dialect, &"a".repeat(longest)).len(), 0, "{dialect:?}");
        assert_eq!(named(dialect, &"a".repeat(longest + 1)), refused, "{dialect:?}");
        assert_eq!(named(dialect, "list files"), refused, "{dialect:?}");
        assert_eq!(named(dialect, ""), refused, "{dialect:?}");
    }
    assert_eq!(named(Dialect::Gemini, "a.b:c").len(), 0);
    assert_eq!(named(Dialect::Gemini, "1a"), refused);
    assert_eq!(named(Dialect::Anthropic, "a.b"), refused);
    let twice = [("list", "Does.", PLAIN), ("list", "Does.", PLAIN)];
    assert_eq!(found(Dialect::Cohere, false, &twice), ["TOOL_NAME_DUPLICATE /1/name"]);
    let long = "é".repeat(1025);
    let described = |dialect, text: &str| found(dialect, false, &[("list", text, PLAIN)]);
    let too_long = ["TOOL_DESCRIPTION_LENGTH /0/description"];
    assert_eq!(described(Dialect::OpenAiChat, &long), too_long);
    assert_eq!(described(Dialect::OpenAiChat, &"é".repeat(1024)).len(), 0);
    assert_eq!(described(Dialect::Anthropic, &long).len(), 0);
    assert_eq!(described(Dialect::Bedrock, ""), ["TOOL_DESCRIPTION_EMPTY /0/description"]);
}

#[test]
fn schemas() {
    let of = |dialect, schema: &str| found(dialect, false, &[("list", "Does.", schema)]);
    let union = r#"{"type":"object","anyOf":[{"required":["a"]}]}"#;
    let root = ["TOOL_SCHEMA_ROOT /0/inputSchema/anyOf"];
    assert_eq!(of(Dialect::OpenAiChat, union), root);
    assert_eq!(of(Dialect::OpenAiResponses, union), root);
    assert_eq!(of(Dialect::Anthropic, union), root);
    assert_eq!(of(Dialect::Ollama, union).len(), 0);
    assert_eq!(of(Dialect::Anthropic, "{}"), ["TOOL_SCHEMA_ROOT /0/inputSchema"]);
    let inner = r#"{"type":"object","properties":{"a/b":{"anyOf":[{"type":"string","pattern":"^x"},
        {"type":"array","items":{"type":"string","const":"y"}}]}},"$defs":{"one":{"not":{}}}}"#;
    let keywords = [
        "TOOL_SCHEMA_KEYWORD /0/inputSchema/properties/a~1b/anyOf/0/pattern",
        "TOOL_SCHEMA_KEYWORD /0/inputSchema/properties/a~1b/anyOf/1/items/const",
        "TOOL_SCHEMA_KEYWORD /0/inputSchema/$defs/one/not",
    ];
    assert_eq!(of(Dialect::Gemini, inner), keywords);
    let property = ["TOOL_SCHEMA_PROPERTY /0/inputSchema/properties/a~1b"];
    assert_eq!(of(Dialect::Anthropic, inner), property);
    assert_eq!(of(Dialect::OpenAiChat, inner).len(), 0);
    // It says nothing, so it is not sent; within, it is not known.
    let named = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
        "properties":{"$schema":{"$schema":"x"}}}"#;
    let within = ["TOOL_SCHEMA_KEYWORD /0/inputSchema/properties/$schema/$schema"];
    assert_eq!(of(Dialect::Gemini, named), within);
    // A property may have the name of a keyword.
    assert_eq!(of(Dialect::Gemini, r#"{"type":"object","properties":{"pattern":{}}}"#).len(), 0);
}

#[test]
fn strict_schemas() {
    let of = |schema: &str| found(Dialect::OpenAiChat, true, &[("list", "Does.", schema)]);
    let good = r#"{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],
        "additionalProperties":false}"#;
    assert_eq!(of(good).len(), 0);
    let open = r#"{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"allOf":[]}},
        "additionalProperties":true}},"required":["a"],"additionalProperties":false}"#;
    let expected = [
        "TOOL_SCHEMA_KEYWORD /0/inputSchema/properties/a/properties/b/allOf",
        "TOOL_STRICT_ADDITIONAL /0/inputSchema/properties/a",
        "TOOL_STRICT_REQUIRED /0/inputSchema/properties/a/properties/b",
    ];
    assert_eq!(of(open), expected);
    assert_eq!(found(Dialect::OpenAiChat, false, &[("list", "Does.", open)]).len(), 0);
    let one_of = good.replace(r#""type":["string","null"]"#, r#""oneOf":[{"type":"string"}]"#);
    assert_eq!(of(&one_of), ["TOOL_SCHEMA_KEYWORD /0/inputSchema/properties/a/oneOf"]);
    // Roots that are unions, once each.
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let union = format!(r#"{{"{keyword}":[{good}]}}"#);
        let path = format!("TOOL_SCHEMA_ROOT /0/inputSchema/{keyword}");
        assert_eq!(of(&union), ["TOOL_SCHEMA_ROOT /0/inputSchema", &path]);
    }
    let deep = |levels: usize| {
        let one = |inner: String, _| {
            format!(
                r#"{{"type":"object","properties":{{"a":{inner}}},"required":["a"],"additionalProperties":false}}"#
            )
        };
        (0..levels).fold(r#"{"type":"string"}"#.to_owned(), one)
    };
    assert_eq!(of(&deep(10)).len(), 0);
    let path = format!("TOOL_SCHEMA_DEPTH /0/inputSchema{}", "/properties/a".repeat(10));
    assert_eq!(of(&deep(11)), [path]);
    let values = |count: usize| {
        let list: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        good.replace(r#"["string","null"]"#, &format!(r#""integer","enum":[{}]"#, list.join(",")))
    };
    assert_eq!(of(&values(1000)).len(), 0);
    assert_eq!(of(&values(1001)), ["TOOL_SCHEMA_SIZE /0/inputSchema"]);
}

/// "array schema missing items", "object schema missing properties", and references that lead nowhere.
#[test]
fn what_a_schema_lacks() {
    let of = |dialect, schema: &str| found(dialect, false, &[("list", "Does.", schema)]);
    let bare = r#"{"type":"object"}"#;
    assert_eq!(of(Dialect::OpenAiChat, bare), ["TOOL_SCHEMA_ROOT /0/inputSchema"]);
    assert_eq!(of(Dialect::Anthropic, bare).len(), 0);
    let list = r##"{"type":"object","properties":{"a":{"type":["array","null"]},
        "b":{"type":"array","items":{"$ref":"#/$defs/Gone"}},"c":{"$ref":"#/properties/b/items"},
        "d":{"$ref":"https://example.com/s.json"},"e":{"$ref":"#"},"f":{"$ref":"#anchor"}}}"##;
    let refs = [
        "TOOL_SCHEMA_REF /0/inputSchema/properties/b/items/$ref",
        "TOOL_SCHEMA_REF /0/inputSchema/properties/d/$ref",
    ];
    assert_eq!(of(Dialect::Anthropic, list), refs);
    let all = [&["TOOL_SCHEMA_ITEMS /0/inputSchema/properties/a"], &refs[..]].concat();
    assert_eq!(of(Dialect::OpenAiResponses, list), all);
}
