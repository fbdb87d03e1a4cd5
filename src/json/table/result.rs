//! How results are read back.

use super::{At, Member, Options, Range, Read, Row};
use crate::error::Error;
use crate::json::Json;

/// Reads a result into `result`. Unknown members are ignored; members that are neither sparse nor
/// may be null must be there.
pub(crate) fn read_result(
    result: &mut dyn Options,
    json: Json<'static>,
    at: &At<'_>,
) -> Result<(), Error> {
    let Json::Object(mut members) = json else { return Err(at.wrong("an object")) };
    read_members(result.rows(), &mut result.slots(), &mut members, at)
}

/// As [`read_result`], for members whose values are taken.
pub(crate) fn read_members(
    rows: &[Row],
    slots: &mut [&mut dyn Read],
    members: &mut [Member],
    at: &At<'_>,
) -> Result<(), Error> {
    let mut pairs = slots.iter_mut().zip(rows);
    pairs.try_for_each(|(slot, row)| read_member(row.name, row.sparse, *slot, members, at))
}

/// Reads one member, whose value is taken.
pub(crate) fn read_member(
    name: &'static str,
    sparse: bool,
    slot: &mut dyn Read,
    members: &mut [Member],
    at: &At<'_>,
) -> Result<(), Error> {
    let at = at.member(name, Range::Any);
    match members.iter_mut().find(|(key, _)| key == name) {
        Some((_, value)) if slot.takes_null() || !value.is_null() => {
            slot.read(std::mem::take(value), &at)
        }
        None if sparse || slot.takes_null() => Ok(()),
        _ => Err(at.wrong(slot.expected())),
    }
}

/// Declares the reader of a struct of results.
macro_rules! reader {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        impl $name {
            /// Reads the JSON form. Unknown members are ignored.
            ///
            /// # Errors
            /// `options.invalid` with the path of a member that is missing or of the wrong type.
            pub fn from_json(json: $crate::json::Json<'static>) -> Result<Self, $crate::error::Error> {
                use $crate::json::table::{At, Item, Read};
                let mut read = Self::item();
                read.read(json, &At::ROOT)?;
                Ok(read)
            }
        }

        impl $crate::json::table::Options for $name {
            fn rows(&self) -> &'static [$crate::json::table::Row] {
                Self::ROWS
            }

            fn slots(&mut self) -> Vec<&mut dyn $crate::json::table::Read> {
                vec![$(&mut self.$field),*]
            }
        }

        impl $crate::json::table::Read for $name {
            fn read(
                &mut self,
                json: $crate::json::Json<'static>,
                at: &$crate::json::table::At<'_>,
            ) -> Result<(), $crate::error::Error> {
                $crate::json::table::read_result(self, json, at)
            }

            fn expected(&self) -> &'static str {
                "an object"
            }
        }

        impl $crate::json::table::Item for $name {
            fn item() -> Self {
                Self { $($field: <$type as $crate::json::table::Item>::item()),* }
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = $crate::json::Json::deserialize(deserializer)?;
                Self::from_json(json).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Declares the reader of the members of one of several records.
macro_rules! reader_of_cases {
    ($name:ident { $($case:ident $tag:literal { $($field:ident $json:literal: $type:ty),* })* }) => {
        impl $name {
            /// Reads the members of the case whose `type` is `tag`.
            fn read_members(
                tag: &str,
                members: &mut [$crate::json::table::Member],
                at: &$crate::json::table::At<'_>,
            ) -> Result<Self, $crate::error::Error> {
                use $crate::json::table::{Item, Range, Read, Row, read_members};
                match tag {
                    $($tag => {
                        const ROWS: &[Row] = &[$(Row::new($json, false, Range::Any)),*];
                        $(let mut $field = <$type as Item>::item();)*
                        let slots: &mut [&mut dyn Read] = &mut [$(&mut $field),*];
                        read_members(ROWS, slots, members, at)?;
                        Ok(Self::$case { $($field),* })
                    })*
                    _ => Err(at.member("type", Range::Any).wrong("a type that exists")),
                }
            }
        }
    };
}

/// Declares the reader of the members that all cases share, and of one of them.
macro_rules! reader_of_envelope {
    ($name:ident of $kind:ident { $($field:ident: $type:ty),* }) => {
        impl $name {
            /// Reads the JSON form. Unknown members are ignored.
            ///
            /// # Errors
            /// `options.invalid` with the path of a member that is missing or of the wrong type.
            pub fn from_json(json: $crate::json::Json<'static>) -> Result<Self, $crate::error::Error> {
                use $crate::json::table::{At, Item, Read, read_members};
                let at = At::ROOT;
                let tag = json.get("type").and_then(|tag| tag.as_str()).map(str::to_owned);
                let $crate::json::Json::Object(mut members) = json else {
                    return Err(at.wrong("an object"));
                };
                let kind = $kind::read_members(&tag.unwrap_or_default(), &mut members, &at)?;
                $(let mut $field = <$type as Item>::item();)*
                let slots: &mut [&mut dyn Read] = &mut [$(&mut $field),*];
                read_members(Self::ROWS, slots, &mut members, &at)?;
                Ok(Self { $($field,)* kind })
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = $crate::json::Json::deserialize(deserializer)?;
                Self::from_json(json).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use {reader, reader_of_cases, reader_of_envelope};
