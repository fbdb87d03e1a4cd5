//! Requests to a model, and what the heads of their responses say.

use crate::clock;
use crate::platform::{Active, Client, Platform, Respond, Response};

/// Bytes of a failure's body that the core may look at.
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
            return Err(format!("an address without a host needs a page: {}", shown(&self.url)));
        }
        let said = Active::post(&self.client, &self.url, &self.headers, self.body).await;
        said.map_err(|said| match said.as_str() {
            BROKEN => format!("the connection to the model at {} failed", shown(&self.url)),
            _ => said,
        })
    }

    /// The path of its address.
    pub(crate) fn path(&self) -> String {
        let shown = shown(&self.url);
        let host = shown.find("://").map_or(0, |at| at + 3);
        let path = shown.get(host..).and_then(|rest| rest.get(rest.find('/')?..));
        path.unwrap_or_default().to_owned()
    }
}

/// An address without credentials and query.
fn shown(url: &str) -> String {
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
    let precise = precise.and_then(|text| text.trim().parse::<f64>().ok());
    if let Some(precise) = precise.filter(|ms| *ms >= 0.0) {
        return millis(precise);
    }
    let said = response.header("retry-after").filter(|said| !said.is_empty())?;
    let seconds = said.trim().parse::<f64>().map(|seconds| seconds * 1000.0);
    millis(seconds.unwrap_or_else(|_| Active::date(&said) - clock::unix_ms()))
}

fn millis(wait: f64) -> Option<u64> {
    (!wait.is_nan()).then(|| clock::whole(wait.ceil().clamp(0.0, 9_007_199_254_740_991.0)))
}
