//! The options of a bundle.

use super::render::{Limits, View};
use super::summary::{Rules, is_pointer};
use super::usage::Price;
use crate::error::Error;
use crate::json::Json;
use crate::limits;
use crate::stats::{Comparer, EPSILON, sort_by};

/// When a bundle has enough replicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// When they agree: their mean distance is within ε, and they agree on the `must_agree`
    /// fields. The default.
    Agreement,
    /// When further replicates can no longer change the leading answer at any deciding field.
    MajorityLock,
    /// When all replicates have run.
    Never,
}

impl Stop {
    /// The rule with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Agreement, Self::MajorityLock, Self::Never];
        all.into_iter().find(|one| one.name() == name)
    }

    /// The name in options and metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agreement => "agreement",
            Self::MajorityLock => "majority_lock",
            Self::Never => "never",
        }
    }
}

/// The options of a bundle.
#[derive(Debug, Clone)]
pub struct Options {
    /// The task of the replicates.
    pub task: String,
    /// Maximum number of replicates, 1 to 128. Default 3.
    pub k: usize,
    /// One seed per replicate, all different. Default 11, 23, 47; missing seeds count up from
    /// the largest one.
    pub seeds: Vec<i64>,
    /// The stop rule.
    pub stop: Stop,
    /// ε, fields that must agree, weights.
    pub rules: Rules,
    /// Caps, fields and encoding of the output.
    pub view: View,
    /// Number of replicates to start with. Default 2, or all if `stop` is `never`.
    pub parallel: usize,
    /// Maximum number of replicates running at the same time. Default 6, the number of
    /// connections in an edge runtime.
    pub concurrency: usize,
    /// Maximum number of further attempts after a replicate failed or was invalid. Default 0.
    pub retries: u32,
    /// Maximum tokens of one replicate, all attempts together.
    pub replicate_tokens: Option<u64>,
    /// Maximum milliseconds of one attempt.
    pub replicate_ms: Option<u64>,
    /// Token budget of all replicates together.
    pub budget_tokens: Option<u64>,
    /// Time budget of the bundle in milliseconds.
    pub budget_ms: Option<u64>,
    /// Cost budget of the bundle in micro-dollars; requires `prices`.
    pub budget_cost: Option<u64>,
    /// Prices by model name; `*` applies to every other model.
    pub prices: Vec<(String, Price)>,
    /// The model of replicates that do not report one.
    pub model: Option<String>,
    /// `metadata.source` of every event: the tool's name. Default: the task.
    pub source: String,
    /// URI and version of the schema, or null.
    pub(super) schema: Json<'static>,
    /// The options that `meta` repeats.
    pub(super) said: Json<'static>,
}

/// The options of a summary without a bundle.
#[derive(Debug)]
pub struct SummaryOptions {
    /// The comparer for the schema.
    pub comparer: Comparer,
    /// ε, fields that must agree, weights.
    pub rules: Rules,
    /// Caps, fields and encoding of the output.
    pub view: View,
}

impl SummaryOptions {
    /// Reads `{ schema?, epsilon?, must_agree?, weights?, limits?, null_is_missing?, fields?,
    /// compact? }`; other members are ignored.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option, and those of [`Comparer::new`].
    pub fn read(options: &Json<'_>) -> Result<Self, Error> {
        let at = At(options);
        let rules = Rules {
            epsilon: at.number("epsilon", 0.0, 1.0)?.unwrap_or(EPSILON),
            must_agree: at.pointers("must_agree")?,
            weights: at.weights()?,
        };
        let limits = at.inner("limits")?;
        let limits = Limits {
            max_fields: limits.size("limits.max_fields")?,
            max_diffs: limits.size("limits.max_diffs")?,
            max_bytes: limits.size("limits.max_bytes")?,
        };
        let (compact, fields) = (at.flag("compact")?, at.pointers("fields")?);
        let comparer = Comparer::new(options.get("schema"), at.flag("null_is_missing")?)?;
        Ok(Self { comparer, rules, view: View { limits, compact, fields } })
    }
}

