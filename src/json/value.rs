//! A JSON value, which borrows from its text if possible.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::{Host, JsonError, Kind, Reader, decimal, write};
use crate::limits;
use crate::order::order;

/// A JSON value. Object members keep their order; numbers keep their canonical text.
///
/// A `match` needs a wildcard arm. It stands for a hidden variant, which only the bindings of the
/// npm package make: there, long texts stay with the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Json<'a> {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as its canonical text.
    Number(Cow<'a, str>),
    /// A string, unescaped.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Self>),
    /// An object without duplicate keys, in the order of its text.
    Object(Vec<(Cow<'a, str>, Self)>),
    /// A value that stays with the host. Readers never produce it. A variant and not a type of its
    /// own, because the same functions process histories with and without such values.
    #[doc(hidden)]
    Host(Host),
}

impl<'a> Json<'a> {
    /// Parses the whole of `text` as one value, in strict mode.
    ///
    /// # Errors
    /// As [`canonicalize`](super::canonicalize), with `max_bytes` as the size limit.
    pub fn parse(text: &'a [u8], max_bytes: usize) -> Result<Self, JsonError> {
        if text.len() > max_bytes {
            return Err(JsonError::TooLarge { limit: max_bytes });
        }
        let mut reader = Reader::strict(text)?;
        let value = reader.value()?;
        reader.end()?;
        Ok(value)
    }

    /// As [`Json::parse`], for a host's own JSON: a lone surrogate becomes U+FFFD, and the last of
    /// several equal keys is used.
    ///
    /// # Errors
    /// As [`Json::parse`], except `json.lone_surrogate` and `json.duplicate_key`.
    pub fn parse_lossy(text: &'a [u8], max_bytes: usize) -> Result<Self, JsonError> {
        Self::parse_by(text, max_bytes, Reader::lossy)
    }

    /// As [`Json::parse_lossy`], for what a host writes about values of others, such as options and
    /// records: it may be deeper by [`HOST_LEVELS`](crate::limits::HOST_LEVELS).
    ///
    /// # Errors
    /// As [`Json::parse_lossy`].
    pub fn parse_host(text: &'a [u8], max_bytes: usize) -> Result<Self, JsonError> {
        Self::parse_by(text, max_bytes, Reader::host)
    }

    /// As [`Json::parse`], for the arguments of a call: a key may occur again with an equal value,
    /// which every reader understands alike.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub(crate) fn parse_arguments(text: &'a [u8], max_bytes: usize) -> Result<Self, JsonError> {
        Self::parse_by(text, max_bytes, Reader::merging)
    }

    fn parse_by(
        text: &'a [u8],
        max_bytes: usize,
        reader: fn(&'a str) -> Reader<'a>,
    ) -> Result<Self, JsonError> {
        if text.len() > max_bytes {
            return Err(JsonError::TooLarge { limit: max_bytes });
        }
        let text = std::str::from_utf8(text)
            .map_err(|error| JsonError::Syntax { offset: error.valid_up_to() })?;
        let mut reader = reader(text);
        let value = reader.value()?;
        reader.end()?;
        Ok(value)
    }

    /// Reads the next value of `reader`, which limits the depth.
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, JsonError> {
        Ok(match reader.peek()? {
            Kind::Null => {
                reader.null()?;
                Self::Null
            }
            Kind::Bool => Self::Bool(reader.bool()?),
            Kind::Number => Self::Number(reader.number()?),
            Kind::String => Self::String(reader.string()?),
            Kind::Array => {
                let mut items = Vec::new();
                reader.array(&mut |reader| {
                    let item = Self::read(reader)?;
                    // Room for one, and only then for four: deep values have many lists of one.
                    if items.is_empty() {
                        items.reserve_exact(1);
                    }
                    items.push(item);
                    Ok(())
                })?;
                Self::Array(items)
            }
            Kind::Object => {
                let mut members: Vec<(Cow<'a, str>, Self)> = Vec::new();
                reader.object(&mut |key, reader| {
                    let value = Self::read(reader)?;
                    if members.is_empty() {
                        members.reserve_exact(1);
                    }
                    members.push((key, value));
                    Ok(())
                })?;
                if !reader.is_verbatim() && has_duplicate(&members) {
                    let is_refused = !reader.merges_equal() || duplicates_differ(&members);
                    if !reader.is_lossy() && is_refused {
                        return Err(JsonError::DuplicateKey { offset: reader.offset() });
                    }
                    members = keep_last(members);
                }
                Self::Object(members)
            }
        })
    }

    /// Converts the value to one that owns its text.
    #[must_use]
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(value),
            Self::Number(text) => Json::Number(Cow::Owned(text.into_owned())),
            Self::String(text) => Json::String(Cow::Owned(text.into_owned())),
            Self::Host(host) => Json::Host(host),
            Self::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Self::Object(members) => Json::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                    .collect(),
            ),
        }
    }

    /// Makes an object from its members.
    #[must_use]
    pub fn object<const N: usize>(members: [(&'static str, Self); N]) -> Self {
        Self::gather(&mut members.into_iter())
    }

    /// Compiled once for all sizes of [`Json::object`].
    #[inline(never)]
    fn gather(members: &mut dyn ExactSizeIterator<Item = (&'static str, Self)>) -> Self {
        let mut all = Vec::with_capacity(members.len());
        for (key, value) in members {
            all.push((Cow::Borrowed(key), value));
        }
        Self::Object(all)
    }

    /// Makes a string.
    #[must_use]
    pub fn string(text: impl Into<Cow<'a, str>>) -> Self {
        Self::String(text.into())
    }

    /// Makes a number from an unsigned integer.
    #[must_use]
    pub fn integer(value: u64) -> Self {
        Self::Number(Cow::Owned(value.to_string()))
    }

    /// Makes a number from a finite double, and `null` from any other double.
    #[must_use]
    pub fn double(value: f64) -> Self {
        if !value.is_finite() {
            return Self::Null;
        }
        Self::Number(Cow::Owned(super::number::ecmascript(value)))
    }

    /// Returns the member `key` of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().find_map(|(name, value)| (name == key).then_some(value))
            }
            _ => None,
        }
    }

    /// Returns the item of an array at `index`, from 0.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&Self> {
        self.as_array()?.get(index)
    }

    /// Returns the members of an object, in their order; none if this is not an object.
    pub fn members(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&str, &Self)> + ExactSizeIterator + Clone {
        let members = self.as_object().unwrap_or_default();
        members.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Returns the items of an array, in their order; none if this is not an array.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &Self> + ExactSizeIterator + Clone {
        self.as_array().unwrap_or_default().iter()
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The text of an object's member `type`.
    #[inline(never)]
    pub(crate) fn kind(&self) -> Option<&str> {
        self.get("type").and_then(Self::as_str)
    }

    /// Returns the value of a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the double nearest to a number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(text) => Some(decimal::parse(text)),
            _ => None,
        }
    }

    /// Returns the value of a non-negative integer that a `u64` can hold.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Returns the items of an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&[(Cow<'a, str>, Self)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Appends the RFC 8785 text.
    pub fn write_canonical(&self, out: &mut String) {
        write::write(self, out, true);
    }

    /// Appends the text, with members in their own order.
    pub fn write(&self, out: &mut String) {
        write::write(self, out, false);
    }

    /// Returns the RFC 8785 text.
    #[must_use]
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// Returns the text, with members in their own order.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// As [`Json::parse`], with the default size limit [`limits::JSON_BYTES`].
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_str(text: &'a str) -> Result<Self, JsonError> {
        Self::parse(text.as_bytes(), limits::JSON_BYTES)
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self::String(Cow::Borrowed(text))
    }
}

