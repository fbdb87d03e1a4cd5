//! What providers accept as the declarations of tools, and what they would refuse.
//!
//! The limits are data: one row in each provider's folder, with where it is said and when that was
//! read. A limit that no source says is `None`, and is not checked.

use std::borrow::Cow;

use super::findings::{ToolCode, ToolFinding};
use super::request::ToolDeclaration;
use super::rules::Names;
use super::{Dialect, rules, tools};
use crate::json::{Json, push_token};

/// What one provider accepts as the declarations of tools.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tools {
    /// The most tools of one request.
    pub(super) most: Option<usize>,
    /// The longest description, in characters.
    pub(super) description: Option<usize>,
    /// Whether an empty description is refused.
    pub(super) described: bool,
    /// Whether a schema that is not of the type `object` is refused.
    pub(super) object: bool,
    /// Keywords that may not stand at the root of a schema.
    pub(super) not_at_root: &'static [&'static str],
    /// Keywords at the root of a schema that it does not know, and that say nothing: they are not sent.
    pub(super) not_sent: &'static [&'static str],
    /// The keywords of schemas that it knows; empty if all are taken.
    pub(super) keywords: &'static [&'static str],
    /// The longest name of a property, which then is of letters, digits, `_`, `.` and `-`.
    pub(super) property: Option<usize>,
    /// Whether an object without `properties` and an array without `items` are refused.
    pub(super) whole: bool,
    /// The rules of tools that are declared as strict.
    pub(super) strict: Option<&'static Strict>,
    /// Where this is said, and when it was read.
    pub(super) source: &'static str,
}

impl Tools {
    /// What every provider takes. A provider states in what it differs.
    pub(super) const fn common(source: &'static str) -> Self {
        Self {
            most: None,
            description: None,
            described: false,
            object: false,
            not_at_root: &[],
            not_sent: &[],
            keywords: &[],
            property: None,
            whole: false,
            strict: None,
            source,
        }
    }
}

/// A schema without what a provider does not know at its root.
pub(super) fn sent(schema: &Json<'static>, row: &Tools) -> Json<'static> {
    let mut schema = schema.clone();
    if let Json::Object(members) = &mut schema {
        members.retain(|(key, _)| !row.not_sent.contains(&&**key));
    }
    schema
}

/// For providers whose own limits are not known: the form of names is that of OpenAI's.
pub(super) const COMPATIBLE: &str = "compatible with OpenAI's Chat Completions; github: mcp-use#90";

/// What strict schemas must keep: every object lists all its properties as required and takes no
/// others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strict {
    pub(super) refused: &'static [&'static str],
    pub(super) depth: usize,
    pub(super) properties: usize,
    pub(super) enums: usize,
    pub(super) source: &'static str,
}

/// Returns what the provider would refuse in the declarations of tools. `strict`: they are declared
/// as strict, where the provider knows that; this crate declares none so.
///
/// ```
/// use turnlock::Dialect;
/// use turnlock::json::Json;
/// use turnlock::provider::{ToolCode, ToolDeclaration, diagnose_tools};
///
/// let schema = Json::parse_str(r#"{"type":"object","properties":{"a b":{}}}"#)?;
/// let tool = ToolDeclaration { name: "find", description: "Finds.", input_schema: &schema };
/// let found = diagnose_tools(&[tool], Dialect::Anthropic, false);
/// assert_eq!(found[0].code, ToolCode::SchemaProperty);
/// assert_eq!(found[0].path, "/0/inputSchema/properties/a b");
/// # Ok::<(), turnlock::json::JsonError>(())
/// ```
#[must_use]
pub fn diagnose_tools(
    declared: &[ToolDeclaration<'_>],
    dialect: Dialect,
    strict: bool,
) -> Vec<ToolFinding> {
    let row = tools(dialect);
    let mut work = Work {
        row,
        strict: row.strict.filter(|_| strict),
        whole: None,
        found: Vec::new(),
        path: String::new(),
        root: 0,
        properties: 0,
        enums: 0,
    };
    if let Some(most) = row.most.filter(|most| declared.len() > *most) {
        work.say(ToolCode::TooMany, ["at most ", &most.to_string(), " tools are taken"].concat());
    }
    let mut known: Vec<&str> = Vec::new();
    for (at, tool) in declared.iter().enumerate() {
        work.path = ["/", &at.to_string()].concat();
        work.name(tool.name, rules(dialect).names);
        match known.binary_search(&tool.name) {
            Ok(_) => work.at("name", ToolCode::NameDuplicate, "another tool has this name".into()),
            Err(place) => known.insert(place, tool.name),
        }
        let long = row.description.filter(|most| tool.description.chars().count() > *most);
        if let Some(most) = long {
            let message = ["at most ", &most.to_string(), " characters are taken"].concat();
            work.at("description", ToolCode::DescriptionLength, message);
        }
        if row.described && tool.description.is_empty() {
            work.at("description", ToolCode::DescriptionEmpty, "it may not be empty".into());
        }
        (work.properties, work.enums) = (0, 0);
        let before = work.enter("inputSchema");
        work.root = work.path.len();
        work.whole = Some(tool.input_schema);
        work.root(tool.input_schema);
        work.schema(tool.input_schema, 1);
        work.sizes();
        work.path.truncate(before);
    }
    work.found
}

struct Work<'t> {
    /// The schema that is read.
    whole: Option<&'t Json<'static>>,
    row: &'static Tools,
    strict: Option<&'static Strict>,
    found: Vec<ToolFinding>,
    /// Where it is.
    path: String,
    /// The length of the path at the root of the schema.
    root: usize,
    properties: usize,
    enums: usize,
}

