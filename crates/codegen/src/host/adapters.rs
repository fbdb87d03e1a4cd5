//! Other frameworks, protocols and telemetry.

use super::{Table, table};

pub(super) fn tables() -> Vec<Table> {
    vec![
        table! {
            /// The options of `turnlockMiddleware`.
            "AiSdkMiddlewareOptions" for "turnlockMiddleware" {
                /// Maximum calls that are let through behind a message of the user. Then the model
                /// is asked for its answer.
                maxTools: "number" = "1", "from 0";
                /// Tools whose calls may come again with the same arguments.
                allow: "readonly string[]" = "[]";
                /// Whether histories are repaired.
                repair: "boolean" = "true";
                /// Told of each call of the model. Its exceptions are ignored.
                onReport: "(report: MiddlewareReport): void";
            }
        },
        table! {
            /// The options of `mcpTools`.
            "McpToolsOptions" for "mcpTools" {
                /// The tools that are offered, by their name at the server, and what is known of
                /// them. A tool that is not listed is not offered.
                allow: "readonly string[] | Record<string, McpAllowed>" | required;
                /// The fingerprints that the definitions had when they were reviewed: those that
                /// `mcpTools` returns. A definition that differs is not offered.
                pins: "Record<string, string>" = "none: definitions are taken as they are";
                /// Put before the name of each tool, such as `files_`.
                prefix: "string" = "\"\"";
                /// Milliseconds for which an answer of the server is waited for.
                timeoutMs: "number" = "60000", "from 1";
                /// Whether the model gets the images, sounds and files of results. Otherwise it gets
                /// their size.
                data: "boolean" = "true";
                /// Whether the results of the server are trusted: its tools are not `untrusted`.
                trusted: "boolean" = "false";
                /// Told of a definition that differs from its pin or has changed since. Its
                /// exceptions are ignored.
                onDrift: "(drift: McpDrift): void";
            }
        },
        table! {
            /// What a host knows of a tool of an MCP server.
            "McpAllowed" {
                /// Whether the tool changes nothing.
                readOnly: "boolean" = "false";
                /// Whether a repeated call has no further effect.
                idempotent: "boolean" = "false";
                /// Whether the hints of the server decide what is not set here. Pin its definition
                /// then: anybody can write hints.
                trustHints: "boolean" = "false";
                /// Whether the user must approve calls.
                needsApproval: "boolean" = "false";
                /// Maximum calls in one turn.
                maxCalls: "number";
                /// Maximum bytes of a result.
                maxResultBytes: "number";
                /// Timeout of one call.
                timeoutMs: "number" = "`timeoutMs` of all";
            }
        },
        table! {
            /// The options of `openTelemetry`.
            "OtelOptions" for "openTelemetry" {
                /// The module `@opentelemetry/api`.
                api: "OtelApi" | required;
                /// The value of `gen_ai.provider.name`, such as `openai`.
                provider: "string" = "\"turnlock\"";
                /// The name of the model.
                model: "string";
                /// The name of the agent.
                agent: "string" = "\"turnlock\"";
                /// The parent of a turn: `active`, the span that is active where the turn begins, or
                /// none if there is no such span; or `root`, never one. A turn without a parent
                /// begins a trace with a random id. The turn's own id is an attribute.
                parent: "'active' | 'root'" = "\"active\"";
                /// Whether spans of tools have the arguments and results of their calls, which may
                /// hold what users said. They are redacted where the turn or the handler has `redact`.
                content: "boolean" = "false";
                /// Redacts every text of spans and metrics: names and ids, which a model or a client
                /// may have written, and content. What `redact` of a turn or a handler has redacted
                /// needs it no more; names of steps of a chain do.
                redact: "Redactor";
            }
        },
    ]
}
