//! The gate of a proxy: what it passes, withholds and asks, whatever batches its frames come in.

#![allow(missing_docs, clippy::unwrap_used)]

mod gemini;

use turnlock::proxy::{Fact, Failure, Gate, GateOptions, Progress, Reason, Wire};

const OPTIONS: GateOptions =
    GateOptions { wire: Wire::Chat, holds: true, forced: false, held_bytes: 1 << 20, choices: 1 };

fn chunk(delta: &str, reason: &str) -> String {
    format!(
        "data: {{\"id\":\"x\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
    )
}

/// A text, a call in two pieces, and the end.
fn response() -> Vec<String> {
    let call = |more: &str| format!("{{\"tool_calls\":[{{\"index\":0,{more}}}]}}");
    vec![
        chunk("{\"role\":\"assistant\",\"content\":\"Let me see.\"}", "null"),
        chunk(
            &call("\"id\":\"c1\",\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"a\\\":\"}"),
            "null",
        ),
        chunk(&call("\"function\":{\"arguments\":\"1}\"}"), "null"),
        chunk("{}", "\"tool_calls\""),
        "data: [DONE]\n\n".to_owned(),
    ]
}

/// What the client has, the calls that were judged, and the last progress.
#[derive(Debug, Default)]
struct Run {
    out: Vec<u8>,
    judged: Vec<(String, String)>,
    facts: Vec<Fact>,
}

impl Run {
    fn take(
        &mut self,
        gate: &mut Gate,
        input: &str,
        mut progress: Progress,
        verdict: Option<Reason>,
    ) {
        loop {
            let mut verdicts = Vec::new();
            for fact in &progress.facts {
                if let Fact::Judge(call) = fact {
                    self.judged.push((call.name.clone(), call.arguments.clone()));
                    verdicts.push(verdict);
                }
            }
            self.facts.append(&mut progress.facts);
            let passed = if progress.passes { input.as_bytes() } else { &progress.out };
            self.out.extend_from_slice(passed);
            if !progress.waits {
                return;
            }
            progress = gate.verdicts(&verdicts, false);
        }
    }

    fn play(gate: &mut Gate, batches: &[String], verdict: Option<Reason>) -> Self {
        let mut run = Self::default();
        for batch in batches {
            let progress = gate.push(batch.as_bytes());
            run.take(gate, batch, progress, verdict);
        }
        run
    }

    fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }
}

/// Each way to put frames into batches.
fn batches(frames: &[String]) -> Vec<Vec<String>> {
    (0..1_u32 << (frames.len() - 1))
        .map(|cuts| {
            let mut all = vec![String::new()];
            for (at, frame) in frames.iter().enumerate() {
                if at > 0 && cuts >> (at - 1) & 1 == 1 {
                    all.push(String::new());
                }
                all.last_mut().unwrap().push_str(frame);
            }
            all
        })
        .collect()
}

#[test]
fn a_call_that_may_run_passes_byte_for_byte() {
    for batches in batches(&response()) {
        let mut gate = Gate::new(OPTIONS);
        let run = Run::play(&mut gate, &batches, None);
        assert_eq!(run.judged, [("ls".to_owned(), "{\"a\":1}".to_owned())]);
        assert_eq!(run.text(), response().concat());
        assert!(gate.has_ended() && !gate.asks());
    }
}

#[test]
fn a_refused_call_is_left_out_and_the_answer_is_asked_for() {
    for batches in batches(&response()) {
        let mut gate = Gate::new(OPTIONS);
        let run = Run::play(&mut gate, &batches, Some(Reason::Budget));
        assert_eq!(run.text(), response().first().unwrap().as_str());
        assert!(gate.asks() && !gate.has_ended());
        assert_eq!(gate.reason(), Reason::Budget);
        gate.again();
        assert!(gate.is_unanswered());
        let answer = [chunk("{\"content\":\"It is empty.\"}", "null"), chunk("{}", "\"stop\"")];
        let second = Run::play(&mut gate, &answer, None);
        assert_eq!(second.text(), answer.concat());
        assert!(gate.has_ended());
    }
}

#[test]
fn without_an_answer_the_response_ends_with_a_notice() {
    let mut gate = Gate::new(OPTIONS);
    Run::play(&mut gate, &response(), Some(Reason::Duplicate));
    let end = String::from_utf8(gate.without_answer().out).unwrap();
    assert!(end.contains(&Reason::Duplicate.notice(&["ls"], false)), "{end}");
    assert!(end.contains("\"finish_reason\":\"stop\"") && !end.contains("c1"), "{end}");
    assert!(end.ends_with("data: [DONE]\n\n"), "{end}");
}

