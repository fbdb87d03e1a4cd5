//! The language of a query, and words of comparison and analysis in languages other than English.

use super::words::Word;
use crate::json::table::names;
use crate::text::find;

names! {
    /// The language of a query, as far as the classifier knows it.
    pub enum Language as "QueryLanguage", "en, de, es, fr, zh or uncovered", non_exhaustive {
        /// English: all signals apply.
        English "en",
        /// German: words of comparison and analysis are known.
        German "de",
        /// Spanish: words of comparison and analysis are known.
        Spanish "es",
        /// French: words of comparison and analysis are known.
        French "fr",
        /// Chinese: words of comparison and analysis are known.
        Chinese "zh",
        /// Another language, whose words are not known: the score says little.
        Uncovered "uncovered",
    }
}

/// Frequent words that tell languages apart.
const MARKERS: &[(Language, &[&str])] = &[
    (
        Language::English,
        &[
            "the", "of", "and", "is", "are", "was", "were", "what", "which", "who", "how", "why",
            "when", "where", "did", "does", "do", "to", "with", "for", "between", "or", "on", "by",
            "from", "has", "have", "that", "this", "it", "my", "you", "be", "at", "i",
        ],
    ),
    (
        Language::German,
        &[
            "der", "die", "das", "und", "oder", "ist", "sind", "war", "waren", "wie", "wer", "wo",
            "wann", "warum", "welche", "welcher", "welches", "den", "dem", "des", "ein", "eine",
            "einer", "von", "vom", "im", "mit", "zwischen", "auf", "für", "zum", "zur", "hat",
            "nicht", "wir", "ich",
        ],
    ),
    (
        Language::Spanish,
        &[
            "el", "los", "las", "y", "es", "son", "fue", "del", "qué", "cuál", "cuáles", "quién",
            "cómo", "dónde", "cuándo", "por", "con", "para", "entre", "una", "cuánto", "muy",
        ],
    ),
    (
        Language::French,
        &[
            "le", "les", "et", "ou", "est", "sont", "était", "du", "des", "quel", "quelle",
            "quels", "quelles", "qui", "où", "quand", "comment", "pourquoi", "entre", "une",
            "dans", "avec", "sur", "aux", "au", "il", "elle",
        ],
    ),
    (
        Language::Uncovered,
        &[
            // Italian, Portuguese, Dutch, Swedish, Polish, Turkish, Indonesian.
            "il",
            "lo",
            "gli",
            "che",
            "della",
            "delle",
            "dei",
            "sono",
            "quale",
            "quali",
            "perché",
            "não",
            "são",
            "qual",
            "quais",
            "uma",
            "dos",
            "das",
            "pela",
            "het",
            "een",
            "zijn",
            "welke",
            "wat",
            "waarom",
            "tussen",
            "och",
            "är",
            "vad",
            "vilken",
            "mellan",
            "jest",
            "jak",
            "między",
            "ve",
            "nedir",
            "hangi",
            "ile",
            "dan",
            "apa",
            "yang",
            "antara",
            "bu",
            "neden",
            "nasıl",
            "bir",
            "için",
            "vergelijk",
            "verschil",
            "hoe",
            "voor",
            "deze",
            "confronta",
            "differenza",
            "dove",
            "nel",
            "nella",
            "porównaj",
            "względem",
            "dlaczego",
            "czy",
            "się",
            "oraz",
            "và",
            "là",
            "của",
            "không",
            "với",
        ],
    ),
];

/// Beginnings of words that ask for a comparison or an analysis.
const STEMS: &[(Language, &[&str])] = &[
    (
        Language::German,
        &[
            "vergleich",
            "verglichen",
            "unterschied",
            "unterscheide",
            "analys",
            "untersuch",
            "zusammenhang",
            "auswirkung",
            "ursache",
            "entwicklung",
            "trends",
            "zeitleiste",
            "zeitstrahl",
            "chronologie",
            "einfluss",
            "folgen",
            "gegenüber",
        ],
    ),
    (
        Language::Spanish,
        &[
            "compar",
            "diferencia",
            "anali",
            "análisis",
            "investig",
            "cronolog",
            "evolución",
            "relación",
            "impacto",
            "causa",
            "efecto",
            "tendencia",
            "consecuencia",
        ],
    ),
    (
        Language::French,
        &[
            "compar",
            "différence",
            "analys",
            "enquêt",
            "chronologie",
            "évolution",
            "relation",
            "impact",
            "cause",
            "effet",
            "tendance",
            "conséquence",
            "lien",
        ],
    ),
    (
        Language::Chinese,
        &[
            "比较",
            "比較",
            "对比",
            "對比",
            "区别",
            "區別",
            "差异",
            "差異",
            "不同",
            "分析",
            "调查",
            "調查",
            "时间线",
            "時間線",
            "演变",
            "演變",
            "关系",
            "關係",
            "影响",
            "影響",
            "原因",
            "趋势",
            "趨勢",
            "还是",
            "還是",
            "哪个好",
            "哪個好",
            "哪个更",
            "哪個更",
        ],
    ),
];

