//! Definitions of the objects of both dialects for the API server, made from the types in
//! [`crate::objects`].
//!
//! They accept whatever the definitions of Volcano and KAI accept, keep every field they do not know, and
//! fill in nothing: an absent field stays absent and means what its description says.

mod kai;

use muster_core::config::Dialect;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::objects::{
    HyperNodeSpec, ObjectKind, PodGroupSpec, PodGroupStatus, QueueSpec, QueueStatus, Scope,
};

/// Says that the API server keeps fields of an object its schema does not name.
const KEEP_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

/// First line of every definition.
const HEADER: &str = "# Written by `muster crds`, from the types in io/src/objects. Do not edit.\n";

/// A definition.
#[derive(Debug)]
pub struct Definition {
    /// The plural name, which is also the name of its file.
    pub plural: &'static str,
    object: Value,
}

impl Definition {
    /// The definition as an object.
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The definition as a YAML document.
    pub fn yaml(&self) -> String {
        let text = serde_saphyr::to_string(&self.object);
        HEADER.to_owned() + &text.expect("JSON can be written as YAML")
    }
}

/// The definitions of a dialect, in the order they are listed to people.
pub fn definitions(dialect: Dialect) -> [Definition; 3] {
    match dialect {
        Dialect::Volcano => [pod_groups(), queues(), hyper_nodes()],
        Dialect::Kai => kai::definitions(),
    }
}

fn pod_groups() -> Definition {
    let columns = json!([
        {"name": "STATUS", "type": "string", "jsonPath": ".status.phase"},
        {"name": "minMember", "type": "integer", "jsonPath": ".spec.minMember"},
        {"name": "RUNNINGS", "type": "integer", "jsonPath": ".status.running"},
        {"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "QUEUE", "type": "string", "jsonPath": ".spec.queue", "priority": 1},
    ]);
    let short_names = &["pg", "podgroup-v1beta1"];
    let schema = object_schema(
        "A gang: pods that are of use only together.",
        schema_of::<PodGroupSpec>(),
        schema_of::<PodGroupStatus>(),
    );
    definition(ObjectKind::PodGroup, short_names, columns, schema)
}

fn queues() -> Definition {
    let columns = json!([
        {"name": "PARENT", "type": "string", "jsonPath": ".spec.parent"},
    ]);
    let short_names = &["q", "queue-v1beta1"];
    let schema = object_schema(
        "A queue of gangs, with its part of the cluster.",
        schema_of::<QueueSpec>(),
        schema_of::<QueueStatus>(),
    );
    definition(ObjectKind::Queue, short_names, columns, schema)
}

fn hyper_nodes() -> Definition {
    let columns = json!([
        {"name": "Tier", "type": "string", "jsonPath": ".spec.tier"},
        {"name": "TierName", "type": "string", "jsonPath": ".spec.tierName"},
        {"name": "NodeCount", "type": "integer", "jsonPath": ".status.nodeCount"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let short_names = &["hn"];
    let status = json!({
        "description": "Written by the controller that keeps the domain up to date; not read.",
        "type": "object",
        (KEEP_UNKNOWN): true,
    });
    let schema = object_schema(
        "A topology domain: nodes that are close to each other.",
        schema_of::<HyperNodeSpec>(),
        status,
    );
    definition(ObjectKind::HyperNode, short_names, columns, schema)
}

fn definition(kind: ObjectKind, short_names: &[&str], columns: Value, schema: Value) -> Definition {
    let (name, group, plural) = (kind.name(), kind.group(), kind.plural());
    let scope = match kind.scope() {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    let names = json!({
        "kind": name,
        "listKind": format!("{name}List"),
        "plural": plural,
        "singular": name.to_lowercase(),
        "shortNames": short_names,
    });
    let mut object = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "names": names,
            "scope": scope,
            "versions": [{
                "name": kind.version(),
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    // Volcano's controllers write the status of a PodGroup with the rest of it, so it must not be a
    // resource of its own.
    if kind != ObjectKind::PodGroup {
        object["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    }
    Definition { plural, object }
}

fn object_schema(description: &str, spec: Value, status: Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    })
}

/// The schema of a type, in the form the API server takes.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    fit_api_server(&mut schema);
    schema
}

/// Words of a schema the API server refuses or that say more than our types mean.
const DROPPED: [&str; 3] = ["title", "nullable", "default"];

/// Takes out what the API server does not take, and lets every object keep what it does not name.
fn fit_api_server(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for word in DROPPED {
        object.shift_remove(word);
    }
    // It knows no unsigned numbers; their minimum of zero says the same.
    if object.get("format").is_some_and(|format| format == "uint32") {
        object.insert("format".into(), json!("int32"));
    }
    if object.contains_key("properties") {
        object.insert(KEEP_UNKNOWN.into(), json!(true));
    }
    let named = object.get_mut("properties").and_then(Value::as_object_mut);
    named.into_iter().flat_map(Map::values_mut).for_each(fit_api_server);
    for word in ["items", "additionalProperties"] {
        object.get_mut(word).into_iter().for_each(fit_api_server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every schema below this one, with where it is.
    fn walk(at: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
        visit(at, schema);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{at}.{name}"), property, visit);
        }
        for word in ["items", "additionalProperties"] {
            if schema.get(word).is_some_and(Value::is_object) {
                walk(&format!("{at}[]"), &schema[word], visit);
            }
        }
    }

    #[test]
    fn every_object_below_spec_and_status_keeps_what_it_does_not_name() {
        for definition in [Dialect::Volcano, Dialect::Kai].into_iter().flat_map(definitions) {
            let version = &definition.object["spec"]["versions"][0];
            let root = &version["schema"]["openAPIV3Schema"]["properties"];
            for part in ["spec", "status"] {
                walk(part, &root[part], &mut |at, schema| {
                    let closed =
                        schema.get("properties").is_some() && schema[KEEP_UNKNOWN] != json!(true);
                    assert!(!closed, "{} {at} drops unknown fields", definition.plural);
                    assert_eq!(schema.get("default"), None, "{} {at}", definition.plural);
                });
            }
        }
    }

    #[test]
    fn counts_have_bounds_and_choices_are_listed() {
        let [groups, queues, domains] = definitions(Dialect::Volcano).map(|definition| {
            let version = &definition.object["spec"]["versions"][0];
            version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].clone()
        });
        assert_eq!(groups["minMember"]["minimum"], json!(0));
        assert_eq!(groups["minMember"]["type"], json!("integer"));
        assert_eq!(
            groups["networkTopology"]["properties"]["mode"]["enum"],
            json!(["hard", "soft"])
        );
        assert_eq!(queues["weight"]["maximum"], json!(65_535));
        let amount = &queues["capability"]["additionalProperties"];
        assert_eq!(amount["x-kubernetes-int-or-string"], json!(true));
        assert_eq!(domains["tier"]["minimum"], json!(0));
    }
}
