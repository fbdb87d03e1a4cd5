//! What holds of every distance and every bundle (`docs/statistics.md` §2.14).

use std::cell::Cell;

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::evidence::{
    self, Bundle, BundleEvent, BundleLimits, BundleOptions, Effect, Evidence, Input, MustAgree,
    Outcome, Stop, SummaryOptions,
};
use turnlock::json::{self, Json};
use turnlock::stats::{self, Comparer, DistanceOptions};

use crate::common::Random;
use crate::generate::{fitting, pick, same, schema, value};

fn own(value: &Value) -> Json<'static> {
    Json::parse_str(&value.to_string()).unwrap().into_owned()
}

fn distance(a: &Value, b: &Value, schema: &Value) -> f64 {
    let options = DistanceOptions::default().schema(Some(own(schema)));
    stats::distance(&own(a), &own(b), &options).unwrap()
}

fn evidence(options: SummaryOptions, schema: &Value, replicates: &[(Value, bool)]) -> Evidence {
    let mut evidence = Evidence::new(options.schema(Some(own(schema)))).unwrap();
    for (data, valid) in replicates {
        let place = evidence.open();
        evidence.set(place, Some(own(data)), *valid, Vec::new());
    }
    evidence
}

fn summary(evidence: &Evidence) -> Value {
    serde_json::from_str(evidence.summary().json()).unwrap()
}

fn whole(schema: &Value, replicates: &[(Value, bool)]) -> Value {
    summary(&evidence(SummaryOptions::default(), schema, replicates))
}

/// Runs `check` on many seeds, naming the one that fails.
fn each(seeds: u64, check: impl Fn(&mut Random)) {
    for seed in 1..=seeds {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&mut random)));
        assert!(checked.is_ok(), "seed {seed}");
    }
}

fn any_schema(random: &mut Random) -> Value {
    if random.below(4) == 0 { json!({}) } else { schema(random, 3) }
}

#[test]
fn distances() {
    each(6_000, |random| {
        let schema = any_schema(random);
        let mut next = || fitting(random, &schema, 3);
        let (a, b, c) = (next(), next(), next());
        let (ab, ba) = (distance(&a, &b, &schema), distance(&b, &a, &schema));
        assert!((0.0..=1.0).contains(&ab), "{ab}");
        assert_eq!(ab.to_bits(), ba.to_bits(), "{schema} {a} {b}: symmetric");
        assert_eq!(distance(&a, &a, &schema), 0.0);
        assert_eq!(distance(&a, &same(&a), &schema), 0.0, "{a}: the same in other words");
        let (ac, bc) = (distance(&a, &c, &schema), distance(&b, &c, &schema));
        assert!(ac <= ab + bc + 1e-9, "{schema}\n{a}\n{b}\n{c}: {ac} > {ab} + {bc}");
    });
}

#[test]
fn numbers() {
    each(2_000, |random| {
        let mut next = || f64::from(u32::try_from(random.below(10_000)).unwrap()) / 100.0;
        let (a, step, further, factor) = (next(), next(), next(), next() + 0.01);
        let range = json!({ "type": "number", "x-range": 1_000 });
        let of = |b: f64| distance(&json!(a), &json!(b), &range);
        assert!(of(a + step) <= of(a + step + further), "grows with the difference");
        let free = json!({ "type": "number" });
        let plain = distance(&json!(a), &json!(a + step), &free);
        let scaled = distance(&json!(a * factor), &json!((a + step) * factor), &free);
        assert!((plain - scaled).abs() < 1e-9, "no factor changes it");
    });
}

#[test]
fn a_field_that_parts_never_brings_nearer() {
    each(2_000, |random| {
        let schema = any_schema(random);
        let (a, b) = (fitting(random, &schema, 3), fitting(random, &schema, 3));
        let (Value::Object(a), Value::Object(mut b)) = (a, b) else { return };
        let before = distance(&json!(a), &json!(b), &schema);
        for (name, value) in &a {
            let inner = &schema["properties"][name];
            let agrees = b.get(name).is_some_and(|other| distance(value, other, inner) == 0.0);
            if agrees && !inner["x-weight"].is_number() {
                // No value of any kind is nearer to another type than 1.
                b.insert(name.clone(), if value.is_boolean() { json!("no") } else { json!(true) });
                assert!(distance(&json!(a), &json!(b), &schema) >= before - 1e-12);
            }
        }
    });
}

