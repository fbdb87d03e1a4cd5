//! The answer of a turn with a schema: the only JSON value of the draft that the host finds valid.

use crate::json::Json;
use crate::limits;
use crate::reply::{Dropped, Fault, Reply};
use crate::tool::Verdict;

/// A value of a draft.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) json: Json<'static>,
    /// What was dropped around it.
    pub(super) dropped: Vec<Dropped>,
}

/// The values of a draft, which the host checks one after the other.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    /// Those without a verdict, the next one last.
    open: Vec<Answer>,
    valid: Option<Answer>,
    /// Why the first one is not valid.
    errors: Option<String>,
}

impl Candidates {
    /// Reads a draft.
    ///
    /// # Errors
    /// Why it has no value, for the model.
    pub(super) fn read(draft: &str) -> Result<Self, String> {
        if draft.len() > limits::ARGUMENTS_BYTES {
            return Err(format!("it is no JSON: longer than {} bytes", limits::ARGUMENTS_BYTES));
        }
        let reply = Reply::read(draft);
        let values = reply.distinct().map_err(|fault| format!("it is no JSON: {fault}"))?;
        let answers = values.into_iter().rev().map(|value| Answer {
            text: value.text.to_owned(),
            json: value.json.clone().into_owned(),
            dropped: reply.dropped_around(value),
        });
        Ok(Self { open: answers.collect(), valid: None, errors: None })
    }

    /// The value that the host checks next.
    pub(super) fn next(&self) -> Option<&Json<'static>> {
        self.open.last().map(|answer| &answer.json)
    }

    /// Takes the verdict on that value.
    pub(super) fn take(&mut self, verdict: Verdict) {
        let Some(answer) = self.open.pop() else { return };
        match verdict {
            Verdict::Invalid { errors } | Verdict::Denied { reason: errors, .. } => {
                self.errors.get_or_insert(errors);
            }
            Verdict::Valid { .. } if self.valid.is_some() => {
                self.open.clear();
                self.valid = None;
                self.errors = Some(format!("{}; write one", Fault::Ambiguous));
            }
            Verdict::Valid { args, .. } => {
                let json = args.unwrap_or(answer.json);
                self.valid = Some(Answer { json, ..answer });
            }
        }
    }

    /// The only valid value, or why there is none.
    pub(super) fn decide(self) -> Result<Answer, String> {
        let errors = self.errors;
        self.valid.ok_or_else(|| errors.unwrap_or_default())
    }
}
