//! Documentation: from the lines of doc comments to text that fits a column.

/// The most characters in a line, as prettier has it.
pub(crate) const WIDTH: usize = 100;

pub(crate) fn fits(line: &str) -> bool {
    line.chars().count() <= WIDTH
}

/// `head { a, b }tail` in one line, or with a line for each item.
pub(crate) fn braced<T: AsRef<str>>(head: &str, items: &[T], tail: &str) -> String {
    let items: Vec<_> = items.iter().map(AsRef::as_ref).collect();
    let line = format!("{head} {{ {} }}{tail}", items.join(", "));
    if fits(&line) { line } else { format!("{head} {{\n  {},\n}}{tail}", items.join(",\n  ")) }
}

/// The name of a type, and its type parameters, such as `<Plan = unknown>`.
pub(crate) fn parameters(name: &str) -> (&str, &str) {
    name.split_at(name.find('<').unwrap_or(name.len()))
}

/// Joins the lines of a doc comment, without links to Rust items, and splits off a last sentence
/// `Default: …`. Rust's names of the members `names` become those of JSON.
pub(crate) fn prose(lines: &[&str], names: &[&str]) -> (String, Option<String>) {
    let lines = lines.iter().map(|line| line.strip_prefix(' ').unwrap_or(line));
    let lines: Vec<_> = lines.take_while(|line| !line.starts_with(LIMIT)).collect();
    let text = renamed(&unlinked(lines.join("\n").trim_end()), names);
    let Some((before, default)) = text.rsplit_once("Default: ") else { return (text, None) };
    if default.contains("\n\n") {
        return (text, None);
    }
    let default = default.trim_end_matches('.').split_whitespace().collect::<Vec<_>>().join(" ");
    (before.trim_end().to_owned(), Some(default))
}

/// How the row of a limit begins, with which a comment ends.
pub(crate) const LIMIT: &str = "Limit | ";

/// The row of a limit: its unit, and what happens beyond it.
pub(crate) fn limit(lines: &[&str]) -> Option<String> {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    text.split_once(LIMIT).map(|(_, row)| row.to_owned())
}

/// `` [`text`](target) `` and `` [`text`] `` as `` `text` ``.
fn unlinked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        out.push_str(before);
        let Some((name, after)) = link.split_once("`]") else {
            rest = link;
            out.push_str("[`");
            continue;
        };
        out.push_str(&format!("`{name}`"));
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    out + rest
}

/// Puts members' names in JSON for those in Rust, where they stand in backticks.
fn renamed(text: &str, names: &[&str]) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| {
        let camel = camel(part);
        let rust = at % 2 == 1 && !names.contains(&part) && names.contains(&camel.as_str());
        if rust { camel } else { part.to_owned() }
    });
    parts.collect::<Vec<_>>().join("`")
}

fn camel(snake: &str) -> String {
    let mut parts = snake.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        out.extend(chars.next().map(|char| char.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}

/// Breaks paragraphs into lines of at most `width` characters. Lists, tables and code keep their
/// lines.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, block) in text.trim().split("\n\n").enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        if ["- ", "|", "```"].iter().any(|mark| block.starts_with(mark)) {
            lines.extend(block.lines().map(str::to_owned));
            continue;
        }
        let mut line = String::new();
        for word in words(block) {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
    }
    lines
}

/// The words of a text; code is one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in text.split_whitespace() {
        match words.last_mut().filter(|word| word.matches('`').count() % 2 == 1) {
            Some(code) => {
                code.push(' ');
                code.push_str(part);
            }
            None => words.push(part.to_owned()),
        }
    }
    words
}

/// The lines of a JSDoc comment, indented; none if there is nothing to say.
pub(crate) fn comment(indent: usize, docs: &str, default: Option<&str>) -> Vec<String> {
    let space = " ".repeat(indent);
    let tag = default.map(|default| format!("@defaultValue {default}")).unwrap_or_default();
    let docs = docs.trim();
    if docs.is_empty() && tag.is_empty() {
        return Vec::new();
    }
    let line = [docs, &tag].join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{space}/** {line} */");
    if !docs.contains("\n\n") && fits(&line) {
        return vec![line];
    }
    let mut lines = vec![format!("{space}/**")];
    let mut body = wrap(docs, WIDTH - indent - 3);
    if !tag.is_empty() {
        body.extend(wrap(&tag, WIDTH - indent - 3));
    }
    for line in body {
        lines.push(format!("{space} * {line}").trim_end().to_owned());
    }
    lines.push(format!("{space} */"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_comments_of_rust_become_plain() {
        let lines =
            [" As [`read`](crate::read) and [`x`], not [y]. May be", " empty as `plan_id`."];
        let names = ["planId", "must_agree"];
        let text = "As `read` and `x`, not [y]. May be\nempty as `planId`.";
        assert_eq!(prose(&lines, &names), (text.to_owned(), None));
        let lines = [
            " Of `must_agree`. Default: `block`; for",
            " others, `replay`.",
            "",
            " Limit | ms | cut",
        ];
        assert_eq!(limit(&lines).as_deref(), Some("ms | cut"));
        let default = Some("`block`; for others, `replay`".to_owned());
        assert_eq!(prose(&lines, &names), ("Of `must_agree`.".to_owned(), default));
    }

    #[test]
    fn comments_fit_the_line() {
        assert_eq!(comment(2, "A\nb.", Some("1")), ["  /** A b. @defaultValue 1 */"]);
        assert_eq!(comment(0, "", None), [""; 0]);
        let long = "word ".repeat(40);
        let lines = comment(2, &format!("{long}\n\n- a\n- b"), Some("none"));
        assert!(lines.iter().all(|line| line.len() <= 100), "{lines:?}");
        assert_eq!(
            lines[4..],
            ["   *", "   * - a", "   * - b", "   * @defaultValue none", "   */"]
        );
    }
}
