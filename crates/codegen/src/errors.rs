//! The error codes: `docs/errors.md` has the table, with the cause of each and what to do. Its codes
//! become a type of the npm package, and are compared with those of the sources and the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::files::{self, NOTICE};

/// The page with the codes.
pub(crate) const PAGE: &str = "docs/errors.md";

const SOURCES: [&str; 4] = ["src/", "crates/client/src/", "crates/wasm/src/", "pkg/src/"];
const TESTS: [&str; 5] = ["tests/", "pkg/test/", "src/", "crates/client/", "crates/wasm/"];

/// Where sources have codes of others: commands for agents, and what is generated.
const APART: [&str; 2] = ["pkg/src/cli", "pkg/src/generated"];

/// What is written as codes are: a kind of object of Chat Completions.
const OTHERS: [&str; 1] = ["chat.completion"];

/// How the tests of a file in Rust begin.
const INNER_TESTS: &str = "#[cfg(test)]\nmod tests {";

/// The codes of the page: the first cells of its rows.
pub(crate) fn codes(page: &str) -> Vec<&str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next()).collect()
}

/// Writes the codes as a type.
pub(crate) fn typescript(codes: &[&str]) -> String {
    let names: Vec<_> = codes.iter().map(|code| format!("  | '{code}'")).collect();
    format!(
        "// {NOTICE}\n\n/** A code of this package; docs/errors.md has the cause and the fix of each. \
         */\nexport type ErrorCode =\n{}\n",
        names.join("\n")
    )
}

/// Says which codes the page lacks, which no source has, and which no test names.
pub(crate) fn mistakes(root: &Path, codes: &[&str]) -> Result<Vec<String>, String> {
    let mut sources = BTreeMap::new();
    for path in files::below(root, &SOURCES, &["rs", "ts"])? {
        if !is_test(&path) && !APART.iter().any(|folder| path.starts_with(folder)) {
            let text = files::read(root, &path)?;
            sources.insert(path, text);
        }
    }
    let mut untested = codes.iter().copied().collect::<BTreeSet<_>>();
    for path in files::below(root, &TESTS, &["mjs", "ts", "tsx", "rs", "json"])? {
        let text = files::read(root, &path)?;
        let tests = if is_test(&path) { Some(text.as_str()) } else { inner_tests(&text) };
        if let Some(tests) = tests {
            untested.retain(|code| !tests.contains(code));
        }
    }
    Ok(compare(codes, &sources, &untested))
}

fn compare(
    codes: &[&str],
    sources: &BTreeMap<String, String>,
    untested: &BTreeSet<&str>,
) -> Vec<String> {
    let areas: BTreeSet<_> = codes.iter().filter_map(|code| code.split('.').next()).collect();
    let is_code = |text: &&str| {
        let name =
            text.split_once('.').filter(|(area, _)| areas.contains(area)).map(|(_, name)| name);
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        })
    };
    let mut used = BTreeMap::new();
    for (path, text) in sources {
        let code = text.split(INNER_TESTS).next().unwrap_or_default();
        used.extend(code.split(['"', '\'']).filter(is_code).map(|code| (code, path)));
    }
    let unknown = used.iter().filter(|(code, _)| !codes.contains(code) && !OTHERS.contains(code));
    let unknown = unknown.map(|(code, path)| format!("{PAGE} has no row for {code} of {path}"));
    let unused = codes.iter().filter(|code| !used.contains_key(**code));
    let unused = unused.map(|code| format!("{code} of {PAGE} is in no source"));
    let untested = untested.iter().map(|code| format!("no test names {code} of {PAGE}"));
    unknown.chain(unused).chain(untested).collect()
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|name| ["test", "tests", "test.rs", "tests.rs"].contains(&name))
        || path.split('/').any(|name| name.starts_with("test_") || name.starts_with("tests_"))
}

fn inner_tests(text: &str) -> Option<&str> {
    text.find("#[cfg(test)]").and_then(|at| text.get(at..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_a_page_become_a_type() {
        let page =
            "## a\n\n| code | cause |\n| --- | --- |\n| `a.one` | With `b.c`. |\n| `a.two` | x |\n";
        assert_eq!(codes(page), ["a.one", "a.two"]);
        assert!(typescript(&codes(page)).ends_with("ErrorCode =\n  | 'a.one'\n  | 'a.two'\n"));
    }

    #[test]
    fn mistakes_are_named() {
        let text = format!("fail('a.one'); // 'a.b.c' 'd.one'\n\"a.new\"\n{INNER_TESTS}\n'a.old'");
        let sources = [("src/x.ts".to_owned(), text)].into();
        let found = compare(&["a.one", "a.old"], &sources, &["a.old"].into());
        let expected = [
            "docs/errors.md has no row for a.new of src/x.ts",
            "a.old of docs/errors.md is in no source",
            "no test names a.old of docs/errors.md",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn tests_are_told_from_sources() {
        assert!(
            ["tests/a.mjs", "src/x/tests.rs", "pkg/test/b.ts", "src/tests/c.rs"]
                .iter()
                .all(|one| is_test(one))
        );
        assert!(["src/testing.rs", "pkg/src/testing/a.ts"].iter().all(|one| !is_test(one)));
    }
}
