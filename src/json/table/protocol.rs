//! What crosses the boundary between a machine and its driver.

use super::{At, Item, Member, Range, Read, Row, Write, place, push_name, read_member};
use crate::error::Error;
use crate::json::Json;

/// A value that is written as JSON text, without a tree of it.
#[doc(hidden)]
pub trait Append {
    /// Appends the JSON text; in a flat row the members, each with a comma in front.
    fn append(&self, out: &mut String);

    /// Whether a sparse row leaves the value out.
    fn is_blank(&self) -> bool {
        false
    }
}

impl<T: Write> Append for T {
    fn append(&self, out: &mut String) {
        Write::append(self, out);
    }

    fn is_blank(&self) -> bool {
        Write::is_blank(self)
    }
}

/// Declares an enum that crosses the boundary between a machine and its driver: inputs, effects, and
/// what stands in them. Hosts construct its cases and match them in full. `read` behind the
/// TypeScript name adds a reader, `write` a writer; `, non_exhaustive` keeps the enum open for more.
///
/// The last member may be a flat row, under the JSON name `""`. A case has members in braces, one member in parentheses, or none. Cases behind `beside` have no
/// JSON: their bytes cross as they are. `as "Effect<Result = Walk>"` declares a parameter of the
/// TypeScript type; a member has it by `as "Result"`.
macro_rules! protocol {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident as $ts:literal, read $(, $growing:ident)? { $($cases:tt)* }
        $(beside { $($beside:tt)* })?
    ) => {
        $crate::json::table::protocol_enum! {
            $(#[doc = $doc])*
            pub enum $name as $ts $(, $growing)? { $($cases)* } $(beside { $($beside)* })?
        }
        $crate::json::table::protocol_reader!($name { $($cases)* });
    };
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident as $ts:literal, read and write { $($cases:tt)* }
    ) => {
        $crate::json::table::protocol! {
            $(#[doc = $doc])*
            pub enum $name as $ts, read { $($cases)* }
        }
        $crate::json::table::protocol_writer!($name { $($cases)* });
    };
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident $(<$($param:ident = $given:ty),+>)? as $ts:literal, write
        { $($cases:tt)* }
    ) => {
        $crate::json::table::protocol_enum! {
            $(#[doc = $doc])*
            pub enum $name $(<$($param = $given),+>)? as $ts { $($cases)* }
        }
        $crate::json::table::protocol_writer!($name $(<$($param),+>)? { $($cases)* });
    };
}

