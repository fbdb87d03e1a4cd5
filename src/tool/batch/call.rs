//! One call of a batch, from the response to its outcome.

use crate::guard::{Approval, Refusal, plain_name};
use crate::json::table::record;
use crate::json::{Json, one_line, write_string};
use crate::limits;
use crate::signature::Signature;
use crate::stream::TEXT_CALL;
use crate::tool::Outcome;

record! {
    /// The form of a call in events.
    pub struct CallView as "ToolCall" {
        /// The provider's id.
        id "id": String;
        /// The tool.
        name "name": String;
        /// The arguments, or the raw text as a string if it is not a complete JSON object.
        args "args": Json<'static>;
        /// The signature.
        signature "signature": String;
    }
}

impl CallView {
    /// Reads the members that [`CallView::to_json`] returns.
    pub(crate) fn read(json: &Json<'_>) -> Option<Self> {
        let text = |key: &str| json.get(key)?.as_str().map(str::to_owned);
        let args = json.get("args")?.clone().into_owned();
        Some(Self { id: text("id")?, name: text("name")?, args, signature: text("signature")? })
    }
}

/// What is wrong with arguments whose end was not received.
pub(crate) const INCOMPLETE: &str =
    "the arguments are incomplete: the response ends before they do";
/// What is wrong with a call whose response the model could not finish.
pub(crate) const CUT_BY_LIMIT: &str =
    "the output limit of the model cut the response before its end";

/// A call of the model.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The number of the call within its machine, from 1.
    pub(super) number: u32,
    pub(super) view: CallView,
    pub(super) signature: Signature,
    /// The model's own arguments and their signature, if the validator made others of them.
    pub(super) raw: Option<(Json<'static>, Signature)>,
    /// The value of the tool's `action(args)`, which is part of the signature.
    pub(super) action: Option<String>,
    /// The arguments are valid, as far as they were checked.
    pub(super) valid: bool,
    /// What is wrong with them, or why the call was denied.
    pub(super) why: String,
    pub(super) approval: Approval,
    /// The stored outcome of another turn, until the call is judged.
    pub(super) recalled: Option<Outcome>,
    pub(super) read_only: bool,
    pub(super) may_run_again: bool,
    /// The host is asked what became of it, instead of running it.
    pub(super) reconciles: bool,
    pub(super) since: u64,
    pub(super) fate: Fate,
    /// The outcome and its duration in milliseconds.
    pub(super) settled: Option<(Outcome, u64)>,
    /// The outcome is that of the end of all calls, not of the tool.
    pub(super) cut_off: bool,
    /// The outcome was shown.
    pub(super) told: bool,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not judged yet, and may need an input before.
    Unjudged(Option<Need>),
    /// It runs only if the user approves it.
    Waiting,
    /// It is not executed.
    Refused(Refusal),
    /// The host runs it.
    Run(Limits),
    /// The outcome of an earlier call is used.
    Replay,
    /// A stored outcome is used.
    Recall,
}

/// The input that a call needs before it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The host's verdict on its arguments.
    Verdict,
    /// The stored outcome of another turn, or that there is none.
    Outcome,
}

/// The limits of a call that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(super) timeout_ms: u64,
    pub(super) deadline: u64,
    pub(super) result_bytes: u64,
    pub(super) media_bytes: u64,
    /// Whether the provider may load addresses of the result.
    pub(super) urls: bool,
    pub(super) error_bytes: u64,
}

impl Fate {
    /// A stored call that the host ran. It has no limits any more.
    pub(crate) const RUN: Self = Self::Run(Limits {
        timeout_ms: 0,
        deadline: 0,
        result_bytes: 0,
        media_bytes: 0,
        urls: false,
        error_bytes: 0,
    });
}

impl Call {
    /// Makes a call that is not judged yet. `valid`: its arguments are a JSON object.
    pub(crate) fn new(
        number: u32,
        (id, name): (String, String),
        args: Json<'static>,
        valid: bool,
        project: Option<&str>,
    ) -> Self {
        let signature = Signature::new(&name, None, &args, project).as_str().to_owned();
        let view = CallView { id, name, args, signature };
        Self { valid, ..Self::stored(number, view, Fate::Unjudged(None)) }
    }

    /// Whether the model wrote the call into its text.
    pub(crate) fn is_text(&self) -> bool {
        self.view.id.starts_with(TEXT_CALL)
    }

    /// The call runs only if the user approves it.
    pub(crate) fn unapproved(self) -> Self {
        Self { approval: Approval::Needed, ..self }
    }

