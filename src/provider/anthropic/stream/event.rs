//! Reads one event. Unknown members are skipped: the provider adds them without notice.

use std::borrow::Cow;

use crate::json::{Json, JsonError, Kind, Reader};

#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) index: Option<u64>,
    pub(super) block: Option<Json<'a>>,
    pub(super) delta: Change<'a>,
    pub(super) message: Option<Json<'a>>,
    pub(super) usage: Option<Json<'a>>,
    pub(super) error: Option<Json<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct Change<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
    pub(super) thinking: Cow<'a, str>,
    pub(super) signature: Option<Cow<'a, str>>,
    pub(super) partial_json: Cow<'a, str>,
    pub(super) stop_reason: Option<Cow<'a, str>>,
    /// Of a compaction: the summary, and what goes back with it.
    pub(super) content: Option<Cow<'a, str>>,
    pub(super) encrypted_content: Option<Cow<'a, str>>,
    /// A member beside the type has content.
    pub(super) has_content: bool,
    /// So has one that is not read.
    pub(super) unread: bool,
}

impl<'a> Event<'a> {
    pub(super) fn member(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        match key {
            "type" if reader.peek()? == Kind::String => self.kind = reader.string()?,
            "index" if reader.peek()? == Kind::Number => {
                self.index = reader.number()?.parse().ok();
            }
            "content_block" => self.block = Some(reader.value()?),
            "delta" if reader.peek()? == Kind::Object => {
                reader.object(&mut |key, reader| self.delta.member(&key, reader))?;
            }
            "message" => self.message = Some(reader.value()?),
            "usage" => self.usage = Some(reader.value()?),
            "error" => self.error = Some(reader.value()?).filter(|error| !error.is_null()),
            _ => reader.skip()?,
        }
        Ok(())
    }
}

impl<'a> Change<'a> {
    fn member(&mut self, key: &str, reader: &mut Reader<'a>) -> Result<(), JsonError> {
        let text = match reader.peek()? {
            Kind::String => reader.string()?,
            // Some gateways send the value itself.
            kind if key == "partial_json" && kind != Kind::Null => reader.raw()?.into(),
            kind => {
                let is_empty =
                    matches!(&*reader.raw()?.replace(char::is_whitespace, ""), "{}" | "[]");
                self.note(key, matches!(kind, Kind::Object | Kind::Array) && !is_empty);
                return Ok(());
            }
        };
        self.note(key, !text.trim().is_empty());
        match key {
            "type" => self.kind = text,
            "text" => self.text = text,
            "thinking" => self.thinking = text,
            "signature" => self.signature = Some(text),
            "partial_json" => self.partial_json = text,
            "stop_reason" => self.stop_reason = Some(text),
            "content" => self.content = Some(text),
            "encrypted_content" => self.encrypted_content = Some(text),
            _ => {}
        }
        Ok(())
    }

    /// Notes a member, and whether it is a text, an object or an array with content.
    fn note(&mut self, key: &str, has_content: bool) {
        let known = ["type", "text", "thinking", "signature", "partial_json", "stop_reason"];
        self.has_content |= has_content && key != "type";
        self.unread |= has_content && !known.contains(&key);
    }
}
