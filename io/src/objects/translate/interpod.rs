//! Rules of a pod about other pods, to [`InterPodFacts`].

use std::net::IpAddr;

use muster_core::delta::{
    ClusterDelta, Heed, HostPort, InterPodFacts, InterPodTerm, NamespaceFacts, ObjectRef, Operator,
    PodSelector, Protocol, Requirement, SelectorPart, Spread, Unmet,
};
use muster_core::ids::{Name, ObjectKey};

use super::about::{About, pairs};
use super::label::is_key;
use super::selector::label_selector;
use super::{Fault, OwnerRule, Translate, TranslateError};
use crate::objects::{
    ContainerPort, LabelSelector, Namespace, PodAffinity, PodAffinityTerm, PodSpec,
    TopologySpreadConstraint,
};

type Result<T> = std::result::Result<T, TranslateError>;

impl Translate for Namespace {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Namespace(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta> {
        Ok(NamespaceFacts { name: about.name(), labels: pairs(&self.metadata.labels) }.into())
    }
}

/// All rules of a pod about others. One that makes no sense sets the pod aside, in a file too: the
/// others can be scheduled without it.
pub(in crate::objects) fn facts(about: &About<'_>, spec: &PodSpec) -> Result<InterPodFacts> {
    rules(about, spec).map_err(|error| TranslateError { fault: Fault::Object, ..error })
}

fn rules(about: &About<'_>, spec: &PodSpec) -> Result<InterPodFacts> {
    let (like, dislike) = (&spec.affinity.pod_affinity, &spec.affinity.pod_anti_affinity);
    let (interpod, far) = ("spec.affinity.podAffinity", "spec.affinity.podAntiAffinity");
    let mut wishes = preferred(about, like.as_ref(), interpod, 1)?;
    wishes.extend(preferred(about, dislike.as_ref(), far, -1)?);
    let spread = spec.topology_spread_constraints.iter().enumerate().map(|(at, constraint)| {
        spread(about, constraint, &format!("spec.topologySpreadConstraints[{at}]"))
    });
    Ok(InterPodFacts {
        ports: ports(about, spec)?,
        affinity: required(about, like.as_ref(), interpod)?,
        anti_affinity: required(about, dislike.as_ref(), far)?,
        preferred: merge(wishes),
        spread: spread.collect::<Result<_>>()?,
    })
}

fn required(about: &About<'_>, of: Option<&PodAffinity>, root: &str) -> Result<Vec<InterPodTerm>> {
    let terms = of.map_or(&[][..], |of| &of.required).iter().enumerate();
    terms
        .map(|(at, entry)| {
            let field = format!("{root}.requiredDuringSchedulingIgnoredDuringExecution[{at}]");
            term(about, entry, &field)
        })
        .collect()
}

fn preferred(
    about: &About<'_>,
    of: Option<&PodAffinity>,
    root: &str,
    sign: i32,
) -> Result<Vec<(i32, InterPodTerm)>> {
    let wishes = of.map_or(&[][..], |of| &of.preferred).iter().enumerate();
    wishes
        .map(|(at, wish)| {
            let field = format!("{root}.preferredDuringSchedulingIgnoredDuringExecution[{at}]");
            if !(1..=100).contains(&wish.weight) {
                let problem = format!("{} is not a weight; expected 1 to 100", wish.weight);
                return Err(about.fail(format!("{field}.weight"), problem));
            }
            let field = format!("{field}.podAffinityTerm");
            Ok((sign * wish.weight, term(about, &wish.pod_affinity_term, &field)?))
        })
        .collect()
}

/// The same wish twice is one wish of twice the weight.
fn merge(wishes: Vec<(i32, InterPodTerm)>) -> Vec<(i32, InterPodTerm)> {
    let mut merged: Vec<(i32, InterPodTerm)> = Vec::new();
    for (weight, term) in wishes {
        match merged.iter_mut().find(|wish| wish.1 == term) {
            Some(wish) => wish.0 += weight,
            None => merged.push((weight, term)),
        }
    }
    merged
}

fn term(about: &About<'_>, term: &PodAffinityTerm, field: &str) -> Result<InterPodTerm> {
    let mut labels = selected(about, term.label_selector.as_ref(), field)?;
    let (same, other) = (&term.match_label_keys, &term.mismatch_label_keys);
    own_values(about, &mut labels, same, Operator::In, &format!("{field}.matchLabelKeys"))?;
    own_values(about, &mut labels, other, Operator::NotIn, &format!("{field}.mismatchLabelKeys"))?;
    if let Some(key) = other.iter().find(|key| same.contains(key)) {
        let problem = format!("{key:?} is in matchLabelKeys as well; expected one of them");
        return Err(about.fail(format!("{field}.mismatchLabelKeys"), problem));
    }
    let mut namespaces: Vec<Name> = Vec::new();
    for (at, name) in term.namespaces.iter().enumerate() {
        about.check_name(&format!("{field}.namespaces[{at}]"), name)?;
        namespaces.push(name.as_str().into());
    }
    let namespace_labels = term
        .namespace_selector
        .as_ref()
        .map(|selector| label_selector(about, selector, &format!("{field}.namespaceSelector")));
    if namespaces.is_empty() && namespace_labels.is_none() {
        namespaces.push(about.key().namespace);
    }
    namespaces.sort();
    namespaces.dedup();
    let namespace_labels = namespace_labels.transpose()?;
    Ok(InterPodTerm {
        pods: PodSelector(vec![SelectorPart { namespaces, namespace_labels, labels }]),
        topology_key: topology_key(about, &term.topology_key, field)?,
    })
}

fn selected(
    about: &About<'_>,
    selector: Option<&LabelSelector>,
    field: &str,
) -> Result<Option<Vec<Requirement>>> {
    let field = format!("{field}.labelSelector");
    selector.map(|selector| label_selector(about, selector, &field)).transpose()
}

/// Adds the pod's own values of labels; a label it does not have asks for nothing.
fn own_values(
    about: &About<'_>,
    labels: &mut Option<Vec<Requirement>>,
    keys: &[String],
    operator: Operator,
    field: &str,
) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    if let Some(key) = keys.iter().find(|key| !is_key(key)) {
        return Err(
            about.fail(field, format!("{key:?} is not a label key; expected one such as app"))
        );
    }
    let Some(labels) = labels else {
        return Err(about.fail(field, "needs a labelSelector beside it"));
    };
    let own = &about.metadata.labels;
    for (key, value) in keys.iter().filter_map(|key| own.get_key_value(key)) {
        let values = vec![value.as_str().into()];
        labels.push(Requirement { key: key.as_str().into(), operator, values });
    }
    Ok(())
}

