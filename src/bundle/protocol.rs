//! What a bundle is told, and what it wishes.

use super::events::texts;
use super::usage::Tokens;
use crate::error::Error;
use crate::json::Json;

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
    /// Begin. Only the first one counts.
    Start,
    /// What an attempt has used so far.
    Usage {
        /// The replicate's place, from 0.
        replicate: usize,
        /// The attempt at it, from 1.
        attempt: u32,
        /// All of it, not what came since.
        tokens: Tokens,
    },
    /// An attempt is over.
    Settled {
        /// The replicate's place, from 0.
        replicate: usize,
        /// The attempt at it, from 1.
        attempt: u32,
        /// What it came to.
        outcome: Outcome<'a>,
        /// What it used in all, where that is known.
        tokens: Option<Tokens>,
        /// The model, where it differs from the bundle's.
        model: Option<&'a str>,
    },
    /// Time has passed.
    Timer,
    /// End now, with what there is.
    Cancel {
        /// Why, for the event.
        reason: &'a str,
    },
}

impl<'a> Input<'a> {
    /// Reads a fact as hosts write it down, `{ "type": "settled", "replicate": 0, … }`; the data of
    /// a replicate stands beside it.
    ///
    /// # Errors
    /// `options.invalid` with the member that is wrong.
    pub fn from_json(json: &'a Json<'a>, data: &'a [u8]) -> Result<Self, Error> {
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        let wrong = |option: &str| Error::Options { option: option.to_owned(), expected: "a fact" };
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

    /// What [`Input::from_json`] reads; the data of a replicate is [`Input::data`].
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

    /// The JSON text of a replicate that the fact brings.
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

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It returned.
    Data {
        /// Its JSON text. What is no I-JSON, too deep or too long makes the replicate invalid.
        json: &'a [u8],
        /// What the host's validator says against it; empty: nothing.
        errors: Vec<String>,
    },
    /// It threw, or returned what has no JSON.
    Failed {
        /// In words.
        message: String,
    },
}

/// A wish. The host does each in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Run a replicate.
    Run {
        /// Its place, from 0.
        replicate: usize,
        /// Its seed.
        seed: i64,
        /// The attempt at it, from 1. Facts of an earlier attempt are late.
        attempt: u32,
    },
    /// Tell a replicate that nobody waits any longer: its signal fires, its connections close.
    Cancel {
        /// Its place.
        replicate: usize,
        /// `timeout`, `token_limit`, `early`, `budget` or `cancelled`.
        reason: &'static str,
    },
    /// Show an event: its JSON text.
    Emit(String),
    /// The bundle is over; the last event held it. Nothing follows.
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
