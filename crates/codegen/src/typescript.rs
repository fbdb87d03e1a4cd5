//! The declarations of a room, in the layout that prettier keeps.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::NOTICE;
use crate::host::MODULES;
use crate::model::{Base, Case, Declaration, Form, Kind, Member, Model, Presence};
use crate::text::{WIDTH, braced, comment, fits, wrap};

/// Types of the language and of the platform.
const GLOBAL: &[&str] =
    &["AbortSignal", "IDBFactory", "Omit", "Partial", "Promise", "Record", "Request", "Response"];

/// The module of a room.
pub(crate) fn declarations(model: &Model, room: &str) -> Result<String, String> {
    let mut out = format!("// {NOTICE}\n");
    out.push_str(&imports(model, room)?);
    for one in model.of_room(room) {
        out.push('\n');
        let lines = declaration(one).map_err(|why| format!("{}: {why}", one.name))?;
        let is_comment = |line: &str| line.trim_start().starts_with(['/', '*']);
        if let Some(long) = lines.iter().find(|line| !fits(line) && !is_comment(line)) {
            return Err(format!("{}: too long for a line, name a type of it: {long}", one.name));
        }
        out.push_str(&lines.join("\n"));
        out.push('\n');
    }
    Ok(out)
}

/// The imports of the types that a room names and does not declare.
fn imports(model: &Model, room: &str) -> Result<String, String> {
    let mut modules: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for one in model.of_room(room) {
        for name in named(one) {
            let module = match model.find(name) {
                // A parameter hides a type of its name.
                _ if is_parameter(&one.params, name) => continue,
                Some(other) if other.room == room => continue,
                Some(other) => format!("./{}.js", other.room),
                None if GLOBAL.contains(&name) => continue,
                None => {
                    let module = MODULES.iter().find(|(_, names)| names.contains(&name));
                    let module = module.ok_or_else(|| {
                        format!("{} names {name}, which has no module in src/host/mod.rs", one.name)
                    })?;
                    module.0.to_owned()
                }
            };
            modules.entry(module).or_default().insert(name);
        }
    }
    let import = |(module, names): (String, BTreeSet<&str>)| {
        let names: Vec<_> = names.into_iter().collect();
        braced("import type", &names, &format!(" from '{module}'")) + "\n"
    };
    Ok(modules.into_iter().map(import).collect())
}

/// The types that a declaration names.
fn named(one: &Declaration) -> BTreeSet<&str> {
    let mut all: BTreeSet<_> = names(&one.params).into_iter().collect();
    for member in one.own_members() {
        all.extend(member.kind.texts().into_iter().flat_map(names));
        if is_optional_method(member) {
            all.insert("Method");
        }
    }
    match &one.form {
        Form::Object { bases, .. } => {
            all.extend(bases.iter().map(|base| base.name.as_str()));
        }
        Form::Tagged { cases, .. } => {
            all.insert(cases);
        }
        Form::Alias(text) => all.extend(names(text)),
        Form::Cases(cases) => all.extend(cases.iter().filter_map(|case| case.also.as_deref())),
        Form::Names(_) => {}
    }
    all
}

/// The names in a TypeScript type that begin with a capital.
pub(crate) fn names(text: &str) -> Vec<&str> {
    // Every other part stands in quotes.
    let open = text.split('\'').step_by(2);
    let words =
        open.flat_map(|part| part.split(|char: char| !char.is_alphanumeric() && char != '_'));
    words.filter(|word| word.starts_with(|char: char| char.is_ascii_uppercase())).collect()
}

/// Whether `name` is declared by type parameters, such as `<S extends Session = Session>`.
pub(crate) fn is_parameter(params: &str, name: &str) -> bool {
    let inner = params.trim_start_matches('<').trim_end_matches('>');
    inner.split(',').any(|one| one.split_whitespace().next() == Some(name))
}

