//! The wire format of OpenAI's Chat Completions, which many providers share:
//! <https://platform.openai.com/docs/api-reference/chat>.

mod message;
mod recorded;
mod request;
mod stream;

pub(super) use message::{Silence, Style, TEXTS, address, payload, write, write_texts};
pub(super) use recorded::recorded;
pub(super) use request::{FOR_HOSTS, REQUESTS, post, started, tools};

use super::result_media::MediaBytes;
use super::rules::{ResultParts, Rules, Write};
use super::shapes::Marks;
use super::stream::Stream;
use super::tools::Strict;
use crate::stream::AnyEvents;

/// The stream of Chat Completions.
pub(super) const STREAM: Stream = Stream::Marked(|| AnyEvents::new(stream::Chunks::default()));

/// The rules that providers with this wire format share.
pub(super) const fn rules(own: Marks, write: Write) -> Rules {
    Rules { most_calls: 128, result_parts: ResultParts::Listed, ..Rules::common(own, write) }
}

/// The largest image and file that OpenAI takes. Its guide on images names 50 MB for a request until
/// 2026-04, and 512 MB since. On 2026-09-18 the API refused 37 MB of small images ("Total image size is
/// 50.56MB, which exceeds the allowed limit of 50MB") and took 97 MB of large ones: it counts images as
/// it has scaled them.
pub(super) const OPENAI_MEDIA: MediaBytes = MediaBytes {
    image: 50_000_000,
    file: 50_000_000,
    source: "https://developers.openai.com/api/docs/guides/images-vision (until 2026-04)",
};

/// The schemas of strict tools.
pub(super) const STRICT: Strict = Strict {
    refused: &[
        "oneOf",
        "allOf",
        "not",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "then",
        "else",
    ],
    depth: 10,
    properties: 5000,
    enums: 1000,
    source: "https://jsonschemaprofiles.unitvectorylabs.com/schemas/openai, of OpenAI's \
             structured outputs as of 2026-02 (2026-11-23); oneOf, which discriminated unions become: \
             github: docker/docker-agent#4155, openai/openai-agents-python#1884 (2026-11-30)",
};
