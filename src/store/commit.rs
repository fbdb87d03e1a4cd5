//! One write to a store, and the rule by which a store takes it.

use crate::json::write_string;

/// One write: all of it is kept, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commit {
    /// Who writes: 128 random bits of the host.
    pub owner: String,
    /// The number of this commit in the turn, from 1.
    pub revision: u64,
    /// Whether `owner` takes the turn over from another.
    pub take_over: bool,
    /// Whether the turn may be written again.
    pub open: bool,
    /// Replaces the kept state.
    pub state: Option<String>,
    /// `(name, text)`, written once.
    pub records: Vec<(String, String)>,
    /// `seq` of the last event, and a JSON array of events.
    pub events: Option<(u64, String)>,
    /// Groups of events up to this `seq` are dropped; 0 drops none.
    pub forget: u64,
    /// `(key, text, ttl)`: outcomes that other turns may use.
    pub reusable: Vec<(String, String, u64)>,
    /// Milliseconds from this commit until the turn may be forgotten.
    pub ttl_ms: u64,
}

/// What stands in a store, as far as the rule looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The owner of the last commit.
    pub owner: String,
    /// Its number.
    pub revision: u64,
    /// Whether the turn may be written.
    pub open: bool,
}

/// What a store does with a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Keep it.
    Apply,
    /// It is kept already: say so, and write nothing.
    Repeated,
    /// Write nothing, and say what stands.
    Refuse,
}

/// The rule of every store, evaluated in the transaction that writes. `stands` is `None` for
/// a turn that is unknown or has expired.
#[must_use]
pub fn judge(stands: Option<&Standing>, commit: &Commit) -> Judgement {
    let Some(stands) = stands else {
        return if commit.revision == 1 { Judgement::Apply } else { Judgement::Refuse };
    };
    let own = stands.owner == commit.owner;
    if own && stands.revision == commit.revision {
        return Judgement::Repeated;
    }
    let follows = stands.revision.checked_add(1) == Some(commit.revision);
    if stands.open && follows && (own || commit.take_over) {
        Judgement::Apply
    } else {
        Judgement::Refuse
    }
}

/// What a store answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is kept.
    Kept,
    /// It is not, because of what stands there.
    Refused {
        /// The state that stands; `None` where nothing does.
        state: Option<String>,
    },
    /// Whether it is kept is not known.
    Failed {
        /// Stable code, `store.…`.
        code: String,
        /// In words.
        message: String,
    },
}

impl Commit {
    /// Appends the JSON that a host's store takes; see `pkg/src/stores/store.ts`. Without a tree:
    /// it holds long texts.
    pub fn write_json(&self, out: &mut String) {
        out.push_str("{\"owner\":");
        write_string(&self.owner, out);
        out.push_str(&format!(
            ",\"revision\":{},\"takeOver\":{},\"open\":{},\"state\":",
            self.revision, self.take_over, self.open
        ));
        match &self.state {
            Some(state) => write_string(state, out),
            None => out.push_str("null"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    /// The table that the package's `judge` and the script in Redis keep as well.
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
                [owner, revision, open] => Standing {
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

    /// What was written, read back and written as a tree.
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
            r#"{"owner":"o","revision":2,"takeOver":false,"open":false,"state":null,"records":[],"#,
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
