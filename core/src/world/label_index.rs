//! Selectors found by the labels of a pod, so that a pod is not held against all of them.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::{Operator, Requirement};
use crate::ids::Name;

/// Entries by a label that pods they select must have.
#[derive(Clone, Debug)]
pub(crate) struct LabelIndex<T> {
    by_label: HashMap<(Name, Name), Vec<T>, FxBuildHasher>,
    /// Entries that name no value of any label.
    anywhere: Vec<T>,
}

impl<T> Default for LabelIndex<T> {
    fn default() -> Self {
        Self { by_label: HashMap::default(), anywhere: Vec::new() }
    }
}

impl<T: Clone + PartialEq> LabelIndex<T> {
    /// Files an entry that selects pods by these requirements: under the label fewest others are
    /// filed under, because a label many selectors want says little.
    pub(crate) fn insert<'a>(
        &mut self,
        requirements: impl Iterator<Item = &'a Requirement>,
        entry: &T,
    ) {
        let filed = |one: &Requirement| -> usize {
            let of = |value| self.by_label.get(&(one.key.clone(), value)).map_or(0, Vec::len);
            one.values.iter().cloned().map(of).sum()
        };
        let exact = requirements.filter(|one| one.operator == Operator::In);
        match exact.min_by_key(|one| filed(one)) {
            None => self.anywhere.push(entry.clone()),
            Some(Requirement { key, values, .. }) => {
                for value in values {
                    let label = (key.clone(), value.clone());
                    self.by_label.entry(label).or_default().push(entry.clone());
                }
            }
        }
    }

    /// Takes out an entry that was filed with these requirements.
    pub(crate) fn remove(&mut self, requirements: &[Requirement], entry: &T) {
        self.anywhere.retain(|other| other != entry);
        for Requirement { key, values, .. } in requirements {
            for value in values {
                let label = (key.clone(), value.clone());
                let Some(filed) = self.by_label.get_mut(&label) else { continue };
                filed.retain(|other| other != entry);
                if filed.is_empty() {
                    self.by_label.remove(&label);
                }
            }
        }
    }

    /// Entries that may select a pod with these labels: all that do, and some that do not. One that
    /// names a value twice comes twice.
    pub(crate) fn candidates<'a>(
        &'a self,
        labels: &'a [(Name, Name)],
    ) -> impl Iterator<Item = &'a T> {
        let labels = if self.by_label.is_empty() { &[] } else { labels };
        let named = labels.iter().filter_map(|label| self.by_label.get(label)).flatten();
        self.anywhere.iter().chain(named)
    }
}

/// Do the labels of a pod, sorted by key, meet all requirements?
pub(crate) fn has_labels(requirements: &[Requirement], labels: &[(Name, Name)]) -> bool {
    requirements.iter().all(|one| one.holds(label_value(labels, &one.key)))
}

/// What a pod with these labels, sorted by key, has under a key.
pub(crate) fn label_value<'a>(labels: &'a [(Name, Name)], key: &str) -> Option<&'a Name> {
    labels.binary_search_by(|label| (*label.0).cmp(key)).ok().map(|at| &labels[at].1)
}
