//! Streams of Gemini, each event of which has whole calls.

use super::{OPTIONS, Run, batches};
use turnlock::proxy::{Call, Fact, Failure, Gate, GateOptions, Reason, Wire};

const GEMINI: GateOptions = GateOptions { wire: Wire::Gemini, ..OPTIONS };

fn event(parts: &str, more: &str) -> String {
    format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}],\"role\":\"model\"}},\"index\":0{more}}}],\
         \"usageMetadata\":{{\"promptTokenCount\":3,\"totalTokenCount\":5}}}}\r\n\r\n"
    )
}

const CALL: &str =
    "{\"functionCall\":{\"name\":\"ls\",\"args\":{\"a\":1}},\"thoughtSignature\":\"s\"}";
const SAYS: &str = "{\"text\":\"Let me see.\"}";
const STOP: &str = ",\"finishReason\":\"STOP\"";

/// A text, a call, and the end: in an event each, and in one.
fn responses() -> [Vec<String>; 3] {
    [
        vec![event(SAYS, ""), event(CALL, ""), event("{\"text\":\"\"}", STOP)],
        vec![event(SAYS, ""), event(CALL, STOP)],
        vec![event(&format!("{SAYS},{CALL}"), STOP)],
    ]
}

#[test]
fn a_call_that_may_run_passes_byte_for_byte() {
    for response in responses() {
        for batches in batches(&response) {
            let mut gate = Gate::new(GEMINI);
            let run = Run::play(&mut gate, &batches, None);
            assert_eq!(run.judged, [("ls".to_owned(), "{\"a\":1}".to_owned())]);
            assert_eq!(run.text(), response.concat());
            assert!(gate.has_ended() && !gate.asks());
        }
    }
}

#[test]
fn a_refused_call_is_left_out_and_the_answer_has_the_usage_of_both() {
    for response in responses() {
        for batches in batches(&response) {
            let mut gate = Gate::new(GEMINI);
            let mut run = Run::play(&mut gate, &batches, Some(Reason::Budget));
            let progress = gate.end();
            run.take(&mut gate, "", progress, Some(Reason::Budget));
            let text = run.text();
            assert!(text.contains("Let me see."), "{text}");
            assert!(!text.contains("functionCall") && !text.contains("finishReason"), "{text}");
            assert!(gate.asks() && !gate.has_ended(), "{text}");
            gate.again();
            let answer = [event("{\"text\":\"It is empty.\"}", STOP)];
            let second = Run::play(&mut gate, &answer, None).text();
            assert!(second.contains("It is empty.") && second.contains("STOP"), "{second}");
            assert!(second.contains("\"promptTokenCount\":6,\"totalTokenCount\":10"), "{second}");
            assert!(gate.has_ended());
        }
    }
}

/// Gemini 3 signs the first of parallel calls alone, and refuses a history whose first call has none
/// (googleapis/js-genai#1275).
#[test]
fn the_first_call_that_stays_is_signed() {
    let unsigned = CALL.replace("ls", "cat").replace(",\"thoughtSignature\":\"s\"", "");
    let third = unsigned.replace("cat", "pwd");
    for frames in [
        vec![event(&format!("{CALL},{unsigned},{third}"), STOP)],
        vec![event(CALL, ""), event(&unsigned, ""), event(&third, STOP)],
    ] {
        let mut gate = Gate::new(GEMINI);
        let mut shown = String::new();
        for frame in &frames {
            let mut run = Run::default();
            let mut progress = gate.push(frame.as_bytes());
            while progress.waits {
                run.out.append(&mut progress.out);
                let judged = progress.facts.iter().filter_map(|fact| match fact {
                    Fact::Judge(call) => Some((call.name == "ls").then_some(Reason::Duplicate)),
                    _ => None,
                });
                progress = gate.verdicts(&judged.collect::<Vec<_>>(), true);
            }
            run.take(&mut gate, frame, progress, None);
            shown.push_str(&run.text());
        }
        let signature = "\"thoughtSignature\":\"skip_thought_signature_validator\"";
        assert_eq!(shown.matches("thoughtSignature").count(), 1, "{shown}");
        let (before, after) = shown.split_once(signature).unwrap();
        assert!(before.contains("cat") && after.contains("pwd"), "{shown}");
    }
}

