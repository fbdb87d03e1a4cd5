//! What the generator of declarations reads: the rows with their documentation, as data.

use std::collections::BTreeMap;

use super::{Range, Row};
use crate::json::Json;

/// A type that declarations can name.
pub(crate) trait Describe {
    fn shape() -> Shape;
}

/// The form of a value in JSON.
#[derive(Debug, Clone)]
pub enum Shape {
    /// Any value.
    Any,
    /// `true` or `false`.
    Flag,
    /// A string.
    Text,
    /// A number.
    Number,
    /// Exactly this JSON text.
    Literal(&'static str),
    /// This TypeScript type.
    Written(&'static str),
    /// A value or `null`.
    Maybe(Box<Self>),
    /// A list of values.
    List(Box<Self>),
    /// An object from names to values.
    Map(Box<Self>),
    /// One of these.
    Either(Vec<Self>),
    /// A type that has a name.
    Named(fn() -> Definition),
}

/// A named type.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Definition {
    /// The name in declarations.
    pub name: &'static str,
    /// The lines of its documentation.
    pub docs: Vec<&'static str>,
    /// Its form.
    pub form: Form,
}

/// The form of a named type.
#[derive(Debug, Clone)]
pub enum Form {
    /// An object.
    Record(Vec<Field>),
    /// One of these strings, each with its documentation.
    Names(Vec<(&'static str, Vec<&'static str>)>),
    /// One of these objects, told apart by the member `type`.
    Cases(Vec<Case>),
    /// Another name of a form.
    Alias(Shape),
}

/// One of several objects.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Case {
    /// The member `type`.
    pub tag: &'static str,
    /// The lines of its documentation.
    pub docs: Vec<&'static str>,
    /// The other members.
    pub fields: Vec<Field>,
}

/// A member of an object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Field {
    /// The name; empty for an object whose members stand here.
    pub name: &'static str,
    /// Whether the member may be missing in results.
    pub sparse: bool,
    /// Whether options must have the member.
    pub required: bool,
    /// The one message for everything that is wrong with the value, if there is one.
    pub expected: Option<&'static str>,
    /// The allowed numbers.
    pub range: Range,
    /// The lines of its documentation.
    pub docs: Vec<&'static str>,
    /// Its form.
    pub shape: Shape,
    /// The default of an option.
    pub default: Option<Json<'static>>,
}

/// The documentation and form of a field, and its default.
type Described = ((&'static [&'static str], Shape), Option<Json<'static>>);

fn fields(rows: &[Row], described: impl Iterator<Item = Described>) -> Vec<Field> {
    let field = |(row, ((docs, shape), default)): (&Row, Described)| Field {
        name: row.name,
        sparse: row.sparse,
        required: row.required,
        expected: row.expected,
        range: row.range,
        docs: docs.to_vec(),
        shape,
        default,
    };
    rows.iter().zip(described).map(field).collect()
}

impl Definition {
    pub(crate) fn record(
        name: &'static str,
        docs: &[&'static str],
        rows: &[Row],
        described: impl Iterator<Item = Described>,
    ) -> Self {
        Self { name, docs: docs.to_vec(), form: Form::Record(fields(rows, described)) }
    }

    pub(crate) fn names(
        name: &'static str,
        docs: &[&'static str],
        names: &[(&'static str, &[&'static str])],
    ) -> Self {
        let names = names.iter().map(|(name, docs)| (*name, docs.to_vec())).collect();
        Self { name, docs: docs.to_vec(), form: Form::Names(names) }
    }

    pub(crate) fn either(
        name: &'static str,
        docs: &[&'static str],
        shapes: impl IntoIterator<Item = Shape>,
    ) -> Self {
        Self {
            name,
            docs: docs.to_vec(),
            form: Form::Alias(Shape::Either(shapes.into_iter().collect())),
        }
    }

    pub(crate) fn cases(name: &'static str, docs: &[&'static str], cases: Vec<Case>) -> Self {
        Self { name, docs: docs.to_vec(), form: Form::Cases(cases) }
    }

    pub(crate) fn alias(name: &'static str, docs: &[&'static str], shape: Shape) -> Self {
        Self { name, docs: docs.to_vec(), form: Form::Alias(shape) }
    }
}

impl Case {
    pub(crate) fn new(
        tag: &'static str,
        docs: &[&'static str],
        rows: &[Row],
        described: impl Iterator<Item = Described>,
    ) -> Self {
        Self { tag, docs: docs.to_vec(), fields: fields(rows, described) }
    }
}

macro_rules! shapes {
    ($($type:ty => $shape:ident),* $(,)?) => {$(
        impl Describe for $type {
            fn shape() -> Shape {
                Shape::$shape
            }
        }
    )*};
}

shapes! {
    Json<'_> => Any,
    bool => Flag,
    f64 => Number,
    u16 => Number,
    u32 => Number,
    u64 => Number,
    usize => Number,
    i64 => Number,
    String => Text,
    std::sync::Arc<str> => Text,
    std::borrow::Cow<'static, str> => Text,
    &'static str => Text,
}

impl<T: Describe> Describe for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: Describe> Describe for Option<T> {
    fn shape() -> Shape {
        Shape::Maybe(Box::new(T::shape()))
    }
}

impl<T: Describe> Describe for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }
}

impl<T: Describe> Describe for Vec<(String, T)> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }
}

impl<T: Describe> Describe for BTreeMap<String, T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }
}
