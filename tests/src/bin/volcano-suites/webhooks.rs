//! Volcano's webhooks: which calls the API server asks them about.

use std::fs;
use std::path::Path;

use http::Request;
use kube::Client;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::SuitesError;

/// A webhook: what it does, to which resource of which group and version, at which calls.
struct Webhook {
    verb: Verb,
    resource: &'static str,
    group: &'static str,
    version: &'static str,
    calls: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Mutate,
    Validate,
}

const SCHEDULING: &str = "scheduling.volcano.sh";
const CREATE: &[&str] = &["CREATE"];
const CHANGE: &[&str] = &["CREATE", "UPDATE"];

/// Those Volcano's CI has in force.
const WEBHOOKS: [Webhook; 10] = [
    webhook(Verb::Mutate, "pods", "", "v1", CREATE),
    webhook(Verb::Mutate, "queues", SCHEDULING, "v1beta1", CREATE),
    webhook(Verb::Mutate, "podgroups", SCHEDULING, "v1beta1", CREATE),
    webhook(Verb::Mutate, "jobs", "batch.volcano.sh", "v1alpha1", CREATE),
    webhook(Verb::Validate, "jobs", "batch.volcano.sh", "v1alpha1", CHANGE),
    webhook(Verb::Validate, "pods", "", "v1", CREATE),
    webhook(Verb::Validate, "queues", SCHEDULING, "v1beta1", &["CREATE", "UPDATE", "DELETE"]),
    webhook(Verb::Validate, "podgroups", SCHEDULING, "v1beta1", CREATE),
    webhook(Verb::Validate, "hypernodes", "topology.volcano.sh", "v1alpha1", CHANGE),
    webhook(Verb::Validate, "cronjobs", "batch.volcano.sh", "v1alpha1", CHANGE),
];

const fn webhook(
    verb: Verb,
    resource: &'static str,
    group: &'static str,
    version: &'static str,
    calls: &'static [&'static str],
) -> Webhook {
    Webhook { verb, resource, group, version, calls }
}

/// The flag that puts the same in force at the server of the webhooks.
pub(crate) fn enabled() -> String {
    let paths: Vec<String> = WEBHOOKS.iter().map(Webhook::path).collect();
    format!("--enabled-admission={}", paths.join(","))
}

/// Makes the API server ask the webhooks on that port, whose certificate it trusts.
pub(crate) async fn install(
    client: &Client,
    port: u16,
    certificate: &Path,
) -> Result<(), SuitesError> {
    let trusted = fs::read(certificate).map_err(SuitesError::file(certificate))?;
    let trusted = k8s_openapi::ByteString(trusted);
    for webhook in &WEBHOOKS {
        let (kind, plural) = webhook.kind();
        let object = webhook.object(kind, port, &json!(trusted));
        let request = Request::post(format!("/apis/admissionregistration.k8s.io/v1/{plural}"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(object.to_string().into_bytes())
            .expect("a path is a request");
        let made = client.request::<IgnoredAny>(request).await;
        made.map_err(SuitesError::call("putting Volcano's webhooks in force"))?;
    }
    Ok(())
}

impl Webhook {
    fn verb(&self) -> &'static str {
        if self.verb == Verb::Mutate { "mutate" } else { "validate" }
    }

    fn path(&self) -> String {
        format!("/{}/{}", self.resource, self.verb())
    }

    fn kind(&self) -> (&'static str, &'static str) {
        match self.verb {
            Verb::Mutate => ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
            Verb::Validate => ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        }
    }

    fn object(&self, kind: &str, port: u16, trusted: &Value) -> Value {
        let Self { resource, group, version, calls, .. } = self;
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            // The server looks for its configurations under these names.
            "metadata": {"name": format!("volcano-admission-service-{resource}-{}", self.verb())},
            "webhooks": [{
                "name": format!("{}.{resource}.volcano.sh", self.verb()),
                "admissionReviewVersions": ["v1"],
                "sideEffects": "NoneOnDryRun",
                "clientConfig": {
                    "url": format!("https://127.0.0.1:{port}{}", self.path()),
                    "caBundle": trusted,
                },
                "namespaceSelector": {"matchExpressions": [{
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": [crate::cluster::SYSTEM, "kube-system"],
                }]},
                "rules": [{
                    "apiGroups": [group], "apiVersions": [version],
                    "resources": [resource], "operations": calls,
                }],
            }],
        })
    }
}
