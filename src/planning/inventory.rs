//! Lists which tools only read, for a person to review before a planner gets any of them.
//!
//! Only declarations count, and any doubt counts against the tool. A name is no proof: it never
//! makes a tool read-only, it can only make a tool suspicious.

use crate::index::Index;
use crate::json::Json;
use crate::json::table::{names, record};

names! {
    /// Whether a tool only reads.
    pub enum Access as "ToolAccess", "read_only or state_changing" {
        /// It is declared to only read, and nothing contradicts it.
        ReadOnly "read_only",
        /// It changes something, or may do so.
        StateChanging "state_changing",
    }
}

names! {
    /// How it is known whether a tool only reads.
    pub enum AccessReason as "ToolAccessReason", "a reason of an inventory" {
        /// Declared by the registry: `readOnly: true`.
        Declared "declared_read_only",
        /// Annotated by its MCP server: `readOnlyHint: true`. The hint is only as reliable as the
        /// server.
        Annotated "annotated_read_only",
        /// Nothing declares that it only reads.
        Undeclared "not_declared",
        /// Annotated as not read-only, or as destructive.
        AnnotatedOtherwise "annotated_state_changing",
        /// One declaration states that it only reads, and another one contradicts it.
        Contradictory "contradictory",
        /// Declared read-only, but its name begins with a verb of change, such as `place`.
        NameSuggestsChange "name_suggests_change",
        /// Providers do not accept its name, or an earlier tool has the same name apart from case.
        UnusableName "unusable_name",
    }
}

impl AccessReason {
    /// Whether a tool that is judged by this reason only reads.
    #[must_use]
    pub fn access(self) -> Access {
        match self {
            Self::Declared | Self::Annotated => Access::ReadOnly,
            Self::Undeclared
            | Self::AnnotatedOtherwise
            | Self::Contradictory
            | Self::NameSuggestsChange
            | Self::UnusableName => Access::StateChanging,
        }
    }
}

record! {
    /// A tool of an inventory.
    pub struct InventoryTool as "InventoryTool" {
        /// The name.
        name "name": String;
        /// Whether it only reads.
        access "access": Access;
        /// How that is known.
        reason "reason": AccessReason;
    }
}

impl Eq for InventoryTool {}

record! {
    /// A list of tools that shows which ones only read.
    pub struct Inventory as "ToolInventory" {
        /// The tools, in their order.
        tools "tools": Vec<InventoryTool>;
        /// The names of those that only read, for review by a person and for a policy's `allow`.
        allow "allow": Vec<String>;
    }
}

impl Eq for Inventory {}

/// First words of the names of tools that change something, or that start an ongoing process.
const CHANGES: &str = "activate add apply approve assign ban book buy cancel clear close commit create \
    deactivate delete deploy deposit destroy disable drop edit enable erase exec execute grant insert \
    install invite kill launch liquidate merge modify move open overwrite patch pay place post \
    publish purchase purge push put refund reject remove rename replace reset restart restore \
    revert revoke rollback save sell send set spawn start stop submit subscribe terminate \
    transfer trigger truncate uninstall unsubscribe update upload wipe withdraw write";

/// Judges tools in their order. Each is `{ name, readOnly? }` from a registry, or
/// `{ name, annotations?: { readOnlyHint?, destructiveHint? } }` from MCP's `tools/list`.
#[must_use]
pub fn inventory(tools: &[Json<'_>]) -> Inventory {
    let name = |tool| Json::get(tool, "name").and_then(Json::as_str).unwrap_or_default();
    let mut names = Index::default();
    let judged = tools.iter().map(|tool| {
        let own = name(tool);
        let plain = own.to_ascii_lowercase();
        let taken = names.find(&plain).is_some();
        names.number(&plain);
        let reason = if taken { AccessReason::UnusableName } else { judge(tool, own) };
        InventoryTool { name: own.to_owned(), access: reason.access(), reason }
    });
    let tools: Vec<_> = judged.collect();
    let reads = tools.iter().filter(|tool| tool.access == Access::ReadOnly);
    let allow = reads.map(|tool| tool.name.clone()).collect();
    Inventory { tools, allow }
}

fn judge(tool: &Json<'_>, name: &str) -> AccessReason {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !(1..=64).contains(&name.len()) || !name.bytes().all(plain) {
        return AccessReason::UnusableName;
    }
    let hint = |key| tool.get("annotations").and_then(|all| all.get(key)).and_then(Json::as_bool);
    let own = tool.get("readOnly").and_then(Json::as_bool);
    let (reads, destroys) = (hint("readOnlyHint"), hint("destructiveHint") == Some(true));
    match (own, reads) {
        (Some(true), Some(false)) | (Some(false), Some(true)) => AccessReason::Contradictory,
        (Some(true), _) | (None, Some(true)) if destroys => AccessReason::Contradictory,
        (Some(true), _) | (None, Some(true)) if changes(name) => AccessReason::NameSuggestsChange,
        (Some(true), _) => AccessReason::Declared,
        (None, Some(true)) => AccessReason::Annotated,
        (_, Some(false)) => AccessReason::AnnotatedOtherwise,
        (_, None) if destroys => AccessReason::AnnotatedOtherwise,
        (_, None) => AccessReason::Undeclared,
    }
}

