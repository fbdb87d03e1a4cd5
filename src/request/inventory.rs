//! Lists which tools only read, for a person to review before a planner gets any of them.
//!
//! Only declarations count, and any doubt counts against the tool. A name is no proof: it never
//! makes a tool read-only, it can only make a tool suspicious.

use crate::json::Json;

/// Whether a tool only reads, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Declared by the registry: `readOnly: true`.
    Declared,
    /// Annotated by its MCP server: `readOnlyHint: true`. The hint is only as reliable as the
    /// server.
    Annotated,
    /// Nothing declares that it only reads.
    Undeclared,
    /// Annotated as not read-only, or as destructive.
    AnnotatedOtherwise,
    /// One declaration states that it only reads, and another one contradicts it.
    Contradictory,
    /// Declared read-only, but its name begins with a verb of change, such as `place`.
    NameSuggestsChange,
    /// Providers do not accept its name, or an earlier tool has the same name apart from case.
    UnusableName,
}

impl Access {
    /// The name of the reason.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Declared => "declared_read_only",
            Self::Annotated => "annotated_read_only",
            Self::Undeclared => "not_declared",
            Self::AnnotatedOtherwise => "annotated_state_changing",
            Self::Contradictory => "contradictory",
            Self::NameSuggestsChange => "name_suggests_change",
            Self::UnusableName => "unusable_name",
        }
    }

    /// Whether the tool is put on the allowlist for review.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Declared | Self::Annotated)
    }
}

/// First words of the names of tools that change something, or that start an ongoing process.
const CHANGES: [&str; 48] = [
    "add",
    "apply",
    "approve",
    "assign",
    "book",
    "buy",
    "cancel",
    "clear",
    "close",
    "commit",
    "create",
    "delete",
    "deploy",
    "deposit",
    "disable",
    "drop",
    "edit",
    "enable",
    "execute",
    "insert",
    "install",
    "kill",
    "merge",
    "modify",
    "move",
    "open",
    "patch",
    "pay",
    "place",
    "post",
    "publish",
    "push",
    "put",
    "remove",
    "rename",
    "reset",
    "revoke",
    "sell",
    "send",
    "set",
    "start",
    "stop",
    "submit",
    "subscribe",
    "transfer",
    "update",
    "upload",
    "write",
];

/// Judges tools in their order. Each is `{ name, readOnly? }` from a registry, or
/// `{ name, annotations?: { readOnlyHint?, destructiveHint? } }` from MCP's `tools/list`.
#[must_use]
pub fn inventory(tools: &[Json<'_>]) -> Vec<(String, Access)> {
    let name =
        |tool: &Json<'_>| tool.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
    let names: Vec<String> = tools.iter().map(name).collect();
    let judged = tools.iter().zip(&names).enumerate().map(|(at, (tool, name))| {
        let taken = names.iter().take(at).any(|other| other.eq_ignore_ascii_case(name));
        (name.clone(), if taken { Access::UnusableName } else { access(tool, name) })
    });
    judged.collect()
}

fn access(tool: &Json<'_>, name: &str) -> Access {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) {
        return Access::UnusableName;
    }
    let hint = |key| tool.get("annotations").and_then(|all| all.get(key)).and_then(Json::as_bool);
    let own = tool.get("readOnly").and_then(Json::as_bool);
    let (reads, destroys) = (hint("readOnlyHint"), hint("destructiveHint") == Some(true));
    match (own, reads) {
        (Some(true), Some(false)) | (Some(false), Some(true)) => Access::Contradictory,
        (Some(true), _) | (None, Some(true)) if destroys => Access::Contradictory,
        (Some(true), _) | (None, Some(true)) if changes(name) => Access::NameSuggestsChange,
        (Some(true), _) => Access::Declared,
        (None, Some(true)) => Access::Annotated,
        (_, Some(false)) => Access::AnnotatedOtherwise,
        (_, None) if destroys => Access::AnnotatedOtherwise,
        (_, None) => Access::Undeclared,
    }
}

/// Whether the first word is a verb of change: `place_order`, `placeOrder`, `place-order`.
fn changes(name: &str) -> bool {
    let upper = |c: char| c.is_ascii_uppercase();
    let end = name.char_indices().find(|(at, c)| *at > 0 && (upper(*c) || matches!(c, '_' | '-')));
    let first = end.map_or(name, |(at, _)| name.get(..at).unwrap_or(name));
    CHANGES.iter().any(|verb| first.eq_ignore_ascii_case(verb))
}

/// `{ tools: [{ name, access, reason }], allow }`.
#[must_use]
pub fn inventory_json(tools: &[Json<'_>]) -> Json<'static> {
    let judged = inventory(tools);
    let view = |(name, access): &(String, Access)| {
        let kind = if access.is_read_only() { "read_only" } else { "state_changing" };
        Json::object([
            ("name", name.clone().into()),
            ("access", kind.into()),
            ("reason", access.reason().into()),
        ])
    };
    let reads = judged.iter().filter(|(_, access)| access.is_read_only());
    let allow = reads.map(|(name, _)| name.clone().into()).collect();
    Json::object([
        ("tools", Json::Array(judged.iter().map(view).collect())),
        ("allow", Json::Array(allow)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_counts_against_a_tool() {
        let cases = [
            (r#"{"name":"quote","readOnly":true}"#, Access::Declared),
            (r#"{"name":"quote","readOnly":false}"#, Access::Undeclared),
            (r#"{"name":"get_quote"}"#, Access::Undeclared),
            (r#"{"name":"quote","annotations":{}}"#, Access::Undeclared),
            (r#"{"name":"quote","annotations":{"readOnlyHint":true}}"#, Access::Annotated),
            (r#"{"name":"quote","annotations":{"readOnlyHint":"true"}}"#, Access::Undeclared),
            (
                r#"{"name":"quote","annotations":{"readOnlyHint":false}}"#,
                Access::AnnotatedOtherwise,
            ),
            (
                r#"{"name":"quote","annotations":{"destructiveHint":true}}"#,
                Access::AnnotatedOtherwise,
            ),
            (
                r#"{"name":"quote","annotations":{"readOnlyHint":true,"destructiveHint":true}}"#,
                Access::Contradictory,
            ),
            (
                r#"{"name":"quote","readOnly":true,"annotations":{"readOnlyHint":false}}"#,
                Access::Contradictory,
            ),
            (r#"{"name":"place_order","readOnly":true}"#, Access::NameSuggestsChange),
            (
                r#"{"name":"subscribeTicks","annotations":{"readOnlyHint":true}}"#,
                Access::NameSuggestsChange,
            ),
            (r#"{"name":"Start-stream","readOnly":true}"#, Access::NameSuggestsChange),
            (r#"{"name":"get_order","readOnly":true}"#, Access::Declared),
            (r#"{"name":"settings","readOnly":true}"#, Access::Declared),
            (r#"{"name":"a b","readOnly":true}"#, Access::UnusableName),
            (r#"{"readOnly":true}"#, Access::UnusableName),
        ];
        for (text, wanted) in cases {
            let tool = Json::parse_str(text).unwrap();
            assert_eq!(inventory(&[tool])[0].1, wanted, "{text}");
        }
    }

    #[test]
    fn names_that_differ_in_case_are_one() {
        let tools = [r#"{"name":"quote","readOnly":true}"#, r#"{"name":"Quote","readOnly":true}"#]
            .map(|text| Json::parse_str(text).unwrap());
        let json = inventory_json(&tools).to_text();
        assert!(json.ends_with(r#""allow":["quote"]}"#), "{json}");
    }
}
