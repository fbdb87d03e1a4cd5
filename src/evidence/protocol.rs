//! The inputs and effects of a bundle.

use super::events::Event;
use super::options::Strategy;
use super::usage::Tokens;
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{
    Append, At, Definition, Describe, Item, Read, Shape, append, names, protocol, read_member,
};
use crate::reply::Dropped;

protocol! {
    /// An input to a bundle.
    pub enum Input as "BundleInput", read and write {
        /// Start the bundle. Only the first one has an effect.
        Start "start",
        /// The tokens that an attempt has used so far.
        Usage "usage" {
            /// The replicate's index, from 0.
            replicate "replicate": usize,
            /// The attempt, from 1.
            attempt "attempt": u32,
            /// The total so far, not the increase since the last report.
            tokens "usage": Tokens as "ReportedUsage",
        }
        /// An attempt has ended. The data of a replicate crosses the boundary beside the JSON form.
        Settled "settled" {
            /// The replicate's index, from 0.
            replicate "replicate": usize,
            /// The attempt, from 1.
            attempt "attempt": u32,
            /// The tokens it used in total, if known.
            tokens "usage": Option<Tokens> as "ReportedUsage | null",
            /// The model that was used, if it is known.
            model "model?": Option<String>,
            /// Whether the seed could not be sent to the model.
            seed_unsent "seed_unsent?": bool,
            /// What was dropped around the JSON of the model's answer.
            repairs "repairs?": Vec<Dropped>,
            /// Its outcome.
            outcome "": Outcome,
        }
        /// Time has passed.
        Timer "timer",
        /// End the bundle now, with the results so far.
        Cancel "cancel" {
            /// The reason, as shown in the event.
            reason "reason": String,
        }
    }
}

impl Eq for Input {}

impl Input {
    /// With the JSON text of a replicate, if the input carries one.
    #[must_use]
    pub fn with_data(mut self, data: Vec<u8>) -> Self {
        if let Self::Settled { outcome: Outcome::Data { json, .. }, .. } = &mut self {
            *json = data;
        }
        self
    }

    /// The JSON text of a replicate, if the input carries one.
    #[must_use]
    pub fn data(&self) -> Option<&[u8]> {
        match self {
            Self::Settled { outcome: Outcome::Data { json, .. }, .. } => Some(json),
            _ => None,
        }
    }
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The attempt returned a value.
    Data {
        /// The JSON text of the value. The replicate is invalid if the text is not I-JSON, too deep
        /// or too long.
        json: Vec<u8>,
        /// The errors that the host's validator found; empty if the value is valid.
        errors: Vec<String>,
    },
    /// The attempt threw, or returned a value that has no JSON form.
    Failed {
        /// The error message.
        message: String,
    },
}

/// `{ errors }` or `{ failed }`, among the members of [`Input::Settled`]. Recordings have this form.
impl Read for Outcome {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let Json::Object(mut members) = json else { return Err(at.wrong(self.expected())) };
        let (mut errors, mut failed) = (Vec::new(), None);
        read_member("errors", true, &mut errors, &mut members, at)?;
        read_member("failed", true, &mut failed, &mut members, at)?;
        *self = match failed {
            Some(message) => Self::Failed { message },
            None => Self::Data { json: Vec::new(), errors },
        };
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an object"
    }
}

impl Item for Outcome {
    fn item() -> Self {
        Self::Data { json: Vec::new(), errors: Vec::new() }
    }
}

impl Append for Outcome {
    fn append(&self, out: &mut String) {
        match self {
            Self::Data { errors, .. } => append("errors", false, errors, out),
            Self::Failed { message } => append("failed", false, message, out),
        }
    }
}

impl Describe for Outcome {
    fn shape() -> Shape {
        Shape::Named(|| {
            let docs = &["The outcome of an attempt: the errors of its value, or why it failed."];
            let shapes = ["{ errors: string[] }", "{ failed: string }"].map(Shape::Written);
            Definition::either("BundleOutcome", docs, shapes)
        })
    }
}

protocol! {
    /// An action the host must perform. Perform them in order.
    pub enum Effect as "BundleEffect", write {
        /// Run a replicate.
        Run "run" {
            /// Its index, from 0.
            replicate "replicate": usize,
            /// Its seed.
            seed "seed": i64,
            /// The attempt, from 1. Inputs of earlier attempts are ignored.
            attempt "attempt": u32,
            /// How it is to be made, if the bundle has strategies.
            strategy "strategy?": Option<Strategy>,
        }
        /// Cancel a replicate: abort its signal and close its connections.
        Cancel "cancel" {
            /// Its index.
            replicate "replicate": usize,
            /// Why.
            reason "reason": CancelReason,
        }
        /// Deliver an event.
        Emit "emit" (event "event": Event as "BundleEnvelope & BundleEvent")
        /// The bundle has ended; the last event contained it. No effect follows.
        Done "done",
    }
}

names! {
    /// Why a replicate is cancelled.
    pub enum CancelReason as "BundleCancelReason",
        "timeout, token_limit, early, budget or cancelled", non_exhaustive
    {
        /// It exceeded its time limit.
        Timeout "timeout",
        /// It exceeded its token limit.
        TokenLimit "token_limit",
        /// The bundle has ended, because the stop rule holds.
        Early "early",
        /// The bundle has ended, because its budget is spent.
        Budget "budget",
        /// The bundle was cancelled.
        Cancelled "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let tokens = Tokens::new(9, 5).cached(4).total(20);
        let settled = |outcome, tokens, model: Option<String>| Input::Settled {
            replicate: 2,
            attempt: 3,
            outcome,
            tokens,
            seed_unsent: model.is_some(),
            repairs: Dropped::ALL.to_vec(),
            model,
        };
        let errors = vec!["a".to_owned(), "\"b\"".to_owned()];
        let data = Outcome::Data { json: b"{\"a\":1}".to_vec(), errors };
        let failed = Outcome::Failed { message: "it \"broke\"".to_owned() };
        for input in [
            Input::Start,
            Input::Timer,
            Input::Cancel { reason: "user".to_owned() },
            Input::Usage { replicate: 1, attempt: 2, tokens },
            settled(data.clone(), Some(tokens), Some("m".to_owned())),
            settled(data, None, None),
            settled(failed, Some(tokens), None),
        ] {
            let mut text = String::new();
            input.write_json(&mut text);
            let json = Json::parse_str(&text).unwrap().into_owned();
            let data = input.data().unwrap_or_default().to_vec();
            assert_eq!(Input::from_json(json).map(|read| read.with_data(data)), Ok(input));
        }
        for wrong in ["{}", r#"{"type":"usage"}"#, r#"{"type":"settled","replicate":-1}"#] {
            let json = Json::parse_str(wrong).unwrap().into_owned();
            assert!(Input::from_json(json).is_err(), "{wrong}");
        }
    }
}
