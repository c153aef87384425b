//! A kind the server serves in another version than the first of the table: it is read in that one,
//! and read on in the other when the server changes over.
//!
//! The kind is `CSIStorageCapacity`, which servers before Kubernetes 1.24 know as `v1beta1`. Here the
//! group is taken from the API server, and definitions stand in for the kinds that matter.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use muster_tests::control_plane::{Options, Space, TEST_LABEL, api_of, with_own};
use muster_tests::process::{Muster, SCHEDULER, places, pods, until, until_bound};
use serde_json::{Value, json};

use crate::PROGRAM;

const GROUP: &str = "storage.k8s.io";
const DRIVER: &str = "disks.example.com";
/// Annotation of a claim by which its volume is made for a node.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// An API server without the group, and without the admission plugins that wait for it.
fn without_storage() -> Options {
    Options::default().api_server_flag("--runtime-config=storage.k8s.io/v1=false").api_server_flag(
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,DefaultStorageClass,\
         PersistentVolumeClaimResize",
    )
}

/// A version of a definition; any fields may be given.
fn version(name: &str, served: bool, storage: bool) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "name": name, "served": served, "storage": storage,
        "schema": {"openAPIV3Schema": schema},
    })
}

fn definition(kind: &str, plural: &str, scope: &str, version: Value) -> Value {
    json!({
        "metadata": {
            "name": format!("{plural}.{GROUP}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": GROUP, "scope": scope, "versions": [version],
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
        },
    })
}

/// Defines the kinds claims of a driver are served by, the one about room in its second version.
async fn define(space: &Space<'_>) {
    let definitions: Api<CustomResourceDefinition> = Api::all(space.client());
    let kinds = [
        ("StorageClass", "storageclasses", "Cluster", "v1"),
        ("CSIDriver", "csidrivers", "Cluster", "v1"),
        ("CSIStorageCapacity", "csistoragecapacities", "Namespaced", "v1beta1"),
    ];
    for (kind, plural, scope, name) in kinds {
        let wanted = definition(kind, plural, scope, version(name, true, true));
        space.make(&definitions, wanted).await;
        served(space, name, kind).await;
    }
}

/// Waits until a list of the kind is answered in that version.
async fn served(space: &Space<'_>, version: &str, kind: &str) {
    let any = json!({"apiVersion": format!("{GROUP}/{version}"), "kind": kind});
    let api = api_of(space.client(), &any);
    let answered = async || api.list(&ListParams::default()).await.ok().map(drop);
    until(&format!("{kind} is served in {version}"), answered).await;
}

/// Makes an object of the group, in a version of it.
async fn make(space: &Space<'_>, version: &str, kind: &str, mut object: Value) {
    object["apiVersion"] = format!("{GROUP}/{version}").into();
    object["kind"] = kind.into();
    space.make(&api_of(space.client(), &object), object).await;
}

/// The driver says that it can make volumes of that size on the node.
async fn publish(space: &Space<'_>, version: &str, node: &str, size: &str) {
    let (name, own) = (format!("{node}-{}", size.to_lowercase()), space.own(node));
    let capacity = json!({
        "metadata": {"name": name, "namespace": space.namespace()},
        "storageClassName": "disks",
        "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": own}},
        "maximumVolumeSize": size,
    });
    make(space, version, "CSIStorageCapacity", capacity).await;
}

fn claims(space: &Space<'_>) -> Api<PersistentVolumeClaim> {
    Api::namespaced(space.client(), space.namespace())
}

/// Makes a pod with a claim of its own name and that size.
async fn make_pod(space: &Space<'_>, name: &str, size: &str) {
    let metadata = json!({"name": name, "namespace": space.namespace()});
    let claim = json!({
        "metadata": metadata,
        "spec": {
            "storageClassName": "disks", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    });
    space.make(&claims(space), claim).await;
    let pod = json!({
        "metadata": metadata,
        "spec": {
            "schedulerName": SCHEDULER,
            "nodeSelector": {TEST_LABEL: space.namespace()},
            "containers": [{"name": "main", "image": "none"}],
            "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": name}}],
        },
    });
    space.make(&pods(space), pod).await;
}

/// Waits until a volume is asked for on the node, makes it, and sees the pod there: the part of the
/// driver and of the volume controller.
async fn serve(space: &Space<'_>, name: &str, size: &str, node: &str) {
    let selected = async || {
        let claim = claims(space).get(name).await.expect("the claim is there");
        claim.metadata.annotations?.remove(SELECTED_NODE)
    };
    let selected = until("a node is named on the claim", selected).await;
    assert_eq!(selected, space.own(node));
    let volume = json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disks", "csi": {"driver": DRIVER, "volumeHandle": name},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": space.namespace(), "name": name,
            },
        },
    });
    space.make::<PersistentVolume>(&Api::all(space.client()), volume).await;
    let (claims, params) = (claims(space), PatchParams::default());
    let given = json!({"spec": {"volumeName": name}});
    claims.patch(name, &params, &Patch::Merge(&given)).await.expect("the volume is given");
    let bound = json!({"status": {"phase": "Bound"}});
    claims.patch_status(name, &params, &Patch::Merge(&bound)).await.expect("the claim is bound");
    until_bound(space, name, 1).await;
    assert_eq!(places(space, name).await[name].as_deref(), Some(selected.as_str()));
}

/// An upgrade of the definition: the second version is served no more, the first is.
async fn change_over(space: &Space<'_>) {
    let definitions: Api<CustomResourceDefinition> = Api::all(space.client());
    let versions = [version("v1", true, true), version("v1beta1", false, false)];
    let patch = json!({"spec": {"versions": versions}});
    let name = format!("csistoragecapacities.{GROUP}");
    let patched = definitions.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
    patched.expect("the definition is there");
    served(space, "v1", "CSIStorageCapacity").await;
}

#[test]
fn a_pod_is_placed_by_a_kind_that_is_served_in_its_second_version_only() {
    with_own("versions", without_storage(), async |space| {
        define(space).await;
        space.create_nodes(2, json!({"cpu": "4", "memory": "16Gi", "pods": "110"})).await;
        let class = json!({
            "metadata": {"name": "disks"},
            "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
        });
        make(space, "v1", "StorageClass", class).await;
        let driver = json!({"metadata": {"name": DRIVER}, "spec": {"storageCapacity": true}});
        make(space, "v1", "CSIDriver", driver).await;
        // Without these no node would do, and of two that do it would be the first.
        publish(space, "v1beta1", "n0", "1Gi").await;
        publish(space, "v1beta1", "n1", "100Gi").await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        muster.says("the server does not know this version").await;
        make_pod(space, "first", "10Gi").await;
        serve(space, "first", "10Gi", "n1").await;

        // What was known stays known in the other version, and what is new in it is heard.
        change_over(space).await;
        make_pod(space, "second", "50Gi").await;
        serve(space, "second", "50Gi", "n1").await;
        make_pod(space, "third", "500Gi").await;
        publish(space, "v1", "n0", "1Ti").await;
        serve(space, "third", "500Gi", "n0").await;
        assert!(muster.metric("muster_objects_set_aside") < 0.5);
    });
}
