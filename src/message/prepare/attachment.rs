//! Prepares media, and blocks that only their own wire format has.

use super::super::code::Code;
use super::super::import::media;
use super::super::model::Speaker;
use super::super::report::{Action, Finding};
use super::Work;
use crate::json::{Joined, Json};
use crate::provider::{Attachment, Marks, Out};

impl<'a> Work<'_, 'a> {
    pub(super) fn media(&mut self, marks: Marks, block: &Json<'a>) -> Out<'a> {
        let rules = self.rules();
        if self.takes(marks, block) {
            return Out::Native(block.clone());
        }
        let media_of = rules.media;
        match media(block) {
            Some(seen) if media_of.takes(&seen.mime, seen.is_url) => {
                let bare = block.get("image_url").is_some_and(Json::is_text);
                if bare && self.own(marks) {
                    let finding = Finding::new(Code::ContentShape, Action::Converted, self.index);
                    self.tell(finding.spelling());
                }
                Out::Media(seen)
            }
            seen => self.noted(seen),
        }
    }

    /// A note in place of an attachment that the provider does not take.
    pub(super) fn noted(&mut self, seen: Option<Attachment<'a>>) -> Out<'a> {
        let finding = Finding::new(Code::ContentShape, Action::Converted, self.index);
        self.tell(finding.done("an attachment became a note"));
        let note = seen.map_or_else(
            || "[attachment]".to_owned(),
            |seen| match (seen.is_url, seen.name) {
                (true, _) => format!("[attachment: {}]", seen.data),
                (_, Some(name)) => format!("[attachment: {name}]"),
                _ => format!("[attachment: {}]", seen.mime),
            },
        );
        Out::Text { text: note.into(), extra: Vec::new(), apart: false }
    }

    pub(super) fn native(&mut self, marks: Marks, block: &Json<'a>) -> Option<Out<'a>> {
        if self.takes(marks, block) {
            return Some(Out::Native(block.clone()));
        }
        // What a turn of ours keeps for the provider that made it: the text that came of it stays.
        if marks.meets(Marks::TURN) {
            return None;
        }
        // The text of a refusal is sent as text.
        if let Some(text) = block.get("refusal").filter(|text| !text.is_blank()) {
            return Some(Out::Text { text: text.clone(), extra: Vec::new(), apart: true });
        }
        let kind = block.get("type").and_then(Json::as_str).unwrap_or("a block");
        let finding = Finding::new(Code::ContentShape, Action::Converted, self.index);
        if let Some(text) = document(block) {
            self.tell(finding.done("its text stays"));
            return Some(Out::Text { text, extra: Vec::new(), apart: true });
        }
        let why = format!("{kind} is known to its own provider only");
        if self.entry.speaker == Speaker::User {
            // An attachment of the user is at least named.
            let text = Json::string(format!("[attachment: {kind}]"));
            self.tell(finding.more(why));
            return Some(Out::Text { text, extra: Vec::new(), apart: true });
        }
        self.tell(Finding { action: Action::Dropped, ..finding.more(why) });
        None
    }
}

/// The text of a document or a search result.
fn document<'a>(block: &Json<'a>) -> Option<Json<'a>> {
    let texts = |list: &Json<'a>| {
        let mut all = Joined::default();
        for item in list.as_array()? {
            if let Some(text) = item.get("text") {
                if !all.is_empty() {
                    all.text("\n");
                }
                all.value(text);
            }
        }
        Some(all.into_json())
    };
    // Of OpenAI-compatible providers, and of MCP.
    let inner = block.get("document").or_else(|| block.get("resource")).unwrap_or(block);
    let source = inner.get("source");
    let found =
        [source.and_then(|source| source.get("text")), inner.get("data"), inner.get("text")];
    let found = found.into_iter().flatten().find(|value| value.is_text()).cloned();
    let text_source =
        source.filter(|source| source.get("type").and_then(Json::as_str) == Some("text"));
    found
        .or_else(|| text_source?.get("data").cloned())
        .or_else(|| texts(source?.get("content")?))
        .or_else(|| texts(inner.get("content")?))
        .or_else(|| Some(inner.get("data")?.clone().into_text()))
        .filter(|text| !text.is_blank())
}
