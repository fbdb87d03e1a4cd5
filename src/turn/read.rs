//! Reads options from JSON. Each error names the option.

use crate::error::Error;
use crate::json::Json;

pub(crate) fn invalid(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected }
}

pub(crate) fn text_of<'a>(path: &str, value: &'a Json<'_>) -> Result<&'a str, Error> {
    value.as_str().ok_or_else(|| invalid(path, "a string"))
}

pub(crate) fn boolean(path: &str, value: &Json<'_>) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| invalid(path, "true or false"))
}

pub(crate) fn long(path: &str, value: &Json<'_>, least: u64, most: u64) -> Result<u64, Error> {
    value
        .as_u64()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| invalid(path, "a whole number in range"))
}

pub(crate) fn number(path: &str, value: &Json<'_>, least: u32, most: u32) -> Result<u32, Error> {
    let number = long(path, value, u64::from(least), u64::from(most))?;
    u32::try_from(number).map_err(|_| invalid(path, "a whole number in range"))
}

pub(crate) fn choice<T: Copy>(
    path: &str,
    value: &Json<'_>,
    names: &[(&str, T)],
    expected: &'static str,
) -> Result<T, Error> {
    let name = value.as_str().unwrap_or_default();
    let found = names.iter().find_map(|(known, choice)| (*known == name).then_some(*choice));
    found.ok_or_else(|| invalid(path, expected))
}

/// Returns the name of a choice: the reverse of [`choice`].
pub(crate) fn name_of<T: PartialEq>(names: &[(&'static str, T)], choice: T) -> Json<'static> {
    names.iter().find(|(_, one)| *one == choice).map_or(Json::Null, |(name, _)| (*name).into())
}
