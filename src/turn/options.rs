//! The options that a host sets before a turn starts.

use std::sync::Arc;

use super::action_tools::ActionTools;
use super::policy::Policy;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::history::{ModelHistory, Strategy};
use crate::json::table::{At, Read, names, options, read};
use crate::json::{Json, object};
use crate::limits;
use crate::secret::Secret;
use crate::stream::{TextToolCalls, ThinkTags};
use crate::tool::Registry;

names! {
    /// The mode of a turn: two phases, or the plain loop.
    pub enum Mode as "Mode", "two_stage or unified" {
        /// A bounded tool phase, then an action phase that answers.
        TwoStage "two_stage",
        /// One loop of model and tools with a soft stop.
        Unified "unified",
    }
}

const PREVIOUS: &str = "none without the strategy thread and the Responses API";
const THREAD: &str = "reconstruct, or thread with a conversationId and a model that keeps threads";
const DAY: u64 = 24 * 60 * 60 * 1000;

options! {
    /// How a turn is stored.
    pub struct Keep as "StoredAs" {
        /// Identifies this owner of the turn: 128 random bits from the host.
        owner "owner": String;
        /// The tenant that the turn belongs to. Default: the empty string.
        tenant "tenant": String;
        /// Maximum number of stored events; the oldest are dropped first. With 0, text and reasoning
        /// are not stored, so they need no commit before they are shown.
        events "events": u64 = 10_000, whole 0..=10_000_000;
        /// Maximum size of the stored events in bytes.
        bytes "bytes": u64 = 4_194_304, whole 1..=1 << 30;
        /// Milliseconds from the last commit until the store may delete the turn.
        ttl_ms "ttlMs": u64 = 86_400_000, whole 1..=3650 * DAY;
        /// Milliseconds without a commit after which an owner's lease expires.
        lease_ms "leaseMs": u64 = 15_000, whole 100..=DAY;
        /// Minimum milliseconds for which text is gathered between two commits.
        gather_ms "gatherMs": u64 = 25, whole 0..=10_000;
    }
}

impl Default for Keep {
    fn default() -> Self {
        Self::blank()
    }
}

impl Keep {
    /// Returns the defaults for an owner: 128 random bits as text, at least 16 characters.
    #[must_use]
    pub fn new(owner: impl Into<String>) -> Self {
        Self::blank().owner(owner.into())
    }

    fn check(&self) -> Result<(), Error> {
        if self.owner.len() < 16 {
            return Err(Error::option("keep.owner", "at least 16 characters of randomness"));
        }
        // A live owner commits three times per lease. Its claims must not expire between commits.
        if self.ttl_ms < self.lease_ms {
            return Err(Error::option("keep.ttlMs", "at least as long as keep.leaseMs"));
        }
        Ok(())
    }
}

options! {
    /// A model that is asked when the one before it has failed for good.
    pub struct Fallback as "FallbackModel" {
        /// The wire format of the model.
        dialect "dialect": Dialect | required = Dialect::OpenAiChat;
        /// As [`TurnOptions::model`](TurnOptions).
        model "model": Option<String>;
        /// As [`TurnOptions::body`](TurnOptions).
        body "body": Json<'static> = Json::Null;
        /// Retries of a failed request.
        max_retries "maxRetries": u32 = 2, whole 0..=10;
        /// As [`TurnOptions::think_tags`](TurnOptions).
        think_tags "thinkTags": ThinkTags = ThinkTags::Auto;
        /// As [`TurnOptions::text_tool_calls`](TurnOptions).
        text_tool_calls "textToolCalls": TextToolCalls = TextToolCalls::Report;
        /// As [`TurnOptions::history`](TurnOptions).
        history "history": ModelHistory = ModelHistory::blank();
    }
}

impl Fallback {
    /// Returns the defaults for a model of this wire format.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self::blank().dialect(dialect)
    }
}

