//! Names and values of the core as members of the host's types.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::json::Json;
use crate::request::Reason;
use crate::stream::FinishReason;
use crate::tool::Status;

/// A list of names that the core holds, as the strings that they are in JSON.
macro_rules! by_name {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&name)
                    .ok_or_else(|| de::Error::custom(format_args!("unknown name `{name}`")))
            }
        }
    };
}

by_name!(FinishReason);
by_name!(Reason);
by_name!(Status);

/// Members keep their order, which a map of the host's would lose.
impl<'de> Deserialize<'de> for Json<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

/// Above it not every whole number is a double.
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
            // As everywhere, of equal keys the last one stands.
            members.retain(|(one, _)| *one != key);
            members.push((key.into(), value));
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn names_come_back_as_they_were() {
        let back = |name: &str| serde_json::from_str::<Status>(&format!("\"{name}\""));
        assert_eq!(back("ok").unwrap(), Status::Ok);
        assert_eq!(serde_json::to_string(&Reason::NotReadOnly).unwrap(), r#""not_read_only""#);
        assert!(back("fine").is_err());
    }
}
