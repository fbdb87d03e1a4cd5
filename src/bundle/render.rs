//! A bundle as JSON text, within its caps (§2.13).
//!
//! All numbers are computed from the complete data. Caps apply only here, so they never change
//! a number.

use super::evidence::{Entry, Evidence};
use super::options::{BundleLimits, SummaryOptions};
use super::patch;
use super::rendered::Rendered;
use super::results::{BundleSummary, EvidenceBundle};
use super::summary::Summary;
use super::write::{fixed, write_cut, write_distribution};
use crate::json::{Json, number_text, push_token, write_string};
use crate::stats::medoid;

/// Characters that remain of a string that is cut.
const HEAD: usize = 256;

/// The text of an entry, in full and with its long strings cut.
struct Piece {
    full: String,
    cut: Option<String>,
}

impl Piece {
    /// Writes the entry. Also writes the cut version if bytes are capped and the entry is long
    /// enough to contain a long string.
    fn new(view: &SummaryOptions, write: impl Fn(&mut String, usize)) -> Self {
        let (mut full, mut cut) = (String::new(), String::new());
        write(&mut full, usize::MAX);
        if view.max_bytes().is_some() && full.len() > HEAD {
            write(&mut cut, HEAD);
        }
        let differs = !cut.is_empty() && cut != full;
        Self { full, cut: differs.then_some(cut) }
    }
}

/// The lists of a bundle that can be cut, with their original lengths.
struct Lists {
    replicates: Vec<(String, Option<String>)>,
    distributions: Vec<Piece>,
    disagreements: Vec<Piece>,
    /// Entries of `consensus`, each with its support.
    consensus: Vec<(Piece, String)>,
    totals: [usize; 5],
    strings_cut: bool,
}

impl Evidence {
    /// The summary of the replicates so far.
    #[must_use]
    pub fn summary(&self) -> Rendered<BundleSummary> {
        let (summary, view) = (self.statistics(), &self.options);
        let mut lists = self.lists(&summary, view, &[]);
        let fixed = fixed(&summary, view);
        lists.fit(view, fixed.len());
        let mut out = String::new();
        lists.write_summary(&fixed, summary.beyond, &mut out);
        Rendered::new(out)
    }

    /// The bundle, and whether anything was left out. `meta` is a JSON text; `heads` are the first
    /// members of each replicate, such as `"id":"r1","seed":11`.
    pub(super) fn bundle(&self, meta: &str, heads: &[String]) -> (Rendered<EvidenceBundle>, bool) {
        let (summary, view) = (self.statistics(), &self.options);
        let mut lists = self.lists(&summary, view, heads);
        let fixed = fixed(&summary, view);
        let around = r#"{"meta":,"replicates":[],"summary":}"#.len();
        lists.fit(view, fixed.len() + meta.len() + around);
        let mut out = format!("{{\"meta\":{meta},\"replicates\":[");
        for (at, (head, data)) in lists.replicates.iter().enumerate() {
            out.push_str(if at > 0 { ",{" } else { "{" });
            out.push_str(head);
            out.push_str(data.as_deref().unwrap_or(",\"omitted\":true"));
            out.push('}');
        }
        out.push_str("],\"summary\":");
        let truncated = lists.write_summary(&fixed, summary.beyond, &mut out);
        out.push('}');
        (Rendered::new(out), truncated)
    }

