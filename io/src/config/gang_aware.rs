//! The switch for gang-aware eviction, which may stand in three places: under `configurations` of
//! the action, or as `preempt.gangAwareEnable` in the arguments of any tier or of any plugin.

use std::collections::BTreeMap;

use muster_core::config::{ArgumentKind, ArgumentValue, Arguments, GANG_AWARE_KEY};

use super::actions::Configured;
use super::error::Problem;
use super::reader::{Field, Reader};
use super::tree::{Entry, Place};
use super::{arguments, nearest};

/// Action, and key that stands for its argument elsewhere.
const KEYS: [(&str, &str); 2] =
    [("preempt", "preempt.gangAwareEnable"), ("reclaim", "reclaim.gangAwareEnable")];

/// What the tiers said, for the action it belongs to.
#[derive(Default)]
pub(super) struct GangAware {
    given: Vec<Given>,
}

struct Given {
    action: &'static str,
    key: &'static str,
    on: bool,
    at: Place,
    field: String,
}

impl GangAware {
    /// Is it one of the keys that may stand among any plugin's arguments?
    pub(super) fn is_key(key: &str) -> bool {
        KEYS.iter().any(|(_, known)| *known == key)
    }

    /// Takes the entry of a tier's own `arguments`, where nothing else may stand.
    pub(super) fn read_of_tier(
        &mut self,
        reader: &mut Reader<'_>,
        entry: &Entry,
        field: Field<'_>,
    ) {
        if Self::is_key(&entry.key) {
            self.read(reader, entry, field);
            return;
        }
        let hint = nearest::hint(&entry.key, KEYS.map(|(_, key)| key));
        let (owner, key) = ("a tier".to_owned(), entry.key.clone());
        reader.error(entry.key_at, field, Problem::UnknownArgument { owner, key, hint });
    }

    /// Takes an entry with one of the keys.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, entry: &Entry, field: Field<'_>) {
        let value = arguments::value(reader, &entry.node, field, ArgumentKind::Bool, "");
        let Some(ArgumentValue::Bool(on)) = value else { return };
        let Some((action, key)) = KEYS.into_iter().find(|(_, key)| *key == entry.key) else {
            return;
        };
        let other = self.given.iter().find(|given| given.action == action);
        match other {
            Some(given) if given.on != on => {
                let first_line = given.at.line;
                let problem = Problem::Contradiction { key: key.to_owned(), first_line };
                reader.error(entry.key_at, field, problem);
            }
            Some(_) => {}
            None => {
                let (at, field) = (entry.key_at, field.to_string());
                self.given.push(Given { action, key, on, at, field });
            }
        }
    }

    /// Hands what was given to the arguments of the actions.
    pub(super) fn merge(
        self,
        reader: &mut Reader<'_>,
        configured: &mut BTreeMap<&'static str, Configured>,
    ) {
        for given in self.given {
            let Given { action, key, on, at, field } = given;
            let entry = configured.entry(action).or_insert_with(|| Configured {
                arguments: Arguments::default(),
                at,
                field: field.clone(),
            });
            match entry.arguments.get(GANG_AWARE_KEY) {
                Some(value) if *value != ArgumentValue::Bool(on) => {
                    let first_line = entry.at.line;
                    let problem = Problem::Contradiction { key: key.to_owned(), first_line };
                    reader.error(at, field, problem);
                }
                Some(_) => {}
                None => {
                    let arguments = &mut entry.arguments.0;
                    arguments.push((GANG_AWARE_KEY.to_owned(), ArgumentValue::Bool(on)));
                    arguments.sort_by(|left, right| left.0.cmp(&right.0));
                }
            }
        }
    }
}
