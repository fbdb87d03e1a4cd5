//! The content of a result: texts, images and files, as a tool returns them.
//!
//! ```text
//! { "content": [
//!   { "type": "text", "text": "…" },
//!   { "type": "image" | "file", "mediaType": "image/png", "data": "<base64>" | "url": "https://…", "name"?: "…" } ] }
//! ```
//!
//! A value is content only if each part of it is valid and it has no other member. Events and stores
//! have a reference in place of the data: `bytes`, its size.

use std::sync::Arc;

use crate::json::{Add, Json, members};
use crate::provider::{Attachment, Out};
use crate::text::base64_bytes;

/// The content of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Media(Media),
}

/// An image or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Media {
    is_image: bool,
    media_type: String,
    name: Option<String>,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// Base64, and the number of its bytes.
    Data(Arc<str>, u64),
    Url(String),
    /// What was left out.
    Omitted {
        why: Omitted,
        bytes: Option<u64>,
        url: Option<String>,
    },
}

/// Why the data of an image or a file is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Omitted {
    /// It is larger than `policy.maxMediaBytes` allows.
    TooLarge,
    /// The tool is untrusted, and the provider would load the address.
    UntrustedUrl,
    /// Another process had it.
    Gone,
}

impl Omitted {
    const NAMES: [(Self, &'static str); 2] =
        [(Self::TooLarge, "too_large"), (Self::UntrustedUrl, "untrusted_url")];

    fn parse(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, own)| *own == name).map(|(why, _)| why)
    }

    fn name(self) -> Option<&'static str> {
        Self::NAMES.into_iter().find(|(why, _)| *why == self).map(|(_, name)| name)
    }
}

/// What a content may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentLimits {
    /// Bytes of all texts.
    pub(crate) text_bytes: u64,
    /// Bytes of all images and files.
    pub(crate) media_bytes: u64,
    /// Whether the provider may load addresses.
    pub(crate) urls: bool,
}

impl Content {
    /// Reads a value; `None` if it is not content.
    pub(crate) fn read(value: &Json<'_>) -> Option<Self> {
        let [(key, parts)] = value.as_object()? else { return None };
        let parts = parts.as_array().filter(|parts| key == "content" && !parts.is_empty())?;
        Some(Self { parts: parts.iter().map(Part::read).collect::<Option<_>>()? })
    }

    /// The content as far as these limits allow it, and whether a text was cut.
    pub(crate) fn within(mut self, limits: ContentLimits) -> (Self, bool) {
        let (mut text_left, mut media_left, mut cut) =
            (limits.text_bytes, limits.media_bytes, false);
        for part in &mut self.parts {
            match part {
                Part::Text(text) => {
                    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
                    if size > text_left {
                        let at = usize::try_from(text_left).unwrap_or(usize::MAX);
                        text.truncate(text.floor_char_boundary(at));
                        text.push_str("… [cut]");
                        cut = true;
                    }
                    text_left = text_left.saturating_sub(size);
                }
                Part::Media(media) => {
                    let omitted = match &media.source {
                        Source::Data(_, bytes) if *bytes > media_left => {
                            Some((Omitted::TooLarge, Some(*bytes), None))
                        }
                        Source::Data(_, bytes) => {
                            media_left -= bytes;
                            None
                        }
                        Source::Url(url) if !limits.urls => {
                            Some((Omitted::UntrustedUrl, None, Some(url.clone())))
                        }
                        _ => None,
                    };
                    if let Some((why, bytes, url)) = omitted {
                        media.source = Source::Omitted { why, bytes, url };
                    }
                }
            }
        }
        (self, cut)
    }

    /// The content with a text before it.
    pub(crate) fn after(&self, text: String) -> Self {
        let own = self.parts.iter().cloned();
        Self { parts: [Part::Text(text)].into_iter().chain(own).collect() }
    }

