//! `docs/options.md`: a table for each function that takes options, and for each object in them.
//! `docs/events.md`: a table for each event, and for each object in events.

use std::collections::BTreeSet;

use crate::files::NOTICE;
use crate::model::{Case, Declaration, Form, Kind, Member, Model, Presence};
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
        objects(model, one, &model.members(one)?, &mut inner)?;
    }
    out.push_str("\n# Objects in options\n");
    let operation_names: BTreeSet<_> = operations.map(|one| one.name.as_str()).collect();
    for one in
        inner.iter().filter(|name| !operation_names.contains(*name)).filter_map(|n| model.find(n))
    {
        section(model, one, &mut out)?;
    }
    Ok(out)
}

pub(crate) fn events(model: &Model) -> Result<String, String> {
    let mut out = format!(
        "<!-- {NOTICE} -->\n# Events\n\nWhat turns, bundles and chains show while they run, and what \
         they trace. Members whose name ends with `?` may be missing.\n"
    );
    let mut inner = BTreeSet::new();
    for one in model.declarations.iter().filter(|one| one.name.ends_with("Event")) {
        let (shared, cases) = match &one.form {
            Form::Tagged { members, cases } => (members.as_slice(), model.find(cases)),
            Form::Cases(_) => (&[][..], Some(one)),
            _ => continue,
        };
        let Some(Form::Cases(all)) = cases.map(|cases| &cases.form) else {
            return Err(format!("{} has no cases", one.name));
        };
        out.push_str(&format!("\n## {}\n\n{}\n", one.name, flat(&one.docs)));
        if !shared.is_empty() {
            out.push_str("\nEvery one has:\n\n");
            members(model, shared.iter(), &mut out);
            objects(model, one, &shared.iter().collect::<Vec<_>>(), &mut inner)?;
        }
        for Case { tag, docs, members: own, .. } in all {
            out.push_str(&format!("\n### {tag}\n\n{}\n", flat(docs)));
            if !own.is_empty() {
                out.push('\n');
                members(model, own.iter(), &mut out);
            }
            objects(model, one, &own.iter().collect::<Vec<_>>(), &mut inner)?;
        }
    }
    out.push_str("\n# Objects in events\n");
    for one in inner.iter().filter_map(|name| model.find(name)) {
        out.push_str(&format!("\n## {}\n\n{}\n\n", one.name, flat(&one.docs)));
        members(model, model.members(one)?.into_iter(), &mut out);
    }
    Ok(out)
}

fn flat(docs: &str) -> String {
    docs.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn members<'a>(model: &Model, all: impl Iterator<Item = &'a Member>, out: &mut String) {
    out.push_str("| name | type | meaning |\n|---|---|---|\n");
    for member in all {
        let mark = if member.presence == Presence::Required { "" } else { "?" };
        let name = format!("`{}{mark}`", member.name);
        let cells = [name, typed(model, member), flat(&member.docs)];
        out.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
    }
}

/// The objects that options or events hold, at any depth.
fn objects<'a>(
    model: &'a Model,
    of: &'a Declaration,
    members: &[&'a Member],
    found: &mut BTreeSet<&'a str>,
) -> Result<(), String> {
    for member in members {
        let named = texts(member).filter(|name| !is_parameter(&of.params, name));
        for one in named.filter_map(|name| model.find(name)) {
            let is_object = matches!(one.form, Form::Object { .. });
            if is_object && found.insert(&one.name) {
                objects(model, one, &model.members(one)?, found)?;
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
            flat(&member.docs),
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
