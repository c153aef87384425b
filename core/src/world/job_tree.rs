//! How far the sub-groups of a job have come, where they form a tree.
//!
//! A sub-group with pods of its own is whole when it has so many; a set of sub-groups is whole when so
//! many of them are. The job itself is the set of those at the top. In a job with a tree, the index of
//! a sub-group is its index in the tree.

use super::job::{JobCounts, READY, SubGroup};
use super::rows::JobReadOnlyItem;
use super::task::TaskStatus;
use crate::delta::{GroupTree, WholeWhen};

/// What a sub-group has of what makes it whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Its pods that count; of a set, its sub-groups that are whole.
    pub has: u32,
    /// How many of those make it whole.
    pub needs: u32,
    /// How many pods it lacks for that, at least.
    pub lacks: u32,
}

impl Progress {
    /// Has it all it needs?
    pub fn is_whole(self) -> bool {
        self.has >= self.needs
    }
}

/// The progress of each sub-group of a tree, and of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeProgress {
    of: Vec<Progress>,
    job: Progress,
}

impl TreeProgress {
    /// The progress of a tree whose sub-groups have so many pods.
    pub fn new(tree: &GroupTree, pods: impl Fn(usize) -> u32) -> Self {
        let count = tree.subgroups.len();
        let mut of = vec![Progress::default(); count];
        // What the sub-groups directly inside each set, the job's in the end, lack to be whole.
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); count + 1];
        for (at, node) in tree.subgroups.iter().enumerate().rev() {
            of[at] = match node.whole {
                WholeWhen::Pods(needs) => {
                    let has = pods(at);
                    Progress { has, needs, lacks: needs.saturating_sub(has) }
                }
                WholeWhen::SubGroups(min) => set(min, std::mem::take(&mut inside[at])),
            };
            // A set that needs more than it has is not whole even if no pod is lacking.
            let lacks = if of[at].is_whole() { 0 } else { of[at].lacks.max(1) };
            inside[tree.parent(at).unwrap_or(count)].push(lacks);
        }
        let job = set(tree.min_subgroups, std::mem::take(&mut inside[count]));
        Self { of, job }
    }

    /// The progress of a sub-group, or of the job.
    pub fn of(&self, subgroup: Option<u16>) -> Progress {
        let Some(at) = subgroup else { return self.job };
        self.of.get(usize::from(at)).copied().unwrap_or_default()
    }
}

/// Which pods of a job can go, one after the other, so that it stays whole.
#[derive(Clone, Debug)]
pub struct TreeSpare<'a> {
    tree: &'a GroupTree,
    /// Pods each sub-group has left.
    pods: Vec<u32>,
}

impl TreeSpare<'_> {
    /// Lets a pod of a sub-group go, if the job is whole without it.
    pub fn take(&mut self, subgroup: u16) -> bool {
        let Some(left) = self.pods.get_mut(usize::from(subgroup)).filter(|left| **left > 0) else {
            return false;
        };
        *left -= 1;
        let whole = TreeProgress::new(self.tree, |at| self.pods[at]).of(None).is_whole();
        self.pods[usize::from(subgroup)] += u32::from(!whole);
        whole
    }
}

/// A set whose members lack so many pods each.
fn set(min: Option<u32>, mut lacks: Vec<u32>) -> Progress {
    lacks.sort_unstable();
    let needs = min.unwrap_or(lacks.len() as u32);
    let has = lacks.iter().filter(|&&lacks| lacks == 0).count() as u32;
    Progress { has, needs, lacks: lacks.iter().take(needs as usize).sum() }
}

impl GroupTree {
    /// The set a sub-group is part of; `None` at the top.
    pub fn parent(&self, at: usize) -> Option<usize> {
        // Parents come before their children; whatever else is said counts as the top.
        self.subgroups[at].parent.map(usize::from).filter(|&parent| parent < at)
    }

    /// Sub-groups directly inside a set, or at the top.
    pub fn inside(&self, set: Option<u16>) -> impl Iterator<Item = u16> + '_ {
        let all = 0..self.subgroups.len();
        all.filter(move |&at| self.parent(at) == set.map(usize::from)).map(|at| at as u16)
    }

    /// Is a sub-group the other one, or somewhere inside it? Every one is inside the job.
    pub fn is_within(&self, subgroup: u16, outer: Option<u16>) -> bool {
        let Some(outer) = outer.map(usize::from) else { return true };
        let mut at = Some(usize::from(subgroup));
        while let Some(inner) = at.filter(|&inner| inner > outer && inner < self.subgroups.len()) {
            at = self.parent(inner);
        }
        at == Some(outer)
    }

    /// Is it a set of other sub-groups?
    pub fn is_set(&self, subgroup: u16) -> bool {
        let node = self.subgroups.get(usize::from(subgroup));
        node.is_some_and(|node| matches!(node.whole, WholeWhen::SubGroups(_)))
    }

    /// The fewest pods that make the job whole.
    pub fn least_pods(&self) -> u32 {
        TreeProgress::new(self, |_| 0).of(None).lacks
    }
}

