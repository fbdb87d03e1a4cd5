use super::*;

const TOOLS: [&str; 2] = ["f", "read_file"];

fn is_tool(name: &str) -> bool {
    TOOLS.contains(&name)
}

fn found(text: &str) -> Vec<String> {
    calls_in(text, &is_tool)
        .into_iter()
        .map(|call| format!("{} {}", call.name, call.arguments.to_text()))
        .collect()
}

/// One call of each format, as templates and parsers of the models have it.
const FORMS: [(&str, &str); 14] = [
    ("hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"),
    (
        "hermes, arguments as a text",
        r#"<tool_call>{"name":"f","arguments":"{\"a\":1}"}</tool_call>"#,
    ),
    ("hermes without its end", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}"),
    (
        "qwen3-coder",
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "qwen3-coder without its wrapper",
        "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>",
    ),
    ("glm", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"),
    (
        "minimax",
        "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    (
        "deepseek v4",
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (
        "kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "deepseek v3.1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek r1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "harmony",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
    ),
    ("harmony without a constraint", "<|channel|>commentary to=functions.f<|message|>{\"a\": 1}"),
    (
        "harmony, a start",
        "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{\"a\":1}<|call|>",
    ),
];

#[test]
fn each_format_is_read() {
    for (form, text) in FORMS {
        assert_eq!(found(text), [r#"f {"a":1}"#], "{form}");
        assert_eq!(
            found(&format!("I read it.\n\n{text}\n")),
            [r#"f {"a":1}"#],
            "{form} behind text"
        );
        // Without its end, a call takes the rest of the text.
        if text.ends_with('>') {
            assert_eq!(found(&[text, "\n", text].concat()).len(), 2, "{form} twice");
        }
    }
}

#[test]
fn quotations_and_code_are_text() {
    for (form, text) in FORMS {
        let quoted = [
            format!("```\n{text}\n```"),
            format!("~~~xml\n{text}\n~~~"),
            format!("> {}", text.replace('\n', "\n> ")),
            format!("Write `{text}` to call it"),
            format!("The page says \"{text}\""),
            // By the kinds of CommonMark 0.31: fences, indented code, code spans, lazy continuation.
            format!("````\n```\n{text}\n```\n````"),
            format!("```\n~~~\n{text}\n~~~\n```"),
            format!("~~~\n```\n{text}\n```\n~~~"),
            format!("```\n``` not an end\n{text}\n```"),
            format!("```\n    ```\n{text}"),
            format!("    ```\n\n```\n{text}\n```"),
            format!("- ```\n  {text}\n  ```"),
            format!("10. ```\n    {text}\n    ```"),
            format!("1. Example:\n\n   ```\n   {text}\n   ```"),
            format!("```{text}```"),
            format!("Example:\n\n    {text}"),
            format!("Example:\n\n\t{text}"),
            format!("- item\n\n      {text}"),
            format!("-      {text}"),
            format!("``{text}``"),
            format!("Write ``a ` {text}``"),
            format!("Write `a\n{text}` to call it"),
            format!("> he wrote\n{text}"),
            format!("> > {text}"),
            format!("- > he wrote\n{text}"),
            format!("<pre><code>\n{text}\n</code></pre>"),
            format!("<PRE class=\"x\">\n{text}\n</PRE>"),
            format!("<code>{text}</code>"),
            format!("<blockquote>\n\n{text}\n\n</blockquote>"),
        ];
        for quoted in quoted {
            assert_eq!(found(&quoted), [""; 0], "{form}: {quoted}");
        }
    }
}

#[test]
fn what_follows_quotations_and_code_is_read() {
    for before in [
        "```\nx\n```\n",
        "````\n```\nx\n````\n",
        "~~~\n```\n~~~\n",
        "- ```\n  x\n  ```\n",
        "Write `x` and ``a ` b``.\n",
        "> he wrote\n\n",
        "Example:\n\n    x\n\n",
        "<pre>x</pre>\n",
        "<prefix> and <codebase>\n",
        "It is 5 ` 3.\n\n",
        "- item\n",
        "  ",
    ] {
        let text = format!("{before}{}", FORMS[0].1);
        assert_eq!(found(&text), [r#"f {"a":1}"#], "{before}");
    }
}

#[test]
fn what_is_no_call_of_a_tool_is_text() {
    for text in [
        "",
        "<tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": }}</tool_call>",
        "<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>",
        "<invoke name=\"f\"><parameter name=\"a\">1</invoke>",
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\":",
        "<f>1</f>",
        "a < b and <b>c</b>",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn values_are_json_if_they_are_json() {
    let text = "<function=read_file>\n<parameter=path>\nnotes.txt\n</parameter>\n<parameter=lines>\n[1, 2]\n</parameter>\n<parameter=body>\na\nb < c\n</parameter>\n</function>";
    assert_eq!(found(text), [r#"read_file {"path":"notes.txt","lines":[1,2],"body":"a\nb < c"}"#]);
    let text = "The mark `<tool_call>` begins a call.\n\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    assert_eq!(found(text), ["f {}"], "a new paragraph");
    let text = "<｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"a\" string=\"true\">1</｜DSML｜parameter></｜DSML｜invoke>";
    assert_eq!(found(text), [r#"f {"a":"1"}"#]);
}

/// The deltas of a response whose text arrives in pieces of `chars` characters.
fn response(text: &str, chars: usize, runs: bool, reason: FinishReason) -> Vec<Delta> {
    let mut calls = TextCalls::new(runs);
    let letters: Vec<char> = text.chars().collect();
    let mut deltas = Vec::new();
    for piece in letters.chunks(chars) {
        deltas.extend(calls.read(vec![Delta::Text(piece.iter().collect())], &is_tool));
    }
    let finish = Delta::Finish { reason, raw: "stop".into() };
    deltas.extend(calls.read(vec![finish], &is_tool));
    deltas
}

fn text_of(deltas: &[Delta]) -> String {
    let texts = deltas.iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn run_takes_calls_out_of_the_text_however_it_is_cut() {
    for (form, markup) in FORMS {
        let text = format!("I read it.\n{markup}");
        for chars in [1, 2, 3, 7, 1000] {
            let deltas = response(&text, chars, true, FinishReason::Stop);
            assert_eq!(text_of(&deltas).trim_end(), "I read it.", "{form}");
            let start =
                Delta::ToolCallStart { index: 0, id: "text_call_0".into(), name: "f".into() };
            let end = Delta::ToolCallEnd { index: 0 };
            let finish = Delta::Finish { reason: FinishReason::ToolCalls, raw: "stop".into() };
            let arguments = Delta::ToolCallArguments { index: 0, text: r#"{"a":1}"#.into() };
            assert_eq!(deltas[deltas.len() - 4..], [start, arguments, end, finish], "{form}");
        }
    }
}

#[test]
fn report_changes_the_reason_alone() {
    for (form, markup) in FORMS {
        let deltas = response(markup, 5, false, FinishReason::Stop);
        assert_eq!(text_of(&deltas), markup, "{form}");
        let finish = Delta::Finish { reason: FinishReason::TextToolCall, raw: "stop".into() };
        assert_eq!(deltas.last(), Some(&finish), "{form}");
    }
}

#[test]
fn responses_that_were_cut_or_have_other_calls_have_no_calls_in_their_text() {
    let markup = FORMS[0].1;
    for runs in [true, false] {
        for reason in [FinishReason::Length, FinishReason::ContentFilter, FinishReason::Error] {
            let deltas = response(markup, 4, runs, reason);
            assert_eq!(text_of(&deltas), markup);
            assert_eq!(deltas.last(), Some(&Delta::Finish { reason, raw: "stop".into() }));
        }
        let mut calls = TextCalls::new(runs);
        let start = Delta::ToolCallStart { index: 0, id: "a".into(), name: "f".into() };
        let finish = Delta::Finish { reason: FinishReason::ToolCalls, raw: "tool_calls".into() };
        let given = vec![Delta::Text(markup.into()), start.clone(), finish.clone()];
        assert_eq!(calls.read(given, &is_tool), [Delta::Text(markup.into()), start, finish]);
    }
}

#[test]
fn text_without_a_whole_call_is_not_lost() {
    for text in
        ["a < b", "<tool_call>{", "x <tool", "<|tool_calls_section_begin|>x", "a <b>c</b> <"]
    {
        for chars in [1, 3, 100] {
            let deltas = response(text, chars, true, FinishReason::Stop);
            assert_eq!(text_of(&deltas), text);
        }
    }
}

#[test]
fn many_marks_take_bounded_work() {
    let text = "<tool_call>".repeat(20_000);
    assert_eq!(found(&text), [""; 0]);
}
