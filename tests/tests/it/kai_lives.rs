//! Whole lives of random jobs in KAI's dialect, under KAI's own configuration.
//!
//! Small clusters of nodes with GPUs in racks and halls, a tree of queues with quotas, weights and limits,
//! jobs that run or come later, elastic ones and trees of sub-groups, topology constraints, minimum run
//! times, grace periods and delays; victims leave slowly and come back, as moves presume, and the scheduler
//! may be restarted. Every invariant of a Scenario holds in every life, and every life comes to rest.
//!
//! `PROPTEST_CASES=10000 cargo test --workspace --test it kai_lives` tries more. One life in about a thousand
//! evicts a pod twice then: a job that grows by evictions, pod by pod, takes from others what they took of
//! the room it had made.

use muster_tests::policy::cases;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::lives::live;

const CYCLES: u32 = 60;
/// From which cycle on nothing may be decided any more.
const QUIET: u32 = 45;

/// Node labels of the levels, the widest first.
const LEVELS: [&str; 3] = ["hall", "rack", "kubernetes.io/hostname"];
/// Priority classes; from 100 on a job is not preemptible unless it says so.
const CLASSES: [(&str, i32); 4] = [("train", 50), ("tune", 75), ("build", 100), ("serve", 125)];
const ACTIONS: [&str; 4] = [
    "allocate, consolidation, reclaim, preempt, stalegangeviction",
    "allocate, reclaim, stalegangeviction",
    "allocate, preempt, stalegangeviction",
    "allocate, consolidation",
];

#[derive(Clone, Debug)]
struct Queue {
    quota: i64,
    weight: u32,
    limit: i64,
    priority: Option<i32>,
    /// Seconds for which it keeps its minimum from other queues, and from its own.
    reclaim: Option<u32>,
    preempt: Option<u32>,
}

#[derive(Clone, Debug)]
struct SubGroup {
    pods: u32,
    less: u32,
    level: Option<&'static str>,
    /// Below the set that unites sub-groups, where there is one.
    inside: bool,
}

#[derive(Clone, Debug)]
struct Job {
    class: &'static str,
    queue: usize,
    gpus: u32,
    cpu: u32,
    /// Pods and how many it can do without, where it has no sub-groups.
    pods: u32,
    less: u32,
    subgroups: Vec<SubGroup>,
    /// How many sub-groups the set that unites some needs, and the job itself.
    needs: (Option<u32>, Option<u32>),
    levels: (Option<usize>, Option<usize>),
    preemptible: Option<bool>,
    grace: Option<&'static str>,
    delay: Option<u32>,
    /// Where it is placed from the start: the first node that is tried for its first pod.
    runs: Option<usize>,
    /// When it comes, in seconds.
    comes: u32,
}

#[derive(Clone, Debug)]
struct Life {
    /// GPUs and cpu of each node, by rack; two racks are a hall.
    racks: Vec<Vec<(u32, u32)>>,
    /// Each tree of queues: its root and its leaves.
    queues: Vec<(Queue, Vec<Queue>)>,
    jobs: Vec<Job>,
    actions: &'static str,
    placement: &'static str,
    terminate: &'static str,
    restart: Option<u32>,
}

fn any_queue() -> impl Strategy<Value = Queue> {
    let share =
        (select(vec![-1, 0, 1, 2, 4]), 0..3_u32, prop_oneof![3 => Just(-1_i64), 1 => 2..7_i64]);
    let times = (weighted(0.2, 1..20_u32), weighted(0.2, 1..20_u32));
    (share, weighted(0.2, select(vec![50, 150])), times).prop_map(
        |((quota, weight, limit), priority, (reclaim, preempt))| Queue {
            quota,
            weight,
            limit,
            priority,
            reclaim,
            preempt,
        },
    )
}

fn any_subgroup() -> impl Strategy<Value = SubGroup> {
    (1..4_u32, 0..3_u32, weighted(0.3, select(&LEVELS[1..])), any::<bool>())
        .prop_map(|(pods, less, level, inside)| SubGroup { pods, less, level, inside })
}

