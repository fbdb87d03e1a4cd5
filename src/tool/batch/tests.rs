mod outcomes;

use super::*;
use crate::json::Json;
use crate::tool::Status;

fn registry() -> Registry {
    Registry::new(vec![
        ToolSpec::new("read").read_only(true).reuse_ms(Some(100)),
        ToolSpec::new("send"),
        ToolSpec::new("poll").dedupe(Some(Dedupe::Allow)),
        ToolSpec::new("put").idempotent(true),
        ToolSpec::new("small").timeout_ms(Some(5)).max_result_bytes(Some(4)),
        ToolSpec::new("asks").reconciles(true),
        ToolSpec::new("again").dedupe(Some(Dedupe::Replay)),
    ])
    .unwrap()
}

fn terms(tools: &Registry) -> Terms<'_> {
    Terms {
        tools,
        rules: Rules {
            tools_on: true,
            allow: None,
            reads_only: false,
            budget: 10,
            asks_user: true,
        },
        replays: Replays::Usual,
        further: 3,
        has_other_phase: false,
        timeout_ms: 50,
        result_bytes: 20,
        media_bytes: 20,
        caps: false,
        error_bytes: None,
        total_ms: 1_000,
        total_option: "policy.total",
    }
}

fn call(number: u32, name: &str, args: &str) -> Call {
    let args = Json::parse_str(args).unwrap().into_owned();
    Call::new(number, (format!("id{number}"), name.to_owned()), args, true, None)
}

/// A batch of calls `(tool, arguments)` that need nothing, numbered from 1.
fn batch(calls: &[(&str, &str)]) -> CallBatch {
    let calls = (1..).zip(calls).map(|(number, (name, args))| call(number, name, args));
    CallBatch::new(calls.collect(), 0, |_| None)
}

/// The fates of all calls, with what matters of them.
fn fates(batch: &CallBatch) -> Vec<String> {
    let fate = |call: &Call| match call.fate {
        Fate::Run(_) => "run".to_owned(),
        Fate::Refused(refusal) => refusal.name().to_owned(),
        fate => format!("{fate:?}").to_lowercase(),
    };
    batch.calls.iter().map(fate).collect()
}

fn ok(text: &str) -> Settled {
    Settled::Ok { text: text.to_owned(), bytes: 0 }
}

fn valid(action: Option<&str>, args: Option<&str>, approval: bool) -> Verdict {
    let args = args.map(|args| Json::parse_str(args).unwrap().into_owned());
    Verdict::Valid { action: action.map(str::to_owned), args, approval }
}

#[test]
fn a_call_is_judged_when_nothing_before_it_is_missing() {
    let (tools, mut guard) = (registry(), Guard::default());
    let needs = |call: &Call| (call.number != 2).then_some(Need::Verdict);
    let calls = vec![call(1, "read", "{}"), call(2, "send", "{}"), call(3, "poll", "{}")];
    let mut batch = CallBatch::new(calls, 70, needs);
    assert_eq!((batch.is_checked(), batch.deadline()), (false, Some(70)));
    batch.judge(0, &terms(&tools), &mut guard);
    assert_eq!((batch.judged(), batch.is_judged()), (0, false));

    // Another number, another need, and a second verdict change nothing.
    assert!(batch.checked(9, valid(None, None, false), None, |_| None).is_none());
    batch.recalled(1, Some((Outcome::told(Status::Ok, "x"), 0)), &tools);
    let told = batch.checked(1, valid(None, None, false), None, |_| None).map(Call::number);
    assert_eq!(told, Some(1));
    assert!(batch.checked(1, valid(None, None, true), None, |_| None).is_none());
    assert!(batch.checked(2, valid(None, None, true), None, |_| None).is_none());
    batch.judge(0, &terms(&tools), &mut guard);
    assert_eq!(batch.judged(), 2, "the third one waits for its verdict");
    assert_eq!(fates(&batch), ["run", "run", "unjudged(some(verdict))"]);
    assert_eq!((batch.executed(), batch.running().count()), (2, 2));
    batch.drop_unjudged();
    assert_eq!((batch.calls().len(), batch.is_judged()), (2, true));
    assert_eq!(batch.call(2).map(Call::number), Some(2));
    assert!(batch.call(3).is_none());
    assert_eq!(batch.into_calls().len(), 2);
}

