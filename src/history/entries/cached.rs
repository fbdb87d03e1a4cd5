//! Marks for the provider's cache, of which a request may have only so many: the last ones stay.

use super::super::model::{Call, Content, Entry, Part, ToolResult};
use super::History;
use crate::json::Json;
use crate::provider::Members;

/// The place of a mark, in the order in which marks are sent: the entry, whether it is in a result, the
/// part.
pub(in crate::history) type CacheMark = (usize, bool, usize);

/// The marks of a history.
#[derive(Debug, Clone, Default)]
pub(super) struct Cached {
    first: Option<CacheMark>,
    /// The last ones, in order.
    last: Vec<CacheMark>,
    /// From here on they stayed when the history was arranged.
    from: Option<CacheMark>,
}

/// The member of a block that is a mark.
const MEMBER: &str = "cache_control";

/// Whether a block has a mark.
pub(in crate::history) fn is_marked(block: &Json<'_>) -> bool {
    block.get(MEMBER).is_some_and(|mark| !mark.is_null())
}

/// The block without its mark.
pub(in crate::history) fn unmarked<'a>(block: &Json<'a>) -> Json<'a> {
    let mut block = block.clone();
    if let Json::Object(members) = &mut block {
        members.retain(|(key, _)| key != MEMBER);
    }
    block
}

/// Whether a member is a mark.
pub(in crate::history) fn is_mark(key: &str) -> bool {
    key == MEMBER
}

fn among(members: &Members<'_>) -> bool {
    members.iter().any(|(key, _)| is_mark(key))
}

/// The number of marks of a part, without those of a call's result.
fn marks(part: &Part<'_>) -> usize {
    usize::from(match part {
        Part::Text(text) => among(&text.extra),
        Part::Media { block, .. } | Part::Native { block, .. } => is_marked(block),
        Part::Call(call) => among(&call.extra),
        Part::Reasoning(_) => false,
    })
}

impl<'a> History<'a> {
    /// Notes the marks of an entry whose parts will stand behind `from` others of entry `at`.
    pub(super) fn cached_in(&mut self, entry: &Entry<'a>, (at, from): (usize, usize)) {
        if self.rules.cache_marks == usize::MAX || !entry.marks.within(self.rules.own) {
            return;
        }
        for (part, one) in entry.parts.iter().enumerate() {
            for _ in 0..marks(one) {
                self.cached((at, false, from + part));
            }
            if let Part::Call(call) = one {
                self.cached_of(call, (at, from + part));
            }
        }
    }

    fn cached_of(&mut self, call: &Call<'a>, place: (usize, usize)) {
        if let Some(result) = &call.result {
            self.cached_result(result, place);
        }
    }

    /// Notes the marks of the result of the call at this place.
    pub(super) fn cached_result(&mut self, result: &ToolResult<'a>, (at, part): (usize, usize)) {
        if self.rules.cache_marks == usize::MAX || !result.marks.within(self.rules.own) {
            return;
        }
        let inner = match &result.content {
            Content::Parts(parts) => parts.iter().map(marks).sum(),
            _ => 0,
        };
        for _ in 0..inner + usize::from(among(&result.extra)) {
            self.cached((at, true, part));
        }
    }

    fn cached(&mut self, mark: CacheMark) {
        let most = self.rules.cache_marks;
        let cached = &mut self.cache;
        cached.first = Some(cached.first.map_or(mark, |first| first.min(mark)));
        let at = cached.last.partition_point(|known| *known <= mark);
        cached.last.insert(at, mark);
        if cached.last.len() > most + 1 {
            cached.last.remove(0);
        }
    }

    /// The mark before which none is sent; `None` if all are. What was arranged otherwise is arranged
    /// again.
    pub(super) fn cached_from(&mut self) -> Option<CacheMark> {
        let cached = &mut self.cache;
        let over = cached.last.len() > self.rules.cache_marks;
        let from = cached.last.get(1).copied().filter(|_| over);
        if from != cached.from {
            let before = cached.from.or(cached.first).map_or(0, |(at, ..)| at);
            cached.from = from;
            self.arranger.rewind(before);
        }
        from
    }
}
