//! Documents to a whole Scenario.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::batch::Reader;
use super::decode::{decode, expected_one_of};
use super::error::{FieldError, LoadError, LoadErrors};
use super::item::{self, Item};
use super::references::Known;
use super::variants::{self, Written};
use super::warnings::missing_nodes;
use super::{API_VERSION, Origin, expect, written};
use crate::objects::{Metadata, Object, ObjectKind, Queue};
use crate::sim::expectation::Expectation;
use crate::sim::scenario::{
    Checks, Delay, Deletion, FailBind, Kubelet, Scenario, TimelineEntry, Variant,
};

/// Cycle period where a Scenario gives none.
const PERIOD_MS: i64 = 1000;

/// Collects one Scenario and everything wrong with it.
pub(super) struct Builder {
    source: PathBuf,
    origin: Origin,
    reader: Reader,
    known: Known,
    errors: Vec<LoadError>,
    /// Were all objects read? If not, a name that is not found may well be one of the unread, and
    /// saying that it never exists would mislead.
    objects_complete: bool,
    /// Objects of plain manifests.
    manifests: Vec<(Origin, Item)>,
}

impl Builder {
    pub(super) fn new(source: PathBuf, document: usize) -> Self {
        let file: Arc<Path> = source.as_path().into();
        Self {
            source,
            origin: Origin { file, document, path: String::new() },
            reader: Reader::default(),
            known: Known::default(),
            errors: Vec::new(),
            objects_complete: true,
            manifests: Vec::new(),
        }
    }

    /// Adds a document of plain manifests.
    pub(super) fn manifest(&mut self, file: &Path, document: usize, value: Value) {
        let origin = Origin { file: file.into(), document, path: String::new() };
        let mut items = Vec::new();
        item::unroll(String::new(), value, &mut items);
        self.manifests.extend(items.into_iter().map(|item| (origin.clone(), item)));
    }