fn any_job() -> impl Strategy<Value = Job> {
    let asks = (select(vec![0_u32, 1, 1, 2, 4]), 1..3_u32);
    let who = (select(&CLASSES[..]), 0..6_usize, asks);
    let subgroups = prop_oneof![2 => Just(Vec::new()), 1 => vec(any_subgroup(), 1..4)];
    let needs = (weighted(0.3, 1..3_u32), weighted(0.3, 1..3_u32));
    let pods = (1..6_u32, 0..4_u32, subgroups, needs);
    let levels = (weighted(0.3, 0..3_usize), weighted(0.2, 1..3_usize));
    let grace = weighted(0.1, select(&["0s", "3s", "-1s"][..]));
    let traits = (weighted(0.15, any::<bool>()), grace, weighted(0.1, 1..6_u32));
    let life = (weighted(0.5, 0..9_usize), prop_oneof![3 => Just(0_u32), 1 => 2..12_u32]);
    (who, pods, levels, traits, life).prop_map(|(who, pods, levels, traits, (runs, comes))| {
        let ((class, _), queue, (gpus, cpu)) = who;
        let (pods, less, subgroups, needs) = pods;
        let (preemptible, grace, delay) = traits;
        let comes = if runs.is_some() { 0 } else { comes };
        Job {
            class,
            queue,
            gpus,
            cpu,
            pods,
            less,
            subgroups,
            needs,
            levels,
            preemptible,
            grace,
            delay,
            runs,
            comes,
        }
    })
}

fn any_life() -> impl Strategy<Value = Life> {
    let node = (select(vec![0_u32, 2, 4, 4, 8]), select(vec![4_u32, 8]));
    let cluster = (vec(vec(node, 1..4), 1..4), vec((any_queue(), vec(any_queue(), 1..4)), 1..3));
    let rules = (select(&ACTIONS[..]), select(vec!["binpack", "spread"]));
    let kubelet = (select(vec!["0s", "0s", "2s", "5s"]), weighted(0.3, 12..20_u32));
    (cluster, vec(any_job(), 2..8), rules, kubelet).prop_map(|(cluster, jobs, rules, kubelet)| {
        let (racks, queues) = cluster;
        let (actions, placement) = rules;
        let (terminate, restart) = kubelet;
        Life { racks, queues, jobs, actions, placement, terminate, restart }
    })
}

impl Queue {
    fn print(&self, name: &str, parent: Option<&str>) -> Value {
        let endless = json!({"quota": -1, "overQuotaWeight": 1, "limit": -1});
        let gpu = json!({"quota": self.quota, "overQuotaWeight": self.weight, "limit": self.limit});
        let mut spec = Map::new();
        spec.insert("resources".into(), json!({"gpu": gpu, "cpu": endless, "memory": endless}));
        spec.extend(parent.map(|parent| ("parentQueue".into(), json!(parent))));
        spec.extend(self.priority.map(|priority| ("priority".into(), json!(priority))));
        let seconds = |time: u32| json!(format!("{time}s"));
        spec.extend(self.reclaim.map(|time| ("reclaimMinRuntime".into(), seconds(time))));
        spec.extend(self.preempt.map(|time| ("preemptMinRuntime".into(), seconds(time))));
        json!({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec})
    }
}

impl Job {
    /// The sub-group of each pod.
    fn pods(&self) -> Vec<Option<usize>> {
        if self.subgroups.is_empty() {
            return (0..self.pods).map(|_| None).collect();
        }
        let subgroups = self.subgroups.iter().enumerate();
        subgroups.flat_map(|(at, one)| (0..one.pods).map(move |_| Some(at))).collect()
    }

    /// Nodes of its pods, if it runs and all of them find room; that room is taken.
    fn homes(&self, free: &mut [(u32, u32)]) -> Option<Vec<usize>> {
        let first = self.runs?;
        let (mut left, mut homes) = (free.to_vec(), Vec::new());
        for _ in self.pods() {
            let mut nodes = (0..left.len()).map(|step| (first + step) % left.len());
            let node = nodes.find(|&node| left[node].0 >= self.gpus && left[node].1 >= self.cpu)?;
            left[node] = (left[node].0 - self.gpus, left[node].1 - self.cpu);
            homes.push(node);
        }
        free.copy_from_slice(&left);
        Some(homes)
    }

