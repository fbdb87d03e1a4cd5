//! The host tables: options that only the TypeScript side knows.
//!
//! ```text
//! table! {
//!     /// The options of `walk`.
//!     "WalkOptions" for "walk", extends "PaceOptions" without "hurry" {
//!         /// Where to.
//!         to: "string" | required;
//!         /// Called at each step.
//!         onStep: "(step: number): void";
//!         steps from "Walk" = "as many as it takes";
//!         /// Stops on the way.
//!         stops: "Stops" | deep, "at most three";
//!     }
//! }
//! ```
//! - `for` names the function that takes the options. Its section of `docs/options.md` has them.
//! - A type `(…): …` is a function. Its parameters are compared as those of a method.
//! - A row with `from` is that of a table of the core. Its own documentation stands behind the
//!   core's; its own type and default replace the core's.
//! - `required`: options must have it. `deep`: the check at run time goes into the value.
//! - `= "…"` is the default, `, "…"` the range, in words. `= "base URL of <dialect>"` is that of the
//!   provider's row.

mod adapters;
mod chain;
mod chat;
mod evidence;
mod history;
mod models;
mod planning;
mod proxy;
mod redactor;
mod remote;
mod server;
mod stores;
mod testing;
mod tools;
mod turn;

use turnlock::Dialect;

use crate::core_rows;
use crate::model::{Base, Declaration, Form, Kind, Member, Model, Presence};
use crate::text;
use crate::typescript;

/// A host table.
#[derive(Debug)]
pub(crate) struct Table {
    docs: &'static [&'static str],
    /// With type parameters, if there are any.
    name: &'static str,
    operation: Option<&'static str>,
    bases: &'static [(&'static str, &'static [&'static str])],
    rows: &'static [Row],
}

#[derive(Debug)]
pub(crate) struct Row {
    docs: &'static [&'static str],
    name: &'static str,
    typed: Option<&'static str>,
    from: Option<&'static str>,
    flags: &'static [&'static str],
    default: Option<&'static str>,
    range: Option<&'static str>,
}