    /// Makes a call from its stored form.
    pub(crate) fn stored(number: u32, view: CallView, fate: Fate) -> Self {
        let needed = fate == Fate::Waiting;
        Self {
            number,
            signature: Signature::from_stored(&view.signature),
            raw: None,
            view,
            action: None,
            valid: true,
            why: String::new(),
            approval: if needed { Approval::Needed } else { Approval::Granted },
            recalled: None,
            read_only: false,
            may_run_again: false,
            reconciles: false,
            since: 0,
            fate,
            settled: None,
            cut_off: false,
            told: false,
        }
    }

    /// Cuts a long text in place of arguments, which nobody runs. The signature is that of all of it.
    pub(crate) fn shortened(mut self) -> Self {
        if let Json::String(text) = &mut self.view.args
            && text.len() > limits::REFUSED_BYTES
        {
            let bytes = text.len();
            let text = text.to_mut();
            text.truncate(text.floor_char_boundary(limits::REFUSED_BYTES));
            text.push_str(&format!("… ({bytes} bytes)"));
        }
        self
    }

    /// Refuses a call without judging it.
    pub(crate) fn refused(self, refusal: Refusal) -> Self {
        Self { fate: Fate::Refused(refusal), ..self }
    }

    /// Sets what is wrong with the arguments.
    pub(crate) fn because(self, why: String) -> Self {
        Self { why, ..self }
    }

    /// Says that the model's output limit cut the arguments, if they are incomplete.
    pub(super) fn cut_by_limit(&mut self) {
        if self.why == INCOMPLETE {
            CUT_BY_LIMIT.clone_into(&mut self.why);
        }
    }

    /// The notice for the model: what became of these calls, which arguments were wrong and why, and
    /// why a call was denied. A reason may quote arguments, so it is a JSON string.
    pub(crate) fn notice(refusal: Refusal, calls: &[&Self], has_results: bool) -> String {
        let names: Vec<&str> = calls.iter().map(|call| call.view.name.as_str()).collect();
        let mut notice = refusal.notice(&names, has_results);
        let is_denial = refusal == Refusal::NotApproved;
        let explains = is_denial || refusal == Refusal::InvalidArguments;
        for call in calls.iter().filter(|call| explains && !call.why.is_empty()) {
            let name = plain_name(&call.view.name);
            notice.push_str(&match calls {
                [_] if is_denial => " Reason: ".to_owned(),
                _ if is_denial => format!(" Reason ({name}): "),
                _ => format!(" {name}: "),
            });
            write_string(&call.why, &mut notice);
        }
        one_line(notice)
    }

    /// Whether the call is refused, and would be so again, whatever happens in the turn.
    pub(crate) fn is_refused_for_good(&self) -> bool {
        let Fate::Refused(refusal) = self.fate else { return false };
        matches!(refusal, Refusal::InvalidArguments | Refusal::NotApproved | Refusal::UnknownTool)
    }

    /// Whether the call was refused because it is not approved.
    pub(super) fn is_denied(&self) -> bool {
        self.fate == Fate::Refused(Refusal::NotApproved)
    }

    /// Whether another call that is refused for good is the same call. Calls to a tool that does not
    /// exist are the same whatever their arguments are, and so are calls to a tool whose arguments
    /// are not a JSON object: a model that cannot write them varies their text.
    pub(crate) fn is_same_refusal(&self, other: &Self) -> bool {
        let is_unknown = |call: &Self| call.fate == Fate::Refused(Refusal::UnknownTool);
        let is_unread = |call: &Self| {
            call.fate == Fate::Refused(Refusal::InvalidArguments) && call.args_are_unread()
        };
        let same_arguments = self.view.signature == other.view.signature
            || is_unknown(self) && is_unknown(other)
            || is_unread(self) && is_unread(other);
        self.view.name == other.view.name && same_arguments
    }

    /// Whether the arguments are not a JSON object, so that their text stands for them.
    fn args_are_unread(&self) -> bool {
        matches!(self.view.args, Json::String(_))
    }

    /// What is wrong with the arguments, or why the call was denied; empty if unknown.
    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    /// Sets what the tool of a stored call was: read-only, and whether it might run again.
    pub(crate) fn of_tool(self, read_only: bool, may_run_again: bool) -> Self {
        Self { read_only, may_run_again, ..self }
    }

