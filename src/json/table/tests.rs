#![allow(unreachable_pub, unnameable_types, dead_code, reason = "the macros declare public types")]

use std::collections::BTreeMap;

use super::{Append, At, Describe, Form, Item, Read, Shape, Write, append};
use crate::error::Error;
use crate::json::Json;

names! {
    /// How fast.
    pub enum Pace as "Pace", "slow or fast", non_exhaustive {
        /// Slow.
        Slow "slow",
        /// Fast.
        Fast "fast",
    }
}

options! {
    /// A stop on the way.
    pub struct Stop as "Stop" {
        /// Where.
        place "place": String | required;
        /// How long.
        minutes "minutes": u32 = 5, whole 1..=60;
    }
}

options! {
    /// A walk.
    pub struct Walk as "WalkOptions" {
        /// The length.
        steps "steps": u64 = 1_000, whole 1..=10_000;
        /// The pace.
        pace "pace": Pace = Pace::Slow;
        /// The share of hills.
        hills "hills": f64 = 0.5, real 0.0..=1.0;
        /// The number of rests.
        rests "rests?": Option<u16>;
        /// The money, in cents.
        budget "budget?": Option<u64>, whole 1..=u64::MAX;
        /// The weight of the bag in kilograms.
        weight "weight?": Option<f64>, real 0.5..=f64::MAX;
        /// The height above the sea in metres.
        height "height?": Option<f64>;
        /// Where to stop.
        stops "stops?": Vec<Stop>;
        /// A name.
        name "name": Option<String>;
    }
}

record! {
    /// What a walk was like.
    pub struct Report as "Report" {
        /// The walk.
        walk "": Walk;
        /// Whether it rained.
        rain "rain?": bool;
    }
}

borrowed! {
    /// A text on the way.
    pub struct Sign<'a> as "Sign" {
        /// The text.
        text "text": Json<'a>;
        /// Who else has read it.
        readers "readers?": Vec<Report>;
        /// How long it is.
        length "length": Option<usize>;
    }
}

envelope! {
    /// An event with its number.
    pub struct Numbered as "NumberedEvent" of Event {
        /// The number.
        seq "seq": u64;
    }
}

cases! {
    /// What happened.
    pub enum Event as "WalkEvent" {
        /// A step.
        Step "step" {
            /// Its number.
            number "number": u64,
        }
        /// The end.
        End "end" {
            /// The report.
            report "report": Report,
        }
    }
}

names! {
    /// The weather, which has more kinds than these.
    pub enum Weather as "Weather", "sun or rain", non_exhaustive {
        /// Sun.
        Sun "sun",
        /// Rain.
        Rain "rain",
    }
}

options! {
    /// What a walker carries.
    pub struct Bag as "Bag" {
        /// Kilograms of each thing.
        things "things": Vec<(String, Thing)> => "things with their kilograms";
        /// Numbers of the pockets in use.
        pockets "pockets": Vec<i64> = vec![-1];
        /// Litres of each bottle.
        bottles "bottles?": Option<Vec<f64>>, real 0.0..=2.0 => "litres of bottles, up to 2";
    }
}

options! {
    /// A thing.
    pub struct Thing as "Thing" {
        /// Its weight.
        kilograms "kg": f64 | required, real 0.0..=50.0;
    }
}

record! {
    /// A diary.
    pub struct Diary as "Diary", read {
        /// The days.
        days "days": BTreeMap<String, Vec<Option<f64>>>;
        /// The weather.
        weather "weather": Option<Weather>;
        /// Anything, also nothing.
        note "note?": Option<Json<'static>>;
        /// The mean, if there is one; missing if nobody asked.
        mean "mean?": Option<Option<f64>>;
    }
}

fn walk(text: &str) -> Result<Walk, Error> {
    let mut walk = Walk::item();
    walk.read(Json::parse_str(text).unwrap().into_owned(), &At::ROOT)?;
    Ok(walk)
}