    /// The content with references in place of data, as events and stores have it.
    pub(crate) fn reference(&self) -> Json<'static> {
        self.json(|part| part.json(false))
    }

    /// The parts as a history has them: with data, and with notes in place of what was left out.
    pub(crate) fn history(&self) -> Vec<Json<'static>> {
        self.parts.iter().map(|part| part.json(true)).collect()
    }

    fn json(&self, part: impl Fn(&Part) -> Json<'static>) -> Json<'static> {
        Json::object([("content", Json::Array(self.parts.iter().map(part).collect()))])
    }

    /// The content as text: notes stand for images and files.
    pub(crate) fn text(&self) -> String {
        let parts: Vec<_> = self.parts.iter().map(Part::text).collect();
        parts.join("\n")
    }

    /// The content for a model.
    pub(crate) fn parts(&self) -> Vec<Out<'static>> {
        self.parts.iter().map(Part::out).collect()
    }

    /// The images and files for a model.
    pub(crate) fn attachments(&self) -> Vec<Attachment<'static>> {
        let media = self.parts.iter().map(Part::out).filter_map(|part| match part {
            Out::Media(seen) => Some(seen),
            _ => None,
        });
        media.collect()
    }

    /// Whether it has an image or a file for the model.
    pub(crate) fn has_media(&self) -> bool {
        self.media().any(|media| !matches!(media.source, Source::Omitted { .. }))
    }

    /// Whether it has data, which events and stores do not have.
    pub(crate) fn has_data(&self) -> bool {
        self.media().any(|media| matches!(media.source, Source::Data(..)))
    }

    /// Whether data is missing that another process had.
    pub(crate) fn is_gone(&self) -> bool {
        let gone = |source: &Source| matches!(source, Source::Omitted { why: Omitted::Gone, .. });
        self.media().any(|media| gone(&media.source))
    }

    fn media(&self) -> impl Iterator<Item = &Media> {
        self.parts.iter().filter_map(|part| match part {
            Part::Media(media) => Some(media),
            Part::Text(_) => None,
        })
    }
}

impl Part {
    fn read(part: &Json<'_>) -> Option<Self> {
        let members = part.as_object()?;
        let text = |key: &str| part.get(key).map(|value| Some(value.as_str()?.to_owned()));
        let kind = part.kind()?;
        let known: &[&str] = match kind {
            "text" => &["type", "text"],
            "image" | "file" => &["type", "mediaType", "data", "url", "name", "bytes", "omitted"],
            _ => return None,
        };
        if !members.iter().all(|(key, _)| known.contains(&key.as_ref())) {
            return None;
        }
        if kind == "text" {
            return Some(Self::Text(text("text")??));
        }
        let (is_image, media_type) = (kind == "image", text("mediaType")??);
        let (main, sub) = media_type.split_once('/')?;
        if is_image && main != "image" || main.is_empty() || sub.is_empty() {
            return None;
        }
        let name = text("name").map_or(Some(None), |name| Some(Some(name?)))?;
        let (data, url) = (text("data"), text("url"));
        let bytes = part.get("bytes").map(Json::as_u64);
        let omitted = text("omitted");
        let source = match (data, url, bytes, omitted) {
            (Some(data), None, None, None) => Source::data(&data?)?,
            (None, Some(url), None, None) => {
                let url = url?;
                if url.starts_with("data:") { Source::data(&url)? } else { Source::url(url)? }
            }
            (None, url, bytes, Some(why)) => {
                let (why, url) =
                    (Omitted::parse(&why?)?, url.map_or(Some(None), |url| Some(Some(url?)))?);
                Source::Omitted { why, bytes: bytes.map_or(Some(None), |n| Some(Some(n?)))?, url }
            }
            (None, None, Some(bytes), None) => {
                Source::Omitted { why: Omitted::Gone, bytes: Some(bytes?), url: None }
            }
            _ => return None,
        };
        Some(Self::Media(Media { is_image, media_type, name, source }))
    }

