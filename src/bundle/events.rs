//! The events of a bundle, and the metadata of its result.

use super::machine::{Bundle, Status};
use super::protocol::Effect;
use super::usage::micro_dollars;
use crate::json::{Json, number_text, write_string};

impl Bundle {
    /// The first members of a replicate's object in the bundle.
    pub(super) fn head(&self, at: usize) -> String {
        let entry = self.evidence.entries.get(at);
        let errors = texts(entry.map_or(&[], |entry| &entry.errors)).to_text();
        let valid = entry.is_some_and(|entry| entry.valid);
        let mut head = format!("\"id\":\"r{}\",\"seed\":{}", at + 1, self.seed(at));
        head.push_str(&format!(",\"quality\":{{\"valid\":{valid},\"errors\":{errors}}}"));
        head
    }

    fn seed(&self, at: usize) -> i64 {
        self.options.seeds.get(at).copied().unwrap_or(0)
    }

    pub(super) fn meta(&self, stopped: &'static str, cost: Option<u64>) -> Json<'static> {
        let options = &self.options;
        let text = |text: &Option<String>| text.clone().map_or(Json::Null, Json::from);
        let list =
            |texts: &[String]| Json::Array(texts.iter().map(|one| one.clone().into()).collect());
        let size = |n: usize| Json::integer(u64::try_from(n).unwrap_or(u64::MAX));
        let per_replicate = self.replicates.iter().enumerate().map(|(at, one)| {
            let (status, end) = one.end.unwrap_or((Status::Cancelled, self.now));
            let price = self.price(one).filter(|_| one.tokens.is_some());
            let cost = price.map(|price| micro_dollars(price.of(one.all_tokens())));
            Json::object([
                ("id", format!("r{}", at + 1).into()),
                ("seed", integer(self.seed(at))),
                ("attempt", Json::integer(u64::from(one.attempt))),
                ("status", status.name().into()),
                ("model", text(&one.model.clone().or_else(|| options.model.clone()))),
                ("usage", one.tokens.map_or(Json::Null, |_| one.all_tokens().to_json())),
                ("cost", cost.map_or(Json::Null, Json::integer)),
                ("duration_ms", Json::integer(end.saturating_sub(one.since))),
            ])
        });
        let mut meta = vec![
            ("task".into(), options.task.clone().into()),
            ("k".into(), size(options.k)),
            ("model".into(), text(&options.model)),
            (
                "seeds".into(),
                Json::Array(options.seeds.iter().map(|seed| integer(*seed)).collect()),
            ),
            ("schema".into(), options.schema.clone()),
            ("source".into(), options.source.clone().into()),
            ("epsilon".into(), Json::Number(number_text(options.rules.epsilon).into())),
            ("must_agree".into(), list(&options.rules.must_agree)),
            ("null_is_missing".into(), self.evidence.comparer.null_is_missing().into()),
            ("stop".into(), options.stop.name().into()),
            ("parallel".into(), size(options.parallel)),
            ("concurrency".into(), size(options.concurrency)),
            ("retries".into(), Json::integer(u64::from(options.retries))),
        ];
        let number = |n: f64| Json::Number(number_text(n).into());
        meta.extend(options.rules.weights.as_ref().map(|weights| {
            ("weights".into(), Json::Array(weights.iter().copied().map(number).collect()))
        }));
        if let Json::Object(said) = options.said.clone() {
            meta.extend(said);
        }
        let started = self.started.unwrap_or(self.now);
        meta.extend([
            ("encoding".into(), if options.view.compact { "delta" } else { "full" }.into()),
            ("stopped".into(), stopped.into()),
            ("started".into(), size(self.replicates.len())),
            ("duration_ms".into(), Json::integer(self.now.saturating_sub(started))),
            ("usage".into(), self.tokens().to_json()),
            ("cost".into(), cost.map_or(Json::Null, Json::integer)),
            ("per_replicate".into(), Json::Array(per_replicate.collect())),
        ]);
        Json::Object(meta)
    }

    pub(super) fn emit_of(
        &mut self,
        kind: &'static str,
        replicate: usize,
        own: Vec<(&'static str, Json<'static>)>,
    ) {
        let mut members: Vec<(&'static str, Json<'static>)> = vec![
            ("id", format!("r{}", replicate + 1).into()),
            ("seed", integer(self.seed(replicate))),
        ];
        members.extend(own);
        self.emit(kind, members);
    }

    pub(super) fn emit(&mut self, kind: &'static str, own: Vec<(&'static str, Json<'static>)>) {
        let mut text = String::new();
        for (name, value) in own {
            text.push_str(&format!(",\"{name}\":"));
            value.write(&mut text);
        }
        self.emit_text(kind, &text);
    }

    /// `own` contains the members after the envelope, each with a leading comma.
    pub(super) fn emit_text(&mut self, kind: &str, own: &str) {
        self.seq += 1;
        let mut text = format!("{{\"type\":\"{kind}\",\"seq\":{},\"task\":", self.seq);
        write_string(&self.options.task, &mut text);
        text.push_str(",\"metadata\":{\"source\":");
        write_string(&self.options.source, &mut text);
        text.push('}');
        text.push_str(own);
        text.push('}');
        self.effects.push_back(Effect::Emit(text));
    }
}

pub(super) fn texts(texts: &[String]) -> Json<'static> {
    Json::Array(texts.iter().map(|text| text.clone().into()).collect())
}

fn integer(n: i64) -> Json<'static> {
    Json::Number(n.to_string().into())
}

#[expect(clippy::cast_precision_loss, reason = "durations fit")]
pub(super) fn seconds(ms: u64) -> Json<'static> {
    Json::Number(number_text(ms as f64 / 1000.0).into())
}
