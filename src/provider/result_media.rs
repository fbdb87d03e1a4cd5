//! Images and files of tool results: where a provider takes them, and how large.

use super::content::{Attachment, Out};
use super::rules::{Media, Rules};
use crate::json::Json;

/// Where the images and files of results are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultMedia {
    /// Nowhere: a note stands for them.
    Note,
    /// In the results, of these kinds; others behind them.
    Inside(Media),
    /// In a message of the user behind all results of a response.
    Behind,
}

/// Where one image or file of a result is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Inside,
    Behind,
    /// Nowhere, for this reason.
    Note(&'static str),
}

/// The most bytes of one image or file, decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MediaBytes {
    pub(super) image: u64,
    pub(super) file: u64,
    /// Where this is documented, and when it was read.
    #[allow(dead_code, reason = "the table of the guides has it")]
    pub(super) source: &'static str,
}

impl MediaBytes {
    /// For a provider without a documented limit.
    pub(super) const ANY: Self = Self { image: u64::MAX, file: u64::MAX, source: "" };
}

/// Why a note stands for an image or a file.
const NOT_TAKEN: &str = ". This model cannot be given it.";
const TOO_LARGE: &str = ". It is larger than this model takes.";
/// What stands in a result for an image or a file that follows it.
const FOLLOWS: &str = ". It follows the tool results.";

impl Rules {
    /// Whether a model is one of those that read text only.
    pub(crate) fn is_text_only(&self, model: Option<&str>) -> bool {
        model.is_some_and(|model| self.text_models.iter().any(|own| model.starts_with(own)))
    }

    /// The kinds of images and files that the user's messages may have.
    pub(crate) fn media_for(&self, model: Option<&str>) -> Media {
        if self.is_text_only(model) { Media::None } else { self.media }
    }

    /// Where an image or a file of a result is sent.
    pub(crate) fn place(&self, model: Option<&str>, seen: &Attachment<'_>) -> Place {
        let result_media = (self.result_media)(model);
        match result_media {
            ResultMedia::Inside(kinds) if kinds.takes(seen) && !self.is_text_only(model) => {
                if self.is_too_large(seen) { Place::Note(TOO_LARGE) } else { Place::Inside }
            }
            ResultMedia::Inside(_) | ResultMedia::Behind => {
                self.place_of_user(model, seen).map_or(Place::Behind, Place::Note)
            }
            ResultMedia::Note => Place::Note(NOT_TAKEN),
        }
    }

    /// Why a message of the user cannot have an image or a file of a result; `None` if it can.
    pub(super) fn place_of_user(
        &self,
        model: Option<&str>,
        seen: &Attachment<'_>,
    ) -> Option<&'static str> {
        if !self.media_for(model).takes(seen) {
            return Some(NOT_TAKEN);
        }
        self.is_too_large(seen).then_some(TOO_LARGE)
    }

    fn is_too_large(&self, seen: &Attachment<'_>) -> bool {
        let MediaBytes { image, file, .. } = self.media_bytes;
        let most = if seen.is_image() { image } else { file };
        seen.bytes().is_some_and(|bytes| bytes > most)
    }
}

impl Attachment<'_> {
    /// The bytes of its data; `None` of an address.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let digits = self.data.trim_end_matches('=').len();
        u64::try_from(digits).ok().filter(|_| !self.is_url).map(|digits| digits * 3 / 4)
    }

    /// What a model reads in place of it.
    pub(crate) fn note(&self, why: &str) -> String {
        let mut note = String::from(if self.is_image() { "[image: " } else { "[file: " });
        if let Some(name) = &self.name {
            note.push_str(name);
            note.push_str(", ");
        }
        note.push_str(if self.mime.is_empty() { "of an unknown type" } else { &self.mime });
        note.push_str(", ");
        match self.bytes() {
            Some(bytes) => note.push_str(&format!("{bytes} bytes")),
            None => note.push_str(&self.data),
        }
        note.push_str(why);
        note.push(']');
        note
    }

    /// What stands in a result for it, as it follows the results.
    pub(crate) fn placeholder(&self) -> String {
        self.note(FOLLOWS)
    }
}

/// What precedes the images and files of a result in a message of the user.
pub(crate) fn label<'a>(tool: &str) -> Out<'a> {
    text(format!("Output of the tool {tool}, which the user has not written:"))
}

pub(super) fn text<'a>(text: String) -> Out<'a> {
    Out::Text { text: Json::from(text), extra: Vec::new(), apart: false }
}
