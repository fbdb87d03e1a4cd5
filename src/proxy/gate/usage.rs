//! The usage of responses. A client whose calls were refused gets one answer for two inferences, and
//! pays for both.

use super::{Gate, Phase};
use crate::json::Json;
use crate::proxy::responses::is_final;
use crate::proxy::step::{Fact, Said, Step, Usage};
use crate::proxy::tree::{member, set};
use crate::proxy::wire::Wire;
use crate::stream::part;

/// Bytes of the usage of a refused response that is added to that of its answer.
///
/// Limit | the usage that is added to that of a forced answer | bytes | not added
const SPENT_BYTES: usize = 4096;

/// Counts of a message that stand in its first event, or in its last.
const COUNTS: [&str; 4] =
    ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

impl Gate {
    /// Reports the id and the usage that an event has. The usage replaces that of an earlier event,
    /// or its members do.
    pub(super) fn describe(&mut self, step: &mut Step) {
        if !step.id.is_empty() {
            self.progress.facts.push(Fact::Id(std::mem::take(&mut step.id)));
        }
        let Some(Said { usage, adds }) = step.usage.take() else { return };
        let is_first = !std::mem::replace(&mut self.has_usage, true);
        self.progress.facts.push(Fact::Usage { raw: usage.to_text(), is_first, adds });
        if !adds {
            self.usage = Usage::default();
        }
        self.usage.add(&usage);
    }

    /// Remembers the usage of a response whose calls were refused, for the answer in its place.
    pub(in crate::proxy) fn spend(&mut self, usage: Json<'static>) {
        let counts = usage.members().len() > 0 && usage.to_text().len() <= SPENT_BYTES;
        self.spent = if counts { usage } else { Json::Null };
    }

    /// The event of a second response with the usage of both; `None` for one that stays as it is.
    pub(super) fn with_spent(&self, json: &Json<'static>) -> Option<Json<'static>> {
        if !matches!(self.phase, Phase::Second) || self.spent.is_null() {
            return None;
        }
        let kind = json.kind().unwrap_or_default();
        let mut json = json.clone();
        let holder = match self.options.wire {
            Wire::Chat if part(&json, "usage").as_object().is_some() => Some(&mut json),
            Wire::Gemini if part(&json, "usageMetadata").as_object().is_some() => Some(&mut json),
            Wire::Responses if is_final(kind) => member(&mut json, "response"),
            Wire::Messages if kind == "message_delta" => {
                let usage = self.counts(part(&json, "usage"));
                let is_count = |(name, value): &(&str, &Json<'_>)| {
                    matches!(value, Json::Number(_)) || usage.get(name).is_some()
                };
                let spent = self.spent.members().filter(is_count);
                let spent = spent.map(|(name, value)| (name.to_owned().into(), value.clone()));
                let spent = Json::Object(spent.collect());
                set(&mut json, "usage", sum(spent, usage));
                return Some(json);
            }
            _ => None,
        };
        add_usage(holder?, self.options.wire, &self.spent);
        Some(json)
    }

    /// Adds the usage of the response whose calls were refused to a whole answer; whether there is
    /// any.
    pub(in crate::proxy) fn add_spent(&self, json: &mut Json<'static>) -> bool {
        let has_spent = !self.spent.is_null();
        if has_spent {
            add_usage(json, self.options.wire, &self.spent);
        }
        has_spent
    }

    /// The usage in a `message_delta`, with all counts: they replace those of `message_start`, which
    /// is the one of the first response.
    fn counts(&self, event: &Json<'static>) -> Json<'static> {
        let mut usage = Usage::default();
        for name in COUNTS {
            if let Some(value) = self.usage.get(name) {
                usage.add(&Json::Object(vec![(name.into(), value.clone())]));
            }
        }
        usage.add(event);
        usage.into_json()
    }
}

fn add_usage(holder: &mut Json<'static>, wire: Wire, spent: &Json<'static>) {
    let name = wire.usage_member();
    let usage = member(holder, name).map(std::mem::take).unwrap_or_default();
    set(holder, name, sum(spent.clone(), usage));
}

/// The sum of two usages: numbers are added, wherever a provider has them. Of every other value, that
/// of the later one counts.
fn sum(before: Json<'static>, after: Json<'static>) -> Json<'static> {
    match (before, after) {
        (before @ Json::Number(_), after @ Json::Number(_)) => {
            let integers = before.as_u64().zip(after.as_u64());
            match integers.and_then(|(one, other)| one.checked_add(other)) {
                Some(integer) => Json::integer(integer),
                None => Json::double(
                    before.as_f64().unwrap_or_default() + after.as_f64().unwrap_or_default(),
                ),
            }
        }
        (Json::Object(before), Json::Object(mut after)) => {
            for (name, value) in before {
                match after.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, later)) => *later = sum(value, std::mem::take(later)),
                    None => after.push((name, value)),
                }
            }
            Json::Object(after)
        }
        (before, Json::Null) => before,
        (_, after) => after,
    }
}
