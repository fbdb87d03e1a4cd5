//! The events of a chain, the bodies of its calls, and its result.

use std::borrow::Cow;

use super::machine::{Chain, State};
use super::plan::{Plan, Step, position};
use super::protocol::Effect;
use super::run::{Run, Status};
use crate::json::Json;

type Members = Vec<(Cow<'static, str>, Json<'static>)>;

impl Chain {
    pub(super) fn steps(&self) -> &[Step] {
        self.plan.as_ref().map_or(&[], |plan| plan.steps.as_slice())
    }

    /// The index of the step that writes the answer.
    pub(super) fn last(&self) -> usize {
        self.plan.as_ref().map_or(0, |plan| plan.last)
    }

    pub(super) fn emit(&mut self, kind: &'static str, own: Members) {
        self.seq += 1;
        let mut members: Members =
            vec![("type".into(), kind.into()), ("seq".into(), Json::integer(self.seq))];
        members.extend(own);
        self.effects.push_back(Effect::Emit(Json::Object(members)));
    }

    /// Records that a step starts and emits `step_started`.
    pub(super) fn announce(&mut self, at: usize) {
        let now = self.now;
        if let Some(run) = self.runs.get_mut(at) {
            run.started = Some(now);
        }
        let Some((step, run)) = self.steps().get(at).zip(self.runs.get(at)) else { return };
        let mut members: Members = vec![
            ("id".into(), step.id_json()),
            ("stepType".into(), step.kind().name().into()),
            ("query".into(), run.query.clone().into()),
            ("focus".into(), step.focus.clone().into()),
        ];
        members.extend(self.counts());
        self.emit("step_started", members);
    }

    /// Emits `step_done` for a step that has settled.
    pub(super) fn step_done(&mut self, at: usize) {
        let Some((step, run)) = self.steps().get(at).zip(self.runs.get(at)) else { return };
        let mut members = run.members(step);
        members.extend(self.counts());
        self.emit("step_done", members);
    }

    /// The progress of the plan.
    fn counts(&self) -> Members {
        let settled = self.runs.0.iter().filter(|run| run.settled()).count();
        vec![
            ("settled".into(), count(settled)),
            ("total".into(), count(self.runs.0.len())),
            ("spent".into(), Json::double(self.progress.spent)),
        ]
    }

    pub(super) fn emit_stopped(&mut self) {
        let Some(stop) = self.progress.stop else { return };
        let ids = |wanted: &dyn Fn(&Run) -> bool| {
            let pairs = self.steps().iter().zip(&self.runs.0);
            Json::Array(
                pairs.filter(|(_, run)| wanted(run)).map(|(step, _)| step.id_json()).collect(),
            )
        };
        let mut members: Members = vec![
            ("reason".into(), stop.name().into()),
            ("finished".into(), ids(&|run| run.status == Status::Done)),
            ("failed".into(), ids(&|run| run.status == Status::Failed)),
            ("skipped".into(), ids(&|run| matches!(run.status, Status::Skipped(_)))),
            ("spent".into(), Json::double(self.progress.spent)),
        ];
        if stop == super::stop::Stop::MaxCost {
            members.push(("budget".into(), self.progress.budget.into()));
        }
        if let Some(completeness) = self.progress.completeness {
            members.push(("completeness".into(), Json::double(completeness)));
        }
        self.emit("chain_stopped", members);
    }

    pub(super) fn emit_refined(&mut self, before: &Plan, after: &Plan) {
        let missing = |from: &Plan, to: &Plan| {
            let ids = from.steps.iter().filter(|step| position(&to.steps, &step.id).is_none());
            Json::Array(ids.map(Step::id_json).collect())
        };
        let (added, removed) = (missing(after, before), missing(before, after));
        self.progress.refinements.push(Json::object([
            ("accepted", true.into()),
            ("added", added.clone()),
            ("removed", removed.clone()),
        ]));
        self.emit(
            "plan_refined",
            vec![
                ("plan".into(), after.to_json()),
                ("added".into(), added),
                ("removed".into(), removed),
            ],
        );
    }

