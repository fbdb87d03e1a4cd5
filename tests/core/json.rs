//! Canonical JSON against what others wrote: RFC 8785's vectors, and JSONTestSuite.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

use crate::common;
use std::fs;

use common::{Random, data};
use serde_json::Value;
use turnlock::json::{Json, JsonError};
use turnlock::{Signature, canonicalize, limits};

#[test]
fn rfc_8785_documents() {
    let folder = data("jcs");
    let mut count = 0;
    for entry in fs::read_dir(folder.join("input")).unwrap() {
        let path = entry.unwrap().path();
        let want =
            fs::read_to_string(folder.join("output").join(path.file_name().unwrap())).unwrap();
        let got = canonicalize(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(got, want, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 6);
}

/// The number as a literal that is no plain integer, so that the deviation does not apply.
fn number(double: f64) -> Result<String, JsonError> {
    canonicalize(format!("{double:e}").as_bytes())
}

#[test]
fn ten_thousand_numbers() {
    let text = fs::read_to_string(data("jcs/es6-numbers.first-10000.txt")).unwrap();
    let mut count = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (bits, want) = line.split_once(',').unwrap();
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        assert_eq!(number(double).as_deref(), Ok(want), "{bits}");
        count += 1;
    }
    assert_eq!(count, 10_000);
}

#[test]
fn appendix_b() {
    let text = fs::read_to_string(data("jcs/rfc8785-appendix-b.json")).unwrap();
    let samples: Value = serde_json::from_str(&text).unwrap();
    let list = samples.as_array().or_else(|| samples["samples"].as_array()).unwrap();
    let mut good = 0;
    for sample in list {
        let hex =
            ["ieee754_hex", "hex", "bits"].iter().find_map(|key| sample[key].as_str()).unwrap();
        let double = f64::from_bits(u64::from_str_radix(hex, 16).unwrap());
        let want = ["json", "expected", "text"].iter().find_map(|key| sample[key].as_str());
        match want.filter(|_| double.is_finite()) {
            Some(want) => {
                assert_eq!(number(double).as_deref(), Ok(want), "{hex}");
                good += 1;
            }
            // NaN and infinity have no literal.
            None => assert!(number(double).is_err(), "{hex}"),
        }
    }
    assert!(good >= 24, "only {good} samples were looked at");
}

/// Accepted by JSON's grammar, refused by I-JSON (RFC 7493 §2.1 and §2.3), and so by us.
const REFUSED_BY_RULE: [(&str, &str); 2] = [
    ("y_object_duplicated_key.json", "json.duplicate_key"),
    ("y_object_duplicated_key_and_value.json", "json.duplicate_key"),
];

#[test]
fn json_test_suite() {
    let mut counts = [0; 3];
    for entry in fs::read_dir(data("json-parsing/test_parsing")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let got = canonicalize(&fs::read(&path).unwrap());
        match name.as_bytes()[0] {
            b'n' => {
                let error = got.expect_err(&name);
                assert!(error.code().starts_with("json."), "{name}");
                counts[0] += 1;
            }
            b'y' => {
                match REFUSED_BY_RULE.iter().find(|(refused, _)| *refused == name) {
                    Some((_, code)) => assert_eq!(got.unwrap_err().code(), *code, "{name}"),
                    None => idempotent(&name, &got.expect(&name)),
                }
                counts[1] += 1;
            }
            _ => {
                // Either way; what is accepted keeps its meaning.
                if let Ok(text) = got {
                    idempotent(&name, &text);
                }
                counts[2] += 1;
            }
        }
    }
    assert_eq!(counts, [188, 95, 35]);
}

fn idempotent(name: &str, text: &str) {
    assert_eq!(canonicalize(text.as_bytes()).as_deref(), Ok(text), "{name}");
}

#[test]
fn json_test_suite_transform() {
    let mut count = 0;
    for entry in fs::read_dir(data("json-parsing/test_transform")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match canonicalize(&fs::read(&path).unwrap()) {
            Ok(text) => {
                assert!(!name.contains("same_key"), "{name}: one of two values would be lost");
                idempotent(&name, &text);
            }
            Err(error) => assert!(error.code().starts_with("json."), "{name}"),
        }
        count += 1;
    }
    assert_eq!(count, 22);
}

#[test]
fn limits_are_errors() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(canonicalize(nested(128).as_bytes()).is_ok());
    assert_eq!(canonicalize(nested(129).as_bytes()).unwrap_err().code(), "json.too_deep");
    assert_eq!(canonicalize("[".repeat(1_000_000).as_bytes()).unwrap_err().code(), "json.too_deep");
    // What a host writes about such values has room for what is around them.
    let deep = |levels: u32, host: bool| {
        let text = nested(levels as usize);
        let read = if host { Json::parse_host } else { Json::parse_lossy };
        read(text.as_bytes(), text.len()).map(|_| ()).map_err(|error| error.code())
    };
    let all = limits::JSON_DEPTH + limits::HOST_LEVELS;
    assert_eq!((deep(all, true), deep(all + 1, true)), (Ok(()), Err("json.too_deep")));
    let own = limits::JSON_DEPTH;
    assert_eq!((deep(own, false), deep(own + 1, false)), (Ok(()), Err("json.too_deep")));
    let large = vec![b' '; limits::JSON_BYTES + 1];
    assert_eq!(canonicalize(&large).unwrap_err().code(), "json.too_large");
    assert_eq!(canonicalize(b"1e400").unwrap_err().code(), "json.number_range");
    // Many keys, two of them equal, far apart: found without looking at every pair.
    let keys: String = (0..100_000).map(|n| format!("\"k{n}\":0,")).collect();
    let text = format!("{{{keys}\"k7\":1}}");
    assert_eq!(canonicalize(text.as_bytes()).unwrap_err().code(), "json.duplicate_key");
}