    /// `whole`: with data, and with a note in place of what was left out.
    fn json(&self, whole: bool) -> Json<'static> {
        let text =
            |text: String| Json::Object(members! { "type": "text", "text": Json::from(text) });
        let media = match self {
            Self::Text(own) => return text(own.clone()),
            Self::Media(media) => media,
        };
        let mut members = members! {
            "type": if media.is_image { "image" } else { "file" },
            "mediaType": Json::from(media.media_type.clone()),
        };
        match &media.source {
            Source::Omitted { .. } if whole => return text(media.note()),
            Source::Data(data, _) if whole => members.add("data", Json::from(data.to_string())),
            Source::Data(_, bytes) => members.add("bytes", Json::integer(*bytes)),
            Source::Url(url) => members.add("url", Json::from(url.clone())),
            Source::Omitted { why, bytes, url } => {
                if let Some(url) = url {
                    members.add("url", Json::from(url.clone()));
                }
                if let Some(bytes) = bytes {
                    members.add("bytes", Json::integer(*bytes));
                }
                if let Some(why) = why.name() {
                    members.add("omitted", why);
                }
            }
        }
        if let Some(name) = &media.name {
            members.add("name", Json::from(name.clone()));
        }
        Json::Object(members)
    }

    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Media(media) => media.note(),
        }
    }

    fn out(&self) -> Out<'static> {
        let text = |text: String| Out::Text { text: text.into(), extra: Vec::new(), apart: false };
        let Self::Media(media) = self else { return text(self.text()) };
        let (data, is_url) = match &media.source {
            Source::Data(data, _) => (data.to_string(), false),
            Source::Url(url) => (url.clone(), true),
            Source::Omitted { .. } => return text(media.note()),
        };
        Out::Media(Attachment {
            mime: media.media_type.clone(),
            data: data.into(),
            is_url,
            name: media.name.clone().map(Into::into),
        })
    }
}

impl Media {
    /// What a model reads in place of it.
    fn note(&self) -> String {
        let kind = if self.is_image { "image" } else { "file" };
        let mut note = format!("[{kind}: ");
        if let Some(name) = &self.name {
            note.push_str(name);
            note.push_str(", ");
        }
        note.push_str(&self.media_type);
        let (bytes, url, why) = match &self.source {
            Source::Data(_, bytes) => (Some(*bytes), None, ""),
            Source::Url(url) => (None, Some(url), ""),
            Source::Omitted { why, bytes, url } => (
                *bytes,
                url.as_ref(),
                match why {
                    Omitted::TooLarge => ". It is too large to be shown.",
                    Omitted::UntrustedUrl => ". It is not loaded, because the tool is not trusted.",
                    Omitted::Gone => {
                        ". It is no longer here, because another process had it. A call of a read-only \
                     tool can be made again."
                    }
                },
            ),
        };
        if let Some(bytes) = bytes {
            note.push_str(&format!(", {bytes} bytes"));
        }
        if let Some(url) = url {
            note.push_str(", ");
            note.push_str(url);
        }
        note.push_str(why);
        note.push(']');
        note
    }
}

impl Source {
    /// Base64, or a data URL.
    fn data(text: &str) -> Option<Self> {
        let data = match text.strip_prefix("data:") {
            Some(rest) => rest.split_once(";base64,")?.1,
            None => text,
        };
        let bytes = base64_bytes(data).filter(|bytes| *bytes > 0)?;
        Some(Self::Data(data.into(), bytes))
    }