    /// What its PodGroup says of its pods. What runs was placed by nobody's wish: it keeps none.
    fn shape(&self, runs: bool) -> Map<String, Value> {
        let mut shape = Map::new();
        let constraint = |level: &str| json!({"topology": "tree", "requiredTopologyLevel": level});
        let inside = self.subgroups.iter().filter(|one| one.inside).count() as u32;
        if self.subgroups.is_empty() {
            let least = self.pods.saturating_sub(self.less).max(1);
            shape.insert("minMember".into(), json!(least));
        } else {
            let mut subgroups = Vec::new();
            if inside > 0 {
                let mut set = json!({"name": "set"});
                if let Some(needs) = self.needs.0 {
                    set["minSubGroup"] = json!(needs.min(inside));
                }
                subgroups.push(set);
            }
            for (at, one) in self.subgroups.iter().enumerate() {
                let least = one.pods.saturating_sub(one.less);
                let mut group = json!({"name": format!("s{at}"), "minMember": least});
                if one.inside {
                    group["parent"] = json!("set");
                }
                if let Some(level) = one.level.filter(|_| !runs) {
                    group["topologyConstraint"] = constraint(level);
                }
                subgroups.push(group);
            }
            if let Some(needs) = self.needs.1 {
                let top = self.subgroups.len() as u32 - inside + u32::from(inside > 0);
                shape.insert("minSubGroup".into(), json!(needs.min(top)));
            }
            shape.insert("subGroups".into(), json!(subgroups));
        }
        let (required, preferred) = self.levels;
        let preferred = preferred.filter(|&level| required.is_none_or(|above| level > above));
        if !runs && (required.is_some() || preferred.is_some()) {
            let mut wish = json!({"topology": "tree"});
            if let Some(level) = required {
                wish["requiredTopologyLevel"] = json!(LEVELS[level]);
            }
            if let Some(level) = preferred {
                wish["preferredTopologyLevel"] = json!(LEVELS[level]);
            }
            shape.insert("topologyConstraint".into(), wish);
        }
        shape
    }

    fn print(&self, at: usize, queue: &str, homes: Option<&[usize]>) -> Vec<Value> {
        let name = format!("j{at}");
        let mut spec = self.shape(homes.is_some());
        spec.insert("queue".into(), json!(queue));
        spec.insert("priorityClassName".into(), json!(self.class));
        let word = |yes| if yes { "preemptible" } else { "non-preemptible" };
        spec.extend(self.preemptible.map(|yes| ("preemptibility".into(), json!(word(yes)))));
        spec.extend(self.grace.map(|time| ("stalenessGracePeriod".into(), json!(time))));
        let delay = |time| json!(format!("{time}s"));
        spec.extend(self.delay.map(|time| ("preemptionDelay".into(), delay(time))));
        let mut metadata = json!({"name": name, "namespace": "default"});
        if homes.is_some() {
            let started = json!({"kai.scheduler/last-start-timestamp": "2025-12-31T23:59:50Z"});
            metadata["annotations"] = started;
        }
        let mut objects = vec![json!({
            "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
            "metadata": metadata, "spec": spec,
        })];
        for (member, subgroup) in self.pods().into_iter().enumerate() {
            let mut requests = json!({"cpu": self.cpu.to_string()});
            if self.gpus > 0 {
                requests["nvidia.com/gpu"] = json!(self.gpus.to_string());
            }
            let mut pod = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": format!("{name}-{member}"), "namespace": "default",
                    "labels": {"kai.scheduler/queue": queue},
                    "annotations": {"pod-group-name": name},
                },
                "spec": {
                    "schedulerName": "kai-scheduler", "priorityClassName": self.class,
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
                },
            });
            if let Some(subgroup) = subgroup {
                let label = json!(format!("s{subgroup}"));
                pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] = label;
            }
            if let Some(homes) = homes {
                pod["spec"]["nodeName"] = json!(format!("n{}", homes[member]));
                pod["status"] = json!({"phase": "Running"});
            }
            objects.push(pod);
        }
        objects
    }
}