impl From<String> for Json<'_> {
    fn from(text: String) -> Self {
        Self::String(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Json<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl From<$type> for Json<'_> {
            fn from(value: $type) -> Self {
                Self::Number(Cow::Owned(value.to_string()))
            }
        }
    )*};
}

whole!(i32, i64, u32, u64, usize);

/// `null` for a double that is not finite.
impl From<f64> for Json<'_> {
    fn from(value: f64) -> Self {
        Self::double(value)
    }
}

/// `null` for `None`.
impl<'a, T: Into<Self>> From<Option<T>> for Json<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a, T: Into<Self>> From<Vec<T>> for Json<'a> {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

/// As [`Json::parse_str`], but the value owns its text.
impl FromStr for Json<'static> {
    type Err = JsonError;

    fn from_str(text: &str) -> Result<Self, JsonError> {
        Json::parse_str(text).map(Json::into_owned)
    }
}

/// Writes the text of [`Json::to_text`].
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

/// Keeps the last of several equal keys, as `JSON.parse` does. The members are then in their order.
fn keep_last<'a>(mut members: Vec<(Cow<'a, str>, Json<'a>)>) -> Vec<(Cow<'a, str>, Json<'a>)> {
    let mut kept: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
    for place in by_key(&members) {
        let Some(member) = members.get_mut(place).map(std::mem::take) else { continue };
        match kept.last_mut() {
            Some(last) if last.0 == member.0 => *last = member,
            _ => kept.push(member),
        }
    }
    kept
}

/// Whether two members have the same key.
///
/// Comparing all pairs is fastest for small objects. It takes quadratic time, so the keys of
/// larger objects, which may come from an attacker, are sorted instead.
fn has_duplicate(members: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    let same = |(a, _): &(Cow<'_, str>, Json<'_>), (b, _): &(Cow<'_, str>, Json<'_>)| a == b;
    if members.len() <= 16 {
        let mut rest = members;
        while let [member, behind @ ..] = rest {
            if behind.iter().any(|other| same(member, other)) {
                return true;
            }
            rest = behind;
        }
        return false;
    }
    let sorted = by_key(members);
    let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
    pairs.any(|(a, b)| members.get(*a).zip(members.get(*b)).is_some_and(|(a, b)| same(a, b)))
}

/// Whether members with the same key have different values.
fn duplicates_differ(members: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    let sorted = by_key(members);
    let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
    pairs.any(|(a, b)| {
        let pair = members.get(*a).zip(members.get(*b));
        pair.is_some_and(|(a, b)| a.0 == b.0 && a.1.to_canonical() != b.1.to_canonical())
    })
}

/// The places of members, in the order of their keys.
fn by_key(members: &[(Cow<'_, str>, Json<'_>)]) -> Vec<usize> {
    let key = |place: usize| members.get(place).map(|(key, _)| key);
    order(members.len(), &mut |a, b| key(a).cmp(&key(b)))
}
