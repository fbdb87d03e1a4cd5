//! A guard with a policy: it judges and settles calls as a host gives them.

use sha2::{Digest, Sha256};

use super::{
    AfterUntrusted, Approval, CallVerdict, Guard, GuardOptions, GuardState, GuardTool, GuardedCall,
    KnownTool, Refusal, Rules, Unread, Window,
};
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Read, names, options, record};
use crate::signature::hex;
use crate::tool::fit_arguments;

options! {
    /// A call of a model, as a host gives it to a guard.
    pub struct GuardCall as "GuardCall" {
        /// The name of the tool.
        name "name": String | required;
        /// The signatures of the call; that of the arguments as they are stands first. Without any,
        /// the call repeats none.
        signatures "signatures": Vec<String>;
        /// Whether the arguments are valid.
        valid "valid": bool = true;
        /// Whether every reader of the call reads the same one.
        clear "clear": bool = true;
        /// Whether the user must approve the call.
        needs_approval "needsApproval": bool = false;
        /// What the user has decided. Default: nothing yet.
        approved "approved": Option<bool>;
    }
}

options! {
    /// A call of the past, whose history a host has.
    pub struct PastCall as "PastCall" {
        /// The name of the tool.
        name "name": String | required;
        /// Its signatures, as those of a call that is judged.
        signatures "signatures": Vec<String>;
        /// Its result: JSON text, or any other text. Default: it has no result.
        result "result": Option<String>;
    }
}

names! {
    /// What to do with a call.
    pub enum GuardAction as "GuardAction", "run, replay, block or ask" {
        /// Execute it.
        Run "run",
        /// Use the outcome of the same earlier call.
        Replay "replay",
        /// Do not execute it.
        Block "block",
        /// Execute it only if the user approves it.
        Ask "ask",
    }
}

record! {
    /// The verdict on a call.
    pub struct GuardVerdict as "GuardVerdict" {
        /// What to do with the call.
        action "action": GuardAction;
        /// Why it is blocked: a `RefusalReason`, or `form` for a call that is not clear.
        reason "reason?": Option<String>;
        /// What the model should read in place of a result.
        notice "notice?": Option<String>;
        /// The number of the call that runs, or whose outcome is used.
        call "call?": Option<u32>;
        /// A list with the outcome that is used. Empty while that call runs.
        outcome "outcome?": Vec<Json<'static>>;
        /// Earlier calls in a row with the same signature and result.
        repeats "repeats": u32;
        /// Equal calls that were judged or recorded, with this one, whatever their results.
        times "times": u32;
        /// How many of them came last, with no other call between them.
        row "row": u32;
    }
}

/// A guard that judges by [`GuardOptions`]. Calls are settled by their signature.
#[derive(Debug, Clone)]
pub struct PolicyGuard {
    options: GuardOptions,
    guard: Guard<Json<'static>>,
    /// The number of the last call.
    last: u32,
    closed: bool,
    /// Whether a tool has returned untrusted text.
    untrusted: bool,
    /// Whether an earlier window has ended.
    later: bool,
    /// The signature of the last call that was judged or recorded, and how many equal ones in a row
    /// it ends.
    row: (String, u32),
}

impl PolicyGuard {
    /// Makes a guard, or restores it if the options have a state.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option.
    pub fn new(json: &Json<'_>) -> Result<Self, Error> {
        let mut options = GuardOptions::blank();
        options.read(json.clone().into_owned(), &At::ROOT)?;
        let guard = Guard::read(&mut options.state)?;
        let state = &mut options.state;
        let row = (std::mem::take(&mut state.last_signature).unwrap_or_default(), state.row);
        let GuardState { closed, untrusted, last, later, .. } = options.state;
        Ok(Self { options, guard, last, closed, untrusted, later, row })
    }

    /// Records calls of a history. Those with a result count as executed.
    ///
    /// # Errors
    /// `options.invalid`
    pub fn record(&mut self, past: Json<'_>) -> Result<(), Error> {
        let mut calls: Vec<PastCall> = Vec::new();
        calls.read(past.into_owned(), &At::top("past"))?;
        for call in calls {
            let signatures: Vec<_> = call.signatures.iter().map(String::as_str).collect();
            self.see(&signatures);
            if let Some(result) = &call.result {
                let json =
                    Json::parse_str(result).unwrap_or_else(|_| Json::string(result.as_str()));
                let result = self.fingerprint(&json);
                self.last = self.last.saturating_add(1);
                self.guard.accept(&signatures, self.last);
                self.guard.count_run(&call.name);
                self.guard.settle(&signatures, self.last, &Json::Null, Some(&result));
            }
        }
        Ok(())
    }

