//! The classifier: its weights are the fit to the public half of the questions in
//! `tests/data/complexity`, and its figures are cross-validated: each question is judged by
//! weights that were fitted without it. `cargo test --test core classify -- --nocapture` prints them.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, unnameable_types, missing_debug_implementations)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

// The classifier's own signals and weights.
#[path = "../../src/chain/classify/lexicon.rs"]
mod lexicon;
#[path = "../../src/chain/classify/names.rs"]
mod names;
#[path = "../../src/chain/classify/rule.rs"]
mod rule;
#[path = "../../src/chain/classify/signals.rs"]
mod signals;
#[path = "../../src/chain/classify/words.rs"]
mod words;

use crate::common;
use std::collections::BTreeSet;

use serde_json::Value;
use signals::{COUNT, NAMES, WEIGHTS};
use turnlock::chain::classify::classify;
use turnlock::chain::{Classification, ClassifierOptions};

struct Row {
    question: String,
    source: String,
    complex: bool,
    signals: [f64; COUNT],
    /// Whether the rule decides, without the score.
    decided: bool,
    /// What keywords and a count of names say, as the classifier was first proposed.
    proposed: bool,
}

fn rows(file: &str, lower: bool) -> Vec<Row> {
    let path = common::data("complexity/given").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let question = row["question"].as_str().unwrap();
        let question = if lower { question.to_lowercase() } else { question.to_owned() };
        Row {
            signals: signals_of(&question),
            decided: decided(&question),
            proposed: proposed(&question),
            source: row["source"].as_str().unwrap().to_owned(),
            complex: row["label"] == "complex",
            question,
        }
    };
    text.lines().map(row).collect()
}

/// One of ten keywords anywhere, or two names.
fn proposed(question: &str) -> bool {
    const KEYWORDS: [&str; 10] = [
        "compare",
        "analyze",
        "investigate",
        "timeline",
        "evolution",
        "relationship",
        "impact",
        "cause",
        "effect",
        "trends",
    ];
    let lower = question.to_ascii_lowercase();
    let words = words::words(question, &lower);
    KEYWORDS.iter().any(|keyword| lower.contains(keyword)) || names::names(&words).len() >= 2
}

fn signals_of(question: &str) -> [f64; COUNT] {
    let lower = question.to_ascii_lowercase();
    let words = words::words(question, &lower);
    signals::of(&words, &names::names(&words), &[])
}

fn decided(question: &str) -> bool {
    let lower = question.to_ascii_lowercase();
    let words = words::words(question, &lower);
    rule::decides(&words, &names::names(&words)).is_some()
}

/// What one analytical request weighs: there are thirty of them beside 457 public questions.
const ANALYTIC: f64 = 4.0;
const RIDGE: f64 = 0.003;
const STEPS: usize = 3_000;
const RATE: f64 = 0.3;

/// Logistic regression with a ridge, by gradient descent from zero: no randomness. Both labels
/// weigh the same.
fn fit(rows: &[&Row]) -> [f64; COUNT] {
    let share = |row: &Row| if row.source == "analytic" { ANALYTIC } else { 1.0 };
    let total = |complex: bool| {
        rows.iter().filter(|row| row.complex == complex).map(|row| share(row)).sum::<f64>()
    };
    let totals = [total(false), total(true)];
    let mut weights = [0.0; COUNT];
    for _ in 0..STEPS {
        let mut slope = [0.0; COUNT];
        for row in rows {
            let wanted = f64::from(u8::from(row.complex));
            let share = share(row) / (2.0 * totals[usize::from(row.complex)]);
            let error = (1.0 / (1.0 + (-sum(&weights, row)).exp()) - wanted) * share;
            for (slope, signal) in slope.iter_mut().zip(row.signals) {
                *slope += error * signal;
            }
        }
        for (at, (weight, slope)) in weights.iter_mut().zip(slope).enumerate() {
            let ridge = if at == 0 { 0.0 } else { RIDGE };
            *weight -= RATE * (slope + ridge * *weight);
        }
    }
    weights
}

fn sum(weights: &[f64; COUNT], row: &Row) -> f64 {
    row.signals.iter().zip(weights).map(|(signal, weight)| signal * weight).sum()
}

/// Which tenth a question belongs to. Letter case aside, so that a copy in lower case is not
/// judged by weights that have seen it.
fn fold(row: &Row) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    row.question.to_lowercase().bytes().fold(0xcbf2_9ce4_8422_2325, hash) % 10
}

/// The mean over the labels that there are, of the share that is right.
fn balanced(verdicts: &[(&Row, bool)]) -> f64 {
    let rate = |label: bool| {
        let of: Vec<_> = verdicts.iter().filter(|(row, _)| row.complex == label).collect();
        let right = of.iter().filter(|(row, said)| row.complex == *said).count();
        (!of.is_empty()).then(|| right as f64 / of.len() as f64)
    };
    let rates: Vec<f64> = [true, false].into_iter().filter_map(rate).collect();
    rates.iter().sum::<f64>() / rates.len() as f64
}

