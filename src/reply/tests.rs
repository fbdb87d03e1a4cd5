use super::*;

fn fits(json: &Json<'_>) -> bool {
    json.get("a").is_some()
}

/// The text of the only value with the member `a`, and what was dropped around it.
fn taken(reply: &str) -> Result<(String, Vec<&'static str>), String> {
    let reply = Reply::read(reply);
    let value = reply.only(fits).map_err(|fault| fault.to_string())?;
    let dropped = reply.dropped_around(value).into_iter().map(Dropped::name).collect();
    Ok((value.text.to_owned(), dropped))
}

#[test]
fn a_value_is_found_behind_thoughts_words_and_fences() {
    for (reply, dropped) in [
        (r#"{"a":1}"#, &[][..]),
        (" \n{\"a\":1}\n", &[]),
        ("\u{feff}{\"a\":1}", &["byte_order_mark_dropped"]),
        ("<think>maybe {\"a\":2}</think>\n{\"a\":1}", &["thinking_dropped"]),
        ("<thinking>x</thinking><think></think>{\"a\":1}", &["thinking_dropped"]),
        ("maybe {\"a\":2}\n</think>\n\n{\"a\":1}", &["thinking_dropped"]),
        ("an open {\"a\": and</think>{\"a\":1}", &["thinking_dropped"]),
        ("<think>the end is `</think>` here</think>{\"a\":1}", &["thinking_dropped"]),
        ("```json\n{\"a\":1}\n```", &["fence_dropped"]),
        ("````\n{\"a\":1}\n````", &["fence_dropped"]),
        ("json\n```json\n{\"a\":1}\n```\n", &["fence_dropped", "words_dropped"]),
        ("Sure:\n```\n{\"a\":1}\n```\nDone.", &["fence_dropped", "words_dropped"]),
        ("Sure: {\"a\":1} Done.", &["words_dropped"]),
        ("{\"a\":1}\n\nI hope it helps {you}.", &["words_dropped"]),
        ("of {x}, [see], [1] and {\"b\":1}: {\"a\":1}", &["words_dropped"]),
        ("{\"a\":1} or, again, { \"a\": 1.0 }", &["words_dropped"]),
        (
            "\u{feff}<think>x</think>Sure: {\"a\":1}",
            &["byte_order_mark_dropped", "thinking_dropped", "words_dropped"],
        ),
        ("{'a': 2} is no JSON; {\"a\":1}", &["words_dropped"]),
    ] {
        assert_eq!(taken(reply), Ok((r#"{"a":1}"#.to_owned(), dropped.to_vec())), "{reply}");
    }
}

#[test]
fn texts_inside_a_value_are_not_touched() {
    for json in [
        "{\"a\":\"```js\\nf()\\n```\"}",
        "{\"a\":\"</think>\"}",
        "{\"a\":\"<think>\"}",
        "{\"a\":\"{\\\"a\\\":2}\"}",
        "{\"a\":\"} ] \\\" {\"}",
    ] {
        for reply in [json.to_owned(), format!("Sure: {json} Done."), format!("x</think>{json}")] {
            assert_eq!(taken(&reply).map(|(text, _)| text), Ok(json.to_owned()), "{reply}");
        }
    }
}

#[test]
fn a_fault_has_a_place_and_a_cause() {
    for (reply, why) in [
        ("", "no JSON that fits was found"),
        ("none", "no JSON that fits was found"),
        ("{\"b\":1}", "no JSON that fits was found"),
        ("{\"a\":1} {\"a\":2}", "several different JSON values fit"),
        ("{\"a\":1,}", "not JSON at byte 7: a trailing comma"),
        ("So: {\"a\":[1,]}", "not JSON at byte 12: a trailing comma"),
        ("é</think>{\"a\":1,}", "not JSON at byte 17: a trailing comma"),
        ("{/* x */\"a\":1}", "not JSON at byte 1: a comment"),
        ("{\"a\":1 // one\n}", "not JSON at byte 7: a comment"),
        ("{'a':1}", "not JSON at byte 1: single quotes"),
        ("{\"a\":NaN}", "not JSON at byte 5: JSON has no NaN and no Infinity"),
        ("{\"a\":None}", "not JSON at byte 5: JSON has true, false and null only"),
        ("{a: 1}", "not JSON at byte 1: a key without quotes"),
        ("{“a”: 1}", "not JSON at byte 1: typographic quotes"),
        ("{\"a\":\"1\n\"}", "not JSON at byte 7: a line break or tab in a string"),
        ("{\"a\":1 \"b\":2}", "not JSON at byte 7: a missing comma or colon"),
        ("{\"a\":1,\"a\":2}", "an object that ends at byte 13 names a key twice"),
        (
            "So: {\"a\":[1234567890123456789]}",
            "a double cannot hold the number at byte 10: write the integer as a string",
        ),
        (
            "9007199254740993",
            "a double cannot hold the number at byte 0: write the integer as a string",
        ),
        ("{\"a\":1e400}", "a double cannot hold the number at byte 5"),
        ("{\"a\":[1", "the text is cut: it ends inside a JSON value, at byte 7"),
        ("{\"a\":tr", "the text is cut: it ends inside a JSON value, at byte 7"),
        ("{\"a\":1} {\"a\":[{\"a\":2}", "the text is cut: it ends inside a JSON value, at byte 21"),
        ("<think>{\"a\":1}", "the text is cut: a `<think>` block does not end"),
        // A part of what cannot be read is nobody's answer.
        ("{\"b\":{\"a\":1},}", "not JSON at byte 13: a trailing comma"),
        ("{'b':{\"a\":1}}", "not JSON at byte 1: single quotes"),
        ("{\"b\":]{\"a\":1}]}", "not JSON at byte 5"),
    ] {
        assert_eq!(taken(reply), Err(why.to_owned()), "{reply}");
    }
}

#[test]
fn a_reply_that_is_one_value_may_be_any_json() {
    for (reply, text) in [("5", "5"), ("```\n\"x\"\n```", "\"x\""), ("<think>4</think> 5", "5")] {
        let read = Reply::read(reply);
        assert_eq!(read.only(|_| true).map(|value| value.text), Ok(text), "{reply}");
    }
    assert_eq!(Reply::read("It is 5.").only(|_| true), Err(Fault::Missing));
    assert!(Reply::read(" <think>x</think>\n").is_empty());
}

#[test]
fn distinct_values_are_few() {
    let reply = "{\"a\":1} {\"a\": 1} [2]".repeat(9);
    assert_eq!(Reply::read(&reply).distinct().map(|values| values.len()), Ok(2));
    let many: String = (0..17).map(|n| format!("[{n}] ")).collect();
    assert_eq!(Reply::read(&many).distinct(), Err(Fault::Ambiguous));
}

/// The parts follow one another, so that all of them together are read once.
#[test]
fn no_text_is_read_twice_however_hostile() {
    let pieces = ["{", "}", "{}", "{{}", "{\"", "\"{", "{\\", "[1,", "{\"a\":", "['", "<think>"];
    for piece in pieces.into_iter().chain(["</think>", "```\n", "[]", "{\"a\":\"}", "[\"[", "]["]) {
        let text = piece.repeat(65_536 / piece.len());
        let scan = Scan::new(&text);
        let mut end = 0;
        for value in &scan.values {
            let at = offset_in(&text, value.text);
            assert!(at >= end && !value.text.is_empty(), "{piece}");
            end = at + value.text.len();
        }
        assert!(end <= text.len());
        drop(Reply::read(&text).distinct());
    }
}
