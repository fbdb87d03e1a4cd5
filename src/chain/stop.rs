//! The reasons for stopping a chain, and the rules behind them.

/// Why a chain stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The host cancelled it.
    Cancelled,
    /// The results are complete enough.
    Complete,
    /// The last search found much less than the one before it.
    DiminishingReturns,
    /// The next step would exceed the cost budget, or the time is over.
    MaxCost,
    /// The maximum number of steps was run.
    MaxSteps,
    /// Every step of the plan has settled.
    PlanFinished,
}

impl Stop {
    /// All reasons.
    pub const ALL: [Self; 6] = [
        Self::Cancelled,
        Self::Complete,
        Self::DiminishingReturns,
        Self::MaxCost,
        Self::MaxSteps,
        Self::PlanFinished,
    ];

    /// The name in events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Complete => "complete",
            Self::DiminishingReturns => "diminishing_returns",
            Self::MaxCost => "max_cost",
            Self::MaxSteps => "max_steps",
            Self::PlanFinished => "plan_finished",
        }
    }

    /// The reason with that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.name() == name)
    }
}

/// Tolerance for rounding errors in sums of decimal fractions.
pub(super) const SLACK: f64 = 1e-12;

/// Whether the last of `gains` is less than `ratio` times the one before it, or both are 0.
/// False for fewer than two gains. A ratio of 0 switches the rule off.
#[must_use]
pub fn diminishing(gains: &[u64], ratio: f64) -> bool {
    let [.., previous, recent] = gains else { return false };
    if ratio <= 0.0 {
        return false;
    }
    if *previous == 0 && *recent == 0 {
        return true;
    }
    count(*recent) < ratio * count(*previous) - SLACK
}

/// Whether `completeness`, 0 to 1, reaches `enough`. NaN never does.
#[must_use]
pub fn complete(completeness: f64, enough: f64) -> bool {
    !completeness.is_nan() && completeness.clamp(0.0, 1.0) >= enough - SLACK
}

#[expect(clippy::cast_precision_loss, reason = "a count of items")]
fn count(items: u64) -> f64 {
    items as f64
}
