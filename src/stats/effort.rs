//! What comparisons may cost beyond what is linear in the size of the values.

/// The steps that the comparison of two values may still take beyond those that are linear in their
/// size. A list that would take more is compared as a multiset.
///
/// What a list costs depends on the two lists alone, and is the same if they are swapped.
#[derive(Debug, Clone)]
pub(crate) struct Effort {
    left: u64,
    /// Whether a list around has paid.
    pub(super) paid: bool,
    /// Whether a list was compared as a multiset although its kind is another.
    pub(crate) rough: bool,
}

impl Effort {
    pub(crate) fn new(steps: u64) -> Self {
        Self { left: steps, paid: false, rough: false }
    }

    pub(super) fn pay(&mut self, steps: u64) -> bool {
        let left = self.left.checked_sub(if self.paid { 0 } else { steps });
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Steps of the longest common subsequence of two lists of this length, 64 cells each.
pub(super) fn sequence_steps(items: u64) -> u64 {
    items.saturating_mul(items) / 64
}

/// The steps that comparisons really take: comparisons of two values, and cells of a matching or of a
/// subsequence.
#[cfg(test)]
pub(super) mod counted {
    use std::cell::Cell;

    thread_local!(static STEPS: Cell<usize> = const { Cell::new(0) });

    pub(in crate::stats) fn step(steps: usize) {
        STEPS.with(|all| all.set(all.get() + steps));
    }

    pub(super) fn take() -> usize {
        STEPS.with(|all| all.take())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Comparer, Value};
    use super::{Effort, counted};
    use crate::json::Json;

    /// A list in which a number makes each item another one.
    fn list(items: usize, item: &dyn Fn(usize) -> String) -> String {
        let items: Vec<String> = (0..items).map(item).collect();
        format!("[{}]", items.join(","))
    }

    /// Values whose lists cost the most for their size; `seed` makes two of them differ everywhere.
    fn shapes(seed: usize) -> Vec<(&'static str, String)> {
        let object = |at: usize| format!("{{\"a\":{},\"b\":\"{seed} {at}\"}}", 7 * at + seed);
        let objects = |items: usize| list(items, &object);
        let lists = |count: usize, one: &dyn Fn(usize) -> String| {
            let all: Vec<String> = (0..count).map(|at| format!("\"l{at}\":{}", one(at))).collect();
            format!("{{{}}}", all.join(","))
        };
        vec![
            ("a long list", objects(128)),
            ("one too long", objects(129)),
            ("many lists", lists(200, &|_| objects(128))),
            ("lists of lists", list(128, &|_| objects(3))),
            ("lists of long lists", list(40, &|_| objects(40))),
            ("three levels", list(12, &|_| list(12, &|_| objects(12)))),
            ("many of three levels", lists(30, &|_| list(12, &|_| list(12, &|_| objects(4))))),
            ("one against many", list(seed % 2 * 99 + 1, &|_| objects(100 - seed % 2 * 99))),
            ("numbers", lists(50, &|_| list(500, &|at| (at * 3 + seed).to_string()))),
        ]
    }

    const SEQUENCES: &str = r#"{"additionalProperties":{"x-compare":"sequence"}}"#;

    /// However values are made, their comparison takes the steps that it may take, some for each of
    /// their parts, and no more.
    #[test]
    fn comparisons_take_no_more_steps_than_they_may() {
        for steps in [0, 1 << 12, 1 << 16, 1 << 20, 1 << 25] {
            for schema in [None, Some(Json::parse_str(SEQUENCES).unwrap())] {
                let mut comparer = Comparer::new(schema.as_ref(), false).unwrap();
                for ((name, a), (_, b)) in shapes(1).into_iter().zip(shapes(2)) {
                    let size = a.len() + b.len();
                    let mut ready =
                        |text: &str| -> Value { comparer.ready(&Json::parse_str(text).unwrap()) };
                    let (a, b) = (ready(&a), ready(&b));
                    let (mut effort, mut other) = (Effort::new(steps), Effort::new(steps));
                    counted::take();
                    let distance = comparer.distance_at(comparer.root(), &a, &b, &mut effort);
                    let done = counted::take();
                    let paid = usize::try_from(steps - effort.left).unwrap();
                    // A cell of the matching is paid with a quarter of a step.
                    assert!(done <= 4 * paid + size, "{name}: {done} steps, {paid} paid");
                    let swapped = comparer.distance_at(comparer.root(), &b, &a, &mut other);
                    assert_eq!((distance, effort.left), (swapped, other.left), "{name}, swapped");
                }
            }
        }
    }

    /// Within the effort nothing is approximated; without any, every list is.
    #[test]
    fn what_is_paid_is_exact() {
        let mut comparer = Comparer::new(None, false).unwrap();
        let mut ready = |text: &str| comparer.ready(&Json::parse_str(text).unwrap());
        let (a, b) = (ready(r#"[{"a":1},{"a":2}]"#), ready(r#"[{"a":2},{"a":4}]"#));
        let (mut enough, mut none) = (Effort::new(100), Effort::new(0));
        assert_eq!(comparer.distance_at(comparer.root(), &a, &b, &mut enough), 0.375);
        assert!(!enough.rough);
        // Two of three different items are not in both.
        let rough = comparer.distance_at(comparer.root(), &a, &b, &mut none);
        assert!((rough - 2.0 / 3.0).abs() < 1e-9 && none.rough, "{rough}");
    }
}
