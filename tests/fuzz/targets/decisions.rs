//! Plans, requests, patches, distances.

use turnlock::chain::{Plan, PlanLimits};
use turnlock::evidence::{apply, diff};
use turnlock::json::Json;
use turnlock::planning::{Policy, parse_tool_request};
use turnlock::stats::{DistanceOptions, distance as between};

use super::Bytes;

/// A plan that is read has steps within the limits, and each depends on earlier ones only.
pub(super) fn plan(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let limits = PlanLimits::default();
    let Ok(plan) = Plan::parse(&text, &limits) else { return };
    assert!(!plan.steps.is_empty());
    let all: usize = plan.waves.iter().map(Vec::len).sum();
    assert_eq!(all, plan.steps.len(), "each step is in one wave");
}

/// Whatever a model writes is requests or a reason.
pub(super) fn request(data: &[u8]) {
    let mut bytes = Bytes(data);
    let policy = bytes.piece();
    let policy = Json::parse_lossy(policy, 1 << 16)
        .ok()
        .and_then(|json| Policy::from_json(&json).ok())
        .unwrap_or_default();
    let text = String::from_utf8_lossy(bytes.0);
    if let Ok(parsed) = parse_tool_request(&text, &policy) {
        assert!(
            parsed.tool_calls.len() <= usize::try_from(policy.max_tool_calls).unwrap_or(usize::MAX)
        );
    }
}

fn two<'a>(data: &'a [u8]) -> Option<(Json<'a>, Json<'a>)> {
    let mut bytes = Bytes(data);
    let first = bytes.piece();
    Some((Json::parse(first, 1 << 16).ok()?, Json::parse(bytes.0, 1 << 16).ok()?))
}

/// The difference of two values leads from one to the other. A patch of others changes or refuses.
pub(super) fn patch(data: &[u8]) {
    let Some((one, other)) = two(data) else { return };
    let made = apply(&one, &diff(&one, &other)).map(|made| made.to_canonical());
    assert_eq!(made, Some(other.to_canonical()));
    assert_eq!(diff(&one, &one), Json::Array(Vec::new()));
    let _ = apply(&one, &other);
}

/// A distance is between 0 and 1, 0 of a value to itself, and the same in both directions.
pub(super) fn distance(data: &[u8]) {
    let Some((one, other)) = two(data) else { return };
    let options = DistanceOptions::default();
    let Ok(far) = between(&one, &other, &options) else { return };
    assert!((0.0..=1.0).contains(&far), "{far}");
    assert_eq!(between(&other, &one, &options).ok(), Some(far));
    assert_eq!(between(&one, &one, &options).ok(), Some(0.0));
}
