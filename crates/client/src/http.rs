//! Requests to a model, and what the heads of their responses say.

use crate::clock;
use crate::platform::{Active, Client, Platform, Respond, Response};
use turnlock::Secret;
use turnlock::json::Json;

/// Bytes of a failure's body that the core may look at.
///
/// Limit | the body of a failure | bytes | the rest is not read
const FAILURE_BODY: usize = 8192;

/// What is said of a connection that failed. Whatever the platform says can hold the address, and
/// with it a key.
pub(crate) const BROKEN: &str = "the connection to the model failed";

/// A request that can be sent.
pub(crate) struct Post {
    pub(crate) client: Client,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Post {
    /// Resolves with the head of the response.
    pub(crate) async fn send(self) -> Result<Response, String> {
        if cfg!(not(target_arch = "wasm32")) && self.url.starts_with('/') {
            return Err(format!(
                "an address without a host needs a page: {}",
                public_address(&self.url)
            ));
        }
        let response = Active::post(&self.client, &self.url, &self.headers, self.body).await;
        response.map_err(|response| match response.as_str() {
            BROKEN => {
                format!("the connection to the model at {} failed", public_address(&self.url))
            }
            _ => response,
        })
    }

    /// The values of headers that are secret by their names, without `Bearer`.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let is_secret = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["auth", "key", "token", "secret"].iter().any(|one| name.contains(one))
        };
        let values = self.headers.iter().filter(|(name, _)| is_secret(name));
        let bare =
            values.map(|(_, value)| value.split_once(' ').map_or(&**value, |(_, rest)| rest));
        bare.map(Secret::from).collect()
    }

    /// The path of its address.
    pub(crate) fn path(&self) -> String {
        let address = public_address(&self.url);
        let host = address.find("://").map_or(0, |at| at + 3);
        let path = address.get(host..).and_then(|rest| rest.get(rest.find('/')?..));
        path.unwrap_or_default().to_owned()
    }
}

/// An address without credentials and query.
fn public_address(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// What an error message adds if nothing comes of a response: the path for a 404, the content type
/// where a stream was expected.
pub(crate) fn hint(response: &Response, path: &str) -> Option<String> {
    if response.status() == 404 {
        return Some(format!("POST {path}"));
    }
    let kind = response.header("content-type").filter(|_| is_ok(response))?;
    let kind: String = kind.chars().take(60).collect();
    let streams = ["event-stream", "eventstream", "ndjson", "octet-stream"]
        .iter()
        .any(|one| kind.contains(one));
    (!streams).then(|| format!("a stream was expected, the content type is {kind}"))
}

/// Whether the body is an answer, and no failure.
pub(crate) fn is_ok(response: &Response) -> bool {
    (200..300).contains(&response.status())
}

/// The beginning of the body of a failure.
pub(crate) async fn failure(response: &mut Response) -> String {
    let mut text = response.text(FAILURE_BODY).await;
    text.truncate(text.floor_char_boundary(FAILURE_BODY));
    text
}

/// Milliseconds to wait: seconds, milliseconds or a date (RFC 9110 §10.2.3, and what OpenAI adds to
/// it).
pub(crate) fn retry_after_ms(response: &Response) -> Option<u64> {
    let precise = response.header("retry-after-ms");
    let precise = precise.and_then(|text| number(&text));
    if let Some(precise) = precise.filter(|ms| *ms >= 0.0) {
        return millis(precise);
    }
    let header = response.header("retry-after").filter(|said| !said.is_empty())?;
    let seconds = number(&header).map(|seconds| seconds * 1000.0);
    millis(seconds.unwrap_or_else(|| Active::date(&header) - clock::unix_ms()))
}

/// A decimal number, by the core's parser: that of the standard library weighs 12 KB of wasm.
fn number(text: &str) -> Option<f64> {
    // The forms of a header that are none of JSON: a plus, zeros in front, nothing before the point.
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Json::parse_str(text).ok()?.as_f64();
    }
    let rest = text.trim_start_matches('0');
    let zero = if rest.starts_with(|first: char| first.is_ascii_digit()) { "" } else { "0" };
    Json::parse_str(&format!("{zero}{rest}")).ok()?.as_f64()
}

fn millis(wait: f64) -> Option<u64> {
    (!wait.is_nan()).then(|| clock::whole_ms(wait.ceil().clamp(0.0, 9_007_199_254_740_991.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_headers() {
        for text in ["5", " 5 ", "+5", "05", "5.25", ".5", "0", "00", "0.5", "-3", "1e3", "007.5e1"]
        {
            assert_eq!(number(text), text.trim().parse().ok(), "{text}");
        }
        for text in ["", "+", ".", "0-5", "5 s", "soon", "\"5\"", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
