//! Blocks of tools that the provider runs itself, as their pieces arrive.

use super::delta::{Delta, ErrorClass, ProviderToolStatus, StreamError};
use super::tree::push_tool;
use crate::json::{Json, Reader};
use crate::limits;

/// A block whose end was not received. It is kept as JSON text: the block up to the value that
/// arrives in pieces, and what arrived of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hosted {
    name: String,
    id: String,
    status: ProviderToolStatus,
    head: String,
    said: String,
    tail: &'static str,
}

impl Hosted {
    /// `own`: the block without the member that arrives in pieces, which every object in `tail` ends with;
    /// `last`: the beginning of that member, without its quotation mark. `tail` ends the block.
    #[inline(never)]
    pub(crate) fn new(
        (name, id): (&str, &str),
        status: ProviderToolStatus,
        own: &Json<'_>,
        (last, tail): (&str, &'static str),
    ) -> Self {
        let mut head = own.to_text();
        let ends = tail.bytes().filter(|byte| *byte == b'}').count();
        head.truncate(head.len().saturating_sub(ends));
        head.push_str(",\"");
        head.push_str(last);
        Self { name: name.to_owned(), id: id.to_owned(), status, head, said: String::new(), tail }
    }

    /// Adds a piece; pieces of a list are divided by commas.
    #[inline(never)]
    pub(crate) fn add(&mut self, piece: &str, listed: bool, out: &mut Vec<Delta>) {
        if listed && !self.said.is_empty() {
            self.said.push(',');
        }
        self.said.push_str(piece);
        if self.said.len() > limits::SSE_EVENT_BYTES {
            out.push(Delta::Error(StreamError {
                class: ErrorClass::Malformed,
                message: "the block of a tool is too large".to_owned(),
                raw: "null".to_owned(),
            }));
        }
    }

    /// Ends the block. `whole`: the value, if no piece of it arrived.
    #[inline(never)]
    pub(crate) fn end(self, whole: &str, out: &mut Vec<Delta>) {
        let said = if self.said.is_empty() { whole } else { &self.said };
        let raw = [&self.head, said, self.tail].concat();
        let mut reader = Reader::verbatim(&raw);
        if reader.skip().and_then(|()| reader.end()).is_ok() {
            push_tool((&self.name, &self.id), self.status, (raw, true), out);
        }
    }
}
