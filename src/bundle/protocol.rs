//! The inputs and effects of a bundle.

use super::events::Event;
use super::options::Strategy;
use super::usage::Tokens;
use crate::error::Error;
use crate::json::table::{Write, names};
use crate::json::{Json, members, object};

/// An input to a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Start the bundle. Only the first one has an effect.
    Start,
    /// The tokens that an attempt has used so far.
    Usage {
        /// The replicate's index, from 0.
        replicate: usize,
        /// The attempt, from 1.
        attempt: u32,
        /// The total so far, not the increase since the last report.
        tokens: Tokens,
    },
    /// An attempt has ended.
    Settled {
        /// The replicate's index, from 0.
        replicate: usize,
        /// The attempt, from 1.
        attempt: u32,
        /// Its outcome.
        outcome: Outcome,
        /// The tokens it used in total, if known.
        tokens: Option<Tokens>,
        /// The model that was used, if it is known.
        model: Option<String>,
        /// Whether the seed could not be sent to the model.
        seed_unsent: bool,
    },
    /// Time has passed.
    Timer,
    /// End the bundle now, with the results so far.
    Cancel {
        /// The reason, as shown in the event.
        reason: String,
    },
}

impl Input {
    /// Reads an input from its JSON form, `{ "type": "settled", "replicate": 0, … }`. The data of
    /// a replicate is passed separately.
    ///
    /// # Errors
    /// `options.invalid` with the member that is wrong.
    pub fn from_json(json: &Json<'_>, data: Vec<u8>) -> Result<Self, Error> {
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        let owned = |key: &str| text(key).map(str::to_owned);
        let wrong = |option: &str| Error::option(option, "an input");
        let number = |key| json.get(key).and_then(Json::as_u64).ok_or_else(|| wrong(key));
        let replicate = || usize::try_from(number("replicate")?).map_err(|_| wrong("replicate"));
        let attempt = || u32::try_from(number("attempt")?).map_err(|_| wrong("attempt"));
        let tokens = json.get("usage").filter(|usage| !usage.is_null()).map(Tokens::read);
        Ok(match text("type").unwrap_or_default() {
            "start" => Self::Start,
            "timer" => Self::Timer,
            "cancel" => Self::Cancel { reason: owned("reason").unwrap_or_default() },
            "usage" => Self::Usage {
                replicate: replicate()?,
                attempt: attempt()?,
                tokens: tokens.unwrap_or_default(),
            },
            "settled" => Self::Settled {
                replicate: replicate()?,
                attempt: attempt()?,
                outcome: match owned("failed") {
                    Some(message) => Outcome::Failed { message },
                    None => Outcome::Data { json: data, errors: errors(json) },
                },
                tokens,
                model: owned("model"),
                seed_unsent: json.get("seed_unsent").and_then(Json::as_bool) == Some(true),
            },
            _ => return Err(wrong("type")),
        })
    }

    /// The JSON form that [`Input::from_json`] reads. It does not contain [`Input::data`].
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let of = |kind: &'static str, replicate: usize, attempt: u32, tokens: Option<Tokens>| {
            members! {
                "type": kind,
                "replicate": replicate.write(),
                "attempt": attempt.write(),
                "usage": tokens.write(),
            }
        };
        match self {
            Self::Start => object! { "type": "start" },
            Self::Timer => object! { "type": "timer" },
            Self::Cancel { reason } => {
                object! { "type": "cancel", "reason": Json::from(reason.clone()) }
            }
            Self::Usage { replicate, attempt, tokens } => {
                Json::Object(of("usage", *replicate, *attempt, Some(*tokens)))
            }
            Self::Settled { replicate, attempt, outcome, tokens, model, seed_unsent } => {
                let mut members = of("settled", *replicate, *attempt, *tokens);
                members.extend(model.clone().map(|model| ("model".into(), model.into())));
                members.extend(seed_unsent.then(|| ("seed_unsent".into(), true.into())));
                members.push(match outcome {
                    Outcome::Data { errors, .. } => ("errors".into(), errors.write()),
                    Outcome::Failed { message } => ("failed".into(), message.clone().into()),
                });
                Json::Object(members)
            }
        }
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

fn errors(json: &Json<'_>) -> Vec<String> {
    let list = json.get("errors").and_then(Json::as_array).unwrap_or_default();
    list.iter().filter_map(Json::as_str).map(str::to_owned).collect()
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

/// An action the host must perform. Perform them in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Run a replicate.
    Run {
        /// Its index, from 0.
        replicate: usize,
        /// Its seed.
        seed: i64,
        /// The attempt, from 1. Inputs of earlier attempts are ignored.
        attempt: u32,
        /// How it is to be made, if the bundle has strategies.
        strategy: Option<Strategy>,
    },
    /// Cancel a replicate: abort its signal and close its connections.
    Cancel {
        /// Its index.
        replicate: usize,
        /// Why.
        reason: CancelReason,
    },
    /// Deliver an event.
    Emit(Event),
    /// The bundle has ended; the last event contained it. No effect follows.
    Done,
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
            let text = input.to_json().to_text();
            let json = Json::parse_str(&text).unwrap();
            let data = input.data().unwrap_or_default().to_vec();
            assert_eq!(Input::from_json(&json, data), Ok(input));
        }
        for wrong in ["{}", r#"{"type":"usage"}"#, r#"{"type":"settled","replicate":-1}"#] {
            assert!(Input::from_json(&Json::parse_str(wrong).unwrap(), vec![]).is_err(), "{wrong}");
        }
    }
}
