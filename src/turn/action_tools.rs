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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Policy;

    #[test]
    fn a_tool_is_one_of_them_by_its_name_or_what_it_does() {
        let (read, send) = (ToolSpec::new("read").read_only(true), ToolSpec::new("send"));
        let named = ActionTools::from(vec!["send".to_owned()]);
        for (tools, has) in [
            (named, [false, true]),
            (ActionTools::ReadOnly, [true, false]),
            (ActionTools::All, [true, true]),
            (ActionTools::default(), [false, false]),
        ] {
            assert_eq!([tools.has(&read), tools.has(&send)], has, "{tools:?}");
            assert_eq!(tools.is_none(), has == [false, false], "{tools:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let named = |names: &[&str]| {
            ActionTools::from(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())
        };
        for (tools, text) in [
            (named(&["a", "b"]), r#"{"actionTools":["a","b"]}"#),
            (ActionTools::ReadOnly, r#"{"actionTools":"readOnly"}"#),
            (ActionTools::All, r#"{"actionTools":"*"}"#),
            // The default is left out.
            (named(&[]), "{}"),
        ] {
            let policy = Policy::default().action_tools(tools);
            let written = policy.changed();
            assert_eq!(written.to_text(), text);
            assert_eq!(Policy::from_json(&written).unwrap(), policy);
        }
        for wrong in [r#"{"actionTools":"a"}"#, r#"{"actionTools":[1]}"#] {
            let error = Policy::from_json(&Json::parse_str(wrong).unwrap()).unwrap_err();
            assert!(error.to_string().contains(ActionTools::EXPECTED), "{error}");
        }
    }
}
