//! Statistics of bundles, without a bundle's machine. A line of JSON holds no line break, so several
//! texts cross as lines and each is read on its own: one replicate that is no JSON harms no other.

use wasm_bindgen::prelude::wasm_bindgen;

use super::{failure, wire};
use turnlock::error::Error;
use turnlock::evidence::{self, Evidence, SummaryOptions};
use turnlock::json::{Json, number_text};
use turnlock::limits;
use turnlock::stats::{self, DistanceOptions};

/// Lines: `{ schema?, null_is_missing? }`, a, b. Their distance.
#[wasm_bindgen]
#[must_use]
pub fn distance(lines: &[u8]) -> String {
    let work = || -> Result<f64, Error> {
        let mut lines = split(lines)?;
        let mut next = || Json::parse(lines.next().unwrap_or_default(), limits::JSON_BYTES);
        let (options, a, b) = (next()?, next()?, next()?);
        stats::distance(&a, &b, &DistanceOptions::from_json(options.into_owned())?)
    };
    work().map_or_else(|error| failure(&error), number_text)
}

/// Lines: options with `replicates: [{ id?, valid, errors }]`, then the data of each; an empty line
/// is no data. Their summary.
#[wasm_bindgen]
#[must_use]
pub fn summarize(lines: &[u8]) -> String {
    let work = || -> Result<String, Error> {
        let mut lines = split(lines)?;
        let head = lines.next().unwrap_or_default();
        let mut options = Json::parse_host(head, limits::BUNDLE_BYTES)?.into_owned();
        let mut said = Json::Null;
        if let Json::Object(members) = &mut options
            && let Some(at) = members.iter().position(|(name, _)| name == "replicates")
        {
            said = members.remove(at).1;
        }
        let mut evidence = Evidence::new(SummaryOptions::from_json(options)?)?;
        let said = said.as_array().unwrap_or_default();
        evidence.expect(said.len());
        for (one, line) in said.iter().zip(lines) {
            let place = match one.get("id").and_then(Json::as_str) {
                Some(id) => evidence.open_as(id.to_owned()),
                None => evidence.open(),
            };
            let mut errors = texts(one.get("errors"));
            let valid = one.get("valid").and_then(Json::as_bool).unwrap_or(false);
            let data = match Json::parse(line, limits::REPLICATE_BYTES) {
                Ok(data) => Some(data.into_owned()),
                Err(_) if line.is_empty() => None,
                Err(error) => {
                    errors.push(format!("{}: {error}", error.code()));
                    None
                }
            };
            evidence.set(place, data, valid, errors);
        }
        Ok(evidence.summary().into_json())
    };
    work().unwrap_or_else(|error| failure(&error))
}

/// What a JSON Patch makes of a value; an error for one that does not fit.
#[wasm_bindgen]
#[must_use]
pub fn patch_apply(base: &[u8], patch: &[u8]) -> String {
    let work = || -> Result<String, Error> {
        let read = |text| Json::parse(text, limits::BUNDLE_BYTES);
        let made = evidence::apply(&read(base)?, &read(patch)?);
        let wrong = || wire::bad("delta", "a patch that fits its base");
        Ok(made.ok_or_else(wrong)?.to_text())
    };
    work().map_or_else(|error| failure(&error), wire::tagged)
}

/// What a text cites of these fields: JSON of `Citations`.
#[wasm_bindgen]
#[must_use]
pub fn cite(text: &[u8], fields: &[u8]) -> String {
    let fields = Json::parse_host(fields, limits::BUNDLE_BYTES).unwrap_or_default();
    evidence::cite(&String::from_utf8_lossy(text), &texts(Some(&fields))).to_json().to_text()
}

fn split(lines: &[u8]) -> Result<impl Iterator<Item = &[u8]>, Error> {
    if lines.len() > limits::BUNDLE_BYTES {
        return Err(turnlock::json::JsonError::TooLarge { limit: limits::BUNDLE_BYTES }.into());
    }
    Ok(lines.split(|byte| *byte == b'\n'))
}

fn texts(list: Option<&Json<'_>>) -> Vec<String> {
    let list = list.and_then(Json::as_array).unwrap_or_default();
    list.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}
