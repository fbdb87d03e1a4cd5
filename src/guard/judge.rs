//! Judges one call, by the rules of its phase and what is recorded of earlier calls.

use super::{Guard, Refusal, Repeat};

/// The rules of a phase.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Whether the phase has tools at all.
    pub tools_on: bool,
    /// The allowlist; `None` allows every known tool.
    pub allow: Option<&'a [String]>,
    /// Whether only read-only tools are allowed.
    pub reads_only: bool,
    /// The number of executions left.
    pub budget: u32,
    /// Whether the user can be asked for an approval. Otherwise a call that needs one is blocked.
    pub asks_user: bool,
}

/// A call, as far as the guard looks at it.
#[derive(Debug, Clone, Copy)]
pub struct GuardedCall<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// The tool, if it is known.
    pub tool: Option<KnownTool<'a>>,
    /// The signatures of the call. A call repeats those that share one of them.
    pub signatures: &'a [&'a str],
    /// Whether the arguments are valid.
    pub valid: bool,
    /// Whether every reader of the call reads the same one.
    pub clear: bool,
    /// Whether another turn has an outcome that may be used.
    pub known: bool,
    /// Whether the user must approve the call, or has decided on it.
    pub approval: Approval,
}

impl<'a> GuardedCall<'a> {
    /// Makes a call with valid arguments that needs no approval.
    #[must_use]
    pub fn new(name: &'a str, tool: Option<KnownTool<'a>>, signatures: &'a [&'a str]) -> Self {
        let approval = Approval::Granted;
        Self { name, tool, signatures, valid: true, clear: true, known: false, approval }
    }
}

/// What the guard needs to know of a tool.
#[derive(Debug, Clone, Copy)]
pub struct KnownTool<'a> {
    /// Whether it has no side effects.
    pub read_only: bool,
    /// Maximum calls that are executed.
    pub max_calls: Option<u32>,
    /// What counts as a repeat. The first rule that applies decides.
    pub repeats: &'a [Repeat],
}

/// Whether the user must approve a call, or has decided on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// The user denied it.
    Denied,
    /// The user approved it, or no approval is needed.
    Granted,
    /// The user has not decided.
    Needed,
}

/// The decision on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallVerdict {
    /// The call is executed.
    Run,
    /// The stored outcome of another turn is used.
    Recall,
    /// The outcome of this earlier call is used.
    Replay(u32),
    /// The call waits for the user's approval.
    Ask,
    /// The call is not executed.
    Block(Refusal),
    /// The call is not executed: its readers read different calls.
    BlockUnclear,
}

impl Rules<'_> {
    /// Judges a call by its tool alone, without its arguments. `read_only`: whether the tool is,
    /// if it is known.
    #[must_use]
    pub fn by_name(&self, name: &str, read_only: Option<bool>) -> Option<Refusal> {
        if !self.tools_on {
            return Some(Refusal::ToolsDisabled);
        }
        let Some(read_only) = read_only else { return Some(Refusal::UnknownTool) };
        let allowed = self.allow.is_none_or(|allow| allow.iter().any(|other| other == name))
            && (read_only || !self.reads_only);
        (!allowed).then_some(Refusal::NotAllowed)
    }
}

impl<T: Clone> Guard<T> {
    /// Judges a call, and counts it if it runs. `number` refers to the call in
    /// [`CallVerdict::Replay`] and [`Guard::settle`]. A call that is not approved stays denied.
    pub fn judge(&mut self, number: u32, call: &GuardedCall<'_>, rules: &Rules<'_>) -> CallVerdict {
        let verdict = self.verdict(call, rules);
        match verdict {
            CallVerdict::Run => {
                self.accept(call.signatures, number);
                self.count_run(call.name);
            }
            CallVerdict::Recall => self.accept(call.signatures, number),
            CallVerdict::Block(Refusal::NotApproved) => self.deny(call.signatures),
            CallVerdict::Replay(_)
            | CallVerdict::Ask
            | CallVerdict::Block(_)
            | CallVerdict::BlockUnclear => {}
        }
        verdict
    }

