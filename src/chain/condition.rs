//! Conditions of steps: small expressions over earlier results.
//!
//! ```text
//! or      = and { ("||" | "or") and }
//! and     = not { ("&&" | "and") not }
//! not     = ("!" | "not") not | compare
//! compare = value [ ("==" | "!=" | "<=" | ">=" | "<" | ">" | "contains") value ]
//! value   = "(" or ")" | number | string | "true" | "false" | "null"
//!         | ("count" | "empty" | "ok" | "failed") "(" reference ")" | reference
//! reference = "$" id { "." name | "[" index "]" }
//! ```
//!
//! Evaluation never fails. Missing values are null, and values of different types are neither
//! equal nor ordered. `false`, `null`, `0`, `""`, `[]` and `{}` are false. `contains` searches for
//! a text inside a text, ignoring the case of ASCII letters, or for an item in a list. `count` is
//! the number of items of a result. `ok` and `failed` refer to the step itself. A step that uses
//! them waits until its dependencies have settled, not until they have succeeded.

use super::plan::PlanStep;
use super::reference;
use super::results::items;
use crate::json::Json;
use crate::limits;
use crate::text::holds;

/// A condition that can be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Or(Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
    Not(Box<Self>),
    Compare(Box<Self>, Operator, Box<Self>),
    Value(Json<'static>),
    Result(usize, Vec<String>),
    Count(usize, Vec<String>),
    Empty(usize, Vec<String>),
    Ok(usize),
    Failed(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Contains,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    NotEqual,
}

/// The state of the steps that a condition can read.
pub(crate) trait Seen {
    /// The result of a step, if it has one.
    fn result(&self, step: usize) -> Option<&Json<'static>>;
    /// Whether a step has failed.
    fn failed(&self, step: usize) -> bool;
}

/// Parses `text`. Returns `None` if it is not an expression or mentions an unknown step.
pub(crate) fn parse(text: &str, steps: &[PlanStep]) -> Option<Expr> {
    if text.len() > limits::CONDITION_BYTES {
        return None;
    }
    let mut parser = Parser { rest: text.trim_start(), steps, depth: 0 };
    let expr = parser.or()?;
    parser.rest.is_empty().then_some(expr)
}

impl Expr {
    /// Whether the condition is true.
    pub(crate) fn holds(&self, seen: &dyn Seen) -> bool {
        is_true(&self.value(seen))
    }

    /// Whether it uses `ok` or `failed`, so that a failed dependency does not skip the step.
    pub(crate) fn minds_failures(&self) -> bool {
        match self {
            Self::Ok(_) | Self::Failed(_) => true,
            Self::Not(one) => one.minds_failures(),
            Self::Or(a, b) | Self::And(a, b) | Self::Compare(a, _, b) => {
                a.minds_failures() || b.minds_failures()
            }
            Self::Value(_) | Self::Result(..) | Self::Count(..) | Self::Empty(..) => false,
        }
    }

    fn value(&self, seen: &dyn Seen) -> Json<'static> {
        match self {
            Self::Or(a, b) => (a.holds(seen) || b.holds(seen)).into(),
            Self::And(a, b) => (a.holds(seen) && b.holds(seen)).into(),
            Self::Not(one) => (!one.holds(seen)).into(),
            Self::Compare(a, operator, b) => {
                compare(&a.value(seen), *operator, &b.value(seen)).into()
            }
            Self::Value(value) => value.clone(),
            Self::Result(step, path) => part(seen, *step, path).cloned().unwrap_or_default(),
            Self::Count(step, path) => {
                let count = part(seen, *step, path).map_or(0, |value| items(value).len());
                Json::integer(u64::try_from(count).unwrap_or(u64::MAX))
            }
            Self::Empty(step, path) => (!part(seen, *step, path).is_some_and(is_true)).into(),
            Self::Ok(step) => seen.result(*step).is_some().into(),
            Self::Failed(step) => seen.failed(*step).into(),
        }
    }
}

fn part<'a>(seen: &'a dyn Seen, step: usize, path: &[String]) -> Option<&'a Json<'static>> {
    path.iter().try_fold(seen.result(step)?, |value, name| match value {
        Json::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    })
}

fn is_true(value: &Json<'_>) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(value) => *value,
        // Literals are kept as they were written: zero may have a point, a sign or an exponent.
        Json::Number(_) => value.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
        Json::Host(_) => true,
    }
}

fn compare(a: &Json<'_>, operator: Operator, b: &Json<'_>) -> bool {
    let order = match (a, b) {
        (Json::String(a), Json::String(b)) => Some(a.cmp(b)),
        _ => a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b)),
    };
    let equal = || a.to_canonical() == b.to_canonical();
    match operator {
        Operator::Contains => contains(a, b),
        Operator::Equal => equal(),
        Operator::NotEqual => !equal(),
        Operator::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        Operator::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
        Operator::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        Operator::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
    }
}

