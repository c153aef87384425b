//! What the volume controllers do: bind a claim as the scheduler decided, make a volume where none
//! exists, make the claims of ephemeral volumes, and end a volume with its claim.
//!
//! Claims of classes that bind at once are left as the Scenario gives them: when they are bound is
//! for its timeline to say.

use muster_core::ids::{Name, ObjectKey};

use super::Cluster;
use crate::objects::translate::{IS_DEFAULT, SELECTED_NODE};
use crate::objects::{
    ClaimReference, CsiSource, Metadata, NodeSelector, NodeSelectorTerm, Object, ObjectKind,
    OwnerReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, PhaseStatus,
    Pod, Requirement, StorageClass, VolumeNodeAffinity,
};

/// Written on a volume that was made for a claim; such a volume ends with it.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// Provisioners whose volumes are directories of one node.
const NODE_LOCAL: [&str; 2] = ["rancher.io/local-path", "hostpath.csi.k8s.io"];

/// Labels of a node that its volumes follow, the first that it has.
const ZONE_LABELS: [&str; 2] =
    ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];

impl Cluster {
    /// Binds a claim to a volume, or to one made for the node.
    pub(super) fn fix_claim(
        &mut self,
        key: &ObjectKey,
        volume: Option<&Name>,
        node: &Name,
    ) -> Result<(), String> {
        let claim = self.store.claim(key).ok_or_else(|| format!("claim {key} is gone"))?;
        if let Some(has) = &claim.spec.volume_name {
            let same = volume.is_none_or(|volume| &**volume == has.as_str());
            return if same { Ok(()) } else { Err(format!("claim {key} has volume {has}")) };
        }
        let name = match volume {
            Some(name) => self.hand_out(key, name)?,
            None => self.make_volume(key, node)?,
        };
        let Some(claim) = self.store.claim_mut(key) else { return Ok(()) };
        if volume.is_none() {
            claim.metadata.annotations.insert(SELECTED_NODE.into(), node.to_string());
        }
        claim.spec.volume_name = Some(name);
        claim.status.phase = Some("Bound".into());
        self.touch(ObjectKind::PersistentVolumeClaim, key);
        Ok(())
    }

    /// Gives a volume that exists to a claim.
    fn hand_out(&mut self, claim: &ObjectKey, name: &Name) -> Result<String, String> {
        let reference = self.reference(claim);
        let volume = self.store.volume_mut(name).ok_or_else(|| format!("volume {name} is gone"))?;
        let other = volume.spec.claim_ref.as_ref().filter(|other| {
            (other.namespace.as_deref().unwrap_or("default"), other.name.as_str())
                != (&*claim.namespace, &*claim.name)
        });
        if let Some(other) = other {
            return Err(format!("volume {name} belongs to claim {}", other.name));
        }
        volume.spec.claim_ref = Some(reference);
        volume.status.phase = Some("Bound".into());
        let key = ObjectKind::PersistentVolume.key(None, name);
        self.touch(ObjectKind::PersistentVolume, &key);
        Ok(name.to_string())
    }

    fn reference(&self, claim: &ObjectKey) -> ClaimReference {
        let uid = self.store.claim(claim).and_then(|claim| claim.metadata.uid.clone());
        ClaimReference {
            namespace: Some(claim.namespace.to_string()),
            name: claim.name.to_string(),
            uid,
        }
    }

