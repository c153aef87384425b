//! A list of objects as one unit: read, short forms expanded, names unique, identities filled in.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::ids::ObjectKey;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::Origin;
use super::error::{FieldError, LoadError};
use super::item::{self, Item, Read};
use super::warnings::Warnings;
use crate::objects::translate::OwnerRule;
use crate::objects::{Object, ObjectKind, PriorityClass};
use crate::sim::expand::ShortForm;

/// Reads lists of objects in the order of their time and keeps what spans them.
pub(super) struct Reader {
    owner: OwnerRule,
    /// Priority classes that exist so far, so that short forms make each only once.
    classes: BTreeSet<String>,
    /// Time of the last list, and how many items its time has had.
    clock: (i64, i64),
    /// Objects that got a made-up uid.
    made_uids: u64,
    pub(super) warnings: Warnings,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            owner: OwnerRule::simulation(),
            classes: BTreeSet::new(),
            clock: (0, 0),
            made_uids: 0,
            warnings: Warnings::default(),
        }
    }
}

/// An item once read, with where it came from.
type ReadItem = (Origin, Read);

impl Reader {
    /// The objects of one list that takes effect at `at_ms`.
    pub(super) fn objects(
        &mut self,
        at_ms: i64,
        items: Vec<(Origin, Item)>,
        errors: &mut Vec<LoadError>,
    ) -> Vec<Object> {
        let read = self.read_all(items, errors);
        // Classes given in this list are reused wherever in the list they stand.
        self.classes.extend(read.iter().filter_map(|(_, read)| match read {
            Read::Object(Object::PriorityClass(class)) => Some(class.metadata.name.clone()),
            _ => None,
        }));
        if self.clock.0 != at_ms {
            self.clock = (at_ms, 0);
        }
        let mut list = List::default();
        for (origin, read) in read {
            let created_ms = at_ms.saturating_add(self.clock.1);
            self.clock.1 += 1;
            self.add(&origin, read, created_ms, &mut list, errors);
        }
        list.objects
    }

    fn read_all(
        &mut self,
        items: Vec<(Origin, Item)>,
        errors: &mut Vec<LoadError>,
    ) -> Vec<ReadItem> {
        let owner = &self.owner;
        let read = items.into_par_iter().map(|(mut origin, Item { path, value })| {
            origin.path = path;
            (origin, item::read(value, owner))
        });
        let mut all = Vec::new();
        for (origin, read) in read.collect::<Vec<_>>() {
            match read {
                Ok(Read::Unknown(kind)) => self.warnings.unknown_kind(&kind),
                Ok(read) => all.push((origin, read)),
                Err(error) => errors.push(origin.error(error)),
            }
        }
        all
    }

    fn add(
        &mut self,
        origin: &Origin,
        read: Read,
        created_ms: i64,
        list: &mut List,
        errors: &mut Vec<LoadError>,
    ) {
        match read {
            Read::Object(object) => {
                let pushed = self.push(object, created_ms, origin, list);
                errors.extend(
                    pushed
                        .err()
                        .map(|error| error.within("metadata.name"))
                        .map(|error| origin.error(error)),
                );
            }
            Read::Short(form) => {
                let class = self.missing_class(&form);
                let class = class.map(|class| Object::PriorityClass(Box::new(class)));
                for object in class.into_iter().chain(form.expand()) {
                    let pushed = made_check(&object, &self.owner)
                        .and_then(|()| self.push(object, created_ms, origin, list));
                    errors.extend(pushed.err().map(|error| origin.error(error)));
                }
            }
            Read::Unknown(_) => {}
        }
    }

    fn push(
        &mut self,
        mut object: Object,
        created_ms: i64,
        origin: &Origin,
        list: &mut List,
    ) -> Result<(), FieldError> {
        self.identify(&mut object, created_ms);
        self.warnings.object(&object);
        list.push(object, &origin.path)
    }

    /// The priority class a gang needs that does not exist yet.
    fn missing_class(&mut self, form: &ShortForm) -> Option<PriorityClass> {
        let ShortForm::Gang(gang) = form else { return None };
        gang.priority_class().filter(|class| self.classes.insert(class.metadata.name.clone()))
    }

    /// Fills in what a cluster would have: uid and time of creation. Made-up uids sort in the order
    /// of appearance, since ties are broken by uid.
    fn identify(&mut self, object: &mut Object, created_ms: i64) {
        let Some(metadata) = object.metadata_mut() else { return };
        metadata.created_ms.get_or_insert(created_ms);
        if metadata.uid.as_deref().is_none_or(str::is_empty) {
            metadata.uid = Some(format!("made-{:09}", self.made_uids));
            self.made_uids += 1;
        }
    }
}

/// Checks an object a short form stands for. The path inside it would name a field the file lacks,
/// so it becomes part of the message.
fn made_check(object: &Object, owner: &OwnerRule) -> Result<(), FieldError> {
    item::check(object, owner).map_err(|error| {
        FieldError::new("", format!("{} ({} of what it stands for)", error.problem, error.field))
    })
}

/// Objects of one list, each name once.
#[derive(Default)]
struct List {
    objects: Vec<Object>,
    seen: BTreeMap<(ObjectKind, ObjectKey), String>,
}

impl List {
    fn push(&mut self, object: Object, path: &str) -> Result<(), FieldError> {
        let (kind, key) = (object.kind(), object.key());
        let title = kind.title(&key);
        if let Some(first) = self.seen.get(&(kind, key.clone())) {
            let place = if first.is_empty() { "an earlier document" } else { first };
            let problem = format!("{kind} {title} is given twice; {place} has it already");
            return Err(FieldError::new("", problem));
        }
        self.seen.insert((kind, key), path.to_owned());
        self.objects.push(object);
        Ok(())
    }
}