/// The language of a query. Without a frequent word of any language it is English if its letters
/// are Latin.
pub(super) fn language(query: &str, words: &[Word<'_>]) -> Language {
    let (mut latin, mut han, mut other) = (0, 0, 0);
    for c in query.chars().filter(|c| c.is_alphabetic()) {
        match u32::from(c) {
            0..0x250 | 0x1E00..0x1F00 => latin += 1,
            0x3400..0xA000 | 0xF900..0xFB00 | 0x2_0000..0x3_0000 => han += 2,
            // Kana stand among Han characters in Japanese only.
            0x3040..0x3100 => other += 100,
            _ => other += 2,
        }
    }
    if other > latin.max(han) {
        return Language::Uncovered;
    }
    if han > latin {
        return Language::Chinese;
    }
    let mut best = (0, Language::English);
    for (language, markers) in MARKERS {
        let count = words.iter().filter(|word| markers.contains(&word.lower)).count();
        if count > best.0 {
            best = (count, *language);
        }
    }
    // Latin names in a Chinese question: no word of another language is among them.
    if han > 0 && best.0 == 0 {
        return Language::Chinese;
    }
    let foreign = |word: &&Word<'_>| !word.capital && word.text.chars().any(is_foreign);
    if best.0 == 0 && words.iter().any(|word| foreign(&word)) {
        return Language::Uncovered;
    }
    best.1
}

/// Whether a Latin letter occurs in none of the languages that have a lexicon: Polish, Turkish,
/// Vietnamese, Czech and others. In a capitalized word it may be a name.
fn is_foreign(c: char) -> bool {
    matches!(c, 'ã' | 'å' | 'ð' | 'õ' | 'ø' | 'þ' | 'ı')
        || (matches!(u32::from(c), 0x100..0x152 | 0x154..0x250 | 0x1E00..0x1F00)
            && c.is_alphabetic())
}

/// Whether a question in a language other than English asks why something happened.
fn asks_why(language: Language, query: &str, words: &[Word<'_>]) -> bool {
    let at = |place: usize| words.get(place).map_or("", |word| word.lower);
    let ends = |endings: &[&str]| {
        let past = |word: &Word<'_>| endings.iter().any(|end| word.lower.ends_with(end));
        words.len() > 3 && words.iter().skip(1).any(past)
    };
    match language {
        Language::German => {
            let last = words.last().map_or("", |word| word.lower);
            let participle = find(last, "ge").is_some() && last.ends_with(['t', 'n']);
            let past = participle || words.iter().any(|word| word.lower.starts_with("wurde"));
            ["warum", "weshalb", "wieso"].contains(&at(0)) && words.len() > 3 && past
        }
        Language::Spanish => {
            at(0) == "por" && at(1) == "qué" && ends(&["ó", "aron", "eron", "fue"])
        }
        Language::French => at(0) == "pourquoi" && ends(&["é", "ée", "és", "ées"]),
        Language::Chinese => ["为什么", "為什麼", "为何", "為何"].iter().any(|why| {
            let rest = find(query, why).and_then(|at| query.get(at + why.len()..));
            rest.is_some_and(|rest| rest.chars().count() > 2 && !rest.starts_with('是'))
        }),
        _ => false,
    }
}

/// The word of comparison or analysis in a query of a language other than English.
pub(super) fn asks<'w>(language: Language, query: &str, words: &[Word<'w>]) -> Option<&'w str> {
    let (_, stems) = STEMS.iter().find(|(one, _)| *one == language)?;
    let inner = words.get(1..words.len().saturating_sub(1)).unwrap_or_default();
    if inner.iter().any(|word| ["vs", "versus"].contains(&word.lower)) {
        return Some("vs");
    }
    if asks_why(language, query, words) {
        return Some("why");
    }
    if language == Language::Chinese {
        return stems.iter().copied().find(|stem| crate::text::holds(query, stem));
    }
    let known = |word: &&Word<'w>| stems.iter().any(|stem| word.lower.starts_with(stem));
    words.iter().find(known).map(|word| word.lower)
}