    /// Sets the action, which is part of the signature, and the arguments that the validator
    /// returned.
    pub(crate) fn checked(
        self,
        action: Option<String>,
        args: Option<Json<'static>>,
        project: Option<&str>,
    ) -> Self {
        let sign =
            |args: &Json<'_>| Signature::new(&self.view.name, action.as_deref(), args, project);
        let mut signature = sign(&self.view.args);
        let changed = args.map(|args| (sign(&args), args)).filter(|(one, _)| *one != signature);
        let (mut view, mut raw) = (self.view.clone(), None);
        if let Some((signed, args)) = changed {
            raw = Some((std::mem::replace(&mut view.args, args), signature));
            signature = signed;
        }
        signature.as_str().clone_into(&mut view.signature);
        Self { action, signature, view, raw, ..self }
    }

    /// As [`Call::checked`], in place.
    pub(super) fn take_checked(
        &mut self,
        action: Option<String>,
        args: Option<Json<'static>>,
        project: Option<&str>,
    ) {
        if action.is_some() || args.is_some() {
            *self = self.clone().checked(action, args, project);
        }
    }

    /// Sets the model's own arguments of a stored call, and their signature.
    pub(crate) fn with_raw(self, raw: Option<(Json<'static>, String)>) -> Self {
        Self {
            raw: raw.map(|(args, signature)| (args, Signature::from_stored(&signature))),
            ..self
        }
    }

    /// Sets the action of a stored call.
    pub(crate) fn with_action(self, action: Option<String>) -> Self {
        Self { action, ..self }
    }

    /// The arguments as the model wrote them.
    pub(crate) fn raw_args(&self) -> &Json<'static> {
        self.raw.as_ref().map_or(&self.view.args, |(args, _)| args)
    }

    /// The model's own arguments and their signature, if the validator made others of them.
    pub(crate) fn raw(&self) -> Option<&(Json<'static>, Signature)> {
        self.raw.as_ref()
    }

    /// The signature, and that of the model's own arguments.
    pub(crate) fn signatures(&self) -> impl Iterator<Item = &Signature> {
        [&self.signature].into_iter().chain(self.raw.as_ref().map(|(_, raw)| raw))
    }

    /// As [`Call::signatures`], as texts.
    pub(crate) fn signature_texts(&self) -> Vec<&str> {
        self.signatures().map(Signature::as_str).collect()
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn view(&self) -> &CallView {
        &self.view
    }

    pub(crate) fn action(&self) -> Option<&str> {
        self.action.as_deref()
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn may_run_again(&self) -> bool {
        self.may_run_again
    }

    pub(crate) fn fate(&self) -> Fate {
        self.fate
    }

    /// The outcome and its duration in milliseconds, once the call has settled.
    pub(crate) fn outcome(&self) -> Option<(&Outcome, u64)> {
        self.settled.as_ref().map(|(outcome, duration_ms)| (outcome, *duration_ms))
    }

    /// The limit of the result in bytes, of a call that runs.
    pub(crate) fn result_bytes(&self) -> u64 {
        self.limits().map_or(0, |limits| limits.result_bytes)
    }

    /// The limit of images and files of the result in bytes, of a call that runs.
    pub(crate) fn media_bytes(&self) -> u64 {
        self.limits().map_or(0, |limits| limits.media_bytes)
    }

    /// Whether the outcome was shown.
    pub(crate) fn is_told(&self) -> bool {
        self.told
    }

    pub(crate) fn is_running(&self) -> bool {
        self.limits().is_some()
    }

    /// Whether the host is asked what became of the call, instead of running it.
    pub(crate) fn reconciles(&self) -> bool {
        self.reconciles
    }

    /// Whether an earlier or stored outcome is used instead of an execution.
    pub(crate) fn is_replayed(&self) -> bool {
        matches!(self.fate, Fate::Replay | Fate::Recall)
    }

    /// Whether the outcome is that of the end of all calls, not of the tool.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Whether the outcome comes from outside of the batch's machine.
    pub(crate) fn is_outcome_given(&self) -> bool {
        matches!(self.fate, Fate::Run(_) | Fate::Recall)
    }

    /// Whether the call has or gets a result: it was accepted, or its refusal was answered.
    pub(crate) fn has_result(&self) -> bool {
        self.is_outcome_given() || self.fate == Fate::Replay || self.settled.is_some()
    }

    pub(super) fn limits(&self) -> Option<Limits> {
        match self.fate {
            Fate::Run(limits) if self.settled.is_none() => Some(limits),
            _ => None,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.settled.is_none() && matches!(self.fate, Fate::Run(_) | Fate::Replay | Fate::Recall)
    }
}
