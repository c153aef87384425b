//! Victims in worlds of any shape, against a plain reading of the rules.

use proptest::prelude::*;

use super::*;
use crate::policy::testing::{self, Bed, amounts, config, evictor};

/// A queue by index, with two resources.
#[derive(Clone, Debug)]
struct Plan {
    parent: Option<usize>,
    due: [Option<i64>; 2],
    guarantee: [i64; 2],
    reclaimable: bool,
}

fn any_plans() -> impl Strategy<Value = Vec<Plan>> {
    let due = || prop_oneof![Just(None), (0i64..6).prop_map(Some)];
    let plan = (any::<prop::sample::Index>(), [due(), due()], [0i64..3, 0..3], 0..5u8);
    prop::collection::vec(plan, 2..7).prop_map(|plans| {
        let plans = plans.into_iter().enumerate();
        plans
            .map(|(at, (parent, due, guarantee, locked))| Plan {
                parent: parent.index(at + 1).checked_sub(1),
                due,
                guarantee,
                reclaimable: locked > 0,
            })
            .collect()
    })
}

/// The queue and those above it, the root aside.
fn line(plans: &[Plan], queue: usize) -> Vec<usize> {
    let mut line = vec![queue];
    while let Some(parent) = plans[*line.last().unwrap()].parent {
        line.push(parent);
    }
    line
}

/// The rules as they are written, everything counted anew for each pod. `dues` are those computed.
fn plainly(
    plans: &[Plan],
    pods: &[(usize, [i64; 2])],
    (taker, asked): (usize, [i64; 2]),
    levels: usize,
    dues: &[[Option<i64>; 2]],
) -> Vec<usize> {
    let mut gone: Vec<usize> = Vec::new();
    for (at, &(queue, holds)) in pods.iter().enumerate() {
        let has = |queue: usize, resource: usize| -> i64 {
            let staying = pods.iter().enumerate().filter(|(pod, _)| !gone.contains(pod));
            let below = staying.filter(|(_, pod)| line(plans, pod.0).contains(&queue));
            below.map(|(_, pod)| pod.1[resource]).sum()
        };
        let (mine, theirs) = (line(plans, taker), line(plans, queue));
        let held: Vec<usize> = (0..2).filter(|&resource| holds[resource] > 0).collect();
        let lose = |(up, other): &(usize, &usize)| *up == 0 || !mine.contains(other);
        let losers = || theirs.iter().enumerate().take_while(lose);
        let useful = held.iter().any(|&resource| asked[resource] > 0);
        let guarded = losers().all(|(_, &queue)| {
            held.iter().all(|&resource| {
                has(queue, resource) - holds[resource] >= plans[queue].guarantee[resource]
            })
        });
        let borrowed = losers().filter(|(up, _)| *up <= levels).all(|(_, &queue)| {
            let mut named = held.iter().filter_map(|&of| Some((of, dues[queue][of]?))).peekable();
            named.peek().is_none() || named.any(|(resource, due)| has(queue, resource) > due)
        });
        let near = |line: &[usize]| line.iter().skip(1).take(levels).copied().collect::<Vec<_>>();
        let related = near(&mine).iter().any(|parent| near(&theirs).contains(parent));
        let due = |queue: usize, request: [i64; 2]| {
            (0..2).any(|of| request[of] > 0 && dues[queue][of].is_some_and(|due| due > 0))
        };
        let equal = related && !due(queue, holds) && !due(taker, asked);
        let may = plans[queue].reclaimable && queue != taker;
        if may && useful && guarded && borrowed && !equal {
            gone.push(at);
        }
    }
    gone
}

const PAIR: [&str; 2] = ["cpu", "memory"];

fn list(values: [Option<i64>; 2]) -> Vec<(&'static str, i64)> {
    PAIR.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Who goes by the plugin and who by the plain reading.
fn both(
    plans: Vec<Plan>,
    pods: Vec<(usize, [i64; 2])>,
    taker: (usize, [i64; 2]),
    level: Option<i64>,
) -> (Vec<usize>, Vec<usize>) {
    let mut bed = Bed::with(&config(vec![capacity(level)], &[]));
    bed.node("n", &[("cpu", 50), ("memory", 50)]);
    for (at, plan) in plans.iter().enumerate() {
        bed.queue(&format!("q{at}"), |queue| {
            queue.parent = plan.parent.map(|parent| format!("q{parent}").as_str().into());
            let due = list(plan.due);
            queue.deserved = (!due.is_empty()).then(|| amounts(&due));
            queue.guarantee = Some(amounts(list(plan.guarantee.map(Some))));
            queue.reclaimable = plan.reclaimable;
        });
        bed.group(&format!("g{at}"), 0, |group| {
            group.queue = Some(format!("q{at}").as_str().into());
        });
    }
    for (at, (queue, holds)) in pods.iter().enumerate() {
        let request = amounts(list(holds.map(Some)));
        bed.pod(&format!("g{queue}"), at, Some("n"), |pod| pod.request = request);
    }
    let wanted = amounts(list(taker.1.map(Some)));
    bed.pod(&format!("g{}", taker.0), 999, None, |pod| pod.request = wanted);
    let plugin: Capacity = configured(&capacity(level));
    bed.look(move |cluster, directory| {
        let name = |at: usize| format!("g{}-{at}", pods[at].0);
        let candidates: Vec<Entity> =
            (0..pods.len()).map(|at| testing::task(directory, &name(at))).collect();
        let group = format!("g{}", taker.0);
        let evictor =
            evictor(directory, &group, Some(&format!("{group}-999")), EvictPurpose::Reclaim);
        let Ballot::Only(victims) = plugin.reclaimable(cluster, &evictor, &candidates) else {
            panic!("it has an opinion")
        };
        let place = |victim: &Entity| candidates.iter().position(|task| task == victim).unwrap();
        let dues: Vec<[Option<i64>; 2]> = (0..plans.len())
            .map(|at| {
                let queue = cluster.queue(directory.queues[format!("q{at}").as_str()]);
                let due = queue.deserved.0.clone().unwrap();
                // Back to whole units: CPUs are counted in thousandths.
                [due.get(Dim::CPU).map(|milli| milli / 1000), due.get(Dim::MEMORY)]
            })
            .collect();
        let levels = level.map_or(0, |level| usize::try_from(level).unwrap());
        let plain = plainly(&plans, &pods, taker, levels, &dues);
        (victims.iter().map(place).collect(), plain)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn victims_are_those_of_the_plain_reading(
        plans in any_plans(),
        pods in prop::collection::vec((any::<prop::sample::Index>(), [0i64..3, 0..3]), 1..14),
        taker in (any::<prop::sample::Index>(), [0i64..2, 0..2]),
        level in prop_oneof![Just(None), (0i64..4).prop_map(Some)],
    ) {
        let pods = pods.into_iter().map(|(queue, holds)| (queue.index(plans.len()), holds)).collect();
        let taker = (taker.0.index(plans.len()), taker.1);
        let (found, plain) = both(plans, pods, taker, level);
        prop_assert_eq!(found, plain);
    }
}