macro_rules! option {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

macro_rules! table {
    (
        $(#[doc = $doc:literal])*
        $name:literal $(for $operation:literal)?
        $(, extends $base:literal $(without $($gone:literal)+)?)*
        {
            $(
                $(#[doc = $row_doc:literal])*
                $row:ident $(: $typed:literal)? $(from $from:literal)? $(| $flag:ident)*
                $(= $default:literal)? $(, $range:literal)? ;
            )*
        }
    ) => {
        $crate::host::Table {
            docs: &[$($doc),*],
            name: $name,
            operation: $crate::host::option!($($operation)?),
            bases: &[$(($base, &[$($($gone),+)?])),*],
            rows: &[$(
                $crate::host::Row {
                    docs: &[$($row_doc),*],
                    name: stringify!($row),
                    typed: $crate::host::option!($($typed)?),
                    from: $crate::host::option!($($from)?),
                    flags: &[$(stringify!($flag)),*],
                    default: $crate::host::option!($($default)?),
                    range: $crate::host::option!($($range)?),
                }
            ),*],
        }
    };
}

pub(crate) use {option, table};

/// The host tables, by room.
fn rooms() -> [(&'static str, Vec<Table>); 15] {
    [
        ("turn", turn::tables()),
        ("models", models::tables()),
        ("tools", tools::tables()),
        ("evidence", evidence::tables()),
        ("planning", planning::tables()),
        ("chain", chain::tables()),
        ("history", history::tables()),
        ("stores", stores::tables()),
        ("server", server::tables()),
        ("proxy", proxy::tables()),
        ("redactor", redactor::tables()),
        ("remote", remote::tables()),
        ("chat", chat::tables()),
        ("testing", testing::tables()),
        ("adapters", adapters::tables()),
    ]
}

/// The modules whose types the tables name, relative to the folder of the generated files.
pub(crate) const MODULES: &[(&str, &[&str])] = &[
    ("../adapters/ai-sdk/middleware.js", &["MiddlewareReport"]),
    ("../adapters/mcp/tools.js", &["McpDrift"]),
    ("../adapters/otel/api.js", &["OtelApi"]),
    ("../evidence/bundle.js", &["BundleRecording"]),
    ("../evidence/driver.js", &["ReplicateContext", "ReplicateResult", "RunReplicate"]),
    ("../evidence/events.js", &["EventManager"]),
    ("../evidence/lints.js", &["Lint"]),
    (
        "../chain/types.js",
        &[
            "AnswerContext",
            "AssessContext",
            "ChainCache",
            "ClassifyContext",
            "ConditionContext",
            "EnhanceContext",
            "PlanContext",
            "ReplanContext",
            "StepContext",
            "SynthesisContext",
            "ChainText",
        ],
    ),
    ("../evidence/types.js", &["ReportedUsage"]),
    ("../chat/turns.js", &["ChatTurns"]),
    ("../chat/saved.js", &["ChatPersistence"]),
    ("../chain/breaker.js", &["ChainBreaker"]),
    ("../chain/learn.js", &["PatternStats"]),
    ("./providers.js", &["ChatDialect"]),
    ("../guard/trace.js", &["GuardTraceEvent"]),
    ("../models/model.js", &["Fetch", "Model", "ModelRequest", "SignableRequest", "SignedHeaders"]),
    ("../options.js", &["Method"]),
    ("../proxy/options.js", &["DecodeBody", "ProxySession", "UpstreamFor"]),
    ("../proxy/report.js", &["ProxyReport"]),
    ("../shared/redact.js", &["Redact"]),
    ("../redactor/index.js", &["Redactor"]),
    ("../redactor/scanner.js", &["RedactKind"]),
    ("../planning/types.js", &["CallRefusal"]),
    ("../turn/resume.js", &["Approval", "CallOutcome", "ResultRevision"]),
    ("../server/format.js", &["FormatName"]),
    ("../testing/provider/provider.js", &["Script"]),
    (
        "../server/options.js",
        &["EndOf", "EventOf", "PerRequest", "Prepare", "PreviousResponseId", "ReadBody", "Session"],
    ),
    ("../server/pass-events.js", &["PassEvents"]),
    ("../server/routes.js", &["RouteName"]),
    ("../server/runs.js", &["Bundles", "Chains", "Passes"]),
    ("../server/traces.js", &["TraceStore"]),
    ("../server/two-stage.js", &["Environment", "TwoStageCallback"]),
    ("../stores/store.js", &["Commit", "Store"]),
    ("../tools/content.js", &["ToolContentPart"]),
    (
        "../tools/tools.js",
        &[
            "ApprovalDecision",
            "Args",
            "JsonSchema",
            "PendingCall",
            "ReconcileContext",
            "Reconciled",
            "StandardSchema",
            "Tool",
            "ToolContext",
        ],
    ),
    ("../types.js", &["Delta"]),
];

/// All declarations, those of the core first.
pub(crate) fn model() -> Result<Model, String> {
    let mut model = Model { declarations: core_rows::declarations(turnlock::declared())? };
    for (room, tables) in rooms() {
        for table in tables {
            let made = declaration(room, &table, &model)?;
            if model.find(&made.name).is_some() {
                let name = &made.name;
                return Err(format!("{name} is declared twice: drop it in src/host/{room}.rs"));
            }
            model.declarations.push(made);
        }
    }
    deepen(&mut model)?;
    Ok(model)
}

fn declaration(room: &str, table: &Table, model: &Model) -> Result<Declaration, String> {
    let (name, params) = text::parameters(table.name);
    let member = |row| member(row, model).map_err(|why| format!("{name}: {why}"));
    let base = |(name, without): &(&str, &[&str])| Base {
        name: (*name).to_owned(),
        without: without.iter().map(|gone| (*gone).to_owned()).collect(),
    };
    Ok(Declaration {
        room: room.to_owned(),
        name: name.to_owned(),
        params: params.to_owned(),
        docs: text::prose(table.docs, &[]).0,
        operation: table.operation.map(str::to_owned),
        form: Form::Object {
            bases: table.bases.iter().map(base).collect(),
            members: table.rows.iter().map(member).collect::<Result<_, _>>()?,
        },
    })
}

fn member(row: &Row, model: &Model) -> Result<Member, String> {
    let Row { docs, name, typed, from, flags, default, range } = *row;
    let core = match from {
        None => None,
        Some(from) => {
            let table = model.find(from).ok_or_else(|| format!("no table {from}"))?;
            let rows = model.members(table)?;
            let row = rows.into_iter().find(|row| row.name == name);
            Some(row.ok_or_else(|| format!("{from} has no row `{name}`"))?)
        }
    };
    if let Some(unknown) = flags.iter().find(|flag| !["required", "deep"].contains(flag)) {
        return Err(format!("`{name}`: no flag {unknown}"));
    }
    let kind = match (typed, core) {
        (Some(text), _) => Kind::of(text),
        (None, Some(core)) => core.kind.clone(),
        (None, None) => return Err(format!("`{name}` has no type")),
    };
    let required =
        flags.contains(&"required") || core.is_some_and(|core| core.presence == Presence::Required);
    let limit = text::limit(docs);
    let own_docs = text::prose(docs, &[]).0;
    let docs = [core.map(|core| core.docs.as_str()).unwrap_or_default(), &own_docs].join(" ");
    let default = match default.map(|text| (text, text.strip_prefix("base URL of "))) {
        Some((_, Some(provider))) => Some(base_url(provider)?),
        Some((text, None)) => Some(text.to_owned()),
        None => core.and_then(|core| core.default.clone()),
    };
    Ok(Member {
        name: name.to_owned(),
        kind,
        presence: if required { Presence::Required } else { Presence::Optional },
        docs: docs.trim().to_owned(),
        default: default.filter(|_| !required),
        range: range.map(str::to_owned).or_else(|| core?.range.clone()),
        limit,
        // Replaced by the name of the type in `deepen`, when all types are known.
        inner: flags.contains(&"deep").then(String::new),
    })
}

/// The address of a provider, in quotes.
fn base_url(provider: &str) -> Result<String, String> {
    let dialect = Dialect::parse(provider).map_err(|error| error.to_string())?;
    let url = dialect.info().base_url.ok_or_else(|| format!("{provider} has no address"))?;
    Ok(format!("\"{url}\""))
}

/// Names the type of each member whose value is checked too.
fn deepen(model: &mut Model) -> Result<(), String> {
    let objects: Vec<String> = model
        .declarations
        .iter()
        .filter(|one| matches!(one.form, Form::Object { .. }))
        .map(|one| one.name.clone())
        .collect();
    for declaration in &mut model.declarations {
        let Form::Object { members, .. } = &mut declaration.form else { continue };
        for member in members {
            let Some(inner) = member.inner.as_mut().filter(|inner| inner.is_empty()) else {
                continue;
            };
            let mut named = member.kind.texts().into_iter().flat_map(typescript::names);
            let found = named.find(|name| objects.iter().any(|one| one == name));
            *inner = found
                .ok_or_else(|| format!("{}: `{}` names no table", declaration.name, member.name))?
                .to_owned();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(table: &Table) -> Result<Declaration, String> {
        declaration("turn", table, &model().unwrap())
    }

    #[test]
    fn rows_of_the_core_keep_their_documentation_and_default() {
        let table = table! {
            "Own" {
                /// And more.
                maxSteps from "Policy";
                mode from "TurnOptions" | required;
                readMode: "'auto'" from "Policy" = "none", "few";
            }
        };
        let Form::Object { members, .. } = declared(&table).unwrap().form else { panic!() };
        let [steps, mode, read_mode] = &members[..] else { panic!() };
        assert!(steps.docs.ends_with(". And more.") && steps.docs.len() > 12, "{}", steps.docs);
        assert_eq!(
            (steps.default.as_deref(), steps.range.as_deref()),
            (Some("5"), Some("1 to 1000"))
        );
        assert_eq!((mode.presence, mode.default.as_deref()), (Presence::Required, None));
        assert_eq!(read_mode.kind, Kind::Value("'auto'".to_owned()));
        assert_eq!(
            (read_mode.default.as_deref(), read_mode.range.as_deref()),
            (Some("none"), Some("few"))
        );
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |table: &Table| declared(table).unwrap_err();
        let row = wrong(&table! { "A" { gone from "Policy"; } });
        assert_eq!(row, "A: Policy has no row `gone`");
        assert_eq!(wrong(&table! { "A" { a; } }), "A: `a` has no type");
        assert_eq!(wrong(&table! { "A" { a: "string" | needed; } }), "A: `a`: no flag needed");
    }

    #[test]
    fn types_of_two_rooms_stand_in_common() {
        let model = model().unwrap();
        let room = |name: &str| model.find(name).unwrap().room.clone();
        assert_eq!([room("Dialect"), room("Policy"), room("Keep")], ["common", "turn", "turn"]);
    }
}
