//! The stop rules of a bundle (§2.10).

use super::options::MustAgree;
use super::replicates::{Evidence, Held};
use crate::stats;

impl Evidence {
    /// Applies the stop rule (§2.10): the mean distance is within ε, and every field is settled that
    /// is no prose, or the values of each field of `mustAgree` are of one class.
    #[must_use]
    pub fn agrees(&self) -> bool {
        stats::within(&self.matrix, self.options.epsilon)
            && match &self.options.must_agree {
                MustAgree::Settled => self.is_settled(),
                MustAgree::Fields(fields) => fields.iter().all(|field| self.unanimous(field)),
            }
    }

    pub(super) fn unanimous(&self, field: &str) -> bool {
        let mut votes = self.votes(field).into_iter();
        let first = votes.next();
        // A pointer that names nothing, in the schema or in any replicate, is probably misspelt.
        let known = first.flatten().is_some() || self.comparer.declares(field);
        votes.all(|vote| Some(vote) == first) && known
    }

    /// The class of each valid replicate at a field. Objects are classified as a whole.
    fn votes(&self, field: &str) -> Vec<Option<u32>> {
        let valid = self.entries.iter().filter(|entry| entry.valid);
        valid.map(|entry| self.comparer.vote(entry.value()?, field)).collect()
    }

    /// Whether `left` further replicates can no longer change the leading answer (§2.10), at every
    /// field of `mustAgree` or, if it names none, at every field.
    #[must_use]
    pub fn locked(&self, left: usize) -> bool {
        let must_agree = self.options.must_agree.fields();
        let sizes = |votes: Vec<Option<u32>>| -> Vec<usize> {
            let mut counts: Vec<(Option<u32>, usize)> = Vec::new();
            for vote in votes {
                match counts.iter_mut().find(|(known, _)| *known == vote) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((vote, 1)),
                }
            }
            counts.into_iter().map(|(_, count)| count).collect()
        };
        let locked = |votes| stats::majority_lock(&sizes(votes), left);
        if !must_agree.is_empty() {
            return must_agree.iter().all(|field| locked(self.votes(field)));
        }
        let (leaves, total) = self.leaves();
        let vote = |held: &Option<Held<'_>>| held.map(|held| held.value.vote);
        total > 0
            && leaves.iter().all(|leaf| {
                let valid = leaf.at.iter().zip(&self.entries).filter(|(_, entry)| entry.valid);
                locked(valid.map(|(held, _)| vote(held)).collect())
            })
    }
}