/// Whether the first word is a verb of change: `place_order`, `placeOrder`, `place-order`.
pub(super) fn changes(name: &str) -> bool {
    let upper = |c: char| c.is_ascii_uppercase();
    let end = name.char_indices().find(|(at, c)| *at > 0 && (upper(*c) || matches!(c, '_' | '-')));
    let first = end.map_or(name, |(at, _)| name.get(..at).unwrap_or(name));
    CHANGES.split(' ').any(|verb| first.eq_ignore_ascii_case(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_counts_against_a_tool() {
        let cases = [
            (r#"{"name":"quote","readOnly":true}"#, AccessReason::Declared),
            (r#"{"name":"quote","readOnly":false}"#, AccessReason::Undeclared),
            (r#"{"name":"get_quote"}"#, AccessReason::Undeclared),
            (r#"{"name":"quote","annotations":{}}"#, AccessReason::Undeclared),
            (r#"{"name":"quote","annotations":{"readOnlyHint":true}}"#, AccessReason::Annotated),
            (r#"{"name":"quote","annotations":{"readOnlyHint":"true"}}"#, AccessReason::Undeclared),
            (
                r#"{"name":"quote","annotations":{"readOnlyHint":false}}"#,
                AccessReason::AnnotatedOtherwise,
            ),
            (
                r#"{"name":"quote","annotations":{"destructiveHint":true}}"#,
                AccessReason::AnnotatedOtherwise,
            ),
            (
                r#"{"name":"quote","annotations":{"readOnlyHint":true,"destructiveHint":true}}"#,
                AccessReason::Contradictory,
            ),
            (
                r#"{"name":"quote","readOnly":true,"annotations":{"readOnlyHint":false}}"#,
                AccessReason::Contradictory,
            ),
            (r#"{"name":"place_order","readOnly":true}"#, AccessReason::NameSuggestsChange),
            (
                r#"{"name":"subscribeTicks","annotations":{"readOnlyHint":true}}"#,
                AccessReason::NameSuggestsChange,
            ),
            (r#"{"name":"Start-stream","readOnly":true}"#, AccessReason::NameSuggestsChange),
            (r#"{"name":"withdraw","readOnly":true}"#, AccessReason::NameSuggestsChange),
            (r#"{"name":"activate_","readOnly":true}"#, AccessReason::NameSuggestsChange),
            (r#"{"name":"writeFile","readOnly":true}"#, AccessReason::NameSuggestsChange),
            (r#"{"name":"_write","readOnly":true}"#, AccessReason::Declared),
            (r#"{"name":"get_order","readOnly":true}"#, AccessReason::Declared),
            (r#"{"name":"settings","readOnly":true}"#, AccessReason::Declared),
            (r#"{"name":"a b","readOnly":true}"#, AccessReason::UnusableName),
            (r#"{"readOnly":true}"#, AccessReason::UnusableName),
        ];
        for (text, wanted) in cases {
            let tool = Json::parse_str(text).unwrap();
            assert_eq!(inventory(&[tool]).tools[0].reason, wanted, "{text}");
        }
    }

    #[test]
    fn names_that_differ_in_case_are_one() {
        let tools = [r#"{"name":"quote","readOnly":true}"#, r#"{"name":"Quote","readOnly":true}"#]
            .map(|text| Json::parse_str(text).unwrap());
        let json = inventory(&tools).to_json().to_text();
        assert!(json.ends_with(r#""allow":["quote"]}"#), "{json}");
        let tools = ["a", "A", "b"].map(|name| Json::object([("name", name.into())]));
        let reasons = inventory(&tools).tools.into_iter().map(|tool| tool.reason);
        let (undeclared, unusable) = (AccessReason::Undeclared, AccessReason::UnusableName);
        assert_eq!(reasons.collect::<Vec<_>>(), [undeclared, unusable, undeclared]);
    }
}
