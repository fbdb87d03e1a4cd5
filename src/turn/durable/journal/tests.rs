use super::super::super::event::{Event, PhaseName};
use super::super::super::protocol::CancelReason;
use super::*;
use crate::json::Json;

fn keep() -> Keep {
    Keep { owner: "o".to_owned(), ..Keep::default() }
}

fn event(seq: u64, kind: EventKind) -> Effect {
    let (request_id, phase) = (Arc::from("r"), PhaseName::Tool);
    let (project_id, conversation_id) = (None, None);
    Effect::Emit(Event {
        phase,
        request_id,
        project_id,
        conversation_id,
        tool_batch_id: 0,
        seq,
        kind,
    })
}

/// An event that is committed at once.
fn begins(seq: u64) -> Effect {
    event(seq, EventKind::PhaseStart { resumed: false, max_tools: None, void_from: None })
}

/// An event that may be gathered.
fn says(seq: u64, chunk: &str) -> Effect {
    event(seq, EventKind::Text { chunk: chunk.to_owned() })
}

fn runs(call: u32) -> Effect {
    Effect::RunTool {
        call,
        name: "t".to_owned(),
        tool_call_id: "i".to_owned(),
        tool_batch_id: 1,
        idempotency_key: "k".to_owned(),
        max_result_bytes: 1,
        max_media_bytes: 1,
        args: Json::object([]),
        signed: None,
    }
}

fn commit(journal: &mut Journal, now: u64) -> Arc<Commit> {
    assert!(journal.is_due(now), "no commit is due at {now}");
    let Effect::Commit { attempt: 1, commit } = journal.commit(now, None, true) else {
        panic!("a first attempt")
    };
    assert!(!journal.is_due(now), "one is in flight");
    commit
}

/// The next commit, stored at once.
fn store(journal: &mut Journal, now: u64) -> Arc<Commit> {
    let commit = commit(journal, now);
    assert_eq!(journal.stored(now, commit.revision, 1, CommitResult::Stored), None);
    commit
}

/// A journal whose first commit is stored at 0.
fn owned(keep: Keep) -> Journal {
    let mut journal = Journal::new(keep, 1, None);
    journal.take(begins(1));
    store(&mut journal, 0);
    assert_eq!(take_shown(&mut journal), ["1"]);
    journal
}

/// What need not wait: events by `seq`, tools and commits by their numbers.
fn take_shown(journal: &mut Journal) -> Vec<String> {
    let name = |effect| match effect {
        Effect::Emit(event) => event.seq.to_string(),
        Effect::RunTool { call, .. } => format!("run {call}"),
        Effect::CancelTool { call, .. } => format!("cancel {call}"),
        Effect::Commit { attempt, commit } => format!("commit {} {attempt}", commit.revision),
        other => format!("{other:?}"),
    };
    std::iter::from_fn(|| journal.pop()).map(name).collect()
}

fn failed(code: &str) -> CommitResult {
    CommitResult::Failed { code: code.to_owned(), message: "m".to_owned() }
}

/// A stored state with these members.
fn state(members: &str) -> CommitResult {
    let state = format!(
        r#"{{"v":1,{members},"point":"ask","leaseMs":1,"keepsText":true,"keptEvents":0,"keptBytes":0,
            "seq":1,"askedSeq":1,"toolBatchId":0,"decided":0,"cycle":1,"inferences":1,"heard":0,
            "calls":0,"toolsMs":0,"shown":"","usage":{{}},"toolUsage":{{}},"phase":{{"name":"tool_phase",
            "inferences":1,"executed":0,"lastChance":false,"text":"","whole":"","unsettled":0}}}}"#
    );
    CommitResult::Refused { state: Some(state) }
}