    /// Results of the finished steps selected by `wanted`, in plan order.
    pub(super) fn results(&self, wanted: impl Fn(usize) -> bool) -> Json<'static> {
        let pairs = self.steps().iter().zip(&self.runs.0).enumerate();
        let one = |(at, (step, run)): (usize, (&Step, &Run))| {
            let result = run.result.clone().filter(|_| wanted(at))?;
            Some(Json::object([
                ("id", step.id_json()),
                ("type", step.kind().name().into()),
                ("query", run.query.clone().into()),
                ("focus", step.focus.clone().into()),
                ("result", result),
            ]))
        };
        Json::Array(pairs.filter_map(one).collect())
    }

    fn inputs(&self, at: usize) -> Json<'static> {
        let steps = self.steps();
        let needs = steps.get(at).map_or(&[][..], |step| step.depends_on.as_slice());
        let needs: Vec<usize> = needs.iter().filter_map(|id| position(steps, id)).collect();
        self.results(|at| needs.contains(&at))
    }

    /// The body of a search, refinement or condition call.
    pub(super) fn step_body(&self, at: usize, step: &Step) -> Json<'static> {
        let run = self.runs.get(at);
        Json::object([
            ("id", step.id_json()),
            ("query", run.map_or("", |run| &run.query).to_owned().into()),
            ("focus", step.focus.clone().into()),
            ("userQuery", self.options.query.clone().into()),
            ("inputs", self.inputs(at)),
            ("attempt", Json::integer(u64::from(run.map_or(0, |run| run.attempts)))),
        ])
    }

    /// The body of a synthesis call. The last synthesis receives all results, an earlier one only
    /// those of its dependencies.
    pub(super) fn synthesis_body(&self, at: usize, last: bool) -> Json<'static> {
        let pairs = self.steps().iter().zip(&self.runs.0).enumerate();
        let lost = |(place, (step, run)): (usize, (&Step, &Run))| {
            (last && place != at && run.result.is_none()).then(|| {
                Json::object([
                    ("id", step.id_json()),
                    ("query", step.query.clone().into()),
                    ("status", run.status_name().into()),
                ])
            })
        };
        let missing = Json::Array(pairs.filter_map(lost).collect());
        let results = if last { self.results(|_| true) } else { self.inputs(at) };
        let (step, run) = (self.steps().get(at), self.runs.get(at));
        Json::object([
            ("id", step.map_or(Json::Null, Step::id_json)),
            ("query", self.options.query.clone().into()),
            ("task", run.map_or("", |run| &run.query).to_owned().into()),
            ("focus", step.map_or("", |step| &step.focus).to_owned().into()),
            ("results", results),
            ("missing", missing),
            ("final", last.into()),
            ("stopped", self.progress.stop.map_or(Json::Null, |stop| stop.name().into())),
        ])
    }

    pub(super) fn fell_back_json(&self) -> Json<'static> {
        self.progress.fell_back.as_ref().map_or(Json::Null, |(code, message)| {
            Json::object([("code", code.clone().into()), ("message", message.clone().into())])
        })
    }

    /// Ends the chain: emits the only terminal event and the result.
    pub(super) fn finish(&mut self, status: &'static str, error: Option<(&str, &str)>) {
        let answered =
            matches!(self.state, State::Answering | State::Classifying | State::Planning);
        let path = if answered || self.plan.is_none() { "simple" } else { "chain" };
        self.state = State::Over;
        let stopped = self.progress.stop.map_or(Json::Null, |stop| stop.name().into());
        let mut shared: Members = vec![
            ("status".into(), status.into()),
            ("path".into(), path.into()),
            ("text".into(), self.progress.text.clone().into()),
            ("stopped".into(), stopped),
            ("fellBack".into(), self.fell_back_json()),
            ("cost".into(), Json::double(self.progress.spent)),
            ("durationMs".into(), Json::integer(self.now.saturating_sub(self.started))),
        ];
        if let Some((code, message)) = error {
            let error = [("code", code.to_owned().into()), ("message", message.to_owned().into())];
            shared.push(("error".into(), Json::object(error)));
        }
        self.emit("complete", shared.clone());
        let steps = self.steps().iter().zip(&self.runs.0);
        let steps = steps.map(|(step, run)| Json::Object(run.members(step))).collect();
        shared.extend([
            (
                "classification".into(),
                self.classification.as_ref().map_or(Json::Null, |found| found.to_json()),
            ),
            ("plan".into(), self.plan.as_ref().map_or(Json::Null, Plan::to_json)),
            ("steps".into(), Json::Array(steps)),
            ("refinements".into(), Json::Array(std::mem::take(&mut self.progress.refinements))),
            ("completeness".into(), self.progress.completeness.map_or(Json::Null, Json::double)),
        ]);
        self.effects.push_back(Effect::Done { result: Json::Object(shared) });
    }
}

fn count(number: usize) -> Json<'static> {
    Json::integer(u64::try_from(number).unwrap_or(u64::MAX))
}
