//! Pod to [`PodFacts`].

use muster_core::config::View;
use muster_core::config::duration::parse_ms;
use muster_core::delta::{
    AnnotatedNode, ClusterDelta, Constraints, ObjectRef, PodFacts, PodPhase, Toleration,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};

use super::about::{About, PREEMPTABLE, annotation_or_label, pairs, parse_bool, preemptable};
use super::{
    Fault, OwnerRule, Translate, TranslateError, images, interpod, kai_pod, request, selector,
    sight, strategy, volume,
};
use crate::objects::{self, Metadata, Pod, node, pod_set, priority_class};

/// Names the PodGroup a pod belongs to.
const GROUP_NAME: &str = "scheduling.k8s.io/group-name";

/// Names the queue of a pod without PodGroup.
const QUEUE_NAME: &str = "scheduling.volcano.sh/queue-name";

/// Role of a pod within its gang.
const TASK_SPEC: &str = "volcano.sh/task-spec";

/// Priority of a pod within its gang.
pub(in crate::objects) const TASK_PRIORITY: &str = "volcano.sh/task-priority";

/// Says that room is held for a pod.
const PIPELINED_STATUS: &str = "volcano.sh/pipelined-status";
/// Names the node that is held for it.
const PIPELINED_NODE: &str = "volcano.sh/pipelined-node";
/// Says that pods were evicted for it.
const EVICTION_OCCURRED: &str = "volcano.sh/eviction-occurred";

impl Translate for Pod {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Pod(key)
    }

    fn delta(&self, about: &About<'_>, owner: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let metadata = &self.metadata;
        let ownership = owner.of_pod(self);
        let mut request = request::total(about, &self.spec)?;
        let devices = kai_pod::devices(self, ownership, (&request, owner.sharing()));
        let devices = devices.map_err(|(field, problem)| about.malformed(field, problem))?;
        if kai_pod::holds_for_others(metadata) {
            // The GPU it was given is that of the pods that share it, and counts with them.
            request.retain(|(name, _)| &**name != "nvidia.com/gpu");
        }
        let node_name = self.spec.node_name.as_deref().unwrap_or_default();
        let nominated = self.status.nominated_node_name.as_deref().unwrap_or_default();
        let class = self.spec.priority_class_name.as_deref().unwrap_or_default();
        let gates = self.spec.scheduling_gates.iter().map(|gate| gate.name.as_str().into());
        let mut constraints = placed_or(node_name, constraints(about, self))?;
        sight::keep_to_workers(owner.view(), self, &request, &mut constraints);
        Ok(PodFacts {
            key: about.key(),
            uid: about.uid(),
            version: metadata.resource_version.as_deref().and_then(|text| text.parse().ok()),
            created: about.created(),
            ownership,
            group: named(about, group_named(metadata))?,
            queue: named(about, queue_named(metadata, owner.view()))?,
            role: annotation_or_label(metadata, TASK_SPEC).unwrap_or_default().into(),
            priority: annotation(metadata, TASK_PRIORITY)
                .and_then(|text| text.parse().ok())
                .or(self.spec.priority),
            priority_class: about.optional_name("spec.priorityClassName", class)?,
            preemptable: preemptable(metadata).or_else(|| kai_pod::preemptable(metadata)),
            preempts: priority_class::policy(self.spec.preemption_policy.as_deref()),
            cooldown_ms: cooldown(metadata).unwrap_or(0),
            request,
            devices: devices.asked,
            shared_devices: devices.shared,
            qos: request::qos(&self.spec),
            constraints,
            claims: volume::claims_of(about, self)?,
            inline_drivers: volume::inline_drivers(self),
            labels: pairs(&metadata.labels),
            owner: pod_set::owner(metadata),
            gates: gates.collect(),
            phase: phase(about, self.status.phase.as_deref())?,
            node: about.optional_name("spec.nodeName", node_name)?,
            placed: self.status.placed_ms.map(TimeMs),
            nominated: about.optional_name("status.nominatedNodeName", nominated)?,
            annotated: annotated(about, metadata)?,
            deleting: metadata.deletion_timestamp.is_some(),
            leave_by: metadata.deletion_ms.map(TimeMs),
        }
        .into())
    }

    fn unsupported(&self) -> Vec<String> {
        let spec = &self.spec;
        let mut found = Vec::new();
        let mut note = |present: bool, what: &str| {
            if present {
                found.push(format!("asks for {what}, which this version does not enforce"));
            }
        };
        note(!spec.resource_claims.is_empty(), "resourceClaims");
        let policy = spec.preemption_policy.as_deref().unwrap_or_default();
        if !matches!(policy, "" | "PreemptLowerPriority" | "Never") {
            found.push(format!("has a preemptionPolicy {policy:?} that is none and is not used"));
        }
        if annotation_or_label(&self.metadata, COOLDOWN).is_some()
            && cooldown(&self.metadata).is_none()
        {
            found.push(format!("has a {COOLDOWN} that is no length of time and is not used"));
        }
        if let Some(text) = self.metadata.annotations.get(TASK_PRIORITY)
            && text.parse::<i32>().is_err()
        {
            found.push(format!(
                "has an annotation {TASK_PRIORITY} that is no integer and is not used"
            ));
        }
        if let Some(text) = annotation_or_label(&self.metadata, PREEMPTABLE)
            && parse_bool(text).is_none()
        {
            found.push(format!("has a {PREEMPTABLE} that is no boolean and counts as false"));
        }
        found.extend(strategy::complaint(&self.metadata));
        found.extend(kai_pod::complaint(self));
        if let Some(text) = self.metadata.annotations.get(REVOCABLE_ZONE)
            && text != EVERY_ZONE
        {
            found.push(format!(
                "has an annotation {REVOCABLE_ZONE} that is not {EVERY_ZONE:?} and lets it use no lent node"
            ));
        }
        found
    }
}