#[test]
fn bundles() {
    each(2_500, |random| {
        let schema = any_schema(random);
        let k = 1 + random.below(6);
        let replicates: Vec<(Value, bool)> =
            (0..k).map(|_| (fitting(random, &schema, 3), random.below(5) > 0)).collect();
        let got = whole(&schema, &replicates);
        let matrix = got["pairwise_distance"].as_array().unwrap();
        for (i, row) in matrix.iter().enumerate() {
            for (j, cell) in row.as_array().unwrap().iter().enumerate() {
                assert_eq!(cell, &matrix[j][i], "mirrored");
                let valid = replicates[i].1 && replicates[j].1;
                assert_eq!(cell.is_null(), !valid, "an invalid replicate has no cell");
                assert!(i != j || !valid || *cell == json!(0));
            }
        }
        // Stop ⇔ confidence ≥ 1 − ε, and no smaller ε stops where a larger one does not.
        let confidence = got["confidence"].as_f64();
        let by_epsilon = SummaryOptions::default().must_agree(MustAgree::Fields(vec![]));
        let options = |epsilon| by_epsilon.clone().epsilon(epsilon);
        let stops = |epsilon| evidence(options(epsilon), &schema, &replicates).agrees();
        assert_eq!(stops(0.2), confidence.is_some_and(|one| one >= 0.8 - 2e-12));
        assert!(stops(0.5) || !stops(0.3));
        // Unanimous fields are no disagreements, unless an invalid replicate differs.
        for entry in got["disagreements"].as_array().unwrap() {
            let values = entry["values"].as_array().unwrap();
            let valid = values.iter().filter(|one| one["invalid"].is_null()).count();
            assert!(valid > 1 || values.len() > valid, "{entry}");
            assert!(valid > 1 || entry["max_distance"] == json!(0), "{entry}");
        }
        assert_consensus_was_given(&replicates, &got);
        if got["early_stop"] == json!(true) {
            assert!(stops(0.2), "only where the mean distance is small");
            assert_settled(&replicates, &got);
        }
        permuted(random, &schema, &replicates, &got);
        grown(random, &schema, replicates, &got);
    });
}

/// A consensus is a value that a valid replicate gave there (amendment 2.16.3).
fn assert_consensus_was_given(replicates: &[(Value, bool)], got: &Value) {
    for (field, value) in got["consensus"].as_object().unwrap() {
        let there = |(data, valid): &(Value, bool)| {
            let said = data.pointer(field).filter(|_| *valid);
            said.is_some_and(|said| own(said).to_canonical() == own(value).to_canonical())
        };
        assert!(replicates.iter().any(there), "{field}: {value}");
    }
}

/// Nothing stops early while replicates differ on a field without a consensus (amendment 2.16.4). No
/// text of these values is prose.
fn assert_settled(replicates: &[(Value, bool)], got: &Value) {
    let valid = replicates.iter().filter(|(_, valid)| *valid).count();
    for entry in got["disagreements"].as_array().unwrap() {
        let (field, values) =
            (entry["field"].as_str().unwrap(), entry["values"].as_array().unwrap());
        let size = |said: &Value| said["replicates"].as_array().unwrap().len();
        let missing = values.iter().find(|said| said["missing"] == true).map_or(0, size);
        let settled = got["consensus"].get(field).is_some() || 2 * missing > valid;
        assert!(settled, "{entry}");
    }
}

/// A distance of 0 is one class, and nothing else is (amendment 2.16.2).
#[test]
fn zero_distance_means_one_class() {
    let (apart, same_class) = (Cell::new(0), Cell::new(0));
    each(6_000, |random| {
        let schema = any_schema(random);
        let a = fitting(random, &schema, 3);
        let b = match random.below(3) {
            0 => same(&a),
            1 => touched(random, &a),
            _ => fitting(random, &schema, 3),
        };
        let got = whole(&schema, &[(a.clone(), true), (b.clone(), true)]);
        let entries = got["disagreements"].as_array().unwrap();
        let differs = entries.iter().any(|entry| entry["kind"].is_null());
        assert_eq!(distance(&a, &b, &schema) > 0.0, differs, "{schema}\n{a}\n{b}\n{entries:?}");
        let counter = if differs { &apart } else { &same_class };
        counter.set(counter.get() + 1);
    });
    assert!(apart.get() > 1_000 && same_class.get() > 1_000, "{apart:?} {same_class:?}");
}

