//! Histories that are trimmed to a bound.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnlock::Dialect;
use turnlock::history::{Code, HistoryOptions, Normalized, TrimOptions, Trimmed, trim};
use turnlock::json::Json;

use crate::common::repo;
use crate::random::history;
use crate::{elements, made, value};

fn size(made: &Normalized<'_>) -> u64 {
    let all = made.messages.iter().chain(&made.system);
    let bytes: usize = all.map(|part| part.to_text().len()).sum();
    (bytes + made.messages.len() + 1) as u64
}

/// The table that the npm package plays too.
#[test]
fn whole_turns_are_left_out() {
    let text = std::fs::read_to_string(repo().join("tests/histories/trim.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let input = case["history"].to_string();
        let pinned = |_: &Json<'_>, at: usize| {
            case["keep"].as_array().into_iter().flatten().any(|one| one.as_u64() == Some(at as u64))
        };
        let words = |text: &str| text.split(' ').count() as u64;
        let dialect = Dialect::parse(case["dialect"].as_str().unwrap()).unwrap();
        let mut options = TrimOptions::new(dialect).keep(&pinned);
        if let Some(most) = case["maxBytes"].as_u64() {
            options = options.max_bytes(most);
        }
        if let Some(most) = case["maxTokens"].as_u64() {
            options = options.max_tokens(most);
        }
        if case["words"] == true {
            options = options.count_tokens(&words);
        }
        let fitted = trim(elements(&input), options).unwrap();
        let dropped: Vec<_> =
            fitted.dropped.iter().map(|one| json!({ "from": one.start, "to": one.end })).collect();
        assert_eq!(Value::Array(dropped), case["dropped"], "{name}");
        assert_eq!(fitted.tokens, case["tokens"].as_u64(), "{name}");
    }
    assert!(cases.len() >= 10, "{}", cases.len());
}

/// Brackets and commas count, too.
#[test]
fn a_bound_is_the_length_of_the_list_in_json() {
    let long = json!([
        { "role": "user", "content": "one" }, { "role": "assistant", "content": "1" },
        { "role": "user", "content": "two" }, { "role": "assistant", "content": "2" },
        { "role": "user", "content": "three" },
    ]);
    let text = long.to_string();
    let most = text.len() as u64;
    let dropped = |most: u64| {
        let options = TrimOptions::new(Dialect::OpenAiChat).max_bytes(most);
        trim(elements(&text), options).unwrap().dropped.len()
    };
    assert_eq!((dropped(most), dropped(most - 1)), (0, 1));
}

fn is_system(element: &Value) -> bool {
    element["role"] == "system" || element["role"] == "developer"
}

