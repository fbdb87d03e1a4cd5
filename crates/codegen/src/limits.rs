//! `docs/limits.md`: the limits, with their values and what happens beyond them.
//!
//! A constant is a limit if its documentation ends with a row,
//! `Limit | what is limited | unit | what happens beyond it`. An option has a row without the first
//! cell, beside its own row. In a file with limits, every other number says that it is `Not a limit`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::files::{self, NOTICE};
use crate::model::Model;
use crate::text::LIMIT;

/// Where the limits of the core stand; the other folders are searched.
const CORE: &str = "src/limits.rs";

/// The linker gets the memory of a core from here.
const MEMORY: (&str, &str) = ("scripts/build/cores.mjs", "MAX_MEMORY");

/// Which table has the constants of a file.
const TABLES: [(&str, &str); 4] = [
    ("src/", "src/"),
    ("crates/wasm/src/", "crates/wasm/src/"),
    ("pkg/src/", ""),
    ("crates/client/src/", ""),
];

/// A number that a file names.
#[derive(Debug, PartialEq)]
struct Constant {
    name: String,
    value: u64,
    docs: String,
}

/// Writes the page.
pub(crate) fn limits(root: &Path, model: &Model) -> Result<String, String> {
    let core = rows(root, CORE, |name| format!("`{name}`"))?.join("\n");
    let mut tables = Vec::new();
    for (folder, shown) in TABLES {
        let mut found = Vec::new();
        for path in files::below(root, &[folder], &["rs", "ts"])? {
            let name = path.strip_prefix(folder).unwrap_or(&path);
            if path != CORE {
                found.extend(rows(root, &path, |one| format!("`{one}` of `{shown}{name}`"))?);
            }
        }
        tables.push(found.join("\n"));
    }
    let [modules, wasm, package, client] = tables.as_slice() else { return Err("tables".into()) };
    let memory = files::read(root, MEMORY.0)?;
    let memory = constants(&memory).into_iter().find(|one| one.name == MEMORY.1);
    let memory =
        amount(memory.ok_or_else(|| format!("{} has no {}", MEMORY.0, MEMORY.1))?.value, "bytes");
    let options = options(model)?.join("\n");
    let head = "| limit | value | unit | what happens beyond it | where |\n| --- | --- | --- | --- | --- |";
    Ok(format!(
        "<!-- {NOTICE} -->

# Limits

The limits of untrusted input, and what happens at each. Where a code is named, the failure has it; no other turn is affected. The memory of a core is at most {memory}. A core that asks for more traps, which is `core.fault` for the turns of that instance alone.

## Options

A host sets these. Their ranges and meanings are in [options.md](options.md).

| option | default | unit | what happens beyond it | where |
| --- | --- | --- | --- | --- |
{options}

## The core

Constants of `src/limits.rs`, with the reasons there.

{head}
{core}

Constants of its modules, and of its boundary to JavaScript.

{head}
{modules}
{wasm}

## The package

Constants of `pkg/src`.

{head}
{package}

## The Rust client

Constants of `crates/client/src`. The limits of the core apply there too.

{head}
{client}
"
    ))
}

/// The rows of options, in the order of `docs/options.md`.
fn options(model: &Model) -> Result<Vec<String>, String> {
    let (mut operations, mut objects) = (Vec::new(), BTreeMap::new());
    for one in &model.declarations {
        for member in one.own_members() {
            let Some(limit) = &member.limit else { continue };
            let [unit, beyond] = limit
                .split(" | ")
                .collect::<Vec<_>>()
                .try_into()
                .map_err(|_| format!("{}: `Limit | {limit}`", member.name))?;
            let default = member.default.clone().unwrap_or_default();
            let default = default.parse().map_or(default, |value| amount(value, unit));
            let title = one.operation.as_deref().unwrap_or(&one.name);
            let anchor = format!("[{title}](options.md#{})", title.to_lowercase());
            let row = format!("| `{}` | {default} | {unit} | {beyond} | {anchor} |", member.name);
            match one.operation {
                Some(_) => operations.push(row),
                None => objects.entry(&one.name).or_insert_with(Vec::new).push(row),
            }
        }
    }
    operations.extend(objects.into_values().flatten());
    Ok(operations)
}

/// The rows of a file's constants. `place` says where one is, by its name.
fn rows(root: &Path, path: &str, place: impl Fn(&str) -> String) -> Result<Vec<String>, String> {
    let text = files::read(root, path)?;
    let is_row = |line: &&str| comment(line).is_some_and(|text| text.starts_with(LIMIT));
    let written = text.lines().filter(is_row).count();
    if written == 0 {
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    for Constant { name, value, docs } in constants(&text) {
        let Some((_, row)) = docs.split_once(LIMIT) else {
            if docs.contains("Not a limit") {
                continue;
            }
            return Err(format!(
                "{path}: `{name}` needs a row `Limit | what | unit | what happens beyond it`, or \
                 the words `Not a limit`"
            ));
        };
        let [what, unit, beyond] = row
            .split(" | ")
            .collect::<Vec<_>>()
            .try_into()
            .map_err(|_| format!("{path}: the row of `{name}` has not three cells"))?;
        let amount = amount(value, unit);
        rows.push(format!("| {what} | {amount} | {unit} | {beyond} | {} |", place(&name)));
    }
    match written == rows.len() {
        true => Ok(rows),
        false => Err(format!("{path}: {written} rows of limits, {} at a number", rows.len())),
    }
}

/// The constants of a file that are whole numbers, with the comment above each.
fn constants(text: &str) -> Vec<Constant> {
    let mut known = BTreeMap::new();
    let mut found = Vec::new();
    let mut docs = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(doc) = comment(line) {
            docs.push(doc);
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let docs = std::mem::take(&mut docs).join(" ").trim().to_owned();
        let Some((name, start)) = definition(line) else { continue };
        // A long expression stands in a line of its own.
        let expression = if start.is_empty() { lines.next().unwrap_or_default() } else { start };
        let Some(value) = value(expression.trim().trim_end_matches(';'), &known) else { continue };
        known.insert(name.to_owned(), value);
        found.push(Constant { name: name.to_owned(), value, docs });
    }
    found
}

/// The text of a line of a doc comment.
fn comment(line: &str) -> Option<&str> {
    let marks = ["///", "/**", " */", " *"];
    let text = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(text.trim().trim_end_matches("*/").trim_end())
}

/// The name of a constant outside of functions, and the rest of its line.
fn definition(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.split_once("const ")?.1,
        None => line.strip_prefix("const ")?,
    };
    let (name, value) = line.split_once(" =")?;
    let name = name.split(':').next()?;
    let is_constant =
        |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
    name.chars().all(is_constant).then_some((name, value.trim()))
}

