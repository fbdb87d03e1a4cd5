//! The members of an object, taken one by one.

use std::borrow::Cow;

use crate::json::Json;
use crate::provider::Members;

/// The members of an object: known members are taken, the rest stays.
#[derive(Debug, Clone)]
pub(in crate::history) struct Fields<'a>(Members<'a>);

impl<'a> Fields<'a> {
    pub(in crate::history) fn of(value: Json<'a>) -> Option<Self> {
        match value {
            Json::Object(members) => Some(Self(members)),
            _ => None,
        }
    }

    fn at(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|(name, _)| name == key)
    }

    /// The member, if there is one and it is not null.
    pub(super) fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.0
            .iter()
            .find_map(|(name, value)| (name == key).then_some(value))
            .filter(|v| !v.is_null())
    }

    pub(super) fn is_null(&self, key: &str) -> bool {
        self.0.iter().any(|(name, value)| name == key && value.is_null())
    }

    pub(in crate::history) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn has_text(&self, key: &str) -> bool {
        self.get(key).is_some_and(Json::is_text)
    }

    pub(in crate::history) fn is(&self, key: &str, text: &str) -> bool {
        self.get(key).and_then(Json::as_str) == Some(text)
    }

    /// A copy of the member, if it is a text.
    pub(in crate::history) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        match self.get(key) {
            Some(Json::String(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// Removes and returns the member; null counts as absent.
    pub(in crate::history) fn take(&mut self, key: &str) -> Option<Json<'a>> {
        let at = self.at(key)?;
        let (_, value) = self.0.remove(at);
        Some(value).filter(|value| !value.is_null())
    }

    /// Returns the first of these members that is present, and removes all of them.
    pub(super) fn take_any(&mut self, keys: &[&str]) -> Option<Json<'a>> {
        let mut found = None;
        for key in keys {
            let value = self.take(key);
            if found.is_none() {
                found = value;
            }
        }
        found
    }

    /// Removes and returns the member if it is a text.
    pub(in crate::history) fn take_text(&mut self, key: &str) -> Option<Cow<'a, str>> {
        let text = self.text(key)?;
        self.take(key);
        Some(text)
    }

    pub(super) fn take_any_text(&mut self, keys: &[&str]) -> Option<Cow<'a, str>> {
        match self.take_any(keys) {
            Some(Json::String(text)) => Some(text),
            Some(Json::Number(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn take_list(&mut self, key: &str) -> Option<Vec<Json<'a>>> {
        match self.take(key) {
            Some(Json::Array(items)) => Some(items),
            _ => None,
        }
    }

    /// Removes members that have no meaning for a provider.
    pub(super) fn forget(&mut self, keys: &[&str]) {
        self.0.retain(|(name, _)| !keys.contains(&name.as_ref()));
    }

    /// Whether no member is left, but for nulls.
    pub(in crate::history) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, value)| value.is_null())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn insert(&mut self, key: &'static str, value: Json<'a>) {
        self.0.push((Cow::Borrowed(key), value));
    }

    /// Adds the remaining members of another object.
    #[inline(never)]
    pub(super) fn with(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The remaining members, without nulls.
    pub(in crate::history) fn rest(self) -> Members<'a> {
        self.0.into_iter().filter(|(_, value)| !value.is_null()).collect()
    }

    pub(super) fn into_json(self) -> Json<'a> {
        Json::Object(self.0)
    }
}
