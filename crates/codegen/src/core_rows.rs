//! The declarations of the core.

use std::collections::{BTreeMap, BTreeSet};

use turnlock::json::table::{Definition, Field, Form as CoreForm, Range, Shape};

use crate::model::{Case, Declaration, Form, Kind, Member, Presence};
use crate::text;

/// The room of types that two rooms name.
const SHARED: &str = "common";

/// Reads the declared types, and those that they name.
pub(crate) fn declarations(
    declared: Vec<(&'static str, Vec<Shape>)>,
) -> Result<Vec<Declaration>, String> {
    let mut found = Found::default();
    for (room, roots) in declared {
        let mut seen = BTreeSet::new();
        for root in &roots {
            found.walk(room, root, &mut seen)?;
        }
    }
    let Found { order, definitions, rooms } = found;
    let room = |name: &str| match rooms.get(name).map(BTreeSet::len) {
        Some(1) => rooms.get(name).and_then(|all| all.first()).copied().unwrap_or(SHARED),
        _ => SHARED,
    };
    let definition = |name: &&'static str| definitions.get(name);
    order
        .iter()
        .filter_map(definition)
        .map(|one| Ok(Declaration { room: room(one.name).to_owned(), ..declaration(one)? }))
        .collect()
}

#[derive(Default)]
struct Found {
    /// Names, outer types before those that they name.
    order: Vec<&'static str>,
    definitions: BTreeMap<&'static str, Definition>,
    rooms: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

impl Found {
    fn walk(
        &mut self,
        room: &'static str,
        shape: &Shape,
        seen: &mut BTreeSet<&'static str>,
    ) -> Result<(), String> {
        let make = match shape {
            Shape::Maybe(inner) | Shape::List(inner) | Shape::Map(inner) => {
                return self.walk(room, inner, seen);
            }
            Shape::Either(all) => {
                return all.iter().try_for_each(|inner| self.walk(room, inner, seen));
            }
            Shape::Named(make) => make,
            Shape::Any
            | Shape::Flag
            | Shape::Text
            | Shape::Number
            | Shape::Literal(_)
            | Shape::Written(_) => {
                return Ok(());
            }
        };
        let definition = make();
        let name = definition.name;
        match self.definitions.get(name) {
            None => self.order.push(name),
            Some(other) if declaration(other)? == declaration(&definition)? => {}
            Some(_) => return Err(format!("the core declares two types named {name}")),
        }
        self.rooms.entry(name).or_default().insert(room);
        if seen.insert(name) {
            self.walk_fields(room, &definition, seen)?;
        }
        self.definitions.insert(name, definition);
        Ok(())
    }

    fn walk_fields(
        &mut self,
        room: &'static str,
        definition: &Definition,
        seen: &mut BTreeSet<&'static str>,
    ) -> Result<(), String> {
        let fields: Vec<&Field> = match &definition.form {
            CoreForm::Record(fields) => fields.iter().collect(),
            CoreForm::Cases(cases) => cases.iter().flat_map(|case| &case.fields).collect(),
            CoreForm::Names(_) => Vec::new(),
            CoreForm::Alias(shape) => return self.walk(room, shape, seen),
        };
        for field in fields {
            match &field.shape {
                // The members of a flat row stand in the outer type.
                Shape::Named(make)
                    if field.name.is_empty() && matches!(make().form, CoreForm::Record(_)) =>
                {
                    self.walk_fields(room, &make(), seen)?;
                }
                shape => self.walk(room, shape, seen)?,
            }
        }
        Ok(())
    }
}

/// The functions of the npm package that take a type of the core as it is.
fn operation(name: &str) -> Option<String> {
    let functions = match name {
        "ClassifierOptions" => "classifyQuery",
        "HistoryOptions" => "normalizeHistory, diagnoseHistory, openHistory",
        "PlanLimits" => "parsePlan",
        _ => return None,
    };
    Some(functions.to_owned())
}

fn declaration(definition: &Definition) -> Result<Declaration, String> {
    let plain = |docs: &[&str]| text::prose(docs, &[]).0;
    let form = match &definition.form {
        CoreForm::Record(fields) => record(definition.name, fields)?,
        CoreForm::Alias(shape) => Form::Alias(typescript(shape)),
        CoreForm::Names(names) => Form::Names(
            names.iter().map(|(name, docs)| ((*name).to_owned(), plain(docs))).collect(),
        ),
        CoreForm::Cases(cases) => {
            let case = |case: &turnlock::json::table::Case| {
                let (members, also) = match record(definition.name, &case.fields)? {
                    Form::Object { members, .. } => (members, None),
                    Form::Tagged { members, cases } => (members, Some(cases)),
                    _ => return Err(format!("{}: a case without members", definition.name)),
                };
                Ok(Case { tag: case.tag.to_owned(), docs: plain(&case.docs), members, also })
            };
            Form::Cases(cases.iter().map(case).collect::<Result<_, String>>()?)
        }
    };
    let (name, params) = text::parameters(definition.name);
    Ok(Declaration {
        room: String::new(),
        name: name.to_owned(),
        params: params.to_owned(),
        docs: plain(&definition.docs),
        operation: operation(definition.name),
        form,
    })
}

/// The members of a record. Those of a flat row stand among them.
fn record(name: &str, fields: &[Field]) -> Result<Form, String> {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let mut members = Vec::new();
    let mut tagged = None;
    for field in fields {
        if !field.name.is_empty() {
            members.push(member(field, &names));
            continue;
        }
        let Shape::Named(make) = &field.shape else {
            return Err(format!("{name}: a flat row whose type has no members"));
        };
        let inner = make();
        match declaration(&inner)?.form {
            Form::Object { members: flat, .. } => members.extend(flat),
            Form::Cases(_) | Form::Alias(_) => tagged = Some(inner.name.to_owned()),
            _ => return Err(format!("{name}: a flat row whose type has no members")),
        }
    }
    Ok(match tagged {
        None => Form::Object { bases: Vec::new(), members },
        Some(cases) => Form::Tagged { members, cases },
    })
}

fn member(field: &Field, names: &[&str]) -> Member {
    let (docs, described) = text::prose(&field.docs, names);
    // Only options have defaults.
    let is_option = field.default.is_some();
    let presence = match (is_option, field.required, field.sparse) {
        (true, false, _) => Presence::Optional,
        (false, _, true) => Presence::Sparse,
        _ => Presence::Required,
    };
    let shape = match &field.shape {
        // The default of such an option is written as `null`, but hosts leave it out.
        Shape::Maybe(inner) if presence != Presence::Required => inner,
        shape => shape,
    };
    // Defaults of inner options stand in their own table.
    let is_record =
        matches!(shape, Shape::Named(make) if matches!(make().form, CoreForm::Record(_)));
    let default = field.default.as_ref().map(|json| json.to_text());
    let default = described.or_else(|| default.filter(|text| text != "null" && !is_record));
    let inner = match shape {
        Shape::Named(make) if is_option && is_record => Some(make().name.to_owned()),
        _ => None,
    };
    Member {
        name: field.name.to_owned(),
        kind: Kind::Value(match (presence, shape) {
            // `false` is left out.
            (Presence::Sparse, Shape::Flag) => "true".to_owned(),
            _ => typescript(shape),
        }),
        presence,
        docs,
        default: default.filter(|_| presence == Presence::Optional),
        range: range(field.range),
        limit: text::limit(&field.docs),
        inner,
    }
}

/// The TypeScript type of a shape.
fn typescript(shape: &Shape) -> String {
    let bracketed = |inner: &Shape| match typescript(inner) {
        text if text.contains(' ') && !text.ends_with(['>', ']']) => format!("({text})"),
        text => text,
    };
    match shape {
        Shape::Any => "unknown".to_owned(),
        Shape::Flag => "boolean".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Literal(json) => json.replace('"', "'"),
        Shape::Written(text) => (*text).to_owned(),
        Shape::Maybe(inner) if matches!(**inner, Shape::Any) => "unknown".to_owned(),
        Shape::Maybe(inner) => format!("{} | null", typescript(inner)),
        Shape::List(inner) => format!("{}[]", bracketed(inner)),
        Shape::Map(inner) => format!("Record<string, {}>", typescript(inner)),
        Shape::Either(all) => all.iter().map(typescript).collect::<Vec<_>>().join(" | "),
        Shape::Named(make) => make().name.to_owned(),
    }
}

fn range(range: Range) -> Option<String> {
    match range {
        Range::Any => None,
        // No number of JavaScript is larger.
        Range::Whole(least, most) if most >= 1 << 53 => Some(format!("from {least}")),
        Range::Whole(least, most) => Some(format!("{least} to {most}")),
        Range::Real(least, most) if most == f64::MAX || most.is_infinite() => {
            Some(format!("from {least}"))
        }
        Range::Real(least, most) => Some(format!("{least} to {most}")),
    }
}