    /// Fits arguments to the `inputSchema` of their tool, as a turn does before it signs and judges a
    /// call: JSON in a string is unwrapped where the schema wants another value, and null for an
    /// optional parameter is left out. Returns whether they were changed; without a schema, never.
    #[must_use]
    pub fn fit(&self, tool: &str, args: &mut Json<'static>) -> bool {
        let schema = self.options.schema(tool);
        schema.is_some() && !fit_arguments(args, schema).is_empty()
    }

    /// Judges a call. One that runs counts from now on.
    ///
    /// # Errors
    /// `options.invalid`
    pub fn judge(&mut self, json: Json<'_>) -> Result<GuardVerdict, Error> {
        let call = read_call(json.into_owned())?;
        let signatures: Vec<_> = call.signatures.iter().map(String::as_str).collect();
        let tool = self.options.tool(&call.name);
        let repeats = tool.as_ref().map(|tool| self.options.repeats(tool)).unwrap_or_default();
        let guarded = GuardedCall {
            tool: tool.as_ref().map(|tool| KnownTool {
                read_only: tool.read_only == Some(true),
                max_calls: tool.max_calls,
                repeats: &repeats,
            }),
            valid: call.valid,
            clear: call.clear,
            approval: self.approval(&call, tool.as_ref()),
            ..GuardedCall::new(&call.name, None, &signatures)
        };
        let in_a_row = self.guard.find(&signatures).map(|entry| entry.in_a_row).max();
        let rules = Rules {
            tools_on: !self.closed,
            allow: self.options.allow.as_deref(),
            reads_only: false,
            budget: self.left(),
            asks_user: true,
        };
        let number = self.last.saturating_add(1);
        let verdict = self.guard.judge(number, &guarded, &rules);
        let mut told = GuardVerdict {
            action: GuardAction::Block,
            reason: None,
            notice: None,
            call: None,
            outcome: Vec::new(),
            repeats: in_a_row.unwrap_or(0),
            times: 0,
            row: 0,
        };
        match verdict {
            CallVerdict::Run | CallVerdict::Recall => {
                self.last = number;
                (told.action, told.call) = (GuardAction::Run, Some(number));
            }
            CallVerdict::Replay(number) => {
                (told.action, told.call) = (GuardAction::Replay, Some(number));
                told.outcome = self.guard.outcome(&signatures).cloned().into_iter().collect();
            }
            CallVerdict::Ask => told.action = GuardAction::Ask,
            CallVerdict::Block(refusal) => {
                told.reason = Some(refusal.name().to_owned());
                let lost = refusal == Refusal::Duplicate
                    && self.guard.find(&signatures).any(super::ledger::Entry::is_lost);
                told.notice = Some(match lost {
                    true => Unread::Lost.notice(&[&call.name]),
                    false => refusal.notice(&[&call.name], self.guard.has_results),
                });
            }
            CallVerdict::BlockUnclear => {
                told.reason = Some(FORM.to_owned());
                told.notice = Some(Unread::Form.notice(&[&call.name]));
            }
        }
        told.times = self.see(&signatures);
        told.row = if signatures.is_empty() { 0 } else { self.row.1 };
        Ok(told)
    }

    /// Records the outcome of a call that runs: of the one that has run longest of those with its
    /// signature. The first outcome of a call stays. Returns the number of the call, if it ran here.
    ///
    /// # Errors
    /// `options.invalid` for a call that was never judged to run in this window.
    pub fn settle(&mut self, json: Json<'_>, outcome: Json<'_>) -> Result<Option<u32>, Error> {
        let call = read_call(json.into_owned())?;
        let signatures: Vec<_> = call.signatures.iter().map(String::as_str).collect();
        let started = self.guard.find(&signatures).any(|entry| entry.accepted > 0);
        if !started && !self.later {
            return Err(Error::option("call", "a call that `judge` let run"));
        }
        let Some(tool) = self.options.tool(&call.name).filter(|_| started) else { return Ok(None) };
        let repeats = self.options.repeats(&tool);
        let result = repeats.iter().any(|repeat| repeat.same_result.is_some());
        let result = result.then(|| self.fingerprint(&outcome));
        let replays = repeats.iter().any(|repeat| repeat.replays);
        let outcome = if replays { outcome.into_owned() } else { Json::Null };
        let open = self.guard.find(&signatures).any(|entry| entry.open() > 0);
        let oldest = self.guard.find(&signatures).find_map(|entry| entry.oldest());
        match oldest {
            Some(number) => self.guard.settle(&signatures, number, &outcome, result.as_deref()),
            None => self.guard.settle_elsewhere(&signatures, &outcome, result.as_deref()),
        }
        self.untrusted |= open && tool.untrusted == Some(true);
        Ok(oldest)
    }

