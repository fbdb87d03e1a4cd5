//! Trims a history to a bound, by whole turns.

use std::fmt;

use super::entries::{History, Normalized};
use super::normalize;
use super::options::HistoryOptions;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::json::Json;

/// Bytes of JSON text that count as one token where the host does not count them.
const TOKEN_BYTES: u64 = 3;

/// How many parts of the bound are left out at once. The cut then stays where it is while the history
/// grows by such a part, and the provider's prompt cache stays valid.
const PARTS: f64 = 4.0;

/// Whether an element is pinned.
type Keep<'f> = &'f dyn Fn(&Json<'_>, usize) -> bool;

/// The bounds of [`trim`], and what must stay.
///
/// ```
/// use turnlock::Dialect;
/// use turnlock::history::TrimOptions;
///
/// let options = TrimOptions::new(Dialect::Anthropic).max_tokens(100_000).keep(&|_, index| index == 2);
/// ```
#[derive(Clone, Copy)]
pub struct TrimOptions<'f> {
    dialect: Dialect,
    max_tokens: Option<u64>,
    max_bytes: Option<u64>,
    count_tokens: Option<&'f dyn Fn(&str) -> u64>,
    keep: Option<Keep<'f>>,
}

impl fmt::Debug for TrimOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrimOptions")
            .field("dialect", &self.dialect)
            .field("max_tokens", &self.max_tokens)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl<'f> TrimOptions<'f> {
    /// No bounds yet, for requests to this provider.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, max_tokens: None, max_bytes: None, count_tokens: None, keep: None }
    }

    /// The most tokens of the messages and the system prompt.
    #[must_use]
    pub fn max_tokens(self, most: u64) -> Self {
        Self { max_tokens: Some(most), ..self }
    }

    /// The most bytes of their JSON text.
    #[must_use]
    pub fn max_bytes(self, most: u64) -> Self {
        Self { max_bytes: Some(most), ..self }
    }

    /// Counts the tokens of the JSON text of one message. Default: a token for three bytes, an
    /// estimate that is rather too high.
    #[must_use]
    pub fn count_tokens(self, count: &'f dyn Fn(&str) -> u64) -> Self {
        Self { count_tokens: Some(count), ..self }
    }

    /// Pins elements, by their index from 0: the turn of a pinned element stays.
    #[must_use]
    pub fn keep(self, keep: Keep<'f>) -> Self {
        Self { keep: Some(keep), ..self }
    }
}

/// A history that was trimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trimmed<'a> {
    /// The elements that stay, as they were given.
    pub history: Vec<Json<'a>>,
    /// The elements that were left out, as ranges of their indexes, without the ends.
    pub dropped: Vec<std::ops::Range<usize>>,
    /// The tokens of what stays, if tokens are bounded or counted.
    pub tokens: Option<u64>,
}

/// What a part of a history costs.
#[derive(Debug, Clone, Copy)]
struct Size {
    bytes: u64,
    tokens: u64,
}

