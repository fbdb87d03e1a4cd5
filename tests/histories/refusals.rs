//! What providers said when they refused a history, and the codes that explain it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use turnlock::history::{Code, explain};

use crate::common::data;

/// The data tell the rule in words; these are the codes that say the same.
fn wanted(rule: &str) -> &'static [&'static str] {
    let table: [(&str, &[&str]); 8] = [
        ("answered", &["TOOL_CALL_UNANSWERED", "TOOL_RESULT_NOT_ADJACENT"]),
        ("same", &["TOOL_CALL_UNANSWERED", "TOOL_RESULT_NOT_ADJACENT"]),
        ("two function_calls", &["TOOL_CALL_UNANSWERED", "TOOL_RESULT_NOT_ADJACENT"]),
        ("orphan", &["TOOL_RESULT_ORPHAN"]),
        ("pairs outputs more strictly", &["TOOL_RESULT_ORPHAN"]),
        ("reasoning_content", &["REASONING_REQUIRED"]),
        ("alternation", &["ROLE_ALTERNATION"]),
        ("reasoning item must be followed", &["REASONING_ITEM_UNPAIRED"]),
    ];
    table.iter().find(|(words, _)| rule.contains(words)).unwrap_or_else(|| panic!("{rule}")).1
}

#[test]
fn refusals_map_to_the_codes_that_explain_them() {
    let path = data("histories-provider-verdicts/error-messages.jsonl");
    let mut seen = 0;
    for line in fs::read_to_string(path).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let (message, rule) = (entry["message"].as_str().unwrap(), entry["rule"].as_str().unwrap());
        let codes: Vec<_> = explain(message).into_iter().map(Code::name).collect();
        assert_eq!(codes, wanted(rule), "{message}");
        seen += 1;
    }
    assert_eq!(seen, 12);
}

/// The verbatim errors of providers, with the code in their last column.
#[test]
fn verbatim_errors_are_explained() {
    let path = data("provider-errors/errors.md");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| E"));
    let mut seen = 0;
    let mut wrong = Vec::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let (number, codes) = (cells[0], cells[cells.len() - 1]);
        let errors = cells[2..cells.len() - 2].join(" | ").replace("``", "`");
        // Transport, what providers do without a word, and an old API.
        if codes.starts_with('(') || errors.starts_with('(') || number.contains("E100") {
            continue;
        }
        let codes: Vec<&str> = codes
            .split([' ', '/', '(', ')', '.', '|'])
            .map(|code| code.trim_start_matches(['…', '_']).trim_end_matches(['*', '_']))
            .filter(|code| {
                code.len() > 3 && code.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            })
            .collect();
        // A row may hold the words of several errors, each in backticks; names in an error stand
        // in backticks too, so the whole row is one text as well.
        let got: Vec<_> =
            errors.split("` / `").flat_map(|part| part.split("`; `")).flat_map(explain).collect();
        let whole = explain(&errors);
        seen += 1;
        let named = |code: &&str| got.iter().chain(&whole).any(|one| one.name().contains(*code));
        if !codes.iter().any(named) {
            wrong.push(format!("{number} {codes:?} {got:?} {errors}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 60, "{seen}");
}

/// Texts of this year, with their source and date: the codes are exactly these.
#[test]
fn refusals_of_this_year_are_explained() {
    let text = fs::read_to_string(data("provider-errors/refusals.json")).unwrap();
    let Value::Array(rows) = serde_json::from_str(&text).unwrap() else { panic!("a list") };
    let mut wrong = Vec::new();
    let (mut providers, mut explained) = (BTreeSet::new(), 0);
    for row in &rows {
        for name in ["provider", "text", "source", "date"] {
            assert!(row[name].as_str().is_some_and(|text| !text.is_empty()), "{row}");
        }
        let names = row["codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap());
        let codes: BTreeSet<_> = names.collect();
        let found: BTreeSet<_> =
            explain(row["text"].as_str().unwrap()).into_iter().map(Code::name).collect();
        if found != codes {
            wrong.push(format!("{} {}: {found:?}", row["source"], row["text"]));
        }
        providers.insert(row["provider"].as_str());
        explained += usize::from(!codes.is_empty());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(explained >= 60 && providers.len() >= 8, "{explained} {providers:?}");
}