    fn lists(&self, summary: &Summary<'_>, view: &SummaryOptions, heads: &[String]) -> Lists {
        let shown = |field: &str| view.shows(field);
        let consensus = summary.consensus.iter().filter(|one| shown(&one.field));
        let consensus: Vec<_> = consensus
            .map(|one| {
                let mut key = String::new();
                write_string(&one.field, &mut key);
                let piece = Piece::new(view, |out, most| {
                    out.push_str(&key);
                    out.push(':');
                    write_cut(&one.value, most, out);
                });
                let (count, of, method) = (one.count, summary.valid_count, one.method);
                let support =
                    format!("{key}:{{\"count\":{count},\"of\":{of},\"method\":\"{method}\"}}");
                (piece, support)
            })
            .collect();
        let disagreements = summary.disagreements.iter().filter(|one| shown(&one.field));
        let disagreements: Vec<_> = disagreements
            .map(|one| {
                Piece::new(view, |out, most| {
                    out.push_str("{\"field\":");
                    write_string(&one.field, out);
                    for (name, number) in [
                        ("weight", one.weight),
                        ("mean_distance", one.mean),
                        ("max_distance", one.max),
                    ] {
                        out.push_str(&format!(",\"{name}\":{}", view.number(number)));
                    }
                    out.push_str(",\"values\":[");
                    for (at, said) in one.values.iter().enumerate() {
                        out.push_str(if at > 0 { ",{\"value\":" } else { "{\"value\":" });
                        write_cut(said.value.unwrap_or(&Json::Null), most, out);
                        out.push_str(if said.value.is_none() { ",\"missing\":true" } else { "" });
                        out.push_str(",\"replicates\":[");
                        for (at, place) in said.replicates.iter().enumerate() {
                            out.push_str(if at > 0 { "," } else { "" });
                            out.push_str(&place.to_string());
                        }
                        out.push(']');
                        out.push_str(if said.invalid { ",\"invalid\":true}" } else { "}" });
                    }
                    out.push_str("]}");
                })
            })
            .collect();
        let distributions = summary.distributions.iter().filter(|(field, _)| shown(field));
        let distributions: Vec<_> = distributions
            .map(|(field, one)| {
                Piece::new(view, |out, most| {
                    write_string(field, out);
                    out.push(':');
                    write_distribution(one, view, most, out);
                })
            })
            .collect();
        let replicates = self.replicates(view, heads);
        let totals = [
            replicates.iter().filter(|(_, data)| data.is_some()).count(),
            distributions.len(),
            disagreements.len(),
            consensus.len(),
            0,
        ];
        Lists { replicates, distributions, disagreements, consensus, totals, strings_cut: false }
    }

    fn replicates(&self, view: &SummaryOptions, heads: &[String]) -> Vec<(String, Option<String>)> {
        let project = |entry: &Entry| entry.data.as_ref().and_then(|data| view.project(data));
        let projected: Vec<Option<Json<'static>>> = self.entries.iter().map(project).collect();
        let base = medoid(&self.matrix).filter(|_| view.compact);
        let base = base.and_then(|at| Some((at, projected.get(at)?.as_ref()?)));
        let text = |at: usize, data: &Json<'static>| {
            let full = format!(",\"data\":{}", data.to_text());
            match base {
                Some((base, _)) if base == at => format!(",\"base\":true{full}"),
                Some((_, base)) => {
                    let delta = format!(",\"delta\":{}", patch::diff(base, data).to_text());
                    if delta.len() < full.len() { delta } else { full }
                }
                None => full,
            }
        };
        let data = projected.iter().enumerate().map(|(at, data)| {
            // No data, or none that may be shown. This does not count as left out.
            data.as_ref().map_or_else(String::new, |data| text(at, data))
        });
        heads.iter().cloned().zip(data.map(Some)).collect()
    }
}

