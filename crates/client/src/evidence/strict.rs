//! Host values as strict JSON: what serde_json would quietly change is refused.

use serde::ser::{self, Error as _, Serialize, Serializer};

use crate::error::Error;

/// The JSON text of a value.
///
/// # Errors
/// `json.not_serializable`: NaN and infinities, of which serde_json makes `null`; keys that are no
/// strings; errors of the value itself.
pub(super) fn strict_text(value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    let text = value.serialize(Finite).and_then(|()| serde_json::to_string(value));
    text.map_err(|why| Error::new("json.not_serializable", format!("the value has no JSON: {why}")))
}

/// Checks the numbers of a value, and writes nothing.
#[derive(Clone, Copy)]
struct Finite;

type Walked = Result<(), serde_json::Error>;

macro_rules! leaves {
    ($($name:ident($($arg:ty),*))*) => {
        $(fn $name(self, $(_: $arg),*) -> Walked { Ok(()) })*
    };
}

macro_rules! wrappers {
    ($($name:ident($($arg:ty),*))*) => {
        $(fn $name<T: Serialize + ?Sized>(self, $(_: $arg,)* value: &T) -> Walked {
            value.serialize(self)
        })*
    };
}

/// What opens a value with others inside, and the trait by which these are walked.
macro_rules! inside {
    ($($name:ident($($arg:ty),*) -> $kind:ident;)*) => {
        $(type $kind = Self; fn $name(self, $(_: $arg),*) -> Result<Self, Self::Error> { Ok(self) })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = serde_json::Error;

    leaves! {
        serialize_bool(bool) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_i128(i128) serialize_u128(u128) serialize_none() serialize_unit()
        serialize_unit_struct(&'static str) serialize_unit_variant(&'static str, u32, &'static str)
    }

    wrappers! {
        serialize_some() serialize_newtype_struct(&'static str)
        serialize_newtype_variant(&'static str, u32, &'static str)
    }

    inside! {
        serialize_seq(Option<usize>) -> SerializeSeq;
        serialize_tuple(usize) -> SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant;
        serialize_map(Option<usize>) -> SerializeMap;
        serialize_struct(&'static str, usize) -> SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant;
    }

    fn serialize_f32(self, number: f32) -> Walked {
        self.serialize_f64(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Walked {
        let wrong = || Self::Error::custom(format!("{number} is no number"));
        number.is_finite().then_some(()).ok_or_else(wrong)
    }
}

macro_rules! items {
    ($($kind:ident { $($one:ident($($name:ty)?))* })*) => {
        $(impl ser::$kind for Finite {
            type Ok = ();
            type Error = serde_json::Error;

            $(fn $one<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Walked {
                value.serialize(*self)
            })*

            fn end(self) -> Walked {
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq { serialize_element() }
    SerializeTuple { serialize_element() }
    SerializeTupleStruct { serialize_field() }
    SerializeTupleVariant { serialize_field() }
    SerializeMap { serialize_key() serialize_value() }
    SerializeStruct { serialize_field(&'static str) }
    SerializeStructVariant { serialize_field(&'static str) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    enum Any {
        New(f64),
        Tuple(u8, f64),
        Struct { number: Option<f64> },
    }

    #[test]
    fn no_number_becomes_null() {
        assert_eq!(
            strict_text(&json!({ "a": [1.5, null, "x"] })).unwrap(),
            r#"{"a":[1.5,null,"x"]}"#
        );
        assert_eq!(
            strict_text(&Any::Struct { number: None }).unwrap(),
            r#"{"Struct":{"number":null}}"#
        );
        let nan = f64::NAN;
        let wrong: [Result<String, Error>; 8] = [
            strict_text(&nan),
            strict_text(&f32::INFINITY),
            strict_text(&Some(vec![(1, -f64::INFINITY)])),
            strict_text(&BTreeMap::from([("a", nan)])),
            strict_text(&Any::New(nan)),
            strict_text(&Any::Tuple(1, nan)),
            strict_text(&Any::Struct { number: Some(nan) }),
            strict_text(&BTreeMap::from([(vec![1], 1)])),
        ];
        for one in wrong {
            assert_eq!(one.unwrap_err().code, "json.not_serializable");
        }
    }
}