/// Levels that are looked into: JSON is read to a depth of 128.
const DEPTH: usize = 128;
/// Keywords whose value is a schema.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value has schemas by name.
const NAMED: [&str; 5] =
    ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

impl Work<'_> {
    /// Adds a name to the path, and returns what it was before.
    fn enter(&mut self, name: &str) -> usize {
        let before = self.path.len();
        push_token(&mut self.path, name);
        before
    }

    fn say(&mut self, code: ToolCode, message: String) {
        let strict = matches!(
            code,
            ToolCode::StrictAdditional
                | ToolCode::StrictRequired
                | ToolCode::SchemaDepth
                | ToolCode::SchemaSize
        );
        let source = match self.strict {
            Some(rules) if strict => rules.source,
            _ => self.row.source,
        };
        self.found.push(ToolFinding {
            code,
            path: self.path.clone(),
            message,
            source: source.to_owned(),
        });
    }

    fn at(&mut self, name: &str, code: ToolCode, message: String) {
        let before = self.enter(name);
        self.say(code, message);
        self.path.truncate(before);
    }

    fn name(&mut self, name: &str, form: Names) {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let (fits, most, form): (bool, _, Cow<'_, str>) = match form {
            Names::Word(most) => (name.bytes().all(word), most, "letters, digits, _ and -".into()),
            Names::Dotted => {
                let first = name.bytes().next();
                let starts = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
                let all = name.bytes().all(|byte| word(byte) || byte == b'.' || byte == b':');
                (starts && all, 64, "letters, digits, _, -, . and :, a letter or _ first".into())
            }
        };
        if name.is_empty() || !fits || name.len() > most {
            let message = [&form, ", at most ", &most.to_string(), " characters"].concat();
            self.at("name", ToolCode::NameFormat, message);
        }
    }

    fn root(&mut self, schema: &Json<'_>) {
        let object = schema.kind() == Some("object");
        if (self.row.object || self.strict.is_some()) && !object {
            self.say(ToolCode::SchemaRoot, "its type must be \"object\"".into());
        }
        let has = |keyword: &&str| schema.get(keyword).is_some();
        let union = self.row.not_at_root.iter().any(has);
        if self.row.whole && object && !union && !has(&"properties") {
            self.say(ToolCode::SchemaRoot, "it must have `properties`".into());
        }
        for keyword in self.row.not_at_root {
            if schema.get(keyword).is_some() {
                self.at(keyword, ToolCode::SchemaRoot, "it may not stand at the root".into());
            }
        }
    }

    fn schema(&mut self, schema: &Json<'_>, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let at_root = self.path.len() == self.root;
        for (key, value) in schema.members() {
            let before = self.enter(key);
            // The root has been looked at.
            let is_known = |list: &[&str]| at_root && list.contains(&key);
            if !is_known(self.row.not_sent) && !is_known(self.row.not_at_root) {
                self.keyword(key);
            }
            if NAMED.contains(&key) {
                for (name, inner) in value.members() {
                    let outer = self.enter(name);
                    if key == "properties" {
                        self.properties += 1;
                        self.property(name);
                    }
                    self.schema(inner, depth + usize::from(key == "properties"));
                    self.path.truncate(outer);
                }
            } else if LISTS.contains(&key) || key == "items" && value.as_array().is_some() {
                for (at, inner) in value.items().enumerate() {
                    let outer = self.enter(&at.to_string());
                    self.schema(inner, depth);
                    self.path.truncate(outer);
                }
            } else if ONE.contains(&key) {
                self.schema(value, depth);
            } else if key == "enum" {
                self.enums += value.items().len();
            } else if key == "$ref" {
                self.reference(value);
            }
            self.path.truncate(before);
        }
        if let Some(properties) = schema.get("properties")
            && properties.as_object().is_none()
        {
            let form = ToolCode::SchemaKeyword;
            self.at("properties", form, "it must be an object: properties by their names".into());
        }
        let items = ["items", "prefixItems"].iter().any(|key| schema.get(key).is_some());
        if self.row.whole && is_of(schema, "array") && !items {
            self.say(ToolCode::SchemaItems, "an array must have `items`".into());
        }
        self.strictly(schema, depth);
    }

    /// Names a reference that leads nowhere. One to an anchor is not followed.
    fn reference(&mut self, to: &Json<'_>) {
        let to = to.as_str().unwrap_or_default();
        let Some(path) = to.strip_prefix('#') else {
            let message = ["it leads out of the schema: ", to].concat();
            return self.say(ToolCode::SchemaRef, message);
        };
        let mut at = self.whole;
        for token in path.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            at = at.and_then(|at| match at {
                Json::Array(_) => name.parse().ok().and_then(|place: usize| at.at(place)),
                _ => at.get(&name),
            });
        }
        if at.is_none() {
            self.say(ToolCode::SchemaRef, ["it leads nowhere: ", to].concat());
        }
    }

    fn keyword(&mut self, key: &str) {
        let known = self.row.keywords;
        let refused = self.strict.is_some_and(|rules| rules.refused.contains(&key));
        if refused || !known.is_empty() && !known.contains(&key) {
            let message = "this keyword is not in the provider's subset of JSON Schema".into();
            self.say(ToolCode::SchemaKeyword, message);
        }
    }

    fn property(&mut self, name: &str) {
        let Some(most) = self.row.property else { return };
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        if name.is_empty() || name.len() > most || !name.bytes().all(fits) {
            let most = most.to_string();
            let message = ["letters, digits, _, . and -, at most ", &most, " characters"].concat();
            self.say(ToolCode::SchemaProperty, message);
        }
    }

    fn strictly(&mut self, schema: &Json<'_>, depth: usize) {
        let Some(rules) = self.strict else { return };
        let properties = schema.get("properties");
        if !is_of(schema, "object") && properties.is_none() {
            return;
        }
        if schema.get("additionalProperties").and_then(Json::as_bool) != Some(false) {
            let message = "additionalProperties must be false".into();
            self.say(ToolCode::StrictAdditional, message);
        }
        let required = schema.get("required").and_then(Json::as_array).unwrap_or_default();
        for (name, _) in properties.into_iter().flat_map(Json::members) {
            if !required.iter().any(|one| one.as_str() == Some(name)) {
                let before = self.enter("properties");
                let message = "it must be required; an optional one takes null".into();
                self.at(name, ToolCode::StrictRequired, message);
                self.path.truncate(before);
            }
        }
        if depth == rules.depth + 1 {
            let message = ["at most ", &rules.depth.to_string(), " levels are taken"].concat();
            self.say(ToolCode::SchemaDepth, message);
        }
    }

    fn sizes(&mut self) {
        let Some(rules) = self.strict else { return };
        let counts = [
            (self.properties, rules.properties, " properties are taken"),
            (self.enums, rules.enums, " values of enums are taken"),
        ];
        for (count, most, what) in counts {
            if count > most {
                let message = ["at most ", &most.to_string(), what].concat();
                self.say(ToolCode::SchemaSize, message);
            }
        }
    }
}

/// Whether a schema has this type, or it among others.
fn is_of(schema: &Json<'_>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Json::Array(types)) => types.iter().any(|one| one.as_str() == Some(kind)),
        one => one.and_then(Json::as_str) == Some(kind),
    }
}