fn contains(a: &Json<'_>, b: &Json<'_>) -> bool {
    match (a, b) {
        (Json::String(a), Json::String(b)) => {
            holds(&a.to_ascii_lowercase(), &b.to_ascii_lowercase())
        }
        (Json::Array(items), b) => {
            items.iter().any(|item| item.to_canonical() == b.to_canonical() || contains(item, b))
        }
        (Json::Object(members), b) => members.iter().any(|(_, value)| contains(value, b)),
        _ => false,
    }
}

/// Limit | levels of a condition of a step | levels | `plan.invalid_condition`
const DEPTH: u32 = 32;

struct Parser<'a> {
    rest: &'a str,
    steps: &'a [PlanStep],
    depth: u32,
}

impl<'a> Parser<'a> {
    fn or(&mut self) -> Option<Expr> {
        let mut left = self.and()?;
        while self.take("||") || self.word("or") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Some(left)
    }

    fn and(&mut self) -> Option<Expr> {
        let mut left = self.not()?;
        while self.take("&&") || self.word("and") {
            left = Expr::And(Box::new(left), Box::new(self.not()?));
        }
        Some(left)
    }

    fn not(&mut self) -> Option<Expr> {
        let marked = !self.rest.starts_with("!=") && self.take("!");
        if marked || self.word("not") {
            return self.deeper(|parser| Some(Expr::Not(Box::new(parser.not()?))));
        }
        let left = self.value()?;
        let Some(operator) = self.operator() else { return Some(left) };
        Some(Expr::Compare(Box::new(left), operator, Box::new(self.value()?)))
    }

    fn operator(&mut self) -> Option<Operator> {
        let signs = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.take(sign)).map(|(_, one)| one);
        found.or_else(|| self.word("contains").then_some(Operator::Contains))
    }

    fn value(&mut self) -> Option<Expr> {
        if self.take("(") {
            let inner = self.deeper(Self::or)?;
            return self.take(")").then_some(inner);
        }
        if self.rest.starts_with('$') {
            let (step, path) = self.reference()?;
            return Some(Expr::Result(step, path));
        }
        for (name, value) in [("true", true.into()), ("false", false.into()), ("null", Json::Null)]
        {
            if self.word(name) {
                return Some(Expr::Value(value));
            }
        }
        for name in ["count", "empty", "ok", "failed"] {
            if self.word(name) {
                return self.function(name);
            }
        }
        self.literal()
    }

    fn function(&mut self, name: &str) -> Option<Expr> {
        let opened = self.take("(");
        let (step, path) = self.reference()?;
        if !opened || !self.take(")") {
            return None;
        }
        match name {
            "count" => Some(Expr::Count(step, path)),
            "empty" => Some(Expr::Empty(step, path)),
            "ok" if path.is_empty() => Some(Expr::Ok(step)),
            "failed" if path.is_empty() => Some(Expr::Failed(step)),
            _ => None,
        }
    }

    fn reference(&mut self) -> Option<(usize, Vec<String>)> {
        let tail = self.rest.strip_prefix('$')?;
        let (name, mut tail) = match tail.strip_prefix('{') {
            Some(inside) => inside.split_once('}')?,
            None => split(tail, |c| c.is_alphanumeric() || c == '_' || c == '-'),
        };
        let step = reference::resolve(name, self.steps)?;
        let mut path = Vec::new();
        loop {
            if let Some(inside) = tail.strip_prefix('[') {
                let (index, behind) = inside.split_once(']')?;
                path.push(index.trim().trim_matches('"').to_owned());
                tail = behind;
            } else if let Some(inside) = tail.strip_prefix('.') {
                let (name, behind) = split(inside, |c| c.is_alphanumeric() || c == '_');
                if name.is_empty() {
                    return None;
                }
                path.push(name.to_owned());
                tail = behind;
            } else {
                break;
            }
        }
        self.rest = tail.trim_start();
        Some((step, path))
    }

    fn literal(&mut self) -> Option<Expr> {
        let quote = self.rest.chars().next()?;
        if quote == '"' || quote == '\'' {
            let (text, tail) = self.rest.get(1..)?.split_once(quote)?;
            self.rest = tail.trim_start();
            return Some(Expr::Value(text.to_owned().into()));
        }
        let (number, tail) = split(self.rest, |c| c.is_ascii_digit() || c == '.' || c == '-');
        let value = Json::parse_str(number).ok()?.into_owned();
        self.rest = tail.trim_start();
        Some(Expr::Value(value))
    }

    /// Consumes a sign if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        let Some(tail) = self.rest.strip_prefix(sign) else { return false };
        self.rest = tail.trim_start();
        true
    }

    /// Consumes a whole word if it comes next.
    fn word(&mut self, word: &str) -> bool {
        let (name, tail) = split(self.rest, |c| c.is_alphanumeric() || c == '_');
        let found = name.eq_ignore_ascii_case(word);
        if found {
            self.rest = tail.trim_start();
        }
        found
    }

    fn deeper(&mut self, work: impl FnOnce(&mut Self) -> Option<Expr>) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let done = work(self);
        self.depth -= 1;
        done
    }
}

