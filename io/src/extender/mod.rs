//! `extender`: a server of the user's own has a say, over HTTP, as in Volcano.
//!
//! Promise: the server is asked whatever it has a verb for, with Volcano's requests, and its answers count
//! like those of any plugin. It is asked once a cycle about what cannot have changed: pods of one job and
//! role that ask for the same are one question, and so is a node that looks as it did. A server that
//! fails is left out, or refuses everything it would have been asked (`extender.ignorable`), and one that
//! is not there costs one time-out a cycle.
//!
//! This is the one plugin that makes a cycle wait for somebody outside, and the reason it is no plugin of
//! the core. What it must not do all the same: answer the same question differently within a cycle
//! (`round` remembers), or let a cycle wait without end (`server` counts the time).
//!
//! Reading order: `settings` are the arguments, `tls` those of HTTPS, `payload` is what is sent, `answer` what comes back,
//! `server` the way there, `round` the memory of one cycle; then what is asked, by subject: `nodes`,
//! `jobs`, `victims`, `places`.

mod tls;
mod settings;
mod payload;
mod answer;
mod server;
mod round;
mod nodes;
mod jobs;
mod victims;
mod places;
#[cfg(test)]
mod tests;

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use hashbrown::HashMap;
use muster_core::config::EvictPurpose;
use muster_core::intent::Consultation;
use muster_core::policy::{
    Build, CyclePlugin, CycleScene, Plugin, PluginSpec, Point, Setup, Weight, Words,
};
use muster_core::resource::{ResourceNames, ResourceVec};
use muster_core::world::{ClassId, Cluster, Reads, TaskReadOnlyItem, TaskStatus};
use rustc_hash::FxBuildHasher;
use serde_json::{Map, Value, json};

use self::answer::Heard;
use self::payload::NodeTasks;
use self::round::{Examples, Round};
use self::server::Server;
use self::settings::{OnFailure, Settings, Verb};

