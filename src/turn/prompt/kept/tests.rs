use super::*;
use crate::next::Next;
use crate::turn::{Effect, Input, Turn, TurnOptions, TurnResult};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const OLD: &str = r#"{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},"#;
const CALL: &str = r#"{"id":"fc","type":"function_call","call_id":"c","name":"list","arguments":"#;

/// A turn with the Responses API, and what it has asked.
struct Host {
    turn: Turn,
    sent: Vec<Json<'static>>,
    result: Option<TurnResult>,
}

impl Host {
    /// A turn whose history ends with a question.
    fn new(history: &str, extra: &str) -> Self {
        Self::of(&format!(r#"{history}{{"role":"user","content":"Which files?"}}"#), extra)
    }

    fn of(messages: &str, extra: &str) -> Self {
        Self::made(messages, &format!(r#","strategy":"thread","conversationId":"c"{extra}"#))
    }

    fn made(messages: &str, extra: &str) -> Self {
        let text = format!(
            r#"{{"dialect":"openai-responses","requestId":"r","secret":"{SECRET}","maxRetries":0,
            "tools":[{{"name":"list","readOnly":true}}],"messages":[{messages}]{extra}}}"#
        );
        let turn = TurnOptions::parse(text.as_bytes()).and_then(Turn::new).unwrap();
        let mut host = Self { turn, sent: Vec::new(), result: None };
        host.tell(Input::Start);
        host
    }

    fn tell(&mut self, input: Input) {
        self.turn.handle(0, input);
        while let Next::Effect(effect) = self.turn.poll() {
            match effect {
                Effect::Fetch { request, .. } => self.sent.push(request.body),
                Effect::RunTool { call, .. } => {
                    let text = "\"a.txt\"".to_owned();
                    let settled = crate::tool::Settled::Ok { text, bytes: 7 };
                    self.turn.handle(0, Input::ToolSettled { call, settled });
                }
                Effect::Done { result } => self.result = Some(result),
                _ => {}
            }
        }
    }

    /// The response to the last request: a call, or else a text.
    fn says(&mut self, text: Option<&str>) {
        let inference = u32::try_from(self.sent.len()).unwrap();
        let item = match text {
            Some(text) => format!(
                r#"{{"id":"m","type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}"#
            ),
            None => format!("{CALL}\"{{}}\"}}"),
        };
        let delta = text.map(|text| {
            format!(r#"{{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"{text}"}}"#)
        });
        let id = format!("resp_{inference}");
        let events = [
            Some(format!(
                r#"{{"type":"response.output_item.added","output_index":0,"item":{CALL}""}}}}"#
            ))
            .filter(|_| text.is_none()),
            delta,
            Some(format!(
                r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#
            )),
            Some(format!(
                r#"{{"type":"response.completed","response":{{"id":"{id}","status":"completed"}}}}"#
            )),
        ];
        self.answers(200, "");
        for event in events.into_iter().flatten() {
            let bytes = format!("data: {event}\n\n").into_bytes();
            self.tell(Input::ResponseBytes { inference, attempt: 1, bytes });
        }
        self.tell(Input::ResponseEnded { inference, attempt: 1 });
    }

    /// The head of the response to the last request.
    fn answers(&mut self, status: u16, body: &str) {
        let inference = u32::try_from(self.sent.len()).unwrap();
        let (body, secrets) = (body.to_owned(), Vec::new());
        let (retry_after_ms, hint) = (None, None);
        let attempt = 1;
        self.tell(Input::ResponseHead {
            inference,
            attempt,
            status,
            retry_after_ms,
            body,
            hint,
            secrets,
        });
    }

    /// The response that each request names, and how many items it has.
    fn asked(&self) -> Vec<(Option<&str>, usize)> {
        let requests = self.sent.iter().map(|body| {
            let previous = body.get("previous_response_id").and_then(Json::as_str);
            (previous, body.get("input").and_then(Json::as_array).map_or(0, <[_]>::len))
        });
        requests.collect()
    }

    fn response_id(&self) -> Option<&str> {
        self.result.as_ref().expect("the end").response_id.as_deref()
    }
}

#[test]
fn a_turn_goes_on_behind_the_response_that_is_kept() {
    let mut host = Host::new(OLD, r#","previousResponseId":"resp_0""#);
    host.says(None);
    host.says(Some("One."));
    // The call is the provider's: only its output goes.
    assert_eq!(host.asked(), [(Some("resp_0"), 1), (Some("resp_1"), 1)]);
    assert_eq!(host.response_id(), Some("resp_2"));
}

#[test]
fn where_the_provider_has_another_response_everything_is_sent() {
    let mut host = Host::new("", r#","policy":{"readMode":"first_call"}"#);
    host.says(None);
    host.says(Some("One."));
    assert_eq!(host.asked(), [(None, 1), (None, 3)], "the first response was not read to its end");
    // A call whose id the history has gets another one, which the provider does not know.
    let history = format!(
        r#"{{"role":"user","content":"Hi"}},{CALL}"{{}}"}},
        {{"type":"function_call_output","call_id":"c","output":"x"}},"#
    );
    let mut host = Host::new(&history, "");
    host.says(None);
    host.says(Some("One."));
    assert_eq!(host.asked(), [(None, 4), (None, 6)]);
}

#[test]
fn a_call_with_an_id_of_an_earlier_response_is_not_the_providers() {
    let mut host = Host::new("", r#","policy":{"maxTools":2}"#);
    host.says(None);
    host.says(None);
    assert_eq!(host.asked(), [(None, 1), (Some("resp_1"), 1), (None, 5)]);
}

#[test]
fn without_a_question_there_is_nothing_new_to_send() {
    let messages = r#"{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}"#;
    let host = Host::of(messages, r#","previousResponseId":"resp_0""#);
    assert_eq!(host.asked(), [(None, 2)], "the whole history, as the last word is the provider's");
}

/// Instructions are not items, since those stay in the conversation.
#[test]
fn instructions_go_with_each_request() {
    let instructions = |host: &Host| {
        let all = host.sent.iter().map(|body| {
            assert_eq!(body.get("store").and_then(Json::as_bool), Some(true));
            body.get("instructions").and_then(Json::as_str).map(str::to_owned)
        });
        all.collect::<Vec<_>>()
    };
    let mut host = Host::new("", "");
    host.says(None);
    assert_eq!(instructions(&host), [None, None]);
    let system = r#"{"role":"system","content":"Be kind."},"#;
    let mut host = Host::new(system, r#","system":"Be brief.","body":{"instructions":"Be."}"#);
    host.says(None);
    let all = Some("Be.\n\nBe brief.\n\nBe kind.".to_owned());
    assert_eq!(instructions(&host), [all.clone(), all]);
    assert_eq!(host.asked(), [(None, 1), (Some("resp_1"), 1)]);
    // The policy's own, which the next request does not have.
    let mut host = Host::new("", r#","policy":{"maxTools":2,"warnAt":1}"#);
    host.says(None);
    let warning = Some("One tool call is left in this turn (1).".to_owned());
    assert_eq!(instructions(&host), [None, warning]);
    assert_eq!(host.asked(), [(None, 1), (Some("resp_1"), 1)]);
}

#[test]
fn a_response_that_is_lost_costs_one_request() {
    for status in [400, 404] {
        let mut host = Host::new(OLD, r#","previousResponseId":"gone""#);
        host.answers(status, "no such response");
        assert_eq!(host.asked(), [(Some("gone"), 1), (None, 3)], "{status}");
    }
    // What the request had was all that there is, or the failure is another one.
    for (history, status) in [("", 404), (OLD, 500)] {
        let mut host = Host::new(history, r#","previousResponseId":"gone""#);
        host.answers(status, "no");
        assert_eq!(host.asked(), [(Some("gone"), 1)], "{status}");
        assert_eq!(host.result.as_ref().unwrap().inferences, 1);
    }
}

#[test]
fn a_composed_answer_is_no_response() {
    let mut host = Host::new("", r#","mode":"unified""#);
    host.says(None);
    host.says(Some(" "));
    assert!(host.result.as_ref().expect("the end").composed);
    assert_eq!(host.response_id(), None);
}

#[test]
fn a_conversation_that_is_not_kept_has_no_response() {
    let mut host = Host::made(r#"{"role":"user","content":"Which files?"}"#, "");
    host.says(Some("None."));
    assert_eq!((host.asked(), host.response_id()), (vec![(None, 1)], None));
    assert_eq!(host.sent.first().and_then(|body| body.get("store")), None);
}
