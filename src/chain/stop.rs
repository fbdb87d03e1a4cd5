//! The reasons for stopping a chain, and the rules behind them.

use crate::json::table::names;

names! {
    /// Why the steps of a chain ended.
    pub enum Stop as "StopReason", "a reason to stop", non_exhaustive {
        /// The results are complete enough.
        Complete "complete",
        /// The maximum number of steps was run.
        MaxSteps "max_steps",
        /// The next step would exceed the cost budget (`limits.maxCost`).
        MaxCost "max_cost",
        /// The time before the answer is over (`limits.totalMs`).
        MaxTime "max_time",
        /// The result of the last search is much worse than that of the one before it, by the host's
        /// `quality`.
        DiminishingReturns "diminishing_returns",
        /// Every step of the plan has settled.
        PlanFinished "plan_finished",
        /// The host cancelled the chain.
        Cancelled "cancelled",
    }
}

/// Tolerance for rounding errors in sums of decimal fractions.
pub(super) const SLACK: f64 = 1e-12;

/// Whether the last of `qualities` is less than `ratio` times the one before it. False for fewer than
/// two. A ratio of 0 switches the rule off.
#[must_use]
pub fn diminishing(qualities: &[f64], ratio: f64) -> bool {
    let [.., previous, recent] = qualities else { return false };
    ratio > 0.0 && *recent < ratio * *previous - SLACK
}

/// Whether `completeness`, 0 to 1, reaches `enough`. NaN never does.
#[must_use]
pub fn complete(completeness: f64, enough: f64) -> bool {
    !completeness.is_nan() && completeness.clamp(0.0, 1.0) >= enough - SLACK
}