    fn make_volume(&mut self, key: &ObjectKey, node: &Name) -> Result<String, String> {
        let claim = self.store.claim(key).ok_or_else(|| format!("claim {key} is gone"))?;
        let class = self.class_of(claim).ok_or_else(|| format!("claim {key} has no class"))?;
        let provisioner = class.provisioner.clone();
        let name = format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or(&claim.metadata.name));
        let metadata = Metadata {
            name: name.clone(),
            annotations: [(PROVISIONED_BY.to_owned(), provisioner.clone())].into(),
            ..Metadata::default()
        };
        let spec = PersistentVolumeSpec {
            capacity: claim.spec.resources.requests.clone(),
            access_modes: claim.spec.access_modes.clone(),
            volume_mode: claim.spec.volume_mode.clone(),
            storage_class_name: Some(class.metadata.name.clone()),
            claim_ref: Some(self.reference(key)),
            node_affinity: self.affinity(node, &provisioner),
            csi: Some(CsiSource { driver: provisioner }),
            ..PersistentVolumeSpec::default()
        };
        let status = PhaseStatus { phase: Some("Bound".into()) };
        let volume =
            Object::PersistentVolume(Box::new(PersistentVolume { metadata, spec, status }));
        self.apply([volume], 0);
        Ok(name)
    }

    /// The class a claim names, else the default one.
    fn class_of(&self, claim: &PersistentVolumeClaim) -> Option<&StorageClass> {
        if let Some(name) = &claim.spec.storage_class_name {
            return self.store.class(name);
        }
        let is_default = |class: &&StorageClass| {
            let marks = IS_DEFAULT.iter().filter_map(|key| class.metadata.annotations.get(*key));
            marks.into_iter().any(|mark| mark == "true")
        };
        let defaults = self.store.classes().filter(is_default);
        let mut defaults: Vec<_> = defaults.collect();
        defaults.sort_by_key(|class| class.metadata.created_ms);
        defaults.pop()
    }

    /// Where a volume made for the node can be reached: on that node, or in its zone.
    fn affinity(&self, node: &Name, provisioner: &str) -> Option<VolumeNodeAffinity> {
        let labels = &self.store.node(node)?.metadata.labels;
        let local = NODE_LOCAL.contains(&provisioner);
        let keys: &[&str] = if local { &["kubernetes.io/hostname"] } else { &ZONE_LABELS };
        let (key, value) = keys.iter().find_map(|&key| Some((key, labels.get(key)?)))?;
        let test = Requirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: vec![value.clone()],
        };
        let term = NodeSelectorTerm { match_expressions: vec![test], match_fields: Vec::new() };
        Some(VolumeNodeAffinity {
            required: Some(NodeSelector { node_selector_terms: vec![term] }),
        })
    }

    /// Makes the claims of a pod's ephemeral volumes that are not there yet.
    pub(super) fn make_claims(&mut self, pod: &ObjectKey, at_ms: i64) {
        let Some(pod) = self.store.pod(pod) else { return };
        let metadata = &pod.metadata;
        let owner = OwnerReference {
            api_version: ObjectKind::Pod.version().to_owned(),
            kind: ObjectKind::Pod.name().to_owned(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone().unwrap_or_default(),
            controller: true,
        };
        let mut claims = Vec::new();
        for volume in &pod.spec.volumes {
            let template = volume.ephemeral.as_ref().and_then(|e| e.volume_claim_template.as_ref());
            let Some(template) = template else { continue };
            let name = volume.ephemeral_claim(&metadata.name);
            let kind = ObjectKind::PersistentVolumeClaim;
            if self.store.get(kind, &kind.key(metadata.namespace.as_deref(), &name)).is_some() {
                continue;
            }
            let metadata = Metadata {
                name,
                namespace: metadata.namespace.clone(),
                owner_references: vec![owner.clone()],
                ..Metadata::default()
            };
            let (spec, status) = (template.spec.clone(), PhaseStatus::default());
            claims.push(PersistentVolumeClaim { metadata, spec, status });
        }
        let claims = claims.into_iter().map(|claim| Object::PersistentVolumeClaim(Box::new(claim)));
        self.apply(claims, at_ms);
    }

    /// Removes the claims that were made for a pod that is gone.
    pub(super) fn drop_claims(&mut self, key: &ObjectKey, pod: &Pod) {
        for volume in pod.spec.volumes.iter().filter(|volume| volume.ephemeral.is_some()) {
            let name = volume.ephemeral_claim(&pod.metadata.name);
            let claim = ObjectKey::new(key.namespace.clone(), name);
            let owners = self.store.claim(&claim).map(|claim| &claim.metadata.owner_references);
            let uid = pod.metadata.uid.as_ref();
            if owners.into_iter().flatten().any(|owner| Some(&owner.uid) == uid) {
                self.remove_claim(&claim);
            }
        }
    }

    /// Removes a claim: a volume made for it goes too, any other is left as nobody's.
    pub(super) fn remove_claim(&mut self, key: &ObjectKey) {
        let kind = ObjectKind::PersistentVolumeClaim;
        let Some(Object::PersistentVolumeClaim(claim)) = self.store.remove(kind, key) else {
            return;
        };
        self.touch(kind, key);
        let Some(name) = claim.spec.volume_name else { return };
        let volume_key = ObjectKind::PersistentVolume.key(None, &name);
        let Some(volume) = self.store.volume_mut(&name) else { return };
        if volume.metadata.annotations.contains_key(PROVISIONED_BY) {
            self.store.remove(ObjectKind::PersistentVolume, &volume_key);
        } else {
            volume.status.phase = Some("Released".into());
        }
        self.touch(ObjectKind::PersistentVolume, &volume_key);
    }
}