options! {
    /// The options of a turn.
    pub struct TurnOptions as "TurnOptions" {
        /// The wire format of the model.
        dialect "dialect": Dialect | required = Dialect::OpenAiChat;
        /// The provider's name of the model. Without it, requests have only what the core decides,
        /// and the host adds the model and the stream.
        model "model": Option<String>;
        /// Members of every request's body, such as `temperature`: an object. They replace those
        /// for the model and the stream, and are replaced by those for messages and tools.
        body "body": Json<'static> = Json::Null;
        /// Two phases, or the plain loop.
        mode "mode": Mode = Mode::TwoStage;
        /// Limits and switches.
        policy "policy": Policy = Policy::blank();
        /// The history, in any shape that [`history`](crate::history) reads. The user's message is
        /// the last one.
        messages "messages": Vec<Json<'static>>;
        /// A system prompt before the history: it stands where the model's API wants it, before the
        /// history's own instructions.
        system "system": Option<String>;
        /// A JSON Schema: the answer is JSON of it. Text is shown when the host has found it valid;
        /// the model may answer once more, then the turn fails with `answer.invalid`. It is told in
        /// words, and by the API's structured output in requests without tools.
        answer_schema "answerSchema": Json<'static> = Json::Null;
        /// The tools.
        tools "tools": Registry;
        /// The turn's id.
        request_id "requestId": Arc<str>;
        /// Part of every signature.
        project_id "projectId": Option<Arc<str>>;
        /// The id of the conversation: in events, trace events, the context of tools, the result and
        /// the store.
        conversation_id "conversationId": Option<Arc<str>>;
        /// `thread`: the model keeps the conversation, so a request has only what its thread lacks,
        /// with the `threadId` that is made of `conversationId`, and results are boxes in system
        /// messages, whatever `policy.resultsAs` says. The Responses API keeps it by itself: see
        /// `previousResponseId`; results are native. Otherwise `reconstruct`.
        strategy "strategy": Strategy = Strategy::Reconstruct;
        /// With the strategy `thread` and the Responses API: `responseId` of the conversation's last
        /// turn. A request has what follows the last answer in `messages`, which are the whole history,
        /// and `previous_response_id`; one without any answer is sent as it is. Where the provider
        /// refuses the id (400 or 404: it has expired), the whole history is sent once, if that is
        /// more.
        previous_response_id "previousResponseId": Option<String>;
        /// Randomness of the host, at least 32 characters, for boxes, keys and jitter.
        secret "secret": Secret;
        /// A secret of the host, at least 32 characters, from which the nonces of boxes derive, with the
        /// id of the turn and the content: a turn that is made again with the same `requestId` sends
        /// the same bytes, so that a recorded model answers it. Default: randomness of each turn.
        box_secret "boxSecret": Option<Secret>;
        /// Retries of a failed request.
        max_retries "maxRetries": u32 = 2, whole 0..=10;
        /// With a server of local models behind the APIs of Chat Completions and Ollama: what becomes of
        /// a `<think>` block at the beginning of a response. `auto`: it is reasoning, without its tags.
        think_tags "thinkTags": ThinkTags = ThinkTags::Auto;
        /// With the same APIs: what becomes of tool calls that the model writes into its text (Hermes,
        /// Qwen, GLM, Kimi, MiniMax, DeepSeek, Harmony), which the server should have parsed. `report`:
        /// they stay text, the finish reason is `text_tool_call`, and a trace event names the tools.
        /// `run`: calls of declared tools outside of code and quotations run, those of tools that are
        /// not read-only only if they are approved.
        text_tool_calls "textToolCalls": TextToolCalls = TextToolCalls::Report;
        /// What the model wants back of the responses in its history.
        history "history": ModelHistory = ModelHistory::blank();
        /// Whether a request that the provider refuses for its history (status 400, 422 or 500, with a
        /// text that `explainProviderError` knows) is repaired and sent once more, before any fallback. The
        /// text only selects among the repairs that `normalizeHistory` makes: nothing of the user is
        /// left out, and no result is added that claims success.
        repair_on_error "repairOnError": bool = true;
        /// Models that are asked in this order, each when the one before it has failed for good (after
        /// its retries) and before anything of its response arrived. The turn goes on with the one
        /// that answers. Not with the strategy `thread`.
        fallbacks "fallbacks": Vec<Fallback>;
        /// Whether the turn emits trace events.
        trace "trace": bool = false;
        /// Milliseconds since 1970 at the start, for trace events.
        started_at "startedAt": u64 = 0, whole 0..=1 << 53;
        /// With a store: what is stored, and for how long.
        keep "keep": Option<Keep>;
    }
}

impl TurnOptions {
    /// Returns the defaults for a turn. `secret` is randomness of the host, at least 32 characters.
    #[must_use]
    pub fn new(
        dialect: Dialect,
        request_id: impl Into<Arc<str>>,
        secret: impl Into<Secret>,
        messages: Vec<Json<'static>>,
    ) -> Self {
        let options = Self::blank().dialect(dialect).messages(messages);
        options.request_id(request_id.into()).secret(secret.into())
    }

