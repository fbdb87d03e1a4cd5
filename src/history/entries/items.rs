//! The ids and states of the items of OpenAI Responses.
//!
//! Ids are optional in a request. An id has at most 64 characters and the prefix of its type, and stands
//! once: `Invalid 'input[2].id': string too long. Expected a string with maximum length 64`, `Expected an
//! ID that begins with 'msg'` (reports of 2026-03 to 2026-09). The id of a message or a call asks for the
//! id of the reasoning that led to it, so the ids of one response stay together or go together.

use std::borrow::Cow;

use super::super::code::Code;
use super::super::model::{Call, Entry, Part, Speaker};
use super::super::report::{Action, Finding};
use super::History;
use crate::json::{Add, Json};
use crate::provider::{Marks, Members, Reasoning};

/// The most characters of an item's id.
const MOST: usize = 64;

/// The prefixes of OpenAI's ids.
const PREFIXES: [&str; 10] =
    ["rs_", "msg_", "fc_", "ctc_", "ws_", "fs_", "ci_", "ig_", "mcp_", "resp_"];

/// The members that an item of the input has, where the output of the API has more:
/// `ResponseInputItem` of OpenAI's library 6.49.0 (2026-09).
const INPUT: [(&str, &[&str]); 2] = [
    ("image_generation_call", &["type", "id", "result", "status"]),
    ("compaction", &["type", "id", "encrypted_content"]),
];

impl<'a> History<'a> {
    /// Checks the ids of an entry: a message or a call loses an id that is refused, and a native item with
    /// a repeated id is dropped, and so is one that only a provider that keeps items could find.
    pub(super) fn item_ids(&mut self, entry: &mut Entry<'a>) {
        let index = entry.index;
        if entry.speaker != Speaker::Assistant {
            self.loose = false;
        }
        let parts = std::mem::take(&mut entry.parts);
        for mut part in parts {
            let kept = match &mut part {
                Part::Call(call) => {
                    self.call_item(call, index);
                    true
                }
                Part::Reasoning(Reasoning::Native { block, marks })
                    if marks.meets(Marks::RESPONSES) =>
                {
                    self.reasoning_item(block, index)
                }
                Part::Native { block, .. } | Part::Reasoning(Reasoning::Native { block, .. }) => {
                    self.native_item(block, index)
                }
                _ => true,
            };
            if kept {
                entry.parts.push(part);
            }
        }
        if entry.marks.within(self.rules.own) {
            self.item_id(&mut entry.extra, "msg_", index);
        }
    }

    /// Checks the id of a call's item.
    pub(super) fn call_item(&mut self, call: &mut Call<'a>, index: usize) {
        match call.item.as_deref_mut() {
            Some(Json::Object(members)) => {
                self.of_output("", members, index);
                self.too_long(members, index);
                self.without_reasoning(members, index);
                if self.used_again(members, index) {
                    members.retain(|(key, _)| key != "id");
                }
            }
            _ => self.item_id(&mut call.extra, "fc_", index),
        }
    }

    /// Checks an item that is sent as it is; returns whether it stays.
    fn native_item(&mut self, block: &mut Json<'a>, index: usize) -> bool {
        let reference = block.kind().is_none_or(|kind| kind == "item_reference");
        if reference && !self.options.stored && block.get("id").is_some() {
            let finding = Finding::new(Code::ItemNotStored, Action::Dropped, index);
            self.read.push(finding.more("a reference"));
            return false;
        }
        let kind = block.kind().unwrap_or_default().to_owned();
        let is_image = kind == "image_generation_call";
        if is_image && !self.options.stored && block.get("result").is_none_or(Json::is_null) {
            let finding = Finding::new(Code::ItemNotStored, Action::Dropped, index);
            self.read.push(finding.more("an image without its result"));
            return false;
        }
        let Json::Object(members) = block else { return true };
        self.stateless(members, index);
        self.of_output(&kind, members, index);
        self.too_long(members, index);
        reference || !self.used_again(members, index)
    }

    /// Removes members that only the output of the API has: "Unknown parameter: `input[2].action`"
    /// (Yeachan-Heo/gajae-code#1688, 2026-07-06).
    fn of_output(&mut self, kind: &str, members: &mut Members<'a>, index: usize) {
        let known = INPUT.iter().find_map(|(name, known)| (*name == kind).then_some(*known));
        members.retain(|(key, _)| {
            let stays = match known {
                Some(known) => known.contains(&key.as_ref()),
                None => key != "created_by",
            };
            if !stays {
                let mut finding = Finding::new(Code::FieldUnknown, Action::Dropped, index);
                finding.member = Some((format!("/{key}"), ""));
                self.read.push(finding.more(key.clone().into_owned()));
            }
            stays
        });
    }

