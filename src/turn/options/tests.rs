use super::*;
use crate::guard::Dedupe;
use crate::next::Next;
use crate::tool::ToolSpec;
use crate::turn::{Effect, Input, Turn};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn parse(extra: &str) -> Result<TurnOptions, Error> {
    let text = format!(
        r#"{{"dialect":"openai-chat","requestId":"r","secret":"{SECRET}","messages":[{{}}]{extra}}}"#
    );
    TurnOptions::parse(text.as_bytes())
}

#[test]
fn defaults_are_those_of_the_contract() {
    let options = parse("").unwrap();
    assert_eq!(options.policy, Policy::default());
    assert_eq!((options.mode, options.max_retries), (Mode::TwoStage, 2));
    let tools = parse(r#","tools":[{"name":"a","readOnly":true},{"name":"b"}]"#).unwrap().tools;
    let dedupe: Vec<_> = tools.all().iter().map(ToolSpec::dedupes).collect();
    assert_eq!(dedupe, [Dedupe::Replay, Dedupe::Block]);
}

#[test]
fn requests_have_the_model_and_the_members_of_the_host() {
    let sent = |extra: &str| {
        let extra = format!(r#"{extra},"messages":[{{"role":"user","content":"go"}}]"#);
        let mut turn = Turn::new(parse(&extra).unwrap()).unwrap();
        turn.handle(0, Input::Start);
        loop {
            match turn.poll() {
                Next::Effect(Effect::Fetch { request, .. }) => break request.body.to_text(),
                Next::Effect(_) => {}
                Next::Wait { .. } => panic!("no request"),
            }
        }
    };
    let messages = r#""messages":[{"role":"user","content":"go"}]}"#;
    assert_eq!(sent(""), format!("{{{messages}"));
    assert_eq!(sent(r#","body":{"seed":1}"#), format!(r#"{{"seed":1,{messages}"#));
    let usage = r#""stream_options":{"include_usage":true}"#;
    let expected_request = format!(r#"{{"model":"m","stream":true,{usage},"seed":1,{messages}"#);
    assert_eq!(sent(r#","model":"m","body":{"seed":1}"#), expected_request);
    let wrong = Turn::new(parse(r#","body":[]"#).unwrap()).unwrap_err();
    assert!(wrong.to_string().starts_with("`body`"), "{wrong}");
}

#[test]
fn what_is_written_is_read() {
    let keep = Keep::new(SECRET).tenant("t".to_owned()).events(1).bytes(2);
    let keep = keep.ttl_ms(300).lease_ms(200).gather_ms(5);
    let read = parse(&format!(r#","keep":{}"#, keep.to_json().to_text())).unwrap();
    assert_eq!(read.keep, Some(keep));
}

#[test]
fn misuse_names_the_option() {
    for (extra, path) in [
        (r#","policy":{"maxTools":-1}"#, "policy.maxTools"),
        (r#","policy":{"maxCycles":3}"#, "policy.maxCycles"),
        (r#","policy":{"maxTool":1}"#, "policy.maxTool"),
        (r#","policy":{"turnMs":1.5}"#, "policy.turnMs"),
        (r#","policy":{"readMode":"never"}"#, "policy.readMode"),
        (r#","tools":[{"name":"a","dedupe":"x"}]"#, "tools[0].dedupe"),
        (r#","mode":"three""#, "mode"),
        (r#","colour":1"#, "colour"),
    ] {
        match parse(extra) {
            Err(Error::Options { option, .. }) => assert_eq!(option, path),
            other => panic!("{path}: {other:?}"),
        }
    }
}

/// Why a turn of these options is refused, by the name of the option.
fn refused(extra: &str) -> String {
    let extra = format!(r#","messages":[{{"role":"user","content":"go"}}]{extra}"#);
    match parse(&extra).and_then(Turn::new) {
        Err(Error::Options { option, .. }) => option.to_string(),
        other => format!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn what_options_need_beside_them_is_named() {
    let thread = r#","strategy":"thread","conversationId":"c""#;
    let keep_member = |owner: &str, more: &str| format!(r#","keep":{{"owner":"{owner}"{more}}}"#);
    let (short, long) = ("o".repeat(15), "o".repeat(16));
    let responses = format!(r#"{thread},"dialect":"openai-responses""#);
    let store = |on: bool| format!(r#","body":{{"store":{on}}}"#);
    let prices = r#""prices":{"input":1,"output":1}"#;
    let fallbacks = r#","fallbacks":[{"dialect":"cohere","body":{}}]"#;
    let tool = r#","tools":[{"name":"a"}],"policy":{"actionTools":"#;
    for (extra, path) in [
        (r#","body":"text""#.to_owned(), "body"),
        (r#","fallbacks":[{"dialect":"cohere","body":[]}]"#.to_owned(), "fallbacks"),
        (r#","answerSchema":true"#.to_owned(), "answerSchema"),
        (format!("{thread},\"dialect\":\"chat-template\"{fallbacks}"), "fallbacks"),
        (r#","messages":[]"#.to_owned(), "messages"),
        (format!(r#","secret":"{}""#, SECRET.get(1..).unwrap_or_default()), "secret"),
        (r#","requestId":"""#.to_owned(), "requestId"),
        (r#","policy":{"maxCost":1}"#.to_owned(), "policy.maxCost"),
        (r#","policy":{"pauseAfterTools":true}"#.to_owned(), "policy.pauseAfterTools"),
        (r#","strategy":"text_only""#.to_owned(), "strategy"),
        (r#","strategy":"thread""#.to_owned(), "strategy"),
        (r#","strategy":"thread","conversationId":"""#.to_owned(), "strategy"),
        (r#","previousResponseId":"p""#.to_owned(), "previousResponseId"),
        (format!(r#"{thread},"previousResponseId":"p""#), "previousResponseId"),
        (
            r#","dialect":"openai-responses","previousResponseId":"p""#.to_owned(),
            "previousResponseId",
        ),
        (format!("{responses}{}", store(false)), "body.store"),
        (format!(r#"{tool}["a","b"]}}"#), "policy.actionTools"),
        (keep_member(&short, ""), "keep.owner"),
        (keep_member(&long, r#","ttlMs":299,"leaseMs":300"#), "keep.ttlMs"),
    ] {
        assert_eq!(refused(&extra), path, "{extra}");
    }
    for extra in [
        r#","answerSchema":{}"#.to_owned(),
        fallbacks.to_owned(),
        format!(r#","policy":{{"maxCost":1,{prices}}}"#),
        keep_member(&long, r#","ttlMs":300,"leaseMs":300"#),
        format!(r#"{},"policy":{{"pauseAfterTools":true}}"#, keep_member(&long, "")),
        format!(r#"{responses},"previousResponseId":"p"{}"#, store(true)),
        store(false),
        format!(r#"{tool}["a"]}}"#),
    ] {
        assert_eq!(refused(&extra), "Ok(())", "{extra}");
    }
}

#[test]
fn the_record_has_what_a_resume_does_not_say_again() {
    assert_eq!(parse("").unwrap().record(), None, "the turn is not kept");
    let more = r#","system":"s","messages":[{"a":1},{"b":2}],"tools":[{"name":"t"}]"#;
    let keep = format!(r#","keep":{{"owner":"{SECRET}","tenant":"x","ttlMs":20000}}"#);
    let record = parse(&format!("{more}{keep}")).unwrap().record();
    let wanted = r#"{"v":1,"keep":{"ttlMs":20000},"dialect":"openai-chat","mode":"two_stage","policy":{},"system":"s","messages":[{"a":1},{"b":2}]}"#;
    assert_eq!(record.as_deref(), Some(wanted));
}