/// Lists of one class in several orders are told, and only a declared set stops early with them
/// (amendment 2.16.5).
#[test]
fn order_differences_are_reported() {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let mut set = list.clone();
    set["uniqueItems"] = json!(true);
    let of = |schema: &Value, lists: &[[&str; 3]]| {
        let schema = json!({ "type": "object", "properties": { "l": schema } });
        let all: Vec<_> = lists.iter().map(|list| (json!({ "l": list }), true)).collect();
        whole(&schema, &all)
    };
    let (there, back) = (["a", "b", "c"], ["c", "b", "a"]);
    for (schema, stops) in [(&list, false), (&set, true)] {
        let got = of(schema, &[there, back]);
        assert_eq!((&got["confidence"], &got["early_stop"]), (&json!(1), &json!(stops)));
        let entry = &got["disagreements"][0];
        assert_eq!((&entry["kind"], &entry["mean_distance"]), (&json!("order"), &json!(0)));
        assert_eq!(entry["values"][1]["value"], json!(back));
        assert_eq!(got["consensus"]["/l"], json!(there), "of the first replicate");
        let got = of(schema, &[there, back, back]);
        assert_eq!(got["consensus"]["/l"], json!(back), "of the majority");
        assert_eq!(got["early_stop"], json!(true));
    }
    let sequence = json!({ "type": "array", "x-compare": "sequence" });
    let got = of(&sequence, &[there, back]);
    assert_eq!((&got["disagreements"][0]["kind"], &got["consensus"]), (&Value::Null, &json!({})));
}

