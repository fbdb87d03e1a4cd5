//! One request to a model: its attempts, its response, its time limits and its end.
//!
//! The machines of [`turn`](crate::turn) and [`planning`](crate::planning) write the request and
//! decide what follows from the response. Everything between is decided here: how the response is
//! decoded, when it is complete or not read further, and whether a failed request is sent again.

mod failure;
mod markup;
mod retry;
mod secrets;

use std::borrow::Cow;

use crate::error::Failure;
use crate::history::Repair;
use crate::json::Json;
use crate::limits;
use crate::provider::Wire;
use crate::secret::Secret;
use crate::stream::{Call, Decoder, Delta, FinishReason, Response, StreamError, finish_error};
use markup::Markup;
pub(crate) use markup::MarkupRules;

/// A request to the model, in flight or waiting for its next attempt.
#[derive(Debug, Clone)]
pub(crate) struct Inference {
    number: u32,
    attempt: u32,
    /// Attempts of the models that were asked before this one.
    earlier: u32,
    wire: Wire,
    rules: Rules,
    connection: Connection,
    /// When the current attempt was sent.
    since: u64,
    /// When the host last reported activity of the response.
    heard: Option<u64>,
    decoder: Option<Decoder>,
    /// Reads what the model wrote into its text, for servers that do not.
    markup: Option<Markup>,
    response: Response,
    /// Bytes of the response's body; of deltas, those of their texts.
    read: usize,
    /// Text, reasoning or a tool of the provider was received.
    seen: bool,
    /// The provider ran a tool itself.
    hosted: bool,
    /// Text at the beginning of the response that has no visible character, which is held back;
    /// `None` once text was shown.
    blank: Option<String>,
    /// The request failed, and may be sent again, to this model or to another one.
    repeatable: bool,
    /// The host sent deltas instead of bytes.
    from_host: bool,
    /// What the host says of the response.
    hint: Option<String>,
    /// What no message shows.
    secrets: Vec<Secret>,
    /// The provider refused the request as invalid, with this text.
    refusal: Option<String>,
    /// The history of the request is repaired after this failure.
    repairs: Option<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    Open,
    /// The host repairs the history of the request before it is sent.
    Repairing,
    /// The request is sent again at `until`.
    Waiting {
        until: u64,
    },
    Closed,
}

/// The rules of one request. Times are milliseconds.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Timeout from the request to the first byte of its response.
    pub(crate) first_byte_ms: u64,
    /// Timeout between two chunks of the response.
    pub(crate) idle_ms: u64,
    /// Retries of a failed request.
    pub(crate) max_retries: u32,
    /// For the jitter of retries.
    pub(crate) secret: Secret,
    /// When the machine's own time is over. No retry starts then or later.
    pub(crate) end: u64,
    /// Whether a request is retried although output was received. Only for output that nobody saw,
    /// so that no text is shown twice and no call is judged twice.
    pub(crate) discards_output: bool,
    /// Whether the response is not read beyond its first complete call.
    pub(crate) stops_at_call: bool,
    /// Whether a call starts as soon as it is complete, while the rest of its response is read.
    pub(crate) starts_calls: bool,
    /// The names of the tools whose calls may start before their end is received.
    pub(crate) early: Vec<String>,
    /// Whether a response without text and calls is a failure.
    pub(crate) needs_output: bool,
    /// How the text of a model is read whose server may leave thoughts and calls in it. `None`: as it
    /// is.
    pub(crate) markup: Option<MarkupRules>,
}

/// Bytes of arguments from one event that shows their progress to the next.
pub(crate) const ARGUMENTS_STEP: usize = 256;

/// A part of a response, as the host reports it.
#[derive(Debug)]
pub(crate) enum Part {
    Head {
        status: u16,
        retry_after_ms: Option<u64>,
        body: String,
        hint: Option<String>,
        secrets: Vec<Secret>,
    },
    Bytes(Vec<u8>),
    Deltas(Vec<Delta>),
    HeldBack,
    /// The body with a repaired history, and the repairs; without any, the body is as it was.
    Repaired(Json<'static>, Vec<Repair>),
    Ended,
    Failed {
        message: String,
        thrown: bool,
        code: Option<String>,
    },
}

/// What came of an input.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The deltas that were added to the response, in order.
    pub(crate) deltas: Vec<Delta>,
    /// The rest of the response is not read: the host must close the connection.
    pub(crate) abort: bool,
    /// How the attempt ended, if it did.
    pub(crate) end: Option<End>,
    /// The request may be sent, with this body if its history was repaired.
    pub(crate) repaired: Option<(Json<'static>, Vec<Repair>)>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The response is complete, or is not read further.
    Done(Response),
    /// The request failed, and is sent again later.
    Retried,
    /// The request failed.
    Failed(Failure),
}

impl Inference {
    /// Begins a request. The caller sends it.
    pub(crate) fn new(number: u32, wire: Wire, rules: Rules, now: u64) -> Self {
        let markup = rules.markup.clone().filter(|_| wire.has_markup()).map(Markup::new);
        Self {
            number,
            attempt: 1,
            earlier: 0,
            wire,
            rules,
            connection: Connection::Open,
            since: now,
            heard: None,
            // A dialect without a stream has none: its deltas come from the host.
            decoder: wire.decoder(),
            markup,
            response: Response::default(),
            read: 0,
            seen: false,
            hosted: false,
            blank: Some(String::new()),
            repeatable: false,
            from_host: false,
            hint: None,
            secrets: Vec::new(),
            refusal: None,
            repairs: None,
        }
    }