fn declaration(one: &Declaration) -> Result<Vec<String>, String> {
    let Declaration { name, params, .. } = one;
    let docs = match &one.form {
        Form::Names(names) => listed(&one.docs, names),
        _ => one.docs.clone(),
    };
    let mut lines = comment(0, &docs, None);
    match &one.form {
        Form::Object { bases, members } => {
            let base = |Base { name, without }: &Base| {
                let omitted: Vec<_> = without.iter().map(|gone| format!("'{gone}'")).collect();
                if omitted.is_empty() {
                    name.clone()
                } else {
                    format!("Omit<{name}, {}>", omitted.join(" | "))
                }
            };
            let bases: Vec<_> = bases.iter().map(base).collect();
            let extends = if bases.is_empty() { "" } else { " extends " };
            let head = format!("export interface {name}{params}{extends}{}", bases.join(", "));
            lines.push(format!("{head} {{"));
            lines.extend(members_of(members, 2)?);
            lines.push("}".to_owned());
        }
        Form::Tagged { members, cases } => {
            let mut own = vec![format!("interface {name}Members {{")];
            own.extend(members_of(members, 2)?);
            own.extend(["}".to_owned(), String::new()]);
            lines.splice(0..0, own);
            lines.push(format!("export type {name} = {name}Members & {cases}"));
        }
        Form::Names(names) => {
            let names: Vec<_> = names.iter().map(|(name, _)| format!("'{name}'")).collect();
            lines.extend(union(&format!("export type {name} ="), 0, &names));
        }
        Form::Alias(text) => {
            let parts: Vec<_> = text.split(" | ").map(str::to_owned).collect();
            lines.extend(union(&format!("export type {name} ="), 0, &parts));
        }
        Form::Cases(cases) => {
            lines.push(format!("export type {name}{params} ="));
            for Case { tag, docs, members, also } in cases {
                lines.extend(comment(2, docs, None));
                let open = if also.is_some() { "  | ({" } else { "  | {" };
                lines.push(open.to_owned());
                lines.push(format!("      type: '{tag}'"));
                lines.extend(members_of(members, 6)?);
                lines.push(match also {
                    Some(also) => format!("    }} & {also})"),
                    None => "    }".to_owned(),
                });
            }
        }
    }
    Ok(lines)
}

/// Documentation of a type of names, with that of each name.
fn listed(docs: &str, names: &[(String, String)]) -> String {
    if names.iter().all(|(_, docs)| docs.is_empty()) {
        return docs.to_owned();
    }
    let item = |(name, docs): &(String, String)| {
        wrap(&format!("`{name}`: {docs}"), WIDTH - 5).join("\n  ")
    };
    let items: Vec<_> = names.iter().map(|one| format!("- {}", item(one))).collect();
    format!("{docs}\n\n{}", items.join("\n"))
}

fn members_of(members: &[Member], indent: usize) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for member in members {
        let docs = match &member.range {
            Some(range) => format!("{} {}.", member.docs, capitalized(range)),
            None => member.docs.clone(),
        };
        lines.extend(comment(indent, &docs, member.default.as_deref()));
        lines.extend(self::member(member, indent)?);
    }
    Ok(lines)
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Whether `undefined` is among the values of a function.
fn is_optional_method(member: &Member) -> bool {
    member.presence == Presence::Optional && matches!(member.kind, Kind::Method(..))
}

fn member(member: &Member, indent: usize) -> Result<Vec<String>, String> {
    let space = " ".repeat(indent);
    let mark = if member.presence == Presence::Required { "" } else { "?" };
    let head = format!("{space}{}{mark}", member.name);
    let text = match &member.kind {
        Kind::Method(params, result) if !is_optional_method(member) => {
            let line = format!("{head}({params}): {result}");
            if fits(&line) {
                return Ok(vec![line]);
            }
            let params = split(params, ',').into_iter().map(|one| format!("{space}  {one},"));
            let mut lines = vec![format!("{head}(")];
            lines.extend(params);
            lines.push(format!("{space}): {result}"));
            return Ok(lines);
        }
        Kind::Method(params, result) => format!("Method<[{params}], {result}>"),
        Kind::Value(text) => text.clone(),
    };
    // `unknown` has `undefined` among its values.
    let all = if member.presence == Presence::Optional && text != "unknown" {
        format!("{} | undefined", bracketed(&text))
    } else {
        text
    };
    let all: Vec<_> = split(&all, '|').into_iter().map(str::to_owned).collect();
    Ok(union(&format!("{head}:"), indent, &all))
}

/// A type that can stand in a union: a function gets brackets.
fn bracketed(text: &str) -> String {
    match split(text, '=').len() {
        1 => text.to_owned(),
        _ => format!("({text})"),
    }
}

/// The values of a union behind `head`: in its line, in the next one, or in a line each.
fn union(head: &str, indent: usize, all: &[String]) -> Vec<String> {
    let space = " ".repeat(indent + 2);
    let values = all.join(" | ");
    let line = format!("{head} {values}");
    if fits(&line) {
        return vec![line];
    }
    if fits(&format!("{space}{values}")) {
        return vec![head.to_owned(), format!("{space}{values}")];
    }
    let mut lines = vec![head.to_owned()];
    lines.extend(all.iter().map(|value| format!("{space}| {value}")));
    lines
}

