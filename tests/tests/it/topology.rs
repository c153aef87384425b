//! Domains and the gangs inside them, against a twin that knows only sets of nodes.
//!
//! On small random clusters: what is decided for a gang with a hard wish, with what runs of it, lies in
//! one domain of an allowed tier; a gang of equal pods that is left alone fits no such domain; and
//! the number of threads changes nothing.

use muster_core::delta::{
    ClusterDelta, DomainMember, ObjectRef, Operator, PodGroupFacts, Requirement, SubGroupPolicy,
    TierRef, TopologyMode, TopologyWish,
};
use muster_core::ids::TimeMs;
use muster_core::intent::Decision;
use muster_core::scheduler::Scheduler;
use muster_core::testing::{Built, domain, group, node, pod};
use muster_tests::policy::{cases, config, pool, scheduler};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

/// How a rack names its nodes.
#[derive(Clone, Copy, Debug)]
enum Naming {
    Exact,
    Pattern,
    Label,
}

#[derive(Clone, Debug)]
struct Machine {
    cpu: i64,
    /// Rack, of four, or none.
    rack: Option<usize>,
    /// What others take, and what of it is leaving.
    taken: i64,
    leaving: i64,
}

#[derive(Clone, Debug)]
struct Gang {
    ask: i64,
    /// Ask of every second pod, where the gang is of two kinds.
    other: Option<i64>,
    members: usize,
    surplus: usize,
    wish: Option<TopologyWish>,
    /// Wish of sub-groups of two.
    parts: Option<TopologyWish>,
    /// Nodes its first members run on.
    running: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Case {
    machines: Vec<Machine>,
    /// Hall, of two, of each rack.
    halls: [Option<usize>; 4],
    naming: Naming,
    gangs: Vec<Gang>,
    score: &'static str,
}

fn any_wish() -> impl Strategy<Value = TopologyWish> {
    let tier = prop_oneof![
        6 => (0..5_u32).prop_map(|tier| Some(TierRef::Number(tier))),
        1 => Just(Some(TierRef::Named("rack".into()))),
        1 => Just(Some(TierRef::Named("nobody".into()))),
        1 => Just(None),
    ];
    (prop_oneof![3 => Just(TopologyMode::Hard), 1 => Just(TopologyMode::Soft)], tier)
        .prop_map(|(mode, tier)| TopologyWish { mode, tier })
}

fn any_gang() -> impl Strategy<Value = Gang> {
    let sizes = (1..4_i64, weighted(0.2, 1..4_i64), 1..6_usize, 0..3_usize);
    let wishes = (weighted(0.8, any_wish()), weighted(0.15, any_wish()));
    let running = prop_oneof![3 => Just(Vec::new()), 1 => vec(0..7_usize, 1..3)];
    (sizes, wishes, running).prop_map(|((ask, other, members, surplus), (wish, parts), running)| {
        let surplus = surplus.min(members - 1);
        Gang { ask, other, members, surplus, wish, parts, running }
    })
}

fn any_case() -> impl Strategy<Value = Case> {
    let machine = (1..7_i64, weighted(0.9, 0..4_usize), 0..4_i64, 0..3_i64).prop_map(
        |(cpu, rack, taken, leaving)| {
            // A node may be over: it shrank under its pods.
            let taken = if taken == 3 { cpu + 2 } else { taken };
            Machine { cpu, rack, taken, leaving: leaving.min(taken) }
        },
    );
    let halls = [(); 4].map(|()| weighted(0.8, 0..2_usize));
    let naming = select(&[Naming::Exact, Naming::Pattern, Naming::Label][..]);
    let score = select(&["nodeorder", "binpack"][..]);
    (vec(machine, 1..8), halls, naming, vec(any_gang(), 1..4), score).prop_map(
        |(machines, halls, naming, gangs, score)| Case { machines, halls, naming, gangs, score },
    )
}

fn node_name(at: usize) -> String {
    format!("n{at}")
}

impl Gang {
    fn ask_of(&self, member: usize) -> i64 {
        self.other.filter(|_| member % 2 == 1).unwrap_or(self.ask)
    }

    /// Members that run, with their nodes.
    fn homes<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = usize> + 'a {
        self.running.iter().map(|at| at % case.machines.len()).take(self.members)
    }

