//! The signals of a query, as numbers.

use super::lexicon::{ANALYSIS, AUXILIARIES, CHANGE, COMPARISON, REDUCED, REQUESTS, ROLES};
use super::names::Name;
use super::words::Word;

/// Number of signals, including the constant one.
pub(super) const COUNT: usize = 20;

/// Names of the signals, as shown in `indicators`.
pub(super) const NAMES: [&str; COUNT] = [
    "base",
    "length",
    "long",
    "very_long",
    "entities",
    "judgement",
    "comparison",
    "alternatives",
    "chain",
    "possessive",
    "nested",
    "reduced_clause",
    "role",
    "hypothesis",
    "analysis",
    "analysis_request",
    "change",
    "list",
    "numbers",
    "look_up",
];

/// Weight of each signal, as fitted by `tests/core/classify.rs`, which also checks them.
pub(super) const WEIGHTS: [f64; COUNT] = [
    -4.29, 1.51, 0.81, 0.41, 0.91, 3.10, 0.83, 1.21, 0.57, 0.88, 0.42, 0.18, 0.83, 0.96, 0.92,
    1.80, 0.87, 0.49, -0.47, -1.64,
];

/// The signals of a query, each at least 0; the first is always 1.
pub(super) fn of(words: &[Word<'_>], names: &[Name], own: &[String]) -> [f64; COUNT] {
    let view = View { words, names };
    let length = words.len();
    let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
    let few = |count: usize, most: usize| count_of(count.min(most));
    [
        1.0,
        few(length, 40) / 10.0,
        flag(length >= 12),
        flag(length >= 20),
        few(names.len(), 4),
        flag(view.starts(AUXILIARIES) && !view.asks_presence()),
        few(view.comparisons(), 2),
        flag(view.alternatives()),
        few(view.chains(), 3),
        few(view.count(|_, word| word.possessive), 2),
        few(view.nested(), 3),
        few(view.reduced_clauses(), 2),
        few(view.roles(), 2),
        flag(view.hypothesis()),
        few(view.analysis(own), 2),
        flag(view.starts(REQUESTS)),
        flag(view.change()),
        few(view.count(|_, word| word.comma || word.lower == "and"), 4),
        few(view.count(|_, word| word.number), 3),
        flag(view.look_up()),
    ]
}

/// Whether a sorted list contains the word.
fn known(list: &[&str], word: &Word<'_>) -> bool {
    list.binary_search(&word.lower).is_ok()
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn count_of(count: usize) -> f64 {
    count as f64
}

/// The words and the names of a query.
struct View<'a> {
    words: &'a [Word<'a>],
    names: &'a [Name],
}