impl Options {
    /// Reads the options of `runBundle`, except those that are functions. For names and
    /// defaults, see [`Options`] and [`SummaryOptions::read`].
    ///
    /// # Errors
    /// `json.*` if the text is not JSON; `options.invalid` with the path of an option that has
    /// the wrong type or is out of range. For schemas, see [`Comparer::new`].
    pub fn parse(text: &[u8]) -> Result<(Self, Comparer), Error> {
        let json = Json::parse_lossy(text, limits::BUNDLE_BYTES)?.into_owned();
        if json.as_object().is_none() {
            return Err(invalid("options", "an object"));
        }
        let SummaryOptions { comparer, rules, view } = SummaryOptions::read(&json)?;
        let at = At(&json);
        let task = at.text("task")?.filter(|task| !task.is_empty());
        let task = task.ok_or_else(|| invalid("task", "a string that is not empty"))?.to_owned();
        let k = at.whole("k", 1, limits::REPLICATES)?.unwrap_or(3);
        if rules.weights.as_ref().is_some_and(|all| all.len() != k || all.iter().all(|w| *w == 0.0))
        {
            return Err(invalid("weights", "a weight for each replicate, not all of them 0"));
        }
        if weighs_nothing(json.get("schema")) {
            return Err(invalid("schema", "a field that has a weight"));
        }
        let (per, budget) = (at.inner("perReplicate")?, at.inner("budget")?);
        let prices = prices(json.get("prices"))?;
        let budget_cost = budget.count("budget.cost")?;
        if budget_cost.is_some() && prices.is_empty() {
            return Err(invalid("budget.cost", "`prices` beside it"));
        }
        let stop = match at.text("stop")? {
            None => Stop::Agreement,
            Some(name) => Stop::parse(name)
                .ok_or_else(|| invalid("stop", "agreement, majority_lock or never"))?,
        };
        let options = Self {
            seeds: seeds(json.get("seeds"), k)?,
            stop,
            parallel: at
                .whole("parallel", 1, limits::REPLICATES)?
                .unwrap_or(if stop == Stop::Never { k } else { 2 })
                .min(k),
            concurrency: at.whole("concurrency", 1, limits::REPLICATES)?.unwrap_or(6),
            retries: u32::try_from(at.whole("retries", 0, 10)?.unwrap_or(0)).unwrap_or(0),
            replicate_tokens: per.count("perReplicate.tokens")?,
            replicate_ms: per.millis("perReplicate.seconds")?,
            budget_tokens: budget.count("budget.tokens")?,
            budget_ms: budget.millis("budget.seconds")?,
            budget_cost,
            prices,
            model: at.text("model")?.map(str::to_owned),
            source: at.text("source")?.unwrap_or(&task).to_owned(),
            schema: {
                let (uri, version) = (at.text("schemaUri")?, at.text("schemaVersion")?);
                let text = |text: Option<&str>| {
                    text.map_or(Json::Null, |text| Json::from(text.to_owned()))
                };
                match (uri, version) {
                    (None, None) => Json::Null,
                    (uri, version) => {
                        Json::object([("uri", text(uri)), ("version", text(version))])
                    }
                }
            },
            said: said(&json),
            task,
            k,
            rules,
            view,
        };
        Ok((options, comparer))
    }
}

/// The options that `meta` repeats unchanged. Of the schema, it contains URI and version only.
fn said(json: &Json<'static>) -> Json<'static> {
    let own = ["limits", "perReplicate", "budget", "prices", "fields"];
    let member = |name: &'static str| Some((name.into(), json.get(name)?.clone()));
    Json::Object(own.into_iter().filter_map(member).filter(|(_, value)| !value.is_null()).collect())
}

/// Whether the schema, or each of its properties, has weight 0. All values would then agree.
fn weighs_nothing(schema: Option<&Json<'_>>) -> bool {
    let weightless = |property: &Json<'_>| {
        property.get("x-weight").and_then(Json::as_f64) == Some(0.0)
            || property.get("x-compare").and_then(Json::as_str) == Some("ignore")
            || property.get("ignore").and_then(Json::as_bool) == Some(true)
    };
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    properties.is_some_and(|all| !all.is_empty() && all.iter().all(|(_, one)| weightless(one)))
        || schema.is_some_and(weightless)
}