/// The PodGroup a pod names, in either dialect.
pub(crate) fn group_of(metadata: &Metadata) -> Option<&str> {
    group_named(metadata).map(|(_, name)| name)
}

/// The queue a pod without PodGroup names, in either dialect.
pub(crate) fn queue_of<'a>(metadata: &'a Metadata, view: &'a View) -> Option<&'a str> {
    queue_named(metadata, view).map(|(_, name)| name)
}

/// What names the PodGroup, and its name: Volcano's word first.
fn group_named(metadata: &Metadata) -> Option<(Word<'static>, &str)> {
    let own = annotation(metadata, GROUP_NAME).map(|name| (Word::Annotation(GROUP_NAME), name));
    own.or_else(|| {
        kai_pod::group(metadata).map(|name| (Word::Annotation(kai_pod::GROUP_NAME), name))
    })
}

/// What names the queue, and its name: Volcano's word first.
fn queue_named<'a>(metadata: &'a Metadata, view: &'a View) -> Option<(Word<'a>, &'a str)> {
    let own = annotation(metadata, QUEUE_NAME).map(|name| (Word::Annotation(QUEUE_NAME), name));
    let label = view.queue_label.as_deref().unwrap_or(kai_pod::QUEUE);
    own.or_else(|| kai_pod::queue(metadata, label).map(|name| (Word::Label(label), name)))
}

/// What of a pod names something.
#[derive(Clone, Copy)]
enum Word<'a> {
    Annotation(&'a str),
    Label(&'a str),
}

fn annotation<'a>(metadata: &'a Metadata, key: &str) -> Option<&'a str> {
    metadata.annotations.get(key).map(String::as_str).filter(|text| !text.is_empty())
}

