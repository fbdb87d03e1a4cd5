//! What hosts need of a provider beside its wire format: its name, its address, its key.

/// Facts about a provider for drivers, command lines and pages. The machines do not read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// Its name for people.
    pub title: &'static str,
    /// The function of the npm package that makes its models; `openaiChat` takes the dialect.
    /// `None`: the provider has no client, only a form of histories.
    pub client: Option<&'static str>,
    /// The address up to the version, where the provider has one of its own. `{region}` stands for
    /// the region of an account.
    pub base_url: Option<&'static str>,
    /// The environment variable in which its own SDK looks for the key.
    pub key_variable: Option<&'static str>,
    /// The header of the key. In `authorization` the key is a bearer token.
    pub key_header: &'static str,
    /// Headers of every request beside those of JSON, with names in lower case.
    pub headers: &'static [(&'static str, &'static str)],
    /// The header, with the value `true`, with which its API answers requests from pages.
    pub page_header: Option<&'static str>,
    /// The path behind the base address of a request for a stream. `{model}` stands for the model.
    pub path: &'static str,
    /// The hosts of its API, where a host tells it from others with its paths. A subdomain of one
    /// is one.
    pub hosts: &'static [&'static str],
    /// Ends of paths by which a recorded request is known, whatever its host is.
    pub path_ends: &'static [&'static str],
    /// The member of a request body that holds the seed, by the names on the way to it. Empty: the
    /// provider takes none.
    pub seed: &'static [&'static str],
    /// Whether it keeps conversations, so that turns may have the strategy `thread`.
    pub threads: bool,
}

impl ProviderInfo {
    /// A provider with a wire format of its own.
    pub(super) const fn of(title: &'static str, client: &'static str, path: &'static str) -> Self {
        Self {
            title,
            client: Some(client),
            base_url: None,
            key_variable: None,
            key_header: "authorization",
            headers: &[],
            page_header: None,
            path,
            hosts: &[],
            path_ends: &[],
            seed: &[],
            threads: false,
        }
    }

    /// A provider with the wire format of OpenAI's Chat Completions.
    pub(super) const fn chat(title: &'static str) -> Self {
        Self::of(title, "openaiChat", "/chat/completions")
    }

    /// Returns the header that carries a key, and its value.
    #[must_use]
    pub fn key(&self, key: &str) -> (&'static str, String) {
        let prefix = if self.key_header == "authorization" { "Bearer " } else { "" };
        (self.key_header, format!("{prefix}{key}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::Dialect;
    use crate::json::Json;
    use crate::provider::RequestParts;

    #[test]
    fn paths_are_those_of_requests() {
        for dialect in Dialect::ALL {
            let info = dialect.info();
            let message = Json::object([("role", "user".into()), ("content", "hi".into())]);
            let request = dialect.request(RequestParts::new("m", vec![message], None));
            match info.client {
                Some(_) => {
                    assert_eq!(request.unwrap().path, info.path.replace("{model}", "m"));
                }
                None => assert!(request.is_err(), "{dialect:?} has requests, and no client"),
            }
        }
    }

    #[test]
    fn a_recorded_request_is_of_one_provider() {
        let infos = Dialect::ALL.map(Dialect::info);
        let all = |of: fn(&crate::provider::ProviderInfo) -> &'static [&'static str]| {
            let mut all: Vec<_> = infos.iter().flat_map(|info| of(info)).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{all:?}");
        };
        all(|info| info.hosts);
        all(|info| info.path_ends);
    }

    #[test]
    fn a_key_is_a_bearer_token_where_its_header_says_so() {
        let key = |dialect: Dialect| dialect.info().key("k");
        assert_eq!(key(Dialect::Groq), ("authorization", "Bearer k".to_owned()));
        assert_eq!(key(Dialect::Anthropic), ("x-api-key", "k".to_owned()));
    }
}
