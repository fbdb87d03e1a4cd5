//! Gemini `generateContent`: <https://ai.google.dev/api/generate-content>.

mod message;
mod request;
mod stream;

pub(super) use request::REQUESTS;

use super::content::blocks;
use super::rules::{
    Arguments, Blank, Fields, First, Ids, Last, Media, Merge, Names, Replay, ResultValues, Results,
    Rules, SentIds, Signatures, System,
};
use super::shapes::Marks;
use super::stream::Stream;
use crate::json::{Json, object};
use crate::stream::AnyEvents;
use message::{part, write};

const OWN: Marks = Marks::GEMINI;

pub(super) const RULES: Rules = Rules {
    system: System::Apart {
        write: |texts| {
            let parts = blocks(texts, part);
            object! { "parts": Json::Array(parts) }
        },
    },
    first: First::User,
    last: Last::NotAssistant,
    merge: Merge::Neater,
    ids: Ids::None,
    sent_ids: SentIds::IfOwn,
    names: Names::Dotted,
    results: Results::Alone,
    arguments: Arguments::Object { or_text: false },
    result_values: ResultValues::Native,
    reasoning: Replay::Native,
    // https://ai.google.dev/gemini-api/docs/thought-signatures
    thought_signatures: Signatures::OnParts { placeholder: "skip_thought_signature_validator" },
    blank: Blank::Kept,
    strict: true,
    media: Media::Files,
    fields: Fields {
        text: &["thoughtSignature"],
        result: &["parts", "scheduling", "willContinue"],
        ..Fields::NONE
    },
    ..Rules::common(OWN, write)
};

pub(super) const STREAM: Stream = Stream::Events(|| AnyEvents::new(stream::Parts::default()));