/// A value, written in one of the ways in which it can be written.
fn write(value: &Value, random: &mut Random, out: &mut String) {
    let space = |random: &mut Random, out: &mut String| {
        out.push_str(["", "", " ", "\n\t", "\r\n  "][random.below(5)]);
    };
    space(random, out);
    match value {
        Value::Object(members) => {
            let mut order: Vec<_> = members.iter().collect();
            for i in (1..order.len()).rev() {
                order.swap(i, random.below(i + 1));
            }
            out.push('{');
            for (i, (key, item)) in order.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                space(random, out);
                out.push_str(&string(key, random));
                space(random, out);
                out.push(':');
                write(item, random, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, random, out);
            }
            out.push(']');
        }
        Value::Number(number) => {
            let n = number.as_i64().unwrap();
            out.push_str(&match random.below(4) {
                0 => format!("{n}.0"),
                1 => format!("{n}e0"),
                2 => format!("{n}0E-1"),
                _ => n.to_string(),
            });
        }
        Value::String(text) => out.push_str(&string(text, random)),
        other => out.push_str(&other.to_string()),
    }
    space(random, out);
}

fn string(text: &str, random: &mut Random) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let mut units = [0; 2];
        match random.below(3) {
            0 => {
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
            _ if c == '/' => out.push_str("\\/"),
            _ => out.push_str(Value::from(c.to_string()).to_string().trim_matches('"')),
        }
    }
    out.push('"');
    out
}

fn value(random: &mut Random, depth: usize) -> Value {
    let text = |random: &mut Random| {
        (0..random.below(5))
            .map(|_| ['a', 'é', '/', '😀', '\n', '\u{fb33}', 'z'][random.below(7)])
            .collect::<String>()
    };
    match random.below(if depth > 3 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => Value::from(i64::try_from(random.next() % 2_000_000).unwrap() - 1_000_000),
        3 => Value::from(text(random)),
        4 => (0..random.below(4)).map(|_| value(random, depth + 1)).collect(),
        _ => (0..random.below(5)).map(|_| (text(random), value(random, depth + 1))).collect(),
    }
}

#[test]
fn spelling_never_changes_a_signature() {
    let mut random = Random(0x5EED);
    let mut distinct = std::collections::BTreeSet::new();
    for _ in 0..3_000 {
        let value = value(&mut random, 0);
        let plain = value.to_string();
        let signature = Signature::of_text("t", None, plain.as_bytes(), None).unwrap();
        for _ in 0..3 {
            let mut text = String::new();
            write(&value, &mut random, &mut text);
            let other = Signature::of_text("t", None, text.as_bytes(), None).expect(&text);
            assert_eq!(other, signature, "{text}");
        }
        // And what is read is what was written.
        let read = Json::parse_str(&plain).unwrap().to_text();
        assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), value);
        distinct.insert((canonicalize(plain.as_bytes()).unwrap(), signature.as_str().to_owned()));
    }
    let signatures: std::collections::BTreeSet<_> = distinct.iter().map(|(_, s)| s).collect();
    assert_eq!(signatures.len(), distinct.len(), "two values share a signature");
    assert!(distinct.len() > 1_000);
}

#[test]
fn values_are_made_and_taken_apart() {
    let json = Json::object([
        ("whole", vec![1, -2].into()),
        ("large", u64::MAX.into()),
        ("real", 0.5.into()),
        ("nan", f64::NAN.into()),
        ("none", None::<bool>.into()),
        ("texts", vec![Some("a"), None].into()),
        ("owned", String::from("b").into()),
    ]);
    let text = r#"{"whole":[1,-2],"large":18446744073709551615,"real":0.5,"nan":null,"none":null,"texts":["a",null],"owned":"b"}"#;
    assert_eq!(json.to_string(), text);
    assert_eq!(text.parse(), Ok(json.clone()));
    assert_eq!(r#"{"a":1,"a":2}"#.parse::<Json<'_>>().unwrap_err().code(), "json.duplicate_key");

    assert_eq!(json.get("whole").and_then(|list| list.at(1)), Some(&Json::from(-2)));
    assert_eq!(json.at(0), None);
    assert_eq!(json.members().len(), 7);
    assert_eq!(json.members().next_back(), Some(("owned", &"b".into())));
    let texts = json.get("texts").unwrap();
    assert_eq!(texts.items().map(Json::as_str).collect::<Vec<_>>(), [Some("a"), None]);
    assert_eq!(texts.members().len() + json.items().len(), 0);
}
