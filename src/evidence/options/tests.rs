use super::*;
use crate::evidence::Bundle;
use crate::json::table::Options;

fn parse(extra: &str) -> Result<BundleOptions, Error> {
    BundleOptions::parse(format!(r#"{{"task":"t"{extra}}}"#).as_bytes())?.resolved()
}

#[test]
fn defaults_are_those_of_the_contract() {
    let options = parse("").unwrap();
    assert_eq!((options.k, options.seeds.as_slice()), (3, &[11, 23, 47][..]));
    assert_eq!((options.epsilon, options.stop), (0.2, Stop::Agreement));
    assert_eq!(options.must_agree, MustAgree::Settled);
    assert_eq!(parse(r#","mustAgree":"settled""#).unwrap().must_agree, MustAgree::Settled);
    assert_eq!(parse(r#","mustAgree":[]"#).unwrap().must_agree, MustAgree::Fields(vec![]));
    assert_eq!((options.parallel, options.concurrency, options.retries), (Some(2), 6, 0));
    assert_eq!(options.source.as_deref(), Some("t"));
    assert_eq!(parse(r#","k":5"#).unwrap().seeds, [11, 23, 47, 48, 49]);
    assert_eq!(parse(r#","k":1"#).unwrap().parallel, Some(1));
    assert_eq!(parse(r#","seeds":[]"#).unwrap().seeds, [1, 2, 3]);
    assert_eq!(parse(r#","stop":"never""#).unwrap().parallel, Some(3));
}

#[test]
fn what_is_written_is_read() {
    let options = BundleOptions::new("t").k(4).weights(Some(vec![0.5, 1.0, 0.0, 2.0]));
    let options = options.prices(Some(vec![("m".to_owned(), Prices::new(5, 7))]));
    let limits = BundleLimits::default().max_bytes(Some(9));
    let options = options.limits(Some(limits)).seeds(vec![-4]).source(Some("s".into()));
    let options = options.budget(Some(BundleBudget::default().seconds(Some(2.5)).cost(Some(1))));
    assert_eq!(BundleOptions::from_json(options.to_json()), Ok(options));
}

#[test]
fn misuse_names_the_option() {
    for (extra, path) in [
        (r#","k":0"#, "k"),
        (r#","k":129"#, "k"),
        (r#","k":1.5"#, "k"),
        (r#","epsilon":-0.1"#, "epsilon"),
        (r#","epsilon":"x""#, "epsilon"),
        (r#","seeds":[1,1]"#, "seeds"),
        (r#","seeds":[1.5]"#, "seeds"),
        (r#","weights":[0,0,0]"#, "weights"),
        (r#","weights":[1]"#, "weights"),
        (r#","weights":[1,-1,1]"#, "weights"),
        (r#","mustAgree":["label"]"#, "mustAgree"),
        (r#","mustAgree":[1]"#, "mustAgree"),
        (r#","mustAgree":"all""#, "mustAgree"),
        (r#","limits":{"maxBytes":-1}"#, "limits.maxBytes"),
        (r#","limits":{"maxfields":1}"#, "limits.maxfields"),
        (r#","limits":7"#, "limits"),
        (r#","perReplicate":{"seconds":0}"#, "perReplicate.seconds"),
        (r#","perReplicate":{"second":1}"#, "perReplicate.second"),
        (r#","budget":{"tokens":0}"#, "budget.tokens"),
        (r#","budget":{"tokns":1}"#, "budget.tokns"),
        (r#","budget":{"seconds":1e9}"#, "budget.seconds"),
        (r#","budget":{"cost":5}"#, "budget.cost"),
        (r#","prices":{"m":{"input":1}}"#, "prices"),
        (r#","prices":{"m":{"input":1,"output":1,"inptu":1}}"#, "prices.m.inptu"),
        (r#","stop":"soon""#, "stop"),
        (r#","schema":7"#, "schema"),
        (r#","schema":{"x-compare":"ignore"}"#, "schema"),
        (r#","schema":{"properties":{"a":{"x-weight":0}}}"#, "schema"),
        (r#","schema":{"properties":{"a":{"x-weight":-1}}}"#, "schema.properties.a.x-weight"),
        (r#","schema":{"x-compare":"nearly"}"#, "schema.x-compare"),
        (r##","schema":{"$ref":"#/nowhere"}"##, "schema.$ref"),
        (r#","schema":{"type":"number","x-range":0}"#, "schema.x-range"),
        (r#","schema":{"type":"number","x-tolerance":-1}"#, "schema.x-tolerance"),
        (r#","task":"""#, "task"),
        (r#","kk":3"#, "kk"),
    ] {
        let text = format!(r#"{{"task":"t"{extra}}}"#);
        match BundleOptions::parse(text.as_bytes()).and_then(Bundle::new) {
            Err(Error::Options { option, .. }) => assert_eq!(option, path, "{extra}"),
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn messages_are_those_of_the_contract() {
    for (text, message) in [
        ("[]", "`options`: expected an object"),
        ("{}", "`task`: expected a string that is not empty"),
        (r#"{"task":"t","k":0}"#, "`k`: expected a whole number from 1 to 128"),
        (r#"{"task":"t","epsilon":2}"#, "`epsilon`: expected a number from 0 to 1"),
        (r#"{"task":"t","weights":[-1]}"#, "`weights`: expected numbers from 0 on"),
        (r#"{"task":"t","compact":1}"#, "`compact`: expected true or false"),
        (r#"{"task":"t","budget":{"cost":0}}"#, "`budget.cost`: expected a whole number above 0"),
        (r#"{"task":"t","budget":{"seconds":-1}}"#, "`budget.seconds`: expected seconds above 0"),
        (r#"{"task":"t","seeds":7}"#, "`seeds`: expected whole numbers, all different"),
        (r#"{"task":"t","fields":[7]}"#, "`fields`: expected JSON Pointers, such as \"/label\""),
        (
            r#"{"task":"t","strategies":[{}]}"#,
            "`strategies[0].label`: expected a string that is not empty",
        ),
        (
            r#"{"task":"t","strategies":[{"label":"a"},{"label":"a"}]}"#,
            "`strategies`: expected labels that are not empty, all different",
        ),
        (r#"{"task":"t","stop":"x"}"#, "`stop`: expected agreement, majority_lock or never"),
    ] {
        let made = BundleOptions::parse(text.as_bytes()).and_then(Bundle::new);
        assert_eq!(made.unwrap_err().to_string(), message, "{text}");
    }
}

/// All members that a recording of an earlier version can have.
#[test]
fn recorded_options_are_read() {
    let text = r#"{"task":"t","k":2,"epsilon":0.1,"mustAgree":["/a"],"stop":"never","seeds":[1,2],
        "parallel":1,"concurrency":2,"retries":1,"schema":{"type":"object"},"schemaUri":"u",
        "schemaVersion":"1","nullIsMissing":true,"weights":[1,0.5],
        "limits":{"maxFields":1,"maxDiffs":0,"maxBytes":9},
        "perReplicate":{"tokens":5,"seconds":0.5},"budget":{"tokens":9,"seconds":25,"cost":3},
        "prices":{"m":{"input":1,"cachedInput":0,"output":2},"*":{"input":1,"output":2}},
        "fields":["/a"],"model":"m@1","source":"s","compact":true,"checked":true,
        "strategies":[{"label":"x","prompt":"p","model":"m@2"}]}"#;
    let options = BundleOptions::parse(text.as_bytes()).unwrap();
    assert!(Bundle::new(options.clone()).is_ok());
    let rows = Options::rows(&options).len();
    assert_eq!(
        Json::parse_str(text).unwrap().as_object().unwrap().len(),
        rows,
        "every row is here"
    );
    let none =
        r#"{"task":"t","limits":{},"perReplicate":{},"budget":{},"prices":{},"fields":null}"#;
    assert!(BundleOptions::parse(none.as_bytes()).and_then(Bundle::new).is_ok());
}

#[test]
fn typed_misuse_is_refused_as_well() {
    let options = || BundleOptions::new("t");
    let weights = Some(vec![f64::NAN, 1.0, 1.0]);
    for (options, path) in [
        (options().k(1_000_000_000), "k"),
        (options().concurrency(0), "concurrency"),
        (options().epsilon(f64::NAN), "epsilon"),
        (options().weights(weights), "weights"),
        (options().must_agree(vec!["label".to_owned()].into()), "mustAgree"),
        (options().fields(Some(vec!["label".to_owned()])), "fields"),
        (options().task("".into()), "task"),
        (
            options().budget(Some(BundleBudget::default().seconds(Some(f64::INFINITY)))),
            "budget.seconds",
        ),
    ] {
        match Bundle::new(options) {
            Err(Error::Options { option, .. }) => assert_eq!(option, path),
            other => panic!("{path}: {other:?}"),
        }
    }
}
