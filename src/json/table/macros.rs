//! The macros that turn rows into types; see the [module](super).

macro_rules! range {
    () => {
        $crate::json::table::Range::Any
    };
    (whole $range:expr) => {
        $crate::json::table::Range::Whole(*$range.start(), *$range.end())
    };
    (real $range:expr) => {
        $crate::json::table::Range::Real(*$range.start(), *$range.end())
    };
}

/// The default of a row.
macro_rules! blank {
    ($type:ty) => {
        <$type as Default>::default()
    };
    ($type:ty, $default:expr) => {
        $default
    };
}

macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

macro_rules! flag {
    () => {
        false
    };
    (required) => {
        true
    };
}

/// Declares the writer of a struct, and its description.
macro_rules! writer {
    (
        $(#[doc = $doc:literal])*
        $name:ident as $ts:literal {
            $($(#[doc = $field_doc:literal])* $field:ident $row:expr, $type:ty $(as $own:literal)?, $default:expr;)*
        }
    ) => {
        impl $name {
            const ROWS: &'static [$crate::json::table::Row] = &[$($row),*];

            /// Returns the JSON form.
            #[must_use]
            pub fn to_json(&self) -> $crate::json::Json<'static> {
                $crate::json::table::Write::write(self)
            }
        }

        impl $crate::json::table::Write for $name {
            fn write(&self) -> $crate::json::Json<'static> {
                let values: &[&dyn $crate::json::table::Write] = &[$(&self.$field),*];
                $crate::json::Json::Object($crate::json::table::members(Self::ROWS, values))
            }
        }

        impl From<$name> for $crate::json::Json<'_> {
            fn from(value: $name) -> Self {
                value.to_json()
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_json().serialize(serializer)
            }
        }

        $crate::json::table::described! {
            $(#[doc = $doc])*
            $name as $ts {
                $($(#[doc = $field_doc])* $type $(as $own)?, $default;)*
            }
        }
    };
}

/// The shape of a type, or its own TypeScript type.
macro_rules! shape {
    ($type:ty) => {
        <$type as $crate::json::table::Describe>::shape()
    };
    ($type:ty, $own:literal) => {
        $crate::json::table::Shape::Written($own)
    };
}

/// Declares the description of a struct.
macro_rules! described {
    (
        $(#[doc = $doc:literal])*
        $name:ident $(<$life:lifetime>)? as $ts:literal {
            $($(#[doc = $field_doc:literal])* $type:ty $(as $own:literal)?, $default:expr;)*
        }
    ) => {
        impl $(<$life>)? $crate::json::table::Describe for $name $(<$life>)? {
            fn shape() -> $crate::json::table::Shape {
                $crate::json::table::Shape::Named(|| {
                    let defaults: &[Option<$crate::json::Json<'static>>] = &[$($default),*];
                    let shapes = [
                        $((&[$($field_doc),*][..], $crate::json::table::shape!($type $(, $own)?))),*
                    ];
                    $crate::json::table::Definition::record(
                        $ts,
                        &[$($doc),*],
                        Self::ROWS,
                        shapes.into_iter().zip(defaults.iter().cloned()),
                    )
                })
            }
        }
    };
}

/// Declares a struct of results; `, read` behind its TypeScript name adds a reader.
macro_rules! record {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident as $ts:literal, read {
            $($(#[doc = $field_doc:literal])* $field:ident $json:literal : $type:ty $(as $own:literal)?;)*
        }
    ) => {
        $crate::json::table::record! {
            $(#[doc = $doc])*
            pub struct $name as $ts {
                $($(#[doc = $field_doc])* $field $json : $type $(as $own)?;)*
            }
        }

        $crate::json::table::reader!($name { $($field: $type),* });
    };
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident as $ts:literal {
            $($(#[doc = $field_doc:literal])* $field:ident $json:literal : $type:ty $(as $own:literal)?;)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: $type,)*
        }

        $crate::json::table::writer! {
            $(#[doc = $doc])*
            $name as $ts {
                $(
                    $(#[doc = $field_doc])*
                    $field $crate::json::table::Row::new($json, false, $crate::json::table::Range::Any),
                    $type $(as $own)?, None;
                )*
            }
        }
    };
}

/// Declares a struct of options.
macro_rules! options {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident as $ts:literal {
            $(
                $(#[doc = $field_doc:literal])*
                $field:ident $json:literal : $type:ty
                $(| $flag:ident)?
                $(= $default:expr)?
                $(, $kind:ident $range:expr)?
                $(=> $expected:expr)?
                ;
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[doc = $field_doc])*
                $(#[doc = concat!("\n\nDefault: `", stringify!($default), "`.")])?
                pub $field: $type,
            )*
        }

        impl $name {
            /// The defaults; the reader replaces those of required fields.
            pub(crate) fn blank() -> Self {
                Self { $($field: $crate::json::table::blank!($type $(, $default)?)),* }
            }

            /// The members that differ from their defaults.
            #[allow(dead_code, reason = "only some options are stored")]
            pub(crate) fn changed(&self) -> $crate::json::Json<'static> {
                let (own, blank): (&[&dyn $crate::json::table::Write], Self) =
                    (&[$(&self.$field),*], Self::blank());
                let blank: &[&dyn $crate::json::table::Write] = &[$(&blank.$field),*];
                $crate::json::Json::Object($crate::json::table::changed(Self::ROWS, own, blank))
            }

            $(
                $(#[doc = $field_doc])*
                $(#[doc = concat!("\n\nDefault: `", stringify!($default), "`.")])?
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }

        $crate::json::table::writer! {
            $(#[doc = $doc])*
            $name as $ts {
                $(
                    $(#[doc = $field_doc])*
                    $field
                    $crate::json::table::Row::new(
                        $json,
                        $crate::json::table::flag!($($flag)?),
                        $crate::json::table::range!($($kind $range)?),
                    )$(.worded($expected))?,
                    $type,
                    Some($crate::json::table::Write::write(&Self::blank().$field));
                )*
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
                $crate::json::table::read(self, json, at)
            }

            fn expected(&self) -> &'static str {
                "an object"
            }

            fn check(
                &self,
                at: &$crate::json::table::At<'_>,
            ) -> Result<(), $crate::error::Error> {
                $crate::json::table::check(Self::ROWS, &[$(&self.$field),*], at)
            }
        }

        impl $crate::json::table::Item for $name {
            fn item() -> Self {
                Self::blank()
            }
        }
    };
}

/// Declares an enum of names; `, non_exhaustive` behind what is expected keeps it open for more.
macro_rules! names {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident as $ts:literal, $expected:literal $(, $growing:ident)? {
            $($(#[doc = $case_doc:literal])* $case:ident $json:literal,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $(#[$growing])?
        pub enum $name {
            $($(#[doc = $case_doc])* $case,)*
        }

        impl $name {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$case),*];
            const NAMES: &'static [&'static str] = &[$($json),*];

            /// Returns the name in JSON.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $json,)*
                }
            }

            /// Returns the value with this name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                let place = $crate::json::table::place(Self::NAMES, name)?;
                Self::ALL.get(place).copied()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Error;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::parse(name).ok_or_else(|| $crate::error::Error::option(name, $expected))
            }
        }

        impl From<$name> for $crate::json::Json<'_> {
            fn from(value: $name) -> Self {
                value.name().into()
            }
        }

        impl $crate::json::table::Write for $name {
            fn write(&self) -> $crate::json::Json<'static> {
                self.name().into()
            }
        }

        impl $crate::json::table::Read for $name {
            fn read(
                &mut self,
                json: $crate::json::Json<'static>,
                at: &$crate::json::table::At<'_>,
            ) -> Result<(), $crate::error::Error> {
                let place = $crate::json::table::named(Self::NAMES, json, at, $expected)?;
                if let Some(one) = Self::ALL.get(place) {
                    *self = *one;
                }
                Ok(())
            }

            fn expected(&self) -> &'static str {
                $expected
            }
        }

        impl $crate::json::table::Item for $name {
            fn item() -> Self {
                $crate::json::table::first!($(Self::$case),*)
            }
        }

        impl $crate::json::table::Describe for $name {
            fn shape() -> $crate::json::table::Shape {
                $crate::json::table::Shape::Named(|| {
                    $crate::json::table::Definition::names(
                        $ts,
                        &[$($doc),*],
                        &[$(($json, &[$($case_doc),*])),*],
                    )
                })
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&name).ok_or_else(|| serde::de::Error::custom($expected))
            }
        }
    };
}

/// Declares an enum of records, which the member `type` tells apart. `, "done" = true` behind a tag
/// is a member that always has this value. `, read` behind the TypeScript name adds a reader.
macro_rules! cases {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident as $ts:literal, read {
            $(
                $(#[doc = $case_doc:literal])*
                $case:ident $tag:literal {
                    $($(#[doc = $field_doc:literal])* $field:ident $json:literal : $type:ty,)*
                }
            )*
        }
    ) => {
        $crate::json::table::cases! {
            $(#[doc = $doc])*
            pub enum $name as $ts {
                $(
                    $(#[doc = $case_doc])*
                    $case $tag { $($(#[doc = $field_doc])* $field $json : $type,)* }
                )*
            }
        }

        $crate::json::table::reader_of_cases!(
            $name { $($case $tag { $($field $json: $type),* })* }
        );
    };
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident as $ts:literal {
            $(
                $(#[doc = $case_doc:literal])*
                $case:ident $tag:literal $(, $fixed:literal = $value:literal)? {
                    $($(#[doc = $field_doc:literal])* $field:ident $json:literal : $type:ty,)*
                }
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $(
                $(#[doc = $case_doc])*
                #[non_exhaustive]
                $case { $($(#[doc = $field_doc])* $field: $type,)* },
            )*
        }

        impl $name {
            /// Returns the name in the member `type`.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$case { .. } => $tag,)*
                }
            }

            /// Appends the members besides `type` as JSON text, each with a comma in front. Large
            /// values are written without a copy.
            #[allow(dead_code, reason = "only some events hold large values")]
            pub(crate) fn append(&self, out: &mut String) {
                #[allow(unused_imports, reason = "a case without members")]
                use $crate::json::table::{Range, Row, append};
                match self {
                    $(
                        Self::$case { $($field),* } => {
                            $(out.push_str(concat!(",\"", $fixed, "\":", $value));)?
                            $({
                                const ROW: Row = Row::new($json, false, Range::Any);
                                append(ROW.name, ROW.sparse, $field, out);
                            })*
                        }
                    )*
                }
            }

            /// Returns the members besides `type`.
            #[allow(dead_code, reason = "some events are only written as text")]
            pub(crate) fn members(&self) -> Vec<$crate::json::table::Member> {
                #[allow(unused_imports, reason = "a case without members")]
                use $crate::json::table::{Range, Row, Write, members};
                match self {
                    $(
                        Self::$case { $($field),* } => {
                            const ROWS: &[Row] = &[
                                $(Row::new($fixed, false, Range::Any),)?
                                $(Row::new($json, false, Range::Any)),*
                            ];
                            let values: &[&dyn Write] = &[$(&$value,)? $($field),*];
                            members(ROWS, values)
                        }
                    )*
                }
            }
        }

        impl $crate::json::table::Describe for $name {
            fn shape() -> $crate::json::table::Shape {
                #[allow(unused_imports, reason = "a case without members")]
                use $crate::json::table::{Case, Definition, Describe, Range, Row, Shape};
                Shape::Named(|| {
                    let cases = vec![
                        $({
                            const ROWS: &[Row] = &[
                                $(Row::new($fixed, false, Range::Any),)?
                                $(Row::new($json, false, Range::Any)),*
                            ];
                            let shapes: Vec<(&[&'static str], Shape)> = vec![
                                $((&[], Shape::Literal(stringify!($value))),)?
                                $((&[$($field_doc),*][..], <$type as Describe>::shape())),*
                            ];
                            let shapes = shapes.into_iter().map(|one| (one, None));
                            Case::new($tag, &[$($case_doc),*], ROWS, shapes)
                        }),*
                    ];
                    Definition::cases($ts, &[$($doc),*], cases)
                })
            }
        }
    };
}

/// Declares a struct of the members that all cases share, around one of them. In JSON, `type` comes
/// first, then these members, then those of the case. `, read` behind the cases adds a reader.
macro_rules! envelope {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident as $ts:literal of $kind:ident, read {
            $($(#[doc = $field_doc:literal])* $field:ident $json:literal : $type:ty $(as $own:literal)?;)*
        }
    ) => {
        $crate::json::table::envelope! {
            $(#[doc = $doc])*
            pub struct $name as $ts of $kind {
                $($(#[doc = $field_doc])* $field $json : $type $(as $own)?;)*
            }
        }

        $crate::json::table::reader_of_envelope!($name of $kind { $($field: $type),* });
    };
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident as $ts:literal of $kind:ident {
            $($(#[doc = $field_doc:literal])* $field:ident $json:literal : $type:ty $(as $own:literal)?;)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: $type,)*
            /// Which case it is, with its own members.
            pub kind: $kind,
        }

        impl $name {
            const ROWS: &'static [$crate::json::table::Row] = &[
                $($crate::json::table::Row::new($json, false, $crate::json::table::Range::Any),)*
                $crate::json::table::Row::new("", false, $crate::json::table::Range::Any),
            ];

            /// Returns the JSON form.
            #[must_use]
            pub fn to_json(&self) -> $crate::json::Json<'static> {
                $crate::json::table::Write::write(self)
            }
        }

        impl $crate::json::table::Write for $name {
            fn write(&self) -> $crate::json::Json<'static> {
                let mut all = vec![("type".into(), self.kind.name().into())];
                all.extend($crate::json::table::members(Self::ROWS, &[$(&self.$field),*]));
                all.extend(self.kind.members());
                $crate::json::Json::Object(all)
            }
        }

        impl From<$name> for $crate::json::Json<'_> {
            fn from(value: $name) -> Self {
                value.to_json()
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_json().serialize(serializer)
            }
        }

        $crate::json::table::described! {
            $(#[doc = $doc])*
            $name as $ts {
                $($(#[doc = $field_doc])* $type $(as $own)?, None;)*
                $kind, None;
            }
        }
    };
}

pub(crate) use {
    blank, cases, described, envelope, first, flag, names, options, range, record, shape, writer,
};
