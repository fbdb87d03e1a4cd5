//! Finds the request or the plan in what a model said.

use super::rejected::{Reason, RequestRejection};
use super::result::PlanCandidate;
use crate::json::Json;
use crate::reply::{Dropped, Fault, Reply, Value};

/// The JSON of a request, and what was dropped around it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) json: Json<'static>,
    pub(super) dropped: Vec<Dropped>,
    /// Whether an object around the request was dropped: `{"answer": {"tool_calls": […]}}`.
    pub(super) unwrapped: bool,
}

/// Returns the JSON of a request: the only value that has the form of one, or the only value of a
/// reply without words around it. `None` for an empty reply.
pub(super) fn request(text: &str) -> Result<Option<Found>, RequestRejection> {
    let reply = Reply::read(text);
    if reply.is_empty() {
        return Ok(None);
    }
    let value = match reply.only(is_request) {
        Ok(value) => value,
        Err(fault) => match reply.distinct().as_deref() {
            Ok([value]) if !has_only_words(&reply.dropped_around(value)) => *value,
            _ => return Err(rejection(fault)),
        },
    };
    let dropped = reply.dropped_around(value);
    let inner = if has_form(&value.json) { None } else { inner(&value.json)? };
    let json = inner.unwrap_or(&value.json).clone().into_owned();
    Ok(Some(Found { json, dropped, unwrapped: inner.is_some() }))
}

/// The values of which one is the plan: all that differ if prose is no plan, otherwise the only value
/// of a reply without words around it. Empty for prose.
///
/// # Errors
/// Why prose that is no plan has no value.
pub(super) fn plans(text: &str, prose_is_none: bool) -> Result<Vec<PlanCandidate>, Fault> {
    let reply = Reply::read(text);
    let values = match reply.distinct() {
        Ok(values) => values,
        Err(fault) if prose_is_none => return Err(fault),
        Err(_) => Vec::new(),
    };
    let candidate = |value: &Value<'_>| PlanCandidate {
        plan: value.json.clone().into_owned(),
        text: value.text.to_owned(),
        repairs: reply.dropped_around(value),
    };
    let mut found: Vec<_> = values.into_iter().map(candidate).collect();
    if !prose_is_none && (found.len() > 1 || found.iter().any(|one| has_only_words(&one.repairs))) {
        found.clear();
    }
    Ok(found)
}

/// Whether words stand around a value that is not in a fence.
fn has_only_words(dropped: &[Dropped]) -> bool {
    dropped.contains(&Dropped::Words) && !dropped.contains(&Dropped::Fence)
}

fn is_request(json: &Json<'_>) -> bool {
    has_form(json) || inner(json).is_ok_and(|inner| inner.is_some())
}

/// The only member that has the form of a request.
fn inner<'v, 'j>(json: &'v Json<'j>) -> Result<Option<&'v Json<'j>>, RequestRejection> {
    let members = json.as_object().into_iter().flatten().map(|(_, member)| member);
    let mut found = members.filter(|member| has_form(member));
    let only = found.next();
    match found.next() {
        Some(_) => Err(rejection(Fault::Ambiguous)),
        None => Ok(only),
    }
}

fn has_form(json: &Json<'_>) -> bool {
    json.get("tool_calls").is_some() || json.get("toolCalls").is_some() || is_call(json)
}

/// Whether an object is a call that stands for a request. `name` alone is no sign of one.
pub(super) fn is_call(json: &Json<'_>) -> bool {
    let arguments = || ["arguments", "params"].iter().any(|key| json.get(key).is_some());
    ["tool_name", "toolName"].iter().any(|key| json.get(key).is_some())
        || json.get("name").is_some_and(|name| name.as_str().is_some()) && arguments()
}

fn rejection(fault: Fault) -> RequestRejection {
    let (reason, detail) = match fault {
        Fault::Missing => (Reason::NoJson, ""),
        Fault::Ambiguous => (Reason::Ambiguous, ""),
        Fault::Cut { .. } | Fault::Thinking => (Reason::Truncated, ""),
        Fault::Invalid { .. } => (Reason::Syntax, fault.code()),
    };
    let message = matches!(reason, Reason::Syntax | Reason::Truncated).then(|| fault.to_string());
    RequestRejection { message, ..RequestRejection::whole(reason, detail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_request_decides_among_values() {
        let json = r#"{"tool_calls":[{"tool_name":"a","params":{"q":"} \" } {"},"reason":"{"}]}"#;
        let wanted = Json::parse_str(json).unwrap();
        for text in [
            format!("Sure: {json} That is all."),
            format!("{{not}} this: {json}"),
            format!("{{\"b\":1}} or [1]: {json}"),
            format!("{json}, and again: {json}"),
        ] {
            let found = request(&text).unwrap().unwrap();
            assert_eq!(
                (found.json, found.dropped),
                (wanted.clone(), vec![Dropped::Words]),
                "{text}"
            );
        }
        let two = request(&format!("{json} or {{\"tool_calls\":[]}}"));
        assert_eq!(two.unwrap_err().reason, Reason::Ambiguous);
    }
}
