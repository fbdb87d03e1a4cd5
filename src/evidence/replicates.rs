//! The replicates of a bundle, their distance matrix, and their fields.

use super::emit::id;
use super::options::SummaryOptions;
use crate::error::Error;
use crate::json::{Json, push_token};
use crate::limits;
use crate::order::sort_by;
use crate::stats::{Comparer, Effort, Kind, NodeId, Value};

/// The replicates by index, with the distance matrix.
#[derive(Debug, Clone)]
pub struct Evidence {
    pub(super) options: SummaryOptions,
    pub(super) comparer: Comparer,
    pub(super) entries: Vec<Entry>,
    /// Distances of valid replicates. Every cell of an invalid one is `None`, also its diagonal.
    pub(super) matrix: Vec<Vec<Option<f64>>>,
    /// The number of replicates that there will be, as far as it is known.
    expected: usize,
}

/// One replicate.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) data: Option<Json<'static>>,
    value: Option<Value>,
    pub(super) valid: bool,
    pub(super) errors: Vec<String>,
}

/// A field: a path whose value is compared as a whole, not member by member.
#[derive(Debug)]
pub(super) struct Leaf<'e> {
    /// JSON Pointer.
    pub(super) field: String,
    pub(super) node: NodeId,
    /// The product of the weights along the path; never 0.
    pub(super) weight: f64,
    /// The value of each replicate at this path.
    pub(super) at: Vec<Option<Held<'e>>>,
}

/// A value as JSON, and prepared for comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'e> {
    pub(super) json: &'e Json<'static>,
    pub(super) value: &'e Value,
}

impl Entry {
    pub(super) fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }
}

impl Evidence {
    /// Makes evidence without replicates.
    ///
    /// # Errors
    /// `options.invalid` with the path of the option; for schemas, see [`Comparer::new`].
    pub fn new(options: SummaryOptions) -> Result<Self, Error> {
        Self::of(options.resolved()?)
    }

    /// As [`Evidence::new`], for options that are within their ranges.
    pub(super) fn of(mut options: SummaryOptions) -> Result<Self, Error> {
        options.check()?;
        let comparer = Comparer::new(options.schema.take().as_ref(), options.null_is_missing)?;
        Ok(Self { options, comparer, entries: Vec::new(), matrix: Vec::new(), expected: 0 })
    }

    /// Tells how many replicates there will be: the steps that comparisons may take are divided among
    /// their pairs, see [`COMPARE_STEPS`](limits::COMPARE_STEPS). Without it, among those that there
    /// are.
    pub fn expect(&mut self, replicates: usize) {
        self.expected = replicates;
    }

    /// What the comparison of one pair may take.
    pub(super) fn effort(&self) -> Effort {
        let all = u64::try_from(self.expected.max(self.entries.len())).unwrap_or(u64::MAX);
        let pairs = all.saturating_mul(all.saturating_sub(1)) / 2;
        Effort::new((limits::COMPARE_STEPS / pairs.max(1)).max(limits::PAIR_STEPS))
    }

    /// Adds a replicate, which is invalid until it is [`set`](Self::set). Returns its index. Its id
    /// is `r1`, `r2`, ….
    pub fn open(&mut self) -> usize {
        self.open_as(id(self.entries.len()))
    }

    /// As [`Evidence::open`], with the host's id.
    pub fn open_as(&mut self, id: String) -> usize {
        self.entries.push(Entry { id, ..Entry::default() });
        for row in &mut self.matrix {
            row.push(None);
        }
        self.matrix.push(vec![None; self.entries.len()]);
        self.entries.len() - 1
    }

    /// Sets the result of a replicate. Call it once per replicate. Without data, the replicate
    /// is invalid.
    pub fn set(
        &mut self,
        place: usize,
        data: Option<Json<'static>>,
        valid: bool,
        errors: Vec<String>,
    ) {
        let value = data.as_ref().map(|data| self.comparer.ready(data));
        let valid = valid && value.is_some();
        if let Some(entry) = self.entries.get_mut(place) {
            (entry.data, entry.value, entry.valid, entry.errors) = (data, value, valid, errors);
        }
        if valid {
            self.measure(place);
        }
    }

