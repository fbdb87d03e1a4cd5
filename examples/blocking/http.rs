//! Asks an OpenAI-compatible model, and tells what comes as it comes.

use std::env;
use std::error::Error;
use std::io::Read;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use turnlock::canon::Json;
use turnlock::turn::Input;

use super::Fact;

pub(crate) type Failure = Box<dyn Error>;

#[derive(Clone)]
pub(crate) struct Provider {
    agent: ureq::Agent,
    url: String,
    authorization: String,
    model: String,
}

impl Provider {
    pub(crate) fn from_env() -> Result<Self, env::VarError> {
        // Longer than the turn waits: it decides, and this ends what nobody waits for any more.
        let agent = ureq::Agent::config_builder().timeout_per_read(Some(Duration::from_secs(90)));
        Ok(Self {
            agent: agent.http_status_as_error(false).build().new_agent(),
            url: env::var("BASE_URL")? + "/chat/completions",
            authorization: format!("Bearer {}", env::var("API_KEY")?),
            model: env::var("MODEL")?,
        })
    }

    /// Blocks until the response has ended, or until nobody listens.
    pub(crate) fn ask(
        &self,
        body: Json<'static>,
        (inference, attempt): (u32, u32),
        tell: &SyncSender<Fact>,
    ) {
        let end = self.read(body, (inference, attempt), tell).map_err(|error| error.to_string());
        let fact: Fact = Box::new(move |to| match &end {
            Ok(()) => to(Input::ResponseEnded { inference, attempt }),
            Err(message) => to(Input::ResponseFailed { inference, attempt, message }),
        });
        // Without a listener it was aborted.
        let _ = tell.send(fact);
    }

    fn read(
        &self,
        mut body: Json<'static>,
        (inference, attempt): (u32, u32),
        tell: &SyncSender<Fact>,
    ) -> Result<(), Failure> {
        if let Json::Object(members) = &mut body {
            members.push(("model".into(), self.model.clone().into()));
            members.push(("stream".into(), true.into()));
        }
        let post = self.agent.post(&self.url).header("authorization", &self.authorization);
        let response = post.content_type("application/json").send(body.to_text())?;
        let status = response.status().as_u16();
        let number = |name| response.headers().get(name)?.to_str().ok()?.parse::<u64>().ok();
        let seconds = number("retry-after").map(|seconds| seconds.saturating_mul(1000));
        let retry_after_ms = number("retry-after-ms").or(seconds);
        let mut reader = response.into_body().into_reader();
        let mut said = Vec::new();
        if !(200..300).contains(&status) {
            // A status that was heard is a fact, whatever becomes of the body behind it.
            let _ = reader.by_ref().take(4096).read_to_end(&mut said);
        }
        tell.send(Box::new(move |to| {
            let body = &String::from_utf8_lossy(&said);
            to(Input::ResponseHead { inference, attempt, status, retry_after_ms, body });
        }))?;
        loop {
            let mut bytes = vec![0; 8192];
            let length = reader.read(&mut bytes)?;
            if length == 0 {
                return Ok(());
            }
            bytes.truncate(length);
            tell.send(Box::new(move |to| {
                to(Input::ResponseBytes { inference, attempt, bytes: &bytes });
            }))?;
        }
    }
}