    /// Reads the options from JSON text; members that are missing or null have their default.
    ///
    /// # Errors
    /// `json.*` for invalid JSON; `options.invalid`, with the path of the option, for an option
    /// that is missing, unknown, of the wrong type or out of range; `dialect.unknown`;
    /// `tool.invalid_name`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        Self::from_json(Json::parse_host(text, limits::HISTORY_BYTES)?.into_owned())
    }

    /// As [`TurnOptions::parse`], for JSON that is already parsed.
    ///
    /// # Errors
    /// Those of [`TurnOptions::parse`], except `json.*`.
    pub fn from_json(json: Json<'static>) -> Result<Self, Error> {
        let mut options = Self::blank();
        read(&mut options, json, &At::ROOT)?;
        Ok(options)
    }

    /// Checks that every value is in range, and what one option alone does not show. A `resumed`
    /// turn needs no messages, and its policy may name tools that no longer exist.
    pub(super) fn check(&self, resumed: bool) -> Result<(), Error> {
        Read::check(self, &At::ROOT)?;
        if !matches!(self.body, Json::Null | Json::Object(_)) {
            return Err(Error::option("body", "an object"));
        }
        let bodies = self.fallbacks.iter().map(|one| &one.body);
        if bodies.into_iter().any(|body| !matches!(body, Json::Null | Json::Object(_))) {
            return Err(Error::option("fallbacks", "models whose `body` is an object"));
        }
        if !matches!(self.answer_schema, Json::Null | Json::Object(_)) {
            return Err(Error::option("answerSchema", "a JSON Schema, an object"));
        }
        if self.strategy == Strategy::Thread && !self.fallbacks.is_empty() {
            return Err(Error::option("fallbacks", "none with the strategy thread"));
        }
        if self.messages.is_empty() && !resumed {
            return Err(Error::option("messages", "at least one message"));
        }
        if self.secret.len() < 32 {
            return Err(Error::option("secret", "at least 32 characters of randomness"));
        }
        if self.box_secret.as_ref().is_some_and(|secret| secret.len() < 32) {
            return Err(Error::option("boxSecret", "at least 32 characters of randomness"));
        }
        if self.request_id.is_empty() {
            return Err(Error::option("requestId", "a string that is not empty"));
        }
        if !resumed && self.policy.max_cost.is_some() && self.policy.prices.is_none() {
            return Err(Error::option("policy.maxCost", "`policy.prices` beside it"));
        }
        if !resumed && self.policy.pause_after_tools && self.keep.is_none() {
            return Err(Error::option(
                "policy.pauseAfterTools",
                "a store: the turn is resumed from it",
            ));
        }
        let is_stored = self.is_kept();
        let named = self.conversation_id.as_ref().is_some_and(|id| !id.is_empty());
        if self.strategy == Strategy::TextOnly || (self.strategy == Strategy::Thread && !named) {
            return Err(Error::option("strategy", THREAD));
        }
        if self.previous_response_id.is_some() && !is_stored {
            return Err(Error::option("previousResponseId", PREVIOUS));
        }
        if is_stored && self.body.get("store").and_then(Json::as_bool) == Some(false) {
            return Err(Error::option("body.store", "true with the strategy thread"));
        }
        let unknown = |name: &String| self.tools.find(name).is_none();
        if let ActionTools::Named(names) = &self.policy.action_tools
            && !resumed
            && names.iter().any(unknown)
        {
            return Err(Error::option("policy.actionTools", ActionTools::EXPECTED));
        }
        self.keep.as_ref().map_or(Ok(()), Keep::check)
    }

    /// Whether the provider keeps the conversation by the id of its last response.
    pub(super) fn is_kept(&self) -> bool {
        self.strategy == Strategy::Thread && self.dialect == Dialect::OpenAiResponses
    }

    /// Whether the answer is JSON of a schema.
    pub(super) fn has_schema(&self) -> bool {
        !self.answer_schema.is_null()
    }

    /// Takes the history, with the system prompt before it.
    pub(super) fn take_history(&mut self) -> Vec<Json<'static>> {
        let mut messages = std::mem::take(&mut self.messages);
        if let Some(system) = &self.system {
            let system = Json::string(system.clone());
            messages.insert(0, object! { "role": "system", "content": system });
        }
        messages
    }

    /// Returns the record of the options for the store, if the turn is stored: those that a resumed
    /// turn needs and that the host need not supply again.
    pub(super) fn record(&self) -> Option<String> {
        let mut keep = self.keep.as_ref()?.changed();
        if let Json::Object(members) = &mut keep {
            members.retain(|(name, _)| name != "owner" && name != "tenant");
        }
        let optional =
            |value: Option<&str>| value.map_or(Json::Null, |text| text.to_owned().into());
        let option_members = [
            ("keep", keep),
            ("dialect", self.dialect.name().into()),
            ("mode", self.mode.name().into()),
            ("policy", self.policy.changed()),
            ("projectId", optional(self.project_id.as_deref())),
            ("conversationId", optional(self.conversation_id.as_deref())),
            ("strategy", optional((self.strategy == Strategy::Thread).then_some("thread"))),
            ("system", optional(self.system.as_deref())),
            ("answerSchema", self.answer_schema.clone()),
        ];
        let mut out = format!("{{\"v\":{}", crate::store::FORMAT);
        for (name, value) in option_members.iter().filter(|(_, value)| !value.is_null()) {
            out.push_str(&format!(",\"{name}\":"));
            value.write(&mut out);
        }
        out.push_str(",\"messages\":[");
        // Written directly, without a copy: a history may have megabytes.
        for (index, message) in self.messages.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            message.write(&mut out);
        }
        out.push_str("]}");
        Some(out)
    }
}

#[cfg(test)]
mod tests;