    /// The same inference, of another model. Its attempts have numbers of their own, so that late
    /// inputs of the earlier ones are known.
    #[must_use]
    pub(crate) fn after(self, failed: &Self) -> Self {
        Self { attempt: failed.attempt + 1, earlier: failed.attempt, ..self }
    }

    /// The same inference with a repaired history, after a failure that names a fault of it. It fails
    /// with that failure if there is nothing to repair.
    #[must_use]
    pub(crate) fn repairing(self, failed: &Self, failure: Failure) -> Self {
        Self { repairs: Some(failure), ..self.after(failed) }
    }

    /// The host first repairs the history of the request.
    pub(crate) fn awaits_repair(&mut self) {
        self.connection = Connection::Repairing;
    }

    /// Whether the request has a repaired history.
    pub(crate) fn is_repair(&self) -> bool {
        self.repairs.is_some()
    }

    /// The text with which the provider refused the request as invalid.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Whether the request failed, and may be sent to another model: nothing of its response was
    /// shown, and none of its calls may have started.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.repeatable
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the request failed and waits until it is sent again.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.connection, Connection::Waiting { .. })
    }

    /// When [`Inference::retry`] or [`Inference::time_out`] is due.
    pub(crate) fn deadline(&self) -> u64 {
        match (self.connection, self.heard) {
            (Connection::Waiting { until }, _) => until,
            (_, Some(heard)) => heard.saturating_add(self.rules.idle_ms),
            (_, None) => self.since.saturating_add(self.rules.first_byte_ms),
        }
    }

    /// The response, as far as it was received and until it has ended.
    pub(crate) fn response(&self) -> &Response {
        &self.response
    }

    /// Whether a part of the response has arrived.
    pub(crate) fn is_heard(&self) -> bool {
        self.heard.is_some()
    }

    /// Bytes of the response that were read.
    pub(crate) fn read(&self) -> usize {
        self.read
    }

    /// Begins the next attempt. The caller sends the request again.
    pub(crate) fn retry(&mut self, now: u64) {
        let next = Self::new(self.number, self.wire, self.rules.clone(), now);
        let repairs = self.repairs.take();
        *self = Self { attempt: self.attempt + 1, earlier: self.earlier, repairs, ..next };
    }

    /// Stops the request. Returns whether its connection was open.
    pub(crate) fn stop(&mut self) -> bool {
        std::mem::replace(&mut self.connection, Connection::Closed) == Connection::Open
    }

    /// Takes a part of the response. `None` if it belongs to another request or attempt.
    pub(crate) fn take(
        &mut self,
        now: u64,
        (number, attempt): (u32, u32),
        part: Part,
    ) -> Option<Heard> {
        let current = (self.number, self.attempt) == (number, attempt);
        let awaited = match part {
            Part::Repaired(..) => Connection::Repairing,
            _ => Connection::Open,
        };
        if !current || self.connection != awaited {
            return None;
        }
        let mut heard = match part {
            Part::Head { status, retry_after_ms, body, hint, secrets } => {
                (self.hint, self.secrets) = (hint, secrets);
                self.head(now, status, retry_after_ms, &body)
            }
            Part::Bytes(bytes) => {
                self.heard = Some(now);
                self.read += bytes.len();
                let mut deltas = Vec::new();
                if let Some(decoder) = &mut self.decoder {
                    decoder.feed(&bytes, &mut deltas);
                }
                let deltas = self.read_markup(deltas);
                self.deltas(now, deltas)
            }
            Part::Deltas(deltas) => {
                self.heard = Some(now);
                self.from_host = true;
                self.read += deltas.iter().map(Delta::size).sum::<usize>();
                self.deltas(now, deltas)
            }
            Part::HeldBack => {
                self.heard = Some(now);
                Heard::default()
            }
            Part::Repaired(body, repairs) => self.repaired(now, body, repairs),
            Part::Ended => self.ended(now),
            Part::Failed { message, thrown, code } => {
                let repeatable = code.is_none();
                let code = code.map_or_else(
                    || {
                        Cow::Borrowed(match (thrown, self.heard) {
                            (true, _) => "model.failed",
                            (false, Some(_)) => "model.truncated",
                            (false, None) => "model.unreachable",
                        })
                    },
                    Cow::Owned,
                );
                self.broken(now, Failure::new(code, message), repeatable)
            }
        };
        self.complete(&mut heard);
        Some(heard)
    }

    /// Shows the rest of a response that is complete.
    fn complete(&mut self, heard: &mut Heard) {
        if matches!(heard.end, Some(End::Done(_))) {
            self.release(&mut heard.deltas);
        }
    }

    /// Ends an attempt whose time limit has passed.
    pub(crate) fn time_out(&mut self, now: u64) -> Heard {
        let message = if self.heard.is_some() {
            format!("the model was silent for {} ms", self.rules.idle_ms)
        } else {
            format!("the model sent nothing for {} ms", self.rules.first_byte_ms)
        };
        let abort = self.connection == Connection::Open;
        let mut heard = self.broken(now, Failure::new("model.timeout", message), true);
        self.complete(&mut heard);
        Heard { abort, ..heard }
    }

    fn head(&mut self, now: u64, status: u16, retry_after_ms: Option<u64>, body: &str) -> Heard {
        if (200..300).contains(&status) {
            return Heard::default();
        }
        // A request that is sent again elsewhere would take its key and the conversation there. A
        // browser hides the status of a redirect, so that it is 0.
        if matches!(status, 0 | 300..=399) {
            let message = "the model's address redirects, which is not followed".to_owned();
            let repeatable = self.has_nothing();
            return self.fail(now, Failure::new("model.redirected", message), None, repeatable);
        }
        let message = retry::status_message(status, body);
        // Gateways answer with a text of their own and put that of the provider elsewhere in the body.
        self.refusal = retry::is_invalid(status, body).then(|| format!("{message}\n{body}"));
        let failure = Failure::new("model.status", message).with_status(status);
        let failure = failure.with_retry_after(retry_after_ms);
        // A time in the past says nothing: what is refused at once is not sent again at once.
        let asked = retry_after_ms.filter(|wait| *wait > 0);
        let wait = asked.unwrap_or_else(|| self.backoff_ms());
        let wait = Some(wait).filter(|_| retry::is_retryable(status));
        self.fail(now, failure, wait, self.has_nothing())
    }

    /// Takes what the host has repaired. A request that was refused is sent again only with repairs.
    fn repaired(&mut self, now: u64, body: Json<'static>, repairs: Vec<Repair>) -> Heard {
        match self.repairs.clone().filter(|_| repairs.is_empty()) {
            Some(failure) => self.fail(now, failure, None, true),
            None => {
                self.connection = Connection::Open;
                Heard { repaired: Some((body, repairs)), ..Heard::default() }
            }
        }
    }

    fn ended(&mut self, now: u64) -> Heard {
        let mut deltas = Vec::new();
        if let Some(decoder) = self.decoder.as_mut().filter(|_| !self.from_host) {
            decoder.end(&mut deltas);
            // Half an event at the end is a connection that was cut, and may be repeated.
            if decoder.is_cut() {
                deltas.pop();
            }
            deltas = self.read_markup(deltas);
        }
        let mut heard = self.deltas(now, deltas);
        if heard.end.is_some() {
            return heard;
        }
        if self.from_host && self.response.finish.is_none() {
            // A host's generator need not send a finish reason: its end completes the response.
            self.response.end_calls();
            heard.end = Some(self.done(now));
        } else {
            let message = "the response ended without a finish reason".to_owned();
            heard.end = self.broken(now, Failure::new("model.truncated", message), true).end;
        }
        heard
    }

    /// Ends an attempt that was cut off. A response that is already complete loses nothing by it.
    fn broken(&mut self, now: u64, failure: Failure, repeatable: bool) -> Heard {
        let is_finished = self.response.finish.is_some()
            || self.decoder.as_ref().is_some_and(Decoder::is_finished);
        if is_finished {
            return Heard { end: Some(self.done(now)), ..Heard::default() };
        }
        let wait = repeatable.then(|| self.backoff_ms());
        self.fail(now, failure, wait, repeatable && self.is_unseen())
    }

    fn read_markup(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        match &mut self.markup {
            Some(markup) => markup.read(deltas),
            None => deltas,
        }
    }

    /// Adds deltas to the response, up to the one that ends it.
    fn deltas(&mut self, now: u64, deltas: Vec<Delta>) -> Heard {
        let mut heard = Heard::default();
        let mut rest = deltas.into_iter();
        while let Some(delta) = rest.next().filter(|_| heard.end.is_none()) {
            match self.delta(&delta) {
                Taken::Open => self.show(delta, &mut heard.deltas),
                Taken::Last => {
                    self.show(delta, &mut heard.deltas);
                    heard.end = Some(self.done(now));
                }
                Taken::Excess => heard.end = Some(self.done(now)),
                Taken::Broken(error) => {
                    let wait = error.class.retryable().then(|| self.backoff_ms());
                    let failure = Failure::new("model.stream", error.message);
                    self.take_usage(rest.as_slice());
                    heard.end = self.fail(now, failure, wait, self.is_unseen()).end;
                }
            }
        }
        heard.abort = heard.end.is_some();
        heard
    }

    fn delta(&mut self, delta: &Delta) -> Taken {
        let one_more = matches!(delta, Delta::ToolCallStart { .. });
        if one_more && self.response.calls.len() >= limits::CALLS_PER_RESPONSE {
            return Taken::Excess;
        }
        if let Delta::Finish { reason: FinishReason::Error, raw } = delta {
            return Taken::Broken(finish_error(raw));
        }
        if let Err(error) = self.response.take(delta) {
            return Taken::Broken(error);
        }
        match delta {
            Delta::Text(text) | Delta::Reasoning { text, .. } => self.seen |= !text.is_empty(),
            Delta::ProviderTool(_) => (self.seen, self.hosted) = (true, true),
            Delta::ToolCallReady { .. } | Delta::ToolCallEnd { .. } if self.has_first_call() => {
                return Taken::Last;
            }
            Delta::Error(error) => return Taken::Broken(error.clone()),
            Delta::ToolCallStart { .. }
            | Delta::ToolCallReady { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::ToolCallArguments { .. }
            | Delta::Usage(_)
            | Delta::Finish { .. }
            | Delta::Members { .. }
            | Delta::Other { .. } => {}
        }
        Taken::Open
    }

    /// Whether the call has come beyond which the response is not read. A later call may be ready
    /// before it.
    fn has_first_call(&self) -> bool {
        self.rules.stops_at_call
            && self.response.calls.first().is_some_and(|call| self.can_start(call))
    }

    fn can_start(&self, call: &Call) -> bool {
        call.ended || call.ready && self.rules.early.contains(&call.name)
    }

    /// Ends an attempt whose response is complete, or is not read further.
    fn done(&mut self, now: u64) -> End {
        if self.is_empty() {
            return self.empty(now);
        }
        self.connection = Connection::Closed;
        let mut response = std::mem::take(&mut self.response);
        if self.rules.stops_at_call {
            response.truncate_calls(|call| self.can_start(call));
        }
        response.id = self.decoder.as_ref().and_then(Decoder::response).map(str::to_owned);
        End::Done(response)
    }

    /// Ends an attempt that failed. `wait`: milliseconds until the request may be sent again.
    /// `repeatable`: nothing was shown, and no call may have started.
    fn fail(
        &mut self,
        now: u64,
        mut failure: Failure,
        wait: Option<u64>,
        repeatable: bool,
    ) -> Heard {
        self.repeatable = repeatable;
        secrets::mask(&mut failure.message, &self.secrets);
        if let Some(hint) = self.hint.take().filter(|_| self.has_nothing()) {
            failure.message.push_str(" (");
            failure.message.push_str(&hint);
            failure.message.push(')');
        }
        let again = wait.filter(|wait| {
            (repeatable || self.rules.discards_output)
                && self.attempt - self.earlier <= self.rules.max_retries
                && *wait <= retry::LONGEST_WAIT_MS
        });
        let until = again.map(|wait| now.saturating_add(wait));
        let until = until.filter(|until| *until < self.rules.end);
        self.connection = until.map_or(Connection::Closed, |until| Connection::Waiting { until });
        let end = if until.is_some() { End::Retried } else { End::Failed(failure) };
        Heard { end: Some(end), ..Heard::default() }
    }

    fn backoff_ms(&self) -> u64 {
        let (number, attempt) = (self.number, self.attempt);
        let [drawn, ..] = self.rules.secret.derive(format_args!("wait/{number}/{attempt}"));
        retry::backoff_ms(drawn, attempt - self.earlier)
    }
}

/// What came of one delta.
enum Taken {
    /// It belongs to the response, which goes on.
    Open,
    /// It belongs to the response, which is not read further.
    Last,
    /// It is one call too many: the calls before it are judged, and the rest is not read.
    Excess,
    /// The response cannot be read.
    Broken(StreamError),
}