fn named(
    about: &About<'_>,
    named: Option<(Word<'_>, &str)>,
) -> Result<Option<Name>, TranslateError> {
    let Some((word, name)) = named else { return Ok(None) };
    let (field, key) = match word {
        Word::Annotation(key) => ("annotations", key),
        Word::Label(key) => ("labels", key),
    };
    about.optional_name(&format!("metadata.{field}[{key:?}]"), name)
}

/// Says that the pod may use lent nodes.
const REVOCABLE_ZONE: &str = "volcano.sh/revocable-zone";

/// The only thing it can say: any zone will do.
const EVERY_ZONE: &str = "*";

/// May the pod use lent nodes? One that says it makes way may, unless it says otherwise.
fn borrows(metadata: &Metadata) -> bool {
    let zone = metadata.annotations.get(REVOCABLE_ZONE).map(|zone| zone == EVERY_ZONE);
    let makes_way = || metadata.annotations.get(PREEMPTABLE).and_then(|text| parse_bool(text));
    zone.or_else(makes_way).unwrap_or(false)
}

/// How long the pod must be left alone once it runs.
pub(in crate::objects) const COOLDOWN: &str = "volcano.sh/cooldown-time";

/// That time in milliseconds; `None` if it is not given, or no length of time. A label goes before an
/// annotation, as in Volcano.
pub(in crate::objects) fn cooldown(metadata: &Metadata) -> Option<i64> {
    let text = metadata.labels.get(COOLDOWN).or_else(|| metadata.annotations.get(COOLDOWN))?;
    parse_ms(text).and_then(|ms| i64::try_from(ms).ok())
}

/// The reservation its annotations tell of. A node alone, or a status that is not `true`, is none.
fn annotated(
    about: &About<'_>,
    metadata: &Metadata,
) -> Result<Option<AnnotatedNode>, TranslateError> {
    let is_true = |key: &str| metadata.annotations.get(key).is_some_and(|text| text == "true");
    if !is_true(PIPELINED_STATUS) {
        return Ok(None);
    }
    let node = metadata.annotations.get(PIPELINED_NODE).map_or("", String::as_str);
    let node = about.optional_name(&annotation_path(PIPELINED_NODE), node)?;
    Ok(node.map(|node| AnnotatedNode { node, evicted: is_true(EVICTION_OCCURRED) }))
}

/// The annotations that tell of a reservation; those without a value are to be removed.
pub(crate) fn annotations(
    reservation: Option<&AnnotatedNode>,
) -> [(&'static str, Option<String>); 3] {
    let yes = || "true".to_owned();
    [
        (PIPELINED_STATUS, reservation.map(|_| yes())),
        (PIPELINED_NODE, reservation.map(|held| held.node.to_string())),
        (EVICTION_OCCURRED, reservation.filter(|held| held.evicted).map(|_| yes())),
    ]
}

/// Writes the annotations that tell of a reservation, or removes them; no other key is touched. True
/// if any of them changed.
pub(crate) fn annotate(metadata: &mut Metadata, reservation: Option<&AnnotatedNode>) -> bool {
    let mut changed = false;
    for (key, value) in annotations(reservation) {
        changed |= metadata.annotations.get(key) != value.as_ref();
        match value {
            Some(value) => drop(metadata.annotations.insert(key.to_owned(), value)),
            None => drop(metadata.annotations.remove(key)),
        }
    }
    changed
}

/// Keeps what a pod's annotations said of a reservation when the pod is applied again without them.
pub(crate) fn keep_reservation(new: &mut Metadata, old: &Metadata) {
    for key in [PIPELINED_STATUS, PIPELINED_NODE, EVICTION_OCCURRED] {
        if let (None, Some(value)) = (new.annotations.get(key), old.annotations.get(key)) {
            new.annotations.insert(key.to_owned(), value.clone());
        }
    }
}

/// A pod that is on its node holds its room there, whatever its rules say: they have been followed or
/// overruled already.
fn placed_or(
    node_name: &str,
    constraints: Result<Constraints, TranslateError>,
) -> Result<Constraints, TranslateError> {
    match constraints {
        Err(error) if error.fault == Fault::Object && !node_name.is_empty() => {
            Ok(Constraints::default())
        }
        constraints => constraints,
    }
}

fn annotation_path(key: &str) -> String {
    format!("metadata.annotations[{key:?}]")
}

fn phase(about: &About<'_>, text: Option<&str>) -> Result<PodPhase, TranslateError> {
    match text {
        None | Some("" | "Pending") => Ok(PodPhase::Pending),
        Some("Running") => Ok(PodPhase::Running),
        Some("Succeeded") => Ok(PodPhase::Succeeded),
        Some("Failed") => Ok(PodPhase::Failed),
        Some("Unknown") => Ok(PodPhase::Unknown),
        Some(other) => Err(about.fail(
            "status.phase",
            format!(
                "{other:?} is not a phase; expected Pending, Running, Succeeded, Failed or Unknown"
            ),
        )),
    }
}

fn constraints(about: &About<'_>, pod: &Pod) -> Result<Constraints, TranslateError> {
    let affinity = &pod.spec.affinity.node_affinity;
    let root = "spec.affinity.nodeAffinity";
    let required = affinity.required.as_ref().map(|required| {
        let terms = required.node_selector_terms.iter().enumerate().map(|(at, term)| {
            let field = format!(
                "{root}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{at}]"
            );
            selector::node_term(about, term, &field)
        });
        terms.collect::<Result<Vec<_>, _>>()
    });
    let preferred = affinity.preferred.iter().enumerate().map(|(at, wish)| {
        let field = format!("{root}.preferredDuringSchedulingIgnoredDuringExecution[{at}]");
        if !(1..=100).contains(&wish.weight) {
            let problem = format!("{} is not a weight; expected 1 to 100", wish.weight);
            return Err(about.malformed(format!("{field}.weight"), problem));
        }
        let term = selector::node_term(about, &wish.preference, &format!("{field}.preference"))?;
        Ok((wish.weight, term))
    });
    let tolerations = pod.spec.tolerations.iter().enumerate();
    Ok(Constraints {
        node_selector: pairs(&pod.spec.node_selector),
        required_affinity: required.transpose()?,
        preferred_affinity: preferred.collect::<Result<_, _>>()?,
        tolerations: tolerations
            .map(|(at, entry)| toleration(about, entry, || format!("spec.tolerations[{at}]")))
            .collect::<Result<_, _>>()?,
        interpod: interpod::facts(about, &pod.spec)?,
        images: images::of_pod(&pod.spec),
        unasked: request::unasked(about, &pod.spec)?,
        limits: request::limits(about, &pod.spec)?,
        strategy: strategy::wish(&pod.metadata),
        borrows: borrows(&pod.metadata),
    })
}

fn toleration(
    about: &About<'_>,
    entry: &objects::Toleration,
    field: impl Fn() -> String,
) -> Result<Toleration, TranslateError> {
    let value = match entry.operator.as_str() {
        "" | "Equal" => Some(Name::from(entry.value.as_str())),
        "Exists" if entry.value.is_empty() => None,
        "Exists" => {
            return Err(about.malformed(format!("{}.value", field()), "Exists takes no value"));
        }
        other => {
            let problem = format!("{other:?} is not an operator; expected Equal or Exists");
            return Err(about.malformed(format!("{}.operator", field()), problem));
        }
    };
    if entry.key.is_empty() && value.is_some() {
        let problem = "is missing; only operator Exists tolerates every key";
        return Err(about.malformed(format!("{}.key", field()), problem));
    }
    let key = Some(Name::from(entry.key.as_str())).filter(|key| !key.is_empty());
    let effect = match entry.effect.as_str() {
        "" => None,
        text => Some(node::effect(about, text, || format!("{}.effect", field()))?),
    };
    Ok(Toleration { key, value, effect })
}
