//! Requests as models write them, and as nobody should.

use turnlock::planning::{ParsedRequest, Policy, RequestRejection, parse_tool_request};

use crate::common::Random;

fn parse(text: &str) -> ParsedRequest {
    parse_for(text, &["search", "quote"])
}

fn parse_for(text: &str, allow: &[&str]) -> ParsedRequest {
    let allow = allow.iter().map(|name| (*name).to_owned()).collect();
    let policy = Policy::default().allow(Some(allow)).max_reason_chars(20);
    parse_tool_request(text, &policy).unwrap()
}

fn call(name: &str, params: &str) -> String {
    format!(r#"{{"tool_name":"{name}","params":{params},"reason":"why"}}"#)
}

fn request(calls: &[String]) -> String {
    format!(r#"{{"tool_calls":[{}]}}"#, calls.join(","))
}

/// `name {params}` of what is taken; `index reason` of what is not.
fn short(parsed: &ParsedRequest) -> (Vec<String>, Vec<String>) {
    let taken = parsed.tool_calls.iter();
    let taken = taken.map(|call| format!("{} {}", call.tool_name, call.params.to_canonical()));
    let index =
        |index: Option<usize>| index.map_or_else(|| "-".to_owned(), |index| index.to_string());
    let rejected = parsed.rejected.iter();
    let rejected = rejected.map(|one| format!("{} {}", index(one.index), one.reason.name()));
    (taken.collect(), rejected.collect())
}

#[test]
fn a_request_is_found_plain_or_fenced() {
    let json = request(&[call("search", r#"{"q":"tides"}"#)]);
    let spread = json.replace(',', ",\n  ");
    for text in [
        json.clone(),
        format!("\u{feff}  {json}\r\n"),
        spread.clone(),
        format!("```json\n{json}\n```"),
        format!("```JSON\r\n{json}\r\n```\r\n"),
        format!("I need this first:\n\n```\n{spread}\n```\nThanks!"),
        format!("````json\n{json}\n````"),
        format!("```python\nprint(1)\n```\n```json\n{json}\n```"),
        format!("{json} is what I need."),
        format!("I need {spread}"),
        format!("Of {{a, b}} and {{\"a\":\"}}{{\"}} I need [1]: {json}, no more.}}"),
        format!("<think>\nMaybe {json}? Or {{\n</think>\n\n{json}"),
        format!("<think></think><think>{{}}</think>```json\n{json}\n```"),
        format!("Maybe {{\"tool_calls\":[]}}?</think>{json}"),
        format!("{json}, and again: {json}"),
        format!("So {{x is open, {json}"),
        format!("{{'tool_calls':[]}} is no JSON, {json} is."),
        json.replace("tool_calls", "toolCalls"),
        call("search", r#"{"q":"tides"}"#),
    ] {
        let parsed = parse(&text);
        assert!(parsed.valid, "{text}");
        assert_eq!(short(&parsed), (vec![r#"search {"q":"tides"}"#.to_owned()], vec![]), "{text}");
    }
}

#[test]
fn nothing_asked_is_a_valid_request() {
    for text in ["{}", r#"{"tool_calls":[]}"#, "", "  \n", "```json\n{}\n```"] {
        let parsed = parse(text);
        assert!(parsed.valid, "{text}");
        assert_eq!(short(&parsed), (vec![], vec![]), "{text}");
    }
}

#[test]
fn what_is_no_request_is_refused_with_its_reason() {
    let deep = format!("{}{}", r#"{"tool_calls":"#.repeat(10_000), "[".repeat(10_000));
    let huge = request(&[call("search", &format!(r#"{{"q":"{}"}}"#, "x".repeat(70_000)))]);
    let numbers = request(&[call("search", r#"{"q":1e999999}"#)]);
    let cases = [
        ("No tools needed.", "- no_json"),
        ("[]", "- not_an_object"),
        ("{", "- truncated"),
        ("No tools needed, {}.", "- no_json"),
        (r#"{"a":1} or {"b":2}"#, "- no_json"),
        (r#"{"tool_calls":[]} or {"tool_calls":[{}]}"#, "- ambiguous"),
        (r#"{"tool_calls":[]} or {"tool_calls":[{"tool_name""#, "- truncated"),
        (r#"I ask: {"tool_calls":[],}"#, "- syntax"),
        (r#"I ask: {"tool_calls":[],"tool_calls":[]}"#, "- syntax"),
        (r#"I ask: {"tool_calls":["#, "- truncated"),
        (r#"I ask: {"more":{"tool_calls":[]},}"#, "- syntax"),
        (r#"<think>{"tool_calls":[]}"#, "- truncated"),
        (r#"<think>{"tool_calls":[]}</think>No tools needed."#, "- no_json"),
        (r#"{"tool_calls":[],"tool_calls":[]}"#, "- syntax"),
        (r#"{"tool_calls":null}"#, "- invalid_field"),
        (r#"{"tool_calls":{}}"#, "- invalid_field"),
        ("```json\n{}\n```\n```json\n{\"a\":1}\n```", "- no_json"),
        ("```json\n{\"tool_calls\":[", "- truncated"),
        (&deep[..60_000], "- syntax"),
        (&huge, "- too_large"),
        (&numbers, "- syntax"),
        (
            "{\"tool_calls\":[{\"tool_name\":\"search\",\"params\":{\"a\":\"\\ud800\"},\"reason\":\"\"}]}",
            "- syntax",
        ),
        (
            r#"{"tool_calls":[{"tool_name":"search","params":{"a":1,"a":2},"reason":""}]}"#,
            "- syntax",
        ),
    ];
    for (text, wanted) in cases {
        let parsed = parse(text);
        assert_eq!((parsed.valid, parsed.tool_calls.len()), (false, 0), "{wanted}");
        assert_eq!(short(&parsed).1, [wanted], "{}", &text[..text.len().min(80)]);
    }
}

/// A call that cannot run is rejected alone; what makes no difference is noted.
#[test]
fn what_a_call_lacks_costs_that_call_and_what_does_not_matter_nothing() {
    let good = call("search", "{}");
    for (bad, wanted) in [
        (good.replace("{}", "[]"), "0 invalid_field"),
        (good.replace("{}", "\"[]\""), "0 invalid_field"),
        (good.replace("\"search\"", "null"), "0 invalid_field"),
        (good.replace("search", &"s".repeat(65)), "0 invalid_field"),
        (good.replace(r#","params":{}"#, ""), "0 missing_field"),
        (good.replace(r#""tool_name":"search","#, ""), "0 missing_field"),
        ("{}".to_owned(), "0 missing_field"),
        ("1".to_owned(), "0 not_an_object"),
    ] {
        let parsed = parse(&request(&[bad.clone(), good.clone()]));
        assert_eq!(
            short(&parsed),
            (vec!["search {}".to_owned()], vec![wanted.to_owned()]),
            "{bad}"
        );
        assert!(parsed.valid);
    }
    let noted = |parsed: &ParsedRequest| -> Vec<_> {
        let note = |one: &RequestRejection| {
            let index = one.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
            format!("{index} {} {}", one.reason.name(), one.detail.as_deref().unwrap_or_default())
        };
        parsed.notes.iter().map(note).collect()
    };
    for (odd, wanted) in [
        (good.replace("why\"", "why\",\"timeout\":1"), vec!["1 unknown_field timeout"]),
        (good.replace("\"why\"", "7"), vec!["1 invalid_field reason"]),
        (good.replace(r#","reason":"why""#, ""), vec!["1 missing_field reason"]),
        (
            good.replace(r#""reason":"why""#, r#""Reason":"why""#),
            vec!["1 unknown_field Reason", "1 missing_field reason"],
        ),
        (good.clone(), vec![]),
    ] {
        let parsed = parse(&request(&[call("quote", "{}"), odd.clone()]));
        assert_eq!(short(&parsed), (vec!["quote {}".to_owned(), "search {}".to_owned()], vec![]));
        assert_eq!(noted(&parsed), wanted, "{odd}");
    }
    let parsed = parse(r#"{"tool_calls":[],"note":1}"#);
    assert_eq!((parsed.valid, noted(&parsed)), (true, vec!["- unknown_field note".to_owned()]));
    // However many there are, a few are listed.
    let many: Vec<_> = (0..5_000).map(|n| format!(r#""m{n}":1"#)).collect();
    assert_eq!(parse(&format!("{{{}}}", many.join(","))).notes.len(), 128);
}

#[test]
fn the_policy_takes_calls_in_order() {
    let text = request(&[
        call("order", "{}"),
        call("search", r#"{"q":1,"n":2}"#),
        call("search", r#"{"n":2.0,"q":1e0}"#),
        call("Search", "{}"),
        call("sеarch", "{}"), // a Cyrillic е
        call("quote", "{}"),
        call("quote", r#"{"q":1}"#),
    ]);
    let parsed = parse(&text);
    let (taken, rejected) = short(&parsed);
    assert!(parsed.valid);
    assert_eq!(taken, [r#"search {"n":2,"q":1}"#, "quote {}"]);
    assert_eq!(
        rejected,
        ["0 not_allowed", "2 duplicate", "3 not_allowed", "4 not_allowed", "6 budget"]
    );
    assert_eq!(parse_for(&text, &[]).tool_calls, []);
    let error = parse_tool_request(&text, &Policy::default()).unwrap_err();
    assert_eq!(error.code(), "options.invalid");
}

#[test]
fn a_reason_is_cut_to_what_javascript_counts() {
    for (reason, wanted) in [
        ("x".repeat(20), "x".repeat(20)),
        ("x".repeat(21), format!("{}…", "x".repeat(19))),
        ("😀".repeat(11), format!("{}…", "😀".repeat(9))),
        ("é".repeat(30), format!("{}…", "é".repeat(19))),
    ] {
        let text = request(&[call("search", "{}").replace("why", &reason)]);
        let call = &parse(&text).tool_calls[0];
        assert_eq!(call.reason, wanted);
        assert!(call.reason.encode_utf16().count() <= 20);
    }
}

/// Whatever a model says: no panic, no call outside of the policy, and never a call of a text that
/// is no request.
#[test]
fn mutated_requests_stay_within_the_policy() {
    let seed = request(&[call("search", r#"{"q":[1,{"a":null}]}"#), call("order", "{}")]);
    let fenced = format!("text\n```json\n{seed}\n```\n");
    let wrapped = format!("<think>or {seed}</think>I ask {{so}}: {seed}.");
    let mut random = Random(0x5EED);
    let (mut valid, mut invalid) = (0, 0);
    for round in 0..60_000 {
        let mut bytes = [&seed, &fenced, &wrapped][round % 3].clone().into_bytes();
        for _ in 0..=random.below(3) {
            if bytes.is_empty() {
                break;
            }
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = br#"{}[]",:\`01eorsearch "#[random.below(21)],
                1 => drop(bytes.drain(at..(at + random.below(9)).min(bytes.len()))),
                2 => bytes.insert(at, br#"{}[]",:\`"#[random.below(9)]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let parsed = parse(&text);
        assert!(parsed.tool_calls.len() <= 2);
        assert!(parsed.valid || (parsed.tool_calls.is_empty() && !parsed.rejected.is_empty()));
        let rejected = |at: &usize| parsed.rejected.iter().any(|one| one.index == Some(*at));
        for (place, call) in (0..).filter(|at| !rejected(at)).zip(&parsed.tool_calls) {
            assert!(["search", "quote"].contains(&&*call.tool_name), "{text}");
            assert!(call.params.as_object().is_some());
            // Another reader of JSON sees the same call somewhere in the text.
            let seen = text.match_indices('{').any(|(at, _)| {
                let mut values = serde_json::Deserializer::from_str(&text[at..])
                    .into_iter::<serde_json::Value>();
                values.next().and_then(Result::ok).is_some_and(|other| {
                    let bare = if place == 0 { &other["tool_name"] } else { &other["none"] };
                    let listed = &other["tool_calls"][place]["tool_name"];
                    [bare, listed].into_iter().any(|name| *name == *call.tool_name)
                })
            });
            assert!(seen, "{text}");
        }
        if parsed.valid { valid += 1 } else { invalid += 1 }
    }
    assert!(valid > 1_000 && invalid > 1_000, "{valid} {invalid}");
}

#[test]
fn params_in_a_string_are_unwrapped_with_a_note() {
    let encoded = |params: &str| serde_json::Value::from(params).to_string();
    let parsed = parse(&request(&[
        call("search", &encoded(r#"{"q":"{}"}"#)),
        call("quote", &encoded("[1]")),
        call("quote", &encoded(&encoded("{}"))),
    ]));
    assert_eq!(short(&parsed).0, [r#"search {"q":"{}"}"#]);
    assert_eq!(short(&parsed).1, ["1 invalid_field", "2 invalid_field"]);
    let notes: Vec<_> = parsed.notes.iter().map(RequestRejection::to_json).collect();
    let wanted = r#"{"index":0,"tool_name":"search","reason":"deviation","detail":"params"}"#;
    assert_eq!(notes.iter().map(turnlock::json::Json::to_text).collect::<Vec<_>>(), [wanted]);
}
