//! Who wants to know later: which tool was used for a plan, when, why and with what.

use serde::Serialize;

use super::super::error::Error;
use super::super::tool::Tool;
use turnlock::json::Json;
use turnlock::planning::{
    Inventory, PassEvent, PassEventKind, PassPhase, Reason, RequestRejection, inventory,
};
use turnlock::stream::TokenUsage;

/// What was done for one plan. Its lists have the entries of all runs, run by run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanAudit {
    /// The plan.
    pub plan_id: String,
    /// The run that it belongs to; `None` without any event of it, and if it has several runs.
    pub run_id: Option<String>,
    /// What asked for it; `None` if the host did not say, and if its runs differ in it.
    pub source: Option<String>,
    /// Every requested call, in order.
    pub calls: Vec<AuditedCall>,
    /// What spoiled requests, or calls of them.
    pub rejected: Vec<RequestRejection>,
    /// What was odd about requests, and did not matter.
    pub notes: Vec<RequestRejection>,
    /// With which prompt, with what in the context, at what cost.
    pub inferences: Vec<AuditedInference>,
    /// The runs, in the order of their first events.
    pub runs: Vec<RunAudit>,
}

/// What was done in one run for a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunAudit {
    /// The run.
    pub run_id: String,
    /// What asked for it, if the host said so.
    pub source: Option<String>,
    /// Every requested call, in order.
    pub calls: Vec<AuditedCall>,
    /// What spoiled requests, or calls of them.
    pub rejected: Vec<RequestRejection>,
    /// What was odd about requests, and did not matter.
    pub notes: Vec<RequestRejection>,
    /// With which prompt, with what in the context, at what cost.
    pub inferences: Vec<AuditedInference>,
}

/// One requested call, from its request to its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedCall {
    /// The tool.
    pub tool_name: String,
    /// Why, in the model's words.
    pub reason: String,
    /// With what.
    pub params: Json<'static>,
    /// The signature of the call.
    pub signature: String,
    /// When it was requested, in milliseconds since 1970.
    #[serde(rename = "requestedAt")]
    pub requested_at: u64,
    /// When it had its result.
    #[serde(rename = "settledAt")]
    pub settled_at: Option<u64>,
    /// A [`Status`](turnlock::tool::Status) by its name: `blocked` and `skipped` calls never ran; or
    /// `pending`, of which no result was recorded.
    pub status: &'static str,
    /// Why it did not run.
    pub refusal: Option<Reason>,
    /// Milliseconds from start to settlement.
    pub duration_ms: Option<u64>,
    /// The result is a recorded one.
    pub replayed: bool,
    /// What came of it.
    pub result_summary: Option<String>,
}

/// One request to the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedInference {
    /// What for.
    pub pass: PassPhase,
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    /// The prompt.
    pub prompt_template_id: String,
    /// Lower-case hex SHA-256 of its text.
    pub prompt_template_hash: String,
    /// Members of `global_context` that were there.
    pub context_flags: Vec<String>,
    /// Its tokens.
    pub usage: Option<TokenUsage>,
    /// The code of the failure, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The audit of a plan, out of trace events that were kept, in their order. Events of other plans
/// are passed over. Runs are kept apart: a result belongs to a call of its own run. For one run
/// alone, see [`PlanAudit::run`].
#[must_use]
pub fn audit_tool_use<'a>(
    events: impl IntoIterator<Item = &'a PassEvent>,
    plan_id: &str,
) -> PlanAudit {
    let mut runs: Vec<RunAudit> = Vec::new();
    for event in events.into_iter().filter(|event| event.plan_id == plan_id) {
        if let Some(run) = runs.iter_mut().find(|run| run.run_id == event.run_id) {
            run.take(event);
        } else {
            let mut run = RunAudit {
                run_id: event.run_id.clone(),
                source: event.source.clone(),
                calls: Vec::new(),
                rejected: Vec::new(),
                notes: Vec::new(),
                inferences: Vec::new(),
            };
            run.take(event);
            runs.push(run);
        }
    }
    let first = runs.first();
    let alone = first.filter(|_| runs.len() == 1);
    let same = first.filter(|first| runs.iter().all(|run| run.source == first.source));
    PlanAudit {
        plan_id: plan_id.to_owned(),
        run_id: alone.map(|run| run.run_id.clone()),
        source: same.and_then(|run| run.source.clone()),
        calls: runs.iter().flat_map(|run| run.calls.clone()).collect(),
        rejected: runs.iter().flat_map(|run| run.rejected.clone()).collect(),
        notes: runs.iter().flat_map(|run| run.notes.clone()).collect(),
        inferences: runs.iter().flat_map(|run| run.inferences.clone()).collect(),
        runs,
    }
}

impl PlanAudit {
    /// The audit of one run.
    #[must_use]
    pub fn run(&self, run_id: &str) -> Option<&RunAudit> {
        self.runs.iter().find(|run| run.run_id == run_id)
    }
}

impl RunAudit {
    fn take(&mut self, event: &PassEvent) {
        match &event.kind {
            PassEventKind::ToolRequest { tool_calls, rejected, notes, .. } => {
                self.notes.extend_from_slice(notes);
                self.rejected.extend_from_slice(rejected);
                self.calls.extend(tool_calls.iter().map(|asked| AuditedCall {
                    tool_name: asked.tool_name.clone(),
                    reason: asked.reason.clone(),
                    params: asked.params.clone(),
                    signature: asked.signature.clone(),
                    requested_at: event.at,
                    settled_at: None,
                    status: match (asked.allowed, asked.refusal) {
                        (true, _) => "pending",
                        (false, Some(Reason::Duplicate)) => "skipped",
                        (false, _) => "blocked",
                    },
                    refusal: asked.refusal,
                    duration_ms: None,
                    replayed: false,
                    result_summary: None,
                }));
            }
            PassEventKind::ToolResult {
                signature,
                duration_ms,
                status,
                replayed,
                result_summary,
                ..
            } => {
                let open =
                    |one: &&mut AuditedCall| one.signature == *signature && one.status == "pending";
                if let Some(call) = self.calls.iter_mut().find(open) {
                    call.status = status.name();
                    call.duration_ms = Some(*duration_ms);
                    call.replayed = *replayed;
                    call.result_summary = Some(result_summary.clone());
                    call.settled_at = Some(event.at);
                }
            }
            PassEventKind::LlmCall {
                prompt_template_id,
                prompt_template_hash,
                context_flags,
                usage,
                error,
                ..
            } => self.inferences.push(AuditedInference {
                pass: event.details.phase,
                at: event.at,
                prompt_template_id: prompt_template_id.clone(),
                prompt_template_hash: prompt_template_hash.clone(),
                context_flags: context_flags.clone(),
                usage: *usage,
                error: error.clone(),
            }),
            // Every event of this version is above.
            _ => {}
        }
    }
}

/// Which tools only read, and how that is known: for a person to review, and for `policy.allow`.
/// See [`inventory`], which takes what MCP servers list as well.
///
/// # Errors
/// `tool.invalid_schema` and `json.*` for a tool that could not be used either.
pub fn inventory_tools(tools: &[Tool]) -> Result<Inventory, Error> {
    let listed: Result<Vec<_>, _> = tools.iter().map(Tool::wire).collect();
    Ok(inventory(&listed?))
}
