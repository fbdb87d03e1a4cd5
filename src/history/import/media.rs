//! Images, files and sounds, in the block of any wire format.

use std::borrow::Cow;

use crate::json::Json;
use crate::provider::Attachment;
use crate::text::{find, holds};

/// What stands between the type and the data of a data URL.
const BASE64: &str = ";base64,";

/// The type of a document whose type is not told.
const PDF: &str = "application/pdf";

/// The image or file in a block, if other wire formats can represent it.
pub(in crate::history) fn media<'a>(block: &Json<'a>) -> Option<Attachment<'a>> {
    let text = |value: &Json<'a>, key: &str| match value.get(key) {
        Some(Json::String(text)) => Some(text.clone()),
        _ => None,
    };
    let mime = |value: &Json<'a>| {
        ["mediaType", "mimeType", "media_type", "mime_type"].iter().find_map(|key| text(value, key))
    };
    let made = |data: Cow<'a, str>, mime: Option<Cow<'a, str>>, fallback: &str| {
        // A document of Anthropic has a title.
        let name = ["filename", "name", "title"].iter().find_map(|key| text(block, key));
        let mime = mime.map_or_else(|| fallback.to_owned(), Cow::into_owned);
        Some(located(data, mime, name))
    };
    let kind = block.kind();
    let fallback = match kind {
        Some("image" | "image-data" | "image-url") => "image/*",
        Some("document") => PDF,
        Some("audio") => "audio/*",
        Some("video") => "video/*",
        _ => "",
    };
    match kind {
        Some("image_url" | "input_image") => match block.get("image_url")? {
            Json::String(url) => made(url.clone(), None, "image/*"),
            nested => made(text(nested, "url")?, None, "image/*"),
        },
        Some("image" | "document" | "audio" | "video")
            if block.get("source").is_some_and(|s| s.as_object().is_some()) =>
        {
            let source = block.get("source")?;
            match text(source, "type").as_deref() {
                Some("base64" | "url" | "data") => made(
                    ["data", "url", "value"].iter().find_map(|key| text(source, key))?,
                    mime(source),
                    fallback,
                ),
                _ => None,
            }
        }
        Some("image") => made(
            ["image", "url", "data", "base64"].iter().find_map(|key| text(block, key))?,
            mime(block),
            fallback,
        ),
        Some(
            "file" | "file-data" | "file-url" | "image-data" | "image-url" | "media" | "binary"
            | "audio" | "video",
        ) => match block.get("file") {
            Some(file) => made(text(file, "file_data")?, None, PDF)
                .map(|found| Attachment { name: text(file, "filename"), ..found }),
            None => made(
                ["url", "data", "base64"].iter().find_map(|key| text(block, key))?,
                mime(block),
                fallback,
            ),
        },
        // MCP: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#embedded-resources
        Some("resource") => {
            let resource = block.get("resource")?;
            let name = text(resource, "uri").and_then(|uri| file_name(&uri));
            let found = made(text(resource, "blob")?, mime(resource), "")?;
            Some(Attachment { name, is_url: false, ..found })
        }
        Some("input_file") => {
            made(text(block, "file_data").or_else(|| text(block, "file_url"))?, None, PDF)
        }
        Some("input_audio") => {
            let sound = block.get("input_audio")?;
            let format = text(sound, "format").unwrap_or(Cow::Borrowed("wav"));
            made(text(sound, "data")?, Some(["audio/", &format].concat().into()), "")
        }
        Some(_) => None,
        None => {
            if let Some(inline) = block.get("inlineData").or_else(|| block.get("inline_data")) {
                return made(text(inline, "data")?, mime(inline), "");
            }
            if let Some(file) = block.get("fileData").or_else(|| block.get("file_data")) {
                let url = text(file, "fileUri").or_else(|| text(file, "file_uri"))?;
                return made(url, mime(file), "").map(|found| Attachment { is_url: true, ..found });
            }
            let image = block.get("image")?;
            let format = text(image, "format")?;
            made(text(image.get("source")?, "bytes")?, None, &format!("image/{format}"))
        }
    }
}

/// The last segment of an address.
fn file_name<'a>(uri: &str) -> Option<Cow<'a, str>> {
    let path = uri.split(['?', '#']).next()?;
    let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(Cow::Owned(name.to_owned()))
}

fn located<'a>(data: Cow<'a, str>, mime: String, name: Option<Cow<'a, str>>) -> Attachment<'a> {
    let split = data.strip_prefix("data:").and_then(|rest| {
        let at = find(rest, BASE64)?;
        Some((rest.get(..at)?, rest.get(at + BASE64.len()..)?))
    });
    if let Some((inner, payload)) = split {
        let mime = if inner.is_empty() { mime } else { inner.to_owned() };
        return Attachment { mime, data: Cow::Owned(payload.to_owned()), is_url: false, name };
    }
    let is_url = holds(&data, "://");
    Attachment { mime, data, is_url, name }
}
