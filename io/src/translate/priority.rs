//! `PriorityClass` to [`PriorityClassFacts`].

use muster_core::delta::PriorityClassFacts;

use super::TranslateError;
use super::about::About;
use crate::objects::{ObjectKind, PriorityClass};

pub(super) fn facts(class: &PriorityClass) -> Result<PriorityClassFacts, TranslateError> {
    let about = About::new(ObjectKind::PriorityClass, &class.metadata)?;
    Ok(PriorityClassFacts {
        name: about.name(),
        value: class.value,
        global_default: class.global_default,
    })
}
