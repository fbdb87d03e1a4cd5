//! The tools of the action phase.

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Describe, Item, Read, Shape, Write};
use crate::tool::ToolSpec;

/// The tools of the action phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionTools {
    /// The tools of these names; without a name, none.
    Named(Vec<String>),
    /// Every read-only tool.
    ReadOnly,
    /// Every tool.
    All,
}

impl ActionTools {
    /// What hosts are told to write.
    pub(super) const EXPECTED: &'static str = "names of tools of this turn, readOnly or *";

    /// Whether there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Named(names) if names.is_empty())
    }

    /// Whether a tool is one of them.
    #[must_use]
    pub fn has(&self, tool: &ToolSpec) -> bool {
        match self {
            Self::Named(names) => names.contains(&tool.name),
            Self::ReadOnly => tool.read_only,
            Self::All => true,
        }
    }
}

impl Default for ActionTools {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

impl From<Vec<String>> for ActionTools {
    fn from(names: Vec<String>) -> Self {
        Self::Named(names)
    }
}

impl Write for ActionTools {
    fn write(&self) -> Json<'static> {
        match self {
            Self::Named(names) => names.write(),
            Self::ReadOnly => "readOnly".into(),
            Self::All => "*".into(),
        }
    }

    fn is_blank(&self) -> bool {
        self.is_none()
    }
}

impl Read for ActionTools {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        *self = match json.as_str() {
            Some("readOnly") => Self::ReadOnly,
            Some("*") => Self::All,
            Some(_) => return Err(at.wrong(Self::EXPECTED)),
            None => {
                let mut names = Vec::new();
                names.read(json, at).map_err(|_| at.wrong(Self::EXPECTED))?;
                Self::Named(names)
            }
        };
        Ok(())
    }

    fn expected(&self) -> &'static str {
        Self::EXPECTED
    }
}

impl Item for ActionTools {
    fn item() -> Self {
        Self::default()
    }
}

impl Describe for ActionTools {
    fn shape() -> Shape {
        let names = Shape::List(Box::new(Shape::Text));
        Shape::Either(vec![names, Shape::Literal("\"readOnly\""), Shape::Literal("\"*\"")])
    }
}