    /// Checks an item of reasoning; returns whether it stays. Without its id, what it led to has none.
    fn reasoning_item(&mut self, block: &mut Json<'a>, index: usize) -> bool {
        let Json::Object(members) = block else { return true };
        let had = members.iter().any(|(key, _)| key == "id");
        self.stateless(members, index);
        members.retain(|(_, value)| !value.is_null());
        self.without_summary(members, index);
        self.too_long(members, index);
        let foreign =
            |id: &str| id.get(..3) != Some("rs_") && PREFIXES.iter().any(|one| id.starts_with(one));
        let before = members.len();
        members.retain(|(key, id)| key != "id" || !id.as_str().is_some_and(foreign));
        if members.len() < before {
            let finding = Finding::new(Code::ItemIdFormat, Action::Dropped, index);
            self.read.push(finding.more("it begins with the prefix of another type"));
        }
        let has = |key: &str| members.iter().any(|(name, _)| name == key);
        let (identified, encrypted) = (has("id"), has("encrypted_content"));
        self.loose = !identified;
        if !encrypted && (!self.options.stored || had && !identified) {
            let finding = Finding::new(Code::ItemNotStored, Action::Dropped, index);
            self.read.push(finding.more("reasoning without its encrypted content"));
            self.loose = true;
            return false;
        }
        !self.used_again(members, index)
    }

    /// Adds the empty summary that an item of reasoning must have: "Missing required parameter:
    /// `input[7].summary`" (AAswordman/Operit#797, 2026-07-22).
    fn without_summary(&mut self, members: &mut Members<'a>, index: usize) {
        if !members.iter().any(|(key, _)| key == "summary") {
            members.add("summary", Json::Array(Vec::new()));
            let mut finding = Finding::new(Code::ContentShape, Action::Converted, index);
            finding.member = Some(("/summary".to_owned(), "a list"));
            self.read.push(finding.more("reasoning without `summary`").done("added an empty one"));
        }
    }

    /// Removes a state of null, as `model_dump()` of OpenAI's library writes it: `Unknown parameter:
    /// 'input[1].status'`.
    fn stateless(&mut self, members: &mut Members<'a>, index: usize) {
        let before = members.len();
        members.retain(|(key, value)| key != "status" || !value.is_null());
        if members.len() < before {
            let finding = Finding::new(Code::FieldUnknown, Action::Dropped, index);
            self.read.push(finding.more("status"));
        }
    }

    /// Removes an id that is too long.
    fn too_long(&mut self, members: &mut Members<'a>, index: usize) {
        let long = |id: &str| id.len() > MOST && id.chars().count() > MOST;
        let before = members.len();
        members.retain(|(key, id)| key != "id" || !id.as_str().is_some_and(long));
        if members.len() < before {
            let finding = Finding::new(Code::ItemIdLength, Action::Dropped, index);
            self.read.push(finding.more(format!("at most {MOST} characters are taken")));
        }
    }

    /// Removes the id of an item whose reasoning has none: "Item 'msg_…' of type 'message' was provided
    /// without its required 'reasoning' item".
    fn without_reasoning(&mut self, members: &mut Members<'a>, index: usize) {
        let before = members.len();
        members.retain(|(key, _)| key != "id" || !self.loose);
        if members.len() < before {
            let finding = Finding::new(Code::ReasoningItemUnpaired, Action::Dropped, index);
            self.read.push(finding.more("the id of an item whose reasoning has none"));
        }
    }

    /// Drops a repeated id of an item, and what a host calls `id` or `status`. OpenAI: "Expected an ID
    /// that begins with 'msg'".
    pub(super) fn item_id(&mut self, members: &mut Members<'a>, kind: &str, index: usize) {
        self.too_long(members, index);
        members.retain(|(key, value)| {
            let text = value.as_str().unwrap_or_default();
            let own = match key.as_ref() {
                "id" => text.starts_with(kind),
                "status" => ["in_progress", "completed", "incomplete"].contains(&text),
                _ => true,
            };
            if !own {
                let finding = Finding::new(Code::FieldUnknown, Action::Dropped, index);
                self.read.push(finding.more(key.clone().into_owned()));
            }
            own
        });
        self.without_reasoning(members, index);
        if self.used_again(members, index) {
            members.retain(|(key, _)| key != "id");
        }
    }

    /// Records the id among the members; returns whether an earlier item has it.
    fn used_again(&mut self, members: &[(Cow<'a, str>, Json<'a>)], index: usize) -> bool {
        let id = members.iter().find(|(key, _)| key == "id").and_then(|(_, id)| id.as_str());
        let Some(id) = id else { return false };
        let again = std::mem::replace(self.noted(&by_item(id)), 1) > 0;
        if again {
            let finding = Finding::new(Code::ItemIdDuplicate, Action::Dropped, index);
            self.read.push(finding.more(id.to_owned()));
        }
        again
    }
}

/// The key of an item in the index; no call id begins with the same character.
fn by_item(id: &str) -> String {
    format!("\u{2}{id}")
}