fn seeds(given: Option<&Json<'_>>, k: usize) -> Result<Vec<i64>, Error> {
    let wrong = || invalid("seeds", "whole numbers, all different");
    let mut seeds: Vec<i64> = match given.filter(|given| !given.is_null()) {
        None => vec![11, 23, 47],
        Some(given) => {
            let seed = |one: &Json<'_>| match one {
                Json::Number(text) => text.parse().map_err(|_| wrong()),
                _ => Err(wrong()),
            };
            given.as_array().ok_or_else(wrong)?.iter().map(seed).collect::<Result<_, _>>()?
        }
    };
    let mut sorted = seeds.clone();
    sort_by(&mut sorted, Ord::cmp);
    if sorted.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(wrong());
    }
    let mut last = sorted.last().copied().unwrap_or(0);
    while seeds.len() < k {
        last = last.checked_add(1).ok_or_else(wrong)?;
        seeds.push(last);
    }
    seeds.truncate(k);
    Ok(seeds)
}

fn prices(given: Option<&Json<'_>>) -> Result<Vec<(String, Price)>, Error> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(Vec::new()) };
    let expected =
        "{ [model]: { input, cached_input?, output } } in micro-dollars for a million tokens";
    let wrong = || invalid("prices", expected);
    let price = |(model, price): &(std::borrow::Cow<'_, str>, Json<'_>)| {
        let number = |key| match price.get(key) {
            None => Ok(None),
            Some(number) => number.as_u64().map(Some).ok_or_else(wrong),
        };
        let input = number("input")?.ok_or_else(wrong)?;
        let output = number("output")?.ok_or_else(wrong)?;
        let cached_input = number("cached_input")?.unwrap_or(input);
        Ok((model.clone().into_owned(), Price { input, cached_input, output }))
    };
    given.as_object().ok_or_else(wrong)?.iter().map(price).collect()
}

/// Reads members and reports the path of an invalid one.
struct At<'a, 'j>(&'a Json<'j>);

impl<'a, 'j> At<'a, 'j> {
    /// The member named by the last segment of `path`; `null` counts as missing.
    fn get(&self, path: &str) -> Option<&'a Json<'j>> {
        let name = path.rsplit('.').next().unwrap_or(path);
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        path: &str,
        expected: &'static str,
        read: impl FnOnce(&'a Json<'j>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let found = self.get(path);
        found.map(|value| read(value).ok_or_else(|| invalid(path, expected))).transpose()
    }

    fn inner(&self, path: &str) -> Result<Self, Error> {
        let object = |value: &'a Json<'j>| value.as_object().map(|_| value);
        Ok(Self(self.read(path, "an object", object)?.unwrap_or(&Json::Null)))
    }

    fn text(&self, path: &str) -> Result<Option<&'a str>, Error> {
        self.read(path, "a string", Json::as_str)
    }

    fn flag(&self, path: &str) -> Result<bool, Error> {
        Ok(self.read(path, "true or false", Json::as_bool)?.unwrap_or(false))
    }

    fn number(&self, path: &str, least: f64, most: f64) -> Result<Option<f64>, Error> {
        let fits = |value: &Json<'_>| value.as_f64().filter(|n| (least..=most).contains(n));
        self.read(path, "a number from 0 to 1", fits)
    }

