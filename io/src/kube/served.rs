//! Which version of a kind the API server serves: those of the table, tried in order.

/// The versions of a kind, and the one in use.
#[derive(Debug)]
pub(super) struct ServedVersion {
    versions: &'static [&'static str],
    at: usize,
    /// Versions the server was found not to serve since it last served one.
    refused: Vec<usize>,
}

/// What is left to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another version.
    Version,
    /// Nothing: the server serves none of them.
    Nothing,
}

impl ServedVersion {
    /// The first of these versions, until the server does not know it.
    pub(super) fn new(versions: &'static [&'static str]) -> Self {
        Self { versions, at: 0, refused: Vec::new() }
    }

    /// The version in use.
    pub(super) fn get(&self) -> &'static str {
        self.versions[self.at]
    }

    /// The server serves the version in use: it stays in use for as long as that is so.
    pub(super) fn confirm(&mut self) {
        self.refused.clear();
    }

    /// The server does not serve the version in use: takes the first that was not tried since one
    /// was served. Once all were, the next round begins with the first again.
    pub(super) fn refuse(&mut self) -> Next {
        self.refused.push(self.at);
        let untried = (0..self.versions.len()).find(|at| !self.refused.contains(at));
        let Some(at) = untried else {
            *self = Self::new(self.versions);
            return Next::Nothing;
        };
        self.at = at;
        Next::Version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_tried_in_order_and_the_one_served_is_kept() {
        let mut served = ServedVersion::new(&["v1", "v1beta1", "v1alpha1"]);
        assert_eq!(served.get(), "v1");
        assert_eq!((served.refuse(), served.get()), (Next::Version, "v1beta1"));
        served.confirm();
        assert_eq!(served.get(), "v1beta1");
    }

    #[test]
    fn a_round_that_finds_none_begins_again_with_the_first() {
        let mut served = ServedVersion::new(&["v1", "v1beta1"]);
        assert_eq!(served.refuse(), Next::Version);
        assert_eq!((served.refuse(), served.get()), (Next::Nothing, "v1"));
        assert_eq!((served.refuse(), served.get()), (Next::Version, "v1beta1"));
        let mut only = ServedVersion::new(&["v1"]);
        assert_eq!((only.refuse(), only.get()), (Next::Nothing, "v1"));
    }

    #[test]
    fn a_version_that_is_no_longer_served_gives_way_to_the_best_of_the_others() {
        let mut served = ServedVersion::new(&["v1", "v1beta1", "v1alpha1"]);
        served.refuse();
        served.confirm();
        assert_eq!((served.refuse(), served.get()), (Next::Version, "v1"));
        assert_eq!((served.refuse(), served.get()), (Next::Version, "v1alpha1"));
        assert_eq!((served.refuse(), served.get()), (Next::Nothing, "v1"));
    }
}
