//! Classifies whether a query needs several steps, from its wording alone.
//!
//! The score is a weighted sum of about twenty signals: the length of the text, the names in it,
//! comparisons, chains (`the director of the film that …`), hypotheses and words of analysis.
//! The forms of a plain look-up count against it. The weights come from a logistic regression
//! over public questions; `tests/core/classify.rs` also has the figures for held-out questions. No
//! weight is specific to a single question, topic or source.
//!
//! Where the wording speaks clearly it decides (`rule`): `compare coffee and tea`, `timeline of
//! World War II`. A host's `complexIndicators` and `entityThreshold` decide by themselves.

mod language;
mod lexicon;
mod names;
mod rule;
mod signals;
mod words;

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, names, options, read, record};
use crate::text::find;

pub use language::Language;
use signals::{NAMES, WEIGHTS};

options! {
    /// Options of the classifier.
    pub struct ClassifierOptions as "ClassifierOptions" {
        /// The minimum score of a complex query.
        threshold "threshold": f64 = 0.5, real 0.0..=1.0;
        /// Additional words that indicate several steps. Each counts like a word of analysis,
        /// whatever its case.
        indicators "indicators": Vec<String>;
        /// Words and phrases of which each makes a query complex, whatever its case.
        complex_indicators "complexIndicators": Vec<String>;
        /// The number of names from which on a query is complex. Default: names only count.
        entity_threshold "entityThreshold?": Option<usize>, whole 1..=u32::MAX as u64;
        /// The number of characters from which on a query in a language without a lexicon is complex.
        /// Default: it is simple unless its form says otherwise, and a chain emits a `warning`.
        uncovered_length "uncoveredLength?": Option<usize>, whole 1..=u32::MAX as u64;
    }
}

impl Default for ClassifierOptions {
    fn default() -> Self {
        Self::blank()
    }
}

impl ClassifierOptions {
    /// Reads `{ threshold?, indicators?, complexIndicators?, entityThreshold?, uncoveredLength? }`.
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
        /// The signals that were found: first what decided (`leads:timeline`, `alternatives`, of the
        /// host `own:lineage`, `entities:3`), then strongest first: `comparison`, `chain:2`, …;
        /// negative ones begin with `against:`, as in `against:look_up`.
        indicators "indicators": Vec<String>;
        /// The names in the query, in order.
        entities "entities": Vec<String>;
        /// 0 to 1; not a probability. The query is complex if the score reaches the threshold. At
        /// least 0.8 where the wording decides, 1 where an option of the host does.
        score "score": f64;
        /// The language of the query. If it is `uncovered`, the words are not known and the score
        /// says little: let the host's `classify` decide.
        language "language": Language;
    }
}

impl Classification {
    /// Whether the query needs several steps.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.complexity == Complexity::Complex
    }
}

/// The least score of a query whose wording decides.
const CLEAR: f64 = 0.8;

/// Bytes of the query that are examined. A longer query already counts as long.
///
/// Limit | what of a query is classified | bytes | the rest is not read
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
    let language = language::language(head, &words);
    let (mut score, mut indicators) = (score, Vec::new());
    let clear = match language {
        Language::English => rule::decides(&words, &names),
        other => language::asks(other, head, &words).map(|word| format!("leads:{word}")),
    };
    if let Some(clear) = clear {
        indicators.push(clear);
        score = CLEAR.max(score);
    }
    let own = options.complex_indicators.iter().find(|one| holds(&lower, one));
    indicators.extend(own.map(|one| format!("own:{one}")));
    let named = options.entity_threshold.is_some_and(|enough| names.len() >= enough);
    indicators.extend(named.then(|| format!("entities:{}", names.len())));
    if own.is_some() || named {
        score = 1.0;
    }
    let long = |least: &usize| query.trim().chars().nth(least.saturating_sub(1)).is_some();
    let least = options.uncovered_length.filter(|_| language == Language::Uncovered).filter(long);
    if let Some(least) = least {
        indicators.push(format!("uncovered:{least}"));
        score = CLEAR.max(score);
    }
    indicators.extend(reasons.into_iter().map(indicator));
    let complex = score >= options.threshold;
    Classification {
        complexity: if complex { Complexity::Complex } else { Complexity::Simple },
        indicators,
        entities: names.iter().map(entity).collect(),
        score,
        language,
    }
}

/// Whether `text` contains the host's indicator, whatever the case of ASCII letters. Where it begins
/// or ends with a letter of a script that divides words, a word begins or ends there too.
fn holds(text: &str, indicator: &str) -> bool {
    let indicator = indicator.trim().to_ascii_lowercase();
    let mut from = 0;
    let divided = |c: char| c.is_alphanumeric() && u32::from(c) < 0x2E80;
    let part = |edge: Option<char>, beside: Option<char>| {
        edge.is_some_and(divided) && beside.is_some_and(divided)
    };
    while let Some(rest) = text.get(from..).filter(|_| !indicator.is_empty()) {
        let Some(found) = find(rest, &indicator) else { return false };
        let (start, end) = (from + found, from + found + indicator.len());
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let behind = text.get(end..).and_then(|text| text.chars().next());
        let (first, last) = (indicator.chars().next(), indicator.chars().next_back());
        if !part(first, before) && !part(last, behind) {
            return true;
        }
        from = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indicators_of_the_host_are_words() {
        for (text, indicator, found) in [
            ("show the lineage of it", "Lineage", true),
            ("because of it", "cause", false),
            ("the cause, because", "cause", true),
            ("a trade off here", "trade off", true),
            ("请比较一下", "比较", true),
            ("anything", "", false),
        ] {
            assert_eq!(holds(text, indicator), found, "{text}");
        }
    }
}
