//! Checks a prompt of a pass: it must say that tool results are optional, have no draft section,
//! and refer the model to no file.

use crate::json::table::{names, record};
use crate::text::holds;

names! {
    /// What is wrong with a prompt.
    pub enum LintCode as "PromptLintCode", "a code of a lint" {
        /// Tool results are not mentioned.
        ToolResultsMissing "prompt.tool_results_missing",
        /// Tool results are not mentioned as optional.
        ToolResultsNotOptional "prompt.tool_results_not_optional",
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
const OPTIONAL: [&str; 12] = [
    "optional",
    "if any",
    "if there",
    "if present",
    "if available",
    "if provided",
    "when present",
    "when available",
    "when provided",
    "where present",
    "where there",
    "may be",
];

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
    let mut mention = None;
    let mut optional = false;
    let mut paragraph = String::new();
    let mut mentioned_here = false;
    for (at, text) in template.lines().enumerate() {
        let line = at + 1;
        let lower = text.to_ascii_lowercase();
        if text.trim().is_empty() {
            optional |= mentioned_here && says_optional(&paragraph);
            paragraph.clear();
            mentioned_here = false;
        }
        paragraph.push_str(&lower);
        paragraph.push(' ');
        if holds(&lower, "tool_results") || holds(&lower, "tool results") {
            mention.get_or_insert((line, text));
            mentioned_here = true;
        }
        if let Some(found) = draft(text) {
            lints.push(Lint::new(LintCode::Draft, line, found));
        }
        for path in text.split(splits_words).map(bare).filter(|word| is_path(word)) {
            lints.push(Lint::new(LintCode::FilePath, line, path));
        }
    }
    optional |= mentioned_here && says_optional(&paragraph);
    let missing = match mention {
        None => Some(Lint::new(LintCode::ToolResultsMissing, 1, "")),
        Some((line, text)) if !optional => {
            Some(Lint::new(LintCode::ToolResultsNotOptional, line, text.trim()))
        }
        Some(_) => None,
    };
    if let Some(missing) = missing {
        let before = lints.iter().take_while(|lint| lint.line < missing.line).count();
        lints.insert(before, missing);
    }
    lints
}

fn says_optional(paragraph: &str) -> bool {
    OPTIONAL.iter().any(|words| holds(paragraph, words))
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
