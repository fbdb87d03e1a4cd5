// The bugs that are planted in the core: a name, a file in `src`, the exact text of a rule there,
// and what stands in its place. `planted("…")` is true while the bug of this name is planted.
const planted = (name) => `crate::planted::planted("${name}")`

/** A condition that holds also, or no longer, while the bug is planted. */
const or = (name, condition) => `(${condition}) || ${planted(name)}`
const unless = (name, condition) => `(${condition}) && !${planted(name)}`

const bug = (name, file, find, replacement) => ({
  name,
  file: `src/${file}`,
  find,
  replace: replacement(name),
})

const JUDGE = 'guard/judge.rs'
const BATCH = 'tool/batch/mod.rs'
const OUTCOMES = 'tool/batch/outcomes.rs'
const CALLS = 'turn/record/calls/settle.rs'
const EMIT = 'turn/record/emit.rs'
const MACHINE = 'turn/machine.rs'
const DURABLE = 'turn/durable/mod.rs'
const JOURNAL = 'turn/durable/journal.rs'
const RESTORE = 'turn/restore.rs'
const RESUME = 'turn/durable/resume.rs'
const SNAPSHOT = 'turn/durable/snapshot.rs'

export const bugs = [
  bug(
    'a call without outcome runs again',
    OUTCOMES,
    'let may_run = call.may_run_again && tool.is_some_and(ToolSpec::may_run_again);',
    (name) =>
      `let may_run = (call.may_run_again && tool.is_some_and(ToolSpec::may_run_again))
                || (tool.is_some() && ${planted(name)});`,
  ),
  bug(
    'a denied call runs',
    JUDGE,
    'Approval::Granted => CallVerdict::Run,',
    (name) => `Approval::Granted => CallVerdict::Run,
            Approval::Denied if ${planted(name)} => CallVerdict::Run,`,
  ),
  bug(
    'a late result changes the outcome',
    OUTCOMES,
    `let running = |call: &&mut Call| call.number == number && call.limits().is_some();
        let Some(call) = self.calls.iter_mut().find(running) else { return false };`,
    (name) => `let late = ${planted(name)};
        let running =
            |call: &&mut Call| call.number == number && (late || call.limits().is_some());
        let Some(call) = self.calls.iter_mut().find(running) else { return false };
        if late {
            call.settled = None;
        }`,
  ),
  bug(
    'a number is given twice',
    RESUME,
    'progress.seq = seq;',
    (name) => `progress.seq = seq - u64::from(${planted(name)});`,
  ),
  bug(
    'a request before the turn is ours',
    JOURNAL,
    'Effect::Fetch { .. } if self.ours =>',
    (name) => `Effect::Fetch { .. } if ${or(name, 'self.ours')} =>`,
  ),
  bug(
    'a resumed phase has its budget anew',
    SNAPSHOT,
    'small("executed")?',
    (name) => `if ${planted(name)} { 0 } else { small("executed")? }`,
  ),
  bug(
    'a resumed turn forgets what ran',
    BATCH,
    'guard.accept(&call.signature_texts(), call.number);',
    (name) => `if call.fate == Fate::Recall || !${planted(name)} {
                guard.accept(&call.signature_texts(), call.number);
            }`,
  ),
  bug(
    'a resumed turn keeps the wire of its first model',
    RESTORE,
    'turn.dialect = self.dialect.unwrap_or(turn.dialect);',
    (name) => `if !${planted(name)} {
            turn.dialect = self.dialect.unwrap_or(turn.dialect);
        }`,
  ),
  bug(
    'a start without a claim',
    DURABLE,
    'journal.record(name, records::claim(idempotency_key));',
    (name) => `if !${planted(name)} {
                    journal.record(name, records::claim(idempotency_key));
                }`,
  ),
  bug(
    'a stop leaves tools running',
    MACHINE,
    'calling.cancel(end.is_elsewhere(), &mut self.record);',
    (name) => `if !${planted(name)} {
                    calling.cancel(end.is_elsewhere(), &mut self.record);
                }`,
  ),
  bug(
    'a stopped turn is a conflict',
    RESUME,
    '"cancelled" =>',
    (name) => `"cancelled" if !${planted(name)} =>`,
  ),
  bug(
    'a store that fails counts as kept',
    JOURNAL,
    'if attempt >= ATTEMPTS {',
    (name) => `if attempt >= ATTEMPTS && ${planted(name)} {
                    self.committed(now);
                    return None;
                }
                if attempt >= ATTEMPTS {`,
  ),
  bug(
    'a tool starts before its claim is kept',
    JOURNAL,
    '            Effect::Repair { .. }\n',
    (name) => `            Effect::RunTool { .. } if ${planted(name)} => {
                self.ready.push_back(effect);
            }
            Effect::Repair { .. }
`,
  ),
  bug(
    'a trace has arguments',
    EMIT,
    'self.trace(TraceEventKind::ToolCall { call: traced(call) });',
    (name) => `let mut own = traced(call);
        if ${planted(name)} {
            own.tool_name.push_str(&call.view().args.to_text());
        }
        self.trace(TraceEventKind::ToolCall { call: own });`,
  ),
  bug('a turn is never over', DURABLE, 'self.turn.end().is_none_or(End::is_open)', (name) =>
    or(name, 'self.turn.end().is_none_or(End::is_open)'),
  ),
  bug(
    'an approval fits any call',
    MACHINE,
    '|one| one.signature == signature',
    (name) => `|one| ${or(name, 'one.signature == signature')}`,
  ),
  bug(
    'an event is shown before it is kept',
    JOURNAL,
    'gathering.last_seq = event.seq;',
    (name) => `gathering.last_seq = event.seq;
                if ${planted(name)} {
                    return self.ready.push_back(Effect::Emit(event));
                }`,
  ),
  bug(
    'an outcome of any age',
    BATCH,
    '|(_, age_ms)| *age_ms <= limit',
    (name) => `|(_, age_ms)| ${or(name, '*age_ms <= limit')}`,
  ),
  bug(
    'an owner shows no life',
    JOURNAL,
    'self.last.saturating_add(self.keep.lease_ms / 3)',
    (name) => `if ${planted(name)} {
            return u64::MAX;
        }
        self.last.saturating_add(self.keep.lease_ms / 3)`,
  ),
  bug(
    'each start has its own key',
    CALLS,
    'tenant(options).to_owned().into(),',
    (name) => `if ${planted(name)} {
                options.keep.as_ref().map_or("", |keep| keep.owner.as_str())
            } else {
                tenant(options)
            }
            .to_owned()
            .into(),`,
  ),
  bug(
    'kept outcomes are forgotten',
    RESUME,
    'kept.record(&records::outcome_name(batch, call))',
    (name) => `kept.record(&records::outcome_name(batch, call)).filter(|_| !${planted(name)})`,
  ),
  bug(
    'kept text is not part of the whole',
    RESUME,
    'progress.shown.push_str(chunk);',
    (name) => `if !${planted(name)} {
                progress.shown.push_str(chunk);
            }`,
  ),
  bug(
    'no lease',
    RESUME,
    'stored.idle_ms.is_none_or(|idle_ms| idle_ms >= state.lease_ms)',
    (name) => or(name, 'stored.idle_ms.is_none_or(|idle_ms| idle_ms >= state.lease_ms)'),
  ),
  bug(
    'what was not shown counts as shown',
    DURABLE,
    'journal.unseen()',
    (name) => `if ${planted(name)} { 0 } else { journal.unseen() }`,
  ),
  bug(
    'what was shown is not counted',
    RESUME,
    'state.status == "running" && !state.keeps_text',
    (name) => unless(name, 'state.status == "running" && !state.keeps_text'),
  ),
  bug(
    'who slept does not ask',
    JOURNAL,
    'now.saturating_sub(flight.made) >= self.keep.lease_ms',
    (name) => unless(name, 'now.saturating_sub(flight.made) >= self.keep.lease_ms'),
  ),
]