    /// Begins the next turn, or the next turn of the user: calls of an earlier window do not count.
    /// What the user has denied stays denied until the user's next turn.
    pub fn begin(&mut self, next: Window) {
        if next == Window::Session {
            return;
        }
        self.closed = false;
        let ends = match self.options.window {
            Window::Turn => true,
            Window::UserTurn => next == Window::UserTurn,
            Window::Session => false,
        };
        let forgets_denials = next == Window::UserTurn;
        if ends {
            let before = std::mem::take(&mut self.guard);
            self.row = (String::new(), 0);
            self.later = true;
            for (signature, _) in before.entries().filter(|(_, entry)| entry.denied) {
                self.guard.deny(&[signature]);
            }
        }
        if forgets_denials {
            self.guard.entries.iter_mut().for_each(|entry| entry.denied = false);
        }
    }

    /// Ends the tool phase: every later call of the turn is blocked as `tools_disabled`.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Returns how many calls may still be executed.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.options.max_calls.map_or(u32::MAX, |most| most.saturating_sub(self.guard.ran()))
    }

    /// Returns whether calls may still be executed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.closed && self.left() > 0
    }

    /// Returns the state, for the option of this name.
    #[must_use]
    pub fn state(&self) -> GuardState {
        let (calls, runs) = self.guard.write();
        let Self { closed, untrusted, last, later, .. } = *self;
        let (signature, row) = &self.row;
        let last_signature = Some(signature).filter(|_| *row > 0).cloned();
        GuardState { calls, runs, closed, untrusted, last, later, last_signature, row: *row }
    }

    fn approval(&self, call: &GuardCall, tool: Option<&GuardTool>) -> Approval {
        let has_effects = tool.is_some_and(|tool| tool.read_only != Some(true));
        let after = if self.untrusted && has_effects {
            self.options.after_untrusted
        } else {
            AfterUntrusted::Allow
        };
        let needed = call.needs_approval
            || tool.is_some_and(|tool| tool.needs_approval == Some(true))
            || after == AfterUntrusted::Ask;
        match call.approved {
            Some(false) => Approval::Denied,
            _ if after == AfterUntrusted::Deny => Approval::Denied,
            None if needed => Approval::Needed,
            Some(true) | None => Approval::Granted,
        }
    }

    /// Counts an equal call. Equal are those whose arguments are the same as they are.
    fn see(&mut self, signatures: &[&str]) -> u32 {
        let Some(signature) = signatures.first() else {
            self.row.1 = 0;
            return 0;
        };
        if self.row.1 == 0 || self.row.0 != *signature {
            self.row = ((*signature).to_owned(), 0);
        }
        self.row.1 = self.row.1.saturating_add(1);
        let entry = self.guard.entry(signature);
        entry.seen = entry.seen.saturating_add(1);
        entry.seen
    }

    /// What results are compared by: a hash, so that the state has no text of results.
    fn fingerprint(&self, outcome: &Json<'_>) -> String {
        let mut canonical = String::new();
        let text = match outcome.as_str() {
            Some(text) => text,
            None => {
                outcome.write_canonical(&mut canonical);
                &canonical
            }
        };
        let mut hash = Sha256::new();
        for line in text.split_inclusive('\n').filter(|line| self.options.compares(line)) {
            hash.update(line.as_bytes());
        }
        hex(&hash.finalize())
    }
}

/// Reads a call.
fn read_call(json: Json<'static>) -> Result<GuardCall, Error> {
    let mut call = GuardCall::blank();
    call.read(json, &At::top("call"))?;
    Ok(call)
}

/// The reason of a call that is not clear.
const FORM: &str = "form";

/// Returns the notice of calls that were blocked for `reason`: a [`Refusal`], `form` or `unjudged`.
///
/// # Errors
/// `options.invalid` for another reason.
pub fn notice(reason: &str, names: &[&str], has_results: bool) -> Result<String, Error> {
    match reason {
        FORM => Ok(Unread::Form.notice(names)),
        "unjudged" => Ok(Unread::Unjudged.notice(names)),
        _ => Ok(reason.parse::<Refusal>()?.notice(names, has_results)),
    }
}

#[cfg(test)]
mod tests;