#[test]
fn a_call_without_a_verdict_does_not_run() {
    let mut gate = Gate::new(OPTIONS);
    let progress = gate.push(response().concat().as_bytes());
    assert!(progress.waits);
    let after = gate.verdicts(&[], false);
    let shown = [progress.out, after.out].concat();
    assert!(!String::from_utf8(shown).unwrap().contains("c1"));
    assert_eq!(gate.reason(), Reason::Unjudged);
}

#[test]
fn more_than_may_be_held_is_withheld_unjudged() {
    let mut gate = Gate::new(GateOptions { held_bytes: 200, ..OPTIONS });
    let run = Run::play(&mut gate, &response(), None);
    assert!(run.judged.is_empty());
    assert!(run.facts.contains(&Fact::Error("proxy.held_too_long")));
    assert!(run.facts.contains(&Fact::Unjudged("ls".to_owned())));
    assert!(!run.text().contains("c1") && gate.asks());
}

#[test]
fn lines_that_clients_read_differently_end_the_response() {
    for odd in
        ["data: {}\n\n{\"tool_calls\":[]}\n\n", "\u{feff}\u{feff}data: {}\n\n", " data: {}\n\n"]
    {
        let progress = Gate::new(OPTIONS).push(odd.as_bytes());
        assert_eq!(progress.failure, Some(Failure::Foreign), "{odd}");
    }
    assert_eq!(Gate::new(OPTIONS).push(b"data: \xff\n\n").failure, Some(Failure::Foreign));
    let watches = GateOptions { holds: false, ..OPTIONS };
    assert!(Gate::new(watches).push(b"data: \xff\n\n").passes);
}

/// Frames of JSON and of other things, by a generator of numbers.
fn frames(wire: Wire, seed: &mut u64) -> String {
    const PIECES: [&str; 27] = [
        "{\"candidates\":[{\"content\":{\"parts\":[",
        "{\"functionCall\":{\"name\":\"cat\"}}",
        "]}}]}",
        "{\"choices\":[{\"index\":0,\"delta\":",
        "{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}",
        "}]}",
        ",\"finish_reason\":\"stop\"",
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"input\":{}}}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{\"}}",
        "{\"type\":\"content_block_stop\",\"index\":0}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}",
        "{\"type\":\"message_stop\"}",
        "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\"}}",
        "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\"}}",
        "{\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"function_call\"}]}}",
        "\n\n",
        "\n\n",
        "\n\ndata: ",
        "\n\ndata:",
        "\r\n\r\n",
        "event: error\n",
        ":",
        "[",
        "{",
        "\"",
        "\\u0074ool",
        "\u{130}",
    ];
    let mut next = |most: u64| {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % most
    };
    let mut text = String::from(if next(2) == 0 { "data: " } else { "" });
    for _ in 0..next(12) {
        let at = usize::try_from(next(27)).unwrap();
        text.push_str(PIECES.get(at).unwrap());
    }
    if next(2) == 0 && wire == Wire::Chat {
        text.push_str("\n\ndata: [DONE]");
    }
    text + "\n\n"
}

#[test]
fn whatever_comes_a_call_that_was_not_judged_never_passes() {
    let mut seed = 1;
    for round in 0..6000_u32 {
        let all = [Wire::Chat, Wire::Messages, Wire::Responses, Wire::Gemini];
        let wire = all[round as usize / 4 % all.len()];
        let holds = round % 4 != 0;
        let options = GateOptions { wire, holds, held_bytes: 300, ..OPTIONS };
        let mut gate = Gate::new(options);
        let mut shown = Vec::new();
        for _ in 0..3 {
            let text = frames(wire, &mut seed);
            let mut run = Run::default();
            let progress = gate.push(text.as_bytes());
            let failed = progress.failure.is_some();
            run.take(&mut gate, &text, progress, Some(Reason::Duplicate));
            if !holds {
                assert_eq!(run.out, text.as_bytes());
            }
            if failed {
                break;
            }
            shown.extend(run.out);
        }
        let mut run = Run::default();
        let progress = gate.end();
        run.take(&mut gate, "", progress, Some(Reason::Duplicate));
        shown.extend(run.out);
        shown.extend(gate.without_answer().out);
        let shown = String::from_utf8(shown).unwrap();
        let has_call = shown.contains(match wire {
            Wire::Chat => "\"name\":\"ls\"",
            Wire::Messages => "\"type\":\"tool_use\"",
            Wire::Responses => "\"type\":\"function_call\"",
            Wire::Gemini => "\"functionCall\":{\"name\"",
        });
        assert!(!holds || !has_call, "{wire:?}: {shown}");
    }
}