fn topology_key(about: &About<'_>, key: &str, field: &str) -> Result<Name> {
    if is_key(key) {
        return Ok(key.into());
    }
    let problem = if key.is_empty() {
        "is missing; expected a label key of nodes, such as kubernetes.io/hostname".to_owned()
    } else {
        format!("{key:?} is not a label key; expected one such as kubernetes.io/hostname")
    };
    Err(about.fail(format!("{field}.topologyKey"), problem))
}

fn spread(about: &About<'_>, from: &TopologySpreadConstraint, field: &str) -> Result<Spread> {
    let unmet = match from.when_unsatisfiable.as_str() {
        "DoNotSchedule" => Unmet::Wait,
        "ScheduleAnyway" => Unmet::GoAnyway,
        other => {
            let problem =
                format!("{other:?} is not known; expected DoNotSchedule or ScheduleAnyway");
            return Err(about.fail(format!("{field}.whenUnsatisfiable"), problem));
        }
    };
    if from.min_domains.is_some() && unmet == Unmet::GoAnyway {
        let problem = "goes with whenUnsatisfiable: DoNotSchedule only";
        return Err(about.fail(format!("{field}.minDomains"), problem));
    }
    let mut labels = selected(about, from.label_selector.as_ref(), field)?;
    let keys = format!("{field}.matchLabelKeys");
    own_values(about, &mut labels, &from.match_label_keys, Operator::In, &keys)?;
    let namespaces = vec![about.key().namespace];
    let min_domains = from.min_domains.map(|min| at_least_one(about, min, field, "minDomains"));
    let (affinity, taints) = (&from.node_affinity_policy, &from.node_taints_policy);
    Ok(Spread {
        pods: PodSelector(vec![SelectorPart { namespaces, namespace_labels: None, labels }]),
        topology_key: topology_key(about, &from.topology_key, field)?,
        max_skew: at_least_one(about, from.max_skew, field, "maxSkew")?,
        min_domains: min_domains.transpose()?,
        unmet,
        node_affinity: heed(about, affinity.as_deref(), field, "nodeAffinityPolicy", Heed::Honor)?,
        node_taints: heed(about, taints.as_deref(), field, "nodeTaintsPolicy", Heed::Ignore)?,
    })
}

fn at_least_one(about: &About<'_>, number: i64, field: &str, name: &str) -> Result<u32> {
    let number_or = i32::try_from(number).ok().filter(|&number| number > 0);
    number_or.map(i32::unsigned_abs).ok_or_else(|| {
        about.fail(format!("{field}.{name}"), format!("{number} is too small; expected 1 or more"))
    })
}

fn heed(
    about: &About<'_>,
    text: Option<&str>,
    field: &str,
    name: &str,
    absent: Heed,
) -> Result<Heed> {
    match text {
        None | Some("") => Ok(absent),
        Some("Honor") => Ok(Heed::Honor),
        Some("Ignore") => Ok(Heed::Ignore),
        Some(other) => {
            let problem = format!("{other:?} is not a policy; expected Honor or Ignore");
            Err(about.fail(format!("{field}.{name}"), problem))
        }
    }
}