    fn facts(&self, at: usize) -> Built<PodGroupFacts> {
        group(&format!("g{at}"), (self.members - self.surplus) as u32).with(|facts| {
            facts.topology.clone_from(&self.wish);
            facts.created = TimeMs(at as i64);
            facts.subgroups.extend(self.parts.clone().map(|wish| SubGroupPolicy {
                name: "part".into(),
                size: 2,
                min_subgroups: 0,
                match_label_keys: vec!["part".into()],
                selector: None,
                topology: Some(wish),
            }));
        })
    }
}

/// Label of the sub-group of a member.
fn part_of(member: usize) -> String {
    format!("{}", member / 2)
}

impl Case {
    fn objects(&self) -> Vec<ClusterDelta> {
        let mut objects: Vec<ClusterDelta> = Vec::new();
        for (at, machine) in self.machines.iter().enumerate() {
            let name = node_name(at);
            let rack = machine.rack.map_or("none".to_owned(), |rack| format!("r{rack}"));
            objects.push(node(&name).offer("cpu", machine.cpu).label("rack", &rack).into());
            let [stay, go] =
                ["stay", "go"].map(|kind| pod(&format!("{kind}-{at}")).running_on(&name));
            objects.push(stay.ask("cpu", machine.taken - machine.leaving).into());
            objects.push(go.ask("cpu", machine.leaving).leaving().into());
        }
        for rack in 0..4 {
            let empty = domain(&format!("r{rack}"), 1).with(|facts| {
                facts.tier_name = Some("rack".into());
            });
            let rack_domain = self.rack_members(rack).into_iter().fold(empty, Built::member);
            // Members that are not there change nothing.
            objects.push(rack_domain.node("lost").into());
        }
        for hall in 0..2 {
            let racks = (0..4).filter(|&rack| self.halls[rack] == Some(hall));
            let members = racks.map(|rack| DomainMember::Domain(format!("r{rack}").into()));
            let hall = members.fold(domain(&format!("h{hall}"), 3), Built::member);
            objects.push(hall.member(DomainMember::Domain("void".into())).into());
        }
        for (at, gang) in self.gangs.iter().enumerate() {
            objects.push(gang.facts(at).into());
            let homes: Vec<usize> = gang.homes(self).collect();
            for member in 0..gang.members {
                let name = format!("g{at}-w-{member}");
                let pod = pod(&name).group(&format!("g{at}")).ask("cpu", gang.ask_of(member));
                let pod = pod.with(|pod| {
                    pod.labels = vec![("part".into(), part_of(member).as_str().into())];
                });
                let placed =
                    homes.get(member).map(|&home| pod.clone().running_on(&node_name(home)));
                objects.push(placed.unwrap_or(pod).into());
            }
        }
        objects
    }

    fn rack_members(&self, rack: usize) -> Vec<DomainMember> {
        let inside = self.nodes_of_rack(rack);
        let names: Vec<String> = inside.iter().map(|&at| node_name(at)).collect();
        match self.naming {
            Naming::Exact => {
                names.iter().map(|name| DomainMember::Node(name.as_str().into())).collect()
            }
            Naming::Pattern if names.is_empty() => Vec::new(),
            Naming::Pattern => {
                let pattern = format!("^({})$", names.join("|"));
                vec![DomainMember::NodePattern(pattern.as_str().into())]
            }
            Naming::Label => vec![DomainMember::NodeLabels(vec![Requirement {
                key: "rack".into(),
                operator: Operator::In,
                values: vec![format!("r{rack}").as_str().into()],
            }])],
        }
    }

    fn nodes_of_rack(&self, rack: usize) -> Vec<usize> {
        (0..self.machines.len()).filter(|&at| self.machines[at].rack == Some(rack)).collect()
    }

    /// Sets of nodes with their tiers: racks of tier 1, halls of tier 3, the cluster one above.
    fn domains(&self) -> Vec<(u32, Vec<usize>)> {
        let racks = (0..4).map(|rack| (1, self.nodes_of_rack(rack)));
        let halls = (0..2).map(|hall| {
            let racks = (0..4).filter(|&rack| self.halls[rack] == Some(hall));
            (3, racks.flat_map(|rack| self.nodes_of_rack(rack)).collect())
        });
        let all = (4, (0..self.machines.len()).collect());
        racks.chain(halls).chain([all]).collect()
    }

