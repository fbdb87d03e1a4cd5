//! The stored form of a turn, as a store returns it.

use crate::error::Error;
use crate::json::table::{At, Describe, Item, Read, Shape, Write};
use crate::json::{Json, object};

/// The stored form of a turn, without its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredTurn {
    /// The owner of the last commit. `None` if the store does not say.
    pub owner: Option<String>,
    /// The number of the last commit.
    pub revision: u64,
    /// Milliseconds since that commit, by the store's clock. `None` if the owner is known to be
    /// gone.
    pub idle_ms: Option<u64>,
    /// Whether further commits may follow.
    pub open: bool,
    /// The state.
    pub state: String,
    /// Records as `(name, text)`, in the order in which they were written.
    pub records: Vec<(String, String)>,
}

impl StoredTurn {
    /// Reads `{ owner?, revision, open, idleMs, state, records }` from a host's store. `idleMs` is an
    /// integer, or `null` if the owner is gone. Returns `None` if the form is invalid.
    #[must_use]
    pub fn read(json: &Json<'_>) -> Option<Self> {
        let text = |json: &Json<'_>| json.as_str().map(str::to_owned);
        let record = |json: &Json<'_>| match json.as_array()? {
            [name, value] => Some((text(name)?, text(value)?)),
            _ => None,
        };
        let records = json.get("records")?.as_array()?.iter().map(record);
        Some(Self {
            owner: json.get("owner").and_then(text),
            revision: json.get("revision")?.as_u64()?,
            idle_ms: match json.get("idleMs") {
                None | Some(Json::Null) => None,
                // An unreadable value must not mean that the owner is gone.
                Some(idle) => Some(idle.as_u64()?),
            },
            open: json.get("open")?.as_bool()?,
            state: text(json.get("state")?)?,
            records: records.collect::<Option<_>>()?,
        })
    }

    /// Returns the JSON that [`StoredTurn::read`] reads.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let record = |(name, text): &(String, String)| {
            Json::Array(vec![name.clone().into(), text.clone().into()])
        };
        object! {
            "owner": Json::from(self.owner.clone()),
            "revision": Json::integer(self.revision),
            "open": Json::from(self.open),
            "idleMs": self.idle_ms.map_or(Json::Null, Json::integer),
            "state": Json::from(self.state.clone()),
            "records": Json::Array(self.records.iter().map(record).collect()),
        }
    }

    /// Returns the text of the record with this name.
    #[must_use]
    pub fn record(&self, name: &str) -> Option<&str> {
        self.records.iter().find(|(one, _)| one == name).map(|(_, text)| text.as_str())
    }
}

impl Read for StoredTurn {
    /// What is not readable becomes a turn without a state, which counts as unknown.
    fn read(&mut self, json: Json<'static>, _: &At<'_>) -> Result<(), Error> {
        *self = Self::read(&json).unwrap_or_default();
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a stored turn"
    }
}

impl Item for StoredTurn {
    fn item() -> Self {
        Self::default()
    }
}

impl Write for StoredTurn {
    fn write(&self) -> Json<'static> {
        self.to_json()
    }
}

impl Describe for StoredTurn {
    fn shape() -> Shape {
        Shape::Written("StoredTurn")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for idle_ms in [None, Some(7)] {
            let stored = StoredTurn {
                owner: idle_ms.map(|_| "o".to_owned()),
                revision: 3,
                idle_ms,
                open: true,
                state: "{}".to_owned(),
                records: vec![("a".to_owned(), "\"".to_owned())],
            };
            assert_eq!(stored.record("a"), Some("\""));
            assert_eq!(stored.record("b"), None);
            assert_eq!(stored.write(), stored.to_json());
            assert_eq!(StoredTurn::read(&stored.to_json()), Some(stored));
        }
    }
}