fn code(end: Option<End>) -> String {
    match end {
        Some(End::Failed(failure)) => failure.code.into_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn nothing_is_shown_before_it_is_stored() {
    let mut journal = Journal::new(keep(), 1, None);
    assert!(!journal.is_due(0));
    assert_eq!((journal.deadline(false), journal.shown_seq()), (None, 0));
    journal.take(begins(1));
    journal.take(says(2, "ab"));
    journal.take(runs(1));
    let first = commit(&mut journal, 0);
    assert_eq!((first.revision, first.take_over, first.forget), (1, false, 0));
    assert_eq!((first.owner.as_str(), first.replaces.as_deref(), first.open), ("o", None, true));
    let (last, events) = first.events.as_ref().unwrap();
    let events = Json::parse_str(events).unwrap();
    assert_eq!((*last, events.as_array().unwrap().len()), (2, 2));
    journal.take(says(3, "cde"));
    assert_eq!((journal.unseen(), journal.deadline(false)), (5, Some(5_000)));
    assert!(take_shown(&mut journal).is_empty());

    // An answer to another commit says nothing.
    assert_eq!(journal.stored(5, 2, 1, CommitResult::Stored), None);
    assert!(take_shown(&mut journal).is_empty());
    assert_eq!(journal.stored(7, 1, 1, CommitResult::Stored), None);
    assert_eq!(take_shown(&mut journal), ["1", "2", "run 1"]);
    assert_eq!((journal.shown_seq(), journal.unseen()), (2, 3));

    // Text waits for four round trips, or `gather_ms`, from the last commit on.
    assert_eq!((journal.deadline(false), journal.is_due(27)), (Some(28), false));
    let second = commit(&mut journal, 28);
    assert_eq!(second.revision, 2);
    assert_eq!(journal.stored(4_028, 2, 1, CommitResult::Stored), None);
    assert_eq!(take_shown(&mut journal), ["3"]);
    journal.take(says(4, ""));
    assert_eq!(journal.deadline(false), Some(28 + 1_000), "a slow store is not waited for longer");
    let mut quick = owned(keep());
    quick.take(says(2, "a"));
    assert_eq!(quick.deadline(false), Some(25));
}

#[test]
fn what_is_added_is_in_the_next_commit() {
    let mut journal = owned(keep());
    journal.reusable("k".to_owned(), "v".to_owned(), 9);
    assert!(!journal.is_due(0), "that alone is no reason for one");
    assert!(!journal.is_state_changed());
    journal.state_changed();
    assert!(journal.is_state_changed() && journal.is_due(0));
    let second = store(&mut journal, 1);
    assert!(!journal.is_state_changed());
    assert_eq!(journal.keep().owner, "o");
    assert_eq!(journal.size(), owned(keep()).size(), "it had no events");
    assert_eq!(second.reusable, [("k".to_owned(), "v".to_owned(), 9)]);
    assert_eq!((&second.events, &second.records), (&None, &Vec::new()));
    journal.record("n".to_owned(), "t".to_owned());
    let third = store(&mut journal, 2);
    assert_eq!(third.records, [("n".to_owned(), "t".to_owned())]);
    assert!(third.reusable.is_empty());
    assert!(!journal.is_due(u64::MAX));
}

#[test]
fn text_that_is_not_kept_waits_for_nothing_but_its_turn() {
    let mut journal = Journal::new(Keep { events: 0, ..keep() }, 1, None);
    journal.take(says(1, "a"));
    assert!(take_shown(&mut journal).is_empty(), "the turn is not this owner's yet");
    journal.take(begins(2));
    let first = commit(&mut journal, 0);
    assert_eq!(first.events.as_ref().map(|(last, _)| *last), Some(2));
    journal.take(says(3, "b"));
    assert!(take_shown(&mut journal).is_empty(), "a commit is in flight");
    assert_eq!(journal.stored(0, 1, 1, CommitResult::Stored), None);
    assert_eq!(take_shown(&mut journal), ["1", "2"]);
    journal.take(says(4, "c"));
    assert!(take_shown(&mut journal).is_empty(), "another one is before it");
    assert_eq!(store(&mut journal, 25).events, None);
    assert_eq!(take_shown(&mut journal), ["3", "4"]);
    journal.take(says(5, "d"));
    assert_eq!((take_shown(&mut journal), journal.shown_seq()), (vec!["5".to_owned()], 5));
    assert!(!journal.is_due(u64::MAX));
}

#[test]
fn the_oldest_events_are_dropped_by_groups() {
    let mut journal = owned(Keep { events: 3, ..keep() });
    let bytes = journal.size().1;
    assert_eq!(journal.size().0, 1);
    journal.take(begins(2));
    journal.take(begins(3));
    assert_eq!(store(&mut journal, 1).forget, 0, "three fit");
    assert_eq!(journal.size().0, 3);
    journal.take(begins(4));
    assert_eq!(store(&mut journal, 2).forget, 1);
    assert_eq!(journal.size().0, 3);
    (5..9).for_each(|seq| journal.take(begins(seq)));
    assert_eq!(store(&mut journal, 3).forget, 4, "the last group stays, whatever its size");
    assert_eq!(journal.size().0, 4);

    // A group has brackets around its events.
    let mut two = owned(Keep { bytes: 2 * bytes, ..keep() });
    two.take(begins(2));
    assert_eq!((store(&mut two, 1).forget, two.size()), (0, (2, 2 * bytes)));
    two.take(begins(3));
    assert_eq!((store(&mut two, 2).forget, two.size()), (1, (2, 2 * bytes)));

    // Those of an earlier owner count.
    let mut later = Journal::new(Keep { events: 3, ..keep() }, 2, Some((6, 9, (3, 100))));
    assert_eq!((later.size(), later.shown_seq()), ((3, 100), 9));
    later.take(begins(10));
    assert_eq!(store(&mut later, 0).forget, 9);
    assert_eq!(later.size(), (1, bytes + 1));
}

#[test]
fn the_first_commit_takes_the_turn_over() {
    let new = || {
        let mut journal = Journal::new(keep(), 2, Some((6, 9, (0, 0))));
        journal.replace(Some("p".to_owned()));
        journal.take(begins(10));
        journal
    };
    let mut journal = new();
    let first = store(&mut journal, 0);
    assert_eq!((first.revision, first.take_over), (7, true));
    assert_eq!(first.replaces.as_deref(), Some("p"));
    journal.take(begins(11));
    let second = store(&mut journal, 0);
    assert_eq!((second.take_over, second.replaces.as_deref()), (false, None));

    let refused = |journal: &mut Journal, answer| {
        let commit = commit(journal, 0);
        journal.stored(0, commit.revision, 1, answer)
    };
    let stopped = || state(r#""status":"cancelled","reason":"why","epoch":1"#);
    let going = || state(r#""status":"running","epoch":2,"pause":7"#);
    assert_eq!(code(refused(&mut new(), CommitResult::Refused { state: None })), "turn.conflict");
    assert_eq!(code(refused(&mut new(), stopped())), "turn.cancelled");
    assert_eq!(code(refused(&mut new(), going())), "turn.conflict", "no pause of this owner");
    let mut unknown = Journal::new(keep(), 1, None);
    unknown.take(begins(1));
    assert_eq!(code(refused(&mut unknown, stopped())), "turn.conflict");
    let mut own = owned(keep());
    own.take(begins(2));
    assert_eq!(refused(&mut own, stopped()), Some(End::Cancelled("why".to_owned())));
}

#[test]
fn a_pause_from_beside_is_heard_and_the_turn_taken_back() {
    let state_with = |at: u64, epoch: u64, status: &str| {
        state(&format!(r#""status":"{status}","epoch":{epoch},"pause":{at},"pausedBy":"beside""#))
    };
    let in_flight = || {
        let mut journal = owned(keep());
        journal.take(begins(2));
        assert_eq!(commit(&mut journal, 10).revision, 2);
        journal
    };
    // In the place of the commit in flight, which is made again behind it.
    let mut journal = in_flight();
    assert_eq!(journal.stored(20, 2, 1, state_with(2, 1, "running")), None);
    assert!(journal.take_pause() && !journal.take_pause());
    let Some(Effect::Commit { attempt: 1, commit: again }) = journal.pop() else { panic!("none") };
    assert_eq!((again.revision, again.take_over, again.owner.as_str()), (3, true, "o"));
    assert_eq!((again.replaces.as_deref(), again.events.is_some()), (Some("beside"), true));
    assert_eq!((journal.deadline(false), take_shown(&mut journal).len()), (Some(5_020), 0));
    assert_eq!(journal.stored(21, 3, 1, CommitResult::Stored), None);
    assert_eq!(take_shown(&mut journal), ["2"]);
    let next = store(&mut journal, 22);
    assert_eq!((next.revision, next.take_over), (4, false), "its state is without the wish");

    // Behind it: it is stored, and the next one takes the turn back.
    let mut journal = in_flight();
    assert_eq!(journal.stored(20, 2, 1, state_with(3, 1, "running")), None);
    assert!(journal.take_pause());
    assert_eq!(take_shown(&mut journal), ["2"]);
    let next = store(&mut journal, 21);
    assert_eq!((next.revision, next.take_over), (4, true));
    assert_eq!(next.replaces.as_deref(), Some("beside"));
    journal.take(begins(3));
    let next = store(&mut journal, 22);
    assert_eq!((next.take_over, next.replaces.as_deref()), (false, None));

    for other in
        [state_with(1, 1, "running"), state_with(2, 2, "running"), state_with(2, 1, "paused")]
    {
        let mut journal = in_flight();
        assert_eq!(code(journal.stored(20, 2, 1, other.clone())), "turn.conflict", "{other:?}");
        assert!(!journal.take_pause());
    }
}

#[test]
fn a_commit_is_attempted_four_times() {
    let mut journal = owned(keep());
    journal.take(begins(2));
    commit(&mut journal, 0);
    assert_eq!(journal.stored(10, 2, 1, failed("a")), None);
    let mut now = 10;
    for (attempt, wait) in [(2, 50), (3, 200), (4, 800)] {
        assert_eq!(journal.deadline(false), Some(now + wait));
        assert_eq!(journal.stored(now, 2, attempt - 1, failed("a")), None, "it is known");
        assert_eq!(journal.expire(now + wait - 1, false), None);
        assert!(take_shown(&mut journal).is_empty());
        now += wait;
        assert_eq!(journal.expire(now, false), None);
        assert_eq!(take_shown(&mut journal), [format!("commit 2 {attempt}")]);
        assert_eq!(journal.deadline(false), Some(now + 5_000));
        assert_eq!(journal.stored(now, 2, attempt - 1, failed("a")), None, "of the one before");
        if attempt < 4 {
            now += 5_000;
            assert_eq!(journal.expire(now - 1, false), None);
            assert_eq!(journal.expire(now, false), None, "no answer is a failure");
        }
    }
    let mut late = journal.clone();
    assert_eq!(code(late.expire(now + 5_000, false)), "store.timeout");
    assert_eq!(code(journal.stored(now, 2, 4, failed("store.down"))), "store.down");

    // An answer that comes late counts, of whichever attempt it is.
    let mut journal = owned(keep());
    journal.take(begins(2));
    commit(&mut journal, 0);
    assert_eq!(journal.stored(10, 2, 1, failed("a")), None);
    assert_eq!(journal.stored(11, 2, 1, CommitResult::Stored), None);
    assert_eq!(take_shown(&mut journal), ["2"]);
}

#[test]
fn the_lease_is_renewed_while_the_turn_goes_on() {
    let mut journal = owned(Keep { lease_ms: 300, ..keep() });
    assert_eq!((journal.deadline(false), journal.deadline(true)), (Some(100), None));
    assert_eq!(journal.expire(99, false), None);
    assert!(!journal.is_due(99));
    assert_eq!(journal.expire(100, true), None);
    assert!(!journal.is_due(100), "the turn is over");
    assert_eq!(journal.expire(100, false), None);
    assert!(journal.is_due(100));
    store(&mut journal, 100);
    assert_eq!(journal.deadline(false), Some(200));
    journal.verify();
    assert!(journal.is_due(101));

    let mut fresh = Journal::new(keep(), 1, None);
    fresh.verify();
    assert_eq!(fresh.expire(u64::MAX, false), None);
    assert!(!fresh.is_due(u64::MAX), "the turn is not this owner's");
    assert_eq!(fresh.deadline(false), None);
}

#[test]
fn no_tool_starts_on_a_lease_that_may_be_over() {
    let started = |after: u64| {
        let mut journal = owned(Keep { lease_ms: 300, ..keep() });
        journal.take(runs(1));
        journal.take(begins(2));
        commit(&mut journal, 0);
        journal.take(runs(2));
        assert_eq!(journal.stored(after, 2, 1, CommitResult::Stored), None);
        (take_shown(&mut journal), journal)
    };
    assert_eq!(started(299).0, ["run 1", "2"]);
    let (effects, mut journal) = started(300);
    assert_eq!(effects, ["2"]);
    store(&mut journal, 301);
    assert_eq!(take_shown(&mut journal), ["run 1", "run 2"]);

    let mut asleep = owned(Keep { lease_ms: 300, ..keep() });
    asleep.take(runs(1));
    commit(&mut asleep, 0);
    assert_eq!(asleep.stored(300, 2, 1, CommitResult::Stored), None);
    assert!(take_shown(&mut asleep).is_empty() && asleep.is_due(300), "it is verified at once");
}

#[test]
fn what_did_not_start_is_dropped_and_not_ended() {
    let cancel = |call| Effect::CancelTool { call, reason: CancelReason::Cancelled };
    let mut journal = owned(keep());
    journal.take(runs(1));
    journal.take(runs(2));
    commit(&mut journal, 0);
    journal.take(runs(3));
    journal.take(cancel(1));
    journal.take(cancel(3));
    assert!(take_shown(&mut journal).is_empty());
    journal.take(cancel(4));
    assert_eq!(take_shown(&mut journal), ["cancel 4"]);
    assert_eq!(journal.stored(0, 2, 1, CommitResult::Stored), None);
    assert_eq!(take_shown(&mut journal), ["run 2"]);
    journal.take(cancel(2));
    assert_eq!(take_shown(&mut journal), ["cancel 2"]);
    // The journal ends, and what need not wait is left.
    journal.take(cancel(5));
    assert_eq!(journal.into_ready(), [cancel(5)]);
}
