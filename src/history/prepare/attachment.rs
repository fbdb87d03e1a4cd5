//! Prepares media, and blocks that only their own wire format has.

use super::super::code::Code;
use super::super::import::{Fields, media};
use super::super::model::Speaker;
use super::super::report::{Action, Finding};
use super::Work;
use crate::json::{Add, Joined, Json, object};
use crate::provider::{Attachment, Elements, Marks, Media, Out, document_name, is_format};

/// The synthesized text beside a document, which is not taken alone.
const BESIDE: &str = "(see the document)";

impl<'a> Work<'_, 'a> {
    pub(super) fn media(&mut self, marks: Marks, block: &Json<'a>) -> Out<'a> {
        let rules = self.rules();
        // Items of instructions may have media.
        let speaks =
            self.entry.speaker == Speaker::Assistant || rules.elements == Elements::Messages;
        if rules.media_of_user && speaks && self.entry.speaker != Speaker::User {
            return self.noted(media(block));
        }
        let bare = block.get("image_url").is_some_and(Json::is_text) && self.own(marks);
        self.seen(block, self.takes(marks, block), bare)
    }

    /// Media that may stand here. `own`: it is a block of the provider's own form; `bare`: as that,
    /// but in another spelling.
    pub(super) fn seen(&mut self, block: &Json<'a>, own: bool, bare: bool) -> Out<'a> {
        let kinds = self.rules().media_for(self.context.options.model.as_deref());
        let seen = media(block);
        if own && seen.as_ref().is_none_or(|seen| kinds.keeps(seen)) {
            return Out::Native(block.clone());
        }
        match seen {
            Some(seen) if kinds.takes(&seen) => {
                if own || bare {
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

    /// A document of Bedrock's own.
    fn document(&mut self, document: &Json<'a>) -> Out<'a> {
        let text = |key: &str| document.get(key).and_then(Json::as_str);
        let name = text("name").unwrap_or_default();
        if text("format").is_some_and(|format| !is_format(format)) {
            let mime = text("format").unwrap_or_default().to_owned();
            let name = (!name.is_empty()).then(|| name.to_owned().into());
            return self.noted(Some(Attachment { mime, data: "".into(), is_url: false, name }));
        }
        let made = document_name(name);
        if made == name {
            return Out::Native(object! { "document": document.clone() });
        }
        let finding = Finding::new(Code::NameFieldFormat, Action::Renamed, self.index);
        self.findings.push(finding.done(format!("now {made}")));
        let mut rest = Fields::of(document.clone()).map(Fields::rest).unwrap_or_default();
        rest.retain(|(key, _)| key != "name");
        rest.add("name", Json::from(made));
        Out::Native(object! { "document": Json::Object(rest) })
    }

    /// Adds a text to a document of the user that has none beside it, if one is needed.
    pub(super) fn beside_text(&mut self, parts: &mut Vec<Out<'a>>) {
        let document = |part: &Out<'a>| match part {
            Out::Media(seen) => !seen.is_image(),
            Out::Native(block) => block.get("document").is_some(),
            _ => false,
        };
        let text = |part: &Out<'a>| matches!(part, Out::Text { .. });
        let user = self.entry.speaker == Speaker::User && self.rules().media == Media::Formats;
        if user && parts.iter().any(document) && !parts.iter().any(text) {
            let finding = Finding::new(Code::ContentEmpty, Action::Synthesized, self.index);
            let finding = finding.more("a document needs a text beside it");
            self.findings.push(finding.done(format!("added \"{BESIDE}\"")));
            parts.push(Out::Text { text: BESIDE.into(), extra: Vec::new(), apart: false });
        }
    }

    pub(super) fn native(&mut self, marks: Marks, block: &Json<'a>) -> Option<Out<'a>> {
        let refusal = block.get("refusal").filter(|text| !text.is_blank());
        let speaks = self.entry.speaker == Speaker::Assistant;
        let takes = self.takes(marks, block) && !(speaks && is_input(block));
        // Nobody but the assistant refuses.
        let misplaced = takes && !speaks;
        // "Empty string content is not allowed": Anthropic's BetaCompactionBlockParam (2026-09).
        let summary = block.get("content").filter(|_| block.kind() == Some("compaction"));
        if takes && summary.and_then(Json::as_str) == Some("") {
            let finding = Finding::new(Code::ContentEmpty, Action::Dropped, self.index);
            self.findings.push(finding.more("a compaction without a summary"));
            return None;
        }
        if misplaced && refusal.is_some() {
            let finding = Finding::new(Code::ContentShape, Action::Converted, self.index);
            self.tell(finding.done("its text stays"));
        } else if takes {
            let document = block.get("document").filter(|one| one.as_object().is_some());
            return Some(match document {
                Some(document) if self.rules().media == Media::Formats => self.document(document),
                _ => Out::Native(block.clone()),
            });
        }
        // What a turn of ours keeps for the provider that made it: the text that came of it stays.
        if marks.meets(Marks::TURN) {
            return None;
        }
        let kind = block.kind().unwrap_or("a block");
        let finding = Finding::new(Code::ContentShape, Action::Converted, self.index);
        if let Some(text) = words(block) {
            if refusal.is_none() {
                self.tell(finding.done("its text stays"));
            }
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

/// Whether a block is of the kinds that OpenAI takes from everybody but the assistant: "Invalid
/// value: 'input_image'. Supported values are: 'output_text' and 'refusal'."
pub(in crate::history) fn is_input(block: &Json<'_>) -> bool {
    block.kind().is_some_and(|kind| kind.starts_with("input_"))
}

/// What a block says that only another provider knows: the text of a refusal, of a document, a search
/// result or a sound, the summary of a conversation, or what a tool of MCP or a search has returned.
pub(in crate::history) fn words<'a>(block: &Json<'a>) -> Option<Json<'a>> {
    let text = |key| block.get(key).filter(|text| text.is_text() && !text.is_blank()).cloned();
    match block.kind() {
        Some("compaction") => text("content"),
        Some("web_search_tool_result") => found(block),
        Some("mcp_call") => text("output").or_else(|| text("error")).map(|output| {
            let mut all = Joined::default();
            all.text("[");
            all.value(&text("name").unwrap_or_else(|| "mcp_call".into()));
            all.text("] ");
            all.value(&output);
            all.into_json()
        }),
        _ => {
            let refusal = block.get("refusal").filter(|text| !text.is_blank());
            refusal.cloned().or_else(|| document(block))
        }
    }
}

/// The titles and addresses that a search has found. The texts of the pages are encrypted.
fn found<'a>(block: &Json<'a>) -> Option<Json<'a>> {
    let mut all = Joined::default();
    for page in block.get("content")?.items() {
        let Some(url) = page.get("url").filter(|url| url.is_text()) else { continue };
        all.text(if all.is_empty() { "[web_search]" } else { "" });
        all.text("\n");
        if let Some(title) = page.get("title").filter(|title| title.is_text()) {
            all.value(title);
            all.text(": ");
        }
        all.value(url);
    }
    (!all.is_empty()).then(|| all.into_json())
}

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
    let nested = block.get("document");
    let inner = nested.or_else(|| block.get("resource")).unwrap_or(block);
    let source = inner.get("source");
    // Of any other block, it may be the bytes of a sound, whose words are its transcript.
    let data = nested.and_then(|nested| nested.get("data"));
    let spoken = block.get("transcript");
    let found = [source.and_then(|source| source.get("text")), data, inner.get("text"), spoken];
    let found = found.into_iter().flatten().find(|value| value.is_text()).cloned();
    let text_source = source.filter(|source| source.kind() == Some("text"));
    found
        .or_else(|| text_source?.get("data").cloned())
        .or_else(|| texts(source?.get("content")?))
        .or_else(|| texts(inner.get("content")?))
        .or_else(|| data.map(|data| data.clone().into_text()))
        .filter(|text| !text.is_blank())
}
