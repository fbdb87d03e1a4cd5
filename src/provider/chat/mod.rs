//! The wire format of OpenAI's Chat Completions, which many providers share:
//! <https://platform.openai.com/docs/api-reference/chat>.

mod message;
mod request;
mod stream;

pub(super) use message::{Silence, Style, address, payload, write};
pub(super) use request::{FOR_HOSTS, REQUESTS, post, started, tools};

use super::rules::{ResultParts, Rules, Write};
use super::shapes::Marks;
use super::stream::Stream;
use crate::stream::AnyEvents;

/// The stream of Chat Completions.
pub(super) const STREAM: Stream = Stream::Events(|| AnyEvents::new(stream::Chunks::default()));

/// The rules that providers with this wire format share.
pub(super) const fn rules(own: Marks, write: Write) -> Rules {
    Rules { most_calls: 128, result_parts: ResultParts::Listed, ..Rules::common(own, write) }
}
