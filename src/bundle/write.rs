//! The parts of a summary as JSON text.

use super::options::SummaryOptions;
use super::results::ConfidenceReason;
use super::summary::{Distribution, Summary};
use crate::json::{Json, write_string};

/// The members that are never cut, without the surrounding braces.
pub(super) fn fixed(summary: &Summary<'_>, view: &SummaryOptions) -> String {
    let number = |number| view.number_or_null(number);
    let mut out = String::from("\"pairwise_distance\":[");
    for (at, row) in summary.matrix.iter().enumerate() {
        out.push_str(if at > 0 { ",[" } else { "[" });
        let cells: Vec<String> = row.iter().map(|cell| number(*cell)).collect();
        out.push_str(&cells.join(","));
        out.push(']');
    }
    out.push_str(&format!("],\"confidence\":{}", number(summary.confidence)));
    if summary.confidence.is_none() {
        let reason = match summary.valid_count {
            0 => ConfidenceReason::NoValidReplicate,
            _ => ConfidenceReason::OneValidReplicate,
        };
        out.push_str(&format!(",\"confidence_reason\":\"{reason}\""));
    }
    if let Some(weighted) = summary.weighted {
        out.push_str(&format!(",\"confidence_weighted\":{}", number(weighted)));
    }
    out.push_str(&format!(",\"valid_count\":{},\"invalid\":[", summary.valid_count));
    for (at, (replicate, errors)) in summary.invalid.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        out.push_str(&format!("{comma}{{\"replicate\":{replicate},\"errors\":"));
        write_strings(errors, &mut out);
        out.push('}');
    }
    out.push_str(&format!("],\"early_stop\":{}", summary.early_stop));
    if !summary.approximated.is_empty() {
        out.push_str(",\"approximated\":");
        write_strings(&summary.approximated, &mut out);
    }
    let mut open = ",\"agreement\":[{";
    for one in summary.agreement.iter().filter(|one| view.shows(&one.field)) {
        out.push_str(open);
        out.push_str("\"field\":");
        write_string(&one.field, &mut out);
        out.push_str(",\"member\":");
        write_string(&one.member, &mut out);
        out.push_str(&format!(",\"level\":\"{}\",\"units\":{}", one.level, one.units));
        let all = &one.agreement;
        for (name, value) in
            [("alpha", all.alpha), ("fleiss_kappa", all.fleiss_kappa), ("gwet_ac1", all.gwet_ac1)]
        {
            out.push_str(&format!(",\"{name}\":{}", number(value)));
        }
        out.push('}');
        open = ",{";
    }
    out.push_str(if open == ",{" { "]" } else { "" });
    out
}

fn write_strings(texts: &[String], out: &mut String) {
    out.push('[');
    for (at, text) in texts.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        write_string(text, out);
    }
    out.push(']');
}

pub(super) fn write_distribution(
    one: &Distribution<'_>,
    view: &SummaryOptions,
    most: usize,
    out: &mut String,
) {
    match one {
        Distribution::Numeric(one) => {
            out.push_str(&format!("{{\"n\":{}", one.n));
            let stdev = view.number_or_null(one.stdev);
            out.push_str(&format!(",\"mean\":{},\"stdev\":{stdev}", view.number(one.mean)));
            for (name, number) in [("min", one.min), ("max", one.max), ("median", one.median)] {
                out.push_str(&format!(",\"{name}\":{}", view.number(number)));
            }
            out.push('}');
        }
        Distribution::Counts { n, missing, counts } => {
            out.push_str(&format!("{{\"n\":{n},\"missing\":{missing},\"counts\":["));
            for (at, (value, count)) in counts.iter().enumerate() {
                out.push_str(if at > 0 { ",{\"value\":" } else { "{\"value\":" });
                write_cut(value, most, out);
                out.push_str(&format!(",\"count\":{count}}}"));
            }
            out.push_str("]}");
        }
    }
}

/// Writes a value. Strings of more than `most` characters are cut, and their length is added.
pub(super) fn write_cut(value: &Json<'_>, most: usize, out: &mut String) {
    match value {
        Json::String(text) => match text.char_indices().nth(most) {
            Some((end, _)) => {
                let head = text.get(..end).unwrap_or_default();
                write_string(&format!("{head}… ({} characters)", text.chars().count()), out);
            }
            None => write_string(text, out),
        },
        Json::Array(items) if most < usize::MAX => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_cut(item, most, out);
            }
            out.push(']');
        }
        Json::Object(members) if most < usize::MAX => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_string(name, out);
                out.push(':');
                write_cut(value, most, out);
            }
            out.push('}');
        }
        other => other.write(out),
    }
}
