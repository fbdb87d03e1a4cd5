//! serde for the core's JSON and names. Feature `serde`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{Json, decimal};

impl Json<'_> {
    /// Returns the value as a type of the host (feature `serde`).
    ///
    /// # Errors
    /// The error of serde if the value has another form.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        // Not by way of text: serde's reader nests no deeper than the core's, which may be inside.
        serde_json::from_value(serde_json::to_value(self)?)
    }
}

/// A literal as serde_json reads it, which has another parser of doubles and its tables for that.
/// `None` for one that is not finite.
fn number(literal: &str) -> Option<serde_json::Number> {
    // Of integers only doubles have this sign.
    if literal != "-0" {
        if let Ok(whole) = literal.parse::<u64>() {
            return Some(whole.into());
        }
        if let Ok(whole) = literal.parse::<i64>() {
            return Some(whole.into());
        }
    }
    serde_json::Number::from_f64(decimal::parse(literal))
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(text) => {
                let value =
                    number(text).ok_or_else(|| serde::ser::Error::custom("not a number"))?;
                value.serialize(serializer)
            }
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            // What stays with the host is never here: no reader makes it.
            Self::Null | Self::Host(_) => serializer.serialize_unit(),
        }
    }
}

/// Implements serde for a type that is a string in JSON and reads what it writes.
macro_rules! by_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use by_text;

impl From<Json<'_>> for serde_json::Value {
    fn from(json: Json<'_>) -> Self {
        match json {
            Json::Bool(value) => Self::Bool(value),
            Json::Number(text) => number(&text).map_or(Self::Null, Self::Number),
            Json::String(text) => Self::String(text.into_owned()),
            Json::Array(items) => items.into_iter().map(Self::from).collect(),
            Json::Object(members) => {
                let member =
                    |(key, value): (Cow<'_, str>, Json<'_>)| (key.into_owned(), value.into());
                Self::Object(members.into_iter().map(member).collect())
            }
            Json::Null | Json::Host(_) => Self::Null,
        }
    }
}

impl From<serde_json::Value> for Json<'static> {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => value.into(),
            serde_json::Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) if whole <= EXACT => Self::integer(whole),
                (_, Some(double)) => Self::double(double),
                (_, None) => Self::Null,
            },
            serde_json::Value::String(text) => text.into(),
            serde_json::Value::Array(items) => {
                Self::Array(items.into_iter().map(Self::from).collect())
            }
            serde_json::Value::Object(members) => {
                let member = |(key, value): (String, serde_json::Value)| (key.into(), value.into());
                Self::Object(members.into_iter().map(member).collect())
            }
        }
    }
}

/// Members keep their order.
impl<'de> Deserialize<'de> for Json<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

/// Every whole number up to it is a double.
const EXACT: u64 = 1 << 53;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        Json::deserialize(value)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    #[expect(clippy::cast_precision_loss, reason = "JSON's numbers are doubles")]
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(if value <= EXACT { Json::integer(value) } else { Json::double(value as f64) })
    }

    #[expect(clippy::cast_precision_loss, reason = "JSON's numbers are doubles")]
    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Json::double(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Json::double(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(value.to_owned().into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(Cow<'static, str>, Self::Value)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Self::Value>()? {
            // Of equal keys the last one counts, as in the core's reader.
            members.retain(|(one, _)| *one != key);
            members.push((key.into(), value));
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signature;
    use crate::dialect::Dialect;
    use crate::tool::Status;

    #[test]
    fn json_comes_back_as_it_was() {
        let text = r#"{"b":[1,-2,0.5,1e+21,9007199254740992,12345678901234567000],"a":{"z":null,"y":true},"s":"\u0000ä"}"#;
        let json = Json::parse_str(text).unwrap();
        let back: Json<'static> =
            serde_json::from_str(&serde_json::to_string(&json).unwrap()).unwrap();
        assert_eq!(back.to_text(), json.to_text());
        let twice: Json<'static> = serde_json::from_str(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(twice.to_text(), r#"{"b":2,"a":3}"#);
    }

    #[test]
    fn numbers_are_those_of_serde_json() {
        let literals = ["0", "-0", "7", "-7", "0.5", "5.0", "1e2", "-1e-7", "0.1", "1e-400"];
        let large = ["18446744073709551615", "18446744073709551616", "-9223372036854775808"];
        let more = ["-9223372036854775809", "123456789012345680000", "2.2250738585072011e-308"];
        for literal in literals.into_iter().chain(large).chain(more) {
            let theirs: serde_json::Value = serde_json::from_str(literal).unwrap();
            let value = Json::Number(literal.into());
            assert_eq!(serde_json::to_value(&value).unwrap(), theirs, "{literal}");
            assert_eq!(serde_json::to_string(&value).unwrap(), theirs.to_string());
            assert_eq!(serde_json::Value::from(value), theirs, "{literal}");
        }
        assert!(serde_json::to_string(&Json::Number("1e400".into())).is_err());
    }

    #[test]
    fn names_come_back_as_they_were() {
        let back = |name: &str| serde_json::from_str::<Status>(&format!("\"{name}\""));
        assert_eq!(back("ok").unwrap(), Status::Ok);
        assert_eq!(
            serde_json::to_string(&crate::planning::Reason::NotReadOnly).unwrap(),
            r#""not_read_only""#
        );
        assert!(back("fine").is_err());
        assert_eq!(serde_json::to_string(&Dialect::DeepSeek).unwrap(), r#""deepseek""#);
        let signature = Signature::new("f", None, &Json::Null, None);
        let text = serde_json::to_string(&signature).unwrap();
        assert_eq!(serde_json::from_str::<Signature>(&text).unwrap(), signature);
        assert!(serde_json::from_str::<Signature>(&text.to_uppercase()).is_err());
    }

    #[test]
    fn values_of_serde_json_are_converted() {
        let value = serde_json::json!({ "a": [1, -2.5, "x", null, true], "b": {} });
        let json = Json::from(value.clone());
        assert_eq!(json.to_text(), value.to_string());
        assert_eq!(serde_json::Value::from(json), value);
    }
}
