//! How single values are read and written.

use std::borrow::Cow;
use std::sync::Arc;

use super::Range;
use crate::error::Error;
use crate::json::{Json, write_string};

/// A value that can be written as JSON.
pub(crate) trait Write {
    fn write(&self) -> Json<'static>;

    /// Whether a sparse row leaves the value out.
    fn is_blank(&self) -> bool {
        false
    }

    /// Appends the value as JSON text.
    fn append(&self, out: &mut String)
    where
        Self: Sized,
    {
        self.write().write(out);
    }
}

/// A value that is read from a host's JSON.
pub(crate) trait Read {
    /// Replaces the value.
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error>;

    /// What the host should have given.
    fn expected(&self) -> &'static str;

    /// Refuses a value that [`Read::read`] would refuse: options that are made in Rust obey the
    /// same ranges.
    fn check(&self, _at: &At<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether `null` in a result is a value of this type.
    fn takes_null(&self) -> bool {
        false
    }
}

/// A value of which lists are read.
pub(crate) trait Item: Read {
    /// A value to read into.
    fn item() -> Self;
}

/// The place of a value within the options, for error messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    outer: Option<&'a Self>,
    segment: Segment<'a>,
    pub(crate) range: Range,
}

#[derive(Debug, Clone, Copy)]
enum Segment<'a> {
    Root,
    Member(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    /// The options themselves.
    pub(crate) const ROOT: At<'static> =
        At { outer: None, segment: Segment::Root, range: Range::Any };

    /// An option among those at the top.
    pub(crate) const fn top(name: &'a str) -> Self {
        Self { outer: None, segment: Segment::Member(name), range: Range::Any }
    }

    pub(crate) const fn member(&'a self, name: &'a str, range: Range) -> Self {
        Self { outer: Some(self), segment: Segment::Member(name), range }
    }

    const fn index(&'a self, index: usize) -> Self {
        Self { outer: Some(self), segment: Segment::Index(index), range: self.range }
    }

    /// The error of an option that is not what is expected.
    pub(crate) fn wrong(&self, expected: impl Into<Cow<'static, str>>) -> Error {
        let path = self.path();
        let option = if path.is_empty() { "options".to_owned() } else { path };
        Error::option(option, expected)
    }

    fn path(&self) -> String {
        let mut path = self.outer.map(At::path).unwrap_or_default();
        match self.segment {
            Segment::Root => {}
            Segment::Member(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Segment::Index(index) => path.push_str(&format!("[{index}]")),
        }
        path
    }

    /// A whole number of the range, at most `most`.
    fn whole_number(&self, number: Option<u64>, most: u64) -> Result<u64, Error> {
        let (least, most) = match self.range {
            Range::Whole(least, end) => (least, end.min(most)),
            Range::Any | Range::Real(..) => (0, most),
        };
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| match most {
            u64::MAX => self.wrong(format!("a whole number of at least {least}")),
            _ => self.wrong(format!("a whole number from {least} to {most}")),
        })
    }

    /// A finite number of the range.
    fn real(&self, number: Option<f64>) -> Result<f64, Error> {
        let (least, most) = match self.range {
            Range::Real(least, most) => (least, most),
            Range::Any | Range::Whole(..) => (f64::MIN, f64::MAX),
        };
        let number = number.filter(|number| (least..=most).contains(number));
        number.filter(|number| number.is_finite()).ok_or_else(|| match (least, most) {
            (f64::MIN, f64::MAX) => self.wrong("a number"),
            (_, f64::MAX | f64::INFINITY) => {
                self.wrong(format!("a number of at least {}", number_text(least)))
            }
            _ => {
                self.wrong(format!("a number from {} to {}", number_text(least), number_text(most)))
            }
        })
    }
}

/// The number as JSON. The formatting of std would add its tables to the wasm.
fn number_text(number: f64) -> String {
    Json::double(number).to_text()
}

impl Write for Json<'static> {
    fn write(&self) -> Json<'static> {
        self.clone()
    }

    fn append(&self, out: &mut String) {
        Json::write(self, out);
    }
}

impl Read for Json<'static> {
    fn read(&mut self, json: Json<'static>, _: &At<'_>) -> Result<(), Error> {
        *self = json;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a value"
    }

    fn takes_null(&self) -> bool {
        true
    }
}

impl Write for bool {
    fn write(&self) -> Json<'static> {
        (*self).into()
    }

    fn is_blank(&self) -> bool {
        !self
    }
}

impl Read for bool {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        *self = json.as_bool().ok_or_else(|| at.wrong("true or false"))?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "true or false"
    }
}

impl Write for f64 {
    fn write(&self) -> Json<'static> {
        Json::double(*self)
    }
}

