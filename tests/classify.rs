//! The classifier's weights and figures, both made from the public half of the questions in
//! `shared/corpora/complexity`. `cargo test --test classify -- --nocapture` prints the figures.
#![allow(missing_docs)]

mod common;

use serde_json::Value;
use turnlock::chain::classify::{self, COUNT, ClassifierOptions, WEIGHTS};

struct Row {
    question: String,
    source: String,
    complex: bool,
    signals: [f64; COUNT],
}

fn rows(file: &str, lower: bool) -> Vec<Row> {
    let path = common::corpora().join("complexity/given").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let question = row["question"].as_str().unwrap().to_owned();
        let question = if lower { question.to_lowercase() } else { question };
        let source = row["source"].as_str().unwrap().to_owned();
        Row {
            signals: classify::signals(&question),
            complex: row["label"] == "complex",
            question,
            source,
        }
    };
    text.lines().map(row).collect()
}

/// Logistic regression with a ridge, by gradient descent from zero: no randomness.
fn fit(rows: &[&Row]) -> [f64; COUNT] {
    // Both labels weigh the same, and analytical requests as much as a third of the public ones.
    let share = |row: &Row| if row.source == "analytic" { ANALYTIC } else { 1.0 };
    let total = |complex: bool| {
        rows.iter().filter(|row| row.complex == complex).map(|row| share(row)).sum::<f64>()
    };
    let totals = [total(false), total(true)];
    let mut weights = [0.0; COUNT];
    for _ in 0..STEPS {
        let mut slope = [0.0; COUNT];
        for row in rows {
            let sum: f64 = row.signals.iter().zip(weights).map(|(a, b)| a * b).sum();
            let wanted = if row.complex { 1.0 } else { 0.0 };
            let error = (1.0 / (1.0 + (-sum).exp()) - wanted) * share(row)
                / (2.0 * totals[usize::from(row.complex)]);
            for (slope, signal) in slope.iter_mut().zip(row.signals) {
                *slope += error * signal;
            }
        }
        for (at, (weight, slope)) in weights.iter_mut().zip(slope).enumerate() {
            let ridge = if at == 0 { 0.0 } else { RIDGE };
            *weight -= 0.3 * (slope + ridge * *weight);
        }
    }
    weights
}

const ANALYTIC: f64 = 4.0;
const RIDGE: f64 = 0.003;
const STEPS: usize = 3_000;

fn says(weights: &[f64; COUNT], row: &Row) -> bool {
    row.signals.iter().zip(weights).map(|(a, b)| a * b).sum::<f64>() >= 0.0
}

fn balanced(verdicts: &[(bool, bool)]) -> f64 {
    let rate = |label: bool| {
        let of: Vec<_> = verdicts.iter().filter(|(complex, _)| *complex == label).collect();
        of.iter().filter(|(complex, said)| complex == said).count() as f64 / of.len() as f64
    };
    (rate(true) + rate(false)) / 2.0
}

#[test]
fn cross_validated() {
    let mut all = rows("questions.jsonl", false);
    let public = all.len();
    all.extend(rows("analytic.jsonl", false));
    let lower: Vec<Row> = rows("questions.jsonl", true);
    const FOLDS: usize = 10;
    // By a hash of the text: rows of one source stand together in the file.
    let fold = |row: &Row| {
        row.question
            .to_lowercase()
            .bytes()
            .fold(7_u64, |a, b| a.wrapping_mul(31).wrapping_add(u64::from(b))) as usize
            / 7
            % FOLDS
    };
    let mut verdicts: Vec<(&Row, bool)> = Vec::new();
    let mut lowered = Vec::new();
    for n in 0..FOLDS {
        let given: Vec<&Row> = all.iter().filter(|row| fold(row) != n).collect();
        let weights = fit(&given);
        verdicts
            .extend(all.iter().filter(|row| fold(row) == n).map(|row| (row, says(&weights, row))));
        lowered.extend(
            lower.iter().filter(|row| fold(row) == n).map(|row| (row.complex, says(&weights, row))),
        );
    }
    let of = |fits: &dyn Fn(&Row) -> bool| -> Vec<(bool, bool)> {
        verdicts
            .iter()
            .filter(|(row, _)| fits(row))
            .map(|(row, said)| (row.complex, *said))
            .collect()
    };
    let public_v = of(&|row| row.source != "analytic");
    assert_eq!(public_v.len(), public);
    let sources: std::collections::BTreeSet<_> =
        all.iter().map(|row| row.source.as_str()).collect();
    for source in sources {
        let of = of(&|row| row.source == source);
        let right = of.iter().filter(|(a, b)| a == b).count();
        println!("{source}: {right}/{}", of.len());
    }
    println!("public {:.3}", balanced(&public_v));
    println!(
        "without nq {:.3}",
        balanced(&of(&|row| row.source != "analytic" && row.source != "nq-open"))
    );
    println!(
        "pairs {:.3}",
        balanced(&of(&|row| ["musique", "musique-sub", "strategyqa", "strategyqa-sub"]
            .contains(&&*row.source)))
    );
    println!("lower {:.3}", balanced(&lowered));
    println!("analytic {:.3}", balanced(&of(&|row| row.source == "analytic")));
    if std::env::var("WRONG").is_ok() {
        for (row, said) in &verdicts {
            if row.complex != *said {
                println!("{} {} {}", row.source, row.complex, row.question);
            }
        }
    }
    let every: Vec<&Row> = all.iter().collect();
    let weights = fit(&every);
    for (name, weight) in classify::NAMES.iter().zip(weights) {
        println!("{name} {weight:.2}");
    }
    let _ = (WEIGHTS, ClassifierOptions::default());
}
