//! `checks.ts`: the values that options of the core may have, for the checks at run time. What the
//! reader of the core would refuse is refused before the core is loaded, in the same words.

use std::collections::{BTreeMap, BTreeSet};

use turnlock::json::table::{Definition, Field, Form, Range, Shape};

use crate::files::NOTICE;
use crate::names::constant;
use crate::text::braced;

/// The options of the machines.
const ROOTS: [&str; 4] = ["TurnOptions", "PassOptions", "CoreBundleOptions", "ChainOptions"];

/// Writes the tables of the machines' options, and of the options within them.
pub(crate) fn checks(declared: &[(&'static str, Vec<Shape>)]) -> Result<String, String> {
    let roots: BTreeMap<_, _> = declared
        .iter()
        .flat_map(|(_, shapes)| shapes)
        .filter_map(|shape| match shape {
            Shape::Named(make) => Some((make().name, make())),
            _ => None,
        })
        .collect();
    let mut out = format!("// {NOTICE}\nimport type {{ Checks }} from '../checks.js'\n");
    let mut seen = BTreeSet::new();
    for root in ROOTS {
        let root = roots.get(root).ok_or_else(|| format!("no declared type {root}"))?;
        table(root, &mut seen, &mut out)?;
    }
    Ok(out)
}

/// Writes a table behind those that it names.
fn table(
    one: &Definition,
    seen: &mut BTreeSet<&'static str>,
    out: &mut String,
) -> Result<(), String> {
    if !seen.insert(one.name) {
        return Ok(());
    }
    let Form::Record(fields) = &one.form else {
        return Err(format!("{}: options that are no record", one.name));
    };
    let members = members(fields, seen, out)?;
    let head = format!("export const {}: Checks =", constant(one.name));
    out.push_str(&format!("\n{}\n", braced(&head, &members, "")));
    Ok(())
}

fn members(
    fields: &[Field],
    seen: &mut BTreeSet<&'static str>,
    out: &mut String,
) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for field in fields {
        match &field.shape {
            // The members of a flat row stand in the outer object.
            Shape::Named(make) if field.name.is_empty() => {
                if let Form::Record(flat) = &make().form {
                    all.extend(members(flat, seen, out)?);
                }
            }
            _ => all.push(row(field, seen, out)?),
        }
    }
    Ok(all)
}

fn row(
    field: &Field,
    seen: &mut BTreeSet<&'static str>,
    out: &mut String,
) -> Result<String, String> {
    let value = check(&field.shape, field.range, seen, out)?;
    let is_dialect = matches!(&field.shape, Shape::Named(make) if make().name == "Dialect");
    let expected = if is_dialect { Some("a dialect") } else { field.expected };
    let value = match (expected, field.required) {
        (None, false) => value,
        (None, true) => format!("{{ check: {value}, required: true }}"),
        (Some(expected), required) => {
            let required = if required { ", required: true" } else { "" };
            format!("{{ check: {value}, expected: '{expected}'{required} }}")
        }
    };
    Ok(format!("{}: {value}", field.name))
}

fn check(
    shape: &Shape,
    range: Range,
    seen: &mut BTreeSet<&'static str>,
    out: &mut String,
) -> Result<String, String> {
    Ok(match shape {
        Shape::Flag => "'flag'".to_owned(),
        Shape::Text => "'text'".to_owned(),
        Shape::Number => number(range),
        Shape::Maybe(inner) => return check(inner, range, seen, out),
        Shape::List(inner) => format!("{{ list: {} }}", check(inner, range, seen, out)?),
        Shape::Map(inner) => format!("{{ map: {} }}", check(inner, range, seen, out)?),
        Shape::Named(make) => {
            let inner = make();
            match &inner.form {
                // A recorded call has a reader of its own.
                Form::Record(_) if inner.name == "RecordedCall" => "0".to_owned(),
                Form::Record(_) => {
                    table(&inner, seen, out)?;
                    format!("{{ rows: {} }}", constant(inner.name))
                }
                // An unknown dialect has an error code of its own.
                Form::Names(_) if inner.name == "Dialect" => "0".to_owned(),
                Form::Names(names) => {
                    let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
                    format!("{{ names: '{}' }}", names.join(" "))
                }
                Form::Cases(_) | Form::Alias(_) => "0".to_owned(),
            }
        }
        Shape::Any | Shape::Literal(_) | Shape::Written(_) | Shape::Either(_) => "0".to_owned(),
    })
}

fn number(range: Range) -> String {
    match range {
        Range::Any => "'number'".to_owned(),
        // No number of JavaScript is larger.
        Range::Whole(least, most) if most > 1 << 53 => format!("{{ whole: [{least}] }}"),
        Range::Whole(least, most) => format!("{{ whole: [{least}, {most}] }}"),
        Range::Real(least, most) if most == f64::MAX || most.is_infinite() => {
            format!("{{ real: [{least}] }}")
        }
        Range::Real(least, most) => format!("{{ real: [{least}, {most}] }}"),
    }
}