/// Leaves out the oldest turns until the request fits. Turns are left out whole, so no call loses its
/// result. Instructions, the latest turn and what is pinned stay, even above the bound. What is
/// measured is the JSON text of the normalized messages and the system prompt.
///
/// More is left out at once than needed, up to a quarter of the bound, so that the beginning of the
/// request stays the same for a while.
///
/// ```
/// use turnlock::Dialect;
/// use turnlock::json::Json;
/// use turnlock::history::{TrimOptions, trim};
///
/// let said = |text: &'static str| Json::object([("role", "user".into()), ("content", text.into())]);
/// let history = vec![said("an old story"), said("and a newer one"), said("what now?")];
/// let fitted = trim(history, TrimOptions::new(Dialect::OpenAiChat).max_bytes(60))?;
/// assert_eq!(fitted.dropped, [0..2]);
/// assert_eq!(fitted.history.len(), 1);
/// # Ok::<(), turnlock::Error>(())
/// ```
///
/// # Errors
/// As [`normalize`].
pub fn trim<'a>(history: Vec<Json<'a>>, options: TrimOptions<'_>) -> Result<Trimmed<'a>, Error> {
    let normal = HistoryOptions::new(options.dialect);
    let mut read = History::new(normal.clone());
    read.append(history.iter().cloned())?;
    let units = read.turns();
    let last = units.iter().copied().flatten().max().unwrap_or(0);
    let mut stays: Vec<bool> = (0..=last).map(|unit| unit == last).collect();
    if let Some(keep) = options.keep {
        for (index, element) in history.iter().enumerate() {
            if let Some(pinned) = units.get(index).copied().flatten().and_then(|u| stays.get_mut(u))
            {
                *pinned |= keep(element, index);
            }
        }
    }
    let of = |wanted: &dyn Fn(Option<usize>) -> bool| -> Vec<Json<'a>> {
        let both = history.iter().zip(&units);
        both.filter(|(_, unit)| wanted(**unit)).map(|(element, _)| element.clone()).collect()
    };
    let size = |part: Vec<Json<'a>>| Ok::<_, Error>(options.size(&normalize(part, &normal)?));
    let mut whole = size(history.clone())?;
    // How many of the oldest units are left out, of those that may be.
    let mut cut = 0;
    if !options.holds(whole) {
        let mut parts: Vec<Vec<Json<'a>>> = vec![Vec::new(); last + 1];
        for (element, unit) in history.iter().zip(&units) {
            if let Some(part) = unit.and_then(|unit| parts.get_mut(unit)) {
                part.push(element.clone());
            }
        }
        let (mut free, mut costs) = (Vec::new(), Vec::new());
        for (unit, part) in parts.into_iter().enumerate() {
            if stays.get(unit) == Some(&false) {
                free.push(unit);
                costs.push(options.part(size(part)?));
            }
        }
        let cuts = cuts(&costs, options.part(whole));
        let behind = |at: usize| {
            let end = cuts.get(at).copied().unwrap_or(0);
            free.get(end.saturating_sub(1)).map_or(0, |unit| unit + 1)
        };
        let left = |cut: usize| {
            size(of(&|unit| unit.is_none_or(|u| u >= cut || stays.get(u) == Some(&true))))
        };
        // The first one suffices mostly. Otherwise halves are left, not all of them tried: each try
        // reads what stays.
        let (mut low, mut high, mut at) = (0, cuts.len().saturating_sub(1), 0);
        let mut known = false;
        while low < high {
            let tried = left(behind(at))?;
            if options.holds(tried) {
                (high, whole, known) = (at, tried, true);
            } else {
                low = at + 1;
            }
            at = low.midpoint(high);
        }
        cut = behind(high);
        if !known {
            whole = left(cut)?;
        }
    }
    let mut fitted = Trimmed { history: Vec::new(), dropped: Vec::new(), tokens: None };
    if options.max_tokens.is_some() || options.count_tokens.is_some() {
        fitted.tokens = Some(whole.tokens);
    }
    for (index, (element, unit)) in history.into_iter().zip(units).enumerate() {
        if unit.is_none_or(|unit| unit >= cut || stays.get(unit) == Some(&true)) {
            fitted.history.push(element);
            continue;
        }
        match fitted.dropped.last_mut() {
            Some(range) if range.end == index => range.end += 1,
            _ => fitted.dropped.push(index..index + 1),
        }
    }
    Ok(fitted)
}

/// How many of the oldest units to try to leave out, the fewest first. A cut is made only where the
/// cost from the beginning passes a quarter of the bound, or behind all units. The first cuts are left
/// out that cannot suffice.
fn cuts(costs: &[f64], whole: f64) -> Vec<usize> {
    let mut all = Vec::new();
    let mut from_start = 0.0;
    for (at, cost) in costs.iter().enumerate() {
        let before = from_start;
        from_start += cost;
        let passes = (from_start * PARTS).floor() > (before * PARTS).floor();
        if at + 1 == costs.len() || passes && whole - from_start <= 1.0 {
            all.push(at + 1);
        }
    }
    all
}

impl TrimOptions<'_> {
    fn size(&self, made: &Normalized<'_>) -> Size {
        let mut size = Size { bytes: 0, tokens: 0 };
        for part in made.messages.iter().chain(&made.system) {
            let text = part.to_text();
            let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
            size.bytes += bytes;
            size.tokens += match self.count_tokens {
                Some(count) => count(&text),
                None => bytes.div_ceil(TOKEN_BYTES),
            };
        }
        // Brackets and commas.
        size.bytes += u64::try_from(made.messages.len()).unwrap_or(u64::MAX) + 1;
        size
    }

    fn holds(&self, size: Size) -> bool {
        self.max_bytes.is_none_or(|most| size.bytes <= most)
            && self.max_tokens.is_none_or(|most| size.tokens <= most)
    }

    /// The part of the bound that is used; of two bounds, the larger part.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn part(&self, size: Size) -> f64 {
        let part = |used: u64, most: Option<u64>| {
            most.map_or(0.0, |most| used as f64 / most.max(1) as f64)
        };
        part(size.bytes, self.max_bytes).max(part(size.tokens, self.max_tokens))
    }
}
