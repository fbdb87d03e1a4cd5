//! One write to a store, and the rule by which a store takes it.

use crate::canon::{Json, write_string};

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
    /// The JSON that a host's store takes; see `pkg/src/stores/store.ts`.
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let text = |text: &String| Json::String(text.clone().into());
        let record = |(name, value): &(String, String)| Json::Array(vec![text(name), text(value)]);
        let reusable = |(key, value, ttl): &(String, String, u64)| {
            Json::Array(vec![text(key), text(value), Json::integer(*ttl)])
        };
        let events = self.events.as_ref().map_or(Json::Null, |(last, events)| {
            Json::object([("last", Json::integer(*last)), ("text", text(events))])
        });
        Json::object([
            ("owner", text(&self.owner)),
            ("revision", Json::integer(self.revision)),
            ("takeOver", self.take_over.into()),
            ("open", self.open.into()),
            ("state", self.state.as_ref().map_or(Json::Null, text)),
            ("records", Json::Array(self.records.iter().map(record).collect())),
            ("events", events),
            ("forget", Json::integer(self.forget)),
            ("reusable", Json::Array(self.reusable.iter().map(reusable).collect())),
            ("ttlMs", Json::integer(self.ttl_ms)),
        ])
    }

    /// Appends the JSON of [`Commit::to_json`] without a tree: it holds long texts.
    pub fn write_json(&self, out: &mut String) {
        if !(self.records.is_empty() && self.reusable.is_empty()) {
            return self.to_json().write(out);
        }
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
        out.push_str(",\"records\":[],\"events\":");
        match &self.events {
            Some((last, events)) => {
                out.push_str(&format!("{{\"last\":{last},\"text\":"));
                write_string(events, out);
                out.push('}');
            }
            None => out.push_str("null"),
        }
        let (forget, ttl) = (self.forget, self.ttl_ms);
        out.push_str(&format!(",\"forget\":{forget},\"reusable\":[],\"ttlMs\":{ttl}}}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule() {
        use Judgement::{Apply, Refuse, Repeated};
        let stands = |owner: &str, revision, open| {
            Some(Standing { owner: owner.to_owned(), revision, open })
        };
        #[rustfmt::skip]
        let rows = [
            // what stands,            owner, number, take over, judgement
            (None,                     "a",   1,      false,     Apply),
            (None,                     "a",   2,      true,      Refuse),
            (stands("a", 1, true),     "a",   1,      false,     Repeated),
            (stands("a", 1, true),     "b",   1,      false,     Refuse),
            (stands("a", 1, true),     "b",   1,      true,      Refuse),
            (stands("a", 1, true),     "a",   2,      false,     Apply),
            (stands("a", 1, true),     "b",   2,      false,     Refuse),
            (stands("a", 1, true),     "b",   2,      true,      Apply),
            (stands("a", 1, true),     "a",   3,      false,     Refuse),
            (stands("b", 2, true),     "a",   2,      false,     Refuse),
            (stands("a", 1, false),    "a",   2,      false,     Refuse),
            (stands("a", 1, false),    "b",   2,      true,      Refuse),
            (stands("a", 1, false),    "a",   1,      false,     Repeated),
        ];
        for (stands, owner, revision, take_over, want) in rows {
            let owner = owner.to_owned();
            let commit = Commit { owner, revision, take_over, ..Commit::default() };
            assert_eq!(judge(stands.as_ref(), &commit), want, "{stands:?} {commit:?}");
        }
    }

    #[test]
    fn both_writers_agree() {
        let mut commit = Commit {
            owner: "o\"".to_owned(),
            revision: 7,
            take_over: true,
            open: true,
            state: Some("{\"a\":\"\u{1}\"}".to_owned()),
            events: Some((9, "[1]".to_owned())),
            forget: 3,
            ttl_ms: 5,
            ..Commit::default()
        };
        for _ in 0..2 {
            let mut out = String::new();
            commit.write_json(&mut out);
            assert_eq!(out, commit.to_json().to_text());
            commit.state = None;
            commit.events = None;
        }
    }
}
