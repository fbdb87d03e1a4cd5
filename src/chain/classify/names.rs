//! Names in a query: runs of capitalized words, and text in quotation marks.

use super::words::Word;

/// Words that are not names even if capitalized, for example at the start of a sentence.
const PLAIN: &[&str] = &[
    "a", "about", "after", "all", "along", "also", "am", "among", "an", "and", "are", "as", "at",
    "because", "before", "besides", "between", "both", "but", "by", "can", "could", "did", "do",
    "does", "during", "each", "either", "except", "for", "from", "given", "had", "has", "have",
    "how", "i", "if", "in", "into", "is", "it", "its", "many", "may", "might", "most", "much",
    "my", "no", "of", "on", "or", "our", "over", "please", "should", "since", "some", "than",
    "that", "the", "their", "there", "these", "this", "those", "to", "under", "until", "upon",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why",
    "will", "with", "would", "you", "your",
];

/// Small words that can occur inside names: `Bank of England`, `Ludwig van Beethoven`.
const INSIDE: &[&str] = &[
    "of", "the", "de", "la", "le", "du", "da", "di", "del", "von", "van", "der", "for", "in", "a",
];

/// A run of words that names something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    /// The index of its first word.
    pub(super) from: usize,
    /// The index after its last word.
    pub(super) to: usize,
}

/// The names among `words`, in order.
pub(super) fn names(words: &[Word<'_>]) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let to = if word.quoted { quoted(words, at) } else { run(words, at) };
        if to > at {
            found.push(Name { from: at, to });
        }
        at = to.max(at + 1);
    }
    found
}

fn quoted(words: &[Word<'_>], from: usize) -> usize {
    let inside = words.iter().skip(from).take_while(|word| word.quoted).count();
    from + inside
}

/// The index after the last word of the name that begins at `from`; `from` if there is none.
fn run(words: &[Word<'_>], from: usize) -> usize {
    let named = |at: usize| words.get(at).filter(|word| is_named(word));
    let Some(word) = named(from) else { return from };
    // The first word of a sentence is always capitalized. Alone, it is a name only if it is all
    // in capitals or possessive.
    let alone = word.first && !is_shouted(word.text) && !word.possessive;
    let mut to = from + 1;
    loop {
        let (last, next) = (words.get(to.saturating_sub(1)), words.get(to));
        let (Some(last), Some(next)) = (last, next) else { break };
        if next.apart || next.first || next.quoted || last.possessive {
            break;
        }
        let counts = next.number && next.text.len() <= 2;
        if is_named(next) || counts {
            to += 1;
            continue;
        }
        let gap = words.iter().skip(to).take_while(|word| is_inside(word)).count();
        if gap == 0 || gap > 2 || named(to + gap).is_none_or(|word| word.apart || word.number) {
            break;
        }
        // A name after `in` or `for` is a separate name.
        if next.lower == "in" || next.lower == "for" {
            break;
        }
        to += gap + 1;
    }
    if alone && to == from + 1 { from } else { to }
}

fn is_named(word: &Word<'_>) -> bool {
    word.capital && PLAIN.binary_search(&word.lower).is_err()
}

fn is_inside(word: &Word<'_>) -> bool {
    !word.apart && !word.capital && INSIDE.contains(&word.lower)
}

fn is_shouted(text: &str) -> bool {
    text.chars().count() > 1 && text.chars().all(|c| !c.is_lowercase())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_list_is_sorted() {
        assert!(super::PLAIN.is_sorted());
    }
}
