//! A bundle as JSON text, within its caps (§2.13).
//!
//! All numbers are computed from the complete data. Caps apply only here, so they never change
//! a number.

use super::options::SummaryOptions;
use super::patch;
use super::rendered::Rendered;
use super::replicates::{Entry, Evidence};
use super::results::{BundleSummary, EvidenceBundle};
use super::summary::Summary;
use super::write::{Piece, fixed, write_distribution};
use crate::json::{Json, number_text, push_token};
use crate::stats::medoid;
use crate::text::find;

/// Characters that remain of a long string: the first of these with which the text is short enough.
/// Strings up to the last of them are never cut.
const HEADS: [usize; 3] = [4096, 1024, super::write::LONG];

/// The parts of a bundle, with what they contain before anything is left out.
struct Lists {
    replicates: Vec<Shown>,
    distributions: Vec<Piece>,
    disagreements: Vec<Piece>,
    /// Entries of `consensus`, each with its support.
    consensus: Vec<(Piece, String)>,
    /// The members of the summary that are never left out.
    fixed: Piece,
    /// Entries of the lists, and long strings in all of them.
    totals: [usize; 5],
    /// Fields that are in no list, because there are too many.
    beyond: usize,
}

/// One replicate.
struct Shown {
    head: Piece,
    /// Its data or delta; `None` if it is left out, empty if there is nothing to show.
    data: Option<Piece>,
    is_base: bool,
}

impl Evidence {
    /// The summary of the replicates so far.
    #[must_use]
    pub fn summary(&self) -> Rendered<BundleSummary> {
        let mut out = String::new();
        self.fitted(&[], 0).write_summary(&mut out);
        Rendered::new(out)
    }

    /// The bundle, and whether anything was left out. `meta` is a JSON text; `heads` are the first
    /// members of each replicate, such as `"id":"r1","seed":11,`.
    pub(super) fn bundle(&self, meta: &str, heads: &[String]) -> (Rendered<EvidenceBundle>, bool) {
        let around = r#"{"meta":,"replicates":[],"summary":}"#.len();
        let lists = self.fitted(heads, meta.len() + around);
        let mut out = format!("{{\"meta\":{meta},\"replicates\":[");
        for (at, one) in lists.replicates.iter().enumerate() {
            out.push_str(if at > 0 { ",{" } else { "{" });
            out.push_str(&one.head.text);
            out.push_str(one.data.as_ref().map_or(",\"omitted\":true", |data| &data.text));
            out.push('}');
        }
        out.push_str("],\"summary\":");
        let truncated = lists.write_summary(&mut out);
        out.push('}');
        (Rendered::new(out), truncated)
    }

    /// The parts of a bundle or a summary, within its caps. `around` is the number of bytes that the
    /// text has beside them.
    fn fitted(&self, heads: &[String], around: usize) -> Lists {
        let summary = self.statistics();
        let limits = self.options.limits.clone().unwrap_or_default();
        let listed = |most: Option<usize>| {
            let mut lists = self.lists(&summary, heads, most);
            lists.disagreements.truncate(limits.max_diffs.unwrap_or(usize::MAX));
            lists.distributions.truncate(limits.max_fields.unwrap_or(usize::MAX));
            lists.consensus.truncate(limits.max_fields.unwrap_or(usize::MAX));
            lists
        };
        let Some(most) = limits.max_bytes else { return listed(None) };
        let mut lists = listed(Some(usize::MAX));
        // What is left out is reported in `counts`, which needs space itself.
        let most = match lists.is_truncated() || lists.bytes() + around > most {
            true => most.saturating_sub(COUNTS + around),
            false => return lists,
        };
        for head in HEADS {
            if lists.bytes() > most && lists.totals[4] > 0 {
                lists = listed(Some(head));
            }
        }
        lists.shorten(most);
        lists
    }