    /// Domains a wish allows; none if it is no constraint.
    fn allowed(&self, wish: Option<&TopologyWish>) -> Option<Vec<Vec<usize>>> {
        let wish = wish.filter(|wish| wish.mode == TopologyMode::Hard)?;
        let highest = match wish.tier.as_ref()? {
            TierRef::Number(tier) => i64::from(*tier),
            TierRef::Named(name) => {
                if &**name == "rack" {
                    1
                } else {
                    -1
                }
            }
        };
        let interpod = self.domains().into_iter().filter(|(tier, _)| i64::from(*tier) <= highest);
        Some(interpod.map(|(_, nodes)| nodes).collect())
    }

    fn run(&self, threads: usize) -> Vec<Decision> {
        let text = format!(
            "actions: \"enqueue, allocate\"\ntiers:\n- plugins: [{{name: gang}}, {{name: predicates}}, \
             {{name: {}}}, {{name: network-topology-aware}}]\n",
            self.score
        );
        let mut config = config(&text);
        config.tuning.parallel_threshold = 1;
        config.tuning.rows_per_block = 1;
        let mut scheduler = match threads {
            1 => scheduler(&config),
            threads => Scheduler::new(&config, pool(threads)),
        };
        scheduler.feed(self.objects());
        (0..3).flat_map(|second| scheduler.run_cycle(TimeMs(second)).decisions).collect()
    }

    /// Nodes of each member of a gang after these decisions.
    fn places(&self, at: usize, decisions: &[Decision]) -> Vec<Option<usize>> {
        let gang = &self.gangs[at];
        let mut places: Vec<Option<usize>> = vec![None; gang.members];
        for (member, home) in gang.homes(self).enumerate() {
            places[member] = Some(home);
        }
        for decision in decisions {
            let name = &*decision.pod.name;
            let Some(member) = name.strip_prefix(&format!("g{at}-w-")) else { continue };
            let node: usize = decision.node[1..].parse().expect("nodes are numbered");
            places[member.parse::<usize>().expect("members are numbered")] = Some(node);
        }
        places
    }

    /// Room of each node once what is leaving has left.
    fn room(&self, decisions: &[Decision]) -> Vec<i64> {
        let mut room: Vec<i64> =
            self.machines.iter().map(|one| one.cpu - one.taken + one.leaving).collect();
        for (at, gang) in self.gangs.iter().enumerate() {
            for (member, place) in self.places(at, decisions).into_iter().enumerate() {
                if let Some(node) = place {
                    room[node] -= gang.ask_of(member);
                }
            }
        }
        room
    }
}

fn share(domains: &[Vec<usize>], nodes: &[usize]) -> bool {
    domains.iter().any(|domain| nodes.iter().all(|node| domain.contains(node)))
}