impl Life {
    /// The Scenario.
    fn print(&self) -> String {
        let mut objects = self.cluster();
        let mut leaves = Vec::new();
        for (at, (root, below)) in self.queues.iter().enumerate() {
            let above = format!("d{at}");
            objects.push(root.print(&above, None));
            for (leaf, queue) in below.iter().enumerate() {
                let name = format!("{above}q{leaf}");
                objects.push(queue.print(&name, Some(&above)));
                leaves.push(name);
            }
        }
        let mut free: Vec<(u32, u32)> = self.racks.iter().flatten().copied().collect();
        let mut timeline = Vec::new();
        for (at, job) in self.jobs.iter().enumerate() {
            let homes = job.homes(&mut free);
            let printed = job.print(at, &leaves[job.queue % leaves.len()], homes.as_deref());
            if job.comes == 0 {
                objects.extend(printed);
            } else {
                timeline.push((job.comes, json!({"apply": printed})));
            }
        }
        timeline.extend(self.restart.map(|at| (at, json!({"restart": true}))));
        timeline.sort_by_key(|entry| entry.0);
        let timeline: Vec<Value> = timeline
            .into_iter()
            .map(|(at, mut entry)| {
                entry["at"] = json!(format!("{at}s"));
                entry
            })
            .collect();
        let config = format!(
            "actions: \"{}\"\ntiers:\n- plugins: [{{name: predicates}}, {{name: proportion}}, {{name: \
             priority}}, {{name: elastic}}, {{name: nodeavailability}}, {{name: resourcetype}}, {{name: \
             subgrouporder}}, {{name: taskorder}}, {{name: nominatednode}}, {{name: nodeplacement, \
             arguments: {{cpu: binpack, gpu: {}}}}}, {{name: minruntime}}, {{name: topology}}]\n",
            self.actions, self.placement
        );
        json!({
            "apiVersion": "muster.sh/v1alpha1", "kind": "Scenario", "metadata": {"name": "life"},
            "spec": {
                "config": config, "kubelet": {"terminate": self.terminate},
                "recreate": true, "cycles": CYCLES,
                "objects": objects, "timeline": timeline,
            },
        })
        .to_string()
    }

    /// Nodes, their topology and priorities.
    fn cluster(&self) -> Vec<Value> {
        let levels: Vec<Value> = LEVELS.iter().map(|label| json!({"nodeLabel": label})).collect();
        let mut objects = vec![json!({
            "apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology",
            "metadata": {"name": "tree"}, "spec": {"levels": levels},
        })];
        let mut nodes = 0;
        for (rack, machines) in self.racks.iter().enumerate() {
            for (gpus, cpu) in machines {
                let name = format!("n{nodes}");
                objects.push(json!({
                    "apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": name, "labels": {
                        "hall": format!("h{}", rack / 2), "rack": format!("r{rack}"),
                        "kubernetes.io/hostname": name,
                    }},
                    "status": {"allocatable": {
                        "cpu": cpu.to_string(), "pods": "20", "nvidia.com/gpu": gpus.to_string(),
                    }},
                }));
                nodes += 1;
            }
        }
        for (name, value) in CLASSES {
            objects.push(json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value,
            }));
        }
        objects
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn every_invariant_holds_in_every_life_of_kai(life in any_life()) {
        let text = life.print();
        let result = live(&text);
        let violations = result.violations.clone().unwrap_or_default();
        prop_assert!(violations.is_empty(), "{violations:#?}\n{text}");
        let mut decided = result.cycles.iter().rev().filter(|cycle| !cycle.decisions.is_empty());
        let last = decided.next().map_or(0, |cycle| cycle.cycle);
        prop_assert!(last <= QUIET, "still deciding in cycle {last}\n{text}");
    }
}
