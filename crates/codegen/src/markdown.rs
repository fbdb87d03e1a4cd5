//! `docs/options.md`: a table for each function that takes options, and for each object in them.

use std::collections::BTreeSet;

use crate::files::NOTICE;
use crate::model::{Declaration, Form, Kind, Member, Model, Presence};
use crate::typescript::{is_parameter, names};

pub(crate) fn options(model: &Model) -> Result<String, String> {
    let mut out = format!(
        "<!-- {NOTICE} -->\n# Options\n\nOptions that are `undefined` have their default. Names \
         that do not exist are refused: `options.invalid`, with the path of the option.\n"
    );
    let operations = model.declarations.iter().filter(|one| one.operation.is_some());
    let mut inner = BTreeSet::new();
    for one in operations.clone() {
        section(model, one, &mut out)?;
        objects(model, one, &mut inner)?;
    }
    out.push_str("\n# Objects in options\n");
    let shown: BTreeSet<_> = operations.map(|one| one.name.as_str()).collect();
    for one in inner.iter().filter(|name| !shown.contains(*name)).filter_map(|n| model.find(n)) {
        section(model, one, &mut out)?;
    }
    Ok(out)
}

/// The objects that options hold, at any depth.
fn objects<'a>(
    model: &'a Model,
    of: &'a Declaration,
    found: &mut BTreeSet<&'a str>,
) -> Result<(), String> {
    for member in model.members(of)? {
        let named = texts(member).filter(|name| !is_parameter(&of.params, name));
        for one in named.filter_map(|name| model.find(name)) {
            let is_object = matches!(one.form, Form::Object { .. });
            if is_object && found.insert(&one.name) {
                objects(model, one, found)?;
            }
        }
    }
    Ok(())
}

fn texts(member: &Member) -> impl Iterator<Item = &str> {
    member.kind.texts().into_iter().flat_map(names)
}

fn section(model: &Model, one: &Declaration, out: &mut String) -> Result<(), String> {
    let title = one.operation.clone().unwrap_or_else(|| one.name.clone());
    let docs = one.docs.replace('\n', " ");
    out.push_str(&format!("\n## {title}\n\n{docs}\n\n"));
    out.push_str("| name | type | default | range | meaning |\n|---|---|---|---|---|\n");
    for member in model.members(one)? {
        let default = match (&member.default, member.presence) {
            (_, Presence::Required) => "required".to_owned(),
            (Some(default), _) if is_value(default) => format!("`{default}`"),
            (default, _) => default.clone().unwrap_or_default(),
        };
        let cells = [
            format!("`{}`", member.name),
            typed(model, member),
            default,
            member.range.clone().unwrap_or_default(),
            member.docs.split_whitespace().collect::<Vec<_>>().join(" "),
        ];
        out.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
    }
    Ok(())
}

/// Whether a default is a value, and not words that describe it.
fn is_value(default: &str) -> bool {
    let quoted = default.starts_with('"') && default.ends_with('"');
    let listed = default.starts_with(['[', '{']);
    quoted || listed || default.parse::<f64>().is_ok() || ["true", "false"].contains(&default)
}

/// A type, with the values of names in place of their type and links to objects.
fn typed(model: &Model, member: &Member) -> String {
    let text = match &member.kind {
        Kind::Method(params, result) => format!("({params}) => {result}"),
        Kind::Value(text) => text.clone(),
    };
    match model.find(&text).map(|one| (one, &one.form)) {
        Some((_, Form::Names(all))) => {
            let all: Vec<_> = all.iter().map(|(name, _)| format!("'{name}'")).collect();
            format!("`{}`", all.join(" | "))
        }
        Some((one, Form::Object { .. })) => {
            let title = one.operation.as_deref().unwrap_or(&one.name);
            format!("[`{text}`](#{})", title.to_lowercase().replace(' ', "-").replace(',', ""))
        }
        _ => format!("`{text}`"),
    }
}
