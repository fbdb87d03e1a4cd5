//! The last thing before an event or a bundle leaves: a host's redaction of every text in it that
//! replicates or errors brought, names of their members included. What the host itself says (task,
//! model, seeds, parameters) stays as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::guard::guarded;
use crate::platform::Dyn;
use turnlock::evidence::{BundleEvent, Event, Outcome, Rendered};
use turnlock::json::Json;

/// What is shown where a redaction panics.
const FAILED: &str = "[redaction failed]";

/// Gives back what may be shown of a text.
pub(super) type Redact = Arc<Dyn![Fn(&str) -> String]>;

/// What is done with a member.
#[derive(Clone, Copy)]
enum Act {
    Keep,
    /// Every text in it, names of members included.
    All,
    /// The names of its members, and then each of them.
    Named(&'static [(&'static str, Self)]),
    /// Its members by name; those that are not listed stay.
    Members(&'static [(&'static str, Self)]),
    /// Each of its items.
    Items(&'static [(&'static str, Self)]),
}

use Act::{All, Items, Keep, Members, Named};

const QUALITY: Act = Members(&[("errors", All)]);
const VALUES: Act = Items(&[("value", All)]);
const SUMMARY: Act = Members(&[
    ("consensus", All),
    ("support", Named(&[])),
    ("disagreements", Items(&[("field", All), ("values", VALUES)])),
    ("distributions", Named(&[("counts", VALUES)])),
    ("invalid", Items(&[("errors", All)])),
    ("approximated", All),
    ("agreement", Items(&[("field", All), ("member", All)])),
]);
const REPLICATES: Act = Items(&[
    ("quality", QUALITY),
    ("data", All),
    ("delta", Items(&[("path", All), ("value", All)])),
]);

const BUNDLE: Act = Members(&[("replicates", REPLICATES), ("summary", SUMMARY)]);

/// Bytes from which on the core may cut a text.
const LONG: usize = 256;

/// A text that the core may cut, redacted before it does, because half of a secret is known to no
/// redaction.
pub(super) fn redact_long(text: &str, redact: &Redact) -> String {
    match text.len() > LONG {
        true => guarded(|| redact(text)).unwrap_or_else(|_| FAILED.to_owned()),
        false => text.to_owned(),
    }
}

/// What the core is told of an outcome whose texts it may cut.
pub(super) fn before_cuts(outcome: Outcome, redact: &Redact) -> Outcome {
    let hide = |text: &str| redact_long(text, redact);
    match outcome {
        Outcome::Data { json, errors } => {
            let errors = errors.iter().map(|text| hide(text)).collect();
            // A text that is no JSON is refused by the core, which does not show it.
            let data = Json::parse(&json, usize::MAX).map(Json::into_owned);
            let json = data.map_or(json, |data| apply(data, All, &hide).to_text().into_bytes());
            Outcome::Data { json, errors }
        }
        Outcome::Failed { message } => Outcome::Failed { message: hide(&message) },
    }
}

/// An event as it may be shown. A redaction that panics lets nothing through.
pub(super) fn redacted(mut event: Event, redact: Option<&Redact>) -> Event {
    let Some(redact) = redact else { return event };
    let hide = |text: &str| {
        let redacted = guarded(|| redact(text));
        redacted.unwrap_or_else(|_| FAILED.to_owned())
    };
    let all = |texts: &mut Vec<String>| texts.iter_mut().for_each(|text| *text = hide(text));
    match &mut event.kind {
        BundleEvent::ReplicateDone { quality, data, .. } => {
            all(&mut quality.errors);
            *data = data.take().map(|data| apply(data, All, &hide));
        }
        BundleEvent::PartialSummary { summary, .. } => {
            *summary = redact_rendered(summary, SUMMARY, &hide)
        }
        BundleEvent::ReplicateWarning { errors, .. } => all(errors),
        BundleEvent::BundleCancelled { reason, .. } => *reason = hide(reason),
        BundleEvent::BundleReady { bundle, .. } => *bundle = redact_rendered(bundle, BUNDLE, &hide),
        _ => {}
    }
    event
}

fn redact_rendered<T>(text: &Rendered<T>, act: Act, hide: &dyn Fn(&str) -> String) -> Rendered<T> {
    // The core's own text, of its own size; what it writes, it reads.
    let json = Json::parse_host(text.json().as_bytes(), usize::MAX);
    let json = json.map(Json::into_owned).unwrap_or_default();
    Rendered::new(apply(json, act, hide).to_text())
}

fn apply(value: Json<'static>, act: Act, hide: &dyn Fn(&str) -> String) -> Json<'static> {
    let member = |value, members| apply(value, Members(members), hide);
    match (act, value) {
        (All, Json::String(text)) => hide(&text).into(),
        (All, Json::Array(items)) => {
            Json::Array(items.into_iter().map(|item| apply(item, All, hide)).collect())
        }
        (All, Json::Object(members)) => named(members, hide, |value| apply(value, All, hide)),
        (Named(inner), Json::Object(members)) => named(members, hide, |value| member(value, inner)),
        (Items(inner), Json::Array(items)) => {
            Json::Array(items.into_iter().map(|item| member(item, inner)).collect())
        }
        (Members(known), Json::Object(members)) => {
            let redacted = members.into_iter().map(|(name, value)| {
                let act =
                    known.iter().find(|(member, _)| *member == name).map_or(Keep, |(_, act)| *act);
                (name, apply(value, act, hide))
            });
            Json::Object(redacted.collect())
        }
        (_, value) => value,
    }
}

/// Where two names become one, the last of them stands, as in a JavaScript object.
fn named(
    members: Vec<(Cow<'static, str>, Json<'static>)>,
    hide: &dyn Fn(&str) -> String,
    own: impl Fn(Json<'static>) -> Json<'static>,
) -> Json<'static> {
    let mut places = BTreeMap::new();
    let mut shown: Vec<(Cow<'static, str>, Json<'static>)> = Vec::new();
    for (name, value) in members {
        let (name, value) = (hide(&name), own(value));
        let place = *places.entry(name.clone()).or_insert(shown.len());
        match shown.get_mut(place) {
            Some((_, kept)) => *kept = value,
            None => shown.push((name.into(), value)),
        }
    }
    Json::Object(shown)
}
