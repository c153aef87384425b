//! Where a gang goes, against a twin that looks at every node for every task.
//!
//! The rule both follow: a node with free room goes before one whose room is still being left, then
//! the higher score, then the name (digits as numbers). The gang is bound when its minimum has
//! places, held whole when free and coming room together cover it, and otherwise left alone.

use muster_core::delta::ClusterDelta;
use muster_core::ids::TimeMs;
use muster_core::intent::DecisionOp;
use muster_core::testing::{amounts, group, node, pod};
use muster_tests::policy::{cases, config, scheduler};
use proptest::collection::vec;
use proptest::prelude::*;

const ACTIONS: &str = "actions: \"enqueue, allocate\"\ntiers:\n- plugins: [{name: gang}, ";

/// How nodes are scored, with the plugin that does it.
#[derive(Clone, Copy, Debug)]
enum Score {
    /// Fuller is better.
    Binpack,
    /// Emptier is better.
    LeastRequested,
}

impl Score {
    fn text(self) -> String {
        let plugin = match self {
            Self::Binpack => "{name: binpack, arguments: {binpack.cpu: 2}}",
            Self::LeastRequested => {
                "{name: nodeorder, arguments: {balancedresource.weight: 0, \
                 tainttoleration.weight: 0, nodeaffinity.weight: 0}}"
            }
        };
        format!("{ACTIONS}{plugin}]\n")
    }

    /// The score of a node, as the plugins' pages have it.
    fn of(self, room: &Room, ask: [i64; 2]) -> i64 {
        let wanted = [0, 1].map(|at| (room.used[at] + ask[at], room.offer[at]));
        match self {
            // The mean of how full each resource asked for would be, cpu twice; nothing if over.
            Self::Binpack => {
                let asked = (0..2).filter(|&at| ask[at] > 0);
                let (mut sum, mut weights) = (0, 0);
                for at in asked {
                    let ((wanted, whole), weight) = (wanted[at], [2, 1][at]);
                    if whole > 0 && wanted > whole {
                        return 0;
                    }
                    if whole > 0 {
                        sum += weight * (wanted * 100 * 1_000_000 / whole);
                    }
                    weights += weight;
                }
                if weights == 0 { 0 } else { sum / weights }
            }
            // The mean of the whole points of what would be left of each resource the node has.
            Self::LeastRequested => {
                let there = wanted.into_iter().filter(|&(_, whole)| whole > 0);
                let points: Vec<i64> =
                    there.map(|(wanted, whole)| (whole - wanted).max(0) * 100 / whole).collect();
                points.iter().sum::<i64>() / (points.len() as i64).max(1)
            }
        }
    }
}

/// A node as the twin sees it, cpu in milli and memory in bytes.
#[derive(Clone, Debug)]
struct Room {
    name: String,
    offer: [i64; 2],
    used: [i64; 2],
    leaving: [i64; 2],
    held: [i64; 2],
}

impl Room {
    fn fits_now(&self, ask: [i64; 2]) -> bool {
        (0..2).all(|at| ask[at] == 0 || ask[at] <= self.offer[at] - self.used[at])
    }

    fn fits_later(&self, ask: [i64; 2]) -> bool {
        (0..2).all(|at| {
            let free = self.offer[at] - self.used[at] + self.leaving[at] - self.held[at];
            ask[at] == 0 || ask[at] <= free
        })
    }

    fn take(side: &mut [i64; 2], ask: [i64; 2]) {
        (0..2).for_each(|at| side[at] += ask[at]);
    }
}

/// What the twin decides: operation and node for each task that gets one, in order.
fn decide(
    mut rooms: Vec<Room>,
    ask: [i64; 2],
    members: usize,
    min: usize,
    score: Score,
) -> Vec<(DecisionOp, String)> {
    let mut placed: Vec<(DecisionOp, String)> = Vec::new();
    let bound = |placed: &[(DecisionOp, String)]| {
        placed.iter().filter(|entry| entry.0 == DecisionOp::Bind).count()
    };
    let mut committed = 0;
    for _ in 0..members {
        // Rooms stand in the order of names; the first of equals is the last `max_by_key` sees.
        let best = rooms
            .iter_mut()
            .rev()
            .filter(|room| room.fits_later(ask))
            .max_by_key(|room| (room.fits_now(ask), score.of(room, ask)));
        let Some(room) = best else { break };
        if room.fits_now(ask) {
            Room::take(&mut room.used, ask);
            placed.push((DecisionOp::Bind, room.name.clone()));
        } else {
            Room::take(&mut room.held, ask);
            placed.push((DecisionOp::Pipeline, room.name.clone()));
        }
        if bound(&placed) >= min {
            committed = placed.len();
        }
    }
    if committed > 0 {
        placed.truncate(committed);
        return placed;
    }
    // Not ready: held whole if covered, else nothing.
    if placed.len() < min {
        return Vec::new();
    }
    placed.into_iter().map(|entry| (DecisionOp::Pipeline, entry.1)).collect()
}

