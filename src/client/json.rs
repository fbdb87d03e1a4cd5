//! Between the core's JSON and serde.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::error::Error;
use crate::json::Json;
use crate::limits;

/// The core's JSON of a value.
///
/// # Errors
/// `json.not_serializable` for a value that serde cannot write as JSON, and what the core refuses
/// in a JSON text.
pub(super) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<Json<'static>, Error> {
    let text = serde_json::to_string(value)
        .map_err(|error| Error::new("json.not_serializable", error.to_string()))?;
    let read = Json::parse_lossy(text.as_bytes(), limits::HISTORY_BYTES);
    Ok(read.map_err(crate::Error::from)?.into_owned())
}

/// A member that is there has a value, be it null: serde's own reading of an `Option` loses it.
pub(super) fn present<'de, T, D>(value: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(value).map(Some)
}

impl Json<'_> {
    /// The value as a type of the host's (feature `client`).
    ///
    /// # Errors
    /// serde's, for a value of another form.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        // Not by way of text: serde's reader nests no deeper than the core's, which may be inside.
        serde_json::from_value(serde_json::to_value(self)?)
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(text) => {
                let number: Result<serde_json::Number, _> = serde_json::from_str(text);
                number.map_err(serde::ser::Error::custom)?.serialize(serializer)
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