/// The value of an expression of whole numbers and known constants, as formatters write it.
fn value(expression: &str, known: &BTreeMap<String, u64>) -> Option<u64> {
    type Operation = fn(u64, u64) -> Option<u64>;
    // What binds least comes first.
    let operations: [(&str, Operation); 5] = [
        (" << ", |a, b| a.checked_shl(u32::try_from(b).ok()?)),
        (" + ", u64::checked_add),
        (" - ", u64::checked_sub),
        (" * ", u64::checked_mul),
        (" ** ", |a, b| a.checked_pow(u32::try_from(b).ok()?)),
    ];
    for (sign, operation) in operations {
        if let Some((left, right)) = expression.rsplit_once(sign) {
            return operation(value(left, known)?, value(right, known)?);
        }
    }
    let plain = expression.split(" as ").next()?.trim();
    known.get(plain).copied().or_else(|| plain.trim_end_matches(".0").replace('_', "").parse().ok())
}

/// A number with its unit's prefix (65536 bytes are 64 KiB), or in groups of three digits.
fn amount(value: u64, unit: &str) -> String {
    let suffix =
        [("bytes", "B"), ("characters", "")].into_iter().find(|(one, _)| unit.starts_with(one));
    if let Some((_, suffix)) = suffix {
        for (shift, prefix) in [(30, "Gi"), (20, "Mi"), (10, "Ki")] {
            let size = 1_u64 << shift;
            if value >= size && value.is_multiple_of(size) {
                return format!("{} {prefix}{suffix}", value >> shift);
            }
        }
    }
    let digits = value.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn constants_of_both_languages_are_read() {
        let rust = "/// Bytes.\n///\n/// Limit | a | bytes | cut\n#[cfg(x)]\npub(crate) const A: usize =\n    1 << 4;\n\
                    const B: u64 = 3 * A as u64;\nconst TEXT: &str = \"1\";\nfn f() {\n    const C: u8 = 1;\n}\n";
        let found = constants(rust);
        let plain: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.value)).collect();
        assert_eq!(plain, [("A", 16), ("B", 48)]);
        assert_eq!(found[0].docs, "Bytes.  Limit | a | bytes | cut");
        let script = "/** One. */\nexport const A = 2 ** 10 * 3\n\n/**\n * Two\n * lines.\n */\nconst B: number = A + 1_000\n";
        let found = constants(script);
        assert_eq!((found[0].value, found[0].docs.as_str()), (3072, "One."));
        assert_eq!((found[1].value, found[1].docs.as_str()), (4072, "Two lines."));
    }

    #[test]
    fn amounts_are_short() {
        assert_eq!(amount(65_536, "bytes of JSON"), "64 KiB");
        assert_eq!(amount(128 << 20, "characters"), "128 Mi");
        assert_eq!(amount(1_234_567, "ms"), "1 234 567");
        assert_eq!(amount(1 << 20, "events"), "1 048 576");
    }

    #[test]
    fn a_number_without_a_row_and_a_row_without_a_number_are_mistakes() {
        let root = std::env::temp_dir().join(format!("turnlock-limits-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let check = |text: &str| {
            fs::write(root.join("a.rs"), text).unwrap();
            rows(&root, "a.rs", |name| name.to_owned())
        };
        let row = "/// Limit | a text | bytes | cut\nconst A: usize = 1024;\n";
        assert_eq!(check(row).unwrap(), ["| a text | 1 KiB | bytes | cut | A |"]);
        assert_eq!(check("const A: usize = 1;\n").unwrap(), [""; 0]);
        let other = check(&format!("{row}const B: usize = 1;\n")).unwrap_err();
        assert!(other.starts_with("a.rs: `B` needs a row"), "{other}");
        let apart = format!("{row}/// Not a limit.\nconst B: usize = 1;\n");
        assert_eq!(check(&apart).unwrap().len(), 1);
        let lost = check(&format!("{row}/// Limit | b | c | d\nfn f() {{}}\n")).unwrap_err();
        assert_eq!(lost, "a.rs: 2 rows of limits, 1 at a number");
        let short = check("/// Limit | a | b\nconst A: u8 = 1;\n").unwrap_err();
        assert_eq!(short, "a.rs: the row of `A` has not three cells");
        fs::remove_dir_all(root).unwrap();
    }
}
