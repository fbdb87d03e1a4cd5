//! The inputs and effects of a bundle.

use super::events::texts;
use super::usage::Tokens;
use crate::error::Error;
use crate::json::Json;

/// An input to a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
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
        outcome: Outcome<'a>,
        /// The tokens it used in total, if known.
        tokens: Option<Tokens>,
        /// The model, if it differs from the bundle's.
        model: Option<&'a str>,
    },
    /// Time has passed.
    Timer,
    /// End the bundle now, with the results so far.
    Cancel {
        /// The reason, as shown in the event.
        reason: &'a str,
    },
}

impl<'a> Input<'a> {
    /// Reads an input from its JSON form, `{ "type": "settled", "replicate": 0, … }`. The data of
    /// a replicate is passed separately.
    ///
    /// # Errors
    /// `options.invalid` with the member that is wrong.
    pub fn from_json(json: &'a Json<'a>, data: &'a [u8]) -> Result<Self, Error> {
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        let wrong = |option: &str| Error::option(option, "a fact");
        let number = |key| json.get(key).and_then(Json::as_u64).ok_or_else(|| wrong(key));
        let replicate = || usize::try_from(number("replicate")?).map_err(|_| wrong("replicate"));
        let attempt = || u32::try_from(number("attempt")?).map_err(|_| wrong("attempt"));
        let tokens = json.get("usage").filter(|usage| !usage.is_null()).map(Tokens::read);
        Ok(match text("type").unwrap_or_default() {
            "start" => Self::Start,
            "timer" => Self::Timer,
            "cancel" => Self::Cancel { reason: text("reason").unwrap_or_default() },
            "usage" => Self::Usage {
                replicate: replicate()?,
                attempt: attempt()?,
                tokens: tokens.unwrap_or_default(),
            },
            "settled" => Self::Settled {
                replicate: replicate()?,
                attempt: attempt()?,
                outcome: match text("failed") {
                    Some(message) => Outcome::Failed { message: message.to_owned() },
                    None => Outcome::Data { json: data, errors: errors(json) },
                },
                tokens,
                model: text("model"),
            },
            _ => return Err(wrong("type")),
        })
    }

    /// The JSON form that [`Input::from_json`] reads. It does not contain [`Input::data`].
    #[must_use]
    pub fn to_json(&self) -> Json<'static> {
        let of = |kind: &'static str, replicate: usize, attempt: u32, tokens: Option<Tokens>| {
            vec![
                ("type".into(), kind.into()),
                ("replicate".into(), u64::try_from(replicate).unwrap_or(u64::MAX).into()),
                ("attempt".into(), u64::from(attempt).into()),
                ("usage".into(), tokens.map_or(Json::Null, Tokens::to_json)),
            ]
        };
        match self {
            Self::Start => Json::object([("type", "start".into())]),
            Self::Timer => Json::object([("type", "timer".into())]),
            Self::Cancel { reason } => {
                Json::object([("type", "cancel".into()), ("reason", (*reason).to_owned().into())])
            }
            Self::Usage { replicate, attempt, tokens } => {
                Json::Object(of("usage", *replicate, *attempt, Some(*tokens)))
            }
            Self::Settled { replicate, attempt, outcome, tokens, model } => {
                let mut members = of("settled", *replicate, *attempt, *tokens);
                members.extend(model.map(|model| ("model".into(), model.to_owned().into())));
                members.push(match outcome {
                    Outcome::Data { errors, .. } => ("errors".into(), texts(errors)),
                    Outcome::Failed { message } => ("failed".into(), message.clone().into()),
                });
                Json::Object(members)
            }
        }
    }

    /// The JSON text of a replicate, if the input carries one.
    #[must_use]
    pub fn data(&self) -> Option<&'a [u8]> {
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
pub enum Outcome<'a> {
    /// The attempt returned a value.
    Data {
        /// The JSON text of the value. The replicate is invalid if the text is not I-JSON, too deep
        /// or too long.
        json: &'a [u8],
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Run a replicate.
    Run {
        /// Its index, from 0.
        replicate: usize,
        /// Its seed.
        seed: i64,
        /// The attempt, from 1. Inputs of earlier attempts are ignored.
        attempt: u32,
    },
    /// Cancel a replicate: abort its signal and close its connections.
    Cancel {
        /// Its index.
        replicate: usize,
        /// `timeout`, `token_limit`, `early`, `budget` or `cancelled`.
        reason: &'static str,
    },
    /// Deliver an event, given as JSON text.
    Emit(String),
    /// The bundle has ended; the last event contained it. No effect follows.
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let tokens = Tokens { input: 9, cached: 4, output: 5, total: 20 };
        let settled = |outcome, tokens, model| Input::Settled {
            replicate: 2,
            attempt: 3,
            outcome,
            tokens,
            model,
        };
        let errors = vec!["a".to_owned(), "\"b\"".to_owned()];
        let data = Outcome::Data { json: b"{\"a\":1}", errors };
        let failed = Outcome::Failed { message: "it \"broke\"".to_owned() };
        for input in [
            Input::Start,
            Input::Timer,
            Input::Cancel { reason: "user" },
            Input::Usage { replicate: 1, attempt: 2, tokens },
            settled(data.clone(), Some(tokens), Some("m")),
            settled(data, None, None),
            settled(failed, Some(tokens), None),
        ] {
            let text = input.to_json().to_text();
            let json = Json::parse_str(&text).unwrap();
            assert_eq!(Input::from_json(&json, input.data().unwrap_or_default()), Ok(input));
        }
        for wrong in ["{}", r#"{"type":"usage"}"#, r#"{"type":"settled","replicate":-1}"#] {
            assert!(Input::from_json(&Json::parse_str(wrong).unwrap(), b"").is_err(), "{wrong}");
        }
    }
}