    fn url(url: String) -> Option<Self> {
        let is_http = ["https://", "http://"]
            .iter()
            .any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        (is_http && !url.contains(char::is_whitespace)).then_some(Self::Url(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Content> {
        Content::read(&Json::parse_str(json).unwrap())
    }

    const LIMITS: ContentLimits = ContentLimits { text_bytes: 9, media_bytes: 9, urls: true };

    #[test]
    fn a_value_is_content_only_if_every_part_is_valid() {
        let image = r#"{"type":"image","mediaType":"image/png","data":"QUFB"}"#;
        for part in [
            r#"{"type":"text","text":"a"}"#,
            image,
            r#"{"type":"file","mediaType":"application/pdf","data":"QUFB","name":"a.pdf"}"#,
            r#"{"type":"image","mediaType":"image/png","url":"https://a.example/b.png"}"#,
            r#"{"type":"image","mediaType":"image/png","url":"data:image/png;base64,QUFB"}"#,
            r#"{"type":"image","mediaType":"image/png","data":"data:image/png;base64,QUFB"}"#,
            r#"{"type":"image","mediaType":"image/png","bytes":3}"#,
            r#"{"type":"image","mediaType":"image/png","bytes":3,"omitted":"too_large"}"#,
        ] {
            assert!(read(&format!(r#"{{"content":[{part}]}}"#)).is_some(), "{part}");
        }
        for part in [
            r#""a""#,
            r#"{"text":"a"}"#,
            r#"{"type":"text"}"#,
            r#"{"type":"text","text":1}"#,
            r#"{"type":"text","text":"a","cache":true}"#,
            r#"{"type":"image","mimeType":"image/png","data":"QUFB"}"#,
            r#"{"type":"image","mediaType":"application/pdf","data":"QUFB"}"#,
            r#"{"type":"image","mediaType":"png","data":"QUFB"}"#,
            r#"{"type":"image","mediaType":"image/png"}"#,
            r#"{"type":"image","mediaType":"image/png","data":""}"#,
            r#"{"type":"image","mediaType":"image/png","data":"not base64"}"#,
            r#"{"type":"image","mediaType":"image/png","data":"QUFB","url":"https://a.example"}"#,
            r#"{"type":"image","mediaType":"image/png","data":"QUFB","name":3}"#,
            r#"{"type":"image","mediaType":"image/png","url":"ftp://a.example/b.png"}"#,
            r#"{"type":"image","mediaType":"image/png","url":"https://"}"#,
            r#"{"type":"image","mediaType":"image/png","bytes":3,"omitted":"else"}"#,
            r#"{"type":"video","mediaType":"video/mp4","data":"QUFB"}"#,
        ] {
            assert!(read(&format!(r#"{{"content":[{part}]}}"#)).is_none(), "{part}");
            assert!(read(&format!(r#"{{"content":[{image},{part}]}}"#)).is_none(), "{part}");
        }
        for value in [
            "[]".to_owned(),
            r#"{"content":[]}"#.to_owned(),
            r#"{"content":"a"}"#.to_owned(),
            format!(r#"{{"content":[{image}],"total":1}}"#),
            format!(r#"{{"parts":[{image}]}}"#),
        ] {
            assert!(read(&value).is_none(), "{value}");
        }
    }

    #[test]
    fn limits_leave_out_what_is_over_them() {
        let content = read(
            r#"{"content":[{"type":"text","text":"0123456"},
                {"type":"image","mediaType":"image/png","data":"QUFBQUFB"},
                {"type":"image","mediaType":"image/png","data":"QkJCQkJC"},
                {"type":"image","mediaType":"image/png","data":"Q0ND","name":"c"},
                {"type":"text","text":"789"}]}"#,
        );
        let (content, cut) = content.unwrap().within(LIMITS);
        assert!(cut);
        assert_eq!(
            content.reference().to_text(),
            r#"{"content":[{"type":"text","text":"0123456"},{"type":"image","mediaType":"image/png","bytes":6},{"type":"image","mediaType":"image/png","bytes":6,"omitted":"too_large"},{"type":"image","mediaType":"image/png","bytes":3,"name":"c"},{"type":"text","text":"78… [cut]"}]}"#
        );
        let whole: Vec<_> = content.history().iter().map(Json::to_text).collect();
        assert!(whole[1].contains("QUFBQUFB") && whole[3].contains("Q0ND"), "{whole:?}");
        assert!(whole[2].contains("It is too large to be shown"), "{whole:?}");
        assert_eq!(content.attachments().len(), 2);
    }

    #[test]
    fn a_reference_that_is_read_again_says_what_is_missing() {
        let given = r#"{"content":[{"type":"image","mediaType":"image/png","data":"QUFB"}]}"#;
        let (content, _) = read(given).unwrap().within(LIMITS);
        assert!(content.has_data() && !content.is_gone());
        let stored = Content::read(&content.reference()).unwrap();
        assert!(stored.is_gone() && !stored.has_data() && !stored.has_media());
        assert!(stored.text().contains("It is no longer here"), "{}", stored.text());
        assert_eq!(stored.reference(), content.reference());
    }

    #[test]
    fn an_address_of_an_untrusted_tool_is_named_only() {
        let given =
            r#"{"content":[{"type":"file","mediaType":"text/csv","url":"http://a.example/b"}]}"#;
        let limits = ContentLimits { urls: false, ..LIMITS };
        let (content, _) = read(given).unwrap().within(limits);
        assert!(!content.has_media());
        assert_eq!(
            content.text(),
            "[file: text/csv, http://a.example/b. It is not loaded, because the tool is not trusted.]"
        );
        assert_eq!(Content::read(&content.reference()), Some(content));
    }
}