    /// The first rule that applies decides.
    fn verdict(&self, call: &GuardedCall<'_>, rules: &Rules<'_>) -> CallVerdict {
        if let Some(refusal) = rules.by_name(call.name, call.tool.map(|tool| tool.read_only)) {
            return CallVerdict::Block(refusal);
        }
        if !call.valid {
            return CallVerdict::Block(Refusal::InvalidArguments);
        }
        let repeats = call.tool.map_or(&[][..], |tool| tool.repeats);
        if let Some(verdict) = repeats.iter().find_map(|rule| self.repeated(call, *rule)) {
            return verdict;
        }
        if !call.clear {
            return CallVerdict::BlockUnclear;
        }
        let most = call.tool.and_then(|tool| tool.max_calls);
        let spent = rules.budget == 0 || most.is_some_and(|most| self.runs(call.name) >= most);
        if spent && !call.known {
            return CallVerdict::Block(Refusal::Budget);
        }
        // What the user has denied is not put to them again.
        if self.is_denied(call.signatures) {
            return CallVerdict::Block(Refusal::NotApproved);
        }
        match call.approval {
            _ if call.known => CallVerdict::Recall,
            Approval::Granted => CallVerdict::Run,
            Approval::Needed if rules.asks_user => CallVerdict::Ask,
            Approval::Needed | Approval::Denied => CallVerdict::Block(Refusal::NotApproved),
        }
    }

    /// The verdict on a call that repeats another one; `None` if the rule does not apply.
    fn repeated(&self, call: &GuardedCall<'_>, rule: Repeat) -> Option<CallVerdict> {
        let number = self.repeats(call.signatures, rule)?;
        if !rule.replays {
            return Some(CallVerdict::Block(Refusal::Duplicate));
        }
        // An outcome that nobody waits for will never be there.
        number.map(CallVerdict::Replay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Dedupe, SameResult};

    const OPEN: Rules<'static> =
        Rules { tools_on: true, allow: None, reads_only: false, budget: 1, asks_user: false };

    fn tool(read_only: bool, repeats: &[Repeat]) -> KnownTool<'_> {
        KnownTool { read_only, max_calls: None, repeats }
    }

    fn executed(number: u32) -> Guard<()> {
        let mut guard = Guard::default();
        guard.accept(&["s"], number);
        guard
    }

    #[test]
    fn the_first_rule_that_applies_decides() {
        use CallVerdict::Block;
        use Refusal::*;
        let (yes, no) = (["read".to_owned()], ["list".to_owned()]);
        let blocks = [Dedupe::Block.repeat().unwrap()];
        #[rustfmt::skip]
        let rows = [
            // tools on, known, allow,      valid, seen,  clear, budget, verdict
            (false, false, None,            false, true,  false, 0, Block(ToolsDisabled)),
            (true,  false, Some(&no[..]),   false, true,  false, 0, Block(UnknownTool)),
            (true,  true,  Some(&no[..]),   false, true,  false, 0, Block(NotAllowed)),
            (true,  true,  Some(&yes[..]),  false, true,  false, 0, Block(InvalidArguments)),
            (true,  true,  Some(&yes[..]),  true,  true,  false, 0, Block(Duplicate)),
            (true,  true,  Some(&yes[..]),  true,  false, false, 0, CallVerdict::BlockUnclear),
            (true,  true,  None,            true,  false, true,  0, Block(Budget)),
            (true,  true,  None,            true,  false, true,  1, CallVerdict::Run),
        ];
        for (tools_on, is_known, allow, valid, seen, clear, budget, want) in rows {
            let rules = Rules { tools_on, allow, budget, ..OPEN };
            let mut guard = if seen { executed(7) } else { Guard::default() };
            let tool_known = is_known.then_some(tool(false, &blocks));
            let call = GuardedCall { valid, clear, ..GuardedCall::new("read", tool_known, &["s"]) };
            assert_eq!(guard.judge(8, &call, &rules), want);
        }
    }

    #[test]
    fn replays_and_stored_outcomes_cost_no_budget() {
        let (replays, spent) = ([Dedupe::Replay.repeat().unwrap()], Rules { budget: 0, ..OPEN });
        let call = GuardedCall::new("read", Some(tool(true, &replays)), &["s"]);
        assert_eq!(executed(7).judge(8, &call, &spent), CallVerdict::Replay(7));
        let known_call = GuardedCall { known: true, ..call };
        assert_eq!(Guard::<()>::default().judge(8, &known_call, &spent), CallVerdict::Recall);
        let this_turn = executed(7).judge(8, &known_call, &spent);
        assert_eq!(this_turn, CallVerdict::Replay(7), "this turn's outcome comes first");
        let polls = GuardedCall { tool: Some(tool(true, &[])), ..call };
        assert_eq!(executed(7).judge(8, &polls, &OPEN), CallVerdict::Run);
    }

