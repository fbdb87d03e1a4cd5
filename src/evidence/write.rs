//! The parts of a summary as JSON text.

use super::options::SummaryOptions;
use super::results::ConfidenceReason;
use super::summary::{Distribution, Summary};
use crate::json::{Json, write_string};

/// Characters from which on a string may be cut.
pub(super) const LONG: usize = 256;

/// A part of the text, and the long strings in it.
pub(super) struct Piece {
    pub(super) text: String,
    /// Characters that remain of a string; `None` if bytes have no cap, and no string is looked at.
    most: Option<usize>,
    /// Number of long strings.
    pub(super) long: usize,
    /// Number of those that are cut.
    pub(super) cut: usize,
}

impl Piece {
    pub(super) fn new(most: Option<usize>) -> Self {
        Self { text: String::new(), most, long: 0, cut: 0 }
    }

    /// Appends a text as it is.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends a string that is never cut.
    pub(super) fn quoted(&mut self, text: &str) {
        write_string(text, &mut self.text);
    }

    /// Appends the name of a member, and a colon.
    pub(super) fn name(&mut self, name: &str) {
        self.quoted(name);
        self.push(":");
    }

    /// Appends strings as an array.
    pub(super) fn texts(&mut self, texts: &[String]) {
        self.push("[");
        for (at, text) in texts.iter().enumerate() {
            self.push(if at > 0 { "," } else { "" });
            self.string(text);
        }
        self.push("]");
    }

    /// Appends a value. Long strings are cut, and their length is added.
    pub(super) fn value(&mut self, value: &Json<'_>) {
        match value {
            Json::String(text) => self.string(text),
            Json::Array(items) if self.most.is_some() => {
                self.push("[");
                for (at, item) in items.iter().enumerate() {
                    self.push(if at > 0 { "," } else { "" });
                    self.value(item);
                }
                self.push("]");
            }
            Json::Object(members) if self.most.is_some() => {
                self.push("{");
                for (at, (name, value)) in members.iter().enumerate() {
                    self.push(if at > 0 { "," } else { "" });
                    self.name(name);
                    self.value(value);
                }
                self.push("}");
            }
            other => other.write(&mut self.text),
        }
    }

    fn string(&mut self, text: &str) {
        let Some(most) = self.most.filter(|_| text.char_indices().nth(LONG).is_some()) else {
            return self.quoted(text);
        };
        self.long += 1;
        let Some((end, _)) = text.char_indices().nth(most) else { return self.quoted(text) };
        self.cut += 1;
        let head = text.get(..end).unwrap_or_default();
        self.quoted(&format!("{head}… ({} characters)", text.chars().count()));
    }
}

/// The members of a summary that are never left out, without the surrounding braces.
pub(super) fn fixed(summary: &Summary<'_>, view: &SummaryOptions, most: Option<usize>) -> Piece {
    let number = |number| view.number_or_null(number);
    let mut out = Piece::new(most);
    out.push("\"pairwise_distance\":[");
    for (at, row) in summary.matrix.iter().enumerate() {
        out.push(if at > 0 { ",[" } else { "[" });
        let cells: Vec<String> = row.iter().map(|cell| number(*cell)).collect();
        out.push(&cells.join(","));
        out.push("]");
    }
    out.push(&format!("],\"confidence\":{}", number(summary.confidence)));
    if summary.confidence.is_none() {
        let reason = match summary.valid_count {
            0 => ConfidenceReason::NoValidReplicate,
            _ => ConfidenceReason::OneValidReplicate,
        };
        out.push(&format!(",\"confidence_reason\":\"{reason}\""));
    }
    if let Some(weighted) = summary.weighted {
        out.push(&format!(",\"confidence_weighted\":{}", number(weighted)));
    }
    out.push(&format!(",\"valid_count\":{},\"invalid\":[", summary.valid_count));
    for (at, (replicate, errors)) in summary.invalid.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        out.push(&format!("{comma}{{\"replicate\":{replicate},\"errors\":"));
        out.texts(errors);
        out.push("}");
    }
    out.push(&format!("],\"early_stop\":{}", summary.early_stop));
    let mut open = ",\"approximated\":[";
    for field in summary.approximated.iter().filter(|field| view.shows(field)) {
        out.push(open);
        out.quoted(field);
        open = ",";
    }
    out.push(if open == "," { "]" } else { "" });
    let mut open = ",\"agreement\":[{";
    for one in summary.agreement.iter().filter(|one| view.shows(&one.field)) {
        out.push(open);
        out.push("\"field\":");
        out.quoted(&one.field);
        out.push(",\"member\":");
        out.quoted(&one.member);
        out.push(&format!(",\"level\":\"{}\",\"units\":{}", one.level, one.units));
        let all = &one.agreement;
        for (name, value) in
            [("alpha", all.alpha), ("fleiss_kappa", all.fleiss_kappa), ("gwet_ac1", all.gwet_ac1)]
        {
            out.push(&format!(",\"{name}\":{}", number(value)));
        }
        out.push("}");
        open = ",{";
    }
    out.push(if open == ",{" { "]" } else { "" });
    out
}

pub(super) fn write_distribution(one: &Distribution<'_>, view: &SummaryOptions, out: &mut Piece) {
    match one {
        Distribution::Numeric(one) => {
            out.push(&format!("{{\"n\":{}", one.n));
            let stdev = view.number_or_null(one.stdev);
            out.push(&format!(",\"mean\":{},\"stdev\":{stdev}", view.number(one.mean)));
            for (name, number) in [("min", one.min), ("max", one.max), ("median", one.median)] {
                out.push(&format!(",\"{name}\":{}", view.number(number)));
            }
            out.push("}");
        }
        Distribution::Counts { n, missing, counts } => {
            out.push(&format!("{{\"n\":{n},\"missing\":{missing},\"counts\":["));
            for (at, (value, count)) in counts.iter().enumerate() {
                out.push(if at > 0 { ",{\"value\":" } else { "{\"value\":" });
                out.value(value);
                out.push(&format!(",\"count\":{count}}}"));
            }
            out.push("]}");
        }
    }
}