/// maximhq/bifrost#5262 (2026-07-15): an error in a stream that is no event.
#[test]
fn an_error_that_is_no_event_passes() {
    let error = "{\n  \"error\": {\n    \"code\": 503,\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n";
    let mut gate = Gate::new(GEMINI);
    Run::play(&mut gate, &[event(SAYS, "")], None);
    let progress = gate.push(error.as_bytes());
    assert!(progress.passes && progress.failure.is_none() && gate.has_ended());
    for other in ["{\"error\":{},\"candidates\":[]}", "{\"functionCall\":{\"name\":\"ls\"}}", "{}"]
    {
        let failure = Gate::new(GEMINI).push(other.as_bytes()).failure;
        assert_eq!(failure, Some(Failure::Foreign), "{other}");
    }
    let chat = Gate::new(OPTIONS).push(error.as_bytes());
    assert_eq!(chat.failure, Some(Failure::Foreign));
}

#[test]
fn names_in_another_case_make_calls_unclear() {
    for name in ["Args", "ARGS", "PartialArgs"] {
        let call = CALL.replace("\"args\"", &format!("\"{name}\""));
        let mut gate = Gate::new(GEMINI);
        let mut run = Run::play(&mut gate, &[event(&call, STOP)], None);
        let progress = gate.end();
        run.take(&mut gate, "", progress, None);
        assert!(!run.text().contains("ls"), "{name}: {}", run.text());
    }
}

#[test]
fn what_tools_of_the_provider_return_is_data() {
    let inner = "{\"type\":\"function_call\",\"choices\":[1],\"Name\":\"x\"}";
    let result =
        format!("{{\"toolResponse\":{{\"id\":\"t\",\"response\":{{\"places\":[{inner}]}}}}}}");
    let whole = event(&format!("{result},{CALL}"), STOP);
    let mut gate = Gate::new(GEMINI);
    let run = Run::play(&mut gate, std::slice::from_ref(&whole), None);
    assert_eq!(run.text(), whole);
    assert_eq!(run.judged.len(), 1);
}

#[test]
fn of_two_calls_the_one_that_may_run_stays() {
    let other = CALL.replace("ls", "cat");
    let mut gate = Gate::new(GEMINI);
    let response = event(&format!("{CALL},{other}"), STOP);
    let progress = gate.push(response.as_bytes());
    assert!(progress.waits);
    let after = gate.verdicts(&[Some(Reason::Duplicate), None], true);
    let shown = String::from_utf8([progress.out, after.out].concat()).unwrap();
    assert!(
        shown.contains("cat") && !shown.contains("\"ls\"") && shown.contains("STOP"),
        "{shown}"
    );
    assert!(!gate.asks() && gate.has_ended());
}

#[test]
fn without_an_answer_the_response_ends_with_a_notice() {
    for response in responses() {
        let mut gate = Gate::new(GEMINI);
        let mut run = Run::play(&mut gate, &response, Some(Reason::Duplicate));
        let progress = gate.end();
        run.take(&mut gate, "", progress, None);
        let end = String::from_utf8(gate.without_answer().out).unwrap();
        assert!(end.contains(&Reason::Duplicate.notice(&["ls"], false)), "{end}");
        assert!(end.contains("STOP") && !end.contains("functionCall"), "{end}");
        assert!(gate.has_ended());
    }
}

