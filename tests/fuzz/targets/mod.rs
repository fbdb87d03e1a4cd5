//! What is fuzzed: a function of bytes each, which panics where a property does not hold. Run by
//! libFuzzer (`tests/fuzz/README.md`), and by `cargo test --test fuzz` with the kept inputs and some
//! thousand changed ones.

mod decisions;
mod histories;
mod imports;
mod machines;
mod texts;
mod wires;

use turnlock::Dialect;

/// A target: its name, and what it does with an input.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All targets. Those of a wire read a response, and those of `history` any messages.
pub(crate) const TARGETS: &[Target] = &[
    ("json", texts::json),
    ("sse", texts::sse),
    ("signature", texts::signature),
    ("wire_openai_chat", |data| wires::wire(Dialect::OpenAiChat, data)),
    ("wire_openai_responses", |data| wires::wire(Dialect::OpenAiResponses, data)),
    ("wire_anthropic", |data| wires::wire(Dialect::Anthropic, data)),
    ("wire_gemini", |data| wires::wire(Dialect::Gemini, data)),
    ("wire_bedrock", |data| wires::wire(Dialect::Bedrock, data)),
    ("frames", wires::frames),
    ("wire_cohere", |data| wires::wire(Dialect::Cohere, data)),
    ("wire_ollama", |data| wires::wire(Dialect::Ollama, data)),
    ("history", histories::history),
    ("import_block", imports::block),
    ("import_call", imports::call),
    ("import_event", imports::event),
    ("import_gemini", imports::gemini),
    ("import_item", imports::item),
    ("import_langchain", imports::langchain),
    ("import_media", imports::media),
    ("import_message", imports::message),
    ("import_ui", imports::ui),
    ("trim", histories::trim),
    ("plan", decisions::plan),
    ("request", decisions::request),
    ("patch", decisions::patch),
    ("distance", decisions::distance),
    ("options", machines::options),
    ("turn", machines::turn),
    ("restore", machines::restore),
    ("bundle", machines::bundle),
    ("chain", machines::chain),
    ("condition", machines::condition),
];

/// An input, taken apart from its front. Missing bytes are zeros.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number of two bytes.
    fn wide(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }

    fn below(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % most
    }

    /// A piece: its length is the next two bytes.
    fn piece(&mut self) -> &'a [u8] {
        let length = self.wide();
        let (piece, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        piece
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(self.piece()).into_owned()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
