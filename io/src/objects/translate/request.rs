//! What a pod asks for in all.
//!
//! Regular containers and sidecars run together; an init container runs alone beside the sidecars
//! started before it. The pod needs the larger of the two, per resource. Pod-level requests replace
//! that, the runtime's overhead comes on top, and every pod takes one of its node's pod slots.

use std::collections::BTreeMap;

use muster_core::delta::QosClass;
use muster_core::ids::Name;
use muster_core::resource::{Quantity, ResourceList};

use super::TranslateError;
use super::about::{About, member};
use crate::objects::{PodSpec, ResourceMap, Resources, Scalar};

type Amounts<'a> = BTreeMap<&'a str, Quantity>;

/// The pod's whole request, sorted by name.
pub(in crate::objects) fn total(
    about: &About<'_>,
    spec: &PodSpec,
) -> Result<ResourceList, TranslateError> {
    let total = total_with(about, spec, First::Requests, &Amounts::new())?;
    Ok(total.into_iter().map(|(name, quantity)| (Name::from(name), quantity)).collect())
}

/// Milli-cpu and bytes of memory that scores count above the request: what containers are taken to
/// need that ask for none, as Kubernetes has it.
pub(in crate::objects) fn unasked(
    about: &About<'_>,
    spec: &PodSpec,
) -> Result<[i64; 2], TranslateError> {
    let names =
        |one: &Resources, name| one.requests.contains_key(name) || one.limits.contains_key(name);
    let containers = || spec.containers.iter().chain(&spec.init_containers);
    if containers().all(|one| names(&one.resources, "cpu") && names(&one.resources, "memory")) {
        return Ok([0; 2]);
    }
    let assumed = Amounts::from([
        ("cpu", Quantity::from_milli(100)),
        ("memory", Quantity::from_units(200 << 20)),
    ]);
    let given = total_with(about, spec, First::Requests, &Amounts::new())?;
    let raised = total_with(about, spec, First::Requests, &assumed)?;
    let amount = |of: &Amounts<'_>, name| of.get(name).copied().unwrap_or_default();
    let cpu = [&raised, &given].map(|of| amount(of, "cpu").milli_ceil());
    let memory = [&raised, &given].map(|of| amount(of, "memory").units_ceil());
    Ok([cpu[0].saturating_sub(cpu[1]), memory[0].saturating_sub(memory[1])])
}

/// Milli-cpu and bytes of memory the containers may use at most; where one has no limit, what it asks
/// for.
pub(in crate::objects) fn limits(
    about: &About<'_>,
    spec: &PodSpec,
) -> Result<[i64; 2], TranslateError> {
    let most = total_with(about, spec, First::Limits, &Amounts::new())?;
    let amount = |name| most.get(name).copied().unwrap_or_default();
    Ok([amount("cpu").milli_ceil(), amount("memory").units_ceil()])
}

/// How firmly the pod's resources are promised to it, as Kubernetes derives it: from the pod's own
/// resources where it has any, else from those of all containers.
pub(in crate::objects) fn qos(spec: &PodSpec) -> QosClass {
    let own = Some(&spec.resources).filter(|own| asks_for_any(own));
    let containers = || {
        let all = spec.containers.iter().chain(&spec.init_containers);
        all.map(|container| &container.resources)
    };
    let (any, all) = match own {
        Some(own) => (true, is_guaranteed(own)),
        None => (containers().any(asks_for_any), containers().all(is_guaranteed)),
    };
    match (any, all) {
        (false, _) => QosClass::BestEffort,
        (true, false) => QosClass::Burstable,
        (true, true) => QosClass::Guaranteed,
    }
}

const QOS_RESOURCES: [&str; 2] = ["cpu", "memory"];

fn asks_for_any(one: &Resources) -> bool {
    let is_given = |map: &ResourceMap, name: &str| {
        let amount = map.get(name).and_then(|text| text.as_str().parse::<Quantity>().ok());
        amount.is_some_and(|amount| amount != Quantity::default())
    };
    QOS_RESOURCES.iter().any(|name| is_given(&one.requests, name) || is_given(&one.limits, name))
}