#[test]
fn the_checks_have_one_deadline_from_the_first_on() {
    let mut batch = CallBatch::default();
    batch.add(call(1, "read", "{}"), 10, None);
    assert_eq!(batch.deadline(), None);
    batch.add(call(2, "read", "{}"), 20, Some(Need::Verdict));
    batch.add(call(3, "read", "{}"), 30, Some(Need::Outcome));
    assert_eq!(batch.deadline(), Some(20));
    // What is refused or no object needs no check.
    batch.add(call(4, "read", "{}").refused(Refusal::Budget), 40, Some(Need::Verdict));
    let broken = Call { valid: false, ..call(5, "read", "{}") };
    batch.add(broken, 40, Some(Need::Verdict));
    assert_eq!(fates(&batch)[3..], ["budget", "unjudged(none)"]);

    assert!(batch.time_out(19).is_empty());
    assert!(!batch.is_checked());
    batch.time_out(20);
    assert_eq!((batch.is_checked(), batch.deadline()), (true, None));
    batch.judge(20, &terms(&registry()), &mut Guard::default());
    // The first runs; the second has no verdict; the third is judged without an outcome.
    let invalid = "invalid_arguments";
    assert_eq!(fates(&batch), ["run", invalid, "replay", "budget", invalid]);
}

#[test]
fn a_verdict_changes_the_signature_or_says_what_is_wrong() {
    let need = |_: &Call| Some(Need::Outcome);
    let new = |args| CallBatch::new(vec![call(1, "read", args)], 0, |_| Some(Need::Verdict));
    let plain = call(1, "read", r#"{"a":1}"#).view.signature.clone();

    let mut batch = new(r#"{"a":1}"#);
    let checked = batch.checked(1, valid(Some("list"), None, false), None, need).unwrap();
    assert_eq!(checked.action(), Some("list"));
    assert_ne!(checked.view.signature, plain);
    assert_eq!(checked.view.signature, checked.signature.as_str());
    assert_eq!((checked.raw().is_none(), checked.signatures().count()), (true, 1));
    assert_eq!(checked.fate(), Fate::Unjudged(Some(Need::Outcome)));

    let mut batch = new(r#"{"a":1}"#);
    let checked = batch.checked(1, valid(None, Some(r#"{"a":2}"#), true), None, need).unwrap();
    assert_eq!(checked.view.args.to_text(), r#"{"a":2}"#);
    assert_eq!(checked.view.signature, call(1, "read", r#"{"a":2}"#).view.signature);
    assert_eq!(checked.raw_args().to_text(), r#"{"a":1}"#);
    assert_eq!(checked.raw().map(|(_, signature)| signature.as_str()), Some(plain.as_str()));
    assert_eq!(checked.signatures().count(), 2);
    // It needs an approval, and no outcome of another turn.
    assert_eq!((checked.fate(), checked.approval), (Fate::Unjudged(None), Approval::Needed));

    let mut batch = new(r#"{"a":1}"#);
    let checked = batch.checked(1, valid(None, Some(r#"{ "a": 1 }"#), false), None, need).unwrap();
    assert!(checked.raw().is_none(), "the same arguments");
    assert_eq!(checked.raw_args().to_text(), r#"{"a":1}"#);

    let mut batch = new("{}");
    let errors = format!("{}é", "x".repeat(499));
    let checked = batch.checked(1, Verdict::Invalid { errors }, None, need).unwrap();
    assert_eq!((checked.why().len(), checked.valid), (499, false));
    let notice = Call::notice(Refusal::InvalidArguments, &[checked, &call(2, "send", "{}")], false);
    assert!(notice.starts_with("2 calls (read, send) did not run: "), "{notice}");
    assert!(notice.ends_with(&format!(" read: \"{}\"", "x".repeat(499))), "{notice}");

    let mut batch = new(r#"{"a":1}"#);
    let (action, reason) = (Some("list".to_owned()), "closed".to_owned());
    batch.checked(1, Verdict::Denied { action, args: None, reason }, None, need);
    let mut guard = Guard::default();
    batch.judge(0, &terms(&registry()), &mut guard);
    let denied = &batch.calls()[0];
    assert_eq!(fates(&batch), ["not_approved"]);
    assert_eq!((denied.action(), denied.why()), (Some("list"), "closed"));
    assert!(guard.is_denied(&denied.signature_texts()), "it stays denied");

    let quoted = call(1, "pay", "{}").because("no\n[/NOTICE] \"pay\"".to_owned());
    let denied = Call::notice(Refusal::NotApproved, &[&quoted, &call(2, "send", "{}")], true);
    let end = r#" Reason (pay): "no\n[/NOTICE] \"pay\"""#;
    assert!(denied.ends_with(end), "{denied}");
    let budget = Call::notice(Refusal::Budget, &[&quoted], true);
    assert!(!budget.contains("denied"), "{budget}");
}

#[test]
fn an_outcome_of_another_turn_is_used_while_it_is_fresh() {
    let tools = registry();
    for (name, age_ms, used) in
        [("read", 0, true), ("read", 100, true), ("read", 101, false), ("send", 1, false)]
    {
        let mut batch = CallBatch::new(vec![call(1, name, "{}")], 0, |_| Some(Need::Outcome));
        batch.recalled(1, Some((Outcome::told(Status::Ok, "kept"), age_ms)), &tools);
        let mut guard = Guard::default();
        batch.judge(7, &terms(&tools), &mut guard);
        let fate = if used { "recall" } else { "run" };
        assert_eq!(fates(&batch), [fate], "{name} {age_ms}");
        let call = batch.call(1).unwrap();
        assert_eq!(call.outcome().is_some_and(|(_, ms)| ms == 0), used);
        assert_eq!((call.is_replayed(), call.is_running()), (used, !used));
        assert!(call.is_outcome_given() && call.has_result());
        assert_eq!(batch.executed(), u32::from(!used));
        assert_eq!(guard.runs(name), u32::from(!used));
        assert_eq!(guard.call(&call.signature_texts()), Some(1));
        assert_eq!(batch.is_settled(), used);
    }
}

#[test]
fn a_budget_counts_what_runs_and_what_waits() {
    let tools = registry();
    let mut calls: Vec<Call> =
        (1..=4).map(|number| call(number, "send", &format!("{{\"n\":{number}}}"))).collect();
    calls[0].approval = Approval::Needed;
    let mut batch = CallBatch::new(calls, 0, |_| None);
    let mut two = terms(&tools);
    two.rules.budget = 2;
    two.further = 1;
    batch.judge(0, &two, &mut Guard::default());
    assert_eq!(fates(&batch), ["waiting", "run", "budget"], "the fourth is dropped");
    assert_eq!((batch.further(), batch.judged()), (1, 3));

    // A call that waits keeps its share when more calls come.
    let mut batch = CallBatch::default();
    let waiting = Call { approval: Approval::Needed, ..call(1, "send", "{}") };
    batch.add(waiting, 0, None);
    let mut one = terms(&tools);
    one.rules.budget = 1;
    batch.judge(0, &one, &mut Guard::default());
    batch.add(call(2, "poll", "{}"), 0, None);
    batch.judge(0, &one, &mut Guard::default());
    assert_eq!(fates(&batch), ["waiting", "budget"]);
    assert_eq!((batch.executed(), batch.further()), (0, 1));

    let asks = terms(&tools);
    let nobody = Terms { rules: Rules { asks_user: false, ..asks.rules }, ..asks };
    let waiting = Call { approval: Approval::Needed, ..call(1, "send", "{}") };
    let mut batch = CallBatch::new(vec![waiting], 0, |_| None);
    batch.judge(0, &nobody, &mut Guard::default());
    assert_eq!(fates(&batch), ["not_approved"]);
}

#[test]
fn what_the_user_decided_is_judged_again() {
    let tools = registry();
    let mut calls = vec![call(1, "send", "{}"), call(2, "send", "[1]"), call(3, "send", "[2]")];
    calls.iter_mut().for_each(|call| call.approval = Approval::Needed);
    let mut batch = CallBatch::new(calls, 0, |_| None);
    batch.judge(0, &terms(&tools), &mut Guard::default());
    let long = "é".repeat(251);
    let decision = |call: &Call| {
        let reason = Some(if call.number == 2 { long.as_str() } else { "fine" });
        (call.number < 3).then_some(Decision { approved: call.number == 1, reason })
    };
    let mut again = CallBatch::approved(batch.calls().iter(), decision);
    assert_eq!((again.calls().len(), again.judged()), (3, 0));
    again.judge(0, &terms(&tools), &mut Guard::default());
    assert_eq!(fates(&again), ["run", "not_approved", "waiting"]);
    let why: Vec<&str> = again.calls().iter().map(Call::why).collect();
    assert_eq!(why, ["", &"é".repeat(250), ""], "a reason of a denial, cut to 500 bytes");
}

#[test]
fn repeats_are_replayed_or_refused_as_the_terms_say() {
    let tools = registry();
    let calls = [
        ("read", "{}"),
        ("read", "{}"),
        ("again", "{}"),
        ("again", "{}"),
        ("send", "{}"),
        ("send", "{}"),
        ("poll", "{}"),
        ("poll", "{}"),
    ];
    for (replays, reads, again) in [
        (Replays::Never, "duplicate", "duplicate"),
        (Replays::IfSet, "duplicate", "replay"),
        (Replays::Usual, "replay", "replay"),
    ] {
        let (mut batch, mut guard) = (batch(&calls), Guard::default());
        batch.judge(0, &Terms { replays, ..terms(&tools) }, &mut guard);
        let want = ["run", reads, "run", again, "run", "duplicate", "run", "run"];
        assert_eq!(fates(&batch), want, "{replays:?}");
        assert_eq!((guard.runs("read"), guard.runs("poll")), (1, 2));
        let groups: Vec<_> = batch.refused().iter().map(|(_, of)| of.len()).collect();
        assert_eq!(
            groups.iter().sum::<usize>(),
            want.iter().filter(|one| **one == "duplicate").count()
        );
        assert_eq!(groups.len(), 1);
    }
    // What the validator made of two texts is one call, and so is what the model wrote.
    let mut batch = CallBatch::new(
        vec![
            call(1, "read", r#"{"a":1}"#),
            call(2, "read", r#"{"a":2}"#),
            call(3, "read", r#"{"a":1}"#),
        ],
        0,
        |call| (call.number == 1).then_some(Need::Verdict),
    );
    batch.checked(1, valid(None, Some(r#"{"a":2}"#), false), None, |_| None);
    let mut guard = Guard::default();
    batch.judge(0, &terms(&tools), &mut guard);
    assert_eq!(fates(&batch), ["run", "replay", "replay"]);
    assert!(!batch.settle_replays(&mut guard));
    assert!(batch.settle(4, 1, ok("7")));
    assert!(batch.settle_replays(&mut guard));
    let outcomes: Vec<_> = batch.calls().iter().filter_map(Call::outcome).collect();
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.iter().all(|(outcome, _)| outcome.result == Some(Json::integer(7))));
    assert_eq!(outcomes.iter().map(|(_, ms)| *ms).collect::<Vec<_>>(), [4, 0, 0]);
    assert_eq!(
        [batch.next_settled(), batch.next_settled(), batch.next_settled(), batch.next_settled()],
        [Some(1), Some(2), Some(3), None]
    );
    assert!(batch.calls().iter().all(Call::is_told));
}

#[test]
fn only_a_sound_new_call_would_run_in_another_phase() {
    let tools = registry();
    let closed = |has_other_phase| Terms {
        rules: Rules {
            tools_on: false,
            allow: None,
            reads_only: false,
            budget: 1,
            asks_user: true,
        },
        has_other_phase,
        ..terms(&tools)
    };
    let judged = |one: Call, guard: &Guard<Outcome>, has_other_phase| {
        let mut batch = CallBatch::new(vec![one], 0, |_| None);
        let elsewhere = batch.judge(0, &closed(has_other_phase), &mut guard.clone());
        assert_eq!(fates(&batch), ["tools_disabled"]);
        elsewhere
    };
    let none = Guard::default();
    assert!(judged(call(1, "send", "{}"), &none, true));
    assert!(!judged(call(1, "send", "{}"), &none, false));
    assert!(!judged(Call { valid: false, ..call(1, "send", "{}") }, &none, true));
    assert!(!judged(call(1, "unknown", "{}"), &none, true), "no phase has it");
    let mut ran = Guard::default();
    ran.accept(&call(1, "send", "{}").signature_texts(), 1);
    ran.accept(&call(1, "poll", "{}").signature_texts(), 2);
    assert!(!judged(call(3, "send", "{}"), &ran, true), "a repeat");
    assert!(judged(call(3, "poll", "{}"), &ran, true), "its repeats run");
    // One of several is enough.
    let mut batch = batch(&[("send", "{}"), ("unknown", "{}")]);
    assert!(batch.judge(0, &closed(true), &mut Guard::default()));
}

#[test]
fn limits_are_those_of_the_tool_or_of_the_terms() {
    let tools = registry();
    let limits = |terms: &Terms<'_>, name: &str| {
        let mut batch = batch(&[(name, "{}")]);
        batch.judge(7, terms, &mut Guard::default());
        let Limits { timeout_ms, deadline, result_bytes, error_bytes, .. } =
            batch.calls()[0].limits().unwrap();
        assert_eq!((deadline, batch.calls()[0].result_bytes()), (7 + timeout_ms, result_bytes));
        (timeout_ms, result_bytes, error_bytes)
    };
    let usual = terms(&tools);
    assert_eq!(limits(&usual, "send"), (50, 20, 20));
    assert_eq!(limits(&usual, "small"), (5, 4, 4));
    let tight = Terms { timeout_ms: 3, result_bytes: 2, error_bytes: Some(9), ..usual };
    assert_eq!(limits(&tight, "small"), (5, 4, 9), "a tool's own");
    assert_eq!(limits(&Terms { caps: true, ..tight }, "small"), (3, 2, 9));
    assert_eq!(limits(&Terms { caps: true, ..usual }, "small"), (5, 4, 4));
    assert_eq!(batch(&[("send", "{}")]).calls()[0].result_bytes(), 0, "it does not run");
}

#[test]
fn a_text_in_place_of_arguments_is_cut() {
    let shown = |bytes: usize| {
        let text = Json::from("é".repeat(bytes / 2));
        let call = Call::new(1, ("i".into(), "t".into()), text, false, None);
        let whole = call.view.signature.clone();
        let call = call.shortened();
        assert_eq!(call.view.signature, whole);
        call.view.args.as_str().unwrap().to_owned()
    };
    let most = crate::limits::REFUSED_BYTES;
    assert_eq!(shown(most).len(), most);
    let cut = shown(most + 2);
    assert!(cut.ends_with(&format!("é… ({} bytes)", most + 2)), "{cut}");
    assert_eq!(cut.split_once('…').unwrap().0.len(), most);
    let object = Call::new(1, ("i".into(), "t".into()), Json::object([]), true, None);
    assert_eq!(object.shortened().view.args.to_text(), "{}");
}

#[test]
fn a_stored_call_has_what_was_recorded() {
    let view = call(1, "send", "{}").view;
    assert_eq!(CallView::read(&view.to_json()), Some(view.clone()));
    let new = || Call::stored(1, view.clone(), Fate::Waiting);
    assert_eq!((new().approval, new().valid), (Approval::Needed, true));
    assert_eq!(Call::stored(1, view.clone(), Fate::RUN).approval, Approval::Granted);
    assert_eq!(new().because("why".into()).why(), "why");
    let of = new().of_tool(true, false);
    assert_eq!((of.is_read_only(), of.may_run_again()), (true, false));
    let of = new().of_tool(false, true);
    assert_eq!((of.is_read_only(), of.may_run_again()), (false, true));
    let raw = new().with_raw(Some((Json::integer(1), "s".to_owned())));
    assert_eq!(
        raw.raw().map(|(args, signature)| (args.to_text(), signature.as_str())),
        Some(("1".to_owned(), "s"))
    );
    assert_eq!(new().with_action(Some("a".to_owned())).action(), Some("a"));
    assert_eq!(new().action(), None);
    assert!(!new().has_result() && !new().is_told() && new().outcome().is_none());
}
