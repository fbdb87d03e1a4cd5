//! Host values as strict JSON: what serde_json would quietly change is refused.

use std::fmt;

use serde::ser::{self, Serialize, Serializer};

use crate::error::Error;

/// The JSON text of a value.
///
/// # Errors
/// `json.not_serializable`: NaN and infinities, which serde_json makes `null` of; keys that are no
/// texts; what the value itself refuses.
pub(super) fn strict_text(value: &(impl Serialize + ?Sized)) -> Result<String, Error> {
    let wrong =
        |why: String| Error::new("json.not_serializable", format!("the value has no JSON: {why}"));
    value.serialize(Finite).map_err(|NotFinite(why)| wrong(why))?;
    serde_json::to_string(value).map_err(|error| wrong(error.to_string()))
}

/// Walks a value, looks at its numbers, and writes nothing.
#[derive(Clone, Copy)]
struct Finite;

#[derive(Debug)]
struct NotFinite(String);

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFinite {}

impl ser::Error for NotFinite {
    fn custom<T: fmt::Display>(words: T) -> Self {
        Self(words.to_string())
    }
}

type Walked = Result<(), NotFinite>;
type Inside = Result<Finite, NotFinite>;

macro_rules! leaves {
    ($($name:ident($($arg:ty),*);)*) => {
        $(fn $name(self, $(_: $arg),*) -> Walked { Ok(()) })*
    };
}

macro_rules! inside {
    ($($name:ident($($arg:ty),*);)*) => {
        $(fn $name(self, $(_: $arg),*) -> Inside { Ok(self) })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    leaves! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    inside! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }

    fn serialize_f32(self, number: f32) -> Walked {
        self.serialize_f64(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Walked {
        if number.is_finite() { Ok(()) } else { Err(NotFinite(format!("{number} is no number"))) }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Walked {
        value.serialize(self)
    }
}

macro_rules! items {
    ($($kind:ident::$one:ident($($name:ty)?);)*) => {
        $(impl ser::$kind for Finite {
            type Ok = ();
            type Error = NotFinite;

            fn $one<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Walked {
                value.serialize(*self)
            }

            fn end(self) -> Walked {
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element();
    SerializeTuple::serialize_element();
    SerializeTupleStruct::serialize_field();
    SerializeTupleVariant::serialize_field();
    SerializeStruct::serialize_field(&'static str);
    SerializeStructVariant::serialize_field(&'static str);
}

impl ser::SerializeMap for Finite {
    type Ok = ();
    type Error = NotFinite;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Walked {
        key.serialize(*self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Walked {
        value.serialize(*self)
    }

    fn end(self) -> Walked {
        Ok(())
    }
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
