use super::*;
use crate::tool::outcome::UNKNOWN_EFFECT;

#[test]
fn a_call_settles_once_with_its_duration() {
    let tools = registry();
    let mut batch = batch(&[("send", "{}"), ("poll", "{}"), ("put", "{}")]);
    batch.judge(100, &terms(&tools), &mut Guard::default());
    assert_eq!((batch.deadline(), batch.settled_at()), (Some(150), None));
    assert!(!batch.settle(110, 9, ok("1")));
    let long = "x".repeat(30);
    assert!(batch.settle(
        110,
        1,
        Settled::Error { code: "tool.threw".into(), message: long.clone() }
    ));
    assert!(!batch.settle(111, 1, ok("1")), "a second time");
    assert!(batch.settle(112, 2, Settled::Unknown { why: long }));
    assert_eq!((batch.elapsed_ms(113), batch.is_settled()), (13, false));
    assert!(batch.settle(120, 3, ok(&"9".repeat(30))));
    let of = |number| batch.call(number).and_then(Call::outcome).unwrap();
    let error = |number| of(number).0.error.clone().unwrap();
    assert_eq!((error(1).message.len(), of(1).0.status, of(1).1), (20, Status::Error, 10));
    let known = "the tool was started, and whether it finished is not known: ";
    assert_eq!(error(2).message, format!("{known}{}", "x".repeat(20)));
    assert_eq!((of(2).0.status, of(2).0.reconciled, of(2).1), (Status::Unknown, false, 12));
    assert_eq!((of(3).0.truncated, of(3).0.reconciled, of(3).1), (true, false, 20));
    assert_eq!((batch.elapsed_ms(500), batch.deadline()), (20, None), "time rests");
    assert_eq!((batch.is_settled(), batch.settled_at()), (true, Some(120)));
    assert!(batch.calls().iter().all(|call| !call.is_cut_off()));
}

/// The message of a tool with effects that was too late.
fn late_by(time: &str) -> String {
    format!("no result within {time}; whether the tool had its effect is not known")
}

#[test]
fn the_time_of_all_calls_runs_while_any_runs() {
    let tools = registry();
    let terms = Terms { total_ms: 60, ..terms(&tools) };
    let (mut batch, mut guard) = (batch(&[("send", "{}")]), Guard::default());
    batch.judge(0, &terms, &mut guard);
    assert!(batch.settle(40, 1, ok("1")));
    batch.add(call(2, "put", "{}"), 0, None);
    batch.judge(1_000, &terms, &mut guard);
    assert_eq!(batch.deadline(), Some(1_020), "20 ms are left, and the call alone had 50");
    assert!(batch.time_out(1_019).is_empty());
    assert_eq!(batch.time_out(1_020), [2]);
    let late = batch.call(2).unwrap();
    assert!(late.is_cut_off());
    let (outcome, ms) = late.outcome().unwrap();
    assert_eq!((outcome.status, ms), (Status::Timeout, 20));
    let message = &outcome.error.as_ref().unwrap().message;
    assert_eq!(*message, late_by("20 ms, when `policy.total` was over"));
    assert_eq!(batch.elapsed_ms(5_000), 60);

    // A call's own time is over first.
    let mut own = super::batch(&[("small", "{}"), ("send", "{}")]);
    own.judge(0, &terms, &mut Guard::default());
    assert_eq!(own.time_out(5), [1]);
    let late = own.call(1).unwrap();
    let message = &late.outcome().unwrap().0.error.as_ref().unwrap().message;
    assert_eq!((message.as_str(), late.is_cut_off()), (late_by("5 ms").as_str(), false));
    assert_eq!((own.is_settled(), own.deadline()), (false, Some(50)));
    let mut both = super::batch(&[("send", "{}")]);
    both.judge(0, &Terms { total_ms: 50, ..terms }, &mut Guard::default());
    assert_eq!(both.time_out(50), [1]);
    assert!(!both.call(1).unwrap().is_cut_off(), "at the same time, it is its own");
}

