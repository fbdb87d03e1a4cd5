//! One write to a store, and the rule by which a store accepts it.

use std::sync::Arc;

use crate::json::table::{Append, protocol, record};
use crate::json::write_string;

/// One atomic write to a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commit {
    /// The owner that writes: 128 random bits from the host.
    pub owner: String,
    /// The number of this commit in the turn, from 1.
    pub revision: u64,
    /// Whether `owner` takes the turn over from another owner.
    pub take_over: bool,
    /// Whom it takes over from: the owner that it read. `None`: anybody.
    pub replaces: Option<String>,
    /// Whether further commits may follow.
    pub open: bool,
    /// Replaces the stored state.
    pub state: Option<String>,
    /// Records as `(name, text)`, each written once.
    pub records: Vec<(String, String)>,
    /// `seq` of the last event, and a JSON array of events.
    pub events: Option<(u64, String)>,
    /// Groups of events up to this `seq` are deleted; 0 deletes none.
    pub forget: u64,
    /// Outcomes that other turns may use, as `(key, text, ttl)`.
    pub reusable: Vec<(String, String, u64)>,
    /// Milliseconds from this commit until the store may delete the turn.
    pub ttl_ms: u64,
}

/// The stored part of a turn that the rule needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnHead {
    /// The owner of the last commit.
    pub owner: String,
    /// The number of the last commit.
    pub revision: u64,
    /// Whether further commits may follow.
    pub open: bool,
}

/// The decision of a store on a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Write the commit.
    Apply,
    /// The commit is already stored: report this, and write nothing.
    Repeated,
    /// Write nothing, and report the stored state.
    Refuse,
}

/// Decides whether a store writes a commit. Evaluate this rule in the transaction that writes.
/// `stands` is `None` for a turn that is unknown or has expired.
#[must_use]
pub fn judge(stands: Option<&TurnHead>, commit: &Commit) -> Judgement {
    let Some(stands) = stands else {
        return if commit.revision == 1 { Judgement::Apply } else { Judgement::Refuse };
    };
    let is_owner = stands.owner == commit.owner;
    if is_owner && stands.revision == commit.revision {
        return Judgement::Repeated;
    }
    let follows = stands.revision.checked_add(1) == Some(commit.revision);
    let replaces = commit.replaces.as_ref().is_none_or(|owner| *owner == stands.owner);
    if stands.open && follows && (is_owner || commit.take_over && replaces) {
        Judgement::Apply
    } else {
        Judgement::Refuse
    }
}

protocol! {
    /// The answer of a store to a commit.
    pub enum CommitResult as "CommitReply", read {
        /// The commit is stored.
        Stored "kept",
        /// The commit was refused because of the stored turn.
        Refused "refused" {
            /// The stored state, if there is one.
            state "state": Option<String>,
        }
        /// It is unknown whether the commit is stored.
        Failed "failed" {
            /// Stable code, `store.…`.
            code "code": String,
            /// The error message.
            message "message": String,
        }
    }
}

impl Eq for CommitResult {}

record! {
    /// A stored outcome of another turn.
    pub struct StoredOutcome as "StoredOutcome", read {
        /// The record of the outcome.
        text "text": String;
        /// Its age in milliseconds.
        age_ms "ageMs": u64;
    }
}

impl StoredOutcome {
    /// Makes the outcome that a store has.
    #[must_use]
    pub fn new(text: String, age_ms: u64) -> Self {
        Self { text, age_ms }
    }
}

impl Append for Arc<Commit> {
    fn append(&self, out: &mut String) {
        self.write_json(out);
    }
}

impl Commit {
    /// Appends the JSON form for a host's store: `{ owner, revision, takeOver, replaces, open, state,
    /// records, events, forget, reusable, ttlMs }`, with `records` as `[name, text]`, `events` as
    /// `{ last, text }` and `reusable` as `[key, text, ttl]`. This builds no
    /// [`Json`](crate::json::Json) tree, because the texts are long.
    pub fn write_json(&self, out: &mut String) {
        out.push_str("{\"owner\":");
        write_string(&self.owner, out);
        out.push_str(&format!(
            ",\"revision\":{},\"takeOver\":{},\"replaces\":",
            self.revision, self.take_over
        ));
        write_optional(self.replaces.as_deref(), out);
        out.push_str(&format!(",\"open\":{},\"state\":", self.open));
        write_optional(self.state.as_deref(), out);
        out.push_str(",\"records\":[");
        for (at, (name, text)) in self.records.iter().enumerate() {
            out.push_str(if at == 0 { "[" } else { ",[" });
            write_string(name, out);
            out.push(',');
            write_string(text, out);
            out.push(']');
        }
        out.push_str("],\"events\":");
        match &self.events {
            Some((last, events)) => {
                out.push_str(&format!("{{\"last\":{last},\"text\":"));
                write_string(events, out);
                out.push('}');
            }
            None => out.push_str("null"),
        }
        out.push_str(&format!(",\"forget\":{},\"reusable\":[", self.forget));
        for (at, (key, text, ttl)) in self.reusable.iter().enumerate() {
            out.push_str(if at == 0 { "[" } else { ",[" });
            write_string(key, out);
            out.push(',');
            write_string(text, out);
            out.push_str(&format!(",{ttl}]"));
        }
        out.push_str(&format!("],\"ttlMs\":{}}}", self.ttl_ms));
    }
}

