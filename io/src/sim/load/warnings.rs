//! What the reader should know about the input: one sentence for all objects alike.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects::Object;
use crate::objects::translate::unsupported;
use crate::sim::scenario::Scenario;

/// Kinds whose pods a controller makes. No controller runs here.
const POD_MAKERS: [&str; 5] = ["Deployment", "Job", "CronJob", "DaemonSet", "JobSet"];

/// Sentences collected, each with the first object it is about and how many more there are.
#[derive(Default)]
pub(super) struct Warnings {
    unknown: BTreeMap<String, usize>,
    unsupported: BTreeMap<(&'static str, String), (String, usize)>,
}

impl Warnings {
    /// An object was skipped for its kind.
    pub(super) fn unknown_kind(&mut self, kind: &str) {
        *self.unknown.entry(kind.to_owned()).or_default() += 1;
    }

    /// Notes what the object asks for in vain.
    pub(super) fn object(&mut self, object: &Object) {
        for phrase in unsupported(object) {
            let kind = object.kind();
            let entry = self.unsupported.entry((kind.name(), phrase));
            entry.or_insert_with(|| (kind.title(&object.key()), 0)).1 += 1;
        }
    }

    /// The sentences, sorted.
    pub(super) fn sentences(self) -> Vec<String> {
        let unknown = self.unknown.into_iter().map(|(kind, count)| {
            let objects =
                if count == 1 { "1 object was" } else { &format!("{count} objects were") };
            let name = kind.split(' ').next().unwrap_or_default();
            let advice = if POD_MAKERS.contains(&name) {
                "; no controller makes its pods here, so give the pods themselves, or a Gang"
            } else {
                ""
            };
            format!("kind {kind} is not understood; {objects} skipped{advice}")
        });
        let unsupported =
            self.unsupported.into_iter().map(|((kind, phrase), (first, count))| match count {
                1 => format!("{kind} {first} {phrase}"),
                _ => format!("{kind} {first} {phrase} (and {} more)", count - 1),
            });
        unknown.chain(unsupported).collect()
    }
}

/// Pods and measurements of nodes that never exist: nobody stops a cluster from having them, and they are
/// kept, but their author probably meant something else.
pub(super) fn missing_nodes(scenario: &Scenario) -> Vec<String> {
    let applied = scenario.timeline.iter().flat_map(|entry| &entry.apply);
    let objects = || scenario.objects.iter().chain(applied.clone());
    let nodes: BTreeSet<&str> = objects()
        .filter_map(|object| match object {
            Object::Node(node) => Some(node.metadata.name.as_str()),
            _ => None,
        })
        .collect();
    let (mut pods, mut measured) = (Vec::new(), Vec::new());
    for object in objects() {
        match object {
            Object::Pod(pod) => {
                let node = pod.spec.node_name.as_deref().filter(|node| !nodes.contains(node));
                pods.extend(node.map(|node| (object.kind().title(&object.key()), node)));
            }
            Object::NodeMetrics(metrics) => {
                let node = metrics.metadata.name.as_str();
                measured.extend((!nodes.contains(node)).then_some(node));
            }
            _ => {}
        }
    }
    let pods = pods.first().map(|(pod, node)| {
        let more = more(pods.len());
        format!("Pod {pod} is on node {node:?}, which never exists; it is kept as it is{more}")
    });
    let measured = measured.first().map(|node| {
        let more = more(measured.len());
        format!("NodeMetrics {node} measures a node that never exists; it has no effect{more}")
    });
    pods.into_iter().chain(measured).collect()
}

fn more(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!(" (and {} more like it)", count - 1),
    }
}
