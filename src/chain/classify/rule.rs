//! Where the wording alone decides: the words of the seed (ADR-008 §1) where they lead a request, a
//! question or a noun phrase, and a choice between two names.

use super::names::Name;
use super::words::Word;

/// Verbs that make a request when they begin it.
const REQUESTS: &[&str] = &[
    "analyse",
    "analyze",
    "analysing",
    "analyzing",
    "compare",
    "comparing",
    "investigate",
    "investigating",
];

/// Nouns that need several findings, before one of [`OF`].
const NOUNS: &[&str] = &[
    "analysis",
    "cause",
    "causes",
    "comparison",
    "comparisons",
    "effect",
    "effects",
    "evolution",
    "impact",
    "impacts",
    "investigation",
    "relationship",
    "relationships",
    "timeline",
    "timelines",
    "trend",
    "trends",
];

/// Words at the end of a query that one look-up answers.
const LOOK_UPS: &[&str] =
    &["abbreviation", "definition", "formula", "meaning", "pronunciation", "spelling", "synonym"];
/// Words with which `A vs B` is the name of a match.
const MATCHES: &[&str] = &[
    "cast",
    "channel",
    "game",
    "highlights",
    "kickoff",
    "lineup",
    "match",
    "mean",
    "means",
    "movie",
    "odds",
    "result",
    "score",
    "stands",
    "stream",
    "tickets",
    "who",
    "won",
    "when",
    "where",
    "winner",
];
const OF: &[&str] =
    &["among", "behind", "between", "for", "from", "in", "of", "on", "to", "towards", "with"];

/// Words that may stand before such a noun; sorted. One more word between them and the noun is
/// taken for an adjective.
const BEFORE: &[&str] = &[
    "a",
    "about",
    "an",
    "and",
    "any",
    "are",
    "build",
    "can",
    "could",
    "create",
    "describe",
    "discuss",
    "draw",
    "explain",
    "explore",
    "find",
    "give",
    "identify",
    "is",
    "list",
    "make",
    "me",
    "my",
    "our",
    "outline",
    "please",
    "provide",
    "research",
    "review",
    "show",
    "some",
    "study",
    "summarise",
    "summarize",
    "tell",
    "the",
    "their",
    "there",
    "trace",
    "us",
    "was",
    "were",
    "what",
    "what's",
    "which",
    "will",
    "would",
    "write",
    "you",
];

const POLITE: &[&str] = &[
    "can", "could", "help", "i", "let's", "like", "me", "please", "to", "us", "want", "would",
    "you",
];

/// The reason for which a query needs several steps, such as `leads:timeline`.
pub(super) fn decides(words: &[Word<'_>], names: &[Name]) -> Option<String> {
    if words.last().is_some_and(|word| LOOK_UPS.contains(&word.lower)) {
        return None;
    }
    let leading = leading(words);
    if let Some(word) = leading {
        return Some(format!("leads:{word}"));
    }
    if let Some(kind) = compares(words).or_else(|| asks_why(words)).or_else(|| chained(words)) {
        return Some(kind.to_owned());
    }
    let offers = |pair: &[Name]| match pair {
        [one, two] => two.from == one.to + 1 && is(words, one.to, "or"),
        _ => false,
    };
    names.windows(2).any(offers).then(|| "alternatives".to_owned())
}

/// `A vs B`, unless it is the name of a match; `the differences between A and B`.
fn compares(words: &[Word<'_>]) -> Option<&'static str> {
    let matches = |word: &Word<'_>| MATCHES.contains(&word.lower);
    let inner = words.get(1..words.len().saturating_sub(1)).unwrap_or_default();
    let versus = inner.iter().any(|word| ["vs", "versus"].contains(&word.lower));
    if versus && !words.iter().any(matches) {
        return Some("comparison:vs");
    }
    let between = |pair: &[Word<'_>]| match pair {
        [noun, next] => {
            ["differences", "similarities"].contains(&noun.lower)
                && ["between", "among"].contains(&next.lower)
        }
        _ => false,
    };
    words.windows(2).any(between).then_some("comparison:between")
}

/// `Why did the bridge collapse`.
fn asks_why(words: &[Word<'_>]) -> Option<&'static str> {
    (is(words, 0, "why") && is(words, 1, "did") && words.len() > 3).then_some("leads:why")
}

/// `Who founded the company that …`: somebody is looked for by way of something without a name.
fn chained(words: &[Word<'_>]) -> Option<&'static str> {
    let plain = ["is", "are", "was", "were", "s"];
    if !is(words, 0, "who") || words.get(1).is_none_or(|word| plain.contains(&word.lower)) {
        return None;
    }
    let clause = |three: &[Word<'_>]| match three {
        [article, noun, relative] => {
            ["the", "a", "an"].contains(&article.lower)
                && !noun.capital
                && ["that", "which", "who", "whose", "where"].contains(&relative.lower)
        }
        _ => false,
    };
    // Of a song or a book: its text, and no relation.
    let quotes = |four: &[Word<'_>]| match four {
        [.., verb] => ["begins", "goes", "says", "starts"].contains(&verb.lower),
        [] => false,
    };
    let quoted =
        words.windows(4).any(|four| clause(four.get(..3).unwrap_or_default()) && quotes(four));
    (!quoted && words.windows(3).any(clause)).then_some("chain:clause")
}

/// The word of the seed that leads the query.
fn leading<'w>(words: &[Word<'w>]) -> Option<&'w str> {
    let at = words.iter().position(|word| !POLITE.contains(&word.lower))?;
    let first = words.get(at)?;
    if REQUESTS.contains(&first.lower) && words.len() > at + 1 {
        return Some(first.lower);
    }
    let second = words.get(at + 1).map_or("", |word| word.lower);
    if first.lower == "what" && ["cause", "caused", "causes"].contains(&second) {
        return Some(second);
    }
    let asks_how = first.lower == "how"
        && ["can", "could", "did", "do", "does", "has", "have", "might", "will", "would"]
            .contains(&second);
    if asks_how {
        let verb = |pair: &&[Word<'w>]| match pair {
            [before, word] => {
                let impacts = ["cause", "impact", "impacted"].contains(&word.lower);
                impacts && !["a", "an", "the"].contains(&before.lower)
            }
            _ => false,
        };
        return words.windows(2).find(verb)?.last().map(|word| word.lower);
    }
    let noun = |at: usize| {
        let word = words.get(at)?;
        let followed = words.get(at + 1).is_some_and(|next| OF.contains(&next.lower));
        // The name of a method, or of an entry.
        if ["variance", "covariance", "death"].iter().any(|name| is(words, at + 2, name)) {
            return None;
        }
        (NOUNS.contains(&word.lower) && followed).then_some(word.lower)
    };
    // The nouns at the end of the words before, and behind an adjective.
    let before = |word: &&Word<'w>| BEFORE.binary_search(&word.lower).is_ok();
    let led = words.iter().take_while(before).count();
    let compound = is(words, led, "side") || is(words, led, "special");
    noun(led).or_else(|| noun(led + 1).filter(|_| !compound))
}

fn is(words: &[Word<'_>], at: usize, text: &str) -> bool {
    words.get(at).is_some_and(|word| word.lower == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(BEFORE.is_sorted());
    }
}