/// Ports of all containers that run beside each other, sorted.
fn ports(about: &About<'_>, spec: &PodSpec) -> Result<Vec<HostPort>> {
    let sidecar = |one: &crate::objects::Container| one.restart_policy.as_deref() == Some("Always");
    let containers = spec.containers.iter().enumerate().map(|entry| ("containers", entry));
    let init = spec.init_containers.iter().enumerate().filter(|(_, one)| sidecar(one));
    let mut ports = Vec::new();
    for (list, (at, container)) in containers.chain(init.map(|entry| ("initContainers", entry))) {
        for (index, port) in container.ports.iter().enumerate() {
            let field = format!("spec.{list}[{at}].ports[{index}]");
            // The API server fills this in for pods on the network of their node.
            let on_node = port.host_port.filter(|&port| port != 0);
            let inside = port.container_port.filter(|_| spec.host_network);
            if let Some(number) = on_node.or(inside) {
                ports.push(host_port(about, number, port, &field)?);
            }
        }
    }
    ports.sort();
    ports.dedup();
    Ok(ports)
}

fn host_port(
    about: &About<'_>,
    number: i32,
    port: &ContainerPort,
    field: &str,
) -> Result<HostPort> {
    let Some(number) = u16::try_from(number).ok().filter(|&number| number > 0) else {
        let problem = format!("{number} is not a port; expected 1 to 65535");
        return Err(about.fail(format!("{field}.hostPort"), problem));
    };
    let protocol = match port.protocol.as_str() {
        "" | "TCP" => Protocol::Tcp,
        "UDP" => Protocol::Udp,
        "SCTP" => Protocol::Sctp,
        other => {
            let problem = format!("{other:?} is not a protocol; expected TCP, UDP or SCTP");
            return Err(about.fail(format!("{field}.protocol"), problem));
        }
    };
    let address = match port.host_ip.as_str() {
        "" | "0.0.0.0" => None,
        text if text.parse::<IpAddr>().is_ok() => Some(text.into()),
        other => {
            let problem = format!("{other:?} is not an IP address");
            return Err(about.fail(format!("{field}.hostIP"), problem));
        }
    };
    Ok(HostPort { port: number, protocol, address })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::translate::translate;
    use crate::objects::{Metadata, Object, ObjectKind, Pod};

    fn read(spec: &Value) -> Result<InterPodFacts> {
        let labels = json!({"app": "web", "version": "2"});
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "own", "labels": labels}, "spec": spec
        }))
        .unwrap();
        let about = About::new(ObjectKind::Pod, &pod.metadata).unwrap();
        facts(&about, &pod.spec)
    }

    fn interpod(term: &Value) -> Result<InterPodFacts> {
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
        read(&json!({"affinity": {"podAffinity": required}}))
    }

    fn part(term: &Value) -> SelectorPart {
        interpod(term).unwrap().affinity[0].pods.0[0].clone()
    }

    fn requirement(key: &str, operator: Operator, value: &str) -> Requirement {
        Requirement { key: key.into(), operator, values: vec![value.into()] }
    }

    #[test]
    fn a_term_is_about_its_own_namespace_unless_it_says_otherwise() {
        let own = part(&json!({"topologyKey": "zone", "labelSelector": {}}));
        assert_eq!(own.namespaces, [Name::from("own")]);
        assert_eq!((own.namespace_labels, own.labels), (None, Some(Vec::new())));
        let listed = part(&json!({"topologyKey": "zone", "namespaces": ["b", "a", "b"]}));
        assert_eq!(listed.namespaces, [Name::from("a"), Name::from("b")]);
        assert_eq!(listed.labels, None, "no selector matches no pod");
        let all = part(&json!({"topologyKey": "zone", "namespaceSelector": {}}));
        assert_eq!((all.namespaces, all.namespace_labels), (Vec::new(), Some(Vec::new())));
    }

    #[test]
    fn label_keys_stand_for_the_pod_s_own_values() {
        let part = part(&json!({
            "topologyKey": "zone", "labelSelector": {},
            "matchLabelKeys": ["version", "absent"], "mismatchLabelKeys": ["app"]
        }));
        let want =
            [requirement("version", Operator::In, "2"), requirement("app", Operator::NotIn, "web")];
        assert_eq!(part.labels.unwrap(), want);
    }

    #[test]
    fn wishes_carry_their_weight_with_a_sign_and_equal_ones_are_one() {
        let wish =
            |weight: i32| json!({"weight": weight, "podAffinityTerm": {"topologyKey": "zone"}});
        let wishes = |list: Value| json!({"preferredDuringSchedulingIgnoredDuringExecution": list});
        let facts = read(&json!({"affinity": {
            "podAffinity": wishes(json!([wish(10), wish(5)])), "podAntiAffinity": wishes(json!([wish(40)]))
        }}));
        let weights: Vec<i32> = facts.unwrap().preferred.iter().map(|wish| wish.0).collect();
        assert_eq!(weights, [-25]);
    }

    #[test]
    fn a_spread_constraint_has_the_defaults_of_kubernetes() {
        let facts = read(&json!({"topologySpreadConstraints": [{
            "maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}
        }]}));
        let spread = facts.unwrap().spread[0].clone();
        assert_eq!((spread.max_skew, spread.min_domains, spread.unmet), (2, None, Unmet::Wait));
        assert_eq!((spread.node_affinity, spread.node_taints), (Heed::Honor, Heed::Ignore));
    }

    #[test]
    fn ports_of_containers_that_run_together_are_taken_on_the_node() {
        let facts = read(&json!({
            "containers": [
                {"name": "a", "ports": [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2}]},
                {"name": "b", "ports": [{"hostPort": 80, "hostIP": "10.0.0.1", "protocol": "UDP"}]}
            ],
            "initContainers": [
                {"name": "first", "ports": [{"hostPort": 81}]},
                {"name": "side", "restartPolicy": "Always", "ports": [{"hostPort": 82, "hostIP": "0.0.0.0"}]}
            ]
        }));
        let port = |port, protocol, address: Option<&str>| HostPort {
            port,
            protocol,
            address: address.map(Name::from),
        };
        let want = [
            port(80, Protocol::Tcp, None),
            port(80, Protocol::Udp, Some("10.0.0.1")),
            port(82, Protocol::Tcp, None),
        ];
        assert_eq!(facts.unwrap().ports, want);
        let network =
            json!({"hostNetwork": true, "containers": [{"ports": [{"containerPort": 9}]}]});
        assert_eq!(read(&network).unwrap().ports, [port(9, Protocol::Tcp, None)]);
    }

    #[test]
    fn a_malformed_rule_sets_the_pod_aside_and_names_the_field() {
        let required =
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
        let expression = |operator: &str| json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": operator}]}});
        let spread = |change: (&str, Value)| {
            let mut one = json!({
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}
            });
            one[change.0] = change.1;
            read(&json!({"topologySpreadConstraints": [one]}))
        };
        let at = |name: &str| format!("spec.topologySpreadConstraints[0].{name}");
        let keys = json!({"topologyKey": "zone", "matchLabelKeys": ["app"]});
        let both = json!({
            "topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["app"], "mismatchLabelKeys": ["app"]
        });
        let expressions = format!("{required}.labelSelector.matchExpressions[0]");
        let table = [
            (interpod(&json!({"labelSelector": {}})), format!("{required}.topologyKey")),
            (interpod(&json!({"topologyKey": "a b"})), format!("{required}.topologyKey")),
            (interpod(&expression("Near")), format!("{expressions}.operator")),
            (interpod(&expression("In")), format!("{expressions}.values")),
            (interpod(&keys), format!("{required}.matchLabelKeys")),
            (interpod(&both), format!("{required}.mismatchLabelKeys")),
            (spread(("maxSkew", json!(0))), at("maxSkew")),
            (spread(("minDomains", json!(0))), at("minDomains")),
            (spread(("whenUnsatisfiable", json!("Never"))), at("whenUnsatisfiable")),
            (spread(("nodeTaintsPolicy", json!("Heed"))), at("nodeTaintsPolicy")),
            (spread(("topologyKey", json!(""))), at("topologyKey")),
            (
                read(&json!({"containers": [{"ports": [{"hostPort": 70000}]}]})),
                "spec.containers[0].ports[0].hostPort".into(),
            ),
            (
                read(&json!({"containers": [{"ports": [{"hostPort": 7, "protocol": "IP"}]}]})),
                "spec.containers[0].ports[0].protocol".into(),
            ),
            (
                read(&json!({"containers": [{"ports": [{"hostPort": 7, "hostIP": "x"}]}]})),
                "spec.containers[0].ports[0].hostIP".into(),
            ),
        ];
        for (got, field) in table {
            let error = got.expect_err(&field);
            assert_eq!(error.field, field);
            assert!(error.set_aside().is_some(), "{field}");
        }
    }

    #[test]
    fn a_namespace_is_its_labels() {
        let labels = [("team".to_owned(), "red".to_owned())].into();
        let metadata = Metadata { name: "n".into(), labels, ..Metadata::default() };
        let object = Object::Namespace(Box::new(Namespace { metadata }));
        let labels = vec![(Name::from("team"), Name::from("red"))];
        let delta = translate(&object, &OwnerRule::simulation()).unwrap();
        assert_eq!(delta, Some(NamespaceFacts { name: "n".into(), labels }.into()));
    }
}