/// The parts of a type between separators that stand in no brackets and no quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut open, mut quoted, mut from) = (0_i32, false, 0);
    let mut parts = Vec::new();
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        match char {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' | '<' => open += 1,
            '>' if before == '=' => {}
            ')' | ']' | '}' | '>' => open -= 1,
            _ if char == separator && open == 0 => {
                parts.push(text.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
        before = char;
    }
    parts.push(text.get(from..).unwrap_or_default().trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, text: &str, presence: Presence) -> Member {
        let (docs, default, inner) = (format!("Its {name}."), None, None);
        let range = (name == "place").then(|| "from 1".to_owned());
        let (name, kind) = (name.to_owned(), Kind::of(text));
        Member { name, kind, presence, docs, default, range, limit: None, inner }
    }

    fn written(name: &str, docs: &str, form: Form) -> String {
        let (room, operation) = ("walks".to_owned(), None);
        let (name, docs) = (name.to_owned(), docs.to_owned());
        let declaration = Declaration { room, name, params: String::new(), docs, operation, form };
        declarations(&Model { declarations: vec![declaration] }, "walks").unwrap()
    }

    #[test]
    fn members_of_options_take_undefined_and_those_of_results_may_miss() {
        let long = "(aaaaaaaaaaaaaaaaaaaaaaaaaaaaa: string[], bbbbbbbbbbbbbbbbb: number): string";
        let members = vec![
            member("place", "string", Presence::Required),
            member("pace", "'slow' | 'fast'", Presence::Optional),
            member("step", "() => void | null", Presence::Optional),
            member("any", "unknown", Presence::Optional),
            member("rain", "boolean", Presence::Sparse),
            member("stop", "(place: string): void", Presence::Required),
            member("go", "(place: string): void", Presence::Optional),
            member(&"long".repeat(6), long, Presence::Required),
            member(&"long".repeat(5), long, Presence::Optional),
        ];
        let text = written("Walk", "A walk.", Form::Object { bases: Vec::new(), members });
        let wanted = "
import type { Method } from '../options.js'

/** A walk. */
export interface Walk {
  /** Its place. From 1. */
  place: string
  /** Its pace. */
  pace?: 'slow' | 'fast' | undefined
  /** Its step. */
  step?: (() => void | null) | undefined
  /** Its any. */
  any?: unknown
  /** Its rain. */
  rain?: boolean
  /** Its stop. */
  stop(place: string): void
  /** Its go. */
  go?: Method<[place: string], void> | undefined
  /** Its longlonglonglonglonglong. */
  longlonglonglonglonglong(
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaa: string[],
    bbbbbbbbbbbbbbbbb: number,
  ): string
  /** Its longlonglonglonglong. */
  longlonglonglonglong?:
    Method<[aaaaaaaaaaaaaaaaaaaaaaaaaaaaa: string[], bbbbbbbbbbbbbbbbb: number], string> | undefined
}
";
        assert_eq!(text.split_once('\n').unwrap().1, wanted.trim_start());
    }

    #[test]
    fn unions_of_names_and_of_cases() {
        let names = ["slow", "fast"].map(|name| (name.to_owned(), format!("Rather {name}.")));
        let text = written("Pace", "How fast.", Form::Names(names.into()));
        let wanted = "
/**
 * How fast.
 *
 * - `slow`: Rather slow.
 * - `fast`: Rather fast.
 */
export type Pace = 'slow' | 'fast'
";
        assert_eq!(text.split_once('\n').unwrap().1, wanted);

        let cases = [("step", "number"), ("end", "string | null")].map(|(tag, text)| {
            let members = vec![member("value", text, Presence::Required)];
            let also = (tag == "end").then(|| "Promise".to_owned());
            Case { tag: tag.to_owned(), docs: format!("One {tag}."), members, also }
        });
        let text = written("WalkEvent", "", Form::Cases(cases.into()));
        let wanted = "
export type WalkEvent =
  /** One step. */
  | {
      type: 'step'
      /** Its value. */
      value: number
    }
  /** One end. */
  | ({
      type: 'end'
      /** Its value. */
      value: string | null
    } & Promise)
";
        assert_eq!(text.split_once('\n').unwrap().1, wanted);

        let members = vec![member("seq", "number", Presence::Required)];
        let form = Form::Tagged { members, cases: "Promise".to_owned() };
        let text = written("Told", "An event.", form);
        let wanted = "
interface ToldMembers {
  /** Its seq. */
  seq: number
}

/** An event. */
export type Told = ToldMembers & Promise
";
        assert_eq!(text.split_once('\n').unwrap().1, wanted);
    }

    #[test]
    fn long_unions_have_a_line_each() {
        let all = |count: usize| vec!["'0123456789'".to_owned(); count];
        assert_eq!(union("export type A =", 0, &all(5)).len(), 1);
        assert_eq!(union("export type A =", 0, &all(6)).len(), 2);
        assert_eq!(union("export type A =", 0, &all(7)).len(), 8);
    }

    #[test]
    fn what_has_no_module_is_an_error() {
        let members = vec![member("place", "Place", Presence::Required)];
        let form = Form::Object { bases: Vec::new(), members };
        let (name, docs) = ("Walk".to_owned(), String::new());
        let (room, params) = ("walks".to_owned(), String::new());
        let declaration = Declaration { room, name, params, docs, operation: None, form };
        let why = declarations(&Model { declarations: vec![declaration] }, "walks").unwrap_err();
        assert!(why.contains("names Place"), "{why}");
    }
}
