//! The settled tree against a recursive model.

use proptest::prelude::*;

use super::*;
use crate::resource::Dim;

/// A node as people would write it down.
#[derive(Clone, Debug)]
enum Model {
    Job { held: [i64; 2], asked: [i64; 2] },
    Inner(Vec<Model>),
}

fn vector(amounts: [i64; 2]) -> ResourceVec {
    let mut vector = ResourceVec::default();
    vector.set(Dim::CPU, amounts[0]);
    vector.set(Dim::MEMORY, amounts[1]);
    vector
}

fn model() -> impl Strategy<Value = Model> {
    let pair = || (0_i64..40, 0_i64..40);
    let job = (pair(), pair()).prop_map(|(held, more)| Model::Job {
        held: [held.0, held.1],
        asked: [held.0 + more.0 / 10, held.1 + more.1 / 10],
    });
    job.prop_recursive(4, 24, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Model::Inner))
}

/// What a node counts as holding, its share, and whether it wants no more.
fn naive(model: &Model, taken: &ResourceVec, total: &ResourceVec) -> ([i64; 2], i64, bool) {
    match model {
        Model::Job { held, asked } => {
            let full = (0..2).any(|at| {
                let dim = Dim(at as u32);
                held[at] != 0
                    && asked[at] != 0
                    && (held[at] >= asked[at] || taken.get(dim) >= total.get(dim))
            });
            (*held, dominant_share(&vector(*held), total), full)
        }
        Model::Inner(children) => {
            let children: Vec<_> = children.iter().map(|one| naive(one, taken, total)).collect();
            let hungry = children.iter().filter(|child| child.1 != 0 && !child.2);
            let least = hungry.map(|child| child.1).min().unwrap_or(i64::MAX).min(1_000_000_000);
            let mut held = [0; 2];
            for (own, share, saturated) in children.iter().filter(|child| child.1 != 0) {
                for at in 0..2 {
                    let scaled = i128::from(own[at]) * i128::from(least) / i128::from(*share);
                    held[at] += if *saturated { own[at] } else { scaled as i64 };
                }
            }
            let share = dominant_share(&vector(held), total);
            (held, share, children.iter().all(|child| child.2))
        }
    }
}

/// Adds a model below a node.
fn plant(tree: &mut Tree, parent: Option<usize>, model: &Model) {
    match model {
        Model::Job { held, asked } => {
            let job = Entity::from_raw_u32(tree.branches.len() as u32).unwrap();
            tree.leaf(job, parent, vector(*held), vector(*asked));
        }
        Model::Inner(children) => {
            let at = tree.branches.len();
            tree.grow(Branch { weight: 1000, parent, ..Branch::default() });
            for child in children {
                plant(tree, Some(at), child);
            }
        }
    }
}

fn planted(model: &Model, total: &ResourceVec) -> Tree {
    let mut tree = Tree {
        branches: Vec::new(),
        paths: BTreeMap::new(),
        leaves: BTreeMap::new(),
        taken: ResourceVec::default(),
        total: total.clone(),
    };
    plant(&mut tree, None, model);
    tree.settle();
    tree
}

/// What every node holds, its share, and whether it wants no more.
fn standings(tree: &Tree) -> Vec<(ResourceVec, i64, bool)> {
    let branches = tree.branches.iter();
    branches.map(|branch| (branch.held.clone(), branch.share, branch.saturated)).collect()
}

proptest! {
    #[test]
    fn settled_shares_are_those_of_the_recursive_model(
        model in model(),
        total in (1_i64..400, 1_i64..400),
    ) {
        let total = vector([total.0, total.1]);
        let tree = planted(&model, &total);
        let (held, share, saturated) = naive(&model, &tree.taken, &total);
        let root = &tree.branches[0];
        prop_assert_eq!((&root.held, root.share, root.saturated), (&vector(held), share, saturated));
    }

    #[test]
    fn a_mended_tree_is_the_one_settled_anew(
        model in model(),
        total in (40_i64..400, 40_i64..400),
        steps in prop::collection::vec(
            (any::<prop::sample::Index>(), (0_i64..9, 0_i64..9), 0..3_usize),
            0..12,
        ),
    ) {
        let total = vector([total.0, total.1]);
        let mut tree = planted(&model, &total);
        let jobs: Vec<Entity> = tree.leaves.keys().copied().collect();
        for (at, more, step) in steps {
            if jobs.is_empty() {
                break;
            }
            let (job, amount) = (jobs[at.index(jobs.len())], vector([more.0, more.1]));
            [Tree::add, Tree::sub, Tree::promise][step](&mut tree, job, &amount);
            let mut anew = tree.clone();
            anew.settle();
            prop_assert_eq!(standings(&tree), standings(&anew));
        }
    }

    #[test]
    fn adding_and_taking_back_leaves_the_tree_as_it_was(
        model in model(),
        more in (0_i64..9, 0_i64..9),
        at in any::<prop::sample::Index>(),
    ) {
        let total = vector([300, 300]);
        let before = planted(&model, &total);
        let mut tree = before.clone();
        let jobs: Vec<Entity> = tree.leaves.keys().copied().collect();
        if !jobs.is_empty() {
            let job = jobs[at.index(jobs.len())];
            tree.add(job, &vector([more.0, more.1]));
            tree.sub(job, &vector([more.0, more.1]));
        }
        prop_assert_eq!(standings(&tree), standings(&before));
    }
}