/**
 * Bugs of what the simulation of durable turns does not have: fallbacks, a second turn, and a model
 * that goes wrong in the same way twice.
 */
export const others = [
  bug(
    'a denied call is put to the user again',
    JUDGE,
    'if self.is_denied(call.signatures) {',
    (name) => `if ${unless(name, 'self.is_denied(call.signatures)')} {`,
  ),
  bug(
    'a resumed turn forgets a denial',
    BATCH,
    'denied.for_each(|call| guard.deny(&call.signature_texts()));',
    (name) => `if !${planted(name)} {
            denied.for_each(|call| guard.deny(&call.signature_texts()));
        }`,
  ),
  bug(
    'a call that is refused again does not end the tool phase',
    'turn/phase.rs',
    'calls.is_spent || calls.is_refused_again',
    (name) => `calls.is_spent || (${unless(name, 'calls.is_refused_again')})`,
  ),
  bug(
    'an empty first response is an answer',
    'turn/record/mod.rs',
    'needs_output: self.progress.inferences == 1,',
    (name) => `needs_output: ${unless(name, 'self.progress.inferences == 1')},`,
  ),
  bug(
    'an error ends the calls before it',
    'provider/chat/stream/mod.rs',
    'FinishReason::Stop | FinishReason::ToolCalls => self.calls.finish(out),',
    (name) => `FinishReason::Error if ${planted(name)} => self.calls.end(out),
            FinishReason::Stop | FinishReason::ToolCalls => self.calls.finish(out),`,
  ),
  bug(
    'the last step offers tools',
    'turn/phase.rs',
    'is_only_step || self.budget(policy) > 0',
    (name) => or(name, 'is_only_step || self.budget(policy) > 0'),
  ),
  bug(
    'a resumed turn asks the first model again',
    RESUME,
    'if state.status == "failed" { 0 } else { progress.model }',
    (name) => `if ${or(name, 'state.status == "failed"')} { 0 } else { progress.model }`,
  ),
  bug(
    'a turn says of no call that it failed',
    'turn/prompt.rs',
    'failed: *failed,',
    (name) => `failed: ${unless(name, '*failed')},`,
  ),
]
