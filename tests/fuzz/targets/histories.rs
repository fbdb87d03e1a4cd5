//! Histories of any shape.

use turnlock::Dialect;
use turnlock::history::{HistoryOptions, TrimOptions, diagnose, normalize, trim as trimmed};
use turnlock::json::Json;

use super::Bytes;

fn elements<'a>(text: &'a [u8]) -> Option<Vec<Json<'a>>> {
    match Json::parse_lossy(text, 1 << 20).ok()? {
        Json::Array(items) => Some(items),
        one => Some(vec![one]),
    }
}

/// Messages of any text.
pub(super) fn history(data: &[u8]) {
    let mut bytes = Bytes(data);
    let dialect = Dialect::ALL[bytes.below(Dialect::ALL.len())];
    hold(bytes.0, dialect);
}

/// What is made of a history is valid, and is made of itself without a change.
pub(super) fn hold(text: &[u8], dialect: Dialect) {
    let Some(all) = elements(text) else { return };
    let options = HistoryOptions::new(dialect);
    let known = diagnose(all.clone(), dialect);
    let made = match normalize(all, &options) {
        Ok(made) => made,
        Err(error) => {
            assert_eq!(known.unwrap_err().code(), error.code());
            return;
        }
    };
    let own: Vec<_> = made.messages.iter().map(Json::clone).collect();
    if own.is_empty() {
        return;
    }
    let given = || format!("{dialect:?}: {}", String::from_utf8_lossy(text));
    let left = diagnose(own.clone(), dialect)
        .unwrap_or_else(|error| panic!("cannot be read: {error:?}, {own:?}, of {}", given()));
    assert!(left.is_empty(), "would be refused: {left:?} in {own:?}, of {}", given());
    let again = normalize(own.clone(), &options).expect("own messages can be read");
    assert_eq!(again.messages, own, "made of itself, {}", given());
}

/// What fits is not longer than what was given.
pub(super) fn trim(data: &[u8]) {
    let mut bytes = Bytes(data);
    let dialect = Dialect::ALL[bytes.below(Dialect::ALL.len())];
    let most = 1 + u64::from(bytes.byte()) * 16;
    let Some(all) = elements(bytes.0) else { return };
    let count = all.len();
    let options = TrimOptions::new(dialect).max_bytes(most);
    if let Ok(trimmed) = trimmed(all, options) {
        assert!(trimmed.history.len() <= count);
    }
}
