//! When a chain has enough, or has spent enough.

/// Why a chain stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The host ended it.
    Cancelled,
    /// What was found is enough.
    Complete,
    /// The last step found much less than the one before it.
    DiminishingReturns,
    /// The next step would pass the budget of money or time.
    MaxCost,
    /// As many steps as allowed were run.
    MaxSteps,
    /// Every step of the plan has settled.
    PlanFinished,
}

impl Stop {
    /// All of them.
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

    /// The reason of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.name() == name)
    }
}

/// What sums of decimal fractions may be off by.
pub(super) const SLACK: f64 = 1e-12;

/// Whether the last of `gains` is under `ratio` times the one before it, or both are nothing.
/// One gain never tells. A ratio of 0 switches the rule off.
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

/// Whether `completeness`, 0 to 1, is enough. What is no number never is.
#[must_use]
pub fn complete(completeness: f64, enough: f64) -> bool {
    !completeness.is_nan() && completeness.clamp(0.0, 1.0) >= enough - SLACK
}

#[expect(clippy::cast_precision_loss, reason = "a count of items")]
fn count(items: u64) -> f64 {
    items as f64
}
