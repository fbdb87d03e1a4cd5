//! Ids of calls that are unique in a turn.

/// Returns `id`, with the least free number from 2 appended if it is taken. Providers repeat ids,
/// but outcomes in a batch, calls in a history and the events of a turn need unique ids. One pass
/// over `taken`, because a response may repeat one id ten thousand times.
pub(in crate::turn) fn unique(id: String, taken: &mut Vec<String>) -> String {
    let unique = if taken.contains(&id) { numbered(&id, taken) } else { id };
    taken.push(unique.clone());
    unique
}

fn numbered(id: &str, taken: &[String]) -> String {
    // Of as many numbers as there are ids, and one more, one is free.
    let mut used = vec![false; taken.len() + 1];
    for other in taken {
        let number = || other.strip_prefix(id)?.strip_prefix('-')?.parse::<usize>().ok();
        if let Some(place) = number().and_then(|n| used.get_mut(n.checked_sub(2)?)) {
            *place = true;
        }
    }
    let free = used.iter().take_while(|used| **used).count();
    format!("{id}-{}", free + 2)
}

#[cfg(test)]
mod tests {
    use super::unique;

    #[test]
    fn ids_are_told_apart() {
        let mut taken = Vec::new();
        let mut next = |id: &str| unique(id.to_owned(), &mut taken);
        assert_eq!(next("c"), "c");
        assert_eq!(next("c"), "c-2");
        assert_eq!(next("c-2"), "c-2-2");
        assert_eq!(next("c"), "c-3");
        assert_eq!(next("c-5"), "c-5");
        assert_eq!(next("c"), "c-4");
        assert_eq!(next("c"), "c-6");
        assert_eq!(next("c-99999999999999999999"), "c-99999999999999999999");
        assert_eq!(next("c"), "c-7");
        assert_eq!(next("c-x"), "c-x");
        assert_eq!(next("d-4"), "d-4");
        assert_eq!(next("d"), "d");
        assert_eq!(next(""), "");
        assert_eq!(next(""), "-2");
        let ids = taken.len();
        taken.sort();
        taken.dedup();
        assert_eq!(taken.len(), ids);
    }
}
