//! The field table: each field of an option, an event or a result is declared once.
//!
//! A row is a field's Rust name, its JSON name, its type, its default and its range. From the rows
//! come the struct or enum, its defaults, its builder, its reader, its writer, and the declarations
//! and tables that `crates/codegen` writes.
//!
//! ```text
//! options! {
//!     /// The limits of a walk.
//!     pub struct Walk as "WalkOptions" {
//!         /// The name of the path.
//!         name "name": String, required;
//!         /// Maximum steps.
//!         max_steps "maxSteps": u32 = 5, whole 1..=1000;
//!         /// The pace.
//!         pace "pace": Pace = Pace::Slow;
//!     }
//! }
//! ```
//! | macro | declares | reads | writes |
//! |---|---|---|---|
//! | [`options!`] | a struct with defaults and a builder | yes | yes |
//! | [`record!`] | a struct of results | with `, read` | yes |
//! | [`borrowed!`] | a struct of results that borrows from the host's texts | no | yes |
//! | [`cases!`] | an enum of records, told apart by a member | with `, read` | yes |
//! | [`envelope!`] | a struct of members that all cases share, around one of them | with `, read` | yes |
//! | [`names!`] | an enum of names, strings in JSON | yes | yes |
//! | [`protocol!`] | an enum of inputs or effects, or of what stands in one | with `read` | with `write` |
//!
//! - A row without `=` has the default of its type.
//! - A JSON name that ends with `?` is left out by the writer if the value is `None`, `false` or an
//!   empty list; otherwise `None` is written as `null`.
//! - `Json<'static> as "Record<string, unknown>"` gives a row of results its TypeScript type.
//! - `, "done" = true` behind the tag of a case is a member that always has this value.
//! - `=> "…"` at the end of a row is the one message for everything that is wrong with its value.
//! - A record under the JSON name `""` has its members among those of the outer record.
//!
//! Readers of options take missing and `null` members as the default, and refuse unknown members
//! with their path. Readers of results ignore unknown members. `Read::check` refuses options made
//! in Rust for the reasons, and with the errors, of the reader.

#[macro_use]
mod borrowed;
mod describe;
#[macro_use]
mod macros;
mod map;
#[macro_use]
mod protocol;
#[macro_use]
mod result;
mod value;

pub(crate) use borrowed::{borrowed, present_members};
pub(crate) use describe::Describe;
pub use describe::{Case, Definition, Field, Form, Shape};
pub(crate) use macros::{
    blank, cases, described, envelope, first, flag, names, options, range, record, shape, writer,
};
#[doc(hidden)]
pub use protocol::Append;
pub(crate) use protocol::{
    Given, append_row, begin, protocol, protocol_enum, protocol_reader, protocol_writer,
};
pub(crate) use result::{
    read_member, read_members, read_result, reader, reader_of_cases, reader_of_envelope,
};
pub(crate) use value::{At, Item, Read, Write};

use std::borrow::Cow;

use super::Json;
use crate::error::Error;

pub(crate) type Member = (Cow<'static, str>, Json<'static>);

/// What the reader and the writer need to know of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The name in JSON; empty for a record whose members stand among those of the outer one.
    pub(crate) name: &'static str,
    /// Blank values are left out.
    pub(crate) sparse: bool,
    pub(crate) required: bool,
    pub(crate) range: Range,
    /// What the host should have given, if the type alone does not say it.
    pub(crate) expected: Option<&'static str>,
}

/// The values that a number may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// Every value of the type.
    Any,
    /// Whole numbers, both ends included.
    Whole(u64, u64),
    /// Doubles, both ends included.
    Real(f64, f64),
}

impl Row {
    pub(crate) const fn new(name: &'static str, required: bool, range: Range) -> Self {
        if let [.., b'?'] = name.as_bytes() {
            let (name, _) = name.split_at(name.len() - 1);
            return Self { name, sparse: true, required, range, expected: None };
        }
        Self { name, sparse: false, required, range, expected: None }
    }

    /// With one message for everything that is wrong with the value, at the path of the row.
    pub(crate) const fn worded(mut self, expected: &'static str) -> Self {
        self.expected = Some(expected);
        self
    }

