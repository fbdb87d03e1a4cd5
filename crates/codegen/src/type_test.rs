//! `pkg/test/types/options.ts`: the compiler takes `undefined` for each option that may be missing.

use std::collections::BTreeMap;

use crate::files::NOTICE;
use crate::model::{Declaration, Form, Model, Presence};
use crate::names::constant;
use crate::text::braced;

pub(crate) fn options(model: &Model) -> Result<String, String> {
    let mut imports: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut checks = String::new();
    for one in &model.declarations {
        let optional = optional(model, one)?;
        if optional.is_empty() {
            continue;
        }
        imports.entry(&one.room).or_default().push(&one.name);
        let arguments = if one.params.is_empty() || one.params.contains('=') { "" } else { "<0>" };
        let name = &one.name;
        let head = format!("export const {}: Partial<{name}{arguments}> =", constant(name));
        let members: Vec<_> = optional.iter().map(|name| format!("{name}: undefined")).collect();
        checks.push_str(&format!("\n{}\n", braced(&head, &members, "")));
    }
    let import = |(room, mut names): (&str, Vec<&str>)| {
        names.sort_unstable();
        braced("import type", &names, &format!(" from '../../dist/generated/{room}.js'")) + "\n"
    };
    let imports: String = imports.into_iter().map(import).collect();
    Ok(format!("// {NOTICE}\n{imports}{checks}"))
}

/// The members that may be `undefined`.
fn optional<'a>(model: &'a Model, one: &'a Declaration) -> Result<Vec<&'a str>, String> {
    if !matches!(one.form, Form::Object { .. }) {
        return Ok(Vec::new());
    }
    let members = model.members(one)?.into_iter();
    let may_miss = members.filter(|member| member.presence == Presence::Optional);
    Ok(may_miss.map(|member| member.name.as_str()).collect())
}