fn all() -> Vec<Row> {
    let mut all = rows("questions.jsonl", false);
    all.extend(rows("analytic.jsonl", false));
    all
}

#[test]
fn the_bar_is_met_on_questions_that_were_not_fitted() {
    let all = all();
    let lower = rows("questions.jsonl", true);
    let (mut verdicts, mut lowered, mut fitted) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..10 {
        let given: Vec<&Row> = all.iter().filter(|row| fold(row) != n).collect();
        let weights = fit(&given);
        let scored = |row| (row, sum(&weights, row) >= 0.0);
        let judged = |row: &'_ Row| row.decided || sum(&weights, row) >= 0.0;
        let judged = |row| (row, judged(row));
        fitted.extend(all.iter().filter(|row| fold(row) == n).map(scored));
        verdicts.extend(all.iter().filter(|row| fold(row) == n).map(judged));
        lowered.extend(lower.iter().filter(|row| fold(row) == n).map(judged));
    }
    let of = |fits: &dyn Fn(&str) -> bool| {
        let fitting = verdicts.iter().filter(|(row, _)| fits(&row.source));
        let fitting: Vec<(&Row, bool)> = fitting.copied().collect();
        (balanced(&fitting), fitting.len())
    };
    let paired = |source: &str| source.starts_with("musique") || source.starts_with("strategyqa");
    let public = of(&|source| source != "analytic");
    let analytic = of(&|source| source == "analytic");
    // Balanced accuracy, as `npm run bench -- accuracy` shows it.
    println!("| questions | n | keywords, or two names | `classifyQuery` |\n|---|---|---|---|");
    let line = |title: &str, rows: &[(&Row, bool)]| {
        let proposed: Vec<_> = rows.iter().map(|(row, _)| (*row, row.proposed)).collect();
        let (theirs, ours) = (balanced(&proposed), balanced(rows));
        println!("| {title} | {} | {theirs:.3} | **{ours:.3}** |", rows.len());
    };
    let shown = |title: &str, fits: &dyn Fn(&str) -> bool| {
        let rows = verdicts.iter().filter(|(row, _)| fits(&row.source));
        line(title, &rows.copied().collect::<Vec<_>>());
    };
    shown("public", &|source| source != "analytic");
    line("public, in lower case", &lowered);
    shown("without `nq-open`", &|source| !["analytic", "nq-open"].contains(&source));
    shown("matched pairs", &paired);
    let sources: BTreeSet<&str> = all.iter().map(|row| row.source.as_str()).collect();
    for source in sources {
        shown(&format!("`{source}`"), &|own| own == source);
    }
    assert_eq!((public.1, analytic.1, lowered.len()), (457, 30, 457));
    let score_alone: Vec<_> =
        fitted.into_iter().filter(|(row, _)| row.source != "analytic").collect();
    line("public, the score alone", &score_alone);
    assert!(public.0 >= balanced(&score_alone), "the rule costs nothing: {public:?}");
    assert!(public.0 >= 0.91, "{public:?}");
    assert!(analytic.0 >= 0.85, "{analytic:?}");
}

#[test]
fn the_weights_are_the_fit() {
    let all = all();
    let fitted = fit(&all.iter().collect::<Vec<_>>());
    for ((name, shipped), fitted) in NAMES.iter().zip(WEIGHTS).zip(fitted) {
        assert!((shipped - fitted).abs() <= 0.006, "{name}: {shipped}, fitted {fitted:.2}");
    }
}

fn of(query: &str) -> Classification {
    classify(query, &ClassifierOptions::default())
}

#[test]
fn it_explains_itself() {
    let found = of("Compare the impact of remote work on offices in London and New York.");
    assert!(found.is_complex());
    assert_eq!(found.entities, ["London", "New York"]);
    assert!(found.indicators.contains(&"analysis_request".to_owned()), "{found:?}");
    let found = of("What is a causeway?");
    assert!(!found.is_complex());
    assert_eq!(found.indicators.first().map(String::as_str), Some("against:look_up"));
    assert!(found.entities.is_empty());
}

#[test]
fn words_of_analysis_count_in_all_their_forms_and_as_whole_words() {
    let has = |query: &str| of(query).indicators.iter().any(|name| name.starts_with("analysis"));
    for query in
        ["trends in churn", "the analyses of it", "what caused the outage", "comparing both"]
    {
        assert!(has(query), "{query}");
    }
    for query in ["the causeway", "Who sang Relationship Goals?", "side effects of aspirin"] {
        assert!(!has(query), "{query}");
    }
}

#[test]
fn names() {
    let named = |query: &str| of(query).entities.join("|");
    assert_eq!(named("Was Ludwig van Beethoven older than Bach?"), "Ludwig van Beethoven|Bach");
    assert_eq!(named("Who wrote \"the long tide\" for the BBC?"), "the long tide|BBC");
    assert_eq!(named("Where was the Bank of England's founder born?"), "Bank of England");
    assert_eq!(named("Are Texas, Ohio and Maine states?"), "Texas|Ohio|Maine");
    assert_eq!(named("spell accommodate"), "");
}