#[test]
fn the_end_of_a_machine_settles_what_is_open() {
    let tools = registry();
    let mut calls = vec![call(1, "read", "{}"), call(2, "read", "{}"), call(3, "send", "{}")];
    calls.push(call(4, "unknown", "{}"));
    let mut batch = CallBatch::new(calls, 0, |_| None);
    batch.judge(10, &terms(&tools), &mut Guard::default());
    assert!(batch.settle(15, 3, ok("1")));
    let cancelled = Outcome::failed(Status::Cancelled, "turn.cancelled", "over");
    assert_eq!(batch.cancel(30, &cancelled), [1], "the second one repeats it");
    let statuses: Vec<_> =
        batch.calls().iter().map(|call| call.outcome().map(|(o, ms)| (o.status, ms))).collect();
    let over = Some((Status::Cancelled, 20));
    assert_eq!(statuses, [over, over, Some((Status::Ok, 5)), None]);
    let cut: Vec<_> = batch.calls().iter().map(Call::is_cut_off).collect();
    assert_eq!(cut, [true, true, false, false]);
    assert_eq!(batch.elapsed_ms(99), 20);
}

/// Of a tool with effects it is not known whether it had them, also if it may run again.
#[test]
fn a_cancelled_call_says_that_its_effect_is_unknown() {
    let tools = registry();
    let names = ["read", "send", "put"];
    let cancelled = Outcome::failed(Status::Cancelled, "tool.cancelled", "over");
    let message = |batch: &CallBatch, number| {
        let outcome = batch.call(number).unwrap().outcome().unwrap().0;
        outcome.error.clone().unwrap().message
    };
    let unknown = format!("over; {UNKNOWN_EFFECT}");
    let mut running = batch(&names.map(|name| (name, "{}")));
    running.judge(0, &terms(&tools), &mut Guard::default());
    let mut left = running.clone();
    assert_eq!(running.cancel(5, &cancelled), [1, 2, 3]);
    let messages = [1, 2, 3].map(|number| message(&running, number));
    assert_eq!(messages, ["over".to_owned(), unknown.clone(), unknown.clone()]);
    left.abandon(&cancelled);
    assert_eq!([message(&left, 1), message(&left, 3)], ["over".to_owned(), unknown]);
    // An outcome that is unknown as a whole says so already.
    let mut lost = batch(&[("send", "{}")]);
    lost.judge(0, &terms(&tools), &mut Guard::default());
    lost.cancel(5, &Outcome::failed(Status::Unknown, "tool.outcome_unknown", "elsewhere"));
    assert_eq!(message(&lost, 1), "elsewhere");
}

#[test]
fn a_new_owner_runs_again_what_may_run_twice() {
    let tools = registry();
    let names = ["read", "send", "put", "asks", "poll"];
    let stored = |settled: Option<usize>| {
        let (mut first, mut guard) = (batch(&names.map(|name| (name, "{}"))), Guard::default());
        first.judge(0, &terms(&tools), &mut guard);
        let calls = (1..).zip(first.calls()).map(|(number, one)| {
            let call = Call::stored(number, one.view().clone(), Fate::RUN);
            call.of_tool(one.is_read_only(), one.may_run_again())
        });
        let mut batch = CallBatch::stored(calls.collect());
        assert!(batch.is_judged());
        let told = |id: &str| {
            settled
                .filter(|at| id == format!("id{at}"))
                .map(|_| (Outcome::told(Status::Ok, "t"), 3))
        };
        batch.restore(&mut Guard::default(), told);
        batch
    };
    let statuses = |batch: &CallBatch| -> Vec<Option<Status>> {
        batch.calls().iter().map(|call| Some(call.outcome()?.0.status)).collect()
    };
    let unknown = Some(Status::Unknown);

    let mut taken = stored(Some(5));
    assert_eq!(taken.take_over(9, &terms(&tools)), [1, 3, 4]);
    assert_eq!(statuses(&taken), [None, unknown, None, None, Some(Status::Ok)]);
    let asked: Vec<_> = taken.calls().iter().map(Call::reconciles).collect();
    assert_eq!(asked, [false, false, false, true, false]);
    assert_eq!((taken.deadline(), taken.elapsed_ms(12)), (Some(59), 3));
    assert!(taken.settle(12, 4, ok("1")) && taken.settle(12, 3, ok("1")));
    let reconciled =
        |batch: &CallBatch, number| batch.call(number).unwrap().outcome().unwrap().0.reconciled;
    assert_eq!((reconciled(&taken, 4), reconciled(&taken, 3)), (true, false));

    // What the host cannot tell, and what comes too late or not at all, is unknown.
    let mut taken = stored(None);
    taken.take_over(9, &terms(&tools));
    assert!(taken.settle(12, 4, Settled::Unknown { why: String::new() }));
    assert!(!reconciled(&taken, 4));
    let mut taken = stored(None);
    taken.take_over(9, &terms(&tools));
    assert_eq!(taken.time_out(59), [1, 3, 4]);
    let late = Some(Status::Timeout);
    assert_eq!(statuses(&taken), [late, unknown, late, unknown, unknown]);
    let mut taken = stored(None);
    taken.take_over(9, &terms(&tools));
    let cancelled = Outcome::failed(Status::Cancelled, "turn.cancelled", "over");
    assert_eq!(taken.cancel(20, &cancelled), [1, 3, 4]);
    let over = Some(Status::Cancelled);
    assert_eq!(statuses(&taken), [over, unknown, over, unknown, unknown]);
    let mut left = stored(Some(1));
    left.abandon(&cancelled);
    assert_eq!(statuses(&left), [Some(Status::Ok), unknown, over, unknown, unknown]);

    // A tool that the host declares otherwise now does not run again.
    let mut changed = stored(None);
    let others = Registry::new(vec![ToolSpec::new("read"), ToolSpec::new("put")]).unwrap();
    assert!(changed.take_over(9, &terms(&others)).is_empty());
    assert_eq!(statuses(&changed), [unknown; 5]);
}