    fn measure(&mut self, place: usize) {
        let Some(own) = self.entries.get(place).and_then(|entry| entry.value.as_ref()) else {
            return;
        };
        let distance = |entry: &Entry| {
            let value = entry.value.as_ref().filter(|_| entry.valid)?;
            let root = self.comparer.root();
            Some(self.comparer.distance_at(root, own, value, &mut self.effort()))
        };
        let row: Vec<Option<f64>> = self.entries.iter().map(distance).collect();
        for (cells, cell) in self.matrix.iter_mut().zip(&row) {
            if let Some(mirrored) = cells.get_mut(place) {
                *mirrored = *cell;
            }
        }
        if let Some(cells) = self.matrix.get_mut(place) {
            *cells = row;
        }
    }

    pub(super) fn valid_count(&self) -> usize {
        self.entries.iter().filter(|entry| entry.valid).count()
    }

    /// Returns the fields, sorted by name at each level (§2.6), and their total number.
    ///
    /// The list is cut at [`limits::BUNDLE_FIELDS`]. An object is split into its members only if
    /// every valid replicate that has the path has an object there. Members of weight 0 are no
    /// fields.
    pub(super) fn leaves(&self) -> (Vec<Leaf<'_>>, usize) {
        let mut found = Leaves { evidence: self, leaves: Vec::new(), total: 0 };
        let top: Vec<Option<Held<'_>>> = self
            .entries
            .iter()
            .map(|entry| {
                let (json, value) = (entry.data.as_ref()?, entry.value.as_ref()?);
                // An invalid replicate is shown only if it can be shown field by field.
                (entry.valid || json.as_object().is_some()).then_some(Held { json, value })
            })
            .collect();
        if self.valid_count() > 0 {
            found.enter(String::new(), self.comparer.root(), 1.0, top);
        }
        (found.leaves, found.total)
    }
}

struct Leaves<'e> {
    evidence: &'e Evidence,
    leaves: Vec<Leaf<'e>>,
    total: usize,
}

impl<'e> Leaves<'e> {
    fn enter(&mut self, field: String, node: NodeId, weight: f64, at: Vec<Option<Held<'e>>>) {
        let entries = &self.evidence.entries;
        let valid = |place: usize| entries.get(place).is_some_and(|one| one.valid);
        let mut held = at.iter().enumerate().filter(|(place, _)| valid(*place));
        let mut held = held.by_ref().filter_map(|(_, held)| held.as_ref()).peekable();
        // A category is compared as a whole.
        let whole =
            matches!(self.evidence.comparer.kind(node), Some(Kind::Category | Kind::Ordinal));
        if whole || held.peek().is_none() || !held.all(|held| held.value.members().is_some()) {
            return self.leaf(Leaf { field, node, weight, at });
        }
        let before = self.total;
        let mut said: Vec<(&'e str, usize, Held<'e>)> = Vec::new();
        for (place, held) in at.iter().enumerate() {
            let Some(held) = held else { continue };
            let members = held.json.as_object().unwrap_or_default();
            for (name, own, value) in held.value.members().into_iter().flatten() {
                let Some((_, json)) = members.get(own) else { continue };
                said.push((name, place, Held { json, value }));
            }
        }
        sort_by(&mut said, |(a, ..), (b, ..)| a.cmp(b));
        for same in said.chunk_by(|(a, ..), (b, ..)| a == b) {
            let Some((name, ..)) = same.first() else { continue };
            let mut row = vec![None; at.len()];
            for (_, place, held) in same {
                if let Some(cell) = row.get_mut(*place) {
                    *cell = Some(*held);
                }
            }
            let (node, own) = self.evidence.comparer.member(node, name);
            let weight = weight * own;
            if weight > 0.0 {
                let mut field = field.clone();
                push_token(&mut field, name);
                self.enter(field, node, weight, row);
            }
        }
        // An object without fields is one itself where a replicate has none.
        if self.total == before
            && at.iter().enumerate().any(|(place, held)| valid(place) && held.is_none())
        {
            self.leaf(Leaf { field, node, weight, at });
        }
    }

    fn leaf(&mut self, leaf: Leaf<'e>) {
        self.total += 1;
        if self.leaves.len() < limits::BUNDLE_FIELDS {
            self.leaves.push(leaf);
        }
    }
}