fn write_optional(text: Option<&str>, out: &mut String) {
    match text {
        Some(text) => write_string(text, out),
        None => out.push_str("null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    /// The table that also tests the package's `judge` and the Redis script.
    #[test]
    fn the_rule() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores/rule.json");
        let text = std::fs::read(file).expect("the table");
        let table = Json::parse(&text, text.len()).expect("JSON");
        let rows = table.as_array().expect("rows");
        assert!(rows.len() >= 19, "only {} rows", rows.len());
        for row in rows {
            let owner_of = |json: &Json<'_>| json.as_str().unwrap().to_owned();
            let stands = row.get("stands").unwrap().as_array().map(|stands| match stands {
                [owner, revision, open] => TurnHead {
                    owner: owner_of(owner),
                    revision: revision.as_u64().unwrap(),
                    open: open.as_str() == Some("open"),
                },
                other => panic!("{other:?}"),
            });
            let commit = Commit {
                owner: owner_of(row.get("owner").unwrap()),
                revision: row.get("revision").unwrap().as_u64().unwrap(),
                take_over: row.get("takeOver").unwrap().as_bool().unwrap(),
                replaces: row.get("replaces").map(owner_of),
                ..Commit::default()
            };
            let want = match row.get("judgement").unwrap().as_str() {
                Some("apply") => Judgement::Apply,
                Some("repeated") => Judgement::Repeated,
                Some("refuse") => Judgement::Refuse,
                other => panic!("{other:?}"),
            };
            assert_eq!(judge(stands.as_ref(), &commit), want, "{}", row.to_text());
        }
    }

    /// Writes a commit, and checks that its tree is written as the same text.
    fn read_back(commit: &Commit) -> String {
        let mut text = String::new();
        commit.write_json(&mut text);
        let json = Json::parse(text.as_bytes(), text.len()).expect("JSON");
        assert_eq!(json.to_text(), text, "no white space, and the members in their order");
        text
    }

    #[test]
    fn an_empty_commit_as_json() {
        let commit = Commit { owner: "o".to_owned(), revision: 2, ..Commit::default() };
        let want = concat!(
            r#"{"owner":"o","revision":2,"takeOver":false,"replaces":null,"open":false,"state":null,"records":[],"#,
            r#""events":null,"forget":0,"reusable":[],"ttlMs":0}"#,
        );
        assert_eq!(read_back(&commit), want);
    }

    #[test]
    fn a_full_commit_as_json() {
        let odd = |text: &str| format!("{text}\"\\\u{1}é");
        let commit = Commit {
            owner: odd("o"),
            revision: 7,
            take_over: true,
            replaces: Some(odd("p")),
            open: true,
            state: Some(odd("{}")),
            records: vec![(odd("a"), odd("1")), ("b".to_owned(), String::new())],
            events: Some((9, odd("[1]"))),
            forget: 3,
            reusable: vec![(odd("k"), odd("v"), 4), ("l".to_owned(), "w".to_owned(), 6)],
            ttl_ms: 5,
        };
        let text = read_back(&commit);
        let json = Json::parse(text.as_bytes(), text.len()).unwrap();
        let string = |text: &str| Json::from(text.to_owned());
        let list = Json::Array;
        let want = [
            ("owner", string(&odd("o"))),
            ("revision", Json::integer(7)),
            ("takeOver", true.into()),
            ("replaces", string(&odd("p"))),
            ("open", true.into()),
            ("state", string(&odd("{}"))),
            (
                "records",
                list(vec![
                    list(vec![string(&odd("a")), string(&odd("1"))]),
                    list(vec![string("b"), string("")]),
                ]),
            ),
            ("events", Json::object([("last", Json::integer(9)), ("text", string(&odd("[1]")))])),
            ("forget", Json::integer(3)),
            (
                "reusable",
                list(vec![
                    list(vec![string(&odd("k")), string(&odd("v")), Json::integer(4)]),
                    list(vec![string("l"), string("w"), Json::integer(6)]),
                ]),
            ),
            ("ttlMs", Json::integer(5)),
        ];
        assert_eq!(json, Json::object(want));
    }
}