#[test]
fn what_was_recorded_counts_instead() {
    let tools = registry();
    let mut batch = batch(&[("send", "{}"), ("poll", "{}")]);
    batch.judge(0, &terms(&tools), &mut Guard::default());
    batch.substitute(1, Ok((Outcome::told(Status::Ok, "was"), 8)));
    batch.substitute(2, Err("no record".to_owned()));
    batch.substitute(3, Err("no record".to_owned()));
    let [first, second] = batch.calls() else { panic!("two") };
    assert_eq!((first.fate(), first.outcome().unwrap().1), (Fate::Recall, 8));
    assert!(matches!(second.fate(), Fate::Run(_)));
    let (missing, ms) = second.outcome().unwrap();
    assert_eq!((missing.error.as_ref().unwrap().code.as_str(), ms), ("replay.miss", 0));
}

#[test]
fn refused_calls_are_grouped_and_may_be_answered() {
    let tools = registry();
    let mut batch =
        batch(&[("unknown", "1"), ("send", "{}"), ("send", "{}"), ("none", "2"), ("send", "{}")]);
    batch.judge(0, &terms(&tools), &mut Guard::default());
    let groups = batch.refused();
    let groups: Vec<_> = groups
        .iter()
        .map(|(reason, calls)| {
            (*reason, calls.iter().map(|call| call.number()).collect::<Vec<_>>())
        })
        .collect();
    let want = [(Refusal::UnknownTool, vec![1, 4]), (Refusal::Duplicate, vec![3, 5])];
    assert_eq!(groups, want);
    assert!(!batch.call(1).unwrap().has_result());
    let mut guard = Guard::default();
    guard.accept(&batch.call(2).unwrap().signature_texts(), 2);
    assert!(batch.settle(0, 2, ok("1")) && batch.settle_replays(&mut guard));
    assert!(!batch.call(3).unwrap().has_result(), "a refused repeat gets no outcome");
    batch.answer_refused(|call, refusal| {
        Outcome::told(Status::Blocked, format!("{} {}", call.number(), refusal.name()))
    });
    let told: Vec<_> = batch
        .calls()
        .iter()
        .map(|call| call.outcome().map(|(o, ms)| (o.for_model(), ms)))
        .collect();
    let blocked = |text: &str| Some((text.to_owned(), 0));
    let want = [
        blocked("1 unknown_tool"),
        blocked("1"),
        blocked("3 duplicate"),
        blocked("4 unknown_tool"),
        blocked("5 duplicate"),
    ];
    assert_eq!(told, want);
    assert!(batch.call(1).unwrap().has_result());
}
