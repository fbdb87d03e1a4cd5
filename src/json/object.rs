//! Objects, made member by member.

use std::borrow::Cow;

use super::Json;

/// The members of an object, in their order.
type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// Adds members one by one. The functions behind it are compiled once and called by the hundred; an
/// array of members takes three times the code.
pub(crate) trait Add<'a> {
    /// Adds a value, or a text that is known when the program is compiled.
    fn add(&mut self, key: &'static str, value: impl Member<'a>);
}

impl<'a> Add<'a> for Members<'a> {
    fn add(&mut self, key: &'static str, value: impl Member<'a>) {
        value.add_to(self, key);
    }
}

/// What [`Add::add`] takes.
pub(crate) trait Member<'a> {
    fn add_to(self, members: &mut Members<'a>, key: &'static str);
}

impl<'a> Member<'a> for Json<'a> {
    #[inline(never)]
    fn add_to(self, members: &mut Members<'a>, key: &'static str) {
        members.push((Cow::Borrowed(key), self));
    }
}

impl<'a> Member<'a> for &'static str {
    #[inline(never)]
    fn add_to(self, members: &mut Members<'a>, key: &'static str) {
        Json::String(Cow::Borrowed(self)).add_to(members, key);
    }
}

/// Makes the members of an object: `members! { "type": "text", "text": text }`.
macro_rules! members {
    ($($key:literal: $value:expr),* $(,)?) => {{
        let mut members = Vec::new();
        $($crate::json::Add::add(&mut members, $key, $value);)*
        members
    }};
}

/// Makes an object: `object! { "type": "text", "text": text }`.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::json::Json::Object($crate::json::members! { $($key: $value),* })
    };
}

pub(crate) use {members, object};
