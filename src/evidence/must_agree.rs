//! What replicates must agree on.

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Describe, Item, Read, Shape, Write};

/// What replicates must agree on, beside their mean distance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MustAgree {
    /// Every field that has a weight and is no prose has a consensus.
    #[default]
    Settled,
    /// The values of each of these fields, by JSON Pointer, are of one class. Without a field, the mean
    /// distance alone decides.
    Fields(Vec<String>),
}

impl MustAgree {
    /// What hosts are told to write.
    pub(super) const EXPECTED: &'static str = "settled, or JSON Pointers such as \"/label\"";

    /// The fields that are named.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        match self {
            Self::Settled => &[],
            Self::Fields(fields) => fields,
        }
    }
}

impl From<Vec<String>> for MustAgree {
    fn from(fields: Vec<String>) -> Self {
        Self::Fields(fields)
    }
}

impl Write for MustAgree {
    fn write(&self) -> Json<'static> {
        match self {
            Self::Settled => "settled".into(),
            Self::Fields(fields) => fields.write(),
        }
    }
}

impl Read for MustAgree {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        *self = match json.as_str() {
            Some("settled") => Self::Settled,
            Some(_) => return Err(at.wrong(Self::EXPECTED)),
            None => {
                let mut fields = Vec::new();
                fields.read(json, at).map_err(|_| at.wrong(Self::EXPECTED))?;
                Self::Fields(fields)
            }
        };
        Ok(())
    }

    fn expected(&self) -> &'static str {
        Self::EXPECTED
    }
}

impl Item for MustAgree {
    fn item() -> Self {
        Self::default()
    }
}

impl Describe for MustAgree {
    fn shape() -> Shape {
        let fields = Shape::List(Box::new(Shape::Text));
        Shape::Either(vec![Shape::Literal("\"settled\""), fields])
    }
}