/// What is known of the plugin.
pub static SPEC: PluginSpec = PluginSpec {
    arguments: settings::ARGUMENTS,
    check: settings::check,
    with_argument: settings::NEEDED_BY_FLAG,
    words: Words {
        admits: Some("your server agrees"),
        filter: Some("your server allows"),
        scores: &[("your server's scores", Weight::Fixed(1))],
        victims: Some("your server agrees"),
        gang_victims: &[EvictPurpose::Preempt, EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<Extender>(
        "extender",
        "asks a server of yours over HTTP for the decisions named by its verbs",
    )
};

/// The plugin.
pub struct Extender {
    settings: Settings,
    server: Server,
    round: RwLock<Round>,
}

muster_core::plugin!(Extender);

impl std::fmt::Debug for Extender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extender").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Build for Extender {
    fn build(setup: &mut Setup<'_>) -> Self {
        let settings = Settings::of(setup.arguments);
        let server = Server::new(&settings);
        Self { settings, server, round: RwLock::default() }
    }
}

impl Plugin for Extender {
    fn takes_part(&self, point: Point) -> bool {
        let has = |verb| self.settings.has(verb);
        match point {
            Point::Filter => has(Verb::Predicate) || self.scores_decide(),
            Point::Score => has(Verb::Prioritize),
            Point::Preemptable => has(Verb::Preemptable),
            Point::Reclaimable => has(Verb::Reclaimable),
            Point::UnifiedEvictable => has(Verb::Preemptable) || has(Verb::Reclaimable),
            Point::Overused => has(Verb::QueueOverused),
            Point::JobEnqueueable => has(Verb::JobEnqueueable),
            Point::JobEnqueued => has(Verb::JobEnqueued),
            Point::JobReady => has(Verb::JobReady),
            Point::Placement => has(Verb::Allocate) || has(Verb::Deallocate),
            _ => self.settings.has_any(),
        }
    }

    fn reads(&self) -> Reads {
        let kin = self.settings.has(Verb::Predicate) || self.settings.has(Verb::Prioritize);
        Reads { kin, ..Reads::default() }
    }
}

impl CyclePlugin for Extender {
    fn cycle_begins(&self, cluster: &Cluster<'_, '_>, scene: &CycleScene<'_>) {
        let examples = if self.reads().kin {
            self.examples(cluster, scene.names)
        } else {
            Examples::default()
        };
        let round = Round::new(scene.names.clone(), examples);
        if self.settings.has(Verb::SessionOpen) {
            let told = round.tell::<Heard>(self.way(), Verb::SessionOpen, opening(cluster, scene));
            if told.is_err() {
                // A server that does not know the cluster has nothing to say of it.
                round.give_up();
            }
        }
        *self.round.write().unwrap_or_else(PoisonError::into_inner) = round;
    }

    fn cycle_ends(&self) -> Consultation {
        let round = self.round();
        if self.settings.has(Verb::SessionClose) && !round.is_silent() {
            // A failure is counted, and nobody waits for anything else.
            let _told = round.tell::<Heard>(self.way(), Verb::SessionClose, "{}".to_owned());
        }
        round.report()
    }
}

impl Extender {
    /// The cycle's memory.
    fn round(&self) -> RwLockReadGuard<'_, Round> {
        self.round.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the server is reached, and where on it what is asked.
    fn way(&self) -> (&Server, &Settings) {
        (&self.server, &self.settings)
    }

    /// Does what the server refuses for want of an answer count?
    fn refuses(&self) -> bool {
        self.settings.on_failure == OnFailure::Refuse
    }

    /// Do nodes without scores serve nobody?
    fn scores_decide(&self) -> bool {
        self.settings.has(Verb::Prioritize) && self.refuses()
    }

    /// Is the server asked about pods that ask for this?
    fn minds(&self, names: &ResourceNames, request: &ResourceVec) -> bool {
        let managed = &self.settings.managed;
        let asks = |name: &String| names.find(name).is_some_and(|dim| request.get(dim) > 0);
        managed.is_empty() || managed.iter().any(asks)
    }

    /// The server, as the subject of a sentence.
    fn who(&self) -> String {
        format!("the extender at {}", self.settings.prefix)
    }

    /// For each class with tasks that wait one of them, as the server is told of it: the first in order.
    fn examples(&self, cluster: &Cluster<'_, '_>, names: &ResourceNames) -> Examples {
        let mut first: HashMap<ClassId, TaskReadOnlyItem<'_, '_>, FxBuildHasher> =
            HashMap::default();
        let key =
            |task: &TaskReadOnlyItem<'_, '_>| (task.identity.index, task.identity.key.clone());
        for task in cluster.every_task() {
            let waits = matches!(task.status().0, TaskStatus::Pending | TaskStatus::Pipelined);
            if !waits || task.membership.job.is_none() || !self.minds(names, &task.request.amounts)
            {
                continue;
            }
            let class = task.membership.class;
            if first.get(&class).is_none_or(|known| key(&task) < key(known)) {
                first.insert(class, task);
            }
        }
        let told = first.into_iter();
        told.map(|(class, task)| (class, payload::example(cluster, names, &task).to_string()))
            .collect()
    }
}

/// All there is, as Volcano tells it when a session opens.
fn opening(cluster: &Cluster<'_, '_>, scene: &CycleScene<'_>) -> String {
    let names = scene.names;
    let mut jobs: Vec<_> = cluster
        .every_job()
        .filter(|job| job.identity.present || job.counts().tasks() > 0)
        .collect();
    jobs.sort_by(|a, b| a.identity.key.object().cmp(b.identity.key.object()));
    let namespaces: Map<String, Value> = jobs
        .iter()
        .map(|job| job.identity.key.object().namespace.to_string())
        .map(|namespace| (namespace.clone(), json!({"Name": namespace})))
        .collect();
    let jobs: Map<String, Value> = jobs
        .iter()
        .map(|job| (job.identity.key.to_string(), payload::job(cluster, names, job)))
        .collect();
    let mut queues: Vec<_> = cluster.every_queue().filter(|queue| queue.identity.present).collect();
    queues.sort_by(|a, b| a.identity.name.cmp(&b.identity.name));
    let queues: Map<String, Value> = queues
        .iter()
        .map(|queue| (queue.identity.name.to_string(), payload::queue(cluster, names, queue)))
        .collect();
    let nodes = nodes_told(cluster, scene);
    let lent = nodes.iter().filter(|(_, node)| node["RevocableZone"] != "");
    let lent: Map<String, Value> = lent.map(|(name, node)| (name.clone(), node.clone())).collect();
    let list: Vec<&String> = nodes.keys().collect();
    json!({
        "Jobs": jobs,
        "Queues": queues,
        "NamespaceInfo": namespaces,
        "RevocableNodes": lent,
        "NodeList": list,
        "Nodes": nodes,
    })
    .to_string()
}

/// Every node that is there with the tasks on it, in the order of names.
fn nodes_told(cluster: &Cluster<'_, '_>, scene: &CycleScene<'_>) -> Map<String, Value> {
    let columns = cluster.columns();
    let mut tasks: Vec<Vec<(String, Value)>> = vec![Vec::new(); columns.len()];
    for task in cluster.every_task() {
        let (status, Some(node)) = task.status() else { continue };
        if !status.is_ended() {
            let row = cluster.node(node).place.row as usize;
            let told = payload::task(cluster, scene.names, &task);
            tasks[row].push((task.identity.key.to_string(), told));
        }
    }
    let mut rows: Vec<usize> =
        (0..columns.len()).filter(|&row| columns.identities[row].present).collect();
    rows.sort_by_key(|&row| columns.places[row].ordinal);
    let told = rows.into_iter().map(|row| {
        let mut on_it = std::mem::take(&mut tasks[row]);
        on_it.sort_by(|a, b| a.0.cmp(&b.0));
        let on_it = NodeTasks::Told(on_it.into_iter().collect());
        let node = payload::node(scene.names, scene.symbols, &columns, row, on_it);
        (columns.identities[row].name.to_string(), node)
    });
    told.collect()
}