    /// The error of this row for an error within its value.
    fn error(&self, error: Error, at: &At<'_>) -> Error {
        match (self.expected, &error) {
            (Some(expected), Error::Options { expected: within, .. }) if *within != UNKNOWN => {
                at.wrong(expected)
            }
            _ => error,
        }
    }
}

/// What is said of members that no row names.
const UNKNOWN: &str = "a known option";

/// Options: an object with the fields of its rows.
pub(crate) trait Options {
    fn rows(&self) -> &'static [Row];
    /// The fields, in the order of the rows.
    fn slots(&mut self) -> Vec<&mut dyn Read>;
}

/// Reads an object into `options`, which hold the defaults.
pub(crate) fn read(
    options: &mut dyn Options,
    json: Json<'static>,
    at: &At<'_>,
) -> Result<(), Error> {
    let Json::Object(members) = json else { return Err(at.wrong("an object")) };
    let rows = options.rows();
    let mut slots: Vec<_> =
        options.slots().into_iter().zip(rows).map(|both| (both, false)).collect();
    for (key, value) in members {
        let found = slots.iter_mut().find(|((_, row), _)| row.name == key);
        let Some(((slot, row), seen)) = found else {
            return Err(at.member(&key, Range::Any).wrong(UNKNOWN));
        };
        if !value.is_null() {
            let at = at.member(row.name, row.range);
            slot.read(value, &at).map_err(|error| row.error(error, &at))?;
            *seen = true;
        }
    }
    for ((slot, row), seen) in &slots {
        if row.required && !seen {
            let expected = row.expected.unwrap_or_else(|| slot.expected());
            return Err(at.member(row.name, row.range).wrong(expected));
        }
    }
    Ok(())
}

/// Refuses values that [`read`] would refuse.
pub(crate) fn check(rows: &[Row], values: &[&dyn Read], at: &At<'_>) -> Result<(), Error> {
    let mut pairs = rows.iter().zip(values);
    pairs.try_for_each(|(row, value)| value.check(&at.member(row.name, row.range)))
}

/// The place of a name.
pub(crate) fn place(names: &[&str], name: &str) -> Option<usize> {
    names.iter().position(|one| *one == name)
}

/// The place of the name that a host has given.
#[inline(never)]
pub(crate) fn named(
    names: &[&str],
    json: Json<'static>,
    at: &At<'_>,
    expected: &'static str,
) -> Result<usize, Error> {
    json.as_str().and_then(|name| place(names, name)).ok_or_else(|| at.wrong(expected))
}

/// Returns the members of a record in JSON, in the order of the rows.
pub(crate) fn members(rows: &[Row], values: &[&dyn Write]) -> Vec<Member> {
    let mut members = Vec::with_capacity(rows.len());
    for (row, value) in rows.iter().zip(values) {
        if row.sparse && value.is_blank() {
            continue;
        }
        match value.write() {
            Json::Object(inner) if row.name.is_empty() => members.extend(inner),
            value => members.push((Cow::Borrowed(row.name), value)),
        }
    }
    members
}

/// Appends a member of a record as JSON text, with a comma in front.
#[inline(never)]
pub(crate) fn append<T: Write>(name: &str, sparse: bool, value: &T, out: &mut String) {
    if sparse && value.is_blank() {
        return;
    }
    if name.is_empty() {
        for (name, value) in value.write().as_object().unwrap_or_default() {
            push_name(name, out);
            value.write(out);
        }
        return;
    }
    push_name(name, out);
    value.append(out);
}

/// Appends `,"name":`.
#[inline(never)]
fn push_name(name: &str, out: &mut String) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
}

/// Returns the members of a record whose values are not those of `blank`.
pub(crate) fn changed(rows: &[Row], values: &[&dyn Write], blank: &[&dyn Write]) -> Vec<Member> {
    let pairs = rows.iter().zip(values.iter().zip(blank));
    let changed = pairs.filter_map(|(row, (value, blank))| {
        let value = value.write();
        (value != blank.write()).then_some((Cow::Borrowed(row.name), value))
    });
    changed.collect()
}

#[cfg(test)]
mod tests;