/// Numbers that are no measure need equality; a tolerance or a range makes them one (2.16.3).
#[test]
fn consensus_of_numbers_is_a_given_number() {
    let of = |schema: Value, numbers: &[f64]| {
        let schema = json!({ "type": "object", "properties": { "n": schema } });
        let all: Vec<_> = numbers.iter().map(|n| (json!({ "n": n }), true)).collect();
        whole(&schema, &all)["consensus"]["/n"].clone()
    };
    let (integer, number) = (json!({ "type": "integer" }), json!({ "type": "number" }));
    let none = Value::Null;
    #[rustfmt::skip]
    let rows = [
        (integer.clone(), vec![1998.0, 2012.0], none.clone()),
        (number.clone(), vec![1998.0, 2012.0], none.clone()),
        (integer, vec![10_001.0, 10_002.0, 10_003.0], none.clone()),
        (json!({ "type": "integer", "x-tolerance": 5 }), vec![200.0, 204.0], json!(200.0)),
        (json!({ "type": "integer", "x-tolerance": 3 }), vec![200.0, 204.0], none.clone()),
        (json!({ "type": "integer", "minimum": 0, "maximum": 100 }), vec![4.0, 3.0], json!(3.0)),
        // zod 4 writes these bounds for `z.int()`, `z.int32()`, `z.uint32()` and `z.float32()`.
        (json!({ "type": "integer", "minimum": -9_007_199_254_740_991_i64, "maximum": 9_007_199_254_740_991_i64 }), vec![3.0, 900_000.0], none.clone()),
        (json!({ "type": "integer", "minimum": -2_147_483_648_i64, "maximum": 2_147_483_647 }), vec![3.0, 900_000.0], none.clone()),
        (json!({ "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u64 }), vec![3.0, 900_000.0], none.clone()),
        (json!({ "type": "number", "minimum": -3.4028234663852886e38, "maximum": 3.4028234663852886e38 }), vec![0.5, 900.5], none.clone()),
        (number.clone(), vec![0.5, 0.51, 0.52], json!(0.51)),
        (number.clone(), vec![0.52, 0.5], json!(0.5)),
        (number.clone(), vec![0.5, 0.525, 0.51, 0.52], json!(0.51)),
        (number, vec![100.0, 100.5], json!(100.0)),
    ];
    for (schema, numbers, want) in rows {
        let got = of(schema.clone(), &numbers);
        assert_eq!(got.as_f64(), want.as_f64(), "{schema} {numbers:?}");
    }
}

/// What prose says settles nothing, unless there is nothing else (2.16.4).
#[test]
fn early_stop_ignores_prose() {
    let long = |word: &str| format!("because {word} {}", "and so on ".repeat(5));
    let stops = |replicates: &[Value], schema: Value| {
        let all: Vec<_> = replicates.iter().map(|data| (data.clone(), true)).collect();
        let options = SummaryOptions::default().epsilon(1.0);
        evidence(options, &schema, &all).agrees()
    };
    let free = json!({});
    let with = |label: &str, why: &str| json!({ "label": label, "why": long(why) });
    assert!(stops(&[with("a", "x"), with("a", "y")], free.clone()));
    assert!(!stops(&[with("a", "x"), with("b", "x")], free.clone()));
    let closed = json!({ "properties": { "why": { "type": "string", "pattern": "^because" } } });
    assert!(!stops(&[with("a", "x"), with("a", "y")], closed), "a pattern leaves nothing open");
    let only = |why: &str| json!({ "why": long(why) });
    assert!(!stops(&[only("x"), only("y")], free.clone()), "all prose: all count");
    assert!(stops(&[only("x"), only("x")], free.clone()));
    // One long text makes the field prose, and members of items are fields as well.
    let short = json!({ "label": "a", "why": "because x" });
    assert!(stops(&[short, with("a", "y")], free.clone()));
    let items = |names: [&str; 2], why: &str| {
        let item = |name: &&str| json!({ "name": name, "why": long(why) });
        json!({ "items": names.iter().map(item).collect::<Vec<_>>() })
    };
    assert!(stops(&[items(["a", "b"], "x"), items(["a", "b"], "y")], free.clone()));
    assert!(!stops(&[items(["a", "b"], "x"), items(["b", "a"], "y")], free.clone()), "order");
    assert!(!stops(&[items(["a", "b"], "x"), items(["a", "c"], "x")], free.clone()));
    let reasons = |why: &str| json!({ "label": "a", "reasons": [long(why), long("z")] });
    assert!(stops(&[reasons("x"), reasons("y")], free));
}

/// Another order of replicates: the same numbers in other places.
fn permuted(random: &mut Random, schema: &Value, replicates: &[(Value, bool)], got: &Value) {
    let mut order: Vec<usize> = (0..replicates.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let mixed: Vec<_> = order.iter().map(|at| replicates[*at].clone()).collect();
    let mixed = whole(schema, &mixed);
    for (i, from_i) in order.iter().enumerate() {
        for (j, from_j) in order.iter().enumerate() {
            let (there, here) =
                (&mixed["pairwise_distance"][i][j], &got["pairwise_distance"][*from_i][*from_j]);
            assert_eq!(there, here, "the matrix is permuted");
        }
    }
    let near = |a: &Value, b: &Value| match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-12,
        _ => a == b,
    };
    assert!(near(&mixed["confidence"], &got["confidence"]));
    let keys =
        |one: &Value| one["consensus"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&mixed), keys(got), "consensus fields");
    let fields = |one: &Value| {
        let entries = one["disagreements"].as_array().unwrap().iter();
        let entries = entries.map(|one| format!("{} {}", one["field"], one["kind"]));
        let mut fields: Vec<String> = entries.collect();
        fields.sort();
        fields
    };
    assert_eq!(fields(&mixed), fields(got), "disagreements");
}

/// One more replicate changes no earlier cell; an invalid one changes no number.
fn grown(random: &mut Random, schema: &Value, mut replicates: Vec<(Value, bool)>, got: &Value) {
    let k = replicates.len();
    replicates.push((fitting(random, schema, 3), true));
    let valid = whole(schema, &replicates);
    replicates[k].1 = false;
    let invalid = whole(schema, &replicates);
    for (i, row) in got["pairwise_distance"].as_array().unwrap().iter().enumerate() {
        for (j, cell) in row.as_array().unwrap().iter().enumerate() {
            assert_eq!(&valid["pairwise_distance"][i][j], cell);
            assert_eq!(&invalid["pairwise_distance"][i][j], cell);
        }
    }
    for name in ["confidence", "valid_count", "early_stop", "consensus", "support", "distributions"]
    {
        assert_eq!(invalid[name], got[name], "{name}");
    }
}

#[test]
fn identical_replicates() {
    each(800, |random| {
        let schema = any_schema(random);
        let data = fitting(random, &schema, 3);
        let replicates: Vec<_> = (0..2 + random.below(4)).map(|_| (same(&data), true)).collect();
        let got = whole(&schema, &replicates);
        assert_eq!((&got["confidence"], &got["disagreements"]), (&json!(1), &json!([])));
        // Full consensus: every leaf that weighs anything.
        for (field, value) in got["consensus"].as_object().unwrap() {
            let there = own(same(&data).pointer(field).unwrap());
            assert_eq!(there.to_canonical(), own(value).to_canonical());
        }
        if !data.is_object() {
            assert_eq!(got["consensus"].as_object().unwrap().len(), 1);
        }
    });
}

#[test]
fn caps_change_no_number() {
    let mut cut = 0;
    for seed in 1..=1_500_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let schema = any_schema(&mut random);
        let replicates: Vec<(Value, bool)> =
            (0..4).map(|at| (fitting(&mut random, &schema, 3), at != 2)).collect();
        let full = whole(&schema, &replicates);
        let cap = |random: &mut Random, most| Some(random.below(most));
        let limits = BundleLimits::default()
            .max_fields(cap(&mut random, 4))
            .max_diffs(cap(&mut random, 3))
            .max_bytes(cap(&mut random, 4_000));
        let options = SummaryOptions::default().limits(Some(limits.clone()));
        let text = evidence(options, &schema, &replicates).summary().into_json();
        let got: Value = serde_json::from_str(&text).unwrap();
        for name in ["pairwise_distance", "confidence", "valid_count", "invalid", "early_stop"] {
            assert_eq!(got[name], full[name], "{name}");
        }
        for name in ["consensus", "distributions", "support"] {
            for (field, value) in got[name].as_object().unwrap() {
                assert_eq!(value, &full[name][field], "{name} {field}");
            }
        }
        let shown = got["disagreements"].as_array().unwrap();
        assert_eq!(shown[..], full["disagreements"].as_array().unwrap()[..shown.len()]);
        assert!(shown.len() <= limits.max_diffs.unwrap());
        let lost = |name: &str| {
            let size = |one: &Value| {
                one.as_array().map_or_else(|| one.as_object().unwrap().len(), Vec::len)
            };
            (size(&got[name]), size(&full[name]))
        };
        let parts = ["consensus", "distributions", "disagreements"].map(lost);
        let truncated = parts.iter().any(|(shown, total)| shown < total);
        assert_eq!(got["truncated"], json!(truncated));
        if truncated {
            cut += 1;
            for (name, (shown, total)) in
                ["consensus", "distributions", "disagreements"].iter().zip(parts)
            {
                assert_eq!(got["counts"][name], json!({ "shown": shown, "total": total }));
            }
        }
        // Either it fits, or nothing is left that could go.
        let empty = parts.iter().all(|(shown, _)| *shown == 0);
        assert!(text.len() <= limits.max_bytes.unwrap() || empty, "{} bytes", text.len());
    }
    assert!(cut > 500, "{cut}");
}

#[test]
fn patches_round_trip() {
    each(6_000, |random| {
        let base = value(random, 4);
        let target = if random.below(3) == 0 { value(random, 4) } else { touched(random, &base) };
        let (base, target) = (own(&base), own(&target));
        let patch = evidence::diff(&base, &target);
        let made = evidence::apply(&base, &patch).unwrap();
        assert_eq!(made.to_canonical(), target.to_canonical(), "{}", patch.to_text());
    });
}

/// A value with something changed somewhere.
fn touched(random: &mut Random, from: &Value) -> Value {
    let mut made = from.clone();
    match &mut made {
        Value::Array(items) => match random.below(3) {
            0 => items.insert(random.below(items.len() + 1), value(random, 2)),
            1 if !items.is_empty() => drop(items.remove(random.below(items.len()))),
            _ => items.iter_mut().for_each(|item| *item = touched(random, item)),
        },
        Value::Object(members) => {
            let keys: Vec<String> = members.keys().cloned().collect();
            if let Some(key) = keys.first() {
                let inner = touched(random, &members[key]);
                members.insert(key.clone(), inner);
            }
            if random.below(2) == 0 {
                members.insert("new/~".to_owned(), value(random, 2));
            }
        }
        other => *other = value(random, 1),
    }
    made
}

/// The compact form says the same: base and deltas give every replicate back.
#[test]
fn compact_bundles_lose_nothing() {
    each(1_500, |random| {
        let schema = any_schema(random);
        let base = fitting(random, &schema, 3);
        let replicates: Vec<(Value, bool)> =
            (0..4).map(|_| (touched(random, &base), random.below(5) > 0)).collect();
        let options = BundleOptions::new("t").k(4).stop(Stop::Never).compact(true);
        // A bundle refuses a schema by which nothing counts.
        let bundle = Bundle::new(options.clone().schema(Some(own(&schema))));
        let bundle = bundle.or_else(|_| Bundle::new(options)).unwrap();
        let text = ready(bundle, &replicates);
        let got: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(got["summary"]["truncated"], json!(false));
        let shown = got["replicates"].as_array().unwrap();
        let base = shown.iter().find(|one| one["base"] == true).map(|one| own(&one["data"]));
        for (one, (data, _)) in shown.iter().zip(&replicates) {
            let back = match one.get("delta") {
                Some(delta) => evidence::apply(base.as_ref().unwrap(), &own(delta)).unwrap(),
                None => own(&one["data"]),
            };
            assert_eq!(back.to_canonical(), own(data).to_canonical());
        }
        let again: Value = serde_json::from_str(&got.to_string()).unwrap();
        assert_eq!(got, again);
    });
}

/// Caps by bytes: no delta without its base, long strings are cut before any data goes, and `counts`
/// says what there is to see.
#[test]
fn capped_bundles_can_be_read() {
    let (omitted, cut) = (Cell::new(0), Cell::new(0));
    each(1_500, |random| {
        let long = |random: &mut Random| "word ".repeat(random.below(3_000));
        let first = long(random);
        let one = |random: &mut Random| {
            let text = if random.below(2) == 0 { first.clone() } else { long(random) };
            json!({ "label": random.below(2), "text": text, "list": [long(random), 1] })
        };
        let replicates: Vec<(Value, bool)> =
            (0..4).map(|_| (one(random), random.below(5) > 0)).collect();
        let most = 1_500 + random.below(40_000);
        let limits = BundleLimits::default().max_bytes(Some(most));
        let options = BundleOptions::new("t").k(4).stop(Stop::Never);
        let options = options.compact(random.below(3) > 0).limits(Some(limits));
        let text = ready(Bundle::new(options).unwrap(), &replicates);
        let got: Value = serde_json::from_str(&text).unwrap();
        let shown = got["replicates"].as_array().unwrap();
        let has = |name: &str| shown.iter().filter(|one| one.get(name).is_some()).count();
        assert_eq!(has("data") + has("delta") + has("omitted"), 4);
        let base = shown.iter().find(|one| one["base"] == true).map(|one| own(&one["data"]));
        for one in shown {
            let Some(delta) = one.get("delta") else { continue };
            let base = base.as_ref().expect("a delta has its base");
            assert!(evidence::apply(base, &own(delta)).is_some());
        }
        let summary = &got["summary"];
        if summary["truncated"] == true {
            let counts = &summary["counts"];
            let seen = has("data") + has("delta");
            assert_eq!(counts["replicates"], json!({ "shown": seen, "total": 4 }));
            let strings = &counts["long_strings"];
            assert!(strings["shown"].as_u64() <= strings["total"].as_u64());
            cut.set(cut.get() + 1);
        }
        if has("omitted") > 0 {
            omitted.set(omitted.get() + 1);
            assert!(!has_string_above(&got, 300), "a long string is cut before data goes");
        }
        assert!(text.len() <= most || summary["disagreements"] == json!([]), "{}", text.len());
    });
    assert!(omitted.get() > 50 && cut.get() > 500, "{omitted:?} {cut:?}");
}

fn has_string_above(value: &Value, most: usize) -> bool {
    match value {
        Value::String(text) => text.chars().count() > most,
        Value::Array(items) => items.iter().any(|item| has_string_above(item, most)),
        Value::Object(members) => members.values().any(|item| has_string_above(item, most)),
        _ => false,
    }
}

/// Three long texts are shown as far as there is room.
#[test]
fn long_texts_fill_the_cap() {
    let replicates: Vec<(Value, bool)> = (0..3)
        .map(|at| (json!({ "text": format!("{at} {}", "x ".repeat(22_000)) }), true))
        .collect();
    for compact in [true, false] {
        let limits = BundleLimits::default().max_bytes(Some(32_768));
        let options = BundleOptions::new("t").stop(Stop::Never).compact(compact);
        let text = ready(Bundle::new(options.limits(Some(limits))).unwrap(), &replicates);
        assert!((16_000..=32_768).contains(&text.len()), "{}", text.len());
        let got: Value = serde_json::from_str(&text).unwrap();
        let counts = &got["summary"]["counts"];
        assert_eq!(counts["replicates"], json!({ "shown": 3, "total": 3 }));
        assert_eq!(counts["long_strings"], json!({ "shown": 0, "total": 6 }));
    }
}

/// Runs a bundle with these replicates; its text.
fn ready(mut bundle: Bundle, replicates: &[(Value, bool)]) -> String {
    bundle.handle(0, Input::Start);
    loop {
        match bundle.poll() {
            Next::Effect(Effect::Run { replicate, attempt, .. }) => {
                let (data, valid) = &replicates[replicate];
                let errors = if *valid { vec![] } else { vec!["no".to_owned()] };
                let outcome = Outcome::Data { json: data.to_string().into_bytes(), errors };
                let settled = Input::Settled {
                    replicate,
                    attempt,
                    outcome,
                    tokens: None,
                    model: None,
                    seed_unsent: false,
                    repairs: vec![],
                };
                bundle.handle(0, settled);
            }
            Next::Effect(Effect::Emit(event)) => {
                if let BundleEvent::BundleReady { bundle, .. } = event.kind {
                    return bundle.into_json();
                }
            }
            Next::Effect(_) => {}
            Next::Wait { .. } => panic!("no bundle"),
        }
    }
}

/// Whatever is asked for, a schema is refused with the place of the fault or it works.
#[test]
fn no_schema_panics() {
    let keys = [
        "type",
        "enum",
        "const",
        "items",
        "properties",
        "x-compare",
        "x-range",
        "x-weight",
        "x-key",
        "ignore",
        "$ref",
        "anyOf",
        "minimum",
        "maximum",
        "uniqueItems",
        "additionalProperties",
        "format",
    ];
    let (mut refused, mut taken) = (0, 0);
    for seed in 1..=6_000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let random = &mut random;
        let mut schema = serde_json::Map::new();
        for _ in 0..1 + random.below(5) {
            let inner = match random.below(6) {
                0 => json!("#"),
                1 => json!("#/properties/a"),
                2 => {
                    json!(*pick(random, &["number", "object", "array", "assign", "keyed", "null"]))
                }
                3 => {
                    json!({ "a": { "$ref": "#" }, "b": { "type": "array", "items": { "$ref": "#" } } })
                }
                _ => value(random, 3),
            };
            schema.insert((*pick(random, &keys)).to_owned(), inner);
        }
        let schema = own(&Value::Object(schema));
        match Comparer::new(Some(&schema), false) {
            Err(error) => {
                assert_eq!(error.code(), "options.invalid");
                refused += 1;
            }
            Ok(mut comparer) => {
                let (a, b) = (own(&value(random, 4)), own(&value(random, 4)));
                let (a, b) = (comparer.ready(&a), comparer.ready(&b));
                let distance = comparer.distance(&a, &b);
                assert!((0.0..=1.0).contains(&distance));
                taken += 1;
            }
        }
    }
    assert!(refused > 500 && taken > 500, "{refused} {taken}");
}

#[test]
fn pointers_lead_back() {
    let json = own(&json!({ "a/b": { "~": [1, { "": 2 }] } }));
    let at = |pointer: &str| json::pointer(&json, pointer).map(Json::to_text);
    assert_eq!(at("/a~1b/~0/1/").as_deref(), Some("2"));
    assert_eq!(at(""), Some(json.to_text()));
    assert_eq!(at("/a~1b/~0/2"), None);
}