/// Declares the enum, and its description.
macro_rules! protocol_enum {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident $(<$($param:ident = $given:ty),+>)? as $ts:literal $(, $growing:ident)? {
            $(
                $(#[doc = $case_doc:literal])*
                $case:ident $tag:literal
                $(($only:ident $only_json:literal : $only_type:ty $(as $only_own:literal)?))?
                $({$(
                    $(#[doc = $field_doc:literal])*
                    $field:ident $json:literal : $type:ty $(as $own:literal)?,
                )*})?
                $(,)?
            )*
        }
        $(beside {
            $(
                $(#[doc = $beside_doc:literal])*
                $beside:ident {$($(#[doc = $raw_doc:literal])* $raw:ident : $raw_type:ty,)*}
            )*
        })?
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "the largest cases come once")]
        $(#[$growing])?
        pub enum $name $(<$($param = $given),+>)? {
            $(
                $(#[doc = $case_doc])*
                $case $(($only_type))? $({$($(#[doc = $field_doc])* $field: $type,)*})?,
            )*
            $($(
                $(#[doc = $beside_doc])*
                $beside {$($(#[doc = $raw_doc])* $raw: $raw_type,)*},
            )*)?
        }

        impl $crate::json::table::Describe for $name {
            fn shape() -> $crate::json::table::Shape {
                #[allow(unused_imports, reason = "a case without members")]
                use $crate::json::table::{Case, Definition, Range, Row, Shape, shape};
                Shape::Named(|| {
                    let cases = vec![
                        $({
                            const ROWS: &[Row] = &[
                                $(Row::new($only_json, false, Range::Any),)?
                                $($(Row::new($json, false, Range::Any)),*)?
                            ];
                            let shapes: Vec<(&[&'static str], Shape)> = vec![
                                $((&[], shape!($only_type $(, $only_own)?)),)?
                                $($((&[$($field_doc),*], shape!($type $(, $own)?))),*)?
                            ];
                            let shapes = shapes.into_iter().map(|shape| (shape, None));
                            Case::new($tag, &[$($case_doc),*], ROWS, shapes)
                        }),*
                    ];
                    Definition::cases($ts, &[$($doc),*], cases)
                })
            }
        }
    };
}

/// Declares the writer of the cases.
macro_rules! protocol_writer {
    (
        $name:ident $(<$($param:ident),+>)? {
            $(
                $(#[doc = $case_doc:literal])*
                $case:ident $tag:literal
                $(($only:ident $only_json:literal : $only_type:ty $(as $only_own:literal)?))?
                $({$(
                    $(#[doc = $field_doc:literal])*
                    $field:ident $json:literal : $type:ty $(as $own:literal)?,
                )*})?
                $(,)?
            )*
        }
    ) => {
        impl $(<$($param: $crate::json::table::Append),+>)? $name $(<$($param),+>)? {
            /// Appends the JSON form: an object whose member `type` names the case.
            pub fn write_json(&self, out: &mut String) {
                #[allow(unused_imports, reason = "a case without members")]
                use $crate::json::table::{Range, Row, append_row, begin};
                match self {
                    $(
                        Self::$case $(($only))? $({$($field),*})? => {
                            begin($tag, out);
                            $({
                                const ROW: Row = Row::new($only_json, false, Range::Any);
                                append_row(ROW, $only, out);
                            })?
                            $($({
                                const ROW: Row = Row::new($json, false, Range::Any);
                                append_row(ROW, $field, out);
                            })*)?
                        }
                    )*
                }
                out.push('}');
            }
        }
    };
}

/// Declares the reader of the cases.
macro_rules! protocol_reader {
    (
        $name:ident {
            $(
                $(#[doc = $case_doc:literal])*
                $case:ident $tag:literal
                $(($only:ident $only_json:literal : $only_type:ty $(as $only_own:literal)?))?
                $({$(
                    $(#[doc = $field_doc:literal])*
                    $field:ident $json:literal : $type:ty $(as $own:literal)?,
                )*})?
                $(,)?
            )*
        }
    ) => {
        impl $name {
            /// Reads the JSON form: an object whose member `type` names the case. Unknown members are
            /// ignored.
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

        impl $crate::json::table::Read for $name {
            fn read(
                &mut self,
                json: $crate::json::Json<'static>,
                at: &$crate::json::table::At<'_>,
            ) -> Result<(), $crate::error::Error> {
                #[allow(unused_imports, reason = "cases without members")]
                use $crate::json::table::{Given, Range, Row};
                let (tag, mut given) = Given::new(json, at, &[$($tag),*]);
                let value = match tag {
                    $($tag => Self::$case
                        $(({
                            const ROW: Row = Row::new($only_json, false, Range::Any);
                            given.take::<$only_type>(ROW.name, ROW.sparse)
                        }))?
                        $({$($field: {
                            const ROW: Row = Row::new($json, false, Range::Any);
                            given.take::<$type>(ROW.name, ROW.sparse)
                        }),*})?,
                    )*
                    _ => return given.end(),
                };
                *self = value;
                given.end()
            }

            fn expected(&self) -> &'static str {
                "an object"
            }
        }

        impl $crate::json::table::Item for $name {
            fn item() -> Self {
                $crate::json::table::first!($(
                    Self::$case
                        $((<$only_type as $crate::json::table::Item>::item()))?
                        $({$($field: <$type as $crate::json::table::Item>::item()),*})?
                ),*)
            }
        }
    };
}

/// The members of a case. The first that is missing or wrong is kept, and stays blank: that needs less
/// code than to stop at once.
pub(crate) struct Given<'a> {
    members: Vec<Member>,
    at: &'a At<'a>,
    outcome: Result<(), Error>,
}

impl<'a> Given<'a> {
    /// The member `type` of an object, which is one of `tags`, and all members.
    #[inline(never)]
    pub(crate) fn new(
        json: Json<'static>,
        at: &'a At<'a>,
        tags: &[&'static str],
    ) -> (&'static str, Self) {
        let named = json.get("type").and_then(Json::as_str).and_then(|tag| place(tags, tag));
        let tag = named.and_then(|place| tags.get(place).copied());
        let outcome = match tag {
            Some(_) => Ok(()),
            None => Err(at.member("type", Range::Any).wrong("a type that exists")),
        };
        let members = if let Json::Object(members) = json { members } else { Vec::new() };
        (tag.unwrap_or_default(), Self { members, at, outcome })
    }

    #[inline(never)]
    pub(crate) fn take<T: Item>(&mut self, name: &'static str, sparse: bool) -> T {
        let mut value = T::item();
        self.read(name, sparse, &mut value);
        value
    }

    #[inline(never)]
    fn read(&mut self, name: &'static str, sparse: bool, slot: &mut dyn Read) {
        let outcome = match name {
            // A flat row reads the members that are left, so it is the last.
            "" => slot.read(Json::Object(std::mem::take(&mut self.members)), self.at),
            name => read_member(name, sparse, slot, &mut self.members, self.at),
        };
        if self.outcome.is_ok() {
            self.outcome = outcome;
        }
    }

    pub(crate) fn end(self) -> Result<(), Error> {
        self.outcome
    }
}

/// Appends the beginning of an object.
pub(crate) fn begin(tag: &str, out: &mut String) {
    out.push_str("{\"type\":\"");
    out.push_str(tag);
    out.push('"');
}

/// Appends a member, with a comma in front.
pub(crate) fn append_row<T: Append>(row: Row, value: &T, out: &mut String) {
    if row.sparse && value.is_blank() {
        return;
    }
    if !row.name.is_empty() {
        push_name(row.name, out);
    }
    value.append(out);
}

pub(crate) use {protocol, protocol_enum, protocol_reader, protocol_writer};
