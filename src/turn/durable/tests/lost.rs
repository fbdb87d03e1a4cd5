//! What an owner tells that another one has taken the turn from, or that is too late.

use super::super::super::{Effect, EventKind, Input};
use super::{Host, answer, call, end, failure, ok, result, told};
use crate::json::Json;
use crate::next::Next;
use crate::store::CommitResult;
use crate::stream::Delta;
use crate::tool::Status;

#[test]
fn who_is_too_late_repeats_the_last_event() {
    let mut host = Host::calling("", "send");
    host.kept.idle_ms = Some(0);
    let state = Json::parse_str(&host.kept.state).unwrap().into_owned();
    let seq = state.get("seq").and_then(Json::as_u64).unwrap();
    let (message, batch, at) = failure(&host.resumed("").tell(0, Input::Start));
    assert!(message.contains("another owner"), "{message}");
    assert_eq!((batch, at), (1, seq));
}

#[test]
fn tokens_of_a_response_whose_reader_died_may_be_missing() {
    let incomplete = |mut host: Host| result(&host.says(2, answer("hi"))).usage.incomplete;
    let mut whole = Host::calling("", "send");
    whole.settle(ok("[1]"));
    assert!(!incomplete(whole));

    let mut host = Host::new("");
    host.tell(0, Input::Start);
    let mut deltas = call("send");
    deltas.pop();
    let effects = host.tell(1, Input::Deltas { inference: 1, attempt: 1, deltas });
    let runs = |effect: &Effect| matches!(effect, Effect::RunTool { call: 1, .. });
    assert!(effects.iter().any(runs), "{effects:?}");
    let mut next = host.resumed("");
    next.tell(0, Input::Start);
    let mut third = next.resumed("");
    third.tell(0, Input::Start);
    assert!(incomplete(next));
    assert!(incomplete(third), "whoever goes on behind it knows that too");
}

#[test]
fn who_loses_the_turn_has_shown_what_it_says() {
    let text = |inference: u32, text: &str| {
        let deltas = vec![Delta::Text(text.to_owned())];
        Input::Deltas { inference, attempt: 1, deltas }
    };
    // One text is shown, one waits for a commit, one has not been looked at.
    let lost = |host: &mut Host, inference: u32, from: u64| {
        let mut effects = host.tell(from, Input::Start);
        effects.extend(host.tell(from, text(inference, "shown ")));
        effects.extend(host.tell(from + 1_000, Input::Timer));
        host.turn.handle(from + 1_001, text(inference, "waits "));
        assert!(matches!(host.turn.poll(), Next::Wait { .. }));
        host.turn.handle(from + 2_000, Input::Timer);
        let Next::Effect(Effect::Commit { attempt, commit }) = host.turn.poll() else {
            panic!("a commit")
        };
        host.turn.handle(from + 2_000, text(inference, "is new"));
        let (revision, answer) = (commit.revision, CommitResult::Refused { state: None });
        effects.extend(host.tell(from + 2_000, Input::Stored { revision, attempt, answer }));
        assert!(
            effects.iter().any(|effect| matches!(effect, Effect::Abort { .. })),
            "the request in flight is ended"
        );
        effects
    };
    let mut first = Host::new("");
    let effects = lost(&mut first, 1, 0);
    let (said, seqs, content) = told(&effects);
    assert_eq!((said.as_str(), content.as_str()), ("shown ", "shown "));
    assert_eq!(result(&effects).text, "shown ");
    assert!(seqs.is_sorted_by(|a, b| a < b), "it was the only one: {seqs:?}");

    // Another owner that loses it too ends beside the events of whoever goes on.
    let mut next = Host::calling("", "send").resumed("");
    let effects = lost(&mut next, 2, 10);
    let (said, seqs, _) = told(&effects);
    assert_eq!(said, "shown ");
    let (last, before) = seqs.split_last().unwrap();
    assert_eq!(before.last(), Some(last), "{seqs:?}");
}

/// What became of its calls, the other owner's turn says.
#[test]
fn who_loses_the_turn_does_not_know_of_its_calls() {
    let mut host = Host::calling("", "send");
    host.turn.handle(2, Input::ToolProgress { call: 1, data: Json::Null });
    let Next::Effect(Effect::Commit { attempt, commit }) = host.turn.poll() else {
        panic!("a commit")
    };
    let (revision, answer) = (commit.revision, CommitResult::Refused { state: None });
    let effects = host.tell(2, Input::Stored { revision, attempt, answer });
    assert_eq!(end(&effects), "turn.conflict");
    let statuses = result(&effects).tool_results.iter().map(|one| one.outcome.status);
    assert_eq!(statuses.collect::<Vec<_>>(), [Status::Unknown]);
    let stopped = effects.iter().find_map(|effect| match effect {
        Effect::CancelTool { call: 1, reason } => Some(reason.name()),
        _ => None,
    });
    assert_eq!(stopped, Some("cancelled"));
}

/// Text of an inference that is made again is void once an event has said so.
#[test]
fn who_loses_the_turn_before_it_said_what_is_void_keeps_that() {
    let mut host = Host::new("");
    host.tell(0, Input::Start);
    host.tell(1, Input::Deltas { inference: 1, attempt: 1, deltas: answer("half") });
    host.tell(1_000, Input::Timer);
    let refused = |host: &mut Host| {
        let Next::Effect(Effect::Commit { attempt, commit }) = host.turn.poll() else {
            panic!("a commit")
        };
        let (revision, answer) = (commit.revision, CommitResult::Refused { state: None });
        let effects = host.tell(0, Input::Stored { revision, attempt, answer });
        assert_eq!(end(&effects), "turn.conflict");
        result(&effects).full_content.clone()
    };
    let mut next = host.resumed("");
    next.turn.handle(0, Input::Start);
    assert_eq!(refused(&mut next), "half");

    let mut next = host.resumed("");
    let begins = next.tell(0, Input::Start).into_iter().find_map(|effect| match effect {
        Effect::Emit(event) => Some(event.kind),
        _ => None,
    });
    assert!(
        matches!(begins, Some(EventKind::PhaseStart { resumed: true, void_from: Some(2), .. })),
        "the first event was the phase's: {begins:?}"
    );
    let deltas = vec![Delta::Text("new".to_owned())];
    next.turn.handle(1_000, Input::Deltas { inference: 1, attempt: 1, deltas });
    next.turn.handle(2_000, Input::Timer);
    assert_eq!(refused(&mut next), "");
}
