//! How many pods of a group may be missing, from two annotations of its PodGroup.

use muster_core::delta::GroupBudget;

use crate::objects::Metadata;
use crate::objects::disruption_budget::read_share;

/// So many pods must run: a number or a percentage.
const MIN_AVAILABLE: &str = "volcano.sh/jdb-min-available";

/// So many pods may be missing. Counts where the other is not given, as upstream.
const MAX_UNAVAILABLE: &str = "volcano.sh/jdb-max-unavailable";

/// The budget, if the group has one.
pub(in crate::objects) fn budget(metadata: &Metadata) -> Option<GroupBudget> {
    let annotation = |key: &str| metadata.annotations.get(key);
    match (annotation(MIN_AVAILABLE), annotation(MAX_UNAVAILABLE)) {
        (Some(least), _) => read_share(least).map(GroupBudget::MinAvailable),
        (None, Some(most)) => read_share(most).map(GroupBudget::MaxUnavailable),
        (None, None) => None,
    }
}

/// What is wrong with the annotations, if anything.
pub(in crate::objects) fn complaint(metadata: &Metadata) -> Option<String> {
    let given = |key: &&str| metadata.annotations.contains_key(*key);
    let key = [MIN_AVAILABLE, MAX_UNAVAILABLE].into_iter().find(given)?;
    budget(metadata).is_none().then(|| {
        format!(
            "has an annotation {key} that is neither a number of pods nor 0% to 100% and is not used"
        )
    })
}

#[cfg(test)]
mod tests {
    use muster_core::delta::Share;

    use super::*;

    #[test]
    fn a_minimum_counts_before_a_maximum() {
        let both = Metadata::annotated(&[(MAX_UNAVAILABLE, "25%"), (MIN_AVAILABLE, "3")]);
        assert_eq!(budget(&both), Some(GroupBudget::MinAvailable(Share::Count(3))));
        let most = Metadata::annotated(&[(MAX_UNAVAILABLE, "25%")]);
        assert_eq!(budget(&most), Some(GroupBudget::MaxUnavailable(Share::Percent(25))));
        assert_eq!(complaint(&most), None);
        assert_eq!(budget(&Metadata::default()), None);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let bad = Metadata::annotated(&[(MIN_AVAILABLE, "some")]);
        assert_eq!(budget(&bad), None);
        assert!(complaint(&bad).is_some_and(|text| text.contains(MIN_AVAILABLE)));
        assert_eq!(complaint(&Metadata::default()), None);
    }
}
