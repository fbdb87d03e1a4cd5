//! What is declared, by the core and by the host tables, in the form that the writers need.

use std::collections::BTreeSet;

/// All declarations.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) declarations: Vec<Declaration>,
}

/// A named type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declaration {
    /// The generated file that has it.
    pub(crate) room: String,
    pub(crate) name: String,
    /// Type parameters, such as `<Plan = unknown>`, or nothing.
    pub(crate) params: String,
    /// Markdown.
    pub(crate) docs: String,
    /// The function whose options these are.
    pub(crate) operation: Option<String>,
    pub(crate) form: Form,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    /// An object; it has the members of its bases too.
    Object { bases: Vec<Base>, members: Vec<Member> },
    /// An object with members of its own, and those of one of the cases of another type.
    Tagged { members: Vec<Member>, cases: String },
    /// One of these strings, each with its documentation.
    Names(Vec<(String, String)>),
    /// One of these objects, told apart by the member `type`.
    Cases(Vec<Case>),
    /// Another name of a TypeScript type.
    Alias(String),
}

/// One of several objects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    /// The member `type`.
    pub(crate) tag: String,
    /// Markdown.
    pub(crate) docs: String,
    /// The other members.
    pub(crate) members: Vec<Member>,
    /// A type whose members it has too.
    pub(crate) also: Option<String>,
}

/// A type whose members an object has, but for some.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Base {
    pub(crate) name: String,
    pub(crate) without: Vec<String>,
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
    /// Markdown.
    pub(crate) docs: String,
    /// The default of an option: a value, or words that describe it.
    pub(crate) default: Option<String>,
    /// The values that are allowed, in words.
    pub(crate) range: Option<String>,
    /// If it is a limit: its unit and what happens beyond it, as cells of a row.
    pub(crate) limit: Option<String>,
    /// The type whose names the member's value is checked against, where this is done in
    /// TypeScript.
    pub(crate) inner: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A value of a TypeScript type.
    Value(String),
    /// A function, with its parameters and its result. Its parameters are compared as those of a
    /// method.
    Method(String, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    /// May be missing or `undefined`, as options are.
    Optional,
    /// May be missing, as members of results are.
    Sparse,
}

impl Model {
    pub(crate) fn rooms(&self) -> BTreeSet<&str> {
        self.declarations.iter().map(|one| one.room.as_str()).collect()
    }

    pub(crate) fn of_room(&self, room: &str) -> impl Iterator<Item = &Declaration> {
        self.declarations.iter().filter(move |one| one.room == room)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Declaration> {
        self.declarations.iter().find(|one| one.name == name)
    }

    /// The members of an object and of its bases; none for other types.
    pub(crate) fn members<'a>(&'a self, of: &'a Declaration) -> Result<Vec<&'a Member>, String> {
        let Form::Object { bases, members } = &of.form else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for Base { name, without } in bases {
            let base = self.find(name).ok_or_else(|| format!("{}: no type {name}", of.name))?;
            let inherited = self.members(base)?;
            if let Some(gone) =
                without.iter().find(|gone| inherited.iter().all(|m| m.name != **gone))
            {
                return Err(format!("{}: {name} has no `{gone}`", of.name));
            }
            let is_inherited = |member: &&Member| {
                !without.contains(&member.name) && members.iter().all(|own| own.name != member.name)
            };
            all.extend(inherited.into_iter().filter(is_inherited));
        }
        all.extend(members);
        Ok(all)
    }
}

impl Declaration {
    /// The declared members, without those of bases.
    pub(crate) fn own_members(&self) -> Vec<&Member> {
        match &self.form {
            Form::Object { members, .. } | Form::Tagged { members, .. } => members.iter().collect(),
            Form::Cases(cases) => cases.iter().flat_map(|case| &case.members).collect(),
            Form::Names(_) | Form::Alias(_) => Vec::new(),
        }
    }
}

impl Kind {
    /// Reads a type; `(…): …` is a method.
    pub(crate) fn of(text: &str) -> Self {
        let inner = text.strip_prefix('(').and_then(|rest| {
            let mut open = 1_u32;
            let end = rest.char_indices().find(|(_, char)| {
                match char {
                    '(' => open += 1,
                    ')' => open -= 1,
                    _ => {}
                }
                open == 0
            })?;
            let (params, after) = rest.split_at_checked(end.0)?;
            Some((params, after.strip_prefix("): ")?))
        });
        match inner {
            Some((params, result)) => Self::Method(params.to_owned(), result.to_owned()),
            None => Self::Value(text.to_owned()),
        }
    }

    /// The texts in which other types are named.
    pub(crate) fn texts(&self) -> [&str; 2] {
        match self {
            Self::Value(text) => [text, ""],
            Self::Method(params, result) => [params, result],
        }
    }
}