fn split(text: &str, inside: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c: char| !inside(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::super::StepKind;
    use super::*;

    /// Step `a` has this result, `b` has failed, `c` has not run.
    struct Runs(Json<'static>);

    impl Seen for Runs {
        fn result(&self, step: usize) -> Option<&Json<'static>> {
            (step == 0).then_some(&self.0)
        }
        fn failed(&self, step: usize) -> bool {
            step == 1
        }
    }

    fn steps() -> Vec<PlanStep> {
        ["a", "b", "c"].map(|id| PlanStep::new(id, StepKind::Search, "q")).into()
    }

    /// Whether a condition holds over a result of step `a`; `None` if it is no condition.
    fn holds(text: &str, result: &str) -> Option<bool> {
        let runs = Runs(Json::parse_str(result).ok()?.into_owned());
        Some(parse(text, &steps())?.holds(&runs))
    }

    const RESULT: &str =
        r#"{"n": 3, "items": ["Recall", {"id": 7}, 12], "text": "A Recall", "none": null}"#;

    #[test]
    fn what_is_false_is_said_in_the_grammar() {
        for empty in ["false", "null", "0", "0.0", "-0", "0e5", r#""""#, "[]", "{}"] {
            assert_eq!(holds("$a", empty), Some(false), "{empty}");
            assert_eq!(holds("not $a", empty), Some(true), "{empty}");
            assert_eq!(holds("empty($a)", empty), Some(true), "{empty}");
        }
        for full in ["true", "1", "-1", "0.5", r#""0""#, "[0]", r#"{"a":0}"#] {
            assert_eq!(holds("$a", full), Some(true), "{full}");
            assert_eq!(holds("!$a", full), Some(false), "{full}");
            assert_eq!(holds("empty($a)", full), Some(false), "{full}");
        }
    }

    #[test]
    fn conditions_read_results() {
        let cases = [
            ("$a.n == 3", true),
            ("$a.n != 3", false),
            ("$a.n > 2 and $a.n >= 3", true),
            ("$a.n < 3 || $a.n <= 2.5", false),
            ("${a}.n <= 3.0 && $a.n == 3.0", true),
            ("$a.text > 'A Qecall'", true),
            // Values of different types are neither equal nor ordered.
            ("$a.n == '3' or $a.n < '4' or $a.n >= '2'", false),
            ("$a.text contains 'recall'", true),
            ("$a contains \"RECALL\"", true),
            ("$a.items contains 12", true),
            ("$a.items contains 7", false),
            ("$a.n contains 3", false),
            ("$a.items[1].id == 7", true),
            ("$a.items[\"1\"].id == 7", true),
            ("$a.items[3] == null", true),
            ("$a.items[x] == null", true),
            ("$a.items[01].id == 7", true),
            ("$a.none == null and $a.other.deeper == null", true),
            ("count($a.items) == 3 and count($a.other) == 0", true),
            ("empty($a.none) and not empty($a.items)", true),
            ("ok($a) and failed($b) and not ok($b)", true),
            ("ok($c) or failed($c)", false),
            ("(true or false) and !(false)", true),
            ("TRUE AND NOT FALSE", true),
        ];
        for (text, expected) in cases {
            assert_eq!(holds(text, RESULT), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_none() {
        for text in [
            "",
            "$",
            "$d",
            "$a.",
            "$a[0",
            "${a",
            "$a ==",
            "== 3",
            "(true",
            "true)",
            "count $a",
            "count($a",
            "ok($a.n)",
            "failed($a[0])",
            "empty()",
            "'open",
            "tru",
            "1.2.3",
            "$a $b",
        ] {
            assert_eq!(holds(text, RESULT), None, "{text}");
        }
        let deep = |n: usize| format!("{}true{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(holds(&deep(32), RESULT), Some(true));
        assert_eq!(holds(&deep(33), RESULT), None);
        let long = |n: usize| format!("true{}", " ".repeat(n - 4));
        assert_eq!(holds(&long(limits::CONDITION_BYTES), RESULT), Some(true));
        assert_eq!(holds(&long(limits::CONDITION_BYTES + 1), RESULT), None);
    }

    #[test]
    fn only_ok_and_failed_mind_failures() {
        let minds = |text| parse(text, &steps()).map(|it| it.minds_failures());
        for text in ["ok($a)", "!failed($b)", "$a and (1 < 2 or ok($c))", "failed($a) == true"] {
            assert_eq!(minds(text), Some(true), "{text}");
        }
        for text in ["$a", "count($a) > 0 and not empty($b)", "true or $a.n == 1"] {
            assert_eq!(minds(text), Some(false), "{text}");
        }
    }
}
