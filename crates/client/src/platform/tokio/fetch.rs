//! Requests through `reqwest`.

use std::sync::{Arc, LazyLock, OnceLock};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::http::BROKEN;
use crate::model::Model;
use crate::platform::Respond;

/// A client, made with the first request; clones share it, and with it its connections.
#[derive(Clone, Default)]
pub(crate) struct Http(Arc<OnceLock<Result<reqwest::Client, String>>>);

impl Model {
    /// Natively. Sends requests through this client: for a proxy, certificates of the host's own,
    /// or connections that several models share. Give it `redirect::Policy::none()`: one that
    /// follows redirects sends the key and the conversation wherever the endpoint points.
    ///
    /// By default a model and its clones share a client of their own, over HTTP/1.1, with rustls
    /// and the certificates of the system. Its connections belong to the runtime that first used
    /// them, as those of every client of reqwest do.
    #[must_use]
    pub fn client(self, client: reqwest::Client) -> Self {
        self.through(Http(Arc::new(OnceLock::from(Ok(client)))))
    }
}

impl Http {
    /// What reqwest says can hold the address, and with it a key: nobody hears it.
    pub(super) async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: String,
    ) -> Result<Answer, String> {
        let client = self.0.get_or_init(client).as_ref().map_err(String::clone)?;
        let broken = || BROKEN.to_owned();
        let headers = read(headers).ok_or_else(broken)?;
        let sent = client.post(url).headers(headers).body(body).send();
        sent.await.map(Answer).map_err(|_| broken())
    }
}

/// `None` for what is no header.
fn read(headers: &[(String, String)]) -> Option<HeaderMap> {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let mut value = HeaderValue::try_from(value).ok()?;
        // One of them is a key: no log shows it.
        value.set_sensitive(true);
        all.insert(HeaderName::try_from(name).ok()?, value);
    }
    Some(all)
}

fn client() -> Result<reqwest::Client, String> {
    // Reading the system's certificates takes milliseconds.
    static TLS: LazyLock<Result<ClientConfig, String>> =
        LazyLock::new(|| tls().map_err(|error| format!("TLS cannot be set up: {error}")));
    let client = reqwest::Client::builder().tls_backend_preconfigured(TLS.clone()?);
    // The core reports a redirect. To follow it would send the key and the conversation elsewhere.
    let client = client.redirect(reqwest::redirect::Policy::none());
    client.build().map_err(|_| "the HTTP client cannot be set up".to_owned())
}

/// As reqwest's own, with the cryptography of the process if it has chosen one, else of ring.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?;
    Ok(config.with_no_client_auth())
}

/// An answer whose body is still to come. Dropping it closes the connection.
pub(crate) struct Answer(reqwest::Response);

impl Respond for Answer {
    fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    fn header(&self, name: &str) -> Option<String> {
        self.0.headers().get(name)?.to_str().ok().map(str::to_owned)
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, ()> {
        let piece = self.0.chunk().await.map_err(drop)?;
        Ok(piece.map(Vec::from))
    }
}