fn counted(made: &Normalized<'_>) -> BTreeMap<&'static str, usize> {
    let mut all = BTreeMap::new();
    for repair in &made.repairs {
        // Of a reused id, a second result behind an answer belongs to a lost call. Where the first call
        // is left out, it stands before the next call with this id.
        let name = match repair.code {
            Code::ToolResultBeforeCall => Code::ToolResultOrphan.name(),
            code => code.name(),
        };
        *all.entry(name).or_default() += 1;
    }
    all
}

/// A part of the history, whole, and nothing in it is worse than before.
fn check(given: &[Value], dialect: Dialect, most: u64, pin: Option<usize>) -> Trimmed<'static> {
    let text = Value::Array(given.to_vec()).to_string();
    let before = made(&text, &HistoryOptions::new(dialect));
    let keep = |_: &Json<'_>, at: usize| Some(at) == pin;
    let options = TrimOptions::new(dialect).max_bytes(most).keep(&keep);
    let fitted = trim(elements(&text), options).unwrap();
    let shown = || format!("{} {most} {pin:?} {:?}: {text}", dialect.name(), fitted.dropped);

    let gone = |at: usize| fitted.dropped.iter().any(|range| range.contains(&at));
    let stayed: Vec<&Value> =
        given.iter().enumerate().filter(|(at, _)| !gone(*at)).map(|(_, one)| one).collect();
    assert_eq!(
        fitted.history.iter().map(value).collect::<Vec<_>>(),
        stayed.iter().map(|one| (*one).clone()).collect::<Vec<_>>(),
        "{}",
        shown()
    );
    for (at, element) in given.iter().enumerate() {
        assert!(!gone(at) || !is_system(element) && Some(at) != pin, "{}", shown());
    }

    let rest = Json::Array(fitted.history.clone()).to_text();
    let after = made(&rest, &HistoryOptions::new(dialect));
    assert!(size(&before) > most || fitted.dropped.is_empty(), "{}", shown());
    if size(&after) > most {
        // Only what must stay is left: more cannot be left out.
        let again = trim(elements(&rest), TrimOptions::new(dialect).max_bytes(1)).unwrap();
        assert!(pin.is_some() || again.dropped.is_empty(), "{}", shown());
    }
    // Instructions that stand behind each other now, and were apart, are merged.
    let old = counted(&before);
    for (code, count) in counted(&after) {
        let least = old.get(code).copied().unwrap_or(0);
        let system = code.starts_with("SYSTEM_")
            || code == "ROLE_ALTERNATION" && given.iter().any(is_system);
        assert!(system || count <= least, "{code}: {}\n{rest}", shown());
    }
    Trimmed { history: fitted.history.into_iter().map(Json::into_owned).collect(), ..fitted }
}

#[test]
fn a_random_history_is_trimmed_by_whole_turns() {
    let mut trimmed = 0;
    for seed in 1..=crate::random::seeds() / 2 {
        let given = history(seed).elements;
        for dialect in Dialect::ALL {
            for most in [1, 300, 900] {
                let pin = (seed % 3 == 0 && !given.is_empty())
                    .then(|| usize::try_from(seed).unwrap() % given.len());
                trimmed += usize::from(!check(&given, dialect, most, pin).dropped.is_empty());
            }
        }
    }
    assert!(trimmed > 1000, "{trimmed}");
}

/// Cuts are found by halves, which is right only where fewer turns are never longer.
#[test]
fn fewer_turns_are_never_longer() {
    let mut pairs = 0;
    for seed in 1..=20 {
        let several = (seed * 4..seed * 4 + 4).flat_map(|seed| history(seed).elements);
        let text = Value::Array(several.collect()).to_string();
        for dialect in Dialect::ALL {
            let normal = HistoryOptions::new(dialect);
            let whole = size(&made(&text, &normal));
            let step = usize::try_from(whole / 24 + 1).unwrap();
            let mut left = BTreeMap::new();
            for most in (1..=whole).step_by(step) {
                let options = TrimOptions::new(dialect).max_bytes(most);
                let fitted = trim(elements(&text), options).unwrap();
                let dropped: usize = fitted.dropped.iter().map(ExactSizeIterator::len).sum();
                let rest = Json::Array(fitted.history).to_text();
                left.insert(dropped, size(&made(&rest, &normal)));
            }
            pairs += left.len() - 1;
            assert!(left.values().rev().is_sorted(), "{} {left:?}: {text}", dialect.name());
        }
    }
    assert!(pairs > 500, "{pairs}");
}

/// The cut moves only now and then, so that the beginning of the request stays the same.
#[test]
fn the_cut_stays_while_the_history_grows() {
    let mut given = vec![json!({ "role": "system", "content": "S" })];
    let mut cuts = Vec::new();
    for turn in 0..400 {
        given.push(json!({ "role": "user", "content": format!("question {turn:04}") }));
        given.push(json!({ "role": "assistant", "content": format!("answer {turn:04}") }));
        let fitted = check(&given, Dialect::OpenAiChat, 4_000, None);
        cuts.push(fitted.dropped.first().map_or(0, |range| range.end));
    }
    let kept = cuts.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(cuts.is_sorted() && kept > 360, "{kept} {cuts:?}");
    assert!(*cuts.last().unwrap() > 600, "{cuts:?}");
}
