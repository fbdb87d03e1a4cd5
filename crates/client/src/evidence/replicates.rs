//! Replicates that a model, or a whole turn with tools, makes.

use std::sync::Arc;

use serde::Serialize;

use super::options::{Attempt, attempt};
use super::replicate::{Replicate, ReplicateContext, ReplicateError};
use super::strict::strict_text;
use crate::clock;
use crate::error::Error;
use crate::json::to_json;
use crate::model::Model;
use crate::platform::{MaybeSend, MaybeSync};
use crate::turn::{TurnOptions, run_turn};
use turnlock::json::Json;
use turnlock::json::shell::is_space;
use turnlock::limits;
use turnlock::turn::{TurnResult, TurnStatus};

/// How an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAnswer {
    /// As JSON where it is JSON (a code fence around it is taken off), else as text. What begins as
    /// an object or a list was meant as one.
    #[default]
    Auto,
    /// As JSON.
    Json,
    /// As text.
    Text,
}

/// What [`replicate_by_model`] takes.
#[derive(Debug, Clone)]
pub struct ModelReplicateOptions {
    model: Model,
    prompt: String,
    system: Option<String>,
    input: Result<Json<'static>, Error>,
    read: ReadAnswer,
}

impl ModelReplicateOptions {
    /// A model, and the user's message; `{{name}}` in it stands for that member of the input.
    pub fn new(model: Model, prompt: impl Into<String>) -> Self {
        Self {
            model,
            prompt: prompt.into(),
            system: None,
            input: Ok(Json::Null),
            read: ReadAnswer::Auto,
        }
    }

    /// The system message, with the same placeholders.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// What the placeholders stand for: an object. Texts as they are, anything else as JSON.
    #[must_use]
    pub fn input(mut self, input: impl Serialize) -> Self {
        self.input = to_json(&input);
        self
    }

    /// How the answer is read. Default [`ReadAnswer::Auto`].
    #[must_use]
    pub fn read(mut self, read: ReadAnswer) -> Self {
        self.read = read;
        self
    }
}

/// Replicates from one model call each. The seed goes along where the wire has a field for it
/// (`seed` for OpenAI Chat and what speaks it, `random_seed` for Mistral, `generationConfig.seed` for
/// Gemini, `options.seed` for Ollama, and to custom models);
/// elsewhere `seed_unsent` marks it in the metadata. Providers promise best effort only. A strategy
/// of the bundle replaces the prompt and the name of the model, where it has them.
///
/// # Errors
/// `options.invalid` for a placeholder that the input does not have, and for a model without an
/// address.
pub fn replicate_by_model(
    options: ModelReplicateOptions,
) -> Result<impl Fn(ReplicateContext) -> Attempt + MaybeSend + MaybeSync + Clone + 'static, Error> {
    let ModelReplicateOptions { model, prompt, system, input, read } = options;
    model.checked()?;
    let input = input?;
    let message = |role: &'static str, text: &str| {
        let content = fill(text, &input)?;
        Ok::<_, Error>(Json::object([("role", role.into()), ("content", content.into())]))
    };
    let system = system.map(|system| message("system", &system)).transpose()?;
    // Misuse is told at the call.
    message("user", &prompt)?;
    // Each turn has an id of its own.
    let each = move |context: &ReplicateContext| {
        let own_prompt = context.strategy.as_ref().and_then(|strategy| strategy.prompt.as_ref());
        let content = fill(own_prompt.unwrap_or(&prompt), &input)?;
        let message = Json::object([("role", "user".into()), ("content", content.into())]);
        let messages = system.iter().cloned().chain([message]).collect();
        Ok(TurnOptions::new(model.clone(), Json::Array(messages)).request_id(clock::random_id()))
    };
    Ok(by_turn(each, read))
}

/// Replicates from a whole turn each, with tools if it has any. `each` makes the options of a
/// replicate's turn; seeds as in [`replicate_by_model`].
///
/// ```no_run
/// # use serde_json::json;
/// # use turnlock_client::{Model, Tool, TurnOptions};
/// # use turnlock_client::evidence::{ReadAnswer, Replicates, replicate_by_turn};
/// # fn of(model: Model, search: Tool) -> Replicates {
/// let each = move |_: &_| {
///     let messages = json!([{ "role": "user", "content": "Is the Ashby lighthouse lit?" }]);
///     TurnOptions::new(model.clone(), messages).tool(search.clone())
/// };
/// Replicates::new(replicate_by_turn(each, ReadAnswer::Auto))
/// # }
/// ```
pub fn replicate_by_turn(
    each: impl Fn(&ReplicateContext) -> TurnOptions + MaybeSend + MaybeSync + 'static,
    read: ReadAnswer,
) -> impl Fn(ReplicateContext) -> Attempt + MaybeSend + MaybeSync + Clone + 'static {
    by_turn(move |context| Ok(each(context)), read)
}

fn by_turn(
    each: impl Fn(&ReplicateContext) -> Result<TurnOptions, Error> + MaybeSend + MaybeSync + 'static,
    read: ReadAnswer,
) -> impl Fn(ReplicateContext) -> Attempt + MaybeSend + MaybeSync + Clone + 'static {
    let each = Arc::new(each);
    move |context| {
        let each = each.clone();
        attempt(move || async move {
            let model_name = context.strategy.as_ref().and_then(|strategy| strategy.model.clone());
            let mut options = each(&context).map_err(ReplicateError::from)?;
            if let Some(name) = &model_name {
                options = options.named(name);
            }
            let (model, takes_seed) = options.model_and_seed();
            let turn = run_turn(options.seeded(context.seed)).map_err(ReplicateError::from)?;
            let (model, seed_unsent) = (model.or(model_name), !takes_seed);
            match settled(turn.result().await, read) {
                Ok(replicate) => Ok(Replicate { model, seed_unsent, ..replicate }),
                Err(error) => Err(ReplicateError { model, seed_unsent, ..error }),
            }
        })
    }
}