impl View<'_> {
    /// The number of words for which `fits` returns true.
    fn count(&self, fits: impl Fn(usize, &Word<'_>) -> bool) -> usize {
        self.words.iter().enumerate().filter(|(at, word)| fits(*at, word)).count()
    }

    fn is(&self, at: usize, list: &[&str]) -> bool {
        self.words.get(at).is_some_and(|word| list.contains(&word.lower))
    }

    fn named(&self, at: usize) -> bool {
        self.names.iter().any(|name| (name.from..name.to).contains(&at))
    }

    /// Whether the query starts with a word of `list`, which must be sorted.
    fn starts(&self, list: &[&str]) -> bool {
        // Skips a polite opening: `Please compare`, `Can you compare`.
        let polite = match self.words {
            [first, ..] if first.lower == "please" => 1,
            [first, second, ..]
                if ["can", "could", "would"].contains(&first.lower) && second.lower == "you" =>
            {
                if self.is(2, &["please"]) {
                    3
                } else {
                    2
                }
            }
            _ => 0,
        };
        self.words.get(polite).is_some_and(|word| known(list, word))
    }

    /// Whether the query is of the form `Is there a …?`, `Do we have …?` or `Is the shop open?`,
    /// which a single look-up answers.
    fn asks_presence(&self) -> bool {
        let unnamed = self.names.is_empty() && self.words.len() <= 6 && self.is(1, &["the"]);
        unnamed
            || self.is(1, &["there", "it", "this", "i", "my", "we", "our", "you"])
                && !self.is(2, &["hard", "possible", "safe", "common"])
    }

    fn comparisons(&self) -> usize {
        let listed = |at: usize, word: &Word<'_>| known(COMPARISON, word) && !self.named(at);
        self.count(listed)
    }

    /// Whether the query offers alternatives: `A or B`.
    fn alternatives(&self) -> bool {
        self.words.iter().enumerate().any(|(at, word)| word.lower == "or" && at > 1)
    }

    /// The number of relative clauses: `the town where …`, `a man whose …`.
    fn chains(&self) -> usize {
        let opens = |at: usize, word: &Word<'_>| {
            let relative = ["who", "whom", "whose", "which", "where", "when", "that", "what"];
            let behind = at.checked_sub(1).and_then(|at| self.words.get(at));
            // After `and`, `say` or `is`, the word opens a separate question: `and what`.
            at > 1
                && !word.first
                && relative.contains(&word.lower)
                && !behind.is_some_and(|word| ["and", "say", "is"].contains(&word.lower))
                && !self.named(at)
        };
        self.count(opens)
    }

    /// The number of nested references: `the … of the …`.
    fn nested(&self) -> usize {
        self.count(|at, word| {
            ["of", "by", "for", "from", "with"].contains(&word.lower) && !self.named(at)
        })
    }

    fn reduced_clauses(&self) -> usize {
        self.count(|at, word| at > 2 && known(REDUCED, word) && !self.named(at))
    }

    /// The number of roles that lead to the answer. After `who`, one role is the answer itself.
    fn roles(&self) -> usize {
        let direct = self.starts(&["who"]);
        let all = self.count(|at, word| known(ROLES, word) && !self.named(at));
        if direct { all.saturating_sub(1) } else { all }
    }

    fn hypothesis(&self) -> bool {
        let percent = self.words.iter().any(|word| word.percent || word.lower == "percent");
        let opens = |at: usize| {
            self.is(at, &["if", "suppose", "assuming", "imagine", "hypothetically", "given"])
        };
        percent
            || opens(0)
            || self.count(|at, word| at > 0 && (word.lower == "if" || word.lower == "whether")) > 0
    }

    fn analysis(&self, own: &[String]) -> usize {
        self.count(|at, word| {
            let listed =
                known(ANALYSIS, word) || own.iter().any(|one| one.eq_ignore_ascii_case(word.lower));
            let compound = at.checked_sub(1).is_some_and(|at| self.is(at, &["side", "special"]));
            listed && !compound && !self.named(at)
        })
    }

    /// Whether the query is about a change: `How has … changed`, `What changed`, `How do … differ`.
    fn change(&self) -> bool {
        let asks = self.is(0, &["how", "what", "why", "in"]);
        asks && self.count(|at, word| known(CHANGE, word) && !self.named(at)) > 0
    }

    /// Whether a single look-up answers the query: a definition, a spelling, one value.
    fn look_up(&self) -> bool {
        let has = |list: &[&str]| (0..self.words.len()).any(|at| self.is(at, list));
        let opens =
            self.is(0, &["define", "spell", "translate", "open", "show", "find", "list", "give"]);
        let thing = self.is(0, &["what"])
            && self.is(1, &["is", "are", "was", "were"])
            && self.is(2, &["a", "an", "the", "our", "my", "your", "another"]);
        let value = self.is(0, &["how"])
            && self.is(
                1,
                &[
                    "tall", "many", "much", "old", "long", "far", "big", "high", "deep", "fast",
                    "do", "does",
                ],
            )
            || self.is(0, &["what"])
                && self.is(
                    1,
                    &["year", "time", "date", "day", "color", "colour", "type", "kind", "does"],
                );
        let short = self.words.len() <= 9;
        short && (opens || thing || value)
            || has(&[
                "abbreviation",
                "acronym",
                "definition",
                "meaning",
                "synonym",
                "called",
                "spelled",
            ])
    }
}