    /// Everything, with strings of more than `most` characters cut.
    fn lists(&self, summary: &Summary<'_>, heads: &[String], most: Option<usize>) -> Lists {
        let view = &self.options;
        let shown = |field: &str| view.shows(field);
        let consensus = summary.consensus.iter().filter(|one| shown(&one.field));
        let consensus: Vec<_> = consensus
            .map(|one| {
                let mut piece = Piece::new(most);
                piece.name(&one.field);
                let (count, of, method) = (one.count, summary.valid_count, one.method);
                let key = &piece.text;
                let support =
                    format!("{key}{{\"count\":{count},\"of\":{of},\"method\":\"{method}\"}}");
                piece.value(one.value);
                (piece, support)
            })
            .collect();
        let disagreements = summary.disagreements.iter().filter(|one| shown(&one.field));
        let disagreements: Vec<_> = disagreements
            .map(|one| {
                let mut piece = Piece::new(most);
                piece.push("{\"field\":");
                piece.quoted(&one.field);
                for (name, number) in
                    [("weight", one.weight), ("mean_distance", one.mean), ("max_distance", one.max)]
                {
                    piece.push(",\"");
                    piece.push(name);
                    piece.push("\":");
                    piece.push(&view.number(number));
                }
                piece.push(if one.order_only { ",\"kind\":\"order\"" } else { "" });
                piece.push(",\"values\":[");
                for (at, said) in one.values.iter().enumerate() {
                    piece.push(if at > 0 { ",{\"value\":" } else { "{\"value\":" });
                    piece.value(said.value.unwrap_or(&Json::Null));
                    piece.push(if said.value.is_none() { ",\"missing\":true" } else { "" });
                    piece.push(",\"replicates\":[");
                    for (at, place) in said.replicates.iter().enumerate() {
                        piece.push(if at > 0 { "," } else { "" });
                        piece.push(&place.to_string());
                    }
                    piece.push("],\"replicateIds\":[");
                    let ids = said.replicates.iter().filter_map(|place| self.entries.get(*place));
                    for (at, entry) in ids.enumerate() {
                        piece.push(if at > 0 { "," } else { "" });
                        piece.quoted(&entry.id);
                    }
                    piece.push(if said.invalid { "],\"invalid\":true}" } else { "]}" });
                }
                piece.push("]");
                for (at, member) in one.common.iter().enumerate() {
                    piece.push(if at > 0 { "," } else { ",\"common\":[" });
                    piece.value(member);
                }
                piece.push(if one.common.is_empty() { "}" } else { "]}" });
                piece
            })
            .collect();
        let distributions = summary.distributions.iter().filter(|(field, _)| shown(field));
        let distributions: Vec<_> = distributions
            .map(|(field, one)| {
                let mut piece = Piece::new(most);
                piece.name(field);
                write_distribution(one, view, &mut piece);
                piece
            })
            .collect();
        let replicates = self.shown(heads, most);
        let fixed = fixed(summary, view, most);
        let beyond = summary.beyond;
        let totals = [0; 5];
        let mut lists =
            Lists { replicates, distributions, disagreements, consensus, fixed, totals, beyond };
        lists.totals = lists.shown();
        lists.totals[4] = lists.pieces().map(|piece| piece.long).sum();
        lists
    }

    fn shown(&self, heads: &[String], most: Option<usize>) -> Vec<Shown> {
        let view = &self.options;
        let project = |entry: &Entry| entry.data.as_ref().and_then(|data| view.project(data));
        let projected: Vec<Option<Json<'static>>> = self.entries.iter().map(project).collect();
        let base = medoid(&self.matrix).filter(|_| view.compact);
        let base = base.and_then(|at| Some((at, projected.get(at)?.as_ref()?)));
        let written = |at: usize, data: &Json<'static>| {
            let mut full = Piece::new(most);
            full.push(if base.is_some_and(|(base, _)| base == at) { ",\"base\":true" } else { "" });
            full.push(",\"data\":");
            full.value(data);
            match base {
                Some((base, from)) if base != at => {
                    let delta = delta(from, data, most);
                    if delta.text.len() < full.text.len() { delta } else { full }
                }
                _ => full,
            }
        };
        let all = heads.iter().zip(&self.entries).zip(&projected).enumerate();
        let shown = all.map(|(at, ((first, entry), data))| {
            let mut head = Piece::new(most);
            head.push(first);
            head.push(&format!("\"quality\":{{\"valid\":{},\"errors\":", entry.valid));
            head.texts(&entry.errors);
            head.push("}");
            let none = || Piece::new(most);
            let data = Some(data.as_ref().map_or_else(none, |data| written(at, data)));
            Shown { head, data, is_base: base.is_some_and(|(base, _)| base == at) }
        });
        shown.collect()
    }
}