    #[test]
    fn tools_have_limits_of_their_own() {
        let mut guard = Guard::<()>::default();
        let twice = KnownTool { max_calls: Some(2), ..tool(false, &[]) };
        let verdicts = ["a", "b", "c"].map(|signature| {
            guard.judge(1, &GuardedCall::new("read", Some(twice), &[signature]), &OPEN)
        });
        let spent = CallVerdict::Block(Refusal::Budget);
        assert_eq!(verdicts, [CallVerdict::Run, CallVerdict::Run, spent]);
        let reads = Rules { reads_only: true, ..OPEN };
        let writes = guard.judge(1, &GuardedCall::new("w", Some(twice), &["d"]), &reads);
        assert_eq!(writes, CallVerdict::Block(Refusal::NotAllowed), "it is not read-only");
    }

    #[test]
    fn approvals() {
        let asks = Rules { asks_user: true, ..OPEN };
        let call = |approval| GuardedCall {
            approval,
            ..GuardedCall::new("send", Some(tool(false, &[])), &["s", "raw"])
        };
        let mut guard = Guard::<()>::default();
        assert_eq!(guard.judge(1, &call(Approval::Needed), &asks), CallVerdict::Ask);
        let not_approved = CallVerdict::Block(Refusal::NotApproved);
        let unasked = guard.clone().judge(1, &call(Approval::Needed), &OPEN);
        assert_eq!(unasked, not_approved);
        assert_eq!(guard.judge(1, &call(Approval::Denied), &asks), not_approved);
        for signatures in [&["s"][..], &["raw", "other"]] {
            let again = GuardedCall { signatures, ..call(Approval::Granted) };
            assert_eq!(guard.judge(2, &again, &asks), not_approved, "it stays denied");
        }
        let spent = Rules { budget: 0, ..asks };
        let refused = guard.judge(2, &call(Approval::Granted), &spent);
        assert_eq!(refused, CallVerdict::Block(Refusal::Budget));
    }

    #[test]
    fn equal_results_in_a_row_are_repeats() {
        for (same_result, running) in [(SameResult::Known, 4), (SameResult::KnownOrRunning, 2)] {
            let repeats = [Repeat { most: 2, same_result: Some(same_result), replays: false }];
            let call = GuardedCall::new("read", Some(tool(false, &repeats)), &["s"]);
            let repeated = CallVerdict::Block(Refusal::Duplicate);
            let mut guard = Guard::<()>::default();
            for (number, result) in [(1, "x"), (2, "y"), (3, "y")] {
                assert_eq!(guard.judge(number, &call, &OPEN), CallVerdict::Run);
                guard.settle(&["s"], number, &(), Some(result));
            }
            assert_eq!(guard.judge(4, &call, &OPEN), repeated);

            let mut guard = Guard::<()>::default();
            let verdicts: Vec<_> =
                (1..=4).map(|number| guard.judge(number, &call, &OPEN)).collect();
            let runs = verdicts.iter().filter(|one| **one == CallVerdict::Run).count();
            assert_eq!(runs, running, "{same_result:?}");
        }
    }

    #[test]
    fn a_replay_has_an_outcome_to_wait_for() {
        let replays = [Dedupe::Replay.repeat().unwrap()];
        let call = GuardedCall::new("read", Some(tool(true, &replays)), &["s"]);
        let mut guard = executed(1);
        guard.leave_running();
        assert_eq!(guard.judge(2, &call, &OPEN), CallVerdict::Run, "its runner is gone");
        let blocks = [Dedupe::Block.repeat().unwrap()];
        let writes = GuardedCall::new("send", Some(tool(false, &blocks)), &["s"]);
        let mut guard = executed(1);
        guard.leave_running();
        let refused = guard.judge(2, &writes, &OPEN);
        assert_eq!(refused, CallVerdict::Block(Refusal::Duplicate), "it may have had its effect");
    }
}
