//! Decoding what scheduling reads against decoding everything.

use serde_json::json;

use super::*;

#[test]
fn nulls_count_as_absent() {
    let mut value = json!({"a": null, "b": {"c": null, "d": 1}, "e": [{"f": null}]});
    drop_nulls(&mut value);
    assert_eq!(value, json!({"b": {"d": 1}, "e": [{}]}));
    // As API servers write a CSINode without drivers.
    let text = r#"{"metadata": {"name": "n0"}, "spec": {"drivers": null}}"#;
    let object = Object::from_json(ObjectKind::CsiNode, text).unwrap();
    assert_eq!(object.key().name.as_str(), "n0");
}

#[test]
fn what_cannot_be_read_is_named_by_its_path() {
    let text = r#"{"metadata": {"name": "g"}, "spec": {"minMember": "three"}}"#;
    let error = Object::from_json(ObjectKind::PodGroup, text).unwrap_err();
    assert_eq!(error.field, "spec.minMember");
    assert!(Object::from_json(ObjectKind::Pod, "{").is_err());
}
