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
use turnlock::reply::{Dropped, Fault, Reply, Value};
use turnlock::turn::{TurnResult, TurnStatus};

/// How an answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAnswer {
    /// As JSON if it is JSON (a `<think>` block and a code fence around it are dropped), otherwise as
    /// text. A text that begins as an object or a list was meant as one. With a schema, the only value
    /// that fits is taken, with words around it.
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
            let result = turn.result().await;
            let accepts = |json: &Json<'_>| {
                let data = json.clone().into_owned();
                context.checks.iter().all(|check| check(&data).is_empty())
            };
            let accepts =
                (!context.checks.is_empty()).then_some(&accepts as &dyn Fn(&Json<'_>) -> bool);
            match settled(result, read, accepts) {
                Ok(replicate) => Ok(Replicate { model, seed_unsent, ..replicate }),
                Err(error) => Err(ReplicateError { model, seed_unsent, ..*error }),
            }
        })
    }
}

fn settled(
    result: TurnResult,
    read: ReadAnswer,
    accepts: Option<&dyn Fn(&Json<'_>) -> bool>,
) -> Result<Replicate, Box<ReplicateError>> {
    let TurnResult { status, text, usage, error, .. } = result;
    let failed = |why: String| Box::new(ReplicateError::new(why).usage(usage));
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
    let (data, repairs) = match parsed(&text, read, accepts) {
        Ok(Some((json, repairs))) => (Ok(json), repairs),
        Ok(None) => (strict_text(&text), Vec::new()),
        Err(fault) => {
            let code = fault.code();
            return Err(failed(format!("{code}: the answer is no JSON: {fault}")));
        }
    };
    Ok(Replicate { repairs, ..Replicate::of(data).usage(usage) })
}

/// The JSON of an answer, and what was dropped around it; `None` for a text. With a schema, and with
/// `Json`: the only value that fits, whatever stands around it.
fn parsed(
    answer: &str,
    read: ReadAnswer,
    accepts: Option<&dyn Fn(&Json<'_>) -> bool>,
) -> Result<Option<(String, Vec<Dropped>)>, Fault> {
    if read == ReadAnswer::Text {
        return Ok(None);
    }
    let (reply, is_json) = (Reply::read(answer), read == ReadAnswer::Json);
    let bare = |value: &Value<'_>| !reply.dropped_around(value).contains(&Dropped::Words);
    let values = match reply.distinct() {
        Ok(values) => values,
        Err(fault) if is_json => return Err(fault),
        // What begins as an object or a list was meant as one; thoughts are no answer.
        Err(fault) => {
            let meant = reply.text().is_empty() || reply.text().starts_with(['{', '[']);
            return if meant && fault != Fault::Missing { Err(fault) } else { Ok(None) };
        }
    };
    let may_have_words = is_json || accepts.is_some();
    let values: Vec<_> = values.into_iter().filter(|value| may_have_words || bare(value)).collect();
    let fits = |value: &&&Value<'_>| accepts.is_none_or(|accepts| accepts(&value.json));
    let fitting: Vec<_> = values.iter().filter(fits).collect();
    let found = match (fitting.as_slice(), values.as_slice()) {
        ([value], _) => Some(**value),
        ([_, ..], _) => return Err(Fault::Ambiguous),
        // A value that does not fit is shown with its errors, unless it only stands in a text.
        ([], [value]) if is_json || bare(value) => Some(*value),
        ([], _) if is_json => return Err(Fault::Missing),
        ([], _) => None,
    };
    Ok(found.map(|value| (value.json.to_text(), reply.dropped_around(value))))
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
    fn answers_are_read_as_they_were_meant() {
        use ReadAnswer::{Auto, Json, Text};
        let read = |answer: &str, read| {
            let found = parsed(answer, read, None);
            found.map(|found| found.map(|(json, _)| json)).map_err(Fault::code)
        };
        let json = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(read(" {\"a\": 1.0} ", Auto), json("{\"a\":1}"));
        assert_eq!(read("<think>x</think>```json\n[1]\n```", Auto), json("[1]"));
        assert_eq!(read("As in [1].", Auto), Ok(None));
        assert_eq!(read("So: [1].", Json), json("[1]"));
        assert_eq!(read("Paris", Auto), Ok(None));
        assert_eq!(read("{\"a\":1}", Text), Ok(None));
        for (answer, how, code) in [
            ("{\"a\":1,\"a\":2}", Auto, "json.duplicate_key"),
            (" [1", Auto, "json.syntax"),
            ("<think>[1]", Auto, "json.syntax"),
            ("[1] or [2]", Json, "json.syntax"),
            ("Paris", Json, "json.syntax"),
        ] {
            assert_eq!(read(answer, how), Err(code), "{answer}");
        }
    }

    #[test]
    fn a_schema_decides_among_the_values_of_an_answer() {
        let accepts = |json: &Json<'_>| json.get("a").is_some() || json.as_str().is_some();
        let read = |answer| parsed(answer, ReadAnswer::Auto, Some(&accepts));
        let taken = |json: &str| Ok(Some((json.to_owned(), vec![Dropped::Words])));
        assert_eq!(read("Of [1] and {\"b\":2}: {\"a\":1}"), taken("{\"a\":1}"));
        assert_eq!(read("{\"a\":1} or {\"a\":2}"), Err(Fault::Ambiguous));
        assert_eq!(read("{\"b\":2}"), Ok(Some(("{\"b\":2}".to_owned(), Vec::new()))));
        assert_eq!(read("As in [1]."), Ok(None));
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