/// What a pod on a node takes of it, and whether it is leaving.
type Tenant = ([i64; 2], bool);

#[derive(Clone, Debug)]
struct Case {
    /// What each node offers, and who is on it.
    nodes: Vec<([i64; 2], Vec<Tenant>)>,
    ask: [i64; 2],
    members: usize,
    surplus: usize,
}

fn any_case() -> impl Strategy<Value = Case> {
    let tenant = ([0..3_i64, 0..3_i64], any::<bool>());
    let node = ([0..12_i64, 0..12_i64], vec(tenant, 0..3));
    (vec(node, 1..14), [0..4_i64, 0..4_i64], 1..16_usize, 0..3_usize).prop_map(
        |(nodes, ask, members, surplus)| {
            // A pod that asks for nothing is not a matter of `allocate`.
            let ask = if ask == [0, 0] { [1, 0] } else { ask };
            Case { nodes, ask, members, surplus: surplus.min(members - 1) }
        },
    )
}

const UNITS: [i64; 2] = [1000, 1];

impl Case {
    fn objects(&self) -> Vec<ClusterDelta> {
        let mut objects = vec![group("g", (self.members - self.surplus) as u32).into()];
        for (at, (offer, tenants)) in self.nodes.iter().enumerate() {
            let name = format!("n{at}");
            objects.push(node(&name).offer("cpu", offer[0]).offer("memory", offer[1]).into());
            for (index, (ask, leaving)) in tenants.iter().enumerate() {
                let tenant = pod(&format!("t-{at}-{index}")).running_on(&name);
                let tenant = tenant.ask("cpu", ask[0]).ask("memory", ask[1]);
                objects.push(if *leaving { tenant.leaving() } else { tenant }.into());
            }
        }
        for member in 0..self.members {
            let member = pod(&format!("g-a-{member}")).group("g");
            let request = amounts([("cpu", self.ask[0]), ("memory", self.ask[1]), ("pods", 1)]);
            objects.push(member.with(|pod| pod.request = request).into());
        }
        objects
    }

    fn rooms(&self) -> Vec<Room> {
        let units = |amount: [i64; 2]| [amount[0] * UNITS[0], amount[1] * UNITS[1]];
        let nodes = self.nodes.iter().enumerate();
        let rooms = nodes.map(|(at, (offer, tenants))| {
            let zero = [0, 0];
            let name = format!("n{at}");
            let mut room =
                Room { name, offer: units(*offer), used: zero, leaving: zero, held: zero };
            for (ask, leaving) in tenants {
                Room::take(&mut room.used, units(*ask));
                if *leaving {
                    Room::take(&mut room.leaving, units(*ask));
                }
            }
            room
        });
        rooms.collect()
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_gang_goes_where_the_twin_puts_it(
        case in any_case(),
        score in prop::sample::select(&[Score::Binpack, Score::LeastRequested][..]),
    ) {
        let mut scheduler = scheduler(&config(&score.text()));
        scheduler.feed(case.objects());
        let decisions = scheduler.run_cycle(TimeMs(0)).decisions;
        let have: Vec<(DecisionOp, String)> =
            decisions.iter().map(|decision| (decision.op, decision.node.to_string())).collect();
        let ask = [case.ask[0] * UNITS[0], case.ask[1] * UNITS[1]];
        let want = decide(case.rooms(), ask, case.members, case.members - case.surplus, score);
        prop_assert_eq!(have, want);
        let names: Vec<String> = decisions.iter().map(|d| d.pod.name.to_string()).collect();
        let in_order = (0..names.len()).map(|member| format!("g-a-{member}"));
        prop_assert_eq!(names, in_order.collect::<Vec<_>>());
    }
}