    /// The Scenario of the manifests added: nothing but objects.
    pub(super) fn finish_manifests(mut self, name: &str) -> Result<Scenario, LoadErrors> {
        let items = std::mem::take(&mut self.manifests);
        let objects = self.objects_at_zero(items);
        self.finish(Scenario {
            name: name.to_owned(),
            variant: None,
            source: PathBuf::new(),
            config: None,
            period_ms: PERIOD_MS,
            cycles: None,
            kubelet: Kubelet { start: Delay::Ms(0), terminate: Delay::Ms(0) },
            recreate: false,
            objects,
            timeline: Vec::new(),
            invariants: Checks::All,
            expect: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// The Scenario a document describes, once for each of its variants.
    pub(super) fn scenario(mut self, mut value: Value) -> Result<Vec<Scenario>, LoadErrors> {
        // Taken out first: rebuilding a hundred thousand objects value by value would be waste.
        let objects = match value.pointer_mut("/spec/objects") {
            Some(Value::Array(list)) => std::mem::take(list),
            _ => Vec::new(),
        };
        let written::Document { api_version, metadata, spec, .. } = match decode(value) {
            Ok(document) => document,
            Err(error) => return Err(self.origin.error(error).into()),
        };
        if let Some(version) = api_version.filter(|version| version != API_VERSION) {
            self.fail("apiVersion", format!("{version:?} is not known; expected {API_VERSION}"));
        }
        let period_ms = spec.period.map_or(PERIOD_MS, |period| period.0);
        if period_ms <= 0 {
            self.fail("spec.period", "is not above 0s; time would stand still".to_owned());
        }
        let items = self.items("spec.objects", objects.into_iter().chain(spec.objects));
        let objects = self.objects_at_zero(items);
        let timeline = self.timeline(spec.timeline);
        let expect = self.expectations("spec.expect", spec.expect);
        let variants = self.variants(spec.config.as_deref(), spec.variants);
        let stem = self.source.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let scenario = Scenario {
            name: metadata.name.or(stem).unwrap_or_default(),
            variant: None,
            source: PathBuf::new(),
            config: spec.config,
            period_ms,
            cycles: spec.cycles,
            kubelet: Kubelet {
                start: spec.kubelet.start.unwrap_or(Delay::Ms(0)),
                terminate: spec.kubelet.terminate.unwrap_or(Delay::Ms(0)),
            },
            recreate: spec.recreate,
            objects,
            timeline,
            invariants: spec.invariants,
            expect,
            warnings: Vec::new(),
        };
        self.finish(scenario).map(|scenario| variants::expand(scenario, variants))
    }

    fn variants(&mut self, config: Option<&str>, written: Vec<Written>) -> Vec<variants::Read> {
        for error in variants::check_names(&written) {
            self.errors.push(self.origin.error(error));
        }
        let mut read = Vec::new();
        for (at, mut written) in written.into_iter().enumerate() {
            let path = format!("spec.variants[{at}]");
            let expect = std::mem::take(&mut written.expect);
            let expect = self.expectations(&format!("{path}.expect"), expect);
            match written.config(config, &path) {
                Ok(config) => {
                    let place = format!("document {}: {path}", self.origin.document);
                    let variant = Variant { name: written.name, place };
                    read.push(variants::Read { variant, config, expect });
                }
                Err(error) => {
                    // A configuration that cannot be read is the same error for every variant.
                    let error = self.origin.error(error);
                    if !self.errors.contains(&error) {
                        self.errors.push(error);
                    }
                }
            }
        }
        read
    }

    fn fail(&mut self, field: &str, problem: String) {
        self.errors.push(self.origin.error(FieldError::new(field, problem)));
    }

    fn items(&self, path: &str, values: impl IntoIterator<Item = Value>) -> Vec<(Origin, Item)> {
        let mut items = Vec::new();
        for (at, value) in values.into_iter().enumerate() {
            item::unroll(format!("{path}[{at}]"), value, &mut items);
        }
        items.into_iter().map(|item| (self.origin.clone(), item)).collect()
    }

    fn read_objects(&mut self, at_ms: i64, items: Vec<(Origin, Item)>) -> Vec<Object> {
        let errors = self.errors.len();
        let objects = self.reader.objects(at_ms, items, &mut self.errors);
        self.objects_complete &= errors == self.errors.len();
        objects
    }

    /// The objects at time zero, with the queue that exists unless given. KAI's queues have no default
    /// among them.
    fn objects_at_zero(&mut self, items: Vec<(Origin, Item)>) -> Vec<Object> {
        let mut objects = self.read_objects(0, items);
        let default = ObjectKind::Queue.key(None, "default");
        let stands_in = |object: &Object| match object.kind() {
            ObjectKind::Queue => object.key() == default,
            kind => kind == ObjectKind::KaiQueue,
        };
        if !objects.iter().any(stands_in) {
            let metadata = Metadata {
                name: "default".to_owned(),
                uid: Some("made-default-queue".to_owned()),
                created_ms: Some(0),
                ..Metadata::default()
            };
            let queue = Queue { metadata, ..Queue::default() };
            objects.insert(0, Object::Queue(Box::new(queue)));
        }
        self.known.add(&objects);
        objects
    }

    fn timeline(&mut self, mut written: Vec<written::Entry>) -> Vec<TimelineEntry> {
        let mut order: Vec<usize> = (0..written.len()).collect();
        order.sort_by_key(|&at| written[at].at);
        let mut timeline = Vec::new();
        let mut paths = Vec::new();
        for at in order {
            let path = format!("spec.timeline[{at}]");
            let entry = &mut written[at];
            let at_ms = entry.at.0;
            if at_ms < 0 {
                self.fail(&format!("{path}.at"), "is before 0s, when the run begins".to_owned());
            }
            let apply = std::mem::take(&mut entry.apply);
            let items = self.items(&format!("{path}.apply"), apply);
            let apply = self.read_objects(at_ms, items);
            self.known.add(&apply);
            let entry = &written[at];
            paths.push(path.clone());
            timeline.push(TimelineEntry {
                at_ms,
                apply,
                delete: self.deletions(&path, &entry.delete),
                fail_bind: self.fail_binds(&path, &entry.fail_bind),
                restart: entry.restart,
            });
        }
        // A pod whose binding is to fail may come in later than the entry that says so.
        for (entry, path) in timeline.iter().zip(&paths) {
            for (at, fail_bind) in entry.fail_bind.iter().enumerate() {
                if self.objects_complete
                    && let Err(error) = self.known.pod("pod", &fail_bind.pod)
                {
                    let error = error.within(&format!("{path}.failBind[{at}]"));
                    self.errors.push(self.origin.error(error));
                }
            }
        }
        timeline
    }

    fn deletions(&mut self, path: &str, written: &[written::Delete]) -> Vec<Deletion> {
        let mut deletions = Vec::new();
        for (at, delete) in written.iter().enumerate() {
            let path = format!("{path}.delete[{at}]");
            let Some(kind) = self.kind_to_delete(delete) else {
                let first = |kind: &&ObjectKind| ObjectKind::by_name(kind.name()) == Some(**kind);
                let known = ObjectKind::ALL.iter().filter(first).map(|kind| kind.name());
                let known: Vec<_> = known.collect();
                let expected = expected_one_of(&delete.kind, &known);
                let version = delete.api_version.as_ref().map(|version| format!(" ({version})"));
                let kind = format!("{:?}{}", delete.kind, version.unwrap_or_default());
                let problem = format!("{kind} is not a kind of object; {expected}");
                self.fail(&format!("{path}.kind"), problem);
                continue;
            };
            let key = kind.key(delete.namespace.as_deref(), &delete.name);
            if self.objects_complete && !self.known.has(kind, &key) {
                let title = kind.title(&key);
                let problem = format!("{kind} {title} does not exist by then; nothing to delete");
                self.fail(&path, problem);
                continue;
            }
            deletions.push(Deletion { kind, key });
        }
        deletions
    }

    /// The kind that is meant: where several share the name and no `apiVersion` tells them apart, the
    /// first that has an object of that name.
    fn kind_to_delete(&self, delete: &written::Delete) -> Option<ObjectKind> {
        if delete.api_version.is_some() {
            return ObjectKind::of(delete.api_version.as_deref(), &delete.kind);
        }
        let has = |kind: &ObjectKind| {
            kind.name() == delete.kind
                && self.known.has(*kind, &kind.key(delete.namespace.as_deref(), &delete.name))
        };
        let met = ObjectKind::ALL.iter().copied().find(has);
        met.or_else(|| ObjectKind::by_name(&delete.kind))
    }

    fn fail_binds(&mut self, path: &str, written: &[written::FailBind]) -> Vec<FailBind> {
        let mut fail_binds = Vec::new();
        for (at, entry) in written.iter().enumerate() {
            let path = format!("{path}.failBind[{at}]");
            let times = match entry.times {
                -1 => None,
                times => {
                    if let Ok(times) = u32::try_from(times) {
                        Some(times)
                    } else {
                        let problem = format!("{times} is not a count; expected 0 or more, or -1");
                        self.fail(&format!("{path}.times"), problem);
                        continue;
                    }
                }
            };
            fail_binds.push(FailBind { pod: entry.pod.0.clone(), times });
        }
        fail_binds
    }

    fn expectations(&mut self, path: &str, written: Vec<Value>) -> Vec<Expectation> {
        let mut expectations = Vec::new();
        for (at, value) in written.into_iter().enumerate() {
            let read = expect::read(value).and_then(|expectation| {
                if self.objects_complete {
                    self.known.check(&expectation.assertion)?;
                }
                Ok(expectation)
            });
            match read {
                Ok(expectation) => expectations.push(expectation),
                Err(error) => {
                    let error = error.within(&format!("{path}[{at}]"));
                    self.errors.push(self.origin.error(error));
                }
            }
        }
        expectations
    }

    fn finish(self, mut scenario: Scenario) -> Result<Scenario, LoadErrors> {
        if !self.errors.is_empty() {
            return Err(LoadErrors(self.errors));
        }
        scenario.source = self.source;
        scenario.warnings = self.reader.warnings.sentences();
        scenario.warnings.extend(missing_nodes(&scenario));
        Ok(scenario)
    }
}