    fn whole(&self, path: &str, least: usize, most: usize) -> Result<Option<usize>, Error> {
        let fits = |value: &Json<'_>| {
            let number = usize::try_from(value.as_u64()?).ok()?;
            Some(number).filter(|number| (least..=most).contains(number))
        };
        self.read(path, "a whole number in range", fits)
    }

    fn size(&self, path: &str) -> Result<Option<usize>, Error> {
        self.whole(path, 0, usize::MAX)
    }

    /// Reads a limit or budget, which must be above 0.
    fn count(&self, path: &str) -> Result<Option<u64>, Error> {
        self.read(path, "a whole number above 0", |value| value.as_u64().filter(|n| *n > 0))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
    fn millis(&self, path: &str) -> Result<Option<u64>, Error> {
        let fits = |value: &Json<'_>| value.as_f64().filter(|s| *s > 0.0 && *s < 1e9);
        let seconds = self.read(path, "seconds above 0", fits)?;
        Ok(seconds.map(|seconds| (seconds * 1000.0).ceil() as u64))
    }

    fn pointers(&self, path: &str) -> Result<Vec<String>, Error> {
        let read = |value: &Json<'_>| {
            let text =
                |one: &Json<'_>| one.as_str().filter(|one| is_pointer(one)).map(str::to_owned);
            value.as_array()?.iter().map(text).collect()
        };
        Ok(self.read(path, "JSON Pointers, such as \"/label\"", read)?.unwrap_or_default())
    }

    fn weights(&self) -> Result<Option<Vec<f64>>, Error> {
        let weight = |one: &Json<'_>| one.as_f64().filter(|w| *w >= 0.0 && w.is_finite());
        let read = |value: &Json<'_>| value.as_array()?.iter().map(weight).collect();
        self.read("weights", "numbers from 0 on", read)
    }
}

fn invalid(option: &str, expected: &'static str) -> Error {
    Error::Options { option: option.to_owned(), expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(extra: &str) -> Result<Options, Error> {
        Options::parse(format!(r#"{{"task":"t"{extra}}}"#).as_bytes()).map(|(options, _)| options)
    }

    #[test]
    fn defaults_are_those_of_the_contract() {
        let options = parse("").unwrap();
        assert_eq!((options.k, options.seeds.as_slice()), (3, &[11, 23, 47][..]));
        assert_eq!((options.rules.epsilon, options.stop), (0.2, Stop::Agreement));
        assert_eq!((options.parallel, options.concurrency, options.retries), (2, 6, 0));
        assert_eq!(options.source, "t");
        assert_eq!(parse(r#","k":5"#).unwrap().seeds, [11, 23, 47, 48, 49]);
        assert_eq!(parse(r#","k":1"#).unwrap().parallel, 1);
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
            (r#","must_agree":["label"]"#, "must_agree"),
            (r#","limits":{"max_bytes":-1}"#, "limits.max_bytes"),
            (r#","limits":7"#, "limits"),
            (r#","perReplicate":{"seconds":0}"#, "perReplicate.seconds"),
            (r#","budget":{"tokens":0}"#, "budget.tokens"),
            (r#","budget":{"cost":5}"#, "budget.cost"),
            (r#","prices":{"m":{"input":1}}"#, "prices"),
            (r#","stop":"soon""#, "stop"),
            (r#","schema":7"#, "schema"),
            (r#","schema":{"x-compare":"ignore"}"#, "schema"),
            (r#","schema":{"properties":{"a":{"x-weight":0}}}"#, "schema"),
            (r#","schema":{"properties":{"a":{"x-weight":-1}}}"#, "schema.properties.a.x-weight"),
            (r#","schema":{"x-compare":"nearly"}"#, "schema.x-compare"),
            (r##","schema":{"$ref":"#/nowhere"}"##, "schema.$ref"),
            (r#","schema":{"type":"number","x-range":0}"#, "schema.x-range"),
            (r#","task":"""#, "task"),
        ] {
            match parse(extra) {
                Err(Error::Options { option, .. }) => assert_eq!(option, path, "{extra}"),
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}