impl Lists {
    /// Applies the caps: first on entries, then on bytes in the order of §2.13.
    fn fit(&mut self, view: &SummaryOptions, fixed: usize) {
        let limits = view.limits.clone().unwrap_or_default();
        let BundleLimits { max_fields, max_diffs, max_bytes } = limits;
        self.disagreements.truncate(max_diffs.unwrap_or(usize::MAX));
        self.distributions.truncate(max_fields.unwrap_or(usize::MAX));
        self.consensus.truncate(max_fields.unwrap_or(usize::MAX));
        let long = |piece: &&Piece| piece.cut.is_some();
        let consensus = self.consensus.iter().map(|(piece, _)| piece);
        let pieces = consensus.chain(&self.disagreements).chain(&self.distributions);
        self.totals[4] = pieces.filter(long).count();
        let Some(most) = max_bytes else { return };
        // Cuts are reported in `counts`, which needs space itself.
        let cut = self.distributions.len() < self.totals[1]
            || self.disagreements.len() < self.totals[2]
            || self.consensus.len() < self.totals[3];
        let told = if cut || self.bytes(fixed) > most { COUNTS } else { 0 };
        let most = most.saturating_sub(told);
        let mut bytes = self.bytes(fixed);
        for (_, data) in self.replicates.iter_mut().rev() {
            let Some(text) = data.as_ref().filter(|text| bytes > most && !text.is_empty()) else {
                continue;
            };
            bytes = (bytes + OMITTED).saturating_sub(text.len());
            *data = None;
        }
        if bytes > most && self.totals[4] > 0 {
            self.strings_cut = true;
            let pieces = self.consensus.iter_mut().map(|(piece, _)| piece);
            let pieces = pieces.chain(&mut self.disagreements).chain(&mut self.distributions);
            for piece in pieces {
                if let Some(cut) = piece.cut.take() {
                    piece.full = cut;
                }
            }
            bytes = self.bytes(fixed);
        }
        for list in [&mut self.distributions, &mut self.disagreements] {
            while bytes > most
                && let Some(piece) = list.pop()
            {
                bytes = bytes.saturating_sub(piece.full.len() + 1);
            }
        }
        while bytes > most
            && let Some((piece, support)) = self.consensus.pop()
        {
            bytes = bytes.saturating_sub(piece.full.len() + support.len() + 2);
        }
    }

    /// Bytes of the whole text; commas are not counted exactly.
    fn bytes(&self, fixed: usize) -> usize {
        let replicate = |(head, data): &(String, Option<String>)| {
            head.len() + data.as_ref().map_or(OMITTED, String::len) + 3
        };
        let piece = |piece: &Piece| piece.full.len() + 1;
        let consensus = |(one, support): &(Piece, String)| piece(one) + support.len() + 1;
        fixed
            + AROUND
            + self.replicates.iter().map(replicate).sum::<usize>()
            + self.distributions.iter().map(piece).sum::<usize>()
            + self.disagreements.iter().map(piece).sum::<usize>()
            + self.consensus.iter().map(consensus).sum::<usize>()
    }

    fn write_summary(&self, fixed: &str, beyond: usize, out: &mut String) -> bool {
        let list = |out: &mut String, open: &str, texts: &mut dyn Iterator<Item = &str>| {
            out.push_str(open);
            for (at, text) in texts.enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(text);
            }
        };
        let mut pieces = self.consensus.iter().map(|(piece, _)| piece.full.as_str());
        list(out, "{\"consensus\":{", &mut pieces);
        let mut pieces = self.consensus.iter().map(|(_, support)| support.as_str());
        list(out, "},\"support\":{", &mut pieces);
        let mut pieces = self.disagreements.iter().map(|piece| piece.full.as_str());
        list(out, "},\"disagreements\":[", &mut pieces);
        let mut pieces = self.distributions.iter().map(|piece| piece.full.as_str());
        list(out, "],\"distributions\":{", &mut pieces);
        out.push_str("},");
        out.push_str(fixed);
        let with_data = self.replicates.iter().filter(|(_, data)| data.is_some()).count();
        let strings = if self.strings_cut { 0 } else { self.totals[4] };
        let names = ["replicates", "distributions", "disagreements", "consensus", "long_strings"];
        let shown = [
            with_data,
            self.distributions.len(),
            self.disagreements.len(),
            self.consensus.len(),
            strings,
        ];
        let truncated = shown != self.totals || beyond > 0;
        out.push_str(&format!(",\"truncated\":{truncated}"));
        if truncated {
            out.push_str(",\"counts\":{");
            for ((name, shown), total) in names.iter().zip(shown).zip(self.totals) {
                out.push_str(&format!("\"{name}\":{{\"shown\":{shown},\"total\":{total}}},"));
            }
            out.push_str(&format!("\"fields_beyond_limit\":{beyond}}}"));
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
    fn max_bytes(&self) -> Option<usize> {
        self.limits.as_ref()?.max_bytes
    }

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
