//! Checks a prompt of a pass: it must say that tool results and telemetry are optional, have no draft
//! section, and refer the model to no file.

use crate::json::table::{names, record};
use crate::text::holds;

names! {
    /// What is wrong with a prompt.
    pub enum LintCode as "PromptLintCode", "a code of a lint" {
        /// Tool results are not mentioned.
        ToolResultsMissing "prompt.tool_results_missing",
        /// Tool results are not mentioned as optional.
        ToolResultsNotOptional "prompt.tool_results_not_optional",
        /// A part of the context that an input may lack is not mentioned as optional.
        TelemetryNotOptional "prompt.telemetry_not_optional",
        /// A section is a draft.
        Draft "prompt.draft",
        /// The prompt refers to a file.
        FilePath "prompt.file_path",
    }
}

impl LintCode {
    /// What to do about it.
    fn advice(self) -> &'static str {
        match self {
            Self::ToolResultsMissing => {
                "say that tool results are in `global_context.tool_results`, if there are any"
            }
            Self::ToolResultsNotOptional => {
                "say beside it that tool results are optional: most plans are made without any"
            }
            Self::TelemetryNotOptional => {
                "say beside it to use it only if it is present: many inputs lack it, and a model makes \
                 up what it is told to use"
            }
            Self::Draft => "finish the section or leave it out: a model takes a draft for a rule",
            Self::FilePath => {
                "say what stands in the file: a model cannot read it, and may make it up"
            }
        }
    }
}

record! {
    /// A defect of a prompt.
    pub struct Lint as "PromptLint" {
        /// What is wrong.
        code "code": LintCode;
        /// The line, from 1.
        line "line": usize;
        /// The words that it is about; empty if something is missing.
        found "found": String;
        /// What to do about it.
        message "message": &'static str;
    }
}

impl Eq for Lint {}

impl Lint {
    fn new(code: LintCode, line: usize, found: &str) -> Self {
        Self { code, line, found: found.to_owned(), message: code.advice() }
    }
}

/// Words that make a mention of results optional, in the same paragraph.
const OPTIONAL: [&str; 13] = [
    "optional",
    "if any",
    "if there",
    "if present",
    "if available",
    "if provided",
    "if given",
    "when given",
    "when present",
    "when available",
    "when provided",
    "where present",
    "where there",
];

/// Words that, before one of [`PRESENCE`] in the same clause, make a mention optional.
const CONDITION: [&str; 7] = ["if", "when", "where", "whenever", "unless", "may", "might"];
const PRESENCE: [&str; 10] = [
    "present",
    "available",
    "provided",
    "included",
    "there",
    "exist",
    "exists",
    "missing",
    "absent",
    "lacking",
];
/// The maximum number of words from a condition to the presence.
///
/// Not a limit.
const CLAUSE: usize = 8;

/// Members of `global_context` that are telemetry by their names, even where a prompt does not say
/// that they stand in it.
const TELEMETRY: [&str; 4] =
    ["market_structure", "factor_exposures", "rpr_comparison", "quality_signals"];

/// File extensions. Extensions like `js` are not listed: without a folder they are more often part
/// of a word (`Node.js`) than of a file name.
const ENDS: [&str; 21] = [
    "txt", "md", "mdx", "rst", "py", "rs", "yaml", "yml", "toml", "csv", "tsv", "json", "jsonl",
    "ipynb", "pdf", "docx", "xlsx", "log", "ini", "cfg", "parquet",
];