/// What new places of some members must not break: they lie, with those members that run, in a domain
/// that is allowed.
fn check(
    case: &Case,
    wish: Option<&TopologyWish>,
    all: &[usize],
    fresh: bool,
) -> Result<(), String> {
    let Some(allowed) = case.allowed(wish) else { return Ok(()) };
    if !fresh || share(&allowed, all) {
        return Ok(());
    }
    Err(format!("nodes {all:?} share none of {allowed:?}"))
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn gangs_share_a_domain_or_find_none(case in any_case()) {
        let decisions = case.run(1);
        prop_assert_eq!(&decisions, &case.run(4), "threads change nothing");
        for (at, gang) in case.gangs.iter().enumerate() {
            let places = case.places(at, &decisions);
            let homes: Vec<usize> = gang.homes(&case).collect();
            let nodes: Vec<usize> = places.iter().flatten().copied().collect();
            let fresh = nodes.len() > homes.len();
            if let Err(fault) = check(&case, gang.wish.as_ref(), &nodes, fresh) {
                prop_assert!(false, "gang {at}: {fault}: {decisions:#?}");
            }
            for part in 0..gang.members.div_ceil(2) {
                let members = part * 2..gang.members.min(part * 2 + 2);
                let nodes: Vec<usize> = places[members.clone()].iter().flatten().copied().collect();
                let had = members.filter(|&member| member < homes.len()).count();
                if let Err(fault) = check(&case, gang.parts.as_ref(), &nodes, nodes.len() > had) {
                    prop_assert!(false, "part {part} of gang {at}: {fault}: {decisions:#?}");
                }
            }
        }
    }

    #[test]
    fn a_gang_of_equal_pods_that_fits_a_domain_is_placed(case in any_case()) {
        let decisions = case.run(1);
        let room = case.room(&decisions);
        for (at, gang) in case.gangs.iter().enumerate() {
            let homes: Vec<usize> = gang.homes(&case).collect();
            let places = case.places(at, &decisions);
            let placed = places.iter().flatten().count();
            let uniform = gang.other.is_none() && gang.parts.is_none();
            let min = gang.members - gang.surplus;
            if !uniform || placed >= min {
                continue;
            }
            prop_assert_eq!(placed, homes.len(), "gang {} is placed in part: {:#?}", at, decisions);
            let everywhere = || vec![(0..case.machines.len()).collect()];
            let allowed = case.allowed(gang.wish.as_ref()).unwrap_or_else(everywhere);
            for domain in allowed {
                let slots: i64 = domain.iter().map(|&node| room[node].max(0) / gang.ask).sum();
                let reachable = homes.iter().all(|home| domain.contains(home));
                let fits = reachable && slots >= (min - placed) as i64;
                prop_assert!(!fits, "gang {at} fits {domain:?} with room {room:?}: {decisions:#?}");
            }
        }
    }
}

#[test]
fn faults_of_domains_are_told_and_go_when_mended() {
    let of = |name: &str| DomainMember::Domain(name.into());
    let text = "actions: \"enqueue, allocate\"\ntiers:\n- plugins: [{name: gang}]\n";
    let mut scheduler = scheduler(&config(text));
    let told = |scheduler: &mut Scheduler, deltas: Vec<ClusterDelta>| -> Vec<String> {
        scheduler.feed(deltas);
        scheduler.run_cycle(TimeMs(0));
        scheduler.set_aside().iter().map(|(object, why)| format!("{object}: {why}")).collect()
    };
    let named = |tier| {
        domain(&format!("t{tier}"), tier).node("n0").with(|facts| {
            facts.tier_name = Some("t".into());
        })
    };
    let first = vec![
        node("n0").into(),
        domain("gap", 1).node("n0").node("n7").node("n8").member(of("void")).into(),
        domain("self", 1).node("n0").member(of("self")).into(),
        domain("up", 1).node("n0").member(of("hall0")).into(),
        domain("torn", 1).node("n0").into(),
        domain("hall0", 2).member(of("torn")).member(of("up")).into(),
        domain("hall1", 2).member(of("torn")).member(of("torn")).into(),
        domain("blind", 1).member(DomainMember::NodePattern("^x".into())).into(),
        domain("broken", 1).member(DomainMember::NodePattern("(".into())).into(),
        named(3).into(),
        named(4).into(),
    ];
    let want = [
        "HyperNode blind: pattern \"^x\" finds no node; the rest counts",
        "HyperNode broken: member pattern \"(\" is no regular expression: found open group without \
         closing ')'",
        "HyperNode gap: nodes \"n7\", \"n8\" do not exist; the rest counts; HyperNode \"void\" does not \
         exist; the rest counts",
        "HyperNode self: it is a member of itself; that does not count",
        "HyperNode t4: tier name \"t\" also stands for tier 3; wishes by that name mean 3",
        "HyperNode torn: it is a member of \"hall0\" and \"hall1\"; it counts in none",
        "HyperNode up: member \"hall0\" has tier 2, which is not below its own tier 1; it does not count",
    ];
    assert_eq!(told(&mut scheduler, first), want);
    let mended = vec![
        node("n7").into(),
        node("n8").into(),
        node("x1").into(),
        domain("void", 0).node("n0").into(),
        domain("self", 1).node("n0").into(),
        domain("up", 1).node("n0").into(),
        domain("hall1", 2).node("n0").into(),
        ClusterDelta::Gone(ObjectRef::Domain("broken".into())),
        ClusterDelta::Gone(ObjectRef::Domain("t4".into())),
    ];
    assert!(told(&mut scheduler, mended).is_empty());
}
