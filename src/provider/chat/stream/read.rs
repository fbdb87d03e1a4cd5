//! Readers of values that may have another form, which they skip.

use std::borrow::Cow;

use crate::json::{Json, JsonError, Kind, Reader};

/// Reads a finish reason. One that is no text is a reason, too, but none that is known.
pub(super) fn reason<'a>(reader: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>, JsonError> {
    match reader.peek()? {
        Kind::String => reader.string().map(Some),
        Kind::Null => reader.null().map(|()| None),
        _ => reader.raw().map(|raw| Some(raw.into())),
    }
}

/// Keeps a list that is not empty, as an object with this member.
pub(super) fn keep<'a>(
    key: &str,
    reader: &mut Reader<'a>,
    kept: &mut Vec<String>,
) -> Result<(), JsonError> {
    let value = reader.value()?;
    if value.items().len() > 0 {
        kept.push(Json::Object(vec![(key.into(), value)]).to_text());
    }
    Ok(())
}

/// Reads an object; any other value is skipped.
pub(super) fn object<'a>(
    reader: &mut Reader<'a>,
    member: &mut dyn FnMut(&str, &mut Reader<'a>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    match reader.peek()? {
        Kind::Object => reader.object(&mut |key, reader| member(&key, reader)),
        _ => reader.skip(),
    }
}

/// Reads an array; any other value is skipped.
pub(super) fn list<'a>(
    reader: &mut Reader<'a>,
    item: &mut dyn FnMut(&mut Reader<'a>) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    match reader.peek()? {
        Kind::Array => reader.array(item),
        _ => reader.skip(),
    }
}

/// Reads a string; any other value is skipped.
pub(super) fn text<'a>(reader: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>, JsonError> {
    match reader.peek()? {
        Kind::String => reader.string().map(Some),
        _ => reader.skip().map(|()| None),
    }
}