impl<'w> JobReadOnlyItem<'w, '_> {
    /// Its tree, if its sub-groups form one.
    pub fn tree(&self) -> Option<&'w GroupTree> {
        self.spec.tree.as_deref().filter(|tree| !tree.subgroups.is_empty())
    }

    /// The progress of its tree, counting the pods in some statuses; `None` if it has no tree.
    pub fn progress(&self, statuses: &[TaskStatus]) -> Option<TreeProgress> {
        self.progress_of(|group| group.count(statuses))
    }

    /// Is its tree whole, if it has one?
    pub fn is_tree_whole(&self) -> bool {
        self.progress(&READY).is_none_or(|progress| progress.of(None).is_whole())
    }

    /// Which of its pods can go, if it has a tree and is whole.
    pub fn spare(&self) -> Option<TreeSpare<'w>> {
        let tree = self.tree()?;
        let pods = self.counts().subgroups.iter().map(|group| group.count(&READY)).collect();
        self.progress(&READY)?.of(None).is_whole().then_some(TreeSpare { tree, pods })
    }

    /// The progress of its tree by any count of pods.
    pub fn progress_of(&self, pods: impl Fn(&SubGroup) -> u32) -> Option<TreeProgress> {
        let counts: &JobCounts = self.counts();
        let count = |at: usize| counts.subgroups.get(at).map_or(0, &pods);
        Some(TreeProgress::new(self.tree()?, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn a_set_is_whole_when_enough_of_its_sub_groups_are() {
        let tree = tree(&[
            ("ab", None, WholeWhen::SubGroups(Some(1))),
            ("a", Some("ab"), WholeWhen::Pods(3)),
            ("b", Some("ab"), WholeWhen::Pods(2)),
            ("cd", None, WholeWhen::SubGroups(None)),
            ("c", Some("cd"), WholeWhen::Pods(1)),
            ("d", Some("cd"), WholeWhen::Pods(0)),
        ]);
        let progress = |pods: [u32; 6]| TreeProgress::new(&tree, move |at| pods[at]);
        let told = |progress: &TreeProgress, at| {
            let Progress { has, needs, lacks } = progress.of(at);
            [has, needs, lacks]
        };
        let empty = progress([0; 6]);
        assert_eq!(tree.least_pods(), 3, "b and c");
        assert_eq!(told(&empty, None), [0, 2, 3]);
        assert_eq!(told(&empty, Some(0)), [0, 1, 2]);
        assert_eq!(told(&empty, Some(3)), [1, 2, 1], "d needs none");
        let begun = progress([0, 2, 0, 0, 1, 0]);
        assert_eq!(told(&begun, None), [1, 2, 1], "one more of a is cheaper than two of b");
        assert_eq!(told(&begun, Some(1)), [2, 3, 1]);
        assert!(begun.of(Some(3)).is_whole() && !begun.of(Some(0)).is_whole());
        assert!(progress([0, 0, 2, 0, 1, 0]).of(None).is_whole());
    }

    #[test]
    fn who_is_inside_whom() {
        let tree = tree(&[
            ("x", None, WholeWhen::SubGroups(None)),
            ("y", Some("x"), WholeWhen::SubGroups(None)),
            ("z", Some("y"), WholeWhen::Pods(1)),
            ("w", None, WholeWhen::Pods(1)),
        ]);
        let inside = |set| tree.inside(set).collect::<Vec<_>>();
        assert_eq!(
            (inside(None), inside(Some(0)), inside(Some(1))),
            (vec![0, 3], vec![1], vec![2])
        );
        assert!(
            tree.is_within(2, Some(0)) && tree.is_within(2, Some(2)) && tree.is_within(2, None)
        );
        assert!(!tree.is_within(3, Some(0)) && !tree.is_within(0, Some(2)));
        assert!(tree.is_set(1) && !tree.is_set(2));
    }

    #[test]
    fn a_set_that_asks_for_more_than_it_has_is_never_whole() {
        let tree = tree(&[
            ("ab", None, WholeWhen::SubGroups(Some(2))),
            ("a", Some("ab"), WholeWhen::Pods(1)),
        ]);
        assert!(!TreeProgress::new(&tree, |_| 9).of(None).is_whole());
    }
}