#[test]
fn options() {
    let lax = ClassifierOptions::default().threshold(0.0);
    assert!(classify("hi", &lax).is_complex());
    let own = ClassifierOptions::default().indicators(vec!["Lineage".to_owned()]);
    let query = "show the lineage of this table";
    assert!(classify(query, &own).score > of(query).score);
}

/// The seed's words decide where they lead a request, a question or a noun phrase.
#[test]
fn the_seeds_words_decide_where_they_lead() {
    for query in [
        "analyze the housing market",
        "timeline of World War II",
        "Timeline of the French Revolution",
        "compare coffee and tea",
        "please compare Rust and Go",
        "Can you investigate the outage?",
        "investigate the missing invoices",
        "evolution of jazz",
        "the evolution of smartphones",
        "relationship between stress and sleep",
        "impact of inflation on savings",
        "economic impact of Brexit",
        "cause of the Great Depression",
        "What caused the 2008 crisis?",
        "what causes inflation",
        "effect of caffeine on sleep",
        "What are the effects of climate change?",
        "trends in remote work",
        "What are the main trends in AI?",
        "Show me a timeline of the Apollo program",
        "Explain the relationship between supply and demand",
        "How did the iPhone impact Nokia?",
        "What is the impact of AI on jobs?",
        "Who won, Federer or Nadal?",
    ] {
        let found = of(query);
        assert!(found.is_complex() && found.score >= 0.8, "{query} {found:?}");
        let first = &found.indicators[0];
        assert!(first.starts_with("leads:") || first == "alternatives", "{query} {found:?}");
    }
    for query in [
        "side effects of aspirin",
        "the causeway",
        "What is a trend?",
        "Who sang Relationship Goals?",
        "Mass Effect release date",
        "How did the impact crater form?",
        "compare",
        "when does the shop open",
        "Who wrote Cause and Effect?",
        "define impact",
        "because of you lyrics",
    ] {
        assert!(!of(query).is_complex(), "{query} {:?}", of(query));
    }
}

#[test]
fn options_of_the_host_decide_by_themselves() {
    let own = vec!["Lineage".to_owned(), "root cause".to_owned()];
    let own = ClassifierOptions::default().complex_indicators(own);
    for (query, complex) in [
        ("show the lineage of this table", true),
        ("Root cause?", true),
        ("show the lineages", false),
    ] {
        assert_eq!(classify(query, &own).is_complex(), complex, "{query}");
        assert!(!of(query).is_complex(), "{query}");
    }
    let found = classify("show the lineage", &own);
    assert_eq!((found.score, found.indicators[0].as_str()), (1.0, "own:Lineage"));
    let two = ClassifierOptions::default().entity_threshold(Some(2));
    let found = classify("weather in Paris, Berlin", &two);
    assert!(found.is_complex() && found.indicators[0] == "entities:2", "{found:?}");
    assert!(!classify("weather in Paris", &two).is_complex());
}

#[test]
fn languages() {
    use turnlock::chain::Language::{Chinese, English, French, German, Spanish, Uncovered};
    for (query, language, complex) in [
        ("Vergleiche Kaffee und Tee", German, true),
        ("Was ist der Unterschied zwischen Kaffee und Tee?", German, true),
        ("Wie hoch ist der Eiffelturm?", German, false),
        ("Compara el café con el té", Spanish, true),
        ("¿Cuál es la diferencia entre el café y el té?", Spanish, true),
        ("¿Quién es el presidente?", Spanish, false),
        ("Compare le café et le thé", French, true),
        ("Quelle est la différence entre le café et le thé ?", French, true),
        ("Quelle est la capitale ?", French, false),
        ("比较咖啡和茶", Chinese, true),
        ("咖啡和茶有什么区别？", Chinese, true),
        ("巴黎的天气", Chinese, false),
        ("コーヒーとお茶を比較して", Uncovered, false),
        ("Сравни кофе и чай", Uncovered, false),
        ("커피와 차를 비교해 줘", Uncovered, false),
        ("Qual é a diferença entre o café e o chá, são iguais?", Uncovered, false),
        ("What is a causeway?", English, false),
        ("pizza near me", English, false),
        ("", English, false),
    ] {
        let found = of(query);
        assert_eq!((found.language, found.is_complex()), (language, complex), "{query} {found:?}");
    }
}

#[test]
fn no_text_is_too_strange() {
    for query in
        ["", " ", "?!", "'s", "\"", "“a", "é'", "a-", "%%", "$1", "日本語の質問", "\u{1F600} 's"]
    {
        let found = of(query);
        assert!((0.0..=1.0).contains(&found.score), "{query}");
    }
    let long = "who compared what and why ".repeat(10_000);
    assert!(of(&long).is_complex());
}
