//! What a host says about a bundle before it starts.

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
    /// When they agree: mean distance within ε, and `must_agree`. The default.
    Agreement,
    /// When no answer can be overtaken any more, at every deciding field.
    MajorityLock,
    /// When all have run.
    Never,
}

impl Stop {
    /// The rule of a name.
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

/// Everything a host says about a bundle.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the replicates are about.
    pub task: String,
    /// Replicates at most: 1 to 128. Default 3.
    pub k: usize,
    /// A seed for each replicate, all different. Default 11, 23, 47; further ones count on from
    /// the largest.
    pub seeds: Vec<i64>,
    /// When it is enough.
    pub stop: Stop,
    /// ε, fields that must agree, weights.
    pub rules: Rules,
    /// Caps, fields and form of what is shown.
    pub view: View,
    /// Replicates started at once. Default 2, or all where `stop` is `never`.
    pub parallel: usize,
    /// Replicates running at the same time. Default 6, the connections of an edge runtime.
    pub concurrency: usize,
    /// Further attempts at a replicate that failed or is invalid. Default 0.
    pub retries: u32,
    /// Tokens of one replicate.
    pub replicate_tokens: Option<u64>,
    /// Milliseconds of one replicate.
    pub replicate_ms: Option<u64>,
    /// Tokens of all.
    pub budget_tokens: Option<u64>,
    /// Milliseconds of all.
    pub budget_ms: Option<u64>,
    /// Micro-dollars of all; needs prices.
    pub budget_cost: Option<u64>,
    /// Prices by name of the model; `*` stands for every other.
    pub prices: Vec<(String, Price)>,
    /// The model, where the replicates do not name theirs.
    pub model: Option<String>,
    /// `metadata.source` of every event: the tool's name. Default: the task.
    pub source: String,
    /// Address and version of the schema, or null.
    pub(super) schema: Json<'static>,
    /// What `meta` repeats of the options.
    pub(super) said: Json<'static>,
}

/// Options of a summary alone.
#[derive(Debug)]
pub struct SummaryOptions {
    /// Compares by the schema.
    pub comparer: Comparer,
    /// ε, fields that must agree, weights.
    pub rules: Rules,
    /// Caps, fields and form of what is shown.
    pub view: View,
}

impl SummaryOptions {
    /// Reads `{ schema?, epsilon?, must_agree?, weights?, limits?, null_is_missing?, fields?, compact? }`;
    /// other members are left alone.
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
    /// Reads the options of `runBundle` but those that are functions; see
    /// [`Options`] for names and defaults, and [`SummaryOptions::read`].
    ///
    /// # Errors
    /// `json.*` for a text that is no JSON; `options.invalid` with the path of the option for
    /// what is of the wrong type or out of range; see [`Comparer::new`] for schemas.
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

/// What `meta` repeats as it was given; the schema is named by its address and version.
fn said(json: &Json<'static>) -> Json<'static> {
    let own = ["limits", "perReplicate", "budget", "prices", "fields"];
    let member = |name: &'static str| Some((name.into(), json.get(name)?.clone()));
    Json::Object(own.into_iter().filter_map(member).filter(|(_, value)| !value.is_null()).collect())
}

/// An object whose every member weighs nothing agrees with anything.
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

/// Reads members, and says where one is wrong.
struct At<'a, 'j>(&'a Json<'j>);

impl<'a, 'j> At<'a, 'j> {
    /// The member that the last part of `path` names; `null` is none.
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

    /// What can be spent is above 0.
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
    Error::Options { option: option.to_owned(), expected }
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
