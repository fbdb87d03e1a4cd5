//! JSON Patch ([RFC 6902]): the differences between two replicates (§2.12).
//!
//! Patches use only `add`, `remove` and `replace`, and are made in one pass over both values. In
//! arrays, only the items between the common prefix and suffix change. The patch is not minimal,
//! but `apply(base, diff(base, target))` is always `target`, and the patch is shorter than the
//! target if both values have much in common.
//!
//! [RFC 6902]: https://www.rfc-editor.org/rfc/rfc6902

use crate::json::{Json, members, push_token, unescaped};
use crate::order::sort_by;

/// Returns the patch that turns `base` into `target`, as a JSON array.
///
/// ```
/// use turnlock::evidence::{apply, diff};
/// use turnlock::json::Json;
///
/// let base = Json::parse_str(r#"{"label":"reject","risk":0.8}"#)?;
/// let target = Json::parse_str(r#"{"label":"reject","risk":0.9}"#)?;
/// let patch = diff(&base, &target);
/// assert_eq!(patch.to_text(), r#"[{"op":"replace","path":"/risk","value":0.9}]"#);
/// assert_eq!(apply(&base, &patch), Some(target));
/// # Ok::<(), turnlock::Error>(())
/// ```
#[must_use]
pub fn diff(base: &Json<'_>, target: &Json<'_>) -> Json<'static> {
    let mut writer = Writer { ops: Vec::new(), path: String::new() };
    writer.value(base, target);
    Json::Array(writer.ops)
}

struct Writer {
    ops: Vec<Json<'static>>,
    path: String,
}

impl Writer {
    fn op(&mut self, op: &'static str, value: Option<&Json<'_>>) {
        let mut members = members! { "op": Json::from(op), "path": Json::from(self.path.clone()) };
        members.extend(value.map(|value| ("value".into(), value.clone().into_owned())));
        self.ops.push(Json::Object(members));
    }

    /// Runs `work` with `token` appended to the path.
    fn at(&mut self, token: &str, work: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        push_token(&mut self.path, token);
        work(self);
        self.path.truncate(length);
    }

    fn value(&mut self, base: &Json<'_>, target: &Json<'_>) {
        match (base, target) {
            (Json::Object(base), Json::Object(target)) => self.object(base, target),
            (Json::Array(base), Json::Array(target)) => self.array(base, target),
            _ if base == target => {}
            _ => self.op("replace", Some(target)),
        }
    }

    fn object(&mut self, base: &Members<'_>, target: &Members<'_>) {
        let (old, new) = (sorted(base), sorted(target));
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        loop {
            match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some((name, _)), other) if other.is_none_or(|(other, _)| name < other) => {
                    self.at(name, |writer| writer.op("remove", None));
                    old.next();
                }
                (other, Some((name, value))) if other.is_none_or(|(other, _)| name < other) => {
                    self.at(name, |writer| writer.op("add", Some(value)));
                    new.next();
                }
                _ => {
                    if let (Some((name, from)), Some((_, to))) = (old.next(), new.next()) {
                        self.at(name, |writer| writer.value(from, to));
                    }
                }
            }
        }
    }

    fn array(&mut self, base: &[Json<'_>], target: &[Json<'_>]) {
        let front = base.iter().zip(target).take_while(|(a, b)| a == b).count();
        let most = base.len().min(target.len()) - front;
        let back = base.iter().rev().zip(target.iter().rev()).take(most);
        let back = back.take_while(|(a, b)| a == b).count();
        let old = base.get(front..base.len() - back).unwrap_or_default();
        let new = target.get(front..target.len() - back).unwrap_or_default();
        for (at, (from, to)) in old.iter().zip(new).enumerate() {
            self.at(&(front + at).to_string(), |writer| writer.value(from, to));
        }
        for at in (new.len()..old.len()).rev() {
            self.at(&(front + at).to_string(), |writer| writer.op("remove", None));
        }
        for (at, value) in new.iter().enumerate().skip(old.len()) {
            self.at(&(front + at).to_string(), |writer| writer.op("add", Some(value)));
        }
    }
}

type Members<'a> = [(std::borrow::Cow<'a, str>, Json<'a>)];

fn sorted<'a, 'j>(members: &'a Members<'j>) -> Vec<(&'a str, &'a Json<'j>)> {
    let mut all: Vec<_> = members.iter().map(|(name, value)| (name.as_ref(), value)).collect();
    sort_by(&mut all, |(a, _), (b, _)| a.cmp(b));
    all
}

/// Applies a patch to `base`. Returns `None` if the patch does not fit, or uses `move`, `copy`
/// or `test`.
#[must_use]
pub fn apply(base: &Json<'_>, patch: &Json<'_>) -> Option<Json<'static>> {
    let mut made = base.clone().into_owned();
    for op in patch.as_array()? {
        let path = op.get("path")?.as_str()?;
        let value = || Some(op.get("value")?.clone().into_owned());
        let Some((parent, token)) = path.rsplit_once('/') else {
            made = value().filter(|_| path.is_empty())?;
            continue;
        };
        let token = unescaped(token);
        change(at(&mut made, parent)?, &token, op.get("op")?.as_str()?, value())?;
    }
    Some(made)
}

fn at<'a>(root: &'a mut Json<'static>, pointer: &str) -> Option<&'a mut Json<'static>> {
    let mut place = root;
    for token in pointer.split('/').skip(1) {
        let token = unescaped(token);
        place = match place {
            Json::Array(items) => items.get_mut(token.parse::<usize>().ok()?)?,
            Json::Object(members) => {
                members.iter_mut().find(|(name, _)| *name == token).map(|(_, value)| value)?
            }
            _ => return None,
        };
    }
    Some(place)
}

fn change(
    parent: &mut Json<'static>,
    token: &str,
    op: &str,
    value: Option<Json<'static>>,
) -> Option<()> {
    match parent {
        Json::Object(members) => {
            let place = members.iter().position(|(name, _)| name == token);
            match (op, place) {
                ("remove", Some(place)) => drop(members.remove(place)),
                ("add", None) => members.push((token.to_owned().into(), value?)),
                ("add" | "replace", Some(place)) => members.get_mut(place)?.1 = value?,
                _ => return None,
            }
        }
        Json::Array(items) => {
            let place = if token == "-" { items.len() } else { token.parse().ok()? };
            match op {
                "remove" if place < items.len() => drop(items.remove(place)),
                "add" if place <= items.len() => items.insert(place, value?),
                "replace" => *items.get_mut(place)? = value?,
                _ => return None,
            }
        }
        _ => return None,
    }
    Some(())
}