#[test]
fn what_is_written_is_read() {
    let text =
        r#"{"steps":7,"pace":"fast","hills":0.25,"stops":[{"place":"a","minutes":2}],"name":"n"}"#;
    let read = walk(text).unwrap();
    assert_eq!((read.pace, read.stops[0].minutes), (Pace::Fast, 2));
    assert_eq!(read.to_json().to_text(), text);
    let defaults = r#"{"steps":1000,"pace":"slow","hills":0.5,"name":null}"#;
    assert_eq!(walk(r#"{"steps":null}"#).unwrap().to_json().to_text(), defaults);
    assert_eq!(walk("{}").unwrap().steps(3).changed().to_text(), r#"{"steps":3}"#);
}

#[test]
fn errors_name_the_path() {
    for (text, path, expected) in [
        ("[]", "options", "an object"),
        (r#"{"step":1}"#, "step", "a known option"),
        (r#"{"steps":0}"#, "steps", "a whole number from 1 to 10000"),
        (r#"{"steps":1.5}"#, "steps", "a whole number from 1 to 10000"),
        (r#"{"rests":-1}"#, "rests", "a whole number from 0 to 65535"),
        (r#"{"budget":0}"#, "budget", "a whole number of at least 1"),
        (r#"{"weight":"1"}"#, "weight", "a number of at least 0.5"),
        (r#"{"height":"1"}"#, "height", "a number"),
        (r#"{"pace":"idle"}"#, "pace", "slow or fast"),
        (r#"{"hills":1.01}"#, "hills", "a number from 0 to 1"),
        (r#"{"stops":{}}"#, "stops", "an array"),
        (
            r#"{"stops":[{"place":"a"},{"place":"a","minutes":61}]}"#,
            "stops[1].minutes",
            "a whole number from 1 to 60",
        ),
        (r#"{"stops":[{}]}"#, "stops[0].place", "a string"),
        (r#"{"stops":[{"place":"a","plaice":1}]}"#, "stops[0].plaice", "a known option"),
    ] {
        let wanted = Error::option(path, expected);
        assert_eq!(walk(text).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn what_the_reader_refuses_is_refused_in_rust() {
    let plain = || walk("{}").unwrap();
    let stop = |minutes| Stop::blank().minutes(minutes);
    for (made, text) in [
        (plain().steps(0), r#"{"steps":0}"#),
        (plain().hills(1.5), r#"{"hills":1.5}"#),
        (plain().stops(vec![stop(5), stop(61)]), r#"{"stops":[{"place":""},{"minutes":61}]}"#),
    ] {
        assert_eq!(made.check(&At::ROOT), Err(walk(text).unwrap_err()));
    }
    assert!(plain().hills(f64::NAN).check(&At::ROOT).is_err());
    assert_eq!(plain().stops(vec![stop(60)]).check(&At::ROOT), Ok(()));
}

#[test]
fn cases_share_members() {
    let event = Numbered { seq: 7, kind: Event::Step { number: 1 } };
    assert_eq!(event.to_json().to_text(), r#"{"type":"step","seq":7,"number":1}"#);
    let Shape::Named(event) = <Numbered as super::Describe>::shape() else { panic!() };
    let Form::Record(fields) = event().form else { panic!() };
    assert_eq!([fields[0].name, fields[1].name], ["seq", ""]);
    assert!(matches!(&fields[1].shape, Shape::Named(kind) if kind().name == "WalkEvent"));
}

#[test]
fn results_are_flat_and_sparse() {
    let report = Report { walk: Walk::item(), rain: false };
    let flat = r#""steps":1000,"pace":"slow","hills":0.5,"name":null"#;
    assert_eq!(report.write().to_text(), format!("{{{flat}}}"));
    let rain = Report { rain: true, ..report };
    assert_eq!(rain.to_json().to_text(), format!("{{{flat},\"rain\":true}}"));
    let sign = Sign { text: "a".into(), readers: Vec::new(), length: None };
    assert_eq!(sign.clone().into_json().to_text(), r#"{"text":"a","length":null}"#);
    let sign = Json::from(Sign { readers: vec![rain.clone()], length: Some(1), ..sign });
    let text = format!(r#"{{"text":"a","readers":[{}],"length":1}}"#, rain.to_json());
    assert_eq!(sign.to_text(), text);
    let end = Event::End { report: rain };
    assert_eq!((end.name(), end.members().len()), ("end", 1));
    assert_eq!(Event::Step { number: 1 }.members()[0].1, Json::integer(1));
}

#[test]
fn descriptions_hold_docs_and_defaults() {
    use super::Describe;
    let Shape::Named(walk) = Walk::shape() else { panic!() };
    let walk = walk();
    let Form::Record(fields) = walk.form else { panic!() };
    assert_eq!((walk.name, walk.docs), ("WalkOptions", vec![" A walk."]));
    assert_eq!(fields[0].docs, [" The length."]);
    assert_eq!(fields[0].default, Some(Json::integer(1000)));
    assert!(fields[3].sparse && !fields[0].required);
    let Shape::Named(event) = Event::shape() else { panic!() };
    let Form::Cases(cases) = event().form else { panic!() };
    assert_eq!((cases[1].tag, cases[1].fields[0].name), ("end", "report"));
    let Shape::Named(pace) = Pace::shape() else { panic!() };
    let Form::Names(names) = pace().form else { panic!() };
    assert_eq!(names[1], ("fast", vec![" Fast."]));
}

#[test]
fn worded_rows_have_one_message_and_their_own_path() {
    let bag = |text: &str| {
        let mut bag = Bag::item();
        bag.read(Json::parse_str(text).unwrap().into_owned(), &At::ROOT).map(|()| bag)
    };
    let read = bag(r#"{"things":{"b":{"kg":1},"a":{"kg":2.5}},"pockets":[3,-7],"bottles":[0.5]}"#);
    let text = r#"{"things":{"b":{"kg":1},"a":{"kg":2.5}},"pockets":[3,-7],"bottles":[0.5]}"#;
    assert_eq!(read.unwrap().to_json().to_text(), text);
    assert_eq!(bag("{}").unwrap().to_json().to_text(), r#"{"things":{},"pockets":[-1]}"#);
    for (text, path, expected) in [
        (r#"{"things":7}"#, "things", "things with their kilograms"),
        (r#"{"things":{"a":{}}}"#, "things", "things with their kilograms"),
        (r#"{"things":{"a":{"kg":1,"k":2}}}"#, "things.a.k", "a known option"),
        (r#"{"bottles":[1,"x"]}"#, "bottles", "litres of bottles, up to 2"),
        (r#"{"pockets":[1.5]}"#, "pockets[0]", "a whole number"),
    ] {
        let wanted = Error::Options { option: path.to_owned(), expected: expected.into() };
        assert_eq!(bag(text).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn results_are_read_back() {
    let read = |text: &str| Diary::from_json(Json::parse_str(text).unwrap().into_owned());
    for text in [
        r#"{"days":{},"weather":null}"#,
        r#"{"days":{"mo":[1.5,null],"tu":[]},"weather":"rain","note":null,"mean":null}"#,
        r#"{"days":{},"weather":null,"note":{"a":1},"mean":0.5}"#,
    ] {
        assert_eq!(read(text).unwrap().to_json().to_text(), text);
    }
    let other = read(r#"{"days":{},"new":1}"#).unwrap();
    assert_eq!((other.weather, other.note, other.mean), (None, None, None));
    for (text, path) in [
        ("1", "options"),
        ("{}", "days"),
        (r#"{"days":{"mo":[1,"x"]}}"#, "days.mo[1]"),
        (r#"{"days":{},"weather":"snow"}"#, "weather"),
    ] {
        let Err(Error::Options { option, .. }) = read(text) else { panic!("{text}") };
        assert_eq!(option, path, "{text}");
    }
}

#[test]
fn events_are_appended_as_their_members() {
    let report = Report { walk: Walk::item(), rain: true };
    for event in [Event::Step { number: 7 }, Event::End { report }] {
        let mut text = format!("{{\"type\":\"{}\"", event.name());
        event.append(&mut text);
        text.push('}');
        let mut members = vec![("type".into(), event.name().into())];
        members.extend(event.members());
        assert_eq!(text, Json::Object(members).to_text());
    }
}

protocol! {
    /// Where a walk led.
    pub enum Found as "Found", read and write {
        /// Home.
        Home "home",
        /// A place.
        Place "place" (name "name": String)
    }
}

protocol! {
    /// What a walker says.
    pub enum Said as "Said", read and write {
        /// It begins.
        Start "start",
        /// A step.
        Step "step" {
            /// Its number.
            number "number": u32,
            /// What was seen.
            seen "seen?": Option<Json<'static>>,
            /// Its pace.
            pace "pace": Option<Pace>,
        }
        /// The end.
        End "end" {
            /// Where.
            found "found": Found,
            /// The sky, among the members.
            sky "": Sky,
        }
    }
}

/// Stands among the members of another object.
#[derive(Debug, Clone, PartialEq)]
pub struct Sky(bool);

impl Read for Sky {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        self.0 = json.get("rain").and_then(Json::as_bool).ok_or_else(|| at.wrong("a sky"))?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a sky"
    }
}

impl Item for Sky {
    fn item() -> Self {
        Self(false)
    }
}

impl Append for Sky {
    fn append(&self, out: &mut String) {
        append("rain", false, &self.0, out);
    }
}

impl Describe for Sky {
    fn shape() -> Shape {
        Shape::Written("Sky")
    }
}

impl Append for Found {
    fn append(&self, out: &mut String) {
        self.write_json(out);
    }
}

fn said(text: &str) -> Result<Said, Error> {
    Said::from_json(Json::parse_str(text).unwrap().into_owned())
}

#[test]
fn inputs_are_read_as_they_are_written() {
    for text in [
        r#"{"type":"start"}"#,
        r#"{"type":"step","number":7,"pace":null}"#,
        r#"{"type":"step","number":7,"seen":null,"pace":"fast"}"#,
        r#"{"type":"end","found":{"type":"home"},"rain":true}"#,
        r#"{"type":"end","found":{"type":"place","name":"\"b\""},"rain":false}"#,
    ] {
        let mut written = String::new();
        said(text).unwrap().write_json(&mut written);
        assert_eq!(written, text);
    }
    let other = said(r#"{"more":1,"number":7,"type":"step"}"#);
    assert_eq!(other, Ok(Said::Step { number: 7, seen: None, pace: None }));
}

#[test]
fn the_first_member_that_is_wrong_is_named() {
    for (text, path) in [
        ("1", "type"),
        ("{}", "type"),
        (r#"{"type":7}"#, "type"),
        (r#"{"type":"levitate"}"#, "type"),
        (r#"{"type":"step"}"#, "number"),
        (r#"{"type":"step","number":null}"#, "number"),
        (r#"{"type":"step","number":-1,"pace":"slower"}"#, "number"),
        (r#"{"type":"step","number":1,"pace":"slower"}"#, "pace"),
        (r#"{"type":"end","rain":true}"#, "found"),
        (r#"{"type":"end","found":{"type":"sea"},"rain":true}"#, "found.type"),
        (r#"{"type":"end","found":{"type":"place"},"rain":true}"#, "found.name"),
        (r#"{"type":"end","found":{"type":"home"}}"#, "options"),
    ] {
        let Err(Error::Options { option, .. }) = said(text) else { panic!("{text}") };
        assert_eq!(option, path, "{text}");
    }
}