/// Returns all defects of a prompt, by line; empty if there are none. For prompts of both passes.
/// Only English words are recognized; see DESIGN.md for the rules.
#[must_use]
pub fn lint_prompt(template: &str) -> Vec<Lint> {
    let mut lints = Vec::new();
    let mut results: Option<Mention> = None;
    let mut telemetry: Vec<Mention> = Vec::new();
    let mut all_optional = false;
    for paragraph in paragraphs(template) {
        let lines: Vec<&str> = paragraph.iter().map(|(_, line)| *line).collect();
        let whole = lines.join(" ").to_ascii_lowercase();
        let is_optional = says_optional(&whole);
        all_optional |= is_optional && (holds(&whole, "telemetry") || names_context(&whole));
        // Lines without letters, such as fences, mention nothing.
        let has_letters =
            |(_, text): &(usize, &str)| text.bytes().any(|byte| byte.is_ascii_alphabetic());
        for (line, text) in paragraph.into_iter().filter(has_letters) {
            let lower = text.to_ascii_lowercase();
            if holds(&lower, "tool_results") || holds(&lower, "tool results") {
                let is_optional = is_optional || holds(&whole, "may be");
                match &mut results {
                    Some(one) => one.is_optional |= is_optional,
                    None => results = Some(Mention::new(line, text.trim(), is_optional)),
                }
            }
            for name in telemetry_of(&lower) {
                if let Some(one) = telemetry.iter_mut().find(|one| one.found == name) {
                    one.is_optional |= is_optional;
                } else if telemetry.len() < NAMES {
                    telemetry.push(Mention::new(line, name, is_optional));
                }
            }
            if let Some(found) = draft(text) {
                lints.push(Lint::new(LintCode::Draft, line, found));
            }
            for path in text.split(splits_words).map(bare).filter(|word| is_path(word)) {
                lints.push(Lint::new(LintCode::FilePath, line, path));
            }
        }
    }
    let mut insert = |code, line, found: &str| {
        let before = lints.iter().take_while(|lint: &&Lint| lint.line < line).count();
        lints.insert(before, Lint::new(code, line, found));
    };
    // What is inserted last comes first of its line.
    for one in telemetry.iter().rev().filter(|one| !one.is_optional && !all_optional) {
        insert(LintCode::TelemetryNotOptional, one.line, &one.found);
    }
    match results {
        None => insert(LintCode::ToolResultsMissing, 1, ""),
        Some(one) if !one.is_optional => {
            insert(LintCode::ToolResultsNotOptional, one.line, &one.found);
        }
        Some(_) => {}
    }
    lints
}

/// The maximum number of names of telemetry that a lint looks at.
///
/// Limit | telemetry that `lintPrompt` looks at | names | further ones are not looked at
const NAMES: usize = 64;

/// Where a part of the input is mentioned first, and whether any paragraph says that it is optional.
#[derive(Debug)]
struct Mention {
    line: usize,
    found: String,
    is_optional: bool,
}

impl Mention {
    fn new(line: usize, found: &str, is_optional: bool) -> Self {
        Self { line, found: found.to_owned(), is_optional }
    }
}

/// The paragraphs of a text, each line with its number. What a heading or a colon introduces belongs
/// to it.
fn paragraphs(text: &str) -> Vec<Vec<(usize, &str)>> {
    let mut all: Vec<Vec<(usize, &str)>> = Vec::new();
    let (mut joins, mut introduces) = (false, false);
    for (at, line) in text.lines().enumerate() {
        let words = line.trim();
        if words.is_empty() {
            joins &= introduces;
            continue;
        }
        match all.last_mut().filter(|_| joins) {
            Some(last) => last.push((at + 1, line)),
            None => all.push(vec![(at + 1, line)]),
        }
        (joins, introduces) = (true, words.ends_with(':') || words.starts_with('#'));
    }
    all
}

/// Whether a paragraph says that what it mentions may be missing.
fn says_optional(paragraph: &str) -> bool {
    if OPTIONAL.iter().any(|words| holds(paragraph, words)) {
        return true;
    }
    for sentence in paragraph.split(". ").flat_map(|part| part.split(';')) {
        // Words since the last condition.
        let mut since = CLAUSE;
        for word in words(sentence) {
            if since < CLAUSE && PRESENCE.contains(&word) {
                return true;
            }
            since = if CONDITION.contains(&word) { 0 } else { since + 1 };
        }
    }
    false
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether a paragraph mentions `global_context` as a whole.
fn names_context(paragraph: &str) -> bool {
    paragraph.split("global_context").skip(1).any(|rest| member(rest).is_none())
}

/// The name of the member that follows `global_context`.
fn member(rest: &str) -> Option<&str> {
    let rest = rest
        .strip_prefix('.')
        .or_else(|| rest.strip_prefix("[\""))
        .or_else(|| rest.strip_prefix("['"))?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).filter(|name| !name.is_empty())
}

/// The telemetry that a line in lower case mentions.
fn telemetry_of(line: &str) -> Vec<&str> {
    let mut all: Vec<&str> = line.split("global_context").skip(1).filter_map(member).collect();
    all.extend(words(line).filter(|word| TELEMETRY.contains(word)));
    if holds(line, "quality signals") {
        all.push("quality_signals");
    }
    all.retain(|name| *name != "tool_results");
    all
}