/// Clients that read names in any case, or by those of Python, may run such a call.
#[test]
fn a_call_in_another_place_or_spelling_is_left_out() {
    for stray in [
        CALL.replace("functionCall", "function_call"),
        CALL.replace("functionCall", "FunctionCall"),
        CALL.replace("functionCall", "functioncall"),
        format!("{{\"inner\":{CALL}}}"),
        "\"{\\\"functionCall\\\":{\\\"name\\\":\\\"ls\\\"}}\"".to_owned(),
        CALL.replace("\"args\":", "\"willContinue\":true,\"args\":"),
        CALL.replace("{\"a\":1}", "\"{}\""),
    ] {
        let mut gate = Gate::new(GEMINI);
        let frames = [event(SAYS, ""), event(&stray, ""), event("{\"text\":\"\"}", STOP)];
        let mut run = Run::default();
        for frame in &frames {
            let progress = gate.push(frame.as_bytes());
            // An unclear call is judged; the host refuses it.
            let unclear = |fact: &Fact| matches!(fact, Fact::Judge(Call { is_unclear: true, .. }));
            assert!(!progress.waits || progress.facts.iter().any(unclear), "{stray}");
            run.take(&mut gate, frame, progress, Some(Reason::Form));
        }
        let progress = gate.end();
        run.take(&mut gate, "", progress, None);
        let text = run.text();
        assert!(!text.to_ascii_lowercase().contains("\"ls"), "{stray}: {text}");
        assert!(!text.contains("\\\"ls"), "{stray}: {text}");
        assert!(gate.asks(), "{stray}");
    }
}

/// tensorzero/tensorzero#2329 (2025-06-02): a model that may not call ends for its call.
#[test]
fn an_answer_that_ends_for_a_call_is_the_notice() {
    for reason in ["UNEXPECTED_TOOL_CALL", "MALFORMED_FUNCTION_CALL"] {
        let end = format!(",\"finishReason\":\"{reason}\"");
        let mut gate = Gate::new(GEMINI);
        let mut run = Run::play(&mut gate, &responses()[1], Some(Reason::Budget));
        let progress = gate.end();
        run.take(&mut gate, "", progress, None);
        gate.again();
        let second = Run::play(&mut gate, &[event("{\"text\":\"\"}", &end)], None).text();
        assert!(second.contains(&Reason::Budget.notice(&["ls"], false)), "{second}");
        assert!(second.contains("STOP") && !second.contains(reason), "{second}");
    }
}

#[test]
fn responses_of_other_apis_are_refused() {
    for foreign in [
        "data: {\"candidates\":[],\"choices\":[{\"delta\":{}}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"type\":\"tool_use\",\"name\":\"ls\"}]}}]}\n\n",
    ] {
        let progress = Gate::new(GEMINI).push(foreign.as_bytes());
        assert_eq!(progress.failure, Some(Failure::Foreign), "{foreign}");
    }
    // Calls of tools that Gemini runs itself are no client's.
    let own = event(
        "{\"toolCall\":{\"id\":\"t\",\"toolType\":\"GOOGLE_SEARCH_WEB\",\"args\":{\"q\":\"x\"}}}",
        STOP,
    );
    let mut gate = Gate::new(GEMINI);
    let run = Run::play(&mut gate, std::slice::from_ref(&own), None);
    assert_eq!((run.text(), run.judged.len()), (own, 0));
}

#[test]
fn a_whole_response_is_written_without_its_refused_calls() {
    let body = |parts: &str| {
        format!(
            "{{\"candidates\":[{{\"content\":{{\"parts\":[{parts}],\"role\":\"model\"}},\"finishReason\":\"STOP\"}}],\
             \"usageMetadata\":{{\"totalTokenCount\":5}}}}"
        )
    };
    let mut gate = Gate::new(GEMINI);
    let whole = gate.whole(body(CALL).as_bytes(), false).unwrap().unwrap();
    assert_eq!(whole.calls.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["ls"]);
    assert!(!whole.is_changed && whole.strays.is_empty());
    gate.verdicts(&[Some(Reason::Duplicate)], false);
    let said = gate.without(0, &[0], Reason::Duplicate);
    assert!(said.contains(&Reason::Duplicate.notice(&["ls"], false)), "{said}");
    assert!(!said.contains("functionCall") && said.contains("STOP"), "{said}");

    let second = gate.whole(body(SAYS).as_bytes(), true).unwrap().unwrap();
    assert!(second.has_sum);
    assert!(gate.without(1, &[], Reason::Duplicate).contains("\"totalTokenCount\":10"));

    let kept = Gate::new(GEMINI).whole(body(SAYS).as_bytes(), false).unwrap().unwrap();
    assert!(kept.calls.is_empty() && !kept.is_changed);
    assert_eq!(Gate::new(GEMINI).whole(b"[]", false), Err(Failure::Foreign));
}