/// Does it ask for all it may use of cpu and memory? A limit alone is a request, too.
fn is_guaranteed(one: &Resources) -> bool {
    let amount = |text: &Scalar| text.as_str().parse::<Quantity>().ok();
    QOS_RESOURCES.iter().all(|name| {
        one.limits.get(*name).is_some_and(|limit| {
            one.requests.get(*name).is_none_or(|request| amount(request) == amount(limit))
        })
    })
}

/// Which of a container's amounts counts where it has both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Requests,
    Limits,
}

/// The whole request where containers ask for so much of what they do not name.
fn total_with<'a>(
    about: &About<'_>,
    spec: &'a PodSpec,
    first: First,
    assumed: &Amounts<'a>,
) -> Result<Amounts<'a>, TranslateError> {
    let fill = |request: &mut Amounts<'a>| {
        for (&name, &quantity) in assumed {
            request.entry(name).or_insert(quantity);
        }
    };
    let mut together = Amounts::new();
    for (at, container) in spec.containers.iter().enumerate() {
        let mut request = effective(about, &container.resources, first, || {
            format!("spec.containers[{at}].resources")
        })?;
        fill(&mut request);
        add(&mut together, &request);
    }
    let mut sidecars = Amounts::new();
    let mut before = Amounts::new();
    for (at, container) in spec.init_containers.iter().enumerate() {
        let mut request = effective(about, &container.resources, first, || {
            format!("spec.initContainers[{at}].resources")
        })?;
        fill(&mut request);
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut together, &request);
            add(&mut sidecars, &request);
            raise(&mut before, &sidecars);
        } else {
            add(&mut request, &sidecars);
            raise(&mut before, &request);
        }
    }
    raise(&mut together, &before);
    add(&mut together, &Amounts::from([("pods", Quantity::from_units(1))]));
    apply_pod_level(about, &spec.resources, first, &mut together)?;
    add(&mut together, &amounts(about, &spec.overhead, || "spec.overhead".to_owned())?);
    Ok(together)
}

/// Pod-level requests replace the sum over the containers; a pod-level limit stands in where
/// neither the pod nor a container requests that resource, as the API server fills it in.
fn apply_pod_level<'a>(
    about: &About<'_>,
    resources: &'a Resources,
    first: First,
    total: &mut Amounts<'a>,
) -> Result<(), TranslateError> {
    let requests = amounts(about, &resources.requests, || "spec.resources.requests".to_owned())?;
    let limits = amounts(about, &resources.limits, || "spec.resources.limits".to_owned())?;
    let (requests, limits) = match first {
        First::Requests => (requests, limits),
        First::Limits => (limits, requests),
    };
    total.extend(requests.into_iter().filter(|entry| has_pod_level(entry.0)));
    for (name, quantity) in limits.into_iter().filter(|entry| has_pod_level(entry.0)) {
        total.entry(name).or_insert(quantity);
    }
    Ok(())
}

/// Kubernetes knows pod-level amounts of these resources only.
fn has_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// A container's requests, a limit in place of a request that is absent, as the API server fills it in;
/// or the other way round.
fn effective<'a>(
    about: &About<'_>,
    resources: &'a Resources,
    first: First,
    field: impl Fn() -> String,
) -> Result<Amounts<'a>, TranslateError> {
    let limits = amounts(about, &resources.limits, || format!("{}.limits", field()))?;
    let requests = amounts(about, &resources.requests, || format!("{}.requests", field()))?;
    let (first, mut second) = match first {
        First::Requests => (requests, limits),
        First::Limits => (limits, requests),
    };
    second.extend(first);
    Ok(second)
}

fn amounts<'a>(
    about: &About<'_>,
    map: &'a ResourceMap,
    field: impl Fn() -> String,
) -> Result<Amounts<'a>, TranslateError> {
    map.iter()
        .map(|(name, text)| Ok((&**name, about.quantity(text, || member(&field(), name))?)))
        .collect()
}

fn add<'a>(sum: &mut Amounts<'a>, more: &Amounts<'a>) {
    for (&name, &quantity) in more {
        let entry = sum.entry(name).or_default();
        *entry = entry.add(quantity);
    }
}

fn raise<'a>(least: &mut Amounts<'a>, to: &Amounts<'a>) {
    for (&name, &quantity) in to {
        let entry = least.entry(name).or_default();
        *entry = Ord::max(*entry, quantity);
    }
}