/// Finds a draft label: the word in capitals anywhere, or in any case in a heading, in brackets or
/// before a colon. The verb "to draft" does not count.
fn draft(line: &str) -> Option<&str> {
    let words = || line.split(|c: char| !c.is_ascii_alphanumeric());
    let capital = words().any(|word| word == "DRAFT");
    let lower = line.to_ascii_lowercase();
    let text = lower.trim().trim_start_matches(['*', '_', '>', ' ']);
    let heading = text.starts_with('#') && words().any(|word| word.eq_ignore_ascii_case("draft"));
    let bracket = ["[draft", "(draft)", "<draft"].iter().any(|label| holds(&lower, label));
    let colon =
        text.split_once(':').is_some_and(|(label, _)| label.trim_end_matches('*') == "draft");
    (capital || heading || bracket || colon).then(|| line.trim())
}

fn splits_words(c: char) -> bool {
    c.is_ascii_whitespace()
        || matches!(c, '`' | '"' | '\'' | '(' | ')' | '<' | '>' | '[' | ']' | ',' | ';' | '“' | '”')
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| matches!(c, ':' | '!' | '?' | '*' | '{' | '}'))
        .trim_end_matches('.')
}

/// Whether a word is a path: `prompts/plan.txt`, `./docs`, `/etc/app/rules`, `C:\rules`, `~/notes`,
/// `prompts/strategies/`, `rules.md`; but not `BTC/USD`, `and/or`, `24/7`, `e.g` or a web address.
fn is_path(word: &str) -> bool {
    if word.starts_with("http://") || word.starts_with("https://") {
        return false;
    }
    let marked = ["./", "../", "~/", ".\\", "..\\", "\\\\", "file:"];
    let drive =
        matches!(word.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    if drive || marked.iter().any(|mark| word.starts_with(mark)) {
        return true;
    }
    let parts: Vec<&str> = word.split(['/', '\\']).collect();
    let named = |part: &&str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    let names = parts.iter().filter(|part| named(part)).count();
    let folders = names >= 2 && (word.starts_with('/') || word.ends_with('/'));
    let end = parts.last().and_then(|last| last.rsplit_once('.'));
    let file = end.is_some_and(|(stem, end)| {
        let letters =
            (1..=5).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_alphanumeric());
        let any = parts.len() > 1 && letters && end.bytes().any(|b| b.is_ascii_alphabetic());
        !stem.is_empty() && (any || ENDS.iter().any(|one| end.eq_ignore_ascii_case(one)))
    });
    folders || file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::{plan_prompt, request_prompt};

    const FINE: &str = "Use `global_context.tool_results` if present.\n";

    fn codes(template: &str) -> Vec<(&'static str, usize)> {
        lint_prompt(template).iter().map(|lint| (lint.code.name(), lint.line)).collect()
    }

    #[test]
    fn the_shipped_prompts_keep_the_rules() {
        assert_eq!(lint_prompt(&request_prompt().text), []);
        assert_eq!(lint_prompt(&plan_prompt().text), []);
    }

    #[test]
    fn results_are_mentioned_as_optional() {
        assert_eq!(codes("Plan."), [("prompt.tool_results_missing", 1)]);
        assert_eq!(codes("Plan.\nUse tool_results."), [("prompt.tool_results_not_optional", 2)]);
        let elsewhere = "The note is optional.\n\nUse tool_results.";
        assert_eq!(codes(elsewhere), [("prompt.tool_results_not_optional", 3)]);
        for fine in [FINE, "Tool Results may be\nthere.", "`tool_results` (optional)"] {
            assert_eq!(codes(fine), [], "{fine}");
        }
        // One paragraph says it, and it need not be the last.
        assert_eq!(codes(&format!("{FINE}\nPlan.")), []);
        assert_eq!(codes(&format!("{FINE}\nEach of the tool_results has a name.")), []);
    }

    #[test]
    fn telemetry_is_used_only_if_it_is_present() {
        for bad in [
            "Use market_structure to set the stops.",
            "Weigh `global_context.regime` first.",
            "Read global_context[\"regime\"] first.",
            "Follow the quality signals.",
            // Another condition says nothing of its presence.
            "When volatility rises, use factor_exposures as given.",
            "Wider stops may be used with rpr_comparison.",
        ] {
            let found = codes(&format!("{FINE}\n{bad}"));
            assert_eq!(found, [("prompt.telemetry_not_optional", 3)], "{bad}");
        }
        for fine in [
            "Use optional telemetry only when present (market_structure, factor_exposures).",
            "If market_structure, factor_exposures or rpr_comparison are present, use them.",
            "Use factor_exposures if they are available; without them, size by volatility.",
            "`global_context.regime` may be missing.",
            "If `global_context.regime` is present, weigh it.",
            "Only when present:\n\n- market_structure: the trend\n- rpr_comparison: the peers",
            "## Telemetry, if present\n\nmarket_structure has the trend.",
            "Use the parts of `global_context` only where they are present.\n\nmarket_structure: trend.",
            "The market structure of equities.",
            "Return `stop_loss`.",
        ] {
            assert_eq!(codes(&format!("{FINE}\n{fine}")), [], "{fine}");
        }
        // Each name once, where it is first used; one paragraph is enough for its name alone.
        let text = "Use market_structure and market_structure.\n\nUse rpr_comparison.\n\n\
                    rpr_comparison may be missing, market_structure not.\n\nUse factor_exposures.";
        let found: Vec<_> = lint_prompt(&format!("{FINE}\n{text}"))
            .into_iter()
            .map(|lint| (lint.line, lint.found))
            .collect();
        assert_eq!(found, [(9, "factor_exposures".to_owned())]);
    }

    #[test]
    fn lints_stand_by_line_and_say_what_to_do() {
        let prompt = "DRAFT\nDraft: use tool_results.\nSee rules.txt.";
        let all = lint_prompt(prompt);
        let of = |lint: &Lint| (lint.code, lint.line, lint.found.clone());
        let wanted = [
            (LintCode::Draft, 1, "DRAFT"),
            // What is missing comes before what is too much.
            (LintCode::ToolResultsNotOptional, 2, "Draft: use tool_results."),
            (LintCode::Draft, 2, "Draft: use tool_results."),
            (LintCode::FilePath, 3, "rules.txt"),
        ];
        let wanted = wanted.map(|(code, line, found)| (code, line, found.to_owned()));
        assert_eq!(all.iter().map(of).collect::<Vec<_>>(), wanted);
        let advice = |code| match code {
            LintCode::ToolResultsMissing => "`global_context.tool_results`",
            LintCode::ToolResultsNotOptional => "optional",
            LintCode::TelemetryNotOptional => "only if it is present",
            LintCode::Draft => "finish the section",
            LintCode::FilePath => "what stands in the file",
        };
        for lint in all.iter().chain(&lint_prompt("Plan.")) {
            assert!(lint.message.contains(advice(lint.code)), "{lint:?}");
        }
    }

    #[test]
    fn drafts() {
        for bad in [
            "DRAFT",
            "## Draft: exits",
            "# Exits (draft)",
            "[draft] Exits",
            "Draft: exits",
            "**Draft**: exits",
            "Exits - DRAFT, do not use",
        ] {
            assert_eq!(codes(&format!("{FINE}{bad}")), [("prompt.draft", 2)], "{bad}");
        }
        for fine in ["Draft a plan first.", "The drafts are final.", "Aircraft", "redraft: no"] {
            assert_eq!(codes(&format!("{FINE}{fine}")), [], "{fine}");
        }
    }

    #[test]
    fn paths() {
        for bad in [
            "prompts/llm_strategist_prompt.txt",
            "`prompts/strategies/`",
            "(./rules)",
            "../rules/x",
            "/etc/app/rules",
            "~/notes",
            "C:\\rules\\exits",
            "\\\\host\\share",
            "see rules.md.",
            "src/app.js",
            "file:///rules",
            "\"config.YAML\"",
        ] {
            assert_eq!(codes(&format!("{FINE}{bad}")), [("prompt.file_path", 2)], "{bad}");
        }
        for fine in [
            "BTC/USD and ETH-USD",
            "and/or, 24/7, 1/2, +/-",
            "e.g. this, i.e. that",
            "Node.js 3.5 v1.2",
            "risk/reward ratio 1.5/2.5",
            "https://example.org/rules.html",
            "N/A. / or \\",
            "{\"a\": 1}",
            "buy/sell.Otherwise hold",
            "low/high.a=1",
        ] {
            assert_eq!(codes(&format!("{FINE}{fine}")), [], "{fine}");
        }
    }
}
