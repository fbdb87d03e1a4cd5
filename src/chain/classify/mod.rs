//! Classifies whether a query needs several steps, from its wording alone.
//!
//! The score is a weighted sum of about twenty signals: the length of the text, the names in it,
//! comparisons, chains (`the director of the film that …`), hypotheses and words of analysis.
//! The forms of a plain look-up count against it. The weights come from a logistic regression
//! over public questions; `tests/classify.rs` also has the figures for held-out questions. No
//! weight is specific to a single question, topic or source.

mod lexicon;
mod names;
mod signals;
mod words;

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, names, options, read, record};

use signals::{NAMES, WEIGHTS};

options! {
    /// Options of the classifier.
    pub struct ClassifierOptions as "ClassifierOptions" {
        /// The minimum score of a complex query.
        threshold "threshold": f64 = 0.5, real 0.0..=1.0;
        /// Additional words that indicate several steps. Each counts like a word of analysis,
        /// whatever its case.
        indicators "indicators": Vec<String>;
    }
}

impl Default for ClassifierOptions {
    fn default() -> Self {
        Self::blank()
    }
}

impl ClassifierOptions {
    /// Reads `{ threshold?, indicators? }`.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }
}

names! {
    /// Whether a query needs several steps.
    pub enum Complexity as "Complexity", "simple or complex" {
        /// One call of the model answers it.
        Simple "simple",
        /// It gets a plan.
        Complex "complex",
    }
}

record! {
    /// The classification of a query, and its reasons.
    pub struct Classification as "Classification" {
        /// Whether it needs several steps.
        complexity "complexity": Complexity;
        /// The signals that were found, strongest first: `comparison`, `chain:2`, …; negative ones
        /// begin with `against:`, as in `against:look_up`.
        indicators "indicators": Vec<String>;
        /// The names in the query, in order.
        entities "entities": Vec<String>;
        /// 0 to 1; not a probability. The query is complex if the score reaches the threshold.
        score "score": f64;
    }
}

impl Classification {
    /// Whether the query needs several steps.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.complexity == Complexity::Complex
    }
}

/// Bytes of the query that are examined. A longer query already counts as long.
const MOST: usize = 4096;

/// Classifies `query`. The same text gives the same result on every platform.
#[must_use]
pub fn classify(query: &str, options: &ClassifierOptions) -> Classification {
    let head = (0..=MOST.min(query.len())).rev().find_map(|end| query.get(..end)).unwrap_or("");
    let lower = head.to_ascii_lowercase();
    let words = words::words(head, &lower);
    let names = names::names(&words);
    let found = signals::of(&words, &names, &options.indicators);
    let weighed = found.iter().zip(WEIGHTS).skip(1).map(|(value, weight)| value * weight);
    let sum = WEIGHTS.first().copied().unwrap_or(0.0) + weighed.clone().sum::<f64>();
    // Avoids `exp`, whose last digit differs between platforms.
    let score = 0.5 + 0.5 * sum / (1.0 + sum.abs());
    let score = (score * 1000.0).round() / 1000.0;
    let mut reasons: Vec<(f64, usize)> = Vec::new();
    for (weight, at) in weighed.zip(1..).filter(|(weight, _)| weight.abs() >= 0.05) {
        let stronger = |(other, _): &(f64, usize)| other.abs() >= weight.abs();
        let place = reasons.iter().take_while(|other| stronger(other)).count();
        reasons.insert(place, (weight, at));
    }
    let indicator = |(weight, at): (f64, usize)| {
        let mut text = String::from(if weight < 0.0 { "against:" } else { "" });
        text.push_str(NAMES.get(at).unwrap_or(&""));
        let value = found.get(at).copied().unwrap_or(1.0);
        if value > 1.0 {
            text.push(':');
            Json::double(value).write(&mut text);
        }
        text
    };
    let entity = |name: &names::Name| {
        let words = words.get(name.from..name.to).unwrap_or_default();
        words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
    };
    let complex = score >= options.threshold;
    Classification {
        complexity: if complex { Complexity::Complex } else { Complexity::Simple },
        indicators: reasons.into_iter().map(indicator).collect(),
        entities: names.iter().map(entity).collect(),
        score,
    }
}