/// A patch with its values cut. It is computed from the complete values, so that it names every
/// difference; applied to a base with its strings cut, it gives the data with its strings cut.
fn delta(base: &Json<'static>, data: &Json<'static>, most: Option<usize>) -> Piece {
    let patch = patch::diff(base, data);
    let mut piece = Piece::new(most);
    piece.push(",\"delta\":[");
    for (at, operation) in patch.as_array().unwrap_or_default().iter().enumerate() {
        for (member, (name, value)) in operation.as_object().unwrap_or_default().iter().enumerate()
        {
            piece.push(match (at, member) {
                (0, 0) => "{",
                (_, 0) => ",{",
                _ => ",",
            });
            piece.name(name);
            match value.as_str() {
                Some(text) if name != "value" => piece.quoted(text),
                _ => piece.value(value),
            }
        }
        piece.push("}");
    }
    piece.push("]");
    piece
}

impl Shown {
    /// Whether it has data that is shown.
    fn has_data(&self) -> bool {
        self.data.as_ref().is_some_and(|data| !data.text.is_empty())
    }
}

impl Lists {
    /// Leaves out data and entries until at most `most` bytes are left, in the order of §2.13. The
    /// base of the deltas is the last data to go, so that no delta is without it.
    fn shorten(&mut self, most: usize) {
        let mut bytes = self.bytes();
        for bases in [false, true] {
            for one in self.replicates.iter_mut().rev().filter(|one| one.is_base == bases) {
                if bytes > most && one.has_data() {
                    let data = one.data.take().map_or(0, |data| data.text.len());
                    bytes = (bytes + OMITTED).saturating_sub(data);
                }
            }
        }
        for list in [&mut self.distributions, &mut self.disagreements] {
            while bytes > most
                && let Some(piece) = list.pop()
            {
                bytes = bytes.saturating_sub(piece.text.len() + 1);
            }
        }
        while bytes > most
            && let Some((piece, support)) = self.consensus.pop()
        {
            bytes = bytes.saturating_sub(piece.text.len() + support.len() + 2);
        }
    }

    /// Everything that may contain long strings.
    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let replicates = self.replicates.iter();
        let replicates = replicates.flat_map(|one| one.data.iter().chain([&one.head]));
        let consensus = self.consensus.iter().map(|(piece, _)| piece);
        let lists = consensus.chain(&self.disagreements).chain(&self.distributions);
        replicates.chain(lists).chain([&self.fixed])
    }

    /// Bytes of the parts; commas are not counted exactly.
    fn bytes(&self) -> usize {
        let omitted = self.replicates.iter().filter(|one| one.data.is_none()).count() * OMITTED;
        let support = self.consensus.iter().map(|(_, support)| support.len() + 1).sum::<usize>();
        // Of the braces of a replicate, its comma, and those of entries.
        let around = AROUND + self.replicates.len() * 2;
        around + omitted + support + self.pieces().map(|piece| piece.text.len() + 1).sum::<usize>()
    }

    /// How much of each list is shown, and how many long strings are whole.
    fn shown(&self) -> [usize; 5] {
        [
            self.replicates.iter().filter(|one| one.has_data()).count(),
            self.distributions.len(),
            self.disagreements.len(),
            self.consensus.len(),
            self.pieces().map(|piece| piece.long - piece.cut).sum(),
        ]
    }

    fn is_truncated(&self) -> bool {
        self.shown() != self.totals || self.beyond > 0
    }

    fn write_summary(&self, out: &mut String) -> bool {
        let list = |out: &mut String, open: &str, texts: &mut dyn Iterator<Item = &str>| {
            out.push_str(open);
            for (at, text) in texts.enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(text);
            }
        };
        let mut pieces = self.consensus.iter().map(|(piece, _)| piece.text.as_str());
        list(out, "{\"consensus\":{", &mut pieces);
        let mut pieces = self.consensus.iter().map(|(_, support)| support.as_str());
        list(out, "},\"support\":{", &mut pieces);
        let mut pieces = self.disagreements.iter().map(|piece| piece.text.as_str());
        list(out, "},\"disagreements\":[", &mut pieces);
        let mut pieces = self.distributions.iter().map(|piece| piece.text.as_str());
        list(out, "],\"distributions\":{", &mut pieces);
        out.push_str("},");
        out.push_str(&self.fixed.text);
        let truncated = self.is_truncated();
        out.push_str(&format!(",\"truncated\":{truncated}"));
        if truncated {
            let names =
                ["replicates", "distributions", "disagreements", "consensus", "long_strings"];
            out.push_str(",\"counts\":{");
            for ((name, shown), total) in names.iter().zip(self.shown()).zip(self.totals) {
                out.push_str(&format!("\"{name}\":{{\"shown\":{shown},\"total\":{total}}},"));
            }
            out.push_str(&format!("\"fields_beyond_limit\":{}}}", self.beyond));
        }
        out.push('}');
        truncated
    }
}

