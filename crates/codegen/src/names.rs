//! `rows.ts`: the names of options, for the checks at run time.

use std::collections::BTreeSet;

use crate::files::NOTICE;
use crate::model::{Declaration, Model};
use crate::text::braced;

/// The tables of the operations, and those of the inner objects that are checked too.
pub(crate) fn rows(model: &Model) -> Result<String, String> {
    let mut out = format!("// {NOTICE}\nimport type {{ Rows }} from '../options.js'\n");
    let mut seen = BTreeSet::new();
    for one in model.declarations.iter().filter(|one| one.operation.is_some()) {
        write(model, one, &mut seen, &mut out)?;
    }
    Ok(out)
}

/// Writes a table behind those that it names.
fn write<'a>(
    model: &'a Model,
    one: &'a Declaration,
    seen: &mut BTreeSet<&'a str>,
    out: &mut String,
) -> Result<(), String> {
    if !seen.insert(&one.name) {
        return Ok(());
    }
    let mut members = Vec::new();
    for member in model.members(one)? {
        let value = match member.inner.as_deref().and_then(|name| model.find(name)) {
            Some(inner) => {
                write(model, inner, seen, out)?;
                constant(&inner.name)
            }
            None => "0".to_owned(),
        };
        members.push(format!("{}: {value}", member.name));
    }
    let head = format!("export const {}: Rows =", constant(&one.name));
    out.push_str(&format!("\n{}\n", braced(&head, &members, "")));
    Ok(())
}

/// `OpenAIChatOptions` as `OPEN_AI_CHAT_OPTIONS`.
pub(crate) fn constant(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars().peekable();
    let mut before = None;
    while let Some(char) = chars.next() {
        let ends_acronym = chars.peek().is_some_and(char::is_ascii_lowercase);
        let begins = before.is_some_and(|before: char| before.is_ascii_lowercase() || ends_acronym);
        if char.is_ascii_uppercase() && begins {
            out.push('_');
        }
        out.push(char.to_ascii_uppercase());
        before = Some(char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants() {
        assert_eq!(constant("OpenAIChatOptions"), "OPEN_AI_CHAT_OPTIONS");
        assert_eq!(constant("IndexedDbStoreOptions"), "INDEXED_DB_STORE_OPTIONS");
        assert_eq!(constant("Keep"), "KEEP");
    }
}