fn settled(result: TurnResult, read: ReadAnswer) -> Result<Replicate, ReplicateError> {
    let TurnResult { status, text, usage, error, .. } = result;
    let failed = |why: String| ReplicateError::new(why).usage(usage);
    if status != TurnStatus::Complete {
        return Err(failed(error.map_or_else(
            || {
                let status = serde_json::to_value(status).unwrap_or_default();
                let status = status.as_str().unwrap_or_default();
                format!("turn.{status}: the turn ended as {status}")
            },
            |error| format!("{}: {}", error.code, error.message),
        )));
    }
    let data = match parsed(&text, read) {
        Ok(Some(json)) => Ok(json),
        Ok(None) => strict_text(&text),
        Err(error) => {
            let code = error.code();
            return Err(failed(format!("{code}: the answer is no JSON: {error}")));
        }
    };
    Ok(Replicate::of(data).usage(usage))
}

/// The JSON of an answer; `None` for a text.
fn parsed(answer: &str, read: ReadAnswer) -> Result<Option<String>, turnlock::json::JsonError> {
    if read == ReadAnswer::Text {
        return Ok(None);
    }
    let text = unfenced(answer);
    match Json::parse(text.as_bytes(), limits::JSON_BYTES) {
        Ok(json) => Ok(Some(json.to_text())),
        Err(error) if read == ReadAnswer::Json => Err(error),
        // What begins as an object or a list was meant as one.
        Err(error) if text.trim_start_matches(is_space).starts_with(['{', '[']) => Err(error),
        Err(_) => Ok(None),
    }
}

/// What stands in a code fence that is around everything; else all of it.
fn unfenced(answer: &str) -> &str {
    let inside = || {
        let opened = answer.trim_start_matches(is_space).strip_prefix("```")?;
        let behind = opened.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let blank = behind.len() - behind.trim_start_matches(is_space).len();
        let first = behind.get(..blank)?.rfind('\n')? + 1;
        let closed = behind.get(first..)?.trim_end_matches(is_space).strip_suffix("```")?;
        Some(closed.strip_suffix('\n').unwrap_or(closed))
    };
    inside().unwrap_or(answer)
}

/// Puts members of `input` in the place of `{{name}}`.
fn fill(text: &str, input: &Json<'static>) -> Result<String, Error> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, after)) = placeholder(behind) else {
            // The second bracket may begin one: `{{{name}}`.
            filled.push('{');
            rest = rest.get(before.len() + 1..).unwrap_or_default();
            continue;
        };
        match input.get(name) {
            Some(Json::String(text)) => filled.push_str(text),
            Some(value) => value.write(&mut filled),
            None => {
                let why = format!("`input`: expected a member `{name}`");
                return Err(Error::new("options.invalid", why));
            }
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name behind `{{`, and what follows its `}}`.
fn placeholder(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(is_space);
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let behind = text.trim_start_matches(named);
    let name = text.get(..text.len() - behind.len()).filter(|name| !name.is_empty())?;
    Some((name, behind.trim_start_matches(is_space).strip_prefix("}}")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_in_fences() {
        for (answer, inside) in [
            ("```json\n{\"a\":1}\n```", "{\"a\":1}"),
            ("  ```\n1\n```\n ", "1"),
            ("```json  \n\n  [1,\n2]```", "  [1,\n2]"),
            ("```\n```", ""),
            ("```\n````", "`"),
            ("```json {\"a\":1}```", "```json {\"a\":1}```"),
            ("so: ```\n1\n```", "so: ```\n1\n```"),
            ("```\n1\n``` so", "```\n1\n``` so"),
            ("```c++\n1\n```", "```c++\n1\n```"),
            ("```", "```"),
        ] {
            assert_eq!(unfenced(answer), inside, "{answer}");
        }
    }

    #[test]
    fn answers_are_read_as_they_were_meant() {
        use ReadAnswer::{Auto, Json, Text};
        let json = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(parsed(" {\"a\": 1.0} ", Auto), json("{\"a\":1}"));
        assert_eq!(parsed("Paris", Auto), Ok(None));
        assert_eq!(parsed("{\"a\":1}", Text), Ok(None));
        for (answer, read, code) in [
            ("{\"a\":1,\"a\":2}", Auto, "json.duplicate_key"),
            (" [1", Auto, "json.syntax"),
            ("Paris", Json, "json.syntax"),
        ] {
            assert_eq!(parsed(answer, read).unwrap_err().code(), code, "{answer}");
        }
    }

    #[test]
    fn placeholders() {
        let input = Json::parse_str(r#"{"text":"it","rules":[1],"a.b-c":null}"#).unwrap();
        let input = input.into_owned();
        for (text, filled) in [
            ("Judge {{text}} by {{ rules }}.", "Judge it by [1]."),
            ("{{a.b-c}}{{{text}}}", "null{it}"),
            ("{{}} {{a b}} {{text", "{{}} {{a b}} {{text"),
        ] {
            assert_eq!(fill(text, &input).unwrap(), filled);
        }
        let missing = fill("{{gone}}", &input).unwrap_err();
        assert_eq!(missing.to_string(), "options.invalid: `input`: expected a member `gone`");
        assert!(fill("{{gone}}", &Json::Null).is_err());
    }
}
