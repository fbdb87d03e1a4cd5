//! Ids of steps.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::json::Json;
use crate::json::table::{Definition, Describe, Shape, Write};
use crate::limits;

/// The id of a step, as the planner wrote it: a text or a whole number.
///
/// Ids are compared by their text, since planners write `1` in one place and `"1"` in another.
///
/// ```
/// use turnlock::chain::StepId;
///
/// assert_eq!(StepId::from(1), StepId::from("1"));
/// assert_eq!(StepId::from("a").to_string(), "a");
/// ```
#[derive(Debug, Clone)]
pub struct StepId {
    text: String,
    /// Written as a number.
    numeric: bool,
}

impl StepId {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Reads the id that a planner wrote. `None` for other values, and for an id that is empty or
    /// too long.
    pub(super) fn read(value: &Json<'_>) -> Option<Self> {
        let id = match value {
            Json::String(text) => Self { text: text.trim().to_owned(), numeric: false },
            Json::Number(text) if value.as_u64().is_some() => {
                Self { text: text.to_string(), numeric: true }
            }
            _ => return None,
        };
        (1..=limits::STEP_ID_BYTES).contains(&id.text.len()).then_some(id)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<u64> for StepId {
    fn from(number: u64) -> Self {
        Self { text: number.to_string(), numeric: true }
    }
}

impl From<String> for StepId {
    fn from(text: String) -> Self {
        Self { text, numeric: false }
    }
}

impl From<&str> for StepId {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl PartialEq for StepId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for StepId {}

impl PartialOrd for StepId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StepId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for StepId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Write for StepId {
    fn write(&self) -> Json<'static> {
        let text = self.text.clone().into();
        if self.numeric { Json::Number(text) } else { Json::String(text) }
    }
}

impl Describe for StepId {
    fn shape() -> Shape {
        Shape::Named(|| {
            let docs = [" A step's id as the planner wrote it."];
            let either = Shape::Either(vec![Shape::Text, Shape::Number]);
            Definition::alias("StepId", &docs, either)
        })
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for StepId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write().serialize(serializer)
    }
}