/// Bytes of `,"omitted":true`.
const OMITTED: usize = 15;
/// Bytes for the names of the four lists and `truncated`.
const AROUND: usize = 90;
/// Bytes for the longest `counts`.
const COUNTS: usize = 320;

impl SummaryOptions {
    /// The members that are shown; empty for all.
    fn shown(&self) -> &[String] {
        self.fields.as_deref().unwrap_or_default()
    }

    pub(super) fn shows(&self, field: &str) -> bool {
        let below = |of: &String| {
            field
                .strip_prefix(of.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.shown().is_empty() || self.shown().iter().any(below)
    }

    /// The errors of an attempt that may be shown. With `fields`, an error that begins with the
    /// pointer of a shown member is; of every other one, as of a failure, only a code remains,
    /// because its words may repeat what `fields` does not show.
    pub(super) fn shown_errors(&self, mut errors: Vec<String>) -> Vec<String> {
        for error in errors.iter_mut().filter(|_| !self.shown().is_empty()) {
            let at = find(error, ": ").and_then(|end| error.get(..end)).unwrap_or(error);
            let pointer = at.strip_prefix('#').unwrap_or(at);
            let is_code = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
            if pointer.starts_with('/') && self.shows(pointer) {
                continue;
            }
            *error = match at.as_bytes().contains(&b'.') && at.chars().all(is_code) {
                true => at.to_owned(),
                false => "not shown by `fields`".to_owned(),
            };
        }
        errors
    }

    pub(super) fn number(&self, number: f64) -> String {
        if !self.compact {
            return number_text(number);
        }
        let rounded = (number * 1e6).round() / 1e6;
        number_text(if rounded.is_finite() { rounded } else { number })
    }

    pub(super) fn number_or_null(&self, number: Option<f64>) -> String {
        number.map_or_else(|| "null".to_owned(), |number| self.number(number))
    }

    /// The members of a value that are shown; `None` if there are none.
    pub(super) fn project(&self, data: &Json<'static>) -> Option<Json<'static>> {
        if self.shown().is_empty() { Some(data.clone()) } else { self.part(data, "") }
    }

    fn part(&self, value: &Json<'static>, path: &str) -> Option<Json<'static>> {
        if self.shows(path) {
            return Some(value.clone());
        }
        let Json::Object(members) = value else { return None };
        let leads = |path: &str| self.shown().iter().any(|field| field.starts_with(path));
        let kept: Vec<_> = members
            .iter()
            .filter_map(|(name, value)| {
                let mut path = path.to_owned();
                push_token(&mut path, name);
                Some((name.clone(), self.part(value, &path).filter(|_| leads(&path))?))
            })
            .collect();
        (!kept.is_empty()).then_some(Json::Object(kept))
    }
}