impl Read for f64 {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        *self = at.real(json.as_f64())?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a number"
    }

    fn check(&self, at: &At<'_>) -> Result<(), Error> {
        at.real(Some(*self)).map(|_| ())
    }
}

impl Write for i64 {
    fn write(&self) -> Json<'static> {
        Json::Number(self.to_string().into())
    }
}

impl Read for i64 {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let Json::Number(text) = json else { return Err(at.wrong(self.expected())) };
        *self = text.parse().map_err(|_| at.wrong(self.expected()))?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a whole number"
    }
}

macro_rules! whole {
    ($($type:ty: $most:expr),*) => {$(
        impl Write for $type {
            fn write(&self) -> Json<'static> {
                Json::integer(u64::try_from(*self).unwrap_or(u64::MAX))
            }

            fn append(&self, out: &mut String) {
                append_whole(u64::try_from(*self).unwrap_or(u64::MAX), out);
            }
        }

        impl Read for $type {
            fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
                let number = at.whole_number(json.as_u64(), $most)?;
                *self = Self::try_from(number).map_err(|_| at.wrong("a smaller number"))?;
                Ok(())
            }

            fn expected(&self) -> &'static str {
                "a whole number"
            }

            fn check(&self, at: &At<'_>) -> Result<(), Error> {
                at.whole_number(u64::try_from(*self).ok(), $most).map(|_| ())
            }
        }
    )*};
}

// The same message on every platform: that of a `usize` does not name its maximum.
whole!(u16: u64::from(u16::MAX), u32: u64::from(u32::MAX), u64: u64::MAX, usize: u64::MAX);

#[inline(never)]
fn append_whole(number: u64, out: &mut String) {
    out.push_str(&number.to_string());
}

macro_rules! text {
    ($($type:ty),*) => {$(
        impl Write for $type {
            fn write(&self) -> Json<'static> {
                Json::String(self.to_string().into())
            }

            fn append(&self, out: &mut String) {
                write_string(self, out);
            }
        }

        impl Read for $type {
            fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
                let Json::String(text) = json else { return Err(at.wrong("a string")) };
                *self = text.into_owned().into();
                Ok(())
            }

            fn expected(&self) -> &'static str {
                "a string"
            }
        }

        impl Item for $type {
            fn item() -> Self {
                Self::default()
            }
        }
    )*};
}

text!(String, Arc<str>);

impl Write for Cow<'static, str> {
    fn write(&self) -> Json<'static> {
        Json::String(self.clone())
    }
}

impl Write for &'static str {
    fn write(&self) -> Json<'static> {
        (*self).into()
    }
}

impl<T: Write> Write for Box<T> {
    fn write(&self) -> Json<'static> {
        (**self).write()
    }

    fn is_blank(&self) -> bool {
        (**self).is_blank()
    }

    fn append(&self, out: &mut String) {
        (**self).append(out);
    }
}

impl<T: Write> Write for Option<T> {
    fn write(&self) -> Json<'static> {
        self.as_ref().map_or(Json::Null, Write::write)
    }

    fn is_blank(&self) -> bool {
        self.is_none()
    }

    fn append(&self, out: &mut String) {
        match self {
            Some(value) => value.append(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Item> Read for Option<T> {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let mut value = T::item();
        *self = None;
        if !json.is_null() || value.takes_null() {
            value.read(json, at)?;
            *self = Some(value);
        }
        Ok(())
    }

    fn expected(&self) -> &'static str {
        T::item().expected()
    }

    fn check(&self, at: &At<'_>) -> Result<(), Error> {
        self.as_ref().map_or(Ok(()), |value| value.check(at))
    }

    fn takes_null(&self) -> bool {
        true
    }
}

impl<T: Item> Item for Option<T> {
    fn item() -> Self {
        None
    }
}

impl<T: Write> Write for Vec<T> {
    fn write(&self) -> Json<'static> {
        Json::Array(self.iter().map(Write::write).collect())
    }

    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Item> Read for Vec<T> {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let Json::Array(items) = json else { return Err(at.wrong(self.expected())) };
        self.clear();
        for (index, json) in items.into_iter().enumerate() {
            let mut item = T::item();
            item.read(json, &at.index(index))?;
            self.push(item);
        }
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an array"
    }

    fn check(&self, at: &At<'_>) -> Result<(), Error> {
        let mut items = self.iter().enumerate();
        items.try_for_each(|(index, item)| item.check(&at.index(index)))
    }
}

impl<T: Item> Item for Vec<T> {
    fn item() -> Self {
        Self::new()
    }
}

macro_rules! item {
    ($($type:ty),*) => {$(
        impl Item for $type {
            fn item() -> Self {
                Self::default()
            }
        }
    )*};
}

item!(bool, f64, i64, u16, u32, u64, usize, Json<'static>);
